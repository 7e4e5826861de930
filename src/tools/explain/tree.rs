//! The tree of an explanation: named bit ranges with their meanings.
//!
//! A node stores its position in the input, not the bytes. The children of a node lie within it in
//! order, without gaps. The leaves of a tree therefore cover the input, and code that colours,
//! filters or encodes needs nothing else.

use std::ops::Range;

use crate::packet::Value;

/// The number of bits in a byte.
pub(crate) const BYTE: usize = 8;

/// A named range of the input.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Node {
    /// The name of a header field, an argument, or a part of an encoding.
    pub name: String,
    /// The range of bits in the input. Bits count from the start of the input, most significant bit
    /// first within a byte.
    pub bits: Range<usize>,
    /// The value as text, with its unit; empty if the children have the values.
    pub value: String,
    /// The typed value of a leaf, if known. With the encoding, or with the number of bits, it
    /// determines the bytes of the leaf.
    pub raw: Option<Value>,
    /// The encoding, such as `uint 16`; empty for bit fields, plain bytes and HTTP text.
    pub encoding: String,
    /// The child nodes in input order; empty for a leaf.
    pub children: Vec<Node>,
}

impl Node {
    /// Creates a leaf.
    pub(crate) fn leaf(name: impl Into<String>, bits: Range<usize>, value: impl Into<String>) -> Node {
        Node { value: value.into(), ..Node::parent(name, bits.start, Vec::new()).within(bits) }
    }

    /// Creates a node with these children. Without children, the node covers no bits.
    pub(crate) fn parent(name: impl Into<String>, start: usize, children: Vec<Node>) -> Node {
        let end = children.last().map_or(start, |last| last.bits.end);
        let (value, encoding) = (String::new(), String::new());
        Node { name: name.into(), bits: start..end, value, raw: None, encoding, children }
    }

    /// Creates a leaf of bytes without further meaning.
    pub(crate) fn of_bytes(
        name: impl Into<String>,
        start: usize,
        bytes: &[u8],
        value: impl Into<String>,
    ) -> Node {
        Node::leaf(name, bits(start..start + bytes.len()), value).raw(bytes)
    }

    fn within(mut self, bits: Range<usize>) -> Node {
        self.bits = bits;
        self
    }

    /// Sets the typed value.
    pub(crate) fn raw(mut self, raw: impl Into<Value>) -> Node {
        self.raw = Some(raw.into());
        self
    }

    /// Sets the encoding.
    pub(crate) fn encoded(mut self, encoding: impl Into<String>) -> Node {
        self.encoding = encoding.into();
        self
    }

    /// Sets the value as text.
    pub(crate) fn valued(mut self, value: impl Into<String>) -> Node {
        self.value = value.into();
        self
    }

    /// The range of bytes that contain the node. A bit field may cover a byte only partly.
    pub fn bytes(&self) -> Range<usize> {
        self.bits.start / BYTE..self.bits.end.div_ceil(BYTE)
    }

    /// Finds the first node of this name, depth first, including this node.
    pub fn find(&self, name: &str) -> Option<&Node> {
        if self.name == name {
            return Some(self);
        }
        self.children.iter().find_map(|child| child.find(name))
    }

    /// All leaves in input order.
    pub fn leaves(&self) -> Vec<&Node> {
        let mut leaves = Vec::new();
        self.collect_leaves(&mut leaves);
        leaves
    }

    fn collect_leaves<'a>(&'a self, leaves: &mut Vec<&'a Node>) {
        if self.children.is_empty() {
            leaves.push(self);
        }
        self.children.iter().for_each(|child| child.collect_leaves(leaves));
    }
}

/// Converts a range of bytes to bits.
pub(crate) fn bits(bytes: Range<usize>) -> Range<usize> {
    bytes.start * BYTE..bytes.end * BYTE
}
