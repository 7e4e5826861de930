//! Compression of a client's messages: permessage-deflate (RFC 7692) without context takeover.
//!
//! Each message stands alone, for three reasons: one frame of a capture can be inflated without the
//! frames before it, an idle connection stores no window, and one encoding can serve many clients.
//! A message also never shares a window with another one, so its length says nothing about secrets
//! in earlier messages. Packets that answer one client, such as `welcome` with its resume key, are
//! never compressed.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::limits;
use crate::util::sync::Mutex;
use crate::ws::deflate::{Deflater, MAX_WINDOW_BITS, MessageDeflater};
use crate::ws::extension::{DeflateOptions, DeflateParameters};
use crate::ws::frame::{self, Header, Opcode};
use crate::ws::http::ResponseReader;

/// The options of the server: each message of both sides stands alone.
pub const OPTIONS: DeflateOptions =
    DeflateOptions { server_no_context_takeover: true, client_no_context_takeover: true };

/// Compressed messages and the bytes saved by them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompressionCounts {
    /// Messages sent compressed. A message shared by several clients counts once.
    pub messages: u64,
    /// Payload bytes of these messages before compression.
    pub original_bytes: u64,
    /// Payload bytes of these messages on the wire.
    pub compressed_bytes: u64,
}

/// The deflaters of a server, one for each thread that compresses at the same time. A deflater has
/// about 320 KB.
#[derive(Default)]
pub struct DeflaterPool {
    idle: Mutex<Vec<MessageDeflater>>,
    messages: AtomicU64,
    original_bytes: AtomicU64,
    compressed_bytes: AtomicU64,
}

impl DeflaterPool {
    /// Appends a message as one frame, compressed if that is shorter.
    fn write_frame(&self, out: &mut Vec<u8>, opcode: Opcode, payload: &[u8]) {
        let idle = self.idle.lock().pop();
        let new =
            || MessageDeflater::new(Deflater::new(MAX_WINDOW_BITS, false), limits::COMPRESSION_MIN_BYTES);
        let mut deflater = idle.unwrap_or_else(new);
        match deflater.compress(payload) {
            Some(compressed) => {
                let length = compressed.len() as u64;
                let header = Header { fin: true, compressed: true, opcode, mask: None, length };
                frame::write_frame(out, &header, compressed);
                self.messages.fetch_add(1, Ordering::Relaxed);
                self.original_bytes.fetch_add(payload.len() as u64, Ordering::Relaxed);
                self.compressed_bytes.fetch_add(length, Ordering::Relaxed);
            }
            None => frame::write(out, opcode, None, payload),
        }
        self.idle.lock().push(deflater);
    }

    /// Returns the counts since the last call.
    pub fn take_counts(&self) -> CompressionCounts {
        CompressionCounts {
            messages: self.messages.swap(0, Ordering::Relaxed),
            original_bytes: self.original_bytes.swap(0, Ordering::Relaxed),
            compressed_bytes: self.compressed_bytes.swap(0, Ordering::Relaxed),
        }
    }
}

impl fmt::Debug for DeflaterPool {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("DeflaterPool").field("messages", &self.messages).finish_non_exhaustive()
    }
}

/// The agreed compression of one connection.
#[derive(Debug, Clone)]
pub struct MessageCompression {
    /// The parameters of both sides.
    pub parameters: DeflateParameters,
    pool: Arc<DeflaterPool>,
}

impl MessageCompression {
    /// Creates the compression of a connection that has agreed on `parameters`.
    pub fn new(parameters: DeflateParameters, pool: Arc<DeflaterPool>) -> MessageCompression {
        MessageCompression { parameters, pool }
    }

    /// Reads the agreement in the response head at the start of a server's bytes, for an observer.
    /// `None` without an agreement.
    pub fn observed(response: &[u8]) -> Option<MessageCompression> {
        let response = ResponseReader::new(limits::HEAD_LIMITS).receive(response).ok()??;
        let parameters = DeflateParameters::from_response(&response.headers).ok()??;
        Some(MessageCompression::new(parameters, Arc::default()))
    }

    /// Maximum bytes of a message that the server compresses. The deflaters use the largest window.
    /// If the client has a smaller one, only messages that fit into it are compressed: no distance
    /// is then too long.
    pub fn max_message_bytes(&self) -> usize {
        match self.parameters.server.window_bits {
            MAX_WINDOW_BITS => usize::MAX,
            bits => 1 << bits,
        }
    }

    /// Appends a message of the server as one frame, compressed if that is shorter.
    pub fn write_frame(&self, out: &mut Vec<u8>, opcode: Opcode, payload: &[u8]) {
        match payload.len() >= limits::COMPRESSION_MIN_BYTES && payload.len() <= self.max_message_bytes() {
            true => self.pool.write_frame(out, opcode, payload),
            false => frame::write(out, opcode, None, payload),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ws::Side;
    use crate::ws::extension::SenderParameters;
    use crate::ws::message::{Limits, Message, MessageReader};

    fn compression(window_bits: u8) -> MessageCompression {
        let sender = SenderParameters { context_takeover: false, window_bits };
        MessageCompression::new(DeflateParameters { server: sender, client: sender }, Arc::default())
    }

    #[test]
    fn each_message_stands_alone_and_is_compressed_only_if_that_is_shorter() {
        let compression = compression(15);
        let repeated = b"tickwire ".repeat(20);
        let random: Vec<u8> = (0..200u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for (payload, is_compressed) in [(&repeated[..], true), (&random[..], false), (b"short", false)] {
            let (mut first, mut second) = (Vec::new(), Vec::new());
            compression.write_frame(&mut first, Opcode::Binary, payload);
            compression.write_frame(&mut second, Opcode::Binary, payload);
            assert_eq!(first, second, "an earlier message changes no later one");
            assert_eq!(first[0] & 0x40 != 0, is_compressed);
            let mut reader = MessageReader::new(Side::Server, Limits::default());
            reader.accept_compressed(compression.parameters.server);
            reader.receive(&second);
            assert_eq!(reader.next_message(), Ok(Some(Message::Binary(payload))));
        }
        let counts = compression.pool.take_counts();
        assert_eq!((counts.messages, counts.original_bytes), (2, 2 * 180));
        assert!(counts.compressed_bytes < 80, "{counts:?}");
        assert_eq!(compression.pool.take_counts(), CompressionCounts::default());
        assert_eq!(compression.pool.idle.lock().len(), 1, "one thread needs one deflater");
    }

    #[test]
    fn a_client_with_a_small_window_receives_no_longer_distance() {
        let compression = compression(8);
        assert_eq!(compression.max_message_bytes(), 256);
        // The second half repeats the first one, 128 or 200 bytes before.
        for (half, is_compressed) in [(128u8, true), (200, false)] {
            let half: Vec<u8> = (0..half).collect();
            let payload = [&half[..], &half].concat();
            let mut frames = Vec::new();
            compression.write_frame(&mut frames, Opcode::Text, &payload);
            assert_eq!(frames[0] & 0x40 != 0, is_compressed);
        }
    }
}
