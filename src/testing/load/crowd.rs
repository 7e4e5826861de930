//! Many bots on few threads, with one [`Poller`] per thread over non-blocking sockets.
//!
//! ```text
//!    dial, a few at a time ─► all connected (or timed out) ─► settle ─► measure ─► leave
//! ```
//!
//! A bot reconnects if its server stops, for example at a restart by `tickwire dev`, and with
//! [`CrowdPlan::reconnects`] also if its connection is lost. Otherwise bots do not reconnect: the
//! measurement ends when the last connection has ended.
//!
//! The load generator must be cheap, because otherwise it would measure itself: it never waits for
//! a single bot. It runs a [`CrowdPlan`], and returns a [`CrowdReport`] for each dialect.

use std::io::{self, ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::bot_datagrams::BotDatagrams;
use super::checking_bot::{self, CheckingBot, SERVER_AWAY};
pub use super::plan::CrowdPlan;
use super::reconnects::Reconnects;
use super::report::CrowdReport;
use crate::client::bots::BotStage;
use crate::client::bots::shared_world::SharedWorlds;
use crate::client::connection::ClientConnection;
use crate::client::dial;
use crate::client::outgoing::Outgoing;
use crate::connection::session::has_hello;
use crate::game::bots::Agent as _;
pub use crate::game::bots::BotBehavior;
use crate::packet::Dialect;
use crate::util::os::Poller;

/// Maximum number of bots per thread. If [`THREADS`] threads are not enough, a thread has more
/// bots.
const BOTS_PER_THREAD: usize = 500;
/// Maximum number of threads.
const THREADS: usize = 4;
/// Time within which all bots must start to play.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time between the start of the last bot and the start of the measurement. This time is not
/// measured, because joining costs more than playing.
const WARMUP_TIME: Duration = Duration::from_secs(1);
/// Time between two calls of [`Bot::act`](crate::client::bots::Bot::act).
const ACT_EVERY: Duration = Duration::from_millis(50);
/// Interval at which the datagrams of bots are received and sent.
const DATAGRAM_INTERVAL: Duration = Duration::from_millis(33);
/// Maximum time for the close handshakes.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(3);
/// The last part of the measured time, in which no connection is cut, so that the bots are back.
const NO_CUTS: Duration = Duration::from_secs(1);
/// Maximum number of connections that a thread makes before it serves its existing connections.
const DIALS_AT_ONCE: usize = 8;
/// Maximum number of bytes per read.
const READ_BYTES: usize = 64 * 1024;
/// Value of `begins_ms` before it is set.
const UNSET: u64 = u64::MAX;

/// State shared by the threads of a crowd.
struct CrowdState<'a> {
    plan: &'a CrowdPlan,
    /// The worlds of bots in lockstep.
    worlds: Arc<SharedWorlds>,
    to: SocketAddr,
    started: Instant,
    /// Number of bots that have started to play or have failed to start.
    ready: AtomicUsize,
    /// Number of bots whose connection has ended.
    over: AtomicUsize,
    /// Start of the measured time, in ms since `started`.
    begins_ms: AtomicU64,
    /// Number of connections that the crowd has cut.
    cuts: AtomicU64,
}

impl CrowdState<'_> {
    /// Creates a connection to the endpoint of a dialect.
    fn connection(&self, dialect: &Dialect, reconnects: &Reconnects) -> ClientConnection {
        let url = self.plan.url.clone().with_dialect_path(self.plan.game.paths, dialect.name());
        let (target, keys) = (reconnects.with_key(&url.target), dial::random_keys());
        ClientConnection::new(&url.authority(), &target, has_hello(dialect), keys).with_compression()
    }
}

