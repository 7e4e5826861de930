//! Explains what lacks its upgrade: a message without its frames, as a browser's network panel or
//! a HAR file shows it, and frames after a known target or agreement.

use super::Conversation;
use super::compressed::Inflation;
use crate::tools::explain::explanation::{ExplainedFrame, Explanation, MESSAGE};
use crate::tools::explain::parse::frame_header::Extensions;
use crate::tools::explain::tree::Node;
use crate::util::plural::count_noun;
use crate::ws::Side;
use crate::ws::deflate::MAX_WINDOW_BITS;
use crate::ws::extension::SenderParameters;
use crate::ws::frame::Opcode;

impl<'c> Conversation<'c> {
    /// Explains a message, or the payload of a control frame, without a header. The result has one
    /// frame, whose tree begins with the payload.
    pub(crate) fn explain_message(&mut self, from: Side, opcode: Opcode, payload: &[u8]) -> Explanation<'c> {
        let inside = self.state.explain(payload, 0, opcode, from);
        let noun = if opcode.is_control() { "" } else { " message" };
        let line = format!("{}{noun}, {}", opcode.name(), count_noun(payload.len(), "byte"));
        let tree = Node::parent(MESSAGE, 0, vec![inside.node]).valued(line).raw(opcode.name());
        let frame = ExplainedFrame {
            payload: payload.to_vec(),
            content: inside.content,
            problem: inside.problem,
            alternatives: inside.otherwise,
            ..ExplainedFrame::new(0..payload.len(), tree)
        };
        let (dialect, is_foreign) = (self.dialect(), self.is_foreign());
        let (candidates, frames) = (self.state.candidates(), vec![frame]);
        Explanation { bytes: payload.to_vec(), from, dialect, is_foreign, candidates, frames }
    }

    /// The parameters of compression on which both sides have agreed for the messages of `from`.
    pub fn compression(&self, from: Side) -> Option<SenderParameters> {
        match from {
            Side::Client => self.client.inflation.parameters(),
            Side::Server => self.server.inflation.parameters(),
        }
    }

    /// Continues as after an agreement on permessage-deflate with its default parameters.
    pub(crate) fn agree_on_deflate(&mut self) {
        let sender = SenderParameters { context_takeover: true, window_bits: MAX_WINDOW_BITS };
        self.extensions = Extensions::Deflate;
        self.client.inflation = Inflation::new(Some(sender));
        self.server.inflation = Inflation::new(Some(sender));
    }

    /// Applies the target of an upgrade request whose head is not available.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn set_target(&mut self, target: &str) {
        let head = format!(
            "GET {target} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        );
        if target.bytes().all(|byte| byte.is_ascii_graphic()) {
            self.receive_each(Side::Client, head.as_bytes(), |_| {});
        }
    }
}
