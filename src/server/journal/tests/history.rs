//! The past of a journal with several runs.

use tickwire_sim::Rng;

use super::model_room::ModelRoom;
use crate::server::journal::model_disk::ModelDisk;
use crate::server::journal::{history, inspect};

/// Longer than any journal of these tests.
const ALWAYS_MS: u64 = u64::MAX;

#[test]
fn a_history_has_the_runs_of_a_world_and_all_their_records_in_order() {
    let mut most_runs = 0;
    for seed in 0..100 {
        let (mut disk, mut rng) = (ModelDisk::default(), Rng::new(seed, 0));
        let mut room = ModelRoom::new();
        for _ in 0..1 + seed % 5 {
            room.resume(&ModelRoom::recover(&mut disk).expect("no damage")).expect("everything");
            room.run(&disk, &mut rng, 80).expect("written");
        }
        let inspection = inspect(&disk, None).expect("no damage");
        let whole = history(&disk, ALWAYS_MS).expect("no damage").expect("a journal");
        let sequences = whole.records.iter().map(|record| record.sequence);
        assert!(sequences.eq(whole.snapshot.sequence..inspection.next_sequence), "seed {seed}");
        most_runs = most_runs.max(inspection.last_run - whole.snapshot.run + 1);
        let newest = history(&disk, 0).expect("no damage").expect("a journal");
        assert_eq!(Some(newest.snapshot), inspection.snapshot, "seed {seed}");
        assert_eq!(newest.records, inspection.records, "seed {seed}");
    }
    assert!(most_runs >= 3, "{most_runs}");
    assert!(history(&ModelDisk::default(), 0).expect("no damage").is_none());
}
