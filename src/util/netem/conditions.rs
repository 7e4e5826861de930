//! The figures of a line, and their text: `delay=150ms,jitter=30ms,loss=2%`.

use std::fmt;
use std::time::Duration;

use super::units::{loss, rate, text_of_loss, text_of_rate, text_of_time, time};
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
        let is_wrong = |rate: &u64| !(least..=most).contains(rate);
        if let Some(rate) = self.up.into_iter().chain(self.down).find(is_wrong) {
            let [rate, least, most] = [rate, least, most].map(|rate| text_of_rate(Some(rate)));
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

/// What the text of conditions consists of.
pub const EXPECTED: &str = "expected delay, jitter, loss, rate, rate-up or rate-down, such as delay=150ms";

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
