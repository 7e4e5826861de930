//! One connection of the embedded server: a request head, then a client or an inspector.
//!
//! Its stages correspond to modules of `server::net`: `Head` to `connection`, `Client` to
//! `client_thread`, and `Inspector` to `inspector`.

use core::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::embedded_state::{EmbeddedState, LOCAL_ADDRESS, PORT};
use super::memory_transport::MemoryTransport;
use crate::connection::redact::http_head::redact_head;
use crate::connection::{DisconnectReason, ObservedBytes};
use crate::limits;
use crate::packet::routes::split_room_path;
use crate::server::admission::address_rate_limits::LimitedAction;
use crate::server::admission::refusal::Refusal;
use crate::server::admission::upgrade_check::{AcceptedClient, UpgradeCheck};
use crate::server::admission::{Permit, SlotKind};
use crate::server::clients::client::Client;
use crate::server::clients::client_driver::{ClientDriver, DriverEvent};
use crate::server::clients::inspector_session::{self, InspectorRequest, InspectorSession};
use crate::tools::inspector::observed_format::{Handshake, ObservedKind, ObservedRecord};
use crate::util::address_prefix::AddressPrefix;
use crate::util::sync::Mutex;
use crate::ws::http::{HeadReader, RequestHead};
use crate::ws::{Side, handshake};

/// One connection, from its first byte to its end.
pub struct EmbeddedConnection {
    address: SocketAddr,
    began: Duration,
    permit: Permit,
    stage: ConnectionStage,
    /// Bytes for the other end. A client's bytes are in its transport until they are collected.
    out: Vec<u8>,
}

enum ConnectionStage {
    Head {
        reader: Box<HeadReader>,
        raw: Vec<u8>,
    },
    Client(Arc<Client<MemoryTransport>>),
    Inspector {
        watch: Box<InspectorSession>,
        turn: Duration,
        number: u32,
    },
    /// The server's last bytes are queued or sent. Ends at this time, or when the other end closes.
    Ended(Option<Arc<Client<MemoryTransport>>>, Duration),
    Over,
}

/// Creates the driver of a client. It passes the client's bytes to its inspectors.
fn driver<'a>(
    client: &'a Client<MemoryTransport>,
    host: &'a EmbeddedState,
) -> ClientDriver<'a, MemoryTransport, impl Fn(DriverEvent<'_>)> {
    let queues = &client.line.sight;
    ClientDriver {
        client,
        budgets: &host.budgets,
        guard: &host.guard,
        at: client.at(host.now),
        is_observed: queues.is_inspected(client.id),
        on_event: |event: DriverEvent<'_>| {
            if let DriverEvent::Observed { at, bytes: ObservedBytes { bytes, is_injected, .. }, .. } = event {
                let what = if is_injected {
                    ObservedKind::Injected(bytes)
                } else {
                    ObservedKind::Bytes(Side::Client, bytes)
                };
                queues.push(client.id, None, &ObservedRecord { at: at.now, tick: at.tick, what });
            }
        },
    }
}

impl EmbeddedConnection {
    /// Creates a connection from this address. Returns `None` if no slot is free or the rate limit
    /// is exhausted.
    pub fn new(address: SocketAddr, host: &EmbeddedState) -> Option<EmbeddedConnection> {
        let household = AddressPrefix::from_ip(address.ip());
        host.budgets.take(household, LimitedAction::Connection, host.now).ok()?;
        let permit = host.admission.admit(Some(household)).ok()?.permit;
        let stage =
            ConnectionStage::Head { reader: Box::new(HeadReader::new(limits::HEAD_LIMITS)), raw: Vec::new() };
        Some(EmbeddedConnection { address, began: host.now, permit, stage, out: Vec::new() })
    }

    /// Processes bytes from the other end.
    pub fn receive(&mut self, bytes: &[u8], host: &mut EmbeddedState) {
        match &mut self.stage {
            ConnectionStage::Head { reader, raw } => {
                raw.extend_from_slice(bytes);
                let answered = match reader.receive(bytes) {
                    Ok(None) => return,
                    Ok(Some(head)) => {
                        let (rest, mut raw) = (reader.rest().to_vec(), std::mem::take(raw));
                        raw.truncate(raw.len() - rest.len());
                        self.answer(&head, raw, &rest, host)
                    }
                    Err(refusal) => Err(refusal.into()),
                };
                if let Err(refused) = answered {
                    self.out.extend_from_slice(&refused.response);
                    self.stage = ConnectionStage::Ended(None, host.now + limits::CLOSE_TIMEOUT);
                }
            }
            ConnectionStage::Client(client) => {
                let client = Arc::clone(client);
                self.receive_client(&client, bytes, host);
            }
            ConnectionStage::Inspector { .. } => self.receive_inspector(bytes, host),
            ConnectionStage::Ended(Some(client), _) => {
                driver(client, host).ignore(bytes);
            }
            ConnectionStage::Ended(None, _) | ConnectionStage::Over => {}
        }
    }

