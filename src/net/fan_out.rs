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
//! pings idle clients, closes slow ones, and cuts connections that do not end. A worker never waits
//! for a client, and one client's panic never reaches the others.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::bell;
use super::client::{Client, Ending};
use super::host::Host;
use crate::feed::{Messages, Published, Scratch, View};
use crate::limits;
use crate::room::Handle;
use crate::session::Breach;
use crate::ws::frame::{self, Opcode};

/// The bell that wakes a worker: ticks with their room, and clients.
pub type Bell = bell::Bell<(Arc<Handle>, Arc<Published>), Arc<Client>>;

/// A client and its known set.
struct Member {
    client: Arc<Client>,
    view: View,
}

/// The clients of one room at one worker.
struct Audience {
    room: Arc<Handle>,
    members: Vec<Member>,
    /// The ticks that they have not been sent.
    ticks: VecDeque<Arc<Published>>,
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
    let audience = |room: &Arc<Handle>| Audience {
        room: Arc::clone(room),
        members: Vec::new(),
        ticks: VecDeque::new(),
        served: Duration::ZERO,
    };
    let mut audiences: Vec<Audience> = host.rooms.iter().map(audience).collect();
    let mut desk = Desk::default();
    let (mut ticks, mut newcomers) = (VecDeque::new(), Vec::new());
    while bell.wait(&mut ticks, &mut newcomers) {
        let now = host.now();
        for audience in &mut audiences {
            let is_here = |room: &Arc<Handle>| Arc::ptr_eq(room, &audience.room);
            let mine = newcomers.extract_if(.., |client: &mut Arc<Client>| is_here(&client.room));
            audience
                .members
                .extend(mine.map(|client| Member { view: View::new(client.endpoint.layout), client }));
            audience
                .ticks
                .extend(ticks.iter().filter(|(room, _)| is_here(room)).map(|(_, tick)| Arc::clone(tick)));
            // Deadlines of clients are checked even if their room has stopped.
            if !audience.ticks.is_empty() || now.saturating_sub(audience.served) >= limits::WORKER_IDLE {
                audience.served = now;
                audience.serve(host, &mut desk);
            }
        }
        ticks.clear();
    }
}

impl Audience {
    fn serve(&mut self, host: &Host, desk: &mut Desk) {
        self.members.retain(|member| !member.client.is_gone());
        for member in &mut self.members {
            let served = catch_unwind(AssertUnwindSafe(|| serve(host, member, &self.ticks, desk)));
            if served.is_err() {
                host.metrics.panics.inc();
                member.client.close(Ending::Breach(Breach::InternalError), host.now());
                *desk = Desk::default();
            }
        }
        self.ticks.clear();
    }
}

fn serve(host: &Host, member: &mut Member, ticks: &VecDeque<Arc<Published>>, desk: &mut Desk) {
    let (client, now) = (&member.client, host.now());
    client.outbox.drive(&**client, now);
    if !client.outbox.is_ended() {
        tell(host, member, ticks, desk, now);
    }
    watch_over(&member.client, now);
}

/// The update of one client for these ticks: all events, and the state of the last tick.
fn tell(host: &Host, member: &mut Member, ticks: &VecDeque<Arc<Published>>, desk: &mut Desk, now: Duration) {
    let Member { client, view } = member;
    let dialect = &client.endpoint.dialect;
    desk.messages.clear();
    view.follow(client.player(), client.wish());
    let turn = ticks.iter().rposition(|published| view.is_due(published));
    let is_behind = client.outbox.backlog() > 0;
    for (index, published) in ticks.iter().enumerate() {
        if turn == Some(index) && is_behind {
            host.metrics.turns_held_back.inc();
        } else if turn == Some(index) {
            view.turn(published, dialect, &mut desk.scratch, &mut desk.messages);
        }
        view.events(published, dialect, &mut desk.scratch, &mut desk.messages);
    }
    if desk.messages.is_empty() {
        return;
    }
    desk.frames.clear();
    for message in desk.messages.iter() {
        client.endpoint.write_message(&mut desk.frames, message);
    }
    let sends_before = client.outbox.sends();
    client.send_frames(&desk.frames, now);
    host.metrics.turns.inc();
    host.metrics.turn_sends.inc_by(client.outbox.sends() - sends_before);
}

/// Pings idle clients, closes lost and slow ones, and cuts connections that do not end.
fn watch_over(client: &Client, now: Duration) {
    if let Some(closing) = client.closing_for(now) {
        if closing > limits::CLOSE_TIME {
            client.cut();
        }
    } else if client.outbox.is_stuck(now) {
        client.close(Ending::Breach(Breach::SlowClient), now);
    } else if client.silence(now) > limits::SILENCE {
        client.close(Ending::Breach(Breach::Silent), now);
    } else if client.is_ping_due(now, limits::PING_EVERY) {
        let mut ping = Vec::new();
        frame::write(&mut ping, Opcode::Ping, None, b"");
        client.send_frames(&ping, now);
    }
}
