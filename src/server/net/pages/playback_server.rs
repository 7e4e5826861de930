//! The server of `tickwire replay --serve`: serves the game's page and one capture file to this
//! machine. It runs no game: no WebSocket endpoint, no `/wire`, no `/admin`, and every other path
//! is 404.
//!
//! A connection carries one request. The file is sent while it is read, so its size is not limited.
//! Bytes appended to the file during the transfer are not sent.

use std::fs::File;
use std::io::{self, Read};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::page_response::{CONTENT_SECURITY_POLICY, PageResponse};
use crate::game::GameInfo;
use crate::limits;
use crate::packet::{PacketTables, routes, tables_json};
use crate::server::admission::refusal::Refusal;
use crate::server::net::accept::{self, AcceptLoop, ConnectionHandler, Connections, Registration};
use crate::server::net::blocking_io::write_all;
use crate::server::net::request::{finish, read_head, refuse_at_accept};
use crate::server::net::{access, pages};
use crate::tools::capture::Untrusted;
use crate::ws::http::{self, HeadReader, RequestHead};

/// Name of the capture file below the root.
const CAPTURE: &str = "capture.pcapng";
const CAPTURE_TYPE: &str = "application/x-pcapng";

/// The content of a playback server.
#[derive(Debug)]
pub struct PlaybackContent {
    /// Path of the capture file.
    pub file: PathBuf,
    /// Rooms of the capture, by name, with their games.
    pub rooms: Vec<(Untrusted, &'static GameInfo)>,
    /// Packet tables of the pages.
    pub codes: Arc<PacketTables>,
}

/// A running server. Its threads continue if it is dropped without [`PlaybackServer::stop`].
#[derive(Debug)]
pub struct PlaybackServer {
    accept_loop: AcceptLoop<PlaybackState>,
    address: SocketAddr,
}

#[derive(Debug)]
struct PlaybackState {
    served: PlaybackContent,
    accepted: AtomicU64,
    connections: Connections,
}

impl PlaybackServer {
    /// Starts the server.
    ///
    /// # Errors
    /// The address is not a loopback address or cannot be bound, or a thread cannot be started.
    pub fn start(bind: SocketAddr, served: PlaybackContent) -> io::Result<PlaybackServer> {
        if !bind.ip().is_loopback() {
            let why = "it is not an address of this machine alone, such as 127.0.0.1";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let listener = accept::bind(bind)?;
        let address = listener.local_addr()?;
        let (accepted, connections) = (AtomicU64::default(), Connections::default());
        let state = Arc::new(PlaybackState { served, accepted, connections });
        Ok(PlaybackServer { accept_loop: AcceptLoop::start(listener, state)?, address })
    }

    /// Returns the address on which the server listens, with the actual port if port 0 was
    /// requested.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts no new connections and shuts down the open ones. Returns the number of connections
    /// left open: 0 unless a thread hangs.
    pub fn stop(self) -> usize {
        self.accept_loop.stop(Duration::ZERO)
    }
}

impl ConnectionHandler for PlaybackState {
    const THREAD_NAME: &'static str = "page";
    const CONFIGURE: fn(&TcpStream) -> io::Result<()> = |stream| stream.set_nodelay(true);
    type Permit = ();

    fn connections(&self) -> &Connections {
        &self.connections
    }

    fn admit(&self, stream: &TcpStream, _: SocketAddr) -> Option<(u64, ())> {
        if self.connections.count() < limits::WATCH_CONNECTIONS {
            return Some((self.accepted.fetch_add(1, Ordering::Relaxed), ()));
        }
        refuse_at_accept(stream, &Refusal::from_rule(503, "too_many_connections"));
        None
    }

