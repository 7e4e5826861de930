//! Runs with fences on shared storage: earlier owners go on writing, and their late records are
//! dropped.

use tickwire_sim::Rng;

use super::model_room::{ModelRoom, identity};
use crate::server::journal::model_disk::ModelDisk;
use crate::server::journal::{
    JournalStorage as _, JournalWriter, claim, highest_fence, inspect, remove_journal, repair,
};

/// An owner: its room and its writer.
type Owner = (ModelRoom, JournalWriter<ModelDisk>);

/// Claims the next fence and recovers the room.
fn take_over(disk: &mut ModelDisk, room: &ModelRoom, rng: &mut Rng) -> Owner {
    let fence = highest_fence(disk).expect("a list") + 1 + u64::from(rng.below(3));
    assert!(claim(disk, fence).expect("claimed"), "the highest fence");
    let inspection = inspect(disk, Some(&identity())).expect("no damage");
    let mut room = ModelRoom { fence, ..room.clone() };
    room.resume(&inspection).expect("a prefix with everything that was acknowledged");
    repair(disk, &inspection, fence).expect("repaired");
    let writer = room.begin(disk, rng).expect("a run");
    (room, writer)
}

/// Lets the owner do an action. It acknowledges what is synced if it has the highest fence. Returns
/// false if it ends because the retention of a later owner has removed its files.
fn act((room, writer): &mut Owner, disk: &ModelDisk, rng: &mut Rng) -> bool {
    let acted = room.act(writer, rng);
    let is_current = highest_fence(disk).expect("a list") == room.fence;
    match acted {
        Ok(Some(synced)) if is_current => room.acknowledged = synced,
        Ok(_) => {}
        Err(error) => {
            assert!(!is_current, "{error}");
            return false;
        }
    }
    true
}

#[test]
fn late_writes_of_earlier_owners_are_dropped() {
    for seed in 0..300 {
        let (mut disk, mut rng) = (ModelDisk::default(), Rng::new(seed, 0));
        let mut current = take_over(&mut disk, &ModelRoom::new(), &mut rng);
        let mut earlier: Vec<Owner> = Vec::new();
        for _ in 0..4 {
            for _ in 0..rng.below(60) {
                assert!(act(&mut current, &disk, &mut rng));
                if earlier.last_mut().is_some_and(|late| !act(late, &disk, &mut rng)) {
                    earlier.pop();
                }
            }
            let next = take_over(&mut disk, &current.0, &mut rng);
            earlier.push(std::mem::replace(&mut current, next));
        }
        let acknowledged = current.0.acknowledged;
        let inspection = inspect(&disk, Some(&identity())).expect("no damage");
        assert_eq!(inspection.last_fence, current.0.fence, "seed {seed}");
        assert!(inspection.next_sequence >= acknowledged, "seed {seed}");
    }
}

#[test]
fn a_lower_fence_is_no_claim_and_removes_no_file_of_a_higher_one() {
    let (mut disk, mut rng) = (ModelDisk::default(), Rng::new(1, 0));
    assert!(claim(&mut disk, 5).expect("claimed"));
    assert!(!claim(&mut disk, 4).expect("refused"));
    let room = ModelRoom { fence: 5, ..ModelRoom::new() };
    let writer = room.begin(&disk, &mut rng).expect("a run");
    remove_journal(&mut disk, 4).expect("removed");
    assert!(inspect(&disk, None).expect("no damage").snapshot.is_some());
    drop(writer);
    assert!(claim(&mut disk, 6).expect("claimed"));
    let names = disk.names().expect("a list");
    assert_eq!(names.iter().filter(|name| name.ends_with(".fence")).count(), 1, "{names:?}");
    remove_journal(&mut disk, 6).expect("removed");
    assert_eq!(disk.names().expect("a list"), [""; 0]);
}
