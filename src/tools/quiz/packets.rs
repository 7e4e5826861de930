//! Exercises about the handshake, MessagePack, packets and datagrams: lessons 6 to 8, and 10.

use super::check::Expected;
use super::draw::{Draft, Draw};
use super::layout::Layout;
use crate::datagram::header::DatagramHeader;
use crate::packet::{Direction, Value, msgpack};
use crate::tools::explain::hex;
use crate::ws::frame::{self, Opcode};
use crate::ws::handshake;

pub fn accept(draw: &mut Draw<'_>) -> Draft {
    let key = handshake::encode_key(draw.bytes());
    let task =
        format!("A client sends Sec-WebSocket-Key: {key}. Which Sec-WebSocket-Accept does a server answer?");
    (task, Expected::Text(handshake::accept_key(&key)))
}

pub fn key(draw: &mut Draw<'_>) -> Draft {
    let random = draw.bytes();
    let task = format!(
        "A client has drawn the bytes {}. Which Sec-WebSocket-Key does it send?",
        hex::print(&random)
    );
    (task, Expected::Text(handshake::encode_key(random)))
}

/// Returns a random value, and its text.
fn draw_value(draw: &mut Draw<'_>) -> (Value, String) {
    match draw.below(8) {
        0 => (Value::Nil, "nil".to_owned()),
        1 => {
            let truth = draw.below(2) == 1;
            (truth.into(), truth.to_string())
        }
        2 => {
            let word = draw.word();
            (word.into(), format!("\"{word}\""))
        }
        3 => number_of(-1 - draw.below(32) as i64),
        _ => {
            let number = draw_number(draw);
            number_of(number)
        }
    }
}

fn number_of(number: i64) -> (Value, String) {
    (number.into(), number.to_string())
}

/// Returns a random number with an encoding of one to five bytes.
fn draw_number(draw: &mut Draw<'_>) -> i64 {
    let max = draw.choose(&[1 << 7, 1 << 8, 1 << 16, 1 << 31]);
    draw.below(max) as i64
}

pub fn value(draw: &mut Draw<'_>) -> Draft {
    let (value, text) = draw_value(draw);
    let mut model = Vec::new();
    msgpack::write_value(&mut model, &value);
    let task = format!("Write {text} in MessagePack, in as few bytes as possible.");
    (task, Expected::exact(model, Layout::Value))
}

pub fn list(draw: &mut Draw<'_>) -> Draft {
    let count = 2 + draw.below(3);
    let (values, texts): (Vec<Value>, Vec<String>) = (0..count).map(|_| draw_value(draw)).unzip();
    let mut model = Vec::new();
    msgpack::write_value(&mut model, &Value::Array(values));
    let task = format!("Write the list [{}] in MessagePack, in as few bytes as possible.", texts.join(", "));
    (task, Expected::exact(model, Layout::Value))
}

pub fn number(draw: &mut Draw<'_>) -> Draft {
    let number = if draw.below(4) == 0 { -1 - draw.below(32) as i64 } else { draw_number(draw) };
    let mut bytes = Vec::new();
    msgpack::write_int(&mut bytes, number);
    let reason = match &bytes[..] {
        [byte @ 0xe0..=0xff] => format!("the byte {byte:02x} is the number plus 256"),
        [byte] => format!("a byte below 80, such as {byte:02x}, is the number itself"),
        [kind, rest @ ..] => {
            format!(
                "the byte {kind:02x} is the type, and the number follows: {}, highest byte first",
                hex::print(rest)
            )
        }
        [] => unreachable!("a number has bytes"),
    };
    let task = format!("Which number is {} in MessagePack?", hex::print(&bytes));
    (task, Expected::Numbers { numbers: vec![number], reason })
}

/// Packets of a client with three arguments, and the steps and the bound of the last one.
const PACKETS: [(&str, &str, usize, usize); 3] =
    [("move", "direction", 1 << 12, 16), ("aim", "heading", 1 << 12, 16), ("upgrade", "choice", 1, 32)];

/// Returns the bytes of a random packet of a client, and its description.
fn draw_packet(draw: &mut Draw<'_>) -> (Vec<u8>, String) {
    let (name, last, step, bound) = draw.choose(&PACKETS);
    let [sequence, tick, argument] = [1 + draw.below(1 << 8), draw.below(1 << 12), step * draw.below(bound)];
    let text = format!(
        "the packet \"{name}\" of a client with sequence {sequence}, tick {tick} and {last} {argument}, in the dialect native (tickwire codes prints the table)"
    );
    let values = [sequence, tick, argument].map(|number| Value::from(number as u64));
    (draw.dialect.encode(Direction::ToServer, name, &values).unwrap_or_default(), text)
}

pub fn packet(draw: &mut Draw<'_>) -> Draft {
    let (model, text) = draw_packet(draw);
    (format!("Write {text}, without a frame header."), Expected::exact(model, Layout::Packet))
}

pub fn packet_frame(draw: &mut Draw<'_>) -> Draft {
    let ((packet, text), (key, digits)) = (draw_packet(draw), draw.key());
    let mut model = Vec::new();
    frame::write(&mut model, Opcode::Binary, Some(key), &packet);
    (format!("Write the frame with {text}. The key is {digits}."), Expected::exact(model, Layout::GameFrame))
}

/// Returns a random header of a datagram, and the numbers of the 32 before its newest that are
/// missing.
fn draw_header(draw: &mut Draw<'_>) -> (DatagramHeader, Vec<i64>) {
    let newest = 40 + draw.below(1000) as u16;
    let mut received = u32::MAX;
    for _ in 0..=draw.below(3) {
        received &= !(1 << draw.below(32));
    }
    let missing = (0..32).rev().filter(|bit| received >> bit & 1 == 0);
    let missing = missing.map(|bit| i64::from(newest) - 1 - bit).collect();
    let sequence = 1 + draw.below(2000) as u16;
    let connection = u32::from_be_bytes(draw.bytes());
    (DatagramHeader { connection, sequence, newest, received }, missing)
}

pub fn acks(draw: &mut Draw<'_>) -> Draft {
    let (header, missing) = draw_header(draw);
    let missing: Vec<String> = missing.iter().map(i64::to_string).collect();
    let task = format!(
        "Write the 12 bytes of the header of a client's datagram {}, on the connection 0x{:08x}. The newest received datagram is {}; the 32 before it have arrived, except {}.",
        header.sequence,
        header.connection,
        header.newest,
        missing.join(", ")
    );
    (task, Expected::exact(header.bytes().to_vec(), Layout::Datagram))
}

pub fn lost(draw: &mut Draw<'_>) -> Draft {
    let (header, missing) = draw_header(draw);
    let task = format!(
        "The header of a datagram is {}. Which of the 32 datagrams before the newest one have not arrived?",
        hex::print(&header.bytes())
    );
    let (bits, newest) = (header.received, header.newest);
    let reason = format!(
        "bit n of {bits:08x}, counted from the lowest, is the datagram {newest} - 1 - n; 0 is missing"
    );
    (task, Expected::Numbers { numbers: missing, reason })
}
