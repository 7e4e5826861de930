//! Exercises about frames: lessons 1 to 5, and 11.

use super::check::{Expected, Freedom};
use super::draw::{Draft, Draw};
use super::encode::{self, fixed_block, frame, with_ping};
use super::layout::Layout;
use crate::tools::explain::hex;
use crate::tools::explain::tree::BYTE;
use crate::util::plural::count_noun;
use crate::ws::CloseCode;
use crate::ws::Side;
use crate::ws::close;
use crate::ws::frame::{self, Header, LENGTH_7_MAX, LENGTH_16_MAX, MASK_KEY_BYTES, Opcode};

/// Index of the key of a frame with a length in seven bits.
const SHORT_KEY: usize = 2;

pub fn text_frame(draw: &mut Draw<'_>) -> Draft {
    let (word, (key, digits)) = (draw.word(), draw.key());
    let task = format!(
        "A client sends the text \"{word}\" in one frame, masked with the key {digits}. Write the frame."
    );
    (task, Expected::exact(frame(Opcode::Text, Some(key), word.as_bytes()), Layout::Frames(Side::Client)))
}

pub fn any_key(draw: &mut Draw<'_>) -> Draft {
    let (word, (key, _)) = (draw.word(), draw.key());
    let task = format!("A client sends the text \"{word}\" in one frame. Choose the key. Write the frame.");
    (task, any_key_of(frame(Opcode::Text, Some(key), word.as_bytes())))
}

/// Expects a short frame of a client with any key.
fn any_key_of(model: Vec<u8>) -> Expected {
    Expected::Bytes { model, layout: Layout::Frames(Side::Client), freedom: Freedom::Key(SHORT_KEY) }
}

pub fn server_frame(draw: &mut Draw<'_>) -> Draft {
    let word = draw.word();
    let opcode = draw.choose(&[Opcode::Text, Opcode::Binary, Opcode::Ping, Opcode::Pong]);
    let noun = if opcode.is_control() { "" } else { " message" };
    let task = format!(
        "A server sends a {}{noun} with the payload \"{word}\" in one frame. Write the frame.",
        opcode.name()
    );
    (task, Expected::exact(frame(opcode, None, word.as_bytes()), Layout::Frames(Side::Server)))
}

/// Returns a random length, each of the three forms with the same probability.
fn draw_length(draw: &mut Draw<'_>) -> u64 {
    /// The longest message of an exercise, in bytes.
    const MOST: u64 = 1 << 24;
    let (from, to) =
        draw.choose(&[(1, LENGTH_7_MAX), (LENGTH_7_MAX + 1, LENGTH_16_MAX), (LENGTH_16_MAX + 1, MOST)]);
    from + draw.below((to - from + 1) as usize) as u64
}

pub fn header(draw: &mut Draw<'_>) -> Draft {
    let length = draw_length(draw);
    let bytes = count_noun(length as usize, "byte");
    let task = format!("A server sends a binary message of {bytes} in one frame. Write the header alone.");
    (task, Expected::exact(encode::header(true, Opcode::Binary, None, length), Layout::Frames(Side::Server)))
}

pub fn masked_header(draw: &mut Draw<'_>) -> Draft {
    let (length, (key, digits)) = (draw_length(draw), draw.key());
    let bytes = count_noun(length as usize, "byte");
    let task = format!(
        "A client sends a text message of {bytes} in one frame with the key {digits}. Write the header with the key."
    );
    (
        task,
        Expected::exact(encode::header(true, Opcode::Text, Some(key), length), Layout::Frames(Side::Client)),
    )
}

pub fn length(draw: &mut Draw<'_>) -> Draft {
    let length = draw_length(draw);
    let header = encode::header(true, Opcode::Binary, None, length);
    let reason = match &header[2..] {
        [] => format!("byte 1, {:02x}, is the length", header[1]),
        more => format!(
            "byte 1, {:02x}, puts the length into the next {} bytes, {}",
            header[1],
            more.len(),
            hex::print(more)
        ),
    };
    let task =
        format!("A frame begins with {}. How many bytes of payload does it announce?", hex::print(&header));
    (task, Expected::Numbers { numbers: vec![length as i64], reason })
}

/// Returns the masked bytes of a text.
fn masked(text: &str, key: [u8; MASK_KEY_BYTES]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    frame::mask(&mut bytes, key, 0);
    bytes
}

pub fn mask_payload(draw: &mut Draw<'_>) -> Draft {
    let (word, (key, digits)) = (draw.word(), draw.key());
    let parts = vec![("masked_byte", BYTE); word.len()];
    let model = masked(word, key);
    let task = format!("The payload \"{word}\" is masked with the key {digits}. Write the masked payload.");
    (task, Expected::exact(model, Layout::Parts(parts)))
}

