//! Compression of messages: the extension permessage-deflate, RFC 7692, section 7.2.
//!
//! ```text
//!   "Hello"  ──DEFLATE──►  f2 48 cd c9 c9 07 00 00 00 ff ff   ends with an empty stored block
//!            ──────────►   f2 48 cd c9 c9 07 00               on the wire, in a frame with RSV1
//!   "Hello"  ──────────►   f2 00 11 00 00                     "again": a copy from the window
//! ```
//!
//! DEFLATE (RFC 1951) replaces repeated bytes by a distance and a length, within a window of at
//! most 32 KiB, and encodes the rest with short codes for frequent bytes. A sender ends each
//! message with an empty stored block, so that the data ends at a byte, and omits the last four
//! bytes, [`TAIL`]. With context takeover, the window of a message begins with the previous
//! messages of the same sender; without it, each message stands alone.
//!
//! An [`Inflater`] belongs to one direction of one connection, and needs every compressed message
//! of that direction in order. It bounds the inflated bytes while it inflates, since 42 kB can
//! inflate to 42 MB. [`extension`](super::extension) agrees on the parameters. DEFLATE itself is
//! the work of `miniz_oxide`, which has no unsafe code.

use std::fmt;

use miniz_oxide::DataFormat;
use miniz_oxide::deflate::core::{CompressorOxide, TDEFLFlush, compress_to_output};
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags as flags;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

use super::violation::Violation;

/// The last four bytes of an empty stored block. A sender omits them at the end of a message, and a
/// receiver appends them (RFC 7692, sections 7.2.1 and 7.2.2).
pub const TAIL: [u8; 4] = [0x00, 0x00, 0xff, 0xff];
/// The compressed form of an empty message: the header of an empty stored block (RFC 7692, section
/// 7.2.3.6).
const EMPTY: u8 = 0x00;
/// Bytes that an inflater produces in one step, beyond its window: 16 KiB. More would save few
/// copies of the window.
const STEP_BYTES: usize = 1 << 14;
/// Bytes of the first buffer of an inflater, which grows with the messages: 1 KiB. Most messages of
/// a game fit.
const FIRST_BUFFER_BYTES: usize = 1 << 10;
/// Base-2 logarithm of the largest window in bytes.
pub const MAX_WINDOW_BITS: u8 = 15;
/// Base-2 logarithm of the smallest window in bytes.
pub const MIN_WINDOW_BITS: u8 = 8;
/// Effort of the search for repeated bytes, from 0 to 10. Higher levels gain little on messages.
const LEVEL: u8 = 6;

/// The position of the decoder at the end of the input so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// Between two blocks.
    Boundary,
    /// After a block with BFINAL set, which ends a DEFLATE stream (RFC 7692, section 7.2.3.4).
    FinalBlock,
    /// Inside a block or its header.
    Block,
}

/// Inflates the messages of one sender. Memory: 11 KiB for the decoder, and a buffer that grows
/// with the messages up to the window and 16 KiB.
#[derive(Clone)]
pub struct Inflater {
    /// Created for the first message.
    decoder: Option<Box<DecompressorOxide>>,
    output: OutputBuffer,
    position: Position,
    context_takeover: bool,
}

/// The bytes to which a distance can refer, and room for more.
#[derive(Clone)]
struct OutputBuffer {
    /// Inflated bytes up to `end`, then free space.
    bytes: Vec<u8>,
    end: usize,
    window_bytes: usize,
    /// Maximum bytes that one step produces. A distance of up to this many bytes beyond the window
    /// is accepted.
    step_bytes: usize,
}

impl Inflater {
    /// Creates an inflater for a sender with a window of 2^`window_bits` bytes.
    pub fn new(window_bits: u8, context_takeover: bool) -> Inflater {
        Inflater::with_step(window_bits, context_takeover, STEP_BYTES)
    }

    fn with_step(window_bits: u8, context_takeover: bool, step_bytes: usize) -> Inflater {
        Inflater {
            decoder: None,
            output: OutputBuffer { bytes: Vec::new(), end: 0, window_bytes: 1 << window_bits, step_bytes },
            position: Position::Boundary,
            context_takeover,
        }
    }

