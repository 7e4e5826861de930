//! The thread of `--self-check`: subscribes to the tap and compares the traffic to clients with a
//! second world that runs in lockstep. See [`crate::server::self_check`].

use std::collections::BTreeMap;
use std::sync::Arc;

use tickwire_sim::PlayerId;
use tracing::error;

use super::server_state::ServerState;
use super::tap::{EventKind, Side, Subscription, TapEvent};
use crate::connection::{MessageCompression, WireFormat};
use crate::limits;
use crate::server::self_check::{SelfCheck, SelfCheckCounts};

/// The checks of all rooms with clients, by room name.
#[derive(Default)]
struct SelfCheckThread {
    rooms: BTreeMap<Arc<str>, SelfCheck>,
}

/// Checks all traffic until the tap is closed.
pub fn run(host: &ServerState, listener: &Subscription) {
    let mut checks = SelfCheckThread::default();
    loop {
        let taken = listener.receive(limits::SELF_CHECK_POLL_INTERVAL);
        taken.items.iter().for_each(|event| checks.handle_event(host, event));
        for client in taken.lost.connections.keys().chain(&taken.lost.opened) {
            checks.rooms.values_mut().for_each(|room| room.on_bytes_lost(*client));
        }
        for client in &taken.lost.ended {
            checks.rooms.values_mut().for_each(|room| room.on_close(*client));
        }
        checks.follow(host);
        if taken.is_closed {
            return;
        }
    }
}

impl SelfCheckThread {
    fn handle_event(&mut self, host: &ServerState, event: &TapEvent) {
        if let EventKind::Opened { dialect, json, response, .. } = &event.kind {
            self.opened(host, event, (dialect, *json), response);
        }
        let Some(room) = self.rooms.get_mut(&event.room) else { return };
        match &event.kind {
            EventKind::Bytes { from: Side::Server, bytes, .. } => {
                let player = Some(PlayerId(event.player)).filter(|player| player.0 != 0);
                let before = room.counts();
                room.on_frames_queued(event.client, player, bytes);
                log_findings(host, before, room);
            }
            EventKind::Ended { .. } => room.on_close(event.client),
            _ => {}
        }
    }

    fn opened(
        &mut self,
        host: &ServerState,
        event: &TapEvent,
        (dialect, is_json): (&str, bool),
        response: &[u8],
    ) {
        let (Some(dialect), Some(running)) =
            (host.config.codes.dialect(dialect), host.rooms.find(&event.room))
        else {
            return;
        };
        let format = WireFormat::new(dialect, is_json);
        // A restarted room has the same name as its previous run.
        self.rooms.retain(|name, room| *name != event.room || Arc::ptr_eq(room.room(), &running.handle));
        if !self.rooms.contains_key(&event.room) {
            // The journal is read uncompressed.
            let room = SelfCheck::new(&running.handle, format.clone());
            self.rooms.extend(room.map(|room| (Arc::clone(&event.room), room)));
        }
        if let Some(room) = self.rooms.get_mut(&event.room) {
            let before = room.counts();
            let compression = MessageCompression::observed(response);
            room.on_open(event.client, &WireFormat { compression, ..format });
            log_findings(host, before, room);
        }
    }

    /// Advances the second worlds. The check of a room without clients is dropped; the next client
    /// starts a new check.
    fn follow(&mut self, host: &ServerState) {
        self.rooms.retain(|_, room| !room.is_empty());
        for room in self.rooms.values_mut() {
            let before = room.counts();
            room.advance();
            log_findings(host, before, room);
        }
    }
}

/// Adds the new counts to the metrics and logs the findings.
fn log_findings(host: &ServerState, before: SelfCheckCounts, room: &mut SelfCheck) {
    let (metrics, counts) = (&host.metrics, room.counts());
    metrics.self_check_compared.inc_by(counts.compared - before.compared);
    metrics.self_check_skipped_clients.inc_by(counts.skipped - before.skipped);
    for finding in room.take_findings() {
        metrics.self_check_faults.inc();
        error!(room = &*room.room().options.name, "self-check: {finding}");
    }
}
