//! The clients that ended last, for watchers of `/wire`: the last bytes of each, and the rule that closed it.
//!
//! While a watcher is connected, one listener of the tap receives the traffic of all clients, and the
//! watchers' turns move it into a bounded tail for each client. When a client ends, its tail is kept.
//! Without a watcher nothing is listened to, and the tails of connected clients are dropped.

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

/// See the [module](self).
#[derive(Debug, Default)]
pub struct EndedClients {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    watchers: usize,
    listener: Option<Subscription>,
    /// The connected clients.
    tails: BTreeMap<u64, Tail>,
    /// The clients whose end the listener has not received yet.
    ending: BTreeMap<u64, About>,
    /// The oldest first.
    ended: VecDeque<Ended>,
}

/// The last events of a client.
#[derive(Debug, Default)]
struct Tail {
    opened: Option<Arc<TapEvent>>,
    events: VecDeque<Arc<TapEvent>>,
    bytes: usize,
    /// Pieces that were dropped before the events.
    dropped: u64,
}

/// The entry of an ended client in a watcher's list.
#[derive(Debug)]
struct About {
    entry: Json,
    room: Arc<str>,
    address: SocketAddr,
}

#[derive(Debug)]
struct Ended {
    client: u64,
    about: About,
    tail: Tail,
}

/// The kept traffic of an ended client.
#[derive(Debug)]
pub struct Kept {
    /// The handshake, and then the last events.
    pub events: Vec<Arc<TapEvent>>,
    /// Pieces that are missing between the two.
    pub dropped: u64,
}

/// A connected watcher.
#[derive(Debug)]
pub struct Watching<'a> {
    ended: &'a EndedClients,
    tap: &'a Tap,
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        self.ended.update(self.tap);
        let mut state = self.ended.state.lock();
        state.watchers -= 1;
        if state.watchers == 0 {
            let listener = state.listener.take();
            state.tails.clear();
            state.ending.clear();
            drop(state);
            // This locks the tap.
            drop(listener);
        }
    }
}

impl EndedClients {
    /// Listens to all clients until the last watcher drops the result.
    pub fn watcher_begins<'a>(&'a self, tap: &'a Tap) -> Watching<'a> {
        let mut state = self.state.lock();
        state.watchers += 1;
        if state.listener.is_none() {
            state.listener = Some(tap.subscribe(None, limits::INSPECTOR_QUEUE_BYTES));
        }
        Watching { ended: self, tap }
    }

    /// Notes who a client was, before the tap records its end.
    pub fn client_ends(&self, client: &TcpClient, rule: &'static str) {
        let mut state = self.state.lock();
        if state.listener.is_some() {
            let mut entry = inspector_session::entry(client);
            entry["ended"] = rule.into();
            let about = About { entry, room: Arc::clone(&client.room.options.name), address: client.address };
            state.ending.insert(client.id, about);
        }
    }

    /// Takes what the tap has recorded since the last call.
    pub fn update(&self, tap: &Tap) {
        let mut state = self.state.lock();
        let Some(listener) = &state.listener else { return };
        let taken = listener.take(std::time::Duration::ZERO);
        taken.items.iter().for_each(|seen| state.add(seen));
        let lost = taken.lost;
        for client in lost.connections.keys() {
            if let Some(tail) = state.tails.get_mut(client) {
                tail.lose();
            }
        }
        lost.ended.iter().for_each(|client| state.end(*client));
        tap.reintroduce(&lost.opened).iter().for_each(|seen| state.add(seen));
        if lost.missed.messages > 0 {
            // A client whose beginning and end were both lost has no tail.
            let State { ending, tails, .. } = &mut *state;
            ending.retain(|client, _| tails.contains_key(client));
        }
    }

    /// The list of ended clients, of one room or of all, as a watcher receives it.
    pub fn list(&self, only_room: Option<&str>) -> String {
        let state = self.state.lock();
        let shown = state.ended.iter().filter(|ended| ended.is_of(only_room));
        let entries: Vec<&Json> = shown.map(|ended| &ended.about.entry).collect();
        json!({ "ended": entries }).to_string()
    }

    /// The traffic of an ended client, if it was in this room.
    pub fn find(&self, client: u64, only_room: Option<&str>) -> Option<Kept> {
        let state = self.state.lock();
        let ended = state.ended.iter().find(|ended| ended.client == client && ended.is_of(only_room))?;
        let Tail { opened, events, dropped, .. } = &ended.tail;
        let events = opened.iter().chain(events).map(Arc::clone).collect();
        Some(Kept { events, dropped: *dropped })
    }
}

impl State {
    fn add(&mut self, seen: &Arc<TapEvent>) {
        let most = limits::WIRE_TAIL_BYTES.min(limits::WIRE_TAILS_BYTES / (self.tails.len() + 1));
        let tail = match &seen.what {
            EventKind::Opened { .. } => {
                self.tails.entry(seen.client).or_default().opened = Some(Arc::clone(seen));
                return;
            }
            EventKind::Bytes { .. } | EventKind::Skipped(_) | EventKind::Ended { .. } => {
                self.tails.get_mut(&seen.client)
            }
            EventKind::Session(_) | EventKind::World { .. } | EventKind::Tick { .. } => None,
        };
        if let Some(tail) = tail {
            tail.add(seen, most);
        }
        if matches!(seen.what, EventKind::Ended { .. }) {
            self.end(seen.client);
        }
    }

    /// Keeps a client that has ended. Of one address only the newest are kept, so that a client that
    /// reconnects for ever does not displace all others.
    fn end(&mut self, client: u64) {
        let (tail, about) = (self.tails.remove(&client), self.ending.remove(&client));
        let Some((tail, about)) = tail.zip(about) else { return };
        let household = AddressPrefix::from_ip(about.address.ip());
        let is_same = |ended: &Ended| AddressPrefix::from_ip(ended.about.address.ip()) == household;
        let of_address = self.ended.iter().filter(|ended| is_same(ended)).count();
        if of_address >= limits::WIRE_ENDED_PER_ADDRESS {
            let oldest = self.ended.iter().position(is_same);
            oldest.map(|oldest| self.ended.remove(oldest));
        } else if self.ended.len() >= limits::WIRE_ENDED {
            self.ended.pop_front();
        }
        self.ended.push_back(Ended { client, about, tail });
    }
}

impl Tail {
    /// Adds an event, and drops the oldest ones beyond so many bytes.
    fn add(&mut self, seen: &Arc<TapEvent>, most: usize) {
        self.bytes += cost(seen);
        self.events.push_back(Arc::clone(seen));
        while self.bytes > most && self.events.len() > 1 {
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
        only_room.is_none_or(|room| *room == *self.about.room)
    }
}

/// The bytes of an event as the bounds count them.
fn cost(seen: &TapEvent) -> usize {
    let bytes = if let EventKind::Bytes { bytes, .. } = &seen.what { bytes.len() } else { 0 };
    bytes + limits::TAP_ITEM_BYTES
}
