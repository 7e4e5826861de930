//! Opens a capture file in slices of a few packets, so that a page can draw in between.
//!
//! ```text
//!  bytes ─► packets ─► segments of their connections      until the file ends
//!                      connections ─► pieces, in order    until the last connection ─► CaptureFile
//!
//! A connection of any size is put together in steps of one segment.
//! ```

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;

use super::capture_file::{CaptureFile, DATAGRAM_FLAG, FileConnection};
use super::proxy_note::ProxyNote;
use crate::packet::PacketTables;
use crate::tools::capture::{
    self, Assembled, Assembly, Capture, CaptureError, ConnectionAssembly, Reader, TcpConnection, Unread,
};
use crate::tools::explain::capture_walk::{self, CapturedDatagram};
use crate::util::plural::count_noun;

/// The fixed cost of a block: the number of bytes that take as long to decode.
const BLOCK_COST: usize = 64;
/// The fixed cost of a connection, in the same unit.
const CONNECTION_COST: usize = 256;
/// The cost of a step of the assembly of a connection, in the same unit. A piece takes two steps.
const STEP_COST: usize = 128;

/// Opens a file in one call: decodes its packets and reassembles its connections, but explains no
/// frames.
///
/// # Errors
/// One sentence that describes why the file cannot be read.
pub fn open(bytes: Vec<u8>) -> Result<CaptureFile, String> {
    let mut opening = Opening::new(bytes)?;
    loop {
        if let Some(file) = opening.work(usize::MAX >> 1)? {
            return Ok(file);
        }
    }
}

/// A capture file that is being opened.
pub struct Opening {
    /// The size of the file. Its bytes are leaked, because the WebAssembly instance serves only
    /// this file.
    bytes: usize,
    stage: OpeningStage,
}

enum OpeningStage {
    Packets(Box<Packets>),
    Connections(Box<Connections>),
    Ended,
}

/// The first stage: decodes packets.
struct Packets {
    reader: Reader<'static>,
    assembly: Assembly<'static>,
    unread: Unread,
    datagrams: Vec<CapturedDatagram<'static>>,
}

/// The second stage: reassembles connections.
struct Connections {
    capture: Capture<'static>,
    codes: &'static PacketTables,
    left: Assembled<'static>,
    /// The datagrams of all lanes, in order.
    datagrams: Vec<CapturedDatagram<'static>>,
    current: Option<CurrentConnection>,
    all: usize,
    notes: Vec<String>,
    connections: Vec<FileConnection>,
    order: Vec<(u32, u32, u32)>,
    /// The number of connections by client address.
    clients: BTreeMap<IpAddr, usize>,
}

/// The connection that is being put together.
struct CurrentConnection {
    assembly: ConnectionAssembly<'static>,
    /// The packet after which the last piece could be read.
    readable: usize,
}

impl Opening {
    /// Decodes the file header.
    ///
    /// # Errors
    /// One sentence that describes why the file cannot be read.
    pub fn new(bytes: Vec<u8>) -> Result<Opening, String> {
        if let Some(packed) = capture::compressed_file::format(&bytes) {
            return Err(format!("The file cannot be read: {packed}."));
        }
        let bytes: &'static [u8] = bytes.leak();
        let (reader, bytes) = (Reader::new(bytes).map_err(damaged)?, bytes.len());
        let (assembly, unread, datagrams) = Default::default();
        let packets = Packets { reader, assembly, unread, datagrams };
        Ok(Opening { bytes, stage: OpeningStage::Packets(Box::new(packets)) })
    }

    /// Processes about `bytes` bytes. Returns the file once it is open.
    ///
    /// # Errors
    /// As [`Opening::new`]. After an error, the opening cannot continue.
    pub fn work(&mut self, bytes: usize) -> Result<Option<CaptureFile>, String> {
        let mut left = bytes as i64;
        // After an error, the stage is `Ended`.
        self.stage = match std::mem::replace(&mut self.stage, OpeningStage::Ended) {
            OpeningStage::Packets(mut packets) => match packets.work(&mut left)? {
                false => OpeningStage::Packets(packets),
                true => OpeningStage::Connections(Box::new(packets.finish()?)),
            },
            OpeningStage::Connections(mut connections) => {
                if connections.work(left) {
                    return Ok(Some(connections.finish()));
                }
                OpeningStage::Connections(connections)
            }
            OpeningStage::Ended => return Err("the file is not being opened".to_owned()),
        };
        Ok(None)
    }

