//! An entry of the frame list. It stores what listing and filtering need, so that a million frames
//! need not be explained again.

use serde_json::{Value as Json, json};

use super::frame_json;
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
    /// Whether an inspector injected the frame.
    pub is_injected: bool,
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
}

/// The index of a name in [`NameTable`], from 1; 0 for no name.
pub type NameId = u16;

/// Interned names of packets and rules. There are few, because they come from the tables and the
/// rules, never from a peer.
#[derive(Debug, Clone, Default)]
pub struct NameTable(Vec<String>);

impl NameTable {
    /// Returns the id of a name, and adds the name if it is new.
    pub fn intern(&mut self, name: Option<&str>) -> NameId {
        let Some(name) = name else { return 0 };
        let at = self.0.iter().position(|known| known == name).unwrap_or_else(|| {
            self.0.push(name.to_owned());
            self.0.len() - 1
        });
        NameId::try_from(at + 1).unwrap_or(0)
    }

    /// The name with this id.
    pub fn name(&self, name: NameId) -> Option<&str> {
        self.0.get(usize::from(name).checked_sub(1)?).map(String::as_str)
    }

    /// All names.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl FrameEntry {
    /// Creates the entry of an explained frame.
    pub fn new(n: u64, client: u32, explained: &Explanation<'_>, names: &mut NameTable) -> FrameEntry {
        let frame = explained.frames.first();
        let is_head = frame.is_some_and(|frame| matches!(frame.content, Content::Head(_)));
        let header = frame.and_then(|frame| frame.header);
        let is_broken = frame_json::rule(explained).is_some();
        let kind = if is_head {
            EntryKind::Other("upgrade")
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
            packet: names.intern(frame_json::packet(explained)),
            rule: names.intern(frame_json::rule(explained)),
            at_us: 0,
            tick: 0,
            bytes: u32::try_from(explained.bytes.len()).unwrap_or(u32::MAX),
            capture_index: (0, 0),
            ping_pair: None,
            is_injected: false,
        }
    }

    /// Creates an entry for a gap.
    pub fn new_gap(n: u64, client: u32, from: Side, kind: EntryKind, at_us: u64) -> FrameEntry {
        let (opcode, packet, rule, tick, bytes, place, pair) = (None, 0, 0, 0, 0, (0, 0), None);
        let is_injected = false;
        FrameEntry {
            n,
            client,
            from,
            kind,
            opcode,
            packet,
            rule,
            at_us,
            tick,
            bytes,
            capture_index: place,
            ping_pair: pair,
            is_injected,
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

    /// The name of the opcode, or of the kind of an entry without one.
    pub fn kind_name(&self) -> Option<&'static str> {
        match (self.opcode, self.kind) {
            (Some(opcode), _) => Some(opcode.name()),
            (None, EntryKind::Other(name)) => Some(name),
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
            EntryKind::Frame | EntryKind::Other(_) => {}
        }
        if self.is_injected {
            entry["injected"] = true.into();
        }
        entry
    }
}
