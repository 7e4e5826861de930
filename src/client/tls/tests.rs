//! Both ends of TLS over loopback, and certificates that are refused.

use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;
use std::{fs, process, thread};

use rcgen::{BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ProtocolVersion, SupportedProtocolVersion, version};

use super::*;

/// Bytes of a message that fills the buffers of rustls and of the sockets.
const LONG: usize = 3_000_000;

/// A server with a certificate for `localhost` and 127.0.0.1, and the PEM file of its authority.
struct TestServer {
    config: Arc<ServerConfig>,
    ca: PathBuf,
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.ca);
    }
}

fn server(
    name: &str,
    versions: &[&'static SupportedProtocolVersion],
    change: impl FnOnce(&mut CertificateParams),
) -> TestServer {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name.trim_end_matches(char::is_numeric));
    let key = KeyPair::generate().unwrap();
    let ca = std::env::temp_dir().join(format!("tickwire-tls-{name}-{}.pem", process::id()));
    fs::write(&ca, params.self_signed(&key).unwrap().pem()).unwrap();
    let issuer = Issuer::new(params, key);
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let mut params = CertificateParams::new(names).unwrap();
    change(&mut params);
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    TestServer { config: server_config(&certificate, &key, versions), ca }
}

fn server_config(
    certificate: &Certificate,
    key: &KeyPair,
    versions: &[&'static SupportedProtocolVersion],
) -> Arc<ServerConfig> {
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_protocol_versions(versions)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    Arc::new(config)
}

/// A copy of a file, which its own server removes.
fn copy(path: &Path) -> PathBuf {
    let copy = path.with_extension(format!("{}.pem", u64::from_le_bytes(crate::util::os::random())));
    fs::copy(path, &copy).unwrap();
    copy
}

fn sockets() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let server = listener.accept().unwrap().0;
    for socket in [&client, &server] {
        socket.set_nonblocking(true).unwrap();
    }
    (client, server)
}

