//! A histogram of delays in little memory, for percentiles with an error of at most 3 %.

use std::time::Duration;

/// Number of buckets for each power of two.
const BUCKETS_PER_OCTAVE: u64 = 32;

/// A histogram of delays with logarithmic buckets.
#[derive(Debug, Clone, Default)]
pub struct DelayHistogram {
    /// Number of delays in each bucket, which is a range of microseconds.
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

    /// Returns the quantile of the delays: 500 per mille is the median. Returns `None` if the
    /// histogram is empty.
    pub fn quantile(&self, per_mille: u64) -> Option<Duration> {
        let rank = (self.count * per_mille).div_ceil(1000).max(1);
        let mut below = 0;
        let found = self.counts.iter().position(|count| {
            below += count;
            below >= rank
        });
        found.map(|class| Duration::from_micros(bucket_min(class as u64)))
    }
}

/// The bucket of a number of microseconds. A number below 32 is its own bucket; for larger numbers,
/// the bucket depends on the position of the highest bit and the five bits after it.
fn bucket(us: u64) -> usize {
    let bits = u64::from(us.max(1).ilog2().saturating_sub(BUCKETS_PER_OCTAVE.ilog2()));
    (bits * BUCKETS_PER_OCTAVE + (us >> bits)) as usize
}

/// The minimum number of microseconds in a bucket.
fn bucket_min(class: u64) -> u64 {
    let bits = (class / BUCKETS_PER_OCTAVE).saturating_sub(1);
    (class - bits * BUCKETS_PER_OCTAVE) << bits
}
