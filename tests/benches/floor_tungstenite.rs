//! The floor with tungstenite instead of our WebSocket layer, for `scripts/bench.sh --peers`.
//!
//! Its shape is the floor's: a reading thread per client, which drops what it reads, and a ticking
//! thread, which sends each client one message per tick. The read buffers are as small as the
//! server's: by default tungstenite reserves 128 KiB per connection.
//!
//! `target/release/examples/floor_tungstenite [--bytes N] [--hz N]` prints
//! `tungstenite bind ADDRESS` and serves until it is killed.
#![allow(clippy::print_stdout, reason = "printing its address is how the script finds it")]

use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use tickwire::internal::limits;
use tickwire::internal::util::os;
use tungstenite::protocol::{Role, WebSocketConfig};
use tungstenite::{Bytes, Message, WebSocket};

#[derive(Debug, Parser)]
struct Options {
    /// Payload bytes of the message to each client each tick.
    #[arg(long, default_value = "200")]
    bytes: usize,
    /// Ticks a second.
    #[arg(long, default_value = "30", value_parser = clap::value_parser!(u32).range(1..=240))]
    hz: u32,
}

/// The sending half of a client. A second `WebSocket` on the same stream, because one cannot be
/// shared between a thread that waits for bytes and a thread that sends.
type Sender = Arc<Mutex<WebSocket<TcpStream>>>;
type Clients = Arc<Mutex<Vec<Sender>>>;

fn main() -> std::io::Result<()> {
    let options = Options::parse();
    let listener = TcpListener::bind("127.0.0.1:0")?;
    os::widen_backlog(&listener)?;
    println!("tungstenite bind {}", listener.local_addr()?);
    let clients = Clients::default();
    let ticking = Arc::clone(&clients);
    thread::spawn(move || tick(&ticking, &options));
    for stream in listener.incoming() {
        let (stream, clients) = (stream?, Arc::clone(&clients));
        os::configure_accepted(&stream)?;
        thread::Builder::new()
            .stack_size(limits::CLIENT_STACK_BYTES)
            .spawn(move || read(stream, &clients))?;
    }
    Ok(())
}

fn config() -> WebSocketConfig {
    WebSocketConfig::default().read_buffer_size(limits::READ_BYTES)
}

/// A client's thread: accepts the upgrade, then drops what it reads.
fn read(stream: TcpStream, clients: &Clients) {
    let Ok(copy) = stream.try_clone() else { return };
    let Ok(mut reading) = tungstenite::accept_with_config(stream, Some(config())) else { return };
    let sender = Arc::new(Mutex::new(WebSocket::from_raw_socket(copy, Role::Server, Some(config()))));
    clients.lock().expect("no thread panics").push(Arc::clone(&sender));
    while reading.read().is_ok() {}
    clients.lock().expect("no thread panics").retain(|other| !Arc::ptr_eq(other, &sender));
}

/// Sends every client the same message each tick. A failed send ends the connection.
fn tick(clients: &Clients, options: &Options) {
    let payload = Bytes::from(vec![0; options.bytes]);
    let started = Instant::now();
    for number in 1u64.. {
        let due = started + Duration::from_nanos(number * 1_000_000_000 / u64::from(options.hz));
        thread::sleep(due.saturating_duration_since(Instant::now()));
        // The copy lets clients come and go during the sends.
        let all = clients.lock().expect("no thread panics").clone();
        for sender in all {
            let mut sender = sender.lock().expect("no thread panics");
            if sender.send(Message::Binary(payload.clone())).is_err() {
                let _ = sender.get_ref().shutdown(Shutdown::Both);
            }
        }
    }
}
