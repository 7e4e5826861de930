//! Poses in the units of the native layout.

use crate::game::WireValues;
use crate::games::moo::world::{Angle, Body, Fixed};

/// A pose in the native layout: position in half px, heading in 1/256 turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pose {
    /// x coordinate, in half px from the left edge.
    pub x_hpx: u16,
    /// y coordinate, in half px from the top edge.
    pub y_hpx: u16,
    /// Heading, in 1/256 turn.
    pub heading: u8,
}

impl Pose {
    /// The pose of a body, rounded to the nearest units.
    pub fn of(body: &Body) -> Pose {
        let hpx = |at: Fixed| u16::try_from(half_px(at)).unwrap_or(u16::MAX);
        Pose { x_hpx: hpx(body.x), y_hpx: hpx(body.y), heading: turn8(body.heading) }
    }
}

impl WireValues for Pose {
    const COUNT: usize = 3;

    fn write(&self, out: &mut Vec<u8>) {
        (self.x_hpx, self.y_hpx, self.heading).write(out);
    }
}

/// Converts a heading to 1/256 turn, rounded to the nearest.
pub fn turn8(heading: Angle) -> u8 {
    (heading.0.wrapping_add(128) >> 8) as u8
}

/// Converts a coordinate to half px.
pub fn half_px(at: Fixed) -> u32 {
    at.to_half_px().max(0) as u32
}
