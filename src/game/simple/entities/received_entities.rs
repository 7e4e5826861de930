//! The entities of one list, as a client in Rust receives them.

use std::collections::BTreeMap;
use std::fmt;

use super::layout::{EntityArgument, EntityLayout};
use super::velocity::Velocity;
use crate::game::simple::rows::{FieldValue, ReceivedRow};
use crate::packet::msgpack::{write_array_len, write_uint};
use crate::packet::{DecodedPacket, Dialect, Direction, Value};

/// The entities of one list that a client has received.
#[derive(Debug, Clone)]
pub struct ReceivedEntities {
    layout: EntityLayout,
    entities: BTreeMap<u32, Vec<Value>>,
    /// The tick of the last packet.
    tick: Option<u32>,
}

/// A packet of an entity list that contradicts the ones before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntityError {
    /// It removes an entity that the client does not know.
    UnknownLeave(u32),
    /// It changes an entity that the client does not know.
    UnknownChange(u32),
    /// It adds a difference to a value that is no number.
    NoNumber(u32),
}

impl fmt::Display for EntityError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EntityError::UnknownLeave(id) => write!(out, "entity {id} leaves, and is not known"),
            EntityError::UnknownChange(id) => write!(out, "entity {id} changes, and is not known"),
            EntityError::NoNumber(id) => {
                write!(out, "entity {id}: a difference to a value that is no number")
            }
        }
    }
}

impl std::error::Error for EntityError {}

impl ReceivedEntities {
    /// Creates an empty list for a packet of a dialect. `None` if the packet is no entity list.
    pub fn new(dialect: &Dialect, packet: &str) -> Option<ReceivedEntities> {
        let layout = EntityLayout::of(dialect.row(Direction::ToClient, packet)?)?.ok()?;
        Some(ReceivedEntities::empty(layout))
    }

    /// Creates the empty entity lists of a dialect, by the names of their packets.
    pub fn all(dialect: &Dialect) -> BTreeMap<String, ReceivedEntities> {
        let lists = EntityLayout::all(dialect).into_iter();
        lists.map(|layout| (layout.packet.clone(), ReceivedEntities::empty(layout))).collect()
    }

    fn empty(layout: EntityLayout) -> ReceivedEntities {
        ReceivedEntities { layout, entities: BTreeMap::new(), tick: None }
    }

    /// Returns the name of the packet.
    pub fn packet(&self) -> &str {
        &self.layout.packet
    }

    /// Encodes and decodes the values of an entity, so that they are as a client receives them.
    pub(super) fn decode_row(&self, row: &[FieldValue], dialect: &Dialect) -> Result<Vec<Value>, String> {
        let mut bytes = Vec::new();
        self.layout.write_row(row, &mut bytes)?;
        let mut message = Vec::new();
        let (prefix, _) = dialect.prefix(Direction::ToClient, self.packet()).ok_or("no such packet")?;
        message.extend_from_slice(prefix);
        write_array_len(&mut message, self.layout.arguments.len());
        for argument in &self.layout.arguments {
            match argument {
                EntityArgument::Tick => write_uint(&mut message, 0),
                EntityArgument::Enter => {
                    write_array_len(&mut message, row.len());
                    message.extend_from_slice(&bytes);
                }
                EntityArgument::Leave | EntityArgument::Changes(_) => write_array_len(&mut message, 0),
            }
        }
        let packet = dialect.decode(Direction::ToClient, &message).map_err(|error| error.to_string())?;
        let mut list = ReceivedEntities::empty(self.layout.clone());
        list.apply(&packet).map_err(|error| error.to_string())?;
        list.entities.into_values().next().ok_or_else(|| "the row has no id".to_owned())
    }

    /// Moves the entities by their velocities, up to a tick. While an entity moves evenly, the
    /// server sends the tick of the list in every second update only.
    pub fn advance(&mut self, tick: u32) {
        let ticks = self.tick.map_or(0, |last| tick.saturating_sub(last));
        self.tick = self.tick.max(Some(tick));
        for entity in self.entities.values_mut().filter(|_| ticks > 0) {
            for Velocity { field, velocity } in &self.layout.velocities {
                let change = integer(&entity[*velocity]).saturating_mul(ticks.into());
                entity[*field] = integer(&entity[*field]).saturating_add(change).into();
            }
        }
    }

