//! Hostile clients in virtual time, for any game.

use std::sync::Arc;
use std::time::Duration;

use crate::game::bots::StressPacket;
use crate::game::{BotRng, GameInfo};
use crate::packet::Dialect;
use crate::testing::hostile::{HostileKind, garbage, write_frame};
use crate::ws::frame::Opcode;
use crate::ws::handshake;

/// A misbehaving client.
#[derive(Debug)]
pub struct MisbehavingClient {
    /// The behaviour.
    pub kind: HostileKind,
    game: &'static GameInfo,
    dialect: Arc<Dialect>,
    rng: BotRng,
    began: Duration,
    /// Time at which the response arrived.
    opened: Option<Duration>,
    next: Duration,
    sequence: u32,
    /// For a half frame: whether it was sent. For shared actions: whether the last action started
    /// something.
    has_begun: bool,
    has_sent_hello: bool,
}

impl MisbehavingClient {
    /// Creates a client that starts at `now`.
    pub fn new(
        kind: HostileKind,
        (game, dialect): (&'static GameInfo, Arc<Dialect>),
        seed: u64,
        now: Duration,
    ) -> MisbehavingClient {
        MisbehavingClient {
            kind,
            game,
            dialect,
            rng: BotRng::new(seed),
            began: now,
            opened: None,
            next: now,
            sequence: 0,
            has_begun: false,
            has_sent_hello: false,
        }
    }

    /// The request of the client; only a part of it for a client that never completes its request.
    pub fn request(&self, target: &str) -> Vec<u8> {
        let key = handshake::encode_key([7; handshake::NONCE_BYTES]);
        let mut request = handshake::request("localhost:3000", target, &key, &[]);
        if self.kind == HostileKind::Slowloris {
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
            HostileKind::Garbage => out.extend(garbage(&mut self.rng, 40)),
            HostileKind::BrokenPackets => self.broken(out),
            HostileKind::MessageFlood => (0..40).for_each(|_| self.step(out)),
            HostileKind::AtBudget => (0..11).for_each(|_| self.step(out)),
            HostileKind::HalfFrame => {
                self.hello(StressPacket::Join, out);
                if !self.has_begun {
                    self.has_begun = true;
                    out.extend_from_slice(&[0x82, 0xfe, 0x01]);
                }
            }
            HostileKind::LateHello if age < Duration::from_secs(8) => {}
            HostileKind::LateHello => self.step(out),
            HostileKind::Churn => return true,
            HostileKind::SeatHolders if self.has_sent_hello => return true,
            HostileKind::SeatHolders => {
                self.hello(StressPacket::Join, out);
                self.next = now + Duration::from_millis(200);
            }
            HostileKind::Spam => self.share(out),
            HostileKind::Spectator => {
                self.hello(StressPacket::Watch, out);
                let player = (self.rng.below(3) > 0).then(|| self.rng.below(40) as u16);
                if self.rng.below(10) == 0 {
                    self.send(StressPacket::Spectate(player), out);
                }
            }
            // The other kinds send nothing after the upgrade.
            _ => {}
        }
        age > Duration::from_secs(25)
    }

    fn send(&mut self, nuisance: StressPacket, out: &mut Vec<u8>) {
        let message = (self.game.checks.stress_packet)(&self.dialect, nuisance);
        if !message.is_empty() {
            write_frame(out, Opcode::Binary, &message);
        }
    }

    /// Sends a join packet unless the client has already sent one.
    fn hello(&mut self, how: StressPacket, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.has_sent_hello, true) {
            self.send(how, out);
        }
    }

    fn next_sequence(&mut self) -> u32 {
        self.sequence += 1;
        self.sequence
    }

    /// Sends one harmless command.
    fn step(&mut self, out: &mut Vec<u8>) {
        self.hello(StressPacket::Join, out);
        let nuisance = StressPacket::Act(self.next_sequence(), self.rng.bits());
        self.send(nuisance, out);
    }

    fn share(&mut self, out: &mut Vec<u8>) {
        self.hello(StressPacket::Join, out);
        self.has_begun = !self.has_begun;
        let nuisance = StressPacket::Share(self.next_sequence(), self.has_begun);
        self.send(nuisance, out);
    }

    fn broken(&mut self, out: &mut Vec<u8>) {
        self.hello(StressPacket::Join, out);
        match self.rng.below(40) {
            0 => write_frame(out, Opcode::Binary, b"\xc1"),
            1 => write_frame(out, Opcode::Text, b"text"),
            2 => write_frame(out, Opcode::Close, b"\x03\xe8"),
            number => {
                let code = [b"\x92\x7e\x90".as_slice(), b"\x92\x05\x90", b"\x92\xa1\x61\x91\xa1\x62"];
                write_frame(out, Opcode::Binary, code[number as usize % code.len()]);
            }
        }
    }
}
