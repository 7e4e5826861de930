//! Explains the head of an HTTP request or response, and the WebSocket upgrade (RFC 6455, section
//! 4).
//!
//! The head becomes a tree of lines, with the meaning of each header for the handshake. The rules
//! are checked by [`ws::http`](crate::ws::http) and [`ws::handshake`](crate::ws::handshake). The
//! body is not decoded.

use std::ops::Range;

use super::frame_header::Extensions;
use super::head_search::{FOREIGN_HEAD, Glance, HEAD_END, RESPONSE, complete_size, counts};
use super::packet::PUNCTUATION;
use crate::limits;
use crate::tools::explain::conversation::dialect_state::DialectState;
use crate::tools::explain::conversation::upgrade_request::{KNOWN, UpgradeRequest};
use crate::tools::explain::explanation::{Content, ExplainedFrame, Problem};
use crate::tools::explain::tree::{BYTE, Node, bits};
use crate::util::escape;
use crate::util::plural;
use crate::ws::extension::{self, DeflateParameters};
use crate::ws::http::{HeadReader, Headers, Refusal, RequestHead, ResponseHead, ResponseReader};
use crate::ws::{Side, Violation, handshake};

const LINE_END: &[u8] = b"\r\n";

/// The negotiated terms of an upgrade response.
#[derive(Debug)]
pub struct Granted {
    /// The extensions.
    pub extensions: Extensions,
    /// The parameters of compression, if it is the only extension.
    pub deflate: Option<DeflateParameters>,
    /// The subprotocol, if the response names one.
    pub subprotocol: Option<String>,
}

/// An explained head.
#[derive(Debug)]
pub struct Head<'a> {
    /// The head as an item of the stream.
    pub frame: ExplainedFrame<'a>,
    /// Whether frames follow.
    pub is_upgrade: bool,
    /// The target and the offers, if the head is an upgrade request.
    pub request: Option<UpgradeRequest>,
    /// The negotiated terms, if the head is a valid upgrade response.
    pub granted: Option<Granted>,
}

/// Explains the head that begins at byte `start`. `upgrade` is the request to which a response
/// belongs.
pub fn explain<'a>(
    bytes: &[u8],
    start: usize,
    from: Side,
    upgrade: Option<&UpgradeRequest>,
    dialect_state: &DialectState<'_>,
) -> Head<'a> {
    let input = &bytes[start..];
    let whole = complete_size(input).unwrap_or(input.len());
    let mut judged = match from {
        Side::Client => check_request(&input[..whole], dialect_state),
        Side::Server => check_response(&input[..whole], upgrade, dialect_state),
    };
    let is_whole = input[..whole].ends_with(HEAD_END);
    if !is_whole && judged.violation.is_none() {
        judged.line.push_str(", incomplete");
    }
    let name = if from == Side::Client { "request" } else { "response" };
    let tree = Node::parent(name, start * BYTE, lines(&input[..whole], start, &judged.meanings));
    let problem = match judged.violation {
        Some(violation) if from == Side::Server => {
            Some(Problem::in_response(violation, blamed_range(violation, &tree)))
        }
        Some(violation) => Some(Problem::violation(violation, blamed_range(violation, &tree))),
        None if is_whole => None,
        None => Some(Problem::Incomplete { missing: None }),
    };
    let tree = tree.valued(judged.line.clone());
    let frame = ExplainedFrame {
        content: Content::Head(judged.line),
        problem,
        ..ExplainedFrame::new(start..start + whole, tree)
    };
    let is_upgrade = judged.is_upgrade && frame.problem.is_none();
    Head { is_upgrade, frame, request: judged.request, granted: judged.granted.filter(|_| is_upgrade) }
}

