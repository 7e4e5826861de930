//! A slot for one client at a time. When a connection has ended, the slot opens the next
//! connection. Either the same client resumes with its key, or a new client connects. A client that
//! resumes does not wait until the server has noticed the end of the earlier connection.

use core::net::{Ipv4Addr, SocketAddr};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::bot_checker::BotChecker;
use super::client_end::{ClientEnd, ClientKind, SimCheckingBot};
use super::connection_pair::{ConnectionPair, LostConnection};
use super::counts::SimulationCounts;
use super::failure::{InjectedBug, InvariantFailure};
use super::lockstep_bot::{self, LockstepBot};
use super::misbehaving_client::MisbehavingClient;
use super::plan::MAX_ABSENCE;
use super::sim_server::{SimServer, UpdatedClient};
use super::virtual_tcp::VirtualTcp;
use crate::client::bots::Bot;
use crate::client::connection::{ClientConnection, ConnectionKeys};
use crate::connection::session::has_hello;
use crate::game::BotRng;
use crate::game::bots::{Agent, BotBehavior, BotSpec, ClientVariant, Tolerance};
use crate::game::lockstep_packets::has_lockstep;
use crate::packet::{Dialect, Direction, lane_packets};
use crate::testing::hostile::HostileKind;

/// One in this many clients misbehaves.
const MISBEHAVING_ONE_IN: u32 = 7;
/// Number of slots per address.
const PER_ADDRESS: usize = 6;
/// First value: one in this many bots only walks. Second value: the crowd size in the specification
/// of a walking bot.
const WALKER_ONE_IN: (u32, usize) = (4, 100);
/// Maximum number of connections of a slot that have not ended yet.
const MAX_CONNECTIONS: usize = 3;
/// One in this many resuming clients connects from another address.
const ROAMING_ONE_IN: u32 = 3;
/// Number of seats that one seat holder occupies one after the other.
const HELD_SEATS: u32 = 48;

/// A client with one connection, or several connections if it resumes.
#[derive(Debug, Clone)]
struct ClientVisit {
    index: usize,
    variant: ClientVariant,
    target: String,
    has_key: bool,
    /// The client's behaviour in lockstep, if its dialect has lockstep.
    lockstep: Option<lockstep_bot::LockstepBehavior>,
    /// Whether the client requests a lane.
    has_lane: bool,
    /// Hashes of the reliable packets that the client has received.
    received: BTreeSet<u32>,
}

/// A slot for one client at a time.
pub struct ClientSlot {
    number: usize,
    /// Size and seed of the crowd.
    crowd: (usize, u64),
    rooms: usize,
    address: SocketAddr,
    rng: BotRng,
    /// The connections that have not ended, the newest last.
    sessions: Vec<ConnectionPair>,
    /// The client of the newest connection.
    visit: Option<ClientVisit>,
    /// Whether the next connection is from the same client.
    is_resume: bool,
    next: Duration,
    generation: usize,
    /// Number of seats that the current seat holder has not occupied yet.
    seats: u32,
}

impl ClientSlot {
    /// Creates a slot. Its first connection starts within 5 s.
    pub fn new((number, count, crowd_seed): (usize, usize, u64), rooms: usize, seed: u64) -> ClientSlot {
        let mut rng = BotRng::new(seed);
        let ip = Ipv4Addr::from_bits(0x0a00_0001 + (number / PER_ADDRESS) as u32);
        ClientSlot {
            number,
            crowd: (count, crowd_seed),
            rooms,
            address: SocketAddr::from((ip, 10_000 + number as u16)),
            next: rng.between(Duration::ZERO, Duration::from_secs(5)),
            rng,
            sessions: Vec::new(),
            visit: None,
            is_resume: false,
            generation: 0,
            seats: 0,
        }
    }

    /// Runs one step of all connections, and may open another connection.
    ///
    /// # Errors
    /// An invariant is broken.
    pub fn step(
        &mut self,
        host: &mut SimServer,
        counts: &mut SimulationCounts,
        may_begin: bool,
    ) -> Result<(), InvariantFailure> {
        let now = host.now();
        if self.sessions.is_empty() || self.is_resume && self.sessions.len() < MAX_CONNECTIONS {
            if may_begin && now >= self.next {
                self.begin(host, counts)?;
                return Ok(());
            }
            if self.sessions.is_empty() {
                return Ok(());
            }
        }
        for session in &mut self.sessions {
            session.step(host, counts)?;
        }
        if let Some(parting) = self.sessions.last_mut().and_then(ConnectionPair::take_parting) {
            self.schedule_resume(parting, now);
        }
        self.sessions.retain(|session| !session.is_over());
        if self.sessions.is_empty() && !self.is_resume {
            let most = if self.seats > 0 { Duration::from_millis(200) } else { Duration::from_secs(4) };
            let pause = self.rng.between(Duration::from_millis(100), most);
            self.next = self.next.max(now + pause);
        }
        Ok(())
    }

