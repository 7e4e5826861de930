//! One room of the simulation: its ticks, a second world that executes the same command frames, and
//! the operator's commands.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use tickwire_sim::{Command, EncodedAction, PlayerId, WorldParams};

use super::command_model::CommandModel;
use super::counts::SimulationCounts;
use super::failure::InvariantFailure;
use super::plan::{MAX_ABSENCE, SimGameFactory};
use super::seat_model::{ABSENT_PER_ADDRESS, EventTime, SeatModel};
use super::virtual_tcp::ServerTransport;
use crate::game::{BotRng, DynTick, DynWorld, UpdateRates};
use crate::limits;
use crate::packet::Dialect;
use crate::server::clients::dyn_room::DynRoom;
use crate::server::room::lockstep::{LockstepAccess, LockstepConfig};
use crate::server::room::seats::Seat;
use crate::server::room::{CommandAcks, RoomConfig, RoomHandle, TickRequest, TickResult};
use crate::util::address_prefix::AddressPrefix;

/// Updates per second of clients with foreign dialects.
const FOREIGN_HZ: u32 = 10;
/// Minimum and maximum time for which players stay suspended.
const SEAT_TIME: [Duration; 2] = [Duration::from_secs(12), MAX_ABSENCE];
/// Minimum and maximum time between two operator actions in a room.
const OPERATOR_INTERVAL: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(1_200)];

/// A queued command of the operator, and the channel for its result.
struct PendingQuery {
    answer: Receiver<Result<(), &'static str>>,
    /// Number of the notice, if the command announces one.
    notice: Option<u32>,
    requested: u32,
}

/// An operator action that the server must perform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperatorAction {
    /// Nothing.
    None,
    /// Closes the client of this player.
    Kick(PlayerId),
    /// Bans the address of this player's client for a while.
    Ban(PlayerId),
    /// No action, because the command that grants resources to this player is already queued.
    Granted(PlayerId),
    /// Restarts the room from its snapshot.
    Restart,
}

/// A published tick, and the acks of its commands.
pub type TickAcks = (Arc<dyn DynTick>, Option<Arc<CommandAcks>>);

/// One room with a second world.
pub struct SimRoom {
    factory: SimGameFactory,
    tick_hz: u32,
    room: Box<dyn DynRoom<ServerTransport>>,
    /// The handle that connections use.
    pub handle: Arc<RoomHandle>,
    replica_world: Box<dyn DynWorld>,
    published: Option<Arc<dyn DynTick>>,
    rng: BotRng,
    operates_at: Duration,
    questions: Vec<PendingQuery>,
    /// The notices that the operator sent to all players. For each notice, the tick after which it
    /// was sent, and its number.
    pub notices: Vec<(u32, u32)>,
    next_notice: u32,
    wants_restart: bool,
    /// The expected seats of clients with a key.
    pub seats: SeatModel,
    /// The expected commands of the next ticks.
    pub commands: CommandModel,
}

impl SimRoom {
    /// Creates a room with its own map.
    pub fn new(factory: SimGameFactory, name: &str, seed: u64) -> SimRoom {
        let mut rng = BotRng::new(seed);
        let identity = (factory.info.identity)(rng.bits() as u32);
        let options = options(name, &identity, &mut rng);
        let seat_time = options.resume_time;
        let room = (factory.new_room)(&identity, options);
        let seats = SeatModel::new(seat_time, factory.info.checks.compare_absence);
        SimRoom::with(factory, room, (factory.info.new_world)(&identity), rng, (0, seats))
    }

    fn with(
        factory: SimGameFactory,
        room: Box<dyn DynRoom<ServerTransport>>,
        shadow: Box<dyn DynWorld>,
        rng: BotRng,
        (next_notice, seats): (u32, SeatModel),
    ) -> SimRoom {
        SimRoom {
            factory,
            tick_hz: shadow.identity().tick_hz,
            handle: Arc::clone(room.handle()),
            room,
            replica_world: shadow,
            published: None,
            rng,
            operates_at: Duration::ZERO,
            questions: Vec::new(),
            notices: Vec::new(),
            next_notice,
            wants_restart: false,
            seats,
            commands: CommandModel::default(),
        }
    }

