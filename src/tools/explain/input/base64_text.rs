//! Base64, with or without padding, on one or several lines, and `data:` URLs.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::types::Notation;

/// Accepts text with and without padding.
const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);
/// The end of the prefix of a `data:` URL.
const DATA_URL: &str = ";base64,";
/// Minimum characters of a text that has no padding.
const UNPADDED_CHARS: usize = 6;

/// Reads Base64; `None` if the text is none. A word or a misspelt hexadecimal text is none: without
/// padding, the text needs letters of both cases and a length that Base64 has.
pub fn read(text: &str) -> Option<(Notation, Vec<u8>)> {
    let text = text.trim();
    let text = match text.starts_with("data:") {
        true => text.split_once(DATA_URL)?.1,
        false => text,
    };
    if text.contains([' ', '\t']) {
        return None;
    }
    let digits: String = text.split_ascii_whitespace().collect();
    let has = |of: fn(&u8) -> bool| digits.as_bytes().iter().any(of);
    let is_mixed = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    if !digits.ends_with('=') && (!is_mixed || digits.len() < UNPADDED_CHARS) {
        return None;
    }
    decode(&digits)
}

/// Decodes text that is known to be Base64.
pub fn decode(digits: &str) -> Option<(Notation, Vec<u8>)> {
    let is_url = digits.contains(['-', '_']);
    let (notation, engine) =
        if is_url { (Notation::Base64Url, &URL_SAFE) } else { (Notation::Base64, &STANDARD) };
    let bytes = engine.decode(digits).ok()?;
    (!bytes.is_empty()).then_some((notation, bytes))
}
