//! Who is near, for a few: things in a row from west to east.
//!
//! Comes in: positions by index. Goes out: the indices in a stretch from west to east. Never: state. Where few things are
//! on a large map, a row costs less than a grid: it has nothing to clear.

use crate::fixed::Fixed;

/// Indices from west to east; at one place the lower one comes first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    places: Vec<(Fixed, u32)>,
}

impl Row {
    /// Finds out anew where each of `count` things is. Costs little when they have not gone far since the last time.
    pub(crate) fn update(&mut self, count: usize, x_of: impl Fn(usize) -> Fixed) {
        if self.places.len() == count {
            for (x, index) in &mut self.places {
                *x = x_of(*index as usize);
            }
        } else {
            self.places.clear();
            self.places.extend((0..count).map(|index| (x_of(index), index as u32)));
        }
        // No two places are equal, so an unstable sort still has one result.
        self.places.sort_unstable();
    }

    /// Makes room for so many things.
    pub(crate) fn reserve(&mut self, count: usize) {
        self.places.reserve(count.saturating_sub(self.places.len()));
    }

    /// The indices of what is no further to the west or the east than that.
    pub(crate) fn around(&self, x: Fixed, reach: Fixed) -> impl Iterator<Item = usize> + '_ {
        let (west, east) = (x.minus(reach), x.plus(reach));
        let first = self.places.partition_point(|(x, _)| *x < west);
        self.places[first..].iter().take_while(move |(x, _)| *x <= east).map(|(_, index)| *index as usize)
    }
}
