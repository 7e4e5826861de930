//! Conversations row by row: the outputs of each packet in each state.

use super::*;

const START: Duration = Duration::from_secs(100);

fn hello(mode: Mode) -> ClientPacket<'static> {
    ClientPacket::Hello { version: 1, mode, name: Some("Ada".into()), skin: Some(3) }
}

fn step(sequence: Option<u32>) -> ClientPacket<'static> {
    ClientPacket::Move { sequence, tick: None, direction: Some(0) }
}

fn handled(session: &mut Session, packet: ClientPacket<'_>) -> Vec<Output> {
    let mut outputs = Vec::new();
    session.handle(packet, START, 7, &mut outputs).expect("no breach");
    outputs
}

fn playing(native: bool) -> Session {
    let mut session = Session::new(native);
    session.joined(PlayerId(5));
    session
}

#[test]
fn hello_comes_first() {
    let mut session = Session::new(true);
    let breach = session.handle(step(Some(1)), START, 0, &mut Vec::new());
    assert_eq!(breach, Err(Breach::HelloFirst));
    let join = Output::Join { name: "Ada".into(), skin: 3, gift: false };
    assert_eq!(handled(&mut session, hello(Mode::Play)), [Output::Welcome, join]);
    assert!(!session.awaits_hello());
    assert_eq!(handled(&mut session, hello(Mode::Play)), [Output::Dropped("hello_again")]);
}

#[test]
fn an_unknown_version_is_refused() {
    let packet = ClientPacket::Hello { version: 2, mode: Mode::Play, name: None, skin: None };
    let breach = Session::new(true).handle(packet, START, 0, &mut Vec::new());
    assert_eq!(breach, Err(Breach::HelloVersion));
}

#[test]
fn a_watching_client_cannot_move() {
    let mut session = Session::new(true);
    handled(&mut session, hello(Mode::Watch));
    assert_eq!(handled(&mut session, step(Some(1))), [Output::Dropped("not_playing")]);
}

#[test]
fn a_sequence_must_rise_and_is_counted_where_there_is_none() {
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
fn chat_is_cleaned_and_paced() {
    let mut session = playing(false);
    let chat = |text: &str| ClientPacket::Chat { sequence: None, tick: None, text: text.into() };
    let outputs = handled(&mut session, chat(" \u{202e}hi\n\u{7}there "));
    let Output::Command(command, _) = &outputs[0] else { panic!("{outputs:?}") };
    assert_eq!(command.action, Action::Chat { text: "hithere".into() });
    assert_eq!(handled(&mut session, chat("again"))[0], Output::Dropped("chat_too_soon"));
    assert_eq!(handled(&mut session, chat(" \n "))[0], Output::Dropped("chat_empty"));
}

#[test]
fn names_are_cut_at_a_character_and_never_empty() {
    let mut session = Session::new(false);
    let enter = ClientPacket::EnterGame { name: Some("Ä".repeat(20)), skin: None, moofoll: false };
    assert_eq!(handled(&mut session, enter), [Output::Join { name: "Ä".repeat(15), skin: 0, gift: false }]);
    let enter = ClientPacket::EnterGame { name: Some("  ".into()), skin: Some(200), moofoll: false };
    assert_eq!(handled(&mut session, enter), [Output::Join { name: "unknown".into(), skin: 0, gift: false }]);
}

#[test]
fn every_breach_has_a_name_and_a_code_that_may_be_sent() {
    for breach in Breach::ALL {
        assert!(breach.name().chars().all(|c| c.is_ascii_lowercase() || c == '_'));
        assert!(
            (1000..1016).contains(&breach.close_code()) && ![1005, 1006, 1015].contains(&breach.close_code())
        );
    }
}

#[test]
fn wishes_about_clans_are_paced() {
    let mut session = playing(true);
    let leave = |sequence| ClientPacket::Clan { sequence: Some(sequence), tick: None, wish: ClanWish::Leave };
    assert!(matches!(handled(&mut session, leave(1))[..], [Output::Command(..)]));
    assert_eq!(handled(&mut session, leave(2))[0], Output::Dropped("clan_too_soon"));
    let mut outputs = Vec::new();
    session.handle(leave(3), START + limits::CLAN_INTERVAL, 7, &mut outputs).expect("no breach");
    assert!(matches!(outputs[..], [Output::Command(..)]));
}

#[test]
fn automatic_attack_continues_when_the_button_is_released() {
    let mut session = playing(false);
    let on = |outputs: &[Output]| match outputs {
        [Output::Command(Command { action: Action::Attack { on }, .. }, None)] => *on,
        _ => panic!("{outputs:?}"),
    };
    assert!(on(&handled(&mut session, ClientPacket::ToggleAttack)));
    let let_go = ClientPacket::Attack { sequence: None, tick: None, state: false, heading: None };
    assert!(on(&handled(&mut session, let_go.clone())));
    assert!(!on(&handled(&mut session, ClientPacket::ToggleAttack)));
    assert!(!on(&handled(&mut session, let_go)));
}

fn save(session: &Session, now: Duration) -> Vec<u8> {
    let mut out = Vec::new();
    session.save(now, &mut out);
    out
}

#[test]
fn a_session_that_was_saved_goes_on_as_it_would_have() {
    let chat = || ClientPacket::Chat { sequence: None, tick: None, text: "hello".into() };
    let mut fresh = Session::new(true);
    let mut played = playing(false);
    for packet in
        [step(None), chat(), ClientPacket::ToggleAttack, ClientPacket::MapPing { sequence: None, tick: None }]
    {
        handled(&mut played, packet);
    }
    let (later, elsewhere) = (START + Duration::from_millis(300), Duration::from_secs(1_000_000));
    for session in [&mut fresh, &mut played] {
        let saved = save(session, later);
        let mut restored = Session::restore(&mut Saved::new(&saved, elsewhere)).expect("what was saved");
        assert_eq!(save(&restored, elsewhere), saved);
        assert_eq!(restored.sequence(), session.sequence());
        for (after_ms, packet) in [(0, hello(Mode::Watch)), (100, chat()), (250, chat()), (300, step(None))] {
            let after = Duration::from_millis(after_ms);
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
