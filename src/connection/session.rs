//! One client's session: packets in, commands and answers out.
//!
//! ```text
//!              hello (if the dialect has it)     enter
//!  Greeting ───────────────────────► Watching ────────► Playing      in any state, when the connection ends,
//!     other dialects begin here ─────────┘                           the driver queues a leave
//! ```
//!
//! The driver calls [`Session::handle`] for each packet and carries out the [`SessionOutput`]s; a
//! [`CloseReason`] closes the client. The session issues commands only for the client's own
//! player, whatever player a packet claims to come from. What the packets of a game mean is up to
//! its [`PacketHandler`]. Whether the client may be greeted at all is for the driver to say: a client that it
//! turns away ([`Session::turn_away`]) is told nothing, and everything that it sends is ignored.

use std::time::Duration;

use tickwire_sim::{EncodedAction, PlayerId, RawCommand};

use crate::game::{
    CloseReason, GameInfo, JoinRequest, PacketEffect, PacketHandler, SavedReader, SharedRateLimit,
    lockstep_packets,
};
use crate::packet::{DecodedPacket, Dialect, Direction};

/// The result of a message; the driver carries the outputs out in order.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionOutput {
    /// The client said hello: the driver must send the welcome, whose content only the driver
    /// knows; and whether the client asks to follow in lockstep.
    Welcome {
        /// Whether in lockstep.
        lockstep: bool,
    },
    /// The answer to a ping with this nonce.
    Pong(u32),
    /// The client asks for a body. The driver takes a number, calls [`Session::joined`], and queues
    /// the join. A client that had a body says after which tick it was told nothing more.
    Join(JoinRequest, Option<u32>),
    /// A command for the world, meant for a tick if the packet names one, and the budget that the
    /// clients of an address share for it.
    Command(RawCommand, Option<u32>, Option<&'static SharedRateLimit>),
    /// The player to watch without a body; `None` is the leader.
    Spectate(Option<PlayerId>),
    /// The client in lockstep asks for a snapshot.
    SnapshotRequest,
    /// The checksum of its world after so many ticks.
    Checksum(u32, u64),
    /// What differed in its world after so many ticks.
    DesyncDetails(u32, Vec<ReportedField>),
    /// The packet had no effect; a rule's name for the metrics, and what the client is told, if
    /// anything.
    Error(&'static str, Option<&'static str>),
    /// The same for a packet of a player with a sequence, which is first: a command that is answered.
    CommandRejected(u64, &'static str, Option<&'static str>),
}

