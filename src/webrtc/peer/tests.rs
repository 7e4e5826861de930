//! Tests of the server's end of a data channel, with a browser's end in the same thread.

use std::time::Duration;

use super::*;
use crate::webrtc::test_browser::TestBrowser;

/// A browser, its peer, and a simulated network.
struct TestPair {
    browser: TestBrowser,
    peer: Peer,
    answer: String,
    from: SocketAddr,
    now: Instant,
    /// Whether the packet with this number, counted in both directions, is lost.
    is_lost: fn(usize) -> bool,
    packets: usize,
    received: Vec<Vec<u8>>,
}

impl TestPair {
    fn new(seed: u8) -> TestPair {
        let now = Instant::now();
        let browser = TestBrowser::new(seed, now);
        let certificate = Certificate::new(&[7; 32], &[7; 16]).expect("a good key");
        let credentials = IceCredentials::new(0xc000_0001, [3; 16]);
        let offer = Offer::read(&browser.offer()).expect("a good offer");
        let server = "192.0.2.1:3000".parse().expect("an address");
        let answer = offer.answer(&credentials, certificate.fingerprint(), server);
        let peer = Peer::new(&offer, credentials, Arc::new(certificate));
        let from = "192.0.2.9:40000".parse().expect("an address");
        let mut pair = TestPair {
            browser,
            peer,
            answer,
            from,
            now,
            is_lost: |_| false,
            packets: 0,
            received: Vec::new(),
        };
        pair.check(from).expect("the right password");
        pair
    }

    fn check(&mut self, from: SocketAddr) -> Result<PeerOutput, WebRtcError> {
        let message = self.browser.request(&self.answer, true);
        let request = BindingRequest::read(&message).expect("a request");
        let mut out = PeerOutput::default();
        self.peer.on_request(&request, from, self.now, &mut out).map(|()| out)
    }

    fn is_lost(&mut self) -> bool {
        self.packets += 1;
        (self.is_lost)(self.packets)
    }

    /// Carries packets for this time, in steps of 10 ms.
    fn run(&mut self, time: Duration) -> Result<(), WebRtcError> {
        let end = self.now + time;
        while self.now < end {
            let mut out = PeerOutput::default();
            for record in self.browser.take_packets(self.now) {
                if !self.is_lost() {
                    self.peer.on_record(&record, self.from, self.now, &mut out)?;
                }
            }
            if self.peer.deadline().is_some_and(|deadline| deadline <= self.now) {
                self.peer.handle_timeout(self.now, &mut out)?;
            }
            self.deliver(out);
            self.now += Duration::from_millis(10);
        }
        Ok(())
    }

    fn deliver(&mut self, out: PeerOutput) {
        self.received.extend(out.datagrams);
        for (to, packet) in out.packets {
            assert!(packet.len() <= limits::DATAGRAM_BYTES, "{} bytes", packet.len());
            if to == self.from && !self.is_lost() {
                self.browser.receive(&packet, self.now);
            }
        }
    }

    fn send(&mut self, datagram: &[u8]) {
        let mut out = PeerOutput::default();
        self.peer.send(datagram, self.now, &mut out).expect("the channel lives");
        self.deliver(out);
    }
}

#[test]
fn datagrams_pass_in_both_directions() {
    let mut pair = TestPair::new(1);
    pair.send(b"too early");
    pair.run(Duration::from_millis(200)).expect("no failure");
    assert!(pair.peer.is_open && pair.browser.is_open);
    let expected = Certificate::new(&[7; 32], &[7; 16]).expect("a good key");
    assert_eq!(pair.browser.server, Some(*expected.fingerprint()), "the fingerprint in the answer");
    for n in 0..100u8 {
        pair.send(&[n; 1_132]);
        pair.browser.send(&[n; 900]);
        pair.run(Duration::from_millis(30)).expect("no failure");
    }
    assert_eq!(pair.received, (0..100u8).map(|n| vec![n; 900]).collect::<Vec<_>>());
    assert_eq!(pair.browser.received, (0..100u8).map(|n| vec![n; 1_132]).collect::<Vec<_>>());
}

