//! An independent peer, `tungstenite`, at the other end of an in-memory connection, including the
//! handshake, in both roles.
//!
//! Each end must receive what the other sends, and both must agree on how the connection ends.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::rc::Rc;

use tickwire::internal::limits;
use tickwire::ws::http::{HeadReader, ResponseReader};
use tickwire::ws::{CloseCode, Connection, Event, Limits, Role, handshake};
use tungstenite::client::IntoClientRequest;
use tungstenite::handshake::HandshakeError;
use tungstenite::handshake::server::{NoCallback, ServerHandshake};
use tungstenite::protocol::frame::coding::CloseCode as PeerCode;
use tungstenite::{ClientHandshake, Error, Message, WebSocket};

const LIMITS: Limits = Limits { message_bytes: 1 << 20, fragments: 1000, ..Limits::DEFAULT };
/// Sizes around every edge of the length field, and of the loop that masks.
const SIZES: &[usize] = &[0, 1, 3, 4, 31, 32, 33, 125, 126, 127, 4096, 65_535, 65_536, 200_000];

/// The bytes between the two ends, as the peer sees them.
#[derive(Clone, Default)]
struct Wire {
    to_peer: Rc<RefCell<VecDeque<u8>>>,
    to_us: Rc<RefCell<Vec<u8>>>,
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.to_peer.borrow_mut().read(buffer)? {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            length => Ok(length),
        }
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to_us.borrow_mut().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Our end, the peer's end, and what is between.
struct Pair {
    ours: Connection,
    peer: WebSocket<Wire>,
    wire: Wire,
}

/// What we heard, as values.
#[derive(Debug, PartialEq)]
enum Heard {
    Text(String),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<u16>, String),
}

impl Pair {
    /// Our server, their client.
    fn served() -> Pair {
        let wire = Wire::default();
        let request = "ws://localhost/play";
        let handshake =
            ClientHandshake::start(wire.clone(), request.into_client_request().unwrap(), None).unwrap();
        let Err(HandshakeError::Interrupted(waiting)) = handshake.handshake() else { panic!("too early") };
        let head =
            HeadReader::new(limits::HEAD_LIMITS).receive(&wire.to_us.take()).unwrap().expect("a whole head");
        let accepted = handshake::accept(&head, &[]).unwrap();
        wire.to_peer.borrow_mut().extend(accepted.response);
        let (peer, _) = waiting.handshake().expect("accepted by the peer");
        Pair { ours: Connection::new(Role::Server, LIMITS), peer, wire }
    }

    /// Their server, our client.
    fn connected() -> Pair {
        let wire = Wire::default();
        let key = handshake::encode_key(*b"sixteen bytes...");
        wire.to_peer.borrow_mut().extend(handshake::request("localhost", "/", &key, &[]));
        let handshake = ServerHandshake::start(wire.clone(), NoCallback, None);
        let peer = handshake.handshake().expect("accepted by the peer");
        let head = ResponseReader::new(limits::HEAD_LIMITS)
            .receive(&wire.to_us.take())
            .unwrap()
            .expect("a whole head");
        assert_eq!(handshake::check_response(&head, &key, &[]), Ok(None));
        let ours = Connection::new(Role::Client { mask_key: || [0x37, 0xfa, 0x21, 0x3d] }, LIMITS);
        Pair { ours, peer, wire }
    }

    /// Carries what the peer wrote to our end, in pieces, and says what we heard.
    fn hear(&mut self) -> Vec<Heard> {
        let mut heard = Vec::new();
        for piece in self.wire.to_us.take().chunks(1000) {
            self.ours.receive(piece);
            while let Some(event) = self.ours.next_event().expect("the peer breaks no rule") {
                heard.push(match event {
                    Event::Text(text) => Heard::Text(text.to_owned()),
                    Event::Binary(payload) => Heard::Binary(payload.to_vec()),
                    Event::Ping(payload) => Heard::Ping(payload.to_vec()),
                    Event::Pong(payload) => Heard::Pong(payload.to_vec()),
                    Event::Close { code, reason } => {
                        Heard::Close(code.map(CloseCode::get), reason.to_owned())
                    }
                    Event::Eof { .. } => panic!("no end was given"),
                });
            }
        }
        heard
    }

