//! Prediction: a client runs its own player by the game's own rules, ahead of the server.
//!
//! ```text
//!   server's packets ─► hear ─► confirmed state of tick T ─┐ reconcile: the commands that the
//!   own packets ──────► say ──► pending commands ──────────┤ server has not applied run again
//!                time ─► advance ─────────────────────────►└► state now, ahead by the lead
//! ```
//!
//! The client is ahead by the **lead**: a command that leaves now for the predicted tick reaches the
//! server just before the server runs that tick. The lead is measured from the server's answers, and
//! includes the delays of the last [`limits::LEAD_WINDOW`], so that on a line with jitter commands
//! still arrive in time: then both ends run the same commands in the same ticks, and the server's news
//! confirm what is shown. Where they differ, the difference is the **correction**: it is counted, and
//! shown over a few frames.
//!
//! A game implements [`LocalWorld`]; [`Prediction`] is the same for all. Times are durations since any
//! moment of the client's choice. This module reads no clock.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::time::Duration;

use tickwire_sim::{Action, Command, PlayerId};

use super::verbs::{Ask, Verbs};
use crate::limits;
use crate::packet::{Decoded, Dialect, Direction, PacketError, Value};

mod clock;
mod corrections;
mod numbers;
mod track;

pub use clock::Clock;
pub use corrections::Corrections;
pub use numbers::{Predictor, StartPredictor, start};
pub use track::Track;

/// A position in 1/65,536 px from the left and from the top.
pub type Place = (i32, i32);

/// What the server says of the commands of the own player.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acked {
    /// The sequence of the last command that it has applied.
    pub sequence: u64,
    /// How many ticks early (positive) or late that command arrived.
    pub margin_ticks: i16,
}

/// The world as one client knows it, run by the rules of the game.
pub trait LocalWorld: Sized + Debug + Send {
    /// What the own player does.
    type Action: Action;
    /// All that a step changes: the own player, and what its commands lead to.
    type State: Clone + Debug + Send;
    /// What the client shows once, such as a swing.
    type Event: Clone + Debug + Send;

    /// The name of the packet that tells the state after a tick, which its argument `tick` names.
    const UPDATE: &'static str;

    /// The world that `welcome` announces; `None` if this program does not have its rules.
    fn new(welcome: &Decoded<'_>) -> Option<Self>;

    /// Ticks per second.
    fn tick_hz(&self) -> u32;

    /// What the packets of a client mean.
    fn verbs(dialect: &Dialect) -> Box<dyn Verbs>;

    /// Whether an action runs before the server has confirmed it.
    fn is_foreseen(action: &Self::Action) -> bool;

    /// What an update says of the own player's commands, if it says something.
    fn acked(update: &Decoded<'_>) -> Option<Acked>;

    /// Takes a packet of the server. `state` is the confirmed state, `None` while there is no own
    /// player; with an update it has been run up to the update's tick, and the packet corrects it.
    /// Returns whether anything changed.
    fn hear(&mut self, packet: &Decoded<'_>, state: &mut Option<Self::State>) -> bool;

    /// The own player's number.
    fn own(&self) -> Option<PlayerId>;

    /// Runs one tick, and empties the list of commands. Returns the events of the own player.
    fn step(
        &mut self,
        tick: u32,
        state: &mut Self::State,
        commands: &mut Vec<Command<Self::Action>>,
    ) -> Option<Self::Event>;

    /// Where the own player is.
    fn place(state: &Self::State) -> Place;

    /// What a page shows of the own player besides its place: appends numbers.
    fn numbers(state: &Self::State, out: &mut Vec<i32>);

    /// An event as numbers, for a page.
    fn event_numbers(event: &Self::Event) -> [i32; 2];

    /// Where somebody who moves from a place, with a velocity in 1/65,536 px per tick, is so many
    /// ticks later if nothing new happens (dead reckoning).
    fn walk_on(&self, from: Place, velocity: Place, ticks: u32) -> Place;
}

/// A command that the server has not applied yet, as far as is known.
#[derive(Debug, Clone)]
struct Pending<A> {
    sequence: u64,
    /// The tick that it was sent for, and the one in which it runs.
    intended: u32,
    tick: u32,
    sent: Duration,
    action: Option<A>,
}

/// What the own player does now, ahead of the server.
#[derive(Debug)]
struct Ahead<S> {
    /// The tick that runs now: [`Ahead::from`] is before it, [`Ahead::to`] after it.
    tick: u32,
    from: S,
    to: S,
}

/// What is shown of the own player in a frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shown {
    /// The tick that runs, with its fraction in 1/65,536.
    pub tick: (u32, u16),
    /// The position, smoothed, in 1/65,536 px.
    pub at: Place,
}

/// Which parts are on; all of them at first. For comparison and for teaching.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switches {
    /// Whether the own player's commands run before the server has confirmed them.
    pub prediction: bool,
    /// Whether what the server says replaces what was predicted.
    pub reconciliation: bool,
}

/// See the [module](self).
pub struct Prediction<W: LocalWorld> {
    world: Option<W>,
    verbs: Box<dyn Verbs>,
    clock: Clock,
    /// The state after the ticks that the server has confirmed.
    confirmed: Option<(u32, W::State)>,
    pending: VecDeque<Pending<W::Action>>,
    acked: u64,
    ahead: Option<Ahead<W::State>>,
    is_stale: bool,
    /// The tick of the last event, so that a tick that runs again tells it only once.
    told: u32,
    events: Vec<W::Event>,
    corrections: Corrections,
    switches: Switches,
    commands: Vec<Command<W::Action>>,
}

impl<W: LocalWorld> Prediction<W> {
    /// Before `welcome`.
    pub fn new(dialect: &Dialect) -> Prediction<W> {
        Prediction {
            world: None,
            verbs: W::verbs(dialect),
            clock: Clock::default(),
            confirmed: None,
            pending: VecDeque::new(),
            acked: 0,
            ahead: None,
            is_stale: false,
            told: 0,
            events: Vec::new(),
            corrections: Corrections::default(),
            switches: Switches { prediction: true, reconciliation: true },
            commands: Vec::new(),
        }
    }

