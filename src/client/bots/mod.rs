//! A bot: a connection, a dialect and an agent, without I/O and without a clock.
//!
//! The driver passes in bytes, the end of the stream, and the time. The bot returns bytes to send.
//! After each input, drain the output. Call [`Bot::act`] about ten times a second. A
//! [`BotObserver`] receives the traffic and the faults that the agent finds.

pub mod lockstep_agent;
pub(crate) mod shared_world;

use std::sync::Arc;
use std::time::Duration;

use super::client_lane::ClientLane;
use super::connection::{ClientConnection, ClientConnectionError, ClientEvent};
use crate::game::bots::{Agent, AgentOutput, ServerFault, Tolerance, ViewStats};
use crate::game::lockstep_packets::STATE_SYNC;
use crate::packet::lane_command::LaneCommand;
use crate::packet::lane_packets;
use crate::packet::{DecodedPacket, Dialect, Direction, PacketError};
use crate::ws::close::CloseCode;

/// The stage of a bot's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BotStage {
    /// The upgrade is not complete, or the bot has no player yet.
    Connecting,
    /// The bot has a player.
    Playing,
    /// The bot is closing its connection.
    Leaving,
    /// The connection has ended.
    Closed,
}

/// How a bot handles a packet that it received by datagram.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DatagramPacketUse {
    /// Passes it to [`Agent::on_datagram_packet`].
    #[default]
    Handle,
    /// Passes it to [`Agent::on_packet`]. An injected bug of tests.
    AsStream,
    /// Drops it. An injected bug of tests.
    Drop,
}

/// Observes the traffic of a bot.
pub trait BotObserver {
    /// Bytes were received, or are about to be sent.
    fn on_bytes(&mut self, received: usize, sent: usize) {
        let _ = (received, sent);
    }

    /// A packet is sent.
    fn on_sent(&mut self) {}

    /// A message was received.
    fn on_received(&mut self) {}

    /// A packet that arrived at `now` was handled. `saw_update` is set for an update; `sight` is
    /// the agent's view after the packet.
    fn on_view(&mut self, saw_update: bool, sight: ViewStats, now: Duration) {
        let _ = (saw_update, sight, now);
    }

    /// The agent found a fault of the server.
    fn on_fault(&mut self, fault: ServerFault) {
        self.on_error(fault.rule, fault.detail);
    }

    /// Any other error, such as a message that is not a packet: its name, and a description.
    fn on_error(&mut self, name: &str, detail: String) {
        let _ = (name, detail);
    }

    /// A packet was received by datagram. Tests inject bugs by the returned value.
    fn on_datagram_packet(&mut self, packet: &DecodedPacket<'_>) -> DatagramPacketUse {
        let _ = packet;
        DatagramPacketUse::Handle
    }

    /// The connection ended before the bot closed it.
    fn on_closed(&mut self, reason: &str) {
        let _ = reason;
    }

    /// The connection was lost: it ended without a close frame of either side. The default calls
    /// [`BotObserver::on_closed`].
    fn on_lost(&mut self, reason: &str) {
        self.on_closed(reason);
    }
}

/// Observes nothing.
impl BotObserver for () {}

/// A bot: a connection, a dialect and an agent.
pub struct Bot<A, W = ()> {
    connection: ClientConnection,
    dialect: Arc<Dialect>,
    /// Whether the connection uses `?format=json`.
    pub is_json: bool,
    stage: BotStage,
    /// Number of its player, according to the newest packet that names it.
    player: Option<u16>,
    output: AgentOutput,
    /// Whether the bot requests a lane.
    wants_lane: bool,
    lane: Option<ClientLane>,
    datagrams: Vec<Vec<u8>>,
    /// The agent.
    pub agent: A,
    /// The observer.
    pub observer: W,
}

impl<A: Agent, W: BotObserver> Bot<A, W> {
    /// A bot on a new connection.
    pub fn new(connection: ClientConnection, dialect: Arc<Dialect>, agent: A, observer: W) -> Bot<A, W> {
        Bot {
            connection,
            dialect,
            is_json: false,
            stage: BotStage::Connecting,
            player: None,
            output: AgentOutput::default(),
            wants_lane: false,
            lane: None,
            datagrams: Vec::new(),
            agent,
            observer,
        }
    }

