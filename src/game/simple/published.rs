//! The published state and events of a simple game.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use tickwire_sim::PlayerId;

use super::named_values::NamedValues;
use super::simple_game::OutgoingEvent;
use crate::game::UpdateRates;
use crate::packet::Dialect;

/// An encoded message, or the rule that the values violate.
pub type EncodedMessage = Result<Vec<u8>, String>;

/// The events of a tick. They are encoded for the first client that receives them.
#[derive(Debug)]
pub struct SimpleEvents {
    pub(super) tick: u32,
    pub(super) events: Vec<OutgoingEvent>,
    pub(super) encoded: OnceLock<(String, Vec<EncodedMessage>)>,
}

/// The state after a tick, encoded for the first client that receives it.
#[derive(Debug)]
pub struct SimpleState {
    pub(super) rates: UpdateRates,
    pub(super) players: Vec<(PlayerId, Arc<str>)>,
    /// The values of `own_state` for each player. Empty without prediction.
    pub(super) own: Vec<(PlayerId, NamedValues)>,
    pub(super) row: NamedValues,
    /// Number of changes of `row`. Its argument `tick` is not compared.
    pub(super) version: u64,
    pub(super) encoded: OnceLock<(String, EncodedMessage)>,
}

/// Returns the cached encoding, or encodes on the first call. Another dialect would be encoded on
/// every call, but a simple game has only one.
pub fn encode_once<'c, T: Clone>(
    cell: &'c OnceLock<(String, T)>,
    dialect: &Dialect,
    encode: impl Fn() -> T,
) -> Cow<'c, T> {
    let (name, encoded) = cell.get_or_init(|| (dialect.name().to_owned(), encode()));
    if name == dialect.name() { Cow::Borrowed(encoded) } else { Cow::Owned(encode()) }
}
