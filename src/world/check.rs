//! Whether a state is one that a world can be in.
//!
//! Comes in: a state that bytes claimed to hold. Goes out: yes, or the name of the first value that no world holds. Never: a
//! repair.

use std::collections::{BTreeMap, BTreeSet};

use crate::clan::ClanId;
use crate::controller::kit::EARNED_MOST;
use crate::controller::{Controller, Kit, Player};
use crate::entity::{Body, Entity, EntityId, PlayerId};
use crate::fixed::Fixed;
use crate::rules::{self, Group};
use crate::snapshot::SnapshotError;
use crate::state::State;
use crate::terrain::Standing;
use crate::text::{check_clan_name, check_name};

/// Whether the rest of the code may rely on this state: order, sizes, places, speeds.
pub(crate) fn check(state: &State) -> Result<(), SnapshotError> {
    let size_px = state.identity.map_size_px;
    require((rules::MAP_SIZE_MIN_PX..=rules::MAP_SIZE_MAX_PX).contains(&size_px), "map_size_px")?;
    let in_order = |entities: &[Entity]| entities.windows(2).all(|pair| pair[0].id < pair[1].id);
    for list in [&state.players, &state.others, &state.structures] {
        require(in_order(list), "order of entities")?;
    }
    for entity in &state.players {
        check_player(entity)?;
        check_body(&entity.body, size_px)?;
    }
    for entity in &state.others {
        check_scenery(entity)?;
        check_body(&entity.body, size_px)?;
    }
    check_clans(state)?;
    check_structures(state)
}

/// Clans, and that players and owners agree about them.
fn check_clans(state: &State) -> Result<(), SnapshotError> {
    let (clans, players) = (&state.clans, &state.players);
    require(clans.windows(2).all(|pair| pair[0].id < pair[1].id), "order of clans")?;
    let mut names = BTreeSet::new();
    for clan in clans {
        require((1..state.next_clan).contains(&clan.id.0), "number of a clan")?;
        require(check_clan_name(&clan.name).is_ok() && names.insert(&clan.name), "name of a clan")?;
        let at = players.binary_search_by_key(&clan.owner.entity(), |entity| entity.id);
        let owner = at.ok().map(|at| &players[at].controller);
        let is_member = matches!(owner, Some(Controller::Player(player)) if player.clan == Some(clan.id));
        require(is_member, "owner of a clan")?;
    }
    let exists =
        |of: Option<ClanId>| of.map_or(true, |id| clans.binary_search_by_key(&id, |clan| clan.id).is_ok());
    for entity in players {
        if let Controller::Player(player) = &entity.controller {
            require(exists(player.clan), "clan of a player")?;
            require(exists(player.asks), "request of a player")?;
            require(player.clan.is_none() || player.asks.is_none(), "request of a player")?;
        }
    }
    Ok(())
}

/// Structures against their table, and what their owners count against what stands.
fn check_structures(state: &State) -> Result<(), SnapshotError> {
    let after =
        state.others.last().map_or(EntityId::FIRST_OTHER, |last| EntityId(last.id.0.saturating_add(1)));
    require(state.next_id >= after, "next number")?;
    let mut counted: BTreeMap<PlayerId, Kit> = BTreeMap::new();
    for entity in &state.structures {
        let standing = Standing::of(entity).ok_or(SnapshotError::Value("controller of a structure"))?;
        let (item, body) = (standing.item, &entity.body);
        require((after..state.next_id).contains(&entity.id), "number of a structure")?;
        require(item.group != Group::Food && body.radius_px == item.radius_px, "radius of a structure")?;
        require((1..=item.health).contains(&body.health), "health of a structure")?;
        check_body(body, state.identity.map_size_px)?;
        let kit = counted.entry(standing.owner).or_insert_with(Kit::new);
        require(kit.may_build(item.group), "number of structures")?;
        kit.count(item);
    }
    for entity in &state.players {
        if let Controller::Player(player) = &entity.controller {
            let found = counted.remove(&entity.body.owner).unwrap_or_else(Kit::new);
            let same = (found.built, found.income_halves) == (player.kit.built, player.kit.income_halves);
            require(same, "count of structures")?;
        }
    }
    require(counted.is_empty(), "owner of a structure")
}

