//! Passes a client's bytes to a connection and drains its outputs.

use std::cell::RefCell;

use tickwire::internal::connection::{
    Answer, ClientRequest, ConnectionEvent, ConnectionOutput, Denial, DisconnectReason, ReadTime,
    ServerConnection,
};
use tickwire::internal::games::moo::world::PlayerId;

use crate::tokens::AT;

/// Executes all outputs of the last input. Returns the number of messages and control frames.
pub fn drain(
    connection: &mut ServerConnection,
    execute: &mut dyn FnMut(ConnectionOutput<'_>) -> Option<Answer>,
) -> Result<usize, DisconnectReason> {
    let mut messages = 0;
    while let Some(output) = connection.next_output()? {
        if let ConnectionOutput::Event(ConnectionEvent::MessagesHandled(count)) = output {
            messages += count;
        }
        if let Some(answer) = execute(output) {
            connection.answer(answer);
        }
    }
    Ok(messages)
}

/// Passes bytes that are only observed.
pub fn ignore(
    connection: &mut ServerConnection,
    bytes: &[u8],
    at: ReadTime,
    execute: &mut dyn FnMut(ConnectionOutput<'_>) -> Option<Answer>,
) {
    connection.receive_eof(at);
    assert_eq!(drain(connection, execute), Ok(0));
    connection.receive(bytes, at);
    assert_eq!(drain(connection, execute), Ok(0));
}

/// Admits a client or turns it away, and notes what it observes.
#[derive(Default)]
pub struct Doors {
    pub turns_away: bool,
    /// How often the client was authenticated.
    pub checks: usize,
    pub joins: usize,
    pub answers: Vec<u8>,
    pub observed: RefCell<Vec<u8>>,
    pub pieces: RefCell<usize>,
}

impl Doors {
    pub fn begin(
        &mut self,
        connection: &mut ServerConnection,
        client: u64,
    ) -> Result<usize, DisconnectReason> {
        connection.begin(client);
        drain(connection, &mut |output| self.execute(output))
    }

    pub fn receive(
        &mut self,
        connection: &mut ServerConnection,
        bytes: &[u8],
    ) -> Result<usize, DisconnectReason> {
        connection.set_observed(true);
        connection.receive(bytes, AT);
        drain(connection, &mut |output| self.execute(output))
    }

    pub fn ignore(&mut self, connection: &mut ServerConnection, bytes: &[u8]) {
        ignore(connection, bytes, AT, &mut |output| self.execute(output));
    }

    fn execute(&mut self, output: ConnectionOutput<'_>) -> Option<Answer> {
        match output {
            ConnectionOutput::Send(frames) => self.answers.extend_from_slice(frames),
            ConnectionOutput::Observed { bytes, .. } => {
                self.observed.borrow_mut().extend_from_slice(bytes.bytes);
                *self.pieces.borrow_mut() += 1;
            }
            ConnectionOutput::Request(ClientRequest::Authenticate) => {
                self.checks += 1;
                let result = if self.turns_away { Err(Denial::Silent) } else { Ok(()) };
                return Some(Answer::Authenticated(result));
            }
            ConnectionOutput::Request(ClientRequest::Join { .. }) => {
                self.joins += 1;
                return Some(Answer::Joined(Ok(PlayerId(7))));
            }
            ConnectionOutput::Request(ClientRequest::Command { .. }) => {
                return Some(Answer::CommandQueued(Ok(())));
            }
            ConnectionOutput::Datagram(_) | ConnectionOutput::Request(_) | ConnectionOutput::Event(_) => {}
        }
        None
    }
}
