//! The choice between the two layouts: their shared publisher, and one client's view in either
//! layout.
//!
//! This is the only file that knows both layouts. The published state of a tick is created once and
//! shared by the views of all workers; each layout's records are created when its first view needs
//! them.

use std::sync::Arc;

use super::events::Events;
use super::interest::Layout;
use super::messages::{Messages, Writer};
use super::publish::WorldReader;
use super::state::State;
use super::{moomoo, native};
use crate::packet::{Dialect, Lane};
use crate::world::{PlayerId, World};

/// Update rates per second of each kind of client; at most the tick rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// Ticks per second.
    pub tick_hz: u32,
    /// Updates per second of the native dialect.
    pub native_hz: u32,
    /// Updates per second of the MooMoo dialects.
    pub moomoo_hz: u32,
}

impl Rates {
    /// Whether clients of this layout have a turn in this tick: turns are spread evenly, whatever
    /// the rates.
    fn is_turn(&self, layout: Layout, tick: u32) -> bool {
        let hz = match layout {
            Layout::Native => self.native_hz,
            Layout::Moomoo => self.moomoo_hz,
        };
        let turns = |tick: u32| u64::from(tick) * u64::from(hz) / u64::from(self.tick_hz);
        tick == 0 || turns(tick) != turns(tick - 1)
    }
}

/// One tick: its events, which every client concerned must receive, and the state after it, of
/// which only the newest counts.
#[derive(Debug)]
pub struct Published {
    /// What happened in it.
    pub events: Arc<Events>,
    /// The players, animals, objects and clans after it.
    pub state: Arc<State>,
    rates: Rates,
    since: native::Since,
}

/// Publishes the world, tick after tick.
#[derive(Debug)]
pub struct Publisher {
    rates: Rates,
    reader: WorldReader,
    /// The state of the last turn of native clients, from which the next turn counts differences.
    turn: Option<Arc<State>>,
}

impl Publisher {
    /// A publisher for this world.
    pub fn new(world: &World, rates: Rates) -> Publisher {
        Publisher { rates, reader: WorldReader::new(world), turn: None }
    }

    /// Publishes the world's last tick. `margin` returns how early or late a player's last command
    /// arrived.
    pub fn publish(&mut self, world: &World, margin: impl Fn(PlayerId) -> i16) -> Published {
        let (events, state) = self.reader.read(world, margin);
        let state = Arc::new(state);
        let since = native::Since::turn(self.turn.clone());
        if self.rates.is_turn(Layout::Native, state.tick) {
            self.turn = Some(Arc::clone(&state));
        }
        Published { events: Arc::new(events), state, rates: self.rates, since }
    }
}

/// Buffers of a worker, shared by its views one after the other, so that the steady state allocates
/// nothing.
#[derive(Debug, Default)]
pub struct Scratch {
    native: native::Scratch,
    moomoo: moomoo::Scratch,
}

/// One client's view of the world: what it is sent next, and what it knows from then on. A view
/// belongs to one worker and is never locked.
#[derive(Debug)]
pub enum View {
    /// Of a native client.
    Native(native::View),
    /// Of a MooMoo client.
    Moomoo(moomoo::View),
}

/// What became of the state in an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// None of the ticks was a turn of the client's layout.
    NotDue,
    /// The client's messages of this turn were written, if there is anything to say.
    Written,
    /// The client is behind, so the state is left to a later turn.
    HeldBack,
}

impl View {
    /// The view of a client that knows nothing yet.
    pub fn new(layout: Layout) -> View {
        match layout {
            Layout::Native => View::Native(native::View::default()),
            Layout::Moomoo => View::Moomoo(moomoo::View::default()),
        }
    }

    /// Sets the client's body, if any, and the player that it wants to watch without one.
    pub fn follow(&mut self, player: Option<PlayerId>, watched: Option<PlayerId>) {
        let known = match self {
            View::Native(view) => (&mut view.known.player, &mut view.known.watched),
            View::Moomoo(view) => (&mut view.known.player, &mut view.known.watched),
        };
        (*known.0, *known.1) = (player, watched);
    }

    /// One update: the events of the ticks that the worker has missed, then the newest state, then
    /// the events of its tick.
    ///
    /// The state is left out while the client `is_behind`, that is while anything waits for it:
    /// what the client is taken to know then stays, and a later update makes up for it.
    pub fn update(
        &mut self,
        missed: &[Arc<Events>],
        newest: &Published,
        is_behind: bool,
        dialect: &Dialect,
        scratch: &mut Scratch,
        messages: &mut Messages,
    ) -> Turn {
        let layout = match self {
            View::Native(_) => Layout::Native,
            View::Moomoo(_) => Layout::Moomoo,
        };
        let mut ticks = missed.iter().map(|events| events.tick).chain([newest.state.tick]);
        let turn = match ticks.any(|tick| newest.rates.is_turn(layout, tick)) {
            false => Turn::NotDue,
            true if is_behind => Turn::HeldBack,
            true => Turn::Written,
        };
        for events in missed {
            self.events(events, newest, scratch, &mut messages.writer(dialect, Lane::Reliable));
        }
        if turn == Turn::Written {
            let out = &mut messages.writer(dialect, Lane::Latest);
            match self {
                View::Native(view) => view.state(&newest.state, &newest.since, &mut scratch.native, out),
                View::Moomoo(view) => view.state(&newest.state, &mut scratch.moomoo, out),
            }
        }
        self.events(&newest.events, newest, scratch, &mut messages.writer(dialect, Lane::Reliable));
        turn
    }

    fn events(&mut self, events: &Events, newest: &Published, scratch: &mut Scratch, out: &mut Writer<'_>) {
        match self {
            View::Native(view) => view.events(events, &newest.state, &mut scratch.native, out),
            View::Moomoo(view) => view.events(events, &newest.state, out),
        }
    }
}
