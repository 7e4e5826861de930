//! The server as its own client: it follows what it sends to a room's clients, as a stream and in
//! lockstep, and compares the two. Without I/O and without a clock.
//!
//! ```text
//!   frames queued for a client ─► messages ─► packets ─► an agent's picture ───────┐
//!                                                                                 ├─► the same? ─► Finding
//!   the room's journal ─► frames ─► packets ─► own world ─► what it publishes ─────┘
//!                                                  └─► checksum, to the room as any client's
//! ```
//!
//! The picture of a client is compared at each update that says its tick, by [`Bots::agrees`] of the
//! game: what the client knows of the world and of its own player, from all that it was told since its
//! connection began. Nothing here looks at the room's own world, which may be what is wrong.
//!
//! [`Bots::agrees`]: crate::game::bots::Bots::agrees

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tickwire_sim::PlayerId;

use crate::client::lockstep_follower::{FollowEvent, LockstepFollower};
use crate::connection::WireFormat;
use crate::game::bots::{Agent, AgentOutput, BotBehavior, BotSpec};
use crate::game::lockstep_packets::{CHECKSUM, DESYNC_DETAILS, STATE_SYNC, STATE_SYNC_REQUEST, has_lockstep};
use crate::game::{DynTick, Messages};
use crate::limits;
use crate::packet::{DecodedPacket, Direction, Lane, Value};
use crate::server::clients::lockstep_feed::LockstepFeed;
use crate::server::room::RoomHandle;
use crate::server::room::lockstep::FieldDiff;
use crate::util::address_prefix::AddressPrefix;
use crate::ws::Side;
use crate::ws::message::{Message, MessageReader};

/// The server's own connection, which no client has.
const OWN: u64 = u64::MAX;
/// Its name among the participants of a report.
const SELF_NAME: &str = "self-check";

/// What a client was sent is not what it should have been sent, or the room's journal is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The client whose stream differs; `None` if it is the journal for clients in lockstep.
    pub client: Option<u64>,
    /// Its player, if it has one.
    pub player: Option<PlayerId>,
    /// Ticks completed.
    pub tick: u32,
    /// The rule: `stream`, `frame_order`, `desync`, `snapshot`, or that of a message that cannot be read.
    pub rule: &'static str,
    /// What differs, in words.
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

/// Counts since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SelfCheckCounts {
    /// Pictures of clients that were compared with the world.
    pub compared: u64,
    /// Checksums of the own world that were sent.
    pub checksums: u64,
    /// Clients that were not followed, because there were too many at once.
    pub left_out: u64,
}

/// The stream of one client.
struct StreamFollower {
    endpoint: WireFormat,
    reader: MessageReader,
    agent: Box<dyn Agent>,
}

/// The server's own view of one room: see the [module](self).
pub struct SelfCheck {
    room: Arc<RoomHandle>,
    endpoint: WireFormat,
    relay: LockstepFeed,
    reader: MessageReader,
    follower: LockstepFollower,
    /// What the own world has published, the newest last.
    ticks: VecDeque<Arc<dyn DynTick>>,
    shadows: BTreeMap<u64, StreamFollower>,
    /// Clients in lockstep: they are sent what the own connection is.
    in_lockstep: BTreeSet<u64>,
    /// The newest tick after which the own world was found to differ.
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
    /// The view of this room, in this dialect; `None` if the dialect has no lockstep. It begins at the
    /// room's next snapshot.
    pub fn new(room: &Arc<RoomHandle>, endpoint: WireFormat) -> Option<SelfCheck> {
        if !has_lockstep(&endpoint.dialect) {
            return None;
        }
        room.lockstep.follow(OWN, AddressPrefix::from_ip(Ipv4Addr::UNSPECIFIED.into()));
        Some(SelfCheck {
            relay: LockstepFeed::new(&endpoint),
            follower: LockstepFollower::new(room.about, Arc::clone(&endpoint.dialect)),
            reader: MessageReader::new(Side::Server, limits::SELF_CHECK_MESSAGE_LIMITS),
            room: Arc::clone(room),
            endpoint,
            ticks: VecDeque::new(),
            shadows: BTreeMap::new(),
            in_lockstep: BTreeSet::new(),
            differed_at: None,
            findings: Vec::new(),
            counts: SelfCheckCounts::default(),
            messages: Messages::default(),
        })
    }

