//! A second connection for each client, which receives the same bytes at the same times but split
//! differently. The second connection must return the same requests as the first connection, and
//! send the same bytes. Its requests get the answers that the first connection got.

use std::collections::VecDeque;

use super::failure::InvariantFailure;
use crate::connection::{
    Answer, ClientRequest, ConnectionOutput, DisconnectReason, ReadTime, ServerConnection,
};
use crate::game::BotRng;
use crate::server::clients::client::{Client, Transport};
use crate::server::clients::client_driver::{ClientDriver, DriverEvent};

/// A request of a connection, and the driver's answer if it needs one.
pub type AnsweredRequest = (ClientRequest, Option<Answer>);

/// The requests of a connection, and the bytes that it sends.
#[derive(Debug, Default)]
pub struct RequestRecord {
    /// The requests, in order.
    pub requests: Vec<AnsweredRequest>,
    sent: Vec<u8>,
}

impl RequestRecord {
    /// Records an output and executes it.
    pub fn execute<L: Transport, E: Fn(DriverEvent<'_>)>(
        &mut self,
        output: ConnectionOutput<'_>,
        driver: &ClientDriver<'_, L, E>,
    ) -> Option<Answer> {
        let mut request = None;
        match &output {
            ConnectionOutput::Send(bytes) | ConnectionOutput::Datagram(bytes) => {
                self.sent.extend_from_slice(bytes);
            }
            ConnectionOutput::Request(one) => request = Some(one.clone()),
            ConnectionOutput::Observed { .. } | ConnectionOutput::Event(_) => {}
        }
        let answer = driver.execute(output);
        self.requests.extend(request.map(|request| (request, answer)));
        answer
    }
}

/// A second connection for the received bytes and the recorded answers of the first connection.
#[derive(Debug)]
pub struct ConnectionTwin {
    connection: ServerConnection,
    rng: BotRng,
}

impl ConnectionTwin {
    /// Creates the twin of a client's connection.
    pub fn new<L: Transport>(client: &Client<L>, seed: u64) -> ConnectionTwin {
        ConnectionTwin { connection: client.clone_connection(), rng: BotRng::new(seed) }
    }

    /// Starts the twin.
    ///
    /// # Errors
    /// The requests or bytes of the twin differ from the record.
    pub fn begin(&mut self, client: u64, record: RequestRecord) -> Result<(), InvariantFailure> {
        let mut replay = RecordReplay::new(record);
        self.connection.begin(client);
        // The disconnect reason is the same as in the first connection, whose caller handles it.
        let _ = replay.drain(&mut self.connection);
        replay.end()
    }

    /// Receives the messages of the same datagram as the first connection.
    ///
    /// # Errors
    /// The requests or bytes of the twin differ from the record.
    pub fn receive_datagram(
        &mut self,
        messages: &[u8],
        at: ReadTime,
        record: RequestRecord,
    ) -> Result<(), InvariantFailure> {
        let mut replay = RecordReplay::new(record);
        // The first connection returned the same error, and handled the messages before it.
        let _ = self.connection.receive_datagram(messages, at);
        let _ = replay.drain(&mut self.connection);
        replay.end()
    }

    /// Receives the same bytes as the first connection, split differently.
    ///
    /// # Errors
    /// The requests or bytes of the twin differ from the record.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        at: ReadTime,
        record: RequestRecord,
    ) -> Result<(), InvariantFailure> {
        let mut replay = RecordReplay::new(record);
        let mut rest = bytes;
        while !rest.is_empty() {
            let cut = if self.rng.below(4) == 0 { 1 + self.rng.below(9) as usize } else { rest.len() };
            let (piece, after) = rest.split_at(cut.min(rest.len()));
            rest = after;
            self.connection.receive(piece, at);
            if replay.drain(&mut self.connection).is_err() {
                break;
            }
        }
        replay.end()
    }
}

/// Compares the outputs of a second connection with the record of the first.
struct RecordReplay {
    requests: VecDeque<AnsweredRequest>,
    /// Bytes that the first connection sent.
    expected: Vec<u8>,
    sent: Vec<u8>,
    broken: Option<String>,
}

impl RecordReplay {
    fn new(record: RequestRecord) -> RecordReplay {
        let RequestRecord { requests, sent: expected } = record;
        RecordReplay { requests: requests.into(), expected, sent: Vec::new(), broken: None }
    }

    fn drain(&mut self, connection: &mut ServerConnection) -> Result<(), DisconnectReason> {
        while let Some(output) = connection.next_output()? {
            let answer = match output {
                ConnectionOutput::Request(request) => self.answer(&request),
                ConnectionOutput::Send(bytes) | ConnectionOutput::Datagram(bytes) => {
                    self.sent.extend_from_slice(bytes);
                    None
                }
                ConnectionOutput::Observed { .. } | ConnectionOutput::Event(_) => None,
            };
            if let Some(answer) = answer {
                connection.answer(answer);
            }
        }
        Ok(())
    }

    /// Returns the recorded answer to a request.
    fn answer(&mut self, request: &ClientRequest) -> Option<Answer> {
        let recorded = self.requests.pop_front();
        match recorded {
            Some((same, answer)) if same == *request => answer,
            other => {
                self.broken.get_or_insert_with(|| {
                    format!("the second connection requests {request:?} instead of {other:?}")
                });
                None
            }
        }
    }

    fn end(mut self) -> Result<(), InvariantFailure> {
        if let Some(request) = self.requests.front() {
            self.broken.get_or_insert_with(|| format!("the second connection does not request {request:?}"));
        }
        if self.sent != self.expected {
            let sizes = (self.sent.len(), self.expected.len());
            self.broken.get_or_insert_with(|| {
                format!("the second connection answers with {} bytes instead of {}", sizes.0, sizes.1)
            });
        }
        let rule = "the same input gives the same commands and answers";
        self.broken.map_or(Ok(()), |detail| Err(InvariantFailure::new(rule, detail)))
    }
}
