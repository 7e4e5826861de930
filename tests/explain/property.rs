//! Properties of the explanation of every packet of every dialect in both directions, and of any
//! bytes: the leaves cover the input down to each bit field without gaps or overlaps, they suffice
//! to encode the same bytes again, and each error has a position and a name.

use crate::rows::values::for_every_row;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::Config;
use tickwire::explain::tree::Node;
use tickwire::explain::{self, Content, Conversation, Explanation, Problem};
use tickwire::packet::{Dialect, Direction, PacketTables, Value, json};
use tickwire::ws::frame::{self, Header, Opcode};
use tickwire::ws::message::{Limits, MessageReader};
use tickwire::ws::{Side, handshake};

/// Rows of all dialects in both directions, as the round trip of the packets counts them.
const ROWS: usize = 17 + 3 * 18 + 4 * 37 + 19 + 39 + 2;

fn side(direction: Direction) -> Side {
    match direction {
        Direction::ToServer => Side::Client,
        Direction::ToClient => Side::Server,
    }
}

/// A frame with the payload, as the side sends it. The key is made of the payload, so that cases differ.
fn framed(from: Side, opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let sum = payload.iter().fold(0x9e37_79b9_u32, |sum, byte| sum.rotate_left(5) ^ u32::from(*byte));
    let key = (from == Side::Client).then(|| sum.to_be_bytes());
    let mut bytes = Vec::new();
    frame::write(&mut bytes, opcode, key, payload);
    bytes
}

/// What holds whatever the bytes: leaves tile, and write the same bytes again.
fn check(explanation: &Explanation<'_>) {
    let bytes = &explanation.bytes;
    let tree = explanation.tree();
    let mut at = 0;
    for leaf in tree.leaves() {
        assert_eq!(leaf.bits.start, at, "a gap or an overlap before {leaf:?} in {bytes:02x?}");
        at = leaf.bits.end;
        assert!(leaf.raw.is_some() || leaf.bits.is_empty(), "{leaf:?} says nothing");
    }
    assert_eq!(at, bytes.len() * 8, "the leaves end before the bytes: {bytes:02x?}");
    assert_eq!(explanation.encode().as_deref(), Some(&bytes[..]), "{}", explanation.report());
    let said: serde_json::Value = serde_json::from_str(&explanation.json()).expect("JSON");
    assert_eq!(said["frames"].as_array().map(Vec::len), Some(explanation.frames.len()));
}

/// The value of a node of arguments, put together again from its leaves.
fn value_of(node: &Node) -> Value {
    let parts = || node.children.iter().filter(|child| !["head", "sign"].contains(&child.name.as_str()));
    if let Some(raw) = node.raw.clone().filter(|_| node.children.is_empty()) {
        return raw;
    }
    if parts().any(|part| part.name == "key") {
        let mut pairs = parts().collect::<Vec<_>>().chunks(2).map(pair).collect::<Vec<_>>();
        // JSON has its keys in another order.
        pairs.sort_by_key(|(key, _)| key.to_string());
        let map = Value::Map(pairs);
        // Bytes are an object in JSON.
        return json::read(&json::to_text(&map), Direction::ToClient).expect("just printed");
    }
    // The groups of a flat list have no head of their own.
    let is_group = |part: &&Node| {
        !part.children.is_empty() && part.children[0].name != "head" && part.name.starts_with('[')
    };
    let values = parts().flat_map(|part| match is_group(&part) {
        true => match value_of(part) {
            Value::Array(values) => values,
            other => vec![other],
        },
        false => vec![value_of(part)],
    });
    Value::Array(values.collect())
}

fn pair(parts: &[&Node]) -> (Value, Value) {
    (parts[0].raw.clone().expect("a key"), value_of(parts[1]))
}

