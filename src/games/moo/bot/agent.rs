//! The agent of this game: a dialect, an observer and a policy.
//!
//! The observer receives every packet and maintains the [`WorldModel`] on which the policy decides.
//! A `WorldModel` by itself is also an observer.

use std::sync::Arc;
use std::time::Duration;

use super::policy::{Intent, Policy};
use super::received::{ServerPacket, Update};
use super::update_merge::UpdateMerge;
use super::world_model::WorldModel;
use crate::connection::session::NATIVE_VERSION;
use crate::game::bots::ack_checker::{AckChecker, choose_target_tick};
use crate::game::bots::names;
use crate::game::bots::{Agent, AgentOutput, BotStats, Tolerance, ViewStats};
use crate::game::command_acks::has_command_acks;
use crate::games::moo::client_packet::{ClientPacket, Mode};
use crate::packet::{DecodedPacket, Dialect};

/// Interval between two pings.
const PING_EVERY: Duration = Duration::from_millis(2_500);
/// Minimum time between the death of a bot and its respawn. It must not be zero, because a respawn
/// within one update looks like survival.
const RESPAWN_DELAY: Duration = Duration::from_millis(1_000);
/// Difference between the respawn delays of two consecutive bots. After [`RESPAWN_DELAYS`] bots,
/// the delays repeat.
const RESPAWN_DELAY_STEP: Duration = Duration::from_millis(250);
/// Number of different respawn delays.
const RESPAWN_DELAYS: usize = 8;
/// Number of skin colours of bots.
const SKINS: usize = 10;

/// Observes the packets of an agent.
pub trait PacketObserver: Send + 'static {
    /// The current model of the world.
    fn world_model(&self) -> &WorldModel;

    /// Called when the agent sends a packet.
    fn on_sent(&mut self, packet: &ClientPacket<'_>);

    /// Called when a server packet arrives at time `now`. Appends the faults that the observer
    /// finds.
    fn on_packet(&mut self, packet: &ServerPacket, now: Duration, out: &mut AgentOutput);

    /// Whether the observer checks the packets.
    fn checks(&self) -> bool {
        false
    }

    /// See [`Agent::tolerate`].
    fn tolerate(&mut self, reason: Tolerance) {
        let _ = reason;
    }

    /// See [`Agent::take_stats`].
    fn take_stats(&mut self) -> BotStats {
        BotStats::default()
    }

    /// See [`Agent::reliable_hashes`].
    fn marks(&self) -> &[u32] {
        &[]
    }
}

impl PacketObserver for WorldModel {
    fn world_model(&self) -> &WorldModel {
        self
    }

    fn on_sent(&mut self, packet: &ClientPacket<'_>) {
        WorldModel::on_sent(self, packet);
    }

    fn on_packet(&mut self, packet: &ServerPacket, _: Duration, _: &mut AgentOutput) {
        WorldModel::apply(self, packet);
    }
}

/// Prefix of the names of bots.
const NAME: &str = "bot ";

/// Whether a name is the name of a bot. A person may have such a name, too.
pub fn is_bot_name(name: &str) -> bool {
    names::is_listed(name) || name.strip_prefix(NAME).is_some_and(|number| number.parse::<usize>().is_ok())
}

/// Plays this game as a client, and lets an observer record or check its packets.
pub struct MooAgent<O> {
    dialect: Arc<Dialect>,
    is_native: bool,
    name: String,
    skin: u8,
    policy: Box<dyn Policy>,
    respawn_delay: Duration,
    /// Time at which the dead bot respawns.
    respawns_at: Option<Duration>,
    sequence: u32,
    /// Checks the acks of the agent's commands. `None` if the observer checks nothing, or the
    /// dialect has no acks.
    acks: Option<AckChecker>,
    /// Whether acks may come after the update that shows the effect of their commands.
    has_late_acks: bool,
    /// Merges the updates by datagram. `None` without a lane.
    merge: Option<UpdateMerge>,
    /// The newest known tick.
    tick: Option<u32>,
    nonce: u32,
    last_ping: Option<Duration>,
    intents: Vec<Intent>,
    /// The observer of the agent's packets.
    pub observer: O,
}

