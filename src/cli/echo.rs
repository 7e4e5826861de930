//! `tickwire echo`: the smallest server on the WebSocket layer, or with `--connect` the smallest
//! client.

use std::io;
use std::net::SocketAddr;

use clap::Args;

use super::log::Log;
use super::output::{CliError, print, warn_of_other_localhost};
use super::{signals, value_parsers};
use crate::client::{echo, url::Url};
use crate::limits;
use crate::server::net::EchoServer;
use crate::util::plural::count_noun;
use crate::ws::Event;

/// Displayed characters of a text message.
const MAX_CHARS: usize = 40;

/// Options of `echo`.
#[derive(Debug, Args)]
pub struct EchoArgs {
    /// Address and port to listen on; port 0 picks a free port.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:9001", value_parser = value_parsers::parse_bind)]
    bind: SocketAddr,
    /// Maximum size of a message, all fragments together. A longer message closes the connection
    /// with code 1009. A larger maximum means fewer concurrent clients.
    #[arg(long, value_name = "BYTES", default_value_t = limits::ECHO_MESSAGE_BYTES as u64,
          value_parser = clap::value_parser!(u64).range(1..=limits::MAX_ECHO_MESSAGE_BYTES as u64))]
    max_message: u64,
    /// Run as a client instead: connect, echo every message until the server closes the connection,
    /// and print each event.
    #[arg(long, value_name = "URL", conflicts_with_all = ["bind", "max_message"])]
    connect: Option<Url>,
    /// Compress no messages: as a server, accept no offer of permessage-deflate (RFC 7692), and as
    /// a client, offer nothing.
    #[arg(long)]
    no_compression: bool,
    /// Log filter: off, error, warn, info, debug or trace, or a module's level, such as
    /// tickwire::net=debug; separate several with commas.
    #[arg(long, value_name = "FILTER", default_value = "info")]
    log: String,
}

impl EchoArgs {
    /// Whether to connect instead of serving.
    pub fn is_client(&self) -> bool {
        self.connect.is_some()
    }
}

/// Echoes until Ctrl-C or SIGTERM, or as a client until the server closes.
pub fn run(args: &EchoArgs) -> Result<(), CliError> {
    if let Some(url) = &args.connect {
        return echo::run(url, !args.no_compression, |event| print(&format!("{}\n", line(event))))
            .map_err(|error| format!("{url}: {error}"));
    }
    let log = Log::start(&args.log)?;
    let stopped = signals::stopped()?;
    let server =
        EchoServer::start(args.bind, args.max_message as usize, !args.no_compression).map_err(|error| {
            match error.kind() {
                io::ErrorKind::AddrInUse => {
                    format!("{} is in use; choose another with --bind ADDR:PORT", args.bind)
                }
                io::ErrorKind::QuotaExceeded => error.to_string(),
                _ => format!("cannot listen on {}: {error}", args.bind),
            }
        })?;
    print(&format!("echo ws://{}/, messages of at most {} bytes\n", server.address(), args.max_message));
    warn_of_other_localhost(server.address());
    let _ = stopped.recv();
    let left = server.stop();
    log.finish();
    if left > 0 {
        Err(format!("{} did not close before the shutdown deadline", count_noun(left, "connection")))
    } else {
        Ok(())
    }
}

/// An event in one line. A text message is shown by its first characters.
fn line(event: &Event<'_>) -> String {
    match event {
        Event::Text(text) => {
            let prefix: String = text.chars().take(MAX_CHARS).collect();
            let dots = if prefix.len() < text.len() { "…" } else { "" };
            format!("text, {}, {prefix:?}{dots}", count_noun(text.len(), "byte"))
        }
        other => other.to_string(),
    }
}
