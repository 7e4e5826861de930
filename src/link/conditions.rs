//! The figures of a line, and their text: `delay=150ms,jitter=30ms,loss=2%`, or `wifi,loss=2%`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::presets::{PRESETS, preset};
use crate::limits;

/// What a line does. The default does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Conditions {
    /// Time that a segment takes in each direction, on average.
    pub delay: Duration,
    /// The delay of each segment differs from the average by at most this much; all values are
    /// equally likely.
    pub jitter: Duration,
    /// Lost segments, in parts per million.
    pub loss_ppm: u32,
    /// Bytes a second from the client to the server; none for any number.
    pub up: Option<u64>,
    /// Bytes a second from the server to the client; none for any number.
    pub down: Option<u64>,
}

/// A direction of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
}

impl Conditions {
    /// Whether bytes arrive at once.
    pub fn is_perfect(&self) -> bool {
        *self == Conditions::default()
    }

    /// The rate of a direction, in bytes a second.
    pub fn rate(&self, direction: Direction) -> Option<u64> {
        match direction {
            Direction::Up => self.up,
            Direction::Down => self.down,
        }
    }

    /// Time after which a lost segment is sent again: RFC 6298, section 2, with the round trip's mean and
    /// its mean deviation, `max(200 ms, round trip + 4 × variation)`.
    pub fn timeout(&self) -> Duration {
        // The sum of two delays, each even between -jitter and +jitter, deviates by 2/3 of the jitter on average.
        let variation = self.jitter * 2 / 3;
        (self.delay * 2 + variation * 4).max(limits::LINK_TIMEOUT_LEAST)
    }

    /// Checks the figures against each other and against the limits.
    ///
    /// # Errors
    /// The first figure that is out of its bounds, with the bounds.
    pub fn check(&self) -> Result<(), String> {
        let shown = |time: Duration| text_of_time(time);
        if self.delay > limits::LINK_DELAY_MOST {
            let most = shown(limits::LINK_DELAY_MOST);
            return Err(format!("delay {}: must be at most {most}", shown(self.delay)));
        }
        if self.jitter > self.delay {
            let (jitter, delay) = (shown(self.jitter), shown(self.delay));
            return Err(format!("jitter {jitter}: must be at most the delay, which is {delay}"));
        }
        if self.loss_ppm > limits::LINK_LOSS_MOST {
            let [most, loss] = [limits::LINK_LOSS_MOST, self.loss_ppm].map(text_of_loss);
            return Err(format!("loss {loss}: must be at most {most}"));
        }
        let (least, most) = (limits::LINK_RATE_LEAST, limits::LINK_RATE_MOST);
        for rate in self.up.into_iter().chain(self.down).filter(|rate| !(least..=most).contains(rate)) {
            let [rate, least, most] = [rate, least, most].map(|rate| text_of_rate(Some(rate)));
            return Err(format!("rate {rate}: must be from {least} to {most} a second"));
        }
        Ok(())
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let named = |error: String| format!("{name}={value}: {error}");
        match name {
            "delay" => self.delay = time(value).map_err(named)?,
            "jitter" => self.jitter = time(value).map_err(named)?,
            "loss" => self.loss_ppm = loss(value).map_err(named)?,
            "rate-up" => self.up = rate(value).map_err(named)?,
            "rate-down" => self.down = rate(value).map_err(named)?,
            "rate" => (self.up, self.down) = rate(value).map(|rate| (rate, rate)).map_err(named)?,
            _ => return Err(format!("{name}: {EXPECTED}")),
        }
        Ok(())
    }
}

const EXPECTED: &str = "expected delay, jitter, loss, rate, rate-up or rate-down, such as delay=150ms";

impl FromStr for Conditions {
    type Err = String;

    fn from_str(text: &str) -> Result<Conditions, String> {
        if text.len() > limits::LINK_TEXT_CHARS {
            return Err(format!("{} characters are too many for network conditions", text.len()));
        }
        let mut conditions = Conditions::default();
        for (at, part) in text.split(',').enumerate() {
            match part.split_once('=') {
                Some((name, value)) => conditions.set(name, value)?,
                None if at == 0 => match preset(part) {
                    Some(preset) => conditions = preset.conditions,
                    None => {
                        let names = PRESETS.map(|preset| preset.name).join(", ");
                        return Err(format!(
                            "{part:?}: expected {names}, or conditions such as delay=150ms,loss=2%"
                        ));
                    }
                },
                None => return Err(format!("{part:?}: {EXPECTED}")),
            }
        }
        conditions.check().map(|()| conditions)
    }
}

impl fmt::Display for Conditions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [delay, jitter] = [self.delay, self.jitter].map(text_of_time);
        write!(out, "delay={delay},jitter={jitter},loss={}", text_of_loss(self.loss_ppm))?;
        let [up, down] = [self.up, self.down].map(text_of_rate);
        match (self.up, self.down) {
            (None, None) => Ok(()),
            (one, other) if one == other => write!(out, ",rate={up}"),
            _ => write!(out, ",rate-up={up},rate-down={down}"),
        }
    }
}

/// A time: `150ms`, `0.5ms`, `1.5s`, down to a microsecond.
///
/// # Errors
/// The text is no time.
pub fn time(text: &str) -> Result<Duration, String> {
    let (number, digits) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => (number, 3),
        (None, Some(number)) => (number, 6),
        (None, None) => (if text == "0" { text } else { "" }, 0),
    };
    let us = scaled(number, digits);
    us.map(Duration::from_micros).ok_or_else(|| "expected a time such as 150ms or 0.5s".to_owned())
}

/// A share of all segments in percent, in parts per million: `2%`, `0.1%`.
///
/// # Errors
/// The text is no share.
pub fn loss(text: &str) -> Result<u32, String> {
    let number = text.strip_suffix('%').or((text == "0").then_some(text));
    let ppm = number.and_then(|number| scaled(number, 4)).and_then(|ppm| u32::try_from(ppm).ok());
    ppm.ok_or_else(|| "expected a share in percent such as 2% or 0.1%".to_owned())
}

/// A number of bytes or bits a second: `250kB`, `2Mbit`; or `none` for any number.
///
/// # Errors
/// The text is no rate.
pub fn rate(text: &str) -> Result<Option<u64>, String> {
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

/// A decimal number times ten to the power of `digits`, if that is a whole number that fits.
fn scaled(text: &str, digits: usize) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let part = if part == "0" { "" } else { part };
    if !are_digits(whole) || part.len() > digits || !(part.is_empty() || are_digits(part)) {
        return None;
    }
    format!("{whole}{part:0<digits$}").parse().ok()
}

/// A number of parts of which ten to the power of `digits` are one, as a decimal number.
fn decimal(parts: u64, digits: usize) -> String {
    let all = format!("{parts:0>width$}", width = digits + 1);
    let (whole, part) = all.split_at(all.len() - digits);
    let part = part.trim_end_matches('0');
    if part.is_empty() { whole.to_owned() } else { format!("{whole}.{part}") }
}

fn text_of_time(time: Duration) -> String {
    format!("{}ms", decimal(time.as_micros() as u64, 3))
}

fn text_of_loss(ppm: u32) -> String {
    format!("{}%", decimal(ppm.into(), 4))
}

fn text_of_rate(rate: Option<u64>) -> String {
    match rate {
        None => "none".to_owned(),
        Some(bytes) if bytes >= 1_000_000 => format!("{}MB", decimal(bytes, 6)),
        Some(bytes) => format!("{}kB", decimal(bytes, 3)),
    }
}
