//! The page of the intercepting proxy: the inspector at `/wire`, for this machine only.
//!
//! A page receives the packet tables, the lists of connections and of held messages, and the
//! records of one connection. It sends the requests of [`page_requests`]. The
//! thread of a page reads the traffic log; it never waits for a connection, and no connection waits
//! for it.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::page_requests::{self, PageRequest};
use super::traffic_log::{LogPiece, TrafficLog};
use crate::limits;
use crate::packet::{PacketTables, tables_json};
use crate::server::admission::refusal::Refusal;
use crate::server::clients::inspector_session::{self, InspectorSession, Selection};
use crate::server::net::accept::{self, AcceptLoop, ConnectionHandler, Connections, Registration};
use crate::server::net::access;
use crate::server::net::blocking_io::{self, write_all};
use crate::server::net::pages::page_response::PageResponse;
use crate::server::net::pages::{self};
use crate::server::net::request::{ReceivedHead, finish, read_head, refuse_at_accept, write_response};
use crate::tools::inspector::observed_format::{self, ObservedKind, ObservedRecord};
use crate::tools::intercept::rule::Rule;
use crate::ws::handshake;
use crate::ws::http::{HeadReader, RequestHead};

/// A running page server.
#[derive(Debug)]
pub struct PageServer {
    accept_loop: AcceptLoop<PageState>,
    address: SocketAddr,
}

#[derive(Debug)]
struct PageState {
    log: Arc<TrafficLog>,
    codes: Arc<PacketTables>,
    /// The URL for the clients of the proxy.
    client_url: String,
    since_1970: Duration,
    accepted: AtomicU64,
    connections: Connections,
}

impl PageServer {
    /// Starts the server. `client_url` is the URL for the clients of the proxy.
    ///
    /// # Errors
    /// The address is not a loopback address or cannot be bound, or a thread cannot be started.
    pub fn start(
        bind: SocketAddr,
        log: Arc<TrafficLog>,
        codes: Arc<PacketTables>,
        (client_url, since_1970): (String, Duration),
    ) -> io::Result<PageServer> {
        if !bind.ip().is_loopback() {
            let why = "the page is for this machine alone: its address must be a loopback address, such as 127.0.0.1";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let listener = accept::bind(bind)?;
        let address = listener.local_addr()?;
        let (accepted, connections) = (AtomicU64::default(), Connections::default());
        let state = PageState { log, codes, client_url, since_1970, accepted, connections };
        Ok(PageServer { accept_loop: AcceptLoop::start(listener, Arc::new(state))?, address })
    }

    /// Returns the address, with the actual port if port 0 was requested.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes all pages.
    pub fn stop(self) {
        self.accept_loop.stop(Duration::ZERO);
    }
}

impl ConnectionHandler for PageState {
    const THREAD_NAME: &'static str = "page";
    const CONFIGURE: fn(&TcpStream) -> io::Result<()> = |stream| stream.set_nodelay(true);
    type Permit = ();

    fn connections(&self) -> &Connections {
        &self.connections
    }

    fn admit(&self, stream: &TcpStream, _: SocketAddr) -> Option<(u64, ())> {
        if self.connections.count() < limits::INTERCEPT_PAGES {
            return Some((self.accepted.fetch_add(1, Ordering::Relaxed), ()));
        }
        refuse_at_accept(stream, &Refusal::from_rule(503, "too_many_connections"));
        None
    }

    fn serve(
        self: &Arc<PageState>,
        stream: Arc<TcpStream>,
        address: SocketAddr,
        (): (),
        _registration: Registration<PageState>,
    ) {
        let reader = HeadReader::new(limits::HEAD_LIMITS);
        let deadline = Instant::now() + limits::HEAD_TIMEOUT;
        let done = match read_head(&stream, reader, Vec::new(), deadline, None) {
            Ok(None) => return,
            Ok(Some(received)) if received.head.has_upgrade_headers() => {
                self.inspect(&stream, &received, address)
            }
            Ok(Some(received)) => self.respond(&stream, &received.head, address),
            Err(refused) => write_all(&stream, &refused.response, limits::PAGE_WRITE_TIMEOUT),
        };
        if done.is_ok() {
            finish(&stream, limits::MAX_DRAIN_BYTES);
        }
    }
}

impl PageState {
    fn respond(&self, stream: &TcpStream, head: &RequestHead, address: SocketAddr) -> io::Result<()> {
        let found = if access::is_local_request(head, address, &[]) {
            self.find(head)
        } else {
            PageResponse::text(403, "this is served to this machine only\n".to_owned())
        };
        let (head, body) = pages::response(found, head.method == "HEAD", &[]);
        write_response(stream, &head, &body)
    }

