//! The types of a game, and the published result of a tick.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use tickwire_sim::state_tree::{FieldDiff, StateTree, corrupt_one_scalar};
use tickwire_sim::{Command, EncodedAction, PlayerId, Sim, StepResult, WorldParams};

use super::dyn_tick::{DynTick, PlayerScore, Roster};
use super::info::{DynWorld, GameInfo, KillPacket, OperatorCommand};
use super::messages::Messages;
use super::packet_handler::{JoinRequest, PacketHandler};
use super::prediction::NewPredictor;
use super::report::Report;
use super::room_properties::RoomProperties;
use crate::packet::{Dialect, PacketTables, TableError};

/// The action of a game's world.
pub type ActionOf<G> = <<G as Game>::Sim as Sim>::Action;

/// A game with its own views of the world for each client.
pub trait Game: Sized + Debug + Send + Sync + 'static {
    /// The name, as in `--game`.
    const NAME: &'static str;
    /// The paths below a room at which clients play, each with its dialect. New clients use the
    /// first.
    const PATHS: &'static [(&'static str, &'static str)];
    /// Common name of the dialects of another server's clients, such as `Example dialects`. In
    /// these dialects the server sends the first packet, and updates have their own rate.
    const FOREIGN_DIALECTS: Option<&'static str> = None;
    /// The packet tables: file names and texts. Names of dialects are unique among all games of a
    /// server.
    const TABLES: &'static [(&'static str, &'static str)];
    /// Packets to clients that the tables must have, in addition to the packets that every game
    /// needs.
    const REQUIRED_PACKETS: &'static [&'static str] = &[];
    /// The page at a room's path: one HTML file with inline script and style. `None`: the server's
    /// page.
    const PAGE: Option<&'static str> = None;
    /// The function that returns the rules as JSON, for the page. Served as `rules.json` at a
    /// room's path.
    const RULES_JSON: Option<fn() -> String> = None;
    /// The game's own operator commands.
    const OPERATOR_COMMANDS: &'static [OperatorCommand] = &[];
    /// The packet that reports a kill. Playback marks it.
    const KILL_PACKET: Option<KillPacket> = None;
    /// The function that creates the predictor of the local player, for the page.
    const PREDICTOR: Option<NewPredictor> = None;
    /// The game without its types. A game that has bots or checks adds them here, with
    /// [`GameInfo::with_bots`] and `GameInfo::with_checks`.
    const INFO: &'static GameInfo = &GameInfo::of::<Self>();

    /// The deterministic world of the game.
    type Sim: Sim;
    /// The events of a tick. Every client that an event affects must receive the event.
    type Events: Debug + Send + Sync + 'static;
    /// The state after a tick. A newer state replaces an older one.
    type State: Debug + Send + Sync + 'static;
    /// Copies events and state out of the world.
    type Publisher: Publisher<Self>;
    /// Encodes the updates of one client.
    type View: View<Self>;
    /// Buffers that an update worker reuses for its views.
    type Scratch: Debug + Default + Send;

    /// Returns a hash of everything that determines the behaviour of the world. A replay with other
    /// rules is refused.
    fn rules_hash() -> u64;

    /// Checks further requirements on the tables. Called at the start of a server.
    ///
    /// # Errors
    /// [`TableError::Game`] names the missing or wrong row.
    fn check(codes: &PacketTables) -> Result<(), TableError> {
        let _ = codes;
        Ok(())
    }

    /// Creates the packet handler of a client in this dialect.
    fn packet_handler(dialect: &Dialect) -> Box<dyn PacketHandler>;

    /// Returns the operator commands for a new world. `secret` is a random number that no client
    /// can compute, unlike the seed in `welcome`.
    fn start(secret: u64) -> Vec<ActionOf<Self>> {
        let _ = secret;
        Vec::new()
    }

    /// Returns the operator commands by which a player joins.
    fn join(player: PlayerId, profile: &JoinRequest) -> Vec<ActionOf<Self>>;

    /// Returns the operator command by which a player leaves.
    fn leave(player: PlayerId) -> ActionOf<Self>;

    /// Returns the operator command for a player with a suspended seat
    /// ([`Disconnected`](tickwire_sim::MembershipChange::Disconnected)): the player stops, and its
    /// sequence numbers restart.
    fn disconnect(player: PlayerId) -> ActionOf<Self>;

    /// Returns the operator command for a player whose client has resumed its suspended seat
    /// ([`Reconnected`](tickwire_sim::MembershipChange::Reconnected)). `None`: the world does not
    /// change.
    fn reconnect(player: PlayerId) -> Option<ActionOf<Self>> {
        let _ = player;
        None
    }

    /// Returns whether a client that resumes after these events must still receive some of them
    /// ([`View::replay_missed`]), because the state does not contain them.
    fn is_sent_on_resume(events: &Self::Events) -> bool {
        let _ = events;
        false
    }

    /// Returns what the game reports to the program around the server in a tick.
    fn reports(events: &Self::Events) -> &[Report] {
        let _ = events;
        &[]
    }

    /// Describes an action in one line: name of its packet, and arguments by name.
    fn describe_action(action: &ActionOf<Self>) -> String {
        format!("{action:?}")
    }

    /// Returns the names of the players in a world.
    fn names(sim: &Self::Sim) -> Vec<(PlayerId, String)>;

    /// Returns the list of players for the operator.
    fn roster(published: &Published<Self>) -> Roster;

    /// Returns the scores of the players, in a game with scores. The server publishes the day's
    /// best player.
    fn scores(published: &Published<Self>) -> Vec<PlayerScore> {
        let _ = published;
        Vec::new()
    }

    /// Writes the properties of the room, by which clients choose it. Called after each tick.
    fn write_room(sim: &Self::Sim, room: &mut RoomProperties) {
        let _ = (sim, room);
    }
}

