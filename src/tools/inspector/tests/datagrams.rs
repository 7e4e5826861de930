//! Tests of the inspector with the datagrams of a lane.

use super::*;
use crate::datagram::DatagramError;
use crate::datagram::header::DatagramHeader;
use crate::datagram::message::write_packet;

/// An opened datagram without messages.
fn datagram(sequence: u16, newest: u16) -> Vec<u8> {
    let header = DatagramHeader { connection: 9, sequence, newest, received: 0 };
    header.bytes().to_vec()
}

fn observed(from: Side, dropped: Option<DatagramError>, bytes: &[u8]) -> ObservedKind<'_> {
    let address = Some("127.0.0.1:50000".parse().expect("an address"));
    ObservedKind::Datagram(ObservedDatagram { from, address, dropped, bytes })
}

/// Kind, gap, number, packets and state of a row.
type Shown = [Json; 5];

/// The rows after both heads.
fn rows(list: &FrameList) -> Vec<Shown> {
    let rows = list.rows(2, 100);
    let shown = |row: &Json| {
        let datagram = &row["datagram"];
        [&row["opcode"], &row["gap"], &datagram["sequence"], &datagram["packets"], &datagram["state"]]
            .map(Json::clone)
    };
    rows.as_array().expect("a list").iter().map(shown).collect()
}

fn row(sequence: u16, packets: &str, state: Json) -> Shown {
    [json!("datagram"), Json::Null, json!(sequence), json!(packets), state]
}

fn gap(text: &str) -> Shown {
    [json!("missing"), json!(text), Json::Null, Json::Null, Json::Null]
}

/// An inspector with a frame and datagrams: one has a packet and is returned, one is repeated, and
/// one is truncated.
fn observed_lane() -> (Inspector, Vec<u8>, Json) {
    let mut inspector = opened("/play", "native", false);
    let mut with_packet = datagram(1, 0);
    let dialect = PacketTables::builtin().dialect("native").expect("built in");
    let pong = dialect.encode(Direction::ToClient, "pong", &[7.into(), 8.into()]).expect("fits the table");
    write_packet(&mut with_packet, &pong);
    let truncated = [datagram(5, 1), vec![1, 0, 9]].concat();
    let frame = masked(Opcode::Ping, b"");
    let (first, third, repeated) = (datagram(1, 0), datagram(3, 1), datagram(1, 0));
    let seen = [
        observed(Side::Client, None, &first),
        observed(Side::Server, None, &with_packet),
        client(&frame),
        observed(Side::Client, None, &third),
        observed(Side::Client, Some(DatagramError::Repeated), &repeated),
        observed(Side::Client, None, &truncated),
    ];
    let reply = receive(&mut inspector, seen);
    (inspector, with_packet, reply)
}

/// The rows of [`observed_lane`].
fn expected_rows() -> Vec<Shown> {
    vec![
        row(1, "", Json::Null),
        row(1, "pong", Json::Null),
        [json!("ping"), Json::Null, Json::Null, Json::Null, Json::Null],
        gap("D2 missing"),
        row(3, "", Json::Null),
        row(1, "", json!("dropped")),
        gap("D4 missing"),
        row(5, "", Json::Null),
    ]
}

/// A link shows the same fields as the list that it was made from.
fn opens_again(link: &str, explained: &str) {
    assert!(link.ends_with("&kind=datagram"), "{link}");
    let mut linked = Inspector::default();
    linked.open_link(link).expect("a link");
    let [shown, expected] =
        [&linked.explain(1), explained].map(|text| serde_json::from_str::<Json>(text).expect("JSON"));
    assert_eq!((&shown["raw"], &shown["frames"]), (&expected["raw"], &expected["frames"]));
}

#[test]
fn datagrams_are_listed_among_frames_and_explained() {
    let (mut inspector, with_packet, reply) = observed_lane();
    let rules: Vec<Json> = listed(&reply, "rule");
    assert_eq!(rules[..4], [Json::Null, Json::Null, Json::Null, Json::Null]);
    assert_eq!(rules[4..], [json!("datagram_repeated"), json!("datagram_truncated")]);
    assert_eq!(rows(inspector.list().expect("a client")), expected_rows());
    let whole = explained(&inspector, &reply["frames"][1]["n"]);
    let kind = &whole["frames"][0]["kind"];
    assert_eq!((kind, &whole["raw"]), (&json!("datagram"), &json!(hex::digits(&with_packet))));
    opens_again(&inspector.link(3).expect("a datagram"), &inspector.explain(3));
    let fields: Json = serde_json::from_str(&inspector.fields()).expect("JSON");
    let counts = ["packet", "count", "bytes"].map(|name| fields[0][name].clone());
    // Four of the client: three headers, one with three bytes more, and the repeated one.
    assert_eq!(counts, [json!("datagram"), json!(4), json!(51.0)]);
}

#[test]
fn a_saved_capture_has_all_datagrams_except_dropped_ones() {
    let (inspector, with_packet, _) = observed_lane();
    let client_name = ExportedClient { player: 2, name: "Ada".to_owned() };
    let mut file =
        opening::open(inspector.save(&BTreeMap::from([(CLIENT, client_name)])).expect("a handshake"))
            .expect("a capture");
    while file.advance(1) {}
    let mut expected = expected_rows();
    expected.remove(5);
    assert_eq!(rows(file.list()), expected);
    assert_eq!(file.summary_json()["notes"], json!([]));
    let shown: Json = serde_json::from_str(&file.explain(4)).expect("JSON");
    assert_eq!(shown["raw"], json!(hex::digits(&with_packet)));
    opens_again(&file.link(4).expect("a datagram"), &file.explain(4));
    file.filter(&ListRequest::read(&json!({ "text": "sequence = 3" })).expect("a filter"));
    while file.advance(1) {}
    assert_eq!(file.list().count()["seen"], 1, "a field of the header");
}

#[test]
fn datagrams_during_a_pause_are_counted_but_not_lost() {
    let mut inspector = opened("/play", "native", false);
    let datagrams: Vec<Vec<u8>> = [1, 2, 3, 4].map(|sequence| datagram(sequence, 0)).into();
    receive(&mut inspector, [observed(Side::Client, None, &datagrams[0])]);
    inspector.pause(true);
    let reply = receive(&mut inspector, [observed(Side::Client, None, &datagrams[1])]);
    assert_eq!(reply["missed"], 1);
    inspector.pause(false);
    let reply = receive(&mut inspector, [observed(Side::Client, None, &datagrams[2])]);
    let n = reply["frames"][0]["n"].as_u64().expect("a number");
    let entries: Vec<u64> =
        inspector.list().expect("a client").entries().iter().map(|entry| entry.n).collect();
    assert_eq!(entries, [1, 2, 3, n], "no row for missing ones");
    // A `Lost` record also resets the expected sequence number.
    let reply = receive(&mut inspector, [ObservedKind::Lost(1), observed(Side::Client, None, &datagrams[3])]);
    assert_eq!((reply["lost"].as_u64(), reply["frames"][0]["n"].as_u64()), (Some(1), Some(n + 1)));
}
