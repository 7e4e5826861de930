//! Spectators that share updates receive the same bytes as if each view computed its own: many views over a random world, each with a
//! twin that shares nothing. Views come late, change their player, are behind, and miss ticks.

use std::collections::BTreeMap;
use std::sync::Arc;

use tickwire::game::{LaneBaseline, Messages, Publisher as _, StateOutcome, UpdateRates, View as _};
use tickwire::internal::games::moo::feed::Events;
use tickwire::internal::games::moo::world::rules::{AnimalKind, Resource};
use tickwire::internal::games::moo::world::{
    Action, Angle, Command, Identity, PlayerId, Selection, Spawned, TickHz, World,
};
use tickwire::internal::games::moo::{MooPublisher, MooScratch, MooView};
use tickwire::packet::{Dialect, Direction, PacketTables};

use crate::told::Published;

const PLAYERS: u16 = 14;
const SPECTATORS: usize = 24;

/// A stream of numbers that a seed repeats.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn player(&mut self) -> u16 {
        1 + self.below(PLAYERS.into()) as u16
    }
}

/// Players that do all that a command can request.
struct Crowd {
    world: World,
    publisher: MooPublisher,
    random: Random,
    sequences: BTreeMap<u16, u64>,
    /// Whether the players mostly stand still, so that clients that are behind for another time differ little.
    is_calm: bool,
}

impl Crowd {
    fn new((seed, map_size_px, update_hz, is_calm): (u64, u32, u32, bool)) -> Crowd {
        let world = World::new(Identity { seed: seed as u32, map_size_px, tick_hz: TickHz::Hz30 });
        let publisher = MooPublisher::new(&world, UpdateRates { tick_hz: 30, update_hz, foreign_hz: 10 });
        let mut crowd = Crowd { world, publisher, random: Random(seed), sequences: BTreeMap::new(), is_calm };
        let mut commands = Vec::new();
        for player in 1..=PLAYERS {
            commands.push(crowd.join(player));
            for resource in Resource::ALL {
                let action = Action::Grant { player: PlayerId(player), resource, amount: 5_000 };
                commands.push(crowd.command(0, action));
            }
        }
        crowd.world.step(&mut commands);
        crowd
    }

    fn command(&mut self, player: u16, action: Action) -> Command {
        let sequence = self.sequences.entry(player).or_default();
        *sequence += 1;
        Command { player: PlayerId(player), sequence: *sequence, action }
    }

    fn join(&mut self, player: u16) -> Command {
        self.sequences.remove(&player);
        self.command(0, Action::Join { player: PlayerId(player), name: format!("p{player}"), skin: 1 })
    }

    fn step(&mut self) -> Published {
        let mut commands = Vec::new();
        for player in 1..=PLAYERS {
            let view = self.world.player(PlayerId(player));
            let is_here = view.is_some();
            if view.is_some_and(|view| !view.alive) && self.random.below(20) == 0 {
                commands.push(self.command(player, Action::Respawn { name: format!("q{player}"), skin: 2 }));
            }
            match self.random.below(400) {
                _ if !is_here => {
                    if self.random.below(60) == 0 {
                        commands.push(self.join(player));
                    }
                }
                0 => commands.push(self.command(0, Action::Leave { player: PlayerId(player) })),
                _ => {
                    if let Some(action) = self.action() {
                        commands.push(self.command(player, action));
                    }
                }
            }
        }
        commands.extend(self.operator_command());
        self.world.step(&mut commands);
        self.publisher.publish(&self.world, &|_| 0)
    }

