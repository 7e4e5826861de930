//! The recorded ticks of a room: command frames and checksums, one after the other.

use tickwire_sim::RawCommand;

use crate::game::GameInfo;
use crate::limits;

/// What a tick takes beside its command frame.
const TICK_BYTES: usize = size_of::<StoredTick>();

/// See the [module](self).
#[derive(Debug)]
pub struct RecordedTicks {
    /// The game.
    pub about: &'static GameInfo,
    /// The ticks that the world had completed when the recording began.
    pub first: u32,
    ticks: Vec<StoredTick>,
    /// All command frames.
    frames: Vec<u8>,
}

/// A recorded tick.
#[derive(Debug, Clone, Copy)]
struct StoredTick {
    at_ns: u64,
    /// Of the world before it.
    checksum: u64,
    /// Where its command frame ends.
    end: usize,
}

impl RecordedTicks {
    /// An empty one.
    pub fn new(about: &'static GameInfo, first: u32) -> RecordedTicks {
        RecordedTicks { about, first, ticks: Vec::new(), frames: Vec::new() }
    }

    /// Ticks completed after the last tick.
    pub fn last(&self) -> u32 {
        self.first + self.ticks.len() as u32
    }

    /// Adds a tick; returns its commands.
    ///
    /// # Errors
    /// Why it cannot follow the last one, in words.
    pub fn add(
        &mut self,
        tick: u32,
        at_ns: u64,
        checksum: u64,
        frame: &[u8],
    ) -> Result<Vec<RawCommand>, String> {
        if tick != self.last() {
            return Err(format!("tick {tick} does not follow the previous tick"));
        }
        let bytes = self.frames.len() + frame.len() + (self.ticks.len() + 1) * TICK_BYTES;
        if bytes > limits::WATCH_FRAME_BYTES {
            return Err("the recording is too long to be watched further".to_owned());
        }
        let commands = (self.about.frame)(frame).map_err(|error| error.to_string())?.commands;
        self.frames.extend_from_slice(frame);
        self.ticks.push(StoredTick { at_ns, checksum, end: self.frames.len() });
        Ok(commands)
    }

    fn tick(&self, tick: u32) -> Option<(usize, &StoredTick)> {
        let at = tick.checked_sub(self.first)? as usize;
        Some((at, self.ticks.get(at)?))
    }

    /// The commands of the tick that runs when so many are completed; `None` behind the end.
    pub fn commands(&self, tick: u32) -> Option<Vec<RawCommand>> {
        let (at, StoredTick { end, .. }) = self.tick(tick)?;
        let begin = at.checked_sub(1).map_or(0, |before| self.ticks[before].end);
        // It was read before it was kept.
        (self.about.frame)(&self.frames[begin..*end]).ok().map(|frame| frame.commands)
    }

    /// The recorded checksum of the world with so many ticks completed, if it was recorded.
    pub fn checksum(&self, tick: u32) -> Option<u64> {
        self.tick(tick).map(|(_, tick)| tick.checksum)
    }

    /// When the tick was recorded that runs when so many are completed, nanoseconds since 1970; for
    /// another that of the last one.
    pub fn at_ns(&self, tick: u32) -> u64 {
        let found = self.tick(tick).map(|(_, tick)| tick);
        found.or(self.ticks.last()).map_or(0, |tick| tick.at_ns)
    }

    /// The ticks completed at a time, nanoseconds since 1970.
    pub fn tick_at(&self, at_ns: u64) -> u32 {
        self.first + self.ticks.partition_point(|tick| tick.at_ns <= at_ns) as u32
    }
}
