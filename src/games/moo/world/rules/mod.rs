//! Every constant of the game with its unit, and the values derived from it for each tick rate.
//!
//! All values are integers. Values that need fractions were computed once and are written out here;
//! a test computes them again.
//!
//! The values are those of MooMoo.io, measured at its 9 ticks a second. There, the speed of a
//! player depends on the length of a tick; here it must not. So the constants for each tick rate
//! are chosen such that walking follows the same curve, sampled more or less often.

use crate::fields::scalar;
use crate::trig;

mod ages;
mod animals;
mod biome;
mod items;
mod projectiles;
mod time;
mod weapons;

pub use ages::{xp_next, CHOICE_ITEMS, FIRST_CHOICE_AGE, LAST_CHOICE_AGE, MAX_AGE, XP_STEPS};
pub use animals::{AnimalKind, AnimalSpecies, ANIMALS};
pub use biome::Biome;
pub use items::{item, Group, Item, FIRST_ITEMS, GROUPS, ITEMS};
pub use projectiles::{projectile, Projectile, PROJECTILES};
pub use time::thirds;
pub(crate) use weapons::weapon_or_first;
pub use weapons::{weapon, Weapon, FIRST_WEAPON, WEAPONS};

/// Raised with each change of the world's behaviour. It is part of [`crate::code_hash`], so that an
/// old recording or a stale browser is detected instead of computing a different world.
pub const CODE_VERSION: u32 = 5;

// ---- texts ---------------------------------------------------------------------------------------------------

/// Maximum length of a name, in characters.
pub const NAME_CHARS: usize = 15;
/// Maximum length of a chat line, in characters.
pub const CHAT_CHARS: usize = 30;
/// Maximum length of a clan's name, in characters.
pub const CLAN_CHARS: usize = 7;
/// Maximum number of clans: each client receives all of them in one message.
pub const MAX_CLANS: usize = 200;
/// Maximum number of members of a clan: each member receives all of them in one message.
pub const MAX_CLAN_MEMBERS: usize = 50;
/// Maximum length of an operator message, in characters: it fits a command frame whatever the
/// characters.
pub const MAX_ANNOUNCEMENT_CHARS: usize = 60;

// ---- map -----------------------------------------------------------------------------------------------------

/// Default side length of the map, in pixels. The values below that scale are given for this size.
pub const MAP_SIZE_PX: u32 = 14_400;
/// Minimum side length of a map, in pixels: a single area still has space for its scenery.
pub const MAP_SIZE_MIN_PX: u32 = 1_440;
/// Maximum side length of a map, in pixels: half pixels fit in 16 bits, whole pixels in a `Fixed`.
pub const MAP_SIZE_MAX_PX: u32 = 32_000;
/// Southern edge of the snow on a map of [`MAP_SIZE_PX`], in pixels from the top.
pub const SNOW_END_PX: u32 = 2_400;
/// Northern edge of the desert on a map of [`MAP_SIZE_PX`], in pixels from the top.
pub const DESERT_START_PX: u32 = 12_000;
/// Half of the river's width on a map of [`MAP_SIZE_PX`], in pixels. It flows across the middle.
pub const RIVER_HALF_PX: u32 = 362;
/// Number of areas along one side of a map of [`MAP_SIZE_PX`].
pub const AREAS_PER_SIDE: u32 = 7;
/// Trees in each area.
pub const TREES_PER_AREA: u32 = 9;
/// Bushes in each area.
pub const BUSHES_PER_AREA: u32 = 3;
/// Rocks on a map of [`MAP_SIZE_PX`]; on other sizes in proportion to the area, at least one.
pub const ROCKS: u32 = 32;
/// Gold on a map of [`MAP_SIZE_PX`]; on other sizes in proportion to the area, at least one.
pub const GOLD: u32 = 7;
/// Radii of the pictures of trees, pixels.
pub const TREE_SCALES_PX: [i32; 4] = [150, 160, 165, 175];
/// Radii of the pictures of bushes, pixels.
pub const BUSH_SCALES_PX: [i32; 3] = [80, 85, 95];
/// Radii of the pictures of rocks and gold, pixels.
pub const ROCK_SCALES_PX: [i32; 3] = [80, 85, 90];
/// Solid radius of a tree or a bush, in hundredths of its picture's radius; rock and gold are
/// entirely solid.
pub const LEAF_RADIUS_PERCENT: i32 = 60;
/// Minimum distance between the rims of two scenery objects, and between them and the edge, in
/// pixels. It is more than a player's width, so a body never touches two of them at once and cannot
/// be wedged in.
pub const SCENERY_GAP_PX: i32 = 80;
/// Maximum radius of the picture of a scenery object, in pixels.
pub const SCENERY_SCALE_MAX_PX: i32 = 175;

