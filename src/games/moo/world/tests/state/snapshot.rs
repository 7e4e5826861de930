//! Snapshots, restore, checksums and comparison: every field is covered, and no bytes are trusted.

use std::collections::BTreeSet;

use proptest::prelude::*;
use tickwire_sim::migrate::NamedState;

use crate::clan::ClanId;
use crate::command::{Action, Selection, Spawned};
use crate::controller::{Controller, Hand, Poison};
use crate::fields::{Field, Sink};
use crate::fixed::{Angle, Fixed};
use crate::rng::Rng;
use crate::rules::{Resource, TickHz, ANIMALS};
use crate::rules_hash;
use crate::snapshot::{read, SnapshotError};
use crate::state::{Identity, State};
use crate::tests::{
    body, body_mut, command, difference, join, player, player_mut, put, unprotect, wait, walk, world,
};
use crate::world::World;

/// A world in which every field has been used: players of all kinds, some of them walking, some
/// disconnected, one with spawn protection.
pub(crate) fn lively(seed: u32, map_size_px: u32, tick_hz: TickHz) -> World {
    let mut world = World::new(Identity { seed, map_size_px, tick_hz });
    // Without animals, no player is hunted during the setup.
    world.state.animals.clear();
    let mut joins = (1..=6).map(|id| join(u64::from(id), id * 100)).collect();
    world.step(&mut joins);
    (1..=6).for_each(|id| unprotect(&mut world, id * 100));
    let mut rng = Rng::new(seed, 99);
    for round in 1..=rng.between(1, 4) as u32 {
        for id in [100, 200, 300] {
            let angle = Angle(rng.next_u64() as u16);
            let action = if id == 300 {
                Action::Aim { heading: angle }
            } else {
                Action::Move { direction: Some(angle) }
            };
            world.step(&mut vec![command(id, u64::from(round), action)]);
        }
        wait(&mut world, rng.between(1, 60) as u32);
    }
    let grant = Action::Grant { player: crate::PlayerId(400), resource: Resource::Stone, amount: 9 };
    let leave = Action::Leave { player: crate::PlayerId(600) };
    world.step(&mut vec![command(0, 7, leave), command(0, 8, grant)]);
    // Player 100 stands while spikes are built, and walks on afterwards.
    let way = player(&world, 100).direction;
    player_mut(&mut world, 100).direction = None;
    let walker = body_mut(&mut world, 100);
    (walker.vx, walker.vy) = (Fixed::ZERO, Fixed::ZERO);
    build(&mut world);
    // Player 100 may have been hurt at its position, so its health is restored.
    body_mut(&mut world, 100).health = 100;
    let walker = player_mut(&mut world, 100);
    (walker.alive, walker.direction) = (true, way);
    fight(&mut world);
    found_clans(&mut world);
    let_animals_appear(&mut world);
    shoot(&mut world);
    player_mut(&mut world, 200).protection = 9_000;
    world
}

/// Spawns an animal of each kind at the first free position.
fn let_animals_appear(world: &mut World) {
    let last_px = world.identity().map_size_px as u16 - 100;
    for what in ANIMALS.iter().map(|animal| Spawned::Animal(animal.kind)) {
        let mut places = (100..last_px)
            .step_by(60)
            .flat_map(|y_px| (100..last_px).step_by(60).map(move |x_px| (x_px, y_px)));
        let found = places.any(|(x_px, y_px)| {
            let sequence = world.state.operator_sequence + 1;
            world.step(&mut vec![command(0, sequence, Action::Spawn { what, x_px, y_px })]);
            world.outcome().rejected.is_empty()
        });
        assert!(found, "there is room somewhere");
    }
}

/// Players 100 and 400 own clans. Player 500, which is dead, is a member of the first; player 200
/// has requested to join it.
fn found_clans(world: &mut World) {
    player_mut(world, 500).clan = Some(ClanId(1));
    for (id, name) in [(100, "first"), (400, "second")] {
        let sequence = player(world, id).sequence + 1;
        world.step(&mut vec![command(id, sequence, Action::ClanCreate { name: name.to_string() })]);
    }
    let sequence = player(world, 200).sequence + 1;
    world.step(&mut vec![command(200, sequence, Action::ClanRequest { name: "first".to_string() })]);
    assert_eq!(world.outcome().rejected, []);
}

