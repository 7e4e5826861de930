//! The types of this game, and the choice between its two layouts: a shared publisher, and one
//! client's view in either layout.
//!
//! The published state of a tick is created once and shared by the views of all workers. The
//! records of a layout are encoded when the first view needs them.

use std::sync::Arc;

use super::describe::describe;
use super::operator_commands::OPERATOR_COMMANDS;
use super::packet_handler::{JoinData, MooPacketHandler};
use super::prediction::MooLocalWorld;
use super::published::PublishedState;
use super::rules_json;
use super::table_check;
use crate::connection::session::has_hello;
use crate::game::prediction::{self, NewPredictor};
use crate::game::{
    self, Game, GameInfo, JoinRequest, KillPacket, Messages, OperatorCommand, PlayerScore, Published, Roster,
    StateOutcome, UpdateRates,
};
use crate::games::moo::feed::{
    Events, MoomooScratch, MoomooView, NativeScratch, NativeTicks, NativeView, PublicState, UpdateDelta,
    UpdateLayout, WorldReader,
};
use crate::games::moo::world::{Action, PlayerId, Resource, World, rules, rules_hash};
use crate::packet::tables::BUILTIN;
use crate::packet::{Dialect, Lane, PacketTables, TableError};

/// The game `moo`.
#[derive(Debug)]
pub struct Moo;

impl Game for Moo {
    const NAME: &'static str = "moo";
    const PATHS: &'static [(&'static str, &'static str)] =
        &[("/play", "native"), ("/", "legacy"), ("/moomoo", "legacy"), ("/server", "letters")];
    const FOREIGN_DIALECTS: Option<&'static str> = Some("MooMoo dialects");
    const TABLES: &'static [(&'static str, &'static str)] = &BUILTIN;
    const RULES_JSON: Option<fn() -> String> = Some(rules_json::rules_json);
    const OPERATOR_COMMANDS: &'static [OperatorCommand] = &OPERATOR_COMMANDS;
    const KILL_PACKET: Option<KillPacket> = Some(KillPacket::new("kill", "victim_name", "killer_name"));
    #[cfg(target_family = "wasm")]
    const INFO: &'static GameInfo = &GameInfo::of::<Self>().with_bots::<Self>();
    #[cfg(not(target_family = "wasm"))]
    const INFO: &'static GameInfo = &GameInfo::of::<Self>().with_checks::<Self>();
    const PREDICTOR: Option<NewPredictor> = Some(prediction::new_predictor::<MooLocalWorld>);

    type Sim = World;
    type Events = Events;
    type State = PublishedState;
    type Publisher = MooPublisher;
    type View = MooView;
    type Scratch = MooScratch;

    fn rules_hash() -> u64 {
        rules_hash()
    }

    fn check(codes: &PacketTables) -> Result<(), TableError> {
        Ok(table_check::check_tables(codes)?)
    }

    fn is_sent_on_resume(events: &Events) -> bool {
        events.notices().next().is_some()
    }

    fn packet_handler(_: &Dialect) -> Box<dyn game::PacketHandler> {
        Box::<MooPacketHandler>::default()
    }

    /// A MooMoo client may request resources when it joins.
    fn join(player: PlayerId, profile: &JoinRequest) -> Vec<Action> {
        let JoinData { skin, gift } = JoinData::of(profile);
        let amount = rules::MOOFOLL_GIFT;
        let gifts = Resource::ALL.into_iter().filter(|_| gift);
        let gifts = gifts.map(|resource| Action::Grant { player, resource, amount });
        std::iter::once(Action::Join { player, name: profile.name.clone(), skin }).chain(gifts).collect()
    }

    fn leave(player: PlayerId) -> Action {
        Action::Leave { player }
    }

    fn disconnect(player: PlayerId) -> Action {
        Action::Disconnect { player }
    }

    fn describe_action(action: &Action) -> String {
        describe(action)
    }

    fn names(sim: &World) -> Vec<(PlayerId, String)> {
        sim.players().map(|player| (player.id, player.name.to_string())).collect()
    }

    fn roster(published: &Published<Moo>) -> Roster {
        let players = published.state.players.iter().map(|player| {
            let health = if player.alive { player.health.to_string() } else { "dead".to_owned() };
            let (age, score) = (player.age, player.score);
            let (x_px, y_px) = (player.body.x.to_px(), player.body.y.to_px());
            let line = format!("{age:>3}  {score:>7}  {health:>6}  {x_px:>5}  {y_px:>5}");
            (player.player, player.name.to_string(), line)
        });
        Roster { heading: "age   points  health      x      y", players: players.collect() }
    }

    fn scores(published: &Published<Moo>) -> Vec<PlayerScore> {
        let players = published.state.players.iter();
        players.map(|player| (player.player, Arc::clone(&player.name), i64::from(player.score))).collect()
    }
}

