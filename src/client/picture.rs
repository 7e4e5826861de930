//! A client's knowledge of the world, assembled from the server's packets.
//!
//! [`super::check`] builds it; policies read it. Positions are the last known ones, in pixels.

use std::collections::BTreeMap;

use super::heard::{Animal, Kit, Object, Offers};
use crate::world::rules;

/// A known player.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    /// Its name; untrusted text.
    pub name: String,
    /// Pixels from the left.
    pub x_px: f64,
    /// Pixels from the top.
    pub y_px: f64,
    /// Binary angle, 65,536 a turn.
    pub heading: u16,
    /// Whether it is in view now. In the MooMoo dialects, players out of view stay known.
    pub in_view: bool,
    /// Health points.
    pub health: u32,
    /// Maximum health points.
    pub max_health: u32,
}

/// Clans, as far as the client knows them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Society {
    /// All clans and their owners.
    pub clans: BTreeMap<String, u32>,
    /// The clans of the known players.
    pub tags: BTreeMap<u32, String>,
    /// The client's own clan.
    pub own: Option<String>,
    /// Whether the client owns it.
    pub is_owner: bool,
    /// Its members.
    pub members: Vec<u32>,
    /// Players who ask to join it; only its owner is told.
    pub asks: Vec<u32>,
}

impl Society {
    /// Whether a player is in the client's own clan.
    pub fn is_mate(&self, player: u32) -> bool {
        self.own.is_some() && self.members.contains(&player)
    }
}

/// See the [module](self).
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// The client's own player, once it is in the world.
    pub me: Option<u32>,
    /// Whether the client's player is dead, until it enters again.
    pub is_dead: bool,
    /// All known players, its own included.
    pub players: BTreeMap<u32, Known>,
    /// All known objects, in view or not.
    pub objects: BTreeMap<u32, Object>,
    /// Wood, food, stone, gold.
    pub stock: [u32; 4],
    /// The client's weapons and items.
    pub kit: Kit,
    /// The upgrades that it may choose.
    pub offers: Offers,
    /// Its age in this life, as far as known.
    pub age: u32,
    /// Every animal in view.
    pub animals: BTreeMap<u32, Animal>,
    /// Clan membership.
    pub society: Society,
    /// Side of the map, px. The MooMoo dialects do not send it: there it is the default.
    pub map_size_px: f64,
    /// The client's last command that the world applied, in the native dialect.
    pub applied_sequence: u32,
    /// Number of updates so far.
    pub updates: u64,
    /// Number of other players in view.
    pub others_in_view: usize,
}

impl Picture {
    /// An empty picture, with the default map size.
    pub fn new() -> Picture {
        Picture {
            me: None,
            is_dead: false,
            players: BTreeMap::new(),
            objects: BTreeMap::new(),
            stock: [0; 4],
            kit: first_kit(),
            offers: Offers::default(),
            age: 0,
            animals: BTreeMap::new(),
            society: Society::default(),
            map_size_px: f64::from(rules::MAP_SIZE_PX),
            applied_sequence: 0,
            updates: 0,
            others_in_view: 0,
        }
    }

    /// The client's own player, once in the world.
    pub fn own(&self) -> Option<&Known> {
        self.players.get(&self.me?)
    }

    /// Counts the players in view, after an update.
    pub(super) fn count_in_view(&mut self) {
        let others = self.players.iter().filter(|(player, known)| known.in_view && Some(**player) != self.me);
        self.others_in_view = others.count();
    }
}

/// The initial weapons and items.
fn first_kit() -> Kit {
    let (weapons, items) = (vec![rules::FIRST_WEAPON], rules::FIRST_ITEMS.to_vec());
    Kit { weapons, items, counts: BTreeMap::new() }
}

impl Default for Picture {
    fn default() -> Picture {
        Picture::new()
    }
}
