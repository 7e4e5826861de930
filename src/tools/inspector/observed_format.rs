//! The messages that send the observed bytes of a client to an inspector, as they were on the wire.
//!
//! ```text
//!   client u64 │ record │ record │ …
//!
//!    0      1          5            13         17
//!    +------+----------+------------+----------+------+
//!    | kind | tick u32 | at_us u64  | size u32 | body |
//!    +------+----------+------------+----------+------+
//!
//!    kind  1  opened: addresses, dialect, both heads
//!          2  bytes of the client
//!          3  bytes of the server
//!          4  lost: the number of pieces, u64
//!          5  ended: the name of the rule
//!          6  bytes of the client that an inspector injected
//!          7  an opened datagram of the client: header and messages
//!          8  an opened datagram of the server
//!          9  a datagram of the client that the server dropped, not opened
//!         10  a message that passed an intercepting proxy
//! ```
//!
//! Numbers are big-endian. The body of `opened` is a line of text, `ADDRESS LOCAL DIALECT
//! msgpack|json REQUEST_BYTES`, followed by the heads of request and response. The body of a
//! datagram is a line of text, the client's UDP address or `-`, followed by its bytes. The line of
//! a dropped datagram is `ADDRESS RULE`. The body of a message that passed a proxy is a line of
//! text, `client|server OUTCOME DETAIL WIRE_BYTES RECEIVED_BYTES HEADER`, the received bytes, and
//! the bytes that were sent instead, if any. `HEADER` is the first header on the wire in
//! hexadecimal, if the message was compressed, otherwise `-`.

use core::net::SocketAddr;
use std::borrow::Cow;
use std::time::Duration;

use crate::datagram::DatagramError;
use crate::tools::explain::hex;
use crate::ws::Side;

const OPENED: u8 = 1;
const CLIENT: u8 = 2;
const SERVER: u8 = 3;
const LOST: u8 = 4;
const ENDED: u8 = 5;
const INJECTED: u8 = 6;
const CLIENT_DATAGRAM: u8 = 7;
const SERVER_DATAGRAM: u8 = 8;
const DROPPED_DATAGRAM: u8 = 9;
const INTERCEPTED: u8 = 10;

/// Placeholder for the address on a transport without addresses.
const NO_ADDRESS: &str = "-";
/// Placeholder for the header of a message that was not compressed.
const NO_HEADER: &str = "-";

/// One record of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedRecord<'a> {
    /// Time on the server's clock, in microseconds.
    pub at: Duration,
    /// The number of completed ticks of the client's room.
    pub tick: u32,
    /// The content of the record.
    pub what: ObservedKind<'a>,
}

