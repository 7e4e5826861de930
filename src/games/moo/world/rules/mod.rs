//! Every constant of the game with its unit, and the values derived from it for each tick rate.
//!
//! All values are integers. Values that need fractions were computed once and are listed as
//! results; a test computes them again.
//!
//! The values match MooMoo.io, measured at its 9 ticks per second. In MooMoo.io the speed of a
//! player depends on the length of a tick; here it does not. The constants of each tick rate are
//! chosen such that walking follows the same curve, sampled more or less often.

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

/// Incremented with each change of the world's behaviour. It is part of
/// [`rules_hash`](crate::rules_hash()), so that an old recording or an outdated browser is detected
/// instead of computing a different world.
pub const CODE_VERSION: u32 = 6;

// ---- texts ----

/// Maximum length of a name, in characters.
pub const NAME_CHARS: usize = 15;
/// Maximum length of a chat message, in characters.
pub const CHAT_CHARS: usize = 30;
/// Maximum length of a clan's name, in characters.
pub const CLAN_CHARS: usize = 7;
/// Maximum number of clans. Each client receives all clans in one message.
pub const MAX_CLANS: usize = 200;
/// Maximum number of members of a clan. Each member receives all members in one message.
pub const MAX_CLAN_MEMBERS: usize = 50;
/// Maximum length of an operator message, in characters. A message of this length fits in a command
/// frame, regardless of its characters.
pub const MAX_ANNOUNCEMENT_CHARS: usize = 60;

// ---- map ----

/// Default side length of the map, in pixels. The values below that depend on the size of the map
/// are given for this size.
pub const MAP_SIZE_PX: u32 = 14_400;
/// Minimum side length of a map, in pixels: one area, with enough space for its scenery.
pub const MAP_SIZE_MIN_PX: u32 = 1_440;
/// Maximum side length of a map, in pixels, so that half pixels fit in 16 bits and whole pixels in
/// a `Fixed`.
pub const MAP_SIZE_MAX_PX: u32 = 32_000;
/// Southern edge of the snow on a map of [`MAP_SIZE_PX`], in pixels from the top.
pub const SNOW_END_PX: u32 = 2_400;
/// Northern edge of the desert on a map of [`MAP_SIZE_PX`], in pixels from the top.
pub const DESERT_START_PX: u32 = 12_000;
/// Half of the river's width on a map of [`MAP_SIZE_PX`], in pixels. The river crosses the middle.
pub const RIVER_HALF_PX: u32 = 362;
/// Number of areas along one side of a map of [`MAP_SIZE_PX`].
pub const AREAS_PER_SIDE: u32 = 7;
/// Trees in each area.
pub const TREES_PER_AREA: u32 = 9;
/// Bushes in each area.
pub const BUSHES_PER_AREA: u32 = 3;
/// Rocks on a map of [`MAP_SIZE_PX`]. For other sizes, the number is proportional to the area, and
/// at least one.
pub const ROCKS: u32 = 32;
/// Gold deposits on a map of [`MAP_SIZE_PX`]. For other sizes, the number is proportional to the
/// area, and at least one.
pub const GOLD: u32 = 7;
/// Radii of the drawn images of trees, in pixels.
pub const TREE_SCALES_PX: [i32; 4] = [150, 160, 165, 175];
/// Radii of the drawn images of bushes, in pixels.
pub const BUSH_SCALES_PX: [i32; 3] = [80, 85, 95];
/// Radii of the drawn images of rocks and gold, in pixels.
pub const ROCK_SCALES_PX: [i32; 3] = [80, 85, 90];
/// Solid radius of a tree or bush, in percent of its image's radius. Rocks and gold are entirely
/// solid.
pub const LEAF_RADIUS_PERCENT: i32 = 60;
/// Minimum distance between the rims of two scenery objects, and between a rim and the edge of the
/// map, in pixels. It exceeds a player's width, so a player never touches two objects at once and
/// cannot be wedged in.
pub const SCENERY_GAP_PX: i32 = 80;
/// Maximum radius of the drawn image of a scenery object, in pixels.
pub const SCENERY_SCALE_MAX_PX: i32 = 175;

// ---- players ----

