//! The packets with which a client gets a low-latency lane. Every dialect with `hello` has them,
//! unless its table uses their codes.

use std::collections::BTreeMap;

use super::decoded_packet::DecodedPacket;
use super::grammar;
use super::row::{Code, Direction, Lane, Row};

/// A client requests a lane.
pub const REQUEST: &str = "lane_request";
/// The server grants a lane.
pub const OFFER: &str = "lane_offer";

/// The code of both packets, in opposite directions.
const CODE: u32 = 126;

/// Returns the rows of a dialect.
pub fn rows(dialect: &str) -> [Row; 2] {
    let row = |direction, name: &str, arguments: &str, meaning: &str| Row {
        direction,
        name: name.to_owned(),
        lane: Lane::Reliable,
        codes: vec![(dialect.to_owned(), Code::Int(CODE))],
        arguments: grammar::parse_arguments(arguments).unwrap_or_default(),
        meaning: meaning.to_owned(),
    };
    [
        row(
            Direction::ToServer,
            REQUEST,
            "offer:str<=4096|nil",
            "request a lane for datagrams, again for a new one; with the offer of a data channel (SDP), a lane by WebRTC",
        ),
        row(
            Direction::ToClient,
            OFFER,
            "connection:u32 key:bin port:u16 answer:str|nil",
            "the client's lane: its number and key in datagrams, and the UDP port of the server; by WebRTC, the answer (SDP) and an empty key",
        ),
    ]
}

/// Whether a row is a command, which may go by datagram: its first arguments are `sequence` and
/// `tick`.
pub fn is_command(row: &Row) -> bool {
    let mut names = row.arguments.iter().map(|argument| argument.name.as_str());
    row.direction == Direction::ToServer && names.next() == Some("sequence") && names.next() == Some("tick")
}

/// Returns whether the state in a packet is older than a received state of the same row, by
/// datagram or by stream. Otherwise updates `newest`, the newest tick of each row.
pub fn is_overtaken(newest: &mut BTreeMap<String, u32>, packet: &DecodedPacket<'_>) -> bool {
    let tick = packet.integer::<u32>("tick").filter(|_| packet.row.lane == Lane::Latest);
    let Some(tick) = tick else { return false };
    match newest.get_mut(&packet.row.name) {
        Some(newest) if tick < *newest => return true,
        Some(newest) => *newest = tick,
        // A packet of the stream counts too, because an older datagram may follow.
        None => drop(newest.insert(packet.row.name.clone(), tick)),
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_written_as_in_a_table() {
        let counts = rows("test").map(|row| row.arguments.len());
        assert_eq!(counts, [1, 4]);
    }
}