#[test]
fn lost_datagrams_are_not_retransmitted_and_delay_no_other() {
    let mut pair = TestPair::new(2);
    pair.run(Duration::from_millis(200)).expect("no failure");
    // Every fifth on average; a period could hit all acknowledgements.
    pair.is_lost = |packet| (packet as u32).wrapping_mul(0x9e37_79b9).rotate_left(9).is_multiple_of(5);
    for n in 0..200u8 {
        let before = (pair.received.len(), pair.browser.received.len());
        pair.send(&[n; 100]);
        pair.browser.send(&[n; 100]);
        pair.run(Duration::from_millis(30)).expect("no failure");
        for (received, before) in [(&pair.received, before.0), (&pair.browser.received, before.1)] {
            assert!(received[before..].iter().all(|datagram| datagram[0] == n), "{n}: none arrives late");
        }
    }
    for received in [&pair.received, &pair.browser.received] {
        assert!((100..200).contains(&received.len()), "{} of 200", received.len());
    }
}

#[test]
fn a_handshake_with_losses_succeeds() {
    let mut pair = TestPair::new(3);
    pair.is_lost = |packet| packet % 3 == 0;
    pair.run(Duration::from_secs(20)).expect("no failure");
    assert!(pair.peer.is_open && pair.browser.is_open, "after {} packets", pair.packets);
}

#[test]
fn a_certificate_without_the_offered_fingerprint_closes_the_channel() {
    let mut pair = TestPair::new(4);
    pair.peer.fingerprint[0] ^= 1;
    assert_eq!(pair.run(Duration::from_secs(1)), Err(WebRtcError::DtlsWrongCertificate));
    assert!(!pair.peer.is_open);
    let mut out = PeerOutput::default();
    assert_eq!(pair.peer.send(b"x", pair.now, &mut out), Err(WebRtcError::DtlsWrongCertificate));
    assert!(out.packets.is_empty());
}

#[test]
fn records_are_accepted_only_from_addresses_of_authentic_requests() {
    let mut pair = TestPair::new(5);
    let attacker: SocketAddr = "192.0.2.66:1".parse().expect("an address");
    let record = pair.browser.take_packets(pair.now).remove(0);
    let mut out = PeerOutput::default();
    let received = pair.peer.on_record(&record, attacker, pair.now, &mut out);
    assert_eq!(received, Err(WebRtcError::DtlsUnknownAddress));
    let wrong = pair.answer.replace("a=ice-pwd:0", "a=ice-pwd:1");
    let message = pair.browser.request(&wrong, true);
    let request = BindingRequest::read(&message).expect("a request");
    let checked = pair.peer.on_request(&request, attacker, pair.now, &mut out);
    assert_eq!(checked, Err(WebRtcError::StunWrongPassword));
    assert!(out.packets.is_empty(), "no response");
    for n in 0..20 {
        pair.check(SocketAddr::new(attacker.ip(), n)).expect("the right password");
    }
    assert_eq!(pair.peer.addresses().count(), limits::DATA_CHANNEL_ADDRESSES);
}

#[test]
fn packets_go_to_the_address_that_the_client_nominated_last() {
    let mut pair = TestPair::new(6);
    pair.run(Duration::from_millis(200)).expect("no failure");
    pair.from = "198.51.100.2:9".parse().expect("an address");
    pair.browser.send(b"lost");
    assert_eq!(pair.run(Duration::from_millis(20)), Err(WebRtcError::DtlsUnknownAddress));
    pair.check(pair.from).expect("the right password");
    pair.browser.send(b"here");
    pair.send(b"there");
    pair.run(Duration::from_millis(50)).expect("no failure");
    assert_eq!((&*pair.received[0], &*pair.browser.received[0]), (&b"here"[..], &b"there"[..]));
}

#[test]
fn random_records_leave_the_channel_open() {
    let mut pair = TestPair::new(7);
    pair.run(Duration::from_millis(200)).expect("no failure");
    let mut random = 1u32;
    for length in 0..2_000 {
        let byte = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 24) as u8
        };
        let mut record: Vec<u8> = std::iter::repeat_with(byte).take(length % 300).collect();
        if let Some(first) = record.first_mut() {
            *first = 20 + *first % 44;
        }
        let mut out = PeerOutput::default();
        let _ = pair.peer.on_record(&record, pair.from, pair.now, &mut out);
    }
    pair.send(b"still there");
    pair.run(Duration::from_millis(50)).expect("no failure");
    assert_eq!(pair.browser.received, [b"still there"]);
}
