//! Who of the players is where: those who live, by the square cell of the map in which they are.
//!
//! Comes in: the list of players, whenever somebody has moved. Goes out: who is in a square, cell by cell, the lowest first in
//! each. Never: state, or a look at an empty cell while it is made. It is made anew in each tick that needs it, so a world that
//! was restored has the same one.

use std::ops::Range;

use crate::entity::{Body, Entity};
use crate::fixed::{is_shorter, square, Fixed};
use crate::grid::{Occupied, Shape, Stretch};

/// Where a player is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    pub(crate) x: Fixed,
    pub(crate) y: Fixed,
    /// Its place in the list of players.
    pub(crate) at: u32,
    /// The cell in whose list it is.
    cell: u32,
}

impl Spot {
    /// The square of the way to a point, with 32 binary places; `None` when it is further off than `reach` to a side.
    pub(crate) fn square_to(&self, x: Fixed, y: Fixed, reach: Fixed) -> Option<u64> {
        let (dx, dy) = (self.x.apart(x), self.y.apart(y));
        let reach = reach.0.unsigned_abs();
        (dx <= reach && dy <= reach).then(|| square(dx) + square(dy))
    }

    /// Whether it is nearer to a point than that.
    pub(crate) fn is_nearer(&self, x: Fixed, y: Fixed, reach: Fixed) -> bool {
        is_shorter(self.x.apart(x), self.y.apart(y), reach.0.unsigned_abs())
    }
}

/// Players by cell.
#[derive(Clone, Debug)]
pub(crate) struct Crowd {
    shape: Shape,
    /// Where in `spots` each cell's list begins and ends; both are 0 for an empty one.
    lists: Vec<(u32, u32)>,
    occupied: Occupied,
    /// Cell by cell, line by line: what is in the cells of one line lies together.
    spots: Vec<Spot>,
    /// Where in `spots` each player is, by its place in the list; for who is dead, nowhere.
    slots: Vec<u32>,
    /// The places in the list of players of those who live.
    living: Vec<u32>,
    /// Who came to life since then.
    added: Vec<Spot>,
    is_true: bool,
}

/// The slot of who is dead, and the cell of who is in none.
const NOWHERE: u32 = u32::MAX;
/// The slot of who has none yet.
const ADDED: u32 = u32::MAX - 1;

impl Crowd {
    /// Nobody on a map.
    pub(crate) fn new(map_size_px: u32) -> Crowd {
        let shape = Shape::new(map_size_px);
        Crowd {
            shape,
            lists: vec![(0, 0); shape.cells()],
            occupied: Occupied::none(shape),
            spots: Vec::new(),
            slots: Vec::new(),
            living: Vec::new(),
            added: Vec::new(),
            is_true: false,
        }
    }

    /// Makes room for so many players, so that no tick has to.
    pub(crate) fn reserve(&mut self, players: usize) {
        self.spots.reserve(players.saturating_sub(self.spots.len()));
        self.slots.reserve(players.saturating_sub(self.slots.len()));
        self.living.reserve(players.saturating_sub(self.living.len()));
        self.added.reserve(players.saturating_sub(self.added.len()));
    }

    /// Somebody has moved, come, gone or come to life: what is known here is no longer true.
    pub(crate) fn forget(&mut self) {
        self.is_true = false;
    }

    /// Finds out who is where, unless that is known.
    pub(crate) fn update(&mut self, players: &[Entity]) {
        if self.is_true {
            return;
        }
        self.is_true = true;
        self.count(players);
        let mut total = 0;
        for cell in self.occupied.each() {
            let (begin, end) = &mut self.lists[cell];
            let count = *end;
            (*begin, *end) = (total, total);
            total += count;
        }
        self.spots.clear();
        self.spots.resize(total as usize, Spot { x: Fixed::ZERO, y: Fixed::ZERO, at: 0, cell: 0 });
        for at in &self.living {
            let (slot, body) = (&mut self.slots[*at as usize], &players[*at as usize].body);
            let cell = *slot;
            let (_, end) = &mut self.lists[cell as usize];
            self.spots[*end as usize] = Spot { x: body.x, y: body.y, at: *at, cell };
            *slot = *end;
            *end += 1;
        }
    }

    /// Counts who is in each cell, and notes each one's cell in the place of its slot.
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
                self.slots.push(NOWHERE);
                continue;
            }
            let cell = self.shape.cell(entity.body.x, entity.body.y);
            self.lists[cell].1 += 1;
            self.occupied.set(cell);
            self.slots.push(cell as u32);
            self.living.push(at);
        }
    }

    /// The cells that the square around a point touches.
    pub(crate) fn stretches_near(&self, x: Fixed, y: Fixed, reach: Fixed) -> impl Iterator<Item = Stretch> {
        self.shape.stretches(self.shape.around(x, y, reach))
    }

    /// The slots of those who are in the cells of a stretch, cell by cell.
    pub(crate) fn slots_in(&self, stretch: Stretch) -> Range<usize> {
        self.occupied.ends_of(stretch).map_or(0..0, |(first, last)| {
            let ((begin, _), (_, end)) = (self.lists[first], self.lists[last]);
            begin as usize..end as usize
        })
    }

    /// Who is in the cells that the square around a point touches, cell by cell.
    pub(crate) fn near(&self, x: Fixed, y: Fixed, reach: Fixed) -> impl Iterator<Item = &Spot> {
        self.stretches_near(x, y, reach).flat_map(move |stretch| &self.spots[self.slots_in(stretch)])
    }

    /// Adds the player at that place in the list, which has just come to life, if the others are known. It is in no cell
    /// until the next [`Crowd::update`], but among [`Crowd::added`].
    pub(crate) fn add(&mut self, at: usize, x: Fixed, y: Fixed) {
        if self.is_true {
            let at = at as u32;
            self.slots[at as usize] = ADDED;
            let place = self.living.partition_point(|other| *other < at);
            self.living.insert(place, at);
            self.added.push(Spot { x, y, at, cell: NOWHERE });
        }
    }

    /// Who was added.
    pub(crate) fn added(&self) -> impl Iterator<Item = &Spot> {
        self.added.iter()
    }

    /// The places in the list of players of those who live, lowest first; those who were added are among them.
    pub(crate) fn living(&self) -> &[u32] {
        &self.living
    }

    /// Where the player at that place in the list is among the spots, if it lives.
    pub(crate) fn slot_of(&self, at: usize) -> usize {
        self.slots[at] as usize
    }

    /// Who is there.
    pub(crate) fn spot(&self, slot: usize) -> Spot {
        self.spots[slot]
    }

    /// Somebody was pushed. It stays in the list of its cell until the next [`Crowd::update`]; if it has left the cell, what is
    /// known here is no longer true.
    pub(crate) fn follow(&mut self, slot: usize, body: &Body) {
        // Who is dead is in no list.
        if let Some(spot) = self.spots.get_mut(slot) {
            (spot.x, spot.y) = (body.x, body.y);
            self.is_true &= self.shape.cell(body.x, body.y) == spot.cell as usize;
        }
    }
}
