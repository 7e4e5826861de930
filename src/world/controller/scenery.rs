//! The controller of what nature placed: it stands and sleeps.

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

/// What a thing of nature is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenery {
    /// What it is.
    pub kind: SceneryKind,
    /// How large it is drawn: the radius of the picture, pixels. The body's radius is what one runs into.
    pub scale_px: i32,
}
