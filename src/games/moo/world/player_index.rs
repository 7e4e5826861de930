//! Index of living players by position: a grid of square cells.
//!
//! The index lists the players in a square, cell by cell, in ascending order of player index within
//! each cell. A rebuild does not visit empty cells. The index is not part of the state: each tick
//! that needs the index rebuilds it, so a restored world has the same index.

use std::ops::Range;

use crate::entity::{Body, Entity};
use crate::fixed::{is_shorter, square, Fixed};
use crate::terrain::grid::{GridShape, Occupied, Stretch};

/// A player in the index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexedPlayer {
    pub(crate) x: Fixed,
    pub(crate) y: Fixed,
    /// Index in the list of players.
    pub(crate) at: u32,
    /// Cell that lists the player.
    cell: u32,
}

impl IndexedPlayer {
    /// The squared distance to a point, with 32 binary places; `None` if the distance along one
    /// axis is greater than `reach`.
    pub(crate) fn squared_distance(&self, x: Fixed, y: Fixed, reach: Fixed) -> Option<u64> {
        let (dx, dy) = (self.x.distance(x), self.y.distance(y));
        let reach = reach.0.unsigned_abs();
        (dx <= reach && dy <= reach).then(|| square(dx) + square(dy))
    }

    /// Whether the distance to a point is less than `reach`.
    pub(crate) fn is_nearer(&self, x: Fixed, y: Fixed, reach: Fixed) -> bool {
        is_shorter(self.x.distance(x), self.y.distance(y), reach.0.unsigned_abs())
    }
}

/// Living players by cell.
#[derive(Clone, Debug)]
pub(crate) struct PlayerIndex {
    shape: GridShape,
    /// Range in `spots` of each cell's players, as start and end; both are 0 for an empty cell.
    lists: Vec<(u32, u32)>,
    occupied: Occupied,
    /// The players, cell by cell and row by row, so that adjacent cells of a row are contiguous.
    spots: Vec<IndexedPlayer>,
    /// Slot in `spots` of each player, by player index; `NOT_INDEXED` for a dead player.
    slots: Vec<u32>,
    /// Indices of the living players, in ascending order.
    living: Vec<u32>,
    /// Players that spawned since the last update.
    added: Vec<IndexedPlayer>,
    is_current: bool,
}

/// Stands for the slot of a dead player, and for the cell of a player that is in no cell.
const NOT_INDEXED: u32 = u32::MAX;
/// Slot of a player in `added`.
const ADDED: u32 = u32::MAX - 1;

impl PlayerIndex {
    /// Creates an empty index for a map.
    pub(crate) fn new(map_size_px: u32) -> PlayerIndex {
        let shape = GridShape::new(map_size_px);
        PlayerIndex {
            shape,
            lists: vec![(0, 0); shape.cells()],
            occupied: Occupied::none(shape),
            spots: Vec::new(),
            slots: Vec::new(),
            living: Vec::new(),
            added: Vec::new(),
            is_current: false,
        }
    }

    /// Reserves space for `players` players, so that no tick allocates.
    pub(crate) fn reserve(&mut self, players: usize) {
        self.spots.reserve(players.saturating_sub(self.spots.len()));
        self.slots.reserve(players.saturating_sub(self.slots.len()));
        self.living.reserve(players.saturating_sub(self.living.len()));
        self.added.reserve(players.saturating_sub(self.added.len()));
    }

    /// Marks the index as stale, because a player moved, joined, left or spawned.
    pub(crate) fn invalidate(&mut self) {
        self.is_current = false;
    }

