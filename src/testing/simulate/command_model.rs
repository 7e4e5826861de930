//! Compares the commands that a room queues for its players with the commands that its ticks
//! execute.

use std::collections::{BTreeMap, VecDeque};

use tickwire_sim::{Command, EncodedAction, PlayerId, RawCommand};

use super::failure::InvariantFailure;

/// Name of the invariant.
pub const COMMANDS_RUN_ONCE: &str = "every command runs once and in order";

/// The queued commands of each player, in the order in which they were queued.
#[derive(Debug, Default)]
pub struct CommandModel {
    queued: BTreeMap<PlayerId, VecDeque<RawCommand>>,
}

impl CommandModel {
    /// Records that the room queued a command.
    pub fn on_queued(&mut self, command: &RawCommand) {
        self.queued.entry(command.player).or_default().push_back(command.clone());
    }

    /// Checks the commands of players in a tick. `is_player` returns whether a player is still in
    /// the world; the room drops the commands of the others. Returns the number of commands.
    ///
    /// # Errors
    /// A command was not queued, was executed before, or was executed after a later one.
    pub fn check(
        &mut self,
        executed: &[Command<EncodedAction>],
        is_player: impl Fn(PlayerId) -> bool,
    ) -> Result<u64, InvariantFailure> {
        let mut count = 0;
        for command in executed.iter().filter(|command| command.player != PlayerId(0)) {
            let queued = self.queued.entry(command.player).or_default();
            // The room may have dropped earlier commands, for example at a resume.
            let Some(at) = queued.iter().position(|one| one == command) else {
                let detail =
                    format!("command {} of player {} was not queued", command.sequence, command.player.0);
                return Err(InvariantFailure::new(COMMANDS_RUN_ONCE, detail));
            };
            queued.drain(..=at);
            count += 1;
        }
        self.queued.retain(|player, queued| is_player(*player) && !queued.is_empty());
        Ok(count)
    }
}
