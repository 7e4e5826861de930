//! One connection of a host: a request head, then a client or an inspector.
//!
//! ```text
//!   Head ─┬─ request ─► Client ────┬─ end ─► Ended ─ the other end, or a deadline ─► Over
//!         ├─ request ─► Inspector ─┤           ▲
//!         └─ refusal ──────────────┴───────────┘
//! ```
//!
//! Its stages correspond to modules of `server::net`: `Head` to `connection`, `Client` and `Ended`
//! to `client_thread`, and `Inspector` to `inspector`.

use core::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::{HostObserver, HostState, HostTransport, LOCAL};
use crate::connection::DisconnectReason;
use crate::connection::head_secrets::redact_head;
use crate::limits;
use crate::packet::routes::split_room_path;
use crate::server::admission::refusal::Refusal;
use crate::server::admission::upgrade_check::{AcceptedClient, UpgradeCheck, admit_connection};
use crate::server::admission::{Permit, SlotKind};
use crate::server::clients::client::Client;
use crate::server::clients::inspector_session::{self, InspectorRequest, InspectorSession, Selection};
use crate::tools::inspector::observed_format::{Handshake, ObservedKind, ObservedRecord};
use crate::util::address_prefix::AddressPrefix;
use crate::ws::handshake;
use crate::ws::http::{HeadReader, RequestHead};

/// One connection, from its first byte to its end. [`HostConnection::poll`] and
/// [`HostConnection::on_disconnected`] release the slot once the connection is over; dropping the
/// connection also releases it.
pub struct HostConnection<T: HostTransport> {
    /// The server's end.
    pub line: T,
    address: SocketAddr,
    permit: Option<Permit>,
    stage: ConnectionStage<T>,
}

enum ConnectionStage<T> {
    Head {
        reader: Box<HeadReader>,
        raw: Vec<u8>,
        deadline: Duration,
    },
    Client(Arc<Client<T>>),
    Inspector {
        session: Box<InspectorSession>,
        next_send: Duration,
        number: u32,
    },
    /// The server's last bytes are queued or sent. Ends at the deadline, when the other end closes,
    /// or after [`limits::MAX_DRAIN_BYTES`] more bytes from it.
    Ended {
        client: Option<Arc<Client<T>>>,
        deadline: Duration,
        ignored_bytes: usize,
    },
    Over,
}

impl<T: HostTransport> HostConnection<T> {
    /// Accepts a connection from this address.
    ///
    /// # Errors
    /// No slot is free, or the rate limit is exhausted.
    pub fn accept(address: SocketAddr, line: T, host: &HostState<T>) -> Result<HostConnection<T>, Refusal> {
        let prefix = AddressPrefix::from_ip(address.ip());
        let admitted = admit_connection(&host.admission, &host.address_limits, Some(prefix), host.now)?;
        let stage = ConnectionStage::Head {
            reader: Box::new(HeadReader::new(limits::HEAD_LIMITS)),
            raw: Vec::new(),
            deadline: host.now + limits::HEAD_TIMEOUT,
        };
        Ok(HostConnection { line, address, permit: Some(admitted.permit), stage })
    }

    /// Processes bytes from the other end.
    pub fn receive(&mut self, bytes: &[u8], host: &mut HostState<T>, observer: &mut impl HostObserver<T>) {
        match &mut self.stage {
            ConnectionStage::Head { reader, raw, .. } => {
                raw.extend_from_slice(bytes);
                match reader.receive(bytes) {
                    Ok(None) => {}
                    Ok(Some(head)) => {
                        let (rest, mut raw) = (reader.rest().to_vec(), std::mem::take(raw));
                        raw.truncate(raw.len() - rest.len());
                        if let Err(refused) = self.answer(&head, raw, &rest, host, observer) {
                            self.refuse(refused.to(&head), Some(&head), host, observer);
                        }
                    }
                    Err(refusal) => self.refuse(refusal.into(), None, host, observer),
                }
            }
            ConnectionStage::Client(client) => {
                let client = Arc::clone(client);
                self.receive_client(&client, bytes, host, observer);
            }
            ConnectionStage::Inspector { .. } => self.receive_inspector(bytes, host),
            ConnectionStage::Ended { client, ignored_bytes, .. } => {
                *ignored_bytes += bytes.len();
                if let Some(client) = client {
                    host.driver(client).ignore(bytes);
                }
            }
            ConnectionStage::Over => {}
        }
    }

    /// Processes a datagram of the client's lane. The address is `None` on transports without
    /// addresses. A datagram that breaks a rule is dropped.
    pub fn receive_datagram(
        &self,
        datagram: (&[u8], Option<SocketAddr>),
        host: &HostState<T>,
        observer: &mut impl HostObserver<T>,
    ) {
        if let ConnectionStage::Client(client) = &self.stage {
            let _ = observer.receive_datagram(host, client, datagram);
        }
    }

    fn refuse(
        &mut self,
        refusal: Refusal,
        head: Option<&RequestHead>,
        host: &HostState<T>,
        observer: &mut impl HostObserver<T>,
    ) {
        observer.on_refused(host, self.address, &refusal, head);
        self.line.write(&refusal.response);
        self.line.close_output();
        self.end_stage(None, host.now);
    }

