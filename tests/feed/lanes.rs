//! Lanes: what a client must receive and what a later state makes up for, shown on a busy world in all dialects.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tickwire::game::{Game as _, Publisher as _, UpdateRates};
use tickwire::internal::games::moo::world::rules::{AnimalKind, ITEMS, Resource};
use tickwire::internal::games::moo::world::{
    Action, Angle, Command, Identity, PlayerId, Selection, Spawned, TickHz, World,
};
use tickwire::internal::games::moo::{Moo, MooPublisher};
use tickwire::internal::packet::tables::BUILTIN;
use tickwire::packet::{Direction, PacketTables, Value};

use crate::told::{Client, Published};

const PLAYERS: u16 = 36;
const DIALECTS: [&str; 5] = ["native", "legacy", "letters-2023", "letters-2024", "letters"];

/// A stream of numbers that a seed repeats.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A world in which everything happens that clients are sent.
pub struct Busy {
    pub world: World,
    pub publisher: MooPublisher,
    random: Random,
    sequences: BTreeMap<u16, u64>,
    present: Vec<bool>,
}

impl Busy {
    pub fn new(seed: u64, native_hz: u32, map_size_px: u32) -> Busy {
        let world = World::new(Identity { seed: seed as u32, map_size_px, tick_hz: TickHz::Hz30 });
        let publisher =
            MooPublisher::new(&world, UpdateRates { tick_hz: 30, update_hz: native_hz, foreign_hz: 10 });
        let present = vec![false; usize::from(PLAYERS) + 1];
        Busy { world, publisher, random: Random(seed), sequences: BTreeMap::new(), present }
    }

    fn command(&mut self, player: u16, action: Action) -> Command {
        let sequence = self.sequences.entry(player).or_default();
        *sequence += 1;
        Command { player: PlayerId(player), sequence: *sequence, action }
    }

    fn act(&mut self, player: u16) -> Option<(u16, Action)> {
        let id = PlayerId(player);
        let random = &mut self.random;
        let Some(view) = self.world.player(id) else {
            self.present[usize::from(player)] = false;
            if random.below(20) > 0 {
                return None;
            }
            self.present[usize::from(player)] = true;
            self.sequences.insert(player, 0);
            let name = format!("p{player}-{}", random.below(1_000));
            return Some((0, Action::Join { player: id, name, skin: random.below(10) as u8 }));
        };
        if !view.alive {
            let name = format!("r{player}-{}", random.below(1_000));
            let again = Action::Respawn { name, skin: random.below(10) as u8 };
            return (random.below(25) == 0).then_some((player, again));
        }
        let clan = |random: &mut Random| format!("c{}", random.below(6));
        let other = |random: &mut Random| PlayerId(1 + random.below(PLAYERS.into()) as u16);
        let action = match random.below(160) {
            0..=5 => Action::Move { direction: Some(Angle(random.below(65_536) as u16)) },
            6 => Action::Move { direction: None },
            7..=12 => Action::Aim { heading: Angle(random.below(65_536) as u16) },
            13..=17 => Action::Attack { on: true },
            18..=20 => Action::Attack { on: false },
            21..=23 => Action::Select { what: Selection::Item(random.below(23) as u8) },
            24..=25 => Action::Select { what: Selection::Weapon(random.below(16) as u8) },
            26..=30 => Action::Upgrade { choice: random.below(39) as u8 },
            31 => Action::Chat { text: format!("hello {}", random.below(100)) },
            32 => Action::ClanCreate { name: clan(random) },
            33 => Action::ClanLeave,
            34..=35 => Action::ClanRequest { name: clan(random) },
            36..=38 => Action::ClanAnswer { player: PlayerId(0), accept: random.below(4) > 0 },
            39 => Action::ClanKick { player: other(random) },
            40 => Action::Ping,
            41 => {
                let resource = Resource::ALL[random.below(4) as usize];
                return Some((0, Action::Grant { player: id, resource, amount: 200 }));
            }
            42 if random.below(8) == 0 => return Some((0, Action::Leave { player: id })),
            43 => {
                let body = view.body;
                let (x_px, y_px) = (body.x.to_px() + 120, body.y.to_px() + random.below(200) as i32 - 100);
                let what = match random.below(6) {
                    0 => Spawned::Animal(AnimalKind::Wolf),
                    1 => Spawned::Animal(AnimalKind::Cow),
                    2 => Spawned::Item(17),
                    _ => Spawned::Item(ITEMS[random.below(ITEMS.len() as u64) as usize].id),
                };
                let at = |px: i32| u16::try_from(px.max(0)).unwrap_or_default();
                return Some((0, Action::Spawn { what, x_px: at(x_px), y_px: at(y_px) }));
            }
            44 if random.below(30) == 0 => return Some((0, Action::Announce { text: "all".to_owned() })),
            _ => return None,
        };
        Some((player, action))
    }

