//! The two buffers of a module instance: the input of a call, and the output of the last call.

use std::cell::RefCell;

use tickwire::limits;

/// See the [module](self).
#[derive(Default)]
pub struct Buffers {
    /// What the page has written for the call.
    pub input: Vec<u8>,
    output: Vec<u8>,
}

impl Buffers {
    /// Replaces what the last call put out; returns its length.
    pub fn put_out(&mut self, output: Vec<u8>) -> usize {
        self.output = output;
        self.output.len()
    }
}

thread_local! {
    static BUFFERS: RefCell<Buffers> = RefCell::default();
}

/// Calls with the buffers.
pub fn with<T>(call: impl FnOnce(&mut Buffers) -> T) -> T {
    BUFFERS.with_borrow_mut(call)
}

/// Room for so many bytes to come in; 0 if these are too many.
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

/// The bytes that the last call put out.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    with(|buffers| buffers.output.as_ptr())
}
