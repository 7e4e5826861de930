//! The receiving half of a connection: all state that a client's bytes can change.
//!
//! ```text
//!   bytes ─► frames ─► rate limits ─► packets ─► session ─► Driver: join, command, watch
//!                                                  └─► replies ─► Driver: answer
//! ```
//!
//! [`Receiver::receive`] handles every message that the bytes complete, and passes the replies to
//! the driver in the order of the requests. An error is the [`DisconnectReason`] of the connection.
//! The driver then closes with [`DisconnectReason::frames`] and passes no more bytes.
//!
//! A rejected client learns the reason only after a constant delay. Until then all frames but Close
//! are ignored. After an invalid frame all bytes are ignored, because the start of the next frame
//! is unknown.

use std::time::Duration;

use rmpv::Value;
use tickwire_sim::WorldParams;

pub use super::driver::{Denial, Driver};
pub use super::events::{ConnectionEvents, ObservedBytes, ReadTime};
use super::observed_stream::ObservedStream;
use super::rate_limits::MessageRateLimits;
use super::redact::{self, RedactionRules};
use super::{DisconnectReason, WireFormat};
use crate::connection::session::{NATIVE_VERSION, Session, SessionOutput, has_hello};
use crate::game::command_acks::has_command_acks;
use crate::game::{CloseReason, GameInfo, SavedReader};
use crate::limits;
use crate::packet::{DecodedPacket, Direction, PacketError};
use crate::ws::Side;
use crate::ws::frame::{self, Opcode};
use crate::ws::message::{Message, MessageReader};

/// Facts about a room that the `welcome` packet contains.
#[derive(Debug, Clone)]
pub struct RoomInfo {
    /// The game of the room.
    pub about: &'static GameInfo,
    /// Distinguishes this run of the room from earlier runs.
    pub epoch: String,
    /// The parameters of the room's world.
    pub identity: WorldParams,
    /// Updates per second for a client that sends `hello`.
    pub update_hz: u8,
}

/// The receiving half of a connection.
#[derive(Debug)]
pub struct Receiver {
    frames: MessageReader,
    talk: ReceiverState,
    observed: ObservedStream,
    /// Whether received bytes are ignored.
    is_input_ignored: bool,
}

#[derive(Debug)]
struct ReceiverState {
    endpoint: WireFormat,
    room: RoomInfo,
    budgets: MessageRateLimits,
    session: Session,
    outputs: Vec<SessionOutput>,
    answers: Vec<u8>,
    /// Whether the server has tokens.
    redacts: bool,
    /// Token of the current `hello`, if it is redacted in the packet.
    said: Option<String>,
    /// Whether an earlier packet did not fit the packet tables.
    has_unusable: bool,
}

impl Receiver {
    /// A receiver for a connection that starts at `now`.
    pub fn new(endpoint: WireFormat, room: RoomInfo, now: Duration) -> Receiver {
        let (session, budgets) = (Session::new(room.about, &endpoint.dialect), MessageRateLimits::new(now));
        let (outputs, answers) = (Vec::new(), Vec::new());
        let (hides, said, has_unusable) = (false, None, false);
        Receiver {
            frames: MessageReader::new(Side::Client, limits::CLIENT_MESSAGE_LIMITS),
            talk: ReceiverState {
                endpoint,
                room,
                budgets,
                session,
                outputs,
                answers,
                redacts: hides,
                said,
                has_unusable,
            },
            observed: ObservedStream::default(),
            is_input_ignored: false,
        }
    }

    /// Starts the session. In a dialect without `hello` the server sends first. In the others the
    /// client receives nothing before its `hello`. `client` is the id of the connection.
    ///
    /// # Errors
    /// The connection ends.
    pub fn begin(&mut self, client: u64, driver: &mut dyn Driver) -> Result<(), DisconnectReason> {
        if !self.talk.endpoint.is_native && self.talk.admit(None, false, driver)? {
            let connection = format!("{}-{client}", self.talk.room.epoch);
            for (name, values) in self.talk.session.verbs().begin(&connection) {
                self.talk.reply(name, &values);
            }
            self.talk.flush(driver);
            driver.start_updates(false);
        }
        Ok(())
    }

