//! Tests of opened captures.

use super::*;
use crate::tools::capture::TcpSide;
use crate::tools::capture::writer::{CaptureWriter, TcpFlow};
use crate::tools::inspector::opening;

#[test]
fn connections_without_data_cost_a_number_and_the_menu_has_a_bound() {
    let mut writer = CaptureWriter::new(core::time::Duration::ZERO);
    writer.begin(false);
    let all = 3 * limits::INSPECTOR_FILE_CONNECTIONS;
    for client in 0..all {
        let ends = [format!("192.0.2.7:{}", 10_000 + client), "192.0.2.1:3000".to_owned()];
        let ends = ends.map(|end| end.parse().expect("an address"));
        let mut flow = TcpFlow::open(&mut writer, ends, [1, 1], Default::default());
        if client % 2 == 1 {
            flow.bytes(&mut writer, TcpSide::Client, b"\x81\x80\0\0\0\0", Default::default());
        }
    }
    let mut file = opening::open(writer.blocks).expect("a capture");
    while file.advance(10_000) {}
    let summary = file.summary_json();
    let listed = summary["connections"].as_array().expect("a list");
    assert_eq!((file.connections.len(), summary["all"].as_u64()), (all / 2, Some(all as u64)));
    assert_eq!((listed.len(), &listed[1]["number"]), (limits::INSPECTOR_FILE_CONNECTIONS, &json!(4)));
    assert_eq!(summary["notes"], json!(["1500 connections without data: not in the menu"]));
    let last = file.list().entries().back().expect("a frame");
    assert_eq!((file.list().entries().len(), last.client as usize), (all / 2, all));
    assert!(size_of::<FileConnection>() <= 512, "{} bytes", size_of::<FileConnection>());
    assert!(file.explain(1).contains("Text") || file.explain(1).contains("text"), "{}", file.explain(1));
}
/// A capture of another protocol with these packets of the server, each with its comment.
fn foreign_file(packets: &[(&[u8], &str)]) -> CaptureFile {
    let mut writer = CaptureWriter::new(core::time::Duration::ZERO);
    writer.begin(false);
    let ends = ["192.0.2.7:40000", "192.0.2.1:3000"].map(|end| end.parse().expect("an address"));
    let opened = (core::time::Duration::ZERO, crate::tools::capture::FOREIGN_COMMENT);
    let mut flow = TcpFlow::open(&mut writer, ends, [0, 0], opened);
    let request = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
                    Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n";
    let response = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                     Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\
                     Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n";
    flow.bytes(&mut writer, TcpSide::Client, request, Default::default());
    flow.bytes(&mut writer, TcpSide::Server, response, Default::default());
    for (bytes, comment) in packets {
        flow.bytes(&mut writer, TcpSide::Server, bytes, (core::time::Duration::ZERO, *comment));
    }
    let mut file = opening::open(writer.blocks).expect("a capture");
    while file.advance(10_000) {}
    file
}

#[test]
fn a_row_has_the_intervention_of_a_proxy_and_its_frame_the_received_message() {
    let mut file = foreign_file(&[
        (b"\x81\x05new 1", "changed by the proxy; received: 81056f6c642031"),
        (b"\x81\x01i", "injected by the proxy"),
        (b"\x81\x02{}", "inflated by the proxy: compressed, the frame has 9 bytes"),
        (b"\x81\x01n", ""),
    ]);
    let row = |file: &CaptureFile, n| serde_json::from_str::<Json>(&file.list().entry(n)).expect("JSON");
    assert_eq!(row(&file, 3)["mark"]["name"], "substitute");
    assert_eq!((&row(&file, 4)["injected"], &row(&file, 5)["compressed"]), (&json!(true), &json!(9)));
    assert_eq!(row(&file, 6)["mark"], Json::Null);
    let explained = |file: &mut CaptureFile, n| serde_json::from_str::<Json>(&file.explain(n)).expect("JSON");
    let received = &explained(&mut file, 3)["received"]["frames"][0]["line"];
    assert_eq!(received, "text, 5 bytes: \"old 1\"");
    assert_eq!(explained(&mut file, 6)["received"], Json::Null);
}

#[test]
fn a_row_has_the_size_of_an_inflated_message() {
    // RFC 7692, section 7.2.3.1: "Hello".
    let file = foreign_file(&[(b"\xc1\x07\xf2\x48\xcd\xc9\xc9\x07\x00", ""), (b"\x81\x01n", "")]);
    let inflated = |n| serde_json::from_str::<Json>(&file.list().entry(n)).expect("JSON")["inflated"].clone();
    assert_eq!([inflated(3), inflated(4)], [json!(5), Json::Null]);
}
