//! Prediction in simple games: the world as a client knows it, simulated by the game's own rules.

use std::sync::Arc;

use tickwire_sim::{Command, PlayerId, Sim as _, StepResult, WorldParams};

use super::SimplePacketHandler;
use super::rows::{ReceivedRow, Row as _};
use super::simple_game::{Joining, SimpleGame, SimplePrediction, TickContext};
use super::table_check::OWN_STATE_PACKET;
use super::world::{PlayerEntry, SimpleAction, SimpleWorld, rules_hash};
use crate::game::packet_handler::PacketHandler;
use crate::game::prediction::{Acked, LocalWorld, Position, RemotePlayers, new_predictor};
use crate::packet::{DecodedPacket, Dialect};

/// A simple game with prediction of the local player. Its table must have the packet `own_state`,
/// with the arguments `tick`, `sequence` and `margin`, which the server sets, and the fields of
/// [`PredictedGame::OwnState`].
///
/// Set [`SimpleGame::PREDICTION`] to `Some(SimplePrediction::for_game())`. A page then predicts
/// with the module that the command `prediction` of the program builds, a client in Rust with
/// `Prediction::<SimpleLocalWorld<Self>>`.
pub trait PredictedGame: SimpleGame {
    /// The packet `own_state`, as a struct of [`rows!`](crate::rows!).
    type OwnState: ReceivedRow;

    /// Returns the exact fields that decide how a player moves. Only its own client receives them.
    fn own_state(&self, player: PlayerId) -> Option<Self::OwnState>;

    /// Sets these fields in the client's game, which has been simulated up to the tick of the
    /// packet. In this game, only the local player has joined. Returns whether there is something
    /// to predict; false, for example, after a death.
    fn apply_own_state(&mut self, player: PlayerId, own: Self::OwnState) -> bool;

    /// Returns the position of a player in 1/65,536 px.
    fn position(&self, player: PlayerId) -> Option<Position>;

    /// Executes one tick of the client's game, after the player's actions. The default is the whole
    /// [`SimpleGame::tick`]. A game whose tick adds what the client does not know, such as random
    /// enemies, simulates the local player alone.
    fn predict_tick(&mut self, player: PlayerId, context: &mut TickContext<'_>) {
        let _ = player;
        self.tick(context);
    }

    /// Applies any other received packet, for example with obstacles that move. Returns whether
    /// anything changed.
    fn apply_packet(&mut self, player: PlayerId, packet: &DecodedPacket<'_>) -> bool {
        let _ = (player, packet);
        false
    }

    /// Appends further numbers of the local player for the page.
    fn export_numbers(&self, player: PlayerId, out: &mut Vec<i32>) {
        let _ = (player, out);
    }

    /// As [`LocalWorld::collect_remote_players`].
    fn collect_remote_players(packet: &DecodedPacket<'_>, own: Option<PlayerId>, others: &mut RemotePlayers) {
        let _ = (packet, own, others);
    }

    /// As [`LocalWorld::extrapolate`]. The default continues in a straight line.
    fn extrapolate(&self, from: Position, velocity: Position, ticks: u32) -> Position {
        let ticks = i32::try_from(ticks).unwrap_or(i32::MAX);
        let on = |at: i32, step: i32| at.saturating_add(step.saturating_mul(ticks));
        (on(from.0, velocity.0), on(from.1, velocity.1))
    }
}

impl<S: PredictedGame> SimplePrediction<S> {
    /// The prediction of the game `S`.
    pub const fn for_game() -> SimplePrediction<S> {
        SimplePrediction {
            new_predictor: new_predictor::<SimpleLocalWorld<S>>,
            own_state: ((S::OwnState::PACKET, S::OwnState::FIELDS), |game, player, out| {
                game.own_state(player).map(|row| row.push_values(out)).is_some()
            }),
        }
    }
}

/// The [`LocalWorld`] of a simple game.
#[derive(Debug)]
pub struct SimpleLocalWorld<S> {
    tick_hz: u32,
    own: Option<PlayerId>,
    /// A new world without players.
    start: SimpleWorld<S>,
    stepped: StepResult,
}

/// The state of a [`SimpleLocalWorld`]: the world as the client knows it.
#[derive(Debug, Clone)]
pub struct LocalState<S> {
    own: PlayerId,
    world: SimpleWorld<S>,
}

