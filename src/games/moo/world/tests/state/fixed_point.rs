//! Fixed-point numbers, angles, roots, random numbers, and constants that were computed once.

use std::collections::BTreeSet;
use std::f64::consts::PI;

use crate::fields::Sink;
use crate::fixed::{square_root, Angle, Fixed};
use crate::rng::Rng;
use crate::rules::{self, TickHz};
use crate::rules_hash;
use crate::trig::{cosine, direction, sine, SINE_TABLE};
use tickwire_sim::Checksum;

#[test]
fn a_pixel_is_65536_parts_and_does_not_overflow() {
    assert_eq!(Fixed::from_px(1), Fixed::ONE);
    assert_eq!(Fixed(-1).to_px(), -1, "rounded down, not towards zero");
    assert_eq!(Fixed::from_px(40_000), Fixed(i32::MAX));
    assert_eq!(Fixed(i32::MAX).saturating_add(Fixed::ONE), Fixed(i32::MAX));
    assert_eq!(Fixed(i32::MIN).saturating_sub(Fixed::ONE), Fixed(i32::MIN));
    assert_eq!(Fixed(i32::MAX).scaled(i32::MAX), Fixed(i32::MAX));
    assert_eq!(Fixed(-3).scaled(32_768), Fixed(-1), "rounded towards zero");
}

#[test]
fn half_pixels_are_rounded_to_the_nearest() {
    for (parts, half_px) in
        [(0, 0), (16_383, 0), (16_384, 1), (32_768, 1), (49_151, 1), (49_152, 2), (65_536, 2)]
    {
        assert_eq!(Fixed(parts).to_half_px(), half_px, "{parts}");
    }
    assert_eq!(Fixed(i32::MAX).to_half_px(), 65_536);
}

#[test]
fn the_quarter_table_is_the_sine() {
    for (index, value) in SINE_TABLE.iter().enumerate() {
        let exact = (index as f64 * PI / 512.0).sin() * 65_536.0;
        assert_eq!(*value, exact.round() as i32, "entry {index}");
    }
}

#[test]
fn sine_and_cosine_are_off_by_at_most_one_part_for_every_angle() {
    for parts in 0..=u16::MAX {
        let turn = f64::from(parts) * PI / 32_768.0;
        let off = |value: i32, exact: f64| (f64::from(value) - exact * 65_536.0).abs();
        assert!(off(sine(Angle(parts)), turn.sin()) < 1.5, "sine of {parts}");
        assert!(off(cosine(Angle(parts)), turn.cos()) < 1.5, "cosine of {parts}");
    }
    assert_eq!((cosine(Angle(0)), sine(Angle(16_384))), (65_536, 65_536), "right, and down");
    assert_eq!((cosine(Angle(32_768)), sine(Angle(49_152))), (-65_536, -65_536), "left, and up");
}

#[test]
fn a_direction_is_off_by_at_most_one_part_for_every_way() {
    let mut rng = Rng::new(3, 0);
    let edges = [1, -1, 2, 70 << 16, -(70 << 16), i32::MAX, i32::MIN, 0];
    let pairs = edges.iter().flat_map(|x| edges.iter().map(move |y| (*x, *y)));
    let random = (0..20_000).map(|_| {
        let shift = rng.below(31);
        (rng.next_u64() as i32 >> shift, rng.next_u64() as i32 >> shift)
    });
    for (x, y) in pairs.chain(random).filter(|way| *way != (0, 0)) {
        let exact = f64::from(y).atan2(f64::from(x)) * 32_768.0 / PI;
        let off = f64::from(direction(i64::from(x), i64::from(y)).0) - exact;
        let off = (off + 32_768.0).rem_euclid(65_536.0) - 32_768.0;
        assert!(off.abs() <= 1.0, "({x}, {y}): off by {off} parts");
    }
    for parts in [0, 0x2000, 0x4000, 0x6000, 0x8000, 0xa000, 0xc000, 0xe000] {
        let way = |factor: i32| i64::from(factor);
        assert_eq!(direction(way(cosine(Angle(parts))), way(sine(Angle(parts)))), Angle(parts));
    }
    assert_eq!(direction(0, 0), Angle(0));
}

/// The angle of a vector in the first octant by bisection; the smaller one of two that are equally
/// near.
fn nearest_octant_angle(along: i64, across: i64) -> u16 {
    // Positive if the angle is too small.
    let error = |angle: u16| i64::from(cosine(Angle(angle))) * across - i64::from(sine(Angle(angle))) * along;
    let (mut low, mut high) = (0, 0x2000);
    while high - low > 1 {
        let middle = (low + high) / 2;
        let half = if error(middle) >= 0 { &mut low } else { &mut high };
        *half = middle;
    }
    if error(low) > -error(low + 1) {
        low + 1
    } else {
        low
    }
}

