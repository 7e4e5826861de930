//! A session's state as bytes, for a capture that begins in the middle of a connection.
//!
//! ```text
//!   state u8 · player u16 · sequence u64 · attacks u8 · since chat, ping, clan command: u64 each
//! ```
//!
//! Times are ages in nanoseconds, and the largest number means never; all numbers are little-endian.

use std::time::Duration;

use super::{Session, State};
use crate::world::PlayerId;

const GREETING: u8 = 0;
const WATCHING: u8 = 1;
const PLAYING: u8 = 2;
/// Stands for a time that never happened.
const NEVER: u64 = u64::MAX;

impl Session {
    /// Appends everything that decides how the session handles the next packet, `now`.
    pub fn save(&self, now: Duration, out: &mut Vec<u8>) {
        let (state, player) = match self.state {
            State::Greeting => (GREETING, 0),
            State::Watching => (WATCHING, 0),
            State::Playing(player) => (PLAYING, player.0),
        };
        out.push(state);
        out.extend(player.to_le_bytes());
        out.extend(self.sequence.to_le_bytes());
        out.push(u8::from(self.attacks));
        self.paced.iter().for_each(|at| Saved::write_ago(out, now, *at));
    }

    /// Reads what [`Session::save`] wrote; `None` if the bytes are wrong.
    pub fn restore(saved: &mut Saved<'_>) -> Option<Session> {
        let (state, player) = (saved.u8()?, PlayerId(u16::from_le_bytes(saved.array()?)));
        let state = match state {
            GREETING => State::Greeting,
            WATCHING => State::Watching,
            PLAYING => State::Playing(player),
            _ => return None,
        };
        let sequence = saved.u64()?;
        let attacks = saved.u8().filter(|attacks| *attacks <= 1)?;
        let paced = [saved.ago()?, saved.ago()?, saved.ago()?];
        Some(Session { state, sequence, attacks: attacks == 1, paced })
    }

    /// The sequence of the session's last command.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }
}

/// Saved bytes that are read, `now`.
#[derive(Debug)]
pub struct Saved<'a> {
    bytes: &'a [u8],
    now: Duration,
}

impl<'a> Saved<'a> {
    /// All of these bytes.
    pub fn new(bytes: &'a [u8], now: Duration) -> Saved<'a> {
        Saved { bytes, now }
    }

    /// Appends the nanoseconds since `then`, or the mark for never.
    pub fn write_ago(out: &mut Vec<u8>, now: Duration, then: Option<Duration>) {
        let ago = then.map(|then| u64::try_from(now.saturating_sub(then).as_nanos()).unwrap_or(NEVER - 1));
        out.extend(ago.unwrap_or(NEVER).to_le_bytes());
    }

    /// Whether all bytes were read.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next number.
    pub fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    /// The next number.
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// The next time, if it happened.
    pub fn ago(&mut self) -> Option<Option<Duration>> {
        let ago = self.u64()?;
        Some((ago != NEVER).then(|| self.now.saturating_sub(Duration::from_nanos(ago))))
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(*taken)
    }
}
