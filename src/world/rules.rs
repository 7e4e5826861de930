//! Every constant of the game, with its unit.

/// Characters of a name.
pub const NAME_CHARS: usize = 15;
/// Characters of a chat line.
pub const CHAT_CHARS: usize = 30;
/// Side of the map unless the operator says otherwise, pixels.
pub const MAP_SIZE_PX: u32 = 14_400;
/// Smallest side of a map, pixels.
pub const MAP_SIZE_MIN_PX: u32 = 1_440;
/// Largest side of a map, pixels: half pixels of it fit in 16 bits, whole ones in a `Fixed`.
pub const MAP_SIZE_MAX_PX: u32 = 32_000;
/// Radius of a player, pixels.
pub const PLAYER_RADIUS_PX: i32 = 35;
/// Health of a newcomer, points.
pub const PLAYER_HEALTH: u16 = 100;
