//! A lockstep client: an agent that runs its own copy of the world. The agent records observations,
//! which the simulation compares with the room ([`desync_model`](super::desync_model)). Some
//! clients corrupt a field of their world, and some clients send false checksums.

use std::collections::BTreeSet;
use std::time::Duration;

use tickwire_sim::state_tree::FieldDiff;

use super::failure::InjectedBug;
use crate::client::bots::lockstep_agent::LockstepAgent;
use crate::client::lockstep_follower::DesyncReport;
use crate::game::bots::{Agent, AgentOutput, BotSpec, BotStats, Tolerance, ViewStats};
use crate::game::lockstep_packets::{
    CHECKSUM, COMMAND_FRAME, DESYNC_DETAILS, DESYNC_REPORT, SNAPSHOT, STATE_SYNC, STATE_SYNC_REQUEST,
};
use crate::game::{BotRng, GameInfo};
use crate::limits;
use crate::packet::{DecodedPacket, Direction, Value};

/// Minimum and maximum time between two corruptions of the client's world.
const CORRUPTS_EVERY: [Duration; 2] = [Duration::from_secs(4), Duration::from_secs(20)];
/// One in this many command frames is skipped, if the bug `FrameSkipped` is injected.
const SKIPPED: u32 = 200;

/// The behaviour of a lockstep client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockstepBehavior {
    /// Sends the checksums of its world.
    Honest,
    /// Corrupts a field of its world from time to time.
    Corrupts,
    /// Sends false checksums, some of them for ticks that are not due, and false details, also for
    /// ticks at which its world equals the room's world. Also requests snapshots.
    FalseChecksums,
}

/// An observation of a lockstep client.
#[derive(Debug)]
pub enum Observation {
    /// The client's world has changed. The values are the number of completed ticks, and the
    /// checksum unless the world is corrupted.
    World(u32, Option<u64>),
    /// The client corrupted a field before it sent the checksum of this tick.
    Corrupted(u32),
    /// The client restored a snapshot. The value is the last tick of the previous world.
    Restored(u32),
    /// The client received a desync report.
    Report(DesyncReport),
    /// The client's world was corrupted at this tick. No report named the client, and no snapshot
    /// was restored, within two intervals.
    Unnamed(u32),
    /// A report named the field that the client had corrupted.
    Named,
}

/// A corruption of the client's own world.
#[derive(Debug)]
struct Corruption {
    tick: u32,
    changed: FieldDiff,
    is_restored: bool,
    is_named: bool,
}

/// A bot in lockstep, with injected corruptions, lies and bugs.
pub struct LockstepBot {
    game: &'static GameInfo,
    part: BotSpec,
    inner: LockstepAgent<Box<dyn Agent>>,
    /// The behaviour.
    pub kind: LockstepBehavior,
    injected_bug: Option<InjectedBug>,
    rng: BotRng,
    corrupt_at: Option<Duration>,
    corruption: Option<Corruption>,
    /// The expected tick of the next command frame.
    next: Option<u32>,
    /// Ticks between two checksums.
    every: u32,
    /// Epoch of the client's room; empty until the client has received it.
    pub epoch: String,
    seen: Vec<Observation>,
    reported: BTreeSet<u32>,
}

impl LockstepBot {
    /// Creates a client with the parameters of a bot.
    pub fn new(
        game: &'static GameInfo,
        part: BotSpec,
        agent: Box<dyn Agent>,
        kind: LockstepBehavior,
        injected_bug: Option<InjectedBug>,
    ) -> LockstepBot {
        let dialect = std::sync::Arc::clone(&part.dialect);
        LockstepBot {
            game,
            inner: LockstepAgent::new(game, dialect, agent),
            kind,
            injected_bug,
            rng: BotRng::new(part.seed),
            part,
            corrupt_at: None,
            corruption: None,
            next: None,
            every: 1,
            epoch: String::new(),
            seen: Vec::new(),
            reported: BTreeSet::new(),
        }
    }

    /// Returns the observations since the last call.
    pub fn take_observations(&mut self) -> Vec<Observation> {
        std::mem::take(&mut self.seen)
    }

