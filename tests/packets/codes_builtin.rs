//! The built-in tables: they load, they contain the protocol's packets, and their codes are the
//! documented ones.

use tickwire::packet::{Code, Direction, Lane, PacketTables};

#[test]
fn the_five_dialects_are_there() {
    let codes = PacketTables::builtin();
    let names: Vec<&str> = codes.dialects().map(|dialect| dialect.name()).collect();
    assert_eq!(names, ["legacy", "letters-2023", "letters-2024", "letters", "native"]);
    assert!(codes.dialect("socket.io").is_none());
    for (dialect, to_server, to_client) in
        [("legacy", 17, 37), ("letters-2023", 18, 37), ("letters-2024", 18, 37), ("letters", 18, 37)]
    {
        let dialect = codes.dialect(dialect).expect("built in");
        assert_eq!(dialect.rows(Direction::ToServer).count(), to_server, "{}", dialect.name());
        assert_eq!(dialect.rows(Direction::ToClient).count(), to_client, "{}", dialect.name());
    }
}

/// direction, name, then the codes of legacy, letters-2023, letters-2024, letters: where generations differ or where
/// sources are known to disagree.
const ON_RECORD: [(Direction, &str, [&str; 4]); 12] = [
    (Direction::ToServer, "enter_game", ["sp", "M", "M", "M"]),
    (Direction::ToServer, "move", ["33", "a", "a", "9"]),
    (Direction::ToServer, "attack", ["c", "d", "n", "F"]),
    (Direction::ToServer, "select", ["5", "G", "z", "z"]),
    (Direction::ToServer, "aim", ["2", "D", "D", "D"]),
    (Direction::ToServer, "chat", ["ch", "6", "6", "6"]),
    (Direction::ToServer, "store", ["13c", "c", "c", "c"]),
    (Direction::ToServer, "ping", ["pp", "0", "0", "0"]),
    (Direction::ToClient, "pong", ["pp", "0", "0", "0"]),
    (Direction::ToClient, "io_init", ["io-init", "io-init", "io-init", "io-init"]),
    (Direction::ToClient, "update_players", ["33", "a", "a", "a"]),
    (Direction::ToClient, "load_objects", ["6", "H", "H", "H"]),
];

#[test]
fn codes_are_the_ones_on_record() {
    let codes = PacketTables::builtin();
    for (direction, name, expected) in ON_RECORD {
        for (dialect, code) in ["legacy", "letters-2023", "letters-2024", "letters"].into_iter().zip(expected)
        {
            let held = codes.dialect(dialect).expect("built in");
            let row = held.row(direction, name).unwrap_or_else(|| panic!("{dialect} has no {name}"));
            assert_eq!(row.code(dialect), Some(&Code::Str(code.to_owned())), "{dialect} {name}");
        }
    }
    let native = codes.dialect("native").expect("built in");
    assert_eq!(
        native.row(Direction::ToClient, "update").and_then(|row| row.code("native")),
        Some(&Code::Int(2))
    );
    assert_eq!(native.prefix(Direction::ToClient, "update"), Some((&[0x92, 0x02][..], Lane::Latest)));
    let legacy = codes.dialect("legacy").expect("built in");
    let update = (&[0x92, 0xa2, b'3', b'3'][..], Lane::Latest);
    assert_eq!(legacy.prefix(Direction::ToClient, "update_players"), Some(update));
    assert_eq!(legacy.prefix(Direction::ToClient, "update"), None);
}

#[test]
fn one_code_means_different_things_by_direction() {
    let codes = PacketTables::builtin();
    let legacy = codes.dialect("legacy").expect("built in");
    for (code, to_server, to_client) in
        [("33", "move", "update_players"), ("2", "aim", "add_player"), ("12", "clan_kick", "remove_object")]
    {
        let mut bytes = vec![0x92, 0xa0 | code.len() as u8];
        bytes.extend(code.bytes());
        bytes.push(0x90);
        let name = |direction| match legacy.decode(direction, &bytes) {
            Ok(decoded) => decoded.row.name.clone(),
            Err(tickwire::packet::PacketError::WrongArguments { packet, .. }) => packet,
            Err(other) => panic!("{other}"),
        };
        assert_eq!(name(Direction::ToServer), to_server);
        assert_eq!(name(Direction::ToClient), to_client);
    }
}
