//! The first step of an update: find what the client has in view.

use crate::feed::interest::Window;
use crate::feed::known::Viewpoint;
use crate::feed::state::State;
use crate::world::PlayerId;

/// What one client has in view. Buffers are used again for the next client.
#[derive(Debug)]
pub struct Look {
    /// The client's own body, if it is alive, as an index.
    pub own: Option<usize>,
    /// The player that a client without a body watches, as an index.
    pub watched: Option<usize>,
    /// The area that it sees.
    pub window: Window,
    /// The other players in it, as indexes in order.
    pub players: Vec<u32>,
    /// The animals in it, as indexes in order.
    pub animals: Vec<u32>,
}

impl Default for Look {
    fn default() -> Look {
        let window = Window { x: 0, y: 0 };
        Look { own: None, watched: None, window, players: Vec::new(), animals: Vec::new() }
    }
}

impl Look {
    /// Looks from the client's own body, or from the player that it watches.
    pub fn take(&mut self, viewpoint: &Viewpoint, watching: Option<Option<PlayerId>>, state: &State) {
        self.own = state.living(viewpoint.player);
        self.watched = if self.own.is_none() { watched(viewpoint, watching.flatten(), state) } else { None };
        self.window = state.window(self.own.or(self.watched));
        state.look(self.window, self.own, &mut self.players);
        state.animals.look(self.window, &mut self.animals);
    }
}

/// The player that a client without a body watches: its wish, or who killed it just now, or the
/// player that it watched before, or the leader.
fn watched(viewpoint: &Viewpoint, before: Option<PlayerId>, state: &State) -> Option<usize> {
    let killer = || viewpoint.own(state).and_then(|own| own.killer);
    let living = |player| state.living(player);
    living(viewpoint.wish).or_else(|| living(killer())).or_else(|| living(before)).or(state.leader)
}
