//! The records of a capture: the world at its beginning, its ticks, and its clients.
//!
//! The result is a [`Recording`] of each room, without gaps and with its ticks in order, or the
//! reason why there is none.

use core::net::SocketAddr;
use std::collections::{BTreeMap, HashMap};

use super::refusal::{NotReplayable, after};
use crate::capture::{Capture, Packet, Record};
use crate::peer::receiver::RoomFacts;
use crate::world::command::{Frame, decode_frame};
use crate::world::{Identity, PlayerId, World, code_hash};

/// See the [module](self).
pub struct Recording<'a> {
    /// The world before the first tick.
    pub world: World,
    /// The ticks, one after the other.
    pub ticks: Vec<Tick>,
    /// By the client's address, in the order of the file: ports are used again.
    clients: HashMap<SocketAddr, Vec<(usize, About<'a>)>>,
}

/// A recorded tick.
pub struct Tick {
    /// Its packet's number.
    pub packet: usize,
    /// The checksum before it.
    pub checksum: u64,
    /// Its commands.
    pub frame: Frame,
}

/// What is known of one client.
#[derive(Clone, Copy, Default)]
pub struct About<'a> {
    /// Its body.
    pub player: Option<PlayerId>,
    /// The packet of the record that says it has a body, and the body.
    pub joined: Option<(usize, PlayerId)>,
    /// The saved session, if the client was connected before the capture.
    pub resumed: Option<Resumed<'a>>,
}

/// A session that resumes.
#[derive(Clone, Copy)]
pub struct Resumed<'a> {
    /// The record's packet.
    pub packet: usize,
    /// Its time.
    pub at_ns: u64,
    /// The saved session.
    pub session: &'a [u8],
}

impl<'a> Recording<'a> {
    /// What a client may know of the room, as far as the records tell it.
    pub fn facts(&self) -> RoomFacts {
        let Identity { seed, map_size_px, tick_hz } = *self.world.identity();
        RoomFacts { epoch: String::new(), seed, map_size_px, tick_hz: tick_hz.get() as u8, update_hz: 0 }
    }

    /// The records of the client at this address whose connection begins with this packet.
    pub fn client(&self, address: SocketAddr, first_packet: usize) -> About<'a> {
        let records = self.clients.get(&address).into_iter().flatten();
        let mut about = About::default();
        // Records of a later connection from the same port come after those of this one, and each has its own beginning.
        for (_, record) in records.filter(|(begin, _)| *begin == first_packet) {
            about.player = record.player.or(about.player);
            about.joined = record.joined.or(about.joined);
            about.resumed = record.resumed.or(about.resumed);
            if record.resumed.is_some() && record.player.is_some() {
                // The client had its body before the capture, whenever the capture first said so.
                about.joined = None;
            }
        }
        about
    }
}

/// The records of one room read so far.
#[derive(Default)]
struct Room<'a> {
    front: Front,
    ticks: Vec<Tick>,
    clients: HashMap<SocketAddr, Vec<(usize, About<'a>)>>,
}

/// The parts of the first snapshot read so far.
#[derive(Default)]
struct Front {
    snapshot: Vec<u8>,
    next_part: u16,
    parts: u16,
    /// The fields of the world records, the same in each of them.
    says: Says,
}

