//! Clans: each reason for a rejection, membership, no damage between clan mates; pings and operator
//! messages.

use crate::clan::ClanId;
use crate::command::{Action, Command, Rejection, ACTION_KINDS};
use crate::entity::PlayerId;
use crate::event::WorldEvent;
use crate::fixed::{Angle, Fixed};
use crate::rules::{self, item, Group, TickHz, CLAN_CHARS, ITEMS, MAX_ANNOUNCEMENT_CHARS, WEAPONS};
use crate::tests::{
    act, bare_world, body, body_mut, build, command, difference, events, join, player, player_mut, put,
    swing, wait,
};
use crate::world::World;

fn found(name: &str) -> Action {
    Action::ClanCreate { name: name.to_string() }
}

fn request(name: &str) -> Action {
    Action::ClanRequest { name: name.to_string() }
}

fn answer(player: u16, accept: bool) -> Action {
    Action::ClanAnswer { player: PlayerId(player), accept }
}

fn kick(player: u16) -> Action {
    Action::ClanKick { player: PlayerId(player) }
}

fn announce(text: &str) -> Action {
    Action::Announce { text: text.to_string() }
}

/// A bare world with players 1 to `players`, far apart.
fn several(players: u16) -> World {
    let mut world = bare_world(TickHz::Hz30);
    for id in 1..=players {
        put(&mut world, id, 1_000 * i32::from(id), 5_000);
    }
    world
}

/// Adds a player to the clan of another player.
fn let_in(world: &mut World, owner: u16, newcomer: u16) {
    let of = world.player(PlayerId(owner)).and_then(|player| player.clan).expect("it has a clan");
    let name = world.clans().iter().find(|clan| clan.id == of).expect("it is there").name.to_string();
    act(world, newcomer, request(&name));
    act(world, owner, answer(newcomer, true));
}

/// Players 1 to `players` in one clan, which player 1 owns.
fn clan_of(players: u16) -> World {
    let mut world = several(players);
    act(&mut world, 1, found("us"));
    for id in 2..=players {
        let_in(&mut world, 1, id);
    }
    world
}

fn leave_world(world: &mut World, id: u16) {
    let sequence = world.state.operator_sequence + 1;
    world.step(&mut vec![command(0, sequence, Action::Leave { player: PlayerId(id) })]);
    assert_eq!(world.outcome().rejected, []);
}

/// The clan and the pending request of a player.
fn of(world: &World, id: u16) -> (Option<u32>, Option<u32>) {
    let view = world.player(PlayerId(id)).expect("it is there");
    (view.clan.map(|clan| clan.0), view.join_request.map(|clan| clan.0))
}

fn names(world: &World) -> Vec<&str> {
    world.clans().iter().map(|clan| &*clan.name).collect()
}

#[test]
fn founding_a_clan_makes_its_owner_and_withdraws_its_request() {
    let mut world = several(2);
    act(&mut world, 1, found("one"));
    act(&mut world, 2, request("one"));
    assert_eq!(of(&world, 2), (None, Some(1)));
    act(&mut world, 2, found("two"));
    assert_eq!((of(&world, 1), of(&world, 2)), ((Some(1), None), (Some(2), None)));
    let owners: Vec<_> = world.clans().iter().map(|clan| (clan.id, &*clan.name, clan.owner)).collect();
    assert_eq!(owners, [(ClanId(1), "one", PlayerId(1)), (ClanId(2), "two", PlayerId(2))]);
}

#[test]
fn a_request_reaches_the_owner_and_a_second_one_takes_its_place() {
    let mut world = several(3);
    act(&mut world, 1, found("one"));
    act(&mut world, 2, found("two"));
    act(&mut world, 3, request("one"));
    assert_eq!(events(&world), [WorldEvent::JoinRequested { player: PlayerId(3), owner: PlayerId(1) }]);
    act(&mut world, 3, request("two"));
    assert_eq!(events(&world), [WorldEvent::JoinRequested { player: PlayerId(3), owner: PlayerId(2) }]);
    assert_eq!(of(&world, 3), (None, Some(2)));
}