// ---- players -------------------------------------------------------------------------------------------------

/// Radius of a player, pixels.
pub const PLAYER_RADIUS_PX: i32 = 35;
/// Health of a new player, in points.
pub const PLAYER_HEALTH: u16 = 100;
/// Speed of a player that walks freely, in pixels per second, as follows from MooMoo.io's constants
/// at 9 ticks a second.
pub const SPEED_PX_PER_S: u32 = 328;
/// A standing player slower than this is considered at rest, in pixels per second.
pub const REST_PX_PER_S: u32 = 10;
/// Friction: the share of the speed that remains after each millisecond, in thousandths.
pub const FRICTION_PER_MS_MILLI: u32 = 993;
/// Contact: the share of the speed that remains after each ninth of a second of contact with
/// scenery, in hundredths.
pub const CONTACT_PER_NINTH_PERCENT: u32 = 75;
/// Maximum distance that a body moves between two collision checks, in pixels. Less than the radius
/// of the smallest obstacle.
pub const SUB_STEP_PX: i32 = 40;
/// Maximum speed along one axis, in pixels per tick. Nothing in the game comes near it; it limits
/// the sub-steps of a tick.
pub const VELOCITY_MAX_PX: i32 = 320;

// ---- snow and river --------------------------------------------------------------------------------------------

/// Speed of walking in snow, in hundredths of the normal speed.
pub const SNOW_SPEED_PERCENT: i32 = 75;
/// Speed of walking in the river, in hundredths of the normal speed.
pub const RIVER_SPEED_PERCENT: i32 = 33;
/// The current, which carries everyone in the river to the right, in sixteenths of the acceleration
/// of free walking, because MooMoo.io's values are 0.0011 and 0.0016. It drifts at 225 pixels per
/// second.
pub const CURRENT_SIXTEENTHS: i32 = 11;

// ---- what is gathered ----------------------------------------------------------------------------------------

/// The resources. The numbers are those of the wire, and of the scenery that gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// From trees.
    Wood = 0,
    /// From bushes.
    Food = 1,
    /// From rocks.
    Stone = 2,
    /// From gold.
    Gold = 3,
}

impl Resource {
    /// All resources, in order of their numbers.
    pub const ALL: [Resource; 4] = [Resource::Wood, Resource::Food, Resource::Stone, Resource::Gold];

    /// The resource with that number.
    pub fn from_number(number: u8) -> Option<Resource> {
        Resource::ALL.get(usize::from(number)).copied()
    }
}

/// Amount of each resource for a new player that requests it, as MooMoo.io clients can.
pub const MOOFOLL_GIFT: u32 = 100;
/// Experience for each unit that a weapon gathers with a hit.
pub const GATHER_XP: u32 = 4;
/// Additional gold for a hit, beyond what the weapon gathers.
pub const GOLD_EXTRA: u32 = 4;

// ---- fighting ------------------------------------------------------------------------------------------------

/// Half of the arc of a swing, in 1/65,536 of a turn: a turn / 5.2, which is pi / 2.6.
pub const ARC: u16 = 12_603;
/// Size of a player as a target of a swing, in hundredths of its radius.
pub const TARGET_PERCENT: i32 = 180;
/// Knockback of a swing, away from the attacker, in pixels per second.
pub const KNOCK_PX_PER_S: i32 = 300;
/// Slowness at which no speed remains. Slowness is counted in these parts; 8 of them are lost in a
/// third of a millisecond, which is 0.0008 of the whole per millisecond.
pub const SLOW_WHOLE: u16 = 30_000;
/// Slowness lost in a third of a millisecond.
pub const SLOW_RECOVERY: u16 = 8;
/// Maximum slowness: three tenths of the speed always remain, so that a player that keeps swinging
/// can still walk.
pub const MAX_SLOWNESS: u16 = 21_000;
/// Time from the last damage until health begins to regenerate, in milliseconds.
pub const HEAL_DELAY_MS: u16 = 5_000;
/// Time for regenerating one health point, in milliseconds.
pub const HEAL_PERIOD_MS: u16 = 1_000;
/// Gold for killing a player, for each age of the victim.
pub const KILL_GOLD: u32 = 100;

