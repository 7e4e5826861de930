//! The default bots of simple games. They send random packets of the table, store the packets that
//! they receive, and check what any client can check. A game may supply a better
//! [`BotPolicy`].

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use tickwire_sim::PlayerId;

use super::bot_policy::{BotPolicy, BotView};
use super::entities::EntityError;
use super::random_packet::{self, COMMON};
use super::received_packets::{ReceivedPackets, is_event};
use super::rows::GameAction as _;
use super::simple_game::SimpleGame;
use crate::game::BotRng;
use crate::game::bots::ack_checker::{AckChecker, choose_target_tick};
use crate::game::bots::{Agent, AgentOutput, BotBehavior, BotSpec, BotStats, Tolerance, ViewStats};
use crate::game::command_acks::has_command_acks;
use crate::packet::{DecodedPacket, Dialect, Direction, Value, lane_packets};

/// Interval between two pings.
const PING_EVERY: Duration = Duration::from_millis(2_500);
/// Minimum and maximum interval between two random packets of a bot.
const PAUSE: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(600)];
/// One in this many packets of a playing bot has extreme values.
const ABSURD_ONE_IN: u32 = 16;
/// Rules of `error` packets that no bot should cause. Other rules belong to the game, or concern
/// extreme values.
const UNEXPECTED_ERRORS: [&str; 6] =
    ["misfit", "repeated", "already_playing", "unknown_issuer", "message_rate", "byte_rate"];
/// A bot for any simple game.
pub struct RandomBot<S: SimpleGame> {
    pub(super) dialect: Arc<Dialect>,
    name: String,
    behavior: BotBehavior,
    /// Whether the bot sends no extreme values, because no person would send them.
    plays_with_people: bool,
    checks: bool,
    rng: BotRng,
    tactics: Option<Box<dyn BotPolicy<S::Action>>>,
    /// Its player, according to `spawned`.
    pub(super) player: Option<PlayerId>,
    pub(super) received: ReceivedPackets,
    /// See [`Agent::reliable_hashes`].
    marks: Vec<u32>,
    welcomed: bool,
    /// The tick of the newest state, and of the newest pong.
    ticks: [Option<u32>; 2],
    pings: VecDeque<u32>,
    nonce: u32,
    pinged: Option<Duration>,
    sequence: u32,
    /// Checks the acks of its commands; `None` if the dialect has no acks.
    acks: Option<AckChecker>,
    /// Number of sent packets that may still cause an `error` packet.
    errors: u32,
    acts: Duration,
    is_late: bool,
    /// Whether datagrams may overtake the stream.
    has_lane: bool,
    /// The newest tick of each row.
    newest: BTreeMap<String, u32>,
    game: PhantomData<fn() -> S>,
}

impl<S: SimpleGame> RandomBot<S> {
    /// Creates the bot of this specification.
    pub fn new(part: &BotSpec) -> RandomBot<S> {
        let mut rng = BotRng::new(part.seed);
        let acts = rng.between(Duration::ZERO, PAUSE[1]);
        RandomBot {
            dialect: Arc::clone(&part.dialect),
            name: part.player_name(),
            behavior: part.behavior,
            plays_with_people: part.spares_visitors,
            checks: part.is_checking,
            tactics: S::bot_policy(),
            rng,
            player: None,
            received: ReceivedPackets::new(&part.dialect),
            marks: Vec::new(),
            welcomed: false,
            ticks: [None; 2],
            pings: VecDeque::new(),
            nonce: 0,
            pinged: None,
            sequence: 0,
            acks: has_command_acks(&part.dialect).then(AckChecker::default),
            errors: 0,
            acts,
            is_late: false,
            has_lane: false,
            newest: BTreeMap::new(),
            game: PhantomData,
        }
    }

    fn send_random(&mut self, name: &str, values: &[(&str, Value)], is_absurd: bool, out: &mut AgentOutput) {
        let RandomBot { dialect, rng, .. } = self;
        let row = dialect.row(Direction::ToServer, name);
        out.packets
            .extend(row.and_then(|row| random_packet::random_packet(dialect, row, values, rng, is_absurd)));
    }

