//! The events of one tick, which must reach all affected clients even if they miss states.
//!
//! Each event stores the positions and names that are sent with it, as of the end of its tick. An
//! event can therefore still be written when only a newer state is left. Changes that are part of
//! the state (health, resources, present players) are not events.

use std::sync::Arc;

use super::interest::{Circle, HALF_HEIGHT_PX, HALF_WIDTH_PX, Located, ViewWindow};
use super::objects::{self, ObjectRef};
use super::published_state::PublicState;
use crate::games::moo::world::trig::{cosine, sine};
use crate::games::moo::world::{Angle, ClanId, EntityId, Fixed, PlayerId, World, WorldEvent};

/// All events of one tick.
#[derive(Debug, Default)]
pub struct Events {
    /// Number of completed ticks, equal to the tick of the matching state.
    pub tick: u32,
    /// All events except pings, in the order in which they are sent: chat, then actions of players
    /// and animals, then rejected upgrades, then projectiles.
    pub list: Vec<FeedEvent>,
    /// The pings of players to their clans.
    pub pings: Vec<MapPing>,
}

/// An event with the data that is sent to clients.
#[derive(Debug)]
pub enum FeedEvent {
    /// A player sent a chat message.
    Chat { player: PlayerId, text: String },
    /// A player swung a weapon. `at` is its position; `None` if it has left.
    Swing { player: PlayerId, weapon: u8, hit: bool, at: Option<Circle> },
    /// An object was hit.
    ObjectHit { object: ObjectRef, direction: Angle },
    /// A player or an animal at this position lost health to a player.
    Hurt { by: PlayerId, at: Circle, amount: u16 },
    /// A player gained health.
    Healed { player: PlayerId, at: Circle, amount: u16 },
    /// An animal attacked.
    AnimalStruck { animal: EntityId },
    /// A player died. The name of a player that has left is missing.
    Died { player: PlayerId, victim: Option<NamedPlayer>, killer: Option<NamedPlayer> },
    /// The operator sent a message to all players.
    Announced { text: String },
    /// A player chose an upgrade that its age does not offer.
    NotOffered { player: PlayerId },
    /// A projectile was fired and is still in flight at the end of the tick.
    Shot(ShotFired),
    /// A projectile ended.
    ShotEnded { shot: EntityId, x: Fixed, y: Fixed },
}

/// A player's ID and name.
pub type NamedPlayer = (PlayerId, Arc<str>);

/// A projectile fired in a tick, at its position at the end of the tick.
#[derive(Debug)]
pub struct ShotFired {
    pub id: EntityId,
    /// An ID of [`PROJECTILES`](crate::games::moo::world::rules::PROJECTILES).
    pub kind: u8,
    /// The entity that fired the projectile: a player or a turret.
    pub by: EntityId,
    /// The turret, if a turret fired the projectile.
    pub turret: Option<ObjectRef>,
    /// Exact position, in px.
    pub x: Fixed,
    pub y: Fixed,
    pub heading: Angle,
    /// Remaining range, in px.
    pub range_px: i32,
}

/// A ping: a player sends its position to its clan.
#[derive(Debug)]
pub struct MapPing {
    pub player: PlayerId,
    pub clan: Option<ClanId>,
    pub at: Circle,
}

impl Events {
    /// The events of the world's last tick. `state` is the state after this tick.
    pub fn from_world(world: &World, state: &PublicState) -> Events {
        let happened = &world.outcome().events;
        let mut list: Vec<FeedEvent> =
            happened.iter().filter_map(|event| convert_event(event, world, state)).collect();
        list.sort_by_key(FeedEvent::sort_order);
        let pings = happened.iter().filter_map(|event| ping(event, state)).collect();
        Events { tick: state.tick, list, pings }
    }

    /// Texts of the operator messages.
    pub fn notices(&self) -> impl Iterator<Item = &str> {
        self.list.iter().filter_map(|event| match event {
            FeedEvent::Announced { text } => Some(&**text),
            _ => None,
        })
    }

    /// Memory occupied by the events, in bytes.
    pub fn bytes(&self) -> usize {
        let text = |event: &FeedEvent| match event {
            FeedEvent::Chat { text, .. } | FeedEvent::Announced { text } => text.len(),
            _ => 0,
        };
        let texts: usize = self.list.iter().map(text).sum();
        let lists = size_of_val(&*self.list) + size_of_val(&*self.pings);
        size_of::<Events>() + lists + texts
    }
}

