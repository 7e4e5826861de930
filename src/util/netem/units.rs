//! Parsing and formatting of times, loss and rates.

use std::time::Duration;

/// Parses a time, as `150ms`, `0.5ms` or `1.5s`, with a resolution of a microsecond.
///
/// # Errors
/// The text is not a time.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    let (number, digits) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => (number, 3),
        (None, Some(number)) => (number, 6),
        (None, None) => (if text == "0" { text } else { "" }, 0),
    };
    let us = scaled(number, digits);
    us.map(Duration::from_micros).ok_or_else(|| "expected a time such as 150ms or 0.5s".to_owned())
}

/// Parses a loss in percent, as `2%` or `0.1%`. Returns parts per million.
///
/// # Errors
/// The text is not a percentage.
pub fn parse_loss(text: &str) -> Result<u32, String> {
    let number = text.strip_suffix('%').or((text == "0").then_some(text));
    let ppm = number.and_then(|number| scaled(number, 4)).and_then(|ppm| u32::try_from(ppm).ok());
    ppm.ok_or_else(|| "expected a share in percent such as 2% or 0.1%".to_owned())
}

/// Parses a rate, as `250kB` or `2Mbit` per second. Returns bytes per second, or `None` (unlimited)
/// for `none`.
///
/// # Errors
/// The text is not a rate.
pub fn parse_rate(text: &str) -> Result<Option<u64>, String> {
    let error = || "expected bytes or bits a second such as 250kB, 1.5MB or 2Mbit, or none".to_owned();
    if text == "none" {
        return Ok(None);
    }
    let units = [
        ("kbit", 3, 8),
        ("Mbit", 6, 8),
        ("Gbit", 9, 8),
        ("kB", 3, 1),
        ("MB", 6, 1),
        ("GB", 9, 1),
        ("B", 0, 1),
    ];
    let found = units.iter().find_map(|(unit, digits, bits)| {
        text.strip_suffix(unit).map(|number| scaled(number, *digits).map(|bytes| bytes / bits))
    });
    found.flatten().map(Some).ok_or_else(error)
}

/// Parses a decimal number and multiplies it by 10^`digits`. Returns `None` if the result is not an
/// integer of 64 bits.
fn scaled(text: &str, digits: usize) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let part = if part == "0" { "" } else { part };
    if !are_digits(whole) || part.len() > digits || !(part.is_empty() || are_digits(part)) {
        return None;
    }
    format!("{whole}{part:0<digits$}").parse().ok()
}

/// Formats `parts` / 10^`digits` as a decimal number.
fn decimal(parts: u64, digits: usize) -> String {
    let all = format!("{parts:0>width$}", width = digits + 1);
    let (whole, part) = all.split_at(all.len() - digits);
    let part = part.trim_end_matches('0');
    if part.is_empty() { whole.to_owned() } else { format!("{whole}.{part}") }
}

/// Formats a time for [`parse_time`].
pub fn format_time(time: Duration) -> String {
    format!("{}ms", decimal(time.as_micros() as u64, 3))
}

/// Formats a loss for [`parse_loss`].
pub fn format_loss(ppm: u32) -> String {
    format!("{}%", decimal(ppm.into(), 4))
}

/// Formats a rate for [`parse_rate`].
pub fn format_rate(rate: Option<u64>) -> String {
    match rate {
        None => "none".to_owned(),
        Some(bytes) if bytes >= 1_000_000 => format!("{}MB", decimal(bytes, 6)),
        Some(bytes) => format!("{}kB", decimal(bytes, 3)),
    }
}
