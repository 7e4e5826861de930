//! Snapshots of a recorded world at regular intervals, as starting points of seeks. Their size is
//! bounded.

/// Snapshots by tick, oldest first.
#[derive(Debug)]
pub struct SnapshotCache {
    snapshots: Vec<(u32, Vec<u8>)>,
    bytes: usize,
    max_bytes: usize,
    /// The interval between snapshots in ticks.
    every: u32,
}

impl SnapshotCache {
    /// Creates a cache of at most `max_bytes` bytes, with a snapshot every `every` ticks. The
    /// first snapshot is always retained.
    pub fn new(first: (u32, Vec<u8>), every: u32, max_bytes: usize) -> SnapshotCache {
        SnapshotCache { bytes: first.1.len(), snapshots: vec![first], max_bytes, every: every.max(1) }
    }

    /// Whether a snapshot at this tick is needed.
    pub fn needs_snapshot(&self, tick: u32) -> bool {
        let (first, _) = self.snapshots[0];
        let newest = self.snapshots.last().map_or(first, |(newest, _)| *newest);
        tick > newest && (tick - first).is_multiple_of(self.every)
    }

    /// Stores a snapshot. While the size exceeds the limit, every second snapshot is dropped.
    pub fn insert(&mut self, tick: u32, snapshot: Vec<u8>) {
        self.bytes += snapshot.len();
        self.snapshots.push((tick, snapshot));
        while self.bytes > self.max_bytes && self.snapshots.len() > 1 {
            self.every = self.every.saturating_mul(2);
            let (first, every) = (self.snapshots[0].0, self.every);
            self.snapshots.retain(|(tick, _)| (tick - first).is_multiple_of(every));
            self.bytes = self.snapshots.iter().map(|(_, snapshot)| snapshot.len()).sum();
        }
    }

    /// The newest snapshot at or before a tick; the first one if there is none.
    pub fn newest_at_or_before(&self, tick: u32) -> (u32, &[u8]) {
        let behind = self.snapshots.partition_point(|(known, _)| *known <= tick);
        let (known, snapshot) = &self.snapshots[behind.saturating_sub(1)];
        (*known, snapshot)
    }

    /// The number of snapshots, and their size in bytes.
    pub fn size(&self) -> (usize, usize) {
        (self.snapshots.len(), self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_store_drops_each_second_snapshot_and_keeps_its_bound() {
        let mut store = SnapshotCache::new((7, vec![0; 10]), 5, 100);
        for tick in 8..=2007 {
            if store.needs_snapshot(tick) {
                store.insert(tick, vec![0; 10]);
            }
            let (count, bytes) = store.size();
            assert!(bytes <= 100 && bytes == count * 10, "tick {tick}: {bytes} bytes of {count}");
        }
        assert!(store.size().0 >= 5 && store.every == 320, "{:?}, each {}", store.size(), store.every);
        for tick in 7..2007 {
            let (found, _) = store.newest_at_or_before(tick);
            assert!(found <= tick && tick - found < 2 * store.every, "{found} for {tick}");
        }
        assert_eq!(store.newest_at_or_before(0).0, 7, "nothing is before the first");
    }

    #[test]
    fn the_first_snapshot_is_kept_also_if_it_is_larger_than_the_bound() {
        let mut store = SnapshotCache::new((0, vec![0; 500]), 1, 100);
        store.insert(1, vec![0; 500]);
        assert_eq!((store.size(), store.newest_at_or_before(9).0), ((1, 500), 0));
    }
}
