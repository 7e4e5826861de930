//! Clients that lose their connections and resume with their keys, a given number per second. Each
//! client must get back its own player.
//!
//! ```text
//!    all connect ─► next client in turn: lost without a close frame ─► reconnects ─► spawned:
//!                   (or closed with 1001, or left open)                with key      own player?
//! ```
//!
//! One thread runs all clients, each with its own address. The players do not move; a dead player
//! respawns.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::client::connection::{ClientConnection, ClientEvent};
use crate::client::dial;
use crate::client::outgoing::{Outgoing, Unread};
use crate::client::url::Url;
use crate::connection::session::NATIVE_VERSION;
use crate::games::moo::client_packet::{ClientPacket, Mode};
use crate::packet::{Dialect, Direction};
use crate::testing::abuse::client::{self, native};
use crate::testing::source_addresses::SourceAddresses;
use crate::util::os::{self, PollInterest};
use crate::ws::close::CloseCode;

/// Maximum time of one poll of all clients.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Time within which all clients must connect for the first time.
const COMING_TIME: Duration = Duration::from_secs(10);
/// Time for which a client waits for its player.
const PLAYER_TIMEOUT: Duration = Duration::from_secs(5);

/// The plan of a run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The server, on this machine.
    pub url: Url,
    /// The source addresses, one per client.
    pub source: SourceAddresses,
    /// Number of clients.
    pub count: usize,
    /// Number of clients per second that lose their connection. A slow server reduces this number,
    /// because the next client in turn loses its connection only after its previous attempt has a
    /// result.
    pub per_second: u32,
    /// Duration of the test. The test starts when all clients have connected.
    pub time: Duration,
}

/// The results of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResumeReport {
    /// Number of clients that received a player at their first connection.
    pub came: usize,
    /// Number of attempts to resume.
    pub returns: u64,
    /// Durations of the attempts that returned the client's own player.
    pub same: Vec<Duration>,
    /// Number of attempts that returned another player.
    pub lost: u64,
    /// For each attempt that returned no player within [`PLAYER_TIMEOUT`], the reason.
    pub unanswered: Vec<String>,
    /// Number of deaths, each followed by a respawn.
    pub died: u64,
    /// At the end: number of clients with a player, minus the number of distinct players.
    pub duplicates: usize,
}

impl ResumeReport {
    /// Whether there was an attempt, and every attempt returned the client's own player.
    pub fn passed(&self) -> bool {
        self.lost == 0 && self.unanswered.is_empty() && self.duplicates == 0 && self.returns > 0
    }

    /// Returns the quantile `share` of the durations of the successful attempts, in ms.
    fn quantile_ms(&self, share: f64) -> f64 {
        let mut times = self.same.clone();
        times.sort_unstable();
        let at = (times.len() as f64 * share).ceil() as usize;
        times.get(at.saturating_sub(1)).map_or(0.0, |time| time.as_secs_f64() * 1e3)
    }

    /// Formats the report as a line of JSON.
    pub fn json(&self) -> String {
        let ResumeReport { came, returns, lost, died, duplicates: doubled, .. } = self;
        let line = serde_json::json!({
            "came": came, "returns": returns, "same": self.same.len(), "lost": lost,
            "unanswered": self.unanswered.len(), "died": died, "doubled": doubled,
            "p50_ms": self.quantile_ms(0.5), "p99_ms": self.quantile_ms(0.99), "max_ms": self.quantile_ms(1.0),
        });
        format!("{line}\n")
    }

    /// Formats the report as text.
    pub fn text(&self) -> String {
        let ResumeReport { came, returns, lost, died, duplicates: doubled, .. } = self;
        let mut text = format!(
            "{came} clients came; {returns} returns: {} to their own player, {lost} to another, {} to none; \
             {died} died meanwhile, {doubled} have the player of another\nback within {:.1} ms (p50), {:.1} ms \
             (p99), {:.1} ms (longest)\n",
            self.same.len(),
            self.unanswered.len(),
            self.quantile_ms(0.5),
            self.quantile_ms(0.99),
            self.quantile_ms(1.0),
        );
        let reasons: BTreeSet<&String> = self.unanswered.iter().collect();
        for reason in reasons {
            let _ = writeln!(text, "no player: {reason}");
        }
        text
    }
}

