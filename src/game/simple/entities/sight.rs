//! The sight of a client, and the properties of entities that it depends on.

use tickwire_sim::PlayerId;
use tickwire_sim::fixed::is_within;
use tickwire_sim::geometry::Point;

/// The client that sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Viewer {
    /// Its player; `None` for a spectator.
    pub player: Option<PlayerId>,
    /// The player that a spectator looks at, if any.
    pub spectated: Option<PlayerId>,
}

impl Viewer {
    /// Returns the own player, or the spectated one.
    pub fn subject(self) -> Option<PlayerId> {
        self.player.or(self.spectated)
    }
}

/// The properties of an entity that decide who sees it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EntityInfo {
    /// The position, in units of the game.
    pub position: Point,
    /// The player that owns the entity.
    pub owner: Option<PlayerId>,
    /// The team of the entity.
    pub team: Option<u8>,
}

impl EntityInfo {
    /// Creates the properties of an entity at this position, without owner and team.
    pub const fn at(position: Point) -> EntityInfo {
        EntityInfo { position, owner: None, team: None }
    }

    /// Sets the owner.
    #[must_use]
    pub const fn owned_by(mut self, player: PlayerId) -> EntityInfo {
        self.owner = Some(player);
        self
    }

    /// Sets the team.
    #[must_use]
    pub const fn in_team(mut self, team: u8) -> EntityInfo {
        self.team = Some(team);
        self
    }
}

/// An entity, or an event with a position.
#[derive(Debug, Clone, Copy)]
pub struct EntityRef<'a> {
    /// Name of its packet.
    pub packet: &'a str,
    /// The id; `None` for an event.
    pub id: Option<u32>,
    /// Its properties.
    pub info: EntityInfo,
}

/// The sight of a client in one entity list: the union of some forms.
///
/// ```
/// use tickwire::game::simple::{EntityInfo, Sight};
/// use tickwire::sim::PlayerId;
///
/// let sight = Sight::NOTHING.owned_by(PlayerId(7)).within((100, 100), 50);
/// assert!(sight.includes(&EntityInfo::at((900, 900)).owned_by(PlayerId(7))));
/// assert!(sight.includes(&EntityInfo::at((130, 140))));
/// assert!(!sight.includes(&EntityInfo::at((131, 140))));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    is_everything: bool,
    owner: Option<PlayerId>,
    team: Option<u8>,
    /// The first circle. Most sights have one, and need no allocation.
    circle: Option<Circle>,
    more_circles: Vec<Circle>,
}

/// A circle in units of the game. Its edge is included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Circle {
    pub center: Point,
    pub radius: u32,
}

impl Circle {
    pub fn includes(&self, info: &EntityInfo) -> bool {
        let (x, y) = info.position;
        is_within(x.abs_diff(self.center.0), y.abs_diff(self.center.1), self.radius)
    }
}

impl Sight {
    /// All entities.
    pub const EVERYTHING: Sight = Sight::new(true);
    /// No entity.
    pub const NOTHING: Sight = Sight::new(false);

    const fn new(is_everything: bool) -> Sight {
        Sight { is_everything, owner: None, team: None, circle: None, more_circles: Vec::new() }
    }

    /// Adds the entities that a player owns.
    #[must_use]
    pub fn owned_by(mut self, player: PlayerId) -> Sight {
        self.owner = Some(player);
        self
    }

    /// Adds the entities of a team.
    #[must_use]
    pub fn in_team(mut self, team: u8) -> Sight {
        self.team = Some(team);
        self
    }

    /// Adds the entities within a radius, in units of the game. May be called for several circles.
    #[must_use]
    pub fn within(mut self, center: Point, radius: u32) -> Sight {
        let circle = Circle { center, radius };
        match self.circle {
            None => self.circle = Some(circle),
            Some(_) => self.more_circles.push(circle),
        }
        self
    }

    /// Returns whether an entity with these properties is included.
    pub fn includes(&self, info: &EntityInfo) -> bool {
        self.is_everything
            || (self.owner.is_some() && self.owner == info.owner)
            || (self.team.is_some() && self.team == info.team)
            || self.circles().any(|circle| circle.includes(info))
    }

    /// Returns how near an entity is: 0 for its owner, else the distance to the nearest center of a
    /// circle along the longer axis, in units of the game.
    pub(super) fn distance(&self, info: &EntityInfo) -> u32 {
        if self.owner.is_some() && self.owner == info.owner {
            return 0;
        }
        let (x, y) = info.position;
        let distances =
            self.circles().map(|circle| x.abs_diff(circle.center.0).max(y.abs_diff(circle.center.1)));
        distances.min().unwrap_or(u32::MAX)
    }

    /// Whether all entities are included.
    pub(super) fn is_everything(&self) -> bool {
        self.is_everything
    }

    /// The player whose entities are included.
    pub(super) fn owner(&self) -> Option<PlayerId> {
        self.owner
    }

    /// The team whose entities are included.
    pub(super) fn team(&self) -> Option<u8> {
        self.team
    }

    /// The circles.
    pub(super) fn circles(&self) -> impl Iterator<Item = &Circle> {
        self.circle.iter().chain(&self.more_circles)
    }
}
