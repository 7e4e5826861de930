//! What the black-box tests share: a server on a free port, and a peer that is not our own code.
#![allow(dead_code, reason = "each test file uses its part")]

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use tickwire::internal::server::net::{ServerConfig, ServerHandle};
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

/// How long a test waits for what must come: long, so that a loaded machine does not fail it.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// An address without a server. Port 1 is privileged, so no parallel test binds it, unlike an
/// ephemeral port that was bound and released.
pub const NO_SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1);

/// A server with the default settings on a free port of this machine.
pub fn server() -> ServerHandle {
    server_with(|_| {})
}

/// A server with settings of the test's own on a free port of this machine.
pub fn server_with(set: impl FnOnce(&mut ServerConfig)) -> ServerHandle {
    let mut config = ServerConfig::new("127.0.0.1:0".parse().expect("an address"));
    set(&mut config);
    ServerHandle::start(config).expect("a free port")
}

/// A WebSocket client by another library.
pub struct Peer {
    socket: WebSocket<TcpStream>,
}

impl Peer {
    /// Connects and upgrades; without a subprotocol, as MooMoo clients do.
    pub fn connect(address: SocketAddr, target: &str) -> Peer {
        Peer::try_connect(address, target).expect("the upgrade")
    }

    /// Connects and upgrades, or says why not.
    pub fn try_connect(address: SocketAddr, target: &str) -> Result<Peer, String> {
        Peer::try_connect_with(address, target, &[]).map(|(peer, _)| peer)
    }

    /// Connects and upgrades with more headers. Returns the selected subprotocol too.
    pub fn try_connect_with(
        address: SocketAddr,
        target: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<(Peer, Option<String>), String> {
        let stream = TcpStream::connect(address).map_err(|error| error.to_string())?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(|error| error.to_string())?;
        let mut request =
            format!("ws://{address}{target}").into_client_request().map_err(|error| error.to_string())?;
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().expect("a header"));
        }
        let (socket, response) = tungstenite::client(request, stream).map_err(|error| error.to_string())?;
        let selected = response.headers().get("Sec-WebSocket-Protocol");
        let selected = selected.map(|value| value.to_str().expect("ASCII").to_owned());
        Ok((Peer { socket }, selected))
    }

    /// Sends one binary message.
    pub fn send(&mut self, message: &[u8]) {
        self.socket.send(Message::Binary(message.to_vec().into())).expect("sent");
    }

    /// Sends one text message.
    pub fn send_text(&mut self, message: &str) {
        self.socket.send(Message::Text(message.into())).expect("sent");
    }

    /// The next binary or text message; a close frame or an end is an error that says how.
    pub fn receive(&mut self) -> Result<Vec<u8>, String> {
        loop {
            match self.socket.read() {
                Ok(Message::Binary(message)) => return Ok(message.to_vec()),
                Ok(Message::Text(message)) => return Ok(message.as_bytes().to_vec()),
                Ok(Message::Close(Some(close))) => {
                    return Err(format!("{} {}", u16::from(close.code), close.reason));
                }
                Ok(Message::Close(None)) => return Err("closed without a code".to_owned()),
                Ok(_) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    /// The next message for which `wanted` holds.
    pub fn receive_until(&mut self, wanted: impl Fn(&[u8]) -> bool) -> Result<Vec<u8>, String> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let message = self.receive()?;
            if wanted(&message) {
                return Ok(message);
            }
        }
        Err("it never came".to_owned())
    }

    /// Reads on until the close frame, and gives its code and reason.
    pub fn receive_close(&mut self) -> String {
        loop {
            if let Err(how) = self.receive() {
                return how;
            }
        }
    }

    /// Closes and waits for the answer.
    pub fn close(&mut self) {
        let _ = self.socket.close(None);
        while self.socket.read().is_ok() {}
    }

    /// The socket below, for bytes that no library would send.
    pub fn stream(&mut self) -> &mut TcpStream {
        self.socket.get_mut()
    }
}

/// Bytes from hex digits; `-` is no bytes.
pub fn hex(digits: &str) -> Vec<u8> {
    let digits = digits.trim_matches('-');
    (0..digits.len() / 2)
        .map(|at| u8::from_str_radix(&digits[at * 2..at * 2 + 2], 16).expect("hex"))
        .collect()
}

/// Hex digits of bytes.
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
