//! The server's end of a client's lane: the datagrams of its updates.

use core::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::lane_path::LanePath;
use crate::datagram::message::{MESSAGE_HEAD_BYTES, write_packet, write_received};
use crate::datagram::{DatagramError, LaneEndpoint, LaneKey};
use crate::game::{LaneBaseline, Messages};
use crate::limits;
use crate::packet::Direction;
use crate::util::sync::Mutex;

/// The grant of a lane.
#[derive(Debug, Clone)]
pub struct LaneGrant {
    /// The number of the lane in datagrams.
    pub connection: u32,
    /// The key of the lane. `None` if the carrier encrypts the datagrams.
    pub key: Option<LaneKey>,
    /// The UDP port of the server; 0 if the transport needs none.
    pub port: u16,
    /// The answer to the offer of a data channel, if the client has made one.
    pub answer: Option<ChannelAnswer>,
}

/// The answer to the offer of a data channel.
#[derive(Debug, Clone)]
pub struct ChannelAnswer {
    /// The session description.
    pub text: String,
    /// The session description for captures and inspectors, of the same length, without its
    /// password.
    pub redacted: String,
}

/// The place for a client's lane.
#[derive(Debug, Default)]
pub struct LaneSlot {
    /// Whether there is a lane, so that the updates of other clients take no lock.
    is_granted: AtomicBool,
    lane: Mutex<Option<Box<ClientLane>>>,
}

impl LaneSlot {
    /// Replaces the lane. `grant` describes the new one.
    pub fn set(&self, grant: &LaneGrant) {
        *self.lane.lock() = Some(Box::new(ClientLane::new(grant)));
        self.is_granted.store(true, Ordering::Release);
    }

    /// Returns whether the client has been granted a lane.
    pub fn is_granted(&self) -> bool {
        self.is_granted.load(Ordering::Acquire)
    }

    /// Opens a datagram from this address, if there are addresses. Returns its messages.
    ///
    /// # Errors
    /// The rule that the datagram breaks.
    pub fn open(
        &self,
        datagram: &[u8],
        from: Option<SocketAddr>,
        now: Duration,
    ) -> Result<Vec<u8>, DatagramError> {
        match &mut *self.lane.lock() {
            Some(lane) => lane.open(datagram, from, now),
            None => Err(DatagramError::UnknownConnection),
        }
    }

    /// Adds messages to the next datagram.
    pub fn add(&self, messages: &[u8]) {
        self.lane.lock().iter_mut().for_each(|lane| lane.add(messages));
    }

    /// Returns the baseline of updates by datagram. `None` without a lane in use.
    pub fn baseline(&self, is_stream_due: bool, now: Duration) -> Option<LaneBaseline> {
        self.is_granted().then(|| self.lane.lock().as_ref()?.baseline(is_stream_due, now)).flatten()
    }

    /// Calls [`ClientLane::seal`] if there is a lane.
    pub fn seal(
        &self,
        state: Option<(&Messages, u32)>,
        sequence: u64,
        now: Duration,
        send: impl FnMut(Option<SocketAddr>, &[u8], &[u8]),
    ) {
        if let Some(lane) = &mut *self.lane.lock() {
            lane.seal(state, sequence, now, send);
        }
    }
}

/// The server's end of a client's lane.
#[derive(Debug)]
pub struct ClientLane {
    endpoint: LaneEndpoint,
    /// Messages for the next datagram.
    replies: Vec<u8>,
    /// Sequence number of the last command that the client knows the server has.
    acknowledged: u64,
    /// Time of the last datagram to the client.
    sent: Option<Duration>,
    /// The client's address, if the transport has addresses.
    path: Option<LanePath>,
    /// The second of the last datagram, and the number of datagrams in it.
    second: (u64, u32),
    /// The time until which updates go in the stream, because one did not fit into datagrams.
    stream_until: Option<Duration>,
}

impl ClientLane {
    /// Creates the lane of a grant.
    pub fn new(grant: &LaneGrant) -> ClientLane {
        ClientLane {
            endpoint: LaneEndpoint::new(Direction::ToClient, grant.connection, grant.key.as_ref()),
            replies: Vec::new(),
            acknowledged: 0,
            sent: None,
            path: None,
            second: (0, 0),
            stream_until: None,
        }
    }

    /// Opens a datagram of the client from this address. Returns its messages.
    ///
    /// # Errors
    /// The rule that the datagram breaks.
    pub fn open(
        &mut self,
        datagram: &[u8],
        from: Option<SocketAddr>,
        now: Duration,
    ) -> Result<Vec<u8>, DatagramError> {
        let opened = self.endpoint.open(datagram, now)?;
        if let Some(from) = from {
            let arrived = (from, datagram.len());
            let path = LanePath::after_datagram(self.path, arrived, opened.is_newest, &self.endpoint);
            self.path = Some(path);
        }
        let (second, count) = self.second;
        self.second = if second == now.as_secs() { (second, count + 1) } else { (now.as_secs(), 1) };
        // Counted after the tag, so that only the client can use up its own limit.
        if self.second.1 > limits::LANE_DATAGRAMS_PER_SECOND {
            return Err(DatagramError::TooMany);
        }
        Ok(opened.messages)
    }