    /// The progress in percent.
    pub fn percent(&self) -> usize {
        // In 64 bits, because `usize` has only 32 bits in a page.
        let half = |done: usize, all: usize| 50 * done as u64 / all.max(1) as u64;
        let percent = match &self.stage {
            OpeningStage::Packets(packets) => half(self.bytes - packets.reader.left(), self.bytes),
            OpeningStage::Connections(connections) => 50 + connections.half_percent(),
            OpeningStage::Ended => 100,
        };
        percent as usize
    }
}

impl Packets {
    /// Decodes packets up to this cost. Returns whether all are decoded.
    fn work(&mut self, cost: &mut i64) -> Result<bool, String> {
        let Packets { reader, assembly, unread, datagrams } = self;
        while *cost > 0 && reader.left() > 0 {
            let before = reader.left();
            if let Some(packet) = reader.step().map_err(damaged)? {
                unread.add(packet);
                datagrams.extend(capture_walk::captured_datagram(packet));
                assembly.receive(packet);
            }
            *cost -= (before - reader.left() + BLOCK_COST) as i64;
        }
        Ok(reader.left() == 0)
    }

    fn finish(self) -> Result<Connections, String> {
        Connections::new(self.reader.finish(), self.assembly.finish(), &self.unread, self.datagrams)
    }
}

impl Connections {
    fn new(
        capture: Capture<'static>,
        left: Assembled<'static>,
        unread: &Unread,
        datagrams: Vec<CapturedDatagram<'static>>,
    ) -> Result<Connections, String> {
        let unread = unread.words().map(|words| capture_walk::with_links(words, &capture));
        if let Some(words) = &unread
            && !capture.is_readable()
        {
            return Err(format!("The file has nothing that can be read: {words}."));
        }
        let mut notes: Vec<String> = unread.into_iter().collect();
        notes.extend(
            [capture_walk::truncation_note(&capture), capture_walk::truncated(&capture)]
                .into_iter()
                .flatten(),
        );
        let codes = codes_of(&capture)?;
        let (connections, order, clients) = (Vec::new(), Vec::new(), BTreeMap::new());
        let (all, current) = (left.len(), None);
        Ok(Connections { capture, codes, all, left, datagrams, current, notes, connections, order, clients })
    }

    /// Reassembles connections up to this cost. Returns whether all are reassembled.
    fn work(&mut self, mut cost: i64) -> bool {
        while cost > 0 {
            if self.current.is_none() {
                let Some(assembly) = self.left.begin_next() else { return true };
                let readable = assembly.connection().first_packet;
                self.current = Some(CurrentConnection { assembly, readable });
                cost -= CONNECTION_COST as i64;
            }
            cost -= STEP_COST as i64;
            if self.step()
                && let Some(current) = self.current.take()
            {
                self.add(current.assembly.finish());
            }
        }
        false
    }

    /// Executes a step of the current connection. If the step places a piece, adds it to `order`.
    /// Returns whether the connection is complete.
    fn step(&mut self) -> bool {
        let Some(CurrentConnection { assembly, readable }) = &mut self.current else { return false };
        let before = assembly.connection().pieces.len();
        let is_complete = !assembly.step();
        for (at, piece) in assembly.connection().pieces.iter().enumerate().skip(before) {
            *readable = capture_walk::readable_after(*readable, piece);
            self.order.push((*readable as u32, self.connections.len() as u32, at as u32));
        }
        is_complete
    }

    /// Adds a complete connection, unless it has no data.
    fn add(&mut self, one: TcpConnection<'static>) {
        if !self.capture.names.is_empty() {
            *self.clients.entry(one.client.ip().to_canonical()).or_default() += 1;
        }
        if !one.pieces.is_empty() {
            self.connections.push(FileConnection::new(self.all - self.left.len(), one));
        }
    }