    /// Takes a packet of the server that has arrived now.
    pub fn hear(&mut self, packet: &Decoded<'_>, now: Duration) {
        self.clock.news(now);
        match packet.row.name.as_str() {
            "welcome" => self.welcome(packet),
            "command_accepted" => self.accept(packet),
            "command_rejected" => self.reject(packet),
            "pong" => self.clock.pong(packet.number("nonce"), packet.number("tick"), now),
            name if name == W::UPDATE => self.update(packet, now),
            _ => self.learn(packet),
        }
    }

    fn welcome(&mut self, packet: &Decoded<'_>) {
        self.world = W::new(packet);
        self.clock = Clock::new(self.world.as_ref().map_or(30, W::tick_hz));
        self.reset();
    }

    /// There is no own player.
    fn reset(&mut self) {
        self.confirmed = None;
        self.ahead = None;
        self.pending.clear();
        self.acked = 0;
        self.told = 0;
        self.corrections.settle();
    }

    /// What the server says between two updates belongs to the newest of them.
    fn learn(&mut self, packet: &Decoded<'_>) {
        let Some(world) = &mut self.world else { return };
        let (tick, state) = self.confirmed.take().map_or((0, None), |(tick, state)| (tick, Some(state)));
        let mut state = state;
        self.is_stale |= world.hear(packet, &mut state);
        match state {
            Some(state) => self.confirmed = Some((tick, state)),
            None if self.ahead.is_some() => self.reset(),
            None => {}
        }
    }

    /// The ticks in which commands ran: the sequence of the first, how many in a row, and their tick.
    fn accept(&mut self, packet: &Decoded<'_>) {
        for [first, count, tick] in groups(packet, "commands") {
            let Ok(tick) = u32::try_from(tick) else { continue };
            let ran = |one: &&mut Pending<W::Action>| {
                i64::try_from(one.sequence)
                    .is_ok_and(|own| (first..first.saturating_add(count)).contains(&own))
            };
            self.pending.iter_mut().filter(ran).for_each(|one| one.tick = tick);
        }
    }

    /// Commands that did not run.
    fn reject(&mut self, packet: &Decoded<'_>) {
        for [sequence, _] in groups(packet, "commands") {
            self.pending.retain(|one| i64::try_from(one.sequence) != Ok(sequence));
        }
        self.is_stale = true;
    }