impl FeedEvent {
    /// Rank of the kind in the order of sending.
    fn sort_order(&self) -> u8 {
        match self {
            FeedEvent::Chat { .. } => 0,
            FeedEvent::NotOffered { .. } => 2,
            FeedEvent::Shot(_) | FeedEvent::ShotEnded { .. } => 3,
            _ => 1,
        }
    }
}

impl ShotFired {
    /// Whether the flight path may cross the window. Tests the bounding box of the path, so the
    /// result may be `true` without a crossing.
    pub fn crosses(&self, window: ViewWindow) -> bool {
        let way = Fixed::from_px(self.range_px);
        let end_x = self.x.saturating_add(way.scaled(cosine(self.heading))).to_px();
        let end_y = self.y.saturating_add(way.scaled(sine(self.heading))).to_px();
        let (x, y) = (self.x.to_px(), self.y.to_px());
        let apart = |from: i32, to: i32, centre: i32| (from.min(to) - centre).max(centre - from.max(to));
        apart(x, end_x, window.x) <= HALF_WIDTH_PX && apart(y, end_y, window.y) <= HALF_HEIGHT_PX
    }
}

/// The number of a projectile on the wire.
pub fn shot_number(id: EntityId) -> u32 {
    id.0.wrapping_sub(EntityId::FIRST_SHOT.0)
}

/// Converts an event of the world. `None` if no client receives the event, or if its object no
/// longer exists.
fn convert_event(event: &WorldEvent, world: &World, state: &PublicState) -> Option<FeedEvent> {
    let place = |player| state.player(player).map(Located::place);
    let named = |player| state.player(player).map(|known| (player, Arc::clone(&known.name)));
    Some(match *event {
        WorldEvent::Chat { player, ref text } => FeedEvent::Chat { player, text: text.clone() },
        WorldEvent::Swung { player, weapon, hit } => {
            FeedEvent::Swing { player, weapon, hit, at: place(player) }
        }
        WorldEvent::Struck { object, direction, .. } => FeedEvent::ObjectHit {
            object: objects::find(&state.nature, &state.structures, object)?,
            direction,
        },
        WorldEvent::Hurt { player, by: Some(by), amount } => {
            FeedEvent::Hurt { by, at: place(player)?, amount }
        }
        WorldEvent::AnimalHurt { animal, by: Some(by), amount } => {
            // An animal that was killed is no longer in the state. Its damage number is shown at
            // the attacker instead.
            let hurt = state.animals.find(&animal).map(Located::place);
            FeedEvent::Hurt { by, at: hurt.or_else(|| place(by))?, amount }
        }
        WorldEvent::Healed { player, amount } => FeedEvent::Healed { player, at: place(player)?, amount },
        WorldEvent::AnimalStruck { animal } => FeedEvent::AnimalStruck { animal },
        WorldEvent::Died { player, by } => {
            FeedEvent::Died { player, victim: named(player), killer: by.and_then(named) }
        }
        WorldEvent::Announced { ref text } => FeedEvent::Announced { text: text.clone() },
        WorldEvent::NotOffered { player } => FeedEvent::NotOffered { player },
        WorldEvent::Shot { projectile } => FeedEvent::Shot(shot(projectile, world, state)?),
        WorldEvent::ShotEnded { projectile, x, y } => FeedEvent::ShotEnded { shot: projectile, x, y },
        _ => return None,
    })
}

fn ping(event: &WorldEvent, state: &PublicState) -> Option<MapPing> {
    let WorldEvent::Pinged { player } = *event else { return None };
    state.player(player).map(|known| MapPing { player, clan: known.clan(), at: known.place() })
}

fn shot(id: EntityId, world: &World, state: &PublicState) -> Option<ShotFired> {
    let shot = world.projectile(id)?;
    let turret = Some(shot.by).filter(|by| by.player().is_none());
    Some(ShotFired {
        id,
        kind: shot.kind,
        by: shot.by,
        turret: turret.and_then(|turret| objects::find(&state.nature, &state.structures, turret)),
        x: shot.body.x,
        y: shot.body.y,
        heading: shot.body.heading,
        range_px: shot.left.to_px(),
    })
}
