//! The half of a room that other threads use while the room steps: readers queue commands and take
//! seats; the operator queues commands and asks questions.
//!
//! One lock guards all of this state; the room never holds it during a step. A question is answered
//! when the next tick has run; at most [`limits::MAX_ROOM_QUERIES`] questions wait.

use std::any::Any;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use tickwire_sim::{EncodedAction, PlayerId, RawCommand, Sim, StepResult, WorldParams};

use super::acks::TickCommands;
use super::inbox::{CommandTicket, Inbox, InboxRejection};
use super::lockstep::{self, Journal};
use super::missed_events::MissedEvents;
use super::seat_keys::{KeyedSeat, SeatKey, SeatKeys};
use super::seats::{Seat, Seats};
use crate::game::{DynTick, GameInfo, Roster, UpdateRates};
use crate::limits;
use crate::util::address_prefix::AddressPrefix;
use crate::util::sync::Mutex;

/// The settings of a room.
#[derive(Debug, Clone)]
pub struct RoomConfig {
    /// Its name, which is part of its paths and of a capture; empty for a host's default room.
    pub name: Arc<str>,
    /// Distinguishes this run of the room from earlier runs: 16 hex digits.
    pub epoch: String,
    /// Update rates.
    pub rates: UpdateRates,
    /// Delay, in ticks, of a command that names no tick.
    pub delay_ticks: u32,
    /// How long the seat of a client with a key outlives its connection.
    pub resume_time: Duration,
    /// Absent seats of one address. `usize::MAX`: all of [`limits::MAX_SUSPENDED_SEATS`].
    pub absent_per_address: usize,
    /// Clients in the room at once, those that only watch included.
    pub max_clients: usize,
    /// Lockstep.
    pub lockstep: lockstep::LockstepConfig,
}

/// See the [module](self).
#[derive(Debug)]
pub struct RoomHandle {
    /// The game that is played.
    pub about: &'static GameInfo,
    /// The settings.
    pub options: RoomConfig,
    /// The parameters from which the world was made.
    pub identity: WorldParams,
    /// What clients in lockstep follow.
    pub lockstep: Journal,
    tick: AtomicU32,
    has_ended: AtomicBool,
    /// Connections that have lost their seats to others, and have not been closed yet.
    lost_seats: AtomicU32,
    intake: Mutex<HandleState>,
    /// Whether a client was in the room that may ask for recent events.
    keeps_events: AtomicBool,
    /// What clients that come back are still told.
    missed_events: Mutex<MissedEvents>,
}

#[derive(Debug)]
struct HandleState {
    inbox: Inbox,
    seats: Seats,
    /// The keys of seats.
    keys: SeatKeys,
    evicted: BTreeSet<u64>,
    queries: Vec<RoomQuery>,
}

impl HandleState {
    /// A seat has no connection any more: it waits for [`RoomConfig::seat_time`], if it has a key and its
    /// address may have another absent seat. Otherwise its player leaves.
    fn suspend_seat(&mut self, player: PlayerId, now: Duration, options: &RoomConfig, about: &GameInfo) {
        if !self.keys.mark_suspended(player, options.absent_per_address) {
            self.keys.remove(player);
            return self.seats.wait(player, now);
        }
        self.seats.wait(player, now + options.resume_time);
        self.inbox.push_operator(vec![(about.disconnect)(player)]);
    }

    fn remove_player(&mut self, player: PlayerId, now: Duration) -> Option<Seat> {
        let seat = self.seats.get(player)?;
        self.keys.remove(player);
        self.inbox.drop_player_commands(player);
        self.seats.wait(player, now);
        Some(seat)
    }
}

/// A client that asks for a player.
#[derive(Debug, Clone, Copy)]
pub struct JoinAttempt {
    /// With which it may come back; `None` if it never does.
    pub key: Option<SeatKey>,
    /// Its connection.
    pub connection: u64,
    /// The address of the connection.
    pub from: AddressPrefix,
}

