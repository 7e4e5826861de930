//! Components of server packets, shared by all dialects.

use std::collections::BTreeMap;

/// A melee attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Swing {
    /// The player that swings.
    pub player: u32,
    /// The weapon: an ID of `rules::WEAPONS`.
    pub weapon: u8,
    /// Whether the swing hit anything.
    pub hit: bool,
}

/// The receiver's weapons and items.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inventory {
    /// IDs of `rules::WEAPONS`.
    pub weapons: Vec<u8>,
    /// IDs of `rules::ITEMS`.
    pub items: Vec<u8>,
    /// Number of structures of each group; groups without structures are missing.
    pub counts: BTreeMap<u8, u32>,
}

/// The upgrades that the receiver may choose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UpgradeOffers {
    /// Number of upgrades that may be chosen.
    pub points: u32,
    /// The age that offers these upgrades.
    pub age: u32,
    /// Native: weapon IDs, and item IDs plus `rules::CHOICE_ITEMS`. MooMoo clients compute the
    /// upgrades themselves.
    pub choices: Option<Vec<u8>>,
}

/// The parameters of the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Welcome {
    /// Version of the protocol.
    pub version: u32,
    /// Hash of the world's code and rules, 16 hex digits.
    pub rules_hash: String,
    /// Seed of the world.
    pub seed: u32,
    /// Side length of the map, in px.
    pub map_size_px: u32,
    /// Ticks per second.
    pub tick_hz: u32,
    /// Updates per second.
    pub update_hz: u32,
    /// Distinguishes this start of the server from earlier starts.
    pub epoch: String,
    /// Number of completed ticks.
    pub tick: u32,
}

/// An update of the native dialect. The fields are in the order in which they must be applied.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Update {
    /// Number of completed ticks.
    pub tick: u32,
    /// The receiver's own exact state, if it changed.
    pub own: Option<Own>,
    /// Players that left the view.
    pub leaves: Vec<u32>,
    /// Players that came into view.
    pub enters: Vec<EnteredPlayer>,
    /// Positions of known players after a missed update.
    pub full: Vec<Pose>,
    /// Displacements of the players that moved.
    pub moved: Vec<PositionDelta>,
    /// Directions of view of the players that turned: player ID and binary angle.
    pub turned: Vec<(u32, u16)>,
    /// Animals that entered the view or changed. Only after a lane was granted.
    pub animals: Vec<Animal>,
    /// Animals that died or left the view. Only after a lane was granted; the client may not know
    /// them.
    pub animals_gone: Vec<u32>,
}

impl Update {
    /// Whether a newer update replaces a part of it.
    pub fn has_poses(&self) -> bool {
        let Update { own, full, moved, turned, animals, animals_gone, .. } = self;
        let is_empty = full.is_empty() && moved.is_empty() && turned.is_empty();
        own.is_some() || !(is_empty && animals.is_empty() && animals_gone.is_empty())
    }
}

/// The receiver's own exact state. Lengths are 16.16 fixed point, in pixels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Own {
    /// Sequence number of the last command applied.
    pub sequence: u32,
    /// Margin of the last command, in ticks; negative if it was late.
    pub margin_ticks: i32,
    /// x coordinate, from the left edge.
    pub x: i32,
    /// y coordinate, from the top edge.
    pub y: i32,
    /// Velocity to the right, per tick.
    pub vx: i32,
    /// Downward velocity, per tick.
    pub vy: i32,
    /// Direction of view, as a binary angle.
    pub heading: u16,
    /// Direction of movement; `None` if the player is not walking.
    pub direction: Option<u16>,
}

impl Own {
    /// The position and direction of view of the receiver's player.
    pub fn pose(&self, player: u32) -> Pose {
        let px = |fixed: i32| f64::from(fixed) / 65_536.0;
        Pose { player, x_px: px(self.x), y_px: px(self.y), heading: self.heading }
    }
}

/// Position and direction of view of a player.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pose {
    /// Player ID.
    pub player: u32,
    /// x coordinate, in px from the left edge.
    pub x_px: f64,
    /// y coordinate, in px from the top edge.
    pub y_px: f64,
    /// Direction of view, as a binary angle.
    pub heading: u16,
}

/// A player that came into view.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EnteredPlayer {
    /// Player ID and position.
    pub pose: Pose,
    /// Name; untrusted text.
    pub name: String,
    /// Colour index.
    pub skin: u8,
}

