//! Map generation from the seed: counts, gaps and biomes.

use crate::controller::SceneryKind;
use crate::fixed::Fixed;
use crate::public_view::SceneryView;
use crate::spawn::map::{areas_per_side, generate, Biome, BiomeBands};
use crate::state::Identity;
use crate::tests::world;
use crate::world::World;
use crate::{EntityId, TickHz};

fn sized(seed: u32, map_size_px: u32) -> World {
    World::new(Identity { seed, map_size_px, tick_hz: TickHz::Hz30 })
}

fn count(world: &World, kind: SceneryKind) -> usize {
    world.scenery().filter(|thing| thing.kind == kind).count()
}

#[test]
fn the_usual_map_has_441_trees_147_bushes_32_rocks_7_gold() {
    for seed in 0..50 {
        let world = world(seed);
        let counts = SceneryKind::ALL.map(|kind| count(&world, kind));
        assert_eq!(counts, [441, 147, 32, 7], "seed {seed}");
    }
}

#[test]
fn other_sizes_have_as_much_by_their_area() {
    for (size_px, expected) in
        [(1_440, [9, 3, 1, 1]), (7_200, [144, 48, 8, 2]), (28_800, [1764, 588, 128, 28])]
    {
        let world = sized(5, size_px);
        assert_eq!(SceneryKind::ALL.map(|kind| count(&world, kind)), expected, "{size_px}");
    }
    assert_eq!((areas_per_side(14_400), areas_per_side(7_200), areas_per_side(1_440)), (7, 4, 1));
}

#[test]
fn a_size_out_of_bounds_is_clamped() {
    assert_eq!(sized(1, 0).identity().map_size_px, 1_440);
    assert_eq!(sized(1, u32::MAX).identity().map_size_px, 32_000);
}

#[test]
fn a_player_fits_between_any_two_objects_and_the_edge() {
    for seed in 0..10 {
        let world = world(seed);
        let things: Vec<SceneryView> = world.scenery().collect();
        for (index, a) in things.iter().enumerate() {
            let from_edge = [a.x_px, a.y_px, 14_400 - a.x_px, 14_400 - a.y_px];
            assert!(from_edge.iter().all(|gap| *gap >= a.radius_px + 80), "seed {seed}: {a:?}");
            for b in &things[index + 1..] {
                let apart = f64::from(a.x_px - b.x_px).hypot(f64::from(a.y_px - b.y_px));
                assert!(apart >= f64::from(a.radius_px + b.radius_px + 80), "seed {seed}: {a:?} {b:?}");
            }
        }
    }
}

#[test]
fn the_river_has_no_scenery() {
    for seed in 0..20 {
        let dry = |thing: &SceneryView| {
            thing.y_px + thing.radius_px < 6_838 || thing.y_px - thing.radius_px > 7_562
        };
        assert!(world(seed).scenery().all(|thing| dry(&thing)), "seed {seed}");
    }
}

#[test]
fn sizes_are_those_of_their_kind_and_leaves_can_be_walked_into() {
    let mut rows = std::collections::BTreeSet::new();
    for thing in world(3).scenery() {
        rows.insert((thing.kind, thing.scale_px, thing.radius_px));
    }
    let of = |kind| rows.iter().filter(|row| row.0 == kind).map(|row| (row.1, row.2)).collect::<Vec<_>>();
    assert_eq!(of(SceneryKind::Tree), [(150, 90), (160, 96), (165, 99), (175, 105)]);
    assert_eq!(of(SceneryKind::Bush), [(80, 48), (85, 51), (95, 57)]);
    assert_eq!(of(SceneryKind::Rock), [(80, 80), (85, 85), (90, 90)]);
    assert!(of(SceneryKind::Gold).iter().all(|(scale, radius)| scale == radius));
}

#[test]
fn numbers_begin_at_65536_and_have_no_holes() {
    let ids: Vec<u32> = generate(9, 14_400).iter().map(|entity| entity.id.0).collect();
    let expected: Vec<u32> =
        (0..ids.len() as u32).map(|index| EntityId::FIRST_NON_PLAYER.0 + index).collect();
    assert_eq!(ids, expected);
}

#[test]
fn one_seed_makes_one_map() {
    assert_eq!(generate(4, 14_400), generate(4, 14_400));
    assert_ne!(generate(4, 14_400), generate(5, 14_400));
}

#[test]
fn the_land_changes_from_north_to_south() {
    let bands = BiomeBands::new(14_400);
    let at = |y_px: i32| bands.biome_at(Fixed::from_px(y_px));
    let rows = [
        (0, Biome::Snow),
        (2_400, Biome::Snow),
        (2_401, Biome::Plains),
        (6_837, Biome::Plains),
        (6_838, Biome::River),
        (7_562, Biome::River),
        (7_563, Biome::Plains),
        (11_999, Biome::Plains),
        (12_000, Biome::Desert),
        (14_400, Biome::Desert),
    ];
    for (y_px, biome) in rows {
        assert_eq!(at(y_px), biome, "at {y_px}");
    }
    assert_eq!(BiomeBands::new(7_200).river_start_px, 3_600 - 181);
    assert_eq!(world(1).bands(), bands);
}
