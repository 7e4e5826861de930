//! A client: a connection that is in a room, over an abstract [`Transport`]. All threads that send to it
//! or close it do so through its [`Sender`]. Every field is fixed, atomic, or has a lock of its own.

use core::net::SocketAddr;
use std::fmt::Debug;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use tickwire_sim::PlayerId;

use crate::connection::deadlines::DueAction;
use crate::connection::receiver::{ReadTime, RoomInfo};
use crate::connection::resume_key::ResumeKey;
use crate::connection::sender::{Batch, EnqueueResult, Frames};
use crate::connection::{DisconnectReason, Receiver, Sender, WireFormat};
use crate::game::CloseReason;
use crate::packet::Direction;
use crate::server::admission::tokens::{OfferedToken, Permission};
use crate::server::admission::upgrade_check::AcceptedClient;
use crate::server::room::{JoinOutcome, RoomHandle};
use crate::util::address_prefix::AddressPrefix;
use crate::util::sync::Mutex;
use crate::ws::frame;

/// What carries a client's bytes: a socket, or a model of one.
pub trait Transport: Debug + Send + Sync + Sized + 'static {
    /// Sends as much as the other end takes now; `Ok(0)` if that is nothing.
    ///
    /// # Errors
    /// The peer is gone.
    fn send<'a>(&self, slices: impl Iterator<Item = &'a [u8]>) -> io::Result<usize>;

    /// Notes frames that were queued, in the order of the wire. Called under the queue's lock.
    fn on_queued(&self, client: &Client<Self>, frames: &[u8], now: Duration);

    /// The time in which the machine was suspended since the connection began, as far as it is known.
    fn suspended(&self) -> Duration {
        Duration::ZERO
    }

    /// Ends the connection immediately; its reader wakes.
    fn abort(&self);
}

/// See the [module](self).
#[derive(Debug)]
pub struct Client<L> {
    /// The number of the connection, unique within this run of the server.
    pub id: u64,
    /// The other end.
    pub address: SocketAddr,
    /// When its handshake completed, on the host's clock.
    pub connected_at: Duration,
    /// The room that it is in.
    pub room: Arc<RoomHandle>,
    /// Its dialect and format.
    pub endpoint: WireFormat,
    /// What carries its bytes: read by its own reader only, written as `sender` asks only.
    pub line: L,
    /// All state that its bytes can change. Its own reader holds the lock while it handles what it
    /// has read; a watcher that passes on bytes as the client's holds it for these.
    pub receiver: Mutex<Receiver>,
    /// What waits to be sent, why the connection ends, and its deadlines.
    pub sender: Sender,
    /// The key by which a page proves at `/wire` that the client is its own.
    pub resume_key: Option<ResumeKey>,
    /// The token in its request.
    pub token: Option<OfferedToken>,
    /// Whether it comes from the server's own machine.
    pub is_local: bool,
    /// What it may do, once that was judged.
    permission: Mutex<Option<Permission>>,
    /// The number of its player in the lower half, 0 without one; in the upper half the ticks completed
    /// from which on the player's state is of this connection.
    player: AtomicU64,
    /// If it has come back to its player: one more than the last tick of which it was told; 0 once it has
    /// been told what it has missed.
    resume_tick: AtomicU32,
    /// The name with which it entered last.
    name: Mutex<String>,
    /// The player that it wants to watch, 0 for the leader.
    spectated: AtomicU32,
    /// 0 until it gets updates; then one more than the ticks that were completed when it began.
    updates_from: AtomicU32,
    /// Whether it follows in lockstep.
    lockstep: AtomicBool,
    /// Its reader is over.
    reader_ended: AtomicBool,
}

