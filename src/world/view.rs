//! What can be read of the world.
//!
//! Comes in: a world. Goes out: players, things of nature and what was built, each as others may see it. Never: a way to
//! change any of them.

use std::sync::Arc;

use crate::clan::{Clan, ClanId};
use crate::controller::{Controller, Kit, SceneryKind};
use crate::entity::{Body, Entity, EntityId, PlayerId};
use crate::fixed::{Angle, Fixed};
use crate::rules::{self, AnimalKind, Item, Resource};
use crate::world::World;

/// A player as others read it.
#[derive(Clone, Copy, Debug)]
pub struct PlayerView<'a> {
    /// Who it is.
    pub id: PlayerId,
    /// Shown above the body; may be empty.
    pub name: &'a Arc<str>,
    /// Colour index.
    pub skin: u8,
    /// Where it is.
    pub body: &'a Body,
    /// The tick in which it joined.
    pub joined_tick: u32,
    /// Whether it plays. A dead one is not seen, not hit and not in the way; its body lies where it died.
    pub alive: bool,
    /// Health points; 0 when dead.
    pub health: u16,
    /// Health points that it can have.
    pub max_health: u16,
    /// What it has gathered and not spent, by [`Resource`].
    pub resources: [u32; 4],
    /// Experience since its last age.
    pub xp: u32,
    /// Experience that the next age takes; 0 at the last age.
    pub xp_next: u32,
    /// 1 to [`rules::MAX_AGE`]; death begins again at 1.
    pub age: u8,
    /// Players killed.
    pub kills: u32,
    /// What is in its hand: a number of [`rules::WEAPONS`].
    pub weapon: u8,
    /// What it holds in place of the weapon: a number of [`rules::ITEMS`].
    pub item: Option<u8>,
    /// Whether it swings whenever it can.
    pub attacking: bool,
    /// Its weapons and items, and how many of what it built stand.
    pub kit: &'a Kit,
    /// How many choices it may make now, by [`crate::Action::Upgrade`].
    pub choices: u8,
    /// The age whose offer is the next to be chosen from: the lowest one that was reached and has something for it.
    pub choice_age: u8,
    /// The clan that it is in.
    pub clan: Option<ClanId>,
    /// The clan that it asks to join.
    pub asks: Option<ClanId>,
    /// Whether it is in a trap.
    pub held: bool,
    /// Points: its gold. In MooMoo.io the two are one number.
    pub score: u32,
    /// The last sequence applied; 0 before the first.
    pub sequence: u64,
    /// Where it walks; `None` stands.
    pub direction: Option<Angle>,
}

/// A thing of nature as others read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SceneryView {
    /// Which it is.
    pub id: EntityId,
    /// What it is.
    pub kind: SceneryKind,
    /// Centre from the left edge, pixels.
    pub x_px: i32,
    /// Centre from the top edge, pixels.
    pub y_px: i32,
    /// Radius of the picture, pixels.
    pub scale_px: i32,
    /// Radius of what one runs into, pixels.
    pub radius_px: i32,
}

/// Something that was built, as others read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StructureView {
    /// Which it is.
    pub id: EntityId,
    /// What it is.
    pub item: &'static Item,
    /// Whose it is.
    pub owner: PlayerId,
    /// Centre from the left edge, pixels.
    pub x_px: i32,
    /// Centre from the top edge, pixels.
    pub y_px: i32,
    /// Where it points: where its owner looked.
    pub heading: Angle,
    /// Health points that are left.
    pub health: u16,
}

/// An animal as others read it.
#[derive(Clone, Copy, Debug)]
pub struct AnimalView<'a> {
    /// Which it is.
    pub id: EntityId,
    /// What it is.
    pub kind: AnimalKind,
    /// Where it is, and its health.
    pub body: &'a Body,
    /// Health points that it can have.
    pub max_health: u16,
}

/// What flies, as others read it.
#[derive(Clone, Copy, Debug)]
pub struct ProjectileView<'a> {
    /// Which it is.
    pub id: EntityId,
    /// What it is: a number of [`rules::PROJECTILES`].
    pub kind: u8,
    /// Where it is and where it goes; its owner is whose shot it is.
    pub body: &'a Body,
    /// What it came from: a player's entity, or a turret.
    pub by: EntityId,
    /// How far it still flies.
    pub left: Fixed,
}

impl PlayerView<'_> {
    /// What it may choose now: numbers for [`crate::Action::Upgrade`]. Empty when there is no choice to make.
    pub fn offers(&self) -> impl Iterator<Item = u8> + '_ {
        let choosing = self.choices > 0;
        self.kit.offers(self.choice_age).filter(move |_| choosing)
    }
}

