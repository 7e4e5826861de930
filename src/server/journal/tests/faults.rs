//! Errors of the disk, and damage of the files.

use tickwire_sim::Rng;

use super::model_room::{ModelRoom, ModelState, identity};
use crate::server::journal::model_disk::ModelDisk;
use crate::server::journal::{
    Inspection, JournalDamage, JournalError, JournalStorage, RecoveryError, WorldIdentity, check, inspect,
    named_world, truncate,
};

/// Runs a room to its end. Returns the disk, and the state before each sequence.
fn finished(seed: u32, actions: u32) -> (ModelDisk, ModelRoom) {
    let (disk, mut room) = (ModelDisk::default(), ModelRoom::new());
    room.run(&disk, &mut Rng::new(seed, 0), actions).expect("no error");
    (disk, room)
}

fn damage(result: Result<Inspection, RecoveryError>) -> JournalDamage {
    match result {
        Err(RecoveryError::Damage(damage)) => damage,
        other => panic!("no damage is found: {other:?}"),
    }
}

fn names(disk: &ModelDisk, suffix: &str) -> Vec<String> {
    let files = disk.list().expect("a list").into_iter().map(|file| file.name);
    files.filter(|name| name.ends_with(suffix)).collect()
}

#[test]
fn an_error_at_any_operation_ends_the_journal_and_loses_nothing_acknowledged() {
    for seed in 0..4 {
        let (disk, _) = finished(seed, 150);
        for number in 0..disk.operations() {
            let (disk, mut room) = (ModelDisk::default(), ModelRoom::new());
            disk.fail_at(Some(number));
            let mut rng = Rng::new(seed, 0);
            let failed = room.run(&disk, &mut rng, 150);
            assert!(
                matches!(failed, Err(JournalError::Io { .. })),
                "seed {seed}, operation {number}: {failed:?}"
            );
            disk.fail_at(None);
            for mut image in [disk.crashed(&mut rng), disk.crashed(&mut rng), disk.clone()] {
                let inspection = ModelRoom::recover(&mut image)
                    .unwrap_or_else(|why| panic!("seed {seed}, operation {number}: {why}"));
                let resumed = room.clone().resume(&inspection);
                resumed.unwrap_or_else(|rule| panic!("seed {seed}, operation {number}: {rule}"));
            }
        }
    }
}

#[test]
fn after_an_error_nothing_is_written_or_synced() {
    let (disk, mut room, mut rng) = (ModelDisk::default(), ModelRoom::new(), Rng::new(1, 0));
    let mut writer = room.begin(&disk, &mut rng).expect("a journal");
    room.append(&mut writer, &mut rng).expect("a record");
    // The operation after the write is the sync.
    disk.fail_at(Some(disk.operations() + 1));
    assert!(matches!(writer.sync(), Err(JournalError::Io { operation: "sync", .. })));
    let before = disk.operations();
    assert!(matches!(writer.sync(), Err(JournalError::Failed)));
    assert!(matches!(room.append(&mut writer, &mut rng), Err(JournalError::Failed)));
    assert!(matches!(writer.flush(), Err(JournalError::Failed)));
    assert_eq!(disk.operations(), before);
}

#[test]
fn a_recovery_that_fails_at_any_operation_succeeds_the_next_time() {
    let mut rng = Rng::new(3, 0);
    let torn = (60..2_000).find_map(|end| {
        let (disk, mut room) = (ModelDisk::default(), ModelRoom::new());
        disk.end_at(end);
        let _ = room.run(&disk, &mut rng, 500);
        let image = disk.crashed(&mut rng);
        let is_torn = inspect(&image, None).is_ok_and(|inspection| inspection.torn.is_some());
        is_torn.then_some((image, room))
    });
    let (image, room) = torn.expect("some image has a torn tail");
    for number in 0..30 {
        let mut disk = image.crashed(&mut rng);
        disk.fail_at(Some(disk.operations() + number));
        let first = ModelRoom::recover(&mut disk);
        assert!(!matches!(first, Err(RecoveryError::Damage(_))), "{first:?}");
        let mut disk = disk.crashed(&mut rng);
        let inspection = ModelRoom::recover(&mut disk).expect("recovered");
        room.clone().resume(&inspection).expect("a prefix");
    }
}

#[test]
fn a_flipped_bit_is_found_or_leaves_an_exact_prefix() {
    let (disk, room) = (0..2_000)
        .map(|seed| finished(seed, 15))
        .find(|(disk, _)| names(disk, ".segment").len() == 2 && names(disk, ".snapshot").len() == 2)
        .expect("a fitting seed");
    let (mut refused, mut prefixes) = (0, 0);
    for name in names(&disk, "") {
        let bits = disk.read(&name).expect("a file").len() * 8;
        for bit in 0..bits {
            disk.flip(&name, bit);
            match inspect(&disk, Some(&identity())) {
                Ok(inspection) => {
                    let state = ModelState::recovered(&inspection);
                    assert_eq!(
                        room.states.get(inspection.next_sequence as usize),
                        Some(&state),
                        "{name}, bit {bit}"
                    );
                    prefixes += 1;
                }
                Err(RecoveryError::Damage(damage)) => {
                    assert_eq!(damage.file, name, "bit {bit}");
                    // The CRC of a header is at byte 8.
                    assert!(damage.offset <= (bit as u64 / 8).max(8), "{name}, bit {bit}: {damage}");
                    refused += 1;
                }
                Err(why) => panic!("{name}, bit {bit}: {why}"),
            }
            disk.flip(&name, bit);
        }
    }
    println!("{refused} flips are refused, {prefixes} leave a prefix");
    assert!(refused > 0 && prefixes > 0, "{refused} {prefixes}");
}

