//! Samples of the frames that clients are sent, and their bytes by field.
//!
//! A worker copies some of its frames ([`FrameSamples`]). They are decoded when the counts are read
//! ([`SampledFields`]), so counts that are not read cost no more than the copies.

use std::collections::VecDeque;
use std::sync::Arc;

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
    /// Decodes the newest samples of all workers, and returns the bytes of each field.
    pub fn read<'a>(&self, samples: impl Iterator<Item = &'a FrameSamples>) -> Vec<FieldBytes> {
        let mut counts = self.0.lock();
        for FrameSample { dialect, frame } in samples.flat_map(FrameSamples::take) {
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
    use super::*;
    use crate::packet::PacketTables;

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
