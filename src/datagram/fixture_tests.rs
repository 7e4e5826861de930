//! Checks `tests/fixtures/lane.json`: command blocks and acknowledgements that the JavaScript
//! client must encode to the same bytes (`tests/browser/unit/lane.test.mjs`). `TICKWIRE_BLESS=1`
//! rewrites the file.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::command_queue::CommandQueue;
use super::sequence::ReceivedWindow;
use crate::packet::msgpack::{write_array_len, write_nil, write_uint};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/lane.json");

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A packet `[code, [sequence, tick, value]]`.
fn packet(code: u64, sequence: u32, tick: Option<u32>, value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    write_array_len(&mut out, 2);
    write_uint(&mut out, code);
    write_array_len(&mut out, 3);
    write_uint(&mut out, sequence.into());
    match tick {
        Some(tick) => write_uint(&mut out, tick.into()),
        None => write_nil(&mut out),
    }
    write_uint(&mut out, value);
    out
}

/// Encodes the block of a queue with these commands: sequence number, tick, and value.
fn block(name: &str, max: usize, commands: &[(u32, Option<u32>, u64)]) -> Json {
    let mut queue = CommandQueue::default();
    let mut json = Vec::new();
    for (sequence, tick, value) in commands {
        let packet = packet(3, *sequence, *tick, *value);
        queue.push(*sequence, *tick, &packet, Duration::ZERO, |_| {});
        json.push(json!({ "sequence": sequence, "tick": tick, "packet": hex(&packet) }));
    }
    let mut out = Vec::new();
    queue.write(max, &mut out);
    json!({ "name": name, "most": max, "commands": json, "block": hex(&out) })
}

/// Acknowledgement fields of a header after datagrams with these sequence numbers were received.
fn acks(sequences: &[u64]) -> Json {
    let mut window = ReceivedWindow::default();
    for sequence in sequences {
        if window.check(*sequence).is_ok() {
            window.record(*sequence);
        }
    }
    let (newest, received) = window.acks();
    json!({ "sequences": sequences, "newest": newest, "received": received })
}

#[test]
fn fixture_has_the_encoded_blocks_and_acknowledgements() {
    let same: Vec<_> = (0..20).map(|n| (7 + n, Some(100 + 2 * n), 5)).collect();
    let many: Vec<_> = (0..70).map(|n| (1 + n, Some(n), n.into())).collect();
    let fixture = json!({
        "blocks": [
            block("one", 1_100, &[(1, Some(30), 200)]),
            block("without a tick", 1_100, &[(1, None, 9), (2, None, 9), (3, None, 8)]),
            block("equal bodies, equal steps", 1_100, &same),
            block("equal bodies, unequal steps", 1_100, &[(1, Some(5), 1), (2, Some(6), 1), (3, Some(9), 1)]),
            block("the same tick twice", 1_100, &[(4, Some(5), 1), (5, Some(5), 2), (6, Some(5), 2)]),
            block("only the first has a tick", 1_100, &[(4, Some(5), 1), (5, None, 1)]),
            block("a gap in the sequence", 1_100, &[(4, Some(5), 1), (6, Some(6), 1)]),
            block("256 ticks apart", 1_100, &[(4, Some(5), 1), (5, Some(261), 1)]),
            block("more commands than fit", 40, &many),
            block("more than 64 commands", 1_100, &many),
        ],
        "acks": [
            acks(&[]), acks(&[1]), acks(&[1, 2, 3]), acks(&[1, 3, 2, 2]), acks(&[2, 40, 8, 7, 1]),
            acks(&[1, 100, 36, 35, 99]), acks(&[1, 30_000, 60_000, 65_530, 65_540, 65_536, 65_541]),
        ],
    });
    let text = format!("{fixture:#}\n");
    if std::env::var_os("TICKWIRE_BLESS").is_some() {
        std::fs::write(FILE, &text).expect("the file can be written");
    }
    assert_eq!(std::fs::read_to_string(FILE).expect("the file is there"), text);
}
