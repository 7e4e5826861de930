//! The server of the simulation: a host with rooms, an operator, and workers that may miss ticks.

use core::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::counts::SimulationCounts;
use super::failure::{InjectedBug, InvariantFailure};
use super::plan::{SimGameFactory, SimulationPlan};
use super::server_models::ServerModels;
use super::sim_room::{OperatorAction, SimRoom};
use super::update_check::CheckedRunner;
use super::virtual_clock::VirtualClock;
use super::virtual_tcp::ServerTransport;
use crate::connection::DisconnectReason;
use crate::game::bots::ClientVariant;
use crate::game::{BotRng, CloseReason, DynTick};
use crate::packet::PacketTables;
use crate::server::admission::{Capacity, SlotKind};
use crate::server::clients::client::Client;
use crate::server::host::HostState;
use crate::server::room::seats::Seat;
use crate::util::address_prefix::AddressPrefix;
use crate::util::netem::Conditions;

/// Maximum number of clients per address. It is less than the number of connections per address, so
/// that the server refuses some connections.
const PER_ADDRESS: usize = 5;
/// Number of update workers.
const WORKERS: usize = 2;

/// A client to which the complete newest state was just sent.
pub struct UpdatedClient {
    /// The client.
    pub client: Arc<Client<ServerTransport>>,
    /// The published state that was sent.
    pub published: Arc<dyn DynTick>,
}

/// The schedule of an update worker of the host.
struct WorkerSchedule {
    asleep_until: Duration,
    /// The ticks in the worker's backlogs, by room.
    ticks: Vec<Vec<Arc<dyn DynTick>>>,
}

/// The server of the simulation.
pub struct SimServer {
    /// The host, which has the same time as `clock`.
    pub state: HostState<ServerTransport>,
    /// The rooms and the models.
    pub models: ServerModels,
    /// Virtual time of the connections.
    pub clock: VirtualClock,
    /// The game.
    pub game: SimGameFactory,
    /// Client variants, assigned to bots in turn.
    pub variants: Vec<ClientVariant>,
    /// Ticks per second.
    pub tick_hz: u32,
    /// Network conditions of every connection.
    pub net: Option<Conditions>,
    /// Percentage of clients that request a lane, among clients with a dialect that has lanes.
    pub lanes_percent: u32,
    /// Whether all clients are leaving, so that no room is restarted.
    pub is_ending: bool,
    workers: Vec<WorkerSchedule>,
    bans: Vec<(Duration, SocketAddr)>,
    rng: BotRng,
}

impl SimServer {
    /// Creates the server of a simulation.
    ///
    /// # Errors
    /// The tables of the game are invalid.
    pub fn new(
        plan: &SimulationPlan,
        seed: u64,
        injected_bug: Option<InjectedBug>,
    ) -> Result<SimServer, InvariantFailure> {
        let (mut rng, game, peers) = (BotRng::new(seed), plan.game, plan.peers);
        let name = |room: usize| if room == 0 { String::new() } else { format!("room-{room}") };
        let rooms = 0..plan.rooms.max(1);
        let games: Vec<SimRoom> = rooms.map(|room| SimRoom::new(game, &name(room), rng.bits())).collect();
        let capacity =
            Capacity { clients: 2 * peers + 16, clients_per_address: PER_ADDRESS, ..Capacity::default() };
        let codes = PacketTables::from_texts(game.info.tables);
        let codes = codes
            .map_err(|why| InvariantFailure::new("the tables of the game can be used", why.to_string()))?;
        let mut variants = game.info.checks.client_variants.to_vec();
        if variants.is_empty() {
            let (path, dialect) = game.info.paths[0];
            variants.extend([(dialect, path, false), (dialect, path, true)]);
        }
        let handles = games.iter().map(|game| Arc::clone(&game.handle)).collect();
        let schedule =
            |_| WorkerSchedule { asleep_until: Duration::ZERO, ticks: vec![Vec::new(); games.len()] };
        Ok(SimServer {
            state: HostState::new(game, codes, handles, capacity, WORKERS),
            workers: (0..WORKERS).map(schedule).collect(),
            models: ServerModels::new(games, injected_bug),
            clock: VirtualClock::default(),
            game,
            variants,
            tick_hz: (game.info.identity)(0).tick_hz,
            net: plan.net,
            lanes_percent: plan.lanes_percent,
            is_ending: false,
            bans: Vec::new(),
            rng,
        })
    }

    /// The virtual time.
    pub fn now(&self) -> Duration {
        self.state.now
    }

    /// Sets the virtual time.
    pub fn set_now(&mut self, now: Duration) {
        self.clock.set(now);
        self.state.set_now(now);
    }

    /// Performs the operator's actions, and runs a tick of every room.
    ///
    /// # Errors
    /// An invariant is broken.
    pub fn tick(&mut self, counts: &mut SimulationCounts) -> Result<(), InvariantFailure> {
        let now = self.now();
        self.unban(now, counts);
        for room in 0..self.models.games.len() {
            let action = self.models.games[room].operate(now, counts, self.is_ending);
            self.apply_operator_action(action, room, now, counts);
            let (published, answers) = self.models.games[room].tick(now, counts)?;
            if let Some((epoch, tick, checksum)) = self.models.games[room].world() {
                self.models.worlds.set_room_checksum(epoch, tick, checksum);
            }
            self.replace_restarted(room, now);
            for (worker, schedule) in self.state.workers.iter_mut().zip(&mut self.workers) {
                schedule.ticks[room].push(Arc::clone(&published));
                worker.push_tick(room, &published, answers.clone());
            }
        }
        Ok(())
    }

