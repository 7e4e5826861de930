//! An agent in lockstep: it runs the room's world itself, and its agent hears what a stream would have
//! said.

use std::sync::Arc;
use std::time::Duration;

use super::follower::{Follower, Heard};
use crate::game::agent::{Agent, Deeds, Excuse, Outcome, Sight};
use crate::game::lockstep::MODE;
use crate::game::{About, Messages};
use crate::packet::{Decoded, Dialect, Direction, Value};

/// See the [module](self).
pub struct InLockstep<A> {
    agent: A,
    follower: Follower,
    dialect: Arc<Dialect>,
    told: Messages,
    /// Reports that name its player.
    desyncs: u64,
}

impl<A: Agent> InLockstep<A> {
    /// This agent, in lockstep with a room of this game.
    pub fn new(about: &'static About, dialect: Arc<Dialect>, agent: A) -> InLockstep<A> {
        let follower = Follower::new(about, Arc::clone(&dialect));
        InLockstep { agent, follower, dialect, told: Messages::default(), desyncs: 0 }
    }

    /// The world.
    pub fn follower(&mut self) -> &mut Follower {
        &mut self.follower
    }

    /// The packet `hello` with the bit of lockstep.
    fn in_lockstep(&self, message: Vec<u8>) -> Vec<u8> {
        let Ok(packet) = self.dialect.decode(Direction::ToServer, &message) else { return message };
        let Some(at) = packet.row.argument("mode").filter(|_| packet.row.name == "hello") else {
            return message;
        };
        let mut values = packet.values.clone();
        let mode = values[at].as_u64().unwrap_or_default();
        values[at] = Value::from(mode | u64::from(MODE));
        self.dialect.encode(Direction::ToServer, "hello", &values).unwrap_or(message)
    }

    /// Packets of lockstep that the follower takes, and the ticks that it then runs.
    fn follow(&mut self, packet: &Decoded<'_>, now: Duration, out: &mut Outcome) -> bool {
        self.told.clear();
        match self.follower.hear(packet, &mut out.packets, &mut self.told) {
            Ok(Heard::Other) => return false,
            Ok(Heard::Report(report)) => {
                let player = self.follower.player().map_or(0, |player| player.0);
                if report.names(&format!("player {player}")) {
                    self.desyncs += 1;
                    let fields: Vec<String> = report.fields.iter().map(|(_, one)| one.to_string()).collect();
                    out.fault("desync", format!("after tick {}: {}", report.tick, fields.join("; ")));
                }
            }
            Ok(Heard::Began(_) | Heard::Stepped(_) | Heard::Noted) => {}
            Err(reason) => out.fault("snapshot", reason),
        }
        let mut is_update = false;
        for message in self.told.iter() {
            match self.dialect.decode(Direction::ToClient, message) {
                Ok(packet) => {
                    self.agent.hear(&packet, now, out);
                    is_update |= std::mem::take(&mut out.is_update);
                }
                Err(error) => out.fault(error.name(), error.to_string()),
            }
        }
        // A tick in which nothing moves is an update as well: its frame has come.
        out.is_update = is_update || packet.row.name == crate::game::lockstep::COMMAND_FRAME;
        packet.row.name != "spawned"
    }
}

impl<A: Agent> Agent for InLockstep<A> {
    fn name(&self) -> &str {
        self.agent.name()
    }

    fn begin(&mut self, out: &mut Outcome) {
        self.agent.begin(out);
        let packets = std::mem::take(&mut out.packets);
        out.packets = packets.into_iter().map(|message| self.in_lockstep(message)).collect();
    }

    fn hear(&mut self, packet: &Decoded<'_>, now: Duration, out: &mut Outcome) {
        // Its own view says when its body is there.
        if !self.follow(packet, now, out) && packet.row.name != "spawned" {
            self.agent.hear(packet, now, out);
        }
    }

    fn act(&mut self, now: Duration, out: &mut Outcome) {
        self.agent.act(now, out);
    }

    fn is_playing(&self) -> bool {
        self.agent.is_playing()
    }

    fn sight(&self) -> Sight {
        self.agent.sight()
    }

    fn excuse(&mut self, excuse: Excuse) {
        self.agent.excuse(excuse);
    }

    fn take_deeds(&mut self) -> Deeds {
        let mut deeds = self.agent.take_deeds();
        let counts = self.follower.counts();
        deeds.0.push(("checksums", "checksums sent", counts.checksums));
        deeds
    }

    fn marks(&self) -> &[u32] {
        self.agent.marks()
    }
}
