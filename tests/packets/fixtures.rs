//! Packets encoded by another MessagePack library (`tests/fixtures/packets.py`): decoded, encoded,
//! as JSON, and as typed packets of clients.

#![allow(clippy::approx_constant, reason = "3.14 and 1.57 are what clients send")]

use tickwire::internal::games::moo::client_packet::{ClanAction, ClientPacket, Mode};
use tickwire::packet::Direction;
use tickwire::packet::{Dialect, PacketTables, Value, json};

struct Fixture {
    dialect: &'static str,
    direction: Direction,
    name: &'static str,
    what: &'static str,
    bytes: Vec<u8>,
    arguments: &'static str,
}

impl Fixture {
    fn values(&self) -> Vec<Value> {
        match json::read(self.arguments, Direction::ToClient) {
            Ok(Value::Array(values)) => values,
            other => panic!("{}: {other:?}", self.what),
        }
    }

    fn label(&self) -> String {
        format!("{} {} {}: {}", self.dialect, self.direction.name(), self.name, self.what)
    }
}

fn unhex(text: &str) -> Vec<u8> {
    let pair = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal");
    (0..text.len()).step_by(2).map(pair).collect()
}

fn fixtures() -> Vec<Fixture> {
    let rows = include_str!("../fixtures/packets.tsv").lines().skip(1);
    rows.map(|row| {
        let [dialect, direction, name, what, hex, arguments] =
            <[&str; 6]>::try_from(row.split('\t').collect::<Vec<_>>()).expect("six cells");
        let direction =
            Direction::ALL.into_iter().find(|known| known.name() == direction).expect("a direction");
        Fixture { dialect, direction, name, what, bytes: unhex(hex), arguments }
    })
    .collect()
}

fn dialect(name: &str) -> std::sync::Arc<Dialect> {
    PacketTables::builtin().dialect(name).expect("built in")
}

#[test]
fn every_fixture_decodes_to_its_arguments() {
    let fixtures = fixtures();
    assert_eq!(fixtures.len(), 301);
    for fixture in fixtures {
        let dialect = dialect(fixture.dialect);
        let decoded = dialect.decode(fixture.direction, &fixture.bytes);
        let decoded = decoded.unwrap_or_else(|error| panic!("{}: {error}", fixture.label()));
        assert_eq!(decoded.row.name, fixture.name, "{}", fixture.label());
        let mut expected = fixture.values();
        expected.resize(decoded.row.arguments.len(), Value::Nil);
        // As JSON, since the keys of a map have no order.
        let print = |values: Vec<Value>| json::to_text(&Value::Array(values));
        assert_eq!(print(decoded.values), print(expected), "{}", fixture.label());
    }
}

#[test]
fn every_fixture_is_encoded_to_the_same_bytes() {
    for fixture in fixtures() {
        let dialect = dialect(fixture.dialect);
        let encoded = dialect.encode(fixture.direction, fixture.name, &fixture.values());
        assert_eq!(encoded.as_deref(), Ok(&fixture.bytes[..]), "{}", fixture.label());
    }
}

#[test]
fn every_fixture_is_the_same_packet_as_json_by_code_and_by_name() {
    for fixture in fixtures() {
        let (dialect, direction) = (dialect(fixture.dialect), fixture.direction);
        let decoded = dialect.decode(direction, &fixture.bytes).expect("tested above");
        let text = dialect.json_from_msgpack(direction, &fixture.bytes).expect("well-formed");
        assert_eq!(dialect.decode_json(direction, &text).as_ref(), Ok(&decoded), "{text}");
        let by_name = format!("[\"{}\", {}]", fixture.name, fixture.arguments);
        assert_eq!(dialect.decode_json(direction, &by_name).as_ref(), Ok(&decoded), "{by_name}");
    }
}

