//! The events of a server, and access to its rooms, for the program around it: with accounts, and over a reconnect.

use std::fs;
use std::sync::mpsc::{self, Receiver};

use tickwire::client::blocking_client::BlockingClient;
use tickwire::game::Game as _;
use tickwire::game::simple::Simple;
use tickwire::internal::tools::replay;
use tickwire::packet::Value;
use tickwire::sim::PlayerId;
use tickwire::{PlayerProfile, RoomError, RunningServer, Server, ServerEvent, ServerEventKind as Kind};

use crate::diary::{Action, Diary};
use crate::program_of_pong::Pong;
use crate::replay::File;
use crate::support::PATIENCE;

const TOKEN: &str = "the-token-of-the-account";

/// A client of the account `ann-s`, with a player.
fn play(server: &RunningServer) -> BlockingClient {
    let url = format!("ws://{}/play?token={TOKEN}", server.address()).parse().expect("a URL");
    let dialect = server.tables().dialect("diary").expect("its dialect");
    let mut client: BlockingClient = BlockingClient::connect(&url, None, dialect).expect("a place");
    client.send("hello", &[1.into(), 1.into(), "Ann".into()]).expect("open");
    client.receive_until(PATIENCE, |packet| packet.name == "spawned").expect("a player");
    client
}

fn note(client: &mut BlockingClient, sequence: u32, number: u8) {
    client.send("note", &[sequence.into(), Value::Nil, number.into()]).expect("open");
}

/// Receives events until `is_last` accepts one.
fn until(events: &Receiver<ServerEvent>, is_last: impl Fn(&Kind) -> bool) -> Vec<Kind> {
    let mut kinds = Vec::new();
    loop {
        let event = events.recv_timeout(PATIENCE).expect("another event");
        assert_eq!((event.room.name(), event.room.game()), ("", "diary"));
        kinds.push(event.kind);
        if kinds.last().is_some_and(&is_last) {
            return kinds;
        }
    }
}

fn is_ann(profile: &PlayerProfile) -> bool {
    profile.player == PlayerId(1) && &*profile.name == "Ann" && profile.account.as_deref() == Some("ann-s")
}

#[test]
fn a_program_follows_a_player_over_a_reconnect_and_a_replay_of_it_comes_out_the_same() {
    let (file, (sender, events)) = (File::new("life"), mpsc::channel());
    let server = Server::for_game::<Simple<Diary>>()
        .tokens([("ann-s", TOKEN)])
        .capture(&file.0)
        .on_event(move |event: ServerEvent| {
            let is_bad =
                matches!(&event.kind, Kind::Reported(report) if report.integer("number") == Some(13));
            assert!(!is_bad, "a panic of the test");
            sender.send(event).expect("the test receives");
        })
        .start()
        .expect("a free port");
    let mut ann = play(&server);
    let kinds = until(&events, |kind| matches!(kind, Kind::Joined(_)));
    let [Kind::Started, Kind::Connected(client), Kind::Joined(player)] = &*kinds else { panic!("{kinds:?}") };
    assert_eq!(client.account.as_deref(), Some("ann-s"));
    assert!(is_ann(player), "{player:?}");
    note(&mut ann, 1, 13);
    note(&mut ann, 2, 5);
    let kinds = until(&events, |_| true);
    let [Kind::Reported(report)] = &*kinds else { panic!("{kinds:?}") };
    assert_eq!(
        (report.name, report.integer("number"), report.integer("player")),
        ("noted", Some(5), Some(1))
    );
    drop(ann);
    until(&events, |kind| matches!(kind, Kind::Disconnected(player) if is_ann(player)));
    let mut ann = play(&server);
    until(&events, |kind| matches!(kind, Kind::Reconnected(player) if is_ann(player)));
    note(&mut ann, 1, 6);
    until(&events, |kind| matches!(kind, Kind::Reported(report) if report.integer("number") == Some(6)));

    let room = server.room("").expect("the default room");
    assert_eq!(room.act::<Diary>(Action::Remark { number: 3 }), Ok(()));
    assert_eq!(room.act::<Diary>(Action::Remark { number: 0 }), Err(RoomError::Rejected("zero")));
    let lines = room.state::<Diary>().expect("a world").lines;
    let expected = [
        "1 joins: Ann of ann-s",
        "1 notes 13",
        "1 notes 5",
        "1 disconnects",
        "1 reconnects",
        "1 notes 6",
        "the operator notes 3",
    ];
    assert!(lines.iter().map(|line| &**line).eq(expected), "{lines:?}");
    assert_eq!(room.state::<Pong>(), Err(RoomError::OtherGame("diary")));
    assert_eq!(room.players(), 1);
    assert!(server.room("other").is_none());
    assert!(server.metrics().contains("tickwire_server_events_total"), "{}", server.metrics());

    server.stop();
    // A stopped server has called the function for all events.
    let rest = events.try_iter().map(|event| event.kind).collect::<Vec<_>>();
    assert_eq!(rest.last(), Some(&Kind::Ended), "{rest:?}");
    assert!(!rest.iter().any(|kind| matches!(kind, Kind::Left(_))), "{rest:?}");
    assert!(room.has_ended());
    let late = room.state::<Diary>().expect_err("it has ended");
    assert!(matches!(late, RoomError::NoAnswer(_)), "{late}");

    let bytes = fs::read(&file.0).expect("the file");
    let has = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(has("ann-s") && !has(TOKEN), "a capture has the account, and never the token");
    let report = replay::json::of_file(&bytes, &[Simple::<Diary>::INFO], None).expect("a capture");
    assert_eq!(report["verdict"], "same", "{report:#}");
}
