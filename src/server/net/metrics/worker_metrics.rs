//! Metrics of one update worker and its clients.
//!
//! Each worker has its own, because threads that write the same counters for each update would slow
//! one another down. `/metrics` has their sums.

use std::fmt;
use std::sync::Arc;

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

use super::duration_histogram::DurationHistogram;
use super::frame_samples::{FieldBytes, SampledFields};
use super::packet_bytes::{FrameCount, PacketBytes, PacketCatalog};

/// Metrics of one update worker and its clients.
#[derive(Debug)]
pub struct WorkerMetrics {
    /// Time to compute and encode the update of one client, before it is sent. Older bytes of the
    /// client are sent first, and count. Updates without a byte are not recorded.
    pub updates: DurationHistogram,
    /// Time of one system call that sends to a client.
    pub sends: DurationHistogram,
    /// Frames queued for clients, by packet.
    pub packets: PacketBytes,
}

impl WorkerMetrics {
    /// Creates the metrics of the workers at zero.
    pub fn for_workers(workers: usize, catalog: PacketCatalog) -> Arc<[Arc<WorkerMetrics>]> {
        let catalog = Arc::new(catalog);
        let new = |_| WorkerMetrics {
            updates: DurationHistogram::default(),
            sends: DurationHistogram::default(),
            packets: PacketBytes::new(Arc::clone(&catalog)),
        };
        (0..workers.max(1)).map(new).map(Arc::new).collect()
    }
}

/// The bytes of [`WorkerMetrics::packets`], summed over the workers.
#[derive(Debug)]
pub struct SummedBytes {
    /// The workers.
    pub workers: Arc<[Arc<WorkerMetrics>]>,
}

impl SummedBytes {
    /// Returns the bytes queued for clients.
    pub fn get(&self) -> u64 {
        self.workers.iter().map(|worker| worker.packets.total_bytes()).sum()
    }
}

impl EncodeMetric for SummedBytes {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        encoder.encode_counter::<NoLabelSet, _, u64>(&self.get(), None)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Counter
    }
}

/// A histogram of [`WorkerMetrics`], summed over the workers.
#[derive(Debug)]
pub struct SummedHistogram {
    /// The workers.
    pub workers: Arc<[Arc<WorkerMetrics>]>,
    /// Returns the histogram of a worker.
    pub histogram: fn(&WorkerMetrics) -> &DurationHistogram,
}

impl EncodeMetric for SummedHistogram {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let histograms = self.workers.iter().map(|worker| (self.histogram)(worker));
        DurationHistogram::encode_sum(histograms, &mut encoder)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

/// A count of [`WorkerMetrics::packets`] with the label `packet`, summed over the workers.
#[derive(Debug)]
pub struct SummedPackets {
    /// The workers.
    pub workers: Arc<[Arc<WorkerMetrics>]>,
    /// Returns the count of a packet.
    pub count: fn(&FrameCount) -> u64,
}

impl EncodeMetric for SummedPackets {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        for (packet, count) in PacketBytes::sums(self.workers.iter().map(|worker| &worker.packets)) {
            let labels = [("packet", packet)];
            let mut counter = encoder.encode_family(&labels)?;
            counter.encode_counter::<NoLabelSet, _, u64>(&(self.count)(&count), None)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Counter
    }
}

/// The bytes of [`SampledFields`] with the labels `packet` and `field`.
#[derive(Debug)]
pub struct SampledBytes {
    /// The workers.
    pub workers: Arc<[Arc<WorkerMetrics>]>,
    /// The counts.
    pub fields: Arc<SampledFields>,
}

impl EncodeMetric for SampledBytes {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        for FieldBytes { packet, field, bytes } in self.fields.read(&self.workers) {
            let labels = [("packet", packet), ("field", field)];
            let mut counter = encoder.encode_family(&labels)?;
            counter.encode_counter::<NoLabelSet, _, u64>(&bytes, None)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Counter
    }
}
