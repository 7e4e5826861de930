//! Unit tests of the world, grouped by subject. They may use floating point to recompute committed
//! values.

mod animals;
pub mod combat;
pub mod players;
pub mod state;
pub mod terrain;

use crate::command::{Action, Command, Selection};
use crate::controller::{Controller, Player};
use crate::entity::{Body, Entity, EntityId, PlayerId};
use crate::event::WorldEvent;
use crate::fixed::{Angle, Fixed};
use crate::rules::{self, TickHz};
use crate::state::Identity;
use crate::world::World;
use tickwire_sim::state_tree::{FieldDiff, StateTree};

/// A world with the default map size and tick rate.
pub(crate) fn world(seed: u32) -> World {
    world_at(seed, TickHz::Hz30)
}

pub(crate) fn world_at(seed: u32, tick_hz: TickHz) -> World {
    World::new(Identity { seed, map_size_px: 14_400, tick_hz })
}

/// A world without scenery and animals, so that players can walk anywhere.
pub(crate) fn bare_world(tick_hz: TickHz) -> World {
    let mut state = without_animals(world_at(1, tick_hz)).state;
    state.scenery.clear();
    World::from_state(state)
}

/// Removes the animals of a world, so that they cannot interfere with a test.
pub(crate) fn without_animals(mut world: World) -> World {
    world.state.animals.clear();
    world
}

/// The first field in which two worlds differ.
pub(crate) fn difference(ours: &World, theirs: &World) -> Option<FieldDiff> {
    StateTree::of(ours).differences(&StateTree::of(theirs), 1).pop()
}

pub(crate) fn command(player: u16, sequence: u64, action: Action) -> Command {
    Command { player: PlayerId(player), sequence, action }
}

pub(crate) fn join(sequence: u64, player: u16) -> Command {
    let name = format!("p{player}");
    command(0, sequence, Action::Join { player: PlayerId(player), name, skin: 3 })
}

/// Joins a player without spawn protection, and moves it to a position.
pub(crate) fn put(world: &mut World, player: u16, x_px: i32, y_px: i32) {
    let sequence = world.state.operator_sequence + 1;
    world.step(&mut vec![join(sequence, player)]);
    assert_eq!(world.outcome().rejected, []);
    unprotect(world, player);
    let body = body_mut(world, player);
    body.x = Fixed::from_px(x_px);
    body.y = Fixed::from_px(y_px);
}

/// Ends the spawn protection of a player, as if its time had passed.
pub(crate) fn unprotect(world: &mut World, player: u16) {
    player_mut(world, player).protection = 0;
}

pub(crate) fn body_mut(world: &mut World, player: u16) -> &mut Body {
    world.player_mut(PlayerId(player)).expect("the player is there").1
}

pub(crate) fn body(world: &World, player: u16) -> &Body {
    world.player(PlayerId(player)).expect("the player is there").body
}

pub(crate) fn player(world: &World, player: u16) -> &Player {
    let at = world.find(PlayerId(player)).expect("the player is there");
    match &world.state.players[at] {
        Entity { controller: Controller::Player(player), .. } => player,
        _ => panic!("a player is a player"),
    }
}

/// Executes a `Move` command of a player, and one tick.
pub(crate) fn walk(world: &mut World, player: u16, direction: Option<u16>) {
    let sequence = world.player(PlayerId(player)).expect("the player is there").sequence + 1;
    world.step(&mut vec![command(player, sequence, Action::Move { direction: direction.map(Angle) })]);
    assert_eq!(world.outcome().rejected, []);
}

/// Executes a command of a player, and one tick.
pub(crate) fn act(world: &mut World, player: u16, action: Action) {
    let sequence = world.player(PlayerId(player)).expect("the player is there").sequence + 1;
    world.step(&mut vec![command(player, sequence, action)]);
    assert_eq!(world.outcome().rejected, []);
}

/// Executes one swing of a player, and one tick: in its direction of view, with the weapon in its
/// hand.
pub(crate) fn swing(world: &mut World, player: u16) {
    act(world, player, Action::Attack { on: true });
    player_mut(world, player).hand.attacking = false;
}

pub(crate) fn player_mut(world: &mut World, player: u16) -> &mut Player {
    world.player_mut(PlayerId(player)).expect("the player is there").0
}

/// Gives a player 10,000 of each resource, and puts an item into its hand.
pub(crate) fn hold(world: &mut World, player: u16, item: u8) {
    let having = player_mut(world, player);
    having.resources = [10_000; 4];
    having.kit.items[rules::item(item).expect("an item").group as usize] = Some(item);
    act(world, player, Action::Select { what: Selection::Item(item) });
}

/// Builds an item in a direction. Panics if that is not possible.
pub(crate) fn build(world: &mut World, player: u16, item: u8, heading: u16) -> EntityId {
    hold(world, player, item);
    body_mut(world, player).heading = Angle(heading);
    act(world, player, Action::Attack { on: true });
    match events(world).iter().find_map(|event| match event {
        WorldEvent::Placed { object } => Some(*object),
        _ => None,
    }) {
        Some(object) => object,
        None => panic!("nothing was built: {:?}", events(world)),
    }
}

/// The events of the last tick.
pub(crate) fn events(world: &World) -> &[WorldEvent] {
    &world.outcome().events
}

/// Executes ticks without commands.
pub(crate) fn wait(world: &mut World, ticks: u32) {
    let mut none = Vec::new();
    for _ in 0..ticks {
        world.step(&mut none);
    }
}

/// Converts a coordinate to pixels, with its fraction.
pub(crate) fn px(at: Fixed) -> f64 {
    f64::from(at.0) / 65_536.0
}

pub(crate) fn distance_px(a: &Body, b: &Body) -> f64 {
    (px(a.x) - px(b.x)).hypot(px(a.y) - px(b.y))
}
