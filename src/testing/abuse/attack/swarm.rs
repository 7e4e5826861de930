//! Runs all attackers on one thread.
//!
//! Executes a plan and returns the [`AttackReport`]. The number of concurrent connections never
//! exceeds the plan, and no connection waits for another connection. An attack may be defined by
//! connections per second. Such an attack has at most as many open connections as it makes in
//! [`CHURN_SECONDS`] seconds, because a server may not respond.

use std::fmt::Write as _;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use super::behavior::{Behavior, CHAT_LINE, ReadMode};
use super::datagram_flood::DatagramFlood;
use super::lane_theft::LaneTheft;
use super::{AttackReport, victim};
use crate::client::connection::ClientConnection;
use crate::client::dial;
use crate::client::recv_buffer::connect_with_recv_buffer;
use crate::client::url::Url;
use crate::testing::abuse::client::{self, PollResult};
use crate::testing::hostile::HostileKind;
use crate::testing::source_addresses::SourceAddresses;
use crate::util::os::{self, PollInterest, Readiness};

/// Time between two passes over all attackers.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Time after which an attacker reconnects when its connection was closed.
const RECONNECT_DELAY: Duration = Duration::from_millis(50);
/// Time after which a refused attacker reconnects. The time is long, because constant reconnecting
/// would be a different attack.
const RETRY_AFTER_REFUSAL: Duration = Duration::from_secs(1);
/// Maximum number of connections made in one pass, so that existing connections are also served.
const CONNECTS_PER_POLL: usize = 64;
/// Maximum number of concurrent connections of a rate-based attack, in seconds of its rate.
const CHURN_SECONDS: usize = 4;
/// Recorded end for an attacker that reads nothing. Such an attacker detects only that the server
/// ended the connection.
const ENDED: &str = "ended by the server";
/// Bytes per read of a slow reader.
const DRIP_BYTES: usize = 64;
/// Interval between two reads of a slow reader.
const DRIP_EVERY: Duration = Duration::from_millis(100);

/// The plan of an attack.
#[derive(Debug, Clone)]
pub struct AttackPlan {
    /// The kind of attack.
    pub kind: HostileKind,
    /// The server, on this machine.
    pub url: Url,
    /// The source addresses.
    pub source: SourceAddresses,
    /// Number of source addresses, used in turn. `None` distributes attackers like
    /// [`SourceAddresses::address`].
    pub addresses: Option<usize>,
    /// Number of concurrent attackers; for [`HostileKind::Churn`] and [`HostileKind::Reconnect`],
    /// connections per second.
    pub count: usize,
    /// Duration of the attack.
    pub time: Duration,
    /// Whether attackers reconnect. If not, the attack ends when the last connection has ended.
    pub reconnects: bool,
}

/// One attacker.
struct Attacker {
    index: usize,
    behavior: Behavior,
    stream: TcpStream,
    connection: ClientConnection,
    stage: AttackerStage,
    unsent: Vec<u8>,
    datagrams: Option<Datagrams>,
    /// Index of the attacker's last command.
    sequence: u32,
    /// Time of the attacker's connection or, later, of its upgrade.
    since: Instant,
    /// Time of the next block.
    due: Instant,
    /// Time of the next read of a slow reader.
    reads_at: Instant,
}

/// The datagrams of one attacker.
enum Datagrams {
    Flood(DatagramFlood),
    Theft(LaneTheft),
}

impl Datagrams {
    /// `None` if the kind sends none.
    fn new(kind: HostileKind, index: usize, from: IpAddr, to: SocketAddr) -> io::Result<Option<Datagrams>> {
        Ok(match kind {
            HostileKind::DatagramFlood => Some(Datagrams::Flood(DatagramFlood::new(index, from, to)?)),
            HostileKind::LaneTheft => Some(Datagrams::Theft(LaneTheft::new(from, to)?)),
            _ => None,
        })
    }

    fn on_message(&mut self, message: &[u8]) {
        match self {
            Datagrams::Flood(flood) => flood.on_message(message),
            Datagrams::Theft(theft) => theft.on_message(message),
        }
    }