/// The same with the pairs of maps in order, and every number as JSON has it.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(values) => Value::Array(values.iter().map(sorted).collect()),
        Value::Map(pairs) => {
            let mut pairs: Vec<_> = pairs.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            pairs.sort_by_key(|(key, _)| key.to_string());
            Value::Map(pairs)
        }
        other => other.clone(),
    }
}

/// One packet in one frame: its name and its arguments are found, by name and by value.
fn check_packet(
    explanation: &Explanation<'_>,
    dialect: &Dialect,
    direction: Direction,
    name: &str,
    given: &[Value],
) {
    check(explanation);
    assert_eq!(explanation.problem(), None, "{name} {given:?}");
    let [frame] = &explanation.frames[..] else { panic!("one frame") };
    let Content::Packet(Some(row), Some(_)) = &frame.content else { panic!("{name} is {:?}", frame.content) };
    assert_eq!(row.name, name);
    let arguments = frame.tree.find("arguments").expect("arguments");
    let found: Vec<&Node> =
        arguments.children.iter().filter(|child| !["head", "sign"].contains(&child.name.as_str())).collect();
    let names: Vec<&str> = found.iter().map(|node| node.name.as_str()).collect();
    let row = dialect.row(direction, name).expect(name);
    let expected: Vec<&str> = row.arguments.iter().map(|argument| argument.name.as_str()).collect();
    assert_eq!(names, expected);
    for (node, value) in found.into_iter().zip(given) {
        assert_eq!(value_of(node), sorted(value), "{name}.{}", node.name);
    }
}

#[test]
fn every_packet_is_explained_to_its_last_bit_and_written_again() {
    let rows = for_every_row(24, |dialect, direction, name, given| {
        let payload = dialect.encode(direction, name, &given).expect("values of its types");
        let bytes = framed(side(direction), Opcode::Binary, &payload);
        let explanation = explain::explain(&bytes, dialect, Some(side(direction)));
        check_packet(&explanation, dialect, direction, name, &given);
    });
    assert_eq!(rows, ROWS);
}

#[test]
fn every_packet_in_json_is_explained_and_written_again() {
    let rows = for_every_row(16, |dialect, direction, name, given| {
        let payload = dialect.encode(direction, name, &given).expect("values of its types");
        let text = dialect.json_from_msgpack(direction, &payload).expect("well-formed");
        let bytes = framed(side(direction), Opcode::Text, text.as_bytes());
        let mut conversation = Conversation::in_dialect(dialect);
        conversation.start_after_upgrade(true);
        let explanation = conversation.explain(side(direction), &bytes);
        check_packet(&explanation, dialect, direction, name, &given);
        // Typed by hand: blanks, and the name instead of the code.
        let arguments = json::to_text(&Value::Array(given.clone()));
        let typed = format!(" [ \"{name}\" ,\t{arguments} ]\n");
        let bytes = framed(side(direction), Opcode::Text, typed.as_bytes());
        let explanation = conversation.explain(side(direction), &bytes);
        let is_other_packet =
            dialect.decode_json(direction, &typed).map_or(true, |decoded| decoded.row.name != name);
        if is_other_packet {
            // The name of this packet is the code of another one.
            check(&explanation);
        } else {
            check_packet(&explanation, dialect, direction, name, &given);
        }
    });
    assert_eq!(rows, ROWS);
}

/// What is wrong has a rule and a place within the bytes, or the bytes are incomplete. Without a problem the frame was read.
fn check_verdict(explanation: &Explanation<'_>) {
    check(explanation);
    let last = explanation.frames.len().saturating_sub(1);
    for (index, frame) in explanation.frames.iter().enumerate() {
        match &frame.problem {
            Some(Problem::Violation { rule, address, description: sentence, answer, bits }) => {
                assert!(
                    [rule, &address[..], &sentence[..], &answer[..]].iter().all(|words| !words.is_empty())
                );
                assert!(bits.start <= bits.end && bits.end <= explanation.bytes.len() * 8, "{bits:?}");
            }
            Some(Problem::Incomplete { .. }) => {
                assert_eq!(index, last, "something follows what is incomplete")
            }
            // What follows the end of the side.
            None if frame.tree.name == explain::UNREAD_FIELD => {
                assert!(index == last && index > 0, "{frame:?}")
            }
            None => assert!(!matches!(frame.content, Content::Unread), "{frame:?}"),
        }
    }
}

