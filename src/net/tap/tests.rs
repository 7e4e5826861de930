//! Listeners: which client they listen to, from when on, and how events beyond the limit are lost.

use std::thread;

use super::*;
use crate::limits;
use crate::packet::Codes;

const NOW: Duration = Duration::from_secs(7);
const SOON: Duration = Duration::from_millis(1);
const PLENTY: usize = 1 << 20;

fn who(client: u64) -> Who {
    Who { client, player: 3, at: NOW, tick: 9 }
}

fn handshake() -> Handshake {
    handshake_in("")
}

fn handshake_in(room: &str) -> Handshake {
    let ends =
        ("192.0.2.7:50000".parse().expect("an address"), "192.0.2.1:3000".parse().expect("an address"));
    let dialect = Codes::builtin().dialect("native").expect("built in");
    let request = b"GET /?token=abc HTTP/1.1\r\n\r\n".to_vec();
    Handshake::new(ends, (dialect, false), (room.into(), NOW, 9), request, b"HTTP/1.1 101".to_vec())
}

/// A client that says one message after another.
fn hear(tap: &Tap, client: u64, bytes: &[u8]) {
    say(tap, who(client), bytes, true, true, b"session");
}

fn say(tap: &Tap, who: Who, bytes: &[u8], begins: bool, is_whole: bool, session: &[u8]) {
    tap.heard(who, Piece { bytes, begins, is_whole }, &|| session.to_vec());
}

