//! Every constant of the game, with its unit, and what follows from it for each tick rate.
//!
//! Comes in: a tick rate. Goes out: whole numbers. Never: a computation with fractions. What needs one was computed once
//! and is committed here; a test computes it again.
//!
//! The values are those of MooMoo.io, measured at its own 9 ticks a second. There the speed of a player depends on the
//! length of a tick; here it must not. So the constants per rate are chosen such that walking is the same curve, sampled
//! more or less often.

use crate::checksum::Checksum;
use crate::fields::{scalar, Sink};
use crate::trig;

mod ages;
mod animals;
mod biome;
mod items;
mod projectiles;
mod time;
mod weapons;

pub use ages::{xp_next, CHOICE_ITEMS, FIRST_CHOICE_AGE, LAST_CHOICE_AGE, MAX_AGE, XP_STEPS};
pub use animals::{Animal, AnimalKind, ANIMALS};
pub use biome::Biome;
pub use items::{item, Group, Item, FIRST_ITEMS, GROUPS, ITEMS};
pub use projectiles::{projectile, Projectile, PROJECTILES};
pub use time::thirds;
pub(crate) use weapons::weapon_or_first;
pub use weapons::{weapon, Weapon, FIRST_WEAPON, WEAPONS};

/// Raised with each change of what the world does. Part of [`code_hash`], so that an old recording or a stale browser is
/// told apart instead of drifting apart.
pub const CODE_VERSION: u32 = 5;

// ---- texts ---------------------------------------------------------------------------------------------------

/// Characters of a name.
pub const NAME_CHARS: usize = 15;
/// Characters of a chat line.
pub const CHAT_CHARS: usize = 30;
/// Characters of a clan's name.
pub const CLAN_CHARS: usize = 7;
/// Clans at once: each client is told of all of them, in one message.
pub const CLANS_MOST: usize = 200;
/// Members of a clan: each of them is told of all of them, in one message.
pub const CLAN_MEMBERS_MOST: usize = 50;
/// Characters of what the operator tells everyone: all of them fit a command frame, however long each is.
pub const SAY_CHARS: usize = 60;

// ---- map -----------------------------------------------------------------------------------------------------

/// Side of the map unless the operator says otherwise, pixels. Everything below that scales does so from this size.
pub const MAP_SIZE_PX: u32 = 14_400;
/// Smallest side of a map, pixels: one area still has room for what grows in it.
pub const MAP_SIZE_MIN_PX: u32 = 1_440;
/// Largest side of a map, pixels: half pixels of it fit in 16 bits, whole ones in a `Fixed`.
pub const MAP_SIZE_MAX_PX: u32 = 32_000;
/// The snow reaches down to here on a map of [`MAP_SIZE_PX`], pixels from the top.
pub const SNOW_END_PX: u32 = 2_400;
/// The desert begins here on a map of [`MAP_SIZE_PX`], pixels from the top.
pub const DESERT_START_PX: u32 = 12_000;
/// Half of the river's width on a map of [`MAP_SIZE_PX`], pixels. It flows across the middle.
pub const RIVER_HALF_PX: u32 = 362;
/// Areas along one side of a map of [`MAP_SIZE_PX`].
pub const AREAS_PER_SIDE: u32 = 7;
/// Trees in each area.
pub const TREES_PER_AREA: u32 = 9;
/// Bushes in each area.
pub const BUSHES_PER_AREA: u32 = 3;
/// Rocks on a map of [`MAP_SIZE_PX`]; by its area on others, at least one.
pub const ROCKS: u32 = 32;
/// Gold on a map of [`MAP_SIZE_PX`]; by its area on others, at least one.
pub const GOLD: u32 = 7;
/// Radii of the pictures of trees, pixels.
pub const TREE_SCALES_PX: [i32; 4] = [150, 160, 165, 175];
/// Radii of the pictures of bushes, pixels.
pub const BUSH_SCALES_PX: [i32; 3] = [80, 85, 95];
/// Radii of the pictures of rocks and gold, pixels.
pub const ROCK_SCALES_PX: [i32; 3] = [80, 85, 90];
/// What one runs into of a tree or a bush, in hundredths of its picture; rock and gold are solid.
pub const LEAF_RADIUS_PERCENT: i32 = 60;
/// Room between the rims of two things of nature, and between them and the edge, pixels. More than a player is wide, so
/// that nobody can be wedged in: a body never touches two of them at once.
pub const SCENERY_GAP_PX: i32 = 80;
/// Largest radius of the picture of a thing of nature, pixels.
pub const SCENERY_SCALE_MAX_PX: i32 = 175;

