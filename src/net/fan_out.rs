//! The fan-out: workers that turn each published tick into updates for clients.
//!
//! ```text
//!  room thread ──ring(published)──► bell of each worker ──► for each of its clients:
//!                                                             view → messages → frames → one push → one send
//! ```
//!
//! Each client belongs to one worker, which alone holds the client's known set. If a worker finds
//! the previous update unsent, it does not add a second state: it sends the queued bytes, keeps
//! events, and leaves the state to a later update. The worker also watches over its clients: it
//! pings idle clients, closes slow ones, and cuts connections that do not end. A worker visits only
//! the rooms that ticked, never waits for a client, and one client's panic never reaches the others.
//! A worker that falls behind skips states, and never events.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tracing::warn;

use super::bell::Backlog;
use super::client::Client;
use super::host::{Bell, Host};
use crate::feed::{Layout, Messages, Published, Scratch, Turn, View};
use crate::limits;
use crate::peer::sender::Frames;
use crate::peer::{Ending, Endpoint};
use crate::session::Breach;

/// A client and its known set.
struct Member {
    client: Arc<Client>,
    view: View,
}

/// The clients of one room at one worker.
#[derive(Default)]
struct Audience {
    members: Vec<Member>,
    /// When they were last served.
    served: Duration,
}

/// The buffers that a worker lends to each client in turn.
#[derive(Default)]
struct Desk {
    scratch: Scratch,
    messages: Messages,
    frames: Vec<u8>,
}

/// A worker's loop, until its bell says stop.
pub fn run(host: &Host, bell: &Bell) {
    let mut audiences: Vec<Audience> = host.rooms.iter().map(|_| Audience::default()).collect();
    let (mut newcomers, mut desk) = (Vec::new(), Desk::default());
    while let Some(mut backlogs) = bell.wait(&mut newcomers) {
        let now = host.now();
        for (at, audience) in audiences.iter_mut().enumerate() {
            let backlog = backlogs.remove(&at);
            if backlog.as_ref().is_some_and(|backlog| backlog.is_lost) {
                audience.give_up(now);
            }
            let mine = newcomers.extract_if(.., |client| Arc::ptr_eq(&client.room, &host.rooms[at]));
            let member = |client: Arc<Client>| Member { view: View::new(layout(&client.endpoint)), client };
            audience.members.extend(mine.map(member));
            // A room that does not tick still has clients with deadlines.
            if backlog.is_some() || now.saturating_sub(audience.served) >= limits::WORKER_IDLE {
                audience.served = now;
                audience.serve(host, backlog.as_ref(), &mut desk);
            }
        }
    }
}

impl Audience {
    /// Closes the clients: events that they should have received are lost.
    fn give_up(&self, now: Duration) {
        warn!(clients = self.members.len(), "a worker fell behind and closes its clients of a room");
        for member in &self.members {
            member.client.close(Ending::Breach(Breach::Overloaded), now);
        }
    }

    fn serve(&mut self, host: &Host, backlog: Option<&Backlog<Arc<Published>>>, desk: &mut Desk) {
        self.members.retain(|member| !member.client.is_gone());
        for member in &mut self.members {
            let served = catch_unwind(AssertUnwindSafe(|| serve(host, member, backlog, desk)));
            if served.is_err() {
                host.metrics.panics.inc();
                member.client.close(Ending::Breach(Breach::InternalError), host.now());
                *desk = Desk::default();
            }
        }
    }
}

fn serve(host: &Host, member: &mut Member, backlog: Option<&Backlog<Arc<Published>>>, desk: &mut Desk) {
    let (client, now) = (&member.client, host.now());
    client.send_waiting(now);
    if let Some(backlog) = backlog.filter(|_| client.follows() && client.sender.is_open()) {
        update(host, member, backlog, desk, now);
    }
    member.client.look_after(now);
}

/// One client's update: the events of all these ticks, and the newest state.
fn update(
    host: &Host,
    member: &mut Member,
    backlog: &Backlog<Arc<Published>>,
    desk: &mut Desk,
    now: Duration,
) {
    let Member { client, view } = member;
    let (Desk { scratch, messages, .. }, dialect) = (&mut *desk, &client.endpoint.dialect);
    messages.clear();
    view.follow(client.player(), client.wish());
    let is_behind = !client.sender.takes_state();
    let turn = view.update(&backlog.missed, &backlog.newest, is_behind, dialect, scratch, messages);
    if turn == Turn::HeldBack {
        host.metrics.turns_held_back.inc();
    }
    if desk.messages.is_empty() {
        return;
    }
    desk.frames.clear();
    for message in desk.messages.iter() {
        client.endpoint.write_message(&mut desk.frames, message);
    }
    let sends_before = client.sender.sends();
    client.send(Frames::Lent(&desk.frames), now);
    host.metrics.turns.inc();
    host.metrics.turn_sends.inc_by(client.sender.sends() - sends_before);
}

/// The layout of a client's updates.
fn layout(endpoint: &Endpoint) -> Layout {
    if endpoint.is_native { Layout::Native } else { Layout::Moomoo }
}
