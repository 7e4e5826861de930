//! A set of indexes, which are found in any order and more than once.

/// A set of indexes as bits. Reading them in ascending order takes less than sorting a list.
#[derive(Debug, Default)]
pub struct IndexSet {
    words: Vec<u64>,
}

impl IndexSet {
    /// Adds an index.
    #[inline]
    pub fn insert(&mut self, index: u32) {
        let word = (index / u64::BITS) as usize;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (index % u64::BITS);
    }

    /// Appends the indexes to a list in ascending order. The set is empty afterwards.
    pub fn drain_to(&mut self, out: &mut Vec<u32>) {
        for (first, word) in (0..).step_by(u64::BITS as usize).zip(&mut self.words) {
            let mut rest = std::mem::take(word);
            while rest != 0 {
                out.push(first + rest.trailing_zeros());
                rest &= rest - 1;
            }
        }
    }
}

impl Extend<u32> for IndexSet {
    fn extend<I: IntoIterator<Item = u32>>(&mut self, indexes: I) {
        indexes.into_iter().for_each(|index| self.insert(index));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_come_in_ascending_order_and_once() {
        let (mut set, mut out) = (IndexSet::default(), vec![7]);
        set.extend([128, 0, 63, 64, 0, 200, 63]);
        set.drain_to(&mut out);
        assert_eq!(out, [7, 0, 63, 64, 128, 200]);
        set.insert(3);
        out.clear();
        set.drain_to(&mut out);
        assert_eq!(out, [3]);
    }
}
