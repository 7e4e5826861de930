//! The in-memory transport of an embedded server's clients, and the queues of its inspectors.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::limits;
use crate::server::clients::client::{Client, Transport};
use crate::tools::inspector::observed_format::{self, ObservedKind, ObservedRecord};
use crate::util::sync::Mutex;
use crate::ws::Side;

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
    pub fn select(&self, watcher: u32, client: Option<u64>) {
        let mut all = self.0.lock();
        all.remove(&watcher);
        if let Some(client) = client {
            all.insert(watcher, InspectorQueue { client, message: observed_format::begin(client), lost: 0 });
        }
    }

    /// Returns whether an inspector observes this client.
    pub fn is_inspected(&self, client: u64) -> bool {
        self.0.lock().values().any(|watched| watched.client == client)
    }

    /// Queues a record for the inspectors of a client, or for the inspector `only`. A full queue
    /// counts it as lost.
    pub fn push(&self, client: u64, only: Option<u32>, record: &ObservedRecord<'_>) {
        for (watcher, watched) in self.0.lock().iter_mut() {
            if watched.client != client || only.is_some_and(|only| only != *watcher) {
                continue;
            }
            if watched.message.len() > limits::INSPECTOR_QUEUE_BYTES {
                watched.lost += 1;
            } else {
                observed_format::write(&mut watched.message, record);
            }
        }
    }

    /// Takes the queued message of an inspector. Returns `None` if it has no records.
    pub fn take(&self, watcher: u32, now: Duration, tick: u32) -> Option<Vec<u8>> {
        let mut all = self.0.lock();
        let watched = all.get_mut(&watcher)?;
        let lost = std::mem::take(&mut watched.lost);
        if lost > 0 {
            observed_format::write(
                &mut watched.message,
                &ObservedRecord { at: now, tick, what: ObservedKind::Lost(lost) },
            );
        }
        let empty = observed_format::begin(watched.client);
        (watched.message.len() > empty.len()).then(|| std::mem::replace(&mut watched.message, empty))
    }
}

/// Carries a client's bytes in memory.
#[derive(Debug)]
pub struct MemoryTransport {
    /// Bytes for the other end, at most [`limits::SEND_QUEUE_BYTES`].
    pub out: Mutex<Vec<u8>>,
    /// Whether the connection was closed immediately.
    pub is_cut: AtomicBool,
    /// Queues of the inspectors.
    pub sight: InspectorQueues,
}

impl Transport for MemoryTransport {
    fn send<'a>(&self, slices: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        let mut out = self.out.lock();
        let before = out.len();
        // If the other end does not read, the sender queues the rest within its own limits.
        let room = limits::SEND_QUEUE_BYTES.saturating_sub(before);
        for slice in slices {
            let left = room.saturating_sub(out.len() - before);
            out.extend_from_slice(&slice[..slice.len().min(left)]);
        }
        Ok(out.len() - before)
    }

    fn on_queued(&self, client: &Client<MemoryTransport>, frames: &[u8], now: Duration) {
        let (tick, what) = (client.room.tick(), ObservedKind::Bytes(Side::Server, frames));
        self.sight.push(client.id, None, &ObservedRecord { at: now, tick, what });
    }

    fn abort(&self) {
        self.is_cut.store(true, Ordering::Release);
    }
}
