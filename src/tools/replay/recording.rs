//! Reads the world records of a capture: the initial world, its ticks, and its clients.
//!
//! The result is a [`Recording`] for each room, with consecutive ticks, or the reason why there is
//! none.

use core::net::SocketAddr;
use core::ops::RangeInclusive;
use std::collections::{BTreeMap, HashMap};

use tickwire_sim::command_frame::CommandFrame;
use tickwire_sim::{EncodedAction, PlayerId, Reader};

use super::error::ReplayError;
use super::replay_input::ReplayInput;
use crate::connection::RoomInfo;
use crate::game::{DynWorld, GameInfo as Game};
use crate::tools::capture::{TcpConnection, Untrusted, WorldRecord, world_record};
use crate::util::plural::count_noun;

/// The recording of one room.
pub struct Recording<'a> {
    /// The game.
    pub info: &'static Game,
    /// The world before the first tick.
    pub world: Box<dyn DynWorld>,
    /// The ticks, consecutive.
    pub ticks: Vec<RecordedTick>,
    /// The clients, by the first packet of their connections, because ports are reused.
    pub clients: HashMap<usize, ClientRecord<'a>>,
}

/// A recorded tick.
pub struct RecordedTick {
    /// The number of its packet.
    pub packet: usize,
    /// The checksum of the world before the tick.
    pub checksum: u64,
    /// The commands of the tick.
    pub frame: CommandFrame<EncodedAction>,
}

/// The recorded data of one client.
#[derive(Clone, Copy, Default)]
pub struct ClientRecord<'a> {
    /// The player of the client.
    pub player: Option<PlayerId>,
    /// The packet of the join record, and the player; `None` if the client had the player before
    /// the capture.
    pub joined: Option<(usize, PlayerId)>,
    /// The saved session, if the client connected before the capture.
    pub resumed: Option<ResumedSession<'a>>,
}

/// A saved session at the start of a capture.
#[derive(Clone, Copy)]
pub struct ResumedSession<'a> {
    /// The number of the packet of the record.
    pub packet: usize,
    /// The time of the record, in nanoseconds since 1970.
    pub at_ns: u64,
    /// The encoded state of the session.
    pub session: &'a [u8],
}

impl<'a> ClientRecord<'a> {
    /// Adds a later record of the same client.
    fn add(&mut self, record: ClientRecord<'a>) {
        self.player = record.player.or(self.player);
        self.joined = record.joined.or(self.joined);
        self.resumed = record.resumed.or(self.resumed);
        if record.resumed.is_some() && record.player.is_some() {
            self.joined = None;
        }
    }
}

impl Recording<'_> {
    /// The range of completed ticks, from the initial world to the end.
    pub fn range(&self) -> RangeInclusive<u32> {
        let first = self.world.tick();
        first..=first + self.ticks.len() as u32
    }

    /// The properties of the room that affect its replies, as far as they are recorded.
    pub fn room_info(&self) -> RoomInfo {
        let (info, identity) = (self.info, self.world.identity());
        RoomInfo { game: info, epoch: String::new(), identity, update_hz: 0 }
    }
}

/// The records of one room read so far.
#[derive(Default)]
struct RoomRecords<'a> {
    /// The parts of the snapshot so far, the number of the next part, and the number of parts.
    snapshot: Vec<u8>,
    next_part: u16,
    parts: u16,
    /// The name of the game, if recorded.
    game: Option<Untrusted<&'a str>>,
    /// The fields of the world records, which are equal in each part.
    world_fields: WorldFields<'a>,
    ticks: Vec<RawTick<'a>>,
    clients: HashMap<usize, ClientRecord<'a>>,
}

/// A tick with an encoded command frame.
#[derive(Clone, Copy)]
struct RawTick<'a> {
    packet: usize,
    at_ns: u64,
    tick: u32,
    checksum: u64,
    frame: &'a [u8],
}

/// The fields of a world record without the snapshot, by their names in PROTOCOL.md, and the
/// options.
type WorldFields<'a> = Vec<(Untrusted<&'a str>, u64)>;

fn fields<'a>(
    seed: u32,
    tick_hz: u32,
    options: &[(Untrusted<&'a str>, u32)],
    rules_hash: u64,
    tick: u32,
) -> WorldFields<'a> {
    let own = |name, number| (Untrusted::new(name), number);
    let numbers = [own("seed", seed), own("tick_hz", tick_hz), own("tick", tick)];
    let numbers = options.iter().chain(&numbers).map(|(name, number)| (*name, u64::from(*number)));
    numbers.chain([(Untrusted::new("rules_hash"), rules_hash)]).collect()
}

