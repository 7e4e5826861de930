//! The public state after a tick, as all clients may see it: players, animals, objects, clans.
//!
//! A state holds no reference into the world, which moves on meanwhile, so any number of views can
//! read it at once. It knows nothing of what is sent. What only some views need (the leaderboard,
//! the members of clans) is made on first use.

use std::sync::{Arc, OnceLock};

use super::animals::Animal;
use super::clans::{Clans, Tag};
use super::interest::{Place, Thing, Things, Window};
use super::objects::{Natural, Structures};
use crate::world::controller::Kit;
use crate::world::{Angle, ClanId, Fixed, PlayerId};

/// Rows of a leaderboard.
pub const BOARD_ROWS: usize = 10;

/// A player as everyone may see it.
#[derive(Debug, Clone)]
pub struct Seen {
    pub player: PlayerId,
    /// The tick in which the player joined; distinguishes two owners of one number.
    pub joined_tick: u32,
    pub name: Arc<str>,
    pub skin: u8,
    /// Exact position, px, and velocity, px per tick.
    pub x: Fixed,
    pub y: Fixed,
    pub vx: Fixed,
    pub vy: Fixed,
    pub heading: Angle,
    /// The walking direction, if the player walks.
    pub direction: Option<Angle>,
    pub radius_px: i32,
    /// Whether the player is alive; no client sees a dead player.
    pub alive: bool,
    /// The player who killed it in this tick.
    pub killer: Option<PlayerId>,
    /// Health points; 0 when dead.
    pub health: u16,
    pub max_health: u16,
    /// The stats sent to the player alone: resources, kills, experience, age, score.
    pub stats: Stats,
    pub hand: Hand,
    pub kit: Kit,
    pub tag: Option<Tag>,
    /// The clan that the player asks to join, and the tick in which it asked last.
    pub asks: Option<(ClanId, u32)>,
    /// The number of choices that the player may make now, and their age.
    pub choices: (u8, u8),
    /// The last sequence that the world applied.
    pub sequence: u64,
    /// How many ticks early (positive) or late its last command came.
    pub margin_ticks: i16,
}

impl Thing for Seen {
    type Id = PlayerId;

    fn id(&self) -> PlayerId {
        self.player
    }

    fn place(&self) -> Place {
        Place { x_px: self.x.to_px(), y_px: self.y.to_px(), radius_px: self.radius_px }
    }
}

impl Seen {
    pub fn who(&self) -> Who {
        Who { player: self.player, joined_tick: self.joined_tick }
    }

    /// The number of its clan.
    pub fn clan(&self) -> Option<ClanId> {
        self.tag.as_ref().map(|tag| tag.id)
    }
}

/// A player, with the tick in which it joined: a number alone could belong to its next owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Who {
    pub player: PlayerId,
    pub joined_tick: u32,
}

/// What a player holds, as everyone sees it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hand {
    pub weapon: u8,
    /// The number of the item held instead of the weapon.
    pub item: Option<u8>,
}

/// A player's stats, sent to that player alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Wood, food, stone, gold.
    pub resources: [u32; 4],
    pub kills: u32,
    /// Experience since the last age.
    pub xp: u32,
    /// Experience that the next age requires; 0 at the last age.
    pub xp_next: u32,
    /// Age, from 1.
    pub age: u8,
    pub score: u32,
}

/// The best players, and every player's rank.
#[derive(Debug, Default)]
pub struct Board {
    /// The best, as indexes into [`State::players`].
    pub best: Vec<usize>,
    /// The rank of each player by index, from 1.
    pub places: Vec<u16>,
}

/// The members of each clan, and the players who ask to join it: indexes of players by clan.
#[derive(Debug, Default)]
pub(super) struct Rolls {
    members: Vec<(ClanId, u32)>,
    asking: Vec<(ClanId, u32)>,
}

/// See the [module](self).
#[derive(Debug)]
pub struct State {
    pub tick: u32,
    pub tick_hz: u32,
    /// Side of the map, px.
    pub map_size_px: i32,
    /// In the order of their numbers.
    pub players: Things<Seen>,
    pub nature: Arc<Things<Natural>>,
    pub structures: Arc<Structures>,
    pub animals: Things<Animal>,
    pub clans: Arc<Clans>,
    /// The best player alive, as an index.
    pub leader: Option<usize>,
    pub(super) board: OnceLock<Board>,
    pub(super) rolls: OnceLock<Rolls>,
}

impl State {
    /// The index of a player, if it is alive.
    pub fn living(&self, player: Option<PlayerId>) -> Option<usize> {
        self.players.index_of(&player?).filter(|index| self.players[*index].alive)
    }

    /// Seconds of the world's time: a leaderboard is due in the first turn of each.
    pub fn second(&self) -> u32 {
        self.tick / self.tick_hz
    }

    pub fn board(&self) -> &Board {
        self.board.get_or_init(|| Board::new(&self.players))
    }

    pub fn members(&self, clan: ClanId) -> impl Iterator<Item = &Seen> + Clone {
        self.roll(&self.rolls().members, clan)
    }

    pub fn asking(&self, clan: ClanId) -> impl Iterator<Item = &Seen> + Clone {
        self.roll(&self.rolls().asking, clan)
    }

    fn rolls(&self) -> &Rolls {
        self.rolls.get_or_init(|| Rolls::new(&self.players))
    }

    fn roll<'a>(
        &'a self,
        roll: &'a [(ClanId, u32)],
        clan: ClanId,
    ) -> impl Iterator<Item = &'a Seen> + Clone + 'a {
        let start = roll.partition_point(|(id, _)| *id < clan);
        let same = roll[start..].iter().take_while(move |(id, _)| *id == clan);
        same.map(|(_, index)| &self.players[*index as usize])
    }

    /// The window around this player, or around the middle of the map.
    pub fn window(&self, centre: Option<usize>) -> Window {
        match centre.map(|index| self.players[index].place()) {
            Some(Place { x_px: x, y_px: y, .. }) => Window { x, y },
            None => Window { x: self.map_size_px / 2, y: self.map_size_px / 2 },
        }
    }

    /// Collects the indexes of the living players in the window into `visible`, in order, without
    /// the client's own.
    pub fn look(&self, window: Window, own: Option<usize>, visible: &mut Vec<u32>) {
        self.players.look(window, visible);
        visible.retain(|index| self.players[*index as usize].alive && own != Some(*index as usize));
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

impl Rolls {
    fn new(players: &[Seen]) -> Rolls {
        let mut rolls = Rolls::default();
        for (index, seen) in players.iter().enumerate() {
            rolls.members.extend(seen.clan().map(|clan| (clan, index as u32)));
            rolls.asking.extend(seen.asks.map(|(clan, _)| (clan, index as u32)));
        }
        rolls.members.sort_unstable();
        rolls.asking.sort_unstable();
        rolls
    }
}