// ---- players -------------------------------------------------------------------------------------------------

/// Radius of a player, pixels.
pub const PLAYER_RADIUS_PX: i32 = 35;
/// Health of a newcomer, points.
pub const PLAYER_HEALTH: u16 = 100;
/// Speed of a player that walks freely, pixels per second. It is what MooMoo.io's constants give at 9 ticks a second.
pub const SPEED_PX_PER_S: u32 = 328;
/// A standing player slower than this is at rest, pixels per second.
pub const REST_PX_PER_S: u32 = 10;
/// Friction: what is left of the speed after each millisecond, in thousandths.
pub const FRICTION_PER_MS_MILLI: u32 = 993;
/// Contact: what is left of the speed after each ninth of a second against a thing of nature, in hundredths.
pub const CONTACT_PER_NINTH_PERCENT: u32 = 75;
/// Longest way that a body goes before it is looked what it ran into, pixels. Less than the smallest thing's radius.
pub const SUB_STEP_PX: i32 = 40;
/// Largest speed along one axis, pixels per tick. Nothing in the game comes near; it bounds the sub-steps of a tick.
pub const VELOCITY_MAX_PX: i32 = 320;

// ---- snow and river --------------------------------------------------------------------------------------------

/// What the snow leaves of the speed of who walks in it, in hundredths.
pub const SNOW_SPEED_PERCENT: i32 = 75;
/// What the river leaves of the speed of who walks in it, in hundredths.
pub const RIVER_SPEED_PERCENT: i32 = 33;
/// The current, which carries everyone in the river to the right: in sixteenths of the acceleration of who walks freely,
/// since MooMoo.io's are 0.0011 and 0.0016. It drifts at 225 pixels per second.
pub const CURRENT_SIXTEENTHS: i32 = 11;

// ---- what is gathered ----------------------------------------------------------------------------------------

/// What a player can have. The numbers are those of the wire, and of the things of nature that give it.
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
    /// All of them, in the order of their numbers.
    pub const ALL: [Resource; 4] = [Resource::Wood, Resource::Food, Resource::Stone, Resource::Gold];

    /// The resource of that number.
    pub fn from_number(number: u8) -> Option<Resource> {
        Resource::ALL.get(usize::from(number)).copied()
    }
}

/// Of each resource so much is for a newcomer who asks for it, as clients of MooMoo.io can.
pub const MOOFOLL_GIFT: u32 = 100;
/// Experience for each unit that a weapon gathers at a stroke.
pub const GATHER_XP: u32 = 4;
/// Gold gained at a stroke beyond what the weapon gathers.
pub const GOLD_EXTRA: u32 = 4;

// ---- fighting ------------------------------------------------------------------------------------------------

/// Half of the arc in which a stroke lands, in parts of a turn of 65,536: a turn / 5.2, which is pi / 2.6.
pub const ARC: u16 = 12_603;
/// How large a player is for a stroke, in hundredths of its radius.
pub const TARGET_PERCENT: i32 = 180;
/// Speed that a stroke gives to whom it hits, away from who struck, pixels per second.
pub const KNOCK_PX_PER_S: i32 = 300;
/// Slowness when nothing is left of the speed. Slowness is counted in these parts, of which 8 go in a third of a
/// millisecond: the 0.0008 per millisecond of the whole.
pub const SLOW_WHOLE: u16 = 30_000;
/// Slowness that goes away in a third of a millisecond.
pub const SLOW_RECOVERY: u16 = 8;
/// Largest slowness: three tenths of the speed are always left, so that who swings on can still walk.
pub const SLOW_MOST: u16 = 21_000;
/// Time after the last harm until health begins to come back, milliseconds.
pub const HEAL_DELAY_MS: u16 = 5_000;
/// Time in which a point of health comes back, milliseconds.
pub const HEAL_PERIOD_MS: u16 = 1_000;
/// Gold for killing a player, for each age of the victim.
pub const KILL_GOLD: u32 = 100;

// ---- items ---------------------------------------------------------------------------------------------------