/// The player that a client gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JoinOutcome {
    /// Its number.
    pub player: PlayerId,
    /// Whether the client has come back to it.
    pub is_resumed: bool,
    /// Ticks completed from which on what is published of the player is this connection's own: before,
    /// commands of an earlier connection may still count.
    pub from_tick: u32,
    /// Ticks completed when its seat was taken.
    pub taken_at_tick: u32,
}

/// A question, and where its answer goes.
#[derive(Debug)]
pub(crate) enum RoomQuery {
    /// The players after the next tick.
    Roster(Sender<Roster>),
    /// The whole world as bytes.
    Snapshot(Sender<Arc<WorldSnapshot>>),
    /// The world with the names of its fields, and who may come back to it.
    SavedRoom(Sender<SavedRoom>),
    /// The outcome of an operator command.
    Outcome(CommandTicket, Sender<Result<(), &'static str>>),
}

/// The world as bytes, and what is in it.
#[derive(Debug, PartialEq, Eq)]
pub struct WorldSnapshot {
    /// The game.
    pub about: &'static GameInfo,
    /// Ticks completed.
    pub tick: u32,
    /// The parameters of the world.
    pub identity: WorldParams,
    /// The hash of the game's rules.
    pub code_hash: u64,
    /// The names of the players.
    pub names: Vec<(PlayerId, String)>,
    /// As [`Sim::restore`] takes them.
    pub bytes: Arc<[u8]>,
}

/// A world that goes on in another run of the server, perhaps with other rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SavedRoom {
    /// As [`Sim::named`] writes it.
    pub state: Vec<u8>,
    /// The seats whose players may come back.
    pub keys: Vec<KeyedSeat>,
}

/// [`limits::MAX_ROOM_QUERIES`] questions are waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryQueueFull;

impl fmt::Display for QueryQueueFull {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("too many operator commands are waiting for the world; try again")
    }
}

/// How far ahead of the next tick a command's tick may be.
pub fn max_lead_ticks(tick_hz: u32) -> u32 {
    (limits::MAX_COMMAND_LEAD_MS * tick_hz).div_ceil(1000)
}

impl RoomHandle {
    /// The handle of a room in which this world of a game goes on.
    pub fn new(about: &'static GameInfo, world: &impl Sim, options: RoomConfig) -> RoomHandle {
        let identity = world.identity();
        let ahead = max_lead_ticks(identity.tick_hz);
        let intake = HandleState {
            inbox: Inbox::new(world.tick(), world.operator_sequence(), ahead, options.delay_ticks),
            // Without a key nobody can come back to them.
            seats: Seats::restore(world.players(), Duration::ZERO),
            keys: SeatKeys::default(),
            evicted: BTreeSet::new(),
            queries: Vec::new(),
        };
        RoomHandle {
            about,
            lockstep: Journal::new(options.lockstep, identity.tick_hz),
            options,
            identity,
            tick: AtomicU32::new(world.tick()),
            has_ended: AtomicBool::new(false),
            lost_seats: AtomicU32::new(0),
            intake: Mutex::new(intake),
            keeps_events: AtomicBool::new(false),
            missed_events: Mutex::default(),
        }
    }

    /// Ticks completed.
    pub fn tick(&self) -> u32 {
        self.tick.load(Ordering::Relaxed)
    }

