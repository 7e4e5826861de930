//! What the room of this game publishes of a tick.

use std::ops::Deref;
use std::sync::Arc;

use crate::game::Rates;
use crate::games::moo::feed::{Since, State};

/// The state after a tick, and what its updates need besides.
#[derive(Debug)]
pub struct Shown {
    pub(super) state: Arc<State>,
    pub(super) rates: Rates,
    pub(super) since: Since,
}

impl Deref for Shown {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}