// ---- items ---------------------------------------------------------------------------------------------------

/// Speed of a player that holds an item, in hundredths of the normal speed.
pub const ITEM_SPEED_PERCENT: i32 = 50;
/// Maximum radius of a structure's picture, in pixels.
pub const BUILT_SCALE_MAX_PX: i32 = 52;
/// Minimum time between two damages by touch, in milliseconds.
pub const TOUCH_PERIOD_MS: u16 = 200;
/// Knockback of spikes, in pixels per second.
pub const SPIKE_KNOCK_PX_PER_S: i32 = 1_500;
/// Speed of a player on a boost pad, in the pad's direction, in pixels per second.
pub const BOOST_PX_PER_S: i32 = 1_500;
/// Time for regenerating one point on a healing pad, in thirds of a millisecond: 15 a second.
pub const PAD_HEAL_THIRDS: u16 = 200;

// ---- animals -------------------------------------------------------------------------------------------------

/// Maximum number of animals, including dead ones that will respawn: more than nature places on the
/// largest map, and few enough that a tick in which all of them hunt stays within its budget.
pub const MAX_ANIMALS: usize = 256;
/// Maximum number of structures spawned by the operator: enough for a town, and fewer than players
/// may build.
pub const MAX_SPAWNED: usize = 512;
/// Radius of the largest animal, in pixels. No body is larger.
pub const ANIMAL_RADIUS_MAX_PX: i32 = 84;
/// Time between two looks of an animal, in milliseconds. Animals do not look in the same tick.
pub const ANIMAL_SENSE_PERIOD_MS: u16 = 250;
/// Minimum and maximum time for which an animal wanders, in milliseconds.
pub const WALK_MS: [i32; 2] = [2_000, 4_000];
/// Minimum and maximum time for which an animal stands, in milliseconds.
pub const STAND_MS: [i32; 2] = [3_000, 10_000];
/// Distance at which a wandering animal notices the end of its biome, in pixels: more than it walks
/// between two looks.
pub const BIOME_LOOKAHEAD_PX: i32 = 150;
/// Time for which an animal flees, in milliseconds.
pub const FLEE_MS: u16 = 3_000;
/// Speed of a fleeing animal, in hundredths of its wandering speed.
pub const FLEE_PERCENT: u32 = 150;
/// Speed of a hunting animal, in hundredths of its wandering speed: slightly above a player's
/// speed.
pub const HUNT_PERCENT: u32 = 175;
/// Distance within which an animal begins to hunt a player, in pixels between the centres.
pub const HUNT_BEGIN_PX: i32 = 800;
/// Distance at which the prey has escaped, in pixels between the centres.
pub const HUNT_END_PX: i32 = 1_000;
/// Time without an attack after which an animal ends its hunt, in milliseconds, so that it does not
/// besiege unreachable prey.
pub const HUNT_MS: u16 = 10_000;
/// Attack range of a hunting animal, in pixels between the rims.
pub const STRIKE_PX: i32 = 30;
/// Time between two attacks of an animal, in milliseconds.
pub const STRIKE_PERIOD_MS: u16 = 1_000;
/// Knockback of an animal's attack, in pixels per second: it moves the prey by about 17 px, so that
/// five attacks in a row do not carry away a standing player.
pub const STRIKE_KNOCK_PX_PER_S: i32 = 120;
/// Time from the death of a natural animal to its respawn, in milliseconds.
pub const ANIMAL_RESPAWN_MS: u16 = 30_000;
/// Time until the next attempt if its biome had no space for it, in milliseconds.
pub const ANIMAL_RESPAWN_RETRY_MS: u16 = 1_000;
/// Positions tried for an animal in one attempt.
pub const ANIMAL_RESPAWN_ATTEMPTS: u32 = 32;
/// Minimum distance between a spawning animal and any player, in pixels between the centres, so
/// that it does not attack at once.
pub const ANIMAL_RESPAWN_CLEARANCE_PX: i32 = 400;
// ---- shooting ------------------------------------------------------------------------------------------------

