//! Encodes the stored frames as a capture for Wireshark.
//!
//! The input is the handshakes and frames of clients in order; the output is the bytes of a pcapng
//! file. Each connection starts with the TCP handshake. Frames that are no longer stored use no
//! sequence numbers, so that Wireshark reads one stream without a gap.

use core::net::SocketAddr;
use std::time::Duration;

use super::frame_mark::FrameMark;
use super::observed_format::Handshake;
use super::proxy_note::ProxyNote;
use super::ring::RetainedFrame;
use crate::packet::{PacketTables, routes};
use crate::tools::capture::lane_packet;
use crate::tools::capture::world_record::WorldRecord;
use crate::tools::capture::writer::{CaptureWriter, TcpFlow};
use crate::tools::capture::{FOREIGN_COMMENT, TcpSide, Untrusted};
use crate::tools::explain::NO_DIALECT;
use crate::ws::Side;

/// The player of a client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExportedClient {
    /// The number of the player; 0 without a player.
    pub player: u16,
    /// The name of the player; empty without a player.
    pub name: String,
}

/// A connection of a capture.
#[derive(Debug)]
pub struct ExportedConnection<'a> {
    /// The handshake.
    pub opened: &'a Handshake,
    /// The time of the handshake.
    pub at: Duration,
    /// The player of the client.
    pub client: ExportedClient,
    /// The stored frames, in order.
    pub frames: Vec<&'a RetainedFrame>,
}

impl ExportedConnection<'_> {
    /// Whether a proxy observed another protocol, which has no rooms and no packet tables.
    fn is_foreign(&self) -> bool {
        self.opened.dialect == NO_DIALECT
    }

    /// Writes the opening of the connection.
    fn open(&self, writer: &mut CaptureWriter) -> TcpFlow {
        let ExportedConnection { opened, at, frames, .. } = self;
        let comment = if self.is_foreign() { FOREIGN_COMMENT } else { "" };
        let mut flow = TcpFlow::open(writer, [opened.address, opened.local], [0, 0], (*at, comment));
        let first = frames.iter().find(|frame| !frame.is_head).map_or(0, |frame| frame.n);
        let before = format!("the inspector no longer has the frames before number {first}");
        flow.bytes(writer, TcpSide::Client, &opened.request, (*at, ""));
        flow.bytes(writer, TcpSide::Server, &opened.response, (*at, &before));
        flow
    }

    /// Writes a frame. `replaced` is the received message, if a proxy has sent this frame instead.
    fn frame(
        &self,
        writer: &mut CaptureWriter,
        flow: &mut TcpFlow,
        (frame, replaced): (&RetainedFrame, Vec<u8>),
    ) {
        let ExportedConnection { opened, at, client, .. } = self;
        if let Some((address, dropped)) = frame.datagram {
            // A capture contains no dropped datagrams.
            if dropped.is_none() {
                datagram(writer, opened, address, (frame, client), *at);
            }
            return;
        }
        let from = if frame.from == Side::Client { TcpSide::Client } else { TcpSide::Server };
        let comment = match (self.is_foreign(), frame.mark) {
            (true, mark) => {
                let compressed_bytes = frame.compressed_bytes;
                ProxyNote { mark, compressed_bytes, received: replaced }.comment()
            }
            (false, _) => format!("tick={} player={} {}", frame.tick, client.player, client.name),
        };
        flow.bytes(writer, from, frame.bytes(), (frame.at.max(*at), comment.trim_end()));
    }
}

