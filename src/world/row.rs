//! Who is near, for a few: things in a row from west to east.
//!
//! Comes in: positions by index. Goes out: the indices in a stretch from west to east. Never: state. Where few things are
//! on a large map, a row costs less than a grid: it has nothing to clear.

use crate::fixed::Fixed;

/// Indices from west to east; at one place the lower one comes first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    places: Vec<(Fixed, u32)>,
    is_true: bool,
}

impl Row {
    /// Something has moved, come or gone: what is known here is no longer true.
    pub(crate) fn forget(&mut self) {
        self.is_true = false;
    }

    /// Finds out where each of `count` things is, unless that is known. Costs little when they have not gone far since the
    /// last time.
    pub(crate) fn update(&mut self, count: usize, x_of: impl Fn(usize) -> Fixed) {
        if self.is_true {
            return;
        }
        self.is_true = true;
        // No two places are equal, so whichever way they are sorted has one result.
        if self.places.len() == count {
            for (x, index) in &mut self.places {
                *x = x_of(*index as usize);
            }
            self.put_in_order();
        } else {
            self.places.clear();
            self.places.extend((0..count).map(|index| (x_of(index), index as u32)));
            self.places.sort_unstable();
        }
    }

    /// Sorts what is nearly sorted: each place is moved past those before it that are greater, which are few.
    fn put_in_order(&mut self) {
        for next in 1..self.places.len() {
            let place = self.places[next];
            let mut at = next;
            while at > 0 && self.places[at - 1] > place {
                self.places[at] = self.places[at - 1];
                at -= 1;
            }
            self.places[at] = place;
        }
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
