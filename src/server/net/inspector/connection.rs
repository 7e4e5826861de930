//! One inspector connection: its requests and the messages sent to it.
//!
//! The thread waits in `read` for at most [`limits::INSPECTOR_SEND_INTERVAL`] and in `write` for at
//! most [`limits::INSPECTOR_WRITE_TIMEOUT`]. Meanwhile the tap's bounded queue fills, and events
//! that do not fit are counted.

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::connection::resume_key::ResumeKey;
use crate::limits;
use crate::server::clients::inspector_session::{self, InspectorRequest, InspectorSession, Selection};
use crate::server::net::blocking_io;
use crate::server::net::client_thread;
use crate::server::net::inspector::ended_clients::RetainedTails;
use crate::server::net::request::finish;
use crate::server::net::rooms::RunningRoom;
use crate::server::net::server_state::ServerState;
use crate::server::net::tap::{self, Side, Subscription};
use crate::server::net::tcp_client::TcpClient;
use crate::tools::inspector::observed_format::{
    self, Handshake, ObservedDatagram, ObservedKind, ObservedRecord,
};
use crate::util::os;

/// The state of one inspector's thread.
struct InspectorConnection<'a> {
    host: &'a ServerState,
    /// Name of the only room that this inspector may observe; `None` for all rooms.
    only_room: Option<Arc<str>>,
    stream: &'a TcpStream,
    session: InspectorSession,
    requests: Vec<InspectorRequest>,
    /// The observed clients, and the subscription to them.
    selected: Option<(Selection, Subscription)>,
}

/// Serves an inspector until one side closes. Returns the reason. An inspector of a named room
/// observes only clients of that room.
pub fn run(host: &ServerState, room: &RunningRoom, stream: &TcpStream, early_bytes: &[u8]) -> &'static str {
    let now = host.now();
    let today = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let began_us = today.saturating_sub(now).as_micros() as u64;
    let options = &room.handle.options;
    let session = InspectorSession::new(&host.config.codes, &options.epoch, began_us, now);
    let only_room = room.label().map(|_| Arc::clone(&options.name));
    let mut inspector =
        InspectorConnection { host, only_room, stream, session, requests: Vec::new(), selected: None };
    let registration = host.ended.register_inspector(&host.tap);
    let why = inspector.run_loop(early_bytes).err().unwrap_or("over");
    drop(registration);
    // Dropped before the close frame is sent, so that the tap does not fill a queue without a
    // reader.
    inspector.selected = None;
    let _ = inspector.flush();
    finish(stream, limits::MAX_DRAIN_BYTES);
    why
}

/// `Err` ends the connection, with the reason for the log.
type LoopResult = Result<(), &'static str>;

