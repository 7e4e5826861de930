//! What a conversation asks of its surroundings: the server's host and room, the recording of a replay,
//! a test.

use tickwire_sim::{PlayerId, RawCommand};

use super::events::ConnectionEvents;
use crate::connection::session::ReportedField;
use crate::game::{CloseReason, JoinRequest, SharedRateLimit};

/// Why a request of a client is not granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// The client is told the rule and the remedy, and goes on.
    Rejected(&'static str, &'static str),
    /// The client is closed.
    Closed(CloseReason),
    /// Nothing is answered: a replay finds the answer in its recording.
    Silent,
}

/// What a conversation may ask for. Limits per address are judged here, so that a replay comes to
/// the same verdict as the server.
pub trait Driver {
    /// Sends whole frames to the client.
    fn answer(&mut self, frames: &[u8]);
    /// Whether those who play have tokens: then what may be a token is overwritten before it is handled,
    /// wherever it stands. A replay has it overwritten.
    fn requires_tokens(&self) -> bool {
        false
    }
    /// Judges whether the client may be greeted, by the token in its `hello`, and whether it may
    /// follow in lockstep if it asks for that. In a dialect without hello it says no token there. A
    /// driver without tokens greets everyone.
    ///
    /// # Errors
    /// The client is turned away.
    fn authenticate(&mut self, _token: Option<&str>, _lockstep: bool) -> Result<(), Denial> {
        Ok(())
    }
    /// The client follows its room from now on, in lockstep or as a stream; its earlier answers are
    /// queued.
    fn start_updates(&mut self, lockstep: bool);
    /// Gives the client a body: the one that it had, if it has one to come back to. If it says `since`
    /// which tick it has missed what happened, and begins anew, it is told so.
    ///
    /// # Errors
    /// The reason why not.
    fn join(&mut self, profile: JoinRequest, since: Option<u32>) -> Result<PlayerId, Denial>;
    /// Queues a command, meant for a tick if its packet names one. `shared` is the budget that the
    /// clients of an address share for it.
    ///
    /// # Errors
    /// The reason why not.
    fn command(
        &mut self,
        command: RawCommand,
        intended: Option<u32>,
        shared: Option<&'static SharedRateLimit>,
    ) -> Result<(), Denial>;
    /// Answers a command that was not queued, with the client's next update: its sequence, and the
    /// rule. A driver without updates has nothing to do.
    fn reject_command(&mut self, _sequence: u64, _rule: &'static str) {}
    /// Sets the player to watch without a body; `None` is the leader.
    fn set_spectated(&mut self, player: Option<PlayerId>);
    /// The client in lockstep asks for a snapshot. A driver without updates has nothing to do, as with
    /// the next two.
    fn sync(&mut self) {}
    /// The client in lockstep has this checksum after so many ticks.
    fn checksum(&mut self, _tick: u32, _checksum: u64) {}
    /// These fields differed in the world of the client in lockstep, after so many ticks.
    fn report_desync_details(&mut self, _tick: u32, _fields: Vec<ReportedField>) {}
    /// Where the conversation is noted.
    fn books(&self) -> &dyn ConnectionEvents {
        &()
    }
}