#[test]
fn the_estimated_direction_equals_the_searched_one() {
    let mut rng = Rng::new(7, 7);
    let small = (0..=300).flat_map(|along| (0..=along).map(move |across| (along, across)));
    let random = (0..100_000).map(|_| {
        let along = (rng.next_u64() >> 32 >> rng.below(32)) as i64;
        (along, (rng.next_u64() % (along as u64 + 1)) as i64)
    });
    let every_angle =
        (0..=0x2000).map(|parts| (i64::from(cosine(Angle(parts))), i64::from(sine(Angle(parts)))));
    let at_the_bound = (0..64).map(|off| (1 << 32, (1 << 32) - off));
    let mut ways = 0;
    for (along, across) in small.chain(random).chain(every_angle).chain(at_the_bound).filter(|way| way.0 > 0)
    {
        assert_eq!(
            direction(along, across).0,
            nearest_octant_angle(along, across),
            "{along} along, {across} across"
        );
        ways += 1;
    }
    assert!(ways > 150_000, "{ways} ways");
}

#[test]
fn a_root_is_rounded_down() {
    let mut rng = Rng::new(1, 0);
    let edges = (0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
    let squares = (1..2_000u64).flat_map(|root| [root * root - 1, root * root, root * root + 1]);
    let random = (0..10_000).map(|_| rng.next_u64() >> (rng.clone().next_u64() % 64));
    for square in edges.chain(squares).chain(random).chain([u64::MAX]) {
        let root = u128::from(square_root(square));
        assert!(root * root <= u128::from(square), "{square}");
        assert!((root + 1) * (root + 1) > u128::from(square), "{square}");
    }
}

#[test]
fn the_constants_of_each_rate_match_the_formulas() {
    for rate in TickHz::ALL {
        let hz = f64::from(rate.get());
        let friction = (f64::from(rules::FRICTION_PER_MS_MILLI) / 1000.0).powf(1000.0 / hz);
        let contact = (f64::from(rules::CONTACT_PER_NINTH_PERCENT) / 100.0).powf(9.0 / hz);
        let acceleration = f64::from(rules::SPEED_PX_PER_S) / hz * (1.0 - friction);
        let rest = f64::from(rules::REST_PX_PER_S) / hz;
        let parts = |value: f64| (value * 65_536.0).round() as i32;
        let committed = rate.rates();
        assert_eq!(committed.friction, parts(friction), "friction at {rate:?}");
        assert_eq!(committed.contact, parts(contact), "contact at {rate:?}");
        assert_eq!(committed.acceleration, parts(acceleration), "acceleration at {rate:?}");
        assert_eq!(committed.rest, parts(rest), "rest at {rate:?}");
    }
}

#[test]
fn only_four_tick_rates_exist() {
    let found: Vec<u32> = (0..=1_000).filter(|hz| TickHz::try_from(*hz).is_ok()).collect();
    assert_eq!(found, [15, 20, 30, 60]);
    assert_eq!(TickHz::try_from(25), Err(25));
}

#[test]
fn chance_stays_in_its_bounds_and_reaches_them() {
    let mut rng = Rng::new(7, 3);
    let drawn: Vec<i32> = (0..1_000).map(|_| rng.between(-2, 2)).collect();
    assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&-2), Some(&2)));
    assert_eq!(rng.below(0), 0);
    assert_eq!(rng.between(5, 4), 5);
    rng.between(i32::MIN, i32::MAX);
    assert_ne!(Rng::new(7, 3).next_u64(), Rng::new(7, 4).next_u64(), "purposes share nothing");
    assert_ne!(Rng::new(7, 3).next_u64(), Rng::new(8, 3).next_u64());
}

#[test]
fn the_generator_is_splitmix64() {
    // The published first values for state 0.
    let mut rng = Rng::from_state(0);
    let drawn = [rng.next_u64(), rng.next_u64(), rng.next_u64()];
    assert_eq!(drawn, [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
}

#[test]
fn the_checksum_uses_all_its_bits() {
    let sum = |scalars: [u64; 2]| {
        let mut checksum = Checksum::new();
        scalars.into_iter().for_each(|scalar| checksum.put(scalar, 8));
        checksum.get()
    };
    let sums: BTreeSet<u64> = (0..300).flat_map(|a| (0..300).map(move |b| sum([a, b]))).collect();
    assert_eq!(sums.len(), 300 * 300);
    let changed = (0..64).map(|bit| sum([1 << bit, 0]) ^ sum([0, 0])).fold(0, |all, bits| all | bits);
    assert_eq!(changed, u64::MAX);
    assert_ne!(sum([1, 2]), sum([2, 1]), "the order counts");
}

#[test]
fn each_random_outcome_is_about_equally_likely() {
    let mut rng = Rng::new(1, 1);
    let mut counts = [0; 10];
    for _ in 0..100_000 {
        counts[rng.below(10) as usize] += 1;
    }
    assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
}

#[test]
fn the_code_has_one_number() {
    assert_eq!(rules_hash(), rules_hash());
    assert_ne!(rules_hash(), 0);
}
