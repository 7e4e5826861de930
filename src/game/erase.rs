//! Erases the types of a game: implements [`GameInfo`], [`DynWorld`] and [`SpectatorWorld`].

use std::sync::Arc;

use tickwire_sim::{
    Action, EncodedAction, MembershipChange, PlayerId, RawCommand, Sim, WorldParams, command_frame,
};

use super::bots::hooks::GameCheckHooks;
use super::dyn_tick::DynTick;
use super::game::{ActionOf, Game, Published, Publisher as _, TypedWorld, UpdateRates, View as _};
use super::info::{ClientFeed, DynWorld, DynWorldResult, GameInfo, SpectatorWorld, SpectatorWorldResult};
use super::messages::Messages;
use super::packet_handler::JoinRequest;
use crate::packet::Dialect;

impl GameInfo {
    /// Creates the info of a game.
    pub const fn of<G: Game>() -> GameInfo {
        GameInfo {
            name: G::NAME,
            paths: G::PATHS,
            foreign_dialects: G::FOREIGN_DIALECTS,
            tables: G::TABLES,
            required_packets: G::REQUIRED_PACKETS,
            // A browser has the page as a file.
            page: if cfg!(target_family = "wasm") { None } else { G::PAGE },
            rules: G::RULES_JSON,
            operator_commands: G::OPERATOR_COMMANDS,
            kill_packet: G::KILL_PACKET,
            is_predicted: G::PREDICTOR.is_some(),
            bots: None,
            checks: GameCheckHooks::NONE,
            options: G::Sim::OPTIONS,
            tick_rates: G::Sim::TICK_RATES,
            rules_hash: G::rules_hash,
            check: G::check,
            new_packet_handler: G::packet_handler,
            join: join::<G>,
            leave: leave::<G>,
            disconnect: away::<G>,
            reconnect: back::<G>,
            identity: WorldParams::default_for::<G::Sim>,
            frame: command_frame::decode_raw::<ActionOf<G>>,
            membership: membership::<ActionOf<G>>,
            accompanies_join: accompanies_join::<ActionOf<G>>,
            describe_action: describe_action::<G>,
            recognizes: G::Sim::is_snapshot,
            new_world: new_world::<G::Sim>,
            restore: restore::<G::Sim>,
            new_spectator_world: new_spectator_world::<G>,
        }
    }
}

fn join<G: Game>(player: PlayerId, profile: &JoinRequest) -> Vec<EncodedAction> {
    G::join(player, profile).iter().map(Action::encoded).collect()
}

fn leave<G: Game>(player: PlayerId) -> EncodedAction {
    G::leave(player).encoded()
}

fn away<G: Game>(player: PlayerId) -> EncodedAction {
    G::disconnect(player).encoded()
}

fn back<G: Game>(player: PlayerId) -> Option<EncodedAction> {
    G::reconnect(player).map(|action| action.encoded())
}

fn membership<A: Action>(action: &EncodedAction) -> Option<MembershipChange> {
    action.decoded::<A>()?.membership()
}

fn accompanies_join<A: Action>(action: &EncodedAction, player: PlayerId) -> bool {
    action.decoded::<A>().is_some_and(|action| action.accompanies_join(player))
}

fn describe_action<G: Game>(action: &EncodedAction) -> String {
    action.decoded().map_or_else(|| format!("{action:?}"), |action| G::describe_action(&action))
}

fn new_world<S: Sim>(identity: &WorldParams) -> Box<dyn DynWorld> {
    into_dyn(S::new(identity))
}

fn restore<S: Sim>(bytes: &[u8]) -> DynWorldResult {
    Ok(into_dyn(S::restore(bytes)?))
}

fn into_dyn<S: Sim>(sim: S) -> Box<dyn DynWorld> {
    Box::new(TypedWorld::new(sim))
}

#[derive(Debug)]
struct TypedSpectatorWorld<G: Game> {
    played: TypedWorld<G::Sim>,
    publisher: G::Publisher,
    view: G::View,
    scratch: G::Scratch,
    dialect: Arc<Dialect>,
    published: Option<Arc<Published<G>>>,
    /// Events of skipped ticks.
    skipped: Vec<Arc<G::Events>>,
}

#[derive(Debug)]
struct TypedClientFeed<G: Game> {
    view: G::View,
    scratch: G::Scratch,
    dialect: Arc<Dialect>,
}

impl<G: Game> ClientFeed for TypedClientFeed<G> {
    fn append_update(
        &mut self,
        tick: &dyn DynTick,
        player: Option<PlayerId>,
        spectated: Option<PlayerId>,
        messages: &mut Messages,
    ) {
        // Cannot fail: both sides use the same game.
        let Some(published) = tick.of::<G>() else { return };
        self.view.set_subject(player, spectated);
        self.view.update(&[], published, false, &self.dialect, &mut self.scratch, messages);
    }
}

/// Restores a world from a snapshot, with the view of a client that has received nothing yet.
fn new_spectator_world<G: Game>(snapshot: &[u8], dialect: &Arc<Dialect>) -> SpectatorWorldResult {
    let sim = G::Sim::restore(snapshot)?;
    let tick_hz = sim.identity().tick_hz;
    let rates = UpdateRates { tick_hz, update_hz: tick_hz, foreign_hz: tick_hz };
    Ok(Box::new(TypedSpectatorWorld::<G> {
        publisher: G::Publisher::new(&sim, rates),
        played: TypedWorld::new(sim),
        view: G::View::new(dialect),
        scratch: G::Scratch::default(),
        dialect: Arc::clone(dialect),
        published: None,
        skipped: Vec::new(),
    }))
}

impl<G: Game> SpectatorWorld for TypedSpectatorWorld<G> {
    fn world(&self) -> &dyn DynWorld {
        &self.played
    }

    fn world_mut(&mut self) -> &mut dyn DynWorld {
        &mut self.played
    }

    fn step(
        &mut self,
        commands: &[RawCommand],
        player: Option<PlayerId>,
        spectated: Option<PlayerId>,
        messages: &mut Messages,
    ) {
        let published = self.publish(commands);
        let TypedSpectatorWorld { view, scratch, dialect, published: last, skipped, .. } = self;
        view.set_subject(player, spectated);
        view.update(skipped, &published, false, dialect, scratch, messages);
        skipped.clear();
        *last = Some(Arc::new(published));
    }

    fn step_without_update(&mut self, commands: &[RawCommand]) {
        let published = self.publish(commands);
        self.skipped.push(published.events);
    }

    fn names(&self) -> Vec<(PlayerId, String)> {
        G::names(self.played.sim())
    }

    fn detach_feed(&mut self) -> Box<dyn ClientFeed> {
        let view = std::mem::replace(&mut self.view, G::View::new(&self.dialect));
        let (scratch, dialect) = (G::Scratch::default(), Arc::clone(&self.dialect));
        Box::new(TypedClientFeed::<G> { view, scratch, dialect })
    }

    fn published(&self) -> Option<Arc<dyn DynTick>> {
        self.published.as_ref().map(|published| Arc::clone(published) as Arc<dyn DynTick>)
    }
}

impl<G: Game> TypedSpectatorWorld<G> {
    fn publish(&mut self, commands: &[RawCommand]) -> Published<G> {
        let TypedSpectatorWorld { played, publisher, .. } = self;
        played.step(commands);
        // Clients do not use the lead here, and only the server knows it.
        publisher.publish(played.sim(), &|_| i16::MIN)
    }
}
