//! The traffic log of an intercepting proxy: records for pages, held messages, and what pages
//! request.
//!
//! Connections append records in the inspector's format. Each page reads from its own position, so
//! no queue per page exists. The oldest records are dropped at the limits; a page that has not read
//! them receives their number.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::limits;
use crate::tools::explain::hex;
use crate::tools::inspector::observed_format::{
    self, Handshake, InterceptedBytes, ObservedKind, ObservedRecord,
};
use crate::tools::intercept::rule::Rule;
use crate::tools::intercept::{Decision, Observation, Outcome, Substitute};
use crate::util::sync::Mutex;
use crate::ws::Side;
use crate::ws::frame::Header;

/// A request of a page for one connection.
#[derive(Debug, Clone)]
pub enum PageCommand {
    /// Decides about a held message.
    Decide(u64, Decision),
    /// Sends a message for a side.
    Inject(Side, Substitute),
    /// Replaces the rules.
    SetRules(Arc<[Rule]>),
}

/// The traffic of all connections.
#[derive(Debug)]
pub struct TrafficLog {
    began: Instant,
    state: Mutex<LogState>,
}

#[derive(Debug)]
struct LogState {
    rules: Arc<[Rule]>,
    connections: BTreeMap<u64, ConnectionLog>,
    /// Bytes of all records.
    bytes: usize,
    /// Number of changes of held messages and rules.
    version: u64,
    /// Number of all records so far.
    appended: u64,
}

#[derive(Debug)]
struct ConnectionLog {
    handshake: Handshake,
    opened_at: Duration,
    /// Each with its number among the records of all connections.
    records: VecDeque<(u64, Vec<u8>)>,
    /// Number of the first record in `records`; the records of a connection are numbered from 0.
    first: u64,
    bytes: usize,
    held: BTreeMap<u64, HeldMessage>,
    commands: Vec<PageCommand>,
    /// The sides that have ended their direction.
    departed: Vec<Side>,
    ended: Option<String>,
}

/// A message that waits for a decision.
#[derive(Debug, Clone)]
struct HeldMessage {
    from: Side,
    at: Duration,
    /// The frames, uncompressed.
    bytes: Vec<u8>,
    /// The payload.
    payload: Vec<u8>,
    is_text: bool,
    line: String,
}

/// Records of one connection that were added in a row.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LogPiece {
    /// The connection.
    pub connection: u64,
    /// The number of records that were dropped before these.
    pub lost: u64,
    /// Records, in order.
    pub records: Vec<Vec<u8>>,
}

impl TrafficLog {
    /// Creates an empty log.
    pub fn new(began: Instant, rules: Vec<Rule>) -> TrafficLog {
        let state =
            LogState { rules: rules.into(), connections: BTreeMap::new(), bytes: 0, version: 1, appended: 0 };
        TrafficLog { began, state: Mutex::new(state) }
    }

    /// Time since the start of the proxy.
    pub fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// The numbers of the connections with records, also of ended ones.
    pub fn connections(&self) -> BTreeSet<u64> {
        self.state.lock().connections.keys().copied().collect()
    }

    /// The rules for new connections.
    pub fn rules(&self) -> Arc<[Rule]> {
        Arc::clone(&self.state.lock().rules)
    }

    /// Replaces the rules of all connections.
    pub fn set_rules(&self, rules: Vec<Rule>) {
        let state = &mut *self.state.lock();
        state.rules = rules.into();
        state.version += 1;
        for log in state.connections.values_mut().filter(|log| log.ended.is_none()) {
            log.commands.push(PageCommand::SetRules(Arc::clone(&state.rules)));
        }
    }

    /// Adds a connection. The heads of the handshake have no secrets.
    pub fn open(&self, connection: u64, handshake: Handshake) {
        let at = self.now();
        let opened = ObservedKind::Opened(handshake.clone());
        let log = ConnectionLog {
            handshake,
            opened_at: at,
            records: VecDeque::new(),
            first: 0,
            bytes: 0,
            held: BTreeMap::new(),
            commands: Vec::new(),
            departed: Vec::new(),
            ended: None,
        };
        let state = &mut *self.state.lock();
        state.connections.insert(connection, log);
        state.append(connection, encode(at, opened));
    }

    /// Adds a message.
    pub fn record(&self, connection: u64, observation: &Observation<'_, '_>, at: Duration) {
        let state = &mut *self.state.lock();
        let Some(log) = state.connections.get_mut(&connection) else { return };
        match observation.outcome {
            Outcome::Held(id) => {
                let held = HeldMessage::new(observation, at);
                log.held.insert(id, held);
                state.version += 1;
            }
            Outcome::Oversized { .. } => {}
            _ => {
                state.version += u64::from(log.forget_held(observation));
                let record = encode(at, ObservedKind::Intercepted(intercepted(observation)));
                state.append(connection, record);
            }
        }
    }

