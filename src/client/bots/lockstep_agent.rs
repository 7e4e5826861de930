//! An agent in lockstep: it runs the world of the room, and passes an inner agent the updates that
//! a client without lockstep would receive.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::shared_world::{SharedWorldHandle, SharedWorlds};
use crate::client::lockstep_follower::{FollowEvent, LockstepFollower};
use crate::game::bots::{Agent, AgentOutput, BotStats, Tolerance, ViewStats};
use crate::game::command_acks::{ACCEPTED, REJECTED};
use crate::game::lockstep_packets::{CHECKSUM, COMMAND_FRAME, MODE_LOCKSTEP, SNAPSHOT, STATE_SYNC};
use crate::game::{GameInfo, Messages};
use crate::limits;
use crate::packet::{DecodedPacket, Dialect, Direction, Value};

/// Interval in ticks at which an agent may replace its own world by the shared one.
const SHARE_CHECK_INTERVAL_TICKS: u32 = 8;

/// An agent in lockstep around another agent.
pub struct LockstepAgent<A> {
    agent: A,
    follower: LockstepFollower,
    dialect: Arc<Dialect>,
    messages: Messages,
    /// Whether the world restarted while the agent plays. The next update then repeats `spawned`,
    /// which is dropped.
    is_resync: bool,
    /// Acks of commands, with the ticks in which the commands run. An ack is delivered before the
    /// update of its tick, as without lockstep. A lockstep client may receive the frames of several
    /// ticks at once, after all of their acks.
    held_acks: VecDeque<(u32, Vec<u8>)>,
    sharing: Option<WorldSharing>,
    /// Desync reports that name the agent's player.
    desyncs: u64,
}

/// An agent's share of a world that other agents of the process also use.
struct WorldSharing {
    worlds: Arc<SharedWorlds>,
    share: Option<SharedWorldHandle>,
    epoch: String,
    checksum_ticks: u32,
    checksums: u64,
}

impl<A: Agent> LockstepAgent<A> {
    /// The agent in lockstep with a room of this game.
    pub fn new(info: &'static GameInfo, dialect: Arc<Dialect>, agent: A) -> LockstepAgent<A> {
        let follower = LockstepFollower::new(info, Arc::clone(&dialect));
        LockstepAgent {
            agent,
            follower,
            dialect,
            messages: Messages::default(),
            is_resync: false,
            held_acks: VecDeque::new(),
            sharing: None,
            desyncs: 0,
        }
    }

    /// Like [`LockstepAgent::new`], for an agent that shares its world with others. After a desync,
    /// such an agent cannot report the fields.
    #[cfg_attr(target_family = "wasm", allow(dead_code, reason = "only crowds share worlds"))]
    pub(crate) fn sharing(
        worlds: &Arc<SharedWorlds>,
        info: &'static GameInfo,
        dialect: Arc<Dialect>,
        agent: A,
    ) -> LockstepAgent<A> {
        let (worlds, epoch) = (Arc::clone(worlds), String::new());
        let sharing = WorldSharing { worlds, share: None, epoch, checksum_ticks: 1, checksums: 0 };
        LockstepAgent { sharing: Some(sharing), ..LockstepAgent::new(info, dialect, agent) }
    }

    /// The follower of the world.
    pub fn follower(&mut self) -> &mut LockstepFollower {
        &mut self.follower
    }

    /// Sets the lockstep bit in a packet `hello`. Returns other packets unchanged.
    fn with_lockstep_mode(&self, message: Vec<u8>) -> Vec<u8> {
        let Ok(packet) = self.dialect.decode(Direction::ToServer, &message) else { return message };
        let Some(at) = packet.row.argument("mode").filter(|_| packet.row.name == "hello") else {
            return message;
        };
        let mut values = packet.values.clone();
        let mode = values[at].as_u64().unwrap_or_default();
        values[at] = Value::from(mode | u64::from(MODE_LOCKSTEP));
        self.dialect.encode(Direction::ToServer, "hello", &values).unwrap_or(message)
    }

