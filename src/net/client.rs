//! A client as the other threads see it: its socket, its outbox, and its shared state.
//!
//! The client's own thread reads (see [`super::conversation`]); its fan-out worker, and any thread
//! that closes the client, write through the outbox. Every field is fixed, atomic, or has a lock of
//! its own.

use std::fmt;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;

use super::endpoint::Endpoint;
use super::outbox::{Outbox, Pushed, Wire};
use super::platform;
use super::tap::{Tap, Who};
use crate::packet::{PacketError, ServerPacket};
use crate::room::Handle;
use crate::session::Breach;
use crate::sync::Mutex;
use crate::world::PlayerId;
use crate::ws::close::{self, CloseCode};
use crate::ws::frame::{self, Opcode};
use crate::ws::violation::Violation;

/// Why a client's connection ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// It broke a rule of RFC 6455.
    Violation(Violation),
    /// It sent MessagePack or JSON that is broken.
    Packet(PacketError),
    /// It broke a rule of the server, or the server closed it for another reason.
    Breach(Breach),
    /// It sent a close frame with this code.
    PeerClosed(Option<CloseCode>),
    /// Its connection broke, or ended without a close frame.
    PeerLost,
}

impl Ending {
    /// The rule's name, for log, metrics and close reason.
    pub fn name(&self) -> &'static str {
        match self {
            Ending::Violation(violation) => violation.name(),
            Ending::Packet(error) => error.name(),
            Ending::Breach(breach) => breach.name(),
            Ending::PeerClosed(_) => "peer_closed",
            Ending::PeerLost => "peer_lost",
        }
    }

    /// The code of the close frame that the server sends; `None` if the peer ended the connection.
    pub fn close_code(&self) -> Option<CloseCode> {
        match self {
            Ending::Violation(violation) => violation.close_code(),
            Ending::Packet(_) => Some(CloseCode::NOT_CONSISTENT),
            Ending::Breach(breach) => CloseCode::new(breach.close_code()),
            Ending::PeerClosed(_) | Ending::PeerLost => None,
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Violation(violation) => {
                write!(out, "{violation} (RFC {} section {})", violation.rfc(), violation.section())
            }
            Ending::Packet(error) => write!(out, "{error}"),
            Ending::Breach(breach) => write!(out, "{breach}"),
            Ending::PeerClosed(Some(code)) => write!(out, "the peer closed with {code}"),
            Ending::PeerClosed(None) => write!(out, "the peer closed without a code"),
            Ending::PeerLost => write!(out, "the connection broke"),
        }
    }
}

/// See the [module](self).
#[derive(Debug)]
pub struct Client {
    /// The number of the connection, unique within this run of the server.
    pub id: u64,
    /// The other end.
    pub address: SocketAddr,
    /// When its handshake completed, on the server's clock.
    pub connected: Duration,
    /// The room that it is in.
    pub room: Arc<Handle>,
    /// Its dialect, layout and format.
    pub endpoint: Endpoint,
    /// The socket: read by its own thread only, written through the outbox only.
    pub stream: Arc<TcpStream>,
    /// The bytes to be sent to it.
    pub outbox: Outbox,
    /// Passes its traffic to listeners.
    tap: Tap,
    /// Counts what is queued for it, and for all others.
    bytes_out: Counter,
    /// The number of its player, 0 without one.
    player: AtomicU32,
    /// The name with which it entered last.
    name: Mutex<String>,
    /// The player that it wants to watch, 0 for the leader.
    wish: AtomicU32,
    /// When a whole message or control frame last came from it, in ms of the server's clock.
    heard_ms: AtomicU64,
    /// When it was last pinged for being silent.
    pinged_ms: AtomicU64,
    /// When our close frame was queued, plus 1; 0 before.
    closing_ms: AtomicU64,
    /// Why we close it.
    ending: Mutex<Option<Ending>>,
    /// Its thread is over.
    gone: AtomicBool,
}

impl Wire for Client {
    fn send_now(&self, bytes: &[u8]) -> io::Result<Option<usize>> {
        platform::send_now(&self.stream, bytes)
    }

    fn queued(&self, frames: &[u8], now: Duration) {
        self.bytes_out.inc_by(frames.len() as u64);
        self.tap.said(self.who(now), frames);
    }
}

