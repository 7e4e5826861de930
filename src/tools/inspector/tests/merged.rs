//! Tests of the list of all clients together.

use super::*;

fn rows(inspector: &Inspector, name: &str) -> Vec<Json> {
    let rows = inspector.list().expect("a list").rows(0, 99);
    rows.as_array().expect("rows").iter().map(|row| row[name].clone()).collect()
}

fn moves(direction: u16) -> Vec<u8> {
    masked(Opcode::Binary, &packet("move", &[1.into(), crate::packet::Value::Nil, direction.into()]))
}

#[test]
fn frames_of_all_clients_are_in_one_list_and_each_is_explained_after_its_own_handshake() {
    let mut inspector = opened("/play", "native", false);
    receive(&mut inspector, [client(&moves(1))]);
    inspector.select_all();
    assert!(rows(&inspector, "n").is_empty());
    let native = handshake_of("/play", "native", false);
    let address = "127.0.0.1:40001".parse().expect("an address");
    let json = Handshake { address, ..handshake_of("/play", "native", true) };
    receive_from(&mut inspector, 3, [ObservedKind::Opened(native)]);
    receive_from(&mut inspector, 4, [ObservedKind::Opened(json)]);
    let text = masked(Opcode::Text, br#"["move",[1,null,9000]]"#);
    let (begun, ends) = (masked(Opcode::Binary, &packet("ping", &[7.into()])[..2]), 5);
    let mut begun = begun;
    begun[0] &= !frame::FIN;
    receive_from(&mut inspector, 3, [client(&begun)]);
    let reply = receive_from(&mut inspector, 4, [client(&text)]);
    assert_eq!((listed(&reply, "packet"), listed(&reply, "client")), (vec![json!("move")], vec![json!(4)]));
    let rest = masked(Opcode::Continuation, &packet("ping", &[7.into()])[2..]);
    let reply = receive_from(&mut inspector, 3, [client(&rest), client(&moves(8000))]);
    assert_eq!(listed(&reply, "packet"), ["ping", "move"], "{reply}");
    assert_eq!(rows(&inspector, "client")[4..], [3, 4, 3, 3]);
    let last = rows(&inspector, "n")[7].clone();
    assert_eq!(explained(&inspector, &last)["frames"][0]["packet"], "move");
    assert!(inspector.link(last.as_u64().expect("a number")).is_ok());
    let players = BTreeMap::from([(4, ExportedClient { player: 9, name: "Ada".to_owned() })]);
    let file = inspector.save(&players).expect("handshakes");
    let capture = crate::tools::capture::read(&file).expect("a capture");
    let connections = capture.connections();
    assert!(connections.len() == 2 && connections.iter().all(|one| one.has_begin && one.gaps.is_empty()));
    let is_of = |packet: &&crate::tools::capture::Packet<'_>| packet.comments == ["tick=3 player=9 Ada"];
    assert_eq!(capture.packets.iter().filter(is_of).count(), 1, "the frame of client 4");

    let request = |text: &str| ListRequest::read(&json!({ "text": text })).expect("a filter");
    inspector.filter(request("move.direction > 8500"));
    while inspector.advance(1) {}
    assert_eq!(rows(&inspector, "client"), [4]);
    inspector.filter(request("connection = 3"));
    while inspector.advance(1) {}
    assert_eq!(rows(&inspector, "client").len(), ends);
    // The log of the client that was selected before is still there.
    inspector.filter(request(""));
    inspector.select_client(Some(CLIENT));
    assert_eq!(rows(&inspector, "packet"), [Json::Null, Json::Null, json!("move")]);
}

#[test]
fn a_further_client_takes_the_place_of_one_that_has_ended() {
    let mut inspector = Inspector::new(&welcome()).expect("a welcome");
    inspector.select_all();
    let opened = || ObservedKind::Opened(handshake_of("/play", "native", false));
    for client in 1..=limits::INSPECTOR_MERGED_CLIENTS as u64 {
        receive_from(&mut inspector, client, [opened()]);
    }
    let reply = receive_from(&mut inspector, 99, [opened(), client(&moves(1))]);
    assert_eq!((listed(&reply, "n").len(), &reply["lost"]), (0, &json!(2)), "{reply}");
    let reply = receive_from(&mut inspector, 5, [ObservedKind::Ended("peer_lost")]);
    assert_eq!(reply["ended"], Json::Null, "the connection of one client is not the end of the list");
    let reply = receive_from(&mut inspector, 99, [opened(), client(&moves(1))]);
    assert_eq!((listed(&reply, "n").len(), &reply["gone"]), (3, &json!(2)), "{reply}");
    assert!(!rows(&inspector, "client").contains(&json!(5)));
    // After lost messages, the next bytes of each client begin a message.
    let mut begun = masked(Opcode::Binary, &[0x92]);
    begun[0] &= !frame::FIN;
    receive_from(&mut inspector, 99, [client(&begun)]);
    let reply = receive_from(&mut inspector, 0, [ObservedKind::Lost(4)]);
    assert_eq!(reply["lost"], 4);
    let reply = receive_from(&mut inspector, 99, [client(&moves(2))]);
    assert_eq!(listed(&reply, "rule"), [Json::Null], "{reply}");
}
