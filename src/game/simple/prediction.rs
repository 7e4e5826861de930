//! Prediction in simple games: the world as a client knows it, simulated by the game's own rules.

use std::sync::Arc;

use tickwire_sim::{Command, PlayerId, Sim as _, StepResult, WorldParams};

use super::simple_game::{Joining, SimpleGame};
use super::world::{PlayerEntry, SimpleAction, SimpleWorld, rules_hash};
use super::{OWN_STATE_PACKET, SimplePacketHandler};
use crate::game::packet_handler::PacketHandler;
use crate::game::prediction::{Acked, LocalWorld, Position, RemotePlayers};
use crate::packet::{DecodedPacket, Dialect};

/// A simple game with prediction of the local player. Its table must have the packet `own_state`,
/// and [`SimpleGame::own_state`] returns it.
///
/// Set [`SimpleGame::PREDICTOR`] to `Some(prediction::new_predictor::<SimpleLocalWorld<Self>>)` for
/// pages, and use `Prediction::<SimpleLocalWorld<Self>>` in a client in Rust.
pub trait PredictedGame: SimpleGame {
    /// Applies a received packet to the state of this player's client. For the packet `own_state`,
    /// the state has been simulated up to the tick that it names. Returns whether anything changed.
    fn apply_packet(&mut self, packet: &DecodedPacket<'_>, own: PlayerId) -> bool;

    /// Returns the position of a player in 1/65,536 px.
    fn place(&self, player: PlayerId) -> Option<Position>;

    /// Appends further numbers of the local player for the page.
    fn numbers(&self, player: PlayerId, out: &mut Vec<i32>);

    /// As [`LocalWorld::collect_remote_players`].
    fn others(packet: &DecodedPacket<'_>, own: Option<PlayerId>, others: &mut RemotePlayers) {
        let _ = (packet, own, others);
    }

    /// As [`LocalWorld::extrapolate`]. The default continues in a straight line.
    fn walk_on(&self, from: Position, velocity: Position, ticks: u32) -> Position {
        let ticks = i32::try_from(ticks).unwrap_or(i32::MAX);
        let on = |at: i32, step: i32| at.saturating_add(step.saturating_mul(ticks));
        (on(from.0, velocity.0), on(from.1, velocity.1))
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
                let state = state.get_or_insert_with(|| self.enter(own));
                state.world.tick = packet.integer("tick").unwrap_or(state.world.tick);
                state.world.game.apply_packet(packet, own)
            }
            (_, Some(own)) => state.as_mut().is_some_and(|state| state.world.game.apply_packet(packet, own)),
            _ => false,
        }
    }

    fn collect_remote_players(&self, packet: &DecodedPacket<'_>, others: &mut RemotePlayers) {
        S::others(packet, self.own, others);
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
        state.world.step(commands, &mut self.stepped);
        None
    }

    fn position(LocalState { own, world }: &LocalState<S>) -> Position {
        world.game.place(*own).unwrap_or_default()
    }

    fn export_numbers(LocalState { own, world }: &LocalState<S>, out: &mut Vec<i32>) {
        world.game.numbers(*own, out);
    }

    fn event_numbers((): &()) -> [i32; 2] {
        [0; 2]
    }

    fn extrapolate(&self, from: Position, velocity: Position, ticks: u32) -> Position {
        self.start.game.walk_on(from, velocity, ticks)
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
            &mut super::TickContext {
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
