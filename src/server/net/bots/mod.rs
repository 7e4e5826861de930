//! The bots of a server: players that fill its rooms while few people play. One thread runs all of
//! them, 20 times a second. While there are none, it counts people once a second.
//!
//! ```text
//!  rooms, clients ─► occupancy ─► number of bots ─► bots enter and leave
//!  update workers ─► stream in memory ─► bot ─► bytes ─► ClientDriver, as for any client
//! ```
//!
//! A bot is a client like others: with a request, a session, commands, updates, and a place in
//! captures, in `/wire` and in the operator's list. It is not counted among the clients of its room
//! and of the server, uses no slot and no rate limit of an address, needs no token, and has no
//! resume key. Its player therefore leaves as soon as the bot does.

mod bot_client;
mod signal;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tracing::{debug, error};

use self::bot_client::BotClient;
pub use self::signal::BotSignal;
use super::rooms::RunningRoom;
use super::server_state::ServerState;
use super::tcp_client::TcpClient;
use crate::connection::DisconnectReason;
use crate::game::bots::names;
use crate::game::{BotRng, CloseReason};
use crate::limits;
use crate::server::bots::{ConnectionKeys, LocalBot, Occupancy};
use crate::util::os;

/// Why a bot leaves: a person takes its place, or the server stops.
const LEAVES: DisconnectReason = DisconnectReason::Closed(CloseReason::GoingAway);

/// The bots of all rooms, the oldest first.
struct ServerBots<'a> {
    host: &'a ServerState,
    bots: Vec<BotClient>,
    random: BotRng,
    /// Seed shared by all bots.
    crowd_seed: u64,
    /// Time of the next comparison of bots and people.
    counts_at: Duration,
}

/// Runs the bots until the server stops.
pub fn run(host: &ServerState) {
    let mut random = BotRng::new(u64::from_le_bytes(os::random()));
    let crowd_seed = random.bits();
    let mut all = ServerBots { host, bots: Vec::new(), random, crowd_seed, counts_at: Duration::ZERO };
    while !host.is_stopping() {
        if host.now() >= all.counts_at {
            all.counts_at = host.now() + limits::BOTS_COUNT_INTERVAL;
            all.populate();
        }
        all.step();
        host.bots.sleep(all.pause());
    }
    all.bots.iter_mut().for_each(|bot| bot.end(host, LEAVES));
}

/// Removes the bots for which a room is too small now that a client has entered it, before the
/// client can join. Only games with a maximum number of players need this.
pub fn make_room(host: &ServerState, room: &RunningRoom) {
    if host.config.bots == 0 {
        return;
    }
    if room.handle.properties.get().max_players().is_some() {
        let mut bots = host.clients.all();
        let players = players_by_room(&bots);
        bots.retain(|client| client.transport.room.number == room.number && client.transport.is_bot());
        for bot in bots.iter().skip(occupancy(room, &players).bots(host.config.bots)) {
            bot.close(LEAVES, host.now());
            bot.leave_world(host.now());
        }
    }
    host.bots.wake();
}

/// Returns random keys for a bot's connection, from the kernel.
fn random_keys() -> ConnectionKeys {
    ConnectionKeys { upgrade: os::random(), mask: os::random }
}

/// Counts the players that are no bots, by the number of the room's run.
fn players_by_room(clients: &[Arc<TcpClient>]) -> BTreeMap<u64, usize> {
    let mut players = BTreeMap::new();
    for client in clients.iter().filter(|client| client.player().is_some() && !client.transport.is_bot()) {
        *players.entry(client.transport.room.number).or_default() += 1;
    }
    players
}

/// Returns the occupancy of a room by people.
fn occupancy(room: &RunningRoom, players: &BTreeMap<u64, usize>) -> Occupancy {
    Occupancy {
        is_default: room.path_name.is_empty(),
        clients: room.clients(),
        players: players.get(&room.number).copied().unwrap_or_default(),
        suspended: room.handle.suspended_seats(),
        max_players: room.handle.properties.get().max_players(),
    }
}

impl ServerBots<'_> {
    /// Returns the time until the next step; `None` to sleep until a client comes. The default room
    /// may need bots without a client: after a panic, or when its last suspended player leaves.
    fn pause(&self) -> Option<Duration> {
        if !self.bots.is_empty() {
            return Some(limits::BOTS_STEP_INTERVAL);
        }
        let may_need_bots = self.host.clients.count() > 0 || self.host.room().handle.game.has_bot_policy();
        may_need_bots.then_some(limits::BOTS_IDLE_INTERVAL)
    }

    /// Lets surplus bots leave, and lets at most one bot enter each room.
    fn populate(&mut self) {
        let host = self.host;
        let (rooms, players) = (host.rooms.all(), players_by_room(&host.clients.all()));
        let is_listed = |bot: &BotClient| rooms.iter().any(|room| Arc::ptr_eq(room, &bot.room));
        for mut bot in self.bots.extract_if(.., |bot| !is_listed(bot) || bot.room.is_ending()) {
            bot.end(host, LEAVES);
        }
        for room in rooms.iter().filter(|room| room.handle.game.has_bot_policy()) {
            let is_running = !room.is_ending() && !room.handle.is_over();
            let wanted = if is_running { occupancy(room, &players).bots(host.config.bots) } else { 0 };
            let mut left = wanted;
            let is_surplus = |bot: &mut BotClient| {
                let is_here = Arc::ptr_eq(&bot.room, room);
                let is_kept = is_here && left > 0;
                left -= usize::from(is_kept);
                is_here && !is_kept
            };
            for mut bot in self.bots.extract_if(.., is_surplus) {
                bot.end(host, LEAVES);
            }
            if left > 0 {
                self.add(room);
            }
        }
    }

    /// Adds a bot to a room.
    fn add(&mut self, room: &Arc<RunningRoom>) {
        if self.bots.len() >= limits::SERVER_BOTS {
            return;
        }
        let (host, bots) = (self.host, &self.bots);
        let people = host.clients.all();
        let is_taken = |name: &str| {
            let is_bots = bots.iter().any(|bot| Arc::ptr_eq(&bot.room, room) && bot.name() == name);
            let is_persons = |client: &Arc<TcpClient>| {
                client.transport.room.number == room.number && client.joined.name().eq_ignore_ascii_case(name)
            };
            is_bots || people.iter().any(is_persons)
        };
        let Some(name) = names::choose(&mut self.random, is_taken) else { return };
        let number = (0..).find(|number| bots.iter().all(|bot| bot.number() != *number)).unwrap_or(0);
        let seeds = (self.random.bits(), host.config.bots, self.crowd_seed);
        let game = (room.handle.game, Arc::clone(&host.config.codes));
        let mut bot = LocalBot::new(game, number, seeds, random_keys);
        bot.name = Some(name.to_owned());
        bot.room = Arc::clone(&room.path_name);
        debug!(room = room.label(), name, "a bot comes");
        self.bots.push(BotClient::new(Arc::clone(room), bot));
    }

    /// Lets each bot receive, act and send. A panic ends only the connection of its bot, which
    /// connects again after a pause.
    fn step(&mut self) {
        let host = self.host;
        for bot in &mut self.bots {
            if catch_unwind(AssertUnwindSafe(|| bot.step(host))).is_err() {
                host.metrics.panics.inc();
                error!(room = bot.room.label(), "a panic ended a bot; this is a bug in the bots of the game");
                bot.end(host, DisconnectReason::Closed(CloseReason::InternalError));
                bot.pause(host);
            }
        }
    }
}
