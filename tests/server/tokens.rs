//! Who may play, in a whole server: each way to say a token, what those without one may do, and that no token is found where
//! others can read.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use tickwire::Server;
use tickwire::internal::games;
use tickwire::internal::games::moo::Moo;
use tickwire::internal::limits;
use tickwire::internal::packet::credentials;
use tickwire::internal::server::journal::JournalSnapshot;
use tickwire::internal::server::net::console::Source;
use tickwire::internal::server::net::recorder::CaptureTarget;
use tickwire::internal::server::net::{PlayAccess, ServerHandle, Tokens};
use tickwire::internal::tools::replay;
use tickwire::packet::{Direction, PacketTables, Value};
use tungstenite::Message;
use tungstenite::client::IntoClientRequest as _;

use crate::clients::Native;
use crate::journal::Directory;
use crate::program::{Program, tickwire};
use crate::replay::File;
use crate::support::{PATIENCE, Peer, server_with};

const ANN: &str = "anns-token-0123456789";
const BOB: &str = "bobs.token~987654321";
const CYD: &str = "CYDS-TOKEN-abcdefghij";
const DAN: &str = "dans=token+zyxwvutsrq";
/// The key of a page.
const KEY: &str = "00112233445566778899aabbccddeeff";
/// Nobody has it.
const WRONG: &str = "a-wrong-token-of-the-test";
const FILE: &str = "ann anns-token-0123456789\nbob bobs.token~987654321\ncyd CYDS-TOKEN-abcdefghij\ndan dans=token+zyxwvutsrq\n";

fn guarded(text: &str, spectators: bool) -> ServerHandle {
    let tokens = Some(Tokens::read(text).expect("a token file"));
    server_with(|config| config.players = PlayAccess { tokens, spectators })
}

/// Subprotocols of a page with a key and a token.
fn offer(key: &str, token: &str) -> String {
    format!("tickwire.v1, {}, {}", credentials::keyed(key), credentials::bearer(token))
}

/// Upgrades as a page does, which the server answers with its subprotocol alone.
fn connect_as_page(address: SocketAddr, path: &str, token: &str) -> Native {
    let headers = [("Sec-WebSocket-Protocol", &*offer(KEY, token))];
    let (peer, selected) = Peer::try_connect_with(address, path, &headers).expect("the upgrade");
    assert_eq!(selected.as_deref(), Some("tickwire.v1"), "no secret is selected");
    Native { peer }
}

/// A client with a token as a subprotocol; mode 0 spectates.
fn greet(address: SocketAddr, path: &str, mode: u8, token: Option<&str>) -> Native {
    let mut native = match token {
        Some(token) => connect_as_page(address, path, token),
        None => Native { peer: Peer::connect(address, path) },
    };
    native.say("hello", &[1.into(), mode.into(), "Ann".into(), 2.into()]);
    native
}

/// The player of a client that plays with a token.
fn play(address: SocketAddr, token: &str) -> (Native, u64) {
    let mut native = greet(address, "/play", 1, Some(token));
    let player = native.hear("spawned")[0].as_u64().expect("a number");
    (native, player)
}

/// A client of a dialect without hello, with a token in its path, and the player that it gets.
fn play_letters(address: SocketAddr, token: &str) -> (Peer, u64) {
    let dialect = PacketTables::builtin().dialect("letters").expect("built in");
    let mut peer = Peer::connect(address, &format!("/server?token={token}"));
    let profile = Value::Map(vec![
        ("name".into(), "Cyd".into()),
        ("moofoll".into(), true.into()),
        ("skin".into(), 1.into()),
    ]);
    peer.send(&dialect.encode(Direction::ToServer, "enter_game", &[profile]).expect("fits"));
    let is_setup = |message: &[u8]| {
        dialect.decode(Direction::ToClient, message).is_ok_and(|packet| packet.row.name == "setup")
    };
    let setup = peer.receive_until(is_setup).expect("a body");
    let packet = dialect.decode(Direction::ToClient, &setup).expect("our own");
    (peer, packet.values[0].as_u64().expect("a number"))
}

