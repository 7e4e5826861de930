//! The entities that one client gets by datagram, and the update that brings it up to date whatever
//! datagrams were lost.
//!
//! ```text
//!   acknowledged ─ sent ─ sent ─ sent ─► the next update
//!        └── in all of them: the client knows it ─► only what has changed since the first
//!        └── in some of them: it may know it ──────► enter, or leave
//! ```
//!
//! The client has applied the acknowledged update, and any of the later ones. So each update
//! contains everything that has changed since the acknowledged one, and no differences.

use std::collections::VecDeque;

use super::entity_diff::{EntityScratch, Received};
use super::entity_frame::EntityFrame;
use super::sight::Viewer;
use crate::game::messages::{LaneBaseline, Messages};
use crate::game::simple::SimpleGame;
use crate::limits;
use crate::packet::Dialect;

/// The entity lists of a client in the updates by datagram that it may have applied.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LaneEntities {
    /// The acknowledged update, if there is one, and all later ones.
    sent: VecDeque<SentFrame>,
    /// The ids that the client may know from the stream, until an update is acknowledged.
    before: Vec<Vec<u32>>,
    /// The ids of the list that is being compared that are in all updates, and in some.
    known: Vec<u32>,
    possible: Vec<u32>,
}

/// An update that was sent by datagram.
#[derive(Debug, Clone, PartialEq)]
struct SentFrame {
    tick: u32,
    /// Number of the frame.
    frame: u32,
    /// For each entity list, the ids in ascending order.
    lists: Vec<Vec<u32>>,
}

impl LaneEntities {
    /// Whether an update went by datagram since the last call. `known` gets all ids that the client
    /// may know.
    pub fn end(&mut self, known: &mut Vec<Vec<u32>>) -> bool {
        if self.sent.is_empty() && self.before.is_empty() {
            return false;
        }
        let lists = self.sent.iter().map(|sent| sent.lists.len()).max().unwrap_or(0).max(self.before.len());
        known.resize_with(lists, Vec::new);
        for (list, known) in known.iter_mut().enumerate() {
            known.extend(self.before.get(list).into_iter().flatten());
            known.extend(self.sent.iter().filter_map(|sent| sent.lists.get(list)).flatten());
            known.sort_unstable();
            known.dedup();
        }
        *self = LaneEntities::default();
        true
    }

    /// Appends the entity lists that the client may lack. `stream` has the ids that it may know
    /// from the stream.
    pub fn append_update<S: SimpleGame>(
        &mut self,
        (viewer, baseline): (Viewer, LaneBaseline),
        frame: &EntityFrame<S>,
        stream: &[Vec<u32>],
        dialect: &Dialect,
        scratch: &mut EntityScratch,
        messages: &mut Messages,
    ) {
        self.advance(baseline, stream);
        let encoded = frame.encoded(dialect);
        let mut lists = Vec::with_capacity(encoded.len());
        // Without an acknowledged update, the client has no entity for certain.
        let acked = self.sent.front().filter(|sent| Some(sent.tick) == baseline.acked_tick);
        let (is_acked, last) = (acked.is_some(), acked.map_or(0, |sent| sent.frame));
        for (at, list) in encoded.iter().enumerate() {
            let Some(index) = list.list.filter(|_| list.error.is_none()) else {
                lists.push(Vec::new());
                continue;
            };
            self.collect(at, is_acked);
            scratch.find_visible(viewer, frame, index);
            let received = Received { known: &self.known, possible: &self.possible, last, is_exact: false };
            scratch.compare(&received, frame, list, index);
            let out = &mut messages.datagram_writer(dialect);
            scratch.append_datagrams((viewer, &received), frame, list, index, out);
            lists.push(std::mem::take(&mut scratch.ids));
        }
        self.sent.push_back(SentFrame { tick: frame.tick, frame: frame.number, lists });
    }

    /// Drops the updates before the acknowledged one.
    fn advance(&mut self, LaneBaseline { acked_tick, .. }: LaneBaseline, stream: &[Vec<u32>]) {
        let acked = acked_tick.and_then(|acked| self.sent.iter().rposition(|sent| sent.tick == acked));
        match acked {
            Some(acked) => {
                self.sent.drain(..acked);
                self.before.clear();
            }
            None if self.sent.is_empty() => self.before = stream.to_vec(),
            None => {}
        }
        if self.sent.len() > limits::LANE_UNACKED_UPDATES {
            // The lists of the oldest updates count as possibly known.
            let mut known = Vec::new();
            self.end(&mut known);
            self.before = known;
        }
    }

    /// Collects the ids of a list that the client has for certain, and those that it may have.
    fn collect(&mut self, list: usize, is_acked: bool) {
        let LaneEntities { sent, before, known, possible } = self;
        let mut ids = sent.iter().map(|sent| sent.lists.get(list).map_or(&[][..], Vec::as_slice));
        possible.clear();
        possible.extend(before.get(list).into_iter().flatten());
        known.clear();
        if let Some(first) = ids.next() {
            possible.extend(first);
            known.extend(first.iter().filter(|_| is_acked));
        }
        for ids in ids {
            possible.extend(ids);
            known.retain(|id| ids.binary_search(id).is_ok());
        }
        possible.sort_unstable();
        possible.dedup();
    }
}
