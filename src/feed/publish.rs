//! The public state of a tick: players, events and positions, copied out of the world once and
//! shared by all views.
//!
//! [`Published`] holds no reference into the world, which moves on meanwhile, so any number of
//! views can read it at once. Data that only some views need (records of a layout, the leaderboard)
//! is made on first use. The publisher also receives how early or late each player's commands
//! arrived.

use std::sync::{Arc, OnceLock};

use super::animals::Animals;
use super::built::Structures;
use super::clans::{Clans, Rolls, Tag};
use super::interest::Grid;
use super::records::Records;
use super::shots::{self, ShotSeen};
use super::{moomoo, native};
use crate::world::controller::Kit;
use crate::world::{Angle, ClanId, EntityId, Event, Fixed, PlayerId, PlayerView, SceneryKind, World};

/// Rows of a leaderboard.
pub const BOARD_ROWS: usize = 10;

/// Update rates per second of each kind of client; at most the tick rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// Ticks per second.
    pub tick_hz: u32,
    /// Updates per second of the native dialect.
    pub native_hz: u32,
    /// Updates per second of the MooMoo dialects.
    pub moomoo_hz: u32,
}

/// A player as everyone may see it.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The player's number.
    pub player: PlayerId,
    /// The tick in which the player joined; distinguishes two owners of one number.
    pub joined_tick: u32,
    /// The player's name.
    pub name: Arc<str>,
    /// The player's colour.
    pub skin: u8,
    /// Exact position, px in 16.16.
    pub x: Fixed,
    /// Exact position, px in 16.16.
    pub y: Fixed,
    /// Exact velocity, px per tick in 16.16.
    pub vx: Fixed,
    /// Exact velocity, px per tick in 16.16.
    pub vy: Fixed,
    /// The player's heading.
    pub heading: Angle,
    /// The walking direction, if the player walks.
    pub direction: Option<Angle>,
    /// Radius, px.
    pub radius_px: i32,
    /// Whether the player is alive; no client sees a dead player.
    pub alive: bool,
    /// Health points; 0 when dead.
    pub health: u16,
    /// Maximum health points.
    pub max_health: u16,
    /// The stats sent to the player alone: resources, kills, experience, age, score.
    pub stats: Stats,
    /// What the player holds.
    pub hand: Hand,
    /// What the player can use.
    pub kit: Kit,
    /// The player's clan.
    pub tag: Option<Tag>,
    /// The clan that the player asks to join.
    pub asks: Option<ClanId>,
    /// The number of choices that the player may make now, and their age.
    pub choices: (u8, u8),
    /// The last sequence that the world applied.
    pub sequence: u64,
    /// How many ticks early (positive) or late its last command came.
    pub margin_ticks: i16,
    /// The pose in the native layout.
    pub pose: native::Pose,
    /// The pose in the previous native turn, if the player was there.
    pub base: Option<native::Pose>,
}

/// What a player holds, as everyone sees it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hand {
    /// A weapon's number.
    pub weapon: u8,
    /// The number of the item held instead of the weapon.
    pub item: Option<u8>,
}

/// A player's stats, sent to that player alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Wood, food, stone, gold.
    pub resources: [u32; 4],
    /// Players killed.
    pub kills: u32,
    /// Experience since the last age.
    pub xp: u32,
    /// Experience that the next age requires; 0 at the last age.
    pub xp_next: u32,
    /// Age, from 1.
    pub age: u8,
    /// Points.
    pub score: u32,
}

/// A thing of nature as everyone may see it.
#[derive(Debug, Clone, Copy)]
pub struct Placed {
    /// The object's number.
    pub id: EntityId,
    /// The object's kind.
    pub kind: SceneryKind,
    /// Centre, px.
    pub x_px: i32,
    /// Centre, px.
    pub y_px: i32,
    /// Size of its picture, px.
    pub scale_px: i32,
}

/// All natural objects: they never change, so they are indexed and encoded once.
#[derive(Debug, Default)]
pub struct Nature {
    /// In the order of their numbers.
    pub things: Vec<Placed>,
    /// The spatial index.
    pub grid: Grid,
    /// Their native records.
    pub native: Records,
    /// Their MooMoo records.
    pub moomoo: Records,
}

