//! The client's end of one connection: a checking bot or a misbehaving client, with network faults.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use super::bot_checker::BotChecker;
use super::counts::SimulationCounts;
use super::failure::InvariantFailure;
use super::lockstep_bot::LockstepBot;
use super::misbehaving_client::MisbehavingClient;
use super::virtual_tcp::{BUFFER_BYTES, ReadResult, SLOW_BUFFER_BYTES, VirtualTcp};
use crate::client::bots::{Bot, BotStage};
use crate::game::BotRng;
use crate::game::bots::{Agent, Tolerance};

/// Interval at which a bot decides on its actions.
const ACT_EVERY: Duration = Duration::from_millis(66);
/// One in this many clients requests another lane when an outage of its path begins.
const NEW_LANE_ONE_IN: u32 = 3;
/// Maximum number of bytes that a slow reader reads in one step.
const SLOW_BYTES: u32 = 40;

/// A bot that checks all packets.
pub type SimCheckingBot = Bot<Box<dyn Agent>, BotChecker>;

/// The kind of client.
pub enum ClientKind {
    /// A bot that checks all packets.
    Bot(Box<SimCheckingBot>),
    /// A client that misbehaves.
    Hostile(Box<MisbehavingClient>),
}

/// The client's end of one connection.
pub struct ClientEnd {
    /// The connection.
    pub tcp: Arc<VirtualTcp>,
    /// The kind of client.
    pub kind: ClientKind,
    /// Whether network faults have occurred for which the server may close the connection.
    pub has_network_fault: bool,
    /// Whether the client no longer reads and writes.
    pub has_finished: bool,
    /// Whether the same client opens a second connection, as a duplicated browser tab would.
    pub should_reconnect: bool,
    /// Time at which the connection is cut. Set only for a client with a resume key.
    cut_at: Option<Duration>,
    rng: BotRng,
    out: Vec<u8>,
    slow_until: Duration,
    acts: Duration,
    next_trouble: Duration,
    leaves: Duration,
    is_leaving: bool,
}

impl ClientEnd {
    /// Creates a client that starts at `now`. The client first sends the bytes `out`.
    pub fn new(wire: Arc<VirtualTcp>, who: ClientKind, out: Vec<u8>, seed: u64, now: Duration) -> ClientEnd {
        let mut rng = BotRng::new(seed);
        let seconds = |rng: &mut BotRng, min, max| {
            now + rng.between(Duration::from_secs(min), Duration::from_secs(max))
        };
        ClientEnd {
            tcp: wire,
            kind: who,
            has_network_fault: false,
            has_finished: false,
            should_reconnect: false,
            cut_at: None,
            out,
            slow_until: Duration::ZERO,
            acts: now,
            next_trouble: seconds(&mut rng, 5, 60),
            leaves: seconds(&mut rng, 15, 240),
            is_leaving: false,
            rng,
        }
    }

    /// Schedules a cut of the connection.
    pub fn schedule_disconnect(&mut self, now: Duration) {
        self.cut_at = Some(now + self.rng.between(Duration::from_secs(1), Duration::from_secs(20)));
    }

    /// Reads, acts and writes, and may start a network fault.
    ///
    /// # Errors
    /// The bot received something that breaks a rule.
    pub fn step(&mut self, now: Duration, counts: &mut SimulationCounts) -> Result<(), InvariantFailure> {
        if self.has_finished {
            return Ok(());
        }
        if now >= self.next_trouble {
            self.next_trouble = now + self.rng.between(Duration::from_secs(5), Duration::from_secs(60));
            self.start_network_fault(now, counts);
        }
        self.exchange_datagrams(now);
        self.read(now, counts)?;
        self.act(now, counts);
        if let ClientKind::Bot(bot) = &mut self.kind {
            bot.drain_output(&mut self.out);
        }
        let taken = self.tcp.write(&self.out);
        self.out.drain(..taken);
        self.collect_faults(counts)
    }