    /// The room.
    pub fn room(&self) -> &Arc<RoomHandle> {
        &self.room
    }

    /// Counts since it began.
    pub fn counts(&self) -> SelfCheckCounts {
        self.counts
    }

    /// Clients whose streams are followed.
    pub fn len(&self) -> usize {
        self.shadows.len()
    }

    /// Whether there is no client whose stream is followed, and none in lockstep.
    pub fn is_empty(&self) -> bool {
        self.shadows.is_empty() && self.in_lockstep.is_empty()
    }

    /// What was found since the last call.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }

    /// A client has connected, and has been sent nothing yet. It is followed if its updates say their tick,
    /// and fewer than [`limits::SELF_CHECK_CLIENTS`] are.
    pub fn opened(&mut self, client: u64, endpoint: &WireFormat) {
        if !has_lockstep(&endpoint.dialect) {
            return;
        }
        if self.shadows.len() >= limits::SELF_CHECK_CLIENTS {
            self.counts.left_out += 1;
            return;
        }
        let part = BotSpec {
            index: 0,
            count: 1,
            seed: client,
            crowd_seed: client,
            behavior: BotBehavior::Still,
            spares_visitors: true,
            is_checking: false,
            dialect: Arc::clone(&endpoint.dialect),
        };
        let Some(agent) = self.room.about.agent(&part) else { return };
        let reader = MessageReader::new(Side::Server, limits::SERVER_MESSAGE_LIMITS);
        self.shadows.insert(client, StreamFollower { endpoint: endpoint.clone(), reader, agent });
    }

    /// Bytes of a client are lost: its stream is followed no more.
    pub fn lost(&mut self, client: u64) {
        self.shadows.remove(&client);
    }

    /// The connection of a client has ended.
    pub fn ended(&mut self, client: u64) {
        self.shadows.remove(&client);
        self.in_lockstep.remove(&client);
    }

    /// Frames were queued for a client, whose player this is. After an update, what it was told is compared
    /// with the own world.
    pub fn said(&mut self, client: u64, player: Option<PlayerId>, frames: &[u8]) {
        let Some(mut shadow) = self.shadows.remove(&client) else { return };
        let found = match shadow.hear(frames) {
            Ok(StreamEvent::Nothing) => Ok(()),
            Ok(StreamEvent::State(tick)) => {
                self.compare(&*shadow.agent, player, tick).map_err(|detail| (tick, "stream", detail))
            }
            Ok(StreamEvent::Lockstep) => {
                self.in_lockstep.insert(client);
                return;
            }
            Err((rule, detail)) => Err((self.room.tick(), rule, detail)),
        };
        match found {
            Ok(()) => _ = self.shadows.insert(client, shadow),
            Err((tick, rule, detail)) => {
                self.findings.push(Finding { client: Some(client), player, tick, rule, detail });
            }
        }
    }

    fn compare(&mut self, agent: &dyn Agent, player: Option<PlayerId>, tick: u32) -> Result<(), String> {
        self.follow();
        let Some(published) = self.ticks.iter().rfind(|published| published.tick() == tick) else {
            return Ok(());
        };
        let is_compared = self.room.about.compare_view(agent, player, &**published)?;
        self.counts.compared += u64::from(is_compared);
        Ok(())
    }

    /// Takes what the room's journal has, as a client in lockstep is sent it, and runs the own world.
    pub fn follow(&mut self) {
        let frames = self.journal();
        self.apply_journal(&frames);
    }

