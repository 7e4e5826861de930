//! The worlds of a server that go on in its next run: the file of `--keep`.
//!
//! ```text
//! "TWKP" · then for each room
//!   name: length u8, bytes · world: length u32, bytes · keys: count u16, of each the key (16 bytes) and the player u16
//! ```
//! Numbers are little-endian. The world is as [`carry`](tickwire_sim::carry) writes it.

use tickwire_sim::{Malformed, PlayerId, Reader};

use super::Kept;

const MAGIC: &[u8; 4] = b"TWKP";

/// Writes the worlds of these rooms.
pub fn write(rooms: &[(String, Kept)]) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    for (name, Kept { named, keys }) in rooms {
        let name = &name.as_bytes()[..name.len().min(255)];
        out.push(name.len() as u8);
        out.extend(name);
        out.extend((named.len() as u32).to_le_bytes());
        out.extend(named);
        let keys = &keys[..keys.len().min(usize::from(u16::MAX))];
        out.extend((keys.len() as u16).to_le_bytes());
        for (key, player) in keys {
            out.extend(key);
            out.extend(player.0.to_le_bytes());
        }
    }
    out
}

/// Reads the worlds of rooms, by the names of the rooms.
///
/// # Errors
/// The bytes are not those of [`write()`].
pub fn read(bytes: &[u8]) -> Result<Vec<(String, Kept)>, Malformed> {
    let mut reader = Reader::new(bytes);
    if reader.array()? != *MAGIC {
        return Err(Malformed::Value("a file of kept worlds"));
    }
    let mut rooms = Vec::new();
    while !reader.rest().is_empty() {
        let name = reader.text()?;
        let length = reader.u32()? as usize;
        let named = reader.take(length)?.to_vec();
        let mut keys = Vec::new();
        for _ in 0..reader.u16()? {
            keys.push((reader.array()?, PlayerId(reader.u16()?)));
        }
        rooms.push((name, Kept { named, keys }));
    }
    Ok(rooms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worlds_come_back_by_the_names_of_their_rooms_and_cut_bytes_are_refused() {
        let kept =
            |named: &[u8], keys: &[([u8; 16], PlayerId)]| Kept { named: named.to_vec(), keys: keys.to_vec() };
        let rooms = vec![
            (String::new(), kept(b"one world", &[([7; 16], PlayerId(3)), ([9; 16], PlayerId(300))])),
            ("two".to_owned(), kept(b"", &[])),
        ];
        let bytes = write(&rooms);
        assert_eq!(read(&bytes), Ok(rooms.clone()));
        for length in 0..bytes.len() {
            assert_ne!(read(&bytes[..length]), Ok(rooms.clone()), "{length} of {}", bytes.len());
        }
        assert_eq!(read(b"TWKQ"), Err(Malformed::Value("a file of kept worlds")));
    }
}