    /// Adds the end of a connection.
    pub fn record_end(&self, connection: u64, why: &str) {
        let record = encode(self.now(), ObservedKind::Ended(why));
        let state = &mut *self.state.lock();
        state.append(connection, record);
        if let Some(log) = state.connections.get_mut(&connection) {
            log.ended = Some(why.to_owned());
            log.held.clear();
        }
        state.version += 1;
        state.drop_ended();
    }

    /// Releases a connection whose thread has ended or panicked.
    pub fn end(&self, connection: u64) {
        if let Some(log) = self.state.lock().connections.get_mut(&connection) {
            log.ended.get_or_insert_default();
            log.held.clear();
            log.commands.clear();
        }
    }

    /// Records that a side has ended its direction. Held messages still wait for a decision.
    pub fn side_ended(&self, connection: u64, side: Side) {
        let state = &mut *self.state.lock();
        if let Some(log) = state.connections.get_mut(&connection) {
            log.departed.push(side);
            state.version += 1;
        }
    }

    /// Takes the requests of pages for a connection.
    pub fn take_commands(&self, connection: u64) -> Vec<PageCommand> {
        let state = &mut *self.state.lock();
        state
            .connections
            .get_mut(&connection)
            .map(|log| std::mem::take(&mut log.commands))
            .unwrap_or_default()
    }

    /// Passes a request of a page to the thread of a connection.
    ///
    /// # Errors
    /// The connection does not exist, has ended, or does not hold the message.
    pub fn request(&self, connection: u64, command: PageCommand) -> Result<(), &'static str> {
        let state = &mut *self.state.lock();
        let log = state.connections.get_mut(&connection).filter(|log| log.ended.is_none());
        let log = log.ok_or("no such connection is open")?;
        if let PageCommand::Decide(id, _) = command {
            log.held.remove(&id).ok_or("the message is not held any more")?;
            state.version += 1;
        }
        log.commands.push(command);
        Ok(())
    }

    /// Returns the records after the positions in these connections, in the order in which they
    /// were added, and advances the positions.
    pub fn read(&self, positions: &mut BTreeMap<u64, u64>) -> Vec<LogPiece> {
        let state = &*self.state.lock();
        let mut found: Vec<(u64, LogPiece)> = Vec::new();
        for (&connection, position) in positions {
            let Some(log) = state.connections.get(&connection) else { continue };
            let begin = log.first.max(*position);
            let lost = begin - *position;
            let new = log.records.iter().skip((begin - log.first) as usize);
            // The handshake is needed for every explanation.
            let opened = (*position == 0 && lost > 0)
                .then(|| encode(log.opened_at, ObservedKind::Opened(log.handshake.clone())));
            let first = log.records.front().map_or(state.appended, |(number, _)| *number);
            *position = begin + new.len() as u64;
            if opened.is_some() || lost > 0 {
                let records = opened.into_iter().collect();
                found.push((first, LogPiece { connection, lost, records }));
            }
            found.extend(new.map(|(number, record)| {
                (*number, LogPiece { connection, lost: 0, records: vec![record.clone()] })
            }));
        }
        found.sort_by_key(|(number, _)| *number);
        let mut pieces: Vec<LogPiece> = Vec::new();
        for (_, piece) in found {
            match pieces.last_mut() {
                Some(last) if last.connection == piece.connection && piece.lost == 0 => {
                    last.records.extend(piece.records);
                }
                _ => pieces.push(piece),
            }
        }
        pieces
    }

    /// The held messages and the rules, as JSON, with the version of this list. Returns `None` if
    /// the version is `known`.
    pub fn held(&self, known: u64) -> Option<(u64, String)> {
        let state = &*self.state.lock();
        if state.version == known {
            return None;
        }
        let held: Vec<Json> = state.connections.iter().flat_map(|(id, log)| log.held_json(*id)).collect();
        let rules: Vec<String> = state.rules.iter().map(ToString::to_string).collect();
        Some((state.version, json!({ "held": held, "rules": rules }).to_string()))
    }

    /// The lists of open and of ended connections, as JSON.
    pub fn lists(&self) -> [String; 2] {
        let state = &*self.state.lock();
        let entry = |(id, log): (&u64, &ConnectionLog)| {
            let target = target(&log.handshake.request);
            let (dialect, address) = (&log.handshake.dialect, log.handshake.address.to_string());
            json!({ "id": id, "player": 0, "name": target, "room": "", "dialect": dialect, "address": address })
        };
        let newest = |is_open: bool| -> Vec<Json> {
            let wanted = state.connections.iter().filter(|(_, log)| log.ended.is_none() == is_open);
            let mut newest: Vec<Json> =
                wanted.rev().take(limits::MAX_INSPECTOR_LISTED_CLIENTS).map(entry).collect();
            newest.reverse();
            newest
        };
        [json!({ "clients": newest(true) }).to_string(), json!({ "ended": newest(false) }).to_string()]
    }
}

