//! `tickwire between` as a program, between the library `tungstenite` and the echo server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStdout};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value as Json, json};
use tickwire::internal::limits;
use tickwire::internal::server::net::EchoServer;
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

use crate::program::{said_at_its_end, tickwire};
use crate::support::{NO_SERVER, PATIENCE};

const UPGRADE: &str = "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                       Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/// A running proxy that prints JSON. Dropped, it is ended.
struct Between {
    child: Child,
    lines: BufReader<ChildStdout>,
    address: SocketAddr,
    page: Option<SocketAddr>,
}

impl Between {
    fn start(to: &str, flags: &[&str]) -> Between {
        let fixed = ["between", "--upstream", to, "--bind", "127.0.0.1:0", "--json"];
        let page: &[&str] = if flags.contains(&"--no-page") { &[] } else { &["--page", "127.0.0.1:0"] };
        let mut child = tickwire(&[&fixed, page, flags].concat()).spawn().expect("the program starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped"));
        let started = read_line(&mut lines);
        let address = |name: &str| started[name].as_str().map(|text| text.parse().expect("an address"));
        let (own, page) = (address("address").expect("an address"), address("page"));
        Between { child, lines, address: own, page }
    }

    fn connect(&self, path: &str) -> WebSocket<TcpStream> {
        let stream = TcpStream::connect(self.address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        tungstenite::client(format!("ws://{}{path}", self.address), stream).expect("the upgrade").0
    }

    /// The next event of this kind.
    fn next(&mut self, event: &str) -> Json {
        loop {
            let line = read_line(&mut self.lines);
            if line["event"] == event {
                return line;
            }
        }
    }

    /// Stops the proxy, and returns its summary.
    fn stop(mut self) -> Json {
        let pid = Pid::from_raw(self.child.id().cast_signed()).expect("a process");
        kill_process(pid, Signal::TERM).expect("it runs");
        self.next("summary")
    }
}

