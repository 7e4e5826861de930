//! The server of the simulation: slots, rate limits, rooms, and the workers that send updates.

use core::net::SocketAddr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tickwire_sim::PlayerId;

use super::counts::SimulationCounts;
use super::desync_model::DesyncModel;
use super::failure::{InjectedBug, InvariantFailure};
use super::lane_check;
use super::plan::{SimGameFactory, SimulationPlan};
use super::seat_model::SeatHolder;
use super::sim_room::{OperatorAction, SimRoom};
use super::virtual_tcp::{ServerTransport, VirtualClock};
use crate::connection::DisconnectReason;
use crate::game::bots::ClientVariant;
use crate::game::{BotRng, CloseReason, DynTick, StateOutcome};
use crate::limits;
use crate::packet::PacketTables;
use crate::packet::routes::split_room_path;
use crate::server::admission::address_rate_limits::{AddressRateLimits, LimitedAction};
use crate::server::admission::refusal::Refusal;
use crate::server::admission::tokens::Authenticator;
use crate::server::admission::upgrade_check::{AcceptedClient, UpgradeCheck};
use crate::server::admission::{Admission, Capacity, Permit, SlotKind};
use crate::server::clients::backlog::Backlog;
use crate::server::clients::client::Client;
use crate::server::clients::update_group::{EncodeBuffers, UpdateFn, UpdateGroup, UpdateRunner};
use crate::server::room::RoomHandle;
use crate::server::room::seats::Seat;
use crate::util::address_prefix::AddressPrefix;
use crate::util::netem::Conditions;
use crate::ws::http::RequestHead;

/// Maximum number of clients per address. It is less than the number of connections per address, so
/// that some are refused.
const PER_ADDRESS: usize = 5;
/// Number of update workers.
const WORKERS: usize = 2;

/// A client that was just sent the complete newest state.
pub struct UpdatedClient {
    /// The client.
    pub client: Arc<Client<ServerTransport>>,
    /// The published state that it was sent.
    pub published: Arc<dyn DynTick>,
}

/// A worker's part of one room.
struct RoomWorker {
    audience: Box<dyn UpdateGroup<ServerTransport>>,
    backlog: Option<Backlog>,
    /// The ticks in the backlog.
    ticks: Vec<Arc<dyn DynTick>>,
}

struct Worker {
    parts: Vec<RoomWorker>,
    asleep_until: Duration,
    desk: EncodeBuffers,
}

