//! Once its buffers have grown, a connection receives and answers without asking for memory. A program of its own, since it counts
//! every allocation of the process.
#![allow(
    unsafe_code,
    reason = "an allocator that counts can only be written with it; no product code is here"
)]

mod counting;

use tickwire::limits::{ECHO_FRAGMENTS, ECHO_MESSAGE_BYTES, ECHO_READ_BYTES};
use tickwire::ws::frame::{Header, Opcode, mask};
use tickwire::ws::{Conn, Event, Limits, Role, frame};

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

const KEY: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

fn push(bytes: &mut Vec<u8>, fin: bool, opcode: Opcode, payload: &[u8]) {
    Header { fin, opcode, mask: Some(KEY), length: payload.len() as u64 }.encode(bytes);
    let start = bytes.len();
    bytes.extend_from_slice(payload);
    mask(&mut bytes[start..], KEY, 0);
}

/// Frames of every kind but close, short and long, texts with characters of all lengths.
fn frames() -> Vec<u8> {
    let mut bytes = Vec::new();
    for size in [0, 1, 125, 126, 1_024, 65_535, 65_536, 200_000] {
        push(&mut bytes, true, Opcode::Binary, &vec![size as u8; size]);
        let text: String = "añ€𐍈".chars().cycle().take(size / 3).collect();
        push(&mut bytes, true, Opcode::Text, text.as_bytes());
        push(&mut bytes, true, Opcode::Ping, &vec![1; size.min(125)]);
        // Cut inside a character.
        let (first, rest) = text.as_bytes().split_at(text.len() / 2);
        push(&mut bytes, false, Opcode::Text, first);
        push(&mut bytes, true, Opcode::Pong, b"");
        push(&mut bytes, true, Opcode::Continuation, rest);
    }
    bytes
}

/// Receives all of it in pieces of this size and echoes it. Gives how many messages there were.
fn echo(conn: &mut Conn, bytes: &[u8], piece_bytes: usize, output: &mut Vec<u8>) -> usize {
    let mut messages = 0;
    for piece in bytes.chunks(piece_bytes) {
        conn.room(piece_bytes)[..piece.len()].copy_from_slice(piece);
        conn.received(piece.len());
        while let Some(event) = conn.next_event().expect("no rule is broken") {
            match event {
                Event::Text(text) => frame::write_text(output, text),
                Event::Binary(payload) => frame::write_binary(output, payload),
                _ => continue,
            }
            messages += 1;
        }
        conn.drain_output(output);
        output.clear();
    }
    messages
}

#[test]
fn no_frame_allocates_after_the_first_ones() {
    let limits = Limits { message_bytes: ECHO_MESSAGE_BYTES, fragments: ECHO_FRAGMENTS };
    let (bytes, mut output) = (frames(), Vec::new());
    for piece_bytes in [1, 100, ECHO_READ_BYTES] {
        let mut conn = Conn::new(Role::Server, limits);
        let warm_up = counting::allocations();
        for _ in 0..3 {
            assert_eq!(echo(&mut conn, &bytes, piece_bytes, &mut output), 24);
        }
        assert!(counting::allocations() > warm_up, "the buffers of a new connection grow, and this is seen");
        let before = counting::allocations();
        for _ in 0..3 {
            assert_eq!(echo(&mut conn, &bytes, piece_bytes, &mut output), 24);
        }
        assert_eq!(counting::allocations() - before, 0, "pieces of {piece_bytes} bytes");
    }
}
