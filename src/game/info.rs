//! A game without its types: what hosts, sessions, captures and the console use of it.

use std::fmt::{self, Debug};
use std::sync::Arc;

#[cfg(doc)]
use tickwire_sim::Sim;
use tickwire_sim::command_frame::CommandFrame;
use tickwire_sim::state_tree::{FieldDiff, StateTree};
use tickwire_sim::{
    Command, EncodedAction, Malformed, MembershipChange, OptionSpec, PlayerId, RawCommand, WorldParams,
};

use super::bots::BotHooks;
#[cfg(not(target_family = "wasm"))]
use super::bots::CheckHooks;
use super::dyn_tick::DynTick;
use super::messages::Messages;
use super::packet_handler::{JoinRequest, PacketHandler};
use crate::packet::{Dialect, Direction, PacketTables};

/// A game without its types: what hosts, sessions, captures and the console use of it.
pub struct GameInfo {
    /// As [`Game::NAME`](super::Game::NAME).
    pub name: &'static str,
    /// As [`Game::PATHS`](super::Game::PATHS).
    pub paths: &'static [(&'static str, &'static str)],
    /// As [`Game::FOREIGN`](super::Game::FOREIGN).
    pub foreign_dialects: Option<&'static str>,
    /// As [`Game::TABLES`](super::Game::TABLES).
    pub tables: &'static [(&'static str, &'static str)],
    /// As [`Game::NEEDS`](super::Game::NEEDS).
    pub required_packets: &'static [&'static str],
    /// As [`Game::PAGE`](super::Game::PAGE).
    pub page: Option<&'static str>,
    /// As [`Game::RULES`](super::Game::RULES).
    pub rules: Option<fn() -> String>,
    /// As [`Game::ORDERS`](super::Game::ORDERS).
    pub operator_commands: &'static [OperatorCommand],
    /// As [`Game::KILL`](super::Game::KILL).
    pub kill_packet: Option<KillPacket>,
    /// The bots of the game; `None` if it has none.
    pub bots: Option<BotHooks>,
    /// Checks of the game in a simulation.
    #[cfg(not(target_family = "wasm"))]
    pub checks: CheckHooks,
    /// The options of its world.
    pub options: &'static [OptionSpec],
    /// The tick rates with which it works, in Hz; the first is the default.
    pub tick_rates: &'static [u32],
    /// As [`Game::code_hash`](super::Game::code_hash).
    pub code_hash: fn() -> u64,
    /// As [`Game::check`](super::Game::check).
    pub check: fn(&PacketTables) -> Result<(), String>,
    /// As [`Game::verbs`](super::Game::verbs).
    pub verbs: fn(&Dialect) -> Box<dyn PacketHandler>,
    /// As [`Game::join`](super::Game::join).
    pub join: fn(PlayerId, &JoinRequest) -> Vec<EncodedAction>,
    /// As [`Game::leave`](super::Game::leave).
    pub leave: fn(PlayerId) -> EncodedAction,
    /// As [`Game::away`](super::Game::away).
    pub disconnect: fn(PlayerId) -> EncodedAction,
    /// The identity with the defaults of its options.
    pub identity: fn(u32) -> WorldParams,
    /// Reads a command frame of the game.
    pub frame: fn(&[u8]) -> Result<CommandFrame<EncodedAction>, Malformed>,
    /// Whom an action of the operator lets in or makes leave.
    pub membership: fn(&EncodedAction) -> Option<MembershipChange>,
    /// Whether the server gives an action with the join of a player, not the operator.
    pub comes_with_join: fn(&EncodedAction, PlayerId) -> bool,
    /// An action in words.
    pub words: fn(&EncodedAction) -> String,
    /// As [`Sim::is_snapshot`].
    pub recognizes: fn(&[u8]) -> bool,
    /// A world that begins.
    pub begin: fn(&WorldParams) -> Box<dyn DynWorld>,
    /// A world that goes on from a snapshot, or why it cannot, in words.
    pub restore: fn(&[u8]) -> DynWorldResult,
    /// The world of a snapshot, and what a client of this dialect would be told of it.
    pub look: fn(&[u8], &Arc<Dialect>) -> SpectatorWorldResult,
}

/// The packet that tells everybody that a player was killed: names of its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KillPacket {
    /// The packet.
    pub packet: &'static str,
    /// The argument that is true if it was a kill; `None` if the packet tells nothing else.
    pub only_if: Option<&'static str>,
    /// The player who was killed: its number, or its name.
    pub victim: &'static str,
    /// The player who killed, likewise; nil if nobody did.
    pub killer: &'static str,
}

