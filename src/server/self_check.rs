//! The self-check: compares the updates that the server sends to a room's clients with a second
//! world, which runs in lockstep. Without I/O and without a clock.
//!
//! ```text
//!   client's queued frames ─► messages ─► packets ─► agent's world model ───┐
//!                                                                           ├─► equal? ─► Finding
//!   room's journal ─► frames ─► packets ─► second world ─► published state ─┘
//!                                               └─► checksum, sent to the room
//! ```
//!
//! At each update that has a tick, the game's [`BotHooks::compare_view`] compares a client's world
//! model with the second world. The model contains everything that the server has sent to the
//! client since its connection began, about the world and the client's player. The room's own world
//! is not read here, because it may be the faulty one.
//!
//! [`BotHooks::compare_view`]: crate::game::GameInfo::compare_view

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tickwire_sim::PlayerId;
use tickwire_sim::state_tree::FieldDiff;

use crate::client::lockstep_follower::{FollowEvent, LockstepFollower};
use crate::connection::WireFormat;
use crate::game::bots::{Agent, AgentOutput, BotBehavior, BotSpec};
use crate::game::lockstep_packets::{CHECKSUM, DESYNC_DETAILS, STATE_SYNC, STATE_SYNC_REQUEST, has_lockstep};
use crate::game::{DynTick, Messages};
use crate::limits;
use crate::packet::{DecodedPacket, Direction, Lane, Value};
use crate::server::clients::lockstep_feed::LockstepFeed;
use crate::server::room::RoomHandle;
use crate::util::address_prefix::AddressPrefix;
use crate::ws::Side;
use crate::ws::message::{Message, MessageReader};

/// Connection id of the self-check in the room's lockstep journal. No client has this id.
const SELF_CONNECTION: u64 = u64::MAX;
/// Name of the self-check in desync reports.
const SELF_NAME: &str = "self-check";

/// A fault: a client was sent wrong data, or the room's journal is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The client with the wrong data; `None` for a fault of the journal.
    pub client: Option<u64>,
    /// The client's player, if any.
    pub player: Option<PlayerId>,
    /// Ticks completed.
    pub tick: u32,
    /// Name of the rule: `stream`, `frame_order`, `desync`, `snapshot`, or the rule of an invalid
    /// message.
    pub rule: &'static str,
    /// Description of the difference.
    pub detail: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.client, self.player) {
            (None, _) => write!(out, "lockstep")?,
            (Some(client), None) => write!(out, "client {client}")?,
            (Some(client), Some(player)) => write!(out, "client {client}, player {}", player.0)?,
        }
        write!(out, ", tick {}: {}: {}", self.tick, self.rule, self.detail)
    }
}

/// Counts since the self-check began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SelfCheckCounts {
    /// Updates that were compared with the second world.
    pub compared: u64,
    /// Checksums of the second world sent to the room.
    pub checksums: u64,
    /// Clients that were not checked because [`limits::SELF_CHECK_CLIENTS`] was reached.
    pub skipped: u64,
}

/// Decodes the updates sent to one client.
struct StreamFollower {
    format: WireFormat,
    reader: MessageReader,
    agent: Box<dyn Agent>,
}

/// The self-check of one room: see the [module](self).
pub struct SelfCheck {
    room: Arc<RoomHandle>,
    format: WireFormat,
    relay: LockstepFeed,
    reader: MessageReader,
    follower: LockstepFollower,
    /// Published states of the second world, newest last.
    ticks: VecDeque<Arc<dyn DynTick>>,
    streams: BTreeMap<u64, StreamFollower>,
    /// Clients in lockstep. They receive the same journal as the self-check.
    in_lockstep: BTreeSet<u64>,
    /// The latest tick after which the second world differed.
    differed_at: Option<u32>,
    findings: Vec<Finding>,
    counts: SelfCheckCounts,
    messages: Messages,
}

impl fmt::Debug for SelfCheck {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("SelfCheck").field("room", &self.room.options.name).finish_non_exhaustive()
    }
}

