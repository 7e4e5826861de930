//! Spawn protection: sources of damage, duration, end by an attack.

use crate::command::{Action, Selection};
use crate::controller::{Controller, Mood, Poison};
use crate::entity::{Embodied as _, PlayerId};
use crate::event::WorldEvent;
use crate::fixed::{Angle, Fixed};
use crate::rules::{projectile, AnimalKind, TickHz, SPAWN_PROTECTION_MS};
use crate::tests::animals::{animal_mut, appear};
use crate::tests::combat::projectiles::arm;
use crate::tests::{
    act, bare_world, body, body_mut, build, command, difference, events, hold, join, player, player_mut, put,
    swing, unprotect, wait,
};
use crate::world::World;

/// The player that spawns.
const TWO: PlayerId = PlayerId(2);

/// A source of damage: its name, its preparation before the spawn, and its action in each tick.
type Source = (&'static str, fn(&mut World), fn(&mut World));

/// The sources of damage. Player 1 and player 2 stand at 7,000 and 7,080 px.
const SOURCES: [Source; 7] = [
    ("melee", |_| {}, strike),
    ("theft", |world| arm(world, 1, 14), strike),
    (
        "projectile",
        |_| {},
        |world| {
            let shooter = body(world, 1).clone();
            let kind = projectile(0).expect("it is in the table");
            world.launch(&shooter, kind, PlayerId(1).entity());
        },
    ),
    (
        "turret",
        |world| _ = build(world, 1, 17, 0x4000),
        |world| {
            for it in &mut world.state.structures {
                if let Controller::Structure(turret) = &mut it.controller {
                    turret.wait = 0;
                }
            }
        },
    ),
    (
        "spikes",
        |world| _ = build(world, 1, 8, 0xc000),
        |world| {
            let spikes = world.structures().next().expect("they stand");
            let (x_px, y_px) = (spikes.x_px + spikes.item.radius_px + 35, spikes.y_px);
            place(world, 2, (x_px, y_px));
            player_mut(world, 2).ground.touch_wait = 0;
        },
    ),
    (
        "poison",
        |_| {},
        |world| {
            player_mut(world, 2).poison = Poison { by: PlayerId(1), doses: 5, wait: 1 };
        },
    ),
    (
        "animal",
        |world| _ = appear(world, AnimalKind::Wolf, 7_215, 5_000),
        |world| {
            let wolf = animal_mut(world, 0);
            (wolf.mood, wolf.prey, wolf.wait, wolf.strike_wait) = (Mood::Hunts, Some(TWO), 3_000, 0);
            let body = &mut world.state.animals[0].body;
            (body.x, body.y) = (Fixed::from_px(7_215), Fixed::from_px(5_000));
        },
    ),
];

fn strike(world: &mut World) {
    let hand = &mut player_mut(world, 1).hand;
    (hand.wait, hand.pressed) = (0, true);
}

fn place(world: &mut World, id: u16, (x_px, y_px): (i32, i32)) {
    let body = body_mut(world, id);
    (body.x, body.y, body.vx, body.vy) =
        (Fixed::from_px(x_px), Fixed::from_px(y_px), Fixed::ZERO, Fixed::ZERO);
}

/// Player 1 on a bare map, with a prepared source of damage. Player 2 spawns last.
fn before(rate: TickHz, prepare: fn(&mut World), respawns: bool) -> World {
    let mut world = bare_world(rate);
    put(&mut world, 1, 7_000, 5_000);
    wait(&mut world, 2);
    prepare(&mut world);
    body_mut(&mut world, 1).heading = Angle(0);
    if respawns {
        put(&mut world, 2, 2_000, 10_000);
        world.hurt(1, 500, None);
        act(&mut world, 2, respawn());
    } else {
        let sequence = world.operator_sequence() + 1;
        world.step(&mut vec![join(sequence, 2)]);
        assert_eq!(world.outcome().rejected, []);
    }
    world
}

fn respawn() -> Action {
    Action::Respawn { name: "p2".to_string(), skin: 0 }
}

/// Lets the source act in each tick. Returns the number of ticks after the spawn in which player 2
/// is hurt for the first time.
fn first_hurt(world: &mut World, source: fn(&mut World), ticks: u32) -> Option<u32> {
    (1..=ticks).find(|_| {
        place(world, 1, (7_000, 5_000));
        place(world, 2, (7_080, 5_000));
        source(world);
        wait(world, 1);
        events(world).iter().any(|it| matches!(it, WorldEvent::Hurt { player: TWO, .. }))
    })
}

#[test]
fn no_source_hurts_within_five_seconds_of_a_spawn_and_each_does_in_the_next_tick() {
    assert_eq!(SPAWN_PROTECTION_MS, 5_000);
    for rate in TickHz::ALL {
        let protected = 5 * rate.get();
        for (name, prepare, source) in SOURCES.iter().filter(|(name, ..)| *name != "theft") {
            for respawns in [false, true] {
                let mut world = before(rate, *prepare, respawns);
                let at = first_hurt(&mut world, *source, protected + 10).expect(name);
                // A projectile and a turret's shot need some ticks for their flight.
                let latest = protected + if ["projectile", "turret"].contains(name) { 9 } else { 0 };
                assert!((protected..=latest).contains(&at), "{name} at {rate:?}: {at} of {protected}");
            }
        }
    }
}

#[test]
fn each_source_hurts_at_once_without_protection() {
    for (name, prepare, source) in SOURCES.iter().filter(|(name, ..)| *name != "theft") {
        let mut world = before(TickHz::Hz30, *prepare, false);
        unprotect(&mut world, 2);
        assert!(first_hurt(&mut world, *source, 9).is_some(), "{name}");
    }
}

#[test]
fn a_protected_player_is_not_a_target() {
    for (name, prepare, source) in SOURCES {
        let mut world = before(TickHz::Hz30, prepare, false);
        player_mut(&mut world, 2).resources[3] = 500;
        let shots = name == "projectile";
        assert_eq!(first_hurt(&mut world, source, 100), None, "{name}");
        assert_eq!(player(&world, 2).resources[3], 500, "{name}");
        let is_hit = |it: &WorldEvent| matches!(it, WorldEvent::Swung { hit: true, .. });
        assert!(!events(&world).iter().any(is_hit), "{name}");
        assert!(!events(&world).iter().any(|it| matches!(it, WorldEvent::AnimalStruck { .. })), "{name}");
        // A turret without another target does not shoot; projectiles fly through the player.
        assert_eq!(world.projectiles().count() > 0, shots, "{name}");
        assert!(name == "poison" || player(&world, 2).poison == Poison::default(), "{name}");
    }
}

#[test]
fn a_hunter_does_not_begin_to_hunt_a_protected_player() {
    for is_protected in [true, false] {
        let mut world = before(TickHz::Hz30, |_| {}, false);
        place(&mut world, 1, (2_000, 10_000));
        place(&mut world, 2, (7_080, 5_000));
        if !is_protected {
            unprotect(&mut world, 2);
        }
        let wolf = appear(&mut world, AnimalKind::Wolf, 7_500, 5_000);
        wait(&mut world, 15);
        assert_eq!(animal_mut(&mut world, wolf).prey, Some(TWO).filter(|_| !is_protected));
    }
}

/// Puts an item into the hand of player 2, and uses it.
fn use_item(world: &mut World, item: u8) {
    hold(world, 2, item);
    act(world, 2, Action::Attack { on: true });
}

#[test]
fn an_attack_ends_the_protection_and_nothing_else_does() {
    type Deed = fn(&mut World);
    let rows: [(&str, bool, Deed); 16] = [
        ("a swing that hits nothing", false, |world| swing(world, 2)),
        ("a swing at a player", true, |world| {
            place(world, 1, (9_080, 5_000));
            swing(world, 2);
        }),
        ("a swing at a structure", true, |world| {
            place(world, 1, (9_160, 5_000));
            build(world, 1, 3, 0x8000);
            act(world, 1, Action::Select { what: Selection::Weapon(0) });
            body_mut(world, 1).heading = Angle(0);
            swing(world, 2);
        }),
        ("a swing at an animal", true, |world| {
            appear(world, AnimalKind::Cow, 9_100, 5_000);
            swing(world, 2);
        }),
        ("a shot", true, |world| {
            arm(world, 2, 9);
            swing(world, 2);
        }),
        ("spikes", true, |world| use_item(world, 6)),
        ("a trap", true, |world| use_item(world, 15)),
        ("a turret", true, |world| use_item(world, 17)),
        ("a wall", false, |world| use_item(world, 3)),
        ("a windmill", false, |world| use_item(world, 10)),
        ("an apple", false, |world| {
            body_mut(world, 2).health = 50;
            use_item(world, 0);
        }),
        ("a shield, which cannot attack", false, |world| {
            arm(world, 2, 11);
            swing(world, 2);
        }),
        ("a bow without arrows", false, |world| {
            arm(world, 2, 9);
            player_mut(world, 2).resources = [0; 4];
            swing(world, 2);
        }),
        ("a walk", false, |world| act(world, 2, Action::Move { direction: Some(Angle(0)) })),
        ("a look", false, |world| act(world, 2, Action::Aim { heading: Angle(9) })),
        ("a selection", false, |world| {
            act(world, 2, Action::Select { what: Selection::Item(3) });
        }),
    ];
    for (name, ends, deed) in rows {
        let mut world = before(TickHz::Hz30, |_| {}, false);
        place(&mut world, 2, (9_000, 5_000));
        assert!(player(&world, 2).is_protected());
        deed(&mut world);
        assert_eq!(world.player(TWO).expect("it is there").is_protected, !ends, "{name}");
        let expected = if ends { Some(1) } else { None };
        assert_eq!(first_hurt(&mut world, strike, 20), expected, "{name}");
    }
}

#[test]
fn a_respawn_protects_again_after_an_attack_and_a_death() {
    let mut world = before(TickHz::Hz30, |_| {}, false);
    place(&mut world, 2, (9_000, 5_000));
    place(&mut world, 1, (9_080, 5_000));
    swing(&mut world, 2);
    assert_eq!(first_hurt(&mut world, strike, 1), Some(1));
    world.hurt(1, 500, None);
    assert_eq!((player(&world, 2).alive, player(&world, 2).protection), (false, 0));
    act(&mut world, 2, respawn());
    assert_eq!(player(&world, 2).protection, 3 * SPAWN_PROTECTION_MS);
    assert_eq!(first_hurt(&mut world, strike, 200), Some(150));
}

#[test]
fn the_loss_of_a_connection_neither_ends_nor_renews_the_protection() {
    let mut world = before(TickHz::Hz30, |_| {}, false);
    wait(&mut world, 60);
    world.step(&mut vec![command(0, 90, Action::Disconnect { player: TWO })]);
    wait(&mut world, 29);
    assert_eq!(first_hurt(&mut world, strike, 200), Some(60));
}

#[test]
fn spikes_push_a_protected_player_back() {
    let mut world = before(TickHz::Hz30, |world| _ = build(world, 1, 6, 0), false);
    let spikes = world.structures().next().expect("they stand");
    place(&mut world, 2, (spikes.x_px + spikes.item.radius_px + 35, 5_000));
    wait(&mut world, 1);
    assert!(body(&world, 2).vx > Fixed::ZERO);
    assert_eq!(body(&world, 2).health, 100);
}

#[test]
fn a_snapshot_contains_the_protection() {
    let mut world = before(TickHz::Hz30, |_| {}, false);
    wait(&mut world, 60);
    let mut restored = World::restore(&world.snapshot()).expect("it is a snapshot");
    assert_eq!(player(&restored, 2).protection, 9_000);
    let ours = first_hurt(&mut world, strike, 200);
    assert_eq!((ours, first_hurt(&mut restored, strike, 200)), (Some(90), Some(90)));
    assert_eq!(difference(&world, &restored), None);
    let mut other = world.clone();
    player_mut(&mut other, 2).protection = 1;
    assert_ne!(other.checksum(), world.checksum());
    assert_eq!(difference(&world, &other).expect("they differ").field, "controller.protection");
}