/// The server of the simulation.
pub struct SimServer {
    /// Virtual time.
    pub clock: VirtualClock,
    /// Slots of pending requests and clients.
    pub admission: Arc<Admission>,
    /// Rate limits per address.
    pub budgets: AddressRateLimits,
    /// Permissions: every client may play.
    pub guard: Authenticator,
    /// The game.
    pub game: SimGameFactory,
    /// Client variants, assigned to bots in turn.
    pub spoken: Vec<ClientVariant>,
    /// Ticks per second.
    pub tick_hz: u32,
    /// Network conditions of every connection.
    pub net: Option<Conditions>,
    /// The rooms.
    pub games: Vec<SimRoom>,
    /// Marks of the reliable messages that each client must receive, by client ID.
    pub marks: BTreeMap<u64, Vec<u32>>,
    /// IDs of the clients to which the operator granted resources.
    pub granted: BTreeSet<u64>,
    /// The packet tables.
    pub codes: Arc<PacketTables>,
    /// The expected worlds of lockstep clients.
    pub worlds: DesyncModel,
    /// The injected bug.
    pub planted: Option<InjectedBug>,
    /// Whether all clients are leaving, so that no room is restarted.
    pub is_ending: bool,
    handles: Vec<Arc<RoomHandle>>,
    workers: Vec<Worker>,
    clients: BTreeMap<u64, Arc<Client<ServerTransport>>>,
    next_client: u64,
    /// Time at which each token bucket is full again, computed from the observed requests.
    spent: BTreeMap<(AddressPrefix, &'static str), (LimitedAction, Duration)>,
    bans: Vec<(Duration, SocketAddr)>,
    dice: BotRng,
}

impl SimServer {
    /// Creates the server of a simulation.
    ///
    /// # Errors
    /// The tables of the game are invalid.
    pub fn new(
        plan: &SimulationPlan,
        seed: u64,
        planted: Option<InjectedBug>,
    ) -> Result<SimServer, InvariantFailure> {
        let (mut dice, game, peers) = (BotRng::new(seed), plan.game, plan.peers);
        let name = |room: usize| if room == 0 { String::new() } else { format!("room-{room}") };
        let rooms = 0..plan.rooms.max(1);
        let games: Vec<SimRoom> = rooms.map(|room| SimRoom::new(game, &name(room), dice.bits())).collect();
        let caps =
            Capacity { clients: 2 * peers + 16, clients_per_address: PER_ADDRESS, ..Capacity::default() };
        let part = || RoomWorker { audience: (game.new_update_group)(), backlog: None, ticks: Vec::new() };
        let worker = || Worker {
            parts: games.iter().map(|_| part()).collect(),
            asleep_until: Duration::ZERO,
            desk: EncodeBuffers::default(),
        };
        let codes = PacketTables::from_texts(game.about.tables);
        let codes = codes
            .map_err(|why| InvariantFailure::new("the tables of the game can be used", why.to_string()))?;
        let mut spoken = game.about.checks.client_variants.to_vec();
        if spoken.is_empty() {
            let (path, dialect) = game.about.paths[0];
            spoken.extend([(dialect, path, false), (dialect, path, true)]);
        }
        Ok(SimServer {
            clock: VirtualClock::default(),
            admission: Admission::new(caps),
            budgets: AddressRateLimits::new(true),
            guard: Authenticator::default(),
            game,
            spoken,
            tick_hz: (game.about.identity)(0).tick_hz,
            net: plan.net,
            marks: BTreeMap::new(),
            granted: BTreeSet::new(),
            codes: Arc::new(codes),
            worlds: DesyncModel::default(),
            handles: games.iter().map(|game| Arc::clone(&game.handle)).collect(),
            is_ending: false,
            workers: (0..WORKERS).map(|_| worker()).collect(),
            games,
            clients: BTreeMap::new(),
            next_client: 0,
            spent: BTreeMap::new(),
            bans: Vec::new(),
            dice,
            planted,
        })
    }

    /// The address prefix for which limits count this address.
    pub fn household(address: SocketAddr) -> AddressPrefix {
        AddressPrefix::from_ip(address.ip())
    }

    /// A new client ID.
    pub fn next_client(&mut self) -> u64 {
        self.next_client += 1;
        self.next_client
    }

    /// Accepts or refuses a request.
    ///
    /// # Errors
    /// The request is refused.
    pub fn enter(
        &mut self,
        head: &RequestHead,
        address: SocketAddr,
        permit: &mut Permit,
    ) -> Result<AcceptedClient, Refusal> {
        let (now, household) = (self.clock.now(), SimServer::household(address));
        let (codes, budgets) = (&*self.codes, &self.budgets);
        let (name, _) = split_room_path(head.path());
        let room = self.handles.iter().find(|room| *room.options.name == *name);
        let door =
            UpgradeCheck { origins: &[], codes, room, is_room_full: false, budgets, is_stopping: false };
        let entered = door.accept(head, household, permit, now);
        match &entered {
            Ok(_) => self.spent(address, LimitedAction::Client),
            Err(no)
                if no.is_capacity
                    && no.status != 429
                    && self.planted == Some(InjectedBug::BudgetNotCharged) =>
            {
                let _ = self.budgets.take(household, LimitedAction::Client, now);
            }
            Err(_) => {}
        }
        entered
    }

    /// Assigns a client to a worker.
    pub fn assign_worker(&mut self, client: &Arc<Client<ServerTransport>>) {
        self.clients.insert(client.id, Arc::clone(client));
        self.marks.insert(client.id, Vec::new());
        let room = self.handles.iter().position(|room| Arc::ptr_eq(room, &client.room)).unwrap_or(0);
        let worker = client.id as usize % self.workers.len();
        self.workers[worker].parts[room].audience.add_client(Arc::clone(client));
    }

