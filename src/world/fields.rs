//! Visits every field of the state in a fixed order.
//!
//! Each type lists its fields once ([`fields!`]), and the compiler rejects a list that omits one.
//! Snapshot, checksum and comparison are only different sinks of the same visit, so they cannot
//! diverge.

use std::sync::Arc;

use crate::fixed::{Angle, Fixed};
use crate::rng::Rng;

/// Why bytes are not a snapshot that this code can restore.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The bytes do not begin like a snapshot.
    NotASnapshot,
    /// The layout differs from the one that this code writes.
    Version {
        /// The layout number in the bytes.
        found: u16,
    },
    /// The world was made with other rules.
    Code {
        /// The code hash in the bytes; see [`crate::rules::code_hash`].
        found: u64,
    },
    /// The bytes end before the state does.
    Truncated,
    /// Bytes follow the state.
    Trailing {
        /// The number of extra bytes.
        bytes: usize,
    },
    /// The name of a value that no world can have.
    Value(&'static str),
    /// Each value is possible, but the checksum does not match.
    Checksum,
}

/// Receives the scalars of a state one by one.
pub(crate) trait Sink {
    /// One scalar, and its size in bytes in a snapshot (1, 2, 4 or 8).
    fn put(&mut self, value: u64, bytes: usize);

    /// The scalars up to the matching [`Sink::leave`] belong to this field.
    fn enter(&mut self, _field: &'static str) {}

    /// The field ends.
    fn leave(&mut self) {}
}

/// A value that is part of the state.
pub(crate) trait Field: Sized {
    /// Size in bytes of the smallest value, for checking a declared count against the remaining
    /// bytes.
    const LEAST_BYTES: usize;

    /// Passes its scalars to the sink.
    fn write(&self, sink: &mut impl Sink);

    /// Reads its scalars from a snapshot.
    fn read(reader: &mut Reader<'_>) -> Result<Self, SnapshotError>;
}

/// Reads little-endian scalars from bytes.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader at the start of the bytes.
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes }
    }

    /// The unread bytes.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// The next bytes, of that number.
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], SnapshotError> {
        if count > self.bytes.len() {
            return Err(SnapshotError::Truncated);
        }
        let (taken, rest) = self.bytes.split_at(count);
        self.bytes = rest;
        Ok(taken)
    }

    /// The next scalar of that many bytes, at most 8.
    pub(crate) fn scalar(&mut self, bytes: usize) -> Result<u64, SnapshotError> {
        Ok(self.take(bytes)?.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }
}

/// Writes scalars as little-endian bytes.
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl Sink for Bytes {
    fn put(&mut self, value: u64, bytes: usize) {
        self.0.extend_from_slice(&value.to_le_bytes()[..bytes]);
    }
}

/// Makes a struct part of the state. Both directions name every field, so a new field does not
/// compile until it is in the list.
macro_rules! fields {
    ($type:ident: $($field:ident: $kind:ty),+ $(,)?) => {
        impl crate::fields::Field for $type {
            const LEAST_BYTES: usize = 0 $(+ <$kind as crate::fields::Field>::LEAST_BYTES)+;

            fn write(&self, sink: &mut impl crate::fields::Sink) {
                let $type { $($field),+ } = self;
                $(
                    sink.enter(stringify!($field));
                    crate::fields::Field::write($field, sink);
                    sink.leave();
                )+
            }

            fn read(
                reader: &mut crate::fields::Reader<'_>,
            ) -> Result<Self, crate::fields::SnapshotError> {
                $(let $field = <$kind as crate::fields::Field>::read(reader)?;)+
                Ok($type { $($field),+ })
            }
        }
    };
}
pub(crate) use fields;

/// Makes a number, or a wrapper around a number, part of the state.
macro_rules! scalar {
    ($type:ty, $bytes:literal, $to:expr, $from:expr) => {
        impl crate::fields::Field for $type {
            const LEAST_BYTES: usize = $bytes;

            fn write(&self, sink: &mut impl crate::fields::Sink) {
                let to: fn(&$type) -> u64 = $to;
                sink.put(to(self), $bytes);
            }

            fn read(reader: &mut crate::fields::Reader<'_>) -> Result<Self, crate::fields::SnapshotError> {
                let from: fn(u64) -> Option<$type> = $from;
                from(reader.scalar($bytes)?).ok_or(crate::fields::SnapshotError::Value(stringify!($type)))
            }
        }
    };
}
pub(crate) use scalar;

scalar!(bool, 1, |value| u64::from(*value), |raw| (raw < 2).then_some(raw == 1));
scalar!(u8, 1, |value| u64::from(*value), |raw| Some(raw as u8));
scalar!(u16, 2, |value| u64::from(*value), |raw| Some(raw as u16));
scalar!(u32, 4, |value| u64::from(*value), |raw| Some(raw as u32));
scalar!(u64, 8, |value| *value, Some);
scalar!(i32, 4, |value| u64::from(*value as u32), |raw| Some(raw as u32 as i32));
scalar!(Fixed, 4, |value| u64::from(value.0 as u32), |raw| Some(Fixed(raw as u32 as i32)));
scalar!(Angle, 2, |value| u64::from(value.0), |raw| Some(Angle(raw as u16)));
scalar!(Rng, 8, |value| value.state, |state| Some(Rng { state }));

impl<T: Field> Field for Option<T> {
    const LEAST_BYTES: usize = 1;

    fn write(&self, sink: &mut impl Sink) {
        self.is_some().write(sink);
        if let Some(value) = self {
            value.write(sink);
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, SnapshotError> {
        Ok(if bool::read(reader)? { Some(T::read(reader)?) } else { None })
    }
}

impl<T: Field + Copy + Default, const N: usize> Field for [T; N] {
    const LEAST_BYTES: usize = N * T::LEAST_BYTES;

    fn write(&self, sink: &mut impl Sink) {
        self.iter().for_each(|item| item.write(sink));
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, SnapshotError> {
        let mut items = [T::default(); N];
        for item in &mut items {
            *item = T::read(reader)?;
        }
        Ok(items)
    }
}

impl Field for Arc<str> {
    const LEAST_BYTES: usize = 1;

    fn write(&self, sink: &mut impl Sink) {
        // Every text of the state is limited to far less than 256 bytes when it is applied.
        sink.put(self.len() as u64, 1);
        self.bytes().for_each(|byte| sink.put(u64::from(byte), 1));
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, SnapshotError> {
        let length = reader.scalar(1)? as usize;
        let text = std::str::from_utf8(reader.take(length)?);
        text.map(Arc::from).map_err(|_| SnapshotError::Value("text"))
    }
}

impl<T: Field> Field for Vec<T> {
    const LEAST_BYTES: usize = 4;

    fn write(&self, sink: &mut impl Sink) {
        sink.put(self.len() as u64, 4);
        self.iter().for_each(|item| item.write(sink));
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, SnapshotError> {
        let length = reader.scalar(4)? as usize;
        // Memory is reserved only for as many values as the bytes can hold, whatever the count
        // says.
        if length > reader.rest().len() / T::LEAST_BYTES {
            return Err(SnapshotError::Truncated);
        }
        let mut items = Vec::with_capacity(length);
        for _ in 0..length {
            items.push(T::read(reader)?);
        }
        Ok(items)
    }
}
