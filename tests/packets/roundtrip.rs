//! Round trips of every packet of every dialect: values generated from its types survive encoding
//! and decoding, as MessagePack and as JSON; truncated, modified or random bytes never cause more
//! than a named error.

use crate::rows::values::for_every_row;
use proptest::prelude::*;
use proptest::test_runner::Config;
use tickwire::internal::games::moo::client_packet::ClientPacket;
use tickwire::packet::{DecodedPacket, Direction, PacketError, PacketTables, msgpack};

#[test]
fn every_row_round_trips_as_messagepack_and_as_json() {
    let rows = for_every_row(48, |dialect, direction, name, values| {
        let bytes = dialect.encode(direction, name, &values).expect("values of its types");
        let decoded = dialect.decode(direction, &bytes).expect("what was encoded");
        assert_eq!((decoded.row.name.as_str(), &decoded.values), (name, &values));
        let text = dialect.json_from_msgpack(direction, &bytes).expect("well-formed");
        assert_eq!(dialect.decode_json(direction, &text).expect(&text), decoded);
        assert!(decoded.to_string().starts_with(name));
    });
    let codes = PacketTables::builtin();
    let rows_of = |side| codes.dialects().map(move |dialect| dialect.rows(side).count()).sum::<usize>();
    assert_eq!(rows, rows_of(Direction::ToServer) + rows_of(Direction::ToClient));
}

#[test]
fn typed_client_packets_come_back_from_their_bytes() {
    let rows = for_every_row(24, |dialect, direction, name, values| {
        if direction == Direction::ToClient {
            return;
        }
        let bytes = dialect.encode(direction, name, &values).expect("values of its types");
        let decoded = dialect.decode(direction, &bytes).expect("what was encoded");
        let packet = ClientPacket::from_decoded(&decoded);
        if let ClientPacket::Unused(row) = packet {
            assert_eq!(row.name, name);
            return;
        }
        let encoded = packet.encode(dialect);
        let again = dialect.decode(direction, &encoded).expect("what was encoded");
        assert_eq!(near(ClientPacket::from_decoded(&again)), near(packet));
    });
    assert!(rows > 0);
}

/// Radians of any size come back rounded to two decimals, so this leaves of an angle only whether there is one; what
/// becomes of it is tested beside `angle::from_radians`.
fn near(packet: ClientPacket<'_>) -> ClientPacket<'_> {
    match packet {
        ClientPacket::Move { sequence, tick, direction } => {
            ClientPacket::Move { sequence, tick, direction: direction.map(|_| 0) }
        }
        ClientPacket::Aim { sequence, tick, .. } => ClientPacket::Aim { sequence, tick, heading: 0 },
        ClientPacket::Attack { sequence, tick, state, heading } => {
            ClientPacket::Attack { sequence, tick, state, heading: heading.map(|_| 0) }
        }
        other => other,
    }
}

/// Decoding may refuse, and says so in words; it never panics.
fn outcome(decoded: Result<DecodedPacket<'_>, PacketError>) {
    match decoded {
        Ok(decoded) => assert!(!decoded.to_string().is_empty()),
        Err(error) => assert!(!error.to_string().is_empty() && !error.name().is_empty()),
    }
}

#[test]
fn damaged_packets_fail_with_a_name() {
    for_every_row(4, |dialect, direction, name, values| {
        let bytes = dialect.encode(direction, name, &values).expect("values of its types");
        for cut in 0..bytes.len() {
            let error = dialect.decode(direction, &bytes[..cut]).expect_err("a part is not a message");
            assert!(error.closes_connection(), "{name} cut at {cut}: {error}");
        }
        for at in 0..bytes.len().min(64) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            outcome(dialect.decode(direction, &damaged));
        }
    });
}

/// Bytes that often begin something: containers, lengths, text, the odd ones.
fn telling_byte() -> impl Strategy<Value = u8> {
    prop_oneof![
        3 => 0x80u8..=0x94,
        2 => 0xa0u8..=0xa4,
        2 => 0xc0u8..=0xdf,
        3 => 0x00u8..=0x7f,
        1 => any::<u8>(),
    ]
}

proptest! {
    #![proptest_config(Config { cases: 20_000, failure_persistence: None, ..Config::default() })]

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(telling_byte(), 0..40)) {
        for dialect in PacketTables::builtin().dialects() {
            outcome(dialect.decode(Direction::ToServer, &bytes));
        }
        // What the scan lets through, rmpv reads to the last byte.
        if msgpack::check(&bytes, Direction::ToServer).is_ok() {
            let mut rest = &bytes[..];
            prop_assert!(rmpv::decode::read_value(&mut rest).is_ok());
            prop_assert!(rest.is_empty());
            prop_assert!(msgpack::read(&bytes, Direction::ToServer).is_ok());
        }
    }

    #[test]
    fn random_text_never_panics(text in "[\\[\\]{}:,\"a-c0-9. \\\\eE-]{0,60}") {
        for dialect in PacketTables::builtin().dialects() {
            outcome(dialect.decode_json(Direction::ToServer, &text));
        }
    }
}