#[test]
fn an_answer_lets_in_or_not_and_ends_the_request() {
    for (accept, clan) in [(true, Some(1)), (false, None)] {
        let mut world = several(2);
        act(&mut world, 1, found("us"));
        act(&mut world, 2, request("us"));
        act(&mut world, 1, answer(2, accept));
        assert_eq!(of(&world, 2), (clan, None));
    }
}

#[test]
fn an_answer_to_player_0_is_for_the_applicant_with_the_lowest_number() {
    let mut world = several(5);
    act(&mut world, 3, found("us"));
    act(&mut world, 4, found("them"));
    act(&mut world, 1, request("them"));
    act(&mut world, 5, request("us"));
    act(&mut world, 2, request("us"));
    act(&mut world, 3, answer(0, true));
    assert_eq!((of(&world, 2), of(&world, 5)), ((Some(1), None), (None, Some(1))));
    act(&mut world, 3, answer(0, false));
    assert_eq!((of(&world, 1), of(&world, 5)), ((None, Some(2)), (None, None)));
}

#[test]
fn a_member_leaves_alone_and_with_the_owner_the_clan_ends() {
    for by_world in [false, true] {
        let mut world = clan_of(4);
        act(&mut world, 4, Action::ClanLeave);
        assert_eq!((of(&world, 4), names(&world)), ((None, None), vec!["us"]));
        act(&mut world, 4, request("us"));
        if by_world {
            leave_world(&mut world, 1);
        } else {
            act(&mut world, 1, Action::ClanLeave);
            assert_eq!(of(&world, 1), (None, None));
        }
        assert_eq!((of(&world, 2), of(&world, 3), of(&world, 4)), ((None, None), (None, None), (None, None)));
        assert_eq!(names(&world), [""; 0]);
        act(&mut world, 2, found("us"));
        assert_eq!(of(&world, 2).0, Some(2), "the name is free again, the number is not");
    }
}

#[test]
fn a_member_that_leaves_the_world_leaves_the_clan() {
    let mut world = clan_of(3);
    leave_world(&mut world, 2);
    assert_eq!((of(&world, 3), names(&world)), ((Some(1), None), vec!["us"]));
    put(&mut world, 2, 9_000, 5_000);
    assert_eq!(of(&world, 2), (None, None));
}

#[test]
fn other_clans_stay_when_one_ends() {
    let mut world = several(6);
    for (owner, member, name) in [(1, 2, "one"), (3, 4, "three")] {
        act(&mut world, owner, found(name));
        let_in(&mut world, owner, member);
    }
    act(&mut world, 5, request("one"));
    act(&mut world, 6, request("three"));
    act(&mut world, 1, Action::ClanLeave);
    assert_eq!((of(&world, 3), of(&world, 4)), ((Some(2), None), (Some(2), None)));
    assert_eq!((of(&world, 5), of(&world, 6)), ((None, None), (None, Some(2))));
}

#[test]
fn death_does_not_touch_the_clan() {
    let mut world = clan_of(3);
    act(&mut world, 3, Action::ClanLeave);
    act(&mut world, 3, request("us"));
    let before = [1, 2, 3].map(|id| of(&world, id));
    for at in 0..3 {
        world.hurt(at, 500, None);
    }
    wait(&mut world, 2);
    assert_eq!([1, 2, 3].map(|id| of(&world, id)), before);
    act(&mut world, 1, Action::Respawn { name: "back".to_string(), skin: 0 });
    act(&mut world, 1, answer(3, true));
    assert_eq!(of(&world, 3), (Some(1), None), "the dead can be let in");
}

#[test]
fn anyone_can_ping_and_only_the_operator_speaks_to_all() {
    let mut world = clan_of(2);
    put(&mut world, 3, 9_000, 5_000);
    for id in [1, 2, 3] {
        act(&mut world, id, Action::Ping);
        assert_eq!(events(&world), [WorldEvent::Pinged { player: PlayerId(id) }]);
    }
    let text = "🦊".repeat(MAX_ANNOUNCEMENT_CHARS);
    world.step(&mut vec![command(0, 90, announce(&text))]);
    assert_eq!(world.outcome().events, [WorldEvent::Announced { text }]);
}

