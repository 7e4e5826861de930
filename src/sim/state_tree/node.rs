//! Nodes of the tree: the content of a field or an item.

use crate::Checksum;
use crate::fields::Sink as _;

/// Names of id fields, in order of precedence.
const ID_FIELD_NAMES: [&str; 3] = ["id", "player", "number"];

/// A scalar, or several that form one value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Number(u64),
    Signed(i64),
    Text(Box<str>),
    /// Whether an optional value is present.
    Option(bool),
    /// The variant of an enum.
    Variant(u64, &'static str),
    /// The number of items of a list.
    Length(usize),
}

/// A value, and the offset of its scalars in the encoded state.
#[derive(Clone, Debug)]
pub(super) struct Scalar {
    pub value: Value,
    /// Offset in bytes.
    pub at: usize,
    /// Size in bytes.
    pub bytes: usize,
}

/// The content of a field or an item.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    /// The scalars directly in the node: the value, or the length of a list. An optional value has
    /// its presence before them.
    pub scalars: Vec<Scalar>,
    pub fields: Vec<(&'static str, Node)>,
    pub items: Vec<Node>,
}

impl Node {
    pub fn is_empty(&self) -> bool {
        self.scalars.is_empty() && self.fields.is_empty() && self.items.is_empty()
    }

    /// The id of an item; `None` if it has none.
    pub fn id(&self) -> Option<u64> {
        self.id_node()?.number()
    }

    /// The field with the item's id.
    pub fn id_node(&self) -> Option<&Node> {
        let field = |id: &str| self.fields.iter().find(|(name, _)| *name == id).map(|(_, node)| node);
        ID_FIELD_NAMES.into_iter().filter_map(field).find(|node| node.number().is_some())
    }

    /// The value, if the node is one number.
    fn number(&self) -> Option<u64> {
        match &self.scalars[..] {
            [Scalar { value: Value::Number(number), .. }] => Some(*number),
            _ => None,
        }
    }

    /// Moves the lists of entities out of the node and its fields. Each list is appended with its
    /// path.
    pub fn extract_entity_lists(&mut self, path: &str, lists: &mut Vec<(String, Vec<Node>)>) {
        if self.items.iter().any(|item| !item.is_plain()) {
            self.scalars.retain(|scalar| !matches!(scalar.value, Value::Length(_)));
            lists.push((path.to_owned(), std::mem::take(&mut self.items)));
        }
        for (name, node) in &mut self.fields {
            node.extract_entity_lists(&join_path(path, name), lists);
        }
    }

    /// Whether the node is a number or a text, or an optional number or text.
    fn is_plain(&self) -> bool {
        self.fields.is_empty() && self.items.is_empty()
    }

    /// Visits the node and all nodes in it, each with its path.
    pub fn visit<'a>(&'a self, path: &str, visit: &mut impl FnMut(&str, &'a Node)) {
        visit(path, self);
        for (name, node) in &self.fields {
            node.visit(&join_path(path, name), visit);
        }
        for (at, node) in self.items.iter().enumerate() {
            node.visit(&format!("{path}[{at}]"), visit);
        }
    }

    /// Computes a hash of all scalars in the node.
    pub fn hash(&self) -> u64 {
        let mut hash = Checksum::new();
        self.visit("", &mut |_, node| {
            for scalar in &node.scalars {
                match &scalar.value {
                    Value::Number(number) | Value::Variant(number, _) => hash.put(*number, scalar.bytes),
                    Value::Signed(number) => hash.put_signed(*number, scalar.bytes),
                    Value::Text(text) => hash.text(text),
                    Value::Option(is_there) => hash.option(*is_there),
                    Value::Length(count) => hash.length(*count),
                }
            }
        });
        hash.get()
    }

    /// Formats the value of the node.
    pub fn words(&self) -> String {
        to_text(self.scalars.iter().map(|scalar| &scalar.value))
    }

    /// Describes a node whose shape differs from the node in the other state.
    pub fn describe_shape(&self) -> String {
        match (self.words(), self.fields.first()) {
            (words, None) if words.is_empty() => Value::Length(self.items.len()).words(),
            (words, Some((name, _))) if words.is_empty() => format!("{name} and others"),
            (words, _) => words,
        }
    }

    /// Whether both nodes have the same kinds of values, names of fields, and number of items.
    pub fn has_shape_of(&self, other: &Node) -> bool {
        let same = |(ours, theirs): (&Value, &Value)| match (ours, theirs) {
            (Value::Number(_), Value::Number(_))
            | (Value::Signed(_), Value::Signed(_))
            | (Value::Text(_), Value::Text(_)) => true,
            (ours, theirs) => ours == theirs,
        };
        let name = |node: &Node, at: usize| node.fields[at].0;
        self.values().count() == other.values().count()
            && self.values().zip(other.values()).all(same)
            && self.items.len() == other.items.len()
            && self.fields.len() == other.fields.len()
            && (0..self.fields.len()).all(|at| name(self, at) == name(other, at))
    }

    /// The values directly in the node. An empty list yields nothing, because its element type is
    /// unknown.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.scalars.iter().map(|scalar| &scalar.value).filter(|value| **value != Value::Length(0))
    }
}

/// Joins the path of a node and the name of a field in it.
pub(super) fn join_path(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

impl Value {
    fn words(&self) -> String {
        match self {
            Value::Number(number) => number.to_string(),
            Value::Signed(number) => number.to_string(),
            Value::Text(text) => format!("{text:?}"),
            Value::Option(false) => "none".to_owned(),
            Value::Option(true) => "some".to_owned(),
            Value::Variant(_, name) => (*name).to_owned(),
            Value::Length(1) => "1 item".to_owned(),
            Value::Length(count) => format!("{count} items"),
        }
    }
}

/// Formats the values of one field. `some` is omitted before the value of an optional field.
pub(super) fn to_text<'a>(values: impl Iterator<Item = &'a Value>) -> String {
    let (mut words, mut values) = (Vec::new(), values.peekable());
    while let Some(value) = values.next() {
        if *value != Value::Option(true) || values.peek().is_none() {
            words.push(value.words());
        }
    }
    words.join(" ")
}
