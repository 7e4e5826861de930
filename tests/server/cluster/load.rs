//! A cluster under load, behind a balancer: its processes stop in turn, Redis restarts without its data, a process
//! is separated from Redis, Redis is away, and a process is killed. Bots play in every room and must get their own
//! players back; in some rooms a client also records its acknowledged commands.
#![allow(clippy::print_stdout, reason = "a long run prints its progress and its results")]

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, net::SocketAddr};

use tickwire::internal::server::net::NetemProxy;
use tickwire::internal::server::net::journal::JournalPlace;
use tickwire::internal::server::net::netem_proxy::ProxyConfig;

use super::fixture::{Balancer, Client, EndsClients, NO_REDIS, Redis, prefix};
use super::{connect, get, metric_above, serve_at};
use crate::journal::{Directory, Walker};
use crate::program::{Program, tickwire};
use crate::support::PATIENCE;

/// Seconds of a long run, behind HAProxy.
const SECONDS_VARIABLE: &str = "TICKWIRE_CLUSTER_SECONDS";
const HAPROXY_CONFIG: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/deploy/compose/haproxy.cfg"));
const ANY_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

/// The size of a run.
struct Size {
    rooms: usize,
    bots_per_room: usize,
    /// Rooms with a client that records its acknowledged commands.
    recorded_rooms: usize,
    time: Duration,
    /// Seconds that the bots measure.
    bot_seconds: u64,
    /// Time between two events.
    pause: Duration,
    /// Time for which Redis is away.
    away: Duration,
    is_long: bool,
}

impl Size {
    fn of_this_run() -> Size {
        let seconds = std::env::var(SECONDS_VARIABLE).ok().and_then(|text| text.parse().ok());
        let second = Duration::from_secs;
        match seconds {
            Some(seconds) => Size {
                rooms: 60,
                bots_per_room: 10,
                recorded_rooms: 12,
                time: second(seconds),
                bot_seconds: seconds,
                pause: second(20),
                away: second(60),
                is_long: true,
            },
            None => Size {
                rooms: 2,
                bots_per_room: 5,
                recorded_rooms: 2,
                time: second(15),
                bot_seconds: 28,
                pause: second(2),
                away: second(4),
                is_long: false,
            },
        }
    }
}

/// A process of the cluster, which starts again at the same address if a proxy knows it.
struct Process {
    program: Option<Program>,
    bind: SocketAddr,
    store: SocketAddr,
}

struct Cluster<'a> {
    size: Size,
    directory: &'a Directory,
    redis: Option<Redis>,
    store_port: u16,
    /// The connection of the last process to Redis.
    separator: Option<NetemProxy>,
    processes: Vec<Process>,
    balancer: Option<Balancer>,
}

