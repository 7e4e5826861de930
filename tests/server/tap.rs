//! Listeners of the tap: which client they listen to, from when on, and how events beyond the limit are lost.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tickwire::internal::connection::ObservedBytes;
use tickwire::internal::games;
use tickwire::internal::limits;
use tickwire::internal::server::net::tap::{
    EventKind, EventSource, LostEvents, Run, Side, SkippedTraffic, Subscription, Tap, TapBatch, TapEvent,
};
use tickwire::internal::server::room::WorldSnapshot;
use tickwire::sim::WorldParams;

const NOW: Duration = Duration::from_secs(7);
const SOON: Duration = Duration::from_millis(1);
const PLENTY: usize = 1 << 20;
const ITEM: usize = limits::TAP_ITEM_BYTES;

pub fn who(client: u64) -> EventSource {
    EventSource { client, player: 3, at: NOW, tick: 9 }
}

/// The only run of a room in these tests, numbered by its name.
pub fn run(room: &str) -> Run {
    Run { room: room.into(), number: room.bytes().next().unwrap_or_default().into() }
}

pub fn open_with(tap: &Tap, who: EventSource, room: &str, request: &[u8]) {
    let ends = (format!("192.0.2.7:{}", 50_000 + who.client), "[2001:db8::1]:3000");
    let ends = (ends.0.parse().expect("an address"), ends.1.parse().expect("an address"));
    let what = EventKind::opened(
        ends,
        games::INFO[0],
        ("native", false),
        request.to_vec(),
        b"HTTP/1.1 101".to_vec(),
    );
    tap.record_open(who, &run(room), what);
}

pub fn open(tap: &Tap, client: u64) {
    open_with(tap, who(client), "", b"GET /");
}

/// A client that says one message after another.
fn hear(tap: &Tap, client: u64, bytes: &[u8]) {
    say(tap, client, bytes, true, b"session");
}

fn say(tap: &Tap, client: u64, bytes: &[u8], begins: bool, session: &[u8]) {
    tap.record_received(
        who(client),
        ObservedBytes {
            bytes,
            starts_message: begins,
            is_whole: true,
            is_injected: false,
            slack: Duration::ZERO,
        },
        &|| session.to_vec(),
    );
}

fn tick(tap: &Tap, tick: u32) {
    tick_of(tap, "", tick);
}

fn tick_of(tap: &Tap, room: &str, tick: u32) {
    let snapshot = WorldSnapshot {
        info: games::INFO[0],
        tick,
        identity: WorldParams { seed: 1, tick_hz: 30, options: Vec::new() },
        rules_hash: 7,
        names: Vec::new(),
        bytes: format!("at {tick}").into_bytes().into(),
    };
    let frame = ((*b"frame").into(), Vec::new());
    tap.record_tick((&run(room), NOW, tick), u64::from(tick) * 2, frame, Some(Arc::new(snapshot)));
}

