//! Prediction without the game's types: bytes in, numbers out. For a page, which has it as
//! WebAssembly.

use std::sync::Arc;
use std::time::Duration;

use super::local_world::LocalWorld;
use super::position::Position;
use super::prediction::{Prediction, PredictionFeatures};
use crate::packet::{Dialect, Direction};

/// The [`Prediction`] of any game, in a dialect.
pub trait Predictor: Send {
    /// Takes a message of the server. Returns whether it is a packet.
    fn on_received(&mut self, message: &[u8], now: Duration) -> bool;

    /// Takes a message that the client sends. Returns whether it is a packet.
    fn on_sent(&mut self, message: &[u8], now: Duration) -> bool;

    /// Advances to `now`, and appends the numbers of the state to render, in the order of this file's list.
    fn advance(&mut self, now: Duration, out: &mut Vec<i32>);

    /// As [`LocalWorld::walk_on`]; the place itself before `welcome`.
    fn walk_on(&self, from: Position, velocity: Position, ticks: u32) -> Position;

    /// As [`Prediction::switch`].
    fn set_features(&mut self, switches: PredictionFeatures);
}

/// Makes the predictor of a game.
pub type NewPredictor = fn(Arc<Dialect>) -> Box<dyn Predictor>;

/// The predictor of a game whose client's world this is.
pub fn start<W: LocalWorld + 'static>(dialect: Arc<Dialect>) -> Box<dyn Predictor> {
    Box::new(PredictorExport::<W> {
        prediction: Prediction::new(&dialect),
        dialect,
        p99: (0, 0),
        greatest: 0,
    })
}

/// [`Predictor::advance`] appends, as numbers of 32 bits:
///
/// ```text
///   0  whether there is an own player       6  the round trip of the last ping, µs
///   1  the running tick                     7  updates compared
///   2  its fraction, 1/65,536               8  updates that moved the own player
///   3  x, 4  y, in 1/65,536 px              9  the greatest correction since the last call in which
///                                              an update was compared, 1/65,536 px
///   5  the lead, µs                        10  the correction that 99 % did not exceed, 1/65,536 px
///  11  the number of events, and each of them as two numbers;
///      then what the game shows besides (`LocalWorld::numbers`)
/// ```
struct PredictorExport<W: LocalWorld> {
    dialect: Arc<Dialect>,
    prediction: Prediction<W>,
    /// How many updates were compared when the percentile was computed, and the percentile.
    p99: (u64, u32),
    /// The greatest correction of the last updates that arrived together.
    greatest: u32,
}

/// Updates after which the percentile is computed again.
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

    fn on_sent(&mut self, message: &[u8], now: Duration) -> bool {
        let dialect = Arc::clone(&self.dialect);
        self.prediction.on_sent(&dialect, message, now).is_ok()
    }

    fn advance(&mut self, now: Duration, out: &mut Vec<i32>) {
        let shown = self.prediction.advance(now);
        let events = self.prediction.take_events();
        self.greatest = self.prediction.take_max_correction().unwrap_or(self.greatest);
        let (clock, corrections) = (self.prediction.clock(), self.prediction.corrections());
        let (tick, part, (x, y)) =
            shown.map_or((0, 0, (0, 0)), |shown| (shown.tick.0, shown.tick.1, shown.at));
        out.extend([i32::from(shown.is_some()), number(tick.into()), part.into(), x, y]);
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

    fn set_features(&mut self, switches: PredictionFeatures) {
        self.prediction.switch(switches);
    }
}
