//! One connection of a row: what is sent, all that comes back, and whether that is what the row says.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use tickwire::packet::{Direction, PacketTables};

use crate::support::PATIENCE;

/// What must come back.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The response to the request, to its last byte.
    pub response: Vec<u8>,
    /// Pongs and the close frame, to their last byte and in this order.
    pub control: Vec<u8>,
    /// Packets that must be among the messages, in this order, of a dialect.
    pub packets: Vec<(&'static str, String)>,
    /// Counters of the server that go up: name, rule, by how much.
    pub counters: Vec<(&'static str, &'static str, usize)>,
}

impl Answer {
    /// What the server counts for it.
    pub fn counted(&self) -> impl Iterator<Item = (&'static str, &'static str, usize)> {
        self.counters.iter().copied()
    }

    /// Holds all that came back against it.
    pub fn check(&self, heard: &[u8], name: &str) {
        let (head, rest) = heard.split_at(heard.len().min(self.response.len()));
        assert_eq!(String::from_utf8_lossy(head), String::from_utf8_lossy(&self.response), "{name}");
        let frames = frames(rest, name);
        let is_control = |frame: &&Frame<'_>| frame.opcode >= 8;
        let control: Vec<u8> =
            frames.iter().filter(is_control).flat_map(|frame| frame.bytes).copied().collect();
        assert_eq!(shown(&control), shown(&self.control), "{name}");
        let is_close = |frame: &Frame<'_>| frame.opcode == 8;
        assert!(frames.iter().rev().skip(1).all(|frame| !is_close(frame)), "{name}: a frame after the close");
        let mut messages = frames.iter().filter(|frame| frame.opcode < 8);
        for (dialect, packet) in &self.packets {
            let dialect = PacketTables::builtin().dialect(dialect).expect("built in");
            let is_it = |frame: &Frame<'_>| {
                let decoded = dialect.decode(Direction::ToClient, frame.payload);
                decoded.expect("a packet of the dialect").to_string().starts_with(packet)
            };
            assert!(messages.any(is_it), "{name}: no {packet}");
        }
    }
}

fn shown(bytes: &[u8]) -> String {
    format!("{} {}", crate::support::to_hex(bytes), String::from_utf8_lossy(bytes).escape_debug())
}

/// A frame of the server's, whole.
struct Frame<'a> {
    opcode: u8,
    payload: &'a [u8],
    bytes: &'a [u8],
}

/// The frames of a server: whole messages, without masks. Read here by hand, so that the test does not lean on what it tests.
fn frames<'a>(mut rest: &'a [u8], name: &str) -> Vec<Frame<'a>> {
    let mut frames = Vec::new();
    while !rest.is_empty() {
        assert!(rest.len() >= 2 && rest[0] & 0xf0 == 0x80 && rest[1] < 0x80, "{name}: {}", shown(rest));
        let (header, length) = match rest[1] {
            126 => (4, rest[2..4].iter().fold(0, |length, byte| length << 8 | usize::from(*byte))),
            127 => (10, rest[2..10].iter().fold(0, |length, byte| length << 8 | usize::from(*byte))),
            short => (2, usize::from(short)),
        };
        assert!(rest.len() >= header + length, "{name}: a frame is cut off: {}", shown(rest));
        let (bytes, after) = rest.split_at(header + length);
        frames.push(Frame { opcode: bytes[0] & 0x0f, payload: &bytes[header..], bytes });
        rest = after;
    }
    frames
}

/// Connects, sends what comes before in one piece and the pieces in one write each, then what comes after, says that no more
/// will come, and reads to the end. Whoever is refused in the middle of its row is told so all the same.
pub fn send(server: SocketAddr, before: &[u8], pieces: &[&[u8]], after: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(server).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.set_nodelay(true).expect("no delay");
    for piece in [before].iter().chain(pieces).chain(&[after]).filter(|piece| !piece.is_empty()) {
        match stream.write_all(piece) {
            Ok(()) => {}
            // The server has said its last word and closed.
            Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => break,
            Err(error) => panic!("{error}"),
        }
    }
    let _ = stream.shutdown(Shutdown::Write);
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard).expect("the end");
    heard
}