impl<S: PredictedGame> LocalWorld for SimpleLocalWorld<S> {
    type Action = SimpleAction<S::Action>;
    type State = LocalState<S>;
    type Event = ();

    const UPDATE: &'static str = OWN_STATE_PACKET;

    fn new(welcome: &DecodedPacket<'_>) -> Option<SimpleLocalWorld<S>> {
        let is_same = welcome.text("rules_hash")? == format!("{:016x}", rules_hash::<S>());
        let mut identity = WorldParams::default_for::<SimpleWorld<S>>(welcome.integer("seed")?);
        identity.tick_hz = welcome.integer("tick_hz")?;
        for option in S::OPTIONS {
            welcome.integer(option.name).into_iter().for_each(|value| identity.set(option.name, value));
        }
        let start = SimpleWorld::new(&identity);
        let tick_hz = start.identity().tick_hz;
        is_same.then(|| SimpleLocalWorld { tick_hz, own: None, start, stepped: StepResult::default() })
    }

    fn tick_hz(&self) -> u32 {
        self.tick_hz
    }

    fn packet_handler(_: &Dialect) -> Box<dyn PacketHandler> {
        Box::new(SimplePacketHandler::<S>(std::marker::PhantomData))
    }

    fn is_predicted(action: &SimpleAction<S::Action>) -> bool {
        matches!(action, SimpleAction::Act(_))
    }

    fn acked(update: &DecodedPacket<'_>) -> Option<Acked> {
        let margin_ticks = update.integer("margin").unwrap_or(0);
        Some(Acked { sequence: update.integer("sequence")?, margin_ticks })
    }

    fn apply_packet(&mut self, packet: &DecodedPacket<'_>, state: &mut Option<LocalState<S>>) -> bool {
        match (packet.row.name.as_str(), self.own) {
            ("spawned", _) => {
                self.own = packet.integer("player").map(PlayerId);
                *state = None;
                true
            }
            (OWN_STATE_PACKET, Some(own)) => {
                let LocalState { world, .. } = state.get_or_insert_with(|| self.enter(own));
                world.tick = packet.integer("tick").unwrap_or(world.tick);
                let row = S::OwnState::from_packet(packet);
                if !row.is_some_and(|row| world.game.apply_own_state(own, row)) {
                    *state = None;
                }
                true
            }
            (_, Some(own)) => state.as_mut().is_some_and(|state| state.world.game.apply_packet(own, packet)),
            _ => false,
        }
    }

    fn collect_remote_players(&self, packet: &DecodedPacket<'_>, others: &mut RemotePlayers) {
        S::collect_remote_players(packet, self.own, others);
    }

    fn own_player(&self) -> Option<PlayerId> {
        self.own
    }

    fn step(
        &mut self,
        tick: u32,
        state: &mut LocalState<S>,
        commands: &mut Vec<Command<SimpleAction<S::Action>>>,
    ) -> Option<()> {
        state.world.tick = tick;
        let LocalState { own, world } = state;
        world.step_with(commands, &mut self.stepped, |game, context| game.predict_tick(*own, context));
        None
    }

    fn position(LocalState { own, world }: &LocalState<S>) -> Position {
        world.game.position(*own).unwrap_or_default()
    }

    fn export_numbers(LocalState { own, world }: &LocalState<S>, out: &mut Vec<i32>) {
        world.game.export_numbers(*own, out);
    }

    fn event_numbers((): &()) -> [i32; 2] {
        [0; 2]
    }

    fn extrapolate(&self, from: Position, velocity: Position, ticks: u32) -> Position {
        self.start.game.extrapolate(from, velocity, ticks)
    }
}

impl<S: PredictedGame> SimpleLocalWorld<S> {
    /// Creates a world with only the local player, just after its join.
    fn enter(&self, own: PlayerId) -> LocalState<S> {
        let mut world = self.start.clone();
        let (mut events, mut reports) = (Vec::new(), Vec::new());
        let mut random = world.random.clone();
        world.game.join(
            own,
            &Joining { name: "", account: None },
            &mut TickContext {
                tick: 0,
                tick_hz: self.tick_hz,
                random: &mut random,
                events: &mut events,
                reports: &mut reports,
            },
        );
        world.players = vec![PlayerEntry { player: own, name: Arc::from(""), sequence: 0 }];
        LocalState { own, world }
    }
}
