//! What the room of a simple game publishes of a tick.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use tickwire_sim::PlayerId;

use super::named_values::NamedValues;
use super::simple_game::OutgoingEvent;
use crate::game::UpdateRates;
use crate::packet::Dialect;

/// A message, or what does not fit the table.
pub type EncodedMessage = Result<Vec<u8>, String>;

/// The events of a tick, encoded for the first client that is told of them.
#[derive(Debug)]
pub struct SimpleEvents {
    pub(super) tick: u32,
    pub(super) events: Vec<OutgoingEvent>,
    pub(super) encoded: OnceLock<(String, Vec<EncodedMessage>)>,
}

/// The state after a tick.
#[derive(Debug)]
pub struct SimpleState {
    pub(super) rates: UpdateRates,
    pub(super) players: Vec<(PlayerId, Arc<str>)>,
    /// What each client alone is told of its player; empty without prediction.
    pub(super) own: Vec<(PlayerId, NamedValues)>,
    pub(super) row: NamedValues,
    /// Counts the changes of `row`; its argument `tick` does not count.
    pub(super) version: u64,
    pub(super) encoded: OnceLock<(String, EncodedMessage)>,
}

/// Encoded by the first that asks, and again only in another dialect, which no game of one file has.
pub fn encode_once<'c, T: Clone>(
    cell: &'c OnceLock<(String, T)>,
    dialect: &Dialect,
    encode: impl Fn() -> T,
) -> Cow<'c, T> {
    let (name, encoded) = cell.get_or_init(|| (dialect.name().to_owned(), encode()));
    if name == dialect.name() { Cow::Borrowed(encoded) } else { Cow::Owned(encode()) }
}
