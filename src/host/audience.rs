//! The updates of a room's clients.
//!
//! ```text
//!  the ticks since the last turn ─► for each client: view → messages → frames → one push → one send
//! ```
//!
//! A member is a client with its known set. While its previous update is unsent, no second state is
//! queued: the queued bytes are sent, events are kept, and a later update carries the state.

use std::sync::Arc;
use std::time::Duration;

use super::backlog::Backlog;
use super::client::{Client, Line};
use crate::feed::{Layout, Messages, Scratch, Turn, View};
use crate::limits;
use crate::peer::Ending;
use crate::peer::sender::Frames;
use crate::session::Breach;

/// The clients of one room at one worker.
#[derive(Debug)]
pub struct Audience<L> {
    /// Each with its known set.
    pub members: Vec<Member<L>>,
    visited: Duration,
}

/// A client and its known set.
#[derive(Debug)]
pub struct Member<L> {
    /// The client.
    pub client: Arc<Client<L>>,
    view: View,
}

/// The buffers that a worker lends to each client in turn.
#[derive(Debug, Default)]
pub struct Desk {
    scratch: Scratch,
    messages: Messages,
    frames: Vec<u8>,
}

/// What became of one client's update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Served {
    /// Of the state in it.
    pub turn: Turn,
    /// The sends that it took; `None` if there was nothing to say.
    pub sends: Option<u64>,
}

impl<L> Default for Audience<L> {
    fn default() -> Audience<L> {
        Audience { members: Vec::new(), visited: Duration::ZERO }
    }
}

impl<L: Line> Audience<L> {
    /// Begins a visit: closes the members if events that they should have received are lost, then
    /// takes over new clients. Returns whether it is the members' turn: in a room that does not
    /// tick, only now and then, for their deadlines.
    pub fn visit(
        &mut self,
        backlog: Option<&Backlog>,
        newcomers: impl Iterator<Item = Arc<Client<L>>>,
        now: Duration,
    ) -> bool {
        self.members.retain(|member| !member.client.is_gone());
        if backlog.is_some_and(|backlog| backlog.is_lost) {
            let overloaded = || Ending::Breach(Breach::Overloaded);
            self.members.iter().for_each(|member| member.client.close(overloaded(), now));
        }
        self.members.extend(newcomers.map(Member::new));
        let is_due = backlog.is_some() || now.saturating_sub(self.visited) >= limits::WORKER_IDLE;
        self.visited = if is_due { now } else { self.visited };
        is_due
    }
}

impl<L: Line> Member<L> {
    /// A client that knows nothing yet.
    pub fn new(client: Arc<Client<L>>) -> Member<L> {
        let layout = if client.endpoint.is_native { Layout::Native } else { Layout::Moomoo };
        Member { view: View::new(layout), client }
    }

    /// The client's turn: sends what waits, then the update of these ticks, if it follows its room,
    /// then what is due by its deadlines.
    pub fn serve(&mut self, ticks: Option<&Backlog>, desk: &mut Desk, now: Duration) -> Option<Served> {
        self.client.send_waiting(now);
        let ticks = ticks.filter(|_| self.client.follows() && self.client.sender.is_open());
        let served = ticks.map(|backlog| self.update(backlog, desk, now));
        self.client.look_after(now);
        served
    }

    /// The events of all these ticks, and the newest state.
    fn update(&mut self, Backlog { missed, newest, .. }: &Backlog, desk: &mut Desk, now: Duration) -> Served {
        let (client, Desk { scratch, messages, frames }) = (&self.client, desk);
        messages.clear();
        frames.clear();
        self.view.follow(client.player(), client.watched());
        let is_behind = !client.sender.takes_state();
        let dialect = &client.endpoint.dialect;
        let turn = self.view.update(missed, newest, is_behind, dialect, scratch, messages);
        if messages.is_empty() {
            return Served { turn, sends: None };
        }
        for message in messages.iter() {
            client.endpoint.write_message(frames, message);
        }
        let sends_before = client.sender.sends();
        client.send(Frames::Lent(frames), now);
        Served { turn, sends: Some(client.sender.sends() - sends_before) }
    }
}
