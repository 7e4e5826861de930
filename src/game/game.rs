//! The types of a game, and what its room publishes.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use tickwire_sim::state_tree::{FieldDiff, StateTree, corrupt_one_scalar};
use tickwire_sim::{Command, EncodedAction, PlayerId, Sim, StepResult, WorldParams};

use super::dyn_tick::{DynTick, Roster};
use super::info::{DynWorld, GameInfo, KillPacket, OperatorCommand};
use super::messages::Messages;
use super::packet_handler::{JoinRequest, PacketHandler};
use super::prediction::NewPredictor;
use crate::packet::{Dialect, PacketTables};

/// The action of a game's world.
pub type ActionOf<G> = <<G as Game>::Sim as Sim>::Action;

/// A game.
pub trait Game: Sized + Debug + Send + Sync + 'static {
    /// Its name, as in `--game`.
    const NAME: &'static str;
    /// The paths below a room at which clients play it, each with its dialect; the first is the one
    /// for new clients.
    const PATHS: &'static [(&'static str, &'static str)];
    /// What its dialects for clients of another server are called, such as `Example dialects`, if it has
    /// any: in them the server speaks first, and they have an update rate of their own.
    const FOREIGN_DIALECTS: Option<&'static str> = None;
    /// The packet tables: file names and texts. A dialect's name is unique among all games of a server.
    const TABLES: &'static [(&'static str, &'static str)];
    /// The packets to its clients that the tables must have, besides those of every game.
    const REQUIRED_PACKETS: &'static [&'static str] = &[];
    /// The page at a room's path, if it is not that of the server: one HTML file, in which script and
    /// style may stand.
    const PAGE: Option<&'static str> = None;
    /// The rules as JSON, of which its page shows something: served as `rules.json` at a room's path.
    const RULES_JSON: Option<fn() -> String> = None;
    /// The operator's commands for it.
    const OPERATOR_COMMANDS: &'static [OperatorCommand] = &[];
    /// The packet that tells of a kill: it is marked where a capture is watched again.
    const KILL_PACKET: Option<KillPacket> = None;
    /// What runs a client's own player ahead of the server, for its page.
    const PREDICTOR: Option<NewPredictor> = None;
    /// The game without its types. A game that has bots or checks adds them here, with [`GameInfo::with_bots`] and
    /// `GameInfo::with_checks`.
    const INFO: &'static GameInfo = &GameInfo::of::<Self>();

    /// The world.
    type Sim: Sim;
    /// The events of a tick, which every client concerned must receive.
    type Events: Debug + Send + Sync + 'static;
    /// The state after a tick, of which only the newest counts.
    type State: Debug + Send + Sync + 'static;
    /// Copies events and state out of the world.
    type Publisher: Publisher<Self>;
    /// What one client is told.
    type View: View<Self>;
    /// Buffers that a worker lends to its views in turn.
    type Scratch: Debug + Default + Send;

    /// A hash of everything that decides how the world behaves, so that a replay by other rules is
    /// refused.
    fn code_hash() -> u64;

    /// Checks what the tables must have besides, when a server starts.
    ///
    /// # Errors
    /// What does not fit, by name.
    fn check(codes: &PacketTables) -> Result<(), String> {
        let _ = codes;
        Ok(())
    }

    /// The meaning of the packets of a client in this dialect.
    fn packet_handler(dialect: &Dialect) -> Box<dyn PacketHandler>;

    /// The commands, of the operator, that let a player in.
    fn join(player: PlayerId, profile: &JoinRequest) -> Vec<ActionOf<Self>>;

    /// The command, of the operator, that makes a player leave.
    fn leave(player: PlayerId) -> ActionOf<Self>;

    /// The command, of the operator, for a player whose connection is gone while its seat waits for
    /// another ([`Away`](tickwire_sim::MembershipChange::Disconnected)): the body stops, and the player's sequences begin anew.
    fn disconnect(player: PlayerId) -> ActionOf<Self>;

    /// Whether some of these events are still to be told to a client that comes back to its player after
    /// them ([`View::recall`]): they show in no state, and they still matter.
    fn is_sent_on_resume(events: &Self::Events) -> bool {
        let _ = events;
        false
    }

    /// A command in words, in one line: its packet's name, and its arguments by name.
    fn describe_action(action: &ActionOf<Self>) -> String {
        format!("{action:?}")
    }

    /// The names of the players in a world.
    fn names(sim: &Self::Sim) -> Vec<(PlayerId, String)>;

    /// The players, for the operator.
    fn roster(published: &Published<Self>) -> Roster;
}

/// Update rates per second of each kind of client; at most the tick rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpdateRates {
    /// Ticks per second.
    pub tick_hz: u32,
    /// Updates per second of clients that say hello.
    pub update_hz: u32,
    /// Updates per second of clients of foreign dialects, in which the server speaks first.
    pub foreign_hz: u32,
}

