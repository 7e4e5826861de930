//! One end of a lane.

use std::collections::VecDeque;
use std::time::Duration;

use super::error::DatagramError;
use super::header::{DatagramHeader, HEADER_BYTES};
use super::seal::{Cipher, LaneKey, TAG_BYTES};
use super::sequence::{ReceivedWindow, extend};
use crate::limits;
use crate::packet::Direction;

/// Number of sent datagrams that are remembered. A header acknowledges 33 of them.
const REMEMBERED: usize = 128;

/// Bytes of a datagram without messages.
pub const DATAGRAM_OVERHEAD_BYTES: usize = HEADER_BYTES + TAG_BYTES;
/// Most bytes of messages in one datagram.
pub const MESSAGES_BYTES: usize = limits::DATAGRAM_BYTES - DATAGRAM_OVERHEAD_BYTES;

/// Counts of one end of a lane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LaneStats {
    /// Sent datagrams.
    pub sent: u64,
    /// Sent datagrams that the other end has acknowledged.
    pub acknowledged: u64,
    /// Opened datagrams.
    pub received: u64,
    /// Datagrams that arrived again.
    pub repeated: u64,
    /// Datagrams that arrived after a newer one.
    pub reordered: u64,
    /// Datagrams that could not be opened.
    pub refused: u64,
}

/// A sent datagram.
#[derive(Debug, Clone, Copy)]
struct Sent {
    sequence: u64,
    /// The tick of the state in the datagram.
    tick: Option<u32>,
    at: Duration,
    is_acked: bool,
}

/// An opened datagram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// The sequence number.
    pub sequence: u64,
    /// Whether no newer datagram has arrived.
    pub is_newest: bool,
    /// The messages; [`message::read`](super::message::read) iterates over them.
    pub messages: Vec<u8>,
}

/// One end of a lane: numbers, seals, opens and acknowledges datagrams.
#[derive(Debug, Clone)]
pub struct LaneEndpoint {
    connection: u32,
    outgoing: Direction,
    cipher: Cipher,
    sequence: u64,
    received: ReceivedWindow,
    sent: VecDeque<Sent>,
    /// The newest sent sequence number that the other end has acknowledged.
    acked: u64,
    acked_tick: Option<u32>,
    round_trip: Option<Duration>,
    last_received: Option<Duration>,
    stats: LaneStats,
}

impl LaneEndpoint {
    /// Creates the end that sends in this direction.
    pub fn new(outgoing: Direction, connection: u32, key: &LaneKey) -> LaneEndpoint {
        LaneEndpoint {
            connection,
            outgoing,
            cipher: Cipher::new(key),
            sequence: 0,
            received: ReceivedWindow::default(),
            sent: VecDeque::new(),
            acked: 0,
            acked_tick: None,
            round_trip: None,
            last_received: None,
            stats: LaneStats::default(),
        }
    }

    /// Makes a datagram with these messages, at most [`MESSAGES_BYTES`]. `tick` is the tick of the
    /// state in them.
    pub fn seal(&mut self, messages: &[u8], tick: Option<u32>, now: Duration) -> Vec<u8> {
        self.sequence += 1;
        let (newest, received) = self.received.acks();
        let (connection, sequence) = (self.connection, self.sequence as u16);
        let header = DatagramHeader { connection, sequence, newest, received };
        let mut datagram = Vec::with_capacity(HEADER_BYTES + messages.len() + TAG_BYTES);
        datagram.extend(header.bytes());
        datagram.extend_from_slice(messages);
        self.cipher.seal(self.outgoing, self.sequence, &mut datagram);
        self.sent.push_back(Sent { sequence: self.sequence, tick, at: now, is_acked: false });
        if self.sent.len() > REMEMBERED {
            self.sent.pop_front();
        }
        self.stats.sent += 1;
        datagram
    }

    /// Opens a datagram from the other end. A datagram that breaks a rule changes nothing.
    ///
    /// # Errors
    /// The broken rule.
    pub fn open(&mut self, datagram: &[u8], now: Duration) -> Result<Opened, DatagramError> {
        let result = self.check(datagram);
        match &result {
            Ok((header, opened)) => {
                self.received.record(opened.sequence);
                self.last_received = Some(now);
                self.stats.received += 1;
                self.stats.reordered += u64::from(!opened.is_newest);
                self.on_acks(*header, now);
            }
            Err(DatagramError::Repeated) => self.stats.repeated += 1,
            Err(_) => self.stats.refused += 1,
        }
        result.map(|(_, opened)| opened)
    }

