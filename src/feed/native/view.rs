//! The view of one native client: its position and its known set.

use super::compare::{Changes, KnownSet, Now};
use super::look::Look;
use super::records::Encoded;
use super::write::write;
use crate::feed::known::Viewpoint;
use crate::feed::messages::Writer;
use crate::feed::records::Section;
use crate::feed::state::State;

/// Buffers of a worker, shared by its views one after the other, so that the steady state allocates
/// nothing.
#[derive(Debug, Default)]
pub struct Scratch {
    look: Look,
    changes: Changes,
    pub(super) lists: Lists,
}

/// The events of one tick that are sent in lists.
#[derive(Debug, Default)]
pub struct Lists {
    pub swings: Section,
    pub shakes: Section,
    pub strikes: Section,
    pub shot_ends: Section,
    pub shots: Section,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub struct View {
    /// Where the client looks from.
    pub viewpoint: Viewpoint,
    pub(super) known: KnownSet,
}

impl View {
    /// Writes everything in this state that the client sees and does not know yet.
    pub fn state(&mut self, state: &State, encoded: &Encoded, scratch: &mut Scratch, out: &mut Writer<'_>) {
        let Scratch { look, changes, .. } = scratch;
        look.take(&self.viewpoint, self.known.watching, state);
        self.viewpoint.window = Some(look.window);
        let own = self.viewpoint.own(state);
        self.known.compare(Now { state, encoded, look, own }, changes);
        let [clans, tags] = write(state.tick, changes, &self.known, out);
        self.known.clans.charge(clans, state);
        self.known.clans.charge_tags(tags, state);
    }
}
