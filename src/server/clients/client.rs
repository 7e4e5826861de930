//! A client: a connection in a room, over an abstract [`Transport`]. All threads send to it and
//! close it through its [`Sender`]. Every field is immutable, atomic, or has its own lock.

use core::net::SocketAddr;
use std::fmt::Debug;
use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use tickwire_sim::PlayerId;

use super::client_lane::{LaneGrant, LaneSlot};
use super::client_player::{ClientPlayer, player_id};
use super::parking::Parking;
use crate::connection::deadlines::DueAction;
use crate::connection::resume_key::ResumeKey;
use crate::connection::sender::{Batch, EnqueueResult, Frames, SendState};
use crate::connection::{DisconnectReason, ReadTime, RoomInfo, Sender, ServerConnection, WireFormat};
use crate::game::{CloseReason, Messages};
use crate::packet::Direction;
use crate::server::admission::tokens::{OfferedToken, Permission};
use crate::server::admission::upgrade_check::AcceptedClient;
use crate::server::room::{JoinOutcome, RoomHandle};
use crate::util::address_prefix::AddressPrefix;
use crate::util::sync::Mutex;
use crate::ws::frame;

/// Error text when a client requests a lane that it cannot have.
pub const NO_LANE_TEXT: &str =
    "this server has no lane for datagrams of this kind, or none for JSON: play on the WebSocket alone";

/// Value of [`Client::updates_from`] after the client has left the world.
const LEFT_WORLD: u32 = u32::MAX;

/// Carries a client's bytes: a socket, or a model of one.
pub trait Transport: Debug + Send + Sync + Sized + 'static {
    /// Sends as much as the other end accepts now. Returns the number of bytes; 0 if it accepts
    /// nothing.
    ///
    /// # Errors
    /// The connection is lost.
    fn send<'a>(&self, slices: impl Iterator<Item = &'a [u8]>) -> io::Result<usize>;

    /// Called with each batch of queued frames, in the order of the wire, while the queue is
    /// locked.
    fn on_queued(&self, client: &Client<Self>, frames: &[u8], now: Duration);

    /// Total time that the machine was suspended since the server started, as far as it is known.
    fn suspended(&self) -> Duration {
        Duration::ZERO
    }

    /// Loads the fields that a send uses into the CPU cache.
    fn prefetch(&self) {}

    /// Closes the connection immediately, which wakes its reader.
    fn abort(&self);

    /// Makes the grant of a lane for the client with this number: of a data channel if the client
    /// has made an offer.
    ///
    /// # Errors
    /// The reason, as a text for the client.
    fn grant_lane(&self, _client: u64, _offer: Option<&str>) -> Result<LaneGrant, &'static str> {
        Err(NO_LANE_TEXT)
    }

    /// Sends a datagram of a client's lane to this address, if there are addresses. It may be lost.
    /// `messages` are the messages before they were sealed.
    fn send_datagram(
        &self,
        _client: &Client<Self>,
        _to: Option<SocketAddr>,
        _datagram: &[u8],
        _messages: &[u8],
        _now: Duration,
    ) {
    }
}

/// One client of a room, shared by its reader and the update workers.
#[derive(Debug)]
pub struct Client<L> {
    /// Number of the connection, unique within this run of the server.
    pub id: u64,
    /// Address of the other end.
    pub address: SocketAddr,
    /// Time when the handshake completed, on the server's clock.
    pub connected_at: Duration,
    /// Suspended time of the machine up to the handshake.
    suspended_before: Duration,
    /// The client's room.
    pub room: Arc<RoomHandle>,
    /// Dialect and format of the connection.
    pub format: WireFormat,
    /// The transport. Only the client's reader reads from it; writes go through `sender`.
    pub transport: L,
    /// All state that received bytes can change. The reader locks it while it processes bytes, and
    /// an inspector while it injects bytes. It is boxed, apart from what the update worker reads.
    pub connection: Mutex<Box<ServerConnection>>,
    /// The send queue, the disconnect reason and the deadlines.
    pub sender: Sender,
    /// The client's lane, if it was granted one.
    pub lane: LaneSlot,
    /// Key with which a page proves at `/wire` that this client belongs to it.
    pub resume_key: Option<ResumeKey>,
    /// The token in the upgrade request.
    pub token: Option<OfferedToken>,
    /// Whether the client connects from the server's machine.
    pub is_local: bool,
    /// The client's permission. `None` until the authentication.
    permission: Mutex<Option<Permission>>,
    /// The client's player.
    pub joined: ClientPlayer,
    /// The player that the client spectates; 0 for the leader.
    spectated: AtomicU32,
    /// 0 until updates start, then the number of ticks completed at that time plus 1, and
    /// [`LEFT_WORLD`] once the client has left the world.
    updates_from: AtomicU32,
    /// Decides about visits by the client's update group.
    pub parking: Parking,
    /// Whether the client is in lockstep.
    lockstep: AtomicBool,
    /// Whether the client's reader has ended.
    reader_ended: AtomicBool,
}

