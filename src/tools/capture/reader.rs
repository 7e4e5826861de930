//! Reads a complete capture file packet by packet: pcapng or pcap, in either byte order.

use super::file::{ByteOrder, Capture, CaptureError, Cursor, FormatRule};
use super::pcapng::{self, Block, Blocks};
use super::{Packet, pcap};

/// Reads the packets of a file in memory. The caller decides how many at a time.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    format: FileFormat,
    cursor: Cursor<'a>,
    capture: Capture<'a>,
}

#[derive(Debug)]
enum FileFormat {
    Pcapng(Blocks),
    /// pcap, with the link type of all packets.
    Classic(pcap::PcapFormat, u32),
}

impl<'a> Reader<'a> {
    /// Reads the header of the file.
    ///
    /// # Errors
    /// [`CaptureError`]: the file is not a capture, or its header is damaged.
    pub fn new(bytes: &'a [u8]) -> Result<Reader<'a>, CaptureError> {
        let mut cursor = Cursor { bytes, offset: 0, order: ByteOrder::Little };
        let format = if pcapng::is_pcapng(bytes) {
            FileFormat::Pcapng(Blocks::new())
        } else if let Some(format) = pcap::format(bytes) {
            FileFormat::Classic(format, pcap::header(&mut cursor, format)?)
        } else {
            return Err(CaptureError { offset: 0, rule: FormatRule::NotACapture });
        };
        Ok(Reader { format, cursor, capture: Capture::default() })
    }

    /// Reads the next block, and returns its packet, if it has one.
    ///
    /// # Errors
    /// [`CaptureError`] gives the offset of the defect and the violated rule.
    pub fn step(&mut self) -> Result<Option<&Packet<'a>>, CaptureError> {
        let Reader { format, cursor, capture } = self;
        let (begin, number) = (*cursor, capture.packets.len() + 1);
        if begin.bytes.is_empty() {
            return Ok(None);
        }
        let packet = match format {
            FileFormat::Classic(format, link) => pcap::packet(cursor, *format, *link, number).ok(),
            FileFormat::Pcapng(blocks) => match blocks.next(cursor, Vec::new())? {
                // An incomplete first block is an error, because the file may not be a capture at
                // all.
                None if begin.offset == 0 => return Err(begin.error(FormatRule::Truncated)),
                None => None,
                Some(Block::Packet(packet)) => Some(Packet { number, ..packet }),
                Some(Block::Names(body)) => {
                    pcapng::names(body, &mut capture.names)?;
                    return Ok(None);
                }
                Some(Block::Other) => return Ok(None),
            },
        };
        let Some(packet) = packet else {
            capture.truncated_at = Some(begin.offset);
            cursor.bytes = &[];
            return Ok(None);
        };
        capture.packets.push(packet);
        Ok(capture.packets.last())
    }

    /// The number of unread bytes.
    pub fn left(&self) -> usize {
        self.cursor.bytes.len()
    }

    /// Returns the packets and names read so far.
    pub fn finish(self) -> Capture<'a> {
        self.capture
    }
}
