//! The effect of each command, each reason for a rejection, and arbitrary commands, which must not
//! stop the tick.

use proptest::prelude::*;

use crate::command::{Action, Command, Rejection, Selection, Spawned, ACTION_KINDS};
use crate::entity::PlayerId;
use crate::event::WorldEvent;
use crate::fixed::{Angle, Fixed};
use crate::rules::{AnimalKind, Resource, TickHz};
use crate::tests::{
    act, bare_world, body, body_mut, command, join, player, player_mut, put, unprotect, without_animals,
    world,
};
use crate::world::World;

fn chat(text: &str) -> Action {
    Action::Chat { text: text.to_string() }
}

fn named(player: u16, name: &str) -> Action {
    Action::Join { player: PlayerId(player), name: name.to_string(), skin: 1 }
}

fn leave(player: u16) -> Action {
    Action::Leave { player: PlayerId(player) }
}

fn respawn(name: &str) -> Action {
    Action::Respawn { name: name.to_string(), skin: 1 }
}

fn grant(player: u16) -> Action {
    Action::Grant { player: PlayerId(player), resource: Resource::Stone, amount: 7 }
}

/// A world with players 1 and 2. The next operator sequence number is 3.
fn two() -> World {
    let mut world = without_animals(world(1));
    world.step(&mut vec![join(1, 1), join(2, 2)]);
    world
}

#[test]
fn a_join_gives_a_body_of_that_name_and_skin() {
    let mut world = world(1);
    let outcome = world.step(&mut vec![command(0, 1, named(7, "Zoë 🦊"))]).clone();
    assert_eq!(outcome.events, [WorldEvent::Joined { player: PlayerId(7) }]);
    let mut only_joins = [0; crate::command::ACTION_KINDS];
    only_joins[0] = 1;
    assert_eq!((outcome.accepted, outcome.rejected.len()), (only_joins, 0));
    let view = world.player(PlayerId(7)).expect("it joined");
    assert_eq!((&**view.name, view.skin, view.joined_tick, view.score), ("Zoë 🦊", 1, 0, 0));
    assert_eq!((view.sequence, view.direction, view.body.owner), (0, None, PlayerId(7)));
    assert_eq!((view.body.radius_px, view.body.health), (35, 100));
}

#[test]
fn a_leave_takes_the_body() {
    let mut world = two();
    let outcome = world.step(&mut vec![command(0, 3, leave(1))]).clone();
    assert_eq!(outcome.events, [WorldEvent::Left { player: PlayerId(1) }]);
    assert_eq!(world.players().map(|view| view.id.0).collect::<Vec<_>>(), [2]);
    assert!(world.player(PlayerId(1)).is_none());
}

#[test]
fn players_are_listed_in_the_order_of_their_numbers() {
    let mut world = world(1);
    let numbers = [500, 3, 65_535, 77, 1];
    let mut joins = numbers.iter().zip(1..).map(|(player, sequence)| join(sequence, *player)).collect();
    world.step(&mut joins);
    assert_eq!(world.players().map(|view| view.id.0).collect::<Vec<_>>(), [1, 3, 77, 500, 65_535]);
    assert_eq!(world.player_count(), 5);
}

#[test]
fn aim_changes_only_the_heading() {
    let mut world = two();
    let before = body(&world, 1).clone();
    world.step(&mut vec![command(1, 1, Action::Aim { heading: Angle(777) })]);
    assert_eq!(body(&world, 1).heading, Angle(777));
    assert_eq!((body(&world, 1).x, body(&world, 1).y), (before.x, before.y));
}

#[test]
fn chat_is_relayed_unchanged() {
    let mut world = two();
    let outcome = world.step(&mut vec![command(2, 9, chat(" hi 🦊 "))]).clone();
    assert_eq!(outcome.events, [WorldEvent::Chat { player: PlayerId(2), text: " hi 🦊 ".to_string() }]);
    assert_eq!(player(&world, 2).sequence, 9);
}

fn select(what: Selection) -> Action {
    Action::Select { what }
}

/// Adds players with an item that they cannot use: 3 lacks the resources, 4 holds an apple at full
/// health, 5 has the maximum number of windmills, 6 stands at the edge of the map and looks
/// outwards.
fn with_full_hands(world: &mut World) {
    for (id, item, stock) in [(3, 3, 9), (4, 0, 99), (5, 10, 99), (6, 3, 99)] {
        world.step(&mut vec![join(10 + u64::from(id), id), command(id, 4, select(Selection::Item(item)))]);
        assert_eq!(world.outcome().rejected, []);
        player_mut(world, id).resources = [stock; 4];
    }
    player_mut(world, 5).kit.built[3] = 7;
    let edge = body_mut(world, 6);
    (edge.x, edge.heading) = (Fixed::from_px(40), Angle(0x8000));
}