/// A position with free ground for a player and, to its right, for a structure.
fn roomy(world: &World) -> (Fixed, Fixed) {
    let size_px = world.identity().map_size_px as i32;
    let places =
        (100..size_px - 200).step_by(20).flat_map(|y| (100..size_px - 200).step_by(20).map(move |x| (x, y)));
    let places = places.map(|(x_px, y_px)| (Fixed::from_px(x_px), Fixed::from_px(y_px)));
    let is_roomy = |(x, y): &(Fixed, Fixed)| {
        let right = x.saturating_add(Fixed::from_px(85));
        let dry = world.bands().biome_at(*y) != crate::Biome::River;
        dry && world.terrain().is_free(*x, *y, 40) && world.terrain().is_free(right, *y, 55)
    };
    places.into_iter().find(is_roomy).expect("there is room somewhere")
}

/// Player 200 gains upgrades, builds its items on free ground, and holds another item.
fn build(world: &mut World) {
    let place = roomy(world);
    let body = body_mut(world, 200);
    (body.x, body.y) = place;
    (body.vx, body.vy) = (Fixed::ZERO, Fixed::ZERO);
    let player = player_mut(world, 200);
    // The player stops on free ground.
    player.direction = None;
    player.growth.gain(1_000);
    player.resources = [500; 4];
    let mut sequence = player.sequence;
    let mut next = || {
        sequence += 1;
        sequence
    };
    world.step(&mut vec![command(200, next(), Action::Upgrade { choice: 5 })]);
    for item in [3, 6, 10] {
        for eighth in 0..8 {
            let heading = Angle(eighth * 8_192);
            let select = Action::Select { what: Selection::Item(item) };
            world.step(&mut vec![
                command(200, next(), select),
                command(200, next(), Action::Aim { heading }),
                command(200, next(), Action::Attack { on: true }),
            ]);
        }
    }
    let select = Action::Select { what: Selection::Item(0) };
    world.step(&mut vec![command(200, next(), select)]);
    assert!(world.structures().count() > 0, "something stands");
}

/// Player 400 kills player 500, which has a higher age, and keeps swinging. Player 100 is hurt
/// without a source and heals.
fn fight(world: &mut World) {
    let at = body(world, 500).clone();
    player_mut(world, 500).growth.gain(700);
    let striker = body_mut(world, 400);
    (striker.x, striker.y) = (at.x.saturating_sub(Fixed::from_px(10)), at.y);
    striker.heading = Angle(0);
    body_mut(world, 500).health = 7;
    player_mut(world, 500).heal_wait = 9_000;
    player_mut(world, 400).hand.attacking = true;
    world.fight();
    assert!(!player(world, 500).alive);
    world.hurt(0, 30, None);
    wait(world, 2);
}

/// Player 300 shoots and has one arrow left. Player 100 has poison of player 400.
fn shoot(world: &mut World) {
    player_mut(world, 100).poison = Poison { by: crate::PlayerId(400), doses: 3, wait: 2_000 };
    let archer = player_mut(world, 300);
    archer.kit.weapons[1] = Some(9);
    archer.hand = Hand { weapon: 9, item: None, attacking: true, pressed: true, wait: 0 };
    archer.resources[0] = 8;
    wait(world, 1);
    assert_eq!(world.projectiles().count(), 1, "it flies");
}

#[test]
fn a_restored_world_is_equal_and_continues_identically() {
    for rate in TickHz::ALL {
        let mut world = lively(6, 14_400, rate);
        let mut restored = World::restore(&world.snapshot()).expect("it is a snapshot");
        assert_eq!(restored.state, world.state);
        assert_eq!(restored.snapshot(), world.snapshot());
        for id in 10..30 {
            let mut commands = vec![join(u64::from(id), id)];
            restored.step(&mut commands.clone());
            world.step(&mut commands);
            wait(&mut world, 5);
            wait(&mut restored, 5);
            assert_eq!(difference(&world, &restored), None, "at {rate:?}");
        }
        assert_eq!(restored.checksum(), world.checksum());
    }
}

#[test]
fn the_header_identifies_the_format_and_the_rules() {
    let bytes =
        World::new(Identity { seed: 0x0102_0304, map_size_px: 14_400, tick_hz: TickHz::Hz20 }).snapshot();
    assert_eq!(bytes[..4], *b"TWSN");
    assert_eq!(bytes[4..6], [1, 0]);
    assert_eq!(bytes[6..14], rules_hash().to_le_bytes());
    assert_eq!(bytes[14..23], [4, 3, 2, 1, 0x40, 0x38, 0, 0, 20]);
}

