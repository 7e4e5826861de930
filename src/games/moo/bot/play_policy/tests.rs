//! Tests of the playing policy, decision by decision.

use super::*;
use crate::games::moo::bot::received::Animal;

const TREE: Object =
    Object { id: 70_000, kind: Some(0), x_px: 900.0, y_px: 500.0, scale_px: 150.0, structure: None };

/// A settler at its meeting point.
fn player(seed: u64) -> PlayPolicy {
    let mut player = PlayPolicy::new(seed, MeetingPoints::at(720.0 / 14_400.0, 500.0 / 14_400.0));
    player.is_hunter = false;
    player
}

fn known(x_px: f64) -> ModelPlayer {
    let (health, max_health, is_protected) = (100, 100, false);
    ModelPlayer {
        name: String::new(),
        x_px,
        y_px: 500.0,
        heading: 0,
        in_view: true,
        health,
        max_health,
        is_protected,
    }
}

fn world_model(me_px: f64) -> WorldModel {
    WorldModel {
        own_player_id: Some(1),
        players: [(1, known(me_px))].into(),
        objects: [(TREE.id, TREE)].into(),
        ..WorldModel::new()
    }
}

fn intents(player: &mut PlayPolicy, world_model: &WorldModel, seconds: u64) -> Vec<Intent> {
    let mut intents = Vec::new();
    player.decide(world_model, Duration::from_secs(seconds), &mut intents);
    intents
}

#[test]
fn alone_it_walks_to_a_thing_and_strikes_it_within_reach() {
    let mut player = player(1);
    assert_eq!(intents(&mut player, &world_model(500.0), 0), [Intent::Walk(Some(0)), Intent::Aim(0)]);
    let near = intents(&mut player, &world_model(720.0), 1);
    assert_eq!(near, [Intent::Walk(None), Intent::Attack { on: true, heading: 0 }]);
    assert_eq!(intents(&mut player, &world_model(720.0), 2), [], "it goes on");
}

#[test]
fn a_bot_pursues_a_near_player_in_any_direction() {
    let mut hunts = 0;
    for seed in 0..30 {
        let (mut hunter, mut world_model) = (player(seed), world_model(720.0));
        hunter.is_hunter = true;
        world_model.players.insert(2, known(650.0));
        let intents = intents(&mut hunter, &world_model, 0);
        let towards = Intent::Attack { on: true, heading: 1 << 15 };
        hunts += u32::from(intents.contains(&towards));
    }
    assert!((10..30).contains(&hunts), "{hunts} of 30 strike");
}

#[test]
fn a_bot_that_spares_visitors_attacks_bots_and_strikes_back_at_visitors_in_reach() {
    let attacked = |name: &str, at_px: f64, is_hurt: bool| {
        (0..30).any(|seed| {
            let (mut hunter, mut world_model) = (player(seed).sparing_visitors(), world_model(720.0));
            hunter.is_hunter = true;
            world_model.objects.clear();
            world_model.players.insert(2, ModelPlayer { name: name.to_owned(), ..known(at_px) });
            let mut intents_seen = intents(&mut hunter, &world_model, 0);
            if is_hurt {
                world_model.players.get_mut(&1).expect("oneself").health = 50;
                intents_seen = intents(&mut hunter, &world_model, 1);
            }
            hunter.goal == Some(Goal::Player(2))
                && intents_seen.iter().any(|intent| *intent != Intent::Walk(None))
        })
    };
    assert!(attacked("bot 7", 650.0, false));
    assert!(!attacked("Ann", 650.0, false), "left alone");
    assert!(attacked("Ann", 650.0, true), "struck back at");
    assert!(!attacked("Ann", 550.0, true), "out of reach, so it was somebody else");
    assert!(attacked("bot 7", 550.0, true));
}

#[test]
fn a_bot_that_spares_visitors_does_not_hit_one_who_stands_beside_its_goal() {
    let strikes = |name: &str| {
        let (mut hunter, mut world_model) = (player(3).sparing_visitors(), world_model(720.0));
        hunter.is_hunter = true;
        world_model.players.insert(2, ModelPlayer { name: name.to_owned(), ..known(800.0) });
        (hunter.goal, hunter.goal_ends) = (Some(Goal::Object(TREE.id)), Duration::from_secs(9));
        let intents_seen = intents(&mut hunter, &world_model, 0);
        intents_seen.contains(&Intent::Attack { on: true, heading: 0 })
    };
    assert!(strikes("bot 7"));
    assert!(!strikes("Ann"));
}

#[test]
fn a_stuck_bot_walks_around_the_obstacle() {
    let mut player = player(1);
    intents(&mut player, &world_model(500.0), 0);
    let around = intents(&mut player, &world_model(500.0), 1);
    let sides = [Intent::Walk(Some(QUARTER_TURN)), Intent::Walk(Some(QUARTER_TURN.wrapping_neg()))];
    assert!(around.iter().any(|intent| sides.contains(intent)), "{around:?}");
}

#[test]
fn death_ends_the_current_goal_and_a_respawn_starts_over() {
    let mut player = player(1);
    intents(&mut player, &world_model(720.0), 0);
    assert_eq!(intents(&mut player, &WorldModel { own_player_id: None, ..world_model(720.0) }, 1), []);
    let again = intents(&mut player, &world_model(720.0), 2);
    assert!(again.contains(&Intent::Attack { on: true, heading: 0 }), "{again:?}");
}

