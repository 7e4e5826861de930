//! The fan-out: workers that tell clients what each published tick means for them.
//!
//! ```text
//!  world thread ──ring(published)──► bell of each worker ──► for each of its clients:
//!                                                             view → messages → frames → one push → one send
//! ```
//!
//! Each client belongs to one worker, which alone knows what the client has been told. A worker that finds the last turn unsent does not
//! add a second state: it sends what waits, keeps events, and leaves the state to a later turn. It also watches over its
//! clients: pings the silent, closes the slow, cuts what does not end. Never: waiting for a client; letting one
//! client's panic reach the others.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::bell;
use super::client::{Client, Ending};
use super::shared::Shared;
use crate::feed::{Messages, Published, Scratch, View};
use crate::limits;
use crate::session::Breach;
use crate::ws::frame::{self, Opcode};

/// What wakes a worker.
pub type Bell = bell::Bell<Arc<Published>, Arc<Client>>;

/// A client and what it has been told.
struct Member {
    client: Arc<Client>,
    view: View,
}

/// The buffers that a worker lends to each client in turn.
#[derive(Default)]
struct Desk {
    scratch: Scratch,
    messages: Messages,
    frames: Vec<u8>,
}

/// A worker's life, until its bell says stop.
pub fn run(shared: &Shared, bell: &Bell) {
    let (mut members, mut desk) = (Vec::<Member>::new(), Desk::default());
    let (mut ticks, mut newcomers) = (VecDeque::new(), Vec::new());
    while bell.wait(&mut ticks, &mut newcomers) {
        members.extend(newcomers.drain(..).map(|client| {
            let view = View::new(client.endpoint.layout);
            Member { client, view }
        }));
        members.retain(|member| !member.client.is_gone());
        for member in &mut members {
            let told = catch_unwind(AssertUnwindSafe(|| serve(shared, member, &ticks, &mut desk)));
            if told.is_err() {
                shared.metrics.panics.inc();
                member.client.close(Ending::Breach(Breach::InternalError), shared.now());
                desk = Desk::default();
            }
        }
        ticks.clear();
    }
}

fn serve(shared: &Shared, member: &mut Member, ticks: &VecDeque<Arc<Published>>, desk: &mut Desk) {
    let (client, now) = (&member.client, shared.now());
    client.outbox.drive(&**client, now);
    if !client.outbox.is_ended() {
        tell(shared, member, ticks, desk, now);
    }
    watch_over(&member.client, now);
}

/// What these ticks mean for one client: all events, and the state of the last turn.
fn tell(
    shared: &Shared,
    member: &mut Member,
    ticks: &VecDeque<Arc<Published>>,
    desk: &mut Desk,
    now: Duration,
) {
    let Member { client, view } = member;
    let dialect = &client.endpoint.dialect;
    desk.messages.clear();
    view.follow(client.player(), client.wish());
    let turn = ticks.iter().rposition(|published| view.is_due(published));
    let is_behind = client.outbox.backlog() > 0;
    for (index, published) in ticks.iter().enumerate() {
        if turn == Some(index) && is_behind {
            shared.metrics.turns_held_back.inc();
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
    shared.metrics.turns.inc();
    shared.metrics.turn_sends.inc_by(client.outbox.sends() - sends_before);
}

/// Pings the silent, closes the lost and the slow, cuts what does not end.
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
