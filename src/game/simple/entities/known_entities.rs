//! The entities that one client knows, and the update that brings it up to date.

use super::entity_diff::{EntityScratch, Received};
use super::entity_frame::EntityFrame;
use super::lane_entities::LaneEntities;
use super::sight::Viewer;
use crate::game::messages::{LaneBaseline, Messages};
use crate::game::simple::SimpleGame;
use crate::packet::{Dialect, Lane};

/// The entities that one client knows.
#[derive(Debug, Default)]
pub struct KnownEntities {
    /// The frame of the last update; 0 before the first.
    frame: u32,
    /// For each entity list, the ids in ascending order.
    pub(super) lists: Vec<Vec<u32>>,
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
            if !scratch.is_empty() {
                scratch.append_packet(frame.tick, list, &mut messages.writer(dialect, Lane::Latest));
            }
            std::mem::swap(known, &mut scratch.ids);
        }
        self.frame = frame.number;
    }
}
