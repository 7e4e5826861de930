//! An action as bytes. Short ones, which are most, take no memory of their own.

use std::fmt;

use crate::{Action, Reader};

/// Bytes that fit in place.
const SHORT: usize = 22;

/// The bytes of one action, as [`Action::write`](crate::Action::write) makes them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Encoded(Bytes);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Bytes {
    /// The rest of the array is zero, so that equal actions are equal values.
    Short(u8, [u8; SHORT]),
    Long(Box<[u8]>),
}

impl Encoded {
    /// An action of these bytes.
    pub fn new(bytes: &[u8]) -> Encoded {
        if bytes.len() <= SHORT {
            let mut short = [0; SHORT];
            short[..bytes.len()].copy_from_slice(bytes);
            Encoded(Bytes::Short(bytes.len() as u8, short))
        } else {
            Encoded(Bytes::Long(bytes.into()))
        }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            Bytes::Short(count, bytes) => &bytes[..usize::from(*count)],
            Bytes::Long(bytes) => bytes,
        }
    }

    /// The action; `None` if the bytes are not exactly one.
    pub fn decoded<A: Action>(&self) -> Option<A> {
        let mut reader = Reader::new(self.bytes());
        A::read(&mut reader).ok().filter(|_| reader.rest().is_empty())
    }
}

impl fmt::Debug for Encoded {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Encoded({:02x?})", self.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_and_short_ones_need_no_memory() {
        for count in 0..=2 * SHORT {
            let bytes: Vec<u8> = (1..=count as u8).collect();
            let encoded = Encoded::new(&bytes);
            assert_eq!(encoded.bytes(), bytes);
            assert_eq!(matches!(encoded.0, Bytes::Short(..)), count <= SHORT, "{count}");
        }
        assert_eq!(size_of::<Encoded>(), 24);
    }
}
