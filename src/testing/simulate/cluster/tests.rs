//! Simulated clusters: no promise is broken, and planted faults are found.

use super::*;

fn plan(seed: u64, minutes: u64) -> ClusterPlan {
    ClusterPlan { seed, players: 12, rooms: 2, time: Duration::from_secs(60 * minutes), fault: None }
}

#[test]
fn nothing_breaks() {
    for seed in 0..40 {
        let (ClusterCounts { counts, slowest_return }, failure) = run(&plan(seed, 5));
        println!("{seed} {slowest_return:?} {} returns {} torn {} lost rooms {}", counts.of("players in a world that another process has continued"), counts.of("returns of rooms measured"), counts.of("recoveries: torn tails"), counts.of("rooms ended because another process has them"));
        assert_eq!(failure, None, "seed {seed}");
    }
}

#[test]
fn explore() {
    for (name, fault) in ClusterFault::ALL {
        let began = std::time::Instant::now();
        let found = (0..600).find_map(|seed| run(&ClusterPlan { fault: Some(fault), time: Duration::from_secs(60), ..plan(seed, 1) }).1.map(|f| (seed, f)));
        println!("{name}: {found:?} {:?}", began.elapsed());
    }
}
