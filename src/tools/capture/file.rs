//! The contents of a capture file, its possible defects, and a cursor over its bytes.

use core::net::IpAddr;
use std::fmt;

use crate::util::escape::Untrusted;

/// Comment on the first packet of a connection whose messages are no packets, whatever its path. An
/// intercepting proxy writes it, because a path such as `/` is ambiguous.
pub(crate) const FOREIGN_COMMENT: &str = "dialect=none";

/// A packet of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The packet's number in the file, from 1, as in Wireshark.
    pub number: usize,
    /// Time of capture, in nanoseconds since 1970.
    pub at_ns: u64,
    /// The link type: a LINKTYPE number, which determines the first header.
    pub link: u32,
    /// The captured bytes of the packet.
    pub bytes: &'a [u8],
    /// The original size of the packet in bytes.
    pub original_length: usize,
    /// Whether the capturing machine received (`Some(true)`) or sent the packet; `None` if the file
    /// does not record it.
    pub inbound: Option<bool>,
    /// The packet's comments.
    pub comments: Vec<Untrusted<&'a str>>,
}

/// The contents of a capture file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capture<'a> {
    /// All packets in file order.
    pub packets: Vec<Packet<'a>>,
    /// Names of addresses.
    pub names: Vec<(IpAddr, Untrusted<&'a str>)>,
    /// The offset of an incomplete block at the end of the file, in bytes. Everything before it is
    /// read.
    pub truncated_at: Option<usize>,
}

/// A file that is not a capture, or is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CaptureError {
    /// The offset in the file, in bytes.
    pub offset: usize,
    /// The broken rule.
    pub rule: FormatRule,
}

/// The rules of the file formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FormatRule {
    /// The file begins neither as pcapng nor as pcap.
    NotACapture,
    /// A section has an invalid byte-order magic.
    ByteOrder,
    /// The version of the format is not supported.
    Version(u16),
    /// The length of a block is below 12, or not a multiple of 4.
    BlockLength(u32),
    /// The second length of a block differs from the first.
    BlockEnd(u32),
    /// A block, an option or a packet is shorter than its fields.
    Truncated,
    /// A packet refers to an undescribed interface.
    Interface(u32),
}

impl fmt::Display for FormatRule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FormatRule::NotACapture => out.write_str("this is neither pcapng nor pcap"),
            FormatRule::ByteOrder => out.write_str("a section has an invalid byte-order magic"),
            FormatRule::Version(major) => write!(out, "version {major} of the format is not supported"),
            FormatRule::BlockLength(length) => write!(out, "a block has the invalid length {length}"),
            FormatRule::BlockEnd(length) => {
                write!(out, "the two lengths of a block differ: the second is {length}")
            }
            FormatRule::Truncated => out.write_str("a block is shorter than the fields that it declares"),
            FormatRule::Interface(number) => {
                write!(out, "a packet names interface {number}, which the file does not describe")
            }
        }
    }
}

impl fmt::Display for CaptureError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "at byte {}: {}", self.offset, self.rule)
    }
}

impl std::error::Error for CaptureError {}

/// The byte order of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

/// Takes numbers and bytes from the front of a part of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    pub(super) bytes: &'a [u8],
    /// The file offset of the first byte of `bytes`.
    pub(super) offset: usize,
    pub(super) order: ByteOrder,
}

impl<'a> Cursor<'a> {
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], CaptureError> {
        let Some((taken, rest)) = self.bytes.split_at_checked(count) else {
            return Err(self.error(FormatRule::Truncated));
        };
        self.bytes = rest;
        self.offset += count;
        Ok(taken)
    }

    /// Takes `count` bytes, and skips the padding to a multiple of four.
    pub(super) fn take_padded(&mut self, count: usize) -> Result<&'a [u8], CaptureError> {
        let taken = self.take(count)?;
        self.take(count.wrapping_neg() % 4)?;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], CaptureError> {
        let taken = self.take(N)?;
        Ok(taken.try_into().expect("the slice has the requested length"))
    }

    pub(super) fn u16(&mut self) -> Result<u16, CaptureError> {
        let bytes = self.array()?;
        Ok(match self.order {
            ByteOrder::Little => u16::from_le_bytes(bytes),
            ByteOrder::Big => u16::from_be_bytes(bytes),
        })
    }

    pub(super) fn u32(&mut self) -> Result<u32, CaptureError> {
        let bytes = self.array()?;
        Ok(match self.order {
            ByteOrder::Little => u32::from_le_bytes(bytes),
            ByteOrder::Big => u32::from_be_bytes(bytes),
        })
    }

    pub(super) fn error(&self, rule: FormatRule) -> CaptureError {
        CaptureError { offset: self.offset, rule }
    }
}
