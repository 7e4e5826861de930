//! `tickwire simulate --cluster`: a cluster of three hosts in virtual time, from a seed.

use std::fmt::Write as _;
use std::panic;
use std::time::{Duration, Instant};

use super::output::{CliError, print};
use crate::packet::json::json_object;
use crate::testing::simulate::cluster::{self, ClusterCounts, ClusterFault, ClusterPlan, HOSTS};
use crate::util::os;
use crate::util::plural::count_noun;

/// The options of the runs.
#[derive(Debug)]
pub struct ClusterSeeds {
    /// The first seed.
    pub seed: u64,
    /// Number of seeds.
    pub seeds: u64,
    /// Number of players.
    pub players: u32,
    /// Virtual minutes with faults for each seed.
    pub minutes: u32,
    /// Number of rooms.
    pub rooms: u32,
    /// The planted fault.
    pub fault: Option<ClusterFault>,
    /// Whether the summary is JSON.
    pub json: bool,
    /// The name of this program.
    pub program: String,
}

/// The parts of the summary: title, and the counts of the part with their sentences.
const PARTS: [(&str, &[(&str, &str)]); 3] = [
    (
        "compared; a single difference would have ended the run",
        &[
            (
                "commands acknowledged",
                "acks with the records that the newest owner of the room has: none is only in the journal of an earlier owner",
            ),
            (
                "bodies checked",
                "times, a body with the acks of its player: it has executed each acknowledged command exactly once",
            ),
            (
                "recovered worlds compared",
                "times, a recovered world with the one of its last owner: the same checksum",
            ),
            ("players with their own body", "players that connected again: each got its own body"),
            (
                "returns of rooms measured",
                "times, the time until a room was back after the death of its process: at most 5 s",
            ),
            ("players returned at the end", "players that were back in their rooms after the last fault"),
        ],
    ),
    (
        "injected faults and events",
        &[
            ("connections lost", "connections lost"),
            ("players joined", "bodies created"),
            ("players left for good", "players that left for good"),
            (
                "power cuts of a host",
                "power cuts of a host: what it had not synced is dropped, torn and reordered",
            ),
            ("power cuts of all hosts", "power cuts of all hosts at once"),
            (
                "process killed between two operations of a disk",
                "processes killed between two operations of a disk",
            ),
            ("processes killed", "processes killed"),
            ("processes paused", "processes paused for up to 12 s"),
            ("processes separated from the store", "processes separated from the lease store for up to 12 s"),
            ("processes stopped", "processes stopped, with a last sync"),
            ("store: messages lost", "requests to the lease store, or replies, lost"),
            ("store: stops", "stops of the lease store"),
            ("store: starts without its records", "of these, starts without its records"),
            ("two processes killed at once", "times, two processes killed at once"),
        ],
    ),
    (
        "reactions of the cluster, as they should be",
        &[
            (
                "acks of an earlier owner for records that the newest one has",
                "ticks acknowledged late by an earlier owner: the newest one has their records",
            ),
            (
                "batches without a valid lease or fence",
                "syncs after which the acks were held, because the lease was over or another process had the room",
            ),
            ("commands rejected by the room", "commands that a room rejected"),
            ("commands rejected by the world", "commands that a world rejected"),
            ("commands sent", "commands sent"),
            ("players away for too long", "players that connected again when their bodies may have left"),
            (
                "players in a world that another process has continued",
                "players in a room whose process did not know yet that another one has it",
            ),
            ("players relayed", "players relayed to the process of their room"),
            ("players resumed", "players that resumed a body"),
            (
                "recoveries given up because of a higher fence",
                "recoveries given up, because another process had begun one",
            ),
            ("recoveries of rooms", "recoveries of rooms"),
            (
                "recoveries from the named world of a stop",
                "of these, from the world with which a process had stopped",
            ),
            ("recoveries: records replayed", "records replayed"),
            ("recoveries: torn tails", "torn tails of journals"),
            ("rooms ended because another process has them", "rooms ended because another process has them"),
            ("store: renewals without a reply", "renewals without a reply"),
            ("ticks", "ticks executed"),
        ],
    ),
];

