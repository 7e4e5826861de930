//! Each item at the resolution of a fixed-point number: when it is offered, the distance at which
//! it acts, and which of several items acts.

use crate::entity::PlayerId;
use crate::fixed::{square_root, Angle, Fixed};
use crate::rules::{item, Group, TickHz};
use crate::tests::{bare_world, body, body_mut, build, events, player, put, px, wait};
use crate::world::World;

/// An item of the original game: ID, name, age, required item, radius of the solid or active part.
type Row = (u8, &'static str, Option<u8>, Option<u8>, i32);

const ROWS: [Row; 16] = [
    (0, "apple", None, None, 0),
    (1, "cookie", Some(3), None, 0),
    (2, "cheese", Some(7), None, 0),
    (3, "wood wall", None, None, 50),
    (4, "stone wall", Some(3), None, 50),
    (5, "castle wall", Some(7), Some(4), 52),
    (6, "spikes", None, None, 49),
    (7, "greater spikes", Some(5), None, 52),
    (9, "spinning spikes", Some(9), Some(7), 52),
    (10, "windmill", None, None, 45),
    (11, "faster windmill", Some(5), Some(10), 47),
    (12, "power mill", Some(8), Some(11), 47),
    (15, "pit trap", Some(4), None, 10),
    (16, "boost pad", Some(4), None, 31),
    (19, "healing pad", Some(7), None, 22),
    (20, "spawn pad", Some(9), None, 22),
];

/// Centre of the structure that `built` builds, in pixels.
const CENTRE_PX: (i32, i32) = (7_100, 5_000);

/// Player 1 has built an item and is far away; player 2 is at an offset from the item's centre. No
/// tick has passed since.
fn built(rate: TickHz, number: u8, dx: i32, dy: i32) -> World {
    let mut world = bare_world(rate);
    put(&mut world, 1, 7_000, 5_000);
    put(&mut world, 2, 9_000, 5_000);
    wait(&mut world, 2);
    another(&mut world, number, 0);
    body_mut(&mut world, 1).x = Fixed::from_px(2_000);
    place(&mut world, 2, dx, dy);
    world
}

/// Player 1 builds an item around the same centre, in a direction.
fn another(world: &mut World, number: u8, heading: u16) {
    let way = Fixed::from_px(35 + item(number).expect("it is in the table").scale_px);
    let own = body_mut(world, 1);
    own.x = Fixed::from_px(CENTRE_PX.0).saturating_sub(way.scaled(crate::trig::cosine(Angle(heading))));
    own.y = Fixed::from_px(CENTRE_PX.1).saturating_sub(way.scaled(crate::trig::sine(Angle(heading))));
    build(world, 1, number, heading);
    let stands = world.structures().last().expect("it stands");
    assert_eq!((stands.x_px, stands.y_px), CENTRE_PX);
}

/// Moves a player to an offset from the centre, in 1/65,536 px.
fn place(world: &mut World, player: u16, dx: i32, dy: i32) {
    let body = body_mut(world, player);
    body.x = Fixed::from_px(CENTRE_PX.0).saturating_add(Fixed(dx));
    body.y = Fixed::from_px(CENTRE_PX.1).saturating_add(Fixed(dy));
}

/// Points at the edge of a circle, on the axes and oblique, and whether each is inside. In 1/65,536
/// px.
fn around(reach: i32) -> Vec<(i32, i32, bool)> {
    let square = |value: i32| i64::from(value) * i64::from(value);
    let dx = reach / 5 * 3;
    let dy = square_root((square(reach) - square(dx)) as u64) as i32;
    let inside =
        [(reach, 0), (-reach, 0), (0, reach), (0, -reach), (dx, dy), (-dx, dy), (-dy, -dx), (dy, -dx)];
    let outward =
        |(x, y): (i32, i32)| if x.abs() > y.abs() { (x + x.signum(), y) } else { (x, y + y.signum()) };
    let inner = inside.iter().map(|(x, y)| (*x, *y, true));
    inner.chain(inside.map(outward).into_iter().map(|(x, y)| (x, y, false))).collect()
}

#[test]
fn each_item_has_its_age_prerequisite_and_radius() {
    for (id, name, age, needs, radius_px) in ROWS {
        let of = item(id).expect("it is in the table");
        assert_eq!((of.name, of.age, of.needs, of.radius_px), (name, age, needs, radius_px));
    }
}

#[test]
fn spikes_are_touched_up_to_a_sixteenth_of_a_pixel_from_their_rim_at_each_tick_rate() {
    for rate in TickHz::ALL {
        for (number, reach_px) in [(6, 84), (7, 87), (9, 87)] {
            for (dx, dy, touched) in around((reach_px << 16) + (1 << 12)) {
                let mut world = built(rate, number, dx, dy);
                world.outcome.clear();
                world.apply_structure_effects();
                assert_eq!(!events(&world).is_empty(), touched, "{number} from {dx}, {dy} at {rate:?}");
            }
        }
    }
}

#[test]
fn pads_and_traps_act_on_any_overlap_at_each_tick_rate() {
    for rate in TickHz::ALL {
        for (number, reach_px) in [(15, 45), (16, 66), (19, 57)] {
            for (dx, dy, acts) in around((reach_px << 16) - 1) {
                let mut world = built(rate, number, dx, dy);
                world.apply_structure_effects();
                let ground = player(&world, 2).ground.clone();
                let found = match number {
                    15 => ground.held,
                    16 => body(&world, 2).vx != Fixed::ZERO,
                    _ => ground.healing,
                };
                assert_eq!(found, acts, "{number} from {dx}, {dy} at {rate:?}");
            }
        }
    }
}

#[test]
fn spikes_throw_straight_away_from_their_centre_at_1500_px_a_second_at_each_tick_rate() {
    for rate in TickHz::ALL {
        for number in [6, 7, 9] {
            for (dx, dy) in [(80, 0), (-80, 0), (0, 80), (0, -80), (48, -64), (-60, 25), (0, 0)] {
                let mut world = built(rate, number, dx << 16, dy << 16);
                body_mut(&mut world, 2).vx = Fixed::from_px(3);
                body_mut(&mut world, 2).vy = Fixed::from_px(-4);
                world.apply_structure_effects();
                let length = f64::from(dx).hypot(f64::from(dy)).max(1.0);
                let speed = 1_500.0 / f64::from(rate.get());
                let found = (px(body(&world, 2).vx) - 3.0, px(body(&world, 2).vy) + 4.0);
                let (x, y) = (speed * f64::from(dx) / length, speed * f64::from(dy) / length);
                let off = (found.0 - x).hypot(found.1 - y);
                assert!(off < 0.001, "{number} from {dx}, {dy} at {rate:?}: {found:?}, not {x}, {y}");
            }
        }
    }
}

#[test]
fn spikes_hurt_again_after_200_ms_at_each_tick_rate() {
    for rate in TickHz::ALL {
        let mut world = built(rate, 6, 80 << 16, 0);
        let mut times_ms = Vec::new();
        for tick in 0..rate.get() {
            // The player is moved back and healed in each tick.
            place(&mut world, 2, 80 << 16, 0);
            let before = body_mut(&mut world, 2);
            (before.vx, before.health) = (Fixed::ZERO, 100);
            wait(&mut world, 1);
            if body(&world, 2).health < 100 {
                times_ms.push(tick * 1_000 / rate.get());
            }
        }
        assert_eq!(times_ms, [0, 200, 400, 600, 800], "at {rate:?}");
    }
}

#[test]
fn a_touch_does_nothing_to_the_dead() {
    for number in [6, 15, 16, 19] {
        let mut world = built(TickHz::Hz30, number, 9 << 16, 0);
        let (player, body) = world.player_mut(PlayerId(2)).expect("it is there");
        (player.alive, body.health) = (false, 0);
        let before = world.state.players.clone();
        world.outcome.clear();
        world.apply_structure_effects();
        assert_eq!(world.state.players, before, "{number}");
        assert_eq!(events(&world), [], "{number}");
    }
}

/// Adds a second structure of an item around the same centre, with another owner.
fn second(world: &mut World, number: u8, heading: u16, owner: u16) {
    let mut entity = world.state.structures[0].clone();
    entity.id.0 += 1;
    (entity.body.heading, entity.body.owner) = (Angle(heading), PlayerId(owner));
    entity.controller =
        crate::controller::Controller::Structure(crate::controller::Structure { item: number, wait: 0 });
    world.terrain.put_up(entity.standing().expect("it was built"));
    world.state.structures.push(entity);
}

#[test]
fn of_several_structures_the_lowest_number_acts_and_own_traps_and_spikes_do_not() {
    let speed = |world: &World| (body(world, 2).vx, body(world, 2).vy);
    let mut world = built(TickHz::Hz30, 16, 0, 0);
    second(&mut world, 16, 0x4000, 1);
    world.apply_structure_effects();
    assert_eq!(speed(&world), (Fixed::from_px(50), Fixed::ZERO), "the first boost pad");
    let mut world = built(TickHz::Hz30, 6, 80 << 16, 0);
    second(&mut world, 9, 0, 1);
    world.apply_structure_effects();
    assert_eq!(body(&world, 2).health, 80, "the first spikes, by 20");
    let mut world = built(TickHz::Hz30, 6, 80 << 16, 0);
    world.state.structures[0].body.owner = PlayerId(2);
    world.terrain = World::from_state(world.state.clone()).terrain;
    second(&mut world, 9, 0, 1);
    world.apply_structure_effects();
    assert_eq!(body(&world, 2).health, 55, "one's own are passed over, by 45");
    for (first, other) in [(1, 2), (2, 1)] {
        let mut world = built(TickHz::Hz30, 15, 0, 0);
        world.state.structures[0].body.owner = PlayerId(first);
        world.terrain = World::from_state(world.state.clone()).terrain;
        second(&mut world, 15, 0, other);
        world.apply_structure_effects();
        assert!(player(&world, 2).ground.held, "by the trap that is not its own");
    }
}

#[test]
fn a_boost_pad_does_not_push_a_trapped_player() {
    let mut world = built(TickHz::Hz30, 15, 0, 0);
    second(&mut world, 16, 0, 1);
    world.apply_structure_effects();
    assert!(player(&world, 2).ground.held);
    assert_eq!((body(&world, 2).vx, body(&world, 2).vy), (Fixed::ZERO, Fixed::ZERO));
    // The trap does not hold its owner, so the boost pad throws it.
    place(&mut world, 1, 0, 0);
    world.apply_structure_effects();
    assert!(!player(&world, 1).ground.held);
    assert_eq!((body(&world, 1).vx, body(&world, 1).vy), (Fixed::from_px(50), Fixed::ZERO));
}

#[test]
fn obstacles_without_spikes_hurt_no_player() {
    for number in [3, 4, 5, 10, 11, 12, 20] {
        assert!(!matches!(item(number).expect("it is in the table").group, Group::Spikes));
        let mut world = built(TickHz::Hz30, number, 20 << 16, 0);
        world.outcome.clear();
        world.apply_structure_effects();
        assert_eq!(events(&world), [], "{number}");
        assert_eq!((body(&world, 2).vx, body(&world, 2).health), (Fixed::ZERO, 100), "{number}");
    }
}
