//! The load for `scripts/bench.sh`: many clients that join, send inputs at a fixed rate, and count what comes, alike for the server,
//! for the floor, and for its peers.
//!
//! It checks nothing that it is told (`tickwire bots` does that), so that it costs little. While its clients play it reads from
//! `/proc` what the process under test costs, and prints one line of JSON:
//!
//! | field | is |
//! |---|---|
//! | `cpu_us` | microseconds of CPU time of the process, per client and tick |
//! | `switches` | context switches of all its threads, per client and tick |
//! | `sends` | send calls for clients' updates per client and tick, from `/metrics`; 1 without |
//! | `rss_kib` | resident memory per connection above what the process held before the first one |
//! | `gap_p50_ms`, `gap_p99_ms` | time between two arrivals of bytes at a client |
//! | `bytes` | bytes that a client received per tick |
//! | `lost` | connections that ended early: not zero means that the figures mean nothing |
#![allow(clippy::print_stdout, reason = "printing is what a benchmark is for")]

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use tickwire::client::connection::{ClientConnection, ClientEvent};
use tickwire::client::dial;
use tickwire::client::url::Url;
use tickwire::game::Game as _;
use tickwire::internal::games::moo::Moo;
use tickwire::internal::games::moo::client_packet::{ClientPacket, Mode};
use tickwire::internal::testing::source_addresses::SourceAddresses;
use tickwire::internal::util::os::Poller;
use tickwire::packet::{Dialect, PacketTables};

/// Between two arrivals of one update, when a send came in two pieces.
const SAME_UPDATE: Duration = Duration::from_millis(5);
/// Time between the last client's arrival and the measured time.
const SETTLING: Duration = Duration::from_secs(3);
/// Connections at the beginning between two looks at those that are there.
const DIALS_AT_ONCE: usize = 8;
/// `JOIN_ROOM` of Colyseus: the answer of a client, without which it receives no messages.
const COLYSEUS_JOIN: [u8; 1] = [10];
/// `ROOM_DATA_BYTES` of Colyseus, and the type of the message: 0.
const COLYSEUS_DATA: [u8; 2] = [17, 0];

#[derive(Debug, Parser)]
struct Options {
    /// The server, the floor or a peer, such as ws://127.0.0.1:3000.
    url: Url,
    /// The process to measure.
    #[arg(long)]
    pid: u32,
    #[arg(long, default_value = "1000", value_parser = clap::value_parser!(u32).range(1..=9_000))]
    clients: u32,
    /// How many of them watch instead of playing (native only).
    #[arg(long, default_value = "0")]
    spectators: u32,
    #[arg(long, default_value = "legacy")]
    dialect: String,
    /// Inputs a second of each playing client.
    #[arg(long, default_value = "10")]
    inputs: u32,
    #[arg(long, default_value = "10")]
    seconds: u32,
    /// Ticks a second of the process under test.
    #[arg(long, default_value = "30")]
    hz: u32,
    /// Spread the clients over so many rooms, `r0` and up, instead of the default room.
    #[arg(long)]
    rooms: Option<usize>,
    /// Speak the protocol of Colyseus, in the room of this name: a seat by HTTP before the upgrade, an
    /// answer to the greeting, and two bytes before each message.
    #[arg(long)]
    colyseus: Option<String>,
    /// Read the number of sends from /metrics.
    #[arg(long)]
    metrics: bool,
}

/// What the process under test has cost so far.
#[derive(Debug, Clone, Copy)]
struct Cost {
    cpu_us: f64,
    switches: f64,
    sends: f64,
}

struct Client {
    link: ClientConnection,
    /// `None` once it is lost.
    stream: Option<Arc<TcpStream>>,
    is_open: bool,
    plays: bool,
    arrived: Option<Instant>,
    sequence: u32,
}

struct Load {
    options: Options,
    dialect: Arc<Dialect>,
    to: SocketAddr,
    clients: Vec<Client>,
    poller: Poller,
    buffer: Vec<u8>,
    gaps_us: Vec<u32>,
    bytes: u64,
    lost: u32,
}

fn main() -> std::io::Result<()> {
    let options = Options::parse();
    let dialect =
        PacketTables::builtin().dialect(&options.dialect).expect("a dialect of the built-in tables");
    let (seconds, to) = (Duration::from_secs(options.seconds.into()), dial::resolve(&options.url)?);
    let before_kib = rss_kib(options.pid);
    let mut load = Load {
        options,
        dialect,
        to,
        clients: Vec::new(),
        poller: Poller::new()?,
        buffer: vec![0; 64 * 1024],
        gaps_us: Vec::new(),
        bytes: 0,
        lost: 0,
    };
    load.connect()?;
    load.play(SETTLING)?;
    (load.gaps_us, load.bytes) = (Vec::new(), 0);
    let (began, before) = (Instant::now(), load.cost());
    load.play(seconds)?;
    let (time, after) = (began.elapsed(), load.cost());
    let rss = (rss_kib(load.options.pid) - before_kib) / load.clients.len() as f64;
    load.report(time, before, after, rss);
    Ok(())
}

