//! What a masked frame costs its receiver, beside two other libraries in the same run.
//!
//! `cargo bench --bench websocket`. Each library reads the same bytes from memory, as from a socket that has them all, and hands
//! over each payload unmasked; the rounds take turns, and medians count, so that what else the machine does falls on all alike. Ends
//! with an error when ours is slower than the faster one of the others at any size, or when a frame allocates after the warm-up.
#![allow(
    unsafe_code,
    reason = "an allocator that counts can only be written with it; no product code is here"
)]
#![allow(clippy::print_stdout, reason = "printing is what a benchmark is for")]

mod counting;

use std::hint::black_box;
use std::io::{self, Read, Write};
use std::pin::Pin;
use std::process::ExitCode;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tickwire::internal::limits::{ECHO_FRAGMENTS, ECHO_MESSAGE_BYTES, ECHO_READ_BYTES};
use tickwire::ws::frame::{self, Opcode};
use tickwire::ws::{Connection, Event, Limits, Role};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::{Builder, Runtime};

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

/// Payload sizes in bytes, and how many frames a round reads: about half a millisecond, so that most rounds are over before
/// another program gets the core.
const CASES: [(usize, u64); 3] = [(64, 5_000), (1_024, 2_500), (65_536, 60)];
const ROUNDS: usize = 501;
/// Frames that are read before anything is counted.
const WARM_UP_FRAMES: u64 = 1_000;

/// Frames in memory that begin anew when they are at their end: a socket that never makes anyone wait.
struct Source {
    bytes: Vec<u8>,
    at: usize,
}

impl Source {
    /// About a mebibyte of masked binary frames, each with a key of its own.
    fn new(payload_bytes: usize) -> Source {
        let mut bytes = Vec::new();
        for number in 0..(1u32 << 20).div_ceil(payload_bytes as u32) {
            let payload: Vec<u8> = (0..payload_bytes).map(|at| (at as u32 ^ number) as u8).collect();
            let key = number.wrapping_mul(0x9e37_79b9).to_le_bytes();
            frame::write(&mut bytes, Opcode::Binary, Some(key), &payload);
        }
        Source { bytes, at: 0 }
    }

    fn give(&mut self, max: usize) -> &[u8] {
        if self.at == self.bytes.len() {
            self.at = 0;
        }
        let from = self.at;
        self.at += max.min(self.bytes.len() - from);
        &self.bytes[from..self.at]
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.give(buffer.len());
        buffer[..bytes.len()].copy_from_slice(bytes);
        Ok(bytes.len())
    }
}

impl Write for Source {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::other("nothing is to be sent"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsyncRead for Source {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let room = into.remaining();
        into.put_slice(self.give(room));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Source {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Err(io::Error::other("nothing is to be sent")))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A library that has its upgrade behind it. `read` takes so many frames and gives the sum of something of each payload, so
/// that none can be left out and all can be compared.
trait Library {
    fn read(&mut self, frames: u64) -> u64;
}

/// What is looked at of a payload: cheap, and different where the payload is.
fn look_at(payload: &[u8]) -> u64 {
    let payload = black_box(payload);
    payload.len() as u64 + u64::from(payload[0]) + (u64::from(payload[payload.len() - 1]) << 8)
}

/// Ours, driven as `tickwire echo` does.
struct Ours {
    conn: Connection,
    source: Source,
}

impl Library for Ours {
    fn read(&mut self, frames: u64) -> u64 {
        let (mut sum, mut left) = (0, frames);
        loop {
            while let Some(event) = self.conn.next_event().expect("no rule is broken") {
                let Event::Binary(payload) = event else { panic!("not a binary message") };
                sum += look_at(payload);
                left -= 1;
                if left == 0 {
                    return sum;
                }
            }
            let count = self.source.read(self.conn.recv_buffer(ECHO_READ_BYTES)).expect("memory can be read");
            self.conn.commit(count);
        }
    }
}

struct Tungstenite(tungstenite::WebSocket<Source>);

impl Library for Tungstenite {
    fn read(&mut self, frames: u64) -> u64 {
        let read = |_| match self.0.read().expect("no rule is broken") {
            tungstenite::Message::Binary(payload) => look_at(&payload),
            other => panic!("not a binary message: {other}"),
        };
        (0..frames).map(read).sum()
    }
}

struct Fast {
    socket: fastwebsockets::WebSocket<Source>,
    runtime: Runtime,
}

impl Library for Fast {
    fn read(&mut self, frames: u64) -> u64 {
        let socket = &mut self.socket;
        self.runtime.block_on(async move {
            let mut sum = 0;
            for _ in 0..frames {
                let frame = socket.read_frame().await.expect("no rule is broken");
                assert!(frame.opcode == fastwebsockets::OpCode::Binary, "not a binary message");
                sum += look_at(&frame.payload);
            }
            sum
        })
    }
}

/// All three, with the name of each: ours first.
fn libraries(payload_bytes: usize) -> [(&'static str, Box<dyn Library>); 3] {
    let source = || Source::new(payload_bytes);
    let limits = Limits { message_bytes: ECHO_MESSAGE_BYTES, fragments: ECHO_FRAGMENTS, ..Limits::DEFAULT };
    let server = tungstenite::protocol::Role::Server;
    let ours = Ours { conn: Connection::new(Role::Server, limits), source: source() };
    let socket = fastwebsockets::WebSocket::after_handshake(source(), fastwebsockets::Role::Server);
    let runtime = Builder::new_current_thread().build().expect("a runtime");
    [
        ("tickwire", Box::new(ours)),
        (
            "tungstenite",
            Box::new(Tungstenite(tungstenite::WebSocket::from_raw_socket(source(), server, None))),
        ),
        ("fastwebsockets", Box::new(Fast { socket, runtime })),
    ]
}

fn main() -> ExitCode {
    println!("{:>7} bytes {:>16} {:>10} {:>8} {:>13}", "", "", "ns/frame", "GB/s", "allocations");
    let are_kept: Vec<bool> = CASES.map(|(payload_bytes, frames)| measure(payload_bytes, frames)).into();
    if are_kept.contains(&false) {
        println!("FAILED: ours is to be as fast as the faster one of the others, and not to allocate");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Prints the rows of one size, and says whether ours is as it should be.
fn measure(payload_bytes: usize, frames: u64) -> bool {
    let mut libraries = libraries(payload_bytes);
    let sums: Vec<u64> = libraries.iter_mut().map(|(_, library)| library.read(WARM_UP_FRAMES)).collect();
    assert!(sums.iter().all(|sum| *sum == sums[0]), "not all have read the same");
    let mut times = [const { Vec::new() }; 3];
    let mut allocations = [0; 3];
    for round in 0..ROUNDS {
        // Each begins a round in turn, so that none always comes behind the same one.
        for turn in 0..libraries.len() {
            let at = (round + turn) % libraries.len();
            let before = counting::allocations();
            let start = Instant::now();
            black_box(libraries[at].1.read(frames));
            let time = start.elapsed();
            allocations[at] += counting::allocations() - before;
            times[at].push(time);
        }
    }
    let medians = times.map(median);
    for (at, (name, _)) in libraries.iter().enumerate() {
        let ns = medians[at].as_secs_f64() * 1e9 / frames as f64;
        let per_frame = allocations[at] as f64 / (frames * ROUNDS as u64) as f64;
        println!(
            "{payload_bytes:>7} bytes {name:>16} {ns:>10.1} {:>8.2} {per_frame:>13.4}",
            payload_bytes as f64 / ns
        );
    }
    medians[0] <= medians[1].min(medians[2]) && allocations[0] == 0
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
