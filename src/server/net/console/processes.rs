//! The operator command `processes`.

use std::fmt::Write as _;

use super::context::CommandResult;
use crate::server::net::cluster::reporting;
use crate::server::net::cluster::room_reports::ReportCache;
use crate::server::net::server_state::ServerState;

/// Lists the processes of the cluster, this one first.
pub fn list(host: &ServerState) -> CommandResult {
    let Some(cluster) = &host.cluster else {
        return Err("this server belongs to no cluster: --cluster is not given".to_owned().into());
    };
    let own = reporting::report(host, cluster);
    let ReportCache { reports, is_fresh, .. } = cluster.others();
    let mut text = String::from("rooms  left  players  address                url\n");
    for report in [&own].into_iter().chain(&*reports) {
        let (holder, mark) =
            (&report.holder, if report.holder == own.holder { "  (this process)" } else { "" });
        let url = if holder.public_url.is_empty() { "none" } else { &holder.public_url };
        let (rooms, left, players) = (report.rooms, report.rooms_left, report.players);
        writeln!(text, "{rooms:>5}  {left:>4}  {players:>7}  {:<21}  {url}{mark}", holder.address)
            .expect("writing to a string does not fail");
    }
    if !is_fresh {
        text.push_str("the others may be missing: Redis does not respond\n");
    }
    Ok(text)
}
