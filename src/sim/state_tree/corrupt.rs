//! Changes one scalar of a world, to test that the difference is detected.

use super::diff::FieldDiff;
use super::node::{Node, Scalar, Value, to_text};
use super::{Section, StateTree};
use crate::fields::{ByteSink, Sink};
use crate::{Checksum, Rng, Sim};

/// Length of the checksum at the end of a snapshot, in bytes.
const CHECKSUM_BYTES: usize = 8;
/// Fields that are never changed: worlds with other parameters or another tick are not compared.
const NEVER_CHANGED: [&str; 2] = ["identity", "tick"];
/// Maximum number of values tried for each scalar.
const MAX_ATTEMPTS: u32 = 4;

/// Returns a copy of the world in which exactly one scalar differs, and the difference: `ours` is
/// the original value, `theirs` the value in the copy. The copy is a possible world, because
/// [`Sim::restore`] has accepted it. Ids of entities, numbers of items, the parameters and the tick
/// are never changed.
///
/// Returns `None` if every change that was tried was rejected, or if there are no scalars.
pub fn corrupt_one_scalar<S: Sim>(sim: &S, random: &mut Rng) -> Option<(S, FieldDiff)> {
    let state = StateTree::of(sim);
    let snapshot = sim.snapshot();
    let head = snapshot.get(..snapshot.len().checked_sub(state.bytes + CHECKSUM_BYTES)?)?;
    let mut places = Vec::new();
    state.parts.iter().for_each(|part| collect_locations(part, &mut places));
    while !places.is_empty() {
        let place = places.swap_remove(random.below(places.len() as u32) as usize);
        for _ in 0..MAX_ATTEMPTS {
            let (at, bytes, value, changed) = place.change(random);
            let mut altered = PatchingWriter {
                at,
                bytes,
                value,
                out: ByteSink(head.to_vec()),
                ..PatchingWriter::default()
            };
            sim.write(&mut altered);
            let checksum = altered.checksum.get();
            altered.out.put(checksum, CHECKSUM_BYTES);
            let Ok(world) = S::restore(&altered.out.0) else { continue };
            // Skips a change that the world reverts when it restores the altered state.
            if world.snapshot() == altered.out.0 && altered.out.0 != snapshot {
                let words = |changed: Option<&Value>| {
                    let own = |(which, scalar): (usize, &'_ Scalar)| match changed {
                        Some(changed) if which == place.which => changed.clone(),
                        _ => scalar.value.clone(),
                    };
                    let values: Vec<Value> = place.node.scalars.iter().enumerate().map(own).collect();
                    Some(to_text(values.iter()))
                };
                let (ours, theirs) = (words(None), words(Some(&changed)));
                let (entity, field) = place.named();
                return Some((world, FieldDiff { entity, field, ours, theirs }));
            }
        }
    }
    None
}

/// The location of a scalar that can be changed.
#[derive(Clone, Copy)]
struct ScalarLocation<'a> {
    part: &'a Section,
    /// Index of the item, if the section is a list.
    item: Option<usize>,
    node: &'a Node,
    /// Index of the scalar in the node.
    which: usize,
}

/// Collects the changeable scalars of a section.
fn collect_locations<'a>(part: &'a Section, places: &mut Vec<ScalarLocation<'a>>) {
    if NEVER_CHANGED.contains(&part.path.split('.').next().unwrap_or_default()) {
        return;
    }
    list_node((part, None), &part.node, None, places);
    for (at, item) in part.items.iter().enumerate() {
        list_node((part, Some(at)), &item.node, item.node.id_node(), places);
    }
}

fn list_node<'a>(
    (part, item): (&'a Section, Option<usize>),
    node: &'a Node,
    id: Option<&Node>,
    places: &mut Vec<ScalarLocation<'a>>,
) {
    if id.is_some_and(|id| std::ptr::eq(id, node)) {
        return;
    }
    for (which, scalar) in node.scalars.iter().enumerate() {
        let is_value = match &scalar.value {
            Value::Number(_) | Value::Signed(_) => true,
            Value::Text(text) => !text.is_empty(),
            Value::Option(_) | Value::Variant(..) | Value::Length(_) => false,
        };
        if is_value {
            places.push(ScalarLocation { part, item, node, which });
        }
    }
    node.fields.iter().for_each(|(_, field)| list_node((part, item), field, id, places));
    node.items.iter().for_each(|own| list_node((part, item), own, None, places));
}

impl ScalarLocation<'_> {
    /// The entity and the path of the scalar.
    fn named(&self) -> (String, String) {
        let item = self.item.and_then(|at| self.part.items.get(at).map(|item| (at, item)));
        let (entity, root) = match item {
            Some((at, item)) => (self.part.name(at, item.id), &item.node),
            None => (self.part.entity(), &self.part.node),
        };
        let mut field = String::new();
        root.visit("", &mut |path, node| {
            if std::ptr::eq(node, self.node) {
                path.clone_into(&mut field);
            }
        });
        (entity, field)
    }

    /// Selects another value. Returns its offset and size in bytes, its encoded form, and the
    /// value.
    fn change(&self, random: &mut Rng) -> (usize, usize, u64, Value) {
        let Scalar { value, at, bytes } = &self.node.scalars[self.which];
        let (at, bytes) = (*at, *bytes);
        match value {
            Value::Text(text) => {
                let place = random.below(text.len() as u32) as usize;
                let letter = b'a' + random.below(26) as u8;
                let mut letters = text.as_bytes().to_vec();
                letters[place] = letter;
                let changed = String::from_utf8_lossy(&letters).into_owned();
                (at + 1 + place, 1, letter.into(), Value::Text(changed.into()))
            }
            Value::Signed(number) => {
                let bits = other_value(*number as u64, bytes, random);
                let unused = 64 - 8 * bytes as u32;
                (at, bytes, bits, Value::Signed((bits << unused) as i64 >> unused))
            }
            Value::Number(number) => {
                let bits = other_value(*number, bytes, random);
                (at, bytes, bits, Value::Number(bits))
            }
            Value::Option(_) | Value::Variant(..) | Value::Length(_) => (at, 0, 0, value.clone()),
        }
    }
}

/// Returns another number of `bytes` bytes: greater by one, less by one, or with one bit inverted.
fn other_value(number: u64, bytes: usize, random: &mut Rng) -> u64 {
    let changed = match random.below(4) {
        0 => number.wrapping_add(1),
        1 => number.wrapping_sub(1),
        _ => number ^ 1 << random.below(8 * bytes as u32),
    };
    changed & u64::MAX >> (64 - 8 * bytes)
}

/// Encodes a state with another scalar at one offset.
#[derive(Default)]
struct PatchingWriter {
    at: usize,
    bytes: usize,
    value: u64,
    /// Bytes of the scalars so far.
    passed: usize,
    checksum: Checksum,
    out: ByteSink,
}

impl Sink for PatchingWriter {
    fn put(&mut self, value: u64, bytes: usize) {
        let is_it = self.passed == self.at && bytes == self.bytes;
        let value = if is_it { self.value } else { value };
        self.passed += bytes;
        self.checksum.put(value, bytes);
        self.out.put(value, bytes);
    }
}