    /// Appends a whole inflated message to `out`, which never exceeds `max_bytes`. `message` has
    /// the payloads of all its frames, unmasked.
    ///
    /// # Errors
    /// [`Violation::CompressedDataInvalid`] and [`Violation::InflatedTooLong`]. `out` then has the
    /// bytes before the error, and the inflater must not be used afterwards.
    pub fn inflate(&mut self, message: &[u8], max_bytes: usize, out: &mut Vec<u8>) -> Result<(), Violation> {
        self.inflate_piece(message, max_bytes, out)?;
        self.finish(max_bytes, out)
    }

    /// Appends the inflated form of the next piece of a message to `out`, which never exceeds
    /// `max_bytes`. Part of it may be delayed until the next piece or [`Inflater::finish`].
    ///
    /// # Errors
    /// As [`Inflater::inflate`].
    pub fn inflate_piece(
        &mut self,
        piece: &[u8],
        max_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Violation> {
        /// The output buffer is linear, so a distance beyond its start is invalid.
        const FLAGS: u32 = flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF
            | flags::TINFL_FLAG_HAS_MORE_INPUT
            | flags::TINFL_FLAG_IGNORE_ADLER32
            | flags::TINFL_FLAG_STOP_ON_BLOCK_BOUNDARY;
        let (decoder, output) = (self.decoder.get_or_insert_default(), &mut self.output);
        let mut input = piece;
        loop {
            if input.is_empty() && self.position != Position::Block {
                return Ok(());
            }
            output.make_room();
            let (status, consumed, produced) =
                decompress(decoder, input, &mut output.bytes, output.end, FLAGS);
            input = &input[consumed..];
            let step = &output.bytes[output.end..output.end + produced];
            if step.len() > max_bytes.saturating_sub(out.len()) {
                return Err(Violation::InflatedTooLong);
            }
            out.extend_from_slice(step);
            output.end += produced;
            self.position = match status {
                TINFLStatus::BlockBoundary => Position::Boundary,
                TINFLStatus::Done => {
                    decoder.init();
                    Position::FinalBlock
                }
                TINFLStatus::NeedsMoreInput | TINFLStatus::HasMoreOutput => Position::Block,
                _ => return Err(Violation::CompressedDataInvalid),
            };
            if status == TINFLStatus::NeedsMoreInput {
                return Ok(());
            }
        }
    }

    /// Ends a message after its last piece.
    ///
    /// # Errors
    /// As [`Inflater::inflate`]: the data must end with an empty stored block without its
    /// [`TAIL`], or with a final block.
    pub fn finish(&mut self, max_bytes: usize, out: &mut Vec<u8>) -> Result<(), Violation> {
        if self.position != Position::FinalBlock {
            // The header of the empty stored block is in the message, so the tail completes it.
            self.inflate_piece(&TAIL, max_bytes, out)?;
            let boundary = self.decoder.as_ref().and_then(|decoder| decoder.block_boundary_state());
            if self.position != Position::Boundary || boundary.is_none_or(|state| state.num_bits != 0) {
                return Err(Violation::CompressedDataInvalid);
            }
        }
        self.position = Position::Boundary;
        if !self.context_takeover {
            self.output.end = 0;
        }
        Ok(())
    }
}

impl OutputBuffer {
    /// Makes room for at least one byte after `end`: grows the buffer, or drops the bytes before
    /// the window.
    fn make_room(&mut self) {
        if self.end < self.bytes.len() {
            return;
        }
        let max_bytes = self.window_bytes + self.step_bytes;
        if self.bytes.len() < max_bytes {
            self.bytes.resize((2 * self.bytes.len()).max(FIRST_BUFFER_BYTES).min(max_bytes), 0);
        } else {
            self.bytes.copy_within(self.end - self.window_bytes..self.end, 0);
            self.end = self.window_bytes;
        }
    }
}

impl fmt::Debug for Inflater {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Inflater")
            .field("window_bytes", &self.output.window_bytes)
            .field("context_takeover", &self.context_takeover)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

/// Compresses the messages of one sender. Memory: about 320 KB, whatever the window.
///
/// The library has a window of 32 KiB. For a smaller window, the deflater forgets all data after
/// each piece as long as the window, so that no distance is longer. A piece then ends with an empty
/// stored block of five bytes.
pub struct Deflater {
    /// Created for the first message.
    compressor: Option<Box<CompressorOxide>>,
    window_bits: u8,
    context_takeover: bool,
}

impl Deflater {
    /// Creates a deflater whose distances fit a window of 2^`window_bits` bytes.
    pub fn new(window_bits: u8, context_takeover: bool) -> Deflater {
        Deflater { compressor: None, window_bits, context_takeover }
    }