/// Radius of a player, in pixels.
pub const PLAYER_RADIUS_PX: i32 = 35;
/// Initial health of a player, in points.
pub const PLAYER_HEALTH: u16 = 100;
/// Walking speed of a player without a load, in pixels per second. It follows from MooMoo.io's
/// constants at 9 ticks per second.
pub const SPEED_PX_PER_S: u32 = 328;
/// Speed below which a standing player comes to rest, in pixels per second.
pub const REST_PX_PER_S: u32 = 10;
/// Share of the velocity that friction leaves after each millisecond, in thousandths.
pub const FRICTION_PER_MS_MILLI: u32 = 993;
/// Share of the velocity that remains after each ninth of a second of contact with scenery, in
/// percent.
pub const CONTACT_PER_NINTH_PERCENT: u32 = 75;
/// Maximum distance that a body moves between two collision checks, in pixels. It is less than the
/// radius of the smallest obstacle.
pub const SUB_STEP_PX: i32 = 40;
/// Maximum speed along one axis, in pixels per tick. Limits the number of sub-steps in a tick. No
/// speed in the game comes near this limit.
pub const VELOCITY_MAX_PX: i32 = 320;

// ---- snow and river ----

/// Walking speed in snow, in percent of the normal speed.
pub const SNOW_SPEED_PERCENT: i32 = 75;
/// Walking speed in the river, in percent of the normal speed.
pub const RIVER_SPEED_PERCENT: i32 = 33;
/// Acceleration of the current, which carries bodies in the river to the right, in sixteenths of
/// the walking acceleration. In MooMoo.io the two accelerations are 0.0011 and 0.0016. A drifting
/// body reaches 225 pixels per second.
pub const CURRENT_SIXTEENTHS: i32 = 11;

// ---- gathering ----

/// The resources. The numbers are also used on the wire, and equal the numbers of the scenery kinds
/// that yield them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// Gathered from trees.
    Wood = 0,
    /// Gathered from bushes.
    Food = 1,
    /// Gathered from rocks.
    Stone = 2,
    /// Gathered from gold deposits.
    Gold = 3,
}

impl Resource {
    /// All resources, in ascending order of their numbers.
    pub const ALL: [Resource; 4] = [Resource::Wood, Resource::Food, Resource::Stone, Resource::Gold];

    /// The resource with this number.
    pub fn from_number(number: u8) -> Option<Resource> {
        Resource::ALL.get(usize::from(number)).copied()
    }
}

/// Amount of each resource that a new player receives if its client requests resources, as
/// MooMoo.io clients can.
pub const MOOFOLL_GIFT: u32 = 100;
/// Experience for each unit gathered.
pub const GATHER_XP: u32 = 4;
/// Additional gold for each hit on a gold deposit.
pub const GOLD_EXTRA: u32 = 4;

// ---- fighting ----

/// Half of the arc of a swing, in 1/65,536 of a turn: a turn / 5.2, which is pi / 2.6.
pub const ARC: u16 = 12_603;
/// Size of a player as a target of a swing, in percent of its radius.
pub const TARGET_PERCENT: i32 = 180;
/// Knockback of a swing, away from the attacker, in pixels per second.
pub const KNOCK_PX_PER_S: i32 = 300;
/// Slowness at which no speed remains. The unit is chosen such that the recovery of 0.0008 per
/// millisecond is an integer number of parts per third of a millisecond.
pub const SLOW_WHOLE: u16 = 30_000;
/// Slowness lost per third of a millisecond.
pub const SLOW_RECOVERY: u16 = 8;
/// Maximum slowness. Three tenths of the speed always remain, so that a player can walk while it
/// keeps swinging.
pub const MAX_SLOWNESS: u16 = 21_000;
/// Time from the last damage until health starts to regenerate, in milliseconds.
pub const HEAL_DELAY_MS: u16 = 5_000;
/// Time in which one health point regenerates, in milliseconds.
pub const HEAL_PERIOD_MS: u16 = 1_000;
/// Gold for killing a player, per age of the victim.
pub const KILL_GOLD: u32 = 100;
/// Duration of the spawn protection, in milliseconds: a whole number of ticks at each tick rate. In
/// this time nothing hurts a player that has joined or respawned, unless the player attacks.
pub const SPAWN_PROTECTION_MS: u16 = 5_000;

