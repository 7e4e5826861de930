//! Replaces `tls.rs` in builds without the feature `tls`. No stream can be opened.

// The methods are documented in tls.rs.
#![allow(missing_docs)]

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

/// A configuration that no build without TLS can have.
#[derive(Debug)]
pub(crate) enum ClientConfig {}

/// Always an error.
///
/// # Errors
/// `Unsupported`.
pub(crate) fn client_config(_: Option<&Path>, _: bool) -> io::Result<Arc<ClientConfig>> {
    let text = "wss:// needs the cargo feature `tls`, which this program was built without";
    Err(io::Error::new(ErrorKind::Unsupported, text))
}

/// A configuration that no build without TLS can have.
#[derive(Debug)]
pub(crate) enum ServerConfig {}

/// A certificate that no build without TLS can make.
pub(crate) struct OwnCertificate {
    pub config: Arc<ServerConfig>,
    pub pem: String,
}

/// Always an error.
///
/// # Errors
/// `Unsupported`.
pub(crate) fn self_signed(_: Vec<String>) -> io::Result<OwnCertificate> {
    let text = "--tls needs the cargo feature `tls`, which this program was built without";
    Err(io::Error::new(ErrorKind::Unsupported, text))
}

/// A stream that no build without TLS can have.
#[derive(Debug)]
pub(crate) enum TlsStream {}

impl TlsStream {
    pub fn connect(_: TcpStream, _: &str, config: Arc<ClientConfig>) -> io::Result<TlsStream> {
        match *config {}
    }

    pub fn accept(_: TcpStream, config: Arc<ServerConfig>) -> io::Result<TlsStream> {
        match *config {}
    }

    pub fn socket(&self) -> &TcpStream {
        match *self {}
    }

    pub fn wants_write(&self) -> bool {
        match *self {}
    }

    pub fn has_unread(&self) -> bool {
        match *self {}
    }

    pub fn handshake(&mut self) -> io::Result<bool> {
        match *self {}
    }

    pub fn close(&mut self) -> io::Result<()> {
        match *self {}
    }
}

impl Read for TlsStream {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }
}

impl Write for TlsStream {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        match *self {}
    }

    fn flush(&mut self) -> io::Result<()> {
        match *self {}
    }
}
