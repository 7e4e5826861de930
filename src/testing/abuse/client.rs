//! Clients that misbehave one after another ([`idle`]: all at once), to show how the server treats
//! them and its other clients.
//!
//! A [`Misbehavior`] runs against a server on this machine. The result is the way in which the
//! server ended each connection, and the time until then. [`rounds`] and [`idle`] refuse any
//! address that is not loopback.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::client::blocking_client;
use crate::client::connection::{ClientConnection, ClientConnectionError, ClientEvent};
use crate::client::dial;
use crate::client::url::Url;
use crate::connection::session::NATIVE_VERSION;
use crate::game::BotRng;
use crate::games::moo::bot::received::ServerPacket;
use crate::games::moo::client_packet::{ClientPacket, Mode};
use crate::limits;
use crate::packet::{Dialect, PacketTables};
use crate::testing::source_addresses::SourceAddresses;
use crate::util::os::{self, PollInterest};
use crate::ws::frame::{self, Header, Opcode};
use crate::ws::http::ResponseReader;

/// A client of the default game that waits for responses.
pub type MooTestClient = blocking_client::BlockingClient<ServerPacket>;

/// Pause between two rounds, because the test measures the harm of one client and not of the
/// connection rate.
const PAUSE: Duration = Duration::from_millis(100);
/// Receive buffer of a client that does not read, in bytes. Small, so that it fills soon.
const SMALL_ROOM_BYTES: usize = 4 * 1024;
/// The masking key of all frames. It need not be secret.
pub(crate) const KEY: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];
/// Pings per burst of a client that does not read the pongs. Below the server's rate limit for a
/// client.
const PINGS_UNREAD: usize = 100;
/// Time between two bursts.
const BURST_EVERY: Duration = Duration::from_secs(1);
/// Number of frames in the block that a flood repeats.
const BLOCK_FRAMES: usize = 64;

/// The kind of misbehaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misbehavior {
    /// Joins, sends a hundred pings per second, and never reads.
    ReadsNothing,
    /// Sends small messages as fast as the server accepts them.
    MessageFlood,
    /// Sends pings of 125 bytes as fast as the server accepts them.
    PingFlood,
    /// Sends messages of 4 KB as fast as the server accepts them.
    ByteFlood,
    /// Sends an endless message in one-byte fragments.
    FragmentFlood,
    /// Sends random bytes after the upgrade.
    Garbage,
    /// Connects and sends nothing.
    Idle,
}

impl Misbehavior {
    /// All kinds.
    pub const ALL: [Misbehavior; 7] = [
        Misbehavior::ReadsNothing,
        Misbehavior::MessageFlood,
        Misbehavior::PingFlood,
        Misbehavior::ByteFlood,
        Misbehavior::FragmentFlood,
        Misbehavior::Garbage,
        Misbehavior::Idle,
    ];

    /// Name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Misbehavior::ReadsNothing => "reads-nothing",
            Misbehavior::MessageFlood => "message-flood",
            Misbehavior::PingFlood => "ping-flood",
            Misbehavior::ByteFlood => "byte-flood",
            Misbehavior::FragmentFlood => "fragment-flood",
            Misbehavior::Garbage => "garbage",
            Misbehavior::Idle => "idle",
        }
    }

    /// The bytes that it sends repeatedly after the upgrade.
    fn block(self, dice: &mut BotRng) -> Vec<u8> {
        let mut block = Vec::new();
        for number in 0..BLOCK_FRAMES {
            match self {
                Misbehavior::MessageFlood => {
                    block.extend(packet(&ClientPacket::Ping { nonce: Some(number as u32) }))
                }
                Misbehavior::PingFlood => frame::write(&mut block, Opcode::Ping, Some(KEY), &[b'x'; 125]),
                Misbehavior::ByteFlood => frame::write(&mut block, Opcode::Binary, Some(KEY), &long_packet()),
                Misbehavior::FragmentFlood => {
                    let header =
                        Header { fin: false, opcode: Opcode::Continuation, mask: Some(KEY), length: 1 };
                    header.encode(&mut block);
                    block.push(0);
                }
                Misbehavior::Garbage => block.extend(dice.bits().to_le_bytes()),
                Misbehavior::ReadsNothing | Misbehavior::Idle => {}
            }
        }
        block
    }

    /// The bytes that it sends first.
    fn opening(self) -> Vec<u8> {
        match self {
            Misbehavior::Garbage | Misbehavior::Idle => Vec::new(),
            Misbehavior::FragmentFlood => {
                let mut bytes = Vec::new();
                let header = Header { fin: false, opcode: Opcode::Binary, mask: Some(KEY), length: 0 };
                header.encode(&mut bytes);
                bytes
            }
            Misbehavior::ReadsNothing
            | Misbehavior::MessageFlood
            | Misbehavior::PingFlood
            | Misbehavior::ByteFlood => hello(),
        }
    }
}

