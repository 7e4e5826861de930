//! Reads single values of a decoded packet.

use crate::packet::Value;

/// A flag is 0 or 1, or a boolean.
pub(super) fn flag(value: &Value) -> Option<bool> {
    value.as_bool().or_else(|| value.as_i64().map(|number| number != 0))
}

/// The groups of a flat list; an absent list has no groups. `None` if a group is not valid for
/// `read`.
pub(super) fn groups<const N: usize, T>(
    list: Option<&Value>,
    read: impl Fn(&[Value; N]) -> Option<T>,
) -> Option<Vec<T>> {
    let Some(list) = list else { return Some(Vec::new()) };
    let groups = list.as_array()?.chunks(N);
    groups.map(|group| read(group.try_into().ok()?)).collect()
}

pub(super) fn half_px(value: &Value) -> Option<f64> {
    value.as_i64().map(|half_px| half_px as f64 / 2.0)
}

pub(super) fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

pub(super) fn whole<N: TryFrom<i64>>(value: &Value) -> Option<N> {
    value.as_i64().and_then(|number| N::try_from(number).ok())
}
