//! Updates of a room's clients.
//!
//! ```text
//! the ticks since the last pass ─► each client: view → messages → frames → one push → one send
//! ```
//!
//! [`UpdateGroup`] hides the types of the game, so update workers do not depend on a game. Its
//! members are clients of one game with their known sets. While a client's previous update is
//! unsent, no second state is queued: the queued bytes are sent first, events are retained, and a
//! later update carries the state.

use std::fmt::Debug;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use super::backlog::Backlog;
use super::client::{Client, Transport};
use super::lockstep_feed::LockstepFeed;
use super::parking::{GroupSignals, ParkedClients};
use super::pending_acks::PendingAcks;
use crate::connection::DisconnectReason;
use crate::connection::sender::Frames;
use crate::game::{CloseReason, Game, Messages, Misfit, Published, StateOutcome, View as _};
use crate::limits;
use crate::server::admission::address_rate_limits::AddressRateLimits;
use crate::server::room::CommandAcks;

/// The clients of one room at one update worker.
pub trait UpdateGroup<L: Transport>: Debug + Send {
    /// Begins an update pass: closes the connections of the members if their events were lost, then
    /// adds new clients. Returns whether [`update_all`](Self::update_all) is due: after each tick,
    /// and otherwise every [`limits::WORKER_IDLE_WAKEUP`] for the deadlines.
    fn begin_pass(
        &mut self,
        backlog: Option<&Backlog>,
        newcomers: &mut dyn Iterator<Item = Arc<Client<L>>>,
        now: Duration,
    ) -> bool;

    /// Adds a client outside of an update pass.
    fn add_client(&mut self, client: Arc<Client<L>>);

    /// Updates each member that is not [parked](super::parking): sends queued bytes, then the
    /// update for these ticks if the client receives updates, then polls its deadlines. Drops
    /// members without a reader.
    fn update_all(
        &mut self,
        backlog: Option<&Backlog>,
        buffers: &mut EncodeBuffers,
        runner: &mut dyn UpdateRunner<L>,
    );

    /// Number of members.
    fn len(&self) -> usize;

    /// Returns whether there is no member.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Runs the updates of a group's members, one after the other.
pub trait UpdateRunner<L> {
    /// Returns the time on the server's clock.
    fn now(&self) -> Duration;

    /// Runs a client's update with the rate limits of the server. Returns whether the update
    /// completed. After a panic it returns false, and the caller replaces the buffers.
    fn run(&mut self, client: &Client<L>, update: &mut UpdateFn<'_>) -> bool;
}

/// The update of one client.
pub type UpdateFn<'a> = dyn FnMut(&AddressRateLimits) -> Option<UpdateResult> + 'a;

/// The clients of one game at one update worker.
#[derive(Debug)]
pub struct TypedUpdateGroup<G: Game, L> {
    /// The members that each pass visits, each with its known set. Boxed, because a list of large
    /// members that grows and shrinks would take twice their memory.
    members: Vec<Box<ClientUpdates<G, L>>>,
    parked: ParkedClients<Box<ClientUpdates<G, L>>>,
    signals: Arc<GroupSignals>,
    scratch: G::Scratch,
    last_pass: Duration,
}

/// A client and its updates.
#[derive(Debug)]
pub struct ClientUpdates<G: Game, L> {
    /// The client.
    pub client: Arc<Client<L>>,
    feed: ClientFeed<G>,
}

/// The known set of a client, and the acks for its next update.
#[derive(Debug)]
struct ClientFeed<G: Game> {
    view: G::View,
    /// Used instead of the view if the client is in lockstep.
    lockstep_feed: LockstepFeed,
    pending_acks: PendingAcks,
    /// Whether the client's updates have started.
    has_begun: bool,
    /// Whether the view was quiet after the last update.
    is_quiet: bool,
    /// The time of the last update with everything in the stream that can wait.
    stream_sent: Duration,
}

/// After a resume, sends the missed events that the game retains. Sends only events from before
/// this pass, which covers `missed` ticks and then `tick`.
fn replay_missed_events<G: Game, L: Transport>(
    client: &Client<L>,
    view: &mut G::View,
    (missed, tick): (usize, u32),
    messages: &mut Messages,
) {
    // Waits until the state reflects this connection.
    let Some(since) = client.joined.as_of(tick).and_then(|_| client.joined.take_resume_tick()) else {
        return;
    };
    let until = tick.saturating_sub(missed as u32 + 1);
    for events in client.room.recent(since, until) {
        if let Some(events) = events.downcast_ref::<G::Events>() {
            view.replay_missed(events, &client.format.dialect, messages);
        }
    }
}

/// Buffers that an update worker reuses for each client.
#[derive(Debug, Default)]
pub struct EncodeBuffers {
    acks: Messages,
    messages: Messages,
    frames: Vec<u8>,
}

/// The outcome of one client's update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateResult {
    /// The outcome of sending the state.
    pub outcome: StateOutcome,
    /// Number of sends. `None` if the update was empty.
    pub send_calls: Option<u64>,
    /// Packets of the game that do not fit their tables.
    pub misfits: Vec<Misfit>,
    /// Whether a part of the update waits for a later one: see [`limits::LANE_STREAM_INTERVAL`].
    pub is_partial: bool,
}

/// A backlog with the types of its game.
struct TypedBacklog<'a, G: Game> {
    missed: Vec<Arc<G::Events>>,
    newest: &'a Published<G>,
    acks: &'a [Arc<CommandAcks>],
    /// As [`Backlog::unacked_ticks`].
    unacked_ticks: u32,
}