impl UpdateRates {
    /// Whether clients with this rate have a turn in this tick: turns are spread evenly, whatever
    /// the rates.
    pub fn is_turn(&self, hz: u32, tick: u32) -> bool {
        let turns = |tick: u32| u64::from(tick) * u64::from(hz) / u64::from(self.tick_hz);
        tick == 0 || turns(tick) != turns(tick - 1)
    }
}

/// One tick of a game.
pub struct Published<G: Game> {
    /// Ticks completed.
    pub tick: u32,
    /// The players in the world after it.
    pub players: usize,
    /// What happened in it.
    pub events: Arc<G::Events>,
    /// About how many bytes the events take while they wait for a worker.
    pub event_bytes: usize,
    /// The state after it.
    pub state: Arc<G::State>,
}

// By hand, because derived it would ask the same of `G`.
impl<G: Game> Debug for Published<G> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Published(tick {})", self.tick)
    }
}

impl<G: Game> DynTick for Published<G> {
    fn tick(&self) -> u32 {
        self.tick
    }

    fn players(&self) -> usize {
        self.players
    }

    fn events(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::clone(&self.events) as Arc<dyn Any + Send + Sync>
    }

    fn state(&self) -> &(dyn Any + Send + Sync) {
        &*self.state
    }

    fn event_bytes(&self) -> usize {
        self.event_bytes
    }

    fn roster(&self) -> Roster {
        G::roster(self)
    }
}

impl dyn DynTick {
    /// The tick as that of its game; `None` if it is of another.
    pub fn of<G: Game>(&self) -> Option<&Published<G>> {
        (self as &dyn Any).downcast_ref()
    }
}

/// Publishes a world, tick after tick.
pub trait Publisher<G: Game>: Debug + Send {
    /// A publisher for this world.
    fn new(sim: &G::Sim, rates: UpdateRates) -> Self;

    /// Publishes the world's last tick. `margin` returns how early or late a player's last command
    /// arrived, in ticks.
    fn publish(&mut self, sim: &G::Sim, margin: &dyn Fn(PlayerId) -> i16) -> Published<G>;
}

/// What became of the state in an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateOutcome {
    /// None of the ticks was a turn of the client.
    NotDue,
    /// The client's messages of this turn were written, if there is anything to say.
    Written,
    /// The client is behind, so the state is left to a later turn.
    Deferred,
}

/// One client's view of the world: what it is sent next, and what it knows from then on. A view
/// belongs to one worker and is never locked.
pub trait View<G: Game>: Debug + Send {
    /// The view of a client that knows nothing yet.
    fn new(dialect: &Dialect) -> Self;

    /// Sets the client's body, if any, and the player that it wants to watch without one.
    fn set_subject(&mut self, player: Option<PlayerId>, watched: Option<PlayerId>);

    /// What a client that comes back to its player is still told of the events of a tick that it has
    /// missed, before its first update.
    fn replay_missed(&mut self, events: &G::Events, dialect: &Dialect, messages: &mut Messages) {
        let _ = (events, dialect, messages);
    }

    /// One update: the events of the ticks that the worker has missed, then the newest state, then
    /// the events of its tick.
    ///
    /// The state is left out while the client `is_behind`, that is while anything waits for it:
    /// what the client is taken to know then stays, and a later update makes up for it.
    fn update(
        &mut self,
        missed: &[Arc<G::Events>],
        newest: &Published<G>,
        is_behind: bool,
        dialect: &Dialect,
        scratch: &mut G::Scratch,
        messages: &mut Messages,
    ) -> StateOutcome;
}

/// A world, and buffers for its steps.
#[derive(Debug)]
pub(super) struct TypedWorld<S: Sim> {
    sim: S,
    commands: Vec<Command<S::Action>>,
    stepped: StepResult,
}

impl<S: Sim> TypedWorld<S> {
    /// A world that goes on.
    pub(super) fn new(sim: S) -> TypedWorld<S> {
        TypedWorld { sim, commands: Vec::new(), stepped: StepResult::default() }
    }

    /// The world.
    pub(super) fn sim(&self) -> &S {
        &self.sim
    }
}

impl<S: Sim> DynWorld for TypedWorld<S> {
    fn tick(&self) -> u32 {
        self.sim.tick()
    }

    fn identity(&self) -> WorldParams {
        self.sim.identity()
    }

    fn checksum(&self) -> u64 {
        self.sim.checksum()
    }

    fn snapshot(&self) -> Vec<u8> {
        self.sim.snapshot()
    }

    fn state(&self) -> StateTree {
        StateTree::of(&self.sim)
    }

    fn corrupt(&mut self, seed: u64) -> Option<FieldDiff> {
        let mut random = tickwire_sim::Rng::new(seed as u32, 7);
        let (sim, difference) = corrupt_one_scalar(&self.sim, &mut random)?;
        self.sim = sim;
        Some(difference)
    }

    fn players(&self) -> Vec<PlayerId> {
        self.sim.players().collect()
    }

    fn step(&mut self, commands: &[Command<EncodedAction>]) {
        self.commands.extend(commands.iter().filter_map(|command| command.decoded()));
        self.sim.step(&mut self.commands, &mut self.stepped);
    }
}
