//! Explains bytes as a tree of named bit ranges: the meaning of each bit, and the broken rule, if
//! any.
//!
//! The input is bytes of one direction of a connection: the upgrade, frames, or both. A
//! [`Conversation`] receives the bytes of both directions incrementally. The result is an
//! [`Explanation`]; its leaves cover the bytes without gaps: [`Display`](std::fmt::Display) prints
//! one line per frame, [`Explanation::report`] a report for people, [`Explanation::json`] JSON for
//! programs, and [`Explanation::encode`] reconstructs the bytes from the leaves. The rules are
//! checked by [`ws`](crate::ws) and [`packet`](crate::packet), as in the server.
//!
//! ```text
//!   hex ─► bytes ─head──► lines                                             ┌► drawing, report
//!            └──header──► fields ─unmask─► payload ─packet─► values ─► tree ─► JSON
//!                                            └► reassembled message         └► the same bytes
//! ```
//!
//! ```
//! use tickwire::explain::{explain, hex};
//! use tickwire::packet::PacketTables;
//!
//! let bytes = hex::parse("81 85 37 fa 21 3d 7f 9f 4d 51 58")?;
//! let dialect = PacketTables::builtin().dialect("native").ok_or("no such dialect")?;
//! let explained = explain(&bytes, &dialect, None);
//! println!("{}", explained.report());
//! assert!(explained.report().contains("\"Hello\""));
//! assert_eq!(explained.encode(), Some(bytes));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The limits of the server apply to a client's messages only if the path of the upgrade is unique
//! to tickwire servers. On other paths the limits are unknown, so no message is reported as too
//! long.

pub(crate) mod bare_message;
pub mod capture_walk;
pub(crate) mod color;
mod conversation;
pub(crate) mod dialect_choice;
pub(crate) mod dialect_guess;
mod encode;
mod explanation;
pub mod hex;
pub(crate) mod input;
pub(crate) mod parse;
pub(crate) mod print;
pub mod tree;
mod truncate;

use crate::packet::Dialect;
use crate::ws::Side;
use crate::ws::frame::MASK;
use color::ColorMode;
pub use conversation::Conversation;
#[cfg(not(target_family = "wasm"))]
pub(crate) use dialect_choice::DialectChoice;
pub(crate) use dialect_choice::NO_DIALECT;
pub use dialect_guess::DialectGuess;
pub use explanation::{
    Content, ExplainedFrame, Explanation, PAYLOAD_FIELD, Problem, ReassembledMessage, UNREAD_FIELD,
};
#[cfg(not(target_family = "wasm"))]
pub(crate) use parse::payload::Detail;

/// Explains bytes of one side. If `from` is `None`, the sender is inferred from the bytes.
pub fn explain<'a>(bytes: &[u8], dialect: &'a Dialect, from: Option<Side>) -> Explanation<'a> {
    Conversation::in_dialect(dialect).explain(from.unwrap_or_else(|| guess_side(bytes)), bytes)
}

/// Returns the output of `tickwire explain` for hexadecimal text.
///
/// # Errors
/// The text is not hexadecimal.
pub fn run(text: &str, dialect: &Dialect, from: Option<Side>) -> Result<String, hex::HexError> {
    Ok(explain(&hex::parse(text)?, dialect, from).report())
}

/// Infers the sender from an HTTP head or the mask bit. The default is the client.
pub fn guess_side(bytes: &[u8]) -> Side {
    match bytes.get(1) {
        _ if crate::tools::explain::parse::head_search::may_become_head(bytes, Side::Client) => {
            crate::tools::explain::parse::head_search::side(bytes)
        }
        Some(second) if second & MASK == 0 => Side::Server,
        _ => Side::Client,
    }
}

impl Explanation<'_> {
    /// Reconstructs the bytes from the leaves. `None` would be a bug: a leaf lacks its value.
    pub fn encode(&self) -> Option<Vec<u8>> {
        encode::encode(self)
    }

    /// Formats the explanation as one line of JSON; PROTOCOL.md defines the format.
    pub fn json(&self) -> String {
        crate::tools::explain::print::json::print(self)
    }

    /// Formats the explanation as a report with drawings, for a terminal of 100 columns.
    pub fn report(&self) -> String {
        self.painted(ColorMode::Plain)
    }

    /// Like `report`, in colours.
    #[doc(hidden)]
    pub fn painted(&self, paint: ColorMode) -> String {
        crate::tools::explain::print::report::report(self, paint)
    }
}
