//! The session with one inspector at `/wire`, without I/O: its requests and the messages that it
//! receives. PROTOCOL.md, "The inspector", lists them.
//!
//! The driver passes in bytes and the time and executes each [`InspectorRequest`]. It calls
//! [`InspectorSession::poll`] every [`limits::INSPECTOR_SEND_INTERVAL`], and sends the output after
//! each call. An error is the reason for the end of the session; the close frame is then in the
//! output.

use std::time::Duration;

use serde_json::{Map, Value as Json, json};

use super::client::{Client, Transport};
use crate::connection::Deadlines;
use crate::connection::deadlines::DueAction;
use crate::connection::pauses::Pauses;
use crate::connection::resume_key::ResumeKey;
use crate::limits;
use crate::packet::PacketTables;
use crate::ws::close::CloseCode;
use crate::ws::connection::{Connection, Event, Role};

/// Path of the page and of its WebSocket.
pub const PATH: &str = "/wire";

/// Subprotocol of inspectors.
pub const SUBPROTOCOL: &str = "tickwire.wire";

/// Selects all clients in a request.
const ALL: &str = "all";

/// Error for [`InspectorRequest::Inject`] if no client has the key.
pub const UNKNOWN_KEY_TEXT: &str = "no connected client has this key";

/// The clients that an inspector observes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    /// No client.
    Nothing,
    /// One client.
    Client(u64),
    /// All clients.
    All,
}

impl Selection {
    /// Parses the value of `select` in a request: a number, `"all"` or `null`.
    pub fn parse(value: &Json) -> Option<Selection> {
        Some(match value {
            Json::Null => Selection::Nothing,
            Json::String(all) if all == ALL => Selection::All,
            client => Selection::Client(client.as_u64()?),
        })
    }

    /// Whether a client is observed.
    pub fn includes(self, client: u64) -> bool {
        match self {
            Selection::Nothing => false,
            Selection::Client(selected) => selected == client,
            Selection::All => true,
        }
    }
}

/// A request of an inspector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InspectorRequest {
    /// Selects the clients to observe.
    Select(Selection),
    /// Queries which client has this key.
    FindOwn(ResumeKey),
    /// Injects these bytes as if the client with this key had sent them.
    Inject(ResumeKey, Vec<u8>),
}

/// One inspector's WebSocket, deadlines and list state.
#[derive(Debug)]
pub struct InspectorSession {
    conn: Connection,
    deadlines: Deadlines,
    pauses: Pauses,
    /// The lists of connected and of ended clients, as sent last.
    listed: [String; 2],
    list_due: Duration,
}

impl InspectorSession {
    /// Creates the session after the upgrade. Its first message contains what a decoder needs: the
    /// packet tables in use, and the time of day at zero of the server's clock (`began_us`).
    pub fn new(codes: &PacketTables, epoch: &str, began_us: u64, now: Duration) -> InspectorSession {
        let mut conn = Connection::new(Role::Server, limits::CLIENT_MESSAGE_LIMITS);
        let tables: Vec<[&str; 2]> = codes.texts().into_iter().map(<[&str; 2]>::from).collect();
        let welcome = json!({ "epoch": epoch, "began_us": began_us, "codes": tables });
        conn.send_text(&json!({ "welcome": welcome }).to_string());
        let (deadlines, pauses) = (Deadlines::new(false, now), Pauses::default());
        InspectorSession { conn, deadlines, pauses, listed: Default::default(), list_due: now }
    }

    /// Processes received bytes; adds the inspector's requests to `requests`.
    ///
    /// # Errors
    /// The reason for the end of the session.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        now: Duration,
        requests: &mut Vec<InspectorRequest>,
    ) -> Result<(), &'static str> {
        self.receive_with(bytes, now, read, requests)
    }

    /// Like [`InspectorSession::receive`], with another set of requests. `read` returns `None` for
    /// a text that is not a request.
    ///
    /// # Errors
    /// The reason for the end of the session.
    pub fn receive_with<R>(
        &mut self,
        bytes: &[u8],
        now: Duration,
        read: impl Fn(&str) -> Option<R>,
        requests: &mut Vec<R>,
    ) -> Result<(), &'static str> {
        self.conn.receive(bytes);
        loop {
            let event = self.conn.next_event();
            // Whole messages and control frames prove that the inspector is alive; bytes of an
            // unfinished frame do not.
            if matches!(event, Ok(Some(_))) {
                self.deadlines.alive(now);
            }
            let request = match event {
                Ok(Some(Event::Text(text))) => read(text),
                Ok(Some(Event::Binary(_))) => None,
                Ok(Some(Event::Ping(_) | Event::Pong(_))) => continue,
                Ok(Some(Event::Close { .. } | Event::Eof { .. })) => return Err("closed by the inspector"),
                Ok(None) => return Ok(()),
                Err(violation) => return Err(violation.name()),
            };
            let Some(request) = request else {
                self.conn.close(CloseCode::POLICY_VIOLATION, "inspector_request");
                return Err("inspector_request");
            };
            requests.push(request);
        }
    }

    /// Sends the result of [`InspectorRequest::FindOwn`].
    pub fn answer_find_own(&mut self, client: Option<u64>) {
        self.conn.send_text(&json!({ "own": client }).to_string());
    }

    /// Sends the result of [`InspectorRequest::Inject`]: the client, or an error.
    pub fn answer_inject(&mut self, passed: Result<u64, &'static str>) {
        let answer = match passed {
            Ok(client) => json!({ "injected": client }),
            Err(error) => json!({ "injected": null, "error": error }),
        };
        self.conn.send_text(&answer.to_string());
    }

    /// Sends a text message.
    pub fn send_text(&mut self, text: &str) {
        self.conn.send_text(text);
    }

    /// Sends observed bytes, as a message in the inspector's binary format.
    pub fn send_observed(&mut self, message: &[u8]) {
        self.conn.send_binary(message);
    }

    /// Sends the lists of connected and ended clients, if the interval has passed and they have
    /// changed. Also polls the deadlines.
    ///
    /// # Errors
    /// The reason for the end of the session.
    pub fn poll(&mut self, now: Duration, lists: impl FnOnce() -> [String; 2]) -> Result<(), &'static str> {
        if now >= self.list_due {
            self.list_due = now + limits::INSPECTOR_CLIENT_LIST_INTERVAL;
            for (listed, list) in self.listed.iter_mut().zip(lists()) {
                if *listed != list {
                    self.conn.send_text(&list);
                    *listed = list;
                }
            }
        }
        self.pauses.note(now);
        match self.deadlines.poll(now, limits::IDLE_TIMEOUT, self.pauses.recorded_slack(now)) {
            DueAction::Ping => self.conn.send_ping(&[]),
            DueAction::Close(close_reason) => {
                self.conn.close(CloseCode::INTERNAL_ERROR, close_reason.name());
                return Err(close_reason.name());
            }
            DueAction::Nothing(_) | DueAction::Abort => {}
        }
        Ok(())
    }

    /// Closes the session because the server stops.
    pub fn going_away(&mut self) {
        self.conn.close(CloseCode::GOING_AWAY, "going_away");
    }

    /// Returns whether there are bytes to send.
    pub fn has_output(&self) -> bool {
        self.conn.has_output()
    }

    /// Moves the bytes to send to the end of `into`.
    pub fn drain_output(&mut self, into: &mut Vec<u8>) {
        self.conn.drain_output(into);
    }
}

