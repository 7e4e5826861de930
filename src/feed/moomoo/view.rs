//! The view of one MooMoo client: its position and its known set.

use super::compare::{Changes, KnownSet, Now};
use super::records::Encoded;
use super::write::write;
use crate::feed::known::Viewpoint;
use crate::feed::messages::Writer;
use crate::feed::state::State;

/// Buffers of a worker, shared by its views one after the other, so that the steady state allocates
/// nothing.
#[derive(Debug, Default)]
pub struct Scratch {
    players: Vec<u32>,
    animals: Vec<u32>,
    changes: Changes,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub struct View {
    /// Where the client looks from.
    pub viewpoint: Viewpoint,
    pub(super) known: KnownSet,
}

impl View {
    /// Writes everything in this state that the client sees.
    pub fn state(&mut self, state: &State, encoded: &Encoded, scratch: &mut Scratch, out: &mut Writer<'_>) {
        let Scratch { players, animals, changes } = scratch;
        let body = state.living(self.viewpoint.player).map(|own| (own, state.window(Some(own))));
        self.viewpoint.window = body.map(|(_, window)| window);
        if let Some((own, window)) = body {
            state.look(window, Some(own), players);
            state.animals.look(window, animals);
        }
        let own = self.viewpoint.own(state);
        let now = Now { state, encoded, own, body, players, animals };
        self.known.compare(now, changes);
        let charges = write(now, changes, &self.known, out);
        charges.into_iter().for_each(|bytes| self.known.clans.charge(bytes, state));
    }
}
