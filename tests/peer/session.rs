//! A session, row by row: the outputs for each packet in each state; and a saved session.

use std::time::Duration;

use tickwire::game::{CloseReason, Game as _, JoinRequest, SavedReader, SharedRateLimit};
use tickwire::internal::connection::session::{Session, SessionOutput};
use tickwire::internal::games::moo::Moo;
use tickwire::internal::games::moo::client_packet::{ClanAction, ClientPacket, Mode};
use tickwire::internal::games::moo::packet_handler::JoinData;
use tickwire::internal::games::moo::world::{Action, PlayerId};
use tickwire::internal::limits;
use tickwire::packet::{DecodedPacket, Dialect, Direction, PacketTables, Value};

const START: Duration = Duration::from_secs(100);

fn hello(version: u16, mode: Mode) -> ClientPacket<'static> {
    ClientPacket::Hello { version, mode, name: Some("Ada".into()), skin: Some(3) }
}

fn step(sequence: Option<u32>) -> ClientPacket<'static> {
    ClientPacket::Move { sequence, tick: None, direction: Some(0) }
}

fn chat(text: &str) -> ClientPacket<'static> {
    ClientPacket::Chat { sequence: None, tick: None, text: text.into() }
}

fn leave_clan() -> ClientPacket<'static> {
    ClientPacket::Clan { sequence: None, tick: None, action: ClanAction::Leave }
}

fn map_ping() -> ClientPacket<'static> {
    ClientPacket::MapPing { sequence: None, tick: None }
}

fn dialect(native: bool) -> &'static Dialect {
    let name = if native { "native" } else { "legacy" };
    PacketTables::builtin_ref().dialects().find(|dialect| dialect.name() == name).expect("built in")
}