/// A field that a client in lockstep has found different.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedField {
    /// The entity.
    pub entity: String,
    /// The path of the field in it.
    pub field: String,
    /// The value in the snapshot of the server; `None` if there is none.
    pub server: Option<String>,
    /// The client's own value.
    pub own: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SessionState {
    AwaitingHello,
    Spectating,
    Playing(PlayerId),
    Rejected,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Session {
    state: SessionState,
    /// Whether the client follows in lockstep.
    lockstep: bool,
    /// The highest sequence of the present body: counted here, or claimed by the client and
    /// checked. Clients send 32 bits; this field has the width of a command's sequence.
    sequence: u64,
    verbs: Box<dyn PacketHandler>,
    effects: Vec<PacketEffect>,
}

/// The version of the protocol that clients name in their hello.
pub const NATIVE_VERSION: u16 = 1;

/// Whether clients of a dialect speak first, with `hello`.
pub fn has_hello(dialect: &Dialect) -> bool {
    dialect.row(Direction::ToServer, "hello").is_some()
}

impl Session {
    /// A new session of a game. A client whose dialect has a hello must send it first; another may
    /// enter at once.
    pub fn new(about: &GameInfo, dialect: &Dialect) -> Session {
        let state = if has_hello(dialect) { SessionState::AwaitingHello } else { SessionState::Spectating };
        Session { state, lockstep: false, sequence: 0, verbs: (about.verbs)(dialect), effects: Vec::new() }
    }

    /// Whether the client still has to send `hello`.
    pub fn awaits_hello(&self) -> bool {
        self.state == SessionState::AwaitingHello
    }

    /// Whether the client has been greeted: before that it is told nothing.
    pub fn is_welcomed(&self) -> bool {
        matches!(self.state, SessionState::Spectating | SessionState::Playing(_))
    }

    /// Whether the client was turned away.
    pub fn is_rejected(&self) -> bool {
        self.state == SessionState::Rejected
    }

    /// The client may neither play nor watch: nothing that it sends has an effect any more.
    pub fn reject(&mut self) {
        self.state = SessionState::Rejected;
    }

    /// The game's part of the session.
    pub fn verbs(&self) -> &dyn PacketHandler {
        &*self.verbs
    }

    /// The sequence of the session's last command.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    fn player(&self) -> Option<PlayerId> {
        match self.state {
            SessionState::Playing(player) => Some(player),
            SessionState::AwaitingHello | SessionState::Spectating | SessionState::Rejected => None,
        }
    }

    /// Sets the number of the client's new body.
    pub fn set_player(&mut self, player: PlayerId) {
        self.state = SessionState::Playing(player);
        self.sequence = 0;
        self.verbs.joined();
    }

    /// Handles one packet and appends the results to `outputs`.
    ///
    /// # Errors
    /// The rule for which the client is closed.
    pub fn handle(
        &mut self,
        packet: &DecodedPacket<'_>,
        now: Duration,
        slack: Duration,
        outputs: &mut Vec<SessionOutput>,
    ) -> Result<(), CloseReason> {
        match self.state {
            SessionState::AwaitingHello => return self.handle_hello(packet, outputs),
            SessionState::Rejected => return Ok(()),
            SessionState::Spectating | SessionState::Playing(_) => {}
        }
        match packet.row.name.as_str() {
            "hello" => outputs.push(SessionOutput::Error("hello_again", None)),
            "ping" => outputs.push(SessionOutput::Pong(packet.integer("nonce").unwrap_or(0))),
            "follow" => outputs.push(SessionOutput::Spectate(packet.integer("player").map(PlayerId))),
            name if self.verbs.is_join_packet(name) => self.handle_join(packet, outputs),
            name if self.lockstep && self.handle_lockstep_packet(name, packet, outputs) => {}
            // Of a client that follows as a stream.
            lockstep_packets::STATE_SYNC_REQUEST
            | lockstep_packets::CHECKSUM
            | lockstep_packets::DESYNC_DETAILS => {
                outputs.push(SessionOutput::Error(
                    "not_in_lockstep",
                    Some("ask for lockstep with mode 2 or 3 in hello"),
                ));
            }
            _ => {
                let (sequence, tick) = (packet.integer("sequence"), packet.integer("tick"));
                let mut asks = std::mem::take(&mut self.effects);
                self.verbs.packet(packet, now, slack, &mut asks);
                asks.drain(..).for_each(|ask| self.push_effect(sequence, tick, ask, outputs));
                self.effects = asks;
            }
        }
        Ok(())
    }

    /// Whether a packet is one of lockstep, and what it asks for.
    fn handle_lockstep_packet(
        &self,
        name: &str,
        packet: &DecodedPacket<'_>,
        outputs: &mut Vec<SessionOutput>,
    ) -> bool {
        let tick = packet.integer::<u32>("tick").unwrap_or_default();
        match name {
            lockstep_packets::STATE_SYNC_REQUEST => outputs.push(SessionOutput::SnapshotRequest),
            lockstep_packets::CHECKSUM => {
                let text = packet.text("checksum").unwrap_or_default();
                let refused =
                    SessionOutput::Error("bad_checksum", Some("a checksum is 16 hexadecimal digits"));
                outputs.push(
                    parse_checksum(&text).map_or(refused, |checksum| SessionOutput::Checksum(tick, checksum)),
                );
            }
            lockstep_packets::DESYNC_DETAILS => {
                outputs.push(SessionOutput::DesyncDetails(tick, parse_desync_details(packet)))
            }
            _ => return false,
        }
        true
    }

    fn handle_hello(
        &mut self,
        packet: &DecodedPacket<'_>,
        outputs: &mut Vec<SessionOutput>,
    ) -> Result<(), CloseReason> {
        let version = packet.integer::<u16>("version").filter(|_| packet.row.name == "hello");
        let (Some(version), Some(mode)) = (version, packet.integer::<u8>("mode")) else {
            return Err(CloseReason::HelloFirst);
        };
        if version != NATIVE_VERSION {
            return Err(CloseReason::HelloVersion);
        }
        self.state = SessionState::Spectating;
        self.lockstep = mode & lockstep_packets::MODE_LOCKSTEP != 0;
        outputs.push(SessionOutput::Welcome { lockstep: self.lockstep });
        if mode & 1 != 0 {
            self.handle_join(packet, outputs);
        }
        Ok(())
    }

    fn handle_join(&mut self, packet: &DecodedPacket<'_>, outputs: &mut Vec<SessionOutput>) {
        let profile = self.verbs.join_request(packet);
        match self.player() {
            None => outputs.push(SessionOutput::Join(profile, packet.integer("since"))),
            Some(_) => {
                let ask = self.verbs.rejoin(&profile);
                self.push_effect(None, None, ask, outputs);
            }
        }
    }

    fn push_effect(
        &mut self,
        sequence: Option<u32>,
        tick: Option<u32>,
        ask: PacketEffect,
        outputs: &mut Vec<SessionOutput>,
    ) {
        match ask {
            PacketEffect::Command(action, shared) => self.command(sequence, tick, (action, shared), outputs),
            PacketEffect::Error(rule, detail) => outputs.push(self.refused(sequence, rule, detail)),
        }
    }

    fn refused(
        &self,
        sequence: Option<u32>,
        rule: &'static str,
        detail: Option<&'static str>,
    ) -> SessionOutput {
        match sequence.filter(|_| self.player().is_some()) {
            Some(sequence) => SessionOutput::CommandRejected(sequence.into(), rule, detail),
            None => SessionOutput::Error(rule, detail),
        }
    }

    /// A command of the client's own body. For packets without sequences, the session counts them.
    fn command(
        &mut self,
        sequence: Option<u32>,
        tick: Option<u32>,
        (action, shared): (EncodedAction, Option<&'static SharedRateLimit>),
        outputs: &mut Vec<SessionOutput>,
    ) {
        let Some(player) = self.player() else {
            return outputs.push(SessionOutput::Error("not_playing", None));
        };
        let next = sequence.map_or(self.sequence.saturating_add(1), u64::from);
        if next <= self.sequence {
            let detail = "a sequence number must be greater than the previous one";
            return outputs.push(self.refused(sequence, "repeated", Some(detail)));
        }
        let sequence = next;
        self.sequence = sequence;
        outputs.push(SessionOutput::Command(RawCommand { player, sequence, action }, tick, shared));
    }
}

/// A checksum as it is written: 16 hexadecimal digits.
fn parse_checksum(text: &str) -> Option<u64> {
    let is_hex = text.len() == 16 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    if is_hex { u64::from_str_radix(text, 16).ok() } else { None }
}

/// The fields of a packet `desync_details`.
fn parse_desync_details(packet: &DecodedPacket<'_>) -> Vec<ReportedField> {
    let Some(values) = packet.get("fields").and_then(|fields| fields.as_array()) else { return Vec::new() };
    let text = |value: &rmpv::Value| value.as_str().map(str::to_owned);
    let group = |values: &[rmpv::Value]| {
        let [entity, field, server, own] = values else { return None };
        Some(ReportedField {
            entity: text(entity)?,
            field: text(field)?,
            server: text(server),
            own: text(own),
        })
    };
    values.chunks(4).filter_map(group).collect()
}

/// In a saved state: the client follows in lockstep.
const LOCKSTEP: u8 = 0b1000_0000;
const GREETING: u8 = 0;
const WATCHING: u8 = 1;
const PLAYING: u8 = 2;
const REJECTED: u8 = 3;

/// A session's state as bytes, for a capture that begins in the middle of a connection:
///
/// ```text
///   state u8, with the highest bit in lockstep · player u16 · sequence u64 · what the game's verbs remember
/// ```
impl Session {
    /// Appends everything that decides how the session handles the next packet, `now`.
    pub fn save(&self, now: Duration, out: &mut Vec<u8>) {
        let (state, player) = match self.state {
            SessionState::AwaitingHello => (GREETING, 0),
            SessionState::Spectating => (WATCHING, 0),
            SessionState::Playing(player) => (PLAYING, player.0),
            SessionState::Rejected => (REJECTED, 0),
        };
        out.push(if self.lockstep { state | LOCKSTEP } else { state });
        out.extend(player.to_le_bytes());
        out.extend(self.sequence.to_le_bytes());
        self.verbs.save(now, out);
    }

    /// What saved bytes say without knowing the game: whether the client still has to say hello, and
    /// the sequence of its last command.
    pub fn peek_saved(saved: &[u8]) -> Option<(bool, u64)> {
        let mut saved = SavedReader::new(saved, Duration::ZERO);
        let (state, _) = (saved.u8()?, saved.array::<2>()?);
        Some((state & !LOCKSTEP == GREETING, saved.u64()?))
    }

    /// Reads what [`Session::save`] wrote, into a new session; `None` if the bytes are wrong.
    pub fn restore(mut self, saved: &mut SavedReader<'_>) -> Option<Session> {
        let (state, player) = (saved.u8()?, PlayerId(u16::from_le_bytes(saved.array()?)));
        self.lockstep = state & LOCKSTEP != 0;
        self.state = match state & !LOCKSTEP {
            GREETING => SessionState::AwaitingHello,
            WATCHING => SessionState::Spectating,
            PLAYING => SessionState::Playing(player),
            REJECTED => SessionState::Rejected,
            _ => return None,
        };
        self.sequence = saved.u64()?;
        self.verbs.restore(saved)?;
        Some(self)
    }
}
