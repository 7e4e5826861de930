//! `/admin` as a client meets it: who is let in, what is refused, and that the lines do what they do at standard input.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use crate::program::{Program, tickwire};
use crate::support::{PATIENCE, Peer, server, server_with};
use tickwire::internal::limits;
use tickwire::internal::server::admission::auth_limiter::{AuthError, AuthLimiter};
use tickwire::internal::server::net::ServerHandle;
use tickwire::internal::server::net::console::admin_token::AdminToken;

pub const TOKEN: &str = "a-token-of-the-test";

pub fn guarded() -> ServerHandle {
    server_with(|config| config.admin_token = AdminToken::new(TOKEN).expect("long enough"))
}

/// Sends a request as it stands and reads the answer to its end.
pub fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer that ends");
    answer
}

fn post(address: SocketAddr, more: &str, body: &str) -> String {
    let length = body.len();
    ask(
        address,
        &format!("POST /admin HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n{more}\r\n{body}"),
    )
}

/// Lines with the right token.
pub fn send_commands(address: SocketAddr, body: &str) -> String {
    post(address, &format!("Authorization: Bearer {TOKEN}\r\n"), body)
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_else(|| panic!("no status: {answer}"))
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default()
}

fn counted(server: &ServerHandle, line: &str) -> bool {
    server.metrics_text().lines().any(|found| found == line)
}

#[test]
fn without_the_token_nothing_is_done_and_it_is_counted() {
    let server = guarded();
    let address = server.address();
    for (authorization, rule) in [
        ("", "admin_token_missing"),
        ("Authorization: Bearer\r\n", "admin_token_wrong"),
        ("Authorization: Bearer a-token-of-the-tesT\r\n", "admin_token_wrong"),
        ("Authorization: Bearer a-token-of-the-tes\r\n", "admin_token_wrong"),
        ("Authorization: Basic a-token-of-the-test\r\n", "admin_token_missing"),
        ("Authorization: a-token-of-the-test\r\n", "admin_token_missing"),
        ("Cookie: token=a-token-of-the-test\r\n", "admin_token_missing"),
    ] {
        let answer = post(address, authorization, "stop");
        assert_eq!((status(&answer), body(&answer).trim()), ("401", rule), "{authorization}");
        assert!(answer.contains("\r\nWWW-Authenticate: Bearer"), "{answer}");
    }
    assert!(!server.is_stop_requested());
    assert!(counted(&server, "tickwire_requests_refused_total{rule=\"admin_token_missing\"} 4"));
    assert!(counted(&server, "tickwire_requests_refused_total{rule=\"admin_token_wrong\"} 3"));
    server.stop();
}

#[test]
fn an_address_that_is_wrong_too_often_is_refused_with_429_unless_its_token_is_right() {
    let server = guarded();
    let address = server.address();
    for _ in 0..limits::MAX_WRONG_TOKENS {
        assert_eq!(status(&post(address, "Authorization: Bearer wrong\r\n", "stats")), "401");
    }
    let right =
        "GET /metrics HTTP/1.1\r\nHost: play.example\r\nAuthorization: Bearer a-token-of-the-test\r\n\r\n";
    let wrong = right.replace("a-token-of", "no-token-of");
    for answer in [
        post(address, "Authorization: Bearer wrong\r\n", "stats"),
        ask(address, &wrong),
        ask(address, &wrong.replace("/metrics", "/wire")),
    ] {
        assert_eq!(status(&answer), "429", "{answer}");
        let (_, rest) = answer.split_once("\r\nRetry-After: ").expect("when to come again");
        let seconds: u64 = rest.split("\r\n").next().unwrap_or_default().parse().expect("seconds");
        assert!((1..=limits::WRONG_TOKEN_WINDOW.as_secs() + 1).contains(&seconds), "{answer}");
    }
    // Others behind the address have guessed: that does not lock the operator out.
    for answer in [
        send_commands(address, "stats"),
        ask(address, right),
        ask(address, &right.replace("/metrics", "/wire")),
    ] {
        assert_eq!(status(&answer), "200", "{answer}");
    }
    assert_eq!(status(&post(address, "", "stats")), "401", "without a token nothing is tried");
    let other = Peer::connect(address, "/");
    drop(other);
    assert_eq!(status(&ask(address, "GET /admin HTTP/1.1\r\nHost: a\r\n\r\n")), "200");
    server.stop();
}