/// Tick and update rates of a room. Update rates are at most the tick rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpdateRates {
    /// Ticks per second.
    pub tick_hz: u32,
    /// Updates per second of native clients, which begin with `hello`.
    pub update_hz: u32,
    /// Updates per second of clients with foreign dialects, in which the server sends the first
    /// packet.
    pub foreign_hz: u32,
}

impl UpdateRates {
    /// Returns whether clients with the update rate `hz` get an update after this tick. The updates
    /// are spread evenly for every rate.
    pub fn is_update_due(&self, hz: u32, tick: u32) -> bool {
        let turns = |tick: u32| u64::from(tick) * u64::from(hz) / u64::from(self.tick_hz);
        tick == 0 || turns(tick) != turns(tick - 1)
    }
}

/// The published result of one tick of a game.
pub struct Published<G: Game> {
    /// Ticks completed.
    pub tick: u32,
    /// Number of players after the tick.
    pub players: usize,
    /// The events of the tick.
    pub events: Arc<G::Events>,
    /// Approximate size of the events in memory, counted while they wait for an update worker.
    pub event_bytes: usize,
    /// The state after the tick.
    pub state: Arc<G::State>,
}

// Implemented by hand, because a derive would require `G: Debug`.
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

    fn scores(&self) -> Vec<PlayerScore> {
        G::scores(self)
    }

    fn reports(&self) -> &[Report] {
        G::reports(&self.events)
    }
}

impl dyn DynTick {
    /// Returns the tick with its types. `None` if it belongs to another game.
    pub fn of<G: Game>(&self) -> Option<&Published<G>> {
        (self as &dyn Any).downcast_ref()
    }
}

/// Publishes each tick of a world.
pub trait Publisher<G: Game>: Debug + Send {
    /// Creates the publisher of this world.
    fn new(sim: &G::Sim, rates: UpdateRates) -> Self;

    /// Publishes the world's last tick. `margin` returns the lead of a player's last command in
    /// ticks.
    fn publish(&mut self, sim: &G::Sim, margin: &dyn Fn(PlayerId) -> i16) -> Published<G>;
}

/// Whether an update includes the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateOutcome {
    /// No update of the client was due in these ticks.
    NotDue,
    /// The update was written. It may be empty.
    Written,
    /// Older bytes are queued for the client, so the state was deferred to a later update.
    Deferred,
}

/// One client's view of the world: its known set, and the encoder of its updates. Each view belongs
/// to one update worker and needs no lock.
pub trait View<G: Game>: Debug + Send {
    /// Creates the view of a client that has received nothing yet.
    fn new(dialect: &Dialect) -> Self;

    /// Sets the client's player, or, for a client without a player, the player that it spectates.
    fn set_subject(&mut self, player: Option<PlayerId>, spectated: Option<PlayerId>);

    /// After a resume, encodes the events of a missed tick that the client must still receive.
    /// Called before the first update of the client.
    fn replay_missed(&mut self, events: &G::Events, dialect: &Dialect, messages: &mut Messages) {
        let _ = (events, dialect, messages);
    }

    /// Encodes one update: the events of the ticks since the last pass, then the newest state, then
    /// the events of its tick.
    ///
    /// The state is deferred while the client `is_behind`, i.e. while older bytes are queued for
    /// the client. The known set then stays unchanged, and a later update includes the changes.
    fn update(
        &mut self,
        missed: &[Arc<G::Events>],
        newest: &Published<G>,
        is_behind: bool,
        dialect: &Dialect,
        scratch: &mut G::Scratch,
        messages: &mut Messages,
    ) -> StateOutcome;

    /// Loads the fields that an update reads into the CPU cache. An update is correct without it,
    /// but reads one address after another, and waits for each.
    fn prefetch_fields(&self) {}

    /// Loads the lists that an update reads into the CPU cache, such as the known set. Called after
    /// [`prefetch_fields`](View::prefetch_fields).
    fn prefetch_lists(&self) {}

    /// Returns the first tick after `newest`, the tick of the last update, in which the client may
    /// need an update again. The client has no player until then, and gets neither the events of
    /// the ticks before nor acks. `None` is the next tick. A room whose views are all quiet sleeps.
    fn quiet_until(&self, newest: &Published<G>) -> Option<u32> {
        let _ = newest;
        None
    }
}

/// A world with reusable buffers for its steps.
#[derive(Debug)]
pub(super) struct TypedWorld<S: Sim> {
    sim: S,
    commands: Vec<Command<S::Action>>,
    stepped: StepResult,
}

impl<S: Sim> TypedWorld<S> {
    /// Wraps an existing world.
    pub(super) fn new(sim: S) -> TypedWorld<S> {
        TypedWorld { sim, commands: Vec::new(), stepped: StepResult::default() }
    }

    /// Returns the world.
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
