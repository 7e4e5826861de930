//! Explains an opened datagram of a lane: its header, and its messages down to the values of the
//! packets.
//!
//! [`crate::datagram`] decides whether the messages are valid; this module names their bits. The
//! bytes from the first broken part on form one leaf.

use std::ops::Range;

use super::packet;
use crate::datagram::commands::CommandBlock;
use crate::datagram::header::{DatagramHeader, HEADER_BYTES};
use crate::datagram::{DatagramError, Message, message};
use crate::packet::{Dialect, Direction, Row};
use crate::tools::explain::explanation::{Content, ExplainedFrame, Explanation, Problem, UNREAD_FIELD};
use crate::tools::explain::tree::{BYTE, Node, bits};
use crate::util::plural::count_noun;
use crate::ws::Side;

/// Explains an opened datagram: its header and its messages, without a tag.
pub fn explain<'a>(bytes: &[u8], from: Side, dialect: &'a Dialect) -> Explanation<'a> {
    let mut reader = Reader::new(bytes, from, dialect);
    let (children, error) = match reader.datagram() {
        Ok(children) => (children, None),
        Err((children, error)) => (children, Some(error)),
    };
    reader.explanation(children, error)
}

/// Explains the header of a datagram that the server dropped by this rule. Its messages were not
/// opened.
pub fn explain_dropped<'a>(bytes: &[u8], rule: DatagramError, dialect: &'a Dialect) -> Explanation<'a> {
    let mut reader = Reader::new(bytes, Side::Client, dialect);
    let children = reader.header().unwrap_or_default();
    reader.explanation(children, Some(rule))
}

impl<'a> Reader<'a, '_> {
    /// Returns the explanation with these nodes, and with the broken rule, if any.
    fn explanation(self, mut children: Vec<Node>, error: Option<DatagramError>) -> Explanation<'a> {
        let Reader { bytes, from, dialect, .. } = self;
        let end = children.last().map_or(0, |last| last.bits.end / BYTE);
        let rest = end..bytes.len();
        if !rest.is_empty() {
            children.push(Node::of_bytes(UNREAD_FIELD, end, &bytes[rest.clone()], "not decoded"));
        }
        let tree = Node::parent(DATAGRAM, 0, children);
        let content = Content::Datagram(self.line.join("; "));
        let problem = error.map(|error| Problem::Violation {
            rule: error.name(),
            address: "PROTOCOL.md".to_owned(),
            description: error.to_string(),
            answer: error.response().to_owned(),
            bits: bits(rest),
        });
        let frame = ExplainedFrame {
            content,
            problem,
            packets: self.packets,
            ..ExplainedFrame::new(0..bytes.len(), tree)
        };
        let (bytes, candidates, frames) = (bytes.to_vec(), Vec::new(), vec![frame]);
        Explanation { bytes, from, dialect, is_foreign: false, candidates, frames }
    }
}

/// The name of the root node of a datagram.
pub const DATAGRAM: &str = "datagram";

/// The nodes before a broken part, and the rule.
type Broken = (Vec<Node>, DatagramError);

struct Reader<'a, 'b> {
    bytes: &'b [u8],
    at: usize,
    from: Side,
    dialect: &'a Dialect,
    /// The parts of the summary line.
    line: Vec<String>,
    /// The rows of the packets and commands.
    packets: Vec<&'a Row>,
}

impl<'a, 'b> Reader<'a, 'b> {
    fn new(bytes: &'b [u8], from: Side, dialect: &'a Dialect) -> Reader<'a, 'b> {
        Reader { bytes, at: 0, from, dialect, line: Vec::new(), packets: Vec::new() }
    }

    /// Reads a big-endian number. The caller has checked that there are enough bytes.
    fn number(&mut self, name: &str, bytes: usize, text: impl FnOnce(u64) -> String) -> Node {
        let field = self.bytes.get(self.at..self.at + bytes).unwrap_or_default();
        let value = field.iter().fold(0u64, |value, byte| value << BYTE | u64::from(*byte));
        let place = bits(self.at..self.at + field.len());
        self.at += field.len();
        Node::leaf(name, place, text(value)).raw(value)
    }

    /// Explains the header. `None` if the datagram is too short.
    fn header(&mut self) -> Option<Vec<Node>> {
        let header = DatagramHeader::read(self.bytes)?;
        let children = vec![
            self.number("connection", 4, |number| format!("{number:#010x}")),
            self.number("sequence", 2, |number| number.to_string()),
            self.number("newest", 2, |number| number.to_string()),
            self.received(header),
        ];
        self.line.push(format!("datagram {} acknowledges {}", header.sequence, header.newest));
        Some(children)
    }