impl<L: Transport> Client<L> {
    /// Creates a client after its upgrade.
    pub fn new(
        (id, address): (u64, SocketAddr),
        transport: L,
        entry: AcceptedClient,
        now: Duration,
    ) -> Client<L> {
        let AcceptedClient { room, format, resume_key, token, is_local, .. } = entry;
        let hello = format.dialect.row(Direction::ToServer, "hello");
        if hello.is_some_and(|row| row.argument("resume_tick").is_some()) {
            room.keep_events();
        }
        Client {
            connection: Mutex::new(Box::new(connection(&room, &format, now))),
            lane: LaneSlot::default(),
            resume_key,
            token,
            is_local,
            lockstep: AtomicBool::new(false),
            permission: Mutex::default(),
            id,
            address,
            connected_at: now,
            suspended_before: transport.suspended(),
            sender: Sender::new(format.is_native, now),
            room,
            format,
            transport,
            joined: ClientPlayer::default(),
            spectated: AtomicU32::new(0),
            updates_from: AtomicU32::new(0),
            parking: Parking::default(),
            reader_ended: AtomicBool::new(false),
        }
    }

    /// Loads the fields that an update uses into the CPU cache, without what they point to.
    pub fn prefetch(&self) {
        let from = self.updates_from.load(Ordering::Relaxed);
        black_box((self.id, self.player(), from, self.lane.is_granted(), self.has_reader_ended()));
        black_box((Arc::as_ptr(&self.format.dialect), Arc::as_ptr(&self.room)));
        self.sender.prefetch();
    }

    /// Returns the client's address prefix.
    pub fn prefix(&self) -> AddressPrefix {
        AddressPrefix::from_ip(self.address.ip())
    }

    /// Creates a new connection with the client's room and wire format, which can receive the same
    /// bytes.
    pub fn clone_connection(&self) -> ServerConnection {
        connection(&self.room, &self.format, self.connected_at)
    }

    /// Returns the time stamp of bytes that the reader receives `now`.
    pub fn read_time(&self, now: Duration) -> ReadTime {
        let slack = self.parking.pauses().map_or(Duration::ZERO, |pauses| {
            pauses.note_suspended(self.transport.suspended());
            pauses.slack(now)
        });
        ReadTime { now, tick: self.room.tick(), slack: self.own_slack(slack, now) }
    }

    /// Returns the part of the worker's slack that is not from before the handshake.
    fn own_slack(&self, slack: Duration, now: Duration) -> Duration {
        if slack.is_zero() {
            return slack;
        }
        let suspended = self.transport.suspended().saturating_sub(self.suspended_before);
        slack.min(now.saturating_sub(self.connected_at) + suspended)
    }

    /// Parks the client, which is then no viewer of its room. Returns false if it needs visits.
    pub fn park(&self) -> bool {
        let from = self.updates_from.load(Ordering::Acquire);
        let is_quiet = || self.is_quiet() && self.updates_from.load(Ordering::Acquire) == from;
        let is_parked = self.parking.park(is_quiet);
        if is_parked {
            self.set_viewing(false);
        }
        is_parked
    }

    /// Records that the update group visits the client again.
    pub fn end_parking(&self) {
        self.parking.clear();
        self.set_viewing(true);
    }

    /// Returns whether the client has no player, and its connection is open with nothing queued.
    pub fn is_quiet(&self) -> bool {
        self.player().is_none() && !self.has_reader_ended() && self.sender.is_idle()
    }

    /// Counts the client among the viewers of its room if its updates have started, or no longer.
    fn set_viewing(&self, is_viewing: bool) {
        if self.parking.set_viewing(is_viewing) {
            self.room.count_viewer(is_viewing);
        }
        // Also if the client leaves the world meanwhile.
        if is_viewing && self.updates_from_tick().is_none() {
            self.set_viewing(false);
        }
    }