impl<O: PacketObserver> MooAgent<O> {
    /// Creates the agent with this index, starting at 0. Name, colour and respawn delay depend on
    /// the index.
    pub fn new(index: usize, dialect: Arc<Dialect>, policy: Box<dyn Policy>, observer: O) -> MooAgent<O> {
        let is_native = dialect.name() == "native";
        let has_ack_packets = is_native && observer.checks() && has_command_acks(&dialect);
        MooAgent {
            dialect,
            is_native,
            name: format!("{NAME}{index}"),
            skin: (index % SKINS) as u8,
            policy,
            respawn_delay: RESPAWN_DELAY + RESPAWN_DELAY_STEP * (index % RESPAWN_DELAYS) as u32,
            respawns_at: None,
            sequence: 0,
            acks: has_ack_packets.then(AckChecker::default),
            has_late_acks: false,
            merge: None,
            tick: None,
            nonce: 0,
            last_ping: None,
            intents: Vec::new(),
            observer,
        }
    }

    /// Sets the name of the agent's player.
    #[must_use]
    pub fn with_name(self, name: String) -> MooAgent<O> {
        MooAgent { name, ..self }
    }

    /// Respawns after the respawn delay.
    fn respawn_when_due(&mut self, now: Duration, out: &mut AgentOutput) {
        let returns = *self.respawns_at.get_or_insert(now + self.respawn_delay);
        if now >= returns {
            self.respawns_at = None;
            // A respawn counts as a command with the next sequence number.
            self.sequence += 1;
            self.acks.iter_mut().for_each(|acks| acks.on_sent(self.sequence, None));
            let (name, skin) = (Some(self.name.clone()), Some(self.skin));
            self.send_packet(&ClientPacket::EnterGame { name, skin, moofoll: false }, out);
        }
    }

    fn send_intent(&mut self, intent: Intent, out: &mut AgentOutput) {
        let sequence = self.is_native.then(|| {
            self.sequence += 1;
            self.sequence
        });
        let tick = choose_target_tick(self.sequence, self.tick.filter(|_| self.acks.is_some()));
        let packet = match intent {
            Intent::Walk(direction) => ClientPacket::Move { sequence, tick, direction },
            Intent::Aim(heading) => ClientPacket::Aim { sequence, tick, heading },
            Intent::Attack { on, heading } => {
                ClientPacket::Attack { sequence, tick, state: on, heading: Some(heading) }
            }
            Intent::Select { id, is_weapon } => {
                ClientPacket::Select { sequence, tick, id: id.into(), is_weapon }
            }
            Intent::Upgrade(choice) => ClientPacket::Upgrade { sequence, tick, choice: choice.into() },
            Intent::Clan(action) => ClientPacket::Clan { sequence, tick, action },
            Intent::Ping => ClientPacket::MapPing { sequence, tick },
            Intent::Chat(text) => ClientPacket::Chat { sequence, tick, text },
        };
        let before = out.packets.len();
        self.send_packet(&packet, out);
        if let Some(acks) = self.acks.as_mut().filter(|_| out.packets.len() > before) {
            acks.on_sent(self.sequence, tick);
        }
    }

    fn receive(&mut self, packet: &ServerPacket, now: Duration, out: &mut AgentOutput) {
        self.tick = match packet {
            ServerPacket::Update(update) => self.tick.max(Some(update.tick)),
            ServerPacket::Pong { tick, .. } => (*tick).max(self.tick),
            _ => self.tick,
        };
        self.observer.on_packet(packet, now, out);
        out.saw_update = matches!(packet, ServerPacket::Update(_) | ServerPacket::Players(_));
    }

    /// Receives an update of a client with a lane, with its animals as packets of their own.
    fn receive_update(&mut self, mut update: Update, now: Duration, out: &mut AgentOutput) {
        let (animals, mut gone) =
            (std::mem::take(&mut update.animals), std::mem::take(&mut update.animals_gone));
        self.receive(&ServerPacket::Update(update), now, out);
        let known = &self.observer.world_model().animals;
        gone.retain(|id| known.contains_key(id));
        let packets = [
            (!gone.is_empty()).then_some(ServerPacket::AnimalsRemoved(gone)),
            (!animals.is_empty()).then_some(ServerPacket::Animals(animals)),
        ];
        for packet in packets.into_iter().flatten() {
            self.receive(&packet, now, out);
        }
        out.saw_update = true;
    }

    /// Checks the acks of commands in a server packet.
    fn check_acks(
        &mut self,
        packet: &DecodedPacket<'_>,
        server_packet: &ServerPacket,
        out: &mut AgentOutput,
    ) {
        let Some(acks) = &mut self.acks else { return };
        let is_due = |sequence: u32, last: u32| sequence < last || sequence > last && !self.has_late_acks;
        let judged = acks.on_packet(packet).and_then(|()| match server_packet {
            // A state by datagram may arrive before the acks of its commands.
            ServerPacket::Update(_) if self.merge.is_some() => Ok(()),
            ServerPacket::Update(Update { own, .. }) => acks.on_state().and_then(|()| match own {
                Some(own) if is_due(own.sequence, acks.last()) => Err(format!(
                    "own has the sequence {}, but {} was accepted last",
                    own.sequence,
                    acks.last()
                )),
                _ => Ok(()),
            }),
            _ => Ok(()),
        });
        judged.unwrap_or_else(|what| out.add_fault("answer", what));
    }