/// Reads the records of all rooms. Client records are assigned to the connections of their address.
pub fn read<'a>(
    input: &'a ReplayInput,
    games: &[&'static Game],
    connections: &[TcpConnection<'_>],
) -> Result<BTreeMap<Untrusted<&'a str>, Recording<'a>>, ReplayError> {
    // The first packets of the connections of each address, in file order.
    let mut begins: HashMap<SocketAddr, Vec<usize>> = HashMap::new();
    for connection in connections {
        begins.entry(connection.client).or_default().push(connection.first_packet);
    }
    let mut rooms: BTreeMap<Untrusted<&str>, RoomRecords<'a>> = BTreeMap::new();
    for stored in input.records() {
        let place = (stored.number, stored.at_ns);
        let refuse = |reason: String| ReplayError::at(input.first_ns(), place, reason);
        let (name, record) =
            world_record::decode(&stored.bytes).map_err(|error| refuse(error.to_string()))?;
        // Tables apply to all rooms, and are read elsewhere.
        if matches!(record, WorldRecord::Table { .. }) {
            continue;
        }
        let room = rooms.entry(name).or_default();
        let Some((address, info)) = room.add(record, place).map_err(refuse)? else {
            continue;
        };
        let address: SocketAddr = address
            .raw()
            .parse()
            .map_err(|_| refuse(format!("{address:?} is not an address with a port")))?;
        // The record belongs to the address's latest connection that has already begun.
        let known = begins.get(&address).map_or(&[][..], Vec::as_slice);
        let begun = known.partition_point(|first| *first < stored.number);
        if let Some(first) = begun.checked_sub(1).map(|last| known[last]) {
            room.clients.entry(first).or_default().add(info);
        }
    }
    // Drops rooms with only a record of their game.
    rooms.retain(|_, room| room.parts > 0 || !room.ticks.is_empty() || !room.clients.is_empty());
    if rooms.is_empty() {
        rooms.insert(Untrusted::default(), RoomRecords::default());
    }
    let recording = |(name, room): (Untrusted<&'a str>, RoomRecords<'a>)| {
        let (info, world) = room.world(games).map_err(|reason| {
            let reason = if name.is_empty() { reason } else { format!("room {name}: {reason}") };
            // Without world records, the capture may be from another program, or may contain
            // packets that cannot be decoded.
            let unread = if room.parts == 0 { input.unread() } else { None };
            let reason = unread.map_or(reason.clone(), |unread| format!("{reason}; {unread}"));
            ReplayError::of_file(reason)
        })?;
        let tick = |read: RawTick<'_>| {
            let RawTick { packet, at_ns, checksum, frame, .. } = read;
            let frame = (info.frame)(frame)
                .map_err(|error| ReplayError::at(input.first_ns(), (packet, at_ns), error.to_string()))?;
            Ok(RecordedTick { packet, checksum, frame })
        };
        let ticks = room.ticks.into_iter().map(tick).collect::<Result<_, _>>()?;
        Ok((name, Recording { info, world, ticks, clients: room.clients }))
    };
    rooms.into_iter().map(recording).collect()
}

