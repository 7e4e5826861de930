//! Memory that every tick reuses, so that swings allocate nothing.

use crate::id::EntityId;

/// Buffers that each swing reuses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    /// The players whose swing is due in this tick, by index.
    pub(crate) swingers: Vec<u32>,
    /// Scenery hit by a swing, by index.
    pub(crate) scenery: Vec<u32>,
    /// Structures hit by a swing.
    pub(crate) built: Vec<EntityId>,
    /// Animals hit by a swing, by index.
    pub(crate) animals: Vec<u32>,
    /// Players hit by a swing, by index.
    pub(crate) players: Vec<u32>,
}

/// Targets of a swing for which space is reserved in advance: more than ever occur.
const RESERVED_TARGETS: usize = 256;

impl Scratch {
    /// Reserves space for that many players, so that no tick has to allocate.
    pub(crate) fn reserve(&mut self, players: usize) {
        let small = [&mut self.scenery, &mut self.animals, &mut self.players];
        for (list, room) in
            small.into_iter().map(|list| (list, RESERVED_TARGETS)).chain([(&mut self.swingers, players)])
        {
            list.clear();
            list.reserve(room);
        }
        self.built.clear();
        self.built.reserve(RESERVED_TARGETS);
    }
}
