//! Memory of values that a room publishes at each update.

use std::sync::Arc;

/// The last published values, newest first. A new value takes the memory of the oldest, because by
/// then nothing reads that one, unless a worker is late. Otherwise each update would allocate long
/// lists, and free them in other threads.
#[derive(Debug)]
pub struct Recycled<T>([Option<Arc<T>>; 3]);

impl<T> Default for Recycled<T> {
    fn default() -> Recycled<T> {
        Recycled(Default::default())
    }
}

impl<T: Default> Recycled<T> {
    /// Returns the newest value.
    pub fn newest(&self) -> Option<&Arc<T>> {
        self.0[0].as_ref()
    }

    /// Takes the oldest value, with its content. An empty one if it is still read.
    pub fn take_oldest(&mut self) -> T {
        self.0.last_mut().and_then(Option::take).and_then(Arc::into_inner).unwrap_or_default()
    }

    /// Adds a value in place of the oldest.
    pub fn push(&mut self, value: T) -> Arc<T> {
        let value = Arc::new(value);
        self.0.rotate_right(1);
        self.0[0] = Some(Arc::clone(&value));
        value
    }
}