// ---- items ----

/// Walking speed of a player with an item in its hand, in percent of the normal speed.
pub const ITEM_SPEED_PERCENT: i32 = 50;
/// Maximum radius of the drawn image of a structure, in pixels.
pub const BUILT_SCALE_MAX_PX: i32 = 52;
/// Minimum time between two damages by contact with spikes, in milliseconds.
pub const TOUCH_PERIOD_MS: u16 = 200;
/// Knockback of spikes, in pixels per second.
pub const SPIKE_KNOCK_PX_PER_S: i32 = 1_500;
/// Speed of a player on a boost pad, in the pad's direction, in pixels per second.
pub const BOOST_PX_PER_S: i32 = 1_500;
/// Time in which one health point regenerates on a healing pad, in thirds of a millisecond: 15
/// points per second.
pub const PAD_HEAL_THIRDS: u16 = 200;

// ---- animals ----

/// Maximum number of animals, including dead animals that will respawn. The limit exceeds the
/// number of animals on the largest map. It is low enough for the time limit of a tick in which all
/// animals hunt.
pub const MAX_ANIMALS: usize = 256;
/// Maximum number of structures spawned by the operator. It is less than players may build.
pub const MAX_SPAWNED: usize = 512;
/// Radius of the largest animal, in pixels. No body is larger.
pub const ANIMAL_RADIUS_MAX_PX: i32 = 84;
/// Interval at which an animal looks around, in milliseconds. Different animals look in different
/// ticks.
pub const ANIMAL_SENSE_PERIOD_MS: u16 = 250;
/// Minimum and maximum duration of a walk of a wandering animal, in milliseconds.
pub const WALK_MS: [i32; 2] = [2_000, 4_000];
/// Minimum and maximum time for which an animal stands, in milliseconds.
pub const STAND_MS: [i32; 2] = [3_000, 10_000];
/// Distance at which a wandering animal notices the end of its biome, in pixels. It is more than
/// the animal walks between two looks.
pub const BIOME_LOOKAHEAD_PX: i32 = 150;
/// Time for which an animal flees, in milliseconds.
pub const FLEE_MS: u16 = 3_000;
/// Speed of a fleeing animal, in percent of its wandering speed.
pub const FLEE_PERCENT: u32 = 150;
/// Speed of a hunting animal, in percent of its wandering speed. The result is slightly above a
/// player's speed.
pub const HUNT_PERCENT: u32 = 175;
/// Distance within which an animal starts to hunt a player, in pixels between the centres.
pub const HUNT_BEGIN_PX: i32 = 800;
/// Distance at which the prey has escaped, in pixels between the centres.
pub const HUNT_END_PX: i32 = 1_000;
/// Time without a successful attack after which an animal ends its hunt, in milliseconds. It
/// prevents animals from waiting near unreachable prey.
pub const HUNT_MS: u16 = 10_000;
/// Attack range of a hunting animal, in pixels between the edges of the two bodies.
pub const STRIKE_PX: i32 = 30;
/// Minimum time between two attacks of an animal, in milliseconds.
pub const STRIKE_PERIOD_MS: u16 = 1_000;
/// Knockback of an animal's attack, in pixels per second. It moves the prey by about 17 px, so that
/// five attacks in a row do not carry a standing player away.
pub const STRIKE_KNOCK_PX_PER_S: i32 = 120;
/// Time from the death of a natural animal to its respawn, in milliseconds.
pub const ANIMAL_RESPAWN_MS: u16 = 30_000;
/// Time until the next respawn attempt if the biome had no free space, in milliseconds.
pub const ANIMAL_RESPAWN_RETRY_MS: u16 = 1_000;
/// Positions tried in one respawn attempt.
pub const ANIMAL_RESPAWN_ATTEMPTS: u32 = 32;
/// Minimum distance between a spawning animal and any player, in pixels between the centres, so
/// that the animal does not attack immediately.
pub const ANIMAL_RESPAWN_CLEARANCE_PX: i32 = 400;
// ---- shooting ----