/// Player 1 owns clan "us" with members 2 and 6 (dead) and applicant 3. Player 4 owns clan "them"
/// with applicant 5. Player 7 has no clan.
fn world_with_clans() -> World {
    let mut world = several(7);
    act(&mut world, 1, found("us"));
    let_in(&mut world, 1, 2);
    let_in(&mut world, 1, 6);
    act(&mut world, 3, request("us"));
    act(&mut world, 4, found("them"));
    act(&mut world, 5, request("them"));
    world.hurt(5, 500, None);
    world
}

#[test]
fn each_reason_to_refuse() {
    let (long, longer) = ("x".repeat(CLAN_CHARS + 1), "x".repeat(MAX_ANNOUNCEMENT_CHARS + 1));
    let rows: Vec<(Command, Rejection)> = vec![
        (command(0, 90, found("x")), Rejection::PlayerOnly),
        (command(0, 90, Action::ClanLeave), Rejection::PlayerOnly),
        (command(0, 90, request("us")), Rejection::PlayerOnly),
        (command(0, 90, answer(3, true)), Rejection::PlayerOnly),
        (command(0, 90, kick(2)), Rejection::PlayerOnly),
        (command(0, 90, Action::Ping), Rejection::PlayerOnly),
        (command(6, 90, found("x")), Rejection::Dead),
        (command(6, 90, Action::ClanLeave), Rejection::Dead),
        (command(6, 90, Action::Ping), Rejection::Dead),
        (command(1, 90, found("x")), Rejection::InClan),
        (command(2, 90, found("x")), Rejection::InClan),
        (command(2, 90, request("them")), Rejection::InClan),
        (command(2, 90, request("us")), Rejection::InClan),
        (command(7, 90, found("us")), Rejection::ClanNameTaken),
        (command(7, 90, found("")), Rejection::ClanNameForbidden),
        (command(7, 90, found(" \u{a0}\u{200b}")), Rejection::ClanNameForbidden),
        (command(7, 90, found(&long)), Rejection::ClanNameForbidden),
        (command(7, 90, found("a\nb")), Rejection::ClanNameForbidden),
        (command(7, 90, request("Us")), Rejection::UnknownClan),
        (command(7, 90, request("")), Rejection::UnknownClan),
        (command(7, 90, Action::ClanLeave), Rejection::NoClan),
        (command(3, 90, Action::ClanLeave), Rejection::NoClan),
        (command(7, 90, answer(3, true)), Rejection::NoClan),
        (command(7, 90, kick(2)), Rejection::NoClan),
        (command(2, 90, answer(3, true)), Rejection::ClanOwnerOnly),
        (command(2, 90, kick(1)), Rejection::ClanOwnerOnly),
        (command(1, 90, answer(5, true)), Rejection::NotAsking),
        (command(1, 90, answer(2, false)), Rejection::NotAsking),
        (command(1, 90, answer(99, true)), Rejection::NotAsking),
        (command(1, 90, kick(1)), Rejection::NotMember),
        (command(1, 90, kick(3)), Rejection::NotMember),
        (command(1, 90, kick(4)), Rejection::NotMember),
        (command(1, 90, kick(0)), Rejection::NotMember),
        (command(1, 90, kick(99)), Rejection::NotMember),
        (command(1, 90, announce("hi")), Rejection::OperatorOnly),
        (command(0, 90, announce("")), Rejection::ChatEmpty),
        (command(0, 90, announce("\u{2003} ")), Rejection::ChatEmpty),
        (command(0, 90, announce(&longer)), Rejection::ChatTooLong),
        (command(0, 90, announce("a\u{1b}[2Jb")), Rejection::ChatForbidden),
    ];
    for (command, rejection) in rows {
        let mut world = world_with_clans();
        wait(&mut world, 1);
        let mut expected = world.state.clone();
        world.step(&mut vec![command.clone()]);
        assert_eq!(world.outcome().rejected, [(command.clone(), rejection)]);
        assert_eq!((world.outcome().accepted, world.outcome().events.len()), ([0; ACTION_KINDS], 0));
        expected.tick += 1;
        assert_eq!(world.state, expected, "{command:?} left a trace");
    }
}

#[test]
fn an_answer_ends_the_request() {
    let mut world = world_with_clans();
    act(&mut world, 1, answer(0, false));
    world.step(&mut vec![command(1, 90, answer(0, true))]);
    assert_eq!(world.outcome().rejected, [(command(1, 90, answer(0, true)), Rejection::NotAsking)]);
}