/// Handshakes on one thread, by turns. Returns both ends, or the error of the client.
fn connect(server: &TestServer, host: &str, accepts_any: bool) -> io::Result<(TlsStream, TlsStream)> {
    let (client, accepted) = sockets();
    let config = client_config(Some(&server.ca), accepts_any)?;
    let mut client = TlsStream::connect(client, host, config)?;
    let mut accepted = TlsStream::accept(accepted, server.config.clone())?;
    loop {
        let is_done = client.handshake()?;
        if accepted.handshake()? && is_done {
            return Ok((client, accepted));
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn refusal(server: &TestServer, host: &str) -> String {
    connect(server, host, false).map(|_| ()).unwrap_err().to_string()
}

/// Sends a long message in one direction, without blocking.
fn transfer(from: &mut TlsStream, to: &mut TlsStream) {
    let (mut sent, mut received, mut buffer) = (0, 0, [0; 10_000]);
    while received < LONG {
        match from.write(&[7; 50_000][..(LONG - sent).min(50_000)]) {
            Ok(count) => sent += count,
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
        loop {
            match to.read(&mut buffer) {
                Ok(count) => {
                    assert!(count > 0 && buffer[..count].iter().all(|byte| *byte == 7));
                    received += count;
                }
                Err(error) => break assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
        }
        assert!(!to.has_unread(), "a read that would block has no plaintext");
    }
    assert!(sent == LONG && received == LONG && !from.wants_write());
}

#[test]
fn both_versions_carry_messages_both_ways_and_end_with_close_notify() {
    for (version, expected) in
        [(&version::TLS12, ProtocolVersion::TLSv1_2), (&version::TLS13, ProtocolVersion::TLSv1_3)]
    {
        let server = server(&format!("{expected:?}"), &[version], |_| {});
        let (mut client, mut accepted) = connect(&server, "127.0.0.1", false).unwrap();
        assert_eq!(client.session.protocol_version(), Some(expected));
        transfer(&mut client, &mut accepted);
        transfer(&mut accepted, &mut client);
        client.close().unwrap();
        while accepted.read(&mut [0]).is_err() {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(accepted.read(&mut [0]).unwrap(), 0);
    }
}

#[test]
fn bytes_written_before_the_handshake_arrive_after_it() {
    let server = server("early", rustls::ALL_VERSIONS, |_| {});
    let (client, accepted) = sockets();
    let config = client_config(Some(&server.ca), false).unwrap();
    let mut client = TlsStream::connect(client, "localhost", config).unwrap();
    let mut accepted = TlsStream::accept(accepted, server.config.clone()).unwrap();
    assert_eq!(client.write(b"GET / HTTP/1.1").unwrap(), 14);
    assert!(client.session.is_handshaking());
    let mut buffer = [0; 100];
    let count = loop {
        assert_eq!(client.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
        match accepted.read(&mut buffer) {
            Ok(count) => break count,
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
    };
    assert_eq!(&buffer[..count], b"GET / HTTP/1.1");
}

#[test]
fn certificates_are_refused_with_the_rule_and_the_remedy() {
    let good = server("good", rustls::ALL_VERSIONS, |_| {});
    let other = server("other", rustls::ALL_VERSIONS, |_| {});
    let stranger = TestServer { config: other.config.clone(), ca: copy(&good.ca) };
    let again = server("good2", rustls::ALL_VERSIONS, |_| {});
    let renewed = TestServer { config: again.config.clone(), ca: copy(&good.ca) };
    let expired = server("expired", rustls::ALL_VERSIONS, |params| {
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2021, 1, 1);
    });
    let future = server("future", rustls::ALL_VERSIONS, |params| {
        params.not_before = rcgen::date_time_ymd(2900, 1, 1);
        params.not_after = rcgen::date_time_ymd(2901, 1, 1);
    });
    let is_authority = server("authority", rustls::ALL_VERSIONS, |params| {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    });
    for (server, host, rule) in [
        (&good, "example.org", "is for localhost, 127.0.0.1, not for example.org; --ca"),
        (&stranger, "localhost", "is from an unknown issuer; --ca"),
        (&renewed, "localhost", "is not signed with the key of the accepted authority"),
        (&expired, "localhost", " days ago; --ca"),
        (&future, "localhost", "is not valid for another "),
        (&is_authority, "localhost", "is one of an authority"),
    ] {
        let error = refusal(server, host);
        assert!(error.starts_with("the certificate ") && error.contains(rule), "{error}");
        assert!(error.contains("--insecure"), "{error}");
        connect(server, host, true).expect("--insecure accepts any certificate");
    }
    assert!(refusal(&good, "a_b!").contains("must be a DNS name or an IP address"));
}

/// A certificate as `openssl req -x509` makes it: self-signed, and one of an authority.
#[test]
fn a_self_signed_certificate_in_the_file_is_accepted_for_its_names() {
    let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let ca = std::env::temp_dir().join(format!("tickwire-tls-self-{}.pem", process::id()));
    fs::write(&ca, certificate.pem()).unwrap();
    let server = TestServer { config: server_config(&certificate, &key, rustls::ALL_VERSIONS), ca };
    connect(&server, "localhost", false).expect("the file has the certificate");
    assert!(refusal(&server, "example.org").contains("is for localhost, not for example.org"));
}

#[test]
fn a_server_without_tls_is_an_error_in_words() {
    for (answer, expected) in [
        ("HTTP/1.1 400 Bad Request\r\n\r\n", "did not answer in TLS"),
        ("", "ended the connection during the TLS handshake"),
    ] {
        let (client, mut accepted) = sockets();
        let config = client_config(None, true).unwrap();
        let mut client = TlsStream::connect(client, "localhost", config).unwrap();
        accepted.write_all(answer.as_bytes()).unwrap();
        drop(accepted);
        let error = loop {
            match client.read(&mut [0]) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                read => break read.unwrap_err(),
            }
        };
        // A socket that is closed with unread bytes is reset.
        let is_reset = error.kind() == ErrorKind::ConnectionReset;
        assert!(is_reset && answer.is_empty() || error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn a_file_without_certificates_is_an_error_with_its_name() {
    let path = std::env::temp_dir().join(format!("tickwire-tls-empty-{}.pem", process::id()));
    let missing = client_config(Some(&path), false).unwrap_err().to_string();
    fs::write(&path, "no certificate").unwrap();
    let empty = client_config(Some(&path), false).unwrap_err().to_string();
    fs::remove_file(&path).unwrap();
    for error in [missing, empty] {
        assert!(error.contains("tickwire-tls-empty") && error.contains("PEM"), "{error}");
    }
}
