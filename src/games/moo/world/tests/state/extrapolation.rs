//! Controllers run without server updates and without the rest of the world.

use crate::entity::PlayerId;
use crate::rules::TickHz;
use crate::terrain::{Obstacle, Terrain};
use crate::tests::{put, wait, walk, without_animals, world_at};

#[test]
fn the_controller_alone_predicts_the_world() {
    for rate in TickHz::ALL {
        let mut world = without_animals(world_at(8, rate));
        put(&mut world, 1, 3_000, 3_000);
        walk(&mut world, 1, Some(5_000));
        let at = world.find(PlayerId(1)).expect("the player is there");
        let mut guess = world.state.players[at].clone();
        for tick in 0..rate.get() * 20 {
            assert!(guess.act(world.terrain(), &rate.rates()));
            wait(&mut world, 1);
            assert_eq!(guess, world.state.players[at], "after {tick} ticks at {rate:?}");
        }
    }
}

#[test]
fn prediction_needs_only_nearby_obstacles() {
    let mut world = world_at(8, TickHz::Hz30);
    let tree = world.scenery().next().expect("there is a tree");
    put(&mut world, 1, tree.x_px - 200, tree.y_px + 10);
    walk(&mut world, 1, Some(0));
    let known = Obstacle {
        x: crate::Fixed::from_px(tree.x_px),
        y: crate::Fixed::from_px(tree.y_px),
        radius_px: tree.radius_px,
    };
    let partial = Terrain::new(14_400, vec![known]);
    let at = world.find(PlayerId(1)).expect("the player is there");
    let mut guess = world.state.players[at].clone();
    for _ in 0..40 {
        guess.act(&partial, &TickHz::Hz30.rates());
        wait(&mut world, 1);
    }
    assert_eq!(guess, world.state.players[at]);
}

#[test]
fn scenery_sleeps() {
    let world = world_at(8, TickHz::Hz30);
    let mut tree = world.state.scenery[0].clone();
    let before = tree.clone();
    assert!(!tree.act(world.terrain(), &TickHz::Hz30.rates()));
    assert_eq!(tree, before);
}

#[test]
fn obstacles_of_any_size_and_place_are_survived() {
    let mut world = world_at(8, TickHz::Hz15);
    put(&mut world, 1, 3_000, 3_000);
    walk(&mut world, 1, Some(9));
    let fixed = |parts| crate::Fixed(parts);
    let odd =
        [(i32::MIN, i32::MAX, i32::MAX), (i32::MAX, 0, 1), (0, 0, i32::MIN), (200_000_000, 200_000_000, -5)];
    let obstacles = odd.map(|(x, y, radius_px)| Obstacle { x: fixed(x), y: fixed(y), radius_px });
    let terrain = Terrain::new(u32::MAX, obstacles.to_vec());
    let at = world.find(PlayerId(1)).expect("the player is there");
    let mut entity = world.state.players[at].clone();
    for _ in 0..50 {
        entity.act(&terrain, &TickHz::Hz15.rates());
    }
    assert_eq!(terrain.map_size_px(), 32_000);
}
