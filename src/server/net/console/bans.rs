//! The operator commands `ban`, `unban` and `bans`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::context::{CommandContext, CommandResult, Source};
use crate::connection::DisconnectReason;
use crate::game::{CloseReason, OperatorCommandError as No};
use crate::server::net::server_data;
use crate::server::net::server_state::ServerState;
use crate::util::address_prefix::AddressPrefix;

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
    let is_new = host.admission.ban(prefix).ok_or("the list of bans is full".to_owned())?;
    if !is_new {
        return Err(format!("{prefix} is banned already").into());
    }
    let mut theirs = host.clients.all();
    theirs.retain(|client| AddressPrefix::from_ip(client.address.ip()) == prefix);
    let now = host.now();
    for client in &theirs {
        client.player().map(|player| client.room.remove_player_of(client.id, player, now));
        client.close(DisconnectReason::Breach(CloseReason::Banned), now);
    }
    for room in host.rooms.all() {
        room.handle.remove_suspended(prefix, now);
        room.wake();
    }
    store(host, prefix, true, format!("{prefix} is banned; connections closed: {}", theirs.len()))
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

/// Stores what was `done`. An error does not undo it.
fn store(host: &ServerState, prefix: AddressPrefix, is_banned: bool, done: String) -> CommandResult {
    let stored = host.data().store_ban(prefix, is_banned);
    stored.map_err(|why| server_data::note_error(&host.metrics, &why, &done))?;
    Ok(done)
}

fn prefix(text: &str) -> Result<AddressPrefix, No> {
    let expected = "ADDRESS must be an IP address without a port, such as 203.0.113.9 or 2001:db8::9";
    AddressPrefix::parse(text).ok_or_else(|| No::Usage(expected.to_owned()))
}
