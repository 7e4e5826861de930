//! `tickwire connect` at a live server: packets in all forms, broken frames and what becomes of them, scripts that fail.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Output;
use std::thread::{self, JoinHandle};

use tickwire::ws::http::HeadReader;
use tickwire::ws::{HeadLimits, handshake};

use crate::program::tickwire;
use crate::support;
use crate::support::PATIENCE;

/// Runs a script at a server of its own; gives the exit code, what was printed and the errors.
fn talk(flags: &[&str], script: &str) -> (Option<i32>, Vec<String>, String) {
    let server = support::server();
    let outcome = talk_to(server.address(), flags, script);
    server.stop();
    outcome
}

fn talk_to(address: SocketAddr, flags: &[&str], script: &str) -> (Option<i32>, Vec<String>, String) {
    talk_at(&format!("ws://{address}"), flags, script)
}

fn talk_at(url: &str, flags: &[&str], script: &str) -> (Option<i32>, Vec<String>, String) {
    let arguments = [&["connect", url], flags].concat();
    let mut child = tickwire(&arguments).env_remove("NO_COLOR").spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("piped");
    // Who has failed already does not read to the end.
    let _ = stdin.write_all(patient(script).as_bytes());
    drop(stdin);
    let Output { status, stdout, stderr } = child.wait_with_output().expect("the program ends");
    let out = String::from_utf8(stdout).expect("text");
    (status.code(), out.lines().map(str::to_owned).collect(), String::from_utf8(stderr).expect("text"))
}

/// The script with time enough for a loaded machine, wherever it says none.
fn patient(script: &str) -> String {
    let patience = PATIENCE.as_secs();
    let lines = script.lines().map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
        ["expect", name] => format!("expect {name} {patience}\n"),
        _ => format!("{line}\n"),
    });
    lines.collect()
}

fn count(lines: &[String], part: &str) -> usize {
    lines.iter().filter(|line| line.contains(part)).count()
}

#[test]
fn packets_are_typed_in_all_forms_and_everything_is_shown() {
    let script = "\
        # a player comes\n\
        hello version=1 mode=1 name=ann skin=3\n\
        expect welcome\n\
        expect spawned\n\
        [\"chat\", {\"sequence\": 1, \"text\": \"hi there\"}]\n\
        expect chat\n\
        [\"ping\", [77]]\n\
        expect pong\n\
        ping are you there\n\
        expect pong\n\
        packets\n\
        quit\n";
    let (code, lines, errors) = talk(&[], script);
    assert_eq!((code, errors.as_str()), (Some(0), ""), "{lines:#?}");
    assert_eq!(lines[0], "> GET /play HTTP/1.1, asks for the upgrade");
    assert_eq!(lines[1], "< HTTP/1.1 101 Switching Protocols, grants the upgrade");
    for part in [
        "> binary, masked, 10 bytes: hello version=1 mode=1 name=\"ann\" skin=3 resume_tick=null",
        ": welcome version=1",
        ": chat sequence=1 tick=null text=\"hi there\"",
        ": ping nonce=77",
        "pong nonce=77",
        "> ping, masked, 13 bytes: 61 72 65",
        "< pong, 13 bytes: 61 72 65",
        ": update tick=",
        "> close, masked, 2 bytes: close 1000 normal",
        "< close, 2 bytes: close 1000 normal",
        "   3  move          sequence:u32",
    ] {
        assert!(count(&lines, part) > 0, "no {part:?} in {lines:#?}");
    }
    assert_eq!(lines.last().map(String::as_str), Some("the connection has ended"));
}

#[test]
fn a_broken_frame_goes_out_and_its_rule_comes_back() {
    for (frame, rule, close) in [
        ("81 05 48656c6c6f", "mask_missing", "1002"),
        ("c1 80 00000000", "reserved_bit", "1002"),
        ("82 81 00000000 c1", "packet_reserved_byte", "1007"),
        ("88 82 00000000 03ed", "close_code_invalid", "1002"),
    ] {
        let script = format!("hex {frame}\nexpect {rule}\n");
        let (code, lines, errors) = talk(&[], &script);
        assert_eq!((code, errors.as_str()), (Some(0), ""), "{lines:#?}");
        let said: Vec<&String> = lines.iter().filter(|line| line.contains(rule)).collect();
        assert_eq!(said.len(), 2, "{lines:#?}");
        assert!(
            said[0].starts_with('>') && said[0].contains("close ") && said[0].contains(close),
            "{}",
            said[0]
        );
        assert!(said[1].starts_with("< close") && said[1].contains(close), "{}", said[1]);
    }
}

