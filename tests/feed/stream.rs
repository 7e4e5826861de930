//! What a client is told is enough to know what it may see, and nothing is told twice: a model client that believes only
//! the messages is held against the world, turn by turn, also when turns are missed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::told::Published;
use tickwire::game::{Messages, Publisher as _, StateOutcome, UpdateRates, View as _};
use tickwire::internal::games::moo::feed::Pose;
use tickwire::internal::games::moo::feed::interest::{Located, ViewWindow};
use tickwire::internal::games::moo::world::{Action, Angle, Command, Identity, PlayerId, TickHz, World};
use tickwire::internal::games::moo::{MooPublisher, MooScratch, MooView};
use tickwire::internal::limits;
use tickwire::packet::{DecodedPacket, Dialect, Direction, PacketTables, Value};

/// A stream of numbers that a seed repeats.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A world in which players come, walk about, talk and go.
struct Crowd {
    world: World,
    publisher: MooPublisher,
    random: Random,
    present: BTreeSet<u16>,
    operator_sequence: u64,
    sequences: BTreeMap<u16, u64>,
}

impl Crowd {
    fn new(seed: u64, players: u16) -> Crowd {
        Crowd::on(5_000, seed, players)
    }

    /// On a map of that side; the smallest has no animals.
    fn on(map_size_px: u32, seed: u64, players: u16) -> Crowd {
        let world = World::new(Identity { seed: seed as u32, map_size_px, tick_hz: TickHz::Hz30 });
        let publisher = MooPublisher::new(&world, UpdateRates { tick_hz: 30, update_hz: 30, foreign_hz: 10 });
        let mut crowd = Crowd {
            world,
            publisher,
            random: Random(seed),
            present: BTreeSet::new(),
            operator_sequence: 0,
            sequences: BTreeMap::new(),
        };
        let mut commands = Vec::new();
        (1..=players).for_each(|player| commands.push(crowd.join(player)));
        crowd.world.step(&mut commands);
        crowd
    }

    fn operator(&mut self, action: Action) -> Command {
        self.operator_sequence += 1;
        Command { player: PlayerId(0), sequence: self.operator_sequence, action }
    }

    fn join(&mut self, player: u16) -> Command {
        self.present.insert(player);
        self.sequences.insert(player, 0);
        self.operator(Action::Join { player: PlayerId(player), name: format!("p{player}"), skin: 1 })
    }

    fn command(&mut self, player: u16, action: Action) -> Command {
        let sequence = self.sequences.entry(player).or_default();
        *sequence += 1;
        Command { player: PlayerId(player), sequence: *sequence, action }
    }

    /// One tick with a few random commands; now and then one leaves and the number comes back in the same tick.
    fn step(&mut self) -> Published {
        let mut commands = Vec::new();
        // Hunters are about: whoever is dead plays again.
        let is_dead = |player: &u16| self.world.player(PlayerId(*player)).is_some_and(|view| !view.alive);
        let (dead, living): (Vec<u16>, Vec<u16>) = self.present.iter().partition(|player| is_dead(player));
        for player in dead {
            let again = Action::Respawn { name: format!("p{player}"), skin: 1 };
            commands.push(self.command(player, again));
        }
        for player in living {
            match self.random.below(40) {
                0..=2 => {
                    let direction = Some(Angle(self.random.below(65_536) as u16));
                    commands.push(self.command(player, Action::Move { direction }));
                }
                3 => commands.push(self.command(player, Action::Move { direction: None })),
                4 => {
                    let heading = Angle(self.random.below(65_536) as u16);
                    commands.push(self.command(player, Action::Aim { heading }));
                }
                5 if player != 1 && self.random.below(8) == 0 => {
                    commands.push(self.operator(Action::Leave { player: PlayerId(player) }));
                    commands.push(self.join(player));
                }
                _ => {}
            }
        }
        self.world.step(&mut commands);
        self.publisher.publish(&self.world, &|_| 0)
    }
}

fn numbers(value: Option<&Value>) -> Vec<i64> {
    let array = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    array.iter().map(|value| value.as_i64().unwrap_or_default()).collect()
}

/// A client that knows only what it was told.
#[derive(Default)]
struct Model {
    own: Option<i64>,
    own_state: Vec<i64>,
    others: BTreeMap<i64, (i64, i64, i64)>,
    objects: BTreeSet<i64>,
    updates: usize,
}

impl Model {
    fn hear(&mut self, message: &DecodedPacket<'_>) {
        match message.row.name.as_str() {
            "spawned" => self.own = message.get("player").and_then(Value::as_i64),
            "objects" => {
                for object in numbers(message.get("objects")).chunks(5) {
                    assert!(self.objects.insert(object[0]), "object {} was told twice", object[0]);
                }
            }
            "update" => self.update(message),
            _ => {}
        }
    }