/// Parses a request. Returns `None` if the text is not a valid one.
fn read(text: &str) -> Option<InspectorRequest> {
    let object: Map<String, Json> = serde_json::from_str(text).ok()?;
    let key = |name: &str| ResumeKey::parse(object.get(name)?.as_str()?);
    match object.len() {
        1 if object.contains_key("find_own") => Some(InspectorRequest::FindOwn(key("find_own")?)),
        1 => Selection::parse(object.get("select")?).map(InspectorRequest::Select),
        2 => Some(InspectorRequest::Inject(key("inject")?, parse_hex(object.get("bytes")?.as_str()?)?)),
        _ => None,
    }
}

/// Decodes an even number of hex digits, at most [`limits::MAX_INJECTED_BYTES`] bytes.
fn parse_hex(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let is_short = digits.len() <= 2 * limits::MAX_INJECTED_BYTES && digits.len().is_multiple_of(2);
    let pairs = digits.as_bytes().chunks_exact(2);
    is_short.then(|| pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect())?
}

/// Encodes `{"clients":[…]}` with the newest clients, at most
/// [`limits::MAX_INSPECTOR_LISTED_CLIENTS`]. `clients` is sorted by number.
pub fn list<'a, L: Transport + 'a>(clients: impl DoubleEndedIterator<Item = &'a Client<L>>) -> String {
    let mut newest: Vec<Json> = clients.rev().take(limits::MAX_INSPECTOR_LISTED_CLIENTS).map(entry).collect();
    newest.reverse();
    json!({ "clients": newest }).to_string()
}

/// Encodes a client's entry in the list.
pub fn entry<L: Transport>(client: &Client<L>) -> Json {
    let dialect = client.format.dialect.name();
    let dialect = if client.format.is_json { format!("{dialect} as JSON") } else { dialect.to_owned() };
    let player = client.player().map_or(0, |player| player.0);
    let (id, name, address) = (client.id, client.joined.name(), client.address.to_string());
    let room = &*client.room.options.name;
    json!({ "id": id, "player": player, "name": name, "room": room, "dialect": dialect, "address": address })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_one_object_with_exactly_its_entries() {
        let digits = "00112233445566778899aabbccddeeff";
        let key = ResumeKey::parse(digits).expect("32 hex digits");
        let inject = |bytes: &str| format!(r#"{{"inject":"{digits}","bytes":"{bytes}"}}"#);
        let max_hex = "ff".repeat(limits::MAX_INJECTED_BYTES);
        for (text, expected) in [
            (r#"{"select":7}"#, Some(InspectorRequest::Select(Selection::Client(7)))),
            (r#"{"select":"all"}"#, Some(InspectorRequest::Select(Selection::All))),
            (r#"{"select":"some"}"#, None),
            (r#" {"select": null} "#, Some(InspectorRequest::Select(Selection::Nothing))),
            (r#"{"select":-1}"#, None),
            (r#"{"select":1.5}"#, None),
            (r#"{"select":1,"pause":true}"#, None),
            (&format!(r#"{{"find_own":"{digits}"}}"#), Some(InspectorRequest::FindOwn(key))),
            (r#"{"find_own":"0011"}"#, None),
            (r#"{"find_own":7}"#, None),
            (&inject("82 00"), None),
            (&inject("8280"), Some(InspectorRequest::Inject(key, vec![0x82, 0x80]))),
            (&inject(""), Some(InspectorRequest::Inject(key, Vec::new()))),
            (&inject("828"), None),
            (&inject("8x"), None),
            (&inject(&max_hex), Some(InspectorRequest::Inject(key, vec![0xff; limits::MAX_INJECTED_BYTES]))),
            (&inject(&format!("{max_hex}00")), None),
            (&format!(r#"{{"inject":"{digits}"}}"#), None),
            (r#"{"explain":1}"#, None),
            ("{}", None),
            ("[]", None),
            ("select", None),
            ("", None),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
