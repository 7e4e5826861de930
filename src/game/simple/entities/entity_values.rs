//! The values of entities, as a game writes them.

use super::sight::EntityInfo;
use super::velocity::Velocity;
use crate::game::simple::rows::{FieldValue, Row};

/// The entities of a tick, as a game adds them in
/// [`SimpleGame::write_entities`](super::super::SimpleGame::write_entities).
#[derive(Debug)]
pub struct Entities {
    tick_hz: u32,
    pub(super) lists: Vec<EntityValues>,
}

impl Entities {
    /// Creates the empty entity lists of a world with this tick rate.
    pub fn new(tick_hz: u32) -> Entities {
        Entities { tick_hz, lists: Vec::new() }
    }

    /// Ticks per second of the world, for values in seconds:
    /// [`Timer::seconds`](tickwire_sim::timer::Timer::seconds).
    pub fn tick_hz(&self) -> u32 {
        self.tick_hz
    }

    /// Adds an entity with the properties that decide who sees it. Its id is unique in its list.
    pub fn push<R: Row>(&mut self, info: EntityInfo, row: R) {
        let at = self.lists.iter().position(|list| list.packet == R::PACKET).unwrap_or_else(|| {
            self.lists.push(EntityValues::new(R::PACKET, R::FIELDS));
            self.lists.len() - 1
        });
        let list = &mut self.lists[at];
        list.infos.push(info);
        row.push_values(&mut list.values);
    }
}

/// The entities of one list at one tick, in ascending order of their ids.
#[derive(Debug, Clone, Default)]
pub struct EntityValues {
    pub packet: &'static str,
    /// Names of the fields.
    pub fields: &'static [&'static str],
    velocities: Vec<Velocity>,
    pub ids: Vec<u32>,
    pub infos: Vec<EntityInfo>,
    /// The values of all entities, `fields.len()` for each.
    pub values: Vec<FieldValue>,
    /// The frame in which each value changed last, in the order of `values`. A field with a
    /// velocity has changed if the velocity has changed, or has not led to the field's value.
    pub changed_in: Vec<u32>,
    /// For each entity, whether a velocity moves it.
    moving: Vec<bool>,
    /// The rule that the ids violate.
    pub error: Option<String>,
}

impl EntityValues {
    pub fn new(packet: &'static str, fields: &'static [&'static str]) -> EntityValues {
        let velocities = Velocity::all(fields.iter().copied());
        EntityValues { packet, fields, velocities, ..EntityValues::default() }
    }

    /// Creates an empty list with the packet of another one, and memory for as many entities.
    pub fn empty_like(other: &EntityValues) -> EntityValues {
        EntityValues {
            packet: other.packet,
            fields: other.fields,
            velocities: other.velocities.clone(),
            ids: Vec::with_capacity(other.ids.len()),
            infos: Vec::with_capacity(other.infos.len()),
            values: Vec::with_capacity(other.values.len()),
            ..EntityValues::default()
        }
    }

    /// Removes the entities and retains the memory.
    pub fn clear(&mut self) {
        self.ids.clear();
        self.infos.clear();
        self.values.clear();
        self.changed_in.clear();
        self.moving.clear();
        self.error = None;
    }

    /// Returns the index of the entity with this id.
    pub fn index_of(&self, id: u32) -> Option<usize> {
        self.ids.binary_search(&id).ok()
    }

    /// Returns the values of an entity.
    pub fn row(&self, index: usize) -> &[FieldValue] {
        &self.values[index * self.fields.len()..][..self.fields.len()]
    }

    /// Returns the frames in which the values of an entity changed last.
    pub fn changes(&self, index: usize) -> &[u32] {
        &self.changed_in[index * self.fields.len()..][..self.fields.len()]
    }

    /// Reads the ids from the first fields, and sorts the entities by id.
    pub fn sort(&mut self) {
        let width = self.fields.len();
        for row in self.values.chunks_exact(width) {
            let id = match row[0] {
                FieldValue::Int(id) => u32::try_from(id).ok(),
                _ => None,
            };
            if id.is_none() {
                self.error = Some(format!("the id {:?}: must be from 0 to {}", row[0], u32::MAX));
            }
            self.ids.push(id.unwrap_or_default());
        }
        if !self.ids.is_sorted() {
            let mut order: Vec<usize> = (0..self.ids.len()).collect();
            order.sort_by_key(|&index| self.ids[index]);
            self.values = order.iter().flat_map(|&index| self.row(index).to_vec()).collect();
            self.infos = order.iter().map(|&index| self.infos[index]).collect();
            self.ids = order.iter().map(|&index| self.ids[index]).collect();
        }
        if let Some(pair) = self.ids.windows(2).find(|pair| pair[0] == pair[1]) {
            self.error = Some(format!("two entities have the id {}", pair[0]));
        }
    }

    /// Whether a field of the entity changes by a velocity.
    pub fn is_moving(&self, index: usize) -> bool {
        self.moving.get(index).is_some_and(|is_moving| *is_moving)
    }

    /// Sets `changed_in`: compares each value with the one in the previous frame, some ticks ago.
    pub fn compare(&mut self, previous: Option<&EntityValues>, ticks: u32, frame: u32) {
        if !self.velocities.is_empty() {
            let is_moving = |row: &[FieldValue]| {
                self.velocities.iter().any(|velocity| integer(row, velocity.velocity) != 0)
            };
            self.moving.extend(self.values.chunks_exact(self.fields.len()).map(is_moving));
        }
        self.changed_in.reserve(self.values.len());
        for (row, id) in self.values.chunks_exact(self.fields.len()).zip(&self.ids) {
            let Some((previous, known)) = previous.and_then(|list| Some((list, list.index_of(*id)?))) else {
                self.changed_in.extend(std::iter::repeat_n(frame, row.len()));
                continue;
            };
            let (old, start) = (previous.row(known), self.changed_in.len());
            let frames = row.iter().zip(old).zip(previous.changes(known));
            self.changed_in.extend(frames.map(|((new, old), last)| if new == old { *last } else { frame }));
            for of in &self.velocities {
                let is_as_expected =
                    row[of.velocity] == old[of.velocity] && integer(row, of.field) == moved(old, of, ticks);
                let last = previous.changes(known)[of.field];
                self.changed_in[start + of.field] = if is_as_expected { last } else { frame };
            }
        }
    }

    /// Replaces a row of the previous frame, some ticks ago, by what a client expects now if it is
    /// sent the velocities of the row `new`: see [`super`]. The velocities themselves stay.
    pub fn expect(&self, old: &mut [FieldValue], new: &[FieldValue], ticks: u32) {
        for of in &self.velocities {
            let gain = integer(new, of.velocity).saturating_sub(integer(old, of.velocity));
            old[of.field] = FieldValue::Int(moved(old, of, ticks).saturating_add(gain));
        }
    }

    /// Whether any field has a velocity.
    pub fn has_velocities(&self) -> bool {
        !self.velocities.is_empty()
    }
}

/// Returns a field of a row after some ticks with its velocity.
fn moved(row: &[FieldValue], of: &Velocity, ticks: u32) -> i64 {
    integer(row, of.field).saturating_add(integer(row, of.velocity).saturating_mul(ticks.into()))
}

/// Returns an integer of a row; 0 for another value, which the table check refuses.
fn integer(row: &[FieldValue], field: usize) -> i64 {
    match row[field] {
        FieldValue::Int(number) => number,
        _ => 0,
    }
}
