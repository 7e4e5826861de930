//! Random bytes for keys and masks, from a seed of the browser's.
//!
//! SHA-1 of the seed and a counter: a peer that sees some of the bytes cannot predict the others, as
//! RFC 6455 section 10.3 asks of masks.

use std::cell::RefCell;

use sha1_smol::Sha1;
use tickwire::client::connection::ConnectionKeys;

use super::buffers;

thread_local! {
    static STATE: RefCell<(Vec<u8>, u64)> = RefCell::default();
}

/// Takes the 32 bytes of the input as the seed; from `crypto.getRandomValues`.
#[unsafe(no_mangle)]
pub extern "C" fn seed_random() {
    buffers::with(|buffers| STATE.with_borrow_mut(|state| *state = (buffers.input.clone(), 0)));
}

/// At most the 20 bytes of one hash.
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

/// The keys of a link.
pub fn keys() -> ConnectionKeys {
    ConnectionKeys { upgrade: bytes(), mask: bytes }
}
