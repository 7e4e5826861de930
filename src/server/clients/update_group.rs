//! The updates of a room's clients.
//!
//! ```text
//!  the ticks since the last turn ─► for each client: view → messages → frames → one push → one send
//! ```
//!
//! An [`UpdateGroup`] is erased: its worker knows no game. Its members are those of one game, and each of
//! them is a client with its known set. While its previous update is unsent, no second state is
//! queued: the queued bytes are sent, events are kept, and a later update carries the state.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use super::backlog::Backlog;
use super::client::{Client, Transport};
use super::lockstep_feed::LockstepFeed;
use super::pending_acks::PendingAcks;
use crate::connection::DisconnectReason;
use crate::connection::sender::Frames;
use crate::game::{CloseReason, Game, Messages, Misfit, Published, StateOutcome, View as _};
use crate::limits;
use crate::server::admission::address_rate_limits::AddressRateLimits;
use crate::server::room::CommandAcks;

/// The clients of one room at one worker.
pub trait UpdateGroup<L: Transport>: Debug + Send {
    /// Begins a visit: closes the members if events that they should have received are lost, then
    /// takes over new clients. Returns whether it is the members' turn: in a room that does not
    /// tick, only now and then, for their deadlines.
    fn begin_pass(
        &mut self,
        backlog: Option<&Backlog>,
        newcomers: &mut dyn Iterator<Item = Arc<Client<L>>>,
        now: Duration,
    ) -> bool;

    /// Takes over a client outside of a visit.
    fn add_client(&mut self, client: Arc<Client<L>>);

    /// Each member's turn: sends what waits, then the update of these ticks, if it follows its room,
    /// then what is due by its deadlines.
    fn update_all(
        &mut self,
        backlog: Option<&Backlog>,
        desk: &mut EncodeBuffers,
        turns: &mut dyn UpdateRunner<L>,
    );

    /// The number of members.
    fn len(&self) -> usize;

    /// Whether there is no member.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Carries out the turns of an audience's members, one after the other.
pub trait UpdateRunner<L> {
    /// The host's clock.
    fn now(&self) -> Duration;

    /// Carries out a client's turn, by the budgets of the host. Returns whether it came to its end; if
    /// not, the buffers are made anew.
    fn run(&mut self, client: &Client<L>, turn: &mut UpdateFn<'_>) -> bool;
}

/// One client's turn.
pub type UpdateFn<'a> = dyn FnMut(&AddressRateLimits) -> Option<UpdateResult> + 'a;

/// The members of a game.
#[derive(Debug)]
pub struct TypedUpdateGroup<G: Game, L> {
    /// Each with its known set.
    pub members: Vec<ClientUpdates<G, L>>,
    scratch: G::Scratch,
    last_pass: Duration,
}

/// A client, its known set, and the answers that wait for its next turn.
#[derive(Debug)]
pub struct ClientUpdates<G: Game, L> {
    /// The client.
    pub client: Arc<Client<L>>,
    view: G::View,
    /// Instead of the view, in lockstep.
    lockstep_feed: LockstepFeed,
    answers: PendingAcks,
    /// Whether it has had an update.
    has_begun: bool,
}

/// Tells a client that has come back to its player what lasts of what it has missed, before the ticks
/// of a turn: those that its worker has `missed`, and `tick`.
fn replay_missed_events<G: Game, L: Transport>(
    client: &Client<L>,
    view: &mut G::View,
    (missed, tick): (usize, u32),
    messages: &mut Messages,
) {
    // It has this player now, not only soon.
    let Some(since) = client.player_as_of(tick).and_then(|_| client.take_resume_tick()) else { return };
    let until = tick.saturating_sub(missed as u32 + 1);
    for events in client.room.recent(since, until) {
        if let Some(events) = events.downcast_ref::<G::Events>() {
            view.replay_missed(events, &client.endpoint.dialect, messages);
        }
    }
}

/// The buffers that a worker lends to each client in turn.
#[derive(Debug, Default)]
pub struct EncodeBuffers {
    answers: Messages,
    messages: Messages,
    frames: Vec<u8>,
}

/// What became of one client's update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateResult {
    /// Of the state in it.
    pub turn: StateOutcome,
    /// The sends that it took; `None` if there was nothing to say.
    pub send_calls: Option<u64>,
    /// Packets of the game that do not fit their tables.
    pub misfits: Vec<Misfit>,
}

/// A backlog with the types of its game.
struct TypedBacklog<'a, G: Game> {
    missed: Vec<Arc<G::Events>>,
    newest: &'a Published<G>,
    answers: &'a [Arc<CommandAcks>],
}

