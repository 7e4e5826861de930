//! Reads a capture file from bytes that arrive in parts, for example over a network.

use super::file::{ByteOrder, CaptureError, Cursor, FormatRule, Packet};
use super::{pcap, pcapng};
use crate::util::escape::Untrusted;

/// The length of the magic number in bytes.
const MAGIC_BYTES: usize = 4;

/// Decodes packets incrementally. The caller stores the unused bytes.
#[derive(Debug, Default)]
pub struct StreamReader {
    format: Option<FileFormat>,
    /// The file offset of the next byte.
    offset: usize,
    packets: usize,
}

#[derive(Debug)]
enum FileFormat {
    Pcapng(pcapng::Blocks),
    Pcap { format: pcap::PcapFormat, link: u32 },
}

impl StreamReader {
    /// The number of bytes used so far.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The number of packets so far.
    pub fn packets(&self) -> usize {
        self.packets
    }

    /// Passes complete packets to `each`, and returns the number of bytes used. The next call must
    /// start with the unused bytes.
    ///
    /// # Errors
    /// The file is not a capture, or is damaged at the returned offset.
    pub fn receive<'a>(
        &mut self,
        bytes: &'a [u8],
        each: &mut dyn FnMut(&Packet<'a>),
    ) -> Result<usize, CaptureError> {
        let mut cursor = Cursor { bytes, offset: self.offset, order: ByteOrder::Little };
        if self.format.is_none() && !self.begin(&mut cursor)? {
            return Ok(0);
        }
        // The vector for comments is reused, because nearly every packet has a comment.
        let mut room = Vec::new();
        while let Some(packet) = self.next(&mut cursor, std::mem::take(&mut room))? {
            if let Some(mut packet) = packet {
                self.packets += 1;
                packet.number = self.packets;
                each(&packet);
                packet.comments.clear();
                room = packet.comments;
            }
        }
        let used = cursor.offset - self.offset;
        self.offset = cursor.offset;
        Ok(used)
    }

    /// Determines the format. Returns `false` if more bytes are needed.
    fn begin(&mut self, cursor: &mut Cursor<'_>) -> Result<bool, CaptureError> {
        if cursor.bytes.len() < MAGIC_BYTES {
            return Ok(false);
        }
        self.format = if pcapng::is_pcapng(cursor.bytes) {
            Some(FileFormat::Pcapng(pcapng::Blocks::new()))
        } else {
            let format = pcap::format(cursor.bytes).ok_or_else(|| cursor.error(FormatRule::NotACapture))?;
            if cursor.bytes.len() < pcap::HEADER_BYTES {
                return Ok(false);
            }
            Some(FileFormat::Pcap { format, link: pcap::header(cursor, format)? })
        };
        Ok(true)
    }

    /// Decodes the next item: `None` if it is incomplete, `Some(None)` if it is not a packet.
    fn next<'a>(
        &mut self,
        cursor: &mut Cursor<'a>,
        room: Vec<Untrusted<&'a str>>,
    ) -> Result<Option<Option<Packet<'a>>>, CaptureError> {
        match &mut self.format {
            None => Ok(None),
            Some(FileFormat::Pcapng(blocks)) => match blocks.next(cursor, room)? {
                None => Ok(None),
                Some(pcapng::Block::Packet(packet)) => Ok(Some(Some(packet))),
                Some(pcapng::Block::Names(body)) => {
                    // The names are not used, but decoded to detect damage.
                    pcapng::names(body, &mut Vec::new())?;
                    Ok(Some(None))
                }
                Some(pcapng::Block::Other) => Ok(Some(None)),
            },
            Some(FileFormat::Pcap { format, link }) => {
                let begin = *cursor;
                cursor.order = format.order();
                let packet = pcap::packet(cursor, *format, *link, 0).ok();
                if packet.is_none() {
                    *cursor = begin;
                }
                Ok(packet.map(Some))
            }
        }
    }
}