impl Client {
    /// A newly upgraded client. The bytes sent to it are passed to the tap, and counted.
    pub fn new(
        id: u64,
        address: SocketAddr,
        stream: Arc<TcpStream>,
        room: Arc<Handle>,
        endpoint: Endpoint,
        (tap, bytes_out): (Tap, Counter),
        now: Duration,
    ) -> Client {
        Client {
            id,
            address,
            connected: now,
            room,
            endpoint,
            stream,
            outbox: Outbox::default(),
            tap,
            bytes_out,
            player: AtomicU32::new(0),
            name: Mutex::default(),
            wish: AtomicU32::new(0),
            heard_ms: AtomicU64::new(ms(now)),
            pinged_ms: AtomicU64::new(0),
            closing_ms: AtomicU64::new(0),
            ending: Mutex::default(),
            gone: AtomicBool::new(false),
        }
    }

    /// Identifies the client's bytes to the listeners of the tap.
    pub fn who(&self, at: Duration) -> Who {
        Who { client: self.id, player: self.player().map_or(0, |player| player.0), at }
    }

    /// Its player in the world, if it has one.
    pub fn player(&self) -> Option<PlayerId> {
        player(self.player.load(Ordering::Acquire))
    }

    /// The name of its player; empty without one.
    pub fn name(&self) -> String {
        if self.player().is_some() { self.name.lock().clone() } else { String::new() }
    }

    /// Sets its player and the player's name.
    pub fn set_player(&self, player: PlayerId, name: &str) {
        name.clone_into(&mut self.name.lock());
        self.player.store(player.0.into(), Ordering::Release);
    }

    /// Removes its player and returns it. Returns it only once, so that the player leaves the world
    /// only once.
    pub fn take_player(&self) -> Option<PlayerId> {
        player(self.player.swap(0, Ordering::AcqRel))
    }

    /// The player that it wants to watch while it has none of its own.
    pub fn wish(&self) -> Option<PlayerId> {
        player(self.wish.load(Ordering::Acquire))
    }

    /// Sets the player that it wants to watch.
    pub fn set_wish(&self, player: Option<PlayerId>) {
        self.wish.store(player.map_or(0, |player| player.0.into()), Ordering::Release);
    }

    /// Records that a whole message or control frame arrived. Bytes alone are no sign of life: a
    /// peer that sends one byte of an unfinished frame now and then could hold a place for ever.
    pub fn heard(&self, now: Duration) {
        self.heard_ms.store(ms(now), Ordering::Relaxed);
    }

    /// The time since its last whole message or control frame.
    pub fn silence(&self, now: Duration) -> Duration {
        now.saturating_sub(Duration::from_millis(self.heard_ms.load(Ordering::Relaxed)))
    }

    /// Whether a ping is due: the client has been silent for `every`, and its last ping is as long
    /// ago.
    pub fn is_ping_due(&self, now: Duration, every: Duration) -> bool {
        let pinged = Duration::from_millis(self.pinged_ms.load(Ordering::Relaxed));
        let due = self.silence(now) >= every && now.saturating_sub(pinged) >= every;
        if due {
            self.pinged_ms.store(ms(now), Ordering::Relaxed);
        }
        due
    }

    /// Queues one packet that must arrive; closes the client if there is no room. Sends nothing if
    /// the dialect lacks the packet.
    pub fn send(&self, packet: &ServerPacket<'_>, now: Duration) {
        let mut bytes = Vec::new();
        self.endpoint.write_packet(&mut bytes, packet);
        if !bytes.is_empty() {
            self.send_frames(&bytes, now);
        }
    }

    /// Queues whole frames that must arrive; closes the client if there is no room.
    pub fn send_frames(&self, frames: &[u8], now: Duration) {
        if self.outbox.push(self, frames, now) == Pushed::Full {
            self.close(Ending::Breach(Breach::SlowClient), now);
        }
    }

    /// Queues a close frame with this reason. Only the first reason counts.
    pub fn close(&self, ending: Ending, now: Duration) {
        let bytes = goodbye(&self.endpoint, &ending);
        self.close_with(ending, &bytes, now);
    }

    /// Queues frames, the last of which is a close frame. Only the first reason counts.
    pub fn close_with(&self, ending: Ending, frames: &[u8], now: Duration) {
        let mut kept = self.ending.lock();
        if kept.is_some() {
            return;
        }
        // Whoever sees the ending finds the close frame queued: the client's own thread then says its last words.
        self.outbox.close(self, frames, now);
        self.closing_ms.store(ms(now) + 1, Ordering::Release);
        *kept = Some(ending);
        drop(kept);
        self.outbox.drive(self, now);
    }

