//! The index of player positions, compared with a search through all players.

use crate::command::Action;
use crate::entity::Embodied as _;
use crate::entity::{Entity, PlayerId};
use crate::fixed::Fixed;
use crate::player_index::{IndexedPlayer, PlayerIndex};
use crate::rng::Rng;
use crate::terrain::grid::GridShape;
use crate::tests::{bare_world, body, body_mut, command, player_mut, put, wait};
use crate::world::World;
use crate::TickHz;

const SIZE_PX: u32 = 1_440;

/// Sixty players, a third of them dead, some off the map.
fn throng(rng: &mut Rng) -> World {
    let mut world = bare_world(TickHz::Hz30);
    for id in 1..=60 {
        put(&mut world, id, rng.between(-300, 1_800), rng.between(-300, 1_800));
        if rng.below(3) == 0 {
            player_mut(&mut world, id).alive = false;
        }
    }
    world
}

/// Indices of the living players in a square, given its centre and half its side.
fn found(crowd: &PlayerIndex, (x, y, reach): (Fixed, Fixed, Fixed)) -> Vec<u32> {
    let near = crowd.near(x, y, reach).filter(|spot| spot.squared_distance(x, y, reach).is_some());
    near.map(|spot| spot.at).collect()
}

fn expected(players: &[Entity], (x, y, reach): (Fixed, Fixed, Fixed)) -> Vec<u32> {
    let is_in = |a: Fixed, b: Fixed| a.0.abs_diff(b.0) <= reach.0.unsigned_abs();
    let near = |it: &Entity| it.is_alive() && is_in(it.body.x, x) && is_in(it.body.y, y);
    (0..).zip(players).filter(|(_, it)| near(it)).map(|(at, _)| at).collect()
}

#[test]
fn exactly_the_living_players_are_found_once() {
    let mut rng = Rng::new(1, 1);
    let mut crowd = PlayerIndex::new(SIZE_PX);
    let mut count = 0;
    for _ in 0..20 {
        let world = throng(&mut rng);
        crowd.invalidate();
        crowd.update(&world.state.players);
        for _ in 0..50 {
            let place = (rng.between(-300, 1_800), rng.between(-300, 1_800), rng.between(0, 700));
            let square = (Fixed::from_px(place.0), Fixed::from_px(place.1), Fixed::from_px(place.2));
            let mut found = found(&crowd, square);
            found.sort_unstable();
            assert_eq!(found, expected(&world.state.players, square), "around {place:?}");
            count += found.len();
        }
    }
    assert!(count > 1_000, "{count} were seen");
}

#[test]
fn in_a_cell_the_lowest_number_is_first_and_slots_refer_back() {
    let mut rng = Rng::new(2, 1);
    let world = throng(&mut rng);
    let mut crowd = PlayerIndex::new(SIZE_PX);
    crowd.update(&world.state.players);
    let mut lists = 0;
    let all = (Fixed::ZERO, Fixed::ZERO, Fixed::from_px(3_000));
    for stretch in crowd.stretches_near(all.0, all.1, all.2) {
        let line: Vec<IndexedPlayer> = crowd.slots_in(stretch).map(|slot| crowd.spot(slot)).collect();
        let places: Vec<_> =
            line.iter().map(|spot| (GridShape::new(SIZE_PX).cell(spot.x, spot.y), spot.at)).collect();
        assert!(places.windows(2).all(|pair| pair[0] < pair[1]), "{places:?}");
        for (slot, spot) in crowd.slots_in(stretch).zip(&line) {
            assert_eq!(crowd.slot_of(spot.at as usize), slot);
        }
        lists += places.windows(2).filter(|pair| pair[0].0 == pair[1].0).count();
    }
    assert!(lists > 5, "{lists} share a cell");
}

