//! The connection: activity, the order of answers, and what an observer sees.

use std::cell::RefCell;
use std::time::Duration;

use tickwire::game::{CloseReason, Game as _};
use tickwire::internal::connection::{
    Answer, ClientRequest, ConnectionEvent, ConnectionOutput, DisconnectReason, ReadTime, RoomInfo,
    ServerConnection, WireFormat,
};
use tickwire::internal::games::moo::Moo;
use tickwire::internal::games::moo::world::{Identity, PlayerId, TickHz};
use tickwire::packet::PacketTables;
use tickwire::sim::RawCommand;
use tickwire::ws::frame::{self, Opcode};

use crate::driven::{drain, ignore};

const AT: ReadTime = ReadTime { now: Duration::from_secs(9), tick: 33, slack: Duration::ZERO };

/// Notes what the connection asks for.
#[derive(Default)]
struct Notes {
    answers: Vec<u8>,
    answer_calls: usize,
    commands: Vec<RawCommand>,
    joins: usize,
    observes: bool,
    observed: RefCell<Vec<(Vec<u8>, bool, bool)>>,
    /// What the log says of packets that do not fit the tables, and whether each is the first.
    unusable: RefCell<Vec<(String, bool)>>,
}

impl Notes {
    fn receive(
        &mut self,
        connection: &mut ServerConnection,
        bytes: &[u8],
    ) -> Result<usize, DisconnectReason> {
        connection.set_observed(self.observes);
        connection.receive(bytes, AT);
        drain(connection, &mut |output| self.execute(output))
    }

    fn ignore(&mut self, connection: &mut ServerConnection, bytes: &[u8]) {
        ignore(connection, bytes, AT, &mut |output| self.execute(output));
    }

    fn execute(&mut self, output: ConnectionOutput<'_>) -> Option<Answer> {
        match output {
            ConnectionOutput::Send(frames) => {
                self.answers.extend_from_slice(frames);
                self.answer_calls += 1;
            }
            ConnectionOutput::Observed { bytes, .. } => {
                let piece = (bytes.bytes.to_vec(), bytes.starts_message, bytes.is_whole);
                self.observed.borrow_mut().push(piece);
            }
            ConnectionOutput::Event(ConnectionEvent::PacketMisfit { error, is_first }) => {
                self.unusable.borrow_mut().push((format!("{}: {error}", error.name()), is_first));
            }
            ConnectionOutput::Request(ClientRequest::Authenticate) => {
                return Some(Answer::Authenticated(Ok(())));
            }
            ConnectionOutput::Request(ClientRequest::Join { .. }) => {
                self.joins += 1;
                return Some(Answer::Joined(Ok(PlayerId(7))));
            }
            ConnectionOutput::Request(ClientRequest::Command { command, .. }) => {
                self.commands.push(command);
                return Some(Answer::CommandQueued(Ok(())));
            }
            ConnectionOutput::Datagram(_) | ConnectionOutput::Request(_) | ConnectionOutput::Event(_) => {}
        }
        None
    }
}

fn connection(dialect: &str) -> ServerConnection {
    let format = WireFormat::new(PacketTables::builtin().dialect(dialect).expect("built in"), false);
    let identity = Identity { seed: 1, map_size_px: 1_440, tick_hz: TickHz::Hz30 }.into();
    let room = RoomInfo { game: Moo::INFO, epoch: "e".into(), identity, update_hz: 30 };
    ServerConnection::new(format, room, AT.now)
}

fn framed(opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::write(&mut bytes, opcode, Some([1, 2, 3, 4]), payload);
    bytes
}

#[test]
fn bytes_of_an_unfinished_frame_do_not_count_as_activity() {
    let (mut connection, mut notes) = (connection("legacy"), Notes::default());
    let pong = framed(Opcode::Pong, b"");
    let (last, first) = pong.split_last().expect("bytes");
    for byte in first {
        assert_eq!(notes.receive(&mut connection, &[*byte]), Ok(0));
    }
    assert_eq!(notes.receive(&mut connection, &[*last]), Ok(1));
}

#[test]
fn answers_to_one_read_are_sent_together_in_the_order_of_the_requests() {
    let (mut connection, mut notes) = (connection("native"), Notes::default());
    // hello [1, 1, "Ada", 0], then a ping, ping [5], a ping.
    let hello = framed(Opcode::Binary, b"\x92\x01\x94\x01\x01\xa3Ada\x00");
    let requests = [hello, framed(Opcode::Ping, b"a"), framed(Opcode::Binary, b"\x92\x06\x91\x05")];
    let bytes = [&requests.concat()[..], &framed(Opcode::Ping, b"b")].concat();
    assert_eq!(notes.receive(&mut connection, &bytes), Ok(4));
    assert_eq!((notes.joins, notes.answer_calls), (1, 2), "the welcome goes first, by itself");
    assert_eq!(notes.answers[2..5], [0x92, 1, 0x98], "welcome");
    assert!(
        notes.answers.ends_with(b"\x8a\x01a\x82\x05\x92\x07\x92\x05\x21\x8a\x01b"),
        "{:02x?}",
        notes.answers
    );
    let mut bytewise = (self::connection("native"), Notes::default());
    for byte in &bytes {
        bytewise.1.receive(&mut bytewise.0, &[*byte]).expect("nothing is wrong");
    }
    assert_eq!(bytewise.1.answers, notes.answers, "however the bytes are cut");
}

