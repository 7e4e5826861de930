//! The prediction of one client.

use std::time::Duration;

use tickwire_sim::Command;

use super::clock::ServerClock;
use super::corrections::Corrections;
use super::local_world::{Acked, LocalWorld};
use super::pending::{PendingCommand, PendingCommands};
use super::position::Position;
use super::remote_players::{RemotePlayers, RenderTime};
use crate::game::packet_handler::{PacketEffect, PacketHandler};
use crate::limits;
use crate::packet::{DecodedPacket, Dialect, Direction, Lane, PacketError};

/// The maximum predicted tick. The distance to `u32::MAX` prevents overflows of later tick numbers.
const LAST_TICK: u32 = u32::MAX - (1 << 16);

/// The predicted state of the local player.
#[derive(Debug)]
struct PredictedStep<S> {
    /// The current predicted tick: [`PredictedStep::from`] is before it, [`PredictedStep::to`]
    /// after it.
    tick: u32,
    from: S,
    to: S,
}

/// The rendered state of the local player in one frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RenderedState {
    /// The current predicted tick, and its fraction in 1/65,536.
    pub tick: (u32, u16),
    /// The blended position in 1/65,536 px.
    pub at: Position,
}

/// Switches of prediction, for comparisons and teaching. All are on by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PredictionFeatures {
    /// Whether the local player's commands are simulated before the server's ack.
    pub prediction: bool,
    /// Whether received states replace predicted states.
    pub reconciliation: bool,
}

/// Predicts the local player of one client, and renders the remote players.
pub struct Prediction<W: LocalWorld> {
    world: Option<W>,
    packet_handler: Box<dyn PacketHandler>,
    clock: ServerClock,
    /// The number of ticks that the server has confirmed, and the state after them.
    confirmed: Option<(u32, W::State)>,
    pending: PendingCommands<W::Action>,
    acked: u64,
    predicted: Option<PredictedStep<W::State>>,
    is_stale: bool,
    /// The tick of the last event, so that a re-simulated tick does not repeat it.
    event_tick: u32,
    events: Vec<W::Event>,
    corrections: Corrections,
    /// The remote players in view, if they are tracked.
    others: Option<RemotePlayers>,
    switches: PredictionFeatures,
    /// The newest tick received by datagram, and when it arrived.
    lane: Option<(u32, Duration)>,
    commands: Vec<Command<W::Action>>,
}

impl<W: LocalWorld> Prediction<W> {
    /// Creates a prediction, which starts with `welcome`.
    pub fn new(dialect: &Dialect) -> Prediction<W> {
        Prediction {
            world: None,
            packet_handler: W::packet_handler(dialect),
            clock: ServerClock::default(),
            confirmed: None,
            pending: PendingCommands::new(),
            acked: 0,
            predicted: None,
            is_stale: false,
            event_tick: 0,
            events: Vec::new(),
            corrections: Corrections::default(),
            others: None,
            switches: PredictionFeatures { prediction: true, reconciliation: true },
            lane: None,
            commands: Vec::new(),
        }
    }

    /// Processes a packet that was received by datagram.
    pub fn on_datagram_packet(&mut self, packet: &DecodedPacket<'_>, now: Duration) {
        let tick = packet.integer::<u32>("tick").filter(|_| packet.row.name != "pong");
        if let Some(tick) = tick {
            if self.lane.is_some_and(|(newest, _)| tick < newest) {
                return;
            }
            self.lane = Some((tick, now));
        }
        self.clock.has_lane = true;
        self.set_source(true);
        self.process(packet, now);
        self.set_source(false);
    }

    fn set_source(&mut self, is_datagram: bool) {
        self.others.iter_mut().for_each(|others| others.is_datagram = is_datagram);
    }

    /// Returns whether a packet of the stream lacks the newest state, because datagrams carry it.
    fn is_overtaken(&self, packet: &DecodedPacket<'_>, now: Duration) -> bool {
        let Some((newest, at)) = self.lane.filter(|_| packet.row.lane == Lane::Latest) else { return false };
        let Some(tick) = packet.integer::<u32>("tick") else { return false };
        let is_lane_in_use = now.saturating_sub(at) <= limits::LANE_SILENCE;
        tick <= newest || packet.row.name == W::UPDATE && is_lane_in_use && W::acked(packet).is_none()
    }