/// What was taken, a word each.
fn words(taken: &TapBatch) -> Vec<String> {
    let word = |seen: &Arc<TapEvent>| match &seen.kind {
        EventKind::Opened { .. } => format!("opened {}", seen.client),
        EventKind::Session(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        EventKind::Bytes { from, bytes, .. } => {
            let from = if *from == Side::Client { '>' } else { '<' };
            format!("{}{from}{}", seen.client, String::from_utf8_lossy(bytes))
        }
        EventKind::Datagram { bytes, .. } => format!("datagram {}", String::from_utf8_lossy(bytes)),
        EventKind::DroppedDatagram { rule, .. } => format!("dropped {}", rule.name()),
        EventKind::Skipped(missed) => format!("{} missed {}", seen.client, missed.bytes),
        EventKind::Ended { rule } => format!("ended {} {rule}", seen.client),
        EventKind::World { snapshot } => format!("world {}", String::from_utf8_lossy(&snapshot.bytes)),
        EventKind::Tick { checksum, .. } => format!("tick {} {checksum}", seen.tick),
    };
    taken.items.iter().map(word).collect()
}

/// What a listener takes now, of which nothing is lost.
#[track_caller]
fn takes(listener: &Subscription, expected: &[&str]) {
    let taken = listener.receive(SOON);
    assert_eq!(words(&taken), expected);
    assert_eq!(taken.lost, LostEvents::default());
}

#[test]
fn only_clients_that_somebody_listens_to_are_wanted_and_all_listeners_share_one_copy() {
    let tap = Tap::default();
    let wanted = || [1, 2, 3].map(|client| tap.has_subscriber(client));
    (1..4).for_each(|client| open(&tap, client));
    assert_eq!((tap.is_on(), tap.wants_world(), wanted()), (false, false, [false; 3]));
    tap.record_received(
        who(1),
        ObservedBytes {
            bytes: b"hi",
            starts_message: true,
            is_whole: true,
            is_injected: false,
            slack: Duration::ZERO,
        },
        &|| panic!("nobody listens"),
    );
    let (one, same) = (tap.subscribe(Some(2), PLENTY), tap.subscribe(Some(2), PLENTY));
    assert_eq!((tap.is_on(), tap.wants_world(), wanted()), (true, false, [false, true, false]));
    tap.record_sent(who(2), b"hi");
    assert!(Arc::ptr_eq(&one.receive(SOON).items[1], &same.receive(SOON).items[1]));
    let other = tap.subscribe(Some(3), PLENTY);
    assert!(tap.has_subscriber(2) && tap.has_subscriber(3));
    drop(other);
    assert_eq!(wanted(), [false, true, false]);
    let all = tap.subscribe_with_world(None, PLENTY);
    assert_eq!((tap.wants_world(), wanted()), (true, [true; 3]));
    all.close();
    assert_eq!((tap.wants_world(), wanted()), (false, [false, true, false]));
    drop((one, same));
    assert!(!tap.is_on());
}

#[test]
fn one_client_or_all_are_heard_in_their_order() {
    let tap = Tap::default();
    let (one, all) = (tap.subscribe(Some(2), PLENTY), tap.subscribe(None, PLENTY));
    for client in 1..3 {
        open(&tap, client);
        hear(&tap, client, b"hi");
        tap.record_sent(who(client), b"you");
        tap.record_close(who(client), "bye");
        tap.record_sent(who(client), b"late");
        tap.record_close(who(client), "again");
    }
    takes(&one, &["opened 2", "2>hi", "2<you", "ended 2 bye"]);
    let taken = all.receive(SOON);
    assert_eq!((taken.items.len(), taken.items[1].player, taken.items[1].at), (8, 3, NOW));
}

#[test]
fn a_tick_that_does_not_fit_is_reported_lost_to_listeners_of_the_world() {
    let tap = Tap::default();
    tap.add_room(&run(""));
    let (world, clients) = (tap.subscribe_with_world(None, PLENTY), tap.subscribe(None, PLENTY));
    tick(&tap, 5);
    tap.record_lost_tick((&run(""), NOW, 6));
    tick(&tap, 7);
    let taken = world.receive(SOON);
    assert_eq!(words(&taken), ["world at 5", "tick 5 10"]);
    assert_eq!((taken.lost.missed.messages, taken.lost.missed.since_tick), (2, 6));
    takes(&clients, &[]);
}

#[test]
fn a_late_listener_gets_introductions_and_begins_with_a_whole_message() {
    let tap = Tap::default();
    open(&tap, 1);
    open(&tap, 2);
    tap.record_close(who(2), "gone");
    let listener = tap.subscribe(None, PLENTY);
    say(&tap, 1, b"rest", false, b"");
    tap.record_sent(who(1), b"whole");
    say(&tap, 1, b"ne", true, b"");
    say(&tap, 1, b"w", false, b"");
    takes(&listener, &["opened 1", "1<whole", "1>ne", "1>w"]);
}

#[test]
fn the_world_comes_before_its_next_tick_and_sessions_before_what_follows() {
    let tap = Tap::default();
    tap.add_room(&run(""));
    open(&tap, 1);
    let (listener, other) = (tap.subscribe_with_world(None, PLENTY), tap.subscribe(None, PLENTY));
    hear(&tap, 1, b"a");
    takes(&listener, &[]);
    tick(&tap, 5);
    open(&tap, 2);
    say(&tap, 1, b"b", false, b"s1");
    say(&tap, 2, b"c", true, b"s2");
    tick(&tap, 6);
    let after = ["opened 2", "1>b", "2>c"];
    takes(
        &listener,
        &[&["world at 5", "opened 1", "session", "1>a", "tick 5 10"], &after[..], &["tick 6 12"]].concat(),
    );
    takes(&other, &[&["opened 1", "1>a"], &after[..]].concat());
    listener.request_worlds();
    hear(&tap, 2, b"d");
    tick(&tap, 7);
    hear(&tap, 2, b"e");
    hear(&tap, 2, b"f");
    takes(&listener, &["2>d", "world at 7", "tick 7 14", "session", "2>e", "2>f"]);
}

#[test]
fn events_of_each_room_that_precede_its_world_precede_the_part_with_the_worlds_of_all_rooms() {
    let tap = Tap::default();
    ["a", "b", "c"].iter().for_each(|room| tap.add_room(&run(room)));
    let listener = tap.subscribe_with_world(None, PLENTY);
    open_with(&tap, who(1), "a", b"GET /");
    open_with(&tap, who(2), "b", b"GET /");
    tick_of(&tap, "a", 1);
    hear(&tap, 1, b"x");
    takes(&listener, &["world at 1", "opened 1", "tick 1 2", "1>x"]);
    tap.remove_room(&run("c"));
    tick_of(&tap, "b", 70);
    takes(&listener, &["world at 70", "opened 2", "tick 70 140"]);
    listener.request_worlds();
    hear(&tap, 2, b"y");
    tick_of(&tap, "a", 2);
    hear(&tap, 1, b"z");
    hear(&tap, 2, b"w");
    takes(&listener, &["2>y", "2>w"]);
    tick_of(&tap, "b", 71);
    let after = ["world at 2", "tick 2 4", "session", "1>z", "world at 71", "tick 71 142"];
    let taken = listener.receive(SOON);
    assert_eq!((words(&taken), &taken.parts[..]), (after.map(str::to_owned).to_vec(), &[0][..]));
    listener.request_worlds();
    tick_of(&tap, "a", 3);
    hear(&tap, 2, b"v");
    tap.end();
    takes(&listener, &["session", "2>v", "world at 3", "tick 3 6"]);
}

#[test]
fn a_listener_that_loses_events_while_it_waits_for_a_world_is_shown_all_worlds_again() {
    let tap = Tap::default();
    ["a", "b"].iter().for_each(|room| tap.add_room(&run(room)));
    let listener = tap.subscribe_with_world(None, 4 * ITEM);
    ["a", "b"].iter().for_each(|room| tick_of(&tap, room, 1));
    listener.receive(SOON);
    listener.request_worlds();
    (2..9).for_each(|tick| tick_of(&tap, "a", tick));
    let taken = listener.receive(SOON);
    assert_eq!(words(&taken), ["world at 2", "tick 2 4", "tick 3 6", "tick 4 8"]);
    assert_eq!((&taken.parts[..], taken.lost.missed.messages), (&[0][..], 4));
    ["a", "b"].iter().for_each(|room| tick_of(&tap, room, 9));
    let taken = listener.receive(SOON);
    assert_eq!(words(&taken), ["world at 9", "tick 9 18", "world at 9", "tick 9 18"]);
    assert_eq!(taken.parts, [0], "both worlds are in one part, after the loss");
}

#[test]
fn traffic_over_the_bound_is_counted_after_the_accepted_traffic() {
    let tap = Tap::default();
    let listener = tap.subscribe(None, 3 * ITEM + 100);
    open(&tap, 1);
    hear(&tap, 1, b"fits");
    tap.record_sent(who(1), &[b'x'; 200]);
    tap.record_sent(who(1), b"would fit");
    hear(&tap, 1, b"so would this");
    let taken = listener.receive(SOON);
    assert_eq!(words(&taken), ["opened 1", "1>fits"]);
    let missed = SkippedTraffic { messages: 3, bytes: 222, since_tick: 9 };
    let connections = BTreeMap::from([(1, [13, 209])]);
    assert_eq!(taken.lost, LostEvents { missed, connections, ..LostEvents::default() });
    say(&tap, 1, b"end", false, b"");
    tap.record_sent(who(1), b"server");
    takes(&listener, &["1<server"]);
    hear(&tap, 1, b"new");
    tap.record_sent(who(1), b"again");
    takes(&listener, &["1 missed 3", "1>new", "1<again"]);
}

#[test]
fn a_listener_that_loses_part_of_a_message_misses_the_rest_and_nothing_of_others() {
    let tap = Tap::default();
    tap.add_room(&run(""));
    let listener = tap.subscribe_with_world(None, 8 * ITEM);
    (1..3).for_each(|client| open(&tap, client));
    tick(&tap, 1);
    say(&tap, 1, b"be", true, b"");
    say(&tap, 1, &[7; 2_000], false, b"");
    assert_eq!(listener.receive(SOON).lost.connections, BTreeMap::from([(1, [2_000, 0])]));
    for number in 2..5_u32 {
        say(&tap, 1, b"more", false, b"");
        hear(&tap, 2, b"hi");
        tick(&tap, number);
        takes(&listener, &["2>hi", &format!("tick {number} {}", number * 2)]);
    }
    tap.record_close(who(1), "gone");
    let taken = listener.receive(SOON);
    assert_eq!(
        taken.items[0].kind,
        EventKind::Skipped(SkippedTraffic { messages: 3, bytes: 12, since_tick: 9 })
    );
    assert_eq!(words(&taken), ["1 missed 12", "ended 1 gone"]);
}

#[test]
fn a_listener_that_does_not_drain_blocks_no_thread_and_keeps_at_most_its_bound() {
    let tap = Tap::default();
    tap.add_room(&run(""));
    let (idle, busy) = (tap.subscribe_with_world(None, 10_000), tap.subscribe(None, PLENTY));
    open(&tap, 1);
    tick(&tap, 1);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..500).for_each(|_| tap.record_sent(who(1), &[7; 100])));
        }
    });
    tick(&tap, 2);
    idle.request_worlds();
    tick(&tap, 3);
    assert_eq!(busy.receive(SOON).items.len(), 2_001);
    let taken = idle.receive(SOON);
    let said = taken.items.iter().filter(|seen| matches!(seen.kind, EventKind::Bytes { .. })).count();
    assert!(said > 30 && said * (100 + ITEM) <= 10_000, "{said}");
    let all = taken.items.len() as u64 + taken.lost.missed.messages;
    assert_eq!(all, 2_001 + 2 + 2, "all is there or counted");
    tick(&tap, 4);
    takes(&idle, &["world at 4", "tick 4 8"]);
}

