//! Encodes values of the world for the wire.

use crate::game::WireValues;
use crate::games::moo::world::{Angle, ClanId, EntityId};
use crate::packet::msgpack::write_uint;

macro_rules! number {
    ($($kind:ty),+) => {$(
        impl WireValues for $kind {
            const COUNT: usize = 1;

            #[inline]
            fn write(&self, out: &mut Vec<u8>) {
                write_uint(out, self.0.into());
            }
        }
    )+};
}

number!(Angle, ClanId, EntityId);
