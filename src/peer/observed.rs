//! The bytes of a client as its driver observes them, with tokens overwritten.

use super::books::{At, Books, Piece};
use super::cover;

/// See the [module](self).
#[derive(Debug, Default)]
pub struct Observed {
    /// Whether the driver has seen all bytes before `bytes`, back to the beginning of a message.
    pub follows: bool,
    /// What is not shown yet.
    bytes: Vec<u8>,
    /// How many of `bytes` belong to frames that were read.
    read: usize,
    /// Whether a message begins with `bytes`.
    begins: bool,
    /// Whether some of `bytes` come from a watcher.
    pub is_injected: bool,
}

impl Observed {
    /// Keeps bytes that came. An observer that comes in the middle of a message waits for the next.
    pub fn take(&mut self, bytes: &[u8], is_boundary: bool, books: &dyn Books) {
        if !books.observes() {
            self.follows = false;
            (self.bytes, self.read) = (Vec::new(), 0);
            return;
        }
        if is_boundary {
            (self.follows, self.begins) = (true, true);
            self.bytes.clear();
            self.read = 0;
        }
        if self.follows {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Notes that the next bytes, which end with a frame, were read. `covered` is the payload of the
    /// message that ends there, if it may not be shown as it is.
    pub fn read(&mut self, wire_bytes: usize, covered: Option<&[u8]>) {
        self.read = (self.read + wire_bytes).min(self.bytes.len());
        if let Some(covered) = covered {
            cover::rewrite(&mut self.bytes[..self.read], covered);
        }
    }

    /// Shows what was read; behind the last frame of a message, `is_whole`.
    pub fn show(&mut self, is_whole: bool, at: At, saved: &dyn Fn() -> Vec<u8>, books: &dyn Books) {
        if self.follows {
            let (bytes, begins, is_injected) = (&self.bytes[..self.read], self.begins, self.is_injected);
            books.observed(at, Piece { bytes, begins, is_whole, is_injected }, saved);
            self.bytes.drain(..self.read);
            self.read = 0;
            self.begins = is_whole;
            self.is_injected &= !self.bytes.is_empty();
        }
    }

    /// Shows what is left at the end of the connection. If it `tells` what nobody may learn, its
    /// payload is overwritten.
    pub fn end(&mut self, tells: bool, at: At, saved: &dyn Fn() -> Vec<u8>, books: &dyn Books) {
        if !self.bytes.is_empty() {
            if tells {
                cover::unfinished(&mut self.bytes);
            }
            self.read = self.bytes.len();
            self.show(false, at, saved, books);
        }
    }
}
