//! A client that plays with prediction, without I/O and without a clock. It has a connection, a
//! dialect and a [`Prediction`].
//!
//! ```text
//!  bytes ──► connection ──► packet ──► prediction ──► rendered local player and remote players
//!  bytes ◄── connection ◄── packet ◄── command
//! ```
//!
//! After each input, the driver sends the bytes from [`PredictingClient::drain_output`]. It calls
//! [`PredictingClient::advance`] once a frame. `examples/ahead.rs` is a complete program.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::client_lane::ClientLane;
use super::connection::{ClientConnection, ClientConnectionError, ClientEvent};
use crate::game::prediction::{LocalWorld, Position, Prediction, RenderedState};
use crate::packet::{DecodedPacket, Dialect, Direction, PacketError, Value, lane_packets};

/// Interval between two pings.
const PING_INTERVAL: Duration = Duration::from_secs(2);

/// The argument of a command with the render tick of remote players, for lag compensation.
const RENDER_TICK_ARGUMENT: &str = "render_tick";

/// A client that plays with prediction.
pub struct PredictingClient<W: LocalWorld> {
    connection: ClientConnection,
    dialect: Arc<Dialect>,
    prediction: Prediction<W>,
    /// The arguments of `hello`.
    hello: Vec<(String, Value)>,
    sequence: u32,
    /// Target tick of the last command. It never decreases, so that commands stay in order.
    tick: u32,
    pings: u32,
    pinged: Duration,
    /// Whether the client requests a lane.
    wants_lane: bool,
    lane: Option<ClientLane>,
    datagrams: Vec<Vec<u8>>,
    /// For each row that came by datagram, the newest tick.
    newest: BTreeMap<String, u32>,
    is_welcomed: bool,
    ended: Option<String>,
}

impl<W: LocalWorld> PredictingClient<W> {
    /// A client on a new connection. `hello` has the values of the packet `hello` by argument name,
    /// without `version` and `mode`. Values without an argument in the packet are dropped.
    pub fn new(
        connection: ClientConnection,
        dialect: Arc<Dialect>,
        hello: &[(&str, Value)],
    ) -> PredictingClient<W> {
        let mut prediction = Prediction::new(&dialect);
        prediction.track_remote_players();
        PredictingClient {
            connection,
            prediction,
            dialect,
            hello: hello.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
            sequence: 0,
            tick: 0,
            pings: 0,
            pinged: Duration::ZERO,
            wants_lane: false,
            lane: None,
            datagrams: Vec::new(),
            newest: BTreeMap::new(),
            is_welcomed: false,
            ended: None,
        }
    }

    /// Handles bytes from the server that arrived at `now`. Calls `see` for each packet, after the
    /// prediction has processed it.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        now: Duration,
        mut see: impl FnMut(&DecodedPacket<'_>, &Prediction<W>),
    ) {
        self.connection.receive(bytes);
        loop {
            let dialect = Arc::clone(&self.dialect);
            match self.connection.next_event() {
                Ok(None) => return,
                Ok(Some(ClientEvent::Open)) => self.send_hello(now),
                Ok(Some(ClientEvent::Binary(message))) => {
                    let Ok(packet) = dialect.decode(Direction::ToClient, message) else { continue };
                    match packet.row.name.as_str() {
                        "welcome" => {
                            (self.is_welcomed, self.sequence, self.tick) = (true, 0, 0);
                            self.lane = None;
                            self.newest.clear();
                            if self.wants_lane {
                                self.request_lane(now);
                            }
                        }
                        lane_packets::OFFER => self.lane = ClientLane::new(&packet),
                        name if (name != W::UPDATE || !W::UPDATE_HAS_ENTERS)
                            && lane_packets::is_overtaken(&mut self.newest, &packet) =>
                        {
                            continue;
                        }
                        _ => {}
                    }
                    self.prediction.on_packet(&packet, now);
                    see(&packet, &self.prediction);
                }
                Ok(Some(ClientEvent::Text(_) | ClientEvent::Control)) => {}
                Ok(Some(ClientEvent::Closed { reason, .. })) => {
                    let reason = reason.to_string();
                    return self.end(reason);
                }
                Ok(Some(ClientEvent::Ended)) => return self.end("end without a close frame".to_owned()),
                Err(ClientConnectionError::Refused(status)) => return self.end(format!("status {status}")),
                Err(error) => return self.end(error.to_string()),
            }
        }
    }

    /// Requests a lane for datagrams at each `welcome`. The driver then carries the datagrams:
    /// [`PredictingClient::receive_datagram`] and [`PredictingClient::drain_datagrams`].
    pub fn use_lane(&mut self) {
        self.wants_lane = true;
    }

    /// The lane, if the server has granted one.
    pub fn lane(&self) -> Option<&ClientLane> {
        self.lane.as_ref()
    }

    fn request_lane(&mut self, now: Duration) {
        let _ = self.send_packet(lane_packets::REQUEST, &[], now);
    }

    /// Handles a datagram from the server that arrived at `now`. Calls `see` for each packet, after
    /// the prediction has processed it.
    pub fn receive_datagram(
        &mut self,
        datagram: &[u8],
        now: Duration,
        mut see: impl FnMut(&DecodedPacket<'_>, &Prediction<W>),
    ) {
        let (dialect, prediction, newest) = (&self.dialect, &mut self.prediction, &mut self.newest);
        let Some(lane) = &mut self.lane else { return };
        lane.receive(datagram, now, |packet| {
            let Ok(packet) = dialect.decode(Direction::ToClient, packet) else { return };
            if lane_packets::is_overtaken(newest, &packet) {
                return;
            }
            prediction.on_datagram_packet(&packet, now);
            see(&packet, prediction);
        });
    }

    /// Takes the datagrams to send to the server.
    pub fn drain_datagrams(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.datagrams)
    }

