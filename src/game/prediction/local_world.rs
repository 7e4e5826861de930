//! What a game says of the world of one client.

use std::fmt::Debug;

use tickwire_sim::{Action, Command, PlayerId};

use super::position::Position;
use super::remote_players::RemotePlayers;
use crate::game::packet_handler::PacketHandler;
use crate::packet::{DecodedPacket, Dialect};

/// What the server says of the commands of the own player.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acked {
    /// The sequence of the last command that it has applied.
    pub sequence: u64,
    /// How many ticks early (positive) or late that command arrived.
    pub margin_ticks: i16,
}

/// The world as one client knows it, run by the rules of the game.
pub trait LocalWorld: Sized + Debug + Send {
    /// What the own player does.
    type Action: Action;
    /// All that a step changes: the own player, and what its commands lead to.
    type State: Clone + Debug + Send;
    /// What the client shows once, such as a swing.
    type Event: Clone + Debug + Send;

    /// The name of the packet that tells the state after a tick, which its argument `tick` names.
    const UPDATE: &'static str;

    /// The world that `welcome` announces; `None` if this program does not have its rules.
    fn new(welcome: &DecodedPacket<'_>) -> Option<Self>;

    /// Ticks per second.
    fn tick_hz(&self) -> u32;

    /// What the packets of a client mean.
    fn packet_handler(dialect: &Dialect) -> Box<dyn PacketHandler>;

    /// Whether an action runs before the server has confirmed it.
    fn is_predicted(action: &Self::Action) -> bool;

    /// What an update says of the own player's commands, if it says something.
    fn acked(update: &DecodedPacket<'_>) -> Option<Acked>;

    /// Takes a packet of the server. `state` is the confirmed state, `None` while there is no own
    /// player; with an update it has been run up to the update's tick, and the packet corrects it.
    /// Returns whether anything changed.
    fn apply_packet(&mut self, packet: &DecodedPacket<'_>, state: &mut Option<Self::State>) -> bool;

    /// Notes what a packet says of others.
    fn collect_remote_players(&self, packet: &DecodedPacket<'_>, others: &mut RemotePlayers);

    /// The own player's number.
    fn own_player(&self) -> Option<PlayerId>;

    /// Runs one tick, and empties the list of commands. Returns the events of the own player.
    fn step(
        &mut self,
        tick: u32,
        state: &mut Self::State,
        commands: &mut Vec<Command<Self::Action>>,
    ) -> Option<Self::Event>;

    /// Where the own player is.
    fn position(state: &Self::State) -> Position;

    /// What a page shows of the own player besides its place: appends numbers.
    fn export_numbers(state: &Self::State, out: &mut Vec<i32>);

    /// An event as numbers, for a page.
    fn event_numbers(event: &Self::Event) -> [i32; 2];

    /// Where somebody who moves from a place, with a velocity in 1/65,536 px per tick, is so many
    /// ticks later if nothing new happens (dead reckoning).
    fn extrapolate(&self, from: Position, velocity: Position, ticks: u32) -> Position;
}
