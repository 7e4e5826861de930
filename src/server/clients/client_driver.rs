//! The driver of a client's [`ServerConnection`]: passes the client's bytes in, and executes the
//! outputs in its server and room.
//!
//! ```text
//!   bytes ─► ServerConnection ─► Send ───────────────► send queue of the client
//!                ▲               Request ────────────► room, seats, tokens
//!                └── Answer ◄─────┘
//!                                Observed, Event ────► on_event: metrics, log, tap
//! ```
//!
//! Rate limits per address prefix apply here, outside the connection, so that a replay of the bytes
//! does not depend on them.

use core::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tickwire_sim::state_tree::FieldDiff;
use tickwire_sim::{PlayerId, RawCommand};

use super::client::{Client, NO_LANE_TEXT, Transport};
use super::client_lane::LaneGrant;
use crate::connection::sender::Frames;
use crate::connection::session::ReportedField;
use crate::connection::{
    Answer, ClientRequest, ConnectionEvent, ConnectionOutput, Denial, DisconnectReason, ObservedBytes,
    ReadTime, ServerConnection,
};
use crate::datagram::DatagramError;
use crate::datagram::header::HEADER_BYTES;
use crate::game::{CloseReason, JoinRequest, NO_LANE, PLAYER_GONE, SharedRateLimit};
use crate::packet::{Value, lane_packets};
use crate::server::admission::address_rate_limits::{AddressRateLimits, LimitedAction};
use crate::server::admission::tokens::{Authenticator, OfferedToken, Permission};
use crate::server::room::lockstep::LockstepAccess;
use crate::server::room::{JoinAttempt, JoinOutcome, SeatKey};

/// Error text when a spectator tries to join.
const SPECTATOR_ONLY_TEXT: &str =
    "to play, connect with a token from the operator of this server; without one you watch";

/// Error text when a resumed player no longer exists.
const PLAYER_GONE_TEXT: &str = "your earlier player has left the world: you start over";

/// Driver for one batch of received bytes of a client.
pub struct ClientDriver<'a, L, E> {
    /// The client.
    pub client: &'a Client<L>,
    /// Rate limits per address prefix.
    pub address_limits: &'a AddressRateLimits,
    /// Checks tokens.
    pub authenticator: &'a Authenticator,
    /// When the bytes were received.
    pub read_time: ReadTime,
    /// Whether an observer needs the client's bytes.
    pub is_observed: bool,
    /// Receives the events of the client.
    pub on_event: E,
}

/// An event of one client, for metrics, log and tap.
#[derive(Debug)]
pub enum DriverEvent<'a> {
    /// An event of the client's connection.
    Connection(ConnectionEvent),
    /// Bytes of the client, before they are handled.
    Observed {
        /// When the bytes were received.
        at: ReadTime,
        /// The bytes.
        bytes: ObservedBytes<'a>,
        /// The connection's state before the bytes, see [`ConnectionOutput::Observed`].
        saved: &'a [u8],
    },
    /// An opened datagram of the client, before it is handled.
    Datagram {
        /// When it was received.
        at: ReadTime,
        /// The client's UDP address, if the lane has addresses.
        address: Option<SocketAddr>,
        /// Its header and messages.
        bytes: &'a [u8],
        /// The connection's state before it; `None` in the middle of a message of the stream.
        saved: Option<&'a [u8]>,
    },
    /// A datagram that the client's lane dropped by this rule, as it arrived.
    DatagramDropped {
        /// When it was received.
        at: ReadTime,
        /// The sender's UDP address, if the lane has addresses.
        address: Option<SocketAddr>,
        /// The broken rule.
        rule: DatagramError,
        /// Its bytes.
        bytes: &'a [u8],
    },
    /// A command or join was rejected for this reason, such as a rate limit of the address or a
    /// full inbox.
    CommandRejected(&'static str),
    /// The client was accepted, with the token of this name if the server has tokens.
    Authenticated(Option<Arc<str>>),
    /// The client's updates start with the next tick.
    UpdatesStarted,
    /// The client joined.
    Joined {
        /// The client's player.
        player: PlayerId,
        /// The player's name.
        name: &'a str,
        /// Number of ticks that the room had completed.
        tick: u32,
    },
}