#[test]
fn no_clan_is_founded_when_the_numbers_are_used_up() {
    let mut world = several(2);
    world.state.next_clan = u32::MAX - 1;
    act(&mut world, 1, found("last"));
    world.step(&mut vec![command(2, 90, found("more"))]);
    assert_eq!(world.outcome().rejected, [(command(2, 90, found("more")), Rejection::TooMany)]);
    assert!(World::restore(&world.snapshot()).is_ok());
}

#[test]
fn any_text_can_be_cleaned_to_a_clan_name_or_an_operator_message() {
    use crate::command::text::{check_announcement, check_clan_name, clean_announcement, clean_clan_name};
    let rows = [("  Ada  ", Some("Ada")), ("a\0b\u{202e}c", Some("abc")), ("12345 789", Some("12345 7"))];
    for (text, name) in rows.into_iter().chain([("\n \u{200b}", None), ("123456 8", Some("123456"))]) {
        assert_eq!(clean_clan_name(text).as_deref(), name);
        assert_eq!(name.map_or(Ok(()), check_clan_name), Ok(()));
    }
    let line = clean_announcement(&format!(" {}", "x".repeat(200))).expect("something is left");
    assert_eq!((line.len(), check_announcement(&line)), (MAX_ANNOUNCEMENT_CHARS, Ok(())));
    assert_eq!(clean_announcement("\u{2028} "), None);
}

#[test]
fn mates_are_those_in_one_clan() {
    let mut world = world_with_clans();
    put(&mut world, 8, 9_000, 5_000);
    let mates = |world: &World, a: u16, b: u16| world.are_mates(PlayerId(a), PlayerId(b));
    for (a, b, are) in [
        (1, 2, true),
        (2, 6, true),
        (1, 3, false),
        (1, 4, false),
        (7, 8, false),
        (0, 1, false),
        (0, 0, false),
        (1, 99, false),
    ] {
        assert_eq!((mates(&world, a, b), mates(&world, b, a)), (are, are), "{a} and {b}");
    }
    act(&mut world, 1, kick(2));
    assert!(!mates(&world, 1, 2) && mates(&world, 1, 6));
}

/// A change after which players 1 and 2 are no longer clan mates.
type Parting = fn(&mut World);

/// A kick, leaving, and the dissolution of the clan end the membership of player 1 or 2. The last
/// entry changes nothing.
const PARTINGS: [Parting; 4] = [
    |world| act(world, 1, kick(2)),
    |world| act(world, 2, Action::ClanLeave),
    |world| act(world, 1, Action::ClanLeave),
    |_| {},
];

#[test]
fn no_stroke_hits_a_mate_until_they_part() {
    for weapon in WEAPONS.iter().filter(|weapon| weapon.shoots.is_none() && weapon.range_px > 0) {
        for (parting, parted) in PARTINGS.iter().zip([true, true, true, false]) {
            let mut world = clan_of(2);
            parting(&mut world);
            body_mut(&mut world, 2).x = Fixed::from_px(1_080);
            player_mut(&mut world, 1).hand.weapon = weapon.id;
            player_mut(&mut world, 2).resources = [500; 4];
            let before = body(&world, 2).clone();
            swing(&mut world, 1);
            let swung = WorldEvent::Swung { player: PlayerId(1), weapon: weapon.id, hit: parted };
            assert_eq!(events(&world)[0], swung, "{}", weapon.name);
            let after = body(&world, 2);
            let loss = if parted { weapon.damage } else { 0 };
            assert_eq!(after.health, 100 - loss, "{}", weapon.name);
            assert_eq!(after.vx == before.vx, !parted, "{} knocks", weapon.name);
            let stolen = if parted { weapon.steals } else { 0 };
            assert_eq!(player(&world, 2).resources, [500, 500, 500, 500 - stolen], "{}", weapon.name);
        }
    }
}