pub fn unmask(draw: &mut Draw<'_>) -> Draft {
    let (word, (key, digits)) = (draw.word(), draw.key());
    let masked = masked(word, key);
    let task = format!(
        "A frame has the key {digits} and the masked payload {}. Which text is it?",
        hex::print(&masked)
    );
    (task, Expected::Text(word.to_owned()))
}

pub fn fragments(draw: &mut Draw<'_>) -> Draft {
    let word = draw.word();
    let first = 1 + draw.below(word.len() - 2);
    let second = first + 1 + draw.below(word.len() - first - 1);
    let pieces = [&word[..first], &word[first..second], &word[second..]];
    let opcodes = [Opcode::Text, Opcode::Continuation, Opcode::Continuation];
    let mut model = Vec::new();
    for (at, piece) in pieces.into_iter().enumerate() {
        model.extend(encode::header(at == 2, opcodes[at], None, piece.len() as u64));
        model.extend_from_slice(piece.as_bytes());
    }
    let list = pieces.join("\", \"");
    let task = format!(
        "A server sends the text \"{word}\" in three frames, with the payloads \"{list}\". Write all frames."
    );
    (task, Expected::exact(model, Layout::Frames(Side::Server)))
}

pub fn between(draw: &mut Draw<'_>) -> Draft {
    let word = draw.word();
    let task = format!(
        "A server sends the text \"{word}\" in two frames, and an empty ping between them. Choose where to cut the text. Write the three frames."
    );
    let (layout, freedom) = (Layout::Frames(Side::Server), Freedom::Cut(word));
    (task, Expected::Bytes { model: with_ping(word, word.len() / 2), layout, freedom })
}

/// Codes that a frame may have.
const CODES: [CloseCode; 6] = [
    CloseCode::NORMAL,
    CloseCode::GOING_AWAY,
    CloseCode::PROTOCOL_ERROR,
    CloseCode::INVALID_PAYLOAD,
    CloseCode::POLICY_VIOLATION,
    CloseCode::MESSAGE_TOO_BIG,
];

pub fn close(draw: &mut Draw<'_>) -> Draft {
    let (code, reason, mut body) = (draw.choose(&CODES), draw.word(), Vec::new());
    close::encode(Some(code), reason, &mut body);
    let task = format!(
        "A server closes the connection with the code {} and the reason \"{reason}\". Write the frame.",
        code.get()
    );
    (task, Expected::exact(frame(Opcode::Close, None, &body), Layout::Frames(Side::Server)))
}

pub fn client_close(draw: &mut Draw<'_>) -> Draft {
    let (code, (key, _), mut body) = (draw.choose(&CODES), draw.key(), Vec::new());
    close::encode(Some(code), "", &mut body);
    let code = code.get();
    let task = format!(
        "A client closes the connection with the code {code} and no reason. Choose the key. Write the frame."
    );
    (task, any_key_of(frame(Opcode::Close, Some(key), &body)))
}

pub fn compressed(draw: &mut Draw<'_>) -> Draft {
    let word = draw.word();
    let payload = fixed_block(word);
    let mut model = Vec::new();
    let length = payload.len() as u64;
    let header = Header { fin: true, compressed: true, opcode: Opcode::Text, mask: None, length };
    frame::write_frame(&mut model, &header, &payload);
    let task = format!(
        "Both ends have agreed on permessage-deflate. A server sends the text \"{word}\", compressed to {}, in one frame. Write the frame.",
        hex::print(&payload)
    );
    (task, Expected::exact(model, Layout::Deflate))
}

pub fn stored(draw: &mut Draw<'_>) -> Draft {
    let word = draw.word();
    let length = word.len() as u16;
    let mut model = vec![0];
    model.extend(length.to_le_bytes());
    model.extend((!length).to_le_bytes());
    model.extend(word.bytes());
    model.push(0);
    let parts = vec![
        ("padding", 5),
        ("btype", 2),
        ("bfinal", 1),
        ("len", 2 * BYTE),
        ("nlen", 2 * BYTE),
        ("data", word.len() * BYTE),
        ("empty_block", BYTE),
    ];
    let task = format!(
        "Write the payload of a compressed message with the text \"{word}\": a stored block, then the empty block without its last four bytes. Other data is right if it inflates to this text."
    );
    (task, Expected::Bytes { model, layout: Layout::Parts(parts), freedom: Freedom::Deflate(word) })
}