    /// Runs one tick. Returns the published tick and the acks.
    ///
    /// # Errors
    /// The second world differs, or the room broke an invariant.
    pub fn tick(
        &mut self,
        now: Duration,
        counts: &mut SimulationCounts,
    ) -> Result<TickAcks, InvariantFailure> {
        let is_second = self.handle.tick().is_multiple_of(self.tick_hz);
        self.seats.expire(now, self.handle.tick(), counts);
        let snapshot = self.wants_restart;
        let wants = TickRequest { frame: true, checksum: is_second, snapshot, player_events: false };
        let ticked = self.room.tick(now, wants);
        self.step_replica(&ticked, counts)?;
        self.check_query_results(ticked.tick + 1)?;
        for (_, rejection) in &ticked.rejected {
            counts.add(rejected(rejection));
        }
        let players = ticked.published.players();
        counts.player_ticks += players as u64;
        if is_second {
            self.check_load(players, now)?;
        }
        let published = Arc::clone(&ticked.published);
        self.published = Some(Arc::clone(&published));
        if let Some(snapshot) = ticked.snapshot.filter(|_| std::mem::take(&mut self.wants_restart)) {
            self.restart_from_snapshot(&snapshot.bytes, now)?;
            counts.add("room restarted from its snapshot");
        }
        Ok((published, ticked.acks))
    }

    /// Ends the room. A new room with the same name continues from the snapshot.
    fn restart_from_snapshot(&mut self, snapshot: &[u8], now: Duration) -> Result<(), InvariantFailure> {
        self.handle.mark_ended();
        let mut rng = self.rng.clone();
        let broken = |reason| InvariantFailure::new("a snapshot can be restored", reason);
        let shadow = (self.factory.info.restore)(snapshot).map_err(|error| broken(error.to_string()))?;
        let options = RoomConfig { epoch: epoch(&mut rng), ..self.handle.options.clone() };
        let room = (self.factory.resume_room)(snapshot, &|_| options.clone()).map_err(broken)?;
        let keys = self.seats.on_room_restart(&shadow.players(), now, shadow.tick());
        room.handle().restore_seats(&keys, now);
        let empty = SeatModel::new(Duration::ZERO, self.factory.info.checks.compare_absence);
        let seats = std::mem::replace(&mut self.seats, empty);
        *self = SimRoom::with(self.factory, room, shadow, rng, (self.next_notice, seats));
        Ok(())
    }

    /// Executes the command frame in the second world.
    fn step_replica(
        &mut self,
        ticked: &TickResult,
        counts: &mut SimulationCounts,
    ) -> Result<(), InvariantFailure> {
        let rule = "a second world with the same command frames stays identical";
        let frame = ticked
            .frame
            .as_ref()
            .ok_or_else(|| InvariantFailure::new(rule, "a tick has no command frame"))?;
        let frame = (self.factory.info.frame)(frame)
            .map_err(|error| InvariantFailure::new(rule, format!("{error:?}")))?;
        if let Some(checksum) = ticked.checksum {
            counts.mix(checksum);
            counts.add("worlds compared");
            if checksum != self.replica_world.checksum() {
                return Err(InvariantFailure::new(rule, format!("before tick {} they differ", ticked.tick)));
            }
        }
        let commands: Vec<Command<EncodedAction>> = frame.commands;
        self.replica_world.step(&commands);
        let mut players = self.replica_world.players();
        players.sort_unstable();
        let is_player = |player| players.binary_search(&player).is_ok();
        let executed = self.commands.check(&commands, is_player)?;
        counts.add_many("commands executed", executed);
        self.seats.check(&commands, &ticked.membership_changes, &players, ticked.tick + 1)
    }

