//! Tests with a generated recording: a small world in which two players walk, and one leaves.

#[cfg(test)]
mod cases {
    use std::sync::Arc;

    use tickwire_sim::command_frame;
    use tickwire_sim::{Command, PlayerId};

    use super::super::*;
    use crate::game::{Game as _, Messages};
    use crate::games::moo::Moo;
    use crate::games::moo::world::{Action, Angle, Identity, TickHz, World};
    use crate::packet::{Dialect, Direction, PacketTables};
    use crate::tools::capture::pcapng::{
        PacketMeta as PacketAbout, write_interface, write_packet, write_section,
    };

    const TICKS: u32 = 700;
    const ANN: PlayerId = PlayerId(1);
    const BO: PlayerId = PlayerId(2);

    fn operator(tick: u32, action: Action) -> Command<Action> {
        Command { player: PlayerId::OPERATOR, sequence: tick.into(), action }
    }

    fn commands(tick: u32) -> Vec<Command<Action>> {
        let join =
            |player, name: &str| operator(tick, Action::Join { player, name: name.to_owned(), skin: 0 });
        let walk = |player| {
            let direction = Some(Angle((tick as u16 / 30).wrapping_mul(7_000).wrapping_add(player)));
            Command { player: PlayerId(player), sequence: tick.into(), action: Action::Move { direction } }
        };
        match tick {
            3 => vec![join(ANN, "Ann")],
            9 => vec![join(BO, "Bo")],
            400 => vec![operator(tick, Action::Leave { player: ANN })],
            tick if tick > 400 => vec![walk(2)],
            tick if tick > 9 && tick.is_multiple_of(2) => vec![walk(1), walk(2)],
            _ => vec![],
        }
    }