    /// Handles bytes from the client. Returns the number of messages and control frames, which
    /// prove that the client is alive.
    ///
    /// # Errors
    /// The connection ends.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        at: ReadTime,
        driver: &mut dyn Driver,
    ) -> Result<usize, DisconnectReason> {
        self.talk.redacts = driver.requires_tokens();
        if self.is_input_ignored {
            self.observe_ignored(bytes, at, driver.books());
            return Ok(0);
        }
        self.observed.take(bytes, self.is_between_messages(), driver.books());
        self.frames.receive(bytes);
        let result = self.handle(at, driver);
        if result.is_err() || self.is_input_ignored {
            self.end(at, driver.books());
        }
        self.talk.flush(driver);
        result
    }

    /// Marks the bytes received next as injected by an inspector, until they are observed.
    pub fn mark_injected(&mut self) {
        self.observed.is_injected = true;
    }

    fn handle(&mut self, at: ReadTime, driver: &mut dyn Driver) -> Result<usize, DisconnectReason> {
        let Receiver { frames, talk, observed, is_input_ignored } = self;
        let mut count = 0;
        loop {
            let read = match frames.next_received() {
                Ok(Some(read)) => read,
                Ok(None) => return Ok(count),
                Err(_) if talk.session.is_rejected() => {
                    *is_input_ignored = true;
                    return Ok(count);
                }
                Err(violation) => return Err(DisconnectReason::Violation(violation)),
            };
            let is_covered = talk.redacts || observed.is_following;
            let covered = is_covered.then(|| talk.redacted(&read.message)).flatten();
            observed.read(read, covered.as_deref(), at, &|| talk.save(at.now), driver.books());
            if talk.session.is_rejected() {
                match read.message {
                    Message::Close(close) => return Err(DisconnectReason::PeerClosed(close.code)),
                    _ => continue,
                }
            }
            talk.budgets.charge(read.wire_bytes, at.now, at.slack).map_err(DisconnectReason::Breach)?;
            talk.send_rate_warning(driver);
            match covered.filter(|_| talk.redacts) {
                Some(covered) => talk.receive_redacted(read.message, &covered, at, driver)?,
                None => talk.receive_message(read.message, at, driver)?,
            }
            count += 1;
        }
    }

    /// Passes unfinished bytes to the observer at the end of the connection, followed by `bytes`,
    /// which arrived after the end and are ignored.
    pub fn observe_ignored(&mut self, bytes: &[u8], at: ReadTime, books: &dyn ConnectionEvents) {
        let begins = self.is_between_messages();
        self.end(at, books);
        self.observed.take(bytes, begins, books);
        self.observed.end(self.talk.may_contain_token(), at, &|| self.talk.save(at.now), books);
    }

    /// Passes unfinished bytes to the observer. No more bytes are read.
    fn end(&mut self, at: ReadTime, books: &dyn ConnectionEvents) {
        self.is_input_ignored = true;
        let says_hello = has_hello(&self.talk.endpoint.dialect);
        let tells = self.talk.may_contain_token() || says_hello && self.observed.may_hold_token();
        self.observed.end(tells, at, &|| self.talk.save(at.now), books);
    }

    /// Whether received bytes are handled, and no message is unfinished.
    pub fn is_between_messages(&self) -> bool {
        !self.is_input_ignored && self.frames.is_between_messages()
    }

    /// Whether the client has not sent `hello` yet.
    pub fn awaits_hello(&self) -> bool {
        self.talk.session.awaits_hello()
    }

    /// Encodes the state on which the handling of the next message depends, with times relative to
    /// `now`. Call it only where a message may start.
    pub fn save(&self, now: Duration) -> Vec<u8> {
        self.talk.save(now)
    }

    /// Restores the state that [`Receiver::save`] encoded, with times relative to `now`. `None` if
    /// the bytes are invalid.
    pub fn restore(endpoint: WireFormat, room: RoomInfo, saved: &[u8], now: Duration) -> Option<Receiver> {
        let mut receiver = Receiver::new(endpoint, room, now);
        let ReceiverState { endpoint, room, .. } = &receiver.talk;
        let session = Session::new(room.about, &endpoint.dialect);
        (receiver.talk.session, receiver.talk.budgets) = restore(session, saved, now)?;
        Some(receiver)
    }

    /// The sequence number of the client's last command.
    pub fn sequence(&self) -> u64 {
        self.talk.session.sequence()
    }
}

/// Restores the parts of a saved receiver. `session` must be new. `None` if the bytes are invalid.
pub fn restore(session: Session, saved: &[u8], now: Duration) -> Option<(Session, MessageRateLimits)> {
    let mut saved = SavedReader::new(saved, now);
    let parts = (session.restore(&mut saved)?, MessageRateLimits::restore(&mut saved)?);
    saved.is_empty().then_some(parts)
}

impl ReceiverState {
    fn save(&self, now: Duration) -> Vec<u8> {
        let mut out = Vec::new();
        self.session.save(now, &mut out);
        self.budgets.save(now, &mut out);
        out
    }

