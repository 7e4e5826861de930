//! The leaderboard over a restart of the server, and players without an account.

use std::path::PathBuf;
use std::time::Duration;

use tickwire::client::blocking_client::BlockingClient;
use tickwire::packet::Value;
use tickwire::{RoomSpec, RunningServer, Server};

use super::*;

const PATIENCE: Duration = Duration::from_secs(20);
const TOKEN: &str = "the-token-of-the-account";

/// A database file that is removed at the end.
struct File(PathBuf);

impl File {
    fn new(name: &str) -> File {
        let name = format!("tickwire-leaderboard-{name}-{}", std::process::id());
        let file = File(std::env::temp_dir().join(name));
        let _ = std::fs::remove_file(&file.0);
        file
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn leader(account: &str, best: u16) -> Leader {
    Leader { account: account.into(), best }
}

fn server(file: &File, tokens: bool) -> RunningServer {
    let database = Database::open(&file.0).expect("a database");
    let room = RoomSpec::for_game::<Simple<Presses>>().option("round", 1);
    let server = Server::with_room(room).on_event(move |event| {
        // A room that ends while its results are stored receives no leaderboard.
        let _ = database.handle(&event);
    });
    let server = if tokens { server.tokens([("ann-s", TOKEN)]) } else { server };
    server.start().expect("a free port")
}

/// A client that has pressed the button once.
fn press(server: &RunningServer) -> BlockingClient {
    let url = format!("ws://{}/play?token={TOKEN}", server.address()).parse().expect("a URL");
    let dialect = server.tables().dialect("leaderboard").expect("its dialect");
    let mut client: BlockingClient = BlockingClient::connect(&url, None, dialect).expect("a place");
    client.send("hello", &[1.into(), 1.into(), "Ann".into()]).expect("open");
    client.receive_until(PATIENCE, |packet| packet.name == "spawned").expect("a player");
    client.send("press", &[1.into(), Value::Nil]).expect("open");
    client
}

#[test]
fn the_best_result_of_an_account_survives_a_restart() {
    let file = File::new("restart");
    let first = server(&file, true);
    let mut ann = press(&first);
    let has_leader =
        |value: Option<&Value>| value.and_then(Value::as_array) == Some(&vec!["ann-s".into(), 1.into()]);
    ann.receive_until(PATIENCE, |packet| has_leader(packet.get("leaders"))).expect("after the round");
    first.stop();
    let second = server(&file, true);
    let mut ann = press(&second);
    ann.receive_until(PATIENCE, |packet| has_leader(packet.get("leaders"))).expect("at once");
    second.stop();
    assert_eq!(Database::open(&file.0).and_then(|database| database.leaders()), Ok(vec![leader("ann-s", 1)]));
}

#[test]
fn a_player_without_an_account_has_no_place() {
    let file = File::new("guests");
    let server = server(&file, false);
    let mut ann = press(&server);
    let count = |value: Option<&Value>| Some(value?.as_array()?.get(2)?.as_u64());
    ann.receive_until(PATIENCE, |packet| count(packet.get("pressers")) == Some(Some(1))).expect("pressed");
    ann.receive_until(PATIENCE, |packet| count(packet.get("pressers")) == Some(Some(0)))
        .expect("a new round");
    server.stop();
    assert_eq!(Database::open(&file.0).and_then(|database| database.leaders()), Ok(Vec::new()));
}

#[test]
fn leaders_are_in_order_and_a_worse_result_changes_nothing() {
    let database = Database::open(Path::new(":memory:")).expect("a database");
    for (account, presses) in [("bob", 5), ("ann", 5), ("cyd", 9), ("ann", 3), ("bob", 7)] {
        database.store(account, presses).expect("stored");
    }
    assert_eq!(database.leaders(), Ok(vec![leader("cyd", 9), leader("bob", 7), leader("ann", 5)]));
}

#[test]
fn the_world_has_no_state_beside_its_snapshots() {
    tickwire::synctest::<Simple<Presses>>(300, 1).unwrap_or_else(|why| panic!("{why}"));
}
