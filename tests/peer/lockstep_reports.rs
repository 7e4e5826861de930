//! Reports of worlds that differ: who may say something in them, and what is kept of it.

use std::net::Ipv4Addr;
use std::sync::Arc;

use tickwire::client::lockstep_follower::DesyncReport;
use tickwire::internal::limits;
use tickwire::internal::server::room::RoomHandle;
use tickwire::internal::server::room::lockstep::{EntryContent, LockstepAccess};
use tickwire::internal::util::address_prefix::AddressPrefix;
use tickwire::packet::Value;
use tickwire::sim::state_tree::FieldDiff;

use crate::hall::{Hall, SPECTATOR, Who};

/// A checksum that no world has.
const FALSE: &str = "00000000000000ff";

/// Values of `desync_details`: fields that nobody has, with these names.
fn invented(tick: u32, names: &[&str]) -> [Value; 2] {
    let field = |name: &&str| ["players[777]", name, "1", "2"].map(Value::from);
    [tick.into(), Value::Array(names.iter().flat_map(field).collect())]
}

fn labels(report: &DesyncReport) -> Vec<&str> {
    report.fields.iter().map(|(label, _)| label.as_str()).collect()
}

/// The only report of a client.
fn only(hall: &Hall, at: usize) -> &DesyncReport {
    let [report] = &hall.ends[at].reports[..] else { panic!("{:?}", hall.ends[at].reports) };
    report
}

#[test]
fn a_client_whose_world_agrees_adds_no_field_to_a_report() {
    let mut hall = Hall::new(LockstepAccess::Open);
    let (sneak, victim) = (hall.client(2, false), hall.client(3, false));
    hall.ticks(22);
    hall.ends[victim].follower.corrupt(5);
    while hall.counts().desyncs == 0 {
        hall.tick();
    }
    let (tick, changed) = hall.ends[victim].follower.corrupted().expect("a field was changed").clone();
    // Its checksum of that tick was that of the room.
    hall.say(sneak, "desync_details", &invented(tick, &["a", "b", "c", "d", "e", "f", "g", "h"]));
    hall.ticks(12);
    assert_eq!(only(&hall, sneak).fields, [("player 1".to_owned(), changed)]);
}

#[test]
fn each_differing_participant_has_a_field_before_one_has_two() {
    let mut hall = Hall::new(LockstepAccess::Open);
    let (liar, victim) = (hall.client(2, false), hall.client(3, false));
    let honest = hall.client(2, false);
    hall.ticks(22);
    hall.ends[victim].follower.corrupt(5);
    while hall.ends[victim].follower.corrupted().is_none() {
        hall.tick();
        // What is said first counts: the liar is faster than its own follower.
        let tick = hall.room.handle().tick().next_multiple_of(5);
        hall.say(liar, "checksum", &[tick.into(), FALSE.into()]);
    }
    let (tick, changed) = hall.ends[victim].follower.corrupted().expect("a field was changed").clone();
    hall.ticks(1);
    hall.say(liar, "desync_details", &invented(tick, &["a", "b", "c", "d", "e", "f", "g", "h"]));
    hall.ticks(40);
    let reports = &hall.ends[honest].reports;
    let report = reports.iter().find(|report| report.tick == tick).expect("a report of that tick");
    assert_eq!(report.fields.len(), limits::LOCKSTEP_FIELDS);
    assert_eq!(labels(report)[..3], ["spectator 1", "player 1", "spectator 1"]);
    assert_eq!(report.fields[1].1, changed);
}

/// A participant of the journal itself, with a world.
fn begins(room: &Arc<RoomHandle>, connection: u64, address: u8) {
    room.lockstep.add_follower(connection, AddressPrefix::from_ip(Ipv4Addr::new(10, 0, 0, address).into()));
    let next = room.lockstep.next(connection, usize::MAX, |_| true);
    assert!(next.snapshot.is_some());
    room.lockstep.on_sent(connection, &next, next.end);
}

#[test]
fn liars_of_one_address_do_not_crowd_out_a_world_that_differs() {
    let mut hall = Hall::new(LockstepAccess::Open);
    let honest = hall.client(2, false);
    hall.ticks(1);
    let room = Arc::clone(hall.room.handle());
    (100..130).for_each(|liar| begins(&room, liar, 1));
    begins(&room, 200, 2);
    for liar in 100..130 {
        room.lockstep.checksum(liar, || format!("liar {liar}"), 5, liar);
    }
    room.lockstep.checksum(200, || "last".to_owned(), 5, 7);
    hall.ticks(6);
    let field = |name: &str| FieldDiff {
        entity: "players[1]".to_owned(),
        field: name.to_owned(),
        ours: Some("1".to_owned()),
        theirs: None,
    };
    (100..130).for_each(|liar| room.lockstep.add_desync_details(liar, 5, vec![field("false"); 9]));
    room.lockstep.add_desync_details(200, 5, vec![field("true")]);
    hall.ticks(31);
    let report = only(&hall, honest);
    assert_eq!(report.groups.len(), limits::LOCKSTEP_MAX_REPORT_GROUPS);
    assert_eq!(report.groups[2], (format!("{:016x}", 7), vec!["last".to_owned()]));
    assert_eq!(report.omitted, 31 + 1 - limits::LOCKSTEP_MAX_REPORT_GROUPS as u32);
    let own = report.fields.iter().filter(|(label, _)| label == "last").collect::<Vec<_>>();
    assert_eq!((own.len(), report.fields.len()), (1, limits::LOCKSTEP_FIELDS));
    assert_eq!(own[0].1.field, "true");
}

