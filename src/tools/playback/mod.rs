//! A capture that is watched again: its rooms, while the file is still coming, and one of them played.
//!
//! ```text
//!  bytes of the file ─► records ─► command frames by room ─┬─► index: each tick once, checked, with snapshots
//!                                                          └─► screen: from a snapshot, what a client would be told
//! ```
//!
//! [`Playback`] takes the bytes of the file as they come, and keeps the records of the rooms alone.
//! [`RoomPlayback`] plays one room. The clients' bytes are not decoded again: `tickwire replay` does that.
//! What is watched are the recorded command frames, and the checksum of each tick is compared with
//! the recorded one.

mod recorded_ticks;
mod room_playback;
mod snapshot_cache;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use tickwire_sim::Reader;

use super::replay::recording;
use crate::game::GameInfo;
use crate::limits;
use crate::tools::capture::packet::LINK_WORLD;
use crate::tools::capture::{self, CaptureError, Packet, StreamReader, Untrusted, WorldRecord, world_record};
use crate::util::plural::count_noun;
pub use room_playback::{ChecksumMismatch, MarkerKind, RoomPlayback, TimelineMarker, WorkResult};

/// How the file ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileEnd {
    /// At the end of a block.
    Whole,
    /// In the middle of the block at this byte.
    Truncated(usize),
    /// It cannot be read from a byte on: why, in words.
    Damaged(String),
}

/// See the [module](self).
#[derive(Debug)]
pub struct Playback {
    games: Vec<&'static GameInfo>,
    arriving: StreamReader,
    /// Bytes of a block that is not complete.
    pending: Vec<u8>,
    /// The time of the first packet, nanoseconds since 1970.
    begin_ns: Option<u64>,
    rooms: BTreeMap<Untrusted, PlaybackRoom>,
    end: Option<FileEnd>,
}

/// A room of the file.
#[derive(Debug)]
pub enum PlaybackRoom {
    /// Its first tick has not come: its records so far, each with the number and time of its packet.
    Buffering(Vec<((usize, u64), Vec<u8>)>),
    /// It can be watched.
    Ready(Box<RoomPlayback>),
    /// It cannot be watched: why, in words.
    Failed(Untrusted),
}

impl Playback {
    /// A file of these games whose bytes are to come.
    pub fn new(games: Vec<&'static GameInfo>) -> Playback {
        let rooms = BTreeMap::new();
        Playback {
            games,
            arriving: StreamReader::default(),
            pending: Vec::new(),
            begin_ns: None,
            rooms,
            end: None,
        }
    }

    /// Takes the next bytes of the file. After its end, and after damage, they are ignored.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.end.is_some() {
            return;
        }
        let mut pending = std::mem::take(&mut self.pending);
        pending.extend_from_slice(bytes);
        let Playback { games, arriving, begin_ns, rooms, .. } = self;
        let received = arriving.receive(&pending, &mut |packet| {
            begin_ns.get_or_insert(packet.at_ns);
            if packet.link == LINK_WORLD {
                note(rooms, games, packet);
            }
        });
        match received {
            Ok(used) => _ = pending.drain(..used),
            Err(error) => return self.give_up(&error, &pending),
        }
        self.pending = pending;
        if self.pending.len() > limits::WATCH_BLOCK_BYTES {
            let offset = self.arriving.offset();
            let most = limits::WATCH_BLOCK_BYTES;
            self.end = Some(FileEnd::Damaged(format!("at byte {offset}: a block of more than {most} bytes")));
            self.pending = Vec::new();
        }
    }

    fn give_up(&mut self, error: &CaptureError, bytes: &[u8]) {
        let packed = capture::compressed_file::format(bytes).filter(|_| error.offset == 0);
        self.end =
            Some(FileEnd::Damaged(packed.map_or_else(|| error.to_string(), |packed| packed.to_string())));
    }

    /// All bytes have come.
    pub fn finish(&mut self) {
        let at = self.arriving.offset();
        let is_none = self.arriving.packets() == 0 && (at == 0 || self.pending.is_empty());
        self.end.get_or_insert_with(|| match self.pending.len() {
            _ if is_none => FileEnd::Damaged("it has no packet".to_owned()),
            0 => FileEnd::Whole,
            _ => FileEnd::Truncated(at),
        });
        self.pending = Vec::new();
    }

    /// How the file ended; `None` while bytes are to come.
    pub fn end(&self) -> Option<&FileEnd> {
        self.end.as_ref()
    }

    /// How many bytes of the file were read, in whole blocks.
    pub fn bytes(&self) -> usize {
        self.arriving.offset()
    }

    /// The rooms by name, that of the default room first.
    pub fn rooms(&self) -> &BTreeMap<Untrusted, PlaybackRoom> {
        &self.rooms
    }

    /// The show of a room; `None` while it cannot be watched.
    pub fn show(&mut self, room: &str) -> Option<&mut RoomPlayback> {
        match self.rooms.get_mut(room)? {
            PlaybackRoom::Ready(show) => Some(show),
            PlaybackRoom::Buffering(_) | PlaybackRoom::Failed(_) => None,
        }
    }

    /// The time of the first packet, nanoseconds since 1970; 0 before it.
    pub fn begin_ns(&self) -> u64 {
        self.begin_ns.unwrap_or_default()
    }

    /// Why no room can be watched, in words, once that is known.
    pub fn unavailable_reason(&self) -> Option<String> {
        if let Some(FileEnd::Damaged(why)) = &self.end
            && self.rooms.is_empty()
        {
            return Some(format!("the file cannot be read: {why}"));
        }
        self.end.as_ref()?;
        let refused = self.rooms.iter().map(|(name, room)| match room {
            PlaybackRoom::Ready(_) => None,
            PlaybackRoom::Failed(why) => Some(of_room(name, why)),
            PlaybackRoom::Buffering(_) => {
                Some(of_room(name, &"there is no tick of it in this capture".into()))
            }
        });
        let refused: Option<Vec<String>> = refused.collect();
        refused.map(|all| {
            let none = "this capture has no record of the world: it was not written by a tickwire server";
            all.into_iter().next().unwrap_or_else(|| none.to_owned())
        })
    }
}

