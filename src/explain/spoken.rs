//! What a conversation is spoken in: its dialect and its format, and how sure both are.
//!
//! The request of the upgrade comes in, or the messages where nobody saw it; a payload comes in and goes out explained.
//! Three cases: somebody has named the dialect, the path of the request says it, or it is a [`Guess`], and is told as one.

use super::guess::Guess;
use super::head::Asked;
use super::payload::{self, Inside, Speaker};
use crate::packet::{Codes, Dialect, endpoint};
use crate::ws::Side;
use crate::ws::frame::Opcode;

/// See the [module](self).
#[derive(Debug)]
pub struct Spoken<'c> {
    /// The tables in which a path finds its dialect; without them the dialect stays.
    codes: Option<&'c Codes>,
    dialect: &'c Dialect,
    /// Whether packets are JSON in text messages, if that is known.
    json: Option<bool>,
    /// The path is one that no server but ours has.
    is_ours: bool,
    /// Somebody named the dialect, or a path did.
    is_settled: bool,
    /// What the messages say of the dialect, where nobody saw the request.
    guess: Option<Guess<'c>>,
}

impl<'c> Spoken<'c> {
    /// The path of the request will say it; until then it is `dialect`.
    pub fn by_path(codes: &'c Codes, dialect: &'c Dialect) -> Spoken<'c> {
        Spoken { codes: Some(codes), is_settled: false, ..Spoken::in_dialect(dialect) }
    }

    /// This dialect, whatever a path says.
    pub fn in_dialect(dialect: &'c Dialect) -> Spoken<'c> {
        Spoken { codes: None, dialect, json: None, is_ours: false, is_settled: true, guess: None }
    }

    /// Says whether packets are JSON in text messages.
    pub fn say_format(&mut self, json: bool) {
        self.json = Some(json);
    }

    /// The dialect, as far as it is known.
    pub fn dialect(&self) -> &'c Dialect {
        self.dialect
    }

    /// Whether the dialect is known, so that nothing has to be guessed.
    pub fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// What the dialect is guessed from, where nobody saw the request.
    pub fn guess(&self) -> Option<&Guess<'c>> {
        self.guess.as_ref()
    }

    /// The candidates of the guess; none where the dialect is known.
    pub fn candidates(&self) -> Vec<&'c Dialect> {
        self.guess.as_ref().map(Guess::candidates).unwrap_or_default()
    }

    /// Says that the request was not seen.
    pub fn begin_to_guess(&mut self) {
        if let (Some(codes), false, None) = (self.codes, self.is_settled, &self.guess) {
            self.take_guess(Guess::new(codes));
        }
    }

    /// Says what it is taken for as long as no request says otherwise.
    pub fn take_guess(&mut self, guess: Guess<'c>) {
        self.dialect = guess.best().unwrap_or(self.dialect);
        self.guess = Some(guess);
    }

    /// The dialects in which a frame may make sense.
    pub fn sought(&self) -> Vec<&'c Dialect> {
        self.guess.as_ref().map_or_else(|| vec![self.dialect], Guess::in_contention)
    }

    /// Whether packets are JSON in text messages, if that is known.
    pub fn json(&self) -> Option<bool> {
        self.json
    }

    /// Whether the path is one that no server but ours has, so that its limits are known.
    pub fn is_ours(&self) -> bool {
        self.is_ours
    }

    /// Takes what a request asks for.
    pub fn ask(&mut self, asked: &Asked) {
        let (dialect, format) = (asked.dialect.as_deref(), asked.format.as_deref());
        let spoken = self.codes.map(|codes| endpoint::find(codes, &asked.path, dialect, format));
        // A path that is none of ours, or that every server has, does not say that texts are refused.
        self.json = (format == Some("json")).then_some(true);
        if let Some(Ok((dialect, json))) = spoken {
            (self.dialect, self.is_settled, self.guess) = (dialect, true, None);
            self.is_ours = asked.path != "/";
            self.json = self.json.or(self.is_ours.then_some(json));
        }
    }

    /// Explains the payload of a control frame or of a whole message, which begins at byte `begin` of the input.
    pub fn explain(&mut self, payload: &[u8], begin: usize, opcode: Opcode, from: Side) -> Inside<'c> {
        let mut otherwise = Vec::new();
        if let Some(guess) = &mut self.guess {
            guess.weigh(from, opcode, payload);
            self.dialect = guess.best().unwrap_or(self.dialect);
            otherwise = guess.otherwise(from, opcode, payload);
        }
        let speaker = Speaker { from, dialect: self.dialect, json: self.json };
        Inside { otherwise, ..payload::explain(payload, begin, opcode, speaker) }
    }
}
