//! PROTOCOL.md, "A simple game, byte by byte": the bytes are packets of the table of
//! `examples/coins.rs`, their remarks are the values, and a server of the game sends the same.

use tickwire::game::Game;
use tickwire::game::simple::Simple;
use tickwire::internal::server::net::ServerHandle;
use tickwire::packet::msgpack::{ValueKind, read_head};
use tickwire::packet::{DecodedPacket, Dialect, Direction, PacketTables, Value, json};

use crate::guest::config_of;
use crate::program_of_coins::Coins;
use crate::support::{Peer, hex};

const DOCUMENT: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/PROTOCOL.md"));
/// Differ between versions, starts of the server, and machines.
const VARYING: [&str; 3] = ["rules_hash", "epoch", "tick"];

/// A message of the document.
struct Message {
    direction: Direction,
    packet: &'static str,
    /// The bytes of each value or head of a container, and the remark.
    parts: Vec<(Vec<u8>, &'static str)>,
}

impl Message {
    fn bytes(&self) -> Vec<u8> {
        self.parts.iter().flat_map(|(bytes, _)| bytes.clone()).collect()
    }
}

/// The section of the document.
fn section() -> &'static str {
    let from = DOCUMENT.find("## A simple game, byte by byte").expect("the section");
    let text = &DOCUMENT[from..];
    &text[..text.find("\n## JSON").expect("the next section")]
}

/// The messages, from the lines of all code blocks.
fn messages() -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    let mut unfinished = Vec::new();
    for line in section().split("```").skip(1).step_by(2).flat_map(str::lines) {
        match line.split_once("  ") {
            Some(("client", packet)) => {
                messages.push(Message { direction: Direction::ToServer, packet, parts: Vec::new() });
            }
            Some(("server", packet)) => {
                messages.push(Message { direction: Direction::ToClient, packet, parts: Vec::new() });
            }
            Some(("frame", _)) | None if !line.starts_with(' ') => {}
            _ => {
                let (digits, remark) = line.trim_start().split_once("  ").unwrap_or((line, ""));
                unfinished.extend(hex(&digits.replace(' ', "")));
                // A long text goes on in the next line.
                if !remark.is_empty() {
                    let message = messages.last_mut().expect("bytes after the name of a packet");
                    message.parts.push((std::mem::take(&mut unfinished), remark.trim()));
                }
            }
        }
    }
    messages
}

fn tables() -> PacketTables {
    PacketTables::from_texts(Simple::<Coins>::TABLES).expect("the table of the example")
}

/// The remark of each value: its name and its JSON.
fn remarks(packet: &DecodedPacket<'_>) -> Vec<String> {
    let remark = |name: &str, value: &Value| format!("{name} {}", json::to_text(value));
    let mut remarks = Vec::new();
    for (argument, value) in packet.row.arguments.iter().zip(&packet.values) {
        let tickwire::packet::grammar::Shape::Groups { members, .. } = &argument.ty.shape else {
            remarks.push(remark(&argument.name, value));
            continue;
        };
        let values = value.as_array().expect("groups are an array");
        remarks.push(format!("{}: {} values", argument.name, values.len()));
        remarks
            .extend(values.iter().zip(members.iter().cycle()).map(|(value, one)| remark(&one.name, value)));
    }
    remarks
}

#[test]
fn each_line_of_the_document_is_one_value_with_its_name() {
    let tables = tables();
    let dialect = tables.dialect("coins").expect("the dialect");
    let messages = messages();
    assert_eq!(messages.len(), 12);
    for message in &messages {
        let bytes = message.bytes();
        let packet = dialect.decode(message.direction, &bytes);
        // The document shows one command that the server drops.
        let packet = packet.unwrap_or_else(|error| {
            assert_eq!((message.packet, message.parts[5].1), ("go", "direction 9"), "{error}");
            dialect
                .decode(message.direction, &[&bytes[..bytes.len() - 1], &[4]].concat())
                .expect("a direction")
        });
        assert_eq!(packet.row.name, message.packet);
        let code = packet.row.code("coins").expect("a code");
        let mut expected =
            vec!["an array of 2".to_owned(), format!("code {code}: {}", message.packet), String::new()];
        expected.extend(remarks(&packet));
        assert_eq!(message.parts.len(), expected.len(), "{}", message.packet);
        for ((part, remark), expected) in message.parts.iter().zip(&expected) {
            let head = read_head(part, 0).expect("a head");
            let is_container = matches!(head.kind, ValueKind::Array | ValueKind::Map);
            assert_eq!(part.len(), head.head + if is_container { 0 } else { head.length }, "{remark}");
            let is_it = remark.starts_with(&**expected) || *remark == "direction 9";
            assert!(is_it, "{}: {remark:?} is {expected:?}", message.packet);
        }
        let count = message.parts[2].1.split(' ').next();
        assert_eq!(count, Some(&*packet.row.arguments.len().to_string()), "{}", message.packet);
    }
}

