//! Records of the MooMoo layout. Each entity is encoded once per tick, for the clients of all
//! dialects.

use crate::game::WireValues;
use crate::games::moo::feed::objects::{PublicScenery, PublicStructure};
use crate::games::moo::feed::published_state::{PublicAnimal, PublicPlayer, animal_number};
use crate::games::moo::world::rules;
use crate::games::moo::world::{EntityId, Fixed, PlayerId};
use crate::packet::angle::to_radians_2dec;

/// Number of names that MooMoo clients have for cows and pigs. Each of the other animal kinds has a
/// single name.
const NAMES: u32 = 45;

/// First ID of items that MooMoo clients do not know. They fail on such an ID.
const FIRST_UNKNOWN_ITEM: u8 = 23;

/// The item that MooMoo clients receive in place of an unknown item: a healing pad, a wood wall or
/// a spawn pad.
fn substitute_item(id: u8) -> u8 {
    match rules::item(id).map(|item| item.group) {
        _ if id < FIRST_UNKNOWN_ITEM => id,
        Some(group) if group.heals() => 19,
        Some(group) if group.is_solid() => 3,
        _ => 20,
    }
}

/// The number of an object on the wire.
pub fn object_number(id: EntityId) -> u32 {
    id.0 - EntityId::FIRST_NON_PLAYER.0
}

/// The ID of a player as text. An ID is reused only after the removal of its previous owner.
pub fn id_of(player: PlayerId) -> String {
    player.0.to_string()
}

/// Rounds a 16.16 coordinate to the nearest whole px.
pub fn round_px(at: Fixed) -> i64 {
    (i64::from(at.0) + (1 << 15)) >> 16
}

/// The 13 values of a player: sid, x, y, dir, build index, weapon, variant, team, is leader, skin,
/// tail, icon, z index.
pub fn player(public_player: &PublicPlayer) -> impl WireValues {
    let at = [public_player.body.x, public_player.body.y].map(round_px);
    let (item, variant) = (public_player.hand.item.map_or(-1, |item| substitute_item(item).into()), 0u8);
    let (team, is_leader) = match &public_player.tag {
        Some(tag) => (Some(&*tag.name), tag.is_owner),
        None => (None, false),
    };
    let looks = [0u8; 4];
    (
        public_player.player,
        at,
        radians(public_player),
        item,
        public_player.hand.weapon,
        variant,
        team,
        is_leader,
        looks,
    )
}

/// The 10 values of a player that enters the view: id, sid, name, x, y, dir, health, max health,
/// scale, skin.
pub fn added_player(player: &PublicPlayer) -> impl WireValues + Clone {
    let at = [player.body.x, player.body.y].map(round_px);
    let health = [player.health, player.max_health];
    let look = (player.body.radius_px, player.skin);
    (id_of(player.player), player.player, &*player.name, at, radians(player), health, look)
}

fn radians(player: &PublicPlayer) -> f64 {
    to_radians_2dec(player.body.heading.0)
}

/// The 8 values of a scenery object: sid, x, y, dir, scale, type, item, owner. Scenery has no item
/// and no owner.
pub fn natural(scenery: &PublicScenery) -> impl WireValues + use<> {
    let at = [scenery.place.x_px, scenery.place.y_px];
    (object_number(scenery.id), at, 0u8, scenery.place.radius_px, scenery.kind as u8, None::<u8>, -1i32)
}

/// The 8 values of a structure, as in [`natural`]. A structure has an item and no type. A structure
/// of the operator has no owner.
pub fn built(structure: &PublicStructure) -> impl WireValues + use<> {
    let at = [structure.place.x_px, structure.place.y_px];
    let owner = if structure.owner == PlayerId::OPERATOR { -1 } else { i32::from(structure.owner.0) };
    let direction = to_radians_2dec(structure.heading.0);
    (
        object_number(structure.id),
        at,
        direction,
        structure.place.radius_px,
        None::<u8>,
        substitute_item(structure.item),
        owner,
    )
}

/// The 7 values of an animal: sid, type, x, y, dir, health, index of its name.
pub fn animal(animal: &PublicAnimal) -> impl WireValues + use<> {
    let (number, body) = (animal_number(animal.id), &animal.body);
    let at = [body.x.to_px(), body.y.to_px()];
    (number, animal.kind, at, to_radians_2dec(body.heading.0), body.health, number % NAMES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moomoo_clients_are_shown_only_items_that_they_know() {
        assert!((0..FIRST_UNKNOWN_ITEM).all(|id| substitute_item(id) == id));
        assert!((FIRST_UNKNOWN_ITEM..=u8::MAX).all(|id| substitute_item(id) < FIRST_UNKNOWN_ITEM));
    }
}
