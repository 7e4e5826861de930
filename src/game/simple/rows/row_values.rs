//! The values of one packet.

use std::fmt;

use rmpv::Value;

use super::field_value::FieldValue;
use crate::packet::grammar::{Argument, Shape};
use crate::packet::msgpack::{write_array_len, write_bool, write_int};
use crate::packet::{DecodedPacket, Dialect, Direction, PacketError};

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
        self.borrowed().encode_to(dialect, server, &mut message)?;
        Ok(message)
    }

    /// Returns the same values, borrowed.
    pub(in super::super) fn borrowed(&self) -> RowRef<'_> {
        RowRef { packet: self.packet, fields: self.fields, values: &self.values }
    }
}

/// The borrowed values of one packet.
#[derive(Debug, Clone, Copy)]
pub struct RowRef<'a> {
    pub packet: &'static str,
    pub fields: &'static [&'static str],
    pub values: &'a [FieldValue],
}

impl RowRef<'_> {
    /// Appends the packet that [`RowValues::encode`] returns. Appends nothing after an error.
    ///
    /// # Errors
    /// As [`RowValues::encode`].
    pub fn encode_to(
        self,
        dialect: &Dialect,
        server: &[(&str, i64)],
        out: &mut Vec<u8>,
    ) -> Result<(), RowError> {
        let packet = self.packet;
        let row = dialect.row(Direction::ToClient, packet);
        let row = row.ok_or(RowError::UnknownPacket { packet })?;
        let plain = PlainPacket::new(self, server, dialect);
        if plain.is_some_and(|plain| plain.append(self, server, out)) {
            return Ok(());
        }
        let is_unknown = |field: &&&str| row.argument(field).is_none();
        if let Some(argument) = self.fields.iter().find(is_unknown) {
            return Err(RowError::UnknownArgument { packet, argument });
        }
        let value = |argument| self.value_of(argument, server).unwrap_or(Value::Nil);
        let values: Vec<Value> = row.arguments.iter().map(value).collect();
        let message = dialect.encode(Direction::ToClient, packet, &values).map_err(RowError::Value)?;
        out.extend_from_slice(&message);
        Ok(())
    }

    /// Returns the value of an argument: the server's, or the field of this name.
    fn value_of(self, argument: &Argument, server: &[(&str, i64)]) -> Option<Value> {
        match server.iter().find(|(name, _)| *name == argument.name) {
            Some((_, number)) => Some(Value::from(*number)),
            None => {
                let field = self.fields.iter().position(|field| *field == argument.name)?;
                self.values.get(field).map(Value::from)
            }
        }
    }
}

/// How a packet of integers and booleans is encoded, without a search for the value of each
/// argument and without converting the values first.
#[derive(Debug, Clone)]
pub struct PlainPacket {
    fields: &'static [&'static str],
    /// The bytes before the first value.
    head: Vec<u8>,
    values: Vec<(ValueSource, PlainType)>,
}

/// Where the value of an argument comes from.
#[derive(Debug, Clone, Copy)]
enum ValueSource {
    /// The server's value with this index.
    Server(usize),
    /// The field with this index.
    Field(usize),
}

/// The type of an argument.
#[derive(Debug, Clone, Copy)]
enum PlainType {
    Bool,
    Int { min: i64, max: i64 },
}

impl PlainPacket {
    /// Returns the encoding of packets with the fields of `row` and the names in `server`. `None`
    /// if an argument has another type or no value, or if a field has no argument.
    pub fn new(row: RowRef<'_>, server: &[(&str, i64)], dialect: &Dialect) -> Option<PlainPacket> {
        let RowRef { packet, fields, .. } = row;
        let arguments = &dialect.row(Direction::ToClient, packet)?.arguments;
        let (prefix, _) = dialect.prefix(Direction::ToClient, packet)?;
        let mut head = prefix.to_vec();
        write_array_len(&mut head, arguments.len());
        let mut values = Vec::with_capacity(arguments.len());
        for Argument { name, ty, .. } in arguments {
            let source = match server.iter().position(|(other, _)| other == name) {
                Some(place) => ValueSource::Server(place),
                None => ValueSource::Field(fields.iter().position(|other| other == name)?),
            };
            let ty = match ty.shape {
                Shape::Int { min, max, .. } => PlainType::Int { min, max },
                Shape::Bool => PlainType::Bool,
                _ => return None,
            };
            values.push((source, ty));
        }
        let used = values.iter().filter(|(source, _)| matches!(source, ValueSource::Field(_))).count();
        (used == fields.len()).then_some(PlainPacket { fields, head, values })
    }

    /// Appends a packet. Returns false, and appends nothing, if the row has other fields, or if a
    /// value has another type or does not fit.
    pub fn append(&self, row: RowRef<'_>, server: &[(&str, i64)], out: &mut Vec<u8>) -> bool {
        let start = out.len();
        out.extend_from_slice(&self.head);
        let is_written = std::ptr::eq(self.fields, row.fields)
            && self.values.iter().all(|(source, ty)| {
                let number = match source {
                    ValueSource::Server(at) => server[*at].1,
                    ValueSource::Field(at) => match row.values[*at] {
                        FieldValue::Int(number) => number,
                        _ => return false,
                    },
                };
                match (ty, number) {
                    (PlainType::Int { min, max }, _) if (min..=max).contains(&&number) => {
                        write_int(out, number);
                    }
                    (PlainType::Bool, 0 | 1) => write_bool(out, number == 1),
                    _ => return false,
                }
                true
            });
        if !is_written {
            out.truncate(start);
        }
        is_written
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
