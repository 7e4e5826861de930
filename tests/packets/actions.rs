//! Compares what PROTOCOL.md says of actions and checksums with the code.

use std::fs;
use std::path::PathBuf;

use tickwire::internal::games::moo::world::Action;
use tickwire::sim::fields::Sink as _;
use tickwire::sim::{Action as _, Checksum, Reader};

fn document() -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("PROTOCOL.md");
    fs::read_to_string(path).expect("PROTOCOL.md is there")
}

/// The kind, the name and the values of each action of the document.
fn documented() -> Vec<(u8, String, String)> {
    let text = document();
    let (_, rest) = text.split_once("<!-- actions:begin -->\n").expect("the marker before the table");
    let (table, _) = rest.split_once("<!-- actions:end -->").expect("the marker after the table");
    let rows = table.lines().skip(2).map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [kind, name, values, _] = cells[..] else { panic!("four columns: {row}") };
        (kind.parse().expect(row), name.to_owned(), values.to_owned())
    });
    rows.collect()
}

/// The bytes of values as a row describes them, each of the alternatives. Numbers are 1, and a text is "hi".
fn bytes_of(kind: u8, values: &str) -> Vec<Vec<u8>> {
    let bytes = |values: &str| {
        let mut out = vec![kind];
        for value in values.split(", ").filter(|value| !value.is_empty()) {
            match value.split_once(' ').expect(value) {
                ("0", "u8") => out.push(0),
                (_, "u8" | "flag") => out.push(1),
                (_, "u16") => out.extend([1, 0]),
                (_, "u32") => out.extend([1, 0, 0, 0]),
                (_, "text") => out.extend([2, b'h', b'i']),
                _ => panic!("an unknown type: {value}"),
            }
        }
        out
    };
    values.split(", or ").map(|one| bytes(&one.replace('`', ""))).collect()
}

#[test]
fn the_bytes_of_each_action_are_those_of_the_document() {
    let rows = documented();
    assert!(rows.iter().map(|(kind, ..)| *kind).eq(0..rows.len() as u8), "every kind once, in order");
    for (kind, name, values) in &rows {
        for bytes in bytes_of(*kind, values) {
            let mut reader = Reader::new(&bytes);
            let action = Action::read(&mut reader).unwrap_or_else(|error| panic!("{name}: {error:?}"));
            assert_eq!(reader.rest(), [0; 0], "{name} has fewer values than the document says");
            let mut written = Vec::new();
            action.write(&mut written);
            assert_eq!(written, bytes, "{name}");
            let code_name = format!("{action:?}").split([' ', '{']).next().map(str::to_lowercase);
            assert_eq!(code_name, Some(name.replace('_', "")));
        }
    }
    let beyond = [rows.len() as u8, 0, 0, 0, 0, 0, 0, 0];
    assert!(Action::read(&mut Reader::new(&beyond)).is_err(), "the document lacks an action");
}

#[test]
fn the_checksums_of_the_document_are_those_of_the_code() {
    let text = document();
    let of = |scalars: &[u64]| {
        let mut checksum = Checksum::new();
        scalars.iter().for_each(|scalar| checksum.put(*scalar, 1));
        format!("{:016x}", checksum.get())
    };
    let said = format!("Without scalars it is `{}`", of(&[]));
    assert!(text.contains(&said), "PROTOCOL.md lacks: {said}");
    let said = format!("1, 2, 3, 4 and 5 it is `{}`", of(&[1, 2, 3, 4, 5]));
    assert!(text.contains(&said), "PROTOCOL.md lacks: {said}");
}

#[test]
fn the_rules_of_lockstep_packets_are_in_the_document() {
    let text = document();
    for rule in ["not_in_lockstep", "bad_checksum"] {
        assert!(text.contains(&format!("`{rule}`")), "PROTOCOL.md does not name {rule}");
    }
}
