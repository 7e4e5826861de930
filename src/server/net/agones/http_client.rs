//! Sends one request to the sidecar, over a connection of its own, within a time limit.

use std::io::{self, ErrorKind};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use super::call::Call;
use super::sidecar_url::SidecarUrl;
use crate::client::answer::Answer;
use crate::limits;
use crate::server::net::blocking_io::{read, write_all};

/// A response of the sidecar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallResponse {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

/// Sends a request and reads its response within `time`.
///
/// # Errors
/// The sidecar cannot be reached, is too slow, or sends no HTTP.
pub fn send(sidecar: &SidecarUrl, call: &Call, time: Duration) -> io::Result<CallResponse> {
    let deadline = Instant::now() + time;
    let left = || deadline.saturating_duration_since(Instant::now());
    let stream = connect(sidecar, left)?;
    write_all(&stream, &encode(sidecar, call), left())?;
    let (mut answer, mut buffer) = (Answer::new(limits::AGONES_RESPONSE_BYTES), [0; limits::READ_BYTES]);
    while !answer.is_whole() {
        match read(&stream, &mut buffer, left())? {
            None => return Err(ErrorKind::TimedOut.into()),
            // A response without a length ends with the stream.
            Some(0) if answer.status().is_some() => break,
            Some(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Some(count) => answer
                .receive(&buffer[..count])
                .map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?,
        }
    }
    let status = answer.status().ok_or(ErrorKind::UnexpectedEof)?;
    Ok(CallResponse { status, body: answer.body().to_vec() })
}

/// Connects to the first address of the host that accepts a connection.
fn connect(sidecar: &SidecarUrl, left: impl Fn() -> Duration) -> io::Result<TcpStream> {
    let mut last_error = io::Error::new(ErrorKind::NotFound, "the host name has no address");
    for address in sidecar.endpoint().to_socket_addrs()? {
        if left().is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        match TcpStream::connect_timeout(&address, left()) {
            Ok(stream) => return Ok(stream),
            Err(error) => last_error = error,
        }
    }
    Err(last_error)
}

fn encode(sidecar: &SidecarUrl, call: &Call) -> Vec<u8> {
    let (method, path, host) = (call.method(), call.path(), sidecar.authority());
    let mut request = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
    match call.body().map(|body| body.to_string()) {
        None => request.push_str("\r\n"),
        Some(body) => {
            let length = body.len();
            request.push_str(&format!(
                "Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
            ));
        }
    }
    request.into_bytes()
}
