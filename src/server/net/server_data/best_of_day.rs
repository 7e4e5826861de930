//! The best player of the day, for each game.

use std::collections::BTreeMap;

/// A player with its score.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BestPlayer {
    /// The day of the score, counted from 1970.
    pub day: u32,
    /// The display name.
    pub name: String,
    /// The score, in the game's unit.
    pub score: i64,
}

/// The best player of each game, on the last day with a score.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BestOfDay(BTreeMap<String, BestPlayer>);

impl BestOfDay {
    /// Records a score. Returns whether it is the best one of its game and day. A score of an
    /// earlier day is ignored: another process may have begun the next day.
    pub fn note(&mut self, game: &str, day: u32, name: &str, score: i64) -> bool {
        let is_best = self.0.get(game).is_none_or(|best| (day, score) > (best.day, best.score));
        if is_best {
            self.insert(game.to_owned(), BestPlayer { day, name: name.to_owned(), score });
        }
        is_best
    }

    /// Inserts the best player of a game.
    pub fn insert(&mut self, game: String, best: BestPlayer) {
        self.0.insert(game, best);
    }

    /// Returns the best player of a game on this day.
    pub fn of(&self, game: &str, day: u32) -> Option<&BestPlayer> {
        self.0.get(game).filter(|best| best.day == day)
    }

    /// Iterates over the games and their best players.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &BestPlayer)> {
        self.0.iter().map(|(game, best)| (&**game, best))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_higher_score_replaces_a_lower_one_and_a_new_day_begins_without_one() {
        let mut best = BestOfDay::default();
        let noted = [("Ann", 5), ("Bo", 5), ("Cy", 6), ("Ann", 4)];
        assert_eq!(noted.map(|(name, score)| best.note("moo", 1, name, score)), [true, false, true, false]);
        assert_eq!(best.of("moo", 1).map(|best| &*best.name), Some("Cy"));
        assert_eq!((best.of("moo", 2), best.of("tanks", 1)), (None, None));
        assert!(best.note("moo", 2, "Ann", 1) && !best.note("moo", 1, "Bo", 9));
        assert_eq!(best.iter().map(|(game, best)| (game, best.score)).collect::<Vec<_>>(), [("moo", 1)]);
    }
}
