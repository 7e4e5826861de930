//! The exercises of the page `/quiz`, with the built-in packet tables. After an invalid input the
//! output is `{"error":"…"}`.

use serde_json::Value;
use tickwire::internal::tools::quiz::Quiz;
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

/// Checks an answer and explains its bytes. The input is the id of the question, a line feed, and
/// the answer. Outputs `right`, `verdict`, `bits` (the range of the wrong bits, or null) and, for
/// an answer in bytes, `bytes` in hexadecimal and `explained`.
#[unsafe(no_mangle)]
pub extern "C" fn quiz_check() -> usize {
    answer(|_, input| {
        let input = std::str::from_utf8(input).map_err(|error| error.to_string())?;
        let (id, text) = input.split_once('\n').ok_or(NO_EXERCISE)?;
        let quiz = Quiz::new(PacketTables::builtin_ref()).ok_or(NO_EXERCISE)?;
        let question = quiz.find(id).ok_or(NO_EXERCISE)?;
        let verdict = quiz.check(&question, text)?;
        let (is_right, words) = (verdict.is_right, Value::from(verdict.text));
        let bits = verdict.bits.map_or("null".to_owned(), |bits| format!("[{},{}]", bits.start, bits.end));
        let mut out = format!(r#"{{"right":{is_right},"verdict":{words},"bits":{bits}"#);
        if let Some((bytes, explained)) = quiz.explain(&question, text)? {
            out.extend([r#","bytes":""#, &bytes, r#"","explained":"#, &explained]);
        }
        Ok((out + "}").into_bytes())
    })
}

const NO_EXERCISE: &str = "there is no such exercise";
