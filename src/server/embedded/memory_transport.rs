//! The in-memory transport of an embedded server's connections.

use core::net::SocketAddr;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::datagram::LaneKey;
use crate::datagram::header::HEADER_BYTES;
use crate::limits;
use crate::server::clients::client::{Client, Transport};
use crate::server::clients::client_lane::LaneGrant;
use crate::server::clients::memory_stream::MemoryStream;
use crate::server::host::HostTransport;
use crate::server::host::inspector_queues::InspectorQueues;
use crate::tools::inspector::observed_format::{ObservedDatagram, ObservedKind, ObservedRecord};
use crate::util::sync::Mutex;
use crate::ws::Side;

/// Carries the server's bytes of a connection in memory.
#[derive(Debug, Clone)]
pub struct MemoryTransport {
    output: Arc<ConnectionOutput>,
    /// Queues of the inspectors.
    sight: InspectorQueues,
}

#[derive(Debug, Default)]
struct ConnectionOutput {
    stream: MemoryStream,
    /// Datagrams for the other end.
    datagrams: Mutex<Vec<Vec<u8>>>,
}

impl MemoryTransport {
    /// Creates the transport of a new connection.
    pub fn new(sight: &InspectorQueues) -> MemoryTransport {
        MemoryTransport { output: Arc::default(), sight: sight.clone() }
    }

    /// Moves the bytes for the other end to the end of `into`.
    pub fn take(&self, into: &mut Vec<u8>) {
        self.output.stream.take(into);
    }

    /// Takes the datagrams for the other end.
    pub fn take_datagrams(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.output.datagrams.lock())
    }

    /// Returns whether there are no bytes for the other end.
    pub fn is_empty(&self) -> bool {
        self.output.stream.is_empty()
    }
}

impl Transport for MemoryTransport {
    fn send<'a>(&self, slices: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        Ok(self.output.stream.send(slices))
    }

    fn on_queued(&self, client: &Client<MemoryTransport>, frames: &[u8], now: Duration) {
        let (tick, what) = (client.room.tick(), ObservedKind::Bytes(Side::Server, frames));
        self.sight.push(client.id, None, &ObservedRecord { at: now, tick, what });
    }

    fn abort(&self) {
        self.output.stream.abort();
    }

    /// The key need not be secret, because client and server share the memory of one program. A
    /// client with an offer is a page, which has no cipher and therefore gets no key.
    fn grant_lane(&self, client: u64, offer: Option<&str>) -> Result<LaneGrant, &'static str> {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&client.to_be_bytes());
        let key = Some(LaneKey(key)).filter(|_| offer.is_none());
        Ok(LaneGrant { connection: client as u32, key, port: 0, answer: None })
    }

    fn send_datagram(
        &self,
        client: &Client<MemoryTransport>,
        address: Option<SocketAddr>,
        datagram: &[u8],
        messages: &[u8],
        now: Duration,
    ) {
        if self.sight.is_inspected(client.id) {
            let bytes = &[&datagram[..HEADER_BYTES], messages].concat();
            let (from, dropped, tick) = (Side::Server, None, client.room.tick());
            let what = ObservedKind::Datagram(ObservedDatagram { from, address, dropped, bytes });
            self.sight.push(client.id, None, &ObservedRecord { at: now, tick, what });
        }
        let mut datagrams = self.output.datagrams.lock();
        // Drops datagrams that the program does not take.
        if datagrams.len() < limits::EMBEDDED_DATAGRAMS {
            datagrams.push(datagram.to_vec());
        }
    }
}

impl HostTransport for MemoryTransport {
    fn write(&self, bytes: &[u8]) {
        self.output.stream.write(bytes);
    }

    fn is_aborted(&self) -> bool {
        self.output.stream.is_aborted()
    }
}
