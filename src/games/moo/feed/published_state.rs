//! The public state after a tick, as clients may see it: players, animals, objects, clans.
//!
//! A state holds no reference into the world, which continues to change, so any number of views can
//! read it concurrently. The parts that only some views need (leaderboard, clan members, records)
//! are created on first use.

use std::sync::{Arc, OnceLock};

use super::interest::{Circle, EntityIndex, Located, ViewWindow};
use super::objects::{PublicScenery, Structures};
use super::pose::Pose;
use crate::games::moo::world::clan::Clan;
use crate::games::moo::world::controller::Kit;
use crate::games::moo::world::{Angle, Body, ClanId, EntityId, PlayerId, World};

/// Number of rows of a leaderboard.
pub const BOARD_ROWS: usize = 10;

/// The public state of a player.
#[derive(Debug, Clone)]
pub struct PublicPlayer {
    pub player: PlayerId,
    /// The tick in which the player joined. Distinguishes players that had the same ID at different
    /// times.
    pub joined_tick: u32,
    pub name: Arc<str>,
    pub skin: u8,
    pub body: Body,
    /// Direction of movement; `None` if the player is not walking.
    pub direction: Option<Angle>,
    /// Whether the player is alive. A dead player is not sent to clients.
    pub alive: bool,
    /// Whether spawn protection prevents damage.
    pub is_protected: bool,
    /// The player that killed this player in this tick.
    pub killer: Option<PlayerId>,
    /// Health points; 0 when dead.
    pub health: u16,
    pub max_health: u16,
    /// Wood, food, stone and gold. The next fields are: kills; experience since the last age;
    /// experience for the next age (0 at the last age); age, starting at 1; score. Only the
    /// player's own client receives these values. The leaderboard also contains the score.
    pub resources: [u32; 4],
    pub kills: u32,
    pub xp: u32,
    pub xp_next: u32,
    pub age: u8,
    pub score: u32,
    pub hand: HeldItem,
    pub kit: Kit,
    pub tag: Option<ClanTag>,
    /// The clan that the player has requested to join, and the tick of its last request.
    pub join_request: Option<(ClanId, u32)>,
    /// Number of upgrades that the player may choose now, and the age that offers these upgrades.
    pub choices: (u8, u8),
    /// Sequence number of the last command applied.
    pub sequence: u64,
    /// Margin of the player's last command, in ticks; negative if it was late.
    pub margin_ticks: i16,
}

impl Located for PublicPlayer {
    type Id = PlayerId;

    fn id(&self) -> PlayerId {
        self.player
    }

    fn place(&self) -> Circle {
        Circle::of(&self.body)
    }

    fn is_visible(&self) -> bool {
        self.alive
    }
}

impl PublicPlayer {
    pub fn identity(&self) -> PlayerIdentity {
        PlayerIdentity { player: self.player, joined_tick: self.joined_tick }
    }

    /// The ID and the name.
    pub fn named(&self) -> (PlayerId, &str) {
        (self.player, &self.name)
    }

    /// The ID of the player's clan.
    pub fn clan(&self) -> Option<ClanId> {
        self.tag.as_ref().map(|tag| tag.id)
    }
}

/// A player ID, and the tick in which the player joined. IDs are reused, so the ID alone is
/// ambiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlayerIdentity {
    pub player: PlayerId,
    pub joined_tick: u32,
}

/// The values of a player that each update compares with the known set. They are together in half
/// a cache line, because a worker reads dozens of players for each client.
#[derive(Debug, Clone, Copy)]
pub struct VisiblePlayer {
    pub identity: PlayerIdentity,
    /// Health points.
    pub health: u16,
    pub pose: Pose,
    pub hand: HeldItem,
    /// Whether spawn protection prevents damage.
    pub is_protected: bool,
    pub clan: Option<ClanId>,
}

impl VisiblePlayer {
    /// The values of a player.
    pub fn of(player: &PublicPlayer) -> VisiblePlayer {
        VisiblePlayer {
            identity: player.identity(),
            health: player.health,
            pose: Pose::of(&player.body),
            hand: player.hand,
            is_protected: player.is_protected,
            clan: player.clan(),
        }
    }
}

/// The weapon or item in a player's hand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HeldItem {
    pub weapon: u8,
    /// ID of the item held in place of the weapon.
    pub item: Option<u8>,
}

/// The public state of a living animal. Its goal is never published.
#[derive(Debug, Clone)]
pub struct PublicAnimal {
    pub id: EntityId,
    /// Number of the animal's kind.
    pub kind: u8,
    pub body: Body,
}

impl Located for PublicAnimal {
    type Id = EntityId;

    fn id(&self) -> EntityId {
        self.id
    }

    fn place(&self) -> Circle {
        Circle::of(&self.body)
    }
}

/// The number of an animal on the wire.
pub fn animal_number(id: EntityId) -> u32 {
    id.0.wrapping_sub(EntityId::FIRST_ANIMAL.0)
}

/// The clan tag of a player.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClanTag {
    pub id: ClanId,
    pub name: Arc<str>,
    /// Whether the player owns the clan.
    pub is_owner: bool,
}

/// All clans as of the last change.
#[derive(Debug, Default)]
pub struct Clans {
    /// Incremented with each change.
    pub version: u32,
    /// The clans, in ascending order of ID.
    pub list: Vec<Clan>,
}

