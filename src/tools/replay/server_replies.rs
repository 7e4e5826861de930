//! Compares the server's replies to one client in a capture and in a replay.
//!
//! A reply is a frame that follows from the client's own bytes: a pong, one of the packets in
//! [`REPLY_PACKETS`], or the close frame. Updates are not replies. Replies are never compressed.
//! Some replies depend on data that
//! a replay lacks, such as the rate limits of an address, a ban or a shutdown
//! ([`is_nondeterministic`]): for these, the recorded reply is accepted.

use std::sync::Arc;

use crate::connection::{MessageCompression, RoomInfo, WireFormat};
use crate::game::{CloseReason, NO_LANE, PLAYER_GONE};
use crate::packet::{DecodedPacket, Dialect, Direction, PacketTables};
use crate::tools::capture::{TcpConnection, TcpSide};
use crate::ws::Side;
use crate::ws::close;
use crate::ws::frame::{Header, Opcode};

/// Names of reply packets.
const REPLY_PACKETS: [&str; 6] = ["io_init", "init_data", "welcome", "pong", "error", "disconnect"];
/// Names of reply packets that a client may receive although it is rejected.
const REJECTION_PACKETS: [&str; 2] = ["error", "disconnect"];
/// Reasons to close a client for its token, which depend on data outside the capture.
const TOKEN_REASONS: [CloseReason; 3] =
    [CloseReason::TokenMissing, CloseReason::TokenWrong, CloseReason::TooManyTokenAttempts];
/// The name prefix of rules about an address.
const ADDRESS: &str = "address_";
/// The replies of a replay to a packet and all later packets.
#[derive(Debug, Default)]
pub struct ServerReplies {
    from_packet: usize,
    frames: Vec<ReplyFrame>,
}

/// A frame of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyFrame {
    /// The packet that completed the frame or, in a replay, the packet of the client's bytes that
    /// it replies to.
    pub packet: usize,
    /// The frame.
    pub bytes: Vec<u8>,
}

/// A different reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyDiff {
    /// The recorded frame; `None` if there is none.
    pub recorded: Option<ReplyFrame>,
    /// The replayed frame; `None` if there is none.
    pub replayed: Option<ReplyFrame>,
}

impl ServerReplies {
    /// Creates an empty list. Replies before this packet are unknown.
    pub fn from_packet(packet: usize) -> ServerReplies {
        ServerReplies { from_packet: packet, frames: Vec::new() }
    }

    /// Adds complete frames that reply to the bytes of a packet.
    pub fn add(&mut self, packet: usize, frames: &[u8]) {
        self.frames.extend(split_frames(&mut frames.to_vec(), packet));
    }

    /// Compares with the replies of a captured connection. Returns the number of equal replies, and
    /// the first different one.
    ///
    /// Replies to the last bytes of a client may be missing in the recording, because the capture
    /// or the connection ended before them.
    pub fn compare(&self, connection: &TcpConnection<'_>, format: &WireFormat) -> (usize, Option<ReplyDiff>) {
        let mut replayed = self.frames.iter().peekable();
        let mut same = 0;
        let known = ReplyMatcher::new(format);
        for recorded in answers(connection, &known) {
            if recorded.packet < self.from_packet {
                continue;
            }
            let Some(kind) = known.kind(&recorded.bytes) else { continue };
            if replayed.next_if(|frame| frame.bytes == recorded.bytes).is_some() {
                same += 1;
            } else if !is_nondeterministic(&kind) {
                let replayed = replayed.next().cloned();
                return (same, Some(ReplyDiff { recorded: Some(recorded), replayed }));
            }
            if matches!(kind, ReplyKind::Close(_)) {
                return (same, None);
            }
        }
        let last = connection.pieces.iter().rfind(|piece| piece.from == TcpSide::Client);
        let missing = replayed.next().filter(|frame| last.is_some_and(|last| frame.packet < last.packet));
        let is_lost = connection.has_end;
        let differing = missing.filter(|_| !is_lost).cloned();
        (same, differing.map(|replayed| ReplyDiff { recorded: None, replayed: Some(replayed) }))
    }
}

