//! One dialect: converts a message to a row with its values, and back.
//!
//! Encoding checks the values against the row, as decoding does. The hot path skips this check: it
//! uses [`Dialect::prefix`] and appends the array of arguments itself.
//!
//! The envelope of every dialect is the array `[code, [arguments…]]`. The decoder accepts an
//! envelope without arguments, drops values after the arguments, and accepts a numeric code of any
//! integer width or as a float.

use std::fmt;
use std::sync::Arc;

use rmpv::Value;

use super::coerce::{self, ArgumentError};
use super::decoded_packet::DecodedPacket;
use super::json;
use super::lane_packets;
use super::msgpack::{self, DecodeError, Rule};
use super::row::{Code, CodeRef, Direction, Lane, Row};

/// The reason why a message was rejected as a packet.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "fields are described with their variant")]
pub enum PacketError {
    /// The message is not one well-formed value within the limits, or not an envelope. The
    /// connection is closed with 1007.
    Malformed(DecodeError),
    /// A known packet with arguments that do not fit its row. The packet is dropped and counted.
    WrongArguments { packet: String, wrong: Box<ArgumentError> },
    /// A code (or, when encoding, a name) that this dialect lacks, truncated for a log line. The
    /// packet is dropped and counted.
    UnknownCode { code: String },
}

impl PacketError {
    /// The rule's name, as in PROTOCOL.md, log lines and metric labels.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Malformed(broken) => broken.rule.name(),
            Self::WrongArguments { .. } => "wrong_arguments",
            Self::UnknownCode { .. } => "unknown_code",
        }
    }

    /// Returns the error without text from the client, such as a name. For logs and close frames.
    #[must_use]
    pub fn without_text(&self) -> PacketError {
        match self {
            Self::Malformed(broken) => Self::Malformed(*broken),
            Self::WrongArguments { packet, wrong } => {
                Self::WrongArguments { packet: packet.clone(), wrong: Box::new(wrong.without_text()) }
            }
            Self::UnknownCode { .. } => Self::UnknownCode { code: "…".to_owned() },
        }
    }

    /// Whether this error closes the connection with 1007. Other errors only drop the message.
    pub fn closes_connection(&self) -> bool {
        matches!(self, Self::Malformed(_))
    }
}

impl fmt::Display for PacketError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(broken) => write!(out, "{broken}"),
            Self::WrongArguments { packet, wrong } => write!(out, "{packet}: {wrong}"),
            Self::UnknownCode { code } => write!(out, "no packet has the code {code:?} in this direction"),
        }
    }
}

impl std::error::Error for PacketError {}

/// One column of the packet tables.
pub struct Dialect {
    name: String,
    /// The packets by direction.
    sides: [DirectionIndex; 2],
}

/// Prints only the name, because the tables are long.
impl fmt::Debug for Dialect {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Dialect({})", self.name)
    }
}

/// The packets of one direction.
#[derive(Default)]
struct DirectionIndex {
    entries: Vec<RowEntry>,
    /// Indices of the entries by code, in ascending order.
    by_code: Vec<(Code, usize)>,
    /// Indices of the entries by name, shorter names first: most names differ in their length, so
    /// that a search compares few texts.
    by_name: Vec<(String, usize)>,
}

impl DirectionIndex {
    /// The place of a code in `by_code`, or the place where it belongs.
    fn place_of(&self, code: CodeRef<'_>) -> Result<usize, usize> {
        self.by_code.binary_search_by(|(known, _)| known.as_ref().cmp(&code))
    }

    /// The place of a name in `by_name`, or the place where it belongs.
    fn place_of_name(&self, name: &str) -> Result<usize, usize> {
        let order = |known: &str| known.len().cmp(&name.len()).then_with(|| known.cmp(name));
        self.by_name.binary_search_by(|(known, _)| order(known))
    }
}

struct RowEntry {
    row: Arc<Row>,
    /// The encoded envelope before the array of arguments: `92` and the code.
    prefix: Vec<u8>,
}

impl Dialect {
    /// Builds a dialect from rows. Rows without a code in this dialect are skipped.
    pub(super) fn new(name: &str, rows: impl Iterator<Item = Arc<Row>>) -> Self {
        let mut dialect = Self { name: name.to_owned(), sides: Default::default() };
        rows.for_each(|row| dialect.add(row));
        if dialect.row(Direction::ToServer, "hello").is_some() {
            lane_packets::rows(name).into_iter().for_each(|row| dialect.add(Arc::new(row)));
        }
        dialect
    }

    /// Adds a row if it has a code in this dialect that no other row has.
    fn add(&mut self, row: Arc<Row>) {
        let Some(code) = row.code(&self.name).cloned() else { return };
        let side = &mut self.sides[row.direction as usize];
        if let Err(place) = side.place_of(code.as_ref())
            && let Err(name_place) = side.place_of_name(&row.name)
        {
            let mut prefix = Vec::new();
            msgpack::write_array_len(&mut prefix, 2);
            match &code {
                Code::Str(code) => msgpack::write_str(&mut prefix, code),
                Code::Int(code) => msgpack::write_uint(&mut prefix, u64::from(*code)),
            }
            side.by_code.insert(place, (code, side.entries.len()));
            side.by_name.insert(name_place, (row.name.clone(), side.entries.len()));
            side.entries.push(RowEntry { row, prefix });
        }
    }

    /// The name, as in the heading of the table and in `?dialect=`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The rows of one direction, in table order.
    pub fn rows(&self, direction: Direction) -> impl Iterator<Item = &Row> {
        self.sides[direction as usize].entries.iter().map(|entry| entry.row.as_ref())
    }