    /// Processes a packet that was received in the stream.
    pub fn on_packet(&mut self, packet: &DecodedPacket<'_>, now: Duration) {
        if self.is_overtaken(packet, now) {
            self.clock.on_received(now);
            // Its entities still enter and leave. Newer positions stay.
            if let (Some(others), Some(world), true) =
                (&mut self.others, &self.world, packet.row.name == W::UPDATE)
            {
                world.collect_remote_players(packet, others);
            }
            return;
        }
        self.process(packet, now);
    }

    fn process(&mut self, packet: &DecodedPacket<'_>, now: Duration) {
        self.clock.on_received(now);
        match packet.row.name.as_str() {
            "welcome" => self.welcome(packet),
            "command_accepted" => self.pending.accept(packet),
            "command_rejected" => {
                self.pending.reject(packet);
                self.is_stale = true;
            }
            "pong" => self.clock.pong(packet.integer("nonce"), packet.integer("tick"), now),
            name if name == W::UPDATE => self.update(packet, now),
            _ => self.apply_late_packet(packet),
        }
        self.update_remote_players(packet, now);
    }

    fn update_remote_players(&mut self, packet: &DecodedPacket<'_>, now: Duration) {
        let (Some(others), Some(world)) = (&mut self.others, &self.world) else { return };
        let walk_on = |from, velocity, ticks| world.extrapolate(from, velocity, ticks);
        let moment = RenderTime { clock: &self.clock, now, tick_hz: world.tick_hz(), walk_on };
        let Some(tick) = packet.integer::<u32>("tick").filter(|_| packet.row.name != "welcome") else {
            return world.collect_remote_players(packet, others);
        };
        let rendered = others.extrapolate(&moment);
        world.collect_remote_players(packet, others);
        // A pong may overtake the update of its tick.
        let is_pong = packet.row.name == "pong";
        if !is_pong || self.lane.is_none() {
            others.on_update(tick.saturating_sub(if is_pong { self.clock.update_ticks() } else { 0 }));
        }
        others.start_blend(&rendered, &moment);
    }

    /// Starts tracking remote players.
    pub fn track_remote_players(&mut self) -> &mut RemotePlayers {
        self.others.get_or_insert_with(RemotePlayers::new)
    }

    /// Returns the rendered positions of the remote players by number: interpolated between two
    /// updates, extrapolated after the newest update. Empty before
    /// [`Prediction::track_remote_players`].
    pub fn others(&self, now: Duration) -> Vec<(u32, Position)> {
        let known = self.others.as_ref().zip(self.world.as_ref());
        let positions = known.map(|(others, world)| {
            let walk_on = |from, velocity, ticks| world.extrapolate(from, velocity, ticks);
            others.positions(&RenderTime { clock: &self.clock, now, tick_hz: world.tick_hz(), walk_on })
        });
        positions.unwrap_or_default()
    }

    fn welcome(&mut self, packet: &DecodedPacket<'_>) {
        self.others.iter_mut().for_each(RemotePlayers::clear);
        self.world = W::new(packet);
        self.lane = None;
        let tick_hz = self.world.as_ref().map_or(30, W::tick_hz);
        self.clock = ServerClock::new(tick_hz, packet.integer("update_hz").unwrap_or(tick_hz));
        self.reset();
    }

    /// Drops the local player and everything predicted.
    fn reset(&mut self) {
        self.confirmed = None;
        self.predicted = None;
        self.pending.clear();
        self.acked = 0;
        self.event_tick = 0;
        self.corrections.reset();
    }

    /// Applies a packet between two updates to the newest confirmed state.
    fn apply_late_packet(&mut self, packet: &DecodedPacket<'_>) {
        let Some(world) = &mut self.world else { return };
        let (tick, state) = self.confirmed.take().map_or((0, None), |(tick, state)| (tick, Some(state)));
        let mut state = state;
        self.is_stale |= world.apply_packet(packet, &mut state);
        match state {
            Some(state) => self.confirmed = Some((tick, state)),
            None if self.predicted.is_some() => self.reset(),
            None => {}
        }
    }

