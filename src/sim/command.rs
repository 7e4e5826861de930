//! Commands: the only way to change a world.

use crate::{Action, EncodedAction, PlayerId};

/// An action, its issuer and its sequence. The tick is the one in which it is executed.
///
/// The order of the fields is the canonical order of commands within a tick. It is total, so the
/// order of arrival never matters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Command<Action> {
    /// The player; 0 for the operator.
    pub player: PlayerId,
    /// Strictly increasing for each issuer, from 1; a repeated sequence is rejected. With 64 bits,
    /// no issuer runs out of them.
    pub sequence: u64,
    /// The action.
    pub action: Action,
}

/// A command whose action is bytes, as a server handles it, whatever the game.
pub type RawCommand = Command<EncodedAction>;

impl RawCommand {
    /// The command with its action read; `None` if the bytes are not exactly one action.
    pub fn decoded<A: Action>(&self) -> Option<Command<A>> {
        let Command { player, sequence, ref action } = *self;
        Some(Command { player, sequence, action: action.decoded()? })
    }
}

impl<A: Action> Command<A> {
    /// The command with its action as bytes.
    pub fn encoded(&self) -> RawCommand {
        let Command { player, sequence, ref action } = *self;
        Command { player, sequence, action: action.encoded() }
    }
}
