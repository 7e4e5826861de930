//! Lockstep: clients that run the room's world themselves, from its journal.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tickwire::internal::connection::DisconnectReason;
use tickwire::internal::games::moo::world::PlayerId;
use tickwire::internal::limits;
use tickwire::internal::server::clients::backlog::Backlog;
use tickwire::internal::server::room::TickRequest;
use tickwire::internal::server::room::lockstep::LockstepAccess;
use tickwire::internal::util::address_prefix::AddressPrefix;
use tickwire::packet::Value;

use crate::hall::{Hall, START};

#[test]
fn whenever_a_client_joins_it_gets_each_frame_once_and_has_the_world_of_the_room() {
    for join in [0, 1, 4, 5, 19, 20, 21, 47] {
        let mut hall = Hall::new(LockstepAccess::Open);
        let first = hall.client(3, false);
        hall.ticks(join);
        let late = hall.client(2, false);
        hall.ticks(66);
        for at in [first, late] {
            let frames = &hall.ends[at].frames;
            assert!(frames.is_sorted_by(|one, next| next - one == 1), "{frames:?}");
            assert_eq!(hall.ends[at].follower.counts().syncs, 1);
            assert!(hall.ends[at].reports.is_empty());
        }
        assert_eq!(hall.ends[first].follower.player(), Some(PlayerId(1)));
        assert_eq!(hall.ends[late].follower.player(), None);
        assert_eq!(hall.players().len(), 1);
        hall.agree(&[first, late]);
        assert_eq!((hall.counts().desyncs, hall.counts().syncs), (0, 2));
        assert!(hall.counts().checksums > 20, "{:?}", hall.counts());
        // What a stream consists of is not sent, what answers is.
        let others = &hall.ends[first].others;
        assert!(
            others.iter().all(|name| ["welcome", "command_accepted"].contains(&name.as_str())),
            "{others:?}"
        );
    }
}

#[test]
fn nothing_is_kept_or_made_while_nobody_follows() {
    let mut hall = Hall::new(LockstepAccess::Open);
    let stream = hall.client(1, false);
    hall.ticks(30);
    assert!(hall.ends[stream].others.contains(&"update".to_owned()));
    assert_eq!(hall.room.tick(START, TickRequest::default()).frame, None);
    let follows = hall.client(2, false);
    hall.ticks(3);
    assert!(hall.room.tick(START, TickRequest::default()).frame.is_some());
    hall.ends[follows].client.leave_world(START);
    hall.tick();
    assert_eq!(hall.room.tick(START, TickRequest::default()).frame, None);
    // A client that comes then begins at a snapshot of that time, a second after the one before.
    let next = hall.client(2, false);
    hall.ticks(33);
    hall.agree(&[next]);
}

#[test]
fn a_world_with_a_changed_field_is_named_to_all_and_comes_back_by_itself() {
    for seed in 0..40 {
        let mut hall = Hall::new(LockstepAccess::Open);
        let (one, other) = (hall.client(3, false), hall.client(2, false));
        let stream = hall.client(1, false);
        hall.ticks(23);
        hall.ends[one].follower.corrupt(seed);
        hall.ticks(12);
        let (tick, changed) = hall.ends[one].follower.corrupted().expect("a field was changed").clone();
        for at in [one, other] {
            let [report] = &hall.ends[at].reports[..] else { panic!("{:?}", hall.ends[at].reports) };
            assert_eq!((report.tick, report.omitted), (tick, 0));
            assert!(report.includes("player 1") && !report.includes("spectator 2"));
            let has = |(participant, group): (usize, &str)| {
                report.groups.get(participant).is_some_and(|(_, all)| all.iter().any(|one| one == group))
            };
            assert!(has((0, "server")) && has((0, "spectator 2")) && has((1, "player 1")), "{report:?}");
            let [(who, field)] = &report.fields[..] else { panic!("{:?}", report.fields) };
            assert_eq!((who.as_str(), field), ("player 1", &changed), "seed {seed}");
        }
        assert!(hall.ends[stream].reports.is_empty());
        assert_eq!(hall.ends[one].follower.counts().syncs, 2);
        hall.agree(&[one, other]);
        hall.ticks(30);
        assert_eq!(hall.counts().desyncs, 1, "once");
    }
}

#[test]
fn a_false_checksum_is_reported_once_for_its_tick_whatever_else_is_claimed() {
    let mut hall = Hall::new(LockstepAccess::Open);
    let (honest, liar) = (hall.client(2, false), hall.client(3, false));
    hall.ticks(2);
    let wrong = |checksum: &str| [Value::from(5), checksum.into()];
    for checksum in ["00000000000000ff", "0000000000000001", "0000000000000002"] {
        hall.say(liar, "checksum", &wrong(checksum));
    }
    // No checksums: another number of digits, a sign, a tick that is no checksum tick, one too far ahead, one of long ago.
    for (tick, checksum) in
        [(5, "ff"), (5, "+0000000000000ff"), (6, "00000000000000ff"), (500, "00000000000000ff")]
    {
        hall.say(liar, "checksum", &[tick.into(), checksum.into()]);
    }
    // It says nothing of what differs, which the report waits for.
    hall.ticks(38);
    let [report] = &hall.ends[honest].reports[..] else { panic!("{:?}", hall.ends[honest].reports) };
    assert_eq!(report.tick, 5);
    assert_eq!(report.groups[1], ("00000000000000ff".to_owned(), vec!["player 1".to_owned()]));
    assert_eq!(hall.counts().desyncs, 1);
    // Its own follower never differed: it goes on, from another snapshot.
    hall.agree(&[honest, liar]);
    assert_eq!((hall.counts().desyncs, hall.ends[liar].reports.len()), (1, 1));
}