impl Drop for Between {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_line(lines: &mut BufReader<ChildStdout>) -> Json {
    let mut line = String::new();
    lines.read_line(&mut line).expect("text");
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
}

fn echo() -> (EchoServer, String) {
    let any = "127.0.0.1:0".parse().expect("an address");
    let server = EchoServer::start(any, 1 << 20, true).expect("a free port");
    let url = format!("ws://{}", server.address());
    (server, url)
}

#[test]
fn messages_pass_and_each_is_printed_with_its_values() {
    let (server, url) = echo();
    let mut between = Between::start(&url, &["--no-page"]);
    let mut client = between.connect("/chat?token=secret");
    client.send(Message::text(r#"{"type": "chat"}"#)).expect("sent");
    assert_eq!(client.read().expect("an echo").to_text().expect("text"), r#"{"type": "chat"}"#);
    client.send(Message::binary(vec![0x82, 0xa1, b'a', 1, 0xa1, b'b', 0xc0])).expect("sent");
    assert!(client.read().expect("an echo").is_binary());
    let upgraded = between.next("upgraded");
    assert!(upgraded["request"].as_str().expect("text").contains("GET /chat?token=xxxxxx"), "{upgraded}");
    for (from, line, text) in [
        ("client", r#"JSON {"type": "chat"}"#, Some(r#"{"type": "chat"}"#)),
        ("server", r#"JSON {"type": "chat"}"#, Some(r#"{"type": "chat"}"#)),
        ("client", r#"MessagePack {"a":1,"b":null}"#, None),
    ] {
        let message = between.next("message");
        assert_eq!((message["from"].as_str(), message["text"].as_str()), (Some(from), text), "{message}");
        assert!(message["line"].as_str().expect("text").contains(line), "{message}");
    }
    client.close(None).expect("sent");
    while client.read().is_ok() {}
    drop(client);
    assert_eq!(between.next("ended")["reason"], "both sides have ended");
    let summary = between.stop();
    assert_eq!((&summary["upgraded"], &summary["messages_up"]), (&json!(1), &json!(3)), "{summary}");
    server.stop();
}

#[test]
fn rules_change_drop_repeat_and_break_messages() {
    let (server, url) = echo();
    let rules = [
        "--rule",
        r#"client "price": replace "9" "7""#,
        "--rule",
        r#"client "secret": drop"#,
        "--rule",
        r#"server "twice": repeat 1"#,
        "--rule",
        r#"client "broken": break reserved"#,
    ];
    let mut between = Between::start(&url, &[&rules[..], &["--no-page"]].concat());
    let mut client = between.connect("/");
    for text in ["price 9", "secret", "twice", "broken"] {
        client.send(Message::text(text)).expect("sent");
    }
    for text in ["price 7", "twice", "twice"] {
        assert_eq!(client.read().expect("an echo").to_text().expect("text"), text);
    }
    let Message::Close(Some(close)) = client.read().expect("a close frame") else { panic!("a close frame") };
    assert_eq!((u16::from(close.code), close.reason.as_str()), (1002, "reserved_bit"));
    let outcomes: Vec<String> = (0..5)
        .map(|_| between.next("message"))
        .filter(|message| message["from"] == "client")
        .map(|message| message["outcome"].as_str().expect("text").to_owned())
        .collect();
    assert!(outcomes.starts_with(&["changed".to_owned()]), "{outcomes:?}");
    drop(between);
    server.stop();
}

#[test]
fn a_page_holds_a_message_and_decides() {
    let (server, url) = echo();
    let between = Between::start(&url, &["--rule", "client: hold"]);
    let page = between.page.expect("a page");
    let open = |origin: &str| {
        let mut request = format!("ws://{page}/wire").into_client_request().expect("a request");
        request.headers_mut().insert("Sec-WebSocket-Protocol", "tickwire.wire".parse().expect("a value"));
        request.headers_mut().insert("Origin", origin.parse().expect("a value"));
        let stream = TcpStream::connect(page).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        tungstenite::client(request, stream).map_err(|error| error.to_string())
    };
    assert!(open("http://example.org").is_err(), "another site must not read or change the traffic");
    let (mut wire, _) = open(&format!("http://{page}")).expect("the upgrade");
    let mut client = between.connect("/chat");
    client.send(Message::text("buy 1")).expect("sent");
    let held = |wire: &mut WebSocket<TcpStream>| loop {
        let Message::Text(text) = wire.read().expect("a message") else { continue };
        let message: Json = serde_json::from_str(&text).expect("JSON");
        if let Some(first) = message["held"].as_array().and_then(|held| held.first()) {
            return first.clone();
        }
    };
    let first = held(&mut wire);
    assert_eq!((&first["text"], &first["from"]), (&json!("buy 1"), &json!("client")));
    let decision = json!({ "decide": first["id"], "client": first["client"], "text": "buy 2" });
    wire.send(Message::text(decision.to_string())).expect("sent");
    assert_eq!(client.read().expect("an echo").to_text().expect("text"), "buy 2");
    for (request, word) in [
        (json!({ "decide": 99, "client": first["client"], "action": "drop" }), "not held any more"),
        (json!({ "rules": ["all: fly"] }), "is no action"),
        (json!({ "send": "server", "client": 77, "text": "a" }), "no such connection"),
    ] {
        wire.send(Message::text(request.to_string())).expect("sent");
        let error = loop {
            let Message::Text(text) = wire.read().expect("an answer") else { continue };
            let message: Json = serde_json::from_str(&text).expect("JSON");
            if let Some(error) = message["proxy"]["error"].as_str() {
                break error.to_owned();
            }
        };
        assert!(error.contains(word), "{error}");
    }
    let inject = json!({ "send": "server", "client": first["client"], "binary": "0102" });
    wire.send(Message::text(inject.to_string())).expect("sent");
    assert_eq!(client.read().expect("the injected message").into_data().as_ref(), [1, 2]);
    drop(between);
    server.stop();
}

#[test]
fn tls_in_both_directions_carries_the_same_messages() {
    let (server, url) = echo();
    let directory = std::env::temp_dir().join(format!("tickwire-between-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let certificate = directory.join("certificate.pem");
    let file = certificate.to_str().expect("text");
    let inner = Between::start(&url, &["--no-page", "--tls", "--save-certificate", file]);
    let outer = Between::start(&format!("wss://{}", inner.address), &["--no-page", "--ca", file]);
    let mut client = outer.connect("/");
    let long = "x".repeat(300_000);
    for text in ["hello", &long] {
        client.send(Message::text(text)).expect("sent");
        assert_eq!(client.read().expect("an echo").to_text().expect("text"), text);
    }
    let untrusting = Between::start(&format!("wss://{}", inner.address), &["--no-page"]);
    let mut stream = TcpStream::connect(untrusting.address).expect("a connection");
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains("certificate"), "{answer}");
    let _ = std::fs::remove_dir_all(directory);
    drop((inner, outer, untrusting));
    server.stop();
}

#[test]
fn the_capture_has_what_passed_and_comments_on_what_was_changed() {
    let (server, url) = echo();
    let directory = std::env::temp_dir().join(format!("tickwire-capture-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let file = directory.join("passed.pcapng");
    let path = file.to_str().expect("text");
    let rule = r#"client "old": replace "old" "new""#;
    let between = Between::start(&url, &["--no-page", "--capture", path, "--rule", rule]);
    let mut client = between.connect("/chat");
    for text in ["old words", "other words"] {
        client.send(Message::text(text)).expect("sent");
        client.read().expect("an echo");
    }
    between.stop();
    let said = said_at_its_end(tickwire(&["explain", path]).spawn().expect("the program starts"));
    let said = String::from_utf8(said.stdout).expect("text");
    assert!(said.contains("\"new words\"") && said.contains("\"other words\""), "{said}");
    let changed: Vec<_> = said.lines().filter(|line| line.contains("[changed by the proxy]")).collect();
    assert!(matches!(changed[..], [line] if line.contains("\"new words\"")), "{said}");
    assert!(said.lines().any(|line| line.contains("received: text") && line.contains("\"old words\"")));
    let bytes = std::fs::read(&file).expect("a file");
    let comment = b"changed by the proxy; received: ";
    assert!(bytes.windows(comment.len()).any(|window| window == comment));
    let _ = std::fs::remove_dir_all(directory);
    server.stop();
}

#[test]
fn a_frame_of_two_to_the_62_bytes_passes_without_being_stored() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("ws://{}", listener.local_addr().expect("an address"));
    let mut between = Between::start(&url, &["--no-page", "--rule", "all: hold"]);
    let mut client = TcpStream::connect(between.address).expect("a connection");
    let request = "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
    client.write_all(request.as_bytes()).expect("sent");
    let (mut server, _) = listener.accept().expect("the onward connection");
    server.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let mut received = vec![0; 1 << 16];
    let count = server.read(&mut received).expect("the request");
    assert!(received[..count].starts_with(b"GET / HTTP/1.1\r\nHost: 127.0.0.1:"));
    server.write_all(b"HTTP/1.1 101 Switching Protocols\r\n\r\n").expect("sent");
    let mut head = vec![0x82, 0xff];
    head.extend_from_slice(&(1_u64 << 62).to_be_bytes());
    head.extend_from_slice(&[0; 4]);
    client.write_all(&head).expect("sent");
    let part = vec![7; 1 << 20];
    let total = 3 * part.len();
    // The client stays open: a close with an unread response would reset the connection.
    let sending = std::thread::spawn(move || {
        (0..3).for_each(|_| client.write_all(&part).expect("sent"));
        client
    });
    let (mut seen, deadline) = (0, Instant::now() + PATIENCE);
    while seen < head.len() + total && Instant::now() < deadline {
        seen += server.read(&mut received).expect("bytes");
    }
    assert_eq!(seen, head.len() + total);
    drop(sending.join().expect("sent"));
    assert_eq!(between.next("message")["outcome"], "oversized");
}

#[test]
fn what_cannot_work_is_refused_with_the_rule() {
    for (flags, word) in [
        (&["--upstream", "ws://127.0.0.1:9", "--bind", "0.0.0.0:0"][..], "--allow-remote"),
        (&["--upstream", "ws://127.0.0.1:9", "--page", "0.0.0.0:0"], "loopback"),
        (&["--upstream", "ws://127.0.0.1:9", "--rule", "move: fly"], "is no action"),
        (&["--upstream", "ws://127.0.0.1:9", "--rule", "clinet: hold"], "clinet is not client"),
        (&["--upstream", "ws://127.0.0.1:9", "--dialect", "klingon"], "klingon"),
        (&["--upstream", "ws://127.0.0.1:9", "--filter", "x >"], "value"),
        (&["--upstream", "http://127.0.0.1:9"], "ws://"),
        (&["--upstream", "wss://127.0.0.1:9", "--ca", "/nowhere"], "/nowhere"),
        (&[], "--upstream"),
    ] {
        let any = ["between", "--bind", "127.0.0.1:0", "--page", "127.0.0.1:0"];
        let begin: &[&str] =
            if flags.contains(&"--bind") || flags.contains(&"--page") { &["between"] } else { &any };
        let said = said_at_its_end(tickwire(&[begin, flags].concat()).spawn().expect("the program starts"));
        let error = String::from_utf8(said.stderr).expect("text");
        assert!(!said.status.success() && error.contains(word), "{flags:?}: {error}");
    }
}

#[test]
fn without_the_server_a_request_is_answered_with_502() {
    let mut between = Between::start(&format!("ws://{NO_SERVER}"), &["--no-page"]);
    let mut stream = TcpStream::connect(between.address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains(&NO_SERVER.to_string()), "{answer}");
    assert!(between.next("failed")["reason"].as_str().expect("text").contains("cannot connect"));
    assert!(limits::INTERCEPT_HEAD_TIMEOUT > PATIENCE / 4, "a slow machine completes its heads");
}

#[test]
fn an_upgrade_that_the_server_ends_gets_502() {
    let closing = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("ws://{}/", closing.local_addr().expect("an address"));
    let mut between = Between::start(&url, &["--no-page"]);
    for partial in ["", "HTTP/1.1 101 Switching"] {
        let mut stream = TcpStream::connect(between.address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.write_all(UPGRADE.as_bytes()).expect("sent");
        let (mut server, _) = closing.accept().expect("a connection of the proxy");
        let mut head = [0; 1024];
        let _ = server.read(&mut head).expect("the upgrade");
        server.write_all(partial.as_bytes()).expect("sent");
        drop(server);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer, and the end");
        assert!(answer.starts_with("HTTP/1.1 502 Bad Gateway\r\n"), "{answer}");
        let why = format!("upgrade_unanswered: {url} has closed the connection before its answer");
        assert!(answer.ends_with(&format!("\r\n\r\n{why}\n")), "{answer}");
        assert_eq!(between.next("failed")["reason"], why.as_str());
    }
}

#[test]
fn a_late_head_gets_408_and_an_upgrade_without_an_answer_504() {
    // The system accepts the connections, and no program answers.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("ws://{}", silent.local_addr().expect("an address"));
    let mut between = Between::start(&url, &["--no-page"]);
    let send = |text: &str| {
        let mut stream = TcpStream::connect(between.address).expect("a connection");
        stream.set_read_timeout(Some(limits::INTERCEPT_HEAD_TIMEOUT + PATIENCE)).expect("a timeout");
        stream.write_all(text.as_bytes()).expect("sent");
        stream
    };
    let streams = [send(UPGRADE), send("GET /chat HTTP/1.1\r\nHo"), send("")];
    let answers = streams.map(|mut stream| {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer, and the end");
        answer
    });
    let [upgraded, partial, silent] = answers;
    assert!(upgraded.starts_with("HTTP/1.1 504 Gateway Timeout\r\n"), "{upgraded}");
    assert!(upgraded.ends_with(" has not answered the upgrade within 30 s\n"), "{upgraded}");
    assert!(upgraded.contains("\r\n\r\nupgrade_late: "), "{upgraded}");
    assert!(partial.starts_with("HTTP/1.1 408 Request Timeout\r\n"), "{partial}");
    assert!(partial.ends_with("\r\n\r\nhead_late: no complete head within 30 s\n"), "{partial}");
    assert_eq!(silent, "", "a connection that a browser opened in advance");
    assert!(between.next("failed")["reason"].as_str().expect("text").starts_with("upgrade_late: "));
}
