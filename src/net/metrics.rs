//! Counters of the server's work, as Prometheus text at `/metrics` and in the status line.
//!
//! Every thread increments the counters, each a relaxed atomic; the text is rendered on request.
//! Labels are the names of rules and caps, never text from a client. No thread waits for a reader
//! of the metrics; the tick histogram and the labelled counters have locks of the library, held for
//! one increment or for printing one metric.

use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use super::recorder::Counts;

/// A counter with one label: the name of a rule, a cap or a reason.
type Named = Family<[(&'static str, &'static str); 1], Counter>;

/// All metrics of one server. Cloning shares them.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// Clients after the handshake, now.
    pub clients: Gauge,
    /// Players in the world, now.
    pub players: Gauge,
    /// Connections accepted by the listener.
    pub accepted: Counter,
    /// Connections refused, by cap.
    pub refused_connections: Named,
    /// Requests refused, by rule.
    pub refused: Named,
    /// Clients closed by the server, by rule.
    pub closed: Named,
    /// Packets dropped or ignored, by rule.
    pub dropped_packets: Named,
    /// Commands that the inbox dropped or the world rejected, by reason.
    pub rejected_commands: Named,
    /// Operator commands that were carried out, by name.
    pub orders: Named,
    /// Operator commands that failed, by name.
    pub orders_refused: Named,
    /// Messages from clients.
    pub messages_in: Counter,
    /// Bytes from clients after the handshake.
    pub bytes_in: Counter,
    /// Bytes given to outboxes for clients after the handshake.
    pub bytes_out: Counter,
    /// Client updates that were not empty.
    pub turns: Counter,
    /// Calls to send that the fan-out made for client updates.
    pub turn_sends: Counter,
    /// Client updates held back because the previous update was unsent: their state is rebuilt
    /// later.
    pub turns_held_back: Counter,
    /// Ticks of the world.
    pub ticks: Counter,
    /// Ticks that began more than half a period late.
    pub late_ticks: Counter,
    /// Skipped periods.
    pub skipped_ticks: Counter,
    /// Time from the beginning of a tick to its publication.
    pub tick_time: Histogram,
    /// The amounts that captures have written and lost.
    pub capture: Counts,
    /// Caught panics; each is a bug in the server.
    pub panics: Counter,
}

impl Metrics {
    /// All at zero.
    pub fn new() -> Metrics {
        let tick_buckets = exponential_buckets(16e-6, f64::sqrt(2.0), 28);
        let mut metrics = Metrics {
            registry: Registry::with_prefix("tickwire"),
            clients: Gauge::default(),
            players: Gauge::default(),
            accepted: Counter::default(),
            refused_connections: Named::default(),
            refused: Named::default(),
            closed: Named::default(),
            dropped_packets: Named::default(),
            rejected_commands: Named::default(),
            orders: Named::default(),
            orders_refused: Named::default(),
            messages_in: Counter::default(),
            bytes_in: Counter::default(),
            bytes_out: Counter::default(),
            turns: Counter::default(),
            turn_sends: Counter::default(),
            turns_held_back: Counter::default(),
            ticks: Counter::default(),
            late_ticks: Counter::default(),
            skipped_ticks: Counter::default(),
            tick_time: Histogram::new(tick_buckets),
            capture: Counts::default(),
            panics: Counter::default(),
        };
        metrics.register_connections();
        metrics.register_traffic();
        metrics.register_ticks();
        metrics.register_captures();
        metrics
    }

    fn register_connections(&mut self) {
        let all = &mut self.registry;
        all.register("clients", "Clients after the handshake", self.clients.clone());
        all.register("players", "Players in the world", self.players.clone());
        all.register("accepted", "Connections accepted by the listener", self.accepted.clone());
        all.register("connections_refused", "Connections refused, by cap", self.refused_connections.clone());
        all.register("requests_refused", "Requests refused, by rule", self.refused.clone());
        all.register("clients_closed", "Clients closed by the server, by rule", self.closed.clone());
        all.register("panics", "Panics caught", self.panics.clone());
        all.register("orders", "Operator commands executed, by name", self.orders.clone());
        all.register(
            "orders_refused",
            "Operator commands that were invalid or failed",
            self.orders_refused.clone(),
        );
    }

    fn register_traffic(&mut self) {
        let all = &mut self.registry;
        all.register("packets_dropped", "Packets dropped or ignored, by rule", self.dropped_packets.clone());
        all.register("commands_rejected", "Commands rejected, by reason", self.rejected_commands.clone());
        all.register("messages_in", "Messages from clients", self.messages_in.clone());
        all.register_with_unit("received", "Bytes from clients", Unit::Bytes, self.bytes_in.clone());
        all.register_with_unit(
            "sent",
            "Bytes queued for clients, every frame counted",
            Unit::Bytes,
            self.bytes_out.clone(),
        );
        all.register(
            "turns",
            "Turns in which a worker had something to send to a client",
            self.turns.clone(),
        );
        all.register("turn_sends", "Send calls made in those turns", self.turn_sends.clone());
        all.register("turns_held_back", "Turns held back for a slow client", self.turns_held_back.clone());
    }

    fn register_ticks(&mut self) {
        let all = &mut self.registry;
        all.register("ticks", "Ticks of the world", self.ticks.clone());
        all.register("ticks_late", "Ticks that began more than half a period late", self.late_ticks.clone());
        all.register(
            "ticks_skipped",
            "Ticks skipped because the world fell behind",
            self.skipped_ticks.clone(),
        );
        all.register_with_unit("tick", "Duration of a tick", Unit::Seconds, self.tick_time.clone());
    }

    fn register_captures(&mut self) {
        let (all, counts) = (&mut self.registry, &self.capture);
        all.register("capture_packets", "Packets written into captures", counts.packets.clone());
        all.register_with_unit(
            "capture_written",
            "Bytes written into captures",
            Unit::Bytes,
            counts.bytes.clone(),
        );
        all.register("capture_lost", "Messages and ticks missing in captures", counts.lost.clone());
    }

    /// Increments the counter of this name.
    pub fn count(family: &Named, label: &'static str, name: &'static str) {
        family.get_or_create(&[(label, name)]).inc();
    }

    /// Records a tick.
    pub fn ticked(&self, took: Duration) {
        self.ticks.inc();
        self.tick_time.observe(took.as_secs_f64());
    }

    /// All metrics as Prometheus (OpenMetrics) text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("writing to a string does not fail");
        text
    }
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_values_appear_in_the_metrics_text() {
        let metrics = Metrics::new();
        Metrics::count(&metrics.closed, "rule", "slow_client");
        metrics.ticked(Duration::from_micros(40));
        let text = metrics.text();
        assert!(text.contains("tickwire_clients_closed_total{rule=\"slow_client\"} 1"), "{text}");
        assert!(text.contains("tickwire_tick_seconds_count 1"), "{text}");
    }
}
