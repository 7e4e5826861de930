//! Angles between the wire and the world.
#![allow(clippy::approx_constant, reason = "3.14 and 1.57 are what clients send")]

use std::f64::consts::TAU;

use tickwire::internal::packet::angle::{STEPS_PER_TURN, from_radians, round_2dec, to_radians_2dec};

#[test]
fn the_eight_keyboard_values_are_the_eight_directions() {
    let keys = [0.0, 0.79, 1.57, 2.36, 3.14, -2.36, -1.57, -0.79];
    for (eighth, radians) in keys.into_iter().enumerate() {
        assert_eq!(from_radians(radians), Some(eighth as u16 * 8_192), "{radians}");
    }
    assert_eq!(from_radians(-3.14), Some(32_768));
}

#[test]
fn every_binary_angle_comes_back_within_a_hundredth() {
    for angle in 0..=u16::MAX {
        let radians = to_radians_2dec(angle);
        assert!((-3.15..=3.15).contains(&radians));
        let back = from_radians(radians).expect("finite");
        let apart = f64::from(back.wrapping_sub(angle) as i16).abs() / STEPS_PER_TURN * TAU;
        assert!(apart <= 0.01, "{angle} -> {radians} -> {back}");
    }
}

#[test]
fn turns_do_not_matter_and_what_is_no_number_is_refused() {
    assert_eq!(from_radians(TAU * 3.0 + 1.0), from_radians(1.0));
    assert_eq!(from_radians(1.0 - TAU * 2.0), from_radians(1.0));
    assert_eq!(from_radians(TAU - 1e-12), Some(0));
    assert!(from_radians(1e300).is_some());
    for radians in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(from_radians(radians), None);
    }
}

#[test]
fn zero_has_no_sign() {
    assert!(round_2dec(-0.001).is_sign_positive());
}
