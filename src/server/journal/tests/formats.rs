//! The bytes of records, segments and snapshots, and the retention of files.

use core::net::Ipv4Addr;

use tickwire_sim::{Malformed, PlayerId, Rng};

use super::model_room::{ModelRoom, identity};
use crate::limits;
use crate::server::journal::model_disk::ModelDisk;
use crate::server::journal::record::RecordFault;
use crate::server::journal::{
    FileKind, FilePosition, JournalSnapshot, JournalStorage, Record, RecordBody, Retention, SegmentHeader,
    inspect,
};
use crate::server::room::{HashedSeat, SeatChange, SeatKeyHash};
use crate::util::address_prefix::AddressPrefix;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn seat() -> HashedSeat {
    let from = AddressPrefix::from_ip(Ipv4Addr::new(203, 0, 113, 9).into());
    HashedSeat { player: PlayerId(3), key: SeatKeyHash([0xaa; 16]), from }
}

#[test]
fn records_have_these_bytes_and_decode_to_the_same_value() {
    let rows = [
        ("frame", RecordBody::Frame([1, 0, 0, 0, 0, 0][..].into()), "01", "010000000000"),
        ("checksum", RecordBody::Checksum(0x0102_0304_0506_0708), "02", "0807060504030201"),
        (
            "seat",
            RecordBody::Seat(SeatChange::Keyed(seat())),
            "03",
            "0300aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa00000000000000000000ffffcb007109",
        ),
        ("unkeyed", RecordBody::Seat(SeatChange::Unkeyed(PlayerId(3))), "04", "0300"),
    ];
    for (name, body, kind, payload) in rows {
        let (bytes, record) = (body.encoded_bytes(), Record { sequence: 7, tick: 6, lag: 2, body });
        let mut out = Vec::new();
        record.encode(9, &mut out);
        assert_eq!(out.len(), bytes, "{name}");
        let fixed = format!("070000000000000006000000{}{kind}", "02000000");
        assert_eq!(hex(&out[..4]), format!("{:02x}000000", payload.len() / 2), "{name}");
        assert_eq!(hex(&out[8..]), format!("{fixed}{payload}"), "{name}");
        assert_eq!(Record::decode(&out, 9), Ok((record, bytes)), "{name}");
        assert_eq!(Record::decode(&out, 8), Err(RecordFault::Crc), "{name}: another salt");
        for length in 0..out.len() {
            assert_eq!(Record::decode(&out[..length], 9), Err(RecordFault::Truncated), "{name}, {length}");
        }
    }
}

#[test]
fn a_record_of_an_unknown_kind_or_with_a_length_above_the_limit_is_a_fault() {
    let mut out = Vec::new();
    Record { sequence: 1, tick: 1, lag: 0, body: RecordBody::Checksum(1) }.encode(0, &mut out);
    out[24] = 9;
    let mut hasher = crc32fast::Hasher::new();
    [&[0; 4][..], &out[..4], &out[8..]].iter().for_each(|part| hasher.update(part));
    out[4..8].copy_from_slice(&hasher.finalize().to_le_bytes());
    assert_eq!(Record::decode(&out, 0), Err(RecordFault::Payload(Malformed::Kind(9))));
    let length = limits::JOURNAL_RECORD_BYTES + 1;
    out[..4].copy_from_slice(&(length as u32).to_le_bytes());
    assert_eq!(Record::decode(&out, 0), Err(RecordFault::Length(length)));
}

#[test]
fn headers_and_snapshots_round_trip_and_every_cut_is_a_fault() {
    let header = SegmentHeader {
        salt: 1,
        epoch: 2,
        run: 3,
        fence: 9,
        first_sequence: 4,
        created_ms: 5,
        identity: identity(),
    };
    let bytes = header.encode();
    assert_eq!(SegmentHeader::decode(&bytes), Ok((header, bytes.len())));
    let snapshot = JournalSnapshot {
        run: 1,
        epoch: 2,
        fence: 9,
        sequence: 3,
        tick: 4,
        checksum: 5,
        identity: identity(),
        seats: vec![seat()],
        world: [1, 2, 3][..].into(),
    };
    let encoded = snapshot.encode();
    assert_eq!(JournalSnapshot::decode(&encoded), Ok(snapshot));
    assert!((0..bytes.len()).all(|length| SegmentHeader::decode(&bytes[..length]).is_err()));
    assert!((0..encoded.len()).all(|length| JournalSnapshot::decode(&encoded[..length]).is_err()));
    let mut newer = encoded;
    newer[3] = b'3';
    let (offset, rule) = JournalSnapshot::decode(&newer).expect_err("another version");
    assert_eq!((offset, rule.contains("another version")), (0, true), "{rule}");
}

#[test]
fn file_names_contain_the_sequence_and_other_names_are_ignored() {
    for (position, name) in [
        (FilePosition::new(0, 1812), "00000000000000001812.segment"),
        (FilePosition::new(7, 1812), "00000000000000000007-00000000000000001812.segment"),
    ] {
        assert_eq!(FileKind::Segment.name(position), name);
        assert_eq!(FileKind::Segment.position_of(name), Some(position));
    }
    for other in [
        "1812.snapshot",
        "00000000000000001812.segment",
        "+0000000000000001812.snapshot",
        "7-8.snapshot",
        "lock",
    ] {
        assert_eq!(FileKind::Snapshot.position_of(other), None, "{other}");
    }
    assert!(FileKind::is_part("00000000000000001812.snapshot.part"));
    assert!(!FileKind::is_part("notes.part"));
}

#[test]
fn retention_removes_the_oldest_files_and_never_the_last_two_snapshots() {
    let (disk, mut room, mut rng) = (ModelDisk::default(), ModelRoom::new(), Rng::new(1, 0));
    let mut writer = room.begin(&disk, &mut rng).expect("a journal");
    for _ in 0..5 {
        for _ in 0..12 {
            room.append(&mut writer, &mut rng).expect("a record");
        }
        writer.snapshot(&room.snapshot(), 0).expect("a snapshot");
    }
    let count = || disk.list().expect("a list").len();
    let before = count();
    let unlimited = Retention { bytes: u64::MAX, age_ms: u64::MAX };
    assert_eq!(writer.retain(unlimited, 1_000).expect("retained"), 0);
    let total: u64 = disk.list().expect("a list").iter().map(|file| file.bytes).sum();
    let by_size = writer.retain(Retention { bytes: total - 1, ..unlimited }, 1_000).expect("retained");
    assert_eq!((by_size, count()), (2, before - 2), "a snapshot goes with its segment");
    let by_age = writer.retain(Retention { age_ms: 999, ..unlimited }, 1_000).expect("retained");
    let names: Vec<String> = disk.list().expect("a list").into_iter().map(|file| file.name).collect();
    assert!(by_age > 4, "{by_age} files");
    assert_eq!(
        names.iter().filter(|name| name.ends_with(".snapshot")).count(),
        limits::JOURNAL_MIN_SNAPSHOTS
    );
    room.resume(&inspect(&disk, Some(&identity())).expect("recovered")).expect("the whole journal");
}
