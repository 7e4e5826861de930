//! Commands: the only way to change a world.

use crate::{Action, EncodedAction, PlayerId};

/// An action, its issuer and its sequence number. The containing command frame determines the tick.
///
/// The order of the fields is the canonical order of commands within a tick. It is total, so the
/// order of arrival never matters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Command<Action> {
    /// The issuer; 0 is the operator.
    pub player: PlayerId,
    /// The sequence number: strictly increasing for each issuer, from 1. A command with a repeated
    /// number is rejected. In practice, 64 bits never overflow.
    pub sequence: u64,
    /// The action.
    pub action: Action,
}

/// A command with an encoded action. A server handles it without knowing the game.
pub type RawCommand = Command<EncodedAction>;

impl RawCommand {
    /// Decodes the action; `None` if the bytes are not exactly one action.
    pub fn decoded<A: Action>(&self) -> Option<Command<A>> {
        let Command { player, sequence, ref action } = *self;
        Some(Command { player, sequence, action: action.decoded()? })
    }
}

impl<A: Action> Command<A> {
    /// Encodes the action.
    pub fn encoded(&self) -> RawCommand {
        let Command { player, sequence, ref action } = *self;
        Command { player, sequence, action: action.encoded() }
    }
}