    /// Returns the client's permission. `None` before the authentication.
    pub fn pass(&self) -> Option<Permission> {
        self.permission.lock().clone()
    }

    /// Returns the client's account: the name of its token, if any.
    pub fn account(&self) -> Option<Arc<str>> {
        match self.pass()? {
            Permission::Holder(holder) => Some(holder.name),
            Permission::Anyone | Permission::Spectator => None,
        }
    }

    /// Stores the client's permission.
    pub fn set_pass(&self, pass: Permission) {
        *self.permission.lock() = Some(pass);
    }

    /// Returns the client's player, if it has one.
    pub fn player(&self) -> Option<PlayerId> {
        self.joined.get()
    }

    /// Stores the client's player, as [`ClientPlayer::set`] does.
    pub fn set_player(&self, entered: JoinOutcome, name: &str, resume_tick: Option<u32>) {
        self.joined.set(entered, name, resume_tick);
        self.parking.unpark(self.id);
    }

    /// Returns the player that the client spectates while it has no player itself. `None` is the
    /// leader.
    pub fn spectated(&self) -> Option<PlayerId> {
        player_id(self.spectated.load(Ordering::Acquire))
    }

    /// Stores the player that the client spectates.
    pub fn set_spectated(&self, player: Option<PlayerId>) {
        self.spectated.store(player.map_or(0, |player| player.0.into()), Ordering::Release);
        self.parking.unpark(self.id);
    }

    /// Returns whether the client is in lockstep.
    pub fn is_in_lockstep(&self) -> bool {
        self.lockstep.load(Ordering::Acquire)
    }

    /// Starts the updates, in lockstep or with the client's view of the world. Replies to earlier
    /// packets must already be queued. Events of earlier ticks are not sent, because a resumed
    /// client may already have them.
    pub fn start_updates(&self, lockstep: bool) {
        if lockstep {
            self.room.lockstep.add_follower(self.id, self.prefix());
            self.lockstep.store(true, Ordering::Release);
        }
        let from = self.room.tick().saturating_add(1);
        if self.updates_from.compare_exchange(0, from, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            self.set_viewing(true);
        }
        self.parking.unpark(self.id);
    }

    /// Returns the number of ticks completed when the client's updates started. `None` before, and
    /// after the client has left the world.
    pub fn updates_from_tick(&self) -> Option<u32> {
        let from = self.updates_from.load(Ordering::Acquire);
        from.checked_sub(1).filter(|_| from != LEFT_WORLD)
    }

    /// Queues whole frames that must arrive. Closes the connection if the queue is full. Returns
    /// the number of system calls.
    pub fn send(&self, frames: Frames<'_>, now: Duration) -> u64 {
        self.send_observed(frames, |frames| self.transport.on_queued(self, frames, now), now)
    }

    /// Queues frames that contain a secret, as [`Client::send`] does. Observers get `redacted`
    /// instead, of the same length.
    pub fn send_secret(&self, frames: &[u8], redacted: &[u8], now: Duration) {
        debug_assert_eq!(frames.len(), redacted.len());
        self.send_observed(Frames::Borrowed(frames), |_| self.transport.on_queued(self, redacted, now), now);
    }

    fn send_observed(&self, frames: Frames<'_>, on_queued: impl FnOnce(&[u8]), now: Duration) -> u64 {
        match self.sender.enqueue(frames, on_queued) {
            EnqueueResult::Send(batch) => return self.transmit(batch, now),
            EnqueueResult::Full => self.close(DisconnectReason::Closed(CloseReason::SlowClient), now),
            EnqueueResult::Queued | EnqueueResult::Closed => {}
        }
        0
    }

    /// Sends queued bytes, as far as the transport accepts them. Returns the state of the queue
    /// afterwards.
    pub fn flush(&self, now: Duration) -> SendState {
        match self.sender.take_queued() {
            Ok(batch) => {
                self.transmit(batch, now);
                self.sender.state()
            }
            Err(state) => state,
        }
    }

