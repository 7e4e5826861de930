//! The entities of a game at one update.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use tickwire_sim::spatial_index::SpatialIndex;

use super::entity_values::{Entities, EntityValues};
use super::index_set::IndexSet;
use super::layout::EntityLayout;
use super::received_entities::ReceivedEntities;
use super::sight::{EntityInfo, EntityRef, Sight, Viewer};
use crate::game::records::Records;
use crate::game::simple::SimpleGame;
use crate::game::simple::encode_once::encode_once;
use crate::game::simple::recycled::Recycled;
use crate::packet::Dialect;

/// The entities of a game at one update, shared by the views of all clients.
#[derive(Debug)]
pub struct EntityFrame<S> {
    /// Number of the frame, from 1.
    pub number: u32,
    /// Ticks completed.
    pub tick: u32,
    /// The state, which decides who sees what.
    pub game: S,
    lists: Arc<Vec<EntityValues>>,
    /// The lists of the frame before, and the ticks since then.
    previous: Option<(Arc<Vec<EntityValues>>, u32)>,
    indexes: Vec<ListIndex>,
    layouts: LayoutCache,
    encoded: OnceLock<(String, Arc<Vec<EncodedList>>)>,
}

/// The layouts of all entity lists of a dialect, which all frames of a game share.
type LayoutCache = Arc<OnceLock<(String, Vec<Arc<EntityLayout>>)>>;

/// Finds the entities of a list that a sight includes. Entities are their indexes in the list. Each
/// index is built for the first client that needs it.
#[derive(Debug, Default)]
struct ListIndex {
    positions: OnceLock<SpatialIndex<u32>>,
    /// The entities with an owner: see [`keyed`].
    owners: OnceLock<Vec<u64>>,
    /// The entities with a team: see [`keyed`].
    teams: OnceLock<Vec<u64>>,
}

/// How an entity has changed since the frame before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntityChange {
    Unchanged,
    /// These change lists contain all changed fields, as bits.
    InLists(u32),
    /// The entity is sent in `enter`.
    Enters,
}

/// An entity list in one dialect.
#[derive(Debug)]
pub struct EncodedList {
    pub layout: Arc<EntityLayout>,
    /// Index of the list in its frame; `None` if the game has never added an entity to it.
    pub list: Option<usize>,
    /// All fields of each entity.
    pub enter: Records,
    /// For each change list, the record of each entity that has changed since the frame before.
    pub changes: Vec<Records>,
    /// How each entity has changed since the frame before.
    pub entity_changes: Vec<EntityChange>,
    /// The rule that a value violates. A list with an error is not sent.
    pub error: Option<String>,
}

