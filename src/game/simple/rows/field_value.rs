//! Single values of a packet, between the types of a game and the types of the packet table.

use std::sync::Arc;

use rmpv::Value;
use tickwire_sim::PlayerId;
use tickwire_sim::fixed::{Angle, Fixed};
use tickwire_sim::geometry::Rect;

use crate::packet::DecodedPacket;

/// Approximate size of the head of a text or a list.
const HEAD_BYTES: usize = 3;

/// A value of a packet.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldValue {
    /// A number, or a boolean as 0 or 1.
    Int(i64),
    /// A text.
    Text(Arc<str>),
    /// A list. The fields of its records follow each other.
    List(Vec<FieldValue>),
    /// No value.
    Nil,
}

impl FieldValue {
    /// Approximate size as MessagePack.
    pub(super) fn bytes(&self) -> usize {
        match self {
            FieldValue::Int(-32..=127) => 1,
            FieldValue::Int(number) if i16::try_from(*number).is_ok() => 3,
            FieldValue::Int(_) => 5,
            FieldValue::Text(text) => HEAD_BYTES + text.len(),
            FieldValue::List(values) => HEAD_BYTES + values.iter().map(FieldValue::bytes).sum::<usize>(),
            FieldValue::Nil => 1,
        }
    }
}

impl From<&FieldValue> for Value {
    fn from(value: &FieldValue) -> Value {
        match value {
            FieldValue::Int(number) => Value::from(*number),
            FieldValue::Text(text) => Value::from(&**text),
            FieldValue::List(values) => Value::Array(values.iter().map(Value::from).collect()),
            FieldValue::Nil => Value::Nil,
        }
    }
}

/// A type that a row may have as a field.
pub trait RowField {
    /// For a record: the names of its fields.
    const MEMBERS: &'static [&'static str] = &[];

    /// Converts to a value of a packet.
    fn into_value(self) -> FieldValue;

    /// Appends the value, or all fields of a record.
    #[doc(hidden)]
    fn append_to(self, values: &mut Vec<FieldValue>)
    where
        Self: Sized,
    {
        match self.into_value() {
            FieldValue::List(fields) if !Self::MEMBERS.is_empty() => values.extend(fields),
            value => values.push(value),
        }
    }
}

/// A type of a field that a client in Rust reads: every [`RowField`] except `&str`.
pub trait ReceivedField: RowField + Sized {
    /// Reads a value. A list of records contains the fields of all records. `None` if the value
    /// does not fit the type.
    fn from_value(value: &Value) -> Option<Self>;
}

/// A type that an action may have as a field.
pub trait ActionField: RowField + Clone + Sized {
    /// Reads an argument. `None` if the value does not fit the type.
    fn from_argument(packet: &DecodedPacket<'_>, name: &str) -> Option<Self>;
}

macro_rules! integers {
    ($($kind:ty)+) => {$(
        impl RowField for $kind {
            fn into_value(self) -> FieldValue {
                FieldValue::Int(self.into())
            }
        }

        impl ReceivedField for $kind {
            fn from_value(value: &Value) -> Option<$kind> {
                value.as_i64()?.try_into().ok()
            }
        }

        impl ActionField for $kind {
            fn from_argument(packet: &DecodedPacket<'_>, name: &str) -> Option<$kind> {
                packet.integer(name)
            }
        }
    )+};
}

integers!(u8 u16 u32 i8 i16 i32 i64);

impl RowField for bool {
    fn into_value(self) -> FieldValue {
        FieldValue::Int(self.into())
    }
}

impl ReceivedField for bool {
    fn from_value(value: &Value) -> Option<bool> {
        value.as_bool().or_else(|| value.as_i64().map(|number| number != 0))
    }
}

impl ActionField for bool {
    fn from_argument(packet: &DecodedPacket<'_>, name: &str) -> Option<bool> {
        packet.bool_value(name)
    }
}

impl RowField for PlayerId {
    fn into_value(self) -> FieldValue {
        FieldValue::Int(self.0.into())
    }
}

impl ReceivedField for PlayerId {
    fn from_value(value: &Value) -> Option<PlayerId> {
        u16::from_value(value).map(PlayerId)
    }
}

impl ActionField for PlayerId {
    fn from_argument(packet: &DecodedPacket<'_>, name: &str) -> Option<PlayerId> {
        packet.integer(name).map(PlayerId)
    }
}

/// In units of 1/65,536 turn.
impl RowField for Angle {
    fn into_value(self) -> FieldValue {
        FieldValue::Int(self.0.into())
    }
}

impl ReceivedField for Angle {
    fn from_value(value: &Value) -> Option<Angle> {
        u16::from_value(value).map(Angle)
    }
}

impl ActionField for Angle {
    fn from_argument(packet: &DecodedPacket<'_>, name: &str) -> Option<Angle> {
        packet.angle(name).map(Angle)
    }
}

/// In units of 1/65,536.
impl RowField for Fixed {
    fn into_value(self) -> FieldValue {
        FieldValue::Int(self.0.into())
    }
}

impl ReceivedField for Fixed {
    fn from_value(value: &Value) -> Option<Fixed> {
        i32::from_value(value).map(Fixed)
    }
}

impl RowField for Rect {
    const MEMBERS: &'static [&'static str] = &["left", "top", "right", "bottom"];

