//! The recorded ticks of a room: command frames and checksums.

use tickwire_sim::RawCommand;

use crate::game::GameInfo;
use crate::limits;

/// The size of a tick without its command frame, in bytes.
const TICK_BYTES: usize = size_of::<StoredTick>();

/// The recorded ticks of a room, consecutive.
#[derive(Debug)]
pub struct RecordedTicks {
    /// The game.
    pub info: &'static GameInfo,
    /// The number of completed ticks at the start of the recording.
    pub first: u32,
    ticks: Vec<StoredTick>,
    /// All command frames, concatenated.
    frames: Vec<u8>,
}

/// A recorded tick.
#[derive(Debug, Clone, Copy)]
struct StoredTick {
    at_ns: u64,
    /// The checksum of the world before the tick.
    checksum: u64,
    /// The offset after the command frame in `frames`.
    end: usize,
}

impl RecordedTicks {
    /// Creates an empty recording.
    pub fn new(info: &'static GameInfo, first: u32) -> RecordedTicks {
        RecordedTicks { info, first, ticks: Vec::new(), frames: Vec::new() }
    }

    /// The number of completed ticks after the last recorded tick.
    pub fn last(&self) -> u32 {
        self.first + self.ticks.len() as u32
    }

    /// Adds a tick, and returns its commands.
    ///
    /// # Errors
    /// The reason why it cannot follow the last tick.
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
        let commands = (self.info.frame)(frame).map_err(|error| error.to_string())?.commands;
        self.frames.extend_from_slice(frame);
        self.ticks.push(StoredTick { at_ns, checksum, end: self.frames.len() });
        Ok(commands)
    }

    fn tick(&self, tick: u32) -> Option<(usize, &StoredTick)> {
        let at = tick.checked_sub(self.first)? as usize;
        Some((at, self.ticks.get(at)?))
    }

    /// The commands executed after `tick` completed ticks; `None` past the end of the recording.
    pub fn commands(&self, tick: u32) -> Option<Vec<RawCommand>> {
        let (at, StoredTick { end, .. }) = self.tick(tick)?;
        let begin = at.checked_sub(1).map_or(0, |before| self.ticks[before].end);
        // Cannot fail, because `add` has decoded the frame.
        (self.info.frame)(&self.frames[begin..*end]).ok().map(|frame| frame.commands)
    }

    /// The recorded checksum after `tick` completed ticks; `None` if none was recorded.
    pub fn checksum(&self, tick: u32) -> Option<u64> {
        self.tick(tick).map(|(_, tick)| tick.checksum)
    }

    /// The time of the tick after `tick` completed ticks, in nanoseconds since 1970; the time of
    /// the last tick if there is none.
    pub fn at_ns(&self, tick: u32) -> u64 {
        let found = self.tick(tick).map(|(_, tick)| tick);
        found.or(self.ticks.last()).map_or(0, |tick| tick.at_ns)
    }

    /// The number of ticks completed at a time in nanoseconds since 1970.
    pub fn tick_at(&self, at_ns: u64) -> u32 {
        self.first + self.ticks.partition_point(|tick| tick.at_ns <= at_ns) as u32
    }
}
