//! The runs of a room in all processes, and how they continue one another.
//!
//! ```text
//!   fence 1: records 0 … 90 … 97         acks of records up to 90 are safe
//!                     └─ fence 2: records 90 … 140 …
//! ```

use std::collections::{BTreeMap, VecDeque};

/// Number of ticks whose checksums are stored: more than a process executes before a sync.
const STORED_TICKS: usize = 2_000;

/// A run of the room in one process.
#[derive(Debug)]
struct RoomRun {
    /// The fence of the run whose records were recovered; 0 before the first.
    parent: u64,
    /// The sequence of the first own record.
    first_sequence: u64,
    /// Checksums of the world by the number of completed ticks.
    checksums: VecDeque<(u32, u64)>,
}

/// All runs of a room, by fence.
#[derive(Debug, Default)]
pub struct RoomHistory {
    runs: BTreeMap<u64, RoomRun>,
}

impl RoomHistory {
    /// Records a recovery: the fence of the new run, the fence of the recovered one, and the first
    /// sequence.
    pub fn on_recovered(&mut self, fence: u64, parent: u64, first_sequence: u64) {
        self.runs.insert(fence, RoomRun { parent, first_sequence, checksums: VecDeque::new() });
        // A run that is older than several owners ago acknowledges nothing.
        while self.runs.len() > 64 {
            self.runs.pop_first();
        }
    }

    /// Records the checksum of the world after a tick.
    pub fn on_tick(&mut self, fence: u64, tick: u32, checksum: u64) {
        let Some(run) = self.runs.get_mut(&fence) else { return };
        run.checksums.push_back((tick, checksum));
        if run.checksums.len() > STORED_TICKS {
            run.checksums.pop_front();
        }
    }

    /// Returns the checksum of the world of a run after this number of ticks.
    pub fn checksum(&self, fence: u64, tick: u32) -> Option<u64> {
        let checksums = &self.runs.get(&fence)?.checksums;
        let at = checksums.binary_search_by_key(&tick, |(tick, _)| *tick).ok()?;
        Some(checksums[at].1)
    }

    /// Returns the fence of the newest run.
    pub fn newest(&self) -> u64 {
        self.runs.last_key_value().map_or(0, |(fence, _)| *fence)
    }

    /// Returns whether the newest run has the records of this run before `sequence`.
    pub fn has_records(&self, fence: u64, sequence: u64) -> bool {
        let mut at = self.newest();
        while at > fence {
            match self.runs.get(&at) {
                Some(run) if sequence <= run.first_sequence => at = run.parent,
                _ => return false,
            }
        }
        at == fence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_records_that_the_next_run_has_recovered_remain() {
        let mut history = RoomHistory::default();
        history.on_recovered(1, 0, 0);
        assert!(history.has_records(1, 1_000), "the newest run");
        history.on_recovered(2, 1, 90);
        // The run of fence 3 has recovered fence 1 before fence 2 wrote a record.
        history.on_recovered(3, 1, 95);
        history.on_recovered(5, 3, 200);
        assert_eq!([90, 95, 96].map(|sequence| history.has_records(1, sequence)), [true, true, false]);
        assert!(!history.has_records(2, 1), "no later run has recovered fence 2");
        assert!(history.has_records(3, 200) && !history.has_records(3, 201));
        history.on_tick(5, 7, 70);
        history.on_tick(5, 8, 80);
        assert_eq!([6, 7, 8].map(|tick| history.checksum(5, tick)), [None, Some(70), Some(80)]);
    }
}