/// Speed of who holds an item, in hundredths of the usual.
pub const ITEM_SPEED_PERCENT: i32 = 50;
/// Largest radius of the picture of what is built, pixels.
pub const BUILT_SCALE_MAX_PX: i32 = 52;
/// Time from one harm by touch to the next, milliseconds.
pub const TOUCH_PERIOD_MS: u16 = 200;
/// Speed that spikes give to whom they hurt, away from them, pixels per second.
pub const SPIKE_KNOCK_PX_PER_S: i32 = 1_500;
/// Speed of who is on a boost pad, in its direction, pixels per second.
pub const BOOST_PX_PER_S: i32 = 1_500;
/// Time in which a point of health comes back on a healing pad, thirds of a millisecond: 15 a second.
pub const PAD_HEAL_THIRDS: u16 = 200;

// ---- animals -------------------------------------------------------------------------------------------------

/// Animals at most, dead ones that come back included: more than nature places on the largest map, and so few that a tick in
/// which all of them hunt keeps its budget.
pub const ANIMALS_MOST: usize = 256;
/// What stands and was let appear by the operator at most: enough for a town, and less to look through than what players
/// build.
pub const SPAWNED_MOST: usize = 512;
/// Radius of the largest animal, pixels. No body is larger.
pub const ANIMAL_RADIUS_MAX_PX: i32 = 84;
/// Time from one look around to the next, milliseconds. Animals do not look in the same tick.
pub const LOOK_PERIOD_MS: u16 = 250;
/// Time that an animal walks about, milliseconds: at least, at most.
pub const WALK_MS: [i32; 2] = [2_000, 4_000];
/// Time that an animal stands about, milliseconds: at least, at most.
pub const STAND_MS: [i32; 2] = [3_000, 10_000];
/// How far before it an animal that walks about sees its land end, pixels: more than it goes between two looks.
pub const FORESIGHT_PX: i32 = 150;
/// Time that an animal flees, milliseconds.
pub const FLEE_MS: u16 = 3_000;
/// Speed of an animal that flees, in hundredths of that at which it walks about.
pub const FLEE_PERCENT: u32 = 150;
/// Speed of an animal that hunts, in hundredths of that at which it walks about: a little above a player's.
pub const HUNT_PERCENT: u32 = 175;
/// How near a player must be to be hunted, pixels from centre to centre.
pub const HUNT_BEGIN_PX: i32 = 800;
/// How far from the hunter the prey has got away, pixels from centre to centre.
pub const HUNT_END_PX: i32 = 1_000;
/// Time without a stroke after which a hunter gives up, milliseconds: what it cannot reach, it does not besiege.
pub const HUNT_MS: u16 = 10_000;
/// How near its prey must be for a hunter to strike, pixels from rim to rim.
pub const STRIKE_PX: i32 = 30;
/// Time from one stroke of an animal to the next, milliseconds.
pub const STRIKE_PERIOD_MS: u16 = 1_000;
/// Speed that an animal's stroke gives to its prey, away from it, pixels per second: about 17 px of way, so that five strokes
/// in a row do not carry off a player that stands.
pub const STRIKE_KNOCK_PX_PER_S: i32 = 120;
/// Time after its death until an animal that nature placed comes back, milliseconds.
pub const RETURN_MS: u16 = 30_000;
/// Time until it is tried again when its land had no room for it, milliseconds.
pub const RETURN_AGAIN_MS: u16 = 1_000;
/// Places that are tried for an animal at a time.
pub const RETURN_TRIES: u32 = 32;
/// Room between an animal that appears by itself and any player, pixels from centre to centre: it does not strike at once.
pub const RETURN_ROOM_PX: i32 = 400;
// ---- shooting ------------------------------------------------------------------------------------------------

/// What flies at once before nobody shoots any more: what over a thousand players with the quickest weapon keep in the air.
/// Each costs a look along its way in each tick.
pub const SHOTS_MOST: usize = 4_096;
/// Half of the arc that a shield covers, in parts of a turn of 65,536: a turn / 6, which is pi / 3.
pub const SHIELD_ARC: u16 = 10_923;
/// What a turret shoots: a number of [`PROJECTILES`].
pub const TURRET_SHOOTS: u8 = 1;
/// How far from its centre a turret sees the centre of a player, pixels: as far as it shoots.
pub const TURRET_RANGE_PX: i32 = 700;
/// Time from one shot of a turret to the next, milliseconds.
pub const TURRET_PERIOD_MS: u16 = 2_200;
/// Time until a turret that saw nobody looks again, milliseconds. A whole number of ticks at each rate, as is its period.
pub const TURRET_LOOK_MS: u16 = 200;
/// Health points that poison takes each time.
pub const POISON_DAMAGE: u16 = 5;
/// Time from the touch to the first harm of poison, and from one to the next, milliseconds.
pub const POISON_PERIOD_MS: u16 = 1_000;
/// How many times poison hurts after a touch.
pub const POISON_DOSES: u8 = 5;

