//! Tests of the differences between states.

use std::sync::Arc;

use super::*;
use crate::fields;
use crate::fields::{Malformed, Reader, Sink};

#[derive(Clone, Debug)]
struct Player {
    id: u16,
    name: Arc<str>,
    x: i32,
    hits: Vec<u8>,
    way: Way,
    target: Option<u16>,
    home: Option<Spot>,
}
fields!(Player: id: u16, name: Arc<str>, x: i32, hits: Vec<u8>, way: Way, target: Option<u16>, home: Option<Spot>);

#[derive(Clone, Debug)]
enum Way {
    Stand,
    Up { by: i8, far: bool },
}
fields!(enum Way: Stand {}, Up { by: i8, far: bool });

#[derive(Clone, Debug)]
struct Spot {
    x: i32,
    y: i32,
}
fields!(Spot: x: i32, y: i32);

#[derive(Clone, Debug)]
struct Clan {
    count: u8,
    walls: Vec<Spot>,
}
fields!(Clan: count: u8, walls: Vec<Spot>);

#[derive(Clone, Debug)]
struct All {
    tick: u32,
    players: Vec<Player>,
    walls: Vec<Spot>,
    clan: Clan,
    cells: [u8; 4],
    phase: Phase,
    odd: Odd,
}
fields!(All: tick: u32, players: Vec<Player>, walls: Vec<Spot>, clan: Clan, cells: [u8; 4], phase: Phase, odd: Odd);

#[derive(Clone, Debug)]
enum Phase {
    Before,
    Play { walls: Vec<Spot> },
}
fields!(enum Phase: Before {}, Play { walls: Vec<Spot> });

/// A field with a hand-written implementation, without names.
#[derive(Clone, Debug)]
struct Odd(u8, Vec<u8>);

impl Field for Odd {
    const MIN_BYTES: usize = 2;

    fn write(&self, sink: &mut impl Sink) {
        sink.put(self.0.into(), 1);
        sink.put(self.1.len() as u64, 1);
        self.1.iter().for_each(|value| sink.put((*value).into(), 1));
    }

    fn read(_: &mut Reader<'_>) -> Result<Odd, Malformed> {
        Err(Malformed::Truncated)
    }
}

fn player(id: u16) -> Player {
    let way = Way::Up { by: -3, far: true };
    Player { id, name: "Ada".into(), x: 5, hits: vec![1, 2, 3], way, target: Some(9), home: None }
}

fn all() -> All {
    let walls = || vec![Spot { x: 1, y: 2 }, Spot { x: 3, y: 4 }];
    All {
        tick: 7,
        players: vec![player(17), player(3)],
        walls: walls(),
        clan: Clan { count: 2, walls: walls() },
        cells: [1, 2, 3, 4],
        phase: Phase::Play { walls: walls() },
        odd: Odd(1, vec![5, 6]),
    }
}

