//! Angle conversion at the edge of the wire: radians of the MooMoo dialects, and the world's binary
//! angles.
//!
//! A binary angle counts 65,536 steps per turn; 0 points right (+x), 16,384 points down (+y grows
//! down). Radians never reach the server beyond this file, because the world holds integers only.

use std::f64::consts::{PI, TAU};

/// Steps of a binary angle in one turn.
pub const STEPS_PER_TURN: f64 = 65_536.0;

/// One eighth of a turn, in steps: the distance between two keyboard directions.
const EIGHTH: i32 = 8_192;

/// Converts an angle in radians, of any number of turns in either direction, to a binary angle.
/// Returns `None` for NaN and infinities.
///
/// A MooMoo client rounds angles to two decimals, so its keyboard sends 0.79 for an eighth of a
/// turn. A value that is a rounded multiple of an eighth is therefore taken as that eighth, so that
/// players of different dialects who walk down and right move in parallel. The error this
/// introduces is no larger than the rounding error of the client.
pub fn from_radians(radians: f64) -> Option<u16> {
    if !radians.is_finite() {
        return None;
    }
    if let Some(eighth) = (-4..=4).find(|eighth| round_2dec(f64::from(*eighth) * PI / 4.0) == radians) {
        return Some((eighth * EIGHTH) as u16);
    }
    let turns = (radians / TAU).rem_euclid(1.0);
    Some((turns * STEPS_PER_TURN).round() as u32 as u16)
}

/// Converts a binary angle to radians, from -3.14 to 3.14, rounded to the two decimals that the
/// MooMoo protocol carries.
pub fn to_radians_2dec(angle: u16) -> f64 {
    round_2dec(f64::from(angle as i16) / STEPS_PER_TURN * TAU)
}

/// Rounds a number to two decimals, as the MooMoo client does; never returns minus zero.
pub fn round_2dec(number: f64) -> f64 {
    (number * 100.0).round() / 100.0 + 0.0
}

#[cfg(test)]
#[allow(clippy::approx_constant, reason = "3.14 and 1.57 are what clients send")]
mod tests {
    use super::*;

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
}
