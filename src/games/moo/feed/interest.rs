//! The area of interest: determines the entities near enough to be sent to a client.
//!
//! A client's window extends 1,248 px to the left and right of its centre and 702 px above and
//! below it (as in the MooMoo client: half a screen of 1920 × 1080, times 1.3). An entity is
//! visible if its rim reaches into the window. A grid finds candidates without a scan of all
//! entities. All arithmetic is in integers, so that two servers with the same world send the same
//! messages.

use std::ops::Deref;
use std::sync::OnceLock;

use crate::game::{Records, WireValues};
use crate::games::moo::world::Body;

/// Half the width of the window, in px.
pub const HALF_WIDTH_PX: i32 = 1248;
/// Half the height of the window, in px.
pub const HALF_HEIGHT_PX: i32 = 702;
/// Side length of a grid cell, in px. A window covers about 6 × 4 cells.
const CELL_PX: i32 = 512;

/// The view window of one client: a rectangle around a point, in px.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ViewWindow {
    /// x coordinate of the centre, in px from the left edge.
    pub x: i32,
    /// y coordinate of the centre, in px from the top edge.
    pub y: i32,
}

/// Position and size of a circular entity, in px.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Circle {
    /// x coordinate of the centre.
    pub x_px: i32,
    /// y coordinate of the centre.
    pub y_px: i32,
    /// Radius.
    pub radius_px: i32,
}

impl Circle {
    /// Position and size of a body.
    pub fn of(body: &Body) -> Circle {
        Circle { x_px: body.x.to_px(), y_px: body.y.to_px(), radius_px: body.radius_px }
    }
}

impl ViewWindow {
    /// Whether a circle reaches into the window.
    pub fn intersects(&self, place: Circle) -> bool {
        self.intersects_with_margin(place, 0)
    }

    /// Whether a circle reaches into the window widened by `margin_px` on each side.
    pub fn intersects_with_margin(&self, Circle { x_px, y_px, radius_px }: Circle, margin_px: i32) -> bool {
        let reach = radius_px + margin_px;
        (x_px - self.x).abs() - reach <= HALF_WIDTH_PX && (y_px - self.y).abs() - reach <= HALF_HEIGHT_PX
    }
}

/// An entity with a position on the map.
pub trait Located {
    /// Type of the entity's ID.
    type Id: Ord;

    /// The entity's ID.
    fn id(&self) -> Self::Id;

    /// The entity's position and size.
    fn place(&self) -> Circle;
}

/// The layout of a client's update messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateLayout {
    /// The native layout: quantised changes.
    Native,
    /// The layout of all MooMoo dialects: flat, full records.
    Moomoo,
}

/// Entities in ascending order of ID, with a spatial grid and with their records in each layout.
/// For entities that move, the index is rebuilt in every tick; for other entities, only after a
/// change.
#[derive(Debug)]
pub struct SpatialIndex<T> {
    list: Vec<T>,
    /// Number of cells along each side of the map; 0 without entities.
    side: i32,
    /// Start of each cell in `order`, plus one end entry.
    starts: Vec<u32>,
    /// Indices of all entities, cell by cell.
    order: Vec<u32>,
    /// The largest radius of all entities, in px. The centre of a visible entity is at most this
    /// far outside the window.
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
    /// Builds the index of a list that is sorted by ID.
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
        // At this point the entries are the ends of the cells. Filling from the back turns them
        // into the starts.
        let mut order = vec![0; list.len()];
        for (index, thing) in list.iter().enumerate().rev() {
            let slot = &mut starts[cell_of(thing)];
            *slot -= 1;
            order[*slot as usize] = index as u32;
        }
        let reach_px = list.iter().map(|thing| thing.place().radius_px).max().unwrap_or_default();
        SpatialIndex { list, side, starts, order, reach_px, records: Default::default() }
    }

    /// The records of all entities in a layout, encoded on first use.
    pub(super) fn records<'a, R: WireValues>(
        &'a self,
        layout: UpdateLayout,
        record: impl Fn(&'a T) -> R,
    ) -> &'a Records {
        let encode = || Records::new(self.list.iter().map(|thing| Some(record(thing))));
        self.records[layout as usize].get_or_init(encode)
    }

    /// The index of the entity with this ID.
    pub fn index_of(&self, id: &T::Id) -> Option<usize> {
        self.binary_search_by(|thing| thing.id().cmp(id)).ok()
    }

    /// The entity with this ID.
    pub fn find(&self, id: &T::Id) -> Option<&T> {
        self.index_of(id).map(|index| &self.list[index])
    }

    /// Calls `found` with the index of each entity that reaches into the window widened by
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

    /// Collects the sorted indices of the entities in the window into `visible`.
    pub fn collect_visible(&self, window: ViewWindow, visible: &mut Vec<u32>) {
        visible.clear();
        self.for_each_near(window, 0, |index| visible.push(index as u32));
        visible.sort_unstable();
    }
}

/// The row or column of a coordinate.
fn cell(side: i32, px: i32) -> i32 {
    (px / CELL_PX).clamp(0, side - 1)
}
