//! The area of interest: determines the entities near enough to be sent to a client.
//!
//! A client's window extends 1,248 px to the left and right of its centre and 702 px above and
//! below it (as in the MooMoo client: half a screen of 1920 × 1080, times 1.3). An entity is
//! visible if its rim reaches into the window. A spatial index finds candidates without a scan of
//! all entities. All arithmetic is in integers, so that two servers with the same world send the
//! same messages.

use std::ops::Deref;
use std::sync::OnceLock;

use tickwire_sim::geometry::Rect;
use tickwire_sim::spatial_index::SpatialIndex;

use crate::game::{Records, WireValues};
use crate::games::moo::world::Body;

/// Half the width of the window, in px.
pub const HALF_WIDTH_PX: i32 = 1248;
/// Half the height of the window, in px.
pub const HALF_HEIGHT_PX: i32 = 702;

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

    /// Distance of a circle from the centre of the window, in px: the larger coordinate.
    pub fn distance(&self, place: Circle) -> u32 {
        place.x_px.abs_diff(self.x).max(place.y_px.abs_diff(self.y))
    }

    /// Whether a circle reaches into the window widened by `margin_px` on each side.
    pub fn intersects_with_margin(&self, Circle { x_px, y_px, radius_px }: Circle, margin_px: i32) -> bool {
        let reach = radius_px + margin_px;
        // Without a branch, because the results of a search cannot be predicted.
        ((x_px - self.x).abs() - reach <= HALF_WIDTH_PX) & ((y_px - self.y).abs() - reach <= HALF_HEIGHT_PX)
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

    /// Whether clients may see the entity.
    fn is_visible(&self) -> bool {
        true
    }
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
pub struct EntityIndex<T> {
    list: Vec<T>,
    /// Index and radius in px of each visible entity, by the position of its centre in px.
    positions: SpatialIndex<(u32, i32)>,
    /// The largest radius of all entities, in px. The centre of a visible entity is at most this
    /// far outside the window.
    reach_px: i32,
    records: [OnceLock<Records>; 2],
}

impl<T> Deref for EntityIndex<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.list
    }
}

impl<T: Located> EntityIndex<T> {
    /// Builds the index of a list that is sorted by ID.
    pub fn new(list: Vec<T>) -> EntityIndex<T> {
        let visible = (0..).zip(&list).filter(|(_, entity)| entity.is_visible());
        let positions = visible.map(|(index, entity)| {
            let circle = entity.place();
            ((circle.x_px, circle.y_px), (index, circle.radius_px))
        });
        let positions = SpatialIndex::new(positions);
        let reach_px = list.iter().map(|entity| entity.place().radius_px).max().unwrap_or_default();
        EntityIndex { list, positions, reach_px, records: Default::default() }
    }

    /// The records of all entities in a layout, encoded on first use.
    pub(super) fn records<'a, R: WireValues>(
        &'a self,
        layout: UpdateLayout,
        record: impl Fn(&'a T) -> R,
    ) -> &'a Records {
        let encode = || Records::new(self.list.iter().map(|entity| Some(record(entity))));
        self.records[layout as usize].get_or_init(encode)
    }

    /// The index of the entity with this ID.
    pub fn index_of(&self, id: &T::Id) -> Option<usize> {
        self.binary_search_by(|entity| entity.id().cmp(id)).ok()
    }

    /// The entity with this ID.
    pub fn find(&self, id: &T::Id) -> Option<&T> {
        self.index_of(id).map(|index| &self.list[index])
    }

    /// Calls `found` with the index of each visible entity that reaches into the window widened by
    /// `margin_px`, in no particular order.
    pub fn for_each_near(&self, window: ViewWindow, margin_px: i32, mut found: impl FnMut(usize)) {
        self.for_each_candidate(window, margin_px, |index, is_near| {
            if is_near {
                found(index);
            }
        });
    }

    /// Collects the sorted indices of the entities in the window, without the entity at `except`,
    /// into `visible`. `marks` is a buffer.
    pub fn collect_visible(
        &self,
        window: ViewWindow,
        except: Option<usize>,
        marks: &mut Vec<u64>,
        visible: &mut Vec<u32>,
    ) {
        // Marking and reading the marks in order is faster than sorting, and has no branch that
        // depends on positions.
        marks.clear();
        marks.resize(self.len().div_ceil(64), 0);
        self.for_each_candidate(window, 0, |index, is_near| {
            marks[index / 64] |= u64::from(is_near) << (index % 64);
        });
        if let Some(index) = except {
            marks[index / 64] &= !(1 << (index % 64));
        }
        visible.clear();
        for (first, marks) in (0..).step_by(64).zip(&*marks) {
            let mut left = *marks;
            while left != 0 {
                visible.push(first + left.trailing_zeros());
                left &= left - 1;
            }
        }
    }

    /// Calls `visit` with the index of each visible entity in the cells that the widened window
    /// touches, and whether it reaches into the widened window.
    fn for_each_candidate(&self, window: ViewWindow, margin_px: i32, mut visit: impl FnMut(usize, bool)) {
        let reach_px = self.reach_px + margin_px;
        let (half_width, half_height) = (HALF_WIDTH_PX + reach_px, HALF_HEIGHT_PX + reach_px);
        let (left, top) = (window.x - half_width, window.y - half_height);
        let rect = Rect::new(left, top, 2 * half_width, 2 * half_height);
        self.positions.for_each_in_cells(rect, |(x_px, y_px), (index, radius_px)| {
            let circle = Circle { x_px, y_px, radius_px };
            visit(index as usize, window.intersects_with_margin(circle, margin_px));
        });
    }
}
