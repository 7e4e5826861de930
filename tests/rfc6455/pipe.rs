//! Two connections joined by a simulated pipe, and properties that hold for all bytes.
//!
//! A failure prints a minimised script that reproduces it.

use proptest::collection::vec;
use proptest::prelude::*;
use tickwire::internal::ws::utf8::Utf8Validator;
use tickwire::ws::extension::{DeflateParameters, SenderParameters};
use tickwire::ws::frame::{self, Header, Opcode};
use tickwire::ws::message::{Message, MessageReader};
use tickwire::ws::{CloseCode, Connection, Event, Limits, Role, Side};

const LIMITS: Limits = Limits { message_bytes: 1 << 17, fragments: 64, ..Limits::DEFAULT };

/// One step of a conversation; `usize` 0 is the server, 1 the client.
#[derive(Clone, Debug)]
enum Step {
    Text(usize, String),
    Binary(usize, Vec<u8>),
    Ping(usize, Vec<u8>),
    Close(usize, String),
    /// So many bytes arrive at this end.
    Deliver(usize, usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let end = 0..2usize;
    let step = prop_oneof![
        3 => (end.clone(), ".{0,40}").prop_map(|(end, text)| Step::Text(end, text)),
        3 => (end.clone(), prop_oneof![vec(any::<u8>(), 0..300), vec(any::<u8>(), 65_530..65_540)])
            .prop_map(|(end, bytes)| Step::Binary(end, bytes)),
        2 => (end.clone(), vec(any::<u8>(), 0..126)).prop_map(|(end, bytes)| Step::Ping(end, bytes)),
        8 => (end.clone(), prop_oneof![0..8usize, 0..300usize, 0..100_000usize])
            .prop_map(|(end, bytes)| Step::Deliver(end, bytes)),
    ];
    (vec(step, 0..40), end, ".{0,200}", any::<prop::sample::Index>()).prop_map(
        |(mut steps, end, reason, at)| {
            steps.insert(at.index(steps.len() + 1), Step::Close(end, reason));
            steps
        },
    )
}

/// The agreed parameters of a sender of compressed messages.
fn sender_parameters() -> impl Strategy<Value = SenderParameters> {
    let parameters = |(context_takeover, window_bits)| SenderParameters { context_takeover, window_bits };
    (any::<bool>(), 8..=15u8).prop_map(parameters)
}

/// One end, the bytes under way to it, and what it said and heard.
struct End {
    conn: Connection,
    under_way: Vec<u8>,
    said: Vec<String>,
    heard: Vec<String>,
    pings: Vec<Vec<u8>>,
    pongs: Vec<Vec<u8>>,
    closed: bool,
}

impl End {
    fn new(role: Role) -> End {
        let conn = Connection::new(role, LIMITS);
        let (said, heard, pings, pongs) = Default::default();
        End { conn, under_way: Vec::new(), said, heard, pings, pongs, closed: false }
    }

