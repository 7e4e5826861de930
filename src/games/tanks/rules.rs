//! The numbers of the game. docs/tanks.md has the rules with these numbers, one by one.
//!
//! Durations are in ticks, of which there are [`TICK_HZ`] a second; speeds are per tick.

use tickwire_sim::fixed::Fixed;
use tickwire_sim::scalar;

/// Ticks per second.
pub const TICK_HZ: u32 = 60;

/// Tiles of the map along each side, and the side of a tile in pixels.
pub const TILES: i32 = 60;
pub const TILE_PX: i32 = 50;

/// A tank is a circle with this radius, a shell a smaller one.
pub const TANK_RADIUS: Fixed = Fixed::from_px(20);
pub const SHELL_RADIUS: Fixed = Fixed::from_px(3);
/// Of the place where a shell begins from the centre of its tank.
pub const MUZZLE: Fixed = Fixed::from_px(24);

/// 100 px a second forwards, 60 px a second backwards.
pub const FORWARDS: Fixed = Fixed(100 * 65_536 / TICK_HZ as i32);
pub const BACKWARDS: Fixed = Fixed(60 * 65_536 / TICK_HZ as i32);
/// One radian a second is 10,430 of the 65,536 parts of a turn: for the hull, and for the turret.
pub const HULL_TURN_PER_TICK: u16 = (10_430 / TICK_HZ) as u16 + 1;
pub const TURRET_TURN_PER_TICK: u16 = (10_430 / TICK_HZ) as u16 + 1;

/// A kind of shell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShellKind {
    /// The usual one.
    #[default]
    Regular,
    /// Armour-piercing.
    Piercing,
}

scalar!(ShellKind, 1, |kind| *kind as u64, |raw| u8::try_from(raw).ok().and_then(ShellKind::from_number));

/// The numbers of a kind of shell.
#[derive(Clone, Copy, Debug)]
pub struct ShellRules {
    /// Taken from the health of a tank.
    pub damage: u8,
    /// Pixels in a second.
    pub speed_px: i32,
    /// A tank carries so many at most, and begins with them.
    pub most: u8,
}

/// Regular shells and armour-piercing ones.
pub const SHELLS: [ShellRules; 2] =
    [ShellRules { damage: 10, speed_px: 1000, most: 40 }, ShellRules { damage: 34, speed_px: 1500, most: 5 }];

impl ShellKind {
    /// The kind with this number on the wire.
    pub fn from_number(number: u8) -> Option<ShellKind> {
        [ShellKind::Regular, ShellKind::Piercing].into_iter().find(|kind| *kind as u8 == number)
    }

    /// The other kind.
    pub fn other(self) -> ShellKind {
        if self == ShellKind::Regular { ShellKind::Piercing } else { ShellKind::Regular }
    }

    /// The numbers of this kind.
    pub fn shells(self) -> ShellRules {
        SHELLS[self as usize]
    }
}

/// A shell moves in steps of at most this length, so that it passes nothing by.
pub const STEP_PX: i32 = 8;

/// Between two shots of a tank.
pub const RELOAD_TICKS: u8 = 2 * TICK_HZ as u8;
/// Of a whole tank.
pub const HEALTH: u8 = 100;
/// From its end to its return.
pub const RESPAWN_TICKS: u16 = 3 * TICK_HZ as u16;
/// Places among which the one farthest from all other tanks is taken.
pub const SPAWN_TRIES: u32 = 8;

/// A tank whose centre is so near a depot's is supplied.
pub const DEPOT_REACH: Fixed = Fixed::from_px(75);
/// Twice a second, 2 regular shells and 2 of health; every two seconds an armour-piercing shell.
pub const SUPPLY_EVERY: u32 = TICK_HZ / 2;
pub const SUPPLY: u8 = 2;
pub const PIERCING_EVERY: u32 = 2 * TICK_HZ;

/// Points for destroying a tank, besides one for each point of damage.
pub const DESTROY_POINTS: u16 = 50;

/// A shell is judged against where other tanks were at most so many ticks before (lag compensation). Who
/// plays on a line of 150 ms each way with losses sees the others about a second before the own tank. A
/// tank drives two tiles in that time, so nobody is hit further behind the edge of a wall. Beyond: as if
/// it were so many.
pub const MAX_REWIND_TICKS: u32 = TICK_HZ;

/// Length of a round in seconds.
pub const ROUND_S: u32 = 120;
/// Between two rounds.
pub const ROUND_PAUSE_TICKS: u32 = 8 * TICK_HZ;
/// The list of players is sent so often, and after changes not sooner than that.
pub const ROSTER_INTERVAL_TICKS: u32 = TICK_HZ;
pub const MIN_ROSTER_INTERVAL_TICKS: u32 = TICK_HZ / 4;

/// Walls that the generator tries to place, and tiles of the longest.
pub const WALL_TRIES: u32 = 700;
pub const WALL_LENGTH: i32 = 8;
