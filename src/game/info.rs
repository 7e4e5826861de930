//! A game without its types, for rooms, sessions, captures and the console.

use std::fmt::{self, Debug};
use std::sync::Arc;

#[cfg(doc)]
use tickwire_sim::Sim;
use tickwire_sim::command_frame::CommandFrame;
use tickwire_sim::state_tree::{FieldDiff, StateTree};
use tickwire_sim::{
    Command, EncodedAction, Malformed, MembershipChange, OptionSpec, PlayerId, RawCommand, RestoreError,
    WorldParams,
};

use super::bots::hooks::{BotHooks, GameCheckHooks};
use super::dyn_tick::DynTick;
use super::messages::Messages;
use super::packet_handler::{JoinRequest, PacketHandler};
use crate::packet::{Dialect, Direction, PacketTables, TableError};

/// The constants and functions of a game, without its types.
#[non_exhaustive]
pub struct GameInfo {
    /// As [`Game::NAME`](super::Game::NAME).
    pub name: &'static str,
    /// As [`Game::PATHS`](super::Game::PATHS).
    pub paths: &'static [(&'static str, &'static str)],
    /// As [`Game::FOREIGN_DIALECTS`](super::Game::FOREIGN_DIALECTS).
    pub foreign_dialects: Option<&'static str>,
    /// As [`Game::TABLES`](super::Game::TABLES).
    pub tables: &'static [(&'static str, &'static str)],
    /// As [`Game::REQUIRED_PACKETS`](super::Game::REQUIRED_PACKETS).
    pub required_packets: &'static [&'static str],
    /// As [`Game::PAGE`](super::Game::PAGE).
    pub page: Option<&'static str>,
    /// As [`Game::RULES_JSON`](super::Game::RULES_JSON).
    pub rules: Option<fn() -> String>,
    /// As [`Game::OPERATOR_COMMANDS`](super::Game::OPERATOR_COMMANDS).
    pub operator_commands: &'static [OperatorCommand],
    /// As [`Game::KILL_PACKET`](super::Game::KILL_PACKET).
    pub kill_packet: Option<KillPacket>,
    /// Whether the game has prediction ([`Game::PREDICTOR`](super::Game::PREDICTOR)).
    pub is_predicted: bool,
    /// The bots of the game; `None` if it has none.
    pub bots: Option<BotHooks>,
    /// Checks of the game in a simulation.
    pub checks: GameCheckHooks,
    /// The options of the world.
    pub options: &'static [OptionSpec],
    /// The supported tick rates in Hz. The first is the default.
    pub tick_rates: &'static [u32],
    /// As [`Game::rules_hash`](super::Game::rules_hash).
    pub rules_hash: fn() -> u64,
    /// As [`Game::check`](super::Game::check).
    pub check: fn(&PacketTables) -> Result<(), TableError>,
    /// As [`Game::packet_handler`](super::Game::packet_handler).
    pub new_packet_handler: fn(&Dialect) -> Box<dyn PacketHandler>,
    /// As [`Game::join`](super::Game::join).
    pub join: fn(PlayerId, &JoinRequest) -> Vec<EncodedAction>,
    /// As [`Game::leave`](super::Game::leave).
    pub leave: fn(PlayerId) -> EncodedAction,
    /// As [`Game::disconnect`](super::Game::disconnect).
    pub disconnect: fn(PlayerId) -> EncodedAction,
    /// As [`Game::reconnect`](super::Game::reconnect).
    pub reconnect: fn(PlayerId) -> Option<EncodedAction>,
    /// Returns the parameters of a world with this seed and the default options.
    pub identity: fn(u32) -> WorldParams,
    /// Decodes a command frame of the game.
    pub frame: fn(&[u8]) -> Result<CommandFrame<EncodedAction>, Malformed>,
    /// Returns the join, leave, disconnect or reconnect that an action of the operator causes, if
    /// any.
    pub membership: fn(&EncodedAction) -> Option<MembershipChange>,
    /// Returns whether the server issues this action together with the player's join.
    pub accompanies_join: fn(&EncodedAction, PlayerId) -> bool,
    /// Describes an action in one line.
    pub describe_action: fn(&EncodedAction) -> String,
    /// As [`Sim::is_snapshot`].
    pub recognizes: fn(&[u8]) -> bool,
    /// Creates a new world.
    pub new_world: fn(&WorldParams) -> Box<dyn DynWorld>,
    /// Restores a world from a snapshot.
    pub restore: fn(&[u8]) -> DynWorldResult,
    /// Restores a world from a snapshot, with the view of one client of this dialect.
    pub new_spectator_world: fn(&[u8], &Arc<Dialect>) -> SpectatorWorldResult,
}

