//! A session's state as bytes, for a capture that begins in the middle of a conversation.
//!
//! ```text
//!   state u8 · player u16 · sequence u64 · attacks u8 · since chat, ping, wish u64 each · messages, bytes: tokens u64, since u64 each
//! ```
//!
//! Times are nanoseconds ago, the largest number for never; all numbers are least significant byte
//! first. The bytes contain no secret, because a session holds none.

use std::time::Duration;

use super::{Bucket, Session, State};
use crate::limits;
use crate::world::PlayerId;

const GREETING: u8 = 0;
const WATCHING: u8 = 1;
const PLAYING: u8 = 2;
/// Stands for a time that never happened.
const NEVER: u64 = u64::MAX;

impl Session {
    /// Saves everything that decides how the session handles the next packet, `now`.
    pub fn save(&self, now: Duration) -> Vec<u8> {
        let (state, player) = match self.state {
            State::Greeting => (GREETING, 0),
            State::Watching => (WATCHING, 0),
            State::Playing(player) => (PLAYING, player.0),
        };
        let mut out = vec![state];
        out.extend(player.to_le_bytes());
        out.extend(self.sequence.to_le_bytes());
        out.push(u8::from(self.attacks));
        for happened in [self.chatted, self.pinged, self.wished] {
            out.extend(happened.map_or(NEVER, |then| nanoseconds(now, then)).to_le_bytes());
        }
        for bucket in [&self.messages, &self.bytes] {
            out.extend(bucket.tokens_nano.to_le_bytes());
            out.extend(nanoseconds(now, bucket.filled).to_le_bytes());
        }
        out
    }

    /// Restores a session, `now`; `None` if the bytes are not those that [`Session::save`] makes.
    pub fn restore(bytes: &[u8], now: Duration) -> Option<Session> {
        let mut reader = Reader { bytes, now };
        let ([state], player) = (reader.array()?, u16::from_le_bytes(reader.array()?));
        let sequence = u64::from_le_bytes(reader.array()?);
        let [attacks] = reader.array()?;
        let (chatted, pinged, wished) = (reader.time()?, reader.time()?, reader.time()?);
        let messages = reader.bucket(limits::CLIENT_MESSAGES_PER_SECOND, limits::CLIENT_MESSAGES_BURST)?;
        let bytes = reader.bucket(limits::CLIENT_BYTES_PER_SECOND, limits::CLIENT_BYTES_BURST)?;
        let state = match state {
            GREETING => State::Greeting,
            WATCHING => State::Watching,
            PLAYING => State::Playing(PlayerId(player)),
            _ => return None,
        };
        let session =
            Session { state, sequence, chatted, pinged, wished, attacks: attacks == 1, messages, bytes };
        (reader.bytes.is_empty() && attacks <= 1).then_some(session)
    }

    /// The sequence of the session's last command.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }
}

fn nanoseconds(now: Duration, then: Duration) -> u64 {
    u64::try_from(now.saturating_sub(then).as_nanos()).unwrap_or(NEVER - 1)
}

struct Reader<'a> {
    bytes: &'a [u8],
    now: Duration,
}

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(*taken)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads a time, if it happened.
    fn time(&mut self) -> Option<Option<Duration>> {
        let ago = self.u64()?;
        Some((ago != NEVER).then(|| self.now.saturating_sub(Duration::from_nanos(ago))))
    }

    fn bucket(&mut self, per_second: u32, burst: u32) -> Option<Bucket> {
        let (tokens_nano, ago) = (self.u64()?, self.u64()?);
        let filled = self.now.saturating_sub(Duration::from_nanos(ago));
        let full = Bucket::full(per_second, burst, filled);
        Some(Bucket { tokens_nano: tokens_nano.min(full.burst), ..full })
    }
}
