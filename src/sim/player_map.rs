//! A map from players to their parts of a state.

use crate::PlayerId;
use crate::fields::{Field, Malformed, Reader, Sink};

/// A map from players to values, in ascending order of the players.
///
/// ```
/// use tickwire_sim::{PlayerId, PlayerMap};
///
/// let mut scores = PlayerMap::default();
/// scores.insert(PlayerId(7), 10);
/// scores.insert(PlayerId(2), 5);
/// assert_eq!(scores.get(PlayerId(7)), Some(&10));
/// assert_eq!(scores.iter().map(|(player, _)| player.0).collect::<Vec<_>>(), [2, 7]);
/// assert_eq!(scores.remove(PlayerId(2)), Some(5));
/// assert_eq!(scores.len(), 1);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlayerMap<T>(Vec<(PlayerId, T)>);

impl<T> Default for PlayerMap<T> {
    fn default() -> PlayerMap<T> {
        PlayerMap(Vec::new())
    }
}

impl<T> PlayerMap<T> {
    /// Sets the value of a player. Returns the old one.
    pub fn insert(&mut self, player: PlayerId, value: T) -> Option<T> {
        match self.index_of(player) {
            Ok(at) => Some(std::mem::replace(&mut self.0[at].1, value)),
            Err(at) => {
                self.0.insert(at, (player, value));
                None
            }
        }
    }

    /// Removes the value of a player.
    pub fn remove(&mut self, player: PlayerId) -> Option<T> {
        self.index_of(player).ok().map(|at| self.0.remove(at).1)
    }

    /// Returns the value of a player.
    pub fn get(&self, player: PlayerId) -> Option<&T> {
        self.index_of(player).ok().map(|at| &self.0[at].1)
    }

    /// Returns the value of a player, for changes.
    pub fn get_mut(&mut self, player: PlayerId) -> Option<&mut T> {
        self.index_of(player).ok().map(|at| &mut self.0[at].1)
    }

    /// Iterates over the players and their values.
    pub fn iter(&self) -> impl Iterator<Item = (PlayerId, &T)> {
        self.0.iter().map(|(player, value)| (*player, value))
    }

    /// Iterates over the players and their values, for changes.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (PlayerId, &mut T)> {
        self.0.iter_mut().map(|(player, value)| (*player, value))
    }

    /// Iterates over the values.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|(_, value)| value)
    }

    /// Iterates over the values, for changes.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().map(|(_, value)| value)
    }

    /// Number of players.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no players.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn index_of(&self, player: PlayerId) -> Result<usize, usize> {
        // Numbers ascend by at least 1, so a player is at most this far from the first one. It is
        // exactly there while no player has left.
        let first = self.0.first().map_or(player, |(first, _)| *first);
        let last = usize::from(player.0.saturating_sub(first.0));
        match self.0.get(last) {
            Some((found, _)) if *found == player => Ok(last),
            _ => self.0[..self.0.len().min(last)].binary_search_by_key(&player, |(player, _)| *player),
        }
    }
}

impl<T: Field> Field for PlayerMap<T> {
    const MIN_BYTES: usize = Vec::<(PlayerId, T)>::MIN_BYTES;

    fn write(&self, sink: &mut impl Sink) {
        self.0.write(sink);
    }

    fn read(reader: &mut Reader<'_>) -> Result<PlayerMap<T>, Malformed> {
        let entries: Vec<(PlayerId, T)> = Field::read(reader)?;
        let is_sorted = entries.is_sorted_by(|one, next| one.0 < next.0);
        is_sorted.then_some(PlayerMap(entries)).ok_or(Malformed::Value("order of the players"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Rng;

    #[test]
    fn a_map_with_and_without_gaps_equals_a_tree() {
        let mut random = Rng::new(9, 1);
        for round in 0..200 {
            let (mut map, mut tree) = (PlayerMap::default(), BTreeMap::new());
            let first = [0, 1, 40, u16::MAX - 30][round % 4];
            for step in 0..60 {
                let player = PlayerId(first + random.below(31) as u16);
                match random.below(3) {
                    0 => assert_eq!(map.remove(player), tree.remove(&player)),
                    _ => assert_eq!(map.insert(player, step), tree.insert(player, step)),
                }
                let absent = PlayerId(first.wrapping_sub(1));
                assert_eq!((map.get(player), map.get(absent)), (tree.get(&player), None));
                assert!(map.iter().eq(tree.iter().map(|(player, value)| (*player, value))));
            }
        }
    }
}
