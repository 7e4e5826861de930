//! The values of a packet in a few words, for a row of the list.
//!
//! ```text
//!   moved[3] own(margin=4ticks x=7051px y=10923px heading=235° sequence=11)
//! ```
//!
//! Values are scaled and have units. A list of groups is its size, unless it has one group. The
//! sequence number comes last. The tick has a column of its own, and is omitted.

use crate::packet::Direction;
use crate::tools::explain::parse::packet::{ARGUMENTS, HEAD, KEY};
use crate::tools::explain::tree::Node;
use crate::tools::explain::{Content, Explanation};
use crate::ws::frame::Opcode;

/// The argument with the tick of a state or a command.
pub(super) const TICK: &str = "tick";
/// The argument with the number of a command.
pub(super) const SEQUENCE: &str = "sequence";
/// Maximum characters of a summary.
const MAX_CHARS: usize = 160;
/// Maximum values of a list that is shown whole.
const SHOWN_VALUES: usize = 4;
/// The text of an absent value.
const NIL: &str = "nil";
/// Numbers from this absolute value on are shown without a fraction, smaller ones in hundredths.
const WHOLE_FROM: f64 = 100.0;

/// The values of the packet in a frame. `None` if the frame completes no packet in MessagePack.
pub fn summary(explained: &Explanation<'_>) -> Option<String> {
    let frame = explained.frames.first()?;
    let Content::Packet(Some(row), Some(_)) = frame.content else { return None };
    let (opcode, tree) = match &frame.message {
        Some(message) => (message.opcode, &message.tree),
        None => (frame.header?.opcode, &frame.tree),
    };
    let arguments = tree.find(ARGUMENTS).filter(|_| opcode == Opcode::Binary)?;
    // The state of a server has many absent values; in a command, absence has a meaning.
    let shows_nil = row.direction == Direction::ToServer;
    let mut words = values_of(arguments, shows_nil, &row.name);
    if let Some((end, _)) = words.char_indices().nth(MAX_CHARS) {
        words.truncate(end);
        words.push('…');
    }
    Some(words)
}

/// The values of the children: sizes of lists, then single values, then groups, then the sequence
/// number. A group with the name of the packet is not named again.
fn values_of(node: &Node, shows_nil: bool, packet: &str) -> String {
    let [mut sizes, mut first, mut groups, mut last] = [const { Vec::new() }; 4];
    for value in elements(node).filter(|value| value.name != TICK) {
        let Node { name, children, .. } = value;
        if children.is_empty() {
            let is_number = name == SEQUENCE;
            let texts = if is_number { &mut last } else { &mut first };
            if shows_nil || value.value != NIL {
                texts.push(format!("{name}={}", scalar(value)));
            }
            continue;
        }
        let parts: Vec<&Node> = elements(value).collect();
        match &parts[..] {
            [] => {}
            [group] if !group.children.is_empty() => {
                let values = values_of(group, shows_nil, packet);
                groups.push(if name == packet { values } else { format!("{name}({values})") });
            }
            parts if parts.iter().all(|part| !part.name.starts_with('[')) => {
                groups.push(format!("{name}({})", values_of(value, shows_nil, packet)));
            }
            parts if parts.len() <= SHOWN_VALUES && parts.iter().all(|part| part.children.is_empty()) => {
                let texts: Vec<String> = parts.iter().map(|part| scalar(part)).collect();
                first.push(format!("{name}={}", texts.join(",")));
            }
            parts => sizes.push(format!("{name}[{}]", parts.len())),
        }
    }
    [sizes, first, groups, last].concat().join(" ")
}

/// The children that are values.
fn elements(node: &Node) -> impl Iterator<Item = &Node> {
    node.children.iter().filter(|child| child.name != HEAD && child.name != KEY)
}

/// A value with its unit, scaled if its unit is converted.
fn scalar(node: &Node) -> String {
    if node.value.starts_with('"') {
        return node.value.clone();
    }
    let text = node.value.split_once(" = ").map_or(&node.value[..], |(_, scaled)| scaled);
    let digits = text.find(|ch: char| !matches!(ch, '0'..='9' | '.' | '-')).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number = match number.parse::<f64>() {
        Ok(value) if number.contains('.') && value.abs() >= WHOLE_FROM => format!("{value:.0}"),
        Ok(value) if number.contains('.') => ((value * 100.0).round() / 100.0).to_string(),
        _ => number.to_owned(),
    };
    number + unit.trim_start()
}