    /// Advances the agent's share of the shared world if the packet is its next command frame. A
    /// snapshot ends the sharing. Returns whether the share was advanced.
    fn share(&mut self, packet: &DecodedPacket<'_>, outgoing: &mut Vec<Vec<u8>>) -> bool {
        let Some(sharing) = &mut self.sharing else { return false };
        match packet.row.name.as_str() {
            STATE_SYNC => {
                sharing.epoch = packet.text("epoch").unwrap_or_default();
                sharing.checksum_ticks =
                    packet.integer("checksum_ticks").filter(|ticks| *ticks > 0).unwrap_or(1);
            }
            SNAPSHOT => sharing.share = None,
            COMMAND_FRAME => {
                let Some(share) = &mut sharing.share else { return false };
                let frame = packet.get("frame").and_then(Value::as_slice).unwrap_or_default();
                let (tick, checksum) = (share.tick(), share.checksum());
                let players = (self.follower.player(), self.follower.spectated());
                if !share.step(frame, self.follower.present(), players, &mut self.messages) {
                    // The follower does not have a world of its own, so it requests a snapshot.
                    sharing.share = None;
                    return false;
                }
                if let Some(checksum) = checksum.filter(|_| tick.is_multiple_of(sharing.checksum_ticks)) {
                    let values = [tick.into(), format!("{checksum:016x}").into()];
                    outgoing.extend(self.dialect.encode(Direction::ToServer, CHECKSUM, &values));
                    sharing.checksums += 1;
                }
                return true;
            }
            _ => {}
        }
        false
    }

    /// Shares the agent's world after `tick` completed ticks, if there is no shared world or the
    /// two are equal.
    fn begin_to_share(&mut self, tick: u32, is_new: bool) {
        let Some(sharing) = &mut self.sharing else { return };
        // The world has caught up with the server and has published this tick.
        let is_published = || self.follower.published().is_some_and(|published| published.tick() == tick);
        let may_share = is_new || (tick.is_multiple_of(SHARE_CHECK_INTERVAL_TICKS) && is_published());
        if !may_share {
            return;
        }
        let Some(own) = self.follower.detach_world() else { return };
        match SharedWorldHandle::of(&sharing.worlds, &sharing.epoch, own) {
            Ok(share) => sharing.share = Some(share),
            Err(own) => self.follower.attach_world(own),
        }
    }

    /// Handles lockstep packets, and runs the ticks that they complete. Returns whether the packet
    /// was handled.
    fn follow(&mut self, packet: &DecodedPacket<'_>, now: Duration, out: &mut AgentOutput) -> bool {
        self.messages.clear();
        let is_divided = self.share(packet, &mut out.packets);
        let event = if is_divided {
            Ok(FollowEvent::Handled)
        } else {
            self.follower.on_packet(packet, &mut out.packets, &mut self.messages)
        };
        match event {
            Ok(FollowEvent::Other) => return false,
            Ok(FollowEvent::Report(report)) => {
                let player = self.follower.player().map_or(0, |player| player.0);
                if report.includes(&format!("player {player}")) {
                    self.desyncs += 1;
                    let fields: Vec<String> = report.fields.iter().map(|(_, one)| one.to_string()).collect();
                    out.add_fault("desync", format!("after tick {}: {}", report.tick, fields.join("; ")));
                }
            }
            Ok(FollowEvent::Synced(tick)) => {
                self.is_resync = self.agent.is_playing();
                self.begin_to_share(tick, true);
            }
            Ok(FollowEvent::Stepped(tick)) => self.begin_to_share(tick, false),
            Ok(FollowEvent::Handled) => {}
            Err(error) => out.add_fault("snapshot", error.to_string()),
        }
        if packet.row.name == COMMAND_FRAME {
            self.deliver_acks(now, out);
        }
        let mut saw_update = false;
        for message in self.messages.iter() {
            match self.dialect.decode(Direction::ToClient, message) {
                // Drops the repeated `spawned`, unless the agent waits for its respawn.
                Ok(packet)
                    if self.is_resync
                        && packet.row.name == "spawned"
                        && !self.agent.view_stats().is_waiting => {}
                Ok(packet) => {
                    self.agent.on_packet(&packet, now, out);
                    saw_update |= std::mem::take(&mut out.saw_update);
                }
                Err(error) => out.add_fault(error.name(), error.to_string()),
            }
        }
        self.is_resync &= self.messages.iter().next().is_none();
        // A tick without changes is also an update, because its frame has arrived.
        out.saw_update = saw_update || packet.row.name == crate::game::lockstep_packets::COMMAND_FRAME;
        packet.row.name != "spawned"
    }
}