/// A packet as it arrives: in our own dialect, or in a foreign one if it has no place in ours.
fn arrived(packet: &ClientPacket<'_>) -> DecodedPacket<'static> {
    let encoded = [true, false].map(|native| (dialect(native), packet.encode(dialect(native))));
    let (dialect, message) = encoded.into_iter().find(|(_, message)| !message.is_empty()).expect("a place");
    let decoded = dialect.decode(Direction::ToServer, &message).expect("our own message");
    assert_eq!(ClientPacket::from_decoded(&decoded), *packet, "nothing is lost on the way");
    decoded
}

fn handled_at(now: Duration, session: &mut Session, packet: &DecodedPacket<'_>) -> Vec<SessionOutput> {
    let mut outputs = Vec::new();
    session.handle(packet, now, Duration::ZERO, &mut outputs).expect("no breach");
    outputs
}

fn handled(session: &mut Session, packet: &ClientPacket<'_>) -> Vec<SessionOutput> {
    handled_at(START, session, &arrived(packet))
}

fn joins(name: &str, skin: u8) -> SessionOutput {
    SessionOutput::Join(JoinRequest::new(name, JoinData { skin, gift: false }.encoded()), None)
}

fn new(native: bool) -> Session {
    Session::new(Moo::INFO, dialect(native))
}

fn playing(native: bool) -> Session {
    let mut session = new(native);
    session.set_player(PlayerId(5));
    session
}

/// What the clients of an address share budgets for: chat, map pings, commands of clans.
pub fn shared() -> [&'static SharedRateLimit; 3] {
    [chat("hello"), map_ping(), leave_clan()].map(|packet| match handled(&mut playing(false), &packet)[..] {
        [SessionOutput::Command(_, None, Some(shared))] => shared,
        ref outputs => panic!("{outputs:?}"),
    })
}

#[test]
fn a_native_client_sends_hello_in_our_version_first_and_then_watches_or_joins() {
    for (packet, breach) in
        [(step(Some(1)), CloseReason::HelloFirst), (hello(2, Mode::Play), CloseReason::HelloVersion)]
    {
        assert_eq!(new(true).handle(&arrived(&packet), START, Duration::ZERO, &mut Vec::new()), Err(breach));
    }
    let mut session = new(true);
    assert_eq!(
        handled(&mut session, &hello(1, Mode::Play)),
        [SessionOutput::Welcome { lockstep: false }, joins("Ada", 3)]
    );
    assert!(!session.awaits_hello());
    assert_eq!(handled(&mut session, &hello(1, Mode::Play)), [SessionOutput::Error("hello_again", None)]);
    let mut session = new(true);
    assert_eq!(
        handled(&mut session, &hello(1, Mode::Spectate)),
        [SessionOutput::Welcome { lockstep: false }]
    );
    assert_eq!(handled(&mut session, &step(Some(1))), [SessionOutput::Error("not_playing", None)]);
}

#[test]
fn a_sequence_must_increase_and_is_counted_for_dialects_without_one() {
    let mut session = playing(true);
    assert!(matches!(handled(&mut session, &step(Some(4)))[..], [SessionOutput::Command(..)]));
    for repeated in [4, 3] {
        let outputs = handled(&mut session, &step(Some(repeated)));
        let [SessionOutput::CommandRejected(sequence, "repeated", Some(_))] = outputs[..] else {
            panic!("{outputs:?}")
        };
        assert_eq!(sequence, u64::from(repeated), "the one that is answered");
    }
    let mut session = playing(false);
    for expected in 1..4 {
        let outputs = handled(&mut session, &step(None));
        let SessionOutput::Command(command, None, None) = &outputs[0] else { panic!("{outputs:?}") };
        assert_eq!((command.sequence, command.player), (expected, PlayerId(5)));
    }
}

#[test]
fn the_number_of_a_rejected_command_is_not_used_again() {
    let mut session = playing(true);
    let chat = |sequence| ClientPacket::Chat { sequence, tick: None, text: "hi".into() };
    assert!(matches!(handled(&mut session, &chat(Some(4)))[..], [SessionOutput::Command(..)]));
    for (packet, rule) in [(chat(Some(5)), "chat_too_soon"), (step(Some(5)), "repeated")] {
        let outputs = handled(&mut session, &packet);
        assert!(
            matches!(outputs[..], [SessionOutput::CommandRejected(5, is, _)] if is == rule),
            "{outputs:?}"
        );
    }
    let outputs = handled(&mut session, &step(None));
    let SessionOutput::Command(command, ..) = &outputs[0] else { panic!("{outputs:?}") };
    assert_eq!(command.sequence, 6);
}

#[test]
fn names_are_cut_at_a_character_and_never_empty_and_chat_is_cleaned() {
    for (name, skin, expected) in [
        ("Ä".repeat(20), None::<u8>, joins(&"Ä".repeat(15), 0)),
        ("  ".into(), Some(200), joins("unknown", 0)),
    ] {
        // As no decoder leaves it: the name is as long as it was typed.
        let row = dialect(false).row(Direction::ToServer, "enter_game").expect("a row");
        let skin = skin.map_or(Value::Nil, Value::from);
        let pairs = [("name", Value::from(name)), ("moofoll", Value::from(false)), ("skin", skin)];
        let pairs = pairs.map(|(key, value)| (Value::from(key), value));
        let enter = DecodedPacket { row, values: vec![Value::Map(pairs.into())] };
        assert_eq!(handled_at(START, &mut new(false), &enter), [expected]);
    }
    let outputs = handled(&mut playing(false), &chat(" \u{202e}hi\n\u{7}there "));
    let SessionOutput::Command(command, ..) = &outputs[0] else { panic!("{outputs:?}") };
    assert_eq!(command.action.decoded(), Some(Action::Chat { text: "hithere".into() }));
    let outputs = handled(&mut playing(false), &chat(" \n "));
    assert!(matches!(outputs[..], [SessionOutput::Error("chat_empty", Some(_))]), "{outputs:?}");
}

#[test]
fn chat_pings_and_clan_requests_have_an_interval_each() {
    let mut session = playing(false);
    for (packet, interval, rule) in [
        (chat("hello"), limits::CHAT_INTERVAL, "chat_too_soon"),
        (map_ping(), limits::MAP_PING_INTERVAL, "map_ping_too_soon"),
        (leave_clan(), limits::CLAN_INTERVAL, "clan_too_soon"),
    ] {
        let packet = arrived(&packet);
        assert!(
            matches!(handled_at(START, &mut session, &packet)[..], [SessionOutput::Command(..)]),
            "{rule}"
        );
        let early = START + interval - Duration::from_nanos(1);
        let outputs = handled_at(early, &mut session, &packet);
        assert!(matches!(outputs[..], [SessionOutput::Error(refused, Some(_))] if refused == rule));
        let outputs = handled_at(START + interval, &mut session, &packet);
        assert!(matches!(outputs[..], [SessionOutput::Command(..)]), "{rule}: {outputs:?}");
    }
}

#[test]
fn packets_that_waited_during_a_pause_keep_their_intervals_within_it() {
    for (packet, interval, rule) in [
        (chat("hello"), limits::CHAT_INTERVAL, "chat_too_soon"),
        (map_ping(), limits::MAP_PING_INTERVAL, "map_ping_too_soon"),
        (leave_clan(), limits::CLAN_INTERVAL, "clan_too_soon"),
    ] {
        let (packet, pause, mut session) = (arrived(&packet), Duration::from_secs(5), playing(false));
        let mut is_allowed = |now, slack| {
            let mut outputs = Vec::new();
            session.handle(&packet, now, slack, &mut outputs).expect("no breach");
            matches!(outputs[..], [SessionOutput::Command(..)])
        };
        assert!(is_allowed(START, Duration::ZERO));
        let end = START + pause;
        let in_pause = pause.div_duration_f64(interval) as usize;
        let allowed = (0..100).filter(|_| is_allowed(end, pause)).count();
        assert_eq!(allowed, in_pause, "{rule}");
        let next = end + interval;
        assert!(!is_allowed(next - Duration::from_nanos(1), pause), "{rule}: the pause is spent");
        assert!(is_allowed(next, pause), "{rule}");
        // What the client left unused while the server ran is not saved for later.
        let later = next + pause;
        assert!(is_allowed(later, Duration::ZERO) && !is_allowed(later, Duration::ZERO), "{rule}");
        // The clock of a suspended machine stands still.
        let mut session = playing(false);
        let mut is_allowed = |now, slack| {
            let mut outputs = Vec::new();
            session.handle(&packet, now, slack, &mut outputs).expect("no breach");
            matches!(outputs[..], [SessionOutput::Command(..)])
        };
        assert!(is_allowed(START, Duration::ZERO));
        let resumed = START + Duration::from_millis(1);
        assert_eq!((0..100).filter(|_| is_allowed(resumed, pause)).count(), in_pause, "{rule}: suspended");
    }
}

#[test]
fn automatic_attack_continues_when_the_button_is_released() {
    let mut session = playing(false);
    let release = ClientPacket::Attack { sequence: None, tick: None, state: false, heading: None };
    for (packet, expected) in [
        (ClientPacket::ToggleAttack, true),
        (release.clone(), true),
        (ClientPacket::ToggleAttack, false),
        (release, false),
    ] {
        let outputs = handled(&mut session, &packet);
        let [SessionOutput::Command(command, None, None)] = &outputs[..] else { panic!("{outputs:?}") };
        assert_eq!(command.action.decoded(), Some(Action::Attack { on: expected }));
    }
}

fn save(session: &Session, now: Duration) -> Vec<u8> {
    let mut out = Vec::new();
    session.save(now, &mut out);
    out
}

#[test]
fn a_restored_session_continues_unchanged() {
    let mut fresh = new(true);
    let mut played = playing(false);
    for packet in [step(None), chat("hello"), ClientPacket::ToggleAttack, map_ping()] {
        handled(&mut played, &packet);
    }
    let (later, elsewhere) = (START + Duration::from_millis(300), Duration::from_secs(1_000_000));
    for (session, native) in [(&mut fresh, true), (&mut played, false)] {
        let saved = save(session, later);
        let restore = |saved: &[u8]| new(native).restore(&mut SavedReader::new(saved, elsewhere));
        let mut restored = restore(&saved).expect("what was saved");
        assert_eq!(save(&restored, elsewhere), saved);
        assert_eq!(restored.sequence(), session.sequence());
        assert_eq!(Session::peek_saved(&saved), Some((session.awaits_hello(), session.sequence())));
        let packets = [hello(1, Mode::Spectate), chat("hello"), chat("hello"), ClientPacket::ToggleAttack];
        for (after, packet) in [0, 100, 250, 300].map(Duration::from_millis).into_iter().zip(packets) {
            let (packet, mut expected, mut outputs) = (arrived(&packet), Vec::new(), Vec::new());
            assert_eq!(
                session.handle(&packet, later + after, Duration::ZERO, &mut expected),
                restored.handle(&packet, elsewhere + after, Duration::ZERO, &mut outputs)
            );
            assert_eq!(outputs, expected);
        }
        assert_eq!(save(session, later), save(&restored, elsewhere));
        for end in 0..saved.len() {
            assert!(restore(&saved[..end]).is_none());
        }
        assert!(restore(&[&[4], &saved[1..]].concat()).is_none());
    }
}
