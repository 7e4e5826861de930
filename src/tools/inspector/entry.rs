//! An entry of the frame list. It stores what listing and filtering need, so that a million frames
//! need not be explained again.

use serde_json::{Value as Json, json};

use super::frame_json;
use super::frame_mark::FrameMark;
use super::packet_summary::TICK;
use crate::datagram::header::DatagramHeader;
use crate::packet::{Direction, Lane, Row};
use crate::tools::explain::parse::datagram::DATAGRAM;
use crate::tools::explain::{Content, Explanation};
use crate::util::plural::count_noun;
use crate::ws::Side;
use crate::ws::frame::Opcode;

/// An entry of the frame list.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameEntry {
    /// The number of the frame in its list.
    pub n: u64,
    /// The number of the inspected client, or of the connection in a capture.
    pub client: u32,
    /// The sender.
    pub from: Side,
    /// The kind of the entry.
    pub kind: EntryKind,
    /// The opcode, if the header was decoded.
    pub opcode: Option<Opcode>,
    /// Whether the frame has a message, or a part of it, of another protocol.
    pub is_foreign: bool,
    /// The name of the packet.
    pub packet: NameId,
    /// The name of the broken rule.
    pub rule: NameId,
    /// Time in microseconds, on the server's clock, or since the first packet of the capture.
    pub at_us: u64,
    /// The current tick; in a capture, the number of the packet that completed the frame.
    pub tick: u32,
    /// The size in bytes, as sent.
    pub bytes: u32,
    /// In a capture: the index of the piece that completed the frame, and the index among the items
    /// of the piece.
    pub capture_index: (u32, u32),
    /// For a ping or pong: the number of its counterpart, and the round trip in microseconds.
    pub ping_pair: Option<(u64, u32)>,
    /// The intervention of an inspector or a proxy.
    pub mark: Option<FrameMark>,
    /// Bytes of the compressed message on the wire, if the frame has the inflated payload.
    pub compressed_bytes: Option<u32>,
    /// Bytes of the inflated message, if the frame completes a compressed message.
    pub inflated_bytes: Option<u32>,
    /// The row of a datagram; `None` for other entries.
    pub datagram: Option<Box<DatagramEntry>>,
}

/// The row of a datagram.
#[derive(Debug, Clone, PartialEq)]
pub struct DatagramEntry {
    /// Its sequence number.
    pub sequence: u16,
    /// The newest datagram that it acknowledges; 0 for none.
    pub newest: u16,
    /// The names of its packets and commands, each with the number of successive repetitions.
    pub packets: Vec<(NameId, u32)>,
    /// Its outcome.
    pub fate: Fate,
    /// Time for which a stream would have held it for a missing segment, in microseconds.
    pub wait_us: u32,
}

/// The outcome of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// From the server: not acknowledged yet. From the client: received in order.
    Regular,
    /// The client acknowledged it first after this time, in microseconds.
    Acknowledged(u32),
    /// It arrived after a newer one. The delay between them in microseconds, if known.
    Late(Option<u32>),
    /// The client acknowledged 33 newer ones, but not this one.
    Lost,
    /// No acknowledgement with a bit for it has arrived.
    Unconfirmed,
    /// The server dropped it before it opened it.
    Dropped,
}

impl Fate {
    /// The name for rows and filters; `None` for a datagram that is not late, lost or dropped.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Fate::Regular | Fate::Acknowledged(_) => None,
            Fate::Late(_) => Some("late"),
            Fate::Lost => Some("lost"),
            Fate::Unconfirmed => Some("unconfirmed"),
            Fate::Dropped => Some("dropped"),
        }
    }
}

/// The kinds of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A frame.
    Frame,
    /// A head of the handshake, or undecoded bytes.
    Other(&'static str),
    /// The client was not inspected for this many microseconds.
    NotInspected(u64),
    /// The capture lacks this many bytes of this side.
    Gap(u64),
    /// Datagrams of the client that were missing when a newer one arrived.
    Missing {
        /// Sequence number of the first.
        first: u16,
        /// Number of missing datagrams.
        count: u32,
        /// Number of datagrams that have arrived late since then.
        late: u32,
        /// Number of lost datagrams.
        lost: u32,
    },
}

/// The index of a name in [`NameTable`], from 1; 0 for no name.
pub type NameId = u16;

/// Interned names of packets and rules. There are few, because they come from the tables and the
/// rules, never from a peer.
#[derive(Debug, Clone, Default)]
pub struct NameTable {
    names: Vec<String>,
    /// The state packets, with their rank.
    states: Vec<(NameId, StateRank)>,
}

/// The suitability of a state packet as the update of a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StateRank {
    /// A later packet replaces it: its lane is `latest`.
    Replaceable,
    /// It also has the tick of its state.
    Timed,
}

impl NameTable {
    /// Returns the id of a name, and adds the name if it is new.
    pub fn intern(&mut self, name: Option<&str>) -> NameId {
        let Some(name) = name else { return 0 };
        let at = self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        NameId::try_from(at + 1).unwrap_or(0)
    }

