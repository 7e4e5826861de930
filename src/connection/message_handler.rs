//! Turns a client's messages into [`Step`]s: rate limits, packets, session, replies.
//!
//! ```text
//!   message ─► handle ─► steps ─► execute ─► Send, Request, Event
//!                          ▲                    │
//!                          └────── answer ◄─────┘
//! ```
//!
//! The connection calls [`MessageHandler::handle`] for each message, but only when all steps of the
//! previous message are executed, because an answer may change the session. A rejected client
//! receives the close reason only after a constant delay. Until then the connection ignores all
//! frames except Close.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use rmpv::Value;

use super::connection_output::{Answer, ClientRequest, ConnectionEvent, Denial, ReadTime};
use super::rate_limits::MessageRateLimits;
use super::room_info::RoomInfo;
use super::{DisconnectReason, WireFormat};
use crate::connection::session::{NATIVE_VERSION, Session, SessionOutput};
use crate::datagram::message;
use crate::game::command_acks::has_command_acks;
use crate::game::{CloseReason, SavedReader};
use crate::limits;
use crate::packet::{DecodedPacket, Direction, PacketError, Row};
use crate::ws::frame::{self, Opcode};
use crate::ws::message::Message;

/// Effects of most packets.
const USUAL_OUTPUTS: usize = 1;
/// Steps of most messages: the event that a packet was received, and its effect.
const USUAL_STEPS: usize = 2;

/// A pending step of the handling of a message.
#[derive(Debug)]
enum Step {
    /// Executes an output of the session.
    Session(SessionOutput),
    /// Returns this request.
    Request(ClientRequest),
    /// Returns this event.
    Event(ConnectionEvent),
    /// Returns the replies so far.
    Flush,
}

/// The next output of the connection, without borrowed bytes.
#[derive(Debug)]
pub enum NextOutput {
    /// The replies.
    Send,
    /// The replies for the next datagram.
    Datagram,
    /// A request.
    Request(ClientRequest),
    /// The bytes that are ready for the observer.
    Observed,
    /// An event.
    Event(ConnectionEvent),
}

/// A request that the driver has not answered yet.
#[derive(Debug, Clone, Copy)]
enum OpenRequest {
    Authenticate,
    Lockstep,
    Join,
    Command { sequence: u64 },
}

/// The state that a client's messages can change.
#[derive(Debug)]
pub struct MessageHandler {
    pub format: WireFormat,
    pub room: RoomInfo,
    pub rate_limits: MessageRateLimits,
    pub session: Session,
    outputs: Vec<SessionOutput>,
    steps: VecDeque<Step>,
    open_request: Option<OpenRequest>,
    /// Replies that were not sent yet.
    pub replies: Vec<u8>,
    /// Messages for the next datagram that were not passed on yet.
    pub lane_replies: Vec<u8>,
    /// Whether the last packet came in a datagram.
    is_in_lane: bool,
    /// The number of the connection, for the first packets in dialects without `hello`.
    client: u64,
    /// Whether an earlier packet did not fit the packet tables.
    has_misfit: bool,
}

impl MessageHandler {
    /// A handler for a connection whose session is `session`.
    pub fn new(
        format: WireFormat,
        room: RoomInfo,
        session: Session,
        rate_limits: MessageRateLimits,
    ) -> MessageHandler {
        MessageHandler {
            format,
            room,
            rate_limits,
            session,
            // Growth from zero would allocate four of each.
            outputs: Vec::with_capacity(USUAL_OUTPUTS),
            steps: VecDeque::with_capacity(USUAL_STEPS),
            open_request: None,
            replies: Vec::new(),
            lane_replies: Vec::new(),
            is_in_lane: false,
            client: 0,
            has_misfit: false,
        }
    }

    /// Appends the state on which the handling of the next message depends.
    pub fn save(&self, now: Duration, out: &mut Vec<u8>) {
        self.session.save(now, out);
        self.rate_limits.save(now, out);
    }

    /// Starts the session with the authentication of the client.
    pub fn begin(&mut self, client: u64) {
        self.client = client;
        self.steps.push_back(Step::Request(ClientRequest::Authenticate));
    }

    /// Handles one message and queues the resulting steps.
    ///
    /// # Errors
    /// The reason why the connection ends, once all queued steps are executed.
    pub fn handle(
        &mut self,
        message: Message<'_>,
        bytes: usize,
        at: ReadTime,
    ) -> Result<(), DisconnectReason> {
        self.is_in_lane = false;
        self.rate_limits.charge(bytes, at.now, at.slack).map_err(DisconnectReason::Closed)?;
        self.send_rate_warning();
        self.handle_message(message, at)
    }

