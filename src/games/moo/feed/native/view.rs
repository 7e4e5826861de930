//! The view of one native client. Spectators of one player share most of it.
//!
//! The objects that a client knows depend on everything it has seen, so each view has its own.
//! Everything else is in [`SentState`], which is equal for spectators of one player within seconds.

use std::hint::black_box;
use std::sync::Arc;

use super::records::{self, UpdateDelta};
use super::update::{PendingLists, SentState};
use crate::game::{MessageWriter, Messages, RecordList, SharedState, SharedUpdates, StateOutcome};
use crate::games::moo::feed::events::Events;
use crate::games::moo::feed::in_view::InView;
use crate::games::moo::feed::interest::{UpdateLayout, ViewWindow};
use crate::games::moo::feed::objects::{KnownObjects, ObjectChange};
use crate::games::moo::feed::published_state::PublicState;
use crate::games::moo::world::PlayerId;
use crate::packet::{Dialect, Lane};

/// The view of one native client.
#[derive(Debug, Default)]
pub struct NativeView {
    /// The player that the client has requested to spectate while it has no body; `None` for the
    /// leader.
    spectated: Option<PlayerId>,
    /// The spectated player as last sent; the outer `None` while the client has a body.
    spectating: Option<Option<PlayerId>>,
    objects: KnownObjects,
    sent: SharedState<SentState>,
}

/// Buffers of a worker, reused by its views in turn, so that the steady state allocates nothing.
/// With spectators that share updates, one view per spectated player copies its state.
#[derive(Debug, Default)]
pub struct NativeScratch {
    look: InView,
    objects: ObjectLists,
    lists: PendingLists,
    shared: SharedUpdates<SentState, (Option<PlayerId>, UpdateStep)>,
}

/// Records of objects that are collected until their packet is written.
#[derive(Debug, Default)]
struct ObjectLists {
    natural: RecordList,
    gone: RecordList,
    built: RecordList,
}

/// A step of an update that spectators of one player share. The objects are sent between the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum UpdateStep {
    /// The events of this number of missed ticks.
    Missed(usize),
    /// The events of the newest tick, after its state if that is written.
    Newest { is_written: bool },
}

/// The ticks that an update covers.
#[derive(Clone, Copy)]
pub struct NativeTicks<'a> {
    pub missed: &'a [Arc<Events>],
    pub newest: &'a Events,
    /// The state after the newest tick.
    pub state: &'a Arc<PublicState>,
    pub since: &'a UpdateDelta,
    pub outcome: StateOutcome,
}

impl NativeView {
    /// Loads the fields that an update reads into the CPU cache.
    pub fn prefetch_fields(&self) {
        black_box((self.spectating, self.objects.version()));
        self.sent.prefetch_fields();
    }

    /// Loads the known set into the CPU cache.
    pub fn prefetch_lists(&self) {
        self.sent.known.prefetch_lists();
    }

    /// Sets the client's player, or the player that it spectates.
    pub fn set_subject(&mut self, player: Option<PlayerId>, spectated: Option<PlayerId>) {
        self.spectated = spectated;
        if self.sent.known.player != player {
            self.sent.make_mut().known.player = player;
        }
    }

    /// Writes the events of the missed ticks, the state if it is due, and the events of the newest
    /// tick.
    pub fn update(
        &mut self,
        ticks: NativeTicks<'_>,
        dialect: &Dialect,
        scratch: &mut NativeScratch,
        messages: &mut Messages,
    ) {
        let NativeTicks { missed, newest, state, since, outcome } = ticks;
        let NativeScratch { look, objects, lists, shared } = scratch;
        let is_written = outcome == StateOutcome::Written;
        let (has_lane, lane) = (messages.has_lane(), messages.lane());
        // No two clients have the same player or lane.
        let is_spectator = self.sent.known.player.is_none() && !has_lane;
        let share = |step| is_spectator.then_some(step);
        if !missed.is_empty() {
            let step = (self.spectating.flatten(), UpdateStep::Missed(missed.len()));
            let compute = |sent: &mut SentState, messages: &mut Messages| {
                let out = &mut messages.writer(dialect, Lane::Reliable);
                missed.iter().for_each(|events| sent.events(events, state, lists, out));
                outcome
            };
            shared.update(&mut self.sent, (state, share(step)), dialect, messages, compute);
        }
        let mut spectated = None;
        if is_written {
            let out = &mut messages.writer(dialect, Lane::Latest);
            let body = state.living(self.sent.known.player);
            spectated = if body.is_none() { self.spectated(state) } else { None };
            self.spectating(state, body, spectated, out);
            self.objects(state, state.window(body.or(spectated)), objects, out);
        }
        let step = (self.spectating.flatten(), UpdateStep::Newest { is_written });
        let compute = |sent: &mut SentState, messages: &mut Messages| {
            if is_written {
                let out = &mut messages.writer(dialect, Lane::Latest);
                sent.state((state, since, spectated), (has_lane, lane), (look, lists), out);
                if lane.is_some() {
                    sent.datagram(state, lists, &mut messages.datagram_writer(dialect));
                }
            }
            sent.events(newest, state, lists, &mut messages.writer(dialect, Lane::Reliable));
            outcome
        };
        shared.update(&mut self.sent, (state, share(step)), dialect, messages, compute);
    }

