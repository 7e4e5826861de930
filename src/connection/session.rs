//! The session of one client: packets in, commands and replies out.
//!
//! ```text
//!                      hello (if the dialect has it)       join
//!   AwaitingHello ──────────────────────────► Spectating ────────► Playing
//!             other dialects start here ──────────┘
//! ```
//!
//! When the connection ends, the driver suspends the seat of the client's player or removes the
//! player.
//!
//! The driver calls [`Session::handle`] for each packet and executes the [`SessionOutput`]s. A
//! [`CloseReason`] closes the client. The session issues commands only for the client's own player,
//! whatever player a packet names. The [`PacketHandler`] of the game handles its packets. The
//! driver decides whether to accept a client. A rejected client ([`Session::reject`]) receives
//! no replies, and its packets are ignored.

use std::time::Duration;

use tickwire_sim::{EncodedAction, PlayerId, RawCommand};

use crate::game::{
    CloseReason, GameInfo, JoinRequest, NO_LANE, PacketEffect, PacketHandler, SavedReader, SharedRateLimit,
    lockstep_packets,
};
use crate::packet::{DecodedPacket, Dialect, Direction, lane_packets};

/// An output of the session. The driver executes the outputs in order.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionOutput {
    /// The client sent `hello`. The driver must send the `welcome`, because only the driver knows
    /// its content.
    Welcome {
        /// Whether the client requested lockstep.
        lockstep: bool,
    },
    /// The reply to a ping with this nonce.
    Pong(u32),
    /// The client requests a player. The driver assigns one, calls [`Session::set_player`], and
    /// queues the join. The second field is the last tick that a resuming client received.
    Join(JoinRequest, Option<u32>),
    /// A command for the world, its target tick if the packet names one, and its rate limit, which
    /// all clients of an address share.
    Command(RawCommand, Option<u32>, Option<&'static SharedRateLimit>),
    /// The player to spectate; `None` is the leader.
    Spectate(Option<PlayerId>),
    /// The client requests a lane, with the offer of a data channel if any.
    LaneRequest(Option<String>),
    /// A lockstep client requests a snapshot.
    SnapshotRequest,
    /// The checksum of a lockstep client's world after this number of ticks.
    Checksum(u32, u64),
    /// The fields that differ in a lockstep client's world after this number of ticks.
    DesyncDetails(u32, Vec<ReportedField>),
    /// The packet was dropped: the rule for the metrics, and the detail for the client, if any.
    Error(&'static str, Option<&'static str>),
    /// The command with this sequence number was rejected: the rule for the metrics, and the detail
    /// for the client, if any.
    CommandRejected(u64, &'static str, Option<&'static str>),
}

/// A field that differs between the server and a lockstep client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedField {
    /// The name of the entity.
    pub entity: String,
    /// The path of the field in the entity.
    pub field: String,
    /// The value in the server's snapshot; `None` if the field is missing there.
    pub server: Option<String>,
    /// The value in the client's world; `None` if the field is missing there.
    pub own: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SessionState {
    AwaitingHello,
    Spectating,
    Playing(PlayerId),
    Rejected,
}

/// The session of one client.
#[derive(Debug)]
pub struct Session {
    state: SessionState,
    /// Whether the client uses lockstep.
    lockstep: bool,
    /// Highest sequence number of the current player's commands: counted here, or sent by the
    /// client and checked. Clients send 32 bits; the field is as wide as a command's sequence
    /// number.
    sequence: u64,
    /// Whether the client has requested a lane, so that a command may arrive twice.
    has_lane: bool,
    packet_handler: Box<dyn PacketHandler>,
    effects: Vec<PacketEffect>,
}

/// The protocol version in `hello`.
pub const NATIVE_VERSION: u16 = 1;

/// Whether clients of the dialect must send `hello` first.
pub fn has_hello(dialect: &Dialect) -> bool {
    dialect.row(Direction::ToServer, "hello").is_some()
}

