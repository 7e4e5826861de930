//! The constants of the game. docs/tanks.md lists the rules with these constants.
//!
//! Durations are in ticks ([`TICK_HZ`] per second); speeds are per tick.

use tickwire_sim::fixed::Fixed;
use tickwire_sim::scalar;

/// Ticks per second.
pub const TICK_HZ: u32 = 60;

/// Number of tiles along each side of the map.
pub const TILES: i32 = 60;
/// Side length of a tile, in px.
pub const TILE_PX: i32 = 50;

/// Radius of a tank, which is a circle.
pub const TANK_RADIUS: Fixed = Fixed::from_px(20);
/// Radius of a shell, which is a circle.
pub const SHELL_RADIUS: Fixed = Fixed::from_px(3);
/// Distance from the centre of a tank at which its shells start.
pub const MUZZLE: Fixed = Fixed::from_px(24);

/// Speed forwards: 100 px per second.
pub const FORWARDS: Fixed = Fixed(100 * 65_536 / TICK_HZ as i32);
/// Speed backwards: 60 px per second.
pub const BACKWARDS: Fixed = Fixed(60 * 65_536 / TICK_HZ as i32);
/// Turning speed of the hull: one radian per second, in 1/65,536 turn per tick.
pub const HULL_TURN_PER_TICK: u16 = (10_430 / TICK_HZ) as u16 + 1;
/// Turning speed of the turret: one radian per second, in 1/65,536 turn per tick.
pub const TURRET_TURN_PER_TICK: u16 = (10_430 / TICK_HZ) as u16 + 1;

/// A kind of shell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShellKind {
    /// A regular shell.
    #[default]
    Regular,
    /// An armour-piercing shell.
    Piercing,
}

scalar!(ShellKind, 1, |kind| *kind as u64, |raw| u8::try_from(raw).ok().and_then(ShellKind::from_number));

/// The properties of a kind of shell.
#[derive(Clone, Copy, Debug)]
pub struct ShellRules {
    /// Damage to the health of a tank.
    pub damage: u8,
    /// Speed, in px per second.
    pub speed_px: i32,
    /// Maximum and initial number of shells per tank.
    pub max_count: u8,
}

/// The properties of regular and armour-piercing shells.
pub const SHELLS: [ShellRules; 2] = [
    ShellRules { damage: 10, speed_px: 1000, max_count: 40 },
    ShellRules { damage: 34, speed_px: 1500, max_count: 5 },
];

impl ShellKind {
    /// The kind with this number on the wire.
    pub fn from_number(number: u8) -> Option<ShellKind> {
        [ShellKind::Regular, ShellKind::Piercing].into_iter().find(|kind| *kind as u8 == number)
    }

    /// The other kind.
    pub fn other(self) -> ShellKind {
        if self == ShellKind::Regular { ShellKind::Piercing } else { ShellKind::Regular }
    }

    /// The properties of this kind.
    pub fn shells(self) -> ShellRules {
        SHELLS[self as usize]
    }
}

/// Maximum length of a shell's step between two collision checks, in px, so that it does not pass
/// through anything.
pub const STEP_PX: i32 = 8;

/// Ticks between two shots of a tank.
pub const RELOAD_TICKS: u8 = 2 * TICK_HZ as u8;
/// Initial health of a tank.
pub const HEALTH: u8 = 100;
/// Ticks from the destruction of a tank to its respawn.
pub const RESPAWN_TICKS: u16 = 3 * TICK_HZ as u16;
/// Number of candidate spawn positions. A tank spawns at the candidate farthest from all other
/// tanks.
pub const SPAWN_TRIES: u32 = 8;

/// Distance from the centre of a depot within which a tank is supplied.
pub const DEPOT_REACH: Fixed = Fixed::from_px(75);
/// Interval of supply at a depot, in ticks: half a second.
pub const SUPPLY_EVERY: u32 = TICK_HZ / 2;
/// Number of regular shells, and of health points, that a tank receives at each supply.
pub const SUPPLY: u8 = 2;
/// Interval at which a tank at a depot receives an armour-piercing shell, in ticks: two seconds.
pub const PIERCING_EVERY: u32 = 2 * TICK_HZ;

/// Points for destroying a tank, in addition to one point per point of damage.
pub const DESTROY_POINTS: u16 = 50;

/// Maximum rewind of lag compensation, in ticks: a shell is tested against the positions of other
/// tanks up to this many ticks ago. A player on a connection with 150 ms delay each way and packet
/// loss sees other tanks about a second late. A tank drives two tiles in that time, which limits
/// how far past a wall's edge it can be hit. A larger delay is reduced to this value.
pub const MAX_REWIND_TICKS: u32 = TICK_HZ;

/// Length of a round in seconds.
pub const ROUND_S: u32 = 120;
/// Ticks between two rounds.
pub const ROUND_PAUSE_TICKS: u32 = 8 * TICK_HZ;
/// Maximum interval between two lists of players, in ticks.
pub const ROSTER_INTERVAL_TICKS: u32 = TICK_HZ;
/// Minimum interval between two lists of players, in ticks. A changed list is sent after this
/// interval.
pub const MIN_ROSTER_INTERVAL_TICKS: u32 = TICK_HZ / 4;

/// Number of walls that the generator tries to place.
pub const WALL_TRIES: u32 = 700;
/// Maximum length of a wall, in tiles.
pub const WALL_LENGTH: i32 = 8;