#[test]
fn each_reason_to_refuse() {
    let long = "x".repeat(31);
    let rows: Vec<(Command, Rejection)> = vec![
        (command(0, 2, leave(1)), Rejection::Repeated),
        (command(0, 0, leave(1)), Rejection::Repeated),
        (command(1, 0, chat("hi")), Rejection::Repeated),
        (command(9, 1, chat("hi")), Rejection::UnknownIssuer),
        (command(9, 1, leave(1)), Rejection::UnknownIssuer),
        (command(1, 1, leave(2)), Rejection::OperatorOnly),
        (command(1, 1, named(9, "x")), Rejection::OperatorOnly),
        (command(1, 1, grant(2)), Rejection::OperatorOnly),
        (command(0, 30, chat("hi")), Rejection::PlayerOnly),
        (command(0, 30, Action::Attack { on: true }), Rejection::PlayerOnly),
        (command(0, 30, respawn("x")), Rejection::PlayerOnly),
        (command(0, 30, grant(9)), Rejection::UnknownPlayer),
        (command(1, 1, respawn("x")), Rejection::Alive),
        (command(0, 30, Action::Upgrade { choice: 1 }), Rejection::PlayerOnly),
        (command(0, 30, select(Selection::Weapon(0))), Rejection::PlayerOnly),
        (command(2, 1, Action::Upgrade { choice: 1 }), Rejection::Dead),
        (command(2, 1, select(Selection::Weapon(0))), Rejection::Dead),
        (command(1, 1, Action::Upgrade { choice: 1 }), Rejection::NotOffered),
        (command(1, 1, select(Selection::Weapon(1))), Rejection::NotOwned),
        (command(1, 1, select(Selection::Item(1))), Rejection::NotOwned),
        (command(1, 1, select(Selection::Item(255))), Rejection::NotOwned),
        (command(3, 5, Action::Attack { on: true }), Rejection::TooDear),
        (command(4, 5, Action::Attack { on: true }), Rejection::Healthy),
        (command(5, 5, Action::Attack { on: true }), Rejection::TooMany),
        (command(6, 5, Action::Attack { on: true }), Rejection::NoRoom),
        (command(2, 1, Action::Attack { on: true }), Rejection::Dead),
        (command(2, 1, Action::Move { direction: None }), Rejection::Dead),
        (command(2, 1, Action::Aim { heading: Angle(1) }), Rejection::Dead),
        (command(2, 1, chat("hi")), Rejection::Dead),
        (command(2, 1, respawn("1234567890123456")), Rejection::NameTooLong),
        (command(2, 1, respawn("a\nb")), Rejection::NameForbidden),
        (command(0, 30, Action::Move { direction: None }), Rejection::PlayerOnly),
        (command(0, 30, Action::Aim { heading: Angle(1) }), Rejection::PlayerOnly),
        (command(0, 30, named(0, "x")), Rejection::ReservedPlayer),
        (command(0, 30, named(2, "x")), Rejection::AlreadyJoined),
        (command(0, 30, leave(9)), Rejection::UnknownPlayer),
        (command(0, 30, leave(0)), Rejection::UnknownPlayer),
        (command(0, 30, named(9, "1234567890123456")), Rejection::NameTooLong),
        (command(0, 30, named(9, "a\nb")), Rejection::NameForbidden),
        (command(0, 30, named(9, "a\u{202e}b")), Rejection::NameForbidden),
        (command(1, 1, chat("")), Rejection::ChatEmpty),
        (command(1, 1, chat(" \u{a0}\u{2003} ")), Rejection::ChatEmpty),
        (command(1, 1, chat(&long)), Rejection::ChatTooLong),
        (command(1, 1, chat("a\u{1b}[2Jb")), Rejection::ChatForbidden),
    ];
    let mut reasons = std::collections::BTreeSet::new();
    for (command, rejection) in rows {
        let mut world = two();
        let (player, body) = world.player_mut(PlayerId(2)).expect("it joined");
        (player.alive, body.health) = (false, 0);
        with_full_hands(&mut world);
        (1..=6).for_each(|id| unprotect(&mut world, id));
        world.step(&mut Vec::new());
        let mut expected = world.state.clone();
        world.step(&mut vec![command.clone()]);
        assert_eq!(world.outcome().rejected, [(command.clone(), rejection)]);
        assert_eq!((world.outcome().accepted, world.outcome().events.len()), ([0; ACTION_KINDS], 0));
        expected.tick += 1;
        assert_eq!(world.state, expected, "{command:?} left a trace");
        reasons.insert((rejection, rejection.name()));
    }
    assert_eq!(reasons.len(), 20, "a row for each reason: {reasons:?}");
}

