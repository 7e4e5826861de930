//! `tickwire explain FILE.pcapng`: every frame of every connection of a capture, with the number
//! and time of its packet.
//!
//! The default output is a line for each head, frame and gap, and a table of the connections. Other
//! outputs are drawings, or a line of JSON for each frame. The output is printed while the file is
//! decoded, so a long capture needs no more memory than its file.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::IpAddr;

use super::super::output::{CliError, print, print_error};
use super::received::{EntityFilter, ReceivedTable};
use crate::packet::PacketTables;
use crate::tools::capture::{Capture, TcpConnection, Untrusted};
use crate::tools::explain::capture_walk::{self, CaptureItem, CaptureItemKind, ConnectionSummary, Detail};
use crate::tools::explain::color::ColorMode;
use crate::tools::explain::print::streaming::OutputFormat;
use crate::tools::explain::{DialectChoice, Explanation};
use crate::tools::inspector::{MessageFilter, ProxyNote};
use crate::util::plural::count_noun;
use crate::ws::Side;

/// Options for the output of a capture.
pub struct ShowOptions<'a> {
    /// Only the connection with this number in the list.
    pub client: Option<usize>,
    /// The frames to show.
    pub selection: Selection<'a>,
    /// Instead of the frames, the clients that received these entities.
    pub received: Option<&'a EntityFilter>,
    /// The output format.
    pub form: OutputFormat,
    /// Whether to use colours.
    pub paint: ColorMode,
}

/// The frames or messages to show. Both conditions apply.
pub struct Selection<'a> {
    /// Only packets with this name or code.
    pub packet: Option<&'a str>,
    /// Only messages that match this filter.
    pub filter: Option<&'a MessageFilter>,
}

impl Selection<'_> {
    /// Whether everything is shown.
    pub fn is_everything(&self) -> bool {
        self.packet.is_none() && self.filter.is_none()
    }

    /// Whether the item of a connection is shown.
    pub fn admits(&self, item: &Explanation<'_>, client: usize) -> bool {
        self.packet.is_none_or(|packet| item.names().iter().any(|name| name == packet))
            && self.filter.is_none_or(|filter| filter.matches(item, client as u64))
    }

    /// The error if nothing in the input is shown. `kind` is packet and frame, or message.
    pub fn missing(&self, kind: &str, input: &str) -> String {
        match self.packet {
            Some(name) => format!("there is no {kind} {name:?} in this {input}"),
            None => format!("nothing in this {input} matches the filter"),
        }
    }
}

/// Bytes of output that are written together, because each write is a system call.
const BATCH_BYTES: usize = 32 * 1024;
/// Nanoseconds per second.
pub const SECOND: f64 = 1e9;