    fn find(&self, head: &RequestHead) -> PageResponse {
        let name = match head.path() {
            "/" => return PageResponse::redirect("wire".to_owned()),
            inspector_session::PATH => "inspector.html",
            path => path.trim_start_matches('/'),
        };
        match name {
            pages::TABLES_FILE => {
                let tables = tables_json::tables_json_lines(&self.codes, &[]).into_bytes();
                pages::file_response(200, name, Some(tables.into()))
            }
            name if name.starts_with("inspector")
                || ["lib/", "quiz", "wasm/", "game/load-error.js", "favicon"]
                    .iter()
                    .any(|begin| name.starts_with(begin)) =>
            {
                pages::embedded_file(name)
            }
            _ => PageResponse::text(404, "no such page\n".to_owned()),
        }
    }

    /// Serves the WebSocket of a page.
    fn inspect(&self, stream: &TcpStream, received: &ReceivedHead, address: SocketAddr) -> io::Result<()> {
        let ReceivedHead { head, early_bytes, .. } = received;
        let is_local = access::is_local_request(head, address, &[]) && head.path() == inspector_session::PATH;
        let accepted = handshake::accept(head, &[inspector_session::SUBPROTOCOL]);
        let accepted = match accepted {
            Ok(accepted) if is_local => accepted,
            Ok(_) => {
                let refused = Refusal::from_rule(403, "inspector_origin");
                return write_all(stream, &refused.response, limits::PAGE_WRITE_TIMEOUT);
            }
            Err(refused) => {
                return write_all(stream, &refused.response(), limits::PAGE_WRITE_TIMEOUT);
            }
        };
        write_all(stream, &accepted.response, limits::PAGE_WRITE_TIMEOUT)?;
        let session =
            InspectorSession::new(&self.codes, "between", self.since_1970.as_micros() as u64, self.log.now());
        let (positions, is_all_selected) = (BTreeMap::new(), false);
        let mut page = Page { state: self, stream, session, positions, is_all_selected, known_version: 0 };
        page.run(early_bytes);
        page.flush()
    }
}

/// One page.
struct Page<'a> {
    state: &'a PageState,
    stream: &'a TcpStream,
    session: InspectorSession,
    /// The position in the records of each observed connection.
    positions: BTreeMap<u64, u64>,
    /// Whether new connections are observed.
    is_all_selected: bool,
    /// The version of the list of held messages and rules, as sent last.
    known_version: u64,
}

impl Page<'_> {
    fn run(&mut self, early_bytes: &[u8]) {
        let mut buffer = [0; limits::READ_BYTES];
        self.session.send_text(&json!({ "proxy": { "url": self.state.client_url } }).to_string());
        let mut received = self.receive(early_bytes);
        while received.is_ok() {
            if self.state.connections.is_stopping() {
                return self.session.going_away();
            }
            // Sent before the lists: a page of a proxy selects all clients, and a selection that
            // precedes would list the messages of one client twice.
            if let Some((version, held)) = self.state.log.held(self.known_version) {
                self.session.send_text(&held);
                self.known_version = version;
            }
            if self.session.poll(self.state.log.now(), || self.state.log.lists()).is_err() {
                return;
            }
            self.send_records();
            if self.flush().is_err() {
                return;
            }
            received = match blocking_io::read(self.stream, &mut buffer, limits::INSPECTOR_SEND_INTERVAL) {
                Ok(Some(0)) | Err(_) => return,
                Ok(Some(count)) => self.receive(&buffer[..count]),
                Ok(None) => Ok(()),
            };
        }
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<(), &'static str> {
        let mut requests = Vec::new();
        let received =
            self.session.receive_with(bytes, self.state.log.now(), page_requests::read, &mut requests);
        requests.into_iter().for_each(|request| self.handle(request));
        received
    }

    fn handle(&mut self, request: PageRequest) {
        let answer = match request {
            PageRequest::Select(selection) => {
                self.is_all_selected = selection == Selection::All;
                self.positions.clear();
                if let Selection::Client(client) = selection {
                    self.positions.insert(client, 0);
                }
                return;
            }
            PageRequest::Command(client, command) => {
                self.state.log.request(client, command).map_err(str::to_owned)
            }
            PageRequest::SetRules(texts) => {
                Rule::parse_all(&texts).map(|rules| self.state.log.set_rules(rules))
            }
        };
        let answer = match answer {
            Ok(()) => json!({ "proxy": {} }),
            Err(error) => json!({ "proxy": { "error": error } }),
        };
        self.session.send_text(&answer.to_string());
    }

    fn send_records(&mut self) {
        if self.is_all_selected {
            let known = self.state.log.connections();
            self.positions.retain(|connection, _| known.contains(connection));
            known.into_iter().for_each(|connection| _ = self.positions.entry(connection).or_default());
        }
        let Page { state, session, positions, .. } = self;
        for LogPiece { connection, lost, records } in state.log.read(positions) {
            let mut message = observed_format::start_message(connection);
            if lost > 0 {
                let what = ObservedKind::Lost(lost);
                observed_format::write(&mut message, &ObservedRecord { at: state.log.now(), tick: 0, what });
            }
            records.iter().for_each(|record| message.extend_from_slice(record));
            session.send_observed(&message);
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut bytes = Vec::new();
        self.session.drain_output(&mut bytes);
        write_all(self.stream, &bytes, limits::INSPECTOR_WRITE_TIMEOUT)
    }
}
