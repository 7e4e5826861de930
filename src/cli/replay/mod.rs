//! `tickwire replay`: replays a captured session, tick by tick.
//!
//! It reads a capture file and reports what it replayed and whether the result is the same, as text
//! or JSON. The exit status is 0 if the result is the same, 1 if it differs, and 2 if the file
//! cannot be read or replayed.

mod bisect_report;
mod input;

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use self::input::{ReplayReportError, STDIN_ARG, name};
use super::game_list::GameList;
use super::journal::JournalCapture;
use super::output::{CliError, check_written, print, print_error};
use super::tables;
use super::{playback, value_parsers};
use crate::server::net::journal::JournalPlace;
use crate::tools::capture::{self, Untrusted};
use crate::tools::replay::json::{self, counts, hex};
use crate::tools::replay::{self, CommandDiff, FieldDiffs, ReplayOptions, ReplyDiff, Report};

/// Exit status if the result differs.
const DIFFERS: u8 = 1;
/// Exit status if the file cannot be replayed, or the report cannot be written.
const NO_VERDICT: u8 = 2;

/// Options of `replay`.
#[derive(Debug, Clone, Args)]
pub struct ReplayArgs {
    /// Capture written by a server (with --capture or `capture on`), or - for standard input; or
    /// the directory of --journal, or of one of its rooms, with the ticks since the last snapshot.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// List the entities and fields that differ, and the first such tick. Compares the world of the
    /// commands decoded from the clients' bytes with the world of the recorded command frames.
    #[arg(long)]
    diff: bool,
    /// Stop after this tick of the world and print its checksum; with --json, print the whole
    /// state.
    #[arg(long, value_name = "TICK")]
    to_tick: Option<u32>,
    /// Compare with another capture, or journal, of the same world, by the recorded command frames.
    /// Prints the first tick with different commands, and the first tick after which the worlds
    /// differ, with the fields.
    #[arg(long, value_name = "OTHER", conflicts_with_all = ["diff", "to_tick"])]
    bisect: Option<PathBuf>,
    /// Play the capture in a browser: serve the game's page and the capture to this machine only,
    /// until Ctrl-C. For example: tickwire replay --serve session.pcapng
    #[arg(long, conflicts_with_all = ["diff", "to_tick", "bisect", "json"])]
    serve: bool,
    /// Loopback address and port to listen on with --serve; port 0 picks a free port.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:3000", value_parser = value_parsers::parse_bind, requires = "serve")]
    bind: SocketAddr,
    /// Replay nothing. Write the packets of FILE without the records of the world, for tcpdump and
    /// other tools that support one link type per file. An existing file is not overwritten; - is
    /// standard output.
    #[arg(long, value_name = "OUT", conflicts_with_all = ["diff", "to_tick", "bisect", "serve", "json"])]
    packets: Option<PathBuf>,
    /// With a directory of --journal: how long before its end the ticks begin, in minutes; earlier
    /// to begin with a snapshot, which there is each minute, and later if less is retained.
    #[arg(long, value_name = "N", default_value_t = 0)]
    minutes: u64,
    /// Print one JSON object instead of text.
    #[arg(long)]
    json: bool,
    /// Packet tables of a capture that contains none (see `tickwire codes --help`). A capture with
    /// tables is always replayed with its own. --serve does not need them.
    #[arg(long, value_name = "TABLES", env = "TICKWIRE_CODES")]
    codes: Option<PathBuf>,
}

/// Replays the capture and prints the result.
pub fn run(args: &ReplayArgs, games: &GameList) -> ExitCode {
    let mut captures = Vec::new();
    let mut capture_of = |file: &Path| -> Result<PathBuf, CliError> {
        if !file.is_dir() && !JournalPlace::is_url(file) {
            return Ok(file.to_owned());
        }
        let capture = JournalCapture::write(file, args.minutes, games)?;
        let path = capture.path().to_owned();
        captures.push(capture);
        Ok(path)
    };
    let opened = capture_of(&args.file)
        .and_then(|file| Ok((file, args.bisect.as_deref().map(&mut capture_of).transpose()?)));
    match opened {
        Ok((file, bisect)) => run_captures(&ReplayArgs { file, bisect, ..args.clone() }, games),
        Err(reason) => {
            print_error(&reason);
            ExitCode::from(NO_VERDICT)
        }
    }
}

/// As [`run`], with captures only.
fn run_captures(args: &ReplayArgs, games: &GameList) -> ExitCode {
    if args.serve {
        let Err(reason) = playback::run_playback_server(&args.file, args.bind, games) else {
            return ExitCode::SUCCESS;
        };
        print_error(&reason);
        return ExitCode::from(NO_VERDICT);
    }
    if let Some(out) = &args.packets {
        let Err(reason) = write_packets(&args.file, out) else { return ExitCode::SUCCESS };
        print_error(&reason);
        return ExitCode::from(NO_VERDICT);
    }
    let compared = match &args.bisect {
        Some(other) => bisect_report(args, other, games),
        None => report(args, games).map(|rooms| {
            let is_same = rooms.iter().all(|(_, report)| report.is_same());
            (if args.json { format!("{:#}\n", json::rooms(&rooms)) } else { rooms_as_text(&rooms) }, is_same)
        }),
    };
    let status = match compared {
        Ok((text, is_same)) => {
            print(&text);
            if is_same { ExitCode::SUCCESS } else { ExitCode::from(DIFFERS) }
        }
        Err(refusal) => {
            match refusal {
                ReplayReportError::NotReplayable(reason) if args.json => {
                    print(&format!("{:#}\n", json::error_json(&reason)))
                }
                ReplayReportError::NotReplayable(reason) => print(&format!("not replayable: {reason}\n")),
                ReplayReportError::Unreadable(reason) => print_error(&reason),
            }
            ExitCode::from(NO_VERDICT)
        }
    };
    match check_written() {
        Ok(()) => status,
        Err(reason) => {
            print_error(&reason);
            ExitCode::from(NO_VERDICT)
        }
    }
}

