//! `tickwire netem`: a proxy with a simulated network between clients and a server.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use clap::Args;

use super::condition_args::ConditionArgs;
use super::log::Log;
use super::output::{CliError, print, warn_of_other_localhost};
use super::{signals, value_parsers};
use crate::server::net::NetemProxy;
use crate::server::net::netem_proxy::{self, ProxyConfig, ProxyStats};
use crate::util::netem::{Conditions, SegmentCounts};
use crate::util::plural::count_noun;

/// Options of `netem`.
#[derive(Debug, Args)]
pub struct NetemArgs {
    /// Address and port to listen on, for the clients; port 0 picks a free port.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:3001", env = "TICKWIRE_NETEM_BIND", value_parser = value_parsers::parse_bind)]
    bind: SocketAddr,
    /// The server to which connections are forwarded.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:3000", env = "TICKWIRE_NETEM_UPSTREAM", value_parser = server)]
    upstream: SocketAddr,
    #[command(flatten)]
    conditions: ConditionArgs,
    /// Print the address and the summary as lines of JSON.
    #[arg(long)]
    json: bool,
    /// Log filter: off, error, warn, info, debug or trace, or a module's level, such as
    /// tickwire::net=debug; separate several with commas.
    #[arg(long, value_name = "FILTER", default_value = "info", env = "TICKWIRE_LOG")]
    log: String,
}

/// Resolves a server's host to its first IPv4 address. A host without an IPv4 address is resolved
/// to its first address.
fn server(text: &str) -> Result<SocketAddr, String> {
    let expected = "expected a host and a port, such as 127.0.0.1:3000";
    let found: Vec<SocketAddr> =
        text.to_socket_addrs().map_err(|error| format!("{expected} ({error})"))?.collect();
    let chosen = found.iter().find(|address| address.is_ipv4()).or(found.first());
    chosen.copied().ok_or_else(|| expected.to_owned())
}

/// Forwards connections until Ctrl-C or SIGTERM, then prints a summary.
pub fn run(args: &NetemArgs) -> Result<(), CliError> {
    let conditions = args.conditions.conditions()?;
    let log = Log::start(&args.log)?;
    let stopped = signals::stopped()?;
    let options =
        ProxyConfig { listen: args.bind, to: args.upstream, conditions, seed: args.conditions.seed };
    let relay = NetemProxy::start(options).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!("{} is in use; choose another with --bind ADDR:PORT", args.bind)
        }
        io::ErrorKind::QuotaExceeded => error.to_string(),
        _ => format!("cannot listen on {}: {error}", args.bind),
    })?;
    print(&banner(args, &conditions, &relay));
    warn_of_other_localhost(relay.address());
    let _ = stopped.recv();
    let totals = relay.stop();
    print(&if args.json { json(&totals) } else { summary(&totals) });
    log.finish();
    Ok(())
}

fn banner(args: &NetemArgs, conditions: &Conditions, relay: &NetemProxy) -> String {
    let (address, datagrams) = (relay.address(), relay.datagrams());
    let (to, preserves) = (args.upstream, netem_proxy::preserves_addresses(args.upstream));
    if args.json {
        let line = serde_json::json!({
            "address": address.to_string(),
            "upstream": to.to_string(),
            "datagrams": datagrams.map(|address| address.to_string()),
            "conditions": conditions.to_string(),
            "stall_ms": milliseconds(conditions.retransmission_timeout()),
            "seed": args.conditions.seed,
            "keeps_addresses": preserves,
            "is_exposed": !address.ip().is_loopback(),
        });
        return format!("{line}\n");
    }
    let words = conditions.to_string().replace('=', " ").replace(',', ", ");
    let preset = args
        .conditions
        .preset
        .map_or(String::new(), |preset| format!(" ({}: {})", preset.name, preset.description));
    let stall = match conditions.loss_ppm {
        0 => String::new(),
        _ => {
            format!(
                "; a lost segment stalls its connection for {:.0} ms",
                milliseconds(conditions.retransmission_timeout())
            )
        }
    };
    let addresses = if preserves {
        "the server sees each client at an address of its own, 127.x.y.z"
    } else {
        "the server sees all clients at one address: only on Linux, with a server at 127.0.0.1, can each keep its own"
    };
    let lanes = match datagrams {
        Some(address) => format!("datagrams of lanes at {address}"),
        None => format!(
            "no datagrams of lanes: they need UDP port {} at --bind, so another address than the server's, such as 127.0.0.2:3001",
            to.port()
        ),
    };
    let exposed = exposed(args, address);
    format!(
        "netem http://{address}/ to {to}\n  each way: {words}{preset}\n  seed {}{stall}\n  {addresses}\n  {lanes}\n{exposed}",
        args.conditions.seed
    )
}

/// A warning for the banner if other machines can reach the proxy, and through it the server.
fn exposed(args: &NetemArgs, address: SocketAddr) -> String {
    if address.ip().is_loopback() {
        return String::new();
    }
    format!(
        "  warning: --bind {}: other machines reach the server at {} through netem; it adds X-Forwarded-For, \
         so that the server does not treat them as local (127.0.0.1 keeps them out)\n",
        args.bind, args.upstream
    )
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

fn summary(totals: &ProxyStats) -> String {
    let ProxyStats {
        connections,
        refused,
        failed,
        bytes: [up, down],
        counts,
        delays,
        datagrams,
        lost_datagrams,
    } = totals;
    let SegmentCounts { segments, losses, stalls } = counts;
    let delay = |per_mille| delays.quantile(per_mille).map_or(0.0, milliseconds);
    format!(
        "{}, {refused} refused, {failed} without the server\n\
         {up} bytes up, {down} bytes down in {}\n\
         {losses} lost, {stalls} stalled\n\
         delay p50 {:.1} ms, p99 {:.1} ms\n\
         {}, {lost_datagrams} lost\n",
        count_noun(*connections, "connection"),
        count_noun(*segments, "segment"),
        delay(500),
        delay(990),
        count_noun(*datagrams, "datagram"),
    )
}

fn json(totals: &ProxyStats) -> String {
    let delay = |per_mille| totals.delays.quantile(per_mille).map(milliseconds);
    let line = serde_json::json!({
        "connections": totals.connections,
        "refused": totals.refused,
        "failed": totals.failed,
        "bytes_up": totals.bytes[0],
        "bytes_down": totals.bytes[1],
        "segments": totals.counts.segments,
        "losses": totals.counts.losses,
        "stalls": totals.counts.stalls,
        "datagrams": totals.datagrams,
        "lost_datagrams": totals.lost_datagrams,
        "delay_p50_ms": delay(500),
        "delay_p99_ms": delay(990),
    });
    format!("{line}\n")
}
