//! The values of one packet.

use std::borrow::Cow;
use std::fmt;

use rmpv::Value;

use super::field_value::FieldValue;
use crate::packet::grammar::{Argument, Shape};
use crate::packet::msgpack::{write_array_len, write_bool, write_int};
use crate::packet::{self, DecodedPacket, Dialect, Direction, PacketError};

/// Maximum bytes of most integers as MessagePack.
const INTEGER_BYTES: usize = 5;

/// Fields of a packet: names and values, in the same order.
pub trait Row {
    /// Name of the packet.
    const PACKET: &'static str;
    /// Names of the fields.
    const FIELDS: &'static [&'static str];

    /// Appends the values of all fields.
    fn push_values(self, out: &mut Vec<FieldValue>);
}

/// A row that a client in Rust reads.
pub trait ReceivedRow: Row + Sized {
    /// Reads the fields. `value` returns the value of a field by its name; a field without a value
    /// is nil. `None` if a value does not fit its field.
    fn from_values<'a>(value: impl Fn(&str) -> Option<&'a Value>) -> Option<Self>;

    /// Reads the fields of a packet. `None` if a value does not fit its field.
    fn from_packet(packet: &DecodedPacket<'_>) -> Option<Self> {
        Self::from_values(|name| packet.get(name))
    }
}

/// The reason why values do not fit the packet table.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RowError {
    /// The table has no such packet to clients.
    UnknownPacket {
        /// The name of the packet.
        packet: &'static str,
    },
    /// The packet has no such argument.
    UnknownArgument {
        /// The name of the packet.
        packet: &'static str,
        /// The name of the argument.
        argument: &'static str,
    },
    /// A value does not fit its argument.
    Value(PacketError),
}

impl fmt::Display for RowError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RowError::UnknownPacket { packet } => write!(out, "there is no packet {packet} to clients"),
            RowError::UnknownArgument { packet, argument } => {
                write!(out, "{packet} has no argument {argument}")
            }
            RowError::Value(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for RowError {}

/// The values of one packet, by the names of its arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct RowValues {
    packet: &'static str,
    fields: &'static [&'static str],
    values: Vec<FieldValue>,
}

impl<R: Row> From<R> for RowValues {
    fn from(row: R) -> RowValues {
        let mut values = Vec::with_capacity(R::FIELDS.len());
        row.push_values(&mut values);
        RowValues { packet: R::PACKET, fields: R::FIELDS, values }
    }
}

impl RowValues {
    /// Creates the values of a packet. Both lists have the same length.
    pub fn new(packet: &'static str, fields: &'static [&'static str], values: Vec<FieldValue>) -> RowValues {
        RowValues { packet, fields, values }
    }

    /// Name of the packet.
    pub fn packet(&self) -> &'static str {
        self.packet
    }

    /// Iterates over the names and the values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &FieldValue)> {
        self.fields.iter().copied().zip(&self.values)
    }

    /// Size of the values as MessagePack, approximately the size of the message.
    pub(in super::super) fn bytes(&self) -> usize {
        self.values.iter().map(FieldValue::bytes).sum()
    }

    /// Encodes the packet to clients with these values. `server` has the values of arguments that
    /// the server sets. Other arguments without a value are nil.
    ///
    /// # Errors
    /// The table lacks the packet or an argument, or a value does not fit its argument.
    pub fn encode(&self, dialect: &Dialect, server: &[(&str, i64)]) -> Result<Vec<u8>, RowError> {
        let mut message = Vec::with_capacity(INTEGER_BYTES * (1 + server.len() + self.values.len()));
        self.encode_to(dialect, server, &mut message)?;
        Ok(message)
    }

    /// Appends the packet that [`RowValues::encode`] returns. Appends nothing after an error.
    ///
    /// # Errors
    /// As [`RowValues::encode`].
    pub(in super::super) fn encode_to(
        &self,
        dialect: &Dialect,
        server: &[(&str, i64)],
        out: &mut Vec<u8>,
    ) -> Result<(), RowError> {
        let packet = self.packet;
        let row = dialect.row(Direction::ToClient, packet);
        let row = row.ok_or(RowError::UnknownPacket { packet })?;
        let start = out.len();
        let used = self.append_plain(dialect, row, server, out);
        if used == Some(self.fields.len()) {
            return Ok(());
        }
        let is_unknown = |field: &&&str| row.argument(field).is_none();
        if let Some(argument) = self.fields.iter().find(is_unknown) {
            out.truncate(start);
            return Err(RowError::UnknownArgument { packet, argument });
        }
        if used.is_none() {
            out.truncate(start);
            let value = |argument| self.value_of(argument, server).as_deref().map_or(Value::Nil, Value::from);
            let values: Vec<Value> = row.arguments.iter().map(value).collect();
            let message = dialect.encode(Direction::ToClient, packet, &values).map_err(RowError::Value)?;
            out.extend_from_slice(&message);
        }
        Ok(())
    }

    /// Appends a packet of integers and booleans without converting them first. Returns how many
    /// fields of the row it encoded, or `None` if a value has another type, or does not fit.
    fn append_plain(
        &self,
        dialect: &Dialect,
        row: &packet::Row,
        server: &[(&str, i64)],
        out: &mut Vec<u8>,
    ) -> Option<usize> {
        let (prefix, _) = dialect.prefix(Direction::ToClient, self.packet)?;
        out.extend_from_slice(prefix);
        write_array_len(out, row.arguments.len());
        let mut used = 0;
        for argument in &row.arguments {
            let value = self.value_of(argument, server)?;
            used += usize::from(matches!(value, Cow::Borrowed(_)));
            match (&argument.ty.shape, &*value) {
                (Shape::Int { min, max, .. }, FieldValue::Int(number)) if (min..=max).contains(&number) => {
                    write_int(out, *number);
                }
                (Shape::Bool, FieldValue::Int(number @ (0 | 1))) => write_bool(out, *number == 1),
                _ => return None,
            }
        }
        Some(used)
    }

    /// Returns the value of an argument: the server's, or the field of this name.
    fn value_of(&self, argument: &Argument, server: &[(&str, i64)]) -> Option<Cow<'_, FieldValue>> {
        match server.iter().find(|(name, _)| *name == argument.name) {
            Some((_, value)) => Some(Cow::Owned(FieldValue::Int(*value))),
            None => {
                self.iter().find(|(field, _)| *field == argument.name).map(|(_, value)| Cow::Borrowed(value))
            }
        }
    }
}

/// The state rows of a tick, as a game adds them in
/// [`SimpleGame::write_state`](super::super::SimpleGame::write_state).
#[derive(Debug)]
pub struct StateRows {
    tick_hz: u32,
    pub(in super::super) rows: Vec<RowValues>,
}

impl StateRows {
    /// Creates the empty state of a world with this tick rate.
    pub fn new(tick_hz: u32) -> StateRows {
        StateRows { tick_hz, rows: Vec::new() }
    }

    /// Ticks per second of the world, for values in seconds:
    /// [`Timer::seconds`](tickwire_sim::timer::Timer::seconds).
    pub fn tick_hz(&self) -> u32 {
        self.tick_hz
    }

    /// Returns the rows in the order in which they were added.
    pub fn rows(&self) -> &[RowValues] {
        &self.rows
    }

    /// Adds a row. It replaces an earlier row of the same packet.
    pub fn push<R: Row>(&mut self, row: R) {
        self.rows.retain(|earlier| earlier.packet != R::PACKET);
        self.rows.push(row.into());
    }
}
