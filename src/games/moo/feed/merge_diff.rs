//! Compares a client's known set with the current state: one walk over two lists in the same order.

use std::cmp::Ordering;

/// What became of one thing since it was last compared.
pub enum Change<K, S> {
    /// It was known, and is not there now.
    Removed(K),
    /// It is there now; the second is what was known of it, if it was known.
    Present(S, Option<K>),
}

/// Compares what is `known` with what is there `now`, both in the order of the same numbers.
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

/// Whether what is sent once in a period (a second, or a few) is due; true at most once in each.
pub fn is_period_due(last: &mut Option<u32>, period: u32) -> bool {
    last.replace(period) != Some(period)
}