#[test]
fn far_from_where_others_meet_it_goes_there_and_strikes_nothing() {
    let mut player = PlayPolicy::new(1, MeetingPoints::at(0.5, 500.0 / 14_400.0));
    player.is_hunter = false;
    assert_eq!(intents(&mut player, &world_model(500.0), 0), [Intent::Walk(Some(0)), Intent::Aim(0)]);
    assert_eq!(player.goal, Some(Goal::Meeting));
}

#[test]
fn a_settler_sometimes_strikes_back_at_its_attacker() {
    let mut answers = 0;
    for seed in 0..60 {
        let (mut player, mut world_model) = (player(seed), world_model(720.0));
        intents(&mut player, &world_model, 0);
        assert_eq!(player.goal, Some(Goal::Object(TREE.id)));
        world_model.players.insert(2, known(650.0));
        world_model.players.get_mut(&1).expect("oneself").health = 75;
        let intents = intents(&mut player, &world_model, 1);
        let does = intents.contains(&Intent::Aim(1 << 15));
        assert_eq!(does, player.goal == Some(Goal::Player(2)), "{intents:?}");
        answers += u32::from(does);
    }
    assert!((5..30).contains(&answers), "{answers} of 60");
}

#[test]
fn a_settler_does_not_strike_a_player_that_gathers_beside_it() {
    let (mut player, mut world_model) = (player(1), world_model(720.0));
    world_model.players.insert(2, known(760.0));
    let strike = Intent::Attack { on: true, heading: 0 };
    assert!(!intents(&mut player, &world_model, 0).contains(&strike));
    world_model.players.insert(2, known(600.0));
    player.goal = Some(Goal::Object(TREE.id));
    assert!(intents(&mut player, &world_model, 1).contains(&strike), "who is behind is not in the way");
}

#[test]
fn a_walled_in_bot_strikes_the_wall() {
    let (mut player, mut world_model) = (player(1), world_model(500.0));
    let wall = Object { id: 8, kind: None, x_px: 590.0, scale_px: 50.0, structure: Some((3, 2)), ..TREE };
    world_model.objects.insert(wall.id, wall);
    let strikes = (0..20).any(|second| {
        let intents = intents(&mut player, &world_model, second);
        player.goal == Some(Goal::Object(wall.id))
            && intents.contains(&Intent::Attack { on: true, heading: 0 })
    });
    assert!(strikes);
}

#[test]
fn it_gathers_what_it_lacks() {
    let mut world_model = world_model(720.0);
    let rock = Object { id: 9, kind: Some(2), x_px: 300.0, scale_px: 80.0, ..TREE };
    world_model.objects.insert(rock.id, rock);
    world_model.stock = [500, 500, 0, 500];
    let mut player = player(1);
    intents(&mut player, &world_model, 0);
    assert_eq!(player.goal, Some(Goal::Object(rock.id)), "although the tree is nearer");
}

#[test]
fn with_a_bow_it_shoots_from_afar_while_it_can_pay() {
    let (mut hunter, mut world_model) = (player(1), world_model(720.0));
    world_model.players.insert(2, known(300.0));
    world_model.inventory.weapons = vec![0, 9];
    let with = |hunter: &mut PlayPolicy, world_model: &WorldModel, second| {
        hunter.goal = Some(Goal::Player(2));
        hunter.goal_ends = Duration::from_secs(100);
        intents(hunter, world_model, second)
    };
    world_model.stock = [4, 0, 0, 0];
    let shoots = with(&mut hunter, &world_model, 0);
    assert!(shoots.contains(&Intent::Select { id: 9, is_weapon: true }), "{shoots:?}");
    assert!(shoots.contains(&Intent::Attack { on: true, heading: 1 << 15 }), "{shoots:?}");
    world_model.stock = [3, 0, 0, 0];
    let strikes = with(&mut hunter, &world_model, 1);
    assert!(strikes.contains(&Intent::Select { id: 0, is_weapon: true }), "{strikes:?}");
    assert!(
        strikes.contains(&Intent::Attack { on: false, heading: 1 << 15 }),
        "it is too far away: {strikes:?}"
    );
}

#[test]
fn it_spares_its_clan_and_hunts_animals() {
    let (mut hunters, mut herders) = (0, 0);
    for seed in 0..60 {
        let (mut hunter, mut world_model) = (player(seed), world_model(720.0));
        hunter.is_hunter = true;
        world_model.players.insert(2, known(650.0));
        world_model.clan_state.own = Some("owls".to_owned());
        world_model.clan_state.members = vec![1, 2];
        let cow = Animal { id: 3, kind: 0, x_px: 500.0, y_px: 500.0, health: 500 };
        world_model.animals.insert(3, cow);
        intents(&mut hunter, &world_model, 0);
        hunters += u32::from(hunter.goal == Some(Goal::Player(2)));
        herders += u32::from(hunter.goal == Some(Goal::Animal(3)));
    }
    assert_eq!(hunters, 0);
    assert!((3..30).contains(&herders), "{herders} of 60");
}

#[test]
fn a_bot_does_not_attack_a_player_with_spawn_protection() {
    for seed in 0..30 {
        let (mut hunter, mut world_model) = (player(seed), world_model(720.0));
        hunter.is_hunter = true;
        world_model.objects.clear();
        world_model.players.insert(2, ModelPlayer { is_protected: true, ..known(650.0) });
        intents(&mut hunter, &world_model, 0);
        assert_ne!(hunter.goal, Some(Goal::Player(2)), "seed {seed}");
    }
}
