//! Compares a client's known set with the current state by merging two sorted lists.

use std::cmp::Ordering;

/// The result for one entity.
pub enum Change<K, S> {
    /// The entity was known and no longer exists.
    Removed(K),
    /// The entity exists. The second value is its known state, if it was known.
    Present(S, Option<K>),
}

/// Compares two lists that are sorted by the same IDs: the known entities and the current entities.
pub fn diff_sorted<K, S, I: Ord>(
    known: impl IntoIterator<Item = K>,
    known_id: impl Fn(&K) -> I,
    now: impl IntoIterator<Item = S>,
    now_id: impl Fn(&S) -> I,
) -> impl Iterator<Item = Change<K, S>> {
    let (mut known, mut now) = (known.into_iter().peekable(), now.into_iter().peekable());
    std::iter::from_fn(move || {
        let order = match (known.peek(), now.peek()) {
            (Some(known), Some(now)) => known_id(known).cmp(&now_id(now)),
            (Some(_), None) => Ordering::Less,
            (None, _) => Ordering::Greater,
        };
        match order {
            Ordering::Less => known.next().map(Change::Removed),
            Ordering::Equal => now.next().map(|now| Change::Present(now, known.next())),
            Ordering::Greater => now.next().map(|now| Change::Present(now, None)),
        }
    })
}

/// Whether a message that is sent once per period is due. Returns `true` at most once per period.
pub fn is_period_due(last: &mut Option<u32>, period: u32) -> bool {
    last.replace(period) != Some(period)
}
