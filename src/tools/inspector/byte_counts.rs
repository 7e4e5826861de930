//! Counts bytes by packet and by field, from explanations.
//!
//! The input is explanations of single frames. The output has, for each packet, the number of
//! frames, their bytes, and the bytes of each field. At most [`limits::INSPECTOR_PACKET_KINDS`]
//! packets are counted separately, with as many fields each. All names come from the packet tables,
//! never from a client: bytes without a name are counted as `payload`.

use serde_json::{Value as Json, json};

use super::frame_json;
use crate::datagram::header::HEADER_BYTES;
use crate::limits;
use crate::tools::explain::parse::datagram::DATAGRAM;
use crate::tools::explain::tree::{BYTE, Node};
use crate::tools::explain::{Content, Explanation, PAYLOAD_FIELD};
use crate::ws::Side;

/// The name for everything beyond the limit.
const OTHER_NAME: &str = "other";
/// The name for the fields of the frame header, except the masking key.
const HEADER: &str = "header";
const KEY: &str = "masking_key";
/// The name for the code of a packet, and for the heads of the arrays around code and arguments.
const CODE: &str = "code";
/// Maximum depth of a field name: `own.x` has 2.
const DEPTH: usize = 2;

/// Byte counts by packet and field.
#[derive(Debug, Default)]
pub struct ByteCounts {
    kinds: Vec<PacketBytes>,
}

#[derive(Debug)]
struct PacketBytes {
    packet: String,
    from: Side,
    count: u64,
    bits: NamedBits,
}

/// Bits by name, in order of first use.
#[derive(Debug, Default)]
struct NamedBits(Vec<(String, u64)>);

impl NamedBits {
    fn add(&mut self, name: &str, bits: u64) {
        let is_full = self.0.len() >= limits::INSPECTOR_PACKET_KINDS;
        let at = self.0.iter().position(|(known, _)| known == name);
        let at = at.or_else(|| is_full.then(|| self.0.len() - 1));
        match at {
            Some(at) => self.0[at].1 += bits,
            None if self.0.len() + 1 == limits::INSPECTOR_PACKET_KINDS => {
                self.0.push((OTHER_NAME.to_owned(), bits))
            }
            None => self.0.push((name.to_owned(), bits)),
        }
    }
}

impl ByteCounts {
    /// Counts the bytes of a frame.
    pub fn add(&mut self, explained: &Explanation<'_>) {
        let Some(frame) = explained.frames.first() else { return };
        if let Content::Datagram(_) = frame.content {
            return self.add_datagram(&frame.tree, explained.from);
        }
        let packet = frame_json::packet(explained);
        let name = packet
            .or_else(|| frame_json::rule(explained))
            .or_else(|| frame.header.as_ref().map(|header| header.opcode.name()))
            .unwrap_or(OTHER_NAME);
        let kind = self.kind(name, explained.from);
        kind.count += 1;
        for node in &frame.tree.children {
            let bits = node.bits.len() as u64;
            match node.name.as_str() {
                PAYLOAD_FIELD if packet.is_some() => {
                    node.children.iter().for_each(|node| envelope(node, &mut kind.bits))
                }
                PAYLOAD_FIELD => kind.bits.add(PAYLOAD_FIELD, bits),
                KEY => kind.bits.add(KEY, bits),
                _ => kind.bits.add(HEADER, bits),
            }
        }
    }

    /// Counts the bytes of a datagram's header and, by kind, of its messages.
    fn add_datagram(&mut self, tree: &Node, from: Side) {
        let kind = self.kind(DATAGRAM, from);
        kind.count += 1;
        for node in &tree.children {
            let name = if node.bits.start < HEADER_BYTES * BYTE { HEADER } else { &node.name };
            kind.bits.add(name, node.bits.len() as u64);
        }
    }

    fn kind(&mut self, name: &str, from: Side) -> &mut PacketBytes {
        let is_full = self.kinds.len() >= limits::INSPECTOR_PACKET_KINDS;
        let name = if is_full { OTHER_NAME } else { name };
        let known = self.kinds.iter().position(|kind| kind.packet == name && kind.from == from);
        let at = known.unwrap_or_else(|| {
            self.kinds.push(PacketBytes {
                packet: name.to_owned(),
                from,
                count: 0,
                bits: NamedBits::default(),
            });
            self.kinds.len() - 1
        });
        &mut self.kinds[at]
    }

    /// Iterates over the fields of all packets: packet, field and bytes.
    #[cfg(not(target_family = "wasm"))]
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str, u64)> {
        self.kinds.iter().flat_map(|kind| {
            let fields = kind.bits.0.iter();
            fields.map(|(field, bits)| (&*kind.packet, &**field, bits / BYTE as u64))
        })
    }

    /// Returns the counts since the last call as a JSON list.
    pub fn take(&mut self) -> String {
        let kinds = std::mem::take(&mut self.kinds).into_iter();
        Json::from(kinds.map(PacketBytes::json).collect::<Vec<_>>()).to_string()
    }
}

impl PacketBytes {
    fn json(self) -> Json {
        let bytes = |bits: u64| bits as f64 / BYTE as f64;
        let sum: u64 = self.bits.0.iter().map(|(_, bits)| bits).sum();
        let fields: Vec<Json> =
            self.bits.0.iter().map(|(name, bits)| json!({ "name": name, "bytes": bytes(*bits) })).collect();
        json!({
            "packet": self.packet,
            "from": frame_json::side(self.from),
            "count": self.count,
            "bytes": bytes(sum),
            "fields": fields,
        })
    }
}

