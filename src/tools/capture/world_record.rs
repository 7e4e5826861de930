//! The records on a capture's second interface: the world itself, so that its ticks can be
//! replayed.
//!
//! A packet of [`super::packet::LINK_WORLD`] is decoded to the name of a room (empty for the
//! default room) and a [`WorldRecord`], and encoded from them. Snapshots and command frames stay opaque
//! here; the world reads them.
//!
//! ```text
//!    0         1      2
//!    +---------+------+------+---------------
//!    | version | kind | room | fields of the kind       numbers: least significant byte first
//!    | u8 = 4  | u8   | text |                          text: length u8, UTF-8
//!    +---------+------+------+---------------
//!
//!    kind 1 world   seed u32, tick_hz u32, options, code_hash u64, tick u32, part u16, parts u16, bytes of the snapshot
//!         2 tick    checksum u64 of the world before it, command frame
//!         3 client  client u64, address text, dialect text, player u16, sequence u64, flags u8, session
//!         4 lost    messages u32, bytes u64, since tick u32
//!         5 join    client u64, player u16, port u16, address text
//!         6 table   table u16, tables u16, part u16, parts u16, file text, bytes of the table
//!         7 room    game text, paths
//!
//!    options: count u8, then name text, value u32 of each;  paths: count u8, then path text, dialect text of each
//! ```
//!
//! Layout 3 had no record 7, and in record 1 a `map_size_px u32` between seed and tick rate in place of the options.
//! It is still read.

use crate::util::escape::Untrusted;
use crate::util::plural::count_noun;
use std::fmt;

/// A text of a record.
type Text<'a> = Untrusted<&'a str>;

/// The layout that is written and read here.
const VERSION: u8 = 4;
/// The layout before it, which is read as well.
const PREVIOUS_VERSION: u8 = 3;
const WORLD: u8 = 1;
const TICK: u8 = 2;
const CLIENT: u8 = 3;
const LOST: u8 = 4;
const JOIN: u8 = 5;
pub(super) const TABLE: u8 = 6;
const ROOM: u8 = 7;

/// Among the flags of [`WorldRecord::Client`]: the client still has to send `hello`.
pub const FLAG_AWAITS_HELLO: u8 = 0b001;
/// A client that speaks JSON in text frames.
pub const FLAG_JSON: u8 = 0b010;

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorldRecord<'a> {
    /// A part of the snapshot with which the capture begins. All parts together are the snapshot.
    World {
        /// Seed of the world.
        seed: u32,
        /// The world's ticks per second.
        tick_hz: u32,
        /// The options of its game, by name.
        options: Vec<(Text<'a>, u32)>,
        /// The hash of the world's rules.
        code_hash: u64,
        /// Ticks completed.
        tick: u32,
        /// Number of this part, from 0.
        part: u16,
        /// The number of parts.
        parts: u16,
        /// This part of the snapshot.
        bytes: &'a [u8],
    },
    /// A tick of the world.
    Tick {
        /// The world's checksum before the tick.
        checksum: u64,
        /// The commands of the tick, as a command frame.
        frame: &'a [u8],
    },
    /// A client whose beginning is not in the capture.
    Client {
        /// Its number.
        client: u64,
        /// Its address and port.
        address: Text<'a>,
        /// The dialect it speaks.
        dialect: Text<'a>,
        /// Its body, 0 without one.
        player: u16,
        /// The sequence of its last command.
        sequence: u64,
        /// Bit 0: it has not said hello. Bit 1: it speaks JSON.
        flags: u8,
        /// The session's state, in the session's own form; the client's later packets in the
        /// capture follow it.
        session: &'a [u8],
    },
    /// Data is missing from here on: the capture could not keep up.
    Lost {
        /// The number of missing messages, ticks among them.
        messages: u32,
        /// Their bytes.
        bytes: u64,
        /// The tick at which the loss began.
        since_tick: u32,
    },
    /// A client has a body from here on.
    Join {
        /// Its number.
        client: u64,
        /// The body's number.
        player: u16,
        /// The client's port.
        port: u16,
        /// Its address and port.
        address: Text<'a>,
    },
    /// A part of one of the packet tables with which the traffic was made. All tables together
    /// precede the traffic.
    Table {
        /// Number of this table, from 0.
        table: u16,
        /// The number of tables.
        tables: u16,
        /// Number of this part, from 0.
        part: u16,
        /// The number of the table's parts.
        parts: u16,
        /// The name of the table's file.
        file: Text<'a>,
        /// This part of the table's text.
        bytes: &'a [u8],
    },
    /// What is played in the room. It precedes the room's other records and its traffic.
    Room {
        /// The game's name.
        game: Text<'a>,
        /// The paths below the room, and the dialects spoken there.
        paths: Vec<(Text<'a>, Text<'a>)>,
    },
}