/// The packet that reports a kill to all clients: names of its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct KillPacket {
    /// Name of the packet.
    pub packet: &'static str,
    /// The argument that is true for a kill. `None` if the packet reports kills only.
    pub only_if: Option<&'static str>,
    /// The argument with the killed player, as a number or a name.
    pub victim: &'static str,
    /// The argument with the killer, as a number or a name. The argument is nil if there is no
    /// killer.
    pub killer: &'static str,
}

impl KillPacket {
    /// Creates the description of a packet that reports kills only: its name, and the arguments
    /// with the killed player and the killer.
    pub const fn new(packet: &'static str, victim: &'static str, killer: &'static str) -> KillPacket {
        KillPacket { packet, only_if: None, victim, killer }
    }

    /// Sets the argument that is true for a kill.
    #[must_use]
    pub const fn with_condition(self, argument: &'static str) -> KillPacket {
        KillPacket { only_if: Some(argument), ..self }
    }
}

impl GameInfo {
    /// Checks that the tables have the game's dialects, and that each dialect with `hello` has the
    /// packets that every client needs.
    ///
    /// # Errors
    /// Names the first missing row.
    pub fn check_tables(&self, codes: &PacketTables) -> Result<(), TableError> {
        for (_, name) in self.paths {
            let Some(dialect) = codes.dialect(name) else {
                let game = self.name;
                return Err(TableError::Game(format!(
                    "the packet tables lack the dialect {name}, which the game {game} needs"
                )));
            };
            if dialect.row(Direction::ToServer, "hello").is_none() {
                continue;
            }
            super::command_acks::check(&dialect)?;
            super::lockstep_packets::check(&dialect)?;
            let common = ["welcome", "spawned"].into_iter().chain(self.required_packets.iter().copied());
            let missing = common.map(|packet| (Direction::ToClient, packet));
            let mut missing = missing.chain([(Direction::ToServer, "join")]);
            if let Some((direction, packet)) =
                missing.find(|(side, packet)| dialect.row(*side, packet).is_none())
            {
                let direction = direction.name();
                let game = self.name;
                return Err(TableError::Game(format!(
                    "the dialect {name} lacks the packet {packet} {direction}, which the game {game} needs"
                )));
            }
        }
        (self.check)(codes)
    }
}

impl PartialEq for GameInfo {
    fn eq(&self, other: &GameInfo) -> bool {
        self.name == other.name
    }
}

impl Eq for GameInfo {}

impl GameInfo {
    /// Checks that the game supports a tick rate.
    ///
    /// # Errors
    /// Lists the supported rates.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn check_tick_hz(&self, hz: u32) -> Result<u32, String> {
        if self.tick_rates.contains(&hz) {
            return Ok(hz);
        }
        Err(format!("must be {}", self.describe_tick_rates()))
    }

    /// Returns the supported tick rates as text: `15, 20, 30 or 60`.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn describe_tick_rates(&self) -> String {
        let mut rates = self.tick_rates.to_vec();
        rates.sort_unstable();
        let rates: Vec<String> = rates.iter().map(u32::to_string).collect();
        match rates.split_last() {
            Some((last, others @ [_, ..])) => format!("{} or {last}", others.join(", ")),
            _ => rates.concat(),
        }
    }

    /// Merges the packet tables of these games, each table once, and checks their rows.
    ///
    /// # Errors
    /// Describes an invalid table with its file and line, or names a missing row.
    pub fn tables_of(games: &[&GameInfo]) -> Result<PacketTables, TableError> {
        let mut tables = Vec::new();
        for table in games.iter().flat_map(|info| info.tables) {
            if !tables.contains(table) {
                tables.push(*table);
            }
        }
        let codes = PacketTables::from_texts(&tables)?;
        games.iter().try_for_each(|info| info.check_tables(&codes))?;
        Ok(codes)
    }
}

impl Debug for GameInfo {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "About({})", self.name)
    }
}

/// The reason why an operator command has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OperatorCommandError {
    /// There is no such command, or its arguments are invalid. The text describes the expected
    /// arguments. From [`OperatorCommand::parse`] it may be empty: the error then has the usage
    /// text of the command.
    Usage(String),
    /// The reason why the command is impossible.
    Failed(String),
}