    /// Returns the checksums after each tick, from 0 on, and the records of a room from tick
    /// `first` on, each with its tick.
    fn played(room: &str, seed: u32, first: u32) -> (Vec<u64>, Vec<(u32, Vec<u8>)>) {
        let mut world = World::new(Identity { seed, map_size_px: 2_000, tick_hz: TickHz::Hz30 });
        let (mut checksums, mut records) = (vec![world.checksum()], Vec::new());
        for tick in 0..TICKS {
            let mut add = |record: &WorldRecord<'_>| {
                let mut bytes = Vec::new();
                world_record::encode(&mut bytes, room, record);
                records.push((tick, bytes));
            };
            if tick == first {
                let replica = (Moo::INFO.restore)(&world.snapshot()).expect("a snapshot");
                let (identity, snapshot) = (replica.identity(), world.snapshot());
                add(&WorldRecord::Room {
                    game: Moo::NAME.into(),
                    paths: vec![("/play".into(), "native".into())],
                });
                for (part, bytes) in snapshot.chunks(snapshot.len().div_ceil(3)).enumerate() {
                    let options =
                        identity.options.iter().map(|(name, value)| ((*name).into(), *value)).collect();
                    let rules_hash = Moo::rules_hash();
                    let (tick_hz, part) = (identity.tick_hz, part as u16);
                    add(&WorldRecord::World {
                        seed,
                        tick_hz,
                        options,
                        rules_hash,
                        tick,
                        part,
                        parts: 3,
                        bytes,
                    });
                }
            }
            let mut given = commands(tick);
            if tick >= first {
                let mut frame = Vec::new();
                command_frame::encode(tick, &given, &mut frame).expect("it fits");
                add(&WorldRecord::Tick { checksum: world.checksum(), frame: &frame });
            }
            world.step(&mut given);
            checksums.push(world.checksum());
        }
        (checksums, records)
    }

    /// A capture file with the records of rooms, in tick order.
    fn file(rooms: &[Vec<(u32, Vec<u8>)>]) -> Vec<u8> {
        let mut all: Vec<_> = rooms.iter().flatten().collect();
        all.sort_by_key(|(tick, _)| *tick);
        let mut out = Vec::new();
        write_section(&mut out, "a test");
        write_interface(&mut out, LINK_WORLD as u16, "world");
        for (tick, record) in all {
            let at_ns = 1_000_000_000 + u64::from(*tick) * 33_333_333;
            write_packet(&mut out, &PacketAbout { interface: 0, at_ns, inbound: None, comment: "" }, record);
        }
        out
    }

    /// The same records as a pcap file.
    fn classic(records: &[(u32, Vec<u8>)]) -> Vec<u8> {
        let mut out = Vec::new();
        for number in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, LINK_WORLD] {
            out.extend(u32::to_le_bytes(number));
        }
        for (tick, record) in records {
            let length = record.len() as u32;
            out.extend([tick / 30, 0, length, length].map(u32::to_le_bytes).as_flattened());
            out.extend(record);
        }
        out
    }

    fn read(bytes: &[u8], piece: usize) -> Playback {
        let mut playback = Playback::new(vec![Moo::INFO]);
        bytes.chunks(piece).for_each(|piece| playback.feed(piece));
        playback.finish();
        playback
    }

    fn native() -> Arc<Dialect> {
        PacketTables::builtin().dialect("native").expect("built in")
    }

    /// Seeks in slices of `slice` ticks. Returns the messages, the welcome first.
    fn seek(show: &mut RoomPlayback, tick: u32, slice: u32) -> Vec<Vec<u8>> {
        show.seek(tick);
        for _ in 0..10 * TICKS {
            let mut messages = Messages::default();
            if let Some(welcome) = show.work(slice, &mut messages).welcome {
                return [welcome].into_iter().chain(messages.iter().map(<[u8]>::to_vec)).collect();
            }
        }
        panic!("the seek to {tick} does not end");
    }

    fn opened<'a>(playback: &'a mut Playback, room: &str) -> &'a mut RoomPlayback {
        let show = playback.room_playback(room).expect("a room");
        show.open(&native()).expect("it opens");
        show
    }

    #[test]
    fn a_seek_to_any_tick_has_the_checksum_of_a_run_to_it_also_before_the_index_is_there() {
        let (checksums, records) = played("", 1, 0);
        let mut playback = read(&file(&[records]), 1000);
        assert_eq!((playback.end(), playback.unavailable_reason()), (Some(&FileEnd::Whole), None));
        let show = opened(&mut playback, "");
        assert_eq!((show.first(), show.last(), show.tick()), (0, TICKS, None));
        for (tick, slice) in
            [(1, 1), (650, 7), (2, 3), (149, 50), (150, 50), (151, 1), (TICKS, 1000), (333, 9)]
        {
            let messages = seek(show, tick, slice);
            assert_eq!(
                (show.tick(), show.checksum()),
                (Some(tick), Some(checksums[tick as usize])),
                "tick {tick}"
            );
            let dialect = native();
            let names: Vec<String> = messages
                .iter()
                .map(|message| {
                    dialect.decode(Direction::ToClient, message).expect("a packet").row.name.to_string()
                })
                .collect();
            assert!(
                names[0] == "welcome" && (tick < 10 || names[1..].iter().any(|name| name == "update")),
                "{names:?}"
            );
        }
        // A tick outside of the recording is clamped to the nearest one.
        for (requested, found) in [(0, 1), (TICKS + 99, TICKS)] {
            seek(show, requested, 100);
            assert_eq!(show.tick(), Some(found));
        }
        while show.work(100, &mut Messages::default()).more {}
        assert_eq!((show.indexed(), show.differs(), show.snapshots().0), (TICKS, None, 1 + 4));
    }

    #[test]
    fn play_runs_on_from_a_seek_and_ends_at_the_last_tick() {
        let (checksums, records) = played("", 4, 0);
        let mut playback = read(&file(&[records]), usize::MAX);
        let show = opened(&mut playback, "");
        let mut messages = Messages::default();
        assert_eq!(show.play(5, &mut messages), 0, "nothing is seen yet");
        seek(show, 100, 64);
        for (ticks, run, now) in
            [(1, 1, 101), (8, 8, 109), (300, limits::PLAYBACK_MAX_TICKS_PER_CALL, 365), (0, 0, 365)]
        {
            messages.clear();
            assert_eq!(show.play(ticks, &mut messages), run);
            assert_eq!(
                (show.tick(), show.checksum()),
                (Some(now), Some(checksums[now as usize])),
                "{ticks} ticks"
            );
            assert_eq!(messages.is_empty(), run == 0, "one update for {run} ticks");
        }
        assert_eq!((show.play(250, &mut messages), show.play(250, &mut messages)), (250, 85));
        assert_eq!(show.play(1, &mut messages), 0);
        assert_eq!((show.tick(), show.checksum()), (Some(TICKS), checksums.last().copied()));
    }

    #[test]
    fn the_bytes_may_come_in_any_pieces_and_in_either_format() {
        let (checksums, records) = played("", 2, 0);
        for bytes in [classic(&records), file(&[records])] {
            for piece in [1, 13, 4096, usize::MAX] {
                let mut playback = read(&bytes, piece);
                assert_eq!(
                    (playback.end(), playback.bytes()),
                    (Some(&FileEnd::Whole), bytes.len()),
                    "pieces of {piece}"
                );
                let show = opened(&mut playback, "");
                seek(show, 500, 100);
                assert_eq!(show.checksum(), Some(checksums[500]));
            }
        }
    }

    #[test]
    fn it_is_watched_while_the_rest_is_still_to_come() {
        let (checksums, records) = played("", 3, 0);
        let bytes = file(&[records]);
        let mut playback = Playback::new(vec![Moo::INFO]);
        let half = bytes.len() / 2;
        playback.feed(&bytes[..half]);
        let show = opened(&mut playback, "");
        let early = show.last();
        assert!((100..TICKS).contains(&early), "{early}");
        seek(show, TICKS, 50);
        assert_eq!((show.tick(), show.checksum()), (Some(early), Some(checksums[early as usize])));
        playback.feed(&bytes[half..]);
        playback.finish();
        let show = playback.room_playback("").expect("the room");
        seek(show, TICKS, 50);
        assert_eq!((show.tick(), show.checksum()), (Some(TICKS), checksums.last().copied()));
    }

    #[test]
    fn two_rooms_are_played_back_apart_and_one_of_an_unknown_game_states_the_reason() {
        let (first, second) = (played("", 1, 0), played("arena", 9, 250));
        let mut other = Vec::new();
        world_record::encode(&mut other, "other", &WorldRecord::Room { game: "chess".into(), paths: vec![] });
        let mut tick = Vec::new();
        world_record::encode(&mut tick, "other", &WorldRecord::Tick { checksum: 0, frame: &[0, 0, 0, 0, 0] });
        let bytes = file(&[first.1, second.1, vec![(0, other), (1, tick)]]);
        let mut playback = read(&bytes, 10_000);
        assert_eq!(playback.rooms().keys().collect::<Vec<_>>(), ["", "arena", "other"]);
        let PlaybackRoom::Failed(why) = &playback.rooms()["other"] else { panic!("no such game is here") };
        assert!(why.raw().contains("not the snapshot of the world before them"), "{why}");
        for (room, checksums, begins) in [("", first.0, 0), ("arena", second.0, 250)] {
            let show = opened(&mut playback, room);
            assert_eq!((show.first(), show.last()), (begins, TICKS), "{room}");
            for tick in [begins + 1, 600] {
                seek(show, tick, 40);
                assert_eq!(show.checksum(), Some(checksums[tick as usize]), "{room}, tick {tick}");
            }
        }
        assert!(playback.room_playback("other").is_none() && playback.room_playback("none").is_none());
    }

    #[test]
    fn joins_and_leaves_are_marked_and_players_listed_with_the_names_of_that_moment() {
        let (_, records) = played("", 1, 0);
        let mut playback = read(&file(&[records]), 9_999);
        let show = opened(&mut playback, "");
        let marks: Vec<_> =
            show.marks().iter().map(|mark| (mark.tick, mark.kind, mark.name.as_str())).collect();
        let expected =
            [(4, MarkerKind::Joined, "Ann"), (10, MarkerKind::Joined, "Bo"), (401, MarkerKind::Left, "Ann")];
        assert_eq!(marks, expected);
        for (tick, players) in [(3, &[][..]), (4, &["Ann"]), (300, &["Ann", "Bo"]), (402, &["Bo"])] {
            seek(show, tick, 100);
            let names: Vec<String> = show.players().into_iter().map(|(_, name)| name).collect();
            assert_eq!(names, players, "tick {tick}");
        }
        // The name of a player from before the recording is in the snapshot.
        let (_, late) = played("", 1, 250);
        let mut playback = read(&file(&[late]), 9_999);
        let show = opened(&mut playback, "");
        seek(show, 300, 100);
        assert_eq!(show.players().len(), 2);
    }

    #[test]
    fn a_followed_player_is_the_one_that_the_client_spectates() {
        let (_, records) = played("", 1, 0);
        let mut playback = read(&file(&[records]), 9_999);
        let show = opened(&mut playback, "");
        let watching = |messages: &[Vec<u8>]| {
            let dialect = native();
            let packets = messages
                .iter()
                .map(|message| dialect.decode(Direction::ToClient, message).expect("a packet"));
            packets
                .filter(|packet| packet.row.name == "spectating")
                .find_map(|packet| packet.integer::<u16>("player"))
        };
        for player in [BO, ANN] {
            show.follow(Some(player));
            assert_eq!(watching(&seek(show, 200, 100)), Some(player.0));
        }
    }

    #[test]
    fn the_first_checksum_that_differs_is_named_and_it_is_watched_on() {
        let (checksums, mut records) = played("", 1, 0);
        for (tick, record) in &mut records {
            let Ok((_, WorldRecord::Tick { frame, checksum })) = world_record::decode(record) else {
                continue;
            };
            let (wrong, frame) = (checksum ^ u64::from(*tick >= 250), frame.to_vec());
            record.clear();
            world_record::encode(record, "", &WorldRecord::Tick { checksum: wrong, frame: &frame });
        }
        let mut playback = read(&file(&[records]), 9_999);
        let show = opened(&mut playback, "");
        seek(show, 200, 30);
        assert_eq!(show.differs(), None, "not there yet");
        while show.work(64, &mut Messages::default()).more {}
        let right = checksums[250];
        assert_eq!(
            show.differs(),
            Some(ChecksumMismatch { tick: 250, recorded: right ^ 1, replayed: right })
        );
        seek(show, 600, 100);
        assert_eq!(show.checksum(), Some(checksums[600]));
    }

    #[test]
    fn a_cut_or_damaged_file_is_played_back_up_to_the_damage_and_reports_it() {
        let (checksums, records) = played("", 1, 0);
        let bytes = file(&[records]);
        let cut = (bytes.len() * 2 / 3) | 1;
        let mut damaged = bytes.clone();
        damaged[cut..cut + 400].fill(0xff);
        for (file, is_cut) in [(&bytes[..cut], true), (&damaged[..], false)] {
            let mut playback = read(file, 5_000);
            match playback.end() {
                Some(FileEnd::Truncated(at)) => {
                    assert!(is_cut && (cut - 400..cut).contains(at), "{at} of {cut}")
                }
                Some(FileEnd::Damaged(why)) => assert!(!is_cut && why.starts_with("at byte "), "{why}"),
                other => panic!("{other:?}"),
            }
            assert_eq!(playback.unavailable_reason(), None);
            let show = opened(&mut playback, "");
            let last = show.last();
            assert!((100..TICKS).contains(&last), "{last}");
            seek(show, TICKS, 100);
            assert_eq!((show.tick(), show.checksum()), (Some(last), Some(checksums[last as usize])));
        }
    }

    #[test]
    fn a_loss_ends_what_can_be_watched() {
        let (_, mut records) = played("", 1, 0);
        let mut lost = Vec::new();
        world_record::encode(&mut lost, "", &WorldRecord::Lost { messages: 3, bytes: 70, since_tick: 200 });
        records.insert(records.iter().position(|(tick, _)| *tick == 200).expect("a tick"), (200, lost));
        let mut playback = read(&file(&[records]), 9_999);
        let show = opened(&mut playback, "");
        assert_eq!(
            (show.last(), show.ended()),
            (200, Some("the capture lacks 3 messages (70 bytes) since tick 200"))
        );
        let (_, records) = played("", 1, 0);
        let gap: Vec<_> = records.into_iter().filter(|(tick, _)| *tick != 300).collect();
        let mut playback = read(&file(&[gap]), 9_999);
        assert_eq!(opened(&mut playback, "").ended(), Some("tick 301 does not follow the previous tick"));
    }

    #[test]
    fn a_file_that_cannot_be_played_back_states_the_reason() {
        let why = |bytes: &[u8]| read(bytes, 100).unavailable_reason().expect("nothing to watch");
        assert_eq!(
            why(b"no capture at all"),
            "the file cannot be read: at byte 0: this is neither pcapng nor pcap"
        );
        assert_eq!(why(b""), "the file cannot be read: it has no packet");
        assert!(why(&[0x1f, 0x8b, 8, 0, 0]).contains("gzip"));
        let tcpdump = include_bytes!("../../../tests/fixtures/tcpdump.pcap");
        assert_eq!(
            why(tcpdump),
            "this capture has no record of the world: it was not written by a tickwire server"
        );
        // The snapshot is missing, or it was written with other rules.
        let (_, records) = played("", 1, 0);
        let ticks: Vec<_> = records.iter().filter(|(_, bytes)| bytes[1] == 2).cloned().collect();
        assert!(why(&file(&[ticks])).contains("not the snapshot of the world before them"));
        let mut other = records;
        for (_, record) in &mut other {
            let Ok((_, WorldRecord::World { seed, tick_hz, options, tick, part, parts, bytes, .. })) =
                world_record::decode(record)
            else {
                continue;
            };
            let (rules_hash, mut again) = (1, Vec::new());
            let world = WorldRecord::World { seed, tick_hz, options, rules_hash, tick, part, parts, bytes };
            world_record::encode(&mut again, "", &world);
            *record = again;
        }
        assert!(why(&file(&[other])).contains("has rules_hash 0000000000000001"));
    }

    #[test]
    fn a_block_that_is_too_long_is_damage() {
        let mut bytes = file(&[]);
        bytes.extend([6, 0, 0, 0]);
        bytes.extend((64 * 1024 * 1024_u32).to_le_bytes());
        let mut playback = Playback::new(vec![Moo::INFO]);
        playback.feed(&bytes);
        for _ in 0..40 {
            playback.feed(&vec![0; 1024 * 1024]);
            assert!(playback.pending.len() <= limits::WATCH_BLOCK_BYTES, "{}", playback.pending.len());
        }
        assert!(matches!(playback.end(), Some(FileEnd::Damaged(_))), "{:?}", playback.end());
    }
}