impl InspectorConnection<'_> {
    fn run_loop(&mut self, early_bytes: &[u8]) -> LoopResult {
        let mut buffer = [0; limits::READ_BYTES];
        self.receive(early_bytes)?;
        let mut next_send = self.host.now();
        loop {
            if self.host.is_stopping() {
                self.session.going_away();
                return Err("the server is shutting down");
            }
            let now = self.host.now();
            if now >= next_send {
                next_send = now + limits::INSPECTOR_SEND_INTERVAL;
                self.send_observed(now);
                let (host, only_room) = (self.host, &self.only_room);
                host.ended.update(&host.tap);
                self.session.poll(now, || {
                    let clients = host.clients.all();
                    let visible = clients.iter().filter(|client| is_visible(only_room, client));
                    [
                        inspector_session::list(visible.map(|client| &**client)),
                        host.ended.list(only_room.as_deref()),
                    ]
                })?;
            }
            self.flush()?;
            let left = next_send.saturating_sub(self.host.now());
            match self.read(&mut buffer, left) {
                Ok(Some(0)) => return Err("closed by the inspector"),
                Ok(Some(count)) => self.receive(&buffer[..count])?,
                Ok(None) => {}
                Err(_) => return Err("the connection broke"),
            }
        }
    }

    /// Reads the bytes that arrive within `left`.
    fn read(&self, buffer: &mut [u8], left: Duration) -> io::Result<Option<usize>> {
        self.stream.set_read_timeout(Some(left.max(limits::MIN_INSPECTOR_READ_TIMEOUT)))?;
        match os::read(self.stream, buffer) {
            Ok(count) => Ok(Some(count)),
            Err(error) if blocking_io::is_timeout(&error) || error.kind() == ErrorKind::Interrupted => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Sends the queued messages. Blocks while the inspector reads slowly, which does not affect
    /// the game.
    fn flush(&mut self) -> LoopResult {
        if !self.session.has_output() {
            return Ok(());
        }
        let mut bytes = Vec::new();
        self.session.drain_output(&mut bytes);
        blocking_io::write_all(self.stream, &bytes, limits::INSPECTOR_WRITE_TIMEOUT)
            .map_err(|_| "the inspector did not read in time")
    }

    fn receive(&mut self, bytes: &[u8]) -> LoopResult {
        let mut requests = std::mem::take(&mut self.requests);
        let received = self.session.receive(bytes, self.host.now(), &mut requests);
        requests.drain(..).for_each(|request| self.handle_request(request));
        self.requests = requests;
        received
    }

    fn handle_request(&mut self, request: InspectorRequest) {
        match request {
            InspectorRequest::Select(selection) => {
                // Dropped first, so that the tap never fills two queues.
                self.selected = None;
                let subscribe =
                    |only| (selection, self.host.tap.subscribe(only, limits::INSPECTOR_QUEUE_BYTES));
                self.selected = match selection {
                    Selection::Client(client) if self.may_inspect(client) => Some(subscribe(Some(client))),
                    Selection::Client(_) | Selection::Nothing => None,
                    Selection::All => Some(subscribe(None)),
                };
                if let Selection::Client(client) = selection {
                    self.send_ended(client);
                }
            }
            InspectorRequest::FindOwn(key) => {
                self.session.answer_find_own(self.find_by_key(key).map(|client| client.id))
            }
            InspectorRequest::Inject(key, bytes) => {
                let passed = self.find_by_key(key).ok_or(inspector_session::UNKNOWN_KEY_TEXT);
                let passed = passed
                    .and_then(|client| client_thread::inject(self.host, &client, &bytes).map(|()| client.id));
                self.session.answer_inject(passed);
            }
        }
    }

    /// Returns the newest client with this key.
    fn find_by_key(&self, key: ResumeKey) -> Option<Arc<TcpClient>> {
        let is_own =
            |client: &Arc<TcpClient>| client.resume_key == Some(key) && is_visible(&self.only_room, client);
        self.host.clients.all().into_iter().rfind(is_own)
    }

    /// Whether this client may be observed: at `/r/NAME/wire`, only a client of that room.
    fn may_inspect(&self, client: u64) -> bool {
        let found = || self.host.clients.get(client);
        self.only_room.is_none() || found().is_some_and(|client| is_visible(&self.only_room, &client))
    }

    /// Sends the stored traffic of a disconnected client, if any and if it may be observed.
    fn send_ended(&mut self, client: u64) {
        self.host.ended.update(&self.host.tap);
        let Some(RetainedTails { events, dropped }) = self.host.ended.find(client, self.only_room.as_deref())
        else {
            return;
        };
        let mut message = observed_format::start_message(client);
        for (at, one) in events.iter().filter_map(|event| record(event)).enumerate() {
            if at == 1 && dropped > 0 {
                observed_format::write(
                    &mut message,
                    &ObservedRecord { what: ObservedKind::Lost(dropped), ..one },
                );
            }
            observed_format::write(&mut message, &one);
        }
        self.session.send_observed(&message);
    }

    fn send_observed(&mut self, now: Duration) {
        let Some((selection, listener)) = &self.selected else { return };
        let taken = listener.receive(Duration::ZERO);
        let is_of_room =
            |event: &&Arc<tap::TapEvent>| self.only_room.as_ref().is_none_or(|room| *room == event.room);
        let events: Vec<_> = taken.items.iter().filter(is_of_room).collect();
        for of_client in events.chunk_by(|event, next| event.client == next.client) {
            let records = of_client.iter().filter_map(|event| record(event));
            send_records(&mut self.session, of_client[0].client, records);
        }
        let missed = taken.lost.missed;
        if missed.messages > 0 {
            let client = if let Selection::Client(client) = selection { *client } else { 0 };
            let what = ObservedKind::Lost(missed.messages);
            let lost = ObservedRecord { at: now, tick: missed.since_tick, what };
            send_records(&mut self.session, client, [lost].into_iter());
        }
    }
}

/// Sends records of a client in one message, if there are any.
fn send_records<'a>(
    session: &mut InspectorSession,
    client: u64,
    records: impl Iterator<Item = ObservedRecord<'a>>,
) {
    let mut message = observed_format::start_message(client);
    let begun = message.len();
    records.for_each(|record| observed_format::write(&mut message, &record));
    if message.len() > begun {
        session.send_observed(&message);
    }
}

