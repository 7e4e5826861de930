//! Finds where an HTTP head begins and ends, and reads the properties that need no validation.
//!
//! A head ends with an empty line, or with the first broken rule that counts. Plain HTTP, and
//! upgrades to other protocols, need not observe the limits of our server.

use crate::limits;
use crate::tools::explain::conversation::dialect_state::DialectState;
use crate::ws::http::{HeadReader, ResponseReader};
use crate::ws::{HeadLimits, Side, Violation};

/// The start of an upgrade request, which always uses GET (RFC 6455, section 4.1).
const REQUEST: &[u8] = b"GET ";
/// The start of a response.
pub(super) const RESPONSE: &[u8] = b"HTTP/";
/// The end of a head: the end of its last line, and an empty line.
pub(super) const HEAD_END: &[u8] = b"\r\n\r\n";

/// Whether the bytes start like a head of an upgrade.
pub fn is_of_upgrade(bytes: &[u8]) -> bool {
    bytes.starts_with(REQUEST) || bytes.starts_with(RESPONSE)
}

/// Whether a side's first bytes are the start of a head. `letters` is the number of leading
/// upper-case letters: a client may use any method, which consists of such letters up to a space.
/// No frame begins like this, because an upper-case letter has a reserved bit set.
fn begins(bytes: &[u8], letters: usize, from: Side) -> bool {
    is_of_upgrade(bytes) || from == Side::Client && letters > 0 && bytes.get(letters) == Some(&b' ')
}

/// The number of leading upper-case letters.
fn letters(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_uppercase()).count()
}

/// The sender of a head, or of bytes that may become a head.
pub fn side(head: &[u8]) -> Side {
    let is_response = head.starts_with(RESPONSE) || RESPONSE.starts_with(head);
    if is_response { Side::Server } else { Side::Client }
}

/// Whether the bytes are a head, or may become one with more bytes.
pub fn may_become_head(bytes: &[u8], from: Side) -> bool {
    may_begin_with(bytes, letters(bytes), from)
}

/// Like [`may_become_head`], with the number of leading upper-case letters.
fn may_begin_with(bytes: &[u8], letters: usize, from: Side) -> bool {
    let is_method = || from == Side::Client && letters == bytes.len();
    let is_front = || REQUEST.starts_with(bytes) || RESPONSE.starts_with(bytes) || is_method();
    begins(bytes, letters, from) || !bytes.is_empty() && is_front()
}

/// The size of the head, if it is complete.
pub fn complete_size(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(HEAD_END.len()).position(|window| window == HEAD_END);
    end.map(|end| end + HEAD_END.len())
}

/// The search for the end of a head that arrives in pieces. The search examines each byte at most a
/// fixed number of times, even if the pieces are small.
#[derive(Clone, Debug)]
pub struct HeadSearch {
    from: Side,
    /// The number of leading upper-case letters.
    letters: usize,
    /// The number of bytes that were read, and searched for the end.
    searched: usize,
    /// Reads the head until it breaks a rule.
    reader: Result<SideReader, Violation>,
    /// The properties of the head, collected once it has broken a rule.
    glance: Glance,
    /// The circumstances in which the broken rule did not count: whether the head is of an upgrade,
    /// and whether the conversation is foreign.
    ignored_circumstances: Option<(bool, bool)>,
    /// The number of examined bytes. A byte counts each time that it is examined.
    #[cfg(test)]
    examined: usize,
}

/// The reader of either side's head.
#[derive(Clone, Debug)]
enum SideReader {
    Client(HeadReader),
    Server(ResponseReader),
}

impl HeadSearch {
    /// A search before the first byte of the head of this side.
    pub fn new(from: Side) -> HeadSearch {
        let reader = match from {
            Side::Client => SideReader::Client(HeadReader::new(limits::HEAD_LIMITS)),
            Side::Server => SideReader::Server(ResponseReader::new(limits::HEAD_LIMITS)),
        };
        HeadSearch {
            from,
            letters: 0,
            searched: 0,
            reader: Ok(reader),
            glance: Glance::default(),
            ignored_circumstances: None,
            #[cfg(test)]
            examined: 0,
        }
    }

    /// Like [`may_become_head`]. `head` begins with the bytes of the earlier calls.
    pub fn may_go_on(&mut self, head: &[u8]) -> bool {
        let more = letters(&head[self.letters..]);
        self.note_examined(more);
        self.letters += more;
        may_begin_with(head, self.letters, self.from)
    }

