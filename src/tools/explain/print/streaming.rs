//! Formats an explanation frame by frame, because the tree of a frame takes about a thousand times
//! the memory of its bytes.
//!
//! The output is passed to the caller in parts, which together equal the output for one
//! [`Explanation`] of all bytes. A first pass counts the frames and determines the dialect. At most
//! one tree is stored.

use super::{json, report};
use crate::tools::explain::Conversation;
use crate::tools::explain::color::ColorMode;
use crate::tools::explain::explanation::Explanation;
use crate::ws::Side;

/// The output format of an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// One line for each frame, with the sender.
    Line,
    /// The report.
    Full,
    /// One line of JSON.
    Json,
}

/// Explains bytes of one side, in two conversations that `begin` creates, and passes the output in
/// parts to `out`.
pub fn write<'c>(
    begin: impl Fn() -> Conversation<'c>,
    (from, bytes): (Side, &[u8]),
    (form, paint): (OutputFormat, ColorMode),
    mut out: impl FnMut(&str),
) {
    let (mut survey, mut frames) = (begin(), 0);
    survey.explain_each(from, bytes, |_| frames += 1);
    let (dialect, is_foreign, candidates) = (survey.dialect(), survey.is_foreign(), Vec::new());
    let context =
        Explanation { bytes: bytes.to_vec(), from, dialect, is_foreign, candidates, frames: Vec::new() };
    if form == OutputFormat::Json {
        out(&json::header_json(&context));
    }
    let mut index = 0;
    begin().explain_each(from, bytes, |frame| {
        match form {
            OutputFormat::Line => out(&frame.one_line(from, paint)),
            OutputFormat::Full => out(&report::one(&context, &frame, (index, frames), paint)),
            OutputFormat::Json => out(&json::frame_json(&context, &frame, index)),
        }
        index += 1;
    });
    if form == OutputFormat::Json {
        out(json::FOOTER);
        out("\n");
    }
}