    /// Sends one random packet with an action of the player.
    fn act_at_random(&mut self, now: Duration, out: &mut AgentOutput) {
        if now < self.acts {
            return;
        }
        self.acts = now + self.rng.between(PAUSE[0], PAUSE[1]);
        let rows = self.dialect.rows(Direction::ToServer).filter(|row| !COMMON.contains(&&*row.name));
        let names: Vec<String> = rows.map(|row| row.name.clone()).collect();
        let Some(name) = self.rng.choose(&names) else { return };
        let is_absurd = self.is_absurd_now();
        self.send(name, Vec::new(), is_absurd, out);
    }

    /// Whether the bot sends extreme values now.
    fn is_absurd_now(&mut self) -> bool {
        let may_be = self.behavior == BotBehavior::Play && !self.plays_with_people;
        may_be && self.rng.below(ABSURD_ONE_IN) == 0
    }

    fn send(&mut self, name: &str, mut values: Vec<(&str, Value)>, is_absurd: bool, out: &mut AgentOutput) {
        self.sequence += 1;
        self.errors += 1;
        let tick = choose_target_tick(self.sequence, self.ticks[0].max(self.ticks[1]));
        values.push(("sequence", self.sequence.into()));
        values.push(("tick", tick.map_or(Value::Nil, Value::from)));
        let before = out.packets.len();
        self.send_random(name, &values, is_absurd, out);
        if let Some(acks) = self.acks.as_mut().filter(|_| out.packets.len() > before) {
            acks.on_sent(self.sequence, tick);
        }
    }

    /// Checks what any client can check.
    fn check_packet(&mut self, packet: &DecodedPacket<'_>, out: &mut AgentOutput) {
        let name = packet.row.name.as_str();
        if (name == "welcome") == self.welcomed {
            out.add_fault("welcome", format!("{packet}: the welcome comes once, and first"));
        }
        let tick = packet.integer::<u32>("tick");
        match name {
            "spawned" if self.player.is_some() => {
                out.add_fault("spawned", format!("{packet}: it plays already, as {:?}", self.player));
            }
            "spawned" if packet.integer("player").is_none_or(|player: u16| player == 0) => {
                out.add_fault("spawned", format!("{packet}: no player's number"));
            }
            "pong" => {
                let (nonce, expected) = (packet.integer::<u32>("nonce"), self.pings.pop_front());
                if expected.is_none() || nonce != expected {
                    out.add_fault("pong", format!("{packet}: it asked with {expected:?}"));
                }
                if tick < self.ticks[1] {
                    out.add_fault(
                        "tick_not_increased",
                        format!("{packet}: the pong before had {:?}", self.ticks[1]),
                    );
                }
                self.ticks[1] = tick;
            }
            "state" => {
                let is_same = tick == self.ticks[0] && !self.has_lane;
                if tick.is_some() && (tick < self.ticks[0] || is_same) {
                    out.add_fault(
                        "tick_not_increased",
                        format!("{packet}: the state before had {:?}", self.ticks[0]),
                    );
                }
                self.ticks[0] = tick;
            }
            "error" => self.judge_error(packet, out),
            _ => {}
        }
        if let Some(acks) = &mut self.acks {
            // A state by datagram may arrive between the acks of two commands.
            let settled = if name == "state" && !self.has_lane { acks.on_state() } else { Ok(()) };
            let judged = acks.on_packet(packet).and(settled);
            judged.unwrap_or_else(|what| out.add_fault("answer", what));
        }
    }