impl fmt::Display for OperatorCommandError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OperatorCommandError::Usage(text) | OperatorCommandError::Failed(text) => out.write_str(text),
        }
    }
}

impl std::error::Error for OperatorCommandError {}

impl From<String> for OperatorCommandError {
    fn from(reason: String) -> OperatorCommandError {
        OperatorCommandError::Failed(reason)
    }
}

/// Finds a player by the number or name that the operator typed.
pub type PlayerLookup<'a> = &'a dyn Fn(&str) -> Result<PlayerId, OperatorCommandError>;

/// The action of an operator command, and the reply after its execution.
pub type ParsedCommand = Result<(EncodedAction, String), OperatorCommandError>;

/// An operator command that a game adds.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct OperatorCommand {
    /// Name and arguments.
    pub usage: &'static str,
    /// Description of the effect.
    pub help: &'static str,
    /// Parses the arguments.
    pub parse: fn(&str, PlayerLookup<'_>) -> ParsedCommand,
}

impl OperatorCommand {
    /// Creates a command. The first word of `usage` is its name.
    pub const fn new(
        usage: &'static str,
        help: &'static str,
        parse: fn(&str, PlayerLookup<'_>) -> ParsedCommand,
    ) -> OperatorCommand {
        OperatorCommand { usage, help, parse }
    }
}

impl Debug for OperatorCommand {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Order({})", self.usage)
    }
}

/// A restored world, or the reason why the world cannot be restored.
pub type DynWorldResult = Result<Box<dyn DynWorld>, RestoreError>;

/// A world of any game, for replays and checks.
pub trait DynWorld: Debug {
    /// As [`Sim::tick`].
    fn tick(&self) -> u32;
    /// As [`Sim::identity`].
    fn identity(&self) -> WorldParams;
    /// As [`Sim::checksum`].
    fn checksum(&self) -> u64;
    /// As [`Sim::snapshot`].
    fn snapshot(&self) -> Vec<u8>;
    /// Returns every scalar of the state with its path.
    fn state(&self) -> StateTree;
    /// Changes one scalar, for tests of desyncs. Returns the difference.
    fn corrupt(&mut self, seed: u64) -> Option<FieldDiff>;
    /// As [`Sim::players`].
    fn players(&self) -> Vec<PlayerId>;
    /// Executes one tick with these commands. Actions that do not decode are skipped; the commands
    /// must have been decoded once before.
    fn step(&mut self, commands: &[Command<EncodedAction>]);
}

/// A world that is replayed, with the view of one client.
///
/// A lockstep client or a playback runs the world itself, but draws from server packets. This type
/// produces these packets with the game's own publisher and view after each tick.
pub trait SpectatorWorld: Debug + Send {
    /// Returns the world.
    fn world(&self) -> &dyn DynWorld;

    /// Returns the world for changes that are not commands.
    fn world_mut(&mut self) -> &mut dyn DynWorld;

    /// Executes one tick with these commands, and appends the client's update. If `player` is
    /// `None`, the update is for a spectator of the player `spectated`, or of the leader if
    /// `spectated` is `None`.
    fn step(
        &mut self,
        commands: &[RawCommand],
        player: Option<PlayerId>,
        spectated: Option<PlayerId>,
        messages: &mut Messages,
    );

    /// Executes one tick without an update. The next update includes its events.
    fn step_without_update(&mut self, commands: &[RawCommand]);

    /// Returns the players in the world, with their names.
    fn names(&self) -> Vec<(PlayerId, String)>;

    /// Returns the view as an independent feed. This world gets a new view, which has sent nothing
    /// yet.
    fn detach_feed(&mut self) -> Box<dyn ClientFeed>;

    /// Returns the published result of the last [`SpectatorWorld::step`]. `None` before the first.
    fn published(&self) -> Option<Arc<dyn DynTick>>;
}

/// Updates of one client for a world that is stepped elsewhere.
pub trait ClientFeed: Debug + Send {
    /// Appends the client's update for the next tick. If `player` is `None`, the update is for a
    /// spectator of the player `spectated`, or of the leader if `spectated` is `None`.
    fn append_update(
        &mut self,
        tick: &dyn DynTick,
        player: Option<PlayerId>,
        spectated: Option<PlayerId>,
        messages: &mut Messages,
    );
}

/// A restored world with a view, or the reason why the world cannot be restored.
pub type SpectatorWorldResult = Result<Box<dyn SpectatorWorld>, RestoreError>;