/// Writes the packets of a capture without the records of the world.
fn write_packets(file: &Path, out: &Path) -> Result<(), CliError> {
    let bytes = input::read_bytes(file)?;
    let capture = capture::read(&bytes).map_err(|error| format!("{}: {error}", name(file)))?;
    let packets = capture.packets_alone().map_err(|reason| format!("{}: {reason}", name(file)))?;
    let written = if out.as_os_str() == STDIN_ARG {
        io::stdout().lock().write_all(&packets)
    } else {
        File::create_new(out).and_then(|mut out| out.write_all(&packets))
    };
    written.map_err(|error| format!("--packets {}: {error}", out.display()))
}

fn report(args: &ReplayArgs, games: &GameList) -> Result<Vec<(Untrusted, Report)>, ReplayReportError> {
    let given =
        args.codes.as_deref().map(tables::load_from).transpose().map_err(ReplayReportError::Unreadable)?;
    let options = ReplayOptions {
        fields: args.diff,
        to_tick: args.to_tick,
        state: args.json && args.to_tick.is_some(),
    };
    input::replay_file(&args.file, &games.info(), given, options)
}

/// Compares two recordings. Returns the text to print, and whether they are the same.
fn bisect_report(
    args: &ReplayArgs,
    other: &Path,
    games: &GameList,
) -> Result<(String, bool), ReplayReportError> {
    let ours = input::read_input(&args.file).map_err(ReplayReportError::Unreadable)?;
    let theirs = input::read_input(other).map_err(ReplayReportError::Unreadable)?;
    let bisected = replay::bisect(&ours, &theirs, &games.info());
    let bisected = bisected.map_err(ReplayReportError::NotReplayable)?;
    let text = if args.json {
        format!("{:#}\n", json::bisect_json(&bisected))
    } else {
        bisect_report::bisect_as_text(&bisected)
    };
    Ok((text, bisected.is_same()))
}

/// The fields that differ.
fn fields_as_text(fields: &FieldDiffs) -> String {
    let mut text = String::new();
    match fields.tick {
        Some(tick) => _ = writeln!(text, "fields after tick {tick}: recorded, not replayed"),
        None => text.push_str("fields: none differs between the decoded commands and the recorded ones\n"),
    }
    fields.diffs.iter().for_each(|place| _ = writeln!(text, "  {place}"));
    if let Some(tick) = fields.first_foreign_tick {
        let _ = writeln!(
            text,
            "from tick {tick} on, the recorded commands lead to another checksum than the recorded one: the program that \
            recorded it computes otherwise, and its state cannot be known"
        );
    }
    text
}

/// The reports of all rooms. The default room has no heading if it is the only room.
fn rooms_as_text(rooms: &[(Untrusted, Report)]) -> String {
    let text = |(name, report): &(Untrusted, Report)| match name.raw() {
        "" if rooms.len() == 1 => as_text(report),
        "" => format!("default room\n{}", as_text(report)),
        _ => format!("room {name}\n{}", as_text(report)),
    };
    rooms.iter().map(text).collect()
}

fn as_text(report: &Report) -> String {
    let mut text = String::new();
    let width = counts(report).iter().map(|(_, name, _)| name.len()).max().unwrap_or_default();
    for (_, name, count) in counts(report) {
        writeln!(text, "{name:<width$}  {count}").expect("writing to a string does not fail");
    }
    writeln!(text, "{:<width$}  {}", "first tick", report.first_tick)
        .expect("writing to a string does not fail");
    writeln!(text, "{:<width$}  {:016x}", "checksum", report.checksum)
        .expect("writing to a string does not fail");
    if let Some(tick) = report.last_tick {
        text.push_str(&format!(
            "this room does not have the tick that was asked for: it has those from {} to {tick}\n",
            report.first_tick
        ));
    }
    if let Some(offset) = report.ends_at_byte {
        text.push_str(&format!(
            "the file ends in the middle of the block at byte {offset}: this report covers the part before it\n"
        ));
    }
    if let Some(packet) = report.truncated_at {
        text.push_str(&format!(
            "packet {packet} is truncated by the capture (snapshot length): this report covers the packets before it\n"
        ));
    }
    if let Some((client, ReplyDiff { recorded, replayed })) = &report.answer {
        let packet = recorded.as_ref().or(replayed.as_ref()).map_or(0, |frame| frame.packet);
        text.push_str(&format!("different answer: client {client}, packet {packet}\n"));
        text.push_str(&format!("  recorded  {}\n  replayed  {}\n", hex(recorded), hex(replayed)));
    }
    if let Some(fields) = &report.fields {
        text.push_str(&fields_as_text(fields));
    }
    let Some(difference) = &report.difference else {
        return if report.is_same() { text + "same\n" } else { text };
    };
    text.push_str(&format!("differs at tick {}", difference.tick));
    if let Some((recorded, replayed)) = difference.checksums {
        text.push_str(&format!(": checksum {replayed:016x}, recorded {recorded:016x}"));
    }
    text.push('\n');
    if let Some((tick, CommandDiff { command, recorded, decoded })) = &difference.command {
        let (player, sequence) = (command.0.0, command.1);
        text.push_str(&format!(
            "first differing command: tick {tick}, player {player}, sequence {sequence}\n"
        ));
        text.push_str(&format!("  recorded  {}\n", recorded));
        match decoded {
            Some(command) => text.push_str(&format!("  decoded   {command}\n")),
            None => text.push_str("  decoded   nothing: the client never sent it\n"),
        }
    }
    text
}
