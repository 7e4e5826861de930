//! A server in a program of one's own, by the public modules alone, and clients of it.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::Duration;

use tickwire::client::blocking_client::{BlockingClient, ReceivedPacket};
use tickwire::game::OperatorCommandError;
use tickwire::game::simple::Simple;
use tickwire::internal::games::tanks::Tanks;
use tickwire::packet::Value;
use tickwire::{RoomSpec, RunningServer, Server, StartError};

use crate::program_of_pong::Pong;
use crate::program_of_units::Units;

const SOON: Duration = Duration::from_secs(10);

/// A player in the room at this path.
fn player(server: &RunningServer, room: &str, dialect: &str) -> BlockingClient {
    let url = format!("ws://{}{room}/play", server.address()).parse().expect("a URL");
    let dialect = server.tables().dialect(dialect).expect("a dialect of the server");
    let mut talk: BlockingClient = BlockingClient::connect(&url, None, dialect).expect("a place");
    talk.send("hello", &[1.into(), 1.into(), "Ann".into()]).expect("open");
    talk.receive_until(SOON, |packet| packet.name == "spawned").expect("a body");
    talk
}

/// The x of a unit in a state.
fn x_of(state: &ReceivedPacket, unit: u64) -> Option<u64> {
    let units = state.get("units")?.as_array()?;
    let unit = units.chunks(4).find(|one| one[0].as_u64() == Some(unit))?;
    unit[2].as_u64()
}

#[test]
fn two_servers_in_one_process_are_played_with_the_client() {
    let units = RoomSpec::for_game::<Simple<Units>>().seed(7).tick_hz(20).max_clients(1);
    let both = Server::for_game::<Simple<Pong>>().room("units", units).start().expect("two games");
    let pong = Server::for_game::<Simple<Pong>>().start().expect("the same game once more");
    assert_ne!(both.address(), pong.address());

    let mut ann = player(&both, "/r/units", "units");
    let state = ann.receive_until(SOON, |packet| packet.name == "state").expect("a state");
    let own = state.get("units").and_then(Value::as_array).expect("a list")[0].clone();
    let march = [1.into(), Value::Nil, Value::Array(vec![own.clone()]), 600.into(), 200.into()];
    ann.send("march", &march).expect("open");
    let own = own.as_u64().expect("a number");
    ann.receive_until(SOON, |packet| x_of(packet, own) == Some(600)).expect("the unit has arrived");

    let misspelt = ann.send("marsh", &[]).expect_err("no such packet");
    assert_eq!(misspelt.kind(), ErrorKind::InvalidInput);
    let mut bob = player(&pong, "", "pong");
    bob.receive_until(SOON, |packet| packet.name == "state").expect("a state");
    assert!(both.command("room units players").expect("a room").contains("Ann"));
    assert!(!both.command("players").expect("the default room").contains("Ann"));

    // The clients of a server that stops are told; the other server goes on.
    both.stop();
    while ann.receive(SOON).expect("no error before the end").is_some() {}
    assert!(ann.close_reason().expect("ended").starts_with("1001 "), "{:?}", ann.close_reason());
    bob.send("ping", &[7.into()]).expect("open");
    bob.receive_until(SOON, |packet| packet.name == "pong").expect("an answer");
}

#[test]
fn a_dropped_server_is_gone_and_its_operator_can_ask_for_the_end() {
    let server = Server::for_game::<Simple<Units>>().start().expect("a free port");
    let address = server.address();
    let unknown = server.command("dance").expect_err("unknown");
    assert!(matches!(&unknown, OperatorCommandError::Usage(text) if text.contains("dance")), "{unknown}");
    let absent = server.command("unban 192.0.2.1").expect_err("not banned");
    assert!(matches!(&absent, OperatorCommandError::Failed(text) if text.contains("not banned")), "{absent}");
    assert!(server.metrics().contains("tickwire_"), "{}", server.metrics());
    let taken = Server::for_game::<Simple<Units>>().bind(address).start().expect_err("in use");
    assert!(matches!(&taken, StartError::System(error) if error.kind() == ErrorKind::AddrInUse), "{taken}");
    assert!(!server.is_stop_requested());
    server.command("stop").expect("carried out");
    assert!(server.is_stop_requested());
    drop(server);
    let refused = TcpStream::connect(address).expect_err("nobody listens");
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn a_wrong_setting_is_named_with_its_rule() {
    let server = Server::for_game::<Simple<Units>>;
    let room = RoomSpec::for_game::<Simple<Units>>;
    let rows = [
        (server().bind("here"), "bind: \"here\" must be ADDRESS:PORT, such as 127.0.0.1:3000"),
        (server().room("Two", room()), "the room \"Two\": a room's name must be 1 to 32 of a-z, 0-9 and -"),
        (server().room("a", room()).room("a", room()), "the room \"a\": two rooms have this name"),
        (
            Server::with_room(RoomSpec::for_game::<Simple<Pong>>().tick_hz(31)),
            "the default room: tick_hz 31: must be 30 or 60",
        ),
        (server().room("a", room().update_hz(0)), "the room \"a\": update_hz 0: must be at least 1"),
        (server().room("a", room().max_clients(0)), "the room \"a\": max_clients 0: must be at least 1"),
        (
            server().room("a", room().option("size", 1)),
            "the room \"a\": size: unknown option; those of units are: none",
        ),
        (
            Server::with_room(RoomSpec::for_game::<Simple<Tanks>>().option("round", 1)),
            "the default room: round 1: must be 5 to 3600",
        ),
        (server().max_clients(0), "max_clients: 0: must be at least 1"),
        (server().admin_token("short"), "admin_token: the token for /admin must have 16 to 256 characters"),
        (server().tokens([("ann", "short")]), "tokens: the token must have 16 to 256 characters"),
        (server().tokens([("ann", "a-token-of-the-test"); 2]), "tokens: another token has this name"),
        (server().rooms_on_demand(9_999), "rooms: 10000 with those on demand: must be at most 1024"),
        (server().capture("/nowhere/a.pcapng"), "capture: "),
        (server().token_file("/nowhere/tokens"), "tokens: /nowhere/tokens: "),
        (server().resume_time(SOON * 1_000), "resume_time: 10000s: must be at most 3600s"),
        (
            server().trusted_proxy("10.0.0.1/8"),
            "trusted_proxy: 10.0.0.1/8: all bits after the first 8 must be 0",
        ),
        (server().snapshot_interval_ticks(0), "snapshot_interval_ticks: 0: must be 1 to "),
        (server().checksum_interval_ticks(u32::MAX), "checksum_interval_ticks: 4294967295: must be 1 to "),
        (server().save_dir("/nowhere"), "save_dir: /nowhere: no such directory"),
        (server().capture_rotation(0, None), "capture_rotation: 0: must be at least 1"),
        (server().database("/nowhere/server.db"), "database: --database /nowhere/server.db: "),
        (
            Server::with_room(room().restore("/nowhere/world")).journal("journal"),
            "journal: cannot be combined with restore of a room",
        ),
        (Server::with_room(room().restore("/nowhere/world")), "the default room: restore /nowhere/world: "),
        (
            server().room("a", room().foreign_update_hz(0)),
            "the room \"a\": foreign_update_hz 0: must be at least 1",
        ),
    ];
    for (server, expected) in rows {
        let wrong = server.start().expect_err(expected).to_string();
        assert!(wrong.starts_with(expected), "{wrong}");
    }
}
