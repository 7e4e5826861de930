//! Compressed messages of one sender. The first byte chooses one of two parts:
//!
//! - Arbitrary bytes as compressed messages: the inflater's output does not depend on how a message is split, never
//!   exceeds its bound, and equals the output of `zlib-rs` until either of them refuses a message.
//! - Messages that are compressed and inflated again, for each window and with or without context takeover: they are
//!   the same.

use flate2::{Decompress, FlushDecompress, Status};
use tickwire::ws::Violation;
use tickwire::ws::deflate::{Deflater, Inflater, MAX_WINDOW_BITS, MIN_WINDOW_BITS, TAIL};

use super::choose;
use crate::tally::allow;

/// Bound of an inflated message: small, so that inputs that reach it are short.
const MAX_BYTES: usize = 3_000;
/// Maximum number of messages of an input.
const MAX_MESSAGES: usize = 16;

/// See the [module](self).
pub fn run(mut bytes: &[u8]) {
    match choose(&mut bytes, 2) {
        0 => arbitrary(bytes),
        _ => round_trip(bytes),
    }
}

/// Takes a message off: a byte has its length.
fn next_message<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first()?;
    let (message, rest) = rest.split_at(rest.len().min(usize::from(*length)));
    *bytes = rest;
    Some(message)
}

fn arbitrary(mut bytes: &[u8]) {
    let mut ours = Inflater::new(MAX_WINDOW_BITS, true);
    let (mut bytewise, mut theirs) = (ours.clone(), Decompress::new(false));
    for _ in 0..MAX_MESSAGES {
        let Some(message) = next_message(&mut bytes) else { return };
        let mut out = Vec::new();
        let inflated = ours.inflate(message, MAX_BYTES, &mut out);
        assert!(out.len() <= MAX_BYTES);
        let mut in_bytes = Vec::new();
        let result = message
            .iter()
            .try_for_each(|byte| bytewise.inflate_piece(&[*byte], MAX_BYTES, &mut in_bytes))
            .and_then(|()| bytewise.finish(MAX_BYTES, &mut in_bytes));
        assert_eq!(result, inflated, "whole and byte by byte");
        // A step that exceeds the bound is dropped as a whole.
        let is_same = if inflated.is_ok() { in_bytes == out } else { in_bytes.starts_with(&out) };
        assert!(is_same, "{} bytes whole, {} byte by byte", out.len(), in_bytes.len());

        let Theirs { out: other, result, is_over } = zlib(&mut theirs, message);
        match inflated {
            Ok(()) if is_over => {
                // They stop at a final block, after which we begin a new stream.
                assert!(out.starts_with(&other));
                return;
            }
            Ok(()) => assert!(result.is_ok() && other == out, "{result:?}: {other:?}, not {out:?}"),
            Err(Violation::InflatedTooLong) => {
                assert!(other.starts_with(&out) || out.starts_with(&other));
                assert!(is_over || other.len() > MAX_BYTES || result.is_err(), "{} bytes", other.len());
                return;
            }
            Err(rule) => {
                assert_eq!(rule, Violation::CompressedDataInvalid);
                assert!(is_over || other.starts_with(&out), "{other:?} does not begin with {out:?}");
                if result.is_ok() && !is_over {
                    allow("they do not ask where a message ends", rule.name());
                }
                return;
            }
        }
    }
}

/// The result of `zlib-rs` for a message.
struct Theirs {
    out: Vec<u8>,
    result: Result<(), flate2::DecompressError>,
    /// Whether a final block has ended the stream.
    is_over: bool,
}

/// Inflates a message and its tail, at most some bytes beyond the bound.
fn zlib(decompress: &mut Decompress, message: &[u8]) -> Theirs {
    let input = [message, &TAIL].concat();
    let mut out = Vec::with_capacity(MAX_BYTES + 300);
    let before = decompress.total_in();
    loop {
        let at = (decompress.total_in() - before) as usize;
        let written = out.len();
        let is_over = match decompress.decompress_vec(&input[at..], &mut out, FlushDecompress::Sync) {
            Ok(status) => status == Status::StreamEnd,
            Err(error) => return Theirs { out, result: Err(error), is_over: false },
        };
        let is_stuck = (decompress.total_in() - before) as usize == at && out.len() == written;
        if is_over || is_stuck || out.len() == out.capacity() {
            return Theirs { out, result: Ok(()), is_over };
        }
    }
}

fn round_trip(mut bytes: &[u8]) {
    let windows = usize::from(MAX_WINDOW_BITS - MIN_WINDOW_BITS) + 1;
    let bits = MIN_WINDOW_BITS + choose(&mut bytes, windows) as u8;
    let context_takeover = choose(&mut bytes, 2) == 1;
    let (mut deflater, mut inflater) =
        (Deflater::new(bits, context_takeover), Inflater::new(bits, context_takeover));
    for _ in 0..MAX_MESSAGES {
        let Some(message) = next_message(&mut bytes) else { return };
        // Longer than the smallest window: the same bytes several times, with a difference.
        let mut long = message.repeat(1 + message.len() % 5);
        long.extend(message.len().to_le_bytes());
        for message in [message, &long] {
            let (mut compressed, mut inflated) = (Vec::new(), Vec::new());
            deflater.deflate(message, &mut compressed);
            let result = inflater.inflate(&compressed, message.len(), &mut inflated);
            assert_eq!((result, &*inflated), (Ok(()), message), "window of {bits} bits");
        }
    }
}
