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

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Sends a request to a server that answers with these bytes, and returns the request too.
    /// Without an answer, the server keeps the connection open.
    fn exchange(call: &Call, answer: Option<Vec<u8>>, time: Duration) -> (io::Result<CallResponse>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let (mut request, mut buffer) = (Vec::new(), [0; 1024]);
            while !request.ends_with(b"}") && !request.ends_with(b"\r\n\r\n") {
                let count = stream.read(&mut buffer).expect("a request");
                if count == 0 {
                    break;
                }
                request.extend_from_slice(&buffer[..count]);
            }
            match answer {
                // The client may close before it has read all of it.
                Some(answer) => drop(stream.write_all(&answer)),
                None => drop(stream.read(&mut buffer)),
            }
            String::from_utf8(request).expect("text")
        });
        let sidecar = SidecarUrl { host: "127.0.0.1".to_owned(), port: Some(port) };
        let response = send(&sidecar, call, time);
        (response, server.join().expect("no panic").replace(&port.to_string(), "PORT"))
    }

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn a_request_has_the_fields_of_http_and_its_body() {
        let answer = || Some(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".to_vec());
        let label = Call::Label("version", "0.1.0".to_owned());
        let (response, request) = exchange(&label, answer(), LONG);
        assert_eq!(response.expect("a response"), CallResponse { status: 200, body: b"{}".to_vec() });
        assert_eq!(
            request,
            "PUT /metadata/label HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: 33\r\n\r\n{\"key\":\"version\",\"value\":\"0.1.0\"}"
        );
        let (_, request) = exchange(&Call::GameServer, answer(), LONG);
        assert_eq!(request, "GET /gameserver HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nConnection: close\r\n\r\n");
    }

    #[test]
    fn a_response_ends_by_its_length_its_chunks_or_the_stream_and_is_bounded() {
        let answers = |text: &str| exchange(&Call::Health, Some(text.as_bytes().to_vec()), LONG).0;
        for (text, status, body) in [
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 200, "{}"),
            ("HTTP/1.1 500 Oh\r\n\r\nto the end", 500, "to the end"),
            ("HTTP/1.1 204 No Content\r\n\r\n", 204, ""),
        ] {
            let response = answers(text).expect(text);
            assert_eq!((response.status, response.body), (status, body.as_bytes().to_vec()), "{text}");
        }
        let long = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(limits::AGONES_RESPONSE_BYTES + 1));
        for (text, kind) in [
            (&*long, ErrorKind::InvalidData),
            ("SSH-2.0-OpenSSH\r\n\r\n", ErrorKind::InvalidData),
            ("HTTP/1.1 200", ErrorKind::UnexpectedEof),
        ] {
            let error = answers(text).expect_err("no response");
            assert_eq!(error.kind(), kind, "{error}");
        }
    }

    #[test]
    fn a_sidecar_that_does_not_answer_is_given_up_after_the_time() {
        let (response, _) = exchange(&Call::Health, None, Duration::from_millis(300));
        assert_eq!(response.expect_err("no response").kind(), ErrorKind::TimedOut);
        let nowhere = SidecarUrl { host: "127.0.0.1".to_owned(), port: Some(1) };
        let refused = send(&nowhere, &Call::Health, LONG).expect_err("no sidecar");
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    }
}
