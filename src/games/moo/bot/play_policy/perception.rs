//! Facts that a bot derives from the [`WorldModel`]: nearby players, obstacles, the suitable weapon
//! for a goal. These functions make no decisions and have no state.

use std::f64::consts::TAU;

use crate::games::moo::bot::world_model::{ModelPlayer, WorldModel};
use crate::games::moo::world::rules;

/// Distance by which a bot approaches closer than its range, in px, because its world model is
/// slightly old.
pub(super) const APPROACH_MARGIN_PX: f64 = 15.0;
/// Distance within which a structure counts as an obstacle, in px.
const IN_THE_WAY_PX: f64 = 130.0;

/// A bot's goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    /// An object to gather from, or an obstacle.
    Object(u32),
    Player(u32),
    Animal(u32),
    /// The meeting point.
    Meeting,
}

impl Goal {
    /// The pursued player.
    pub(super) fn player(self) -> Option<u32> {
        if let Goal::Player(player) = self { Some(player) } else { None }
    }
}

/// The weapon for a goal: against a player or animal, a projectile weapon if the bot can pay for a
/// shot; otherwise the primary weapon.
pub(super) fn weapon_for(world_model: &WorldModel, goal: Goal) -> u8 {
    let weapons = || world_model.inventory.weapons.iter().filter_map(|id| rules::weapon(*id));
    let is_paid = |cost: [u32; 4]| world_model.stock.iter().zip(cost).all(|(stock, cost)| *stock >= cost);
    let mut shooters = weapons().filter(|weapon| weapon.shoots.is_some() && is_paid(weapon.shot_cost));
    let shooter = shooters.next().filter(|_| matches!(goal, Goal::Player(_) | Goal::Animal(_)));
    let first = || weapons().find(|weapon| weapon.slot == 0);
    shooter.or_else(first).map_or(rules::FIRST_WEAPON, |weapon| weapon.id)
}

/// The size of a player as a target of a swing, in px.
pub(super) fn player_size_px() -> f64 {
    f64::from(rules::PLAYER_RADIUS_PX * rules::TARGET_PERCENT / 100)
}

pub(super) fn distance_px(me: &ModelPlayer, x_px: f64, y_px: f64) -> f64 {
    (x_px - me.x_px).hypot(y_px - me.y_px)
}

pub(super) fn other_players(world_model: &WorldModel) -> impl Iterator<Item = (u32, &ModelPlayer)> {
    let others = world_model
        .players
        .iter()
        .filter(|(id, known)| known.in_view && Some(**id) != world_model.own_player_id);
    others.map(|(id, known)| (*id, known))
}

/// Whether a swing in a direction would hit, or nearly hit, a player that satisfies `is_wanted`.
pub(super) fn hits_any_player(
    world_model: &WorldModel,
    me: &ModelPlayer,
    look: u16,
    is_wanted: impl Fn(&ModelPlayer) -> bool,
) -> bool {
    let arm = rules::weapon(weapon_for(world_model, Goal::Meeting));
    let range_px = arm.map_or(0.0, |weapon| f64::from(weapon.range_px));
    other_players(world_model).filter(|(_, known)| is_wanted(known)).any(|(_, known)| {
        let off = heading_to(me, known.x_px, known.y_px).wrapping_sub(look);
        distance_px(me, known.x_px, known.y_px) < range_px + player_size_px() + APPROACH_MARGIN_PX
            && off.min(off.wrapping_neg()) <= rules::ARC
    })
}

/// The direction to a position, as a binary angle.
pub(super) fn heading_to(me: &ModelPlayer, x_px: f64, y_px: f64) -> u16 {
    ((y_px - me.y_px).atan2(x_px - me.x_px) / TAU * 65_536.0) as i32 as u16
}

/// The nearest player in view that is not a clan mate, has no spawn protection, and satisfies
/// `is_foe`.
pub(super) fn nearest_enemy(
    world_model: &WorldModel,
    me: &ModelPlayer,
    is_foe: impl Fn(&ModelPlayer) -> bool,
) -> Option<(f64, u32)> {
    let strangers = other_players(world_model).filter(|(id, _)| !world_model.clan_state.is_mate(*id));
    let foes = strangers.filter(|(_, known)| !known.is_protected && is_foe(known));
    let near = foes.map(|(id, known)| (distance_px(me, known.x_px, known.y_px), id));
    near.min_by(|one, two| one.0.total_cmp(&two.0))
}

pub(super) fn nearest_animal(world_model: &WorldModel, me: &ModelPlayer) -> Option<(f64, u32)> {
    let near =
        world_model.animals.values().map(|animal| (distance_px(me, animal.x_px, animal.y_px), animal.id));
    near.min_by(|one, two| one.0.total_cmp(&two.0))
}

/// The nearest structure, if it is near enough to be an obstacle.
pub(super) fn in_the_way(world_model: &WorldModel, me: &ModelPlayer) -> Option<u32> {
    let built = world_model.objects.values().filter(|object| object.structure.is_some());
    let near = built.map(|object| (distance_px(me, object.x_px, object.y_px), object.id));
    let nearest = near.min_by(|one, two| one.0.total_cmp(&two.0))?;
    (nearest.0 < IN_THE_WAY_PX).then_some(nearest.1)
}