    /// Requests a lane for datagrams after `welcome`. The driver then carries the datagrams:
    /// [`Bot::receive_datagram`] and [`Bot::drain_datagrams`].
    pub fn use_lane(&mut self) {
        self.wants_lane = true;
    }

    /// The lane, if the server has granted one.
    pub fn lane(&self) -> Option<&ClientLane> {
        self.lane.as_ref()
    }

    /// Requests a lane, which replaces the current one.
    pub fn request_lane(&mut self) {
        if let Ok(message) = self.dialect.encode(Direction::ToServer, lane_packets::REQUEST, &[]) {
            self.connection.send_binary(&message);
        }
    }

    /// Handles a datagram from the server that arrived at `now`.
    pub fn receive_datagram(&mut self, datagram: &[u8], now: Duration) {
        let dialect = Arc::clone(&self.dialect);
        let Some(lane) = &mut self.lane else { return };
        let mut packets = Vec::new();
        lane.receive(datagram, now, |packet| packets.push(packet.to_vec()));
        for packet in packets {
            let packet = dialect.decode(Direction::ToClient, &packet);
            let packet_use = packet.as_ref().map(|packet| self.observer.on_datagram_packet(packet));
            match packet_use.unwrap_or_default() {
                DatagramPacketUse::Handle => self.receive_packet(packet, true, now),
                DatagramPacketUse::AsStream => self.receive_packet(packet, false, now),
                DatagramPacketUse::Drop => {}
            }
        }
    }

    /// Makes the datagram that is due at `now`, and takes the datagrams to send to the server. Call
    /// it at least 30 times a second.
    pub fn drain_datagrams(&mut self, now: Duration) -> Vec<Vec<u8>> {
        let connection = &mut self.connection;
        let datagram =
            self.lane.as_mut().and_then(|lane| lane.advance(now, |packet| connection.send_binary(packet)));
        self.datagrams.extend(datagram);
        std::mem::take(&mut self.datagrams)
    }

    /// The stage of the session.
    pub fn stage(&self) -> BotStage {
        self.stage
    }

    /// The number of the bot's player, according to the newest packet `spawned`, or `state_sync` in
    /// lockstep. `None` before it, and in dialects without these packets.
    pub fn player(&self) -> Option<u16> {
        self.player
    }

    /// Handles bytes from the server that arrived at `now`.
    pub fn receive(&mut self, bytes: &[u8], now: Duration) {
        self.observer.on_bytes(bytes.len(), 0);
        self.connection.receive(bytes);
        self.take_events(now);
    }

    /// Handles the end of the byte stream. `reason` is the socket's error, if any.
    pub fn receive_eof(&mut self, reason: Option<&str>, now: Duration) {
        if let Some(reason) = reason.filter(|_| self.stage != BotStage::Closed) {
            self.end(reason, true);
            return;
        }
        self.connection.receive_eof();
        self.take_events(now);
    }

    /// Calls the agent's `act`, if the bot plays.
    pub fn act(&mut self, now: Duration) {
        if self.stage == BotStage::Playing {
            self.agent.act(now, &mut self.output);
            self.apply_agent_output(now);
        }
    }

    /// Closes the connection with code 1000. After this call, a close by the server is not
    /// reported.
    pub fn leave(&mut self) {
        if self.stage != BotStage::Closed {
            self.stage = BotStage::Leaving;
            self.connection.close();
        }
    }

    /// Closes the connection with code 1001, as a page that is left or reloaded does. The client
    /// may resume.
    pub fn close_going_away(&mut self) {
        if self.stage != BotStage::Closed {
            self.stage = BotStage::Leaving;
            self.connection.close_with(CloseCode::GOING_AWAY);
        }
    }

    /// Appends the bytes to send to `into`.
    pub fn drain_output(&mut self, into: &mut Vec<u8>) {
        let before = into.len();
        self.connection.drain_output(into);
        self.observer.on_bytes(0, into.len() - before);
    }

    /// Sends the agent's packets, and passes its faults to the observer.
    fn apply_agent_output(&mut self, now: Duration) {
        for message in std::mem::take(&mut self.output.packets) {
            self.observer.on_sent();
            if self.lane.is_some() && self.send_in_lane(&message, now) {
                continue;
            }
            if !self.is_json {
                self.connection.send_binary(&message);
            } else if let Ok(text) = self.dialect.json_from_msgpack(Direction::ToServer, &message) {
                self.connection.send_text(&text);
            }
        }
        self.output.faults.drain(..).for_each(|fault| self.observer.on_fault(fault));
    }