    fn check(&self, datagram: &[u8]) -> Result<(DatagramHeader, Opened), DatagramError> {
        if datagram.len() > limits::DATAGRAM_BYTES {
            return Err(DatagramError::TooLong);
        }
        let header = DatagramHeader::read(datagram).ok_or(DatagramError::TooShort)?;
        if datagram.len() < HEADER_BYTES + TAG_BYTES {
            return Err(DatagramError::TooShort);
        }
        if header.connection != self.connection {
            return Err(DatagramError::UnknownConnection);
        }
        let sequence = self.received.extend(header.sequence);
        let incoming = match self.outgoing {
            Direction::ToServer => Direction::ToClient,
            Direction::ToClient => Direction::ToServer,
        };
        // Whether it is a repetition is cheaper to know than whether its tag is right.
        self.received.check(sequence)?;
        let messages = self.cipher.open(incoming, sequence, datagram).ok_or(DatagramError::WrongTag)?;
        let is_newest = sequence > self.received.newest();
        Ok((header, Opened { sequence, is_newest, messages }))
    }

    fn on_acks(&mut self, header: DatagramHeader, now: Duration) {
        let newest = extend(header.newest, self.sequence);
        if newest == 0 || newest > self.sequence {
            return;
        }
        let acked_before = self.acked;
        self.acked = self.acked.max(newest);
        for sent in self.sent.iter_mut().filter(|sent| !sent.is_acked) {
            let is_acked = match newest.checked_sub(sent.sequence) {
                Some(0) => true,
                Some(age) => age <= 32 && header.received >> (age - 1) & 1 == 1,
                None => false,
            };
            if !is_acked {
                continue;
            }
            sent.is_acked = true;
            self.stats.acknowledged += 1;
            if sent.sequence == newest && newest > acked_before {
                self.round_trip = Some(now.saturating_sub(sent.at));
            }
        }
        self.acked_tick = self.acked_tick.max(self.newest_acked_tick());
    }

    /// The newest tick all of whose datagrams are acknowledged.
    fn newest_acked_tick(&self) -> Option<u32> {
        let ticks = self.sent.iter().filter(|sent| sent.is_acked).filter_map(|sent| sent.tick);
        ticks.filter(|tick| self.sent.iter().all(|sent| sent.is_acked || sent.tick != Some(*tick))).max()
    }

    /// The newest tick whose state the other end has; `None` before the first.
    pub fn acked_tick(&self) -> Option<u32> {
        self.acked_tick
    }

    /// The last sequence number that this end has used; 0 before the first datagram.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The newest sequence number that the other end has acknowledged; 0 before the first.
    pub fn acked(&self) -> u64 {
        self.acked
    }

    /// The time from the last acknowledged datagram to its acknowledgement.
    pub fn round_trip(&self) -> Option<Duration> {
        self.round_trip
    }

    /// Whether the lane is in use: the other end has acknowledged a datagram and has sent one
    /// lately, and most of its datagrams arrive.
    pub fn is_usable(&self, now: Duration) -> bool {
        let (missing, sent) = self.received.missing();
        let patience = self.round_trip.unwrap_or_default() + limits::LANE_SILENCE;
        self.acked > 0
            && self.last_received.is_some_and(|last_received| now.saturating_sub(last_received) <= patience)
            && (sent < limits::LANE_LOSS_SAMPLE || 2 * missing <= sent)
    }

