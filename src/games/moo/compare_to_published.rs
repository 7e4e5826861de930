//! Compares a bot's world model, built from all received messages, with the published state of the
//! last message.

use std::collections::BTreeSet;

use super::bot::world_model::WorldModel;
use super::published::PublishedState;
use crate::games::moo::feed::interest::Located;
use crate::games::moo::world::{EntityId, Fixed, PlayerId};
use crate::limits;

/// Compares a world model with the state that was sent to its client. Returns `false` without a
/// comparison if the client has no living body.
///
/// # Errors
/// The first difference.
pub fn compare_to_published(
    world_model: &WorldModel,
    own: Option<PlayerId>,
    state: &PublishedState,
) -> Result<bool, String> {
    match state.living(own) {
        Some(index) => differences(world_model, index, state).map(|()| true),
        None => Ok(false),
    }
}

fn differences(world_model: &WorldModel, index: usize, state: &PublishedState) -> Result<(), String> {
    let (own, window) = (&state.players[index], state.window(Some(index)));
    check_same("its own player", world_model.own_player_id, Some(own.player.0.into()))?;
    check_same("its resources", world_model.stock, own.resources)?;
    check_same("its age", world_model.age.max(1), own.age.into())?;
    let max_px = if world_model.is_native { 0.5 } else { 1.0 };
    let near = |what: &str, received: (f64, f64), x: Fixed, y: Fixed| {
        let is = (px(x), px(y));
        let off = (received.0 - is.0).abs().max((received.1 - is.1).abs());
        if off <= max_px {
            Ok(())
        } else {
            Err(format!("{what} is at {is:?}, but the client has it at {received:?}"))
        }
    };
    let visible = || state.players.iter().filter(|one| one.alive && window.intersects(one.place()));
    if visible().count() <= limits::ENTERS_PER_UPDATE {
        let expected: BTreeSet<u32> = visible().map(|one| one.player.0.into()).collect();
        let known = world_model.players.iter().filter(|(_, known)| known.in_view);
        check_same("players in view", known.map(|(player, _)| *player).collect(), expected)?;
    }
    for expected_player in visible() {
        let Some(known) = world_model.players.get(&expected_player.player.0.into()) else { continue };
        let what = format!("player {}", expected_player.player.0);
        near(&what, (known.x_px, known.y_px), expected_player.body.x, expected_player.body.y)?;
        check_same(&format!("the health of {what}"), known.health, expected_player.health.into())?;
        check_same(&format!("the name of {what}"), known.name.as_str(), &expected_player.name)?;
        let is_protected = world_model.is_native && expected_player.is_protected;
        check_same(&format!("the spawn protection of {what}"), known.is_protected, is_protected)?;
    }
    let animals = || state.animals.iter().filter(|animal| window.intersects(animal.place()));
    let number = |id: EntityId| id.0.wrapping_sub(EntityId::FIRST_ANIMAL.0);
    let expected: BTreeSet<u32> = animals().map(|animal| number(animal.id)).collect();
    check_same("animals in view", world_model.animals.keys().copied().collect(), expected)?;
    for animal in animals() {
        let Some(known) = world_model.animals.get(&number(animal.id)) else { continue };
        let what = format!("animal {}", number(animal.id));
        near(&what, (known.x_px, known.y_px), animal.body.x, animal.body.y)?;
        check_same(&format!("the health of {what}"), known.health, animal.body.health.into())?;
    }
    if world_model.is_native {
        let structures = &state.structures.index;
        let in_view = structures.iter().filter(|built| window.intersects(built.place));
        if let Some(missing) =
            in_view.map(|built| built.id.0).find(|id| !world_model.objects.contains_key(id))
        {
            return Err(format!("structure {missing} in view is not known"));
        }
        let known = world_model.objects.values().filter(|object| object.structure.is_some());
        let exists = |id: u32| structures.iter().any(|built| built.id.0 == id);
        if let Some(gone) = known.map(|object| object.id).find(|id| !exists(*id)) {
            return Err(format!("structure {gone} is known but gone"));
        }
    }
    Ok(())
}

fn px(length: Fixed) -> f64 {
    f64::from(length.to_half_px()) / 2.0
}

fn check_same<T: PartialEq + std::fmt::Debug>(what: &str, received: T, is: T) -> Result<(), String> {
    if received == is {
        Ok(())
    } else {
        Err(format!("{what}: the client has {received:?}, but it is {is:?}"))
    }
}
