//! Tests of link and tunnel headers before TCP, of the names of other packets, and of exported
//! files.

use super::super::packet::{ACK, PSH};
use super::super::pcapng::{PacketMeta, write_packet};
use super::super::writer::{CaptureWriter, TcpFlow};
use super::super::*;
use super::{address, file, head};

/// An Ethernet packet with these bytes after its two addresses.
fn on_ethernet(parts: &[&[u8]]) -> Vec<u8> {
    [&[&[2; 12][..]], parts].concat().concat()
}

/// The payload of a packet, or the name of its content if it is not TCP.
fn content(link: u32, bytes: &[u8]) -> String {
    let (comments, original_length) = (Vec::new(), bytes.len());
    let packet = Packet { number: 1, at_ns: 1, link, bytes, original_length, inbound: None, comments };
    match packet::segment(&packet) {
        Ok(segment) => String::from_utf8_lossy(segment.payload).into_owned(),
        Err(foreign) => foreign.to_string(),
    }
}

/// An IPv4 or IPv6 packet with this protocol and payload.
fn in_ip(version: u8, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut header = if version == 4 { vec![0x45; 20] } else { vec![0x60; 40] };
    match version {
        4 => {
            header[2..4].copy_from_slice(&(20 + payload.len() as u16).to_be_bytes());
            (header[6], header[7], header[9]) = (0, 0, protocol);
        }
        _ => {
            header[4..6].copy_from_slice(&(payload.len() as u16).to_be_bytes());
            header[6] = protocol;
        }
    }
    [header, payload.to_vec()].concat()
}

#[test]
fn tags_and_simple_tunnels_are_read_and_everything_else_has_a_name() {
    let mut tcp = Vec::new();
    packet::encode(&mut tcp, &head(PSH | ACK, 7, 9), b"hi");
    let (four, segment) = (&tcp[..], &tcp[20..]);
    let padded = [four, &[0; 6]].concat();
    let six = in_ip(6, 6, segment);
    let ethernet = |parts: &[&[u8]]| content(1, &on_ethernet(parts));
    let label = |is_last: u8| [0, 1, 0x10 | is_last, 64];
    let fragment =
        |protocol, offset: u16| [&[protocol, 0][..], &offset.to_be_bytes(), &[0; 4], segment].concat();
    for read in [
        ethernet(&[&[8, 0], &padded]),
        ethernet(&[&[0x86, 0xdd], &six]),
        ethernet(&[&[0x81, 0, 0, 7, 8, 0], four]),
        ethernet(&[&[0x88, 0xa8, 0, 7, 0x81, 0, 0, 8, 0x86, 0xdd], &six]),
        ethernet(&[&[0x91, 0, 0, 7, 8, 0], four]),
        ethernet(&[&[0x88, 0x64, 0x11, 0, 0, 1, 0, 0, 0, 0x21], &padded]),
        ethernet(&[&[0x88, 0x64, 0x11, 0, 0, 1, 0, 0, 0, 0x57], &six]),
        ethernet(&[&[0x81, 0, 0, 7, 0x88, 0x64, 0x11, 0, 0, 1, 0, 0, 0, 0x21], four]),
        ethernet(&[&[0x88, 0x47], &label(0), &label(1), four]),
        ethernet(&[&[0x88, 0x48], &label(1), &six]),
        content(113, &[&[0; 14][..], &[0x81, 0, 0, 7, 8, 0], four].concat()),
        content(276, &[&[0x81, 0][..], &[0; 18], &[0, 7, 8, 0], four].concat()),
        content(276, &[&[0x88, 0x64][..], &[0; 18], &[0x11, 0, 0, 1, 0, 0, 0, 0x21], four].concat()),
        content(101, &in_ip(4, 4, four)),
        content(101, &in_ip(4, 41, &six)),
        content(101, &in_ip(6, 4, four)),
        content(101, &in_ip(6, 41, &six)),
        content(101, &in_ip(6, 44, &fragment(6, 0))),
    ] {
        assert_eq!(read, "hi");
    }
    let mut first_fragment = four.to_vec();
    first_fragment[6] = 0b0010_0000;
    let udp = |port: u16| in_ip(4, 17, &[&[0; 2][..], &port.to_be_bytes(), &[0; 20]].concat());
    for (name, expected) in [
        (content(101, &first_fragment), "IPv4 fragments"),
        (content(101, &in_ip(6, 44, &fragment(6, 1))), "IPv6 fragments"),
        (content(101, &in_ip(6, 44, &fragment(6, 8))), "IPv6 fragments"),
        (content(101, &udp(4789)), "VXLAN"),
        (content(101, &udp(6081)), "GENEVE"),
        (content(101, &udp(53)), "UDP"),
        (content(101, &in_ip(4, 47, four)), "GRE"),
        (content(101, &in_ip(6, 51, segment)), "AH"),
        (content(101, &in_ip(4, 89, four)), "IP protocol 89"),
        (content(101, &four[..25]), "incomplete headers"),
        (content(101, &(0..20).fold(four.to_vec(), |inner, _| in_ip(4, 4, &inner))), "too many headers"),
        (ethernet(&[&[8, 6], four]), "ARP"),
        (ethernet(&[&[0x88, 0xcc], four]), "Ethernet type 0x88cc"),
        (ethernet(&[&[0, 60], four]), "IEEE 802.3 LLC"),
        (ethernet(&[&[0x88, 0x63], four]), "PPPoE discovery"),
        (ethernet(&[&[0x88, 0x47], &label(1), &[0; 30]]), "MPLS without IP"),
    ] {
        assert_eq!(name, expected);
    }
}