    /// What the room's journal has since the last call, as whole frames.
    pub fn journal(&mut self) -> Vec<u8> {
        let mut frames = Vec::new();
        loop {
            let before = frames.len();
            self.relay.take((&self.room, OWN), &self.endpoint, &mut frames);
            if frames.len() == before {
                return frames;
            }
        }
    }

    /// Hears frames of the journal. Frames that break a rule of RFC 6455 are given up, and the own world
    /// begins again at a snapshot.
    pub fn apply_journal(&mut self, frames: &[u8]) {
        let fresh = || MessageReader::new(Side::Server, limits::SELF_CHECK_MESSAGE_LIMITS);
        let mut reader = std::mem::replace(&mut self.reader, fresh());
        reader.receive(frames);
        let endpoint = self.endpoint.clone();
        loop {
            match reader.next_message() {
                Ok(None) => break,
                Ok(Some(message)) => {
                    let heard = decoded(&endpoint, &message, |packet| self.step(packet));
                    self.note(heard.and_then(|same| same.unwrap_or(Ok(()))));
                }
                Err(violation) => {
                    self.note(Err((violation.name(), violation.to_string())));
                    self.room.lockstep.ask(OWN);
                    return;
                }
            }
        }
        self.reader = reader;
    }

    /// A packet of the journal was right or wrong.
    fn note(&mut self, found: Result<(), RuleViolation>) {
        let Err((rule, detail)) = found else { return };
        let tick = self.follower.world().map_or(0, |world| world.tick());
        self.findings.push(Finding { client: None, player: None, tick, rule, detail });
    }

