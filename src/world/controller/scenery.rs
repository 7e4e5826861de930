//! The controller of what nature placed: it stands and sleeps.
//!
//! Comes in: nothing. Goes out: nothing. Never: a turn. What sleeps is not visited by the tick at all.

use crate::fields::{fields, scalar};
use crate::rules::{self, Resource};

/// What nature placed. The numbers are those of the wire.
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
    /// All of them, in the order of their numbers.
    pub const ALL: [SceneryKind; 4] =
        [SceneryKind::Tree, SceneryKind::Bush, SceneryKind::Rock, SceneryKind::Gold];

    /// The kind of that number.
    pub fn from_number(number: u8) -> Option<SceneryKind> {
        SceneryKind::ALL.get(usize::from(number)).copied()
    }

    /// What it gives when it is struck.
    pub fn gives(self) -> Resource {
        match self {
            SceneryKind::Tree => Resource::Wood,
            SceneryKind::Bush => Resource::Food,
            SceneryKind::Rock => Resource::Stone,
            SceneryKind::Gold => Resource::Gold,
        }
    }

    /// The sizes in which it grows: radii of its picture, pixels.
    pub fn scales_px(self) -> &'static [i32] {
        match self {
            SceneryKind::Tree => &rules::TREE_SCALES_PX,
            SceneryKind::Bush => &rules::BUSH_SCALES_PX,
            SceneryKind::Rock | SceneryKind::Gold => &rules::ROCK_SCALES_PX,
        }
    }

    /// The radius of what one runs into, for a picture of that radius, pixels.
    pub fn radius_px(self, scale_px: i32) -> i32 {
        match self {
            SceneryKind::Tree | SceneryKind::Bush => scale_px * rules::LEAF_RADIUS_PERCENT / 100,
            SceneryKind::Rock | SceneryKind::Gold => scale_px,
        }
    }
}

/// What a thing of nature is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenery {
    /// What it is.
    pub kind: SceneryKind,
    /// How large it is drawn: the radius of the picture, pixels. The body's radius is what one runs into.
    pub scale_px: i32,
}

fields!(Scenery: kind: SceneryKind, scale_px: i32);
