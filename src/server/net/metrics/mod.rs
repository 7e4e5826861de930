//! Metrics of the server: all of them as Prometheus text at `/metrics`, some in the status line of
//! the log.
//!
//! Any thread may increment the counters, which are relaxed atomics. The text is rendered on
//! request. Labels are names of rules, caps, reasons, operator commands and rooms, never text from
//! a client. Metrics of a room carry its name in the label `room`; metrics of the default
//! room have no label, so that a server with one room has unlabeled metrics.
//!
//! No thread waits for a reader of the metrics. The tick histogram and the labeled counters use
//! locks of the metrics library, each held only while one metric is incremented or rendered. What
//! each update and each send changes has no lock: see [`WorkerMetrics`].

mod duration_histogram;
mod frame_samples;
mod packet_bytes;
mod worker_metrics;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::{Metric, Registry, Unit};

use self::duration_histogram::DurationHistogram;
pub use self::frame_samples::FieldBytes;
use self::frame_samples::SampledFields;
pub use self::packet_bytes::{FrameCount, PacketHeads};
use self::packet_bytes::{PacketBytes, PacketCatalog};
pub use self::worker_metrics::WorkerMetrics;
use self::worker_metrics::{SampledBytes, SummedBytes, SummedHistogram, SummedPackets};
use crate::packet::PacketTables;
use crate::util::sync::Mutex;

/// A counter with one label: the name of a rule, a limit or a reason.
type LabeledCounter = Family<[(&'static str, &'static str); 1], Counter>;

/// One metric per room, by room name.
#[derive(Debug, Clone, Default)]
pub struct PerRoom<M> {
    rooms: Arc<Mutex<BTreeMap<Arc<str>, M>>>,
}

impl<M: Clone + Default> PerRoom<M> {
    /// Returns the metric of this room, created at zero if the room is new.
    fn get_or_create(&self, room: &Arc<str>) -> M {
        self.rooms.lock().entry(Arc::clone(room)).or_default().clone()
    }
}

impl<M> PerRoom<M> {
    fn forget(&self, room: &str) {
        self.rooms.lock().remove(room);
    }
}

impl PerRoom<Gauge> {
    /// Returns the sum over all rooms.
    pub fn sum(&self) -> i64 {
        self.rooms.lock().values().map(Gauge::get).sum()
    }
}

impl<M: EncodeMetric + TypedMetric> EncodeMetric for PerRoom<M> {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let rooms = self.rooms.lock();
        for (name, figure) in rooms.iter().filter(|(name, _)| !name.is_empty()) {
            figure.encode(encoder.encode_family(&[("room", &**name)])?)?;
        }
        // Encoded last, because encoding without a label consumes the encoder.
        rooms.get("").map_or(Ok(()), |figure| figure.encode(encoder))
    }

    fn metric_type(&self) -> MetricType {
        M::TYPE
    }
}

/// The metrics of one room.
#[derive(Debug, Clone)]
pub struct RoomMetrics {
    /// Connected clients.
    pub clients: Gauge,
    /// Connected bots of the server.
    pub bots: Gauge,
    /// Players in the world, bots included.
    pub players: Gauge,
    /// Ticks executed.
    pub ticks: Counter,
    /// Ticks that started more than half a period late.
    pub late_ticks: Counter,
    /// Ticks skipped because the room fell behind.
    pub skipped_ticks: Counter,
    /// Ticks that an update worker sent together with a later one, because it was still busy with
    /// the clients of an earlier one. Each worker counts.
    pub merged_ticks: Counter,
    /// Restarts after a panic.
    pub restarts: Counter,
    /// Clients in lockstep.
    pub lockstep_clients: Gauge,
    /// Snapshots sent to lockstep clients.
    pub snapshots: Counter,
    /// Checksums of lockstep clients that were compared.
    pub checksums: Counter,
    /// Compared checksums that differed.
    pub desyncs: Counter,
}