#[test]
fn guesses_in_parallel_are_as_few_as_one_after_the_other() {
    let server = guarded();
    let address = server.address();
    // The last one comes once everyone's are answered: before that it may be among the first ten.
    let guessed = Barrier::new(8);
    let guess = || {
        let guesses = (0..6).map(|_| post(address, "Authorization: Bearer wrong\r\n", "stats"));
        let looked_at = guesses.filter(|answer| status(answer) == "401").count();
        guessed.wait();
        assert_eq!(status(&post(address, "Authorization: Bearer wrong\r\n", "stats")), "429");
        looked_at
    };
    let looked_at: usize = thread::scope(|scope| {
        let guessers: Vec<_> = (0..8).map(|_| scope.spawn(guess)).collect();
        guessers.into_iter().map(|guesser| guesser.join().expect("no panic")).sum()
    });
    assert_eq!(looked_at, limits::MAX_WRONG_TOKENS as usize);
    server.stop();
}

#[test]
fn metrics_are_served_to_local_requests_and_with_the_token() {
    let server = guarded();
    for (path, headers, expected) in [
        ("/metrics", "Host: localhost\r\n", "200"),
        ("//metrics", "Host: localhost\r\n", "404"),
        ("//game/main.js", "Host: localhost\r\n", "404"),
        ("/metrics/", "Host: localhost\r\n", "404"),
        ("/metrics", "Host: play.example\r\n", "403"),
        ("/metrics", "Host: play.example\r\nAuthorization: Bearer wrong\r\n", "401"),
        ("/metrics", "Host: play.example\r\nAuthorization: Bearer a-token-of-the-test\r\n", "200"),
    ] {
        let answer = ask(server.address(), &format!("GET {path} HTTP/1.1\r\n{headers}\r\n"));
        assert_eq!(status(&answer), expected, "{path} {headers}");
    }
    server.stop();
}

