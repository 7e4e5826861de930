//! Every scalar of a state with its place, and where two states differ.
//!
//! A **place** is an entity and a field of it. The entity is the item of the outermost list in which the
//! scalar stands, or outside of lists, the field of the state; the field is the path below it.
//!
//! ```text
//! players[17] body.x       the item whose id is 17, of the list `players`
//! walls[at 3] x            the item at place 3, counted from 0, of a list whose items have no id
//! players[17] kit.items[2] an item, at place 2, of a list within an entity
//! identity seed            a field outside of lists, and the path below it
//! cells [40]               an item of a list of plain numbers or texts, which is one field
//! tick                     a field of the state that is a number
//! ```
//!
//! An item has an id if a field of it is a plain number and is called `id`, `player` or `number`; the
//! first of these names counts. Such items are found by their id, wherever they stand in the list, and of several with
//! the same id, the first by the first. Other items are found by their place in the list.
//!
//! ```
//! use tickwire_sim::fields;
//! use tickwire_sim::state_tree::State;
//!
//! struct Ball { id: u8, x: i32 }
//! fields!(Ball: id: u8, x: i32);
//! struct Table { balls: Vec<Ball> }
//! fields!(Table: balls: Vec<Ball>);
//!
//! let table = |x| Table { balls: vec![Ball { id: 7, x: 1 }, Ball { id: 9, x }] };
//! let (ours, theirs) = (State::from_field(&table(-5)), State::from_field(&table(6)));
//! let found: Vec<String> = ours.differences(&theirs, 10).iter().map(ToString::to_string).collect();
//! assert_eq!(found, ["balls[9] x: -5, not 6"]);
//! ```

mod corrupt;
mod diff;
mod node;
mod record;
#[cfg(test)]
mod tests;

pub use corrupt::corrupt_one_scalar;
pub use diff::FieldDiff;

use crate::Sim;
use crate::fields::Field;
use node::Node;
use record::TreeBuilder;

/// Every scalar of a state with its place. It takes many times the memory of the state, so it is made
/// only where something differs.
#[derive(Clone, Debug)]
pub struct StateTree {
    /// The fields of the state, and the lists in them, in the order of the state.
    parts: Vec<Section>,
    /// Bytes of all scalars.
    bytes: usize,
}

/// A field of the state without the lists in it, or one of these.
#[derive(Clone, Debug, Default)]
struct Section {
    /// The path from the state.
    path: String,
    node: Node,
    /// The items, if it is a list.
    items: Vec<Item>,
}

/// An item of an outermost list.
#[derive(Clone, Debug)]
struct Item {
    id: Option<u64>,
    node: Node,
}

impl StateTree {
    /// The state of a world.
    pub fn of(sim: &impl Sim) -> StateTree {
        let mut recorder = TreeBuilder::default();
        sim.write(&mut recorder);
        StateTree::recorded(recorder)
    }

    /// A value as if it were a state.
    pub fn from_field(value: &impl Field) -> StateTree {
        let mut recorder = TreeBuilder::default();
        value.write(&mut recorder);
        StateTree::recorded(recorder)
    }

    fn recorded(recorder: TreeBuilder) -> StateTree {
        let (mut root, bytes) = recorder.finish();
        let mut parts = Vec::new();
        let fields = std::mem::take(&mut root.fields);
        // What stands outside of all fields.
        split_entity_lists("", root, &mut parts);
        for (name, node) in fields {
            split_entity_lists(name, node, &mut parts);
        }
        StateTree { parts, bytes }
    }

    /// A hash of each entity, in the order of the state. Entities that are equal have equal hashes, in
    /// every build; of those that differ in one scalar, the hashes certainly differ.
    pub fn hashes(&self) -> Vec<(String, u64)> {
        self.entities().map(|(entity, node)| (entity, node.hash())).collect()
    }

    /// The fields of an entity and their values, as in a [`FieldDiff`]; none if there is no such entity.
    pub fn fields(&self, entity: &str) -> Vec<(String, String)> {
        self.entities().find(|(name, _)| name == entity).map(|(_, node)| values(node)).unwrap_or_default()
    }

    /// Each entity, with its fields and their values.
    pub fn entities_with_fields(&self) -> Vec<(String, Vec<(String, String)>)> {
        self.entities().map(|(entity, node)| (entity, values(node))).collect()
    }

    /// Each entity by its name.
    fn entities(&self) -> impl Iterator<Item = (String, &Node)> {
        self.parts.iter().flat_map(|part| {
            let items = part.items.iter().enumerate();
            let items = items.map(|(at, item)| (part.name(at, item.id), &item.node));
            let own = (!part.node.is_empty()).then(|| (part.entity(), &part.node));
            own.into_iter().chain(items)
        })
    }
}

impl Section {
    /// What stands outside of lists, as an entity.
    fn entity(&self) -> String {
        if self.path.is_empty() { "state".to_owned() } else { self.path.clone() }
    }

    /// The name of an item, which is at this place.
    fn name(&self, at: usize, id: Option<u64>) -> String {
        let list = self.entity();
        id.map_or_else(|| format!("{list}[at {at}]"), |id| format!("{list}[{id}]"))
    }

    /// Whether it is a list whose items are found by their ids, or that has none.
    fn has_ids(&self) -> bool {
        self.items.iter().all(|item| item.id.is_some())
    }
}

fn values(node: &Node) -> Vec<(String, String)> {
    let mut values = Vec::new();
    node.visit("", &mut |path, node| {
        if !node.scalars.is_empty() {
            values.push((path.to_owned(), node.words()));
        }
    });
    values
}

/// Takes the outermost lists of entities out of a field: each is a part of its own.
fn split_entity_lists(path: &str, mut node: Node, parts: &mut Vec<Section>) {
    let mut lists = Vec::new();
    node.extract_entity_lists(path, &mut lists);
    if !node.is_empty() {
        parts.push(Section { path: path.to_owned(), node, items: Vec::new() });
    }
    for (path, items) in lists {
        let items = items.into_iter().map(|node| Item { id: node.id(), node }).collect();
        parts.push(Section { path, node: Node::default(), items });
    }
}
