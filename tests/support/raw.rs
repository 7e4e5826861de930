//! A client that keeps every byte of its connection, to compare with what others say of it.
#![allow(dead_code, reason = "each test file uses its part")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use tickwire::internal::games::moo::client_packet::ClientPacket;
use tickwire::packet::PacketTables;
use tickwire::ws::frame::{self, Opcode};

use crate::support::PATIENCE;

/// A request that carries two secrets, and the same as others may see it.
pub fn request(target: &str) -> (Vec<u8>, Vec<u8>) {
    let with = |token: &str, cookie: &str| {
        format!(
            "GET {target}{token} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nCookie: {cookie}\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        .into_bytes()
    };
    (with("sesame", "id=7"), with("xxxxxx", "xxxx"))
}

/// See the [module](self).
pub struct Raw {
    pub stream: TcpStream,
    /// What it sent, with its secrets covered.
    pub sent: Vec<u8>,
    /// What it has read.
    pub heard: Vec<u8>,
    /// Where it is seen from the server.
    pub address: SocketAddr,
}

impl Raw {
    /// Connects and upgrades. The target ends where a token can follow.
    pub fn connect(server: SocketAddr, target: &str) -> Raw {
        let mut stream = TcpStream::connect(server).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let (request, sent) = request(target);
        stream.write_all(&request).expect("sent");
        let address = stream.local_addr().expect("an address");
        let mut raw = Raw { stream, sent, heard: Vec::new(), address };
        raw.read_until(b"\r\n\r\n");
        raw
    }

    /// Reads until these bytes have come.
    pub fn read_until(&mut self, wanted: &[u8]) {
        while !self.heard.windows(wanted.len()).any(|window| window == wanted) {
            let mut buffer = [0; 4096];
            let count = self.stream.read(&mut buffer).expect("more bytes");
            assert!(count > 0, "the end came first");
            self.heard.extend_from_slice(&buffer[..count]);
        }
    }

    /// Sends bytes as they are.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("sent");
        self.sent.extend_from_slice(bytes);
    }

    /// Sends a message of one frame.
    pub fn send(&mut self, opcode: Opcode, payload: &[u8]) {
        self.send_bytes(&masked(opcode, payload));
    }

    /// Sends a packet of a dialect.
    pub fn say(&mut self, dialect: &str, packet: &ClientPacket<'_>) {
        let dialect = PacketTables::builtin().dialect(dialect).expect("built in");
        self.send(Opcode::Binary, &packet.encode(&dialect));
    }

    /// Says goodbye and reads to the end.
    pub fn finish(&mut self) {
        self.send(Opcode::Close, &1000u16.to_be_bytes());
        self.stream.read_to_end(&mut self.heard).expect("an end");
    }
}

/// A client's frame.
pub fn masked(opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::write(&mut bytes, opcode, Some([0x37, 0xfa, 0x21, 0x3d]), payload);
    bytes
}
