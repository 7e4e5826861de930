//! The dialect and the format of a conversation, and how certain they are.
//!
//! There are three cases: the user has named the dialect, the path of the request selects it, or it
//! is a [`DialectGuess`] from the messages, and is reported as a guess.

use super::upgrade_request::{Asked, KNOWN};
use crate::packet::routes::{self, RouteError};
use crate::packet::{Dialect, PacketTables};
use crate::tools::explain::dialect_guess::DialectGuess;
use crate::tools::explain::parse::payload::{self, ExplainedPayload, SenderFormat};
use crate::ws::Side;
use crate::ws::frame::Opcode;

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct DialectState<'c> {
    /// The tables that map a path to its dialect; without them the dialect is fixed.
    codes: Option<&'c PacketTables>,
    dialect: &'c Dialect,
    /// Whether packets are JSON in text messages, if known.
    json: Option<bool>,
    /// The path is unique to our server.
    is_own_server: bool,
    /// The connection is not one of tickwire: its path or its subprotocol belongs to another protocol.
    is_foreign: bool,
    /// The user or a path named the dialect.
    is_settled: bool,
    /// Whether only names and verdicts are asked for.
    is_brief: bool,
    /// The evidence from the messages, if the request was not seen.
    guess: Option<DialectGuess<'c>>,
}

impl<'c> DialectState<'c> {
    /// The path of the request will select the dialect; until then it is `dialect`.
    pub fn from_path(codes: &'c PacketTables, dialect: &'c Dialect) -> DialectState<'c> {
        DialectState { codes: Some(codes), is_settled: false, ..DialectState::fixed(dialect) }
    }

    /// Uses this dialect, whatever the path.
    pub fn fixed(dialect: &'c Dialect) -> DialectState<'c> {
        DialectState {
            codes: None,
            dialect,
            json: None,
            is_own_server: false,
            is_foreign: false,
            is_settled: true,
            is_brief: false,
            guess: None,
        }
    }

    /// Sets whether packets are JSON in text messages.
    pub fn set_json(&mut self, json: bool) {
        self.json = Some(json);
    }

    /// Sets whether only names and verdicts are asked for.
    pub fn set_brief(&mut self, is_brief: bool) {
        self.is_brief = is_brief;
    }

    /// Records that the server is ours, whatever the path.
    pub fn set_own_server(&mut self) {
        self.is_own_server = true;
    }

    /// The dialect, as far as it is known.
    pub fn dialect(&self) -> &'c Dialect {
        self.dialect
    }

    /// Whether the dialect is known rather than guessed.
    pub fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// The evidence for the dialect, if the request was not seen.
    pub fn guess(&self) -> Option<&DialectGuess<'c>> {
        self.guess.as_ref()
    }

    /// The candidates of the guess; none if the dialect is known.
    pub fn candidates(&self) -> Vec<&'c Dialect> {
        self.guess.as_ref().map(DialectGuess::candidates).unwrap_or_default()
    }

    /// Records that the request was not seen.
    pub fn start_guessing(&mut self) {
        if let (Some(codes), false, None) = (self.codes, self.is_settled, &self.guess) {
            self.set_guess(DialectGuess::new(codes));
        }
    }

    /// Sets the guess that applies until a request names the dialect.
    pub fn set_guess(&mut self, guess: DialectGuess<'c>) {
        self.dialect = guess.best().unwrap_or(self.dialect);
        self.guess = Some(guess);
    }

    /// The dialects in which a frame may make sense.
    pub fn search_dialects(&self) -> Vec<&'c Dialect> {
        self.guess.as_ref().map_or_else(|| vec![self.dialect], DialectGuess::remaining_candidates)
    }

    /// Whether packets are JSON in text messages, if known.
    pub fn json(&self) -> Option<bool> {
        self.json
    }

    /// Whether the path is unique to our server, so that its limits are known.
    pub fn is_ours(&self) -> bool {
        self.is_own_server
    }

    /// Whether the connection is not one of tickwire.
    pub fn is_foreign(&self) -> bool {
        self.is_foreign
    }

    /// Whether a path may be one of tickwire: it is an endpoint, or the user has named the dialect.
    pub fn may_serve(&self, path: &str) -> bool {
        let asked = |codes| routes::find_by_room_tables(codes, path, None, None);
        self.is_own_server || self.codes.is_none_or(|codes| !matches!(asked(codes), Err(RouteError::Path)))
    }

    /// Applies the subprotocol on which both ends agreed.
    pub fn agree(&mut self, subprotocol: &str) {
        if self.codes.is_some() {
            self.is_foreign = !KNOWN.contains(&subprotocol);
            self.is_own_server &= !self.is_foreign;
        }
    }

    /// Applies the target of a request.
    pub fn apply_request(&mut self, asked: &Asked) {
        let (dialect, format) = (asked.dialect.as_deref(), asked.format.as_deref());
        self.is_foreign = !self.may_serve(&asked.path);
        let spoken = self.codes.map(|codes| routes::find_by_room_tables(codes, &asked.path, dialect, format));
        // A path that is not ours, or that every server has, does not imply that texts are
        // rejected.
        self.json = (format == Some("json")).then_some(true);
        if let Some(Ok((dialect, json))) = spoken {
            (self.dialect, self.is_settled, self.guess) = (dialect, true, None);
            self.is_own_server = asked.path != "/";
            self.json = self.json.or(self.is_own_server.then_some(json));
        }
    }

    /// Explains the payload of a control frame or of a whole message, which begins at byte `begin` of the input.
    pub fn explain(
        &mut self,
        payload: &[u8],
        begin: usize,
        opcode: Opcode,
        from: Side,
    ) -> ExplainedPayload<'c> {
        let mut otherwise = Vec::new();
        if let Some(guess) = self.guess.as_mut().filter(|_| !self.is_foreign) {
            guess.add_evidence(from, opcode, payload);
            self.dialect = guess.best().unwrap_or(self.dialect);
            otherwise = guess.differing_candidates(from, opcode, payload);
        }
        let speaker = SenderFormat {
            from,
            dialect: self.dialect,
            json: self.json,
            is_brief: self.is_brief,
            is_foreign: self.is_foreign,
        };
        ExplainedPayload { otherwise, ..payload::explain(payload, begin, opcode, speaker) }
    }
}
