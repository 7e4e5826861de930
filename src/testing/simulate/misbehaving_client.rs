//! Clients that misbehave, or that use their limits to the full.

use std::sync::Arc;
use std::time::Duration;

use crate::game::bots::StressPacket;
use crate::game::{BotRng, GameInfo};
use crate::packet::Dialect;
use crate::ws::frame::{self, Opcode};
use crate::ws::handshake;

/// The behaviour of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SimMisbehavior {
    /// Sends random bytes instead of frames.
    Garbage,
    /// Sends malformed MessagePack, unknown codes and wrong arguments in valid frames.
    BrokenPackets,
    /// Sends more messages than its rate limit allows.
    Flood,
    /// Sends nearly as many messages as its rate limit allows.
    AtBudget,
    /// Stops in the middle of a frame.
    HalfFrame,
    /// Never sends `hello`.
    NoHello,
    /// Sends `hello` late, but before the deadline.
    LateHello,
    /// Stops in the middle of its request.
    HalfRequest,
    /// Disconnects directly after connecting, and connects again.
    Storm,
    /// Plays under a name that other players have, and sends commands that are visible to others,
    /// such as founding clans, as fast as its limits allow.
    Spam,
    /// Spectates and has no player.
    Watcher,
    /// Repeatedly takes a seat with a new key and disconnects, so that many seats are suspended.
    SeatHolder,
}

impl SimMisbehavior {
    /// All behaviours.
    pub const ALL: [SimMisbehavior; 12] = [
        SimMisbehavior::Garbage,
        SimMisbehavior::BrokenPackets,
        SimMisbehavior::Flood,
        SimMisbehavior::AtBudget,
        SimMisbehavior::HalfFrame,
        SimMisbehavior::NoHello,
        SimMisbehavior::LateHello,
        SimMisbehavior::HalfRequest,
        SimMisbehavior::Storm,
        SimMisbehavior::Spam,
        SimMisbehavior::Watcher,
        SimMisbehavior::SeatHolder,
    ];

    /// Name in the summary.
    pub fn name(self) -> &'static str {
        match self {
            SimMisbehavior::Garbage => "hostile: garbage",
            SimMisbehavior::BrokenPackets => "hostile: broken packets",
            SimMisbehavior::Flood => "hostile: flood",
            SimMisbehavior::AtBudget => "hostile: at the budget",
            SimMisbehavior::HalfFrame => "hostile: half a frame",
            SimMisbehavior::NoHello => "hostile: no hello",
            SimMisbehavior::LateHello => "hostile: late hello",
            SimMisbehavior::HalfRequest => "hostile: half a request",
            SimMisbehavior::Storm => "hostile: reconnect storm",
            SimMisbehavior::Spam => "hostile: spam",
            SimMisbehavior::Watcher => "hostile: watcher",
            SimMisbehavior::SeatHolder => "hostile: seat holder",
        }
    }

    /// Whether it breaks no rule, so that the server must not close it.
    pub fn breaks_no_rule(self) -> bool {
        use SimMisbehavior::{AtBudget, LateHello, SeatHolder, Spam, Storm, Watcher};
        matches!(self, AtBudget | LateHello | Storm | Spam | Watcher | SeatHolder)
    }
}

/// A misbehaving client.
#[derive(Debug)]
pub struct MisbehavingClient {
    /// The behaviour.
    pub kind: SimMisbehavior,
    game: &'static GameInfo,
    dialect: Arc<Dialect>,
    dice: BotRng,
    began: Duration,
    /// Time at which the response arrived.
    opened: Option<Duration>,
    next: Duration,
    sequence: u32,
    /// Whether the half frame was sent, or whether the last shared action was a start.
    has_begun: bool,
    has_said_hello: bool,
}

