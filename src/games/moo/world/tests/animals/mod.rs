//! Animals: habitat, behaviour, victims, death and respawn.

pub mod groups;
pub mod operator_spawn;

use crate::command::{Action, Spawned};
use crate::controller::{Animal, Controller, Mood};
use crate::entity::{Body, PlayerId};
use crate::event::WorldEvent;
use crate::fixed::{Angle, Fixed};
use crate::rules::{AnimalKind, TickHz, ANIMALS};
use crate::spawn::map::generate;
use crate::state::Identity;
use crate::tests::{
    bare_world, body, body_mut, command, distance_px, events, player, player_mut, put, px, swing, wait,
    world, world_at,
};
use crate::world::World;
use crate::Biome;

pub(super) const KINDS: [AnimalKind; 4] =
    [AnimalKind::Cow, AnimalKind::Pig, AnimalKind::Bull, AnimalKind::Wolf];
const HUNTERS: [AnimalKind; 2] = [AnimalKind::Bull, AnimalKind::Wolf];

/// Executes an operator command with the next sequence number.
fn operate(world: &mut World, action: Action) {
    let sequence = world.state.operator_sequence + 1;
    world.step(&mut vec![command(0, sequence, action)]);
}

/// Spawns an animal. Returns its index.
pub(super) fn appear(world: &mut World, kind: AnimalKind, x_px: i32, y_px: i32) -> usize {
    let what = Spawned::Animal(kind);
    operate(world, Action::Spawn { what, x_px: x_px as u16, y_px: y_px as u16 });
    assert_eq!(world.outcome().rejected, []);
    world.state.animals.len() - 1
}

pub(super) fn animal_mut(world: &mut World, at: usize) -> &mut Animal {
    world.state.animals[at].animal_mut().expect("it is an animal").0
}

pub(super) fn animal(world: &World, at: usize) -> Animal {
    match &world.state.animals[at].controller {
        Controller::Animal(animal) => animal.clone(),
        _ => panic!("an animal is an animal"),
    }
}

pub(super) fn beast(world: &World, at: usize) -> &Body {
    &world.state.animals[at].body
}

/// An animal at 5,000 px, and a player to its right; `apart_px` is the distance of the rims.
pub(super) fn facing(rate: TickHz, kind: AnimalKind, apart_px: i32) -> World {
    let mut world = bare_world(rate);
    put(&mut world, 1, 9_000, 5_000);
    appear(&mut world, kind, 5_000, 5_000);
    body_mut(&mut world, 1).x = Fixed::from_px(5_000 + kind.animal().radius_px + 35 + apart_px);
    world
}

/// Lets an animal look around in the next tick.
pub(super) fn look(world: &mut World, at: usize) {
    animal_mut(world, at).sense_wait = 1;
    wait(world, 1);
}