    /// Records that a client received a player.
    ///
    /// # Errors
    /// It is not the expected player.
    pub fn joined(
        &mut self,
        client: &Client<ServerTransport>,
        player: PlayerId,
        counts: &mut SimulationCounts,
    ) -> Result<(), InvariantFailure> {
        let now = self.clock.now();
        let game = self.games.iter_mut().find(|game| Arc::ptr_eq(&game.handle, &client.room));
        let Some((game, holder)) = game.zip(seat_holder(client)) else { return Ok(()) };
        let moment = game.now(now);
        game.seats.joined(holder, player, &moment, counts)
    }

    /// Handles the end of a client's connection: its player is suspended or leaves.
    pub fn leave_world(&mut self, client: &Client<ServerTransport>, counts: &mut SimulationCounts) {
        let now = self.clock.now();
        let game = self.games.iter_mut().find(|game| Arc::ptr_eq(&game.handle, &client.room));
        if let (Some(game), Some(player)) = (game, client.player()) {
            if self.planted == Some(InjectedBug::BodyLost) {
                client.room.forget_key(player, client.id);
            }
            let moment = game.now(now);
            if let Some((holder, ending)) = seat_holder(client).zip(client.sender.ending()) {
                game.seats.left(holder, player, &ending, &moment, counts);
            }
        }
        client.leave_world(now);
    }

    /// Injected bug: whether the seat of this client is not released.
    pub fn leaks_this_seat(&self, client: &Client<ServerTransport>) -> bool {
        self.planted == Some(InjectedBug::SeatLeaked) && client.id.is_multiple_of(3)
    }

    /// Performs the operator's actions, and runs a tick of every room.
    ///
    /// # Errors
    /// An invariant is broken.
    pub fn tick(&mut self, counts: &mut SimulationCounts) -> Result<(), InvariantFailure> {
        let now = self.clock.now();
        self.unban(now, counts);
        for room in 0..self.games.len() {
            let action = self.games[room].operate(now, counts, self.is_ending);
            self.carry_out(action, room, now, counts);
            let (published, answers) = self.games[room].tick(now, counts)?;
            if let Some((epoch, tick, checksum)) = self.games[room].world() {
                self.worlds.set_room_checksum(epoch, tick, checksum);
            }
            if !Arc::ptr_eq(&self.handles[room], &self.games[room].handle) {
                // The room was restarted, so the clients of its previous run are closed.
                let over = std::mem::replace(&mut self.handles[room], Arc::clone(&self.games[room].handle));
                for client in self.clients.values().filter(|client| Arc::ptr_eq(&client.room, &over)) {
                    client.close(DisconnectReason::Breach(CloseReason::GoingAway), now);
                }
            }
            for worker in &mut self.workers {
                let part = &mut worker.parts[room];
                part.ticks.push(Arc::clone(&published));
                match &mut part.backlog {
                    Some(backlog) => backlog.push(Arc::clone(&published), answers.clone()),
                    None => part.backlog = Some(Backlog::new(Arc::clone(&published), answers.clone())),
                }
            }
        }
        self.clients.retain(|_, client| !client.has_reader_ended());
        Ok(())
    }