/// Explains a capture.
pub fn run(
    capture: &Capture<'_>,
    codes: &PacketTables,
    choice: DialectChoice<'_>,
    options: &ShowOptions<'_>,
) -> Result<(), CliError> {
    let unread = capture.unread().map(|message| capture_walk::with_links(message, capture));
    if let Some(message) = &unread
        && !capture.is_readable()
    {
        return Err(message.clone());
    }
    let begin_ns = capture.packets.first().map_or(0, |packet| packet.at_ns);
    let connections = capture.connections();
    let datagrams = capture_walk::datagrams(capture);
    let names = names(capture, &connections);
    if let Some(filter) = options.received {
        let mut table = ReceivedTable::new(filter.clone(), codes)?;
        let (captured, scope) = ((&connections[..], &datagrams[..]), (options.client, Detail::Tree));
        let tallies = capture_walk::walk_in_detail(captured, codes, choice, scope, |found| table.add(&found));
        table.finish();
        if let (Some(client), true) = (options.client, tallies.is_empty()) {
            return Err(no_connection(client));
        }
        let note = table.incomplete(&tallies).into_iter().chain(capture_walk::truncation_note(capture));
        note.for_each(|note| print_error(&note));
        print(&table.print(begin_ns, options.form == OutputFormat::Json)?);
        return Ok(());
    }
    let is_plain = options.form != OutputFormat::Json && options.selection.is_everything();
    if is_plain {
        let notes: Vec<String> = unread.into_iter().chain(capture_walk::truncated(capture)).collect();
        print(&heading(capture, connections.len(), &notes));
    }
    let (mut is_silent, mut has_begun, mut lines) = (true, false, String::new());
    // A filter compares fields, which only a tree has.
    let is_brief = options.form == OutputFormat::Line && options.selection.filter.is_none();
    let detail = if is_brief { Detail::Line } else { Detail::Tree };
    let (captured, scope) = ((&connections[..], &datagrams[..]), (options.client, detail));
    let tallies = capture_walk::walk_in_detail(captured, codes, choice, scope, |found| {
        let text = format_item(&found, (capture, &names), begin_ns, options);
        is_silent &= text.is_empty();
        lines.push_str(&text);
        // The first lines are printed at once.
        if lines.len() >= BATCH_BYTES || !std::mem::replace(&mut has_begun, true) {
            print(&std::mem::take(&mut lines));
        }
    });
    print(&lines);
    if let (Some(client), true) = (options.client, tallies.is_empty()) {
        return Err(no_connection(client));
    }
    if is_plain {
        print(&table(&tallies));
    }
    let is_missing = is_silent && !options.selection.is_everything();
    let missed = is_missing.then(|| options.selection.missing("packet or frame", "capture"));
    let wrong: Vec<CliError> = missed.into_iter().chain(capture_walk::truncation_note(capture)).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
}

fn no_connection(client: usize) -> String {
    format!("there is no connection {client} in this capture")
}

/// The names of the players, by connection.
type Names<'a> = Vec<Option<Untrusted<&'a str>>>;

fn names<'a>(capture: &'a Capture<'a>, connections: &[TcpConnection<'_>]) -> Names<'a> {
    let mut clients: BTreeMap<IpAddr, usize> = BTreeMap::new();
    for connection in connections {
        *clients.entry(connection.client.ip().to_canonical()).or_default() += 1;
    }
    let is_only = |connection: &TcpConnection<'_>| clients[&connection.client.ip().to_canonical()] == 1;
    connections.iter().map(|connection| capture.name_of(connection, is_only(connection))).collect()
}

fn heading(capture: &Capture<'_>, connections: usize, notes: &[String]) -> String {
    let packets = capture.packets.len();
    let records = match capture.records().count() {
        0 => String::new(),
        records => format!(", {} of the world", count_noun(records, "record")),
    };
    let heading = format!(
        "{}, {}{records}\n",
        count_noun(packets, "packet"),
        count_noun(connections, "TCP connection")
    );
    let notes: String = notes.iter().map(|note| format!("{note}\n")).collect();
    format!("{heading}{notes}\n  packet     seconds  client\n")
}

