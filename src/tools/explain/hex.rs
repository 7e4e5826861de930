//! Parses hexadecimal text as people paste it.
//!
//! Digits may stand alone or in groups, separated by spaces, line ends, colons or commas, each
//! group with or without `0x`. A missing digit is an error, never guessed.

/// Parses the text to bytes.
///
/// # Errors
/// One line that says what is wrong with the text, safe for a terminal.
pub fn parse(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let groups = text.split(|sign: char| sign.is_whitespace() || sign == ':' || sign == ',');
    for group in groups.filter(|group| !group.is_empty()) {
        let digits = group.strip_prefix("0x").or(group.strip_prefix("0X")).unwrap_or(group);
        if let Some(sign) = digits.chars().find(|sign| !sign.is_ascii_hexdigit()) {
            return Err(format!("{sign:?} is not a hexadecimal digit"));
        }
        if digits.len() % 2 != 0 {
            return Err(format!("{digits:?} has an odd number of digits: each byte needs two"));
        }
        let values: Vec<u8> =
            digits.chars().filter_map(|sign| sign.to_digit(16)).map(|digit| digit as u8).collect();
        bytes.extend(values.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]));
    }
    if bytes.is_empty() { Err("no bytes to explain".to_owned()) } else { Ok(bytes) }
}

/// Bytes as groups of two digits with a space between.
pub fn print(bytes: &[u8]) -> String {
    let groups: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    groups.join(" ")
}

/// Bytes as digits.
pub fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
