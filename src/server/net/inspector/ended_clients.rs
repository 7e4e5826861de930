//! Recently disconnected clients, for inspectors: the last bytes of each, and the rule that closed
//! it.
//!
//! While an inspector is connected, one subscription receives the traffic of all clients, and the
//! inspectors' threads move it into a bounded tail per client. When a client disconnects, its tail
//! is stored. Without an inspector there is no subscription, and the tails of connected clients are
//! dropped.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::limits;
use crate::server::clients::inspector_session;
use crate::server::net::tap::{EventKind, Subscription, Tap, TapEvent};
use crate::server::net::tcp_client::TcpClient;
use crate::util::address_prefix::AddressPrefix;
use crate::util::sync::Mutex;

/// Stores the last traffic of disconnected clients.
#[derive(Debug, Default)]
pub struct EndedClients {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    inspectors: usize,
    listener: Option<Subscription>,
    /// Tails of the connected clients.
    tails: BTreeMap<u64, Tail>,
    /// Disconnected clients with an end event that is still queued.
    ending: BTreeMap<u64, About>,
    /// Disconnected clients, oldest first.
    ended: VecDeque<Ended>,
}

/// The last events of a client.
#[derive(Debug, Default)]
struct Tail {
    opened: Option<Arc<TapEvent>>,
    events: VecDeque<Arc<TapEvent>>,
    bytes: usize,
    /// Events dropped before `events`.
    dropped: u64,
}

/// A disconnected client as listed for inspectors.
#[derive(Debug)]
struct About {
    entry: Json,
    room: Arc<str>,
    address: SocketAddr,
}

#[derive(Debug)]
struct Ended {
    client: u64,
    entry_info: About,
    tail: Tail,
}

/// The stored traffic of a disconnected client.
#[derive(Debug)]
pub struct RetainedTails {
    /// The handshake, then the last events.
    pub events: Vec<Arc<TapEvent>>,
    /// Events missing between the handshake and the next event.
    pub dropped: u64,
}

/// Registers one connected inspector until dropped.
#[derive(Debug)]
pub struct InspectorRegistration<'a> {
    ended: &'a EndedClients,
    tap: &'a Tap,
}

impl Drop for InspectorRegistration<'_> {
    fn drop(&mut self) {
        self.ended.update(self.tap);
        let mut state = self.ended.state.lock();
        state.inspectors -= 1;
        if state.inspectors == 0 {
            let listener = state.listener.take();
            state.tails.clear();
            state.ending.clear();
            drop(state);
            // Dropped after the lock is released, because dropping it locks the tap.
            drop(listener);
        }
    }
}

impl EndedClients {
    /// Registers an inspector. The first registration starts the subscription to all clients;
    /// dropping the last registration ends it.
    pub fn register_inspector<'a>(&'a self, tap: &'a Tap) -> InspectorRegistration<'a> {
        let mut state = self.state.lock();
        state.inspectors += 1;
        if state.listener.is_none() {
            state.listener = Some(tap.subscribe(None, limits::INSPECTOR_QUEUE_BYTES));
        }
        InspectorRegistration { ended: self, tap }
    }

    /// Stores a client's list entry, before the tap records its end.
    pub fn client_ends(&self, client: &TcpClient, rule: &'static str) {
        let mut state = self.state.lock();
        if state.listener.is_some() {
            let mut entry = inspector_session::entry(client);
            entry["ended"] = rule.into();
            // The player has left by now.
            entry["name"] = client.joined.last_name().into();
            let entry_info =
                About { entry, room: Arc::clone(&client.room.options.name), address: client.address };
            state.ending.insert(client.id, entry_info);
        }
    }

    /// Takes the events queued since the last call.
    pub fn update(&self, tap: &Tap) {
        let mut state = self.state.lock();
        let Some(listener) = &state.listener else { return };
        let taken = listener.receive(std::time::Duration::ZERO);
        taken.items.iter().for_each(|event| state.add(event));
        let lost = taken.lost;
        for client in lost.connections.keys() {
            if let Some(tail) = state.tails.get_mut(client) {
                tail.lose();
            }
        }
        lost.ended.iter().for_each(|client| state.end(*client));
        tap.reintroduce(&lost.opened).iter().for_each(|event| state.add(event));
        if lost.missed.messages > 0 {
            // A client has no tail if both its start and its end were lost.
            let State { ending, tails, .. } = &mut *state;
            ending.retain(|client, _| tails.contains_key(client));
        }
    }