    /// Sends a block, and counts it.
    fn send(&mut self, report: &mut AttackReport) {
        match self {
            Datagrams::Flood(flood) => report.datagrams += flood.send(),
            Datagrams::Theft(theft) => {
                let counts = theft.send();
                report.datagrams += counts.sent;
                report.answers += counts.answers;
                report.stolen_bytes += counts.stolen_bytes;
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AttackerStage {
    /// The attacker waits for the response to its request.
    Asking,
    /// The attacker executes its attack.
    Busy,
}

/// Runs the attack for the planned time.
///
/// # Errors
/// The server is not on this machine.
pub fn run(plan: &AttackPlan) -> io::Result<AttackReport> {
    let to = client::check_local(&plan.url)?;
    if plan.kind != HostileKind::Reconnect {
        return misbehave(plan, to);
    }
    thread::scope(|scope| {
        let victim = scope.spawn(|| victim::count_chat_lines(&plan.url, CHAT_LINE, plan.time));
        let mut report = misbehave(plan, to)?;
        report.chat_lines_received = Some(victim.join().expect("the victim does not panic")?);
        Ok(report)
    })
}

fn misbehave(plan: &AttackPlan, to: SocketAddr) -> io::Result<AttackReport> {
    let started = Instant::now();
    let mut swarm = Swarm::new(plan, to, started);
    while started.elapsed() < plan.time && !swarm.is_over() {
        swarm.dial(Instant::now());
        // The loop does not wait for ready sockets, because some socket would always be ready. All
        // attackers are served at a fixed interval.
        thread::sleep(POLL_INTERVAL);
        swarm.poll(Instant::now());
    }
    let Swarm { mut report, peers, .. } = swarm;
    if !peers.is_empty() {
        *report.endings.entry("still open".to_owned()).or_default() += peers.len() as u64;
    }
    report.time = started.elapsed();
    Ok(report)
}

struct Swarm<'a> {
    plan: &'a AttackPlan,
    to: SocketAddr,
    started: Instant,
    peers: Vec<Attacker>,
    /// Attackers to connect, with the earliest time of each.
    absent: Vec<(usize, Instant)>,
    report: AttackReport,
}

impl<'a> Swarm<'a> {
    fn new(plan: &'a AttackPlan, to: SocketAddr, started: Instant) -> Swarm<'a> {
        let absent = if plan.kind.is_per_second() { 0 } else { plan.count };
        let absent = (0..absent).rev().map(|index| (index, started)).collect();
        Swarm { plan, to, started, peers: Vec::new(), absent, report: AttackReport::default() }
    }

    fn is_over(&self) -> bool {
        !self.plan.reconnects && self.peers.is_empty() && self.absent.is_empty()
    }

    /// Connects the attackers that are due: all unconnected attackers, or as many as the rate
    /// requires at this time.
    fn dial(&mut self, now: Instant) {
        if self.plan.kind.is_per_second() {
            let made = (self.report.connections + self.report.unreachable) as usize;
            let wanted = (self.plan.count as f64 * self.started.elapsed().as_secs_f64()) as usize;
            let failed = self.report.unreachable;
            let room = (CHURN_SECONDS * self.plan.count).saturating_sub(self.peers.len());
            for index in (made..wanted).take(CONNECTS_PER_POLL.min(room)) {
                self.connect(index, now);
                if self.report.unreachable > failed {
                    break;
                }
            }
            return;
        }
        let mut left = CONNECTS_PER_POLL;
        let due: Vec<usize> = self
            .absent
            .extract_if(.., |(_, at)| {
                let is_due = *at <= now && left > 0;
                left -= usize::from(is_due);
                is_due
            })
            .map(|(index, _)| index)
            .collect();
        // An attempt to connect to a server that does not answer takes long. The remaining
        // attackers are therefore deferred to the next pass.
        let failed = self.report.unreachable;
        for index in due {
            match self.report.unreachable > failed {
                true => self.schedule_reconnect(index, now),
                false => self.connect(index, now),
            }
        }
    }

    fn connect(&mut self, index: usize, now: Instant) {
        // Each connection of a `Garbage` attacker sends other random bytes.
        let is_random = self.plan.kind == HostileKind::Garbage;
        let number = if is_random { self.report.connections as usize } else { index };
        let behavior = Behavior::new(self.plan.kind, number);
        let AttackPlan { source, addresses, .. } = self.plan;
        let from = addresses
            .map_or_else(|| source.address(index), |addresses| source.group_address(index % addresses));
        let datagrams = Datagrams::new(self.plan.kind, index, from, self.to);
        let stream = connect_with_recv_buffer(self.to, Some(from), behavior.recv_buffer_bytes());
        let (Ok(stream), Ok(datagrams)) = (stream, datagrams) else {
            self.report.unreachable += 1;
            self.schedule_reconnect(index, now + RETRY_AFTER_REFUSAL);
            return;
        };
        self.report.connections += 1;
        let url = &self.plan.url;
        let mut target = url.target.clone();
        if behavior.has_key {
            // A new key for each connection, so that no client resumes.
            let separator = if target.contains('?') { '&' } else { '?' };
            let _ = write!(target, "{separator}inspect_key={:016x}{index:016x}", self.report.connections);
        }
        let mut connection = ClientConnection::new(&url.authority(), &target, true, dial::random_keys());
        let mut unsent = Vec::new();
        if behavior.upgrades || behavior.closes_after_request {
            connection.drain_output(&mut unsent);
        } else if !behavior.leaves {
            unsent.extend_from_slice(behavior.request);
        }
        let stage = if behavior.upgrades && !behavior.closes_after_request {
            AttackerStage::Asking
        } else {
            AttackerStage::Busy
        };
        // The first blocks are distributed over the interval of a block, as with independent
        // clients.
        let due = now + behavior.every.mul_f64(index as f64 * 0.618 % 1.0);
        let (sequence, since, reads_at) = (0, now, now);
        self.peers.push(Attacker {
            index,
            behavior,
            stream,
            connection,
            stage,
            unsent,
            datagrams,
            sequence,
            since,
            due,
            reads_at,
        });
        self.report.at_once = self.report.at_once.max(self.peers.len());
    }

    fn schedule_reconnect(&mut self, index: usize, at: Instant) {
        if !self.plan.kind.is_per_second() {
            self.absent.push((index, at));
        }
    }

    /// Polls all attackers at once, because a read for each attacker would cost more than the
    /// attack.
    fn poll_all(&self) -> Vec<Readiness> {
        let sockets: Vec<_> = self.peers.iter().map(|peer| PollInterest::readable(&peer.stream)).collect();
        os::poll(&sockets, Duration::ZERO).unwrap_or_else(|_| vec![Readiness::default(); sockets.len()])
    }

    /// Lets each attacker read and send its next bytes.
    fn poll(&mut self, now: Instant) {
        let (mut ended, happened) = (Vec::new(), self.poll_all());
        for (at, (peer, happened)) in self.peers.iter_mut().zip(happened).enumerate() {
            if let Some(reason) = peer.poll(now, happened, &mut self.report) {
                ended.push((at, reason));
            }
        }
        for (at, reason) in ended.into_iter().rev() {
            let peer = self.peers.swap_remove(at);
            let is_turned_away =
                reason.starts_with("status 503") || reason.starts_with("status 429") || reason == ENDED;
            let pause = if is_turned_away { RETRY_AFTER_REFUSAL } else { RECONNECT_DELAY };
            *self.report.endings.entry(reason).or_default() += 1;
            if self.plan.reconnects {
                self.schedule_reconnect(peer.index, now + pause);
            }
        }
    }
}

impl Attacker {
    /// Reads and sends. Returns the end of the connection, if it has ended.
    fn poll(&mut self, now: Instant, happened: Readiness, report: &mut AttackReport) -> Option<String> {
        if let Some(reason) = happened.is_ready().then(|| self.receive(now)).flatten() {
            return Some(reason);
        }
        if let Some(stays) = self.behavior.stays {
            if happened.is_closed {
                return Some(ENDED.to_owned());
            }
            if now.saturating_duration_since(self.since) >= stays {
                return Some("left".to_owned());
            }
        }
        if self.stage == AttackerStage::Busy && self.unsent.is_empty() {
            if self.behavior.leaves {
                return (now >= self.since + self.behavior.lingers).then(|| "left".to_owned());
            }
            if now >= self.due && !self.behavior.is_silent() {
                self.behavior.write_block(&mut self.sequence, &mut self.unsent);
                report.frames += self.behavior.frames as u64;
                if let Some(datagrams) = &mut self.datagrams {
                    datagrams.send(report);
                }
                self.due = (self.due + self.behavior.every).max(now);
            }
        }
        if self.unsent.is_empty() {
            return None;
        }
        match self.stream.write(&self.unsent) {
            Ok(count) => {
                self.unsent.drain(..count);
                report.bytes += count as u64;
                None
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => None,
            // An attacker that reads gets the error from its next read, after the last bytes from
            // the server.
            Err(_) if self.behavior.reads == ReadMode::All => {
                self.unsent.clear();
                None
            }
            Err(error) => Some(error.kind().to_string()),
        }
    }

    fn receive(&mut self, now: Instant) -> Option<String> {
        let reads = if self.stage == AttackerStage::Asking { ReadMode::All } else { self.behavior.reads };
        let read = match reads {
            ReadMode::All => client::read(&self.stream, &mut self.connection),
            ReadMode::Drip if now >= self.reads_at => {
                self.reads_at = now + DRIP_EVERY;
                self.drip()
            }
            ReadMode::Drip | ReadMode::Nothing => return None,
        };
        if let Err(error) = read {
            return Some(error.kind().to_string());
        }
        let datagrams = &mut self.datagrams;
        let result = client::poll_end(&mut self.connection, |message| {
            if let Some(datagrams) = datagrams {
                datagrams.on_message(message);
            }
        });
        match result {
            PollResult::Nothing => None,
            PollResult::Ended(_) if self.behavior.request.is_empty() => {
                Some("end without an answer".to_owned())
            }
            PollResult::Ended(reason) => Some(reason),
            PollResult::Opened => {
                (self.stage, self.since) = (AttackerStage::Busy, now);
                self.unsent.extend_from_slice(&self.behavior.opening);
                None
            }
        }
    }

    fn drip(&mut self) -> io::Result<()> {
        let mut buffer = [0; DRIP_BYTES];
        match (&mut &self.stream).read(&mut buffer) {
            Ok(0) => self.connection.receive_eof(),
            Ok(count) => self.connection.receive(&buffer[..count]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
