//! `tickwire explain`: draws and names any bytes of a connection.
//!
//! The input is bytes in any notation on the command line, or a file or standard input with them, a
//! capture or a HAR file. The output is a report, a line for each frame, or JSON.

mod file;
mod har;
mod received;
mod source;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::color::Color;
use super::game_list::GameList;
use super::output::{CliError, print, print_error};
use super::{tables, value_parsers};
use crate::packet::PacketTables;
use crate::tools::capture;
use crate::tools::explain::color::ColorMode;
use crate::tools::explain::input::{Input, InputContent, InputMessage, InputPiece, Notation, network_packet};
use crate::tools::explain::print::streaming::{self, OutputFormat};
use crate::tools::explain::{
    self, Conversation, DialectChoice, Explanation, NO_DIALECT, bare_message, capture_walk,
};
use crate::tools::inspector::MessageFilter;
use crate::ws::Side;
use file::{Selection, ShowOptions};
use received::EntityFilter;
use source::Source;

/// Options of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The bytes, or a file, or - for standard input. Bytes are text: hex, with or without `0x`,
    /// optionally separated by spaces, colons, commas or line breaks; the output of xxd, hexdump -C
    /// or od; copies from Wireshark and from the network panel of a browser; a list of numbers or a
    /// text with escapes in C, Python, Rust or JavaScript; Base64. docs/tools.md has a table. In
    /// lines of hex, > marks bytes from the client and < bytes from the server. A file may be such
    /// text, raw bytes, a capture, or a HAR file; each of them also compressed with gzip. If a file
    /// with these digits as its name exists, it is read, and a note reports this. To explain the
    /// digits instead, put a space before them.
    #[arg(required = true, value_name = "BYTES|-|FILE")]
    what: Vec<OsString>,
    /// Dialect of the packets: native, legacy, letters, letters-2024 or letters-2023, or none for
    /// messages that are no packets. Default: the dialect of the request's path. If a capture lacks
    /// the request, the dialect is guessed from the packets and marked as a guess. Otherwise it is
    /// native.
    #[arg(long, value_name = "NAME")]
    dialect: Option<String>,
    /// Sender of the bytes: client or server. Default: masked frames are from a client, unmasked
    /// frames from a server.
    #[arg(long, value_name = "SENDER", value_parser = ["client", "server"])]
    from: Option<String>,
    /// The bytes are an opened datagram of a lane, or one on each line of a file: header and
    /// messages, without a tag. Default sender: client.
    #[arg(long, conflicts_with_all = ["client", "packet", "filter", "received"])]
    datagram: bool,
    /// The bytes are the payload of a message, without a frame header, as a browser shows it. This
    /// is the default for bytes that are a packet and no frame.
    #[arg(long, conflicts_with_all = ["client", "packet", "filter", "received", "datagram"])]
    message: bool,
    /// Both ends have agreed on permessage-deflate (RFC 7692) with its default parameters, so a
    /// frame may be compressed although the bytes have no upgrade. A capture has its own.
    #[arg(long, conflicts_with_all = ["client", "packet", "filter", "received", "datagram", "message"])]
    deflate: bool,
    /// Packet tables to use instead of the built-in tables: a directory of `.tsv` files, one such
    /// file, or a capture that contains its tables. A capture with tables is always explained by
    /// its own.
    #[arg(long, value_name = "TABLES", env = "TICKWIRE_CODES")]
    codes: Option<PathBuf>,
    /// Print one line per frame: > for frames from a client, < for frames from a server. This is
    /// the default for a capture.
    #[arg(long, conflicts_with_all = ["json", "full"])]
    line: bool,
    /// Draw each frame of a capture in full.
    #[arg(long, conflicts_with = "json")]
    full: bool,
    /// Print one line of JSON; for a capture, one line per frame.
    #[arg(long)]
    json: bool,
    /// For a capture: show only the connection with this number in the list of connections.
    #[arg(long, value_name = "NUMBER")]
    client: Option<usize>,
    /// For a capture: show only packets with this name or code, or frames of this type, such as
    /// close. The exit status is 1 if there are none.
    #[arg(long, value_name = "NAME|CODE")]
    packet: Option<String>,
    /// For a capture: show only messages that match this filter of /wire, such as 'price > 6' or
    /// 'from client -ping'. The exit status is 1 if there are none.
    #[arg(long, value_name = "FILTER", value_parser = value_parsers::parse_filter)]
    filter: Option<MessageFilter>,
    /// For a capture: instead of the frames, print a table of the entities that each client
    /// received: of all entity lists (--received), of one list (--received=cards), or one entity
    /// (--received=cards:17). The exit status is 1 if no client, or not the one of --client,
    /// received such an entity.
    #[arg(long, value_name = "LIST[:ID]", num_args = 0..=1, require_equals = true, default_missing_value = "",
          value_parser = EntityFilter::parse, conflicts_with_all = ["packet", "filter", "full", "line"])]
    received: Option<EntityFilter>,
    /// When to use colours.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Color,
}