// ---- spawning ------------------------------------------------------------------------------------------------

/// How far to either side of somebody a newcomer may appear, pixels: on the same screen.
pub const SPAWN_NEAR_X_PX: i32 = 600;
/// How far above or below somebody a newcomer may appear, pixels: on the same screen.
pub const SPAWN_NEAR_Y_PX: i32 = 400;
/// Players in the view around a place from which on no more newcomers appear there.
pub const SPAWN_CROWD: usize = 20;
/// Half the width of the view in which the crowd is counted, pixels.
pub const SPAWN_VIEW_X_PX: i32 = 1_248;
/// Half the height of the view in which the crowd is counted, pixels.
pub const SPAWN_VIEW_Y_PX: i32 = 702;
/// Room between a newcomer's centre and everything else's rim, pixels.
pub const SPAWN_ROOM_PX: i32 = 60;
/// Room between a newcomer's centre and that of any animal that hunts, pixels: nobody is attacked while appearing.
pub const SPAWN_HUNTER_ROOM_PX: i32 = 400;
/// Places near others that are tried before any place will do.
pub const SPAWN_TRIES: u32 = 12;

// ---- tick rates ----------------------------------------------------------------------------------------------

/// The tick rates for which constants are committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TickHz {
    /// 15 ticks a second.
    Hz15,
    /// 20 ticks a second.
    Hz20,
    /// 30 ticks a second, the default of the server.
    Hz30,
    /// 60 ticks a second.
    Hz60,
}

/// What depends on the tick rate. Unless it says otherwise it has 16 binary places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// Ticks a second. Without binary places.
    pub hz: u32,
    /// Length of a tick, thirds of a millisecond. Without binary places.
    pub tick_thirds: u16,
    /// Added to the velocity each tick while walking, pixels per tick: `speed / hz * (1 - friction)`.
    pub acceleration: i32,
    /// What is left of the velocity after a tick: `0.993 ^ (1000 / hz)`.
    pub friction: i32,
    /// A standing player slower than this is at rest, pixels per tick: `10 / hz`.
    pub rest: i32,
    /// What is left of the velocity after a tick against a thing of nature: `0.75 ^ (9 / hz)`.
    pub contact: i32,
}

scalar!(TickHz, 1, |value| u64::from(value.get()), |raw| TickHz::try_from(raw as u32).ok());

impl TickHz {
    /// All of them, slowest first.
    pub const ALL: [TickHz; 4] = [TickHz::Hz15, TickHz::Hz20, TickHz::Hz30, TickHz::Hz60];

    /// Ticks a second.
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

    /// The rate of that many ticks a second; gives the number back when there is none.
    fn try_from(hz: u32) -> Result<TickHz, u32> {
        TickHz::ALL.into_iter().find(|rate| rate.get() == hz).ok_or(hz)
    }
}