/// What the client fixtures mean, by their label.
fn meaning(fixture: &Fixture) -> Option<ClientPacket<'static>> {
    let native = fixture.dialect == "native";
    let only_native = |number: u32| native.then_some(number);
    let name = Some("ann".to_owned());
    Some(match fixture.what {
        "enter" | "join" => ClientPacket::EnterGame { name, skin: Some(3), moofoll: !native },
        "enter without a name" => {
            ClientPacket::EnterGame { name: Some(String::new()), skin: Some(0), moofoll: false }
        }
        "watch" => ClientPacket::Hello { version: 1, mode: Mode::Spectate, name: None, skin: None },
        "play" => ClientPacket::Hello { version: 1, mode: Mode::Play, name, skin: Some(3) },
        "walk right" => ClientPacket::Move { sequence: None, tick: None, direction: Some(0) },
        "walk down" => ClientPacket::Move {
            sequence: only_native(1),
            tick: only_native(70_000),
            direction: Some(16_384),
        },
        "walk up left" => ClientPacket::Move { sequence: None, tick: None, direction: Some(5 * 8_192) },
        "stop" => ClientPacket::Move { sequence: only_native(2), tick: None, direction: None },
        "aim" if native => ClientPacket::Aim { sequence: Some(3), tick: Some(70_002), heading: 65_535 },
        "aim" => ClientPacket::Aim { sequence: None, tick: None, heading: 7 * 8_192 },
        "begin to attack" => ClientPacket::Attack { sequence: None, tick: None, state: true, heading: None },
        "place" => ClientPacket::Attack { sequence: None, tick: None, state: true, heading: Some(5_215) },
        "end the attack" => ClientPacket::Attack { sequence: None, tick: None, state: false, heading: None },
        "select a weapon" => ClientPacket::Select { sequence: None, tick: None, id: 0, is_weapon: true },
        "chat" => ClientPacket::Chat { sequence: only_native(4), tick: None, text: "h\u{e9}llo".to_owned() },
        "ping" => ClientPacket::Ping { nonce: only_native(u32::MAX) },
        "spectate" => ClientPacket::Spectate { player: Some(300) },
        "spectate the leader" => ClientPacket::Spectate { player: None },
        _ => return deed(fixture, native),
    })
}

/// The same for what goes beyond walking and talking.
fn deed(fixture: &Fixture, native: bool) -> Option<ClientPacket<'static>> {
    let sequence = |number: u32| native.then_some(number);
    let clan = |number: u32, action| ClientPacket::Clan { sequence: sequence(number), tick: None, action };
    let name = || "wolves".to_owned();
    Some(match fixture.what {
        "swing" => ClientPacket::Attack { sequence: Some(5), tick: Some(70_003), state: true, heading: None },
        "take an item" if native => {
            ClientPacket::Select { sequence: Some(6), tick: None, id: 3, is_weapon: false }
        }
        "take an item" => ClientPacket::Upgrade { sequence: None, tick: None, choice: 33 },
        "choose" => ClientPacket::Upgrade { sequence: Some(7), tick: None, choice: 9 },
        "attack by itself" => ClientPacket::ToggleAttack,
        "show one's place" => ClientPacket::MapPing { sequence: sequence(13), tick: sequence(70_009) },
        "found a clan" => clan(8, ClanAction::Create { name: name() }),
        "leave a clan" => clan(9, ClanAction::Leave),
        "ask to join" => clan(10, ClanAction::Request { name: name() }),
        "let in" => clan(11, ClanAction::Answer { player: 2, accept: true }),
        "keep out" => clan(0, ClanAction::Answer { player: 2, accept: false }),
        "put out" => clan(12, ClanAction::Kick { player: 2 }),
        _ => return None,
    })
}

#[test]
fn an_answer_alone_is_for_whoever_asks_first() {
    for (bytes, accept) in [(&b"\x92\xa1P\x91\x01"[..], true), (b"\x92\xa1P\x91\x00", false)] {
        let dialect = dialect("letters");
        let decoded = dialect.decode(Direction::ToServer, bytes).expect("a packet");
        let action = ClanAction::Answer { player: 0, accept };
        let meant = ClientPacket::Clan { sequence: None, tick: None, action };
        assert_eq!(ClientPacket::from_decoded(&decoded), meant);
    }
}

#[test]
fn client_fixtures_mean_the_same_in_every_dialect() {
    let (mut typed, mut unused) = (0, 0);
    for fixture in fixtures().iter().filter(|fixture| fixture.direction == Direction::ToServer) {
        let dialect = dialect(fixture.dialect);
        let decoded = dialect.decode(Direction::ToServer, &fixture.bytes).expect("tested above");
        let packet = ClientPacket::from_decoded(&decoded);
        let Some(expected) = meaning(fixture) else {
            assert_eq!(packet, ClientPacket::Unused(decoded.row), "{}", fixture.label());
            unused += 1;
            continue;
        };
        assert_eq!(packet, expected, "{}", fixture.label());
        // Without a name a MooMoo client sends false or nothing for moofoll; ours sends false.
        if fixture.what != "enter without a name" {
            assert_eq!(packet.encode(&dialect), fixture.bytes, "{}", fixture.label());
        }
        typed += 1;
    }
    assert_eq!((typed, unused), (107, 0));
}

#[test]
fn a_packet_that_a_dialect_lacks_is_not_encoded() {
    let legacy = dialect("legacy");
    assert!(ClientPacket::Spectate { player: None }.encode(&legacy).is_empty());
}
