//! What one client knows, and so what it must be sent next.
//!
//! A view reads each published tick and writes messages in the order that a client needs: its own
//! identity, what left, what came, then present states. A view belongs to one worker and is never
//! locked. When a turn is held back because the client is slow, nothing is recorded as sent: the
//! next turn makes up for it with full records. A view never sends anything about a thing before
//! its enter, and never sends an object twice.

use super::built::Told;
use super::interest::Window;
use super::messages::Messages;
use super::native::Pose;
use super::publish::{Hand, Published, Seen, Stats};
use super::records::Section;
use super::{animals, clans, happenings, moomoo, native, shots};
use crate::packet::{Dialect, ServerPacket};
use crate::world::{ClanId, EntityId, Event, PlayerId};

/// The margin in px by which a turn widens the window for objects, so that another look is needed
/// only once the centre has moved that far.
pub(super) const OBJECTS_MARGIN_PX: i32 = 64;

/// The layout of a client's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Our own: differences, quantised.
    Native,
    /// The flat full records of all MooMoo dialects.
    Moomoo,
}

/// A known player, with the tick in which it joined: a number alone could belong to its next owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Who {
    /// The player's number.
    pub player: PlayerId,
    /// The tick in which the player joined.
    pub joined_tick: u32,
}

impl Who {
    /// The identity of a published player.
    pub fn of(seen: &Seen) -> Who {
        Who { player: seen.player, joined_tick: seen.joined_tick }
    }
}

/// A known player and its state as last sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The player.
    pub who: Who,
    /// Health as last sent.
    pub health: u16,
    /// Pose as last sent, in the native layout.
    pub pose: Pose,
    /// What the player holds, as last sent, in the native layout.
    pub hand: Hand,
    /// The clan that the player shows, as last sent, in the native layout.
    pub clan: Option<ClanId>,
    /// Whether the player died since the last turn: if it plays again by the next one, it has a new
    /// body.
    pub died: bool,
}

impl Known {
    /// A player that is sent now; a client assumes that a newcomer has full health and the first
    /// weapon in hand.
    pub fn new(seen: &Seen) -> Known {
        let hand = Hand::default();
        let (who, health, pose) = (Who::of(seen), seen.max_health, seen.pose);
        Known { who, health, pose, hand, clan: None, died: false }
    }
}

/// Buffers of a worker, shared by its views one after the other, so that the steady state allocates
/// nothing.
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
    /// Bytes of the tags of players that the client already knew.
    pub(super) tag_news_bytes: usize,
    pub(super) animals: Vec<(EntityId, animals::State)>,
}

/// See the [module](self).
#[derive(Debug)]
pub struct View {
    pub(super) layout: Layout,
    /// The client's body, if it plays.
    player: Option<PlayerId>,
    /// The player that the client wants to watch while it has no body; `None` is the leader.
    wish: Option<PlayerId>,
    /// The watched player as last sent.
    pub(super) watching: Option<Option<PlayerId>>,
    /// The client's own body, once sent.
    pub(super) own: Option<Known>,
    /// The other known players, in order.
    pub(super) known: Vec<Known>,
    /// The last turn that sent every change.
    pub(super) last_turn: u32,
    /// The second of the last leaderboard.
    pub(super) last_board_second: Option<u32>,
    /// The last own record and leaderboard sent, so that neither is repeated unchanged.
    pub(super) last_own: Vec<u8>,
    pub(super) last_board: Vec<u8>,
    pub(super) last_stats: Option<Stats>,
    pub(super) last_kit: Vec<u8>,
    pub(super) last_offers: Vec<u8>,
    /// The known structures.
    pub(super) built: Told,
    /// The known animals.
    pub(super) animals: animals::Told,
    /// The known shots.
    pub(super) shots: shots::Told,
    /// The known clans.
    pub(super) clans: clans::Told,
    /// A bit for each natural object that was sent.
    objects: Vec<u64>,
    /// The window of the last turn; `None` while nothing is shown.
    pub(super) shown: Option<Window>,
    /// The window when objects were last looked for.
    objects_from: Option<Window>,
}

impl View {
    /// The view of a client that knows nothing yet.
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

    /// Sets the client's body, if any, and the player that it wants to watch without one.
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

    /// Sends the events of a tick that must arrive, whether or not the tick is a turn of this
    /// client.
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

    /// One turn: everything in this published tick that the client must know.
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

    /// Records for the next turn that this player's body is gone.
    fn note_death(&mut self, player: PlayerId) {
        let told = match self.known.binary_search_by_key(&player, |known| known.who.player) {
            Ok(place) => self.known.get_mut(place),
            Err(_) => self.own.as_mut().filter(|own| own.who.player == player),
        };
        if let Some(told) = told {
            told.died = true;
        }
    }

    /// Whether the client knows this player.
    pub(super) fn knows(&self, player: PlayerId) -> bool {
        self.own.is_some_and(|own| own.who.player == player)
            || self.known.binary_search_by_key(&player, |known| known.who.player).is_ok()
    }

    /// Whether the client knows this player and has it in view. In the MooMoo layout, a known
    /// player may be out of view.
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

    /// Whether this is the client's own player, alive or dead.
    pub(super) fn is_own(&self, player: PlayerId) -> bool {
        self.player == Some(player)
    }

    /// Whether the client knows this object, natural or built, and has it in view.
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

    /// The index of the client's own player, if it is in the world, alive or dead.
    pub(super) fn player_index(&self, published: &Published) -> Option<usize> {
        self.player.and_then(|player| published.index_of(player))
    }

    /// The index of the client's own body, if it is alive.
    pub(super) fn own_index(&self, published: &Published) -> Option<usize> {
        self.player_index(published).filter(|index| published.players[*index].alive)
    }

    /// The index of the player that a client without a body watches: its wish, or the player it
    /// watched before, or the leader.
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

    /// The player who killed the client's own player in this tick.
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

    /// Collects the indexes of the players in the window into `visible`, in order, without the
    /// client's own.
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

    /// Calls `tell` with the index of each object that came into range and is not known yet.
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
