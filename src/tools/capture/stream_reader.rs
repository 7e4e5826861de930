//! A capture file whose bytes come piece by piece, as over a network.

use super::file::{ByteOrder, CaptureError, Cursor, FormatRule, Packet};
use super::{pcap, pcapng};
use crate::util::escape::Untrusted;

/// The bytes that show the format.
const MAGIC_BYTES: usize = 4;

/// Takes packets off the front of a file. The caller keeps the bytes that are not used yet.
#[derive(Debug, Default)]
pub struct StreamReader {
    format: Option<FileFormat>,
    /// Where in the file the next bytes stand.
    offset: usize,
    packets: usize,
}

#[derive(Debug)]
enum FileFormat {
    Pcapng(pcapng::Blocks),
    Pcap { format: pcap::PcapFormat, link: u32 },
}

impl StreamReader {
    /// How many bytes of the file were used.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// How many packets there were.
    pub fn packets(&self) -> usize {
        self.packets
    }

    /// Passes on the packets that are complete. Returns how many of these bytes were used; the next
    /// call begins with the others.
    ///
    /// # Errors
    /// The file is no capture, or is damaged, at the offset in the error.
    pub fn receive<'a>(
        &mut self,
        bytes: &'a [u8],
        each: &mut dyn FnMut(&Packet<'a>),
    ) -> Result<usize, CaptureError> {
        let mut cursor = Cursor { bytes, offset: self.offset, order: ByteOrder::Little };
        if self.format.is_none() && !self.begin(&mut cursor)? {
            return Ok(0);
        }
        // Nearly every packet has a comment, and room for it is made once.
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

    /// Finds the format, if enough bytes are there.
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

    /// The next item: `None` if the bytes end in the middle of it, nothing in it if it is no packet.
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
                    // Nobody asks for them, but a damaged file is damaged.
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