impl<A: Agent> LockstepAgent<A> {
    /// Stores an ack until its tick has run. Returns whether the packet was stored.
    fn hold_ack(&mut self, packet: &DecodedPacket<'_>) -> bool {
        let before = self.held_acks.back().map_or(0, |(tick, _)| *tick);
        let tick = match packet.row.name.as_str() {
            // Groups of three: the first sequence number, the number of commands, the tick.
            ACCEPTED => {
                let groups = packet.get("commands").and_then(Value::as_array).map_or(&[][..], |list| list);
                let ticks = groups.chunks(3).filter_map(|group| group.get(2)?.as_u64());
                ticks.max().and_then(|tick| u32::try_from(tick).ok()).unwrap_or(before)
            }
            REJECTED => before,
            _ => return false,
        };
        if self.held_acks.len() >= limits::LOCKSTEP_MAX_HELD_ACKS || self.ticks() > tick {
            return false;
        }
        let message = self.dialect.encode(Direction::ToClient, &packet.row.name, &packet.values);
        self.held_acks.extend(message.ok().map(|message| (tick.max(before), message)));
        true
    }

    /// Number of ticks that the world has completed.
    fn ticks(&self) -> u32 {
        let shared = self.sharing.as_ref().and_then(|sharing| sharing.share.as_ref());
        let own = || self.follower.world().map_or(0, |world| world.tick());
        shared.map_or_else(own, SharedWorldHandle::tick)
    }

    /// Passes the acks of executed commands to the agent.
    fn deliver_acks(&mut self, now: Duration, out: &mut AgentOutput) {
        let ticks = self.ticks();
        while let Some((_, message)) = self.held_acks.pop_front_if(|(tick, _)| *tick < ticks) {
            if let Ok(packet) = self.dialect.decode(Direction::ToClient, &message) {
                self.agent.on_packet(&packet, now, out);
            }
        }
    }
}

impl<A: Agent> Agent for LockstepAgent<A> {
    fn name(&self) -> &str {
        self.agent.name()
    }

    fn on_open(&mut self, out: &mut AgentOutput) {
        self.agent.on_open(out);
        let packets = std::mem::take(&mut out.packets);
        out.packets = packets.into_iter().map(|message| self.with_lockstep_mode(message)).collect();
    }

    fn on_packet(&mut self, packet: &DecodedPacket<'_>, now: Duration, out: &mut AgentOutput) {
        if self.hold_ack(packet) {
            return;
        }
        // The server's `spawned` is dropped, because the agent's world produces `spawned` with the
        // right update.
        if !self.follow(packet, now, out) && packet.row.name != "spawned" {
            self.agent.on_packet(packet, now, out);
        }
    }

    fn act(&mut self, now: Duration, out: &mut AgentOutput) {
        self.agent.act(now, out);
    }

    fn is_playing(&self) -> bool {
        self.agent.is_playing()
    }

    fn view_stats(&self) -> ViewStats {
        self.agent.view_stats()
    }

    fn tolerate(&mut self, reason: Tolerance) {
        self.agent.tolerate(reason);
    }

    fn take_stats(&mut self) -> BotStats {
        let mut stats = self.agent.take_stats();
        let shared = self.sharing.as_ref().map_or(0, |sharing| sharing.checksums);
        let checksums = self.follower.counts().checksums + shared;
        stats.0.push(("checksums", "checksums sent", checksums));
        stats
    }

    fn reliable_hashes(&self) -> &[u32] {
        self.agent.reliable_hashes()
    }
}
