//! Clients in lockstep that are far behind: what they are sent in one turn fits their queue.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tickwire::internal::limits;
use tickwire::internal::server::clients::lockstep_feed::LockstepFeed;
use tickwire::internal::server::room::lockstep::{FormatKey, LockstepAccess};
use tickwire::internal::util::address_prefix::AddressPrefix;
use tickwire::sim::state_tree::FieldDiff;

use crate::hall::{Hall, SPECTATOR, Who};

/// A room that nobody but a journal's own follower follows, after so many ticks without a command.
fn quiet(ticks: u32) -> Hall {
    let mut hall =
        Hall::with((LockstepAccess::Open, 10_000, 1_500), Hall::new(LockstepAccess::Open).address_limits);
    hall.room.handle().lockstep.add_follower(77, AddressPrefix::from_ip(Ipv4Addr::LOCALHOST.into()));
    hall.ticks(ticks);
    hall
}

#[test]
fn a_client_behind_thousands_of_empty_frames_catches_up() {
    for (is_json, ticks) in [(true, 3_000), (false, 6_000), (true, 9_000)] {
        let mut hall = quiet(ticks);
        let late = hall.comes(Who { is_json, ..SPECTATOR });
        let mut turns = 0;
        while hall.ends[late].frames.last() != Some(&(hall.room.handle().tick() - 1)) {
            hall.tick();
            turns += 1;
            let end = &hall.ends[late];
            assert!(
                end.client.sender.is_open(),
                "{:?}, JSON {is_json}",
                end.client.sender.disconnect_reason()
            );
            assert!(turns < 20, "{:?}", end.frames.len());
        }
        assert!(turns > 1, "it takes more than one turn");
        let frames = &hall.ends[late].frames;
        assert!(frames.is_sorted_by(|one, next| next - one == 1) && frames[0] == 0);
        hall.agree(&[late]);
    }
}

#[test]
fn a_client_behind_many_reports_is_sent_them_over_several_turns() {
    let mut hall =
        Hall::with((LockstepAccess::Open, 5_000, 1), Hall::new(LockstepAccess::Open).address_limits);
    let honest = hall.comes(Who { is_json: true, ..SPECTATOR });
    hall.ticks(1);
    let room = Arc::clone(hall.room.handle());
    for liar in 100..116 {
        room.lockstep.add_follower(liar, AddressPrefix::from_ip(Ipv4Addr::LOCALHOST.into()));
        assert!(room.lockstep.next(liar, 0, |_| true).snapshot.is_some());
    }
    hall.ends[honest].client.transport.takes.store(0, Ordering::Relaxed);
    let long = || "\"".repeat(limits::LOCKSTEP_FIELD_CHARS);
    let field = FieldDiff { entity: long(), field: long(), ours: Some(long()), theirs: Some(long()) };
    for tick in 2..40 {
        (100..116).for_each(|liar| room.lockstep.checksum(liar, || format!("liar {liar}"), tick, liar));
        hall.tick();
        (100..116).for_each(|liar| room.lockstep.add_desync_details(liar, tick, vec![field.clone(); 8]));
    }
    hall.ticks(40);
    hall.ends[honest].client.transport.takes.store(usize::MAX, Ordering::Relaxed);
    hall.ticks(8);
    let end = &hall.ends[honest];
    assert!(end.client.sender.is_open(), "{:?}", end.client.sender.disconnect_reason());
    let ticks: Vec<u32> = end.reports.iter().map(|report| report.tick).collect();
    assert!(ticks.len() > 35 && ticks.is_sorted_by(|one, next| one < next), "{ticks:?}");
    hall.agree(&[honest]);
}

#[test]
fn a_client_that_begins_again_is_not_told_a_report_twice_however_many_turns_it_takes() {
    let mut hall = quiet(10);
    let late = hall.comes(Who { is_json: true, ..SPECTATOR });
    hall.ticks(1_490);
    assert_eq!(hall.counts().desyncs, 0);
    let room = Arc::clone(hall.room.handle());
    assert!(room.lockstep.next(77, 0, |_| true).snapshot.is_some());
    room.lockstep.checksum(77, || "differs".to_owned(), 1_500, 1);
    hall.ticks(1);
    room.lockstep.add_desync_details(77, 1_500, Vec::new());
    hall.ticks(9);
    assert_eq!(hall.ends[late].reports.len(), 1);
    hall.say(late, "state_sync_request", &[]);
    hall.ticks(20);
    assert_eq!(hall.ends[late].follower.counts().syncs, 2);
    assert_eq!(hall.ends[late].reports.len(), 1);
    hall.agree(&[late]);
}

#[test]
fn a_part_is_encoded_once_for_all_clients_that_speak_alike() {
    let mut hall = Hall::new(LockstepAccess::Open);
    let ends: Vec<usize> =
        [false, true, false, true].map(|is_json| hall.comes(Who { is_json, ..SPECTATOR })).to_vec();
    hall.ticks(1);
    let room = Arc::clone(hall.room.handle());
    room.lockstep.add_follower(77, AddressPrefix::from_ip(Ipv4Addr::LOCALHOST.into()));
    let next = room.lockstep.next(77, 1_000, |_| true);
    let snapshot = next.snapshot.expect("the one of the clients");
    let made = AtomicUsize::new(0);
    for at in ends {
        let format = &hall.ends[at].client.format;
        let form = FormatKey {
            dialect: format.dialect.name().into(),
            is_json: format.is_json,
            max_compressed_bytes: 0,
        };
        for part in next.parts.iter().map(|(_, part)| part).chain([&snapshot]) {
            let make = |_: &_| {
                made.fetch_add(1, Ordering::Relaxed);
                Vec::new()
            };
            assert!(!part.encoded(&form, make).is_empty());
        }
    }
    assert_eq!(made.load(Ordering::Relaxed), 0, "the clients' turns have encoded each part");
    // One that nobody was sent is made once.
    hall.ends.iter().for_each(|end| end.client.leave_world(hall.now));
    let relay = LockstepFeed::new(&hall.ends[0].client.format);
    hall.ticks(1);
    let mut frames = [Vec::new(), Vec::new()];
    room.lockstep.add_follower(78, AddressPrefix::from_ip(Ipv4Addr::LOCALHOST.into()));
    for (number, frames) in [77, 78].into_iter().zip(&mut frames) {
        relay.write_without_client((&room, number), &hall.ends[0].client.format, frames);
    }
    assert!(frames[1].ends_with(&frames[0]) && !frames[0].is_empty());
}
