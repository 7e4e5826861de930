//! Velocities: fields of an entity that a client changes by itself in each tick.

/// Prefix of a field that is the velocity of another field.
const PREFIX: char = 'v';

/// A field that changes by the value of another field in each tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Velocity {
    /// Index of the field that changes.
    pub field: usize,
    /// Index of the field with the change per tick.
    pub velocity: usize,
}

impl Velocity {
    /// Returns the velocities among the fields with these names.
    pub fn all<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Vec<Velocity> {
        let find = |(velocity, name): (usize, &str)| {
            let name = name.strip_prefix(PREFIX)?;
            let field = names.clone().position(|field| field == name)?;
            (field > 0).then_some(Velocity { field, velocity })
        };
        names.clone().enumerate().filter_map(find).collect()
    }
}
