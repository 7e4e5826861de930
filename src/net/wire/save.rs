//! Writes the frames in a watcher's ring as a capture that Wireshark can open.
//!
//! The input is a client's handshake and frames in order; the output is the bytes of a pcapng file,
//! not the file itself. The capture has the connection from its SYN, the handshake, and the frames
//! as if no other frames had come between them, so that Wireshark reads one stream without a gap.

use std::net::SocketAddr;
use std::time::Duration;

use super::ring::Kept;
use crate::capture::packet::{self, ACK, Head, LINK_RAW, PSH, SYN};
use crate::capture::pcapng::{self, About};
use crate::ws::Side;

/// The handshake of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// The client's end.
    pub address: SocketAddr,
    /// Our end.
    pub local: SocketAddr,
    /// When, on the server's clock.
    pub at: Duration,
    /// Head of the request, without secrets.
    pub request: Vec<u8>,
    /// Head of the response.
    pub response: Vec<u8>,
}

/// The client of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whose {
    /// Its player, 0 without one.
    pub player: u16,
    /// Its player's name, empty without one.
    pub name: String,
}

/// The capture. `began` is the time of day at which the server's clock stood at zero.
pub fn capture<'a>(
    opened: &Opened,
    whose: &Whose,
    frames: impl Iterator<Item = &'a Kept>,
    began: Duration,
) -> Vec<u8> {
    let mut out = Vec::new();
    pcapng::write_section(&mut out, concat!("tickwire ", env!("CARGO_PKG_VERSION")));
    pcapng::write_interface(&mut out, LINK_RAW as u16, "clients");
    // Where both ends have one address, its name would be the server's as well.
    if !whose.name.is_empty() && opened.address.ip() != opened.local.ip() {
        pcapng::write_name(&mut out, opened.address.ip(), &whose.name);
    }
    let mut stream = Stream { out, opened, began, next: [0, 0] };
    stream.segment(Side::Client, SYN, opened.at, "", &[]);
    stream.segment(Side::Server, SYN | ACK, opened.at, "", &[]);
    stream.segment(Side::Client, ACK, opened.at, "", &[]);
    stream.bytes(Side::Client, opened.at, "", &opened.request);
    let mut frames = frames.filter(|frame| !frame.is_head).peekable();
    let first = frames.peek().map_or(0, |frame| frame.n);
    let before = format!("the watcher no longer has the frames before number {first}");
    stream.bytes(Side::Server, opened.at, &before, &opened.response);
    for frame in frames {
        let Whose { player, name } = whose;
        let comment = format!("tick={} player={player} {name}", frame.tick);
        stream.bytes(frame.from, frame.at.max(opened.at), comment.trim_end(), &frame.bytes);
    }
    stream.out
}

/// Both directions of a connection while they are written.
struct Stream<'a> {
    out: Vec<u8>,
    opened: &'a Opened,
    began: Duration,
    /// The next sequence number of the client and of the server.
    next: [u32; 2],
}

impl Stream<'_> {
    fn bytes(&mut self, from: Side, at: Duration, comment: &str, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let taken = self.segment(from, PSH | ACK, at, comment, bytes);
            bytes = &bytes[taken..];
        }
    }

    fn segment(&mut self, from: Side, flags: u8, at: Duration, comment: &str, payload: &[u8]) -> usize {
        let ends = [self.opened.address, self.opened.local];
        let (own, other) = if from == Side::Client { (0, 1) } else { (1, 0) };
        let acknowledged = if flags & ACK != 0 { self.next[other] } else { 0 };
        let head = Head { from: ends[own], to: ends[other], sequence: self.next[own], acknowledged, flags };
        let mut packet = Vec::new();
        let taken = packet::encode(&mut packet, &head, payload);
        self.next[own] = self.next[own].wrapping_add(taken as u32 + u32::from(flags & SYN != 0));
        let about = About {
            interface: 0,
            at_ns: (self.began + at).as_nanos() as u64,
            inbound: Some(from == Side::Client),
            comment,
        };
        pcapng::write_packet(&mut self.out, &about, &packet);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::End;

    #[test]
    fn a_saved_ring_is_read_back_as_one_connection_without_a_gap() {
        let opened = Opened {
            address: "203.0.113.9:40000".parse().expect("an address"),
            local: "127.0.0.1:3000".parse().expect("an address"),
            at: Duration::from_millis(5),
            request: b"GET /play HTTP/1.1\r\n\r\n".to_vec(),
            response: b"HTTP/1.1 101 Switching Protocols\r\n\r\n".to_vec(),
        };
        let frame = |n, from, length: usize| Kept {
            n,
            from,
            at: Duration::from_millis(10 * n),
            tick: n as u32,
            bytes: (0..length).map(|at| at as u8).collect(),
            is_head: n < 3,
        };
        let frames = [
            frame(1, Side::Client, 9),
            frame(900, Side::Client, 16),
            frame(901, Side::Server, 100_000),
            frame(902, Side::Client, 7),
        ];
        let whose = Whose { player: 3, name: "Ada".to_owned() };
        let file = capture(&opened, &whose, frames.iter(), Duration::from_secs(1_000_000));
        assert_eq!(file[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
        let read = crate::capture::read(&file).expect("a capture");
        assert_eq!(read.names, [(opened.address.ip(), "Ada")]);
        assert!(read.packets.iter().any(|packet| packet.comments == ["tick=901 player=3 Ada"]));
        assert_eq!(read.packets[0].at_ns, 1_000_000_005_000_000);
        let connections = read.connections();
        let [connection] = &connections[..] else { panic!("{} connections", connections.len()) };
        assert!(connection.has_begin && connection.holes.is_empty());
        let said = |from: End| -> Vec<u8> {
            let pieces = connection.pieces.iter().filter(|piece| piece.from == from);
            pieces.flat_map(|piece| piece.bytes.to_vec()).collect()
        };
        assert_eq!(said(End::Client), [&opened.request[..], &frames[1].bytes, &frames[3].bytes].concat());
        assert_eq!(said(End::Server), [&opened.response[..], &frames[2].bytes].concat());
    }
}