impl Session {
    /// A new session of a game. If the dialect has `hello`, the client must send it first.
    /// Otherwise it may join at once.
    pub fn new(info: &GameInfo, dialect: &Dialect) -> Session {
        let state = if has_hello(dialect) { SessionState::AwaitingHello } else { SessionState::Spectating };
        Session {
            state,
            lockstep: false,
            sequence: 0,
            has_lane: false,
            packet_handler: (info.new_packet_handler)(dialect),
            effects: Vec::new(),
        }
    }

    /// Whether the client has not sent `hello` yet.
    pub fn awaits_hello(&self) -> bool {
        self.state == SessionState::AwaitingHello
    }

    /// Whether the client has passed `hello` (if the dialect has it) and was not rejected.
    pub fn is_welcomed(&self) -> bool {
        matches!(self.state, SessionState::Spectating | SessionState::Playing(_))
    }

    /// Whether the client was rejected.
    pub fn is_rejected(&self) -> bool {
        self.state == SessionState::Rejected
    }

    /// Rejects the client. All further packets are ignored.
    pub fn reject(&mut self) {
        self.state = SessionState::Rejected;
    }

    /// The packet handler of the game.
    pub fn packet_handler(&self) -> &dyn PacketHandler {
        &*self.packet_handler
    }

    /// The sequence number of the last command.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Whether a command with this sequence number is the next one of the client's player.
    pub fn is_next_command(&self, sequence: u32) -> bool {
        self.player().is_some() && u64::from(sequence) == self.sequence + 1
    }

    /// Counts a command, also one that was rejected: a client with a lane need not repeat it.
    pub fn count_command(&mut self, sequence: u32) {
        if self.player().is_some() {
            self.sequence = self.sequence.max(sequence.into());
        }
    }

    /// Whether a packet is a command whose sequence number is not greater than the last one.
    fn is_known_command(&self, packet: &DecodedPacket<'_>) -> bool {
        let sequence = packet.integer::<u32>("sequence");
        self.player().is_some() && sequence.is_some_and(|sequence| u64::from(sequence) <= self.sequence)
    }

    fn player(&self) -> Option<PlayerId> {
        match self.state {
            SessionState::Playing(player) => Some(player),
            SessionState::AwaitingHello | SessionState::Spectating | SessionState::Rejected => None,
        }
    }

    /// Sets the client's new player and restarts the sequence numbers.
    pub fn set_player(&mut self, player: PlayerId) {
        self.state = SessionState::Playing(player);
        self.sequence = 0;
        self.packet_handler.joined();
    }

