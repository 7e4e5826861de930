//! The half of a room that other threads use while the room steps. Readers queue commands and take
//! seats; the operator queues commands and queries.
//!
//! One lock guards the commands, seats and queries; the room never holds it during a step. A query
//! is answered after the next tick, or after the tick that executes the command of the query. At
//! most [`limits::MAX_ROOM_QUERIES`] queries are queued.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use tickwire_sim::{EncodedAction, PlayerId, RawCommand, Sim, StepResult, WorldParams};

use super::acks::TickCommands;
use super::inbox::{Inbox, InboxRejection};
use super::join::{JoinAttempt, JoinOutcome};
use super::lockstep::{self, Journal};
use super::missed_events::MissedEvents;
use super::query::{QueryQueueFull, RoomQuery, WorldSnapshot};
use super::seat_keys::{KeyedSeat, SeatKey, SeatKeys};
use super::seats::{Seat, Seats};
use super::shared_properties::SharedProperties;
use crate::game::{DynTick, GameInfo, Roster, UpdateRates};
use crate::limits;
use crate::util::address_prefix::AddressPrefix;
use crate::util::sync::Mutex;

/// The settings of a room.
#[derive(Debug, Clone)]
pub struct RoomConfig {
    /// The name, which is part of the room's paths and of captures. Empty for the default room.
    pub name: Arc<str>,
    /// Distinguishes this run of the room from earlier ones: 16 hex digits.
    pub epoch: String,
    /// Random number from which a game that hides something derives its random numbers.
    pub secret: u64,
    /// Update rates.
    pub rates: UpdateRates,
    /// Delay in ticks of a command without a target tick.
    pub delay_ticks: u32,
    /// How long a keyed seat stays suspended after its connection has closed.
    pub resume_time: Duration,
    /// Maximum suspended seats of one address prefix. `usize::MAX`: all of
    /// [`limits::MAX_SUSPENDED_SEATS`].
    pub absent_per_address: usize,
    /// Maximum clients in the room, including spectators.
    pub max_clients: usize,
    /// Lockstep settings.
    pub lockstep: lockstep::LockstepConfig,
}

/// The shared state of a room.
#[derive(Debug)]
pub struct RoomHandle {
    /// The game.
    pub game: &'static GameInfo,
    /// The settings.
    pub options: RoomConfig,
    /// The parameters of the world.
    pub identity: WorldParams,
    /// The journal for lockstep clients.
    pub lockstep: Journal,
    /// The properties by which clients choose the room.
    pub properties: SharedProperties,
    tick: AtomicU32,
    has_ended: AtomicBool,
    /// Number of clients to which each tick may be sent.
    viewers: AtomicUsize,
    /// Number of connections that lost their seats to others and are not closed yet.
    lost_seats: AtomicU32,
    pub(super) state: Mutex<HandleState>,
    /// Whether a client that can request missed events has connected since the start of the room.
    stores_events: AtomicBool,
    /// Recent events for clients that resume.
    missed_events: Mutex<MissedEvents>,
}

#[derive(Debug)]
pub(super) struct HandleState {
    inbox: Inbox,
    pub(super) seats: Seats,
    pub(super) keys: SeatKeys,
    /// The last key of each seat, also after the key has become invalid.
    pub(super) last_keys: BTreeMap<PlayerId, SeatKey>,
    /// Players whose seats were resumed since the last tick, in a game without a command for that.
    resumed: BTreeSet<PlayerId>,
    evicted: BTreeSet<u64>,
    queries: Vec<RoomQuery>,
}

impl HandleState {
    /// Suspends a seat for [`RoomConfig::resume_time`] if it has a key and its address prefix may
    /// have another suspended seat. Otherwise the player leaves.
    pub(super) fn suspend_seat(
        &mut self,
        player: PlayerId,
        now: Duration,
        options: &RoomConfig,
        info: &GameInfo,
    ) {
        if !self.keys.mark_suspended(player, options.absent_per_address) {
            self.keys.remove(player);
            return self.seats.suspend(player, now);
        }
        self.seats.suspend(player, now + options.resume_time);
        self.inbox.push_operator(vec![(info.disconnect)(player)]);
    }

    fn remove_player(&mut self, player: PlayerId, now: Duration) -> Option<Seat> {
        let seat = self.seats.get(player)?;
        self.keys.remove(player);
        self.inbox.drop_player_commands(player);
        self.seats.suspend(player, now);
        Some(seat)
    }
}

/// Returns the maximum lead of a command's target tick over the next tick.
pub fn max_lead_ticks(tick_hz: u32) -> u32 {
    (limits::MAX_COMMAND_LEAD_MS * tick_hz).div_ceil(1000)
}