impl<L: Transport, E: Fn(DriverEvent<'_>)> ClientDriver<'_, L, E> {
    /// Starts the client's session.
    ///
    /// # Errors
    /// The reason to close the connection.
    pub fn begin(&self) -> Result<(), DisconnectReason> {
        self.begin_with(|output| self.execute(output))
    }

    /// Like [`ClientDriver::begin`], with `execute` instead of [`ClientDriver::execute`].
    ///
    /// # Errors
    /// As [`ClientDriver::begin`].
    pub fn begin_with(
        &self,
        execute: impl FnMut(ConnectionOutput<'_>) -> Option<Answer>,
    ) -> Result<(), DisconnectReason> {
        let mut connection = self.client.connection.lock();
        self.configure(&mut connection);
        connection.begin(self.client.id);
        drain(&mut connection, execute)
    }

    /// Passes received bytes to the client's connection. Bytes of a closing client are ignored.
    ///
    /// # Errors
    /// The reason why the connection is closing already, or must be closed now.
    pub fn receive(&self, bytes: &[u8]) -> Result<(), DisconnectReason> {
        self.receive_with(bytes, |output| self.execute(output))
    }

    /// Like [`ClientDriver::receive`], with `execute` instead of [`ClientDriver::execute`].
    ///
    /// # Errors
    /// As [`ClientDriver::receive`].
    pub fn receive_with(
        &self,
        bytes: &[u8],
        execute: impl FnMut(ConnectionOutput<'_>) -> Option<Answer>,
    ) -> Result<(), DisconnectReason> {
        self.receive_locked(&mut self.client.connection.lock(), bytes, execute)
    }

    /// Opens a datagram of the client's lane, and handles its messages. The lane must have been
    /// granted.
    ///
    /// # Errors
    /// The reason to drop the datagram.
    pub fn receive_datagram(&self, datagram: &[u8], from: Option<SocketAddr>) -> Result<(), DatagramError> {
        self.receive_datagram_with(datagram, from, |_| {}, |output| self.execute(output))
    }

    /// Like [`ClientDriver::receive_datagram`], with `execute` instead of
    /// [`ClientDriver::execute`]. `on_opened` gets the messages before they are handled.
    ///
    /// # Errors
    /// As [`ClientDriver::receive_datagram`].
    pub fn receive_datagram_with(
        &self,
        datagram: &[u8],
        from: Option<SocketAddr>,
        on_opened: impl FnOnce(&[u8]),
        execute: impl FnMut(ConnectionOutput<'_>) -> Option<Answer>,
    ) -> Result<(), DatagramError> {
        let client = self.client;
        let opened = client.lane.open(datagram, from, self.read_time.now).inspect_err(|rule| {
            if self.is_observed {
                let (at, address, rule) = (self.read_time, from, *rule);
                (self.on_event)(DriverEvent::DatagramDropped { at, address, rule, bytes: datagram });
            }
        })?;
        if client.sender.disconnect_reason().is_some() {
            return Ok(());
        }
        on_opened(&opened);
        let mut connection = client.connection.lock();
        self.configure(&mut connection);
        if self.is_observed {
            let bytes = [&datagram[..HEADER_BYTES], &opened].concat();
            let saved = connection.is_between_messages().then(|| connection.save(self.read_time.now));
            let (at, address, saved) = (self.read_time, from, saved.as_deref());
            (self.on_event)(DriverEvent::Datagram { at, address, bytes: &bytes, saved });
        }
        let received = connection.receive_datagram(&opened, self.read_time);
        if let Err(reason) = drain(&mut connection, execute) {
            client.close(reason, self.read_time.now);
        }
        received
    }

    /// Injects bytes into the client's input, unchanged, for an inspector that has proved that the
    /// client is its own. Possible only between messages, so that the client's own messages stay
    /// whole.
    ///
    /// # Errors
    /// The reason why the bytes were not injected.
    pub fn inject(&self, bytes: &[u8]) -> Result<(), &'static str> {
        let client = self.client;
        if client.sender.disconnect_reason().is_some() {
            return Err("the connection is closing");
        }
        let mut connection = client.connection.lock();
        if !connection.is_between_messages() {
            return Err("the client has sent half of a message: try again");
        }
        connection.mark_injected();
        if let Err(reason) = self.receive_locked(&mut connection, bytes, |output| self.execute(output)) {
            client.close(reason, self.read_time.now);
        }
        Ok(())
    }

    /// Passes bytes to the observers only, because the server no longer handles them.
    pub fn ignore(&self, bytes: &[u8]) {
        self.ignore_locked(&mut self.client.connection.lock(), bytes);
    }

    fn receive_locked(
        &self,
        connection: &mut ServerConnection,
        bytes: &[u8],
        execute: impl FnMut(ConnectionOutput<'_>) -> Option<Answer>,
    ) -> Result<(), DisconnectReason> {
        if let Some(reason) = self.client.sender.disconnect_reason() {
            self.ignore_locked(connection, bytes);
            return Err(reason);
        }
        self.configure(connection);
        connection.receive(bytes, self.read_time);
        drain(connection, execute)?;
        self.client.sender.disconnect_reason().map_or(Ok(()), Err)
    }

    fn ignore_locked(&self, connection: &mut ServerConnection, bytes: &[u8]) {
        self.configure(connection);
        connection.receive_eof(self.read_time);
        // Ignored bytes do not end a connection.
        let _ = drain(connection, |output| self.execute(output));
        connection.receive(bytes, self.read_time);
        let _ = drain(connection, |output| self.execute(output));
    }

    fn configure(&self, connection: &mut ServerConnection) {
        connection.set_observed(self.is_observed);
    }

    /// Executes an output of the client's connection. Returns the answer if the output needs one.
    pub fn execute(&self, output: ConnectionOutput<'_>) -> Option<Answer> {
        match output {
            ConnectionOutput::Send(frames) => {
                self.client.send(Frames::Borrowed(frames), self.read_time.now);
            }
            ConnectionOutput::Datagram(messages) => {
                self.client.lane.add(messages);
            }
            ConnectionOutput::Request(request) => return self.execute_request(request),
            ConnectionOutput::Observed { bytes, saved } => {
                (self.on_event)(DriverEvent::Observed { at: self.read_time, bytes, saved });
            }
            ConnectionOutput::Event(event) => {
                if let ConnectionEvent::MessagesHandled(_) = event {
                    self.client.sender.deadlines.alive(self.read_time.now);
                }
                (self.on_event)(DriverEvent::Connection(event));
            }
        }
        None
    }

    // A frame of its own, and so for the larger requests: a client's thread has a small stack.
    #[inline(never)]
    fn execute_request(&self, request: ClientRequest) -> Option<Answer> {
        let client = self.client;
        match request {
            ClientRequest::Authenticate => return Some(Answer::Authenticated(self.authenticate())),
            ClientRequest::Lockstep => return Some(Answer::LockstepChecked(self.check_lockstep())),
            ClientRequest::Join { mut profile, resume_tick } => {
                profile.account = client.account();
                return Some(Answer::Joined(self.join(&profile, resume_tick)));
            }
            ClientRequest::Command { command, target_tick, shared } => {
                return Some(Answer::CommandQueued(self.command(command, target_tick, shared)));
            }
            ClientRequest::StartUpdates { lockstep } => {
                client.sender.deadlines.on_hello();
                client.start_updates(lockstep);
                (self.on_event)(DriverEvent::UpdatesStarted);
            }
            ClientRequest::RejectCommand { sequence, rule } => {
                client.room.reject((client.prefix(), client.id), sequence, rule);
            }
            ClientRequest::Spectate(player) => client.set_spectated(player),
            ClientRequest::Lane { offer } => self.offer_lane(offer.as_deref()),
            ClientRequest::Snapshot => client.room.lockstep.request_snapshot(client.id),
            ClientRequest::Checksum { tick, checksum } => self.checksum(tick, checksum),
            ClientRequest::DesyncDetails { tick, fields } => self.report_desync_details(tick, fields),
        }
        None
    }

    /// Checks the token of the upgrade request.
    #[inline(never)]
    fn authenticate(&self) -> Result<(), Denial> {
        let offered = self.client.token.as_ref().map(|OfferedToken(token)| token.as_str());
        match self.authenticator.authenticate(self.client.address.ip(), offered, self.read_time.now) {
            Ok(pass) => {
                self.client.set_pass(pass);
                (self.on_event)(DriverEvent::Authenticated(self.client.account()));
                Ok(())
            }
            Err(CloseReason::TokenMissing) => Err(Denial::Closed(CloseReason::TokenMissing)),
            Err(close_reason) => {
                self.client.close_after_delay(close_reason, self.read_time.now);
                Err(Denial::Silent)
            }
        }
    }

    /// Checks whether the client may use lockstep, which reveals the whole world.
    #[inline(never)]
    fn check_lockstep(&self) -> Result<(), Denial> {
        let is_allowed = match self.client.room.lockstep.rules().access {
            LockstepAccess::Off => false,
            LockstepAccess::Token => {
                self.client.is_local || matches!(self.client.pass(), Some(Permission::Holder(_)))
            }
            LockstepAccess::Open => true,
        };
        if !is_allowed {
            self.client.close_after_delay(CloseReason::LockstepOff, self.read_time.now);
            return Err(Denial::Silent);
        }
        Ok(())
    }

    /// Joins the client, which remains a spectator if the rate limit of joins is exhausted.
    #[inline(never)]
    fn join(&self, profile: &JoinRequest, resume_tick: Option<u32>) -> Result<PlayerId, Denial> {
        let key = self.resume_key()?;
        self.charge(LimitedAction::Join)?;
        let Client { id, room, .. } = self.client;
        let entering = JoinAttempt { key, connection: *id, from: self.client.prefix() };
        let entered = room.join(entering, self.read_time.now, |entered| {
            self.client.set_player(entered, &profile.name, resume_tick);
            (room.game.join)(entered.player, profile)
        });
        let JoinOutcome { player, is_resumed, .. } = entered.ok_or(Denial::Closed(CloseReason::WorldFull))?;
        if resume_tick.is_some() && !is_resumed {
            self.send_player_gone();
        }
        (self.on_event)(DriverEvent::Joined { player, name: &profile.name, tick: self.read_time.tick });
        Ok(player)
    }

    /// Returns the key of the client's seat: the key of its player token or, if the server has no
    /// player tokens, the client's resume key. Returns `None` if the seat has no key.
    fn resume_key(&self) -> Result<Option<SeatKey>, Denial> {
        match self.client.pass() {
            Some(Permission::Holder(holder)) => Ok(Some(holder.seat)),
            Some(Permission::Anyone) => {
                let outlives = self.client.room.options.resume_time > Duration::ZERO;
                Ok(self.client.resume_key.map(|key| SeatKey(key.bytes())).filter(|_| outlives))
            }
            Some(Permission::Spectator) | None => {
                (self.on_event)(DriverEvent::CommandRejected(CloseReason::TokenMissing.name()));
                Err(Denial::Rejected(CloseReason::TokenMissing.name(), SPECTATOR_ONLY_TEXT))
            }
        }
    }

    /// Grants the client a lane, or reports why there is none. Captures and inspectors get zeros
    /// instead of the key and the password.
    #[inline(never)]
    fn offer_lane(&self, offer: Option<&str>) {
        let (client, format) = (self.client, &self.client.format);
        let grant = if format.is_json {
            Err((NO_LANE, NO_LANE_TEXT))
        } else if let Err(Denial::Rejected(rule, detail)) = self.charge(LimitedAction::Lane) {
            Err((rule, detail))
        } else {
            client.grant_lane(offer).map_err(|detail| (NO_LANE, detail))
        };
        let mut frames = Vec::new();
        let LaneGrant { connection, key, port, answer } = match grant {
            Ok(grant) => grant,
            Err((rule, detail)) => {
                let values = [("rule", rule.into()), ("detail", detail.into())];
                format.write_packet(&mut frames, "error", &values);
                client.send(Frames::Borrowed(&frames), self.read_time.now);
                return;
            }
        };
        let key = key.map_or_else(Vec::new, |key| key.0.to_vec());
        let answer = answer.as_ref();
        let secret = (key.clone(), answer.map_or(Value::Nil, |answer| answer.text.as_str().into()));
        let redacted =
            (vec![0; key.len()], answer.map_or(Value::Nil, |answer| answer.redacted.as_str().into()));
        let mut redacted_frames = Vec::new();
        for (out, (key, answer)) in [(&mut frames, secret), (&mut redacted_frames, redacted)] {
            let key = Value::Binary(key);
            let values =
                [("connection", connection.into()), ("key", key), ("port", port.into()), ("answer", answer)];
            format.write_packet(out, lane_packets::OFFER, &values);
        }
        client.send_secret(&frames, &redacted_frames, self.read_time.now);
    }

    /// Takes a token of the address prefix's rate limit.
    fn charge(&self, spending: LimitedAction) -> Result<(), Denial> {
        self.address_limits
            .take_late(self.client.prefix(), spending, self.read_time.now, self.read_time.slack)
            .map_err(|_| {
                (self.on_event)(DriverEvent::CommandRejected(spending.rule()));
                Denial::Rejected(spending.rule(), spending.detail())
            })
    }

    /// Sends an error to a client that tried to resume but got a new player.
    #[inline(never)]
    fn send_player_gone(&self) {
        let (format, mut frames) = (&self.client.format, Vec::new());
        let values = [("rule", PLAYER_GONE.into()), ("detail", PLAYER_GONE_TEXT.into())];
        format.write_packet(&mut frames, "error", &values);
        self.client.send(Frames::Borrowed(&frames), self.read_time.now);
    }

    fn command(
        &self,
        command: RawCommand,
        target_tick: Option<u32>,
        shared: Option<&'static SharedRateLimit>,
    ) -> Result<(), Denial> {
        if let Some(shared) = shared {
            self.charge(LimitedAction::Shared(shared))?;
        }
        let from = (self.client.prefix(), self.client.id);
        if let Err(dropped) = self.client.room.push(from, command, target_tick, self.read_time.slack) {
            (self.on_event)(DriverEvent::CommandRejected(dropped.name()));
        }
        Ok(())
    }

    #[inline(never)]
    fn checksum(&self, tick: u32, checksum: u64) {
        let Client { id, room, .. } = self.client;
        let label = || match self.client.player() {
            Some(player) => format!("player {}", player.0),
            None => format!("spectator {id}"),
        };
        room.lockstep.checksum(*id, label, tick, checksum);
    }

    #[inline(never)]
    fn report_desync_details(&self, tick: u32, fields: Vec<ReportedField>) {
        let field = |ReportedField { entity, field, server, own }| FieldDiff {
            entity,
            field,
            ours: server,
            theirs: own,
        };
        let fields = fields.into_iter().map(field).collect();
        self.client.room.lockstep.add_desync_details(self.client.id, tick, fields);
    }
}

/// Executes the outputs of the last input and passes the answers back.
fn drain(
    connection: &mut ServerConnection,
    mut execute: impl FnMut(ConnectionOutput<'_>) -> Option<Answer>,
) -> Result<(), DisconnectReason> {
    while let Some(output) = connection.next_output()? {
        if let Some(answer) = execute(output) {
            connection.answer(answer);
        }
    }
    Ok(())
}
