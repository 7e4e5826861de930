//! Meeting points of bots: positions on the plains that all bots of a crowd derive from the same
//! seed, so that they meet without communicating.
//!
//! No point is in the river, the snow or the desert.

use crate::game::BotRng;
use crate::games::moo::world::rules;

/// Bots per point: enough for a lively screen, and too few to bring all bots to one screen.
const BOTS_PER_POINT: usize = 25;
/// Minimum number of points, so that every bot has a point nearby. A small crowd still meets at one
/// point, because players spawn near each other.
const MIN_POINTS: usize = 12;
/// Distance of a point from the river, the snow and the desert, in px on a map of the default size.
const MIN_BIOME_DISTANCE_PX: f64 = 450.0;
/// Steps of the two-dimensional golden ratio, which distribute any number of points evenly.
const GOLDEN_STEPS: (f64, f64) = (0.754_877_666_246_693, 0.569_840_290_998_053);

/// Meeting points, as fractions of the map's side length.
#[derive(Debug, Clone)]
pub struct MeetingPoints {
    points: Vec<(f64, f64)>,
}

impl MeetingPoints {
    /// The points of a crowd of `count` bots.
    pub fn new(seed: u64, count: usize) -> MeetingPoints {
        let mut rng = BotRng::new(seed);
        let mut chance = || f64::from(rng.below(1_000)) / 1_000.0;
        let from = (chance(), chance());
        let points = count.div_ceil(BOTS_PER_POINT).max(MIN_POINTS);
        let point = |number: usize| {
            let at = |from: f64, step: f64| (from + number as f64 * step).fract();
            (0.05 + 0.9 * at(from.0, GOLDEN_STEPS.0), on_the_plains(at(from.1, GOLDEN_STEPS.1)))
        };
        MeetingPoints { points: (0..points).map(point).collect() }
    }

    /// A single point, as fractions of the map's side length.
    #[cfg(test)]
    pub(super) fn at(x: f64, y: f64) -> MeetingPoints {
        MeetingPoints { points: vec![(x, y)] }
    }

    /// The point nearest to a position, in px.
    pub fn nearest(&self, map_size_px: f64, x_px: f64, y_px: f64) -> (f64, f64) {
        let points = self.points.iter().map(|(x, y)| (x * map_size_px, y * map_size_px));
        let way_px = |(x, y): &(f64, f64)| (x - x_px).hypot(y - y_px);
        let nearest = points.min_by(|one, two| way_px(one).total_cmp(&way_px(two)));
        nearest.unwrap_or((x_px, y_px))
    }
}

/// Maps a fraction of the plains, which are north and south of the river, to a fraction of the
/// map's side length.
fn on_the_plains(share: f64) -> f64 {
    let side_px = f64::from(rules::MAP_SIZE_PX);
    let river_px = side_px / 2.0 - f64::from(rules::RIVER_HALF_PX);
    let north = (f64::from(rules::SNOW_END_PX) + MIN_BIOME_DISTANCE_PX, river_px - MIN_BIOME_DISTANCE_PX);
    let south = (
        side_px - river_px + MIN_BIOME_DISTANCE_PX,
        f64::from(rules::DESERT_START_PX) - MIN_BIOME_DISTANCE_PX,
    );
    let (band, share) = if share < 0.5 { (north, share * 2.0) } else { (south, share * 2.0 - 1.0) };
    (band.0 + (band.1 - band.0) * share) / side_px
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bots_of_a_crowd_have_the_same_points_apart_from_each_other_and_on_the_plains() {
        for seed in 0..20 {
            let meeting = MeetingPoints::new(seed, 300);
            assert_eq!(meeting.points, MeetingPoints::new(seed, 300).points);
            assert_eq!(meeting.points.len(), 12);
            for (number, (x, y)) in meeting.points.iter().enumerate() {
                let (x_px, y_px) = (x * 14_400.0, y * 14_400.0);
                assert_eq!(meeting.nearest(14_400.0, x_px + 200.0, y_px), (x_px, y_px), "seed {seed}");
                let river = f64::from(rules::MAP_SIZE_PX / 2) - y_px;
                assert!((2_400.0..=12_000.0).contains(&y_px) && river.abs() > 362.0, "{number} at {y_px}");
            }
        }
        assert_ne!(MeetingPoints::new(1, 300).points, MeetingPoints::new(2, 300).points);
        assert_eq!(MeetingPoints::new(1, 2_000).points.len(), 80);
    }
}
