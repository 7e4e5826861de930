//! Prediction for a page: simulates the local player before the server's answer.
//!
//! The module `prediction.wasm` is built from this folder without the server. A page that connects
//! to a remote server therefore loads only the code that it needs. The prediction module of a
//! program with its own game has the same exports, and the rules of that game alone.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use tickwire::game::prediction::{NewPredictor, PredictionFeatures, Predictor};
use tickwire::internal::limits;
use tickwire::packet::PacketTables;

use super::buffers::with;

thread_local! {
    static PREDICTOR: RefCell<Option<Box<dyn Predictor>>> = RefCell::default();
}

/// Converts a time of the page's clock from milliseconds.
fn time(ms: f64) -> Duration {
    Duration::try_from_secs_f64(ms / 1000.0).unwrap_or_default()
}

/// Calls a function with the predictor and the input. Returns the default without a predictor.
fn call<T: Default>(call: impl FnOnce(&mut dyn Predictor, &[u8]) -> T) -> T {
    with(|buffers| {
        PREDICTOR.with_borrow_mut(|predictor| {
            predictor.as_mut().map(|predictor| call(&mut **predictor, &buffers.input)).unwrap_or_default()
        })
    })
}

/// Returns the function that creates the predictor of the game with this dialect.
#[cfg(not(tickwire_prediction))]
fn find_predictor(dialect: &str) -> Option<NewPredictor> {
    tickwire::internal::games::predictor(dialect)
}

/// Returns the function that creates the predictor of the program's own game, which has registered
/// it in its `main`.
#[cfg(tickwire_prediction)]
fn find_predictor(_: &str) -> Option<NewPredictor> {
    tickwire::game::prediction::registered()
}

/// Starts a prediction. The input has a line with the name of the dialect, and then the packet
/// table. Returns 1, or 0 if this module does not have the game or the table is invalid.
#[unsafe(no_mangle)]
pub extern "C" fn prediction_start() -> u32 {
    let predictor = with(|buffers| {
        let text = std::str::from_utf8(&buffers.input).ok()?;
        let (name, table) = text.split_once('\n')?;
        let codes = PacketTables::from_texts(&[("table.tsv", table)]).ok()?;
        let dialect: Arc<_> = codes.dialect(name)?;
        find_predictor(name).map(|start| start(dialect))
    });
    let is_there = predictor.is_some();
    PREDICTOR.set(predictor);
    u32::from(is_there)
}

/// Handles the server's message in the input. Returns 1 if it is a packet.
#[unsafe(no_mangle)]
pub extern "C" fn prediction_receive(now_ms: f64) -> u32 {
    u32::from(call(|predictor, message| predictor.on_received(message, time(now_ms))))
}

/// Handles a packet in the input that was received by datagram. Returns 1 if it is a packet.
#[unsafe(no_mangle)]
pub extern "C" fn prediction_receive_datagram(now_ms: f64) -> u32 {
    u32::from(call(|predictor, message| predictor.on_datagram(message, time(now_ms))))
}

/// Returns 1 if the server of the last `welcome` has the rules of this module.
#[unsafe(no_mangle)]
pub extern "C" fn prediction_has_rules() -> u32 {
    u32::from(call(|predictor, _| predictor.has_rules()))
}

/// Handles the page's own message in the input. Returns 1 if it is a packet.
#[unsafe(no_mangle)]
pub extern "C" fn prediction_send(now_ms: f64) -> u32 {
    u32::from(call(|predictor, message| predictor.on_sent(message, time(now_ms))))
}

/// Advances to `now_ms`. Outputs 32-bit numbers, least significant byte first, in the order of
/// `src/game/prediction/exported_numbers.rs`.
#[unsafe(no_mangle)]
pub extern "C" fn prediction_advance(now_ms: f64) -> usize {
    let mut numbers = Vec::new();
    call(|predictor, _| predictor.advance(time(now_ms), &mut numbers));
    with(|buffers| buffers.put_out(numbers.iter().flat_map(|number| number.to_le_bytes()).collect()))
}

/// Extrapolates a position by `ticks` ticks, with a velocity per tick, all in 1/65,536 px. Outputs
/// two 32-bit numbers. `ticks` is limited to [`limits::PREDICTED_TICKS`].
#[unsafe(no_mangle)]
pub extern "C" fn prediction_extrapolate(x: i32, y: i32, vx: i32, vy: i32, ticks: u32) -> usize {
    let ticks = ticks.min(limits::PREDICTED_TICKS);
    let (x, y) = call(|predictor, _| predictor.walk_on((x, y), (vx, vy), ticks));
    with(|buffers| buffers.put_out([x, y].iter().flat_map(|number| number.to_le_bytes()).collect()))
}

/// Turns prediction and reconciliation on (1) or off (0).
#[unsafe(no_mangle)]
pub extern "C" fn prediction_set_features(prediction: u32, reconciliation: u32) {
    let switches = PredictionFeatures { prediction: prediction != 0, reconciliation: reconciliation != 0 };
    call(|predictor, _| predictor.set_features(switches));
}