/// Sets the epoch of the room and the update rate of native clients from the first recorded reply.
/// Returns the number of the client, which the MooMoo dialects send.
pub fn infer_room_info(connection: &TcpConnection<'_>, format: &WireFormat, facts: &mut RoomInfo) -> u64 {
    let Some(frame) = frames(connection).next() else { return 0 };
    let Some(ReplyKind::Packet(packet)) = ReplyMatcher::new(format).kind(&frame.bytes) else { return 0 };
    let text = |name| packet.get(name).and_then(|value| value.as_str());
    if let Some((epoch, number)) = text("socket_id").and_then(|id| id.rsplit_once('-')) {
        epoch.clone_into(&mut facts.epoch);
        return number.parse().unwrap_or_default();
    }
    text("epoch").unwrap_or_default().clone_into(&mut facts.epoch);
    let hz = packet.get("update_hz").and_then(|value| value.as_u64()).unwrap_or_default();
    facts.update_hz = u8::try_from(hz).unwrap_or_default();
    0
}

/// The parts of a handshake that the server rejected, according to the recording.
#[derive(Debug, Clone, Copy, Default)]
pub struct RecordedRejection {
    /// Whether the server rejected the client at its upgrade, because of the client's token.
    pub token: bool,
    /// Whether the server rejected the lockstep mode of the client's `hello`.
    pub lockstep: bool,
}

/// Determines what the server rejected. If the recording shows neither acceptance nor rejection,
/// lockstep counts as rejected, and so does the token of a native client that received no pong.
pub fn find_rejection(connection: &TcpConnection<'_>, format: &WireFormat) -> RecordedRejection {
    let known = ReplyMatcher::new(format);
    let mut has_pong = false;
    for frame in frames(connection) {
        match known.kind(&frame.bytes) {
            Some(ReplyKind::Packet(packet)) if !REJECTION_PACKETS.contains(&packet.row.name.as_str()) => {
                return RecordedRejection::default();
            }
            Some(ReplyKind::Pong) => has_pong = true,
            // A close frame without a reason replies to the client's own close frame.
            Some(ReplyKind::Close(reason)) if reason.is_empty() => {
                return RecordedRejection { token: !has_pong, lockstep: true };
            }
            Some(ReplyKind::Close(reason)) => {
                let token = TOKEN_REASONS.iter().any(|close_reason| close_reason.name() == reason);
                return RecordedRejection { token, lockstep: CloseReason::LockstepOff.name() == reason };
            }
            _ => {}
        }
    }
    RecordedRejection { token: format.is_native && !has_pong, lockstep: true }
}

/// The kind of a reply frame.
enum ReplyKind<'a> {
    Pong,
    Packet(DecodedPacket<'a>),
    /// The reason of a close frame.
    Close(String),
}

/// Distinguishes replies from updates, which are a hundred times as frequent.
struct ReplyMatcher<'a> {
    format: &'a WireFormat,
    /// The first bytes of reply packets.
    prefixes: Vec<&'a [u8]>,
}

impl<'a> ReplyMatcher<'a> {
    fn new(format: &'a WireFormat) -> ReplyMatcher<'a> {
        let prefix = |name: &&str| Some(format.dialect.prefix(Direction::ToClient, name)?.0);
        ReplyMatcher { format, prefixes: REPLY_PACKETS.iter().filter_map(prefix).collect() }
    }

    /// Whether a frame may be a reply. Checks only its first bytes.
    fn may_be(&self, header: &Header, payload: &[u8]) -> bool {
        match header.opcode {
            _ if header.compressed => false,
            Opcode::Binary => self.prefixes.iter().any(|prefix| payload.starts_with(prefix)),
            Opcode::Pong | Opcode::Close | Opcode::Text => true,
            _ => false,
        }
    }

    /// Returns the kind of a reply; `None` if the frame is not one.
    fn kind(&self, frame: &[u8]) -> Option<ReplyKind<'a>> {
        let (header, at) = Header::decode_with(frame, Side::Server, true).ok()??;
        let (dialect, payload) = (&self.format.dialect, &frame[at..]);
        if !self.may_be(&header, payload) {
            return None;
        }
        let decoded = match header.opcode {
            Opcode::Pong => return Some(ReplyKind::Pong),
            Opcode::Close => {
                let reason = close::decode(payload).map(|close| close.reason.to_owned());
                return Some(ReplyKind::Close(reason.unwrap_or_default()));
            }
            Opcode::Binary => dialect.decode(Direction::ToClient, payload).ok()?,
            _ => dialect.decode_json(Direction::ToClient, str::from_utf8(payload).ok()?).ok()?,
        };
        REPLY_PACKETS.contains(&decoded.row.name.as_str()).then_some(ReplyKind::Packet(decoded))
    }
}