    fn receive(&mut self, packet: &DecodedPacket<'_>, out: &mut AgentOutput) {
        if self.checks {
            self.check_packet(packet, out);
        }
        let name = packet.row.name.as_str();
        out.saw_update = name == "state" || self.received.entities.contains_key(name);
        match self.received.apply(packet) {
            // Datagrams repeat leaves, and so does the stream after a lane.
            Err(EntityError::UnknownLeave(_)) if self.has_lane => {}
            Err(error) if self.checks => out.add_fault("entities", format!("{packet}: {error}")),
            _ => {}
        }
        match name {
            "welcome" => self.welcomed = true,
            "spawned" => self.player = packet.integer("player").map(PlayerId),
            _ => {}
        }
        if let Some(tactics) = &mut self.tactics {
            let before = out.faults.len();
            tactics.on_packet(packet, out);
            // A state by datagram may overtake the events that explain its changes.
            if !self.checks || self.has_lane {
                out.faults.truncate(before);
            }
        }
        if self.checks && is_event(packet) {
            self.marks.extend(packet_hash(&self.dialect, packet));
        }
    }

    fn judge_error(&mut self, packet: &DecodedPacket<'_>, out: &mut AgentOutput) {
        let rule = packet.text("rule").unwrap_or_default();
        // After a network stall, packets that were sent within the rate limit arrive too fast.
        let is_tolerated = self.is_late && rule.ends_with("_rate");
        let is_wrong = UNEXPECTED_ERRORS.contains(&&*rule) || self.errors == 0;
        if is_wrong && !is_tolerated {
            out.add_fault("server_error", packet.to_string());
        }
        self.errors = self.errors.saturating_sub(1);
    }
}

impl<S: SimpleGame> Agent for RandomBot<S> {
    fn name(&self) -> &str {
        &self.name
    }

    fn on_open(&mut self, out: &mut AgentOutput) {
        let name = Value::from(self.name.as_str());
        // Without a tick, a bot that resumes receives no missed events.
        let values = [("version", 1.into()), ("mode", 1.into()), ("name", name), ("resume_tick", Value::Nil)];
        self.send_random("hello", &values, false, out);
    }

    fn on_packet(&mut self, packet: &DecodedPacket<'_>, _: Duration, out: &mut AgentOutput) {
        if !lane_packets::is_overtaken(&mut self.newest, packet) {
            self.receive(packet, out);
        }
    }

    fn on_datagram_packet(&mut self, packet: &DecodedPacket<'_>, _: Duration, out: &mut AgentOutput) {
        if !lane_packets::is_overtaken(&mut self.newest, packet) {
            self.receive(packet, out);
        }
    }

    fn act(&mut self, now: Duration, out: &mut AgentOutput) {
        if self.pinged.is_none_or(|before| now.saturating_sub(before) >= PING_EVERY) {
            self.pinged = Some(now);
            self.nonce += 1;
            self.pings.push_back(self.nonce);
            self.send_random("ping", &[("nonce", self.nonce.into())], false, out);
        }
        let Some(own) = self.player.filter(|_| self.behavior != BotBehavior::Still) else { return };
        if let Some(tactics) = &mut self.tactics {
            let action = tactics.decide(&BotView::new(own, &self.received), &mut self.rng);
            self.received.clear_events();
            if let Some(action) = action {
                let packet = action.to_packet();
                let values = packet.iter().map(|(name, value)| (name, Value::from(value))).collect();
                self.send(packet.packet(), values, false, out);
            }
            // Also sends extreme values from time to time, which no real player would send.
            if !self.is_absurd_now() {
                return;
            }
        }
        self.act_at_random(now, out);
    }

    fn is_playing(&self) -> bool {
        self.player.is_some()
    }

    fn view_stats(&self) -> ViewStats {
        ViewStats {
            visible_players: self.tactics.as_ref().map_or(0, |tactics| tactics.visible_players()),
            is_waiting: false,
        }
    }

    fn tolerate(&mut self, reason: Tolerance) {
        self.is_late |= matches!(reason, Tolerance::Network | Tolerance::Lane);
        self.has_lane |= reason == Tolerance::Lane;
        self.acks.iter_mut().for_each(|acks| acks.tolerate(reason));
    }

    fn take_stats(&mut self) -> BotStats {
        let mut stats = self.tactics.as_mut().map_or_else(BotStats::default, |tactics| tactics.take_stats());
        stats.add(&self.acks.as_mut().map_or_else(BotStats::default, AckChecker::take_stats));
        stats
    }

