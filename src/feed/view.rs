//! What one client has been told, and so what it is told next.
//!
//! Comes in: each published tick, and who the client is. Goes out: messages in the order in which a client needs them:
//! who it is, what left, what came, how things are. A view belongs to one worker and is never locked. When a turn is
//! held back because the client is slow, nothing is noted as told: the next turn makes up for it with full records.
//! Never: telling of something before its enter, or of an object twice.

use super::built::Told;
use super::interest::Window;
use super::messages::Messages;
use super::native::Pose;
use super::publish::{Hand, Published, Seen, Stats};
use super::records::Section;
use super::{animals, clans, happenings, moomoo, native, shots};
use crate::packet::{Dialect, ServerPacket};
use crate::world::{ClanId, EntityId, Event, PlayerId};

/// A turn widens the window for objects by this many px, so that it need look again only when the centre moved as far.
pub(super) const OBJECTS_MARGIN_PX: i32 = 64;

/// Which layout a client is told in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Our own: differences, quantised.
    Native,
    /// The flat full records of all MooMoo dialects.
    Moomoo,
}

/// One who was told of, and when it joined: a number alone could be that of its next owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Who {
    /// Its number.
    pub player: PlayerId,
    /// The tick in which it joined.
    pub joined_tick: u32,
}

impl Who {
    /// Who is seen here.
    pub fn of(seen: &Seen) -> Who {
        Who { player: seen.player, joined_tick: seen.joined_tick }
    }
}

/// One who was told of, and what was said last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Who.
    pub who: Who,
    /// Health as last told.
    pub health: u16,
    /// Pose as last told, in the native layout.
    pub pose: Pose,
    /// What it holds, as last told, in the native layout.
    pub hand: Hand,
    /// The clan that it shows, as last told, in the native layout.
    pub clan: Option<ClanId>,
    /// Whether it died since the last turn: if it plays again by the next one, that is another body all the same.
    pub died: bool,
}

impl Known {
    /// One who is told of now; a client takes a newcomer to be in full health, with the first weapon in its hand.
    pub fn new(seen: &Seen) -> Known {
        let hand = Hand::default();
        let (who, health, pose) = (Who::of(seen), seen.max_health, seen.pose);
        Known { who, health, pose, hand, clan: None, died: false }
    }
}

/// Buffers of a worker, lent to each view in turn, so that the steady state allocates nothing.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) visible: Vec<u32>,
    pub(super) known: Vec<Known>,
    pub(super) leaves: Section,
    pub(super) enters: Section,
    pub(super) full: Section,
    pub(super) moved: Section,
    pub(super) turned: Section,
    pub(super) own: Section,
    pub(super) health: Section,
    pub(super) hands: Section,
    pub(super) tags: Section,
    /// Bytes of the tags of players that were known before.
    pub(super) tag_news_bytes: usize,
    pub(super) animals: Vec<(EntityId, animals::State)>,
}

/// See the [module](self).
#[derive(Debug)]
pub struct View {
    pub(super) layout: Layout,
    /// The body the client asked for, if it plays.
    player: Option<PlayerId>,
    /// Whom the client wants to watch while it has no body; `None` is the leader.
    wish: Option<PlayerId>,
    /// Whom it was told that it watches.
    pub(super) watching: Option<Option<PlayerId>>,
    /// Its own body, once told of.
    pub(super) own: Option<Known>,
    /// The others it was told of, in order.
    pub(super) known: Vec<Known>,
    /// The last turn in which it was told of all that changed.
    pub(super) last_turn: u32,
    /// The second of the last leaderboard.
    pub(super) last_board_second: Option<u32>,
    /// What the last own record and leaderboard said, to say nothing twice.
    pub(super) last_own: Vec<u8>,
    pub(super) last_board: Vec<u8>,
    pub(super) last_stats: Option<Stats>,
    pub(super) last_kit: Vec<u8>,
    pub(super) last_offers: Vec<u8>,
    /// What was built, as far as told.
    pub(super) built: Told,
    /// Animals in view, as far as told.
    pub(super) animals: animals::Told,
    /// What flies, as far as told.
    pub(super) shots: shots::Told,
    /// Clans, as far as told.
    pub(super) clans: clans::Told,
    /// Objects told of, a bit each.
    objects: Vec<u64>,
    /// Where the window was in the last turn; `None` while nothing is shown.
    pub(super) shown: Option<Window>,
    /// Where the window was when objects were last looked for.
    objects_from: Option<Window>,
}

