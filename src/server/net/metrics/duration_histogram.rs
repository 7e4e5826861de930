//! A histogram of short durations. Any thread records into it without a lock.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::{MetricEncoder, NoLabelSet};

/// Number of buckets, without the one for longer durations.
const BUCKETS: usize = 31;

/// Greatest duration of each bucket in nanoseconds: 1 µs, less than a short system call, to 33 ms,
/// the interval of 30 updates a second. Each is the one before it times the square root of 2.
const BOUNDS_NS: [u64; BUCKETS] = bounds_ns();

const fn bounds_ns() -> [u64; BUCKETS] {
    let mut bounds = [0; BUCKETS];
    let mut at = 0;
    while at < BUCKETS {
        let first = if at % 2 == 0 { 1_000 } else { 1_414 };
        bounds[at] = first << (at / 2);
        at += 1;
    }
    bounds
}

/// Counts durations by bucket.
#[derive(Debug, Default)]
pub struct DurationHistogram {
    counts: [AtomicU64; BUCKETS + 1],
    sum_ns: AtomicU64,
}

impl DurationHistogram {
    /// Records a duration, with two relaxed atomic additions.
    pub fn record(&self, duration: Duration) {
        let ns = duration.as_nanos() as u64;
        let bucket = BOUNDS_NS.partition_point(|bound| *bound < ns);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum_ns.fetch_add(ns, Ordering::Relaxed);
    }

    /// Encodes the sum of these histograms for `/metrics`, in seconds.
    ///
    /// # Errors
    /// The writer fails.
    pub fn encode_sum<'a>(
        histograms: impl Iterator<Item = &'a DurationHistogram>,
        encoder: &mut MetricEncoder<'_>,
    ) -> fmt::Result {
        let bounds = BOUNDS_NS.iter().map(|ns| *ns as f64 / 1e9).chain([f64::INFINITY]);
        let mut buckets: Vec<(f64, u64)> = bounds.map(|bound| (bound, 0)).collect();
        let mut sum_ns = 0;
        for histogram in histograms {
            sum_ns += histogram.sum_ns.load(Ordering::Relaxed);
            for ((_, sum), count) in buckets.iter_mut().zip(&histogram.counts) {
                *sum += count.load(Ordering::Relaxed);
            }
        }
        let count = buckets.iter().map(|(_, count)| count).sum();
        encoder.encode_histogram::<NoLabelSet>(sum_ns as f64 / 1e9, count, &buckets, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_counts_in_the_first_bucket_that_is_not_shorter() {
        let histogram = DurationHistogram::default();
        for ns in [0, 1_000, 1_001, 1_414, 2_000, 32_768_000, 32_768_001, 1_000_000_000] {
            histogram.record(Duration::from_nanos(ns));
        }
        let counts: Vec<u64> = histogram.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        assert_eq!(counts[..4], [2, 2, 1, 0]);
        assert_eq!(counts[BUCKETS - 1..], [1, 2], "the last bucket has everything longer");
        assert!(BOUNDS_NS.is_sorted() && BOUNDS_NS[BUCKETS - 1] == 32_768_000);
    }
}