    /// Passes a command to the lane. Returns false for other packets.
    fn send_in_lane(&mut self, message: &[u8], now: Duration) -> bool {
        let (Some(lane), connection) = (&mut self.lane, &mut self.connection) else { return false };
        match LaneCommand::read(&self.dialect, message) {
            LaneCommand::Command(sequence, tick) => {
                lane.command((sequence, tick), message, now, |packet| connection.send_binary(packet));
                true
            }
            LaneCommand::Join => {
                lane.restart(|packet| connection.send_binary(packet));
                false
            }
            LaneCommand::Other => false,
        }
    }

    fn take_events(&mut self, now: Duration) {
        loop {
            let dialect = Arc::clone(&self.dialect);
            let packet = match self.connection.next_event() {
                Ok(None) => return,
                Ok(Some(ClientEvent::Open)) => {
                    self.agent.on_open(&mut self.output);
                    self.apply_agent_output(now);
                    continue;
                }
                Ok(Some(ClientEvent::Binary(message))) => dialect.decode(Direction::ToClient, message),
                Ok(Some(ClientEvent::Text(text))) if self.is_json => {
                    dialect.decode_json(Direction::ToClient, text)
                }
                Ok(Some(ClientEvent::Text(text))) => {
                    self.observer.on_error("text_message", text.chars().take(80).collect());
                    continue;
                }
                Ok(Some(ClientEvent::Control)) => continue,
                Ok(Some(ClientEvent::Closed { code, reason })) => {
                    let code = code.map_or(1005, |code| code.get());
                    let reason = format!("{code} {reason}");
                    return self.end(reason.trim_end(), false);
                }
                Ok(Some(ClientEvent::Ended)) => return self.end("end without a close frame", true),
                Err(error) => return self.fail(error),
            };
            self.receive_packet(packet, false, now);
        }
    }

    fn receive_packet(
        &mut self,
        packet: Result<DecodedPacket<'_>, PacketError>,
        is_datagram: bool,
        now: Duration,
    ) {
        self.observer.on_received();
        match packet {
            Ok(packet) => {
                match packet.row.name.as_str() {
                    "spawned" | STATE_SYNC => self.player = packet.integer("player").or(self.player),
                    "welcome" if self.wants_lane => self.request_lane(),
                    lane_packets::OFFER => self.start_lane(&packet),
                    _ => {}
                }
                if is_datagram {
                    self.agent.on_datagram_packet(&packet, now, &mut self.output);
                } else {
                    self.agent.on_packet(&packet, now, &mut self.output);
                }
                let saw_update = std::mem::take(&mut self.output.saw_update);
                self.apply_agent_output(now);
                self.observer.on_view(saw_update, self.agent.view_stats(), now);
            }
            Err(error) => self.observer.on_error(error.name(), error.to_string()),
        }
        if self.stage == BotStage::Connecting && self.agent.is_playing() {
            self.stage = BotStage::Playing;
        }
    }

    /// Starts the lane of an offer. Commands that only the earlier lane has carried go in the
    /// stream first.
    fn start_lane(&mut self, offer: &DecodedPacket<'_>) {
        let connection = &mut self.connection;
        self.lane.iter_mut().for_each(|lane| lane.restart(|packet| connection.send_binary(packet)));
        self.agent.tolerate(Tolerance::Lane);
        self.lane = ClientLane::new(offer);
    }

    fn fail(&mut self, error: ClientConnectionError) {
        let name = match error {
            ClientConnectionError::Refused(status) => return self.end(&format!("status {status}"), false),
            ClientConnectionError::Violation(violation) => violation.name(),
        };
        self.observer.on_error(name, error.to_string());
        self.end(name, false);
    }

    fn end(&mut self, reason: &str, is_lost: bool) {
        match self.stage {
            BotStage::Leaving | BotStage::Closed => {}
            _ if is_lost => self.observer.on_lost(reason),
            _ => self.observer.on_closed(reason),
        }
        self.stage = BotStage::Closed;
    }
}