    /// The size of the head, once it is complete or has broken a rule. `head` begins with the bytes
    /// of the earlier calls.
    pub fn size(&mut self, head: &[u8], dialect_state: &DialectState<'_>) -> Option<usize> {
        // The end of the head may begin in the last searched bytes.
        let begin = self.searched.saturating_sub(HEAD_END.len() - 1);
        self.note_examined(head.len() - begin);
        if let Some(size) = complete_size(&head[begin..]) {
            return Some(begin + size);
        }
        let violation = self.read(head)?;
        let is_broken = head.len() > FOREIGN_HEAD.bytes || self.counts(violation, head, dialect_state);
        is_broken.then_some(head.len())
    }

    /// Reads the new bytes, and returns the first violation of the head.
    fn read(&mut self, head: &[u8]) -> Option<Violation> {
        let new = &head[self.searched..];
        self.searched = head.len();
        let broken = match &mut self.reader {
            Ok(SideReader::Client(reader)) => reader.receive(new).err().map(|refusal| refusal.violation),
            Ok(SideReader::Server(reader)) => reader.receive(new).err(),
            Err(violation) => return Some(*violation),
        };
        self.note_examined(new.len());
        self.reader = Err(broken?);
        broken
    }

    /// Whether the violation is reported, judged by the lines of the head so far.
    fn counts(&mut self, violation: Violation, head: &[u8], dialect_state: &DialectState<'_>) -> bool {
        self.note_examined(head.len() - self.glance.searched_bytes);
        self.glance.see(head);
        let circumstances = Some((self.glance.is_of_upgrade, dialect_state.is_foreign()));
        if self.ignored_circumstances == circumstances {
            return false;
        }
        self.ignored_circumstances = circumstances;
        counts(violation, &self.glance, dialect_state)
    }

    #[cfg(test)]
    fn note_examined(&mut self, bytes: usize) {
        self.examined += bytes;
    }

    #[cfg(not(test))]
    fn note_examined(&mut self, _: usize) {}
}

/// The limits for the heads of other protocols.
pub const FOREIGN_HEAD: HeadLimits = HeadLimits {
    bytes: limits::EXPLAIN_HEAD_BYTES,
    headers: limits::EXPLAIN_HEAD_BYTES,
    target_bytes: limits::EXPLAIN_HEAD_BYTES,
};

/// Whether a violation is reported. Plain HTTP and upgrades to other protocols are exempt from the
/// limits of the server, and from its rules beyond the RFCs.
pub fn counts(violation: Violation, glance: &Glance, dialect_state: &DialectState<'_>) -> bool {
    let is_limit = matches!(
        violation,
        Violation::HeadTooLong
            | Violation::TargetTooLong
            | Violation::TooManyHeaders
            | Violation::TooManySubprotocols
    );
    let is_of_upgrades = matches!(
        violation,
        Violation::TargetForm
            | Violation::TransferEncoding
            | Violation::BodyAnnounced
            | Violation::MethodNotGet
    );
    match glance.is_of_upgrade {
        false => {
            let is_old = violation == Violation::StatusLine && glance.is_old_response;
            !(is_limit || is_of_upgrades || is_old)
        }
        true => {
            !is_limit
                || !dialect_state.is_foreign()
                    && glance.path.as_deref().is_none_or(|path| dialect_state.may_serve(path))
        }
    }
}

/// Bytes of a first line that show whether a response grants the upgrade, and in which version.
const STATUS_BYTES: usize = "HTTP/1.1 101 ".len();

/// The properties of a head that are found without validation.
#[derive(Clone, Debug, Default)]
pub struct Glance {
    /// The path of a request.
    path: Option<String>,
    /// Whether the head is an upgrade request or a response with status 101.
    is_of_upgrade: bool,
    is_response: bool,
    /// Whether the head is a response in HTTP/1.0.
    is_old_response: bool,
    /// The number of bytes that were searched for line ends.
    searched_bytes: usize,
    /// The start of the line after the last line end.
    line: usize,
}

impl Glance {
    /// Reads a complete head, or the rest of a head at the end of the stream.
    pub fn new(head: &[u8]) -> Glance {
        let mut glance = Glance::default();
        glance.see(head);
        glance.see_line(&head[glance.line..]);
        glance
    }

