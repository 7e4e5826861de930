//! Compares the server's answers to one client in a capture with those in a replay.
//!
//! An answer is a frame that follows from the client's own bytes: a pong, the packets of
//! [`PACKETS`], and the close frame. Updates of the room are not answers. Some answers depend on
//! facts that a replay does not know, such as the rate limits of an address, a ban or a shutdown:
//! for these the replay takes the recorded answer ([`is_external`]).

use crate::capture::{Connection, End};
use crate::game::Breach;
use crate::packet::{Decoded, Direction};
use crate::peer::Endpoint;
use crate::peer::receiver::RoomFacts;
use crate::ws::Side;
use crate::ws::close;
use crate::ws::frame::{Header, Opcode};

/// Packets that answer a client.
const PACKETS: [&str; 6] = ["io_init", "init_data", "welcome", "pong", "error", "disconnect"];
/// Those of them that a client may get without a greeting.
const PARTINGS: [&str; 2] = ["error", "disconnect"];
/// Why a client gets no greeting.
const TURNED_AWAY: [Breach; 4] =
    [Breach::TokenMissing, Breach::TokenWrong, Breach::TokenTooOften, Breach::LockstepOff];
/// How the names of the rules of an address begin.
const ADDRESS: &str = "address_";
/// The answers of a replay, from a packet on.
#[derive(Debug, Default)]
pub struct Answers {
    from_packet: usize,
    frames: Vec<Frame>,
}

/// One frame of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The packet that brought its end, or that of the bytes that it answers.
    pub packet: usize,
    /// The frame.
    pub bytes: Vec<u8>,
}

/// An answer that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Differing {
    /// The recorded frame; `None` if there is none.
    pub recorded: Option<Frame>,
    /// The frame of the replay; `None` if there is none.
    pub replayed: Option<Frame>,
}

impl Answers {
    /// Answers of which those before this packet are not known.
    pub fn from_packet(packet: usize) -> Answers {
        Answers { from_packet: packet, frames: Vec::new() }
    }

    /// Adds whole frames that answer the bytes of a packet.
    pub fn add(&mut self, packet: usize, frames: &[u8]) {
        self.frames.extend(cut(&mut frames.to_vec(), packet));
    }

    /// Holds the answers against those of the connection. Returns how many are the same, and the
    /// first that differs.
    ///
    /// A capture may end between a client's bytes and their answers, and a connection may end
    /// before them: then answers to the last bytes may be missing in the recording.
    pub fn compare(&self, connection: &Connection<'_>, endpoint: &Endpoint) -> (usize, Option<Differing>) {
        let mut replayed = self.frames.iter().peekable();
        let mut same = 0;
        for recorded in frames(connection).filter(|frame| frame.packet >= self.from_packet) {
            let Some(kind) = Kind::of(&recorded.bytes, endpoint) else { continue };
            if replayed.next_if(|frame| frame.bytes == recorded.bytes).is_some() {
                same += 1;
            } else if !is_external(&kind) {
                let replayed = replayed.next().cloned();
                return (same, Some(Differing { recorded: Some(recorded), replayed }));
            }
            if matches!(kind, Kind::Close(_)) {
                return (same, None);
            }
        }
        let last = connection.pieces.iter().rfind(|piece| piece.from == End::Client);
        let missing = replayed.next().filter(|frame| last.is_some_and(|last| frame.packet < last.packet));
        let is_lost = connection.has_end;
        let differing = missing.filter(|_| !is_lost).cloned();
        (same, differing.map(|replayed| Differing { recorded: None, replayed: Some(replayed) }))
    }
}