impl GameInfo {
    /// Checks that tables have what the game needs: its dialects, and in each of them that has a hello,
    /// the packets without which nobody can play.
    ///
    /// # Errors
    /// The first that is missing, by name.
    pub fn check_tables(&self, codes: &PacketTables) -> Result<(), String> {
        for (_, name) in self.paths {
            let Some(dialect) = codes.dialect(name) else {
                return Err(format!(
                    "the packet tables lack the dialect {name}, which the game {} needs",
                    self.name
                ));
            };
            if dialect.row(Direction::ToServer, "hello").is_none() {
                continue;
            }
            super::command_acks::check(&dialect)?;
            super::lockstep_packets::check(&dialect)?;
            let common = ["welcome", "spawned"].into_iter().chain(self.required_packets.iter().copied());
            let missing = common.map(|packet| (Direction::ToClient, packet));
            let mut missing = missing.chain([(Direction::ToServer, "enter")]);
            if let Some((direction, packet)) =
                missing.find(|(side, packet)| dialect.row(*side, packet).is_none())
            {
                let direction = direction.name();
                return Err(format!(
                    "the dialect {name} lacks the packet {packet} {direction}, which the game {} needs",
                    self.name
                ));
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
    /// Checks a tick rate.
    ///
    /// # Errors
    /// The game does not work with it.
    pub fn check_tick_hz(&self, hz: u32) -> Result<u32, String> {
        if self.tick_rates.contains(&hz) {
            return Ok(hz);
        }
        Err(format!("must be {}", self.describe_tick_rates()))
    }

    /// The tick rates in words: `15, 20, 30 or 60`.
    pub fn describe_tick_rates(&self) -> String {
        let mut rates = self.tick_rates.to_vec();
        rates.sort_unstable();
        let rates: Vec<String> = rates.iter().map(u32::to_string).collect();
        match rates.split_last() {
            Some((last, others @ [_, ..])) => format!("{} or {last}", others.join(", ")),
            _ => rates.concat(),
        }
    }

    /// The packet tables of these games, each table once. They have what each of the games needs.
    ///
    /// # Errors
    /// A table cannot be used, with its file, line and reason; or what is missing, by name.
    pub fn codes_of(games: &[&GameInfo]) -> Result<PacketTables, String> {
        let mut tables = Vec::new();
        for table in games.iter().flat_map(|about| about.tables) {
            if !tables.contains(table) {
                tables.push(*table);
            }
        }
        let codes = PacketTables::from_texts(&tables).map_err(|error| error.to_string())?;
        games.iter().try_for_each(|about| about.check_tables(&codes))?;
        Ok(codes)
    }
}

impl Debug for GameInfo {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "About({})", self.name)
    }
}

/// What the operator typed behind the name of a command cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperatorCommandError {
    /// What was expected, in words, or nothing if the usage says it all.
    Usage(String),
    /// The reason.
    Failed(String),
}

impl From<String> for OperatorCommandError {
    fn from(reason: String) -> OperatorCommandError {
        OperatorCommandError::Failed(reason)
    }
}

/// Finds the player whom the operator names.
pub type PlayerLookup<'a> = &'a dyn Fn(&str) -> Result<PlayerId, OperatorCommandError>;

/// What an order makes of its arguments: the action, and what is answered once it has been executed.
pub type ParsedCommand = Result<(EncodedAction, String), OperatorCommandError>;

/// A command of the operator that a game adds.
#[derive(Clone, Copy)]
pub struct OperatorCommand {
    /// Its name and arguments.
    pub usage: &'static str,
    /// Its effect.
    pub help: &'static str,
    /// Reads the arguments.
    pub parse: fn(&str, PlayerLookup<'_>) -> ParsedCommand,
}

impl Debug for OperatorCommand {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Order({})", self.usage)
    }
}

/// A world that goes on, or why it cannot, in words.
pub type DynWorldResult = Result<Box<dyn DynWorld>, String>;

/// A world of any game that is stepped again.
pub trait DynWorld: Debug {
    /// As [`Sim::tick`].
    fn tick(&self) -> u32;
    /// As [`Sim::identity`].
    fn identity(&self) -> WorldParams;
    /// As [`Sim::checksum`].
    fn checksum(&self) -> u64;
    /// As [`Sim::snapshot`].
    fn snapshot(&self) -> Vec<u8>;
    /// Every scalar of its state, with its place.
    fn state(&self) -> StateTree;
    /// Changes one scalar.
    fn corrupt(&mut self, seed: u64) -> Option<FieldDiff>;
    /// As [`Sim::players`].
    fn players(&self) -> Vec<PlayerId>;
    /// Runs one tick with these commands. An action that cannot be read is left out: whoever made
    /// the commands has read them.
    fn step(&mut self, commands: &[Command<EncodedAction>]);
}

/// A world that is stepped again, and what one client would be told of it.
///
/// A client in lockstep, and whoever watches a recording, has the world but draws what a server tells.
/// An onlooker is the server's end of that: the game's own publisher and view, after each tick.
pub trait SpectatorWorld: Debug + Send {
    /// The world.
    fn world(&self) -> &dyn DynWorld;

    /// The world, to change it by other means than commands.
    fn world_mut(&mut self) -> &mut dyn DynWorld;

    /// Runs one tick with these commands, and appends what the client is told after it: that of this
    /// player, or a spectator of the watched one, or of the leader.
    fn step(
        &mut self,
        commands: &[RawCommand],
        player: Option<PlayerId>,
        watched: Option<PlayerId>,
        messages: &mut Messages,
    );

    /// Runs one tick with these commands, and says nothing yet: what happens in it is told with the next
    /// step, and the state after that step alone.
    fn step_without_update(&mut self, commands: &[RawCommand]);

    /// The players in the world, and their names.
    fn names(&self) -> Vec<(PlayerId, String)>;

    /// The client's part, which from now on is told by itself: another client begins here.
    fn detach_feed(&mut self) -> Box<dyn ClientFeed>;

    /// What was published of the last tick that [`SpectatorWorld::step`] ran; `None` before the first.
    fn published(&self) -> Option<Arc<dyn DynTick>>;
}

/// What one client is told of the ticks of a world that somebody else steps.
pub trait ClientFeed: Debug + Send {
    /// Appends what the client is told after this tick, which follows the one before: that of this player,
    /// or a spectator of the watched one, or of the leader.
    fn append_update(
        &mut self,
        tick: &dyn DynTick,
        player: Option<PlayerId>,
        watched: Option<PlayerId>,
        messages: &mut Messages,
    );
}

/// An onlooker, or why the bytes are no snapshot, in words.
pub type SpectatorWorldResult = Result<Box<dyn SpectatorWorld>, String>;
