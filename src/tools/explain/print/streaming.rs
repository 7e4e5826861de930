//! Writes an explanation frame by frame, because the tree of a frame needs a thousand times the
//! memory of the frame.
//!
//! The output is handed over in parts, which together equal the output of one [`Explanation`] of
//! all bytes of one side. A first pass counts the frames and finds the final dialect. At most one
//! tree is kept.

use super::{json, report};
use crate::tools::explain::Conversation;
use crate::tools::explain::color::ColorMode;
use crate::tools::explain::explanation::Explanation;
use crate::ws::Side;

/// The output format of an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// One line per frame, with its sender.
    Line,
    /// Everything, drawn and written out.
    Full,
    /// Everything, as one line of JSON.
    Json,
}

/// Explains independent bytes of one side, in conversations that `begin` makes, and hands over the
/// text in parts.
pub fn write<'c>(
    begin: impl Fn() -> Conversation<'c>,
    (from, bytes): (Side, &[u8]),
    (form, paint): (OutputFormat, ColorMode),
    mut out: impl FnMut(&str),
) {
    let (mut survey, mut frames) = (begin(), 0);
    survey.explain_each(from, bytes, |_| frames += 1);
    let (dialect, is_foreign, candidates) = (survey.dialect(), survey.is_foreign(), Vec::new());
    let about =
        Explanation { bytes: bytes.to_vec(), from, dialect, is_foreign, candidates, frames: Vec::new() };
    if form == OutputFormat::Json {
        out(&json::begin(&about));
    }
    let mut index = 0;
    begin().explain_each(from, bytes, |frame| {
        match form {
            OutputFormat::Line => out(&frame.said(from, paint)),
            OutputFormat::Full => out(&report::one(&about, &frame, (index, frames), paint)),
            OutputFormat::Json => out(&json::one(&about, &frame, index)),
        }
        index += 1;
    });
    if form == OutputFormat::Json {
        out(json::FOOTER);
        out("\n");
    }
}
