//! Recent values of an entity, for lag compensation.

use std::collections::VecDeque;

use tickwire_sim::fields::{Field, Malformed, Reader, Sink};

/// The values of an entity, such as its position, after each of the last ticks: the current one,
/// and up to `MAX` earlier ones.
///
/// A client shows remote players as they were some ticks before the tick that executes its
/// commands. To judge a command by the state that its player saw, a game adds the argument
/// `render_tick:u32.tick|nil` to the packet, and clients fill it in. [`RewindBuffer::rewind_ticks`]
/// converts it to a number of ticks, at most `MAX`, and [`RewindBuffer::at_ticks_ago`] returns the
/// target's value at that time. The buffer is part of the state and so of snapshots and checksums.
/// A replay therefore judges every command in the same way.
///
/// ```
/// use tickwire::game::simple::RewindBuffer;
///
/// let mut past = RewindBuffer::<i32, 15>::default();
/// (100..=120).for_each(|place| past.push(place));
/// let delay = RewindBuffer::<i32, 15>::rewind_ticks(900, Some(896));
/// assert_eq!((delay, past.at_ticks_ago(delay)), (4, Some(116)));
/// assert_eq!(RewindBuffer::<i32, 15>::rewind_ticks(900, Some(700)), 15, "bounded");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RewindBuffer<P, const MAX: u32>(VecDeque<P>);

impl<P, const MAX: u32> Default for RewindBuffer<P, MAX> {
    fn default() -> RewindBuffer<P, MAX> {
        RewindBuffer(VecDeque::new())
    }
}

impl<P: Copy, const MAX: u32> RewindBuffer<P, MAX> {
    /// Returns the age in ticks of the state that the client showed, relative to the executing tick
    /// `tick`. `render_tick` is the number of completed ticks in that state. The result is limited
    /// to `MAX`; it is 0 without `render_tick`.
    pub fn rewind_ticks(tick: u32, render_tick: Option<u32>) -> u32 {
        render_tick.map_or(0, |rendered| tick.saturating_sub(rendered).min(MAX))
    }

    /// Adds the value after a tick. Drops the value of `MAX + 1` ticks ago.
    pub fn push(&mut self, value: P) {
        if self.0.len() > MAX as usize {
            self.0.pop_front();
        }
        self.0.push_back(value);
    }

    /// Returns the value of `ticks` ticks ago, 0 for the newest one. Returns `None` for a time
    /// before the first value.
    pub fn at_ticks_ago(&self, ticks: u32) -> Option<P> {
        let at = self.0.len().checked_sub(1 + ticks as usize)?;
        self.0.get(at).copied()
    }

    /// Clears the history on respawn, so that no command hits the old position.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl<P: Field, const MAX: u32> Field for RewindBuffer<P, MAX> {
    const MIN_BYTES: usize = 4;

    fn write(&self, sink: &mut impl Sink) {
        sink.length(self.0.len());
        for value in &self.0 {
            sink.item();
            value.write(sink);
            sink.end_item();
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<RewindBuffer<P, MAX>, Malformed> {
        let mut values = Vec::<P>::read(reader)?;
        // A migrated state may come from a program with a larger `MAX`.
        let old = values.len().saturating_sub(MAX as usize + 1);
        values.drain(..old);
        Ok(RewindBuffer(values.into()))
    }
}

#[cfg(test)]
mod tests {
    use tickwire_sim::fields::ByteSink;

    use super::*;

    type Short = RewindBuffer<u16, 3>;

    #[test]
    fn a_delay_is_between_nothing_and_the_bound_for_any_reported_tick() {
        let reported = [None, Some(100), Some(99), Some(97), Some(96), Some(0), Some(101), Some(u32::MAX)];
        assert_eq!(reported.map(|tick| Short::rewind_ticks(100, tick)), [0, 0, 1, 3, 3, 3, 0, 0]);
        assert_eq!(Short::rewind_ticks(0, Some(0)), 0);
    }

    #[test]
    fn a_past_has_the_values_of_the_last_ticks_and_none_from_before_the_first() {
        let mut past = Short::default();
        assert_eq!(past.at_ticks_ago(0), None);
        past.push(10);
        past.push(11);
        assert_eq!(
            [0, 1, 2, u32::MAX].map(|ticks| past.at_ticks_ago(ticks)),
            [Some(11), Some(10), None, None]
        );
        (12..20).for_each(|value| past.push(value));
        assert_eq!([0, 3, 4].map(|ticks| past.at_ticks_ago(ticks)), [Some(19), Some(16), None]);
        past.clear();
        assert_eq!(past.at_ticks_ago(0), None);
    }

    #[test]
    fn a_past_comes_back_from_a_snapshot_however_long_it_ran() {
        for ticks in 0..9 {
            let mut past = Short::default();
            (0..ticks).for_each(|value| past.push(value));
            let mut bytes = ByteSink::default();
            past.write(&mut bytes);
            assert_eq!(Short::read(&mut Reader::new(&bytes.0)), Ok(past.clone()), "after {ticks} ticks");
            let shorter = RewindBuffer::<u16, 1>::read(&mut Reader::new(&bytes.0)).expect("as many or fewer");
            assert_eq!((shorter.at_ticks_ago(0), shorter.at_ticks_ago(2)), (past.at_ticks_ago(0), None));
        }
    }
}