    /// The counts.
    pub fn stats(&self) -> LaneStats {
        self.stats
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;

    fn ends() -> (LaneEndpoint, LaneEndpoint) {
        let key = LaneKey(std::array::from_fn(|n| n as u8));
        let end = |direction| LaneEndpoint::new(direction, 0xdead_beef, &key);
        (end(Direction::ToServer), end(Direction::ToClient))
    }

    #[test]
    fn what_one_end_seals_the_other_opens_once() {
        let (mut client, mut server) = ends();
        let datagram = client.seal(b"hello", None, NOW);
        assert_eq!(datagram.len(), HEADER_BYTES + 5 + TAG_BYTES);
        assert_eq!(datagram[..12], [0xde, 0xad, 0xbe, 0xef, 0, 1, 0, 0, 0, 0, 0, 0]);
        let opened = server.open(&datagram, NOW).expect("it is right");
        assert_eq!((opened.sequence, opened.is_newest, &*opened.messages), (1, true, &b"hello"[..]));
        assert_eq!(server.open(&datagram, NOW), Err(DatagramError::Repeated));
        assert_eq!(client.open(&datagram, NOW), Err(DatagramError::WrongTag), "it is for the other end");
    }

    #[test]
    fn a_changed_byte_anywhere_is_found_and_changes_nothing() {
        let (mut client, mut server) = ends();
        for _ in 0..3 {
            server.open(&client.seal(b"before", None, NOW), NOW).expect("it is right");
        }
        let datagram = client.seal(b"hello", None, NOW);
        for at in 0..datagram.len() {
            for bit in 0..8 {
                let mut changed = datagram.clone();
                changed[at] ^= 1 << bit;
                let error = server.open(&changed, NOW).expect_err("it is wrong");
                let by_header = matches!(
                    error,
                    DatagramError::UnknownConnection | DatagramError::Repeated | DatagramError::TooOld
                );
                assert!(error == DatagramError::WrongTag || at < 6 && by_header, "byte {at}: {error:?}");
            }
        }
        for end in 0..datagram.len() {
            let expected = if end < HEADER_BYTES + TAG_BYTES {
                DatagramError::TooShort
            } else {
                DatagramError::WrongTag
            };
            assert_eq!(server.open(&datagram[..end], NOW), Err(expected), "{end} bytes");
        }
        let long = vec![0; limits::DATAGRAM_BYTES + 1];
        assert_eq!(server.open(&long, NOW), Err(DatagramError::TooLong));
        assert!(server.open(&datagram, NOW).is_ok(), "the right one still opens");
    }

    #[test]
    fn a_tick_is_acknowledged_when_all_its_datagrams_are() {
        let (mut client, mut server) = ends();
        let one = server.seal(b"1", Some(10), NOW);
        let two = [server.seal(b"2a", Some(11), NOW), server.seal(b"2b", Some(11), NOW)];
        client.open(&one, NOW).expect("it is right");
        client.open(&two[1], NOW).expect("it is right");
        server.open(&client.seal(b"", None, NOW), Duration::from_millis(70)).expect("it is right");
        assert_eq!((server.acked_tick(), server.round_trip()), (Some(10), Some(Duration::from_millis(70))));
        client.open(&two[0], NOW).expect("it is right");
        server.open(&client.seal(b"", None, NOW), NOW).expect("it is right");
        assert_eq!(server.acked_tick(), Some(11));
        assert_eq!(server.stats().acknowledged, 3);
        assert_eq!(client.stats().reordered, 1);
    }

    #[test]
    fn sequence_numbers_continue_beyond_sixteen_bits() {
        let (mut client, mut server) = ends();
        // Both ends are near the end of 16 bits.
        (client.sequence, server.sequence) = (65_400, 131_000);
        server.received.record(65_400);
        client.received.record(131_000);
        for n in 65_401..=66_100u64 {
            let datagram = client.seal(b"", None, NOW);
            // Some are lost.
            if n % 7 != 0 {
                let opened = server.open(&datagram, NOW).expect("it is right");
                assert_eq!(opened.sequence, n);
            }
            client.open(&server.seal(b"", None, NOW), NOW).expect("it is right");
        }
        assert_eq!((client.stats().acknowledged, server.stats().received), (600, 600));
    }

    #[test]
    fn a_lane_is_in_use_while_most_datagrams_arrive() {
        let (mut client, mut server) = ends();
        assert!(!client.is_usable(NOW), "nothing was acknowledged");
        server.open(&client.seal(b"", None, NOW), NOW).expect("it is right");
        client.open(&server.seal(b"", None, NOW), NOW).expect("it is right");
        assert!(client.is_usable(NOW));
        assert!(!client.is_usable(NOW + limits::LANE_SILENCE + Duration::from_millis(1)), "it is silent");
        let mut arrive = |every: usize| {
            for n in 0..96 {
                let datagram = server.seal(b"", None, NOW);
                if n % every == 0 {
                    client.open(&datagram, NOW).expect("it is right");
                }
            }
            client.is_usable(NOW)
        };
        assert_eq!([arrive(2), arrive(3), arrive(1)], [true, false, true]);
    }
}
