//! The two buffers of a module instance: the input of a call, and the output of the last call.

use std::cell::RefCell;

use tickwire::internal::limits;

/// The input and output buffers of a module instance.
#[derive(Default)]
pub struct Buffers {
    /// Bytes that the page has written for the call.
    pub input: Vec<u8>,
    output: Vec<u8>,
}

impl Buffers {
    /// Replaces the output of the last call. Returns the length of the new output.
    pub fn put_out(&mut self, output: Vec<u8>) -> usize {
        self.output = output;
        self.output.len()
    }
}

thread_local! {
    static BUFFERS: RefCell<Buffers> = RefCell::default();
}

/// Calls a function with the buffers.
pub fn with<T>(call: impl FnOnce(&mut Buffers) -> T) -> T {
    BUFFERS.with_borrow_mut(call)
}

/// Allocates `length` input bytes and returns their address; 0 above
/// [`limits::INSPECTOR_FILE_BYTES`].
#[unsafe(no_mangle)]
pub extern "C" fn input(length: usize) -> *mut u8 {
    with(|buffers| {
        if length > limits::INSPECTOR_FILE_BYTES {
            return std::ptr::null_mut();
        }
        buffers.input.clear();
        buffers.input.resize(length, 0);
        buffers.input.as_mut_ptr()
    })
}

/// Returns the address of the last call's output.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    with(|buffers| buffers.output.as_ptr())
}