/// Maximum number of projectiles; while it is reached, nobody can shoot. It suffices for over a
/// thousand players who shoot continuously with the fastest weapon. Each projectile costs a
/// collision check along its path in each tick.
pub const MAX_SHOTS: usize = 4_096;
/// Half of the arc that a shield covers, in 1/65,536 of a turn: a turn / 6, which is pi / 3.
pub const SHIELD_ARC: u16 = 10_923;
/// The projectile of a turret: a number of [`PROJECTILES`].
pub const TURRET_SHOOTS: u8 = 1;
/// Distance from a turret's centre within which it sees the centre of a player, in pixels: its
/// range.
pub const TURRET_RANGE_PX: i32 = 700;
/// Time between two shots of a turret, in milliseconds.
pub const TURRET_PERIOD_MS: u16 = 2_200;
/// Time until a turret that saw no enemy looks again, in milliseconds. It is a whole number of
/// ticks at each tick rate, like the time between shots.
pub const TURRET_SENSE_PERIOD_MS: u16 = 200;
/// Damage of poison each time, in health points.
pub const POISON_DAMAGE: u16 = 5;
/// Time from the touch to the first damage by poison, and between two damages, in milliseconds.
pub const POISON_PERIOD_MS: u16 = 1_000;
/// Number of damages by poison after a touch.
pub const POISON_DOSES: u8 = 5;

// ---- spawning ------------------------------------------------------------------------------------------------

/// Maximum horizontal distance at which a player spawns near another, in pixels: on the same
/// screen.
pub const SPAWN_NEAR_X_PX: i32 = 600;
/// Maximum vertical distance at which a player spawns near another, in pixels: on the same screen.
pub const SPAWN_NEAR_Y_PX: i32 = 400;
/// Number of players in the view around a position from which on no more players spawn there.
pub const SPAWN_CROWD: usize = 20;
/// Half the width of the view in which these players are counted, in pixels.
pub const SPAWN_VIEW_X_PX: i32 = 1_248;
/// Half the height of the view in which these players are counted, in pixels.
pub const SPAWN_VIEW_Y_PX: i32 = 702;
/// Minimum distance between a new player's centre and the rim of any other entity, in pixels.
pub const SPAWN_CLEARANCE_PX: i32 = 60;
/// Minimum distance between a new player's centre and that of any animal that hunts, in pixels, so
/// that nobody is attacked while spawning.
pub const SPAWN_HUNTER_ROOM_PX: i32 = 400;
/// Positions near other players that are tried before positions anywhere.
pub const SPAWN_TRIES: u32 = 12;

// ---- tick rates ----------------------------------------------------------------------------------------------

/// The tick rates that have constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TickHz {
    /// 15 ticks per second.
    Hz15,
    /// 20 ticks per second.
    Hz20,
    /// 30 ticks per second, the server's default.
    Hz30,
    /// 60 ticks per second.
    Hz60,
}

/// The constants that depend on the tick rate. Unless stated otherwise, they have 16 binary places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// Ticks per second, as an integer.
    pub hz: u32,
    /// Length of a tick in thirds of a millisecond, as an integer.
    pub tick_thirds: u16,
    /// Added to the velocity in each tick of walking, in pixels per tick: `speed / hz * (1 -
    /// friction)`.
    pub acceleration: i32,
    /// The share of the velocity that remains after a tick: `0.993 ^ (1000 / hz)`.
    pub friction: i32,
    /// A standing player slower than this is considered at rest, in pixels per tick: `10 / hz`.
    pub rest: i32,
    /// The share of the velocity that remains after a tick of contact with scenery: `0.75 ^ (9 /
    /// hz)`.
    pub contact: i32,
}

scalar!(TickHz, 1, |value| u64::from(value.get()), |raw| TickHz::try_from(raw as u32).ok());

impl TickHz {
    /// All rates, slowest first.
    pub const ALL: [TickHz; 4] = [TickHz::Hz15, TickHz::Hz20, TickHz::Hz30, TickHz::Hz60];