/// A connection, and the time at which it was started.
struct TestConnection {
    stream: TcpStream,
    connection: ClientConnection,
    unsent: Outgoing,
    since: Instant,
    is_first: bool,
    /// Whether the client has received its player on this connection, or the connection has failed.
    is_settled: bool,
}

struct ResumingClient {
    player: Option<u16>,
    line: Option<TestConnection>,
    /// The previous connection, if the client left it open.
    older: Option<TcpStream>,
}

struct ResumeTest<'a> {
    plan: &'a Plan,
    to: SocketAddr,
    dialect: Arc<Dialect>,
    clients: Vec<ResumingClient>,
    report: ResumeReport,
}

/// Runs the plan.
///
/// # Errors
/// The server is not on this machine, or cannot be reached.
pub fn run(plan: &Plan) -> io::Result<ResumeReport> {
    let client = |_| ResumingClient { player: None, line: None, older: None };
    let mut crowd = ResumeTest {
        plan,
        to: client::check_local(&plan.url)?,
        dialect: native(),
        clients: (0..plan.count).map(client).collect(),
        report: ResumeReport::default(),
    };
    for index in 0..plan.count {
        crowd.connect(index, true)?;
        crowd.poll_all()?;
    }
    crowd.poll_until(Instant::now() + COMING_TIME, ResumeTest::are_settled)?;
    crowd.report.came = crowd.clients.iter().filter(|client| client.player.is_some()).count();
    let began = Instant::now();
    while began.elapsed() < plan.time {
        let due = (f64::from(plan.per_second) * began.elapsed().as_secs_f64()) as u64;
        while crowd.report.returns < due && crowd.is_next_settled() {
            crowd.drop_and_resume(crowd.report.returns as usize)?;
        }
        crowd.poll_all()?;
    }
    crowd.poll_until(Instant::now() + PLAYER_TIMEOUT, ResumeTest::are_settled)?;
    crowd.end()
}

impl ResumeTest<'_> {
    fn connect(&mut self, index: usize, is_first: bool) -> io::Result<()> {
        let Plan { url, source, .. } = self.plan;
        let stream = dial::connect(self.to, Some(source.group_address(index)))?;
        let separator = if url.target.contains('?') { '&' } else { '?' };
        let target = format!("{}{separator}inspect_key={:032x}", url.target, index + 1);
        let mut connection = ClientConnection::new(&url.authority(), &target, true, dial::random_keys());
        let mut unsent = Outgoing::default();
        connection.drain_output(unsent.bytes());
        let since = Instant::now();
        self.clients[index].line =
            Some(TestConnection { stream, connection, unsent, since, is_first, is_settled: false });
        Ok(())
    }

    /// Lets the next client in turn lose its connection and resume.
    fn drop_and_resume(&mut self, number: usize) -> io::Result<()> {
        let index = number % self.plan.count;
        let client = &mut self.clients[index];
        client.older = None;
        if let Some(mut line) = client.line.take() {
            match number / self.plan.count % 3 {
                0 => {}
                1 => client.older = Some(line.stream),
                _ => {
                    line.connection.close_with(CloseCode::GOING_AWAY);
                    // The connection ends here, even if the server does not read the bytes.
                    let _ = line.flush();
                }
            }
        }
        self.report.returns += 1;
        self.connect(index, false)
    }

    /// Whether the next client in turn has the result of its last attempt. The test waits for this
    /// result before it drops the connection.
    fn is_next_settled(&self) -> bool {
        let next = &self.clients[self.report.returns as usize % self.plan.count];
        next.line.as_ref().is_none_or(|line| line.is_settled)
    }

    fn are_settled(&self) -> bool {
        self.clients.iter().all(|client| client.line.as_ref().is_none_or(|line| line.is_settled))
    }

    fn poll_until(&mut self, deadline: Instant, is_done: impl Fn(&Self) -> bool) -> io::Result<()> {
        while Instant::now() < deadline && !is_done(self) {
            self.poll_all()?;
        }
        Ok(())
    }

    /// Lets all clients read what has arrived, and send their pending bytes.
    fn poll_all(&mut self) -> io::Result<()> {
        let lines = self.clients.iter().filter_map(|client| client.line.as_ref());
        let sockets: Vec<_> = lines.map(|line| PollInterest::readable(&line.stream)).collect();
        let mut ready = os::poll(&sockets, POLL_INTERVAL)?.into_iter();
        for client in &mut self.clients {
            let ResumingClient { player, line: Some(line), .. } = client else { continue };
            if ready.next().is_some_and(|ready| ready.is_ready()) {
                line.receive(player, &self.dialect, &mut self.report);
            }
            if let Err(unread) = line.flush() {
                line.give_up(&unread.to_string(), &mut self.report);
                client.line = None;
                continue;
            }
            if !line.is_settled && line.since.elapsed() > PLAYER_TIMEOUT {
                line.give_up("no answer", &mut self.report);
            }
        }
        Ok(())
    }

    /// Disconnects all clients.
    fn end(mut self) -> io::Result<ResumeReport> {
        let players: Vec<u16> = self.clients.iter().filter_map(|client| client.player).collect();
        let distinct: BTreeSet<u16> = players.iter().copied().collect();
        self.report.duplicates = players.len() - distinct.len();
        for line in self.clients.iter_mut().filter_map(|client| client.line.as_mut()) {
            line.is_settled = true;
            line.connection.close();
        }
        self.poll_all()?;
        Ok(self.report)
    }
}

