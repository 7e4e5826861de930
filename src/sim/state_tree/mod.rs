//! All scalars of a state as a tree, and the differences between two states.
//!
//! A scalar has a **location**: an entity, and a path in it. The entity is the item of the
//! outermost list that contains the scalar. Outside of lists, the entity is the field of the state.
//!
//! ```text
//! players[17] body.x       in the list `players`, the item with the id 17
//! walls[at 3] x            in a list of items without ids, the item with the index 3
//! players[17] kit.items[2] in a list within an entity, the item with the index 2
//! identity seed            a path in a field of the state
//! cells [40]               an item of a list of plain numbers or texts, which is one field
//! tick                     a field of the state that is a number
//! ```
//!
//! An item has an id if it has a field `id`, `player` or `number` that is a plain number; the first
//! of these names has precedence. Items with ids are matched by id, at any index. Items with the
//! same id are matched in order. Items without ids are matched by index.
//!
//! ```
//! use tickwire_sim::fields;
//! use tickwire_sim::state_tree::StateTree;
//!
//! struct Ball { id: u8, x: i32 }
//! fields!(Ball: id: u8, x: i32);
//! struct Table { balls: Vec<Ball> }
//! fields!(Table: balls: Vec<Ball>);
//!
//! let table = |x| Table { balls: vec![Ball { id: 7, x: 1 }, Ball { id: 9, x }] };
//! let (ours, theirs) = (StateTree::from_field(&table(-5)), StateTree::from_field(&table(6)));
//! let found = ours.differences(&theirs, 10);
//! assert_eq!(found[0].to_string(), "balls[9] x: -5, not 6");
//! assert_eq!(found.len(), 1);
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

/// All scalars of a state as a tree. A tree needs many times the memory of the state, so it is
/// built only after a difference was detected.
#[derive(Clone, Debug)]
pub struct StateTree {
    /// The fields of the state, and the lists in them, in the order of the state.
    parts: Vec<Section>,
    /// Total bytes of all scalars.
    bytes: usize,
}

/// A field of the state without the lists in it, or one of these lists.
#[derive(Clone, Debug, Default)]
struct Section {
    /// The path from the state.
    path: String,
    node: Node,
    /// The items, if the section is a list.
    items: Vec<Item>,
}

/// An item of an outermost list.
#[derive(Clone, Debug)]
struct Item {
    id: Option<u64>,
    node: Node,
}

impl StateTree {
    /// Builds the tree of a world's state.
    pub fn of(sim: &impl Sim) -> StateTree {
        let mut recorder = TreeBuilder::default();
        sim.write(&mut recorder);
        StateTree::recorded(recorder)
    }

    /// Builds the tree of a value, as if it were a state.
    pub fn from_field(value: &impl Field) -> StateTree {
        let mut recorder = TreeBuilder::default();
        value.write(&mut recorder);
        StateTree::recorded(recorder)
    }

    fn recorded(recorder: TreeBuilder) -> StateTree {
        let (mut root, bytes) = recorder.finish();
        let mut parts = Vec::new();
        let fields = std::mem::take(&mut root.fields);
        // Values outside of all fields.
        split_entity_lists("", root, &mut parts);
        for (name, node) in fields {
            split_entity_lists(name, node, &mut parts);
        }
        StateTree { parts, bytes }
    }

    /// Computes a hash of each entity, in the order of the state. Equal entities have equal hashes,
    /// in every build. If two entities differ in exactly one scalar, their hashes certainly differ.
    pub fn hashes(&self) -> Vec<(String, u64)> {
        self.entities().map(|(entity, node)| (entity, node.hash())).collect()
    }

    /// The fields of an entity and their values, in the format of a [`FieldDiff`]; empty if there
    /// is no such entity.
    pub fn fields(&self, entity: &str) -> Vec<(String, String)> {
        self.entities().find(|(name, _)| name == entity).map(|(_, node)| values(node)).unwrap_or_default()
    }

    /// All entities, with their fields and values.
    pub fn entities_with_fields(&self) -> Vec<(String, Vec<(String, String)>)> {
        self.entities().map(|(entity, node)| (entity, values(node))).collect()
    }

    /// All entities, with their names.
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
    /// The name of the section's values outside of lists, as an entity.
    fn entity(&self) -> String {
        if self.path.is_empty() { "state".to_owned() } else { self.path.clone() }
    }

    /// The name of an item with this index.
    fn name(&self, at: usize, id: Option<u64>) -> String {
        let list = self.entity();
        id.map_or_else(|| format!("{list}[at {at}]"), |id| format!("{list}[{id}]"))
    }

    /// Whether all items have ids, so that they are matched by id. Also true for an empty section.
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

/// Moves the outermost lists of entities out of a field. Each list becomes a section.
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
