//! The queues of a host's inspectors.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::limits;
use crate::server::clients::inspector_session::Selection;
use crate::tools::inspector::observed_format::{self, ObservedKind, ObservedRecord};
use crate::util::sync::Mutex;

/// Unsent messages of [`observed_format`], by inspector.
#[derive(Debug, Clone, Default)]
pub struct InspectorQueues(Arc<Mutex<BTreeMap<u32, InspectorQueue>>>);

#[derive(Debug)]
struct InspectorQueue {
    selection: Selection,
    /// Messages, each with records of one client, in the order of the records.
    messages: Vec<(u64, Vec<u8>)>,
    bytes: usize,
    lost: u64,
}

impl InspectorQueue {
    fn push(&mut self, client: u64, record: &ObservedRecord<'_>) {
        if self.messages.last().is_none_or(|(last, _)| *last != client) {
            self.messages.push((client, observed_format::start_message(client)));
        }
        if let Some((_, message)) = self.messages.last_mut() {
            let before = message.len();
            observed_format::write(message, record);
            self.bytes += message.len() - before;
        }
    }
}

impl InspectorQueues {
    /// Selects the clients that an inspector observes.
    pub fn select(&self, inspector: u32, selection: Selection) {
        let mut all = self.0.lock();
        all.remove(&inspector);
        if selection != Selection::Nothing {
            all.insert(inspector, InspectorQueue { selection, messages: Vec::new(), bytes: 0, lost: 0 });
        }
    }

    /// Returns whether an inspector observes this client.
    pub fn is_inspected(&self, client: u64) -> bool {
        self.0.lock().values().any(|queue| queue.selection.includes(client))
    }

    /// Queues a record for the inspectors of a client, or for the inspector `only`. A full queue
    /// counts it as lost.
    pub fn push(&self, client: u64, only: Option<u32>, record: &ObservedRecord<'_>) {
        for (inspector, queue) in self.0.lock().iter_mut() {
            if !queue.selection.includes(client) || only.is_some_and(|only| only != *inspector) {
                continue;
            }
            if queue.bytes > limits::INSPECTOR_QUEUE_BYTES {
                queue.lost += 1;
            } else {
                queue.push(client, record);
            }
        }
    }

    /// Takes the queued messages of an inspector.
    pub fn take(&self, inspector: u32, now: Duration, tick: u32) -> Vec<Vec<u8>> {
        let mut all = self.0.lock();
        let Some(queue) = all.get_mut(&inspector) else { return Vec::new() };
        let lost = std::mem::take(&mut queue.lost);
        if lost > 0 {
            let client = if let Selection::Client(client) = queue.selection { client } else { 0 };
            queue.push(client, &ObservedRecord { at: now, tick, what: ObservedKind::Lost(lost) });
        }
        queue.bytes = 0;
        std::mem::take(&mut queue.messages).into_iter().map(|(_, message)| message).collect()
    }
}