/// One item in the requested format; empty if the options exclude it.
fn format_item(
    found: &CaptureItem<'_>,
    (capture, names): (&Capture<'_>, &Names<'_>),
    begin_ns: u64,
    options: &ShowOptions<'_>,
) -> String {
    let CaptureItem { client, packet, at_ns, what } = found;
    let note = proxy_note(capture, *packet);
    if options.form == OutputFormat::Json {
        let rest = match what {
            CaptureItemKind::Item(item) if options.selection.admits(item, *client) => {
                with_note(item, &note.unwrap_or_default())
            }
            CaptureItemKind::Gap(side, bytes) if options.selection.is_everything() => {
                format!(r#"{{"from":"{}","hole":{bytes}}}"#, name(*side))
            }
            _ => return String::new(),
        };
        return format!("{{\"client\":{client},\"packet\":{packet},\"at_ns\":{at_ns},{}\n", &rest[1..]);
    }
    let seconds = at_ns.saturating_sub(begin_ns) as f64 / SECOND;
    let at = format!("{packet:>8}{seconds:>12.6}  {client:<6}");
    match what {
        CaptureItemKind::Item(item) if !options.selection.admits(item, *client) => String::new(),
        CaptureItemKind::Item(item) if options.form == OutputFormat::Full => {
            let place = format!("packet {packet}, {seconds:.6} s, client {client}: ");
            let note = note.unwrap_or_default();
            let received = note.explain_received(item).map_or_else(String::new, |received| {
                format!("\nreceived by the proxy instead: {}", received.painted(options.paint))
            });
            let mark = note.mark.map_or_else(String::new, |mark| format!("[{}] ", mark.comment()));
            format!("\n{place}{mark}{}{received}", item.painted(options.paint))
        }
        CaptureItemKind::Item(item) => {
            let note = note.unwrap_or_default();
            let mark = note.mark.map_or_else(String::new, |mark| format!(" [{}]", mark.comment()));
            let received = note.explain_received(item).map(|received| received.to_string());
            let lines = item.one_line(options.paint);
            let lines = lines.lines().map(|line| format!("{at}  {line}{mark}\n"));
            let received = received.iter().flat_map(|lines| lines.lines());
            lines.chain(received.map(|line| format!("{:30}received: {line}\n", ""))).collect()
        }
        _ if !options.selection.is_everything() => String::new(),
        CaptureItemKind::Begin { guess, client: address, server, is_whole } => {
            let name = names.get(client - 1).copied().flatten();
            let name = name.map(|name| format!(" {name:?}")).unwrap_or_default();
            let whole = if *is_whole { "" } else { " (the capture lacks the beginning of the connection)" };
            let guess =
                guess.as_ref().map(|guess| format!("{at}    {}\n", guess.describe())).unwrap_or_default();
            format!("{at}    {address}{name} at {server}{whole}\n{guess}")
        }
        CaptureItemKind::Gap(side, bytes) => {
            format!("{at}  ? the capture lacks {} from the {}\n", count_noun(*bytes, "byte"), name(*side))
        }
    }
}

/// The note of a proxy in the comments of a packet.
fn proxy_note(capture: &Capture<'_>, packet: usize) -> Option<ProxyNote> {
    let comments = &capture.packets.get(packet.checked_sub(1)?)?.comments;
    comments.iter().find_map(|comment| ProxyNote::parse(comment.raw()))
}

/// The explanation as JSON, with the intervention of a proxy and the received message.
fn with_note(item: &Explanation<'_>, note: &ProxyNote) -> String {
    let mut json = item.json();
    let received = note.explain_received(item).map(|received| format!(r#","received":{}"#, received.json()));
    let mark = note.mark.map(|mark| format!(r#","proxy":"{}""#, mark.comment()));
    let more: String = mark.into_iter().chain(received).collect();
    json.insert_str(json.len() - 1, &more);
    json
}

fn name(side: Side) -> &'static str {
    if side == Side::Client { "client" } else { "server" }
}

/// The connections, one per line.
fn table(tallies: &[(usize, ConnectionSummary)]) -> String {
    let mut out = format!(
        "\n{:<8}{:<14}{:>8}{:>10}{:>8}{:>10}{:>8}{:>9}\n",
        "client", "dialect", "> frames", "bytes", "< frames", "bytes", "broken", "missing"
    );
    for (number, tally) in tallies {
        let ConnectionSummary { dialect, is_guess, frames, bytes, broken, missing_bytes, .. } = tally;
        let dialect = if dialect.is_empty() { "none" } else { dialect };
        let dialect = format!("{dialect}{}", if *is_guess { "?" } else { "" });
        let _ = writeln!(
            out,
            "{number:<8}{dialect:<14}{:>8}{:>10}{:>8}{:>10}{broken:>8}{missing_bytes:>9}",
            frames[0], bytes[0], frames[1], bytes[1]
        );
    }
    for (number, ConnectionSummary { datagrams: [up, down], .. }) in tallies {
        if up + down > 0 {
            let _ = writeln!(out, "client {number} has a lane: > {}, < {down}", count_noun(*up, "datagram"));
        }
    }
    if tallies.iter().any(|(_, tally)| tally.is_guess) {
        out += "? a guess: the capture lacks the request, which would determine the dialect\n";
    }
    out
}