#[test]
fn a_later_connection_with_the_token_takes_the_seat_over_whichever_way_it_says_it() {
    let server = guarded(FILE, false);
    let address = server.address();
    let (mut one, player) = play(address, ANN);
    let (mut other, of_bob) = play(address, BOB);
    assert_ne!(player, of_bob);
    let by_query = format!("/play?inspect_key=00112233445566778899aabbccddeeff&token={ANN}");
    let (mut two, _, again) = Native::play_at(address, &by_query, "Ann");
    assert_eq!(again, player, "the key of the page does not matter");
    assert_eq!(one.peer.receive_close(), "1008 taken_over");
    let (mut three, again) = play_letters(address, ANN);
    assert_eq!(again, player);
    assert_eq!(two.peer.receive_close(), "1008 taken_over");
    let mut four = greet(address, &format!("/play?token={BOB}"), 1, Some(ANN));
    assert_eq!(four.hear("spawned")[0].as_u64(), Some(player));
    assert!(three.receive_close().contains("taken_over"));
    let told = server.console().run("players", Source::Program).expect("told");
    assert!(told.text.contains("token ann") && told.text.contains("token bob"), "{}", told.text);
    other.say("ping", &[7.into()]);
    other.hear("pong");
    server.stop();
}

#[test]
fn a_token_is_said_as_a_subprotocol_which_goes_before_one_in_the_query() {
    let server = guarded(FILE, false);
    let address = server.address();
    let (mut one, player) = play(address, ANN);
    let mut two = connect_as_page(address, &format!("/play?token={BOB}"), ANN);
    two.say("hello", &[1.into(), 1.into(), "Ann".into(), 2.into()]);
    assert_eq!(two.hear("spawned")[0].as_u64(), Some(player));
    assert_eq!(one.peer.receive_close(), "1008 taken_over");
    // Another name than `bearer`, or what is no base64url of UTF-8, is no token.
    for offered in ["tickwire.v1, token.YW5ucy10b2tlbi0wMTIzNDU2Nzg5", "tickwire.v1, bearer.**", "bearer._w"]
    {
        let headers = [("Sec-WebSocket-Protocol", offered)];
        let closed = Peer::try_connect_with(address, "/play", &headers).map(|(peer, _)| {
            let mut native = Native { peer };
            native.peer.receive_close()
        });
        // The other library gives up an upgrade without a selected subprotocol.
        assert!(closed.is_err() || closed == Ok("1008 token_missing".to_owned()), "{offered}: {closed:?}");
    }
    server.stop();
}

#[test]
fn a_key_as_a_subprotocol_brings_a_page_back_to_its_player() {
    let server = server_with(|config| config.seat_time = std::time::Duration::from_secs(60));
    let address = server.address();
    let mut player = None;
    for path in ["/play", "/play?inspect_key=ffeeddccbbaa99887766554433221100"] {
        let headers = [("Sec-WebSocket-Protocol", &*format!("tickwire.v1, {}", credentials::keyed(KEY)))];
        let (peer, _) = Peer::try_connect_with(address, path, &headers).expect("the upgrade");
        let mut native = Native { peer };
        native.say("hello", &[1.into(), 1.into(), "Ann".into(), 2.into()]);
        let spawned = native.hear("spawned")[0].as_u64();
        assert_eq!(*player.get_or_insert(spawned), spawned);
    }
    let (_, _, again) = Native::play_at(address, &format!("/play?inspect_key={KEY}"), "Ann");
    assert_eq!(player, Some(Some(again)), "by the query, as by the subprotocol");
    server.stop();
}

