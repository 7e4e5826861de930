//! Encryption of datagrams: ChaCha20-Poly1305, RFC 8439, section 2.8.

use std::fmt;

use chacha20poly1305::aead::AeadInOut;
use chacha20poly1305::{ChaCha20Poly1305, KeyInit, Nonce, Tag};

use super::header::HEADER_BYTES;
use crate::packet::Direction;

/// Length of a key in bytes.
pub const KEY_BYTES: usize = 32;
/// Length of a tag in bytes.
pub const TAG_BYTES: usize = 16;

/// The key of one lane. `Debug` omits it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LaneKey(pub [u8; KEY_BYTES]);

impl fmt::Debug for LaneKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("LaneKey")
    }
}

/// The cipher of one lane.
#[derive(Clone)]
pub struct Cipher(ChaCha20Poly1305);

impl fmt::Debug for Cipher {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Cipher")
    }
}

impl Cipher {
    pub fn new(key: &LaneKey) -> Cipher {
        Cipher(ChaCha20Poly1305::new(&key.0.into()))
    }

    /// Encrypts the messages of a datagram in place, and appends the tag.
    pub fn seal(&self, direction: Direction, sequence: u64, datagram: &mut Vec<u8>) {
        let (header, messages) = datagram.split_at_mut(HEADER_BYTES);
        let sealed = self.0.encrypt_inout_detached(&nonce(direction, sequence), header, messages.into());
        // The cipher refuses only messages of more than 256 GB.
        let Ok(tag) = sealed else { return };
        datagram.extend_from_slice(&tag);
    }

    /// Decrypts the messages of a datagram. `None` if the tag is wrong.
    pub fn open(&self, direction: Direction, sequence: u64, datagram: &[u8]) -> Option<Vec<u8>> {
        let (header, sealed) = datagram.split_at_checked(HEADER_BYTES)?;
        let (messages, tag) = sealed.split_at_checked(sealed.len().checked_sub(TAG_BYTES)?)?;
        let (mut messages, tag) = (messages.to_vec(), Tag::try_from(tag).ok()?);
        let nonce = nonce(direction, sequence);
        self.0.decrypt_inout_detached(&nonce, header, messages.as_mut_slice().into(), &tag).ok()?;
        Some(messages)
    }
}

fn nonce(direction: Direction, sequence: u64) -> Nonce {
    let mut nonce = [0; 12];
    nonce[3] = match direction {
        Direction::ToServer => 0,
        Direction::ToClient => 1,
    };
    nonce[4..].copy_from_slice(&sequence.to_be_bytes());
    nonce.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 8439, section 2.8.2, whose nonce and additional data have the same
    /// lengths as ours.
    #[test]
    fn the_cipher_is_that_of_rfc_8439() {
        let key: [u8; 32] = std::array::from_fn(|n| 0x80 + n as u8);
        let nonce = [7, 0, 0, 0, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47];
        let header = [0x50, 0x51, 0x52, 0x53, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7];
        let mut text = *b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.";
        let cipher = Cipher::new(&LaneKey(key));
        let tag = cipher.0.encrypt_inout_detached(&nonce.into(), &header, text.as_mut_slice().into());
        assert_eq!(text[..8], [0xd3, 0x1a, 0x8d, 0x34, 0x64, 0x8e, 0x60, 0xdb]);
        let expected =
            [0x1a, 0xe1, 0x0b, 0x59, 0x4f, 0x09, 0xe2, 0x6a, 0x7e, 0x90, 0x2e, 0xcb, 0xd0, 0x60, 0x06, 0x91];
        assert_eq!(tag.expect("it is short").as_slice(), expected);
    }
}