    /// If a room was restarted, closes the clients of its previous run.
    fn replace_restarted(&mut self, room: usize, now: Duration) {
        let (handles, handle) = (&mut self.state.rooms, &self.models.games[room].handle);
        if Arc::ptr_eq(&handles[room], handle) {
            return;
        }
        let over = std::mem::replace(&mut handles[room], Arc::clone(handle));
        for client in self.state.clients.iter().filter(|client| Arc::ptr_eq(&client.room, &over)) {
            client.close(DisconnectReason::Closed(CloseReason::GoingAway), now);
        }
    }

    fn apply_operator_action(
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
        let SimServer { state, models, bans, .. } = self;
        if matches!(action, OperatorAction::Granted(_)) {
            models.games[room].seats.on_gift(player);
        }
        let Some(Seat::Connected(number)) = state.rooms[room].seat(player) else { return };
        let Some(client) = state.clients.find(number).map(|listed| &listed.client) else { return };
        if matches!(action, OperatorAction::Granted(_)) {
            models.granted.insert(number);
            return;
        }
        if matches!(action, OperatorAction::Kick(_)) {
            counts.add("operator: kick");
            models.games[room].dismiss(player, now);
            client.close(DisconnectReason::Closed(CloseReason::Kicked), now);
            return;
        }
        counts.add("operator: ban");
        let prefix = client.prefix();
        state.admission.ban(prefix);
        bans.push((now + Duration::from_secs(5), client.address));
        for client in state.clients.iter().filter(|client| client.prefix() == prefix) {
            if let Some((game, player)) = models.room_of(client).zip(client.player()) {
                game.dismiss_of(client.id, player, now);
            }
            client.close(DisconnectReason::Closed(CloseReason::Banned), now);
        }
        models.games.iter_mut().for_each(|game| game.dismiss_absent(prefix, now));
    }

    fn unban(&mut self, now: Duration, counts: &mut SimulationCounts) {
        let admission = &self.state.admission;
        self.bans.retain(|(until, address)| {
            let is_over = now >= *until;
            if is_over && admission.unban(AddressPrefix::from_ip(address.ip())) {
                counts.add("operator: unban");
            }
            !is_over
        });
    }

    /// Runs the update passes of the workers that are awake. Returns the clients to which the
    /// complete newest state was sent.
    ///
    /// # Errors
    /// An invariant is broken.
    pub fn run_workers(
        &mut self,
        counts: &mut SimulationCounts,
    ) -> Result<Vec<UpdatedClient>, InvariantFailure> {
        let (now, mut served) = (self.now(), Vec::new());
        let SimServer { state, models, workers, rng, .. } = self;
        for (worker, schedule) in state.workers.iter_mut().zip(workers) {
            if now < schedule.asleep_until {
                counts.add("tick missed by a worker");
                continue;
            }
            if rng.below(200) == 0 {
                let time = rng.between(Duration::from_millis(40), Duration::from_millis(900));
                schedule.asleep_until = now + time;
            }
            for (room, ticks) in schedule.ticks.iter_mut().enumerate() {
                let Some(mut backlog) = worker.take_backlog(room) else { continue };
                if models.injected_bug == Some(InjectedBug::MessageDropped) {
                    backlog.missed_events.clear();
                }
                let mut runner = CheckedRunner::new(now, &state.address_limits, counts);
                worker.run_pass(room, &backlog, now, &mut runner);
                let ticks = std::mem::take(ticks);
                for (number, has_all) in runner.finish()? {
                    let Some(listed) = state.clients.find(number) else { continue };
                    models.expect(&listed.client, &ticks, room);
                    if has_all {
                        let (client, published) = (Arc::clone(&listed.client), Arc::clone(&backlog.newest));
                        served.push(UpdatedClient { client, published });
                    }
                }
            }
        }
        Ok(served)
    }

    /// Compares rate limits and slots with the observations.
    ///
    /// # Errors
    /// A rate limit or the number of slots differs from the observations.
    pub fn check(&self, clients: usize) -> Result<(), InvariantFailure> {
        self.models.check_charged(&self.state.address_limits, self.now())?;
        let places = self.state.admission.in_use(SlotKind::Client);
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
        let is_there = |number| self.state.clients.find(number).is_some();
        self.models.games.iter().try_for_each(|game| game.check_seats(is_there))
    }

    /// Checks that everything has been released.
    ///
    /// # Errors
    /// A resource is still in use.
    pub fn check_end(&self) -> Result<(), InvariantFailure> {
        self.check(0)?;
        let pending = self.state.admission.in_use(SlotKind::Pending);
        if pending != 0 {
            let detail = format!("{pending} requests remain");
            return Err(InvariantFailure::new("every place belongs to a client", detail));
        }
        self.models.games.iter().try_for_each(SimRoom::check_end)
    }
}
