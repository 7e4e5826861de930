//! The queues of a host's inspectors.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::limits;
use crate::tools::inspector::observed_format::{self, ObservedKind, ObservedRecord};
use crate::util::sync::Mutex;

/// Unsent messages of [`observed_format`], by inspector.
#[derive(Debug, Clone, Default)]
pub struct InspectorQueues(Arc<Mutex<BTreeMap<u32, InspectorQueue>>>);

#[derive(Debug)]
struct InspectorQueue {
    client: u64,
    message: Vec<u8>,
    lost: u64,
}

impl InspectorQueues {
    /// Selects the client that an inspector observes, or none.
    pub fn select(&self, inspector: u32, client: Option<u64>) {
        let mut all = self.0.lock();
        all.remove(&inspector);
        if let Some(client) = client {
            all.insert(
                inspector,
                InspectorQueue { client, message: observed_format::start_message(client), lost: 0 },
            );
        }
    }

    /// Returns whether an inspector observes this client.
    pub fn is_inspected(&self, client: u64) -> bool {
        self.0.lock().values().any(|queue| queue.client == client)
    }

    /// Queues a record for the inspectors of a client, or for the inspector `only`. A full queue
    /// counts it as lost.
    pub fn push(&self, client: u64, only: Option<u32>, record: &ObservedRecord<'_>) {
        for (inspector, queue) in self.0.lock().iter_mut() {
            if queue.client != client || only.is_some_and(|only| only != *inspector) {
                continue;
            }
            if queue.message.len() > limits::INSPECTOR_QUEUE_BYTES {
                queue.lost += 1;
            } else {
                observed_format::write(&mut queue.message, record);
            }
        }
    }

    /// Takes the queued message of an inspector. Returns `None` if it has no records.
    pub fn take(&self, inspector: u32, now: Duration, tick: u32) -> Option<Vec<u8>> {
        let mut all = self.0.lock();
        let queue = all.get_mut(&inspector)?;
        let lost = std::mem::take(&mut queue.lost);
        if lost > 0 {
            observed_format::write(
                &mut queue.message,
                &ObservedRecord { at: now, tick, what: ObservedKind::Lost(lost) },
            );
        }
        let empty = observed_format::start_message(queue.client);
        (queue.message.len() > empty.len()).then(|| std::mem::replace(&mut queue.message, empty))
    }
}