    fn end_stage(&mut self, client: Option<Arc<Client<T>>>, now: Duration) {
        let deadline = now + limits::CLOSE_TIMEOUT;
        self.stage = ConnectionStage::Ended { client, deadline, ignored_bytes: 0 };
    }

    /// Answers a request: upgrades to a client or an inspector.
    fn answer(
        &mut self,
        head: &RequestHead,
        raw: Vec<u8>,
        rest: &[u8],
        host: &mut HostState<T>,
        observer: &mut impl HostObserver<T>,
    ) -> Result<(), Refusal> {
        let Some(permit) = &mut self.permit else { return Ok(()) };
        if head.path() == inspector_session::PATH {
            let accepted = handshake::accept(head, &[inspector_session::SUBPROTOCOL])?;
            permit.convert_to(SlotKind::Inspector)?;
            self.line.write(&accepted.response);
            let epoch = &host.rooms[0].options.epoch;
            let session = Box::new(InspectorSession::new(&host.codes, epoch, host.began_us, host.now));
            let number = permit.number() as u32;
            self.stage = ConnectionStage::Inspector { session, next_send: host.now, number };
            self.receive_inspector(rest, host);
            return Ok(());
        }
        let (name, _) = split_room_path(head.path());
        let (codes, address_limits) = (&*host.codes, &host.address_limits);
        let room = host.rooms.iter().find(|room| *room.options.name == *name);
        let upgrade_check = UpgradeCheck {
            origins: &[],
            codes,
            compression: host.compression.as_ref(),
            room,
            is_room_full: false,
            address_limits,
            is_stopping: false,
        };
        let entry =
            upgrade_check.accept(head, AddressPrefix::from_ip(self.address.ip()), permit, host.now)?;
        self.enter(entry, raw, rest, host, observer);
        Ok(())
    }

    fn enter(
        &mut self,
        entry: AcceptedClient,
        mut request: Vec<u8>,
        rest: &[u8],
        host: &mut HostState<T>,
        observer: &mut impl HostObserver<T>,
    ) {
        redact_head(&mut request);
        let opened = Handshake {
            address: self.address,
            local: SocketAddr::from(LOCAL),
            dialect: entry.format.dialect.name().to_owned(),
            json: entry.format.is_json,
            request,
            response: entry.response.clone(),
        };
        self.line.write(&entry.response);
        let id = host.clients.next_number();
        let client = Arc::new(Client::new((id, self.address), self.line.clone(), entry, host.now));
        let begun = observer.begin(host, &client);
        host.add_client(&client, opened);
        self.stage = ConnectionStage::Client(Arc::clone(&client));
        match begun {
            Ok(()) if rest.is_empty() => {}
            Ok(()) => self.receive_client(&client, rest, host, observer),
            Err(reason) => self.end(&client, reason, host, observer),
        }
    }

    fn receive_client(
        &mut self,
        client: &Arc<Client<T>>,
        bytes: &[u8],
        host: &HostState<T>,
        observer: &mut impl HostObserver<T>,
    ) {
        if let Err(reason) = observer.receive(host, client, bytes) {
            self.end(client, reason, host, observer);
        }
    }

    /// Closes a client's connection for this reason, and removes the client from the world.
    fn end(
        &mut self,
        client: &Arc<Client<T>>,
        reason: DisconnectReason,
        host: &HostState<T>,
        observer: &mut impl HostObserver<T>,
    ) {
        client.close(reason, host.now);
        observer.leave_world(host, client);
        self.end_stage(Some(Arc::clone(client)), host.now);
    }

    fn receive_inspector(&mut self, bytes: &[u8], host: &HostState<T>) {
        let ConnectionStage::Inspector { session, number, .. } = &mut self.stage else { return };
        let (mut requests, number) = (Vec::new(), *number);
        let received = session.receive(bytes, host.now, &mut requests);
        for request in requests {
            handle_request(request, session, number, host);
        }
        if received.is_err() {
            self.close_inspector(host);
        }
    }

    fn close_inspector(&mut self, host: &HostState<T>) {
        self.flush_inspector();
        if let ConnectionStage::Inspector { number, .. } = &self.stage {
            host.clients.inspector_queues.select(*number, Selection::Nothing);
            self.end_stage(None, host.now);
        }
    }

    /// Moves the frames of an inspector to the transport.
    pub fn flush_inspector(&mut self) {
        if let ConnectionStage::Inspector { session, .. } = &mut self.stage
            && session.has_output()
        {
            let mut frames = Vec::new();
            session.drain_output(&mut frames);
            self.line.write(&frames);
        }
    }

    /// Handles the loss of the connection at the other end.
    pub fn on_disconnected(&mut self, host: &mut HostState<T>, observer: &mut impl HostObserver<T>) {
        if let ConnectionStage::Client(client) = &self.stage {
            let client = Arc::clone(client);
            self.end(&client, DisconnectReason::PeerLost, host, observer);
        }
        self.close_inspector(host);
        self.finish(host);
    }

