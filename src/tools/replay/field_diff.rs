//! Which entities and fields differ between a replay and its recording.

use tickwire_sim::state_tree::FieldDiff as Place;

use super::recording::RecordedTick;
use crate::game::{DynWorld, GameInfo};

/// Places that are named.
pub(super) const MAX_REPORTED_FIELDS: usize = 16;

/// The fields in which the world of the decoded commands differs from that of the recorded command
/// frames, both run by this program from the world at the beginning of the capture.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldDiffs {
    /// The first tick after which they differ; `None` if they never do.
    pub tick: Option<u32>,
    /// What differs after it: `ours` is recorded, `theirs` replayed.
    pub diffs: Vec<Place>,
    /// The first tick after which the recorded frames lead to another checksum than the recorded one:
    /// the recording is of another program, and its state after that tick cannot be known.
    pub first_foreign_tick: Option<u32>,
}

/// Runs the recorded frames beside a replay.
pub(super) struct RecordedWorld {
    world: Box<dyn DynWorld>,
    /// What was found so far.
    pub found: FieldDiffs,
}

impl RecordedWorld {
    /// Begins with the world of a recording.
    pub fn new(about: &GameInfo, world: &dyn DynWorld) -> Option<RecordedWorld> {
        let world = (about.restore)(&world.snapshot()).ok()?;
        Some(RecordedWorld { world, found: FieldDiffs::default() })
    }

    /// The replay has run this tick, and the next one begins with this recorded checksum.
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
