//! The measurements of bots: gaps between updates, round trips, traffic, players in view, errors.
//!
//! The measurements of all bots are merged into a [`CrowdReport`], printed as text or as JSON. The
//! memory use is bounded, regardless of the duration of a run.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::histogram::{DurationHistogram, Histogram};
use crate::game::bots::BotStats;
use crate::util::plural::count_noun;

/// Number of distinct counts of players in view.
const VIEWS: usize = 1_024;
/// Maximum number of stored details per error name.
const EXAMPLES: usize = 3;

/// The measurements of one or several bots.
#[derive(Debug, Clone)]
pub struct Measurements {
    gaps: DurationHistogram,
    /// Round trips: from a packet `ping` to its `pong`.
    pub round_trips: DurationHistogram,
    views: Histogram,
    /// Bytes received from the server after the connection was made.
    pub bytes_in: u64,
    /// Bytes sent to the server.
    pub bytes_out: u64,
    /// Number of messages from the server.
    pub messages_in: u64,
    /// Number of messages to the server.
    pub messages_out: u64,
    /// Number of messages from the server since the connection was made, including unmeasured time.
    all_in: u64,
    /// Number of messages to the server since the connection was made.
    all_out: u64,
    /// Number of updates from the server.
    pub updates: u64,
    /// Statistics of the bots.
    pub stats: BotStats,
    /// Number of reconnects after a stop of the server.
    pub returns: u64,
    /// Number of lost connections of bots that reconnect.
    pub lost: u64,
    /// Number of reconnects after which a bot received its own player.
    pub resumed: u64,
    errors: BTreeMap<String, Errors>,
    disconnects: BTreeMap<String, u64>,
}

#[derive(Debug, Clone, Default)]
struct Errors {
    count: u64,
    examples: Vec<String>,
}

impl Measurements {
    /// Creates empty measurements.
    pub fn new() -> Measurements {
        Measurements {
            gaps: DurationHistogram::new(),
            round_trips: DurationHistogram::new(),
            views: Histogram::new(VIEWS),
            bytes_in: 0,
            bytes_out: 0,
            messages_in: 0,
            messages_out: 0,
            all_in: 0,
            all_out: 0,
            updates: 0,
            stats: BotStats::default(),
            returns: 0,
            lost: 0,
            resumed: 0,
            errors: BTreeMap::new(),
            disconnects: BTreeMap::new(),
        }
    }

    /// Starts the measured time: clears the measurements, but not the errors.
    pub fn begin(&mut self) {
        let before = std::mem::take(self);
        (self.all_in, self.all_out) = (before.all_in, before.all_out);
        self.errors = before.errors;
        self.disconnects = before.disconnects;
    }

    /// Counts a message from the server.
    pub fn count_received(&mut self) {
        self.messages_in += 1;
        self.all_in += 1;
    }

    /// Counts a message to the server.
    pub fn count_sent(&mut self) {
        self.messages_out += 1;
        self.all_out += 1;
    }

    /// Numbers of messages from and to the server since the connection was made.
    pub fn all(&self) -> (u64, u64) {
        (self.all_in, self.all_out)
    }

    /// Adds the messages that `tally` has counted since `before`. These messages were sent and
    /// received while the bot left, after the measured time.
    pub fn count_since(&mut self, before: (u64, u64), tally: &Measurements) {
        self.all_in += tally.all_in - before.0;
        self.all_out += tally.all_out - before.1;
    }

    /// Records an update: the number of other players in view, and the time since the previous
    /// update.
    pub fn update(&mut self, gap: Option<Duration>, others_in_view: usize) {
        self.updates += 1;
        self.record_view(others_in_view);
        if let Some(gap) = gap {
            self.gaps.add(gap);
        }
    }

    /// Records the number of other players in view.
    pub fn record_view(&mut self, others_in_view: usize) {
        self.views.add(others_in_view);
    }

    /// Records an error under a name.
    pub fn error(&mut self, name: &str, detail: String) {
        let errors = self.errors.entry(name.to_owned()).or_default();
        errors.count += 1;
        if errors.examples.len() < EXAMPLES {
            errors.examples.push(detail);
        }
    }

    /// Records a connection that ended before the bot closed it.
    pub fn disconnect(&mut self, reason: &str) {
        *self.disconnects.entry(reason.to_owned()).or_default() += 1;
    }

    /// Adds other measurements.
    pub fn merge(&mut self, other: &Measurements) {
        self.gaps.merge(&other.gaps);
        self.round_trips.merge(&other.round_trips);
        self.views.merge(&other.views);
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.messages_in += other.messages_in;
        self.messages_out += other.messages_out;
        self.all_in += other.all_in;
        self.all_out += other.all_out;
        self.updates += other.updates;
        self.stats.add(&other.stats);
        self.returns += other.returns;
        self.lost += other.lost;
        self.resumed += other.resumed;
        for (name, errors) in &other.errors {
            let mine = self.errors.entry(name.clone()).or_default();
            mine.count += errors.count;
            let room = EXAMPLES - mine.examples.len();
            mine.examples.extend(errors.examples.iter().take(room).cloned());
        }
        for (reason, count) in &other.disconnects {
            *self.disconnects.entry(reason.clone()).or_default() += count;
        }
    }
}