    /// Decides whether a client that has lost its connection resumes, and chooses the time.
    fn schedule_resume(&mut self, LostConnection { marks }: LostConnection, now: Duration) {
        let Some(visit) = self.visit.as_mut().filter(|visit| visit.has_key) else { return };
        visit.received = marks;
        self.is_resume = self.rng.below(8) > 0;
        if !self.is_resume {
            return;
        }
        let most = match self.rng.below(10) {
            0..=5 => Duration::from_secs(2),
            6..=8 => MAX_ABSENCE / 2,
            _ => MAX_ABSENCE * 3 / 2,
        };
        self.next = self.next.max(now + self.rng.between(Duration::ZERO, most));
    }

    /// Whether the slot has no connection.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// Whether one of the connections belongs to this client.
    pub fn has(&self, client: u64) -> bool {
        self.sessions.iter().any(|session| session.client() == Some(client))
    }

    /// Number of connections that hold a client slot.
    pub fn clients(&self) -> usize {
        self.sessions.iter().filter(|session| session.client().is_some()).count()
    }

    /// Disconnects the clients: bots with a close frame, other clients without.
    pub fn leave(&mut self) {
        self.sessions.iter_mut().for_each(ConnectionPair::leave);
    }

    /// Closes the sockets of the clients.
    pub fn close(&mut self) {
        self.sessions.iter_mut().for_each(ConnectionPair::close);
    }

    /// Disconnects the client, and starts the next client at `time`.
    pub fn reconnect_at(&mut self, time: Duration) {
        self.leave();
        self.next = time;
    }

    /// Injects a bug: the connections lose bytes.
    pub fn lose_bytes(&self) {
        self.sessions.iter().for_each(ConnectionPair::lose_bytes);
    }

    /// Compares the client's world model with the published state; see [`ConnectionPair::compare`].
    ///
    /// # Errors
    /// The world model differs from the published state.
    pub fn compare(&mut self, served: &UpdatedClient, host: &SimServer) -> Result<bool, InvariantFailure> {
        let mut sessions = self.sessions.iter_mut();
        let session = sessions.find(|session| session.client() == Some(served.client.id));
        session.map_or(Ok(false), |session| session.compare(served, host))
    }

    /// See [`ConnectionPair::check`].
    ///
    /// # Errors
    /// A check failed.
    pub fn check(&mut self, host: &SimServer) -> Result<usize, InvariantFailure> {
        self.sessions.iter_mut().try_fold(0, |events, session| Ok(events + session.check(host)?))
    }

    fn begin(&mut self, host: &mut SimServer, counts: &mut SimulationCounts) -> Result<(), InvariantFailure> {
        let now = host.now();
        let is_resume = std::mem::take(&mut self.is_resume);
        if !is_resume {
            self.generation += 1;
        }
        let min = Duration::from_millis(self.rng.below(60).into());
        let wire = VirtualTcp::new(
            &host.clock,
            self.rng.bits(),
            [min, min + Duration::from_millis(40)],
            host.net.as_ref(),
        );
        let kind = if is_resume { None } else { self.hostile() };
        if host.models.injected_bug == Some(InjectedBug::DatagramsDoubled) {
            wire.udp.send_twice();
        }
        let visit = match self.visit.take().filter(|_| is_resume) {
            Some(visit) => visit,
            None => self.visit(host, kind),
        };
        let (name, _, is_json) = visit.variant;
        let Some(dialect) = host.state.codes.dialect(name) else { return Ok(()) };
        let (who, out) = if let Some(kind) = kind {
            counts.add(kind.count_name());
            let hostile = MisbehavingClient::new(kind, (host.game.info, dialect), self.rng.bits(), now);
            let request = hostile.request(&visit.target);
            (ClientKind::Hostile(Box::new(hostile)), request)
        } else {
            counts.add(if is_json { "bot: json" } else { "bot: msgpack" });
            let mut bot = self.bot(host, dialect, &visit)?;
            if is_resume {
                bot.agent.tolerate(Tolerance::Resumed);
            }
            (ClientKind::Bot(Box::new(bot)), Vec::new())
        };
        let address = match visit.lockstep.filter(|_| kind.is_none()) {
            Some(lockstep_bot::LockstepBehavior::FalseChecksums) => self.separate_address(),
            _ => self.address(is_resume),
        };
        let mut client_end = ClientEnd::new(wire, who, out, self.rng.bits(), now);
        if visit.has_key {
            client_end.schedule_disconnect(now);
        }
        if host.net.is_some() {
            client_end.cause_stall();
        }
        if is_resume {
            self.sessions.iter_mut().for_each(|session| session.is_followed = true);
        }
        let ends = (client_end, address, self.rng.bits());
        self.sessions.push(ConnectionPair::new(ends, visit.variant, visit.received.clone(), (host, counts)));
        self.visit = Some(visit);
        Ok(())
    }

