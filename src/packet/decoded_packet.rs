//! A decoded packet, with access to its values by the names of the table.

use std::fmt;

use rmpv::Value;

use super::row::Row;
use super::{angle, json};
use crate::util::escape;

/// A decoded packet: its row, and one canonical value for each of the row's arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodedPacket<'a> {
    /// The row of the table.
    pub row: &'a Row,
    /// One value for each argument of the row; missing trailing arguments are nil.
    pub values: Vec<Value>,
}

impl DecodedPacket<'_> {
    /// The value of an argument, or of a key of an argument that is a map; `None` if it is nil or
    /// the row has no such argument.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let mut arguments = self.row.arguments.iter().zip(&self.values);
        let value = arguments.find_map(|(argument, value)| match value {
            _ if argument.name == name => Some(value),
            Value::Map(pairs) if argument.has_key(name) => {
                pairs.iter().find(|(key, _)| key.as_str() == Some(name)).map(|(_, value)| value)
            }
            _ => None,
        });
        value.filter(|value| !value.is_nil())
    }

    /// The value of an integer argument. `None` if the value is nil or does not fit `N`.
    pub fn integer<N: TryFrom<i64>>(&self, name: &str) -> Option<N> {
        self.get(name)?.as_i64().and_then(|number| N::try_from(number).ok())
    }

    /// The value of a text argument.
    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name)?.as_str().map(str::to_owned)
    }

    /// The value of a `bool` or `flag` argument. Any number except 0 is true.
    pub fn bool_value(&self, name: &str) -> Option<bool> {
        let value = self.get(name)?;
        value.as_bool().or_else(|| value.as_i64().map(|number| number != 0))
    }

    /// The value of an angle argument, converted to a binary angle.
    pub fn angle(&self, name: &str) -> Option<u16> {
        let at = self.row.argument(name)?;
        angle::read(self.values.get(at)?, &self.row.arguments[at].ty.shape)
    }
}

/// Prints one line: the packet's name and each argument by name.
impl fmt::Display for DecodedPacket<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.row.name)?;
        for (argument, value) in self.row.arguments.iter().zip(&self.values) {
            write!(out, " {}={}", argument.name, escape::escape_line(&json::to_text(value)))?;
        }
        Ok(())
    }
}
