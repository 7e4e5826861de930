//! Clients that misbehave, or that use their limits to the full.

use std::sync::Arc;
use std::time::Duration;

use crate::game::bots::Nuisance;
use crate::game::{About, Dice};
use crate::packet::Dialect;
use crate::ws::frame::{self, Opcode};
use crate::ws::handshake;

/// The behaviour of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Sends random bytes instead of frames.
    Garbage,
    /// Sends malformed MessagePack, unknown codes and wrong arguments in valid frames.
    BrokenPackets,
    /// Sends more messages than its budget allows.
    Flood,
    /// Sends nearly as many messages as its budget allows.
    AtBudget,
    /// Stops in the middle of a frame.
    HalfFrame,
    /// Never sends `hello`.
    NoHello,
    /// Sends `hello` late, but in time.
    LateHello,
    /// Stops in the middle of its request.
    HalfRequest,
    /// Disconnects as soon as it has connected, and connects again.
    Storm,
    /// Plays under a name that other players have, and does what reaches others, such as founding
    /// clans, as fast as its limits allow.
    Spam,
    /// Watches without a body.
    Watcher,
    /// Takes a seat with a key of its own and disconnects, again and again, so that many seats wait.
    SeatHolder,
}

impl Kind {
    /// All behaviours.
    pub const ALL: [Kind; 12] = [
        Kind::Garbage,
        Kind::BrokenPackets,
        Kind::Flood,
        Kind::AtBudget,
        Kind::HalfFrame,
        Kind::NoHello,
        Kind::LateHello,
        Kind::HalfRequest,
        Kind::Storm,
        Kind::Spam,
        Kind::Watcher,
        Kind::SeatHolder,
    ];

    /// The name in the summary.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Garbage => "hostile: garbage",
            Kind::BrokenPackets => "hostile: broken packets",
            Kind::Flood => "hostile: flood",
            Kind::AtBudget => "hostile: at the budget",
            Kind::HalfFrame => "hostile: half a frame",
            Kind::NoHello => "hostile: no hello",
            Kind::LateHello => "hostile: late hello",
            Kind::HalfRequest => "hostile: half a request",
            Kind::Storm => "hostile: reconnect storm",
            Kind::Spam => "hostile: spam",
            Kind::Watcher => "hostile: watcher",
            Kind::SeatHolder => "hostile: seat holder",
        }
    }

    /// Whether it breaks no rule, so that the server must not close it for one.
    pub fn is_lawful(self) -> bool {
        use Kind::{AtBudget, LateHello, SeatHolder, Spam, Storm, Watcher};
        matches!(self, AtBudget | LateHello | Storm | Spam | Watcher | SeatHolder)
    }
}

/// See the [module](self).
#[derive(Debug)]
pub struct Hostile {
    /// The behaviour.
    pub kind: Kind,
    game: &'static About,
    dialect: Arc<Dialect>,
    dice: Dice,
    began: Duration,
    /// When the response arrived.
    opened: Option<Duration>,
    next: Duration,
    sequence: u32,
    /// Whether it has begun what it can end again.
    has_begun: bool,
    has_said_hello: bool,
}

impl Hostile {
    /// A client that begins at `now`.
    pub fn new(
        kind: Kind,
        (game, dialect): (&'static About, Arc<Dialect>),
        seed: u64,
        now: Duration,
    ) -> Hostile {
        Hostile {
            kind,
            game,
            dialect,
            dice: Dice::new(seed),
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
        if self.kind == Kind::HalfRequest {
            request.truncate(request.len() / 2);
        }
        request
    }

    /// Handles received bytes, which begin with the response.
    pub fn heard(&mut self, now: Duration) {
        self.opened.get_or_insert(now);
    }

    /// Appends what the client sends now; returns whether it disconnects.
    pub fn act(&mut self, now: Duration, out: &mut Vec<u8>) -> bool {
        let Some(opened) = self.opened else { return now > self.began + Duration::from_secs(20) };
        if now < self.next {
            return false;
        }
        self.next = now + Duration::from_millis(100);
        let age = now.saturating_sub(opened);
        match self.kind {
            Kind::Garbage => out.extend((0..40).map(|_| self.dice.bits() as u8)),
            Kind::BrokenPackets => self.broken(out),
            Kind::Flood => (0..40).for_each(|_| self.step(out)),
            Kind::AtBudget => (0..11).for_each(|_| self.step(out)),
            Kind::HalfFrame => {
                self.hello(Nuisance::Enter, out);
                if !self.has_begun {
                    self.has_begun = true;
                    out.extend_from_slice(&[0x82, 0xfe, 0x01]);
                }
            }
            Kind::NoHello | Kind::HalfRequest => {}
            Kind::LateHello if age < Duration::from_secs(8) => {}
            Kind::LateHello => self.step(out),
            Kind::Storm => return true,
            Kind::SeatHolder if self.has_said_hello => return true,
            Kind::SeatHolder => {
                self.hello(Nuisance::Enter, out);
                self.next = now + Duration::from_millis(200);
            }
            Kind::Spam => self.share(out),
            Kind::Watcher => {
                self.hello(Nuisance::Watch, out);
                let player = (self.dice.below(3) > 0).then(|| self.dice.below(40) as u16);
                if self.dice.below(10) == 0 {
                    self.say(Nuisance::Follow(player), out);
                }
            }
        }
        age > Duration::from_secs(25)
    }

    fn say(&mut self, nuisance: Nuisance, out: &mut Vec<u8>) {
        let message = (self.game.bots.nuisance)(&self.dialect, nuisance);
        if !message.is_empty() {
            write(out, Opcode::Binary, &message);
        }
    }

    /// Comes, once.
    fn hello(&mut self, how: Nuisance, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.has_said_hello, true) {
            self.say(how, out);
        }
    }

    fn next_sequence(&mut self) -> u32 {
        self.sequence += 1;
        self.sequence
    }

    /// One harmless message.
    fn step(&mut self, out: &mut Vec<u8>) {
        self.hello(Nuisance::Enter, out);
        let nuisance = Nuisance::Act(self.next_sequence(), self.dice.bits());
        self.say(nuisance, out);
    }

    fn share(&mut self, out: &mut Vec<u8>) {
        self.hello(Nuisance::Enter, out);
        self.has_begun = !self.has_begun;
        let nuisance = Nuisance::Share(self.next_sequence(), self.has_begun);
        self.say(nuisance, out);
    }

    fn broken(&mut self, out: &mut Vec<u8>) {
        self.hello(Nuisance::Enter, out);
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
