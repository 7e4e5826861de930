//! Frames and bytes that clients are sent, by packet.
//!
//! The packet of a frame is found by the first bytes of its payload: the head of the envelope and
//! the code, which the packet table determines. No value is decoded. The number of names is
//! bounded: the tables have them, except for three. Some frames are sampled for the byte counts by
//! field.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value as Json;

use super::frame_samples::FrameSamples;
use crate::connection::WireFormat;
use crate::limits;
use crate::packet::{Code, Dialect, Direction, PacketTables};
use crate::ws::Side;
use crate::ws::frame::Header;

/// The name for close, ping and pong frames.
const CONTROL: &str = "control_frame";
/// The name for compressed messages: their code is not visible without decompression.
const COMPRESSED: &str = "compressed";
/// The name for messages without a code of the table.
const OTHER: &str = "other";

/// Number of payload bytes that are compared. Codes are shorter.
const HEAD_BYTES: usize = 16;

/// The first bytes of a packet's payload.
#[derive(Debug)]
struct PacketHead {
    /// The bytes, followed by zeros.
    bytes: u128,
    /// The bits of `bytes` that are compared.
    mask: u128,
    /// Index of the packet's name.
    name: usize,
}

/// The packets of one dialect in one format.
#[derive(Debug, Default)]
pub struct PacketHeads {
    /// The dialect; `None` for one that the tables lack.
    dialect: Option<Arc<Dialect>>,
    /// Ordered by the first bytes.
    heads: Vec<PacketHead>,
}

impl PacketHeads {
    fn add(&mut self, head: &[u8], name: usize) {
        let mask = u128::MAX << (8 * HEAD_BYTES.saturating_sub(head.len()));
        self.heads.push(PacketHead { bytes: first_bytes(head), mask, name });
    }

    /// Finds the index of the packet's name. No head of a dialect begins another one, so only the
    /// greatest head up to the payload can match.
    fn find(&self, payload: &[u8]) -> Option<usize> {
        let start = first_bytes(payload);
        let after = self.heads.partition_point(|head| head.bytes <= start);
        let head = self.heads[..after].last()?;
        (start & head.mask == head.bytes).then_some(head.name)
    }
}

fn first_bytes(bytes: &[u8]) -> u128 {
    let mut head = [0; HEAD_BYTES];
    let length = bytes.len().min(HEAD_BYTES);
    head[..length].copy_from_slice(&bytes[..length]);
    u128::from_be_bytes(head)
}

/// The names of all packets to clients, and the first bytes of the packets of each dialect.
#[derive(Debug)]
pub struct PacketCatalog {
    /// Ordered.
    names: Vec<String>,
    /// By dialect, as MessagePack and as JSON.
    dialects: BTreeMap<String, [Arc<PacketHeads>; 2]>,
}

impl PacketCatalog {
    /// Creates the catalog of these tables.
    pub fn new(tables: &PacketTables) -> PacketCatalog {
        let rows = tables.dialects().flat_map(|dialect| dialect.rows(Direction::ToClient));
        let mut names: Vec<String> = rows.map(|row| row.name.clone()).collect();
        names.extend([CONTROL, COMPRESSED, OTHER].map(str::to_owned));
        names.sort();
        names.dedup();
        let mut catalog = PacketCatalog { names, dialects: BTreeMap::new() };
        for dialect in tables.dialects() {
            let heads = [false, true].map(|is_json| Arc::new(catalog.heads_of(dialect, is_json)));
            catalog.dialects.insert(dialect.name().to_owned(), heads);
        }
        catalog
    }

    /// Returns the first bytes of the packets of a client.
    pub fn heads(&self, format: &WireFormat) -> Arc<PacketHeads> {
        let heads = self.dialects.get(format.dialect.name());
        heads.map(|heads| Arc::clone(&heads[usize::from(format.is_json)])).unwrap_or_default()
    }