impl<L: Transport> Client<L> {
    /// A newly upgraded client.
    pub fn new((id, address): (u64, SocketAddr), line: L, entry: AcceptedClient, now: Duration) -> Client<L> {
        let AcceptedClient { room, endpoint, resume_key, token, is_local, .. } = entry;
        let hello = endpoint.dialect.row(Direction::ToServer, "hello");
        if hello.is_some_and(|row| row.argument("since").is_some()) {
            room.keep_events();
        }
        Client {
            receiver: Mutex::new(receiver(&room, &endpoint, now)),
            resume_key,
            token,
            is_local,
            lockstep: AtomicBool::new(false),
            permission: Mutex::default(),
            id,
            address,
            connected_at: now,
            sender: Sender::new(endpoint.is_native, now),
            room,
            endpoint,
            line,
            player: AtomicU64::new(0),
            resume_tick: AtomicU32::new(0),
            name: Mutex::default(),
            spectated: AtomicU32::new(0),
            updates_from: AtomicU32::new(0),
            reader_ended: AtomicBool::new(false),
        }
    }

    /// Its address as limits count it.
    pub fn household(&self) -> AddressPrefix {
        AddressPrefix::from_ip(self.address.ip())
    }

    /// Another receiver for the same bytes.
    pub fn clone_receiver(&self) -> Receiver {
        receiver(&self.room, &self.endpoint, self.connected_at)
    }

    /// The time of what its reader reads `now`.
    pub fn at(&self, now: Duration) -> ReadTime {
        let pauses = &self.sender.life.pauses;
        pauses.note_suspended(self.line.suspended());
        ReadTime { now, tick: self.room.tick(), slack: pauses.slack(now) }
    }

    /// What it may do; `None` before that was judged.
    pub fn pass(&self) -> Option<Permission> {
        self.permission.lock().clone()
    }

    /// Sets what it may do.
    pub fn set_pass(&self, pass: Permission) {
        *self.permission.lock() = Some(pass);
    }

    /// Its player in the world, if it has one.
    pub fn player(&self) -> Option<PlayerId> {
        player(self.player.load(Ordering::Acquire) as u32)
    }

    /// Its player as it is after so many ticks; `None` while that may still be what an earlier connection
    /// has left of it.
    pub fn player_as_of(&self, tick: u32) -> Option<PlayerId> {
        let one = self.player.load(Ordering::Acquire);
        player(one as u32).filter(|_| (one >> 32) as u32 <= tick)
    }

    /// The name of its player; empty without one.
    pub fn name(&self) -> String {
        if self.player().is_some() { self.name.lock().clone() } else { String::new() }
    }

    /// Sets its player and the player's name. A client that comes back may say `since` which tick it has
    /// missed what happened.
    pub fn set_player(&self, entered: JoinOutcome, name: &str, since: Option<u32>) {
        let JoinOutcome { player, is_resumed, from_tick, taken_at_tick: taken_at } = entered;
        name.clone_into(&mut self.name.lock());
        let missed = since.filter(|_| is_resumed).map_or(0, |since| since.max(taken_at).saturating_add(1));
        self.resume_tick.store(missed, Ordering::Release);
        self.player.store(u64::from(from_tick) << 32 | u64::from(player.0), Ordering::Release);
    }

    /// The last tick of which it was told, if it has come back and has not been told what it has missed.
    /// That is returned once.
    pub fn take_resume_tick(&self) -> Option<u32> {
        self.resume_tick.swap(0, Ordering::AcqRel).checked_sub(1)
    }

    /// The player that it wants to watch while it has none of its own.
    pub fn watched(&self) -> Option<PlayerId> {
        player(self.spectated.load(Ordering::Acquire))
    }

    /// Sets the player that it wants to watch.
    pub fn set_spectated(&self, player: Option<PlayerId>) {
        self.spectated.store(player.map_or(0, |player| player.0.into()), Ordering::Release);
    }

    /// Whether it follows in lockstep.
    pub fn is_in_lockstep(&self) -> bool {
        self.lockstep.load(Ordering::Acquire)
    }

    /// Begins the updates, in lockstep or as a stream: the client's earlier answers are queued. The events
    /// before are not told: a client that comes back may have been told them already.
    pub fn start_updates(&self, lockstep: bool) {
        if lockstep {
            self.room.lockstep.add_follower(self.id, self.household());
            self.lockstep.store(true, Ordering::Release);
        }
        self.updates_from.store(self.room.tick().saturating_add(1), Ordering::Release);
    }

