//! `tickwire talk` at a live server: packets in all forms, broken frames and what becomes of them, scripts that fail.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::process::Output;

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
    let url = format!("ws://{address}");
    let arguments = [&["talk", url.as_str()], flags].concat();
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
        "> binary, masked, 10 bytes: hello version=1 mode=1 name=\"ann\" skin=3 token=null since=nu …",
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
    let output = tickwire(&["talk", &url]).output().expect("the program runs");
    assert_eq!(output.status.code(), Some(1));
    let out = String::from_utf8(output.stdout).expect("text");
    assert!(out.contains("< HTTP/1.1 404 Not Found, no upgrade"), "{out}");
    server.stop();

    let nobody = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let (code, _, errors) = talk_to(nobody, &[], "");
    assert!(code == Some(1) && errors.lines().count() == 1, "{errors}");
}
