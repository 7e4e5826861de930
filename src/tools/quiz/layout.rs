//! The layout of an answer's bytes: which explainer names their bits.

use crate::packet::Dialect;
use crate::tools::explain::parse::datagram;
use crate::tools::explain::tree::{BYTE, Node};
use crate::tools::explain::{Conversation, ExplainedFrame, Explanation, PAYLOAD_FIELD, UNREAD_FIELD};
use crate::ws::Side;
use crate::ws::frame::Opcode;

/// A named part of bytes that are no frame: its name, and its number of bits.
pub type Part = (&'static str, usize);

/// The layout of bytes.
#[derive(Clone, Debug)]
pub enum Layout {
    /// Frames of one side after an upgrade.
    Frames(Side),
    /// Frames of a server, after an agreement on permessage-deflate.
    Deflate,
    /// A frame of a client of the game.
    GameFrame,
    /// A packet of a client of the game.
    Packet,
    /// A value in MessagePack.
    Value,
    /// A datagram of a client, opened.
    Datagram,
    /// Other bytes.
    Parts(Vec<Part>),
}

impl Layout {
    /// Explains bytes of this layout.
    pub fn explain<'c>(&self, dialect: &'c Dialect, bytes: &[u8]) -> Explanation<'c> {
        let game = matches!(self, Layout::GameFrame | Layout::Packet);
        let mut conversation =
            if game { Conversation::in_dialect(dialect) } else { Conversation::foreign(dialect) };
        conversation.start_after_upgrade(false);
        let from = match self {
            Layout::Frames(side) => *side,
            Layout::Deflate => {
                conversation.agree_on_deflate();
                Side::Server
            }
            Layout::Datagram => return datagram::explain(bytes, Side::Client, dialect),
            Layout::Packet | Layout::Value => {
                return conversation.explain_message(Side::Client, Opcode::Binary, bytes);
            }
            Layout::Parts(parts) => {
                let mut explanation = conversation.explain(Side::Client, &[]);
                let tree = Node::parent("bytes", 0, vec![name_parts(parts, bytes)]);
                explanation.frames.push(ExplainedFrame::new(0..bytes.len(), tree));
                explanation.bytes = bytes.to_vec();
                return explanation;
            }
            Layout::GameFrame => Side::Client,
        };
        conversation.explain(from, bytes)
    }
}

/// Returns a node with a leaf for each part, as far as the bytes go.
fn name_parts(parts: &[Part], bytes: &[u8]) -> Node {
    let (mut leaves, mut at, end) = (Vec::new(), 0, bytes.len() * BYTE);
    for (name, bits) in parts {
        let place = at..end.min(at + bits);
        at = place.end;
        if !place.is_empty() {
            leaves.push(Node::leaf(*name, place, ""));
        }
    }
    if at < end {
        leaves.push(Node::leaf(UNREAD_FIELD, at..end, "too many"));
    }
    Node::parent(PAYLOAD_FIELD, 0, leaves)
}
