//! Simulated clusters: no acknowledged command is lost, and planted faults are found.

use super::cluster_model::{ClusterModel, Fault, Outcome, Scenario};

const MINUTE_MS: u64 = 60_000;

/// Both checks, and everything that can happen.
const ALL: Scenario = Scenario {
    checks_lease: true,
    checks_storage: true,
    has_pauses: true,
    loses_records: true,
    has_bad_clocks: true,
    fault: None,
};
/// The lease alone, with what it assumes: good clocks, and a store that loses nothing.
const LEASE_ALONE: Scenario =
    Scenario { checks_storage: false, loses_records: false, has_bad_clocks: false, ..ALL };
/// The lease alone, with a store that loses its records while all processes run.
const LEASE_WITH_LOSSES: Scenario = Scenario { has_pauses: false, loses_records: true, ..LEASE_ALONE };
/// The storage alone.
const STORAGE_ALONE: Scenario = Scenario { checks_lease: false, ..ALL };

fn run(scenario: Scenario, seeds: u32) -> Outcome {
    let mut sum = Outcome::default();
    for seed in 0..seeds {
        let outcome = ClusterModel::new(seed, scenario).run(MINUTE_MS);
        sum.acknowledged += outcome.acknowledged;
        sum.held += outcome.held;
        sum.recoveries += outcome.recoveries;
        sum.slowest_takeover_ms = sum.slowest_takeover_ms.max(outcome.slowest_takeover_ms);
        if let Some(lost) = outcome.lost {
            sum.lost = Some(format!("seed {seed}: {lost}"));
            break;
        }
    }
    sum
}

#[test]
fn no_acknowledged_command_is_lost_with_either_check_or_both() {
    for (name, scenario) in [
        ("both", ALL),
        ("the lease", LEASE_ALONE),
        ("the lease, with lost records", LEASE_WITH_LOSSES),
        ("the storage", STORAGE_ALONE),
    ] {
        let outcome = run(scenario, 150);
        assert_eq!(outcome.lost, None, "{name}");
        assert!(outcome.acknowledged > 100_000, "{name}: {outcome:?}");
        assert!(outcome.recoveries > 300, "{name}: {outcome:?}");
        assert!(outcome.held > 100, "{name}: {outcome:?}");
    }
}

#[test]
fn a_room_returns_within_five_seconds_of_the_death_of_its_process() {
    let outcome = run(LEASE_WITH_LOSSES, 150);
    assert!(outcome.slowest_takeover_ms > 0, "{outcome:?}");
    assert!(outcome.slowest_takeover_ms < 5_000, "{outcome:?}");
}

#[test]
fn planted_faults_are_found() {
    for (scenario, fault) in [
        (LEASE_ALONE, Fault::RenewsAfterEnd),
        (LEASE_ALONE, Fault::CountsFromReply),
        (LEASE_ALONE, Fault::ChecksBeforeSync),
        (STORAGE_ALONE, Fault::ChecksBeforeSync),
        (ALL, Fault::ChecksBeforeSync),
        (LEASE_WITH_LOSSES, Fault::AcquiresAtOnce),
    ] {
        let outcome = run(Scenario { fault: Some(fault), ..scenario }, 1_000);
        assert!(outcome.lost.is_some(), "{fault:?} is not found in {scenario:?}: {outcome:?}");
    }
}

#[test]
fn the_check_of_the_storage_covers_a_store_that_renews_after_the_end() {
    for fault in [Fault::RenewsAfterEnd, Fault::CountsFromReply, Fault::AcquiresAtOnce] {
        assert_eq!(run(Scenario { fault: Some(fault), ..ALL }, 100).lost, None, "{fault:?}");
    }
}