    fn update(&mut self, packet: &Decoded<'_>, now: Duration) {
        let Some(tick) = packet.number::<u32>("tick") else { return };
        self.clock.heard(tick, now);
        if !self.switches.reconciliation && self.ahead.is_some() {
            return;
        }
        if let Some(Acked { sequence, margin_ticks }) = W::acked(packet) {
            if sequence != self.acked {
                let answered = self.pending.iter().find(|one| one.sequence == sequence);
                answered
                    .into_iter()
                    .for_each(|one| self.clock.answered(one.intended, margin_ticks, one.sent));
            }
            self.acked = sequence;
        }
        let before = self.shown_now();
        let confirmed = self.confirm(tick);
        let Some(world) = &mut self.world else { return };
        let mut state = confirmed;
        world.hear(packet, &mut state);
        let acked = self.acked;
        let late = self.clock.ticks(limits::PREDICTED_UNANSWERED);
        self.pending.retain(|one| one.sequence > acked && one.tick.saturating_add(late) > tick);
        let Some(state) = state else { return self.reset() };
        self.confirmed = Some((tick, state));
        let had_body = self.ahead.is_some();
        self.run_again();
        if let (Some(before), Some(after), true) = (before, self.shown_now(), had_body) {
            self.corrections.correct(before, after);
        }
    }

    /// The confirmed state, run up to a tick with the commands that the server has applied.
    fn confirm(&mut self, tick: u32) -> Option<W::State> {
        let (from, mut state) = self.confirmed.take()?;
        let world = self.world.as_mut()?;
        let first = from.max(tick.saturating_sub(limits::PREDICTED_TICKS));
        for at in first..tick {
            let due = |one: &&Pending<W::Action>| {
                one.sequence <= self.acked && (one.tick.clamp(first, tick - 1) == at)
            };
            collect(world, self.pending.iter().filter(due), &mut self.commands);
            world.step(at, &mut state, &mut self.commands);
        }
        Some(state)
    }

    /// Runs the pending commands again from the confirmed state, up to the tick that is shown.
    fn run_again(&mut self) {
        self.is_stale = false;
        let Some((confirmed, state)) = &self.confirmed else { return };
        let (mut at, mut from) = (*confirmed, state.clone());
        let target = self.ahead.as_ref().map_or(at, |ahead| ahead.tick.max(at));
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
        self.ahead = Some(Ahead { tick: at, from, to });
    }

    /// Runs a predicted tick. Commands that are late run in the first one.
    fn step(&mut self, first: u32, at: u32, state: &mut W::State) {
        let Some(world) = &mut self.world else { return };
        let due = |one: &&Pending<W::Action>| one.tick.max(first) == at;
        let is_on = self.switches.prediction;
        collect(world, self.pending.iter().filter(|_| is_on).filter(due), &mut self.commands);
        let event = world.step(at, state, &mut self.commands);
        if at > self.told && event.is_some() && is_on {
            self.told = at;
            self.events.extend(event);
        }
    }

    /// Takes a packet that the client sends now. Call it after [`Prediction::advance`].
    ///
    /// # Errors
    /// The bytes are not a packet of the dialect.
    pub fn say(&mut self, dialect: &Dialect, message: &[u8], now: Duration) -> Result<(), PacketError> {
        let packet = dialect.decode(Direction::ToServer, message)?;
        if packet.row.name == "ping" {
            self.clock.ping(packet.number("nonce"), now);
        }
        let (Some(ahead), Some(sequence)) = (&self.ahead, packet.number::<u32>("sequence")) else {
            return Ok(());
        };
        let mut asks = Vec::new();
        self.verbs.packet(&packet, now, &mut asks);
        let action = asks.iter().find_map(|ask| match ask {
            Ask::Act(action, _) => action.decoded::<W::Action>(),
            Ask::Refuse(..) => None,
        });
        let tick = packet.number("tick").unwrap_or(ahead.tick);
        let action = action.filter(W::is_foreseen);
        if self.pending.len() >= limits::PREDICTED_COMMANDS {
            self.pending.pop_front();
        }
        self.pending.push_back(Pending {
            sequence: sequence.into(),
            intended: tick,
            tick,
            sent: now,
            action,
        });
        self.rerun_current();
        Ok(())
    }

