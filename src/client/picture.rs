//! What a client knows of the world: what it is told, put together.
//!
//! Built by [`super::check`], read by policies. Positions are those of the last news, in pixels.

use std::collections::BTreeMap;

use super::heard::{Animal, Kit, Object, Offers};
use crate::world::rules;

/// Somebody of whom the client was told.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    /// Its name; text of a stranger.
    pub name: String,
    /// Pixels from the left.
    pub x_px: f64,
    /// Pixels from the top.
    pub y_px: f64,
    /// Binary angle, 65,536 a turn.
    pub heading: u16,
    /// Whether it is in view now. The MooMoo dialects keep those known who are not.
    pub in_view: bool,
    /// Health points.
    pub health: u32,
    /// Health points that it can have.
    pub max_health: u32,
}

/// Clans, as far as a client is told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Society {
    /// All clans and their owners.
    pub clans: BTreeMap<String, u32>,
    /// The clans that players show.
    pub tags: BTreeMap<u32, String>,
    /// One's own clan.
    pub own: Option<String>,
    /// Whether one owns it.
    pub is_owner: bool,
    /// Who is in it.
    pub members: Vec<u32>,
    /// Who asks to join it, as far as its owner is told.
    pub asks: Vec<u32>,
}

impl Society {
    /// Whether somebody is in one's own clan.
    pub fn is_mate(&self, player: u32) -> bool {
        self.own.is_some() && self.members.contains(&player)
    }
}

/// See the [module](self).
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// One's own player, once it is in the world.
    pub me: Option<u32>,
    /// Whether one died, and plays no more until one enters again.
    pub is_dead: bool,
    /// Everyone known, oneself included.
    pub players: BTreeMap<u32, Known>,
    /// Every thing known, in view or not.
    pub objects: BTreeMap<u32, Object>,
    /// Wood, food, stone, gold.
    pub stock: [u32; 4],
    /// What one has to use.
    pub kit: Kit,
    /// What one may choose.
    pub offers: Offers,
    /// One's age in this life, as far as it was told.
    pub age: u32,
    /// Every animal in view.
    pub animals: BTreeMap<u32, Animal>,
    /// Who belongs together.
    pub society: Society,
    /// Side of the map, px. The MooMoo dialects do not say it: there it is the default.
    pub map_size_px: f64,
    /// The last command of one's own that the world applied, in the native dialect.
    pub applied_sequence: u32,
    /// Updates so far.
    pub updates: u64,
    /// Others in view.
    pub others_in_view: usize,
}

impl Picture {
    /// Nothing is known but the usual size of a map.
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

    /// Oneself, once in the world.
    pub fn own(&self) -> Option<&Known> {
        self.players.get(&self.me?)
    }

    /// Counts those in view, after an update.
    pub(super) fn count_in_view(&mut self) {
        let others = self.players.iter().filter(|(player, known)| known.in_view && Some(**player) != self.me);
        self.others_in_view = others.count();
    }
}

/// What everyone begins with.
fn first_kit() -> Kit {
    let (weapons, items) = (vec![rules::FIRST_WEAPON], rules::FIRST_ITEMS.to_vec());
    Kit { weapons, items, counts: BTreeMap::new() }
}

impl Default for Picture {
    fn default() -> Picture {
        Picture::new()
    }
}
