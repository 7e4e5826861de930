//! The layout of an entity list: its row of the packet table, in terms of fields.

use super::entity_values::Entities;
use super::velocity::Velocity;
use crate::game::simple::rows::FieldValue;
use crate::packet::grammar::{Argument, Shape};
use crate::packet::msgpack::{write_int, write_nil, write_str};
use crate::packet::{Dialect, Direction, Row};

/// The argument with new entities.
const ENTER: &str = "enter";
/// The argument with the ids of entities that are no longer seen.
const LEAVE: &str = "leave";
/// The argument with the tick of the update.
const TICK: &str = "tick";
/// Prefix of a member that is a difference.
const DIFFERENCE: char = 'd';
/// Maximum number of change lists of a packet: one bit of a `u32` each.
const MAX_CHANGE_LISTS: usize = 32;
/// Maximum number of fields of an entity: one bit of a `u64` each.
const MAX_FIELDS: usize = 64;

/// The layout of an entity list in one dialect.
#[derive(Debug, Clone, PartialEq)]
pub struct EntityLayout {
    /// Name of the packet.
    pub packet: String,
    /// The members of `enter`. The first one is the id.
    pub fields: Vec<Argument>,
    pub velocities: Vec<Velocity>,
    pub change_lists: Vec<ChangeList>,
    /// The arguments of the packet in order.
    pub arguments: Vec<EntityArgument>,
    /// Number of leading arguments that every packet has. The others are lists with `|nil`, which
    /// are omitted if they and all after them are empty.
    pub required: usize,
}

/// An argument of an entity list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntityArgument {
    Tick,
    Enter,
    Leave,
    /// The change list with this index.
    Changes(usize),
}

/// A list of records with an id and some changed fields.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeList {
    /// Name of the argument.
    pub name: String,
    /// Whether the id of a record is its difference to the id of the record before it.
    pub has_id_differences: bool,
    /// The members after the id.
    pub members: Vec<ChangeMember>,
    /// The fields of the members, as bits.
    fields: u64,
}

/// A member of a change list.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeMember {
    /// Index of the field.
    pub field: usize,
    /// The bounds of the difference to the last value; `None` if the member is the value itself.
    pub difference: Option<(i64, i64)>,
}

impl EntityLayout {
    /// Returns the layout of a row; `None` if the row is no entity list.
    ///
    /// # Errors
    /// Names the argument that violates the form of entity lists.
    pub fn of(row: &Row) -> Option<Result<EntityLayout, String>> {
        let fields = match &row.arguments[row.argument(ENTER)?].ty.shape {
            Shape::Groups { members, .. } if row.direction == Direction::ToClient => members.clone(),
            _ => return None,
        };
        Some(EntityLayout::parse(row, fields).map_err(|why| format!("the entity list {}: {why}", row.name)))
    }

    /// Returns the layouts of all valid entity lists of a dialect.
    pub fn all(dialect: &Dialect) -> Vec<EntityLayout> {
        dialect.rows(Direction::ToClient).filter_map(EntityLayout::of).filter_map(Result::ok).collect()
    }

    fn parse(row: &Row, fields: Vec<Argument>) -> Result<EntityLayout, String> {
        for field in &fields {
            if !matches!(field.ty.shape, Shape::Int { .. } | Shape::Str { .. } | Shape::Bool | Shape::Flag) {
                return Err(format!("the field {field}: must be an integer, a bool, a flag or a str"));
            }
        }
        if fields.len() > MAX_FIELDS {
            return Err(format!("{ENTER} has {} fields: must have at most {MAX_FIELDS}", fields.len()));
        }
        let id = &fields[0];
        if !matches!(id.ty.shape, Shape::Int { min: 0.., .. }) || id.ty.or_nil {
            return Err(format!("the first field {id} is the id: must be u8, u16 or u32"));
        }
        let (mut change_lists, mut arguments) = (Vec::new(), Vec::new());
        for argument in &row.arguments {
            arguments.push(match (&*argument.name, &argument.ty.shape) {
                (TICK, Shape::Int { .. }) if !argument.ty.or_nil => EntityArgument::Tick,
                (ENTER, _) => EntityArgument::Enter,
                (LEAVE, Shape::List { each, .. }) if each.shape == id.ty.shape => EntityArgument::Leave,
                (_, Shape::Groups { members, .. }) => {
                    change_lists.push(ChangeList::parse(&argument.name, members, &fields)?);
                    EntityArgument::Changes(change_lists.len() - 1)
                }
                _ => {
                    return Err(format!(
                        "the argument {argument}: must be tick:u32.tick, {ENTER}, {LEAVE}:[{}] or a list of changes",
                        id.ty
                    ));
                }
            });
        }
        if !arguments.contains(&EntityArgument::Leave) {
            return Err(format!("must have the argument {LEAVE}:[{}]", id.ty));
        }
        if change_lists.len() > MAX_CHANGE_LISTS {
            return Err(format!("has more than {MAX_CHANGE_LISTS} change lists"));
        }
        let velocities = Velocity::all(fields.iter().map(|field| &*field.name));
        for velocity in &velocities {
            check_velocity(*velocity, &fields, &change_lists, &arguments)?;
        }
        let required =
            row.arguments.iter().rposition(|argument| !argument.ty.or_nil).map_or(0, |last| last + 1);
        Ok(EntityLayout { packet: row.name.clone(), fields, velocities, change_lists, arguments, required })
    }