    /// Ticks per second.
    pub const fn get(self) -> u32 {
        match self {
            TickHz::Hz15 => 15,
            TickHz::Hz20 => 20,
            TickHz::Hz30 => 30,
            TickHz::Hz60 => 60,
        }
    }

    /// The constants of this rate.
    pub const fn rates(self) -> Rates {
        let (acceleration, friction, rest, contact) = match self {
            TickHz::Hz15 => (535_875, 41_030, 43_691, 55_146),
            TickHz::Hz20 => (318_330, 46_126, 32_768, 57_578),
            TickHz::Hz30 => (149_582, 51_855, 21_845, 60_117),
            TickHz::Hz60 => (39_582, 58_295, 10_923, 62_768),
        };
        let hz = self.get();
        Rates { hz, tick_thirds: (3_000 / hz) as u16, acceleration, friction, rest, contact }
    }
}

impl TryFrom<u32> for TickHz {
    type Error = u32;

    /// The rate with that many ticks per second; returns the number if there is none.
    fn try_from(hz: u32) -> Result<TickHz, u32> {
        TickHz::ALL.into_iter().find(|rate| rate.get() == hz).ok_or(hz)
    }
}

/// Calls `put` with the version of the code and every constant of these rules that affects the
/// simulation.
pub(crate) fn visit_constants(mut put: impl FnMut(i64)) {
    put(i64::from(CODE_VERSION));
    for value in [NAME_CHARS, CHAT_CHARS, CLAN_CHARS, MAX_ANNOUNCEMENT_CHARS, SPAWN_CROWD]
        .into_iter()
        .chain([MAX_ANIMALS, MAX_SPAWNED, MAX_SHOTS, MAX_CLANS, MAX_CLAN_MEMBERS])
    {
        put(value as i64);
    }
    for value in [MAP_SIZE_PX, MAP_SIZE_MIN_PX, MAP_SIZE_MAX_PX, SNOW_END_PX, DESERT_START_PX, RIVER_HALF_PX]
        .into_iter()
        .chain([AREAS_PER_SIDE, TREES_PER_AREA, BUSHES_PER_AREA, ROCKS, GOLD, SPEED_PX_PER_S, REST_PX_PER_S])
        .chain([FRICTION_PER_MS_MILLI, CONTACT_PER_NINTH_PERCENT, SPAWN_TRIES])
        .chain([FLEE_PERCENT, HUNT_PERCENT, ANIMAL_RESPAWN_ATTEMPTS])
    {
        put(i64::from(value));
    }
    for value in [LEAF_RADIUS_PERCENT, SCENERY_GAP_PX, SCENERY_SCALE_MAX_PX, PLAYER_RADIUS_PX, SUB_STEP_PX]
        .into_iter()
        .chain([VELOCITY_MAX_PX, SPAWN_NEAR_X_PX, SPAWN_NEAR_Y_PX, SPAWN_VIEW_X_PX, SPAWN_VIEW_Y_PX])
        .chain([SPAWN_CLEARANCE_PX, SPAWN_HUNTER_ROOM_PX, i32::from(PLAYER_HEALTH)])
        .chain([
            SNOW_SPEED_PERCENT,
            RIVER_SPEED_PERCENT,
            CURRENT_SIXTEENTHS,
            BIOME_LOOKAHEAD_PX,
            HUNT_BEGIN_PX,
        ])
        .chain([HUNT_END_PX, STRIKE_PX, STRIKE_KNOCK_PX_PER_S, ANIMAL_RESPAWN_CLEARANCE_PX])
        .chain(WALK_MS)
        .chain(STAND_MS)
        .chain(TREE_SCALES_PX)
        .chain(BUSH_SCALES_PX)
        .chain(ROCK_SCALES_PX)
        .chain(trig::SINE_TABLE)
    {
        put(i64::from(value));
    }
    for value in [GATHER_XP, GOLD_EXTRA, KILL_GOLD].into_iter().chain(XP_STEPS) {
        put(i64::from(value));
    }
    for value in
        [ARC, SLOW_WHOLE, SLOW_RECOVERY, MAX_SLOWNESS, HEAL_DELAY_MS, HEAL_PERIOD_MS, TOUCH_PERIOD_MS]
            .into_iter()
            .chain([
                ANIMAL_SENSE_PERIOD_MS,
                FLEE_MS,
                HUNT_MS,
                STRIKE_PERIOD_MS,
                ANIMAL_RESPAWN_MS,
                ANIMAL_RESPAWN_RETRY_MS,
            ])
            .chain([SHIELD_ARC, TURRET_PERIOD_MS, TURRET_SENSE_PERIOD_MS, POISON_DAMAGE, POISON_PERIOD_MS])
            .chain([u16::from(TURRET_SHOOTS), u16::from(POISON_DOSES)])
    {
        put(i64::from(value));
    }
    for value in [FIRST_WEAPON, LAST_CHOICE_AGE, FIRST_CHOICE_AGE].into_iter().chain(FIRST_ITEMS) {
        put(i64::from(value));
    }
    for value in [TARGET_PERCENT, KNOCK_PX_PER_S, ITEM_SPEED_PERCENT, SPIKE_KNOCK_PX_PER_S, BOOST_PX_PER_S]
        .into_iter()
        .chain([i32::from(PAD_HEAL_THIRDS), TURRET_RANGE_PX])
        .chain(ANIMALS.iter().flat_map(AnimalSpecies::numbers))
        .chain(PROJECTILES.iter().flat_map(Projectile::numbers))
        .chain(WEAPONS.iter().flat_map(Weapon::numbers))
        .chain(ITEMS.iter().flat_map(Item::numbers))
        .chain(Group::ALL.map(|group| i32::from(group.limit())))
    {
        put(i64::from(value));
    }
    for rate in TickHz::ALL {
        let Rates { hz, tick_thirds, acceleration, friction, rest, contact } = rate.rates();
        for value in [hz as i32, i32::from(tick_thirds), acceleration, friction, rest, contact] {
            put(i64::from(value));
        }
    }
}