    /// Appends the compressed message to `out`, without its [`TAIL`].
    pub fn deflate(&mut self, message: &[u8], out: &mut Vec<u8>) {
        if message.is_empty() {
            out.push(EMPTY);
            return;
        }
        let (piece_bytes, flush) = match self.window_bits {
            MAX_WINDOW_BITS => (message.len(), TDEFLFlush::Sync),
            // A full flush also forgets the window.
            bits => (1 << bits, TDEFLFlush::Full),
        };
        let compressor = self.compressor.get_or_insert_with(|| {
            let mut compressor: Box<CompressorOxide> = Box::default();
            compressor.set_format_and_level(DataFormat::Raw, LEVEL);
            compressor
        });
        for piece in message.chunks(piece_bytes) {
            compress_to_output(compressor, piece, flush, |bytes| {
                out.extend_from_slice(bytes);
                true
            });
        }
        debug_assert!(out.ends_with(&TAIL), "a flush ends with an empty stored block");
        out.truncate(out.len() - TAIL.len());
        if !self.context_takeover {
            self.forget();
        }
    }

    /// Forgets all previous messages, so that the next one refers to none of them. Any sender may
    /// do so (RFC 7692, section 7.1.1).
    pub fn forget(&mut self) {
        if let Some(compressor) = &mut self.compressor {
            compressor.reset();
        }
    }
}

/// Compresses the messages of one sender if that makes them shorter.
#[derive(Debug)]
pub struct MessageDeflater {
    deflater: Deflater,
    /// Minimum bytes of a message that is compressed.
    min_bytes: usize,
    /// The compressed form of the last message. Its memory is reused.
    compressed: Vec<u8>,
}

impl MessageDeflater {
    /// Compresses messages of at least `min_bytes` bytes with `deflater`.
    pub fn new(deflater: Deflater, min_bytes: usize) -> MessageDeflater {
        MessageDeflater { deflater, min_bytes, compressed: Vec::new() }
    }

    /// Returns the compressed form of a message, if it is shorter.
    pub fn compress(&mut self, message: &[u8]) -> Option<&[u8]> {
        if message.len() < self.min_bytes {
            return None;
        }
        self.compressed.clear();
        self.deflater.deflate(message, &mut self.compressed);
        if self.compressed.len() >= message.len() {
            // The peer will not have this message in its window.
            self.deflater.forget();
            return None;
        }
        Some(&self.compressed)
    }
}

/// The longest compressed form of a message of `bytes` bytes that a receiver must expect: stored
/// blocks, in which nothing became shorter, of at least 256 bytes.
pub fn max_compressed_bytes(bytes: usize) -> usize {
    bytes.saturating_add(bytes / 16).saturating_add(16)
}

impl fmt::Debug for Deflater {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Deflater")
            .field("window_bits", &self.window_bits)
            .field("context_takeover", &self.context_takeover)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_BYTES: usize = 1024 * 1024;