    fn update(&mut self, packet: &DecodedPacket<'_>, now: Duration) {
        // At 60 Hz, a world takes over two years to reach this tick.
        let Some(tick) = packet.integer::<u32>("tick").filter(|tick| *tick < LAST_TICK) else { return };
        self.clock.on_update(tick, now);
        if !self.switches.reconciliation && self.predicted.is_some() {
            return;
        }
        if let Some(Acked { sequence, margin_ticks }) = W::acked(packet) {
            if sequence != self.acked {
                let answered = self.pending.find(sequence);
                answered
                    .into_iter()
                    .for_each(|one| self.clock.on_ack(one.target_tick, margin_ticks, one.sent));
            }
            self.acked = sequence;
        }
        let before = self.position_now();
        let confirmed = self.advance_confirmed(tick);
        let Some(world) = &mut self.world else { return };
        let mut state = confirmed;
        world.apply_packet(packet, &mut state);
        let acked = self.acked;
        self.pending.drop_acked(acked);
        let Some(state) = state else { return self.reset() };
        self.confirmed = Some((tick, state));
        let had_body = self.predicted.is_some();
        self.resimulate();
        if let (Some(before), Some(after), true) = (before, self.position_now(), had_body) {
            self.corrections.correct(before, after);
        }
    }

    /// Simulates the confirmed state up to a tick, with the commands that the server has applied.
    fn advance_confirmed(&mut self, tick: u32) -> Option<W::State> {
        let (from, mut state) = self.confirmed.take()?;
        let world = self.world.as_mut()?;
        let first = from.max(tick.saturating_sub(limits::PREDICTED_TICKS));
        for at in first..tick {
            let is_due =
                |one: &PendingCommand<_>| one.sequence <= self.acked && one.tick.clamp(first, tick - 1) == at;
            self.pending.collect(world.own_player(), is_due, &mut self.commands);
            world.step(at, &mut state, &mut self.commands);
        }
        Some(state)
    }

    /// Re-simulates the pending commands from the confirmed state up to the current predicted tick.
    fn resimulate(&mut self) {
        self.is_stale = false;
        if !self.switches.reconciliation && self.predicted.is_some() {
            return;
        }
        let Some((confirmed, state)) = &self.confirmed else { return };
        let (mut at, mut from) = (*confirmed, state.clone());
        let target = self.predicted.as_ref().map_or(at, |ahead| ahead.tick.max(at));
        if target - at > limits::PREDICTED_TICKS {
            at = target - limits::PREDICTED_TICKS;
        }
        let first = at;
        while at < target {
            self.step(first, at, &mut from);
            at += 1;
        }
        let mut to = from.clone();
        self.step(first, at, &mut to);
        self.predicted = Some(PredictedStep { tick: at, from, to });
    }

    /// Simulates one predicted tick. Overdue commands are simulated in the first predicted tick.
    fn step(&mut self, first: u32, at: u32, state: &mut W::State) {
        let Some(world) = &mut self.world else { return };
        let is_on = self.switches.prediction;
        // A command without an ack after this time was rejected, or its connection has failed.
        let late = self.clock.ticks(limits::PREDICTED_UNANSWERED);
        let is_due = |one: &PendingCommand<_>| {
            is_on && one.tick.max(first) == at && one.tick.saturating_add(late) > first
        };
        self.pending.collect(world.own_player(), is_due, &mut self.commands);
        let event = world.step(at, state, &mut self.commands);
        if at > self.event_tick && event.is_some() && is_on {
            self.event_tick = at;
            self.events.extend(event);
            if self.events.len() > limits::PREDICTED_EVENTS {
                self.events.remove(0);
            }
        }
    }

    /// Processes a packet that the client sends now. Call it after [`Prediction::advance`].
    ///
    /// # Errors
    /// The bytes are not a packet of the dialect.
    pub fn on_sent(&mut self, dialect: &Dialect, message: &[u8], now: Duration) -> Result<(), PacketError> {
        let packet = dialect.decode(Direction::ToServer, message)?;
        if packet.row.name == "ping" {
            self.clock.ping(packet.integer("nonce"), now);
        }
        let Some(sequence) = packet.integer::<u32>("sequence") else { return Ok(()) };
        let mut effects = Vec::new();
        self.packet_handler.handle_packet(&packet, now, Duration::ZERO, &mut effects);
        let action = effects.iter().find_map(|effect| match effect {
            PacketEffect::Command(action, _) => action.decoded::<W::Action>(),
            PacketEffect::Error(..) => None,
        });
        let now_tick = self.predicted.as_ref().map(|ahead| ahead.tick);
        let named = packet.integer("tick").or(now_tick).or_else(|| Some(self.clock.predicted_tick(now)?.0));
        let tick = named.unwrap_or(0);
        let action = action.filter(W::is_predicted);
        self.pending.push(PendingCommand {
            sequence: sequence.into(),
            target_tick: tick,
            tick,
            sent: now,
            action,
        });
        self.resimulate_current_tick();
        Ok(())
    }

