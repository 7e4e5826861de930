//! The world of one client, as a game implements it for prediction.

use std::fmt::Debug;

use tickwire_sim::{Action, Command, PlayerId};

use super::position::Position;
use super::remote_players::RemotePlayers;
use crate::game::packet_handler::PacketHandler;
use crate::packet::{DecodedPacket, Dialect};

/// The server's ack for the commands of the local player.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acked {
    /// Sequence number of the last command that the server has applied.
    pub sequence: u64,
    /// Lead of that command in ticks; negative if the command was late.
    pub margin_ticks: i16,
}

/// The world as one client knows it, simulated by the rules of the game.
pub trait LocalWorld: Sized + Debug + Send {
    /// The actions of the local player.
    type Action: Action;
    /// All state that a step changes: the local player, and the effects of its commands.
    type State: Clone + Debug + Send;
    /// One-time effects to render, such as a swing.
    type Event: Clone + Debug + Send;

    /// Name of the packet with the state after a tick. Its argument `tick` names that tick.
    const UPDATE: &'static str;
    /// Whether [`LocalWorld::UPDATE`] also contains entities that enter and leave the view, so that
    /// an update of the stream has an effect after a newer one by datagram.
    const UPDATE_HAS_ENTERS: bool = false;

    /// Creates the world that `welcome` describes. Returns `None` if this program has other rules.
    fn new(welcome: &DecodedPacket<'_>) -> Option<Self>;

    /// Returns the ticks per second.
    fn tick_hz(&self) -> u32;

    /// Creates the packet handler of a client.
    fn packet_handler(dialect: &Dialect) -> Box<dyn PacketHandler>;

    /// Returns whether an action is simulated before the server's ack.
    fn is_predicted(action: &Self::Action) -> bool;

    /// Returns the ack that an update contains, if any.
    fn acked(update: &DecodedPacket<'_>) -> Option<Acked>;

    /// Applies a received packet. `state` is the confirmed state, `None` without a local player.
    /// For an update, `state` has been simulated up to the update's tick, and the packet corrects
    /// it. Returns whether anything changed.
    fn apply_packet(&mut self, packet: &DecodedPacket<'_>, state: &mut Option<Self::State>) -> bool;

    /// Records the positions of remote players that a packet contains.
    fn collect_remote_players(&self, packet: &DecodedPacket<'_>, others: &mut RemotePlayers);

    /// Returns the number of the local player.
    fn own_player(&self) -> Option<PlayerId>;

    /// Executes one tick, and clears the list of commands. Returns the event of the local player,
    /// if any.
    fn step(
        &mut self,
        tick: u32,
        state: &mut Self::State,
        commands: &mut Vec<Command<Self::Action>>,
    ) -> Option<Self::Event>;

    /// Returns the position of the local player.
    fn position(state: &Self::State) -> Position;

    /// Appends further numbers of the local player for the page.
    fn export_numbers(state: &Self::State, out: &mut Vec<i32>);

    /// Converts an event to numbers for the page.
    fn event_numbers(event: &Self::Event) -> [i32; 2];

    /// Extrapolates (dead reckoning): returns the position after `ticks`, if the entity continues
    /// with this velocity in 1/65,536 px per tick.
    fn extrapolate(&self, from: Position, velocity: Position, ticks: u32) -> Position;
}
