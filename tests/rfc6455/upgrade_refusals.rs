//! Every error in a request, and the status of the response: the rows of `rows/heads*.rs`, each
//! whole, one byte at a time, split at seeded positions, and split in two at every position. Also
//! the client's half: the rows of `rows/answers.rs`.

#![allow(clippy::print_stdout, reason = "each table says how many rows it ran")]

use crate::rows::answers;
use crate::rows::heads::{self, ALLOWED, Head, KNOWN, bytes_of};
use crate::rows::heads_unfinished;
use crate::rows::pieces;
use tickwire::internal::limits::{self, HEAD_BYTES, TARGET_BYTES};
use tickwire::ws::Violation;
use tickwire::ws::extension::DeflateOffer;
use tickwire::ws::handshake::{
    AcceptedUpgrade, accept, check_origin, check_response, check_response_with, encode_key, request,
};
use tickwire::ws::http::{HeadReader, Refusal, RequestHead, ResponseReader, response};

/// What a server does with a connection until it is upgraded.
fn serve<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Result<Option<AcceptedUpgrade>, Refusal> {
    let mut reader = HeadReader::new(limits::HEAD_LIMITS);
    for piece in pieces {
        if let Some(head) = reader.receive(piece)? {
            check_origin(&head, &[ALLOWED.to_owned()])?;
            return accept(&head, KNOWN).map(Some);
        }
    }
    Ok(None)
}

#[test]
fn each_head_whole_byte_by_byte_and_split_anywhere() {
    let mut count = 0;
    for (name, head, expected) in heads::all().chain(heads_unfinished::PIPELINED) {
        let bytes = bytes_of(head);
        let check = |how: &str, pieces: &mut dyn Iterator<Item = &[u8]>| {
            let got = serve(pieces).map(|accepted| accepted.expect("a whole head"));
            let got = got.map(|accepted| accepted.subprotocol).map_err(|r| (r.status, r.violation));
            assert_eq!(got, expected.map(|agreed| agreed.map(str::to_owned)), "{name}, {how}");
        };
        for (how, pieces) in pieces::ways(&bytes, pieces::seed()) {
            check(&how, &mut pieces.into_iter());
        }
        for cut in (1..bytes.len()).take(400) {
            let (front, back) = bytes.split_at(cut);
            check(&format!("cut at {cut}"), &mut [front, back].into_iter());
        }
        count += 1;
    }
    println!("{count} request heads");
    assert!(count >= 120, "{count}");
}

#[test]
fn a_head_without_an_end_is_waited_for() {
    for (name, bytes) in heads_unfinished::ROWS {
        for (how, pieces) in pieces::ways(bytes, pieces::seed()) {
            assert_eq!(serve(pieces.into_iter()), Ok(None), "{name}, {how}");
        }
    }
    println!("{} request heads without an end", heads_unfinished::ROWS.len());
}

#[test]
fn section_11_3_4_the_first_known_subprotocol_of_the_client_is_selected() {
    let head = head(
        "/",
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
                          Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: x, b, a\r\n",
    );
    assert_eq!(accept(&head, &["a", "b"]).unwrap().subprotocol.as_deref(), Some("b"));
}

#[test]
fn a_refusal_is_a_complete_response_that_names_the_rule() {
    for violation in Violation::ALL.iter().filter(|violation| violation.status().is_some()) {
        let refusal = Refusal::from(*violation);
        let text = String::from_utf8(refusal.response()).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with(&format!("HTTP/1.1 {} ", violation.status().unwrap())), "{head}");
        assert!(head.contains(&format!("\r\nContent-Length: {}", body.len())), "{head}");
        assert!(body.contains(violation.name()) && body.contains(&violation.citation()), "{body}");
        assert!(refusal.to_string().starts_with(&format!("{} {}: ", refusal.status, violation.name())));
        assert_eq!(head.contains("\r\nAllow: GET"), refusal.status == 405, "{head}");
        assert_eq!(head.contains("\r\nSec-WebSocket-Version: 13"), refusal.status == 426, "{head}");
        assert_eq!(head.contains("\r\nUpgrade: websocket"), refusal.status == 426, "{head}");
        let connection =
            if refusal.status == 426 { "Connection: Upgrade, close" } else { "Connection: close" };
        assert!(head.contains(connection), "{head}");
    }
}