    fn action(&mut self) -> Option<Action> {
        let random = &mut self.random;
        let mut angle = || Angle(random.below(65_536) as u16);
        let (direction, heading) = (angle(), angle());
        let clan = |random: &mut Random| format!("c{}", random.below(5));
        if self.is_calm && random.below(8) > 0 {
            return Some(Action::Move { direction: None }).filter(|_| random.below(3) == 0);
        }
        Some(match random.below(240) {
            0..=7 => Action::Move { direction: Some(direction) },
            8 | 9 => Action::Move { direction: None },
            10..=15 => Action::Aim { heading },
            16..=21 => Action::Attack { on: true },
            22 | 23 => Action::Attack { on: false },
            24 | 25 => Action::Chat { text: format!("chat {}", random.below(9)) },
            26..=28 => Action::Upgrade { choice: random.below(40) as u8 },
            29..=31 => Action::Select { what: Selection::Item(random.below(20) as u8) },
            32 | 33 => Action::Select { what: Selection::Weapon(random.below(15) as u8) },
            34 => Action::ClanCreate { name: clan(random) },
            35 if random.below(3) == 0 => Action::ClanLeave,
            36 | 37 => Action::ClanRequest { name: clan(random) },
            38..=42 => Action::ClanAnswer { player: PlayerId(0), accept: true },
            43 => Action::ClanKick { player: PlayerId(random.player()) },
            44 => Action::Ping,
            _ => return None,
        })
    }

    /// Animals, structures and turrets appear near a player; the operator sends a notice.
    fn operator_command(&mut self) -> Option<Command> {
        let player = PlayerId(self.random.player());
        let body = self.world.player(player)?.body;
        let mut near = |at: i32| u16::try_from(at - 300 + self.random.below(600) as i32).unwrap_or_default();
        let (x_px, y_px) = (near(body.x.to_px()), near(body.y.to_px()));
        let action = match self.random.below(60) {
            0 => Action::Spawn { what: Spawned::Animal(AnimalKind::Wolf), x_px, y_px },
            1 => Action::Spawn { what: Spawned::Animal(AnimalKind::Cow), x_px, y_px },
            2..=4 => Action::Spawn { what: Spawned::Item(self.random.below(20) as u8), x_px, y_px },
            5 if self.random.below(4) == 0 => Action::Announce { text: "notice".to_owned() },
            6 | 7 => Action::Grant { player, resource: Resource::Gold, amount: 400 },
            _ => return None,
        };
        Some(self.command(0, action))
    }
}

/// Everything that decides about an update besides the ticks.
#[derive(Clone, Copy, Default)]
struct Inputs {
    player: Option<PlayerId>,
    spectated: Option<PlayerId>,
    is_behind: bool,
    has_lane: bool,
    lane: Option<LaneBaseline>,
}

/// A client whose update is computed twice: by a view that may share, and by one that cannot.
struct Client {
    view: MooView,
    twin: MooView,
    /// Only of the twin.
    scratch: MooScratch,
    inputs: Inputs,
    /// Updates begin after so many ticks.
    begins: u32,
    /// Whether the client plays now and then.
    plays: bool,
    /// Whether it gets a lane.
    gets_lane: bool,
}

impl Client {
    fn new(dialect: &Dialect, begins: u32) -> Client {
        Client {
            view: MooView::new(dialect),
            twin: MooView::new(dialect),
            scratch: MooScratch::default(),
            inputs: Inputs::default(),
            begins,
            plays: false,
            gets_lane: false,
        }
    }

    /// Changes the inputs now and then.
    fn vary(&mut self, tick: u32, random: &mut Random) {
        let Inputs { player, spectated, is_behind, has_lane, lane } = &mut self.inputs;
        if random.below(150) == 0 {
            *spectated = Some(PlayerId(random.player())).filter(|_| random.below(3) > 0);
        }
        // A client is behind for some ticks in a row.
        *is_behind =
            random.below(if *is_behind { 4 } else { 100 }) == 0 || *is_behind && random.below(2) == 0;
        if self.plays && random.below(100) == 0 {
            *player = Some(PlayerId(random.player())).filter(|_| random.below(2) == 0);
        }
        if self.gets_lane {
            *has_lane |= random.below(300) == 0;
            let acked_tick = tick.checked_sub(3);
            let is_in_use = *has_lane && random.below(40) > 0;
            *lane = is_in_use.then_some(LaneBaseline { acked_tick, is_stream_due: tick.is_multiple_of(4) });
        }
    }

