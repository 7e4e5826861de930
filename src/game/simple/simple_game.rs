//! The trait of a simple game.

use std::fmt::Debug;
use std::marker::PhantomData;

use super::bot_policy::BotPolicy;
use super::entities::{Entities, EntityInfo, EntityRef, Sight, Viewer};
use super::rows::{FieldValue, GameAction, Row, RowField as _, RowValues, StateRows};
use tickwire_sim::fields::Field;
use tickwire_sim::{OptionSpec, PlayerId, Rng, WorldParams};

use crate::game::info::KillPacket;
use crate::game::prediction::NewPredictor;
use crate::game::report::Report;
use crate::game::room_properties::RoomProperties;
#[cfg(doc)]
use crate::limits;

/// The [`Game`](crate::game::Game) that implements a [`SimpleGame`].
#[derive(Debug)]
pub struct Simple<S>(PhantomData<S>);

/// A game whose clients receive the same state, except for [entity lists](super#entity-lists).
///
/// The state is the type itself. It is deterministic: integers only, no clock, no hash maps; random
/// numbers come from [`TickContext::random`]. The table must have the packets of every game
/// (`hello`, `join` and `ping`; `welcome`, `spawned`, `pong` and `error`), and `state`. If it has
/// `command_accepted` and `command_rejected`, clients receive an ack for each command.
pub trait SimpleGame: Field + Clone + Debug + PartialEq + Send + Sync + 'static {
    /// The name, as in `--game`: a few of a-z, 0-9 and -.
    const NAME: &'static str;
    /// The packet table: file name and text. The game uses its first dialect.
    const TABLE: (&'static str, &'static str);
    /// Name of that dialect. The default is the name of the game.
    const DIALECT: &'static str = Self::NAME;
    /// The page of the game, as HTML.
    const PAGE: &'static str;
    /// Version of the rules. Increase it with every change, so that replays with other rules are
    /// refused.
    const VERSION: u32 = 1;
    /// Supported ticks per second. The first is the default.
    const TICK_RATES: &'static [u32] = &[60, 30];
    /// Whether the game supports lockstep although it has entity lists. A client in lockstep
    /// receives the complete state, so this must be false in a game that hides something.
    const ALLOWS_LOCKSTEP: bool = false;
    /// Options of the world.
    const OPTIONS: &'static [OptionSpec] = &[];

    /// The actions of a player: an enum of [`rows!`](crate::rows!).
    type Action: GameAction + Field + Clone + Debug + Ord + Send + 'static;

    /// The packet that reports a kill. Playback marks it.
    const KILL_PACKET: Option<KillPacket> = None;
    /// The prediction of the local player: `Some(SimplePrediction::for_game())` for a
    /// [`PredictedGame`](super::PredictedGame).
    const PREDICTION: Option<SimplePrediction<Self>> = None;

    /// Creates the initial state.
    fn new(identity: &WorldParams) -> Self;

    /// Adds a player.
    fn join(&mut self, player: PlayerId, joining: &Joining<'_>, context: &mut TickContext<'_>);

    /// Removes a player.
    fn leave(&mut self, player: PlayerId, context: &mut TickContext<'_>);

    /// Stops a player with a suspended seat. Its client may resume it later: then
    /// [`SimpleGame::reconnect`] follows, otherwise [`SimpleGame::leave`].
    fn disconnect(&mut self, player: PlayerId, context: &mut TickContext<'_>) {
        let _ = (player, context);
    }

    /// Continues a player whose client has resumed its suspended seat. Called before the actions of
    /// the new connection.
    fn reconnect(&mut self, player: PlayerId, context: &mut TickContext<'_>) {
        let _ = (player, context);
    }

    /// Executes an action of the operator: of the program around the server, by
    /// [`RoomAccess::act`](crate::RoomAccess::act). By default all are rejected.
    ///
    /// # Errors
    /// Name of the violated rule; the state must be unchanged.
    fn operate(&mut self, action: Self::Action, context: &mut TickContext<'_>) -> ActionResult {
        let _ = (action, context);
        Err("player_only")
    }

    /// Executes a player's action. Called before [`SimpleGame::tick`].
    ///
    /// # Errors
    /// Name of the violated rule; the state must be unchanged. The client receives it in
    /// `command_rejected`, or in `error` if the table lacks that packet.
    fn apply(
        &mut self,
        player: PlayerId,
        action: Self::Action,
        context: &mut TickContext<'_>,
    ) -> ActionResult;

    /// Executes one tick, after the actions of all players.
    fn tick(&mut self, context: &mut TickContext<'_>);

    /// Adds the state rows: the packet `state`, and any further packets that every client receives
    /// whenever their values change. The server sets the argument `tick`.
    fn write_state(&self, rows: &mut StateRows);

    /// Sets the properties of the room, by which clients choose it: `?room=any&where=state:lobby`.
    /// With the number `max_players`, `?room=any` leads at most as many clients here. The
    /// properties are public, at `/rooms`.
    fn write_room(&self, room: &mut RoomProperties) {
        let _ = room;
    }

    /// Returns the score of a player, in a game with scores. The server shows the best player of
    /// the day.
    fn score(&self, player: PlayerId) -> Option<i64> {
        let _ = player;
        None
    }

    /// Adds the entities of the game's [entity lists](super#entity-lists).
    fn write_entities(&self, entities: &mut Entities) {
        let _ = entities;
    }

    /// Returns what a client sees of an entity list, or of the events of a packet that have a
    /// position ([`TickContext::broadcast_at`]). Called once for each client, packet and update.
    fn sight(&self, viewer: Viewer, packet: &str) -> Sight {
        let _ = (viewer, packet);
        Sight::EVERYTHING
    }

    /// Returns whether a client sees one of the entities that [`SimpleGame::sight`] includes, for
    /// example because no wall is in between.
    fn sees(&self, viewer: Viewer, entity: &EntityRef<'_>) -> bool {
        let _ = (viewer, entity);
        true
    }

    /// Creates the policy of a bot. With `None`, bots send random packets of the table, and do not
    /// fill the rooms of a server.
    fn bot_policy() -> Option<Box<dyn BotPolicy<Self::Action>>> {
        None
    }
}

/// A player that joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Joining<'a> {
    /// The display name, which the client chose: at most 15 characters.
    pub name: &'a str,
    /// The account: the name of the client's token. `None` on a server without tokens, and in
    /// captures of programs that did not record accounts.
    pub account: Option<&'a str>,
}