impl SelfCheck {
    /// Creates a self-check of this room in this wire format; `None` if the dialect has no
    /// lockstep. It starts with the room's next snapshot.
    pub fn new(room: &Arc<RoomHandle>, format: WireFormat) -> Option<SelfCheck> {
        if !has_lockstep(&format.dialect) {
            return None;
        }
        room.lockstep.add_follower(SELF_CONNECTION, AddressPrefix::from_ip(Ipv4Addr::UNSPECIFIED.into()));
        Some(SelfCheck {
            relay: LockstepFeed::new(&format),
            follower: LockstepFollower::new(room.game, Arc::clone(&format.dialect)),
            reader: MessageReader::new(Side::Server, limits::SELF_CHECK_MESSAGE_LIMITS),
            room: Arc::clone(room),
            format,
            ticks: VecDeque::new(),
            streams: BTreeMap::new(),
            in_lockstep: BTreeSet::new(),
            differed_at: None,
            findings: Vec::new(),
            counts: SelfCheckCounts::default(),
            messages: Messages::default(),
        })
    }

    /// Returns the room.
    pub fn room(&self) -> &Arc<RoomHandle> {
        &self.room
    }

    /// Returns the counts since the self-check began.
    pub fn counts(&self) -> SelfCheckCounts {
        self.counts
    }

    /// Returns the number of checked clients.
    pub fn len(&self) -> usize {
        self.streams.len()
    }