    /// Numbers of restored snapshots and of sent checksums.
    pub fn counts(&mut self) -> [u64; 2] {
        let counts = self.inner.follower().counts();
        [counts.syncs, counts.checksums]
    }

    /// Checks a packet before it is applied. Command frames and reports must be unique, and frames
    /// must be in order.
    fn inspect_packet(&mut self, packet: &DecodedPacket<'_>, out: &mut AgentOutput) {
        match packet.row.name.as_str() {
            STATE_SYNC => {
                self.epoch = packet.text("epoch").unwrap_or_default();
                self.every = packet.integer("checksum_ticks").unwrap_or(1);
            }
            SNAPSHOT => self.next = packet.integer("tick"),
            COMMAND_FRAME => {
                let bytes = packet.get("frame").and_then(Value::as_slice).unwrap_or_default();
                let tick = (self.game.frame)(bytes).map_or(u32::MAX, |frame| frame.tick);
                if self.next != Some(tick) {
                    out.add_fault("frame_order", format!("frame {tick} instead of {:?}", self.next));
                }
                self.next = Some(tick.saturating_add(1));
            }
            DESYNC_REPORT => {
                let report = DesyncReport::of(packet);
                if !self.reported.insert(report.tick) {
                    out.add_fault("report_twice", format!("of tick {}", report.tick));
                }
                self.is_named_by(&report);
                self.seen.push(Observation::Report(report));
            }
            _ => {}
        }
    }

    fn is_named_by(&mut self, report: &DesyncReport) {
        let player = self.inner.follower().player().map_or(0, |player| player.0);
        let label = format!("player {player}");
        let Some(corruption) = self.corruption.as_mut().filter(|one| one.tick == report.tick) else { return };
        let fields: Vec<_> =
            report.fields.iter().filter(|(who, _)| *who == label).map(|(_, field)| field).collect();
        if report.includes(&label) && fields == [&cut(&corruption.changed)] && !corruption.is_named {
            corruption.is_named = true;
            self.seen.push(Observation::Named);
        }
    }

    /// Records the effect of a packet on the world. The arguments are the tick of the world and the
    /// number of restored snapshots before the packet.
    fn record_progress(&mut self, (tick, syncs): (u32, u64)) {
        let follower = self.inner.follower();
        let Some(world) = follower.world() else { return };
        let (now, is_new) = (world.tick(), follower.counts().syncs > syncs);
        if let Some((at, changed)) = follower.corrupted()
            && self.corruption.as_ref().is_none_or(|old| old.tick < *at)
        {
            let (tick, changed) = (*at, changed.clone());
            self.corruption = Some(Corruption { tick, changed, is_restored: false, is_named: false });
            self.seen.push(Observation::Corrupted(tick));
        }
        if let Some(corruption) = self.corruption.as_mut().filter(|one| is_new && !one.is_restored) {
            corruption.is_restored = true;
            self.seen.push(Observation::Restored(tick));
        }
        if now == tick && !is_new {
            return;
        }
        let differs = self.corruption.as_ref().is_some_and(|one| !one.is_restored);
        let checksum = (!differs).then(|| world.checksum());
        self.seen.push(Observation::World(now, checksum));
        if let Some(corruption) = &mut self.corruption
            && now == corruption.tick.saturating_add(2 * self.every)
            && !(corruption.is_named && corruption.is_restored)
        {
            self.seen.push(Observation::Unnamed(corruption.tick));
        }
    }

