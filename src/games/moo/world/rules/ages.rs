//! Ages, and the experience that each age needs.

/// The last age.
pub const MAX_AGE: u8 = 100;

/// Experience from each age to the next, starting at age 1: 300 points, then each value 1.2 times
/// the previous value, rounded to the nearest, at most `u32::MAX`.
pub const XP_STEPS: [u32; MAX_AGE as usize - 1] = [
    300, 360, 432, 518, 622, 746, 896, 1075, 1290, 1548, 1858, 2229, 2675, 3210, 3852, 4622, 5547, 6656,
    7987, 9584, 11501, 13802, 16562, 19874, 23849, 28619, 34343, 41211, 49453, 59344, 71213, 85455, 102547,
    123056, 147667, 177200, 212641, 255169, 306202, 367443, 440931, 529118, 634941, 761930, 914315, 1097179,
    1316614, 1579937, 1895925, 2275110, 2730131, 3276158, 3931389, 4717667, 5661201, 6793441, 8152129,
    9782555, 11739065, 14086879, 16904254, 20285105, 24342126, 29210551, 35052662, 42063194, 50475833,
    60570999, 72685199, 87222239, 104666687, 125600024, 150720029, 180864035, 217036842, 260444211,
    312533053, 375039664, 450047596, 540057116, 648068539, 777682246, 933218696, 1119862435, 1343834922,
    1612601906, 1935122287, 2322146745, 2786576094, 3343891312, 4012669575, 4294967295, 4294967295,
    4294967295, 4294967295, 4294967295, 4294967295, 4294967295, 4294967295,
];

/// Experience from this age to the next; 0 at the last age.
pub fn xp_next(age: u8) -> u32 {
    XP_STEPS.get(usize::from(age.max(1)) - 1).copied().unwrap_or(0)
}

/// The first age that offers an upgrade.
pub const FIRST_CHOICE_AGE: u8 = 2;
/// The last age that offers an upgrade.
pub const LAST_CHOICE_AGE: u8 = 9;
/// Number of the first item upgrade. Lower numbers are weapon IDs; this number plus an item ID is
/// an item.
pub const CHOICE_ITEMS: u8 = 16;