    /// Handles the end of the byte stream.
    pub fn receive_eof(&mut self) {
        self.end("end of the stream".to_owned());
    }

    fn end(&mut self, reason: String) {
        self.ended.get_or_insert(reason);
    }

    fn send_hello(&mut self, now: Duration) {
        let values = self.named("hello", &[("version", 1.into()), ("mode", 1.into())]);
        let _ = self.send_packet("hello", &values, now);
    }

    /// The values of a packet in the order of its arguments.
    fn named(&self, name: &str, given: &[(&str, Value)]) -> Vec<Value> {
        let Some(row) = self.dialect.row(Direction::ToServer, name) else { return Vec::new() };
        let value = |argument: &str| {
            let given = given.iter().find(|(own, _)| *own == argument).map(|(_, value)| value);
            let own = || self.hello.iter().find(|(own, _)| own == argument).map(|(_, value)| value);
            given.or_else(own).cloned().unwrap_or(Value::Nil)
        };
        row.arguments.iter().map(|argument| value(&argument.name)).collect()
    }

    fn send_packet(&mut self, name: &str, values: &[Value], now: Duration) -> Result<(), PacketError> {
        let message = self.dialect.encode(Direction::ToServer, name, values)?;
        self.prediction.on_sent(&self.dialect, &message, now)?;
        let is_lane_in_use = self.lane.as_ref().is_some_and(|lane| lane.is_usable(now));
        let connection = &mut self.connection;
        match &mut self.lane {
            Some(lane) if name == "ping" && is_lane_in_use => lane.send(&message),
            Some(lane)
                if self.dialect.row(Direction::ToServer, name).is_some_and(lane_packets::is_command) =>
            {
                let sequence = values.first().and_then(Value::as_u64).unwrap_or_default() as u32;
                let tick = values.get(1).and_then(Value::as_u64).map(|tick| tick as u32);
                lane.command((sequence, tick), &message, now, |packet| connection.send_binary(packet));
            }
            _ => connection.send_binary(&message),
        }
        Ok(())
    }

    /// Sends a command of the local player, which affects the result of
    /// [`PredictingClient::advance`] at once. `values` follow `sequence` and `tick`. If the next
    /// argument is `render_tick`, the render tick of remote players is appended.
    ///
    /// # Errors
    /// The packet does not exist, or the values do not fit its row.
    pub fn command(&mut self, name: &str, values: &[Value], now: Duration) -> Result<(), PacketError> {
        self.prediction.advance(now);
        let tick = self.prediction.command_tick();
        self.tick = self.tick.max(tick.unwrap_or(0));
        let tick = tick.map_or(Value::Nil, |_| self.tick.into());
        let mut all = vec![(self.sequence + 1).into(), tick];
        all.extend_from_slice(values);
        let next = self.dialect.row(Direction::ToServer, name).and_then(|row| row.arguments.get(all.len()));
        if next.is_some_and(|argument| argument.name == RENDER_TICK_ARGUMENT) {
            all.push(self.render_tick(now).map_or(Value::Nil, Value::from));
        }
        self.send_packet(name, &all, now)?;
        self.sequence += 1;
        self.advance_lane(now);
        Ok(())
    }

    /// Requests a new player after death, with the values of `hello`.
    ///
    /// # Errors
    /// The dialect has no such packet, or the values do not fit it.
    pub fn join(&mut self, now: Duration) -> Result<(), PacketError> {
        // `join` has a sequence number, because the server counts it as a command.
        self.sequence += 1;
        let connection = &mut self.connection;
        self.lane.iter_mut().for_each(|lane| lane.restart(|packet| connection.send_binary(packet)));
        self.send_packet("join", &self.named("join", &[]), now)
    }

    /// The render tick of remote players at `now`, rounded to a whole tick.
    pub fn render_tick(&self, now: Duration) -> Option<u32> {
        let tick = self.prediction.clock().render_tick(now)?;
        u32::try_from((tick + (1 << 15)) >> 16).ok()
    }

    /// Advances to `now`, and returns the rendered state of the local player. `None` without a
    /// player, and until the round trip is measured. Sends a ping every two seconds.
    pub fn advance(&mut self, now: Duration) -> Option<RenderedState> {
        if self.is_welcomed && (self.pings == 0 || now >= self.pinged + PING_INTERVAL) {
            (self.pings, self.pinged) = (self.pings + 1, now);
            let _ = self.send_packet("ping", &[self.pings.into()], now);
        }
        self.advance_lane(now);
        self.prediction.advance(now)
    }

    /// Makes the datagram that is due. A new command makes one due at once.
    fn advance_lane(&mut self, now: Duration) {
        let connection = &mut self.connection;
        let datagram =
            self.lane.as_mut().and_then(|lane| lane.advance(now, |packet| connection.send_binary(packet)));
        self.datagrams.extend(datagram);
    }

    /// The rendered positions of remote players at `now`, by player number.
    pub fn remote_players(&self, now: Duration) -> Vec<(u32, Position)> {
        self.prediction.others(now)
    }

    /// The prediction, with its clock and its corrections.
    pub fn prediction(&self) -> &Prediction<W> {
        &self.prediction
    }

    /// The prediction, to change its settings.
    pub fn prediction_mut(&mut self) -> &mut Prediction<W> {
        &mut self.prediction
    }

    /// Appends the bytes to send to `into`.
    pub fn drain_output(&mut self, into: &mut Vec<u8>) {
        self.connection.drain_output(into);
    }

    /// The reason why the connection ended; `None` while it is open.
    pub fn ended(&self) -> Option<&str> {
        self.ended.as_deref()
    }
}