#[test]
fn other_bytes_are_refused_with_the_reason() {
    let whole = lively(1, 1_440, TickHz::Hz30).snapshot();
    let with = |at: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        World::restore(&bytes).expect_err("it is damaged")
    };
    assert_eq!(World::restore(b""), Err(SnapshotError::NotASnapshot));
    assert_eq!(World::restore(b"TWS"), Err(SnapshotError::NotASnapshot));
    assert_eq!(World::restore(b"GIF89a"), Err(SnapshotError::NotASnapshot));
    assert_eq!(with(4, 2), SnapshotError::Version { found: 2 });
    assert!(matches!(with(6, whole[6] ^ 1), SnapshotError::Code { .. }));
    assert_eq!(with(22, 25), SnapshotError::Value("TickHz"));
    assert_eq!(with(21, 200), SnapshotError::Value("map_size_px"));
    assert_eq!(with(23, whole[23] ^ 1), SnapshotError::Checksum, "the tick");
    assert_eq!(with(whole.len() - 1, !whole[whole.len() - 1]), SnapshotError::Checksum);
    let mut longer = whole.clone();
    longer.extend([0, 0, 0]);
    assert_eq!(World::restore(&longer), Err(SnapshotError::Trailing { bytes: 3 }));
    for length in 0..whole.len() {
        assert!(World::restore(&whole[..length]).is_err(), "{length} bytes of {}", whole.len());
    }
}

