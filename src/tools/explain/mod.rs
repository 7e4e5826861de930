//! Explains any bytes as a tree of named ranges: the meaning of each bit, and the rule that is
//! broken.
//!
//! The input is bytes of one direction of a connection: its upgrade, frames, or both. A
//! [`Conversation`] takes the bytes of both directions as they arrive. The result is an
//! [`Explanation`], whose leaves tile the bytes: [`Display`](std::fmt::Display) prints it in one
//! line, [`Explanation::report`] as a report for people, [`Explanation::json`] for programs, and
//! [`Explanation::encode`] reconstructs the bytes from the leaves. [`ws`](crate::ws) and
//! [`packet`](crate::packet) themselves judge the bytes, so the verdict on a frame is the server's
//! own.
//!
//! ```text
//!   hex ──► bytes ──head──► lines                                                      ┌► drawing, report, line
//!             └──header──► fields ──unmask──► payload ──packet──► values with names ──► tree ──► JSON
//!                                                └──► message of several frames        └► the same bytes
//! ```
//!
//! ```
//! use tickwire::explain::{explain, hex};
//! use tickwire::packet::Codes;
//!
//! let bytes = hex::parse("81 85 37 fa 21 3d 7f 9f 4d 51 58")?;
//! let dialect = Codes::builtin().dialect("native").ok_or("no such dialect")?;
//! let explained = explain(&bytes, &dialect, None);
//! println!("{}", explained.report());
//! assert!(explained.report().contains("\"Hello\""));
//! assert_eq!(explained.encode(), Some(bytes));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The limits of our server apply to a client's messages only if the path of the upgrade is unique
//! to our server. The limits of any other endpoint are unknown, so messages to it are never
//! reported as too long.

pub mod capture_walk;
pub(crate) mod color;
mod conversation;
pub(crate) mod dialect_guess;
mod encode;
mod explanation;
pub mod hex;
pub(crate) mod input;
pub mod parse;
pub mod print;
pub mod tree;
mod truncate;

use crate::packet::Dialect;
use crate::ws::Side;
use crate::ws::frame::MASK;
use color::ColorMode;
pub use conversation::Conversation;
pub use dialect_guess::DialectGuess;
pub use explanation::{Content, ExplainedFrame, Explanation, PAYLOAD, Problem, REST, ReassembledMessage};

/// Explains bytes that `from` sent; `None` infers the sender from the bytes.
pub fn explain<'a>(bytes: &[u8], dialect: &'a Dialect, from: Option<Side>) -> Explanation<'a> {
    Conversation::in_dialect(dialect).explain(from.unwrap_or_else(|| guess_side(bytes)), bytes)
}

/// The output of `tickwire explain`: the report on bytes given as hexadecimal.
///
/// # Errors
/// One line that says what is wrong with the hexadecimal text.
pub fn run(text: &str, dialect: &Dialect, from: Option<Side>) -> Result<String, String> {
    Ok(explain(&hex::parse(text)?, dialect, from).report())
}

/// Infers the sender: a client masks, a server does not; fewer than two bytes do not show it.
pub fn guess_side(bytes: &[u8]) -> Side {
    match bytes.get(1) {
        _ if crate::tools::explain::parse::head_search::may_begin(bytes, Side::Client) => {
            crate::tools::explain::parse::head_search::side(bytes)
        }
        Some(second) if second & MASK == 0 => Side::Server,
        _ => Side::Client,
    }
}

impl Explanation<'_> {
    /// Reconstructs the bytes from the leaves; `None` if a leaf is incomplete, which would be a bug
    /// of ours.
    pub fn encode(&self) -> Option<Vec<u8>> {
        encode::encode(self)
    }

    /// Everything as one line of JSON; PROTOCOL.md defines the format.
    pub fn json(&self) -> String {
        crate::tools::explain::print::json::print(self)
    }

    /// Everything, drawn and written out, for a terminal of 100 columns.
    pub fn report(&self) -> String {
        self.painted(ColorMode::Plain)
    }

    /// The same in colours.
    #[doc(hidden)]
    pub fn painted(&self, paint: ColorMode) -> String {
        crate::tools::explain::print::report::report(self, paint)
    }
}