impl Cluster<'_> {
    fn program(&self, at: usize) -> &Program {
        self.processes[at].program.as_ref().expect("it runs")
    }

    fn start_process(&mut self, at: usize) {
        let Process { bind, store, .. } = self.processes[at];
        let program = Program::start(&mut serve_at(
            bind,
            &self.directory.0,
            store,
            ("100", &["--trusted-proxy", "127.0.0.2"]),
        ));
        if self.size.is_long {
            self.processes[at].bind = program.address;
        }
        self.processes[at].program = Some(program);
        if let Some(balancer) = &self.balancer {
            balancer.set(self.processes.iter().filter_map(|process| process.program.as_ref()));
        }
    }

    /// Returns the process that has a room, if one has it.
    fn owner(&self, room: usize) -> Option<usize> {
        let location = get(self.program(0).address, &format!("/rooms/room-{room}"));
        let is_owner = |at: &usize| location.contains(&format!("{}\"", self.program(*at).address));
        (0..self.processes.len()).find(is_owner)
    }

    /// Separates the last process from Redis, until another one has taken a room from it.
    fn separate(&mut self) {
        let last = self.processes.len() - 1;
        let own = (0..self.size.rooms).find(|room| self.owner(*room) == Some(last));
        // Without a room of bots, a room of its own.
        let room = own.unwrap_or(self.size.rooms);
        let _visitor = own.is_none().then(|| connect(self.program(last).address, room));
        let address = self.processes[last].store;
        self.separator.take().expect("a proxy").stop();
        let deadline = Instant::now() + PATIENCE * 2;
        while self.owner(room).is_none_or(|owner| owner == last) {
            let _ = Walker::try_connect(self.program(0).address, &prefix(room), 901);
            assert!(Instant::now() < deadline, "room {room} is not taken");
            thread::sleep(Duration::from_millis(200));
        }
        self.separator = Some(separator(address, self.store_port));
        metric_above(self.program(last), "tickwire_cluster_rooms_lost_total", 0);
    }

    /// Everything that happens, once.
    fn run_events(&mut self, clients: &[Client]) {
        let connections =
            || -> u64 { clients.iter().map(|client| client.connections.load(Ordering::Relaxed)).sum() };
        let acks = || -> u64 { clients.iter().map(|client| client.acks.load(Ordering::Relaxed)).sum() };
        let started = Instant::now();
        let log =
            |event: &str| println!("{:5.1} s: {event}, {} acks", started.elapsed().as_secs_f64(), acks());
        let wait_for_all = || {
            clients.iter().for_each(|client| client.wait_for_acks(client.acks.load(Ordering::Relaxed) + 5))
        };
        for at in 0..self.processes.len() {
            thread::sleep(self.size.pause);
            self.processes[at].program.take().expect("it runs").stop();
            self.start_process(at);
            log(&format!("process {at} has stopped, and runs again"));
        }
        thread::sleep(self.size.pause);
        // On a busy machine, a client may return late from the process that has stopped.
        wait_for_all();
        let before = connections();
        self.redis = None;
        self.redis = Redis::start(Some(self.store_port));
        wait_for_all();
        assert_eq!(connections(), before, "a restart of Redis closes no connection");
        log("Redis has restarted without its data");
        thread::sleep(self.size.pause);
        self.separate();
        log("the last process was separated from Redis");
        thread::sleep(self.size.pause);
        wait_for_all();
        let before = connections();
        self.redis = None;
        let back_at = Instant::now() + self.size.away;
        assert!(Walker::try_connect(self.program(0).address, "/r/late", 902).is_err(), "a new room waits");
        thread::sleep(back_at.saturating_duration_since(Instant::now()));
        self.redis = Redis::start(Some(self.store_port));
        wait_for_all();
        assert_eq!(connections(), before, "an absence of Redis closes no connection");
        log("Redis was away");
        thread::sleep(self.size.pause);
        // SIGKILL.
        self.processes[1].program = None;
        self.start_process(1);
        log("process 1 was killed");
        thread::sleep(self.size.pause);
        wait_for_all();
    }
}

impl Drop for Cluster<'_> {
    /// Prints the logs after a failure.
    fn drop(&mut self) {
        for (at, process) in self.processes.iter_mut().enumerate().filter(|_| thread::panicking()) {
            if let Some(mut program) = process.program.take() {
                let log = program.stop();
                println!("log of process {at}, {}:\n{log}", program.address);
            }
        }
    }
}

fn separator(listen: SocketAddr, store_port: u16) -> NetemProxy {
    let to = ([127, 0, 0, 1], store_port).into();
    let conditions = "delay=0ms".parse().expect("conditions");
    NetemProxy::start(ProxyConfig { listen, to, conditions, seed: 1 }).expect("a free port")
}

/// A running HAProxy, which ends also after a failed assertion.
struct HaProxy(Child);

impl Drop for HaProxy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// HAProxy with the configuration of scripts/deploy/compose.
fn start_haproxy(directory: &Directory, processes: &[Process]) -> (HaProxy, SocketAddr) {
    let free = std::net::TcpListener::bind(ANY_PORT).expect("a port").local_addr().expect("bound");
    let servers = processes.iter().enumerate();
    let servers = servers.map(|(at, process)| format!("server s{at} {} source 127.0.0.2", process.bind));
    let servers = servers.collect::<Vec<_>>().join("\n    ");
    let template = "server-template tickwire 9 tickwire:3000 resolvers docker init-addr none";
    assert!(HAPROXY_CONFIG.contains("bind :3000") && HAPROXY_CONFIG.contains(template));
    let config = HAPROXY_CONFIG.replace("bind :3000", &format!("bind {free}")).replace(template, &servers);
    let path = directory.0.with_extension("haproxy.cfg");
    fs::write(&path, config).expect("written");
    let mut command = Command::new("/usr/sbin/haproxy");
    let child = command.args(["-db", "-f"]).arg(&path).stderr(Stdio::null()).spawn();
    let haproxy = HaProxy(child.expect("haproxy is needed for a long run: apt-get install haproxy"));
    let deadline = Instant::now() + PATIENCE;
    while std::net::TcpStream::connect(free).is_err() {
        assert!(Instant::now() < deadline, "HAProxy does not listen");
        thread::sleep(Duration::from_millis(50));
    }
    // Its first health checks.
    thread::sleep(Duration::from_secs(3));
    (haproxy, free)
}

