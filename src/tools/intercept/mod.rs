//! The intercepting proxy between a client and a server, without I/O.
//!
//! ```text
//!   client ─► [UpgradeRelay] ─► [Interceptor: client ─► rules ─► queue ─► output] ─► server
//!          ◄─                ◄─ [             output ◄─ queue ◄─ rules ◄─ server]
//!                                        └─► observations: original, sent, explained
//! ```
//!
//! [`upgrade`] relays the heads; the [`Interceptor`] takes over after a 101 response. It receives
//! bytes of both sides, the time, decisions and rules, and returns the bytes to send and an
//! [`Observation`] of each message. Unless a rule, a person or a queue changes it, a message is
//! forwarded byte for byte.
//!
//! A compressed message refers to earlier ones of its sender (RFC 7692, section 7.2.3.2). After a
//! change, the receiver lacks them, so later compressed messages are sent uncompressed.

mod direction;
mod fault;
pub mod framer;
pub mod message;
mod observation;
pub mod rule;
pub mod upgrade;

use std::sync::Arc;
use std::time::Duration;

use self::direction::{ArrivedMessage, CLOSE, DirectionQueue, WaitState, WaitingMessage};
use self::framer::{PieceKind, WirePiece};
use self::rule::{Action, Rule};
use self::upgrade::UpgradeHeads;
use crate::limits;
use crate::tools::explain::{Conversation, Detail, Explanation};
use crate::ws::Side;
use crate::ws::extension::DeflateParameters;

pub use self::observation::{Decision, Observation, Observer, Outcome, Substitute};

/// Both directions of an upgraded connection.
#[derive(Debug)]
pub struct Interceptor<'c> {
    rules: Arc<[Rule]>,
    conversation: Conversation<'c>,
    client: DirectionQueue<'c>,
    server: DirectionQueue<'c>,
    next_id: u64,
    /// The number of the connection.
    connection: u64,
}

