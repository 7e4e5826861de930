//! The browser's end of a data channel, for tests.

use core::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use dimpl::{Config, Dtls, Output};
use sctp_proto::{
    Association, AssociationHandle, ClientConfig, DatagramEvent, Endpoint, EndpointConfig, Event, Payload,
    PayloadProtocolIdentifier, ReliabilityType,
};

use super::certificate::{Certificate, fingerprint_of};
use super::stun;

/// Remote address for the SCTP library. SCTP over DTLS uses no addresses.
const ANYWHERE: &str = "127.0.0.1:1";

/// The browser's end of a data channel.
pub struct TestBrowser {
    certificate: Certificate,
    pub ufrag: String,
    dtls: Dtls,
    sctp: Endpoint,
    association: Option<(AssociationHandle, Association)>,
    pub is_open: bool,
    /// SHA-256 of the server's certificate.
    pub server: Option<[u8; 32]>,
    pub received: Vec<Vec<u8>>,
}

impl TestBrowser {
    pub fn new(seed: u8, now: Instant) -> TestBrowser {
        let certificate = Certificate::new(&[seed; 32], &[seed; 16]).expect("a good key");
        let config = Arc::new(Config::builder().build().expect("good settings"));
        let mut dtls = Dtls::new_12(config, certificate.dtls(), now);
        dtls.set_active(true);
        TestBrowser {
            certificate,
            ufrag: "p8kF".to_owned(),
            dtls,
            sctp: Endpoint::new(Arc::new(EndpointConfig::default()), None),
            association: None,
            is_open: false,
            server: None,
            received: Vec::new(),
        }
    }

    /// The offer of this browser.
    pub fn offer(&self) -> String {
        let hex: Vec<String> =
            self.certificate.fingerprint().iter().map(|byte| format!("{byte:02X}")).collect();
        format!(
            "v=0\r\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:0\r\na=ice-ufrag:{}\r\n\
             a=ice-pwd:dVuiWwyx6iAiHVQF5HNtxTKV\r\na=fingerprint:sha-256 {}\r\na=setup:actpass\r\n",
            self.ufrag,
            hex.join(":")
        )
    }

    /// A binding request with the credentials of the answer.
    pub fn request(&self, answer: &str, is_nominated: bool) -> Vec<u8> {
        let value = |name: &str| answer.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
        let username = format!("{}:{}", value("a=ice-ufrag:"), self.ufrag);
        stun::request(&username, value("a=ice-pwd:"), is_nominated)
    }

    /// Handles a DTLS record.
    pub fn receive(&mut self, record: &[u8], now: Instant) {
        self.dtls.handle_timeout(now).expect("it goes on");
        self.dtls.handle_packet(record).expect("it goes on");
    }

    /// Sends a datagram.
    pub fn send(&mut self, datagram: &[u8]) {
        let (_, association) = self.association.as_mut().expect("an association");
        let mut stream = association.stream(0).expect("the stream");
        stream.write_with_ppi(datagram, PayloadProtocolIdentifier::Binary).expect("it fits");
    }

    /// Runs the timers, and takes the packets for the server.
    pub fn take_packets(&mut self, now: Instant) -> Vec<Vec<u8>> {
        self.dtls.handle_timeout(now).expect("it goes on");
        if let Some((_, association)) = &mut self.association {
            association.handle_timeout(now);
        }
        let mut packets = Vec::new();
        self.poll_dtls(now, &mut packets);
        if let Some((_, association)) = &mut self.association {
            let mut out = Vec::new();
            while let Some(transmit) = association.poll_transmit(now) {
                if let Payload::RawEncode(parts) = transmit.payload {
                    out.extend(parts);
                }
            }
            out.iter().for_each(|packet| _ = self.dtls.send_application_data(packet).expect("it goes on"));
        }
        self.poll_dtls(now, &mut packets);
        packets
    }

    fn poll_dtls(&mut self, now: Instant, packets: &mut Vec<Vec<u8>>) {
        let mut buffer = vec![0; 4_096];
        loop {
            match self.dtls.poll_output(&mut buffer) {
                Output::Packet(packet) => packets.push(packet.to_vec()),
                Output::PeerCert(der) => self.server = Some(fingerprint_of(der)),
                Output::Connected => {
                    let anywhere: SocketAddr = ANYWHERE.parse().expect("an address");
                    let connected = self.sctp.connect(ClientConfig::new(), anywhere);
                    self.association = Some(connected.expect("it may connect"));
                }
                Output::ApplicationData(packet) => {
                    let packet = Bytes::copy_from_slice(packet);
                    self.receive_sctp(packet, now);
                }
                Output::Timeout(_) => return,
                _ => {}
            }
        }
    }

    fn receive_sctp(&mut self, packet: Bytes, now: Instant) {
        let anywhere: SocketAddr = ANYWHERE.parse().expect("an address");
        let event = self.sctp.handle(now, anywhere, None, None, packet);
        let Some((_, association)) = &mut self.association else { return };
        if let Some((_, DatagramEvent::AssociationEvent(event))) = event {
            association.handle_event(event);
        }
        while let Some(event) = association.poll() {
            if matches!(event, Event::Connected) {
                let opened = association.open_stream(0, PayloadProtocolIdentifier::Binary);
                let mut stream = opened.expect("the first stream");
                stream.set_reliability_params(true, ReliabilityType::Rexmit, 0).expect("it is open");
                self.is_open = true;
            }
        }
        if !self.is_open {
            return;
        }
        while association.accept_stream().is_some() {}
        let Ok(mut stream) = association.stream(0) else { return };
        while let Ok(Some(chunks)) = stream.read() {
            let mut datagram = vec![0; chunks.len()];
            chunks.read(&mut datagram).expect("it fits");
            self.received.push(datagram);
        }
    }
}