    fn update(&mut self, message: &DecodedPacket<'_>) {
        self.updates += 1;
        for player in numbers(message.get("leaves")) {
            assert!(self.others.remove(&player).is_some() || self.own == Some(player), "{player} left twice");
        }
        for enter in numbers(message.get("enters")).chunks(6) {
            let before = self.others.insert(enter[0], (enter[3], enter[4], enter[5]));
            assert!(before.is_none(), "{} entered twice", enter[0]);
        }
        for full in numbers(message.get("full")).chunks(4) {
            *self.others.get_mut(&full[0]).expect("full before enter") = (full[1], full[2], full[3]);
        }
        for moved in numbers(message.get("moved")).chunks(3) {
            let pose = self.others.get_mut(&moved[0]).expect("moved before enter");
            *pose = (pose.0 + moved[1], pose.1 + moved[2], pose.2);
        }
        for turned in numbers(message.get("turned")).chunks(2) {
            self.others.get_mut(&turned[0]).expect("turned before enter").2 = turned[1];
        }
        let own = numbers(message.get("own"));
        if !own.is_empty() {
            self.own_state = own;
        }
    }

    /// Holds what the model believes against what was published.
    fn check(&mut self, published: &Published, me: u16) {
        let state = &published.state;
        let own = &state.players[state.players.index_of(&PlayerId(me)).expect("the own player is there")];
        if !own.alive {
            return;
        }
        let window = ViewWindow { x: own.body.x.to_px(), y: own.body.y.to_px() };
        assert_eq!(self.own, Some(i64::from(me)));
        assert_eq!(
            self.own_state[2..6],
            [own.body.x.0, own.body.y.0, own.body.vx.0, own.body.vy.0].map(i64::from)
        );
        let expected: BTreeMap<i64, (i64, i64, i64)> = state
            .players
            .iter()
            .filter(|seen| seen.alive && seen.player != own.player && window.intersects(seen.place()))
            .map(|seen| {
                let Pose { x_hpx, y_hpx, heading } = Pose::of(&seen.body);
                (seen.player.0.into(), (x_hpx.into(), y_hpx.into(), heading.into()))
            })
            .collect();
        self.others.remove(&i64::from(me));
        assert_eq!(self.others, expected, "tick {}", state.tick);
        for thing in state.nature.iter() {
            if window.intersects(thing.place()) {
                assert!(
                    self.objects.contains(&thing.id.0.into()),
                    "object {} is in view and unknown",
                    thing.id.0
                );
            }
        }
    }
}

fn dialect(name: &str) -> Arc<Dialect> {
    PacketTables::builtin().dialect(name).expect("a built-in dialect")
}

/// What comes between a tick and a client.
#[derive(Clone, Copy, PartialEq)]
enum Trouble {
    Nothing,
    /// The client is behind in some ticks.
    Behind,
    /// The worker misses some ticks, turns or not, and has only their events.
    Late,
}

fn follow(seed: u64, native_hz: u32, trouble: Trouble) -> (Model, usize) {
    let (mut crowd, dialect) = (Crowd::new(seed, 24), dialect("native"));
    crowd.publisher =
        MooPublisher::new(&crowd.world, UpdateRates { tick_hz: 30, update_hz: native_hz, foreign_hz: 10 });
    let (mut view, mut scratch, mut messages) =
        (MooView::new(&dialect), MooScratch::default(), Messages::default());
    let (mut model, mut seen, mut chance) = (Model::default(), 0, Random(seed ^ 77));
    view.set_subject(Some(PlayerId(1)), None);
    let mut missed = Vec::new();
    for _ in 0..600 {
        let published = crowd.step();
        let is_troubled = trouble != Trouble::Nothing && chance.below(3) == 0;
        if is_troubled && trouble == Trouble::Late {
            missed.push(Arc::clone(&published.events));
            continue;
        }
        messages.clear();
        let turn = view.update(&missed, &published, is_troubled, &dialect, &mut scratch, &mut messages);
        missed.clear();
        for message in messages.iter() {
            model.hear(&dialect.decode(Direction::ToClient, message).expect("our own message"));
        }
        if turn == StateOutcome::Written {
            model.check(&published, 1);
            seen += model.others.len();
        }
    }
    (model, seen)
}

#[test]
fn differences_add_up_to_what_is_published() {
    for seed in 1..=8 {
        let (model, seen) = follow(seed, 30, Trouble::Nothing);
        assert!(seen > 600, "seed {seed}: somebody was in view");
        assert!(model.updates > 100, "seed {seed}");
    }
}

#[test]
fn missed_turns_are_made_up_for() {
    for seed in 1..=8 {
        for (native_hz, trouble) in [(30, Trouble::Behind), (30, Trouble::Late), (20, Trouble::Late)] {
            let (_, seen) = follow(seed, native_hz, trouble);
            assert!(seen > 300, "seed {seed}: somebody was in view");
        }
    }
}