    /// Whether the room has neither a checked client nor a client in lockstep.
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty() && self.in_lockstep.is_empty()
    }

    /// Returns the findings since the last call.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }

    /// Adds a new client to which nothing has been sent yet. The client is checked if its dialect
    /// has lockstep and fewer than [`limits::SELF_CHECK_CLIENTS`] clients are checked.
    pub fn on_open(&mut self, client: u64, format: &WireFormat) {
        if !has_lockstep(&format.dialect) {
            return;
        }
        if self.streams.len() >= limits::SELF_CHECK_CLIENTS {
            self.counts.skipped += 1;
            return;
        }
        let part =
            BotSpec { behavior: BotBehavior::Still, ..BotSpec::new(Arc::clone(&format.dialect), client) };
        let Some(agent) = self.room.game.agent(&part) else { return };
        let mut reader = MessageReader::new(Side::Server, limits::SERVER_MESSAGE_LIMITS);
        if let Some(compression) = &format.compression {
            reader.accept_compressed(compression.parameters.server);
        }
        self.streams.insert(client, StreamFollower { format: format.clone(), reader, agent });
    }

    /// Stops checking a client because some of its bytes were lost.
    pub fn on_bytes_lost(&mut self, client: u64) {
        self.streams.remove(&client);
    }

    /// Removes a client after the end of its connection.
    pub fn on_close(&mut self, client: u64) {
        self.streams.remove(&client);
        self.in_lockstep.remove(&client);
    }

    /// Processes frames queued for a client with this player. After an update, compares the
    /// client's world model with the second world. A client with a fault is no longer checked.
    pub fn on_frames_queued(&mut self, client: u64, player: Option<PlayerId>, frames: &[u8]) {
        let Some(mut follower) = self.streams.remove(&client) else { return };
        let found = match follower.receive(frames) {
            Ok(StreamEvent::Nothing) => Ok(()),
            Ok(StreamEvent::State(tick)) => {
                self.compare(&*follower.agent, player, tick).map_err(|detail| (tick, "stream", detail))
            }
            Ok(StreamEvent::Lockstep) => {
                self.in_lockstep.insert(client);
                return;
            }
            Err((rule, detail)) => Err((self.room.tick(), rule, detail)),
        };
        match found {
            Ok(()) => _ = self.streams.insert(client, follower),
            Err((tick, rule, detail)) => {
                self.findings.push(Finding { client: Some(client), player, tick, rule, detail });
            }
        }
    }

    fn compare(&mut self, agent: &dyn Agent, player: Option<PlayerId>, tick: u32) -> Result<(), String> {
        self.advance();
        let Some(published) = self.ticks.iter().rfind(|published| published.tick() == tick) else {
            return Ok(());
        };
        let is_compared =
            self.room.game.compare_view(agent, player, &**published).map_err(|mismatch| mismatch.0)?;
        self.counts.compared += u64::from(is_compared);
        Ok(())
    }

    /// Reads the room's journal as a lockstep client and advances the second world.
    pub fn advance(&mut self) {
        let frames = self.take_journal_frames();
        self.apply_journal(&frames);
    }

    /// Returns the entries of the room's journal since the last call, as whole frames.
    pub fn take_journal_frames(&mut self) -> Vec<u8> {
        let mut frames = Vec::new();
        loop {
            let before = frames.len();
            self.relay.write_without_client((&self.room, SELF_CONNECTION), &self.format, &mut frames);
            if frames.len() == before {
                return frames;
            }
        }
    }

    /// Applies frames of the journal. If a frame violates RFC 6455, drops the rest and restarts the
    /// second world from a new snapshot.
    pub fn apply_journal(&mut self, frames: &[u8]) {
        let fresh = || MessageReader::new(Side::Server, limits::SELF_CHECK_MESSAGE_LIMITS);
        let mut reader = std::mem::replace(&mut self.reader, fresh());
        reader.receive(frames);
        let format = self.format.clone();
        loop {
            match reader.next_message() {
                Ok(None) => break,
                Ok(Some(message)) => {
                    let result = decoded(&format, &message, |packet| self.step(packet));
                    self.push_finding(result.and_then(|same| same.unwrap_or(Ok(()))));
                }
                Err(violation) => {
                    self.push_finding(Err((violation.name(), violation.to_string())));
                    self.room.lockstep.request_snapshot(SELF_CONNECTION);
                    return;
                }
            }
        }
        self.reader = reader;
    }

    /// Records a finding if a packet of the journal was wrong.
    fn push_finding(&mut self, found: Result<(), RuleViolation>) {
        let Err((rule, detail)) = found else { return };
        let tick = self.follower.world().map_or(0, |world| world.tick());
        self.findings.push(Finding { client: None, player: None, tick, rule, detail });
    }

    /// Applies a packet of the journal to the second world.
    fn step(&mut self, packet: &DecodedPacket<'_>) -> Result<(), RuleViolation> {
        let before = self.follower.world().map(|world| world.tick());
        let differed = self.follower.counts().desyncs;
        let mut outgoing = Vec::new();
        self.messages.clear();
        let event = self.follower.on_packet(packet, &mut outgoing, &mut self.messages);
        let replies: Vec<FollowerReply> =
            outgoing.iter().filter_map(|message| self.deliver_reply(message)).collect();
        if let Ok(FollowEvent::Stepped(tick)) = event {
            self.store_published(tick);
        }
        if self.follower.counts().desyncs > differed {
            let details = replies.into_iter().find_map(|own| match own {
                FollowerReply::Desync(tick, fields) => Some((tick, fields)),
                FollowerReply::SnapshotRequest => None,
            });
            let (tick, fields) = details.unwrap_or_else(|| (before.unwrap_or_default(), Vec::new()));
            return self.push_desync(tick, &fields);
        }
        match event {
            Err(error) => Err(("snapshot", error.to_string())),
            // The second world has already restarted at a later tick, so its fields could not be
            // compared.
            Ok(FollowEvent::Report(report)) if report.includes(SELF_NAME) => {
                self.push_desync(report.tick, &[])
            }
            Ok(FollowEvent::Handled)
                if replies.iter().any(|own| matches!(own, FollowerReply::SnapshotRequest)) =>
            {
                let next = before.map_or_else(
                    || "no snapshot came".to_owned(),
                    |tick| format!("that of tick {tick} was expected"),
                );
                Err(("frame_order", format!("a command frame came too early: {next}")))
            }
            Ok(_) => Ok(()),
        }
    }

    /// Stores the published state of the second world after this tick.
    fn store_published(&mut self, tick: u32) {
        if self.ticks.len() >= limits::SELF_CHECK_TICKS {
            self.ticks.pop_front();
        }
        let published = self.follower.published().filter(|published| published.tick() == tick);
        self.ticks.extend(published);
    }

    /// Reports that the second world differed from the room's after `tick`, in these fields. A
    /// difference is reported once, although both the second world and the room's report find it.
    fn push_desync(&mut self, tick: u32, fields: &[FieldDiff]) -> Result<(), RuleViolation> {
        if self.differed_at.is_some_and(|last| tick <= last) {
            return Ok(());
        }
        self.differed_at = Some(tick);
        let or_none = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
        let words: Vec<String> = fields
            .iter()
            .map(|FieldDiff { entity, field, ours, theirs }| {
                format!("{entity} {field}: {}, not {}", or_none(ours), or_none(theirs))
            })
            .collect();
        let words = if words.is_empty() { "the checksums differ".to_owned() } else { words.join("; ") };
        Err(("desync", format!("after tick {tick}: {words}")))
    }

    /// Passes a reply of the follower to the room. Returns what the reply means for the self-check.
    fn deliver_reply(&mut self, message: &[u8]) -> Option<FollowerReply> {
        let packet = self.format.dialect.decode(Direction::ToServer, message).ok()?;
        let tick = packet.integer("tick").unwrap_or_default();
        let journal = &self.room.lockstep;
        match packet.row.name.as_str() {
            CHECKSUM => {
                let checksum = packet.text("checksum").and_then(|text| u64::from_str_radix(&text, 16).ok());
                self.counts.checksums += 1;
                journal.checksum(
                    SELF_CONNECTION,
                    || SELF_NAME.to_owned(),
                    tick,
                    checksum.unwrap_or_default(),
                );
                None
            }
            DESYNC_DETAILS => {
                let fields = fields(&packet);
                journal.add_desync_details(SELF_CONNECTION, tick, fields.clone());
                Some(FollowerReply::Desync(tick, fields))
            }
            STATE_SYNC_REQUEST => {
                journal.request_snapshot(SELF_CONNECTION);
                Some(FollowerReply::SnapshotRequest)
            }
            _ => None,
        }
    }
}