    /// Why the server closes it, if it does.
    pub fn ending(&self) -> Option<Ending> {
        self.ending.lock().clone()
    }

    /// How long ago our close frame was queued.
    pub fn closing_for(&self, now: Duration) -> Option<Duration> {
        let since = self.closing_ms.load(Ordering::Acquire).checked_sub(1)?;
        Some(now.saturating_sub(Duration::from_millis(since)))
    }

    /// Ends the connection immediately; its thread wakes from its read.
    pub fn cut(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    /// Records that its thread has ended, so that the worker forgets the client.
    pub fn set_gone(&self) {
        self.gone.store(true, Ordering::Release);
    }

    /// Whether its thread has ended.
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }
}

/// The close frame. Clients of the MooMoo dialects show no reason of a close frame, but that of the packet `disconnect`: it goes
/// before, unless the client broke a rule.
fn goodbye(endpoint: &Endpoint, ending: &Ending) -> Vec<u8> {
    let mut bytes = Vec::new();
    if matches!(ending, Ending::Breach(breach) if !breach.is_of_the_client()) {
        endpoint.write_packet(&mut bytes, &ServerPacket::Disconnect { reason: ending.name() });
    }
    let mut body = Vec::new();
    close::encode(ending.close_code(), ending.name(), &mut body);
    frame::write(&mut bytes, Opcode::Close, None, &body);
    bytes
}

fn player(number: u32) -> Option<PlayerId> {
    u16::try_from(number).ok().filter(|number| *number != 0).map(PlayerId)
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX - 1)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;
    use crate::feed::view::Layout;
    use crate::net::Config;
    use crate::net::host::Host;
    use crate::packet::Codes;

    #[test]
    fn whoever_sees_an_ending_finds_the_close_frame_queued() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("its address");
        let stream = Arc::new(TcpStream::connect(address).expect("a connection"));
        let dialect = Codes::builtin().dialect("native").expect("built in");
        let endpoint = Endpoint { dialect, layout: Layout::Native, json: false };
        let room = Arc::clone(Host::for_tests(Config::new(address)).room());
        for id in 0..400 {
            let (now, room, stream) = (Duration::ZERO, Arc::clone(&room), Arc::clone(&stream));
            let client = Client::new(id, address, stream, room, endpoint.clone(), Default::default(), now);
            thread::scope(|scope| {
                scope.spawn(|| client.close(Ending::Breach(Breach::SlowClient), now));
                while client.ending().is_none() {}
                assert!(client.outbox.is_ended() && client.closing_for(now).is_some(), "client {id}");
            });
        }
    }

    #[test]
    fn who_is_put_out_without_having_broken_a_rule_is_told_by_disconnect_before_the_close_frame() {
        let endpoint = |name: &str, json| {
            let dialect = Codes::builtin().dialect(name).expect("built in");
            let layout = if name == "native" { Layout::Native } else { Layout::Moomoo };
            Endpoint { dialect, layout, json }
        };
        let said = |name, json, breach| goodbye(&endpoint(name, json), &Ending::Breach(breach));
        let kicked = [&[0x88, 8][..], &1008_u16.to_be_bytes(), b"kicked"].concat();
        let disconnect = |code: &[u8]| [&[0x82, 11, 0x92, 0xa1][..], code, b"\x91\xa6kicked"].concat();
        assert_eq!(said("letters", false, Breach::Kicked), [disconnect(b"B"), kicked.clone()].concat());
        assert_eq!(said("legacy", false, Breach::Kicked), [disconnect(b"d"), kicked.clone()].concat());
        let text = [b"\x81\x10[\"B\",[\"kicked\"]]", &kicked[..]].concat();
        assert_eq!(said("letters-2023", true, Breach::Kicked), text);
        assert_eq!(said("native", false, Breach::Kicked), kicked, "the close frame says it");
        let is_told = |breach| said("letters", false, breach)[0] == 0x82;
        let told: Vec<Breach> = Breach::ALL.into_iter().filter(|breach| is_told(*breach)).collect();
        let expected = [
            Breach::Full,
            Breach::Kicked,
            Breach::Banned,
            Breach::GoingAway,
            Breach::Overloaded,
            Breach::InternalError,
        ];
        assert_eq!(told, expected);
    }
}