    /// Handles one packet and appends the results to `outputs`.
    ///
    /// # Errors
    /// The close reason, if the packet breaks a rule that closes the client.
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
        if self.has_lane && self.is_known_command(packet) {
            return Ok(());
        }
        match packet.row.name.as_str() {
            "hello" => outputs.push(SessionOutput::Error("hello_again", None)),
            "ping" => outputs.push(SessionOutput::Pong(packet.integer("nonce").unwrap_or(0))),
            lane_packets::REQUEST if self.lockstep => {
                outputs.push(SessionOutput::Error(NO_LANE, Some("lockstep has no lane for datagrams")));
            }
            lane_packets::REQUEST => {
                self.has_lane = true;
                outputs.push(SessionOutput::LaneRequest(packet.text("offer")));
            }
            "spectate" => outputs.push(SessionOutput::Spectate(packet.integer("player").map(PlayerId))),
            name if self.packet_handler.is_join_packet(name) => self.handle_join(packet, outputs),
            name if self.lockstep && self.handle_lockstep_packet(name, packet, outputs) => {}
            // From a client without lockstep.
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
                let mut effects = std::mem::take(&mut self.effects);
                // Most packets have one effect, and growth from zero would allocate four.
                effects.reserve_exact(1);
                self.packet_handler.handle_packet(packet, now, slack, &mut effects);
                effects.drain(..).for_each(|effect| self.push_effect(sequence, tick, effect, outputs));
                self.effects = effects;
                // The number of a rejected command is not given to a command without one.
                sequence.into_iter().for_each(|sequence| self.count_command(sequence));
            }
        }
        Ok(())
    }

    /// Handles a lockstep packet. Returns whether `name` is a lockstep packet.
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
        let profile = self.packet_handler.join_request(packet);
        match self.player() {
            None => outputs.push(SessionOutput::Join(profile, packet.integer("resume_tick"))),
            Some(_) => {
                let effect = self.packet_handler.rejoin(&profile);
                self.push_effect(None, None, effect, outputs);
            }
        }
    }

    fn push_effect(
        &mut self,
        sequence: Option<u32>,
        tick: Option<u32>,
        effect: PacketEffect,
        outputs: &mut Vec<SessionOutput>,
    ) {
        match effect {
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

    /// Issues a command of the client's own player. Packets without a sequence number get the next
    /// one.
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

/// Parses a checksum: exactly 16 hexadecimal digits.
fn parse_checksum(text: &str) -> Option<u64> {
    let is_hex = text.len() == 16 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    if is_hex { u64::from_str_radix(text, 16).ok() } else { None }
}

/// The fields in a packet `desync_details`.
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

/// Flag in the state byte of a saved session: the client uses lockstep.
const LOCKSTEP: u8 = 0b1000_0000;
/// Flag in the state byte of a saved session: the client has requested a lane.
const LANE: u8 = 0b0100_0000;
const AWAITING_HELLO: u8 = 0;
const SPECTATING: u8 = 1;
const PLAYING: u8 = 2;
const REJECTED: u8 = 3;

/// A saved session, for a capture that starts in the middle of a connection:
///
/// ```text
///   state u8, two highest bits: lockstep, lane · player u16 · sequence u64 · state of the handler
/// ```
impl Session {
    /// Appends the state on which the handling of the next packet depends. Times are relative to
    /// `now`.
    pub fn save(&self, now: Duration, out: &mut Vec<u8>) {
        let (state, player) = match self.state {
            SessionState::AwaitingHello => (AWAITING_HELLO, 0),
            SessionState::Spectating => (SPECTATING, 0),
            SessionState::Playing(player) => (PLAYING, player.0),
            SessionState::Rejected => (REJECTED, 0),
        };
        let flags = [(self.lockstep, LOCKSTEP), (self.has_lane, LANE)];
        out.push(
            flags.iter().fold(state, |state, (is_set, flag)| if *is_set { state | flag } else { state }),
        );
        out.extend(player.to_le_bytes());
        out.extend(self.sequence.to_le_bytes());
        self.packet_handler.save(now, out);
    }

    /// Reads the part of a saved session that does not depend on the game: whether `hello` is
    /// missing, and the sequence number of the last command.
    pub fn peek_saved(saved: &[u8]) -> Option<(bool, u64)> {
        let mut saved = SavedReader::new(saved, Duration::ZERO);
        let (state, _) = (saved.u8()?, saved.array::<2>()?);
        Some((state & !(LOCKSTEP | LANE) == AWAITING_HELLO, saved.u64()?))
    }

    /// Restores what [`Session::save`] wrote into a new session; `None` if the bytes are invalid.
    pub fn restore(mut self, saved: &mut SavedReader<'_>) -> Option<Session> {
        let (state, player) = (saved.u8()?, PlayerId(u16::from_le_bytes(saved.array()?)));
        (self.lockstep, self.has_lane) = (state & LOCKSTEP != 0, state & LANE != 0);
        self.state = match state & !(LOCKSTEP | LANE) {
            AWAITING_HELLO => SessionState::AwaitingHello,
            SPECTATING => SessionState::Spectating,
            PLAYING => SessionState::Playing(player),
            REJECTED => SessionState::Rejected,
            _ => return None,
        };
        self.sequence = saved.u64()?;
        self.packet_handler.restore(saved)?;
        Some(self)
    }
}