    fn reliable_hashes(&self) -> &[u32] {
        &self.marks
    }
}

impl<S: SimpleGame> RandomBot<S> {
    /// Returns the agent as a bot of this game, if it is one.
    pub(super) fn of(agent: &dyn Agent) -> Option<&RandomBot<S>> {
        (agent as &dyn Any).downcast_ref()
    }
}

/// Returns the hash of a packet: FNV-1a of its message.
fn packet_hash(dialect: &Dialect, packet: &DecodedPacket<'_>) -> Option<u32> {
    let message = dialect.encode(Direction::ToClient, &packet.row.name, &packet.values).ok()?;
    Some(message_hash(&message))
}

/// Returns the hash of a message.
pub(super) fn message_hash(message: &[u8]) -> u32 {
    message.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::Game as _;
    use crate::game::simple::Simple;
    use crate::games::tanks::Tanks;
    use crate::packet::PacketTables;

    const WELCOME: &str = r#"["welcome",[1,"0",7,60,60,"0",5]]"#;
    const STATE: &str = r#"["state",[6,1,false,100,null,[],[]]]"#;

    /// Returns the rules that a bot finds violated by these packets.
    fn broken(packets: &[&str]) -> Vec<&'static str> {
        let codes = PacketTables::from_texts(Simple::<Tanks>::TABLES).expect("its table");
        let dialect = codes.dialect("tanks").expect("its dialect");
        let part = BotSpec {
            index: 3,
            count: 4,
            seed: 1,
            crowd_seed: 1,
            behavior: BotBehavior::Walk,
            name: None,
            spares_visitors: false,
            is_checking: true,
            dialect: Arc::clone(&dialect),
        };
        let (mut bot, mut out) = (RandomBot::<Tanks>::new(&part), AgentOutput::default());
        bot.on_open(&mut out);
        let hello = dialect.decode(Direction::ToServer, &out.packets[0]).expect("by the table");
        assert_eq!(hello.to_string(), r#"hello version=1 mode=1 name="bot 3" resume_tick=null"#);
        for text in packets {
            let packet = dialect.decode_json(Direction::ToClient, text).expect("by the table");
            bot.on_packet(&packet, Duration::ZERO, &mut out);
            bot.act(Duration::from_secs(1), &mut out);
        }
        out.faults.iter().map(|fault| fault.rule).collect()
    }

    #[test]
    fn what_any_client_can_judge_is_judged() {
        let spawned = r#"["spawned",[2]]"#;
        let later = STATE.replace("[6,", "[7,");
        let error = |rule: &str| format!(r#"["error",["{rule}","a detail"]]"#);
        let sound = [WELCOME, spawned, STATE, later.as_str(), r#"["pong",[1,8]]"#];
        assert_eq!(broken(&sound), [""; 0]);
        assert_eq!(broken(&[&sound[..], &[&error("no_tank")]].concat()), [""; 0], "it has acted");
        assert_eq!(broken(&[WELCOME, WELCOME]), ["welcome"]);
        assert_eq!(broken(&[STATE]), ["welcome"]);
        assert_eq!(broken(&[WELCOME, spawned, spawned]), ["spawned"]);
        assert_eq!(broken(&[WELCOME, STATE, STATE]), ["tick_not_increased"]);
        assert_eq!(broken(&[WELCOME, r#"["pong",[9,8]]"#]), ["pong"]);
        assert_eq!(broken(&[WELCOME, &error("no_tank")]), ["server_error"], "it has asked for nothing");
        assert_eq!(broken(&[WELCOME, spawned, &error("misfit")]), ["server_error"]);
        let accepted = r#"["command_accepted",[[1,1,6]]]"#;
        assert_eq!(broken(&[WELCOME, spawned, STATE, accepted]), [""; 0], "it has acted once at least");
        assert_eq!(broken(&[WELCOME, accepted]), ["answer"], "it has not acted");
        assert_eq!(broken(&[WELCOME, r#"["hit",[2,2,10,false]]"#]), ["hit"], "a rule of the game");
    }
}
