//! Frames in one line. Messages of another protocol are printed in JSON if they are JSON or
//! MessagePack, and longer than the values of packets.

use crate::limits;
use crate::tools::explain::color::ColorMode;
use crate::tools::explain::{Content, ExplainedFrame, Explanation};
use crate::util::escape;

/// A line for each frame of an explanation, with the sender.
pub fn print(mut item: Explanation<'_>, paint: ColorMode) -> String {
    let values: Vec<Option<String>> = match item.is_foreign {
        true => item.frames.iter_mut().map(take_value).collect(),
        false => Vec::new(),
    };
    let frames = item.one_line(paint);
    let mut values = values.into_iter();
    let line = |line: &str| match values.next().flatten() {
        Some(value) => format!("{line}: {value}\n"),
        None => format!("{line}\n"),
    };
    frames.lines().map(line).collect()
}

/// The value of a message of another protocol. The frame then prints its header alone.
fn take_value(frame: &mut ExplainedFrame<'_>) -> Option<String> {
    if frame.problem.is_some() {
        return None;
    }
    let value = match &frame.content {
        Content::Text(text) if is_json(text) => format!("JSON {}", in_one_line(text)),
        Content::Text(text) => format!("{text:?}"),
        Content::Foreign(line) => line.clone(),
        _ => return None,
    };
    (frame.content, frame.payload) = (Content::Bytes, Vec::new());
    Some(cut(&escape::escape_line(&value)))
}

/// Whether a text is an object or an array in JSON.
fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<serde_json::Value>(text).is_ok()
}

/// JSON without the spaces between its lines, which are outside strings: a string has no line end.
fn in_one_line(json: &str) -> String {
    json.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(limits::CONNECT_LINE_CHARS) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}
