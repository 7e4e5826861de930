//! Tests of entity lists, with a game in which animals wander and players see a part of them.

use std::sync::Arc;

use tickwire_sim::{Command, PlayerId, Rng, Sim as _, StepResult, WorldParams, fields};

use super::super::simple_game::{Joining, SimpleGame, TickContext};
use super::super::world::{SimpleAction, SimpleWorld};
use super::super::{
    GameAction, Row, RowValues, Simple, SimplePublisher, SimpleScratch, SimpleView, StateRows,
};
use super::{Entities, EntityInfo, EntityLayout, EntityRef, ReceivedEntities, Sight, Viewer};
use crate::game::{Game, Messages, Published, Publisher as _, StateOutcome, UpdateRates, View};
use crate::packet::{DecodedPacket, Dialect, Direction, PacketTables, Value};

const SIZE: i32 = 2_000;
const ROWS: &str = "\
direction\tname\tlane\therd:int\targuments\tmeaning
to_server\thello\treliable\t1\tversion:u16 mode:u8<=1 name:str<=15|nil\tthe first packet
to_server\tjoin\treliable\t2\tname:str<=15|nil\tjoins
to_server\tping\treliable\t3\tnonce:u32\tmeasures the round trip
to_client\twelcome\treliable\t1\tversion:u16 rules_hash:str<=16 seed:u32 tick_hz:u8.hz update_hz:u8.hz epoch:str<=16 tick:u32.tick\tanswers hello
to_client\tspawned\tlatest\t2\tplayer:u16\tthe client plays
to_client\tpong\treliable\t3\tnonce:u32 tick:u32.tick\tanswers ping
to_client\terror\treliable\t4\trule:str detail:str\tan error
to_client\tanimals\tlatest\t6\ttick:u32.tick enter:[id:u32,name:str<=8|nil,x:u16.px,y:u16.px,vx:i8.px,vy:i8.px,health:u8,is_asleep:bool] leave:[u32] veered:[did:u32,dvx:i8.px,dvy:i8.px] steered:[id:u32,vx:i8.px,vy:i8.px] moved:[did:u32,dx:i8.px,dy:i8.px] placed:[did:u32,x:u16.px,y:u16.px]|nil hurt:[id:u32,health:u8]|nil\tanimals in sight
to_client\tsecrets\tlatest\t7\ttick:u32.tick enter:[player:u16,gold:u32] leave:[u16] gold:[player:u16,gold:u32]\tthe own gold
to_client\tcry\treliable\t8\tx:u16.px y:u16.px\tan animal cries
";

#[derive(Clone, Debug, PartialEq)]
pub struct Animal {
    id: u32,
    x: i32,
    y: i32,
    /// Pixels per tick of a straight run; an animal without one wanders.
    run: (i32, i32),
    health: u8,
    is_asleep: bool,
    owner: Option<PlayerId>,
}

fields!(Animal: id: u32, x: i32, y: i32, run: (i32, i32), health: u8, is_asleep: bool, owner: Option<PlayerId>);

/// A player that sees nearly all animals.
pub const FAR_SIGHTED: PlayerId = PlayerId(5);

/// A player sees its own animals, the ones near them, and none that sleeps.
#[derive(Clone, Debug, PartialEq)]
pub struct Herd {
    animals: Vec<Animal>,
    next_id: u32,
    gold: Vec<(PlayerId, u32)>,
}

impl fields::Field for Herd {
    const MIN_BYTES: usize = 0;

    fn write(&self, sink: &mut impl fields::Sink) {
        self.animals.write(sink);
        self.next_id.write(sink);
    }

    fn read(from: &mut tickwire_sim::Reader<'_>) -> Result<Herd, tickwire_sim::Malformed> {
        Ok(Herd {
            animals: fields::Field::read(from)?,
            next_id: fields::Field::read(from)?,
            gold: Vec::new(),
        })
    }
}

fields!(enum Nothing: Nothing {});
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Nothing {
    Nothing,
}

impl GameAction for Nothing {
    fn from_packet(_: &DecodedPacket<'_>) -> Option<Nothing> {
        None
    }

    fn to_packet(&self) -> RowValues {
        RowValues::new("", &[], Vec::new())
    }
}

crate::game::simple::rows! {
    in ROWS;

    struct AnimalRow in "animals" {
        id: u32, name: Option<Arc<str>>, x: u16, y: u16, vx: i32, vy: i32, health: u8, is_asleep: bool,
    }
    struct SecretRow in "secrets" { player: PlayerId, gold: u32 }
    struct Cry in "cry" { x: i32, y: i32 }
}