#[test]
fn a_broken_rule_ends_the_conversation_after_the_messages_before_it() {
    let (mut connection, mut notes) = (connection("legacy"), Notes::default());
    let bytes = [framed(Opcode::Ping, b"a"), vec![0x82, 0x01, 0x07]].concat();
    let ending = notes.receive(&mut connection, &bytes).expect_err("no mask");
    assert!(matches!(ending, DisconnectReason::Violation(_)), "{ending:?}");
    assert_eq!(notes.answers, b"\x8a\x01a");
    let early = notes.receive(&mut self::connection("native"), &framed(Opcode::Binary, b"\x92\x06\x91\x05"));
    assert_eq!(early, Err(DisconnectReason::Closed(CloseReason::HelloFirst)));
}

#[test]
fn an_observer_sees_each_message_with_its_frames_and_the_unfinished_end() {
    let (mut connection, mut notes) = (connection("legacy"), Notes { observes: true, ..Notes::default() });
    let (ping, stop) = (framed(Opcode::Ping, b"a"), framed(Opcode::Binary, b"\x92\xa1\x61\x91\xc0"));
    let mut fragment = framed(Opcode::Binary, b"\x92\xa1");
    fragment[0] &= 0x7f;
    let end = framed(Opcode::Continuation, b"\x61\x91\xc0");
    let all = [&ping, &stop, &fragment, &ping, &end, &stop[..4].to_vec()].map(Vec::as_slice).concat();
    for cut in [1, 5, 1_000] {
        notes.observed.borrow_mut().clear();
        for bytes in all.chunks(cut) {
            notes.receive(&mut connection, bytes).expect("nothing is wrong");
        }
        // The ping between the fragments does not wait for the end of their message.
        let expected = [
            (ping.clone(), true, true),
            (stop.clone(), true, true),
            (ping.clone(), true, true),
            ([&fragment[..], &end].concat(), true, true),
        ];
        assert_eq!(*notes.observed.borrow(), expected, "{cut}");
        notes.ignore(&mut connection, b"");
        assert_eq!(notes.observed.borrow().last(), Some(&(stop[..4].to_vec(), true, false)));
        connection = self::connection("legacy");
    }
    // An observer that comes in the middle of a message waits for the next.
    let mut late = self::connection("legacy");
    Notes::default().receive(&mut late, &stop[..4]).expect("nothing is wrong");
    notes.observed.borrow_mut().clear();
    notes.receive(&mut late, &[&stop[4..], &ping].concat()).expect("nothing is wrong");
    notes.receive(&mut late, &ping).expect("nothing is wrong");
    assert_eq!(notes.observed.into_inner(), [(ping, true, true)]);
}

#[test]
fn a_first_hello_with_a_wrong_argument_is_closed_with_the_argument_and_without_its_text() {
    for (hello, expected) in [
        (&b"\x92\x01\x94\x01\x01\xa1x\xcd\x01\x2c"[..], "skin should be u8|nil, found the integer 300"),
        (b"\x92\x01\x92\x01\xa6secret", "mode should be u8<=3, found text"),
        (b"\x92\x01\x91\xa6secret", "version should be u16, found text"),
        (b"\x92\x01\x90", "version should be u16, found nil"),
        (b"\x92\x01\x94\x01\x01\x81\xa1a\x01\x00", "name should be str<=15|nil, found a map of 1"),
    ] {
        let (mut connection, mut notes) = (connection("native"), Notes::default());
        let ending = notes.receive(&mut connection, &framed(Opcode::Binary, hello)).expect_err(expected);
        assert_eq!(ending.name(), "wrong_arguments", "{expected}");
        let format = WireFormat::new(PacketTables::builtin().dialect("native").expect("built in"), false);
        let frames = ending.frames(&format);
        let reason = format!("wrong_arguments: hello: argument {expected}");
        assert_eq!(frames[..2], [0x88, 2 + reason.len() as u8], "{expected}");
        assert_eq!((&frames[2..4], String::from_utf8_lossy(&frames[4..])), (&[3, 0xf0][..], reason.into()));
    }
}

#[test]
fn the_log_has_the_first_wrong_packet_of_a_client_with_the_argument_and_without_its_text() {
    for (dialect, wrong, expected) in [
        ("legacy", &b"\x92\xa2ch\x91\x05"[..], "chat: argument text should be str<=30, found the integer 5"),
        ("letters", b"\x92\xa1D\x91\xa6secret", "aim: argument heading should be num.rad, found text"),
    ] {
        let (mut connection, mut notes) = (connection(dialect), Notes::default());
        for _ in 0..2 {
            assert_eq!(notes.receive(&mut connection, &framed(Opcode::Binary, wrong)), Ok(1));
        }
        let line = format!("wrong_arguments: {expected}");
        assert_eq!(*notes.unusable.borrow(), [(line.clone(), true), (line, false)], "{dialect}");
    }
}
