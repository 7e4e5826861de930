//! The past of a journal with several runs.

use tickwire_sim::Rng;

use super::model_disk::ModelDisk;
use super::model_room::ModelRoom;
use crate::server::journal::{history, inspect};

/// Longer than any journal of these tests.
const ALWAYS_MS: u64 = u64::MAX;

#[test]
fn a_history_has_a_part_for_each_run_and_all_records_in_order() {
    let mut most_parts = 0;
    for seed in 0..100 {
        let (mut disk, mut rng) = (ModelDisk::default(), Rng::new(seed, 0));
        let mut room = ModelRoom::new();
        for _ in 0..1 + seed % 5 {
            room.resume(&ModelRoom::recover(&mut disk).expect("no damage")).expect("everything");
            room.run(&disk, &mut rng, 80).expect("written");
        }
        let parts = history(&disk, ALWAYS_MS).expect("no damage");
        let mut sequence = parts[0].snapshot.sequence;
        for part in &parts {
            assert_eq!(part.snapshot.sequence, sequence, "seed {seed}: the records before it");
            for record in &part.records {
                assert_eq!(record.sequence, sequence, "seed {seed}");
                sequence += 1;
            }
        }
        let inspection = inspect(&disk, None).expect("no damage");
        assert_eq!(sequence, inspection.next_sequence, "seed {seed}");
        assert!(parts.windows(2).all(|two| two[0].snapshot.run < two[1].snapshot.run), "seed {seed}");
        most_parts = most_parts.max(parts.len());
        let newest = history(&disk, 0).expect("no damage").pop().expect("a part");
        assert_eq!(Some(newest.snapshot), inspection.snapshot, "seed {seed}");
        assert_eq!(newest.records, inspection.records, "seed {seed}");
    }
    assert!(most_parts >= 3, "{most_parts}");
    assert!(history(&ModelDisk::default(), 0).expect("no damage").is_empty());
}
