//! The tree of an explanation: named ranges of bits, with their meaning.
//!
//! A node knows its place in the input, not the input. The children of a node lie within it, one
//! after the other, without gaps; so the leaves of a whole tree tile the input, and code that
//! colours, filters or re-encodes needs nothing else.

use std::ops::Range;

use crate::packet::Value;

/// Bits in a byte.
pub(crate) const BYTE: usize = 8;

/// A named range of the input.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The node's name: a field of the frame header, an argument of the packet, a part of an
    /// encoding.
    pub name: String,
    /// The node's place: bits from the front of the input, the most significant bit of a byte
    /// first.
    pub bits: Range<usize>,
    /// The meaning, with its unit; empty if the children carry it.
    pub value: String,
    /// The value itself, if a leaf has one. With the encoding, or with the number of bits, it
    /// determines the bytes of the leaf.
    pub raw: Option<Value>,
    /// The encoding, such as `uint 16`; empty if it is obvious.
    pub encoding: String,
    /// Its parts in the order of the input; none in a leaf.
    pub children: Vec<Node>,
}

impl Node {
    /// A leaf: something with a value.
    pub(crate) fn leaf(name: impl Into<String>, bits: Range<usize>, value: impl Into<String>) -> Node {
        Node { value: value.into(), ..Node::parent(name, bits.start, Vec::new()).within(bits) }
    }

    /// A node with children, which begins at `start` even if there are none.
    pub(crate) fn parent(name: impl Into<String>, start: usize, children: Vec<Node>) -> Node {
        let end = children.last().map_or(start, |last| last.bits.end);
        let (value, encoding) = (String::new(), String::new());
        Node { name: name.into(), bits: start..end, value, raw: None, encoding, children }
    }

    /// A leaf of bytes that have no meaning here, or are not read.
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

    /// The same node with the value itself.
    pub(crate) fn raw(mut self, raw: impl Into<Value>) -> Node {
        self.raw = Some(raw.into());
        self
    }

    /// The same node with its encoding.
    pub(crate) fn encoded(mut self, encoding: impl Into<String>) -> Node {
        self.encoding = encoding.into();
        self
    }

    /// The same node with a value.
    pub(crate) fn valued(mut self, value: impl Into<String>) -> Node {
        self.value = value.into();
        self
    }

    /// The bytes that the node touches: a bit field may fill a byte only in part.
    pub fn bytes(&self) -> Range<usize> {
        self.bits.start / BYTE..self.bits.end.div_ceil(BYTE)
    }

    /// The first node of this name, depth first, this one included.
    pub fn find(&self, name: &str) -> Option<&Node> {
        if self.name == name {
            return Some(self);
        }
        self.children.iter().find_map(|child| child.find(name))
    }

    /// All nodes without children, in the order of the input.
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

/// The bits of a range of bytes.
pub(crate) fn bits(bytes: Range<usize>) -> Range<usize> {
    bytes.start * BYTE..bytes.end * BYTE
}