#[test]
fn the_first_and_last_of_each_range_of_forbidden_characters() {
    use crate::command::text::{check_chat, check_name};
    let invisible = "\u{ad}\u{34f}\u{600}\u{605}\u{61c}\u{6dd}\u{70f}\u{115f}\u{1160}\u{17b4}\u{17b5}\u{180b}\u{180f}\u{200b}\u{200f}\
        \u{202a}\u{202e}\u{2060}\u{206f}\u{2800}\u{3164}\u{fe00}\u{fe0f}\u{feff}\u{ffa0}\u{fff0}\u{fffb}\u{110bd}\u{110cd}\u{1bca0}\u{1bca3}\
        \u{1d173}\u{1d17a}\u{e0000}\u{e0fff}";
    for char in "\0\x1f\x7f\u{9f}\u{2028}\u{2029}".chars().chain(invisible.chars()) {
        let text = format!("a{char}b");
        assert_eq!(check_name(&text), Err(Rejection::NameForbidden), "{char:?}");
        assert_eq!(check_chat(&text), Err(Rejection::ChatForbidden), "{char:?}");
    }
    for char in " ~\u{a0}\u{ac}\u{ae}\u{2ff}\u{370}\u{606}\u{200a}\u{2027}\u{202f}\u{205f}\u{2070}\u{27ff}\u{2801}\u{3165}\u{fdff}\u{fe10}\u{fefe}\u{ff00}\u{fffc}\u{e1000}".chars() {
        assert_eq!(check_name(&format!("a{char}b")), Ok(()), "{char:?}");
    }
}

#[test]
fn texts_of_maximum_length_are_accepted() {
    let mut world = two();
    let (name, line) = ("🦊".repeat(15), "🦊".repeat(30));
    world.step(&mut vec![command(0, 3, named(3, &name)), command(1, 1, chat(&line))]);
    assert_eq!(world.outcome().rejected, []);
    assert_eq!(&*player(&world, 3).name, name);
}

#[test]
fn any_text_can_be_made_fit() {
    use crate::command::text::{check_chat, check_name, clean_chat, clean_name};
    for (text, name) in
        [("  Ada  ", "Ada"), ("a\0b\u{202e}c", "abc"), ("12345678901234 678", "12345678901234"), ("\n", "")]
    {
        assert_eq!(clean_name(text), name);
        assert_eq!(check_name(name), Ok(()));
    }
    assert_eq!(clean_chat(" hi\nthere "), Some("hithere".to_string()));
    assert_eq!(clean_chat("\u{200b} \t"), None);
    for empty in ["\u{3164}", "\u{2800}", "\u{ad}", "\u{2003}\u{200d}\u{3000}"] {
        assert_eq!((clean_name(empty), clean_chat(empty)), (String::new(), None), "{empty:?}");
    }
    assert_eq!(clean_name("A\u{200b}da"), "Ada");
    let line = clean_chat(&"x".repeat(100)).expect("something is left");
    assert_eq!((line.len(), check_chat(&line)), (30, Ok(())));
}

#[test]
fn sequences_exceed_32_bits_and_survive_a_restore() {
    let mut world = bare_world(TickHz::Hz30);
    world.state.operator_sequence = u64::from(u32::MAX) - 1;
    for id in 1..=4 {
        put(&mut world, id, 5_000, 5_000);
        player_mut(&mut world, id).sequence = u64::from(u32::MAX);
        act(&mut world, id, Action::Aim { heading: Angle(id) });
    }
    assert_eq!((world.operator_sequence(), player(&world, 4).sequence), (0x1_0000_0002, 0x1_0000_0000));
    let restored = World::restore(&world.snapshot()).expect("a world like any other");
    assert_eq!(restored.operator_sequence(), 0x1_0000_0002);
}

#[test]
fn a_sequence_may_skip_but_never_repeat() {
    let mut world = two();
    let aim = |sequence, heading| command(1, sequence, Action::Aim { heading: Angle(heading) });
    world.step(&mut vec![aim(5, 50), aim(3, 30), aim(5, 60)]);
    // Commands are applied in order of sequence numbers: 3, then the 5 with the smaller heading.
    // The other 5 is rejected as repeated.
    assert_eq!(world.outcome().rejected, [(aim(5, 60), Rejection::Repeated)]);
    assert_eq!((body(&world, 1).heading, player(&world, 1).sequence), (Angle(50), 5));
    world.step(&mut vec![aim(5, 70), aim(4, 40)]);
    assert_eq!(world.outcome().rejected.len(), 2);
    world.step(&mut vec![aim(u64::MAX, 99)]);
    world.step(&mut vec![aim(u64::MAX, 98), aim(0, 97)]);
    assert_eq!(body(&world, 1).heading, Angle(99));
}

