//! Exercises for the lessons: build the bytes, and get a verdict that names the first wrong bit.
//!
//! ```text
//!   lesson, seed ──► kind, parameters ──► task, hint, model answer
//!                                              │
//!   text ──notation──► bytes ─────────────► compare ──► right, or the field and its bit
//! ```
//!
//! A [`Question`] is a function of its [`QuestionId`]: the lesson, the kind and the seed. Where
//! several answers are right, the model takes the free choices of the answer, such as its masking
//! key, or the decoders of [`ws`](crate::ws) decide. The names of the fields are the names of the
//! [explainer](crate::tools::explain). No clock, no file, no thread.

mod check;
mod frames;
mod kinds;
mod layout;
mod packets;
mod rules;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde_json::json;
use tickwire_sim::Rng;

use self::check::{Expected, read_bytes};
use self::kinds::{Draw, KINDS, Kind};
use crate::packet::{Dialect, PacketTables};
use crate::tools::explain::hex;

/// Number of the last lesson; the first one is 1.
pub const LESSONS: u8 = 11;
/// The lesson about the packets of `moo`, whose table a program with its own game lacks.
const PACKET_LESSON: u8 = 8;
/// The dialect of that lesson.
const PACKET_DIALECT: &str = "native";

/// Identifies a question: `1-text_frame-7`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionId {
    /// Number of the lesson.
    pub lesson: u8,
    /// Name of the kind of exercise.
    pub kind: String,
    /// Seed of the parameters.
    pub seed: u32,
}

impl fmt::Display for QuestionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.lesson, self.kind, self.seed)
    }
}

impl FromStr for QuestionId {
    type Err = String;

    fn from_str(text: &str) -> Result<QuestionId, String> {
        let mut parts = text.splitn(3, '-');
        let mut next = || parts.next().unwrap_or_default();
        let (lesson, kind, seed) = (next().parse(), next().to_owned(), next().parse());
        match (lesson, seed) {
            (Ok(lesson), Ok(seed)) => Ok(QuestionId { lesson, kind, seed }),
            _ => Err(format!("{text:?} is no id of a question: LESSON-KIND-SEED, such as 1-text_frame-7")),
        }
    }
}

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
    /// The lesson, the kind and the seed.
    pub id: QuestionId,
    /// The task.
    pub task: String,
    /// A hint.
    pub hint: &'static str,
    expected: Expected,
}

/// The verdict on an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the answer is right.
    pub is_right: bool,
    /// The first wrong bit with its field, or another reason, in one line.
    pub text: String,
    /// The wrong bits of the answer. Bits count from its start, most significant bit first within
    /// a byte.
    pub bits: Option<Range<usize>>,
}

impl Question {
    /// The form of the answer.
    pub fn form(&self) -> AnswerForm {
        match self.expected {
            Expected::Bytes { .. } | Expected::Rule { .. } => AnswerForm::Hex,
            Expected::Text(_) | Expected::Numbers(_) => AnswerForm::Text,
        }
    }

    /// A right answer.
    pub fn answer(&self) -> String {
        match &self.expected {
            Expected::Bytes { model, .. } | Expected::Rule { model, .. } => hex::print(model),
            Expected::Text(text) => text.clone(),
            Expected::Numbers(numbers) => numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(" "),
        }
    }

    /// Formats the question as one line of JSON.
    pub fn json(&self, has_answer: bool) -> String {
        let QuestionId { lesson, kind, seed } = &self.id;
        let mut object = json!({
            "id": self.id.to_string(), "lesson": lesson, "kind": kind, "seed": seed,
            "task": self.task, "form": self.form().name(), "hint": self.hint,
        });
        if has_answer {
            object["answer"] = self.answer().into();
        }
        object.to_string()
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

    /// The names of the kinds of exercises of a lesson.
    pub fn kinds(self, lesson: u8) -> impl Iterator<Item = &'static str> {
        KINDS.iter().filter(move |kind| kind.lesson == lesson).map(|kind| kind.name)
    }

    /// Returns the question of a lesson with this seed, which also selects the kind. `None` if the
    /// lesson has no exercises.
    pub fn question(self, lesson: u8, seed: u32) -> Option<Question> {
        let count = self.kinds(lesson).count() as u32;
        let at = Rng::new(seed, u32::from(lesson)).below(count) as usize;
        let kind = self.kinds(lesson).nth(at)?.to_owned();
        self.find(QuestionId { lesson, kind, seed })
    }

    /// Returns the question with this id; `None` if there is no such kind.
    pub fn find(self, id: QuestionId) -> Option<Question> {
        if !self.has_lesson(id.lesson) {
            return None;
        }
        let mut kinds = KINDS.iter().filter(|kind| kind.lesson == id.lesson).enumerate();
        let (at, Kind { hint, build, .. }) = kinds.find(|(_, kind)| kind.name == id.kind)?;
        let purpose = u32::from(id.lesson) << 8 | (at as u32 + 1);
        let mut draw = Draw { random: Rng::new(id.seed, purpose), dialect: self.dialect };
        let (task, expected) = build(&mut draw);
        Some(Question { id, task, hint, expected })
    }

    /// Checks an answer.
    ///
    /// # Errors
    /// One sentence: the text is no answer, for example because it has an odd number of digits.
    pub fn check(self, question: &Question, answer: &str) -> Result<Verdict, String> {
        check::check(self.dialect, &question.expected, answer)
    }

    /// Explains the bytes of an answer as JSON, in the format of `tickwire explain --json`, without
    /// a verdict. `None` if the answer is text.
    ///
    /// # Errors
    /// As [`Quiz::check`].
    pub fn explain(self, question: &Question, answer: &str) -> Result<Option<(Vec<u8>, String)>, String> {
        let Some(layout) = question.expected.layout() else { return Ok(None) };
        let bytes = read_bytes(answer)?;
        let json = layout.explain(self.dialect, &bytes).json();
        Ok(Some((bytes, json)))
    }
}