/// The parsed content of a head, and its first violation.
#[derive(Debug, Default)]
struct HeadVerdict {
    line: String,
    violation: Option<Violation>,
    is_upgrade: bool,
    request: Option<UpgradeRequest>,
    granted: Option<Granted>,
    /// The meanings of headers, by lower-case header name.
    meanings: Vec<(&'static str, String)>,
}

fn first_line(head: &[u8]) -> String {
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    escape::escape_line(&String::from_utf8_lossy(line)).into_owned()
}

fn check_request(head: &[u8], dialect_state: &DialectState<'_>) -> HeadVerdict {
    let line = first_line(head);
    let counted = |refusal: Refusal| {
        Some(refusal.violation).filter(|one| counts(*one, &Glance::new(head), dialect_state))
    };
    let lenient = || HeadReader::with_body_rule(FOREIGN_HEAD, |_| true).receive(head).ok().flatten();
    let request = match HeadReader::new(limits::HEAD_LIMITS).receive(head) {
        Ok(Some(request)) => request,
        Ok(None) => return HeadVerdict { line, ..HeadVerdict::default() },
        Err(refusal) => match (counted(refusal), lenient()) {
            (None, Some(request)) => request,
            (None, None) => {
                return HeadVerdict { line: format!("{line}, no upgrade"), ..HeadVerdict::default() };
            }
            (violation, _) => return HeadVerdict { line, violation, ..HeadVerdict::default() },
        },
    };
    if !request.has_upgrade_headers() {
        return HeadVerdict { line: format!("{line}, no upgrade"), ..HeadVerdict::default() };
    }
    let violation = handshake::accept(&request, &KNOWN).err().and_then(counted);
    let upgrade = upgrade_request(&request);
    let mut meanings = vec![
        ("host", "the host name of the server".to_owned()),
        ("upgrade", "asks to switch from HTTP to WebSocket".to_owned()),
        ("connection", "so that a proxy does not blindly forward the Upgrade header".to_owned()),
        ("sec-websocket-version", "13 is the version that RFC 6455 defines".to_owned()),
        ("sec-websocket-protocol", "subprotocols to choose from".to_owned()),
        ("sec-websocket-extensions", "extensions to choose from".to_owned()),
        ("origin", "the origin of the page that connects".to_owned()),
    ];
    if violation.is_none() {
        let accept = handshake::accept_key(&upgrade.key);
        meanings.push(("sec-websocket-key", format!("16 random bytes; a WebSocket server answers {accept}")));
    }
    let foreign = if dialect_state.may_serve(&upgrade.path) { "" } else { " to another protocol" };
    let line = format!("{line}, asks for the upgrade{foreign}");
    HeadVerdict { line, violation, is_upgrade: true, request: Some(upgrade), granted: None, meanings }
}

fn upgrade_request(request: &RequestHead) -> UpgradeRequest {
    UpgradeRequest {
        path: request.path().to_owned(),
        dialect: request.query("dialect"),
        format: request.query("format"),
        key: request.header("Sec-WebSocket-Key").unwrap_or_default().to_owned(),
        offered: request.headers.list("Sec-WebSocket-Protocol").map(str::to_owned).collect(),
        extensions: extensions(&request.headers).map(str::to_owned).collect(),
    }
}

/// The names of the extensions in a head, without parameters.
fn extensions(headers: &Headers) -> impl Iterator<Item = &str> {
    let listed = headers.list(extension::HEADER);
    listed.map(|extension| extension.split(';').next().unwrap_or_default().trim())
}

fn check_response(
    head: &[u8],
    request: Option<&UpgradeRequest>,
    dialect_state: &DialectState<'_>,
) -> HeadVerdict {
    let line = first_line(head);
    let lenient = || ResponseReader::new(FOREIGN_HEAD).receive(head).ok().flatten();
    let response = match ResponseReader::new(limits::HEAD_LIMITS).receive(head) {
        Ok(Some(response)) => response,
        Ok(None) => return HeadVerdict { line, ..HeadVerdict::default() },
        Err(violation) => match (counts(violation, &Glance::new(head), dialect_state), lenient()) {
            (false, Some(response)) => response,
            (false, None) => {
                return HeadVerdict { line: format!("{line}, no upgrade"), ..HeadVerdict::default() };
            }
            (true, _) => return HeadVerdict { line, violation: Some(violation), ..HeadVerdict::default() },
        },
    };
    if response.status != 101 {
        return HeadVerdict { line: format!("{line}, no upgrade"), ..HeadVerdict::default() };
    }
    let (violation, accept) = check(&response, request);
    let meanings = vec![
        ("upgrade", "switches from HTTP to WebSocket".to_owned()),
        ("connection", "so that a proxy does not blindly forward the Upgrade header".to_owned()),
        ("sec-websocket-protocol", "the selected subprotocol".to_owned()),
        ("sec-websocket-accept", accept),
        ("sec-websocket-extensions", "the extensions on which both ends agree".to_owned()),
    ];
    let granted = Granted {
        extensions: Extensions::of(extensions(&response.headers)),
        deflate: DeflateParameters::from_response(&response.headers).ok().flatten(),
        subprotocol: response.headers.get("Sec-WebSocket-Protocol").map(str::to_owned),
    };
    let line = format!("{line}, grants the upgrade");
    HeadVerdict { line, violation, is_upgrade: true, request: None, granted: Some(granted), meanings }
}

/// Checks a response, and describes its accept key. Without the request, the accept key is not
/// checked.
fn check(response: &ResponseHead, upgrade: Option<&UpgradeRequest>) -> (Option<Violation>, String) {
    let Some(offered_upgrade) = upgrade else {
        let violation = handshake::check_response(response, "", &KNOWN).err();
        let words = "the answer to a key that is not in this input".to_owned();
        return (violation.filter(|violation| *violation != Violation::AcceptWrong), words);
    };
    let violation = check_offered(response, offered_upgrade).err();
    let right = handshake::accept_key(&offered_upgrade.key);
    let words = match violation {
        Some(Violation::AcceptWrong) => format!("wrong: the request's key gives {right}"),
        _ => "right: base64 of SHA-1 of the request's key and the GUID of RFC 6455".to_owned(),
    };
    (violation, words)
}

/// Checks a response as the client does, except that it may accept extensions that the request
/// offered.
fn check_offered(response: &ResponseHead, request: &UpgradeRequest) -> Result<(), Violation> {
    let offered: Vec<&str> = request.offered.iter().map(String::as_str).collect();
    let is_offered = |name: &str| request.extensions.iter().any(|offered| offered.eq_ignore_ascii_case(name));
    let (without_extensions, mut broken);
    broken = None;
    let mut response = response;
    if extensions(&response.headers).all(is_offered) {
        if DeflateParameters::from_response(&response.headers) == Err(Violation::CompressionParameters) {
            broken = Some(Violation::CompressionParameters);
        }
        without_extensions =
            ResponseHead { headers: response.headers.without(extension::HEADER), ..response.clone() };
        response = &without_extensions;
    }
    handshake::check_response(response, &request.key, &offered)?;
    broken.map_or(Ok(()), Err)
}

/// Splits a head at byte `start` of the input into lines, without gaps.
fn lines(head: &[u8], start: usize, meanings: &[(&str, String)]) -> Vec<Node> {
    let mut parts = Vec::new();
    let mut at = 0;
    while at < head.len() {
        let rest = &head[at..];
        let end = rest.windows(LINE_END.len()).position(|window| window == LINE_END);
        let size = end.map_or(rest.len(), |end| end + LINE_END.len());
        let line = HeadLine { bytes: &rest[..size], start: start + at };
        parts.push(match (at, end) {
            (_, Some(0)) => line.leaf(PUNCTUATION, 0..size),
            (0, _) => line.start_line(),
            _ => line.header(meanings),
        });
        at += size;
    }
    parts
}

/// One line with its line end.
struct HeadLine<'a> {
    bytes: &'a [u8],
    start: usize,
}