impl Load {
    fn connect(&mut self) -> std::io::Result<()> {
        let source: SourceAddresses = "127.0.x.y".parse().expect("a pattern");
        let url = self.options.url.clone().with_dialect_path(Moo::PATHS, self.dialect.name());
        for index in 0..self.options.clients as usize {
            let stream = Arc::new(dial::connect(self.to, Some(source.address(index)))?);
            let room = self.options.rooms.map_or(String::new(), |rooms| format!("/r/r{}", index % rooms));
            let target = match &self.options.colyseus {
                Some(name) => colyseus_seat(self.to, name)?,
                None => format!("{room}{}", url.target),
            };
            let link =
                ClientConnection::new(&url.authority(), &target, self.is_native(), dial::random_keys());
            self.poller.add(&stream, index)?;
            let stream = Some(stream);
            let plays = index >= self.options.spectators as usize;
            self.clients.push(Client { link, stream, is_open: false, plays, arrived: None, sequence: 0 });
            self.clients[index].flush();
            if index % DIALS_AT_ONCE == 0 {
                self.hear(Duration::ZERO)?;
            }
        }
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.clients.iter().any(|client| !client.is_open) {
            assert!(Instant::now() < deadline, "not every client was let in");
            self.hear(Duration::from_millis(50))?;
        }
        Ok(())
    }

    fn is_native(&self) -> bool {
        self.dialect.name() == "native"
    }

    /// Sends inputs, evenly spread over the clients and the time, and hears what comes.
    fn play(&mut self, time: Duration) -> std::io::Result<()> {
        let began = Instant::now();
        let inputs_per_s = f64::from(self.options.inputs) * self.clients.len() as f64;
        let mut sent = 0u64;
        while began.elapsed() < time {
            self.hear(Duration::from_millis(2))?;
            let due = (began.elapsed().as_secs_f64() * inputs_per_s) as u64;
            for number in sent..due {
                let index = (number % self.clients.len() as u64) as usize;
                self.input(index);
            }
            sent = due;
        }
        Ok(())
    }

    fn input(&mut self, index: usize) {
        let client = &mut self.clients[index];
        if !client.plays {
            return;
        }
        client.sequence += 1;
        // A turn by an irrational part of the circle: nobody walks into a wall for long.
        let direction = Some((client.sequence.wrapping_mul(40_503) ^ index as u32) as u16);
        let sequence = (self.dialect.name() == "native").then_some(client.sequence);
        let packet = ClientPacket::Move { sequence, tick: None, direction }.encode(&self.dialect);
        match &self.options.colyseus {
            Some(_) => client.link.send_binary(&[&COLYSEUS_DATA[..], &packet].concat()),
            None => client.link.send_binary(&packet),
        }
        client.flush();
    }

    fn hear(&mut self, wait: Duration) -> std::io::Result<()> {
        let ready = self.poller.wait(wait)?;
        let now = Instant::now();
        ready.into_iter().for_each(|index| self.read(index, now));
        Ok(())
    }

