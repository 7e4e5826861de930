//! The animal controller: walks in the direction that the animal has chosen.
//!
//! The controller does not depend on other entities. An animal's decisions depend on other
//! entities: `tick::animal_ai` makes them.

use crate::controller::walk::walk;
use crate::entity::{Body, PlayerId};
use crate::fields::{fields, Field, Malformed, Reader, Sink};
use crate::fixed::{Angle, Fixed};
use crate::rules::{self, AnimalKind, Rates};
use crate::terrain::Terrain;

/// The goal of an animal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mood {
    /// Walks and stands alternately.
    Wanders = 0,
    /// Stands and ignores players, after an unsuccessful hunt.
    Rests = 1,
    /// Flees from its attacker.
    Flees = 2,
    /// Chases its prey.
    Hunts = 3,
}

impl Mood {
    /// All moods, in ascending order of their numbers.
    pub const ALL: [Mood; 4] = [Mood::Wanders, Mood::Rests, Mood::Flees, Mood::Hunts];

    /// The speed, in percent of the wandering speed.
    pub const fn pace_percent(self) -> u32 {
        match self {
            Mood::Wanders | Mood::Rests => 100,
            Mood::Flees => rules::FLEE_PERCENT,
            Mood::Hunts => rules::HUNT_PERCENT,
        }
    }
}

impl Field for Mood {
    const MIN_BYTES: usize = 1;

    fn write(&self, sink: &mut impl Sink) {
        sink.put(*self as u64, 1);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Mood, Malformed> {
        Mood::ALL.get(reader.scalar(1)? as usize).copied().ok_or(Malformed::Value("mood"))
    }
}

/// The state of an animal. Timers are in thirds of a millisecond.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Animal {
    /// The kind of animal.
    pub kind: AnimalKind,
    /// Whether the world generated the animal. A natural animal respawns after death.
    pub natural: bool,
    /// The current goal.
    pub mood: Mood,
    /// The prey; `None` unless the animal hunts.
    pub prey: Option<PlayerId>,
    /// Direction of movement; `None` if the animal stands.
    pub direction: Option<Angle>,
    /// Time until the current goal ends. For a dead animal, the time until its respawn.
    pub wait: u32,
    /// Time until the animal looks around.
    pub sense_wait: u16,
    /// Time until the animal can attack.
    pub strike_wait: u16,
    /// Time until spikes can hurt the animal again.
    pub touch_wait: u16,
    /// Whether the animal is in a trap and cannot move.
    pub is_trapped: bool,
    /// Whether the animal was pushed or spawned in the last tick, so that its position must be
    /// checked.
    pub was_pushed: bool,
}

fields!(Animal:
    kind: AnimalKind,
    natural: bool,
    mood: Mood,
    prey: Option<PlayerId>,
    direction: Option<Angle>,
    wait: u32,
    sense_wait: u16,
    strike_wait: u16,
    touch_wait: u16,
    is_trapped: bool,
    was_pushed: bool,
);

impl Animal {
    /// A newly spawned animal, which stands for `wait`.
    pub(crate) fn new(kind: AnimalKind, natural: bool, wait: u32) -> Animal {
        Animal {
            kind,
            natural,
            mood: Mood::Wanders,
            prey: None,
            direction: None,
            wait,
            sense_wait: rules::thirds(rules::ANIMAL_SENSE_PERIOD_MS),
            strike_wait: 0,
            touch_wait: 0,
            is_trapped: false,
            was_pushed: true,
        }
    }

    /// Whether a tick would change nothing: the animal is dead, or it stands, is at rest, and was
    /// not pushed.
    pub fn is_asleep(&self, body: &Body) -> bool {
        let rests = self.direction.is_none() && body.vx.0 == 0 && body.vy.0 == 0;
        body.health == 0 || rests && !self.was_pushed
    }

    /// Walks for one tick. The animal looks in the direction in which it walks.
    pub(crate) fn act(&mut self, body: &mut Body, terrain: &Terrain, rates: &Rates) {
        self.was_pushed = false;
        if self.is_trapped {
            (body.vx, body.vy) = (Fixed::ZERO, Fixed::ZERO);
            return;
        }
        let push = self.acceleration_for(rates.acceleration);
        body.heading = self.direction.unwrap_or(body.heading);
        walk(body, self.direction.map(|angle| (angle, push)), terrain, rates);
    }

    /// Acceleration with which the animal reaches the speed of its kind and mood. It is derived
    /// from a player's acceleration, because both have the same friction.
    fn acceleration_for(&self, acceleration: i32) -> i32 {
        let speed = i64::from(self.kind.animal().speed_px_per_s * self.mood.pace_percent());
        (i64::from(acceleration) * speed / i64::from(100 * rules::SPEED_PX_PER_S)) as i32
    }
}
