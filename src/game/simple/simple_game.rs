//! What the author of a simple game writes.

use std::fmt::Debug;

use super::bot_policy::BotPolicy;
use super::named_values::NamedValues;
use tickwire_sim::fields::Field;
use tickwire_sim::{OptionSpec, PlayerId, Rng, WorldParams};

use crate::game::info::KillPacket;
use crate::game::prediction::NewPredictor;
#[cfg(doc)]
use crate::limits;
use crate::packet::DecodedPacket;

/// A game whose clients all see the same.
///
/// The state is the type itself. It is deterministic: integers only, no clock, no hash maps; random
/// numbers come from [`TickContext::random`]. The table must have the packets that every game has (`hello`,
/// `enter` and `ping`; `welcome`, `spawned`, `pong` and `error`), and `state`. With `command_accepted`
/// and `command_rejected` in it, clients are told what became of each command.
pub trait SimpleGame: Field + Clone + Debug + PartialEq + Send + Sync + 'static {
    /// Its name, as in `--game`: a few of a-z, 0-9 and -.
    const NAME: &'static str;
    /// The packet table: the name of its file, and its text. Its first dialect is the game's.
    const TABLE: (&'static str, &'static str);
    /// The name of that dialect.
    const DIALECT: &'static str;
    /// The page of the game, as HTML.
    const PAGE: &'static str;
    /// The version of its rules: raised with every change of them, so that a replay by other rules is
    /// refused.
    const VERSION: u32 = 1;
    /// Ticks per second; the first is the default.
    const TICK_RATES: &'static [u32] = &[60, 30];
    /// Options of the game.
    const OPTIONS: &'static [OptionSpec] = &[];

    /// What a player can do: a struct with [`fields!`](tickwire_sim::fields!).
    type Action: Field + Clone + Debug + Ord + Send + 'static;

    /// The packet that tells everybody of a kill: it is marked where a capture is watched again.
    const KILL_PACKET: Option<KillPacket> = None;
    /// What runs a client's own player ahead of the server, for its page: see
    /// [`PredictedGame`](super::PredictedGame). The table then has the packet `own`, with the arguments `tick`,
    /// `sequence` and `margin`, which the server sets, and those of [`SimpleGame::own`].
    const PREDICTOR: Option<NewPredictor> = None;

    /// The state at the beginning.
    fn new(identity: &WorldParams) -> Self;

    /// What a packet asks for; `None` if it asks for nothing.
    fn action(packet: &DecodedPacket<'_>) -> Option<Self::Action>;

    /// A player comes. Its name has at most [`limits::NAME_CHARS`] characters.
    fn join(&mut self, player: PlayerId, name: &str, turns: &mut TickContext<'_>);

    /// A player goes.
    fn leave(&mut self, player: PlayerId);

    /// A player's connection is gone; another one may come back to the player in a while. Whatever the
    /// player did ends here.
    fn disconnect(&mut self, player: PlayerId) {
        let _ = player;
    }

    /// Carries out what a player asks for, before the tick passes.
    ///
    /// # Errors
    /// A rule's name: the player may not do this, and nothing has changed. Its client is told so by the
    /// packet `command_rejected`, or if the table lacks it, by `error`.
    fn apply(
        &mut self,
        player: PlayerId,
        action: Self::Action,
        turns: &mut TickContext<'_>,
    ) -> Result<(), &'static str>;

    /// One tick passes, after the actions of all players.
    fn tick(&mut self, turns: &mut TickContext<'_>);

    /// The values of the packet `state`, by the names of its arguments.
    fn write_state(&self, row: &mut NamedValues);

    /// The values of the packet `own`: the exact state of a player, for its own client.
    fn own(&self, player: PlayerId, row: &mut NamedValues) {
        let _ = (player, row);
    }

    /// How its bots play. Without this they send random packets of the table.
    fn bot_policy() -> Option<Box<dyn BotPolicy>> {
        None
    }
}

/// What a game may use in a tick.
#[derive(Debug)]
pub struct TickContext<'a> {
    /// The number of this tick, from 0.
    pub tick: u32,
    /// Ticks per second.
    pub tick_hz: u32,
    /// The generator of the world, whose state is part of it.
    pub random: &'a mut Rng,
    pub(super) events: &'a mut Vec<OutgoingEvent>,
}

impl TickContext<'_> {
    /// Tells every client of an event: a packet of the table, in its reliable lane.
    pub fn broadcast(&mut self, packet: &'static str, values: impl FnOnce(&mut NamedValues)) {
        self.push_event(None, packet, values);
    }

    /// The same for the client of one player alone.
    pub fn send_to(&mut self, player: PlayerId, packet: &'static str, values: impl FnOnce(&mut NamedValues)) {
        self.push_event(Some(player), packet, values);
    }

    /// Tells the client of a player, by the packet `error`, that something was refused by this rule.
    pub fn send_error(&mut self, player: PlayerId, rule: &str) {
        self.push_error(player, rule);
    }

    /// The same for a command that is rejected: a dialect with `command_rejected` has its own answer.
    pub(super) fn reject(&mut self, player: PlayerId, rule: &str) {
        self.push_error(player, rule);
        if let Some(told) = self.events.last_mut() {
            told.is_answer = true;
        }
    }

    fn push_error(&mut self, player: PlayerId, rule: &str) {
        let detail = format!("the rules of the game refuse this: {}", rule.replace('_', " "));
        self.send_to(player, "error", |row| {
            row.set("rule", rule);
            row.set("detail", detail);
        });
    }

    fn push_event(
        &mut self,
        to: Option<PlayerId>,
        packet: &'static str,
        values: impl FnOnce(&mut NamedValues),
    ) {
        let mut row = NamedValues::default();
        values(&mut row);
        self.events.push(OutgoingEvent { to, packet, row, is_answer: false });
    }
}

/// An event.
#[derive(Debug, Clone, PartialEq)]
pub struct OutgoingEvent {
    /// The player whose client is told; `None` for all clients.
    pub to: Option<PlayerId>,
    /// Its name.
    pub packet: &'static str,
    /// Its values.
    pub row: NamedValues,
    /// Whether it says that a command was rejected.
    pub is_answer: bool,
}

impl OutgoingEvent {
    /// Whether one player alone is told, and it is no answer: it is told also if it comes back later.
    pub(super) fn is_private(&self) -> bool {
        self.to.is_some() && !self.is_answer
    }
}
