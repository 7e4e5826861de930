//! Many delays in little memory, for their percentiles: each is kept with an error of at most 3 %.

use std::time::Duration;

/// Classes for each power of two.
const BUCKETS_PER_OCTAVE: u64 = 32;

/// See the [module](self).
#[derive(Debug, Clone, Default)]
pub struct DelayHistogram {
    /// Delays in each class, which is a range of microseconds.
    counts: Vec<u64>,
    count: u64,
}

impl DelayHistogram {
    /// Adds a delay.
    pub fn add(&mut self, delay: Duration) {
        let class = bucket(u64::try_from(delay.as_micros()).unwrap_or(u64::MAX));
        if self.counts.len() <= class {
            self.counts.resize(class + 1, 0);
        }
        self.counts[class] += 1;
        self.count += 1;
    }

    /// The delay that so many of a thousand do not exceed; none without any.
    pub fn quantile(&self, most: u64) -> Option<Duration> {
        let rank = (self.count * most).div_ceil(1000).max(1);
        let mut below = 0;
        let found = self.counts.iter().position(|count| {
            below += count;
            below >= rank
        });
        found.map(|class| Duration::from_micros(bucket_min(class as u64)))
    }
}

/// The class of a number of microseconds: the number itself below 32, then by its five highest bits
/// below the first.
fn bucket(us: u64) -> usize {
    let bits = u64::from(us.max(1).ilog2().saturating_sub(BUCKETS_PER_OCTAVE.ilog2()));
    (bits * BUCKETS_PER_OCTAVE + (us >> bits)) as usize
}

/// The least number of microseconds in a class.
fn bucket_min(class: u64) -> u64 {
    let bits = (class / BUCKETS_PER_OCTAVE).saturating_sub(1);
    (class - bits * BUCKETS_PER_OCTAVE) << bits
}
