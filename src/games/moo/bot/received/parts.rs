//! The components of a server's packets, the same for all dialects.

use std::collections::BTreeMap;

/// A melee attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Swing {
    /// The player who swings.
    pub player: u32,
    /// The weapon: a number of `rules::WEAPONS`.
    pub weapon: u8,
    /// Whether it hit anything.
    pub hit: bool,
}

/// The receiver's weapons and items.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kit {
    /// Numbers of `rules::WEAPONS`.
    pub weapons: Vec<u8>,
    /// Numbers of `rules::ITEMS`.
    pub items: Vec<u8>,
    /// The number of structures of each group, for groups with any.
    pub counts: BTreeMap<u8, u32>,
}

/// The upgrades that the receiver may choose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offers {
    /// How many may be chosen.
    pub points: u32,
    /// The age that offers them.
    pub age: u32,
    /// Native: weapons, then items from `rules::CHOICE_ITEMS` on. MooMoo clients know the choices
    /// by themselves.
    pub choices: Option<Vec<u8>>,
}

/// The identity of the world.
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
    /// Ticks per second.
    pub tick_hz: u32,
    /// Updates per second.
    pub update_hz: u32,
    /// Distinguishes this start of the server from earlier ones.
    pub epoch: String,
    /// Ticks completed.
    pub tick: u32,
}

/// One update of the native dialect, in the order in which it is to be applied.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Update {
    /// Ticks completed.
    pub tick: u32,
    /// The receiver's own exact state, when it changed.
    pub own: Option<Own>,
    /// Players that went out of view.
    pub leaves: Vec<u32>,
    /// Players that came into view.
    pub enters: Vec<EnteredPlayer>,
    /// Positions of players for which an update was missed.
    pub full: Vec<Pose>,
    /// Displacements of the players that moved.
    pub moved: Vec<PositionDelta>,
    /// Directions of the players that turned: player and binary angle.
    pub turned: Vec<(u32, u16)>,
}

/// The receiver's own exact state. Lengths are pixels in 16.16.
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
    /// The walking direction, if any.
    pub direction: Option<u16>,
}

impl Own {
    /// Where the receiver's player is.
    pub fn pose(&self, player: u32) -> Pose {
        let px = |fixed: i32| f64::from(fixed) / 65_536.0;
        Pose { player, x_px: px(self.x), y_px: px(self.y), heading: self.heading }
    }
}

/// A player and its position.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pose {
    /// The player.
    pub player: u32,
    /// Pixels from the left.
    pub x_px: f64,
    /// Pixels from the top.
    pub y_px: f64,
    /// Binary angle.
    pub heading: u16,
}

/// A player who came into view.
#[derive(Debug, Clone, PartialEq)]
pub struct EnteredPlayer {
    /// The player and its position.
    pub pose: Pose,
    /// Its name; untrusted text.
    pub name: String,
    /// Its colour.
    pub skin: u8,
}

/// A player's displacement since the previous update.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PositionDelta {
    /// The player.
    pub player: u32,
    /// Pixels to the right.
    pub dx_px: f64,
    /// Pixels down.
    pub dy_px: f64,
}

/// A player that a MooMoo server announces.
#[derive(Debug, Clone, PartialEq)]
pub struct AddedPlayer {
    /// Identifies the player towards this client.
    pub id: String,
    /// The player and its position.
    pub pose: Pose,
    /// Its name; untrusted text.
    pub name: String,
    /// Health points.
    pub health: u32,
    /// Maximum health points.
    pub max_health: u32,
    /// Whether it is the receiver.
    pub is_you: bool,
}

/// A natural or built object.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Object {
    /// Its number.
    pub id: u32,
    /// 0 tree, 1 bush, 2 rock, 3 gold; `None` for a built object.
    pub kind: Option<u8>,
    /// Pixels from the left.
    pub x_px: f64,
    /// Pixels from the top.
    pub y_px: f64,
    /// Radius of its picture, px.
    pub scale_px: f64,
    /// For a built object: a number of `rules::ITEMS`, and the player who built it.
    pub structure: Option<(u8, u32)>,
}

/// The leaderboard.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Leaderboard {
    /// Player, name and score, best first.
    pub rows: Vec<(u32, String, f64)>,
    /// Native: the receiver's own place, from 1.
    pub place: Option<u32>,
    /// Native: players in all.
    pub players: Option<u32>,
}

/// A player in view, as a MooMoo server shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct MoomooPlayer {
    /// The player and its position.
    pub pose: Pose,
    /// The last chosen weapon: a number of `rules::WEAPONS`.
    pub weapon: u8,
    /// The name of its clan.
    pub clan: Option<String>,
    /// Whether the player owns that clan.
    pub is_owner: bool,
}

impl From<Pose> for MoomooPlayer {
    /// With the first weapon, and without a clan.
    fn from(pose: Pose) -> MoomooPlayer {
        MoomooPlayer { pose, weapon: 0, clan: None, is_owner: false }
    }
}

/// A projectile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shot {
    /// Its number; reused after it has ended.
    pub id: u32,
    /// A number of `rules::PROJECTILES`.
    pub kind: u8,
    /// Native: the owner; a player, or the object that is a turret.
    pub by: Option<u32>,
    /// Where it is, pixels from the left.
    pub x_px: f64,
    /// Where it is, pixels from the top.
    pub y_px: f64,
    /// The direction of flight, a binary angle.
    pub heading: u16,
    /// The remaining range.
    pub range_px: f64,
}

/// The end of a projectile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShotEnd {
    /// The projectile.
    pub id: u32,
    /// Where it ended, or how far from its announced position.
    pub place: ShotPlace,
}

/// See [`ShotEnd`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ShotPlace {
    /// Native: pixels from the left and from the top.
    At(f64, f64),
    /// MooMoo: pixels from its announced position.
    After(f64),
}

/// An animal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Animal {
    /// Its number.
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
    /// Its name; untrusted text.
    pub name: String,
    /// Its owner.
    pub owner: u32,
}

/// The receiver's own clan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnClan {
    /// Its number; `None` without a clan.
    pub id: Option<u32>,
    /// Whether the receiver owns it.
    pub is_owner: bool,
    /// Its members.
    pub members: Vec<u32>,
    /// Players who ask to join; sent only to the owner.
    pub join_requests: Vec<u32>,
}

/// The position of a clan member.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mate {
    /// Native: the member.
    pub player: Option<u32>,
    /// Pixels from the left.
    pub x_px: f64,
    /// Pixels from the top.
    pub y_px: f64,
}