#[test]
fn the_frame_of_the_document_holds_the_first_message() {
    let frame = section().lines().find_map(|line| line.strip_prefix("frame  ")).expect("the frame");
    let frame = hex(&frame.replace(' ', ""));
    let payload = messages()[0].bytes();
    assert_eq!(frame[..2], [0x82, 0x80 | payload.len() as u8]);
    let mask = frame[2..6].iter().cycle();
    let unmasked: Vec<u8> = frame[6..].iter().zip(mask).map(|(byte, mask)| byte ^ mask).collect();
    assert_eq!(unmasked, payload);
}

fn server() -> ServerHandle {
    let mut config = config_of::<Simple<Coins>>();
    config.identity = (Simple::<Coins>::INFO.identity)(1);
    config.update_hz = 30;
    ServerHandle::start(config).expect("a free port")
}

/// Receives the next packet of this name.
fn receive(peer: &mut Peer, dialect: &Dialect, name: &str) -> Vec<u8> {
    let is_it =
        |message: &[u8]| dialect.decode(Direction::ToClient, message).expect("by the table").row.name == name;
    peer.receive_until(is_it).unwrap_or_else(|how| panic!("{name}: {how}"))
}

/// The remarks of the values that are the same in each run.
fn constant_remarks(dialect: &Dialect, bytes: &[u8], varying: &[&str]) -> Vec<String> {
    let packet = dialect.decode(Direction::ToClient, bytes).expect("by the table");
    let is_constant = |remark: &String| !varying.iter().any(|name| remark.starts_with(&format!("{name} ")));
    remarks(&packet).into_iter().filter(is_constant).collect()
}

#[test]
fn a_server_sends_the_packets_of_the_document() {
    let (server, tables) = (server(), tables());
    let dialect = tables.dialect("coins").expect("the dialect");
    let mut peer = Peer::connect(server.address(), "/play");
    let mut commands = 0;
    for message in messages() {
        if message.direction == Direction::ToServer {
            commands += u32::from(message.packet == "go");
            peer.send(&message.bytes());
            continue;
        }
        if message.packet == "caught" {
            walk_to_the_coin(&mut peer, &dialect, commands);
        }
        let received = receive(&mut peer, &dialect, message.packet);
        // After the command, the runner is at least a step further.
        let varying = if commands == 0 { VARYING.to_vec() } else { [&VARYING[..], &["x"]].concat() };
        let constant = |bytes: &[u8]| constant_remarks(&dialect, bytes, &varying);
        assert_eq!(constant(&received), constant(&message.bytes()), "{}", message.packet);
    }
    server.stop();
}

/// Walks until the next step gets the coin: first along x, then along y, as the example clients do.
/// The first command has the sequence of the one that the server has dropped.
pub fn walk_to_the_coin(peer: &mut Peer, dialect: &Dialect, mut sequence: u32) {
    let mut way = 2;
    loop {
        let state = receive(peer, dialect, "state");
        let state = dialect.decode(Direction::ToClient, &state).expect("by the table");
        let runner = state.get("runners").and_then(Value::as_array).expect("runners").clone();
        let place = |at: usize| runner[at].as_i64().expect("a number");
        let (dx, dy) = (
            state.integer::<i64>("coin_x").expect("x") - place(2),
            state.integer::<i64>("coin_y").expect("y") - place(3),
        );
        let next = if dx.abs() > 14 {
            if dx > 0 { 2 } else { 4 }
        } else if dy > 0 {
            3
        } else {
            1
        };
        if next != way {
            let values = [sequence.into(), Value::Nil, next.into()];
            peer.send(&dialect.encode(Direction::ToServer, "go", &values).expect("a command"));
            (way, sequence) = (next, sequence + 1);
        }
        if dx.abs() <= 14 && dy.abs() <= 30 {
            return;
        }
    }
}
