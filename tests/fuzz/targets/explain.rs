//! Explanations of arbitrary bytes cover them, encode back to them, and have the server's verdict.
//!
//! The input is a byte that selects the dialect, the side and the start of the stream, followed by
//! the bytes of that side. Each explanation covers its bytes without gaps or overlaps and encodes
//! back to them; its JSON is valid; each violation has a rule and a position; the first rule for
//! which the connection is closed is the one that the server reports; splitting the bytes changes
//! nothing. The whole input is also read as text in any notation.

use tickwire::explain::hex;
use tickwire::explain::{Content, Conversation, Explanation, Problem, UNREAD_FIELD};
use tickwire::game::CloseReason;
use tickwire::internal::tools::explain::input::{
    self, Input, InputContent, InputPiece, Notation, har, network_packet,
};
use tickwire::packet::{Dialect, Direction, PacketTables};
use tickwire::ws::Side;
use tickwire::ws::message::{Limits, Message, MessageReader};

/// See the [module](self).
pub fn run(mut bytes: &[u8]) {
    is_text_of_bytes(bytes);
    let codes = PacketTables::builtin();
    let choice = super::choose(&mut bytes, 64);
    let dialect = codes.dialects().nth(choice % 8 % codes.dialects().count()).expect("among them");
    let from = if choice & 8 == 0 { Side::Client } else { Side::Server };
    let begin = || match choice / 16 {
        0 | 1 => {
            let mut conversation = Conversation::in_dialect(dialect);
            conversation.start_after_upgrade(choice / 16 == 1);
            conversation
        }
        2 => Conversation::new(&codes, dialect),
        _ => {
            let mut conversation = Conversation::new(&codes, dialect);
            conversation.start_midstream();
            conversation
        }
    };
    let mut conversation = begin();
    let mut whole = conversation.receive(from, bytes);
    whole.extend(conversation.finish(from));
    whole.iter().for_each(tiles);
    let joined: Vec<u8> = whole.iter().flat_map(|item| item.bytes.clone()).collect();
    assert_eq!(joined, bytes);
    if choice / 16 < 3 {
        in_pieces(begin(), from, bytes, &whole);
    }
    if choice / 16 < 2 {
        let first =
            whole.iter().flat_map(|item| &item.frames).find_map(|frame| closing(frame.problem.as_ref()));
        assert_eq!(first, verdict(dialect, from, choice / 16 == 1, bytes), "the rule that closes");
    }
    // What takes longest, for some of the inputs each.
    match bytes.len() % 8 {
        0 => whole.iter().for_each(|item| assert!(!item.report().is_empty())),
        4 => whole.iter().for_each(is_json),
        _ => {}
    }
}

/// The same input as text in any notation: it is refused in one line, or its bytes are those of their hexadecimal digits.
fn is_text_of_bytes(text: &[u8]) {
    match input::read(text) {
        Err(error) => assert_eq!(error.lines().count(), 1, "{error}"),
        Ok(Input { notation: Notation::Bytes, content }) => {
            let InputContent::Pieces(pieces) = content else { panic!("bytes are no message") };
            assert!(
                text.ends_with(&pieces[0].bytes)
                    || text.starts_with(b"\xff\xfe")
                    || text.starts_with(b"\xfe\xff")
            );
        }
        Ok(Input { content: InputContent::Message(message), .. }) => assert!(!message.payload.is_empty()),
        Ok(Input { content: InputContent::Pieces(pieces), .. }) => {
            for InputPiece { bytes, .. } in pieces {
                assert!(!bytes.is_empty());
                let again =
                    input::read(format!("\"{}\"", hex::digits(&bytes)).as_bytes()).expect("hexadecimal");
                assert_eq!(again.content, InputContent::Pieces(vec![InputPiece { from: None, bytes }]));
            }
        }
    }
    let _ = har::read(text);
    let _ = network_packet::tcp_payload(text);
}