/// What was taken, a word each.
fn words(taken: &Taken) -> Vec<String> {
    let word = |seen: &Arc<Seen>| match &seen.what {
        What::Opened { .. } => format!("opened {}", seen.client),
        What::Session(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        What::Bytes { from, bytes, .. } => {
            let from = if *from == Side::Client { '>' } else { '<' };
            format!("{}{from}{}", seen.client, String::from_utf8_lossy(bytes))
        }
        What::Missed(missed) => format!("{} missed {}", seen.client, missed.bytes),
        What::Ended { rule } => format!("ended {} {rule}", seen.client),
        What::World { snapshot } => format!("world {}", String::from_utf8_lossy(snapshot)),
        What::Tick { checksum, .. } => format!("tick {} {checksum}", seen.tick),
    };
    taken.items.iter().map(word).collect()
}

fn tick(tap: &Tap, tick: u32) {
    tick_of(tap, "", tick);
}

fn tick_of(tap: &Tap, room: &str, tick: u32) {
    let (checksum, snapshot) = (u64::from(tick) * 2, format!("at {tick}").into_bytes().into());
    tap.ticked((&room.into(), NOW, tick), checksum, (*b"frame").into(), Some(snapshot));
}

#[test]
fn when_nobody_listens_nothing_is_copied() {
    let tap = Tap::default();
    tap.opened(1, handshake());
    tap.said(who(1), b"hello");
    assert!(!tap.is_on() && !tap.wants_world());
    assert_eq!(tap.inner.copies.load(Ordering::Relaxed), 0);
    let listener = tap.listen(None, PLENTY);
    assert!(tap.is_on() && !tap.wants_world());
    tap.said(who(1), b"hello");
    assert_eq!(tap.inner.copies.load(Ordering::Relaxed), 1);
    drop(listener);
    assert!(!tap.is_on(), "who is dropped is forgotten");
    tap.said(who(1), b"hello");
    assert_eq!(tap.inner.copies.load(Ordering::Relaxed), 1);
}

#[test]
fn a_conversation_comes_in_its_order_and_secrets_are_covered() {
    let tap = Tap::default();
    let listener = tap.listen(None, PLENTY);
    tap.opened(1, handshake());
    hear(&tap, 1, b"hi");
    tap.said(who(1), b"you");
    tap.ended(who(1), "peer_closed");
    tap.said(who(1), b"late");
    tap.ended(who(1), "again");
    let taken = listener.take(SOON);
    assert_eq!(words(&taken), ["opened 1", "1>hi", "1<you", "ended 1 peer_closed"]);
    assert_eq!((taken.items[1].player, taken.items[1].at, taken.lost), (3, NOW, Lost::default()));
    let What::Opened { request, .. } = &taken.items[0].what else { panic!("{taken:?}", taken = taken.items) };
    assert_eq!(request, b"GET /?token=xxx HTTP/1.1\r\n\r\n");
}

#[test]
fn traffic_without_a_listener_is_not_copied() {
    let tap = Tap::default();
    (1..4).for_each(|client| tap.opened(client, handshake()));
    let talk = || {
        (1..4).for_each(|client| {
            hear(&tap, client, b"hi");
            tap.said(who(client), b"you");
        });
        tap.inner.copies.swap(0, Ordering::Relaxed)
    };
    let one = tap.listen(Some(2), PLENTY);
    let same = tap.listen(Some(2), PLENTY);
    assert_eq!([1, 2, 3].map(|client| tap.wants(client)), [false, true, false]);
    assert_eq!(talk(), 2);
    let other = tap.listen(Some(3), PLENTY);
    assert!(tap.wants(3));
    assert_eq!(talk(), 4, "two are asked about one by one");
    drop(other);
    assert!(!tap.wants(3));
    let all = tap.listen_with_world(None, PLENTY);
    assert_eq!((tap.wants(1), talk()), (true, 6 + 3), "three sessions are told");
    drop((one, same, all));
    assert_eq!((tap.wants(2), talk()), (false, 0));
}

#[test]
fn a_tick_that_does_not_fit_is_reported_lost_to_listeners_of_the_world() {
    let tap = Tap::default();
    let (world, clients) = (tap.listen_with_world(None, PLENTY), tap.listen(None, PLENTY));
    tick(&tap, 5);
    tap.tick_is_lost((&"".into(), NOW, 6));
    tick(&tap, 7);
    let taken = world.take(SOON);
    assert_eq!(words(&taken), ["world at 5", "tick 5 10"]);
    assert_eq!((taken.lost.messages, taken.lost.since_tick), (2, 6));
    assert_eq!(clients.take(SOON).lost, Lost::default());
}

#[test]
fn one_can_listen_to_one() {
    let tap = Tap::default();
    let listener = tap.listen(Some(2), PLENTY);
    for client in 1..4 {
        tap.opened(client, handshake());
        hear(&tap, client, b"hi");
        tap.said(who(client), b"you");
        tap.ended(who(client), "bye");
    }
    assert_eq!(words(&listener.take(SOON)), ["opened 2", "2>hi", "2<you", "ended 2 bye"]);
}

#[test]
fn a_late_listener_gets_introductions_and_begins_with_a_whole_message() {
    let tap = Tap::default();
    tap.opened(1, handshake());
    tap.opened(2, handshake());
    tap.ended(who(2), "gone");
    let listener = tap.listen(None, PLENTY);
    say(&tap, who(1), b"rest", false, true, b"");
    tap.said(who(1), b"whole");
    say(&tap, who(1), b"ne", true, false, b"");
    say(&tap, who(1), b"w", false, true, b"");
    assert_eq!(words(&listener.take(SOON)), ["opened 1", "1<whole", "1>ne", "1>w"]);
}

#[test]
fn the_world_comes_before_its_next_tick_and_sessions_before_what_follows() {
    let tap = Tap::default();
    tap.opened(1, handshake());
    let (listener, other) = (tap.listen_with_world(None, PLENTY), tap.listen(None, PLENTY));
    assert!(tap.wants_world());
    hear(&tap, 1, b"a");
    tick(&tap, 5);
    tap.opened(2, handshake());
    say(&tap, who(1), b"b", false, true, b"s1");
    say(&tap, who(2), b"c", true, true, b"s2");
    tick(&tap, 6);
    assert_eq!(
        words(&listener.take(SOON)),
        ["world at 5", "opened 1", "session", "1>a", "tick 5 10", "opened 2", "1>b", "2>c", "tick 6 12"]
    );
    assert_eq!(
        words(&other.take(SOON)),
        ["opened 1", "1>a", "opened 2", "1>b", "2>c"],
        "it has no use for them"
    );
    listener.renew();
    hear(&tap, 2, b"d");
    tick(&tap, 7);
    hear(&tap, 2, b"e");
    hear(&tap, 2, b"f");
    assert_eq!(words(&listener.take(SOON)), ["2>d", "world at 7", "tick 7 14", "session", "2>e", "2>f"]);
}

#[test]
fn the_worlds_of_all_rooms_come_together_and_later_events_of_each_room_after_them() {
    let tap = Tap::default();
    ["a", "b", "c"].iter().for_each(|room| tap.room_begins(&(*room).into()));
    let listener = tap.listen_with_world(None, PLENTY);
    tap.opened(1, handshake_in("a"));
    tap.opened(2, handshake_in("b"));
    tick_of(&tap, "a", 1);
    hear(&tap, 1, b"x");
    assert_eq!(words(&listener.take(SOON)), [""; 0], "it waits for the other rooms");
    tap.room_ends("c");
    tick_of(&tap, "b", 70);
    let front = ["world at 1", "world at 70", "opened 1", "opened 2", "tick 1 2", "1>x", "tick 70 140"];
    assert_eq!(words(&listener.take(SOON)), front);
    listener.renew();
    hear(&tap, 2, b"y");
    listener.take(SOON);
    tick_of(&tap, "a", 2);
    hear(&tap, 1, b"z");
    hear(&tap, 2, b"w");
    assert_eq!(words(&listener.take(SOON)), ["2>w"], "of a room that has not shown its world again");
    tick_of(&tap, "b", 71);
    assert_eq!(
        words(&listener.take(SOON)),
        ["world at 2", "world at 71", "tick 2 4", "session", "1>z", "tick 71 142"]
    );
}

#[test]
fn a_listener_that_loses_events_while_it_waits_for_a_world_is_shown_all_worlds_again() {
    let tap = Tap::default();
    ["a", "b"].iter().for_each(|room| tap.room_begins(&(*room).into()));
    let listener = tap.listen_with_world(None, 4 * limits::TAP_ITEM_BYTES);
    ["a", "b"].iter().for_each(|room| tick_of(&tap, room, 1));
    listener.take(SOON);
    listener.renew();
    (2..9).for_each(|tick| tick_of(&tap, "a", tick));
    let taken = listener.take(SOON);
    assert_eq!(
        (words(&taken), taken.lost.messages),
        (["tick 2 4", "tick 3 6", "tick 4 8"].map(Into::into).into(), 4)
    );
    ["a", "b"].iter().for_each(|room| tick_of(&tap, room, 9));
    assert_eq!(words(&listener.take(SOON)), ["world at 9", "world at 9", "tick 9 18", "tick 9 18"]);
}

#[test]
fn traffic_over_the_bound_is_counted_after_the_accepted_traffic() {
    let tap = Tap::default();
    let listener = tap.listen(None, 3 * limits::TAP_ITEM_BYTES + 100);
    tap.opened(1, handshake());
    hear(&tap, 1, b"fits");
    tap.said(who(1), &[b'x'; 200]);
    tap.said(who(1), b"would fit");
    hear(&tap, 1, b"so would this");
    let taken = listener.take(SOON);
    assert_eq!(words(&taken), ["opened 1", "1>fits"]);
    let connections = BTreeMap::from([(1, [13, 209])]);
    assert_eq!(taken.lost, Lost { messages: 3, bytes: 222, since_tick: 9, connections, ..Lost::default() });
    say(&tap, who(1), b"end", false, true, b"");
    tap.said(who(1), b"server");
    assert_eq!(words(&listener.take(SOON)), ["1<server"]);
    hear(&tap, 1, b"new");
    tap.said(who(1), b"again");
    let after = listener.take(SOON);
    assert_eq!(words(&after), ["1 missed 3", "1>new", "1<again"]);
    assert_eq!(after.lost, Lost::default());
}

#[test]
fn a_listener_that_loses_part_of_a_message_affects_no_other_listener() {
    let tap = Tap::default();
    let listener = tap.listen_with_world(None, 8 * limits::TAP_ITEM_BYTES);
    (1..3).for_each(|client| tap.opened(client, handshake()));
    tick(&tap, 1);
    say(&tap, who(1), b"be", true, false, b"");
    say(&tap, who(1), &[7; 2_000], false, false, b"");
    assert_eq!(listener.take(SOON).lost.connections, BTreeMap::from([(1, [2_000, 0])]));
    for tick_number in 2..5 {
        say(&tap, who(1), b"more", false, false, b"");
        hear(&tap, 2, b"hi");
        tick(&tap, tick_number);
        let taken = listener.take(SOON);
        assert_eq!((words(&taken).len(), taken.lost), (2, Lost::default()), "the world and others go on");
    }
    tap.ended(who(1), "gone");
    let taken = listener.take(SOON);
    assert_eq!(taken.items[0].what, What::Missed(Missed { messages: 3, bytes: 12, since_tick: 9 }));
    assert_eq!(words(&taken), ["1 missed 12", "ended 1 gone"]);
}

#[test]
fn a_listener_that_does_not_drain_blocks_no_thread_and_keeps_at_most_its_bound() {
    let tap = Tap::default();
    let (idle, busy) = (tap.listen_with_world(None, 10_000), tap.listen(None, PLENTY));
    tap.opened(1, handshake());
    tick(&tap, 1);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..500).for_each(|_| tap.said(who(1), &[7; 100])));
        }
    });
    tick(&tap, 2);
    idle.renew();
    tick(&tap, 3);
    assert_eq!(busy.take(SOON).items.len(), 2_001);
    let taken = idle.take(SOON);
    let kept: usize = taken.items.iter().map(|seen| seen.what.bytes() + limits::TAP_ITEM_BYTES).sum();
    assert!(kept <= 10_000 + "at 1".len() + limits::TAP_ITEM_BYTES, "{kept}");
    assert_eq!(taken.items.len() as u64 + taken.lost.messages, 2_001 + 2 + 2, "all is there or counted");
    tick(&tap, 4);
    assert_eq!(
        words(&idle.take(SOON)),
        ["world at 4", "tick 4 8"],
        "the world comes when there is room for it"
    );
}

#[test]
fn the_end_is_found_behind_what_waits() {
    let tap = Tap::default();
    let (listener, closed) = (tap.listen(None, PLENTY), tap.listen(None, PLENTY));
    tap.opened(1, handshake());
    closed.close();
    tap.end();
    let taken = listener.take(SOON);
    assert!(taken.over && taken.items.len() == 1 && !tap.is_on());
    assert!(closed.take(Duration::from_secs(60)).over);
    assert!(tap.listen(None, PLENTY).take(Duration::from_secs(60)).over, "who comes after the end");
}
