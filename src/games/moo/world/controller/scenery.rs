//! The controller of scenery, which stands and sleeps. The tick does not visit sleeping entities.

use crate::fields::{fields, scalar};
use crate::rules::{self, Resource};

/// The kinds of scenery. The numbers are those of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SceneryKind {
    /// Wood.
    Tree = 0,
    /// Food.
    Bush = 1,
    /// Stone.
    Rock = 2,
    /// Gold.
    Gold = 3,
}

scalar!(SceneryKind, 1, |value| *value as u64, |raw| SceneryKind::from_number(raw as u8));

impl SceneryKind {
    /// All kinds, in order of their numbers.
    pub const ALL: [SceneryKind; 4] =
        [SceneryKind::Tree, SceneryKind::Bush, SceneryKind::Rock, SceneryKind::Gold];

    /// The kind with that number.
    pub fn from_number(number: u8) -> Option<SceneryKind> {
        SceneryKind::ALL.get(usize::from(number)).copied()
    }

    /// The resource that it gives when hit.
    pub fn gives(self) -> Resource {
        match self {
            SceneryKind::Tree => Resource::Wood,
            SceneryKind::Bush => Resource::Food,
            SceneryKind::Rock => Resource::Stone,
            SceneryKind::Gold => Resource::Gold,
        }
    }

    /// The possible sizes: radii of its picture, in pixels.
    pub fn scales_px(self) -> &'static [i32] {
        match self {
            SceneryKind::Tree => &rules::TREE_SCALES_PX,
            SceneryKind::Bush => &rules::BUSH_SCALES_PX,
            SceneryKind::Rock | SceneryKind::Gold => &rules::ROCK_SCALES_PX,
        }
    }

    /// The radius of the solid part, for a picture with that radius, in pixels.
    pub fn radius_px(self, scale_px: i32) -> i32 {
        match self {
            SceneryKind::Tree | SceneryKind::Bush => scale_px * rules::LEAF_RADIUS_PERCENT / 100,
            SceneryKind::Rock | SceneryKind::Gold => scale_px,
        }
    }
}

/// The state of a scenery object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenery {
    /// The kind.
    pub kind: SceneryKind,
    /// The size: the radius of the picture, in pixels. The body's radius is that of the solid part.
    pub scale_px: i32,
}

fields!(Scenery: kind: SceneryKind, scale_px: i32);