    /// Name, messages as hex, and their texts, all with context takeover.
    const EXAMPLES: &[(&str, &[&str], &[&str])] = &[
        ("7.2.3.1 one block", &["f248cdc9c90700"], &["Hello"]),
        ("7.2.3.2 sharing the window", &["f248cdc9c90700", "f200110000"], &["Hello", "Hello"]),
        ("7.2.3.3 a stored block", &["000500faff48656c6c6f00"], &["Hello"]),
        ("7.2.3.4 BFINAL is 1", &["f348cdc9c9070000"], &["Hello"]),
        ("7.2.3.4 and the window", &["f348cdc9c9070000", "f200110000"], &["Hello", "Hello"]),
        ("BFINAL is 1, without padding", &["f348cdc9c90700", "f200110000"], &["Hello", "Hello"]),
        ("7.2.3.5 two blocks", &["f248050000 00ffffcac9c90700"], &["Hello"]),
        ("7.2.3.6 empty", &["00", "f248cdc9c90700"], &["", "Hello"]),
    ];

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<char> = text.chars().filter(|c| *c != ' ').collect();
        let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).expect("hex");
        digits.chunks(2).map(byte).collect()
    }

    #[test]
    fn examples_of_rfc_7692_inflate_whole_and_one_byte_at_a_time() {
        for (name, messages, texts) in EXAMPLES {
            let (mut whole, mut bytewise) = (Inflater::new(15, true), Inflater::new(15, true));
            for (message, text) in messages.iter().map(|message| hex(message)).zip(*texts) {
                let (mut one, mut two) = (Vec::new(), Vec::new());
                whole.inflate(&message, MAX_BYTES, &mut one).expect(name);
                for byte in message.chunks(1) {
                    bytewise.inflate_piece(byte, MAX_BYTES, &mut two).expect(name);
                }
                bytewise.finish(MAX_BYTES, &mut two).expect(name);
                assert_eq!((&*one, &*two), (text.as_bytes(), text.as_bytes()), "{name}");
            }
        }
    }

    #[test]
    fn deflater_writes_the_examples_of_rfc_7692() {
        let mut deflater = Deflater::new(15, true);
        for (text, expected) in [("Hello", "f248cdc9c90700"), ("Hello", "f200110000"), ("", "00")] {
            let mut out = Vec::new();
            deflater.deflate(text.as_bytes(), &mut out);
            assert_eq!(out, hex(expected), "{text}");
        }
    }

    #[test]
    fn data_that_is_not_deflate_is_a_violation() {
        for (name, messages) in [
            ("block type 3", &["06"][..]),
            ("wrong complement of a stored length", &["00050005 0048656c6c6f00"]),
            ("cut off", &["f248cdc9c9"]),
            ("without the header of the empty block", &["f248cdc9c907"]),
            ("a distance before the first message", &["f200110000"]),
            ("nothing", &[""]),
            ("a distance of another window", &["00", "f200110000"]),
        ] {
            let (mut inflater, mut out) = (Inflater::new(15, true), Vec::new());
            let (last, before) = messages.split_last().expect("a message");
            for message in before {
                inflater.inflate(&hex(message), MAX_BYTES, &mut out).expect(name);
            }
            let result = inflater.inflate(&hex(last), MAX_BYTES, &mut out);
            assert_eq!(result, Err(Violation::CompressedDataInvalid), "{name}");
        }
    }

    #[test]
    fn without_context_takeover_a_message_refers_to_no_other() {
        let (mut inflater, mut out) = (Inflater::new(15, false), Vec::new());
        inflater.inflate(&hex("f248cdc9c90700"), MAX_BYTES, &mut out).expect("Hello");
        let again = inflater.inflate(&hex("f200110000"), MAX_BYTES, &mut out);
        assert_eq!(again, Err(Violation::CompressedDataInvalid));

        let mut deflater = Deflater::new(15, false);
        for _ in 0..2 {
            let mut out = Vec::new();
            deflater.deflate(b"Hello", &mut out);
            assert_eq!(out, hex("f248cdc9c90700"));
        }
    }