impl<S> EntityFrame<S> {
    /// Returns the frame's lists in a dialect, with one entry for each entity list of its table.
    pub fn encoded(&self, dialect: &Dialect) -> Cow<'_, Arc<Vec<EncodedList>>> {
        let encode = || {
            let find = || EntityLayout::all(dialect).into_iter().map(Arc::new).collect();
            let layouts = encode_once(&self.layouts, dialect, find);
            Arc::new(layouts.iter().map(|layout| self.encode(Arc::clone(layout))).collect())
        };
        encode_once(&self.encoded, dialect, encode)
    }

    /// Returns the list with this index.
    pub fn list(&self, index: usize) -> &EntityValues {
        &self.lists[index]
    }

    /// Sets `out` to the indexes of the entities that a sight includes, in ascending order.
    pub fn find_included(&self, list: usize, sight: &Sight, included: &mut IndexSet, out: &mut Vec<u32>) {
        let (infos, index) = (&*self.lists[list].infos, &self.indexes[list]);
        out.clear();
        if sight.is_everything() {
            out.extend(0..infos.len() as u32);
            return;
        }
        if let Some(owner) = sight.owner() {
            let owners =
                index.owners.get_or_init(|| keyed(infos, |info| info.owner.map(|owner| owner.0.into())));
            included.extend(entities_of(owners, owner.0.into()));
        }
        if let Some(team) = sight.team() {
            let teams = index.teams.get_or_init(|| keyed(infos, |info| info.team.map(u32::from)));
            included.extend(entities_of(teams, team.into()));
        }
        for circle in sight.circles() {
            let positions = || (0..).zip(infos).map(|(at, info)| (info.position, at));
            let positions = index.positions.get_or_init(|| SpatialIndex::new(positions()));
            positions.for_each_within(circle.center, circle.radius, |at| included.insert(at));
        }
        included.drain_to(out);
    }

    /// Compares the entities that a client has received with the entities that it sees. Uses
    /// neither the spatial index nor encoded differences, because it checks both.
    ///
    /// # Errors
    /// The first entity that is hidden, missing or outdated.
    pub fn compare_received(
        &self,
        viewer: Viewer,
        received: &ReceivedEntities,
        dialect: &Dialect,
    ) -> Result<(), String>
    where
        S: SimpleGame,
    {
        let Some(list) = self.lists.iter().find(|list| list.packet == received.packet()) else {
            return Ok(());
        };
        let sight = self.game.sight(viewer, list.packet);
        let mut expected = BTreeMap::new();
        for (index, (id, info)) in list.ids.iter().zip(&list.infos).enumerate() {
            let entity = EntityRef { packet: list.packet, id: Some(*id), info: *info };
            if sight.includes(info) && self.game.sees(viewer, &entity) {
                expected.insert(*id, received.decode_row(list.row(index), dialect)?);
            }
        }
        let mut received = received.clone();
        received.advance(self.tick);
        for (id, values) in received.iter() {
            match expected.remove(&id) {
                None => {
                    return Err(format!(
                        "{}: the client has received {id}, which it does not see",
                        list.packet
                    ));
                }
                Some(expected) if expected != values => {
                    return Err(format!(
                        "{}: {id} is {expected:?}, but the client received {values:?}",
                        list.packet
                    ));
                }
                Some(_) => {}
            }
        }
        match expected.keys().next() {
            Some(id) => Err(format!("{}: the client sees {id}, but has not received it", list.packet)),
            None => Ok(()),
        }
    }

    fn encode(&self, layout: Arc<EntityLayout>) -> EncodedList {
        let list = self.lists.iter().position(|list| list.packet == layout.packet);
        let entities = list.map_or(0, |list| self.lists[list].ids.len());
        let changes = layout.change_lists.iter();
        let mut encoded = EncodedList {
            list,
            enter: Records::with_capacity(layout.fields.len(), entities),
            changes: changes.map(|list| Records::with_capacity(1 + list.members.len(), entities)).collect(),
            entity_changes: Vec::with_capacity(entities),
            error: None,
            layout,
        };
        if let Some(list) = list {
            let previous = self.previous.as_ref();
            let previous = previous.and_then(|(previous, ticks)| Some((previous.get(list)?, *ticks)));
            encoded.error = encoded.append(&self.lists[list], previous, self.number).err();
        }
        encoded
    }
}

/// Returns the entities that have a key, in ascending order: the key in the upper 32 bits, the
/// entity in the lower ones.
fn keyed(infos: &[EntityInfo], key: impl Fn(&EntityInfo) -> Option<u32>) -> Vec<u64> {
    let with_key = |(index, info): (u64, _)| Some(u64::from(key(info)?) << 32 | index);
    let mut keyed: Vec<u64> = (0_u64..).zip(infos).filter_map(with_key).collect();
    keyed.sort_unstable();
    keyed
}

/// Iterates over the entities with this key, in ascending order.
fn entities_of(keyed: &[u64], key: u32) -> impl Iterator<Item = u32> {
    let start = keyed.partition_point(|entity| (entity >> 32) < u64::from(key));
    keyed[start..]
        .iter()
        .take_while(move |entity| *entity >> 32 == u64::from(key))
        .map(|entity| *entity as u32)
}

/// Returns a list of entities, and the indexes of the entities that a client sees. `None` if there
/// are no entities of this packet.
#[cfg(not(target_family = "wasm"))]
pub fn visible_entities<S: SimpleGame>(
    game: &S,
    tick_hz: u32,
    viewer: Viewer,
    packet: &str,
) -> Option<(EntityValues, Vec<usize>)> {
    let mut entities = Entities::new(tick_hz);
    game.write_entities(&mut entities);
    let mut list = entities.lists.into_iter().find(|list| list.packet == packet)?;
    list.sort();
    let sight = game.sight(viewer, packet);
    let is_visible = |index: &usize| {
        let info = list.infos[*index];
        let entity = EntityRef { packet, id: Some(list.ids[*index]), info };
        sight.includes(&info) && game.sees(viewer, &entity)
    };
    let visible = (0..list.ids.len()).filter(is_visible).collect();
    Some((list, visible))
}