/// A reply of the second world's follower.
enum FollowerReply {
    /// A request for a snapshot.
    SnapshotRequest,
    /// The second world differed after this tick, in these fields.
    Desync(u32, Vec<FieldDiff>),
}

impl Drop for SelfCheck {
    fn drop(&mut self) {
        self.room.lockstep.remove_follower(SELF_CONNECTION);
    }
}

/// Name of the broken rule, and a description.
type RuleViolation = (&'static str, String);

/// The result of decoding frames for a client.
enum StreamEvent {
    /// Nothing to compare.
    Nothing,
    /// An update with the state after this tick.
    State(u32),
    /// The client has started lockstep.
    Lockstep,
}

impl StreamFollower {
    fn receive(&mut self, frames: &[u8]) -> Result<StreamEvent, RuleViolation> {
        let StreamFollower { format, reader, agent } = self;
        reader.receive(frames);
        let (mut event, mut out) = (StreamEvent::Nothing, AgentOutput::default());
        while let Some(message) =
            reader.next_message().map_err(|broken| (broken.name(), broken.to_string()))?
        {
            let event_or_violation = decoded(format, &message, |packet| {
                agent.on_packet(packet, Duration::ZERO, &mut out);
                if packet.row.name == STATE_SYNC {
                    return Some(StreamEvent::Lockstep);
                }
                let tick = packet.integer("tick").filter(|_| packet.row.lane == Lane::Latest);
                tick.map(StreamEvent::State)
            })?;
            match event_or_violation.flatten() {
                // A snapshot follows, which may exceed the message limit of a stream.
                Some(StreamEvent::Lockstep) => return Ok(StreamEvent::Lockstep),
                Some(received) => event = received,
                None => {}
            }
        }
        agent.take_stats();
        Ok(event)
    }
}

/// Decodes the packet of a message and passes it to `take`; `None` for a control frame.
fn decoded<T>(
    format: &WireFormat,
    message: &Message<'_>,
    take: impl FnOnce(&DecodedPacket<'_>) -> T,
) -> Result<Option<T>, RuleViolation> {
    let dialect = &format.dialect;
    let packet = match message {
        Message::Binary(bytes) => dialect.decode(Direction::ToClient, bytes),
        Message::Text(text) => dialect.decode_json(Direction::ToClient, text),
        _ => return Ok(None),
    };
    packet.map(|packet| Some(take(&packet))).map_err(|error| (error.name(), error.to_string()))
}

/// Returns the fields of `desync_details`.
fn fields(packet: &DecodedPacket<'_>) -> Vec<FieldDiff> {
    let values = packet.get("fields").and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let field = |one: &[Value]| {
        Some(FieldDiff {
            entity: text(&one[0])?,
            field: text(&one[1])?,
            ours: text(&one[2]),
            theirs: text(&one[3]),
        })
    };
    values.chunks_exact(4).filter_map(field).collect()
}