    /// Answers a request: upgrades to a client or an inspector.
    fn answer(
        &mut self,
        head: &RequestHead,
        raw: Vec<u8>,
        rest: &[u8],
        host: &mut EmbeddedState,
    ) -> Result<(), Refusal> {
        if head.path() == inspector_session::PATH {
            let accepted = handshake::accept(head, &[inspector_session::SUBPROTOCOL])?;
            self.permit.convert_to(SlotKind::Inspector)?;
            self.out.extend_from_slice(&accepted.response);
            let epoch = &host.room.options.epoch;
            let watch = Box::new(InspectorSession::new(&host.codes, epoch, host.began_us, host.now));
            let number = self.permit.number() as u32;
            self.stage = ConnectionStage::Inspector { watch, turn: host.now, number };
            self.receive_inspector(rest, host);
            return Ok(());
        }
        let (codes, budgets) = (&*host.codes, &host.budgets);
        let room = Some(&host.room).filter(|_| split_room_path(head.path()).0.is_empty());
        let door =
            UpgradeCheck { origins: &[], codes, room, is_room_full: false, budgets, is_stopping: false };
        let entry =
            door.accept(head, AddressPrefix::from_ip(self.address.ip()), &mut self.permit, host.now)?;
        self.enter(entry, raw, rest, host);
        Ok(())
    }

    fn enter(&mut self, entry: AcceptedClient, mut request: Vec<u8>, rest: &[u8], host: &mut EmbeddedState) {
        redact_head(&mut request);
        let opened = Handshake {
            address: self.address,
            local: SocketAddr::from((LOCAL_ADDRESS, PORT)),
            dialect: entry.endpoint.dialect.name().to_owned(),
            json: entry.endpoint.is_json,
            request,
            response: entry.response.clone(),
        };
        let out = Mutex::new(std::mem::take(&mut self.out));
        out.lock().extend_from_slice(&entry.response);
        let line = MemoryTransport {
            out,
            is_cut: AtomicBool::new(false),
            sight: host.clients.inspector_queues.clone(),
        };
        let id = host.clients.next_number();
        let client = Arc::new(Client::new((id, self.address), line, entry, host.now));
        let begun = driver(&client, host).begin();
        host.clients.add(&client, opened);
        self.stage = ConnectionStage::Client(Arc::clone(&client));
        match begun {
            Ok(()) => self.receive_client(&client, rest, host),
            Err(ending) => self.end(&client, &ending, host),
        }
    }

    fn receive_client(
        &mut self,
        client: &Arc<Client<MemoryTransport>>,
        bytes: &[u8],
        host: &mut EmbeddedState,
    ) {
        let received = driver(client, host).receive(bytes);
        if let Err(ending) = received {
            self.end(client, &ending, host);
        }
    }

    /// Closes a client's connection for this reason, and removes the client from the world.
    fn end(
        &mut self,
        client: &Arc<Client<MemoryTransport>>,
        ending: &DisconnectReason,
        host: &mut EmbeddedState,
    ) {
        client.close(ending.clone(), host.now);
        client.leave_world(host.now);
        self.stage = ConnectionStage::Ended(Some(Arc::clone(client)), host.now + limits::CLOSE_TIMEOUT);
    }

    fn receive_inspector(&mut self, bytes: &[u8], host: &mut EmbeddedState) {
        let ConnectionStage::Inspector { watch, number, .. } = &mut self.stage else { return };
        let (mut requests, number) = (Vec::new(), *number);
        let heard = watch.receive(bytes, host.now, &mut requests);
        for request in requests {
            handle_request(request, watch, number, host);
        }
        if heard.is_err() {
            self.close_inspector(host);
        }
    }

    fn close_inspector(&mut self, host: &EmbeddedState) {
        let ConnectionStage::Inspector { watch, number, .. } = &mut self.stage else { return };
        host.clients.inspector_queues.select(*number, None);
        watch.drain_output(&mut self.out);
        self.stage = ConnectionStage::Ended(None, host.now + limits::CLOSE_TIMEOUT);
    }

