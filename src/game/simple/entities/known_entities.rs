//! The entities that one client knows, and the update that brings it up to date.

use super::entity_diff::{EntityScratch, Received};
use super::entity_frame::EntityFrame;
use super::lane_entities::LaneEntities;
use super::sight::Viewer;
use crate::game::messages::{LaneBaseline, Messages};
use crate::game::simple::SimpleGame;
use crate::limits;
use crate::packet::{Dialect, Lane};

/// Number of updates in which a list with a moving entity has a packet at least once, so that the
/// client knows the tick to which the entity moves. Pages show a state of two updates ago.
const MOVING_UPDATES: u32 = 2;

/// The entities that one client knows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KnownEntities {
    /// The frame of the last update; 0 before the first.
    frame: u32,
    /// For each entity list, the ids in ascending order.
    pub(super) lists: Vec<Vec<u32>>,
    /// For each entity list, the ids whose `leave` was sent in the stream since the last datagram.
    /// A client drops these packets if a datagram overtakes them. Without a lane, only the ids of
    /// the last update, because a lane may be granted before that update is sent.
    left: Vec<Vec<u32>>,
    /// For each entity list, the frame of its last packet in the stream, or a newer one if that
    /// packet is older than [`MOVING_UPDATES`].
    sent: Vec<u32>,
    /// For each entity list, whether the client may lack some of the ids, or their values.
    is_uncertain: Vec<bool>,
    /// The entities that the client receives by datagram.
    lane: LaneEntities,
}

impl KnownEntities {
    /// Ends the updates by datagram. The next update in the stream assumes nothing about what the
    /// client got.
    pub fn end_lane(&mut self) {
        let mut possible = Vec::new();
        if self.lane.end(&mut possible) {
            self.is_uncertain = vec![true; possible.len()];
            self.lists = possible;
        }
    }

    /// Appends the entity lists that a client may lack, in packets that go by datagram.
    pub fn append_datagram<S: SimpleGame>(
        &mut self,
        to: (Viewer, LaneBaseline),
        frame: &EntityFrame<S>,
        dialect: &Dialect,
        scratch: &mut EntityScratch,
        messages: &mut Messages,
    ) {
        // The next datagram repeats these leaves. `end_lane` replaces the lists before the stream
        // uses them again.
        for (list, left) in self.lists.iter_mut().zip(&mut self.left).filter(|(_, left)| !left.is_empty()) {
            list.append(left);
            list.sort_unstable();
            list.dedup();
        }
        self.lane.append_update(to, frame, &self.lists, dialect, scratch, messages);
    }

    /// Appends the entity lists that have changed for a client since its last update.
    pub fn append_update<S: SimpleGame>(
        &mut self,
        viewer: Viewer,
        frame: &EntityFrame<S>,
        dialect: &Dialect,
        scratch: &mut EntityScratch,
        messages: &mut Messages,
    ) {
        let encoded = frame.encoded(dialect);
        self.lists.resize_with(encoded.len(), Vec::new);
        self.left.resize_with(encoded.len(), Vec::new);
        self.sent.resize(encoded.len(), 0);
        self.is_uncertain.resize(encoded.len(), false);
        for (at, (list, known)) in encoded.iter().zip(&mut self.lists).enumerate() {
            let Some(index) = list.list else { continue };
            if let Some(why) = &list.error {
                messages.writer(dialect, Lane::Reliable).misfit(frame.list(index).packet, why);
                continue;
            }
            scratch.find_visible(viewer, frame, index);
            let is_known = !std::mem::take(&mut self.is_uncertain[at]);
            let received = Received {
                known: if is_known { known } else { &[] },
                possible: known,
                last: self.frame,
                is_exact: true,
            };
            scratch.compare(&received, frame, list, index);
            let is_tick_due = frame.number - self.sent[at] >= MOVING_UPDATES;
            if scratch.has_records() || (is_tick_due && scratch.is_moving()) {
                self.sent[at] = frame.number;
                scratch.append_packet(frame.tick, list, &mut messages.writer(dialect, Lane::Latest));
            }
            self.sent[at] = self.sent[at].max(frame.number.saturating_sub(MOVING_UPDATES));
            let left = &mut self.left[at];
            if !messages.has_lane() {
                left.clear();
            }
            if scratch.has_leaves() {
                left.retain(|id| known.binary_search(id).is_err());
                left.extend(known.iter().filter(|id| scratch.ids.binary_search(id).is_err()));
                let excess = left.len().saturating_sub(limits::LANE_STREAM_LEAVES);
                left.drain(..excess);
            }
            std::mem::swap(known, &mut scratch.ids);
        }
        self.frame = frame.number;
    }
}
