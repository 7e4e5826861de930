//! Arithmetic with the same result on every machine: fixed-point lengths, binary angles, integer
//! roots.
//!
//! This module uses no floating point, because rounding differs between compilers and machines, and
//! one different bit makes a different world.

/// A length in pixels with 16 fractional bits: `Fixed(65_536)` is one pixel.
///
/// The integer part reaches ±32,767 px, which limits the size of the map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fixed(pub i32);

impl Fixed {
    /// One pixel.
    pub const ONE: Fixed = Fixed(1 << 16);
    /// Zero.
    pub const ZERO: Fixed = Fixed(0);

    /// Converts whole pixels, saturating at the limits.
    pub const fn from_px(px: i32) -> Fixed {
        Fixed(px.saturating_mul(1 << 16))
    }

    /// Whole pixels, rounded down.
    pub const fn to_px(self) -> i32 {
        self.0 >> 16
    }

    /// Half pixels, rounded to the nearest: a unit of positions on the wire.
    pub const fn to_half_px(self) -> i32 {
        ((self.0 as i64 + (1 << 14)) >> 15) as i32
    }

    /// The distance between two coordinates.
    pub const fn distance(self, other: Fixed) -> u32 {
        self.0.abs_diff(other.0)
    }

    /// The sum, saturating at the limits.
    pub const fn saturating_add(self, other: Fixed) -> Fixed {
        Fixed(self.0.saturating_add(other.0))
    }

    /// The difference, saturating at the limits.
    pub const fn saturating_sub(self, other: Fixed) -> Fixed {
        Fixed(self.0.saturating_sub(other.0))
    }

    /// The product with a factor of 16 fractional bits (65,536 is 1). It is rounded towards zero,
    /// because friction must bring a moving body to rest.
    pub const fn scaled(self, factor: i32) -> Fixed {
        let product = self.0 as i64 * factor as i64 / (1 << 16);
        Fixed(clamp_i32(product))
    }
}

/// Whether the vector with these components has at most the length `reach`. The components are
/// compared first: in most vectors that are too long, one component alone exceeds `reach`.
pub const fn is_within(dx: u32, dy: u32, reach: u32) -> bool {
    dx <= reach && dy <= reach && square(dx) <= square(reach) - square(dy)
}

/// Whether the vector with these components is shorter than `reach`.
pub const fn is_shorter(dx: u32, dy: u32, reach: u32) -> bool {
    dx < reach && dy < reach && square(dx) + square(dy) < square(reach)
}

/// The square of a component, with 32 fractional bits.
pub const fn square(side: u32) -> u64 {
    side as u64 * side as u64
}

/// Converts to `i32`, saturating at the limits.
pub const fn clamp_i32(wide: i64) -> i32 {
    if wide > i32::MAX as i64 {
        i32::MAX
    } else if wide < i32::MIN as i64 {
        i32::MIN
    } else {
        wide as i32
    }
}

/// A direction in 1/65,536 of a turn: 0 is right (+x), 16,384 is down (+y).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Angle(pub u16);

impl Angle {
    /// The opposite direction.
    pub const fn opposite(self) -> Angle {
        Angle(self.0.wrapping_add(0x8000))
    }

    /// The absolute angle to another direction, in 1/65,536 of a turn.
    pub const fn difference(self, other: Angle) -> u16 {
        let off = self.0.wrapping_sub(other.0);
        if off > 0x8000 { off.wrapping_neg() } else { off }
    }
}

/// The direction of a vector, as a scaled vector and its length. The vector is scaled up so far
/// that rounding its length has no visible effect. The direction of the zero vector is right.
pub fn unit_direction(dx: i64, dy: i64) -> (i64, i64, i64) {
    let longest = dx.unsigned_abs().max(dy.unsigned_abs());
    if longest == 0 {
        return (1, 0, 1);
    }
    let shift = longest.leading_zeros().saturating_sub(64 - RAY_BITS);
    let (dx, dy) = (dx << shift, dy << shift);
    (dx, dy, square_root((dx * dx + dy * dy) as u64) as i64)
}

/// Number of bits of the longer component of a [`unit_direction`]. The relative error of the
/// vector's length is 2^-28, which is invisible at any distance on a map.
const RAY_BITS: u32 = 28;

/// The square root, rounded down.
pub fn square_root(square: u64) -> u64 {
    if square == 0 {
        return 0;
    }
    // The shift has an even number of bits, so that the root is shifted by half as many.
    let shift = square.leading_zeros() & !1;
    let wide = square << shift;
    // Each line doubles the number of correct bits of the root, from 2 to 32. The last result is at
    // most one too large.
    let root = 1 + (wide >> 62);
    let root = (root << 1) + (wide >> 59) / root;
    let root = (root << 3) + (wide >> 53) / root;
    let root = (root << 7) + (wide >> 41) / root;
    let root = (root << 15) + (wide >> 17) / root;
    let is_above = root.checked_mul(root).is_none_or(|again| again > wide);
    (root - u64::from(is_above)) >> (shift / 2)
}