    /// The progress of this stage, from 0 to 50 %: the second half of the total.
    fn half_percent(&self) -> u64 {
        let (begun, all) = ((self.all - self.left.len()) as u64, self.all.max(1) as u64);
        let left = self.current.as_ref().map_or(0, |current| {
            50 * current.assembly.left() as u64 / current.assembly.chunks().max(1) as u64
        });
        (50 * begun - left) / all
    }

    fn finish(mut self) -> CaptureFile {
        for connection in &mut self.connections {
            let is_only = self.clients.get(&connection.tcp.client.ip().to_canonical()) == Some(&1);
            connection.take_name(&self.capture, is_only);
        }
        if self.connections.len() < self.all {
            let without = count_noun(self.all - self.connections.len(), "connection");
            self.notes.push(format!("{without} without data: not in the menu"));
        }
        self.order.extend(assign_datagrams(&mut self.connections, self.datagrams));
        // A stable sort keeps the order within a connection.
        self.order.sort_by_key(|(readable, ..)| *readable);
        let packets = &self.capture.packets;
        let (begin_ns, packets) = (packets.first().map_or(0, |packet| packet.at_ns), packets.len());
        CaptureFile::new(
            self.codes,
            (self.connections, self.all),
            self.order,
            (packets, begin_ns),
            (self.notes, proxy_notes(&self.capture)),
        )
    }
}

/// The interventions of a proxy, in the order of their packets.
fn proxy_notes(capture: &Capture<'_>) -> Vec<(u32, ProxyNote)> {
    let packets = capture.packets.iter().filter(|packet| !packet.comments.is_empty());
    let notes = packets.filter_map(|packet| {
        let note = packet.comments.iter().find_map(|comment| ProxyNote::parse(comment.raw()))?;
        Some((packet.number as u32, note))
    });
    notes.collect()
}

/// Moves datagrams to their connections. Returns the place of each: its packet, the index of its
/// connection, and its index there with [`DATAGRAM_FLAG`].
fn assign_datagrams(
    connections: &mut [FileConnection],
    datagrams: Vec<CapturedDatagram<'static>>,
) -> Vec<(u32, u32, u32)> {
    let mut by_client: BTreeMap<SocketAddr, Vec<usize>> = BTreeMap::new();
    if !datagrams.is_empty() {
        for (index, connection) in connections.iter().enumerate() {
            by_client.entry(connection.tcp.client).or_default().push(index);
        }
    }
    let mut order = Vec::new();
    for datagram in datagrams {
        let began_before = |index: &&usize| connections[**index].tcp.first_packet < datagram.packet;
        // Several connections may have had this address: the last one before the datagram counts.
        let index = by_client.get(&datagram.connection).and_then(|all| all.iter().rfind(began_before));
        let Some(index) = index.copied() else { continue };
        let own = &mut connections[index].datagrams;
        order.push((datagram.packet as u32, index as u32, own.len() as u32 | DATAGRAM_FLAG));
        own.push(datagram);
    }
    order
}

fn damaged(error: CaptureError) -> String {
    format!("The file cannot be read: {error}.")
}

