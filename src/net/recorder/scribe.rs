//! Encodes the tap's traffic as the blocks of a capture file, without a file, a clock or a thread:
//! the recorder has those.
//!
//! ```text
//!   opened ─► SYN, SYN/ACK, ACK, request, response      session ─► record 3 of the world's interface
//!   bytes  ─► segments, each acknowledging the other's  worlds  ─► a new file: interfaces; of each room record 1, handshakes
//!   ended  ─► FIN, FIN, ACK                             tick    ─► record 2
//! ```
//!
//! The input is [`Seen`] values in order, and what is [`Lost`]; the output is blocks. Sequence
//! numbers count all bytes, including lost bytes, so a loss shows as a gap. Bytes of a client whose
//! beginning is unknown are never written.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use crate::capture::packet::{self, ACK, FIN, Head, LINK_RAW, LINK_WORLD, PSH, SYN};
use crate::capture::pcapng::{self, About};
use crate::capture::record::{self, Record};
use crate::limits;
use crate::net::tap::{Lost, Missed, Seen, Side, What};
use crate::peer::receiver;
use crate::session::Session;
use crate::world::command::decode_frame;
use crate::world::{Action, World, code_hash};

/// Number of the interface with the connections, and of the interface with the world's records.
const CLIENTS: u32 = 0;
const WORLD: u32 = 1;

/// One client, as far as the file describes it.
#[derive(Debug)]
struct Talker {
    opened: Seen,
    address: SocketAddr,
    local: SocketAddr,
    /// Number of the next byte of each direction: what it sends, what it is sent.
    next: [u32; 2],
    player: u16,
    /// Bytes that are missing before its next packet.
    lost_bytes: u64,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Scribe {
    /// Nanoseconds from 1970 to the start of the server's clock.
    epoch_ns: u64,
    talkers: BTreeMap<u64, Talker>,
    /// Names of players by room and number, and the addresses that have been given one.
    names: HashMap<(Arc<str>, u16), String>,
    named: BTreeSet<IpAddr>,
    /// Whether a file has begun.
    has_begun: bool,
    /// Whether the file has only worlds so far, and the clients of their rooms.
    is_front: bool,
    packets: u64,
    packet: Vec<u8>,
}

impl Scribe {
    /// A scribe that has seen no traffic yet.
    pub fn new(epoch_ns: u64) -> Scribe {
        Scribe {
            epoch_ns,
            talkers: BTreeMap::new(),
            names: HashMap::new(),
            named: BTreeSet::new(),
            has_begun: false,
            is_front: false,
            packets: 0,
            packet: Vec::new(),
        }
    }

    /// Packets written so far.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Appends the blocks for one item. A [`What::World`] that follows no other begins a new file.
    pub fn take(&mut self, seen: &Seen, out: &mut Vec<u8>) {
        let was_front = std::mem::replace(&mut self.is_front, matches!(seen.what, What::World { .. }));
        match &seen.what {
            What::Opened { address, local, .. } => self.open(seen, *address, *local, out),
            What::Session(session) => self.resume(seen, session, out),
            What::Bytes { from, bytes, .. } => self.bytes(seen, *from, bytes, out),
            What::Missed(missed) => self.miss(seen, *missed, out),
            What::Ended { rule } => self.end(seen, rule, out),
            What::World { snapshot } => {
                if !was_front {
                    self.has_begun = true;
                    self.named.clear();
                    write_front(out);
                }
                self.begin(seen, snapshot, out);
            }
            What::Tick { checksum, frame } => {
                self.learn_names(&seen.room, frame, out);
                self.record((&seen.room, seen.at), &Record::Tick { checksum: *checksum, frame }, out);
            }
        }
    }

    /// Ends the file: without a tick it has no traffic, but is still a valid capture.
    pub fn finish(&self, out: &mut Vec<u8>) {
        if !self.has_begun {
            write_front(out);
        }
    }

    /// Appends a note that data is missing from here on. Forgets clients that have left; `came`
    /// introduces clients that arrived meanwhile and are still connected.
    pub fn lose(&mut self, lost: &Lost, came: &[Seen], at: Duration, out: &mut Vec<u8>) {
        let messages = u32::try_from(lost.messages).unwrap_or(u32::MAX);
        let record = Record::Lost { messages, bytes: lost.bytes, since_tick: lost.since_tick };
        self.record(("", at), &record, out);
        self.talkers.retain(|client, _| !lost.ended.contains(client));
        came.iter().for_each(|seen| self.take(seen, out));
        for (client, bytes) in &lost.connections {
            self.skip(*client, *bytes);
        }
    }

    /// Appends that something of one client is missing.
    fn miss(&mut self, seen: &Seen, missed: Missed, out: &mut Vec<u8>) {
        let Missed { messages, bytes, since_tick } = missed;
        let messages = u32::try_from(messages).unwrap_or(u32::MAX);
        self.record((&seen.room, seen.at), &Record::Lost { messages, bytes, since_tick }, out);
        self.skip(seen.client, [bytes, 0]);
    }

