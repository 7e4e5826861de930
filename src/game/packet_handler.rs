//! What the packets of one client mean: the part of a session that belongs to the game.
//!
//! The session itself (hello, sequences, who plays) is the same for all games. It passes every
//! packet that it does not handle itself to [`PacketHandler::packet`], which answers with [`PacketEffect`]s.

use std::fmt::Debug;
use std::time::Duration;

use rmpv::Value;
use tickwire_sim::EncodedAction;

use crate::packet::DecodedPacket;

/// A body that a client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinRequest {
    /// The name, as the game has cleaned it.
    pub name: String,
    /// What else the game knows of it.
    pub game_data: EncodedAction,
}

/// An action that reaches other players, and which the clients of one address therefore share a
/// budget for: a token every `every`, at most `burst`.
#[derive(Debug, PartialEq, Eq)]
pub struct SharedRateLimit {
    /// Which budget of the game it is: below [`limits::GAME_RATE_LIMITS`](crate::limits::GAME_RATE_LIMITS).
    pub slot: usize,
    /// The rule's name in answers, metrics and the log.
    pub rule: &'static str,
    /// The problem and its remedy, for the `error` packet.
    pub detail: &'static str,
    /// Time between two tokens.
    pub every: Duration,
    /// Tokens in a full budget.
    pub burst: u32,
}

/// What a packet asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum PacketEffect {
    /// An action of the client's own player.
    Command(EncodedAction, Option<&'static SharedRateLimit>),
    /// The packet has no effect: a rule's name for the metrics, and what the client is told, if
    /// anything.
    Error(&'static str, Option<&'static str>),
}

/// A packet with its values by name, for those that are seldom sent. An argument without a value is
/// nil, and a value without an argument is left out.
pub type NamedPacket<'a> = (&'static str, Vec<(&'static str, Value)>);

/// The part of one client's session that belongs to the game.
pub trait PacketHandler: Debug + Send {
    /// The packets with which the server begins, in a dialect in which clients do not say hello.
    /// `connection` is a name for the connection, unique among all runs of all servers.
    fn begin(&self, connection: &str) -> Vec<NamedPacket<'static>> {
        let _ = connection;
        Vec::new()
    }

    /// Whether a packet of this name asks for a body.
    fn is_join_packet(&self, name: &str) -> bool {
        name == "enter"
    }

    /// The body that a packet asks for: `hello`, or one that [`PacketHandler::is_enter`].
    fn join_request(&self, packet: &DecodedPacket<'_>) -> JoinRequest;

    /// What it means that a client that has a body asks for one: by default, nothing.
    fn rejoin(&mut self, profile: &JoinRequest) -> PacketEffect {
        let _ = profile;
        PacketEffect::Error("already_playing", Some("you are in the game already"))
    }

    /// The client has a new body.
    fn joined(&mut self) {}

    /// Appends the effects of any other packet to `asks`. The packet may have waited for up to `slack`
    /// before `now`, because the server paused.
    fn packet(
        &mut self,
        packet: &DecodedPacket<'_>,
        now: Duration,
        slack: Duration,
        asks: &mut Vec<PacketEffect>,
    );

    /// Appends everything that decides how the next packet is handled, `now`.
    fn save(&self, now: Duration, out: &mut Vec<u8>) {
        let _ = (now, out);
    }

    /// Reads what [`PacketHandler::save`] wrote; `None` if the bytes are wrong.
    fn restore(&mut self, saved: &mut SavedReader<'_>) -> Option<()> {
        let _ = saved;
        Some(())
    }
}

/// Stands for a time that never happened.
const NEVER: u64 = u64::MAX;

/// Saved bytes that are read, `now`. Times are ages in nanoseconds, and the largest number means
/// never; all numbers are little-endian.
#[derive(Debug)]
pub struct SavedReader<'a> {
    bytes: &'a [u8],
    now: Duration,
}

impl<'a> SavedReader<'a> {
    /// All of these bytes.
    pub fn new(bytes: &'a [u8], now: Duration) -> SavedReader<'a> {
        SavedReader { bytes, now }
    }

    /// Appends the nanoseconds since `then`, or the mark for never.
    pub fn write_age(out: &mut Vec<u8>, now: Duration, then: Option<Duration>) {
        let ago = then.map(|then| u64::try_from(now.saturating_sub(then).as_nanos()).unwrap_or(NEVER - 1));
        out.extend(ago.unwrap_or(NEVER).to_le_bytes());
    }

    /// Whether all bytes were read.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next number.
    pub fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    /// The next number.
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// The next time, if it happened.
    pub fn age(&mut self) -> Option<Option<Duration>> {
        let ago = self.u64()?;
        Some((ago != NEVER).then(|| self.now.saturating_sub(Duration::from_nanos(ago))))
    }

    /// The next bytes.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(*taken)
    }
}