    /// The ticks that were completed when its updates began; `None` if it gets none.
    pub fn updates_from_tick(&self) -> Option<u32> {
        self.updates_from.load(Ordering::Acquire).checked_sub(1)
    }

    /// Queues whole frames that must arrive; closes the client if there is no room.
    pub fn send(&self, frames: Frames<'_>, now: Duration) {
        match self.sender.enqueue(frames, |frames| self.line.on_queued(self, frames, now)) {
            EnqueueResult::Send(batch) => self.transmit(batch, now),
            EnqueueResult::Full => self.close(DisconnectReason::Breach(CloseReason::SlowClient), now),
            EnqueueResult::Queued | EnqueueResult::Closed => {}
        }
    }

    /// Sends what waits, as far as the kernel takes it.
    pub fn flush(&self, now: Duration) {
        if let Some(batch) = self.sender.waiting() {
            self.transmit(batch, now);
        }
    }

    /// The loop of the one sender.
    fn transmit(&self, batch: Batch<'_>, now: Duration) {
        let taken = self.line.send(batch.slices());
        let mut next = self.sender.on_sent(batch, taken, now);
        while let Some(batch) = next {
            let taken = self.line.send(batch.slices());
            next = self.sender.on_sent(batch, taken, now);
        }
    }

    /// Closes the client for this reason. Only the first reason counts.
    pub fn close(&self, ending: DisconnectReason, now: Duration) {
        let frames = ending.frames(&self.endpoint);
        if self.sender.close(ending, &frames, |frames| self.line.on_queued(self, frames, now), now) {
            self.flush(now);
        }
    }

    /// Closes a client that has lost its seat to another connection: it is not told what that one does.
    pub fn close_taken_over(&self, now: Duration) {
        if self.room.has_lost_seat(self.id) {
            self.close(DisconnectReason::Breach(CloseReason::TakenOver), now);
        }
    }

    /// Does what is due: pings an idle client, closes a lost or slow one, and cuts a connection
    /// that does not end.
    pub fn check_deadlines(&self, now: Duration) {
        self.sender.life.pauses.note_suspended(self.line.suspended());
        self.sender.life.pauses.note(now);
        match self.sender.poll(now) {
            DueAction::Nothing(_) => {}
            DueAction::Ping => self.send(Frames::Borrowed(frame::EMPTY_PING), now),
            DueAction::Close(breach) => self.close(DisconnectReason::Breach(breach), now),
            DueAction::Abort => self.line.abort(),
        }
    }

    /// Takes the client's body out of the world: nobody moves it any more.
    pub fn leave_world(&self, now: Duration) {
        if self.is_in_lockstep() {
            self.room.lockstep.remove_follower(self.id);
        }
        // Only one thread takes the player, so that it leaves only once.
        if let Some(player) = player(self.player.swap(0, Ordering::AcqRel) as u32) {
            if self.sender.ending().is_some_and(|ending| !ending.allows_resume()) {
                self.room.forget_key(player, self.id);
            }
            self.room.disconnect(player, self.id, now);
        }
    }

    /// Records that its reader has ended: its worker then forgets it.
    pub fn mark_reader_ended(&self) {
        self.reader_ended.store(true, Ordering::Release);
    }

    /// Whether its reader has ended.
    pub fn has_reader_ended(&self) -> bool {
        self.reader_ended.load(Ordering::Acquire)
    }
}

/// The receiver of a client of this room and endpoint.
fn receiver(room: &RoomHandle, endpoint: &WireFormat, now: Duration) -> Receiver {
    let facts = RoomInfo {
        about: room.about,
        epoch: room.options.epoch.clone(),
        identity: room.identity.clone(),
        update_hz: room.options.rates.update_hz as u8,
    };
    Receiver::new(endpoint.clone(), facts, now)
}

fn player(number: u32) -> Option<PlayerId> {
    u16::try_from(number).ok().filter(|number| *number != 0).map(PlayerId)
}