    /// Finds a row by its name; `None` if the dialect does not have it.
    pub fn row(&self, direction: Direction, name: &str) -> Option<&Row> {
        self.entry_by_name(direction, name).map(|entry| entry.row.as_ref())
    }

    /// The encoded bytes of a packet before its array of arguments (`92` and the code), and its
    /// lane. The caller appends the array. `None` if the dialect does not have the packet.
    pub fn prefix(&self, direction: Direction, name: &str) -> Option<(&[u8], Lane)> {
        self.entry_by_name(direction, name).map(|entry| (entry.prefix.as_slice(), entry.row.lane))
    }

    /// Decodes the payload of one binary message.
    pub fn decode(&self, direction: Direction, bytes: &[u8]) -> Result<DecodedPacket<'_>, PacketError> {
        let parts = msgpack::read_first(bytes, direction).map_err(PacketError::Malformed)?;
        self.read_envelope(direction, parts, false)
    }

    /// Decodes the payload of one text message of a `?format=json` connection. For typing by hand,
    /// the packet's name may replace its code. A code takes precedence over a name.
    pub fn decode_json(&self, direction: Direction, text: &str) -> Result<DecodedPacket<'_>, PacketError> {
        let value = json::read(text, direction).map_err(PacketError::Malformed)?;
        let Value::Array(parts) = value else { return self.read_envelope(direction, [None, None], true) };
        let mut parts = parts.into_iter();
        self.read_envelope(direction, [parts.next(), parts.next()], true)
    }

    /// Encodes a packet by name, with its values in canonical form. Trailing arguments may be
    /// missing only if their types allow nil.
    pub fn encode(&self, direction: Direction, name: &str, values: &[Value]) -> Result<Vec<u8>, PacketError> {
        let mut out = Vec::new();
        self.encode_into(&mut out, direction, name, values)?;
        Ok(out)
    }

    /// Like [`encode`](Self::encode), but appends to `out`. An error leaves `out` unchanged.
    pub fn encode_into(
        &self,
        out: &mut Vec<u8>,
        direction: Direction,
        name: &str,
        values: &[Value],
    ) -> Result<(), PacketError> {
        let entry = self.entry_by_name(direction, name);
        let entry = entry.ok_or_else(|| PacketError::UnknownCode { code: coerce::excerpt(name) })?;
        let fitted = coerce_row(&entry.row, values.to_vec())?;
        out.extend_from_slice(&entry.prefix);
        let given = values.len().min(fitted.len());
        msgpack::write_array_len(out, given);
        fitted[..given].iter().for_each(|value| msgpack::write_value(out, value));
        Ok(())
    }

    /// Converts a message to JSON text, `[code,[arguments…]]`, without checking it against the
    /// table.
    pub fn json_from_msgpack(&self, direction: Direction, bytes: &[u8]) -> Result<String, PacketError> {
        msgpack::read(bytes, direction).map(|value| json::to_text(&value)).map_err(PacketError::Malformed)
    }

    fn entry_by_name(&self, direction: Direction, name: &str) -> Option<&RowEntry> {
        let side = &self.sides[direction as usize];
        side.place_of_name(name).ok().map(|place| &side.entries[side.by_name[place].1])
    }

    /// Checks the first two values of a message, the code and the arguments, against the table.
    /// `by_name` allows the packet's name in place of its code.
    fn read_envelope(
        &self,
        direction: Direction,
        [code, arguments]: [Option<Value>; 2],
        by_name: bool,
    ) -> Result<DecodedPacket<'_>, PacketError> {
        let envelope = || PacketError::Malformed(DecodeError::new(Rule::Envelope, 0));
        let code = code.as_ref().and_then(parse_code).ok_or_else(envelope)?;
        let side = &self.sides[direction as usize];
        let entry = side.place_of(code).ok().map(|place| &side.entries[side.by_code[place].1]);
        let entry =
            entry.or_else(|| if by_name { self.entry_by_name(direction, &code.to_string()) } else { None });
        let row = &*entry.ok_or_else(|| unknown_code(code))?.row;
        let values = match arguments {
            None | Some(Value::Nil) => Vec::new(),
            Some(Value::Array(values)) => values,
            Some(_) => return Err(self.no_array(row)),
        };
        Ok(DecodedPacket { row, values: coerce_row(row, values)? })
    }

    /// The error for arguments that are no array.
    #[cold]
    #[inline(never)]
    fn no_array(&self, row: &Row) -> PacketError {
        let code = row.code(&self.name).map(Code::to_string).unwrap_or_default();
        let found = format!("a value of another type after the code {code}");
        let (argument, expected) = (String::new(), "an array".to_owned());
        let wrong = Box::new(ArgumentError { argument, expected, found_type: found.clone(), found });
        PacketError::WrongArguments { packet: row.name.clone(), wrong }
    }
}

/// The error for a code that the dialect lacks.
#[cold]
#[inline(never)]
fn unknown_code(code: CodeRef<'_>) -> PacketError {
    PacketError::UnknownCode { code: coerce::excerpt(&code.to_string()) }
}

fn coerce_row(row: &Row, mut values: Vec<Value>) -> Result<Vec<Value>, PacketError> {
    match coerce::coerce_arguments(&row.arguments, &mut values) {
        Ok(()) => Ok(values),
        Err(wrong) => Err(PacketError::WrongArguments { packet: row.name.clone(), wrong }),
    }
}

/// The code that a value represents: text, or a number from 0.
fn parse_code(value: &Value) -> Option<CodeRef<'_>> {
    match value {
        Value::String(text) => text.as_str().map(CodeRef::Str),
        other => {
            let number = coerce::as_integer(other)?;
            Some(CodeRef::Int(u32::try_from(number).unwrap_or(u32::MAX)))
        }
    }
}