impl RoomHandle {
    /// Creates the handle of a room for an existing world.
    pub fn new(info: &'static GameInfo, world: &impl Sim, options: RoomConfig) -> RoomHandle {
        let identity = world.identity();
        let ahead = max_lead_ticks(identity.tick_hz);
        let state = HandleState {
            inbox: Inbox::new(world.tick(), world.operator_sequence(), ahead, options.delay_ticks),
            // These seats have no keys yet, so no client can resume them.
            seats: Seats::restore(world.players(), Duration::ZERO),
            keys: SeatKeys::default(),
            last_keys: BTreeMap::new(),
            resumed: BTreeSet::new(),
            evicted: BTreeSet::new(),
            queries: Vec::new(),
        };
        RoomHandle {
            game: info,
            lockstep: Journal::new(options.lockstep, identity.tick_hz),
            options,
            identity,
            tick: AtomicU32::new(world.tick()),
            has_ended: AtomicBool::new(false),
            viewers: AtomicUsize::new(0),
            lost_seats: AtomicU32::new(0),
            state: Mutex::new(state),
            stores_events: AtomicBool::new(false),
            missed_events: Mutex::default(),
            properties: SharedProperties::default(),
        }
    }

    /// Returns the number of ticks completed.
    pub fn tick(&self) -> u32 {
        self.tick.load(Ordering::Relaxed)
    }