/// Declares the metrics. Each row has a field, its type, the metric's name and unit, and its help
/// text.
macro_rules! metrics {
    ($($field:ident: $kind:ty, $name:literal $unit:ident, $help:literal;)+) => {
        /// All metrics of one server.
        #[derive(Debug)]
        pub struct Metrics {
            registry: Registry,
            /// Time from the start of a tick to the end of its publication.
            tick_time: Histogram,
            /// Time from the end of the world's step to the end of its publication.
            publish_time: Arc<DurationHistogram>,
            /// Time of one sync of a journal.
            journal_sync_time: Histogram,
            sampled_fields: Arc<SampledFields>,
            /// Metrics of the update workers, in their order.
            pub workers: Arc<[Arc<WorkerMetrics>]>,
            $(#[doc = concat!($help, ".")] pub $field: $kind,)+
        }

        impl Metrics {
            /// Creates all metrics at zero, for this number of update workers and these packets.
            pub fn new(workers: usize, tables: &PacketTables) -> Metrics {
                let mut metrics = Metrics {
                    registry: Registry::with_prefix("tickwire"),
                    tick_time: Histogram::new(exponential_buckets(16e-6, f64::sqrt(2.0), 28)),
                    publish_time: Arc::default(),
                    journal_sync_time: Histogram::new(exponential_buckets(64e-6, 2.0, 16)),
                    sampled_fields: Arc::default(),
                    workers: WorkerMetrics::for_workers(workers, PacketCatalog::new(tables)),
                    $($field: <$kind>::default(),)+
                };
                $(metrics.register($name, metrics!($unit), $help, metrics.$field.clone());)+
                metrics.register_durations();
                metrics.register_packets();
                metrics
            }
        }
    };
    (number) => { None };
    (bytes) => { Some(Unit::Bytes) };
}

metrics! {
    clients: PerRoom<Gauge>, "clients" number, "Clients that have completed the handshake";
    bots: PerRoom<Gauge>, "bots" number, "Bots of the server, which are not among its clients";
    players: PerRoom<Gauge>, "players" number, "Players in the world";
    max_clients: Gauge, "max_clients" number, "Maximum number of clients";
    rooms: Gauge, "rooms" number, "Rooms, with those on demand";
    unhealthy_rooms: Gauge, "rooms_unhealthy" number, "Rooms that neither tick nor sleep, as /healthz lists them";
    resident_memory: Gauge, "resident_memory" bytes, "Resident memory of the server; 0 if the system does not report it";
    draining: Gauge, "draining" number, "Whether the server is draining before it stops: 0 or 1";
    agones_failures: LabeledCounter, "agones_requests_failed" number, "Requests to the sidecar of Agones that failed, by request";
    accepted: Counter, "connections_accepted" number, "Connections accepted by the listener";
    refused_connections: LabeledCounter, "connections_refused" number, "Connections refused, by limit";
    refused: LabeledCounter, "requests_refused" number, "Requests refused, by rule";
    closed: LabeledCounter, "clients_closed" number, "Clients closed by the server, by rule";
    panics: Counter, "panics" number, "Panics caught";
    operator_commands: LabeledCounter, "operator_commands" number, "Operator commands executed, by name";
    operator_commands_failed: LabeledCounter, "operator_commands_failed" number, "Operator commands that were invalid or failed";
    dropped_packets: LabeledCounter, "packets_dropped" number, "Packets dropped or ignored, by rule";
    rejected_commands: LabeledCounter, "commands_rejected" number, "Commands rejected, by reason";
    messages_in: Counter, "messages_in" number, "Messages from clients";
    bytes_in: Counter, "received" bytes, "Bytes from clients";
    compressed_messages: Counter, "messages_compressed" number, "Messages that were compressed; a message shared by several clients counts once";
    compression_original_bytes: Counter, "compression_original" bytes, "Bytes of compressed messages before compression";
    compression_bytes: Counter, "compression_compressed" bytes, "Bytes of compressed messages";
    datagrams_in: Counter, "datagrams_in" number, "Datagrams received on the UDP port";
    datagrams_out: Counter, "datagrams_out" number, "Datagrams sent to clients";
    dropped_datagrams: LabeledCounter, "datagrams_dropped" number, "Datagrams dropped, by rule";
    client_updates: Counter, "client_updates" number, "Times that a worker had something to send to a client";
    update_sends: Counter, "update_sends" number, "Send calls that workers made while sending updates";
    updates_deferred: Counter, "updates_deferred" number, "Times that a client got no new state because older bytes were still queued";
    misfits: Counter, "packets_misfit" number, "Packets of the game that do not fit their table, for each client; the log names them";
    ticks: PerRoom<Counter>, "ticks" number, "Ticks of the world";
    late_ticks: PerRoom<Counter>, "ticks_late" number, "Ticks that began more than half a period late";
    skipped_ticks: PerRoom<Counter>, "ticks_skipped" number, "Ticks skipped because the world fell behind";
    merged_ticks: PerRoom<Counter>, "ticks_merged" number, "Ticks that an update worker sent together with a later one because it was busy; each worker counts";
    restarts: PerRoom<Counter>, "room_restarts" number, "Times that a room began anew after a panic";
    lockstep_clients: PerRoom<Gauge>, "lockstep_clients" number, "Clients that follow in lockstep";
    snapshots: PerRoom<Counter>, "lockstep_snapshots" number, "Snapshots sent to clients in lockstep";
    checksums: PerRoom<Counter>, "lockstep_checksums" number, "Checksums of clients in lockstep that were compared";
    desyncs: PerRoom<Counter>, "lockstep_desyncs" number, "Checksums of clients in lockstep that differed";
    self_check_compared: Counter, "self_check_compared" number, "Updates of clients that --self-check compared with a world of its own";
    self_check_faults: Counter, "self_check_faults" number, "Faults that --self-check has found; its log says which";
    self_check_skipped_clients: Counter, "self_check_skipped_clients" number, "Clients that --self-check did not follow because there were too many";
    server_events: Counter, "server_events" number, "Events queued for the hook of the program";
    server_events_dropped: Counter, "server_events_dropped" number, "Events dropped because the hook of the program is too slow";
    journal_ticks: Counter, "journal_ticks" number, "Ticks written into the journals";
    journal_bytes: Counter, "journal_written" bytes, "Bytes of command frames written into the journals";
    journal_errors: Counter, "journal_errors" number, "Errors that ended the journals";
    database_errors: Counter, "database_errors" number, "Writes to the database of --database that failed";
    cluster_leases: Gauge, "cluster_leases" number, "Leases of rooms that are valid";
    cluster_renewals_failed: Counter, "cluster_renewals_failed" number, "Renewals of leases that failed because the lease store did not respond";
    cluster_takeovers: Counter, "cluster_takeovers" number, "Rooms recovered from the journal of an earlier owner";
    cluster_rooms_lost: Counter, "cluster_rooms_lost" number, "Rooms that ended here because another process has them";
    cluster_relays: Gauge, "cluster_relays" number, "Clients relayed to the process that has their room";
    cluster_relayed_bytes: Counter, "cluster_relayed" bytes, "Bytes passed in both directions for relayed clients";
    cluster_processes: Gauge, "cluster_processes" number, "Processes of the cluster that report their rooms, including this one";
    cluster_setting_changes: Counter, "cluster_setting_changes" number, "Bans and notices that other processes have changed";
    capture_packets: Counter, "capture_packets" number, "Packets written into captures";
    capture_bytes: Counter, "capture_written" bytes, "Bytes written into captures";
    capture_dropped: Counter, "capture_dropped" number, "Messages and ticks missing from captures";
}

impl Metrics {
    fn register(&mut self, name: &str, unit: Option<Unit>, help: &str, metric: impl Metric) {
        match unit {
            Some(unit) => self.registry.register_with_unit(name, help, unit, metric),
            None => self.registry.register(name, help, metric),
        }
    }

    fn register_durations(&mut self) {
        let seconds = || Some(Unit::Seconds);
        let help = "Duration of a tick, from its start until it is published";
        self.register("tick_duration", seconds(), help, self.tick_time.clone());
        let help =
            "Time to publish a tick: from the step of the world until the update workers have its state";
        self.register("publish_duration", seconds(), help, PublishTime(Arc::clone(&self.publish_time)));
        let help = "Time to sync the records of one room's journal";
        self.register("journal_sync_duration", seconds(), help, self.journal_sync_time.clone());
        let workers = || Arc::clone(&self.workers);
        let updates = SummedHistogram { workers: workers(), histogram: |worker| &worker.updates };
        let sends = SummedHistogram { workers: workers(), histogram: |worker| &worker.sends };
        let help = "Time to compute and encode the update of one client, before it is sent";
        self.register("update_duration", seconds(), help, updates);
        self.register("send_duration", seconds(), "Time of one system call that sends to a client", sends);
    }

    fn register_packets(&mut self) {
        let all = Arc::clone(&self.workers);
        let workers = || Arc::clone(&all);
        let sum = SummedBytes { workers: workers() };
        let help = "Bytes queued for clients, including frame headers";
        self.register("sent", Some(Unit::Bytes), help, sum);
        let frames = SummedPackets { workers: workers(), count: |count| count.frames };
        let bytes = SummedPackets { workers: workers(), count: |count| count.bytes };
        self.register("packets_sent", None, "Frames queued for clients, by packet", frames);
        let help = "Bytes queued for clients, including frame headers, by packet";
        self.register("packets_sent", Some(Unit::Bytes), help, bytes);
        let help = "Bytes of sampled frames, by packet and field";
        let fields = SampledBytes { workers: workers(), fields: Arc::clone(&self.sampled_fields) };
        self.register("sampled", Some(Unit::Bytes), help, fields);
    }

    /// Returns the frames queued for clients, by packet.
    pub fn sent_packets(&self) -> BTreeMap<&str, FrameCount> {
        PacketBytes::sums(self.workers.iter().map(|worker| &worker.packets))
    }

    /// Returns the bytes of sampled frames, by packet and field.
    pub fn sampled_fields(&self) -> Vec<FieldBytes> {
        self.sampled_fields.read(self.workers.iter().map(|worker| worker.packets.samples()))
    }

    /// Returns the bytes queued for clients, including frame headers.
    pub fn sent_bytes(&self) -> u64 {
        SummedBytes { workers: Arc::clone(&self.workers) }.get()
    }

    /// Increments the counter of `family` that is labeled `label="name"`.
    pub fn count(family: &LabeledCounter, label: &'static str, name: &'static str) {
        family.get_or_create(&[(label, name)]).inc();
    }

    /// Returns the metrics of this room.
    pub fn for_room(&self, name: &Arc<str>) -> RoomMetrics {
        RoomMetrics {
            clients: self.clients.get_or_create(name),
            bots: self.bots.get_or_create(name),
            players: self.players.get_or_create(name),
            ticks: self.ticks.get_or_create(name),
            late_ticks: self.late_ticks.get_or_create(name),
            skipped_ticks: self.skipped_ticks.get_or_create(name),
            merged_ticks: self.merged_ticks.get_or_create(name),
            restarts: self.restarts.get_or_create(name),
            lockstep_clients: self.lockstep_clients.get_or_create(name),
            snapshots: self.snapshots.get_or_create(name),
            checksums: self.checksums.get_or_create(name),
            desyncs: self.desyncs.get_or_create(name),
        }
    }

    /// Removes the metrics of a room that has ended from `/metrics`.
    pub fn forget_room(&self, name: &str) {
        self.clients.forget(name);
        self.bots.forget(name);
        self.players.forget(name);
        self.ticks.forget(name);
        self.late_ticks.forget(name);
        self.skipped_ticks.forget(name);
        self.merged_ticks.forget(name);
        self.restarts.forget(name);
        self.lockstep_clients.forget(name);
        self.snapshots.forget(name);
        self.checksums.forget(name);
        self.desyncs.forget(name);
    }

    /// Records the duration of a tick.
    pub fn observe_tick(&self, took: Duration) {
        self.tick_time.observe(took.as_secs_f64());
    }

    /// Records the duration of a sync of a journal.
    pub fn observe_journal_sync(&self, took: Duration) {
        self.journal_sync_time.observe(took.as_secs_f64());
    }

    /// Records the duration of a publication.
    pub fn observe_publication(&self, took: Duration) {
        self.publish_time.record(took);
    }

    /// Returns all metrics as Prometheus (OpenMetrics) text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("writing to a string does not fail");
        text
    }
}

/// The histogram of publications, which all rooms share.
#[derive(Debug)]
struct PublishTime(Arc<DurationHistogram>);

impl EncodeMetric for PublishTime {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        DurationHistogram::encode_sum([&*self.0].into_iter(), &mut encoder)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

/// For one update worker and the built-in packets.
impl Default for Metrics {
    fn default() -> Metrics {
        Metrics::new(1, &PacketTables::builtin())
    }
}
