//! Packets encoded by the libraries of MooMoo clients (`tests/fixtures/clients.cjs`): values that JavaScript
//! converts, and text that was cut within an emoji.

use tickwire::packet::{Direction, PacketTables, Value, json};

use crate::rows::hex;

#[test]
fn packets_of_three_javascript_libraries_decode_to_what_the_original_server_understood() {
    let mut rows_of = std::collections::BTreeMap::<&str, usize>::new();
    for row in include_str!("../fixtures/clients.tsv").lines().skip(1) {
        let [library, dialect, name, what, bytes, expected] =
            <[&str; 6]>::try_from(row.split('\t').collect::<Vec<_>>()).expect("six cells");
        let label = format!("{library}, {dialect} {name}: {what}");
        let dialect = PacketTables::builtin().dialect(dialect).expect("built in");
        let bytes = hex::bytes(bytes);
        let decoded = dialect.decode(Direction::ToServer, &bytes);
        let decoded = decoded.unwrap_or_else(|error| panic!("{label}: {error}"));
        assert_eq!(decoded.row.name, name, "{label}");
        // As JSON, since the keys of a map have no order.
        let expected = json::read(expected, Direction::ToClient).expect("JSON");
        assert_eq!(json::to_text(&Value::Array(decoded.values)), json::to_text(&expected), "{label}");
        *rows_of.entry(library).or_default() += 1;
    }
    let counts: Vec<_> = rows_of.into_iter().collect();
    let expected = [("@msgpack/msgpack 3.1.3", 13), ("msgpack-lite 0.2.2", 13), ("msgpackr 2.1.4", 13)];
    assert_eq!(counts, [&expected[..], &[("reported", 3)]].concat());
}