    /// Carries what we have to send to the peer.
    fn speak(&mut self) {
        let mut output = Vec::new();
        self.ours.drain_output(&mut output);
        self.wire.to_peer.borrow_mut().extend(output);
    }
}

fn both(test: fn(Pair)) {
    test(Pair::served());
    test(Pair::connected());
}

fn payload(size: usize) -> Vec<u8> {
    (0..size).map(|at| (at * 7 + size) as u8).collect()
}

#[test]
fn we_receive_what_the_peer_sends() {
    both(|mut pair| {
        for &size in SIZES {
            pair.peer.send(Message::binary(payload(size))).unwrap();
            assert_eq!(pair.hear(), [Heard::Binary(payload(size))]);
            let text: String = "añ€𐍈".chars().cycle().take(size).collect();
            pair.peer.send(Message::text(text.clone())).unwrap();
            assert_eq!(pair.hear(), [Heard::Text(text)]);
        }
    });
}

#[test]
fn the_peer_receives_what_we_send() {
    both(|mut pair| {
        for &size in SIZES {
            pair.ours.send_binary(&payload(size));
            pair.speak();
            assert_eq!(pair.peer.read().unwrap(), Message::binary(payload(size)));
            let text: String = "añ€𐍈".chars().cycle().take(size).collect();
            pair.ours.send_text(&text);
            pair.speak();
            assert_eq!(pair.peer.read().unwrap(), Message::text(text));
        }
    });
}

#[test]
fn section_5_5_2_pings_are_answered_in_both_directions() {
    both(|mut pair| {
        pair.peer.send(Message::Ping(payload(125).into())).unwrap();
        assert_eq!(pair.hear(), [Heard::Ping(payload(125))]);
        pair.speak();
        assert_eq!(pair.peer.read().unwrap(), Message::Pong(payload(125).into()));
        pair.ours.send_ping(b"are you there");
        pair.speak();
        assert_eq!(pair.peer.read().unwrap(), Message::Ping(b"are you there".to_vec().into()));
        pair.peer.flush().unwrap();
        assert_eq!(pair.hear(), [Heard::Pong(b"are you there".to_vec())]);
    });
}

#[test]
fn section_7_the_peer_closes() {
    both(|mut pair| {
        let frame = tungstenite::protocol::CloseFrame { code: PeerCode::Away, reason: "bye".into() };
        pair.peer.close(Some(frame)).unwrap();
        assert_eq!(pair.hear(), [Heard::Close(Some(1001), "bye".to_owned())]);
        assert!(pair.ours.is_finished());
        pair.speak();
        let Message::Close(Some(answer)) = pair.peer.read().unwrap() else { panic!("not a close") };
        assert_eq!(u16::from(answer.code), 1001);
        pair.ours.receive_eof();
        assert_eq!(pair.ours.next_event(), Ok(Some(Event::Eof { clean: true })));
    });
}

#[test]
fn section_7_we_close() {
    both(|mut pair| {
        pair.ours.close(CloseCode::POLICY_VIOLATION, "slow_client");
        assert!(!pair.ours.is_open() && !pair.ours.is_finished());
        pair.speak();
        let Message::Close(Some(frame)) = pair.peer.read().unwrap() else { panic!("not a close") };
        assert_eq!((u16::from(frame.code), frame.reason.as_str()), (1008, "slow_client"));
        let _ = pair.peer.flush();
        assert_eq!(pair.hear(), [Heard::Close(Some(1008), "slow_client".to_owned())]);
        assert!(pair.ours.is_finished());
        pair.speak();
        assert!(matches!(
            pair.peer.read(),
            Err(Error::ConnectionClosed | Error::AlreadyClosed | Error::Io(_))
        ));
    });
}

#[test]
fn a_refusal_is_understood_by_the_peer() {
    let wire = Wire::default();
    let handshake =
        ClientHandshake::start(wire.clone(), "ws://localhost/".into_client_request().unwrap(), None).unwrap();
    let Err(HandshakeError::Interrupted(waiting)) = handshake.handshake() else { panic!("too early") };
    let refusal = tickwire::ws::http::Refusal::from(tickwire::ws::Violation::OriginForbidden);
    wire.to_peer.borrow_mut().extend(refusal.response());
    let Err(HandshakeError::Failure(Error::Http(response))) = waiting.handshake() else { panic!("accepted") };
    assert_eq!(response.status(), 403);
}
