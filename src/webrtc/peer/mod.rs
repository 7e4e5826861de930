//! The server's end of one data channel.
//!
//! ```text
//!   packet ─► STUN ─► response
//!          └► DTLS ─► SCTP ─► stream 0 ─► datagram
//!   datagram ─► stream 0 ─► SCTP ─► DTLS ─► packet
//! ```

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use dimpl::{Config, Dtls, Output};
use sctp_proto::{
    Association, AssociationHandle, DatagramEvent, Endpoint, EndpointConfig, Event, Payload,
    PayloadProtocolIdentifier, ReliabilityType, ServerConfig, StreamEvent, TransportConfig,
};

use super::certificate::{Certificate, fingerprint_of};
use super::error::WebRtcError;
use super::session_description::{FINGERPRINT_BYTES, IceCredentials, Offer};
use super::stun::BindingRequest;
use crate::limits;

/// Id of the stream that both ends use without negotiation.
const STREAM: u16 = 0;
/// Remote address for the SCTP library. SCTP over DTLS uses no addresses.
const NO_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1);

/// Packets and datagrams that a [`Peer`] returns. The driver drains it after each call.
#[derive(Debug, Default)]
pub struct PeerOutput {
    /// Packets to send, with their addresses.
    pub packets: Vec<(SocketAddr, Vec<u8>)>,
    /// Datagrams of the client.
    pub datagrams: Vec<Vec<u8>>,
}

/// The server's end of one data channel.
#[derive(Debug)]
pub struct Peer {
    credentials: IceCredentials,
    /// SHA-256 of the client's certificate.
    fingerprint: [u8; FINGERPRINT_BYTES],
    /// Source addresses of authentic binding requests, the newest last.
    checked: VecDeque<SocketAddr>,
    /// The address to which packets are sent.
    address: Option<SocketAddr>,
    certificate: Arc<Certificate>,
    /// Started by the first request with the right password.
    dtls: Option<Dtls>,
    is_proven: bool,
    sctp: Endpoint,
    association: Option<(AssociationHandle, Association)>,
    is_open: bool,
    /// Time of the next call of `handle_timeout`.
    deadline: Option<Instant>,
    failure: Option<WebRtcError>,
    /// Buffer for a packet of DTLS.
    buffer: Vec<u8>,
}

impl Peer {
    /// Creates the end of a data channel to the client with this offer.
    pub fn new(offer: &Offer, credentials: IceCredentials, certificate: Arc<Certificate>) -> Peer {
        let mut endpoint = EndpointConfig::default();
        endpoint.max_payload_size(limits::DATAGRAM_BYTES as u32);
        let mut server = ServerConfig::default();
        server.transport = Arc::new(
            TransportConfig::default()
                .with_max_receive_buffer_size(limits::DATA_CHANNEL_RECEIVE_BYTES)
                .with_max_send_message_size(limits::DATAGRAM_BYTES as u32)
                .with_max_receive_message_size(limits::DATAGRAM_BYTES as u32)
                .with_max_num_inbound_streams(1)
                .with_max_num_outbound_streams(1),
        );
        Peer {
            credentials,
            fingerprint: offer.fingerprint,
            checked: VecDeque::new(),
            address: None,
            certificate,
            dtls: None,
            is_proven: false,
            sctp: Endpoint::new(Arc::new(endpoint), Some(Arc::new(server))),
            association: None,
            is_open: false,
            deadline: None,
            failure: None,
            buffer: vec![0; 2 * limits::DATAGRAM_BYTES],
        }
    }

    /// Responds to a binding request, and accepts DTLS records from its address.
    ///
    /// # Errors
    /// The password is wrong, or DTLS cannot be started.
    pub fn on_request(
        &mut self,
        request: &BindingRequest<'_>,
        from: SocketAddr,
        now: Instant,
        out: &mut PeerOutput,
    ) -> Result<(), WebRtcError> {
        if !request.is_authentic(&self.credentials.password) {
            return Err(WebRtcError::StunWrongPassword);
        }
        if self.dtls.is_none() {
            let config = Config::builder().mtu(limits::DATAGRAM_BYTES).build();
            let config = config.map_err(|_| self.fail(WebRtcError::DtlsFailed))?;
            let mut dtls = Dtls::new_12(Arc::new(config), self.certificate.dtls(), now);
            dtls.set_active(false);
            self.dtls = Some(dtls);
        }
        if !self.checked.contains(&from) {
            if self.checked.len() >= limits::DATA_CHANNEL_ADDRESSES {
                self.checked.pop_front();
            }
            self.checked.push_back(from);
        }
        if request.is_nominated || self.address.is_none() {
            self.address = Some(from);
        }
        out.packets.push((from, request.response(from, &self.credentials.password)));
        Ok(())
    }

