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
    let mut session = Session::new(native, START);
    session.joined(PlayerId(5));
    session
}

#[test]
fn hello_comes_first() {
    let mut session = Session::new(true, START);
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
    let breach = Session::new(true, START).handle(packet, START, 0, &mut Vec::new());
    assert_eq!(breach, Err(Breach::HelloVersion));
}

#[test]
fn one_who_watches_moves_nothing() {
    let mut session = Session::new(true, START);
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
    let mut session = Session::new(false, START);
    let enter = ClientPacket::EnterGame { name: Some("Ä".repeat(20)), skin: None, moofoll: false };
    assert_eq!(handled(&mut session, enter), [Output::Join { name: "Ä".repeat(15), skin: 0, gift: false }]);
    let enter = ClientPacket::EnterGame { name: Some("  ".into()), skin: Some(200), moofoll: false };
    assert_eq!(handled(&mut session, enter), [Output::Join { name: "unknown".into(), skin: 0, gift: false }]);
}

#[test]
fn budgets_allow_a_burst_then_the_rate() {
    let mut session = Session::new(true, START);
    for _ in 0..limits::CLIENT_MESSAGES_BURST {
        session.spend_message(START).unwrap();
    }
    assert_eq!(session.spend_message(START), Err(Breach::MessageRate));
    let later = START + Duration::from_secs(1);
    for _ in 0..limits::CLIENT_MESSAGES_PER_SECOND {
        session.spend_message(later).unwrap();
    }
    assert_eq!(session.spend_message(later), Err(Breach::MessageRate));
}

#[test]
fn bytes_have_a_budget_of_their_own() {
    let mut session = Session::new(true, START);
    let reads = limits::CLIENT_BYTES_BURST as usize / 4096;
    (0..reads).for_each(|_| session.spend_bytes(4096, START).unwrap());
    assert_eq!(session.spend_bytes(1, START), Err(Breach::ByteRate));
}

#[test]
fn who_spends_half_of_a_budget_is_warned_once_until_it_was_full_again() {
    let (half, full) = (limits::CLIENT_MESSAGES_BURST / 2, Duration::from_secs(10));
    let mut session = Session::new(false, START);
    (0..half).for_each(|_| session.spend_message(START).unwrap());
    assert_eq!(session.take_warning(), None);
    session.spend_message(START).unwrap();
    assert_eq!(session.take_warning(), Some(Breach::MessageRate));
    (0..half - 1).for_each(|_| session.spend_message(START).unwrap());
    assert_eq!(session.take_warning(), None, "it knows");
    assert_eq!(session.spend_message(START), Err(Breach::MessageRate));
    (0..=half).for_each(|_| session.spend_message(START + full).unwrap());
    assert_eq!(session.take_warning(), Some(Breach::MessageRate));
    session.spend_bytes(limits::CLIENT_BYTES_BURST as usize / 2 + 1, START + full).unwrap();
    assert_eq!([session.take_warning(), session.take_warning()], [Some(Breach::ByteRate), None]);
    let mut greeting = Session::new(true, START);
    greeting.spend_bytes(limits::CLIENT_BYTES_BURST as usize, START).unwrap();
    assert_eq!(greeting.take_warning(), None, "nothing is said before its hello");
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
fn who_attacks_by_itself_goes_on_when_a_button_is_let_go() {
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

#[test]
fn a_session_that_was_saved_goes_on_as_it_would_have() {
    let chat = || ClientPacket::Chat { sequence: None, tick: None, text: "hello".into() };
    let mut fresh = Session::new(true, START);
    let mut played = playing(false);
    for packet in
        [step(None), chat(), ClientPacket::ToggleAttack, ClientPacket::MapPing { sequence: None, tick: None }]
    {
        handled(&mut played, packet);
    }
    (0..100).for_each(|_| played.spend_message(START).expect("within the budget"));
    fresh.spend_bytes(1_000, START).expect("within the budget");
    let (later, elsewhere) = (START + Duration::from_millis(300), Duration::from_secs(1_000_000));
    for session in [&mut fresh, &mut played] {
        let saved = session.save(later);
        let mut restored = Session::restore(&saved, elsewhere).expect("what was saved");
        assert_eq!(restored.save(elsewhere), saved);
        assert_eq!(restored.sequence(), session.sequence());
        for (after_ms, packet) in [(0, hello(Mode::Watch)), (100, chat()), (250, chat()), (300, step(None))] {
            let after = Duration::from_millis(after_ms);
            let (mut expected, mut outputs) = (Vec::new(), Vec::new());
            assert_eq!(
                session.handle(packet.clone(), later + after, 7, &mut expected),
                restored.handle(packet, elsewhere + after, 7, &mut outputs)
            );
            assert_eq!(outputs, expected);
            let spent = session.spend_message(later + after);
            assert_eq!(spent, restored.spend_message(elsewhere + after));
        }
        assert_eq!(session.save(later), restored.save(elsewhere));
        for end in 0..saved.len() {
            assert!(Session::restore(&saved[..end], elsewhere).is_none());
        }
        assert!(Session::restore(&[&saved[..], &[0]].concat(), elsewhere).is_none());
        assert!(Session::restore(&[&[3], &saved[1..]].concat(), elsewhere).is_none());
    }
}
