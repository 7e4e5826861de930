//! Named threads. The closure is boxed, so that the code of `std` that starts a thread is compiled
//! once, and not for each closure.

use std::io;
use std::thread::{Builder, JoinHandle};

/// Starts a thread with this name.
///
/// # Errors
/// The thread cannot be started.
pub fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    spawn_boxed(Builder::new().name(name.to_owned()), Box::new(run))
}

/// Starts a thread with this name and a stack of this size.
///
/// # Errors
/// The thread cannot be started.
pub fn spawn_with_stack(
    name: &str,
    stack_bytes: usize,
    run: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    spawn_boxed(Builder::new().name(name.to_owned()).stack_size(stack_bytes), Box::new(run))
}

fn spawn_boxed(builder: Builder, run: Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle<()>> {
    builder.spawn(run)
}