/// Returns the formatted differences after a change.
fn found(change: impl Fn(&mut All)) -> Vec<String> {
    let mut other = all();
    change(&mut other);
    let (ours, theirs) = (StateTree::from_field(&all()), StateTree::from_field(&other));
    let mirrored = theirs.differences(&ours, 100);
    let found = ours.differences(&theirs, 100);
    assert_eq!(found.len(), mirrored.len(), "the same from the other side");
    for (one, max) in (0..=found.len()).map(|most| (ours.differences(&theirs, most), most)) {
        assert_eq!(one, found[..max], "the first {max}");
    }
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn each_value_is_named_by_its_entity_and_field() {
    assert_eq!(found(|_| {}), [""; 0]);
    assert_eq!(found(|all| all.tick = 8), ["tick: 7, not 8"]);
    assert_eq!(found(|all| all.players[1].x = -70_000), ["players[3] x: 5, not -70000"]);
    assert_eq!(found(|all| all.players[0].name = "Bo".into()), [r#"players[17] name: "Ada", not "Bo""#]);
    assert_eq!(found(|all| all.players[0].hits[2] = 9), ["players[17] hits[2]: 3, not 9"]);
    assert_eq!(
        found(|all| all.players[0].way = Way::Up { by: 4, far: true }),
        ["players[17] way.Up.by: -3, not 4"]
    );
    assert_eq!(found(|all| all.players[0].target = Some(8)), ["players[17] target: 9, not 8"]);
    assert_eq!(found(|all| all.walls[1].y = 0), ["walls[at 1] y: 4, not 0"]);
    assert_eq!(found(|all| all.clan.count = 1), ["clan count: 2, not 1"]);
    assert_eq!(found(|all| all.clan.walls[0].x = 9), ["clan.walls[at 0] x: 1, not 9"]);
    assert_eq!(found(|all| all.cells[3] = 0), ["cells [3]: 4, not 0"]);
    assert_eq!(found(|all| all.odd.1[0] = 9), ["odd: 1 2 5 6, not 1 2 9 6"]);
}

#[test]
fn what_differs_in_form_is_named_once() {
    assert_eq!(found(|all| all.players[0].hits.insert(0, 8)), ["players[17] hits: 3 items, not 4 items"]);
    assert_eq!(found(|all| all.players[0].hits.clear()), ["players[17] hits: 3 items, not 0 items"]);
    assert_eq!(found(|all| all.players[0].way = Way::Stand), ["players[17] way: Up, not Stand"]);
    assert_eq!(found(|all| all.players[0].target = None), ["players[17] target: 9, not none"]);
    assert_eq!(
        found(|all| all.players[0].home = Some(Spot { x: 1, y: 2 })),
        ["players[17] home: none, not some"]
    );
    assert_eq!(found(|all| all.walls.truncate(1)), ["walls: 2 items, not 1 item"]);
    assert_eq!(found(|all| all.walls.clear()), ["walls: 2 items, not 0 items"]);
    assert_eq!(found(|all| all.clan.walls.clear()), ["clan.walls: 2 items, not 0 items"]);
    assert_eq!(found(|all| all.phase = Phase::Before), ["phase: Play, not Before"]);
    assert_eq!(found(|all| all.odd.1.push(7)), ["odd: 1 2 5 6, not 1 3 5 6 7"]);
}

#[test]
fn entities_with_an_id_are_found_wherever_they_stand() {
    assert_eq!(found(|all| all.players.reverse()), [""; 0], "the order is no field");
    assert_eq!(found(|all| drop(all.players.remove(0))), ["players[17]: only here"]);
    assert_eq!(found(|all| all.players.insert(0, player(4))), ["players[4]: only there"]);
    assert_eq!(found(|all| all.players[0].id = 5), ["players[17]: only here", "players[5]: only there"]);
    assert_eq!(found(|all| all.players.clear()), ["players[17]: only here", "players[3]: only here"]);
    assert_eq!(found(|all| all.players[1].id = 17), ["players[3]: only here", "players[17]: only there"]);
}

#[test]
fn hashes_and_fields_are_by_entity() {
    let (ours, mut other) = (StateTree::from_field(&all()), all());
    let names: Vec<String> = ours.hashes().into_iter().map(|(name, _)| name).collect();
    let entities = "tick, players[17], players[3], walls[at 0], walls[at 1], clan, clan.walls[at 0], clan.walls[at 1], \
        cells, phase, phase.Play.walls[at 0], phase.Play.walls[at 1], odd";
    assert_eq!(names.join(", "), entities);
    other.players[0].way = Way::Up { by: -3, far: false };
    let theirs = StateTree::from_field(&other);
    let differing = ours.hashes().into_iter().zip(theirs.hashes()).filter(|(own, other)| own != other);
    assert_eq!(differing.map(|((name, _), _)| name).collect::<Vec<_>>(), ["players[17]"]);
    let fields: Vec<String> =
        ours.fields("players[3]").iter().map(|(field, value)| format!("{field}={value}")).collect();
    let expected = r#"id=3 name="Ada" x=5 hits=3 items hits[0]=1 hits[1]=2 hits[2]=3 way=Up way.Up.by=-3 way.Up.far=1 target=9 home=none"#;
    assert_eq!(fields.join(" "), expected);
    assert_eq!(ours.fields("players[4]"), []);
}
