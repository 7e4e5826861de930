//! Limits on the number of clans and on the members of a clan.

use crate::command::{Action, Rejection};
use crate::entity::PlayerId;
use crate::rules::{TickHz, MAX_CLANS, MAX_CLAN_MEMBERS};
use crate::tests::{act, bare_world, command, join, player};
use crate::world::World;

fn several(players: u16) -> World {
    let mut world = bare_world(TickHz::Hz30);
    world.step(&mut (1..=players).map(|id| join(u64::from(id), id)).collect());
    world
}

fn refused(world: &mut World, id: u16, action: Action) -> Vec<Rejection> {
    let sequence = player(world, id).sequence + 1;
    world.step(&mut vec![command(id, sequence, action)]);
    world.outcome().rejected.iter().map(|(_, rejection)| *rejection).collect()
}

#[test]
fn there_are_at_most_200_clans() {
    let max = MAX_CLANS as u16;
    let mut world = several(max + 1);
    for id in 1..=max {
        act(&mut world, id, Action::ClanCreate { name: format!("c{id}") });
    }
    let one_more = || Action::ClanCreate { name: "more".to_string() };
    assert_eq!(refused(&mut world, max + 1, one_more()), [Rejection::TooMany]);
    act(&mut world, 7, Action::ClanLeave);
    act(&mut world, max + 1, one_more());
    assert_eq!(world.clans().len(), MAX_CLANS);
}

#[test]
fn a_clan_has_at_most_50_members_and_further_requests_stay_pending() {
    let max = MAX_CLAN_MEMBERS as u16;
    let mut world = several(max + 1);
    act(&mut world, 1, Action::ClanCreate { name: "full".to_string() });
    let let_in = |id: u16| Action::ClanAnswer { player: PlayerId(id), accept: true };
    for id in 2..=max {
        act(&mut world, id, Action::ClanRequest { name: "full".to_string() });
        act(&mut world, 1, let_in(id));
    }
    act(&mut world, max + 1, Action::ClanRequest { name: "full".to_string() });
    assert_eq!(refused(&mut world, 1, let_in(max + 1)), [Rejection::TooMany]);
    assert!(player(&world, max + 1).join_request.is_some());
    act(&mut world, 1, Action::ClanKick { player: PlayerId(2) });
    act(&mut world, 1, let_in(max + 1));
    assert!(player(&world, max + 1).clan.is_some());
}
