//! The entities and fields that differ between a replay and its recording.

use tickwire_sim::state_tree::FieldDiff;

use super::recording::RecordedTick;
use crate::game::{DynWorld, GameInfo};

/// Maximum number of reported fields.
pub(super) const MAX_REPORTED_FIELDS: usize = 16;

/// The differences between the world of the decoded commands and the world of the recorded command
/// frames. This program runs both from the snapshot at the start of the capture.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldDiffs {
    /// The first tick after which the worlds differ; `None` if they never do.
    pub tick: Option<u32>,
    /// The differing fields after that tick: `ours` is recorded, `theirs` is replayed.
    pub diffs: Vec<FieldDiff>,
    /// The first tick after which the computed checksum of the recorded frames differs from the
    /// recorded one. In this case the recording is from another program, and the recorded state
    /// after that tick is unknown.
    pub first_foreign_tick: Option<u32>,
}

/// Runs the recorded command frames during a replay.
pub(super) struct RecordedWorld {
    world: Box<dyn DynWorld>,
    /// The differences so far.
    pub found: FieldDiffs,
}

impl RecordedWorld {
    /// Creates the world from the snapshot of a recording.
    pub fn new(info: &GameInfo, world: &dyn DynWorld) -> Option<RecordedWorld> {
        let world = (info.restore)(&world.snapshot()).ok()?;
        Some(RecordedWorld { world, found: FieldDiffs::default() })
    }

    /// Runs a tick that the replay has just run. `recorded` is the checksum recorded after it.
    pub fn step(&mut self, tick: &RecordedTick, recorded: Option<u64>, replayed: &dyn DynWorld) {
        self.world.step(&tick.frame.commands);
        let (checksum, at) = (self.world.checksum(), tick.frame.tick);
        if self.found.tick.is_none() && checksum != replayed.checksum() {
            self.found.tick = Some(at);
            self.found.diffs = self.world.state().differences(&replayed.state(), MAX_REPORTED_FIELDS);
        }
        if recorded.is_some_and(|recorded| recorded != checksum) {
            self.found.first_foreign_tick.get_or_insert(at);
        }
    }
}