    /// Handles the loss of the connection at the other end.
    pub fn on_disconnected(&mut self, host: &mut EmbeddedState) {
        if let ConnectionStage::Client(client) = &self.stage {
            let client = Arc::clone(client);
            self.end(&client, &DisconnectReason::PeerLost, host);
        }
        self.close_inspector(host);
        self.finish(host);
    }

    /// Removes a client after the end of its connection.
    fn finish(&mut self, host: &mut EmbeddedState) {
        if let ConnectionStage::Ended(Some(client), _) = &self.stage {
            let rule = client.sender.ending().as_ref().map_or("peer_lost", DisconnectReason::name);
            let (at, tick) = (host.now, client.room.tick());
            host.clients.inspector_queues.push(
                client.id,
                None,
                &ObservedRecord { at, tick, what: ObservedKind::Ended(rule) },
            );
            client.mark_reader_ended();
            host.clients.remove(client.id);
        }
        self.stage = ConnectionStage::Over;
    }

    /// Polls the deadlines and an inspector's queue. Called once per tick.
    pub fn turn(&mut self, host: &mut EmbeddedState) {
        match &mut self.stage {
            ConnectionStage::Head { reader, .. } if host.now > self.began + limits::HEAD_TIMEOUT => {
                if !reader.has_begun() {
                    self.stage = ConnectionStage::Over;
                    return;
                }
                self.out.extend_from_slice(&Refusal::from_rule(408, "head_late").response);
                self.stage = ConnectionStage::Ended(None, host.now + limits::CLOSE_TIMEOUT);
            }
            ConnectionStage::Client(client) => {
                let client = Arc::clone(client);
                // An operator, a deadline or an injection has closed it.
                if let Some(ending) = client.sender.ending() {
                    self.end(&client, &ending, host);
                }
            }
            ConnectionStage::Inspector { watch, turn, number } => {
                if host.now < *turn {
                    return;
                }
                *turn = host.now + limits::INSPECTOR_SEND_INTERVAL;
                let tick = host.room.tick();
                if let Some(message) = host.clients.inspector_queues.take(*number, host.now, tick) {
                    watch.send_observed(&message);
                }
                if watch.turn(host.now, || [host.clients.list(), String::new()]).is_err() {
                    self.close_inspector(host);
                }
            }
            ConnectionStage::Ended(client, until) => {
                let is_cut = client.as_ref().is_some_and(|client| client.line.is_cut.load(Ordering::Acquire));
                if is_cut || host.now > *until {
                    self.save_output();
                    self.finish(host);
                }
            }
            ConnectionStage::Head { .. } | ConnectionStage::Over => {}
        }
    }

    /// Collects a client's last bytes.
    fn save_output(&mut self) {
        if let ConnectionStage::Client(client) | ConnectionStage::Ended(Some(client), _) = &self.stage {
            self.out.append(&mut client.line.out.lock());
        }
    }

    /// Moves the bytes for the other end to the end of `into`.
    pub fn take(&mut self, into: &mut Vec<u8>) {
        self.save_output();
        if let ConnectionStage::Inspector { watch, .. } = &mut self.stage {
            watch.drain_output(&mut self.out);
        }
        into.append(&mut self.out);
    }

    /// Returns whether it is an inspector's connection.
    pub fn is_inspector(&self) -> bool {
        matches!(self.stage, ConnectionStage::Inspector { .. })
    }

    /// Returns whether the server has closed it and all bytes were taken.
    pub fn is_over(&self) -> bool {
        matches!(self.stage, ConnectionStage::Over) && self.out.is_empty()
    }
}

fn handle_request(
    request: InspectorRequest,
    watch: &mut InspectorSession,
    number: u32,
    host: &EmbeddedState,
) {
    let clients = &host.clients;
    match request {
        InspectorRequest::Select(client) => {
            clients.inspector_queues.select(number, client);
            let listed = clients.listed.iter().find(|listed| Some(listed.client.id) == client);
            if let Some(listed) = listed {
                let (id, at) = (listed.client.id, listed.client.connected_at);
                let what = ObservedKind::Opened(listed.opened.clone());
                clients.inspector_queues.push(
                    id,
                    Some(number),
                    &ObservedRecord { at, tick: host.room.tick(), what },
                );
            }
        }
        InspectorRequest::FindOwn(key) => watch.own(clients.own(key).map(|client| client.id)),
        InspectorRequest::Inject(key, bytes) => {
            let client = clients.own(key).ok_or(inspector_session::UNKNOWN_KEY_TEXT);
            let passed = client.and_then(|client| driver(client, host).inject(&bytes).map(|()| client.id));
            watch.answer_inject(passed);
        }
    }
}