/// Runs a crowd to its end. Returns a report for each dialect, in the order of the plan.
///
/// # Errors
/// The plan has no dialect, the game has no bots (`Unsupported`), the URL cannot be resolved, or
/// the system cannot create a [`Poller`]. Failures of single bots are part of the reports.
pub fn run(plan: &CrowdPlan) -> io::Result<Vec<CrowdReport>> {
    if plan.dialects.is_empty() {
        return Err(ErrorKind::InvalidInput.into());
    }
    let shared = CrowdState {
        plan,
        worlds: SharedWorlds::new(plan.game),
        to: dial::resolve(&plan.url)?,
        started: Instant::now(),
        ready: AtomicUsize::new(0),
        over: AtomicUsize::new(0),
        begins_ms: AtomicU64::new(UNSET),
        cuts: AtomicU64::new(0),
    };
    let threads = plan.count.div_ceil(BOTS_PER_THREAD).clamp(1, THREADS);
    let pens = (0..threads).map(|number| {
        let indexes = (number..plan.count).step_by(threads).collect();
        BotThread::new(&shared, indexes)
    });
    let pens: Vec<BotThread<'_>> = pens.collect::<io::Result<_>>()?;
    let done: Vec<io::Result<Vec<CrowdReport>>> = thread::scope(|scope| {
        let threads: Vec<_> = pens.into_iter().map(|pen| scope.spawn(|| pen.run())).collect();
        threads.into_iter().map(|thread| thread.join().expect("a pen does not panic")).collect()
    });
    let mut reports = plan.empty_reports(Duration::ZERO);
    for part in done {
        reports.iter_mut().zip(part?).for_each(|(report, part)| report.merge(&part));
    }
    Ok(reports)
}

struct CrowdBot {
    bot: CheckingBot,
    /// Index of the dialect in the plan.
    dialect: usize,
    /// Index in the crowd.
    index: usize,
    reconnects: Reconnects,
    /// The connection; `None` once it has ended.
    stream: Option<Arc<TcpStream>>,
    unsent: Outgoing,
    datagrams: BotDatagrams,
    is_ready: bool,
    /// Whether the bot was playing at the start of the measured time.
    has_played: bool,
    /// Whether the bot is counted in [`CrowdState::over`].
    is_over: bool,
}

/// The bots of one thread.
struct BotThread<'a> {
    shared: &'a CrowdState<'a>,
    poller: Poller,
    /// Bots that have not connected yet, in reverse order.
    unconnected: Vec<usize>,
    members: Vec<CrowdBot>,
    acted: Duration,
    /// Time of the last exchange of datagrams.
    exchanged: Duration,
    /// Index of the bot whose connection is cut next.
    next_cut: usize,
    buffer: Vec<u8>,
}

