//! Reading bytes directly into a connection's buffer: how much space it offers, and that the result
//! is the same.

use tickwire::internal::limits::READ_AHEAD_BYTES;
use tickwire::ws::frame::{Header, MASK_KEY_BYTES, MAX_HEADER_BYTES, Opcode, mask};
use tickwire::ws::{Connection, Limits, Role};

const LIMITS: Limits = Limits { message_bytes: 16 << 20, fragments: 1_000, ..Limits::DEFAULT };
const KEY: [u8; MASK_KEY_BYTES] = [0x37, 0xfa, 0x21, 0x3d];

fn header(fin: bool, opcode: Opcode, length: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    Header { fin, compressed: false, opcode, mask: Some(KEY), length }.encode(&mut bytes);
    bytes
}

fn frame(fin: bool, opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let mut bytes = header(fin, opcode, payload.len() as u64);
    let start = bytes.len();
    bytes.extend_from_slice(payload);
    mask(&mut bytes[start..], KEY, 0);
    bytes
}

#[test]
fn a_declared_length_reserves_no_more_than_the_limit() {
    for (declared, expected) in [
        (0, 10),
        (1_000, 1_000 + MAX_HEADER_BYTES),
        (READ_AHEAD_BYTES, READ_AHEAD_BYTES),
        (LIMITS.message_bytes, READ_AHEAD_BYTES),
    ] {
        let mut conn = Connection::new(Role::Server, LIMITS);
        assert_eq!(conn.recv_buffer(10).len(), 10, "no frame has begun");
        conn.receive(&header(false, Opcode::Binary, declared as u64));
        assert_eq!(conn.next_event(), Ok(None));
        assert_eq!(conn.recv_buffer(10).len(), expected, "{declared} bytes declared");
    }
}

/// The events that a connection returns for these bytes, in pieces of at most `max` bytes: read into its buffer, or passed to it.
fn events(bytes: &[u8], max: usize, is_read: bool) -> Vec<String> {
    let mut conn = Connection::new(Role::Server, LIMITS);
    let (mut left, mut events) = (bytes, Vec::new());
    while !left.is_empty() {
        let count = if is_read {
            let room = conn.recv_buffer(max);
            let count = left.len().min(room.len());
            room[..count].copy_from_slice(&left[..count]);
            conn.commit(count);
            count
        } else {
            let count = left.len().min(max);
            conn.receive(&left[..count]);
            count
        };
        left = &left[count..];
        loop {
            match conn.next_event() {
                Ok(Some(event)) => events.push(format!("{event:?}")),
                Ok(None) => break,
                Err(violation) => {
                    events.push(violation.name().to_owned());
                    return events;
                }
            }
        }
    }
    events
}

#[test]
fn reading_into_the_buffer_is_equivalent_to_passing_bytes() {
    let long: Vec<u8> = (0..200_000).map(|at| (at * 7) as u8).collect();
    let good = [
        frame(true, Opcode::Binary, &long),
        frame(false, Opcode::Text, "añ€".as_bytes()),
        frame(true, Opcode::Ping, b"ping"),
        frame(true, Opcode::Continuation, "𐍈".as_bytes()),
        frame(true, Opcode::Binary, &long[..65_536]),
        frame(true, Opcode::Binary, b""),
    ]
    .concat();
    let bad = [good.clone(), frame(true, Opcode::Continuation, b"nothing before")].concat();
    let closed = [good.clone(), frame(true, Opcode::Close, b""), good.clone()].concat();
    for bytes in [good, bad, closed] {
        let expected = events(&bytes, bytes.len(), false);
        assert!(expected.len() >= 5);
        for max in [1, 7, 1_000, 16_384, 100_000, 1 << 20] {
            assert_eq!(events(&bytes, max, true), expected, "at most {max} bytes");
            assert_eq!(events(&bytes, max, false), expected, "at most {max} bytes handed over");
        }
    }
}