/// A player's displacement since the previous update.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PositionDelta {
    /// Player ID.
    pub player: u32,
    /// Displacement to the right, in px.
    pub dx_px: f64,
    /// Downward displacement, in px.
    pub dy_px: f64,
}

/// A player of a MooMoo `add_player` packet.
#[derive(Debug, Clone, PartialEq)]
pub struct AddedPlayer {
    /// Identifier of the player for this client.
    pub id: String,
    /// Player ID and position.
    pub pose: Pose,
    /// Name; untrusted text.
    pub name: String,
    /// Health points.
    pub health: u32,
    /// Maximum health points.
    pub max_health: u32,
    /// Whether the player is the receiver's own.
    pub is_you: bool,
}

/// A scenery object or a structure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Object {
    /// Object ID.
    pub id: u32,
    /// 0 tree, 1 bush, 2 rock, 3 gold; `None` for a structure.
    pub kind: Option<u8>,
    /// x coordinate, in px from the left edge.
    pub x_px: f64,
    /// y coordinate, in px from the top edge.
    pub y_px: f64,
    /// Radius of the drawn image, in px.
    pub scale_px: f64,
    /// For a structure: an ID of `rules::ITEMS`, and the owner.
    pub structure: Option<(u8, u32)>,
}

/// The leaderboard.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Leaderboard {
    /// Player ID, name and score of each row, best first.
    pub rows: Vec<(u32, String, f64)>,
    /// Native: the receiver's rank, starting at 1.
    pub rank: Option<u32>,
    /// Native: total number of players.
    pub players: Option<u32>,
}

/// A player in a MooMoo `update_players` packet.
#[derive(Debug, Clone, PartialEq)]
pub struct MoomooPlayer {
    /// Player ID and position.
    pub pose: Pose,
    /// The last selected weapon: an ID of `rules::WEAPONS`.
    pub weapon: u8,
    /// Name of the player's clan.
    pub clan: Option<String>,
    /// Whether the player owns that clan.
    pub is_owner: bool,
}

impl From<Pose> for MoomooPlayer {
    /// Adds the initial weapon, and no clan.
    fn from(pose: Pose) -> MoomooPlayer {
        MoomooPlayer { pose, weapon: 0, clan: None, is_owner: false }
    }
}

/// A projectile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shot {
    /// Projectile ID. Reused after the projectile has ended.
    pub id: u32,
    /// The kind: an ID of `rules::PROJECTILES`.
    pub kind: u8,
    /// Native: the player or the turret that fired the projectile.
    pub shooter: Option<u32>,
    /// x coordinate, in px from the left edge.
    pub x_px: f64,
    /// y coordinate, in px from the top edge.
    pub y_px: f64,
    /// Direction of flight, as a binary angle.
    pub heading: u16,
    /// Remaining range, in px.
    pub range_px: f64,
}

/// The end of a projectile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShotEnd {
    /// The projectile.
    pub id: u32,
    /// Position of the end.
    pub place: ShotPlace,
}

/// Position at which a projectile ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ShotPlace {
    /// Native: x and y, in px from the left and the top edge.
    At(f64, f64),
    /// MooMoo: distance from the start position, in px.
    After(f64),
}

/// An animal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Animal {
    /// Animal ID.
    pub id: u32,
    /// The kind: a number of `rules::ANIMALS`.
    pub kind: u8,
    /// x coordinate, in px from the left edge.
    pub x_px: f64,
    /// y coordinate, in px from the top edge.
    pub y_px: f64,
    /// Health points.
    pub health: u32,
}

/// A clan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clan {
    /// Native: clan ID.
    pub id: Option<u32>,
    /// Name; untrusted text.
    pub name: String,
    /// Player ID of the owner.
    pub owner: u32,
}

/// The receiver's own clan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnClan {
    /// Clan ID; `None` without a clan.
    pub id: Option<u32>,
    /// Whether the receiver owns the clan.
    pub is_owner: bool,
    /// Player IDs of the members.
    pub members: Vec<u32>,
    /// Player IDs of the applicants. Sent only to the owner.
    pub join_requests: Vec<u32>,
}

/// The position of a clan member.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mate {
    /// Native: player ID of the member.
    pub player: Option<u32>,
    /// x coordinate, in px from the left edge.
    pub x_px: f64,
    /// y coordinate, in px from the top edge.
    pub y_px: f64,
}
