//! Encodes Rust values as wire values. A tuple is a record, or the arguments of a packet, in the
//! order on the wire.

use std::sync::Arc;

use tickwire_sim::PlayerId;

use crate::packet::Value;
use crate::packet::msgpack::{
    write_array_len, write_f64_2dec, write_int, write_nil, write_str, write_uint, write_value,
};

/// One or more values in sequence.
pub trait WireValues {
    /// Number of values.
    const COUNT: usize;

    /// Encodes and appends the values.
    fn write(&self, out: &mut Vec<u8>);
}

macro_rules! one_value {
    ($($kind:ty, $write:ident, |$value:ident| $wire:expr;)+) => {$(
        impl WireValues for $kind {
            const COUNT: usize = 1;

            #[inline]
            fn write(&self, out: &mut Vec<u8>) {
                let $value = self;
                $write(out, $wire);
            }
        }
    )+};
}

one_value! {
    bool, write_uint, |flag| (*flag).into();
    u8, write_uint, |number| (*number).into();
    u16, write_uint, |number| (*number).into();
    u32, write_uint, |number| (*number).into();
    u64, write_uint, |number| *number;
    i16, write_int, |number| (*number).into();
    i32, write_int, |number| (*number).into();
    i64, write_int, |number| *number;
    f64, write_f64_2dec, |number| *number;
    str, write_str, |text| text;
    String, write_str, |text| text;
    Arc<str>, write_str, |text| text;
    PlayerId, write_uint, |id| id.0.into();
}

impl<T: WireValues + ?Sized> WireValues for &T {
    const COUNT: usize = T::COUNT;

    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        (**self).write(out);
    }
}

/// `None` is encoded as one nil for each value.
impl<T: WireValues> WireValues for Option<T> {
    const COUNT: usize = T::COUNT;

    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Some(values) => values.write(out),
            None => (0..T::COUNT).for_each(|_| write_nil(out)),
        }
    }
}

impl<T: WireValues, const N: usize> WireValues for [T; N] {
    const COUNT: usize = N * T::COUNT;

    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|values| values.write(out));
    }
}

macro_rules! tuples {
    ($($($part:ident $kind:ident),+;)+) => {$(
        impl<$($kind: WireValues),+> WireValues for ($($kind,)+) {
            const COUNT: usize = 0 $(+ $kind::COUNT)+;

            #[inline]
            fn write(&self, out: &mut Vec<u8>) {
                let ($($part,)+) = self;
                $($part.write(out);)+
            }
        }
    )+};
}

tuples! {
    a A, b B;
    a A, b B, c C;
    a A, b B, c C, d D;
    a A, b B, c C, d D, e E;
    a A, b B, c C, d D, e E, f F;
    a A, b B, c C, d D, e E, f F, g G;
    a A, b B, c C, d D, e E, f F, g G, h H;
    a A, b B, c C, d D, e E, f F, g G, h H, i I;
}

/// A boolean encoded as true or false. A plain `bool` is encoded as 0 or 1 instead, which has the
/// same length and which every client accepts as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Boolean(pub bool);

impl WireValues for Boolean {
    const COUNT: usize = 1;

    fn write(&self, out: &mut Vec<u8>) {
        write_value(out, &Value::Boolean(self.0));
    }
}

/// A list of records as one value: an array of all their values.
pub struct List<I>(pub I);

impl<I: Iterator<Item: WireValues> + Clone> WireValues for List<I> {
    const COUNT: usize = 1;

    fn write(&self, out: &mut Vec<u8>) {
        write_array_len(out, self.0.clone().count() * I::Item::COUNT);
        self.0.clone().for_each(|record| record.write(out));
    }
}