/// A ping with 4,000 extra bytes, which the server drops.
fn long_packet() -> Vec<u8> {
    let mut bytes = vec![0x92, 6, 0x92, 1, 0xda, 0x0f, 0xa0];
    bytes.resize(bytes.len() + 4_000, b'x');
    bytes
}

/// A native packet in a masked frame.
pub(crate) fn packet(packet: &ClientPacket<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::write(&mut bytes, Opcode::Binary, Some(KEY), &packet.encode(&native()));
    bytes
}

pub(crate) fn native() -> Arc<Dialect> {
    PacketTables::builtin().dialect("native").expect("the built-in tables have it")
}

pub(crate) fn hello() -> Vec<u8> {
    let name = Some("hostile".to_owned());
    packet(&ClientPacket::Hello { version: NATIVE_VERSION, mode: Mode::Play, name, skin: None })
}

/// Ends of connections: the count of each, and its shortest and longest time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DisconnectCounts(pub BTreeMap<String, (u64, Duration, Duration)>);

impl DisconnectCounts {
    fn add(&mut self, ending: String, time: Duration) {
        let (count, least, most) = self.0.entry(ending).or_insert((0, time, time));
        *count += 1;
        *least = time.min(*least);
        *most = time.max(*most);
    }
}

/// Runs misbehaving clients one after the other, for `time` in total. A client that is still
/// connected at the end counts as `still open`.
///
/// # Errors
/// The server is not on this machine, or cannot be reached.
pub fn rounds(
    kind: Misbehavior,
    url: &Url,
    source: &SourceAddresses,
    time: Duration,
) -> io::Result<DisconnectCounts> {
    let deadline = Instant::now() + time;
    let (mut endings, mut index) = (DisconnectCounts::default(), 0);
    while Instant::now() < deadline {
        let started = Instant::now();
        let left = deadline.saturating_duration_since(started);
        let ending = once(kind, url, source.address(index), index as u64, left)?;
        endings.add(ending, started.elapsed());
        index += 1;
        thread::sleep(PAUSE);
    }
    Ok(endings)
}

/// Runs one misbehaving client until the server ends its connection, at most for `time`. Returns
/// the end of the connection. For idle clients see [`idle`].
///
/// # Errors
/// The server is not on this machine, or cannot be reached.
pub fn once(kind: Misbehavior, url: &Url, from: IpAddr, seed: u64, time: Duration) -> io::Result<String> {
    let deadline = Instant::now() + time;
    if kind == Misbehavior::ReadsNothing {
        let stream = dial::connect_with_recv_buffer(check_local(url)?, Some(from), Some(SMALL_ROOM_BYTES))?;
        return never_read(stream, url, deadline);
    }
    let stream = dial::connect(check_local(url)?, Some(from))?;
    round(kind, &stream, url, &mut BotRng::new(seed), deadline)
}

pub(crate) fn check_local(url: &Url) -> io::Result<SocketAddr> {
    let to = dial::resolve(url)?;
    if to.ip().is_loopback() {
        return Ok(to);
    }
    Err(io::Error::new(
        ErrorKind::PermissionDenied,
        "hostile clients may only connect to a server on this machine",
    ))
}

