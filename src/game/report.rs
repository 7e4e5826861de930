//! Reports of a game to the program around its server.

use rmpv::Value;

/// A report of a game to the program around its server: a name and values by name. It is not part
/// of the world, and no client receives it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// The name, such as `round_over`.
    pub name: &'static str,
    /// The values by name.
    pub values: Vec<(&'static str, Value)>,
}

impl Report {
    /// Creates a report without values.
    pub fn new(name: &'static str) -> Report {
        Report { name, values: Vec::new() }
    }

    /// Adds a value.
    pub fn set(&mut self, name: &'static str, value: impl Into<Value>) {
        self.values.push((name, value.into()));
    }

    /// Returns a value; `None` if the report has no value of this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|(own, _)| *own == name).map(|(_, value)| value)
    }

    /// Returns a whole number. `None` if it is missing or out of the type's range.
    pub fn integer<N: TryFrom<i64>>(&self, name: &str) -> Option<N> {
        N::try_from(self.get(name)?.as_i64()?).ok()
    }

    /// Returns a text. `None` if it is missing or not a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }
}
