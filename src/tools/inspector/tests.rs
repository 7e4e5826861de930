//! Tests of the inspector with observed handshakes, frames in one or more pieces, gaps and ends.

mod datagrams;
mod merged;
mod rows;

use super::*;
use crate::packet::Direction;
use crate::tools::explain::hex;
use crate::ws::frame::{self, Opcode};
use crate::ws::handshake;
use observed_format::{Handshake, ObservedRecord};

const CLIENT: u64 = 7;
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

fn welcome() -> String {
    let codes = PacketTables::builtin();
    let tables: Vec<[&str; 2]> = codes.tables.iter().map(|table| [&*table.file, &*table.text]).collect();
    json!({ "welcome": { "began_us": 1_000_000, "codes": tables } }).to_string()
}

/// The welcome of a server with the tables of `moo` and `tanks`.
fn welcome_of_tanks() -> String {
    let mut both: Json = serde_json::from_str(&welcome()).expect("JSON");
    let tanks = ["tanks.tsv", include_str!("../../../packet_codes/tanks/tanks.tsv")];
    both["welcome"]["codes"].as_array_mut().expect("tables").push(json!(tanks));
    both.to_string()
}

/// Creates an inspector of a client, after the handshake at this path.
fn opened(path: &str, dialect: &str, json: bool) -> Inspector {
    opened_with(&welcome(), path, dialect, json)
}

fn opened_with(welcome: &str, path: &str, dialect: &str, json: bool) -> Inspector {
    let mut inspector = Inspector::new(welcome).expect("a welcome");
    inspector.select_client(Some(CLIENT));
    let opened = ObservedKind::Opened(handshake_of(path, dialect, json));
    let reply = receive(&mut inspector, [opened]);
    assert_eq!(listed(&reply, "rule"), [Json::Null, Json::Null], "{reply}");
    assert_eq!(listed(&reply, "opcode"), ["upgrade", "upgrade"]);
    inspector
}

/// The handshake of a client at this path.
fn handshake_of(path: &str, dialect: &str, json: bool) -> Handshake {
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {KEY}\r\n\r\n"
    );
    let accept = handshake::accept_key(KEY);
    let response = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    Handshake {
        address: "127.0.0.1:40000".parse().expect("an address"),
        local: "127.0.0.1:3000".parse().expect("an address"),
        dialect: dialect.to_owned(),
        json,
        request: request.into_bytes(),
        response: response.into_bytes(),
    }
}

fn receive<'a>(inspector: &mut Inspector, what: impl IntoIterator<Item = ObservedKind<'a>>) -> Json {
    receive_from(inspector, CLIENT, what)
}

fn receive_from<'a>(
    inspector: &mut Inspector,
    client: u64,
    what: impl IntoIterator<Item = ObservedKind<'a>>,
) -> Json {
    let mut message = observed_format::start_message(client);
    for what in what {
        observed_format::write(&mut message, &ObservedRecord { at: Duration::from_millis(5), tick: 3, what });
    }
    serde_json::from_str(&inspector.receive(&message).expect("records")).expect("JSON")
}

fn client(bytes: &[u8]) -> ObservedKind<'_> {
    ObservedKind::Bytes(Side::Client, bytes)
}

fn server(bytes: &[u8]) -> ObservedKind<'_> {
    ObservedKind::Bytes(Side::Server, bytes)
}

/// One field of each frame in the result.
fn listed(reply: &Json, name: &str) -> Vec<Json> {
    reply["frames"].as_array().into_iter().flatten().map(|entry| entry[name].clone()).collect()
}

fn explained(inspector: &Inspector, n: &Json) -> Json {
    serde_json::from_str(&inspector.explain(n.as_u64().expect("a number"))).expect("JSON")
}

fn masked(opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::write(&mut bytes, opcode, Some([1, 2, 3, 4]), payload);
    bytes
}

fn packet(name: &str, values: &[crate::packet::Value]) -> Vec<u8> {
    let dialect = PacketTables::builtin().dialect("native").expect("built in");
    dialect.encode(Direction::ToServer, name, values).expect("fits the table")
}