impl Herd {
    fn spawn(&mut self, owner: Option<PlayerId>, random: &mut Rng) {
        let mut axis = || random.below(SIZE as u32) as i32;
        let (x, y) = (axis(), axis());
        // Ids are in no order, as in a game that reuses slots.
        let id = self.next_id.wrapping_mul(0x9e37) % 100_003;
        self.next_id += 1;
        self.animals.push(Animal { id, x, y, run: (0, 0), health: 100, is_asleep: false, owner });
    }
}

impl SimpleGame for Herd {
    const NAME: &'static str = "herd";
    const TABLE: (&'static str, &'static str) = ("herd.tsv", ROWS);
    const DIALECT: &'static str = "herd";
    const PAGE: &'static str = "";
    type Action = Nothing;

    fn new(_: &WorldParams) -> Herd {
        Herd { animals: Vec::new(), next_id: 0, gold: Vec::new() }
    }

    fn join(&mut self, player: PlayerId, joining: &Joining<'_>, context: &mut TickContext<'_>) {
        self.gold.push((player, 0));
        self.spawn(Some(player), context.random);
        if joining.name == "drover" {
            (0..200).for_each(|_| self.spawn(None, context.random));
        }
    }

    fn leave(&mut self, player: PlayerId, _: &mut TickContext<'_>) {
        self.gold.retain(|(owner, _)| *owner != player);
        self.animals.retain(|animal| animal.owner != Some(player));
    }

    fn apply(&mut self, _: PlayerId, _: Nothing, _: &mut TickContext<'_>) -> Result<(), &'static str> {
        Ok(())
    }

    fn tick(&mut self, context: &mut TickContext<'_>) {
        for at in 0..self.animals.len() {
            let animal = &mut self.animals[at];
            if context.random.below(50) == 0 {
                let mut speed = || context.random.below(3) as i32 * 8 - 8;
                animal.run = (speed(), speed());
            }
            let speed = if context.random.below(40) == 0 { 600 } else { 9 };
            let mut step = |value: i32| {
                let by = context.random.below(2 * speed + 1) as i32 - speed as i32;
                (value + by).clamp(0, SIZE - 1)
            };
            if animal.run != (0, 0) {
                let to = [animal.x + animal.run.0, animal.y + animal.run.1].map(|at| at.clamp(0, SIZE - 1));
                animal.run = (to[0] - animal.x, to[1] - animal.y);
                [animal.x, animal.y] = to;
            } else if !animal.is_asleep {
                (animal.x, animal.y) = (step(animal.x), step(animal.y));
            }
            match context.random.below(60) {
                0 => animal.is_asleep = !animal.is_asleep,
                1 => animal.health = animal.health.saturating_sub(1),
                2 => {
                    let cry = Cry { x: animal.x, y: animal.y };
                    context.broadcast_at(EntityInfo::at((animal.x, animal.y)), cry);
                }
                _ => {}
            }
        }
        match context.random.below(6) {
            0 if self.animals.len() < 120 => self.spawn(None, context.random),
            1 => {
                let at = context.random.below(self.animals.len().max(1) as u32) as usize;
                if self.animals.get(at).is_some_and(|animal| animal.owner.is_none()) {
                    self.animals.swap_remove(at);
                }
            }
            2 => self.gold.iter_mut().for_each(|(_, gold)| *gold += 1),
            _ => {}
        }
    }

    fn write_state(&self, _: &mut StateRows) {}

    fn write_entities(&self, entities: &mut Entities) {
        for animal in &self.animals {
            let Animal { id, x, y, run: (vx, vy), health, is_asleep, owner } = *animal;
            let info = EntityInfo { owner, ..EntityInfo::at((x, y)) };
            let name: Option<Arc<str>> = owner.map(|owner| format!("animal of {}", owner.0).into());
            let (x, y) = (x as u16, y as u16);
            entities.push(info, AnimalRow { id, name, x, y, vx, vy, health, is_asleep });
        }
        for (player, gold) in &self.gold {
            let info = EntityInfo::default().owned_by(*player);
            entities.push(info, SecretRow { player: *player, gold: *gold });
        }
    }

    fn sight(&self, viewer: Viewer, packet: &str) -> Sight {
        let Some(player) = viewer.subject() else { return Sight::NOTHING };
        if packet == "secrets" {
            return viewer.player.map_or(Sight::NOTHING, |player| Sight::NOTHING.owned_by(player));
        }
        let own = self.animals.iter().filter(|animal| animal.owner == Some(player));
        // Every other player sees by circles alone, which uses the spatial index.
        let sight = if player.0.is_multiple_of(2) { Sight::NOTHING } else { Sight::NOTHING.owned_by(player) };
        let radius = if player == FAR_SIGHTED { SIZE as u32 } else { 300 };
        own.fold(sight, |sight, animal| sight.within((animal.x, animal.y), radius))
    }

    fn sees(&self, viewer: Viewer, entity: &EntityRef<'_>) -> bool {
        let is_asleep = |id| self.animals.iter().any(|animal| animal.id == id && animal.is_asleep);
        entity.info.owner == viewer.player || !entity.id.is_some_and(is_asleep)
    }
}

/// A client: its view, and the entities that it has received.
pub struct TestClient {
    pub player: Option<PlayerId>,
    pub view: SimpleView,
    pub received: Vec<ReceivedEntities>,
    /// Number of received packets, of `enter` records, of events, and of packets without their last
    /// list.
    counts: [usize; 4],
    /// Number of updates without a packet while an animal runs.
    silent: usize,
}

/// A room without a server.
pub struct TestRoom {
    world: SimpleWorld<Herd>,
    publisher: SimplePublisher<Herd>,
    pub dialect: Arc<Dialect>,
    pub scratch: SimpleScratch,
    sequence: u64,
}

impl TestRoom {
    pub fn new(seed: u32, rates: UpdateRates) -> TestRoom {
        let world = SimpleWorld::<Herd>::new(&WorldParams::default_for::<SimpleWorld<Herd>>(seed));
        let tables = PacketTables::from_texts(Simple::<Herd>::TABLES).expect("its table");
        Simple::<Herd>::check(&tables).expect("a valid table");
        TestRoom {
            publisher: SimplePublisher::new(&world, rates),
            world,
            dialect: tables.dialect("herd").expect("its dialect"),
            scratch: SimpleScratch::default(),
            sequence: 0,
        }
    }