    /// Returns whether the room is closed. A closed room does not tick and accepts no connection.
    pub fn is_over(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    /// Marks the room as closed, and drops its queries without a result.
    pub fn mark_ended(&self) {
        self.has_ended.store(true, Ordering::Release);
        self.state.lock().queries.clear();
    }

    /// Queues a player's command from this connection with [`Inbox::push`]. If the server has just
    /// paused (`slack` is not zero), calls [`Inbox::make_room`] first.
    ///
    /// # Errors
    /// [`InboxRejection`] when a limit is reached, or another connection has the seat. The command
    /// is then dropped, and the connection receives an ack with the reason.
    pub fn push(
        &self,
        from: (AddressPrefix, u64),
        command: RawCommand,
        target_tick: Option<u32>,
        slack: Duration,
    ) -> Result<(), InboxRejection> {
        let state = &mut *self.state.lock();
        if state.seats.get(command.player) == Some(Seat::Connected(from.1)) {
            if !slack.is_zero() {
                state.inbox.make_room(&command);
            }
            return state.inbox.push(from, command, target_tick);
        }
        let reason = InboxRejection::TakenOver;
        state.inbox.reject(from, command.sequence, reason.name());
        Err(reason)
    }

    /// Queues the ack of a command that was rejected before it reached the inbox.
    pub fn reject(&self, from: (AddressPrefix, u64), sequence: u64, reason: &'static str) {
        self.state.lock().inbox.reject(from, sequence, reason);
    }

    /// Queues related operator commands for the same tick, so that no client sees only some of
    /// them.
    pub fn push_operator(&self, actions: Vec<EncodedAction>) {
        self.state.lock().inbox.push_operator(actions);
    }

    /// Joins a client. The client resumes the seat of its key unless the player of this seat has
    /// left. Otherwise it takes a new seat, and the commands that `entered` returns are queued;
    /// they include the join. Returns `None` if no player number is free.
    ///
    /// The operation is atomic for other threads: two connections with one key never get two seats,
    /// and no thread sees a seat without its queued join. `entered` is called under the lock to
    /// store values that must be set before the next tick. It must not use the room.
    ///
    /// A connection that still has the resumed seat, for example a dead one, loses it and is
    /// [evicted](RoomHandle::has_lost_seat).
    pub fn join(
        &self,
        client: JoinAttempt,
        now: Duration,
        entered: impl FnOnce(JoinOutcome) -> Vec<EncodedAction>,
    ) -> Option<JoinOutcome> {
        let state = &mut *self.state.lock();
        let JoinAttempt { key, connection, from } = client;
        if let Some(player) = key.and_then(|key| self.resume_seat(state, key, client)) {
            let taken_at = state.keys.taken_at(player).unwrap_or_default();
            let back = JoinOutcome {
                player,
                is_resumed: true,
                from_tick: state.inbox.settled_tick(),
                taken_at_tick: taken_at,
            };
            drop(entered(back));
            return Some(back);
        }
        let player = state.seats.assign(connection, now)?;
        if let Some(key) = key {
            state.keys.insert(KeyedSeat { key, player, from }, self.tick());
            state.last_keys.insert(player, key);
        }
        let new = JoinOutcome { player, is_resumed: false, from_tick: 0, taken_at_tick: self.tick() };
        state.inbox.push_operator(entered(new));
        Some(new)
    }

    fn resume_seat(&self, state: &mut HandleState, key: SeatKey, client: JoinAttempt) -> Option<PlayerId> {
        let player = state.keys.player(key)?;
        let before = state.seats.take_over(player, client.connection)?;
        let mut actions = Vec::new();
        if let Seat::Connected(before) = before {
            state.evicted.insert(before);
            self.lost_seats.store(state.evicted.len() as u32, Ordering::Relaxed);
            state.inbox.drop_player_commands(player);
            actions.push((self.game.disconnect)(player));
        }
        match (self.game.reconnect)(player) {
            Some(action) => actions.push(action),
            None => drop(state.resumed.insert(player)),
        }
        if !actions.is_empty() {
            let ticket = state.inbox.push_operator(actions);
            state.inbox.delay_player_commands(player, ticket.tick);
        }
        #[cfg(not(target_family = "wasm"))]
        state.keys.learn(key, player);
        state.last_keys.insert(player, key);
        state.keys.mark_connected(player, client.from);
        Some(player)
    }

    /// Returns whether a connection has lost its seat to another one and must be closed.
    pub fn has_lost_seat(&self, connection: u64) -> bool {
        self.lost_seats.load(Ordering::Relaxed) > 0 && self.state.lock().evicted.contains(&connection)
    }

    /// Makes a player leave in the next tick, connected or not, and invalidates its key. Returns
    /// the previous seat, or `None` if there is no such player.
    pub fn dismiss(&self, player: PlayerId, now: Duration) -> Option<Seat> {
        self.state.lock().remove_player(player, now)
    }

    /// Makes the player of this connection leave, unless another connection has its seat. Returns
    /// whether it leaves.
    pub fn remove_player_of(&self, connection: u64, player: PlayerId, now: Duration) -> bool {
        let state = &mut *self.state.lock();
        let is_its = state.seats.get(player) == Some(Seat::Connected(connection));
        is_its && state.remove_player(player, now).is_some()
    }

    /// Makes all suspended players of an address prefix leave.
    pub fn remove_suspended(&self, from: AddressPrefix, now: Duration) {
        let state = &mut *self.state.lock();
        for player in state.keys.suspended_of(from) {
            state.remove_player(player, now);
        }
    }

    /// Returns whether a player that has not left has this key.
    pub fn has_seat(&self, key: SeatKey) -> bool {
        self.state.lock().keys.player(key).is_some()
    }

    /// Removes the key of this connection's seat, so that it cannot be resumed.
    pub fn forget_key(&self, player: PlayerId, connection: u64) {
        let mut state = self.state.lock();
        if state.seats.get(player) == Some(Seat::Connected(connection)) {
            state.keys.remove(player);
        }
    }

    /// Removes a connection from its seat, and drops the player's queued commands. With a key, the
    /// seat is suspended; otherwise the player leaves.
    pub fn disconnect(&self, player: PlayerId, connection: u64, now: Duration) {
        let state = &mut *self.state.lock();
        if state.evicted.remove(&connection) {
            self.lost_seats.store(state.evicted.len() as u32, Ordering::Relaxed);
        }
        if state.seats.get(player) != Some(Seat::Connected(connection)) {
            return;
        }
        state.inbox.drop_player_commands(player);
        state.suspend_seat(player, now, &self.options, self.game);
    }

    /// Returns the seat of a player.
    pub fn seat(&self, player: PlayerId) -> Option<Seat> {
        self.state.lock().seats.get(player)
    }

    /// Returns [`Seats::counts`], and the number of queued commands of players.
    pub fn seat_counts_and_queue(&self) -> ([usize; 4], usize) {
        let state = self.state.lock();
        (state.seats.counts(), state.inbox.waiting())
    }

    /// Returns the number of suspended seats that a client can resume.
    pub fn suspended_seats(&self) -> usize {
        self.state.lock().keys.suspended()
    }

    /// Returns whether a tick would do nothing: no seat is taken, and no command or query is
    /// queued.
    pub fn is_idle(&self) -> bool {
        let state = self.state.lock();
        let [taken, ..] = state.seats.counts();
        taken == 0 && state.queries.is_empty() && state.inbox.is_empty()
    }

    /// Returns the time on the server's clock before which the room needs no tick: the deadline of
    /// the first suspended seat, or [`Duration::MAX`]. Returns `None` if a client plays or
    /// something is queued.
    pub fn idle_until(&self) -> Option<Duration> {
        let state = self.state.lock();
        let has_nothing = state.queries.is_empty() && state.inbox.is_empty();
        has_nothing.then(|| state.seats.idle_until()).flatten()
    }

    /// Counts a client to which each tick may be sent, or no longer.
    pub fn count_viewer(&self, is_viewing: bool) {
        match is_viewing {
            true => self.viewers.fetch_add(1, Ordering::AcqRel),
            false => self.viewers.fetch_sub(1, Ordering::AcqRel),
        };
    }

    /// Returns the number of clients to which each tick may be sent, spectators and bots included.
    pub fn viewers(&self) -> usize {
        self.viewers.load(Ordering::Acquire)
    }

    /// Enables the storage of missed events. Called when a client connects that can request them.
    pub fn keep_events(&self) {
        self.stores_events.store(true, Ordering::Relaxed);
    }

    /// Stores the events of a tick for clients that resume. Does nothing if no client can request
    /// these events: no client in the room supports it, seats are not suspended, or no seat has a
    /// key.
    pub(crate) fn record_missed_events(&self, tick: &dyn DynTick) {
        let may_come_back = || self.state.lock().keys.iter().next().is_some();
        if !self.stores_events.load(Ordering::Relaxed)
            || self.options.resume_time.is_zero()
            || !may_come_back()
        {
            return;
        }
        let seat_ticks = self.options.resume_time.as_secs() as u32 * self.identity.tick_hz;
        self.missed_events.lock().push(tick, seat_ticks);
    }

    /// Returns the stored events of the ticks after `since`, up to and including `until`.
    pub fn recent(&self, since: u32, until: u32) -> Vec<Arc<dyn Any + Send + Sync>> {
        self.missed_events.lock().between(since, until)
    }

    /// Returns the approximate size of the events stored for clients that resume, in bytes.
    pub fn missed_event_bytes(&self) -> usize {
        self.missed_events.lock().bytes()
    }

    /// Queries the players after the next tick.
    ///
    /// # Errors
    /// [`QueryQueueFull`] when the limit of queued queries is reached.
    pub fn roster(&self) -> Result<Receiver<Roster>, QueryQueueFull> {
        self.query(|_, answer| RoomQuery::Roster(answer))
    }

    /// Queries the snapshot before the next tick.
    ///
    /// # Errors
    /// [`QueryQueueFull`] when the limit of queued queries is reached.
    pub fn snapshot(&self) -> Result<Receiver<Arc<WorldSnapshot>>, QueryQueueFull> {
        self.query(|_, answer| RoomQuery::Snapshot(answer))
    }

    /// Returns the players whose seats were resumed since the last call, in a game without a
    /// command for that.
    pub(crate) fn take_resumed(&self) -> BTreeSet<PlayerId> {
        std::mem::take(&mut self.state.lock().resumed)
    }

    /// Returns the key of a player's seat, also a key that can no longer be resumed.
    pub(crate) fn key_of(&self, player: PlayerId) -> Option<SeatKey> {
        self.state.lock().last_keys.get(&player).copied()
    }

    /// Queues an operator command, and queries its outcome: `Err` with the name of the reason if it
    /// is rejected.
    ///
    /// # Errors
    /// [`QueryQueueFull`] when the limit of queued queries is reached.
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
        let state = &mut *self.state.lock();
        if state.queries.len() >= limits::MAX_ROOM_QUERIES {
            return Err(QueryQueueFull);
        }
        state.queries.push(question(&mut state.inbox, answer));
        Ok(answered)
    }

