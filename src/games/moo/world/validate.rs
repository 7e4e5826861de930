//! Validates a decoded state.
//!
//! Returns the first impossible value; nothing is repaired.

use crate::entity::Embodied as _;
use std::collections::{BTreeMap, BTreeSet};

use crate::clan::ClanId;
use crate::command::text::{check_clan_name, check_name};
use crate::controller::kit::MAX_EARNED;
use crate::controller::shot::velocity;
use crate::controller::{Animal, Controller, Kit, Mood, Player, Poison};
use crate::entity::{Body, Entity, EntityId, PlayerId};
use crate::fields::SnapshotError;
use crate::fixed::Fixed;
use crate::rules::{self, Group};
use crate::state::State;

/// Validates everything that the rest of the code relies on, such as order, sizes, positions and
/// speeds.
pub(crate) fn check(state: &State) -> Result<(), SnapshotError> {
    let size_px = state.identity.map_size_px;
    require((rules::MAP_SIZE_MIN_PX..=rules::MAP_SIZE_MAX_PX).contains(&size_px), "map_size_px")?;
    let in_order = |entities: &[Entity]| entities.windows(2).all(|pair| pair[0].id < pair[1].id);
    for list in [&state.players, &state.scenery, &state.structures, &state.animals, &state.shots] {
        require(in_order(list), "order of entities")?;
    }
    for entity in &state.players {
        check_player(entity)?;
        check_body(&entity.body, size_px)?;
    }
    for entity in &state.scenery {
        check_scenery(entity)?;
        check_body(&entity.body, size_px)?;
    }
    check_clans(state)?;
    check_animals(state)?;
    check_structures(state)?;
    check_turrets_and_poison(state)?;
    check_shots(state)
}

/// Validates the clans, their owners, and the clans and requests of all players.
fn check_clans(state: &State) -> Result<(), SnapshotError> {
    let (clans, players) = (&state.clans, &state.players);
    require(clans.windows(2).all(|pair| pair[0].id < pair[1].id), "order of clans")?;
    require(state.next_clan >= 1, "next clan number")?;
    require(clans.len() <= rules::MAX_CLANS, "number of clans")?;
    let mut members: BTreeMap<ClanId, usize> = BTreeMap::new();
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
        |of: Option<ClanId>| of.is_none_or(|id| clans.binary_search_by_key(&id, |clan| clan.id).is_ok());
    for entity in players {
        if let Controller::Player(player) = &entity.controller {
            require(exists(player.clan), "clan of a player")?;
            let count = player.clan.map_or(0, |clan| {
                let count = members.entry(clan).or_default();
                *count += 1;
                *count
            });
            require(count <= rules::MAX_CLAN_MEMBERS, "number of members")?;
            require(exists(player.join_request), "request of a player")?;
            require(player.clan.is_none() || player.join_request.is_none(), "request of a player")?;
        }
    }
    Ok(())
}

/// Validates structures against the item table, and each owner's structure counts against its
/// structures.
fn check_structures(state: &State) -> Result<(), SnapshotError> {
    let after =
        state.scenery.last().map_or(EntityId::FIRST_NON_PLAYER, |last| EntityId(last.id.0.saturating_add(1)));
    require(state.next_id >= after, "next number")?;
    require(state.next_id <= EntityId::FIRST_ANIMAL, "next number")?;
    let mut spawned = 0;
    let mut counted: BTreeMap<PlayerId, Kit> = BTreeMap::new();
    for entity in &state.structures {
        let standing = entity.standing().ok_or(SnapshotError::Value("controller of a structure"))?;
        let (item, body) = (standing.item, &entity.body);
        require((after..state.next_id).contains(&entity.id), "number of a structure")?;
        require(item.group != Group::Food && body.radius_px == item.radius_px, "radius of a structure")?;
        require((1..=item.health).contains(&body.health), "health of a structure")?;
        check_body(body, state.identity.map_size_px)?;
        if standing.owner == PlayerId::OPERATOR {
            spawned += 1;
            continue;
        }
        let kit = counted.entry(standing.owner).or_insert_with(Kit::new);
        require(kit.may_build(item.group), "number of structures")?;
        kit.count(item);
    }
    require(spawned <= rules::MAX_SPAWNED, "number of structures")?;
    for entity in &state.players {
        if let Controller::Player(player) = &entity.controller {
            let found = counted.remove(&entity.body.owner).unwrap_or_else(Kit::new);
            let same = (found.built, found.income_halves) == (player.kit.built, player.kit.income_halves);
            require(same, "count of structures")?;
        }
    }
    require(counted.is_empty(), "owner of a structure")
}