#[test]
fn the_table_has_the_expected_values() {
    let rows = ANIMALS.map(|row| {
        let numbers = (row.count, row.health, row.speed_px_per_s, row.radius_px, row.damage);
        (row.kind as u8, row.name, numbers, row.food, row.gold, row.kind.home())
    });
    let expected = [
        (0, "cow", (12, 500, 195, 72, 0), 50, 150, Biome::Plains),
        (1, "pig", (12, 800, 174, 72, 0), 80, 200, Biome::Plains),
        (2, "bull", (5, 1_800, 193, 78, 20), 100, 1_000, Biome::Desert),
        (4, "wolf", (7, 300, 205, 84, 8), 200, 500, Biome::Snow),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn the_usual_map_has_36_animals_each_in_its_land_on_free_ground() {
    for seed in 0..20 {
        let world = world(seed);
        let count = |kind| world.animals().filter(|view| view.kind == kind).count();
        assert_eq!(KINDS.map(count), [12, 12, 5, 7], "seed {seed}");
        for view in world.animals() {
            assert_eq!(world.bands().biome_at(view.body.y), view.kind.home(), "seed {seed}");
            assert!(world.terrain().is_free(view.body.x, view.body.y, view.body.radius_px), "seed {seed}");
            assert_eq!((view.body.health, view.max_health), (view.kind.animal().health, view.body.health));
        }
        assert_eq!(world.state.animals, self::world(seed).state.animals, "again the same");
    }
    assert_ne!(world(1).state.animals, world(2).state.animals);
}

#[test]
fn other_map_sizes_have_animals_by_area_and_unchanged_scenery() {
    for (map_size_px, counts) in [(1_440, [0, 0, 0, 0]), (7_200, [3, 3, 1, 2]), (32_000, [59, 59, 25, 35])] {
        let world = World::new(Identity { seed: 4, map_size_px, tick_hz: TickHz::Hz30 });
        let listed =
            |kind| (0..world.state.animals.len()).filter(|at| animal(&world, *at).kind == kind).count();
        assert_eq!(KINDS.map(listed), counts, "{map_size_px} px");
        assert_eq!(world.state.scenery, generate(4, map_size_px));
        assert!(World::restore(&world.snapshot()).is_ok());
    }
    // The positions of the scenery before animals were introduced.
    let world = world(1);
    let things = world.scenery().map(|it| (it.x_px, it.y_px, it.scale_px)).collect::<Vec<_>>();
    assert_eq!((things.len(), things[0], things[626]), (627, FIRST_THING, LAST_THING));
}

const FIRST_THING: (i32, i32, i32) = (1_776, 1_936, 150);
const LAST_THING: (i32, i32, i32) = (6_951, 4_844, 85);

#[test]
fn each_mood_has_its_pace_at_each_tick_rate() {
    for rate in TickHz::ALL {
        for kind in KINDS {
            for (mood, factor) in [(Mood::Wanders, 1.0), (Mood::Flees, 1.5), (Mood::Hunts, 1.75)] {
                let mut world = bare_world(rate);
                let at = appear(&mut world, kind, 3_000, 9_500);
                for _ in 0..rate.get() * 3 / 2 {
                    let walks = animal_mut(&mut world, at);
                    (walks.mood, walks.direction) = (mood, Some(Angle(0)));
                    (walks.sense_wait, walks.wait) = (750, 9_000);
                    wait(&mut world, 1);
                }
                let speed = px(beast(&world, at).vx) * f64::from(rate.get());
                let expected = f64::from(kind.animal().speed_px_per_s) * factor;
                assert!((speed - expected).abs() < 1.0, "{kind:?} {mood:?}: {speed} px/s at {rate:?}");
                assert_eq!(beast(&world, at).heading, Angle(0), "it looks where it goes");
            }
        }
    }
}

#[test]
fn left_alone_they_walk_and_stand_and_stay_in_their_land() {
    for seed in 0..4 {
        let mut world = world_at(seed, TickHz::Hz15);
        let starts: Vec<Body> = world.state.animals.iter().map(|it| it.body.clone()).collect();
        let (mut stood, mut walked) = (0, 0);
        for _ in 0..15 * 120 {
            wait(&mut world, 1);
            for at in 0..world.state.animals.len() {
                let (animal, body) = (animal(&world, at), beast(&world, at));
                assert_eq!(animal.mood, Mood::Wanders);
                assert_eq!(world.bands().biome_at(body.y), animal.kind.home(), "seed {seed}: {at}");
                assert!(animal.wait > 0 && animal.wait <= 30_000);
                *(if animal.direction.is_some() { &mut walked } else { &mut stood }) += 1;
            }
        }
        assert!(stood > walked && walked * 4 > stood, "{walked} walks, {stood} stands");
        let moved = |at: usize| distance_px(&starts[at], beast(&world, at)) > 50.0;
        assert!((0..starts.len()).filter(|at| moved(*at)).count() > 25);
    }
}

#[test]
fn each_animal_looks_around_four_times_a_second_at_each_tick_rate() {
    for rate in TickHz::ALL {
        let mut world = bare_world(rate);
        let at = appear(&mut world, AnimalKind::Cow, 3_000, 3_000);
        let mut looks = 0;
        for _ in 0..rate.get() * 10 {
            let before = animal(&world, at).sense_wait;
            wait(&mut world, 1);
            looks += usize::from(animal(&world, at).sense_wait > before);
        }
        assert_eq!(looks, 40, "at {rate:?}");
    }
}

#[test]
fn an_animal_outside_its_biome_returns() {
    let bands = world(1).bands();
    let way = |home, y_px| bands.direction_to_biome(home, Fixed::from_px(y_px)).map(|angle| angle.0);
    assert_eq!((way(Biome::Snow, 2_400), way(Biome::Snow, 2_401)), (None, Some(0xc000)));
    assert_eq!((way(Biome::Desert, 12_000), way(Biome::Desert, 11_999)), (None, Some(0x4000)));
    assert_eq!((way(Biome::Plains, 2_400), way(Biome::Plains, 12_000)), (Some(0x4000), Some(0xc000)));
    assert_eq!((way(Biome::Plains, 7_199), way(Biome::Plains, 7_200)), (Some(0xc000), Some(0x4000)));
    let mut world = bare_world(TickHz::Hz15);
    for (kind, y_px) in [(AnimalKind::Wolf, 3_000), (AnimalKind::Bull, 11_400), (AnimalKind::Cow, 7_100)] {
        appear(&mut world, kind, 4_000, y_px);
    }
    wait(&mut world, 15 * 120);
    for view in world.animals() {
        assert_eq!(world.bands().biome_at(view.body.y), view.kind.home(), "{:?}", view.kind);
    }
}

#[test]
fn cows_and_pigs_flee_from_an_attacker_for_three_seconds() {
    for rate in TickHz::ALL {
        for kind in [AnimalKind::Cow, AnimalKind::Pig] {
            let mut world = facing(rate, kind, 0);
            body_mut(&mut world, 1).heading = Angle(0x8000);
            swing(&mut world, 1);
            let amount = 25;
            let hurt =
                WorldEvent::AnimalHurt { animal: world.state.animals[0].id, by: Some(PlayerId(1)), amount };
            assert!(events(&world).contains(&hurt), "{:?}", events(&world));
            let hit = WorldEvent::Swung { player: PlayerId(1), weapon: 0, hit: true };
            assert!(events(&world).contains(&hit));
            assert_eq!(animal(&world, 0).mood, Mood::Flees);
            let start = beast(&world, 0).clone();
            wait(&mut world, rate.get() * 3 - 2);
            assert_eq!(animal(&world, 0).mood, Mood::Flees, "just before 3 s at {rate:?}");
            let way = px(start.x) - px(beast(&world, 0).x);
            let speed = f64::from(kind.animal().speed_px_per_s) * 1.5;
            assert!(way > speed * 2.8 && way < speed * 3.2, "{way} px of {speed} px/s at {rate:?}");
            wait(&mut world, 1);
            assert_eq!((animal(&world, 0).mood, animal(&world, 0).direction), (Mood::Wanders, None));
        }
    }
}

#[test]
fn hunters_see_players_within_800_px_and_lose_them_beyond_1000() {
    for kind in HUNTERS {
        for (apart_px, hunts) in [(800, true), (801, false)] {
            let mut world = facing(TickHz::Hz30, kind, 0);
            body_mut(&mut world, 1).x = Fixed::from_px(5_000 + apart_px);
            look(&mut world, 0);
            let hunting = animal(&world, 0);
            assert_eq!(hunting.prey, Some(PlayerId(1)).filter(|_| hunts), "{apart_px} px");
            assert_eq!(hunting.direction, Some(Angle(0)).filter(|_| hunts));
        }
        for (apart_px, hunts) in [(1_000, true), (1_001, false)] {
            let mut world = facing(TickHz::Hz30, kind, 500);
            look(&mut world, 0);
            let x = beast(&world, 0).x;
            body_mut(&mut world, 1).x = x.saturating_add(Fixed::from_px(apart_px));
            world.state.animals[0].body.vx = Fixed::ZERO;
            animal_mut(&mut world, 0).is_trapped = true;
            look(&mut world, 0);
            assert_eq!(animal(&world, 0).mood == Mood::Hunts, hunts, "{apart_px} px");
        }
    }
}

#[test]
fn the_nearest_is_hunted_and_of_two_as_near_the_lower_number() {
    let mut world = facing(TickHz::Hz30, AnimalKind::Wolf, 300);
    put(&mut world, 2, 4_700, 5_000);
    body_mut(&mut world, 1).x = Fixed::from_px(5_300);
    look(&mut world, 0);
    assert_eq!(animal(&world, 0).prey, Some(PlayerId(1)), "both are 300 px away");
    let mut world = facing(TickHz::Hz30, AnimalKind::Wolf, 300);
    put(&mut world, 2, 4_701, 5_000);
    body_mut(&mut world, 1).x = Fixed::from_px(5_300);
    look(&mut world, 0);
    assert_eq!(animal(&world, 0).prey, Some(PlayerId(2)));
    world.hurt(1, 100, None);
    look(&mut world, 0);
    assert_eq!(animal(&world, 0).prey, None, "it is dead");
    look(&mut world, 0);
    assert_eq!(animal(&world, 0).prey, Some(PlayerId(1)));
}

#[test]
fn cows_and_pigs_never_hunt() {
    for kind in [AnimalKind::Cow, AnimalKind::Pig] {
        let mut world = facing(TickHz::Hz30, kind, 10);
        wait(&mut world, 300);
        assert_eq!((animal(&world, 0).mood, body(&world, 1).health), (Mood::Wanders, 100));
    }
}

#[test]
fn hunters_strike_within_30_px_of_the_rims() {
    for kind in HUNTERS {
        for (apart_px, strikes) in [(30, true), (31, false)] {
            let mut world = facing(TickHz::Hz30, kind, apart_px);
            animal_mut(&mut world, 0).is_trapped = true;
            look(&mut world, 0);
            let animal = world.state.animals[0].id;
            assert_eq!(
                events(&world).contains(&WorldEvent::AnimalStruck { animal }),
                strikes,
                "{apart_px} px"
            );
            let damage = if strikes { kind.animal().damage } else { 0 };
            assert_eq!(body(&world, 1).health, 100 - damage);
            let speed = px(body(&world, 1).vx) * 30.0;
            assert!((speed - if strikes { 120.0 } else { 0.0 }).abs() < 0.1, "{speed} px/s");
        }
    }
}

#[test]
fn hunters_attack_once_a_second_at_each_tick_rate_and_their_kills_pay_no_player() {
    for rate in TickHz::ALL {
        for (kind, strokes) in [(AnimalKind::Bull, 5), (AnimalKind::Wolf, 13)] {
            let mut world = facing(rate, kind, 10);
            let place = body(&world, 1).x;
            look(&mut world, 0);
            let mut ticks = 0;
            let mut struck = usize::from(body(&world, 1).health < 100);
            while player(&world, 1).alive && ticks < rate.get() * 20 {
                (body_mut(&mut world, 1).x, body_mut(&mut world, 1).vx) = (place, Fixed::ZERO);
                player_mut(&mut world, 1).heal_wait = 15_000;
                wait(&mut world, 1);
                ticks += 1;
                let is_stroke = |event: &&WorldEvent| matches!(event, WorldEvent::AnimalStruck { .. });
                struck += events(&world).iter().filter(is_stroke).count();
            }
            assert_eq!((struck, ticks), (strokes, (strokes as u32 - 1) * rate.get()), "{kind:?} at {rate:?}");
            assert!(events(&world).contains(&WorldEvent::Died { player: PlayerId(1), by: None }));
        }
    }
}

#[test]
fn a_hunter_gives_up_after_ten_seconds_without_a_stroke_and_rests() {
    for rate in TickHz::ALL {
        let mut world = facing(rate, AnimalKind::Wolf, 300);
        animal_mut(&mut world, 0).is_trapped = true;
        look(&mut world, 0);
        let mut ticks = 0;
        while animal(&world, 0).mood == Mood::Hunts {
            world.state.animals[0].body.x = Fixed::from_px(5_000);
            wait(&mut world, 1);
            ticks += 1;
        }
        assert_eq!((ticks, animal(&world, 0).mood), (rate.get() * 10, Mood::Rests), "at {rate:?}");
        let rest = animal(&world, 0).wait;
        assert!((9_000..=30_000).contains(&rest));
        wait(&mut world, rate.get() * 2);
        assert_eq!(animal(&world, 0).mood, Mood::Rests, "whoever stands before it");
        wait(&mut world, rest * rate.get() / 3_000 - rate.get() * 2 + rate.get());
        assert_eq!(animal(&world, 0).prey, Some(PlayerId(1)), "then it hunts again");
    }
}

#[test]
fn a_hunter_attacks_a_player_that_hurts_it_from_afar() {
    let mut world = facing(TickHz::Hz30, AnimalKind::Bull, 0);
    body_mut(&mut world, 1).x = Fixed::from_px(5_950);
    world.hurt_animal(0, 5, Some(PlayerId(1)));
    assert_eq!((animal(&world, 0).prey, animal(&world, 0).direction), (Some(PlayerId(1)), Some(Angle(0))));
    body_mut(&mut world, 1).x = Fixed::from_px(6_050);
    look(&mut world, 0);
    world.hurt_animal(0, 5, Some(PlayerId(1)));
    assert_eq!(animal(&world, 0).mood, Mood::Wanders, "beyond 1,000 px it finds nobody");
    world.hurt_animal(0, 5, None);
    assert_eq!(animal(&world, 0).mood, Mood::Wanders);
}

#[test]
fn hunters_see_a_circle_and_no_square() {
    for kind in HUNTERS {
        for (dx_px, dy_px, is_visible) in
            [(560, -560, true), (600, 600, false), (700, -700, false), (0, 2_000, false), (2_000, 0, false)]
        {
            let mut world = facing(TickHz::Hz30, kind, 0);
            let prey = body_mut(&mut world, 1);
            (prey.x, prey.y) = (Fixed::from_px(5_000 + dx_px), Fixed::from_px(5_000 + dy_px));
            look(&mut world, 0);
            let prey = Some(PlayerId(1)).filter(|_| is_visible);
            assert_eq!(animal(&world, 0).prey, prey, "{kind:?} {dx_px} {dy_px}");
        }
    }
}

#[test]
fn the_nearest_player_has_the_least_euclidean_distance() {
    for (far, near) in [((100, 300), (250, 0)), ((300, -100), (0, 250)), ((200, 200), (-270, 10))] {
        let mut world = facing(TickHz::Hz30, AnimalKind::Wolf, 0);
        put(&mut world, 2, 9_000, 5_000);
        for (id, (dx_px, dy_px)) in [(1, far), (2, near)] {
            let prey = body_mut(&mut world, id);
            (prey.x, prey.y) = (Fixed::from_px(5_000 + dx_px), Fixed::from_px(5_000 + dy_px));
        }
        look(&mut world, 0);
        assert_eq!(animal(&world, 0).prey, Some(PlayerId(2)), "{near:?} is nearer than {far:?}");
    }
}

#[test]
fn a_hunter_runs_straight_at_its_prey() {
    for (dx_px, dy_px) in [(300, 400), (-400, 300), (-300, -400), (400, -300), (0, 500), (0, -500)] {
        let mut world = facing(TickHz::Hz30, AnimalKind::Wolf, 0);
        let prey = body_mut(&mut world, 1);
        (prey.x, prey.y) = (Fixed::from_px(5_000 + dx_px), Fixed::from_px(5_000 + dy_px));
        look(&mut world, 0);
        let angle = f64::from(dy_px).atan2(f64::from(dx_px)) * 32_768.0 / std::f64::consts::PI;
        let way = animal(&world, 0).direction.expect("it runs");
        assert!(way.difference(Angle(angle.round() as i32 as u16)) < 4, "{way:?} for {dx_px} {dy_px}");
    }
}

#[test]
fn a_stroke_of_an_animal_throws_straight_away_from_it() {
    // 120 px apart: no overlap, and in range of both kinds.
    for (dx_px, dy_px) in [(72, 96), (-96, 72), (-72, -96), (96, -72)] {
        for kind in HUNTERS {
            let mut world = facing(TickHz::Hz30, kind, 0);
            let prey = body_mut(&mut world, 1);
            (prey.x, prey.y) = (Fixed::from_px(5_000 + dx_px), Fixed::from_px(5_000 + dy_px));
            animal_mut(&mut world, 0).is_trapped = true;
            look(&mut world, 0);
            // 120 px/s are 4 px per tick at 30 ticks per second. The components are three fifths
            // and four fifths of that.
            let part = |way_px: i32| Fixed(way_px * (4 << 16) / 120);
            let prey = body(&world, 1);
            assert_eq!((prey.vx, prey.vy), (part(dx_px), part(dy_px)), "{kind:?} {dx_px} {dy_px}");
        }
    }
}

#[test]
fn an_animal_turns_around_150_px_before_each_edge_of_the_map() {
    let (cow, wolf, bull) = (AnimalKind::Cow, AnimalKind::Wolf, AnimalKind::Bull);
    for (kind, x_px, y_px, way) in [
        (cow, 150, 5_000, 0x8000),
        (cow, 14_250, 5_000, 0),
        (wolf, 5_000, 150, 0xc000),
        (bull, 5_000, 14_250, 0x4000),
    ] {
        for turns in [false, true] {
            let mut world = bare_world(TickHz::Hz30);
            let at = appear(&mut world, kind, x_px, y_px);
            let body = &mut world.state.animals[at].body;
            let nearer = i32::from(turns);
            body.x.0 += if way == 0 { nearer } else { -nearer } * i32::from(way & 0x4000 == 0);
            body.y.0 += if way == 0x4000 { nearer } else { -nearer } * i32::from(way & 0x4000 != 0);
            let walks = animal_mut(&mut world, at);
            // The animal is held, so that it looks from its initial position.
            (walks.direction, walks.wait, walks.is_trapped) = (Some(Angle(way)), 9_000, true);
            look(&mut world, at);
            let now = animal(&world, at).direction.expect("it walks on");
            let off = now.difference(Angle(way));
            assert!(if turns { off >= 0x7000 } else { off == 0 }, "{kind:?} towards {way:#x}: {off:#x}");
        }
    }
}

#[test]
fn an_animal_stands_for_3_to_10_seconds_and_walks_for_2_to_4() {
    let mut world = bare_world(TickHz::Hz30);
    let at = appear(&mut world, AnimalKind::Cow, 5_000, 5_000);
    let mut waits = [[u32::MAX, 0]; 2];
    for _ in 0..200 {
        animal_mut(&mut world, at).wait = 1;
        wait(&mut world, 1);
        let now = animal(&world, at);
        let [min, max] = &mut waits[usize::from(now.direction.is_some())];
        (*min, *max) = (now.wait.min(*min), now.wait.max(*max));
    }
    let [stood, walked] = waits.map(|times| times.map(|wait| f64::from(wait) / 3_000.0));
    assert!((3.0..3.5).contains(&stood[0]) && (9.5..=10.0).contains(&stood[1]), "{stood:?} s");
    assert!((2.0..2.2).contains(&walked[0]) && (3.8..=4.0).contains(&walked[1]), "{walked:?} s");
}
