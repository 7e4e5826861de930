//! The figures of a line, and their text: `delay=150ms,jitter=30ms,loss=2%`.

use std::fmt;
use std::time::Duration;

use super::units::{format_loss, format_rate, format_time, parse_loss, parse_rate, parse_time};
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
    pub fn is_ideal(&self) -> bool {
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
    pub fn retransmission_timeout(&self) -> Duration {
        // The sum of two delays, each even between -jitter and +jitter, deviates by 2/3 of the jitter on average.
        let variation = self.jitter * 2 / 3;
        (self.delay * 2 + variation * 4).max(limits::NETEM_MIN_RTO)
    }

    /// Checks the figures against each other and against the limits.
    ///
    /// # Errors
    /// The first figure that is out of its bounds, with the bounds.
    pub fn check(&self) -> Result<(), String> {
        let shown = |time: Duration| format_time(time);
        if self.delay > limits::NETEM_MAX_DELAY {
            let most = shown(limits::NETEM_MAX_DELAY);
            return Err(format!("delay {}: must be at most {most}", shown(self.delay)));
        }
        if self.jitter > self.delay {
            let (jitter, delay) = (shown(self.jitter), shown(self.delay));
            return Err(format!("jitter {jitter}: must be at most the delay, which is {delay}"));
        }
        if self.loss_ppm > limits::NETEM_MAX_LOSS_PPM {
            let [most, loss] = [limits::NETEM_MAX_LOSS_PPM, self.loss_ppm].map(format_loss);
            return Err(format!("loss {loss}: must be at most {most}"));
        }
        let (least, most) = (limits::NETEM_MIN_RATE, limits::NETEM_MAX_RATE);
        let is_wrong = |rate: &u64| !(least..=most).contains(rate);
        if let Some(rate) = self.up.into_iter().chain(self.down).find(is_wrong) {
            let [rate, least, most] = [rate, least, most].map(|rate| format_rate(Some(rate)));
            return Err(format!("rate {rate}: must be from {least} to {most} a second"));
        }
        Ok(())
    }

    /// Sets the figure of this name.
    ///
    /// # Errors
    /// There is no such figure, or the text is none of its values.
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

/// What the text of conditions consists of.
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