#[test]
fn damaged_packets_have_a_place_and_a_rule() {
    for_every_row(1, |dialect, direction, name, given| {
        let payload = dialect.encode(direction, name, &given).expect("values of its types");
        let from = side(direction);
        let bytes = framed(from, Opcode::Binary, &payload);
        for cut in (1..bytes.len()).take(30) {
            let explanation = explain::explain(&bytes[..cut], dialect, Some(from));
            check_verdict(&explanation);
            assert!(matches!(explanation.problem(), Some(Problem::Incomplete { .. })), "{name} cut at {cut}");
            // A message that ends too soon is no message.
            let short = framed(from, Opcode::Binary, &payload[..cut.min(payload.len() - 1)]);
            let explanation = explain::explain(&short, dialect, Some(from));
            check_verdict(&explanation);
            assert!(explanation.problem().is_some(), "{name} cut at {cut}");
        }
        for bit in 0..bytes.len().min(30) * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 0x80 >> (bit % 8);
            check_verdict(&explain::explain(&flipped, dialect, Some(from)));
        }
    });
}

/// A message in any number of frames, with pings between them: opcode, payload, where it is cut.
fn messages() -> impl Strategy<Value = Vec<(bool, Vec<u8>, Vec<usize>, bool)>> {
    let payload = prop_oneof![vec(any::<u8>(), 0..12), "[a-zé€😀]{0,6}".prop_map(String::into_bytes)];
    let message = (any::<bool>(), payload, vec(0..12usize, 0..4), any::<bool>());
    let message = message.prop_map(|(is_text, payload, cuts, has_ping)| match is_text {
        true => (true, payload, cuts, has_ping),
        // For what is no envelope the server closes, and so would end the stream; an unknown packet is dropped.
        false => (
            false,
            [&[0x92, 0xa1, b'?', 0x91, 0xc4, payload.len() as u8], &payload[..]].concat(),
            cuts,
            has_ping,
        ),
    });
    vec(message, 0..4)
}

fn fragmented(from: Side, messages: &[(bool, Vec<u8>, Vec<usize>, bool)]) -> Vec<u8> {
    let mask = (from == Side::Client).then_some([7, 0, 99, 200]);
    let mut bytes = Vec::new();
    for (is_text, payload, cuts, has_ping) in messages {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| (*cut).min(payload.len())).collect();
        cuts.push(payload.len());
        cuts.sort_unstable();
        let mut from_byte = 0;
        for (index, cut) in cuts.iter().enumerate() {
            let first = if *is_text { Opcode::Text } else { Opcode::Binary };
            let opcode = if index == 0 { first } else { Opcode::Continuation };
            let piece = &payload[from_byte..*cut];
            let fin = index + 1 == cuts.len();
            Header { fin, compressed: false, opcode, mask, length: piece.len() as u64 }.encode(&mut bytes);
            let at = bytes.len();
            bytes.extend_from_slice(piece);
            if let Some(key) = mask {
                frame::mask(&mut bytes[at..], key, 0);
            }
            from_byte = *cut;
            if *has_ping {
                frame::write(&mut bytes, Opcode::Ping, mask, b"?");
            }
        }
    }
    bytes
}

/// The rule of the wire that is broken first, as the reader of the server has it.
fn verdict(from: Side, bytes: &[u8]) -> Option<&'static str> {
    let mut reader = MessageReader::new(
        from,
        Limits { message_bytes: usize::MAX, fragments: usize::MAX, ..Limits::DEFAULT },
    );
    reader.receive(bytes);
    loop {
        match reader.next_message() {
            Ok(Some(_)) => {}
            Ok(None) => return None,
            Err(violation) => return Some(violation.name()),
        }
    }
}