    /// Texts and noise of all lengths around the windows, from a linear congruential generator.
    fn messages() -> Vec<Vec<u8>> {
        let mut state = 1u32;
        let mut random = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 24
        };
        let lengths = [0, 1, 2, 15, 255, 256, 257, 511, 512, 513, 4095, 4097, 32767, 32768, 32769, 100_000];
        let kinds = [1, 4, 256];
        let mut message = |length: usize, kind: u32| (0..length).map(|_| (random() % kind) as u8).collect();
        lengths.iter().flat_map(|&length| kinds.map(|kind| message(length, kind))).collect()
    }

    #[test]
    fn every_window_and_takeover_round_trips() {
        let messages = messages();
        for window_bits in 8..=15 {
            for context_takeover in [false, true] {
                let mut deflater = Deflater::new(window_bits, context_takeover);
                // One byte per step, so that a distance beyond the window is an error.
                let mut inflater = Inflater::with_step(window_bits, context_takeover, 1);
                for message in &messages {
                    let (mut compressed, mut inflated) = (Vec::new(), Vec::new());
                    deflater.deflate(message, &mut compressed);
                    assert!(compressed.len() <= max_compressed_bytes(message.len()));
                    let result = inflater.inflate(&compressed, message.len(), &mut inflated);
                    let name = format!("{window_bits} bits, {context_takeover}, {} bytes", message.len());
                    assert_eq!(result, Ok(()), "{name}");
                    assert!(inflated == *message, "{name}");
                }
                assert!(inflater.output.bytes.len() <= (1 << window_bits).max(FIRST_BUFFER_BYTES) + 1);
            }
        }
    }

    #[test]
    fn a_bomb_stops_at_the_limit_with_bounded_memory() {
        const LIMIT: usize = 64 * 1024;
        let mut bomb = Vec::new();
        Deflater::new(15, false).deflate(&vec![0; 42 * 1024 * 1024], &mut bomb);
        assert!(bomb.len() < 50_000, "{}", bomb.len());
        for piece_bytes in [7, 1000, bomb.len()] {
            let (mut inflater, mut out) = (Inflater::new(15, true), Vec::new());
            let mut pieces = bomb.chunks(piece_bytes);
            let result = pieces.try_for_each(|piece| inflater.inflate_piece(piece, LIMIT, &mut out));
            assert_eq!(result, Err(Violation::InflatedTooLong));
            assert!(out.len() <= LIMIT && out.capacity() <= 2 * LIMIT);
            assert!(inflater.output.bytes.len() <= 48 * 1024);
        }
    }

    #[test]
    fn damaged_data_has_the_same_verdict_however_it_is_split() {
        let mut compressed = Vec::new();
        Deflater::new(15, true)
            .deflate("again and again, and once more: 0123456789".repeat(5).as_bytes(), &mut compressed);
        let verdict = |data: &[u8], piece_bytes: usize| {
            let (mut inflater, mut out) = (Inflater::new(15, true), Vec::new());
            let mut pieces = data.chunks(piece_bytes);
            let result = pieces.try_for_each(|piece| inflater.inflate_piece(piece, 190, &mut out));
            (result.and_then(|()| inflater.finish(190, &mut out)), out)
        };
        let mut broken = 0;
        for bit in 0..compressed.len() * 8 {
            let mut data = compressed.clone();
            data[bit / 8] ^= 1 << (bit % 8);
            let whole = verdict(&data, data.len());
            broken += usize::from(whole.0 == Err(Violation::CompressedDataInvalid));
            for piece_bytes in [1, 2, 7] {
                assert_eq!(verdict(&data, piece_bytes).0, whole.0, "bit {bit}, {piece_bytes} bytes");
            }
        }
        assert!(broken > 20, "{broken}");
    }

    #[test]
    fn the_limit_is_exact() {
        let mut compressed = Vec::new();
        Deflater::new(15, false).deflate(&[7; 1000], &mut compressed);
        for (max_bytes, expected) in [(1000, Ok(())), (999, Err(Violation::InflatedTooLong))] {
            let result = Inflater::new(15, false).inflate(&compressed, max_bytes, &mut Vec::new());
            assert_eq!(result, expected);
        }
    }
}
