//! The client side of a page's connections: the upgrade and the masked frames. The code is the one
//! that bots use.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde_json::Value;
use tickwire::client::connection::{self, ClientConnection, ClientEvent};
use tickwire::internal::limits;
use tickwire::internal::packet::credentials;
use tickwire::internal::server::clients::inspector_session;

use super::buffers::with;
use super::random;

const OPEN: u8 = 1;
const BINARY: u8 = 2;
const TEXT: u8 = 3;
const CLOSED: u8 = 4;
const ENDED: u8 = 5;

/// The connections by number.
#[derive(Default)]
struct Connections {
    links: BTreeMap<u32, ClientConnection>,
    last: u32,
}

thread_local! {
    static LINKS: RefCell<Connections> = RefCell::default();
}

/// Calls a function with a connection and the input. Returns the default for an unknown connection.
fn call<T: Default>(number: u32, call: impl FnOnce(&mut ClientConnection, &[u8]) -> T) -> T {
    with(|buffers| {
        LINKS.with_borrow_mut(|links| {
            links
                .links
                .get_mut(&number)
                .map(|connection| call(connection, &buffers.input))
                .unwrap_or_default()
        })
    })
}

/// Opens a connection. The input is `{"host":"…","target":"/play","protocols":["…"]}`. Of
/// `protocols`, the connection offers the first known subprotocol, and all that carry a
/// token or a key. Returns the number of the connection; 0 if the input is invalid, or at
/// [`limits::EMBEDDED_CONNECTIONS`] connections.
#[unsafe(no_mangle)]
pub extern "C" fn client_open() -> u32 {
    with(|buffers| open(&buffers.input)).unwrap_or(0)
}

fn open(input: &[u8]) -> Option<u32> {
    let given: Value = serde_json::from_slice(input).ok()?;
    let (host, target) = (given["host"].as_str()?, given["target"].as_str()?);
    let wanted = || given["protocols"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let ours = [connection::SUBPROTOCOL, inspector_session::SUBPROTOCOL];
    let protocol = wanted().find_map(|name| ours.into_iter().find(|known| *known == name));
    let credentials: Vec<&str> = wanted().filter(|name| credentials::is_credential(name)).collect();
    LINKS.with_borrow_mut(|Connections { links, last }| {
        if links.len() >= limits::EMBEDDED_CONNECTIONS {
            return None;
        }
        *last += 1;
        links.insert(
            *last,
            ClientConnection::with_subprotocol(host, target, protocol, &credentials, random::keys()),
        );
        Some(*last)
    })
}

/// Removes a connection.
#[unsafe(no_mangle)]
pub extern "C" fn client_drop(number: u32) {
    LINKS.with_borrow_mut(|links| links.links.remove(&number));
}

/// Sends the input as a binary message.
#[unsafe(no_mangle)]
pub extern "C" fn client_send_binary(number: u32) {
    call(number, |connection, input| connection.send_binary(input));
}

/// Sends the input, which is UTF-8, as a text message.
#[unsafe(no_mangle)]
pub extern "C" fn client_send_text(number: u32) {
    call(number, |connection, input| {
        if let Ok(text) = std::str::from_utf8(input) {
            connection.send_text(text);
        }
    });
}

/// Starts the closing handshake of a connection.
#[unsafe(no_mangle)]
pub extern "C" fn client_close(number: u32) {
    call(number, |connection, _| connection.close());
}

/// Outputs the bytes to send.
#[unsafe(no_mangle)]
pub extern "C" fn client_read_output(number: u32) -> usize {
    let bytes = call(number, |connection, _| {
        let mut bytes = Vec::new();
        connection.drain_output(&mut bytes);
        bytes
    });
    with(|buffers| buffers.put_out(bytes))
}

/// Handles the server's bytes in the input. Outputs the events: for each its kind, the length of
/// its body as u32 (most significant byte first), and its body. The kinds are 1 open; 2 a binary
/// message; 3 a text; 4 closed: the code as u16 or 0, and the reason; 5 ended: the error, if any.
#[unsafe(no_mangle)]
pub extern "C" fn client_receive(number: u32) -> usize {
    let events = call(number, |connection, input| {
        let mut events = Vec::new();
        connection.receive(input);
        while take_event(connection, &mut events) {}
        events
    });
    with(|buffers| buffers.put_out(events))
}

/// Appends the next event. Returns `false` if there is none.
fn take_event(connection: &mut ClientConnection, out: &mut Vec<u8>) -> bool {
    match connection.next_event() {
        Ok(None) => return false,
        Ok(Some(ClientEvent::Open)) => put(out, OPEN, &[]),
        Ok(Some(ClientEvent::Binary(message))) => put(out, BINARY, &[message]),
        Ok(Some(ClientEvent::Text(text))) => put(out, TEXT, &[text.as_bytes()]),
        Ok(Some(ClientEvent::Control)) => {}
        Ok(Some(ClientEvent::Closed { code, reason })) => {
            let code = code.map_or(0, |code| code.get());
            put(out, CLOSED, &[&code.to_be_bytes(), reason.raw().as_bytes()]);
        }
        Ok(Some(ClientEvent::Ended)) => put(out, ENDED, &[]),
        Err(error) => {
            put(out, ENDED, &[error.to_string().as_bytes()]);
            return false;
        }
    }
    true
}

fn put(out: &mut Vec<u8>, kind: u8, body: &[&[u8]]) {
    let size: usize = body.iter().map(|part| part.len()).sum();
    out.push(kind);
    out.extend_from_slice(&(size as u32).to_be_bytes());
    body.iter().for_each(|part| out.extend_from_slice(part));
}