/// The content of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObservedKind<'a> {
    /// The handshake; the first record of a client.
    Opened(Handshake),
    /// The sender, and bytes as sent: complete frames, except that the last one of a client may be
    /// incomplete.
    Bytes(Side, &'a [u8]),
    /// Bytes of the client that an inspector injected, at least in part.
    Injected(&'a [u8]),
    /// A datagram of the client's lane.
    Datagram(ObservedDatagram<'a>),
    /// A message that passed an intercepting proxy.
    Intercepted(InterceptedBytes<'a>),
    /// The number of dropped pieces. The next bytes start at a message boundary.
    Lost(u64),
    /// The connection ended by this rule.
    Ended(&'a str),
}

impl<'a> ObservedKind<'a> {
    /// The sender and the bytes, if the record contains bytes.
    pub fn bytes(&self) -> Option<(Side, &'a [u8])> {
        match self {
            ObservedKind::Bytes(from, bytes) => Some((*from, bytes)),
            ObservedKind::Injected(bytes) => Some((Side::Client, bytes)),
            ObservedKind::Opened(_)
            | ObservedKind::Datagram(_)
            | ObservedKind::Intercepted(_)
            | ObservedKind::Lost(_)
            | ObservedKind::Ended(_) => None,
        }
    }
}

/// A datagram of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObservedDatagram<'a> {
    /// The sender.
    pub from: Side,
    /// The UDP address of the client, if the lane has addresses.
    pub address: Option<SocketAddr>,
    /// The rule by which the server dropped the datagram, if it did.
    pub dropped: Option<DatagramError>,
    /// The header and the messages. The messages of a dropped datagram are not opened.
    pub bytes: &'a [u8],
}

/// A message that passed an intercepting proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterceptedBytes<'a> {
    /// The side that sent it, or for which it was sent.
    pub from: Side,
    /// The outcome: `forwarded`, `delayed`, `dropped`, `changed`, `repeated` or `injected`.
    pub outcome: &'a str,
    /// Milliseconds of a delay, or the number of copies.
    pub detail: u64,
    /// Received bytes on the wire. More than `received` has, or fewer, if the message was
    /// compressed.
    pub wire_bytes: usize,
    /// The header of the first frame on the wire, if the message was compressed; otherwise empty.
    pub wire_header: Vec<u8>,
    /// The received message, uncompressed; empty if injected.
    pub received: Cow<'a, [u8]>,
    /// The bytes that were sent instead; empty if the message was forwarded or dropped.
    pub sent: Cow<'a, [u8]>,
}

/// The handshake of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handshake {
    /// The address of the client.
    pub address: SocketAddr,
    /// The address of the server.
    pub local: SocketAddr,
    /// The dialect.
    pub dialect: String,
    /// Whether packets are JSON.
    pub json: bool,
    /// The head of the request, redacted.
    pub request: Vec<u8>,
    /// The head of the response.
    pub response: Vec<u8>,
}

/// Creates a message without records.
pub fn start_message(client: u64) -> Vec<u8> {
    client.to_be_bytes().to_vec()
}

/// Appends a record to a message.
pub fn write(out: &mut Vec<u8>, record: &ObservedRecord<'_>) {
    let (kind, body): (u8, [&[u8]; 3]) = match &record.what {
        ObservedKind::Opened(opened) => {
            let Handshake { address, local, dialect, json, request, response } = opened;
            let format = if *json { "json" } else { "msgpack" };
            let line = format!("{address} {local} {dialect} {format} {}\n", request.len());
            return write_record(out, record, OPENED, [line.as_bytes(), request, response]);
        }
        ObservedKind::Bytes(Side::Server, bytes) => (SERVER, [bytes, &[], &[]]),
        ObservedKind::Bytes(Side::Client, bytes) => (CLIENT, [bytes, &[], &[]]),
        ObservedKind::Injected(bytes) => (INJECTED, [bytes, &[], &[]]),
        ObservedKind::Datagram(datagram) => {
            let ObservedDatagram { from, address, dropped, bytes } = datagram;
            let mut line = address.map_or_else(|| NO_ADDRESS.to_owned(), |address| address.to_string());
            let kind = match (dropped, from) {
                (Some(rule), _) => {
                    line = format!("{line} {}", rule.name());
                    DROPPED_DATAGRAM
                }
                (None, Side::Client) => CLIENT_DATAGRAM,
                (None, Side::Server) => SERVER_DATAGRAM,
            };
            line.push('\n');
            return write_record(out, record, kind, [line.as_bytes(), bytes, &[]]);
        }
        ObservedKind::Intercepted(message) => {
            let InterceptedBytes { from, outcome, detail, wire_bytes, wire_header, received, sent } = message;
            let from = if *from == Side::Client { "client" } else { "server" };
            let header = if wire_header.is_empty() { NO_HEADER.to_owned() } else { hex::digits(wire_header) };
            let line = format!("{from} {outcome} {detail} {wire_bytes} {} {header}\n", received.len());
            return write_record(out, record, INTERCEPTED, [line.as_bytes(), received, sent]);
        }
        ObservedKind::Lost(pieces) => {
            return write_record(out, record, LOST, [&pieces.to_be_bytes(), &[], &[]]);
        }
        ObservedKind::Ended(rule) => (ENDED, [rule.as_bytes(), &[], &[]]),
    };
    write_record(out, record, kind, body);
}

fn write_record(out: &mut Vec<u8>, record: &ObservedRecord<'_>, kind: u8, body: [&[u8]; 3]) {
    let size: usize = body.iter().map(|part| part.len()).sum();
    out.push(kind);
    out.extend_from_slice(&record.tick.to_be_bytes());
    out.extend_from_slice(&(record.at.as_micros() as u64).to_be_bytes());
    out.extend_from_slice(&(size as u32).to_be_bytes());
    body.iter().for_each(|part| out.extend_from_slice(part));
}

/// Parses a message: the number of the client, and the records.
///
/// # Errors
/// The offset of the first invalid record.
pub fn read(message: &[u8]) -> Result<(u64, Vec<ObservedRecord<'_>>), usize> {
    let mut rest = message;
    let client = number(&mut rest, 8).ok_or(0_usize)?;
    let mut records = Vec::new();
    while !rest.is_empty() {
        let at = message.len() - rest.len();
        records.push(read_record(&mut rest).ok_or(at)?);
    }
    Ok((client, records))
}

fn read_record<'a>(rest: &mut &'a [u8]) -> Option<ObservedRecord<'a>> {
    let kind = number(rest, 1)? as u8;
    let tick = number(rest, 4)? as u32;
    let at = Duration::from_micros(number(rest, 8)?);
    let size = number(rest, 4)? as usize;
    let mut body = rest.split_off(..size)?;
    let what = match kind {
        OPENED => ObservedKind::Opened(read_opened(body)?),
        CLIENT => ObservedKind::Bytes(Side::Client, body),
        SERVER => ObservedKind::Bytes(Side::Server, body),
        INJECTED => ObservedKind::Injected(body),
        CLIENT_DATAGRAM | SERVER_DATAGRAM | DROPPED_DATAGRAM => {
            ObservedKind::Datagram(read_datagram(kind, body)?)
        }
        INTERCEPTED => ObservedKind::Intercepted(read_intercepted(body)?),
        LOST => ObservedKind::Lost(number(&mut body, 8).filter(|_| body.is_empty())?),
        ENDED => ObservedKind::Ended(std::str::from_utf8(body).ok()?),
        _ => return None,
    };
    Some(ObservedRecord { at, tick, what })
}

