//! A capture that is watched again: its rooms, while the file is still coming, and one of them played.
//!
//! ```text
//!  bytes of the file ─► records ─► command frames by room ─┬─► index: each tick once, checked, with snapshots
//!                                                          └─► screen: from a snapshot, what a client would be told
//! ```
//!
//! [`Watch`] takes the bytes of the file as they come, and keeps the records of the rooms alone.
//! [`Show`] plays one room. The clients' bytes are not decoded again: `tickwire replay` does that.
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
use crate::game::About;
use crate::limits;
use crate::tools::capture::packet::LINK_WORLD;
use crate::tools::capture::{self, Arriving, CaptureError, Packet, Record, Untrusted, world_record};
use crate::util::plural::count_noun;
pub use room_playback::{Differs, Mark, MarkKind, Show, Work};

/// How the file ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// At the end of a block.
    Whole,
    /// In the middle of the block at this byte.
    Cut(usize),
    /// It cannot be read from a byte on: why, in words.
    Damaged(String),
}

/// See the [module](self).
#[derive(Debug)]
pub struct Watch {
    games: Vec<&'static About>,
    arriving: Arriving,
    /// Bytes of a block that is not complete.
    pending: Vec<u8>,
    /// The time of the first packet, nanoseconds since 1970.
    begin_ns: Option<u64>,
    rooms: BTreeMap<Untrusted, Room>,
    end: Option<End>,
}

/// A room of the file.
#[derive(Debug)]
pub enum Room {
    /// Its first tick has not come: its records so far, each with the number and time of its packet.
    Coming(Vec<((usize, u64), Vec<u8>)>),
    /// It can be watched.
    Ready(Box<Show>),
    /// It cannot be watched: why, in words.
    Refused(Untrusted),
}

impl Watch {
    /// A file of these games whose bytes are to come.
    pub fn new(games: Vec<&'static About>) -> Watch {
        let rooms = BTreeMap::new();
        Watch { games, arriving: Arriving::default(), pending: Vec::new(), begin_ns: None, rooms, end: None }
    }