#[test]
fn a_false_count_reserves_no_more_than_its_bytes_can_fill() {
    let mut bytes = world(1).snapshot();
    let players_at = 14 + 9 + 4 + 8 + 8;
    assert_eq!(bytes[players_at..players_at + 4], [0; 4], "no players");
    bytes[players_at..players_at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(World::restore(&bytes), Err(SnapshotError::Truncated));
}

#[test]
fn the_first_field_that_differs_is_named() {
    let mut world = world(1);
    put(&mut world, 1, 500, 600);
    let mut other = world.clone();
    assert_eq!(difference(&world, &other), None);
    other.state.players[0].body.y = Fixed(9);
    let found = difference(&world, &other).expect("they differ");
    assert_eq!(found.to_string(), "players[1] body.y: 39321600, not 9");
    walk(&mut other, 1, Some(1));
    assert_eq!(difference(&world, &other).expect("they differ").entity, "tick");
}

#[test]
fn later_chance_differs_between_seeds() {
    let rng = |seed| world(seed).state.rng;
    assert_eq!(rng(1), rng(1));
    assert_ne!(rng(1), rng(2));
}

/// The name of each scalar of the state, and its position in the bytes.
#[derive(Default)]
struct Places {
    path: Vec<&'static str>,
    end: usize,
    list: Vec<(String, usize, usize)>,
}

impl Sink for Places {
    fn put(&mut self, _value: u64, bytes: usize) {
        self.list.push((self.path.join("."), self.end, bytes));
        self.end += bytes;
    }

    fn enter(&mut self, field: &'static str) {
        self.path.push(field);
    }

    fn leave(&mut self) {
        self.path.pop();
    }
}

fn places(state: &State) -> Vec<(String, usize, usize)> {
    let mut places = Places { end: 14, ..Places::default() };
    state.write(&mut places);
    places.list
}

/// Changes each scalar of a lively world in several ways. Each change must alter the checksum, and
/// no changed world may be restored. Returns the names of the changed scalars.
fn change_each_scalar(seed: u32, rate: TickHz, flip: u64) -> BTreeSet<String> {
    let world = lively(seed, 1_440, rate);
    let (whole, before) = (world.snapshot(), world.checksum());
    let places = places(&world.state);
    assert_eq!(places.last().map(|(_, at, bytes)| at + bytes + 8), Some(whole.len()), "all of it is walked");
    let mut changed = BTreeSet::new();
    for (path, at, bytes) in places {
        // A given pattern; the lowest bit, which yields a valid value for small numbers; and
        // changes between tick rates.
        for pattern in [flip, 1, 15 ^ 20, 20 ^ 30, 30 ^ 60, 60 ^ 15] {
            let mask = &pattern.to_le_bytes()[..bytes];
            if mask.iter().all(|byte| *byte == 0) {
                continue;
            }
            let mut damaged = whole.clone();
            damaged[at..at + bytes].iter_mut().zip(mask).for_each(|(byte, bits)| *byte ^= bits);
            // Decoded without validation, so that impossible values are compared too. Only bytes
            // that are not a state at all fail.
            if let Ok((state, _)) = read(&damaged) {
                let other = World { state, ..world.clone() };
                assert_ne!(other.checksum(), before, "seed {}: {} at {}", seed, &path, at);
                changed.insert(path.clone());
            }
            assert!(World::restore(&damaged).is_err(), "seed {}: {} at {}", seed, &path, at);
        }
    }
    changed
}

/// The scalars of a lively world, by name.
const USED: &[&str] = &[
    "identity.seed",
    "identity.map_size_px",
    "identity.tick_hz",
    "tick",
    "rng",
    "operator_sequence",
    "players.id",
    "players.body.x",
    "players.body.y",
    "players.body.vx",
    "players.body.vy",
    "players.body.heading",
    "players.body.radius_px",
    "players.body.health",
    "players.body.owner",
    "players.controller.name",
    "players.controller.skin",
    "players.controller.joined_tick",
    "players.controller.sequence",
    "players.controller.direction",
    "players.controller.stirred",
    "players.controller.alive",
    "players.controller.hand.weapon",
    "players.controller.hand.attacking",
    "players.controller.hand.pressed",
    "players.controller.hand.wait",
    "players.controller.slow",
    "players.controller.heal_wait",
    "players.controller.growth.age",
    "players.controller.growth.xp",
    "players.controller.growth.choice_age",
    "players.controller.hand.item",
    "players.controller.kit.weapons",
    "players.controller.kit.items",
    "players.controller.kit.built",
    "players.controller.kit.income_halves",
    "players.controller.kit.earned",
    "players.controller.ground.held",
    "players.controller.ground.healing",
    "players.controller.ground.touch_wait",
    "structures.id",
    "structures.body.x",
    "structures.body.health",
    "structures.body.owner",
    "structures.controller.item",
    "structures.controller.wait",
    "shots.id",
    "shots.body.x",
    "shots.body.vx",
    "shots.body.heading",
    "shots.body.owner",
    "shots.controller.kind",
    "shots.controller.by",
    "shots.controller.left",
    "next_shot",
    "players.controller.poison.by",
    "players.controller.poison.doses",
    "players.controller.poison.wait",
    "next_id",
    "players.controller.resources",
    "players.controller.kills",
    "scenery.id",
    "scenery.body.x",
    "scenery.controller.kind",
    "scenery.controller.scale_px",
    "players.controller.clan",
    "players.controller.join_request",
    "clans.id",
    "clans.name",
    "clans.owner",
    "next_clan",
];

/// A single world may lack a walking player or a projectile. Together, these worlds contain all
/// scalars.
#[test]
fn no_scalar_is_left_out_when_each_is_changed() {
    let mut every = BTreeSet::new();
    for (seed, rate) in (1..).zip(TickHz::ALL) {
        every.extend(change_each_scalar(seed, rate, u64::MAX));
    }
    for path in USED {
        assert!(every.contains(*path), "{} was never changed", path);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changing_any_scalar_changes_the_checksum(
        seed in any::<u32>(),
        rate in prop::sample::select(TickHz::ALL.to_vec()),
        flip in any::<u64>(),
    ) {
        change_each_scalar(seed, rate, flip);
    }

    #[test]
    fn damaged_bytes_are_refused_or_run(
        seed in any::<u32>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = lively(seed, 1_440, TickHz::Hz30).snapshot();
        for (at, byte) in edits {
            let at = 14 + at.index(bytes.len() - 14);
            bytes[at] = byte;
        }
        // An attacker can adjust the checksum. A world that is then restored must run.
        if let Ok((state, _)) = read(&bytes) {
            let checksum = World { state, ..world(1) }.checksum();
            let at = bytes.len() - 8;
            bytes[at..].copy_from_slice(&checksum.to_le_bytes());
        }
        if let Ok(mut world) = World::restore(&bytes) {
            world.step(&mut vec![join(u64::MAX, 9)]);
            wait(&mut world, 10);
        }
    }
}

#[test]
fn a_world_is_carried_over_by_the_names_of_its_fields() {
    let world = lively(5, 3000, TickHz::Hz30);
    let saved = NamedState::new(&world.named()).expect("just written");
    let carried = World::carried(*world.identity(), &saved).expect("the same rules");
    // Only the sequence numbers are reset.
    let (mut expected, mut sequences) = (world.state.clone(), 0);
    for entity in &mut expected.players {
        if let Controller::Player(player) = &mut entity.controller {
            sequences += std::mem::take(&mut player.sequence);
        }
    }
    assert_ne!(sequences, 0);
    assert_eq!(carried.state, expected);
    assert!(saved.migration_notes(&NamedState::new(&carried.named()).expect("just written")).is_empty());
    // On a smaller map some entities would be outside.
    let smaller = Identity { map_size_px: 1500, ..*world.identity() };
    assert!(World::carried(smaller, &saved).is_err());
}
