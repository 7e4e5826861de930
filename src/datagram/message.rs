//! The messages in a datagram.

use super::commands::CommandBlock;
use super::error::DatagramError;

/// Kind of a message that contains a packet.
const PACKET: u8 = 1;
/// Kind of a message that contains commands.
const COMMANDS: u8 = 2;
/// Kind of a message that acknowledges commands.
const RECEIVED: u8 = 3;

/// Length of a message's kind and length in bytes.
pub const MESSAGE_HEAD_BYTES: usize = 3;

/// A message in a datagram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message<'a> {
    /// A MessagePack packet.
    Packet(&'a [u8]),
    /// The commands that the server has not acknowledged.
    Commands(CommandBlock<'a>),
    /// The server has all commands up to this sequence number.
    Received(u32),
}

/// Iterates over the messages of an opened datagram. Ends after the first error.
pub fn read(mut bytes: &[u8]) -> impl Iterator<Item = Result<Message<'_>, DatagramError>> {
    std::iter::from_fn(move || {
        let result = next(bytes)?;
        bytes = result.as_ref().map_or(&[], |(_, rest)| rest);
        Some(result.map(|(message, _)| message))
    })
}

/// Reads the first message. `None` at the end.
fn next(bytes: &[u8]) -> Option<Result<(Message<'_>, &[u8]), DatagramError>> {
    let (kind, after_kind) = bytes.split_first()?;
    let content = after_kind
        .split_first_chunk()
        .and_then(|(length, rest)| rest.split_at_checked(u16::from_be_bytes(*length).into()));
    let Some((content, rest)) = content else { return Some(Err(DatagramError::Truncated)) };
    let message = match *kind {
        PACKET => Ok(Message::Packet(content)),
        COMMANDS => CommandBlock::read(content).map(Message::Commands),
        RECEIVED => match content.try_into() {
            Ok(sequence) => Ok(Message::Received(u32::from_be_bytes(sequence))),
            Err(_) if content.len() < 4 => Err(DatagramError::Truncated),
            Err(_) => Err(DatagramError::BytesLeft),
        },
        _ => Err(DatagramError::UnknownKind),
    };
    Some(message.map(|message| (message, rest)))
}

/// Appends a message with a packet.
pub fn write_packet(out: &mut Vec<u8>, packet: &[u8]) {
    write(out, PACKET, |out| out.extend_from_slice(packet));
}

/// Appends a message that acknowledges commands.
pub fn write_received(out: &mut Vec<u8>, sequence: u32) {
    write(out, RECEIVED, |out| out.extend(sequence.to_be_bytes()));
}

/// Appends a message with commands, whose content `content` writes.
pub fn write_commands(out: &mut Vec<u8>, content: impl FnOnce(&mut Vec<u8>)) {
    write(out, COMMANDS, content);
}

fn write(out: &mut Vec<u8>, kind: u8, content: impl FnOnce(&mut Vec<u8>)) {
    out.extend([kind, 0, 0]);
    let start = out.len();
    content(out);
    let length = (out.len() - start) as u16;
    out[start - 2..start].copy_from_slice(&length.to_be_bytes());
}