/// Runs the seeds. The first broken invariant ends the run.
///
/// # Errors
/// The broken invariant, with the command that reproduces it.
pub fn run(runs: &ClusterSeeds) -> Result<(), CliError> {
    let (began, cpu_before, mut all) = (Instant::now(), os::thread_cpu_time(), ClusterCounts::default());
    for seed in runs.seed..runs.seed.saturating_add(runs.seeds) {
        let plan = ClusterPlan {
            seed,
            players: runs.players as usize,
            rooms: runs.rooms as usize,
            time: Duration::from_secs(60) * runs.minutes,
            fault: runs.fault,
        };
        // A panic prints its own message; the error adds the seed.
        let failure = match panic::catch_unwind(|| cluster::run(&plan)) {
            Ok((counts, None)) => {
                all.merge(&counts);
                continue;
            }
            Ok((_, Some(failure))) => failure.to_string(),
            Err(_) => "a panic".to_owned(),
        };
        let ClusterSeeds { players, minutes, rooms, program, .. } = runs;
        let plant = runs.fault.map_or(String::new(), |fault| format!(" --plant {fault}"));
        let scenario = plan.scenario().name;
        return Err(format!(
            "seed {seed} ({scenario}): {failure}; reproduce with: {program} simulate --cluster --seed {seed} --connections {players} --minutes {minutes} --rooms {rooms}{plant}"
        ));
    }
    let cpu = os::thread_cpu_time().zip(cpu_before).map(|(after, before)| after.saturating_sub(before));
    let cpu = cpu.unwrap_or_else(|| began.elapsed());
    print(&if runs.json { json(runs, &all, cpu) } else { text(runs, &all, cpu) });
    Ok(())
}

fn text(runs: &ClusterSeeds, all: &ClusterCounts, cpu: Duration) -> String {
    let ClusterSeeds { seed, seeds, players, minutes, rooms, .. } = runs;
    let last = seed.saturating_add(seeds - 1);
    let named = if *seeds == 1 { format!("seed {seed}") } else { format!("seeds {seed} to {last}") };
    let (players, rooms) = (count_noun(*players, "player"), count_noun(*rooms, "room"));
    let plant = runs.fault.map_or(String::new(), |fault| format!(", planted fault {fault}"));
    let (hours, cpu_s) = (all.counts.player_time().as_secs_f64() / 3600.0, cpu.as_secs_f64());
    let mut text = format!(
        "{named}, {HOSTS} hosts, {players}, {minutes} min, {rooms}{plant}: nothing differed and no rule was broken in {hours:.2} player-hours ({cpu_s:.1} CPU seconds)\n"
    );
    for (title, rows) in PARTS {
        let _ = writeln!(text, "\n{title}");
        for (name, sentence) in rows.iter().filter(|(name, _)| all.counts.of(name) > 0) {
            let _ = writeln!(text, "{:>12}  {sentence}", all.counts.of(name));
        }
    }
    if !all.slowest_return.is_zero() {
        let _ = writeln!(text, "\nthe slowest room was back after {:.2} s", all.slowest_return.as_secs_f64());
    }
    text
}

fn json(runs: &ClusterSeeds, all: &ClusterCounts, cpu: Duration) -> String {
    let counts = json_object(all.counts.rows().map(|(name, count)| (name.to_owned(), count.into())));
    let line = serde_json::json!({
        "seed": runs.seed,
        "seeds": runs.seeds,
        "players": runs.players,
        "minutes": runs.minutes,
        "rooms": runs.rooms,
        "planted_fault": runs.fault.map(|fault| fault.to_string()),
        "player_hours": all.counts.player_time().as_secs_f64() / 3600.0,
        "cpu_s": cpu.as_secs_f64(),
        "slowest_return_ms": all.slowest_return.as_millis() as u64,
        "hash": format!("{:016x}", all.counts.hash),
        "counts": counts,
    });
    format!("{line}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_of_a_run_has_a_sentence_and_the_summary_depends_on_the_seed_alone() {
        let plan =
            |seed| ClusterPlan { seed, players: 8, rooms: 2, time: Duration::from_secs(60), fault: None };
        let mut all = ClusterCounts::default();
        for seed in 1..=4 {
            let (counts, failure) = cluster::run(&plan(seed));
            assert_eq!(failure, None, "seed {seed}");
            all.merge(&counts);
        }
        let known: Vec<&str> =
            PARTS.iter().flat_map(|(_, rows)| rows.iter().map(|(name, _)| *name)).collect();
        let missing: Vec<&str> =
            all.counts.rows().map(|(name, _)| name).filter(|name| !known.contains(name)).collect();
        assert_eq!(missing, [""; 0]);
        let runs = ClusterSeeds {
            seed: 1,
            seeds: 4,
            players: 8,
            minutes: 1,
            rooms: 2,
            fault: None,
            json: false,
            program: "tickwire".to_owned(),
        };
        let text = text(&runs, &all, Duration::from_secs(1));
        let title =
            "seeds 1 to 4, 3 hosts, 8 players, 1 min, 2 rooms: nothing differed and no rule was broken in 0.";
        assert!(text.starts_with(title), "{text}");
        assert!(text.contains("it has executed each acknowledged command exactly once"), "{text}");
    }
}
