//! What happened to the players of a room in a tick, for the program around the server.

use std::collections::BTreeMap;
use std::sync::Arc;

use tickwire_sim::{MembershipChange, PlayerId, StepResult};

use super::handle::RoomHandle;
use super::seat_keys::SeatKey;

/// A change of a player that the world has executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlayerChange {
    /// The player joined.
    Joined,
    /// The player's seat was suspended.
    Disconnected,
    /// A client resumed the player's suspended seat.
    Reconnected,
    /// The player left.
    Left,
}

/// A change of a player, with the player's display name and the key of its seat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlayerEvent {
    /// The change.
    pub change: PlayerChange,
    /// The player number.
    pub player: PlayerId,
    /// The display name.
    pub name: Arc<str>,
    /// The key of the seat, if it has one.
    pub key: Option<SeatKey>,
}

/// Collects the changes of each tick, and stores the names of the players for later changes.
#[derive(Debug, Default)]
pub(super) struct PlayerEvents {
    names: BTreeMap<PlayerId, Arc<str>>,
    /// Whether `names` contains the players of the world.
    has_names: bool,
    /// Changes of the tick, with the sequence number of the operator command of each.
    pending: Vec<(u64, MembershipChange)>,
}

impl PlayerEvents {
    /// Takes the changes that the commands of the next tick request. `names` returns the players of
    /// the world before the first of these ticks.
    pub(super) fn before_step(
        &mut self,
        changes: Vec<(u64, MembershipChange)>,
        names: impl FnOnce() -> Vec<(PlayerId, String)>,
    ) {
        if !std::mem::replace(&mut self.has_names, true) {
            self.names = names().into_iter().map(|(player, name)| (player, name.into())).collect();
        }
        self.pending = changes;
    }

    /// Returns the changes that the tick has executed: requested changes in the order of their
    /// commands, without rejected ones, then resumed seats and departures.
    pub(super) fn after_step(&mut self, stepped: &StepResult, handle: &RoomHandle) -> Vec<PlayerEvent> {
        let is_rejected = |sequence: u64| {
            let mut rejected = stepped.rejected.iter();
            rejected.any(|one| one.player == PlayerId::OPERATOR && one.sequence == sequence)
        };
        let mut events = Vec::new();
        for (sequence, change) in std::mem::take(&mut self.pending) {
            if is_rejected(sequence) {
                continue;
            }
            let (change, player) = match change {
                MembershipChange::Joined(player, name) => {
                    self.names.insert(player, name.into());
                    (PlayerChange::Joined, player)
                }
                MembershipChange::Disconnected(player) => (PlayerChange::Disconnected, player),
                MembershipChange::Reconnected(player) => (PlayerChange::Reconnected, player),
                MembershipChange::Left(_) => continue,
            };
            events.push(self.event(change, player, handle));
        }
        for player in handle.take_resumed() {
            events.push(self.event(PlayerChange::Reconnected, player, handle));
        }
        for player in &stepped.departed {
            events.push(self.event(PlayerChange::Left, *player, handle));
            self.names.remove(player);
        }
        events
    }

    fn event(&self, change: PlayerChange, player: PlayerId, handle: &RoomHandle) -> PlayerEvent {
        let name = self.names.get(&player).map_or_else(|| Arc::from(""), Arc::clone);
        PlayerEvent { change, player, name, key: handle.key_of(player) }
    }
}
