//! The properties of a room, written by its thread and read by others.

use std::sync::Arc;

use crate::game::RoomProperties;
use crate::util::sync::Mutex;

/// The properties of a room after its last tick.
#[derive(Debug, Default)]
pub struct SharedProperties(Mutex<Arc<RoomProperties>>);

impl SharedProperties {
    /// Returns the properties.
    pub fn get(&self) -> Arc<RoomProperties> {
        Arc::clone(&self.0.lock())
    }

    /// Replaces the properties, if they have changed.
    pub(super) fn set(&self, properties: &RoomProperties) {
        let mut current = self.0.lock();
        if **current != *properties {
            *current = Arc::new(properties.clone());
        }
    }
}
