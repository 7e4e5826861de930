//! The sink that builds the tree.

use super::node::{Node, Scalar, Value};
use crate::fields::Sink;

/// Records every scalar of a state with its name.
#[derive(Debug, Default)]
pub(super) struct TreeBuilder {
    root: Node,
    /// The unfinished fields and items. Fields have a name.
    open: Vec<(Option<&'static str>, Node)>,
    /// Total bytes of the scalars so far.
    bytes: usize,
}

impl TreeBuilder {
    /// The root of the tree, and the total bytes of its scalars.
    pub fn finish(mut self) -> (Node, usize) {
        // An unfinished field ends with the state.
        while !self.open.is_empty() {
            self.close();
        }
        (self.root, self.bytes)
    }

    fn push(&mut self, value: Value, bytes: usize) {
        let at = self.bytes;
        self.bytes += bytes;
        self.top().scalars.push(Scalar { value, at, bytes });
    }

    fn top(&mut self) -> &mut Node {
        self.open.last_mut().map_or(&mut self.root, |(_, node)| node)
    }

    fn close(&mut self) {
        match self.open.pop() {
            Some((Some(name), node)) => self.top().fields.push((name, node)),
            Some((None, node)) => self.top().items.push(node),
            None => {}
        }
    }
}

impl Sink for TreeBuilder {
    fn put(&mut self, value: u64, bytes: usize) {
        self.push(Value::Number(value), bytes);
    }

    fn put_signed(&mut self, value: i64, bytes: usize) {
        self.push(Value::Signed(value), bytes);
    }

    fn text(&mut self, text: &str) {
        self.push(Value::Text(text.into()), 1 + text.len());
    }

    fn option(&mut self, is_some: bool) {
        self.push(Value::Option(is_some), 1);
    }

    fn variant(&mut self, number: u64, name: &'static str) {
        self.push(Value::Variant(number, name), 1);
    }

    fn length(&mut self, count: usize) {
        self.push(Value::Length(count), 4);
    }

    fn enter(&mut self, field: &'static str) {
        self.open.push((Some(field), Node::default()));
    }

    fn leave(&mut self) {
        self.close();
    }

    fn item(&mut self) {
        self.open.push((None, Node::default()));
    }

    fn end_item(&mut self) {
        self.close();
    }
}