    /// Whether the room has ended: it never ticks again, and takes no connection.
    pub fn is_over(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    /// Records that the room has ended, and drops its questions without an answer.
    pub fn mark_ended(&self) {
        self.has_ended.store(true, Ordering::Release);
        self.intake.lock().queries.clear();
    }

    /// Queues a player's command from this connection; see [`Inbox::push`], and [`Inbox::make_room`] for
    /// the `slack` after a pause.
    ///
    /// # Errors
    /// [`InboxRejection`] when a bound is reached, or another connection has the seat; the command is then
    /// lost, and the connection gets an answer.
    pub fn push(
        &self,
        from: (AddressPrefix, u64),
        command: RawCommand,
        intended: Option<u32>,
        slack: Duration,
    ) -> Result<(), InboxRejection> {
        let intake = &mut *self.intake.lock();
        if intake.seats.get(command.player) == Some(Seat::Connected(from.1)) {
            if !slack.is_zero() {
                intake.inbox.make_room(&command);
            }
            return intake.inbox.push(from, command, intended);
        }
        let reason = InboxRejection::TakenOver;
        intake.inbox.reject(from, command.sequence, reason.name());
        Err(reason)
    }

    /// Answers a command of this connection, which the room is not asked to execute: it is rejected
    /// for the reason of this name.
    pub fn reject(&self, from: (AddressPrefix, u64), sequence: u64, reason: &'static str) {
        self.intake.lock().inbox.reject(from, sequence, reason);
    }

    /// Queues operator commands that belong together: no client sees the first without the others.
    pub fn push_operator(&self, actions: Vec<EncodedAction>) {
        self.intake.lock().inbox.push_operator(actions);
    }

    /// A client enters: it comes back to the seat of its key, if the player there has not left, or else
    /// gets a new one, and what `entered` returns is queued, the join. `None` if there is no number left.
    ///
    /// All of that is one step for other threads: two connections with one key never get two seats, and
    /// nobody finds a seat whose join is not queued. `entered` is called in between, for what has to be
    /// known before the next tick; it must not use the room.
    ///
    /// A connection that still has the seat, such as one whose end nobody has noticed, loses it: it is
    /// [evicted](Handle::is_evicted).
    pub fn join(
        &self,
        client: JoinAttempt,
        now: Duration,
        entered: impl FnOnce(JoinOutcome) -> Vec<EncodedAction>,
    ) -> Option<JoinOutcome> {
        let intake = &mut *self.intake.lock();
        let JoinAttempt { key, connection, from } = client;
        if let Some(player) = key.and_then(|key| self.resume_seat(intake, key, client)) {
            let taken_at = intake.keys.taken_at(player).unwrap_or_default();
            let back = JoinOutcome {
                player,
                is_resumed: true,
                from_tick: intake.inbox.settled_tick(),
                taken_at_tick: taken_at,
            };
            drop(entered(back));
            return Some(back);
        }
        let player = intake.seats.take(connection, now)?;
        if let Some(key) = key {
            intake.keys.insert(KeyedSeat { key, player, from }, self.tick());
        }
        let new = JoinOutcome { player, is_resumed: false, from_tick: 0, taken_at_tick: self.tick() };
        intake.inbox.push_operator(entered(new));
        Some(new)
    }

    fn resume_seat(&self, intake: &mut HandleState, key: SeatKey, client: JoinAttempt) -> Option<PlayerId> {
        let player = intake.keys.player(key)?;
        let before = intake.seats.take_over(player, client.connection)?;
        if let Seat::Connected(before) = before {
            intake.evicted.insert(before);
            self.lost_seats.store(intake.evicted.len() as u32, Ordering::Relaxed);
            intake.inbox.drop_player_commands(player);
            intake.inbox.push_operator(vec![(self.about.disconnect)(player)]);
        }
        intake.keys.mark_connected(player, client.from);
        Some(player)
    }

    /// The clients that may come back to the seats of this world, which wait for them. Their players stop,
    /// and count sequences from 1. Seats of which an address has too many do not wait.
    pub fn expect(&self, keys: &[KeyedSeat], now: Duration) {
        let intake = &mut *self.intake.lock();
        for keyed in keys {
            let player = keyed.player;
            // A key of a player who is not in the world is ignored.
            if matches!(intake.seats.get(player), Some(Seat::Suspended { .. })) {
                intake.keys.insert(*keyed, self.tick());
                intake.suspend_seat(player, now, &self.options, self.about);
            }
        }
    }

    /// Whether a connection has lost its seat to another; it then has to be closed.
    pub fn has_lost_seat(&self, connection: u64) -> bool {
        self.lost_seats.load(Ordering::Relaxed) > 0 && self.intake.lock().evicted.contains(&connection)
    }

    /// Makes a player leave at once, whether or not a connection plays it, and nobody comes back to it.
    /// Returns the seat as it was; `None` if there is no such player.
    pub fn dismiss(&self, player: PlayerId, now: Duration) -> Option<Seat> {
        self.intake.lock().remove_player(player, now)
    }

    /// The same for the player of this connection, unless another one plays it already. Returns whether
    /// it was so.
    pub fn remove_player_of(&self, connection: u64, player: PlayerId, now: Duration) -> bool {
        let intake = &mut *self.intake.lock();
        let is_its = intake.seats.get(player) == Some(Seat::Connected(connection));
        is_its && intake.remove_player(player, now).is_some()
    }

    /// The same for all players without a connection whose last one was from this address.
    pub fn remove_suspended(&self, from: AddressPrefix, now: Duration) {
        let intake = &mut *self.intake.lock();
        for player in intake.keys.suspended_of(from) {
            intake.remove_player(player, now);
        }
    }

    /// The client of this connection does not come back to its seat.
    pub fn forget_key(&self, player: PlayerId, connection: u64) {
        let mut intake = self.intake.lock();
        if intake.seats.get(player) == Some(Seat::Connected(connection)) {
            intake.keys.remove(player);
        }
    }

    /// Takes a connection off its seat, and drops the commands that the player has queued. The player
    /// stops; if it has a key, its seat waits for another connection, otherwise it leaves.
    pub fn disconnect(&self, player: PlayerId, connection: u64, now: Duration) {
        let intake = &mut *self.intake.lock();
        if intake.evicted.remove(&connection) {
            self.lost_seats.store(intake.evicted.len() as u32, Ordering::Relaxed);
        }
        if intake.seats.get(player) != Some(Seat::Connected(connection)) {
            return;
        }
        intake.inbox.drop_player_commands(player);
        intake.suspend_seat(player, now, &self.options, self.about);
    }

    /// The seat of a player.
    pub fn seat(&self, player: PlayerId) -> Option<Seat> {
        self.intake.lock().seats.get(player)
    }

    /// The seats as [`Seats::counts`] has them, and the commands of players that wait.
    pub fn seat_counts_and_queue(&self) -> ([usize; 4], usize) {
        let intake = self.intake.lock();
        (intake.seats.counts(), intake.inbox.waiting())
    }

    /// Whether a tick would have nothing to do: no seat is taken, and no command or question waits.
    pub fn is_idle(&self) -> bool {
        let intake = self.intake.lock();
        let [taken, ..] = intake.seats.counts();
        taken == 0 && intake.queries.is_empty() && intake.inbox.is_empty()
    }

    /// Time on the host's clock up to which the room needs no tick: nothing waits, and no client plays.
    /// It is when the first absent player leaves, or [`Duration::MAX`]. `None` if a tick is due.
    pub fn idle_until(&self) -> Option<Duration> {
        let intake = self.intake.lock();
        let has_nothing = intake.queries.is_empty() && intake.inbox.is_empty();
        has_nothing.then(|| intake.seats.idle_until()).flatten()
    }

    /// Recent events are kept from now on: a client is in the room that may ask for them later.
    pub fn keep_events(&self) {
        self.keeps_events.store(true, Ordering::Relaxed);
    }

    /// Keeps the events of a tick, because a client that comes back is still told some of them. Nothing is
    /// kept that no client can ask for: none is in the room that may, or no player has a key.
    pub(crate) fn record_missed_events(&self, tick: &dyn DynTick) {
        let may_come_back = || self.intake.lock().keys.iter().next().is_some();
        if !self.keeps_events.load(Ordering::Relaxed)
            || self.options.resume_time.is_zero()
            || !may_come_back()
        {
            return;
        }
        let seat_ticks = self.options.resume_time.as_secs() as u32 * self.identity.tick_hz;
        self.missed_events.lock().push(tick, seat_ticks);
    }

    /// The events that were kept of the ticks after the first of these, up to the second.
    pub fn recent(&self, since: u32, until: u32) -> Vec<Arc<dyn Any + Send + Sync>> {
        self.missed_events.lock().between(since, until)
    }

    /// Asks for the players after the next tick.
    ///
    /// # Errors
    /// [`QueryQueueFull`].
    pub fn roster(&self) -> Result<Receiver<Roster>, QueryQueueFull> {
        self.query(|_, answer| RoomQuery::Roster(answer))
    }

    /// Asks for the world before the next tick.
    ///
    /// # Errors
    /// [`QueryQueueFull`].
    pub fn snapshot(&self) -> Result<Receiver<Arc<WorldSnapshot>>, QueryQueueFull> {
        self.query(|_, answer| RoomQuery::Snapshot(answer))
    }

    /// Asks for the world before the next tick, with the names of its fields, and the keys of its seats.
    ///
    /// # Errors
    /// [`QueryQueueFull`].
    pub fn kept(&self) -> Result<Receiver<SavedRoom>, QueryQueueFull> {
        self.query(|_, answer| RoomQuery::SavedRoom(answer))
    }

    /// The keys of seats that are taken.
    pub(crate) fn keys(&self) -> Vec<KeyedSeat> {
        let intake = self.intake.lock();
        intake.keys.iter().filter(|keyed| intake.seats.get(keyed.player).is_some()).collect()
    }

    /// Queues an operator command, and asks whether the world rejects it: the reason's name.
    ///
    /// # Errors
    /// [`QueryQueueFull`].
    pub fn command(
        &self,
        action: EncodedAction,
    ) -> Result<Receiver<Result<(), &'static str>>, QueryQueueFull> {
        self.query(|inbox, answer| RoomQuery::Outcome(inbox.push_operator(vec![action]), answer))
    }