/// Converts a tap event to a record for the inspector; `None` for events of the world.
fn record(event: &tap::TapEvent) -> Option<ObservedRecord<'_>> {
    let what = match &event.kind {
        tap::EventKind::Opened { address, local, dialect, json, request, response, .. } => {
            let (dialect, request, response) = (dialect.clone(), request.clone(), response.clone());
            let (address, local, json) = (*address, *local, *json);
            ObservedKind::Opened(Handshake { address, local, dialect, json, request, response })
        }
        tap::EventKind::Bytes { bytes, is_injected: true, .. } => ObservedKind::Injected(bytes),
        tap::EventKind::Bytes { from, bytes, .. } => ObservedKind::Bytes(*from, bytes),
        tap::EventKind::Datagram { from, address, bytes, .. } => {
            let (from, address, dropped) = (*from, Some(*address), None);
            ObservedKind::Datagram(ObservedDatagram { from, address, dropped, bytes })
        }
        tap::EventKind::DroppedDatagram { address, rule, bytes } => {
            let (from, address, dropped) = (Side::Client, Some(*address), Some(*rule));
            ObservedKind::Datagram(ObservedDatagram { from, address, dropped, bytes })
        }
        tap::EventKind::Skipped(missed) => ObservedKind::Lost(missed.messages),
        tap::EventKind::Ended { rule } => ObservedKind::Ended(rule),
        _ => return None,
    };
    Some(ObservedRecord { at: event.at, tick: event.tick, what })
}

/// Whether an inspector of `only_room`, or of all rooms, may observe the client.
fn is_visible(only_room: &Option<Arc<str>>, client: &TcpClient) -> bool {
    only_room.as_ref().is_none_or(|room| *room == client.room.options.name)
}

#[cfg(test)]
mod tests {
    use std::net::{Shutdown, TcpListener};
    use std::thread;
    use std::time::Instant;

    use super::*;
    use crate::server::net::ServerConfig;
    use crate::ws::frame::{self, Opcode};

    fn host() -> ServerState {
        let config = ServerConfig::new("127.0.0.1:0".parse().expect("an address"));
        ServerState::for_tests(config)
    }

    /// Returns both ends of a connection.
    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let near = TcpStream::connect(listener.local_addr().expect("its address")).expect("a connection");
        (near, listener.accept().expect("the same").0)
    }

    fn send_request(mut stream: &TcpStream, request: &str) {
        use std::io::Write as _;
        let mut bytes = Vec::new();
        frame::write(&mut bytes, Opcode::Text, Some([1, 2, 3, 4]), request.as_bytes());
        stream.write_all(&bytes).expect("sent");
    }

    #[track_caller]
    fn wait_until(wanted: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !wanted() {
            assert!(Instant::now() < deadline, "it never came");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn the_tap_has_no_listener_without_inspectors() {
        let (host, (near, far)) = (host(), pair());
        assert!(!host.tap.is_on(), "without inspectors nothing is copied");
        thread::scope(|scope| {
            let thread = scope.spawn(|| run(&host, &host.room(), &far, &[]));
            wait_until(|| host.tap.has_subscriber(7));
            send_request(&near, r#"{"select":7}"#);
            near.shutdown(Shutdown::Both).expect("open");
            wait_until(|| !host.tap.is_on());
            assert_eq!(thread.join().expect("it ends"), "closed by the inspector");
        });
    }
}
