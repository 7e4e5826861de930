//! Player ids.

/// The id of a player, assigned by the server before the player joins. 0 is the operator, which has
/// no body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlayerId(pub u16);

impl PlayerId {
    /// The issuer of the server's own commands, such as joins and leaves.
    pub const OPERATOR: PlayerId = PlayerId(0);

    /// The player; `None` for the operator.
    pub fn as_player(self) -> Option<PlayerId> {
        Some(self).filter(|id| *id != PlayerId::OPERATOR)
    }
}
