//! The renewal thread: renews all leases of this process, and ends rooms whose leases are lost.

use std::time::Instant;

use tracing::warn;

use super::membership::Cluster;
use crate::limits;
use crate::server::cluster::{LeaseStore as _, StoreError};
use crate::server::net::server_state::ServerState;

/// Runs the renewal thread until the leases are released.
pub fn run(host: &ServerState) {
    let Some(cluster) = &host.cluster else { return };
    loop {
        let began = Instant::now();
        let renewed = renew(cluster);
        if renewed.is_err() {
            host.metrics.cluster_renewals_failed.inc();
        }
        cluster.set_store_away(renewed.as_ref().err());
        // The other connection must be old enough before a request needs it.
        let _ = cluster.with_store(|store| store.ping());
        end_lost_rooms(cluster, host);
        let now = cluster.clock.now();
        host.metrics.cluster_leases.set(cluster.leases.lock().valid_count(now) as i64);
        if cluster.wait_for_stop(began + limits::CLUSTER_RENEW_INTERVAL) {
            return;
        }
    }
}

fn renew(cluster: &Cluster) -> Result<(), StoreError> {
    let mut store = cluster.renewal_store.lock();
    store.connect()?;
    let held = cluster.leases.lock().held();
    if held.is_empty() {
        return store.ping();
    }
    // Before the request: the store grants the lease from a later time on.
    let sent_at = cluster.clock.now();
    let replies = store.renew(&held)?;
    let mut leases = cluster.leases.lock();
    for ((room, fence), reply) in held.iter().zip(replies) {
        leases.on_renewed(room, *fence, reply, sent_at);
    }
    Ok(())
}

fn end_lost_rooms(cluster: &Cluster, host: &ServerState) {
    let lost = {
        let mut leases = cluster.leases.lock();
        leases.give_up_old(cluster.clock.now());
        leases.lost()
    };
    for room in lost.iter().filter_map(|name| host.rooms.find(name)) {
        if !room.is_ending() {
            warn!(
                room = room.label(),
                tick = room.handle.tick(),
                "another process has the room, which ends here"
            );
            host.metrics.cluster_rooms_lost.inc();
            room.request_end();
        }
    }
}