    /// The player that a client without a body spectates: the requested player, else the killer of
    /// the client's player, else the player spectated before, else the leader.
    fn spectated(&self, state: &PublicState) -> Option<usize> {
        let killer = || self.sent.known.own_player(state).and_then(|own| own.killer);
        let living = |player| state.living(player);
        let before = self.spectating.flatten();
        living(self.spectated).or_else(|| living(killer())).or_else(|| living(before)).or(state.leader)
    }

    fn spectating(
        &mut self,
        state: &PublicState,
        body: Option<usize>,
        index: Option<usize>,
        out: &mut MessageWriter<'_>,
    ) {
        let player = index.map(|index| state.players[index].player);
        let spectated = body.is_none().then_some(player);
        if let Some(player) = spectated.filter(|_| self.spectating != spectated) {
            out.send("spectating", player);
        }
        self.spectating = spectated;
    }

    fn objects(
        &mut self,
        state: &PublicState,
        window: ViewWindow,
        lists: &mut ObjectLists,
        out: &mut MessageWriter<'_>,
    ) {
        let (nature, structures) = (&state.nature, &state.structures);
        let natural = nature.records(UpdateLayout::Native, records::natural);
        let built = structures.index.records(UpdateLayout::Native, records::built);
        self.objects.compare(nature, structures, window, |change| match change {
            ObjectChange::Natural(index) => lists.natural.copy(natural, index),
            ObjectChange::Removed(id) => lists.gone.push(id),
            ObjectChange::Built(index) => lists.built.copy(built, index),
        });
        out.send_list("objects", &mut lists.natural);
        out.send_list("structures_gone", &mut lists.gone);
        out.send_list("structures", &mut lists.built);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::games::moo::feed::publish::WorldReader;
    use crate::games::moo::world::{Action, Angle, Command, Identity, TickHz, World};
    use crate::packet::PacketTables;

    /// Player 1 walks across the map, so the views know other objects.
    #[test]
    fn spectators_of_one_player_store_one_state_a_second_after_the_last_began() {
        let mut world = World::new(Identity { seed: 1, map_size_px: 14_400, tick_hz: TickHz::Hz30 });
        let (mut reader, mut before) = (WorldReader::new(&world), None);
        let command = |player, sequence, action| Command { player: PlayerId(player), sequence, action };
        let join = |number: u16| Action::Join { player: PlayerId(number), name: "p".to_owned(), skin: 0 };
        world.step(&mut (1..=9).map(|number| command(0, number.into(), join(number))).collect());
        world.step(&mut vec![command(1, 1, Action::Move { direction: Some(Angle(0)) })]);
        let dialect = PacketTables::builtin().dialect("native").expect("built in");
        let mut views: [NativeView; 3] = Default::default();
        let (mut scratch, mut bytes) = (NativeScratch::default(), Vec::new());
        for tick in 0..140 {
            world.step(&mut Vec::new());
            let (events, state) = reader.read(&world, &|_| 0);
            let (state, since) = (Arc::new(state), UpdateDelta::since(before));
            for (view, (player, begins)) in views.iter_mut().zip([(1, 0), (1, 100), (2, 100)]) {
                let mut messages = Messages::default();
                let (newest, state, since, outcome) = (&events, &state, &since, StateOutcome::Written);
                let ticks = NativeTicks { missed: &[], newest, state, since, outcome };
                if tick >= begins {
                    view.set_subject(None, Some(PlayerId(player)));
                    view.update(ticks, &dialect, &mut scratch, &mut messages);
                }
                bytes.push(messages.iter().map(<[u8]>::len).sum::<usize>());
            }
            before = Some(state);
        }
        let [early, late, other] = &views;
        assert!(early.sent.is_same(&late.sent) && !early.sent.is_same(&other.sent));
        assert!(bytes.last_chunk().is_some_and(|[early, late, _]| early == late && *early > 0));
    }
}
