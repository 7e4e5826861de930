//! Angle conversion between the radians of the MooMoo dialects and the binary angles of the world.
//!
//! A binary angle counts 65,536 steps per turn; 0 points right (+x), 16,384 points down (+y).
//! Radians are used only in this file, because the world contains integers only.

use std::f64::consts::{PI, TAU};

use rmpv::Value;

use super::grammar::{Shape, Unit};

/// Steps of a binary angle in one turn.
pub const STEPS_PER_TURN: f64 = 65_536.0;

/// Converts an angle in radians, of any number of turns in either direction, to a binary angle.
/// Returns `None` for NaN and infinities.
///
/// A MooMoo client rounds angles to two decimals, so its keyboard sends 0.79 for an eighth of a
/// turn. A rounded multiple of an eighth is converted to exactly that eighth, so that diagonal
/// movement has the same direction in each dialect.
pub fn from_radians(radians: f64) -> Option<u16> {
    if !radians.is_finite() {
        return None;
    }
    if let Some(eighth) = (-4..=4).find(|eighth| round_2dec(f64::from(*eighth) * PI / 4.0) == radians) {
        return Some((eighth * 8_192) as u16);
    }
    let turns = (radians / TAU).rem_euclid(1.0);
    Some((turns * STEPS_PER_TURN).round() as u32 as u16)
}

/// Converts a binary angle to radians, from -3.14 to 3.14, rounded to the two decimals of the
/// MooMoo protocol.
pub fn to_radians_2dec(angle: u16) -> f64 {
    round_2dec(f64::from(angle as i16) / STEPS_PER_TURN * TAU)
}

/// Rounds a number to two decimals, as the MooMoo client does; never returns minus zero.
pub fn round_2dec(number: f64) -> f64 {
    (number * 100.0).round() / 100.0 + 0.0
}

/// Decodes an angle. The shape determines the unit: radians, or a binary angle of 16 or 8 bits,
/// signed or not.
pub(super) fn read(value: &Value, shape: &Shape) -> Option<u16> {
    let steps = |bits: u32| {
        let steps = value.as_i64()?;
        (-(1 << (bits - 1))..1 << bits).contains(&steps).then_some(steps as u16)
    };
    match shape {
        Shape::Num { .. } => from_radians(value.as_f64()?),
        Shape::Int { unit: Some(Unit::Turn8), .. } => Some(steps(8)? << 8),
        _ => steps(16),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::grammar::parse_arguments;

    #[test]
    fn a_binary_angle_is_the_same_in_a_signed_and_an_unsigned_type() {
        for (ty, value, expected) in [
            ("u8.turn8", 192, Some(0xc000)),
            ("i8.turn8", -64, Some(0xc000)),
            ("i8.turn8", 127, Some(0x7f00)),
            ("i8.turn8", -129, None),
            ("u8.turn8", 256, None),
            ("u16.turn16", 49_152, Some(0xc000)),
            ("i16.turn16", -16_384, Some(0xc000)),
            ("u16.turn16", 65_536, None),
            ("i16.turn16", -32_769, None),
        ] {
            let arguments = parse_arguments(&format!("angle:{ty}")).expect(ty);
            assert_eq!(read(&Value::from(value), &arguments[0].ty.shape), expected, "{ty} {value}");
        }
    }
}
