//! The choice of a user for the packets of connections.

use super::conversation::Conversation;
use crate::packet::{Dialect, PacketTables};

/// The name of the choice that no message is a packet.
pub const NO_DIALECT: &str = "none";

/// The choice of a user for the packets of connections.
#[derive(Clone, Copy, Debug)]
pub enum DialectChoice<'c> {
    /// The path of the request selects the dialect. This one applies without a request.
    FromPath(&'c Dialect),
    /// The packets are of this dialect, whatever the path.
    Fixed(&'c Dialect),
    /// No message is a packet. The dialect is not used.
    #[cfg_attr(target_family = "wasm", allow(dead_code, reason = "a choice of the command line"))]
    Foreign(&'c Dialect),
}

impl<'c> DialectChoice<'c> {
    /// Creates the conversation of a connection.
    pub fn conversation(self, codes: &'c PacketTables) -> Conversation<'c> {
        match self {
            DialectChoice::FromPath(otherwise) => Conversation::new(codes, otherwise),
            DialectChoice::Fixed(dialect) => Conversation::in_dialect(dialect),
            DialectChoice::Foreign(dialect) => Conversation::foreign(dialect),
        }
    }

    /// The dialect of packets outside of a connection.
    #[cfg(not(target_family = "wasm"))]
    pub fn dialect(self) -> &'c Dialect {
        let (DialectChoice::FromPath(dialect)
        | DialectChoice::Fixed(dialect)
        | DialectChoice::Foreign(dialect)) = self;
        dialect
    }
}
