//! The first step of an update: find what the client has in view.

use super::interest::ViewWindow;
use super::published_state::PublicState;

/// What one client has in view. The lists are used again for the next client.
#[derive(Debug, Default)]
pub struct InView {
    pub window: ViewWindow,
    /// The other players in the window, as indexes in order.
    pub players: Vec<u32>,
    /// The animals in it, as indexes in order.
    pub animals: Vec<u32>,
}

impl InView {
    /// Looks from the client's own body, an index of a living player, or from the player that it
    /// watches.
    pub fn take(&mut self, state: &PublicState, own: Option<usize>, watched: Option<usize>) {
        self.window = state.window(own.or(watched));
        state.players.collect_visible(self.window, &mut self.players);
        self.players.retain(|index| state.players[*index as usize].alive && own != Some(*index as usize));
        state.animals.collect_visible(self.window, &mut self.animals);
    }
}
