//! The controller of scenery, which stands and sleeps. Ticks do not visit sleeping entities.

use crate::fields::{fields, scalar};
use crate::rules::{self, Resource};

/// The kinds of scenery. The numbers are also used on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SceneryKind {
    /// A source of wood.
    Tree = 0,
    /// A source of food.
    Bush = 1,
    /// A source of stone.
    Rock = 2,
    /// A source of gold.
    Gold = 3,
}

scalar!(SceneryKind, 1, |value| *value as u64, |raw| SceneryKind::from_number(raw as u8));

impl SceneryKind {
    /// All kinds, in ascending order of their numbers.
    pub const ALL: [SceneryKind; 4] =
        [SceneryKind::Tree, SceneryKind::Bush, SceneryKind::Rock, SceneryKind::Gold];

    /// The kind with this number.
    pub fn from_number(number: u8) -> Option<SceneryKind> {
        SceneryKind::ALL.get(usize::from(number)).copied()
    }

    /// The resource that a hit yields.
    pub fn gives(self) -> Resource {
        match self {
            SceneryKind::Tree => Resource::Wood,
            SceneryKind::Bush => Resource::Food,
            SceneryKind::Rock => Resource::Stone,
            SceneryKind::Gold => Resource::Gold,
        }
    }

    /// The possible radii of the drawn image, in pixels.
    pub fn scales_px(self) -> &'static [i32] {
        match self {
            SceneryKind::Tree => &rules::TREE_SCALES_PX,
            SceneryKind::Bush => &rules::BUSH_SCALES_PX,
            SceneryKind::Rock | SceneryKind::Gold => &rules::ROCK_SCALES_PX,
        }
    }

    /// The radius of the solid part, for an image of radius `scale_px`; both in pixels.
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
    /// Radius of the drawn image, in pixels. The body's radius is the radius of the solid part.
    pub scale_px: i32,
}

fields!(Scenery: kind: SceneryKind, scale_px: i32);
