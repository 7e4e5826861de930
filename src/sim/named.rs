//! Finds the values of a saved state by the names of its fields, for [`Reader`](crate::Reader).

use std::cell::RefCell;
use std::collections::BTreeSet;

/// The content of a field or an item.
#[derive(Debug, Default)]
pub(crate) struct NamedNode {
    /// Offset and size in bytes of each scalar directly in this node.
    pub(crate) scalars: Vec<(usize, usize)>,
    pub(crate) items: Vec<NamedNode>,
    pub(crate) fields: Vec<(String, NamedNode)>,
}

impl NamedNode {
    fn field(&self, name: &str) -> Option<&NamedNode> {
        self.fields.iter().find(|(own, _)| own == name).map(|(_, node)| node)
    }

    /// Collects the paths of all fields in this node: `ball.x`, `players[].name`.
    pub(crate) fn collect_paths(&self, before: &str, out: &mut BTreeSet<String>) {
        for (name, node) in &self.fields {
            let path = if before.is_empty() { name.clone() } else { format!("{before}.{name}") };
            node.collect_paths(&path, out);
            out.insert(path);
        }
        self.items.iter().for_each(|item| item.collect_paths(&format!("{before}[]"), out));
    }
}

/// The position of a [`Reader`](crate::Reader) in a saved state and in a fresh state, which
/// supplies missing values.
#[derive(Debug)]
pub(crate) struct Migration<'a> {
    /// The data of the saved state.
    saved: &'a [u8],
    /// The data of the fresh state.
    fresh: &'a [u8],
    levels: RefCell<Vec<MigrationLevel<'a>>>,
}

/// A field or an item that is being read.
#[derive(Debug, Clone, Copy, Default)]
struct MigrationLevel<'a> {
    saved: Option<&'a NamedNode>,
    fresh: Option<&'a NamedNode>,
    scalars: usize,
    items: usize,
}

impl<'a> Migration<'a> {
    /// Starts at the roots of two states, each given as its data and its root.
    pub(crate) fn new(saved: (&'a [u8], &'a NamedNode), fresh: (&'a [u8], &'a NamedNode)) -> Migration<'a> {
        let level =
            MigrationLevel { saved: Some(saved.1), fresh: Some(fresh.1), ..MigrationLevel::default() };
        Migration { saved: saved.0, fresh: fresh.0, levels: RefCell::new(vec![level]) }
    }

    pub(crate) fn enter(&self, name: &str) {
        self.descend(|level| {
            let within = |node: Option<&'a NamedNode>| node.and_then(|node| node.field(name));
            MigrationLevel {
                saved: within(level.saved),
                fresh: within(level.fresh),
                ..MigrationLevel::default()
            }
        });
    }

    pub(crate) fn item(&self) {
        self.descend(|level| {
            let at = level.items;
            let within = |node: Option<&'a NamedNode>| node.and_then(|node| node.items.get(at));
            level.items += 1;
            // A saved item takes no values from the fresh state, because items of a list have no
            // identity.
            let fresh = if level.saved.is_some() { None } else { within(level.fresh) };
            MigrationLevel { saved: within(level.saved), fresh, ..MigrationLevel::default() }
        });
    }

    fn descend(&self, into: impl FnOnce(&mut MigrationLevel<'a>) -> MigrationLevel<'a>) {
        let mut levels = self.levels.borrow_mut();
        let next = levels.last_mut().map(into).unwrap_or_default();
        levels.push(next);
    }

    pub(crate) fn leave(&self) {
        self.levels.borrow_mut().pop();
    }

    /// Reads the next scalar: from the saved state if it has one of this size, otherwise from the
    /// fresh state, otherwise 0.
    pub(crate) fn scalar(&self, bytes: usize) -> u64 {
        self.take(bytes, 1).first().copied().map_or(0, |first| {
            let (data, at) = first;
            data[at..at + bytes].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
        })
    }

    /// Reads the next `count` scalars of one byte each.
    pub(crate) fn bytes(&self, count: usize) -> Option<&'a [u8]> {
        if count == 0 {
            return Some(&[]);
        }
        let found = self.take(1, count);
        let (data, at) = *found.first()?;
        (found.len() == count).then(|| &data[at..at + count])
    }

    fn take(&self, bytes: usize, count: usize) -> Vec<(&'a [u8], usize)> {
        let mut levels = self.levels.borrow_mut();
        let Some(level) = levels.last_mut() else { return Vec::new() };
        let from = level.scalars;
        level.scalars += count;
        let found = |node: Option<&'a NamedNode>| {
            let own = node?.scalars.get(from..from + count)?;
            own.iter().all(|(_, size)| *size == bytes).then_some(own)
        };
        if let Some(own) = found(level.saved) {
            return own.iter().map(|(at, _)| (self.saved, *at)).collect();
        }
        // The type has changed, so the remaining scalars of this field cannot be read from the
        // saved state.
        level.saved = None;
        found(level.fresh).unwrap_or_default().iter().map(|(at, _)| (self.fresh, *at)).collect()
    }

    /// The index in `names` of the stored variant; 0 if neither state has a variant with one of
    /// these names.
    pub(crate) fn variant(&self, names: &[&str]) -> u64 {
        let mut levels = self.levels.borrow_mut();
        let Some(level) = levels.last_mut() else { return 0 };
        level.scalars += 1;
        let named = |node: Option<&'a NamedNode>| {
            let (name, _) = node?.fields.first()?;
            names.iter().position(|own| own == name)
        };
        let place = named(level.saved).or_else(|| {
            level.saved = None;
            named(level.fresh)
        });
        place.unwrap_or(0) as u64
    }

    /// Returns the longer of both inputs, whose length is an upper bound of the unread bytes.
    pub(crate) fn rest(&self) -> &'a [u8] {
        if self.saved.len() > self.fresh.len() { self.saved } else { self.fresh }
    }
}
