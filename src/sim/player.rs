//! The number of a player.

/// The number of a player, chosen by the server before the player joins. 0 is the operator, who has
/// no body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlayerId(pub u16);

impl PlayerId {
    /// The issuer of the server's own commands, such as joins and leaves.
    pub const OPERATOR: PlayerId = PlayerId(0);

    /// The player, unless it is the operator.
    pub fn as_player(self) -> Option<PlayerId> {
        Some(self).filter(|id| *id != PlayerId::OPERATOR)
    }
}
