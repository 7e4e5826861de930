//! TLS over a non-blocking socket, for either role: `wss://` of the tools.
//!
//! ```text
//!   read() ◄── plaintext ◄── rustls ◄── records ◄── socket
//!   write() ──► plaintext ──► rustls ──► records ──► socket
//! ```
//!
//! A [`TlsStream`] behaves like its socket: a read or a write that would wait returns `WouldBlock`.
//! The handshake needs no calls of its own, because reads and writes drive it. The driver polls the
//! socket for reading, and for writing while [`TlsStream::wants_write`] is true. Before it polls,
//! it reads until `WouldBlock`: rustls may hold plaintext that the socket no longer reports.
//!
//! [`ring`](rustls::crypto::ring) has the ciphers, for TLS 1.2 and 1.3. The only protocol that ALPN
//! offers is HTTP/1.1, because a WebSocket upgrade needs it.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{self, CryptoProvider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConnection, Connection, DigitallySignedStruct, Error, RootCertStore,
    ServerConnection, SignatureScheme,
};
pub(crate) use rustls::{ClientConfig, ServerConfig};

use crate::util::escape;
use crate::util::plural::count_noun;

/// The protocol name of HTTP/1.1 in ALPN (RFC 7301, section 6).
const HTTP_1_1: &[u8] = b"http/1.1";
/// Flags of `tickwire connect` that change which certificates are accepted.
const REMEDY: &str = "--ca FILE accepts other certificates, --insecure any certificate";
const SECONDS_PER_DAY: u64 = 86_400;

/// A configuration that accepts servers with a certificate that an authority has signed. The
/// authorities are in `ca`, a file in PEM, or else in the certificate store of the system. A
/// certificate in `ca` may also be the server's own. With `accepts_any`, any certificate is
/// accepted, and the server is not authenticated.
///
/// # Errors
/// The file cannot be read or has no certificate, or the system has no certificates.
pub(crate) fn client_config(ca: Option<&Path>, accepts_any: bool) -> io::Result<Arc<ClientConfig>> {
    let provider = Arc::new(crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone());
    let builder = builder.with_safe_default_protocol_versions().map_err(invalid)?;
    let mut config = if accepts_any {
        let verifier = Arc::new(AnyCertificate(provider));
        builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
    } else if let Some(path) = ca {
        let verifier = Arc::new(FileVerifier::new(path, provider)?);
        builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
    } else {
        builder.with_root_certificates(system_roots()?).with_no_client_auth()
    };
    config.alpn_protocols = vec![HTTP_1_1.to_vec()];
    Ok(Arc::new(config))
}

/// A certificate that a server made for itself.
pub(crate) struct OwnCertificate {
    /// The configuration of the server.
    pub config: Arc<ServerConfig>,
    /// The certificate in PEM, for clients that should accept it.
    pub pem: String,
}

/// Makes a key and a self-signed certificate for these names and addresses.
///
/// # Errors
/// A name is not valid in a certificate.
pub(crate) fn self_signed(names: Vec<String>) -> io::Result<OwnCertificate> {
    let made =
        rcgen::generate_simple_self_signed(names).map_err(|error| io::Error::other(error.to_string()))?;
    let (pem, certificate) = (made.cert.pem(), made.cert.der().clone());
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).map_err(io::Error::other)?;
    let builder = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(invalid)?;
    let config = builder.with_no_client_auth().with_single_cert(vec![certificate], key).map_err(invalid)?;
    Ok(OwnCertificate { config: Arc::new(config), pem })
}

fn system_roots() -> io::Result<RootCertStore> {
    let (mut roots, found) = (RootCertStore::empty(), rustls_native_certs::load_native_certs());
    // Stores have certificates that rustls cannot parse. The others are still useful.
    roots.add_parsable_certificates(found.certs);
    if !roots.is_empty() {
        return Ok(roots);
    }
    let error = found.errors.first().map_or(String::new(), |error| format!(" ({error})"));
    Err(io::Error::new(
        ErrorKind::NotFound,
        format!(
            "the system has no certificates of authorities{error}: install them (ca-certificates); {REMEDY}"
        ),
    ))
}

