//! A reader for HTTP responses: the head, and the body up to its end (RFC 9112, section 6.3).
//!
//! ```text
//!  head ─► 101 ─► whole: frames follow
//!    └─► status 204, 304 ─► whole
//!    └─► Content-Length, chunks, or the end of the stream ─► whole
//! ```
//!
//! The input is bytes, split anywhere. The head is at most [`limits::HEAD_LIMITS`], the body at
//! most the caller's limit. Without I/O and without a clock: the driver limits the time.

use std::fmt;

use super::connection::write_violation;
use crate::limits;
use crate::ws::http::{ResponseHead, ResponseReader};
use crate::ws::violation::Violation;

/// Maximum digits of a chunk size, because 16 digits fill 64 bits.
const SIZE_DIGITS: usize = 16;

/// The reason why a response cannot be read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerError {
    /// The head broke a rule, such as the limit of its size.
    Head(Violation),
    /// The body exceeds this number of bytes.
    TooLong(usize),
    /// A chunk does not start with its size in hexadecimal digits.
    Chunk,
}

impl fmt::Display for AnswerError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnswerError::Head(violation) => write_violation(*violation, out),
            AnswerError::TooLong(max) => write!(out, "the response has a body of more than {max} bytes"),
            AnswerError::Chunk => write!(out, "a chunk of the response has no size (RFC 9112 section 7.1)"),
        }
    }
}

impl std::error::Error for AnswerError {}

/// The next part of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// This number of bytes, then the end.
    Bytes(u64),
    /// All bytes up to the end of the stream.
    Everything,
    /// The line with the size of a chunk. `size` is the value so far, and `digits` the number of
    /// its digits. `is_over` is set after the last digit.
    Size { size: u64, digits: usize, is_over: bool },
    /// This number of bytes of a chunk.
    Chunk(u64),
    /// The line end after a chunk.
    ChunkEnd,
    /// The trailer lines after the last chunk. `is_empty` is set while the current line is empty.
    Trailer { is_empty: bool },
    /// No more bytes.
    End,
}

const NEW_SIZE: Next = Next::Size { size: 0, digits: 0, is_over: false };

/// A reader for one HTTP response.
#[derive(Debug)]
pub(crate) struct Answer {
    reader: ResponseReader,
    head: Option<ResponseHead>,
    next: Next,
    body: Vec<u8>,
    max_body_bytes: usize,
    trailer_bytes: usize,
}

impl Answer {
    /// Creates a reader for a response with a body of at most `max_body_bytes`.
    pub fn new(max_body_bytes: usize) -> Answer {
        let reader = ResponseReader::new(limits::HEAD_LIMITS);
        Answer {
            reader,
            head: None,
            next: Next::Everything,
            body: Vec::new(),
            max_body_bytes,
            trailer_bytes: 0,
        }
    }

    /// Handles bytes from the server. Drops the bytes after the end of the response.
    ///
    /// # Errors
    /// The response breaks a rule or a limit. It must not be read further.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<(), AnswerError> {
        if self.head.is_some() {
            return self.read(bytes);
        }
        let Some(head) = self.reader.receive(bytes).map_err(AnswerError::Head)? else { return Ok(()) };
        self.next = framing(&head);
        self.head = Some(head);
        let rest = self.reader.rest().to_vec();
        self.read(&rest)
    }

    /// The status, once the head is complete.
    pub fn status(&self) -> Option<u16> {
        self.head.as_ref().map(|head| head.status)
    }

    /// The address of a redirection (RFC 9110, section 15.4).
    pub fn location(&self) -> Option<&str> {
        let head = self.head.as_ref().filter(|head| (300..400).contains(&head.status))?;
        head.headers.get("Location")
    }

    /// Whether the head and the body are complete. Stays false for a body without a length, which
    /// ends with the stream.
    pub fn is_whole(&self) -> bool {
        self.head.is_some() && self.next == Next::End
    }

    /// The body so far, without the sizes of chunks.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    fn read(&mut self, mut bytes: &[u8]) -> Result<(), AnswerError> {
        while self.next != Next::End && !bytes.is_empty() {
            let run = match self.next {
                Next::Everything => bytes.len(),
                Next::Bytes(left) | Next::Chunk(left) => {
                    bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX))
                }
                _ => {
                    self.next = self.after(bytes[0])?;
                    bytes = &bytes[1..];
                    continue;
                }
            };
            if self.body.len() + run > self.max_body_bytes {
                return Err(AnswerError::TooLong(self.max_body_bytes));
            }
            self.body.extend_from_slice(&bytes[..run]);
            bytes = &bytes[run..];
            self.next = match self.next {
                Next::Bytes(left) if left == run as u64 => Next::End,
                Next::Bytes(left) => Next::Bytes(left - run as u64),
                Next::Chunk(left) if left == run as u64 => Next::ChunkEnd,
                Next::Chunk(left) => Next::Chunk(left - run as u64),
                next => next,
            };
        }
        Ok(())
    }

    /// Handles one byte of a chunk's framing. Returns the next part.
    fn after(&mut self, byte: u8) -> Result<Next, AnswerError> {
        self.trailer_bytes += 1;
        if self.trailer_bytes > limits::HEAD_LIMITS.bytes + self.max_body_bytes {
            return Err(AnswerError::TooLong(self.max_body_bytes));
        }
        Ok(match (self.next, byte) {
            (Next::Size { digits: 0, .. }, b'\n') => return Err(AnswerError::Chunk),
            (Next::Size { size: 0, .. }, b'\n') => Next::Trailer { is_empty: true },
            (Next::Size { size, .. }, b'\n') => Next::Chunk(size),
            (Next::Size { size, digits, is_over: false }, _) if digits < SIZE_DIGITS => {
                match char::from(byte).to_digit(16) {
                    Some(digit) => {
                        Next::Size { size: size << 4 | u64::from(digit), digits: digits + 1, is_over: false }
                    }
                    None if digits > 0 => Next::Size { size, digits, is_over: true },
                    None => return Err(AnswerError::Chunk),
                }
            }
            (Next::Size { is_over: false, .. }, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                return Err(AnswerError::Chunk);
            }
            (Next::Size { size, digits, .. }, _) => Next::Size { size, digits, is_over: true },
            (Next::ChunkEnd, b'\n') => NEW_SIZE,
            (Next::Trailer { is_empty: true }, b'\n') => Next::End,
            (Next::Trailer { .. }, b'\n') => Next::Trailer { is_empty: true },
            (Next::Trailer { is_empty }, byte) => Next::Trailer { is_empty: is_empty && byte == b'\r' },
            (next, _) => next,
        })
    }
}

