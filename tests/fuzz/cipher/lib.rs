//! The part of `chacha20poly1305` that the product uses, without generics.
//!
//! Generic code is compiled in the crate that calls it. This crate calls it in place of the
//! product, so that libFuzzer does not follow the branches of the cipher, which say nothing about
//! an input and take most of the time.

use chacha20poly1305::aead::inout::InOutBuf;
use chacha20poly1305::aead::{AeadCore, AeadInOut, KeySizeUser, Result, TagPosition};
pub use chacha20poly1305::{KeyInit, Nonce, Tag, aead};

/// ChaCha20-Poly1305, RFC 8439, section 2.8.
#[derive(Clone)]
pub struct ChaCha20Poly1305(chacha20poly1305::ChaCha20Poly1305);

impl KeySizeUser for ChaCha20Poly1305 {
    type KeySize = <chacha20poly1305::ChaCha20Poly1305 as KeySizeUser>::KeySize;
}

impl KeyInit for ChaCha20Poly1305 {
    fn new(key: &chacha20poly1305::Key) -> Self {
        Self(chacha20poly1305::ChaCha20Poly1305::new(key))
    }
}

impl AeadCore for ChaCha20Poly1305 {
    type NonceSize = <chacha20poly1305::ChaCha20Poly1305 as AeadCore>::NonceSize;
    type TagSize = <chacha20poly1305::ChaCha20Poly1305 as AeadCore>::TagSize;
    const TAG_POSITION: TagPosition = chacha20poly1305::ChaCha20Poly1305::TAG_POSITION;
}

impl AeadInOut for ChaCha20Poly1305 {
    fn encrypt_inout_detached(&self, nonce: &Nonce, header: &[u8], buffer: InOutBuf<'_, '_, u8>) -> Result<Tag> {
        self.0.encrypt_inout_detached(nonce, header, buffer)
    }

    fn decrypt_inout_detached(
        &self,
        nonce: &Nonce,
        header: &[u8],
        buffer: InOutBuf<'_, '_, u8>,
        tag: &Tag,
    ) -> Result<()> {
        self.0.decrypt_inout_detached(nonce, header, buffer, tag)
    }
}
