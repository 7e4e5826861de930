//! Each weapon at each tick rate: when it is offered, and the effects of a swing other than damage
//! to a player.

use crate::entity::PlayerId;
use crate::event::WorldEvent;
use crate::fixed::{square_root, Angle, Fixed};
use crate::rules::{weapon, TickHz, ARC, MAX_SLOWNESS};
use crate::tests::{
    bare_world, body, body_mut, build, distance_px, events, player, player_mut, put, swing, wait, walk,
};
use crate::trig::direction;
use crate::world::World;

/// A weapon of the original game: ID, name, slot, age, required weapon, slowness in parts of
/// 30,000, damage to structures, stolen gold.
type Row = (u8, &'static str, u8, Option<u8>, Option<u8>, u16, u16, u32);

const ROWS: [Row; 11] = [
    (0, "tool hammer", 0, None, None, 9_000, 25, 0),
    (1, "hand axe", 0, Some(2), None, 9_000, 30, 0),
    (2, "great axe", 0, Some(8), Some(1), 9_000, 35, 0),
    (3, "short sword", 0, Some(2), None, 9_000, 35, 0),
    (4, "katana", 0, Some(8), Some(3), 9_000, 40, 0),
    (5, "polearm", 0, Some(2), None, 9_000, 45, 0),
    (6, "bat", 0, Some(2), None, 9_000, 20, 0),
    (7, "daggers", 0, Some(2), None, 3_000, 20, 0),
    (8, "stick", 0, Some(2), None, 9_000, 1, 0),
    (10, "great hammer", 1, Some(6), None, 9_000, 75, 0),
    (14, "mc grabby", 1, Some(6), None, 9_000, 0, 250),
];

/// Player 1 on a bare map with a weapon, looking to the right, and player 2 at an offset from it.
fn facing(rate: TickHz, weapon: u8, dx: Fixed, dy: Fixed) -> World {
    let mut world = bare_world(rate);
    put(&mut world, 1, 7_000, 5_000);
    put(&mut world, 2, 9_000, 5_000);
    wait(&mut world, 2);
    let other = body_mut(&mut world, 2);
    (other.x, other.y) = (Fixed::from_px(7_000).saturating_add(dx), Fixed::from_px(5_000).saturating_add(dy));
    player_mut(&mut world, 1).hand.weapon = weapon;
    world
}

fn was_hit(world: &World) -> bool {
    events(world).iter().any(|event| matches!(event, WorldEvent::Swung { hit: true, .. }))
}

#[test]
fn each_weapon_has_its_slot_age_and_prerequisite() {
    for (id, name, slot, age, needs, slow, built_damage, steals) in ROWS {
        let of = weapon(id).expect("it is in the table");
        assert_eq!((of.name, of.slot, of.age, of.needs), (name, slot, age, needs));
        assert_eq!((of.slow, of.built_damage(), of.steals), (slow, built_damage, steals), "{name}");
    }
}

#[test]
fn each_weapon_is_carried_at_its_speed_at_each_tick_rate() {
    for (id, name, ..) in ROWS {
        for rate in TickHz::ALL {
            let mut world = facing(rate, id, Fixed::from_px(2_000), Fixed::ZERO);
            walk(&mut world, 1, Some(0x4000));
            wait(&mut world, rate.get() * 2);
            let before = body(&world, 1).clone();
            wait(&mut world, rate.get());
            let way = distance_px(&before, body(&world, 1));
            let percent = f64::from(weapon(id).expect("it is in the table").speed_percent);
            assert!((way - 3.28 * percent).abs() < 0.5, "{name}: {way} px in a second at {rate:?}");
        }
    }
}

#[test]
fn each_weapon_slows_its_holder_for_its_time_at_each_tick_rate() {
    for (id, name, _, _, _, slow, ..) in ROWS {
        for rate in TickHz::ALL {
            let mut world = facing(rate, id, Fixed::from_px(2_000), Fixed::ZERO);
            swing(&mut world, 1);
            assert_eq!(player(&world, 1).slow, slow, "{name} at {rate:?}");
            // 24 parts recover per millisecond: 375 ms for most weapons, 125 ms for the daggers.
            let ticks = (u32::from(slow) / 24 * rate.get()).div_ceil(1_000);
            wait(&mut world, ticks - 1);
            assert!(player(&world, 1).slow > 0, "{name} at {rate:?}");
            wait(&mut world, 1);
            assert_eq!(player(&world, 1).slow, 0, "{name} at {rate:?}");
        }
    }
}

#[test]
fn slowness_adds_up_to_seven_tenths_and_no_further() {
    assert_eq!(MAX_SLOWNESS, 21_000);
    for (id, name, _, _, _, slow, ..) in ROWS {
        for (before, after) in [(0, slow), (21_000 - slow, 21_000), (21_001 - slow, 21_000), (21_000, 21_000)]
        {
            let mut world = facing(TickHz::Hz30, id, Fixed::from_px(2_000), Fixed::ZERO);
            player_mut(&mut world, 1).slow = before;
            player_mut(&mut world, 1).hand.attacking = true;
            world.fight();
            assert_eq!(player(&world, 1).slow, after, "{name} from {before}");
        }
    }
}

#[test]
fn each_weapon_deals_its_damage_to_structures_at_each_tick_rate() {
    for (id, name, .., built_damage, _) in ROWS {
        for rate in TickHz::ALL {
            let mut world = facing(rate, id, Fixed::from_px(2_000), Fixed::ZERO);
            let wall = build(&mut world, 1, 5, 0);
            player_mut(&mut world, 1).hand.weapon = id;
            swing(&mut world, 1);
            let struck = WorldEvent::Struck { object: wall, direction: Angle(0), player: PlayerId(1) };
            assert_eq!(events(&world)[1..], [struck], "{name} at {rate:?}");
            let left = world.structure(wall).expect("it stands").health;
            assert_eq!(left, 1_500 - built_damage, "{name} at {rate:?}");
        }
    }
}

#[test]
fn only_the_grabby_takes_gold() {
    for (id, name, .., steals) in ROWS {
        let mut world = facing(TickHz::Hz30, id, Fixed::from_px(80), Fixed::ZERO);
        player_mut(&mut world, 2).resources = [1_000; 4];
        swing(&mut world, 1);
        assert!(was_hit(&world), "{name}");
        assert_eq!(player(&world, 2).resources, [1_000, 1_000, 1_000, 1_000 - steals], "{name}");
        assert_eq!(player(&world, 1).resources, [0, 0, 0, steals], "{name}");
    }
}

#[test]
fn each_weapon_hits_as_far_to_the_side_as_the_arc_at_each_tick_rate() {
    for (id, name, ..) in ROWS {
        for rate in TickHz::ALL {
            for (off, hit) in [(ARC, true), (ARC + 1, false)] {
                for heading in [off, off.wrapping_neg()] {
                    let mut world = facing(rate, id, Fixed::from_px(80), Fixed::ZERO);
                    body_mut(&mut world, 1).heading = Angle(heading);
                    swing(&mut world, 1);
                    assert_eq!(was_hit(&world), hit, "{name} {heading} parts aside at {rate:?}");
                }
            }
        }
    }
}

#[test]
fn each_weapon_reaches_as_far_aslant_as_straight() {
    for (id, name, ..) in ROWS {
        // A player counts as 63 px large. The oblique offsets are three fifths of the range on one
        // axis and lie on the circle.
        let reach = i64::from(weapon(id).expect("it is in the table").range_px + 63) << 16;
        let short = reach * 3 / 5;
        let long = square_root((reach * reach - short * short) as u64) as i64;
        for (dx, dy) in [(reach, 0), (0, reach), (-reach, 0), (0, -reach), (short, long), (-long, short)] {
            for (beyond, hit) in [(0, true), (1, false)] {
                let further = |way: i64| if way.abs() > short { way + way.signum() * beyond } else { way };
                let (dx, dy) = (further(dx), further(dy));
                let mut world = facing(TickHz::Hz30, id, Fixed(dx as i32), Fixed(dy as i32));
                body_mut(&mut world, 1).heading = direction(dx, dy);
                swing(&mut world, 1);
                assert_eq!(was_hit(&world), hit, "{name} at {dx}, {dy} parts");
            }
        }
    }
}