    fn read(&mut self, index: usize, now: Instant) {
        let client = &mut self.clients[index];
        let Some(mut stream) = client.stream.as_deref() else { return };
        let count = match stream.read(&mut self.buffer) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                return;
            }
            Ok(count @ 1..) => count,
            _ => {
                self.lost += 1;
                client.stream = None;
                return;
            }
        };
        self.bytes += count as u64;
        if let Some(gap) = client.arrived.map(|before| now - before).filter(|gap| *gap > SAME_UPDATE) {
            self.gaps_us.push(gap.as_micros() as u32);
        }
        client.arrived = Some(now);
        client.link.receive(&self.buffer[..count]);
        while let Ok(Some(event)) = client.link.next_event() {
            if event == ClientEvent::Open {
                client.is_open = true;
                if self.options.colyseus.is_some() {
                    client.link.send_binary(&COLYSEUS_JOIN);
                    continue;
                }
                let (name, skin) = (Some(format!("load {index}")), None);
                let mode = if client.plays { Mode::Play } else { Mode::Spectate };
                let packet = match self.dialect.name() {
                    "native" => ClientPacket::Hello { version: 1, mode, name, skin },
                    _ => ClientPacket::EnterGame { name, skin, moofoll: false },
                };
                client.link.send_binary(&packet.encode(&self.dialect));
            }
        }
        client.flush();
    }

    fn cost(&self) -> Cost {
        let sends = if self.options.metrics { sends(self.to) } else { 0.0 };
        let (cpu_us, switches) = (cpu_us(self.options.pid), switches(self.options.pid));
        Cost { cpu_us, switches, sends }
    }

    fn report(mut self, time: Duration, before: Cost, after: Cost, rss_kib: f64) {
        let updates = self.clients.len() as f64 * time.as_secs_f64() * f64::from(self.options.hz);
        let sends = if self.options.metrics { (after.sends - before.sends) / updates } else { 1.0 };
        self.gaps_us.sort_unstable();
        let gap_ms = |share: f64| {
            let at = (self.gaps_us.len() as f64 * share) as usize;
            self.gaps_us.get(at).map_or(0.0, |us| f64::from(*us) / 1000.0)
        };
        println!(
            r#"{{"cpu_us":{:.3},"switches":{:.4},"sends":{sends:.4},"rss_kib":{rss_kib:.2},"gap_p50_ms":{:.2},"gap_p99_ms":{:.2},"bytes":{:.1},"lost":{}}}"#,
            (after.cpu_us - before.cpu_us) / updates,
            (after.switches - before.switches) / updates,
            gap_ms(0.5),
            gap_ms(0.99),
            self.bytes as f64 / updates,
            self.lost,
        );
    }
}

impl Client {
    /// Sends what is to be sent. It is little, so a socket that does not take all of it at once is a lost one.
    fn flush(&mut self) {
        let mut bytes = Vec::new();
        self.link.drain_output(&mut bytes);
        let Some(mut stream) = self.stream.as_deref() else { return };
        if !bytes.is_empty() && stream.write(&bytes).ok() != Some(bytes.len()) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

/// The CPU time of a process in microseconds, summed over its threads in nanoseconds by the scheduler: the figures of
/// `/proc/PID/stat` are rounded to 10 ms.
fn cpu_us(pid: u32) -> f64 {
    threads(pid).filter_map(|task| first_number(&format!("{task}/schedstat"))).sum::<f64>() / 1000.0
}

fn switches(pid: u32) -> f64 {
    let of_task = |task: String| {
        let status = fs::read_to_string(format!("{task}/status")).unwrap_or_default();
        let lines = status.lines().filter(|line| line.contains("ctxt_switches"));
        lines.filter_map(|line| line.split_whitespace().last()?.parse::<f64>().ok()).sum::<f64>()
    };
    threads(pid).map(of_task).sum()
}

fn threads(pid: u32) -> impl Iterator<Item = String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
    tasks.filter_map(|task| Some(task.ok()?.path().display().to_string()))
}

fn first_number(path: &str) -> Option<f64> {
    fs::read_to_string(path).ok()?.split_whitespace().next()?.parse().ok()
}

fn rss_kib(pid: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0.0)
}

/// Reserves a seat in a room of Colyseus, and returns the target of the upgrade.
fn colyseus_seat(to: SocketAddr, room: &str) -> std::io::Result<String> {
    let (mut stream, mut page) = (TcpStream::connect(to)?, String::new());
    let head = format!("POST /matchmake/joinOrCreate/{room} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n");
    let body = "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    stream.write_all(format!("{head}{body}").as_bytes())?;
    stream.read_to_string(&mut page)?;
    let value = |name: &str| {
        let (_, rest) = page.split_once(&format!("\"{name}\":\""))?;
        Some(rest.split_once('"')?.0)
    };
    let seat = || Some((value("processId")?, value("roomId")?, value("sessionId")?));
    let (process, room, session) = seat().unwrap_or_else(|| panic!("no seat: {page}"));
    Ok(format!("/{process}/{room}?sessionId={session}"))
}

/// The server's own count of send calls for updates.
fn sends(to: SocketAddr) -> f64 {
    let page = || -> std::io::Result<String> {
        let (mut stream, mut page) = (TcpStream::connect(to)?, String::new());
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")?;
        stream.read_to_string(&mut page)?;
        Ok(page)
    };
    for _ in 0..20 {
        let page = page().unwrap_or_default();
        let value = page.lines().find_map(|line| line.strip_prefix("tickwire_update_sends_total "));
        if let Some(value) = value.and_then(|value| value.trim().parse().ok()) {
            return value;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("the server has no /metrics with tickwire_update_sends_total");
}
