//! The area of interest, and how often clients are sent it.

use std::sync::Arc;

use crate::told::Published;
use tickwire::game::{Messages, Publisher as _, StateOutcome, UpdateRates, View as _};
use tickwire::internal::games::moo::feed::interest::{Circle, EntityIndex, Located, ViewWindow};
use tickwire::internal::games::moo::world::{Identity, TickHz, World};
use tickwire::internal::games::moo::{MooPublisher, MooScratch, MooView};
use tickwire::packet::PacketTables;

#[test]
fn the_rim_counts_not_the_centre() {
    let window = ViewWindow { x: 5000, y: 5000 };
    let sees = |x_px, y_px, radius_px| window.intersects(Circle { x_px, y_px, radius_px });
    assert!(sees(5000 + 1248 + 35, 5000, 35));
    assert!(!sees(5000 + 1248 + 36, 5000, 35));
    assert!(sees(5000, 5000 - 702 - 150, 150));
    assert!(!sees(5000, 5000 - 702 - 151, 150));
}

struct Stone(i32);

impl Located for Stone {
    type Id = i32;

    fn id(&self) -> i32 {
        self.0
    }

    fn place(&self) -> Circle {
        Circle { x_px: self.0 * 7919 % 14_401, y_px: self.0 * 104_729 % 14_401, radius_px: 35 + self.0 % 140 }
    }
}

#[test]
fn the_grid_finds_all_that_a_look_at_everything_finds() {
    let things = EntityIndex::new((0..3_000).map(Stone).collect());
    for (x, y) in [(0, 0), (14_400, 14_400), (7_000, 3_000), (13_999, 20)] {
        let (window, mut marks, mut found) = (ViewWindow { x, y }, vec![u64::MAX], vec![7]);
        things.collect_visible(window, None, &mut marks, &mut found);
        let mut expected: Vec<u32> =
            (0..3_000).filter(|index| window.intersects(things[*index as usize].place())).collect();
        assert!(!expected.is_empty());
        assert_eq!(found, expected);
        let own = expected.remove(expected.len() / 2);
        things.collect_visible(window, Some(own as usize), &mut marks, &mut found);
        assert_eq!(found, expected, "without {own}");
    }
}

#[test]
fn turns_come_at_their_rate_and_evenly_and_natural_objects_are_published_once() {
    let mut world = World::new(Identity { seed: 1, map_size_px: 14_400, tick_hz: TickHz::Hz30 });
    let mut publisher = MooPublisher::new(&world, UpdateRates { tick_hz: 30, update_hz: 20, foreign_hz: 10 });
    let step = |_| {
        world.step(&mut Vec::new());
        publisher.publish(&world, &|_| 0)
    };
    let ticks: Vec<Published> = (0..30).map(step).collect();
    assert!(ticks.iter().all(|tick| Arc::ptr_eq(&tick.state.nature, &ticks[0].state.nature)));
    assert_eq!(ticks[0].state.nature.len(), world.scenery().count());
    for (dialect, expected, max) in [("native", 20, 2), ("letters", 10, 3)] {
        let dialect = PacketTables::builtin().dialect(dialect).expect("built in");
        let mut view = MooView::new(&dialect);
        let (mut scratch, mut messages) = (MooScratch::default(), Messages::default());
        let is_turn = |tick: &&Published| {
            view.update(&[], tick, false, &dialect, &mut scratch, &mut messages) == StateOutcome::Written
        };
        let turns: Vec<u32> = ticks.iter().filter(is_turn).map(|tick| tick.state.tick).collect();
        assert_eq!(turns.len(), expected, "{turns:?}");
        assert!(turns.windows(2).all(|pair| pair[1] - pair[0] <= max), "{turns:?}");
    }
}