    /// Sends batches until the queue is empty or the transport accepts no more. [`Sender`] lets
    /// only one thread at a time do so. Returns the number of system calls.
    fn transmit(&self, batch: Batch<'_>, now: Duration) -> u64 {
        let (mut calls, mut is_complete) = (0, true);
        let mut send = |batch: Batch<'_>| {
            let taken = self.transport.send(batch.slices());
            let offered: usize = batch.slices().map(<[u8]>::len).sum();
            is_complete = taken.as_ref().is_ok_and(|taken| *taken == offered);
            calls += 1;
            self.sender.on_sent(batch, taken, now)
        };
        let mut next = send(batch);
        while let Some(batch) = next {
            next = send(batch);
        }
        // The group flushes what the transport has not accepted.
        if !is_complete {
            self.parking.unpark(self.id);
        }
        calls
    }

    /// Closes the client's connection for this reason. Only the first reason counts.
    pub fn close(&self, reason: DisconnectReason, now: Duration) {
        let frames = reason.frames(&self.format);
        if self.sender.close(reason, &frames, |frames| self.transport.on_queued(self, frames, now), now) {
            self.flush(now);
            self.parking.unpark(self.id);
        }
    }

    /// Closes the client's connection after a delay, see [`Deadlines::close_after_delay`].
    ///
    /// [`Deadlines::close_after_delay`]: crate::connection::Deadlines::close_after_delay
    pub fn close_after_delay(&self, close_reason: CloseReason, now: Duration) {
        self.sender.deadlines.close_after_delay(close_reason, now);
        self.parking.unpark(self.id);
    }

    /// Closes the client's connection if another connection has taken its seat. Otherwise it would
    /// receive updates about the other connection's player.
    pub fn close_taken_over(&self, now: Duration) {
        if self.room.has_lost_seat(self.id) {
            self.close(DisconnectReason::Closed(CloseReason::TakenOver), now);
        }
    }

    /// Polls the deadlines: pings an idle client, closes the connection of a lost or slow client,
    /// and aborts a connection that does not end. Returns the next deadline; `now` after an action.
    pub fn check_deadlines(&self, now: Duration) -> Duration {
        let slack = self.parking.pauses().map_or(Duration::ZERO, |pauses| pauses.recorded_slack(now));
        match self.sender.poll(now, self.own_slack(slack, now)) {
            DueAction::Nothing(until) => return until,
            DueAction::Ping => {
                self.send(Frames::Borrowed(frame::EMPTY_PING), now);
                return self.check_deadlines(now);
            }
            DueAction::Close(close_reason) => self.close(DisconnectReason::Closed(close_reason), now),
            DueAction::Abort => self.transport.abort(),
        }
        now
    }

    /// Replaces the client's lane, and returns its grant: of a data channel if the client has made
    /// an offer.
    ///
    /// # Errors
    /// The reason, as a text for the client.
    pub fn grant_lane(&self, offer: Option<&str>) -> Result<LaneGrant, &'static str> {
        let grant = self.transport.grant_lane(self.id, offer)?;
        self.lane.set(&grant);
        Ok(grant)
    }

    /// Sends the part of an update that goes by datagram, and acknowledgements.
    pub fn send_datagrams(&self, messages: &Messages, tick: u32, now: Duration) {
        if self.lane.is_granted() {
            let sequence = self.connection.lock().sequence();
            let state = messages.lane().map(|_| (messages, tick));
            self.lane.seal(state, sequence, now, |to, datagram, messages| {
                self.transport.send_datagram(self, to, datagram, messages, now);
            });
        }
    }

    /// Removes the client from the world: ends lockstep, and suspends or releases its seat.
    pub fn leave_world(&self, now: Duration) {
        if self.is_in_lockstep() {
            self.room.lockstep.remove_follower(self.id);
        }
        self.updates_from.store(LEFT_WORLD, Ordering::Release);
        self.set_viewing(false);
        // Only one thread takes the player, so that it leaves only once.
        if let Some(player) = self.joined.take() {
            if self.sender.disconnect_reason().is_some_and(|reason| !reason.allows_resume()) {
                self.room.forget_key(player, self.id);
            }
            self.room.disconnect(player, self.id, now);
        }
    }

    /// Records that the reader has ended. The update worker then drops the client.
    pub fn mark_reader_ended(&self) {
        self.reader_ended.store(true, Ordering::Release);
        self.parking.unpark(self.id);
    }

    /// Returns whether the reader has ended.
    pub fn has_reader_ended(&self) -> bool {
        self.reader_ended.load(Ordering::Acquire)
    }
}

/// Creates the connection of a client in this room.
fn connection(room: &RoomHandle, format: &WireFormat, now: Duration) -> ServerConnection {
    let facts = RoomInfo {
        game: room.game,
        epoch: room.options.epoch.clone(),
        identity: room.identity.clone(),
        update_hz: room.options.rates.update_hz as u8,
    };
    ServerConnection::new(format.clone(), facts, now)
}