impl World {
    /// The players in the order of their numbers.
    pub fn players(&self) -> impl Iterator<Item = PlayerView<'_>> + '_ {
        self.state.players.iter().filter_map(player_view)
    }

    /// One player, if it has a body.
    pub fn player(&self, id: PlayerId) -> Option<PlayerView<'_>> {
        self.find(id).ok().and_then(|at| player_view(&self.state.players[at]))
    }

    /// How many players have a body.
    pub fn player_count(&self) -> usize {
        self.state.players.len()
    }

    /// The things of nature in the order of their numbers.
    pub fn scenery(&self) -> impl Iterator<Item = SceneryView> + '_ {
        self.state.others.iter().filter_map(scenery_view)
    }

    /// What players built, in the order of its numbers.
    pub fn structures(&self) -> impl Iterator<Item = StructureView> + '_ {
        self.state.structures.iter().filter_map(structure_view)
    }

    /// The animals that live, in the order of their numbers.
    pub fn animals(&self) -> impl Iterator<Item = AnimalView<'_>> + '_ {
        self.state.animals.iter().filter_map(animal_view)
    }

    /// What flies, in the order of its numbers.
    pub fn projectiles(&self) -> impl Iterator<Item = ProjectileView<'_>> + '_ {
        self.state.shots.iter().filter_map(projectile_view)
    }

    /// What flies by that number.
    pub fn projectile(&self, id: EntityId) -> Option<ProjectileView<'_>> {
        let at = self.state.shots.binary_search_by_key(&id, |entity| entity.id).ok()?;
        projectile_view(&self.state.shots[at])
    }

    /// The clans, in the order of their numbers.
    pub fn clans(&self) -> &[Clan] {
        &self.state.clans
    }

    /// Something that was built, if it stands.
    pub fn structure(&self, id: EntityId) -> Option<StructureView> {
        self.find_structure(id).and_then(|at| structure_view(&self.state.structures[at]))
    }
}

fn structure_view(entity: &Entity) -> Option<StructureView> {
    let Entity { id, body, controller } = entity;
    match controller {
        Controller::Structure(structure) => Some(StructureView {
            id: *id,
            item: rules::item(structure.item)?,
            owner: body.owner,
            x_px: body.x.to_px(),
            y_px: body.y.to_px(),
            heading: body.heading,
            health: body.health,
        }),
        _ => None,
    }
}

fn animal_view(entity: &Entity) -> Option<AnimalView<'_>> {
    let Entity { id, body, controller } = entity;
    match controller {
        Controller::Animal(animal) if body.health > 0 => {
            let max_health = animal.kind.animal().health;
            Some(AnimalView { id: *id, kind: animal.kind, body, max_health })
        }
        _ => None,
    }
}

fn projectile_view(entity: &Entity) -> Option<ProjectileView<'_>> {
    let Entity { id, body, controller } = entity;
    match controller {
        Controller::Shot(shot) => {
            Some(ProjectileView { id: *id, kind: shot.kind, body, by: shot.by, left: shot.left })
        }
        _ => None,
    }
}

fn player_view(entity: &Entity) -> Option<PlayerView<'_>> {
    match &entity.controller {
        Controller::Player(player) => Some(PlayerView {
            id: entity.id.player()?,
            name: &player.name,
            skin: player.skin,
            body: &entity.body,
            joined_tick: player.joined_tick,
            alive: player.alive,
            health: entity.body.health,
            max_health: rules::PLAYER_HEALTH,
            resources: player.resources,
            xp: player.growth.xp,
            xp_next: rules::xp_next(player.growth.age),
            age: player.growth.age,
            kills: player.kills,
            weapon: player.hand.weapon,
            item: player.hand.item,
            attacking: player.hand.attacking,
            kit: &player.kit,
            choices: player.choices().count() as u8,
            choice_age: player.choice_age(),
            clan: player.clan,
            asks: player.asks,
            held: player.ground.held,
            score: player.resources[Resource::Gold as usize],
            sequence: player.sequence,
            direction: player.direction,
        }),
        _ => None,
    }
}

fn scenery_view(entity: &Entity) -> Option<SceneryView> {
    match &entity.controller {
        Controller::Scenery(scenery) => Some(SceneryView {
            id: entity.id,
            kind: scenery.kind,
            x_px: entity.body.x.to_px(),
            y_px: entity.body.y.to_px(),
            scale_px: scenery.scale_px,
            radius_px: entity.body.radius_px,
        }),
        _ => None,
    }
}
