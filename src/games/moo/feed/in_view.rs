//! The first step of an update: determine the entities in the client's view.

use super::interest::ViewWindow;
use super::published_state::PublicState;

/// The entities in one client's view. The lists are reused for the next client.
#[derive(Debug, Default)]
pub struct InView {
    pub window: ViewWindow,
    /// The other players in the window, as sorted indices in the state.
    pub players: Vec<u32>,
    /// The animals in the window, as sorted indices in the state.
    pub animals: Vec<u32>,
    marks: Vec<u64>,
}

impl InView {
    /// Determines the view. `own` is the index of the client's living player. Without a living
    /// player, the window is around the spectated player.
    pub fn compute(&mut self, state: &PublicState, own: Option<usize>, spectated: Option<usize>) {
        self.window = state.window(own.or(spectated));
        state.players.collect_visible(self.window, own, &mut self.marks, &mut self.players);
        state.animals.collect_visible(self.window, None, &mut self.marks, &mut self.animals);
    }
}