#[test]
fn a_key_of_a_page_is_no_way_to_the_seat_of_a_token() {
    let server = guarded(FILE, true);
    let path = "/play?inspect_key=00112233445566778899aabbccddeeff";
    let mut ann = greet(server.address(), path, 1, Some(ANN));
    ann.hear("spawned");
    let mut thief = greet(server.address(), path, 1, None);
    assert_eq!(thief.hear("error")[0], Value::from("token_missing"));
    thief.say("join", &["Ann".into(), 1.into()]);
    assert_eq!(thief.hear("error")[0], Value::from("token_missing"));
    server.stop();
}

#[test]
fn without_a_token_one_is_closed_or_watches_and_with_an_empty_file_everyone_watches() {
    let server = guarded(FILE, false);
    for path in ["/play", "/play?token="] {
        // Before it has sent anything.
        let mut silent = Peer::connect(server.address(), path);
        assert_eq!(silent.receive_close(), "1008 token_missing");
    }
    let mut letters = Peer::connect(server.address(), "/server");
    assert_eq!(letters.receive().expect("a packet"), b"\x92\xa1B\x91\xadtoken_missing", "disconnect");
    assert_eq!(letters.receive_close(), "1008 token_missing");
    server.stop();
    for (text, spectators, token) in [(FILE, true, None), ("", false, None), ("# nobody", true, Some(WRONG))]
    {
        let server = guarded(text, spectators);
        let mut native = greet(server.address(), "/play", 0, token);
        native.hear("welcome");
        native.hear("leaderboard");
        native.say("join", &["Ann".into(), 1.into()]);
        assert_eq!(native.hear("error")[0], Value::from("token_missing"));
        assert!(
            server.metrics_text().contains("tickwire_commands_rejected_total{reason=\"token_missing\"} 1")
        );
        server.stop();
    }
}

/// A client with a wrong token, in one of many ways, which then sends something else at once: it is closed after the delay,
/// and is told nothing before.
fn is_closed_after_the_delay(address: SocketAddr, way: u32) {
    let asked = Instant::now();
    let mut peer = match way % 2 {
        0 => connect_as_page(address, "/play", WRONG).peer,
        _ => Peer::connect(address, &format!("/server?token={WRONG}")),
    };
    let bytes: &[u8] = match way / 2 {
        0 => b"",
        1 => b"\x82\x81\x00\x00\x00\x00\xc1",
        2 => b"\x81\x82\x00\x00\x00\x00[]",
        3 => &[0xff; 9],
        _ => b"\x89\x80\x00\x00\x00\x00",
    };
    peer.stream().write_all(bytes).expect("sent");
    peer.stream().peek(&mut [0]).expect("an answer");
    assert!(asked.elapsed() >= limits::WRONG_TOKEN_DELAY, "way {way}: after {:?}", asked.elapsed());
    assert!(peer.receive_close().ends_with("token_wrong"), "way {way}");
    peer.close();
}

#[test]
fn a_wrong_token_is_closed_after_a_constant_delay_and_many_do_not_shut_out_the_right_one() {
    let server = guarded(FILE, true);
    let address = server.address();
    let wrong: Vec<JoinHandle<()>> = (0..limits::MAX_WRONG_TOKENS)
        .map(|at| thread::spawn(move || is_closed_after_the_delay(address, at)))
        .collect();
    wrong.into_iter().for_each(|client| client.join().expect("it is closed in time"));
    let asked = Instant::now();
    let mut another = greet(address, "/play", 0, Some(WRONG));
    greet(address, "/play", 0, Some(ANN)).hear("welcome");
    assert_eq!(another.peer.receive_close(), "1008 too_many_token_attempts");
    another.peer.close();
    assert!(asked.elapsed() >= limits::WRONG_TOKEN_DELAY);
    greet(address, "/play", 0, None).hear("welcome");
    let metrics = server.metrics_text();
    let counted =
        format!("tickwire_clients_closed_total{{rule=\"token_wrong\"}} {}", limits::MAX_WRONG_TOKENS);
    assert!(metrics.contains(&counted), "{metrics}");
    assert!(
        metrics.contains("tickwire_clients_closed_total{rule=\"too_many_token_attempts\"} 1"),
        "{metrics}"
    );
    server.stop();
}

