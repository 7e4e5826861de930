//! The animal's controller: walks where it has decided to.
//!
//! Comes in: the body, the terrain, the constants of the tick rate. Goes out: the body one tick later. Never: a look at
//! anyone else. What an animal decides, by looking around, is the world's business (`herd`).

use crate::controller::walk::walk;
use crate::entity::{Body, PlayerId};
use crate::fields::{fields, Field, Reader, Sink};
use crate::fixed::{Angle, Fixed};
use crate::rules::{self, AnimalKind, Rates};
use crate::snapshot::SnapshotError;
use crate::terrain::Terrain;

/// What an animal is after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mood {
    /// Walks about, and stands about.
    Wanders = 0,
    /// Stands, and lets everyone pass: it has hunted in vain.
    Rests = 1,
    /// Runs from who hurt it.
    Flees = 2,
    /// Runs after its prey.
    Hunts = 3,
}

impl Mood {
    /// All of them, in the order of their numbers.
    pub const ALL: [Mood; 4] = [Mood::Wanders, Mood::Rests, Mood::Flees, Mood::Hunts];

    /// How fast it goes, in hundredths of the speed at which it walks about.
    pub const fn pace_percent(self) -> u32 {
        match self {
            Mood::Wanders | Mood::Rests => 100,
            Mood::Flees => rules::FLEE_PERCENT,
            Mood::Hunts => rules::HUNT_PERCENT,
        }
    }
}

impl Field for Mood {
    const LEAST_BYTES: usize = 1;

    fn write(&self, sink: &mut impl Sink) {
        sink.put(*self as u64, 1);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Mood, SnapshotError> {
        Mood::ALL.get(reader.scalar(1)? as usize).copied().ok_or(SnapshotError::Value("mood"))
    }
}

/// What an animal is and does. Times are in thirds of a millisecond.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Animal {
    /// What it is.
    pub kind: AnimalKind,
    /// Whether nature placed it: then it comes back after death.
    pub natural: bool,
    /// What it is after.
    pub mood: Mood,
    /// Whom it hunts, while it hunts.
    pub prey: Option<PlayerId>,
    /// Where it walks; `None` stands.
    pub direction: Option<Angle>,
    /// Time until it changes its mind by itself; of a dead one, until it comes back.
    pub wait: u32,
    /// Time until it looks around.
    pub look_wait: u16,
    /// Time until it can strike.
    pub strike_wait: u16,
    /// Time until a touch can hurt it again.
    pub touch_wait: u16,
    /// It is in a trap and cannot move.
    pub held: bool,
    /// It was pushed or appeared in the last tick, so it must see to where it stands now.
    pub stirred: bool,
}

fields!(Animal:
    kind: AnimalKind,
    natural: bool,
    mood: Mood,
    prey: Option<PlayerId>,
    direction: Option<Angle>,
    wait: u32,
    look_wait: u16,
    strike_wait: u16,
    touch_wait: u16,
    held: bool,
    stirred: bool,
);

impl Animal {
    /// One that has just appeared, and stands for so long.
    pub(crate) fn new(kind: AnimalKind, natural: bool, wait: u32) -> Animal {
        Animal {
            kind,
            natural,
            mood: Mood::Wanders,
            prey: None,
            direction: None,
            wait,
            look_wait: rules::thirds(rules::LOOK_PERIOD_MS),
            strike_wait: 0,
            touch_wait: 0,
            held: false,
            stirred: true,
        }
    }

    /// Whether a turn on land would change nothing: it is dead, or it stands, is at rest, and nobody pushed it.
    pub fn is_asleep(&self, body: &Body) -> bool {
        let rests = self.direction.is_none() && body.vx.0 == 0 && body.vy.0 == 0;
        body.health == 0 || rests && !self.stirred
    }

    /// One tick of walking. It looks where it goes.
    pub(crate) fn act(&mut self, body: &mut Body, terrain: &Terrain, rates: &Rates) {
        self.stirred = false;
        if self.held {
            (body.vx, body.vy) = (Fixed::ZERO, Fixed::ZERO);
            return;
        }
        let push = self.push(rates.acceleration);
        body.heading = self.direction.unwrap_or(body.heading);
        walk(body, self.direction.map(|angle| (angle, push)), terrain, rates);
    }

    /// Its acceleration, from that of a player, whose friction it shares: its steady speed is then the table's, at the
    /// pace of its mood.
    fn push(&self, acceleration: i32) -> i32 {
        let speed = i64::from(self.kind.animal().speed_px_per_s * self.mood.pace_percent());
        (i64::from(acceleration) * speed / i64::from(100 * rules::SPEED_PX_PER_S)) as i32
    }
}
