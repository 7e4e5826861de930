//! Converts single values of a decoded packet.

use crate::packet::Value;

/// Converts a flag: 0, 1 or a boolean.
pub(super) fn flag(value: &Value) -> Option<bool> {
    value.as_bool().or_else(|| value.as_i64().map(|number| number != 0))
}

/// Converts the groups of a flat list with `read`. An absent list has no groups. `None` if `read`
/// rejects a group.
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