#[test]
fn a_frame_is_listed_explained_counted_and_saved() {
    let mut inspector = opened("/play", "native", false);
    let bytes = hex::parse("828a37fa213da5f9b22cfafe91f077fa").expect("hex");
    let reply = receive(&mut inspector, [client(&bytes)]);
    let entry = &reply["frames"][0];
    assert_eq!((&entry["packet"], &entry["tick"], &entry["at_ms"]), (&json!("move"), &json!(3), &json!(5)));
    let whole = explained(&inspector, &entry["n"]);
    assert_eq!((&whole["raw"], &whole["frames"][0]["code"]), (&json!(hex::digits(&bytes)), &json!(3)));
    let request = explained(&inspector, &json!(1));
    assert!(request["text"].as_str().is_some_and(|text| text.starts_with("GET /play")), "{request}");
    let fields: Json = serde_json::from_str(&inspector.fields()).expect("JSON");
    assert_eq!((&fields[0]["packet"], &fields[0]["bytes"]), (&json!("move"), &json!(16.0)), "no heads");
    let client_name = ExportedClient { player: 2, name: "Ada".to_owned() };
    let file = inspector.save(&BTreeMap::from([(CLIENT, client_name)])).expect("a handshake");
    let capture = crate::tools::capture::read(&file).expect("a capture");
    assert!(capture.packets.iter().any(|packet| packet.comments == ["tick=3 player=2 Ada"]));
    assert_eq!(explained(&inspector, &json!(99))["gone"], true);
}

#[test]
fn packets_are_of_the_dialect_that_the_server_names_whatever_the_path() {
    // A server of `tanks` has them at `/`, where this table would find `moo`.
    let mut inspector = opened_with(&welcome_of_tanks(), "/", "tanks", false);
    let dialect = inspector.codes.dialect("tanks").expect("in the tables");
    let nil = crate::packet::Value::Nil;
    let values = [1.into(), nil.clone(), 1.into(), 0.into(), 0.into(), true.into(), 0.into(), nil];
    let control = dialect.encode(Direction::ToServer, "control", &values).expect("fits the table");
    let reply = receive(&mut inspector, [client(&masked(Opcode::Binary, &control))]);
    assert_eq!(
        (&reply["frames"][0]["packet"], &reply["frames"][0]["rule"]),
        (&json!("control"), &Json::Null)
    );
    assert_eq!(explained(&inspector, &reply["frames"][0]["n"])["frames"][0]["packet"], "control");
}

#[test]
fn a_message_is_explained_with_its_earlier_frames_and_by_the_rules_of_its_connection() {
    let mut inspector = opened("/play", "native", false);
    let whole = packet("chat", &[1.into(), crate::packet::Value::Nil, "hello".into()]);
    let (first, last) = whole.split_at(4);
    let mut begun = masked(Opcode::Binary, first);
    begun[0] &= !frame::FIN;
    let ends = masked(Opcode::Continuation, last);
    // The message in one piece; then in two, with a ping in between.
    let reply = receive(&mut inspector, [client(&[&begun[..], &ends].concat())]);
    assert_eq!(listed(&reply, "packet"), [Json::Null, json!("chat")], "{reply}");
    let ping = masked(Opcode::Ping, b"");
    let reply = receive(&mut inspector, [client(&[&begun[..], &ping].concat()), client(&ends)]);
    assert_eq!(listed(&reply, "packet"), [Json::Null, Json::Null, json!("chat")], "{reply}");
    for entry in reply["frames"].as_array().expect("a list") {
        let again = explained(&inspector, &entry["n"]);
        assert_eq!(
            (&again["frames"][0]["line"], &again["frames"][0]["packet"]),
            (&entry["line"], &entry["packet"])
        );
    }
    let text = masked(Opcode::Text, b"[1]");
    let reply = receive(&mut inspector, [client(&begun), client(&text)]);
    assert_eq!(listed(&reply, "rule"), [Json::Null, json!("message_interrupted")], "{reply}");
    let reply = receive(&mut inspector, [client(&text)]);
    assert_eq!(listed(&reply, "rule"), ["wrong_frame_type"], "the endpoint accepts binary frames");
    let long = masked(Opcode::Binary, &vec![0; limits::MESSAGE_BYTES + 1]);
    for mut inspector in [inspector, opened("/", "legacy", false)] {
        assert_eq!(listed(&receive(&mut inspector, [client(&long)]), "rule"), ["message_too_long"]);
    }
}

#[test]
fn after_lost_pieces_the_next_bytes_begin_a_message() {
    let mut inspector = opened("/play", "native", false);
    let mut begun = masked(Opcode::Binary, b"\x92");
    begun[0] &= !frame::FIN;
    receive(&mut inspector, [client(&begun)]);
    let reply = receive(&mut inspector, [ObservedKind::Lost(3), client(&masked(Opcode::Ping, b"a"))]);
    assert_eq!((&reply["lost"], listed(&reply, "rule")), (&json!(3), vec![Json::Null]));
    let reply = receive(&mut inspector, [client(&masked(Opcode::Binary, &packet("ping", &[1.into()])))]);
    assert_eq!(listed(&reply, "packet"), ["ping"], "{reply}");
    let reply = receive(&mut inspector, [ObservedKind::Ended("idle_timeout")]);
    assert_eq!(reply, json!({ "frames": [], "ended": "idle_timeout" }));
}