fn of_room(name: &Untrusted, why: &Untrusted) -> String {
    if name.is_empty() { why.to_string() } else { format!("room {name}: {why}") }
}

/// Takes a record of the world.
fn note(rooms: &mut BTreeMap<Untrusted, PlaybackRoom>, games: &[&'static GameInfo], packet: &Packet<'_>) {
    let decoded = world_record::decode(packet.bytes);
    // What is not known here is not of the world's ticks, except where they cannot be trusted any more.
    let (name, record) = match decoded {
        Ok(decoded) => decoded,
        Err(error) => return rooms.values_mut().for_each(|room| room.end(&error.to_string())),
    };
    let is_of_world = matches!(
        record,
        WorldRecord::World { .. }
            | WorldRecord::Tick { .. }
            | WorldRecord::Lost { .. }
            | WorldRecord::Room { .. }
    );
    if !is_of_world || !rooms.contains_key(name.raw()) && rooms.len() >= limits::WATCH_ROOMS {
        return;
    }
    let room = rooms.entry(name.to_owned()).or_insert_with(|| PlaybackRoom::Buffering(Vec::new()));
    if packet.bytes.len() < packet.original_length {
        return room.end("the capture truncated a packet (snapshot length)");
    }
    match record {
        WorldRecord::Lost { messages, bytes, since_tick } => {
            let (messages, bytes) = (count_noun(messages, "message"), count_noun(bytes, "byte"));
            room.end(&format!("the capture lacks {messages} ({bytes}) since tick {since_tick}"));
        }
        WorldRecord::Tick { checksum, frame } => room.tick(games, packet, checksum, frame),
        _ => room.add_head_record(packet),
    }
}

impl PlaybackRoom {
    /// A record before the first tick.
    fn add_head_record(&mut self, packet: &Packet<'_>) {
        match self {
            PlaybackRoom::Buffering(records) => {
                let bytes: usize = records.iter().map(|(_, record)| record.len()).sum();
                if bytes + packet.bytes.len() > limits::PLAYBACK_HEAD_BYTES {
                    *self = PlaybackRoom::Failed("the snapshot of the world is too large".into());
                    return;
                }
                records.push(((packet.number, packet.at_ns), packet.bytes.to_vec()));
            }
            PlaybackRoom::Ready(show) => {
                if matches!(world_record::decode(packet.bytes), Ok((_, WorldRecord::World { .. }))) {
                    show.end("a second world begins here");
                }
            }
            PlaybackRoom::Failed(_) => {}
        }
    }

    fn tick(&mut self, games: &[&'static GameInfo], packet: &Packet<'_>, checksum: u64, frame: &[u8]) {
        if let PlaybackRoom::Buffering(records) = self {
            records.push(((packet.number, packet.at_ns), packet.bytes.to_vec()));
            let heads = records.iter().map(|(place, record)| (*place, &record[..]));
            *self = match recording::beginning(heads, games) {
                Ok((about, world)) => PlaybackRoom::Ready(Box::new(RoomPlayback::new(about, &*world))),
                Err(why) => PlaybackRoom::Failed(why.into()),
            };
        }
        let PlaybackRoom::Ready(show) = self else { return };
        match Reader::new(frame).u32() {
            Ok(tick) => show.add(tick, packet.at_ns, checksum, frame),
            Err(error) => show.end(&error.to_string()),
        }
    }

    /// Nothing more can be watched of the room.
    fn end(&mut self, why: &str) {
        match self {
            PlaybackRoom::Buffering(_) => *self = PlaybackRoom::Failed(why.into()),
            PlaybackRoom::Ready(show) => show.end(why),
            PlaybackRoom::Failed(_) => {}
        }
    }
}
