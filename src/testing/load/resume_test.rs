//! Clients that lose their connections and come back by their keys, so many a second: each must get
//! its own player, and no other.
//!
//! ```text
//!   all come ─► the next in turn: lost without a close frame ─► connects anew with its key ─► spawned:
//!               (or closed with 1001, or still open beside it)                                its own?
//! ```
//!
//! One thread runs all of them, each from an address of its own. They stand still; one that has died
//! begins again.

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
use crate::testing::abuse::misbehavior::{self, native};
use crate::testing::source_addresses::SourceAddresses;
use crate::util::os::{self, PollInterest};
use crate::ws::close::CloseCode;

/// Time between two looks at all clients.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Time that all have to come for the first time.
const COMING_TIME: Duration = Duration::from_secs(10);
/// Time that a client waits for its player.
const PLAYER_TIMEOUT: Duration = Duration::from_secs(5);

/// The plan of a run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The server, on this machine.
    pub url: Url,
    /// The source addresses, one for each client.
    pub source: SourceAddresses,
    /// Number of clients.
    pub count: usize,
    /// Clients a second that lose their connection, as far as the server answers in time: the next client
    /// in turn loses its connection only after it has its player.
    pub per_second: u32,
    /// The duration, once all have come.
    pub time: Duration,
}

/// What became of the clients.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResumeReport {
    /// Clients that got a player at their first coming.
    pub came: usize,
    /// Connections with which clients came back.
    pub returns: u64,
    /// Of these, those that got their own player; and how long each took.
    pub same: Vec<Duration>,
    /// Those that got another player.
    pub lost: u64,
    /// Those that got none within [`PATIENCE`], and why.
    pub unanswered: Vec<String>,
    /// Clients that died, and began again.
    pub died: u64,
    /// Clients that have the player of another one, at the end.
    pub duplicates: usize,
}

impl ResumeReport {
    /// Whether all got what is theirs.
    pub fn passed(&self) -> bool {
        self.lost == 0 && self.unanswered.is_empty() && self.duplicates == 0 && self.returns > 0
    }

    /// The time within which this share of the clients had its player, ms.
    fn quantile_ms(&self, share: f64) -> f64 {
        let mut times = self.same.clone();
        times.sort_unstable();
        let at = (times.len() as f64 * share).ceil() as usize;
        times.get(at.saturating_sub(1)).map_or(0.0, |time| time.as_secs_f64() * 1e3)
    }

    /// As a line of JSON.
    pub fn json(&self) -> String {
        let ResumeReport { came, returns, lost, died, duplicates: doubled, .. } = self;
        let line = serde_json::json!({
            "came": came, "returns": returns, "same": self.same.len(), "lost": lost,
            "unanswered": self.unanswered.len(), "died": died, "doubled": doubled,
            "p50_ms": self.quantile_ms(0.5), "p99_ms": self.quantile_ms(0.99), "max_ms": self.quantile_ms(1.0),
        });
        format!("{line}\n")
    }

    /// As text for people.
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

/// A connection, and since when.
struct TestConnection {
    stream: TcpStream,
    link: ClientConnection,
    unsent: Outgoing,
    since: Instant,
    is_first: bool,
    /// Whether it has its player, or will never have one.
    is_settled: bool,
}

struct ResumingClient {
    player: Option<u16>,
    line: Option<TestConnection>,
    /// The connection before, which the client has not closed.
    older: Option<TcpStream>,
}

struct ResumeTest<'a> {
    plan: &'a Plan,
    to: SocketAddr,
    dialect: Arc<Dialect>,
    clients: Vec<ResumingClient>,
    done: ResumeReport,
}

