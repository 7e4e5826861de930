//! Exercises for the lessons: build the bytes, and get a verdict that names the first wrong bit.
//!
//! ```text
//!   lesson, seed ──► kind, parameters ──► task, hint, model answer
//!                                              │
//!   text ──notation──► bytes ─────────────► compare ──► right, or the field and its bit
//! ```
//!
//! A [`Question`] is a function of its id: the lesson, the kind and the seed. Where
//! several answers are right, the model takes the free choices of the answer, such as its masking
//! key, or the decoders of [`ws`](crate::ws) decide. The names of the fields are the names of the
//! [explainer](crate::tools::explain). No clock, no file, no thread.

mod check;
mod draw;
mod encode;
mod frames;
mod kinds;
mod layout;
mod packets;
mod rules;
mod streams;
#[cfg(test)]
mod tests;

use serde_json::Value;
use tickwire_sim::Rng;

pub use self::check::Verdict;
use self::check::{Expected, read_bytes};
use self::draw::Draw;
use self::kinds::{KINDS, Kind};
use crate::packet::{Dialect, PacketTables};
use crate::tools::explain::hex;

/// Number of the last lesson; the first one is 1.
pub const LESSONS: u8 = 14;
/// The lesson about the packets of `moo`, whose table a program with its own game lacks.
const PACKET_LESSON: u8 = 8;
/// The dialect of that lesson.
const PACKET_DIALECT: &str = "native";

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerForm {
    /// Bytes, in any notation of `tickwire explain`.
    Hex,
    /// A word, a name or numbers.
    Text,
}

impl AnswerForm {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            AnswerForm::Hex => "hex",
            AnswerForm::Text => "text",
        }
    }
}

/// An exercise.
#[derive(Clone, Debug)]
pub struct Question {
    /// The task.
    pub task: String,
    kind: &'static Kind,
    seed: u32,
    expected: Expected,
}

impl Question {
    /// The form of the answer.
    pub fn form(&self) -> AnswerForm {
        match self.expected {
            Expected::Bytes { .. } | Expected::Rule { .. } => AnswerForm::Hex,
            Expected::Text(_) | Expected::Numbers { .. } => AnswerForm::Text,
        }
    }

    /// The lesson, the kind and the seed: `1-text_frame-7`.
    pub fn id(&self) -> String {
        format!("{}-{}-{}", self.kind.lesson, self.kind.name, self.seed)
    }

    /// A hint.
    pub fn hint(&self) -> &'static str {
        self.kind.hint
    }

    /// A right answer.
    pub fn answer(&self) -> String {
        match &self.expected {
            Expected::Bytes { model, .. } | Expected::Rule { model, .. } => hex::print(model),
            Expected::Text(text) => text.clone(),
            Expected::Numbers { numbers, .. } => {
                numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(" ")
            }
        }
    }

    /// Formats the question as one line of JSON.
    pub fn json(&self, has_answer: bool) -> String {
        let quoted = |text: &str| Value::from(text).to_string();
        let (id, seed, form, hint) = (self.id(), self.seed, self.form().name(), self.kind.hint);
        let (lesson, kind, task) = (self.kind.lesson, self.kind.name, quoted(&self.task));
        let answer =
            if has_answer { format!(r#","answer":{}"#, quoted(&self.answer())) } else { String::new() };
        format!(
            r#"{{"id":"{id}","lesson":{lesson},"kind":"{kind}","seed":{seed},"task":{task},"form":"{form}","hint":"{hint}"{answer}}}"#
        )
    }
}

/// The exercises, with the packets of one dialect.
#[derive(Clone, Copy, Debug)]
pub struct Quiz<'c> {
    dialect: &'c Dialect,
}

impl<'c> Quiz<'c> {
    /// Creates the exercises for these tables. `None` if the tables have no dialect.
    pub fn new(tables: &'c PacketTables) -> Option<Quiz<'c>> {
        Some(Quiz { dialect: tables.default_dialect()? })
    }

    /// Whether a lesson has exercises. The lesson about packets needs the table of `moo`.
    pub fn has_lesson(self, lesson: u8) -> bool {
        (1..=LESSONS).contains(&lesson) && (lesson != PACKET_LESSON || self.dialect.name() == PACKET_DIALECT)
    }

    /// The lessons with exercises.
    pub fn lessons(self) -> impl Iterator<Item = u8> {
        (1..=LESSONS).filter(move |lesson| self.has_lesson(*lesson))
    }

    /// The kinds of exercises of a lesson.
    fn kinds(self, lesson: u8) -> impl Iterator<Item = &'static Kind> {
        let has_lesson = self.has_lesson(lesson);
        KINDS.iter().filter(move |kind| has_lesson && kind.lesson == lesson)
    }

    /// Returns the question of a lesson with this seed, which also selects the kind. `None` if the
    /// lesson has no exercises.
    pub fn question(self, lesson: u8, seed: u32) -> Option<Question> {
        let count = self.kinds(lesson).count() as u32;
        let at = Rng::new(seed, u32::from(lesson)).below(count) as usize;
        self.build(lesson, at, seed)
    }

    /// Returns the question with this id; `None` if there is none.
    pub fn find(self, id: &str) -> Option<Question> {
        let mut parts = id.splitn(3, '-');
        let (lesson, name) = (parts.next()?.parse().ok()?, parts.next()?);
        let seed = parts.next()?.parse().ok()?;
        self.build(lesson, self.kinds(lesson).position(|kind| kind.name == name)?, seed)
    }

    /// Creates a question of the kind at this position in its lesson.
    fn build(self, lesson: u8, at: usize, seed: u32) -> Option<Question> {
        let kind = self.kinds(lesson).nth(at)?;
        let random = Rng::new(seed, u32::from(lesson) << 8 | (at as u32 + 1));
        let (task, expected) = (kind.build)(&mut Draw { random, dialect: self.dialect });
        Some(Question { task, kind, seed, expected })
    }

    /// Checks an answer.
    ///
    /// # Errors
    /// One sentence: the text is no answer, for example because it has an odd number of digits.
    pub fn check(self, question: &Question, answer: &str) -> Result<Verdict, String> {
        check::check(self.dialect, &question.expected, answer)
    }

    /// Explains the bytes of an answer as JSON, in the format of `tickwire explain --json`, without
    /// a verdict. Returns the bytes in hexadecimal and the explanation; `None` if the answer is
    /// text.
    ///
    /// # Errors
    /// As [`Quiz::check`].
    pub fn explain(self, question: &Question, answer: &str) -> Result<Option<(String, String)>, String> {
        let Some(layout) = question.expected.layout() else { return Ok(None) };
        let bytes = read_bytes(answer)?;
        Ok(Some((hex::digits(&bytes), layout.explain(self.dialect, &bytes).json())))
    }
}
