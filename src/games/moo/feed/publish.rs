//! Creates the published state of a tick: the public state and the events, copied out of the world
//! once and shared by all views.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::events::Events;
use super::interest::EntityIndex;
use super::objects::{self, PublicScenery, StructureChange, Structures};
use super::published_state::{
    Clans, HeldItem, PlayerIdentity, PublicAnimal, PublicPlayer, PublicState, VisiblePlayer,
};
use crate::games::moo::world::{PlayerId, PlayerView, World, WorldEvent};

/// Copies the public state out of the world in each tick. Unchanged parts are shared between ticks.
#[derive(Debug)]
pub struct WorldReader {
    nature: Arc<EntityIndex<PublicScenery>>,
    structures: Arc<Structures>,
    clans: Arc<Clans>,
    /// The players of the last tick.
    identities: Vec<PlayerIdentity>,
    membership_version: u32,
    /// Tick of each player's last request to join a clan.
    join_request_order: BTreeMap<PlayerId, u32>,
}

impl WorldReader {
    /// Creates a reader of a world, and indexes its scenery.
    pub fn new(world: &World) -> WorldReader {
        WorldReader {
            nature: Arc::new(objects::scenery(world)),
            structures: Arc::new(Structures::new(objects::structures(world))),
            clans: Arc::default(),
            identities: Vec::new(),
            membership_version: 0,
            join_request_order: BTreeMap::new(),
        }
    }

    /// Returns the events of the world's last tick, and the state after it. `margin` returns the
    /// margin of a player's last command in ticks; positive values are early.
    pub fn read(&mut self, world: &World, margin: &dyn Fn(PlayerId) -> i16) -> (Events, PublicState) {
        let tick = world.tick();
        self.update_shared(world);
        let mut players: Vec<PublicPlayer> =
            world.players().map(|view| self.public_player(&view, margin(view.id))).collect();
        set_killers(world, &mut players);
        self.update_membership(&players);
        let animals = world.animals().map(|animal| {
            let (id, kind, body) = (animal.id, animal.kind as u8, animal.body.clone());
            PublicAnimal { id, kind, body }
        });
        let state = PublicState {
            tick,
            tick_hz: world.identity().tick_hz.get(),
            map_size_px: world.identity().map_size_px as i32,
            nature: Arc::clone(&self.nature),
            structures: Arc::clone(&self.structures),
            animals: EntityIndex::new(animals.collect()),
            clans: Arc::clone(&self.clans),
            leader: leader(&players),
            visible: players.iter().map(VisiblePlayer::of).collect(),
            players: EntityIndex::new(players),
            membership_version: self.membership_version,
            ranking: OnceLock::new(),
            rolls: OnceLock::new(),
        };
        (Events::from_world(world, &state), state)
    }

    /// Increments the version if other players are in the world than in the last tick.
    fn update_membership(&mut self, players: &[PublicPlayer]) {
        let identities = players.iter().map(PublicPlayer::identity);
        if !identities.clone().eq(self.identities.iter().copied()) {
            self.identities.clear();
            self.identities.extend(identities);
            self.membership_version = self.membership_version.wrapping_add(1);
        }
    }

    /// Rebuilds the shared parts (clans, structures) that changed in this tick.
    fn update_shared(&mut self, world: &World) {
        if let Some(clans) = self.clans.changed(world) {
            self.clans = Arc::new(clans);
        }
        let mut change = StructureChange::default();
        for event in &world.outcome().events {
            match event {
                WorldEvent::Placed { object } => change.built.push(*object),
                WorldEvent::Destroyed { object } => change.destroyed.push(*object),
                WorldEvent::JoinRequested { player, .. } => {
                    _ = self.join_request_order.insert(*player, world.tick())
                }
                WorldEvent::Left { player } => _ = self.join_request_order.remove(player),
                _ => {}
            }
        }
        if !change.is_empty() {
            self.structures = Arc::new(self.structures.after(change, objects::structures(world)));
        }
    }

    fn public_player(&self, view: &PlayerView<'_>, margin_ticks: i16) -> PublicPlayer {
        let join_request_order = || self.join_request_order.get(&view.id).copied().unwrap_or_default();
        PublicPlayer {
            player: view.id,
            joined_tick: view.joined_tick,
            name: Arc::clone(view.name),
            skin: view.skin,
            body: view.body.clone(),
            direction: view.direction,
            alive: view.alive,
            is_protected: view.is_protected,
            killer: None,
            health: view.health,
            max_health: view.max_health,
            resources: view.resources,
            kills: view.kills,
            xp: view.xp,
            xp_next: view.xp_next,
            age: view.age,
            score: view.score,
            hand: HeldItem { weapon: view.weapon, item: view.item },
            kit: view.kit.clone(),
            tag: view.clan.and_then(|clan| self.clans.tag(clan, view.id)),
            join_request: view.join_request.map(|clan| (clan, join_request_order())),
            choices: (view.choices, view.choice_age),
            sequence: view.sequence,
            margin_ticks,
        }
    }
}

fn set_killers(world: &World, players: &mut [PublicPlayer]) {
    // In reverse order, because the first death counts if a player died twice in a tick.
    for event in world.outcome().events.iter().rev() {
        if let WorldEvent::Died { player, by } = event
            && let Ok(index) = players.binary_search_by_key(player, |killer| killer.player)
        {
            players[index].killer = *by;
        }
    }
}

fn leader(players: &[PublicPlayer]) -> Option<usize> {
    let alive = (0..players.len()).filter(|index| players[*index].alive);
    alive.max_by_key(|index| (players[*index].score, std::cmp::Reverse(*index)))
}
