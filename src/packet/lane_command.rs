//! Classifies a client's packets for its lane.

use super::dialect::Dialect;
use super::lane_packets::is_command;
use super::row::Direction;

/// The kind of a packet to the server. Only commands go by datagram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaneCommand {
    /// A command with its sequence number and target tick.
    Command(u32, Option<u32>),
    /// A packet `join`, after which the server counts commands from the next one.
    Join,
    /// Any other packet.
    Other,
}

impl LaneCommand {
    /// Reads a packet in MessagePack.
    pub fn read(dialect: &Dialect, message: &[u8]) -> LaneCommand {
        let Ok(packet) = dialect.decode(Direction::ToServer, message) else { return LaneCommand::Other };
        match packet.integer("sequence").filter(|_| is_command(packet.row)) {
            Some(sequence) => LaneCommand::Command(sequence, packet.integer("tick")),
            None if packet.row.name == "join" => LaneCommand::Join,
            None => LaneCommand::Other,
        }
    }
}
