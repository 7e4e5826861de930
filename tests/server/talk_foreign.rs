//! `tickwire connect` at servers that are not tickwire servers, without and with TLS.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Output;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{fs, thread};

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tickwire::ws::http::HeadReader;
use tickwire::ws::{Connection, Event, HeadLimits, Limits, Role, handshake};

use crate::program::tickwire;
use crate::support::PATIENCE;

/// The response of a server at `/rooms`.
#[derive(Clone, Copy)]
enum Rooms {
    NotFound,
    Nothing,
}

/// A server that echoes messages, and the heads of the requests that it has received.
struct ForeignServer {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

/// The listening thread ends with the program, and a thread of a connection with its client.
fn foreign_server(rooms: Rooms, tls: Option<Arc<ServerConfig>>) -> ForeignServer {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let requests = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&requests);
    thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let (tls, seen) = (tls.clone(), Arc::clone(&seen));
            thread::spawn(move || match tls {
                None => serve(socket, rooms, &seen),
                Some(config) => {
                    let session = ServerConnection::new(config).expect("a valid configuration");
                    serve(StreamOwned::new(session, socket), rooms, &seen);
                }
            });
        }
    });
    ForeignServer { address, requests }
}

/// Serves a connection until its end or its first error.
fn serve(mut stream: impl Read + Write, rooms: Rooms, seen: &Mutex<Vec<String>>) {
    let (mut request, mut byte) = (Vec::new(), [0]);
    while !request.ends_with(b"\r\n\r\n") {
        let Ok(1) = stream.read(&mut byte) else { return };
        request.push(byte[0]);
    }
    seen.lock().expect("unpoisoned").push(String::from_utf8_lossy(&request).into_owned());
    let head = HeadReader::new(HeadLimits::default()).receive(&request).expect("HTTP").expect("a head");
    if head.target.starts_with("/rooms") {
        match rooms {
            Rooms::NotFound => drop(stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")),
            Rooms::Nothing => drop(stream.read(&mut byte)),
        }
        return;
    }
    let response = handshake::accept(&head, &["mqtt"]).expect("an upgrade").response;
    let mut connection = Connection::new(Role::Server, Limits::default());
    let mut output = response;
    let (mut buffer, mut is_closed) = ([0; 4096], false);
    while stream.write_all(&output).and_then(|()| stream.flush()).is_ok() && !is_closed {
        let Ok(count @ 1..) = stream.read(&mut buffer) else { return };
        connection.receive(&buffer[..count]);
        let mut messages = Vec::new();
        while let Ok(Some(event)) = connection.next_event() {
            match event {
                Event::Text(text) => messages.push((true, text.as_bytes().to_vec())),
                Event::Binary(message) => messages.push((false, message.to_vec())),
                Event::Close { .. } => is_closed = true,
                _ => {}
            }
        }
        for (is_text, message) in messages {
            match std::str::from_utf8(&message) {
                Ok(text) if is_text => connection.send_text(text),
                _ => connection.send_binary(&message),
            }
        }
        output.clear();
        connection.drain_output(&mut output);
    }
}

/// Runs a script; returns the exit code, the output and the errors.
fn connect(url: &str, flags: &[&str], script: &str) -> (Option<i32>, String, String) {
    let arguments = [&["connect", url], flags].concat();
    let mut child =
        tickwire(&arguments).env("TICKWIRE_BEARER", "topsecret").spawn().expect("the program starts");
    // Fails if the program has ended already.
    let _ = child.stdin.take().expect("piped").write_all(script.as_bytes());
    let Output { status, stdout, stderr } = child.wait_with_output().expect("the program ends");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (status.code(), text(stdout), text(stderr))
}

/// A script whose lines fail if a message does not come back. `expect` waits 20 s.
fn script(file: &str) -> String {
    format!(
        "{{\"op\": 1, \"d\": {{\"list\": [1, 2]}}}}\n\
         expect text /op=1 /d/list/1=2 20\n\
         msgpack {{\"a\": 1.5}}\n\
         expect binary a=1.5 20\n\
         text hello world\n\
         text hello again\n\
         expect text \"lo aga\" 20\n\
         file {file}\n\
         expect binary 20\n\
         text-file {file}\n\
         expect text \"in a file\" 20\n"
    )
}

/// A file of this process, removed when dropped.
struct TempFile(std::path::PathBuf);

impl TempFile {
    fn new(name: &str, content: &str) -> TempFile {
        let path = std::env::temp_dir().join(format!("tickwire-talk-{name}-{}", std::process::id()));
        fs::write(&path, content).expect("written");
        TempFile(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("UTF-8")
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn messages_of_another_server_are_shown_as_they_are_and_secrets_are_not() {
    let (server, file) = (foreign_server(Rooms::NotFound, None), TempFile::new("plain", "bytes in a file"));
    let url = format!("ws://{}/?token=topsecret", server.address);
    let flags =
        ["--subprotocol", "mqtt", "--origin", "https://a.example", "--header", "Cookie: sid=topsecret"];
    let (code, out, errors) = connect(&url, &flags, &script(file.path()));
    assert_eq!((code, errors.as_str()), (Some(0), ""), "{out}");
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("not a tickwire server"), "{out}");
    for part in [
        "> text, masked, 32 bytes: JSON {\"op\": 1, \"d\": {\"list\": [1, 2]}}",
        "< text, 32 bytes: JSON {\"op\"",
        "< binary, 12 bytes: MessagePack {\"a\":1.5}",
        "< text, 11 bytes: \"hello world\"",
        "< binary, 15 bytes: 62 79 74 65 73",
        "< text, 15 bytes: \"bytes in a file\"",
        "< close, 2 bytes: close 1000 normal",
    ] {
        assert!(out.contains(part), "no {part:?} in {out}");
    }
    assert!(!out.contains("topsecret"), "{out}");
    let request = server.requests.lock().expect("unpoisoned").last().expect("a request").clone();
    for line in [
        "GET /?token=topsecret HTTP/1.1",
        "Sec-WebSocket-Protocol: mqtt",
        "Origin: https://a.example",
        "Authorization: Bearer topsecret",
        "Cookie: sid=topsecret",
    ] {
        assert!(request.lines().any(|own| own == line), "no {line:?} in {request}");
    }
    let (code, out, _) = connect(&url, &[&flags[..], &["--full"]].concat(), "");
    assert!(code == Some(0) && out.contains("authorization") && !out.contains("topsecret"), "{out}");
}

#[test]
fn a_server_without_a_list_of_rooms_delays_the_connection_by_a_second_at_most() {
    let server = foreign_server(Rooms::Nothing, None);
    let url = format!("ws://{}/", server.address);
    let start = Instant::now();
    let (code, out, errors) = connect(&url, &[], "text a\nexpect text 20\n");
    assert_eq!((code, errors.as_str()), (Some(0), ""), "{out}");
    assert!(start.elapsed() >= Duration::from_secs(1) && start.elapsed() < PATIENCE);
    let (code, out, _) = connect(&url, &["--dialect", "none"], "text a\nexpect text 20\n");
    assert!(code == Some(0) && out.starts_with("> GET / "), "{out}");
    let (code, ..) = connect(&format!("ws://{}/socket", server.address), &[], "");
    assert_eq!(code, Some(0));
    let requests = server.requests.lock().expect("unpoisoned");
    let of_rooms = requests.iter().filter(|request| request.starts_with("GET /rooms")).count();
    assert_eq!((of_rooms, requests.len()), (1, 4), "the list is requested only for a path of a game");
}

#[test]
fn an_expectation_that_fails_names_its_conditions() {
    let server = foreign_server(Rooms::NotFound, None);
    let url = format!("ws://{}/", server.address);
    let (code, _, errors) = connect(&url, &["--dialect", "none"], "{\"op\": 1}\nexpect text /op=2 0.3\n");
    let expected = "tickwire: line 2: expected text /op=2, which did not arrive within 0.3 s\n";
    assert_eq!((code, errors.as_str()), (Some(1), expected));
}

#[test]
fn a_refusal_is_printed_with_its_address_and_its_lines() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let serving = thread::spawn(move || {
        let mut stream: TcpStream = listener.accept().expect("a connection").0;
        let _ = stream.read(&mut [0; 4096]);
        let head = "HTTP/1.1 302 Found\r\nLocation: https://a.example/\r\nConnection: close\r\n\r\n";
        stream.write_all(format!("{head}one\ntwo \x1b[2J\n").as_bytes()).expect("sent");
    });
    let (code, out, _) = connect(&format!("ws://{address}/"), &["--dialect", "none"], "");
    serving.join().expect("answered");
    assert_eq!(code, Some(1));
    assert!(out.contains("the response redirects to https://a.example/\n"), "{out}");
    assert!(out.contains("the response says:\n  one\n  two \\u001b[2J\n"), "{out}");
}

/// A configuration with a self-signed certificate for `localhost`, and the certificate in PEM.
fn tls_of_localhost() -> (Arc<ServerConfig>, TempFile) {
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(["localhost".to_owned()]).expect("a name");
    let certificate = params.self_signed(&key).expect("a certificate");
    let pem = TempFile::new("ca.pem", &certificate.pem());
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has both versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .expect("the key fits");
    (Arc::new(config), pem)
}

#[test]
fn a_server_behind_tls_is_reached_if_its_certificate_is_accepted() {
    let (config, ca) = tls_of_localhost();
    let server = foreign_server(Rooms::NotFound, Some(config));
    let (file, port) = (TempFile::new("tls", "bytes in a file"), server.address.port());
    let url = format!("wss://localhost:{port}/");
    let (code, out, errors) = connect(&url, &["--ca", ca.path()], &script(file.path()));
    assert_eq!((code, errors.as_str()), (Some(0), ""), "{out}");
    assert!(out.contains("< close, 2 bytes: close 1000 normal"), "{out}");

    let (code, out, _) = connect(&url, &["--insecure"], "text a\nexpect text 20\n");
    assert!(code == Some(0) && out.starts_with("--insecure: the server is not authenticated"), "{out}");

    let other = connect(&format!("wss://127.0.0.1:{port}/"), &["--ca", ca.path()], "");
    assert!(
        other.0 == Some(1) && other.2.contains("is for localhost, not for 127.0.0.1; --ca"),
        "{}",
        other.2
    );

    let (code, _, errors) = connect(&format!("ws://localhost:{port}/"), &["--dialect", "none"], "");
    assert!(code == Some(1) && errors.contains("did not accept the upgrade"), "{errors}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_signal_closes_the_connection_of_a_script_with_1000() {
    use rustix::process::{Pid, Signal, kill_process};
    use std::io::{BufRead, BufReader};

    let server = foreign_server(Rooms::NotFound, None);
    let url = format!("ws://{}/", server.address);
    let mut child = tickwire(&["connect", &url, "--dialect", "none"]).spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(b"ping ready\nexpect pong 20\nwait 3600\n").expect("the program reads");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with("< pong")));
    // SIGTERM, because a shell may have made SIGINT ignored.
    kill_process(Pid::from_child(&child), Signal::TERM).expect("the signal is sent");
    let rest: Vec<String> = lines.collect();
    assert!(rest.iter().any(|line| line.starts_with("< close, 2 bytes: close 1000 normal")), "{rest:?}");
    let output = child.wait_with_output().expect("the program ends");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && errors.ends_with(": interrupted\n"), "{errors}");
}