fn first_rule(items: &[Explanation<'_>]) -> Option<&'static str> {
    items.iter().flat_map(|item| &item.frames).find_map(|frame| match &frame.problem {
        Some(Problem::Violation { rule, address, .. }) if address.starts_with("RFC") => Some(*rule),
        _ => None,
    })
}

proptest! {
    #![proptest_config(Config { cases: 400, failure_persistence: None, ..Config::default() })]

    #[test]
    fn any_bytes_have_a_verdict(bytes in vec(any::<u8>(), 1..90), index in 0..5usize) {
        let codes = PacketTables::builtin();
        let dialect = codes.dialects().nth(index).expect("five dialects");
        for from in [None, Some(Side::Client), Some(Side::Server)] {
            check_verdict(&explain::explain(&bytes, dialect, from));
        }
    }

    #[test]
    fn any_text_has_a_verdict(text in "[\\[\\]{}:,\"a-c0-9. \\\\eE-]{0,60}", known in any::<Option<bool>>()) {
        let codes = PacketTables::builtin();
        for dialect in codes.dialects() {
            let mut conversation = Conversation::in_dialect(dialect);
            if let Some(json) = known {
                conversation.start_after_upgrade(json);
            }
            let bytes = framed(Side::Client, Opcode::Text, text.as_bytes());
            check_verdict(&conversation.explain(Side::Client, &bytes));
        }
    }

    #[test]
    fn messages_in_several_frames_are_put_together(messages in messages(), client: bool) {
        let from = if client { Side::Client } else { Side::Server };
        let bytes = fragmented(from, &messages);
        let dialect = PacketTables::builtin().dialect("native").expect("built in");
        let mut conversation = Conversation::in_dialect(&dialect);
        conversation.start_after_upgrade(false);
        let explanation = conversation.explain(from, &bytes);
        check(&explanation);
        prop_assert_eq!(first_rule(std::slice::from_ref(&explanation)), verdict(from, &bytes));
        if verdict(from, &bytes).is_none() {
            let whole = explanation.frames.iter().filter_map(|frame| frame.message.as_ref());
            let joined: Vec<Vec<u8>> = whole.map(|whole| whole.payload.clone()).collect();
            let sent: Vec<Vec<u8>> =
                messages.iter().filter(|message| !message.2.is_empty()).map(|message| message.1.clone()).collect();
            prop_assert_eq!(joined, sent);
        }
    }

    #[test]
    fn a_stream_is_explained_the_same_for_any_split(messages in messages(), cuts in vec(1..20usize, 1..30), noise in vec(any::<u8>(), 0..6)) {
        let dialect = PacketTables::builtin().dialect("native").expect("built in");
        let codes = PacketTables::builtin();
        let mut bytes = handshake::request("localhost:3000", "/play", "dGhlIHNhbXBsZSBub25jZQ==", &["tickwire.v1"]);
        let head = bytes.len();
        bytes.extend(fragmented(Side::Client, &messages));
        bytes.extend(noise);
        let mut conversation = Conversation::new(&codes, &dialect);
        let (mut items, mut rest) = (Vec::new(), &bytes[..]);
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at((*cut).min(rest.len()));
            items.extend(conversation.receive(Side::Client, piece));
            rest = after;
        }
        items.extend(conversation.finish(Side::Client));
        for item in &items {
            check(item);
        }
        let joined: Vec<u8> = items.iter().flat_map(|item| item.bytes.clone()).collect();
        prop_assert_eq!(&joined, &bytes);
        prop_assert_eq!(items[0].bytes.len(), head);
        prop_assert_eq!(first_rule(&items), verdict(Side::Client, &bytes[head..]));
    }
}
