//! Where things were a few ticks ago, for lag compensation.

use std::collections::VecDeque;

use tickwire_sim::fields::{Field, Malformed, Reader, Sink};

/// The values that something had after each of the last ticks, such as its place: now, and up to `MOST`
/// ticks ago.
///
/// A client shows the others as they were some ticks before the tick in which its commands run. A game
/// that judges a command by what its player saw has an argument `seen:u32.tick|nil` in the packet:
/// clients fill it in. [`RewindBuffer::delay`] makes a number of ticks of it, at most `MOST`, and [`RewindBuffer::ago`]
/// says where a target was. As part of the state, a past is in snapshots and checksums, and a replay
/// judges every command as it was judged.
///
/// ```
/// use tickwire::game::simple::RewindBuffer;
///
/// let mut past = RewindBuffer::<i32, 15>::default();
/// (100..=120).for_each(|place| past.push(place));
/// let delay = RewindBuffer::<i32, 15>::delay(900, Some(896));
/// assert_eq!((delay, past.ago(delay)), (4, Some(116)));
/// assert_eq!(RewindBuffer::<i32, 15>::delay(900, Some(700)), 15, "bounded");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RewindBuffer<P, const MOST: u32>(VecDeque<P>);

impl<P, const MOST: u32> Default for RewindBuffer<P, MOST> {
    fn default() -> RewindBuffer<P, MOST> {
        RewindBuffer(VecDeque::new())
    }
}

impl<P: Copy, const MOST: u32> RewindBuffer<P, MOST> {
    /// How many ticks before `tick`, in which a command runs, its client showed the others: `seen` is the
    /// number of ticks after which they were as shown. At least 0 and at most `MOST`, whatever the
    /// client says; 0 if it says nothing.
    pub fn delay(tick: u32, seen: Option<u32>) -> u32 {
        seen.map_or(0, |seen| tick.saturating_sub(seen).min(MOST))
    }

    /// A tick has passed, after which the value is this. The one of `MOST + 1` ticks ago is forgotten.
    pub fn push(&mut self, value: P) {
        if self.0.len() > MOST as usize {
            self.0.pop_front();
        }
        self.0.push_back(value);
    }

    /// The value of so many ticks ago, 0 for the newest one; `None` if that was before the first one.
    pub fn ago(&self, ticks: u32) -> Option<P> {
        let at = self.0.len().checked_sub(1 + ticks as usize)?;
        self.0.get(at).copied()
    }

    /// Forgets all values, for something that comes anew: nobody hits it where it was before.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl<P: Field, const MOST: u32> Field for RewindBuffer<P, MOST> {
    const MIN_BYTES: usize = 4;

    fn write(&self, sink: &mut impl Sink) {
        sink.length(self.0.len());
        for value in &self.0 {
            sink.item();
            value.write(sink);
            sink.end_item();
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<RewindBuffer<P, MOST>, Malformed> {
        let mut values = Vec::<P>::read(reader)?;
        // A state that is carried over may be of a program that kept more.
        let old = values.len().saturating_sub(MOST as usize + 1);
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
    fn a_delay_is_between_nothing_and_the_bound_whatever_a_client_says() {
        let said = [None, Some(100), Some(99), Some(97), Some(96), Some(0), Some(101), Some(u32::MAX)];
        assert_eq!(said.map(|seen| Short::delay(100, seen)), [0, 0, 1, 3, 3, 3, 0, 0]);
        assert_eq!(Short::delay(0, Some(0)), 0);
    }

    #[test]
    fn a_past_has_the_values_of_the_last_ticks_and_none_from_before_the_first() {
        let mut past = Short::default();
        assert_eq!(past.ago(0), None);
        past.push(10);
        past.push(11);
        assert_eq!([0, 1, 2, u32::MAX].map(|ticks| past.ago(ticks)), [Some(11), Some(10), None, None]);
        (12..20).for_each(|value| past.push(value));
        assert_eq!([0, 3, 4].map(|ticks| past.ago(ticks)), [Some(19), Some(16), None]);
        past.clear();
        assert_eq!(past.ago(0), None);
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
            assert_eq!((shorter.ago(0), shorter.ago(2)), (past.ago(0), None));
        }
    }
}
