//! The file of `--state-file`: worlds that the next run of the server continues.
//!
//! ```text
//! "TWK2" · then for each room
//!   name: length u8, bytes · world: length u32, bytes · keys: count u16, for each
//!   the key (16 bytes), the player u16, the last connection's address as IPv6 (16 bytes)
//! ```
//! Numbers are little-endian. The world is encoded by [`migrate`](tickwire_sim::migrate).

// `core`, because an address is a plain value here: no network access.
use core::net::{IpAddr, Ipv6Addr};

use tickwire_sim::{Malformed, PlayerId, Reader};

use super::SavedRoom;
use super::seat_keys::{KeyedSeat, SeatKey};
use crate::util::address_prefix::AddressPrefix;

/// First bytes of every version of the file. A digit, the format version, follows.
pub const MARK: &[u8; 3] = b"TWK";
/// First bytes of the current version.
pub const MAGIC: &[u8; 4] = b"TWK2";

/// Encodes the saved rooms with their names.
pub fn write(rooms: &[(String, SavedRoom)]) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    for (name, SavedRoom { state: named, keys }) in rooms {
        let name = &name.as_bytes()[..name.len().min(255)];
        out.push(name.len() as u8);
        out.extend(name);
        out.extend((named.len() as u32).to_le_bytes());
        out.extend(named);
        let keys = &keys[..keys.len().min(usize::from(u16::MAX))];
        out.extend((keys.len() as u16).to_le_bytes());
        for KeyedSeat { key, player, from } in keys {
            out.extend(key.0);
            out.extend(player.0.to_le_bytes());
            out.extend(to_ipv6(*from).octets());
        }
    }
    out
}

/// Decodes the saved rooms with their names.
///
/// # Errors
/// The bytes are not an output of [`write()`].
pub fn read(bytes: &[u8]) -> Result<Vec<(String, SavedRoom)>, Malformed> {
    let mut reader = Reader::new(bytes);
    if reader.array()? != *MAGIC {
        return Err(Malformed::Value("a file of saved worlds"));
    }
    let mut rooms = Vec::new();
    while !reader.rest().is_empty() {
        let name = reader.text()?;
        let length = reader.u32()? as usize;
        let named = reader.take(length)?.to_vec();
        let mut keys = Vec::new();
        for _ in 0..reader.u16()? {
            let (key, player) = (SeatKey(reader.array()?), PlayerId(reader.u16()?));
            let from = AddressPrefix::from_ip(Ipv6Addr::from(reader.array::<16>()?).into());
            keys.push(KeyedSeat { key, player, from });
        }
        rooms.push((name, SavedRoom { state: named, keys }));
    }
    Ok(rooms)
}

fn to_ipv6(from: AddressPrefix) -> Ipv6Addr {
    match from.first_address() {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worlds_come_back_by_the_names_of_their_rooms_and_cut_bytes_are_refused() {
        let saved =
            |named: &[u8], keys: &[KeyedSeat]| SavedRoom { state: named.to_vec(), keys: keys.to_vec() };
        let keyed = |key: u8, player: u16, from: &str| {
            let from = AddressPrefix::from_ip(from.parse().expect("an address"));
            KeyedSeat { key: SeatKey([key; 16]), player: PlayerId(player), from }
        };
        let keys = [keyed(7, 3, "203.0.113.9"), keyed(9, 300, "2001:db8:1:2:3::4")];
        let rooms = vec![(String::new(), saved(b"one world", &keys)), ("two".to_owned(), saved(b"", &[]))];
        let bytes = write(&rooms);
        assert_eq!(read(&bytes), Ok(rooms.clone()));
        for length in 0..bytes.len() {
            assert_ne!(read(&bytes[..length]), Ok(rooms.clone()), "{length} of {}", bytes.len());
        }
        assert_eq!(read(b"TWKQ"), Err(Malformed::Value("a file of saved worlds")));
    }
}
