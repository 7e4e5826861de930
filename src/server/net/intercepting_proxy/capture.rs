//! The capture file of an intercepting proxy: what passed, as TCP connections.
//!
//! The bytes are those that the receiver got, uncut by the network. A packet whose message was
//! changed has a comment with the received message, uncompressed. TLS is removed, and port 443
//! becomes port 80, because Wireshark looks for TLS at 443.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::time::Duration;

use crate::tools::capture::writer::{CaptureWriter, TcpFlow};
use crate::tools::capture::{FOREIGN_COMMENT, TcpSide};
use crate::tools::inspector::{FrameMark, ProxyNote};
use crate::tools::intercept::upgrade::UpgradeHeads;
use crate::tools::intercept::{Observation, Outcome};
use crate::util::sync::Mutex;
use crate::ws::Side;

/// The capture file.
#[derive(Debug)]
pub struct ProxyCapture(Mutex<CaptureState>);

#[derive(Debug)]
struct CaptureState {
    writer: CaptureWriter,
    file: File,
    flows: BTreeMap<u64, TcpFlow>,
    /// The first error of the file, after which nothing is written.
    failure: Option<io::Error>,
}

impl ProxyCapture {
    /// Starts a file. The clock of the capture starts at `since_1970`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn start(file: File, since_1970: Duration) -> io::Result<ProxyCapture> {
        let mut writer = CaptureWriter::new(since_1970);
        writer.begin(false);
        let mut state = CaptureState { writer, file, flows: BTreeMap::new(), failure: None };
        state.write();
        match state.failure.take() {
            Some(error) => Err(error),
            None => Ok(ProxyCapture(Mutex::new(state))),
        }
    }

    /// Writes the start of a connection between these addresses, client first. `is_foreign` is
    /// whether its messages are no packets.
    pub fn open(
        &self,
        connection: u64,
        [client, server]: [SocketAddr; 2],
        (heads, is_foreign): (&UpgradeHeads, bool),
        at: Duration,
    ) {
        let state = &mut *self.0.lock();
        let port = if server.port() == 443 { 80 } else { server.port() };
        let ends = [client, SocketAddr::new(server.ip(), port)];
        let writer = &mut state.writer;
        let comment = if is_foreign { FOREIGN_COMMENT } else { "" };
        let mut flow = TcpFlow::open(writer, ends, [0, 0], (at, comment));
        flow.bytes(writer, TcpSide::Client, &heads.request, (at, ""));
        flow.bytes(writer, TcpSide::Server, &heads.response, (at, ""));
        state.flows.insert(connection, flow);
        state.write();
    }

    /// Writes the bytes that a message became.
    pub fn message(&self, connection: u64, seen: &Observation<'_, '_>, at: Duration) {
        let state = &mut *self.0.lock();
        let Some(flow) = state.flows.get_mut(&connection) else { return };
        let side = if seen.from == Side::Client { TcpSide::Client } else { TcpSide::Server };
        flow.bytes(&mut state.writer, side, seen.sent, (at, &comment(seen)));
        state.write();
    }

    /// Writes the end of a connection.
    pub fn end(&self, connection: u64, at: Duration) {
        let state = &mut *self.0.lock();
        if let Some(flow) = state.flows.remove(&connection) {
            flow.end(&mut state.writer, TcpSide::Client, (at, ""));
        }
        state.write();
    }

    /// Returns the first error of the file.
    ///
    /// # Errors
    /// The file could not be written. It ends before the error.
    pub fn finish(&self) -> io::Result<()> {
        let state = &mut *self.0.lock();
        state.failure.take().map_or_else(|| state.file.flush(), Err)
    }
}

impl CaptureState {
    fn write(&mut self) {
        let written = match self.failure {
            None => self.file.write_all(&self.writer.blocks),
            Some(_) => Ok(()),
        };
        self.writer.blocks.clear();
        self.failure = self.failure.take().or(written.err());
    }
}

/// The comment of a message that was not forwarded as it arrived.
fn comment(seen: &Observation<'_, '_>) -> String {
    let (mark, received) = match seen.outcome {
        Outcome::Changed => (FrameMark::Substitute, seen.shown().into_owned()),
        Outcome::Injected => (FrameMark::Injected, Vec::new()),
        outcome => match FrameMark::new(outcome.name(), outcome.detail()) {
            Some(mark) => (mark, Vec::new()),
            None => return String::new(),
        },
    };
    ProxyNote { mark: Some(mark), compressed_bytes: None, received }.comment()
}