/// The framing of the body of a response to GET, by its head.
fn framing(head: &ResponseHead) -> Next {
    let has_none = matches!(head.status, 100..=199 | 204 | 304);
    let is_chunked = head.headers.has_token("Transfer-Encoding", "chunked");
    let length = head.headers.get("Content-Length").and_then(|length| length.trim().parse().ok());
    match length {
        _ if has_none => Next::End,
        _ if is_chunked => NEW_SIZE,
        Some(0) => Next::End,
        Some(length) => Next::Bytes(length),
        None => Next::Everything,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the body, and whether the response is complete. Checks that the split of the bytes
    /// does not matter.
    fn read(bytes: &str) -> Result<(String, bool), AnswerError> {
        let (mut whole, mut cut) = (Answer::new(20), Answer::new(20));
        let read = whole.receive(bytes.as_bytes());
        let each = bytes.bytes().try_for_each(|byte| cut.receive(&[byte]));
        assert_eq!(read, each, "{bytes:?}");
        read.map(|()| {
            let received =
                |answer: &Answer| (String::from_utf8_lossy(answer.body()).into_owned(), answer.is_whole());
            assert_eq!(received(&whole), received(&cut), "{bytes:?}");
            received(&whole)
        })
    }

    #[test]
    fn a_response_ends_where_its_head_states() {
        for (lines, body, text, is_whole) in [
            ("400 Bad\r\nContent-Length: 2", "no", "no", true),
            ("400 Bad\r\nContent-Length: 2", "nothing", "no", true),
            ("400 Bad\r\nContent-Length: 3", "no", "no", false),
            ("400 Bad\r\nContent-Length: 0", "", "", true),
            ("400 Bad", "no", "no", false),
            ("204 None", "", "", true),
            ("101 Switching Protocols", "\u{1}", "", true),
            (
                "503 No\r\nTransfer-Encoding: chunked",
                "2\r\nno\r\n3;a=b\r\n ro\r\n0\r\nX: y\r\n\r\n",
                "no ro",
                true,
            ),
            ("503 No\r\nTransfer-Encoding: gzip, Chunked", "0002\r\nno\r\n0\r\n", "no", false),
        ] {
            let bytes = format!("HTTP/1.1 {lines}\r\n\r\n{body}");
            assert_eq!(read(&bytes), Ok((text.to_owned(), is_whole)), "{lines}");
        }
    }

    #[test]
    fn a_response_without_an_end_is_an_error() {
        let long = "x".repeat(21);
        for (bytes, error) in [
            (format!("HTTP/1.1 400 Bad\r\n\r\n{long}"), AnswerError::TooLong(20)),
            (format!("HTTP/1.1 400 Bad\r\nContent-Length: 99999\r\n\r\n{long}"), AnswerError::TooLong(20)),
            (
                format!("HTTP/1.1 400 Bad\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\n{long}"),
                AnswerError::TooLong(20),
            ),
            (
                format!(
                    "HTTP/1.1 400 Bad\r\nTransfer-Encoding: chunked\r\n\r\n1;{}",
                    "x".repeat(limits::HEAD_LIMITS.bytes + 20)
                ),
                AnswerError::TooLong(20),
            ),
            ("HTTP/1.1 400 Bad\r\nTransfer-Encoding: chunked\r\n\r\nno".to_owned(), AnswerError::Chunk),
            (
                format!("HTTP/1.1 200 OK\r\n{}", "X: yyyyyyyyyy\r\n".repeat(limits::HEAD_LIMITS.bytes / 10)),
                AnswerError::Head(Violation::TooManyHeaders),
            ),
            (
                format!("HTTP/1.1 200 {}", "x".repeat(limits::HEAD_LIMITS.bytes)),
                AnswerError::Head(Violation::HeadTooLong),
            ),
        ] {
            assert_eq!(read(&bytes), Err(error), "{}", &bytes[..40]);
        }
    }

    #[test]
    fn head_over_a_limit_is_reported_with_the_limit_and_without_a_status() {
        let long = format!("HTTP/1.1 101 {}", "x".repeat(limits::HEAD_LIMITS.bytes));
        let many = format!("HTTP/1.1 101 Yes\r\n{}", "X: y\r\n".repeat(limits::HEAD_LIMITS.headers + 1));
        for (head, text) in [
            (long, "the response head exceeds 40960 bytes"),
            (many, "the response head has more than 64 headers"),
            (
                "HTTP/2".to_owned() + "\r\n",
                "The response does not begin with an HTTP/1.1 status line. (RFC 9112 section 4)",
            ),
        ] {
            let read = Answer::new(20).receive(head.as_bytes());
            assert_eq!(read.map_err(|error| error.to_string()), Err(text.to_owned()), "{}", &head[..8]);
        }
    }
}