/// A number for this code: its version and every constant that decides what happens. Worlds of equal numbers can follow
/// one another's commands.
pub fn code_hash() -> u64 {
    let mut hash = Checksum::new();
    let mut put = |value: i64| hash.put(value as u64, 8);
    put(i64::from(CODE_VERSION));
    for value in [NAME_CHARS, CHAT_CHARS, CLAN_CHARS, SAY_CHARS, SPAWN_CROWD].into_iter().chain([
        ANIMALS_MOST,
        SPAWNED_MOST,
        SHOTS_MOST,
        CLANS_MOST,
        CLAN_MEMBERS_MOST,
    ]) {
        put(value as i64);
    }
    for value in [MAP_SIZE_PX, MAP_SIZE_MIN_PX, MAP_SIZE_MAX_PX, SNOW_END_PX, DESERT_START_PX, RIVER_HALF_PX]
        .into_iter()
        .chain([AREAS_PER_SIDE, TREES_PER_AREA, BUSHES_PER_AREA, ROCKS, GOLD, SPEED_PX_PER_S, REST_PX_PER_S])
        .chain([FRICTION_PER_MS_MILLI, CONTACT_PER_NINTH_PERCENT, SPAWN_TRIES])
        .chain([FLEE_PERCENT, HUNT_PERCENT, RETURN_TRIES])
    {
        put(i64::from(value));
    }
    for value in [LEAF_RADIUS_PERCENT, SCENERY_GAP_PX, SCENERY_SCALE_MAX_PX, PLAYER_RADIUS_PX, SUB_STEP_PX]
        .into_iter()
        .chain([VELOCITY_MAX_PX, SPAWN_NEAR_X_PX, SPAWN_NEAR_Y_PX, SPAWN_VIEW_X_PX, SPAWN_VIEW_Y_PX])
        .chain([SPAWN_ROOM_PX, SPAWN_HUNTER_ROOM_PX, i32::from(PLAYER_HEALTH)])
        .chain([SNOW_SPEED_PERCENT, RIVER_SPEED_PERCENT, CURRENT_SIXTEENTHS, FORESIGHT_PX, HUNT_BEGIN_PX])
        .chain([HUNT_END_PX, STRIKE_PX, STRIKE_KNOCK_PX_PER_S, RETURN_ROOM_PX])
        .chain(WALK_MS)
        .chain(STAND_MS)
        .chain(TREE_SCALES_PX)
        .chain(BUSH_SCALES_PX)
        .chain(ROCK_SCALES_PX)
        .chain(trig::QUARTER)
    {
        put(i64::from(value));
    }
    for value in [GATHER_XP, GOLD_EXTRA, KILL_GOLD].into_iter().chain(XP_STEPS) {
        put(i64::from(value));
    }
    for value in [ARC, SLOW_WHOLE, SLOW_RECOVERY, SLOW_MOST, HEAL_DELAY_MS, HEAL_PERIOD_MS, TOUCH_PERIOD_MS]
        .into_iter()
        .chain([LOOK_PERIOD_MS, FLEE_MS, HUNT_MS, STRIKE_PERIOD_MS, RETURN_MS, RETURN_AGAIN_MS])
        .chain([SHIELD_ARC, TURRET_PERIOD_MS, TURRET_LOOK_MS, POISON_DAMAGE, POISON_PERIOD_MS])
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
        .chain(ANIMALS.iter().flat_map(Animal::numbers))
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
    hash.get()
}

const _: () = {
    assert!(MAP_SIZE_MAX_PX * 2 <= 0xffff, "half pixels of the map fit in 16 bits");
    assert!(MAP_SIZE_MIN_PX <= MAP_SIZE_PX && MAP_SIZE_PX <= MAP_SIZE_MAX_PX);
    assert!(SCENERY_GAP_PX > 2 * PLAYER_RADIUS_PX, "a player fits between any two things");
    assert!(SPAWN_ROOM_PX > PLAYER_RADIUS_PX, "a newcomer touches nothing");
    assert!(
        thirds(HEAL_PERIOD_MS) >= TickHz::Hz15.rates().tick_thirds,
        "no more than a point comes back in a tick"
    );
    assert!(PAD_HEAL_THIRDS >= TickHz::Hz15.rates().tick_thirds, "nor on a healing pad");
    assert!(thirds(POISON_PERIOD_MS) >= TickHz::Hz15.rates().tick_thirds, "poison hurts once in a tick");
    assert!(SLOW_MOST < SLOW_WHOLE, "nobody is slowed to a stand");
    let [cow, pig, bull, wolf] = &ANIMALS;
    assert!(cow.radius_px <= ANIMAL_RADIUS_MAX_PX && pig.radius_px <= ANIMAL_RADIUS_MAX_PX);
    assert!(bull.radius_px <= ANIMAL_RADIUS_MAX_PX && wolf.radius_px <= ANIMAL_RADIUS_MAX_PX);
    assert!(PLAYER_RADIUS_PX <= ANIMAL_RADIUS_MAX_PX && SPAWN_ROOM_PX <= ANIMAL_RADIUS_MAX_PX);
    assert!(HUNT_BEGIN_PX <= HUNT_END_PX, "no hunt ends as it begins");
    assert!(
        thirds(LOOK_PERIOD_MS) >= TickHz::Hz15.rates().tick_thirds,
        "no more than one look around in a tick"
    );
    assert!(SUB_STEP_PX < PLAYER_RADIUS_PX + BUSH_SCALES_PX[0] * LEAF_RADIUS_PERCENT / 100);
};