    /// Returns the list of disconnected clients, of one room or of all, as a message for
    /// inspectors.
    pub fn list(&self, only_room: Option<&str>) -> String {
        let state = self.state.lock();
        let visible = state.ended.iter().filter(|ended| ended.is_of(only_room));
        let entries: Vec<&Json> = visible.map(|ended| &ended.entry_info.entry).collect();
        json!({ "ended": entries }).to_string()
    }

    /// Returns the traffic of a disconnected client, if it was in this room.
    pub fn find(&self, client: u64, only_room: Option<&str>) -> Option<RetainedTails> {
        let state = self.state.lock();
        let ended = state.ended.iter().find(|ended| ended.client == client && ended.is_of(only_room))?;
        let Tail { opened, events, dropped, .. } = &ended.tail;
        let events = opened.iter().chain(events).map(Arc::clone).collect();
        Some(RetainedTails { events, dropped: *dropped })
    }
}

impl State {
    fn add(&mut self, event: &Arc<TapEvent>) {
        let max_bytes = limits::WIRE_TAIL_BYTES.min(limits::WIRE_TAILS_BYTES / (self.tails.len() + 1));
        let tail = match &event.kind {
            EventKind::Opened { .. } => {
                self.tails.entry(event.client).or_default().opened = Some(Arc::clone(event));
                return;
            }
            EventKind::Bytes { .. }
            | EventKind::Datagram { .. }
            | EventKind::Skipped(_)
            | EventKind::Ended { .. } => self.tails.get_mut(&event.client),
            EventKind::Session(_)
            | EventKind::DroppedDatagram { .. }
            | EventKind::World { .. }
            | EventKind::Tick { .. } => None,
        };
        if let Some(tail) = tail {
            tail.add(event, max_bytes);
        }
        if matches!(event.kind, EventKind::Ended { .. }) {
            self.end(event.client);
        }
    }

    /// Stores a disconnected client. Limits the clients per address prefix, so that a client that
    /// reconnects repeatedly does not displace all others.
    fn end(&mut self, client: u64) {
        let (tail, entry_info) = (self.tails.remove(&client), self.ending.remove(&client));
        let Some((tail, entry_info)) = tail.zip(entry_info) else { return };
        let prefix = AddressPrefix::from_ip(entry_info.address.ip());
        let is_same = |ended: &Ended| AddressPrefix::from_ip(ended.entry_info.address.ip()) == prefix;
        let of_address = self.ended.iter().filter(|ended| is_same(ended)).count();
        if of_address >= limits::WIRE_ENDED_PER_ADDRESS {
            let oldest = self.ended.iter().position(is_same);
            oldest.map(|oldest| self.ended.remove(oldest));
        } else if self.ended.len() >= limits::WIRE_ENDED {
            self.ended.pop_front();
        }
        self.ended.push_back(Ended { client, entry_info, tail });
    }
}

impl Tail {
    /// Adds an event. Drops the oldest events while the tail has more than `max_bytes`.
    fn add(&mut self, event: &Arc<TapEvent>, max_bytes: usize) {
        self.bytes += cost(event);
        self.events.push_back(Arc::clone(event));
        while self.bytes > max_bytes && self.events.len() > 1 {
            let Some(oldest) = self.events.pop_front() else { break };
            self.bytes -= cost(&oldest);
            self.dropped += 1;
        }
    }

    /// Drops all events, because bytes after them are missing.
    fn lose(&mut self) {
        self.dropped += self.events.len() as u64 + 1;
        self.events.clear();
        self.bytes = 0;
    }
}

impl Ended {
    fn is_of(&self, only_room: Option<&str>) -> bool {
        only_room.is_none_or(|room| *room == *self.entry_info.room)
    }
}

/// Size of an event in bytes, for the limits.
fn cost(event: &TapEvent) -> usize {
    let bytes = match &event.kind {
        EventKind::Bytes { bytes, .. } | EventKind::Datagram { bytes, .. } => bytes.len(),
        _ => 0,
    };
    bytes + limits::TAP_ITEM_BYTES
}
