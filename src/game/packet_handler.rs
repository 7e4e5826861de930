//! The part of one client's session that belongs to the game.
//!
//! The session itself (hello, sequence numbers, admission) is the same for all games. It passes
//! every other packet to [`PacketHandler::handle_packet`], which returns [`PacketEffect`]s.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use rmpv::Value;
use tickwire_sim::EncodedAction;

use crate::limits;
use crate::packet::DecodedPacket;

/// A client's request for a player.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JoinRequest {
    /// The name, sanitized by the game.
    pub name: String,
    /// Further data of the game.
    pub game_data: EncodedAction,
    /// The account: the name of the client's token, set by the server. `None` if the server has no
    /// tokens.
    pub account: Option<Arc<str>>,
}

impl JoinRequest {
    /// Creates a request. `game_data` is empty in a game without further data.
    pub fn new(name: impl Into<String>, game_data: EncodedAction) -> JoinRequest {
        JoinRequest { name: name.into(), game_data, account: None }
    }

    /// Returns the request of a client with a token.
    #[must_use]
    pub fn with_account(self, account: Option<Arc<str>>) -> JoinRequest {
        JoinRequest { account, ..self }
    }
}

/// Rate limit for an action that affects other players, shared by the clients of one address
/// prefix. The token bucket gains a token every `every` and holds at most `burst`.
#[derive(Debug, PartialEq, Eq)]
pub struct SharedRateLimit {
    /// Index of the token bucket, below [`SharedRateLimit::SLOTS`].
    pub slot: usize,
    /// Name of the rule in acks, metrics and the log.
    pub rule: &'static str,
    /// The problem and its remedy, for the `error` packet.
    pub detail: &'static str,
    /// Time between two tokens.
    pub every: Duration,
    /// Capacity of the token bucket.
    pub burst: u32,
}

impl SharedRateLimit {
    /// Number of token buckets of an address prefix. Higher slots share the last one.
    pub const SLOTS: usize = limits::GAME_RATE_LIMITS;
}

/// The effect of a packet.
#[derive(Debug, Clone, PartialEq)]
pub enum PacketEffect {
    /// An action of the client's player, and the shared rate limit of the action, if any.
    Command(EncodedAction, Option<&'static SharedRateLimit>),
    /// The packet is dropped. The values are the name of the rule for the metrics, and the text of
    /// the `error` packet, if one is sent.
    Error(&'static str, Option<&'static str>),
}

/// A rarely sent packet, with its values by name. Arguments without a value are nil; values without
/// an argument are dropped.
pub type NamedPacket<'a> = (&'static str, Vec<(&'static str, Value)>);

/// Handles the packets of one client that belong to the game.
pub trait PacketHandler: Debug + Send {
    /// Returns the first packets from the server, in dialects without `hello`. `connection`
    /// identifies the connection uniquely among all runs of all servers.
    fn first_packets(&self, connection: &str) -> Vec<NamedPacket<'static>> {
        let _ = connection;
        Vec::new()
    }

    /// Returns whether a packet of this name requests a player.
    fn is_join_packet(&self, name: &str) -> bool {
        name == "join"
    }

    /// Reads the request for a player from `hello` or from a packet accepted by
    /// [`PacketHandler::is_join_packet`].
    fn join_request(&self, packet: &DecodedPacket<'_>) -> JoinRequest;

    /// Handles a repeated request for a player. The default implementation drops the request.
    fn rejoin(&mut self, profile: &JoinRequest) -> PacketEffect {
        let _ = profile;
        PacketEffect::Error("already_playing", Some("you are in the game already"))
    }

    /// Called when the client has received a new player.
    fn joined(&mut self) {}

    /// Appends the effects of a packet that is no join packet. The packet may have arrived up to
    /// `slack` before `now`, because the server may have paused.
    fn handle_packet(
        &mut self,
        packet: &DecodedPacket<'_>,
        now: Duration,
        slack: Duration,
        effects: &mut Vec<PacketEffect>,
    );

    /// Appends all state that affects the handling of later packets. Times are relative to `now`.
    fn save(&self, now: Duration, out: &mut Vec<u8>) {
        let _ = (now, out);
    }

    /// Reads the output of [`PacketHandler::save`]. Returns `None` if the bytes are malformed.
    fn restore(&mut self, saved: &mut SavedReader<'_>) -> Option<()> {
        let _ = saved;
        Some(())
    }
}

/// Encodes a time that never occurred.
const NEVER: u64 = u64::MAX;

/// Reads saved state. Numbers are little-endian. Times are ages in nanoseconds before `now`; the
/// maximum means never.
#[derive(Debug)]
pub struct SavedReader<'a> {
    bytes: &'a [u8],
    now: Duration,
}

impl<'a> SavedReader<'a> {
    /// Creates a reader of these bytes.
    pub fn new(bytes: &'a [u8], now: Duration) -> SavedReader<'a> {
        SavedReader { bytes, now }
    }

    /// Appends the age of `then` in nanoseconds, or the maximum for `None`.
    pub fn write_age(out: &mut Vec<u8>, now: Duration, then: Option<Duration>) {
        let ago = then.map(|then| u64::try_from(now.saturating_sub(then).as_nanos()).unwrap_or(NEVER - 1));
        out.extend(ago.unwrap_or(NEVER).to_le_bytes());
    }

    /// Returns whether all bytes were read.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Reads a `u8`.
    pub fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    /// Reads a `u64`.
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads a time. The inner `None` means never.
    pub fn age(&mut self) -> Option<Option<Duration>> {
        let ago = self.u64()?;
        Some((ago != NEVER).then(|| self.now.saturating_sub(Duration::from_nanos(ago))))
    }

    /// Reads `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(*taken)
    }
}
