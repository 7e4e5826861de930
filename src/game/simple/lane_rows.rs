//! The state rows of a client that go by datagram.

use super::own_states::{OwnState, SentOwnState};
use super::published::{EncodedMessage, StateRow};
use super::table_check::OWN_STATE_PACKET;
use crate::game::messages::{LaneBaseline, MessageWriter};
use crate::packet::Dialect;

/// The state rows of a client as of its last update by datagram, each with the tick in which it
/// changed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LaneRows {
    rows: Vec<(u64, u32)>,
    own: Option<SentOwnState>,
    own_changed: u32,
    /// Whether an update went by datagram since the last one in the stream.
    is_used: bool,
}

impl LaneRows {
    /// Ends the updates by datagram. Returns whether there were any, so that the client may have
    /// other values than the stream has sent. Removes the rows, because the client drops packets of
    /// the stream that arrive after the next datagram.
    pub fn end(&mut self) -> bool {
        std::mem::take(self).is_used
    }

    /// Writes the rows that the client may lack.
    pub fn write(
        &mut self,
        (baseline, tick): (LaneBaseline, u32),
        rows: &[StateRow],
        own: Option<OwnState<'_>>,
        dialect: &Dialect,
        out: &mut MessageWriter<'_>,
    ) {
        self.is_used = true;
        self.rows.resize(rows.len(), (0, 0));
        for (row, (version, changed)) in rows.iter().zip(&mut self.rows) {
            if *version != row.version {
                (*version, *changed) = (row.version, tick);
            }
            if baseline.lacks(*changed) {
                send_encoded(row.packet(), &row.encoded(tick, dialect), out);
            }
        }
        let Some(own) = own else { return self.own = None };
        if own.store(&mut self.own) {
            self.own_changed = tick;
        }
        if baseline.lacks(self.own_changed) {
            out.send_encoded(OWN_STATE_PACKET, |dialect, out| own.encode_to(tick, dialect, out).is_ok());
        }
    }
}

/// Appends an encoded packet. A packet that does not fit its table is not sent.
pub fn send_encoded(packet: &'static str, encoded: &EncodedMessage, out: &mut MessageWriter<'_>) {
    out.send_encoded(packet, |_, out| {
        encoded.iter().for_each(|bytes| out.extend_from_slice(bytes));
        encoded.is_ok()
    });
}
