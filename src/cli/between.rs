//! `tickwire between`: a proxy that shows and changes the traffic of any WebSocket application.
//!
//! The threads of the proxy format lines and queue them; one thread prints them. If the terminal is
//! too slow, lines are counted instead of queued, so the traffic never waits for the terminal.

use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;

use clap::Args;

use super::between_lines::{LineFormat, format_event};
use super::color::Color;
use super::condition_args::ConditionArgs;
use super::game_list::GameList;
use super::log::Log;
use super::output::{CliError, print, reachable, warn_of_other_localhost};
use super::{signals, tables, value_parsers};
use crate::client::tls;
use crate::client::url::Url;
use crate::limits;
use crate::server::net::{InterceptConfig, InterceptingProxy, ProxyEvent};
use crate::tools::explain::NO_DIALECT;
use crate::tools::inspector::MessageFilter;
use crate::tools::intercept::rule::Rule;
use crate::tools::intercept::upgrade::HeadRewrite;
use crate::util::plural::count_noun;

/// Options of `between`.
#[derive(Debug, Args)]
pub struct BetweenArgs {
    /// URL of the server, such as ws://127.0.0.1:8080 or wss://example.org/socket. A path precedes
    /// the path of each request, and replaces the path /.
    #[arg(long, visible_alias = "to", value_name = "URL", env = "TICKWIRE_BETWEEN_UPSTREAM")]
    upstream: Url,
    /// Address and port to listen on, for the clients; port 0 picks a free port.
    #[arg(long, visible_alias = "listen", value_name = "ADDR:PORT", default_value = "127.0.0.1:3002", env = "TICKWIRE_BETWEEN_BIND", value_parser = value_parsers::parse_bind)]
    bind: SocketAddr,
    /// Allow --bind with an address that other machines can reach.
    #[arg(long)]
    allow_remote: bool,
    /// Address and port of the page that shows, holds and edits messages; only this machine can
    /// open it.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:3003", env = "TICKWIRE_BETWEEN_PAGE", value_parser = value_parsers::parse_bind)]
    page: SocketAddr,
    /// Serve no page.
    #[arg(long, conflicts_with = "page")]
    no_page: bool,
    /// A rule, such as 'client move: hold'; may be repeated, and the first that matches applies.
    ///
    /// CONDITION: ACTION. A condition is a filter of /wire, after `client`, `server` or `all`. An
    /// action is hold, drop, delay 200ms, repeat 3, replace "OLD" "NEW", or break
    /// mask|length|opcode|reserved|fin|utf8.
    #[arg(long = "rule", value_name = "RULE")]
    rules: Vec<String>,
    /// Print only messages that match this filter, such as 'from client -ping'. Pages and the
    /// capture have all.
    #[arg(long, value_name = "FILTER", value_parser = value_parsers::parse_filter)]
    filter: Option<MessageFilter>,
    /// Print one line for each message (the default).
    #[arg(long)]
    line: bool,
    /// Print a line of JSON for each event.
    #[arg(long, conflicts_with_all = ["line", "full"])]
    json: bool,
    /// Draw each frame in full.
    #[arg(long, conflicts_with = "line")]
    full: bool,
    /// Print no messages.
    #[arg(long, conflicts_with_all = ["line", "json", "full"])]
    quiet: bool,
    /// Write what passed to this pcapng file, for Wireshark and `explain`. TLS is removed.
    #[arg(long, value_name = "FILE")]
    capture: Option<PathBuf>,
    /// Decode messages as packets of this dialect, or `none`. Default: the dialect of a path that
    /// only tickwire servers have, otherwise none.
    #[arg(long, value_name = "NAME")]
    dialect: Option<String>,
    /// Packet tables to use instead of the built-in tables: a directory of `.tsv` files, one such
    /// file, or a capture that contains its tables.
    #[arg(long, value_name = "TABLES", env = "TICKWIRE_CODES")]
    codes: Option<PathBuf>,
    /// Remove the client's offer of extensions, so that no message is compressed.
    #[arg(long)]
    no_compression: bool,
    /// Leave the headers Host and Origin as the client sent them.
    #[arg(long)]
    keep_host: bool,
    /// Accept TLS from the clients, with a self-signed certificate made now: wss:// and https://.
    #[arg(long)]
    tls: bool,
    /// Write the certificate of --tls to this file, in PEM, for clients that should accept it.
    #[arg(long, value_name = "FILE", requires = "tls")]
    save_certificate: Option<PathBuf>,
    /// Certificates of authorities to accept for wss:// instead of the ones of this system: a file
    /// in PEM.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Accept any certificate for wss://. The server is then not authenticated.
    #[arg(long, conflicts_with = "ca")]
    insecure: bool,
    #[command(flatten)]
    conditions: ConditionArgs,
    /// When to use colours.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Color,
    /// Log filter: off, error, warn, info, debug or trace, or a module's level, such as
    /// tickwire::net=debug; separate several with commas.
    #[arg(long, value_name = "FILTER", default_value = "info", env = "TICKWIRE_LOG")]
    log: String,
}

