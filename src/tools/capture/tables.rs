//! The packet tables in a capture, reassembled from their records.

use std::collections::BTreeMap;

use super::Capture;
use super::packet::LINK_WORLD;
use super::tables_error::CapturedTablesError;
use super::world_record::{self, WorldRecord};

/// File names with texts, or paths with dialects.
type NamedTexts = Vec<(String, String)>;

/// Maximum number of paths per room, equal to the capacity of one record. Further paths are
/// ignored.
const PATHS_PER_ROOM: usize = 255;

/// Reassembles tables: the expected table and part numbers, and the bytes so far.
#[derive(Default)]
struct TableAssembler {
    next: (u16, u16),
    files: Vec<(String, Vec<u8>)>,
}

impl Capture<'_> {
    /// The paths of the captured rooms, with their dialects.
    pub fn paths(&self) -> BTreeMap<String, NamedTexts> {
        let mut rooms = BTreeMap::<_, NamedTexts>::new();
        for (_, record) in self.records() {
            let Ok((room, WorldRecord::Room { paths, .. })) = record else { continue };
            let known = rooms.entry(room.raw().to_owned()).or_default();
            for (path, dialect) in paths {
                if known.len() < PATHS_PER_ROOM && !known.iter().any(|(one, _)| path == *one) {
                    known.push((path.raw().to_owned(), dialect.raw().to_owned()));
                }
            }
        }
        rooms
    }

    /// Whether the snapshot length cut off a part of the packet tables.
    pub(crate) fn has_truncated_tables(&self) -> bool {
        let of_world = self.packets.iter().filter(|packet| packet.link == LINK_WORLD);
        of_world.filter(|packet| packet.bytes.len() < packet.original_length).any(|packet| {
            // The kind of a record is in its first two bytes.
            matches!(world_record::kind_of(packet.bytes), Some(world_record::TABLE))
        })
    }

    /// Returns the packet tables of the server as file names and texts; `None` if the capture has
    /// none.
    ///
    /// # Errors
    /// The tables are incomplete, or the capture has two different sets of tables.
    pub fn tables(&self) -> Result<Option<NamedTexts>, CapturedTablesError> {
        let (mut found, mut reading): (Option<NamedTexts>, Option<TableAssembler>) = (None, None);
        for packet in self.packets.iter().filter(|packet| packet.link == LINK_WORLD) {
            let Ok((_, WorldRecord::Table { table, tables, part, parts, file, bytes })) =
                world_record::decode(packet.bytes)
            else {
                continue;
            };
            let now = reading.get_or_insert_default();
            if packet.bytes.len() < packet.original_length {
                return Err(CapturedTablesError::Truncated { packet: packet.number });
            }
            if now.next != (table, part) {
                return Err(CapturedTablesError::PartMissing { packet: packet.number });
            }
            if part == 0 {
                now.files.push((file.raw().to_owned(), Vec::new()));
            }
            if let Some((_, text)) = now.files.last_mut() {
                text.extend_from_slice(bytes);
            }
            now.next = if part + 1 < parts { (table, part + 1) } else { (table + 1, 0) };
            if now.next == (tables, 0) {
                let texts = texts(reading.take().unwrap_or_default().files)?;
                if found.as_ref().is_some_and(|found| *found != texts) {
                    return Err(CapturedTablesError::TwoSets);
                }
                found = Some(texts);
            }
        }
        match reading {
            Some(_) => Err(CapturedTablesError::Incomplete),
            None => Ok(found),
        }
    }
}

fn texts(files: Vec<(String, Vec<u8>)>) -> Result<NamedTexts, CapturedTablesError> {
    let text = |(file, bytes): (String, Vec<u8>)| match String::from_utf8(bytes) {
        Ok(text) => Ok((file, text)),
        Err(_) => Err(CapturedTablesError::NotUtf8 { file }),
    };
    files.into_iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::capture::pcapng::{PacketMeta, write_interface, write_packet, write_section};
    use crate::tools::capture::{Untrusted, read};

    /// Writes a capture with table records: table, number of tables, part, number of parts, text.
    fn with_tables(records: &[(u16, u16, u16, u16, &str)]) -> Vec<u8> {
        let mut out = Vec::new();
        write_section(&mut out, "a test");
        write_interface(&mut out, LINK_WORLD as u16, "world");
        for (at_ns, (table, tables, part, parts, text)) in (1..).zip(records) {
            let (table, tables, part, parts) = (*table, *tables, *part, *parts);
            let (name, mut packet) = (format!("{table}.tsv"), Vec::new());
            let record = WorldRecord::Table {
                table,
                tables,
                part,
                parts,
                file: Untrusted::new(&name),
                bytes: text.as_bytes(),
            };
            world_record::encode(&mut packet, "", &record);
            write_packet(&mut out, &PacketMeta { interface: 0, at_ns, inbound: None, comment: "" }, &packet);
        }
        out
    }

    #[test]
    fn tables_are_put_together_from_their_records_and_an_incomplete_set_is_refused() {
        let whole = [(0, 2, 0, 2, "ab"), (0, 2, 1, 2, "cd"), (1, 2, 0, 1, "e")];
        let tables = |records: &[_]| read(&with_tables(records)).expect("a capture").tables();
        let texts =
            [("0.tsv", "abcd"), ("1.tsv", "e")].map(|(file, text)| (file.to_owned(), text.to_owned()));
        assert_eq!(tables(&[]), Ok(None));
        assert_eq!(tables(&whole), Ok(Some(texts.to_vec())));
        assert_eq!(tables(&[whole, whole].concat()), Ok(Some(texts.to_vec())), "two files in one");
        for (records, reason) in [
            (&whole[..2], "not complete"),
            (&whole[1..], "lack a part, at packet 1"),
            (&[whole[0], whole[2]], "lack a part, at packet 2"),
            (&[whole[0], whole[1], whole[2], (0, 1, 0, 1, "x")], "two different sets"),
        ] {
            let refused = tables(records).expect_err(reason);
            assert!(refused.to_string().contains(reason), "{refused}");
        }
    }
}
