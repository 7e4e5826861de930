//! Plays one room of a capture: seeks, steps, and in the background runs each tick once and
//! verifies it.

use std::collections::BTreeMap;
use std::sync::Arc;

use tickwire_sim::{MembershipChange, PlayerId, WorldParams};

use super::recorded_ticks::RecordedTicks;
use super::snapshot_cache::SnapshotCache;
use crate::connection::session::NATIVE_VERSION;
use crate::game::{DynWorld, GameInfo, KillPacket, Messages, SpectatorWorld};
use crate::limits;
use crate::packet::{DecodedPacket, Dialect, Direction, Value};

/// The epoch in the welcome of a playback.
const PLAYBACK_EPOCH: &str = "watch";
/// The index generates an update every 8 ticks. Kill markers have this resolution.
const INDEX_EVENT_TICKS: u32 = 8;

/// The playback of one room.
#[derive(Debug)]
pub struct RoomPlayback {
    tape: RecordedTicks,
    identity: WorldParams,
    /// The snapshot before the first tick.
    begin: Vec<u8>,
    /// The reason why no more ticks can be played, other than the end of the file.
    ended: Option<String>,
    names: BTreeMap<PlayerId, String>,
    markers: Vec<TimelineMarker>,
    open: Option<OpenPlayback>,
}

/// An event on the timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineMarker {
    /// The number of completed ticks after the event.
    pub tick: u32,
    /// The kind of event.
    pub kind: MarkerKind,
    /// The name of the player.
    pub name: String,
    /// The name of the killer; empty for other events, and without a killer.
    pub killer: String,
}

/// The kind of a timeline event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkerKind {
    /// A player joined.
    Joined,
    /// A player left.
    Left,
    /// A player lost its connection, and its seat was suspended.
    Disconnected,
    /// A client resumed the suspended seat of a player.
    Reconnected,
    /// A player was killed.
    Killed,
}

/// The first difference between a recorded and a computed checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChecksumMismatch {
    /// The number of completed ticks.
    pub tick: u32,
    /// The recorded checksum.
    pub recorded: u64,
    /// The checksum that this program computes.
    pub replayed: u64,
}

/// The result of [`RoomPlayback::work`].
#[derive(Debug, Default, PartialEq, Eq)]
pub struct WorkResult {
    /// Whether work remains.
    pub more: bool,
    /// The welcome packet after a completed seek.
    pub welcome: Option<Vec<u8>>,
}

/// The state of an opened playback.
#[derive(Debug)]
struct OpenPlayback {
    dialect: Arc<Dialect>,
    store: SnapshotCache,
    /// Runs each tick once, to verify it.
    index_world: Box<dyn SpectatorWorld>,
    first_mismatch: Option<ChecksumMismatch>,
    /// The displayed world.
    display_world: Option<Box<dyn SpectatorWorld>>,
    followed: Option<PlayerId>,
    seek: Option<Seek>,
}

/// A seek in progress.
#[derive(Debug)]
struct Seek {
    target_tick: u32,
    /// The world that is advanced to `target_tick`; `None` before it is restored from a snapshot.
    world: Option<Box<dyn DynWorld>>,
}

impl RoomPlayback {
    /// Creates the playback of a room that starts with this world.
    pub(super) fn new(info: &'static GameInfo, world: &dyn DynWorld) -> RoomPlayback {
        RoomPlayback {
            tape: RecordedTicks::new(info, world.tick()),
            identity: world.identity(),
            begin: world.snapshot(),
            ended: None,
            names: BTreeMap::new(),
            markers: Vec::new(),
            open: None,
        }
    }

    /// Adds a tick, which must follow the last one.
    pub(super) fn add(&mut self, tick: u32, at_ns: u64, checksum: u64, frame: &[u8]) {
        if self.ended.is_some() {
            return;
        }
        let commands = match self.tape.add(tick, at_ns, checksum, frame) {
            Ok(commands) => commands,
            Err(why) => return self.end(&why),
        };
        for command in commands.iter().filter(|command| command.player == PlayerId::OPERATOR) {
            if let Some(change) = (self.tape.info.membership)(&command.action) {
                self.add_membership_marker(tick + 1, change);
            }
        }
    }

    fn add_membership_marker(&mut self, tick: u32, change: MembershipChange) {
        let (kind, player) = match change {
            MembershipChange::Joined(player, name) => {
                self.names.insert(player, name);
                (MarkerKind::Joined, player)
            }
            MembershipChange::Left(player) => (MarkerKind::Left, player),
            MembershipChange::Disconnected(player) => (MarkerKind::Disconnected, player),
            MembershipChange::Reconnected(player) => (MarkerKind::Reconnected, player),
        };
        let name = self.names.get(&player).cloned().unwrap_or_default();
        mark(&mut self.markers, TimelineMarker { tick, kind, name, killer: String::new() });
    }

