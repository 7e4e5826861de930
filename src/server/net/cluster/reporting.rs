//! Publishes the report of this process.

use tracing::warn;

use super::membership::Cluster;
use super::redis_store::RedisStore;
use super::room_reports::{ProcessReport, RoomReport};
use crate::limits;
use crate::server::cluster::StoreError;
use crate::server::cluster::reports::ReportStore as _;
use crate::server::net::rooms::RunningRoom;
use crate::server::net::server_state::ServerState;

/// The state of the renewal thread about reports.
#[derive(Debug, Default)]
pub struct Reporting {
    /// Whether the last report was refused.
    is_refused: bool,
}

impl Reporting {
    /// Publishes the report of this process.
    ///
    /// # Errors
    /// The store does not respond.
    pub fn publish(
        &mut self,
        host: &ServerState,
        cluster: &Cluster,
        store: &mut RedisStore,
    ) -> Result<(), StoreError> {
        let text = report(host, cluster).encode();
        let processes = store.publish_report(&text, limits::CLUSTER_REPORT_TIME)?;
        host.metrics.cluster_processes.set(processes as i64);
        if processes == 0 && !self.is_refused {
            warn!(
                "the cluster has its maximum of processes, and the others do not list the rooms of this one"
            );
        }
        self.is_refused = processes == 0;
        Ok(())
    }
}

/// Returns the report of this process. A process that stops or drains accepts no new clients.
pub fn report(host: &ServerState, cluster: &Cluster) -> ProcessReport {
    let is_closing = host.is_stopping() || host.drain.has_begun();
    let rooms = host.rooms.all();
    let rooms_left = host.config.rooms_on_demand.saturating_sub(host.rooms.on_demand_count());
    let listed = rooms.iter().filter(|room| is_listed(room));
    ProcessReport {
        holder: cluster.holder().clone(),
        rooms_left: if is_closing { 0 } else { rooms_left as u64 },
        rooms: rooms.len() as u64,
        players: rooms.iter().map(|room| room.players() as u64).sum(),
        listed: listed.map(|room| RoomReport::of(room, is_closing)).collect(),
    }
}

fn is_listed(room: &RunningRoom) -> bool {
    room.is_on_demand() && !room.is_private() && !room.is_ending()
}
