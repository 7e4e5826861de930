//! Lines of an HTTP head, one byte at a time: RFC 9112, section 2.2, interpreted strictly.
//!
//! The input is bytes, split anywhere. The output is lines without CR LF; the last line is empty.
//! Each byte is examined once, even if the bytes arrive one at a time. This module limits the
//! length of a head, and does not interpret its lines.

use std::fmt;

use super::violation::Violation;

/// The limits on one received head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadLimits {
    /// Maximum bytes of the head, including its first line and its empty line. A longer head is a
    /// [`Violation::HeadTooLong`].
    pub bytes: usize,
    /// Maximum number of header lines. One more is a [`Violation::TooManyHeaders`].
    pub headers: usize,
    /// Maximum bytes of the target of a request (path and query). A longer target is a
    /// [`Violation::TargetTooLong`].
    pub target_bytes: usize,
}

/// Splits a head into lines. `Debug` omits the line, because it may contain a secret.
#[derive(Clone)]
pub struct LineReader {
    /// Maximum bytes of the head.
    max_bytes: usize,
    /// The current line, or the line returned last.
    line: Vec<u8>,
    /// Number of bytes of the head so far.
    bytes: usize,
    end: LineEnd,
}

impl fmt::Debug for LineReader {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("LineReader")
            .field("bytes", &self.bytes)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}

/// The position within a line ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineEnd {
    None,
    /// CR was read; LF must follow.
    Cr,
    /// The line was returned; the next byte begins another one.
    CrLf,
}

impl LineReader {
    /// Creates a reader of a head of at most `max_bytes`.
    pub fn new(max_bytes: usize) -> LineReader {
        LineReader { max_bytes, line: Vec::new(), bytes: 0, end: LineEnd::None }
    }

    /// Consumes bytes from the start of `input` up to the end of a line, and returns the line.
    /// Returns `None` if `input` ends first.
    ///
    /// # Errors
    /// The rule that the byte broke: [`Violation::NotHttp`], [`Violation::BareLineFeed`],
    /// [`Violation::BareCarriageReturn`], [`Violation::ControlCharacter`],
    /// [`Violation::HeadTooLong`].
    pub fn next_line(&mut self, input: &mut &[u8]) -> Result<Option<&[u8]>, Violation> {
        while let Some((&byte, rest)) = input.split_first() {
            *input = rest;
            self.push_byte(byte)?;
            if self.end == LineEnd::CrLf {
                return Ok(Some(&self.line));
            }
        }
        Ok(None)
    }

    /// The bytes of the unfinished line.
    pub fn unfinished(&self) -> &[u8] {
        if self.end == LineEnd::CrLf { &[] } else { &self.line }
    }

    fn push_byte(&mut self, byte: u8) -> Result<(), Violation> {
        if self.bytes == 0 && !is_token_byte(byte) {
            return Err(Violation::NotHttp);
        }
        self.bytes += 1;
        if self.bytes > self.max_bytes {
            return Err(Violation::HeadTooLong);
        }
        if self.end == LineEnd::CrLf {
            self.line.clear();
            self.end = LineEnd::None;
        }
        match (self.end, byte) {
            (LineEnd::Cr, b'\n') => self.end = LineEnd::CrLf,
            (LineEnd::Cr, _) => return Err(Violation::BareCarriageReturn),
            (_, b'\r') => self.end = LineEnd::Cr,
            (_, b'\n') => return Err(Violation::BareLineFeed),
            (_, b'\t') => self.line.push(byte),
            (_, 0..=0x1f | 0x7f) => return Err(Violation::ControlCharacter),
            _ => self.line.push(byte),
        }
        Ok(())
    }
}

/// Whether a byte may occur in a token: RFC 9110, section 5.6.2.
pub const fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
        )
}

/// Whether the bytes are a token: RFC 9110, section 5.6.2.
pub fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().copied().all(is_token_byte)
}
