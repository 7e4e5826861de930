//! Differences between two states.

use std::collections::BTreeMap;
use std::fmt;

use super::node::{Node, Value, join_path, to_text};
use super::{Item, Section, StateTree};

/// A difference between two states: its location, and the formatted value in each state.
///
/// A number is decimal, with a sign if its type is signed. A text is in quotes. A variant of an
/// enum is its name. A missing optional value is `none`. A list is its number of items. If two
/// values differ in shape, such as two variants or two lists of different lengths, the values
/// inside them are not compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDiff {
    /// The entity, as described in the [module](super).
    pub entity: String,
    /// The path in the entity. Empty if the entity is itself a value, or is missing in one state.
    pub field: String,
    /// The value in the first state; `None` if the entity is missing there.
    pub ours: Option<String>,
    /// The value in the second state; `None` if the entity is missing there.
    pub theirs: Option<String>,
}

impl FieldDiff {
    /// The location: `players[17] body.x`.
    pub fn path(&self) -> String {
        if self.field.is_empty() { self.entity.clone() } else { format!("{} {}", self.entity, self.field) }
    }
}

impl fmt::Display for FieldDiff {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.path();
        match (&self.ours, &self.theirs) {
            (Some(ours), Some(theirs)) => write!(out, "{place}: {ours}, not {theirs}"),
            (Some(_), None) => write!(out, "{place}: only here"),
            (None, _) => write!(out, "{place}: only there"),
        }
    }
}

/// The printed value of an entity that only one of the two states contains.
const PRESENT: &str = "there";

impl StateTree {
    /// Compares this state (ours) with `other` (theirs). Returns at most `max_diffs` differences,
    /// in the order of the state. Entities that only `other` has are at the end of their list.
    pub fn differences(&self, other: &StateTree, max_diffs: usize) -> Vec<FieldDiff> {
        let mut found = DiffCollector { list: Vec::new(), max: max_diffs };
        let (ours, theirs) = (by_path(&self.parts), by_path(&other.parts));
        let nothing = Section::default();
        for (path, part) in &ours {
            found.parts(part, theirs.iter().find(|(own, _)| own == path).map_or(&nothing, |(_, part)| part));
        }
        for (path, part) in &theirs {
            if !ours.iter().any(|(own, _)| own == path) {
                found.parts(&Section { path: part.path.clone(), ..Section::default() }, part);
            }
        }
        found.list
    }
}

/// Returns the sections with their keys: path, whether the section has no items, and a number,
/// starting at one. The number distinguishes sections with the same path, which only a hand-written
/// [`Field`](crate::fields::Field) can produce.
fn by_path(parts: &[Section]) -> Vec<((&str, bool, usize), &Section)> {
    let mut counts = BTreeMap::<(&str, bool), usize>::new();
    let keyed = parts.iter().map(|part| {
        let key = (part.path.as_str(), part.items.is_empty());
        let number = counts.entry(key).or_default();
        *number += 1;
        ((key.0, key.1, *number), part)
    });
    keyed.collect()
}

/// The differences found so far.
struct DiffCollector {
    list: Vec<FieldDiff>,
    max: usize,
}

impl DiffCollector {
    fn is_full(&self) -> bool {
        self.list.len() >= self.max
    }

    fn push(&mut self, entity: &str, field: &str, ours: Option<String>, theirs: Option<String>) {
        if !self.is_full() {
            let (entity, field) = (entity.to_owned(), field.to_owned());
            self.list.push(FieldDiff { entity, field, ours, theirs });
        }
    }

    fn parts(&mut self, ours: &Section, theirs: &Section) {
        if self.is_full() {
            return;
        }
        let entity = ours.entity();
        self.nodes(&entity, "", &ours.node, &theirs.node);
        let is_covered = self.list.iter().any(|found| is_prefix_of(&found.path(), &ours.path));
        if is_covered || ours.items.is_empty() && theirs.items.is_empty() {
            return;
        }
        if ours.has_ids() && theirs.has_ids() {
            self.by_id(ours, theirs);
        } else if ours.items.len() != theirs.items.len() {
            let words = |part: &Section| Some(to_text([&Value::Length(part.items.len())].into_iter()));
            self.push(&entity, "", words(ours), words(theirs));
        } else {
            for (at, (own, other)) in ours.items.iter().zip(&theirs.items).enumerate() {
                self.nodes(&ours.name(at, None), "", &own.node, &other.node);
            }
        }
    }

    /// Compares items with the same id, at any index.
    fn by_id(&mut self, ours: &Section, theirs: &Section) {
        let mut waiting = BTreeMap::<Option<u64>, Vec<(usize, &Item)>>::new();
        for (at, item) in theirs.items.iter().enumerate().rev() {
            waiting.entry(item.id).or_default().push((at, item));
        }
        for (at, item) in ours.items.iter().enumerate() {
            if self.is_full() {
                return;
            }
            match waiting.get_mut(&item.id).and_then(Vec::pop) {
                Some((_, other)) => self.nodes(&ours.name(at, item.id), "", &item.node, &other.node),
                None => self.push(&ours.name(at, item.id), "", Some(PRESENT.to_owned()), None),
            }
        }
        let mut left: Vec<_> = waiting.into_values().flatten().collect();
        left.sort_unstable_by_key(|(at, _)| *at);
        for (at, item) in left {
            self.push(&theirs.name(at, item.id), "", None, Some(PRESENT.to_owned()));
        }
    }

    fn nodes(&mut self, entity: &str, path: &str, ours: &Node, theirs: &Node) {
        if self.is_full() {
            return;
        }
        if !ours.has_shape_of(theirs) {
            return self.push(entity, path, Some(ours.describe_shape()), Some(theirs.describe_shape()));
        }
        if ours.values().ne(theirs.values()) {
            self.push(entity, path, Some(ours.words()), Some(theirs.words()));
        }
        for ((name, own), (_, other)) in ours.fields.iter().zip(&theirs.fields) {
            self.nodes(entity, &join_path(path, name), own, other);
        }
        for (at, (own, other)) in ours.items.iter().zip(&theirs.items).enumerate() {
            self.nodes(entity, &format!("{path}[{at}]"), own, other);
        }
    }
}

/// Whether a path is at or below the location of a difference.
fn is_prefix_of(place: &str, path: &str) -> bool {
    let place = place.replace(' ', ".");
    path.strip_prefix(&place).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