    fn send_packet(&mut self, packet: &ClientPacket<'_>, out: &mut AgentOutput) {
        let is_needed = matches!(packet, ClientPacket::Hello { .. } | ClientPacket::EnterGame { .. });
        if !is_needed && !packet.is_in(&self.dialect) {
            return;
        }
        let message = packet.encode(&self.dialect);
        if message.is_empty() {
            out.add_fault("not_in_dialect", format!("{packet:?}"));
            return;
        }
        self.observer.on_sent(packet);
        out.packets.push(message);
    }
}

impl<O: PacketObserver> Agent for MooAgent<O> {
    fn name(&self) -> &str {
        &self.name
    }

    fn on_open(&mut self, out: &mut AgentOutput) {
        let (name, skin) = (Some(self.name.clone()), Some(self.skin));
        if self.is_native {
            self.send_packet(
                &ClientPacket::Hello { version: NATIVE_VERSION, mode: Mode::Play, name, skin },
                out,
            );
        } else {
            self.send_packet(&ClientPacket::EnterGame { name, skin, moofoll: false }, out);
        }
    }

    fn on_packet(&mut self, packet: &DecodedPacket<'_>, now: Duration, out: &mut AgentOutput) {
        let mut server_packet = ServerPacket::from_decoded(packet);
        self.check_acks(packet, &server_packet, out);
        if let (ServerPacket::Update(update), Some(merge)) = (&mut server_packet, &mut self.merge) {
            let model = self.observer.world_model();
            let own = model.announced.or(model.own_player_id);
            let merged = merge.stream(std::mem::take(update), own);
            return self.receive_update(merged, now, out);
        }
        self.receive(&server_packet, now, out);
    }

    fn on_datagram_packet(&mut self, packet: &DecodedPacket<'_>, now: Duration, out: &mut AgentOutput) {
        let ServerPacket::Update(update) = ServerPacket::from_decoded(packet) else {
            return self.on_packet(packet, now, out);
        };
        let model = self.observer.world_model();
        let body = model.own_player_id.filter(|_| !model.is_dead);
        let is_known = |player| model.players.contains_key(&player);
        let merged = self.merge.get_or_insert_default().datagram(update, is_known, body);
        if let Some(update) = merged {
            self.receive_update(update, now, out);
        }
    }

    /// Pings, respawns, and executes the policy's intents.
    fn act(&mut self, now: Duration, out: &mut AgentOutput) {
        if self.last_ping.is_none_or(|before| now.saturating_sub(before) >= PING_EVERY) {
            self.last_ping = Some(now);
            self.nonce += 1;
            let nonce = self.is_native.then_some(self.nonce);
            self.send_packet(&ClientPacket::Ping { nonce }, out);
        }
        if self.observer.world_model().is_dead {
            self.respawn_when_due(now, out);
        } else {
            self.respawns_at = None;
        }
        let mut intents = std::mem::take(&mut self.intents);
        self.policy.decide(self.observer.world_model(), now, &mut intents);
        intents.drain(..).for_each(|intent| self.send_intent(intent, out));
        self.intents = intents;
    }

    fn is_playing(&self) -> bool {
        self.observer.world_model().own_player_id.is_some()
    }

    fn view_stats(&self) -> ViewStats {
        let world_model = self.observer.world_model();
        ViewStats { visible_players: world_model.others_in_view, is_waiting: world_model.is_dead }
    }

    fn tolerate(&mut self, reason: Tolerance) {
        if reason == Tolerance::Lane {
            self.merge.get_or_insert_default();
        }
        self.has_late_acks |= reason == Tolerance::LateAcks;
        self.observer.tolerate(reason);
        self.acks.iter_mut().for_each(|acks| acks.tolerate(reason));
    }

    fn take_stats(&mut self) -> BotStats {
        let mut stats = self.observer.take_stats();
        stats.add(&self.acks.as_mut().map_or_else(BotStats::default, AckChecker::take_stats));
        stats
    }

    fn reliable_hashes(&self) -> &[u32] {
        self.observer.marks()
    }
}

#[cfg(test)]
mod tests {
    use super::super::policy::WanderPolicy;
    use super::*;
    use crate::client::bots::{Bot, BotStage};
    use crate::client::connection::{ClientConnection, ConnectionKeys};
    use crate::limits;
    use crate::packet::tables::BUILTIN;
    use crate::packet::{Direction, PacketTables};
    use crate::ws::connection::{self, Connection, Role};
    use crate::ws::handshake;
    use crate::ws::http::HeadReader;