    /// Applies a packet of the list.
    ///
    /// # Errors
    /// The first contradiction. The rest of the packet is applied.
    pub fn apply(&mut self, packet: &DecodedPacket<'_>) -> Result<(), EntityError> {
        let find =
            |layout: &EntityLayout, wanted| layout.arguments.iter().position(|argument| *argument == wanted);
        let tick = find(&self.layout, EntityArgument::Tick).and_then(|at| id(packet.values.get(at)?));
        if let Some(tick) = tick {
            self.advance(tick);
        }
        let mut error = Ok(());
        let values =
            |at: usize| packet.values.get(at).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let find = |wanted| find(&self.layout, wanted);
        for id in find(EntityArgument::Leave).map_or(&[][..], values).iter().filter_map(id) {
            if self.entities.remove(&id).is_none() {
                error = error.and(Err(EntityError::UnknownLeave(id)));
            }
        }
        for row in find(EntityArgument::Enter).map_or(&[][..], values).chunks_exact(self.layout.fields.len())
        {
            self.entities.extend(id(&row[0]).map(|id| (id, row.to_vec())));
        }
        for (at, list) in self.layout.change_lists.iter().enumerate() {
            let records = find(EntityArgument::Changes(at)).map_or(&[][..], values);
            let mut last = 0u32;
            for record in records.chunks_exact(1 + list.members.len()) {
                let Some(id) = id(&record[0]) else { continue };
                let id = if list.has_id_differences { last.saturating_add(id) } else { id };
                last = id;
                let Some(entity) = self.entities.get_mut(&id) else {
                    error = error.and(Err(EntityError::UnknownChange(id)));
                    continue;
                };
                for (member, value) in list.members.iter().zip(&record[1..]) {
                    let target = &mut entity[member.field];
                    let old = target.as_i64();
                    match (member.difference, old, value.as_i64()) {
                        (None, ..) => *target = value.clone(),
                        (Some(_), Some(old), Some(difference)) => {
                            *target = old.saturating_add(difference).into()
                        }
                        _ => error = error.and(Err(EntityError::NoNumber(id))),
                    }
                    // The entity has moved with its new velocity in the last tick already.
                    let is_velocity = |of: &&Velocity| of.velocity == member.field;
                    if let Some(of) = self.layout.velocities.iter().find(is_velocity) {
                        let change = integer(&entity[of.velocity]).saturating_sub(old.unwrap_or_default());
                        entity[of.field] = integer(&entity[of.field]).saturating_add(change).into();
                    }
                }
            }
        }
        error
    }

    /// Iterates over the entities in ascending order of their ids: the id, and all values in the
    /// order of `enter`.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[Value])> {
        self.entities.iter().map(|(id, values)| (*id, &**values))
    }

    /// Iterates over the entities in ascending order of their ids, as a type of
    /// [`rows!`](crate::rows!).
    pub fn rows<R: ReceivedRow>(&self) -> impl Iterator<Item = R> {
        self.entities.values().filter_map(|values| self.read(values))
    }

    /// Returns an entity as a type of [`rows!`](crate::rows!).
    pub fn row<R: ReceivedRow>(&self, id: u32) -> Option<R> {
        self.read(self.entities.get(&id)?)
    }

    fn read<R: ReceivedRow>(&self, values: &[Value]) -> Option<R> {
        R::from_values(|name| values.get(self.field(name)?))
    }

    /// Returns the index of a field.
    fn field(&self, name: &str) -> Option<usize> {
        self.layout.fields.iter().position(|field| field.name == name)
    }

    /// Iterates over the ids in ascending order.
    pub fn ids(&self) -> impl Iterator<Item = u32> {
        self.entities.keys().copied()
    }

    /// Returns the names and the values of the fields of an entity.
    pub fn values(&self, id: u32) -> Option<impl Iterator<Item = (&str, &Value)>> {
        let values = self.entities.get(&id)?;
        Some(self.layout.fields.iter().map(|field| &*field.name).zip(values))
    }

    /// Returns a value of an entity by the name of its field.
    pub fn get(&self, id: u32, field: &str) -> Option<&Value> {
        self.entities.get(&id)?.get(self.field(field)?)
    }

    /// Returns an integer of an entity by the name of its field.
    pub fn integer(&self, id: u32, field: &str) -> Option<i64> {
        self.get(id, field)?.as_i64()
    }

    /// Returns a boolean of an entity by the name of its field.
    pub fn bool_value(&self, id: u32, field: &str) -> Option<bool> {
        self.integer(id, field).map(|number| number != 0)
    }

    /// Returns a text of an entity by the name of its field.
    pub fn text(&self, id: u32, field: &str) -> Option<&str> {
        self.get(id, field)?.as_str()
    }

    /// Number of entities.
    pub fn len(&self) -> usize {
        self.entities.len()
    }

    /// Returns whether there are no entities.
    pub fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }
}

/// Returns an integer; 0 for any other value.
fn integer(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

/// Returns an id or a tick.
fn id(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|id| u32::try_from(id).ok())
}
