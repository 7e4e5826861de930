//! A client as the other threads see it: its socket, the sending half of its peer, and its shared
//! state.
//!
//! The client's own thread reads (see [`super::conversation`]); its fan-out worker, and any thread
//! that closes the client, send through [`peer::Sender`](crate::peer::Sender): this file carries out
//! the system calls that it asks for. Every field is fixed, atomic, or has a lock of its own.

use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;

use super::platform;
use super::tap::{Tap, Who};
use crate::peer::life::Due;
use crate::peer::sender::{Batch, Frames, Offered};
use crate::peer::{Ending, Endpoint, Sender};
use crate::room::Handle;
use crate::session::Breach;
use crate::sync::Mutex;
use crate::world::PlayerId;
use crate::ws::frame;

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
    /// Its dialect and format.
    pub endpoint: Endpoint,
    /// The socket: read by its own thread only, written as `sender` asks only.
    pub stream: Arc<TcpStream>,
    /// What waits to be sent, why the connection ends, and its deadlines.
    pub sender: Sender,
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
    /// Whether it gets updates.
    follows: AtomicBool,
    /// Its thread is over.
    gone: AtomicBool,
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
            sender: Sender::new(endpoint.is_native, now),
            room,
            endpoint,
            stream,
            tap,
            bytes_out,
            player: AtomicU32::new(0),
            name: Mutex::default(),
            wish: AtomicU32::new(0),
            follows: AtomicBool::new(false),
            gone: AtomicBool::new(false),
        }
    }

    /// Identifies the client's bytes to the listeners of the tap.
    pub fn who(&self, at: Duration, tick: u32) -> Who {
        Who { client: self.id, player: self.player().map_or(0, |player| player.0), at, tick }
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

    /// Begins the updates: the client's earlier answers are queued.
    pub fn follow(&self) {
        self.follows.store(true, Ordering::Release);
    }

    /// Whether it gets updates.
    pub fn follows(&self) -> bool {
        self.follows.load(Ordering::Acquire)
    }

    /// Queues whole frames that must arrive; closes the client if there is no room.
    pub fn send(&self, frames: Frames<'_>, now: Duration) {
        match self.sender.offer(frames, |frames| self.queued(frames, now)) {
            Offered::Send(batch) => self.transmit(batch, now),
            Offered::Full => self.close(Ending::Breach(Breach::SlowClient), now),
            Offered::Waits | Offered::Ended => {}
        }
    }

    /// Sends what waits, as far as the kernel takes it.
    pub fn send_waiting(&self, now: Duration) {
        if let Some(batch) = self.sender.waiting() {
            self.transmit(batch, now);
        }
    }

    /// The loop of the one sender.
    fn transmit(&self, batch: Batch<'_>, now: Duration) {
        let taken = platform::send_now(&self.stream, batch.slices());
        let mut next = self.sender.sent(batch, taken, now);
        while let Some(batch) = next {
            let taken = platform::send_now(&self.stream, batch.slices());
            next = self.sender.sent(batch, taken, now);
        }
    }

    /// Counts frames in the order of the wire, and passes them to the tap.
    fn queued(&self, frames: &[u8], now: Duration) {
        self.bytes_out.inc_by(frames.len() as u64);
        self.tap.said(self.who(now, self.room.tick()), frames);
    }

    /// Closes the client for this reason. Only the first reason counts.
    pub fn close(&self, ending: Ending, now: Duration) {
        let frames = ending.frames(&self.endpoint);
        if self.sender.close(ending, &frames, |frames| self.queued(frames, now), now) {
            self.send_waiting(now);
        }
    }

    /// Does what is due: pings an idle client, closes a lost or slow one, and cuts a connection
    /// that does not end.
    pub fn look_after(&self, now: Duration) {
        match self.sender.poll(now) {
            Due::Nothing(_) => {}
            Due::Ping => self.send(Frames::Lent(frame::EMPTY_PING), now),
            Due::Close(breach) => self.close(Ending::Breach(breach), now),
            Due::Cut => self.cut(),
        }
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

fn player(number: u32) -> Option<PlayerId> {
    u16::try_from(number).ok().filter(|number| *number != 0).map(PlayerId)
}
