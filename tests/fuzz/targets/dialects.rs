//! Packets of every dialect round-trip in both formats.
//!
//! The input is a byte that selects dialect, direction and format, followed by a message. An
//! accepted packet encodes, decodes to the same row and values, and encodes to the same bytes; as
//! JSON it is the same packet; a typed packet encodes to an equivalent one. A rejected packet has a
//! reason.

use tickwire::games::moo::client_packet::ClientPacket;
use tickwire::packet::{DecodedPacket, Dialect, Direction, PacketError, PacketTables, Value, json};

/// See the [module](self).
pub fn run(mut bytes: &[u8]) {
    let codes = PacketTables::builtin();
    let choice = super::choose(&mut bytes, 4 * codes.dialects().count());
    let dialect = codes.dialects().nth(choice / 4).expect("among them");
    let direction = Direction::ALL[choice % 2];
    let decoded = if choice & 2 == 0 {
        dialect.decode(direction, bytes)
    } else {
        let Ok(text) = str::from_utf8(bytes) else { return };
        dialect.decode_json(direction, text)
    };
    match decoded {
        Ok(decoded) => accepted(dialect, direction, &decoded),
        Err(error) => refused(&error),
    }
}

fn refused(error: &PacketError) {
    assert!(!error.to_string().is_empty() && !error.name().is_empty());
    assert_eq!(error.closes_connection(), matches!(error, PacketError::Malformed(_)));
}

/// The values without the nil ones at the end, which may be left out.
fn given<'a>(decoded: &'a DecodedPacket<'_>) -> &'a [Value] {
    let end = decoded.values.iter().rposition(|value| !value.is_nil()).map_or(0, |last| last + 1);
    &decoded.values[..end]
}

fn accepted(dialect: &Dialect, direction: Direction, decoded: &DecodedPacket<'_>) {
    let name = decoded.row.name.as_str();
    assert_eq!(decoded.values.len(), decoded.row.arguments.len());
    assert!(decoded.to_string().starts_with(name));
    let bytes = dialect.encode(direction, name, given(decoded)).expect("what was decoded");
    let again = dialect.decode(direction, &bytes).expect("what was encoded");
    assert_eq!(&again, decoded, "decoded again");
    let twice = dialect.encode(direction, name, given(&again)).expect("what was decoded");
    assert_eq!(twice, bytes, "encoded again");
    let text = dialect.json_from_msgpack(direction, &bytes).expect("what was encoded");
    let from_text = dialect.decode_json(direction, &text).expect("what was printed");
    // The keys of a map have no order, and JSON has its own.
    let print = |decoded: &DecodedPacket<'_>| json::to_text(&Value::Array(decoded.values.clone()));
    assert_eq!((print(&from_text), &from_text.row.name), (print(decoded), &decoded.row.name), "{text}");
    let sent = dialect.encode(direction, name, given(&from_text)).expect("what was printed");
    assert_eq!(print(&dialect.decode(direction, &sent).expect("what was sent")), print(decoded));
    if direction == Direction::ToServer {
        typed(dialect, decoded);
    }
}

fn typed(dialect: &Dialect, decoded: &DecodedPacket<'_>) {
    let packet = ClientPacket::from_decoded(decoded);
    if let ClientPacket::Unused(row) = packet {
        assert_eq!(row.name, decoded.row.name);
        return;
    }
    let bytes = packet.encode(dialect);
    let again = dialect.decode(Direction::ToServer, &bytes).expect("a typed packet");
    let again = ClientPacket::from_decoded(&again);
    assert_eq!(without_angles(again), without_angles(packet));
}

/// Radians are rounded to two decimals, so of an angle is left whether there is one.
fn without_angles(packet: ClientPacket<'_>) -> ClientPacket<'_> {
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
