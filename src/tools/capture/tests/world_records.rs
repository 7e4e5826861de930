//! Tests of world records in captures.

use super::super::*;
use super::*;

#[test]
fn records_round_trip_and_damaged_ones_name_the_error() {
    let records = [
        WorldRecord::World {
            seed: 1,
            tick_hz: 30,
            options: vec![("map_size_px".into(), 2), ("round_s".into(), u32::MAX)],
            rules_hash: u64::MAX,
            tick: 4,
            part: 1,
            parts: 2,
            bytes: b"TWSN",
        },
        WorldRecord::Tick { checksum: 0x0102_0304_0506_0708, frame: b"frame" },
        WorldRecord::Client {
            client: 7,
            address: "[::1]:5".into(),
            dialect: "native".into(),
            player: 3,
            sequence: u64::MAX,
            flags: FLAGS,
            session: b"s",
        },
        WorldRecord::Lost { messages: 1, bytes: 2, since_tick: 3 },
        WorldRecord::Join { client: 7, player: 3, port: 50_000, address: CLIENT.into() },
        WorldRecord::Table {
            table: 1,
            tables: 2,
            part: 0,
            parts: 3,
            file: "a.tsv".into(),
            bytes: b"to_client",
        },
        WorldRecord::Room { game: "tanks".into(), paths: vec![("/play".into(), "tanks".into())] },
    ];
    for (at, record) in records.iter().enumerate() {
        let mut bytes = Vec::new();
        let room = ["", "two"][at % 2];
        world_record::encode(&mut bytes, room, record);
        assert_eq!(bytes[..2], [4, at as u8 + 1]);
        assert_eq!(world_record::decode(&bytes), Ok((room.into(), record.clone())));
    }
    let encoded = |record: &WorldRecord<'_>| {
        let mut bytes = Vec::new();
        world_record::encode(&mut bytes, "", record);
        bytes
    };
    let (lost, room) = (encoded(&records[3]), encoded(&records[6]));
    let ends = |whole: &Vec<u8>| (0..whole.len()).map(|end| whole[..end].to_vec()).collect::<Vec<_>>();
    for cut in [ends(&lost), ends(&room)].concat() {
        assert_eq!(world_record::decode(&cut), Err(world_record::WorldRecordError::Truncated));
    }
    assert_eq!(
        world_record::decode(&[&lost[..], &[0]].concat()),
        Err(world_record::WorldRecordError::Trailing(1))
    );
    assert_eq!(world_record::decode(&[2, 4]), Err(world_record::WorldRecordError::Version(2)));
    assert_eq!(world_record::decode(&[4, 8, 0]), Err(world_record::WorldRecordError::Kind(8)));
    let (seed, tick_hz, options, bytes) = (1, 30, Vec::new(), b"");
    let no_part =
        WorldRecord::World { seed, tick_hz, options, rules_hash: 0, tick: 4, part: 2, parts: 2, bytes };
    assert_eq!(world_record::decode(&encoded(&no_part)), Err(world_record::WorldRecordError::Chunk(2)));
}

#[test]
fn a_world_of_layout_3_has_the_size_of_its_map() {
    let mut bytes = vec![3, 1, 0];
    [7_u32, 14_400, 30].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
    bytes.extend(9_u64.to_le_bytes());
    bytes.extend(4_u32.to_le_bytes());
    bytes.extend([0, 0, 1, 0, b'T']);
    let (seed, tick_hz, options) = (7, 30, vec![("map_size_px".into(), 14_400)]);
    let world =
        WorldRecord::World { seed, tick_hz, options, rules_hash: 9, tick: 4, part: 0, parts: 1, bytes: b"T" };
    assert_eq!(world_record::decode(&bytes), Ok(("".into(), world)));
}

const FLAGS: u8 = world_record::FLAG_AWAITS_HELLO | world_record::FLAG_JSON;