/// On a machine without IPv6 there is no such socket, and nothing to check.
#[test]
fn an_ipv4_client_of_an_ipv6_socket_is_known_by_its_ipv4_address() {
    let Ok(server) = ServerHandle::start(tickwire::internal::server::net::ServerConfig::new(
        "[::]:0".parse().expect("an address"),
    )) else {
        return;
    };
    let address = SocketAddr::from(([127, 0, 0, 1], server.address().port()));
    // Only 127.0.0.1 is this machine, not ::ffff:127.0.0.1.
    let answer = ask(address, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(status(&answer), "200", "{answer}");
    server.stop();
}

#[test]
fn a_page_of_another_site_cannot_lock_the_operator_out() {
    let server = guarded();
    for _ in 0..3 * limits::MAX_WRONG_TOKENS {
        // What a form or a fetch without a preflight can send.
        let more = "Origin: https://evil.example\r\nContent-Type: text/plain\r\n";
        assert_eq!(status(&post(server.address(), more, "stop")), "401");
    }
    assert_eq!(status(&send_commands(server.address(), "stats")), "200");
    let preflight = "OPTIONS /admin HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n\
                     Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization\r\n\r\n";
    let answer = ask(server.address(), preflight);
    assert_eq!(status(&answer), "405", "{answer}");
    let answered = send_commands(server.address(), "stats");
    assert!(!format!("{answer}{answered}").to_lowercase().contains("access-control"), "{answer}{answered}");
    server.stop();
}

#[test]
fn requests_that_are_wrong_are_refused_with_the_right_status() {
    let server = guarded();
    let head = |first: &str, more: &str| {
        format!("{first} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n{more}\r\n")
    };
    let too_long = (limits::ADMIN_BODY_BYTES + 1).to_string();
    for (request, expected) in [
        (head("POST /admin", ""), "411"),
        (head("POST /admin", &format!("Content-Length: {too_long}\r\n")), "413"),
        (head("POST /admin", "Content-Length: 99999999999999999999999\r\n"), "413"),
        (head("POST /admin", "Transfer-Encoding: chunked\r\n"), "400"),
        (head("POST /admin", "Content-Length: +5\r\n"), "400"),
        (head("POST /admin", "Content-Length: 5\r\nContent-Length: 5\r\n"), "400"),
        (head("POST /admin?x=1", "Content-Length: 0\r\n"), "200"),
        (head("PUT /admin", ""), "405"),
        (head("DELETE /admin", ""), "405"),
        (head("PUT /admin", "Content-Length: 5\r\n"), "400"),
        (head("GET /admin", "Content-Length: 5\r\n"), "400"),
        (head("POST /", "Content-Length: 5\r\n"), "400"),
        (head("POST /admin/", "Content-Length: 5\r\n"), "400"),
        (head("POST /admin", "Content-Length: 5\r\nUpgrade: websocket\r\n"), "400"),
        (head("POST /admin", "Content-Length: 5\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"), "400"),
    ] {
        assert_eq!(status(&ask(server.address(), &request)), expected, "{request}");
    }
    let allowed = ask(server.address(), &head("PUT /admin", ""));
    assert!(allowed.contains("\r\nAllow: GET, HEAD, POST\r\n"), "{allowed}");
    assert_eq!(status(&send_commands(server.address(), &"\n".repeat(limits::ADMIN_BODY_BYTES))), "200");
    assert_eq!(status(&send_commands(server.address(), &"bans\n".repeat(limits::MAX_ADMIN_LINES))), "200");
    assert_eq!(
        status(&send_commands(server.address(), &"bans\n".repeat(limits::MAX_ADMIN_LINES + 1))),
        "413"
    );
    server.stop();
}

#[test]
fn the_same_commands_give_the_same_answers_and_the_host_does_not_matter() {
    let server = guarded();
    let answer = send_commands(server.address(), "players\nbans\r\n\nban 192.0.2.7\nbans");
    assert_eq!(status(&answer), "200");
    assert_eq!(
        body(&answer),
        "no player is connected\nno address is banned\n192.0.2.7 is banned; connections closed: 0\n192.0.2.7\n"
    );
    assert!(answer.contains("Content-Type: text/plain; charset=utf-8\r\nContent-Length: "), "{answer}");
    assert!(answer.contains("\r\nCache-Control: no-store\r\n"), "{answer}");
    let answer = send_commands(server.address(), "bans\nkick 7\nnonsense");
    assert_eq!(status(&answer), "422", "not all was done");
    assert_eq!(
        body(&answer),
        "192.0.2.7\nerror: no client plays as player 7\nerror: there is no command \"nonsense\"; type help for a list of commands\n"
    );
    let foreign = format!(
        "POST /admin HTTP/1.1\r\nHost: game.example\r\nX-Forwarded-For: 203.0.113.9\r\n\
         authorization: bearer {TOKEN}\r\nContent-Length: 4\r\n\r\nbans"
    );
    assert_eq!(body(&ask(server.address(), &foreign)), "192.0.2.7\n");
    assert!(
        counted(&server, "tickwire_operator_commands_total{command=\"bans\"} 4"),
        "{}",
        server.metrics_text()
    );
    assert!(counted(&server, "tickwire_operator_commands_failed_total{command=\"unknown\"} 1"));
    server.stop();
}

#[test]
fn a_client_kicked_over_http_gets_the_reason_and_the_operator_cannot_ban_itself() {
    let server = guarded();
    let mut peer = Peer::connect(server.address(), "/?format=json");
    peer.send_text(r#"["enter_game",[{"name":"Ann","skin":0}]]"#);
    let deadline = Instant::now() + PATIENCE;
    let player = loop {
        let answer = send_commands(server.address(), "players");
        let row = body(&answer)
            .lines()
            .nth(1)
            .map(|row| row.split_whitespace().next().unwrap_or_default().to_owned());
        match row {
            Some(number) => break number,
            None => assert!(Instant::now() < deadline, "{answer}"),
        }
    };
    let answer = send_commands(server.address(), "ban 127.0.0.1");
    assert_eq!(body(&answer), "error: 127.0.0.1 is your own address: a ban would lock you out of /admin\n");
    assert_eq!(
        body(&send_commands(server.address(), "kick ann")),
        format!("player {player} was kicked; its address is 127.0.0.1\n")
    );
    assert_eq!(peer.receive_close(), "1008 kicked");
    let answer = send_commands(server.address(), "stop\nban 192.0.2.7");
    assert_eq!(body(&answer), "the server is shutting down\nerror: the server is shutting down\n");
    assert!(server.is_stop_requested());
    server.stop();
}

#[test]
fn a_body_that_drips_or_never_comes_meets_the_deadline_of_its_head() {
    let server = guarded();
    let begin = |first: &str| {
        let mut stream = TcpStream::connect(server.address()).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let head = format!(
            "POST /admin HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 4000\r\n\r\n"
        );
        stream.write_all(format!("{head}{first}").as_bytes()).expect("sent");
        stream
    };
    let started = Instant::now();
    let mut silent = begin("");
    let mut dripping = begin("s");
    let mut drops = dripping.try_clone().expect("a second handle");
    let dripper = thread::spawn(move || {
        while drops.write_all(b"s").is_ok() && started.elapsed() < 2 * limits::HEAD_TIMEOUT {
            thread::sleep(Duration::from_millis(100));
        }
    });
    for stream in [&mut silent, &mut dripping] {
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).expect("an answer");
        assert_eq!(&answer, b"HTTP/1.1 408");
        assert!(started.elapsed() >= limits::HEAD_TIMEOUT && started.elapsed() < 2 * limits::HEAD_TIMEOUT);
    }
    drop((silent, dripping));
    dripper.join().expect("it ends");
    let mut cut = begin("stop");
    cut.shutdown(std::net::Shutdown::Write).expect("no more comes");
    let mut answer = String::new();
    cut.read_to_string(&mut answer).expect("an answer");
    assert_eq!((status(&answer), body(&answer)), ("400", "body_cut\n"));
    assert!(!server.is_stop_requested());
    server.stop();
}

#[test]
fn the_page_holds_no_secret_and_is_for_anyone() {
    let server = server();
    for (target, kind) in
        [("/admin", "text/html"), ("/admin/admin.js", "text/javascript"), ("/admin/admin.css", "text/css")]
    {
        let answer = ask(server.address(), &format!("GET {target} HTTP/1.1\r\nHost: game.example\r\n\r\n"));
        assert_eq!(status(&answer), "200");
        assert!(answer.contains(&format!("\r\nContent-Type: {kind}")), "{target}");
        assert!(answer.contains("\r\nContent-Security-Policy: default-src 'self'"), "{target}");
        assert!(answer.contains("\r\nCross-Origin-Opener-Policy: same-origin\r\n"), "{target}");
        assert!(!answer.contains(server.config().admin_token.expose()), "{target}");
    }
    server.stop();
}

/// The log of a program that heard wrong tokens and right ones, at its most talkative.
#[test]
fn the_token_is_in_no_log_and_no_metric() {
    let mut command = tickwire(&["--bind", "127.0.0.1:0", "--map-size", "4000", "--log", "trace"]);
    let mut program = Program::start(command.env("TICKWIRE_ADMIN_TOKEN", TOKEN));
    let wrong = "another-token-of-the-test";
    assert!(
        program.banner.contains(&format!("admin    http://{}/admin\n", program.address)),
        "{}",
        program.banner
    );
    assert_eq!(status(&post(program.address, &format!("Authorization: Bearer {wrong}\r\n"), "stats")), "401");
    assert_eq!(status(&send_commands(program.address, "stats\nkick 7\nsay")), "422");
    let metrics = ask(program.address, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let log = program.stop();
    assert!(log.contains("operator command failed from=127.0.0.1 command=\"kick\""), "{log}");
    assert!(log.contains("rule=\"admin_token_wrong\""), "{log}");
    for secret in [TOKEN, wrong] {
        assert!(!log.contains(secret) && !metrics.contains(secret), "{log}{metrics}");
    }
}

#[test]
fn a_token_that_is_made_at_the_start_is_shown_once_and_works() {
    let mut program = Program::start(&mut tickwire(&["--bind", "127.0.0.1:0", "--map-size", "4000"]));
    let link = format!("admin    http://{}/admin#", program.address);
    let (_, rest) = program.banner.split_once(&link).unwrap_or_else(|| panic!("{}", program.banner));
    let token = rest.lines().next().unwrap_or_default().to_owned();
    assert_eq!(token.len(), 32, "128 bits: {token}");
    let answer = post(program.address, &format!("Authorization: Bearer {token}\r\n"), "players");
    assert_eq!(body(&answer), "no player is connected\n");
    let log = program.stop();
    assert!(!log.contains(&token), "{log}");
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// Whether the address has sent so many wrong tokens that another one is too often.
fn is_noted(gate: &AuthLimiter, address: &str, now: Duration) -> bool {
    matches!(gate.attempt(ip(address), now, || false), Err(AuthError::TooManyAttempts(_)))
}

#[test]
fn the_gate_notes_a_household_until_its_wrong_tokens_are_forgotten_and_lets_a_right_one_in() {
    let (gate, start, later) = (AuthLimiter::default(), Duration::from_secs(5), Duration::from_secs(7));
    for number in 0..limits::MAX_WRONG_TOKENS {
        for address in ["203.0.113.9", &format!("2001:db8::{number:x}")] {
            assert_eq!(gate.attempt(ip(address), start, || true), Ok(()));
            assert_eq!(gate.attempt(ip(address), start, || false), Err(AuthError::WrongToken));
        }
    }
    let over = start + limits::WRONG_TOKEN_WINDOW;
    assert_eq!(gate.attempt(ip("203.0.113.9"), later, || true), Ok(()));
    for _ in 1..limits::TOKENS_TRIED_BURST {
        let tried = gate.attempt(ip("203.0.113.9"), later, || false);
        assert_eq!(tried, Err(AuthError::TooManyAttempts(over - later)));
    }
    let compared = || panic!("a token beyond the burst is not compared");
    let wait = Duration::from_secs(1) / limits::TOKENS_TRIED_PER_SECOND;
    assert_eq!(gate.attempt(ip("203.0.113.9"), later, compared), Err(AuthError::TooManyAttempts(wait)));
    let before = over - Duration::from_millis(1);
    for (address, now, expected) in [
        ("203.0.113.9", before, true),
        ("203.0.113.10", start, false),
        ("2001:db8::ffff", before, true),
        ("2001:db8:0:1::1", start, false),
        ("203.0.113.9", over, false),
        ("2001:db8::ffff", over, false),
    ] {
        assert_eq!(is_noted(&gate, address, now), expected, "{address} at {now:?}");
    }
}

#[test]
fn the_gate_remembers_a_bounded_number_of_addresses_and_forgets_the_first() {
    let gate = AuthLimiter::default();
    for number in 0..=limits::MAX_WRONG_TOKEN_ADDRESSES {
        let (address, now) =
            (Ipv4Addr::from_bits(number as u32).into(), Duration::from_millis(number as u64));
        (0..limits::MAX_WRONG_TOKENS).for_each(|_| _ = gate.attempt(address, now, || false));
    }
    let now = Duration::from_millis(limits::MAX_WRONG_TOKEN_ADDRESSES as u64);
    assert_eq!(["0.0.0.1", "0.0.0.0"].map(|address| is_noted(&gate, address, now)), [true, false]);
}

#[test]
fn only_the_whole_token_is_the_token_and_a_random_one_fits_a_header_and_a_url() {
    let token = AdminToken::new("0123456789abcdef").expect("16 characters");
    assert!(token.matches("0123456789abcdef"));
    for wrong in
        ["", "0", "0123456789abcde", "0123456789abcdeF", "1123456789abcdef", &"0123456789abcdef".repeat(2)]
    {
        assert!(!token.matches(wrong), "{wrong}");
    }
    for text in ["", "0123456789abcde", "0123456789 abcdef", "0123456789abcdef\n", "0123456789abcdé"] {
        let told = AdminToken::new(text).expect_err(text);
        assert!(text.is_empty() || !told.contains(text), "{told}");
    }
    assert!(AdminToken::new(&"a".repeat(limits::MAX_TOKEN_CHARS)).is_ok());
    assert!(AdminToken::new(&"a".repeat(limits::MAX_TOKEN_CHARS + 1)).is_err());
    let token = AdminToken::random();
    assert_eq!(AdminToken::new(token.expose()), Ok(token.clone()));
    assert_ne!(token, AdminToken::random());
    assert!(!format!("{token:?}").contains(token.expose()));
}