/// Relays until Ctrl-C or SIGTERM, then prints a summary.
pub fn run(args: &BetweenArgs, games: &GameList) -> Result<(), CliError> {
    if !args.bind.ip().is_loopback() && !args.allow_remote {
        return Err(format!(
            "--bind {}: other machines could reach {} through this proxy; use 127.0.0.1, or add --allow-remote",
            args.bind, args.upstream
        ));
    }
    let log = Log::start(&args.log)?;
    let stopped = signals::stopped()?;
    let (lines, printer) = Lines::start();
    let certificate = args.certificate()?;
    let config = args.config(games, &lines, certificate.map(|made| made.config))?;
    let proxy = InterceptingProxy::start(config).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!("{} or {} is in use; choose others with --bind and --page", args.bind, args.page)
        }
        _ => format!("cannot listen on {} and {}: {error}", args.bind, args.page),
    })?;
    print(&args.banner(&proxy));
    warn_of_other_localhost(proxy.address());
    let _ = stopped.recv();
    let totals = proxy.stop().map_err(|error| format!("--capture: {error}"));
    drop(lines);
    let _ = printer.join();
    let totals = totals?;
    let [up, down] = totals.messages;
    print(&if args.json {
        let (connections, upgraded, refused) = (totals.connections, totals.upgraded, totals.refused);
        let line = serde_json::json!({
            "event": "summary", "connections": connections, "upgraded": upgraded, "refused": refused,
            "messages_up": up, "messages_down": down,
        });
        format!("{line}\n")
    } else {
        format!(
            "{}, {} upgraded, {} refused\n{up} messages up, {down} down\n",
            count_noun(totals.connections, "connection"),
            totals.upgraded,
            totals.refused
        )
    });
    log.finish();
    Ok(())
}

impl BetweenArgs {
    fn config(
        &self,
        games: &GameList,
        lines: &Arc<Lines>,
        own_tls: Option<Arc<tls::ServerConfig>>,
    ) -> Result<InterceptConfig, CliError> {
        let codes = tables::load_or_built_in(self.codes.as_deref(), games)?;
        if let Some(name) = self.dialect.as_deref().filter(|name| *name != NO_DIALECT) {
            tables::dialect_by_name(&codes, name)?;
        }
        let to_tls =
            self.upstream.is_tls.then(|| tls::client_config(self.ca.as_deref(), self.insecure)).transpose();
        let rules = Rule::parse_all(&self.rules).map_err(|error| format!("--{error}"))?;
        let create = |path: &PathBuf| File::create(path).map_err(|error| error_of("--capture", path, &error));
        Ok(InterceptConfig {
            listen: self.bind,
            inspect: (!self.no_page).then_some(self.page),
            to: self.upstream.clone(),
            to_tls: to_tls.map_err(|error| format!("{}: {error}", self.upstream))?,
            own_tls,
            rewrite: self.rewrite(),
            rules,
            conditions: self.conditions.conditions()?,
            seed: self.conditions.seed,
            codes,
            dialect: self.dialect.clone(),
            capture: self.capture.as_ref().map(create).transpose()?,
            on_event: self.printer(Arc::clone(lines)),
        })
    }

    /// The changes of each request head.
    fn rewrite(&self) -> HeadRewrite {
        let target = &self.upstream.target;
        let has_path = !matches!(target.as_str(), "" | "/");
        HeadRewrite {
            host: (!self.keep_host).then(|| self.upstream.authority()),
            scheme: if self.upstream.is_tls { "https" } else { "http" },
            path_prefix: if has_path { target.trim_end_matches('/').to_owned() } else { String::new() },
            root_target: has_path.then(|| target.clone()),
            removes_extensions: self.no_compression,
            forwarded_for: None,
        }
    }

