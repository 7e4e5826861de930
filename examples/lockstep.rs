//! A spectator in Rust that runs the room's world itself. It receives a snapshot, and then the
//! commands of each tick. At intervals it sends the checksum of its own world to the server.
//!
//! ```text
//! cargo run --release                                                     a server
//! cargo run --release -- bots --count 20 --play ws://127.0.0.1:3000      players
//! cargo run --release --example lockstep ws://127.0.0.1:3000/play        this
//! ```
//!
//! With a third argument, a number, it changes a field of its own world once. The server then
//! reports the difference, and sends a snapshot from which the world restarts.

use std::error::Error;
use std::io::{Read as _, Write as _, stdout};
use std::time::{Duration, Instant};

use tickwire::client::connection::{ClientConnection, ClientEvent};
use tickwire::client::dial;
use tickwire::client::local_worlds;
use tickwire::client::lockstep_follower::{DesyncReport, FollowEvent, LockstepFollower};
use tickwire::client::url::Url;
use tickwire::game::Messages;
use tickwire::game::lockstep_packets::MODE_LOCKSTEP;
use tickwire::packet::{Dialect, Direction, PacketError, PacketTables, Value};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let url: Url = arguments.next().as_deref().unwrap_or("ws://127.0.0.1:3000/play").parse()?;
    let seconds: u64 = arguments.next().as_deref().unwrap_or("20").parse()?;
    let corrupts: Option<u64> = arguments.next().map(|seed| seed.parse()).transpose()?;

    // 1. Connect. `connection` encodes the upgrade and the frames; this program reads and writes the
    //    socket.
    let mut socket = dial::connect(dial::resolve(&url)?, None)?;
    socket.set_nonblocking(false)?;
    let mut connection = ClientConnection::new(&url.authority(), &url.target, true, dial::random_keys());
    let dialect = PacketTables::builtin().dialect("native").ok_or("the tables have no such dialect")?;
    let game = local_worlds::built_in_game("moo").ok_or("no such game")?;
    let mut follower = LockstepFollower::new(game, dialect.clone());
    corrupts.into_iter().for_each(|seed| follower.corrupt(seed));

    let (began, mut printed_seconds, mut buffer, mut bytes) = (Instant::now(), 0, [0; 64 * 1024], Vec::new());
    writeln!(
        stdout(),
        "{:>7} {:>8} {:>9} {:>6} {:>17}",
        "tick",
        "players",
        "checksums",
        "syncs",
        "bytes a second"
    )?;
    while began.elapsed() < Duration::from_secs(seconds) {
        connection.drain_output(&mut bytes);
        socket.write_all(&bytes)?;
        bytes.clear();
        let read = socket.read(&mut buffer)?;
        if read == 0 {
            return Err("the server has closed the connection".into());
        }
        connection.receive(&buffer[..read]);
        loop {
            let (mut outgoing, mut messages) = (Vec::new(), Messages::default());
            match connection.next_event()? {
                None => break,
                Some(ClientEvent::Open) => outgoing.push(hello(&dialect)?),
                // 2. The follower restores the snapshot, runs the commands of each frame, and adds
                //    its checksums to `outgoing`. `messages` receives the packets that a stream would
                //    contain. A program that draws the world decodes them; this one drops them.
                Some(ClientEvent::Binary(message)) => {
                    let packet = dialect.decode(Direction::ToClient, message)?;
                    let event = follower.on_packet(&packet, &mut outgoing, &mut messages)?;
                    if let FollowEvent::Report(report) = event {
                        print_report(&report)?;
                    }
                }
                Some(ClientEvent::Closed { reason, .. }) => return Err(reason.to_string().into()),
                Some(_) => {}
            }
            outgoing.iter().for_each(|message| connection.send_binary(message));
        }
        // 3. Print a line each second.
        if let Some(world) = follower.world().filter(|_| began.elapsed().as_secs() > printed_seconds) {
            printed_seconds += 1;
            let (counts, tick, players) = (follower.counts(), world.tick(), world.players().len());
            let rate = counts.bytes / printed_seconds;
            let (checksums, syncs) = (counts.checksums, counts.syncs);
            writeln!(stdout(), "{tick:>7} {players:>8} {checksums:>9} {syncs:>6} {rate:>17}")?;
        }
    }
    Ok(())
}

/// Encodes a `hello` that requests lockstep as a spectator.
fn hello(dialect: &Dialect) -> Result<Vec<u8>, PacketError> {
    let values = [1.into(), MODE_LOCKSTEP.into(), Value::Nil, Value::Nil];
    dialect.encode(Direction::ToServer, "hello", &values)
}

/// Prints the differing fields of a report. Replaces control characters, because the texts come
/// from other clients and a server may not escape them.
fn print_report(report: &DesyncReport) -> std::io::Result<()> {
    let printable = |text: String| -> String {
        text.chars().map(|ch| if ch.is_control() { '\u{fffd}' } else { ch }).collect()
    };
    let fields: Vec<String> = report.fields.iter().map(|(_, field)| printable(field.to_string())).collect();
    writeln!(stdout(), "worlds differ after tick {}: {}", report.tick, fields.join("; "))
}