const _: () = {
    assert!(MAP_SIZE_MAX_PX * 2 <= 0xffff, "positions in half pixels must fit in 16 bits");
    assert!(MAP_SIZE_MIN_PX <= MAP_SIZE_PX && MAP_SIZE_PX <= MAP_SIZE_MAX_PX);
    assert!(SCENERY_GAP_PX > 2 * PLAYER_RADIUS_PX, "a player must fit between any two pieces of scenery");
    assert!(SPAWN_CLEARANCE_PX > PLAYER_RADIUS_PX, "a new player must not touch anything");
    assert!(
        thirds(HEAL_PERIOD_MS) >= TickHz::Hz15.rates().tick_thirds,
        "at most one point of health may heal in a tick"
    );
    assert!(
        PAD_HEAL_THIRDS >= TickHz::Hz15.rates().tick_thirds,
        "at most one point of health may heal in a tick on a healing pad"
    );
    assert!(
        thirds(POISON_PERIOD_MS) >= TickHz::Hz15.rates().tick_thirds,
        "poison may hurt at most once in a tick"
    );
    assert!(MAX_SLOWNESS < SLOW_WHOLE, "slowing must not stop a player");
    let [cow, pig, bull, wolf] = &ANIMALS;
    assert!(cow.radius_px <= ANIMAL_RADIUS_MAX_PX && pig.radius_px <= ANIMAL_RADIUS_MAX_PX);
    assert!(bull.radius_px <= ANIMAL_RADIUS_MAX_PX && wolf.radius_px <= ANIMAL_RADIUS_MAX_PX);
    assert!(PLAYER_RADIUS_PX <= ANIMAL_RADIUS_MAX_PX && SPAWN_CLEARANCE_PX <= ANIMAL_RADIUS_MAX_PX);
    assert!(HUNT_BEGIN_PX <= HUNT_END_PX, "a hunt must not end in the tick in which it begins");
    assert!(
        thirds(ANIMAL_SENSE_PERIOD_MS) >= TickHz::Hz15.rates().tick_thirds,
        "an animal may look around at most once in a tick"
    );
    assert!(SUB_STEP_PX < PLAYER_RADIUS_PX + BUSH_SCALES_PX[0] * LEAF_RADIUS_PERCENT / 100);
};
