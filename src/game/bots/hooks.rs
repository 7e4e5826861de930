//! The functions that a game provides for bots and for the simulator, without the game's type.

use std::fmt;

use tickwire_sim::{EncodedAction, PlayerId};

#[cfg(doc)]
use super::Tolerance;
use super::rng::BotRng;
use super::{Agent, BotSpec};
use crate::game::dyn_tick::DynTick;
use crate::packet::Dialect;

/// The functions of `GameBots`, without the game's type.
#[derive(Debug, Clone, Copy)]
pub struct BotHooks {
    /// See `GameBots::agent`.
    pub agent: fn(&BotSpec) -> Box<dyn Agent>,
    /// See `GameBots::has_policy`.
    pub has_policy: fn() -> bool,
    /// See `GameBots::compare_view`.
    pub compare_view: CompareView,
}

/// The first difference between two states that must agree, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateMismatch(pub String);

impl From<String> for StateMismatch {
    fn from(difference: String) -> StateMismatch {
        StateMismatch(difference)
    }
}

impl fmt::Display for StateMismatch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for StateMismatch {}

/// The type of `GameBots::compare_view`.
pub type CompareView = fn(&dyn Agent, Option<PlayerId>, &dyn DynTick) -> Result<bool, StateMismatch>;

/// A client variant in a simulation: the dialect, the path, and whether it uses JSON.
pub type ClientVariant = (&'static str, &'static str, bool);

/// A packet of a misbehaving client, or of a client that uses its limits to the full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StressPacket {
    /// Joins as a player, with the name of another player.
    Join,
    /// Joins as a spectator.
    Watch,
    /// Sends a harmless command. The values are the command's sequence number and random bits.
    Act(u32, u64),
    /// Sends a command that is visible to other clients, and therefore limited per address. The
    /// values are the command's sequence number, and whether the command starts or ends something.
    Share(u32, bool),
    /// Spectates a player; `None` for the leader.
    Spectate(Option<u16>),
}

/// An action of the operator in a simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatorEvent {
    /// Name under which the event is counted.
    pub name: &'static str,
    /// The command.
    pub action: EncodedAction,
    /// Whether the event grants resources to the player; see [`Tolerance::OperatorGift`].
    pub is_gift: bool,
    /// Whether the event sends a numbered notice to every client. The `reliable_hashes` of each
    /// client then contain the number.
    pub is_notice: bool,
}

/// Input for an operator action: a random number from 7 to 399 (smaller numbers are reserved for
/// the simulator); a player; the number of the next notice; and the last published tick.
pub type OperatorInput<'a> = (u32, Option<PlayerId>, u32, Option<&'a dyn DynTick>);

/// The type of `GameChecks::compare_absence`.
pub type CompareAbsence = fn(&dyn DynTick, &dyn DynTick, PlayerId) -> Result<bool, StateMismatch>;

/// The functions of `GameChecks`, without the game's type.
#[derive(Debug, Clone, Copy)]
pub struct GameCheckHooks {
    /// See `GameChecks::CLIENT_VARIANTS`.
    pub client_variants: &'static [ClientVariant],
    /// See `GameChecks::compare_absence`.
    pub compare_absence: CompareAbsence,
    /// See `GameChecks::operator_event`.
    pub operator_event: fn(OperatorInput<'_>, &mut BotRng) -> Option<OperatorEvent>,
    /// See `GameChecks::stress_packet`.
    pub stress_packet: fn(&Dialect, StressPacket) -> Vec<u8>,
    /// See `GameChecks::event_hashes`.
    pub event_hashes: fn(&dyn DynTick, Option<PlayerId>, &Dialect) -> Vec<u32>,
}

impl GameCheckHooks {
    /// The hooks of a game without checks.
    pub const NONE: GameCheckHooks = GameCheckHooks {
        client_variants: &[],
        compare_absence: |_, _, _| Ok(false),
        operator_event: |_, _| None,
        stress_packet: |_, _| Vec::new(),
        event_hashes: |_, _, _| Vec::new(),
    };
}