/// The fields of a record beside its part of the snapshot, by their names in PROTOCOL.md.
type Says = [(&'static str, u64); 5];

/// Fields of the record with their names.
fn says((seed, map_size_px, tick_hz): (u32, u32, u32), code_hash: u64, tick: u32) -> Says {
    [
        ("seed", seed.into()),
        ("map_size_px", map_size_px.into()),
        ("tick_hz", tick_hz.into()),
        ("code_hash", code_hash),
        ("tick", tick.into()),
    ]
}

/// Reads the records of all rooms.
pub fn read<'a>(capture: &Capture<'a>) -> Result<BTreeMap<&'a str, Recording<'a>>, NotReplayable> {
    // Of each client, in the order of the file.
    let mut begins: HashMap<SocketAddr, Vec<usize>> = HashMap::new();
    for connection in capture.connections() {
        begins.entry(connection.client).or_default().push(connection.first_packet);
    }
    let mut rooms: BTreeMap<&str, Room<'a>> = BTreeMap::new();
    for (packet, record) in capture.records() {
        let refuse = |reason: String| refuse(capture, packet, reason);
        let (here, whole) = (packet.bytes.len(), packet.whole_bytes);
        if here < whole {
            return Err(refuse(format!(
                "the capture truncated this packet (snapshot length): only {here} of {whole} bytes of a record of the world are left"
            )));
        }
        let (name, record) = record.map_err(|error| refuse(error.to_string()))?;
        let room = rooms.entry(name).or_default();
        let (address, about) = match record {
            Record::World { seed, map_size_px, tick_hz, code_hash, tick, part, parts, bytes } => {
                let says = says((seed, map_size_px, tick_hz), code_hash, tick);
                room.front.add((part, parts), says, bytes).map_err(refuse)?;
                continue;
            }
            Record::Tick { checksum, frame } => {
                let frame = decode_frame(frame).map_err(|error| refuse(error.to_string()))?;
                let is_next =
                    room.ticks.last().is_none_or(|last| last.frame.tick.wrapping_add(1) == frame.tick);
                if !is_next {
                    return Err(refuse(format!("tick {} does not follow the previous tick", frame.tick)));
                }
                room.ticks.push(Tick { packet: packet.number, checksum, frame });
                continue;
            }
            Record::Lost { messages, bytes, since_tick } => {
                let what =
                    format!("{messages} messages with {bytes} bytes are missing since tick {since_tick}");
                return Err(refuse(what));
            }
            Record::Client { address, player, session, .. } => {
                let resumed = Resumed { packet: packet.number, at_ns: packet.at_ns, session };
                (address, About { player: player_of(player), joined: None, resumed: Some(resumed) })
            }
            Record::Join { address, player, .. } => {
                let player = player_of(player);
                let joined = player.map(|player| (packet.number, player));
                (address, About { player, joined, resumed: None })
            }
        };
        let address: SocketAddr =
            address.parse().map_err(|_| refuse(format!("{address:?} is not an address with a port")))?;
        // It belongs to the last connection of that address that has begun.
        let known = begins.get(&address).map_or(&[][..], Vec::as_slice);
        let begun = known.partition_point(|first| *first < packet.number);
        if let Some(first) = begun.checked_sub(1).map(|last| known[last]) {
            room.clients.entry(address).or_default().push((first, about));
        }
    }
    if rooms.is_empty() {
        rooms.insert("", Room::default());
    }
    let recording = |(name, Room { front, ticks, clients }): (&'a str, Room<'a>)| {
        let world = front.world(&ticks).map_err(|none| none.of_room(name))?;
        Ok((name, Recording { world, ticks, clients }))
    };
    rooms.into_iter().map(recording).collect()
}

fn player_of(number: u16) -> Option<PlayerId> {
    (number != 0).then_some(PlayerId(number))
}

fn refuse(capture: &Capture<'_>, packet: &Packet<'_>, reason: String) -> NotReplayable {
    NotReplayable { reason, place: Some((packet.number, after(capture, packet.at_ns))), client: None }
}

impl Front {
    /// Adds a part of the snapshot.
    fn add(&mut self, (part, parts): (u16, u16), says: Says, bytes: &[u8]) -> Result<(), String> {
        if part != self.next_part || part > 0 && parts != self.parts {
            return Err("a second world begins, or part of the first one is missing".to_owned());
        }
        if part > 0 {
            agree("the previous record", &self.says, "this one", &says)?;
        }
        (self.next_part, self.parts, self.says) = (part + 1, parts, says);
        self.snapshot.extend_from_slice(bytes);
        Ok(())
    }

    /// The world of all parts; the first tick has to follow it.
    fn world(&self, ticks: &[Tick]) -> Result<World, NotReplayable> {
        let refuse = |reason: String| NotReplayable { reason, place: None, client: None };
        if let (0, Some(first)) = (self.parts, ticks.first()) {
            return Err(refuse(format!(
                "the beginning of this capture is missing: it has ticks from {} on, but not the snapshot of the world before them",
                first.frame.tick
            )));
        }
        if self.parts == 0 {
            return Err(refuse(
                "this capture has no record of the world: it was not written by a tickwire server".to_owned(),
            ));
        }
        if self.next_part != self.parts {
            return Err(refuse("the snapshot of the world is not complete".to_owned()));
        }
        let world = World::restore(&self.snapshot).map_err(|error| refuse(error.to_string()))?;
        let Identity { seed, map_size_px, tick_hz } = *world.identity();
        let own = says((seed, map_size_px, tick_hz.get()), code_hash(), world.tick());
        agree("the record of the world", &self.says, "the snapshot in it", &own).map_err(refuse)?;
        let Some(first) = ticks.first() else {
            return Err(refuse("there is no tick in this capture".to_owned()));
        };
        if first.frame.tick != world.tick() || first.checksum != world.checksum() {
            return Err(refuse("the first tick does not follow the snapshot".to_owned()));
        }
        Ok(world)
    }
}

/// Checks that two records agree on the world; the error names the first field that differs.
fn agree(one: &str, says: &Says, other: &str, also: &Says) -> Result<(), String> {
    let differing = says.iter().zip(also).find(|(said, meant)| said != meant);
    differing.map_or(Ok(()), |((field, said), (_, meant))| {
        let shown =
            |value: u64| if *field == "code_hash" { format!("{value:016x}") } else { value.to_string() };
        Err(format!("{one} says {field} {}, and {other} {}", shown(*said), shown(*meant)))
    })
}