#[test]
fn damage_to_a_synced_record_of_the_last_segment_is_refused_and_a_torn_tail_is_not() {
    let (disk, mut room, mut rng) = (ModelDisk::default(), ModelRoom::new(), Rng::new(1, 0));
    let mut writer = room.begin(&disk, &mut rng).expect("a journal");
    let name = names(&disk, ".segment").remove(0);
    let length = || disk.read(&name).expect("a segment").len();
    let header_bytes = length();
    for _ in 0..2 {
        room.append(&mut writer, &mut rng).expect("a record");
        writer.sync().expect("synced");
    }
    let tail = length();
    room.append(&mut writer, &mut rng).expect("a record");
    writer.sync().expect("synced");
    disk.flip(&name, header_bytes * 8 + 7);
    let found = damage(inspect(&disk, None));
    assert_eq!((&found.file, found.offset), (&name, header_bytes as u64));
    assert!(found.to_string().contains("tickwire journal truncate"), "{found}");
    disk.flip(&name, header_bytes * 8 + 7);
    disk.flip(&name, tail * 8 + 8 * 30);
    let torn = inspect(&disk, None).expect("a torn tail").torn.expect("a torn tail");
    assert_eq!((torn.offset, torn.bytes), (tail as u64, (length() - tail) as u64));
}

#[test]
fn a_journal_of_another_world_is_refused_with_the_field() {
    let (disk, _) = finished(1, 20);
    for (other, field) in [
        (WorldIdentity { seed: 2, ..identity() }, "seed is 1, not 2"),
        (WorldIdentity { game: "coins".to_owned(), ..identity() }, "game is model, not coins"),
        (
            WorldIdentity { rules_hash: 8, ..identity() },
            "rules_hash is 0000000000000007, not 0000000000000008",
        ),
        (WorldIdentity { options: Vec::new(), ..identity() }, "option is size=9, not none"),
    ] {
        let found = damage(inspect(&disk, Some(&other)));
        assert!(found.rule.ends_with(field), "{found}");
        assert!(found.remedy.contains("another directory"), "{found}");
    }
}

#[test]
fn missing_records_are_refused() {
    let (mut disk, _) = (0..2_000)
        .map(|seed| finished(seed, 60))
        .find(|(disk, _)| {
            let newest = names(disk, ".snapshot").pop().expect("a snapshot").replace(".snapshot", "");
            names(disk, ".segment").iter().filter(|name| **name >= newest).count() >= 3
        })
        .expect("a fitting seed");
    let segments = names(&disk, ".segment");
    disk.remove(&segments[segments.len() - 2]).expect("removed");
    let found = damage(inspect(&disk, None));
    assert_eq!(found.file, segments[segments.len() - 1]);
    assert!(found.rule.contains("are missing"), "{found}");
}

#[test]
fn segments_without_a_snapshot_are_refused_and_an_empty_directory_is_a_new_world() {
    let (mut disk, _) = finished(1, 20);
    for name in names(&disk, ".snapshot") {
        disk.remove(&name).expect("removed");
    }
    assert_eq!(damage(inspect(&disk, None)).rule, "there is no snapshot before it");
    let empty = inspect(&ModelDisk::default(), None).expect("an empty journal");
    assert_eq!((empty.next_sequence, empty.last_run, empty.snapshot), (0, 0, None));
}

#[test]
fn a_truncated_journal_is_an_exact_prefix_whatever_bit_of_a_segment_was_flipped() {
    let (original, room) = finished(1, 60);
    let mut truncated = 0;
    for name in names(&original, ".segment") {
        for bit in (0..original.read(&name).expect("a file").len() * 8).step_by(37) {
            original.flip(&name, bit);
            let mut disk = original.copy();
            original.flip(&name, bit);
            assert!(
                check(&disk).expect("readable").iter().any(|fault| fault.file == name),
                "{name}, bit {bit}"
            );
            truncated += truncate(&mut disk).expect("truncated").len();
            let inspection = ModelRoom::recover(&mut disk).expect("recovered");
            let state = ModelState::recovered(&inspection);
            let expected = room.states.get(inspection.next_sequence as usize);
            assert_eq!(expected, Some(&state), "{name}, bit {bit}");
            assert!(
                check(&disk).expect("readable").iter().all(|fault| fault.file == name),
                "{name}, bit {bit}"
            );
        }
    }
    assert!(truncated > 0);
}

#[test]
fn a_named_world_is_the_end_of_a_run_and_goes_with_the_next_run() {
    let (mut disk, mut room, mut rng) = (ModelDisk::default(), ModelRoom::new(), Rng::new(3, 0));
    let mut writer = room.begin(&disk, &mut rng).expect("a journal");
    room.append(&mut writer, &mut rng).expect("a record");
    let stopped = room.snapshot();
    writer.write_named(&stopped).expect("written");
    let inspection = ModelRoom::recover(&mut disk).expect("no damage");
    let named = named_world(&disk, &inspection).expect("no damage").expect("the run has stopped");
    assert_eq!((named.tick, &named.seats, &named.world), (stopped.tick, &stopped.seats, &stopped.world));
    let [name] = &names(&disk, ".named")[..] else { panic!("one file") };
    disk.flip(name, 400);
    let refused = named_world(&disk, &inspection).expect_err("a flipped bit");
    assert!(refused.to_string().starts_with(&format!("{name}, byte ")), "{refused}");
    assert_eq!(check(&disk).expect("a list").len(), 1);
    disk.flip(name, 400);
    room.resume(&inspection).expect("the same state");
    let _next = room.begin(&disk, &mut rng).expect("the next run");
    assert!(names(&disk, ".named").is_empty());
}