    /// Returns the update: its outcome, messages, and datagrams.
    fn update(
        view: &mut MooView,
        inputs: Inputs,
        (missed, published): (&[Arc<Events>], &Published),
        dialect: &Dialect,
        scratch: &mut MooScratch,
    ) -> (StateOutcome, Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let mut messages = Messages::default();
        messages.set_lane(inputs.has_lane, inputs.lane);
        view.set_subject(inputs.player, inputs.spectated);
        let outcome = view.update(missed, published, inputs.is_behind, dialect, scratch, &mut messages);
        (outcome, messages.iter().map(Vec::from).collect(), messages.datagram().map(Vec::from).collect())
    }
}

/// Returns how many packets of each name the spectators received.
fn follow((seed, map_size_px, update_hz, is_calm): (u64, u32, u32, bool)) -> BTreeMap<String, usize> {
    let dialect = PacketTables::builtin().dialect("native").expect("built in");
    let mut random = Random(seed ^ 77);
    let mut crowd = Crowd::new((seed, map_size_px, update_hz, is_calm));
    let mut clients: Vec<Client> = (0..SPECTATORS)
        .map(|index| Client::new(&dialect, if index < 8 { 0 } else { random.below(500) as u32 }))
        .collect();
    clients[SPECTATORS - 4..SPECTATORS - 2].iter_mut().for_each(|client| client.plays = true);
    clients[SPECTATORS - 2..].iter_mut().for_each(|client| client.gets_lane = true);
    let (mut shared, mut missed, mut received) = (MooScratch::default(), Vec::new(), BTreeMap::new());
    for _ in 0..900 {
        let published = crowd.step();
        if random.below(6) == 0 {
            missed.push(Arc::clone(&published.events));
            continue;
        }
        for (index, client) in clients.iter_mut().enumerate() {
            client.vary(published.tick, &mut random);
            let Some(new) = published.tick.checked_sub(client.begins).filter(|new| *new > 0) else {
                continue;
            };
            let missed = &missed[missed.len().saturating_sub(new as usize - 1)..];
            let ticks = (missed, &published);
            let one = Client::update(&mut client.view, client.inputs, ticks, &dialect, &mut shared);
            let other = Client::update(&mut client.twin, client.inputs, ticks, &dialect, &mut client.scratch);
            assert_eq!(one, other, "seed {seed}, tick {}, client {index}", published.tick);
            for message in &one.1 {
                let packet = dialect.decode(Direction::ToClient, message).expect("our own message");
                *received.entry(packet.row.name.clone()).or_default() += 1;
            }
        }
        missed.clear();
    }
    received
}

#[test]
fn a_shared_update_has_the_bytes_that_the_view_computes_by_itself() {
    let mut received: BTreeMap<String, usize> = BTreeMap::new();
    let worlds = [(1, 1_440, 30, false), (2, 3_000, 30, false), (3, 3_000, 20, false), (4, 6_000, 30, true)];
    for world in worlds.into_iter().chain([(5, 1_440, 20, true), (6, 1_440, 15, true)]) {
        for (name, count) in follow(world) {
            *received.entry(name).or_default() += count;
        }
    }
    for name in [
        "spectating",
        "objects",
        "structures",
        "structures_gone",
        "update",
        "health",
        "held_items",
        "clans",
        "clan_changes",
        "clan_tags",
        "animals",
        "animals_gone",
        "leaderboard",
        "swings",
        "object_hits",
        "shots",
        "shot_ends",
        "animal_attacks",
        "chat",
        "notice",
        "kill",
        "spawn_protection",
    ] {
        assert!(received.get(name).is_some_and(|count| *count > 20), "{name}: {received:?}");
    }
}