    pub fn step(&mut self) {
        let acts: Vec<(u16, Action)> = (1..=PLAYERS).filter_map(|player| self.act(player)).collect();
        let mut commands = acts.into_iter().map(|(player, action)| self.command(player, action)).collect();
        self.world.step(&mut commands);
    }
}

/// Packets that the server sends without the feed, or never.
const OF_OTHERS: [&str; 16] = [
    "lane_offer",
    "state_sync",
    "snapshot",
    "command_frame",
    "desync_report",
    "welcome",
    "pong",
    "error",
    "command_accepted",
    "command_rejected",
    "io_init",
    "init_data",
    "disconnect",
    "shutdown",
    "store",
    "remove_objects_of",
];

fn ticks(seed: u64, count: u32) -> Vec<Published> {
    let mut busy = Busy::new(seed, 30, 1_440);
    (0..count)
        .map(|_| {
            busy.step();
            busy.publisher.publish(&busy.world, &|_| 0)
        })
        .collect()
}

/// The names of the packets that clients of a dialect are sent: one from the first tick, one later.
fn sent(codes: &PacketTables, dialect: &str, ticks: &[Published]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (player, since) in [(1, 0), (2, ticks.len() / 2)] {
        let mut client = Client::of(player, codes.dialect(dialect).expect("in the table"));
        ticks[since..].iter().for_each(|published| client.hear(published));
        names.extend(client.heard.into_iter().map(|(name, _)| name));
    }
    names
}

#[test]
fn every_row_is_sent_in_its_lane_and_a_row_of_another_lane_is_found() {
    let ticks = ticks(2, 2_500);
    for (at, (file, text)) in BUILTIN.iter().enumerate() {
        let dialects: Vec<&str> =
            DIALECTS.into_iter().filter(|name| (*name == "native") == (*file == "native.tsv")).collect();
        let codes = PacketTables::builtin();
        for dialect in &dialects {
            let rows = codes.dialect(dialect).expect("built in");
            let made: BTreeSet<String> = rows.rows(Direction::ToClient).map(|row| row.name.clone()).collect();
            let others: BTreeSet<String> = OF_OTHERS.map(str::to_owned).into();
            assert_eq!(sent(&codes, dialect, &ticks), &made - &others, "{dialect}");
        }
        if !cfg!(debug_assertions) {
            continue; // The lane is checked by a debug assertion.
        }
        for line in text.lines().filter(|line| line.starts_with("to_client")) {
            let name = line.split('\t').nth(1).expect("a name");
            if OF_OTHERS.contains(&name) {
                continue;
            }
            let flipped = match line.contains("\treliable\t") {
                true => line.replacen("\treliable\t", "\tlatest\t", 1),
                false => line.replacen("\tlatest\t", "\treliable\t", 1),
            };
            let mut tables = BUILTIN.map(|(file, text)| (file, text.to_owned()));
            tables[at].1 = text.replacen(line, &flipped, 1);
            let codes = PacketTables::from_texts(&tables).expect("a table");
            assert!((Moo::INFO.check)(&codes).is_err(), "{name}");
            let found = catch_unwind(AssertUnwindSafe(|| sent(&codes, dialects[0], &ticks)));
            assert!(found.is_err(), "{name} of {file} is sent in either lane");
        }
    }
}

#[test]
fn a_worker_that_missed_ticks_sends_all_their_events_and_the_newest_state() {
    let ticks = ticks(2, 1_500);
    for (dialect, names, state) in
        [("native", &["notice", "kill", "died"][..], "leaderboard"), ("legacy", &["died"], "update_players")]
    {
        let (mut prompt, mut late) = (Client::new(1, dialect), Client::new(1, dialect));
        ticks.iter().for_each(|published| prompt.hear(published));
        let (mut rest, mut random) = (&ticks[..], Random(7));
        while !rest.is_empty() {
            let (batch, after) = rest.split_at(rest.len().min(1 + random.below(6) as usize));
            let (newest, missed) = batch.split_last().expect("at least one");
            let missed: Vec<_> = missed.iter().map(|published| Arc::clone(&published.events)).collect();
            late.hear_after(&missed, newest);
            rest = after;
        }
        let events = |client: &Client| -> Vec<(String, Vec<Value>)> {
            client.heard.iter().filter(|(name, _)| names.contains(&name.as_str())).cloned().collect()
        };
        assert!(!events(&prompt).is_empty(), "{dialect}");
        assert_eq!(events(&late), events(&prompt), "{dialect}");
        let states = [&prompt, &late].map(|client| client.all(state).len());
        assert!(states[1] > 0 && states[1] <= states[0], "{states:?}");
    }
}