#[test]
fn quiet_packets_are_hidden_but_can_be_expected() {
    let script =
        "hello version=1 mode=1\nexpect update\nexpect stats\nmove sequence=1 direction=0\nexpect update\n";
    let (code, lines, _) = talk(&["--quiet", "update", "--quiet", "13"], script);
    assert_eq!(code, Some(0), "{lines:#?}");
    assert_eq!((count(&lines, "update "), count(&lines, "stats ")), (0, 0), "{lines:#?}");
    assert!(count(&lines, "welcome ") == 1, "{lines:#?}");
    let (_, lines, _) = talk(&[], script);
    assert!(count(&lines, "update ") >= 2 && count(&lines, "stats ") >= 1, "{lines:#?}");
}

#[test]
fn a_name_that_nothing_has_cannot_be_quiet() {
    for (dialect, name, is_known) in
        [("native", "updaet", false), ("native", "13", true), ("legacy", "33", true), ("native", "99", false)]
    {
        let (code, _, errors) = talk(&["--dialect", dialect, "--quiet", "ping", "--quiet", name], "");
        assert_eq!(code, Some(if is_known { 0 } else { 1 }), "{name}: {errors}");
        let hint = format!("--quiet: {dialect} has no packet {name:?} (`tickwire codes` lists the packets)");
        assert_eq!(errors.contains(&hint), !is_known, "{errors}");
    }
}

#[test]
fn other_dialects_and_json_have_their_paths() {
    let script = "[\"enter_game\", [{\"name\": \"bob\", \"skin\": 1}]]\nexpect setup\n";
    let (code, lines, errors) = talk(&["--dialect", "legacy", "--quiet", "load_objects"], script);
    assert_eq!((code, errors.as_str()), (Some(0), ""), "{lines:#?}");
    assert!(lines[0].contains("GET / ") && count(&lines, ": enter_game ") == 1, "{lines:#?}");

    let script = "hello version=1 mode=0\nexpect welcome\n[\"ping\", {\"nonce\": 5}]\nexpect pong\n";
    let (code, lines, errors) = talk(&["--format", "json"], script);
    assert_eq!((code, errors.as_str()), (Some(0), ""), "{lines:#?}");
    assert!(lines[0].contains("GET /play?format=json "), "{}", lines[0]);
    assert_eq!(count(&lines, "> text, masked, 7 bytes: ping nonce=5"), 1, "{lines:#?}");
    assert_eq!(count(&lines, "< text, "), count(&lines, "< ") - 2, "all but the upgrade and the close");
}

#[test]
fn a_drawing_for_each_frame_when_it_is_asked_for() {
    let (code, lines, _) = talk(&["--full"], "ping nonce=9\n");
    assert_eq!(code, Some(0));
    assert!(count(&lines, "|F|R|R|R|opcode") >= 3 && count(&lines, "sec-websocket-key") == 1, "{lines:#?}");
}

#[test]
fn a_script_that_fails_says_at_which_line() {
    for (script, complaint) in [
        ("wait 0.1\nexpect welcome 0.2\n", "line 2: expected welcome, which did not arrive within 0.2 s"),
        ("hello version=1 mode=0\nfly\n", "line 2: native has no packet \"fly\""),
        ("chat sequence=fast text=a\n", "line 1: chat: argument sequence"),
        ("close 1000\nexpect close\nwait 5\nping\n", "line 4: the connection has ended"),
        ("close\nexpect welcome\n", "line 2: expected welcome, but the connection has ended"),
    ] {
        let (code, lines, errors) = talk(&[], script);
        assert_eq!(code, Some(1), "{script} {lines:#?}");
        assert!(errors.contains(complaint) && errors.lines().count() == 1, "{errors}");
    }
}

#[test]
fn a_server_that_grants_nothing_is_an_error() {
    let server = support::server();
    let url = format!("ws://{}/nothing/here", server.address());
    let output = tickwire(&["connect", &url]).output().expect("the program runs");
    assert_eq!(output.status.code(), Some(1));
    let out = String::from_utf8(output.stdout).expect("text");
    assert!(out.contains("< HTTP/1.1 404 Not Found, no upgrade"), "{out}");
    server.stop();

    let (code, _, errors) = talk_to(support::NO_SERVER, &[], "");
    assert!(code == Some(1) && errors.lines().count() == 1, "{errors}");
}