/// Selects the server's pieces that may contain replies, without knowing the wire format.
#[derive(Debug, PartialEq, Eq)]
pub struct ReplyFilter {
    /// The first four bytes of reply packets of all dialects, and the mask of the bits to compare.
    prefixes: Vec<(u32, u32)>,
}

/// The parser state of one server's bytes.
#[derive(Debug, Default)]
pub struct FilterProgress {
    /// The bytes of an incomplete head or frame.
    rest: Vec<u8>,
    is_open: bool,
    has_frame: bool,
}

impl ReplyFilter {
    /// Creates a filter for all dialects of these packet tables.
    pub fn new(codes: &PacketTables) -> ReplyFilter {
        let prefix = |dialect: &Arc<Dialect>, name: &str| {
            let (prefix, _) = dialect.prefix(Direction::ToClient, name)?;
            let mask = u32::MAX.checked_shl(32 - 8 * prefix.len().min(4) as u32).unwrap_or(0);
            Some((first_four(prefix), mask))
        };
        let of_dialect = |dialect| REPLY_PACKETS.iter().filter_map(move |name| prefix(dialect, name));
        let mut prefixes: Vec<_> = codes.dialects().flat_map(of_dialect).collect();
        prefixes.sort_unstable();
        prefixes.dedup();
        ReplyFilter { prefixes }
    }

    /// Whether the next piece of a server is needed: it has the first frame, a frame that may be a
    /// reply, or an incomplete head or frame.
    pub fn is_needed(&self, sifted: &mut FilterProgress, piece: &[u8]) -> bool {
        let FilterProgress { rest, is_open, has_frame } = sifted;
        let mut is_needed = !*has_frame;
        let mut each = |header: &Header, at: usize, frame: &[u8]| {
            *has_frame = true;
            is_needed = is_needed || self.may_be(header, &frame[at..]);
        };
        if *is_open && rest.is_empty() {
            let used = visit_frames(piece, &mut each);
            rest.extend_from_slice(&piece[used..]);
            return is_needed || used < piece.len();
        }
        rest.extend_from_slice(piece);
        *is_open = *is_open || strip_head(rest);
        if *is_open {
            let used = visit_frames(rest, &mut each);
            rest.drain(..used);
        }
        true
    }

    /// Whether a frame may be a reply. Accepts every frame that [`ReplyMatcher::may_be`] accepts,
    /// and possibly others.
    fn may_be(&self, header: &Header, payload: &[u8]) -> bool {
        let begin = first_four(payload);
        match header.opcode {
            _ if header.compressed => false,
            Opcode::Binary => self.prefixes.iter().any(|(prefix, mask)| begin & mask == *prefix),
            Opcode::Pong | Opcode::Close | Opcode::Text => true,
            _ => false,
        }
    }
}

/// The first four bytes as a big-endian number, padded with zeros.
fn first_four(bytes: &[u8]) -> u32 {
    if let Some(four) = bytes.first_chunk() {
        return u32::from_be_bytes(*four);
    }
    bytes.iter().zip([24, 16, 8]).fold(0, |number, (byte, shift)| number | u32::from(*byte) << shift)
}