impl<'a, G: Game> TypedBacklog<'a, G> {
    /// Restores the types. Returns `None` if the ticks are of another game, which is a programming
    /// error.
    fn of(backlog: &'a Backlog) -> Option<TypedBacklog<'a, G>> {
        let missed = backlog.missed_events.iter().map(|events| Arc::clone(events).downcast().ok());
        Some(TypedBacklog {
            missed: missed.collect::<Option<_>>()?,
            newest: backlog.newest.of::<G>()?,
            acks: &backlog.acks,
            unacked_ticks: backlog.unacked_ticks,
        })
    }

    /// Returns the events of the ticks after the first `from` ticks, without the newest tick.
    /// Returns `None` if the newest tick itself is among the first `from`.
    fn since(&self, from: u32) -> Option<&[Arc<G::Events>]> {
        let new = self.newest.tick.checked_sub(from).filter(|new| *new > 0)? as usize;
        Some(&self.missed[self.missed.len().saturating_sub(new - 1)..])
    }
}

impl<G: Game, L> Default for TypedUpdateGroup<G, L> {
    fn default() -> TypedUpdateGroup<G, L> {
        TypedUpdateGroup {
            members: Vec::new(),
            parked: ParkedClients::default(),
            signals: Arc::default(),
            scratch: G::Scratch::default(),
            last_pass: Duration::ZERO,
        }
    }
}

impl<G: Game, L: Transport> UpdateGroup<L> for TypedUpdateGroup<G, L> {
    fn begin_pass(
        &mut self,
        backlog: Option<&Backlog>,
        newcomers: &mut dyn Iterator<Item = Arc<Client<L>>>,
        now: Duration,
    ) -> bool {
        if backlog.is_some_and(|backlog| backlog.has_overflowed) {
            let overloaded = || DisconnectReason::Closed(CloseReason::Overloaded);
            self.members.iter().for_each(|member| member.client.close(overloaded(), now));
        }
        newcomers.for_each(|client| self.add_client(client));
        let is_due = backlog.is_some() || now.saturating_sub(self.last_pass) >= limits::WORKER_IDLE_WAKEUP;
        if is_due {
            self.last_pass = now;
            let client = self.members.first().or_else(|| self.parked.first()).map(|member| &member.client);
            let suspended = client.map_or(Duration::ZERO, |client| client.transport.suspended());
            self.signals.pauses.note_suspended(suspended);
            self.signals.pauses.note(now);
        }
        is_due
    }

    fn add_client(&mut self, client: Arc<Client<L>>) {
        client.parking.set_group(&self.signals);
        self.members.push(Box::new(ClientUpdates::new(client)));
    }

