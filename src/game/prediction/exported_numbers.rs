//! Prediction without the game's types: bytes in, numbers out. Used by pages through WebAssembly.

use std::sync::Arc;
use std::time::Duration;

use super::local_world::LocalWorld;
use super::position::Position;
use super::prediction::{Prediction, PredictionFeatures};
use crate::packet::{Dialect, Direction};

/// The [`Prediction`] of any game, for one dialect.
pub trait Predictor: Send {
    /// Processes a received message. Returns whether it is a packet.
    fn on_received(&mut self, message: &[u8], now: Duration) -> bool;

    /// Processes a packet received by datagram. Returns false if it is not a packet.
    fn on_datagram(&mut self, packet: &[u8], now: Duration) -> bool;

    /// Processes a message that the client sends. Returns whether it is a packet.
    fn on_sent(&mut self, message: &[u8], now: Duration) -> bool;

    /// Advances to `now`, and appends the numbers of the rendered state, in the order of the list
    /// at `PredictorExport`.
    fn advance(&mut self, now: Duration, out: &mut Vec<i32>);

    /// As [`LocalWorld::extrapolate`]. Returns `from` before `welcome`.
    fn walk_on(&self, from: Position, velocity: Position, ticks: u32) -> Position;

    /// Returns whether the server of the last `welcome` has the rules of this program.
    fn has_rules(&self) -> bool;

    /// As [`Prediction::set_features`].
    fn set_features(&mut self, switches: PredictionFeatures);
}

/// Creates the predictor of a game for a dialect.
pub type NewPredictor = fn(Arc<Dialect>) -> Box<dyn Predictor>;

/// The prediction of the program's own game.
#[cfg(tickwire_prediction)]
static REGISTERED: std::sync::OnceLock<NewPredictor> = std::sync::OnceLock::new();

/// Registers the prediction of the program's own game. Only the first call has an effect.
#[cfg(tickwire_prediction)]
pub fn register(predictor: Option<NewPredictor>) {
    predictor.into_iter().for_each(|predictor| drop(REGISTERED.set(predictor)));
}

/// Returns the registered prediction.
#[cfg(tickwire_prediction)]
pub fn registered() -> Option<NewPredictor> {
    REGISTERED.get().copied()
}

/// Creates the predictor of the game with this [`LocalWorld`].
pub fn new_predictor<W: LocalWorld + 'static>(dialect: Arc<Dialect>) -> Box<dyn Predictor> {
    Box::new(PredictorExport::<W> {
        prediction: Prediction::new(&dialect),
        dialect,
        p99: (0, 0),
        greatest: 0,
    })
}

/// [`Predictor::advance`] appends these 32-bit numbers:
///
/// ```text
///   0  whether there is a local player      6  round trip of the last ping, µs
///   1  the current predicted tick           7  updates compared
///   2  its fraction, 1/65,536               8  updates that moved the local player
///   3  x, 4  y, in 1/65,536 px              9  the largest correction since the previous call, or
///                                              the previous value without one, 1/65,536 px
///   5  the lead, µs                        10  99th percentile of the corrections, 1/65,536 px
///  11  the number of events, and each of them as two numbers;
///      then further numbers of the game (`LocalWorld::export_numbers`)
/// ```
struct PredictorExport<W: LocalWorld> {
    dialect: Arc<Dialect>,
    prediction: Prediction<W>,
    /// Number of updates compared when the percentile was computed, and the percentile.
    p99: (u64, u32),
    /// The largest correction between two calls, from the last calls with a compared update.
    greatest: u32,
}

/// Number of updates after which the percentile is recomputed.
const PERCENTILE_EVERY: u64 = 30;

fn number(value: u64) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

fn micros(time: Option<Duration>) -> i32 {
    time.map_or(0, |time| number(time.as_micros() as u64))
}

impl<W: LocalWorld> Predictor for PredictorExport<W> {
    fn on_received(&mut self, message: &[u8], now: Duration) -> bool {
        let dialect = Arc::clone(&self.dialect);
        let packet = dialect.decode(Direction::ToClient, message);
        packet.map(|packet| self.prediction.on_packet(&packet, now)).is_ok()
    }

    fn on_datagram(&mut self, packet: &[u8], now: Duration) -> bool {
        let dialect = Arc::clone(&self.dialect);
        let packet = dialect.decode(Direction::ToClient, packet);
        packet.map(|packet| self.prediction.on_datagram_packet(&packet, now)).is_ok()
    }

    fn on_sent(&mut self, message: &[u8], now: Duration) -> bool {
        let dialect = Arc::clone(&self.dialect);
        self.prediction.on_sent(&dialect, message, now).is_ok()
    }

    fn advance(&mut self, now: Duration, out: &mut Vec<i32>) {
        let rendered = self.prediction.advance(now);
        let events = self.prediction.take_events();
        self.greatest = self.prediction.take_max_correction().unwrap_or(self.greatest);
        let (clock, corrections) = (self.prediction.clock(), self.prediction.corrections());
        let (tick, part, (x, y)) =
            rendered.map_or((0, 0, (0, 0)), |rendered| (rendered.tick.0, rendered.tick.1, rendered.at));
        out.extend([i32::from(rendered.is_some()), number(tick.into()), part.into(), x, y]);
        out.extend([micros(Some(clock.lead())), micros(clock.round_trip())]);
        out.extend([number(corrections.compared), number(corrections.count)]);
        if corrections.compared < self.p99.0 || corrections.compared >= self.p99.0 + PERCENTILE_EVERY {
            self.p99 = (corrections.compared, corrections.percentile(99));
        }
        let corrected = [self.greatest, self.p99.1];
        out.extend(corrected.map(|far| number(far.into())));
        out.push(number(events.len() as u64));
        events.iter().for_each(|event| out.extend(W::event_numbers(event)));
        if let Some(state) = self.prediction.state() {
            W::export_numbers(state, out);
        }
    }

    fn walk_on(&self, from: Position, velocity: Position, ticks: u32) -> Position {
        self.prediction.world().map_or(from, |world| world.extrapolate(from, velocity, ticks))
    }

    fn has_rules(&self) -> bool {
        self.prediction.world().is_some()
    }

    fn set_features(&mut self, switches: PredictionFeatures) {
        self.prediction.set_features(switches);
    }
}
