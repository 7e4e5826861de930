//! One bot: a link, a dialect and an agent, without I/O and without a clock.
//!
//! The driver passes in bytes, the end of the stream, and the time; the bot returns bytes to send. After each
//! input, drain the output; call [`Bot::act`] about ten times a second. A [`BotObserver`] is shown the
//! traffic and what the agent finds wrong with it.

pub mod lockstep_agent;
pub mod shared_world;

use std::sync::Arc;
use std::time::Duration;

use super::connection::{ClientConnection, ClientConnectionError, ClientEvent};
use crate::game::bots::{Agent, AgentOutput, ServerFault, ViewStats};
use crate::packet::{DecodedPacket, Dialect, Direction, PacketError};
use crate::ws::close::CloseCode;

/// The stage of a bot's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BotStage {
    /// The upgrade is under way, or the bot has no body yet.
    Connecting,
    /// It has a body.
    Playing,
    /// It is leaving.
    Leaving,
    /// The connection is no longer usable.
    Closed,
}

/// Observes a bot's traffic.
pub trait BotObserver {
    /// The numbers of bytes received and to be sent.
    fn on_bytes(&mut self, received: usize, sent: usize) {
        let _ = (received, sent);
    }

    /// A packet is sent.
    fn said(&mut self) {}

    /// A message has arrived.
    fn on_received(&mut self) {}

    /// What the agent sees after a packet, which arrived `now`, and whether that was an update.
    fn on_view(&mut self, saw_update: bool, sight: ViewStats, now: Duration) {
        let _ = (saw_update, sight, now);
    }

    /// The agent has found a fault.
    fn on_fault(&mut self, fault: ServerFault) {
        self.error(fault.rule, fault.detail);
    }

    /// Any other error, such as a message that is not a packet: its name, and a description.
    fn error(&mut self, name: &str, detail: String) {
        let _ = (name, detail);
    }

    /// The connection ended before the bot wanted it to.
    fn on_closed(&mut self, reason: &str) {
        let _ = reason;
    }
}

/// Nobody observes.
impl BotObserver for () {}

/// See the [module](self).
pub struct Bot<A, W = ()> {
    link: ClientConnection,
    dialect: Arc<Dialect>,
    /// Whether its endpoint is one of `?format=json`.
    pub is_json: bool,
    stage: BotStage,
    output: AgentOutput,
    /// The agent.
    pub agent: A,
    /// The observer.
    pub observer: W,
}

impl<A: Agent, W: BotObserver> Bot<A, W> {
    /// A bot on a new link.
    pub fn new(link: ClientConnection, dialect: Arc<Dialect>, agent: A, witness: W) -> Bot<A, W> {
        let (stage, outcome) = (BotStage::Connecting, AgentOutput::default());
        Bot { link, dialect, is_json: false, stage, output: outcome, agent, observer: witness }
    }

    /// The bot's stage.
    pub fn stage(&self) -> BotStage {
        self.stage
    }

    /// Takes bytes of the server that arrived `now`.
    pub fn receive(&mut self, bytes: &[u8], now: Duration) {
        self.observer.on_bytes(bytes.len(), 0);
        self.link.receive(bytes);
        self.take_events(now);
    }

    /// Handles the end of the byte stream; `reason` is the socket's error, if any.
    pub fn receive_eof(&mut self, reason: Option<&str>, now: Duration) {
        if let Some(reason) = reason.filter(|_| self.stage != BotStage::Closed) {
            self.end(reason);
            return;
        }
        self.link.receive_eof();
        self.take_events(now);
    }

    /// Lets the agent act, if it plays.
    pub fn act(&mut self, now: Duration) {
        if self.stage == BotStage::Playing {
            self.agent.act(now, &mut self.output);
            self.apply_agent_output();
        }
    }

    /// Leaves: from now on, a close by the server is not a disconnect.
    pub fn leave(&mut self) {
        if self.stage != BotStage::Closed {
            self.stage = BotStage::Leaving;
            self.link.close();
        }
    }

    /// Closes as a page does that is left or loaded again: it may come back.
    pub fn close_going_away(&mut self) {
        if self.stage != BotStage::Closed {
            self.stage = BotStage::Leaving;
            self.link.close_with(CloseCode::GOING_AWAY);
        }
    }

    /// Moves the bytes to send to the end of `into`.
    pub fn drain_output(&mut self, into: &mut Vec<u8>) {
        let before = into.len();
        self.link.drain_output(into);
        self.observer.on_bytes(0, into.len() - before);
    }

    /// Sends what the agent says, and shows what it finds wrong.
    fn apply_agent_output(&mut self) {
        for message in self.output.packets.drain(..) {
            self.observer.said();
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
            let heard = match self.link.next_event() {
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
                    self.observer.error("text_message", text.chars().take(80).collect());
                    continue;
                }
                Ok(Some(ClientEvent::Control)) => continue,
                Ok(Some(ClientEvent::Closed { code, reason })) => {
                    let code = code.map_or(1005, |code| code.get());
                    let reason = format!("{code} {reason}");
                    return self.end(reason.trim_end());
                }
                Ok(Some(ClientEvent::Ended)) => return self.end("end without a close frame"),
                Err(error) => return self.fail(error),
            };
            self.receive_packet(heard, now);
        }
    }

    fn receive_packet(&mut self, heard: Result<DecodedPacket<'_>, PacketError>, now: Duration) {
        self.observer.on_received();
        match heard {
            Ok(packet) => {
                self.agent.on_packet(&packet, now, &mut self.output);
                let saw_update = std::mem::take(&mut self.output.saw_update);
                self.apply_agent_output();
                self.observer.on_view(saw_update, self.agent.view_stats(), now);
            }
            Err(error) => self.observer.error(error.name(), error.to_string()),
        }
        if self.stage == BotStage::Connecting && self.agent.is_playing() {
            self.stage = BotStage::Playing;
        }
    }

    fn fail(&mut self, error: ClientConnectionError) {
        let name = match error {
            ClientConnectionError::Refused(status) => return self.end(&format!("status {status}")),
            ClientConnectionError::Violation(violation) => violation.name(),
        };
        self.observer.error(name, error.to_string());
        self.end(name);
    }

    fn end(&mut self, reason: &str) {
        if !matches!(self.stage, BotStage::Leaving | BotStage::Closed) {
            self.observer.on_closed(reason);
        }
        self.stage = BotStage::Closed;
    }
}