    fn carry_out(
        &mut self,
        action: OperatorAction,
        room: usize,
        now: Duration,
        counts: &mut SimulationCounts,
    ) {
        let (OperatorAction::Kick(player) | OperatorAction::Ban(player) | OperatorAction::Granted(player)) =
            action
        else {
            return;
        };
        if matches!(action, OperatorAction::Granted(_)) {
            self.games[room].seats.on_gift(player);
        }
        let Some(Seat::Connected(number)) = self.handles[room].seat(player) else { return };
        let Some(client) = self.clients.get(&number).map(Arc::clone) else { return };
        if matches!(action, OperatorAction::Granted(_)) {
            self.granted.insert(number);
            return;
        }
        if matches!(action, OperatorAction::Kick(_)) {
            counts.add("operator: kick");
            self.games[room].dismiss(player, now);
            client.close(DisconnectReason::Breach(CloseReason::Kicked), now);
            return;
        }
        counts.add("operator: ban");
        self.admission.ban(client.household());
        self.bans.push((now + Duration::from_secs(5), client.address));
        let household = client.household();
        for client in self.clients.values().filter(|client| client.household() == household) {
            let game = self.games.iter_mut().find(|game| Arc::ptr_eq(&game.handle, &client.room));
            if let Some((game, player)) = game.zip(client.player()) {
                game.dismiss_of(client.id, player, now);
            }
            client.close(DisconnectReason::Breach(CloseReason::Banned), now);
        }
        self.games.iter_mut().for_each(|game| game.dismiss_absent(household, now));
    }

    fn unban(&mut self, now: Duration, counts: &mut SimulationCounts) {
        let admission = &self.admission;
        self.bans.retain(|(until, address)| {
            let is_over = now >= *until;
            if is_over && admission.unban(SimServer::household(*address)) {
                counts.add("operator: unban");
            }
            !is_over
        });
    }

    /// Runs the update passes of the workers that are awake. Returns the clients that were sent the
    /// complete state.
    ///
    /// # Errors
    /// An invariant is broken.
    pub fn run_workers(
        &mut self,
        counts: &mut SimulationCounts,
    ) -> Result<Vec<UpdatedClient>, InvariantFailure> {
        let (now, mut served) = (self.clock.now(), Vec::new());
        for worker in &mut self.workers {
            if now < worker.asleep_until {
                counts.add("tick missed by a worker");
                continue;
            }
            if self.dice.below(200) == 0 {
                let time = self.dice.between(Duration::from_millis(40), Duration::from_millis(900));
                worker.asleep_until = now + time;
            }
            for (room, part) in worker.parts.iter_mut().enumerate() {
                let Some(mut backlog) = part.backlog.take() else { continue };
                if self.planted == Some(InjectedBug::MessageDropped) {
                    backlog.missed_events.clear();
                }
                part.audience.begin_pass(Some(&backlog), &mut std::iter::empty(), now);
                let ticks = std::mem::take(&mut part.ticks);
                let mut turns =
                    CheckedRunner { now, budgets: &self.budgets, counts, informed: Vec::new(), broken: None };
                part.audience.update_all(Some(&backlog), &mut worker.desk, &mut turns);
                let CheckedRunner { informed: told, broken, .. } = turns;
                broken.map_or(Ok(()), Err)?;
                for (client, knows_all) in told {
                    let Some(client) = self.clients.get(&client).map(Arc::clone) else { continue };
                    if let Some(expected) = self.marks.get_mut(&client.id) {
                        expect(expected, &client, &ticks, &self.games[room]);
                    }
                    if knows_all {
                        served.push(UpdatedClient { client, published: Arc::clone(&backlog.newest) });
                    }
                }
            }
        }
        Ok(served)
    }

    /// Records a token that was consumed.
    pub fn spent(&mut self, address: SocketAddr, spending: LimitedAction) {
        let (key, now) = ((SimServer::household(address), spending.rule()), self.clock.now());
        let (_, full_at) = self.spent.entry(key).or_insert((spending, Duration::ZERO));
        *full_at = (*full_at).max(now) + spending.rate().every;
    }

    /// Compares rate limits and slots with the observations. A bucket that is full now counts as
    /// full, regardless of when it became full.
    ///
    /// # Errors
    /// They differ.
    pub fn check(&self, clients: usize) -> Result<(), InvariantFailure> {
        let now = self.clock.now();
        for ((household, rule), (spending, full_at)) in &self.spent {
            let has = self.budgets.full_at(*household, *spending);
            if has.max(now) != (*full_at).max(now) {
                let detail =
                    format!("the bucket for {rule} of {household} is full at {has:?} instead of {full_at:?}");
                return Err(InvariantFailure::new(
                    "each rate limit has charged exactly what was spent",
                    detail,
                ));
            }
        }
        let places = self.admission.in_use(SlotKind::Client);
        if places != clients {
            let detail = format!("{places} places are taken by {clients} clients");
            return Err(InvariantFailure::new("every place belongs to a client", detail));
        }
        Ok(())
    }

