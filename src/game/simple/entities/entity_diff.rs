//! The differences between the entities that a client sees and those that it has.

use super::entity_frame::{EncodedList, EntityChange, EntityFrame};
use super::index_set::IndexSet;
use super::layout::{EntityArgument, EntityLayout};
use super::sight::{EntityRef, Viewer};
use crate::game::encode_values::WireValues as _;
use crate::game::messages::MessageWriter;
use crate::game::records::RecordList;
use crate::game::simple::SimpleGame;
use crate::game::simple::rows::FieldValue;
use crate::limits;
use crate::packet::msgpack::write_uint;

/// Most bytes of a packet besides its records: its envelope, the tick, and the heads of its lists.
const HEAD_BYTES: usize = 48;

/// The entities of one list that a client has.
#[derive(Debug, Clone, Copy)]
pub struct Received<'a> {
    /// The ids that the client has, in ascending order.
    pub known: &'a [u32],
    /// The ids that the client may have, in ascending order: `known`, and others.
    pub possible: &'a [u32],
    /// The frame whose values the client has; it may have newer ones.
    pub last: u32,
    /// Whether the client has exactly the values of that frame, so that differences apply.
    pub is_exact: bool,
}

/// Reusable buffers.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct EntityScratch {
    included: IndexSet,
    visible: Vec<u32>,
    pub(super) ids: Vec<u32>,
    enter: RecordList,
    leave: RecordList,
    changes: ChangeRecords,
    /// Whether a visible entity has a velocity.
    is_moving: bool,
}

/// The records of the change lists of a packet.
#[derive(Debug, Default)]
struct ChangeRecords {
    lists: Vec<RecordList>,
    /// For each list, the id of its last record.
    last_ids: Vec<u32>,
}

impl ChangeRecords {
    /// Starts a packet with this number of lists. The others stay empty, and keep their memory.
    fn begin(&mut self, lists: usize) {
        self.lists.resize_with(self.lists.len().max(lists), RecordList::default);
        self.lists.iter_mut().for_each(RecordList::clear);
        self.last_ids.clear();
        self.last_ids.resize(lists, 0);
    }

    /// Returns the difference of an id to the one before. Ids are in ascending order.
    fn id_difference(&mut self, list: usize, id: u32) -> u32 {
        id - std::mem::replace(&mut self.last_ids[list], id)
    }

    /// Copies the encoded record of an entity.
    fn copy(&mut self, list: usize, encoded: &EncodedList, at: usize, id: u32) {
        let records = &encoded.changes[list];
        if encoded.layout.change_lists[list].has_id_differences {
            let difference = self.id_difference(list, id);
            self.lists[list].copy_after(difference, records, at);
        } else {
            self.lists[list].copy(records, at);
        }
    }

    /// Appends a record without differences of values.
    fn push_values(&mut self, list: usize, layout: &EntityLayout, new: &[FieldValue], id: u32) {
        let change_list = &layout.change_lists[list];
        let difference = change_list.has_id_differences.then(|| self.id_difference(list, id));
        self.lists[list].push_encoded(1 + change_list.members.len(), |out| {
            if let Some(difference) = difference {
                write_uint(out, difference.into());
            }
            layout.write_changes(change_list, new, None, out);
        });
    }
}

impl EntityScratch {
    /// Sets `visible`: the indexes of the entities that the client sees.
    pub(super) fn find_visible<S: SimpleGame>(
        &mut self,
        viewer: Viewer,
        frame: &EntityFrame<S>,
        index: usize,
    ) {
        let list = frame.list(index);
        let sight = frame.game.sight(viewer, list.packet);
        frame.find_included(index, &sight, &mut self.included, &mut self.visible);
        self.visible.retain(|&at| {
            let (id, info) = (Some(list.ids[at as usize]), list.infos[at as usize]);
            frame.game.sees(viewer, &EntityRef { packet: list.packet, id, info })
        });
    }