impl<'a, G: Game> TypedBacklog<'a, G> {
    /// `None` if the ticks are of another game, which no host does.
    fn of(backlog: &'a Backlog) -> Option<TypedBacklog<'a, G>> {
        let missed = backlog.missed_events.iter().map(|events| Arc::clone(events).downcast().ok());
        Some(TypedBacklog {
            missed: missed.collect::<Option<_>>()?,
            newest: backlog.newest.of::<G>()?,
            answers: &backlog.answers,
        })
    }

    /// The events of the ticks before the newest and after the first `from`; `None` if the newest is one of
    /// those.
    fn since(&self, from: u32) -> Option<&[Arc<G::Events>]> {
        let new = self.newest.tick.checked_sub(from).filter(|new| *new > 0)? as usize;
        Some(&self.missed[self.missed.len().saturating_sub(new - 1)..])
    }
}

impl<G: Game, L> Default for TypedUpdateGroup<G, L> {
    fn default() -> TypedUpdateGroup<G, L> {
        TypedUpdateGroup { members: Vec::new(), scratch: G::Scratch::default(), last_pass: Duration::ZERO }
    }
}

impl<G: Game, L: Transport> UpdateGroup<L> for TypedUpdateGroup<G, L> {
    fn begin_pass(
        &mut self,
        backlog: Option<&Backlog>,
        newcomers: &mut dyn Iterator<Item = Arc<Client<L>>>,
        now: Duration,
    ) -> bool {
        self.members.retain(|member| !member.client.has_reader_ended());
        if backlog.is_some_and(|backlog| backlog.has_overflowed) {
            let overloaded = || DisconnectReason::Breach(CloseReason::Overloaded);
            self.members.iter().for_each(|member| member.client.close(overloaded(), now));
        }
        self.members.extend(newcomers.map(ClientUpdates::new));
        let is_due = backlog.is_some() || now.saturating_sub(self.last_pass) >= limits::WORKER_IDLE_WAKEUP;
        self.last_pass = if is_due { now } else { self.last_pass };
        is_due
    }

    fn add_client(&mut self, client: Arc<Client<L>>) {
        self.members.push(ClientUpdates::new(client));
    }

    fn update_all(
        &mut self,
        backlog: Option<&Backlog>,
        desk: &mut EncodeBuffers,
        turns: &mut dyn UpdateRunner<L>,
    ) {
        let TypedUpdateGroup { members, scratch, .. } = self;
        let ticks = backlog.and_then(TypedBacklog::of);
        for member in members {
            let (client, now) = (Arc::clone(&member.client), turns.now());
            let mut turn =
                |budgets: &AddressRateLimits| member.serve(ticks.as_ref(), scratch, desk, (budgets, now));
            if !turns.run(&client, &mut turn) {
                (*scratch, *desk) = (G::Scratch::default(), EncodeBuffers::default());
            }
        }
    }

    fn len(&self) -> usize {
        self.members.len()
    }
}

impl<G: Game, L: Transport> ClientUpdates<G, L> {
    /// A client that knows nothing yet.
    fn new(client: Arc<Client<L>>) -> ClientUpdates<G, L> {
        let dialect = &client.endpoint.dialect;
        let relay = LockstepFeed::new(&client.endpoint);
        let (view, answers) = (G::View::new(dialect), PendingAcks::new(dialect));
        ClientUpdates { view, lockstep_feed: relay, answers, has_begun: false, client }
    }