    fn heads_of(&self, dialect: &Arc<Dialect>, is_json: bool) -> PacketHeads {
        let mut heads = PacketHeads { dialect: Some(Arc::clone(dialect)), heads: Vec::new() };
        for row in dialect.rows(Direction::ToClient) {
            let json = row.code(dialect.name()).map(|code| match code {
                Code::Int(code) => format!("[{code},"),
                Code::Str(code) => format!("[{},", Json::from(&**code)),
            });
            let binary = dialect.prefix(Direction::ToClient, &row.name);
            match (is_json, json, binary) {
                (true, Some(json), _) => heads.add(json.as_bytes(), self.index(&row.name)),
                (false, _, Some((binary, _))) => heads.add(binary, self.index(&row.name)),
                _ => {}
            }
        }
        heads.heads.sort_by_key(|head| head.bytes);
        heads
    }

    /// Returns the index of a name; of [`OTHER`] if the catalog lacks it.
    fn index(&self, name: &str) -> usize {
        let find = |name: &str| self.names.binary_search_by(|known| (**known).cmp(name)).ok();
        find(name).or_else(|| find(OTHER)).unwrap_or_default()
    }
}

/// Frames and bytes of one packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FrameCount {
    /// Number of frames.
    pub frames: u64,
    /// Their bytes, headers included.
    pub bytes: u64,
}

/// Frames and bytes by packet.
#[derive(Debug)]
pub struct PacketBytes {
    catalog: Arc<PacketCatalog>,
    /// Frames and bytes by index of the name.
    counts: Vec<[AtomicU64; 2]>,
    /// Indices of [`CONTROL`], [`COMPRESSED`] and [`OTHER`].
    unnamed: [usize; 3],
    samples: FrameSamples,
}

impl PacketBytes {
    /// Creates counts of zero.
    pub fn new(catalog: Arc<PacketCatalog>) -> PacketBytes {
        let counts = catalog.names.iter().map(|_| Default::default()).collect();
        let unnamed = [CONTROL, COMPRESSED, OTHER].map(|name| catalog.index(name));
        let samples = FrameSamples::new(catalog.names.len());
        PacketBytes { catalog, counts, unnamed, samples }
    }

    /// Returns the catalog of the names.
    pub fn catalog(&self) -> &Arc<PacketCatalog> {
        &self.catalog
    }

    /// Returns the sampled frames.
    pub fn samples(&self) -> &FrameSamples {
        &self.samples
    }

    /// Counts whole frames to a client, with two relaxed atomic additions for each. Samples one in
    /// [`limits::FRAMES_PER_SAMPLE`] frames of each packet.
    pub fn count(&self, heads: &PacketHeads, mut frames: &[u8]) {
        while !frames.is_empty() {
            let (name, length) = self.first_frame(heads, frames);
            let (frame, rest) = frames.split_at(length.min(frames.len()));
            let [count, bytes] = &self.counts[name];
            let earlier = count.fetch_add(1, Ordering::Relaxed);
            if earlier.is_multiple_of(limits::FRAMES_PER_SAMPLE) {
                self.sample(heads, name, frame);
            }
            bytes.fetch_add(frame.len() as u64, Ordering::Relaxed);
            frames = rest;
        }
    }

    fn sample(&self, heads: &PacketHeads, name: usize, frame: &[u8]) {
        if let Some(dialect) = heads.dialect.as_ref().filter(|_| !self.unnamed.contains(&name)) {
            self.samples.add(name, dialect, frame);
        }
    }

    /// Returns the index of the first frame's name, and the frame's length in bytes.
    fn first_frame(&self, heads: &PacketHeads, frames: &[u8]) -> (usize, usize) {
        let [control, compressed, other] = self.unnamed;
        let Ok(Some((header, start))) = Header::decode_with(frames, Side::Server, true) else {
            return (other, frames.len());
        };
        let name = match header {
            Header { compressed: true, .. } => compressed,
            Header { opcode, .. } if opcode.is_control() => control,
            _ => heads.find(&frames[start..]).unwrap_or(other),
        };
        (name, start.saturating_add(header.length as usize))
    }

