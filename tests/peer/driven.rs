//! Passes a client's bytes to a connection and drains its outputs.

use tickwire::internal::connection::{
    Answer, ConnectionEvent, ConnectionOutput, DisconnectReason, ReadTime, ServerConnection,
};

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
