//! The events of one tick, which must reach the clients concerned even if they miss states.
//!
//! Each event carries the positions and names that clients are sent with it, as of the end of its
//! tick, so that it can still be written when only a newer state is left. Changes that the state
//! itself shows (health, resources, present players) are not events.

use std::sync::Arc;

use super::interest::{Circle, HALF_HEIGHT_PX, HALF_WIDTH_PX, Located, ViewWindow};
use super::objects::{self, ObjectRef};
use super::published_state::PublicState;
use crate::games::moo::world::trig::{cosine, sine};
use crate::games::moo::world::{Angle, ClanId, EntityId, Fixed, PlayerId, World, WorldEvent};

/// All events of one tick.
#[derive(Debug, Default)]
pub struct Events {
    /// Ticks completed, as in the state of the same tick.
    pub tick: u32,
    /// Everything but pings, in the order in which clients are sent it: chat, then what players and
    /// animals did, then refused choices, then shots.
    pub list: Vec<FeedEvent>,
    /// The players who show their position to their clan.
    pub pings: Vec<MapPing>,
}

/// An event, with what clients are sent about it.
#[derive(Debug)]
pub enum FeedEvent {
    /// A player said something.
    Chat { player: PlayerId, text: String },
    /// A player swung a weapon, at this place unless it has left.
    Swing { player: PlayerId, weapon: u8, hit: bool, at: Option<Circle> },
    /// An object was struck.
    ObjectHit { object: ObjectRef, direction: Angle },
    /// A player or an animal at this place lost health to a player.
    Hurt { by: PlayerId, at: Circle, amount: u16 },
    /// A player gained health.
    Healed { player: PlayerId, at: Circle, amount: u16 },
    /// An animal strikes.
    AnimalStruck { animal: EntityId },
    /// A player died. The names of players who have left are missing.
    Died { player: PlayerId, victim: Option<NamedPlayer>, killer: Option<NamedPlayer> },
    /// The operator says something to everyone.
    Said { text: String },
    /// A player chose what its age does not offer.
    NotOffered { player: PlayerId },
    /// A shot was fired and still flies at the end of the tick.
    Shot(ShotFired),
    /// A shot has ended.
    ShotEnded { shot: EntityId, x: Fixed, y: Fixed },
}

/// A player by number and name.
pub type NamedPlayer = (PlayerId, Arc<str>);

/// A shot fired in a tick, at its position at the end of the tick.
#[derive(Debug)]
pub struct ShotFired {
    pub id: EntityId,
    /// A number of [`PROJECTILES`](crate::games::moo::world::rules::PROJECTILES).
    pub kind: u8,
    /// A player's entity, or the turret.
    pub by: EntityId,
    /// The turret, if one fired.
    pub turret: Option<ObjectRef>,
    /// Exact position, px.
    pub x: Fixed,
    pub y: Fixed,
    pub heading: Angle,
    /// The remaining range, px.
    pub range_px: i32,
}

/// A player who shows its position to its clan.
#[derive(Debug)]
pub struct MapPing {
    pub player: PlayerId,
    pub clan: Option<ClanId>,
    pub at: Circle,
}

impl Events {
    /// The events of the world's last tick; `state` is the state after it.
    pub fn of(world: &World, state: &PublicState) -> Events {
        let happened = &world.outcome().events;
        let mut list: Vec<FeedEvent> = happened.iter().filter_map(|event| of(event, world, state)).collect();
        list.sort_by_key(FeedEvent::sort_order);
        let pings = happened.iter().filter_map(|event| ping(event, state)).collect();
        Events { tick: state.tick, list, pings }
    }

    /// What the operator has said to everyone.
    pub fn notices(&self) -> impl Iterator<Item = &str> {
        self.list.iter().filter_map(|event| match event {
            FeedEvent::Said { text } => Some(&**text),
            _ => None,
        })
    }

    /// How much memory the events take, in bytes.
    pub fn bytes(&self) -> usize {
        let text = |event: &FeedEvent| match event {
            FeedEvent::Chat { text, .. } | FeedEvent::Said { text } => text.len(),
            _ => 0,
        };
        let texts: usize = self.list.iter().map(text).sum();
        let lists = size_of_val(&*self.list) + size_of_val(&*self.pings);
        size_of::<Events>() + lists + texts
    }
}

impl FeedEvent {
    /// The place of its kind among the events of a tick.
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
    /// Whether the path may cross the window, tested by the square around the path, which errs on
    /// the side of sending.
    pub fn crosses(&self, window: ViewWindow) -> bool {
        let way = Fixed::from_px(self.range_px);
        let end_x = self.x.saturating_add(way.scaled(cosine(self.heading))).to_px();
        let end_y = self.y.saturating_add(way.scaled(sine(self.heading))).to_px();
        let (x, y) = (self.x.to_px(), self.y.to_px());
        let apart = |from: i32, to: i32, centre: i32| (from.min(to) - centre).max(centre - from.max(to));
        apart(x, end_x, window.x) <= HALF_WIDTH_PX && apart(y, end_y, window.y) <= HALF_HEIGHT_PX
    }
}

/// The number of a shot on the wire.
pub fn shot_number(id: EntityId) -> u32 {
    id.0.wrapping_sub(EntityId::FIRST_SHOT.0)
}

/// An event as clients are sent it; `None` if no client is, or if what it concerns is gone.
fn of(event: &WorldEvent, world: &World, state: &PublicState) -> Option<FeedEvent> {
    let place = |player| state.players.find(&player).map(Located::place);
    let named = |player| state.players.find(&player).map(|seen| (player, Arc::clone(&seen.name)));
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
            // An animal killed by the blow is gone; the number then rises from the attacker.
            let hurt = state.animals.find(&animal).map(Located::place);
            FeedEvent::Hurt { by, at: hurt.or_else(|| place(by))?, amount }
        }
        WorldEvent::Healed { player, amount } => FeedEvent::Healed { player, at: place(player)?, amount },
        WorldEvent::AnimalStruck { animal } => FeedEvent::AnimalStruck { animal },
        WorldEvent::Died { player, by } => {
            FeedEvent::Died { player, victim: named(player), killer: by.and_then(named) }
        }
        WorldEvent::Announced { ref text } => FeedEvent::Said { text: text.clone() },
        WorldEvent::NotOffered { player } => FeedEvent::NotOffered { player },
        WorldEvent::Shot { projectile } => FeedEvent::Shot(shot(projectile, world, state)?),
        WorldEvent::ShotEnded { projectile, x, y } => FeedEvent::ShotEnded { shot: projectile, x, y },
        _ => return None,
    })
}

fn ping(event: &WorldEvent, state: &PublicState) -> Option<MapPing> {
    let WorldEvent::Pinged { player } = *event else { return None };
    state.players.find(&player).map(|seen| MapPing { player, clan: seen.clan(), at: seen.place() })
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