    /// Ends the playable part of the recording.
    pub(super) fn end(&mut self, why: &str) {
        self.ended.get_or_insert_with(|| why.to_owned());
    }

    /// The game.
    pub fn info(&self) -> &'static GameInfo {
        self.tape.info
    }

    /// The parameters of the world.
    pub fn identity(&self) -> &WorldParams {
        &self.identity
    }

    /// The number of completed ticks at the start of the recording.
    pub fn first(&self) -> u32 {
        self.tape.first
    }

    /// The number of completed ticks after the last tick received.
    pub fn last(&self) -> u32 {
        self.tape.last()
    }

    /// The reason why no more ticks can be played, other than the end of the file.
    pub fn ended(&self) -> Option<&str> {
        self.ended.as_deref()
    }

    /// The markers so far, unordered: joins and leaves of all received ticks, kills of the indexed
    /// ticks.
    pub fn marks(&self) -> &[TimelineMarker] {
        &self.markers
    }

    /// The time of the tick after `tick` completed ticks, in nanoseconds since 1970.
    pub fn at_ns(&self, tick: u32) -> u64 {
        self.tape.at_ns(tick)
    }

    /// The number of ticks completed at a time in nanoseconds since 1970.
    pub fn tick_at(&self, at_ns: u64) -> u32 {
        self.tape.tick_at(at_ns)
    }

    /// Opens the playback for a client of this dialect.
    ///
    /// # Errors
    /// The game has no such client.
    pub fn open(&mut self, dialect: &Arc<Dialect>) -> Result<(), String> {
        if dialect.row(Direction::ToClient, "welcome").is_none() {
            return Err(format!("the dialect {} has no welcome", dialect.name()));
        }
        let index =
            (self.tape.info.new_spectator_world)(&self.begin, dialect).map_err(|error| error.to_string())?;
        for (player, name) in index.names() {
            self.names.entry(player).or_insert(name);
        }
        // The index restarts, and adds the kills again.
        self.markers.retain(|mark| mark.kind != MarkerKind::Killed);
        let first = (self.tape.first, self.begin.clone());
        self.open = Some(OpenPlayback {
            dialect: Arc::clone(dialect),
            store: SnapshotCache::new(first, limits::WATCH_SNAPSHOT_TICKS, limits::WATCH_SNAPSHOT_BYTES),
            index_world: index,
            first_mismatch: None,
            display_world: None,
            followed: None,
            seek: None,
        });
        Ok(())
    }

    /// Starts a seek to the world after `tick` completed ticks, clamped to the received ticks.
    /// [`RoomPlayback::work`] continues it.
    pub fn seek(&mut self, tick: u32) {
        let goal = tick.clamp(self.first() + 1, self.last().max(self.first() + 1));
        self.open.iter_mut().for_each(|open| open.seek = Some(Seek { target_tick: goal, world: None }));
    }

    /// Selects the spectated player from the next tick on; `None` for the leader.
    pub fn follow(&mut self, player: Option<PlayerId>) {
        self.open.iter_mut().for_each(|open| open.followed = player);
    }

    /// Runs about `ticks` ticks: first for a seek, then for the index. At the end of a seek,
    /// appends the messages that a new client receives after its welcome.
    pub fn work(&mut self, ticks: u32, messages: &mut Messages) -> WorkResult {
        let RoomPlayback { tape, identity, markers: marks, names, open: Some(open), .. } = self else {
            return WorkResult::default();
        };
        let mut left = ticks;
        let marks = &mut MarkerSink { marks, names };
        let is_open = open.continue_seek(tape, &mut left, marks, messages);
        let welcome = is_open.and_then(|tick| welcome(&open.dialect, tape.info, identity, tick));
        open.continue_index(tape, &mut left, None, marks);
        WorkResult { more: open.seek.is_some() || open.indexed() < tape.last(), welcome }
    }

    /// Runs the displayed world for up to `ticks` received ticks, at most
    /// [`limits::PLAYBACK_MAX_TICKS_PER_CALL`], and appends one update. Returns the number of ticks
    /// run.
    pub fn play(&mut self, ticks: u32, messages: &mut Messages) -> u32 {
        let RoomPlayback { tape, open: Some(open), .. } = self else { return 0 };
        let Some(screen) = &mut open.display_world else { return 0 };
        let left = tape.last().saturating_sub(screen.world().tick());
        let ticks = ticks.min(left).min(limits::PLAYBACK_MAX_TICKS_PER_CALL);
        for run in 1..=ticks {
            let Some(commands) = tape.commands(screen.world().tick()) else { return run - 1 };
            if run < ticks {
                screen.step_without_update(&commands);
            } else {
                screen.step(&commands, None, open.followed, messages);
            }
        }
        ticks
    }

    /// The number of completed ticks of the displayed world; `None` before the first seek is
    /// complete.
    pub fn tick(&self) -> Option<u32> {
        self.screen().map(|screen| screen.world().tick())
    }

    /// The checksum of the displayed world.
    pub fn checksum(&self) -> Option<u64> {
        self.screen().map(|screen| screen.world().checksum())
    }

    /// The recorded checksum after `tick` completed ticks; `None` if none was recorded.
    pub fn recorded(&self, tick: u32) -> Option<u64> {
        self.tape.checksum(tick)
    }

    /// The players in the displayed world, with their names.
    pub fn players(&self) -> Vec<(PlayerId, String)> {
        self.screen().map(|screen| screen.names()).unwrap_or_default()
    }

    /// The number of completed ticks up to which every checksum has been compared.
    pub fn indexed(&self) -> u32 {
        self.open.as_ref().map_or(self.first(), OpenPlayback::indexed)
    }

    /// The first checksum mismatch.
    pub fn differs(&self) -> Option<ChecksumMismatch> {
        self.open.as_ref().and_then(|open| open.first_mismatch)
    }

    /// The number of stored snapshots, and their size in bytes.
    pub fn snapshots(&self) -> (usize, usize) {
        self.open.as_ref().map_or((0, 0), |open| open.store.size())
    }

    fn screen(&self) -> Option<&dyn SpectatorWorld> {
        self.open.as_ref()?.display_world.as_deref()
    }
}

