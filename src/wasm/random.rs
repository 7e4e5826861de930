//! Random bytes for keys and masks, from a seed of the browser.
//!
//! The bytes are the SHA-1 hash of the seed and a counter, so a peer that sees some bytes cannot
//! predict the others. RFC 6455, section 10.3, requires this of masks.

use std::cell::RefCell;

use sha1_smol::Sha1;
use tickwire::client::connection::ConnectionKeys;

use super::buffers;

thread_local! {
    static STATE: RefCell<(Vec<u8>, u64)> = RefCell::default();
}

/// Sets the seed from the input: 32 bytes of `crypto.getRandomValues`.
#[unsafe(no_mangle)]
pub extern "C" fn seed_random() {
    buffers::with(|buffers| STATE.with_borrow_mut(|state| *state = (buffers.input.clone(), 0)));
}

/// Random bytes from one hash, so at most 20.
fn bytes<const N: usize>() -> [u8; N] {
    STATE.with_borrow_mut(|(seed, counter)| {
        *counter += 1;
        let mut hash = Sha1::from(&*seed);
        hash.update(&counter.to_be_bytes());
        let (hash, mut bytes) = (hash.digest().bytes(), [0; N]);
        bytes.iter_mut().zip(hash).for_each(|(byte, hashed)| *byte = hashed);
        bytes
    })
}

/// Random keys for a connection.
pub fn keys() -> ConnectionKeys {
    ConnectionKeys { upgrade: bytes(), mask: bytes }
}
