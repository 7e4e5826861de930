//! Experience and ages.

use crate::controller::Growth;
use crate::entity::PlayerId;
use crate::rules::{xp_next, MAX_AGE, XP_STEPS};
use crate::tests::{player_mut, put, world};

fn grown(age: u8, xp: u32) -> Growth {
    Growth { age, xp, choice_age: 2 }
}

#[test]
fn the_steps_are_300_and_then_a_fifth_more_each() {
    assert_eq!((MAX_AGE, XP_STEPS.len()), (100, 99));
    let mut exact = 300.0f64;
    for (step, xp) in XP_STEPS.iter().enumerate() {
        let expected = exact.round().min(f64::from(u32::MAX));
        assert!((f64::from(*xp) - expected).abs() < 1.0, "age {}: {xp}, not {expected}", step + 1);
        exact *= 1.2;
    }
    assert_eq!((xp_next(0), xp_next(1), xp_next(2), xp_next(99)), (300, 300, 360, u32::MAX));
    assert_eq!((xp_next(100), xp_next(255)), (0, 0), "there is no next age");
}

#[test]
fn enough_experience_is_an_age_and_the_rest_is_kept() {
    let mut growth = grown(1, 0);
    for (xp, brought, age, left) in
        [(299, 0, 1, 299), (1, 1, 2, 0), (359, 0, 2, 359), (2, 1, 3, 1), (432 + 518, 2, 5, 1), (0, 0, 5, 1)]
    {
        assert_eq!(growth.gain(xp), brought);
        assert_eq!(growth, grown(age, left));
    }
}

#[test]
fn the_last_age_is_the_end() {
    let mut growth = grown(99, 0);
    assert_eq!(growth.gain(u32::MAX), 1);
    assert_eq!(growth, grown(100, 0));
    assert_eq!(growth.gain(u32::MAX), 0);
    assert_eq!(growth, grown(100, 0));
    let mut growth = grown(99, 4_294_967_294);
    assert_eq!(growth.gain(u32::MAX), 1, "beyond the bound of a u32 nothing is lost that counts");
}

#[test]
fn everyone_can_read_how_far_it_is() {
    let mut world = world(1);
    put(&mut world, 1, 3_000, 3_000);
    player_mut(&mut world, 1).growth.gain(300 + 59);
    let view = world.player(PlayerId(1)).expect("it is there");
    assert_eq!((view.age, view.xp, view.xp_next), (2, 59, 360));
}