    fn into_value(self) -> FieldValue {
        list([self.left, self.top, self.right, self.bottom])
    }

    fn append_to(self, values: &mut Vec<FieldValue>) {
        let edges = [self.left, self.top, self.right, self.bottom];
        values.extend(edges.map(|edge| FieldValue::Int(edge.into())));
    }
}

impl ReceivedField for Rect {
    fn from_value(value: &Value) -> Option<Rect> {
        let [left, top, right, bottom] = <[i32; 4]>::from_value(value)?;
        Some(Rect { left, top, right, bottom })
    }
}

impl ActionField for Fixed {
    fn from_argument(packet: &DecodedPacket<'_>, name: &str) -> Option<Fixed> {
        packet.integer(name).map(Fixed)
    }
}

impl RowField for Arc<str> {
    fn into_value(self) -> FieldValue {
        FieldValue::Text(self)
    }
}

impl ReceivedField for Arc<str> {
    fn from_value(value: &Value) -> Option<Arc<str>> {
        value.as_str().map(Arc::from)
    }
}

impl ActionField for Arc<str> {
    fn from_argument(packet: &DecodedPacket<'_>, name: &str) -> Option<Arc<str>> {
        packet.text(name).map(Arc::from)
    }
}

impl RowField for &str {
    fn into_value(self) -> FieldValue {
        FieldValue::Text(self.into())
    }
}

impl<T: RowField> RowField for Option<T> {
    fn into_value(self) -> FieldValue {
        self.map_or(FieldValue::Nil, T::into_value)
    }
}

impl<T: ReceivedField> ReceivedField for Option<T> {
    fn from_value(value: &Value) -> Option<Option<T>> {
        if value.is_nil() { Some(None) } else { T::from_value(value).map(Some) }
    }
}

impl<T: ActionField> ActionField for Option<T> {
    fn from_argument(packet: &DecodedPacket<'_>, name: &str) -> Option<Option<T>> {
        match packet.get(name) {
            None => Some(None),
            Some(_) => T::from_argument(packet, name).map(Some),
        }
    }
}

impl<T: RowField> RowField for Vec<T> {
    const MEMBERS: &'static [&'static str] = T::MEMBERS;

    fn into_value(self) -> FieldValue {
        list(self)
    }
}

impl<T: ReceivedField> ReceivedField for Vec<T> {
    fn from_value(value: &Value) -> Option<Vec<T>> {
        let values = value.as_array()?;
        match T::MEMBERS.len() {
            0 => values.iter().map(T::from_value).collect(),
            width if values.len().is_multiple_of(width) => {
                values.chunks_exact(width).map(|record| T::from_value(&record.to_vec().into())).collect()
            }
            _ => None,
        }
    }
}

impl<T: ActionField + TryFrom<i64>> ActionField for Vec<T> {
    fn from_argument(packet: &DecodedPacket<'_>, name: &str) -> Option<Vec<T>> {
        let item = |value: &Value| T::try_from(value.as_i64()?).ok();
        packet.get(name)?.as_array()?.iter().map(item).collect()
    }
}

impl<T: RowField, const N: usize> RowField for [T; N] {
    const MEMBERS: &'static [&'static str] = T::MEMBERS;

    fn into_value(self) -> FieldValue {
        list(self)
    }
}

impl<T: ReceivedField, const N: usize> ReceivedField for [T; N] {
    fn from_value(value: &Value) -> Option<[T; N]> {
        Vec::from_value(value)?.try_into().ok()
    }
}

/// Returns the list of some items. The fields of records follow each other.
fn list<T: RowField>(items: impl IntoIterator<Item = T>) -> FieldValue {
    let items = items.into_iter();
    let mut values = Vec::with_capacity(items.size_hint().0 * T::MEMBERS.len().max(1));
    items.for_each(|item| item.append_to(&mut values));
    FieldValue::List(values)
}
