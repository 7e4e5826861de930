//! `tickwire synctest`: a world beside copies of itself from snapshots.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use clap::Args;

use super::games::Games;
use super::output::{Failure, print};
use crate::embedded::Recorded;
use crate::limits;
use crate::plural::count;
use crate::synctest::{self, Plan, Report};

/// Ticks between two checksums of a trace.
const TRACE_EVERY: u32 = 100;

/// Options of `synctest`.
#[derive(Debug, Args)]
pub struct SynctestArgs {
    /// The game. Default: the game of the default room.
    #[arg(long, value_name = "NAME")]
    game: Option<String>,
    /// Ticks to run for each seed.
    #[arg(long, value_name = "COUNT", default_value = "10000", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    ticks: u32,
    /// Seed of the world and of the bots.
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    seed: u32,
    /// Number of seeds to run, one after the other, beginning with --seed.
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    seeds: u32,
    /// Bots that play.
    #[arg(long, value_name = "COUNT", default_value = "8", value_parser = clap::value_parser!(u32).range(1..=limits::EMBEDDED_BOTS as i64))]
    players: u32,
    /// How many ticks back the snapshots are from which copies are restored, one in each tick.
    #[arg(long, value_name = "TICKS", default_value = "8", value_parser = clap::value_parser!(u32).range(1..=1000))]
    back: u32,
    /// Write each command frame and the checksum of each hundredth tick to this file, for another build to
    /// run again.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Print the counts as one line of JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the seeds; the first difference ends the run, and is a failure.
pub fn run(args: &SynctestArgs, games: &Games) -> Result<(), Failure> {
    let game = games.embedded(args.game.as_deref())?;
    let mut trace = match &args.trace {
        None => None,
        Some(path) => {
            let file = File::create(path).map_err(|error| format!("{}: {error}", path.display()))?;
            Some(BufWriter::new(file))
        }
    };
    let mut all = Report::default();
    for seed in args.seed..args.seed.saturating_add(args.seeds) {
        let (players, back) = (args.players as usize, args.back);
        let plan = Plan { game, ticks: args.ticks, seed, players, back };
        let mut written = Ok(());
        if let Some(trace) = &mut trace {
            written = writeln!(trace, "game {} {seed}", game.about.name);
        }
        let report = synctest::run(&plan, &mut |recorded| {
            if let (Some(trace), true) = (&mut trace, written.is_ok()) {
                written = write_tick(trace, recorded);
            }
        });
        let report = report.map_err(|failure| failure.to_string())?;
        written.map_err(|error| format!("--trace: {error}"))?;
        all.add(&report);
    }
    if let Some(mut trace) = trace {
        trace.flush().map_err(|error| format!("--trace: {error}"))?;
    }
    print(&if args.json { json(args, game.about.name, &all) } else { text(args, game.about.name, &all) });
    Ok(())
}

fn write_tick(trace: &mut BufWriter<File>, recorded: &Recorded) -> std::io::Result<()> {
    if recorded.tick > 0 && recorded.tick.is_multiple_of(TRACE_EVERY) {
        writeln!(trace, "checksum {:016x}", recorded.checksum)?;
    }
    trace.write_all(b"frame ")?;
    recorded.frame.iter().try_for_each(|byte| write!(trace, "{byte:02x}"))?;
    writeln!(trace)
}

fn text(args: &SynctestArgs, game: &str, all: &Report) -> String {
    let last = args.seed.saturating_add(args.seeds - 1);
    let seeds =
        if args.seeds == 1 { format!("seed {last}") } else { format!("seeds {} to {last}", args.seed) };
    let (players, ticks) =
        (count(args.players, "player"), count(u64::from(args.seeds) * u64::from(args.ticks), "tick"));
    let mut text = format!("{game}, {seeds}, {players}, {ticks}: the same in {} copies\n", all.copies);
    for (kind, number) in &all.commands {
        let _ = writeln!(text, "{number:>12}  {kind}");
    }
    let deeds = all.deeds.0.iter().map(|(_, words, number)| format!("{words} {number}"));
    let _ = writeln!(text, "{:>12}  {}", "played", deeds.collect::<Vec<_>>().join(", "));
    let _ = writeln!(text, "    checksum  {:016x}", all.checksum);
    text
}

fn json(args: &SynctestArgs, game: &str, all: &Report) -> String {
    let deeds: serde_json::Map<_, _> =
        all.deeds.0.iter().map(|(name, _, number)| ((*name).to_owned(), (*number).into())).collect();
    let line = serde_json::json!({
        "game": game,
        "seed": args.seed,
        "seeds": args.seeds,
        "ticks": args.ticks,
        "players": args.players,
        "back": args.back,
        "copies": all.copies,
        "checksum": format!("{:016x}", all.checksum),
        "commands": all.commands,
        "deeds": deeds,
    });
    format!("{line}\n")
}