fn hz(layout: UpdateLayout, rates: &UpdateRates) -> u32 {
    match layout {
        UpdateLayout::Native => rates.update_hz,
        UpdateLayout::Moomoo => rates.foreign_hz,
    }
}

/// Publishes the world after each tick.
#[derive(Debug)]
pub struct MooPublisher {
    rates: UpdateRates,
    reader: WorldReader,
    /// State of the last native update: the base of the differences in the next native update.
    previous: Option<Arc<PublicState>>,
}

impl game::Publisher<Moo> for MooPublisher {
    fn new(world: &World, rates: UpdateRates) -> MooPublisher {
        MooPublisher { rates, reader: WorldReader::new(world), previous: None }
    }

    fn publish(&mut self, world: &World, margin: &dyn Fn(PlayerId) -> i16) -> Published<Moo> {
        let (events, state) = self.reader.read(world, margin);
        let (tick, players, state) = (state.tick, state.players.len(), Arc::new(state));
        let since = UpdateDelta::since(self.previous.clone());
        if self.rates.is_update_due(self.rates.update_hz, tick) {
            self.previous = Some(Arc::clone(&state));
        }
        let event_bytes = events.bytes();
        let state = Arc::new(PublishedState { state, rates: self.rates, since });
        Published { tick, players, events: Arc::new(events), event_bytes, state }
    }
}

/// Buffers of a worker, reused by its views in turn, so that the steady state allocates nothing.
#[derive(Debug, Default)]
pub struct MooScratch {
    native: NativeScratch,
    moomoo: MoomooScratch,
}

/// One client's view of the world.
#[derive(Debug)]
pub enum MooView {
    /// The view of a native client.
    Native(NativeView),
    /// The view of a MooMoo client. Boxed, because it is four times as large as the other one.
    Moomoo(Box<MoomooView>),
}

impl game::View<Moo> for MooView {
    fn new(dialect: &Dialect) -> MooView {
        if has_hello(dialect) {
            MooView::Native(NativeView::default())
        } else {
            MooView::Moomoo(Box::default())
        }
    }

    fn replay_missed(&mut self, events: &Events, dialect: &Dialect, messages: &mut Messages) {
        // MooMoo dialects have no resume.
        if matches!(self, MooView::Native(_)) {
            let out = &mut messages.writer(dialect, Lane::Reliable);
            events.notices().for_each(|text| out.send("notice", text));
        }
    }

    fn set_subject(&mut self, player: Option<PlayerId>, spectated: Option<PlayerId>) {
        match self {
            MooView::Native(view) => view.set_subject(player, spectated),
            MooView::Moomoo(view) => view.known.player = player,
        }
    }

    fn update(
        &mut self,
        missed: &[Arc<Events>],
        newest: &Published<Moo>,
        is_behind: bool,
        dialect: &Dialect,
        scratch: &mut MooScratch,
        messages: &mut Messages,
    ) -> StateOutcome {
        let state = &*newest.state;
        let layout = match self {
            MooView::Native(_) => UpdateLayout::Native,
            MooView::Moomoo(_) => UpdateLayout::Moomoo,
        };
        let hz = hz(layout, &state.rates);
        let mut ticks = missed.iter().map(|events| events.tick).chain([newest.tick]);
        let outcome = match ticks.any(|tick| state.rates.is_update_due(hz, tick)) {
            false => StateOutcome::NotDue,
            true if is_behind => StateOutcome::Deferred,
            true => StateOutcome::Written,
        };
        match self {
            MooView::Native(view) => {
                let PublishedState { state, since, .. } = state;
                let ticks = NativeTicks { missed, newest: &newest.events, state, since, outcome };
                view.update(ticks, dialect, &mut scratch.native, messages);
            }
            MooView::Moomoo(view) => {
                let events = |view: &mut MoomooView, events, messages: &mut Messages| {
                    view.events(events, &state.state, &mut messages.writer(dialect, Lane::Reliable));
                };
                missed.iter().for_each(|missed| events(view, missed, messages));
                if outcome == StateOutcome::Written {
                    let out = &mut messages.writer(dialect, Lane::Latest);
                    view.state(&state.state, &mut scratch.moomoo, out);
                }
                events(view, &newest.events, messages);
            }
        }
        outcome
    }

    fn prefetch_fields(&self) {
        match self {
            MooView::Native(view) => view.prefetch_fields(),
            MooView::Moomoo(view) => view.prefetch_fields(),
        }
    }

    fn prefetch_lists(&self) {
        match self {
            MooView::Native(view) => view.prefetch_lists(),
            MooView::Moomoo(view) => view.known.prefetch_lists(),
        }
    }

    fn quiet_until(&self, newest: &Published<Moo>) -> Option<u32> {
        match self {
            MooView::Native(_) => None,
            MooView::Moomoo(view) => view.quiet_until(&newest.state.state),
        }
    }
}
