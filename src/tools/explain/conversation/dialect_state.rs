//! The dialect and format of a conversation, and how they were determined.
//!
//! Either the user selects the dialect, or the path of the request does, or it is a
//! [`DialectGuess`] from the messages and reported as a guess.

use super::upgrade_request::{KNOWN, UpgradeRequest};
use crate::packet::routes::{self, RouteError};
use crate::packet::{Dialect, PacketTables};
use crate::tools::explain::dialect_guess::DialectGuess;
use crate::tools::explain::parse::payload::{self, Detail, ExplainedPayload, SenderFormat};
use crate::ws::Side;
use crate::ws::frame::Opcode;

/// The dialect and format of a conversation, and how they were determined.
#[derive(Clone, Debug)]
pub struct DialectState<'c> {
    /// Maps paths to dialects. `None`: the user selected the dialect.
    codes: Option<&'c PacketTables>,
    dialect: &'c Dialect,
    /// Whether packets are JSON in text messages; `None` if unknown.
    json: Option<bool>,
    /// Whether the path is unique to tickwire servers.
    is_own_server: bool,
    /// Whether the path or the subprotocol belongs to another protocol.
    is_foreign: bool,
    /// Whether the user selected no dialect at all.
    is_always_foreign: bool,
    /// Whether the user or a path selected the dialect.
    is_settled: bool,
    /// The detail in which payloads are explained.
    detail: Detail,
    /// The evidence from the messages, if the request is missing.
    guess: Option<DialectGuess<'c>>,
}

impl<'c> DialectState<'c> {
    /// Creates a state in which the path of the request selects the dialect. `dialect` applies
    /// until then.
    pub fn from_path(codes: &'c PacketTables, dialect: &'c Dialect) -> DialectState<'c> {
        DialectState { codes: Some(codes), is_settled: false, ..DialectState::fixed(dialect) }
    }

    /// Creates a state in which no message is a packet. `dialect` is not used.
    pub fn foreign(dialect: &'c Dialect) -> DialectState<'c> {
        DialectState { is_foreign: true, is_always_foreign: true, ..DialectState::fixed(dialect) }
    }

    /// Creates a state with a fixed dialect.
    pub fn fixed(dialect: &'c Dialect) -> DialectState<'c> {
        DialectState {
            codes: None,
            dialect,
            json: None,
            is_own_server: false,
            is_foreign: false,
            is_always_foreign: false,
            is_settled: true,
            detail: Detail::Tree,
            guess: None,
        }
    }

    /// Sets whether packets are JSON in text messages.
    pub fn set_json(&mut self, json: bool) {
        self.json = Some(json);
    }

    /// Sets the detail in which payloads are explained.
    pub fn set_detail(&mut self, detail: Detail) {
        self.detail = detail;
    }

    /// Applies the limits of a tickwire server, whatever the path.
    pub fn set_own_server(&mut self) {
        self.is_own_server = true;
    }

    /// The known, guessed or default dialect.
    pub fn dialect(&self) -> &'c Dialect {
        self.dialect
    }

    /// Whether the user or a path selected the dialect.
    pub fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// The evidence for the dialect, if the request is missing.
    pub fn guess(&self) -> Option<&DialectGuess<'c>> {
        self.guess.as_ref()
    }

    /// The candidates of the guess; empty if there is no guess.
    pub fn candidates(&self) -> Vec<&'c Dialect> {
        self.guess.as_ref().map(DialectGuess::candidates).unwrap_or_default()
    }

    /// Starts a guess, because the request is missing.
    pub fn start_guessing(&mut self) {
        if let (Some(codes), false, None) = (self.codes, self.is_settled, &self.guess) {
            self.set_guess(DialectGuess::new(codes));
        }
    }

    /// Sets the guess. It applies until a request selects the dialect.
    pub fn set_guess(&mut self, guess: DialectGuess<'c>) {
        self.dialect = guess.best().unwrap_or(self.dialect);
        self.guess = Some(guess);
    }

    /// The dialects for the search for a plausible frame.
    pub fn search_dialects(&self) -> Vec<&'c Dialect> {
        self.guess.as_ref().map_or_else(|| vec![self.dialect], DialectGuess::remaining_candidates)
    }

    /// Whether packets are JSON in text messages; `None` if unknown.
    pub fn json(&self) -> Option<bool> {
        self.json
    }

    /// Whether the path is unique to tickwire servers, so that their limits apply.
    pub fn is_ours(&self) -> bool {
        self.is_own_server
    }

    /// Whether the connection uses another protocol.
    pub fn is_foreign(&self) -> bool {
        self.is_foreign
    }

    /// Whether a tickwire server may serve the path: it is an endpoint, or the user selected the
    /// dialect.
    pub fn may_serve(&self, path: &str) -> bool {
        let route = |codes| routes::find_by_room_tables(codes, path, None, None);
        self.is_own_server || self.codes.is_none_or(|codes| !matches!(route(codes), Err(RouteError::Path)))
    }

    /// Applies the negotiated subprotocol.
    pub fn agree(&mut self, subprotocol: &str) {
        if self.codes.is_some() {
            self.is_foreign = !KNOWN.contains(&subprotocol);
            self.is_own_server &= !self.is_foreign;
        }
    }

    /// Applies the target of an upgrade request.
    pub fn apply_request(&mut self, request: &UpgradeRequest) {
        let (dialect, format) = (request.dialect.as_deref(), request.format.as_deref());
        self.is_foreign = self.is_always_foreign || !self.may_serve(&request.path);
        let found =
            self.codes.map(|codes| routes::find_by_room_tables(codes, &request.path, dialect, format));
        // For an unknown path, or `/`, the format stays unknown unless the query selects JSON.
        self.json = (format == Some("json")).then_some(true);
        if let Some(Ok((dialect, json))) = found {
            (self.dialect, self.is_settled, self.guess) = (dialect, true, None);
            self.is_own_server = request.path != "/";
            self.json = self.json.or(self.is_own_server.then_some(json));
        }
    }

    /// Explains the payload of a control frame or of a complete message, which begins at byte
    /// `begin` of the input.
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
            detail: self.detail,
            is_foreign: self.is_foreign,
        };
        ExplainedPayload { otherwise, ..payload::explain(payload, begin, opcode, speaker) }
    }
}
