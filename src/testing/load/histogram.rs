//! Histograms of the measurements of bots. Their memory is bounded.

use std::time::Duration;

/// Width of one class in the histograms of gaps and round trips.
const BUCKET_WIDTH: Duration = Duration::from_micros(100);
/// Number of classes. Longer durations count in the last class; the greatest is also stored.
const BUCKETS: usize = 50_000;

/// A histogram of values. The number of classes grows with the values, up to a limit.
#[derive(Debug, Clone)]
pub struct Histogram {
    classes: Vec<u64>,
    max: usize,
    greatest: usize,
}

impl Histogram {
    /// Creates a histogram without values. Values from `max` count in the last class.
    pub fn new(max: usize) -> Histogram {
        Histogram { classes: Vec::new(), max, greatest: 0 }
    }

    /// Adds a value.
    pub fn add(&mut self, value: usize) {
        let class = value.min(self.max - 1);
        self.reach(class + 1);
        self.classes[class] += 1;
        self.greatest = self.greatest.max(value);
    }

    fn reach(&mut self, classes: usize) {
        self.classes.resize(self.classes.len().max(classes), 0);
    }

    /// Adds the values of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        self.reach(other.classes.len());
        self.classes.iter_mut().zip(&other.classes).for_each(|(mine, more)| *mine += more);
        self.greatest = self.greatest.max(other.greatest);
    }

    /// Returns the quantile `share` of the values: 0.5 is the median. Returns 0 without values.
    pub fn quantile(&self, share: f64) -> usize {
        let all: u64 = self.classes.iter().sum();
        let wanted = (all as f64 * share).ceil().max(1.0) as u64;
        let mut so_far = 0;
        let class = self.classes.iter().position(|count| {
            so_far += count;
            so_far >= wanted
        });
        class.unwrap_or(0)
    }
}

/// A histogram of durations, in classes of 0.1 ms up to 5 s.
#[derive(Debug, Clone)]
pub struct DurationHistogram(Histogram);

impl DurationHistogram {
    /// Creates a histogram without durations.
    pub fn new() -> DurationHistogram {
        DurationHistogram(Histogram::new(BUCKETS))
    }

    /// Adds a duration.
    pub fn add(&mut self, duration: Duration) {
        self.0.add((duration.as_nanos() / BUCKET_WIDTH.as_nanos()) as usize);
    }

    /// Adds the durations of another histogram.
    pub fn merge(&mut self, other: &DurationHistogram) {
        self.0.merge(&other.0);
    }

    /// Returns the number of durations.
    pub fn count(&self) -> usize {
        self.0.classes.iter().sum::<u64>() as usize
    }

    /// Returns the quantile `share`, in milliseconds: 0.5 is the median. Returns 0 without
    /// durations.
    pub fn quantile_ms(&self, share: f64) -> f64 {
        (self.0.quantile(share) as u32 * BUCKET_WIDTH).as_secs_f64() * 1e3
    }

    /// Returns the greatest duration, in milliseconds.
    pub fn max_ms(&self) -> f64 {
        self.0.greatest as f64 * BUCKET_WIDTH.as_secs_f64() * 1e3
    }

    /// Returns median, 90th and 99th percentile and the greatest duration as text.
    pub fn text(&self) -> String {
        let [p50, p90, p99] = [0.5, 0.9, 0.99].map(|share| self.quantile_ms(share));
        format!("p50 {p50:.1} ms, p90 {p90:.1} ms, p99 {p99:.1} ms, max {:.1} ms", self.max_ms())
    }

    /// Sets the fields `…_p50_ms`, `…_p90_ms`, `…_p99_ms` and `…_max_ms` of a JSON object.
    pub fn set_json(&self, line: &mut serde_json::Value, name: &str) {
        let tenth = |ms: f64| (ms * 10.0).round() / 10.0;
        for (percent, share) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)] {
            line[format!("{name}_{percent}_ms")] = tenth(self.quantile_ms(share)).into();
        }
        line[format!("{name}_max_ms")] = tenth(self.max_ms()).into();
    }
}

impl Default for DurationHistogram {
    fn default() -> DurationHistogram {
        DurationHistogram::new()
    }
}