    /// Handles a packet of a datagram, as [`MessageHandler::handle`] does, if its row is allowed
    /// there.
    ///
    /// # Errors
    /// As [`MessageHandler::handle`].
    pub fn handle_lane_packet(
        &mut self,
        packet: &[u8],
        is_allowed: impl Fn(&Row) -> bool,
        at: ReadTime,
    ) -> Result<(), DisconnectReason> {
        self.is_in_lane = true;
        self.rate_limits.charge(packet.len(), at.now, at.slack).map_err(DisconnectReason::Closed)?;
        self.send_rate_warning();
        let dialect = Arc::clone(&self.format.dialect);
        match dialect.decode(Direction::ToServer, packet) {
            Ok(packet) if is_allowed(packet.row) => self.handle_packet(&packet, at),
            Ok(_) => {
                self.push_event(ConnectionEvent::PacketDropped("not_by_datagram"));
                Ok(())
            }
            Err(error) => self.handle_packet_error(error),
        }
    }

    /// Removes the replies that the driver has received.
    pub fn clear_sent(&mut self) {
        // The driver receives the replies of the stream first.
        let sent = if self.replies.is_empty() { &mut self.lane_replies } else { &mut self.replies };
        sent.clear();
    }

    /// Executes steps up to the next output. `None` if no steps are left.
    pub fn next_output(&mut self, tick: u32) -> Option<NextOutput> {
        while let Some(step) = self.steps.pop_front() {
            if let Some(output) = self.execute(step, tick) {
                return Some(output);
            }
        }
        None
    }

    /// Handles the driver's answer to the last request. If the answer is for another kind of
    /// request, the last request is denied without a reply.
    ///
    /// # Errors
    /// The reason to end the connection.
    pub fn answer(&mut self, answer: Answer, tick: u32) -> Result<(), DisconnectReason> {
        let ended = match (self.open_request.take(), answer) {
            (Some(OpenRequest::Authenticate), Answer::Authenticated(Ok(()))) => {
                // In a dialect with `hello`, the client sends first.
                if !self.session.awaits_hello() {
                    self.accept(false, tick);
                }
                Ok(())
            }
            (Some(OpenRequest::Lockstep), Answer::LockstepChecked(Ok(()))) => {
                self.accept(true, tick);
                Ok(())
            }
            (Some(OpenRequest::Authenticate | OpenRequest::Lockstep), answer) => {
                self.session.reject();
                self.steps.clear();
                match answer {
                    Answer::Authenticated(Err(denial)) | Answer::LockstepChecked(Err(denial)) => {
                        self.handle_denial(denial)
                    }
                    _ => Ok(()),
                }
            }
            (Some(OpenRequest::Join), Answer::Joined(Ok(player))) => {
                self.session.set_player(player);
                Ok(())
            }
            (
                Some(OpenRequest::Command { sequence }),
                Answer::CommandQueued(Err(Denial::Rejected(rule, detail))),
            ) => {
                self.reject_command(sequence, rule, Some(detail));
                Ok(())
            }
            (Some(OpenRequest::Join), Answer::Joined(Err(denial)))
            | (Some(OpenRequest::Command { .. }), Answer::CommandQueued(Err(denial))) => {
                self.handle_denial(denial)
            }
            _ => Ok(()),
        };
        if ended.is_err() {
            self.steps.clear();
        }
        ended
    }

    /// Denies a request that the driver has not answered.
    pub fn deny_open_request(&mut self) {
        if let Some(OpenRequest::Authenticate | OpenRequest::Lockstep) = self.open_request.take() {
            self.session.reject();
            self.steps.clear();
        }
    }

    /// Releases the memory of unusual messages, such as `hello`, once everything is drained. Other
    /// messages have at most two steps and a short reply, and allocate nothing.
    pub fn release_memory(&mut self) {
        if self.steps.capacity() > USUAL_STEPS {
            self.steps.shrink_to(USUAL_STEPS);
        }
        if self.outputs.capacity() > USUAL_OUTPUTS {
            self.outputs.shrink_to(USUAL_OUTPUTS);
        }
        if self.replies.capacity() > limits::RETAINED_REPLY_BYTES {
            self.replies = Vec::new();
        }
    }

