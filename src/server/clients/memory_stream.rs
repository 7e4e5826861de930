//! The server's end of a byte stream in memory, for clients inside the program.

use core::sync::atomic::{AtomicBool, Ordering};

use crate::limits;
use crate::util::sync::Mutex;

/// Bytes from the server to the other end, which takes them when it runs.
#[derive(Debug, Default)]
pub struct MemoryStream {
    /// Bytes for the other end; at most [`limits::SEND_QUEUE_BYTES`] of a client.
    bytes: Mutex<Vec<u8>>,
    /// Whether the connection was closed immediately.
    is_aborted: AtomicBool,
}

impl MemoryStream {
    /// Adds bytes of a client, up to the limit. Returns the number of added bytes. If the other end
    /// does not read, the sender of the client queues the rest within its own limits.
    pub fn send<'a>(&self, slices: impl Iterator<Item = &'a [u8]>) -> usize {
        let mut out = self.bytes.lock();
        let before = out.len();
        let free = limits::SEND_QUEUE_BYTES.saturating_sub(before);
        for slice in slices {
            let left = free.saturating_sub(out.len() - before);
            out.extend_from_slice(&slice[..slice.len().min(left)]);
        }
        out.len() - before
    }

    /// Adds bytes that always fit: a response, or frames of an inspector.
    pub fn write(&self, bytes: &[u8]) {
        self.bytes.lock().extend_from_slice(bytes);
    }

    /// Moves the bytes for the other end to the end of `into`.
    pub fn take(&self, into: &mut Vec<u8>) {
        into.append(&mut self.bytes.lock());
    }

    /// Returns whether there are no bytes for the other end.
    pub fn is_empty(&self) -> bool {
        self.bytes.lock().is_empty()
    }

    /// Marks the connection as closed immediately.
    pub fn abort(&self) {
        self.is_aborted.store(true, Ordering::Release);
    }

    /// Returns whether the connection was closed immediately.
    pub fn is_aborted(&self) -> bool {
        self.is_aborted.load(Ordering::Acquire)
    }
}
