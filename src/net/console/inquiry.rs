//! The operator's questions to the world thread.
//!
//! The threads that execute operator commands list their questions here. The world thread answers
//! after it publishes a tick, in the time that is left before the next tick. The asking thread
//! waits at most [`limits::ANSWER_TIME`]; the world thread never waits: it only hands over the
//! data, and the asking thread writes the data to the disk or to the network. At most
//! [`limits::INQUIRIES`] questions wait.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

use crate::feed::Published;
use crate::limits;
use crate::net::inbox::{Inbox, Ticket};
use crate::sync::Mutex;
use crate::world::{Action, Command, PlayerId, Refusal, World};

/// See the [module](self).
#[derive(Debug, Default)]
pub struct Inquiries {
    waiting: Mutex<Vec<Inquiry>>,
}

#[derive(Debug)]
enum Inquiry {
    /// The last published tick.
    Picture(Sender<Arc<Published>>),
    /// The whole world as bytes.
    Snapshot(Sender<Arc<Snapshot>>),
    /// The outcome of an operator command.
    Outcome(Ticket, Sender<Result<(), Refusal>>),
}

/// The world as bytes, and after which tick.
#[derive(Debug)]
pub struct Snapshot {
    /// Ticks completed.
    pub tick: u32,
    /// As `World::restore` takes them.
    pub bytes: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoAnswer {
    /// [`limits::INQUIRIES`] are waiting.
    Busy,
    /// None came within [`limits::ANSWER_TIME`].
    Late,
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            NoAnswer::Busy => "too many questions wait for the world; ask again",
            NoAnswer::Late => "the world has not answered in time; what was asked for may still happen",
        })
    }
}

impl Inquiries {
    /// The next published tick.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub fn picture(&self) -> Result<Arc<Published>, NoAnswer> {
        wait(self.ask(|| (), |(), answer| Inquiry::Picture(answer))?)
    }

    /// The world after the next tick.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub fn snapshot(&self) -> Result<Arc<Snapshot>, NoAnswer> {
        wait(self.ask(|| (), |(), answer| Inquiry::Snapshot(answer))?)
    }

    /// Queues an operator command, and returns whether the world rejected it.
    ///
    /// # Errors
    /// [`NoAnswer`]; after [`NoAnswer::Late`], the command may still be carried out.
    pub fn command(&self, inbox: &Inbox, action: Action) -> Result<Result<(), Refusal>, NoAnswer> {
        wait(self.ask(|| inbox.push_operator(action), Inquiry::Outcome)?)
    }

    /// Lists a question. What `first` does, it does before the world thread can look for the question.
    fn ask<F, A>(
        &self,
        first: impl FnOnce() -> F,
        inquiry: impl FnOnce(F, Sender<A>) -> Inquiry,
    ) -> Result<Receiver<A>, NoAnswer> {
        let (answer, answered) = mpsc::channel();
        let mut waiting = self.waiting.lock();
        if waiting.len() >= limits::INQUIRIES {
            return Err(NoAnswer::Busy);
        }
        let first = first();
        waiting.push(inquiry(first, answer));
        Ok(answered)
    }

    /// Answers every question that can be answered after a tick. Called by the world thread.
    pub fn answer(&self, world: &World, published: &Arc<Published>) {
        let asked = std::mem::take(&mut *self.waiting.lock());
        let mut snapshot = None;
        // That nobody waits for an answer any more is no error.
        for inquiry in asked {
            match inquiry {
                Inquiry::Picture(answer) => {
                    let _ = answer.send(Arc::clone(published));
                }
                Inquiry::Snapshot(answer) => {
                    let taken = snapshot.get_or_insert_with(|| Arc::new(Snapshot::of(world)));
                    let _ = answer.send(Arc::clone(taken));
                }
                Inquiry::Outcome(ticket, answer) if ticket.tick < world.tick() => {
                    let _ = answer.send(outcome(world, ticket.sequence));
                }
                Inquiry::Outcome(..) => self.waiting.lock().push(inquiry),
            }
        }
    }
}

