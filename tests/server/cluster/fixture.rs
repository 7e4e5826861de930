//! The fixture of the cluster tests: a Redis server, a balancer, and clients that reconnect.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tickwire::internal::games::moo::world::Action;
use tickwire::internal::server::journal::{
    FileKind, FilePosition, JournalStorage as _, Record, RecordBody, SegmentHeader,
};
use tickwire::internal::server::net::journal::{JournalPlace, RoomStorage};
use tickwire::sim::command_frame;

use crate::journal::Walker;
use crate::program::Program;
use crate::support::PATIENCE;

/// Sequence numbers between two connections of a client.
const SEQUENCES: u32 = 1_000_000;

/// The line of a test that needs Redis.
pub const NO_REDIS: &str = "NOT RUN: redis-server is not installed";

/// A Redis server on a free port, without files.
pub struct Redis {
    child: Child,
    pub port: u16,
}

impl Redis {
    /// Starts it. `None` if it is not installed.
    pub fn start(port: Option<u16>) -> Option<Redis> {
        let free = || TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound").port();
        let port = port.unwrap_or_else(free);
        let mut command = Command::new("redis-server");
        command.args([
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
            "--port",
            &port.to_string(),
        ]);
        let Ok(child) = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn() else {
            return None;
        };
        let redis = Redis { child, port };
        let deadline = Instant::now() + PATIENCE;
        while !redis.responds() {
            assert!(Instant::now() < deadline, "Redis does not respond at port {port}");
            thread::sleep(Duration::from_millis(20));
        }
        Some(redis)
    }

    pub fn responds(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(self.address()) else { return false };
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let mut line = String::new();
        stream.write_all(b"PING\r\n").is_ok()
            && BufReader::new(stream).read_line(&mut line).is_ok()
            && line.starts_with("+PONG")
    }

    pub fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.port).into()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn prefix(room: usize) -> String {
    format!("/r/room-{room}")
}

/// The tick of each command in the segments of a room that a recovery includes, by player and sequence: the
/// records of each fence up to the first record of the next one. Also the first tick of the segments.
pub fn journaled(storage: &RoomStorage) -> (BTreeMap<(u16, u64), Vec<u32>>, u32) {
    let names = storage.names().expect("a list");
    let positions: BTreeSet<(FilePosition, String)> =
        names.into_iter().filter_map(|name| Some((FilePosition::of(&name)?, name))).collect();
    let mut commands: BTreeMap<(u16, u64), Vec<u32>> = BTreeMap::new();
    let mut first_tick = u32::MAX;
    for (position, name) in positions.iter().filter(|(_, name)| FileKind::Segment.position_of(name).is_some())
    {
        let later = positions.iter().filter(|(other, _)| other.fence > position.fence);
        let end = later.map(|(other, _)| other.sequence).min().unwrap_or(u64::MAX);
        let bytes = storage.read(name).expect("a segment");
        let (header, mut at) = SegmentHeader::decode(&bytes).expect("a header");
        while let Ok((record, length)) = Record::decode(&bytes[at..], header.salt) {
            at += length;
            first_tick = first_tick.min(record.tick);
            let RecordBody::Frame(frame) = record.body else { continue };
            if record.sequence < end {
                for command in command_frame::decode::<Action>(&frame).expect("a frame").commands {
                    commands.entry((command.player.0, command.sequence)).or_default().push(record.tick);
                }
            }
        }
    }
    (commands, first_tick)
}

/// A client that reconnects, and what it has seen.
#[derive(Default)]
pub struct Client {
    /// Where it connects.
    address: Option<Mutex<SocketAddr>>,
    /// Player, sequence and tick of each acknowledged command.
    acknowledged: Mutex<BTreeMap<(u16, u64), u32>>,
    /// Number of acks so far.
    pub acks: AtomicU64,
    /// Number of connections that got a player.
    pub connections: AtomicU64,
    players: Mutex<BTreeSet<u16>>,
}

impl Client {
    pub fn at(address: SocketAddr) -> Client {
        Client { address: Some(Mutex::new(address)), ..Client::default() }
    }

    pub fn move_to(&self, address: SocketAddr) {
        *self.address.as_ref().expect("an address").lock().expect("no panic") = address;
    }

    pub fn run(&self, room: usize, is_over: &AtomicBool) {
        for attempt in 1.. {
            if is_over.load(Ordering::Relaxed) {
                return;
            }
            let address = *self.address.as_ref().expect("an address").lock().expect("no panic");
            let Ok(walker) = Walker::try_connect(address, &prefix(room), room) else {
                thread::sleep(Duration::from_millis(50));
                continue;
            };
            let player = walker.player;
            self.players.lock().expect("no panic").insert(player);
            self.connections.fetch_add(1, Ordering::Relaxed);
            let mut on_ack = |_| {
                self.acks.fetch_add(1, Ordering::Relaxed);
            };
            let acks = walker.walk_from(attempt * SEQUENCES, is_over, &mut on_ack);
            let acks = acks.into_iter().map(|(sequence, tick)| ((player, sequence), tick));
            self.acknowledged.lock().expect("no panic").extend(acks);
        }
    }

    /// Waits until this many acks have arrived.
    pub fn wait_for_acks(&self, count: u64) {
        let deadline = Instant::now() + PATIENCE * 2;
        while self.acks.load(Ordering::Relaxed) < count {
            assert!(Instant::now() < deadline, "no ack arrives");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Checks that each acknowledged command since the first tick of the journal is in it once, and that the
    /// body was always the same. Returns the number of these commands.
    pub fn check(&self, room: usize, place: &JournalPlace) -> usize {
        let (journaled, first_tick) = journaled(&place.room(&format!("room-{room}")));
        let acknowledged = self.acknowledged.lock().expect("no panic");
        let in_journal = acknowledged.iter().filter(|(_, tick)| **tick >= first_tick);
        for (command, tick) in in_journal.clone() {
            assert_eq!(journaled.get(command), Some(&vec![*tick]), "command {command:?} of room {room}");
        }
        assert_eq!(self.players.lock().expect("no panic").len(), 1, "room {room}: the body");
        in_journal.count()
    }
}

/// Ends the clients when it is dropped, also after a failed assertion: they would reconnect forever.
pub struct EndsClients<'a>(pub &'a AtomicBool);

impl Drop for EndsClients<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Passes connections to the processes in turn, and to the next one if a process does not listen.
pub struct Balancer {
    pub address: SocketAddr,
    processes: Arc<Mutex<Vec<SocketAddr>>>,
}

impl Balancer {
    pub fn start<'a>(programs: impl IntoIterator<Item = &'a Program>) -> Balancer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let processes = Arc::new(Mutex::new(Vec::new()));
        let balancer = Balancer { address, processes: Arc::clone(&processes) };
        balancer.set(programs);
        // Its threads end with the test program.
        thread::spawn(move || {
            for (turn, client) in listener.incoming().map_while(Result::ok).enumerate() {
                let processes = processes.lock().expect("no panic").clone();
                let mut in_turn = processes.iter().cycle().skip(turn % processes.len()).take(processes.len());
                let Some(server) = in_turn.find_map(|address| TcpStream::connect(address).ok()) else {
                    continue;
                };
                let streams = (client.try_clone().expect("a socket"), server.try_clone().expect("a socket"));
                thread::spawn(move || pass(client, server));
                thread::spawn(move || pass(streams.1, streams.0));
            }
        });
        balancer
    }

    pub fn set<'a>(&self, programs: impl IntoIterator<Item = &'a Program>) {
        let addresses = programs.into_iter().map(|program| program.address).collect();
        *self.processes.lock().expect("no panic") = addresses;
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}
