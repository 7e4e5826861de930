//! Crash images: after any crash, the recovered journal is a prefix with everything acknowledged.

use tickwire_sim::Rng;

use super::model_room::{ModelRoom, ModelState};
use crate::server::journal::model_disk::{ModelDisk, PlantedFault};
use crate::server::journal::{FileKind, Inspection, JournalStorage as _, inspect, named_world};

/// Crash images. Each is checked in about a tenth of a millisecond.
const IMAGES: u32 = 10_000;
/// Runs of a room, one after the other, each ended by a crash.
const RUNS: u32 = 4;

/// Counts of crash images, which show that the tests reach the cases.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    images: u32,
    /// Images with a torn tail.
    torn: u32,
    /// Images without some records that were not acknowledged.
    shortened: u32,
    /// Images with an acknowledged record.
    acknowledged: u32,
    /// Images with an incomplete file.
    parts: u32,
    /// Images that recover without their newest snapshot.
    replaced: u32,
    /// Images of a run that has stopped.
    named: u32,
}

/// Runs a room with crashes from a seed.
///
/// # Errors
/// The broken rule.
fn run_with_crashes(seed: u32, fault: Option<PlantedFault>, counts: &mut Counts) -> Result<(), String> {
    let mut rng = Rng::new(seed, 0);
    let (mut disk, mut room) = (ModelDisk::default(), ModelRoom::new());
    for run in 0..RUNS {
        let in_run = |rule: String| format!("seed {seed}, run {run}: {rule}");
        disk.plant(fault);
        disk.end_at(u64::from(rng.below(160)));
        // The recovery itself may be interrupted.
        if let Ok(inspection) = ModelRoom::recover(&mut disk) {
            room.resume(&inspection).map_err(in_run)?;
            let _ = room.run(&disk, &mut rng, 150);
        }
        disk = disk.crashed(&mut rng);
        let mut image = disk.crashed(&mut rng);
        let inspection = ModelRoom::recover(&mut image).map_err(|why| in_run(why.to_string()))?;
        counts.images += 1;
        counts.torn += u32::from(inspection.torn.is_some());
        counts.shortened += u32::from((inspection.next_sequence as usize) < room.states.len() - 1);
        counts.acknowledged += u32::from(room.acknowledged > 0);
        counts.parts += u32::from(!inspection.parts.is_empty());
        room.clone().resume(&inspection).map_err(in_run)?;
        let named = named_world(&image, &inspection).map_err(|why| in_run(why.to_string()))?;
        counts.named += u32::from(named.is_some());
        counts.replaced += u32::from(recovers_without_newest_snapshot(&image, &inspection).map_err(in_run)?);
    }
    Ok(())
}

/// Damages the newest snapshot, and checks that the one before it gives the same state. Returns
/// whether there is one.
///
/// # Errors
/// The broken rule.
fn recovers_without_newest_snapshot(image: &ModelDisk, whole: &Inspection) -> Result<bool, String> {
    let files = image.list().map_err(|error| error.to_string())?;
    let mut snapshots: Vec<String> = files.into_iter().map(|file| file.name).collect();
    snapshots.retain(|name| FileKind::Snapshot.position_of(name).is_some());
    let [.., _, newest] = &snapshots[..] else { return Ok(false) };
    image.flip(newest, 400);
    let other = inspect(image, None).map_err(|why| why.to_string())?;
    image.flip(newest, 400);
    let is_same = ModelState::recovered(&other) == ModelState::recovered(whole);
    if is_same { Ok(true) } else { Err(format!("another state without {newest}")) }
}

/// Returns the first rule that a planted fault breaks.
fn found(fault: PlantedFault) -> Option<String> {
    (0..50).find_map(|seed| run_with_crashes(seed, Some(fault), &mut Counts::default()).err())
}

#[test]
fn each_crash_image_recovers_to_a_prefix_with_everything_acknowledged() {
    let mut counts = Counts::default();
    for seed in 0..IMAGES / RUNS {
        run_with_crashes(seed, None, &mut counts).unwrap_or_else(|rule| panic!("{rule}"));
    }
    println!("{counts:?}");
    let Counts { images, torn, shortened, acknowledged, parts, replaced, named } = counts;
    assert_eq!(images, IMAGES);
    assert!(
        [torn, shortened, acknowledged, parts, replaced, named].iter().all(|count| *count > IMAGES / 50),
        "{counts:?}"
    );
}

#[test]
fn an_acknowledgement_before_the_sync_is_found() {
    assert!(found(PlantedFault::SkipSync).is_some(), "no image of 50 seeds shows it");
}

#[test]
fn a_directory_that_is_not_synced_is_found() {
    assert!(found(PlantedFault::SkipDirectorySync).is_some(), "no image of 50 seeds shows it");
}
