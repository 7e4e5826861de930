//! Matches pongs to pings: WebSocket frames by payload, packets by nonce.
//!
//! The time between them is the round trip, measured where the bytes are observed. At most
//! [`limits::INSPECTOR_PINGS`] pings wait for their pongs.

use std::collections::VecDeque;

use crate::limits;
use crate::packet::Direction;
use crate::tools::explain::{Content, Explanation};
use crate::ws::Side;
use crate::ws::frame::Opcode;

/// The name of the ping packet.
const PING: &str = "ping";
/// The name of the pong packet.
const PONG: &str = "pong";

/// The pings of a connection that wait for their pongs.
#[derive(Debug, Clone, Default)]
pub struct PingPairs {
    waiting: VecDeque<Ping>,
}

#[derive(Debug, Clone)]
struct Ping {
    from: Side,
    /// Whether the ping is a packet and not a WebSocket frame.
    is_packet: bool,
    key: Vec<u8>,
    n: u64,
    at_us: u64,
}

impl PingPairs {
    /// Receives the next frame of the connection. For a pong, returns the number of its ping and
    /// the round trip in microseconds.
    pub fn match_frame(&mut self, n: u64, at_us: u64, explained: &Explanation<'_>) -> Option<(u64, u32)> {
        let (is_ping, is_packet, key) = read(explained)?;
        let from = explained.from;
        if is_ping {
            self.waiting.push_back(Ping { from, is_packet, key, n, at_us });
            if self.waiting.len() > limits::INSPECTOR_PINGS {
                self.waiting.pop_front();
            }
            return None;
        }
        let fits = |ping: &Ping| ping.from != from && ping.is_packet == is_packet && ping.key == key;
        let at = self.waiting.iter().position(fits)?;
        let ping = self.waiting.remove(at)?;
        Some((ping.n, u32::try_from(at_us.saturating_sub(ping.at_us)).unwrap_or(u32::MAX)))
    }

    /// Drops the waiting pings, because frames are missing.
    pub fn clear(&mut self) {
        self.waiting.clear();
    }
}

/// Returns whether the frame is a ping, whether it is a packet, and the key that the pong repeats;
/// `None` for other frames.
fn read(explained: &Explanation<'_>) -> Option<(bool, bool, Vec<u8>)> {
    let frame = explained.frames.first().filter(|frame| frame.problem.is_none())?;
    let opcode = frame.header?.opcode;
    match &frame.content {
        Content::Bytes if matches!(opcode, Opcode::Ping | Opcode::Pong) => {
            Some((opcode == Opcode::Ping, false, frame.payload.clone()))
        }
        Content::Packet(Some(row), _) if [PING, PONG].contains(&row.name.as_str()) => {
            let direction = match explained.from {
                Side::Client => Direction::ToServer,
                Side::Server => Direction::ToClient,
            };
            let text = std::str::from_utf8(&frame.payload);
            let decoded = match (opcode, text) {
                (Opcode::Text, Ok(text)) => explained.dialect.decode_json(direction, text),
                _ => explained.dialect.decode(direction, &frame.payload),
            };
            let nonce = decoded.ok()?.values.first().map(ToString::to_string).unwrap_or_default();
            Some((row.name == PING, true, nonce.into_bytes()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketTables;
    use crate::tools::explain::{explain, hex};

    #[test]
    fn a_pong_finds_the_ping_that_it_repeats_and_only_that() {
        let codes = PacketTables::builtin();
        let dialect = codes.dialect("native").expect("built in");
        let mut pairs = PingPairs::default();
        let mut take = |n: u64, at_us, text: &str| {
            let bytes = hex::parse(text).expect("hex");
            pairs.match_frame(n, at_us, &explain(&bytes, &dialect, None))
        };
        // Packets: ping 5, ping 6; pong 6 at tick 9, pong 5, pong 5 again.
        assert_eq!(take(1, 100, "8284000000009206 9105".replace(' ', "").as_str()), None);
        assert_eq!(take(2, 200, "828400000000 92069106"), None);
        assert_eq!(take(3, 450, "8205 9207920609"), Some((2, 250)));
        assert_eq!(take(4, 500, "8205 9207920509"), Some((1, 400)));
        assert_eq!(take(5, 600, "8205 9207920509"), None);
        // Frames: the client answers the server's ping. A pong from the server itself does not
        // match.
        assert_eq!(take(6, 700, "8902 abcd"), None);
        assert_eq!(take(7, 800, "8a02 abcd"), None);
        assert_eq!(take(8, 900, "8a82 00000000 abcd"), Some((6, 200)));
        for n in 0..2 * limits::INSPECTOR_PINGS as u64 {
            take(10 + n, 1000, "8900");
        }
        assert_eq!(pairs.waiting.len(), limits::INSPECTOR_PINGS);
    }
}