    /// Runs the tick again that is shown now: a command was added to it.
    fn rerun_current(&mut self) {
        let Some(Ahead { tick, from, .. }) = self.ahead.take() else { return };
        let mut to = from.clone();
        let first = self.confirmed.as_ref().map_or(tick, |(confirmed, _)| *confirmed);
        self.step(first, tick, &mut to);
        self.ahead = Some(Ahead { tick, from, to });
    }

    /// Moves on to `now`, and returns what is to be shown; `None` without an own player.
    pub fn advance(&mut self, now: Duration) -> Option<Shown> {
        self.clock.advance(now);
        let (tick, part) = self.clock.ahead(now)?;
        let far = self.clock.ticks(limits::PREDICTED_UNANSWERED);
        if let Some(ahead) = self.ahead.as_mut().filter(|ahead| ahead.tick.saturating_sub(tick) > far) {
            // The clock has jumped back.
            (ahead.tick, self.is_stale) = (tick, true);
        }
        if self.is_stale {
            self.run_again();
        }
        let is_stalled = self.clock.silence(now) > limits::PREDICTED_SILENCE;
        let first = self.confirmed.as_ref()?.0;
        let mut ahead = self.ahead.take()?;
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
        let shown = Shown { tick: (ahead.tick, part), at: (0, 0) };
        self.ahead = Some(ahead);
        let at = self.shown_at(part)?;
        self.corrections.decay(now);
        Some(Shown { at: self.corrections.smoothed(at), ..shown })
    }

    /// The place between the state before the running tick and the one after it.
    fn shown_at(&self, part: u16) -> Option<Place> {
        let ahead = self.ahead.as_ref()?;
        let ((x, y), (to_x, to_y)) = (W::place(&ahead.from), W::place(&ahead.to));
        let mix =
            |a: i32, b: i32| (i64::from(a) + (i64::from(b) - i64::from(a)) * i64::from(part) / 65_536) as i32;
        Some((mix(x, to_x), mix(y, to_y)))
    }

    /// The place at the end of the running tick, by which corrections are measured.
    fn shown_now(&self) -> Option<Place> {
        self.ahead.as_ref().map(|ahead| W::place(&ahead.to))
    }

    /// The tick that a command sent now is for, once the line is measured: the one that runs.
    pub fn command_tick(&self) -> Option<u32> {
        self.clock.is_measured().then(|| self.ahead.as_ref().map(|ahead| ahead.tick)).flatten()
    }

    /// The events of the own player since the last call.
    pub fn take_events(&mut self) -> Vec<W::Event> {
        std::mem::take(&mut self.events)
    }

    /// The world, as it is known.
    pub fn world(&self) -> Option<&W> {
        self.world.as_ref()
    }

    /// The own player's state at the end of the running tick.
    pub fn state(&self) -> Option<&W::State> {
        self.ahead.as_ref().map(|ahead| &ahead.to)
    }

    /// The clock, with the lead.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// What was corrected.
    pub fn corrections(&self) -> &Corrections {
        &self.corrections
    }

    /// Turns parts off or on.
    pub fn switch(&mut self, switches: Switches) {
        self.switches = switches;
        self.is_stale = true;
    }
}

/// The groups of numbers in a list of a packet; what is no number is 0.
fn groups<const N: usize>(packet: &Decoded<'_>, name: &str) -> Vec<[i64; N]> {
    let list = packet.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let numbers: Vec<i64> = list.iter().map(|value| value.as_i64().unwrap_or(0)).collect();
    numbers.chunks_exact(N).filter_map(|group| group.try_into().ok()).collect()
}

/// The commands of the own player that have an effect before they are confirmed, in order.
fn collect<'a, W: LocalWorld>(
    world: &W,
    pending: impl Iterator<Item = &'a Pending<W::Action>>,
    commands: &mut Vec<Command<W::Action>>,
) where
    W::Action: 'a,
{
    commands.clear();
    let Some(player) = world.own() else { return };
    commands.extend(pending.filter_map(|one| {
        let action = one.action.clone()?;
        Some(Command { player, sequence: one.sequence, action })
    }));
}
