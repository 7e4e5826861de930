//! Names that look alike. A player with such a name gets its ID appended; a clan with such a name
//! is rejected.

use tickwire_sim::similar_names::are_confusable;

use crate::command::text::{
    check_chat, check_clan_name, check_name, clean_chat, clean_clan_name, clean_name,
};
use crate::command::{Action, Rejection};
use crate::entity::PlayerId;
use crate::rules::{TickHz, NAME_CHARS};
use crate::tests::{act, bare_world, command, player, unprotect};
use crate::world::World;

/// Joins a player. Returns the name that the world gave it.
fn enter(world: &mut World, id: u16, name: &str) -> String {
    let sequence = world.operator_sequence() + 1;
    let join = Action::Join { player: PlayerId(id), name: name.to_string(), skin: 0 };
    world.step(&mut vec![command(0, sequence, join)]);
    assert_eq!(world.outcome().rejected, []);
    player(world, id).name.to_string()
}

#[test]
fn names_in_another_case_width_or_script_look_alike() {
    for (a, b) in [
        ("Anna", "ANNA"),
        ("Anna", "Аnnа"), // Cyrillic
        ("Anna", "Αnnα"), // Greek
        ("Anna", "ｆ".replace('ｆ', "Ａｎｎａ").as_str()),
        ("Anna", "An na"),
        ("Bob", "ВОВ"), // Cyrillic
        ("Bob", "b0b"),
        ("Ivan", "lvan"),
        ("Ivan", "1vаn"),
        ("HOPE", "НОРЕ"), // Cyrillic
        ("HYMN", "ΗΥΜΝ"), // Greek
        ("юлия", "ЮЛИЯ"),
        ("élan", "ÉLAN"),
    ] {
        assert!(are_confusable(a, b) && are_confusable(b, a), "{a} {b}");
    }
    for (a, b) in [("Anna", "Hanna"), ("Anna", "Ann"), ("elan", "élan"), ("Bob", "Rob"), ("a1", "a2")] {
        assert!(!are_confusable(a, b), "{a} {b}");
    }
}

#[test]
fn a_name_holds_no_mark_apart_from_its_letter() {
    for apart in ["e\u{301}lan", "Ele\u{300}ve", "a\u{350}", "a\u{36f}"] {
        assert_eq!(check_name(apart), Err(Rejection::NameForbidden), "{apart}");
        assert_eq!(check_clan_name(apart), Err(Rejection::ClanNameForbidden), "{apart}");
        assert_eq!(check_chat(apart), Ok(()), "{apart}");
    }
    assert_eq!((check_name("élan"), check_clan_name("élan")), (Ok(()), Ok(())));
    assert_eq!(clean_name("e\u{301}lan"), "elan");
    assert_eq!(clean_clan_name("e\u{301}"), Some("e".to_string()));
    assert_eq!(clean_clan_name("\u{301}"), None);
    assert_eq!(clean_chat("e\u{301}"), Some("e\u{301}".to_string()));
}

#[test]
fn a_name_that_looks_like_another_players_gets_the_number_appended() {
    let mut world = bare_world(TickHz::Hz30);
    for (id, requested, given) in [
        (1, "Anna", "Anna"),
        (2, "Anna", "Anna#2"),
        (3, "Аnnа", "Аnnа#3"),
        (40, "ANNA", "ANNA#40"),
        (5, "Hanna", "Hanna"),
        // The name with the player ID is already taken, so the mark is doubled.
        (6, "Bob#7", "Bob#7"),
        (7, "Bob", "Bob"),
        (8, "Eve#9", "Eve#9"),
        (10, "Eve", "Eve"),
        (9, "Eve", "Eve##9"),
    ] {
        assert_eq!(enter(&mut world, id, requested), given, "player {id}");
    }
}

#[test]
fn players_without_a_name_are_all_unknown() {
    let mut world = bare_world(TickHz::Hz30);
    for id in 1..=4 {
        assert_eq!(enter(&mut world, id, "unknown"), "unknown");
    }
    for id in 5..=6 {
        assert_eq!(enter(&mut world, id, ""), "");
    }
    assert_eq!(enter(&mut world, 7, "Unkn0wn"), "Unkn0wn#7", "made to look like one of them");
}

#[test]
fn the_longest_names_have_room_for_the_number() {
    let mut world = bare_world(TickHz::Hz30);
    let name = "🦊".repeat(NAME_CHARS);
    assert_eq!(enter(&mut world, 1, &name), name);
    let given = enter(&mut world, 65_535, &name);
    assert_eq!(given, format!("{}#65535", "🦊".repeat(NAME_CHARS - 6)));
    assert!(World::restore(&world.snapshot()).is_ok());
}

#[test]
fn a_respawning_player_keeps_its_name_or_takes_a_free_one() {
    let mut world = bare_world(TickHz::Hz30);
    enter(&mut world, 1, "Anna");
    enter(&mut world, 2, "Anna");
    let again = |world: &mut World, id: u16, name: &str| {
        unprotect(world, id);
        world.hurt(usize::from(id) - 1, 500, None);
        act(world, id, Action::Respawn { name: name.to_string(), skin: 0 });
        player(world, id).name.to_string()
    };
    assert_eq!(again(&mut world, 1, "Anna"), "Anna", "its own name is not in its way");
    assert_eq!(again(&mut world, 2, "anna"), "anna#2");
    assert_eq!(again(&mut world, 1, "Bob"), "Bob");
    assert_eq!(again(&mut world, 2, "Anna"), "Anna");
}

#[test]
fn a_clan_name_that_looks_like_another_counts_as_taken() {
    let mut world = bare_world(TickHz::Hz30);
    (1..=3).for_each(|id| drop(enter(&mut world, id, &format!("p{id}"))));
    act(&mut world, 1, Action::ClanCreate { name: "Wolves".to_string() });
    for name in ["Wolves", "wolves", "Wоlves", "W0LVES"] {
        let sequence = player(&world, 2).sequence + 1;
        world.step(&mut vec![command(2, sequence, Action::ClanCreate { name: name.to_string() })]);
        assert_eq!(world.outcome().rejected[0].1, Rejection::ClanNameTaken, "{name}");
    }
    act(&mut world, 2, Action::ClanCreate { name: "Wolfs".to_string() });
    let request = Action::ClanRequest { name: "wolves".to_string() };
    world.step(&mut vec![command(3, 1, request)]);
    assert_eq!(world.outcome().rejected[0].1, Rejection::UnknownClan, "a request names it exactly");
}