    /// Adds the lines that have ended since the last call. `head` begins with the bytes of the
    /// earlier calls.
    fn see(&mut self, head: &[u8]) {
        while let Some(size) = head[self.searched_bytes..].iter().position(|byte| *byte == b'\n') {
            let end = self.searched_bytes + size;
            self.see_line(&head[self.line..end]);
            (self.searched_bytes, self.line) = (end + 1, end + 1);
        }
        self.searched_bytes = head.len();
        if self.line == 0 {
            self.see_line(&head[..head.len().min(STATUS_BYTES)]);
        }
    }

    fn see_line(&mut self, line: &[u8]) {
        let line = line.trim_ascii_end();
        if self.line == 0 {
            return self.see_first(line);
        }
        if self.is_response {
            return;
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (name, value) = line.split_at(colon);
        let value = || String::from_utf8_lossy(value).to_ascii_lowercase();
        self.is_of_upgrade |= name.eq_ignore_ascii_case(b"upgrade") && value().contains("websocket")
            || name.eq_ignore_ascii_case(b"sec-websocket-key");
    }

    fn see_first(&mut self, line: &[u8]) {
        let mut words = line.split(|byte| *byte == b' ');
        let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        self.is_response = first.starts_with(RESPONSE);
        self.is_old_response = first == b"HTTP/1.0";
        self.is_of_upgrade = self.is_response && second == b"101";
        let path = second.split(|byte| *byte == b'?').next().unwrap_or_default();
        let path = std::str::from_utf8(path).ok().filter(|_| !self.is_response);
        self.path = path.map(str::to_owned);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketTables;

    /// The size that the search finds when the head arrives in pieces of `piece` bytes, and the
    /// bytes that it examines.
    fn search(head: &[u8], from: Side, piece: usize) -> (Option<usize>, usize) {
        let codes = PacketTables::builtin_ref();
        let dialect_state = DialectState::from_path(codes, codes.default_dialect().expect("a dialect"));
        let (mut search, mut end) = (HeadSearch::new(from), 0);
        while end < head.len() {
            end = head.len().min(end + piece);
            assert!(search.may_go_on(&head[..end]), "{end} bytes");
            if let Some(size) = search.size(&head[..end], &dialect_state) {
                return (Some(size), search.examined);
            }
        }
        (None, search.examined)
    }

    #[test]
    fn head_in_small_pieces_is_searched_in_a_number_of_steps_that_grows_with_its_bytes() {
        let lines = |count: usize| "X-Header: some value\r\n".repeat(count);
        let request = "GET /some/page HTTP/1.1\r\n";
        let large = format!("{request}{}\r\n", lines(2_800));
        let line = format!("{request}X: {}\r\n\r\n", "x".repeat(60_000));
        let upgrade = format!("{request}Upgrade: websocket\r\n{}\r\n", lines(60));
        let foreign = format!("{request}Upgrade: websocket\r\n{}\r\n", lines(2_800));
        let answer = format!("HTTP/1.1 200 OK\r\n{}\r\n", lines(2_800));
        for (head, from) in [
            (&*upgrade, Side::Client),
            (&*large, Side::Client),
            (&*line, Side::Client),
            (&*foreign, Side::Client),
            (&*answer, Side::Server),
            (&*"A".repeat(60_000), Side::Client),
        ] {
            for piece in [1, 2, 3, 100] {
                let (size, examined) = search(head.as_bytes(), from, piece);
                let whole = complete_size(head.as_bytes());
                assert_eq!(size, whole, "{} in pieces of {piece}", &head[..40]);
                // Bytes are examined by the searches for letters, for line ends and for the end of
                // the head (three bytes more per piece), and by the reader.
                let max_steps = 7 * head.len();
                assert!(examined <= max_steps, "{examined} of {} bytes in pieces of {piece}", head.len());
            }
        }
    }

    #[test]
    fn broken_head_in_small_pieces_ends_where_it_is_known_to_be_broken() {
        for (head, from, expected) in [
            (
                "GET / HTTP/1.1\r\nBad Name: x\r\nHost: a\r\n",
                Side::Client,
                "GET / HTTP/1.1\r\nBad Name: x\r\n",
            ),
            (
                "GET x HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nA: b",
                Side::Client,
                "GET x HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n",
            ),
            ("HTTP/1.0 200 OK\r\nA: b\r\n", Side::Server, ""),
            ("HTTP/1.1 2000 OK\r\nA: b\r\n", Side::Server, "HTTP/1.1 2000 OK\r\n"),
        ] {
            let (size, _) = search(head.as_bytes(), from, 1);
            assert_eq!(size, Some(expected.len()).filter(|size| *size > 0), "{head:?}");
        }
    }
}