/// Everybody on the smallest map, by the longest names, all in view of one another.
fn throng() -> (World, MooPublisher) {
    let mut world = World::new(Identity { seed: 1, map_size_px: 1_440, tick_hz: TickHz::Hz30 });
    let publisher = MooPublisher::new(&world, UpdateRates { tick_hz: 30, update_hz: 30, foreign_hz: 30 });
    let name = "\u{1F333}".repeat(15);
    let join = |number: u16| {
        let action = Action::Join { player: PlayerId(number), name: name.clone(), skin: 1 };
        Command { player: PlayerId(0), sequence: number.into(), action }
    };
    world.step(&mut (1..=900).map(join).collect());
    (world, publisher)
}

#[test]
fn a_throng_is_introduced_turn_by_turn_so_that_no_turn_is_too_long_to_send() {
    for (name, entering) in [("native", "update"), ("legacy", "add_player")] {
        let ((mut world, mut publisher), dialect) = (throng(), dialect(name));
        let (mut view, mut scratch, mut messages) =
            (MooView::new(&dialect), MooScratch::default(), Messages::default());
        view.set_subject(Some(PlayerId(1)), None);
        let mut introduced = 0;
        for _ in 0..40 {
            world.step(&mut Vec::new());
            messages.clear();
            view.update(
                &[],
                &publisher.publish(&world, &|_| 0),
                false,
                &dialect,
                &mut scratch,
                &mut messages,
            );
            let mut bytes = 0;
            for message in messages.iter() {
                bytes += dialect.json_from_msgpack(Direction::ToClient, message).expect("our own").len();
                let decoded = dialect.decode(Direction::ToClient, message).expect("our own message");
                if decoded.row.name == entering {
                    let enters = numbers(decoded.get("enters")).len() / 6;
                    introduced += if name == "native" { enters } else { 1 };
                }
            }
            assert!(bytes < limits::SEND_QUEUE_BYTES, "{name}: {bytes} bytes in one turn, as JSON");
        }
        assert!(introduced >= 800, "{name}: {introduced} were introduced");
    }
}

#[test]
fn nothing_is_said_when_nothing_changes() {
    let (mut crowd, dialect) = (Crowd::on(1_440, 3, 12), dialect("native"));
    let (mut view, mut scratch, mut messages) =
        (MooView::new(&dialect), MooScratch::default(), Messages::default());
    view.set_subject(Some(PlayerId(1)), None);
    let mut said = 0;
    for tick in 0..200 {
        crowd.world.step(&mut Vec::new());
        let published = crowd.publisher.publish(&crowd.world, &|_| 0);
        messages.clear();
        view.update(&[], &published, false, &dialect, &mut scratch, &mut messages);
        said += usize::from(!messages.is_empty());
        assert!(tick > 0 || !messages.is_empty(), "the first turn says who is there");
    }
    assert!(said <= 20, "{said} turns of 200 said something while all stood still");
}

#[test]
fn moomoo_clients_hear_of_everyone_before_the_first_update_and_of_objects_once() {
    let (mut crowd, dialect) = (Crowd::new(5, 24), dialect("legacy"));
    let (mut view, mut scratch, mut messages) =
        (MooView::new(&dialect), MooScratch::default(), Messages::default());
    view.set_subject(Some(PlayerId(1)), None);
    let (mut added, mut objects, mut updates) = (BTreeMap::new(), BTreeSet::new(), 0);
    for _ in 0..900 {
        let published = crowd.step();
        messages.clear();
        view.update(&[], &published, false, &dialect, &mut scratch, &mut messages);
        for message in messages.iter() {
            let decoded = dialect.decode(Direction::ToClient, message).expect("our own message");
            match decoded.row.name.as_str() {
                "add_player" => {
                    let player = decoded.get("player").and_then(Value::as_array).expect("an array");
                    let id = player[0].as_str().expect("a text").to_owned();
                    assert!(added.insert(id, player[1].as_i64()).is_none(), "added twice");
                }
                "remove_player" => {
                    let id = decoded.get("id").and_then(Value::as_str).expect("a text");
                    assert!(added.remove(id).is_some(), "removed before it was added");
                }
                "update_players" => {
                    updates += 1;
                    for player in numbers(decoded.get("players")).chunks(13) {
                        assert!(
                            added.values().any(|sid| *sid == Some(player[0])),
                            "updated before it was added"
                        );
                    }
                }
                "load_objects" => {
                    for object in numbers(decoded.get("objects")).chunks(8) {
                        assert!(objects.insert(object[0]), "object {} was told twice", object[0]);
                    }
                }
                _ => {}
            }
        }
    }
    assert_eq!(updates, 300, "ten a second");
    let (objects, added) = (objects.len(), added.len());
    assert!(objects > 5 && added > 2, "{objects} objects, {added} players");
}
