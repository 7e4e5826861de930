//! The client of a hostile connection: its packets, and the way in which the server ended it.

use std::io::{self, ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use crate::client::blocking_client;
use crate::client::connection::{ClientConnection, ClientConnectionError, ClientEvent};
use crate::client::dial;
use crate::client::url::Url;
use crate::connection::session::NATIVE_VERSION;
use crate::games::moo::bot::received::ServerPacket;
use crate::games::moo::client_packet::{ClientPacket, Mode};
use crate::packet::{Dialect, PacketTables};
use crate::testing::hostile::write_frame;
use crate::ws::frame::Opcode;

/// A client of the default game that waits for responses.
pub type MooTestClient = blocking_client::BlockingClient<ServerPacket>;

/// A native packet in a masked frame.
pub(crate) fn packet(packet: &ClientPacket<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_frame(&mut bytes, Opcode::Binary, &packet.encode(&native()));
    bytes
}

pub(crate) fn native() -> Arc<Dialect> {
    PacketTables::builtin().dialect("native").expect("the built-in tables have it")
}

pub(crate) fn hello() -> Vec<u8> {
    let name = Some("hostile".to_owned());
    packet(&ClientPacket::Hello { version: NATIVE_VERSION, mode: Mode::Play, name, skin: None })
}

pub(crate) fn check_local(url: &Url) -> io::Result<SocketAddr> {
    let to = dial::resolve(url)?;
    if to.ip().is_loopback() {
        return Ok(to);
    }
    Err(io::Error::new(
        ErrorKind::PermissionDenied,
        "hostile clients may only connect to a server on this machine",
    ))
}

/// The result of polling a connection.
pub(crate) enum PollResult {
    Nothing,
    Opened,
    Ended(String),
}

/// Reads what the server has sent, and passes each binary message.
pub(crate) fn poll_end(connection: &mut ClientConnection, on_message: impl FnMut(&[u8])) -> PollResult {
    let result = next_result(connection, on_message);
    // The pongs and close frames of the connection are discarded, because a misbehaving client
    // sends neither.
    connection.drain_output(&mut Vec::new());
    result
}

fn next_result(connection: &mut ClientConnection, mut on_message: impl FnMut(&[u8])) -> PollResult {
    loop {
        return match connection.next_event() {
            Ok(None) => PollResult::Nothing,
            Ok(Some(ClientEvent::Open)) => PollResult::Opened,
            Ok(Some(ClientEvent::Binary(message))) => {
                on_message(message);
                continue;
            }
            Ok(Some(ClientEvent::Text(_) | ClientEvent::Control)) => continue,
            Ok(Some(ClientEvent::Closed { code, reason })) => {
                PollResult::Ended(format!("{} {reason}", code.map_or(1005, |code| code.get())))
            }
            Ok(Some(ClientEvent::Ended)) => PollResult::Ended("end without a close frame".to_owned()),
            Err(ClientConnectionError::Refused(status)) => PollResult::Ended(format!("status {status}")),
            Err(error) => PollResult::Ended(error.to_string()),
        };
    }
}

pub(crate) fn read(mut stream: &TcpStream, connection: &mut ClientConnection) -> io::Result<()> {
    let mut buffer = [0; 16 * 1024];
    match stream.read(&mut buffer) {
        Ok(0) => connection.receive_eof(),
        Ok(count) => connection.receive(&buffer[..count]),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
        Err(error) => return Err(error),
    }
    Ok(())
}