impl HeadLine<'_> {
    /// Creates a leaf from bytes of the line: text if they are UTF-8, otherwise bytes.
    fn leaf(&self, name: &str, place: Range<usize>) -> Node {
        let bytes = &self.bytes[place.clone()];
        let at = self.start + place.start;
        match std::str::from_utf8(bytes) {
            Ok(text) => {
                let printed =
                    if name == PUNCTUATION { format!("{text:?}") } else { text.escape_debug().to_string() };
                Node::leaf(name, bits(at..at + bytes.len()), printed).raw(text)
            }
            Err(_) => Node::of_bytes(name, at, bytes, plural::count_noun(bytes.len(), "byte")),
        }
    }

    /// The length of the line in bytes, without the line end.
    fn length(&self) -> usize {
        self.bytes.strip_suffix(LINE_END).unwrap_or(self.bytes).len()
    }

    /// Splits the first line into words and spaces.
    fn start_line(&self) -> Node {
        let names = if self.bytes.starts_with(RESPONSE) {
            ["version", "status", "reason"]
        } else {
            ["method", "target", "version"]
        };
        let mut parts = Vec::new();
        let (mut at, end) = (0, self.length());
        for (index, name) in names.into_iter().enumerate() {
            let blank = self.bytes[at..end].iter().position(|byte| *byte == b' ');
            // The last word may contain spaces, for example a reason phrase.
            let to = blank.filter(|_| index < 2).map_or(end, |blank| at + blank);
            parts.push(self.leaf(name, at..to));
            at = (to + 1).min(end);
            parts.push(self.leaf(PUNCTUATION, to..at));
        }
        self.finish("start_line", parts)
    }

    /// Splits a header into its name and value, and adds its meaning.
    fn header(&self, meanings: &[(&str, String)]) -> Node {
        let end = self.length();
        let Some(colon) = self.bytes[..end].iter().position(|byte| *byte == b':') else {
            return self.finish("line", vec![self.leaf("text", 0..end)]);
        };
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        let value = &self.bytes[colon + 1..end];
        let before = colon + 1 + value.iter().take_while(|byte| is_blank(byte)).count();
        let after = self.bytes[before..end].iter().rev().take_while(|byte| is_blank(byte)).count();
        let parts = vec![
            self.leaf("name", 0..colon),
            self.leaf(PUNCTUATION, colon..before),
            self.leaf("value", before..end - after),
            self.leaf(PUNCTUATION, end - after..end),
        ];
        let name = String::from_utf8_lossy(&self.bytes[..colon]).to_ascii_lowercase();
        let meaning = meanings.iter().find(|(known, _)| *known == name).map(|(_, meaning)| meaning.clone());
        self.finish(&name.escape_debug().to_string(), parts).valued(meaning.unwrap_or_default())
    }

    /// Creates the node of the line, with the line end as its last leaf.
    fn finish(&self, name: &str, mut parts: Vec<Node>) -> Node {
        parts.push(self.leaf(PUNCTUATION, self.length()..self.bytes.len()));
        parts.retain(|part| !part.bits.is_empty());
        Node::parent(name, self.start * BYTE, parts)
    }
}

