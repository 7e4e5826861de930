//! MessagePack: every message that we accept, `rmpv` accepts with an equal value; every message
//! that only we reject breaks a named rule.
//!
//! An accepted message has the value that `rmpv` decodes, has no extra bytes, and round-trips. For
//! a rejected one, the rule is checked against the bytes or against the value that `rmpv` decodes.

use std::collections::HashSet;

use tickwire::limits;
use tickwire::packet::msgpack::{self, Rule, ValueKind};
use tickwire::packet::{Direction, Value};

use crate::tally::allow;

/// The nesting depth allowed for `rmpv`, which counts differently.
const RMPV_DEPTH: usize = 1024;

/// See the [module](self).
pub fn run(bytes: &[u8]) {
    let mut rest = bytes;
    let theirs = rmpv::decode::read_value_with_max_depth(&mut rest, RMPV_DEPTH);
    match (msgpack::read(bytes, Direction::ToServer), theirs) {
        (Ok(value), theirs) => {
            let theirs = theirs.expect("what we accept, rmpv accepts");
            assert!(rest.is_empty(), "{} bytes behind it", rest.len());
            assert_eq!(as_they_write(&value), as_they_write(&theirs));
            accepted(bytes, &value);
        }
        (Err(broken), theirs) => {
            assert!(broken.offset <= bytes.len(), "{broken}");
            let theirs = theirs.ok().map(|value| (value, rest));
            assert!(is_justified(broken.rule, broken.offset, bytes, theirs.as_ref()), "{broken}");
            if theirs.is_some() {
                allow("rmpv accepts what we refuse", broken.rule.name());
            }
        }
    }
}

/// Bytes instead of values, since NaN is not equal to itself.
fn as_they_write(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    rmpv::encode::write_value(&mut out, value).expect("a Vec takes everything");
    out
}

fn accepted(bytes: &[u8], value: &Value) {
    let measured = Measured::of(value);
    assert!(measured.depth <= limits::PACKET_DEPTH && measured.values <= limits::PACKET_VALUES);
    assert!(!measured.has_ext && !measured.has_odd_key && !measured.has_same_key && !measured.has_bad_text);
    let mut written = Vec::new();
    msgpack::write_value(&mut written, value);
    let again = msgpack::read(&written, Direction::ToServer).expect("our own writing");
    let mut twice = Vec::new();
    msgpack::write_value(&mut twice, &again);
    assert_eq!(written, twice, "writing is canonical");
    for end in [0, bytes.len() / 2, bytes.len() - 1] {
        assert!(
            msgpack::check(&bytes[..end], Direction::ToServer).is_err(),
            "{end} bytes of it are no message"
        );
    }
}

/// Whether the rule is broken where it is said to be.
fn is_justified(rule: Rule, offset: usize, bytes: &[u8], theirs: Option<&(Value, &[u8])>) -> bool {
    let measured = || theirs.map(|(value, _)| Measured::of(value));
    let or_unread = |holds: fn(&Measured) -> bool| measured().is_none_or(|value| holds(&value));
    match rule {
        // What is not there nobody can read.
        Rule::Truncated | Rule::DeclaredSize => theirs.is_none(),
        Rule::ReservedByte => bytes.get(offset) == Some(&0xc1),
        Rule::InvalidUtf8 => msgpack::read_head(bytes, offset).is_ok_and(|token| {
            let from = offset + token.head;
            token.kind == ValueKind::Str && str::from_utf8(&bytes[from..from + token.length]).is_err()
        }),
        Rule::TrailingBytes => theirs.is_some_and(|(_, rest)| rest.len() == bytes.len() - offset),
        Rule::DuplicateKey => or_unread(|value| value.has_same_key),
        Rule::KeyNotText => or_unread(|value| value.has_odd_key),
        Rule::ExtType => or_unread(|value| value.has_ext),
        Rule::TooDeep => measured().is_none_or(|value| value.depth > limits::PACKET_DEPTH),
        Rule::TooManyValues => measured().is_none_or(|value| value.values > limits::PACKET_VALUES),
        Rule::BadJson | Rule::Envelope => false,
    }
}

/// What a value is made of.
#[derive(Default)]
struct Measured {
    depth: usize,
    values: usize,
    has_ext: bool,
    has_odd_key: bool,
    has_same_key: bool,
    has_bad_text: bool,
}

impl Measured {
    fn of(value: &Value) -> Measured {
        let mut measured = Measured::default();
        measured.add(value, 0);
        measured
    }

    fn add(&mut self, value: &Value, depth: usize) {
        self.values += 1;
        match value {
            Value::Array(values) => {
                self.depth = self.depth.max(depth + 1);
                values.iter().for_each(|value| self.add(value, depth + 1));
            }
            Value::Map(pairs) => {
                self.depth = self.depth.max(depth + 1);
                let mut keys = HashSet::new();
                for (key, value) in pairs {
                    match key {
                        Value::String(text) => self.has_same_key |= !keys.insert(text.as_bytes()),
                        _ => self.has_odd_key = true,
                    }
                    self.add(key, depth + 1);
                    self.add(value, depth + 1);
                }
            }
            Value::Ext(..) => self.has_ext = true,
            Value::String(text) => self.has_bad_text |= text.as_str().is_none(),
            _ => {}
        }
    }
}
