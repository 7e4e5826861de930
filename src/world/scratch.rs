//! Room that the tick uses again, so that a stroke allocates nothing.

use crate::id::EntityId;

/// Room that is used again in each stroke.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    /// Players whose stroke is due in this tick, by their place in the list.
    pub(crate) swingers: Vec<u32>,
    /// What a stroke hits of the things, by their place in the list.
    pub(crate) things: Vec<u32>,
    /// What a stroke hits of what was built.
    pub(crate) built: Vec<EntityId>,
    /// What a stroke hits of the animals, by their place in the list.
    pub(crate) animals: Vec<u32>,
    /// What a stroke hits of the players, by their place in the list.
    pub(crate) players: Vec<u32>,
}

/// Things or players that a stroke may find before it has to make more room: more than are ever so near.
const ROOM: usize = 256;

impl Scratch {
    /// Makes room for so many players, so that no tick has to.
    pub(crate) fn reserve(&mut self, players: usize) {
        let small = [&mut self.things, &mut self.animals, &mut self.players];
        for (list, room) in small.into_iter().map(|list| (list, ROOM)).chain([(&mut self.swingers, players)])
        {
            list.clear();
            list.reserve(room);
        }
        self.built.clear();
        self.built.reserve(ROOM);
    }
}