    fn certificate(&self) -> Result<Option<tls::OwnCertificate>, CliError> {
        if !self.tls {
            return Ok(None);
        }
        let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
        let ip: IpAddr = self.bind.ip();
        if !ip.is_loopback() && !ip.is_unspecified() {
            names.push(ip.to_string());
        }
        let made = tls::self_signed(names).map_err(|error| format!("--tls: {error}"))?;
        if let Some(path) = &self.save_certificate {
            fs::write(path, &made.pem).map_err(|error| error_of("--save-certificate", path, &error))?;
        }
        Ok(Some(made))
    }

    /// Formats and queues the events that the user wants to see.
    fn printer(&self, lines: Arc<Lines>) -> Box<dyn Fn(&ProxyEvent<'_>) + Send + Sync> {
        let format = match (self.json, self.full) {
            _ if self.quiet => return Box::new(|_| ()),
            (true, _) => LineFormat::Json,
            (_, true) => LineFormat::Full(self.color.paint()),
            _ => LineFormat::Line(self.color.paint()),
        };
        let filter = self.filter.clone().unwrap_or_default();
        Box::new(move |event| {
            if let Some(text) = format_event(event, &filter, format) {
                lines.push(text);
            }
        })
    }

    fn banner(&self, proxy: &InterceptingProxy) -> String {
        let (address, page) = (proxy.address(), proxy.page_address());
        if self.json {
            let line = serde_json::json!({
                "event": "started",
                "address": address.to_string(),
                "page": page.map(|page| page.to_string()),
                "to": self.upstream.to_string(),
                "is_exposed": !address.ip().is_loopback(),
            });
            return format!("{line}\n");
        }
        let (scheme, own) = (if self.tls { "wss" } else { "ws" }, reachable(address));
        let mut text = format!("between {scheme}://{own}/ and {}\n", self.upstream);
        let pages = if self.tls { "https" } else { "http" };
        text.push_str(&format!(
            "  use {scheme}://{own}/, and {pages}://{own}/ for its pages, instead of the server's address\n"
        ));
        if let Some(page) = page {
            text.push_str(&format!("  page: http://{page}/ (hold, edit and send messages)\n"));
        }
        if self.tls {
            let saved = match &self.save_certificate {
                Some(path) => format!("accept it by the file {}", path.display()),
                None => "a browser asks once whether to accept it".to_owned(),
            };
            text.push_str(&format!("  certificate: self-signed, for localhost and 127.0.0.1; {saved}\n"));
        }
        for rule in &self.rules {
            text.push_str(&format!("  rule: {rule}\n"));
        }
        if let Some(path) = &self.capture {
            text.push_str(&format!("  capture: {}\n", path.display()));
        }
        if !address.ip().is_loopback() {
            text.push_str("  warning: other machines reach the server through this proxy\n");
        }
        text
    }
}

fn error_of(option: &str, path: &Path, error: &io::Error) -> CliError {
    format!("{option} {}: {error}", path.display())
}

/// The queue of lines for the terminal.
struct Lines {
    sender: SyncSender<String>,
    /// Lines that did not fit since the last line.
    missed: AtomicU64,
}

impl Lines {
    fn start() -> (Arc<Lines>, thread::JoinHandle<()>) {
        let (sender, receiver) = mpsc::sync_channel(limits::INTERCEPT_LINES);
        let lines = Arc::new(Lines { sender, missed: AtomicU64::new(0) });
        (lines, thread::spawn(move || print_all(&receiver)))
    }

    fn push(&self, line: String) {
        let missed = self.missed.swap(0, Ordering::Relaxed);
        let line = match missed {
            0 => line,
            missed => format!("({missed} lines not printed: the terminal was too slow)\n{line}"),
        };
        if self.sender.try_send(line).is_err() {
            self.missed.fetch_add(missed + 1, Ordering::Relaxed);
        }
    }
}

/// Prints until the proxy has stopped. Lines that are available together are printed together.
fn print_all(lines: &Receiver<String>) {
    while let Ok(mut text) = lines.recv() {
        text.extend(lines.try_iter());
        print(&text);
    }
}