/// Prints the explanation.
pub fn run(args: &ExplainArgs, games: &GameList) -> Result<(), CliError> {
    let given = args.codes.as_deref().map(tables::load_from).transpose()?;
    let source = source::read(&args.what)?;
    if args.deflate && !matches!(source, Source::Input(_)) {
        return Err(
            "--deflate is for bytes without an upgrade, and this file has its own agreement".to_owned()
        );
    }
    let input = match source {
        Source::Capture(name, contents) => {
            return explain_capture(args, &contents, given).map_err(|error| format!("{name}: {error}"));
        }
        Source::Har(name, contents) => {
            let codes = given.unwrap_or_else(|| Arc::clone(&games.codes));
            return explain_har(args, &contents, &codes).map_err(|error| format!("{name}: {error}"));
        }
        Source::Input(input) => input,
    };
    let codes = given.unwrap_or_else(|| Arc::clone(&games.codes));
    let choice = dialect_choice(args, &codes)?;
    if args.client.is_some() || args.packet.is_some() || args.filter.is_some() || args.received.is_some() {
        let options = "--client, --packet, --filter and --received";
        return Err(format!("{options} need a capture, and this input is not one"));
    }
    let Input { notation, content } = input;
    if !matches!(notation, Notation::Hex | Notation::Bytes) {
        print_error(&format!("read as {notation}"));
    }
    match content {
        InputContent::Message(message) => explain_message(args, &message, choice, &codes),
        InputContent::Pieces(mut pieces) => {
            pieces.iter_mut().for_each(unwrap_packet);
            explain_pieces(args, &pieces, &codes, choice);
        }
    }
    Ok(())
}

/// Replaces a network packet by the data of its TCP segment, with a note.
fn unwrap_packet(piece: &mut InputPiece) {
    if let Some(data) = network_packet::tcp_payload(&piece.bytes) {
        let (packet, bytes) = (piece.bytes.len(), data.len());
        print_error(&format!(
            "a network packet of {packet} bytes: its {bytes} bytes of TCP data are explained"
        ));
        piece.bytes = data.to_vec();
    }
}

/// Explains bytes of a connection, a datagram, or the payload of a message.
fn explain_pieces(
    args: &ExplainArgs,
    pieces: &[InputPiece],
    codes: &PacketTables,
    choice: DialectChoice<'_>,
) {
    let begin = || {
        let mut conversation = choice.conversation(codes);
        if args.deflate {
            conversation.agree_on_deflate();
        }
        conversation
    };
    let form = form(args);
    if args.datagram {
        for (at, InputPiece { from, bytes }) in pieces.iter().enumerate() {
            let side = from.or(side(args)).unwrap_or(Side::Client);
            let between = if at == 0 || form != OutputFormat::Full { "" } else { "\n" };
            let explanation = explain::parse::datagram::explain(bytes, side, choice.dialect());
            print(&format!("{between}{}", format_explanation(&explanation, form, args.color.paint())));
        }
        return;
    }
    if let [InputPiece { from, bytes }] = pieces {
        let wanted = from.or(side(args));
        let given = args.dialect.as_ref().map(|_| choice.dialect());
        let found = match args.message {
            true => Some((bare_message::as_message(bytes, wanted), choice)),
            false if args.deflate || matches!(choice, DialectChoice::Foreign(_)) => None,
            false => bare_message::find(bytes, wanted, codes, given)
                .map(|(message, dialect)| (message, DialectChoice::Fixed(dialect))),
        };
        if let Some((message, choice)) = found {
            if !args.message {
                print_error(&format!(
                    "no frame header: these bytes are the payload of a message in the dialect {} (--dialect and --from if not)",
                    choice.dialect().name()
                ));
            }
            return explain_message(args, &message, choice, codes);
        }
        let side = wanted.unwrap_or_else(|| explain::guess_side(bytes));
        return streaming::write(begin, (side, bytes), (form, args.color.paint()), print);
    }
    let mut is_first = true;
    explain_both_sides(begin(), pieces, side(args), |explanation| {
        let between = if std::mem::take(&mut is_first) || form != OutputFormat::Full { "" } else { "\n" };
        print(&format!("{between}{}", format_explanation(&explanation, form, args.color.paint())));
    });
}