#[test]
fn while_paused_frames_are_counted_and_those_before_stay() {
    let mut inspector = opened("/?format=json", "legacy", true);
    let text = hex::parse("8103 5b315d").expect("hex");
    let n = receive(&mut inspector, [server(&text)])["frames"][0]["n"].clone();
    inspector.pause(true);
    let reply = receive(&mut inspector, [server(&[&text[..], &text].concat()), server(&text)]);
    assert_eq!(reply, json!({ "frames": [], "missed": 3 }));
    assert_eq!(explained(&inspector, &n)["frames"][0]["opcode"], "text");
    inspector.pause(false);
    let reply = receive(&mut inspector, [server(&text)]);
    assert_eq!(
        (listed(&reply, "n"), &reply["missed"]),
        (vec![json!(n.as_u64().expect("a number") + 1)], &Json::Null)
    );
}

#[test]
fn another_clients_messages_are_skipped_and_each_client_keeps_its_own_frames() {
    let mut inspector = opened("/play", "native", false);
    let ping = masked(Opcode::Ping, b"");
    let n = receive(&mut inspector, [client(&ping)])["frames"][0]["n"].clone();
    let visible = |inspector: &Inspector| inspector.list().map(|list| list.count()["seen"].clone());
    assert_eq!(visible(&inspector), Some(json!(3)));
    inspector.select_client(Some(CLIENT + 1));
    assert_eq!(receive(&mut inspector, [client(&ping)]), json!({}));
    assert_eq!(
        (explained(&inspector, &n)["gone"].clone(), visible(&inspector)),
        (json!(true), Some(json!(0)))
    );
    assert_eq!(inspector.save(&BTreeMap::new()), None);
    // After the client is selected again, its frames are available, and an entry marks the gap.
    inspector.select_client(Some(CLIENT));
    assert_eq!(explained(&inspector, &n)["frames"][0]["opcode"], "ping");
    receive(&mut inspector, [client(&ping)]);
    let rows = inspector.list().expect("a list").rows(0, 9);
    let gaps: Vec<_> = rows.as_array().expect("rows").iter().map(|row| row["gap"].as_str()).collect();
    assert_eq!(gaps, [None, None, None, Some("not watched for 0.0 s"), None]);
    inspector.select_client(None);
    assert!(inspector.list().is_none());
    for other in 0..limits::INSPECTOR_CLIENTS as u64 {
        inspector.select_client(Some(100 + other));
    }
    inspector.select_client(Some(CLIENT));
    assert_eq!(explained(&inspector, &n)["gone"], true, "watched longest ago");
}

#[test]
fn a_filter_holds_for_frames_that_are_kept_and_for_those_that_come() {
    let mut inspector = opened("/play", "native", false);
    let moves = |direction: u16| {
        masked(Opcode::Binary, &packet("move", &[1.into(), crate::packet::Value::Nil, direction.into()]))
    };
    receive(
        &mut inspector,
        [client(&moves(5000)), client(&moves(9000)), client(&masked(Opcode::Ping, b"a"))],
    );
    let request =
        |text: &str| ListRequest::read(&json!({ "text": text, "automatic": false })).expect("a filter");
    inspector.filter(request("move.direction > 7000"));
    let reply = receive(&mut inspector, [client(&moves(9001))]);
    assert_eq!(reply["frames"].as_array().map(Vec::len), Some(1));
    while inspector.advance(1) {}
    let list = inspector.list().expect("a list");
    let found: Vec<_> =
        list.rows(0, 9).as_array().expect("rows").iter().map(|row| row["n"].clone()).collect();
    assert_eq!(found, [json!(4), json!(6)]);
    assert_eq!(
        (list.visible_index(4), list.visible_index(6), list.visible_index(5), list.visible_index(9)),
        (0, 1, -2, -3)
    );
    inspector.filter(request("direction > 9999"));
    while inspector.advance(1) {}
    let why = inspector.list().expect("a list").count()["why"].as_str().unwrap_or_default().to_owned();
    let words = "1 frame of ping and pong is hidden. No frame matches `direction > 9999`; 2 frames have no field direction";
    assert!(why.starts_with(words), "{why}");
    let difference: Json = serde_json::from_str(&inspector.difference(6)).expect("JSON");
    assert_eq!((&difference["before"], &difference["count"]), (&json!(4), &json!(1)), "{difference}");
}