/// Why bytes are not a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorldRecordError {
    /// A layout of another version.
    Version(u8),
    /// There is no record of this kind.
    Kind(u8),
    /// The bytes end before the record does.
    Truncated,
    /// Bytes follow the record.
    Trailing(usize),
    /// A text is not UTF-8.
    Text,
    /// The number of the part, or of the table, is not below their number.
    Chunk(u16),
}

impl fmt::Display for WorldRecordError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WorldRecordError::Version(found) => {
                write!(
                    out,
                    "the record has layout {found}; this version reads the layouts {PREVIOUS_VERSION} and {VERSION}"
                )
            }
            WorldRecordError::Kind(kind) => write!(out, "unknown kind of record: {kind}"),
            WorldRecordError::Truncated => out.write_str("the record is too short"),
            WorldRecordError::Trailing(bytes) => {
                write!(out, "the record has {} at its end", count_noun(*bytes, "extra byte"))
            }
            WorldRecordError::Text => out.write_str("a string in the record is not UTF-8"),
            WorldRecordError::Chunk(part) => write!(out, "part {part} is greater than the number of parts"),
        }
    }
}

impl std::error::Error for WorldRecordError {}

/// Appends a record of this room. A text beyond 255 bytes is cut at a character.
pub fn encode(out: &mut Vec<u8>, room: &str, record: &WorldRecord<'_>) {
    let kind = match record {
        WorldRecord::World { .. } => WORLD,
        WorldRecord::Tick { .. } => TICK,
        WorldRecord::Client { .. } => CLIENT,
        WorldRecord::Lost { .. } => LOST,
        WorldRecord::Join { .. } => JOIN,
        WorldRecord::Table { .. } => TABLE,
        WorldRecord::Room { .. } => ROOM,
    };
    out.extend([VERSION, kind]);
    write_text(out, Untrusted::new(room));
    match *record {
        WorldRecord::World { seed, tick_hz, ref options, code_hash, tick, part, parts, bytes } => {
            out.extend([seed, tick_hz].map(u32::to_le_bytes).as_flattened());
            write_pairs(out, options, |out, value| out.extend(value.to_le_bytes()));
            out.extend(code_hash.to_le_bytes());
            out.extend(tick.to_le_bytes());
            out.extend([part, parts].map(u16::to_le_bytes).as_flattened());
            out.extend(bytes);
        }
        WorldRecord::Tick { checksum, frame } => {
            out.extend(checksum.to_le_bytes());
            out.extend(frame);
        }
        WorldRecord::Client { client, address, dialect, player, sequence, flags, session } => {
            out.extend(client.to_le_bytes());
            write_text(out, address);
            write_text(out, dialect);
            out.extend(player.to_le_bytes());
            out.extend(sequence.to_le_bytes());
            out.push(flags);
            out.extend(session);
        }
        WorldRecord::Lost { messages, bytes, since_tick } => {
            out.extend(messages.to_le_bytes());
            out.extend(bytes.to_le_bytes());
            out.extend(since_tick.to_le_bytes());
        }
        WorldRecord::Join { client, player, port, address } => {
            out.extend(client.to_le_bytes());
            out.extend(player.to_le_bytes());
            out.extend(port.to_le_bytes());
            write_text(out, address);
        }
        WorldRecord::Table { table, tables, part, parts, file, bytes } => {
            out.extend([table, tables, part, parts].map(u16::to_le_bytes).as_flattened());
            write_text(out, file);
            out.extend(bytes);
        }
        WorldRecord::Room { game, ref paths } => {
            write_text(out, game);
            write_pairs(out, paths, write_text);
        }
    }
}