#[test]
fn a_checksum_that_comes_after_its_interval_counts_while_its_snapshot_is_kept() {
    let mut hall = Hall::new(LockstepAccess::Open);
    let honest = hall.client(2, false);
    let journal = Arc::clone(hall.room.handle());
    journal.lockstep.add_follower(77, AddressPrefix::from_ip(std::net::Ipv4Addr::LOCALHOST.into()));
    hall.ticks(1);
    assert!(journal.lockstep.next(77, 0, |_| true).snapshot.is_some());
    hall.ticks(32);
    journal.lockstep.checksum(77, || "late".to_owned(), 5, 1);
    assert_eq!(hall.counts().desyncs, 1);
    hall.ticks(20);
    // The snapshot before tick 5 is forgotten.
    journal.lockstep.checksum(77, || "late".to_owned(), 10, 1);
    assert_eq!(hall.counts().desyncs, 1);
    hall.ticks(20);
    let [report] = &hall.ends[honest].reports[..] else { panic!("{:?}", hall.ends[honest].reports) };
    assert_eq!((report.tick, &report.groups[1].1[..]), (5, &["late".to_owned()][..]));
}

#[test]
fn a_client_that_does_not_read_is_queued_no_frames_and_begins_again_at_a_snapshot() {
    let mut hall = Hall::new(LockstepAccess::Open);
    let (slow, fast) = (hall.client(3, false), hall.client(2, false));
    hall.ticks(10);
    hall.ends[slow].client.transport.takes.store(0, Ordering::Relaxed);
    hall.ticks(70);
    assert!(hall.ends[slow].client.sender.backlog() < 200, "{}", hall.ends[slow].client.sender.backlog());
    assert!(hall.ends[slow].client.sender.is_open());
    hall.ends[slow].client.transport.takes.store(usize::MAX, Ordering::Relaxed);
    hall.ticks(3);
    assert_eq!(hall.ends[slow].follower.counts().syncs, 2);
    hall.agree(&[slow, fast]);
    assert_eq!(hall.counts().desyncs, 0);
}

#[test]
fn who_may_follow_in_lockstep_is_up_to_the_server() {
    for (access, is_local, may) in [
        (LockstepAccess::Off, true, false),
        (LockstepAccess::Token, false, false),
        (LockstepAccess::Token, true, true),
        (LockstepAccess::Open, false, true),
    ] {
        let mut hall = Hall::new(access);
        let at = hall.client(3, is_local);
        hall.ticks(3);
        assert_eq!(hall.ends[at].follower.world().is_some(), may, "{access:?} {is_local}");
        let client = &hall.ends[at].client;
        client.check_deadlines(START + limits::WRONG_TOKEN_DELAY);
        let reason = client.sender.disconnect_reason();
        let off = DisconnectReason::Closed(tickwire::game::CloseReason::LockstepOff);
        assert_eq!(reason, (!may).then_some(off), "{access:?} {is_local}");
        // As a stream it may in any case.
        let stream = hall.client(1, false);
        hall.ticks(3);
        assert!(hall.ends[stream].client.sender.is_open());
        assert!(hall.ends[stream].others.contains(&"update".to_owned()));
        // Packets of lockstep mean nothing there, and are answered.
        hall.say(stream, "state_sync_request", &[]);
        hall.ticks(1);
        assert!(hall.ends[stream].others.contains(&"error".to_owned()));
    }
}

#[test]
fn a_frame_comes_after_the_answers_to_its_commands_also_if_the_room_is_ahead_of_the_worker() {
    // With so many ticks that the worker has not seen yet.
    for ahead in 1..=3 {
        let mut hall = Hall::new(LockstepAccess::Open);
        let at = hall.client(3, false);
        hall.ticks(4);
        let answers = |hall: &Hall| {
            let accepted = hall.ends[at].others.iter().filter(|name| *name == "command_accepted");
            accepted.count()
        };
        let mut waiting: VecDeque<Backlog> = (0..ahead).map(|_| hall.run()).collect();
        // Long enough for snapshots, which contain what commands did.
        for _ in 0..45 {
            waiting.push_back(hall.run());
            let (backlog, before) = (waiting.pop_front().expect("one"), answers(&hall));
            hall.serve(&backlog);
            assert_eq!(answers(&hall), before + 1, "each tick has a command");
            let own = hall.ends[at].follower.world().expect("it follows").tick();
            assert_eq!(own, backlog.newest.tick(), "{ahead} ahead: from frames or a snapshot");
            hall.say(at, "state_sync_request", &[]);
        }
        waiting.iter().for_each(|backlog| hall.serve(backlog));
        assert!(hall.ends[at].follower.counts().syncs > 1);
        hall.agree(&[at]);
    }
}
