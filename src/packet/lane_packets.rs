//! The packets with which a client gets a low-latency lane. Every dialect with `hello` has them,
//! unless its table uses their codes.

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
        row(Direction::ToServer, REQUEST, "-", "request a lane for datagrams; again for a new one"),
        row(
            Direction::ToClient,
            OFFER,
            "connection:u32 key:bin port:u16",
            "the client's lane: its number and key in datagrams, and the UDP port of the server; port 0 means no lane",
        ),
    ]
}

/// Whether a row is a command, which may go by datagram: its first arguments are `sequence` and
/// `tick`.
pub fn is_command(row: &Row) -> bool {
    let mut names = row.arguments.iter().map(|argument| argument.name.as_str());
    row.direction == Direction::ToServer && names.next() == Some("sequence") && names.next() == Some("tick")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_written_as_in_a_table() {
        let counts = rows("test").map(|row| row.arguments.len());
        assert_eq!(counts, [0, 3]);
    }
}