impl LogState {
    /// Drops the oldest ended connections beyond the limit.
    fn drop_ended(&mut self) {
        let ended = self.connections.iter().filter(|(_, log)| log.ended.is_some()).map(|(id, _)| *id);
        let ended: Vec<u64> = ended.collect();
        for id in &ended[..ended.len().saturating_sub(limits::INTERCEPT_ENDED_CONNECTIONS)] {
            self.bytes -= self.connections.remove(id).map_or(0, |log| log.bytes);
        }
    }

    /// Appends a record, and drops the oldest ones beyond the limits.
    fn append(&mut self, connection: u64, record: Vec<u8>) {
        let Some(log) = self.connections.get_mut(&connection) else { return };
        self.bytes += record.len();
        log.bytes += record.len();
        log.records.push_back((self.appended, record));
        self.appended += 1;
        while log.bytes > limits::INTERCEPT_LOG_BYTES {
            self.bytes -= log.drop_oldest();
        }
        while self.bytes > limits::INTERCEPT_TOTAL_LOG_BYTES {
            let ended = self.connections.iter().find(|(_, log)| log.ended.is_some()).map(|(id, _)| *id);
            if let Some(log) = ended.and_then(|id| self.connections.remove(&id)) {
                self.bytes -= log.bytes;
                continue;
            }
            let largest = self.connections.values_mut().max_by_key(|log| log.bytes);
            match largest.map(ConnectionLog::drop_oldest) {
                Some(bytes) if bytes > 0 => self.bytes -= bytes,
                _ => break,
            }
        }
    }
}

impl ConnectionLog {
    /// Drops the oldest record. Returns its size.
    fn drop_oldest(&mut self) -> usize {
        let bytes = self.records.pop_front().map_or(0, |(_, record)| record.len());
        self.first += u64::from(bytes > 0);
        self.bytes -= bytes;
        bytes
    }

    /// Removes a held message that has left by itself, because its side has ended. Returns whether
    /// there was one.
    fn forget_held(&mut self, observation: &Observation<'_, '_>) -> bool {
        let before = self.held.len();
        if matches!(observation.outcome, Outcome::Delayed(_)) {
            self.held.retain(|_, held| held.from != observation.from || held.bytes != observation.received);
        }
        self.held.len() < before
    }

    fn held_json(&self, connection: u64) -> Vec<Json> {
        let entry = |(id, held): (&u64, &HeldMessage)| {
            let text = held.is_text.then(|| String::from_utf8_lossy(&held.payload).into_owned());
            json!({
                "client": connection,
                "id": id,
                "from": side(held.from),
                "has_left": self.departed.iter().map(|from| side(*from)).collect::<Vec<_>>(),
                "at_ms": held.at.as_millis() as u64,
                "line": held.line,
                "text": text,
                "payload": hex::digits(&held.payload),
                "wire": hex::digits(&held.bytes),
            })
        };
        self.held.iter().map(entry).collect()
    }
}

impl HeldMessage {
    fn new(observation: &Observation<'_, '_>, at: Duration) -> HeldMessage {
        let message = observation.content;
        let line = observation.explained.last().map(|last| last.to_string()).unwrap_or_default();
        let (payload, is_text) = message.map_or((Vec::new(), false), |message| {
            let is_text = message.opcode == crate::ws::frame::Opcode::Text;
            (message.payload.clone(), is_text)
        });
        HeldMessage {
            from: observation.from,
            at,
            bytes: observation.received.to_vec(),
            payload,
            is_text,
            line,
        }
    }
}

/// The record of a message. A compressed one is recorded uncompressed, with its size on the wire.
fn intercepted<'a>(observation: &'a Observation<'_, '_>) -> InterceptedBytes<'a> {
    InterceptedBytes {
        from: observation.from,
        outcome: observation.outcome.name(),
        detail: observation.outcome.detail(),
        wire_bytes: observation.received.len(),
        wire_header: wire_header(observation),
        received: observation.shown(),
        sent: if observation.sent_explained.is_empty() { b"".into() } else { observation.sent.into() },
    }
}

/// The header of the first received frame, if the message is compressed.
fn wire_header(observation: &Observation<'_, '_>) -> Vec<u8> {
    let header = Header::decode_with(observation.received, observation.from, true).ok().flatten();
    let header = header.filter(|(header, _)| header.compressed);
    header.map_or_else(Vec::new, |(_, size)| observation.received[..size].to_vec())
}

fn encode(at: Duration, what: ObservedKind<'_>) -> Vec<u8> {
    let mut record = Vec::new();
    observed_format::write(&mut record, &ObservedRecord { at, tick: 0, what });
    record
}

fn side(side: Side) -> &'static str {
    match side {
        Side::Client => "client",
        Side::Server => "server",
    }
}

/// The target of a request head.
fn target(request: &[u8]) -> String {
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    String::from_utf8_lossy(line).split(' ').nth(1).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