    /// Begins a tick: moves its commands into `batch`, and returns the queries to answer after it.
    /// Players of expired seats leave in this tick.
    pub(crate) fn begin_tick(
        &self,
        tick: u32,
        now: Duration,
        batch: &mut TickCommands,
        margins: &mut [i16],
    ) -> Vec<RoomQuery> {
        let state = &mut *self.state.lock();
        while let Some(player) = state.seats.next_expired(now) {
            state.inbox.push_operator(vec![(self.game.leave)(player)]);
        }
        state.inbox.drain(tick, batch, margins);
        let is_later =
            |question: &RoomQuery| matches!(question, RoomQuery::Outcome(ticket, _) if ticket.tick > tick);
        let (later, queries) = std::mem::take(&mut state.queries).into_iter().partition(is_later);
        state.queries = later;
        queries
    }

    /// Ends a tick, after which `tick` ticks are completed. Releases the numbers of departed
    /// players and of rejected joins.
    pub(crate) fn end_tick(&self, tick: u32, stepped: &StepResult, now: Duration) {
        let rejected = stepped.rejected.iter().filter_map(|rejected| rejected.joining);
        let mut over = stepped.departed.iter().copied().chain(rejected).peekable();
        if over.peek().is_some() {
            let mut state = self.state.lock();
            for player in over {
                state.seats.release(player, now);
                state.keys.remove(player);
                state.last_keys.remove(&player);
                state.resumed.remove(&player);
            }
        }
        self.tick.store(tick, Ordering::Relaxed);
    }
}
