//! Who is sent a snapshot, and when: budgets of addresses and of the server.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tickwire::internal::limits;
use tickwire::internal::server::admission::address_rate_limits::AddressRateLimits;
use tickwire::internal::server::admission::sync_scheduler::SyncRequest;
use tickwire::internal::server::room::lockstep::LockstepAccess;
use tickwire::internal::util::address_prefix::AddressPrefix;

use crate::hall::{Hall, SPECTATOR, START, Who};

/// A map whose snapshot exceeds a client's queue, in pixels.
const LARGE_PX: u32 = 32_000;
const BURST: u64 = limits::ADDRESS_SNAPSHOTS_BURST as u64;

fn address(number: usize) -> AddressPrefix {
    AddressPrefix::from_ip(std::net::Ipv4Addr::from_bits(number as u32).into())
}

/// So many ticks, before each of which a client asks for a snapshot, faster than it may send.
fn flood(hall: &mut Hall, number: u64, ticks: u32) {
    for _ in 0..ticks {
        (0..3).for_each(|_| hall.room.handle().lockstep.request_snapshot(number));
        hall.tick();
    }
}

#[test]
fn snapshots_are_limited_for_each_address_and_requests_for_one_are_one() {
    let mut hall = Hall::new(LockstepAccess::Open);
    let asks = hall.client(2, false);
    hall.ticks(2);
    hall.say(asks, "state_sync_request", &[]);
    hall.ticks(2);
    assert_eq!(hall.counts().syncs, 2);
    let number = hall.ends[asks].client.id;
    flood(&mut hall, number, 300);
    // The burst of its address, and one a second.
    let (max, syncs) = (BURST + 304 / 30, hall.counts().syncs);
    assert!(syncs <= max && syncs + 2 > max, "{syncs} of {max}");
    hall.agree(&[asks]);
}

#[test]
fn a_client_that_asks_all_the_time_goes_behind_others_of_its_address() {
    let mut hall = Hall::new(LockstepAccess::Open);
    let asks = hall.client(2, false);
    hall.ticks(1);
    let number = hall.ends[asks].client.id;
    flood(&mut hall, number, 100);
    let late: Vec<usize> = (0..4).map(|_| hall.client(2, false)).collect();
    let slow = hall.client(2, false);
    hall.ends[slow].client.transport.takes.store(0, Ordering::Relaxed);
    let before = hall.ends[asks].follower.counts().syncs;
    // One a second, to each of the four.
    flood(&mut hall, number, 4 * 30 + 2);
    late.iter().for_each(|at| assert!(hall.ends[*at].follower.world().is_some(), "{at}"));
    assert!(hall.ends[asks].follower.counts().syncs <= before + 1);
    // One that takes nothing keeps no other one waiting for long.
    flood(&mut hall, number, 60);
    assert!(hall.ends[asks].follower.counts().syncs > before);
    hall.agree(&late);
}

#[test]
fn rooms_of_a_server_share_the_budget_of_an_address_and_so_does_a_room_that_begins_anew() {
    let address_limits = Arc::new(AddressRateLimits::new(true));
    let mut rooms = [(); 3].map(|()| Hall::with((LockstepAccess::Open, 20, 5), Arc::clone(&address_limits)));
    let mut syncs = 0;
    for hall in &mut rooms {
        let asks = hall.client(2, false);
        let number = hall.ends[asks].client.id;
        flood(hall, number, 90);
        syncs += hall.counts().syncs;
    }
    // In each room it is the same three seconds.
    assert!(syncs <= BURST + 4, "{syncs}");
    rooms[0].room = rooms[0].room.restarted("1".to_owned());
    let again = rooms[0].client(2, false);
    let number = rooms[0].ends[again].client.id;
    flood(&mut rooms[0], number, 60);
    assert!(rooms[0].counts().syncs <= 3, "{}", rooms[0].counts().syncs);
    // Another address has its own.
    let other = rooms[1].comes(Who { address: 2, ..SPECTATOR });
    rooms[1].ticks(2);
    assert!(rooms[1].ends[other].follower.world().is_some());
}

