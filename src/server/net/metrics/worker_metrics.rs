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
        for FieldBytes { packet, field, bytes } in
            self.fields.read(self.workers.iter().map(|worker| worker.packets.samples()))
        {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::WireFormat;
    use crate::limits;
    use crate::packet::{Direction, PacketTables};
    use crate::ws::frame;

    /// Returns `pong`, with an argument of 3 bytes, as a frame.
    fn pong(format: &WireFormat) -> Vec<u8> {
        let (head, _) = format.dialect.prefix(Direction::ToClient, "pong").expect("a row");
        let mut message = head.to_vec();
        message.extend([0x91, 0xcd, 1, 0]);
        let mut frame = Vec::new();
        frame::write_binary(&mut frame, &message);
        frame
    }

    #[test]
    fn one_in_some_frames_of_each_packet_is_sampled_and_each_byte_is_counted_once() {
        let tables = PacketTables::builtin();
        let dialect = tables.dialect("native").expect("built in");
        let format = WireFormat::new(dialect, false);
        let workers = WorkerMetrics::for_workers(2, PacketCatalog::new(&tables));
        let heads = workers[0].packets.catalog().heads(&format);
        let (fields, frame) = (SampledFields::default(), pong(&format));
        let samples = || workers.iter().map(|worker| worker.packets.samples());
        let read = |fields: &SampledFields| fields.read(samples());
        assert_eq!(read(&fields), []);
        for worker in &*workers {
            (0..=limits::FRAMES_PER_SAMPLE).for_each(|_| worker.packets.count(&heads, &frame));
        }
        // Control frames have no fields.
        workers[0].packets.count(&heads, &[0x89, 0]);
        let sampled = read(&fields);
        assert!(sampled.iter().all(|field| field.packet == "pong"), "{sampled:?}");
        assert_eq!(
            sampled.iter().map(|field| field.bytes).sum::<u64>(),
            4 * frame.len() as u64,
            "{sampled:?}"
        );
        let argument =
            sampled.iter().find(|field| !["header", "code"].contains(&&*field.field)).expect("its argument");
        assert_eq!(argument.bytes, 4 * 3, "{sampled:?}");
        assert_eq!(read(&fields), sampled, "the same without new samples");
    }
}