/// Learns from the recorded answers the room's epoch and the update rate of native clients. Returns
/// the number of the client, which the MooMoo dialects name.
pub fn learn(connection: &Connection<'_>, endpoint: &Endpoint, facts: &mut RoomFacts) -> u64 {
    let Some(frame) = frames(connection).next() else { return 0 };
    let Some(Kind::Packet(packet)) = Kind::of(&frame.bytes, endpoint) else { return 0 };
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

/// Whether the server has not greeted a client because of its token or its mode, as far as the recording goes.
pub fn is_turned_away(connection: &Connection<'_>, endpoint: &Endpoint) -> bool {
    for frame in frames(connection) {
        match Kind::of(&frame.bytes, endpoint) {
            Some(Kind::Packet(packet)) if !PARTINGS.contains(&packet.row.name.as_str()) => return false,
            Some(Kind::Close(reason)) => return TURNED_AWAY.iter().any(|breach| breach.name() == reason),
            _ => {}
        }
    }
    endpoint.is_native
}

/// What an answer is.
enum Kind<'a> {
    Pong,
    Packet(Decoded<'a>),
    /// The reason of a close frame.
    Close(String),
}

impl<'a> Kind<'a> {
    /// `None` for a frame that is no answer.
    fn of(frame: &[u8], endpoint: &'a Endpoint) -> Option<Kind<'a>> {
        let (header, at) = Header::decode(frame, Side::Server).ok()??;
        let payload = &frame[at..];
        let dialect = &endpoint.dialect;
        let decoded = match header.opcode {
            Opcode::Pong => return Some(Kind::Pong),
            Opcode::Close => {
                let reason = close::decode(payload).map(|close| close.reason.to_owned());
                return Some(Kind::Close(reason.unwrap_or_default()));
            }
            Opcode::Binary => {
                let is_one = |name: &&str| {
                    dialect
                        .prefix(Direction::ToClient, name)
                        .is_some_and(|(prefix, _)| payload.starts_with(prefix))
                };
                PACKETS.iter().find(|name| is_one(name))?;
                dialect.decode(Direction::ToClient, payload).ok()?
            }
            Opcode::Text => dialect.decode_json(Direction::ToClient, str::from_utf8(payload).ok()?).ok()?,
            _ => return None,
        };
        PACKETS.contains(&decoded.row.name.as_str()).then_some(Kind::Packet(decoded))
    }
}

/// Whether an answer follows from what a replay does not know: the limits of an address, a deadline,
/// a slow reader, the operator, the end of the server.
fn is_external(answer: &Kind<'_>) -> bool {
    let is_external = |rule: &str| {
        let of_time = [Breach::HelloLate, Breach::SlowClient, Breach::Silent];
        let breach = Breach::ALL.into_iter().find(|breach| breach.name() == rule);
        rule.starts_with(ADDRESS)
            || breach.is_some_and(|breach| !breach.is_of_the_client() || of_time.contains(&breach))
    };
    match answer {
        Kind::Pong => false,
        Kind::Close(reason) => is_external(reason),
        Kind::Packet(packet) => {
            let rule = packet.get("reason").or_else(|| packet.get("rule"));
            rule.and_then(|value| value.as_str()).is_some_and(is_external)
        }
    }
}

/// The server's frames of a connection, in order.
fn frames<'a>(connection: &'a Connection<'_>) -> impl Iterator<Item = Frame> + 'a {
    let (mut bytes, mut is_open) = (Vec::new(), false);
    let pieces = connection.pieces.iter().filter(|piece| piece.from == End::Server);
    pieces.flat_map(move |piece| {
        bytes.extend_from_slice(piece.bytes);
        if !is_open && let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            is_open = true;
            bytes.drain(..end + 4);
        }
        if is_open { cut(&mut bytes, piece.packet) } else { Vec::new() }
    })
}

/// Cuts whole frames off the server's bytes, which this packet brought.
fn cut(bytes: &mut Vec<u8>, packet: usize) -> Vec<Frame> {
    let (mut frames, mut start) = (Vec::new(), 0);
    while let Ok(Some((header, at))) = Header::decode(&bytes[start..], Side::Server)
        && let Some(end) =
            usize::try_from(header.length).ok().and_then(|length| length.checked_add(start + at))
        && let Some(frame) = bytes.get(start..end)
    {
        frames.push(Frame { packet, bytes: frame.to_vec() });
        start = end;
    }
    bytes.drain(..start);
    frames
}
