//! Request and response heads: the result does not depend on how the bytes are split, and an
//! accepted head is unambiguous.
//!
//! The input is the bytes of a connection before its upgrade. The head, or the broken rule, is the
//! same however the bytes are split. An accepted head contains nothing that two parsers could
//! interpret differently, is the same for `httparse`, an independent parser, and round-trips. The
//! responses are well-formed.

use tickwire::internal::packet::routes;
use tickwire::limits::{self, HEAD_BYTES, HEAD_HEADERS};
use tickwire::packet::PacketTables;
use tickwire::ws::http::{HeadReader, RequestHead, ResponseHead, ResponseReader};
use tickwire::ws::{Violation, handshake};

/// The result of parsing a head, and the number of bytes consumed.
type Read<T> = Result<Option<(T, usize)>, Violation>;

/// See the [module](self).
pub fn run(bytes: &[u8]) {
    let whole = request(bytes, bytes.len());
    assert_eq!(whole, request(bytes, 1), "whole and byte by byte");
    assert_eq!(whole, request(bytes, 7), "whole and in pieces");
    if let Ok(Some((head, size))) = &whole {
        has_one_meaning(head, &bytes[..*size]);
        comes_back(head, &bytes[..*size]);
        is_answered(head);
    }
    let whole = response(bytes, bytes.len());
    assert_eq!(whole, response(bytes, 1), "a response whole and byte by byte");
    if let Ok(Some((head, _))) = &whole {
        let _ = handshake::check_response(head, "dGhlIHNhbXBsZSBub25jZQ==", &["tickwire.v1"]);
    }
}

fn request(bytes: &[u8], piece: usize) -> Read<RequestHead> {
    let mut reader = HeadReader::new(limits::HEAD_LIMITS);
    let mut fed = 0;
    for piece in bytes.chunks(piece.max(1)) {
        fed += piece.len();
        match reader.receive(piece) {
            Ok(None) => {}
            Ok(Some(head)) => return Ok(Some((head, fed - reader.rest().len()))),
            Err(refusal) => {
                assert_eq!(reader.receive(b"x"), Err(refusal.clone()), "a refusal is the last word");
                let response = refusal.response();
                assert!(response.starts_with(b"HTTP/1.1 ") && refusal.status >= 400);
                return Err(refusal.violation);
            }
        }
    }
    Ok(None)
}

fn response(bytes: &[u8], piece: usize) -> Read<ResponseHead> {
    let mut reader = ResponseReader::new(limits::HEAD_LIMITS);
    let mut fed = 0;
    for piece in bytes.chunks(piece.max(1)) {
        fed += piece.len();
        if let Some(head) = reader.receive(piece)? {
            return Ok(Some((head, fed - reader.rest().len())));
        }
    }
    Ok(None)
}

/// The lines of an accepted head behind the first, as name and value.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (&str, &[u8])> {
    let text = bytes.strip_suffix(b"\r\n\r\n").expect("a head ends with an empty line");
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.windows(2).position(|pair| pair == b"\r\n")?;
        rest = &rest[end + 2..];
        let line = &rest[..rest.windows(2).position(|pair| pair == b"\r\n").unwrap_or(rest.len())];
        let colon = line.iter().position(|byte| *byte == b':').expect("a colon in each line");
        Some((str::from_utf8(&line[..colon]).expect("a name is ASCII"), &line[colon + 1..]))
    })
}

/// Nothing in it that another reader could take for something else; and `httparse` takes it for the same.
fn has_one_meaning(head: &RequestHead, bytes: &[u8]) {
    assert!(bytes.len() <= HEAD_BYTES);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'\r' => assert_eq!(bytes.get(at + 1), Some(&b'\n'), "a bare CR"),
            b'\n' => assert_eq!(bytes.get(at.wrapping_sub(1)), Some(&b'\r'), "a bare LF"),
            b'\t' => {}
            _ => assert!(*byte >= 0x20 && *byte != 0x7f, "a control character"),
        }
    }
    let mut headers = [httparse::EMPTY_HEADER; HEAD_HEADERS];
    let mut other = httparse::Request::new(&mut headers);
    let size = other.parse(bytes).expect("what we accept, httparse accepts");
    assert_eq!(size, httparse::Status::Complete(bytes.len()));
    assert_eq!((other.method, other.path), (Some(&*head.method), Some(&*head.target)));
    assert_eq!(other.version, Some(u8::from(!head.is_http_1_0)));
    assert_eq!(lines(bytes).count(), other.headers.len());
    for header in other.headers.iter() {
        let value = String::from_utf8_lossy(header.value);
        assert!(head.headers.get_all(header.name).any(|known| known == value), "{}", header.name);
    }
    let bodies = ["Transfer-Encoding", "Content-Length"].map(|name| head.header(name).unwrap_or("0"));
    assert!(bodies.iter().all(|value| value.bytes().all(|digit| digit == b'0')), "a body: {bodies:?}");
}

/// Written again from what was understood, it is understood again.
fn comes_back(head: &RequestHead, bytes: &[u8]) {
    let version = if head.is_http_1_0 { "1.0" } else { "1.1" };
    let mut text = format!("{} {} HTTP/{version}\r\n", head.method, head.target);
    let mut seen: Vec<&str> = Vec::new();
    for (name, _) in lines(bytes) {
        let nth = seen.iter().filter(|known| known.eq_ignore_ascii_case(name)).count();
        let value = head.headers.get_all(name).nth(nth).expect("each line is a header");
        text.extend([name, ": ", value, "\r\n"]);
        seen.push(name);
    }
    text.push_str("\r\n");
    // A space more, or three bytes in place of one that is not UTF-8, and it may be too long.
    if text.len() <= HEAD_BYTES {
        let again = request(text.as_bytes(), text.len());
        assert_eq!(again, Ok(Some((head.clone(), text.len()))));
    }
}

/// What the server does with a head it accepted.
fn is_answered(head: &RequestHead) {
    let codes = PacketTables::builtin();
    let [dialect, format] = ["dialect", "format"].map(|name| head.query(name));
    let _ = routes::find_dialect(
        &codes,
        &routes::DEFAULT_PATHS,
        head.path(),
        dialect.as_deref(),
        format.as_deref(),
    );
    let _ = handshake::check_origin(head, &["https://game.example".to_owned()]);
    match handshake::accept(head, &["tickwire.v1"]) {
        Ok(accepted) => {
            let key = head.header("Sec-WebSocket-Key").expect("no upgrade without a key");
            let answer = response(&accepted.response, 1).expect("our own answer").expect("whole").0;
            let agreed = handshake::check_response(&answer, key, &["tickwire.v1"]);
            assert_eq!(agreed, Ok(accepted.subprotocol));
        }
        Err(refusal) => assert!(refusal.response().starts_with(b"HTTP/1.1 4")),
    }
}