#[test]
fn the_frames_of_a_client_outlast_those_of_the_server_and_nothing_dropped_counts_as_hidden() {
    let mut inspector = opened("/play", "native", false);
    let pressed =
        masked(Opcode::Binary, &packet("move", &[1.into(), crate::packet::Value::Nil, 5000.into()]));
    receive(&mut inspector, [client(&pressed)]);
    let request = json!({ "text": "move", "from": "client", "automatic": true });
    inspector.filter(ListRequest::read(&request).expect("a filter"));
    for _ in 0..limits::INSPECTOR_FRAMES + 100 {
        receive(&mut inspector, [server(&[0x82, 0x00])]);
    }
    let list = inspector.list().expect("a list");
    assert_eq!(
        (list.count()["seen"].as_u64(), list.rows(0, 9)[0]["packet"].as_str()),
        (Some(1), Some("move"))
    );
    inspector.filter(ListRequest::read(&json!({ "text": "chat", "from": "client" })).expect("a filter"));
    let why = inspector.list().expect("a list").count()["why"].to_string();
    assert!(
        why.contains(&format!("{} frames from the server are hidden", limits::INSPECTOR_FRAMES)),
        "{why}"
    );
}

#[test]
fn a_link_carries_a_frame_and_what_its_verdict_needs() {
    let mut inspector = opened("/play", "native", false);
    let whole = packet("chat", &[1.into(), crate::packet::Value::Nil, "hello".into()]);
    let mut begun = masked(Opcode::Binary, &whole[..4]);
    begun[0] &= !frame::FIN;
    let reply = receive(
        &mut inspector,
        [
            client(&begun),
            client(&masked(Opcode::Continuation, &whole[4..])),
            client(&masked(Opcode::Text, b"[1]")),
        ],
    );
    for n in listed(&reply, "n") {
        let link = inspector.link(n.as_u64().expect("a number")).expect("short");
        let mut other = Inspector::default();
        other.open_link(&link).expect("a link");
        let [own, mut opened] = [explained(&inspector, &n), explained(&other, &json!(1))];
        opened["n"] = n;
        assert_eq!(own, opened, "{link}");
    }
    for n in [1, 2] {
        let mut other = Inspector::default();
        other.open_link(&inspector.link(n).expect("short")).expect("a link");
        assert!(explained(&other, &json!(1))["text"].as_str().is_some_and(|text| text.contains("HTTP/1.1")));
    }
    let error = Inspector::default().open_link("frame=8100&dialect=none").expect_err("no such dialect");
    assert!(error.contains("\"none\""), "{error}");
}

#[test]
fn a_link_of_a_server_with_other_tables_is_refused_by_name_elsewhere() {
    let other = welcome().replace("text:str<=60", "text:str<=61");
    let mut inspector = Inspector::new(&other).expect("a welcome");
    inspector.open_link("frame=821e&dialect=native&from=server").expect("a link without tables");
    let link = inspector.link(1).expect("short");
    assert!(link.contains("&tables="), "{link}");
    Inspector::new(&other).expect("a welcome").open_link(&link).expect("the same tables");
    let error = Inspector::default().open_link(&link).expect_err("other tables");
    assert!(error.contains("other packet tables"), "{error}");
    // Tables of another game do not change the hash of the dialect.
    let mut inspector = Inspector::new(&welcome_of_tanks()).expect("a welcome");
    inspector.open_link("frame=821e&dialect=native&from=server").expect("a link without tables");
    let link = inspector.link(1).expect("short");
    Inspector::default().open_link(&link).unwrap_or_else(|error| panic!("{link}: {error}"));
}

#[test]
fn a_message_that_makes_no_sense_is_refused() {
    let mut inspector = opened("/play", "native", false);
    assert_eq!(inspector.receive(&[0; 9]), Err("a message is invalid at byte 8".to_owned()));
    for welcome in [
        "",
        "{}",
        r#"{"welcome":{"codes":[],"began_us":-1}}"#,
        r#"{"welcome":{"codes":[["a","b"]],"began_us":1}}"#,
    ] {
        assert!(Inspector::new(welcome).is_err(), "{welcome}");
    }
}