    fn update_all(
        &mut self,
        backlog: Option<&Backlog>,
        buffers: &mut EncodeBuffers,
        runner: &mut dyn UpdateRunner<L>,
    ) {
        let TypedUpdateGroup { members, scratch, parked, .. } = self;
        let unvisited = members.len();
        parked.take_due(&self.signals.take_unparked(), runner.now(), members);
        members[unvisited..].iter().for_each(|member| member.client.end_parking());
        let ticks = backlog.and_then(TypedBacklog::of);
        let (mut has_ended, mut quiet) = (false, Vec::new());
        for index in 0..members.len() {
            if index % limits::PREFETCHED_CLIENTS == 0 && cfg!(not(target_family = "wasm")) {
                prefetch(&members[index..members.len().min(index + limits::PREFETCHED_CLIENTS)]);
            }
            let ClientUpdates { client, feed } = &mut *members[index];
            if client.has_reader_ended() {
                has_ended = true;
                continue;
            }
            let now = runner.now();
            let mut quiet_until = None;
            let mut update = |address_limits: &AddressRateLimits| {
                let result = feed.serve(client, ticks.as_ref(), scratch, buffers, (address_limits, now));
                let deadline = client.check_deadlines(now);
                quiet_until = feed.quiet_until(client, ticks.as_ref(), now).map(|until| until.min(deadline));
                result
            };
            if !runner.run(client, &mut update) {
                (*scratch, *buffers) = (G::Scratch::default(), EncodeBuffers::default());
            }
            quiet.extend(quiet_until.filter(|deadline| *deadline > now).map(|deadline| (index, deadline)));
        }
        // In descending order, so that each index remains valid.
        for (index, deadline) in quiet.into_iter().rev() {
            let member = members.swap_remove(index);
            match member.client.park() {
                true => parked.insert(member.client.id, deadline, member),
                false => members.push(member),
            }
        }
        if has_ended {
            members.retain(|member| !member.client.has_reader_ended());
        }
    }

    fn len(&self) -> usize {
        self.members.len() + self.parked.count()
    }
}

/// Loads the memory that the updates of these members use into the CPU cache. With a thousand
/// members, none is in the cache when its turn comes, and an update would wait for each address in
/// turn. Here each loop reads addresses that do not depend on one another, so that the waits
/// overlap; the next loop follows the pointers that were read.
fn prefetch<G: Game, L: Transport>(members: &[Box<ClientUpdates<G, L>>]) {
    members.iter().map(|member| &**member).for_each(|ClientUpdates { client, feed }| {
        black_box((Arc::as_ptr(client), feed.has_begun, feed.stream_sent, feed.pending_acks.is_unused()));
    });
    members.iter().for_each(|member| member.client.prefetch());
    members.iter().for_each(|member| member.client.transport.prefetch());
    members.iter().for_each(|member| member.feed.view.prefetch_fields());
    members.iter().for_each(|member| member.feed.view.prefetch_lists());
}

impl<G: Game, L: Transport> ClientUpdates<G, L> {
    /// Creates a member that has received nothing yet.
    fn new(client: Arc<Client<L>>) -> ClientUpdates<G, L> {
        let dialect = &client.format.dialect;
        let lockstep_feed = LockstepFeed::new(&client.format);
        let (view, pending_acks) = (G::View::new(dialect), PendingAcks::new(dialect));
        let (has_begun, is_quiet, stream_sent) = (false, false, Duration::ZERO);
        let feed = ClientFeed { view, lockstep_feed, pending_acks, has_begun, is_quiet, stream_sent };
        ClientUpdates { client, feed }
    }
}

impl<G: Game> ClientFeed<G> {
    fn serve<L: Transport>(
        &mut self,
        client: &Client<L>,
        ticks: Option<&TypedBacklog<'_, G>>,
        scratch: &mut G::Scratch,
        buffers: &mut EncodeBuffers,
        (address_limits, now): (&AddressRateLimits, Duration),
    ) -> Option<UpdateResult> {
        client.close_taken_over(now);
        let queue = client.flush(now);
        let from = client.updates_from_tick().filter(|_| queue.is_open);
        let since = ticks.zip(from).and_then(|(ticks, from)| Some((ticks, ticks.since(from)?)));
        let since = since.filter(|(ticks, _)| self.is_started(client, ticks.newest.tick));
        let is_behind = !queue.is_empty;
        since.map(|(ticks, missed)| {
            self.update(client, (ticks, missed, is_behind), scratch, buffers, (address_limits, now))
        })
    }

    /// Returns the time until which the client needs no visit, or `None` if it needs one after each
    /// tick.
    fn quiet_until<L: Transport>(
        &mut self,
        client: &Client<L>,
        ticks: Option<&TypedBacklog<'_, G>>,
        now: Duration,
    ) -> Option<Duration> {
        if client.player().is_some() || !client.is_quiet() {
            return None;
        }
        if client.updates_from_tick().is_none() {
            return Some(Duration::MAX);
        }
        let Some(ticks) = ticks else {
            // The room sleeps, perhaps because of this client.
            return self.is_quiet.then(|| now + limits::QUIET_CLIENT_INTERVAL);
        };
        let is_plain = !client.is_in_lockstep() && !client.lane.is_granted() && self.pending_acks.is_unused();
        let until = Some(&self.view).filter(|_| is_plain && self.has_begun)?.quiet_until(ticks.newest);
        self.is_quiet = until.is_some();
        let quiet_ticks = until?.saturating_sub(ticks.newest.tick);
        let quiet_time = Duration::from_secs(1) * quiet_ticks / client.room.identity.tick_hz;
        Some(now + quiet_time.min(limits::QUIET_CLIENT_INTERVAL))
    }

