//! What the room of this game publishes of a tick.

use std::ops::Deref;
use std::sync::Arc;

use crate::game::UpdateRates;
use crate::games::moo::feed::{PublicState, TurnDelta};

/// The state after a tick, and what its updates need besides.
#[derive(Debug)]
pub struct PublishedState {
    pub(super) state: Arc<PublicState>,
    pub(super) rates: UpdateRates,
    pub(super) since: TurnDelta,
}

impl Deref for PublishedState {
    type Target = PublicState;

    fn deref(&self) -> &PublicState {
        &self.state
    }
}