/// The best players, and every player's rank.
#[derive(Debug, Default)]
pub struct Board {
    /// The best, as indexes into [`Published::players`].
    pub best: Vec<usize>,
    /// The rank of each player by index, from 1.
    pub places: Vec<u16>,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Published {
    /// Ticks completed.
    pub tick: u32,
    /// Ticks per second.
    pub tick_hz: u32,
    /// Side of the map, px.
    pub map_size_px: i32,
    /// In the order of their numbers.
    pub players: Vec<Seen>,
    /// The spatial index of the players.
    pub grid: Grid,
    /// The events of the tick, in order.
    pub events: Vec<Event>,
    /// The natural objects.
    pub nature: Arc<Nature>,
    /// The structures.
    pub structures: Arc<Structures>,
    /// The living animals.
    pub animals: Animals,
    /// The shots fired in this tick that still fly.
    pub shots: Vec<ShotSeen>,
    /// All clans.
    pub clans: Arc<Clans>,
    /// The number of the native turn, if this tick is one.
    pub native_turn: Option<u32>,
    /// The number of the MooMoo turn, if this tick is one.
    pub moomoo_turn: Option<u32>,
    /// Seconds of the world's time: a leaderboard is due in the first turn of each.
    pub second: u32,
    /// The best player alive, as an index.
    pub leader: Option<usize>,
    board: OnceLock<Board>,
    rolls: OnceLock<Rolls>,
    native: OnceLock<native::PlayerRecords>,
    moomoo: OnceLock<Records>,
}

impl Published {
    /// The index of a player.
    pub fn index_of(&self, player: PlayerId) -> Option<usize> {
        self.players.binary_search_by_key(&player, |seen| seen.player).ok()
    }

    /// The leaderboard, made on first use.
    pub fn board(&self) -> &Board {
        self.board.get_or_init(|| Board::new(&self.players))
    }

    /// The members of each clan, made on first use.
    pub fn rolls(&self) -> &Rolls {
        self.rolls.get_or_init(|| Rolls::new(&self.players))
    }

    /// The native records, made on first use.
    pub fn native_records(&self) -> &native::PlayerRecords {
        self.native.get_or_init(|| native::PlayerRecords::new(&self.players))
    }

    /// The MooMoo records, made on first use.
    pub fn moomoo_records(&self) -> &Records {
        self.moomoo.get_or_init(|| Records::new(self.players.iter(), moomoo::write_player))
    }
}

impl Board {
    fn new(players: &[Seen]) -> Board {
        let mut order: Vec<usize> = (0..players.len()).collect();
        // Equal scores: the lower number first, as the sort is stable.
        order.sort_by_key(|index| std::cmp::Reverse(players[*index].stats.score));
        let mut places = vec![0; players.len()];
        for (place, index) in order.iter().enumerate() {
            places[*index] = u16::try_from(place + 1).unwrap_or(u16::MAX);
        }
        order.truncate(BOARD_ROWS);
        Board { best: order, places }
    }
}

/// Copies the public state out of the world, tick after tick.
#[derive(Debug)]
pub struct Publisher {
    rates: Rates,
    nature: Arc<Nature>,
    structures: Arc<Structures>,
    clans: Arc<Clans>,
    native_turn: u32,
    moomoo_turn: u32,
    /// The poses of the previous native turn, in the order of player numbers.
    previous: Vec<(PlayerId, u32, native::Pose)>,
}

impl Publisher {
    /// A publisher for this world; indexes and encodes what never changes.
    pub fn new(world: &World, rates: Rates) -> Publisher {
        let things: Vec<Placed> = world
            .scenery()
            .map(|thing| Placed {
                id: thing.id,
                kind: thing.kind,
                x_px: thing.x_px,
                y_px: thing.y_px,
                scale_px: thing.scale_px,
            })
            .collect();
        let points = things.iter().map(|thing| (thing.x_px, thing.y_px, thing.scale_px));
        let nature = Nature {
            grid: Grid::new(map_size_px(world), points),
            native: Records::new(things.iter(), native::write_object),
            moomoo: Records::new(things.iter(), moomoo::write_object),
            things,
        };
        let structures = Structures::new(0, map_size_px(world), world.structures());
        Publisher {
            rates,
            nature: Arc::new(nature),
            structures: Arc::new(structures),
            clans: Arc::default(),
            native_turn: 0,
            moomoo_turn: 0,
            previous: Vec::new(),
        }
    }

    /// Publishes the world's state after its last tick. `margin` returns how early or late a
    /// player's last command arrived.
    pub fn publish(&mut self, world: &World, margin: impl Fn(PlayerId) -> i16) -> Published {
        let tick = world.tick();
        if let Some(clans) = self.clans.changed(world) {
            self.clans = Arc::new(clans);
        }
        let players: Vec<Seen> = world.players().map(|view| self.seen(&view, margin(view.id))).collect();
        let points = players.iter().map(|seen| (seen.x.to_px(), seen.y.to_px(), seen.radius_px));
        let native_turn = self.is_due(tick, self.rates.native_hz).then(|| {
            self.native_turn += 1;
            self.previous.clear();
            self.previous.extend(players.iter().map(|seen| (seen.player, seen.joined_tick, seen.pose)));
            self.native_turn
        });
        let moomoo_turn = self.is_due(tick, self.rates.moomoo_hz).then(|| {
            self.moomoo_turn += 1;
            self.moomoo_turn
        });
        Published {
            tick,
            tick_hz: self.rates.tick_hz,
            map_size_px: map_size_px(world),
            grid: Grid::new(map_size_px(world), points),
            events: world.outcome().events.clone(),
            nature: Arc::clone(&self.nature),
            structures: self.structures(world),
            animals: Animals::of(world, map_size_px(world)),
            shots: shots::of(world),
            clans: Arc::clone(&self.clans),
            native_turn,
            moomoo_turn,
            second: tick / self.rates.tick_hz,
            leader: leader(&players),
            players,
            board: OnceLock::new(),
            rolls: OnceLock::new(),
            native: OnceLock::new(),
            moomoo: OnceLock::new(),
        }
    }

