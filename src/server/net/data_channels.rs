//! Data channels of browsers, on the UDP socket of the lanes.
//!
//! ```text
//!   STUN ─► user name ─┐
//!   DTLS ─► address ───┴─► connection id ─► peer ─► datagrams of the client
//! ```

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::server::clients::client_lane::ChannelAnswer;
use crate::util::os;
use crate::util::sync::Mutex;
use crate::webrtc::peer::PeerOutput;
use crate::webrtc::session_description::{IceCredentials, Offer};
use crate::webrtc::stun::BindingRequest;
use crate::webrtc::{Certificate, PacketKind, Peer, WebRtcError};

/// Error text when the server has no certificate.
const NO_CHANNEL_TEXT: &str = "the server cannot make a data channel: play on the WebSocket alone";
/// Error text when the offer cannot be parsed.
const BAD_OFFER_TEXT: &str = "the offer must describe a data channel and have a SHA-256 fingerprint";

/// The datagrams in one packet of a data channel.
#[derive(Debug)]
pub struct ChannelDatagrams {
    /// The connection id of the lane.
    pub connection: u32,
    /// The datagrams.
    pub datagrams: Vec<Vec<u8>>,
}

/// The data channels of a server.
#[derive(Debug)]
pub struct DataChannels {
    /// `None` if the server has no channels.
    certificate: Option<Arc<Certificate>>,
    channels: Mutex<Channels>,
    /// Number of channels. While it is 0, no lock is taken.
    count: AtomicUsize,
}

#[derive(Debug, Default)]
struct Channels {
    peers: BTreeMap<u32, Arc<Mutex<Peer>>>,
    /// Connection id by source address of an authentic binding request.
    addresses: BTreeMap<SocketAddr, u32>,
}

impl DataChannels {
    /// Whether this program has data channels.
    pub const ARE_BUILT: bool = true;

    /// Creates the collection without a channel. With `has_certificate`, channels can be opened.
    /// Needs a thread with a large stack: without optimization, the stack of a client's thread is
    /// too small to make a certificate.
    pub fn new(has_certificate: bool) -> DataChannels {
        // About one random key in 2^32 is outside the order of the curve.
        let new_certificate = || (0..8).find_map(|_| Certificate::new(&os::random(), &os::random()));
        DataChannels {
            certificate: has_certificate.then(new_certificate).flatten().map(Arc::new),
            channels: Mutex::default(),
            count: AtomicUsize::new(0),
        }
    }