    /// A packet of the journal.
    fn step(&mut self, packet: &DecodedPacket<'_>) -> Result<(), RuleViolation> {
        let before = self.follower.world().map(|world| world.tick());
        let differed = self.follower.counts().differed;
        let mut say = Vec::new();
        self.messages.clear();
        let heard = self.follower.on_packet(packet, &mut say, &mut self.messages);
        let said: Vec<FollowerReply> = say.iter().filter_map(|message| self.answer(message)).collect();
        if let Ok(FollowEvent::Stepped(tick)) = heard {
            self.keep(tick);
        }
        if self.follower.counts().differed > differed {
            let details = said.into_iter().find_map(|own| match own {
                FollowerReply::Desync(tick, fields) => Some((tick, fields)),
                FollowerReply::SnapshotRequest => None,
            });
            let (tick, fields) = details.unwrap_or_else(|| (before.unwrap_or_default(), Vec::new()));
            return self.differs(tick, &fields);
        }
        match heard {
            Err(reason) => Err(("snapshot", reason)),
            // Its world was begun again at a later tick, so that the two could not be compared.
            Ok(FollowEvent::Report(report)) if report.names(SELF_NAME) => self.differs(report.tick, &[]),
            Ok(FollowEvent::Handled)
                if said.iter().any(|own| matches!(own, FollowerReply::SnapshotRequest)) =>
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

    /// Keeps what the own world has published after this tick.
    fn keep(&mut self, tick: u32) {
        if self.ticks.len() >= limits::SELF_CHECK_TICKS {
            self.ticks.pop_front();
        }
        let published = self.follower.published().filter(|published| published.tick() == tick);
        self.ticks.extend(published);
    }

    /// The own world differed from the room's after so many ticks, in these fields. It is found by the own
    /// world and again in the room's report, and told once.
    fn differs(&mut self, tick: u32, fields: &[FieldDiff]) -> Result<(), RuleViolation> {
        if self.differed_at.is_some_and(|last| tick <= last) {
            return Ok(());
        }
        self.differed_at = Some(tick);
        let or_none = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
        let words: Vec<String> = fields
            .iter()
            .map(|FieldDiff { entity, field, room, own }| {
                format!("{entity} {field}: {}, not {}", or_none(room), or_none(own))
            })
            .collect();
        let words = if words.is_empty() { "the checksums differ".to_owned() } else { words.join("; ") };
        Err(("desync", format!("after tick {tick}: {words}")))
    }

    /// What the follower says, to the room. Returns what it says of itself.
    fn answer(&mut self, message: &[u8]) -> Option<FollowerReply> {
        let packet = self.endpoint.dialect.decode(Direction::ToServer, message).ok()?;
        let tick = packet.integer("tick").unwrap_or_default();
        let journal = &self.room.lockstep;
        match packet.row.name.as_str() {
            CHECKSUM => {
                let checksum = packet.text("checksum").and_then(|text| u64::from_str_radix(&text, 16).ok());
                self.counts.checksums += 1;
                journal.checksum(OWN, || SELF_NAME.to_owned(), tick, checksum.unwrap_or_default());
                None
            }
            DESYNC_DETAILS => {
                let fields = fields(&packet);
                journal.details(OWN, tick, fields.clone());
                Some(FollowerReply::Desync(tick, fields))
            }
            STATE_SYNC_REQUEST => {
                journal.ask(OWN);
                Some(FollowerReply::SnapshotRequest)
            }
            _ => None,
        }
    }
}

/// What the own world says of itself.
enum FollowerReply {
    /// It needs a snapshot.
    SnapshotRequest,
    /// It differed after so many ticks, in these fields.
    Desync(u32, Vec<FieldDiff>),
}

impl Drop for SelfCheck {
    fn drop(&mut self) {
        self.room.lockstep.leave(OWN);
    }
}

/// A rule's name, and what is wrong, in words.
type RuleViolation = (&'static str, String);

/// What frames said to a client.
enum StreamEvent {
    /// Nothing that can be compared.
    Nothing,
    /// The state after so many ticks.
    State(u32),
    /// That it follows in lockstep.
    Lockstep,
}

impl StreamFollower {
    fn hear(&mut self, frames: &[u8]) -> Result<StreamEvent, RuleViolation> {
        let StreamFollower { endpoint, reader, agent } = self;
        reader.receive(frames);
        let (mut said, mut out) = (StreamEvent::Nothing, AgentOutput::default());
        while let Some(message) =
            reader.next_message().map_err(|broken| (broken.name(), broken.to_string()))?
        {
            let heard = decoded(endpoint, &message, |packet| {
                agent.on_packet(packet, Duration::ZERO, &mut out);
                if packet.row.name == STATE_SYNC {
                    return Some(StreamEvent::Lockstep);
                }
                let tick = packet.integer("tick").filter(|_| packet.row.lane == Lane::Latest);
                tick.map(StreamEvent::State)
            })?;
            match heard.flatten() {
                // A snapshot follows, which may be longer than any message of a stream.
                Some(StreamEvent::Lockstep) => return Ok(StreamEvent::Lockstep),
                Some(heard) => said = heard,
                None => {}
            }
        }
        agent.take_deeds();
        Ok(said)
    }
}

/// Hands on the packet in a message; `None` for a control frame.
fn decoded<T>(
    endpoint: &WireFormat,
    message: &Message<'_>,
    take: impl FnOnce(&DecodedPacket<'_>) -> T,
) -> Result<Option<T>, RuleViolation> {
    let dialect = &endpoint.dialect;
    let packet = match message {
        Message::Binary(bytes) => dialect.decode(Direction::ToClient, bytes),
        Message::Text(text) => dialect.decode_json(Direction::ToClient, text),
        _ => return Ok(None),
    };
    packet.map(|packet| Some(take(&packet))).map_err(|error| (error.name(), error.to_string()))
}

/// The fields in `desync_details`.
fn fields(packet: &DecodedPacket<'_>) -> Vec<FieldDiff> {
    let values = packet.get("fields").and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let field = |one: &[Value]| {
        Some(FieldDiff {
            entity: text(&one[0])?,
            field: text(&one[1])?,
            room: text(&one[2]),
            own: text(&one[3]),
        })
    };
    values.chunks_exact(4).filter_map(field).collect()
}
