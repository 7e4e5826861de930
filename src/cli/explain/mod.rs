//! `tickwire explain`: draws and names any bytes of a connection.
//!
//! The input is hexadecimal on the command line, or a file or standard input with hexadecimal,
//! bytes or a capture. The output is a report, a line for each frame, or JSON.

mod file;
mod received;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::color::Color;
use super::game_list::GameList;
use super::output::{CliError, print, print_error};
use super::tables;
use crate::limits;
use crate::packet::{Dialect, PacketTables};
use crate::tools::capture;
use crate::tools::explain::color::ColorMode;
use crate::tools::explain::input::{self, InputPiece};
use crate::tools::explain::print::streaming::{self, OutputFormat};
use crate::tools::explain::{self, Conversation, Explanation, capture_walk};
use crate::ws::Side;
use file::ShowOptions;
use received::EntityFilter;

/// The name of standard input in messages.
const STDIN: &str = "standard input";
/// Maximum characters of a file name on Linux.
const NAME_CHARS: usize = 255;

/// Options of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The bytes in hex, with or without `0x`, optionally separated by spaces, colons, commas or
    /// line breaks; or a file, or - for standard input. A file may be a capture, raw bytes, or text
    /// that contains only hex, in which > starts a line of bytes from the client and < a line from
    /// the server. If a file with these digits as its name exists, it is read, and a note reports
    /// this. To explain the digits instead, put a space before them.
    #[arg(required = true, value_name = "HEX|-|FILE")]
    what: Vec<OsString>,
    /// Dialect of the packets: native, legacy, letters, letters-2024 or letters-2023. Default: the
    /// dialect of the request's path. If a capture lacks the request, the dialect is guessed from
    /// the packets and marked as a guess. Otherwise it is native.
    #[arg(long, value_name = "NAME")]
    dialect: Option<String>,
    /// Sender of the bytes: client or server. Default: masked frames are from a client, unmasked
    /// frames from a server.
    #[arg(long, value_name = "SENDER", value_parser = ["client", "server"])]
    from: Option<String>,
    /// The bytes are an opened datagram of a lane, or one on each line of a file: header and
    /// messages, without a tag. Default sender: client.
    #[arg(long, conflicts_with_all = ["client", "packet", "received"])]
    datagram: bool,
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
    /// For a capture: instead of the frames, print a table of the entities that each client
    /// received: of all entity lists (--received), of one list (--received=cards), or one entity
    /// (--received=cards:17). The exit status is 1 if no client, or not the one of --client,
    /// received such an entity.
    #[arg(long, value_name = "LIST[:ID]", num_args = 0..=1, require_equals = true, default_missing_value = "",
          value_parser = EntityFilter::parse, conflicts_with_all = ["packet", "full", "line"])]
    received: Option<EntityFilter>,
    /// When to use colours.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Color,
}

/// Prints the explanation.
pub fn run(args: &ExplainArgs, games: &GameList) -> Result<(), CliError> {
    let given = args.codes.as_deref().map(tables::load_from).transpose()?;
    let pieces = match read_input(&args.what)? {
        Some((name, contents)) if input::is_capture(&contents) => {
            return explain_capture(args, &contents, given).map_err(|error| format!("{name}: {error}"));
        }
        Some((name, contents)) => input::read(&contents).map_err(|error| format!("{name}: {error}"))?,
        None => vec![InputPiece { from: None, bytes: parse_hex_arguments(&words(&args.what)?)? }],
    };
    let codes = given.unwrap_or_else(|| Arc::clone(&games.codes));
    let dialect = dialect(args, &codes)?;
    if args.client.is_some() || args.packet.is_some() || args.received.is_some() {
        return Err("--client, --packet and --received need a capture, and this input is not one".to_owned());
    }
    let begin = || match args.dialect {
        Some(_) => Conversation::in_dialect(dialect),
        None => Conversation::new(&codes, dialect),
    };
    let form = match (args.json, args.line) {
        (true, _) => OutputFormat::Json,
        (_, true) => OutputFormat::Line,
        _ => OutputFormat::Full,
    };
    if args.datagram {
        for (at, InputPiece { from, bytes }) in pieces.iter().enumerate() {
            let side = from.or(side(args)).unwrap_or(Side::Client);
            let between = if at == 0 || form != OutputFormat::Full { "" } else { "\n" };
            let explanation = explain::parse::datagram::explain(bytes, side, dialect);
            print(&format!("{between}{}", format_explanation(&explanation, form, args.color.paint())));
        }
        return Ok(());
    }
    if let [InputPiece { from, bytes }] = &pieces[..] {
        let side = from.or(side(args)).unwrap_or_else(|| explain::guess_side(bytes));
        streaming::write(begin, (side, bytes), (form, args.color.paint()), print);
        return Ok(());
    }
    let mut is_first = true;
    explain_both_sides(begin(), &pieces, side(args), |explanation| {
        let between = if std::mem::take(&mut is_first) || form != OutputFormat::Full { "" } else { "\n" };
        print(&format!("{between}{}", format_explanation(&explanation, form, args.color.paint())));
    });
    Ok(())
}

/// The requested dialect, otherwise the default dialect of the tables.
fn dialect<'c>(args: &ExplainArgs, codes: &'c PacketTables) -> Result<&'c Dialect, CliError> {
    match (&args.dialect, codes.default_dialect()) {
        (None, Some(dialect)) => Ok(dialect),
        (name, _) => Ok(tables::dialect_by_name(codes, name.as_deref().unwrap_or(tables::DIALECT))?),
    }
}

