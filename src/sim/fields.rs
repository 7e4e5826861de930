//! Visits every field of the state in a fixed order.
//!
//! Each type lists its fields once ([`fields!`](crate::fields!)), and the compiler rejects a list
//! that omits a field. Snapshot, checksum and comparison are different sinks of the same visit, so
//! they cannot diverge.

use std::sync::Arc;

pub use crate::reader::{Malformed, Reader};

use crate::fixed::{Angle, Fixed};
use crate::{PlayerId, Rng};

/// Receives the scalars of a state one by one.
pub trait Sink {
    /// Receives one scalar, and its size in bytes in a snapshot (1, 2, 4 or 8).
    fn put(&mut self, value: u64, bytes: usize);

    /// Receives a signed number, and its size in bytes.
    fn put_signed(&mut self, value: i64, bytes: usize) {
        self.put(value as u64 & u64::MAX >> (64 - 8 * bytes), bytes);
    }

    /// Receives a text: its length in one byte, then its bytes.
    fn text(&mut self, text: &str) {
        self.put(text.len() as u64, 1);
        text.bytes().for_each(|byte| self.put(u64::from(byte), 1));
    }

    /// Receives whether an optional value is present. The scalars of a present value follow.
    fn option(&mut self, is_some: bool) {
        self.put(u64::from(is_some), 1);
    }

    /// Receives the variant of an enum, by its number and its name. The variant's fields follow.
    fn variant(&mut self, number: u64, _name: &'static str) {
        self.put(number, 1);
    }

    /// Receives the number of items of a list. The items follow, each between [`Sink::item`] and
    /// [`Sink::end_item`].
    fn length(&mut self, count: usize) {
        self.put(count as u64, 4);
    }

    /// Begins a field. The scalars up to the matching [`Sink::leave`] belong to it.
    fn enter(&mut self, _field: &'static str) {}

    /// Ends the field.
    fn leave(&mut self) {}

    /// Begins the next item of a list. The scalars up to [`Sink::end_item`] belong to it.
    fn item(&mut self) {}

    /// Ends the item.
    fn end_item(&mut self) {}
}

/// A value that is part of the state.
pub trait Field: Sized {
    /// Minimum encoded size in bytes, for checking a declared count against the remaining bytes.
    const MIN_BYTES: usize;

    /// Passes the scalars of the value to the sink.
    fn write(&self, sink: &mut impl Sink);