/// A verifier that accepts the certificates in a file, and certificates that they have signed.
#[derive(Debug)]
struct FileVerifier {
    certificates: Vec<CertificateDer<'static>>,
    webpki: Arc<WebPkiServerVerifier>,
}

impl FileVerifier {
    fn new(path: &Path, provider: Arc<CryptoProvider>) -> io::Result<FileVerifier> {
        let unreadable = |error: &dyn fmt::Display| {
            let text = format!("--ca {}: {error}; it must be a file in PEM", path.display());
            io::Error::new(ErrorKind::InvalidData, text)
        };
        let certificates: Result<Vec<_>, _> =
            CertificateDer::pem_file_iter(path).and_then(|certificates| certificates.collect());
        let certificates = certificates.map_err(|error| unreadable(&error))?;
        if certificates.is_empty() {
            return Err(unreadable(&"no certificate in the file"));
        }
        let mut roots = RootCertStore::empty();
        for certificate in &certificates {
            roots.add(certificate.clone()).map_err(|error| unreadable(&error))?;
        }
        let webpki = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        let webpki = webpki.build().map_err(|error| unreadable(&error))?;
        Ok(FileVerifier { certificates, webpki })
    }
}

impl ServerCertVerifier for FileVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.webpki.verify_server_cert(end_entity, intermediates, server_name, ocsp, now);
        match verified {
            // `openssl req -x509` makes a server's certificate as one of an authority. The dates of
            // such a certificate are not checked, because the user has chosen it.
            Err(Error::InvalidCertificate(error))
                if is_authority_as_server(&error) && self.certificates.contains(end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.webpki.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.webpki.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.webpki.supported_verify_schemes()
    }
}

/// A verifier that accepts any certificate. The signatures of the handshake are still verified.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// A TLS connection over a non-blocking socket.
#[derive(Debug)]
pub(crate) struct TlsStream {
    socket: TcpStream,
    session: Connection,
    /// Bytes of received plaintext that no read has taken.
    unread_bytes: usize,
}

impl TlsStream {
    /// The client's side of a connection to `host`: a DNS name, or an address without brackets.
    /// Sends nothing yet.
    ///
    /// # Errors
    /// `host` is not a name that a certificate can have.
    pub fn connect(socket: TcpStream, host: &str, config: Arc<ClientConfig>) -> io::Result<TlsStream> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| {
            let rule = "must be a DNS name or an IP address";
            io::Error::new(ErrorKind::InvalidInput, format!("host {host:?}: {rule} for wss://"))
        })?;
        let session = ClientConnection::new(config, name).map_err(invalid)?;
        Ok(TlsStream { socket, session: session.into(), unread_bytes: 0 })
    }

    /// The server's side of an accepted connection.
    ///
    /// # Errors
    /// The configuration is invalid.
    pub fn accept(socket: TcpStream, config: Arc<ServerConfig>) -> io::Result<TlsStream> {
        let session = ServerConnection::new(config).map_err(invalid)?;
        Ok(TlsStream { socket, session: session.into(), unread_bytes: 0 })
    }

    /// The socket, for polling and for its addresses. It must not be read or written.
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Whether records wait until the socket accepts them. Poll the socket for writing, then call
    /// `flush`.
    pub fn wants_write(&self) -> bool {
        self.session.wants_write()
    }

    /// Whether the next read returns bytes without the socket.
    pub fn has_unread(&self) -> bool {
        self.unread_bytes > 0
    }

    /// Reads and writes what the handshake needs and the socket has. Returns whether the handshake
    /// is complete. A driver that only reads and writes does not need it.
    ///
    /// # Errors
    /// As for a read.
    pub fn handshake(&mut self) -> io::Result<bool> {
        self.flush()?;
        while self.session.is_handshaking() {
            match self.receive_records() {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                received => received?,
            }
        }
        Ok(true)
    }

    /// Sends `close_notify` (RFC 8446, section 6.1), after which nothing can be written. The socket
    /// stays open.
    ///
    /// # Errors
    /// The socket's error.
    pub fn close(&mut self) -> io::Result<()> {
        self.session.send_close_notify();
        self.flush()
    }

    /// Receives records from the socket once, and sends the records that wait or that they require.
    /// An error of sending is left to the next write.
    fn receive_records(&mut self) -> io::Result<()> {
        let _ = self.flush();
        match self.session.read_tls(&mut self.socket) {
            Ok(0) if self.session.is_handshaking() => {
                let text = "the peer ended the connection during the TLS handshake";
                return Err(io::Error::new(ErrorKind::UnexpectedEof, text));
            }
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(error),
        }
        let processed = self.session.process_new_packets().map_err(invalid);
        // Sends the alert after a broken rule.
        let _ = self.flush();
        self.unread_bytes = processed?.plaintext_bytes_to_read();
        Ok(())
    }
}