    /// Records that a row is a state packet, if its lane is `latest`.
    fn add_state(&mut self, row: &Row) {
        if row.direction != Direction::ToClient || row.lane != Lane::Latest {
            return;
        }
        let name = self.intern(Some(&row.name));
        if self.state_rank(name).is_none() {
            let is_timed = row.argument(TICK).is_some();
            self.states.push((name, if is_timed { StateRank::Timed } else { StateRank::Replaceable }));
        }
    }

    /// The rank of a state packet; `None` for other names.
    pub fn state_rank(&self, name: NameId) -> Option<StateRank> {
        self.states.iter().find(|(known, _)| *known == name).map(|(_, rank)| *rank)
    }

    /// The name with this id.
    pub fn name(&self, name: NameId) -> Option<&str> {
        self.names.get(usize::from(name).checked_sub(1)?).map(String::as_str)
    }

    /// All names.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }
}

impl FrameEntry {
    /// Creates the entry of an explained frame.
    pub fn new(n: u64, client: u32, explained: &Explanation<'_>, names: &mut NameTable) -> FrameEntry {
        let frame = explained.frames.first();
        rows_of(explained).for_each(|row| names.add_state(row));
        let is_head = frame.is_some_and(|frame| matches!(frame.content, Content::Head(_)));
        let header = frame.and_then(|frame| frame.header);
        let is_broken = frame_json::rule(explained).is_some();
        let kind = if is_head {
            EntryKind::Other("upgrade")
        } else if frame.is_some_and(|frame| matches!(frame.content, Content::Datagram(_))) {
            EntryKind::Other(DATAGRAM)
        } else if header.is_some() || is_broken {
            EntryKind::Frame
        } else {
            EntryKind::Other("not read")
        };
        FrameEntry {
            n,
            client,
            from: explained.from,
            kind,
            opcode: header.map(|header| header.opcode),
            is_foreign: explained.is_foreign && header.is_some_and(|header| !header.opcode.is_control()),
            packet: names.intern(frame_json::packet(explained)),
            rule: names.intern(frame_json::rule(explained)),
            at_us: 0,
            tick: 0,
            bytes: u32::try_from(explained.bytes.len()).unwrap_or(u32::MAX),
            capture_index: (0, 0),
            ping_pair: None,
            mark: None,
            compressed_bytes: None,
            inflated_bytes: inflated_bytes(explained),
            datagram: datagram_entry(explained, names),
        }
    }

    /// Sets the outcome of a datagram.
    pub fn set_fate(&mut self, fate: Fate) {
        self.datagram.iter_mut().for_each(|datagram| datagram.fate = fate);
    }

    /// Records the time for which a stream would have held a datagram. The longest time counts.
    pub fn add_wait(&mut self, us: u32) {
        self.datagram.iter_mut().for_each(|datagram| datagram.wait_us = datagram.wait_us.max(us));
    }

    /// Counts missing datagrams that arrived late or were lost.
    pub fn settle_missing(&mut self, more_late: u32, more_lost: u32) {
        if let EntryKind::Missing { late, lost, .. } = &mut self.kind {
            (*late, *lost) = (late.saturating_add(more_late), lost.saturating_add(more_lost));
        }
    }

    /// Creates an entry for a gap.
    pub fn new_gap(n: u64, client: u32, from: Side, kind: EntryKind, at_us: u64) -> FrameEntry {
        let (opcode, packet, rule, tick, bytes, place, pair) = (None, 0, 0, 0, 0, (0, 0), None);
        FrameEntry {
            n,
            client,
            from,
            kind,
            opcode,
            is_foreign: false,
            packet,
            rule,
            at_us,
            tick,
            bytes,
            capture_index: place,
            ping_pair: pair,
            mark: None,
            compressed_bytes: None,
            inflated_bytes: None,
            datagram: None,
        }
    }

    /// Whether the entry is a ping or a pong, which programs send automatically.
    pub fn is_automatic(&self, names: &NameTable) -> bool {
        matches!(self.opcode, Some(Opcode::Ping | Opcode::Pong))
            || matches!(names.name(self.packet), Some("ping" | "pong"))
    }

    /// Whether the entry marks a gap instead of a frame.
    pub fn is_gap(&self) -> bool {
        matches!(self.kind, EntryKind::NotInspected(_) | EntryKind::Gap(_))
    }

    /// Whether the entry has no bytes: it marks a gap or missing datagrams.
    pub fn has_no_bytes(&self) -> bool {
        self.is_gap() || matches!(self.kind, EntryKind::Missing { .. })
    }