    /// Reads the value from a snapshot.
    ///
    /// # Errors
    /// The bytes are not a value of this type.
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed>;
}

/// Encodes scalars as little-endian bytes.
#[derive(Clone, Debug, Default)]
pub struct ByteSink(pub Vec<u8>);

impl Sink for ByteSink {
    fn put(&mut self, value: u64, bytes: usize) {
        self.0.extend_from_slice(&value.to_le_bytes()[..bytes]);
    }
}

/// Implements [`Field`] for a struct or an enum. Writing and reading both name every field, so a
/// new field does not compile until it is listed. The order of an enum's variants is part of the
/// snapshot format. A variant without fields has empty braces.
///
/// ```
/// use tickwire_sim::fields;
///
/// fields! {
///     /// A ball on the field.
///     struct Ball { x: i32, y: i32 }
/// }
/// fields! { enum Act { Go { direction: u8 }, Stop {} } }
/// ```
///
/// For a type that is defined elsewhere in the module, the macro lists the fields once more. Both
/// directions name every field, so a new field does not compile until it is listed.
///
/// ```
/// # use tickwire_sim::fields;
/// #[derive(Debug, PartialEq)]
/// struct Ball { x: i32, y: i32 }
/// fields!(Ball: x: i32, y: i32);
///
/// #[derive(Debug, PartialEq)]
/// enum Act { Go { direction: u8 }, Stop }
/// fields!(enum Act: Go { direction: u8 }, Stop {});
/// ```
#[macro_export]
macro_rules! fields {
    (enum $type:ident: $($variant:ident { $($field:ident: $kind:ty),* $(,)? }),+ $(,)?) => {
        impl $crate::fields::Field for $type {
            const MIN_BYTES: usize = 1;

            fn write(&self, sink: &mut impl $crate::fields::Sink) {
                #[allow(dead_code)]
                enum Tag { $($variant),+ }
                match self {
                    $($type::$variant { $($field),* } => {
                        sink.variant(Tag::$variant as u64, stringify!($variant));
                        sink.enter(stringify!($variant));
                        $(
                            sink.enter(stringify!($field));
                            $crate::fields::Field::write($field, sink);
                            sink.leave();
                        )*
                        sink.leave();
                    })+
                }
            }

            fn read(
                reader: &mut $crate::fields::Reader<'_>,
            ) -> Result<Self, $crate::fields::Malformed> {
                enum Tag { $($variant),+ }
                let tag = reader.variant(&[$(stringify!($variant)),+])?;
                $(
                    if tag == Tag::$variant as u64 {
                        reader.enter(stringify!($variant));
                        $(
                            reader.enter(stringify!($field));
                            let $field = <$kind as $crate::fields::Field>::read(reader)?;
                            reader.leave();
                        )*
                        reader.leave();
                        return Ok($type::$variant { $($field),* });
                    }
                )+
                Err($crate::fields::Malformed::Value(stringify!($type)))
            }
        }
    };
    ($type:ident: $($field:ident: $kind:ty),+ $(,)?) => {
        impl $crate::fields::Field for $type {
            const MIN_BYTES: usize = 0 $(+ <$kind as $crate::fields::Field>::MIN_BYTES)+;

            fn write(&self, sink: &mut impl $crate::fields::Sink) {
                let $type { $($field),+ } = self;
                $(
                    sink.enter(stringify!($field));
                    $crate::fields::Field::write($field, sink);
                    sink.leave();
                )+
            }

            fn read(
                reader: &mut $crate::fields::Reader<'_>,
            ) -> Result<Self, $crate::fields::Malformed> {
                $(
                    reader.enter(stringify!($field));
                    let $field = <$kind as $crate::fields::Field>::read(reader)?;
                    reader.leave();
                )+
                Ok($type { $($field),+ })
            }
        }
    };
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $type:ident {
            $($(#[$field_attribute:meta])* $field_visibility:vis $field:ident: $kind:ty),+ $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq)]
        $visibility struct $type {
            $($(#[$field_attribute])* $field_visibility $field: $kind),+
        }
        $crate::fields!($type: $($field: $kind),+);
    };
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $type:ident {
            $(
                $(#[$variant_attribute:meta])*
                $variant:ident { $($(#[$field_attribute:meta])* $field:ident: $kind:ty),* $(,)? }
            ),+ $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
        $visibility enum $type {
            $($(#[$variant_attribute])* $variant { $($(#[$field_attribute])* $field: $kind),* }),+
        }
        $crate::fields!(enum $type: $($variant { $($field: $kind),* }),+);
    };
}

/// Implements [`Field`] for a number or a wrapper around a number. With `signed` before the type,
/// the function `$to` returns an `i64`, and reports print the sign.
#[macro_export]
macro_rules! scalar {
    (signed $type:ty, $bytes:literal, $to:expr, $from:expr) => {
        $crate::scalar!(@ $type, $bytes, put_signed i64, $to, $from);
    };
    (@ $type:ty, $bytes:literal, $put:ident $number:ty, $to:expr, $from:expr) => {
        impl $crate::fields::Field for $type {
            const MIN_BYTES: usize = $bytes;

            fn write(&self, sink: &mut impl $crate::fields::Sink) {
                let to: fn(&$type) -> $number = $to;
                sink.$put(to(self), $bytes);
            }

            fn read(reader: &mut $crate::fields::Reader<'_>) -> Result<Self, $crate::fields::Malformed> {
                let from: fn(u64) -> Option<$type> = $from;
                from(reader.scalar($bytes)?).ok_or($crate::fields::Malformed::Value(stringify!($type)))
            }
        }
    };
    ($type:ty, $bytes:literal, $to:expr, $from:expr) => {
        $crate::scalar!(@ $type, $bytes, put u64, $to, $from);
    };
}

scalar!(bool, 1, |value| u64::from(*value), |raw| (raw < 2).then_some(raw == 1));
scalar!(u8, 1, |value| u64::from(*value), |raw| Some(raw as u8));
scalar!(u16, 2, |value| u64::from(*value), |raw| Some(raw as u16));
scalar!(u32, 4, |value| u64::from(*value), |raw| Some(raw as u32));
scalar!(u64, 8, |value| *value, Some);
scalar!(signed i32, 4, |value| i64::from(*value), |raw| Some(raw as u32 as i32));
scalar!(signed i8, 1, |value| i64::from(*value), |raw| Some(raw as u8 as i8));
scalar!(signed i16, 2, |value| i64::from(*value), |raw| Some(raw as u16 as i16));
scalar!(signed i64, 8, |value| *value, |raw| Some(raw as i64));
scalar!(PlayerId, 2, |value| u64::from(value.0), |raw| Some(PlayerId(raw as u16)));
scalar!(Rng, 8, |value| value.state(), |state| Some(Rng::from_state(state)));
scalar!(signed Fixed, 4, |value| i64::from(value.0), |raw| Some(Fixed(raw as u32 as i32)));
scalar!(Angle, 2, |value| u64::from(value.0), |raw| Some(Angle(raw as u16)));

impl<T: Field> Field for Option<T> {
    const MIN_BYTES: usize = 1;

    fn write(&self, sink: &mut impl Sink) {
        sink.option(self.is_some());
        if let Some(value) = self {
            value.write(sink);
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(if bool::read(reader)? { Some(T::read(reader)?) } else { None })
    }
}

impl<T: Field + Copy + Default, const N: usize> Field for [T; N] {
    const MIN_BYTES: usize = N * T::MIN_BYTES;

    fn write(&self, sink: &mut impl Sink) {
        write_items(self, sink);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut items = [T::default(); N];
        for item in &mut items {
            *item = read_item(reader)?;
        }
        Ok(items)
    }
}

/// A pair, for example a position.
impl<A: Field, B: Field> Field for (A, B) {
    const MIN_BYTES: usize = A::MIN_BYTES + B::MIN_BYTES;

    fn write(&self, sink: &mut impl Sink) {
        sink.enter("0");
        self.0.write(sink);
        sink.leave();
        sink.enter("1");
        self.1.write(sink);
        sink.leave();
    }

    fn read(reader: &mut Reader<'_>) -> Result<(A, B), Malformed> {
        reader.enter("0");
        let first = A::read(reader)?;
        reader.leave();
        reader.enter("1");
        let second = B::read(reader)?;
        reader.leave();
        Ok((first, second))
    }
}

impl Field for Arc<str> {
    const MIN_BYTES: usize = 1;

    fn write(&self, sink: &mut impl Sink) {
        // The world limits every text of the state to far less than 256 bytes.
        sink.text(self);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let length = reader.scalar(1)? as usize;
        let text = std::str::from_utf8(reader.take(length)?);
        text.map(Arc::from).map_err(|_| Malformed::Value("text"))
    }
}

impl<T: Field> Field for Vec<T> {
    const MIN_BYTES: usize = 4;

    fn write(&self, sink: &mut impl Sink) {
        sink.length(self.len());
        write_items(self, sink);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let length = reader.scalar(4)? as usize;
        // Memory is allocated for at most as many items as the remaining bytes can contain, because
        // the declared count may be false.
        if length > reader.rest().len() / T::MIN_BYTES {
            return Err(Malformed::Truncated);
        }
        let mut items = Vec::with_capacity(length);
        for _ in 0..length {
            items.push(read_item(reader)?);
        }
        Ok(items)
    }
}

fn write_items<T: Field>(items: &[T], sink: &mut impl Sink) {
    for item in items {
        sink.item();
        item.write(sink);
        sink.end_item();
    }
}

fn read_item<T: Field>(reader: &mut Reader<'_>) -> Result<T, Malformed> {
    reader.item();
    let item = T::read(reader)?;
    reader.leave();
    Ok(item)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    enum Act {
        Go { direction: u8, far: bool },
        Stop,
        Announce { text: Arc<str> },
    }

    fields!(enum Act: Go { direction: u8, far: bool }, Stop {}, Announce { text: Arc<str> });

    #[test]
    fn the_variants_of_an_enum_come_back_by_their_order() {
        for (act, bytes) in [
            (Act::Go { direction: 7, far: true }, &[0, 7, 1][..]),
            (Act::Stop, &[1]),
            (Act::Announce { text: "hi".into() }, &[2, 2, b'h', b'i']),
        ] {
            let mut out = ByteSink::default();
            act.write(&mut out);
            assert_eq!(out.0, bytes);
            assert_eq!(Act::read(&mut Reader::new(bytes)), Ok(act));
        }
        assert_eq!(Act::read(&mut Reader::new(&[3])), Err(Malformed::Value("Act")));
        assert_eq!(Act::read(&mut Reader::new(&[0, 7])), Err(Malformed::Truncated));
    }
}