    /// Checks that each occupied seat belongs to a client.
    ///
    /// # Errors
    /// The client of an occupied seat has left.
    pub fn check_seats(&self) -> Result<(), InvariantFailure> {
        self.games.iter().try_for_each(|game| game.check_seats(|number| self.clients.contains_key(&number)))
    }

    /// Checks that everything has been released.
    ///
    /// # Errors
    /// Something is still in use.
    pub fn check_end(&self) -> Result<(), InvariantFailure> {
        self.check(0)?;
        if self.admission.in_use(SlotKind::Pending) != 0 {
            let detail = format!("{} requests remain", self.admission.in_use(SlotKind::Pending));
            return Err(InvariantFailure::new("every place belongs to a client", detail));
        }
        self.games.iter().try_for_each(SimRoom::check_end)
    }
}

/// The seat holder of a client; `None` if it has no key.
fn seat_holder(client: &Client<ServerTransport>) -> Option<SeatHolder> {
    let key = client.resume_key?.bytes();
    Some(SeatHolder { key, connection: client.id, from: client.household() })
}

/// Appends the marks of the messages that a client must receive for these ticks.
fn expect(
    expected: &mut Vec<u32>,
    client: &Client<ServerTransport>,
    ticks: &[Arc<dyn DynTick>],
    game: &SimRoom,
) {
    if client.endpoint.dialect.name() != game.dialect() {
        return;
    }
    let from = client.updates_from_tick().unwrap_or_default();
    for tick in ticks.iter().filter(|tick| tick.tick() > from) {
        expected.extend(game.marks(&**tick, client.player(), &client.endpoint.dialect));
    }
}

/// Runs update passes and checks the sends.
struct CheckedRunner<'a> {
    now: Duration,
    budgets: &'a AddressRateLimits,
    counts: &'a mut SimulationCounts,
    /// Clients that were sent the ticks, and whether they were sent the complete state.
    informed: Vec<(u64, bool)>,
    broken: Option<InvariantFailure>,
}

impl UpdateRunner<ServerTransport> for CheckedRunner<'_> {
    fn now(&self) -> Duration {
        self.now
    }

    fn run(&mut self, client: &Client<ServerTransport>, turn: &mut UpdateFn<'_>) -> bool {
        match self.check(client, turn) {
            Ok(told) => self.informed.extend(told.map(|knows_all| (client.id, knows_all))),
            Err(broken) => _ = self.broken.get_or_insert(broken),
        }
        true
    }
}

impl CheckedRunner<'_> {
    /// Runs the update of one client. `None` if it was not sent the ticks; otherwise whether it was
    /// sent the complete state.
    fn check(
        &mut self,
        client: &Client<ServerTransport>,
        turn: &mut UpdateFn<'_>,
    ) -> Result<Option<bool>, InvariantFailure> {
        client.flush(self.now);
        let is_behind = client.sender.backlog() > 0;
        if is_behind {
            client.line.0.start_recording();
        }
        let served = turn(self.budgets);
        if is_behind {
            lane_check::check(&client.endpoint, &client.line.0.noted())?;
        }
        let waiting = client.sender.backlog();
        let shared = if client.is_in_lockstep() { limits::SNAPSHOT_MOST_BYTES } else { 0 };
        if waiting > limits::SEND_QUEUE_BYTES + shared + 256 {
            return Err(InvariantFailure::new(
                "the queue of a client stays within its bound",
                format!("{waiting} bytes"),
            ));
        }
        let Some(served) = served.filter(|_| client.sender.is_open()) else { return Ok(None) };
        self.counts.add(match served.turn {
            StateOutcome::Deferred => "state held back",
            StateOutcome::NotDue => "turn not due",
            StateOutcome::Written => "turn written",
        });
        Ok(Some(served.turn == StateOutcome::Written && waiting == 0))
    }
}
