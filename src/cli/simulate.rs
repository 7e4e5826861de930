//! `tickwire simulate`: a whole server in virtual time, from a seed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, panic};

use clap::Args;

use super::game_list::GameList;
use super::output::{CliError, print};
use super::simulate_cluster::{self, ClusterSeeds};
use super::simulation_summary;
use crate::packet::json::json_object;
use crate::testing::simulate::cluster::ClusterFault;
use crate::testing::simulate::{self, SimulationCounts, SimulationPlan};
use crate::util::netem::Conditions;
use crate::util::os;
use crate::util::plural::count_noun;

/// Options of `simulate`.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// The game to simulate. Default: the game of the default room.
    #[arg(long, value_name = "NAME")]
    game: Option<String>,
    /// Seed of the simulation; the same seed gives the same run.
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    seed: u64,
    /// Number of seeds to run, one after the other, starting with --seed.
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    seeds: u64,
    /// Number of concurrent connections.
    #[arg(long, value_name = "COUNT", default_value = "100", value_parser = clap::value_parser!(u32).range(1..=2_000))]
    connections: u32,
    /// Virtual minutes to simulate for each seed.
    #[arg(long, value_name = "MINUTES", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1_440))]
    minutes: u32,
    /// Number of rooms.
    #[arg(long, value_name = "COUNT", default_value = "2", value_parser = clap::value_parser!(u32).range(1..=16))]
    rooms: u32,
    /// Percentage of clients that request a lane for datagrams, among clients with a dialect that
    /// has lanes.
    #[arg(long, value_name = "PERCENT", default_value = "50", value_parser = clap::value_parser!(u32).range(0..=100))]
    lanes: u32,
    /// Network conditions of every connection: lan, wifi, 4g, transatlantic or train; values such
    /// as delay=150ms,jitter=30ms,loss=2%,rate=2Mbit; or a name with changes, such as wifi,loss=2%.
    #[arg(long, value_name = "CONDITIONS")]
    netem: Option<Conditions>,
    /// Simulate a cluster: three hosts, a lease store, journals on shared disks, and a small game.
    /// The connections are players, and the minutes are followed by half a minute without faults.
    #[arg(long, conflicts_with_all = ["game", "lanes", "netem"])]
    cluster: bool,
    /// Plant a fault in the cluster, which the simulation must find: renew-after-end,
    /// count-from-reply, check-before-sync, acquire-at-once, skip-sync or skip-directory-sync.
    #[arg(long, value_name = "FAULT", requires = "cluster")]
    plant: Option<ClusterFault>,
    /// Print the summary as one line of JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the seeds. The first invariant failure ends the run.
pub fn run(args: &SimulateArgs, games: &GameList) -> Result<(), CliError> {
    if args.cluster {
        return simulate_cluster::run(&ClusterSeeds {
            seed: args.seed,
            seeds: args.seeds,
            players: args.connections,
            minutes: args.minutes,
            rooms: args.rooms,
            fault: args.plant,
            json: args.json,
            program: program(),
        });
    }
    let game = games.simulation(args.game.as_deref())?;
    let (began, cpu_before, mut all) = (Instant::now(), os::thread_cpu_time(), SimulationCounts::default());
    let time = Duration::from_secs(60) * args.minutes;
    let (connections, rooms) = (args.connections as usize, args.rooms as usize);
    for seed in args.seed..args.seed.saturating_add(args.seeds) {
        let plan = SimulationPlan {
            game,
            seed,
            peers: connections,
            time,
            rooms,
            lanes_percent: args.lanes,
            net: args.netem,
        };
        // A panic prints its own message; the error adds the seed.
        let done = panic::catch_unwind(|| simulate::run(&plan));
        let failure = match done {
            Ok((counts, None)) => {
                all.merge(&counts);
                continue;
            }
            Ok((_, Some(failure))) => failure.to_string(),
            Err(_) => "a panic".to_owned(),
        };
        let SimulateArgs { connections, minutes, rooms, lanes, .. } = args;
        let named = if args.game.is_some() { format!("--game {} ", game.info.name) } else { String::new() };
        let netem = args.netem.map_or(String::new(), |netem| format!(" --netem {netem}"));
        let again = format!(
            "{named}--seed {seed} --connections {connections} --minutes {minutes} --rooms {rooms} --lanes {lanes}{netem}"
        );
        return Err(format!("seed {seed}: {failure}; reproduce with: {} simulate {again}", program()));
    }
    // Without a CPU time from the kernel, the elapsed time is a good estimate, because the program
    // has one thread.
    let cpu = os::thread_cpu_time().zip(cpu_before).map(|(after, before)| after.saturating_sub(before));
    let cpu = cpu.unwrap_or_else(|| began.elapsed());
    print(&if args.json { json(args, &all, cpu) } else { text(args, &all, cpu) });
    Ok(())
}

/// The file name of this program, because programs with their own games have this command too.
fn program() -> String {
    let path = env::args_os().next().map(PathBuf::from);
    let name = path.as_deref().and_then(Path::file_name);
    name.map_or_else(|| "tickwire".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Player-hours, CPU seconds, player-hours per CPU-hour.
fn figures(all: &SimulationCounts, cpu: Duration) -> [f64; 3] {
    let (played, cpu_s) = (all.player_time().as_secs_f64(), cpu.as_secs_f64());
    [played / 3600.0, cpu_s, played / cpu_s.max(1e-9)]
}

fn text(args: &SimulateArgs, all: &SimulationCounts, cpu: Duration) -> String {
    let [hours, cpu_s, speed] = figures(all, cpu);
    let (seed, seeds, connections, minutes, rooms) =
        (args.seed, args.seeds, args.connections, args.minutes, args.rooms);
    let last = seed.saturating_add(seeds - 1);
    let named = if seeds == 1 { format!("seed {seed}") } else { format!("seeds {seed} to {last}") };
    let mut text = format!(
        "{named}, {}, {minutes} min, {}: ",
        count_noun(connections, "connection"),
        count_noun(rooms, "room")
    );
    if let Some(netem) = &args.netem {
        let _ = write!(text, "{netem}: ");
    }
    let _ = writeln!(
        text,
        "nothing differed and no rule was broken in {hours:.2} player-hours ({cpu_s:.1} CPU seconds, {speed:.0} player-hours per CPU-hour)"
    );
    text + &simulation_summary::format(all)
}

fn json(args: &SimulateArgs, all: &SimulationCounts, cpu: Duration) -> String {
    let [hours, cpu_s, speed] = figures(all, cpu);
    let counts = json_object(all.rows().map(|(name, count)| (name.to_owned(), count.into())));
    let line = serde_json::json!({
        "seed": args.seed,
        "seeds": args.seeds,
        "connections": args.connections,
        "minutes": args.minutes,
        "rooms": args.rooms,
        "lanes_percent": args.lanes,
        "netem": args.netem.map(|netem| netem.to_string()),
        "player_hours": hours,
        "cpu_s": cpu_s,
        "player_hours_per_cpu_hour": speed,
        "messages": all.messages,
        "hash": format!("{:016x}", all.hash),
        "counts": counts,
    });
    format!("{line}\n")
}
