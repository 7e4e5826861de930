//! An index of a few objects: a list sorted from west to east that finds nearby objects.
//!
//! Returns the objects in a range of x coordinates. The index is not part of the state. For few
//! objects on a large map it costs less than a grid, because there are no cells to clear.

use crate::fixed::Fixed;

/// Object indices from west to east; at equal positions in ascending order of index.
#[derive(Clone, Debug, Default)]
pub(crate) struct SortedIndex {
    positions: Vec<(Fixed, u32)>,
    is_current: bool,
}

impl SortedIndex {
    /// Marks the list as stale, because an object moved, spawned or was removed.
    pub(crate) fn invalidate(&mut self) {
        self.is_current = false;
    }

    /// Sorts the positions of `count` objects if the list is stale. The cost is low if they have
    /// moved little since the last update.
    pub(crate) fn update(&mut self, count: usize, x_of: impl Fn(usize) -> Fixed) {
        if self.is_current {
            return;
        }
        self.is_current = true;
        // No two entries are equal, so the result does not depend on the sorting algorithm.
        if self.positions.len() == count {
            for (x, index) in &mut self.positions {
                *x = x_of(*index as usize);
            }
            self.put_in_order();
        } else {
            self.positions.clear();
            self.positions.extend((0..count).map(|index| (x_of(index), index as u32)));
            self.positions.sort_unstable();
        }
    }

    /// Sorts an almost sorted list by insertion: each entry moves past the few greater entries
    /// before it.
    fn put_in_order(&mut self) {
        for next in 1..self.positions.len() {
            let place = self.positions[next];
            let mut at = next;
            while at > 0 && self.positions[at - 1] > place {
                self.positions[at] = self.positions[at - 1];
                at -= 1;
            }
            self.positions[at] = place;
        }
    }

    /// Reserves space for `count` objects.
    pub(crate) fn reserve(&mut self, count: usize) {
        self.positions.reserve(count.saturating_sub(self.positions.len()));
    }

    /// The objects within `reach` to the west and the east.
    pub(crate) fn around(&self, x: Fixed, reach: Fixed) -> impl Iterator<Item = usize> + '_ {
        let (west, east) = (x.saturating_sub(reach), x.saturating_add(reach));
        let first = self.positions.partition_point(|(x, _)| *x < west);
        self.positions[first..].iter().take_while(move |(x, _)| *x <= east).map(|(_, index)| *index as usize)
    }
}