/// Maximum number of projectiles. At this limit, no player or turret can shoot. The limit suffices
/// for over a thousand players that shoot continuously with the fastest weapon. Each projectile
/// costs a collision check along its path in each tick.
pub const MAX_SHOTS: usize = 4_096;
/// Half of the arc that a shield covers, in 1/65,536 of a turn: a turn / 6, which is pi / 3.
pub const SHIELD_ARC: u16 = 10_923;
/// The projectile of a turret: an ID of [`PROJECTILES`].
pub const TURRET_SHOOTS: u8 = 1;
/// Range of a turret, in pixels between its centre and the centre of a player.
pub const TURRET_RANGE_PX: i32 = 700;
/// Time between two shots of a turret, in milliseconds.
pub const TURRET_PERIOD_MS: u16 = 2_200;
/// Time until a turret without a target looks again, in milliseconds. Like the time between shots,
/// it is a whole number of ticks at each tick rate.
pub const TURRET_SENSE_PERIOD_MS: u16 = 200;
/// Damage of each dose of poison, in health points.
pub const POISON_DAMAGE: u16 = 5;
/// Time from the contact to the first dose of poison, and between two doses, in milliseconds.
pub const POISON_PERIOD_MS: u16 = 1_000;
/// Number of doses of poison after a contact.
pub const POISON_DOSES: u8 = 5;

// ---- spawning ----

/// Maximum horizontal distance at which a player spawns near another, in pixels, so that both are
/// on the same screen.
pub const SPAWN_NEAR_X_PX: i32 = 600;
/// Maximum vertical distance at which a player spawns near another, in pixels.
pub const SPAWN_NEAR_Y_PX: i32 = 400;
/// A position with this many players around it counts as crowded.
pub const SPAWN_CROWD: usize = 20;
/// Half the width of the rectangle around a position in which players are counted, in pixels.
pub const SPAWN_VIEW_X_PX: i32 = 1_248;
/// Half the height of the rectangle around a position in which players are counted, in pixels.
pub const SPAWN_VIEW_Y_PX: i32 = 702;
/// Minimum distance between a new player's centre and the rim of any other entity, in pixels.
pub const SPAWN_CLEARANCE_PX: i32 = 60;
/// Minimum distance between a new player's centre and the centre of any animal that hunts, in
/// pixels, so that no player is attacked while it spawns.
pub const SPAWN_HUNTER_ROOM_PX: i32 = 400;
/// Positions tried near other players before the rest of the map is tried.
pub const SPAWN_TRIES: u32 = 12;

// ---- tick rates ----

/// The supported tick rates.
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
    /// Velocity added in each tick of walking, in pixels per tick: `speed / hz * (1 - friction)`.
    pub acceleration: i32,
    /// Share of the velocity that remains after a tick: `0.993 ^ (1000 / hz)`.
    pub friction: i32,
    /// Speed below which a standing player comes to rest, in pixels per tick: `10 / hz`.
    pub rest: i32,
    /// Share of the velocity that remains after a tick of contact with scenery: `0.75 ^ (9 / hz)`.
    pub contact: i32,
}

scalar!(TickHz, 1, |value| u64::from(value.get()), |raw| TickHz::try_from(raw as u32).ok());

impl TickHz {
    /// All tick rates, in ascending order.
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

    /// The constants of this tick rate.
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

    /// Returns the tick rate, or the number itself if it is not supported.
    fn try_from(hz: u32) -> Result<TickHz, u32> {
        TickHz::ALL.into_iter().find(|rate| rate.get() == hz).ok_or(hz)
    }
}

/// Calls `put` with the code version and every constant of these rules that affects the simulation.
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
            .chain([SPAWN_PROTECTION_MS])
            .chain([u16::from(TURRET_SHOOTS), u16::from(POISON_DOSES)])
    {
        put(i64::from(value));
    }
    for value in [FIRST_WEAPON, LAST_CHOICE_AGE, FIRST_CHOICE_AGE].into_iter().chain(FIRST_ITEMS) {
        put(i64::from(value));
    }
    visit_tables(&mut put);
}

/// Calls `put` with the constants of the tables and of every tick rate.
fn visit_tables(put: &mut impl FnMut(i64)) {
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