#[test]
fn a_refusal_names_the_value_that_broke_the_rule_and_the_remedy() {
    let long = |header: &str, bytes: usize| Head::Long(header.to_owned().leak(), b'a', bytes);
    for (head, expected) in [
        (Head::Instead("Sec-WebSocket-Key: c2hvcnQ="), "It is base64 of 5 bytes."),
        (Head::Instead("Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAAAA"), "It is base64 of 18 bytes."),
        (Head::Instead("Sec-WebSocket-Key: short"), "Its 5 characters are not base64: "),
        (
            long("GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\nCookie: ", HEAD_BYTES),
            "Most of it is cookie: 40914 bytes. The limit for the whole head is 40960 bytes.",
        ),
        (Head::Long("GET /", b'a', HEAD_BYTES), "Most of it is an unfinished line: "),
        (long("GET / HTTP/1.1\r\n", HEAD_BYTES), "Most of it is an unfinished line: "),
        (Head::Times(200, "X:"), "The limit is 64 headers."),
        (Head::FirstLine("GET / HTTP/1.0"), "nginx: proxy_http_version 1.1;"),
        (Head::Without("Upgrade"), "proxy_set_header Upgrade $http_upgrade;"),
        (Head::Without("Connection"), "proxy_set_header Connection upgrade;"),
    ] {
        let refusal = serve(std::iter::once(&bytes_of(&head)[..])).expect_err(expected);
        let response = String::from_utf8(refusal.response()).expect("text");
        let (_, body) = response.split_once("\r\n\r\n").expect("a body");
        assert!(body.contains(expected), "{expected}: {body}");
        assert!(!body.contains("aaaa"), "a value is quoted: {body}");
    }
}

#[test]
fn section_4_1_the_offered_subprotocols_are_reported_if_none_is_known() {
    for (offered, expected) in
        [("chat, v2.chat", &["chat", "v2.chat"][..]), ("chat, tickwire.v1", &[]), ("", &[])]
    {
        let line = format!("Sec-WebSocket-Protocol: {offered}\r\n").leak();
        let accepted = serve(std::iter::once(&bytes_of(&Head::With(line))[..])).expect("no refusal");
        assert_eq!(accepted.expect("a whole head").declined, expected, "{offered}");
    }
}

#[test]
fn section_7_8_a_page_may_be_requested_in_http_1_0_and_without_a_host() {
    for (lines, expected) in [
        ("GET /healthz HTTP/1.0\r\n", Ok(true)),
        ("GET / HTTP/1.0\r\nHost: game.example\r\nConnection: close\r\n", Ok(true)),
        ("GET / HTTP/1.0\r\nHost: game example\r\n", Err(Violation::HostMalformed)),
        ("GET / HTTP/1.0\r\nContent-Length: 5\r\n", Err(Violation::BodyAnnounced)),
        ("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n", Err(Violation::TransferEncoding)),
        ("GET / HTTP/1.1\r\nHost: a\r\n", Ok(false)),
        ("GET / HTTP/1.1\r\n", Err(Violation::HostMissing)),
    ] {
        let read = HeadReader::new(limits::HEAD_LIMITS).receive(format!("{lines}\r\n").as_bytes());
        let version = read.map(|head| head.expect("a whole head").is_http_1_0);
        assert_eq!(version.map_err(|refusal| refusal.violation), expected, "{lines}");
    }
}

#[test]
fn section_4_2_2_the_response_of_the_example() {
    let accepted =
        serve(std::iter::once(&bytes_of(&Head::With("Sec-WebSocket-Protocol: tickwire.v1\r\n"))[..]));
    let expected = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                    Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\
                    Sec-WebSocket-Protocol: tickwire.v1\r\n\r\n";
    assert_eq!(String::from_utf8(accepted.unwrap().unwrap().response).unwrap(), expected);
}

#[test]
fn bytes_after_the_head_are_kept_for_the_frames() {
    let mut bytes = bytes_of(&Head::With(""));
    let head_length = bytes.len();
    bytes.extend([0x89, 0x80, 0, 0, 0, 0]);
    let mut reader = HeadReader::new(limits::HEAD_LIMITS);
    assert_eq!(reader.receive(&bytes[..head_length - 1]), Ok(None));
    assert!(reader.receive(&bytes[head_length - 1..]).unwrap().is_some());
    assert_eq!(reader.rest(), [0x89, 0x80, 0, 0, 0, 0]);
}

#[test]
fn a_refusal_stays_a_refusal() {
    let mut reader = HeadReader::new(limits::HEAD_LIMITS);
    let refusal = reader.receive(b"\x16").unwrap_err();
    assert_eq!(reader.receive(&bytes_of(&Head::With(""))), Err(refusal));
}