/// Restores the initial world of a room from its records up to the first tick, each with the number
/// and time of its packet. Returns the game and the world.
///
/// # Errors
/// The reason why the room cannot be replayed.
pub fn read_start<'a>(
    records: impl Iterator<Item = ((usize, u64), &'a [u8])>,
    games: &[&'static Game],
) -> Result<(&'static Game, Box<dyn DynWorld>), String> {
    let mut room = RoomRecords::default();
    for (place, record) in records {
        let (_, record) = world_record::decode(record).map_err(|error| error.to_string())?;
        room.add(record, place)?;
    }
    room.world(games)
}

impl<'a> RoomRecords<'a> {
    /// Adds a record from a packet with this number and time. For a client record, returns the
    /// client's address and data.
    fn add(
        &mut self,
        record: WorldRecord<'a>,
        (packet, at_ns): (usize, u64),
    ) -> Result<Option<(Untrusted<&'a str>, ClientRecord<'a>)>, String> {
        let player_of = |number: u16| (number != 0).then_some(PlayerId(number));
        match record {
            WorldRecord::World { seed, tick_hz, options, rules_hash, tick, part, parts, bytes } => {
                if part != self.next_part || part > 0 && parts != self.parts {
                    return Err("a second world begins, or part of the first one is missing".to_owned());
                }
                let fields_of_record = fields(seed, tick_hz, &options, rules_hash, tick);
                if part > 0 {
                    check_equal("the previous record", &self.world_fields, "this one", &fields_of_record)?;
                }
                (self.next_part, self.parts, self.world_fields) = (part + 1, parts, fields_of_record);
                self.snapshot.extend_from_slice(bytes);
                Ok(None)
            }
            WorldRecord::Tick { checksum, frame } => {
                let tick = Reader::new(frame).u32().map_err(|error| error.to_string())?;
                if self.ticks.last().is_some_and(|last| last.tick.wrapping_add(1) != tick) {
                    return Err(format!("tick {tick} does not follow the previous tick"));
                }
                self.ticks.push(RawTick { packet, at_ns, tick, checksum, frame });
                Ok(None)
            }
            WorldRecord::Lost { messages, bytes, since_tick } => {
                let (messages, bytes) = (count_noun(messages, "message"), count_noun(bytes, "byte"));
                Err(format!("the capture lacks {messages} ({bytes}) since tick {since_tick}"))
            }
            WorldRecord::Client { address, player, session, .. } => {
                let resumed = Some(ResumedSession { packet, at_ns, session });
                Ok(Some((address, ClientRecord { player: player_of(player), joined: None, resumed })))
            }
            WorldRecord::Join { address, player, .. } => {
                let player = player_of(player);
                let joined = player.map(|player| (packet, player));
                Ok(Some((address, ClientRecord { player, joined, resumed: None })))
            }
            WorldRecord::Room { game, .. } => {
                // A capture saved by an inspector page has the paths, but not the game.
                self.game = Some(game).filter(|game| !game.is_empty());
                Ok(None)
            }
            WorldRecord::Table { .. } => Ok(None),
        }
    }

    /// Restores the world from all parts of the snapshot, and checks that the first tick follows
    /// it.
    fn world(&self, games: &[&'static Game]) -> Result<(&'static Game, Box<dyn DynWorld>), String> {
        let first = self.ticks.first();
        if let (0, Some(first)) = (self.parts, first) {
            return Err(format!(
                "the beginning of this capture is missing: it has ticks from {} on, but not the snapshot of the world before them",
                first.tick
            ));
        }
        if self.parts == 0 {
            return Err(
                "this capture has no record of the world: it was not written by a tickwire server".to_owned()
            );
        }
        if self.next_part != self.parts {
            return Err("the snapshot of the world is not complete".to_owned());
        }
        let is_it = |game: &&&Game| match self.game {
            Some(name) => name == *game.name,
            None => (game.recognizes)(&self.snapshot),
        };
        let Some(info) = games.iter().find(is_it).copied() else {
            let names: Vec<&str> = games.iter().map(|game| game.name).collect();
            let game = self.game.map_or("a game".to_owned(), |name| format!("the game {name:?}"));
            return Err(format!(
                "this capture is of {game} that this program does not have; it has {}",
                names.join(" and ")
            ));
        };
        let world = (info.restore)(&self.snapshot).map_err(|error| error.to_string())?;
        let (identity, tick) = (world.identity(), world.tick());
        let options: Vec<_> =
            identity.options.iter().map(|(name, value)| (Untrusted::new(*name), *value)).collect();
        let own = fields(identity.seed, identity.tick_hz, &options, (info.rules_hash)(), tick);
        check_equal("the record of the world", &self.world_fields, "the snapshot in it", &own)?;
        match first {
            None => Err("there is no tick in this capture".to_owned()),
            Some(first) if first.tick != tick || first.checksum != world.checksum() => {
                Err("the first tick does not follow the snapshot".to_owned())
            }
            Some(_) => Ok((info, world)),
        }
    }
}

/// Checks that two records have the same fields. The error names the first differing one.
fn check_equal(
    one: &str,
    fields: &WorldFields<'_>,
    other: &str,
    also: &WorldFields<'_>,
) -> Result<(), String> {
    if fields.len() != also.len() {
        return Err(format!("{one} has other options than {other}"));
    }
    let differing = fields.iter().zip(also).find(|(ours, expected)| ours != expected);
    differing.map_or(Ok(()), |((field, our_value), (_, their_value))| {
        let quote =
            |value: u64| if *field == *"rules_hash" { format!("{value:016x}") } else { value.to_string() };
        Err(format!("{one} has {field} {}, but {other} has {}", quote(*our_value), quote(*their_value)))
    })
}
