//! Wakes the session from other threads: a pair of sockets, because [`os::poll`] waits for sockets.
//!
//! [`os::poll`]: crate::util::os::poll

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;

/// The end that wakes. Clones wake the same receiver.
#[derive(Clone, Debug)]
pub struct Waker(Arc<TcpStream>);

/// The end that is polled.
#[derive(Debug)]
pub struct WakeReceiver(TcpStream);

/// Creates both ends, over loopback.
///
/// # Errors
/// The system's error, or `ConnectionAborted` if another program connected first.
pub fn pair() -> io::Result<(Waker, WakeReceiver)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let sender = TcpStream::connect(listener.local_addr()?)?;
    let (receiver, peer) = listener.accept()?;
    if peer != sender.local_addr()? {
        return Err(io::ErrorKind::ConnectionAborted.into());
    }
    sender.set_nonblocking(true)?;
    sender.set_nodelay(true)?;
    receiver.set_nonblocking(true)?;
    Ok((Waker(Arc::new(sender)), WakeReceiver(receiver)))
}

impl Waker {
    /// Makes the receiver readable.
    pub fn wake(&self) {
        // Fails if the receiver is gone, or if so many bytes wait that it is readable anyway.
        let _ = (&*self.0).write(&[0]);
    }
}

impl WakeReceiver {
    /// The socket to poll for reading.
    pub fn socket(&self) -> &TcpStream {
        &self.0
    }

    /// Makes the receiver unreadable until the next wake.
    pub fn clear(&mut self) {
        while let Ok(1..) = self.0.read(&mut [0; 64]) {}
    }
}
