//! The renewal thread: renews all leases of this process, and ends rooms whose leases are lost.

use std::time::Instant;

use tracing::{debug, warn};

use super::membership::Cluster;
use super::reporting::Reporting;
use super::setting_exchange::{self, SettingExchange};
use crate::limits;
use crate::server::cluster::reports::ReportStore as _;
use crate::server::cluster::{LeaseStore as _, StoreError};
use crate::server::net::server_state::ServerState;

/// Runs the renewal thread until the leases are released.
pub fn run(host: &ServerState) {
    let Some(cluster) = &host.cluster else { return };
    let mut exchange = Exchange::default();
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
        if let Err(error) = renewed.and_then(|connection| exchange.run(host, cluster, connection)) {
            debug!(%error, "bans, notice and reports are not exchanged");
        }
        setting_exchange::end_banned_relays(host, cluster);
        let now = cluster.clock.now();
        host.metrics.cluster_leases.set(cluster.leases.lock().valid_count(now) as i64);
        if cluster.wait_for_stop(began + limits::CLUSTER_RENEW_INTERVAL) {
            // The operator may have banned an address just before.
            let _ = renew(cluster).and_then(|connection| exchange.run(host, cluster, connection));
            let _ = cluster.renewal_store.lock().remove_report();
            return;
        }
    }
}

/// The exchanges of the renewal thread with other processes, in addition to the leases.
#[derive(Debug, Default)]
struct Exchange {
    settings: SettingExchange,
    reporting: Reporting,
}

impl Exchange {
    fn run(&mut self, host: &ServerState, cluster: &Cluster, connection: u64) -> Result<(), StoreError> {
        let (mut store, now) = (cluster.renewal_store.lock(), cluster.clock.now());
        self.settings.run(host, (&mut store, connection), now)?;
        self.reporting.publish(host, cluster, &mut store)
    }
}

/// Renews all leases. Returns the number of the connection.
fn renew(cluster: &Cluster) -> Result<u64, StoreError> {
    let mut store = cluster.renewal_store.lock();
    let connection = store.connect()?;
    let held = cluster.leases.lock().held();
    if held.is_empty() {
        return store.ping().map(|()| connection);
    }
    // Before the request: the store grants the lease from a later time on.
    let sent_at = cluster.clock.now();
    let replies = store.renew(&held)?;
    let mut leases = cluster.leases.lock();
    for ((room, fence), reply) in held.iter().zip(replies) {
        leases.on_renewed(room, *fence, reply, sent_at);
    }
    Ok(connection)
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