impl Read for TlsStream {
    /// Reads plaintext. Returns 0 after `close_notify`, and after the end of the peer's stream
    /// without it, because WebSocket has a close frame of its own.
    ///
    /// # Errors
    /// `WouldBlock`; `InvalidData` after a failed handshake or a broken rule of TLS; the socket's
    /// error.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.session.reader().read(buffer) {
                Ok(count) => {
                    self.unread_bytes = self.unread_bytes.saturating_sub(count);
                    return Ok(count);
                }
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.receive_records()?,
                Err(error) => return Err(error),
            }
        }
    }
}

impl Write for TlsStream {
    /// Encrypts bytes, and sends the records that the socket accepts. Before the end of the
    /// handshake, the bytes are stored. `WouldBlock` means that 64 KiB wait already.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.flush()?;
        let count = self.session.writer().write(bytes)?;
        if count == 0 && !bytes.is_empty() {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.flush()?;
        Ok(count)
    }

    /// Sends the waiting records that the socket accepts.
    fn flush(&mut self) -> io::Result<()> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut self.socket) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn invalid(error: Error) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, describe(&error))
}

/// One line with the rule that broke, and the remedy if there is one.
fn describe(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(error) => format!("the certificate {}", describe_certificate(error)),
        Error::InvalidMessage(_) => {
            "the peer did not answer in TLS: is this port for ws:// or http:// instead?".to_owned()
        }
        Error::AlertReceived(alert) => format!("the peer ended TLS with the alert {alert:?}"),
        _ => format!("TLS: {error}"),
    }
}

fn describe_certificate(error: &CertificateError) -> String {
    let days = |from: UnixTime, to: UnixTime| {
        count_noun(to.as_secs().saturating_sub(from.as_secs()) / SECONDS_PER_DAY, "day")
    };
    let broken = match error {
        CertificateError::ExpiredContext { time, not_after } => {
            format!("expired {} ago", days(*not_after, *time))
        }
        CertificateError::Expired => "has expired".to_owned(),
        CertificateError::NotValidYetContext { time, not_before } => {
            format!("is not valid for another {}", days(*time, *not_before))
        }
        CertificateError::NotValidYet => "is not valid yet".to_owned(),
        CertificateError::UnknownIssuer => "is from an unknown issuer".to_owned(),
        // Such as after the authority was made again.
        CertificateError::BadSignature => {
            "is not signed with the key of the accepted authority of that name".to_owned()
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            let presented: Vec<&str> = presented.iter().map(|name| bare_name(name)).collect();
            let names = if presented.is_empty() { "no name".to_owned() } else { presented.join(", ") };
            format!("is for {}, not for {}", escape::escape_line(&names), expected.to_str())
        }
        error if is_authority_as_server(error) => {
            "is one of an authority (CA:TRUE), and must be one of a server".to_owned()
        }
        error => format!("is invalid: {}", escape::escape_line(&error.to_string())),
    };
    format!("{broken}; {REMEDY}")
}

/// Whether a server has presented the certificate of an authority as its own.
fn is_authority_as_server(error: &CertificateError) -> bool {
    matches!(error, CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity"))
}

/// The name in a text such as `DnsName("example.org")` or `IpAddress(127.0.0.1)`.
fn bare_name(presented: &str) -> &str {
    let inner = presented.split_once('(').and_then(|(_, inner)| inner.strip_suffix(')'));
    inner.map_or(presented, |name| name.trim_matches('"'))
}

#[cfg(test)]
mod tests;