    /// Takes the next bytes of the file. After its end, and after damage, they are ignored.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.end.is_some() {
            return;
        }
        let mut pending = std::mem::take(&mut self.pending);
        pending.extend_from_slice(bytes);
        let Watch { games, arriving, begin_ns, rooms, .. } = self;
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
            self.end = Some(End::Damaged(format!("at byte {offset}: a block of more than {most} bytes")));
            self.pending = Vec::new();
        }
    }

    fn give_up(&mut self, error: &CaptureError, bytes: &[u8]) {
        let packed = capture::compressed_file::format(bytes).filter(|_| error.offset == 0);
        self.end = Some(End::Damaged(packed.map_or_else(|| error.to_string(), |packed| packed.to_string())));
    }

    /// All bytes have come.
    pub fn finish(&mut self) {
        let at = self.arriving.offset();
        let is_none = self.arriving.packets() == 0 && (at == 0 || self.pending.is_empty());
        self.end.get_or_insert_with(|| match self.pending.len() {
            _ if is_none => End::Damaged("it has no packet".to_owned()),
            0 => End::Whole,
            _ => End::Cut(at),
        });
        self.pending = Vec::new();
    }

    /// How the file ended; `None` while bytes are to come.
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// How many bytes of the file were read, in whole blocks.
    pub fn bytes(&self) -> usize {
        self.arriving.offset()
    }

    /// The rooms by name, that of the default room first.
    pub fn rooms(&self) -> &BTreeMap<Untrusted, Room> {
        &self.rooms
    }

    /// The show of a room; `None` while it cannot be watched.
    pub fn show(&mut self, room: &str) -> Option<&mut Show> {
        match self.rooms.get_mut(room)? {
            Room::Ready(show) => Some(show),
            Room::Coming(_) | Room::Refused(_) => None,
        }
    }

    /// The time of the first packet, nanoseconds since 1970; 0 before it.
    pub fn begin_ns(&self) -> u64 {
        self.begin_ns.unwrap_or_default()
    }

    /// Why no room can be watched, in words, once that is known.
    pub fn why_nothing(&self) -> Option<String> {
        if let Some(End::Damaged(why)) = &self.end
            && self.rooms.is_empty()
        {
            return Some(format!("the file cannot be read: {why}"));
        }
        self.end.as_ref()?;
        let refused = self.rooms.iter().map(|(name, room)| match room {
            Room::Ready(_) => None,
            Room::Refused(why) => Some(of_room(name, why)),
            Room::Coming(_) => Some(of_room(name, &"there is no tick of it in this capture".into())),
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
fn note(rooms: &mut BTreeMap<Untrusted, Room>, games: &[&'static About], packet: &Packet<'_>) {
    let decoded = world_record::decode(packet.bytes);
    // What is not known here is not of the world's ticks, except where they cannot be trusted any more.
    let (name, record) = match decoded {
        Ok(decoded) => decoded,
        Err(error) => return rooms.values_mut().for_each(|room| room.end(&error.to_string())),
    };
    let is_of_world = matches!(
        record,
        Record::World { .. } | Record::Tick { .. } | Record::Lost { .. } | Record::Room { .. }
    );
    if !is_of_world || !rooms.contains_key(name.raw()) && rooms.len() >= limits::WATCH_ROOMS {
        return;
    }
    let room = rooms.entry(name.to_owned()).or_insert_with(|| Room::Coming(Vec::new()));
    if packet.bytes.len() < packet.whole_bytes {
        return room.end("the capture truncated a packet (snapshot length)");
    }
    match record {
        Record::Lost { messages, bytes, since_tick } => {
            let (messages, bytes) = (count_noun(messages, "message"), count_noun(bytes, "byte"));
            room.end(&format!("the capture lacks {messages} ({bytes}) since tick {since_tick}"));
        }
        Record::Tick { checksum, frame } => room.tick(games, packet, checksum, frame),
        _ => room.head(packet),
    }
}

impl Room {
    /// A record before the first tick.
    fn head(&mut self, packet: &Packet<'_>) {
        match self {
            Room::Coming(records) => {
                let bytes: usize = records.iter().map(|(_, record)| record.len()).sum();
                if bytes + packet.bytes.len() > limits::PLAYBACK_HEAD_BYTES {
                    *self = Room::Refused("the snapshot of the world is too large".into());
                    return;
                }
                records.push(((packet.number, packet.at_ns), packet.bytes.to_vec()));
            }
            Room::Ready(show) => {
                if matches!(world_record::decode(packet.bytes), Ok((_, Record::World { .. }))) {
                    show.end("a second world begins here");
                }
            }
            Room::Refused(_) => {}
        }
    }

    fn tick(&mut self, games: &[&'static About], packet: &Packet<'_>, checksum: u64, frame: &[u8]) {
        if let Room::Coming(records) = self {
            records.push(((packet.number, packet.at_ns), packet.bytes.to_vec()));
            let heads = records.iter().map(|(place, record)| (*place, &record[..]));
            *self = match recording::beginning(heads, games) {
                Ok((about, world)) => Room::Ready(Box::new(Show::new(about, &*world))),
                Err(why) => Room::Refused(why.into()),
            };
        }
        let Room::Ready(show) = self else { return };
        match Reader::new(frame).u32() {
            Ok(tick) => show.add(tick, packet.at_ns, checksum, frame),
            Err(error) => show.end(&error.to_string()),
        }
    }

    /// Nothing more can be watched of the room.
    fn end(&mut self, why: &str) {
        match self {
            Room::Coming(_) => *self = Room::Refused(why.into()),
            Room::Ready(show) => show.end(why),
            Room::Refused(_) => {}
        }
    }
}
