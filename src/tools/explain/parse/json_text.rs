//! Explains a JSON text: its values, named by the row of the packet tables, as
//! [`packet`](super::packet) does for MessagePack.
//!
//! The text becomes a tree with leaves for values, keys, brackets and punctuation. If the walk
//! cannot continue, the rest is one leaf, so that the leaves always cover the text.

use super::packet::{ARGUMENTS, HEAD, KEY, PUNCTUATION, UNREAD};
use super::units;
use crate::packet::grammar::{Argument, Shape};
use crate::packet::{Direction, Row, Value, json};
use crate::tools::explain::tree::{Node, bits};
use crate::util::plural;

/// The encoding of a value in the form that the JSON writer produces.
const JSON: &str = "JSON";
/// Prefix of the encoding of a value in another form, such as `JSON as 1.50`.
const JSON_AS: &str = "JSON as ";

/// Explains the text, which begins at byte `start` of the input. `name` is the name of the whole
/// value if it is no packet of a row.
pub fn explain(text: &str, start: usize, row: Option<&Row>, name: &str) -> Vec<Node> {
    let mut walk = TextWalker { text, start, at: 0 };
    let mut parts = Vec::new();
    walk.gap(&mut parts);
    let envelope = row.map_or(ValueNames::Any, ValueNames::Envelope);
    parts.push(walk.value(row.map_or(name, |row| row.name.as_str()), envelope));
    walk.gap(&mut parts);
    let rest = &text[walk.at..];
    if !rest.is_empty() {
        parts.push(Node::of_bytes(UNREAD, start + walk.at, rest.as_bytes(), "not read"));
    }
    parts.retain(|part| !part.bits.is_empty());
    parts
}

/// Appends a value in one of the encodings above; `None` for other encodings.
pub fn write(out: &mut Vec<u8>, encoding: &str, value: &Value) -> Option<()> {
    let text = match encoding.strip_prefix(JSON_AS) {
        Some(text) => text.to_owned(),
        None if encoding == JSON => json::to_text(value),
        None => return None,
    };
    out.extend_from_slice(text.as_bytes());
    Some(())
}

/// The source of names for the values in a container.
#[derive(Clone, Copy)]
enum ValueNames<'a> {
    /// Each value has its position as its name.
    Any,
    /// The envelope of a packet: its code and arguments.
    Envelope(&'a Row),
    /// Each value has the name of the argument at its position.
    Members(&'a [Argument]),
    /// Each value has a name from the shape of the container, such as a member of a map.
    Shape(&'a Shape),
}

impl<'a> ValueNames<'a> {
    /// The name and type of the value at an index.
    fn place(self, index: usize) -> (String, ValueNames<'a>) {
        let member = |members: &'a [Argument]| match members.get(index) {
            Some(member) => (member.name.clone(), ValueNames::Shape(&member.ty.shape)),
            None => (format!("ignored_{index}"), ValueNames::Any),
        };
        match self {
            ValueNames::Envelope(_) if index == 0 => ("code".to_owned(), ValueNames::Any),
            ValueNames::Envelope(row) if index == 1 => {
                (ARGUMENTS.to_owned(), ValueNames::Members(&row.arguments))
            }
            ValueNames::Envelope(_) => ("ignored".to_owned(), ValueNames::Any),
            ValueNames::Members(members) => member(members),
            ValueNames::Shape(Shape::Tuple(members)) => member(members),
            ValueNames::Shape(Shape::List { each, .. }) => {
                (format!("[{index}]"), ValueNames::Shape(&each.shape))
            }
            ValueNames::Shape(_) | ValueNames::Any => (format!("[{index}]"), ValueNames::Any),
        }
    }

    /// The type of the value of a key.
    fn key(self, key: &str) -> ValueNames<'a> {
        let members: &[Argument] =
            if let ValueNames::Shape(Shape::Map(members)) = self { members } else { &[] };
        let member = members.iter().find(|member| member.name == key);
        member.map_or(ValueNames::Any, |member| ValueNames::Shape(&member.ty.shape))
    }
}

/// Walks over the text; `start` is its offset in the input.
struct TextWalker<'a> {
    text: &'a str,
    start: usize,
    at: usize,
}