fn read_datagram(kind: u8, body: &[u8]) -> Option<ObservedDatagram<'_>> {
    let (line, bytes) = split_line(body)?;
    let mut words = line.split(' ');
    let address = match words.next()? {
        NO_ADDRESS => None,
        address => Some(address.parse().ok()?),
    };
    let dropped = match kind {
        DROPPED_DATAGRAM => Some(DatagramError::from_name(words.next()?)?),
        _ => None,
    };
    let from = if kind == SERVER_DATAGRAM { Side::Server } else { Side::Client };
    Some(ObservedDatagram { from, address, dropped, bytes })
}

fn read_intercepted(body: &[u8]) -> Option<InterceptedBytes<'_>> {
    let (line, bytes) = split_line(body)?;
    let mut words = line.split(' ');
    let from = if words.next()? == "client" { Side::Client } else { Side::Server };
    let (outcome, detail) = (words.next()?, words.next()?.parse().ok()?);
    let wire_bytes = words.next()?.parse().ok()?;
    let (received, sent) = bytes.split_at_checked(words.next()?.parse().ok()?)?;
    let wire_header = match words.next()? {
        NO_HEADER => Vec::new(),
        digits => hex::parse(digits).ok()?,
    };
    let (received, sent) = (received.into(), sent.into());
    Some(InterceptedBytes { from, outcome, detail, wire_bytes, wire_header, received, sent })
}

/// Splits a body after its line of text.
fn split_line(body: &[u8]) -> Option<(&str, &[u8])> {
    let end = body.iter().position(|byte| *byte == b'\n')?;
    Some((std::str::from_utf8(&body[..end]).ok()?, &body[end + 1..]))
}

fn read_opened(body: &[u8]) -> Option<Handshake> {
    let (line, heads) = split_line(body)?;
    let mut words = line.split(' ');
    let (address, local) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let (dialect, json) = (words.next()?.to_owned(), words.next()? == "json");
    let (request, response) = heads.split_at_checked(words.next()?.parse().ok()?)?;
    Some(Handshake { address, local, dialect, json, request: request.to_vec(), response: response.to_vec() })
}

/// Takes the next number of `bytes` bytes.
fn number(rest: &mut &[u8], bytes: usize) -> Option<u64> {
    let taken = rest.split_off(..bytes)?;
    Some(taken.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_reads_back_and_no_cut_of_it_does_between_its_records() {
        let opened = Handshake {
            address: "[2001:db8::1]:40000".parse().expect("an address"),
            local: "127.0.0.1:3000".parse().expect("an address"),
            dialect: "letters-2024".to_owned(),
            json: true,
            request: b"GET / HTTP/1.1\r\n\r\n".to_vec(),
            response: b"HTTP/1.1 101 Switching Protocols\r\n\r\n".to_vec(),
        };
        let bytes = &[0x82, 0x00][..];
        let some = Some(opened.address);
        let datagram = |from, address, dropped| {
            ObservedKind::Datagram(ObservedDatagram { from, address, dropped, bytes: &[10; 12] })
        };
        let records = [
            ObservedKind::Opened(opened),
            ObservedKind::Bytes(Side::Client, bytes),
            ObservedKind::Bytes(Side::Server, bytes),
            ObservedKind::Injected(bytes),
            datagram(Side::Client, some, None),
            datagram(Side::Server, some, None),
            datagram(Side::Server, None, None),
            datagram(Side::Client, None, Some(DatagramError::Repeated)),
            ObservedKind::Intercepted(InterceptedBytes {
                from: Side::Server,
                outcome: "changed",
                detail: 200,
                wire_bytes: 9,
                wire_header: vec![0xc1, 0x07],
                received: bytes.into(),
                sent: b"\x81\x00"[..].into(),
            }),
            ObservedKind::Lost(7),
            ObservedKind::Ended("idle_timeout"),
        ];
        let records =
            records.map(|what| ObservedRecord { at: Duration::from_micros(1 << 40), tick: u32::MAX, what });
        let mut message = start_message(u64::MAX);
        let mut ends = vec![message.len()];
        for record in &records {
            write(&mut message, record);
            ends.push(message.len());
        }
        assert_eq!(read(&message), Ok((u64::MAX, records.to_vec())));
        for cut in 0..message.len() {
            assert_eq!(read(&message[..cut]).is_ok(), ends.contains(&cut), "{cut} bytes");
        }
        let unknown = [&start_message(1)[..], &[11; 17]].concat();
        assert_eq!(read(&unknown), Err(8), "there is no kind 11");
    }
}