    /// Receives the datagrams of the lane, and sends those that are due. In an outage of the path,
    /// the client may request another lane.
    fn exchange_datagrams(&mut self, now: Duration) {
        let ClientKind::Bot(bot) = &mut self.kind else { return };
        let udp = &self.tcp.udp;
        if udp.step() && self.rng.below(NEW_LANE_ONE_IN) == 0 {
            bot.request_lane();
        }
        while let Some(datagram) = udp.receive() {
            bot.receive_datagram(&datagram, now);
        }
        bot.drain_datagrams(now).into_iter().for_each(|datagram| udp.send(datagram));
    }

    /// Delivers the datagrams in flight, and the server's newest ones. Returns false if they can
    /// no longer reach the client.
    pub fn deliver_datagrams(&mut self, now: Duration) -> bool {
        let ClientKind::Bot(bot) = &mut self.kind else { return true };
        let Some(datagrams) = self.tcp.udp.deliver_now() else { return false };
        datagrams.iter().for_each(|datagram| bot.receive_datagram(datagram, now));
        true
    }

    /// Closes the connection in an orderly way.
    pub fn leave(&mut self) {
        self.leaves = Duration::ZERO;
        self.slow_until = Duration::ZERO;
    }

    fn act(&mut self, now: Duration, counts: &mut SimulationCounts) {
        if now < self.acts {
            return;
        }
        match &mut self.kind {
            ClientKind::Bot(bot) => {
                self.acts = now + ACT_EVERY;
                bot.act(now);
                if self.cut_at.is_some_and(|at| now >= at) && bot.stage() == BotStage::Playing {
                    self.cut_at = None;
                    return self.disconnect(counts);
                }
                if now >= self.leaves && !std::mem::replace(&mut self.is_leaving, true) {
                    counts.add("left with a close frame");
                    bot.leave();
                }
                if bot.stage() == BotStage::Closed {
                    self.finish();
                }
            }
            ClientKind::Hostile(hostile) => {
                if hostile.act(now, &mut self.out) || now >= self.leaves {
                    self.finish();
                }
            }
        }
    }

    /// Cuts the connection in one of the ways in which real clients lose their connections.
    fn disconnect(&mut self, counts: &mut SimulationCounts) {
        match self.rng.below(6) {
            0 | 1 => {
                counts.add("cut: without a close frame");
                self.has_finished = true;
                if self.rng.below(2) == 0 { self.tcp.end() } else { self.tcp.close() }
            }
            2 => {
                counts.add("cut: vanished");
                self.has_finished = true;
                self.tcp.disappear(false);
            }
            3 => {
                counts.add("cut: half open");
                self.has_finished = true;
                self.tcp.disappear(true);
            }
            4 => {
                counts.add("cut: closed with 1001");
                if let ClientKind::Bot(bot) = &mut self.kind {
                    bot.close_going_away();
                }
                self.finish();
            }
            _ => {
                counts.add("cut: by a second connection");
                self.should_reconnect = true;
            }
        }
    }

    fn finish(&mut self) {
        if let ClientKind::Bot(bot) = &mut self.kind {
            bot.drain_output(&mut self.out);
        }
        self.tcp.write(&self.out);
        self.has_finished = true;
        self.tcp.close();
    }

    /// Marks the connection as faulty, so that the checks accept a delay or a close by the server.
    pub fn cause_stall(&mut self) {
        self.has_network_fault = true;
        if let ClientKind::Bot(bot) = &mut self.kind {
            bot.agent.tolerate(Tolerance::Network);
        }
    }

    fn start_network_fault(&mut self, now: Duration, counts: &mut SimulationCounts) {
        let what = self.rng.below(10);
        if what >= 6 || matches!(self.kind, ClientKind::Hostile(_)) && what >= 3 {
            return;
        }
        self.cause_stall();
        match what {
            0 | 1 => {
                counts.add("line stalled");
                let time = self.rng.between(Duration::from_millis(200), Duration::from_secs(7));
                self.tcp.stall_until(now + time);
            }
            2 => {
                counts.add("slow reader");
                self.slow_until = now + self.rng.between(Duration::from_secs(2), Duration::from_secs(12));
                self.tcp.set_buffer(SLOW_BUFFER_BYTES);
            }
            3 => {
                counts.add("vanished");
                // A small buffer blocks the server's sends. With a large buffer, the server only
                // detects that the client sends nothing.
                if self.rng.below(2) == 0 {
                    self.tcp.set_buffer(SLOW_BUFFER_BYTES);
                }
                self.tcp.disappear(false);
                self.has_finished = true;
            }
            4 => {
                counts.add("half open");
                self.tcp.disappear(true);
                self.has_finished = true;
            }
            _ => {
                counts.add("left without a close frame");
                self.has_finished = true;
                if self.rng.below(2) == 0 { self.tcp.end() } else { self.tcp.close() }
            }
        }
    }

