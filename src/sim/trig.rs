//! Sine and cosine from a table of integers.
//!
//! The table is precomputed, and a test checks it. Values between two entries are interpolated
//! linearly, with an error of at most 1/65,536.

use crate::fixed::Angle;

/// Sine of the first quarter turn in 256 steps; 65,536 is 1.
pub const SINE_TABLE: [i32; 257] = [
    0, 402, 804, 1206, 1608, 2010, 2412, 2814, 3216, 3617, 4019, 4420, 4821, 5222, 5623, 6023, 6424, 6824,
    7224, 7623, 8022, 8421, 8820, 9218, 9616, 10014, 10411, 10808, 11204, 11600, 11996, 12391, 12785, 13180,
    13573, 13966, 14359, 14751, 15143, 15534, 15924, 16314, 16703, 17091, 17479, 17867, 18253, 18639, 19024,
    19409, 19792, 20175, 20557, 20939, 21320, 21699, 22078, 22457, 22834, 23210, 23586, 23961, 24335, 24708,
    25080, 25451, 25821, 26190, 26558, 26925, 27291, 27656, 28020, 28383, 28745, 29106, 29466, 29824, 30182,
    30538, 30893, 31248, 31600, 31952, 32303, 32652, 33000, 33347, 33692, 34037, 34380, 34721, 35062, 35401,
    35738, 36075, 36410, 36744, 37076, 37407, 37736, 38064, 38391, 38716, 39040, 39362, 39683, 40002, 40320,
    40636, 40951, 41264, 41576, 41886, 42194, 42501, 42806, 43110, 43412, 43713, 44011, 44308, 44604, 44898,
    45190, 45480, 45769, 46056, 46341, 46624, 46906, 47186, 47464, 47741, 48015, 48288, 48559, 48828, 49095,
    49361, 49624, 49886, 50146, 50404, 50660, 50914, 51166, 51417, 51665, 51911, 52156, 52398, 52639, 52878,
    53114, 53349, 53581, 53812, 54040, 54267, 54491, 54714, 54934, 55152, 55368, 55582, 55794, 56004, 56212,
    56418, 56621, 56823, 57022, 57219, 57414, 57607, 57798, 57986, 58172, 58356, 58538, 58718, 58896, 59071,
    59244, 59415, 59583, 59750, 59914, 60075, 60235, 60392, 60547, 60700, 60851, 60999, 61145, 61288, 61429,
    61568, 61705, 61839, 61971, 62101, 62228, 62353, 62476, 62596, 62714, 62830, 62943, 63054, 63162, 63268,
    63372, 63473, 63572, 63668, 63763, 63854, 63944, 64031, 64115, 64197, 64277, 64354, 64429, 64501, 64571,
    64639, 64704, 64766, 64827, 64884, 64940, 64993, 65043, 65091, 65137, 65180, 65220, 65259, 65294, 65328,
    65358, 65387, 65413, 65436, 65457, 65476, 65492, 65505, 65516, 65525, 65531, 65535, 65536,
];

/// The sine of the angle; 65,536 is 1.
pub const fn sine(angle: Angle) -> i32 {
    let turned = angle.0 & 0x7fff;
    let mirrored = if turned > 0x4000 { 0x8000 - turned } else { turned };
    let value = first_quarter(mirrored);
    if angle.0 < 0x8000 { value } else { -value }
}

/// The cosine of the angle; 65,536 is 1.
pub const fn cosine(angle: Angle) -> i32 {
    sine(Angle(angle.0.wrapping_add(0x4000)))
}

/// The direction of a vector, to the nearest 1/65,536 of a turn; 0 for the zero vector. The
/// components must be at most 2^32.
pub fn direction(dx: i64, dy: i64) -> Angle {
    let (across, along) = (dx.abs().min(dy.abs()), dx.abs().max(dy.abs()));
    if along == 0 {
        return Angle(0);
    }
    let mut angle = octant_angle(along, across);
    if dy.abs() > dx.abs() {
        angle = 0x4000 - angle;
    }
    if dx < 0 {
        angle = 0x8000 - angle;
    }
    Angle(if dy < 0 { angle.wrapping_neg() } else { angle })
}

/// The angle, up to an eighth of a turn, of a vector with these components. `across` must be at
/// most `along`.
fn octant_angle(along: i64, across: i64) -> u16 {
    if across == along {
        return 0x2000;
    }
    let ratio = ((across << 16) / along) as u32;
    let (at, within) = ((ratio >> 8) as usize, ratio & 0xff);
    let (low, high) = (u32::from(OCTANT_TABLE[at]), u32::from(OCTANT_TABLE[at + 1]));
    let mut low = (low + (high - low) * within / 256) as u16;
    // The interpolation error is well below one unit, so both loops are short.
    while low > 0 && angle_error(low, along, across) < 0 {
        low -= 1;
    }
    while low < 0x1fff && angle_error(low + 1, along, across) >= 0 {
        low += 1;
    }
    nearer(low, along, across)
}

/// The angle of the vector (256, `i`) at each index `i`.
const OCTANT_TABLE: [u16; 257] = {
    let mut angles = [0; 257];
    let mut across = 0;
    while across < 257 {
        angles[across] = octant_angle_by_search(256, across as i64);
        across += 1;
    }
    angles
};

/// Computes the result of `octant_angle` by bisection.
const fn octant_angle_by_search(along: i64, across: i64) -> u16 {
    let (mut low, mut high) = (0, 0x2000);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if angle_error(middle, along, across) >= 0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    nearer(low, along, across)
}

/// The error of an angle for a vector: positive if the angle is too small, negative if it is too
/// large.
const fn angle_error(parts: u16, along: i64, across: i64) -> i64 {
    cosine(Angle(parts)) as i64 * across - sine(Angle(parts)) as i64 * along
}

/// Returns `low` or the next unit, whichever is nearer to the vector; `low` if both are equally
/// near.
const fn nearer(low: u16, along: i64, across: i64) -> u16 {
    if angle_error(low, along, across) > -angle_error(low + 1, along, across) { low + 1 } else { low }
}

/// The sine of an angle from 0 to 16,384.
const fn first_quarter(parts: u16) -> i32 {
    let at = (parts >> 6) as usize;
    let within = (parts & 0x3f) as i32;
    if within == 0 {
        return SINE_TABLE[at];
    }
    let (low, high) = (SINE_TABLE[at], SINE_TABLE[at + 1]);
    low + ((high - low) * within + 32) / 64
}
