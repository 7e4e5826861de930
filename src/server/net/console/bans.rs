//! The operator commands `ban`, `unban` and `bans`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::context::{CommandContext, CommandResult, Source};
use crate::game::OperatorCommandError as No;
use crate::server::net::ban_enforcement;
use crate::server::net::server_data;
use crate::server::net::server_state::ServerState;
use crate::util::address_prefix::AddressPrefix;

/// Sends a change to the other processes of a cluster. Returns when it holds there, to append to
/// the reply.
pub fn share(host: &ServerState) -> &'static str {
    let Some(cluster) = &host.cluster else { return "" };
    cluster.exchange_now();
    match cluster.is_store_away() {
        true => "; the other processes follow when Redis responds again",
        false => "; the other processes follow within a second",
    }
}

/// Bans an address prefix, and closes its connections.
pub fn ban(context: &CommandContext<'_>, rest: &str) -> CommandResult {
    let (host, prefix) = (context.host, prefix(rest)?);
    if matches!(context.source, Source::Admin(own) if AddressPrefix::from_ip(own) == prefix) {
        let reason = "is your own address: a ban would lock you out of /admin";
        return Err(format!("{prefix} {reason}").into());
    }
    let this_machine = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    if this_machine.map(AddressPrefix::from_ip).contains(&prefix) {
        let reason = "is this machine: a ban would lock out a proxy on it, and all clients behind the proxy";
        return Err(format!("{prefix} {reason}").into());
    }
    let others = host.cluster.as_ref().map(|cluster| cluster.others().reports);
    let is_process = |address: &str| {
        let address = address.parse().map(|address: SocketAddr| AddressPrefix::from_ip(address.ip()));
        address == Ok(prefix)
    };
    if others.iter().flat_map(|reports| reports.iter()).any(|report| is_process(&report.holder.address)) {
        let reason =
            "is the address of a process of the cluster: a ban would lock out the clients that it relays";
        return Err(format!("{prefix} {reason}").into());
    }
    let is_new = host.admission.ban(prefix).ok_or("the list of bans is full".to_owned())?;
    if !is_new {
        return Err(format!("{prefix} is banned already").into());
    }
    let closed = ban_enforcement::close_clients(host, prefix);
    store(host, prefix, true, format!("{prefix} is banned; connections closed: {closed}"))
}

/// Lifts a ban.
pub fn unban(context: &CommandContext<'_>, rest: &str) -> CommandResult {
    let prefix = prefix(rest)?;
    if context.host.admission.unban(prefix) {
        store(context.host, prefix, false, format!("{prefix} is no longer banned"))
    } else {
        Err(format!("{prefix} is not banned").into())
    }
}

/// Returns the banned prefixes, each on a line.
pub fn list(host: &ServerState) -> String {
    let bans = host.admission.bans();
    if bans.is_empty() {
        return "no address is banned".to_owned();
    }
    bans.iter().map(|prefix| format!("{prefix}\n")).collect()
}

/// Stores the change that `summary` describes. An error does not undo it.
fn store(host: &ServerState, prefix: AddressPrefix, is_banned: bool, summary: String) -> CommandResult {
    let stored = host.data().set_ban(prefix, is_banned);
    let summary = summary + share(host);
    stored.map_err(|why| server_data::note_error(&host.metrics, &why, &summary))?;
    Ok(summary)
}

fn prefix(text: &str) -> Result<AddressPrefix, No> {
    let expected = "ADDRESS must be an IP address without a port, such as 203.0.113.9 or 2001:db8::9";
    AddressPrefix::parse(text).ok_or_else(|| No::Usage(expected.to_owned()))
}
