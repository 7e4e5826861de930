//! The public view of a world: what clients may see of its players, scenery, structures, animals
//! and projectiles. Read-only.

use std::sync::Arc;

use crate::clan::{Clan, ClanId};
use crate::controller::{Controller, Kit, SceneryKind};
use crate::entity::{Body, Entity, EntityId, PlayerId};
use crate::fixed::{Angle, Fixed};
use crate::rules::{self, AnimalKind, Item};
use crate::world::World;

/// The public view of a player.
#[derive(Clone, Copy, Debug)]
pub struct PlayerView<'a> {
    /// Player ID.
    pub id: PlayerId,
    /// Name shown above the body; may be empty.
    pub name: &'a Arc<str>,
    /// Colour index.
    pub skin: u8,
    /// Position, velocity, direction of view and health.
    pub body: &'a Body,
    /// The tick in which the player joined.
    pub joined_tick: u32,
    /// Whether the player is alive. A dead player is invisible, cannot be hit, and does not block
    /// others. The body of a dead player stays at the position of the death.
    pub alive: bool,
    /// Health points; 0 when dead.
    pub health: u16,
    /// Maximum health points.
    pub max_health: u16,
    /// Resources gathered and not yet spent, by [`rules::Resource`].
    pub resources: [u32; 4],
    /// Experience gained since the last age.
    pub xp: u32,
    /// Experience needed for the next age; 0 at the last age.
    pub xp_next: u32,
    /// Age: 1 to [`rules::MAX_AGE`]; reset to 1 by death.
    pub age: u8,
    /// Number of players killed.
    pub kills: u32,
    /// Weapon in the hand: an ID of [`rules::WEAPONS`].
    pub weapon: u8,
    /// Item held in place of the weapon: an ID of [`rules::ITEMS`].
    pub item: Option<u8>,
    /// Whether the player attacks continuously.
    pub attacking: bool,
    /// Weapons, items and structure counts.
    pub kit: &'a Kit,
    /// Number of upgrades that can be chosen now with [`crate::Action::Upgrade`].
    pub choices: u8,
    /// Age of the next upgrade to choose: the lowest reached age that still offers an upgrade.
    pub choice_age: u8,
    /// The player's clan.
    pub clan: Option<ClanId>,
    /// The clan that the player has requested to join.
    pub join_request: Option<ClanId>,
    /// Whether the player is in a trap.
    pub held: bool,
    /// Whether spawn protection prevents damage.
    pub is_protected: bool,
    /// The score: gold, and points for gathering, hunting and building. In MooMoo.io the score is
    /// the gold alone.
    pub score: u32,
    /// Sequence number of the last command applied; 0 before the first.
    pub sequence: u64,
    /// Direction of movement; `None` if the player is not walking.
    pub direction: Option<Angle>,
}

/// The public view of a scenery object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SceneryView {
    /// Entity ID.
    pub id: EntityId,
    /// The kind.
    pub kind: SceneryKind,
    /// x coordinate of the centre, in pixels.
    pub x_px: i32,
    /// y coordinate of the centre, in pixels.
    pub y_px: i32,
    /// Radius of the drawn image, in pixels.
    pub scale_px: i32,
    /// Radius of the solid part, in pixels.
    pub radius_px: i32,
}

/// The public view of a structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StructureView {
    /// Entity ID.
    pub id: EntityId,
    /// The item.
    pub item: &'static Item,
    /// The owner.
    pub owner: PlayerId,
    /// x coordinate of the centre, in pixels.
    pub x_px: i32,
    /// y coordinate of the centre, in pixels.
    pub y_px: i32,
    /// Direction in which the structure points: the owner's direction of view when it was built.
    pub heading: Angle,
    /// Remaining health points.
    pub health: u16,
    /// Last tick of the structure, if it expires by itself. The value never changes.
    pub ends_tick: Option<u32>,
}

/// The public view of an animal.
#[derive(Clone, Copy, Debug)]
pub struct AnimalView<'a> {
    /// Entity ID.
    pub id: EntityId,
    /// The kind.
    pub kind: AnimalKind,
    /// Position and health.
    pub body: &'a Body,
    /// Maximum health points.
    pub max_health: u16,
}

/// The public view of a projectile.
#[derive(Clone, Copy, Debug)]
pub struct ProjectileView<'a> {
    /// Entity ID.
    pub id: EntityId,
    /// The kind: an ID of [`rules::PROJECTILES`].
    pub kind: u8,
    /// Position, velocity and owner.
    pub body: &'a Body,
    /// The entity that fired the projectile: a player or a turret.
    pub by: EntityId,
    /// Remaining range.
    pub left: Fixed,
}

impl PlayerView<'_> {
    /// The upgrades that can be chosen now: arguments for [`crate::Action::Upgrade`]. Empty if
    /// there is nothing to choose.
    pub fn offers(&self) -> impl Iterator<Item = u8> + '_ {
        let choosing = self.choices > 0;
        self.kit.offers(self.choice_age).filter(move |_| choosing)
    }
}

impl World {
    /// The players, in ascending order of ID.
    pub fn players(&self) -> impl Iterator<Item = PlayerView<'_>> + '_ {
        self.state.players.iter().filter_map(player_view)
    }

    /// The player with this ID, if it has a body.
    pub fn player(&self, id: PlayerId) -> Option<PlayerView<'_>> {
        self.find(id).ok().and_then(|at| player_view(&self.state.players[at]))
    }

    /// The number of players with a body.
    pub fn player_count(&self) -> usize {
        self.state.players.len()
    }

    /// The scenery, in ascending order of ID.
    pub fn scenery(&self) -> impl Iterator<Item = SceneryView> + '_ {
        self.state.scenery.iter().filter_map(scenery_view)
    }

    /// The structures, in ascending order of ID.
    pub fn structures(&self) -> impl Iterator<Item = StructureView> + '_ {
        self.state.structures.iter().filter_map(|entity| self.structure_view(entity))
    }

    /// The living animals, in ascending order of ID.
    pub fn animals(&self) -> impl Iterator<Item = AnimalView<'_>> + '_ {
        self.state.animals.iter().filter_map(animal_view)
    }

    /// The projectiles, in ascending order of ID.
    pub fn projectiles(&self) -> impl Iterator<Item = ProjectileView<'_>> + '_ {
        self.state.shots.iter().filter_map(projectile_view)
    }

    /// The projectile with this ID, if it exists.
    pub fn projectile(&self, id: EntityId) -> Option<ProjectileView<'_>> {
        let at = self.state.shots.binary_search_by_key(&id, |entity| entity.id).ok()?;
        projectile_view(&self.state.shots[at])
    }

    /// The clans, in ascending order of ID.
    pub fn clans(&self) -> &[Clan] {
        &self.state.clans
    }

    /// The structure with this ID, if it exists.
    pub fn structure(&self, id: EntityId) -> Option<StructureView> {
        self.find_structure(id).and_then(|at| self.structure_view(&self.state.structures[at]))
    }

    fn structure_view(&self, entity: &Entity) -> Option<StructureView> {
        let Entity { id, body, controller } = entity;
        let ticks = |time: u16| u32::from(time.div_ceil(self.rates.tick_thirds));
        Some(StructureView {
            id: *id,
            item: controller.item()?,
            owner: body.owner,
            x_px: body.x.to_px(),
            y_px: body.y.to_px(),
            heading: body.heading,
            health: body.health,
            ends_tick: controller.ends_in().map(|time| self.tick().wrapping_add(ticks(time))),
        })
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
            join_request: player.join_request,
            held: player.ground.held,
            is_protected: player.is_protected(),
            score: player.score(),
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
