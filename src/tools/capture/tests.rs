//! Tests of captures: writing and reading, damaged files, and segments in any order.

use core::net::{IpAddr, SocketAddr};

use proptest::prelude::*;

use super::packet::{ACK, FIN, LINK_RAW, LINK_WORLD, PSH, SYN, SegmentHeader};
use super::pcapng::{PacketMeta, write_interface, write_name, write_packet, write_section};
use super::streaming_reassembler::tests::is_orderly;
use super::*;
use crate::limits;

mod headers;
mod world_records;

const CLIENT: &str = "192.0.2.7:50000";
const SERVER: &str = "198.51.100.1:3000";

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

fn head(flags: u8, sequence: u32, acknowledged: u32) -> SegmentHeader {
    SegmentHeader { from: address(CLIENT), to: address(SERVER), sequence, acknowledged, flags }
}

fn answer(flags: u8, sequence: u32, acknowledged: u32) -> SegmentHeader {
    SegmentHeader { from: address(SERVER), to: address(CLIENT), sequence, acknowledged, flags }
}

/// Encodes a capture with the two interfaces of a server's capture and these segments, 1 µs apart.
fn file(segments: &[(SegmentHeader, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    write_section(&mut out, "tickwire");
    write_interface(&mut out, LINK_RAW as u16, "clients");
    write_interface(&mut out, LINK_WORLD as u16, "world");
    for (at, (head, payload)) in segments.iter().enumerate() {
        let mut packet = Vec::new();
        packet::encode(&mut packet, head, payload);
        let meta =
            PacketMeta { interface: 0, at_ns: 1000 * (at as u64 + 1), inbound: Some(true), comment: "" };
        write_packet(&mut out, &meta, &packet);
    }
    out
}

/// Returns the bytes of client and server, with `_` for each gap, and the packets of the pieces.
fn directions(bytes: &[u8]) -> (String, String, Vec<usize>) {
    let capture = read(bytes).expect("a capture");
    let connections = capture.connections();
    assert_eq!(connections.len(), 1, "{connections:?}");
    is_orderly(&capture);
    let (mut client, mut server, mut packets) = (String::new(), String::new(), Vec::new());
    for piece in &connections[0].pieces {
        let direction = if piece.from == TcpSide::Client { &mut client } else { &mut server };
        if piece.gap_before {
            direction.push('_');
        }
        direction.push_str(str::from_utf8(piece.bytes).expect("text"));
        packets.push(piece.packet);
    }
    (client, server, packets)
}

#[test]
fn written_captures_are_read_back() {
    let mut out = file(&[(head(PSH | ACK, 7, 9), b"hello")]);
    let meta =
        PacketMeta { interface: 1, at_ns: u64::MAX, inbound: None, comment: "tick=3 player=2 \u{c4}nne" };
    write_packet(&mut out, &meta, b"xyz");
    let six: IpAddr = "2001:db8::9".parse().expect("an address");
    write_name(&mut out, six, "Bo\0by");
    write_name(&mut out, address(CLIENT).ip(), "Ann");
    let capture = read(&out).expect("our own");
    assert_eq!(capture.names, [(six, "Bo".into()), (address(CLIENT).ip(), "Ann".into())]);
    assert_eq!(capture.truncated_at, None);
    let [first, second] = &capture.packets[..] else { panic!("{capture:?}") };
    assert_eq!((first.number, first.at_ns, first.link, first.inbound), (1, 1000, LINK_RAW, Some(true)));
    assert_eq!((second.number, second.at_ns, second.inbound), (2, u64::MAX, None));
    assert_eq!((second.bytes, &*second.comments), (&b"xyz"[..], &["tick=3 player=2 \u{c4}nne".into()][..]));
    let segment = packet::decode(first).expect("TCP");
    assert_eq!(
        (segment.head, segment.payload, segment.missing_bytes),
        (head(PSH | ACK, 7, 9), &b"hello"[..], 0)
    );
}

#[test]
fn both_families_have_correct_checksums_and_round_trip() {
    // The checksum of a packet with its pseudo-header is 0 (RFC 1071).
    let folded = |bytes: &[u8]| {
        let sum: u32 =
            bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum();
        let sum = (sum >> 16) + (sum & 0xffff);
        (sum >> 16) + (sum & 0xffff)
    };
    for (from, to) in [
        (CLIENT, SERVER),
        ("[2001:db8::1]:40000", "[::1]:3000"),
        ("[::ffff:192.0.2.7]:1", "[::ffff:192.0.2.8]:2"),
    ] {
        for payload in [&b""[..], b"odd", b"even"] {
            let (from, to) = (address(from), address(to));
            let written = SegmentHeader { from, to, sequence: 1, acknowledged: 2, flags: ACK };
            let mut bytes = Vec::new();
            assert_eq!(packet::encode(&mut bytes, &written, payload), payload.len());
            let is_ipv4 = bytes[0] >> 4 == 4;
            let (segment_at, addresses) = if is_ipv4 { (20, 12..20) } else { (40, 8..40) };
            if is_ipv4 {
                assert_eq!(folded(&bytes[..20]), 0xffff);
            }
            let mut covered = bytes[addresses].to_vec();
            covered.extend([0, 6]);
            covered.extend(((bytes.len() - segment_at) as u16).to_be_bytes());
            covered.extend(&bytes[segment_at..]);
            assert_eq!(folded(&covered), 0xffff, "{from} {payload:?}");
            let original_length = bytes.len();
            let packet = Packet {
                number: 1,
                at_ns: 0,
                link: LINK_RAW,
                bytes: &bytes,
                original_length,
                inbound: None,
                comments: vec![],
            };
            let segment = packet::decode(&packet).expect("TCP");
            let canonical =
                |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
            assert_eq!((segment.head.from, segment.head.to), (canonical(from), canonical(to)));
            assert_eq!(segment.payload, payload);
            for end in 0..original_length {
                // A truncated packet yields a segment with a shorter payload, or none.
                let cut = packet::decode(&Packet { bytes: &bytes[..end], ..packet.clone() });
                assert!(cut.is_none_or(|cut| cut.head == segment.head && payload.starts_with(cut.payload)));
            }
        }
    }
}

#[test]
fn a_packet_takes_no_more_than_its_length_field_can_hold() {
    let long = vec![7; limits::CAPTURE_SEGMENT_BYTES + 5];
    let mut bytes = Vec::new();
    assert_eq!(packet::encode(&mut bytes, &head(ACK, 1, 1), &long), limits::CAPTURE_SEGMENT_BYTES);
    assert_eq!(usize::from(u16::from_be_bytes([bytes[2], bytes[3]])), bytes.len());
}

#[test]
fn a_connection_has_ends_a_beginning_and_an_end() {
    let bytes = file(&[
        (head(SYN, 99, 0), b""),
        (answer(SYN | ACK, 499, 100), b""),
        (head(ACK, 100, 500), b""),
        (head(ACK | PSH, 100, 500), b"GET"),
        (answer(ACK | PSH, 500, 103), b"101"),
        (answer(ACK | PSH, 503, 103), b"abc"),
        (head(ACK | PSH, 103, 506), b"xyz"),
        (head(ACK | FIN, 106, 506), b""),
        (answer(ACK | FIN, 506, 107), b""),
        (head(ACK, 107, 507), b""),
    ]);
    assert_eq!(directions(&bytes), ("GETxyz".into(), "101abc".into(), vec![4, 5, 6, 7]));
    let capture = read(&bytes).expect("a capture");
    let connection = &capture.connections()[0];
    assert_eq!((connection.client, connection.server), (address(CLIENT), address(SERVER)));
    assert!(connection.has_begin && connection.has_end && connection.gaps.is_empty(), "{connection:?}");
    assert!(is_orderly(&capture));
}

#[test]
fn reordered_repeated_and_overlapping_segments_are_joined_once_in_order() {
    let begin = [(head(SYN, 0, 0), &b""[..]), (answer(SYN | ACK, 0, 1), b"")];
    let with = |more: &[(SegmentHeader, &'static [u8])]| file(&[&begin[..], more].concat());
    let late = with(&[(head(ACK, 4, 1), b"def"), (answer(ACK, 1, 1), b"!"), (head(ACK, 1, 1), b"abc")]);
    assert_eq!(
        directions(&late),
        ("abcdef".into(), "!".into(), vec![4, 5, 3]),
        "it could be read only after its front came"
    );
    let twice = with(&[(head(ACK, 1, 1), b"abc"), (head(ACK, 1, 1), b"XYZ"), (head(ACK, 4, 1), b"d")]);
    assert_eq!(directions(&twice).0, "abcd", "the first copy counts");
    let overlapping =
        with(&[(head(ACK, 5, 1), b"ef"), (head(ACK, 1, 1), b"abcDEFghi"), (head(ACK, 3, 1), b"CDEFGHIjk")]);
    assert_eq!(directions(&overlapping).0, "abcDefghijk");
    let keep_alive = with(&[(head(ACK, 0, 1), b"?"), (head(ACK, 1, 1), b"ab"), (head(ACK, 2, 1), b"?")]);
    assert_eq!(directions(&keep_alive).0, "ab");
}

#[test]
fn missing_bytes_stay_a_gap() {
    let begin = [(head(SYN, 0, 0), &b""[..]), (answer(SYN | ACK, 0, 1), b"")];
    let gaps = |more: &[(SegmentHeader, &'static [u8])]| {
        let bytes = file(&[&begin[..], more].concat());
        let capture = read(&bytes).expect("a capture");
        let connections = capture.connections();
        let gaps: Vec<_> = connections[0].gaps.iter().map(|gap| (gap.from, gap.packet, gap.bytes)).collect();
        (directions(&bytes).0, gaps)
    };
    let middle = gaps(&[(head(ACK, 1, 1), b"ab"), (head(ACK, 6, 1), b"cd")]);
    assert_eq!(middle, ("ab_cd".into(), vec![(TcpSide::Client, 4, 3)]));
    let front = gaps(&[(head(ACK, 4, 1), b"ab")]);
    assert_eq!(front, ("_ab".into(), vec![(TcpSide::Client, 3, 3)]));
    let before_fin = gaps(&[(head(ACK, 1, 1), b"ab"), (head(ACK | FIN, 5, 1), b"")]);
    assert_eq!(before_fin, ("ab".into(), vec![(TcpSide::Client, 4, 2)]));
    let acknowledged = gaps(&[(head(ACK, 1, 1), b"ab"), (answer(ACK, 1, 9), b"")]);
    assert_eq!(acknowledged, ("ab".into(), vec![(TcpSide::Client, 4, 6)]));
    let fin_acknowledged = gaps(&[(head(ACK, 1, 1), b"ab"), (answer(ACK, 1, 4), b"")]);
    assert_eq!(fin_acknowledged, ("ab".into(), vec![]));
}

#[test]
fn sequence_numbers_begin_again_at_zero_and_ports_are_used_again() {
    let bytes = file(&[
        (head(SYN, u32::MAX - 2, 0), b""),
        (head(ACK, u32::MAX - 1, 1), b"abc"),
        (head(ACK, 1, 1), b"def"),
        (head(SYN, 77, 0), b""),
        (head(SYN, 77, 0), b""),
        (head(ACK, 78, 1), b"new"),
    ]);
    let capture = read(&bytes).expect("a capture");
    let connections = capture.connections();
    let sent = |at: usize| -> Vec<u8> {
        connections[at].pieces.iter().flat_map(|piece| piece.bytes).copied().collect()
    };
    assert_eq!(connections.len(), 2);
    assert_eq!((sent(0), sent(1)), (b"abcdef".to_vec(), b"new".to_vec()));
    assert_eq!(connections[1].first_packet, 4);
    assert!(is_orderly(&capture));
}

#[test]
fn without_a_handshake_the_roles_follow_from_the_bytes_or_the_ports() {
    let by_words = file(&[(answer(ACK, 5, 5), b"HTTP/1.1 101")]);
    let by_request =
        file(&[(SegmentHeader { from: address(SERVER), to: address(CLIENT), ..head(ACK, 5, 5) }, b"GET / ")]);
    let by_port = file(&[(answer(ACK, 5, 5), b"\x82\x00")]);
    for (bytes, client) in [(by_words, CLIENT), (by_request, SERVER), (by_port, CLIENT)] {
        let capture = read(&bytes).expect("a capture");
        let connection = &capture.connections()[0];
        assert_eq!(connection.client, address(client));
        assert!(!connection.has_begin && !connection.has_end);
        assert!(!is_orderly(&capture), "the client is known at the end only");
    }
}

/// A pcapng file in big-endian order, encoded by hand: milliseconds, a Linux cooked packet, and a
/// block of an unknown kind.
fn big_endian() -> Vec<u8> {
    let mut segment = Vec::new();
    packet::encode(&mut segment, &head(ACK, 1, 1), b"hi");
    let mut cooked = vec![0; 14];
    cooked.extend([0x08, 0x00]);
    cooked.extend(&segment);
    let block = |kind: u32, body: &[u8]| {
        let length = (body.len() as u32 + 12).to_be_bytes();
        [&kind.to_be_bytes()[..], &length, body, &length].concat()
    };
    let section = [&0x1a2b_3c4du32.to_be_bytes()[..], &[0, 1, 0, 0], &[0xff; 8]].concat();
    let interface = [&[0, 113, 0, 0, 0, 0, 0, 0][..], &[0, 9, 0, 1, 3, 0, 0, 0]].concat();
    let length = (cooked.len() as u32).to_be_bytes();
    let mut packet = [&[0; 4][..], &[0; 4], &7u32.to_be_bytes(), &length, &length, &cooked].concat();
    packet.extend(vec![0; cooked.len().wrapping_neg() % 4]);
    packet.extend([0, 1, 0, 2, b'o', b'k', 0, 0]);
    [block(0x0a0d_0d0a, &section), block(1, &interface), block(0xbad, &[1, 2, 3, 4]), block(6, &packet)]
        .concat()
}

#[test]
fn the_other_byte_order_and_other_links_are_read() {
    let bytes = big_endian();
    let capture = read(&bytes).expect("a capture");
    let packet = &capture.packets[0];
    assert_eq!((packet.at_ns, &packet.comments[..]), (7_000_000, &["ok".into()][..]));
    assert_eq!(packet::decode(packet).expect("TCP").payload, b"hi");
    let two = [bytes.clone(), file(&[(head(ACK, 3, 1), b"!!")])].concat();
    let capture = read(&two).expect("two sections, each in its own order");
    assert_eq!(capture.packets[1].number, 2);
    assert_eq!(capture.connections()[0].pieces.len(), 2);
}

/// A pcap file of one packet in either byte order; the fractional seconds are 5 units.
fn classic(big: bool, magic: u32, link: u32, packet: &[u8], whole: u32) -> Vec<u8> {
    let n = |number: u32| if big { number.to_be_bytes() } else { number.to_le_bytes() };
    let version = if big { [0, 2, 0, 4] } else { [2, 0, 4, 0] };
    let head = [n(magic), version, n(0), n(0), n(65_535), n(link)].concat();
    [head, [n(1), n(5), n(packet.len() as u32), n(whole)].concat(), packet.to_vec()].concat()
}

#[test]
fn pcap_is_read_in_either_order_and_unit() {
    let mut segment = Vec::new();
    packet::encode(&mut segment, &head(ACK, 1, 1), b"hi");
    let ethernet = [&[0; 12][..], &[0x81, 0, 0, 1], &[0x08, 0], &segment, &[0; 6]].concat();
    let loopback = [&[2, 0, 0, 0][..], &segment].concat();
    for (link, packet) in [(1, &ethernet), (0, &loopback), (101, &segment)] {
        for big in [false, true] {
            for (magic, unit_ns) in [(0xa1b2_c3d4, 1000), (0xa1b2_3c4d, 1)] {
                let bytes = classic(big, magic, link, packet, packet.len() as u32);
                let capture = read(&bytes).expect("a capture");
                assert_eq!(capture.packets[0].at_ns, 1_000_000_000 + 5 * unit_ns);
                let segment = packet::decode(&capture.packets[0]).expect("TCP");
                assert_eq!((segment.payload, segment.missing_bytes), (&b"hi"[..], 0), "link {link}");
            }
        }
    }
    let cut_short = classic(false, 0xa1b2_c3d4, 101, &segment[..segment.len() - 1], segment.len() as u32);
    let capture = read(&cut_short).expect("a capture with a short packet");
    let segment = packet::decode(&capture.packets[0]).expect("TCP");
    assert_eq!((segment.payload, segment.missing_bytes), (&b"h"[..], 1));
    assert_eq!(capture.connections()[0].gaps[0].bytes, 1);
}

#[test]
fn a_truncated_file_is_read_up_to_its_end() {
    let whole = file(&[(head(ACK, 1, 1), b"abc"), (head(ACK, 4, 1), b"def")]);
    let first = file(&[(head(ACK, 1, 1), b"abc")]).len();
    for end in first + 1..whole.len() {
        let capture = read(&whole[..end]).expect("the beginning of a capture");
        assert_eq!((capture.packets.len(), capture.truncated_at), (1, Some(first)), "{end}");
    }
}

#[test]
fn damage_has_a_place_and_a_rule() {
    let good = file(&[(head(ACK, 1, 1), b"abc")]);
    let with = |at: usize, bytes: &[u8]| {
        let mut damaged = good.clone();
        damaged[at..at + bytes.len()].copy_from_slice(bytes);
        read(&damaged).expect_err("damaged")
    };
    let error = |offset, rule| CaptureError { offset, rule };
    let section_bytes = u32::from_le_bytes(*good[4..].first_chunk().expect("a length")) as usize;
    let packet_at = good.len() - file(&[(head(ACK, 1, 1), b"abc")]).len() + packet_offset(&good);
    assert_eq!(read(b""), Err(error(0, FormatRule::NotACapture)));
    assert_eq!(read(b"GET / HTTP/1.1"), Err(error(0, FormatRule::NotACapture)));
    assert_eq!(read(&good[..20]), Err(error(0, FormatRule::Truncated)));
    assert_eq!(with(8, &[9]), error(8, FormatRule::ByteOrder));
    assert_eq!(with(12, &[9]), error(14, FormatRule::Version(9)));
    assert_eq!(with(section_bytes + 4, &[9, 0, 0, 0]), error(section_bytes + 4, FormatRule::BlockLength(9)));
    assert_eq!(with(section_bytes - 4, &[1]), error(section_bytes - 4, FormatRule::BlockEnd(1)));
    assert_eq!(with(packet_at + 8, &[2]), error(packet_at + 8, FormatRule::Interface(2)));
    let too_long = with(packet_at + 20, &[0xff, 0xff, 0xff, 0x7f]);
    assert_eq!(too_long, error(packet_at + 28, FormatRule::Truncated));
    assert_eq!(
        too_long.to_string(),
        format!("at byte {}: a block is shorter than the fields that it declares", packet_at + 28)
    );
}

/// The offset of the last block of a file.
fn packet_offset(bytes: &[u8]) -> usize {
    let length: [u8; 4] = *bytes.last_chunk().expect("a length");
    bytes.len() - u32::from_le_bytes(length) as usize
}

/// Reads everything in a file. Must not panic; the offset of an error is within the file.
fn exhaust(bytes: &[u8]) {
    match read(bytes) {
        Err(error) => assert!(error.offset <= bytes.len(), "{error}"),
        Ok(capture) => {
            for connection in capture.connections() {
                let sent: usize = connection.pieces.iter().map(|piece| piece.bytes.len()).sum();
                assert!(sent <= bytes.len());
            }
            capture.records().for_each(drop);
            is_orderly(&capture);
        }
    }
}

proptest! {
    #[test]
    fn damaged_files_never_panic(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        which in 0..4usize,
        cut in any::<prop::sample::Index>(),
    ) {
        let mut segment = Vec::new();
        packet::encode(&mut segment, &head(ACK, 1, 1), b"hi");
        let mut bytes = match which {
            0 => file(&[(head(SYN, 0, 0), b""), (head(ACK, 4, 1), b"def"), (head(ACK | FIN, 1, 1), b"abc")]),
            1 => big_endian(),
            2 => classic(true, 0xa1b2_c3d4, 101, &segment, 60),
            _ => {
                let mut bytes = file(&[(answer(ACK, 4, 1), b"def")]);
                write_name(&mut bytes, address(CLIENT).ip(), "Ann");
                bytes
            }
        };
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        exhaust(&bytes);
        exhaust(&bytes[..cut.index(bytes.len())]);
    }

    #[test]
    fn random_bytes_never_panic(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        exhaust(&body);
        let _ = world_record::decode(&body);
        let packet = Packet { number: 1, at_ns: 0, link: 1, bytes: &body, original_length: 300, inbound: None, comments: vec![] };
        for link in [0, 1, 101, 108, 113, 276] {
            let _ = packet::decode(&Packet { link, ..packet.clone() });
        }
    }

    /// Every received byte is returned once and in order, whatever the order and repetition of
    /// segments.
    #[test]
    fn any_order_of_segments_gives_the_same_result(
        begin in any::<u32>(),
        cuts in proptest::collection::vec((0..40usize, 1..20usize), 1..30),
    ) {
        let text: Vec<u8> = (b'A'..=b'z').collect();
        let mut segments = vec![(head(SYN, begin, 0), &b""[..])];
        let mut came = vec![false; text.len()];
        for (from, length) in cuts {
            let to = (from + length).min(text.len());
            came[from..to].fill(true);
            segments.push((head(ACK, begin.wrapping_add(1 + from as u32), 1), &text[from..to]));
        }
        let bytes = file(&segments);
        let capture = read(&bytes).expect("our own");
        let connections = capture.connections();
        let sent: Vec<u8> = connections[0].pieces.iter().flat_map(|piece| piece.bytes).copied().collect();
        let expected: Vec<u8> = text.iter().zip(&came).filter(|(_, came)| **came).map(|(byte, _)| *byte).collect();
        prop_assert_eq!(sent, expected);
        let missing: u64 = connections[0].gaps.iter().map(|gap| gap.bytes).sum();
        is_orderly(&capture);
        let last = came.iter().rposition(|came| *came).expect("one at least");
        prop_assert_eq!(missing, came[..last].iter().filter(|came| !**came).count() as u64);
    }
}

#[test]
fn a_connection_has_the_name_of_its_player_also_if_others_share_the_address() {
    let name_of = |comments: &[&str], is_only| {
        let (mut out, mut sequence) = (file(&[]), 7);
        for comment in comments {
            let mut packet = Vec::new();
            packet::encode(&mut packet, &head(PSH | ACK, sequence, 9), b"x");
            write_packet(&mut out, &PacketMeta { interface: 0, at_ns: 1, inbound: None, comment }, &packet);
            sequence += 1;
        }
        write_name(&mut out, address(CLIENT).ip(), "Bo");
        let capture = read(&out).expect("our own");
        capture.name_of(&capture.connections()[0], is_only).map(|name| name.raw().to_owned())
    };
    for (comments, shared, only) in [
        (
            &["tick=3", "tick=3 player=2", "tick=4 slack=9ms player=2 \u{c4}nne M"][..],
            Some("\u{c4}nne M"),
            None,
        ),
        (&["tick=3 player=2 Ann injected", "tick=3 player=2 Ann"], Some("Ann"), None),
        (&["tick=3", "tick=3 player=2 injected", "tick=3 player=2 "], None, Some("Bo")),
        (&["", "a note of a person, player=2 Ann"], None, Some("Bo")),
    ] {
        assert_eq!(name_of(comments, false).as_deref(), shared, "{comments:?}");
        assert_eq!(name_of(comments, true).as_deref(), shared.or(only), "{comments:?}");
    }
}