impl Snapshot {
    fn of(world: &World) -> Snapshot {
        Snapshot { tick: world.tick(), bytes: world.snapshot() }
    }
}

/// The outcome of an operator command in the last tick.
fn outcome(world: &World, sequence: u64) -> Result<(), Refusal> {
    let is_it = |command: &Command| command.player == PlayerId::OPERATOR && command.sequence == sequence;
    let refused = world.outcome().refused.iter().find(|(command, _)| is_it(command));
    refused.map_or(Ok(()), |(_, refusal)| Err(*refusal))
}

fn wait<A>(answered: Receiver<A>) -> Result<A, NoAnswer> {
    answered.recv_timeout(limits::ANSWER_TIME).map_err(|_| NoAnswer::Late)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::feed::{Publisher, Rates};
    use crate::world::{Identity, Resource, TickHz};

    /// A world that ticks until what is asked meanwhile has its answer.
    fn asked<A: Send>(ask: impl FnOnce(&Inquiries, &Inbox) -> A + Send) -> (A, World) {
        let mut world = World::new(Identity { seed: 1, map_size_px: 3_000, tick_hz: TickHz::Hz30 });
        let mut publisher = Publisher::new(&world, Rates { tick_hz: 30, native_hz: 30, moomoo_hz: 10 });
        let (inquiries, inbox) = (Inquiries::default(), Inbox::new(0, 30, 0));
        let mut commands = Vec::new();
        let answer = thread::scope(|scope| {
            let asking = scope.spawn(|| ask(&inquiries, &inbox));
            while !asking.is_finished() {
                inbox.drain(world.tick(), &mut commands, |_, _| {});
                world.step(&mut commands);
                inquiries.answer(&world, &Arc::new(publisher.publish(&world, |_| 0)));
            }
            asking.join().expect("no panic")
        });
        (answer, world)
    }

    fn grant(player: u16) -> Action {
        Action::Grant { player: PlayerId(player), resource: Resource::Wood, amount: 5 }
    }

    #[test]
    fn a_command_comes_back_as_done_or_with_the_worlds_refusal() {
        let ((joined, granted, refused), world) = asked(|inquiries, inbox| {
            let join = Action::Join { player: PlayerId(1), name: "Ann".to_owned(), skin: 0 };
            let command = |action| inquiries.command(inbox, action);
            (command(join), command(grant(1)), command(grant(2)))
        });
        assert_eq!([joined, granted, refused], [Ok(Ok(())), Ok(Ok(())), Ok(Err(Refusal::UnknownPlayer))]);
        assert_eq!(world.player(PlayerId(1)).expect("joined").resources[0], 5);
    }

    #[test]
    fn a_snapshot_is_the_world_after_a_tick_and_a_picture_is_of_one() {
        let (answer, _) = asked(|inquiries, _| (inquiries.picture(), inquiries.snapshot()));
        let (picture, snapshot) = (answer.0.expect("a picture"), answer.1.expect("a snapshot"));
        let world = World::restore(&snapshot.bytes).expect("what was taken can be restored");
        assert_eq!(world.tick(), snapshot.tick);
        assert!(picture.tick > 0 && picture.tick <= snapshot.tick);
    }

    #[test]
    fn what_waits_is_bounded_and_nobody_waits_for_ever() {
        let inquiries = Inquiries::default();
        let kept: Vec<_> = (0..limits::INQUIRIES)
            .map(|_| inquiries.ask(|| (), |(), answer| Inquiry::Picture(answer)))
            .collect();
        assert!(kept.iter().all(Result::is_ok));
        assert_eq!(inquiries.picture().err(), Some(NoAnswer::Busy));
        assert_eq!(Inquiries::default().picture().err(), Some(NoAnswer::Late));
    }
}