/// What a watcher of a client is sent at `/wire` until the server ends. It watches when this returns.
fn watched(address: SocketAddr, client: u64) -> JoinHandle<Vec<u8>> {
    let stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let request = format!("ws://{address}/wire").into_client_request().expect("a request");
    let (mut socket, _) = tungstenite::client(request, stream).expect("from this machine");
    socket.send(Message::Text(format!(r#"{{"select":{client}}}"#).into())).expect("sent");
    let mut seen = Vec::new();
    while !holds(&seen, b"GET /") {
        seen.extend_from_slice(&socket.read().expect("the request of the client").into_data());
    }
    thread::spawn(move || {
        while let Ok(message) = socket.read() {
            seen.extend_from_slice(&message.into_data());
        }
        seen
    })
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// The text of a page of this server.
fn page(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes()).expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    text
}

/// Fails if some bytes contain a token: as it is, escaped, in hexadecimal, or masked.
fn is_without_tokens(place: &str, bytes: &[u8]) {
    // The differences of bytes over four do not depend on the key of a mask.
    let masked =
        |bytes: &[u8]| bytes.iter().zip(&bytes[4..]).map(|(one, next)| one ^ next).collect::<Vec<u8>>();
    for token in [ANN, BOB, CYD, DAN, WRONG] {
        let escaped = token.replace('+', "%2B").replace('=', "%3D");
        let hex: String = token.bytes().map(|byte| format!("{byte:02x}")).collect();
        let coded = credentials::bearer(token);
        for spelling in [token, &escaped, &hex, &coded["bearer.".len()..], KEY] {
            assert!(!holds(bytes, spelling.as_bytes()), "{token} in {place}");
        }
        assert!(!holds(&masked(bytes), &masked(token.as_bytes())), "{token} in {place}, masked");
    }
}

/// Clients that say their tokens in every way, each beside a watcher. Returns what the watchers will have seen, and the
/// clients that play.
fn say_tokens(address: SocketAddr) -> (Vec<JoinHandle<Vec<u8>>>, [Peer; 4]) {
    let mut watchers = Vec::new();
    let mut ann = connect_as_page(address, "/play", ANN);
    watchers.push(watched(address, 1));
    ann.say("hello", &[1.into(), 1.into(), "Ann".into(), 2.into()]);
    ann.hear("spawned");
    let mut bob = Peer::connect(address, &format!("/play?format=json&token={BOB}"));
    watchers.push(watched(address, 2));
    for _ in 0..2 {
        bob.send_text(r#"["hello",[1,1,"Bob",0]]"#);
    }
    bob.receive_until(|message| message.starts_with(b"[3,[")).expect("spawned");
    let (cyd, _) = play_letters(address, CYD);
    let mut dan = connect_as_page(address, "/play", DAN);
    dan.say("hello", &[1.into(), 1.into(), "Dan".into(), 2.into()]);
    dan.hear("spawned");
    watchers.extend([3, 4].map(|client| watched(address, client)));
    let mut wrong = Native { peer: Peer::connect(address, &format!("/play?token={WRONG}")) };
    watchers.push(watched(address, 5));
    wrong.say("hello", &[1.into(), 0.into()]);
    wrong.say("ping", &[5.into()]);
    ann.say("chat", &[1.into(), Value::Nil, "the end".into()]);
    ann.hear("chat");
    assert_eq!(wrong.peer.receive_close(), "1008 token_wrong");
    wrong.peer.close();
    (watchers, [ann.peer, bob, cyd, dan.peer])
}

#[test]
fn no_token_is_found_in_a_capture_the_log_at_wire_in_metrics_in_pages_or_in_a_save() {
    let capture = File::new("tokens");
    let directory = capture.0.with_extension("saves");
    fs::create_dir_all(&directory).expect("a folder");
    let mut command = tickwire(&["--bind", "127.0.0.1:0", "--spectators", "--log", "trace", "--capture"]);
    command.arg(&capture.0).arg("--save-dir").arg(&directory).env("TICKWIRE_TOKENS", FILE);
    let mut program = Program::start(&mut command);
    assert!(program.banner.contains("4 tokens for players; clients without one watch"), "{}", program.banner);
    let (watchers, _players) = say_tokens(program.address);
    let pages = ["/metrics", "/rooms", "/rooms?format=json", "/healthz"];
    let pages = pages.map(|path| page(program.address, path)).concat();
    assert!(pages.contains("tickwire_clients_closed_total{rule=\"token_wrong\"} 1"), "{pages}");
    program.type_only("players");
    let roster: String = (0..5).map(|_| program.answer() + "\n").collect();
    assert!(
        ["ann", "bob", "cyd", "dan"].iter().all(|name| roster.contains(&format!("token {name}\n"))),
        "{roster}"
    );
    let saved = program.type_line("save");
    let log = program.stop();
    assert!(log.contains("token_name=\"ann\""), "{log}");
    let seen: Vec<Vec<u8>> = watchers.into_iter().map(|watcher| watcher.join().expect("it ends")).collect();
    assert!(seen.iter().all(|seen| seen.len() > 500));
    let recorded = fs::read(&capture.0).expect("the capture");
    let saves = fs::read_dir(&directory).expect("the folder");
    let saves = saves.map(|entry| fs::read(entry.expect("an entry").path()).expect("a file"));
    let save: Vec<u8> = saves.flatten().collect();
    assert!(save.len() > 1_000, "{saved}");
    let _ = fs::remove_dir_all(&directory);
    for (place, bytes) in [
        ("capture", &recorded[..]),
        ("/wire", &seen.concat()),
        ("log", log.as_bytes()),
        ("pages", pages.as_bytes()),
        ("players", roster.as_bytes()),
        ("save", &save),
    ] {
        is_without_tokens(place, bytes);
    }
    assert!(holds(&recorded, b"token=xxx"), "the requests are there");
    assert!(holds(&recorded, b"tickwire.v1, key.xxx"), "the subprotocols are there");
    let report = replay::json::of_file(&recorded, games::INFO, None).expect("a capture");
    assert_eq!(report["verdict"], "same", "{report:#}");
}

#[test]
fn a_journal_does_not_contain_tokens_and_its_seats_are_those_of_the_tokens() {
    let directory = Directory::new("tokens");
    let server = Server::for_game::<Moo>().tokens([("ann", ANN)]).journal(&directory.0);
    let server = server.start().expect("a free port");
    let (_ann, player) = play(server.address(), ANN);
    server.stop();
    let files = fs::read_dir(directory.0.join("_default")).expect("a directory");
    let files = files.map(|entry| fs::read(entry.expect("a file").path()).expect("read"));
    let files: Vec<Vec<u8>> = files.collect();
    files.iter().for_each(|bytes| is_without_tokens("the journal", bytes));
    let mut worlds = files.iter().filter_map(|bytes| JournalSnapshot::decode(bytes).ok());
    assert!(worlds.any(|world| world.seats.iter().map(|seat| u64::from(seat.player.0)).eq([player])));
}

/// What the program says when it does not start with these arguments and this variable.
fn refused(arguments: &[&str], variable: Option<&str>) -> String {
    let mut command = tickwire(&[&["--bind", "127.0.0.1:0"], arguments].concat());
    command.stdin(Stdio::null()).envs(variable.map(|text| ("TICKWIRE_TOKENS", text)));
    let output = command.output().expect("the program runs");
    assert!(!output.status.success(), "{arguments:?}");
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn tokens_that_cannot_be_used_are_refused_without_being_shown() {
    let file = File::new("tokens-file");
    let path = file.0.to_str().expect("text");
    fs::write(&file.0, format!("# players\nann {ANN}\nbob {ANN}\n")).expect("written");
    let with_file = ["--token-file", path];
    for (arguments, variable, expected) in [
        (
            &with_file[..],
            None,
            format!("tickwire: --token-file {path}: line 3: another name has this token\n"),
        ),
        (
            &[],
            Some("ann anns-token"),
            "tickwire: TICKWIRE_TOKENS: line 1: the token must have 16 to 256 characters\n".to_owned(),
        ),
        (
            &[],
            Some(&format!("ann {ANN};{BOB}")[..]),
            "tickwire: TICKWIRE_TOKENS: line 2: must be a name and a token, separated by a blank\n"
                .to_owned(),
        ),
        (
            &with_file,
            Some(FILE),
            "tickwire: --token-file and TICKWIRE_TOKENS cannot be combined: use one of them\n".to_owned(),
        ),
        (
            &["--spectators"],
            None,
            "tickwire: --spectators needs --token-file or TICKWIRE_TOKENS: without, everyone plays\n"
                .to_owned(),
        ),
        (
            &["--token-file", "/"],
            None,
            format!(
                "tickwire: --token-file /: must be a file of at most {} bytes\n",
                limits::TOKEN_FILE_BYTES
            ),
        ),
    ] {
        assert_eq!(refused(arguments, variable), expected);
    }
    let gone = refused(&["--token-file", "/nowhere"], None);
    assert!(gone.starts_with("tickwire: --token-file /nowhere: No such file"), "{gone}");
}

#[test]
fn a_file_that_everyone_can_read_is_used_with_a_warning_and_an_empty_one_lets_nobody_play() {
    let file = File::new("tokens-open");
    for (mode, text, is_warned, banner) in [
        (0o644, format!("ann {ANN}\n"), true, "  1 token for players; clients without one are closed\n"),
        (0o640, "# nobody\n".to_owned(), false, "  nobody plays: there are no tokens, so everyone watches\n"),
    ] {
        fs::write(&file.0, text).expect("written");
        fs::set_permissions(&file.0, fs::Permissions::from_mode(mode)).expect("its owner may");
        let mut command = tickwire(&["--bind", "127.0.0.1:0", "--token-file"]);
        let mut program = Program::start(command.arg(&file.0));
        assert!(program.banner.contains(banner), "{}", program.banner);
        let log = program.stop();
        assert_eq!(log.contains("make it private with chmod 600"), is_warned, "{log}");
    }
}

#[test]
fn a_capture_of_those_who_may_not_play_comes_out_the_same() {
    for spectators in [false, true] {
        let (server, file) = (guarded(FILE, spectators), File::new(&format!("tokens-{spectators}")));
        server.capture(CaptureTarget::File(file.0.clone())).expect("a new file");
        let address = server.address();
        let (mut ann, _) = play(address, ANN);
        let mut without = greet(address, "/play", 1, None);
        without.say("ping", &[5.into()]);
        let mut letters = Peer::connect(address, "/server");
        letters.send(b"\x92\xa1M\x91\x81\xa4name\xa1x");
        if spectators {
            assert_eq!(without.hear("error")[0], Value::from("token_missing"));
            without.hear("pong");
            letters.receive_until(|message| message.starts_with(b"\x92\xa1A")).expect("init_data");
        } else {
            assert_eq!(without.peer.receive_close(), "1008 token_missing");
            assert!(letters.receive_close().contains("token_missing"));
        }
        let mut wrong =
            [greet(address, "/play", 0, Some(WRONG)).peer, Peer::connect(address, "/server?token=x")];
        wrong[0].send(b"\x92\x06\x91\x05");
        wrong[1].send(b"\xc1");
        let mut leaves = greet(address, "/play", 0, Some(WRONG)).peer;
        leaves.close();
        for peer in &mut wrong {
            assert_eq!(peer.receive_close(), "1008 token_wrong");
        }
        ann.say("ping", &[7.into()]);
        ann.hear("pong");
        server.stop();
        let report = replay::json::of_file(&fs::read(&file.0).expect("the file"), games::INFO, None);
        let report = report.expect("a capture");
        assert_eq!(report["verdict"], "same", "{spectators}: {report:#}");
    }
}
