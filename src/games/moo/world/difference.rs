//! Finds the first difference between two worlds that should be equal: the name of the field, and
//! both values.

use std::fmt;

use crate::fields::{Field, Sink};
use crate::world::World;

/// The first field, in the order of the module `fields`, in which two worlds differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The field's path from the state, such as `players.body.x`.
    pub path: String,
    /// The number of equal scalars before it.
    pub index: usize,
    /// The scalar in the first world; `None` if it has no more scalars.
    pub ours: Option<u64>,
    /// The scalar in the second world; `None` if it has no more scalars.
    pub theirs: Option<u64>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { path, index, ours, theirs } = self;
        write!(f, "{path} (scalar {index}): {ours:x?} here, {theirs:x?} there")
    }
}

impl World {
    /// The first field in which this world differs from another; `None` if they are equal.
    pub fn difference(&self, other: &World) -> Option<Difference> {
        let (ours, theirs) = (Scalars::of(self), Scalars::of(other));
        let longer = if ours.list.len() >= theirs.list.len() { &ours } else { &theirs };
        let at = |scalars: &Scalars, index: usize| scalars.list.get(index).map(|(_, value)| *value);
        (0..longer.list.len()).find(|index| at(&ours, *index) != at(&theirs, *index)).map(|index| {
            Difference {
                path: longer.list[index].0.clone(),
                index,
                ours: at(&ours, index),
                theirs: at(&theirs, index),
            }
        })
    }
}

/// Every scalar of a state with its name.
#[derive(Default)]
struct Scalars {
    path: Vec<&'static str>,
    list: Vec<(String, u64)>,
}

impl Scalars {
    fn of(world: &World) -> Scalars {
        let mut scalars = Scalars::default();
        world.state.write(&mut scalars);
        scalars
    }
}

impl Sink for Scalars {
    fn put(&mut self, value: u64, _bytes: usize) {
        self.list.push((self.path.join("."), value));
    }

    fn enter(&mut self, field: &'static str) {
        self.path.push(field);
    }

    fn leave(&mut self) {
        self.path.pop();
    }
}