/// Bots that walk in a room, and return with their own players.
fn start_bots(address: SocketAddr, room: usize, size: &Size) -> Child {
    let url = format!("ws://{address}{}/", prefix(room));
    let (count, seconds) = (size.bots_per_room.to_string(), size.bot_seconds.to_string());
    let flags =
        ["--count", &count, "--seconds", &seconds, "--reconnect", "--late-acks", "--game", "moo", "--json"];
    tickwire(&[&["bots", &url], &flags[..]].concat()).spawn().expect("started")
}

/// Checks the reports of bots, and prints their sum.
fn check_bots(bots: Vec<Child>, size: &Size) {
    let (mut failed, mut sums) = (Vec::new(), [0; 5]);
    for (room, bots) in bots.into_iter().enumerate() {
        let output = bots.wait_with_output().expect("ended");
        let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("text")).concat();
        let report =
            serde_json::from_str(text.lines().next().unwrap_or_default()).unwrap_or(serde_json::Value::Null);
        for (sum, name) in sums.iter_mut().zip(["playing", "updates", "lost", "resumed", "returns"]) {
            *sum += report[name].as_u64().unwrap_or_default();
        }
        if !output.status.success() {
            failed.push(format!("room {room}: {text}"));
        }
    }
    let [playing, updates, lost, resumed, returns] = sums;
    println!(
        "{playing} of {} bots played: {updates} updates, {lost} connections lost, {returns} closed by a process that stopped, {resumed} players resumed",
        size.rooms * size.bots_per_room
    );
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn under_load_no_acknowledged_command_and_no_body_is_lost() {
    let Some(redis) = Redis::start(None) else { return println!("{NO_REDIS}") };
    let (size, directory) = (Size::of_this_run(), Directory::new("cluster-load"));
    let (store, store_port) = (redis.address(), redis.port);
    let process = |store| Process { program: None, bind: ANY_PORT, store };
    let separator = separator(ANY_PORT, store_port);
    let processes = vec![process(store), process(store), process(separator.address())];
    let mut cluster = Cluster {
        size,
        directory: &directory,
        redis: Some(redis),
        store_port,
        separator: Some(separator),
        processes,
        balancer: None,
    };
    (0..3).for_each(|at| cluster.start_process(at));
    let (_haproxy, address) = if cluster.size.is_long {
        let (haproxy, address) = start_haproxy(&directory, &cluster.processes);
        (Some(haproxy), address)
    } else {
        let balancer =
            Balancer::start(cluster.processes.iter().filter_map(|process| process.program.as_ref()));
        let address = balancer.address;
        cluster.balancer = Some(balancer);
        (None, address)
    };
    let bots: Vec<Child> =
        (0..cluster.size.rooms).map(|room| start_bots(address, room, &cluster.size)).collect();
    let clients: Vec<Client> = (0..cluster.size.recorded_rooms).map(|_| Client::at(address)).collect();
    let (is_over, started) = (AtomicBool::new(false), Instant::now());
    thread::scope(|scope| {
        let _ends = EndsClients(&is_over);
        for (room, client) in clients.iter().enumerate() {
            let is_over = &is_over;
            scope.spawn(move || client.run(room, is_over));
        }
        clients.iter().for_each(|client| client.wait_for_acks(5));
        while started.elapsed() < cluster.size.time {
            cluster.run_events(&clients);
        }
    });
    let place = JournalPlace::Directory(directory.0.clone());
    let checked: usize = clients.iter().enumerate().map(|(room, client)| client.check(room, &place)).sum();
    println!(
        "{:.0} s, {checked} acknowledged commands are in a journal once",
        started.elapsed().as_secs_f64()
    );
    check_bots(bots, &cluster.size);
    assert!(checked > 0);
}
