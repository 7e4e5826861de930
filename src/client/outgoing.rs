//! Bytes for a server that the kernel has not accepted yet.
//!
//! A server that sends pings and does not read makes its client queue pongs without end. Therefore
//! the queue has a limit: [`limits::CLIENT_QUEUE_BYTES`].

use std::fmt;
use std::io::{self, ErrorKind, Write};

use crate::limits;

/// The queue exceeded its limit, because the server does not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unread;

impl fmt::Display for Unread {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "the server does not read: more than {} bytes wait to be sent",
            limits::CLIENT_QUEUE_BYTES
        )
    }
}

impl From<Unread> for io::Error {
    fn from(unread: Unread) -> io::Error {
        io::Error::new(ErrorKind::TimedOut, unread.to_string())
    }
}

/// The bounded send queue of a client.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    bytes: Vec<u8>,
}

impl Outgoing {
    /// The queued bytes, to append new ones.
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Writes as much as a non-blocking socket accepts. A failed write drops the queue: the next
    /// read reports the failure, after the server's last bytes.
    ///
    /// # Errors
    /// The rest exceeds the limit and is dropped. The connection must end.
    pub fn write_to(&mut self, mut stream: impl Write) -> Result<(), Unread> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        match stream.write(&self.bytes) {
            Ok(count) => drop(self.bytes.drain(..count)),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => self.bytes.clear(),
        }
        if self.bytes.len() <= limits::CLIENT_QUEUE_BYTES {
            return Ok(());
        }
        self.bytes = Vec::new();
        Err(Unread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::connection::{ClientConnection, ClientEvent, ConnectionKeys, SUBPROTOCOL};
    use crate::ws::frame::{self, Opcode};
    use crate::ws::handshake;
    use crate::ws::http::HeadReader;

    /// A socket that accepts this number of bytes.
    struct Socket(usize);

    impl Write for Socket {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.0);
            self.0 -= count;
            if count == 0 { Err(ErrorKind::WouldBlock.into()) } else { Ok(count) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn bytes_that_fit_the_limit_wait_and_more_are_dropped_with_an_error() {
        let (mut outgoing, mut socket) = (Outgoing::default(), Socket(10));
        outgoing.bytes().extend(vec![1; limits::CLIENT_QUEUE_BYTES + 10]);
        assert_eq!(outgoing.write_to(&mut socket), Ok(()));
        assert_eq!(outgoing.bytes().len(), limits::CLIENT_QUEUE_BYTES);
        outgoing.bytes().push(1);
        assert_eq!(outgoing.write_to(&mut socket), Err(Unread));
        assert_eq!(outgoing.bytes().capacity(), 0);
    }

    #[test]
    fn a_server_that_pings_without_reading_ends_the_connection() {
        let mut connection = ClientConnection::new(
            "a",
            "/play",
            true,
            ConnectionKeys { upgrade: [7; 16], mask: || [1, 2, 3, 4] },
        );
        let (mut outgoing, mut socket) = (Outgoing::default(), Socket(1000));
        connection.drain_output(outgoing.bytes());
        let head =
            HeadReader::new(limits::HEAD_LIMITS).receive(outgoing.bytes()).expect("HTTP").expect("a head");
        connection.receive(&handshake::accept(&head, &[SUBPROTOCOL]).expect("an upgrade").response);
        outgoing.write_to(&mut socket).expect("it fits");
        let mut pings = Vec::new();
        (0..100).for_each(|_| frame::write(&mut pings, Opcode::Ping, None, &[b'x'; 125]));
        let mut rounds = 0;
        let unread = loop {
            connection.receive(&pings);
            while let Some(event) = connection.next_event().expect("no violation") {
                assert!(matches!(event, ClientEvent::Open | ClientEvent::Control), "{event:?}");
            }
            connection.drain_output(outgoing.bytes());
            rounds += 1;
            if let Err(unread) = outgoing.write_to(&mut socket) {
                break unread;
            }
        };
        assert!(unread.to_string().contains("does not read"), "{unread}");
        assert_eq!(rounds, limits::CLIENT_QUEUE_BYTES / (100 * 131) + 1);
    }
}