    fn serve(
        &mut self,
        ticks: Option<&TypedBacklog<'_, G>>,
        scratch: &mut G::Scratch,
        desk: &mut EncodeBuffers,
        (budgets, now): (&AddressRateLimits, Duration),
    ) -> Option<UpdateResult> {
        self.client.flush(now);
        self.client.close_taken_over(now);
        let from = self.client.updates_from_tick().filter(|_| self.client.sender.is_open());
        let since = ticks.zip(from).and_then(|(ticks, from)| Some((ticks, ticks.since(from)?)));
        let since = since.filter(|(ticks, _)| self.is_started(ticks.newest.tick));
        let served = since.map(|(ticks, missed)| self.update((ticks, missed), scratch, desk, (budgets, now)));
        self.client.check_deadlines(now);
        served
    }

    /// Whether it has updates by the state after this tick: a client that has come back to its player
    /// begins with what is its own of it, rather than watch for a moment.
    fn is_started(&mut self, tick: u32) -> bool {
        let client = &self.client;
        self.has_begun |= client.player().is_none() || client.player_as_of(tick).is_some();
        self.has_begun
    }

    /// The events of all these ticks, and the newest state. If it is the client's turn, what became
    /// of its commands comes first.
    fn update(
        &mut self,
        (TypedBacklog { newest, answers: brought, .. }, missed): (&TypedBacklog<'_, G>, &[Arc<G::Events>]),
        scratch: &mut G::Scratch,
        EncodeBuffers { answers, messages, frames }: &mut EncodeBuffers,
        (budgets, now): (&AddressRateLimits, Duration),
    ) -> UpdateResult {
        let client = &self.client;
        answers.clear();
        messages.clear();
        frames.clear();
        if client.is_in_lockstep() {
            brought.iter().for_each(|tick| self.answers.take(tick, client.id));
            let about = (missed.len(), newest.tick);
            return self.relay(about, (answers, messages), frames, (budgets, now));
        }
        self.view.set_subject(client.player_as_of(newest.tick), client.watched());
        replay_missed_events::<G, L>(client, &mut self.view, (missed.len(), newest.tick), messages);
        let is_behind = !client.sender.can_take_state();
        let dialect = &client.endpoint.dialect;
        let turn = self.view.update(missed, newest, is_behind, dialect, scratch, messages);
        brought.iter().for_each(|tick| self.answers.take(tick, client.id));
        if turn != StateOutcome::NotDue {
            self.answers.write(dialect, answers);
        }
        let misfits = messages.take_misfits();
        if answers.is_empty() && messages.is_empty() {
            return UpdateResult { turn, send_calls: None, misfits };
        }
        for message in answers.iter().chain(messages.iter()) {
            client.endpoint.write_message(frames, message);
        }
        let sends_before = client.sender.sends();
        client.send(Frames::Borrowed(frames), now);
        UpdateResult { turn, send_calls: Some(client.sender.sends() - sends_before), misfits }
    }

    /// What became of the commands of a client in lockstep, and what comes next in the journal of its
    /// room.
    fn relay(
        &mut self,
        about: (usize, u32),
        (answers, messages): (&mut Messages, &mut Messages),
        frames: &mut Vec<u8>,
        (budgets, now): (&AddressRateLimits, Duration),
    ) -> UpdateResult {
        let ClientUpdates { client, lockstep_feed: relay, view, answers: pending, .. } = self;
        let sends_before = client.sender.sends();
        if !client.sender.can_take_state() {
            return UpdateResult { turn: StateOutcome::Deferred, send_calls: None, misfits: Vec::new() };
        }
        pending.write(&client.endpoint.dialect, answers);
        view.set_subject(client.player_as_of(about.1), client.watched());
        replay_missed_events::<G, L>(client, view, about, messages);
        let misfits = messages.take_misfits();
        for message in answers.iter().chain(messages.iter()) {
            client.endpoint.write_message(frames, message);
        }
        relay.write(client, (budgets, about.1), frames, now);
        client.send(Frames::Borrowed(frames), now);
        UpdateResult {
            turn: StateOutcome::Written,
            send_calls: Some(client.sender.sends() - sends_before),
            misfits,
        }
    }
}