impl<'a> TextWalker<'a> {
    fn next(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Takes the next `size` bytes as a leaf.
    fn take(&mut self, name: &str, size: usize) -> (Node, &'a str) {
        let place = self.at..self.at + size;
        self.at = place.end;
        let text = &self.text[place.clone()];
        (Node::leaf(name, bits(self.start + place.start..self.start + place.end), text).raw(text), text)
    }

    /// Takes the separators between two values: commas, colons and white space.
    fn gap(&mut self, into: &mut Vec<Node>) {
        let is_value = |ch: char| !(ch.is_ascii_whitespace() || ch == ',' || ch == ':');
        let rest = &self.text[self.at..];
        let size = rest.find(is_value).unwrap_or(rest.len());
        if size > 0 {
            into.push(self.take(PUNCTUATION, size).0);
        }
    }

    /// Explains one value. The recursion is bounded, because the text has been parsed before.
    fn value(&mut self, name: &str, names: ValueNames<'_>) -> Node {
        match (self.next(), names) {
            (Some(b'['), ValueNames::Shape(Shape::Groups { members, .. })) => self.groups(name, members),
            (Some(b'['), _) => self.container(name, b']', |walk, index, children| {
                let (name, names) = names.place(index);
                children.push(walk.value(&name, names));
            }),
            (Some(b'{'), _) => self.container(name, b'}', |walk, _, children| {
                let mut key = walk.value(KEY, ValueNames::Any);
                let text = key.raw.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
                key.value = text.clone();
                children.push(key);
                walk.gap(children);
                children.push(walk.value(&text, names.key(&text)));
            }),
            _ => self.scalar(name, names),
        }
    }

    /// Explains an array or an object: the opening bracket, the nodes that `each` adds for each
    /// index, and the closing bracket.
    fn container(
        &mut self,
        name: &str,
        end: u8,
        mut each: impl FnMut(&mut Self, usize, &mut Vec<Node>),
    ) -> Node {
        let begin = bits(self.start + self.at..self.start + self.at).start;
        let what = if end == b']' { "array" } else { "object" };
        let mut children = vec![self.take(HEAD, 1).0.valued(what)];
        let mut index = 0;
        loop {
            self.gap(&mut children);
            let before = self.at;
            match self.next() {
                None => break,
                Some(ch) if ch == end => {
                    children.push(self.take(PUNCTUATION, 1).0);
                    break;
                }
                Some(_) => each(self, index, &mut children),
            }
            if self.at == before {
                break;
            }
            index += 1;
        }
        Node::parent(name, begin, children)
    }

    /// Explains flat groups: a node for each group. The comma before a group is not part of it.
    fn groups(&mut self, name: &str, members: &[Argument]) -> Node {
        let mut node = self.container(name, b']', |walk, index, children| {
            let member = &members[index % members.len()];
            let value = walk.value(&member.name, ValueNames::Shape(&member.ty.shape));
            if index % members.len() == 0 {
                let group = format!("[{}]", index / members.len());
                children.push(Node::parent(group, value.bits.start, vec![value]));
                return;
            }
            let between = children.pop().filter(|last| last.name == PUNCTUATION);
            if let Some(group) = children.last_mut() {
                group.bits.end = value.bits.end;
                group.children.extend(between);
                group.children.push(value);
            }
        });
        let count = node.children.iter().filter(|child| child.name != PUNCTUATION).count().saturating_sub(1);
        if let Some(head) = node.children.first_mut() {
            head.value = format!("array: {} of {}", plural::count_noun(count, "group"), members.len());
        }
        node
    }

    fn scalar(&mut self, name: &str, names: ValueNames<'_>) -> Node {
        let rest = &self.text[self.at..];
        let size = match rest.as_bytes().first() {
            Some(b'"') => end_of_string(rest),
            _ => rest.find([',', ']', '}', ':', ' ', '\t', '\r', '\n']).unwrap_or(rest.len()),
        };
        let (leaf, text) = self.take(name, size);
        let Ok(value) = json::read(text, Direction::ToServer) else { return leaf };
        let encoding =
            if json::to_text(&value) == text { JSON.to_owned() } else { format!("{JSON_AS}{text}") };
        let shape = if let ValueNames::Shape(shape) = names { Some(shape) } else { None };
        let printed = units::print(&value, shape);
        leaf.valued(printed).raw(value).encoded(encoding)
    }
}

/// Returns the offset after the string at the start of the text.
fn end_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !is_escaped => return at + 1,
            _ => is_escaped = byte == b'\\' && !is_escaped,
        }
    }
    text.len()
}