/// Runs the plan.
///
/// # Errors
/// The server is not on this machine, or cannot be reached.
pub fn run(plan: &Plan) -> io::Result<ResumeReport> {
    let client = |_| ResumingClient { player: None, line: None, older: None };
    let mut crowd = ResumeTest {
        plan,
        to: misbehavior::check_local(&plan.url)?,
        dialect: native(),
        clients: (0..plan.count).map(client).collect(),
        done: ResumeReport::default(),
    };
    for index in 0..plan.count {
        crowd.connect(index, true)?;
        crowd.poll_all()?;
    }
    crowd.poll_until(Instant::now() + COMING_TIME, ResumeTest::are_settled)?;
    crowd.done.came = crowd.clients.iter().filter(|client| client.player.is_some()).count();
    let began = Instant::now();
    while began.elapsed() < plan.time {
        let due = (f64::from(plan.per_second) * began.elapsed().as_secs_f64()) as u64;
        while crowd.done.returns < due && crowd.is_next_settled() {
            crowd.drop_and_resume(crowd.done.returns as usize)?;
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
        let sign = if url.target.contains('?') { '&' } else { '?' };
        let target = format!("{}{sign}inspect_key={:032x}", url.target, index + 1);
        let mut link = ClientConnection::new(&url.authority(), &target, true, dial::random_keys());
        let mut unsent = Outgoing::default();
        link.drain_output(unsent.bytes());
        let since = Instant::now();
        self.clients[index].line =
            Some(TestConnection { stream, link, unsent, since, is_first, is_settled: false });
        Ok(())
    }

    /// The next client in turn loses its connection and comes back.
    fn drop_and_resume(&mut self, number: usize) -> io::Result<()> {
        let index = number % self.plan.count;
        let client = &mut self.clients[index];
        client.older = None;
        if let Some(mut line) = client.line.take() {
            match number / self.plan.count % 3 {
                0 => {}
                1 => client.older = Some(line.stream),
                _ => {
                    line.link.close_with(CloseCode::GOING_AWAY);
                    // The connection ends here, whether the server reads or not.
                    let _ = line.flush();
                }
            }
        }
        self.done.returns += 1;
        self.connect(index, false)
    }

    /// Whether the next client in turn has got an answer to its last return; it is waited for.
    fn is_next_settled(&self) -> bool {
        let next = &self.clients[self.done.returns as usize % self.plan.count];
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

    /// All clients read what has arrived, and send what they have to say.
    fn poll_all(&mut self) -> io::Result<()> {
        let lines = self.clients.iter().filter_map(|client| client.line.as_ref());
        let sockets: Vec<_> = lines.map(|line| PollInterest::readable(&line.stream)).collect();
        let mut ready = os::poll(&sockets, POLL_INTERVAL)?.into_iter();
        for client in &mut self.clients {
            let ResumingClient { player, line: Some(line), .. } = client else { continue };
            if ready.next().is_some_and(|ready| ready.is_ready()) {
                line.receive(player, &self.dialect, &mut self.done);
            }
            if let Err(unread) = line.flush() {
                line.give_up(&unread.to_string(), &mut self.done);
                client.line = None;
                continue;
            }
            if !line.is_settled && line.since.elapsed() > PLAYER_TIMEOUT {
                line.give_up("no answer", &mut self.done);
            }
        }
        Ok(())
    }

    /// All leave for good.
    fn end(mut self) -> io::Result<ResumeReport> {
        let players: Vec<u16> = self.clients.iter().filter_map(|client| client.player).collect();
        let distinct: BTreeSet<u16> = players.iter().copied().collect();
        self.done.duplicates = players.len() - distinct.len();
        for line in self.clients.iter_mut().filter_map(|client| client.line.as_mut()) {
            line.is_settled = true;
            line.link.close();
        }
        self.poll_all()?;
        Ok(self.done)
    }
}

impl TestConnection {
    /// Sends as much as the kernel takes.
    fn flush(&mut self) -> Result<(), Unread> {
        self.link.drain_output(self.unsent.bytes());
        self.unsent.write_to(&self.stream)
    }

    fn give_up(&mut self, reason: &str, done: &mut ResumeReport) {
        if !std::mem::replace(&mut self.is_settled, true) && !self.is_first {
            done.unanswered.push(reason.to_owned());
        }
    }

    /// Reads what has arrived; `player` is the one that the client has.
    fn receive(&mut self, player: &mut Option<u16>, dialect: &Dialect, done: &mut ResumeReport) {
        if let Err(error) = misbehavior::read(&self.stream, &mut self.link) {
            return self.give_up(&error.kind().to_string(), done);
        }
        loop {
            let said = match self.link.next_event() {
                Ok(None) => return,
                Ok(Some(ClientEvent::Open)) => Some(hello()),
                Ok(Some(ClientEvent::Binary(message))) => {
                    match dialect.decode(Direction::ToClient, message) {
                        Ok(packet) if packet.row.name == "died" => {
                            done.died += 1;
                            Some(ClientPacket::EnterGame { name: None, skin: None, moofoll: false })
                        }
                        Ok(packet) if packet.row.name == "spawned" && !self.is_settled => {
                            let now = packet.integer("player");
                            self.is_settled = true;
                            match player {
                                Some(_) if *player == now => done.same.push(self.since.elapsed()),
                                Some(_) => done.lost += 1,
                                None => *player = now,
                            }
                            None
                        }
                        _ => None,
                    }
                }
                Ok(Some(ClientEvent::Closed { reason, .. })) => {
                    let reason = reason.to_string();
                    return self.give_up(&reason, done);
                }
                Ok(Some(ClientEvent::Ended)) => return self.give_up("end without a close frame", done),
                Ok(Some(_)) => None,
                Err(error) => return self.give_up(&error.to_string(), done),
            };
            said.iter().for_each(|packet| self.link.send_binary(&packet.encode(dialect)));
        }
    }
}

fn hello() -> ClientPacket<'static> {
    let name = Some("returns".to_owned());
    ClientPacket::Hello { version: NATIVE_VERSION, mode: Mode::Play, name, skin: None }
}