    /// So many bytes of a client's connection are missing: what it sent, what it was sent.
    fn skip(&mut self, client: u64, [sent, was_sent]: [u64; 2]) {
        let Some(talker) = self.talkers.get_mut(&client) else { return };
        talker.next[0] = talker.next[0].wrapping_add(sent as u32);
        talker.next[1] = talker.next[1].wrapping_add(was_sent as u32);
        talker.lost_bytes += sent + was_sent;
    }

    fn open(&mut self, seen: &Seen, address: SocketAddr, local: SocketAddr, out: &mut Vec<u8>) {
        let talker = Talker { opened: seen.clone(), address, local, next: [0; 2], player: 0, lost_bytes: 0 };
        self.talkers.insert(seen.client, talker);
        if self.has_begun {
            self.introduce(seen.client, out);
        }
    }

    /// The handshakes: that of TCP, and the upgrade.
    fn introduce(&mut self, client: u64, out: &mut Vec<u8>) {
        let Some(talker) = self.talkers.get_mut(&client) else { return };
        // Ports are used again: another connection needs another number to begin with.
        let first = (client as u32).wrapping_mul(0x9e37_79b1);
        talker.next = [first, !first];
        let opened = talker.opened.clone();
        let What::Opened { dialect, json, request, response, .. } = &opened.what else { return };
        let format = if *json { " json" } else { "" };
        let comment = format!("tick={} client={client} dialect={dialect}{format}", opened.tick);
        let at = opened.at;
        self.segment((client, Side::Client), (SYN, b""), (at, &comment), out);
        self.segment((client, Side::Server), (SYN | ACK, b""), (at, &comment), out);
        self.segment((client, Side::Client), (ACK, b""), (at, &comment), out);
        self.segment((client, Side::Client), (PSH | ACK, request), (at, &comment), out);
        self.segment((client, Side::Server), (PSH | ACK, response), (at, &comment), out);
    }

    /// What the receiver of a client remembers.
    fn resume(&mut self, seen: &Seen, session: &[u8], out: &mut Vec<u8>) {
        let Some(talker) = self.talkers.get_mut(&seen.client) else { return };
        let restored = receiver::restore(session, seen.at).map(|(session, _)| session);
        let What::Opened { dialect, json, .. } = &talker.opened.what else { return };
        let awaits_hello = restored.as_ref().is_some_and(Session::awaits_hello);
        let flag = |is: bool, flag: u8| if is { flag } else { 0 };
        let address = talker.address.to_string();
        talker.player = seen.player;
        let record = Record::Client {
            client: seen.client,
            address: &address,
            dialect: &dialect.clone(),
            player: seen.player,
            sequence: restored.as_ref().map_or(0, Session::sequence),
            flags: flag(awaits_hello, record::FLAG_AWAITS_HELLO) | flag(*json, record::FLAG_JSON),
            session,
        };
        self.record((&seen.room, seen.at), &record, out);
        self.name(seen.client, out);
    }

    fn bytes(&mut self, seen: &Seen, from: Side, bytes: &[u8], out: &mut Vec<u8>) {
        self.notice_body(seen, out);
        let comment = self.comment(seen, "");
        self.data((seen.client, from), bytes, (seen.at, &comment), out);
    }

    fn end(&mut self, seen: &Seen, rule: &str, out: &mut Vec<u8>) {
        let comment = self.comment(seen, &format!(" {rule}"));
        let by_peer = matches!(rule, "peer_closed" | "peer_lost");
        let (first, second) =
            if by_peer { (Side::Client, Side::Server) } else { (Side::Server, Side::Client) };
        for (from, flags) in [(first, FIN | ACK), (second, FIN | ACK), (first, ACK)] {
            self.segment((seen.client, from), (flags, b""), (seen.at, &comment), out);
        }
        self.talkers.remove(&seen.client);
    }

    /// The front of a file: the state of a room's world and its connected clients, which a reader
    /// needs first.
    fn begin(&mut self, seen: &Seen, snapshot: &[u8], out: &mut Vec<u8>) {
        let parts = snapshot.chunks(limits::CAPTURE_PART_BYTES);
        // The bounds of a world keep it far below 65,535 parts.
        let count = parts.len() as u16;
        if let Ok(world) = World::restore(snapshot) {
            let identity = world.identity();
            for (part, bytes) in (0..count).zip(parts) {
                let record = Record::World {
                    seed: identity.seed,
                    map_size_px: identity.map_size_px,
                    tick_hz: identity.tick_hz.get(),
                    code_hash: code_hash(),
                    tick: seen.tick,
                    part,
                    parts: count,
                    bytes,
                };
                self.record((&seen.room, seen.at), &record, out);
            }
            self.names.retain(|(room, _), _| *room != seen.room);
            let names = world
                .players()
                .map(|player| ((Arc::clone(&seen.room), player.id.0), player.name.to_string()));
            self.names.extend(names);
        }
        let clients = self.talkers.iter().filter(|(_, talker)| talker.opened.room == seen.room);
        for client in clients.map(|(client, _)| *client).collect::<Vec<_>>() {
            self.introduce(client, out);
            self.name(client, out);
        }
    }