#[test]
fn a_piece_is_cut_into_its_frames_and_what_is_broken_is_the_last() {
    let mut bytes = Vec::new();
    for length in [0, 1, 125, 126, 70_000] {
        bytes.extend(masked(Opcode::Binary, &vec![7; length]));
    }
    let lengths = |bytes: &[u8]| {
        frames_of(bytes, Side::Client).into_iter().map(|(begin, end)| end - begin).collect::<Vec<_>>()
    };
    assert_eq!(lengths(&bytes), [6, 7, 131, 134, 70_014]);
    assert_eq!(lengths(&bytes[..140]), [6, 7, 127], "the last is unfinished");
    let unmasked = [0x82, 0x01, 0x07, 0x82];
    assert_eq!(lengths(&[&bytes[..6], &unmasked].concat()), [6, 4]);
    assert!(lengths(&[]).is_empty());
}

#[test]
fn edited_bytes_get_the_verdict_of_the_connection_and_change_nothing() {
    let mut inspector = opened("/play", "native", false);
    let verdict = |inspector: &Inspector, input: Json| -> Json {
        serde_json::from_str(&inspector.explain_bytes(&input.to_string()).expect("bytes")).expect("JSON")
    };
    let unmasked = json!({ "from": "client", "bytes": "820a92039311cd04b0cd4000" });
    let reply = verdict(&inspector, unmasked.clone());
    assert_eq!(reply["frames"][0]["problem"]["rule"], "mask_missing", "{reply}");
    assert_eq!(reply["raw"], unmasked["bytes"]);
    // An unfinished message before the edited bytes affects the result.
    let mut begun = masked(Opcode::Binary, b"\x92");
    begun[0] &= !frame::FIN;
    let n = receive(&mut inspector, [client(&begun)])["frames"][0]["n"].clone();
    let whole = json!({ "from": "client", "bytes": "828a37fa213da5f9b22cfafe91f077fa" });
    assert_eq!(verdict(&inspector, whole.clone())["frames"][0]["problem"]["rule"], "message_interrupted");
    assert_eq!(explained(&inspector, &n)["frames"][0]["problem"], Json::Null);
    // Independent bytes are explained after an upgrade.
    let alone = json!({ "from": "client", "bytes": whole["bytes"], "dialect": "native" });
    assert_eq!(verdict(&inspector, alone.clone())["frames"][0]["packet"], "move");
    let fresh = Inspector::new(&welcome()).expect("a welcome");
    assert_eq!(verdict(&fresh, alone)["frames"][0]["packet"], "move");
    assert_eq!(fresh.explain_bytes(&whole.to_string()), Err("no handshake was seen".to_owned()));
    for wrong in [
        "",
        "[]",
        r#"{"from":"client"}"#,
        r#"{"from":"client","bytes":"8"}"#,
        r#"{"from":"nobody","bytes":"82"}"#,
        r#"{"from":"client","bytes":"82","dialect":"other"}"#,
    ] {
        assert!(inspector.explain_bytes(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_packet_is_rewritten_with_other_values_under_the_same_key() {
    let mut inspector = opened("/play", "native", false);
    let bytes = hex::parse("828a37fa213da5f9b22cfafe91f077fa").expect("hex");
    let n = receive(&mut inspector, [client(&bytes)])["frames"][0]["n"].as_u64().expect("a number");
    let rewrite = |set: Json, next: bool| {
        let input = json!({ "n": n, "set": set, "next": next }).to_string();
        let reply: Json = serde_json::from_str(&inspector.rewrite(&input)?).expect("JSON");
        Ok::<_, String>(reply["bytes"].as_str().expect("hex").to_owned())
    };
    assert_eq!(rewrite(json!({}), false), Ok("828a37fa213da5f9b22cfafe91f077fa".to_owned()));
    let turned = rewrite(json!({ "direction": 49152 }), true).expect("fits the table");
    let dialect = PacketTables::builtin().dialect("native").expect("built in");
    let line = crate::tools::explain::explain(&hex::parse(&turned).expect("hex"), &dialect, None).to_string();
    assert!(turned.starts_with("828a37fa213d"), "{turned}");
    assert!(line.contains("sequence=18") && line.contains("direction="), "{line}");
    assert_eq!(rewrite(json!({ "speed": 1 }), false), Err("move has no argument \"speed\"".to_owned()));
    assert!(rewrite(json!({ "direction": 70000 }), false).is_err());
    assert!(rewrite(json!({ "direction": [1] }), false).is_err());
    assert!(inspector.rewrite(r#"{"n":1}"#).is_err(), "a head is no packet");
    assert!(inspector.rewrite(r#"{"n":99}"#).is_err());
}