    fn check_query_results(&mut self, tick: u32) -> Result<(), InvariantFailure> {
        let mut late = None;
        let notices = &mut self.notices;
        self.questions.retain(|question| match question.answer.try_recv() {
            Ok(answer) => {
                notices.extend(question.notice.filter(|_| answer.is_ok()).map(|number| (tick, number)));
                false
            }
            Err(_) => {
                late = (tick > question.requested + 3).then_some(question.requested).or(late);
                true
            }
        });
        let rule = "an operator's query is answered after its tick";
        late.map_or(Ok(()), |requested| {
            Err(InvariantFailure::new(rule, format!("query made before tick {requested}")))
        })
    }

    /// Checks that seats and commands are within their limits, and that the number of seats equals
    /// the number of players.
    fn check_load(&self, players: usize, now: Duration) -> Result<(), InvariantFailure> {
        let ([taken, free, resting, highest], waiting) = self.handle.seat_counts_and_queue();
        if taken != players || taken + free + resting != highest {
            let detail = format!(
                "{taken} seats are taken, {free} free and {resting} resting, of {highest}; {players} players"
            );
            return Err(InvariantFailure::new(
                "every taken seat has a player in the world, and every number is accounted for",
                detail,
            ));
        }
        if waiting > limits::INBOX_COMMANDS {
            return Err(InvariantFailure::new(
                "commands in the inbox stay within their bound",
                format!("{waiting} at {now:?}"),
            ));
        }
        Ok(())
    }

    /// Performs an operator action if one is due.
    pub fn operate(
        &mut self,
        now: Duration,
        counts: &mut SimulationCounts,
        is_ending: bool,
    ) -> OperatorAction {
        if now < self.operates_at || self.handle.is_over() {
            return OperatorAction::None;
        }
        self.operates_at = now + self.rng.between(OPERATOR_INTERVAL[0], OPERATOR_INTERVAL[1]);
        let players = self.replica_world.players();
        let one = self.rng.bits() as usize;
        let player = if players.is_empty() { None } else { Some(players[one % players.len()]) };
        let draw = self.rng.below(400);
        match (draw, player) {
            (0, _) if is_ending => return OperatorAction::None,
            (0, _) => {
                self.wants_restart = true;
                return OperatorAction::Restart;
            }
            (1..=4, Some(player)) => return OperatorAction::Kick(player),
            (5..=6, Some(player)) => return OperatorAction::Ban(player),
            _ => {}
        }
        let draw = (draw, player, self.next_notice + 1, self.published.as_deref());
        let Some(operated) = (self.factory.info.checks.operator_event)(draw, &mut self.rng) else {
            return OperatorAction::None;
        };
        counts.add(operated.name);
        self.next_notice += u32::from(operated.is_notice);
        self.request(operated.action, operated.is_notice.then_some(self.next_notice));
        match player.filter(|_| operated.is_gift) {
            Some(player) => OperatorAction::Granted(player),
            None => OperatorAction::None,
        }
    }

    /// The epoch, the number of completed ticks and the checksum of the world; `None` without
    /// lockstep clients.
    pub fn world(&self) -> Option<(&str, u32, u64)> {
        let is_followed = self.handle.lockstep.counts().followers > 0;
        let world =
            || (self.handle.options.epoch.as_str(), self.replica_world.tick(), self.replica_world.checksum());
        is_followed.then(world)
    }

    /// The current time, tick and published state of the room.
    pub fn now(&self, now: Duration) -> EventTime {
        EventTime { now, tick: self.handle.tick(), published: self.published.clone() }
    }

    /// Removes a player for the operator.
    pub fn dismiss(&mut self, player: PlayerId, now: Duration) {
        self.handle.dismiss(player, now);
        self.seats.record_removal(player, self.handle.tick());
    }