    /// Appends the packet that [`EntityScratch::compare`] has set, or several packets if it does
    /// not fit into a datagram: the leaves first, then the entities from near to far.
    pub(super) fn append_datagrams<S: SimpleGame>(
        &mut self,
        (viewer, received): (Viewer, &Received<'_>),
        frame: &EntityFrame<S>,
        encoded: &EncodedList,
        index: usize,
        out: &mut MessageWriter<'_>,
    ) {
        if !self.has_records() && !self.is_moving {
            return;
        }
        if self.bytes() <= limits::LANE_PACKET_BYTES {
            return self.append_packet(frame.tick, encoded, out);
        }
        if self.has_leaves() {
            self.enter.clear();
            self.changes.begin(encoded.changes.len());
            self.append_packet(frame.tick, encoded, out);
        }
        let list = frame.list(index);
        let sight = frame.game.sight(viewer, list.packet);
        let (ids, mut visible) = (std::mem::take(&mut self.ids), std::mem::take(&mut self.visible));
        visible.sort_by_cached_key(|at| sight.distance(&list.infos[*at as usize]));
        let received = Received { possible: &[], ..*received };
        let (near, far) = visible.split_at(visible.len() / 2);
        for part in [near, far] {
            self.append_part(part, &received, frame, encoded, index, out);
        }
        (self.ids, self.visible) = (ids, visible);
    }

    /// Appends the packet of a part of the visible entities, or of both halves if it is too long.
    fn append_part<S: SimpleGame>(
        &mut self,
        part: &[u32],
        received: &Received<'_>,
        frame: &EntityFrame<S>,
        encoded: &EncodedList,
        index: usize,
        out: &mut MessageWriter<'_>,
    ) {
        self.visible.clear();
        self.visible.extend_from_slice(part);
        self.visible.sort_unstable();
        self.compare(received, frame, encoded, index);
        if self.bytes() > limits::LANE_PACKET_BYTES && part.len() > 1 {
            let (near, far) = part.split_at(part.len() / 2);
            self.append_part(near, received, frame, encoded, index, out);
            self.append_part(far, received, frame, encoded, index, out);
        } else if self.has_records() {
            self.append_packet(frame.tick, encoded, out);
        }
    }

    /// Bytes of the records, and of what is around them.
    fn bytes(&self) -> usize {
        let lists = self.changes.lists.iter().chain([&self.enter, &self.leave]);
        lists.map(|list| list.bytes.len()).sum::<usize>() + HEAD_BYTES
    }

    /// Sets the records of a packet: the differences between the visible entities and those that
    /// the client has.
    pub(super) fn compare<S>(
        &mut self,
        received: &Received<'_>,
        frame: &EntityFrame<S>,
        encoded: &EncodedList,
        index: usize,
    ) {
        let EntityScratch { visible, ids, enter, leave, changes, is_moving, .. } = self;
        let last = received.last;
        let list = frame.list(index);
        [&mut *enter, &mut *leave].into_iter().for_each(RecordList::clear);
        changes.begin(encoded.changes.len());
        ids.clear();
        *is_moving = false;
        // Usually both are the same list.
        let is_certain = std::ptr::eq(received.known, received.possible);
        let mut known = received.known.iter().copied().peekable();
        let mut possible = received.possible.iter().copied().peekable();
        for at in visible.iter().map(|at| *at as usize) {
            let id = list.ids[at];
            ids.push(id);
            *is_moving |= list.is_moving(at);
            while let Some(gone) = possible.next_if(|possible| *possible < id) {
                leave.push(gone);
            }
            let is_possible = possible.next_if_eq(&id).is_some();
            let is_known = if is_certain {
                is_possible
            } else {
                while known.next_if(|known| *known < id).is_some() {}
                known.next_if_eq(&id).is_some()
            };
            if !is_known {
                enter.copy(&encoded.enter, at);
            } else if received.is_exact && last + 1 == frame.number {
                match encoded.entity_changes[at] {
                    EntityChange::Unchanged => {}
                    EntityChange::InLists(mut lists) => {
                        while lists != 0 {
                            let list = lists.trailing_zeros() as usize;
                            changes.copy(list, encoded, at, id);
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
                        let is_used = |bit: &usize| lists & (1 << bit) != 0;
                        (0..layout.change_lists.len())
                            .filter(is_used)
                            .for_each(|list| changes.push_values(list, layout, new, id));
                    }
                }
            }
        }
        possible.for_each(|gone| leave.push(gone));
    }

    /// Whether anything has changed.
    pub(super) fn has_records(&self) -> bool {
        !self.changes.lists.iter().chain([&self.enter, &self.leave]).all(RecordList::is_empty)
    }

    /// Whether a visible entity moves by a velocity.
    pub(super) fn is_moving(&self) -> bool {
        self.is_moving
    }

    pub(super) fn has_leaves(&self) -> bool {
        !self.leave.is_empty()
    }

    pub(super) fn append_packet(&self, tick: u32, list: &EncodedList, out: &mut MessageWriter<'_>) {
        let EntityLayout { arguments, required, .. } = &*list.layout;
        let used =
            arguments.iter().rposition(|argument| self.list(*argument).is_none_or(|list| !list.is_empty()));
        let count = used.map_or(0, |last| last + 1).max(*required);
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
            EntityArgument::Changes(at) => Some(&self.changes.lists[at]),
        }
    }
}
