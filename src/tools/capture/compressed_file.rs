//! Detects compressed files by their magic numbers, because captures are often stored compressed.

use std::fmt;

/// A compression format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packed {
    /// The magic number. No frame or HTTP head begins with it.
    magic: &'static [u8],
    /// The name of the format.
    name: &'static str,
    /// The command that decompresses a file to standard output.
    command: &'static str,
}

const PACKED: [Packed; 7] = [
    Packed { magic: b"\x1f\x8b", name: "gzip", command: "gzip -dc" },
    Packed { magic: b"\x28\xb5\x2f\xfd", name: "zstd", command: "zstd -dc" },
    Packed { magic: b"\xfd7zXZ\0", name: "xz", command: "xz -dc" },
    Packed { magic: b"BZh", name: "bzip2", command: "bzip2 -dc" },
    Packed { magic: b"\x04\x22\x4d\x18", name: "lz4", command: "lz4 -dc" },
    Packed { magic: b"PK\x03\x04", name: "zip", command: "unzip -p" },
    Packed { magic: b"7z\xbc\xaf\x27\x1c", name: "7-Zip", command: "7z x -so" },
];

/// The length of the longest magic number, in bytes.
#[cfg(not(target_family = "wasm"))]
pub const MAGIC_BYTES: usize = 6;

/// Returns the compression format of a file; `None` if it is not compressed.
pub fn format(contents: &[u8]) -> Option<Packed> {
    PACKED.into_iter().find(|packed| contents.starts_with(packed.magic))
}

impl Packed {
    /// Whether the format is gzip.
    #[cfg(not(target_family = "wasm"))]
    pub fn is_gzip(self) -> bool {
        self.name == "gzip"
    }
}

impl fmt::Display for Packed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Packed { name, command, .. } = self;
        write!(out, "compressed with {name}: decompress it first, for example with {command} FILE > UNPACKED")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ws::Side;
    use crate::ws::frame::Header;

    #[test]
    fn no_frame_begins_like_a_packed_file() {
        for packed in PACKED {
            let bytes = [packed.magic, &[0; 16]].concat();
            assert_eq!(format(&bytes), Some(packed));
            assert!(packed.magic.len() <= MAGIC_BYTES, "{packed:?}");
            for from in [Side::Client, Side::Server] {
                assert!(Header::decode(&bytes, from).is_err(), "{packed:?}");
            }
        }
    }
}