/// Their count in a byte, then name and value of each. No game has 256 of them.
fn write_pairs<T: Copy>(out: &mut Vec<u8>, pairs: &[(Text<'_>, T)], write: impl Fn(&mut Vec<u8>, T)) {
    let count = u8::try_from(pairs.len()).unwrap_or(u8::MAX);
    out.push(count);
    for (name, value) in pairs.iter().take(count.into()) {
        write_text(out, *name);
        write(out, *value);
    }
}

fn write_text(out: &mut Vec<u8>, text: Text<'_>) {
    let text = text.raw();
    let end = text.floor_char_boundary(text.len().min(u8::MAX.into()));
    out.push(end as u8);
    out.extend(&text.as_bytes()[..end]);
}

/// The kind of the record that begins so; `None` if the layout is unknown.
pub(super) fn kind_of(bytes: &[u8]) -> Option<u8> {
    let [version, kind, ..] = bytes else { return None };
    [PREVIOUS_VERSION, VERSION].contains(version).then_some(*kind)
}

/// Decodes the name of a room and its record.
///
/// # Errors
/// The bytes are not exactly one record.
pub fn decode(bytes: &[u8]) -> Result<(Untrusted<&str>, WorldRecord<'_>), WorldRecordError> {
    let mut reader = RecordReader { bytes };
    let version = u8::from_le_bytes(reader.array()?);
    if ![PREVIOUS_VERSION, VERSION].contains(&version) {
        return Err(WorldRecordError::Version(version));
    }
    let kind = u8::from_le_bytes(reader.array()?);
    let room = reader.text()?;
    let record = match kind {
        WORLD => reader.world(version)?,
        TICK => WorldRecord::Tick { checksum: reader.u64()?, frame: reader.rest() },
        CLIENT => WorldRecord::Client {
            client: reader.u64()?,
            address: reader.text()?,
            dialect: reader.text()?,
            player: reader.u16()?,
            sequence: reader.u64()?,
            flags: u8::from_le_bytes(reader.array()?),
            session: reader.rest(),
        },
        LOST => {
            WorldRecord::Lost { messages: reader.u32()?, bytes: reader.u64()?, since_tick: reader.u32()? }
        }
        JOIN => WorldRecord::Join {
            client: reader.u64()?,
            player: reader.u16()?,
            port: reader.u16()?,
            address: reader.text()?,
        },
        TABLE => reader.table()?,
        ROOM => WorldRecord::Room { game: reader.text()?, paths: reader.pairs(RecordReader::text)? },
        kind => return Err(WorldRecordError::Kind(kind)),
    };
    if reader.bytes.is_empty() {
        Ok((room, record))
    } else {
        Err(WorldRecordError::Trailing(reader.bytes.len()))
    }
}

struct RecordReader<'a> {
    bytes: &'a [u8],
}

impl<'a> RecordReader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], WorldRecordError> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(WorldRecordError::Truncated)?;
        self.bytes = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], WorldRecordError> {
        let taken = self.take(N)?;
        Ok(taken.try_into().expect("the slice has the requested length"))
    }

    fn u16(&mut self) -> Result<u16, WorldRecordError> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, WorldRecordError> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, WorldRecordError> {
        self.array().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Result<Text<'a>, WorldRecordError> {
        let [length] = self.array()?;
        str::from_utf8(self.take(length.into())?).map(Untrusted::new).map_err(|_| WorldRecordError::Text)
    }

    fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.bytes)
    }

    fn pairs<T>(
        &mut self,
        read: impl Fn(&mut Self) -> Result<T, WorldRecordError>,
    ) -> Result<Vec<(Text<'a>, T)>, WorldRecordError> {
        let [count] = self.array()?;
        (0..count).map(|_| Ok((self.text()?, read(self)?))).collect()
    }

    fn world(&mut self, version: u8) -> Result<WorldRecord<'a>, WorldRecordError> {
        let seed = self.u32()?;
        let map_size = if version == PREVIOUS_VERSION {
            Some((Untrusted::new("map_size_px"), self.u32()?))
        } else {
            None
        };
        let tick_hz = self.u32()?;
        let options = map_size.map_or_else(|| self.pairs(RecordReader::u32), |option| Ok(vec![option]))?;
        let (code_hash, tick) = (self.u64()?, self.u32()?);
        let (part, parts) = (self.u16()?, self.u16()?);
        if part >= parts {
            return Err(WorldRecordError::Chunk(part));
        }
        let bytes = self.rest();
        Ok(WorldRecord::World { seed, tick_hz, options, code_hash, tick, part, parts, bytes })
    }

    fn table(&mut self) -> Result<WorldRecord<'a>, WorldRecordError> {
        let (table, tables) = (self.u16()?, self.u16()?);
        let (part, parts) = (self.u16()?, self.u16()?);
        if table >= tables {
            return Err(WorldRecordError::Chunk(table));
        }
        if part >= parts {
            return Err(WorldRecordError::Chunk(part));
        }
        let file = self.text()?;
        Ok(WorldRecord::Table { table, tables, part, parts, file, bytes: self.rest() })
    }
}