    fn hear(&mut self, bytes: &[u8]) {
        self.conn.receive(bytes);
        while let Some(event) = self.conn.next_event().expect("neither end breaks a rule") {
            match event {
                Event::Text(text) => self.heard.push(format!("{text:?}")),
                Event::Binary(payload) => self.heard.push(format!("{payload:?}")),
                Event::Pong(payload) => self.pongs.push(payload.to_vec()),
                Event::Ping(_) => {}
                Event::Close { .. } => self.closed = true,
                Event::Eof { clean } => assert!(clean),
            }
        }
    }
}

fn run(ends: &mut [End; 2], step: Step) {
    match step {
        Step::Text(at, text) => {
            if ends[at].conn.is_open() {
                ends[at].said.push(format!("{text:?}"));
            }
            ends[at].conn.send_text(&text);
        }
        Step::Binary(at, payload) => {
            if ends[at].conn.is_open() {
                ends[at].said.push(format!("{payload:?}"));
            }
            ends[at].conn.send_binary(&payload);
        }
        Step::Ping(at, payload) => {
            if ends[at].conn.is_open() {
                ends[at].pings.push(payload.clone());
            }
            ends[at].conn.send_ping(&payload);
        }
        Step::Close(at, reason) => ends[at].conn.close(CloseCode::NORMAL, &reason),
        Step::Deliver(at, bytes) => {
            let bytes = bytes.min(ends[at].under_way.len());
            let piece: Vec<u8> = ends[at].under_way.drain(..bytes).collect();
            ends[at].hear(&piece);
        }
    }
    for at in 0..2 {
        let mut output = Vec::new();
        ends[at].conn.drain_output(&mut output);
        ends[1 - at].under_way.extend(output);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn messages_arrive_in_order_and_both_ends_close_cleanly(
        steps in steps(),
        deflate in prop::option::of((sender_parameters(), sender_parameters())),
    ) {
        let mut ends = [
            End::new(Role::Server),
            End::new(Role::Client { mask_key: || [0x12, 0x34, 0x56, 0x78] }),
        ];
        if let Some((server, client)) = deflate {
            ends.iter_mut().for_each(|end| end.conn.enable_compression(DeflateParameters { server, client }, 10));
        }
        for step in steps {
            run(&mut ends, step);
        }
        while ends.iter().any(|end| !end.under_way.is_empty()) {
            run(&mut ends, Step::Deliver(0, usize::MAX));
            run(&mut ends, Step::Deliver(1, usize::MAX));
        }
        let [server, client] = &mut ends;
        prop_assert_eq!(&server.said, &client.heard);
        prop_assert_eq!(&client.said, &server.heard);
        // The end that closed first may have sent its close before it could answer the last pings.
        prop_assert!(client.pings.starts_with(&client.pongs));
        prop_assert!(server.pings.starts_with(&server.pongs));
        for end in ends.iter_mut() {
            prop_assert!(end.closed && end.conn.is_finished());
            end.conn.receive_eof();
            prop_assert_eq!(end.conn.next_event(), Ok(Some(Event::Eof { clean: true })));
        }
    }

    #[test]
    fn fragments_of_any_size_give_the_message(
        pieces in vec((vec(any::<u8>(), 0..100), any::<bool>()), 1..20),
        key in any::<[u8; 4]>(),
        cut in 1..50usize,
    ) {
        let mut bytes = Vec::new();
        for (at, (piece, ping_after)) in pieces.iter().enumerate() {
            let opcode = if at == 0 { Opcode::Binary } else { Opcode::Continuation };
            let fin = at + 1 == pieces.len();
            Header { fin, compressed: false, opcode, mask: Some(key), length: piece.len() as u64 }.encode(&mut bytes);
            let start = bytes.len();
            bytes.extend(piece);
            frame::mask(&mut bytes[start..], key, 0);
            if *ping_after && !fin {
                frame::write(&mut bytes, Opcode::Ping, Some(key), b"between");
            }
        }
        let mut reader = MessageReader::new(Side::Client, LIMITS);
        let (mut messages, mut pings) = (Vec::new(), 0);
        for piece in bytes.chunks(cut) {
            reader.receive(piece);
            while let Some(message) = reader.next_message().unwrap() {
                match message {
                    Message::Binary(payload) => messages.push(payload.to_vec()),
                    Message::Ping(b"between") => pings += 1,
                    other => panic!("{other:?}"),
                }
            }
        }
        let whole: Vec<u8> = pieces.iter().flat_map(|(piece, _)| piece.clone()).collect();
        prop_assert_eq!(messages, [whole]);
        prop_assert_eq!(pings, pieces[..pieces.len() - 1].iter().filter(|(_, ping)| *ping).count());
    }

    #[test]
    fn any_split_of_the_bytes_gives_the_same_result(bytes in vec(any::<u8>(), 0..400), cut in 1..20usize, client: bool, deflate: bool) {
        let outcome = |size: usize| {
            let role = if client { Role::Client { mask_key: || [1, 2, 3, 4] } } else { Role::Server };
            let mut conn = Connection::new(role, Limits { message_bytes: 200, fragments: 3, ..Limits::DEFAULT });
            if deflate {
                let sender = SenderParameters { context_takeover: true, window_bits: 15 };
                conn.enable_compression(DeflateParameters { server: sender, client: sender }, 0);
            }
            let mut log = Vec::new();
            for piece in bytes.chunks(size) {
                conn.receive(piece);
                loop {
                    match conn.next_event() {
                        Ok(Some(event)) => log.push(format!("{event:?}")),
                        Ok(None) => break,
                        Err(violation) => log.push(violation.name().to_owned()),
                    }
                }
            }
            conn.receive_eof();
            log.push(format!("{:?}", conn.next_event()));
            let mut output = Vec::new();
            conn.drain_output(&mut output);
            (log, output)
        };
        prop_assert_eq!(outcome(cut), outcome(400));
    }

    #[test]
    fn section_8_1_split_text_has_the_same_verdict_at_the_first_invalid_byte(
        bytes in prop_oneof![vec(any::<u8>(), 0..12), ".{0,12}".prop_map(String::into_bytes)],
        cut in 1..5usize,
    ) {
        let mut text = Utf8Validator::default();
        let mut come = 0;
        let mut refused_at = None;
        for piece in bytes.chunks(cut) {
            come += piece.len();
            if text.receive(piece).is_err() {
                refused_at = Some(come);
                break;
            }
        }
        let hopeless = |front: &[u8]| std::str::from_utf8(front).is_err_and(|error| error.error_len().is_some());
        let first_bad = (0..=bytes.len()).find(|&end| hopeless(&bytes[..end]));
        prop_assert_eq!(refused_at, first_bad.map(|end| end.div_ceil(cut).saturating_mul(cut).min(bytes.len())));
    }

    #[test]
    fn a_header_survives_its_bytes(fin: bool, masked: bool, key: [u8; 4], length in prop_oneof![0..300u64, 0..1u64 << 63]) {
        let mask = masked.then_some(key);
        let from = if masked { Side::Client } else { Side::Server };
        for opcode in (0..16).filter_map(Opcode::new) {
            let header = Header { fin, compressed: false, opcode, mask, length };
            if opcode.is_control() && (!fin || length > 125) {
                continue;
            }
            let mut bytes = Vec::new();
            header.encode(&mut bytes);
            prop_assert_eq!(Header::decode(&bytes, from), Ok(Some((header, bytes.len()))));
        }
    }
}
