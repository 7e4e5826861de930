//! The published state of a tick in a room of this game.

use std::ops::Deref;
use std::sync::Arc;

use crate::game::UpdateRates;
use crate::games::moo::feed::{PublicState, UpdateDelta};

/// The state after a tick, and the additional data for its updates.
#[derive(Debug)]
pub struct PublishedState {
    pub(super) state: Arc<PublicState>,
    pub(super) rates: UpdateRates,
    pub(super) since: UpdateDelta,
}

impl Deref for PublishedState {
    type Target = PublicState;

    fn deref(&self) -> &PublicState {
        &self.state
    }
}