    /// Explains the acknowledgement bits. Each run of equal bits is a leaf, whose name has the
    /// sequence numbers of the bits.
    fn received(&mut self, header: DatagramHeader) -> Node {
        let start = self.at * BYTE;
        self.at += 4;
        let mut runs: Vec<AckRun> = Vec::new();
        // The most significant bit acknowledges the oldest datagram.
        for bit in (0..32u16).rev() {
            let (number, is_received) = (number_of(header, bit), header.received >> bit & 1 == 1);
            match runs.last_mut() {
                Some(run) if run.is_received == is_received && run.last.is_some() == number.is_some() => {
                    (run.last, run.bits) = (number, run.bits + 1);
                }
                _ => runs.push(AckRun { first: number, last: number, is_received, bits: 1 }),
            }
        }
        let mut at = start;
        let leaf = |run: AckRun| {
            let place = at..at + run.bits;
            at = place.end;
            run.leaf(place)
        };
        let children = runs.into_iter().map(leaf).collect();
        Node::parent("received", start, children).valued(missing_words(header))
    }

    fn datagram(&mut self) -> Result<Vec<Node>, Broken> {
        let Some(mut children) = self.header() else {
            return Err((Vec::new(), DatagramError::TooShort));
        };
        for message in message::read(&self.bytes[HEADER_BYTES..]) {
            match message {
                Ok(message) => children.push(self.message(message)),
                Err(error) => return Err((children, error)),
            }
        }
        Ok(children)
    }

    /// Explains a message, which is valid.
    fn message(&mut self, message: Message<'_>) -> Node {
        let start = self.at;
        let name = match message {
            Message::Packet(_) => "packet",
            Message::Commands(_) => "commands",
            Message::Received(_) => "received",
        };
        let mut children = vec![
            self.number("kind", 1, |kind| format!("{kind} ({name})")),
            self.number("length", 2, |length| count_noun(length, "byte")),
        ];
        match message {
            Message::Packet(bytes) => children.push(self.packet(bytes)),
            Message::Commands(block) => children.extend(self.commands(&block)),
            Message::Received(sequence) => {
                self.line.push(format!("received commands up to {sequence}"));
                children.push(self.number("sequence", 4, |sequence| sequence.to_string()));
            }
        }
        Node::parent(name, start * BYTE, children)
    }

    fn packet(&mut self, bytes: &[u8]) -> Node {
        let direction = if self.from == Side::Client { Direction::ToServer } else { Direction::ToClient };
        let explained = packet::explain(bytes, self.at, self.dialect, direction);
        self.at += bytes.len();
        self.packets.extend(explained.row);
        let broken = explained.problem.map(|_| "a packet that does not fit its table".to_owned());
        self.line.extend(explained.line.or(broken));
        explained.node
    }

    fn commands(&mut self, block: &CommandBlock<'_>) -> Vec<Node> {
        let tick = |tick: u64| if tick == u64::from(u32::MAX) { "none".to_owned() } else { tick.to_string() };
        let mut children = vec![
            self.number("first", 4, |first| first.to_string()),
            self.number("tick", 4, tick),
            self.number("step", 1, |step| format!("{step} ticks")),
            self.number("count", 1, |count| count_noun(count, "command")),
        ];
        let count = block.iter().count();
        let is_same: Vec<bool> = (0..count)
            .map(|at| {
                self.bytes.get(self.at + at / BYTE).is_some_and(|byte| byte >> (7 - at % BYTE) & 1 == 1)
            })
            .collect();
        let start = self.at * BYTE;
        let mut same: Vec<Node> = (0..)
            .zip(&is_same)
            .zip(block.iter())
            .map(|((at, is_same), command)| {
                let text = if *is_same { "like the one before" } else { "has a body" };
                let name = format!("command {}", command.sequence);
                Node::leaf(name, start + at..start + at + 1, text).raw(u64::from(*is_same))
            })
            .collect();
        let padding = count.next_multiple_of(BYTE) - count;
        if padding > 0 {
            same.push(Node::leaf("padding", start + count..start + count + padding, "unused").raw(0));
        }
        self.at += count.div_ceil(BYTE);
        children.push(Node::parent("same", start, same));
        for (command, is_same) in block.iter().zip(is_same) {
            let mut packet = Vec::new();
            command.write_packet(&mut packet);
            let decoded = self.dialect.decode(Direction::ToServer, &packet);
            let row = decoded.as_ref().ok().map(|packet| packet.row);
            self.packets.extend(row);
            let text = decoded.map_or_else(|error| error.to_string(), |packet| packet.to_string());
            if !is_same {
                children.push(self.body(command.sequence, row, &text));
            }
            self.line.push(text);
        }
        children
    }