    /// Passes the replies to the driver after each read, so that they cost one system call.
    fn flush(&mut self, driver: &mut dyn Driver) {
        if !self.answers.is_empty() {
            driver.answer(&self.answers);
            self.answers.clear();
        }
    }

    fn reply(&mut self, name: &str, values: &[(&str, Value)]) {
        self.endpoint.write_packet(&mut self.answers, name, values);
    }

    /// Sends the packet `error` with a rule and its remedy.
    fn send_error(&mut self, rule: &str, detail: &str) {
        self.reply("error", &[("rule", rule.into()), ("detail", detail.into())]);
    }

    /// Warns a client that has used half of a rate limit. A client that has not completed its
    /// `hello` receives no warning.
    fn send_rate_warning(&mut self, driver: &mut dyn Driver) {
        if !self.session.is_welcomed() {
            return;
        }
        if let Some(breach) = self.budgets.take_warning() {
            driver.books().on_rate_warning(breach.name());
            let detail = "half of your burst limit is used up: slow down, or the server closes the connection with code 1008";
            self.send_error(breach.name(), detail);
        }
    }

    /// Handles a message in which possible tokens are overwritten. The token of a `hello` is passed
    /// on separately.
    fn receive_redacted(
        &mut self,
        message: Message<'_>,
        covered: &[u8],
        at: ReadTime,
        driver: &mut dyn Driver,
    ) -> Result<(), DisconnectReason> {
        self.said = redact::find_token(&message, &self.endpoint.dialect);
        // Never replaces a character, because redaction keeps the text valid UTF-8.
        let text = String::from_utf8_lossy(covered);
        let heard = match message {
            Message::Text(_) => self.receive_message(Message::Text(&text), at, driver),
            _ => self.receive_message(Message::Binary(covered), at, driver),
        };
        self.said = None;
        heard
    }

    fn receive_message(
        &mut self,
        message: Message<'_>,
        at: ReadTime,
        driver: &mut dyn Driver,
    ) -> Result<(), DisconnectReason> {
        let dialect = std::sync::Arc::clone(&self.endpoint.dialect);
        let decoded = match message {
            Message::Binary(message) if !self.endpoint.is_json => {
                dialect.decode(Direction::ToServer, message)
            }
            Message::Text(text) if self.endpoint.is_json => dialect.decode_json(Direction::ToServer, text),
            Message::Binary(_) | Message::Text(_) => {
                return Err(DisconnectReason::Breach(CloseReason::WrongFrameType));
            }
            Message::Ping(payload) => {
                frame::write(&mut self.answers, Opcode::Pong, None, payload);
                return Ok(());
            }
            Message::Pong(_) => return Ok(()),
            Message::Close(close) => return Err(DisconnectReason::PeerClosed(close.code)),
        };
        match decoded {
            Ok(decoded) => self.packet(&decoded, at, driver),
            Err(error) => self.handle_packet_error(error, driver),
        }
    }

    /// Closes the client after an invalid encoding. Packets with wrong arguments or unknown codes
    /// are dropped, with an `error` reply if the dialect has one.
    fn handle_packet_error(
        &mut self,
        error: PacketError,
        driver: &mut dyn Driver,
    ) -> Result<(), DisconnectReason> {
        if error.closes_connection() {
            return Err(DisconnectReason::Packet(error));
        }
        // The text of the error may contain a token.
        let shown = error.without_text();
        let is_first = !std::mem::replace(&mut self.has_unusable, true);
        driver.books().unusable(error.name(), &shown, is_first);
        let is_hello = matches!(&error, PacketError::WrongArguments { packet, .. } if packet == "hello");
        if self.session.awaits_hello() {
            let wrong_hello = if is_hello { Some(DisconnectReason::Packet(shown)) } else { None };
            return Err(wrong_hello.unwrap_or(DisconnectReason::Breach(CloseReason::HelloFirst)));
        }
        if self.session.is_welcomed() {
            self.send_error(error.name(), &if is_hello { shown } else { error }.to_string());
        }
        Ok(())
    }

    fn packet(
        &mut self,
        packet: &DecodedPacket<'_>,
        at: ReadTime,
        driver: &mut dyn Driver,
    ) -> Result<(), DisconnectReason> {
        driver.books().packet();
        let mut outputs = std::mem::take(&mut self.outputs);
        let mut handled =
            self.session.handle(packet, at.now, at.slack, &mut outputs).map_err(DisconnectReason::Breach);
        if let Some(SessionOutput::Welcome { lockstep }) = outputs.first() {
            let said = self.said.take().or_else(|| packet.text("token"));
            let admitted = self.admit(said.as_deref(), *lockstep, driver);
            if admitted != Ok(true) {
                outputs.clear();
            }
            handled = handled.and(admitted.map(|_| ()));
        }
        let carried = outputs.drain(..).try_for_each(|output| self.execute(output, at.tick, driver));
        self.outputs = outputs;
        handled.and(carried)
    }