impl Default for Measurements {
    fn default() -> Measurements {
        Measurements::new()
    }
}

/// The results of all bots of one dialect.
#[derive(Debug, Clone)]
pub struct CrowdReport {
    /// The dialect.
    pub dialect: String,
    /// Number of bots.
    pub bots: usize,
    /// Number of bots that were playing at the start of the measured time; bots that reconnect also
    /// count if they were playing at its end.
    pub playing: usize,
    /// The measured time. It ends early if the server ends all connections.
    pub time: Duration,
    /// The measurements in the measured time. Errors and disconnects are from the whole run.
    pub tally: Measurements,
}

impl CrowdReport {
    /// A report without bots.
    pub fn new(dialect: &str, time: Duration) -> CrowdReport {
        let (dialect, tally) = (dialect.to_owned(), Measurements::new());
        CrowdReport { dialect, bots: 0, playing: 0, time, tally }
    }

    /// Adds the results of other bots of the same dialect in the same time.
    pub fn merge(&mut self, other: &CrowdReport) {
        self.time = self.time.max(other.time);
        self.bots += other.bots;
        self.playing += other.playing;
        self.tally.merge(&other.tally);
    }

    /// Total number of errors.
    pub fn errors(&self) -> u64 {
        self.tally.errors.values().map(|errors| errors.count).sum()
    }

    /// Total number of connections that ended before the bots closed them.
    pub fn disconnects(&self) -> u64 {
        self.tally.disconnects.values().sum()
    }

    /// Number of connections that ended before the bots closed them, by reason.
    pub fn disconnects_by_reason(&self) -> &BTreeMap<String, u64> {
        &self.tally.disconnects
    }

    /// Whether the run succeeded: every bot played, without errors and disconnects.
    pub fn passed(&self) -> bool {
        self.playing == self.bots && self.errors() == 0 && self.disconnects() == 0
    }

    /// Returns the quantile `share` of the gaps between two updates, in milliseconds.
    pub fn gap_ms(&self, share: f64) -> f64 {
        self.tally.gaps.quantile_ms(share)
    }

    /// The greatest gap between two updates, in milliseconds.
    pub fn max_gap_ms(&self) -> f64 {
        self.tally.gaps.max_ms()
    }

    /// The median number of other players in view, over all updates.
    pub fn in_view(&self) -> usize {
        self.tally.views.quantile(0.5)
    }

    /// Converts a total to a rate per second and bot.
    pub fn rate(&self, total: u64) -> f64 {
        total as f64 / self.time.as_secs_f64().max(1e-9) / self.bots.max(1) as f64
    }

    /// Formats the report as one line of JSON.
    pub fn json(&self) -> String {
        let Measurements { bytes_in, bytes_out, messages_in, messages_out, updates, .. } = self.tally;
        let errors: BTreeMap<_, _> =
            self.tally.errors.iter().map(|(name, errors)| (name, errors.count)).collect();
        let examples: BTreeMap<_, _> =
            self.tally.errors.iter().map(|(name, errors)| (name, &errors.examples)).collect();
        let tenth = |number: f64| (number * 10.0).round() / 10.0;
        let mut line = serde_json::json!({
            "dialect": self.dialect,
            "bots": self.bots,
            "playing": self.playing,
            "seconds": tenth(self.time.as_secs_f64()),
            "round_trips": self.tally.round_trips.count(),
            "bytes_in_per_s": self.rate(bytes_in).round(),
            "bytes_out_per_s": self.rate(bytes_out).round(),
            "messages_in": messages_in,
            "messages_out": messages_out,
            "all_messages_in": self.tally.all_in,
            "all_messages_out": self.tally.all_out,
            "updates": updates,
            "in_view": self.in_view(),
            "error_count": self.errors(),
            "errors": errors,
            "disconnect_count": self.disconnects(),
            "disconnects": self.tally.disconnects,
        });
        if !examples.is_empty() {
            line["error_examples"] = serde_json::json!(examples);
        }
        if self.tally.returns > 0 {
            line["returns"] = self.tally.returns.into();
        }
        if self.tally.lost > 0 {
            line["lost"] = self.tally.lost.into();
            line["resumed"] = self.tally.resumed.into();
        }
        for (name, _, count) in &self.tally.stats.0 {
            line[*name] = (*count).into();
        }
        self.tally.gaps.set_json(&mut line, "gap");
        self.tally.round_trips.set_json(&mut line, "round_trip");
        line.to_string()
    }
}