impl<'a> Joining<'a> {
    /// Creates a player without an account, for tests of a game.
    pub const fn new(name: &'a str) -> Joining<'a> {
        Joining { name, account: None }
    }

    /// Returns the player with an account.
    #[must_use]
    pub const fn with_account(self, account: &'a str) -> Joining<'a> {
        Joining { account: Some(account), ..self }
    }
}

/// The result of an action: the name of the violated rule if it is rejected.
pub type ActionResult = Result<(), &'static str>;

/// The functions of a [`PredictedGame`](super::PredictedGame), for [`SimpleGame::PREDICTION`].
#[derive(Debug)]
pub struct SimplePrediction<S> {
    pub(super) new_predictor: NewPredictor,
    pub(super) own_state: (RowFields, PushOwnState<S>),
}

/// The name of a packet, and the names of its fields.
type RowFields = (&'static str, &'static [&'static str]);

/// Appends the fields of a player's own state. Returns false if the player has none.
type PushOwnState<S> = fn(&S, PlayerId, &mut Vec<FieldValue>) -> bool;

/// Context of a game's functions in a tick.
#[derive(Debug)]
pub struct TickContext<'a> {
    /// Number of this tick, from 0.
    pub tick: u32,
    /// Ticks per second.
    pub tick_hz: u32,
    /// The random number generator of the world. Its state is part of the world. In a game with
    /// entity lists it starts from a secret of the server, because every client receives the seed
    /// in `welcome`. It is not made for secrets that are worth money.
    pub random: &'a mut Rng,
    pub(super) events: &'a mut Vec<OutgoingEvent>,
    pub(super) reports: &'a mut Vec<Report>,
}

impl TickContext<'_> {
    /// Sends an event to all clients: a packet of the table in its reliable lane.
    pub fn broadcast<R: Row>(&mut self, event: R) {
        self.push_event(Audience::All, event.into());
    }

    /// Sends an event to the clients whose [sight](SimpleGame::sight) includes it after this tick.
    pub fn broadcast_at<R: Row>(&mut self, info: EntityInfo, event: R) {
        self.push_event(Audience::Sight(info), event.into());
    }

    /// Sends an event to the client of one player.
    pub fn send_to<R: Row>(&mut self, player: PlayerId, event: R) {
        self.push_event(Audience::Player(player), event.into());
    }

    /// Reports something to the program around the server, such as the result of a round; see
    /// [`Server::on_event`](crate::Server::on_event). No client receives it, and a replay ignores
    /// it.
    pub fn report(&mut self, name: &'static str, set_values: impl FnOnce(&mut Report)) {
        let mut report = Report::new(name);
        set_values(&mut report);
        self.reports.push(report);
    }

    /// Sends an `error` packet to the client of a player, because an action was refused by this
    /// rule.
    pub fn send_error(&mut self, player: PlayerId, rule: &str) {
        let detail = format!("the rules of the game refuse this: {}", rule.replace('_', " "));
        let values = vec![rule.into_value(), (&*detail).into_value()];
        self.push_event(Audience::Player(player), RowValues::new("error", &["rule", "detail"], values));
    }

    /// As [`TickContext::send_error`], for a rejected command. Not sent in dialects with
    /// `command_rejected`.
    pub(super) fn reject(&mut self, player: PlayerId, rule: &str) {
        self.send_error(player, rule);
        if let Some(event) = self.events.last_mut() {
            event.is_answer = true;
        }
    }

    fn push_event(&mut self, audience: Audience, row: RowValues) {
        self.events.push(OutgoingEvent { audience, row, is_answer: false });
    }
}

/// The clients that receive an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// All clients.
    All,
    /// The client of this player.
    Player(PlayerId),
    /// The clients that see an event with these properties.
    Sight(EntityInfo),
}

/// A packet to some clients.
#[derive(Debug, Clone, PartialEq)]
pub struct OutgoingEvent {
    /// The receiving clients.
    pub audience: Audience,
    /// The packet.
    pub row: RowValues,
    /// Whether it reports that a command was rejected.
    pub is_answer: bool,
}

impl OutgoingEvent {
    /// Returns whether the event is for one client only and does not answer a command. Such events
    /// are also sent after a resume.
    pub(super) fn is_private(&self) -> bool {
        matches!(self.audience, Audience::Player(_)) && !self.is_answer
    }
}
