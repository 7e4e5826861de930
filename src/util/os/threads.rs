//! Named threads. The closure is boxed, so that the code of `std` that starts a thread is compiled
//! once, and not for each closure.

use std::io;
use std::panic::resume_unwind;
use std::thread::{self, Builder, JoinHandle};

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

/// Calls a function on a stack of this size, and returns its result. A page of the caller's own
/// stack would stay in memory once it was used. Without a further thread, calls it here.
pub fn call_with_stack<T: Send>(stack_bytes: usize, mut call: impl FnMut() -> T + Send) -> T {
    let called = thread::scope(|scope| {
        let builder = Builder::new().name("call".to_owned()).stack_size(stack_bytes);
        let started = builder.spawn_scoped(scope, &mut call);
        started.map(|thread| thread.join())
    });
    match called {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => resume_unwind(panic),
        Err(_) => call(),
    }
}

fn spawn_boxed(builder: Builder, run: Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle<()>> {
    builder.spawn(run)
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn a_call_on_another_stack_returns_its_result_or_panics_as_it_does() {
        let (mut calls, here) = (0, thread::current().id());
        let result = call_with_stack(1024 * 1024, || {
            calls += 1;
            (calls, thread::current().id() == here)
        });
        assert_eq!(result, (1, false));
        let panics = AssertUnwindSafe(|| call_with_stack(1024 * 1024, || panic!("of the call")));
        let panic = catch_unwind(panics).expect_err("the panic of the call");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"of the call"));
        // More than any address space has, so no thread starts.
        assert!(call_with_stack(usize::MAX / 4, || thread::current().id() == here));
    }
}