    /// Chooses the misbehaviour of the next client; `None` for a bot.
    fn hostile(&mut self) -> Option<HostileKind> {
        if self.seats > 0 {
            self.seats -= 1;
            return Some(HostileKind::SeatHolders);
        }
        let misbehaves = self.rng.below(MISBEHAVING_ONE_IN) == 0;
        let kind = if misbehaves { self.rng.choose(&HostileKind::SIMULATED).copied() } else { None };
        if kind == Some(HostileKind::SeatHolders) {
            self.seats = HELD_SEATS;
        }
        kind
    }

    /// The address of the next connection.
    fn address(&mut self, is_resume: bool) -> SocketAddr {
        if !is_resume || self.rng.below(ROAMING_ONE_IN) > 0 {
            return self.address;
        }
        let place = self.number as u32 * 16 + self.rng.below(16);
        SocketAddr::from((Ipv4Addr::from_bits(0x0a40_0000 + place), 20_000))
    }

    /// A separate address for each slot, because false checksums reduce the snapshots that an
    /// address may receive.
    fn separate_address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::from_bits(0x0a80_0000 + self.number as u32), 30_000))
    }

    /// Creates a new client.
    fn visit(&mut self, host: &SimServer, kind: Option<HostileKind>) -> ClientVisit {
        let variant = host.variants[(self.number + self.generation) % host.variants.len()];
        let (name, path, is_json) = variant;
        let room = match self.rng.below(self.rooms as u32) {
            0 => String::new(),
            _ if kind == Some(HostileKind::SeatHolders) => String::new(),
            room => format!("/r/room-{room}"),
        };
        let format = if is_json && kind.is_none() { "&format=json" } else { "" };
        let is_holder = kind == Some(HostileKind::SeatHolders);
        let has_key = is_holder || kind.is_none() && self.rng.below(3) > 0;
        let key = match has_key {
            true => format!("&inspect_key={:016x}{:016x}", self.rng.bits(), self.rng.bits()),
            false => String::new(),
        };
        // A separate generator keeps all other choices equal with and without lanes.
        let mut lane_dice = BotRng::new(self.crowd.1 << 32 ^ (self.number << 16 ^ self.generation) as u64);
        ClientVisit {
            index: self.number + 1_000 * self.generation,
            variant,
            target: format!("{room}{path}?dialect={name}{format}{key}"),
            has_key: has_key && !is_holder,
            lockstep: in_lockstep(&mut BotRng::new(self.rng.bits())),
            has_lane: !is_json && lane_dice.below(100) < host.lanes_percent,
            received: BTreeSet::new(),
        }
    }

    fn bot(
        &mut self,
        host: &SimServer,
        dialect: Arc<Dialect>,
        visit: &ClientVisit,
    ) -> Result<SimCheckingBot, InvariantFailure> {
        let keys = ConnectionKeys { upgrade: [7; 16], mask: || [1, 2, 3, 4] };
        let link = ClientConnection::new("localhost:3000", &visit.target, has_hello(&dialect), keys);
        let seed = self.rng.bits();
        let (count, crowd_seed) = self.crowd;
        let (behavior, count) = match self.rng.below(WALKER_ONE_IN.0) {
            0 => (BotBehavior::Walk, WALKER_ONE_IN.1),
            _ => (BotBehavior::Play, count),
        };
        let spares_visitors = false;
        let lockstep = visit.lockstep.filter(|_| has_lockstep(&dialect));
        let part = BotSpec {
            index: visit.index,
            count,
            seed,
            crowd_seed,
            behavior,
            name: None,
            spares_visitors,
            // A lockstep client generates the packets for its agent itself, so the agent does not
            // check the packets. Instead, the simulation compares the client's world with the world
            // of the room.
            is_checking: lockstep.is_none(),
            dialect: Arc::clone(&dialect),
        };
        let Some(mut agent): Option<Box<dyn Agent>> = host.game.info.agent(&part) else {
            return Err(InvariantFailure::new("the game has bots", host.game.info.name));
        };
        agent.tolerate(Tolerance::SharedAddress);
        if let Some(kind) = lockstep {
            agent = Box::new(LockstepBot::new(host.game.info, part, agent, kind, host.models.injected_bug));
        }
        let bot_dialect = Arc::clone(&dialect);
        let mut bot = Bot::new(link, dialect, agent, BotChecker::default());
        bot.is_json = visit.variant.2;
        bot.observer.injected_bug = host.models.injected_bug;
        let has_rows = bot_dialect.row(Direction::ToServer, lane_packets::REQUEST).is_some();
        if visit.has_lane && has_rows && lockstep.is_none() {
            bot.use_lane();
        }
        Ok(bot)
    }
}

/// Chooses whether a client uses lockstep, and its behaviour.
fn in_lockstep(rng: &mut BotRng) -> Option<lockstep_bot::LockstepBehavior> {
    match rng.below(12) {
        0 | 1 => Some(lockstep_bot::LockstepBehavior::Honest),
        2 | 3 => Some(lockstep_bot::LockstepBehavior::Corrupts),
        4 => Some(lockstep_bot::LockstepBehavior::FalseChecksums),
        _ => None,
    }
}