impl EncodedList {
    /// Encodes all entities of a list.
    fn append(
        &mut self,
        list: &EntityValues,
        previous: Option<(&EntityValues, u32)>,
        number: u32,
    ) -> Result<(), String> {
        let EncodedList { layout, enter, changes, entity_changes, .. } = self;
        list.error.clone().map_or(Ok(()), Err)?;
        if list.fields.len() != layout.fields.len() {
            return Err(format!("the game writes {} fields, not {}", list.fields.len(), layout.fields.len()));
        }
        let mut expected = Vec::new();
        for (index, id) in list.ids.iter().enumerate() {
            let (new, changed_in) = (list.row(index), list.changes(index));
            enter.push(|out| layout.write_row(new, out))?;
            let mut old =
                previous.and_then(|(previous, ticks)| Some((previous.row(previous.index_of(*id)?), ticks)));
            if let Some((row, ticks)) = old.filter(|_| list.has_velocities()) {
                expected.clear();
                expected.extend_from_slice(row);
                list.expect(&mut expected, new, ticks);
                old = Some((&expected, ticks));
            }
            let old = old.map(|(row, _)| row);
            let is_changed = |field: usize| match old {
                Some(old) => new[field] != old[field],
                None => changed_in[field] == number,
            };
            let change = match changed_in.contains(&number) {
                true => layout.change_lists_for(new, old, is_changed),
                false => Some(0),
            };
            entity_changes.push(match change {
                Some(0) => EntityChange::Unchanged,
                Some(lists) => EntityChange::InLists(lists),
                None => EntityChange::Enters,
            });
            for (at, records) in changes.iter_mut().enumerate() {
                let is_used = change.unwrap_or_default() & (1 << at) != 0;
                records.push(|out| {
                    if is_used {
                        layout.write_changes(&layout.change_lists[at], new, old, out);
                    }
                    Ok::<(), String>(())
                })?;
            }
        }
        Ok(())
    }
}

/// Makes the frames of a game.
#[derive(Debug, Default)]
pub struct FrameBuilder {
    number: u32,
    layouts: LayoutCache,
    lists: Recycled<Vec<EntityValues>>,
    /// The tick of the last frame.
    last_tick: u32,
}

impl FrameBuilder {
    /// Makes the next frame of a game. `None` if the game has never had entities.
    pub fn next<S: SimpleGame>(&mut self, game: &S, tick: u32, tick_hz: u32) -> Option<EntityFrame<S>> {
        let mut entities = Entities::new(tick_hz);
        entities.lists = self.empty_lists();
        game.write_entities(&mut entities);
        let mut lists = entities.lists;
        if lists.is_empty() {
            return None;
        }
        self.number += 1;
        let ticks = tick.saturating_sub(std::mem::replace(&mut self.last_tick, tick));
        let previous = self.lists.newest().map(|lists| (Arc::clone(lists), ticks));
        for (at, list) in lists.iter_mut().enumerate() {
            list.sort();
            let (previous, ticks) =
                previous.as_ref().map_or((None, 0), |(lists, ticks)| (lists.get(at), *ticks));
            list.compare(previous, ticks, self.number);
        }
        let indexes = lists.iter().map(|_| ListIndex::default()).collect();
        let lists = self.lists.push(lists);
        Some(EntityFrame {
            number: self.number,
            tick,
            game: game.clone(),
            lists,
            previous,
            indexes,
            layouts: Arc::clone(&self.layouts),
            encoded: OnceLock::new(),
        })
    }

    /// Returns the lists of the last frame without entities. A list keeps its index, also while it
    /// is empty, and usually its size.
    fn empty_lists(&mut self) -> Vec<EntityValues> {
        let mut lists = self.lists.take_oldest();
        lists.iter_mut().for_each(EntityValues::clear);
        let known = self.lists.newest().into_iter().flat_map(|lists| lists.iter());
        lists.extend(known.skip(lists.len()).map(EntityValues::empty_like).collect::<Vec<_>>());
        lists
    }
}

#[cfg(test)]
mod tests {
    use tickwire_sim::PlayerId;

    use super::super::tests::{RATES, TestRoom};
    use crate::game::simple::SimpleAction;

    #[test]
    fn a_frame_takes_the_memory_of_the_third_before_unless_it_is_read() {
        let mut room = TestRoom::new(3, RATES);
        room.step(vec![SimpleAction::Join(PlayerId(1), "drover".to_owned(), None)]);
        let (mut frames, mut held) = (Vec::new(), Vec::new());
        while frames.len() < 24 {
            let frame = room.step(Vec::new()).state.entities.clone().expect("a game with entity lists");
            let address = frame.list(0).changed_in.as_ptr();
            if frames.last().is_none_or(|(number, _)| *number != frame.number) {
                frames.push((frame.number, address));
                held.extend((frames.len() == 12).then_some(frame));
            }
        }
        let is_reused = |at: usize| frames[at].1 == frames[at - 3].1;
        let fresh: Vec<usize> = (6..24).filter(|at| !is_reused(*at)).collect();
        // A frame has the lists of the frame before, too.
        assert_eq!(fresh, [13, 14]);
    }
}