/// Validates animals against their table.
fn check_animals(state: &State) -> Result<(), SnapshotError> {
    let next = state.next_animal;
    require((EntityId::FIRST_ANIMAL..=EntityId::FIRST_SHOT).contains(&next), "next animal")?;
    require(state.animals.len() <= rules::MAX_ANIMALS, "number of animals")?;
    for entity in &state.animals {
        let (animal, body) = match entity {
            Entity { controller: Controller::Animal(animal), body, .. } => (animal, body),
            _ => return Err(SnapshotError::Value("controller of an animal")),
        };
        let kind = animal.kind.animal();
        require((EntityId::FIRST_ANIMAL..next).contains(&entity.id), "number of an animal")?;
        require(body.owner == PlayerId::OPERATOR, "owner of an animal")?;
        require(body.radius_px == kind.radius_px, "radius of an animal")?;
        require(body.health <= kind.health, "health of an animal")?;
        check_doing(animal, body)?;
        check_body(body, state.identity.map_size_px)?;
    }
    Ok(())
}

fn check_doing(animal: &Animal, body: &Body) -> Result<(), SnapshotError> {
    let max_wait = match (body.health, animal.mood) {
        (0, _) => u32::from(rules::ANIMAL_RESPAWN_MS),
        (_, Mood::Wanders | Mood::Rests) => rules::STAND_MS[1].unsigned_abs(),
        (_, Mood::Flees) => u32::from(rules::FLEE_MS),
        (_, Mood::Hunts) => u32::from(rules::HUNT_MS),
    };
    let is_in_world = animal.natural || body.health > 0;
    require(is_in_world, "life of an animal")?;
    require(body.health > 0 || *animal == animal.dead_copy(), "state of a dead body")?;
    require(animal.prey.is_some() == (animal.mood == Mood::Hunts), "prey of an animal")?;
    let fits = match animal.mood {
        Mood::Wanders => true,
        Mood::Rests | Mood::Hunts => animal.hunts(),
        Mood::Flees => !animal.hunts(),
    };
    require(fits, "mood of an animal")?;
    let in_time = animal.wait <= 3 * max_wait
        && animal.sense_wait <= rules::thirds(rules::ANIMAL_SENSE_PERIOD_MS)
        && animal.strike_wait <= rules::thirds(rules::STRIKE_PERIOD_MS)
        && animal.touch_wait <= rules::thirds(rules::TOUCH_PERIOD_MS);
    require(in_time, "timer of an animal")
}

/// Validates a player's weapons and items against the tables.
fn check_kit(player: &Player) -> Result<(), SnapshotError> {
    let Player { kit, hand, .. } = player;
    for (slot, id) in kit.weapons.iter().enumerate() {
        let fits = |id: &u8| rules::weapon(*id).is_some_and(|weapon| usize::from(weapon.slot) == slot);
        require(id.as_ref().map_or(slot > 0, fits), "weapon of a player")?;
    }
    for (group, id) in kit.items.iter().enumerate() {
        let fits = |id: &u8| rules::item(*id).is_some_and(|item| item.group as usize == group);
        require(id.as_ref().is_none_or(fits), "item of a player")?;
    }
    require(kit.earned < MAX_EARNED, "income of a player")?;
    require(kit.has_weapon(hand.weapon), "weapon in the hand")?;
    require(hand.item.is_none_or(|id| kit.has_item(id)), "item in the hand")
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
    require(
        player.alive || player.direction.is_none() && !player.hand.has_pending_press() && !player.stirred,
        "state of a dead body",
    )?;
    require(player.slow <= rules::MAX_SLOWNESS, "slowness of a player")?;
    require(player.heal_wait <= rules::thirds(rules::HEAL_DELAY_MS), "timer of a player")?;
    let max_protection = if player.alive { rules::thirds(rules::SPAWN_PROTECTION_MS) } else { 0 };
    require(player.protection <= max_protection, "spawn protection of a player")?;
    let growth = &player.growth;
    require((1..=rules::MAX_AGE).contains(&growth.age), "age of a player")?;
    require(growth.xp < rules::xp_next(growth.age).max(1), "experience of a player")?;
    require(
        (rules::FIRST_CHOICE_AGE..=rules::LAST_CHOICE_AGE + 1).contains(&growth.choice_age),
        "choices of a player",
    )?;
    require(player.ground.touch_wait <= rules::thirds(rules::TOUCH_PERIOD_MS), "touch timer of a player")?;
    check_kit(player)
}