    const NOW: Duration = Duration::from_secs(1);

    /// A bot that has completed its upgrade, and the server's end of its connection.
    fn connected(dialect: &str) -> (Bot<MooAgent<WorldModel>>, Connection, Arc<Dialect>) {
        connected_with(&PacketTables::builtin(), dialect)
    }

    fn connected_with(
        codes: &PacketTables,
        dialect: &str,
    ) -> (Bot<MooAgent<WorldModel>>, Connection, Arc<Dialect>) {
        let dialect = codes.dialect(dialect).unwrap();
        let policy = Box::new(WanderPolicy::new(1, 1));
        let keys = ConnectionKeys { upgrade: [1; 16], mask: || [1, 2, 3, 4] };
        let connection = ClientConnection::new("localhost:3000", "/", dialect.name() == "native", keys);
        let actor = MooAgent::new(3, Arc::clone(&dialect), policy, WorldModel::new());
        let mut bot = Bot::new(connection, Arc::clone(&dialect), actor, ());
        let mut request = Vec::new();
        bot.drain_output(&mut request);
        let head = HeadReader::new(limits::HEAD_LIMITS).receive(&request).unwrap().unwrap();
        bot.receive(&handshake::accept(&head, &["tickwire.v1"]).unwrap().response, NOW);
        (bot, Connection::new(Role::Server, limits::CLIENT_MESSAGE_LIMITS), dialect)
    }

    /// The packets that the bot has sent since the last call.
    fn take_sent(
        bot: &mut Bot<MooAgent<WorldModel>>,
        conn: &mut Connection,
        dialect: &Dialect,
    ) -> Vec<String> {
        let (mut bytes, mut packets) = (Vec::new(), Vec::new());
        bot.drain_output(&mut bytes);
        conn.receive(&bytes);
        while let Some(event) = conn.next_event().unwrap() {
            if let connection::Event::Binary(message) = event {
                packets.push(dialect.decode(Direction::ToServer, message).unwrap().row.name.clone());
            }
        }
        packets
    }

    fn deliver(bot: &mut Bot<MooAgent<WorldModel>>, conn: &mut Connection, message: &[u8]) {
        let mut bytes = Vec::new();
        conn.send_binary(message);
        conn.drain_output(&mut bytes);
        bot.receive(&bytes, NOW);
    }

    /// Gives the bot a body, and lets it act once.
    fn enter(bot: &mut Bot<MooAgent<WorldModel>>, conn: &mut Connection, dialect: &Dialect) {
        let json = [
            r#"["welcome",[1,"0",1,14400,30,30,"0",5]]"#,
            r#"["spawned",[9]]"#,
            r#"["update",[6,[0,0,65536000,65536000,0,0,0,null],[],[9,"bot 3",3,2000,2000,0]]]"#,
        ];
        for text in json {
            let packet = dialect.decode_json(Direction::ToClient, text).unwrap();
            let message = dialect.encode(Direction::ToClient, &packet.row.name, &packet.values).unwrap();
            deliver(bot, conn, &message);
        }
        assert_eq!(bot.stage(), BotStage::Playing);
        bot.act(NOW);
    }

    #[test]
    fn a_native_bot_sends_hello_and_walks_once_it_has_a_body() {
        let (mut bot, mut conn, dialect) = connected("native");
        assert_eq!(take_sent(&mut bot, &mut conn, &dialect), ["hello"]);
        bot.act(NOW);
        assert_eq!(take_sent(&mut bot, &mut conn, &dialect), [""; 0]);
        enter(&mut bot, &mut conn, &dialect);
        assert_eq!(take_sent(&mut bot, &mut conn, &dialect), ["ping", "move", "aim"]);
        bot.leave();
        assert_eq!(bot.stage(), BotStage::Leaving);
    }

    #[test]
    fn a_bot_leaves_out_what_the_tables_lack() {
        let is_compared = |line: &&str| !line.starts_with("to_server\taim\t");
        let texts = BUILTIN.map(|(file, text)| {
            (file, text.lines().filter(is_compared).map(|line| format!("{line}\n")).collect::<String>())
        });
        let (mut bot, mut conn, dialect) =
            connected_with(&PacketTables::from_texts(&texts).unwrap(), "native");
        enter(&mut bot, &mut conn, &dialect);
        assert_eq!(take_sent(&mut bot, &mut conn, &dialect), ["hello", "ping", "move"]);
    }
}
