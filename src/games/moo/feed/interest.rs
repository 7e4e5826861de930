//! The area of interest: which things are near enough to be sent to a client.
//!
//! A client sees 1,248 px to the left and right of its centre and 702 px above and below it (as in
//! the MooMoo client: half a screen of 1920 × 1080, times 1.3), and everything whose rim reaches
//! into this window. A grid finds candidates without scanning every thing. All arithmetic is in
//! integers, so that two servers with the same world send the same messages.

use std::ops::Deref;
use std::sync::OnceLock;

use crate::game::{Records, WireValues};
use crate::games::moo::world::Body;

/// Half the width of the window, in px.
pub const HALF_WIDTH_PX: i32 = 1248;
/// Half the height of the window, in px.
pub const HALF_HEIGHT_PX: i32 = 702;
/// Side of a grid cell, in px: a window covers about 6 × 4 cells.
const CELL_PX: i32 = 512;

/// The area that one client can see: a window around a point, in px.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ViewWindow {
    /// Centre, in px from the left.
    pub x: i32,
    /// Centre, in px from the top.
    pub y: i32,
}

/// The position and size of a round thing, in px.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Circle {
    /// Centre, from the left.
    pub x_px: i32,
    /// Centre, from the top.
    pub y_px: i32,
    /// Radius.
    pub radius_px: i32,
}

impl Circle {
    /// The place of a body.
    pub fn of(body: &Body) -> Circle {
        Circle { x_px: body.x.to_px(), y_px: body.y.to_px(), radius_px: body.radius_px }
    }
}

impl ViewWindow {
    /// Whether a thing reaches into the window.
    pub fn intersects(&self, place: Circle) -> bool {
        self.intersects_with_margin(place, 0)
    }

    /// Whether a thing reaches into the window widened by `margin_px`.
    pub fn intersects_with_margin(&self, Circle { x_px, y_px, radius_px }: Circle, margin_px: i32) -> bool {
        let reach = radius_px + margin_px;
        (x_px - self.x).abs() - reach <= HALF_WIDTH_PX && (y_px - self.y).abs() - reach <= HALF_HEIGHT_PX
    }
}

/// What stands or lives somewhere on the map.
pub trait Located {
    /// Its number.
    type Id: Ord;

    /// Its number.
    fn id(&self) -> Self::Id;

    /// Its position and size.
    fn place(&self) -> Circle;
}

/// The layout of a client's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateLayout {
    /// Our own: differences, quantised.
    Native,
    /// The flat full records of all MooMoo dialects.
    Moomoo,
}

/// Things in the order of their numbers, with a grid over their places, and their records in each
/// layout. Made every tick for things that move, once for those that do not.
#[derive(Debug)]
pub struct SpatialIndex<T> {
    list: Vec<T>,
    /// Cells to each side of the map; 0 without things.
    side: i32,
    /// The start of each cell in `order`, plus one end entry.
    starts: Vec<u32>,
    /// The indexes of all things, cell by cell.
    order: Vec<u32>,
    /// The largest radius of all things, in px: how far outside the window a visible thing may
    /// stand.
    reach_px: i32,
    records: [OnceLock<Records>; 2],
}

impl<T> Deref for SpatialIndex<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.list
    }
}

impl<T: Located> SpatialIndex<T> {
    /// Indexes things, which come in the order of their numbers, on a map of `map_size_px`.
    pub fn new(map_size_px: i32, list: Vec<T>) -> SpatialIndex<T> {
        let side = if list.is_empty() { 0 } else { map_size_px / CELL_PX + 1 };
        let cell_of = |thing: &T| {
            let Circle { x_px, y_px, .. } = thing.place();
            (cell(side, y_px) * side + cell(side, x_px)) as usize
        };
        let mut starts = vec![0; (side * side + 1) as usize];
        list.iter().for_each(|thing| starts[cell_of(thing)] += 1);
        for cell in 1..starts.len() {
            starts[cell] += starts[cell - 1];
        }
        // These are the ends of the cells; filled from the back, they become the starts.
        let mut order = vec![0; list.len()];
        for (index, thing) in list.iter().enumerate().rev() {
            let slot = &mut starts[cell_of(thing)];
            *slot -= 1;
            order[*slot as usize] = index as u32;
        }
        let reach_px = list.iter().map(|thing| thing.place().radius_px).max().unwrap_or_default();
        SpatialIndex { list, side, starts, order, reach_px, records: Default::default() }
    }

    /// The records of all things in a layout, encoded on first use.
    pub(super) fn records<'a, R: WireValues>(
        &'a self,
        layout: UpdateLayout,
        record: impl Fn(&'a T) -> R,
    ) -> &'a Records {
        let encode = || Records::new(self.list.iter().map(|thing| Some(record(thing))));
        self.records[layout as usize].get_or_init(encode)
    }

    /// The index of a thing.
    pub fn index_of(&self, id: &T::Id) -> Option<usize> {
        self.binary_search_by(|thing| thing.id().cmp(id)).ok()
    }

    /// Finds a thing.
    pub fn find(&self, id: &T::Id) -> Option<&T> {
        self.index_of(id).map(|index| &self.list[index])
    }

    /// Calls `found` with the index of each thing that reaches into the window widened by
    /// `margin_px`, in no particular order.
    pub fn for_each_near(&self, window: ViewWindow, margin_px: i32, mut found: impl FnMut(usize)) {
        if self.side == 0 {
            return;
        }
        let cells = |centre_px: i32, half_px: i32| {
            let reach_px = half_px + self.reach_px + margin_px;
            cell(self.side, centre_px - reach_px)..=cell(self.side, centre_px + reach_px)
        };
        let columns = cells(window.x, HALF_WIDTH_PX);
        for row in cells(window.y, HALF_HEIGHT_PX) {
            let [first, last] = [columns.start(), columns.end()].map(|column| row * self.side + column);
            let (start, end) = (self.starts[first as usize], self.starts[last as usize + 1]);
            for index in &self.order[start as usize..end as usize] {
                let index = *index as usize;
                if window.intersects_with_margin(self.list[index].place(), margin_px) {
                    found(index);
                }
            }
        }
    }

    /// Collects the indexes of the things in the window into `visible`, in order.
    pub fn collect_visible(&self, window: ViewWindow, visible: &mut Vec<u32>) {
        visible.clear();
        self.for_each_near(window, 0, |index| visible.push(index as u32));
        visible.sort_unstable();
    }
}

/// The row or column of a place.
fn cell(side: i32, px: i32) -> i32 {
    (px / CELL_PX).clamp(0, side - 1)
}
