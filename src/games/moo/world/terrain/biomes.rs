//! The biomes: horizontal bands, from north to south. They depend only on the side length of the
//! map.
//!
//! ```text
//!   snow      0 ..  2,400 px
//!   plains      ..  6,838 px
//!   river       ..  7,562 px          the river has no scenery
//!   plains      .. 12,000 px
//!   desert      .. 14,400 px          other sizes of map: in proportion
//! ```

use crate::fixed::{Angle, Fixed};
use crate::rules::{self, Biome};

/// The boundaries of the biomes, in pixels from the top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BiomeBands {
    /// The last row of the snow.
    pub snow_end_px: i32,
    /// The first row of the river.
    pub river_start_px: i32,
    /// The last row of the river.
    pub river_end_px: i32,
    /// The first row of the desert.
    pub desert_start_px: i32,
}

impl BiomeBands {
    /// The bands of a map with this side length.
    pub fn new(map_size_px: u32) -> BiomeBands {
        let half = in_proportion(rules::RIVER_HALF_PX, map_size_px);
        let middle = (map_size_px / 2) as i32;
        BiomeBands {
            snow_end_px: in_proportion(rules::SNOW_END_PX, map_size_px),
            river_start_px: middle - half,
            river_end_px: middle + half,
            desert_start_px: in_proportion(rules::DESERT_START_PX, map_size_px),
        }
    }

    /// The biome at a y coordinate.
    pub fn biome_at(&self, y: Fixed) -> Biome {
        let y_px = y.to_px();
        if y_px <= self.snow_end_px {
            Biome::Snow
        } else if y_px >= self.desert_start_px {
            Biome::Desert
        } else if (self.river_start_px..=self.river_end_px).contains(&y_px) {
            Biome::River
        } else {
            Biome::Plains
        }
    }

    /// The vertical direction from a y coordinate to a biome; `None` if the coordinate is in the
    /// biome. The plains are on both sides of the river.
    pub(crate) fn direction_to_biome(&self, home: Biome, y: Fixed) -> Option<Angle> {
        let (up, down) = (Angle(0xc000), Angle(0x4000));
        let biome = self.biome_at(y);
        if biome == home {
            return None;
        }
        let is_below = match home {
            Biome::Snow => true,
            Biome::Desert => false,
            Biome::River => y.to_px() > self.river_end_px,
            Biome::Plains if biome == Biome::River => {
                y.to_px() < (self.river_start_px + self.river_end_px) / 2
            }
            Biome::Plains => biome == Biome::Desert,
        };
        Some(if is_below { up } else { down })
    }
}

fn in_proportion(px: u32, map_size_px: u32) -> i32 {
    (u64::from(px) * u64::from(map_size_px) / u64::from(rules::MAP_SIZE_PX)) as i32
}