    /// Releases the slot, and removes a client after the end of its connection.
    fn finish(&mut self, host: &mut HostState<T>) {
        if let ConnectionStage::Ended { client: Some(client), .. } = &self.stage {
            let rule = client.sender.disconnect_reason().as_ref().map_or("peer_lost", DisconnectReason::name);
            let record =
                ObservedRecord { at: host.now, tick: client.room.tick(), what: ObservedKind::Ended(rule) };
            host.clients.inspector_queues.push(client.id, None, &record);
            client.mark_reader_ended();
            client.transport.abort();
            host.clients.remove(client.id);
        }
        self.line.close_output();
        self.permit = None;
        self.stage = ConnectionStage::Over;
    }

    /// Ends the session of a client that an operator, a deadline or an injection has closed. A
    /// driver that models a blocking reader does not call it, because such a reader learns of the
    /// end from its next read.
    pub fn end_if_closed(&mut self, host: &HostState<T>, observer: &mut impl HostObserver<T>) {
        if let ConnectionStage::Client(client) = &self.stage
            && let Some(reason) = client.sender.disconnect_reason()
        {
            let client = Arc::clone(client);
            self.end(&client, reason, host, observer);
        }
    }

    /// Polls the deadlines and an inspector's queue.
    pub fn poll(&mut self, host: &mut HostState<T>, observer: &mut impl HostObserver<T>) {
        let is_past_deadline = self.is_past_deadline(host.now);
        match &mut self.stage {
            ConnectionStage::Head { reader, .. } if is_past_deadline => {
                if reader.has_begun() {
                    self.refuse(Refusal::from_rule(408, "head_late"), None, host, observer);
                } else {
                    self.finish(host);
                }
            }
            ConnectionStage::Inspector { .. } => self.poll_inspector(host),
            ConnectionStage::Ended { .. } if is_past_deadline || self.line.is_aborted() => self.finish(host),
            ConnectionStage::Ended { client: Some(client), .. } => {
                client.flush(host.now);
                if client.sender.backlog() == 0 {
                    self.line.close_output();
                }
            }
            _ => {}
        }
    }

    fn poll_inspector(&mut self, host: &HostState<T>) {
        let ConnectionStage::Inspector { session, next_send, number } = &mut self.stage else { return };
        if host.now < *next_send {
            return;
        }
        *next_send = host.now + limits::INSPECTOR_SEND_INTERVAL;
        let tick = host.rooms[0].tick();
        for message in host.clients.inspector_queues.take(*number, host.now, tick) {
            session.send_observed(&message);
        }
        if session.poll(host.now, || [host.clients.list(), String::new()]).is_err() {
            self.close_inspector(host);
        }
    }

    /// Returns whether the stage has reached its deadline or byte limit, and must end.
    pub fn is_past_deadline(&self, now: Duration) -> bool {
        match &self.stage {
            ConnectionStage::Head { deadline, .. } => now >= *deadline,
            ConnectionStage::Ended { deadline, ignored_bytes, .. } => {
                now >= *deadline || *ignored_bytes >= limits::MAX_DRAIN_BYTES
            }
            _ => false,
        }
    }

    /// Returns the client, until its connection is over.
    pub fn client(&self) -> Option<&Arc<Client<T>>> {
        match &self.stage {
            ConnectionStage::Client(client) | ConnectionStage::Ended { client: Some(client), .. } => {
                Some(client)
            }
            _ => None,
        }
    }

    /// Returns why the session of the client has ended.
    pub fn disconnect_reason(&self) -> Option<DisconnectReason> {
        match &self.stage {
            ConnectionStage::Ended { client: Some(client), .. } => client.sender.disconnect_reason(),
            _ => None,
        }
    }

    /// Returns whether the connection is an inspector's.
    pub fn is_inspector(&self) -> bool {
        matches!(self.stage, ConnectionStage::Inspector { .. })
    }

    /// Returns whether the connection is over, closed by either end.
    pub fn is_over(&self) -> bool {
        matches!(self.stage, ConnectionStage::Over)
    }
}

fn handle_request<T: HostTransport>(
    request: InspectorRequest,
    session: &mut InspectorSession,
    number: u32,
    host: &HostState<T>,
) {
    let clients = &host.clients;
    match request {
        InspectorRequest::Select(selection) => {
            clients.inspector_queues.select(number, selection);
            for listed in clients.listed.iter().filter(|listed| selection.includes(listed.client.id)) {
                let (id, at) = (listed.client.id, listed.client.connected_at);
                let what = ObservedKind::Opened(listed.opened.clone());
                let tick = listed.client.room.tick();
                clients.inspector_queues.push(id, Some(number), &ObservedRecord { at, tick, what });
            }
        }
        InspectorRequest::FindOwn(key) => session.answer_find_own(clients.own(key).map(|client| client.id)),
        InspectorRequest::Inject(key, bytes) => {
            let client = clients.own(key).ok_or(inspector_session::UNKNOWN_KEY_TEXT);
            let passed = client.and_then(|client| host.driver(client).inject(&bytes).map(|()| client.id));
            session.answer_inject(passed);
        }
    }
}