#[test]
fn a_capture_counts_and_names_the_packets_that_it_cannot_read() {
    let mut tcp = Vec::new();
    packet::encode(&mut tcp, &head(PSH | ACK, 7, 9), b"hi");
    let mut out = file(&[(head(PSH | ACK, 7, 9), b"hi")]);
    let meta = PacketMeta { interface: 0, at_ns: 9_000, inbound: None, comment: "" };
    for protocol in [47, 51, 47] {
        write_packet(&mut out, &meta, &in_ip(4, protocol, &tcp));
    }
    write_packet(&mut out, &PacketMeta { interface: 1, ..meta }, b"a record");
    let capture = read(&out).expect("a capture");
    let words = "3 packets without readable TCP: 1 of AH, 2 of GRE";
    assert_eq!((capture.unread().as_deref(), capture.is_readable()), (Some(words), true));
    let few = Capture { packets: capture.packets[1..4].to_vec(), ..Capture::default() };
    assert!(!few.is_readable() && capture.connections().len() == 1);
}

#[test]
fn packets_alone_have_one_link_type_and_everything_else_of_the_packets() {
    let mut out = file(&[(head(PSH | ACK, 7, 9), b"hi"), (head(PSH | ACK, 9, 9), b"you")]);
    let meta = PacketMeta { interface: 1, at_ns: 5_000, inbound: None, comment: "tick=1" };
    write_packet(&mut out, &meta, b"a record");
    write_packet(&mut out, &PacketMeta { interface: 0, inbound: Some(false), ..meta }, b"E");
    let whole = read(&out).expect("a capture");
    let alone = whole.packets_alone().expect("one link type");
    let alone = read(&alone).expect("a capture");
    let expected: Vec<_> = [0, 1, 3].map(|at| whole.packets[at].clone()).into_iter().zip(1..).collect();
    let expected = expected.into_iter().map(|(packet, number)| Packet { number, ..packet });
    assert_eq!(alone.packets, expected.collect::<Vec<_>>());

    let mut cut = whole.clone();
    cut.packets[0].bytes = &cut.packets[0].bytes[..30];
    let alone = cut.packets_alone().expect("one link type");
    assert_eq!(read(&alone).expect("a capture").packets[0], cut.packets[0], "the original length is kept");

    let mut mixed = whole.clone();
    mixed.packets[0].link = 1;
    let refused = mixed.packets_alone().expect_err("two link types");
    assert!(refused.contains("link types 1 and 101"), "{refused}");
    let records = Capture { packets: whole.packets[2..3].to_vec(), ..Capture::default() };
    assert!(records.packets_alone().is_err(), "nothing but records");
}

#[test]
fn each_packet_has_its_own_time_and_a_clock_that_is_set_back_moves_no_file() {
    let second = |at: u64| core::time::Duration::from_secs(at);
    let mut writer = CaptureWriter::new(second(1_000));
    writer.begin(true);
    let ends = [address(super::CLIENT), address(super::SERVER)];
    let mut flow = TcpFlow::open(&mut writer, ends, [1, 1], (second(5), ""));
    // The handshake of a client that connected earlier is written now, with its original time.
    let _ = TcpFlow::open(&mut writer, [ends[1], ends[0]], [1, 1], (second(2), ""));
    // Between files, the clock is set back, forward and back. Only a later epoch is applied.
    for (epoch, at) in [(100, 6), (9_000, 7), (1_000, 8)] {
        writer.set_epoch(second(epoch));
        flow.bytes(&mut writer, TcpSide::Client, b"x", (second(at), ""));
    }
    let seconds = |packet: &Packet<'_>| packet.at_ns / 1_000_000_000;
    let read = read(&writer.blocks).expect("a capture");
    let times: Vec<u64> = read.packets.iter().map(seconds).collect();
    assert_eq!(times, [1_005, 1_005, 1_005, 1_002, 1_002, 1_002, 1_006, 9_007, 9_008]);
}
