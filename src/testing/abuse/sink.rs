//! A plain sink: it accepts connections on this machine, accepts every upgrade, and drops all
//! further bytes.
//!
//! The sink shows the cost of an attack to the machine without a server, for comparison. It does
//! not implement the game, and never closes a connection before the client does.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use crate::client::connection::SUBPROTOCOL;
use crate::util::os;
use crate::ws::handshake;
use crate::ws::http::HeadReader;

/// Stack size of a connection's thread, which does almost nothing.
const STACK_BYTES: usize = 64 * 1024;
/// Maximum number of bytes per read.
const BUFFER_BYTES: usize = 16 * 1024;

/// Opens a listener for [`run`].
///
/// # Errors
/// The address is not on this machine, or cannot be bound.
pub fn bind(to: SocketAddr) -> io::Result<TcpListener> {
    if !to.ip().is_loopback() {
        return Err(io::Error::new(ErrorKind::PermissionDenied, "a sink may only listen on this machine"));
    }
    let listener = TcpListener::bind(to)?;
    // The default backlog of 128 in `std` would delay an attacker more than the server does.
    os::widen_backlog(&listener)?;
    Ok(listener)
}

/// Accepts connections forever, each with its own thread. A connection is dropped if no thread or
/// descriptor is available.
pub fn run(listener: &TcpListener) {
    for stream in listener.incoming() {
        match stream {
            Ok(stream) => {
                let _ = thread::Builder::new().stack_size(STACK_BYTES).spawn(move || discard_all(&stream));
            }
            Err(_) => thread::sleep(crate::limits::ACCEPT_RETRY_DELAY),
        }
    }
}

/// Reads one connection until it ends.
fn discard_all(mut stream: &TcpStream) {
    let (mut reader, mut buffer) = (Some(HeadReader::new(crate::limits::HEAD_LIMITS)), [0; BUFFER_BYTES]);
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        let head = reader.as_mut().map(|reader| reader.receive(&buffer[..count]));
        match head {
            Some(Ok(Some(head))) => {
                reader = None;
                let granted = handshake::accept(&head, &[SUBPROTOCOL]);
                if granted.is_ok_and(|granted| stream.write_all(&granted.response).is_err()) {
                    return;
                }
            }
            Some(Err(_)) => reader = None,
            Some(Ok(None)) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::url::Url;
    use crate::packet::PacketTables;
    use crate::testing::abuse::client::MooTestClient;

    #[test]
    fn it_grants_the_upgrade_and_sends_nothing_more() {
        let listener = bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
        let url: Url =
            format!("ws://{}/play", listener.local_addr().expect("its address")).parse().expect("a URL");
        thread::spawn(move || run(&listener));
        let native = PacketTables::builtin().dialect("native").expect("built in");
        let mut client = MooTestClient::connect(&url, None, native).expect("granted");
        client.send_bytes(&[0xff; 100_000]).expect("taken, whatever it is");
        let received = client.receive(std::time::Duration::from_millis(100));
        assert_eq!(received.expect_err("silence").kind(), ErrorKind::TimedOut);
    }

    #[test]
    fn it_is_for_this_machine_only() {
        assert!(bind("0.0.0.0:0".parse().expect("an address")).is_err());
    }
}