    pub fn client(&self, player: Option<u16>) -> TestClient {
        TestClient {
            player: player.map(PlayerId),
            view: <SimpleView as View<Simple<Herd>>>::new(&self.dialect),
            received: ReceivedEntities::all(&self.dialect).into_values().collect(),
            counts: [0; 4],
            silent: 0,
        }
    }

    pub fn step(&mut self, actions: Vec<SimpleAction<Nothing>>) -> Published<Simple<Herd>> {
        let mut commands: Vec<_> = actions
            .into_iter()
            .map(|action| {
                self.sequence += 1;
                Command { player: PlayerId::OPERATOR, sequence: self.sequence, action }
            })
            .collect();
        let mut result = StepResult::default();
        self.world.step(&mut commands, &mut result);
        assert_eq!(result.rejected, []);
        self.publisher.publish(&self.world, &|_| 0)
    }

    /// Updates a client, and compares what it has received with what it sees.
    fn update(
        &mut self,
        client: &mut TestClient,
        published: &Published<Simple<Herd>>,
        is_behind: bool,
    ) -> Result<(), String> {
        let mut messages = Messages::default();
        let viewer = Viewer { player: client.player, spectated: None };
        View::<Simple<Herd>>::set_subject(&mut client.view, client.player, None);
        let view = &mut client.view;
        let outcome = View::<Simple<Herd>>::update(
            view,
            &[],
            published,
            is_behind,
            &self.dialect,
            &mut self.scratch,
            &mut messages,
        );
        assert_eq!(messages.take_misfits(), []);
        let frame = published.state.entities.as_ref().expect("a game with entity lists");
        let mut has_animals = false;
        for message in messages.iter() {
            let packet = self.dialect.decode(Direction::ToClient, message).expect("by the table");
            has_animals |= packet.row.name == "animals";
            client.counts[0] += 1;
            if packet.row.name == "cry" {
                let place = |name| packet.integer::<u16>(name).expect("a coordinate").into();
                let sight = self.world.game().sight(viewer, "cry");
                assert!(sight.includes(&EntityInfo::at((place("x"), place("y")))), "{packet} is hidden");
                client.counts[2] += 1;
            }
            let Some(list) = client.received.iter_mut().find(|list| list.packet() == packet.row.name) else {
                continue;
            };
            let length = |name| packet.get(name).and_then(Value::as_array).map(Vec::len);
            client.counts[1] += length("enter").unwrap_or_default();
            if packet.row.name == "animals" {
                let [moved, placed, hurt] = ["moved", "placed", "hurt"].map(length);
                assert!(moved.is_some(), "{packet}: a list without |nil is always there");
                assert!(
                    hurt != Some(0) && (placed != Some(0) || hurt.is_some()),
                    "{packet}: the last list is empty"
                );
                client.counts[3] += usize::from(hurt.is_none());
            }
            list.apply(&packet).map_err(|error| error.to_string())?;
        }
        if outcome != StateOutcome::Written {
            return Ok(());
        }
        let mut animals = client.received.iter().filter(|list| list.packet() == "animals");
        let runs = animals.any(|list| list.ids().any(|id| list.integer(id, "vx") != Some(0)));
        client.silent = if has_animals || !runs { 0 } else { client.silent + 1 };
        assert!(client.silent < 2, "two updates without the tick to which an animal runs");
        client.received.iter().try_for_each(|list| frame.compare_received(viewer, list, &self.dialect))
    }
}

pub const RATES: UpdateRates = UpdateRates { tick_hz: 60, update_hz: 30, foreign_hz: 30 };

#[test]
fn a_client_knows_exactly_what_it_sees_after_each_update_also_after_deferred_ones() {
    for seed in 1..=6 {
        let mut room = TestRoom::new(seed, RATES);
        let mut random = Rng::new(seed, 9);
        let mut clients: Vec<TestClient> = Vec::new();
        for tick in 0..1_500 {
            let actions = match tick {
                0..5 => vec![SimpleAction::Join(PlayerId(tick as u16 + 1), format!("p{tick}"), None)],
                900 => vec![SimpleAction::Leave(PlayerId(2))],
                _ => vec![],
            };
            let published = room.step(actions);
            match tick {
                0..5 => clients.push(room.client(Some(tick as u16 + 1))),
                10 => clients.push(room.client(None)),
                900 => clients[1].player = None,
                _ => {}
            }
            for client in &mut clients {
                let is_behind = random.below(4) == 0;
                room.update(client, &published, is_behind).unwrap_or_else(|error| {
                    panic!("seed {seed}, tick {tick}, player {:?}: {error}", client.player)
                });
            }
        }
        for client in clients.iter().filter(|client| client.player.is_some()) {
            assert!(client.counts.iter().all(|count| *count > 20), "{:?}", client.counts);
        }
        assert_eq!(clients[5].counts[1], 0, "a spectator sees nothing");
    }
}

#[test]
fn a_planted_leak_is_found() {
    let mut room = TestRoom::new(3, RATES);
    let mut client = room.client(Some(1));
    for tick in 0..400 {
        let actions = match tick {
            0..2 => vec![SimpleAction::Join(PlayerId(tick + 1), "p".to_owned(), None)],
            _ => vec![],
        };
        let published = room.step(actions);
        // From tick 200 on, the client is sent what player 2 sees.
        let mut other = TestClient { player: Some(PlayerId(2)), ..room.client(None) };
        if tick < 200 {
            room.update(&mut client, &published, false).expect("only visible entities");
        } else {
            room.update(&mut other, &published, false).expect("only visible entities");
            let viewer = Viewer { player: client.player, spectated: None };
            let frame = published.state.entities.as_ref().expect("entity lists");
            let found = other
                .received
                .iter()
                .find_map(|list| frame.compare_received(viewer, list, &room.dialect).err());
            assert!(found.is_some_and(|error| error.contains("does not see")));
            return;
        }
    }
}

#[test]
fn a_change_uses_the_first_lists_that_contain_it() {
    let tables = PacketTables::from_texts(Simple::<Herd>::TABLES).expect("its table");
    let dialect = tables.dialect("herd").expect("its dialect");
    let layouts = EntityLayout::all(&dialect);
    let animals = &layouts[0];
    let row = |x: u16, y: u16, health: u8, is_asleep: bool| {
        let mut values = Vec::new();
        let row = AnimalRow { id: 1, name: None, x, y, vx: 0, vy: 0, health, is_asleep };
        Row::push_values(row, &mut values);
        values
    };
    let old = row(100, 100, 9, false);
    for (new, with_differences, without) in [
        (row(100, 100, 9, false), Some(0), Some(0)),
        (row(227, 100, 9, false), Some(0b100), Some(0b1000)),
        (row(228, 100, 9, false), Some(0b1000), Some(0b1000)),
        (row(0, 0, 9, false), Some(0b100), Some(0b1000)),
        (row(100, 100, 8, false), Some(0b10000), Some(0b10000)),
        (row(101, 99, 8, false), Some(0b10100), Some(0b11000)),
        (row(101, 99, 8, true), None, None),
    ] {
        let is_changed = |field: usize| new[field] != old[field];
        assert_eq!(animals.change_lists_for(&new, Some(&old), is_changed), with_differences, "{new:?}");
        assert_eq!(animals.change_lists_for(&new, None, is_changed), without, "{new:?}");
    }
}

#[test]
fn a_wrong_row_of_the_table_is_refused_with_its_rule() {
    let many: String = (3..=65).map(|number| format!(",g{number}:u8")).collect();
    let wide = format!("gold:u32{many}] leave");
    for (from, to, expected) in [
        ("\tlatest\t6\t", "\treliable\t6\t", "must be latest"),
        ("leave:[u32]", "left:[u32]", "must be tick:u32.tick, enter, leave:[u32] or a list of changes"),
        ("leave:[u32] ", "", "must have the argument leave:[u32]"),
        ("leave:[u32]", "leave:[u16]", "must be tick:u32.tick, enter, leave:[u32]"),
        ("enter:[id:u32", "enter:[id:i32", "the id: must be u8, u16 or u32"),
        ("hurt:[id:u32,health:u8]", "hurt:[id:u16,health:u8]", "begins with id:u16: must begin with id:u32"),
        (
            "moved:[did:u32,",
            "moved:[did:u16,",
            "begins with did:u16: must begin with id:u32, or with did:u32",
        ),
        ("hurt:[id:u32,health:u8]", "hurt:[id:u32,health:u16]", "the member health:u16 of hurt"),
        ("dx:i8.px", "dx:i8", "the member dx:i8 of moved"),
        ("dx:i8.px", "dz:i8.px", "the member dz:i8.px of moved"),
        (
            "is_asleep:bool]",
            "is_awake:bool]",
            "the game writes the fields id, name, x, y, vx, vy, health, is_asleep",
        ),
        ("vx:i8.px", "vx:i8.hpx", "vx:i8.hpx is the velocity of x:u16.px, the change per tick: both must be"),
        ("vx:i8.px", "vx:i8.px|nil", "must be integers of the same unit"),
        ("tick:u32.tick enter:[id:u32", "enter:[id:u32", "the velocity of x:u16.px: needs the argument tick"),
        ("tick:u32.tick enter:[id:u32", "tick:u32.tick|nil enter:[id:u32", "must be tick:u32.tick, enter"),
        ("steered:[id:u32,vx", "steered:[id:u32,x:u16.px,vx", "lists with vx must come before those with x"),
        ("gold:u32]", "gold:num]", "must be an integer"),
        ("gold:u32] leave", &wide, "enter has 65 fields: must have at most 64"),
    ] {
        let text = ROWS.replace(from, to);
        assert_ne!(text, ROWS);
        let result = PacketTables::from_texts(&[("herd.tsv", &text)]).map_err(|error| error.to_string());
        let error = result.and_then(|tables| check_with_animals(&tables)).expect_err(to);
        assert!(error.contains(expected), "{to}: {error}");
    }
}

/// Checks a table, with an animal in the world.
fn check_with_animals(tables: &PacketTables) -> Result<(), String> {
    Simple::<Herd>::check(tables).map_err(|error| error.to_string())?;
    let mut entities = Entities::new(30);
    let row = AnimalRow { id: 1, name: None, x: 0, y: 0, vx: 0, vy: 0, health: 0, is_asleep: false };
    entities.push(EntityInfo::default(), row);
    super::check_layouts(&tables.dialect("herd").expect("its dialect"), &entities)
}

#[test]
fn lockstep_is_refused_for_a_game_with_entity_lists() {
    const LOCKSTEP: [&str; 6] =
        ["state_sync", "\tchecksum\t", "\tsnapshot\t", "command_frame", "desync_details", "desync_report"];
    let rows = crate::games::tanks::Tanks::TABLE.1.lines();
    let rows = rows.filter(|row| LOCKSTEP.iter().any(|name| row.contains(name)));
    let mut text = ROWS.to_owned();
    for (code, row) in (20..).zip(rows) {
        let mut cells: Vec<&str> = row.split('\t').collect();
        let code = code.to_string();
        cells[3] = &code;
        text.push_str(&(cells.join("\t") + "\n"));
    }
    let tables = PacketTables::from_texts(&[("herd.tsv", &text)]).expect("a table");
    let error = Simple::<Herd>::check(&tables).expect_err("lockstep shows everything");
    assert!(error.to_string().contains("ALLOWS_LOCKSTEP"), "{error}");
}