    /// The present structures, rebuilt only after one was built or destroyed.
    fn structures(&mut self, world: &World) -> Arc<Structures> {
        let is_change = |event: &Event| matches!(event, Event::Placed { .. } | Event::Destroyed { .. });
        if world.outcome().events.iter().any(is_change) {
            let version = self.structures.version.wrapping_add(1);
            self.structures = Arc::new(Structures::new(version, map_size_px(world), world.structures()));
        }
        Arc::clone(&self.structures)
    }

    fn seen(&self, view: &PlayerView<'_>, margin_ticks: i16) -> Seen {
        let body = view.body;
        let previous = self.previous.binary_search_by_key(&view.id, |(player, ..)| *player);
        let base =
            previous.ok().map(|at| self.previous[at]).filter(|(_, joined, _)| *joined == view.joined_tick);
        Seen {
            player: view.id,
            joined_tick: view.joined_tick,
            name: Arc::clone(view.name),
            skin: view.skin,
            x: body.x,
            y: body.y,
            vx: body.vx,
            vy: body.vy,
            heading: body.heading,
            direction: view.direction,
            radius_px: body.radius_px,
            alive: view.alive,
            health: view.health,
            max_health: view.max_health,
            stats: Stats {
                resources: view.resources,
                kills: view.kills,
                xp: view.xp,
                xp_next: view.xp_next,
                age: view.age,
                score: view.score,
            },
            hand: Hand { weapon: view.weapon, item: view.item },
            kit: view.kit.clone(),
            tag: view.clan.and_then(|clan| self.clans.tag(clan, view.id)),
            asks: view.asks,
            choices: (view.choices, view.choice_age),
            sequence: view.sequence,
            margin_ticks,
            pose: native::Pose::of(body),
            base: base.map(|(.., pose)| pose),
        }
    }

    /// Whether a client of `hz` updates per second has a turn in this tick: turns are spread
    /// evenly, whatever the rates.
    fn is_due(&self, tick: u32, hz: u32) -> bool {
        let turns = |tick: u32| u64::from(tick) * u64::from(hz) / u64::from(self.rates.tick_hz);
        tick == 0 || turns(tick) != turns(tick - 1)
    }
}

fn leader(players: &[Seen]) -> Option<usize> {
    let alive = (0..players.len()).filter(|index| players[*index].alive);
    alive.max_by_key(|index| (players[*index].stats.score, std::cmp::Reverse(*index)))
}

fn map_size_px(world: &World) -> i32 {
    world.identity().map_size_px as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{Identity, TickHz};

    fn publisher(native_hz: u32, moomoo_hz: u32) -> (World, Publisher) {
        let world = World::new(Identity { seed: 1, map_size_px: 14_400, tick_hz: TickHz::Hz30 });
        let publisher = Publisher::new(&world, Rates { tick_hz: 30, native_hz, moomoo_hz });
        (world, publisher)
    }

    #[test]
    fn turns_come_at_their_rate_and_evenly() {
        let (mut world, mut publisher) = publisher(20, 10);
        let (mut native, mut moomoo) = (Vec::new(), 0);
        for _ in 0..30 {
            world.step(&mut Vec::new());
            let published = publisher.publish(&world, |_| 0);
            native.extend(published.native_turn.map(|_| published.tick));
            moomoo += u32::from(published.moomoo_turn.is_some());
        }
        assert_eq!((native.len(), moomoo), (20, 10));
        assert!(native.windows(2).all(|pair| pair[1] - pair[0] <= 2), "{native:?}");
    }

    #[test]
    fn nature_is_published_once_and_shared() {
        let (world, mut publisher) = publisher(30, 10);
        let (one, two) = (publisher.publish(&world, |_| 0), publisher.publish(&world, |_| 0));
        assert!(Arc::ptr_eq(&one.nature, &two.nature));
        assert_eq!(one.nature.things.len(), world.scenery().count());
    }
}
