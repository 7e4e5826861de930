//! The server in the browser. Its connections are byte streams that the page carries.

use std::cell::RefCell;
use std::time::Duration;

use serde_json::{Value, json};
use tickwire::internal::server::embedded::{self, EmbeddedServer, Options, Stats};
use tickwire::internal::util::netem::{Conditions, PRESETS};

use super::buffers::with;
use super::random;

thread_local! {
    static SERVER: RefCell<Option<EmbeddedServer>> = RefCell::default();
}

/// Calls a function with the server and the input. Returns the default if no server was started.
fn serve<T: Default>(call: impl FnOnce(&mut EmbeddedServer, &[u8]) -> T) -> T {
    with(|buffers| {
        SERVER.with_borrow_mut(|server| {
            server.as_mut().map(|server| call(server, &buffers.input)).unwrap_or_default()
        })
    })
}

/// Starts a server in place of a running one. The input is
/// `{"seed":…,"bots":…,"epoch_ms":…,"game":"…"}`. `epoch_ms` is the time of day. Without `game`,
/// the game is the program's own or the default. Outputs the network presets,
/// `{"presets":[{"name":"…","about":"…"}]}`, or `{"error":"…"}`.
#[unsafe(no_mangle)]
pub extern "C" fn server_start(now: f64) -> usize {
    with(|buffers| {
        let started =
            options(&buffers.input, now).and_then(|options| EmbeddedServer::new(&options, time(now)));
        let output = match started {
            Ok(server) => {
                SERVER.set(Some(server));
                let presets =
                    PRESETS.map(|preset| json!({ "name": preset.name, "about": preset.description }));
                json!({ "presets": presets })
            }
            Err(error) => json!({ "error": error }),
        };
        buffers.put_out(output.to_string().into_bytes())
    })
}

fn options(input: &[u8], now: f64) -> Result<Options, String> {
    let given: Value = serde_json::from_slice(input).map_err(|error| error.to_string())?;
    let number = |name: &str| given[name].as_f64().ok_or_else(|| format!("{name} is not a number"));
    let began_us = ((number("epoch_ms")? - now) * 1000.0).max(0.0) as u64;
    let name = given["game"].as_str();
    let game = embedded::game(name).ok_or_else(|| format!("unknown game {name:?}"))?;
    let (seed, bots) = (number("seed")? as u32, number("bots")? as usize);
    Ok(Options {
        game,
        seed,
        bots,
        began_us,
        keys: random::keys,
        net: Conditions::default(),
        resume_time: Duration::ZERO,
    })
}

/// Sets the network conditions in the input, such as `wifi`, for the page's connections. An empty
/// input sets a perfect network. Outputs `{"net":"…"}` with all values, or `{"error":"…"}`. After
/// an error the conditions are unchanged.
#[unsafe(no_mangle)]
pub extern "C" fn server_net() -> usize {
    let output = serve(|server, input| {
        let text = String::from_utf8_lossy(input);
        let conditions = if text.is_empty() { Ok(Conditions::default()) } else { text.parse() };
        match conditions {
            Ok(conditions) => {
                server.set_netem(conditions);
                json!({ "net": conditions.to_string() })
            }
            Err(error) => json!({ "error": error }),
        }
    });
    with(|buffers| buffers.put_out(output.to_string().into_bytes()))
}

/// Opens a connection. Returns its number; 0 if there is no free slot.
#[unsafe(no_mangle)]
pub extern "C" fn server_open() -> u32 {
    serve(|server, _| server.open().unwrap_or(0))
}

/// Handles bytes in the input from the page's end of a connection.
#[unsafe(no_mangle)]
pub extern "C" fn server_receive(connection: u32, now: f64) {
    serve(|server, input| server.receive(connection, input, time(now)));
}

/// Handles a datagram in the input from the page's end of a connection's lane.
#[unsafe(no_mangle)]
pub extern "C" fn server_receive_datagram(connection: u32, now: f64) {
    serve(|server, input| server.receive_datagram(connection, input.to_vec(), time(now)));
}

/// Outputs the next datagram for the page's end of a connection's lane. Returns its length; 0 if
/// there is none.
#[unsafe(no_mangle)]
pub extern "C" fn server_take_datagram(connection: u32) -> usize {
    let datagram = serve(|server, _| server.take_datagram(connection)).unwrap_or_default();
    with(|buffers| buffers.put_out(datagram))
}

/// Handles the end of the page's side of a connection.
#[unsafe(no_mangle)]
pub extern "C" fn server_close(connection: u32, now: f64) {
    serve(|server, _| server.close(connection, time(now)));
}

/// Runs all due ticks. Returns the milliseconds until the next tick.
#[unsafe(no_mangle)]
pub extern "C" fn server_advance(now: f64) -> f64 {
    serve(|server, _| server.advance(time(now)).as_secs_f64() * 1000.0)
}

/// Outputs the bytes for the page's end of a connection.
#[unsafe(no_mangle)]
pub extern "C" fn server_take(connection: u32) -> usize {
    let bytes = serve(|server, _| {
        let mut bytes = Vec::new();
        server.take(connection, &mut bytes);
        bytes
    });
    with(|buffers| buffers.put_out(bytes))
}

/// Returns 1 if the server has ended a connection and all of its bytes were taken.
#[unsafe(no_mangle)]
pub extern "C" fn server_is_over(connection: u32) -> u32 {
    u32::from(!serve(|server, _| server.is_open(connection)))
}

/// Outputs the counters: `{"tick":…,"clients":…,"players":…,"skipped":…}`.
#[unsafe(no_mangle)]
pub extern "C" fn server_stats() -> usize {
    let Stats { tick, clients, players, skipped_ticks: skipped } = serve(|server, _| server.stats());
    let output = json!({ "tick": tick, "clients": clients, "players": players, "skipped": skipped });
    with(|buffers| buffers.put_out(output.to_string().into_bytes()))
}

/// Converts a time of the page's clock from milliseconds.
fn time(ms: f64) -> Duration {
    Duration::try_from_secs_f64(ms / 1000.0).unwrap_or_default()
}