impl View {
    /// The view of a client that has been told nothing.
    pub fn new(layout: Layout) -> View {
        View {
            layout,
            player: None,
            wish: None,
            watching: None,
            own: None,
            known: Vec::new(),
            last_turn: 0,
            last_board_second: None,
            last_own: Vec::new(),
            last_board: Vec::new(),
            last_stats: None,
            last_kit: Vec::new(),
            last_offers: Vec::new(),
            built: Told::default(),
            animals: animals::Told::default(),
            shots: shots::Told::default(),
            clans: clans::Told::default(),
            objects: Vec::new(),
            shown: None,
            objects_from: None,
        }
    }

    /// Says which body is the client's, or that it has none, and whom it wants to watch then.
    pub fn follow(&mut self, player: Option<PlayerId>, wish: Option<PlayerId>) {
        self.player = player;
        self.wish = wish;
    }

    /// Whether this published tick is a turn of this client.
    pub fn is_due(&self, published: &Published) -> bool {
        match self.layout {
            Layout::Native => published.native_turn.is_some(),
            Layout::Moomoo => published.moomoo_turn.is_some(),
        }
    }

    /// What happened in a tick and must arrive, whether the tick is a turn of this client or not.
    pub fn events(
        &mut self,
        published: &Published,
        dialect: &Dialect,
        scratch: &mut Scratch,
        messages: &mut Messages,
    ) {
        if published.events.is_empty() {
            return;
        }
        for event in &published.events {
            match event {
                Event::Chat { player, text } if self.knows(*player) => {
                    messages.add_packet(&ServerPacket::Chat { player: player.0, text }, dialect);
                }
                Event::Died { player, .. } => self.note_death(*player),
                _ => {}
            }
        }
        match self.layout {
            Layout::Native => {
                happenings::native(self, published, dialect, scratch, messages);
                shots::native(self, published, dialect, scratch, messages);
            }
            Layout::Moomoo => {
                happenings::moomoo(self, published, dialect, messages);
                shots::moomoo(self, published, dialect, messages);
            }
        }
        clans::happenings(self, published, dialect, messages);
    }

    /// One turn: all that the client is to know of this published tick.
    pub fn turn(
        &mut self,
        published: &Published,
        dialect: &Dialect,
        scratch: &mut Scratch,
        messages: &mut Messages,
    ) {
        match self.layout {
            Layout::Native => native::turn(self, published, dialect, scratch, messages),
            Layout::Moomoo => moomoo::turn(self, published, dialect, scratch, messages),
        }
    }

    /// Remembers that this player's body is gone, for the next turn.
    fn note_death(&mut self, player: PlayerId) {
        let told = match self.known.binary_search_by_key(&player, |known| known.who.player) {
            Ok(place) => self.known.get_mut(place),
            Err(_) => self.own.as_mut().filter(|own| own.who.player == player),
        };
        if let Some(told) = told {
            told.died = true;
        }
    }

    /// Whether the client was told of this player.
    pub(super) fn knows(&self, player: PlayerId) -> bool {
        self.own.is_some_and(|own| own.who.player == player)
            || self.known.binary_search_by_key(&player, |known| known.who.player).is_ok()
    }

    /// Whether this player was told of and is in view. Who is not may be known all the same, in the MooMoo layout.
    pub(super) fn shows(&self, published: &Published, player: PlayerId) -> bool {
        self.knows(player)
            && (self.is_own(player)
                || published.index_of(player).is_some_and(|index| {
                    let seen = &published.players[index];
                    self.reaches(seen.x.to_px(), seen.y.to_px(), seen.radius_px)
                }))
    }

    /// Whether a round thing reaches into the window of the last turn.
    pub(super) fn reaches(&self, x: i32, y: i32, radius: i32) -> bool {
        self.shown.is_some_and(|window| window.sees(x, y, radius))
    }

