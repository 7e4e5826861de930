//! The entities that one client knows, and the update that brings it up to date.

use super::entity_frame::{EncodedList, EntityChange, EntityFrame};
use super::layout::{EntityArgument, EntityLayout};
use super::sight::{EntityRef, Viewer};
use crate::game::encode_values::WireValues as _;
use crate::game::messages::Messages;
use crate::game::records::RecordList;
use crate::game::simple::SimpleGame;
use crate::packet::msgpack::write_uint;
use crate::packet::{Dialect, Lane};

/// The entities that one client knows.
#[derive(Debug, Default)]
pub struct KnownEntities {
    /// The frame of the last update; 0 before the first.
    frame: u32,
    /// For each entity list, the ids in ascending order.
    lists: Vec<Vec<u32>>,
}

/// Reusable buffers.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct EntityScratch {
    visible: Vec<u32>,
    ids: Vec<u32>,
    enter: RecordList,
    leave: RecordList,
    changes: Vec<RecordList>,
    /// For each change list, the id of its last record.
    last_ids: Vec<u32>,
}

impl KnownEntities {
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
        for (list, known) in encoded.iter().zip(&mut self.lists) {
            let Some(index) = list.list else { continue };
            if let Some(why) = &list.error {
                messages.writer(dialect, Lane::Reliable).misfit(frame.list(index).packet, why);
                continue;
            }
            scratch.find_visible(viewer, frame, index);
            scratch.compare(known, self.frame, frame, list, index);
            if !scratch.is_empty() {
                scratch.append_packet(frame.tick, list, dialect, messages);
            }
            std::mem::swap(known, &mut scratch.ids);
        }
        self.frame = frame.number;
    }
}

impl EntityScratch {
    /// Sets `visible`: the indexes of the entities that the client sees.
    fn find_visible<S: SimpleGame>(&mut self, viewer: Viewer, frame: &EntityFrame<S>, index: usize) {
        let list = frame.list(index);
        self.visible.clear();
        frame.append_visible(index, &frame.game.sight(viewer, list.packet), &mut self.visible);
        self.visible.retain(|&at| {
            let (id, info) = (Some(list.ids[at as usize]), list.infos[at as usize]);
            frame.game.sees(viewer, &EntityRef { packet: list.packet, id, info })
        });
    }

    /// Sets the records of a packet: the differences between the visible entities and the `known`
    /// entities, which the client has as of the frame `last`.
    fn compare<S>(
        &mut self,
        known: &[u32],
        last: u32,
        frame: &EntityFrame<S>,
        encoded: &EncodedList,
        index: usize,
    ) {
        let EntityScratch { visible, ids, enter, leave, changes, last_ids } = self;
        let list = frame.list(index);
        changes.resize_with(encoded.changes.len(), RecordList::default);
        changes.iter_mut().chain([&mut *enter, &mut *leave]).for_each(RecordList::clear);
        ids.clear();
        last_ids.clear();
        last_ids.resize(changes.len(), 0);
        // Ids are in ascending order, so differences are positive.
        let mut id_difference = |list: usize, id: u32| id - std::mem::replace(&mut last_ids[list], id);
        let mut known = known.iter().copied().peekable();
        for at in visible.iter().map(|at| *at as usize) {
            let id = list.ids[at];
            ids.push(id);
            while let Some(gone) = known.next_if(|known| *known < id) {
                leave.push(gone);
            }
            if known.next_if_eq(&id).is_none() {
                enter.copy(&encoded.enter, at);
            } else if last + 1 == frame.number {
                match encoded.entity_changes[at] {
                    EntityChange::Unchanged => {}
                    EntityChange::InLists(mut lists) => {
                        while lists != 0 {
                            let list = lists.trailing_zeros() as usize;
                            match encoded.layout.change_lists[list].has_id_differences {
                                true => changes[list].copy_after(
                                    id_difference(list, id),
                                    &encoded.changes[list],
                                    at,
                                ),
                                false => changes[list].copy(&encoded.changes[list], at),
                            }
                            lists &= lists - 1;
                        }
                    }
                    EntityChange::Enters => enter.copy(&encoded.enter, at),
                }
            } else if list.changes(at).iter().any(|changed_in| *changed_in > last) {
                // The client has missed frames, so the differences of this frame do not apply.
                let (layout, new, changed_in) = (&encoded.layout, list.row(at), list.changes(at));
                match layout.change_lists_for(new, None, |field| changed_in[field] > last) {
                    None => enter.copy(&encoded.enter, at),
                    Some(lists) => {
                        for (bit, (out, change_list)) in
                            changes.iter_mut().zip(&layout.change_lists).enumerate()
                        {
                            if lists & (1 << bit) != 0 {
                                out.push_encoded(1 + change_list.members.len(), |out| {
                                    if change_list.has_id_differences {
                                        write_uint(out, id_difference(bit, id).into());
                                    }
                                    layout.write_changes(change_list, new, None, out);
                                });
                            }
                        }
                    }
                }
            }
        }
        known.for_each(|gone| leave.push(gone));
    }

    fn is_empty(&self) -> bool {
        self.changes.iter().chain([&self.enter, &self.leave]).all(RecordList::is_empty)
    }

    fn append_packet(&self, tick: u32, list: &EncodedList, dialect: &Dialect, messages: &mut Messages) {
        let EntityLayout { arguments, required, .. } = &list.layout;
        let used =
            arguments.iter().rposition(|argument| self.list(*argument).is_none_or(|list| !list.is_empty()));
        let count = used.map_or(0, |last| last + 1).max(*required);
        let mut out = messages.writer(dialect, Lane::Latest);
        out.send_raw(&list.layout.packet, count, |out| {
            for argument in &arguments[..count] {
                match self.list(*argument) {
                    None => write_uint(out, tick.into()),
                    Some(list) => list.write(out),
                }
            }
        });
    }

    /// Returns the records of an argument; `None` for the tick.
    fn list(&self, argument: EntityArgument) -> Option<&RecordList> {
        match argument {
            EntityArgument::Tick => None,
            EntityArgument::Enter => Some(&self.enter),
            EntityArgument::Leave => Some(&self.leave),
            EntityArgument::Changes(at) => Some(&self.changes[at]),
        }
    }
}