    /// Adds messages to the next datagram, as far as they fit into one.
    pub fn add(&mut self, messages: &[u8]) {
        if self.replies.len() + messages.len() <= limits::LANE_REPLY_BYTES {
            self.replies.extend_from_slice(messages);
        }
    }

    /// Returns the baseline of updates by datagram. `None` while the lane is not in use.
    pub fn baseline(&self, is_stream_due: bool, now: Duration) -> Option<LaneBaseline> {
        let is_proven = self.path.is_none_or(|path| path.is_proven());
        let is_in_stream = self.stream_until.is_some_and(|until| now < until);
        (is_proven && !is_in_stream && self.endpoint.is_usable(now))
            .then(|| LaneBaseline { acked_tick: self.endpoint.acked_tick(), is_stream_due })
    }

    /// Makes the datagrams of an update, or one without a state for acknowledgements. `sequence` is
    /// the last command that the server has.
    pub fn seal(
        &mut self,
        state: Option<(&Messages, u32)>,
        sequence: u64,
        now: Duration,
        mut send: impl FnMut(Option<SocketAddr>, &[u8], &[u8]),
    ) {
        let is_too_large = |(messages, _): &(&Messages, u32)| {
            let lengths = || messages.datagram().map(<[u8]>::len);
            lengths().max() > Some(limits::LANE_PACKET_BYTES)
                || lengths().sum::<usize>() > limits::LANE_UPDATE_BYTES
        };
        // The next update has this state, too, in the stream.
        if state.as_ref().is_some_and(is_too_large) {
            self.stream_until = Some(now + limits::LANE_STREAM_TIME);
        }
        let state = state.filter(|state| !is_too_large(state));
        let is_silent = self.sent.is_none_or(|sent| now.saturating_sub(sent) >= limits::LANE_ACK_INTERVAL);
        let has_state = state.is_some_and(|(messages, _)| messages.datagram().next().is_some());
        if !has_state && self.replies.is_empty() && self.acknowledged == sequence && !is_silent {
            return;
        }
        let mut content = std::mem::take(&mut self.replies);
        write_received(&mut content, u32::try_from(sequence).unwrap_or(u32::MAX));
        (self.acknowledged, self.sent) = (sequence, Some(now));
        let tick = state.map(|(_, tick)| tick);
        for packet in state.into_iter().flat_map(|(messages, _)| messages.datagram()) {
            if content.len() + MESSAGE_HEAD_BYTES + packet.len() > self.endpoint.messages_bytes() {
                self.send(&content, tick, now, &mut send);
                content.clear();
            }
            write_packet(&mut content, packet);
        }
        self.send(&content, tick, now, &mut send);
    }