fn mark(marks: &mut Vec<TimelineMarker>, mark: TimelineMarker) {
    if marks.len() < limits::PLAYBACK_MAX_MARKERS {
        marks.push(mark);
    }
}

/// Encodes the welcome of a server that has completed `tick` ticks.
fn welcome(dialect: &Dialect, info: &GameInfo, identity: &WorldParams, tick: u32) -> Option<Vec<u8>> {
    let row = dialect.row(Direction::ToClient, "welcome")?;
    let value = |name: &str| match name {
        "version" => NATIVE_VERSION.into(),
        "rules_hash" => format!("{:016x}", (info.rules_hash)()).into(),
        "seed" => identity.seed.into(),
        "tick_hz" | "update_hz" => identity.tick_hz.into(),
        "epoch" => PLAYBACK_EPOCH.into(),
        "tick" => tick.into(),
        option => identity.option(option).map_or(Value::Nil, Value::from),
    };
    let values: Vec<Value> = row.arguments.iter().map(|argument| value(&argument.name)).collect();
    dialect.encode(Direction::ToClient, "welcome", &values).ok()
}

impl OpenPlayback {
    fn indexed(&self) -> u32 {
        self.index_world.world().tick()
    }

    /// Continues a seek. At the end of the seek, returns the number of ticks completed before the
    /// displayed tick.
    fn continue_seek(
        &mut self,
        tape: &RecordedTicks,
        left: &mut u32,
        marks: &mut MarkerSink<'_>,
        messages: &mut Messages,
    ) -> Option<u32> {
        let mut seek = self.seek.take()?;
        let before = seek.target_tick - 1;
        if self.indexed() < before {
            // The index runs the ticks up to the goal, so that they are run only once.
            self.continue_index(tape, left, Some(before), marks);
        }
        if self.indexed() >= before && seek.world.is_none() {
            let (_, snapshot) = self.store.newest_at_or_before(before);
            seek.world = (tape.info.restore)(snapshot).ok();
        }
        while let Some(world) = seek.world.as_mut().filter(|world| *left > 0 && world.tick() < before) {
            world.step(&tape.commands(world.tick())?);
            *left -= 1;
        }
        let Some(world) = seek.world.take_if(|world| world.tick() >= before) else {
            self.seek = Some(seek);
            return None;
        };
        let mut screen = (tape.info.new_spectator_world)(&world.snapshot(), &self.dialect).ok()?;
        screen.step(&tape.commands(before)?, None, self.followed, messages);
        self.display_world = Some(screen);
        Some(before)
    }

