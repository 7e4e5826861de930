//! The records on the second interface of a capture. They contain the world, so that its ticks can
//! be replayed.
//!
//! A packet of [`super::packet::LINK_WORLD`] contains the name of a room (empty for the default
//! room) and a [`WorldRecord`]. Snapshots and command frames are opaque here.
//!
//! ```text
//!    0         1      2
//!    +---------+------+------+---------------
//!    | version | kind | room | fields of the kind       numbers: little-endian
//!    | u8 = 4  | u8   | text |                          text: length u8, UTF-8
//!    +---------+------+------+---------------
//!
//!    kind 1 world   seed u32, tick_hz u32, options, rules_hash u64, tick u32, part u16, parts u16,
//!                   bytes of the snapshot
//!         2 tick    checksum u64 of the world before it, command frame
//!         3 client  client u64, address text, dialect text, player u16, sequence u64, flags u8,
//!                   session
//!         4 lost    messages u32, bytes u64, since tick u32
//!         5 join    client u64, player u16, port u16, address text
//!         6 table   table u16, tables u16, part u16, parts u16, file text, bytes of the table
//!         7 room    game text, paths
//!
//!    options: count u8, then name text and value u32 of each
//!    paths:   count u8, then path text and dialect text of each
//! ```
//!
//! Layout 3 is also read. It has no record 7, and in record 1 a `map_size_px u32` between seed and
//! tick rate instead of the options.

use crate::util::escape::Untrusted;
use crate::util::plural::count_noun;
use std::fmt;

/// A text field of a record.
type Text<'a> = Untrusted<&'a str>;

/// The layout that is written.
const VERSION: u8 = 4;
/// The previous layout, which is still read.
const PREVIOUS_VERSION: u8 = 3;
const WORLD: u8 = 1;
const TICK: u8 = 2;
const CLIENT: u8 = 3;
const LOST: u8 = 4;
const JOIN: u8 = 5;
pub(super) const TABLE: u8 = 6;
const ROOM: u8 = 7;

/// Flag of [`WorldRecord::Client`]: the client has not sent `hello` yet.
pub const FLAG_AWAITS_HELLO: u8 = 0b001;
/// Flag of [`WorldRecord::Client`]: the client uses JSON in text frames.
pub const FLAG_JSON: u8 = 0b010;

/// A decoded record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorldRecord<'a> {
    /// A part of the snapshot at the start of the capture.
    World {
        /// The seed of the world.
        seed: u32,
        /// The tick rate in ticks per second.
        tick_hz: u32,
        /// The options of the game, by name.
        options: Vec<(Text<'a>, u32)>,
        /// The hash of the rules of the world.
        rules_hash: u64,
        /// The number of completed ticks.
        tick: u32,
        /// The number of this part, from 0.
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
        /// The command frame of the tick.
        frame: &'a [u8],
    },
    /// A client that connected before the capture began.
    Client {
        /// The number of the client.
        client: u64,
        /// The address and port of the client.
        address: Text<'a>,
        /// The dialect of the client.
        dialect: Text<'a>,
        /// The number of its player; 0 without a player.
        player: u16,
        /// The sequence number of its last command.
        sequence: u64,
        /// Bit 0: the client has not sent `hello` yet. Bit 1: it uses JSON in text frames.
        flags: u8,
        /// The encoded state of the session, before the client's later packets in the capture.
        session: &'a [u8],
    },
    /// Data is missing at this position, because the recorder fell behind.
    Lost {
        /// The number of missing messages, including ticks.
        messages: u32,
        /// The size of the missing messages in bytes.
        bytes: u64,
        /// The tick at which the gap starts.
        since_tick: u32,
    },
    /// A client has a player from here on.
    Join {
        /// The number of the client.
        client: u64,
        /// The number of the player.
        player: u16,
        /// The client's port.
        port: u16,
        /// The address and port of the client.
        address: Text<'a>,
    },
    /// A part of one of the server's packet tables. All tables precede the traffic.
    Table {
        /// The number of this table, from 0.
        table: u16,
        /// The number of tables.
        tables: u16,
        /// The number of this part, from 0.
        part: u16,
        /// The number of parts of the table.
        parts: u16,
        /// The file name of the table.
        file: Text<'a>,
        /// This part of the text.
        bytes: &'a [u8],
    },
    /// The game of the room. Precedes the other records and the traffic of the room.
    Room {
        /// The name of the game.
        game: Text<'a>,
        /// The paths below the room, with their dialects.
        paths: Vec<(Text<'a>, Text<'a>)>,
    },
}

/// The reason why bytes are not a valid record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorldRecordError {
    /// The layout is unknown.
    Version(u8),
    /// The kind is unknown.
    Kind(u8),
    /// The record is truncated.
    Truncated,
    /// This many bytes follow the record.
    Trailing(usize),
    /// A text is not UTF-8.
    Text,
    /// The number of a part or table is not less than the total number of parts or tables.
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

/// Appends a record of this room. Texts are truncated to 255 bytes, at a character boundary.
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
        WorldRecord::World { seed, tick_hz, ref options, rules_hash, tick, part, parts, bytes } => {
            out.extend([seed, tick_hz].map(u32::to_le_bytes).as_flattened());
            write_pairs(out, options, |out, value| out.extend(value.to_le_bytes()));
            out.extend(rules_hash.to_le_bytes());
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

/// Appends the number of pairs as one byte, then each pair. At most 255 pairs are written; games
/// have fewer.
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

/// Returns the kind of a record; `None` if its layout is unknown.
pub(super) fn kind_of(bytes: &[u8]) -> Option<u8> {
    let [version, kind, ..] = bytes else { return None };
    [PREVIOUS_VERSION, VERSION].contains(version).then_some(*kind)
}

/// Decodes a record, and the name of its room.
///
/// # Errors
/// The bytes are not exactly one valid record.
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
        let (rules_hash, tick) = (self.u64()?, self.u32()?);
        let (part, parts) = (self.u16()?, self.u16()?);
        if part >= parts {
            return Err(WorldRecordError::Chunk(part));
        }
        let bytes = self.rest();
        Ok(WorldRecord::World { seed, tick_hz, options, rules_hash, tick, part, parts, bytes })
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