    /// Replaces checksums in the packets to be sent by false checksums, and adds other false
    /// packets.
    fn falsify_output(&mut self, out: &mut AgentOutput) {
        let dialect = &self.part.dialect;
        let encode = |name, values: &[Value]| dialect.encode(Direction::ToServer, name, values).ok();
        for message in std::mem::take(&mut out.packets) {
            let tick = match dialect.decode(Direction::ToServer, &message) {
                Ok(packet) if packet.row.name == CHECKSUM => packet.integer::<u32>("tick"),
                _ => None,
            };
            let fields = ["players[1]", "body.x", "1", "2"].map(Value::from).to_vec();
            let details = |tick: u32| encode(DESYNC_DETAILS, &[tick.into(), Value::Array(fields.clone())]);
            let Some(tick) = tick.filter(|_| self.rng.below(2) == 0) else {
                // Also sends details of ticks on which the worlds agree.
                out.packets.push(message);
                out.packets.extend(tick.filter(|_| self.rng.below(4) == 0).and_then(details));
                continue;
            };
            let mut outgoing =
                |tick: u32| encode(CHECKSUM, &[tick.into(), format!("{:016x}", self.rng.bits()).into()]);
            out.packets.extend(outgoing(tick));
            let (again, ahead) = (outgoing(tick), outgoing(tick.saturating_add(self.every)));
            match self.rng.below(24) {
                0 => out.packets.extend(again),
                1 => out.packets.extend(ahead),
                2 => out.packets.extend(details(tick)),
                3 => out.packets.extend(encode(STATE_SYNC_REQUEST, &[])),
                _ => {}
            }
        }
    }

    /// Injected bug: the values of a snapshot with one changed field.
    fn corrupted_snapshot(&mut self, packet: &DecodedPacket<'_>) -> Option<Vec<Value>> {
        let at = packet.row.argument("state")?;
        let mut world = (self.game.restore)(packet.values.get(at)?.as_slice()?).ok()?;
        world.corrupt(self.rng.bits())?;
        let mut values = packet.values.clone();
        values[at] = Value::Binary(world.snapshot());
        Some(values)
    }
}

/// Truncates a difference to the limits of a report.
fn cut(FieldDiff { entity, field, ours, theirs }: &FieldDiff) -> FieldDiff {
    let cut = |text: &String| text.chars().take(limits::LOCKSTEP_FIELD_CHARS).collect::<String>();
    FieldDiff {
        entity: cut(entity),
        field: cut(field),
        ours: ours.as_ref().map(cut),
        theirs: theirs.as_ref().map(cut),
    }
}

impl Agent for LockstepBot {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn on_open(&mut self, out: &mut AgentOutput) {
        self.inner.on_open(out);
    }

    fn on_packet(&mut self, packet: &DecodedPacket<'_>, now: Duration, out: &mut AgentOutput) {
        let name = packet.row.name.as_str();
        if self.injected_bug == Some(InjectedBug::FrameSkipped)
            && name == COMMAND_FRAME
            && self.rng.below(SKIPPED) == 0
        {
            return;
        }
        let wrong = match self.injected_bug {
            Some(InjectedBug::SnapshotWrong) if name == SNAPSHOT => self.corrupted_snapshot(packet),
            _ => None,
        };
        let changed = wrong.map(|values| DecodedPacket { row: packet.row, values });
        let packet = changed.as_ref().unwrap_or(packet);
        self.inspect_packet(packet, out);
        let follower = self.inner.follower();
        let before = (follower.world().map_or(u32::MAX, |world| world.tick()), follower.counts().syncs);
        self.inner.on_packet(packet, now, out);
        // The simulation checks which clients are named.
        out.faults.retain(|fault| fault.rule != "desync");
        self.record_progress(before);
        if self.kind == LockstepBehavior::FalseChecksums {
            self.falsify_output(out);
        }
    }

    fn act(&mut self, now: Duration, out: &mut AgentOutput) {
        let corrupt_at = *self
            .corrupt_at
            .get_or_insert_with(|| now + self.rng.between(CORRUPTS_EVERY[0], CORRUPTS_EVERY[1]));
        if self.kind == LockstepBehavior::Corrupts && now >= corrupt_at {
            self.corrupt_at = None;
            let seed = self.rng.bits();
            self.inner.follower().corrupt(seed);
        }
        self.inner.act(now, out);
    }

    fn is_playing(&self) -> bool {
        self.inner.is_playing()
    }

    fn view_stats(&self) -> ViewStats {
        self.inner.view_stats()
    }

    fn tolerate(&mut self, reason: Tolerance) {
        self.inner.tolerate(reason);
    }

    fn take_stats(&mut self) -> BotStats {
        self.inner.take_stats()
    }
}
