//! The server's side of one connection after the upgrade, without I/O: all state that a client's
//! bytes can change.
//!
//! ```text
//!  inputs                                      outputs of next_output(), in order
//!
//!  begin(client)       once, first         ┌─► Send(frames)       send them
//!  receive(bytes, at)  each read  ────────►├─► Datagram(messages) add them to the next datagram
//!  receive_datagram(messages, at)          ├─► Request(request)   execute it, then answer(result)
//!  receive_eof(at)     once, last          ├─► Observed(bytes)    pass them to the observer
//!                                          ├─► Event(event)       count or log it
//!                                          ├─► Ok(None)           wait for the next input
//!                                          └─► Err(reason)        close with reason.frames()
//! ```
//!
//! **After each input, call [`ServerConnection::next_output`] until it returns `Ok(None)` or an
//! error.** The driver owns the socket, the clock, the room and the send queue
//! ([`Sender`](super::Sender)); the connection owns the unfinished message, the session, the rate
//! limits of its messages and the replies until they are sent. The same bytes and answers give the
//! same requests and replies, however the bytes are split into reads.
//!
//! ```text
//!   while let Some(output) = connection.next_output()? {
//!       match output {
//!           Send(frames)                  ─► socket or send queue
//!           Datagram(messages)            ─► next datagram of the lane
//!           Request(Authenticate)         ─► connection.answer(Authenticated(…))
//!           Request(Lockstep)             ─► connection.answer(LockstepChecked(…))
//!           Request(Join { .. })          ─► connection.answer(Joined(…))
//!           Request(Command { .. })       ─► connection.answer(CommandQueued(…))
//!           Request(_), Observed, Event   ─► execute, record; no answer
//!       }
//!   }
//! ```

use std::collections::VecDeque;
use std::time::Duration;

use super::connection_output::{Answer, ConnectionEvent, ConnectionOutput, ReadTime};
use super::message_handler::{MessageHandler, NextOutput, restore};
use super::observed_stream::ObservedStream;
use super::rate_limits::MessageRateLimits;
use super::room_info::RoomInfo;
use super::{DisconnectReason, WireFormat};
use crate::connection::session::Session;
use crate::datagram::message;
use crate::datagram::{DatagramError, Message as DatagramMessage};
use crate::limits;
use crate::packet::lane_packets::is_command;
use crate::ws::Side;
use crate::ws::close::Close;
use crate::ws::message::{Message, MessageReader};

/// The server's side of one connection. The [module](self) shows the order of the calls.
///
/// ```text
///   Idle ─ receive ─► Reading ─ no whole message ──────────────────► Flushing ─► Idle: Ok(None)
///                        └─ violation, close, breach ─► Ending ─────────┘ └────► Idle: Err(reason)
///                                                        unfinished bytes are observed
/// ```
///
/// After an error the connection ignores all bytes. An invalid frame from a rejected client has the
/// same effect, but returns no error. Ignored bytes are still passed to the observer.
#[derive(Debug)]
pub struct ServerConnection {
    frames: MessageReader,
    /// Packets of a datagram that were not handled yet.
    datagram: VecDeque<LanePacket>,
    handler: MessageHandler,
    observed: ObservedStream,
    phase: DrainPhase,
    /// The reason for the end of the connection, until it is returned.
    failure: Option<DisconnectReason>,
    /// Time of the last input.
    at: ReadTime,
    /// Number of messages and control frames of this read that were handled.
    messages: usize,
    /// Whether the driver received the replies, so that the buffer can be cleared.
    is_sent: bool,
    /// Whether received bytes are ignored.
    is_input_ignored: bool,
}

/// A packet of a datagram.
#[derive(Debug)]
enum LanePacket {
    /// A command with its sequence number.
    Command(u32, Vec<u8>),
    Other(Vec<u8>),
}

/// The remaining outputs of the last input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DrainPhase {
    /// No outputs.
    Idle,
    /// Messages may be left in the buffer.
    Reading,
    /// Packets of a datagram may be left.
    ReadingDatagram,
    /// No more messages are read, and the unfinished bytes are observed next.
    Ending,
    /// Only replies are left.
    Flushing,
}

impl ServerConnection {
    /// A connection whose upgrade was completed at `now`. Call [`ServerConnection::begin`] next.
    pub fn new(format: WireFormat, room: RoomInfo, now: Duration) -> ServerConnection {
        let session = Session::new(room.game, &format.dialect);
        ServerConnection::with_state(format, room, session, MessageRateLimits::new(now))
    }

    fn with_state(
        format: WireFormat,
        room: RoomInfo,
        session: Session,
        rate_limits: MessageRateLimits,
    ) -> ServerConnection {
        let mut frames = MessageReader::new(Side::Client, limits::CLIENT_MESSAGE_LIMITS);
        if let Some(compression) = &format.compression {
            frames.accept_compressed(compression.parameters.client);
        }
        ServerConnection {
            frames,
            datagram: VecDeque::new(),
            handler: MessageHandler::new(format, room, session, rate_limits),
            observed: ObservedStream::default(),
            phase: DrainPhase::Idle,
            failure: None,
            at: ReadTime::default(),
            messages: 0,
            is_sent: false,
            is_input_ignored: false,
        }
    }

