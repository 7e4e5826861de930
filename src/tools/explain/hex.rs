//! Parses and prints hexadecimal text.
//!
//! Digits are accepted without separators or in groups, separated by white space, colons or commas,
//! each group with or without the prefix `0x`. A group with an odd number of digits is an error.

/// Parses hexadecimal text.
///
/// # Errors
/// One line that describes the invalid text, safe for a terminal.
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

/// Formats bytes as two digits each, separated by spaces.
pub fn print(bytes: &[u8]) -> String {
    let groups: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    groups.join(" ")
}

/// Formats bytes as digits without separators.
pub fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