#[test]
fn the_index_is_rebuilt_only_when_it_is_stale() {
    let mut world = bare_world(TickHz::Hz30);
    put(&mut world, 1, 200, 200);
    let mut crowd = PlayerIndex::new(SIZE_PX);
    crowd.update(&world.state.players);
    body_mut(&mut world, 1).x = Fixed::from_px(1_200);
    let at = |px: i32| (Fixed::from_px(px), Fixed::from_px(200), Fixed::from_px(50));
    crowd.update(&world.state.players);
    assert_eq!((found(&crowd, at(200)), found(&crowd, at(1_200))), (vec![0], vec![]));
    crowd.invalidate();
    crowd.update(&world.state.players);
    assert_eq!((found(&crowd, at(200)), found(&crowd, at(1_200))), (vec![], vec![0]));
}

#[test]
fn each_tick_knows_where_everyone_is_after_it() {
    let mut rng = Rng::new(3, 1);
    let mut world = throng(&mut rng);
    // All players attack, so that the tick itself queries the index.
    (1..=60).for_each(|id| player_mut(&mut world, id).hand.attacking = true);
    for turn in 0..30 {
        // Some players are moved to the corner of four cells, so that they push each other across
        // the borders.
        for id in (1..=60).filter(|id| (id + turn) % 5 == 0) {
            let side = |at: i32| Fixed::from_px(768 + at);
            (body_mut(&mut world, id).x, body_mut(&mut world, id).y) =
                (side(rng.between(-30, 30)), side(rng.between(-30, 30)));
        }
        wait(&mut world, 1);
        world.player_index.update(&world.state.players);
        for _ in 0..20 {
            let side = |px: i32| Fixed::from_px(px);
            let square =
                (side(rng.between(400, 1_100)), side(rng.between(400, 1_100)), side(rng.between(0, 300)));
            let mut found = found(&world.player_index, square);
            // Players that died in this tick may still be listed.
            found.retain(|at| world.state.players[*at as usize].is_alive());
            found.sort_unstable();
            assert_eq!(found, expected(&world.state.players, square), "around {square:?}");
        }
        for (at, entity) in world.state.players.iter().enumerate().filter(|(_, it)| it.is_alive()) {
            let spot = world.player_index.spot(world.player_index.slot_of(at));
            assert_eq!((spot.x, spot.y, spot.at), (entity.body.x, entity.body.y, at as u32));
        }
    }
}

#[test]
fn players_that_join_and_leave_are_found_at_their_positions() {
    let mut rng = Rng::new(4, 1);
    let mut world = bare_world(TickHz::Hz30);
    for sequence in 1..=300 {
        let player = PlayerId(1 + rng.below(40) as u16);
        let is_in_world = world.find(player).is_ok();
        let come = Action::Join { player, name: String::new(), skin: 0 };
        let action = if is_in_world { Action::Leave { player } } else { come };
        world.step(&mut vec![command(0, sequence, action)]);
        let restored = World::restore(&world.snapshot()).expect("it is a snapshot");
        assert_eq!(restored.index_by_player, world.index_by_player);
        for id in (0..=41).map(PlayerId) {
            let searched = world.state.players.binary_search_by_key(&id.entity(), |entity| entity.id);
            assert_eq!((world.find(id), restored.find(id)), (searched, searched), "{id:?}");
        }
    }
    assert!(world.state.players.len() > 10);
}

#[test]
fn a_player_respawned_in_this_tick_counts_for_the_next_spawn() {
    let mut world = bare_world(TickHz::Hz30);
    (1..=3).for_each(|id| put(&mut world, id, 5_000, 5_000));
    for id in 1..=3 {
        let player = player_mut(&mut world, id);
        player.alive = false;
        body_mut(&mut world, id).health = 0;
    }
    let respawn = |id: u16| {
        let sequence = 1;
        command(id, sequence, Action::Respawn { name: String::new(), skin: 0 })
    };
    world.step(&mut (1..=3).map(respawn).collect());
    assert_eq!(world.outcome().rejected, []);
    for (a, b) in [(1, 2), (1, 3), (2, 3)] {
        let (a, b) = (body(&world, a), body(&world, b));
        let (aside, above) = (a.x.0.abs_diff(b.x.0) >> 16, a.y.0.abs_diff(b.y.0) >> 16);
        assert!(aside <= 1_200 && above <= 800, "{aside} px aside, {above} px above");
        assert!(aside >= 95 || above >= 95, "not on top of one another");
    }
}