    /// Whether this is the client's own player, alive or not.
    pub(super) fn is_own(&self, player: PlayerId) -> bool {
        self.player == Some(player)
    }

    /// Whether the client was told of this object, natural or built, and has it in view.
    pub(super) fn shows_object(&self, published: &Published, object: EntityId) -> bool {
        let told =
            |index: usize| self.objects.get(index / 64).is_some_and(|word| word & (1 << (index % 64)) != 0);
        let (nature, structures) = (&published.nature.things, &published.structures);
        if let Ok(index) = nature.binary_search_by_key(&object, |thing| thing.id) {
            let thing = &nature[index];
            return told(index) && self.reaches(thing.x_px, thing.y_px, thing.scale_px);
        }
        structures.index_of(object).is_some_and(|index| {
            let thing = &structures.things[index];
            self.built.knows(object) && self.reaches(thing.x_px, thing.y_px, thing.scale_px)
        })
    }

    /// The index of the client's own player, if it is in the world, alive or not.
    pub(super) fn player_index(&self, published: &Published) -> Option<usize> {
        self.player.and_then(|player| published.index_of(player))
    }

    /// The index of the client's own body, if it lives.
    pub(super) fn own_index(&self, published: &Published) -> Option<usize> {
        self.player_index(published).filter(|index| published.players[*index].alive)
    }

    /// The index of whom a client without a body watches: its wish, or whom it watched before, or the leader.
    pub(super) fn watched_index(&self, published: &Published) -> Option<usize> {
        let find = |player: Option<PlayerId>| {
            player
                .and_then(|player| published.index_of(player))
                .filter(|index| published.players[*index].alive)
        };
        find(self.wish)
            .or_else(|| find(self.killer(published)))
            .or_else(|| find(self.watching.flatten()))
            .or(published.leader)
    }

    /// Who killed the client's own player in this tick.
    fn killer(&self, published: &Published) -> Option<PlayerId> {
        published.events.iter().find_map(|event| match event {
            Event::Died { player, by } if self.is_own(*player) => *by,
            _ => None,
        })
    }

    /// The window of a client whose centre is this player, or the middle of the map.
    pub(super) fn window(&self, published: &Published, centre: Option<usize>) -> Window {
        match centre {
            Some(index) => {
                let seen = &published.players[index];
                Window { x: seen.x.to_px(), y: seen.y.to_px() }
            }
            None => Window { x: published.map_size_px / 2, y: published.map_size_px / 2 },
        }
    }

    /// Puts into `visible` the indexes of the players in the window, in order, without the client's own.
    pub(super) fn look(
        &self,
        published: &Published,
        window: Window,
        own: Option<usize>,
        visible: &mut Vec<u32>,
    ) {
        visible.clear();
        published.grid.near(window, 0, |index| {
            let seen = &published.players[index as usize];
            if seen.alive
                && own != Some(index as usize)
                && window.sees(seen.x.to_px(), seen.y.to_px(), seen.radius_px)
            {
                visible.push(index);
            }
        });
        visible.sort_unstable();
    }

    /// Calls `tell` with the index of each object that came near and was not told of before.
    pub(super) fn objects(&mut self, published: &Published, window: Window, mut tell: impl FnMut(usize)) {
        let moved = |from: &Window| {
            (from.x - window.x).abs() >= OBJECTS_MARGIN_PX || (from.y - window.y).abs() >= OBJECTS_MARGIN_PX
        };
        if self.objects_from.as_ref().is_some_and(|from| !moved(from)) {
            return;
        }
        self.objects_from = Some(window);
        let nature = &published.nature;
        self.objects.resize(nature.things.len().div_ceil(64), 0);
        nature.grid.near(window, OBJECTS_MARGIN_PX, |index| {
            let thing = &nature.things[index as usize];
            let (word, bit) = (index as usize / 64, 1u64 << (index % 64));
            let told = &mut self.objects[word];
            if *told & bit == 0 && window.sees(thing.x_px, thing.y_px, thing.scale_px + OBJECTS_MARGIN_PX) {
                *told |= bit;
                tell(index as usize);
            }
        });
    }
}