    fn send(
        &mut self,
        content: &[u8],
        tick: Option<u32>,
        now: Duration,
        send: &mut impl FnMut(Option<SocketAddr>, &[u8], &[u8]),
    ) {
        // An unproven address gets a datagram without messages if the messages exceed its limit.
        for content in [content, &[]] {
            let bytes = self.endpoint.overhead_bytes() + content.len();
            if self.path.as_mut().is_none_or(|path| path.take(bytes)) {
                let datagram = self.endpoint.seal(content, tick.filter(|_| !content.is_empty()), now);
                return send(self.path.map(|path| path.address), &datagram, content);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketTables;

    const TABLE: &str = "direction\tname\tlane\ttest:int\targuments\tmeaning\n\
        to_client\tstate\tlatest\t1\ttext:str\tthe state";

    /// An update by datagram with packets of these lengths, and a few bytes more.
    fn update(lengths: &[usize]) -> Messages {
        let tables = PacketTables::from_texts(&[("test.tsv", TABLE)]).expect("a good table");
        let dialect = tables.dialect("test").expect("its dialect");
        let mut messages = Messages::default();
        for length in lengths {
            messages.datagram_writer(&dialect).send("state", &*"x".repeat(*length));
        }
        messages
    }

    /// A lane in use, and its other end.
    fn lane() -> (ClientLane, LaneEndpoint) {
        let grant = LaneGrant { connection: 7, key: Some(LaneKey([1; 32])), port: 0, answer: None };
        let mut client = LaneEndpoint::new(Direction::ToServer, grant.connection, grant.key.as_ref());
        let mut lane = ClientLane::new(&grant);
        for _ in 0..2 {
            let now = Duration::ZERO;
            lane.open(&client.seal(b"", None, now), None, now).expect("it is right");
            let mut sealed = Vec::new();
            lane.seal(None, 1 + client.sequence(), now, |_, datagram, _| sealed.push(datagram.to_vec()));
            sealed.iter().for_each(|datagram| _ = client.open(datagram, now).expect("it is right"));
        }
        let baseline = LaneBaseline { acked_tick: None, is_stream_due: true };
        assert_eq!(lane.baseline(true, Duration::ZERO), Some(baseline));
        (lane, client)
    }

    #[test]
    fn a_large_update_takes_several_datagrams_and_a_larger_packet_goes_in_the_stream() {
        let (mut lane, mut client) = lane();
        let sizes = |lane: &mut ClientLane, lengths: &[usize], tick| {
            let mut sizes = Vec::new();
            let update = update(lengths);
            lane.seal(Some((&update, tick)), 9, Duration::ZERO, |_, datagram, _| sizes.push(datagram.len()));
            sizes
        };
        let several = sizes(&mut lane, &[400, 400, 400, 400, 400], 5);
        assert_eq!(several.len(), 3);
        let longest = sizes(&mut lane, &[limits::LANE_PACKET_BYTES - 8], 6);
        assert!(longest.iter().chain(&several).all(|size| *size <= limits::DATAGRAM_BYTES), "{longest:?}");
        assert!(lane.baseline(true, Duration::ZERO).is_some());
        let small = sizes(&mut lane, &[10, limits::LANE_PACKET_BYTES], 7);
        assert!(small.iter().all(|size| *size < 60), "{small:?}: no part of the update is sent");
        assert_eq!(lane.baseline(true, Duration::ZERO), None, "the stream carries the next update");
        let later = limits::LANE_STREAM_TIME;
        let reopen = |lane: &mut ClientLane, client: &mut LaneEndpoint, now| {
            lane.open(&client.seal(b"", None, now), None, now).expect("it is right");
        };
        reopen(&mut lane, &mut client, later);
        assert!(lane.baseline(true, later - Duration::from_millis(1)).is_none());
        assert!(lane.baseline(true, later).is_some());
        lane.seal(Some((&update(&[800; 6]), 8)), 9, later, |_, _, _| {});
        assert_eq!(lane.baseline(true, later), None, "its six packets would be a burst");
    }

    /// A client that seals, a stranger with its datagrams, and the bytes of the stranger's address.
    struct Theft {
        lane: ClientLane,
        client: LaneEndpoint,
        now: Duration,
        from_stranger: usize,
        to_stranger: usize,
    }

    const CLIENT: SocketAddr = SocketAddr::new(core::net::IpAddr::V4(core::net::Ipv4Addr::LOCALHOST), 1);
    const STRANGER: SocketAddr = SocketAddr::new(core::net::IpAddr::V4(core::net::Ipv4Addr::LOCALHOST), 2);

    impl Theft {
        fn new() -> Theft {
            let (lane, client) = lane();
            let mut theft = Theft { lane, client, now: Duration::ZERO, from_stranger: 0, to_stranger: 0 };
            for _ in 0..3 {
                theft.turn(&[CLIENT]);
            }
            assert!(theft.lane.path.is_some_and(|path| path.is_proven()));
            theft
        }

        /// A datagram of the client arrives from these addresses in turn, and the server sends an
        /// update. Returns whether updates go by datagram.
        fn turn(&mut self, addresses: &[SocketAddr]) -> bool {
            self.now += limits::LANE_ACK_INTERVAL / 2;
            let datagram = self.client.seal(b"", None, self.now);
            for (at, address) in addresses.iter().enumerate() {
                let opened = self.lane.open(&datagram, Some(*address), self.now);
                assert_eq!(opened.err(), (at > 0).then_some(DatagramError::Repeated));
                self.from_stranger += if *address == STRANGER { datagram.len() } else { 0 };
            }
            let has_baseline = self.lane.baseline(true, self.now).is_some();
            let update = update(&[300]);
            let state = has_baseline.then_some((&update, (self.now.as_millis() / 50) as u32));
            let mut sealed = Vec::new();
            self.lane.seal(state, 9, self.now, |to, datagram, _| sealed.push((to, datagram.to_vec())));
            for (to, datagram) in sealed {
                if to == Some(CLIENT) {
                    self.client.open(&datagram, self.now).expect("it is right");
                } else {
                    self.to_stranger += datagram.len();
                }
            }
            assert!(self.to_stranger <= self.from_stranger, "a stranger is sent no more than it sends");
            has_baseline
        }
    }

    #[test]
    fn a_stranger_that_sends_the_datagrams_first_gets_no_update_and_the_client_gets_the_lane_back() {
        let mut theft = Theft::new();
        assert!(theft.turn(&[CLIENT]));
        for _ in 0..200 {
            assert!(!theft.turn(&[STRANGER, CLIENT]), "the stream carries the update");
        }
        assert!(theft.to_stranger > 0 && !theft.client.is_usable(theft.now));
        // Its address needs no proof, but acknowledgements have to come again: the server's next
        // datagram without a state is due at the second turn.
        assert_eq!([(); 3].map(|()| theft.turn(&[CLIENT])), [false, false, true]);
        // A single datagram stops the updates by datagram for one turn.
        assert!(!theft.turn(&[STRANGER, CLIENT]));
        // The client uses the lane once most of the last 32 datagrams have arrived.
        assert!((0..16).all(|_| theft.turn(&[CLIENT])) && theft.client.is_usable(theft.now));
    }

    #[test]
    fn a_stranger_that_sends_the_datagrams_later_changes_nothing() {
        let mut theft = Theft::new();
        for _ in 0..200 {
            assert!(theft.turn(&[CLIENT, STRANGER]));
        }
        assert_eq!(theft.to_stranger, 0);
    }
}
