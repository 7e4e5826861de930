//! A room: one running game, without I/O.
//!
//! ```text
//!  readers  ─ commands, seats ─────►┐                    ┌─► the published tick
//!  operator ─ commands, questions ─►┼─► Handle ─► Room ──┼─► command frame, checksum, snapshot, if wanted
//!                                   └── answers ◄────────┴─► rejected commands
//! ```
//!
//! A room has two halves, because readers push commands while the world steps. The readers and the
//! operator use the [`Handle`], whose only lock is never held during a step. [`Room`] owns the
//! game. A room has no access to other rooms, and knows connections only by number.

pub mod handle;
pub mod inbox;
pub mod seats;

use std::sync::Arc;
use std::time::Duration;

use handle::Question;
pub use handle::{Busy, Handle, Options, Snapshot};
pub use inbox::Rejected;

use crate::feed::{Published, Publisher};
use crate::limits;
use crate::world::command::encode_frame;
use crate::world::{Command, Event, PlayerId, Rejection, World};

/// What the driver of a room asks of one tick besides the tick itself: nothing of this is made
/// unless it is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wants {
    /// The commands of the tick as a command frame.
    pub frame: bool,
    /// The checksum of the world before the tick.
    pub checksum: bool,
    /// The world before the tick as bytes.
    pub snapshot: bool,
}

/// The result of one tick.
#[derive(Debug)]
pub struct Ticked {
    /// Ticks completed before it: the number in its command frame.
    pub tick: u32,
    /// The published state and events, for the views.
    pub published: Arc<Published>,
    /// See [`Wants`]; also `None` if the commands do not fit a frame, which the inbox prevents.
    pub frame: Option<Arc<[u8]>>,
    /// See [`Wants`].
    pub checksum: Option<u64>,
    /// See [`Wants`]; also made for an operator's `save`.
    pub snapshot: Option<Arc<Snapshot>>,
    /// The commands that the world rejected: their issuer, and why.
    pub rejected: Vec<(PlayerId, Rejection)>,
}

/// A room as its driver sees it, whatever game it plays.
pub trait Core: Send {
    /// The half that other threads use.
    fn handle(&self) -> &Arc<Handle>;

    /// Runs one tick at this time of the host's clock.
    fn tick(&mut self, now: Duration, wants: Wants) -> Ticked;

    /// A room with the same name, options and identity, whose world begins anew: for a driver whose
    /// room has panicked. It relies on nothing that a tick changes.
    fn anew(&self, epoch: String) -> Box<dyn Core>;
}

/// See the [module](self).
#[derive(Debug)]
pub struct Room {
    world: World,
    publisher: Publisher,
    /// How early or late each player's last command arrived, by player number.
    margins: Vec<i16>,
    commands: Vec<Command>,
    handle: Arc<Handle>,
}

impl Room {
    /// A room in which this world goes on. The world's players have a seat without a connection.
    pub fn new(world: World, options: Options) -> Room {
        Room {
            publisher: Publisher::new(&world, options.rates),
            margins: vec![0; usize::from(limits::PLAYERS) + 1],
            commands: Vec::new(),
            handle: Arc::new(Handle::new(&world, options)),
            world,
        }
    }

    fn frame(&self) -> Option<Arc<[u8]>> {
        let mut frame = Vec::new();
        encode_frame(self.world.tick(), &self.commands, &mut frame).ok()?;
        Some(frame.into())
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        Arc::new(Snapshot { tick: self.world.tick(), bytes: self.world.snapshot().into() })
    }

    fn answer(&self, asked: Vec<Question>, published: &Arc<Published>, snapshot: Option<&Arc<Snapshot>>) {
        let rejected = &self.world.outcome().rejected;
        for question in asked {
            // It is no error if the operator no longer waits for the answer.
            match question {
                Question::Picture(answer) => drop(answer.send(Arc::clone(published))),
                Question::Snapshot(answer) => drop(snapshot.map(|one| answer.send(Arc::clone(one)))),
                Question::Outcome(ticket, answer) => {
                    let is_it = |command: &Command| {
                        command.player == PlayerId::OPERATOR && command.sequence == ticket.sequence
                    };
                    let rejection = rejected.iter().find(|(command, _)| is_it(command));
                    let _ = answer.send(rejection.map_or(Ok(()), |(_, rejection)| Err(*rejection)));
                }
            }
        }
    }
}

impl Core for Room {
    fn handle(&self) -> &Arc<Handle> {
        &self.handle
    }

    fn tick(&mut self, now: Duration, wants: Wants) -> Ticked {
        let tick = self.world.tick();
        let asked = self.handle.begin(tick, now, &mut self.commands, &mut self.margins);
        let is_asked = asked.iter().any(|question| matches!(question, Question::Snapshot(_)));
        let frame = wants.frame.then(|| self.frame()).flatten();
        let checksum = wants.checksum.then(|| self.world.checksum());
        let snapshot = (wants.snapshot || is_asked).then(|| self.snapshot());
        self.world.step(&mut self.commands);
        let outcome = self.world.outcome();
        for event in &outcome.events {
            if let Event::Left { player } = event
                && let Some(margin) = self.margins.get_mut(usize::from(player.0))
            {
                *margin = 0;
            }
        }
        self.handle.end(self.world.tick(), outcome, now);
        let rejected =
            outcome.rejected.iter().map(|(command, rejection)| (command.player, *rejection)).collect();
        let margin = |player: PlayerId| self.margins.get(usize::from(player.0)).copied().unwrap_or_default();
        let published = Arc::new(self.publisher.publish(&self.world, margin));
        self.answer(asked, &published, snapshot.as_ref());
        Ticked { tick, published, frame, checksum, snapshot, rejected }
    }

    fn anew(&self, epoch: String) -> Box<dyn Core> {
        let options = Options { epoch, ..self.handle.options.clone() };
        Box::new(Room::new(World::new(self.handle.identity), options))
    }
}