impl TestConnection {
    /// Sends as many bytes as the kernel accepts.
    fn flush(&mut self) -> Result<(), Unread> {
        self.connection.drain_output(self.unsent.bytes());
        self.unsent.write_to(&self.stream)
    }

    fn give_up(&mut self, reason: &str, report: &mut ResumeReport) {
        if !std::mem::replace(&mut self.is_settled, true) && !self.is_first {
            report.unanswered.push(reason.to_owned());
        }
    }

    /// Reads and processes the bytes that have arrived. `player` is the client's player.
    fn receive(&mut self, player: &mut Option<u16>, dialect: &Dialect, report: &mut ResumeReport) {
        if let Err(error) = client::read(&self.stream, &mut self.connection) {
            return self.give_up(&error.kind().to_string(), report);
        }
        loop {
            let received = match self.connection.next_event() {
                Ok(None) => return,
                Ok(Some(ClientEvent::Open)) => Some(hello()),
                Ok(Some(ClientEvent::Binary(message))) => {
                    match dialect.decode(Direction::ToClient, message) {
                        Ok(packet) if packet.row.name == "died" => {
                            report.died += 1;
                            Some(ClientPacket::EnterGame { name: None, skin: None, moofoll: false })
                        }
                        Ok(packet) if packet.row.name == "spawned" && !self.is_settled => {
                            let now = packet.integer("player");
                            self.is_settled = true;
                            match player {
                                Some(_) if *player == now => report.same.push(self.since.elapsed()),
                                Some(_) => report.lost += 1,
                                None => *player = now,
                            }
                            None
                        }
                        _ => None,
                    }
                }
                Ok(Some(ClientEvent::Closed { reason, .. })) => {
                    let reason = reason.to_string();
                    return self.give_up(&reason, report);
                }
                Ok(Some(ClientEvent::Ended)) => return self.give_up("end without a close frame", report),
                Ok(Some(_)) => None,
                Err(error) => return self.give_up(&error.to_string(), report),
            };
            received.iter().for_each(|packet| self.connection.send_binary(&packet.encode(dialect)));
        }
    }
}

fn hello() -> ClientPacket<'static> {
    let name = Some("returns".to_owned());
    ClientPacket::Hello { version: NATIVE_VERSION, mode: Mode::Play, name, skin: None }
}
