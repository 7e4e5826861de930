//! The exercises of the page `/quiz`, with the built-in packet tables. After an invalid input the
//! output is `{"error":"…"}`.

use serde_json::{Value, json};
use tickwire::explain::hex;
use tickwire::internal::tools::quiz::{Question, Quiz};
use tickwire::packet::PacketTables;

use super::inspector::answer;

/// Outputs the question of a lesson with this seed: the same as `tickwire quiz --json`.
#[unsafe(no_mangle)]
pub extern "C" fn quiz_question(lesson: u32, seed: u32) -> usize {
    answer(|_, _| {
        let quiz = Quiz::new(PacketTables::builtin_ref()).ok_or(NO_EXERCISE)?;
        let lesson = u8::try_from(lesson).map_err(|_| NO_EXERCISE)?;
        let question = quiz.question(lesson, seed).ok_or(NO_EXERCISE)?;
        Ok(question.json(true).into_bytes())
    })
}

/// Explains an answer without a verdict. The input is `{"id":…,"answer":…}`. Outputs `bytes` in
/// hexadecimal and `explained`, which are null for an answer in text.
#[unsafe(no_mangle)]
pub extern "C" fn quiz_explain() -> usize {
    with_answer(|quiz, question, text| {
        let explained = quiz.explain(question, text)?;
        Ok(explained.map_or_else(
            || r#"{"bytes":null,"explained":null}"#.to_owned(),
            |(bytes, json)| format!(r#"{{"bytes":"{}","explained":{json}}}"#, hex::digits(&bytes)),
        ))
    })
}

/// Checks an answer. The input is `{"id":…,"answer":…}`. Outputs `right`, `verdict`, and `bits`,
/// the range of the wrong bits or null.
#[unsafe(no_mangle)]
pub extern "C" fn quiz_check() -> usize {
    with_answer(|quiz, question, text| {
        let verdict = quiz.check(question, text)?;
        let bits = verdict.bits.map(|bits| [bits.start, bits.end]);
        Ok(json!({ "right": verdict.is_right, "verdict": verdict.text, "bits": bits }).to_string())
    })
}

const NO_EXERCISE: &str = "there is no such exercise";

fn with_answer(call: impl FnOnce(Quiz<'_>, &Question, &str) -> Result<String, String>) -> usize {
    answer(|_, input| {
        let given: Value = serde_json::from_slice(input).map_err(|error| error.to_string())?;
        let text = |key: &str| given[key].as_str().unwrap_or_default();
        let quiz = Quiz::new(PacketTables::builtin_ref()).ok_or(NO_EXERCISE)?;
        let question = quiz.find(text("id").parse()?).ok_or(NO_EXERCISE)?;
        call(quiz, &question, text("answer")).map(String::into_bytes)
    })
}
