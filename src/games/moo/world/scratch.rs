//! Buffers that are reused in every tick, so that swings allocate nothing.

use crate::id::EntityId;

/// Buffers for the targets of a swing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    /// Indices of the players with a swing due in this tick.
    pub(crate) swingers: Vec<u32>,
    /// Indices of the scenery objects hit by a swing.
    pub(crate) scenery: Vec<u32>,
    /// IDs of the structures hit by a swing.
    pub(crate) built: Vec<EntityId>,
    /// Indices of the animals hit by a swing.
    pub(crate) animals: Vec<u32>,
    /// Indices of the players hit by a swing.
    pub(crate) players: Vec<u32>,
}

/// Reserved targets per swing: more than occur in practice.
const RESERVED_TARGETS: usize = 256;

impl Scratch {
    /// Reserves space for the swings of `players` players, so that no tick allocates.
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