/// Validates the timers of structures, and the poison of players.
fn check_turrets_and_poison(state: &State) -> Result<(), SnapshotError> {
    for entity in &state.structures {
        let is_possible = |item| entity.controller.is_possible(item);
        require(entity.controller.item().is_some_and(is_possible), "timer of a structure")?;
    }
    for entity in &state.players {
        if let Controller::Player(player) = &entity.controller {
            let poison = &player.poison;
            let works = player.alive && (1..=rules::POISON_DOSES).contains(&poison.doses);
            let waits = (1..=rules::thirds(rules::POISON_PERIOD_MS)).contains(&poison.wait);
            require(*poison == Poison::default() || works && waits, "poison of a player")?;
            require(is_in_world(state, poison.by), "poison of a player")?;
        }
    }
    Ok(())
}

/// Validates projectiles against their table, their owners and their origins.
fn check_shots(state: &State) -> Result<(), SnapshotError> {
    let rates = state.identity.tick_hz.rates();
    require(state.shots.len() <= rules::MAX_SHOTS, "number of shots")?;
    let after = state.shots.last().map_or(EntityId::FIRST_SHOT, |last| EntityId(last.id.0.saturating_add(1)));
    let is_restart = !state.shots.is_empty() || state.next_shot == EntityId::FIRST_SHOT;
    require(state.next_shot >= after && is_restart, "next projectile number")?;
    for Entity { id, body, controller } in &state.shots {
        let shot = match controller {
            Controller::Shot(shot) => shot,
            _ => return Err(SnapshotError::Value("controller of a shot")),
        };
        let kind = rules::projectile(shot.kind).ok_or(SnapshotError::Value("kind of a shot"))?;
        require(*id >= EntityId::FIRST_SHOT, "number of a shot")?;
        require((Fixed(1)..=Fixed::from_px(kind.range_px)).contains(&shot.left), "range of a shot")?;
        require(is_in_world(state, body.owner), "owner of a shot")?;
        let by_turret = (EntityId::FIRST_NON_PLAYER..state.next_id).contains(&shot.by);
        let by_player = shot.by.player().is_some_and(|by| [by, PlayerId::OPERATOR].contains(&body.owner));
        require(by_turret || by_player, "origin of a shot")?;
        require((body.radius_px, body.health) == (0, 0), "body of a shot")?;
        require((body.vx, body.vy) == velocity(kind, body, &rates), "velocity of a shot")?;
        check_body(body, state.identity.map_size_px)?;
    }
    Ok(())
}

/// Whether the player ID belongs to a player in the world or to the operator.
fn is_in_world(state: &State, player: PlayerId) -> bool {
    let place = state.players.binary_search_by_key(&player.entity(), |entity| entity.id);
    player == PlayerId::OPERATOR || place.is_ok()
}

fn check_scenery(entity: &Entity) -> Result<(), SnapshotError> {
    let scenery = match &entity.controller {
        Controller::Scenery(scenery) => scenery,
        _ => return Err(SnapshotError::Value("controller of scenery")),
    };
    let kind = scenery.kind;
    require(entity.id >= EntityId::FIRST_NON_PLAYER, "number of a scenery object")?;
    require(kind.scales_px().contains(&scenery.scale_px), "scale of a scenery object")?;
    require(entity.body.radius_px == kind.radius_px(scenery.scale_px), "radius of a scenery object")
}

fn check_body(body: &Body, map_size_px: u32) -> Result<(), SnapshotError> {
    let edge = Fixed::from_px(body.radius_px);
    let far = Fixed::from_px(map_size_px as i32).saturating_sub(edge);
    let on_map = |at: Fixed| edge <= at && at <= far;
    require(on_map(body.x) && on_map(body.y), "place")?;
    let max = Fixed::from_px(rules::VELOCITY_MAX_PX).0.unsigned_abs();
    let speed = body.vx.0.unsigned_abs().max(body.vy.0.unsigned_abs());
    require(speed <= max, "velocity")
}

fn require(fits: bool, what: &'static str) -> Result<(), SnapshotError> {
    if fits {
        Ok(())
    } else {
        Err(SnapshotError::Value(what))
    }
}