    /// Encodes all fields of an entity.
    ///
    /// # Errors
    /// Names the value that does not fit its type.
    pub fn write_row(&self, row: &[FieldValue], out: &mut Vec<u8>) -> Result<(), String> {
        for (field, value) in self.fields.iter().zip(row) {
            write_field(field, value, out)?;
        }
        Ok(())
    }

    /// Returns the change lists that contain all changed fields, as bits: the shortest list that
    /// contains all, or the first lists that contain each. Differences are used only with `old`,
    /// the values that the client has. `None`: the entity must be sent in `enter`.
    pub fn change_lists_for(
        &self,
        new: &[FieldValue],
        old: Option<&[FieldValue]>,
        is_changed: impl Fn(usize) -> bool,
    ) -> Option<u32> {
        let changed = (0..self.fields.len()).filter(|field| is_changed(*field));
        let (mut missing, mut lists) = (changed.fold(0, |fields: u64, field| fields | 1 << field), 0);
        if missing == 0 {
            return Some(0);
        }
        let fits = |list: &ChangeList| list.members.iter().all(|member| member.fits(new, old));
        let complete = |list: &(usize, &ChangeList)| missing & !list.1.fields == 0 && fits(list.1);
        let change_lists = || self.change_lists.iter().enumerate();
        if let Some((at, _)) = change_lists().filter(complete).min_by_key(|(_, list)| list.members.len()) {
            return Some(1 << at);
        }
        for (at, list) in change_lists() {
            if missing & list.fields != 0 && fits(list) {
                missing &= !list.fields;
                lists |= 1 << at;
            }
        }
        (missing == 0).then_some(lists)
    }

    /// Encodes a record of a change list, without its id if the list has differences of ids. The
    /// values were checked by [`EntityLayout::write_row`] and [`EntityLayout::change_lists_for`].
    pub fn write_changes(
        &self,
        list: &ChangeList,
        new: &[FieldValue],
        old: Option<&[FieldValue]>,
        out: &mut Vec<u8>,
    ) {
        if !list.has_id_differences {
            let _ = write_field(&self.fields[0], &new[0], out);
        }
        for member in &list.members {
            match member.difference_of(new, old) {
                Some(difference) => write_int(out, difference),
                None => drop(write_field(&self.fields[member.field], &new[member.field], out)),
            }
        }
    }
}

impl ChangeList {
    /// Returns the name of the first member of a record.
    #[cfg(not(target_family = "wasm"))]
    pub fn id_name(&self, layout: &EntityLayout) -> String {
        let prefix = if self.has_id_differences { DIFFERENCE.to_string() } else { String::new() };
        prefix + &layout.fields[0].name
    }

    fn parse(name: &str, members: &[Argument], fields: &[Argument]) -> Result<ChangeList, String> {
        let [id, members @ ..] = members else { return Err(format!("the list {name} has no members")) };
        let has_id_differences = id.name.strip_prefix(DIFFERENCE) == Some(&fields[0].name);
        if id.ty != fields[0].ty || !(has_id_differences || id.name == fields[0].name) {
            return Err(format!(
                "the list {name} begins with {id}: must begin with {}, or with {DIFFERENCE}{} for differences of ids",
                fields[0], fields[0]
            ));
        }
        let members = members.iter().map(|member| {
            ChangeMember::parse(member, fields).ok_or_else(|| {
                format!(
                    "the member {member} of {name}: must be a field of {ENTER}, or an integer named \
                     {DIFFERENCE} and the name of an integer field"
                )
            })
        });
        let members = members.collect::<Result<Vec<_>, _>>()?;
        let bits = members.iter().fold(0, |bits, member| bits | 1 << member.field);
        Ok(ChangeList { name: name.to_owned(), has_id_differences, members, fields: bits })
    }
}

