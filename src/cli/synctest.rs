//! `tickwire synctest`: compares a world with copies of it that are restored from snapshots.

use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;

use super::game_list::GameList;
use super::output::{CliError, print};
use super::wasm_synctest::{RecordedRun, WasmBuild};
use crate::game::{DynWorld, GameInfo};
use crate::limits;
use crate::packet::json::json_object;
use crate::server::embedded::TickRecord;
use crate::testing::synctest::{self, SynctestPlan, SynctestReport};
use crate::util::plural::count_noun;

/// Ticks between two checksums of a trace.
const TRACE_EVERY: u32 = 100;

/// Options of `synctest`.
#[derive(Debug, Args)]
pub struct SynctestArgs {
    /// The game. Default: the game of the default room.
    #[arg(long, value_name = "NAME")]
    game: Option<String>,
    /// Ticks to run for each seed; more than --check-distance.
    #[arg(long, value_name = "COUNT", default_value = "10000", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    ticks: u32,
    /// Seed of the world and of the bots.
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    seed: u32,
    /// Number of seeds to run, one after the other, starting with --seed.
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    seeds: u32,
    /// Number of bots that play.
    #[arg(long, value_name = "COUNT", default_value = "8", value_parser = clap::value_parser!(u32).range(1..=limits::EMBEDDED_BOTS as i64))]
    players: u32,
    /// Age in ticks of the snapshots from which copies are restored, one in each tick.
    #[arg(long, value_name = "TICKS", default_value = "8", value_parser = clap::value_parser!(u32).range(1..=1000))]
    check_distance: u32,
    /// Write each command frame, and the checksum of each hundredth tick, to this file, for another
    /// build to replay.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Instead of playing, run the command frames of such a file, and compare the checksums.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["trace", "game", "ticks", "seed", "seeds", "players", "check_distance"])]
    replay_trace: Option<PathBuf>,
    /// In a program with its own game: build the game for WebAssembly too, execute the same
    /// commands there, and compare the checksum of each tick. Finds a rule that computes with
    /// floats, or depends on the build otherwise. Needs the target wasm32-unknown-unknown, and
    /// Node.js.
    #[arg(long, conflicts_with = "replay_trace")]
    wasm: bool,
    /// Print the counts as one line of JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the seeds. The first difference ends the run, and is a failure.
pub fn run(args: &SynctestArgs, games: &GameList) -> Result<(), CliError> {
    if let Some(file) = &args.replay_trace {
        return replay_trace(file, games, args.json);
    }
    let game = games.embedded(args.game.as_deref())?;
    let mut trace = args.trace.as_deref().map(create).transpose()?.map(BufWriter::new);
    let wasm = if args.wasm { Some(WasmBuild::new(games)?) } else { None };
    let (mut all, mut wasm_checksums) = (SynctestReport::default(), None::<u64>);
    for seed in args.seed..=last_seed(args)? {
        let (players, back) = (args.players as usize, args.check_distance);
        let plan = SynctestPlan { game, ticks: args.ticks, seed, players, check_distance: back };
        if args.ticks <= args.check_distance {
            return Err(format!(
                "--ticks {}: must be more than --check-distance {}",
                args.ticks, args.check_distance
            ));
        }
        let mut written = Ok(());
        if let Some(trace) = &mut trace {
            written = writeln!(trace, "game {} {seed}", game.info.name);
        }
        let mut run = RecordedRun::default();
        let report = synctest::run(&plan, &mut |recorded| {
            if wasm.is_some() {
                run.push(recorded);
            }
            if let (Some(trace), true) = (&mut trace, written.is_ok()) {
                written = write_tick(trace, recorded);
            }
        });
        let report = report.map_err(|failure| failure.to_string())?;
        if let (Some(trace), true) = (&mut trace, written.is_ok()) {
            written = writeln!(trace, "checksum {:016x}", report.checksum);
        }
        written.map_err(|error| format!("--trace: {error}"))?;
        if let Some(wasm) = &wasm {
            let compared = wasm.compare(game.info, seed, &run, report.checksum)?;
            wasm_checksums = Some(wasm_checksums.unwrap_or_default() + compared);
        }
        all.add(&report);
    }
    if let Some(mut trace) = trace {
        trace.flush().map_err(|error| format!("--trace: {error}"))?;
    }
    let floats = if games.is_built_in() { String::new() } else { super::floats::note() };
    let (name, wasm) = (game.info.name, wasm_checksums);
    print(&if args.json { json(args, name, &all, wasm) } else { text(args, name, &all, wasm) + &floats });
    Ok(())
}

/// Creates the file of a trace. A device or a pipe is written to; an existing file is not
/// overwritten.
fn create(path: &Path) -> Result<File, CliError> {
    let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file());
    if is_file {
        return Err(format!(
            "--trace {}: the file exists; choose another, or remove it first",
            path.display()
        ));
    }
    File::create(path).map_err(|error| format!("--trace {}: {error}", path.display()))
}

fn last_seed(args: &SynctestArgs) -> Result<u32, CliError> {
    let last = args.seed.checked_add(args.seeds - 1);
    last.ok_or_else(|| {
        format!("--seed {} --seeds {}: the last seed would exceed {}", args.seed, args.seeds, u32::MAX)
    })
}

fn write_tick(trace: &mut BufWriter<File>, recorded: &TickRecord) -> std::io::Result<()> {
    if recorded.tick > 0 && recorded.tick.is_multiple_of(TRACE_EVERY) {
        writeln!(trace, "checksum {:016x}", recorded.checksum)?;
    }
    trace.write_all(b"frame ")?;
    recorded.frame.iter().try_for_each(|byte| write!(trace, "{byte:02x}"))?;
    writeln!(trace)
}