/// The packet tables of a file, or the built-in ones. Other tables are leaked, because the
/// WebAssembly instance serves only this file.
fn codes_of(found: &Capture<'_>) -> Result<&'static PacketTables, String> {
    let codes = capture_walk::capture_tables(found, None);
    let codes = codes.map_err(|why| format!("The file cannot be explained: {why}."))?;
    let builtin = PacketTables::builtin_ref();
    if codes.hash() == builtin.hash() && !codes.has_paths() {
        return Ok(builtin);
    }
    Ok(Box::leak(Box::new(codes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::capture::TcpSide;
    use crate::tools::capture::writer::{CaptureWriter, TcpFlow};

    /// A capture of connections; every second one has a frame.
    fn file(connections: usize) -> Vec<u8> {
        let mut writer = CaptureWriter::new(core::time::Duration::ZERO);
        writer.begin(false);
        for client in 0..connections {
            let ends = [format!("192.0.2.7:{}", 10_000 + client), "192.0.2.1:3000".to_owned()];
            let ends = ends.map(|end| end.parse().expect("an address"));
            let mut flow = TcpFlow::open(&mut writer, ends, [1, 1], Default::default());
            if client % 2 == 1 {
                flow.bytes(&mut writer, TcpSide::Client, b"\x81\x80\0\0\0\0", Default::default());
            }
        }
        writer.blocks
    }

    #[test]
    fn file_opened_in_slices_is_the_file_opened_at_once_and_no_slice_exceeds_its_budget() {
        const SLICE: usize = 2_000;
        let bytes = file(1_000);
        let at_once = open(bytes.clone()).expect("a capture");
        let (mut opening, mut shares) = (Opening::new(bytes.clone()).expect("a capture"), vec![0]);
        let in_slices = loop {
            if let Some(file) = opening.work(SLICE).expect("a capture") {
                break file;
            }
            shares.push(opening.percent());
        };
        assert_eq!(in_slices.summary_json(), at_once.summary_json());
        assert!(shares.is_sorted() && shares.contains(&25) && shares.contains(&75), "{shares:?}");
        assert!(shares.len() > bytes.len() / SLICE, "{} slices of {} bytes", shares.len(), bytes.len());
    }

    /// A capture of one connection with `segments` segments of either end. Some are late, some are
    /// missing.
    fn large_connection(segments: usize) -> Vec<u8> {
        let mut writer = CaptureWriter::new(core::time::Duration::ZERO);
        writer.begin(false);
        let ends = ["192.0.2.7:10000", "192.0.2.1:3000"].map(|end| end.parse().expect("an address"));
        let mut flow = TcpFlow::open(&mut writer, ends, [1, 1], Default::default());
        let mut blocks = Vec::new();
        for number in 0..segments {
            let (before, side) = (writer.blocks.len(), [TcpSide::Client, TcpSide::Server][number % 2]);
            flow.bytes(&mut writer, side, b"\x01\x80\0\0\0\0", Default::default());
            blocks.push(writer.blocks.split_off(before));
        }
        for (number, block) in blocks.iter().enumerate() {
            match number % 10 {
                3 | 4 => {}
                6 => writer.blocks.extend(blocks[number + 2].iter().chain(block)),
                8 => {}
                _ => writer.blocks.extend(block),
            }
        }
        writer.blocks
    }

    #[test]
    fn large_connection_is_put_together_in_slices_that_do_not_exceed_their_budget() {
        const SLICE: usize = 2_000;
        const SEGMENTS: usize = 10_000;
        let bytes = large_connection(SEGMENTS);
        let at_once = open(bytes.clone()).expect("a capture");
        let placed = |opening: &Opening| match &opening.stage {
            OpeningStage::Connections(connections) => connections.order.len(),
            _ => 0,
        };
        let (mut opening, mut before, mut max_work, mut calls) =
            (Opening::new(bytes).expect("a capture"), 0, 0, 0);
        let mut shares = Vec::new();
        let in_slices = loop {
            calls += usize::from(matches!(opening.stage, OpeningStage::Connections(_)));
            if let Some(file) = opening.work(SLICE).expect("a capture") {
                break file;
            }
            let now = placed(&opening);
            max_work = max_work.max(now - before);
            before = now;
            shares.push(opening.percent());
        };
        assert!(calls > 500, "{calls} slices put {SEGMENTS} segments together");
        assert!(max_work <= SLICE / 100, "{max_work} segments in a slice");
        assert!(shares.is_sorted() && shares.contains(&51) && shares.contains(&99), "{shares:?}");
        assert_eq!(format!("{in_slices:?}"), format!("{at_once:?}"));
    }

    #[test]
    fn damaged_file_ends_the_opening_with_the_offset() {
        let mut bytes = file(20);
        let end = bytes.len() - 2;
        bytes[end] ^= 1;
        let mut opening = Opening::new(bytes.clone()).expect("the header");
        let wrong = loop {
            match opening.work(500) {
                Ok(file) => assert!(file.is_none()),
                Err(wrong) => break wrong,
            }
        };
        assert_eq!(Some(&wrong), open(bytes).err().as_ref());
        assert!(wrong.contains("the two lengths of a block differ"), "{wrong}");
        assert!(opening.work(500).is_err());
    }
}
