//! The UDP socket of all lanes: one socket, on the port number of the listener.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use super::data_channels::DataChannels;
use super::lane_mode::{LaneMode, UdpPublic};
use crate::datagram::header::DatagramHeader;
use crate::datagram::{DatagramError, LaneKey};
use crate::server::clients::client::NO_LANE_TEXT;
use crate::server::clients::client_lane::LaneGrant;
use crate::util::os;
use crate::util::sync::Mutex;

/// Lowest connection id. STUN messages and DTLS records begin with lower bytes (RFC 7983).
const LOWEST_CONNECTION: u32 = 0xc000_0000;

/// The UDP socket of a server, and the lanes that use it.
#[derive(Debug)]
pub struct LaneSocket {
    socket: UdpSocket,
    port: u16,
    mode: LaneMode,
    public: Option<UdpPublic>,
    clients: Mutex<BTreeMap<u32, LaneClient>>,
    /// The data channels.
    pub channels: DataChannels,
}

/// The client of a lane.
#[derive(Debug, Clone, Copy)]
struct LaneClient {
    client: u64,
    /// Whether the lane has a data channel. If so, a datagram outside the channel is forged.
    has_channel: bool,
}

impl LaneSocket {
    /// Binds the socket to the address of the listener.
    ///
    /// # Errors
    /// The port is in use.
    pub fn bind(address: SocketAddr, mode: LaneMode, public: Option<UdpPublic>) -> io::Result<LaneSocket> {
        let socket = UdpSocket::bind(address)?;
        // A worker never waits: if the queue of the socket is full, the datagram is lost.
        let port = socket.local_addr()?.port();
        let (clients, channels) = (Mutex::default(), DataChannels::new(mode.has_webrtc()));
        Ok(LaneSocket { port, socket, mode, public, clients, channels })
    }

    /// Grants a lane to a client, and ends its earlier lane. `local` is the local address of its
    /// WebSocket. With an offer, the lane has a data channel.
    ///
    /// # Errors
    /// An error text for the client: the server does not have this carrier, or rejects the offer.
    pub fn grant(&self, client: u64, local: IpAddr, offer: Option<&str>) -> Result<LaneGrant, &'static str> {
        let has_channel = offer.is_some();
        if !(if has_channel { self.mode.has_webrtc() } else { self.mode.has_udp() }) {
            return Err(NO_LANE_TEXT);
        }
        let ip = self.public.map_or(local.to_canonical(), |public| public.ip);
        let port = self.public.and_then(|public| public.port).unwrap_or(self.port);
        let connection = self.add(client, has_channel);
        let Some(offer) = offer else {
            return Ok(LaneGrant { connection, key: Some(LaneKey(os::random())), port, answer: None });
        };
        let is_first = self.channels.is_empty();
        match self.channels.open(connection, offer, SocketAddr::new(ip, port)) {
            Ok(answer) => {
                if is_first {
                    // The thread of the socket now waits with a timeout, to run channel timers.
                    self.wake();
                }
                Ok(LaneGrant { connection, key: None, port, answer: Some(answer) })
            }
            Err(detail) => {
                self.remove(client);
                Err(detail)
            }
        }
    }

    /// Returns the names of the carriers, for `codes.json`.
    pub fn carriers(&self) -> Vec<&'static str> {
        let carriers =
            [("udp", self.mode.has_udp()), ("webrtc", self.mode.has_webrtc() && DataChannels::ARE_BUILT)];
        carriers.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name).collect()
    }

    /// Ends the lanes of a client, and registers a new one. Returns its connection id.
    fn add(&self, client: u64, has_channel: bool) -> u32 {
        let mut clients = self.clients.lock();
        remove(&mut clients, client, &self.channels);
        loop {
            let connection = u32::from_ne_bytes(os::random()) | LOWEST_CONNECTION;
            if let std::collections::btree_map::Entry::Vacant(entry) = clients.entry(connection) {
                entry.insert(LaneClient { client, has_channel });
                return connection;
            }
        }
    }

    /// Ends the lane of a client.
    pub fn remove(&self, client: u64) {
        remove(&mut self.clients.lock(), client, &self.channels);
    }

    /// Sends a datagram of a lane.
    pub fn send(&self, to: SocketAddr, datagram: &[u8]) {
        let connection = DatagramHeader::read(datagram).map_or(0, |header| header.connection);
        let is_sent = self.channels.send(connection, datagram, |to, packet| self.send_packet(to, packet));
        if !is_sent {
            self.send_packet(to, datagram);
        }
    }

    /// Sends a packet.
    pub fn send_packet(&self, to: SocketAddr, packet: &[u8]) {
        let _ = self.socket.send_to(packet, to);
    }

    /// Wakes the thread of the socket, so that it sees the end of the server.
    pub fn wake(&self) {
        let Ok(mut address) = self.socket.local_addr() else { return };
        match address.ip() {
            IpAddr::V4(Ipv4Addr::UNSPECIFIED) => address.set_ip(Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(Ipv6Addr::UNSPECIFIED) => address.set_ip(Ipv6Addr::LOCALHOST.into()),
            _ => {}
        }
        let _ = self.socket.send_to(&[], address);
    }

    /// Limits the time for which [`LaneSocket::receive`] waits.
    ///
    /// # Errors
    /// The error of the socket.
    pub fn set_wait(&self, time: Option<Duration>) -> io::Result<()> {
        self.socket.set_read_timeout(time)
    }

    /// Waits for a packet, and returns its length and sender.
    ///
    /// # Errors
    /// The error of the socket.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.socket.recv_from(buffer)
    }

    /// Returns the number of the client to which a datagram belongs. `channel` is the connection id
    /// of the data channel that carried it; `None` for a datagram by UDP.
    ///
    /// # Errors
    /// The datagram is too short, or no lane has this connection id and this carrier.
    pub fn client(&self, datagram: &[u8], channel: Option<u32>) -> Result<u64, DatagramError> {
        let header = DatagramHeader::read(datagram).ok_or(DatagramError::TooShort)?;
        let lane = self.clients.lock().get(&header.connection).copied();
        let is_of_channel = channel == Some(header.connection);
        lane.filter(|lane| lane.has_channel == is_of_channel)
            .map(|lane| lane.client)
            .ok_or(DatagramError::UnknownConnection)
    }
}

/// Removes the lanes of a client.
fn remove(clients: &mut BTreeMap<u32, LaneClient>, client: u64, channels: &DataChannels) {
    clients.retain(|connection, lane| {
        if lane.client == client && lane.has_channel {
            channels.close(*connection);
        }
        lane.client != client
    });
}
