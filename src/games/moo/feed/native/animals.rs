//! The animals of one native client.
//!
//! A client without a lane receives them in `animals` and `animals_gone`. A client with a lane
//! receives them in `update`, by datagram while the lane is in use: everything that it may lack
//! since the acknowledged tick.

use std::collections::VecDeque;

use super::records;
use super::update_input::UpdateInput;
use crate::game::RecordList;
use crate::games::moo::feed::interest::UpdateLayout;
use crate::games::moo::feed::merge_diff::{Change, diff_sorted};
use crate::games::moo::feed::pose::Pose;
use crate::games::moo::feed::published_state::animal_number;
use crate::games::moo::world::EntityId;
use crate::limits;

/// An animal as last sent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LastAnimal {
    pose: Pose,
    health: u16,
    /// The tick of the last change while the client's lane is in use; otherwise 0.
    changed: u32,
}

/// Records of animals that are collected until their packet is written.
#[derive(Debug, Default)]
pub struct AnimalLists {
    /// Animals that are new or have changed.
    pub changed: RecordList,
    /// Animals that left the view or died.
    pub gone: RecordList,
    /// The known set after the update.
    next: Vec<(EntityId, LastAnimal)>,
}

/// Animals that left the view of a client with a lane, each with the tick of that update. The
/// client may still have them, because a packet may be lost or overtaken.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GoneAnimals(VecDeque<(EntityId, u32)>);

impl GoneAnimals {
    /// Collects the changes since the update before, and updates the known set.
    pub fn update(
        &mut self,
        known: &mut Vec<(EntityId, LastAnimal)>,
        now: UpdateInput<'_>,
        lists: &mut AnimalLists,
    ) {
        let (animals, tick) = (&now.state.animals, now.state.tick);
        let records = animals.records(UpdateLayout::Native, records::animal);
        let visible = now.look.animals.iter().map(|index| (*index as usize, &animals[*index as usize]));
        for change in diff_sorted(known.iter(), |(id, _)| *id, visible, |(_, animal)| animal.id) {
            let (index, animal, known) = match change {
                Change::Present((index, animal), known) => (index, animal, known.map(|(_, last)| *last)),
                Change::Removed((id, _)) => {
                    lists.gone.push(animal_number(*id));
                    self.0.extend(now.has_lane.then_some((*id, tick)));
                    continue;
                }
            };
            let (pose, health) = (Pose::of(&animal.body), animal.body.health);
            let same = known.filter(|last| (last.pose, last.health) == (pose, health) && !now.is_lane_start);
            let changed = now.lane.map_or(0, |_| tick);
            let last = same.unwrap_or(LastAnimal { pose, health, changed });
            if now.lane.map_or(same.is_none() || now.is_after_lane, |lane| lane.lacks(last.changed)) {
                lists.changed.copy(records, index);
            }
            lists.next.push((animal.id, last));
        }
        std::mem::swap(known, &mut lists.next);
        lists.next.clear();
        if now.has_lane {
            self.collect(known, now, &mut lists.gone);
        }
    }

    /// Collects the animals that the client may still have.
    fn collect(&mut self, known: &[(EntityId, LastAnimal)], now: UpdateInput<'_>, gone: &mut RecordList) {
        self.0.retain(|(id, _)| known.binary_search_by_key(id, |(known, _)| *known).is_err());
        let excess = self.0.len().saturating_sub(limits::LANE_STREAM_LEAVES);
        self.0.drain(..excess);
        if now.is_lane_start {
            self.0.iter_mut().for_each(|(_, tick)| *tick = now.state.tick);
        }
        if let Some(lane) = now.lane {
            self.0.retain(|(_, tick)| lane.lacks(*tick));
        }
        if now.lane.is_some() || now.is_after_lane {
            gone.clear();
            self.0.iter().for_each(|(id, _)| gone.push(animal_number(*id)));
        }
    }
}