    /// Whether no step, reply or open request is left.
    pub fn is_drained(&self) -> bool {
        self.steps.is_empty()
            && self.replies.is_empty()
            && self.lane_replies.is_empty()
            && self.open_request.is_none()
    }

    fn reply(&mut self, name: &str, values: &[(&str, Value)]) {
        self.format.write_packet(&mut self.replies, name, values);
    }

    /// Sends the packet `error` with a rule and its remedy.
    fn send_error(&mut self, rule: &str, detail: &str) {
        self.reply("error", &[("rule", rule.into()), ("detail", detail.into())]);
    }

    fn push_event(&mut self, event: ConnectionEvent) {
        self.steps.push_back(Step::Event(event));
    }

    /// Warns a client that has used half of a rate limit. A client that has not completed its
    /// `hello` receives no warning.
    fn send_rate_warning(&mut self) {
        if !self.session.is_welcomed() {
            return;
        }
        if let Some(close_reason) = self.rate_limits.take_warning() {
            self.push_event(ConnectionEvent::RateWarning(close_reason.name()));
            let detail = "half of your burst limit is used up: slow down, or the server closes the connection with code 1008";
            self.send_error(close_reason.name(), detail);
        }
    }

    fn handle_message(&mut self, message: Message<'_>, at: ReadTime) -> Result<(), DisconnectReason> {
        let dialect = Arc::clone(&self.format.dialect);
        let decoded = match message {
            Message::Binary(message) if !self.format.is_json => dialect.decode(Direction::ToServer, message),
            Message::Text(text) if self.format.is_json => dialect.decode_json(Direction::ToServer, text),
            Message::Binary(_) | Message::Text(_) => {
                return Err(DisconnectReason::Closed(CloseReason::WrongFrameType));
            }
            Message::Ping(payload) => {
                frame::write(&mut self.replies, Opcode::Pong, None, payload);
                return Ok(());
            }
            Message::Pong(_) => return Ok(()),
            Message::Close(close) => return Err(DisconnectReason::PeerClosed(close.code)),
        };
        match decoded {
            Ok(packet) => self.handle_packet(&packet, at),
            Err(error) => self.handle_packet_error(error),
        }
    }

    fn handle_packet(&mut self, packet: &DecodedPacket<'_>, at: ReadTime) -> Result<(), DisconnectReason> {
        self.push_event(ConnectionEvent::PacketReceived);
        let handled = self.session.handle(packet, at.now, at.slack, &mut self.outputs);
        self.steps.extend(self.outputs.drain(..).map(Step::Session));
        handled.map_err(DisconnectReason::Closed)
    }

    /// Closes the client after an invalid encoding, or after any error before its `hello`.
    /// Otherwise drops the packet, with an `error` reply if the dialect has one.
    fn handle_packet_error(&mut self, error: PacketError) -> Result<(), DisconnectReason> {
        if error.closes_connection() {
            return Err(DisconnectReason::Packet(error));
        }
        // Logs and close frames contain no text of the client.
        let redacted = error.without_text();
        let is_first = !std::mem::replace(&mut self.has_misfit, true);
        let is_hello = matches!(&error, PacketError::WrongArguments { packet, .. } if packet == "hello");
        let result = if self.session.awaits_hello() {
            let wrong_hello = is_hello.then(|| DisconnectReason::Packet(redacted.clone()));
            Err(wrong_hello.unwrap_or(DisconnectReason::Closed(CloseReason::HelloFirst)))
        } else {
            Ok(())
        };
        if self.session.is_welcomed() {
            self.send_error(error.name(), &error.to_string());
        }
        self.push_event(ConnectionEvent::PacketMisfit { error: redacted, is_first });
        result
    }

    fn execute(&mut self, step: Step, tick: u32) -> Option<NextOutput> {
        match step {
            Step::Session(output) => self.execute_session_output(output, tick),
            Step::Request(request) => {
                if request == ClientRequest::Authenticate {
                    self.open_request = Some(OpenRequest::Authenticate);
                }
                Some(NextOutput::Request(request))
            }
            Step::Event(event) => Some(NextOutput::Event(event)),
            Step::Flush => (!self.replies.is_empty()).then_some(NextOutput::Send),
        }
    }

