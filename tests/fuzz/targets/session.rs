//! A whole game without sockets: arbitrary bytes of several clients, the world that they change,
//! and the messages that they receive.
//!
//! ```text
//!   script ─► bytes ─► frames ─► packets ─► session ─► commands ─► world ─► published tick ─► views ─► messages
//!                                                         └─► log ─► a second world: the same checksum before each tick
//! ```
//!
//! The input is a script, see [`Game::act`]. Every message to a client decodes in its dialect; a
//! world restored from a snapshot that executes the logged commands is identical after each tick;
//! snapshots of the last world and of each session round-trip.

mod client;
mod log;

use std::sync::OnceLock;
use std::time::Duration;

use client::Client;
use log::Log;
use tickwire::game::{Publisher as _, UpdateRates};
use tickwire::games::moo::MooPublisher;
use tickwire::games::moo::world::rules::{AnimalKind, ITEMS};
use tickwire::games::moo::world::{Action, Command, Identity, PlayerId, Resource, Spawned, TickHz, World};
use tickwire::packet::PacketTables;

/// Ticks of one script: enough to swing and to be struck.
const TICKS_MOST: u32 = 30;
/// Time between two ticks.
const TICK: Duration = Duration::from_millis(33);
/// Dialects of the clients, and whether they speak JSON.
const CLIENTS: [(&str, bool); 4] =
    [("native", false), ("legacy", false), ("letters", false), ("native", true)];
const SPAWNED: [Spawned; 4] = [
    Spawned::Animal(AnimalKind::Wolf),
    Spawned::Animal(AnimalKind::Cow),
    Spawned::Item(17),
    Spawned::Item(3),
];

/// See the [module](self).
pub fn run(script: &[u8]) {
    let mut game = Game::new();
    let mut rest = script;
    while !rest.is_empty() && game.ticks < TICKS_MOST {
        game.act(&mut rest);
    }
    game.tick();
    game.log.replay(start(), &game.world);
    let again = World::restore(&game.world.snapshot()).expect("a snapshot of a world");
    assert!(again == game.world, "a restored world is another one");
    game.clients.iter().for_each(|client| client.remembers(game.now));
}

/// The world in which every script begins, made from its own snapshot.
fn start() -> &'static World {
    static START: OnceLock<World> = OnceLock::new();
    START.get_or_init(|| {
        let mut world = World::new(Identity { seed: 4, map_size_px: 1_440, tick_hz: TickHz::Hz30 });
        for _ in 0..10 {
            world.step(&mut Vec::new());
        }
        World::restore(&world.snapshot()).expect("a snapshot of a world")
    })
}

/// The world, who is in it, and what waits.
struct Game {
    world: World,
    publisher: MooPublisher,
    clients: [Client; 4],
    /// Commands with the tick that they are meant for.
    waiting: Vec<(u32, Command)>,
    operator_sequence: u64,
    players: u16,
    now: Duration,
    ticks: u32,
    log: Log,
}

impl Game {
    fn new() -> Game {
        let world = start().clone();
        let now = Duration::from_secs(100);
        let codes = PacketTables::builtin();
        Game {
            publisher: MooPublisher::new(&world, UpdateRates { tick_hz: 30, update_hz: 30, foreign_hz: 10 }),
            clients: CLIENTS
                .map(|(name, json)| Client::new(codes.dialect(name).expect("built in"), json, now)),
            waiting: Vec::new(),
            operator_sequence: world.operator_sequence(),
            players: 0,
            now,
            ticks: 0,
            log: Log::default(),
            world,
        }
    }