    /// Returns whether the driver accepts the client. A rejected client receives nothing.
    fn admit(
        &mut self,
        token: Option<&str>,
        lockstep: bool,
        driver: &mut dyn Driver,
    ) -> Result<bool, DisconnectReason> {
        let Err(denied) = driver.authenticate(token, lockstep) else { return Ok(true) };
        self.session.reject();
        self.handle_denial(denied).map(|()| false)
    }

    /// The messages that may contain a token. Before the welcome, this is also a malformed `hello`.
    fn rules(&self) -> RedactionRules {
        RedactionRules { may_contain_token: !self.session.is_welcomed(), redacts_everywhere: self.redacts }
    }

    /// Whether the client's bytes may contain a token at any offset.
    fn may_contain_token(&self) -> bool {
        let RedactionRules { may_contain_token: tells, redacts_everywhere: hides } = self.rules();
        tells || hides
    }

    /// The payload of a message with its token redacted; `None` if it cannot contain one.
    fn redacted(&self, message: &Message<'_>) -> Option<Vec<u8>> {
        redact::message(message, &self.endpoint.dialect, self.rules())
    }

    fn execute(
        &mut self,
        output: SessionOutput,
        tick: u32,
        driver: &mut dyn Driver,
    ) -> Result<(), DisconnectReason> {
        match output {
            SessionOutput::Welcome { lockstep } => self.welcome(tick, lockstep, driver),
            SessionOutput::SnapshotRequest => driver.sync(),
            SessionOutput::Checksum(tick, checksum) => driver.checksum(tick, checksum),
            SessionOutput::DesyncDetails(tick, fields) => driver.report_desync_details(tick, fields),
            SessionOutput::Pong(nonce) => {
                self.reply("pong", &[("nonce", nonce.into()), ("tick", tick.into())])
            }
            SessionOutput::Spectate(player) => driver.set_spectated(player),
            SessionOutput::Error(rule, detail) => {
                driver.books().on_packet_dropped(rule);
                if let Some(detail) = detail {
                    self.send_error(rule, detail);
                }
            }
            SessionOutput::CommandRejected(sequence, rule, detail) => {
                driver.books().on_packet_dropped(rule);
                self.reject(sequence, rule, detail, driver);
            }
            SessionOutput::Join(profile, since) => {
                let joined = driver.join(profile, since).map(|player| self.session.set_player(player));
                return joined.or_else(|denied| self.handle_denial(denied));
            }
            SessionOutput::Command(command, intended, shared) => {
                let sequence = command.sequence;
                match driver.command(command, intended, shared) {
                    Err(Denial::Rejected(rule, detail)) => self.reject(sequence, rule, Some(detail), driver),
                    granted => return granted.or_else(|denied| self.handle_denial(denied)),
                }
            }
        }
        Ok(())
    }

    /// Rejects a command: with an ack in dialects that have them, otherwise with the packet `error`
    /// if there is a detail.
    fn reject(
        &mut self,
        sequence: u64,
        rule: &'static str,
        detail: Option<&'static str>,
        driver: &mut dyn Driver,
    ) {
        if has_command_acks(&self.endpoint.dialect) {
            driver.reject_command(sequence, rule);
        } else if let Some(detail) = detail {
            self.send_error(rule, detail);
        }
    }

    fn handle_denial(&mut self, denied: Denial) -> Result<(), DisconnectReason> {
        match denied {
            Denial::Closed(breach) => return Err(DisconnectReason::Breach(breach)),
            Denial::Rejected(rule, detail) => self.send_error(rule, detail),
            Denial::Silent => {}
        }
        Ok(())
    }

    fn welcome(&mut self, tick: u32, lockstep: bool, driver: &mut dyn Driver) {
        let RoomInfo { about, epoch, identity, update_hz } = &self.room;
        let code_hash = format!("{:016x}", (about.code_hash)());
        let mut values: Vec<(&str, Value)> = vec![
            ("version", NATIVE_VERSION.into()),
            ("code_hash", code_hash.into()),
            ("seed", identity.seed.into()),
            ("tick_hz", identity.tick_hz.into()),
            ("update_hz", (*update_hz).into()),
            ("epoch", epoch.as_str().into()),
            ("tick", tick.into()),
        ];
        values.extend(identity.options.iter().map(|(name, value)| (*name, Value::from(*value))));
        self.endpoint.write_packet(&mut self.answers, "welcome", &values);
        self.flush(driver);
        driver.start_updates(lockstep);
    }
}