impl<'a> BotThread<'a> {
    fn new(shared: &'a CrowdState<'a>, mut indexes: Vec<usize>) -> io::Result<BotThread<'a>> {
        indexes.reverse();
        Ok(BotThread {
            shared,
            poller: Poller::new()?,
            unconnected: indexes,
            members: Vec::new(),
            acted: Duration::ZERO,
            exchanged: Duration::ZERO,
            next_cut: 0,
            buffer: vec![0; READ_BYTES],
        })
    }

    /// Runs the bots of the thread to the end. Returns their measurements for each dialect.
    fn run(mut self) -> io::Result<Vec<CrowdReport>> {
        let begins = loop {
            self.poll()?;
            if let Some(begins) = self.begins() {
                break begins;
            }
        };
        while self.now() < begins {
            self.poll()?;
        }
        for member in &mut self.members {
            checking_bot::begin(&mut member.bot);
            member.has_played = member.bot.stage() == BotStage::Playing;
        }
        let ends = begins + self.shared.plan.time;
        while self.now() < ends && !self.are_all_over() {
            self.poll()?;
            self.cut_connections(begins, ends);
        }
        let measured = self.now().min(ends).saturating_sub(begins);
        // A connection that was lost a moment ago is no failure.
        let away = self.members.iter_mut().filter(|member| member.reconnects.is_server_away());
        away.for_each(|member| member.bot.observer.measurements.disconnect(SERVER_AWAY));
        // The bots leave afterwards, because leaving causes traffic that must not count.
        let mut reports = self.shared.plan.empty_reports(measured);
        for member in &mut self.members {
            // A bot that reconnects may have been away at the beginning.
            let plays_now = member.reconnects.has_key() && member.bot.stage() == BotStage::Playing;
            let report = &mut reports[member.dialect];
            report.bots += 1;
            report.playing += usize::from(member.has_played || plays_now);
            report.tally.merge(&member.bot.observer.measurements);
            report.tally.stats.add(&member.bot.agent.take_stats());
            report.tally.round_trips.merge(&member.bot.agent.take_round_trips());
            report.tally.stats.add(&member.datagrams.stats(&member.bot, self.shared.started.elapsed()));
        }
        let before: Vec<_> =
            self.members.iter().map(|member| member.bot.observer.measurements.all()).collect();
        self.leave()?;
        for (member, before) in self.members.iter().zip(before) {
            reports[member.dialect].tally.count_since(before, &member.bot.observer.measurements);
        }
        Ok(reports)
    }

    fn now(&self) -> Duration {
        self.shared.started.elapsed()
    }

    /// Whether all connections of the crowd have ended.
    fn are_all_over(&self) -> bool {
        self.shared.over.load(Ordering::Acquire) >= self.shared.plan.count
    }

    /// Returns the start of the measured time: [`WARMUP_TIME`] after all bots have started to play,
    /// or after [`CONNECT_TIMEOUT`]. Returns `None` until then.
    fn begins(&self) -> Option<Duration> {
        let CrowdState { plan, ready, begins_ms, .. } = self.shared;
        let is_complete = ready.load(Ordering::Acquire) >= plan.count;
        if self.unconnected.is_empty() && (is_complete || self.now() > CONNECT_TIMEOUT) {
            let begins = (self.now() + WARMUP_TIME).as_millis() as u64;
            let _ = begins_ms.compare_exchange(UNSET, begins, Ordering::AcqRel, Ordering::Acquire);
        }
        let begins = begins_ms.load(Ordering::Acquire);
        (begins != UNSET).then(|| Duration::from_millis(begins))
    }

    /// Connects some bots, reads all arrived bytes, and lets the bots act when it is time.
    fn poll(&mut self) -> io::Result<()> {
        for _ in 0..DIALS_AT_ONCE {
            if let Some(index) = self.unconnected.pop() {
                self.dial(index)?;
            }
        }
        self.exchange_datagrams()?;
        let mut next = self.acted + ACT_EVERY;
        if self.shared.plan.lane {
            next = next.min(self.exchanged + DATAGRAM_INTERVAL);
        }
        let wait = if self.unconnected.is_empty() { next.saturating_sub(self.now()) } else { Duration::ZERO };
        self.receive(wait)?;
        if self.now() >= self.acted + ACT_EVERY {
            self.acted = self.now();
            self.reconnect_due_bots()?;
            for member in &mut self.members {
                member.bot.act(self.shared.started.elapsed());
                member.flush(self.shared);
            }
        }
        Ok(())
    }

    /// Exchanges the datagrams of all bots when it is time.
    fn exchange_datagrams(&mut self) -> io::Result<()> {
        let now = self.now();
        if !self.shared.plan.lane || now < self.exchanged + DATAGRAM_INTERVAL {
            return Ok(());
        }
        self.exchanged = now;
        for member in self.members.iter_mut().filter(|member| member.stream.is_some()) {
            member.datagrams.exchange(&mut member.bot, self.shared.to, self.shared.started.elapsed())?;
            member.flush(self.shared);
        }
        Ok(())
    }

    fn dial(&mut self, index: usize) -> io::Result<()> {
        let CrowdState { plan, to, .. } = self.shared;
        let number = plan.dialect(index);
        let dialect = Arc::clone(&plan.dialects[number]);
        let reconnects = Reconnects::new(plan.reconnects.map(|_| dial::random_keys().upgrade));
        let connection = self.shared.connection(&dialect, &reconnects);
        let Some(agent) = plan.agent(index, &self.shared.worlds) else {
            return Err(ErrorKind::Unsupported.into());
        };
        let mut bot = checking_bot::bot(connection, dialect, agent);
        bot.observer.is_resuming = reconnects.has_key();
        if plan.lane {
            bot.use_lane();
        }
        let mut member = CrowdBot {
            bot,
            dialect: number,
            index,
            reconnects,
            stream: None,
            unsent: Outgoing::default(),
            datagrams: BotDatagrams::default(),
            is_ready: false,
            has_played: false,
            is_over: false,
        };
        match dial::connect(*to, plan.source.as_ref().map(|source| source.address(index))) {
            Ok(stream) => {
                let stream = Arc::new(stream);
                self.poller.add(&stream, self.members.len())?;
                member.stream = Some(stream);
                member.flush(self.shared);
            }
            Err(error) => member.end(Some(&error), self.shared),
        }
        self.members.push(member);
        Ok(())
    }

    /// Reconnects bots, a few at a time.
    fn reconnect_due_bots(&mut self) -> io::Result<()> {
        let (CrowdState { plan, to, .. }, now) = (self.shared, self.now());
        let is_due = |at: &usize| self.members[*at].reconnects.is_due(now);
        let due: Vec<usize> = (0..self.members.len()).filter(is_due).collect();
        for at in due.into_iter().take(DIALS_AT_ONCE) {
            let member = &mut self.members[at];
            let dialect = Arc::clone(&plan.dialects[member.dialect]);
            let Some(agent) = plan.agent(member.index, &self.shared.worlds) else { continue };
            match dial::connect(*to, plan.source.as_ref().map(|source| source.address(member.index))) {
                Ok(stream) => {
                    let stream = Arc::new(stream);
                    self.poller.add(&stream, at)?;
                    let connection = self.shared.connection(&dialect, &member.reconnects);
                    member.reconnects.reconnect(&mut member.bot, connection, dialect, agent);
                    (member.stream, member.unsent) = (Some(stream), Outgoing::default());
                    member.datagrams = BotDatagrams::default();
                    if plan.lane {
                        member.bot.use_lane();
                    }
                    member.flush(self.shared);
                }
                Err(_) if member.reconnects.schedule(&mut member.bot, now) => {}
                Err(_) => member.flush(self.shared),
            }
        }
        Ok(())
    }

    /// Cuts the connections that are due, in turn, without a close frame.
    fn cut_connections(&mut self, begins: Duration, ends: Duration) {
        let (Some(per_second), now) = (self.shared.plan.reconnects, self.now()) else { return };
        if now + NO_CUTS >= ends {
            return;
        }
        let due = (now.saturating_sub(begins).as_secs_f64() * f64::from(per_second)) as u64;
        let CrowdState { cuts, .. } = self.shared;
        while cuts.load(Ordering::Acquire) < due {
            let is_playing = |member: &CrowdBot| member.bot.stage() == BotStage::Playing;
            let (before, after) = self.members.split_at(self.next_cut.min(self.members.len()));
            let next = after.iter().chain(before).position(is_playing);
            let Some(next) = next else { return };
            let at = (self.next_cut + next) % self.members.len();
            self.next_cut = (at + 1) % self.members.len();
            cuts.fetch_add(1, Ordering::AcqRel);
            self.members[at].end(Some(&ErrorKind::ConnectionAborted.into()), self.shared);
        }
    }

    /// Waits at most `wait` for bytes, and passes them to their bots.
    fn receive(&mut self, wait: Duration) -> io::Result<()> {
        for number in self.poller.wait(wait)? {
            self.members[number].read(&mut self.buffer, self.shared);
        }
        Ok(())
    }

    fn leave(&mut self) -> io::Result<()> {
        for member in &mut self.members {
            member.bot.leave();
            member.flush(self.shared);
        }
        let deadline = self.now() + LEAVE_TIMEOUT;
        while self.now() < deadline && self.members.iter().any(|member| member.stream.is_some()) {
            self.receive(ACT_EVERY)?;
        }
        Ok(())
    }
}