    /// Removes the player of a connection for the operator.
    pub fn dismiss_of(&mut self, connection: u64, player: PlayerId, now: Duration) {
        if self.handle.remove_player_of(connection, player, now) {
            self.seats.record_removal(player, self.handle.tick());
        }
    }

    /// Removes the suspended players of an address for the operator.
    pub fn dismiss_absent(&mut self, from: AddressPrefix, now: Duration) {
        self.handle.remove_suspended(from, now);
        self.seats.record_absent_removal(from, self.handle.tick());
    }

    /// Whether the hash of a reliable message is the number of a notice.
    pub fn is_notice(&self, mark: u32) -> bool {
        (1..=self.next_notice).contains(&mark)
    }

    /// The dialect in which clients receive every event.
    pub fn dialect(&self) -> &'static str {
        self.factory.info.paths[0].1
    }

    /// The hashes of the reliable messages that the client of a player must receive for a tick.
    pub fn marks(&self, tick: &dyn DynTick, player: Option<PlayerId>, dialect: &Dialect) -> Vec<u32> {
        let at = tick.tick();
        let newest = self.notices.iter().rev().take_while(|(tick, _)| *tick >= at);
        let mut marks: Vec<u32> = newest.filter(|(tick, _)| *tick == at).map(|(_, number)| *number).collect();
        marks.reverse();
        marks.extend((self.factory.info.checks.event_hashes)(tick, player, dialect));
        marks
    }

    fn request(&mut self, action: EncodedAction, notice: Option<u32>) {
        // If the room's queue is full, the command is not queued and has no effect.
        if let Ok(answer) = self.handle.command(action) {
            self.questions.push(PendingQuery { answer, notice, requested: self.handle.tick() });
        }
    }

    /// Checks that each occupied seat belongs to an open connection.
    ///
    /// # Errors
    /// The connection of an occupied seat has ended.
    pub fn check_seats(&self, is_there: impl Fn(u64) -> bool) -> Result<(), InvariantFailure> {
        for player in self.replica_world.players() {
            if let Some(Seat::Connected(number)) = self.handle.seat(player)
                && !is_there(number)
            {
                let detail = format!("player {} belongs to connection {number}, which has ended", player.0);
                return Err(InvariantFailure::new("a seat is released when its connection ends", detail));
            }
        }
        Ok(())
    }

    /// Checks that everything has been released.
    ///
    /// # Errors
    /// A resource is still in use.
    pub fn check_end(&self) -> Result<(), InvariantFailure> {
        let ([taken, ..], waiting) = self.handle.seat_counts_and_queue();
        let players = self.replica_world.players().len();
        if (taken, waiting, players) == (0, 0, 0) {
            return Ok(());
        }
        let detail = format!("{taken} seats, {waiting} commands and {players} players remain");
        Err(InvariantFailure::new("every seat and command is released at the end", detail))
    }
}

/// The configuration of a room.
fn options(name: &str, identity: &WorldParams, rng: &mut BotRng) -> RoomConfig {
    let tick_hz = identity.tick_hz;
    let bits = rng.bits();
    let mut of_lockstep = BotRng::new(bits);
    RoomConfig {
        name: name.into(),
        epoch: format!("{bits:016x}"),
        secret: bits,
        rates: UpdateRates { tick_hz, update_hz: tick_hz, foreign_hz: FOREIGN_HZ },
        delay_ticks: 0,
        resume_time: rng.between(SEAT_TIME[0], SEAT_TIME[1]),
        absent_per_address: ABSENT_PER_ADDRESS,
        max_clients: usize::MAX,
        lockstep: LockstepConfig {
            access: LockstepAccess::Open,
            snapshot_ticks: 1 + of_lockstep.below(300),
            checksum_ticks: 1 + of_lockstep.below(90),
        },
    }
}

fn epoch(rng: &mut BotRng) -> String {
    format!("{:016x}", rng.bits())
}

/// All rejections are counted together, because the world's own tests distinguish them.
fn rejected(_: &str) -> &'static str {
    "command rejected by the world"
}
