//! A session, row by row: the outputs for each packet in each state; and a saved session.

use std::time::Duration;

use tickwire::limits;
use tickwire::packet::ClientPacket;
use tickwire::packet::client_packet::{ClanAction, Mode};
use tickwire::session::{Breach, Output, Profile, Saved, Session};
use tickwire::world::{Action, Command, PlayerId};

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

fn handled_at(now: Duration, session: &mut Session, packet: ClientPacket<'_>) -> Vec<Output> {
    let mut outputs = Vec::new();
    session.handle(packet, now, 7, &mut outputs).expect("no breach");
    outputs
}

fn handled(session: &mut Session, packet: ClientPacket<'_>) -> Vec<Output> {
    handled_at(START, session, packet)
}

fn joins(name: &str, skin: u8) -> Output {
    Output::Join(Profile { name: name.into(), skin, gift: false })
}

fn playing(native: bool) -> Session {
    let mut session = Session::new(native);
    session.joined(PlayerId(5));
    session
}

#[test]
fn a_native_client_sends_hello_in_our_version_first_and_then_watches_or_joins() {
    for (packet, breach) in
        [(step(Some(1)), Breach::HelloFirst), (hello(2, Mode::Play), Breach::HelloVersion)]
    {
        assert_eq!(Session::new(true).handle(packet, START, 0, &mut Vec::new()), Err(breach));
    }
    let mut session = Session::new(true);
    assert_eq!(handled(&mut session, hello(1, Mode::Play)), [Output::Welcome, joins("Ada", 3)]);
    assert!(!session.awaits_hello());
    assert_eq!(handled(&mut session, hello(1, Mode::Play)), [Output::Dropped("hello_again")]);
    let mut session = Session::new(true);
    assert_eq!(handled(&mut session, hello(1, Mode::Watch)), [Output::Welcome]);
    assert_eq!(handled(&mut session, step(Some(1))), [Output::Dropped("not_playing")]);
}

#[test]
fn a_sequence_must_increase_and_is_counted_for_dialects_without_one() {
    let mut session = playing(true);
    assert!(matches!(handled(&mut session, step(Some(4)))[..], [Output::Command(..)]));
    assert_eq!(handled(&mut session, step(Some(4)))[0], Output::Dropped("repeated"));
    let mut session = playing(false);
    for expected in 1..4 {
        let outputs = handled(&mut session, step(None));
        let Output::Command(command, None) = &outputs[0] else { panic!("{outputs:?}") };
        assert_eq!((command.sequence, command.player), (expected, PlayerId(5)));
    }
}

#[test]
fn names_are_cut_at_a_character_and_never_empty_and_chat_is_cleaned() {
    for (name, skin, expected) in
        [("Ä".repeat(20), None, joins(&"Ä".repeat(15), 0)), ("  ".into(), Some(200), joins("unknown", 0))]
    {
        let enter = ClientPacket::EnterGame { name: Some(name), skin, moofoll: false };
        assert_eq!(handled(&mut Session::new(false), enter), [expected]);
    }
    let outputs = handled(&mut playing(false), chat(" \u{202e}hi\n\u{7}there "));
    let Output::Command(command, _) = &outputs[0] else { panic!("{outputs:?}") };
    assert_eq!(command.action, Action::Chat { text: "hithere".into() });
    assert_eq!(handled(&mut playing(false), chat(" \n "))[0], Output::Dropped("chat_empty"));
}

#[test]
fn chat_pings_and_clan_requests_have_an_interval_each() {
    let mut session = playing(false);
    let map_ping = ClientPacket::MapPing { sequence: None, tick: None };
    for (packet, interval, rule) in [
        (chat("hello"), limits::CHAT_INTERVAL, "chat_too_soon"),
        (map_ping, limits::MAP_PING_INTERVAL, "map_ping_too_soon"),
        (leave_clan(), limits::CLAN_INTERVAL, "clan_too_soon"),
    ] {
        assert!(matches!(handled(&mut session, packet.clone())[..], [Output::Command(..)]), "{rule}");
        let early = START + interval - Duration::from_nanos(1);
        let outputs = handled_at(early, &mut session, packet.clone());
        assert!(matches!(outputs[..], [Output::Dropped(dropped), Output::Reply(_)] if dropped == rule));
        let outputs = handled_at(START + interval, &mut session, packet);
        assert!(matches!(outputs[..], [Output::Command(..)]), "{rule}: {outputs:?}");
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
        let outputs = handled(&mut session, packet);
        let [Output::Command(Command { action: Action::Attack { on }, .. }, None)] = outputs[..] else {
            panic!("{outputs:?}")
        };
        assert_eq!(on, expected);
    }
}

fn save(session: &Session, now: Duration) -> Vec<u8> {
    let mut out = Vec::new();
    session.save(now, &mut out);
    out
}

#[test]
fn a_restored_session_continues_unchanged() {
    let mut fresh = Session::new(true);
    let mut played = playing(false);
    let map_ping = ClientPacket::MapPing { sequence: None, tick: None };
    for packet in [step(None), chat("hello"), ClientPacket::ToggleAttack, map_ping] {
        handled(&mut played, packet);
    }
    let (later, elsewhere) = (START + Duration::from_millis(300), Duration::from_secs(1_000_000));
    for session in [&mut fresh, &mut played] {
        let saved = save(session, later);
        let mut restored = Session::restore(&mut Saved::new(&saved, elsewhere)).expect("what was saved");
        assert_eq!(save(&restored, elsewhere), saved);
        assert_eq!(restored.sequence(), session.sequence());
        let packets = [hello(1, Mode::Watch), chat("hello"), chat("hello"), ClientPacket::ToggleAttack];
        for (after, packet) in [0, 100, 250, 300].map(Duration::from_millis).into_iter().zip(packets) {
            let (mut expected, mut outputs) = (Vec::new(), Vec::new());
            assert_eq!(
                session.handle(packet.clone(), later + after, 7, &mut expected),
                restored.handle(packet, elsewhere + after, 7, &mut outputs)
            );
            assert_eq!(outputs, expected);
        }
        assert_eq!(save(session, later), save(&restored, elsewhere));
        for end in 0..saved.len() {
            assert!(Session::restore(&mut Saved::new(&saved[..end], elsewhere)).is_none());
        }
        assert!(Session::restore(&mut Saved::new(&[&[3], &saved[1..]].concat(), elsewhere)).is_none());
    }
}