impl ChangeMember {
    fn parse(member: &Argument, fields: &[Argument]) -> Option<ChangeMember> {
        if let Some(field) = fields.iter().position(|field| field.name == member.name) {
            return (fields[field] == *member && field > 0)
                .then_some(ChangeMember { field, difference: None });
        }
        let name = member.name.strip_prefix(DIFFERENCE)?;
        let field = fields.iter().position(|field| field.name == name)?;
        match (&member.ty.shape, &fields[field].ty.shape) {
            (Shape::Int { min, max, unit, .. }, Shape::Int { unit: field_unit, .. })
                if unit == field_unit =>
            {
                Some(ChangeMember { field, difference: Some((*min, *max)) })
            }
            _ => None,
        }
    }

    /// Returns the difference to send; `None` if the member is the value itself, or if the
    /// difference does not fit.
    fn difference_of(&self, new: &[FieldValue], old: Option<&[FieldValue]>) -> Option<i64> {
        let (min, max) = self.difference?;
        match (&new[self.field], &old?[self.field]) {
            (FieldValue::Int(new), FieldValue::Int(old)) => {
                new.checked_sub(*old).filter(|difference| (min..=max).contains(difference))
            }
            _ => None,
        }
    }

    fn fits(&self, new: &[FieldValue], old: Option<&[FieldValue]>) -> bool {
        self.difference.is_none() || self.difference_of(new, old).is_some()
    }
}

/// Checks that a client can apply a velocity: its type, and that it comes before the field.
fn check_velocity(
    velocity: Velocity,
    fields: &[Argument],
    lists: &[ChangeList],
    arguments: &[EntityArgument],
) -> Result<(), String> {
    let Velocity { field: of, velocity: by } = velocity;
    let [field, velocity] = [of, by].map(|index| &fields[index]);
    let unit = |argument: &Argument| match argument.ty.shape {
        Shape::Int { unit, .. } if !argument.ty.or_nil => Some(unit),
        _ => None,
    };
    if unit(field).is_none() || unit(field) != unit(velocity) {
        return Err(format!(
            "{velocity} is the velocity of {field}, the change per tick: both must be integers of the same unit"
        ));
    }
    if !arguments.contains(&EntityArgument::Tick) {
        return Err(format!("{velocity} is the velocity of {field}: needs the argument {TICK}:u32.tick"));
    }
    let members = || lists.iter().flat_map(|list| &list.members).map(|member| member.field);
    let first_field = members().position(|member| member == of);
    let last_velocity = members().collect::<Vec<_>>().iter().rposition(|member| *member == by);
    if first_field.is_some_and(|first| last_velocity.is_some_and(|last| last > first)) {
        return Err(format!(
            "the change lists with {} must come before those with {}, because a new velocity moves the entity",
            velocity.name, field.name
        ));
    }
    Ok(())
}

/// Encodes a field. A text that is too long is cut.
fn write_field(field: &Argument, value: &FieldValue, out: &mut Vec<u8>) -> Result<(), String> {
    match (&field.ty.shape, value) {
        (Shape::Int { min, max, .. }, FieldValue::Int(number)) if (min..=max).contains(&number) => {
            write_int(out, *number);
        }
        (Shape::Bool | Shape::Flag, FieldValue::Int(number @ (0 | 1))) => write_int(out, *number),
        (Shape::Str { max }, FieldValue::Text(text)) => {
            let end = max.and_then(|max| text.char_indices().nth(max)).map_or(text.len(), |(end, _)| end);
            write_str(out, &text[..end]);
        }
        (_, FieldValue::Nil) if field.ty.or_nil => write_nil(out),
        _ => return Err(format!("the value {value:?} does not fit the field {field}")),
    }
    Ok(())
}

/// Checks the entity lists of a dialect, and that the entities of a new world fit them.
///
/// # Errors
/// Names the row and the rule.
pub fn check_layouts(dialect: &Dialect, entities: &Entities) -> Result<(), String> {
    let mut layouts = Vec::new();
    for row in dialect.rows(Direction::ToClient) {
        if let Some(layout) = EntityLayout::of(row) {
            layouts.push(layout?);
        }
    }
    for list in &entities.lists {
        let layout = layouts.iter().find(|layout| layout.packet == list.packet).ok_or_else(|| {
            format!("the game writes the entity list {}, which the table lacks", list.packet)
        })?;
        if !layout.fields.iter().map(|field| &*field.name).eq(list.fields.iter().copied()) {
            return Err(format!(
                "the entity list {}: the game writes the fields {}, and {ENTER} has {}",
                list.packet,
                list.fields.join(", "),
                layout.fields.iter().map(|field| &*field.name).collect::<Vec<_>>().join(", ")
            ));
        }
    }
    Ok(())
}