/// Explains a message without its frames.
fn explain_message(
    args: &ExplainArgs,
    message: &InputMessage,
    choice: DialectChoice<'_>,
    codes: &PacketTables,
) {
    let InputMessage { from, opcode, payload } = message;
    let from = side(args).or(*from).unwrap_or_else(|| bare_message::sender_of(message, choice.dialect()));
    let mut conversation = match choice {
        DialectChoice::FromPath(dialect) => Conversation::in_dialect(dialect),
        fixed => fixed.conversation(codes),
    };
    let explanation = conversation.explain_message(from, *opcode, payload);
    print(&format_explanation(&explanation, form(args), args.color.paint()));
}

fn form(args: &ExplainArgs) -> OutputFormat {
    match (args.json, args.line) {
        (true, _) => OutputFormat::Json,
        (_, true) => OutputFormat::Line,
        _ => OutputFormat::Full,
    }
}

/// Explains the messages of a HAR file.
fn explain_har(args: &ExplainArgs, contents: &[u8], codes: &PacketTables) -> Result<(), CliError> {
    if args.received.is_some() || args.datagram {
        return Err("--received and --datagram need other input, and this is a HAR file".to_owned());
    }
    har::run(contents, codes, dialect_choice(args, codes)?, &show_options(args))
}

/// The options for the output of a capture or a HAR file.
fn show_options(args: &ExplainArgs) -> ShowOptions<'_> {
    let form = if args.full { OutputFormat::Full } else { OutputFormat::Line };
    ShowOptions {
        client: args.client,
        selection: Selection { packet: args.packet.as_deref(), filter: args.filter.as_ref() },
        received: args.received.as_ref(),
        form: if args.json { OutputFormat::Json } else { form },
        paint: args.color.paint(),
    }
}

/// The requested dialect, otherwise the dialect of the path, with the default of the tables.
fn dialect_choice<'c>(args: &ExplainArgs, codes: &'c PacketTables) -> Result<DialectChoice<'c>, CliError> {
    let default = || match codes.default_dialect() {
        Some(dialect) => Ok(dialect),
        None => tables::dialect_by_name(codes, tables::DIALECT),
    };
    Ok(match args.dialect.as_deref() {
        None => DialectChoice::FromPath(default()?),
        Some(NO_DIALECT) => DialectChoice::Foreign(default()?),
        Some(name) => DialectChoice::Fixed(tables::dialect_by_name(codes, name)?),
    })
}

/// Explains a capture with its own packet tables. A capture without tables uses the given ones.
fn explain_capture(
    args: &ExplainArgs,
    contents: &[u8],
    given: Option<Arc<PacketTables>>,
) -> Result<(), CliError> {
    let capture = capture::read(contents).map_err(|error| error.to_string())?;
    let codes = capture_walk::capture_tables(&capture, given).map_err(|error| error.to_string())?;
    file::run(&capture, &codes, dialect_choice(args, &codes)?, &show_options(args))
}

/// Explains pieces of both directions, in order.
fn explain_both_sides<'c>(
    mut conversation: Conversation<'c>,
    pieces: &[InputPiece],
    otherwise: Option<Side>,
    mut each: impl FnMut(Explanation<'c>),
) {
    for InputPiece { from, bytes } in pieces {
        let side = from.or(otherwise).unwrap_or_else(|| explain::guess_side(bytes));
        conversation.receive_each(side, bytes, &mut each);
    }
    [Side::Client, Side::Server].into_iter().flat_map(|side| conversation.finish(side)).for_each(each);
}

fn side(args: &ExplainArgs) -> Option<Side> {
    args.from.as_deref().map(|side| if side == "client" { Side::Client } else { Side::Server })
}

fn format_explanation(explanation: &Explanation<'_>, form: OutputFormat, paint: ColorMode) -> String {
    match form {
        OutputFormat::Json => explanation.json() + "\n",
        OutputFormat::Line => explanation.one_line(paint),
        OutputFormat::Full => explanation.painted(paint),
    }
}