impl fmt::Display for CrowdReport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tally = &self.tally;
        let (dialect, bots, seconds) = (&self.dialect, self.bots, self.time.as_secs_f64());
        writeln!(out, "{}, {} playing, {dialect}, {seconds:.1} s", count_noun(bots, "bot"), self.playing)?;
        writeln!(out, "  update gap    {}", tally.gaps.text())?;
        if tally.round_trips.count() > 0 {
            writeln!(out, "  round trip    {}", tally.round_trips.text())?;
        }
        let (bytes_in, bytes_out) = (self.rate(tally.bytes_in), self.rate(tally.bytes_out));
        writeln!(out, "  each bot      {bytes_in:.0} bytes/s in, {bytes_out:.0} bytes/s out")?;
        writeln!(
            out,
            "  messages      {} in ({} updates), {} out",
            tally.messages_in, tally.updates, tally.messages_out
        )?;
        writeln!(out, "  in view       {} (median of other players)", self.in_view())?;
        let lines = tally.stats.0.chunks(5).filter(|chunk| chunk.iter().any(|(.., count)| *count > 0));
        for (line, chunk) in lines.enumerate() {
            let stats: Vec<String> =
                chunk.iter().map(|(_, words, count)| format!("{words} {count}")).collect();
            let title = if line == 0 { "played" } else { "and" };
            writeln!(out, "  {title:14}{}", stats.join(", "))?;
        }
        writeln!(out, "  errors        {}", self.errors())?;
        for (name, errors) in &tally.errors {
            writeln!(out, "    {name} {}", errors.count)?;
            errors.examples.iter().try_for_each(|example| writeln!(out, "      {example:?}"))?;
        }
        if tally.returns > 0 {
            writeln!(out, "  returns       {} to a server that had stopped", tally.returns)?;
        }
        if tally.lost > 0 {
            let lost = count_noun(tally.lost, "connection");
            writeln!(
                out,
                "  reconnects    {lost} lost, {} times a bot resumed its own player",
                tally.resumed
            )?;
        }
        writeln!(out, "  disconnects   {}", self.disconnects())?;
        tally.disconnects.iter().try_for_each(|(reason, count)| writeln!(out, "    {reason:?} {count}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(tally: Measurements) -> CrowdReport {
        CrowdReport {
            dialect: "native".to_owned(),
            bots: 2,
            playing: 2,
            time: Duration::from_secs(10),
            tally,
        }
    }

    #[test]
    fn quantiles_of_gaps() {
        let mut tally = Measurements::new();
        for ms in 1..=100 {
            tally.update(Some(Duration::from_millis(ms)), ms as usize);
        }
        tally.update(None, 0);
        let report = report(tally);
        assert_eq!((report.gap_ms(0.5), report.gap_ms(0.99), report.max_gap_ms()), (50.0, 99.0, 100.0));
        assert_eq!(report.in_view(), 50);
        assert_eq!(Histogram::new(3).quantile(0.5), 0);
    }

    #[test]
    fn percentiles_of_gaps_and_round_trips_are_in_text_and_json() {
        let mut tally = Measurements::new();
        for ms in 1..=100 {
            tally.update(Some(Duration::from_millis(ms)), 0);
            tally.round_trips.add(Duration::from_millis(2 * ms));
        }
        let report = report(tally);
        let text = report.to_string();
        assert!(
            text.contains("  update gap    p50 50.0 ms, p90 90.0 ms, p99 99.0 ms, max 100.0 ms\n"),
            "{text}"
        );
        assert!(
            text.contains("  round trip    p50 100.0 ms, p90 180.0 ms, p99 198.0 ms, max 200.0 ms\n"),
            "{text}"
        );
        let json: serde_json::Value = serde_json::from_str(&report.json()).expect("JSON");
        for (key, expected) in [
            ("gap_p50_ms", 50.0),
            ("gap_p90_ms", 90.0),
            ("gap_p99_ms", 99.0),
            ("gap_max_ms", 100.0),
            ("round_trips", 100.0),
            ("round_trip_p50_ms", 100.0),
            ("round_trip_p90_ms", 180.0),
            ("round_trip_p99_ms", 198.0),
            ("round_trip_max_ms", 200.0),
        ] {
            assert_eq!(json[key].as_f64(), Some(expected), "{key}");
        }
    }

    #[test]
    fn a_beginning_forgets_traffic_and_no_error() {
        let mut tally = Measurements::new();
        tally.bytes_in = 7;
        tally.error("off_map", "player 1".to_owned());
        tally.begin();
        assert_eq!((tally.bytes_in, report(tally).errors()), (0, 1));
    }

    #[test]
    fn two_tallies_are_added_and_printed() {
        let (mut one, mut two) = (Measurements::new(), Measurements::new());
        one.bytes_in = 400;
        one.stats = BotStats(vec![("hits", "hits", 3), ("kills", "players killed", 0)]);
        two.stats = BotStats(vec![("hits", "hits", 1), ("kills", "players killed", 2)]);
        two.bytes_in = 600;
        (0..5).for_each(|number| two.error("too_fast", format!("player {number}")));
        two.disconnect("1008 message_rate");
        one.merge(&two);
        let report = report(one);
        assert!(!report.passed());
        let text = report.to_string();
        assert!(text.contains("50 bytes/s in") && text.contains("too_fast 5"), "{text}");
        assert!(text.contains("\"1008 message_rate\" 1"), "{text}");
        assert!(text.contains("played        hits 4, players killed 2\n"), "{text}");
        let json = report.json();
        assert!(json.contains("\"bytes_in_per_s\":50.0") && json.contains("\"too_fast\":5"), "{json}");
    }
}