    /// Explains the body of a command.
    fn body(&mut self, sequence: u32, row: Option<&Row>, text: &str) -> Node {
        let start = self.at * BYTE;
        let later = self.number("later", 1, |later| format!("{later} ticks"));
        let length_at = self.at;
        let length = self.number("length", 1, |length| count_noun(length, "byte"));
        let end = self.at + self.bytes.get(length_at).map_or(0, |length| usize::from(*length));
        let content = self.bytes.get(self.at..end).unwrap_or_default();
        let mut children = vec![later, length];
        children.extend(packet::explain_body(content, self.at, row));
        self.at = end;
        Node::parent(format!("body of {sequence}"), start, children).valued(text)
    }
}

/// Successive acknowledgement bits with the same value.
struct AckRun {
    /// Sequence numbers of the oldest and the newest datagram; `None` before the first datagram.
    first: Option<u16>,
    last: Option<u16>,
    is_received: bool,
    bits: usize,
}

impl AckRun {
    fn leaf(self, place: Range<usize>) -> Node {
        let name = match (self.first, self.last) {
            (Some(first), Some(last)) if first == last => first.to_string(),
            (Some(first), Some(last)) => format!("{first} to {last}"),
            _ => "before 1".to_owned(),
        };
        let text = match (self.is_received, self.first) {
            (true, _) => "received",
            (false, Some(_)) => "missing",
            (false, None) => "unused",
        };
        let ones = u64::from(u32::MAX) >> (32 - self.bits);
        Node::leaf(name, place, text).raw(if self.is_received { ones } else { 0 })
    }
}

/// Sequence number of the datagram that an acknowledgement bit covers. `None` for a bit before the
/// first datagram.
fn number_of(header: DatagramHeader, bit: u16) -> Option<u16> {
    // If a bit below number 1 is set, the 16-bit numbers have wrapped, and all bits have numbers.
    let below = header.newest.saturating_sub(1).min(32);
    let has_wrapped = header.newest > 0 && header.received.checked_shr(below.into()).unwrap_or(0) > 0;
    (header.newest > bit + 1 || has_wrapped).then(|| header.newest.wrapping_sub(1 + bit))
}

