//! Spatial queries, compared with a search through all objects: scenery and structures on maps of
//! each size, and animals in the sorted index.

use crate::entity::{EntityId, PlayerId};
use crate::fixed::{Angle, Fixed};
use crate::rng::Rng;
use crate::rules::{self, AnimalKind, TickHz};
use crate::terrain::grid::{GridShape, Occupied};
use crate::terrain::sorted_index::SortedIndex;
use crate::terrain::{Obstacle, PlacedStructure, Terrain};
use crate::tests::animals::{animal_mut, appear, beast};
use crate::tests::{bare_world, put, wait};

/// The minimum size, the largest with one word per row of cells, the smallest with two, and the
/// maximum size.
const SIZES_PX: [u32; 4] = [rules::MAP_SIZE_MIN_PX, 16_383, 16_384, rules::MAP_SIZE_MAX_PX];

/// A random position on the map or slightly off it.
fn anywhere(rng: &mut Rng, size_px: u32) -> (Fixed, Fixed) {
    let mut side = || Fixed::from_px(rng.between(-200, size_px as i32 + 200));
    (side(), side())
}

/// Whether a circle overlaps a square, given the square's centre and half its side.
fn reaches(at: (Fixed, Fixed), radius_px: i32, (x, y): (Fixed, Fixed), half: Fixed) -> bool {
    let reach = half.saturating_add(Fixed::from_px(radius_px)).0.unsigned_abs();
    at.0.distance(x) <= reach && at.1.distance(y) <= reach
}

#[test]
fn cells_are_noted_as_occupied_one_by_one() {
    let mut rng = Rng::new(1, 1);
    for size_px in SIZES_PX {
        let shape = GridShape::new(size_px);
        let mut occupied = Occupied::none(shape);
        let mut expected = vec![false; shape.cells()];
        for _ in 0..500 {
            let (x, y) = anywhere(&mut rng, size_px);
            let cell = shape.cell(x, y);
            expected[cell] = rng.below(3) > 0;
            if expected[cell] {
                occupied.set(cell);
            } else {
                occupied.unset(cell);
            }
        }
        let used: Vec<usize> = (0..expected.len()).filter(|cell| expected[*cell]).collect();
        assert!(used.len() > 15, "{} of {size_px} px", used.len());
        assert_eq!(occupied.each().collect::<Vec<_>>(), used, "{size_px} px");
        for _ in 0..300 {
            let (x, y) = anywhere(&mut rng, size_px);
            let cells = shape.around(x, y, Fixed::from_px(rng.between(0, 3_000)));
            let looked_at: Vec<usize> = shape.each(cells).collect();
            let found: Vec<usize> = used.iter().copied().filter(|cell| looked_at.contains(cell)).collect();
            let ends = shape.stretches(cells).filter_map(|stretch| occupied.ends_of(stretch));
            let between = ends.flat_map(|(first, last)| first..=last).filter(|cell| expected[*cell]);
            assert_eq!(between.collect::<Vec<_>>(), found, "{size_px} px");
        }
        occupied.clear();
        assert_eq!(occupied.each().next(), None);
    }
}