    /// Reads one request and responds to it.
    fn serve(
        self: &Arc<PlaybackState>,
        stream: Arc<TcpStream>,
        address: SocketAddr,
        (): (),
        _registration: Registration<PlaybackState>,
    ) {
        let reader = HeadReader::new(limits::HEAD_LIMITS);
        let written =
            match read_head(&stream, reader, Vec::new(), Instant::now() + limits::HEAD_TIMEOUT, None) {
                Ok(None) => return,
                Ok(Some(received)) => respond(self, &stream, &received.head, address),
                Err(refused) => write_all(&stream, &refused.response, limits::PAGE_WRITE_TIMEOUT),
            };
        if written.is_ok() {
            finish(&stream, limits::MAX_DRAIN_BYTES);
        }
    }
}

fn respond(
    shared: &PlaybackState,
    stream: &TcpStream,
    head: &RequestHead,
    address: SocketAddr,
) -> io::Result<()> {
    let is_head = head.method == "HEAD";
    let found = if !access::is_local_request(head, address, &[]) {
        PageResponse::text(403, "this is served to this machine only\n".to_owned())
    } else if head.method != "GET" && !is_head {
        PageResponse {
            extra_header: ("Allow", "GET, HEAD".into()),
            ..PageResponse::text(405, "only GET and HEAD\n".to_owned())
        }
    } else if head.path() == format!("/{CAPTURE}") {
        return send_file(&shared.served, stream, is_head);
    } else {
        shared.served.find(head)
    };
    let (head, body) = pages::response(found, is_head, &[]);
    write_all(stream, &head, limits::PAGE_WRITE_TIMEOUT)?;
    write_all(stream, &body, limits::PAGE_WRITE_TIMEOUT)
}

/// Sends the capture up to its current length. Fails if a chunk takes longer than
/// [`limits::PAGE_WRITE_TIMEOUT`].
fn send_file(served: &PlaybackContent, stream: &TcpStream, is_head: bool) -> io::Result<()> {
    let opened = File::open(&served.file).and_then(|file| Ok((file.metadata()?.len(), file)));
    let Ok((bytes, mut file)) = opened else {
        let found = PageResponse::text(404, "the capture file cannot be read any more\n".to_owned());
        return write_all(stream, &pages::response(found, is_head, &[]).0, limits::PAGE_WRITE_TIMEOUT);
    };
    let more = pages::headers(CONTENT_SECURITY_POLICY, ("Cache-Control", "no-cache"));
    let head = http::response_head(200, CAPTURE_TYPE, &more, usize::try_from(bytes).unwrap_or(usize::MAX));
    write_all(stream, &head, limits::PAGE_WRITE_TIMEOUT)?;
    let (mut left, mut buffer) = (if is_head { 0 } else { bytes }, vec![0; limits::WATCH_SEND_BYTES]);
    while left > 0 {
        let max_bytes = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let count = file.read(&mut buffer[..max_bytes])?;
        if count == 0 {
            // The file was truncated. Closing early makes the missing bytes visible to the peer.
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        write_all(stream, &buffer[..count], limits::PAGE_WRITE_TIMEOUT)?;
        left -= count as u64;
    }
    Ok(())
}

impl PlaybackContent {
    /// Returns the page of a room, or one of its files.
    fn find(&self, head: &RequestHead) -> PageResponse {
        let (room, path) = routes::split_room_path(head.path());
        let (first, known) = (self.rooms.first(), self.rooms.iter().find(|(name, _)| name == room));
        // The root shows the default room, or the first room if the capture has no default room.
        let Some((_, info)) = known.or(first.filter(|_| room.is_empty())) else {
            return PageResponse::text(404, "the capture has no such room\n".to_owned());
        };
        let name = if path == "/" { "index.html" } else { path.strip_prefix('/').unwrap_or(path) };
        if name == "index.html" && head.query("capture").is_none() {
            let up = if room.is_empty() { "" } else { "../../" };
            return PageResponse {
                status: 307,
                ..PageResponse::redirect(format!("./?capture={up}{CAPTURE}"))
            };
        }
        match name {
            name if name.starts_with("admin.") || name.starts_with("admin/") => {
                PageResponse::text(404, "no such page\n".to_owned())
            }
            pages::TABLES_FILE => pages::file_response(
                200,
                name,
                Some(tables_json::tables_json_lines(&self.codes, &[]).into_bytes().into()),
            ),
            pages::RULES_FILE => {
                pages::file_response(200, name, info.rules.map(|rules| rules().into_bytes().into()))
            }
            name => pages::game_page_or_file(name, info),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::thread;

    use super::*;

    /// The pages of a capture with one room, of the first game.
    fn content() -> PlaybackContent {
        let info = crate::games::INFO[0];
        PlaybackContent {
            file: PathBuf::new(),
            rooms: vec![(Untrusted::new(String::new()), info)],
            codes: PacketTables::builtin(),
        }
    }

    #[test]
    fn the_redirect_of_the_root_leads_to_the_page() {
        let request = |target: &str| {
            let bytes = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n");
            let head = HeadReader::new(limits::HEAD_LIMITS).receive(bytes.as_bytes());
            head.expect("a valid head").expect("a whole head")
        };
        let redirect = content().find(&request("/"));
        let (name, location) = redirect.extra_header;
        assert_eq!((redirect.status, name), (307, "Location"));
        let target = location.strip_prefix('.').expect("a relative location");
        assert_eq!(content().find(&request(target)).status, 200, "{target}");
    }

    #[test]
    fn a_stop_closes_a_connection_without_a_request() {
        let served =
            PlaybackContent { file: PathBuf::new(), rooms: Vec::new(), codes: PacketTables::builtin() };
        let server = PlaybackServer::start((Ipv4Addr::LOCALHOST, 0).into(), served).expect("a free port");
        let mut client = TcpStream::connect(server.address()).expect("a connection");
        while server.accept_loop.handler().connections.count() == 0 {
            thread::yield_now();
        }
        assert_eq!(server.stop(), 0);
        assert_eq!(client.read(&mut [0]).unwrap_or(0), 0);
    }
}