    fn execute_session_output(&mut self, output: SessionOutput, tick: u32) -> Option<NextOutput> {
        let request = match output {
            SessionOutput::Welcome { lockstep: false } => {
                self.accept(false, tick);
                return None;
            }
            SessionOutput::Welcome { lockstep: true } => {
                self.open_request = Some(OpenRequest::Lockstep);
                ClientRequest::Lockstep
            }
            SessionOutput::Join(profile, resume_tick) => {
                self.open_request = Some(OpenRequest::Join);
                ClientRequest::Join { profile, resume_tick }
            }
            SessionOutput::Command(command, target_tick, shared) => {
                self.open_request = Some(OpenRequest::Command { sequence: command.sequence });
                ClientRequest::Command { command, target_tick, shared }
            }
            SessionOutput::Spectate(player) => ClientRequest::Spectate(player),
            SessionOutput::LaneRequest(offer) => ClientRequest::Lane { offer },
            SessionOutput::SnapshotRequest => ClientRequest::Snapshot,
            SessionOutput::Checksum(tick, checksum) => ClientRequest::Checksum { tick, checksum },
            SessionOutput::DesyncDetails(tick, fields) => ClientRequest::DesyncDetails { tick, fields },
            SessionOutput::Pong(nonce) => {
                let values = [("nonce", nonce.into()), ("tick", tick.into())];
                if self.is_in_lane {
                    let pong = self.format.dialect.encode(
                        Direction::ToClient,
                        "pong",
                        &values.map(|(_, value)| value),
                    );
                    pong.iter().for_each(|pong| message::write_packet(&mut self.lane_replies, pong));
                } else {
                    self.reply("pong", &values);
                }
                return None;
            }
            SessionOutput::Error(rule, detail) => {
                if let Some(detail) = detail {
                    self.send_error(rule, detail);
                }
                return Some(NextOutput::Event(ConnectionEvent::PacketDropped(rule)));
            }
            SessionOutput::CommandRejected(sequence, rule, detail) => {
                self.reject_command(sequence, rule, detail);
                return Some(NextOutput::Event(ConnectionEvent::PacketDropped(rule)));
            }
        };
        Some(NextOutput::Request(request))
    }

    /// Rejects a command: with an ack in dialects that have them, otherwise with the packet `error`
    /// if there is a detail.
    fn reject_command(&mut self, sequence: u64, rule: &'static str, detail: Option<&'static str>) {
        if has_command_acks(&self.format.dialect) {
            self.steps.push_front(Step::Request(ClientRequest::RejectCommand { sequence, rule }));
        } else if let Some(detail) = detail {
            self.send_error(rule, detail);
        }
    }

    fn handle_denial(&mut self, denial: Denial) -> Result<(), DisconnectReason> {
        match denial {
            Denial::Closed(close_reason) => return Err(DisconnectReason::Closed(close_reason)),
            Denial::Rejected(rule, detail) => self.send_error(rule, detail),
            Denial::Silent => {}
        }
        Ok(())
    }

    /// Sends the first packets to an accepted client. They are sent before its updates start.
    fn accept(&mut self, lockstep: bool, tick: u32) {
        if self.format.is_native {
            self.welcome(tick);
        } else {
            let connection = format!("{}-{}", self.room.epoch, self.client);
            for (name, values) in self.session.packet_handler().first_packets(&connection) {
                self.reply(name, &values);
            }
        }
        self.steps.push_front(Step::Request(ClientRequest::StartUpdates { lockstep }));
        self.steps.push_front(Step::Flush);
    }

    fn welcome(&mut self, tick: u32) {
        let RoomInfo { game, epoch, identity, update_hz } = &self.room;
        let rules_hash = format!("{:016x}", (game.rules_hash)());
        let mut values: Vec<(&str, Value)> = vec![
            ("version", NATIVE_VERSION.into()),
            ("rules_hash", rules_hash.into()),
            ("seed", identity.seed.into()),
            ("tick_hz", identity.tick_hz.into()),
            ("update_hz", (*update_hz).into()),
            ("epoch", epoch.as_str().into()),
            ("tick", tick.into()),
        ];
        values.extend(identity.options.iter().map(|(name, value)| (*name, Value::from(*value))));
        self.format.write_packet(&mut self.replies, "welcome", &values);
    }
}

/// Restores the session and the rate limits from the bytes of [`MessageHandler::save`]. `session`
/// must be new. `None` if the bytes are invalid.
pub fn restore(session: Session, saved: &[u8], now: Duration) -> Option<(Session, MessageRateLimits)> {
    let mut saved = SavedReader::new(saved, now);
    let parts = (session.restore(&mut saved)?, MessageRateLimits::restore(&mut saved)?);
    saved.is_empty().then_some(parts)
}