    /// Restores the state that [`ServerConnection::save`] encoded, with times relative to `now`.
    /// Call [`ServerConnection::receive`] next. `None` if the bytes are invalid.
    pub fn restore(
        format: WireFormat,
        room: RoomInfo,
        saved: &[u8],
        now: Duration,
    ) -> Option<ServerConnection> {
        let (session, rate_limits) = restore(Session::new(room.game, &format.dialect), saved, now)?;
        Some(ServerConnection::with_state(format, room, session, rate_limits))
    }

    /// Starts the session with the authentication of the client. In a dialect without `hello`, the
    /// server then sends the first packets. In other dialects, the client receives nothing before
    /// its `hello`. `client` is the number of the connection. Drain the outputs next.
    pub fn begin(&mut self, client: u64) {
        self.handler.begin(client);
        self.phase = DrainPhase::Flushing;
    }

    /// Buffers bytes from the client. Drain the outputs next.
    pub fn receive(&mut self, bytes: &[u8], at: ReadTime) {
        debug_assert!(self.is_drained(), "the outputs of the previous input are not drained");
        self.at = at;
        self.observed.take(bytes, self.is_between_messages());
        if self.is_input_ignored {
            self.observed.end(|out| self.handler.save(at.now, out));
            return;
        }
        self.frames.receive(bytes);
        self.phase = DrainPhase::Reading;
    }

    /// Handles the messages of an opened datagram. Drain the outputs next.
    ///
    /// # Errors
    /// The rule that the messages break. Those before it are handled.
    pub fn receive_datagram(&mut self, messages: &[u8], at: ReadTime) -> Result<(), DatagramError> {
        debug_assert!(self.is_drained(), "the outputs of the previous input are not drained");
        if self.is_input_ignored || !self.handler.session.is_welcomed() {
            return Ok(());
        }
        self.at = at;
        self.phase = DrainPhase::ReadingDatagram;
        for message in message::read(messages) {
            match message? {
                DatagramMessage::Packet(packet) => {
                    self.datagram.push_back(LanePacket::Other(packet.to_vec()))
                }
                DatagramMessage::Commands(block) => self.datagram.extend(block.iter().map(|command| {
                    let mut packet = Vec::new();
                    command.write_packet(&mut packet);
                    LanePacket::Command(command.sequence, packet)
                })),
                DatagramMessage::Received(_) => return Err(DatagramError::UnknownKind),
            }
        }
        Ok(())
    }

    /// Ends the input: the client sends no more bytes, or the server closes the connection. Drain
    /// the outputs next, because an unfinished message is passed to the observer. Later bytes are
    /// only passed to the observer.
    pub fn receive_eof(&mut self, at: ReadTime) {
        debug_assert!(self.is_drained(), "the outputs of the previous input are not drained");
        self.at = at;
        self.observed.take(&[], self.is_between_messages());
        self.end_input();
    }

    /// Sets whether [`ConnectionOutput::Observed`] appears. The driver calls it before an input.
    pub fn set_observed(&mut self, is_observed: bool) {
        self.observed.is_observed = is_observed;
    }

    /// Marks the bytes received next as injected by an inspector, until they are observed.
    pub fn mark_injected(&mut self) {
        self.observed.is_injected = true;
    }

