//! The server's self-signed certificate for DTLS, made at each start. The client checks only its
//! SHA-256, which is in the answer (RFC 8122).

use dimpl::DtlsCertificate;
use p256::SecretKey;
use p256::ecdsa::signature::Signer;
use p256::ecdsa::{DerSignature, SigningKey};
use p256::pkcs8::EncodePrivateKey;
use sha2::{Digest, Sha256};

use super::session_description::FINGERPRINT_BYTES;

/// Tags of DER (ITU-T X.690).
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OBJECT_ID: u8 = 0x06;
const UTF8_STRING: u8 = 0x0c;
const UTC_TIME: u8 = 0x17;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
/// Tag of the version in a certificate.
const VERSION: u8 = 0xa0;

/// `ecdsa-with-SHA256`, 1.2.840.10045.4.3.2
const ECDSA_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
/// `id-ecPublicKey`, 1.2.840.10045.2.1
const EC_PUBLIC_KEY: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
/// `prime256v1`, 1.2.840.10045.3.1.7
const PRIME256V1: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
/// `commonName`, 2.5.4.3
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];

/// A certificate and its key. `Debug` omits the key.
#[derive(Clone)]
pub struct Certificate {
    der: Vec<u8>,
    /// The key in PKCS #8.
    key: Vec<u8>,
    fingerprint: [u8; FINGERPRINT_BYTES],
}

impl core::fmt::Debug for Certificate {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(out, "Certificate({} bytes)", self.der.len())
    }
}

impl Certificate {
    /// Makes a certificate with this random key and serial number. `None` if the key is 0 or not
    /// below the order of the curve, which has a probability of 2^-32.
    pub fn new(key: &[u8; 32], serial: &[u8; 16]) -> Option<Certificate> {
        let secret = SecretKey::from_slice(key).ok()?;
        let signing = SigningKey::from(&secret);
        let point = signing.verifying_key().to_sec1_point(false);
        let algorithm = element(SEQUENCE, &[&element(OBJECT_ID, &[ECDSA_SHA256])]);
        let name = element(OBJECT_ID, &[COMMON_NAME]);
        let name = element(SEQUENCE, &[&name, &element(UTF8_STRING, &[b"tickwire"])]);
        let name = element(SEQUENCE, &[&element(SET, &[&name])]);
        // Clients do not check the dates, and fixed dates need no clock.
        let [from, to] = [b"200101000000Z", b"491231235959Z"].map(|date| element(UTC_TIME, &[date]));
        let curve = [element(OBJECT_ID, &[EC_PUBLIC_KEY]), element(OBJECT_ID, &[PRIME256V1])].concat();
        let public = element(BIT_STRING, &[&[0], point.as_bytes()]);
        // Integers of DER are signed, so the top bit is cleared. The number is random, because
        // Firefox rejects a second certificate with the same number.
        let mut positive = *serial;
        positive[0] = positive[0] & 0x3f | 0x40;
        let content = element(
            SEQUENCE,
            &[
                &element(VERSION, &[&element(INTEGER, &[&[2]])]),
                &element(INTEGER, &[&positive]),
                &algorithm,
                &name,
                &element(SEQUENCE, &[&from, &to]),
                &name,
                &element(SEQUENCE, &[&element(SEQUENCE, &[&curve]), &public]),
            ],
        );
        let signature: DerSignature = signing.sign(&content);
        let signature = element(BIT_STRING, &[&[0], signature.as_bytes()]);
        let der = element(SEQUENCE, &[&content, &algorithm, &signature]);
        let key = secret.to_pkcs8_der().ok()?.as_bytes().to_vec();
        let fingerprint = fingerprint_of(&der);
        Some(Certificate { der, key, fingerprint })
    }

    /// SHA-256 of the certificate.
    pub fn fingerprint(&self) -> &[u8; FINGERPRINT_BYTES] {
        &self.fingerprint
    }

    pub(super) fn dtls(&self) -> DtlsCertificate {
        DtlsCertificate { certificate: self.der.clone(), private_key: self.key.clone() }
    }
}

/// SHA-256 of a certificate.
pub fn fingerprint_of(der: &[u8]) -> [u8; FINGERPRINT_BYTES] {
    Sha256::digest(der).into()
}

/// An element of DER: tag, length, and content.
fn element(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut out = vec![tag];
    match u8::try_from(length) {
        Ok(length @ 0..0x80) => out.push(length),
        Ok(length) => out.extend([0x81, length]),
        // The longest element is a certificate of about 300 bytes.
        Err(_) => {
            out.push(0x82);
            out.extend((length as u16).to_be_bytes());
        }
    }
    parts.iter().for_each(|part| out.extend_from_slice(part));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_have_short_and_long_lengths() {
        assert_eq!(element(INTEGER, &[&[2]]), [2, 1, 2]);
        assert_eq!(element(SEQUENCE, &[&[0; 200]])[..3], [0x30, 0x81, 200]);
        assert_eq!(element(SEQUENCE, &[&[0; 200], &[0; 100]])[..4], [0x30, 0x82, 1, 44]);
    }

    #[test]
    fn a_key_outside_the_order_of_the_curve_is_rejected() {
        assert!(Certificate::new(&[0; 32], &[1; 16]).is_none());
        assert!(Certificate::new(&[0xff; 32], &[1; 16]).is_none());
        let one = Certificate::new(&[1; 32], &[1; 16]).expect("a good key");
        let other = Certificate::new(&[1; 32], &[2; 16]).expect("a good key");
        assert_ne!(one.fingerprint(), other.fingerprint());
    }
}
