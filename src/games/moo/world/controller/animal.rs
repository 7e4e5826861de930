//! The animal controller: walks where the animal has decided to go.
//!
//! It never looks at another entity. The decisions of an animal, which depend on its surroundings,
//! are made in `herd`.

use crate::controller::walk::walk;
use crate::entity::{Body, PlayerId};
use crate::fields::{fields, Field, Malformed, Reader, Sink};
use crate::fixed::{Angle, Fixed};
use crate::rules::{self, AnimalKind, Rates};
use crate::terrain::Terrain;

/// The goal of an animal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mood {
    /// It wanders and stands about.
    Wanders = 0,
    /// It stands and ignores everyone, after an unsuccessful hunt.
    Rests = 1,
    /// It flees from its attacker.
    Flees = 2,
    /// It chases its prey.
    Hunts = 3,
}

impl Mood {
    /// All moods, in order of their numbers.
    pub const ALL: [Mood; 4] = [Mood::Wanders, Mood::Rests, Mood::Flees, Mood::Hunts];

    /// The speed, in hundredths of the wandering speed.
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

/// The state of an animal. Times are in thirds of a millisecond.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Animal {
    /// The kind of animal.
    pub kind: AnimalKind,
    /// Whether nature placed it, so that it respawns after death.
    pub natural: bool,
    /// Its current goal.
    pub mood: Mood,
    /// Its prey, while it hunts.
    pub prey: Option<PlayerId>,
    /// The direction in which it walks; `None` stands.
    pub direction: Option<Angle>,
    /// Time until it changes its goal by itself; for a dead animal, until it respawns.
    pub wait: u32,
    /// Time until it looks around.
    pub sense_wait: u16,
    /// Time until it can attack.
    pub strike_wait: u16,
    /// Time until a touch can hurt it again.
    pub touch_wait: u16,
    /// Whether it is in a trap and cannot move.
    pub is_trapped: bool,
    /// Whether it was pushed or spawned in the last tick, so that it must check its position now.
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
    /// A newly spawned animal, which stands for that time.
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

    /// Whether a tick would change nothing: it is dead, or it stands, is at rest, and was not
    /// pushed.
    pub fn is_asleep(&self, body: &Body) -> bool {
        let rests = self.direction.is_none() && body.vx.0 == 0 && body.vy.0 == 0;
        body.health == 0 || rests && !self.was_pushed
    }

    /// Walks for one tick. An animal looks in the direction in which it walks.
    pub(crate) fn act(&mut self, body: &mut Body, terrain: &Terrain, rates: &Rates) {
        self.was_pushed = false;
        if self.is_trapped {
            (body.vx, body.vy) = (Fixed::ZERO, Fixed::ZERO);
            return;
        }
        let push = self.push(rates.acceleration);
        body.heading = self.direction.unwrap_or(body.heading);
        walk(body, self.direction.map(|angle| (angle, push)), terrain, rates);
    }

    /// Its acceleration, derived from that of a player, whose friction it shares, so that it
    /// reaches the speed in the table, scaled by its mood.
    fn push(&self, acceleration: i32) -> i32 {
        let speed = i64::from(self.kind.animal().speed_px_per_s * self.mood.pace_percent());
        (i64::from(acceleration) * speed / i64::from(100 * rules::SPEED_PX_PER_S)) as i32
    }
}