    fn read(&mut self, now: Duration, counts: &mut SimulationCounts) -> Result<(), InvariantFailure> {
        let is_slow = now < self.slow_until;
        if !is_slow && self.slow_until > Duration::ZERO {
            self.slow_until = Duration::ZERO;
            self.tcp.set_buffer(BUFFER_BYTES);
        }
        if is_slow {
            let max = self.rng.below(SLOW_BYTES) as usize;
            return if max > 0 { self.read_once(max, now).map(drop) } else { Ok(()) };
        }
        // Sometimes reads a few small pieces first, which end at arbitrary bytes.
        let cuts = if self.rng.below(8) == 0 { self.rng.below(6) } else { 0 };
        for _ in 0..cuts {
            let max = 1 + self.rng.below(120) as usize;
            if !self.read_once(max, now)? {
                return Ok(());
            }
            counts.add("messages split at any byte");
        }
        self.read_all(now)
    }

    /// Reads all bytes that have arrived.
    ///
    /// # Errors
    /// The bytes differ from the bytes that the server queued.
    pub fn read_all(&mut self, now: Duration) -> Result<(), InvariantFailure> {
        while self.read_once(BUFFER_BYTES, now)? {}
        Ok(())
    }

    /// Reads once. Returns whether any bytes had arrived.
    fn read_once(&mut self, max: usize, now: Duration) -> Result<bool, InvariantFailure> {
        if self.has_finished {
            return Ok(false);
        }
        let read = self.tcp.read(max);
        if let Some(place) = self.tcp.mismatch() {
            let detail = format!("received byte {place} differs from the queued one");
            return Err(InvariantFailure::new("every queued byte arrives once and in order", detail));
        }
        match (&mut self.kind, read) {
            (_, ReadResult::Nothing) => return Ok(false),
            (ClientKind::Bot(bot), ReadResult::Bytes(bytes)) => bot.receive(&bytes, now),
            (ClientKind::Hostile(hostile), ReadResult::Bytes(_)) => hostile.on_received(now),
            (ClientKind::Bot(bot), ReadResult::End) => {
                bot.receive_eof(None, now);
                self.finish();
                return Ok(false);
            }
            (ClientKind::Bot(bot), ReadResult::Reset) => {
                bot.receive_eof(Some("reset"), now);
                self.finish();
                return Ok(false);
            }
            (ClientKind::Hostile(_), ReadResult::End | ReadResult::Reset) => {
                self.finish();
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reports the first fault that the bot or the model of its datagrams found.
    fn collect_faults(&mut self, counts: &mut SimulationCounts) -> Result<(), InvariantFailure> {
        let ClientKind::Bot(bot) = &mut self.kind else { return Ok(()) };
        self.tcp.udp.check()?;
        let by_datagram = bot.observer.by_datagram;
        let new = by_datagram - std::mem::replace(&mut bot.observer.counted, by_datagram);
        counts.add_many("lane: packets received by datagram", new);
        counts.messages += std::mem::take(&mut bot.observer.messages);
        match bot.observer.faults.first() {
            Some((rule, detail)) => {
                Err(InvariantFailure::new(rule, format!("{}: {detail}", bot.agent.name())))
            }
            None => Ok(()),
        }
    }

    /// The bot, if it is a lockstep client.
    pub fn lockstep_bot(&mut self) -> Option<&mut LockstepBot> {
        let ClientKind::Bot(bot) = &mut self.kind else { return None };
        (&mut *bot.agent as &mut dyn Any).downcast_mut()
    }

    /// The checking bot, if the client is one and still reads.
    pub fn bot(&self) -> Option<&SimCheckingBot> {
        match &self.kind {
            ClientKind::Bot(bot) if !self.has_finished => Some(bot),
            _ => None,
        }
    }
}