impl Clans {
    /// The current clans of the world; `None` if they have not changed.
    pub fn changed(&self, world: &World) -> Option<Clans> {
        (self.list != world.clans())
            .then(|| Clans { version: self.version.wrapping_add(1), list: world.clans().to_vec() })
    }

    /// The tag of a player that is a member of a clan.
    pub fn tag(&self, clan: ClanId, player: PlayerId) -> Option<ClanTag> {
        let place = self.list.binary_search_by_key(&clan, |clan| clan.id).ok()?;
        let Clan { id, name, owner } = &self.list[place];
        Some(ClanTag { id: *id, name: Arc::clone(name), is_owner: *owner == player })
    }
}

/// The leaderboard, and the rank of each player.
#[derive(Debug)]
pub struct Ranking {
    /// The best players, as indices into [`PublicState::players`].
    pub best: Vec<usize>,
    /// The rank of each player by index, starting at 1.
    pub ranks: Vec<u16>,
}

/// The members (`false`) and applicants (`true`) of each clan, as sorted player indices.
type ClanRolls = Vec<(ClanId, bool, u32)>;

/// The public state of a world after a tick.
#[derive(Debug)]
pub struct PublicState {
    pub tick: u32,
    pub tick_hz: u32,
    /// Side length of the map, in px.
    pub map_size_px: i32,
    /// Players, in ascending order of ID.
    pub players: EntityIndex<PublicPlayer>,
    /// The compared values of each player, in the same order.
    pub visible: Vec<VisiblePlayer>,
    /// Incremented when a player joins or leaves the world.
    pub membership_version: u32,
    pub nature: Arc<EntityIndex<PublicScenery>>,
    pub structures: Arc<Structures>,
    pub animals: EntityIndex<PublicAnimal>,
    pub clans: Arc<Clans>,
    /// Index of the living player with the highest score.
    pub leader: Option<usize>,
    pub(super) ranking: OnceLock<Ranking>,
    pub(super) rolls: OnceLock<ClanRolls>,
}

impl PublicState {
    /// The index of a player. Searches the compared values: each update searches its player, and
    /// those values of a thousand players fit into the CPU cache.
    pub fn index_of(&self, player: PlayerId) -> Option<usize> {
        self.visible.binary_search_by_key(&player, |visible| visible.identity.player).ok()
    }

    /// The index of a player, if it is alive.
    pub fn living(&self, player: Option<PlayerId>) -> Option<usize> {
        self.index_of(player?).filter(|index| self.players[*index].alive)
    }

    /// A player, alive or dead.
    pub fn player(&self, player: PlayerId) -> Option<&PublicPlayer> {
        self.index_of(player).map(|index| &self.players[index])
    }

    /// Seconds of world time. A leaderboard is due in the first update of each second.
    pub fn second(&self) -> u32 {
        self.tick / self.tick_hz
    }

    pub fn board(&self) -> &Ranking {
        self.ranking.get_or_init(|| Ranking::new(&self.players))
    }

    /// The rows of the leaderboard: ID, name and score.
    pub fn board_rows(&self) -> impl Iterator<Item = ((PlayerId, &str), u32)> + Clone {
        let best = self.board().best.iter().map(|index| &self.players[*index]);
        best.map(|player| (player.named(), player.score))
    }

    pub fn members(&self, clan: ClanId) -> impl Iterator<Item = &PublicPlayer> + Clone {
        self.roll((clan, false))
    }

    pub fn join_requests(&self, clan: ClanId) -> impl Iterator<Item = &PublicPlayer> + Clone {
        self.roll((clan, true))
    }

    fn roll(&self, wanted: (ClanId, bool)) -> impl Iterator<Item = &PublicPlayer> + Clone {
        let rolls = self.rolls.get_or_init(|| rolls(&self.players));
        let start = rolls.partition_point(|(clan, is_request, _)| (*clan, *is_request) < wanted);
        let same =
            rolls[start..].iter().take_while(move |(clan, is_request, _)| (*clan, *is_request) == wanted);
        same.map(|(.., index)| &self.players[*index as usize])
    }

    /// The window around a player; without a player, around the middle of the map.
    pub fn window(&self, centre: Option<usize>) -> ViewWindow {
        match centre.map(|index| self.players[index].place()) {
            Some(Circle { x_px: x, y_px: y, .. }) => ViewWindow { x, y },
            None => ViewWindow { x: self.map_size_px / 2, y: self.map_size_px / 2 },
        }
    }
}

impl Ranking {
    fn new(players: &[PublicPlayer]) -> Ranking {
        let mut order: Vec<usize> = (0..players.len()).collect();
        // The sort is stable, so of players with equal scores the lower ID is first.
        order.sort_by_key(|index| std::cmp::Reverse(players[*index].score));
        let mut places = vec![0; players.len()];
        for (place, index) in order.iter().enumerate() {
            places[*index] = u16::try_from(place + 1).unwrap_or(u16::MAX);
        }
        order.truncate(BOARD_ROWS);
        Ranking { best: order, ranks: places }
    }
}

fn rolls(players: &[PublicPlayer]) -> ClanRolls {
    let mut rolls = ClanRolls::new();
    for (index, player) in (0..).zip(players) {
        rolls.extend(player.clan().map(|clan| (clan, false, index)));
        rolls.extend(player.join_request.map(|(clan, _)| (clan, true, index)));
    }
    rolls.sort_unstable();
    rolls
}