    /// Re-simulates the current tick after a new command.
    fn resimulate_current_tick(&mut self) {
        let Some(PredictedStep { tick, from, .. }) = self.predicted.take() else { return };
        let mut to = from.clone();
        let first = self.confirmed.as_ref().map_or(tick, |(confirmed, _)| *confirmed);
        self.step(first, tick, &mut to);
        self.predicted = Some(PredictedStep { tick, from, to });
    }

    /// Advances to `now`, and returns the state to render. Returns `None` without a local player.
    pub fn advance(&mut self, now: Duration) -> Option<RenderedState> {
        self.clock.advance(now);
        let (tick, part) = self.clock.predicted_tick(now)?;
        let far = self.clock.ticks(limits::MAX_RESIMULATION);
        if let Some(ahead) = self.predicted.as_mut().filter(|ahead| ahead.tick.saturating_sub(tick) > far) {
            // The clock has jumped back.
            ahead.tick = tick;
            self.resimulate();
        }
        if self.is_stale {
            // A packet between two updates, such as the position of another tank, may correct the
            // prediction like an update.
            let before = self.position_now();
            self.resimulate();
            if let (Some(before), Some(after)) = (before, self.position_now()) {
                self.corrections.correct_between_updates(before, after);
            }
        }
        let is_stalled = self.clock.time_since_received(now) > limits::PREDICTION_IDLE_LIMIT;
        let first = self.confirmed.as_ref()?.0;
        let mut ahead = self.predicted.take()?;
        if !is_stalled && tick > ahead.tick {
            ahead.tick = ahead.tick.max(tick.saturating_sub(limits::PREDICTED_TICKS));
            while ahead.tick < tick {
                ahead.tick += 1;
                ahead.from.clone_from(&ahead.to);
                self.step(first, ahead.tick, &mut ahead.to);
            }
        }
        let part = if tick > ahead.tick { u16::MAX } else { part };
        let part = if tick < ahead.tick { 0 } else { part };
        let rendered = RenderedState { tick: (ahead.tick, part), at: (0, 0) };
        self.predicted = Some(ahead);
        let at = self.interpolate_at(part)?;
        self.corrections.decay(now);
        Some(RenderedState { at: self.corrections.smoothed(at), ..rendered })
    }

    /// Interpolates the position within the current tick.
    fn interpolate_at(&self, part: u16) -> Option<Position> {
        let ahead = self.predicted.as_ref()?;
        let ((x, y), (to_x, to_y)) = (W::position(&ahead.from), W::position(&ahead.to));
        let mix =
            |a: i32, b: i32| (i64::from(a) + (i64::from(b) - i64::from(a)) * i64::from(part) / 65_536) as i32;
        Some((mix(x, to_x), mix(y, to_y)))
    }

    /// Returns the position after the current tick. A correction is a change of this position by a
    /// received packet.
    fn position_now(&self) -> Option<Position> {
        self.predicted.as_ref().map(|ahead| W::position(&ahead.to))
    }

    /// Returns the target tick for a command sent now: the current predicted tick. Returns `None`
    /// before the first offset sample, and while prediction is off. Commands then have no target
    /// tick.
    pub fn command_tick(&self) -> Option<u32> {
        (self.clock.is_measured() && self.switches.prediction)
            .then(|| self.predicted.as_ref().map(|ahead| ahead.tick))
            .flatten()
    }

    /// Takes the events of the local player since the last call.
    pub fn take_events(&mut self) -> Vec<W::Event> {
        std::mem::take(&mut self.events)
    }

    /// Returns the world. `None` before `welcome`.
    pub fn world(&self) -> Option<&W> {
        self.world.as_ref()
    }

    /// Returns the local player's state after the current tick.
    pub fn state(&self) -> Option<&W::State> {
        self.predicted.as_ref().map(|ahead| &ahead.to)
    }

    /// Returns the server clock, which includes the lead.
    pub fn clock(&self) -> &ServerClock {
        &self.clock
    }

    /// Returns the corrections.
    pub fn corrections(&self) -> &Corrections {
        &self.corrections
    }

    /// As [`Corrections::take_max`].
    pub fn take_max_correction(&mut self) -> Option<u32> {
        self.corrections.take_max()
    }

    /// Changes the switches, and re-simulates.
    pub fn set_features(&mut self, switches: PredictionFeatures) {
        self.switches = switches;
        self.resimulate();
    }
}