#[test]
fn the_end_is_found_behind_what_waits() {
    let tap = Tap::default();
    let (listener, closed) = (tap.subscribe(None, PLENTY), tap.subscribe(None, PLENTY));
    open(&tap, 1);
    closed.close();
    tap.end();
    let taken = listener.receive(SOON);
    assert!(taken.is_closed && taken.items.len() == 1 && !tap.is_on());
    assert!(closed.receive(Duration::from_secs(60)).is_closed);
    assert!(
        tap.subscribe(None, PLENTY).receive(Duration::from_secs(60)).is_closed,
        "a listener that joins after the end"
    );
}

/// The head of a request as a listener sees it.
fn covered(head: &str) -> String {
    let tap = Tap::default();
    open_with(&tap, who(1), "", head.as_bytes());
    let taken = tap.subscribe(None, PLENTY).receive(SOON);
    let EventKind::Opened { request, .. } = &taken.items[0].kind else { panic!("{:?}", taken.items) };
    String::from_utf8(request.clone()).expect("text")
}

#[test]
fn secrets_of_a_request_are_overwritten_at_equal_length_and_nothing_else_is() {
    let kept = "User-Agent: b\r\nOrigin: http://a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\
                Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\
                Sec-WebSocket-Extensions: permessage-deflate\r\nCache-Control: no-cache\r\nX-Forwarded-For: 203.0.113.9\r\n\
                Accept-Language: de\r\nAccept-Encoding: gzip\r\nPragma: no-cache";
    let of_target = [
        ("/play?format=json&token=a%20b?c&x=token", "/play?format=json&token=xxxxxxx&x=token"),
        ("/?key=1&auth=2&jwt=3&password=4&apiKey=5", "/?key=x&auth=x&jwt=x&password=x&apiKey=x"),
        ("/?client_secret=6&dialect=native", "/?client_secret=x&dialect=native"),
        // A secret behind a semicolon reaches to the next ampersand.
        ("/?a=b;token=c;d&e=f", "/?a=b;token=xxx&e=f"),
        ("/?token=c;d=e", "/?token=xxxxx"),
        // So is one behind a second question mark.
        ("/play?a=1?token=abc?d&e=f", "/play?a=1?token=xxxxx&e=f"),
        ("/?%74oken=abc", "/?%74oken=xxx"),
        ("/?access_Token=abc&token", "/?access_Token=xxx&token"),
        // A path is no query.
        ("/token=abc", "/token=abc"),
    ];
    let of_headers = [
        (kept, kept),
        ("authorization: Bearer sesame open", "authorization: xxxxxx xxxxxx xxxx"),
        ("Cookie:a=b; c=d\r\nX-Note: Cookie: a", "Cookie:xxxx xxx\r\nX-Note: Cookie: a"),
        (
            "X-Forwarded-Access: Bearer abc\r\nX-Note: bearer",
            "X-Forwarded-Access: xxxxxx xxx\r\nX-Note: bearer",
        ),
        // Proxies repeat the target in headers.
        (
            "X-Original-URI: /play?a=b&token=abc\r\nX-Note: why? a=b",
            "X-Original-URI: /play?a=b&token=xxx\r\nX-Note: why? a=b",
        ),
        // It only begins like a header of the handshake.
        ("Sec-WebSocket-Token: abc", "Sec-WebSocket-Token: xxx"),
        (
            "Sec-WebSocket-Protocol: tickwire.v1, bearer.YS10b2tlbg ,bearer\r\nsec-websocket-protocol:Bearer.Yg,\tbearer.",
            "Sec-WebSocket-Protocol: tickwire.v1, bearer.xxxxxxxxxx ,bearer\r\nsec-websocket-protocol:Bearer.xx,\tbearer.",
        ),
        ("X-Note: bearer.abc", "X-Note: bearer.abc"),
    ];
    for (given, expected) in of_target {
        assert_eq!(
            covered(&format!("GET {given} HTTP/1.1\r\nHost: a\r\n\r\n")),
            format!("GET {expected} HTTP/1.1\r\nHost: a\r\n\r\n")
        );
    }
    for (given, expected) in of_headers {
        assert_eq!(
            covered(&format!("GET / HTTP/1.1\r\n{given}\r\n\r\n")),
            format!("GET / HTTP/1.1\r\n{expected}\r\n\r\n")
        );
    }
    for name in "X-Api-Key x-auth-token Cf-Access-Jwt-Assertion X-CSRF-TOKEN Proxy-Authorization X-Amz-Signature X-Session-Id \
                 My-Password X-Credentials Referer"
        .split(' ')
    {
        assert_eq!(covered(&format!("GET / HTTP/1.1\r\n{name}: a b\r\n")), format!("GET / HTTP/1.1\r\n{name}: x x\r\n"));
    }
}
