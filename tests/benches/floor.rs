//! The floor: the least that a server of this shape costs, for `scripts/bench.sh` to measure the real one against.
//!
//! It has a reading thread per client and sends every client one frame per tick with a system call of its own, as the server does, and it
//! does nothing else: it drops what it reads, keeps no world, and sends the same bytes to everybody. What the server costs beyond it
//! is the server's own work; what the floor costs is the price of the shape.
//!
//! `target/release/examples/floor [--bytes N] [--hz N]` prints `floor bind ADDRESS` and serves until it is killed.
#![allow(clippy::print_stdout, reason = "printing its address is how the script finds it")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use tickwire::internal::limits;
use tickwire::internal::util::os;
use tickwire::ws::frame;
use tickwire::ws::handshake;
use tickwire::ws::http::HeadReader;

#[derive(Debug, Parser)]
struct Options {
    /// Payload bytes of the frame that each client is sent each tick.
    #[arg(long, default_value = "200")]
    bytes: usize,
    /// Ticks a second.
    #[arg(long, default_value = "30", value_parser = clap::value_parser!(u32).range(1..=240))]
    hz: u32,
}

type Clients = Arc<Mutex<Vec<Arc<TcpStream>>>>;

fn main() -> std::io::Result<()> {
    let options = Options::parse();
    let listener = TcpListener::bind("127.0.0.1:0")?;
    os::widen_backlog(&listener)?;
    println!("floor bind {}", listener.local_addr()?);
    let clients = Clients::default();
    let ticking = Arc::clone(&clients);
    thread::spawn(move || tick(&ticking, &options));
    for stream in listener.incoming() {
        let (stream, clients) = (Arc::new(stream?), Arc::clone(&clients));
        os::configure_accepted(&stream)?;
        thread::Builder::new()
            .stack_size(limits::CLIENT_STACK_BYTES)
            .spawn(move || read(&stream, &clients))?;
    }
    Ok(())
}

/// One client's thread: grants the upgrade, then drops what it reads.
fn read(stream: &Arc<TcpStream>, clients: &Clients) {
    let (mut head, mut buffer) = (HeadReader::new(limits::HEAD_LIMITS), [0; limits::READ_BYTES]);
    let mut is_open = false;
    while let Ok(count @ 1..) = (&**stream).read(&mut buffer) {
        if is_open {
            continue;
        }
        let Ok(request) = head.receive(&buffer[..count]) else { return };
        if let Some(request) = request {
            let Ok(accepted) = handshake::accept(&request, &["tickwire.v1"]) else { return };
            if (&**stream).write_all(&accepted.response).is_err() {
                return;
            }
            is_open = true;
            clients.lock().expect("no thread panics").push(Arc::clone(stream));
        }
    }
    clients.lock().expect("no thread panics").retain(|other| !Arc::ptr_eq(other, stream));
}

/// Sends every client the same frame each tick. A frame that the kernel does not take whole ends the connection: the floor keeps no
/// queue.
fn tick(clients: &Clients, options: &Options) {
    let mut message = Vec::new();
    frame::write_binary(&mut message, &vec![0; options.bytes]);
    let started = Instant::now();
    for number in 1u64.. {
        let due = started + Duration::from_nanos(number * 1_000_000_000 / u64::from(options.hz));
        thread::sleep(due.saturating_duration_since(Instant::now()));
        // The copy lets clients come and go during the sends; the server's workers own their lists likewise.
        let all = clients.lock().expect("no thread panics").clone();
        for stream in all {
            if os::try_send(&stream, [&message[..]].into_iter()).ok() != Some(message.len()) {
                let _ = stream.shutdown(std::net::Shutdown::Both);
            }
        }
    }
}