fn text(args: &SynctestArgs, game: &str, all: &SynctestReport, wasm: Option<u64>) -> String {
    let last = args.seed.saturating_add(args.seeds - 1);
    let seeds =
        if args.seeds == 1 { format!("seed {last}") } else { format!("seeds {} to {last}", args.seed) };
    let (players, ticks) = (
        count_noun(args.players, "player"),
        count_noun(u64::from(args.seeds) * u64::from(args.ticks), "tick"),
    );
    let mut text = format!("{game}, {seeds}, {players}, {ticks}: no difference\n\n");
    text += "compared, by the checksum of the whole state; a single difference would have ended the run\n";
    let distance = count_noun(args.check_distance, "tick");
    for (times, compared) in [
        (all.replays, "times, with a world that executes the same commands from the start: the rules depend on nothing but state and commands".to_owned()),
        (all.copies, format!("times, with a copy restored from the snapshot of {distance} before, which executed these ticks again: no field that decides something is missing from the snapshot")),
        (all.tails, "times, with a copy restored after a quarter of the ticks, which runs to the end: the same, over a long time".to_owned()),
    ] {
        let _ = writeln!(text, "{times:>12}  {compared}");
    }
    if let Some(times) = wasm {
        let compared = "times, with the WebAssembly build of the game, which executed the same commands: no rule has depended on the build";
        let _ = writeln!(text, "{times:>12}  {compared}");
    }
    text += "\nexecuted commands; rules without a command were not tested\n";
    for (kind, number) in &all.commands {
        let _ = writeln!(text, "{number:>12}  {kind}");
    }
    let stats: Vec<String> =
        all.stats.0.iter().map(|(_, words, number)| format!("{words} {number}")).collect();
    let _ = writeln!(text, "\nthe bots played: {}", stats.join(", "));
    if let Some(min_players) = all.min_acting_players {
        let window = synctest::WINDOW;
        let _ = writeln!(
            text,
            "in each {window} ticks at least {} acted",
            count_noun(min_players as u64, "player")
        );
    }
    let _ = writeln!(
        text,
        "checksum of the world at the end: {:016x}; every build must print the same",
        all.checksum
    );
    text
}

fn json(args: &SynctestArgs, game: &str, all: &SynctestReport, wasm: Option<u64>) -> String {
    let stats =
        json_object(all.stats.0.iter().map(|(name, _, number)| ((*name).to_owned(), (*number).into())));
    let line = serde_json::json!({
        "game": game,
        "seed": args.seed,
        "seeds": args.seeds,
        "ticks": args.ticks,
        "players": args.players,
        "check_distance": args.check_distance,
        "replays": all.replays,
        "copies": all.copies,
        "tails": all.tails,
        "wasm": wasm,
        "least_acting": all.min_acting_players,
        "checksum": format!("{:016x}", all.checksum),
        "commands": all.commands,
        "deeds": stats,
    });
    format!("{line}\n")
}

/// Runs the command frames of a trace and compares the checksums.
fn replay_trace(path: &Path, games: &GameList, is_json: bool) -> Result<(), CliError> {
    let unreadable = |error: std::io::Error| format!("{}: {error}", path.display());
    let lines = BufReader::new(File::open(path).map_err(unreadable)?).lines();
    let (mut world, mut counts) = (None::<(&GameInfo, Box<dyn DynWorld>)>, [0_u64; 3]);
    for (line, number) in lines.zip(1..) {
        let line = line.map_err(unreadable)?;
        let failed = |what: &dyn fmt::Display| format!("{}, line {number}: {what}", path.display());
        let words: Vec<&str> = line.split(' ').collect();
        match (&words[..], &mut world) {
            (["game", name, seed], world) => {
                let info = games.named(name)?.info;
                let seed = seed.parse().map_err(|error| failed(&error))?;
                *world = Some((info, (info.new_world)(&(info.identity)(seed))));
                counts[0] += 1;
            }
            (["frame", hex], Some((info, world))) => {
                let bytes = bytes_of(hex).ok_or_else(|| failed(&"no hex digits"))?;
                let frame = (info.frame)(&bytes).map_err(|error| failed(&error))?;
                if frame.tick != world.tick() {
                    return Err(failed(&"the frame is for another tick"));
                }
                world.step(&frame.commands);
                counts[1] += 1;
            }
            (["checksum", expected], Some((info, world))) => {
                let (found, tick) = (format!("{:016x}", world.checksum()), world.tick());
                if found != *expected {
                    let seed = world.identity().seed;
                    let what = format!(
                        "{}, seed {seed}, after tick {tick}: checksum {found}, expected {expected}",
                        info.name
                    );
                    return Err(failed(&what));
                }
                counts[2] += 1;
            }
            _ => return Err(failed(&"neither a game, a frame nor a checksum")),
        }
    }
    let [worlds, ticks, checksums] = counts;
    if checksums == 0 {
        return Err(format!("{}: there is no checksum in it", path.display()));
    }
    print(&if is_json {
        format!("{}\n", serde_json::json!({ "worlds": worlds, "ticks": ticks, "checksums": checksums }))
    } else {
        let [worlds, ticks] = [count_noun(worlds, "world"), count_noun(ticks, "tick")];
        format!("{worlds}, {ticks}: the same in {}\n", count_noun(checksums, "checksum"))
    });
    Ok(())
}

fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    let pairs = hex.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()).collect()
}