    fn query<A>(
        &self,
        question: impl FnOnce(&mut Inbox, Sender<A>) -> RoomQuery,
    ) -> Result<Receiver<A>, QueryQueueFull> {
        let (answer, answered) = mpsc::channel();
        let intake = &mut *self.intake.lock();
        if intake.queries.len() >= limits::MAX_ROOM_QUERIES {
            return Err(QueryQueueFull);
        }
        intake.queries.push(question(&mut intake.inbox, answer));
        Ok(answered)
    }

    /// A tick begins: moves its commands into `batch`, and returns the questions that can be
    /// answered after it. Players whose seat has been without a connection for too long leave in it.
    pub(crate) fn begin(
        &self,
        tick: u32,
        now: Duration,
        batch: &mut TickCommands,
        margins: &mut [i16],
    ) -> Vec<RoomQuery> {
        let intake = &mut *self.intake.lock();
        while let Some(player) = intake.seats.next_expired(now) {
            intake.inbox.push_operator(vec![(self.about.leave)(player)]);
        }
        intake.inbox.drain(tick, batch, margins);
        let is_later =
            |question: &RoomQuery| matches!(question, RoomQuery::Outcome(ticket, _) if ticket.tick > tick);
        let (later, asked) = std::mem::take(&mut intake.queries).into_iter().partition(is_later);
        intake.queries = later;
        asked
    }

    /// A tick has run: `tick` are completed now. The numbers of players that left or were not let in
    /// are given back.
    pub(crate) fn end(&self, tick: u32, stepped: &StepResult, now: Duration) {
        let rejected = stepped.rejected.iter().filter_map(|rejected| rejected.joining);
        let mut over = stepped.departed.iter().copied().chain(rejected).peekable();
        if over.peek().is_some() {
            let mut intake = self.intake.lock();
            for player in over {
                intake.seats.release(player, now);
                intake.keys.remove(player);
            }
        }
        self.tick.store(tick, Ordering::Relaxed);
    }
}