#[test]
fn the_bounds_are_met_exactly() {
    let head_of = |length: usize| {
        let mut head = b"GET / HTTP/1.1\r\nHost: a\r\nX: ".to_vec();
        head.resize(length - 4, b'a');
        head.extend(b"\r\n\r\n");
        HeadReader::new(limits::HEAD_LIMITS).receive(&head)
    };
    assert!(head_of(HEAD_BYTES).unwrap().is_some());
    assert_eq!(head_of(HEAD_BYTES + 1).unwrap_err().violation, Violation::HeadTooLong);
    let target_of = |length: usize| {
        let head = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(length - 1));
        HeadReader::new(limits::HEAD_LIMITS).receive(head.as_bytes())
    };
    assert!(target_of(TARGET_BYTES).unwrap().is_some());
    assert_eq!(target_of(TARGET_BYTES + 1).unwrap_err().violation, Violation::TargetTooLong);
}

fn head(target: &str, more: &str) -> RequestHead {
    let text = format!("GET {target} HTTP/1.1\r\nHost: a\r\n{more}\r\n");
    HeadReader::new(limits::HEAD_LIMITS).receive(text.as_bytes()).unwrap().unwrap()
}

#[test]
fn section_6_3_a_body_is_accepted_where_expected_and_never_after_an_upgrade() {
    let read = |bytes: &[u8], size: usize| {
        let mut reader = HeadReader::with_body_rule(limits::HEAD_LIMITS, |head| {
            head.method == "POST" && head.path() == "/in"
        });
        let mut found = None;
        for piece in bytes.chunks(size) {
            found = reader.receive(piece).map_err(|refusal| refusal.violation)?;
            if found.is_some() {
                break;
            }
        }
        Ok((found.expect("a whole head").content_length(), reader.rest().to_vec()))
    };
    let upgrade = "Upgrade: websocket\r\n";
    let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    for (first, more, expected) in [
        ("POST /in", "Content-Length: 5\r\n", Ok(Some(5))),
        ("POST /in?x", "Content-Length: 005\r\n", Ok(Some(5))),
        ("POST /in", "Content-Length: 0\r\n", Ok(Some(0))),
        ("POST /in", "", Ok(None)),
        ("POST /in", "Content-Length: 99999999999999999999999\r\n", Ok(Some(usize::MAX))),
        ("POST /other", "Content-Length: 5\r\n", Err(Violation::BodyAnnounced)),
        ("GET /in", "Content-Length: 5\r\n", Err(Violation::BodyAnnounced)),
        ("POST /in", "Content-Length: 5 5\r\n", Err(Violation::ContentLengthMalformed)),
        ("POST /in", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", Err(Violation::TransferEncoding)),
        ("POST /in", &format!("Content-Length: 5\r\n{upgrade}"), Err(Violation::BodyAnnounced)),
        ("POST /in", &format!("{key}Content-Length: 5\r\n"), Err(Violation::BodyAnnounced)),
    ] {
        let bytes = format!("{first} HTTP/1.1\r\nHost: a\r\n{more}\r\nhello");
        let whole = read(bytes.as_bytes(), bytes.len());
        assert_eq!(
            whole.as_ref().map(|(length, _)| *length).map_err(|violation| *violation),
            expected,
            "{first} {more}"
        );
        assert!(whole.is_err() || whole.is_ok_and(|(_, rest)| rest == b"hello"), "{first} {more}");
        assert_eq!(
            read(bytes.as_bytes(), 1).map(|(length, _)| length),
            expected,
            "{first} {more}, byte by byte"
        );
    }
}

#[test]
fn path_and_query() {
    let head = head(
        "/server?dialect=letters&empty=&bare&x=1%2B1&x=2&na%6de=a+b&bad=%zz%4&half=%4z%z4%4&low=%41%7e%30%5a%aA%E2%82%ac",
        "",
    );
    assert_eq!(head.path(), "/server");
    assert_eq!(head.query("dialect").as_deref(), Some("letters"));
    assert_eq!(head.query("empty").as_deref(), Some(""));
    assert_eq!(head.query("bare").as_deref(), Some(""));
    assert_eq!(head.query("x").as_deref(), Some("1+1"), "the first counts");
    assert_eq!(head.query("name").as_deref(), Some("a b"));
    assert_eq!(head.query("bad").as_deref(), Some("%zz%4"));
    assert_eq!(head.query("half").as_deref(), Some("%4z%z4%4"));
    assert_eq!(head.query("low").as_deref(), Some("A~0Z\u{fffd}€"));
    assert_eq!(head.query("Dialect"), None);
    assert_eq!(self::head("/", "").query("x"), None);
    assert_eq!(self::head("/?x=%fF", "").query("x").as_deref(), Some("\u{fffd}"));
}

#[test]
fn a_page_is_not_an_upgrade() {
    assert!(!head("/", "").is_upgrade());
    assert!(!head("/", "Upgrade: h2c\r\n").is_upgrade());
    assert!(head("/", "Upgrade: h2c, WebSocket\r\n").is_upgrade());
    let head = head("/", "Accept: a\r\naccept: b, ,c\r\n");
    assert_eq!(head.header("ACCEPT"), Some("a"));
    assert_eq!(head.headers.list("Accept").collect::<Vec<_>>(), ["a", "b", "c"]);
}

#[test]
fn section_10_2_an_empty_list_of_origins_allows_all() {
    let foreign = head("/", "Origin: https://evil.example\r\n");
    assert_eq!(check_origin(&foreign, &[]), Ok(()));
    assert!(check_origin(&foreign, &[ALLOWED.to_owned()]).is_err());
    assert_eq!(check_origin(&head("/", ""), &[ALLOWED.to_owned()]), Ok(()), "not a browser");
}

#[test]
fn a_page_response_is_complete() {
    let page = response(200, "text/html", &[("Cache-Control", "no-store")], b"<p>");
    let expected = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/html\r\nContent-Length: 3\r\n\
                    Cache-Control: no-store\r\n\r\n<p>";
    assert_eq!(String::from_utf8(page).unwrap(), expected);
}

/// The words of RFC 9110 section 15 and RFC 6585; a status that we never send has none of its own.
#[test]
fn each_status_has_its_words() {
    for (status, words) in [
        (101, "Switching Protocols"),
        (200, "OK"),
        (204, "No Content"),
        (304, "Not Modified"),
        (400, "Bad Request"),
        (401, "Unauthorized"),
        (403, "Forbidden"),
        (404, "Not Found"),
        (405, "Method Not Allowed"),
        (408, "Request Timeout"),
        (411, "Length Required"),
        (413, "Content Too Large"),
        (422, "Unprocessable Content"),
        (426, "Upgrade Required"),
        (429, "Too Many Requests"),
        (431, "Request Header Fields Too Large"),
        (500, "Internal Server Error"),
        (503, "Service Unavailable"),
        (505, "HTTP Version Not Supported"),
        (599, "Status"),
    ] {
        let bytes = response(status, "text/plain", &[], b"");
        assert!(bytes.starts_with(format!("HTTP/1.1 {status} {words}\r\n").as_bytes()), "{status}");
    }
}

#[test]
fn section_4_1_each_response_whole_and_byte_by_byte() {
    let without_offer = answers::ROWS.iter().map(|row| (row, None));
    let offer = Some(DeflateOffer::default());
    let rows = without_offer.chain(answers::TO_AN_OFFER.iter().map(|row| (row, offer)));
    for ((name, lines, expected), offer) in rows {
        let bytes = format!("{}\r\n\r\n", lines.join("\r\n")).into_bytes();
        for size in [1, 7, bytes.len()] {
            let mut reader = ResponseReader::new(limits::HEAD_LIMITS);
            let result = bytes.chunks(size).try_fold(None, |head, piece| Ok(reader.receive(piece)?.or(head)));
            let agreed = result.and_then(|head| {
                check_response_with(
                    &head.expect("a whole head"),
                    answers::KEY,
                    answers::OFFERED,
                    offer.as_ref(),
                )
            });
            let agreed = agreed.map(|agreed| agreed.subprotocol);
            assert_eq!(agreed, expected.map(|agreed| agreed.map(str::to_owned)), "{name}, pieces of {size}");
        }
    }
    println!("{} answers", answers::ROWS.len() + answers::TO_AN_OFFER.len());
}

#[test]
fn our_client_and_our_server_agree() {
    let key = encode_key([7; 16]);
    let sent = request("localhost:3000", "/play?x=1", &key, &["other", "tickwire.v1"]);
    let accepted = serve(std::iter::once(&sent[..])).unwrap().unwrap();
    let mut reader = ResponseReader::new(limits::HEAD_LIMITS);
    let mut answer = accepted.response;
    answer.extend([0x89, 0x00]);
    let head = reader.receive(&answer).unwrap().unwrap();
    assert_eq!(check_response(&head, &key, &["other", "tickwire.v1"]), Ok(Some("tickwire.v1".to_owned())));
    assert_eq!(reader.rest(), [0x89, 0x00], "the server's first frame");
}
