//! Access of the program around the server to a running room.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use tickwire_sim::{Action as _, Sim as _};

use super::rooms::RunningRoom;
use crate::game::simple::{Simple, SimpleAction, SimpleGame};
use crate::game::{ActionOf, Game};
use crate::limits;
use crate::server::room::{QueryQueueFull, RoomHandle};

/// A running room. It stays valid after the room has ended, and its functions then return an error.
///
/// Its functions wait for the next tick of the room, so they must not be called in a game. A room
/// without clients wakes for them.
#[derive(Clone)]
pub struct RoomAccess {
    room: Arc<RunningRoom>,
}

/// Why a room did not answer, or did not execute an action.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RoomError {
    /// The room plays another game, whose name this is.
    OtherGame(&'static str),
    /// The room has ended, or has not answered in time. The text has the reason.
    NoAnswer(String),
    /// The world rejected the action, by the rule of this name.
    Rejected(&'static str),
}

impl fmt::Display for RoomError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RoomError::OtherGame(game) => write!(out, "the room plays another game: {game}"),
            RoomError::NoAnswer(reason) => out.write_str(reason),
            RoomError::Rejected(rule) => write!(out, "the world rejected the action: {rule}"),
        }
    }
}

impl std::error::Error for RoomError {}

impl RoomAccess {
    /// Wraps a run of a room.
    pub(crate) fn new(room: Arc<RunningRoom>) -> RoomAccess {
        RoomAccess { room }
    }

    /// Returns the name: empty for the default room, an alias for a private room.
    pub fn name(&self) -> &str {
        self.room.name()
    }

    /// Returns the name of the game.
    pub fn game(&self) -> &'static str {
        self.room.game()
    }

    /// Returns the number of ticks completed.
    pub fn tick(&self) -> u32 {
        self.room.handle.tick()
    }

    /// Returns the number of players in the world after the last tick.
    pub fn players(&self) -> usize {
        self.room.players()
    }

    /// Whether the room has ended. A room that restarts after a panic is another one.
    pub fn has_ended(&self) -> bool {
        self.room.handle.is_over()
    }

    /// Returns a copy of the world after its last tick. The room only makes the snapshot; this
    /// thread restores it.
    ///
    /// # Errors
    /// [`RoomError::OtherGame`], or [`RoomError::NoAnswer`].
    pub fn world<G: Game>(&self) -> Result<G::Sim, RoomError> {
        self.check_game::<G>()?;
        let snapshot = query(&self.room, RoomHandle::snapshot).map_err(RoomError::NoAnswer)?;
        G::Sim::restore(&snapshot.bytes).map_err(|error| RoomError::NoAnswer(error.to_string()))
    }

    /// Returns a copy of the state of a simple game after its last tick.
    ///
    /// # Errors
    /// As for [`RoomAccess::world`].
    pub fn state<S: SimpleGame>(&self) -> Result<S, RoomError> {
        self.world::<Simple<S>>().map(|world| world.into_game())
    }

    /// Executes an action of the operator in the next tick. It is a command like the others: a
    /// capture contains it, and lockstep clients execute it.
    ///
    /// # Errors
    /// [`RoomError::OtherGame`], [`RoomError::NoAnswer`] or [`RoomError::Rejected`].
    pub fn command<G: Game>(&self, action: &ActionOf<G>) -> Result<(), RoomError> {
        self.check_game::<G>()?;
        let outcome = query(&self.room, |handle| handle.command(action.encoded()));
        outcome.map_err(RoomError::NoAnswer)?.map_err(RoomError::Rejected)
    }

    /// As [`RoomAccess::command`], for a simple game, which executes the action in
    /// [`SimpleGame::operate`].
    ///
    /// # Errors
    /// As for [`RoomAccess::command`].
    pub fn act<S: SimpleGame>(&self, action: S::Action) -> Result<(), RoomError> {
        self.command::<Simple<S>>(&SimpleAction::Act(action))
    }

    fn check_game<G: Game>(&self) -> Result<(), RoomError> {
        match self.game() {
            game if game == G::NAME => Ok(()),
            game => Err(RoomError::OtherGame(game)),
        }
    }
}

impl fmt::Debug for RoomAccess {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "RoomAccess({:?}, tick {})", self.name(), self.tick())
    }
}

/// Sends a query to a room and waits for the result, which arrives after one of the room's next
/// ticks. Wakes a sleeping room.
///
/// # Errors
/// Why there is no result, for the operator.
pub fn query<A>(
    room: &RunningRoom,
    request: impl FnOnce(&RoomHandle) -> Result<Receiver<A>, QueryQueueFull>,
) -> Result<A, String> {
    let pending = request(&room.handle).map_err(|busy| busy.to_string())?;
    if room.handle.is_over() {
        return Err(ended_text(room));
    }
    room.wake();
    let late = "the world did not answer in time; the command may still be executed";
    pending.recv_timeout(limits::ROOM_QUERY_TIMEOUT).map_err(|error| match error {
        RecvTimeoutError::Disconnected if room.is_ending() => ended_text(room),
        _ => late.to_owned(),
    })
}

/// Returns the error text for a room that has ended.
fn ended_text(room: &RunningRoom) -> String {
    let title = room.title();
    match room.is_ending() {
        true => format!("{title} has ended"),
        false => format!("{title} has ended by a panic; it begins anew within seconds"),
    }
}
