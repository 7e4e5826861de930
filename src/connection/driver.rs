//! The interface between a session and its driver: the server, a replay or a test.

use tickwire_sim::{PlayerId, RawCommand};

use super::events::ConnectionEvents;
use crate::connection::session::ReportedField;
use crate::game::{CloseReason, JoinRequest, SharedRateLimit};

/// The reason why a driver does not grant a request of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// Sends the client an `error` packet with this rule and remedy. The connection stays open.
    Rejected(&'static str, &'static str),
    /// Closes the client.
    Closed(CloseReason),
    /// Sends no reply now. The server closes a rejected client after a delay, and a replay takes
    /// the reply from its recording.
    Silent,
}

/// Executes the outputs of a session.
///
/// The driver also checks the rate limits of addresses, because they depend on other clients. A
/// replay takes the results from its recording.
pub trait Driver {
    /// Sends whole frames to the client.
    fn answer(&mut self, frames: &[u8]);
    /// Whether players need tokens. If so, every text that may be a token is redacted before the
    /// packet is handled. The default is false, because
    /// a replay reads an already redacted capture.
    fn requires_tokens(&self) -> bool {
        false
    }
    /// Checks the token of a `hello`, and whether the client may use lockstep if it requested it.
    /// `token` is `None` in dialects without `hello`. The default accepts every client.
    ///
    /// # Errors
    /// The client is rejected.
    fn authenticate(&mut self, _token: Option<&str>, _lockstep: bool) -> Result<(), Denial> {
        Ok(())
    }
    /// Starts updates for the client, in lockstep or as a stream. All earlier replies are queued.
    fn start_updates(&mut self, lockstep: bool);
    /// Assigns a player to the client: its previous player if it can resume, otherwise a new one.
    /// `since` is the last tick that a resuming client received. If `since` is set and the player
    /// is new, the driver informs the client.
    ///
    /// # Errors
    /// The join is rejected, or the client is closed.
    fn join(&mut self, profile: JoinRequest, since: Option<u32>) -> Result<PlayerId, Denial>;
    /// Queues a command for the tick `intended`, or for the next tick if the packet names none.
    /// `shared` is the rate limit for this command that all clients of an address share.
    ///
    /// # Errors
    /// The command is rejected, or the client is closed.
    fn command(
        &mut self,
        command: RawCommand,
        intended: Option<u32>,
        shared: Option<&'static SharedRateLimit>,
    ) -> Result<(), Denial>;
    /// Reports a rejected command, by its sequence number and the broken rule, in the client's next
    /// update. The default does nothing, for drivers without updates.
    fn reject_command(&mut self, _sequence: u64, _rule: &'static str) {}
    /// Sets the player that a client without a player spectates. `None` selects the leader.
    fn set_spectated(&mut self, player: Option<PlayerId>);
    /// Requests a snapshot for a lockstep client. The default does nothing, for drivers without
    /// updates.
    fn sync(&mut self) {}
    /// Compares the checksum of a lockstep client after `tick` completed ticks. The default does
    /// nothing.
    fn checksum(&mut self, _tick: u32, _checksum: u64) {}
    /// Records the fields that differ in a lockstep client's world after `tick` completed ticks.
    /// The default does nothing.
    fn report_desync_details(&mut self, _tick: u32, _fields: Vec<ReportedField>) {}
    /// The observer of the connection.
    fn books(&self) -> &dyn ConnectionEvents {
        &()
    }
}