fn is_json(explanation: &Explanation<'_>) {
    let said: serde_json::Value = serde_json::from_str(&explanation.json()).expect("JSON");
    assert_eq!(said["frames"].as_array().map(Vec::len), Some(explanation.frames.len()));
}

/// Leaves tile the bytes and write them again; what is wrong has a name and a place.
fn tiles(explanation: &Explanation<'_>) {
    let bits = explanation.bytes.len() * 8;
    let tree = explanation.tree();
    let mut at = 0;
    for leaf in tree.leaves() {
        assert_eq!(leaf.bits.start, at, "a gap or an overlap before {leaf:?}");
        assert!(leaf.raw.is_some() || leaf.bits.is_empty(), "{leaf:?} says nothing");
        at = leaf.bits.end;
    }
    assert_eq!(at, bits, "the leaves end before the bytes");
    assert_eq!(explanation.encode().as_deref(), Some(&explanation.bytes[..]));
    for frame in &explanation.frames {
        match &frame.problem {
            Some(Problem::Violation { rule, address, description: sentence, answer, bits: place }) => {
                assert!(
                    [rule, &address[..], &sentence[..], &answer[..]].iter().all(|words| !words.is_empty())
                );
                assert!(place.start <= place.end && place.end <= bits, "{place:?}");
            }
            Some(Problem::Incomplete { .. }) => {}
            None if frame.tree.name == UNREAD_FIELD => {}
            None => assert!(!matches!(frame.content, Content::Unread), "{frame:?}"),
        }
        assert!(!frame.to_string().is_empty() || frame.range.is_empty());
    }
}

/// The same items however the bytes are cut, but for what follows the end, which is told as it comes.
fn in_pieces(mut conversation: Conversation<'_>, from: Side, bytes: &[u8], whole: &[Explanation<'_>]) {
    let piece = bytes.len() / 5 + 1;
    let mut items: Vec<Explanation<'_>> =
        bytes.chunks(piece).flat_map(|piece| conversation.receive(from, piece)).collect();
    items.extend(conversation.finish(from));
    let lines = |items: &[Explanation<'_>]| -> Vec<String> {
        let frames = items.iter().flat_map(|item| item.frames.iter().map(move |frame| (item, frame)));
        let read = frames.take_while(|(_, frame)| frame.problem.is_none() && frame.tree.name != UNREAD_FIELD);
        read.map(|(item, frame)| format!("{} {frame}", item.bytes.len())).collect()
    };
    assert_eq!(lines(&items), lines(whole), "cut into pieces of {piece}");
}

/// The rule, if it closes the connection.
fn closing(problem: Option<&Problem>) -> Option<&'static str> {
    match problem? {
        Problem::Violation { rule, answer, .. } if answer.starts_with("close ") => Some(rule),
        _ => None,
    }
}

/// The rule for which the server closes, or a client of ours; none where it goes on or is closed by the peer.
fn verdict(dialect: &Dialect, from: Side, is_json: bool, bytes: &[u8]) -> Option<&'static str> {
    let direction = if from == Side::Client { Direction::ToServer } else { Direction::ToClient };
    let mut reader = MessageReader::new(
        from,
        Limits { message_bytes: usize::MAX, fragments: usize::MAX, ..Limits::DEFAULT },
    );
    reader.receive(bytes);
    loop {
        let decoded = match reader.next_message() {
            Ok(Some(Message::Binary(payload))) if !is_json => dialect.decode(direction, payload),
            Ok(Some(Message::Text(text))) if is_json => dialect.decode_json(direction, text),
            Ok(Some(Message::Binary(_) | Message::Text(_))) => {
                return Some(CloseReason::WrongFrameType.name());
            }
            Ok(Some(Message::Ping(_) | Message::Pong(_))) => continue,
            Ok(Some(Message::Close(_)) | None) => return None,
            Err(violation) => return Some(violation.name()),
        };
        if let Some(error) = decoded.err().filter(|error| error.closes_connection()) {
            return Some(error.name());
        }
    }
}
