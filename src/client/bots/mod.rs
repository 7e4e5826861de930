//! A bot: a connection, a dialect and an agent, without I/O and without a clock.
//!
//! The driver passes in bytes, the end of the stream, and the time. The bot returns bytes to send.
//! After each input, drain the output. Call [`Bot::act`] about ten times a second. A
//! [`BotObserver`] receives the traffic and the faults that the agent finds.

pub mod lockstep_agent;
pub(crate) mod shared_world;

use std::sync::Arc;
use std::time::Duration;

use super::connection::{ClientConnection, ClientConnectionError, ClientEvent};
use crate::game::bots::{Agent, AgentOutput, ServerFault, ViewStats};
use crate::game::lockstep_packets::STATE_SYNC;
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
    link: ClientConnection,
    dialect: Arc<Dialect>,
    /// Whether the connection uses `?format=json`.
    pub is_json: bool,
    stage: BotStage,
    /// Number of its player, according to the newest packet that names it.
    player: Option<u16>,
    output: AgentOutput,
    /// The agent.
    pub agent: A,
    /// The observer.
    pub observer: W,
}

impl<A: Agent, W: BotObserver> Bot<A, W> {
    /// A bot on a new connection.
    pub fn new(link: ClientConnection, dialect: Arc<Dialect>, agent: A, witness: W) -> Bot<A, W> {
        let (stage, outcome) = (BotStage::Connecting, AgentOutput::default());
        Bot { link, dialect, is_json: false, stage, player: None, output: outcome, agent, observer: witness }
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
        self.link.receive(bytes);
        self.take_events(now);
    }

    /// Handles the end of the byte stream. `reason` is the socket's error, if any.
    pub fn receive_eof(&mut self, reason: Option<&str>, now: Duration) {
        if let Some(reason) = reason.filter(|_| self.stage != BotStage::Closed) {
            self.end(reason, true);
            return;
        }
        self.link.receive_eof();
        self.take_events(now);
    }

    /// Calls the agent's `act`, if the bot plays.
    pub fn act(&mut self, now: Duration) {
        if self.stage == BotStage::Playing {
            self.agent.act(now, &mut self.output);
            self.apply_agent_output();
        }
    }

    /// Closes the connection with code 1000. After this call, a close by the server is not
    /// reported.
    pub fn leave(&mut self) {
        if self.stage != BotStage::Closed {
            self.stage = BotStage::Leaving;
            self.link.close();
        }
    }

    /// Closes the connection with code 1001, as a page that is left or reloaded does. The client
    /// may resume.
    pub fn close_going_away(&mut self) {
        if self.stage != BotStage::Closed {
            self.stage = BotStage::Leaving;
            self.link.close_with(CloseCode::GOING_AWAY);
        }
    }

    /// Appends the bytes to send to `into`.
    pub fn drain_output(&mut self, into: &mut Vec<u8>) {
        let before = into.len();
        self.link.drain_output(into);
        self.observer.on_bytes(0, into.len() - before);
    }

    /// Sends the agent's packets, and passes its faults to the observer.
    fn apply_agent_output(&mut self) {
        for message in self.output.packets.drain(..) {
            self.observer.on_sent();
            if !self.is_json {
                self.link.send_binary(&message);
            } else if let Ok(text) = self.dialect.json_from_msgpack(Direction::ToServer, &message) {
                self.link.send_text(&text);
            }
        }
        self.output.faults.drain(..).for_each(|fault| self.observer.on_fault(fault));
    }

    fn take_events(&mut self, now: Duration) {
        loop {
            let dialect = Arc::clone(&self.dialect);
            let packet = match self.link.next_event() {
                Ok(None) => return,
                Ok(Some(ClientEvent::Open)) => {
                    self.agent.on_open(&mut self.output);
                    self.apply_agent_output();
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
            self.receive_packet(packet, now);
        }
    }

    fn receive_packet(&mut self, packet: Result<DecodedPacket<'_>, PacketError>, now: Duration) {
        self.observer.on_received();
        match packet {
            Ok(packet) => {
                if matches!(packet.row.name.as_str(), "spawned" | STATE_SYNC) {
                    self.player = packet.integer("player").or(self.player);
                }
                self.agent.on_packet(&packet, now, &mut self.output);
                let saw_update = std::mem::take(&mut self.output.saw_update);
                self.apply_agent_output();
                self.observer.on_view(saw_update, self.agent.view_stats(), now);
            }
            Err(error) => self.observer.on_error(error.name(), error.to_string()),
        }
        if self.stage == BotStage::Connecting && self.agent.is_playing() {
            self.stage = BotStage::Playing;
        }
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