    /// Rebuilds the index if it is stale.
    pub(crate) fn update(&mut self, players: &[Entity]) {
        if self.is_current {
            return;
        }
        self.is_current = true;
        self.count(players);
        let mut total = 0;
        for cell in self.occupied.each() {
            let (begin, end) = &mut self.lists[cell];
            let count = *end;
            (*begin, *end) = (total, total);
            total += count;
        }
        self.spots.clear();
        self.spots.resize(total as usize, IndexedPlayer { x: Fixed::ZERO, y: Fixed::ZERO, at: 0, cell: 0 });
        for at in &self.living {
            let (slot, body) = (&mut self.slots[*at as usize], &players[*at as usize].body);
            let cell = *slot;
            let (_, end) = &mut self.lists[cell as usize];
            self.spots[*end as usize] = IndexedPlayer { x: body.x, y: body.y, at: *at, cell };
            *slot = *end;
            *end += 1;
        }
    }

    /// Counts the players of each cell, and stores each player's cell temporarily in `slots`.
    fn count(&mut self, players: &[Entity]) {
        for cell in self.occupied.each() {
            self.lists[cell] = (0, 0);
        }
        self.occupied.clear();
        self.slots.clear();
        self.living.clear();
        self.added.clear();
        for (at, entity) in (0..).zip(players) {
            if !entity.is_alive() {
                self.slots.push(NOT_INDEXED);
                continue;
            }
            let cell = self.shape.cell(entity.body.x, entity.body.y);
            self.lists[cell].1 += 1;
            self.occupied.set(cell);
            self.slots.push(cell as u32);
            self.living.push(at);
        }
    }

    /// The cells that overlap the square around a point.
    pub(crate) fn stretches_near(&self, x: Fixed, y: Fixed, reach: Fixed) -> impl Iterator<Item = Stretch> {
        self.shape.stretches(self.shape.around(x, y, reach))
    }

    /// The slots of the players in a run of cells, cell by cell.
    pub(crate) fn slots_in(&self, stretch: Stretch) -> Range<usize> {
        self.occupied.ends_of(stretch).map_or(0..0, |(first, last)| {
            let ((begin, _), (_, end)) = (self.lists[first], self.lists[last]);
            begin as usize..end as usize
        })
    }

    /// The players in the cells that overlap the square around a point, cell by cell.
    pub(crate) fn near(&self, x: Fixed, y: Fixed, reach: Fixed) -> impl Iterator<Item = &IndexedPlayer> {
        self.stretches_near(x, y, reach).flat_map(move |stretch| &self.spots[self.slots_in(stretch)])
    }

    /// Adds a player that has just spawned, if the index is up to date. Until the next
    /// [`PlayerIndex::update`] the player is in no cell, only in [`PlayerIndex::added`].
    pub(crate) fn add(&mut self, at: usize, x: Fixed, y: Fixed) {
        if self.is_current {
            let at = at as u32;
            self.slots[at as usize] = ADDED;
            let place = self.living.partition_point(|other| *other < at);
            self.living.insert(place, at);
            self.added.push(IndexedPlayer { x, y, at, cell: NOT_INDEXED });
        }
    }

    /// Players that spawned since the last update.
    pub(crate) fn added(&self) -> impl Iterator<Item = &IndexedPlayer> {
        self.added.iter()
    }

    /// The indices of the living players in ascending order, including the added players.
    pub(crate) fn living(&self) -> &[u32] {
        &self.living
    }

    /// The slot of the player with this index; not valid for a dead player.
    pub(crate) fn slot_of(&self, at: usize) -> usize {
        self.slots[at] as usize
    }

    /// The player in this slot.
    pub(crate) fn spot(&self, slot: usize) -> IndexedPlayer {
        self.spots[slot]
    }

    /// Updates the position of a player that was pushed. The player stays in the list of its cell
    /// until the next [`PlayerIndex::update`]. If it left the cell, the index becomes stale.
    pub(crate) fn update_position(&mut self, slot: usize, body: &Body) {
        // A dead player has no slot.
        if let Some(spot) = self.spots.get_mut(slot) {
            (spot.x, spot.y) = (body.x, body.y);
            self.is_current &= self.shape.cell(body.x, body.y) == spot.cell as usize;
        }
    }
}