/// What a player has, against the tables.
fn check_kit(player: &Player) -> Result<(), SnapshotError> {
    let Player { kit, hand, .. } = player;
    for (slot, id) in kit.weapons.iter().enumerate() {
        let fits = |id: &u8| rules::weapon(*id).map_or(false, |weapon| usize::from(weapon.slot) == slot);
        require(id.as_ref().map_or(slot > 0, fits), "weapon of a player")?;
    }
    for (group, id) in kit.items.iter().enumerate() {
        let fits = |id: &u8| rules::item(*id).map_or(false, |item| item.group as usize == group);
        require(id.as_ref().map_or(true, fits), "item of a player")?;
    }
    require(kit.earned < EARNED_MOST, "pay of a player")?;
    require(kit.has_weapon(hand.weapon), "weapon in the hand")?;
    require(hand.item.map_or(true, |id| kit.has_item(id)), "item in the hand")
}

fn check_player(entity: &Entity) -> Result<(), SnapshotError> {
    let player = match &entity.controller {
        Controller::Player(player) => player,
        _ => return Err(SnapshotError::Value("controller of a player")),
    };
    require(entity.id.player() == Some(entity.body.owner), "owner of a player")?;
    require(entity.body.radius_px == rules::PLAYER_RADIUS_PX, "radius of a player")?;
    require(entity.body.health <= rules::PLAYER_HEALTH, "health of a player")?;
    require(check_name(&player.name).is_ok(), "name of a player")?;
    require(player.alive == (entity.body.health > 0), "life of a player")?;
    require(player.alive || player.direction.is_none() && !player.hand.attacking, "walk of the dead")?;
    require(player.slow <= rules::SLOW_MOST, "slowness of a player")?;
    require(player.heal_wait <= rules::thirds(rules::HEAL_DELAY_MS), "waiting of a player")?;
    let growth = &player.growth;
    require((1..=rules::MAX_AGE).contains(&growth.age), "age of a player")?;
    require(growth.xp < rules::xp_next(growth.age).max(1), "experience of a player")?;
    require(
        (rules::FIRST_CHOICE_AGE..=rules::LAST_CHOICE_AGE + 1).contains(&growth.choice_age),
        "choices of a player",
    )?;
    require(player.ground.touch_wait <= rules::thirds(rules::TOUCH_PERIOD_MS), "touch of a player")?;
    check_kit(player)
}

fn check_scenery(entity: &Entity) -> Result<(), SnapshotError> {
    let scenery = match &entity.controller {
        Controller::Scenery(scenery) => scenery,
        _ => return Err(SnapshotError::Value("controller of scenery")),
    };
    let kind = scenery.kind;
    require(entity.id >= EntityId::FIRST_OTHER, "number of scenery")?;
    require(kind.scales_px().contains(&scenery.scale_px), "scale of scenery")?;
    require(entity.body.radius_px == kind.radius_px(scenery.scale_px), "radius of scenery")
}

fn check_body(body: &Body, map_size_px: u32) -> Result<(), SnapshotError> {
    let edge = Fixed::from_px(body.radius_px);
    let far = Fixed::from_px(map_size_px as i32).minus(edge);
    let on_map = |at: Fixed| edge <= at && at <= far;
    require(on_map(body.x) && on_map(body.y), "place")?;
    let most = Fixed::from_px(rules::VELOCITY_MAX_PX).0.unsigned_abs();
    let speed = body.vx.0.unsigned_abs().max(body.vy.0.unsigned_abs());
    require(speed <= most, "velocity")
}

fn require(fits: bool, what: &'static str) -> Result<(), SnapshotError> {
    if fits {
        Ok(())
    } else {
        Err(SnapshotError::Value(what))
    }
}
