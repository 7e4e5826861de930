//! Samples of the frames that clients are sent, and their bytes by field.
//!
//! A worker copies some of its frames ([`FrameSamples`]). Only a reader of the counts decodes them,
//! so nobody pays for counts that are not read.

use std::collections::VecDeque;
use std::sync::Arc;

use super::worker_metrics::WorkerMetrics;
use crate::limits;
use crate::packet::Dialect;
use crate::tools::explain::explain;
use crate::tools::inspector::ByteCounts;
use crate::util::sync::Mutex;
use crate::ws::Side;

/// A frame to a client, and the dialect of the client.
#[derive(Debug)]
struct FrameSample {
    dialect: Arc<Dialect>,
    frame: Vec<u8>,
}

/// The newest samples of one worker.
#[derive(Debug)]
pub struct FrameSamples {
    /// For each packet, from old to new.
    by_packet: Vec<Mutex<VecDeque<FrameSample>>>,
}

impl FrameSamples {
    /// Creates the samples of this number of packets.
    pub fn new(packets: usize) -> FrameSamples {
        FrameSamples { by_packet: (0..packets).map(|_| Mutex::default()).collect() }
    }

    /// Adds a whole frame to a client. A frame that is too long is skipped.
    pub fn add(&self, packet: usize, dialect: &Arc<Dialect>, frame: &[u8]) {
        if frame.len() > limits::FRAME_SAMPLE_BYTES {
            return;
        }
        let mut samples = self.by_packet[packet].lock();
        if samples.len() >= limits::FRAME_SAMPLES {
            samples.pop_front();
        }
        samples.push_back(FrameSample { dialect: Arc::clone(dialect), frame: frame.to_vec() });
    }

    /// Removes all samples.
    fn take(&self) -> impl Iterator<Item = FrameSample> {
        self.by_packet.iter().flat_map(|samples| std::mem::take(&mut *samples.lock()))
    }
}

/// Bytes of one field of the sampled frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldBytes {
    /// Name of the packet.
    pub packet: String,
    /// Path of the field: `moved.dx`. `header` is the frame's, and `code` the envelope's.
    pub field: String,
    /// Bytes in all samples.
    pub bytes: u64,
}

/// Bytes by field of all samples since the server has started.
#[derive(Debug, Default)]
pub struct SampledFields(Mutex<ByteCounts>);

impl SampledFields {
    /// Decodes the newest samples of the workers, and returns the bytes of each field.
    pub fn read(&self, workers: &[Arc<WorkerMetrics>]) -> Vec<FieldBytes> {
        let mut counts = self.0.lock();
        for FrameSample { dialect, frame } in
            workers.iter().flat_map(|worker| worker.packets.samples().take())
        {
            counts.add(&explain(&frame, &dialect, Some(Side::Server)));
        }
        let fields = counts.fields().map(|(packet, field, bytes)| {
            let (packet, field) = (packet.to_owned(), field.to_owned());
            FieldBytes { packet, field, bytes }
        });
        fields.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::packet_bytes::PacketCatalog;
    use super::*;
    use crate::connection::WireFormat;
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
        assert_eq!(fields.read(&workers), []);
        for worker in &*workers {
            (0..=limits::FRAMES_PER_SAMPLE).for_each(|_| worker.packets.count(&heads, &frame));
        }
        // Control frames have no fields.
        workers[0].packets.count(&heads, &[0x89, 0]);
        let read = fields.read(&workers);
        assert!(read.iter().all(|field| field.packet == "pong"), "{read:?}");
        assert_eq!(read.iter().map(|field| field.bytes).sum::<u64>(), 4 * frame.len() as u64, "{read:?}");
        let argument =
            read.iter().find(|field| !["header", "code"].contains(&&*field.field)).expect("its argument");
        assert_eq!(argument.bytes, 4 * 3, "{read:?}");
        assert_eq!(fields.read(&workers), read, "the same without new samples");
    }

    #[test]
    fn unread_samples_are_bounded_and_long_frames_are_skipped() {
        let tables = PacketTables::builtin();
        let dialect = tables.dialect("native").expect("built in");
        let samples = FrameSamples::new(2);
        for length in 1..=2 * limits::FRAME_SAMPLES {
            samples.add(1, &dialect, &vec![0; length]);
        }
        samples.add(1, &dialect, &vec![0; limits::FRAME_SAMPLE_BYTES + 1]);
        samples.add(0, &dialect, &[0]);
        let lengths: Vec<usize> = samples.take().map(|sample| sample.frame.len()).collect();
        let newest = limits::FRAME_SAMPLES + 1..=2 * limits::FRAME_SAMPLES;
        assert!(lengths.iter().copied().eq([1].into_iter().chain(newest)), "{lengths:?}");
        assert_eq!(samples.take().count(), 0);
    }
}
