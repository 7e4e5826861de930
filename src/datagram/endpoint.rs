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

/// Bytes of a datagram with a tag and without messages.
pub const DATAGRAM_OVERHEAD_BYTES: usize = HEADER_BYTES + TAG_BYTES;
/// Most bytes of messages in one datagram.
pub const MESSAGES_BYTES: usize = limits::DATAGRAM_BYTES - DATAGRAM_OVERHEAD_BYTES;
/// Most bytes of messages in one datagram of a data channel.
const CHANNEL_MESSAGES_BYTES: usize =
    limits::DATAGRAM_BYTES - HEADER_BYTES - limits::DATA_CHANNEL_OVERHEAD_BYTES;

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
    /// `None` if the carrier encrypts the datagrams.
    cipher: Option<Cipher>,
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
    /// Creates the end that sends in this direction. Without a key, the carrier encrypts the
    /// datagrams.
    pub fn new(outgoing: Direction, connection: u32, key: Option<&LaneKey>) -> LaneEndpoint {
        LaneEndpoint {
            connection,
            outgoing,
            cipher: key.map(Cipher::new),
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

    /// Bytes of a datagram without messages.
    pub fn overhead_bytes(&self) -> usize {
        if self.cipher.is_some() { DATAGRAM_OVERHEAD_BYTES } else { HEADER_BYTES }
    }

    /// Most bytes of messages in one datagram.
    pub fn messages_bytes(&self) -> usize {
        if self.cipher.is_some() { MESSAGES_BYTES } else { CHANNEL_MESSAGES_BYTES }
    }

    /// Makes a datagram with these messages, at most [`LaneEndpoint::messages_bytes`]. `tick` is
    /// the tick of the state in them.
    pub fn seal(&mut self, messages: &[u8], tick: Option<u32>, now: Duration) -> Vec<u8> {
        self.sequence += 1;
        let (newest, received) = self.received.acks();
        let (connection, sequence) = (self.connection, self.sequence as u16);
        let header = DatagramHeader { connection, sequence, newest, received };
        let mut datagram = Vec::with_capacity(HEADER_BYTES + messages.len() + TAG_BYTES);
        datagram.extend(header.bytes());
        datagram.extend_from_slice(messages);
        if let Some(cipher) = &self.cipher {
            cipher.seal(self.outgoing, self.sequence, &mut datagram);
        }
        self.sent.push_back(Sent { sequence: self.sequence, tick, at: now, is_acked: false });
        if self.sent.len() > REMEMBERED {
            self.forget_first();
        }
        self.stats.sent += 1;
        datagram
    }

    /// Forgets the oldest sent datagram. If it was not acknowledged, its tick never will be.
    fn forget_first(&mut self) {
        let Some(Sent { tick, is_acked: false, .. }) = self.sent.pop_front() else { return };
        self.sent.iter_mut().take_while(|sent| sent.tick == tick).for_each(|sent| sent.tick = None);
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
        if datagram.len() < self.overhead_bytes() {
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
        // The check for repetition is cheaper than the check of the tag.
        self.received.check(sequence)?;
        let messages = match &self.cipher {
            Some(cipher) => cipher.open(incoming, sequence, datagram).ok_or(DatagramError::WrongTag)?,
            None => datagram[HEADER_BYTES..].to_vec(),
        };
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
        let acknowledgeable = self.sent.iter_mut().rev().skip_while(|sent| sent.sequence > newest);
        for sent in acknowledgeable.take_while(|sent| newest - sent.sequence <= 32) {
            let age = newest - sent.sequence;
            if sent.is_acked || age > 0 && header.received >> (age - 1) & 1 == 0 {
                continue;
            }
            sent.is_acked = true;
            self.stats.acknowledged += 1;
            if age == 0 && newest > acked_before {
                self.round_trip = Some(now.saturating_sub(sent.at));
            }
        }
        self.acked_tick = self.acked_tick.max(self.newest_acked_tick());
    }

    /// Returns the newest tick with an acknowledged datagram, if all its datagrams are
    /// acknowledged. An older tick does not count, because the client drops its packets if they
    /// arrive after packets of a newer tick.
    fn newest_acked_tick(&self) -> Option<u32> {
        let newest = self.sent.iter().rfind(|sent| sent.is_acked && sent.tick.is_some())?.tick;
        let mut same = self.sent.iter().filter(|sent| sent.tick == newest);
        newest.filter(|_| same.all(|sent| sent.is_acked))
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

    /// Whether the lane is in use: the other end has sent a datagram and acknowledged one lately,
    /// and most of its datagrams arrive.
    pub fn is_usable(&self, now: Duration) -> bool {
        let (missing, sent) = self.received.missing();
        let silence = match self.outgoing {
            Direction::ToServer => limits::LANE_SILENCE,
            Direction::ToClient => limits::LANE_CLIENT_SILENCE,
        };
        let patience = self.round_trip.unwrap_or_default() + silence;
        let is_late = |sent: &Sent| now.saturating_sub(sent.at) > patience;
        self.acked > 0
            && !self.sent.iter().find(|sent| sent.sequence > self.acked).is_some_and(is_late)
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
        let end = |direction| LaneEndpoint::new(direction, 0xdead_beef, Some(&key));
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
    fn a_datagram_without_a_key_is_its_header_and_its_messages() {
        let end = |direction| LaneEndpoint::new(direction, 7, None);
        let (mut client, mut server) = (end(Direction::ToServer), end(Direction::ToClient));
        let datagram = client.seal(b"hello", None, NOW);
        assert_eq!(datagram, [0, 0, 0, 7, 0, 1, 0, 0, 0, 0, 0, 0, b'h', b'e', b'l', b'l', b'o']);
        assert_eq!(server.open(&datagram, NOW).map(|opened| opened.messages), Ok(b"hello".to_vec()));
        assert_eq!(server.open(&datagram, NOW), Err(DatagramError::Repeated));
        assert_eq!(server.open(&datagram[..11], NOW), Err(DatagramError::TooShort));
    }

    #[test]
    fn a_tick_is_acknowledged_when_all_its_datagrams_are() {
        let (mut client, mut server) = ends();
        let one = server.seal(b"1", Some(10), NOW);
        let two = [server.seal(b"2a", Some(11), NOW), server.seal(b"2b", Some(11), NOW)];
        client.open(&one, NOW).expect("it is right");
        client.open(&two[1], NOW).expect("it is right");
        server.open(&client.seal(b"", None, NOW), Duration::from_millis(70)).expect("it is right");
        // The client may have dropped packets of tick 10, after packets of tick 11.
        assert_eq!((server.acked_tick(), server.round_trip()), (None, Some(Duration::from_millis(70))));
        client.open(&two[0], NOW).expect("it is right");
        server.open(&client.seal(b"", None, NOW), NOW).expect("it is right");
        assert_eq!(server.acked_tick(), Some(11));
        assert_eq!(server.stats().acknowledged, 3);
        assert_eq!(client.stats().reordered, 1);
    }

    #[test]
    fn a_tick_with_a_lost_and_forgotten_datagram_is_not_acknowledged() {
        let (mut client, mut server) = ends();
        let two = [server.seal(b"1a", Some(10), NOW), server.seal(b"1b", Some(10), NOW)];
        client.open(&two[1], NOW).expect("it is right");
        server.open(&client.seal(b"", None, NOW), NOW).expect("it is right");
        (0..REMEMBERED).for_each(|_| drop(server.seal(b"", None, NOW)));
        server.open(&client.seal(b"", None, NOW), NOW).expect("it is right");
        assert_eq!(server.acked_tick(), None);
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

    /// The datagrams of the other end still arrive.
    #[test]
    fn a_lane_without_acknowledgements_is_not_in_use() {
        let (mut client, mut server) = ends();
        let mut now = NOW;
        let mut turn = |server_arrives: bool| {
            now += limits::LANE_ACK_INTERVAL;
            let datagram = server.seal(b"", None, now);
            if server_arrives {
                client.open(&datagram, now).expect("it is right");
            }
            server.open(&client.seal(b"", None, now), now).expect("it is right");
            server.is_usable(now)
        };
        assert!(turn(true));
        assert_eq!([(); 10].map(|()| turn(false)), std::array::from_fn(|turn| turn < 8));
        assert!(turn(true));
    }
}