    /// The name of the opcode, or of the kind of an entry without one.
    pub fn kind_name(&self) -> Option<&'static str> {
        match (self.opcode, self.kind) {
            (Some(opcode), _) => Some(opcode.name()),
            (None, EntryKind::Other(name)) => Some(name),
            (None, EntryKind::Missing { count, late, lost, .. }) => Some(match (late, lost) {
                (late, _) if late == count => "late",
                (late, lost) if late + lost == count => "lost",
                _ => "missing",
            }),
            _ => None,
        }
    }

    /// The entry as JSON, for a row of the list.
    pub fn json(&self, names: &NameTable) -> Json {
        let mut entry = json!({
            "n": self.n,
            "client": self.client,
            "at_ms": self.at_us as f64 / 1000.0,
            "tick": self.tick,
            "from": frame_json::side(self.from),
            "opcode": self.kind_name(),
            "packet": names.name(self.packet),
            "rule": names.name(self.rule),
            "bytes": self.bytes,
        });
        if let Some((other, us)) = self.ping_pair {
            entry["pair"] = Json::from(other);
            entry["rtt_ms"] = Json::from(f64::from(us) / 1000.0);
        }
        match self.kind {
            EntryKind::NotInspected(us) => {
                entry["gap"] = format!("not watched for {:.1} s", us as f64 / 1e6).into();
            }
            EntryKind::Gap(bytes) => {
                entry["gap"] = format!(
                    "the capture lacks {} from the {}",
                    count_noun(bytes, "byte"),
                    frame_json::side(self.from)
                )
                .into();
            }
            EntryKind::Missing { first, count, late, lost } => {
                entry["gap"] = missing_text(first, count, late, lost).into();
            }
            EntryKind::Frame | EntryKind::Other(_) => {}
        }
        if let Some(datagram) = &self.datagram {
            entry["datagram"] = datagram.json(names);
        }
        if let Some(bytes) = self.inflated_bytes {
            entry["inflated"] = bytes.into();
        }
        FrameMark::add_to(&mut entry, self.mark, self.compressed_bytes);
        entry
    }
}

impl DatagramEntry {
    /// Whether it contains a packet with this name.
    pub fn has_packet(&self, wanted: NameId) -> bool {
        self.packets.iter().any(|(name, _)| *name == wanted)
    }

    /// Time for which a stream would have held it, in microseconds. `None` if it is lost.
    pub fn wait_us(&self) -> Option<u32> {
        (self.wait_us > 0 && self.fate != Fate::Lost).then_some(self.wait_us)
    }

    fn json(&self, names: &NameTable) -> Json {
        let ms = |us: u32| f64::from(us) / 1000.0;
        let packets: Vec<String> = self
            .packets
            .iter()
            .filter_map(|(name, count)| Some((names.name(*name)?, *count)))
            .map(|(name, count)| if count > 1 { format!("{name} \u{d7}{count}") } else { name.to_owned() })
            .collect();
        let mut json = json!({
            "sequence": self.sequence,
            "acks": Some(self.newest).filter(|newest| *newest > 0),
            "packets": packets.join(", "),
            "state": self.fate.name(),
        });
        match self.fate {
            Fate::Acknowledged(us) => json["acked_ms"] = ms(us).into(),
            Fate::Late(Some(us)) => json["late_ms"] = ms(us).into(),
            _ => {}
        }
        if let Some(us) = self.wait_us() {
            json["wait_ms"] = ms(us).into();
        }
        json
    }
}

/// Bytes of the inflated message that a frame completes; `None` if it was not compressed.
fn inflated_bytes(explained: &Explanation<'_>) -> Option<u32> {
    let message = explained.frames.first()?.message.as_ref()?;
    message.compressed_bytes.map(|_| u32::try_from(message.payload.len()).unwrap_or(u32::MAX))
}

/// The rows of the packets in a frame or a datagram.
fn rows_of<'a>(explained: &'a Explanation<'_>) -> impl Iterator<Item = &'a Row> {
    let frame = explained.frames.first();
    let packet = frame.and_then(|frame| if let Content::Packet(row, _) = frame.content { row } else { None });
    let packets = frame.map_or(&[][..], |frame| &frame.packets);
    packet.into_iter().chain(packets.iter().copied())
}

/// Creates the row of a datagram.
fn datagram_entry(explained: &Explanation<'_>, names: &mut NameTable) -> Option<Box<DatagramEntry>> {
    let frame = explained.frames.first()?;
    let Content::Datagram(_) = frame.content else { return None };
    let header = DatagramHeader::read(&explained.bytes)?;
    let mut packets: Vec<(NameId, u32)> = Vec::new();
    for row in &frame.packets {
        let name = names.intern(Some(&row.name));
        match packets.last_mut() {
            Some((last, count)) if *last == name => *count += 1,
            _ => packets.push((name, 1)),
        }
    }
    let DatagramHeader { sequence, newest, .. } = header;
    Some(Box::new(DatagramEntry { sequence, newest, packets, fate: Fate::Regular, wait_us: 0 }))
}

/// Describes missing datagrams and their outcomes.
fn missing_text(first: u16, count: u32, late: u32, lost: u32) -> String {
    let last = first.wrapping_add(count.saturating_sub(1) as u16);
    let numbers = if count == 1 { format!("D{first}") } else { format!("D{first} to D{last}") };
    let open = count.saturating_sub(late).saturating_sub(lost);
    let parts = [(lost, "lost"), (late, "late"), (open, "missing")];
    let known: Vec<String> = parts
        .into_iter()
        .filter(|(part, _)| *part > 0)
        .map(|(part, word)| if part == count { word.to_owned() } else { format!("{part} {word}") })
        .collect();
    format!("{numbers} {}", known.join(", "))
}
