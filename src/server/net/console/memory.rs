//! The command `memory`: the bytes that the parts of a room store, and the memory of the process.
//!
//! A figure is the length of what a part stores. It omits unused capacity and the allocator's
//! overhead, so the figures do not add up to the memory of the process.

use std::fmt::Write;

use crate::server::net::room_access;
use crate::server::net::rooms::RunningRoom;
use crate::server::net::server_state::ServerState;
use crate::server::room::RoomHandle;
use crate::util::os;
use crate::util::plural::count_noun;

/// A part: its name, its bytes if they are known, and what they include.
type PartRow = (&'static str, Option<u64>, String);

/// Returns one part per line: its name, its bytes or `-`, and what they include. The room makes a
/// snapshot for it.
///
/// # Errors
/// The room has ended, or does not answer in time.
pub fn report(host: &ServerState, room: &RunningRoom) -> Result<String, String> {
    let snapshot = room_access::query(room, RoomHandle::snapshot)?;
    let mut text = format!("{:<16}  {:>12}  includes\n", "part", "bytes");
    for (part, bytes, includes) in rows(host, room, snapshot.bytes.len()) {
        let bytes = bytes.map_or("-".to_owned(), |bytes| bytes.to_string());
        writeln!(text, "{part:<16}  {bytes:>12}  {includes}").expect("writing to a string does not fail");
    }
    Ok(text)
}

fn rows(host: &ServerState, room: &RunningRoom, snapshot_bytes: usize) -> [PartRow; 8] {
    let known = |bytes: usize| Some(bytes as u64);
    let workers: usize = host.worker_queues.iter().map(|queue| queue.backlog_bytes(room.number)).sum();
    let (clients, queued, longest) = client_queues(host, room);
    let clients =
        format!("unsent bytes of {}; at most {longest} of one client", count_noun(clients, "client"));
    [
        (
            "world",
            known(snapshot_bytes),
            "its snapshot, as `save` writes it; in memory it is larger".to_owned(),
        ),
        ("published state", None, "not counted: its types are those of the game".to_owned()),
        (
            "missed events",
            known(room.handle.missed_event_bytes()),
            "events for clients that resume".to_owned(),
        ),
        (
            "lockstep journal",
            known(room.handle.lockstep.stored_bytes()),
            "commands and snapshots for clients in lockstep, as stored and as encoded".to_owned(),
        ),
        ("worker queues", known(workers), "events and acks that no update worker has taken yet".to_owned()),
        ("client queues", known(queued), clients),
        (
            "observers",
            known(host.tap.queued_bytes()),
            "events queued for captures, inspectors and --self-check, of all rooms".to_owned(),
        ),
        (
            "process",
            os::resident_bytes(),
            "resident memory of the whole server, with code, stacks and everything not counted above"
                .to_owned(),
        ),
    ]
}

/// Returns the number of the room's clients without bots, the bytes in their queues, and the most
/// bytes in one.
fn client_queues(host: &ServerState, room: &RunningRoom) -> (usize, usize, usize) {
    let clients = host.clients.all();
    let clients = clients
        .iter()
        .filter(|client| client.transport.room.number == room.number && !client.transport.is_bot());
    let queues: Vec<usize> = clients.map(|client| client.sender.backlog()).collect();
    (queues.len(), queues.iter().sum(), queues.iter().copied().max().unwrap_or(0))
}