    /// Returns the bytes of all frames.
    pub fn total_bytes(&self) -> u64 {
        self.counts.iter().map(|[_, bytes]| bytes.load(Ordering::Relaxed)).sum()
    }

    /// Returns the sums by name of several counts with the same catalog. Omits packets that were
    /// never sent.
    pub fn sums<'a>(all: impl Iterator<Item = &'a PacketBytes>) -> BTreeMap<&'a str, FrameCount> {
        let mut sums: BTreeMap<&str, FrameCount> = BTreeMap::new();
        for part in all {
            for (name, [frames, bytes]) in part.catalog.names.iter().zip(&part.counts) {
                let frames = frames.load(Ordering::Relaxed);
                if frames > 0 {
                    let sum = sums.entry(name).or_default();
                    sum.frames += frames;
                    sum.bytes += bytes.load(Ordering::Relaxed);
                }
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Value;
    use crate::ws::frame::{self, FIN, Opcode, RSV1};

    fn packets(tables: &PacketTables) -> PacketBytes {
        PacketBytes::new(Arc::new(PacketCatalog::new(tables)))
    }

    fn frames_of(counts: &PacketBytes) -> Vec<(&str, u64, u64)> {
        let sums = PacketBytes::sums([counts].into_iter());
        sums.into_iter().map(|(name, count)| (name, count.frames, count.bytes)).collect()
    }

    #[test]
    fn every_packet_of_every_dialect_and_format_is_counted_by_its_name() {
        let tables = PacketTables::builtin();
        for dialect in tables.dialects() {
            for is_json in [false, true] {
                let counts = packets(&tables);
                let heads = counts.catalog().heads(&WireFormat::new(Arc::clone(dialect), is_json));
                let mut expected = Vec::new();
                for row in dialect.rows(Direction::ToClient) {
                    let (head, _) = dialect.prefix(Direction::ToClient, &row.name).expect("a row");
                    let mut message = head.to_vec();
                    // The array of arguments, with one argument.
                    message.extend([0x91, 7]);
                    let text = dialect.json_from_msgpack(Direction::ToClient, &message).expect("a packet");
                    let mut frame = Vec::new();
                    match is_json {
                        true => frame::write_text(&mut frame, &text),
                        false => frame::write_binary(&mut frame, &message),
                    }
                    counts.count(&heads, &frame);
                    expected.push((row.name.as_str(), 1, frame.len() as u64));
                }
                expected.sort_unstable();
                assert_eq!(frames_of(&counts), expected, "{} json {is_json}", dialect.name());
            }
        }
    }

    #[test]
    fn several_frames_are_counted_one_by_one_and_every_byte_once() {
        let tables = PacketTables::builtin();
        let dialect = tables.dialect("native").expect("a built-in dialect");
        let counts = packets(&tables);
        let heads = counts.catalog().heads(&WireFormat::new(Arc::clone(&dialect), false));
        let pong = dialect.encode(Direction::ToClient, "pong", &[Value::from(1), Value::from(2)]);
        let mut bytes = frame::EMPTY_PING.to_vec();
        frame::write_binary(&mut bytes, &pong.expect("a packet"));
        frame::write_binary(&mut bytes, &[0x92, 0x7f]);
        frame::write(&mut bytes, Opcode::Binary, None, &[]);
        bytes.extend([FIN | RSV1 | Opcode::Binary as u8, 2, 0x92, 0x07]);
        // A frame whose end is missing, and a byte that begins no frame.
        bytes.extend([FIN | Opcode::Binary as u8, 9, 0x92]);
        counts.count(&heads, &bytes);
        counts.count(&heads, &[0xff]);
        let expected = [("compressed", 1, 4), ("control_frame", 1, 2), ("other", 4, 10), ("pong", 1, 7)];
        assert_eq!(frames_of(&counts), expected);
        let sum: u64 = frames_of(&counts).iter().map(|(.., bytes)| bytes).sum();
        assert_eq!(sum, bytes.len() as u64 + 1);
    }
}
