//! The parameters of a simulated network, and their text: `delay=150ms,jitter=30ms,loss=2%`.

use std::fmt;
use std::time::Duration;

use super::units::{format_loss, format_rate, format_time, parse_loss, parse_rate, parse_time};
use crate::limits;

/// The parameters of a simulated network. The default is an ideal one: no delay, no loss, no rate
/// limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Conditions {
    /// Mean delay of a segment in each direction.
    pub delay: Duration,
    /// Maximum difference between the delay of a segment and the mean. The difference is
    /// distributed uniformly.
    pub jitter: Duration,
    /// Probability of losing a segment, in parts per million.
    pub loss_ppm: u32,
    /// Rate in bytes per second from the client to the server; `None` means unlimited.
    pub up: Option<u64>,
    /// Rate in bytes per second from the server to the client; `None` means unlimited.
    pub down: Option<u64>,
}

/// A direction of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
}

impl Conditions {
    /// Whether there is no delay, no loss and no rate limit.
    pub fn is_ideal(&self) -> bool {
        *self == Conditions::default()
    }

    /// The rate of a direction in bytes per second; `None` means unlimited.
    pub fn rate(&self, direction: Direction) -> Option<u64> {
        match direction {
            Direction::Up => self.up,
            Direction::Down => self.down,
        }
    }

    /// Time before a lost segment is resent: `max(200 ms, round trip + 4 × variation)`. The formula
    /// follows RFC 6298, section 2, with the mean of the round trip and its mean deviation.
    pub fn retransmission_timeout(&self) -> Duration {
        // The sum of two delays, each uniform between -jitter and +jitter, has a mean deviation of
        // 2/3 jitter.
        let variation = self.jitter * 2 / 3;
        (self.delay * 2 + variation * 4).max(limits::NETEM_MIN_RTO)
    }

    /// Checks the parameters against each other and against the limits.
    ///
    /// # Errors
    /// The first parameter that is out of bounds, with its bounds.
    pub fn check(&self) -> Result<(), String> {
        let text_of = |time: Duration| format_time(time);
        if self.delay > limits::NETEM_MAX_DELAY {
            let max = text_of(limits::NETEM_MAX_DELAY);
            return Err(format!("delay {}: must be at most {max}", text_of(self.delay)));
        }
        if self.jitter > self.delay {
            let (jitter, delay) = (text_of(self.jitter), text_of(self.delay));
            return Err(format!("jitter {jitter}: must be at most the delay, which is {delay}"));
        }
        if self.loss_ppm > limits::NETEM_MAX_LOSS_PPM {
            let [most, loss] = [limits::NETEM_MAX_LOSS_PPM, self.loss_ppm].map(format_loss);
            return Err(format!("loss {loss}: must be at most {most}"));
        }
        let (min, max) = (limits::NETEM_MIN_RATE, limits::NETEM_MAX_RATE);
        let is_wrong = |rate: &u64| !(min..=max).contains(rate);
        if let Some(rate) = self.up.into_iter().chain(self.down).find(is_wrong) {
            let [rate, min, max] = [rate, min, max].map(|rate| format_rate(Some(rate)));
            return Err(format!("rate {rate}: must be from {min} to {max} a second"));
        }
        Ok(())
    }

    /// Sets the parameter of this name.
    ///
    /// # Errors
    /// The name is unknown, or the value is invalid.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let named = |error: String| format!("{name}={value}: {error}");
        match name {
            "delay" => self.delay = parse_time(value).map_err(named)?,
            "jitter" => self.jitter = parse_time(value).map_err(named)?,
            "loss" => self.loss_ppm = parse_loss(value).map_err(named)?,
            "rate-up" => self.up = parse_rate(value).map_err(named)?,
            "rate-down" => self.down = parse_rate(value).map_err(named)?,
            "rate" => (self.up, self.down) = parse_rate(value).map(|rate| (rate, rate)).map_err(named)?,
            _ => return Err(format!("{name}: {SYNTAX_HINT}")),
        }
        Ok(())
    }
}

/// The expected syntax, for error messages.
pub const SYNTAX_HINT: &str = "expected delay, jitter, loss, rate, rate-up or rate-down, such as delay=150ms";

impl fmt::Display for Conditions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [delay, jitter] = [self.delay, self.jitter].map(format_time);
        write!(out, "delay={delay},jitter={jitter},loss={}", format_loss(self.loss_ppm))?;
        let [up, down] = [self.up, self.down].map(format_rate);
        match (self.up, self.down) {
            (None, None) => Ok(()),
            (one, other) if one == other => write!(out, ",rate={up}"),
            _ => write!(out, ",rate-up={up},rate-down={down}"),
        }
    }
}
