//! Plays back a capture: lists its rooms while the file is still being received, and shows one of
//! them as a game.
//!
//! ```text
//!   bytes of the file ─► records ─► command frames by room ─┬─► index: verifies each tick once
//!                                                          └─► screen: updates of a spectator
//! ```
//!
//! [`Playback`] receives the bytes of the file, and stores only the records of the rooms.
//! [`RoomPlayback`] plays one room. The recorded command frames are executed, and the checksum of
//! each tick is compared with the recorded one. The clients' bytes are not decoded; `tickwire
//! replay` does that.

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

/// The end of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileEnd {
    /// At a block boundary.
    Whole,
    /// Within the block at this byte offset.
    Truncated(usize),
    /// The file is damaged and cannot be read further. Contains a description of the damage.
    Damaged(String),
}

/// A capture that is played back.
#[derive(Debug)]
pub struct Playback {
    games: Vec<&'static GameInfo>,
    arriving: StreamReader,
    /// The bytes of an incomplete block.
    pending: Vec<u8>,
    /// The time of the first packet, in nanoseconds since 1970.
    begin_ns: Option<u64>,
    rooms: BTreeMap<Untrusted, PlaybackRoom>,
    end: Option<FileEnd>,
}

/// A room of the capture.
#[derive(Debug)]
pub enum PlaybackRoom {
    /// Before the first tick: the records so far, each with the number and time of its packet.
    Buffering(Vec<((usize, u64), Vec<u8>)>),
    /// The room can be played.
    Ready(Box<RoomPlayback>),
    /// The room cannot be played. Contains the reason.
    Failed(Untrusted),
}

impl Playback {
    /// Creates a playback that has not received any bytes of the file.
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

    /// Receives the next bytes of the file. After the end or damage, they are ignored.
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
                add_record(rooms, games, packet);
            }
        });
        match received {
            Ok(used) => _ = pending.drain(..used),
            Err(error) => return self.give_up(&error, &pending),
        }
        self.pending = pending;
        if self.pending.len() > limits::WATCH_BLOCK_BYTES {
            let offset = self.arriving.offset();
            let max_bytes = limits::WATCH_BLOCK_BYTES;
            self.end =
                Some(FileEnd::Damaged(format!("at byte {offset}: a block of more than {max_bytes} bytes")));
            self.pending = Vec::new();
        }
    }

    fn give_up(&mut self, error: &CaptureError, bytes: &[u8]) {
        let packed = capture::compressed_file::format(bytes).filter(|_| error.offset == 0);
        self.end =
            Some(FileEnd::Damaged(packed.map_or_else(|| error.to_string(), |packed| packed.to_string())));
    }

    /// Ends the file.
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

    /// The end of the file; `None` while more bytes are expected.
    pub fn end(&self) -> Option<&FileEnd> {
        self.end.as_ref()
    }

    /// The number of bytes read so far, in complete blocks.
    pub fn bytes(&self) -> usize {
        self.arriving.offset()
    }

    /// The rooms by name, the default room first.
    pub fn rooms(&self) -> &BTreeMap<Untrusted, PlaybackRoom> {
        &self.rooms
    }

    /// The playback of a room; `None` if the room cannot be played, or cannot be played yet.
    pub fn room_playback(&mut self, room: &str) -> Option<&mut RoomPlayback> {
        match self.rooms.get_mut(room)? {
            PlaybackRoom::Ready(show) => Some(show),
            PlaybackRoom::Buffering(_) | PlaybackRoom::Failed(_) => None,
        }
    }

    /// The time of the first packet, in nanoseconds since 1970; 0 before it.
    pub fn begin_ns(&self) -> u64 {
        self.begin_ns.unwrap_or_default()
    }

    /// The reason why no room can be played; `None` if a room can be played or may still become
    /// playable.
    pub fn unavailable_reason(&self) -> Option<String> {
        if let Some(FileEnd::Damaged(why)) = &self.end
            && self.rooms.is_empty()
        {
            return Some(format!("the file cannot be read: {why}"));
        }
        self.end.as_ref()?;
        let refused = self.rooms.iter().map(|(name, room)| match room {
            PlaybackRoom::Ready(_) => None,
            PlaybackRoom::Failed(why) => Some(room_message(name, why)),
            PlaybackRoom::Buffering(_) => {
                Some(room_message(name, &"there is no tick of it in this capture".into()))
            }
        });
        let refused: Option<Vec<String>> = refused.collect();
        refused.map(|all| {
            let none = "this capture has no record of the world: it was not written by a tickwire server";
            all.into_iter().next().unwrap_or_else(|| none.to_owned())
        })
    }
}

fn room_message(name: &Untrusted, why: &Untrusted) -> String {
    if name.is_empty() { why.to_string() } else { format!("room {name}: {why}") }
}

/// Adds a world record to its room.
fn add_record(
    rooms: &mut BTreeMap<Untrusted, PlaybackRoom>,
    games: &[&'static GameInfo],
    packet: &Packet<'_>,
) {
    let decoded = world_record::decode(packet.bytes);
    // An invalid record ends the playback of all rooms, because it may belong to any room.
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
    /// Adds a record before the first tick.
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
            *self = match recording::read_start(heads, games) {
                Ok((info, world)) => PlaybackRoom::Ready(Box::new(RoomPlayback::new(info, &*world))),
                Err(why) => PlaybackRoom::Failed(why.into()),
            };
        }
        let PlaybackRoom::Ready(show) = self else { return };
        match Reader::new(frame).u32() {
            Ok(tick) => show.add(tick, packet.at_ns, checksum, frame),
            Err(error) => show.end(&error.to_string()),
        }
    }

    /// Ends the playable part of the room.
    fn end(&mut self, why: &str) {
        match self {
            PlaybackRoom::Buffering(_) => *self = PlaybackRoom::Failed(why.into()),
            PlaybackRoom::Ready(show) => show.end(why),
            PlaybackRoom::Failed(_) => {}
        }
    }
}