/// Encodes a capture of these connections, in the order of time. `began` is the start of the
/// server's clock, as time since 1970. The capture includes the server's packet tables `codes`.
pub fn export_capture(
    connections: &[ExportedConnection<'_>],
    (began, codes): (Duration, &PacketTables),
) -> Vec<u8> {
    let mut writer = CaptureWriter::new(began);
    let begin = connections.iter().map(|connection| connection.at).min().unwrap_or_default();
    let own = || connections.iter().filter(|connection| !connection.is_foreign());
    writer.begin(own().next().is_some());
    if own().next().is_some() {
        writer.tables(begin, &codes.texts());
    }
    own().for_each(|connection| room(&mut writer, connection.opened, begin));
    for ExportedConnection { opened, client, .. } in connections {
        // If both ends have the same address, the name would apply to the server too.
        if !client.name.is_empty() && opened.address.ip() != opened.local.ip() {
            writer.name(opened.address.ip(), &client.name);
        }
    }
    // For each connection: its flow once it is open, and the frames that are not written yet.
    let mut left: Vec<(Option<TcpFlow>, &[&RetainedFrame])> =
        connections.iter().map(|connection| (None, &connection.frames[..])).collect();
    let mut replaced: Vec<Vec<u8>> = vec![Vec::new(); connections.len()];
    let next_at = |index: usize, (flow, frames): &(Option<TcpFlow>, &[&RetainedFrame])| match flow {
        None => Some((connections[index].at, 0)),
        Some(_) => frames.first().map(|frame| (frame.at.max(connections[index].at), frame.n)),
    };
    while let Some((_, index)) =
        (0..left.len()).filter_map(|index| Some((next_at(index, &left[index])?, index))).min()
    {
        let (connection, (flow, frames)) = (&connections[index], &mut left[index]);
        match (flow, frames.split_first()) {
            (flow @ None, _) => *flow = Some(connection.open(&mut writer)),
            (Some(flow), Some((frame, rest))) => {
                match frame.mark {
                    _ if frame.is_head => {}
                    Some(FrameMark::Changed) => replaced[index].extend_from_slice(frame.bytes()),
                    mark if mark.is_none_or(FrameMark::has_passed) => {
                        let replaced = std::mem::take(&mut replaced[index]);
                        connection.frame(&mut writer, flow, (frame, replaced));
                    }
                    _ => {}
                }
                *frames = rest;
            }
            (Some(_), None) => {}
        }
    }
    writer.blocks
}

/// Writes a datagram in the format of the server's recorder.
fn datagram(
    writer: &mut CaptureWriter,
    opened: &Handshake,
    address: Option<SocketAddr>,
    (frame, client): (&RetainedFrame, &ExportedClient),
    at: Duration,
) {
    let (is_inbound, address) = (frame.from == Side::Client, address.unwrap_or(opened.address));
    let ends = if is_inbound { [address, opened.local] } else { [opened.local, address] };
    let comment = format!("tick={} player={} {}", frame.tick, client.player, client.name);
    let comment = lane_packet::comment(comment.trim_end(), opened.address);
    writer.datagram(ends, is_inbound, frame.bytes(), (frame.at.max(at), &comment));
}

/// Writes the path of the connection with its dialect, unless the query of the URL selects the
/// dialect. The inspector does not know the other paths of the room.
fn room(writer: &mut CaptureWriter, opened: &Handshake, at: Duration) {
    let line = opened.request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let Some(target) = str::from_utf8(line).ok().and_then(|line| line.split(' ').nth(1)) else { return };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if query.split('&').any(|field| field.starts_with("dialect=")) {
        return;
    }
    let (room, below) = routes::split_room_path(path);
    writer.record(
        room,
        at,
        &WorldRecord::Room {
            game: Untrusted::default(),
            paths: vec![(Untrusted::new(below), Untrusted::new(&opened.dialect))],
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::explain::capture_walk;

    #[test]
    fn a_connection_of_another_protocol_is_saved_without_tables_and_with_what_the_proxy_did() {
        let opened = Handshake {
            address: "127.0.0.1:40000".parse().expect("an address"),
            local: "127.0.0.1:3000".parse().expect("an address"),
            dialect: NO_DIALECT.to_owned(),
            json: false,
            // The example of RFC 6455, section 1.3.
            request: b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                       Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
                .to_vec(),
            response: b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
                .to_vec(),
        };
        let frame = |n, mark| RetainedFrame {
            n,
            from: Side::Server,
            at: Duration::from_millis(10 * n),
            tick: 0,
            piece: b"\x81\x02{}".as_slice().into(),
            begin: 0,
            end: 4,
            is_head: false,
            is_message: false,
            mark,
            compressed_bytes: None,
            wire_header: std::sync::Arc::default(),
            datagram: None,
        };
        let inflated = RetainedFrame { compressed_bytes: Some(9), ..frame(6, None) };
        let frames = [
            frame(3, None),
            frame(4, Some(FrameMark::Dropped)),
            frame(5, Some(FrameMark::Injected)),
            inflated,
            frame(7, Some(FrameMark::Changed)),
            frame(8, Some(FrameMark::Substitute)),
        ];
        let (client, began) = (ExportedClient { player: 0, name: String::new() }, Duration::from_secs(1));
        let codes = PacketTables::builtin();
        let frames = frames.iter().collect();
        let connection = ExportedConnection { opened: &opened, at: Duration::ZERO, client, frames };
        let file = export_capture(&[connection], (began, &codes));
        let read = crate::tools::capture::read(&file).expect("a capture");
        assert!(read.tables().expect("readable").is_none());
        let comments: Vec<_> = read.packets.iter().flat_map(|packet| &packet.comments).collect();
        assert_eq!(comments[..3], [FOREIGN_COMMENT; 3], "the opening of the connection");
        let inflated = "inflated by the proxy: compressed, the frame has 9 bytes";
        let changed = "changed by the proxy; received: 81027b7d";
        let expected = ["injected by the proxy", inflated, changed];
        assert_eq!(comments[4..], expected, "the fourth names the frames before");
        let native = codes.dialect("native").expect("built in");
        let mut lines = Vec::new();
        capture_walk::walk((&read.connections(), &[]), &codes, (None, &native), None, |found| {
            if let capture_walk::CaptureItemKind::Item(item) = found.what {
                assert!(item.problem().is_none());
                lines.extend(item.frames.iter().map(ToString::to_string));
            }
        });
        assert_eq!(lines.iter().filter(|line| line.contains("JSON {}")).count(), 4, "{lines:?}");
    }

    #[test]
    fn a_saved_ring_is_read_back_as_one_connection_without_a_gap() {
        let opened = Handshake {
            address: "203.0.113.9:40000".parse().expect("an address"),
            local: "127.0.0.1:3000".parse().expect("an address"),
            dialect: "letters".to_owned(),
            json: false,
            request: b"GET /r/arena/play HTTP/1.1\r\n\r\n".to_vec(),
            response: b"HTTP/1.1 101 Switching Protocols\r\n\r\n".to_vec(),
        };
        let frame = |n, from, length: usize| RetainedFrame {
            n,
            from,
            at: Duration::from_millis(10 * n),
            tick: n as u32,
            piece: (0..length).map(|at| at as u8).collect(),
            begin: 0,
            end: length,
            is_head: n < 3,
            is_message: false,
            mark: None,
            compressed_bytes: None,
            wire_header: std::sync::Arc::default(),
            datagram: None,
        };
        let frames = [
            frame(1, Side::Client, 9),
            frame(900, Side::Client, 16),
            frame(901, Side::Server, 100_000),
            frame(902, Side::Client, 7),
        ];
        let client = ExportedClient { player: 3, name: "Ada".to_owned() };
        let (at, all) = (Duration::from_millis(5), frames.iter().collect());
        let connection = ExportedConnection { opened: &opened, at, client, frames: all };
        let file = export_capture(&[connection], (Duration::from_secs(1_000_000), &PacketTables::builtin()));
        assert_eq!(file[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
        let read = crate::tools::capture::read(&file).expect("a capture");
        assert_eq!(read.names, [(opened.address.ip(), "Ada".into())]);
        assert!(read.packets.iter().any(|packet| packet.comments == ["tick=901 player=3 Ada"]));
        assert_eq!(read.packets[0].at_ns, 1_000_000_005_000_000);
        let tables = read.tables().expect("whole").expect("they are carried");
        assert!(tables.iter().map(|(file, text)| (&**file, &**text)).eq(PacketTables::builtin().texts()));
        let codes = capture_walk::capture_tables(&read, None).expect("good tables");
        let dialect =
            |path| routes::find_by_room_tables(&codes, path, None, None).map(|(dialect, _)| dialect.name());
        assert_eq!([dialect("/r/arena/play"), dialect("/play")], [Ok("letters"), Ok("native")]);
        let connections = read.connections();
        let [connection] = &connections[..] else { panic!("{} connections", connections.len()) };
        assert!(connection.has_begin && connection.gaps.is_empty());
        let sent = |from: TcpSide| -> Vec<u8> {
            let pieces = connection.pieces.iter().filter(|piece| piece.from == from);
            pieces.flat_map(|piece| piece.bytes.to_vec()).collect()
        };
        assert_eq!(
            sent(TcpSide::Client),
            [&opened.request[..], frames[1].bytes(), frames[3].bytes()].concat()
        );
        assert_eq!(sent(TcpSide::Server), [&opened.response[..], frames[2].bytes()].concat());
    }
}