    /// One step of the script: a byte says what (bits 2 to 4) and who (bits 0 and 1), then come its arguments.
    ///
    /// ```text
    ///   0 bytes as they travel      length, bytes          4 ticks             how many
    ///   1 payload of a message      length, bytes          5 time passes       tens of ms
    ///   2 arguments of a packet     row, length, bytes     6 the client goes, and another one comes
    ///   3 a packet of numbers       row, numbers' count…   7 an operator command
    /// ```
    fn act(&mut self, rest: &mut &[u8]) {
        let step = take(rest);
        let who = usize::from(step & 0b11);
        match step >> 2 & 0b111 {
            0 => {
                let bytes = take_bytes(rest);
                self.hear(who, bytes);
            }
            1 => {
                let bytes = self.clients[who].framed(take_bytes(rest));
                self.hear(who, &bytes);
            }
            2 => {
                let row = take(rest);
                let bytes = self.clients[who].packet(row, take_bytes(rest));
                self.hear(who, &bytes);
            }
            3 => {
                let row = take(rest);
                let numbers = take_bytes(rest);
                let bytes = self.clients[who].packet_of_numbers(row, numbers);
                self.hear(who, &bytes);
            }
            4 => (0..=take(rest) % 8).for_each(|_| self.tick()),
            5 => self.now += Duration::from_millis(10) * u32::from(take(rest)),
            6 => self.change(who),
            _ => self.operate(take(rest), take(rest)),
        }
    }

    fn hear(&mut self, who: usize, bytes: &[u8]) {
        let was_playing = self.clients[who].player();
        let asked = self.clients[who].hear(bytes, self.now, self.world.tick(), &mut self.players);
        for action in asked.of_operator {
            self.command_operator(action);
        }
        let next = self.world.tick();
        self.waiting.extend(
            asked
                .commands
                .into_iter()
                .map(|(command, tick)| (tick.unwrap_or(next).clamp(next, next.saturating_add(30)), command)),
        );
        if self.clients[who].is_over()
            && let Some(player) = self.clients[who].leave().or(was_playing)
        {
            self.command_operator(Action::Leave { player });
        }
    }

    fn command_operator(&mut self, action: Action) {
        self.operator_sequence += 1;
        let command = Command { player: PlayerId::OPERATOR, sequence: self.operator_sequence, action };
        self.waiting.push((self.world.tick(), command));
    }

    fn change(&mut self, who: usize) {
        if let Some(player) = self.clients[who].leave() {
            self.command_operator(Action::Leave { player });
        }
        self.clients[who].begin_again(self.now);
    }

    fn operate(&mut self, what: u8, value: u8) {
        let player = PlayerId(u16::from(value % 8));
        let body = self.world.player(player).map(|view| view.body);
        let place = body.map_or((700, 700), |body| (body.x.to_px(), body.y.to_px()));
        let [x_px, y_px] = [place.0 + i32::from(value >> 3) * 8, place.1]
            .map(|px| u16::try_from(px.max(0)).unwrap_or(u16::MAX));
        self.command_operator(match what % 8 {
            0 => Action::Spawn { what: Spawned::Item(what / 8 % ITEMS.len() as u8), x_px, y_px },
            1..=3 => Action::Spawn { what: SPAWNED[usize::from(what / 8) % SPAWNED.len()], x_px, y_px },
            4 => Action::Announce { text: format!("number {value}") },
            5 => Action::Leave { player },
            6 => Action::Grant {
                player,
                resource: Resource::ALL[usize::from(what / 8) % 4],
                amount: u32::from(value) * 9,
            },
            _ => {
                Action::Grant { player, resource: Resource::ALL[usize::from(what / 8) % 4], amount: u32::MAX }
            }
        });
    }

    fn tick(&mut self) {
        let tick = self.world.tick();
        let mut commands = Vec::new();
        self.waiting.retain(|(at, command)| {
            let is_due = *at <= tick;
            if is_due {
                commands.push(command.clone());
            }
            !is_due
        });
        self.log.note(&self.world, &commands);
        self.world.step(&mut commands);
        self.now += TICK;
        self.ticks += 1;
        let published = self.publisher.publish(&self.world, &|player| player.0 as i16 - 2);
        self.clients.iter_mut().for_each(|client| client.be_told(&published));
    }
}

/// The next byte of a script, or 0 at its end.
fn take(rest: &mut &[u8]) -> u8 {
    let Some((first, after)) = rest.split_first() else { return 0 };
    *rest = after;
    *first
}

/// As many of the next bytes as the first of them says, or all there are.
fn take_bytes<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let length = usize::from(take(rest)).min(rest.len());
    let (taken, after) = rest.split_at(length);
    *rest = after;
    taken
}