#[test]
fn no_control_character_of_a_client_reaches_another_one() {
    let mut hall = Hall::new(LockstepAccess::Open);
    let (honest, liar) = (hall.client(2, false), hall.client(2, false));
    hall.ticks(2);
    hall.say(liar, "checksum", &[5.into(), FALSE.into()]);
    hall.ticks(4);
    let long = "\u{1b}".repeat(limits::LOCKSTEP_FIELD_CHARS);
    hall.say(liar, "desync_details", &invented(5, &["\u{1b}[31m\u{202e}\n", &long]));
    hall.ticks(35);
    let fields = &only(&hall, honest).fields;
    assert_eq!(fields[0].1.field, r"\u001b[31m\u202e\u000a");
    let cut = &fields[1].1.field;
    assert_eq!((cut.len(), cut.starts_with(r"\u001b\u001b")), (limits::LOCKSTEP_FIELD_CHARS, true));
}

#[test]
fn what_is_said_of_ticks_before_the_own_world_does_not_count() {
    let mut hall = Hall::new(LockstepAccess::Open);
    let honest = hall.client(2, false);
    hall.ticks(12);
    // This client waits for its snapshot while its line takes nothing.
    let room = Arc::clone(hall.room.handle());
    room.lockstep.add_follower(77, AddressPrefix::from_ip(Ipv4Addr::LOCALHOST.into()));
    for tick in [5, 10, 15] {
        room.lockstep.checksum(77, || "early".to_owned(), tick, 1);
    }
    assert!(room.lockstep.next(77, 0, |_| true).snapshot.is_some());
    room.lockstep.checksum(77, || "early".to_owned(), 10, 1);
    hall.ticks(40);
    assert_eq!((hall.counts().desyncs, hall.ends[honest].reports.len()), (0, 0));
}

#[test]
fn the_checksums_of_who_left_are_forgotten_but_a_difference_is_still_reported() {
    let mut hall = Hall::new(LockstepAccess::Open);
    let honest = hall.client(2, false);
    hall.ticks(1);
    let room = Arc::clone(hall.room.handle());
    (100..103).for_each(|one| begins(&room, one, 1));
    // Before the room's own is known, a checksum of someone who leaves means nothing.
    room.lockstep.checksum(100, || "left at once".to_owned(), 5, 1);
    room.lockstep.remove_follower(100);
    room.lockstep.checksum(101, || "differs, and leaves".to_owned(), 5, 2);
    hall.ticks(6);
    room.lockstep.remove_follower(101);
    assert_eq!(hall.counts().desyncs, 1);
    hall.ticks(31);
    let report = only(&hall, honest);
    assert_eq!(report.groups[1..], [(format!("{:016x}", 2), vec!["differs, and leaves".to_owned()])]);
}

#[test]
fn a_checksum_counts_up_to_one_interval_ahead_and_no_further() {
    let mut hall = Hall::new(LockstepAccess::Open);
    let honest = hall.client(2, false);
    hall.ticks(5);
    let room = Arc::clone(hall.room.handle());
    begins(&room, 77, 1);
    assert_eq!(room.tick(), 5);
    room.lockstep.checksum(77, || "ahead".to_owned(), 15, 1);
    room.lockstep.checksum(77, || "ahead".to_owned(), 10, 2);
    // The tick that runs next is one of the interval: its own checksum is due.
    room.lockstep.checksum(77, || "ahead".to_owned(), 5, 3);
    hall.ticks(60);
    let ticks: Vec<u32> = hall.ends[honest].reports.iter().map(|report| report.tick).collect();
    assert_eq!(ticks, [5, 10], "not 15, which is two intervals ahead");
}

#[test]
fn a_world_that_differs_while_a_request_waits_begins_before_the_difference() {
    let mut hall = Hall::new(LockstepAccess::Open);
    hall.client(2, false);
    hall.ticks(1);
    let room = Arc::clone(hall.room.handle());
    begins(&room, 77, 1);
    hall.ticks(21);
    room.lockstep.request_snapshot(77);
    room.lockstep.checksum(77, || "differs".to_owned(), 15, 1);
    room.lockstep.request_snapshot(77);
    let next = room.lockstep.next(77, 0, |_| true);
    let EntryContent::Snapshot(tick, _) = next.snapshot.expect("it asked").content else {
        panic!("no snapshot")
    };
    assert_eq!(tick, 0, "the one of tick 20 is after the difference");
}

#[test]
fn with_a_checksum_each_tick_no_round_is_lost_before_its_report() {
    let mut hall = Hall::with((LockstepAccess::Open, 200, 1), Hall::new(LockstepAccess::Open).address_limits);
    let honest = hall.comes(Who { address: 2, ..SPECTATOR });
    hall.ticks(1);
    let room = Arc::clone(hall.room.handle());
    begins(&room, 77, 1);
    // It is late by more than half of what is kept, and the report waits a second for details.
    hall.ticks(41);
    room.lockstep.checksum(77, || "late".to_owned(), 3, 1);
    hall.ticks(40);
    assert_eq!(only(&hall, honest).tick, 3);
}