    /// Runs the index for at most `left` ticks, and at most until `until` ticks are completed.
    fn continue_index(
        &mut self,
        tape: &RecordedTicks,
        left: &mut u32,
        until: Option<u32>,
        marks: &mut MarkerSink<'_>,
    ) {
        while *left > 0 && until.is_none_or(|until| self.indexed() < until) {
            let tick = self.indexed();
            let Some(commands) = tape.commands(tick) else { return };
            if self.first_mismatch.is_none()
                && let Some(recorded) = tape.checksum(tick)
            {
                let replayed = self.index_world.world().checksum();
                self.first_mismatch =
                    (recorded != replayed).then_some(ChecksumMismatch { tick, recorded, replayed });
            }
            if self.store.needs_snapshot(tick) {
                self.store.insert(tick, self.index_world.world().snapshot());
            }
            if tick.is_multiple_of(INDEX_EVENT_TICKS) {
                let mut messages = Messages::default();
                self.index_world.step(&commands, None, None, &mut messages);
                self.add_kill_markers(tape.info, tick + 1, &messages, marks);
            } else {
                self.index_world.step_without_update(&commands);
            }
            *left -= 1;
        }
    }

    fn add_kill_markers(&self, info: &GameInfo, tick: u32, messages: &Messages, marks: &mut MarkerSink<'_>) {
        let Some(kill) = info.kill_packet else { return };
        let Some((prefix, _)) = self.dialect.prefix(Direction::ToClient, kill.packet) else { return };
        for message in messages.iter().filter(|message| message.starts_with(prefix)) {
            let Ok(packet) = self.dialect.decode(Direction::ToClient, message) else { continue };
            let Some((name, killer)) = parse_kill(kill, &packet, marks.names) else { continue };
            mark(marks.marks, TimelineMarker { tick, kind: MarkerKind::Killed, name, killer });
        }
    }
}

/// The marker list, and the names of the players.
struct MarkerSink<'a> {
    marks: &'a mut Vec<TimelineMarker>,
    names: &'a BTreeMap<PlayerId, String>,
}

/// The names of victim and killer, if the packet reports a kill; empty if unknown.
fn parse_kill(
    kill: KillPacket,
    packet: &DecodedPacket<'_>,
    names: &BTreeMap<PlayerId, String>,
) -> Option<(String, String)> {
    let is_true = |name| packet.get(name).and_then(Value::as_bool).unwrap_or_default();
    let player_id = |name| {
        let value = packet.get(name)?;
        let number = || value.as_u64().and_then(|number| u16::try_from(number).ok());
        value.as_str().map(str::to_owned).or_else(|| names.get(&PlayerId(number()?)).cloned())
    };
    let is_kill = kill.only_if.is_none_or(is_true);
    is_kill.then(|| (player_id(kill.victim).unwrap_or_default(), player_id(kill.killer).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Game, Simple};
    use crate::games;
    use crate::games::moo::Moo;
    use crate::games::tanks::Tanks;

    #[test]
    fn kills_are_read_from_the_packet_that_the_game_names() {
        let names = BTreeMap::from([(PlayerId(3), "Ann".to_owned()), (PlayerId(9), "Bo".to_owned())]);
        let names_of = |victim: &str, killer: &str| Some((victim.to_owned(), killer.to_owned()));
        let hit = |destroyed: bool| vec![3.into(), 9.into(), 40.into(), destroyed.into()];
        let (tanks, moo) = (Simple::<Tanks>::INFO, Moo::INFO);
        for (info, dialect, values, expected) in [
            (tanks, "tanks", hit(true), names_of("Ann", "Bo")),
            (tanks, "tanks", hit(false), None),
            (tanks, "tanks", vec![7.into(), 9.into(), 40.into(), true.into()], names_of("", "Bo")),
            (moo, "native", vec![9.into(), "Bo".into(), 3.into(), "Ann".into()], names_of("Ann", "Bo")),
            (moo, "native", vec![Value::Nil, Value::Nil, 3.into(), "Ann".into()], names_of("Ann", "")),
        ] {
            let kill = info.kill_packet.expect("it has kills");
            let dialect = games::built_in_tables().dialect(dialect).expect("built in");
            let message = dialect.encode(Direction::ToClient, kill.packet, &values).expect("by the table");
            let packet = dialect.decode(Direction::ToClient, &message).expect("just encoded");
            assert_eq!(parse_kill(kill, &packet, &names), expected, "{packet}");
        }
    }

    #[test]
    fn a_room_that_is_opened_again_has_each_mark_once() {
        let world = (Moo::INFO.new_world)(&(Moo::INFO.identity)(1));
        let mut show = RoomPlayback::new(Moo::INFO, &*world);
        let mark = |kind| TimelineMarker { tick: 5, kind, name: "Ann".to_owned(), killer: String::new() };
        show.markers = vec![mark(MarkerKind::Joined), mark(MarkerKind::Killed)];
        show.open(&games::built_in_tables().dialect("native").expect("built in")).expect("it has a welcome");
        assert_eq!(show.marks(), [mark(MarkerKind::Joined)], "the index finds the kill again");
    }
}
