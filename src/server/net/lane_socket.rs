//! The UDP socket of all lanes: one socket, on the port number of the listener.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use crate::datagram::header::DatagramHeader;
use crate::datagram::{DatagramError, LaneKey};
use crate::server::clients::client_lane::LaneGrant;
use crate::util::os;
use crate::util::sync::Mutex;

/// The UDP socket of a server, and the lanes that use it.
#[derive(Debug)]
pub struct LaneSocket {
    socket: UdpSocket,
    port: u16,
    /// The client of each lane, by connection id.
    clients: Mutex<BTreeMap<u32, u64>>,
}

impl LaneSocket {
    /// Binds the socket to the address of the listener.
    ///
    /// # Errors
    /// The port is in use.
    pub fn bind(address: SocketAddr) -> io::Result<LaneSocket> {
        let socket = UdpSocket::bind(address)?;
        // A worker never waits: if the queue of the socket is full, the datagram is lost.
        Ok(LaneSocket { port: socket.local_addr()?.port(), socket, clients: Mutex::default() })
    }

    /// Makes a lane for a client, whose other lanes end.
    pub fn grant(&self, client: u64) -> LaneGrant {
        let mut clients = self.clients.lock();
        clients.retain(|_, other| *other != client);
        let mut connection = u32::from_ne_bytes(os::random());
        while clients.contains_key(&connection) {
            connection = u32::from_ne_bytes(os::random());
        }
        clients.insert(connection, client);
        LaneGrant { connection, key: LaneKey(os::random()), port: self.port }
    }

    /// Ends the lane of a client.
    pub fn remove(&self, client: u64) {
        self.clients.lock().retain(|_, other| *other != client);
    }

    /// Sends a datagram.
    pub fn send(&self, to: SocketAddr, datagram: &[u8]) {
        let _ = self.socket.send_to(datagram, to);
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

    /// Waits for a datagram, and returns its length and sender.
    ///
    /// # Errors
    /// The error of the socket.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.socket.recv_from(buffer)
    }

    /// Returns the number of the client to which a datagram belongs.
    ///
    /// # Errors
    /// The datagram is too short, or no client has a lane of this number.
    pub fn client(&self, datagram: &[u8]) -> Result<u64, DatagramError> {
        let header = DatagramHeader::read(datagram).ok_or(DatagramError::TooShort)?;
        let clients = self.clients.lock();
        clients.get(&header.connection).copied().ok_or(DatagramError::UnknownConnection)
    }
}