impl CrowdBot {
    fn read(&mut self, buffer: &mut [u8], shared: &CrowdState<'_>) {
        let Some(mut stream) = self.stream.as_deref() else { return };
        match stream.read(buffer) {
            Ok(0) => self.end(None, shared),
            Ok(count) => {
                self.bot.receive(&buffer[..count], shared.started.elapsed());
                self.flush(shared);
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => self.end(Some(&error), shared),
        }
    }

    /// Sends as many bytes as the kernel accepts, and retains the remaining bytes. Also records
    /// whether the bot has started to play, or its connection has ended.
    fn flush(&mut self, shared: &CrowdState<'_>) {
        self.bot.drain_output(self.unsent.bytes());
        if let Some(stream) = self.stream.as_deref()
            && let Err(unread) = self.unsent.write_to(stream)
        {
            self.stream = None;
            self.bot.receive_eof(Some(&unread.to_string()), shared.started.elapsed());
        }
        if self.bot.stage() == BotStage::Closed {
            self.stream = None;
            let is_away = self.reconnects.on_closed(&mut self.bot, shared.started.elapsed());
            if !is_away && !self.is_over && !self.reconnects.is_away() {
                self.is_over = true;
                shared.over.fetch_add(1, Ordering::AcqRel);
            }
        }
        self.reconnects.check_player(&mut self.bot);
        if !self.is_ready && self.bot.stage() != BotStage::Connecting {
            self.is_ready = true;
            shared.ready.fetch_add(1, Ordering::AcqRel);
        }
    }

    fn end(&mut self, error: Option<&io::Error>, shared: &CrowdState<'_>) {
        let reason = error.map(io::Error::to_string);
        self.bot.receive_eof(reason.as_deref(), shared.started.elapsed());
        self.stream = None;
        self.flush(shared);
    }
}