    /// That a client has a body is said before the first bytes that follow.
    fn notice_body(&mut self, seen: &Seen, out: &mut Vec<u8>) {
        let Some(talker) = self.talkers.get_mut(&seen.client) else { return };
        if talker.player == seen.player || seen.player == 0 {
            return;
        }
        talker.player = seen.player;
        let address = talker.address;
        let (port, text) = (address.port(), address.to_string());
        let record = Record::Join { client: seen.client, player: seen.player, port, address: &text };
        self.record((&seen.room, seen.at), &record, out);
        self.name(seen.client, out);
    }

    fn learn_names(&mut self, room: &Arc<str>, frame: &[u8], out: &mut Vec<u8>) {
        let Ok(frame) = decode_frame(frame) else { return };
        for command in frame.commands {
            match command.action {
                Action::Join { player, name, .. } => {
                    self.names.insert((Arc::clone(room), player.0), name);
                    let is_theirs =
                        |talker: &Talker| talker.player == player.0 && talker.opened.room == *room;
                    let theirs = self.talkers.iter().find(|(_, talker)| is_theirs(talker));
                    if let Some(client) = theirs.map(|(client, _)| *client) {
                        self.name(client, out);
                    }
                }
                Action::Leave { player } => drop(self.names.remove(&(Arc::clone(room), player.0))),
                _ => {}
            }
        }
    }

    /// Gives a client's address its player's name, if it has none yet.
    fn name(&mut self, client: u64, out: &mut Vec<u8>) {
        let Some(talker) = self.talkers.get(&client).filter(|_| self.has_begun) else { return };
        let number = (Arc::clone(&talker.opened.room), talker.player);
        let Some(name) = self.names.get(&number).filter(|name| !name.is_empty()) else { return };
        if self.named.insert(talker.address.ip()) {
            pcapng::write_name(out, talker.address.ip(), name);
        }
    }

    fn comment(&self, seen: &Seen, more: &str) -> String {
        let mut comment = format!("tick={}", seen.tick);
        if seen.player != 0 {
            comment.push_str(&format!(" player={}", seen.player));
            if let Some(name) = self.names.get(&(Arc::clone(&seen.room), seen.player)) {
                comment.push_str(&format!(" {name}"));
            }
        }
        comment + more
    }

    /// Bytes of a connection, in as many segments as they need.
    fn data(&mut self, way: (u64, Side), bytes: &[u8], about: (Duration, &str), out: &mut Vec<u8>) {
        for piece in bytes.chunks(limits::CAPTURE_SEGMENT_BYTES) {
            self.segment(way, (PSH | ACK, piece), about, out);
        }
    }

    fn segment(
        &mut self,
        (client, from): (u64, Side),
        (flags, payload): (u8, &[u8]),
        (at, comment): (Duration, &str),
        out: &mut Vec<u8>,
    ) {
        let Some(talker) = self.talkers.get_mut(&client).filter(|_| self.has_begun) else { return };
        let ends = [talker.address, talker.local];
        let own = usize::from(from == Side::Server);
        let head = Head {
            from: ends[own],
            to: ends[1 - own],
            sequence: talker.next[own],
            acknowledged: if flags & ACK != 0 { talker.next[1 - own] } else { 0 },
            flags,
        };
        self.packet.clear();
        let written = packet::encode(&mut self.packet, &head, payload) as u32;
        let counts = u32::from(flags & (SYN | FIN) != 0);
        talker.next[own] = talker.next[own].wrapping_add(written + counts);
        let lost_bytes = std::mem::take(&mut talker.lost_bytes);
        let lost = if lost_bytes > 0 { format!(" lost={lost_bytes} bytes before") } else { String::new() };
        let about = About {
            interface: CLIENTS,
            at_ns: self.at_ns(at),
            inbound: Some(from == Side::Client),
            comment: &format!("{comment}{lost}"),
        };
        pcapng::write_packet(out, &about, &self.packet);
        self.packets += 1;
    }

    fn record(&mut self, (room, at): (&str, Duration), record: &Record<'_>, out: &mut Vec<u8>) {
        if self.has_begun {
            self.packet.clear();
            record::encode(&mut self.packet, room, record);
            let about = About { interface: WORLD, at_ns: self.at_ns(at), inbound: None, comment: "" };
            pcapng::write_packet(out, &about, &self.packet);
            self.packets += 1;
        }
    }

    fn at_ns(&self, at: Duration) -> u64 {
        self.epoch_ns.saturating_add(u64::try_from(at.as_nanos()).unwrap_or(u64::MAX))
    }
}

/// The blocks with which every file begins.
fn write_front(out: &mut Vec<u8>) {
    pcapng::write_section(out, concat!("tickwire ", env!("CARGO_PKG_VERSION")));
    pcapng::write_interface(out, LINK_RAW as u16, "clients");
    pcapng::write_interface(out, LINK_WORLD as u16, "world");
}

#[cfg(test)]
mod tests;