    /// Whether there is no channel.
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// Opens the server's end of a channel. `address` is the server's address in the answer.
    ///
    /// # Errors
    /// An error text for the client: the offer cannot be parsed, or the server has no certificate.
    pub fn open(
        &self,
        connection: u32,
        offer: &str,
        address: SocketAddr,
    ) -> Result<ChannelAnswer, &'static str> {
        let offer = Offer::read(offer).map_err(|_| BAD_OFFER_TEXT)?;
        let certificate = self.certificate.as_ref().ok_or(NO_CHANNEL_TEXT)?;
        let credentials = IceCredentials::new(connection, os::random());
        let answer = |credentials| offer.answer(credentials, certificate.fingerprint(), address);
        let (text, redacted) = (answer(&credentials), answer(&credentials.redacted()));
        let peer = Arc::new(Mutex::new(Peer::new(&offer, credentials, Arc::clone(certificate))));
        let mut channels = self.channels.lock();
        channels.peers.insert(connection, peer);
        self.count.store(channels.peers.len(), Ordering::Release);
        Ok(ChannelAnswer { text, redacted })
    }

    /// Closes a channel.
    pub fn close(&self, connection: u32) {
        let mut channels = self.channels.lock();
        channels.peers.remove(&connection);
        channels.addresses.retain(|_, other| *other != connection);
        self.count.store(channels.peers.len(), Ordering::Release);
    }

    /// Whether a UDP packet is STUN or DTLS, and not a datagram.
    pub fn is_for_channel(packet: &[u8]) -> bool {
        PacketKind::from_packet(packet) != PacketKind::Datagram
    }

    /// Sends a datagram in the channel of its lane. Returns false if the lane has no channel.
    pub fn send(&self, connection: u32, datagram: &[u8], send: impl FnMut(SocketAddr, &[u8])) -> bool {
        if self.is_empty() {
            return false;
        }
        let Some(peer) = self.peer(connection) else { return false };
        // A failed channel drops its datagrams, and the client detects the silence.
        let _ = self.run(connection, &peer, send, |peer, now, out| peer.send(datagram, now, out));
        true
    }

    /// Handles a STUN message or a DTLS record. Returns the client's datagrams.
    ///
    /// # Errors
    /// The rule that the packet breaks.
    pub fn receive(
        &self,
        packet: &[u8],
        from: SocketAddr,
        send: impl FnMut(SocketAddr, &[u8]),
    ) -> Result<ChannelDatagrams, WebRtcError> {
        if PacketKind::from_packet(packet) == PacketKind::Stun {
            return self.receive_request(packet, from, send);
        }
        let connection = self.channels.lock().addresses.get(&from).copied();
        let connection = connection.ok_or(WebRtcError::DtlsUnknownAddress)?;
        let peer = self.peer(connection).ok_or(WebRtcError::DtlsUnknownAddress)?;
        self.run(connection, &peer, send, |peer, now, out| peer.on_record(packet, from, now, out))
    }

    fn receive_request(
        &self,
        packet: &[u8],
        from: SocketAddr,
        send: impl FnMut(SocketAddr, &[u8]),
    ) -> Result<ChannelDatagrams, WebRtcError> {
        let request = BindingRequest::read(packet)?;
        let connection = IceCredentials::connection_of(request.username);
        let connection = connection.ok_or(WebRtcError::StunUnknownUser)?;
        let peer = self.peer(connection).ok_or(WebRtcError::StunUnknownUser)?;
        // A client with a forged source address must not receive the records of another client.
        if self.channels.lock().addresses.get(&from).is_some_and(|owner| *owner != connection) {
            return Err(WebRtcError::StunAddressInUse);
        }
        let received =
            self.run(connection, &peer, send, |peer, now, out| peer.on_request(&request, from, now, out))?;
        let mut channels = self.channels.lock();
        let addresses: Vec<SocketAddr> = peer.lock().addresses().collect();
        channels.addresses.retain(|address, other| *other != connection || addresses.contains(address));
        // Another thread may have closed the channel.
        if channels.peers.contains_key(&connection) {
            channels.addresses.insert(from, connection);
        }
        Ok(received)
    }

    /// Runs the timers of the channels whose deadlines have passed. Timers yield no datagrams.
    pub fn advance(&self, mut send: impl FnMut(SocketAddr, &[u8])) {
        let now = Instant::now();
        let peers: Vec<(u32, Arc<Mutex<Peer>>)> = {
            let channels = self.channels.lock();
            channels.peers.iter().map(|(connection, peer)| (*connection, Arc::clone(peer))).collect()
        };
        for (connection, peer) in peers {
            if peer.lock().deadline().is_some_and(|deadline| deadline <= now) {
                let _ = self.run(connection, &peer, &mut send, Peer::handle_timeout);
            }
        }
    }

    fn peer(&self, connection: u32) -> Option<Arc<Mutex<Peer>>> {
        self.channels.lock().peers.get(&connection).cloned()
    }

    /// Runs a step of a peer, and sends its packets. Closes the channel if DTLS or SCTP fails or
    /// panics: the client continues on its WebSocket, and may request another lane.
    fn run(
        &self,
        connection: u32,
        peer: &Mutex<Peer>,
        mut send: impl FnMut(SocketAddr, &[u8]),
        step: impl FnOnce(&mut Peer, Instant, &mut PeerOutput) -> Result<(), WebRtcError>,
    ) -> Result<ChannelDatagrams, WebRtcError> {
        let mut out = PeerOutput::default();
        let result = {
            let mut peer = peer.lock();
            let step = AssertUnwindSafe(|| step(&mut peer, Instant::now(), &mut out));
            let result = catch_unwind(step).unwrap_or(Err(WebRtcError::Closed));
            // The lock keeps the packets in the order of the steps of several threads.
            out.packets.iter().for_each(|(to, packet)| send(*to, packet));
            result
        };
        match result {
            Ok(()) => Ok(ChannelDatagrams { connection, datagrams: out.datagrams }),
            Err(rule) => {
                if rule.is_fatal() {
                    self.close(connection);
                }
                Err(rule)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webrtc::test_browser::TestBrowser;

    const CONNECTION: u32 = 0xc000_0007;

    fn address(last: u8) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, last], 40_000))
    }

    /// Exchanges packets between the browser and the channels until the browser sends no more.
    /// Returns the browser's datagrams.
    fn exchange(channels: &DataChannels, browser: &mut TestBrowser, from: SocketAddr) -> Vec<Vec<u8>> {
        let mut datagrams = Vec::new();
        loop {
            let now = Instant::now();
            let packets = browser.take_packets(now);
            if packets.is_empty() {
                return datagrams;
            }
            for packet in packets {
                let mut sent = Vec::new();
                let received = channels.receive(&packet, from, |to, packet| {
                    assert_eq!(to, from);
                    sent.push(packet.to_vec());
                });
                let received = received.expect("no rule is broken");
                assert_eq!(received.connection, CONNECTION);
                datagrams.extend(received.datagrams);
                sent.iter().for_each(|packet| browser.receive(packet, now));
            }
        }
    }

    #[test]
    fn a_channel_carries_datagrams_until_it_is_closed() {
        let channels = DataChannels::new(true);
        let mut browser = TestBrowser::new(9, Instant::now());
        let answer = channels.open(CONNECTION, &browser.offer(), address(1)).expect("a good offer");
        assert!(!channels.is_empty() && answer.text.contains("a=ice-ufrag:c0000007"));
        assert_eq!(answer.redacted.len(), answer.text.len());
        let record = browser.take_packets(Instant::now()).remove(0);
        let early = channels.receive(&record, address(9), |_, _| panic!("a response"));
        assert_eq!(early.err(), Some(WebRtcError::DtlsUnknownAddress));
        let mut responses = 0;
        let request = browser.request(&answer.text, true);
        channels.receive(&request, address(9), |_, _| responses += 1).expect("the right password");
        assert_eq!(responses, 1);
        // After a second, the browser retransmits its first record, which was rejected.
        let repeated =
            channels.receive(&record, address(9), |_, packet| browser.receive(packet, Instant::now()));
        repeated.expect("a request has come from the address");
        exchange(&channels, &mut browser, address(9));
        assert!(browser.is_open);
        browser.send(b"to the server");
        assert_eq!(exchange(&channels, &mut browser, address(9)), [b"to the server"]);
        assert!(
            channels.send(CONNECTION, b"to the page", |_, packet| browser.receive(packet, Instant::now()))
        );
        exchange(&channels, &mut browser, address(9));
        assert_eq!(browser.received, [b"to the page"]);
        assert!(!channels.send(CONNECTION + 1, b"another lane", |_, _| panic!("it has no channel")));
        channels.close(CONNECTION);
        assert!(channels.is_empty() && !channels.send(CONNECTION, b"late", |_, _| panic!("it is closed")));
        let late = channels.receive(&request, address(9), |_, _| panic!("a response"));
        assert_eq!(late.err(), Some(WebRtcError::StunUnknownUser));
    }

    #[test]
    fn a_channel_cannot_take_the_address_of_another_one() {
        let channels = DataChannels::new(true);
        let browser = TestBrowser::new(11, Instant::now());
        let request = |connection| {
            let answer = channels.open(connection, &browser.offer(), address(1)).expect("a good offer");
            browser.request(&answer.text, true)
        };
        let (owner, attacker) = (request(CONNECTION), request(CONNECTION + 1));
        channels.receive(&owner, address(9), |_, _| {}).expect("a free address");
        let refused = channels.receive(&attacker, address(9), |_, _| panic!("a response"));
        assert_eq!(refused.err(), Some(WebRtcError::StunAddressInUse));
        channels.receive(&attacker, address(8), |_, _| {}).expect("a free address");
        channels.close(CONNECTION);
        channels.receive(&attacker, address(9), |_, _| {}).expect("the address is free again");
    }

    #[test]
    fn packets_without_the_password_get_no_response() {
        let channels = DataChannels::new(true);
        let browser = TestBrowser::new(10, Instant::now());
        let answer = channels.open(CONNECTION, &browser.offer(), address(1)).expect("a good offer");
        let wrong = answer.text.replace("a=ice-pwd:", "a=ice-pwd:0");
        let other = answer.text.replace("a=ice-ufrag:c0000007", "a=ice-ufrag:c0000008");
        for (answer, rule) in [(wrong, WebRtcError::StunWrongPassword), (other, WebRtcError::StunUnknownUser)]
        {
            let request = browser.request(&answer, true);
            assert_eq!(channels.receive(&request, address(9), |_, _| panic!("a response")).err(), Some(rule));
        }
        for packet in [&[0, 1][..], &[22, 254, 253], &[3; 600]] {
            assert!(channels.receive(packet, address(9), |_, _| panic!("a response")).is_err());
        }
        assert!(channels.open(CONNECTION, "v=0", address(1)).is_err(), "not an offer");
        let none = DataChannels::new(false).open(CONNECTION, &browser.offer(), address(1));
        assert_eq!(none.err(), Some(NO_CHANNEL_TEXT));
    }
}