    /// Returns the next output; `None` once all outputs of the last input were returned. A request
    /// without an answer is denied without a reply.
    ///
    /// # Errors
    /// The reason why the connection ends. It is the last output; the driver closes with
    /// [`DisconnectReason::frames`].
    pub fn next_output(&mut self) -> Result<Option<ConnectionOutput<'_>>, DisconnectReason> {
        self.handler.deny_open_request();
        self.observed.advance();
        if std::mem::take(&mut self.is_sent) {
            self.handler.clear_sent();
        }
        Ok(match self.advance()? {
            Some(NextOutput::Observed) => {
                let passed = self.observed.pass(self.at.slack);
                passed.map(|(bytes, saved)| ConnectionOutput::Observed { bytes, saved })
            }
            Some(NextOutput::Send) => {
                self.is_sent = true;
                Some(ConnectionOutput::Send(&self.handler.replies))
            }
            Some(NextOutput::Datagram) => {
                self.is_sent = true;
                Some(ConnectionOutput::Datagram(&self.handler.lane_replies))
            }
            Some(NextOutput::Request(request)) => Some(ConnectionOutput::Request(request)),
            Some(NextOutput::Event(event)) => Some(ConnectionOutput::Event(event)),
            None => None,
        })
    }

    /// Answers the request that [`ServerConnection::next_output`] returned last. Call
    /// [`ServerConnection::next_output`] next.
    pub fn answer(&mut self, answer: Answer) {
        if let Err(reason) = self.handler.answer(answer, self.at.tick) {
            self.fail(reason);
        }
    }

    /// Whether the next received byte may begin a message. False if received bytes are ignored.
    pub fn is_between_messages(&self) -> bool {
        !self.is_input_ignored && self.frames.is_between_messages()
    }

    /// Whether the client has not sent `hello` yet.
    pub fn awaits_hello(&self) -> bool {
        self.handler.session.awaits_hello()
    }

    /// The sequence number of the client's last command.
    pub fn sequence(&self) -> u64 {
        self.handler.session.sequence()
    }

    /// Encodes the state on which the handling of the next message depends, with times relative to
    /// `now`. Call it only where a message may start.
    pub fn save(&self, now: Duration) -> Vec<u8> {
        let mut out = Vec::new();
        self.handler.save(now, &mut out);
        out
    }

    fn is_drained(&self) -> bool {
        self.phase == DrainPhase::Idle && self.handler.is_drained() && !self.observed.is_ready()
    }

    fn advance(&mut self) -> Result<Option<NextOutput>, DisconnectReason> {
        loop {
            if self.observed.is_ready() {
                return Ok(Some(NextOutput::Observed));
            }
            if let Some(output) = self.handler.next_output(self.at.tick) {
                return Ok(Some(output));
            }
            match self.phase {
                DrainPhase::Idle => return Ok(None),
                DrainPhase::Reading => self.read_message(),
                DrainPhase::ReadingDatagram => self.read_datagram_packet(),
                DrainPhase::Ending => {
                    self.end_input();
                    self.phase = DrainPhase::Flushing;
                }
                DrainPhase::Flushing if !self.handler.replies.is_empty() => {
                    return Ok(Some(NextOutput::Send));
                }
                DrainPhase::Flushing if !self.handler.lane_replies.is_empty() => {
                    return Ok(Some(NextOutput::Datagram));
                }
                DrainPhase::Flushing => {
                    self.phase = DrainPhase::Idle;
                    self.handler.release_memory();
                    let messages = std::mem::take(&mut self.messages);
                    if let Some(reason) = self.failure.take() {
                        return Err(reason);
                    }
                    if messages > 0 {
                        return Ok(Some(NextOutput::Event(ConnectionEvent::MessagesHandled(messages))));
                    }
                }
            }
        }
    }

    /// Reads one message from the buffer and handles it.
    fn read_message(&mut self) {
        let ServerConnection { frames, handler, observed, at, .. } = self;
        let read = match frames.next_received() {
            Ok(Some(read)) => read,
            Ok(None) => {
                self.phase = DrainPhase::Flushing;
                return;
            }
            // After an invalid frame, the start of the next frame is unknown.
            Err(_) if handler.session.is_rejected() => {
                self.phase = DrainPhase::Ending;
                return;
            }
            Err(violation) => return self.fail(DisconnectReason::Violation(violation)),
        };
        observed.read(read, |out| handler.save(at.now, out));
        if handler.session.is_rejected() {
            if let Message::Close(Close { code, .. }) = read.message {
                self.fail(DisconnectReason::PeerClosed(code));
            }
            return;
        }
        // A compressed message costs what it inflates to.
        let bytes = read.wire_bytes.max(read.message.payload_bytes());
        match handler.handle(read.message, bytes, *at) {
            Ok(()) => self.messages += 1,
            Err(reason) => self.fail(reason),
        }
    }

    /// Handles a packet of a datagram. Commands that the session has are ignored, and so is a
    /// command before which one is missing: the next datagrams or the stream repeat both.
    fn read_datagram_packet(&mut self) {
        let handled = match self.datagram.pop_front() {
            None => {
                self.phase = DrainPhase::Flushing;
                return;
            }
            Some(LanePacket::Command(sequence, packet)) => {
                if !self.handler.session.is_next_command(sequence) {
                    return;
                }
                let handled = self.handler.handle_lane_packet(&packet, is_command, self.at);
                self.handler.session.count_command(sequence);
                handled
            }
            Some(LanePacket::Other(packet)) => {
                self.handler.handle_lane_packet(&packet, |row| row.name == "ping", self.at)
            }
        };
        match handled {
            Ok(()) => self.messages += 1,
            Err(reason) => {
                self.datagram.clear();
                self.fail(reason);
            }
        }
    }

    /// Ends the connection after the remaining outputs.
    fn fail(&mut self, reason: DisconnectReason) {
        self.failure = Some(reason);
        if matches!(self.phase, DrainPhase::Reading | DrainPhase::ReadingDatagram) {
            self.phase = DrainPhase::Ending;
        }
    }

    /// Passes an unfinished message to the observer. No more messages are read.
    fn end_input(&mut self) {
        self.is_input_ignored = true;
        let ServerConnection { handler, observed, at, .. } = self;
        observed.end(|out| handler.save(at.now, out));
    }
}