/// Whether a reply depends on data that a replay lacks: the rate limits of an address, a timeout, a
/// slow reader, the operator, a shutdown.
fn is_nondeterministic(answer: &ReplyKind<'_>) -> bool {
    let is_external = |rule: &str| {
        let of_time = [CloseReason::HelloLate, CloseReason::SlowClient, CloseReason::IdleTimeout];
        let close_reason = CloseReason::ALL.into_iter().find(|close_reason| close_reason.name() == rule);
        rule.starts_with(ADDRESS)
            || [PLAYER_GONE, NO_LANE].contains(&rule)
            || close_reason.is_some_and(|close_reason| {
                !close_reason.is_client_fault() || of_time.contains(&close_reason)
            })
    };
    match answer {
        ReplyKind::Pong => false,
        ReplyKind::Close(reason) => is_external(reason),
        ReplyKind::Packet(packet) => {
            let rule = packet.get("reason").or_else(|| packet.get("rule"));
            rule.and_then(|value| value.as_str()).is_some_and(is_external)
        }
    }
}

/// The server's frames of a connection that may be replies, in order.
fn answers(connection: &TcpConnection<'_>, known: &ReplyMatcher<'_>) -> Vec<ReplyFrame> {
    let (mut found, mut rest, mut is_open) = (Vec::new(), Vec::new(), false);
    for piece in connection.pieces.iter().filter(|piece| piece.from == TcpSide::Server) {
        let mut each = |header: &Header, at: usize, frame: &[u8]| {
            if known.may_be(header, &frame[at..]) {
                found.push(ReplyFrame { packet: piece.packet, bytes: frame.to_vec() });
            }
        };
        // Most pieces consist of complete frames, which need no copy.
        if is_open && rest.is_empty() {
            let used = visit_frames(piece.bytes, &mut each);
            rest.extend_from_slice(&piece.bytes[used..]);
            continue;
        }
        rest.extend_from_slice(piece.bytes);
        is_open = is_open || strip_head(&mut rest);
        if is_open {
            let used = visit_frames(&rest, &mut each);
            rest.drain(..used);
        }
    }
    found
}

/// The compression on which both ends have agreed, if the recording has the response.
pub fn find_compression(connection: &TcpConnection<'_>) -> Option<MessageCompression> {
    let pieces = connection.pieces.iter().filter(|piece| piece.from == TcpSide::Server);
    let mut head = Vec::new();
    for piece in pieces {
        head.extend_from_slice(piece.bytes);
        if let Some(end) = head_end(&head) {
            return MessageCompression::observed(&head[..end]);
        }
    }
    None
}

/// The size of the head of the response at the start of the server's bytes, if it is complete.
fn head_end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|end| end + 4)
}

/// Removes the head of the response from the server's bytes. Returns whether it was complete.
fn strip_head(bytes: &mut Vec<u8>) -> bool {
    let end = head_end(bytes);
    bytes.drain(..end.unwrap_or_default());
    end.is_some()
}

/// All frames of the server in a connection, in order.
fn frames<'a>(connection: &'a TcpConnection<'_>) -> impl Iterator<Item = ReplyFrame> + 'a {
    let (mut bytes, mut is_open) = (Vec::new(), false);
    let pieces = connection.pieces.iter().filter(|piece| piece.from == TcpSide::Server);
    pieces.flat_map(move |piece| {
        bytes.extend_from_slice(piece.bytes);
        is_open = is_open || strip_head(&mut bytes);
        if is_open { split_frames(&mut bytes, piece.packet) } else { Vec::new() }
    })
}

/// Splits complete frames off the server's bytes. `packet` is the packet that completed them.
fn split_frames(bytes: &mut Vec<u8>, packet: usize) -> Vec<ReplyFrame> {
    let mut frames = Vec::new();
    let used =
        visit_frames(bytes, &mut |_, _, frame| frames.push(ReplyFrame { packet, bytes: frame.to_vec() }));
    bytes.drain(..used);
    frames
}

/// Calls `each` for each complete frame at the start of the server's bytes, with its header and the
/// offset of its payload. Returns the size of these frames in bytes.
fn visit_frames(bytes: &[u8], each: &mut dyn FnMut(&Header, usize, &[u8])) -> usize {
    let mut start = 0;
    while let Ok(Some((header, at))) = Header::decode_with(&bytes[start..], Side::Server, true)
        && let Some(end) =
            usize::try_from(header.length).ok().and_then(|length| length.checked_add(start + at))
        && let Some(frame) = bytes.get(start..end)
    {
        each(&header, at, frame);
        start = end;
    }
    start
}
