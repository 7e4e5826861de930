//! The rows that the clients in other languages decode and encode (`tests/clients/rows.tsv`), by the
//! codec of the server: the same packets, values, bytes and errors.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use tickwire::game::simple::ReceivedEntities;
use tickwire::packet::grammar::{Argument, Shape, Type};
use tickwire::packet::{Dialect, Direction, PacketError, PacketTables, Value, json as json_codec};

const TABLES: [(&str, &str); 2] = [
    ("shapes.tsv", include_str!("../clients/shapes.tsv")),
    ("coins.tsv", include_str!("../../examples/coins.tsv")),
];

struct Row {
    dialect: Arc<Dialect>,
    direction: Direction,
    packet: &'static str,
    bytes: Vec<u8>,
    values: &'static str,
    remark: &'static str,
}

fn rows() -> Vec<Row> {
    let tables = PacketTables::from_texts(&TABLES).expect("the tables are valid");
    let lines = include_str!("../clients/rows.tsv").lines().skip(1);
    let row = |line: &'static str| {
        let [dialect, direction, packet, hex, values, remark] =
            <[&str; 6]>::try_from(line.split('\t').collect::<Vec<_>>()).expect("six cells");
        let direction = Direction::ALL.into_iter().find(|known| known.name() == direction);
        let pair = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal");
        Row {
            dialect: tables.dialect(dialect).expect("a dialect of the tables"),
            direction: direction.expect("a direction"),
            packet,
            bytes: (0..hex.len()).step_by(2).map(pair).collect(),
            values,
            remark,
        }
    };
    lines.map(row).collect()
}

/// Values by name, as the clients have them: a flag is a bool, and 0 in place of a container is
/// null.
fn named(members: &[Argument], values: &[Value]) -> Json {
    let pairs =
        members.iter().zip(values).map(|(one, value)| (one.name.clone(), client_value(&one.ty, value)));
    Json::Object(pairs.collect::<Map<_, _>>())
}

fn client_value(ty: &Type, value: &Value) -> Json {
    match (&ty.shape, value) {
        (Shape::Flag, value) if value.is_u64() => json!(value.as_u64() == Some(1)),
        (Shape::Tuple(members), Value::Array(values)) => named(members, values),
        (Shape::Map(members), Value::Map(pairs)) => {
            let values: Vec<Value> = pairs.iter().map(|(_, value)| value.clone()).collect();
            named(members, &values)
        }
        (Shape::Groups { members, .. }, Value::Array(values)) => {
            values.chunks(members.len()).map(|group| named(members, group)).collect()
        }
        (Shape::List { each, .. }, Value::Array(values)) => {
            values.iter().map(|value| client_value(each, value)).collect()
        }
        (Shape::Groups { .. }, value) if value.as_u64() == Some(0) => Json::Null,
        (_, value) => serde_json::from_str(&json_codec::to_text(value)).expect("JSON"),
    }
}

#[test]
fn each_row_is_decoded_to_its_values_and_encoded_to_its_bytes() {
    for Row { dialect, direction, packet, bytes, values, remark } in rows() {
        let decoded = match (dialect.decode(direction, &bytes), packet.strip_prefix('!')) {
            (Ok(decoded), None) => decoded,
            (Err(error), Some(expected)) => {
                let name = match error {
                    PacketError::Malformed(_) => "malformed_packet",
                    PacketError::UnknownCode { .. } => "unknown_packet",
                    PacketError::WrongArguments { .. } => "wrong_argument",
                };
                assert_eq!(name, expected, "{remark}: {error}");
                continue;
            }
            // The server truncates text, and a client rejects it: the player should see why.
            (Ok(_), Some("wrong_argument")) if remark == "41 characters of 40" => continue,
            (other, _) => panic!("{packet} {remark}: {other:?}"),
        };
        assert_eq!(decoded.row.name, packet);
        let expected: Json = serde_json::from_str(values).expect("JSON");
        assert_eq!(named(&decoded.row.arguments, &decoded.values), expected, "{packet}");
        let encoded = dialect.encode(direction, packet, &decoded.values);
        assert_eq!(encoded.as_deref(), Ok(&bytes[..]), "{packet} {values}");
    }
}

/// The entities of a list with all their values, as in the last cell of a row.
fn known_entities(list: &ReceivedEntities) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let entity = |id| list.values(id).expect("a known entity").map(|(_, value)| text(value));
    list.ids().map(|id| entity(id).collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join(", ")
}

#[test]
fn rows_of_entity_lists_lead_to_the_known_entities() {
    let mut lists = BTreeMap::new();
    for Row { dialect, direction, packet, bytes, remark, .. } in rows() {
        if packet.starts_with('!') || remark.is_empty() {
            continue;
        }
        let list = lists
            .entry(packet)
            .or_insert_with(|| ReceivedEntities::new(&dialect, packet).expect("an entity list"));
        // A packet may remove an entity that the client does not know.
        let _ = list.apply(&dialect.decode(direction, &bytes).expect("a valid packet"));
        assert_eq!(known_entities(list), remark, "{packet}");
    }
    assert!(lists.len() > 1, "lists with and without velocities");
}

#[test]
fn each_packet_of_the_tables_has_a_row() {
    let rows = rows();
    let seen: BTreeSet<_> =
        rows.iter().map(|row| (row.dialect.name().to_owned(), row.direction, row.packet)).collect();
    let tables = PacketTables::from_texts(&TABLES).expect("the tables are valid");
    for row in tables.rows() {
        for (dialect, _) in &row.codes {
            let key = (dialect.clone(), row.direction, row.name.as_str());
            assert!(seen.contains(&key), "rows.tsv has no row of {key:?}");
        }
    }
}
