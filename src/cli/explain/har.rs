//! `tickwire explain FILE.har`: every WebSocket message of a browser's network log, with its time.
//!
//! A HAR file has no frame headers, so a message is shown as a message: its opcode, size and
//! content. The path of the request determines the dialect.

use super::super::output::{CliError, print};
use super::file::{SECOND, ShowOptions};
use crate::packet::{Dialect, PacketTables};
use crate::tools::explain::input::InputMessage;
use crate::tools::explain::input::har::{self, HarConnection};
use crate::tools::explain::print::streaming::OutputFormat;
use crate::tools::explain::{Conversation, DialectChoice};
use crate::util::escape;
use crate::util::plural::count_noun;
use crate::ws::Side;

/// The line that explains the difference from a capture.
const NOTE: &str =
    "a HAR file has messages, and no frame headers: no masking keys, fragments, pings or pongs";

/// Explains the messages.
pub fn run(
    contents: &[u8],
    codes: &PacketTables,
    choice: DialectChoice<'_>,
    options: &ShowOptions<'_>,
) -> Result<(), CliError> {
    let connections = har::read(contents)?;
    let mut conversations: Vec<Conversation<'_>> = connections
        .iter()
        .map(|connection| match choice {
            DialectChoice::FromPath(otherwise) => begin(connection, codes, otherwise),
            fixed => fixed.conversation(codes),
        })
        .collect();
    let mut order: Vec<(u64, usize, usize)> = Vec::new();
    for (client, connection) in connections.iter().enumerate() {
        order.extend(connection.messages.iter().enumerate().map(|(at, message)| (message.at_ns, client, at)));
    }
    order.sort_unstable();
    let is_plain = options.form != OutputFormat::Json && options.selection.is_everything();
    if is_plain {
        print(&heading(&connections, order.len()));
    }
    let begin_ns = order.first().map_or(0, |(at_ns, ..)| *at_ns);
    let is_wanted = |client: usize| options.client.is_none_or(|only| only == client);
    let mut is_silent = true;
    for (number, (at_ns, client, at)) in (1..).zip(order) {
        if !is_wanted(client + 1) {
            continue;
        }
        let place = MessagePlace { number, at_ns, begin_ns, client: client + 1 };
        let text =
            place.format(&mut conversations[client], &connections[client].messages[at].message, options);
        is_silent &= text.is_empty();
        print(&text);
    }
    match options.client {
        Some(client) if client == 0 || client > connections.len() => {
            Err(format!("there is no connection {client} in this HAR file"))
        }
        _ if is_silent && !options.selection.is_everything() => {
            Err(options.selection.missing("packet or message", "HAR file"))
        }
        _ => Ok(()),
    }
}

/// Creates the conversation of a connection. The target of its address determines the dialect.
fn begin<'c>(
    connection: &HarConnection,
    codes: &'c PacketTables,
    otherwise: &'c Dialect,
) -> Conversation<'c> {
    let mut conversation = Conversation::new(codes, otherwise);
    let after_scheme = connection.url.split_once("://").map_or("", |(_, rest)| rest);
    let target = after_scheme.find('/').map_or("/", |at| &after_scheme[at..]);
    conversation.set_target(target.split('#').next().unwrap_or_default());
    conversation
}

fn heading(connections: &[HarConnection], messages: usize) -> String {
    let counts = format!(
        "{}, {}",
        count_noun(messages, "message"),
        count_noun(connections.len(), "WebSocket connection")
    );
    let rows = connections.iter().enumerate();
    let rows: String =
        rows.map(|(at, one)| format!("client {}: {}\n", at + 1, escape::escape_line(&one.url))).collect();
    format!("{counts}\n{NOTE}\n{rows}\n message     seconds  client\n")
}

/// Where a message is in the file.
struct MessagePlace {
    number: usize,
    at_ns: u64,
    begin_ns: u64,
    client: usize,
}

impl MessagePlace {
    /// Formats the message; empty if the options exclude it.
    fn format(
        &self,
        conversation: &mut Conversation<'_>,
        message: &Result<InputMessage, String>,
        options: &ShowOptions<'_>,
    ) -> String {
        let MessagePlace { number, at_ns, begin_ns, client } = *self;
        let seconds = at_ns.saturating_sub(begin_ns) as f64 / SECOND;
        let message = match message {
            Ok(message) => message,
            Err(_) if !options.selection.is_everything() || options.form == OutputFormat::Json => {
                return String::new();
            }
            Err(reason) => {
                let reason = escape::escape_line(reason);
                return format!("{number:>8}{seconds:>12.6}  {client:<6}  ? {reason}\n");
            }
        };
        let from = message.from.unwrap_or(Side::Client);
        let item = conversation.explain_message(from, message.opcode, &message.payload);
        if !options.selection.admits(&item, client) {
            return String::new();
        }
        match options.form {
            OutputFormat::Json => {
                format!(
                    "{{\"client\":{client},\"message\":{number},\"at_ns\":{at_ns},{}\n",
                    &item.json()[1..]
                )
            }
            OutputFormat::Full => {
                let place = format!("message {number}, {seconds:.6} s, client {client}: ");
                format!("\n{place}{}", item.painted(options.paint))
            }
            OutputFormat::Line => {
                let line = item.one_line(options.paint);
                format!("{number:>8}{seconds:>12.6}  {client:<6}  {line}")
            }
        }
    }
}
