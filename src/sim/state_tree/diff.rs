//! Where two states differ.

use std::collections::BTreeMap;
use std::fmt;

use super::node::{Node, Value, join_path, to_text};
use super::{Item, Section, StateTree};

/// Where two states differ: a place, and what is there in each of them, in words.
///
/// A number is in decimal, with its sign if its type has one; a text is in quotes; a variant of an enum is its
/// name; an optional value that is missing is `none`; a list is its number of items. Where two values differ
/// in form, such as two variants or two lists of different lengths, what is below them is not compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDiff {
    /// The entity: see the [module](super).
    pub entity: String,
    /// The path below it; empty if the entity is the value, or if it is only in one of the states.
    pub field: String,
    /// What is there in the first state. `None`: the entity is not in it.
    pub ours: Option<String>,
    /// What is there in the second state. `None`: the entity is not in it.
    pub theirs: Option<String>,
}

impl FieldDiff {
    /// The place: `players[17] body.x`.
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

/// What is said of an entity that is only in one of the states.
const PRESENT: &str = "there";

impl StateTree {
    /// Where this state, ours, differs from another, theirs: so many places at most, in the order of the
    /// state. Entities that only the other one has are at the end of their list.
    pub fn differences(&self, other: &StateTree, most: usize) -> Vec<FieldDiff> {
        let mut found = DiffCollector { list: Vec::new(), max: most };
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

/// The parts by their paths. Of several with the same path, which only types write that have their own way
/// to, the first has the number 0.
fn by_path(parts: &[Section]) -> Vec<((&str, bool, usize), &Section)> {
    let mut seen = BTreeMap::<(&str, bool), usize>::new();
    let keyed = parts.iter().map(|part| {
        let key = (part.path.as_str(), part.items.is_empty());
        let number = seen.entry(key).or_default();
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
        let has_ack_packets = self.list.iter().any(|found| is_prefix_of(&found.path(), &ours.path));
        if has_ack_packets || ours.items.is_empty() && theirs.items.is_empty() {
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

    /// Items with the same id, wherever they stand.
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

/// Whether a path is at or below a place whose entity is a field of the state.
fn is_prefix_of(place: &str, path: &str) -> bool {
    let place = place.replace(' ', ".");
    path.strip_prefix(&place).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
