//! The seats of a room: however many connections come and go while it ticks, no two players have one number, and none is lost.

use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::time::Duration;

use shuttle::sync::Arc;
use shuttle::thread;

use crate::game::{Game as _, UpdateRates};
use crate::limits;
use crate::server::room::acks::TickCommands;
use crate::server::room::lockstep::LockstepConfig;
use crate::server::room::seats::Seat;
use crate::server::room::{JoinAttempt, RoomConfig, RoomHandle, SeatKey};
use crate::util::address_prefix::AddressPrefix;
use crate::util::sync::Mutex;
use tickwire::internal::games::moo::Moo;
use tickwire::internal::games::moo::world::{Identity, PlayerId, TickHz, World};
use tickwire::sim::{MembershipChange, StepResult};

/// One tick of the room, in which those that leave have left.
fn tick(handle: &RoomHandle, now: Duration) {
    let (tick, mut batch) = (handle.tick(), TickCommands::default());
    drop(handle.begin_tick(tick, now, &mut batch, &mut []));
    let left = batch.commands.iter().filter_map(|command| match (handle.game.membership)(&command.action) {
        Some(MembershipChange::Left(player)) => Some(player),
        _ => None,
    });
    handle.end_tick(tick + 1, &StepResult { departed: left.collect(), ..StepResult::default() }, now);
}

/// A client enters from a connection; its join does nothing, because there is no world.
fn enter(handle: &RoomHandle, key: Option<SeatKey>, connection: u64, now: Duration) -> PlayerId {
    let client =
        JoinAttempt { key, connection, from: AddressPrefix::from_ip(std::net::Ipv4Addr::LOCALHOST.into()) };
    handle.join(client, now, |_| Vec::new()).expect("there are many").player
}

pub fn handle() -> RoomHandle {
    static WORLD: OnceLock<World> = OnceLock::new();
    let identity = Identity { seed: 1, map_size_px: 1_440, tick_hz: TickHz::Hz30 };
    let rates = UpdateRates { tick_hz: 30, update_hz: 30, foreign_hz: 10 };
    let (name, epoch) = ("".into(), String::new());
    let options = RoomConfig {
        name,
        epoch,
        secret: 7,
        rates,
        delay_ticks: 0,
        resume_time: Duration::ZERO,
        absent_per_address: 9,
        max_clients: 9,
        lockstep: LockstepConfig::default(),
    };
    RoomHandle::new(Moo::INFO, WORLD.get_or_init(|| World::new(identity)), options)
}

pub fn no_two_have_one_number_and_none_is_lost() {
    crate::check(|| {
        let (handle, held) = (Arc::new(handle()), Arc::new(Mutex::new(BTreeSet::new())));
        let come_and_go = |connection: u64| {
            let (handle, held) = (Arc::clone(&handle), Arc::clone(&held));
            thread::spawn(move || {
                for round in 0..2 {
                    // Each round comes after the rest of the one before, so that numbers come again.
                    let now = limits::PLAYER_ID_COOLDOWN * (2 * round + connection as u32 % 2);
                    let player = enter(&handle, None, connection, now);
                    assert!(held.lock().insert(player.0), "{player:?} is another's");
                    thread::yield_now();
                    assert!(held.lock().remove(&player.0));
                    handle.disconnect(player, connection, now);
                }
            })
        };
        let room = Arc::clone(&handle);
        let ticking = thread::spawn(move || {
            (0..4).for_each(|period| tick(&room, limits::PLAYER_ID_COOLDOWN * period));
        });
        let threads: Vec<_> = (0..3).map(come_and_go).chain([ticking]).collect();
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        let later = limits::PLAYER_ID_COOLDOWN * 100;
        tick(&handle, later);
        let all = [(); 6].map(|()| enter(&handle, None, 9, later * 2));
        assert_eq!(
            all,
            [1, 2, 3, 4, 5, 6].map(PlayerId),
            "every connection that went has given its number back"
        );
    });
}

/// Connections that come at once with one key, while the operator removes whoever has it: in the end all
/// of them have been given the same seat, or the later ones another, and only one is taken.
pub fn one_key_has_one_seat() {
    crate::check(|| {
        let (handle, now) = (Arc::new(handle()), Duration::from_secs(1));
        let come = |connection: u64| {
            let handle = Arc::clone(&handle);
            thread::spawn(move || enter(&handle, Some(SeatKey([7; 16])), connection, now))
        };
        let (coming, operator) = ([1, 2, 3].map(come), Arc::clone(&handle));
        let removing = thread::spawn(move || operator.dismiss(PlayerId(1), now).is_some());
        let given = coming.map(|thread| thread.join().expect("no panic"));
        let is_removed = removing.join().expect("no panic");
        let seats: BTreeSet<u16> = given.iter().map(|player| player.0).collect();
        let connected = |player: &&u16| matches!(handle.seat(PlayerId(**player)), Some(Seat::Connected(_)));
        assert_eq!(
            seats.iter().filter(connected).count(),
            usize::from(!is_removed || seats.len() > 1),
            "{given:?}"
        );
        assert!(seats.len() == 1 || is_removed, "{given:?}");
        tick(&handle, now);
        let ([taken, ..], _) = handle.seat_counts_and_queue();
        assert_eq!(taken, usize::from(!is_removed || seats.len() > 1), "{given:?}");
    });
}