/// A server of one connection, which answers the request as it likes, and keeps the connection.
fn foreign<R: Send + 'static>(
    answer: impl FnOnce(&mut TcpStream, String) -> R + Send + 'static,
) -> (SocketAddr, JoinHandle<(TcpStream, R)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let serving = thread::spawn(move || {
        let (mut stream, mut request) = (listener.accept().expect("a connection").0, Vec::new());
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("a request");
            request.push(byte[0]);
        }
        let answered = answer(&mut stream, String::from_utf8(request).expect("text"));
        (stream, answered)
    });
    (address, serving)
}

/// `--dialect` keeps talk from asking for the list of rooms.
const ONE_REQUEST: [&str; 2] = ["--dialect", "native"];

#[test]
fn a_refusal_ends_where_its_head_says_and_its_text_is_shown() {
    for body in [
        "Content-Length: 9\r\n\r\nno \x1b[1m 3",
        "Transfer-Encoding: chunked\r\n\r\n9\r\nno \x1b[1m 3\r\n0\r\n\r\n",
    ] {
        let response = format!("HTTP/1.1 403 Forbidden\r\n{body}");
        let (address, serving) = foreign(move |stream, _| stream.write_all(response.as_bytes()));
        let (code, lines, errors) = talk_to(address, &ONE_REQUEST, "");
        let (_kept_alive, written) = serving.join().expect("it has answered");
        written.expect("sent");
        assert_eq!((code, errors.as_str()), (Some(1), "tickwire: the server did not accept the upgrade\n"));
        let said = lines.iter().find(|line| line.starts_with("the response says: no "));
        assert!(said.is_some_and(|said| !said.contains('\x1b')), "{lines:?}");
    }
}

#[test]
fn a_server_without_bounds_is_left() {
    let piece = |start: &'static str, piece: &'static str| {
        move |stream: &mut TcpStream, request: String| {
            let head = HeadReader::new(HeadLimits::default()).receive(request.as_bytes());
            let head = head.expect("HTTP").expect("a whole head");
            let mut bytes = start.as_bytes().to_vec();
            if start.is_empty() {
                bytes = handshake::accept(&head, &["tickwire.v1"]).expect("an upgrade").response;
                // A message of 1 TiB.
                bytes.extend([0x82, 0x7f, 0, 0, 1, 0, 0, 0, 0, 0]);
            }
            let mut sent = stream.write_all(&bytes);
            while sent.is_ok() {
                sent = stream.write_all(piece.repeat(1000).as_bytes());
            }
        }
    };
    for (start, endless, why) in [
        ("HTTP/1.1 200 OK\r\n", "X: y\r\n", "header"),
        ("HTTP/1.1 200 ", "xxxxx", "head"),
        ("HTTP/1.1 200 OK\r\n\r\n", "xxxxx", "a body of more than 65536 bytes"),
        ("", "xxxxx", "broke a rule or a limit of this client"),
    ] {
        let (address, serving) = foreign(piece(start, endless));
        let (code, lines, errors) = talk_to(address, &ONE_REQUEST, "wait 3600\n");
        serving.join().expect("talk has left");
        assert_eq!(code, Some(1), "{lines:?}");
        assert!(errors.contains(why), "{start:?}: {errors}");
    }
}

#[test]
fn a_path_is_requested_as_it_is() {
    for (path, target) in [
        ("", "/play"),
        ("/", "/"),
        ("/?x=1", "/?x=1"),
        ("/r/arena", "/r/arena/play"),
        ("/r/arena/", "/r/arena/"),
    ] {
        let (address, serving) = foreign(|stream, request| {
            stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").expect("sent");
            request
        });
        let flags: &[&str] =
            if path.ends_with('/') || path.contains('?') { &["--dialect", "legacy"] } else { &ONE_REQUEST };
        talk_at(&format!("ws://{address}{path}"), flags, "");
        let (_, request) = serving.join().expect("it has answered");
        assert_eq!(request.lines().next(), Some(&*format!("GET {target} HTTP/1.1")), "{path}");
    }
}