/// Returns the bits that break a rule; the whole head if something is missing.
fn blamed_range(violation: Violation, head: &Node) -> Range<usize> {
    let name = match violation {
        Violation::MethodNotGet => "method",
        Violation::StatusNot101 => "status",
        Violation::UpgradeMissing | Violation::AnswerUpgradeMissing => "upgrade",
        Violation::ConnectionMissing | Violation::AnswerConnectionMissing => "connection",
        Violation::VersionNot13 => "sec-websocket-version",
        Violation::KeyMalformed => "sec-websocket-key",
        Violation::AcceptWrong => "sec-websocket-accept",
        Violation::ExtensionNotOffered | Violation::CompressionParameters => "sec-websocket-extensions",
        Violation::SubprotocolMalformed
        | Violation::TooManySubprotocols
        | Violation::SubprotocolNotOffered => "sec-websocket-protocol",
        Violation::HostMalformed => "host",
        Violation::RequestLine
        | Violation::HttpVersion
        | Violation::UpgradeInHttp10
        | Violation::StatusLine => "start_line",
        Violation::TargetForm | Violation::TargetTooLong => "target",
        _ => return head.bits.clone(),
    };
    head.children.iter().find_map(|line| line.find(name)).map_or(head.bits.clone(), |node| node.bits.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketTables;

    #[test]
    fn receiver_of_a_response_answers_a_broken_rule_with_no_status() {
        let codes = PacketTables::builtin_ref();
        let dialect_state = DialectState::from_path(codes, codes.default_dialect().expect("a dialect"));
        let long = format!("X: {}", "x".repeat(limits::HEAD_BYTES));
        for (first, line, from, rule, expected) in [
            ("HTTP/1.1 101 Yes", &*long, Side::Server, "head_too_long", "drop the connection"),
            ("HTTP/1.1 101 Yes", "X : y", Side::Server, "space_before_colon", "drop the connection"),
            ("GET / HTTP/1.1", "X : y", Side::Client, "space_before_colon", "status 400"),
        ] {
            let head = explain(format!("{first}\r\n{line}\r\n").as_bytes(), 0, from, None, &dialect_state);
            let problem = head.frame.problem;
            let Some(Problem::Violation { rule: found, answer, .. }) = problem else { panic!("{problem:?}") };
            assert_eq!((found, &*answer), (rule, expected), "{first}");
        }
    }
}