/// Explains a capture with its own packet tables. A capture without tables uses the given ones.
fn explain_capture(
    args: &ExplainArgs,
    contents: &[u8],
    given: Option<Arc<PacketTables>>,
) -> Result<(), CliError> {
    let capture = capture::read(contents).map_err(|error| error.to_string())?;
    let codes = capture_walk::capture_tables(&capture, given).map_err(|error| error.to_string())?;
    let dialect = dialect(args, &codes)?;
    let given_dialect = args.dialect.as_ref().map(|_| dialect);
    let form = if args.full { OutputFormat::Full } else { OutputFormat::Line };
    let wanted = ShowOptions {
        client: args.client,
        packet: args.packet.as_deref(),
        received: args.received.as_ref(),
        form: if args.json { OutputFormat::Json } else { form },
        paint: args.color.paint(),
    };
    file::run(&capture, &codes, (given_dialect, dialect), &wanted)
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

/// The name and contents of a file or standard input; `None` if the bytes are on the command line.
/// Text with a dot or a slash is a file name, because hexadecimal has neither. Any other text that
/// names an existing file is also a file name.
fn read_input(what: &[OsString]) -> Result<Option<(String, Vec<u8>)>, CliError> {
    let is_name = |word: &&OsString| {
        *word == "-" || word.to_str().is_none_or(|word| word.contains(['.', '/', std::path::MAIN_SEPARATOR]))
    };
    let (name, contents) = match what {
        [dash] if dash == "-" => (STDIN.to_owned(), read_bounded(io::stdin().lock(), STDIN)?),
        [file] if is_name(&file) || is_file(file) => {
            let name = file.display().to_string();
            let opened = File::open(Path::new(file)).map_err(|error| format!("{name}: {error}"))?;
            if let Some(note) = file.to_str().and_then(hex_name_note) {
                print_error(&note);
            }
            let contents = read_bounded(opened, &name)?;
            (name, contents)
        }
        words => {
            let beside = words.iter().find(is_name);
            return beside
                .map_or(Ok(None), |file| Err(format!("cannot combine {} with other input", file.display())));
        }
    };
    Ok(Some((name, contents)))
}

/// Converts the words of the command line to text. None of them is a file name.
fn words(what: &[OsString]) -> Result<Vec<String>, CliError> {
    let text = |word: &OsString| word.to_str().map(str::to_owned);
    let words: Option<Vec<String>> = what.iter().map(text).collect();
    words.ok_or_else(|| "hexadecimal is text, but this input is not UTF-8".to_owned())
}

/// Whether a file of this name exists.
fn is_file(name: &OsStr) -> bool {
    std::fs::metadata(name).is_ok_and(|metadata| !metadata.is_dir())
}

/// The note for a file with a name that is also hexadecimal.
fn hex_name_note(file: &str) -> Option<String> {
    let bytes = explain::hex::parse(file).ok()?;
    let bytes = format!(" {}", explain::hex::print(&bytes));
    Some(format!("reading the file {file:?}; to explain the bytes instead: tickwire explain {bytes:?}"))
}

/// Parses hexadecimal from the command line. If the text may be a missing file, the error names the
/// file.
fn parse_hex_arguments(what: &[String]) -> Result<Vec<u8>, CliError> {
    explain::hex::parse(&what.join(" ")).map_err(|error| match what {
        [name] if is_likely_file_name(name) => {
            format!("there is no file {name:?}, and as hexadecimal it is invalid: {error}")
        }
        _ => error.to_string(),
    })
}

/// Whether the text may be a file name: it has characters that hexadecimal lacks, and is not too
/// long for a name.
fn is_likely_file_name(text: &str) -> bool {
    let is_of_hex = |sign: char| sign.is_ascii_hexdigit() || sign.is_whitespace() || ":,xX".contains(sign);
    text.chars().count() <= NAME_CHARS && !text.chars().all(is_of_hex)
}

fn read_bounded(reader: impl Read, name: &str) -> Result<Vec<u8>, CliError> {
    let mut contents = Vec::new();
    let mut reader = reader.take(limits::EXPLAIN_PASTED_BYTES + 1);
    reader.read_to_end(&mut contents).map_err(|error| format!("{name}: {error}"))?;
    if let Some(packed) = capture::compressed_file::format(&contents) {
        return Err(format!("{name}: {packed}"));
    }
    let mut bound = limits::EXPLAIN_PASTED_BYTES;
    if input::is_capture(&contents) {
        bound = limits::EXPLAIN_BYTES;
        reader.set_limit(bound + 1 - contents.len() as u64);
        reader.read_to_end(&mut contents).map_err(|error| format!("{name}: {error}"))?;
    }
    if contents.len() as u64 > bound {
        return Err(format!("{name}: longer than the maximum of {} MiB", bound >> 20));
    }
    Ok(contents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_hexadecimal_may_be_a_missing_file() {
        let refused = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            parse_hex_arguments(&words).expect_err("it is no hexadecimal")
        };
        assert_eq!(
            refused(&["zz"]),
            "there is no file \"zz\", and as hexadecimal it is invalid: 'z' is not a hexadecimal digit"
        );
        for (words, error) in [
            (&["81", "zz"][..], "'z' is not a hexadecimal digit"),
            (&["818"], "\"818\" has an odd number of digits: each byte needs two"),
            (&["x1"], "'x' is not a hexadecimal digit"),
            (&[&"81 ".repeat(100), "z"], "'z' is not a hexadecimal digit"),
            (&[&"z".repeat(NAME_CHARS + 1)], "'z' is not a hexadecimal digit"),
        ] {
            assert_eq!(refused(words), error, "{words:?}");
        }
    }
}