#[test]
fn a_swing_past_a_mate_hits_the_enemy_behind() {
    let mut world = clan_of(2);
    put(&mut world, 3, 9_000, 5_000);
    wait(&mut world, 2);
    for (id, x_px) in [(2, 1_040), (3, 1_100)] {
        body_mut(&mut world, id).x = Fixed::from_px(x_px);
        body_mut(&mut world, id).vx = Fixed::ZERO;
    }
    // The players overlap and are pushed apart before the swing.
    swing(&mut world, 1);
    assert_eq!([1, 2, 3].map(|id| body(&world, id).health), [100, 100, 75]);
}

#[test]
fn a_mate_can_break_a_structure() {
    let mut world = clan_of(2);
    build(&mut world, 1, 3, 0);
    body_mut(&mut world, 2).x = Fixed::from_px(1_160);
    body_mut(&mut world, 2).heading = Angle(0x8000);
    swing(&mut world, 2);
    assert_eq!(world.structures().next().expect("it stands").health, 380 - 25);
}

/// Player 1 has built an item and is far away; player 2 touches its rim or stands on it.
fn at_the_mates(number: u8) -> World {
    let mut world = clan_of(2);
    wait(&mut world, 2);
    build(&mut world, 1, number, 0);
    let item = item(number).expect("it is in the table");
    let apart_px = if item.group.is_solid() { item.radius_px + rules::PLAYER_RADIUS_PX } else { 5 };
    body_mut(&mut world, 1).x = Fixed::from_px(8_000);
    body_mut(&mut world, 2).x = Fixed::from_px(1_035 + item.scale_px + apart_px);
    world
}

#[test]
fn structures_of_a_mate_harm_only_after_leaving_the_clan() {
    let harmful = ITEMS.iter().filter(|item| matches!(item.group, Group::Spikes | Group::Trap));
    let mut hits = 0;
    for item in harmful {
        let mut world = at_the_mates(item.id);
        wait(&mut world, 5);
        let harm = |world: &World| (100 - body(world, 2).health, player(world, 2).ground.held);
        assert_eq!(harm(&world), (0, false), "{}", item.name);
        act(&mut world, 1, Action::ClanLeave);
        assert_eq!(harm(&world), (item.damage, item.group == Group::Trap), "{}", item.name);
        hits += 1;
    }
    assert_eq!(hits, 5, "spikes of four kinds and the trap");
}

#[test]
fn enemy_spikes_hurt_even_beside_spikes_of_a_mate() {
    let mut world = at_the_mates(6);
    let between = body(&world, 2).x;
    // Player 3 builds from the other side, so that the rim of its structure is at the position of
    // player 2.
    put(&mut world, 3, between.to_px() + 2 * (rules::PLAYER_RADIUS_PX + 49), 5_000);
    body_mut(&mut world, 2).x = Fixed::from_px(6_000);
    build(&mut world, 3, 6, 0x8000);
    body_mut(&mut world, 3).x = Fixed::from_px(9_000);
    body_mut(&mut world, 2).x = between;
    wait(&mut world, 1);
    let hurt = WorldEvent::Hurt { player: PlayerId(2), by: Some(PlayerId(3)), amount: 20 };
    assert_eq!(events(&world), [hurt]);
}

#[test]
fn pads_work_for_mates() {
    let mut world = at_the_mates(16);
    wait(&mut world, 1);
    assert!(body(&world, 2).vx > Fixed::ZERO, "it throws");
    let mut world = at_the_mates(19);
    wait(&mut world, 1);
    assert!(player(&world, 2).ground.healing);
}

#[test]
fn clans_are_restored_with_the_world() {
    let mut world = world_with_clans();
    let mut restored = World::restore(&world.snapshot()).expect("it is a snapshot");
    assert_eq!(restored.state, world.state);
    for commands in
        [vec![command(1, 90, answer(0, true))], vec![command(4, 90, Action::ClanLeave)], vec![join(90, 9)]]
    {
        for each in [&mut world, &mut restored] {
            each.step(&mut commands.clone());
            assert_eq!(each.outcome().rejected, []);
        }
        assert_eq!(difference(&world, &restored), None);
    }
    assert_eq!(of(&restored, 3), (Some(1), None));
    let mut other = world.clone();
    other.state.clans[0].owner = PlayerId(2);
    assert_eq!(difference(&world, &other).expect("they differ").field, "owner");
    assert_ne!(world.checksum(), other.checksum());
}
