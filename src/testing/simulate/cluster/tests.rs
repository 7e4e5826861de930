//! Simulated clusters: no promise is broken, and planted faults are found.

use super::*;

fn plan(seed: u64, minutes: u64) -> ClusterPlan {
    ClusterPlan { seed, players: 12, rooms: 2, time: Duration::from_secs(60 * minutes), fault: None }
}

#[test]
fn nothing_breaks() {
    for seed in 0..8 {
        let (counts, failure) = run(&plan(seed, 5));
        println!("{seed} {:?} {counts:?} {failure:?}", plan(seed, 5).scenario().name);
        assert_eq!(failure, None, "seed {seed}");
    }
}