#[test]
fn every_object_that_overlaps_a_square_is_found_on_every_map() {
    let mut rng = Rng::new(2, 1);
    for size_px in SIZES_PX {
        let things: Vec<Obstacle> = (0..400)
            .map(|_| {
                let (x, y) = anywhere(&mut rng, size_px);
                Obstacle { x, y, radius_px: rng.between(10, 150) }
            })
            .collect();
        let mut terrain = Terrain::new(size_px, things.clone());
        let mut standing = Vec::new();
        for id in 0..400 {
            let (x, y) = anywhere(&mut rng, size_px);
            let item = &rules::ITEMS[3 + rng.below(15) as usize];
            let one = PlacedStructure {
                id: EntityId(70_000 + id),
                owner: PlayerId(1),
                item,
                x,
                y,
                heading: Angle(0),
            };
            terrain.put_up(one);
            standing.push(one);
            if rng.below(4) == 0 {
                let gone = standing.swap_remove(rng.below(standing.len() as u32) as usize);
                terrain.take_down(&gone);
            }
        }
        let mut count = 0;
        for _ in 0..600 {
            let at = anywhere(&mut rng, size_px);
            let half = Fixed::from_px(rng.between(0, 900));
            let mut found: Vec<usize> =
                terrain.obstacles_around(at.0, at.1, half).map(|(at, _)| at).collect();
            found.sort_unstable();
            let expected = (0..things.len()).filter(|thing| {
                let Obstacle { x, y, radius_px } = things[*thing];
                reaches((x, y), radius_px, at, half)
            });
            for thing in expected {
                assert!(found.binary_search(&thing).is_ok(), "thing {thing} on {size_px} px");
                count += 1;
            }
            let found: Vec<EntityId> = terrain.built_around(at.0, at.1, half).map(|one| one.id).collect();
            for one in standing.iter().filter(|one| reaches((one.x, one.y), one.item.scale_px, at, half)) {
                assert!(found.contains(&one.id), "{one:?} on {size_px} px");
                count += 1;
            }
            assert!(
                found.iter().all(|id| standing.iter().any(|one| one.id == *id)),
                "what is gone is not found"
            );
        }
        assert!(count > 300, "{count} on {size_px} px");
    }
}

#[test]
fn a_row_is_sorted_however_far_its_entries_moved() {
    let mut rng = Rng::new(3, 1);
    let mut row = SortedIndex::default();
    let mut places: Vec<Fixed> = Vec::new();
    for turn in 0..200 {
        match rng.below(4) {
            0 => places.push(Fixed::from_px(rng.between(0, 300))),
            1 if places.len() > 20 => {
                places.remove(rng.below(places.len() as u32) as usize);
            }
            _ => places.iter_mut().for_each(|x| *x = x.saturating_add(Fixed::from_px(rng.between(-2, 2)))),
        }
        if turn % 20 == 19 {
            places.reverse();
        }
        row.invalidate();
        row.update(places.len(), |at| places[at]);
        let (x, reach) = (Fixed::from_px(rng.between(0, 300)), Fixed::from_px(rng.between(0, 80)));
        let mut expected: Vec<usize> =
            (0..places.len()).filter(|at| places[*at].distance(x) <= reach.0 as u32).collect();
        expected.sort_by_key(|at| (places[*at], *at));
        assert_eq!(row.around(x, reach).collect::<Vec<_>>(), expected, "turn {turn}");
        // An update without a preceding `invalidate` does not query the positions.
        row.update(places.len(), |_| panic!("it knows"));
    }
    assert!(places.len() > 20);
}

#[test]
fn each_tick_knows_where_the_animals_are_after_they_pushed_each_other() {
    let mut rng = Rng::new(4, 1);
    let mut world = bare_world(TickHz::Hz30);
    put(&mut world, 1, 9_000, 5_000);
    for at in 0..12 {
        appear(&mut world, AnimalKind::Cow, 4_000 + 300 * at, 5_000);
    }
    let mut pushed = 0;
    for _ in 0..60 {
        // Two animals are put on top of each other.
        let (a, b) = (rng.below(12) as usize, rng.below(12) as usize);
        let (x, y) = (beast(&world, a).x, beast(&world, a).y);
        let body = &mut world.state.animals[b].body;
        (body.x, body.y) = (x.saturating_add(Fixed::from_px(1)), y);
        animal_mut(&mut world, b).was_pushed = true;
        let before = beast(&world, b).x;
        wait(&mut world, 1);
        pushed += usize::from(beast(&world, b).x != before);
        world.update_position_indices();
        let mut fresh = SortedIndex::default();
        fresh.update(12, |at| beast(&world, at).x);
        let reach = Fixed::from_px(10_000);
        let places = |row: &SortedIndex| row.around(Fixed::ZERO, reach).collect::<Vec<_>>();
        assert_eq!(places(&world.animal_index), places(&fresh));
        // Each animal is found at the position that the index stores.
        for at in 0..12 {
            assert!(
                world.animal_index.around(beast(&world, at).x, Fixed::ZERO).any(|found| found == at),
                "animal {at}"
            );
        }
    }
    assert!(pushed > 30, "{pushed} were pushed");
}
