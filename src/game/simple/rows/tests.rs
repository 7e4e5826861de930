//! Tests of the encoding of rows.

use super::{FieldValue, PlainPacket, RowValues};
use crate::packet::{Direction, PacketTables, Value};

const TABLE: &str = "direction\tname\tlane\tplain:int\targuments\tmeaning\n\
    to_client\town_state\tlatest\t3\ttick:u32.tick x:i16.px is_asleep:bool gold:u16\tthe own state\n\
    to_client\tsaid\treliable\t4\tplayer:u16 text:str<=9\ta text\n";
const FIELDS: &[&str] = &["x", "gold", "is_asleep"];

#[test]
fn a_plain_packet_has_the_bytes_of_the_table_and_refuses_other_values() {
    let tables = PacketTables::from_texts(&[("plain.tsv", TABLE)]).expect("a valid table");
    let dialect = tables.dialect("plain").expect("its dialect");
    let row = |values: [i64; 3]| RowValues::new("own_state", FIELDS, values.map(FieldValue::Int).to_vec());
    let server = |tick| [("tick", tick)];
    let plain = PlainPacket::new(row([0; 3]).borrowed(), &server(0), &dialect).expect("a plain row");
    for (tick, x, gold, is_asleep) in [(0, 0, 0, 0), (70_000, -32_768, 65_535, 1), (7, 32_767, 128, 0)] {
        let values = [tick, x].map(Value::from).into_iter().chain([(is_asleep == 1).into(), gold.into()]);
        let values: Vec<Value> = values.collect();
        let expected = dialect.encode(Direction::ToClient, "own_state", &values).expect("by the table");
        let mut out = vec![9];
        assert!(plain.append(row([x, gold, is_asleep]).borrowed(), &server(tick), &mut out));
        assert_eq!(out[1..], expected);
        assert_eq!(row([x, gold, is_asleep]).encode(&dialect, &server(tick)), Ok(expected));
    }
    for (tick, values) in [(-1, [0, 0, 0]), (1, [32_768, 0, 0]), (1, [0, -1, 0]), (1, [0, 0, 2])] {
        let mut out = vec![9];
        assert!(!plain.append(row(values).borrowed(), &server(tick), &mut out), "{tick} {values:?}");
        assert_eq!(out, [9]);
        assert!(row(values).encode(&dialect, &server(tick)).is_err());
    }
    let text = RowValues::new("own_state", FIELDS, vec![FieldValue::Nil; 3]);
    assert!(!plain.append(text.borrowed(), &server(1), &mut Vec::new()));
    let text_row = RowValues::new("chat", &["player", "text"], vec![FieldValue::Int(1), FieldValue::Nil]);
    assert!(PlainPacket::new(text_row.borrowed(), &[], &dialect).is_none(), "a text");
    assert!(!plain.append(text_row.borrowed(), &server(1), &mut Vec::new()), "other fields");
    assert!(PlainPacket::new(row([0; 3]).borrowed(), &[], &dialect).is_none(), "the tick has no value");
    let extra = RowValues::new("own_state", &["x", "gold", "is_asleep", "y"], vec![FieldValue::Int(0); 4]);
    assert!(PlainPacket::new(extra.borrowed(), &server(1), &dialect).is_none(), "y has no argument");
}