impl<'c> Interceptor<'c> {
    /// Creates an interceptor after the upgrade. `conversation` has not received the heads.
    pub fn new(
        mut conversation: Conversation<'c>,
        heads: &UpgradeHeads,
        rules: Arc<[Rule]>,
    ) -> Interceptor<'c> {
        conversation.receive_each(Side::Client, &heads.request, |_| ());
        conversation.receive_each(Side::Server, &heads.response, |_| ());
        let (mut client, mut server) = (DirectionQueue::new(Side::Client), DirectionQueue::new(Side::Server));
        let response = upgrade::read_response(&heads.response);
        let agreed = response.map(|response| DeflateParameters::from_response(&response.headers));
        if let Some(Ok(Some(agreed))) = agreed {
            client.set_compression(agreed.client);
            server.set_compression(agreed.server);
        }
        Interceptor { rules, conversation, client, server, next_id: 1, connection: 0 }
    }

    /// Sets the number of the connection, for rules with `connection = 1`.
    #[must_use]
    pub fn with_connection(self, connection: u64) -> Interceptor<'c> {
        Interceptor { connection, ..self }
    }

    /// The name of the dialect of the packets; `None` if messages are no packets.
    pub fn dialect(&self) -> Option<&'c str> {
        (!self.conversation.is_foreign()).then(|| self.conversation.dialect().name())
    }

    /// Whether packets are JSON in text messages.
    pub fn is_json(&self) -> bool {
        self.conversation.json() == Some(true)
    }

    /// Replaces the rules. Messages that wait are not tested again.
    pub fn set_rules(&mut self, rules: Arc<[Rule]>) {
        self.rules = rules;
    }

    /// The bytes to send in the direction in which `from` sends. The caller removes them.
    pub fn output(&mut self, from: Side) -> &mut Vec<u8> {
        &mut self.half(from).output
    }

    /// Whether more bytes of this side may be received. False while too many bytes wait.
    pub fn accepts(&self, from: Side) -> bool {
        let half = self.half_ref(from);
        !half.has_ended
            && half.output.len() < limits::INTERCEPT_UNSENT_BYTES
            && half.waiting_bytes() < limits::INTERCEPT_WAITING_BYTES
    }

    /// Whether this side has ended, and all of its bytes were returned.
    pub fn is_finished(&self, from: Side) -> bool {
        let half = self.half_ref(from);
        half.has_ended && half.queue.is_empty() && half.output.is_empty()
    }

    fn half(&mut self, from: Side) -> &mut DirectionQueue<'c> {
        match from {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    fn half_ref(&self, from: Side) -> &DirectionQueue<'c> {
        match from {
            Side::Client => &self.client,
            Side::Server => &self.server,
        }
    }

    /// Receives bytes of a side.
    pub fn receive(&mut self, from: Side, bytes: &[u8], now: Duration, observe: Observer<'_, 'c>) {
        let has_rules = self.rules.iter().any(|rule| rule.concerns(from));
        let half = self.half(from);
        if half.framer.is_at_boundary() {
            half.is_transparent = !has_rules && half.queue.is_empty() && !half.has_diverged;
        }
        if half.is_transparent {
            half.output.extend_from_slice(bytes);
        }
        let mut pieces = Vec::new();
        half.framer.receive(bytes, |piece| pieces.push(piece));
        pieces.into_iter().for_each(|piece| self.process(from, piece, now, observe));
        self.flush_injected(from, observe);
    }

    /// Records that a side sends no more bytes. Its unfinished message is forwarded.
    pub fn receive_eof(&mut self, from: Side, now: Duration, observe: Observer<'_, 'c>) {
        if let Some(rest) = self.half(from).framer.take_rest() {
            self.process(from, rest, now, observe);
        }
        let half = self.half(from);
        half.has_ended = true;
        // A delay is not worth more time than the connection has.
        for waiting in &mut half.queue {
            if matches!(waiting.state, WaitState::Until(_)) {
                waiting.state = WaitState::Until(now);
            }
        }
        self.poll(now, observe);
    }

    /// Explains a piece, and forwards it, queues it or applies a rule.
    fn process(&mut self, from: Side, piece: WirePiece, now: Duration, observe: Observer<'_, 'c>) {
        let before = (piece.kind == CLOSE).then(|| Box::new(self.conversation.clone()));
        let explained = self.explain(from, &piece);
        let half = self.half(from);
        let content = half.read_content(&piece);
        let message = ArrivedMessage { piece, content, explained };
        if half.is_transparent {
            let outcome = message.forwarded_outcome();
            return report(from, outcome, &message, &message.piece.bytes, observe);
        }
        let rule = message
            .explained
            .last()
            .and_then(|last| self.rules.iter().find(|rule| rule.matches(last, self.connection)));
        let action = rule.map(|rule| rule.action().clone());
        let half = self.half(from);
        let must_wait = half.must_wait(message.piece.kind);
        if must_wait || matches!(action, Some(Action::Hold | Action::Delay(_))) {
            half.before_close = half.before_close.take().or(before);
        }
        match action {
            Some(Action::Hold) => self.wait(from, message, (WaitState::Held, now), observe),
            Some(Action::Delay(time)) => {
                self.wait(from, message, (WaitState::Until(now + time), now), observe);
            }
            action if must_wait => self.wait(from, message, (WaitState::Behind(action), now), observe),
            Some(action) => self.apply(from, &message, &action, observe),
            None => self.forward(from, &message, message.forwarded_outcome(), observe),
        }
    }

    /// Explains a piece in the detail that its size permits.
    fn explain(&mut self, from: Side, piece: &WirePiece) -> Vec<Explanation<'c>> {
        let bytes = piece.bytes.len();
        self.conversation.set_detail(if bytes <= limits::INTERCEPT_TREE_BYTES {
            Detail::Tree
        } else if bytes <= limits::INTERCEPT_LINE_BYTES {
            Detail::Line
        } else {
            Detail::Name
        });
        match piece.kind {
            PieceKind::OversizedStart | PieceKind::Oversized => Vec::new(),
            _ => self.conversation.receive(from, &piece.bytes),
        }
    }

    fn wait(
        &mut self,
        from: Side,
        message: ArrivedMessage<'c>,
        (state, since): (WaitState, Duration),
        observe: Observer<'_, 'c>,
    ) {
        let id = self.next_id;
        self.next_id += 1;
        if state == WaitState::Held {
            report(from, Outcome::Held(id), &message, &[], observe);
        }
        self.half(from).queue.push_back(WaitingMessage { id, message, since, state });
    }

    /// Applies an action that does not wait.
    fn apply(
        &mut self,
        from: Side,
        message: &ArrivedMessage<'c>,
        action: &Action,
        observe: Observer<'_, 'c>,
    ) {
        match (action, &message.content) {
            (Action::Drop, _) => self.send(from, message, (Outcome::Dropped, &[]), observe),
            (Action::Repeat(copies), _) => self.repeat(from, message, *copies, observe),
            (Action::Replace(old, new), Some(content)) => {
                match message::replace_all(&content.payload, old.as_bytes(), new.as_bytes()) {
                    Some(payload) => {
                        let sent = content.with(&payload, from).encode();
                        self.send(from, message, (Outcome::Changed, &sent), observe);
                    }
                    None => self.forward(from, message, Outcome::Forwarded, observe),
                }
            }
            (Action::Break(fault), Some(content)) => {
                let sent = content.with(&content.payload, from).encode_with(*fault);
                self.send(from, message, (Outcome::Changed, &sent), observe);
            }
            _ => self.forward(from, message, message.forwarded_outcome(), observe),
        }
    }

    /// Forwards a message and its copies. A copy of a compressed message is uncompressed, because
    /// the same bytes would inflate to something else.
    fn repeat(&mut self, from: Side, message: &ArrivedMessage<'c>, copies: u32, observe: Observer<'_, 'c>) {
        let half = self.half(from);
        let mut sent = half.wire_bytes(message);
        let copy = message.uncompressed(from).unwrap_or_else(|| sent.clone());
        (0..copies).for_each(|_| sent.extend_from_slice(&copy));
        half.output.extend_from_slice(&sent);
        report(from, Outcome::Repeated(copies), message, &sent, observe);
    }

    fn forward(
        &mut self,
        from: Side,
        message: &ArrivedMessage<'c>,
        outcome: Outcome,
        observe: Observer<'_, 'c>,
    ) {
        let half = self.half(from);
        let sent = half.wire_bytes(message);
        half.output.extend_from_slice(&sent);
        report(from, outcome, message, &sent, observe);
    }

    /// Sends other bytes instead of a message, or none.
    fn send(
        &mut self,
        from: Side,
        message: &ArrivedMessage<'c>,
        (outcome, sent): (Outcome, &[u8]),
        observe: Observer<'_, 'c>,
    ) {
        let half = self.half(from);
        half.has_diverged = true;
        half.output.extend_from_slice(sent);
        let again = self.explain_sent(from, sent);
        report_sent(from, outcome, message, (sent, &again), observe);
    }

    fn explain_sent(&self, from: Side, sent: &[u8]) -> Vec<Explanation<'c>> {
        if sent.is_empty() {
            return Vec::new();
        }
        let conversation = self.half_ref(from).before_close.as_deref().unwrap_or(&self.conversation);
        conversation.clone().receive(from, sent)
    }

    /// Sends the messages whose wait is over. Returns the time of the next call.
    pub fn poll(&mut self, now: Duration, observe: Observer<'_, 'c>) -> Option<Duration> {
        for from in [Side::Client, Side::Server] {
            while self.half(from).is_due(now) {
                let Some(waiting) = self.half(from).queue.pop_front() else { break };
                match &waiting.state {
                    WaitState::Behind(Some(action)) => self.apply(from, &waiting.message, action, observe),
                    _ => {
                        let outcome = Outcome::Delayed(now.saturating_sub(waiting.since));
                        self.forward(from, &waiting.message, outcome, observe);
                    }
                }
                self.half(from).remove_close(waiting.message.piece.kind);
            }
            self.flush_injected(from, observe);
        }
        self.client.next_due().into_iter().chain(self.server.next_due()).min()
    }

    /// Decides about a held message. A message after another held one is forwarded in its turn; a
    /// substitute leaves at once. Returns `false` if no message with this number is held.
    pub fn decide(&mut self, id: u64, decision: &Decision, now: Duration, observe: Observer<'_, 'c>) -> bool {
        let is_it = |waiting: &WaitingMessage<'_>| waiting.id == id && waiting.state == WaitState::Held;
        let sides = [Side::Client, Side::Server];
        let found =
            sides.into_iter().find_map(|from| Some((from, self.half(from).queue.iter().position(is_it)?)));
        let Some((from, at)) = found else { return false };
        if *decision == Decision::Forward {
            self.half(from).queue[at].state = WaitState::Until(now);
        } else if let Some(WaitingMessage { message, .. }) = self.half(from).queue.remove(at) {
            match decision {
                Decision::Forward | Decision::Drop => {
                    self.send(from, &message, (Outcome::Dropped, &[]), observe);
                }
                Decision::Repeat(copies) => self.repeat(from, &message, *copies, observe),
                Decision::Replace(substitute) => {
                    let key = message.content.as_ref().and_then(|content| content.key);
                    let sent = substitute.encode(from, key);
                    self.send(from, &message, (Outcome::Changed, &sent), observe);
                }
            }
            self.half(from).remove_close(message.piece.kind);
        }
        self.poll(now, observe);
        true
    }

    /// Sends bytes for a side although it sent nothing. They follow the message that is being
    /// forwarded, and precede messages that wait.
    pub fn inject(&mut self, from: Side, substitute: &Substitute, observe: Observer<'_, 'c>) {
        let bytes = substitute.encode(from, None);
        self.half(from).injected.push(bytes);
        self.flush_injected(from, observe);
    }

    fn flush_injected(&mut self, from: Side, observe: Observer<'_, 'c>) {
        let half = self.half(from);
        if half.injected.is_empty() || half.is_transparent && !half.framer.is_at_boundary() {
            return;
        }
        for sent in std::mem::take(&mut half.injected) {
            self.half(from).output.extend_from_slice(&sent);
            let again = self.explain_sent(from, &sent);
            observe(&Observation {
                from,
                outcome: Outcome::Injected,
                received: &[],
                content: None,
                explained: &[],
                sent: &sent,
                sent_explained: &again,
            });
        }
    }
}

/// Reports a message, and the bytes that forward it.
fn report<'c>(
    from: Side,
    outcome: Outcome,
    message: &ArrivedMessage<'c>,
    sent: &[u8],
    observe: Observer<'_, 'c>,
) {
    report_sent(from, outcome, message, (sent, &[]), observe);
}

/// Reports a message, and the bytes that were sent for it with their explanations.
fn report_sent<'c>(
    from: Side,
    outcome: Outcome,
    message: &ArrivedMessage<'c>,
    (sent, sent_explained): (&[u8], &[Explanation<'c>]),
    observe: Observer<'_, 'c>,
) {
    let ArrivedMessage { piece, content, explained } = message;
    let (received, content) = (&piece.bytes[..], content.as_ref());
    observe(&Observation { from, outcome, received, content, explained, sent, sent_explained });
}

#[cfg(test)]
mod tests;
