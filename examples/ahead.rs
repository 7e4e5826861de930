//! A player of the built-in game in Rust, with prediction. It turns five times per second, and each
//! turn acts at once, whatever the delay of the network.
//!
//! ```text
//! cargo run --release                                                     a server
//! cargo run --release -- netem --bind 127.0.0.1:4000 --upstream 127.0.0.1:3000 --delay 150ms --jitter 30ms --loss 2%
//! cargo run --release --example ahead ws://127.0.0.1:4000/play            a player on a bad line
//! ```

use std::error::Error;
use std::io::{ErrorKind, Read as _, Write as _, stdout};
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use tickwire::client::connection::ClientConnection;
use tickwire::client::dial;
use tickwire::client::local_worlds::MooLocalWorld;
use tickwire::client::predicting_client::PredictingClient;
use tickwire::client::url::Url;
use tickwire::game::prediction::Position;
use tickwire::packet::PacketTables;

/// Duration of a frame of a display.
const FRAME: Duration = Duration::from_micros(16_667);
/// Frames between two turns: 200 ms.
const TURN: u32 = 12;
/// Frames between two printed lines: one second.
const LINE: u32 = 60;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let url: Url = arguments.next().as_deref().unwrap_or("ws://127.0.0.1:3000/play").parse()?;
    let seconds: u32 = arguments.next().as_deref().unwrap_or("20").parse()?;

    // 1. Connect. `connection` encodes the upgrade and the frames; this program reads and writes the
    //    socket.
    let mut socket = dial::connect(dial::resolve(&url)?, None)?;
    let connection = ClientConnection::new(&url.authority(), &url.target, true, dial::random_keys());
    let dialect = PacketTables::builtin().dialect("native").ok_or("the tables have no such dialect")?;
    let mut player = PredictingClient::<MooLocalWorld>::new(
        connection,
        dialect,
        &[("name", "ahead".into()), ("skin", 4.into())],
    );

    // Datagrams that wait for no lost byte, if the server has a lane (`--lane udp`).
    player.use_lane();
    let mut lane: Option<UdpSocket> = None;

    let (began, mut buffer, mut bytes) = (Instant::now(), [0; 16 * 1024], Vec::new());
    writeln!(stdout(), "{:>7} {:>7} {:>13} {:>17} {:>7}", "trip", "lead", "corrected", "at", "others")?;
    for frame in 0..seconds * LINE {
        // 2. Receive all bytes that have arrived.
        let mut has_died = false;
        loop {
            match socket.read(&mut buffer) {
                Ok(0) => return Err("the server has closed the connection".into()),
                Ok(read) => player.receive(&buffer[..read], began.elapsed(), |packet, _| {
                    has_died |= packet.row.name == "died";
                }),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(offer) = player.lane().filter(|_| lane.is_none()) {
            let server = SocketAddr::new(socket.peer_addr()?.ip(), offer.port());
            lane = Some(dial::connect_lane(server)?);
        }
        while let Some(read) = lane.as_ref().and_then(|lane| lane.recv(&mut buffer).ok()) {
            player.receive_datagram(&buffer[..read], began.elapsed(), |_, _| {});
        }
        if let Some(reason) = player.ended() {
            return Err(reason.into());
        }
        if has_died {
            player.join(began.elapsed())?;
        }
        // 3. Advance the prediction, and send the next command of the local player.
        let shown = player.advance(began.elapsed());
        if shown.is_some() && frame % TURN == 0 {
            let direction = (frame / TURN).wrapping_mul(40_503) as u16;
            player.command("move", &[direction.into()], began.elapsed())?;
        }
        if let Some(shown) = shown.filter(|_| frame % LINE == 0) {
            print_line(&player, shown.at, began.elapsed())?;
        }
        // 4. Send the pending bytes.
        player.drain_output(&mut bytes);
        socket.write_all(&bytes)?;
        bytes.clear();
        for datagram in player.drain_datagrams() {
            // A datagram may be lost, also here.
            let _ = lane.as_ref().map(|lane| lane.send(&datagram));
        }
        thread::sleep(FRAME.saturating_sub(began.elapsed() - FRAME * frame));
    }
    Ok(())
}

fn print_line(
    player: &PredictingClient<MooLocalWorld>,
    (x, y): Position,
    now: Duration,
) -> std::io::Result<()> {
    let others = player.remote_players(now).len();
    let prediction = player.prediction();
    let (clock, corrections) = (prediction.clock(), prediction.corrections());
    writeln!(
        stdout(),
        "{:>4} ms {:>4} ms {:>4} of {:<5} {:>6}, {:<6} px {:>5}",
        clock.round_trip().unwrap_or_default().as_millis(),
        clock.lead().as_millis(),
        corrections.count,
        corrections.compared,
        x >> 16,
        y >> 16,
        others,
    )
}