/// Counts an envelope, `[code, [arguments…]]`. Everything outside the arguments is counted as the
/// code.
fn envelope(node: &Node, bits: &mut NamedBits) {
    let arguments = node.children.iter().position(|child| child.name == "arguments");
    let Some(at) = arguments else { return bits.add(PAYLOAD_FIELD, node.bits.len() as u64) };
    for (index, child) in node.children.iter().enumerate() {
        if index != at {
            bits.add(CODE, child.bits.len() as u64);
            continue;
        }
        for argument in &child.children {
            if argument.name == HEAD {
                bits.add(CODE, argument.bits.len() as u64);
            } else {
                walk(argument, &argument.name, 1, bits);
            }
        }
    }
}

/// The name of the first leaf of a container.
const HEAD: &str = "head";

/// Counts the leaves of a node under its path. List indices are not part of the path.
fn walk(node: &Node, path: &str, depth: usize, bits: &mut NamedBits) {
    if node.children.is_empty() {
        return bits.add(path, node.bits.len() as u64);
    }
    for child in &node.children {
        let is_place = child.name.starts_with('[') || child.name == HEAD;
        if is_place || depth >= DEPTH {
            walk(child, path, depth, bits);
        } else {
            walk(child, &format!("{path}.{}", child.name), depth + 1, bits);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketTables;
    use crate::tools::explain::explain;

    fn count(hexes: &[&str]) -> Json {
        let dialect = PacketTables::builtin().dialect("native").expect("built in");
        let mut fields = ByteCounts::default();
        for text in hexes {
            let bytes = crate::tools::explain::hex::parse(text).expect("hex");
            fields.add(&explain(&bytes, &dialect, None));
        }
        let counts = serde_json::from_str(&fields.take()).expect("JSON");
        assert_eq!(fields.take(), "[]", "counted once");
        counts
    }

    fn named(kind: &Json) -> Vec<(String, f64)> {
        let fields = kind["fields"].as_array().expect("a list");
        let one = |field: &Json| Some((field["name"].as_str()?.to_owned(), field["bytes"].as_f64()?));
        fields.iter().filter_map(one).collect()
    }

    #[test]
    fn each_byte_of_a_move_is_counted_for_its_field() {
        let counts = count(&["828a37fa213da5f9b22cfafe91f077fa", "828a37fa213da5f9b22cfafe91f077fa"]);
        let kind = &counts[0];
        assert_eq!((&kind["packet"], &kind["from"]), (&json!("move"), &json!("client")));
        assert_eq!((kind["count"].as_u64(), kind["bytes"].as_f64()), (Some(2), Some(32.0)));
        let expected = [
            ("header", 4.0),
            ("masking_key", 8.0),
            ("code", 6.0),
            ("sequence", 2.0),
            ("tick", 6.0),
            ("direction", 6.0),
        ];
        assert_eq!(named(kind), expected.map(|(name, bytes)| (name.to_owned(), bytes)));
    }

    #[test]
    fn groups_are_counted_by_their_arguments_and_other_frames_by_what_they_are() {
        // Tick 1, own nil, empty `leaves`, `enters` and `full`, two groups of `moved`; then a ping,
        // and an invalid frame without a mask.
        let counts = count(&["820f92029601c090909096070101080202", "8902abcd", "8a80"]);
        let update = named(&counts[0]);
        assert_eq!(update.iter().map(|(_, bytes)| bytes).sum::<f64>(), 17.0);
        for (name, bytes) in
            [("moved", 1.0), ("moved.player", 2.0), ("moved.dx", 2.0), ("tick", 1.0), ("own", 1.0)]
        {
            assert!(update.contains(&(name.to_owned(), bytes)), "{name}: {update:?}");
        }
        assert_eq!(
            (&counts[1]["packet"], named(&counts[1])),
            (&json!("ping"), vec![("header".to_owned(), 2.0), ("payload".to_owned(), 2.0)])
        );
        assert_eq!(counts[2]["packet"], "incomplete");
    }

    #[test]
    fn a_packet_in_json_is_counted_to_the_last_byte_as_well() {
        let counts = count(&["810b5b372c5b342c3332355d5d"]);
        assert_eq!((&counts[0]["packet"], counts[0]["bytes"].as_f64()), (&json!("pong"), Some(13.0)));
        let sum: f64 = named(&counts[0]).iter().map(|(_, bytes)| bytes).sum();
        assert_eq!(sum, 13.0, "{}", counts[0]);
    }

    #[test]
    fn names_are_bounded() {
        let mut named = NamedBits::default();
        for number in 0..3 * limits::INSPECTOR_PACKET_KINDS {
            named.add(&number.to_string(), 8);
        }
        assert_eq!(named.0.len(), limits::INSPECTOR_PACKET_KINDS);
        assert_eq!(
            named.0.last(),
            Some(&(OTHER_NAME.to_owned(), 8 * (2 * limits::INSPECTOR_PACKET_KINDS as u64 + 1)))
        );
        let mut fields = ByteCounts::default();
        for number in 0..3 * limits::INSPECTOR_PACKET_KINDS {
            fields.kind(&number.to_string(), Side::Client).count += 1;
        }
        assert_eq!(fields.kinds.len(), limits::INSPECTOR_PACKET_KINDS + 1);
    }
}