#[test]
fn a_player_that_joins_again_counts_from_one() {
    let mut world = two();
    world.step(&mut vec![command(1, 500, chat("hi"))]);
    world.step(&mut vec![command(0, 3, leave(1)), join(4, 1)]);
    assert_eq!(world.outcome().rejected, []);
    world.step(&mut vec![command(1, 1, chat("again"))]);
    assert_eq!(world.outcome().accepted[4], 1);
}

#[test]
fn the_operators_commands_precede_those_of_players_by_number() {
    let mut world = two();
    world.step(&mut vec![command(2, 1, chat("b")), command(1, 1, chat("a")), join(3, 9)]);
    let order: Vec<String> = world.outcome().events.iter().map(|event| format!("{event:?}")).collect();
    assert!(
        order[0].starts_with("Joined") && order[1].contains("\"a\"") && order[2].contains("\"b\""),
        "{order:?}"
    );
}

#[test]
fn the_list_is_returned_empty_with_its_capacity() {
    let mut world = two();
    let mut commands = Vec::with_capacity(100);
    commands.push(command(1, 1, chat("hi")));
    world.step(&mut commands);
    assert!(commands.is_empty() && commands.capacity() == 100);
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "\\PC{0,40}",
        "[\\x00-\\x1f\u{202a}-\u{202e}]{0,20}",
        (0usize..100_000).prop_map(|length| "\u{1F98A}".repeat(length)),
        Just(String::new()),
    ]
}

/// Often one of two names, so that clan names collide.
fn clan_name() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[ab]", 1 => any_text()]
}

fn spawned() -> impl Strategy<Value = Spawned> {
    let kinds: Vec<AnimalKind> = (0..=u8::MAX).filter_map(AnimalKind::from_number).collect();
    prop_oneof![prop::sample::select(kinds).prop_map(Spawned::Animal), any::<u8>().prop_map(Spawned::Item)]
}

pub(crate) fn any_command() -> impl Strategy<Value = Command> {
    let number = || prop_oneof![4 => 0u16..6, 1 => any::<u16>()];
    let action = prop_oneof![
        (number(), any_text(), any::<u8>()).prop_map(|(player, name, skin)| Action::Join {
            player: PlayerId(player),
            name,
            skin
        }),
        number().prop_map(leave),
        any::<Option<u16>>().prop_map(|direction| Action::Move { direction: direction.map(Angle) }),
        any::<u16>().prop_map(|heading| Action::Aim { heading: Angle(heading) }),
        any_text().prop_map(|text| Action::Chat { text }),
        any::<bool>().prop_map(|on| Action::Attack { on }),
        (0u8..40).prop_map(|choice| Action::Upgrade { choice }),
        (0u8..18, any::<bool>()).prop_map(|(id, of_item)| {
            select(if of_item { Selection::Item(id) } else { Selection::Weapon(id) })
        }),
        (any_text(), any::<u8>()).prop_map(|(name, skin)| Action::Respawn { name, skin }),
        (number(), 0usize..4, any::<u32>()).prop_map(|(player, resource, amount)| Action::Grant {
            player: PlayerId(player),
            resource: Resource::ALL[resource],
            amount
        }),
        clan_name().prop_map(|name| Action::ClanCreate { name }),
        clan_name().prop_map(|name| Action::ClanRequest { name }),
        Just(Action::ClanLeave),
        Just(Action::Ping),
        (number(), any::<bool>())
            .prop_map(|(player, accept)| Action::ClanAnswer { player: PlayerId(player), accept }),
        number().prop_map(|player| Action::ClanKick { player: PlayerId(player) }),
        any_text().prop_map(|text| Action::Announce { text }),
        (spawned(), any::<u16>(), any::<u16>()).prop_map(|(what, x_px, y_px)| Action::Spawn {
            what,
            x_px,
            y_px
        }),
    ];
    let sequence = prop_oneof![4 => 0u64..40, 1 => any::<u64>()];
    (number(), sequence, action).prop_map(|(player, sequence, action)| command(player, sequence, action))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_command_stops_the_tick_and_none_is_lost(
        seed in any::<u32>(),
        ticks in prop::collection::vec(prop::collection::vec(any_command(), 0..12), 1..8),
    ) {
        let identity = crate::Identity { seed, map_size_px: 1_440, tick_hz: TickHz::Hz60 };
        let mut world = World::new(identity);
        for (tick, mut commands) in ticks.into_iter().enumerate() {
            let given = commands.len();
            let outcome = world.step(&mut commands);
            let accepted: u32 = outcome.accepted.iter().sum();
            prop_assert_eq!(accepted as usize + outcome.rejected.len(), given);
            prop_assert_eq!(world.tick() as usize, tick + 1);
        }
        prop_assert!(World::restore(&world.snapshot()).is_ok());
    }
}