/// Describes the acknowledged datagrams before the newest one.
fn missing_words(header: DatagramHeader) -> String {
    if header.newest == 0 {
        return "nothing has arrived".to_owned();
    }
    let before = || (0..32u16).filter_map(|bit| Some((bit, number_of(header, bit)?)));
    let missing: Vec<String> = before()
        .filter(|(bit, _)| header.received >> bit & 1 == 0)
        .map(|(_, number)| number.to_string())
        .collect();
    match (before().count(), &missing[..]) {
        (0, _) => "the first one".to_owned(),
        (count, []) => format!("and all of the {count} before it"),
        (count, _) => format!("and the {count} before it, without {}", missing.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::datagram::command_queue::CommandQueue;
    use crate::packet::PacketTables;

    const TABLE: &str = "direction\tname\tlane\ttest:int\targuments\tmeaning\n\
        to_server\tmove\treliable\t4\tsequence:u32 tick:u32.tick|nil way:u8\twalk\n\
        to_client\tstate\tlatest\t5\ttick:u32.tick at:[x:i16,y:i16]\tthe state";

    /// A datagram with these messages, opened.
    fn datagram(messages: &[u8]) -> Vec<u8> {
        let header = DatagramHeader { connection: 9, sequence: 7, newest: 5, received: 0b1011 };
        [&header.bytes()[..], messages].concat()
    }

    #[test]
    fn every_bit_of_a_datagram_has_a_name_and_a_broken_one_its_rule() {
        let tables = PacketTables::from_texts(&[("test.tsv", TABLE)]).expect("a good table");
        let dialect = tables.dialect("test").expect("its dialect");
        let packet = |sequence: u32, way: u8| {
            let values = [sequence.into(), (sequence + 100).into(), way.into()];
            dialect.encode(Direction::ToServer, "move", &values).expect("it fits")
        };
        let mut queue = CommandQueue::default();
        queue.push(1, Some(101), &packet(1, 0), Duration::ZERO, |_| {});
        queue.acknowledge(1);
        for (sequence, way) in [(2, 3), (3, 3), (4, 8)] {
            queue.push(sequence, Some(sequence + 100), &packet(sequence, way), Duration::ZERO, |_| {});
        }
        let mut messages = Vec::new();
        message::write_commands(&mut messages, |out| _ = queue.write(500, out));
        let bytes = datagram(&messages);
        let explained = explain(&bytes, Side::Client, &dialect);
        assert_eq!(explained.problem(), None);
        let line = |explained: &Explanation<'_>| match &explained.frames[0].content {
            Content::Datagram(line) => line.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            line(&explained),
            "datagram 7 acknowledges 5; move sequence=2 tick=102 way=3; move sequence=3 tick=103 way=3; \
             move sequence=4 tick=104 way=8"
        );
        let tree = explained.tree();
        let leaves = tree.leaves();
        let mut at = 0;
        for leaf in &leaves {
            assert_eq!(leaf.bits.start, at, "{}", leaf.name);
            at = leaf.bits.end;
        }
        assert_eq!(at, bytes.len() * BYTE, "the leaves cover the datagram");
        let value = |name: &str| tree.find(name).map(|node| node.value.clone());
        assert_eq!(value("received").as_deref(), Some("and the 4 before it, without 2"));
        assert_eq!(value("command 3").as_deref(), Some("like the one before"));
        assert_eq!(value("body of 3"), None);
        assert!(value("body of 4").is_some_and(|text| text.contains("way=8")));
        assert_eq!(value("way").as_deref(), Some("3"), "arguments have the names of the table");
        // No rule of a block forbids bytes after the arguments of a command.
        let mut longer = bytes.clone();
        longer.extend([7]);
        let last = longer.len() - 5;
        (longer[14], longer[last]) = (longer[14] + 1, longer[last] + 1);
        let explained = explain(&longer, Side::Client, &dialect);
        assert_eq!((explained.problem(), explained.encode()), (None, Some(longer)));

        let mut update = Vec::new();
        let values = [9.into(), crate::packet::Value::Array(vec![1.into(), 2.into()])];
        let state = dialect.encode(Direction::ToClient, "state", &values).expect("it fits");
        message::write_received(&mut update, 4);
        message::write_packet(&mut update, &state);
        let whole = datagram(&update);
        let line = line(&explain(&whole, Side::Server, &dialect));
        assert_eq!(line, "datagram 7 acknowledges 5; received commands up to 4; state tick=9 at=[1,2]");
        for end in 0..whole.len() {
            let cut = explain(&whole[..end], Side::Server, &dialect);
            let is_between = [12, 19].contains(&end);
            assert_eq!(cut.problem().is_none(), is_between, "{end} bytes");
            assert_eq!(cut.tree().bits.end, end * BYTE);
        }
    }

    #[test]
    fn acknowledgement_bits_are_named_by_their_datagrams() {
        let dialect = PacketTables::builtin().dialect("native").expect("built in");
        let runs = |newest: u16, received: u32| {
            let header = DatagramHeader { connection: 9, sequence: 7, newest, received };
            let explained = explain(&header.bytes(), Side::Client, &dialect);
            assert_eq!(explained.encode(), Some(header.bytes().to_vec()));
            let tree = explained.tree();
            let node = tree.find("received").expect("the bits").clone();
            let text = |leaf: &Node| format!("{}: {} {}", leaf.bits.len(), leaf.name, leaf.value);
            (node.value, node.children.iter().map(text).collect::<Vec<_>>().join(", "))
        };
        let cases = [
            (0, 0, "nothing has arrived", "32: before 1 unused"),
            (1, 0, "the first one", "32: before 1 unused"),
            (
                5,
                0b1011,
                "and the 4 before it, without 2",
                "28: before 1 unused, 1: 1 received, 1: 2 missing, 2: 3 to 4 received",
            ),
            (40, u32::MAX, "and all of the 32 before it", "32: 8 to 39 received"),
            (40, !1, "and the 32 before it, without 39", "31: 8 to 38 received, 1: 39 missing"),
            (2, u32::MAX, "and all of the 32 before it", "32: 65506 to 1 received"),
        ];
        for (newest, received, text, leaves) in cases {
            assert_eq!(runs(newest, received), (text.to_owned(), leaves.to_owned()), "{newest} {received:b}");
        }
    }

    #[test]
    fn a_dropped_datagram_is_explained_by_its_header_and_its_rule() {
        let dialect = PacketTables::builtin().dialect("native").expect("built in");
        let bytes = datagram(&[7; 20]);
        let explained = explain_dropped(&bytes, DatagramError::Repeated, &dialect);
        let Some(Problem::Violation { rule, bits, .. }) = explained.problem() else { panic!("no rule") };
        assert_eq!((*rule, bits.clone()), ("datagram_repeated", 12 * BYTE..32 * BYTE));
        assert_eq!(explained.encode(), Some(bytes.clone()));
        let short = explain_dropped(&bytes[..5], DatagramError::TooShort, &dialect);
        assert_eq!(short.encode(), Some(bytes[..5].to_vec()));
    }
}