/// Runs one connection from the upgrade to its end. Returns the end.
fn round(
    kind: Misbehavior,
    mut stream: &TcpStream,
    url: &Url,
    dice: &mut BotRng,
    deadline: Instant,
) -> io::Result<String> {
    let mut link = ClientConnection::new(&url.authority(), &url.target, true, dial::random_keys());
    let (mut unsent, block) = (Vec::new(), kind.block(dice));
    link.drain_output(&mut unsent);
    let mut is_open = false;
    while Instant::now() < deadline {
        if is_open && unsent.is_empty() {
            unsent.extend_from_slice(&block);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        match dial::wait(PollInterest { stream, reads: true, writes: !unsent.is_empty() }, left) {
            Err(error) if error.kind() == ErrorKind::TimedOut => break,
            waited => drop(waited?),
        }
        if let Err(error) = read(stream, &mut link) {
            return Ok(error.kind().to_string());
        }
        match poll_end(&mut link) {
            PollResult::Opened => {
                is_open = true;
                unsent.extend(kind.opening());
            }
            PollResult::Nothing => {}
            PollResult::Ended(ending) => return Ok(ending),
        }
        // A failed write is reported by the next read, after the server's last bytes.
        if let Ok(count) = stream.write(&unsent) {
            unsent.drain(..count);
        }
    }
    Ok("still open".to_owned())
}

/// Joins and then does not read. The pings cause further responses, and a failed ping reveals the
/// end of the connection, which other kinds detect by reading.
fn never_read(stream: TcpStream, url: &Url, deadline: Instant) -> io::Result<String> {
    let mut talk = MooTestClient::start(stream, url, native())?;
    let mut burst = Vec::new();
    for _ in 0..PINGS_UNREAD {
        frame::write(&mut burst, Opcode::Ping, Some(KEY), &[b'x'; 125]);
    }
    let mut sent = talk.send_bytes(&hello());
    while sent.is_ok() && Instant::now() < deadline {
        thread::sleep(BURST_EVERY.min(deadline.saturating_duration_since(Instant::now())));
        sent = talk.send_bytes(&burst);
    }
    Ok(sent.map_or_else(|error| error.kind().to_string(), |()| "still open".to_owned()))
}

/// The result of polling a connection.
pub(crate) enum PollResult {
    Nothing,
    Opened,
    Ended(String),
}

pub(crate) fn poll_end(link: &mut ClientConnection) -> PollResult {
    let told = next_told(link);
    // A misbehaving client sends no pong and no close frame; they would accumulate.
    link.drain_output(&mut Vec::new());
    told
}

fn next_told(link: &mut ClientConnection) -> PollResult {
    loop {
        return match link.next_event() {
            Ok(None) => PollResult::Nothing,
            Ok(Some(ClientEvent::Open)) => PollResult::Opened,
            Ok(Some(ClientEvent::Binary(_) | ClientEvent::Text(_) | ClientEvent::Control)) => continue,
            Ok(Some(ClientEvent::Closed { code, reason })) => {
                PollResult::Ended(format!("{} {reason}", code.map_or(1005, |code| code.get())))
            }
            Ok(Some(ClientEvent::Ended)) => PollResult::Ended("end without a close frame".to_owned()),
            Err(ClientConnectionError::Refused(status)) => PollResult::Ended(format!("status {status}")),
            Err(error) => PollResult::Ended(error.to_string()),
        };
    }
}

pub(crate) fn read(mut stream: &TcpStream, link: &mut ClientConnection) -> io::Result<()> {
    let mut buffer = [0; 16 * 1024];
    match stream.read(&mut buffer) {
        Ok(0) => link.receive_eof(),
        Ok(count) => link.receive(&buffer[..count]),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Opens many connections that send nothing, at most for `time`.
///
/// # Errors
/// The server is not on this machine, or cannot be reached.
pub fn idle(
    count: usize,
    url: &Url,
    source: &SourceAddresses,
    time: Duration,
) -> io::Result<DisconnectCounts> {
    let to = check_local(url)?;
    let mut waiting = Vec::new();
    for index in 0..count {
        let stream = dial::connect(to, Some(source.address(index)))?;
        waiting.push((stream, ResponseReader::new(limits::HEAD_LIMITS), Instant::now()));
    }
    let (mut endings, deadline) = (DisconnectCounts::default(), Instant::now() + time);
    while !waiting.is_empty() && Instant::now() < deadline {
        let sockets: Vec<_> = waiting.iter().map(|(stream, ..)| PollInterest::readable(stream)).collect();
        os::poll(&sockets, deadline.saturating_duration_since(Instant::now()))?;
        waiting.retain_mut(|(stream, reader, started)| match answer(stream, reader) {
            Some(ending) => {
                endings.add(ending, started.elapsed());
                false
            }
            None => true,
        });
    }
    for (.., started) in waiting {
        endings.add("still open".to_owned(), started.elapsed());
    }
    Ok(endings)
}

/// The status of a response to a connection without a request.
fn answer(stream: &mut TcpStream, reader: &mut ResponseReader) -> Option<String> {
    let mut buffer = [0; 1024];
    match stream.read(&mut buffer) {
        Ok(0) => Some("end without an answer".to_owned()),
        Ok(count) => match reader.receive(&buffer[..count]) {
            Ok(head) => head.map(|head| format!("status {}", head.status)),
            Err(violation) => Some(violation.name().to_owned()),
        },
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => None,
        Err(error) => Some(error.kind().to_string()),
    }
}