    /// The addresses from which DTLS records are accepted.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.checked.iter().copied()
    }

    /// Handles a DTLS record.
    ///
    /// # Errors
    /// The record is from an unknown address, or the channel has failed.
    pub fn on_record(
        &mut self,
        record: &[u8],
        from: SocketAddr,
        now: Instant,
        out: &mut PeerOutput,
    ) -> Result<(), WebRtcError> {
        self.check()?;
        if !self.checked.contains(&from) {
            return Err(WebRtcError::DtlsUnknownAddress);
        }
        // DTLS knows the time only from this call.
        self.advance_dtls(now)?;
        if let Some(dtls) = &mut self.dtls {
            dtls.handle_packet(record).map_err(|_| self.fail(WebRtcError::DtlsFailed))?;
        }
        self.pump(now, out)
    }

    /// Sends a datagram. Drops it if the channel is not open, or if its send buffer is full.
    ///
    /// # Errors
    /// The channel has failed.
    pub fn send(&mut self, datagram: &[u8], now: Instant, out: &mut PeerOutput) -> Result<(), WebRtcError> {
        self.check()?;
        if let Some((_, association)) = self.association.as_mut().filter(|_| self.is_open)
            && let Ok(mut stream) = association.stream(STREAM)
            && stream.buffered_amount().is_ok_and(|waiting| waiting <= limits::DATA_CHANNEL_SEND_BYTES)
        {
            let binary = PayloadProtocolIdentifier::Binary;
            let _ = stream.write_with_ppi(datagram, binary);
        }
        self.pump(now, out)
    }

    /// The time of the next call of [`Peer::handle_timeout`].
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Runs the timers of DTLS and SCTP: retransmissions and delayed acknowledgements.
    ///
    /// # Errors
    /// The channel has failed.
    pub fn handle_timeout(&mut self, now: Instant, out: &mut PeerOutput) -> Result<(), WebRtcError> {
        self.check()?;
        self.advance_dtls(now)?;
        if let Some((_, association)) = &mut self.association {
            association.handle_timeout(now);
        }
        self.pump(now, out)
    }

    fn check(&self) -> Result<(), WebRtcError> {
        self.failure.map_or(Ok(()), Err)
    }

    fn fail(&mut self, failure: WebRtcError) -> WebRtcError {
        *self.failure.get_or_insert(failure)
    }

    fn advance_dtls(&mut self, now: Instant) -> Result<(), WebRtcError> {
        let Some(dtls) = &mut self.dtls else { return Ok(()) };
        dtls.handle_timeout(now).map_err(|_| self.fail(WebRtcError::DtlsFailed))
    }

    /// Moves the pending packets of DTLS and SCTP to each other and to the output.
    fn pump(&mut self, now: Instant, out: &mut PeerOutput) -> Result<(), WebRtcError> {
        self.deadline = None;
        for packet in self.poll_dtls(out)? {
            self.receive_sctp(packet, now)?;
        }
        self.read_stream(out)?;
        for packet in self.poll_sctp(now) {
            let sent = self.dtls.as_mut().map(|dtls| dtls.send_application_data(&packet));
            sent.transpose().map_err(|_| self.fail(WebRtcError::DtlsFailed))?;
        }
        // Sends the records of the packets above. SCTP responds to packets received here in the
        // next call.
        for packet in self.poll_dtls(out)? {
            self.receive_sctp(packet, now)?;
        }
        if let Some((_, association)) = &self.association {
            self.deadline = earlier(self.deadline, association.poll_timeout());
        }
        Ok(())
    }

    /// Sends the packets of DTLS. Returns the decrypted packets of SCTP.
    fn poll_dtls(&mut self, out: &mut PeerOutput) -> Result<Vec<Bytes>, WebRtcError> {
        let mut received = Vec::new();
        let Some(dtls) = &mut self.dtls else { return Ok(received) };
        loop {
            match dtls.poll_output(&mut self.buffer) {
                Output::Packet(packet) => {
                    let packet = packet.to_vec();
                    out.packets.extend(self.address.map(|address| (address, packet)));
                }
                Output::BufferTooSmall { needed } => self.buffer.resize(needed, 0),
                Output::PeerCert(der) => {
                    if fingerprint_of(der) != self.fingerprint {
                        return Err(self.fail(WebRtcError::DtlsWrongCertificate));
                    }
                    self.is_proven = true;
                }
                Output::ApplicationData(packet) => {
                    // `PeerCert` comes before `Connected`, and both before the first data.
                    if !self.is_proven {
                        return Err(self.fail(WebRtcError::DtlsWrongCertificate));
                    }
                    received.push(Bytes::copy_from_slice(packet));
                }
                Output::CloseNotify => return Err(self.fail(WebRtcError::Closed)),
                Output::Timeout(at) => {
                    self.deadline = earlier(self.deadline, Some(at));
                    return Ok(received);
                }
                _ => {}
            }
        }
    }

    fn receive_sctp(&mut self, packet: Bytes, now: Instant) -> Result<(), WebRtcError> {
        match self.sctp.handle(now, NO_ADDRESS, None, None, packet) {
            Some((handle, DatagramEvent::NewAssociation(association))) => {
                self.sctp.reject_new_associations();
                self.association = Some((handle, association));
            }
            Some((handle, DatagramEvent::AssociationEvent(event))) => {
                if let Some((own, association)) = &mut self.association
                    && *own == handle
                {
                    association.handle_event(event);
                }
            }
            None => {}
        }
        let Some((_, association)) = &mut self.association else { return Ok(()) };
        while let Some(event) = association.poll() {
            match event {
                Event::Connected => {
                    let binary = PayloadProtocolIdentifier::Binary;
                    let opened = association.open_stream(STREAM, binary);
                    let mut stream = match opened {
                        Ok(stream) => stream,
                        // The client's first datagram has already opened the stream.
                        Err(_) => match association.stream(STREAM) {
                            Ok(stream) => stream,
                            Err(_) => return Err(self.fail(WebRtcError::SctpFailed)),
                        },
                    };
                    let _ = stream.set_reliability_params(true, ReliabilityType::Rexmit, 0);
                    self.is_open = true;
                }
                Event::HandshakeFailed { .. } | Event::AssociationLost { .. } => {
                    return Err(self.fail(WebRtcError::Closed));
                }
                Event::Stream(StreamEvent::Opened { id } | StreamEvent::Readable { id }) if id != STREAM => {
                    return Err(self.fail(WebRtcError::SctpFailed));
                }
                Event::Stream(StreamEvent::Finished { .. }) => return Err(self.fail(WebRtcError::Closed)),
                _ => {}
            }
        }
        Ok(())
    }

    fn read_stream(&mut self, out: &mut PeerOutput) -> Result<(), WebRtcError> {
        let Some((_, association)) = self.association.as_mut().filter(|_| self.is_open) else {
            return Ok(());
        };
        while association.accept_stream().is_some() {}
        let Ok(mut stream) = association.stream(STREAM) else { return Ok(()) };
        while let Ok(Some(chunks)) = stream.read() {
            let mut datagram = vec![0; chunks.len()];
            if chunks.read(&mut datagram).is_ok() {
                out.datagrams.push(datagram);
            }
        }
        Ok(())
    }

    /// Takes the outgoing packets of SCTP.
    fn poll_sctp(&mut self, now: Instant) -> Vec<Bytes> {
        let mut packets = Vec::new();
        let mut take = |payload| {
            if let Payload::RawEncode(parts) = payload {
                packets.extend(parts);
            }
        };
        while let Some(transmit) = self.sctp.poll_transmit() {
            take(transmit.payload);
        }
        if let Some((handle, association)) = &mut self.association {
            while let Some(transmit) = association.poll_transmit(now) {
                take(transmit.payload);
            }
            while let Some(event) = association.poll_endpoint_event() {
                self.sctp.handle_event(*handle, event);
            }
        }
        packets
    }
}

fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    [one, other].into_iter().flatten().min()
}

#[cfg(test)]
mod tests;
