//! Tests of the values in a row, and of the packets that count as updates.

use super::*;
use crate::packet::Value;
use crate::tools::explain::NO_DIALECT;
use observed_format::InterceptedBytes;

const TANKS: &str = include_str!("../../../../packet_codes/tanks/tanks.tsv");

/// A frame of the server with a packet of these tables.
fn sent(tables: &PacketTables, dialect: &str, name: &str, values: &[Value]) -> Vec<u8> {
    let dialect = tables.dialect(dialect).expect("a dialect");
    let payload = dialect.encode(Direction::ToClient, name, values).expect("fits the table");
    let mut bytes = Vec::new();
    frame::write(&mut bytes, Opcode::Binary, None, &payload);
    bytes
}

fn list(values: &[i64]) -> Value {
    values.iter().copied().map(Value::from).collect()
}

fn values(inspector: &Inspector, n: u64) -> Json {
    inspector.line(n)["values"].clone()
}

#[test]
fn a_row_has_scaled_values_with_units_and_the_sizes_of_lists() {
    let mut inspector = opened("/play", "native", false);
    let tables = PacketTables::builtin();
    let own = list(&[11, 4, 462_124_641, 715_840_487, 0, -1_507, 42_735]);
    let Value::Array(mut own) = own else { panic!("a list") };
    own.push(Value::Nil);
    let native = tables.dialect("native").expect("built in");
    let row = native.row(Direction::ToClient, "update").expect("a row");
    let names: Vec<_> = row.arguments.iter().map(|argument| &argument.name[..]).collect();
    let arguments: Vec<Value> = names
        .iter()
        .map(|name| match *name {
            "tick" => 223.into(),
            "own" => Value::Array(own.clone()),
            "leaves" => list(&[1, 2]),
            _ => list(&[]),
        })
        .collect();
    let update = sent(&tables, "native", "update", &arguments);
    let moved = masked(Opcode::Binary, &packet("move", &[5.into(), Value::Nil, 16_384.into()]));
    let chat = masked(Opcode::Binary, &packet("chat", &[6.into(), Value::Nil, "a = b".into()]));
    let stop = masked(Opcode::Binary, &packet("move", &[7.into(), Value::Nil, Value::Nil]));
    let health = sent(&tables, "native", "health", &[list(&[3, 86])]);
    let frames = [client(&moved), client(&chat), client(&stop), server(&health)];
    receive(&mut inspector, [server(&update)].into_iter().chain(frames));
    let expected =
        "leaves=1,2 own(margin=4ticks x=7051px y=10923px vx=0px vy=-0.02px heading=235° sequence=11)";
    assert_eq!(values(&inspector, 3), expected);
    assert_eq!(
        [4, 5].map(|n| values(&inspector, n)),
        ["direction=90° sequence=5", "text=\"a = b\" sequence=6"]
    );
    assert_eq!([6, 7].map(|n| values(&inspector, n)), ["direction=nil sequence=7", "player=3 health=86"]);
    assert_eq!(values(&inspector, 1), Json::Null, "a head of the handshake");
    assert_eq!(inspector.line(99), json!({}), "no such frame");
}

#[test]
fn the_most_frequent_state_packet_with_a_tick_is_the_update_in_each_dialect() {
    let tables = PacketTables::from_texts(&[("tanks.tsv", TANKS)]).expect("good tables");
    let mut inspector = opened_with(&welcome_of_tanks(), "/play?dialect=tanks", "tanks", false);
    assert_eq!(inspector.list().expect("a list").timeline(CLIENT as u32, 99, 9), json!({ "updates": [] }));
    let state = |tick: u32| {
        let arguments = [tick.into(), 1.into(), false.into(), 9.into(), Value::Nil, list(&[]), list(&[])];
        sent(&tables, "tanks", "state", &arguments)
    };
    let spawned = sent(&tables, "tanks", "spawned", &[3.into()]);
    let frames = [spawned.clone(), spawned.clone(), spawned, state(5), state(6)];
    receive(&mut inspector, frames.iter().map(|frame| server(frame)));
    let timeline = inspector.list().expect("a list").timeline(CLIENT as u32, 99, 9);
    assert_eq!((&timeline["packet"], timeline["normal_ms"].as_f64()), (&json!("state"), Some(0.0)));
    assert_eq!(timeline["updates"].as_array().map(Vec::len), Some(1), "{timeline}");
}

#[test]
fn an_inflated_message_has_its_header_on_the_wire() {
    let request = |name: &str| format!("Sec-WebSocket-Extensions: {name}\r\n\r\n");
    let Handshake { request: head, response, .. } = handshake_of("/chat", NO_DIALECT, false);
    let with = |head: &[u8]| [&head[..head.len() - 2], request("permessage-deflate").as_bytes()].concat();
    let opened = Handshake {
        request: with(&head),
        response: with(&response),
        ..handshake_of("/chat", NO_DIALECT, false)
    };
    let mut inspector = Inspector::new(&welcome()).expect("a welcome");
    inspector.select_client(Some(CLIENT));
    let message = |wire_header: &[u8]| {
        ObservedKind::Intercepted(InterceptedBytes {
            from: Side::Server,
            outcome: "forwarded",
            detail: 0,
            wire_bytes: 9,
            wire_header: wire_header.to_vec(),
            received: b"\x81\x05Hello"[..].into(),
            sent: b""[..].into(),
        })
    };
    receive(&mut inspector, [ObservedKind::Opened(opened), message(&[0xc1, 0x07]), message(&[])]);
    let wire = &explained(&inspector, &json!(3))["wire"];
    assert_eq!(wire["raw"], "c107");
    let fields = wire["frames"][0]["tree"]["children"].as_array().expect("fields");
    let values: Vec<_> = fields.iter().map(|field| (&field["name"], &field["value"])).take(2).collect();
    assert_eq!(values[0].0, "fin");
    assert_eq!((values[1].0, values[1].1.as_str().map(|text| &text[..1])), (&json!("rsv1"), Some("1")));
    assert_eq!(wire["frames"][0]["line"], "text, compressed, 7 bytes: incomplete");
    assert_eq!(explained(&inspector, &json!(4))["wire"], Json::Null);
}