impl MisbehavingClient {
    /// Creates a client that starts at `now`.
    pub fn new(
        kind: SimMisbehavior,
        (game, dialect): (&'static GameInfo, Arc<Dialect>),
        seed: u64,
        now: Duration,
    ) -> MisbehavingClient {
        MisbehavingClient {
            kind,
            game,
            dialect,
            dice: BotRng::new(seed),
            began: now,
            opened: None,
            next: now,
            sequence: 0,
            has_begun: false,
            has_said_hello: false,
        }
    }

    /// The request, or the part of it that the client sends.
    pub fn request(&self, target: &str) -> Vec<u8> {
        let key = handshake::encode_key([7; handshake::NONCE_BYTES]);
        let mut request = handshake::request("localhost:3000", target, &key, &[]);
        if self.kind == SimMisbehavior::HalfRequest {
            request.truncate(request.len() / 2);
        }
        request
    }

    /// Handles received bytes, which start with the response.
    pub fn on_received(&mut self, now: Duration) {
        self.opened.get_or_insert(now);
    }

    /// Appends the bytes that the client sends now. Returns whether it disconnects.
    pub fn act(&mut self, now: Duration, out: &mut Vec<u8>) -> bool {
        let Some(opened) = self.opened else { return now > self.began + Duration::from_secs(20) };
        if now < self.next {
            return false;
        }
        self.next = now + Duration::from_millis(100);
        let age = now.saturating_sub(opened);
        match self.kind {
            SimMisbehavior::Garbage => out.extend((0..40).map(|_| self.dice.bits() as u8)),
            SimMisbehavior::BrokenPackets => self.broken(out),
            SimMisbehavior::Flood => (0..40).for_each(|_| self.step(out)),
            SimMisbehavior::AtBudget => (0..11).for_each(|_| self.step(out)),
            SimMisbehavior::HalfFrame => {
                self.hello(StressPacket::Enter, out);
                if !self.has_begun {
                    self.has_begun = true;
                    out.extend_from_slice(&[0x82, 0xfe, 0x01]);
                }
            }
            SimMisbehavior::NoHello | SimMisbehavior::HalfRequest => {}
            SimMisbehavior::LateHello if age < Duration::from_secs(8) => {}
            SimMisbehavior::LateHello => self.step(out),
            SimMisbehavior::Storm => return true,
            SimMisbehavior::SeatHolder if self.has_said_hello => return true,
            SimMisbehavior::SeatHolder => {
                self.hello(StressPacket::Enter, out);
                self.next = now + Duration::from_millis(200);
            }
            SimMisbehavior::Spam => self.share(out),
            SimMisbehavior::Watcher => {
                self.hello(StressPacket::Spectate, out);
                let player = (self.dice.below(3) > 0).then(|| self.dice.below(40) as u16);
                if self.dice.below(10) == 0 {
                    self.send(StressPacket::Follow(player), out);
                }
            }
        }
        age > Duration::from_secs(25)
    }

    fn send(&mut self, nuisance: StressPacket, out: &mut Vec<u8>) {
        let message = (self.game.checks.stress_packet)(&self.dialect, nuisance);
        if !message.is_empty() {
            write(out, Opcode::Binary, &message);
        }
    }

    /// Joins, once.
    fn hello(&mut self, how: StressPacket, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.has_said_hello, true) {
            self.send(how, out);
        }
    }

    fn next_sequence(&mut self) -> u32 {
        self.sequence += 1;
        self.sequence
    }

    /// Sends one harmless command.
    fn step(&mut self, out: &mut Vec<u8>) {
        self.hello(StressPacket::Enter, out);
        let nuisance = StressPacket::Act(self.next_sequence(), self.dice.bits());
        self.send(nuisance, out);
    }

    fn share(&mut self, out: &mut Vec<u8>) {
        self.hello(StressPacket::Enter, out);
        self.has_begun = !self.has_begun;
        let nuisance = StressPacket::Share(self.next_sequence(), self.has_begun);
        self.send(nuisance, out);
    }

    fn broken(&mut self, out: &mut Vec<u8>) {
        self.hello(StressPacket::Enter, out);
        match self.dice.below(40) {
            0 => write(out, Opcode::Binary, b"\xc1"),
            1 => write(out, Opcode::Text, b"text"),
            2 => write(out, Opcode::Close, b"\x03\xe8"),
            number => {
                let code = [b"\x92\x7e\x90".as_slice(), b"\x92\x05\x90", b"\x92\xa1\x61\x91\xa1\x62"];
                write(out, Opcode::Binary, code[number as usize % code.len()]);
            }
        }
    }
}

/// Appends a masked frame.
fn write(out: &mut Vec<u8>, opcode: Opcode, payload: &[u8]) {
    frame::write(out, opcode, Some([1, 2, 3, 4]), payload);
}
