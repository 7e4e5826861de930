//! What packets of a server consist of, the same for all dialects.
//!
//! Comes in: nothing. Goes out: types. Never: a judgement, or a way to read them.

use std::collections::BTreeMap;

/// A stroke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Swing {
    /// Whose.
    pub player: u32,
    /// With what: a number of `rules::WEAPONS`.
    pub weapon: u8,
    /// Whether it hit anything.
    pub hit: bool,
}

/// What one has to use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kit {
    /// Numbers of `rules::WEAPONS`.
    pub weapons: Vec<u8>,
    /// Numbers of `rules::ITEMS`.
    pub items: Vec<u8>,
    /// How many of each group stand, where any do.
    pub counts: BTreeMap<u8, u32>,
}

/// What one may choose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offers {
    /// How often.
    pub points: u32,
    /// Which age offers it.
    pub age: u32,
    /// Native: weapons, then items from `rules::CHOICE_ITEMS` on. MooMoo clients know them by themselves.
    pub choices: Option<Vec<u8>>,
}

/// Which world this is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Welcome {
    /// Version of the protocol.
    pub version: u32,
    /// Hash of the world's code and rules, 16 hex digits.
    pub code_hash: String,
    /// Seed of the world.
    pub seed: u32,
    /// Side of the map, px.
    pub map_size_px: u32,
    /// Ticks a second.
    pub tick_hz: u32,
    /// Updates a second.
    pub update_hz: u32,
    /// Tells this start of the server from the one before.
    pub epoch: String,
    /// Ticks completed.
    pub tick: u32,
}

/// One update of the native dialect, in the order in which it is to be applied.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Update {
    /// Ticks completed.
    pub tick: u32,
    /// One's own exact state, when it changed.
    pub own: Option<Own>,
    /// Who went out of view.
    pub leaves: Vec<u32>,
    /// Who came into view.
    pub enters: Vec<Enter>,
    /// Where those are of whom an update was missed.
    pub full: Vec<Pose>,
    /// How far those moved who did.
    pub moved: Vec<Moved>,
    /// Where those look who turned: player and binary angle.
    pub turned: Vec<(u32, u16)>,
}

/// One's own exact state. Lengths are pixels in 16.16.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Own {
    /// The last command applied.
    pub sequence: u32,
    /// How many ticks early (positive) or late it came.
    pub margin_ticks: i32,
    /// From the left.
    pub x: i32,
    /// From the top.
    pub y: i32,
    /// Per tick.
    pub vx: i32,
    /// Per tick.
    pub vy: i32,
    /// Binary angle.
    pub heading: u16,
    /// Where it walks, if it does.
    pub direction: Option<u16>,
}

/// Somebody and where.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pose {
    /// Who.
    pub player: u32,
    /// Pixels from the left.
    pub x_px: f64,
    /// Pixels from the top.
    pub y_px: f64,
    /// Binary angle.
    pub heading: u16,
}

/// Somebody who came into view.
#[derive(Debug, Clone, PartialEq)]
pub struct Enter {
    /// Who and where.
    pub pose: Pose,
    /// Its name; text of a stranger.
    pub name: String,
    /// Its colour.
    pub skin: u8,
}

/// How far somebody moved since the update before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moved {
    /// Who.
    pub player: u32,
    /// Pixels to the right.
    pub dx_px: f64,
    /// Pixels down.
    pub dy_px: f64,
}

/// Somebody whom a MooMoo server tells of.
#[derive(Debug, Clone, PartialEq)]
pub struct Added {
    /// Names the player towards this client.
    pub id: String,
    /// Who and where.
    pub pose: Pose,
    /// Its name; text of a stranger.
    pub name: String,
    /// Health points.
    pub health: u32,
    /// Health points that it can have.
    pub max_health: u32,
    /// Whether it is the receiver.
    pub is_you: bool,
}

/// A thing of nature, or one that was built.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Object {
    /// Its number.
    pub id: u32,
    /// 0 tree, 1 bush, 2 rock, 3 gold; `None` for what was built.
    pub kind: Option<u8>,
    /// Pixels from the left.
    pub x_px: f64,
    /// Pixels from the top.
    pub y_px: f64,
    /// Radius of its picture, px.
    pub scale_px: f64,
    /// What was built, and by whom: a number of `rules::ITEMS`, and a player.
    pub built: Option<(u8, u32)>,
}

/// The best players.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Leaderboard {
    /// Player, name and score, best first.
    pub rows: Vec<(u32, String, f64)>,
    /// Native: one's own place from 1.
    pub place: Option<u32>,
    /// Native: players in all.
    pub players: Option<u32>,
}

/// Somebody in view, as a MooMoo server shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// Who and where.
    pub pose: Pose,
    /// The weapon that it has chosen last: a number of `rules::WEAPONS`.
    pub weapon: u8,
    /// The name of its clan.
    pub clan: Option<String>,
    /// Whether it owns that.
    pub is_owner: bool,
}

impl From<Pose> for Shown {
    /// With the first weapon, and without a clan.
    fn from(pose: Pose) -> Shown {
        Shown { pose, weapon: 0, clan: None, is_owner: false }
    }
}

/// Something that was shot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shot {
    /// Its number; the next one may have it once it has ended.
    pub id: u32,
    /// A number of `rules::PROJECTILES`.
    pub kind: u8,
    /// Native: whose; a player, or the object that is a turret.
    pub by: Option<u32>,
    /// Where it is, pixels from the left.
    pub x_px: f64,
    /// Where it is, pixels from the top.
    pub y_px: f64,
    /// Where it flies, a binary angle.
    pub heading: u16,
    /// How far it still flies.
    pub range_px: f64,
}

/// The end of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShotEnd {
    /// Which.
    pub id: u32,
    /// Where that was, or how far from where it was told of.
    pub place: ShotPlace,
}

/// See [`ShotEnd`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ShotPlace {
    /// Native: pixels from the left and from the top.
    At(f64, f64),
    /// MooMoo: pixels from where it was told of.
    After(f64),
}

/// An animal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Animal {
    /// Which.
    pub id: u32,
    /// A number of `rules::ANIMALS`.
    pub kind: u8,
    /// Pixels from the left.
    pub x_px: f64,
    /// Pixels from the top.
    pub y_px: f64,
    /// Health points.
    pub health: u32,
}

/// A clan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clan {
    /// Native: its number.
    pub id: Option<u32>,
    /// Its name; text of a stranger.
    pub name: String,
    /// Whose it is.
    pub owner: u32,
}

/// One's own clan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnClan {
    /// Which; nothing without one.
    pub id: Option<u32>,
    /// Whether one owns it.
    pub is_owner: bool,
    /// Who is in it.
    pub members: Vec<u32>,
    /// Who asks to join; for its owner.
    pub asks: Vec<u32>,
}

/// Where somebody of one's clan is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mate {
    /// Native: who.
    pub player: Option<u32>,
    /// Pixels from the left.
    pub x_px: f64,
    /// Pixels from the top.
    pub y_px: f64,
}