#[test]
fn a_server_sends_so_many_bytes_of_snapshots_and_keeps_half_for_clients_without_a_world() {
    for enabled in [true, false] {
        let address_limits = AddressRateLimits::new(enabled);
        let bytes = 1024 * 1024;
        let mut number = 0;
        let mut taken = |synced: Option<Duration>, now: Duration| {
            let each = (0..1_000).take_while(|_| {
                number += 1;
                let asks = SyncRequest {
                    prefix: address(number),
                    connection: number as u64,
                    last_sync: synced,
                    bytes,
                };
                address_limits.try_start_sync(&asks, now)
            });
            each.count()
        };
        let burst = limits::LOCKSTEP_SYNC_BURST.as_secs() as usize
            * limits::LOCKSTEP_SYNC_BYTES_PER_SECOND as usize
            / bytes;
        assert_eq!(taken(Some(Duration::ZERO), START), burst / 2);
        assert_eq!(taken(None, START), burst / 2);
        assert_eq!(taken(None, START), 0);
        let later = START + Duration::from_secs(1);
        assert_eq!(taken(Some(Duration::ZERO), later), 0);
        assert_eq!(taken(None, later), burst / limits::LOCKSTEP_SYNC_BURST.as_secs() as usize);
    }
}

#[test]
fn a_sole_client_that_comes_and_goes_has_no_snapshot_made_each_time() {
    let mut hall = Hall::new(LockstepAccess::Open);
    let mut made = 0;
    for connection in 100..160 {
        hall.room.handle().lockstep.add_follower(connection, address(1));
        hall.tick();
        let next = hall.room.handle().lockstep.next(connection, 0, |_| true);
        made += usize::from(next.snapshot.is_some());
        hall.room.handle().lockstep.remove_follower(connection);
        hall.tick();
    }
    // 120 ticks are four seconds.
    assert!((4..=5).contains(&made), "{made}");
}

#[test]
fn a_snapshot_above_the_queue_reaches_a_client_that_reads_slowly() {
    let mut hall = Hall::new(LockstepAccess::Open);
    hall.is_as_large_as(LARGE_PX);
    let slow = hall.client(2, false);
    hall.ends[slow].client.transport.takes.store(4_000, Ordering::Relaxed);
    for _ in 0..200 {
        hall.tick();
        assert!(
            hall.ends[slow].client.sender.is_open(),
            "{:?}",
            hall.ends[slow].client.sender.disconnect_reason()
        );
        if hall.ends[slow].follower.counts().syncs > 0 {
            break;
        }
    }
    assert_eq!(hall.counts().syncs, 1);
    hall.ends[slow].client.transport.takes.store(usize::MAX, Ordering::Relaxed);
    hall.ticks(5);
    assert_eq!(hall.ends[slow].follower.counts().syncs, 1);
}

#[test]
fn a_world_above_one_message_reaches_its_clients_in_parts_and_stays_the_same() {
    let mut hall = Hall::new(LockstepAccess::Open);
    hall.is_as_large_as(LARGE_PX);
    hall.is_crowded(7_000);
    let ends = [false, true].map(|is_json| hall.comes(Who { is_json, ..SPECTATOR }));
    hall.ticks(12);
    let endings = ends.map(|at| hall.ends[at].client.sender.disconnect_reason());
    assert_eq!(endings, [None, None]);
    let bytes = hall.ends[0].follower.world().expect("it follows").snapshot().len();
    assert!(bytes > limits::CLIENT_MESSAGE_BYTES, "{bytes} bytes: otherwise this shows nothing");
    assert!(hall.ends.iter().all(|end| end.follower.counts().syncs == 1), "and no second time");
    assert!(hall.counts().checksums > 0);
    assert_eq!(hall.counts().desyncs, 0);
    hall.agree(&ends);
}