    /// Returns whether the client is updated after this tick. A resumed client waits until the
    /// state reflects its connection; otherwise it would spectate for a moment.
    fn is_started<L: Transport>(&mut self, client: &Client<L>, tick: u32) -> bool {
        self.has_begun |= client.player().is_none() || client.joined.as_of(tick).is_some();
        self.has_begun
    }

    /// Encodes the events of all these ticks and the newest state. If the client's update is due,
    /// the acks of its commands come first.
    fn update<L: Transport>(
        &mut self,
        client: &Client<L>,
        (TypedBacklog { newest, acks: tick_acks, unacked_ticks, .. }, missed, is_behind): (
            &TypedBacklog<'_, G>,
            &[Arc<G::Events>],
            bool,
        ),
        scratch: &mut G::Scratch,
        EncodeBuffers { acks, messages, frames }: &mut EncodeBuffers,
        (address_limits, now): (&AddressRateLimits, Duration),
    ) -> UpdateResult {
        acks.clear();
        messages.clear();
        frames.clear();
        if client.is_in_lockstep() {
            tick_acks.iter().for_each(|tick| self.pending_acks.add(tick, client.id));
            let gap = (missed.len(), newest.tick);
            let acked = newest.tick.saturating_sub(*unacked_ticks);
            return self.update_in_lockstep(
                client,
                (gap, acked, is_behind),
                (acks, messages),
                frames,
                (address_limits, now),
            );
        }
        self.view.set_subject(client.joined.as_of(newest.tick), client.spectated());
        replay_missed_events::<G, L>(client, &mut self.view, (missed.len(), newest.tick), messages);
        let dialect = &client.format.dialect;
        let is_stream_due = now.saturating_sub(self.stream_sent) >= limits::LANE_STREAM_INTERVAL;
        messages.set_lane(client.lane.is_granted(), client.lane.baseline(is_stream_due, now));
        let outcome = self.view.update(missed, newest, is_behind, dialect, scratch, messages);
        tick_acks.iter().for_each(|tick| self.pending_acks.add(tick, client.id));
        let is_partial = messages.lane().is_some_and(|lane| !lane.is_stream_due);
        if outcome != StateOutcome::NotDue {
            if !is_partial || !messages.is_empty() || self.pending_acks.has_rejections() {
                self.pending_acks.write(dialect, acks);
            }
            client.send_datagrams(messages, newest.tick, now);
        }
        if outcome == StateOutcome::Written && !is_partial {
            self.stream_sent = now;
        }
        let misfits = messages.take_misfits();
        if acks.is_empty() && messages.is_empty() {
            return UpdateResult { outcome, send_calls: None, misfits, is_partial };
        }
        for message in acks.iter().chain(messages.iter()) {
            client.format.write_message(frames, message);
        }
        let send_calls = Some(client.send(Frames::Borrowed(frames), now));
        UpdateResult { outcome, send_calls, misfits, is_partial }
    }

    /// Sends the acks of a lockstep client's commands, then the next entries of the room's journal
    /// up to the tick `acked`.
    fn update_in_lockstep<L: Transport>(
        &mut self,
        client: &Client<L>,
        (gap, acked, is_behind): ((usize, u32), u32, bool),
        (acks, messages): (&mut Messages, &mut Messages),
        frames: &mut Vec<u8>,
        (address_limits, now): (&AddressRateLimits, Duration),
    ) -> UpdateResult {
        let ClientFeed { lockstep_feed, view, pending_acks, .. } = self;
        let sends_before = client.sender.sends();
        if is_behind {
            let (outcome, misfits) = (StateOutcome::Deferred, Vec::new());
            return UpdateResult { outcome, send_calls: None, misfits, is_partial: false };
        }
        pending_acks.write(&client.format.dialect, acks);
        view.set_subject(client.joined.as_of(gap.1), client.spectated());
        replay_missed_events::<G, L>(client, view, gap, messages);
        let misfits = messages.take_misfits();
        for message in acks.iter().chain(messages.iter()) {
            client.format.write_message(frames, message);
        }
        lockstep_feed.write(client, (address_limits, acked), frames, now);
        client.send(Frames::Borrowed(frames), now);
        UpdateResult {
            outcome: StateOutcome::Written,
            send_calls: Some(client.sender.sends() - sends_before),
            misfits,
            is_partial: false,
        }
    }
}
