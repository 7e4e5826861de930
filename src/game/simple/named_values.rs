//! Values by the names of a packet's arguments.

use std::io;

use rmpv::Value;
use rmpv::encode::write_value;

use crate::packet::{Dialect, Direction};

/// Values by the names of a packet's arguments. Arguments without a value are nil; values without
/// an argument are an error.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NamedValues(pub(super) Vec<(&'static str, Value)>);

impl NamedValues {
    /// Sets an argument.
    pub fn set(&mut self, argument: &'static str, value: impl Into<Value>) {
        self.0.push((argument, value.into()));
    }

    /// Sets an argument that may be nil.
    pub fn set_or_nil(&mut self, argument: &'static str, value: Option<impl Into<Value>>) {
        self.0.push((argument, value.map_or(Value::Nil, Into::into)));
    }

    /// Sets a list argument with a record for each entity.
    pub fn list<const N: usize>(
        &mut self,
        argument: &'static str,
        records: impl IntoIterator<Item = [Value; N]>,
    ) {
        self.0.push((argument, Value::Array(records.into_iter().flatten().collect())));
    }

    /// Size of the values as MessagePack, approximately the size of the message.
    pub(super) fn bytes(&self) -> usize {
        let mut counted = Counted::default();
        for (_, value) in &self.0 {
            write_value(&mut counted, value).expect("counting does not fail");
        }
        counted.0
    }

    /// Encodes a packet with these values.
    ///
    /// # Errors
    /// Names the value that does not fit the table.
    pub fn encode(&self, dialect: &Dialect, packet: &str) -> Result<Vec<u8>, String> {
        let row = dialect.row(Direction::ToClient, packet);
        let row = row.ok_or_else(|| format!("there is no packet {packet} to clients"))?;
        if let Some((name, _)) = self.0.iter().find(|(name, _)| row.argument(name).is_none()) {
            return Err(format!("{packet} has no argument {name}"));
        }
        let value = |name: &str| self.0.iter().find(|(own, _)| *own == name).map(|(_, value)| value.clone());
        let arguments = row.arguments.iter().map(|argument| value(&argument.name).unwrap_or(Value::Nil));
        let arguments: Vec<Value> = arguments.collect();
        dialect.encode(Direction::ToClient, packet, &arguments).map_err(|error| error.to_string())
    }
}

/// Counts written bytes.
#[derive(Default)]
struct Counted(usize);

impl io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
