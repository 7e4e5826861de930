//! One watcher: its requests, and the messages that it receives.
//!
//! A watcher's thread waits in `read` for at most a turn ([`limits::WIRE_TURN`]) and in `write` for
//! at most [`limits::WIRE_WRITE_TIME`]; meanwhile the tap's bounded queue fills, and events that do
//! not fit are counted.

use std::io::{self, ErrorKind, Read};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value as Json, json};

use crate::inspector::observed::{self, Opened, Record, What};
use crate::limits;
use crate::net::host::Host;
use crate::net::stream;
use crate::net::tap::{self, Listener};
use crate::peer::Life;
use crate::peer::life::Due;
use crate::ws::close::CloseCode;
use crate::ws::conn::{Conn, Event, Role};
use crate::ws::message::Limits;

/// What one watcher's thread holds.
struct Watcher<'a> {
    host: &'a Host,
    stream: &'a TcpStream,
    conn: Conn,
    /// The client that it watches.
    watched: Option<(u64, Listener)>,
    /// The list of clients that it was sent last.
    listed: String,
    clients_due: Duration,
    life: Life,
}

/// Serves a watcher until one side closes; returns the reason.
pub fn run(host: &Host, stream: &TcpStream, rest: &[u8]) -> &'static str {
    let now = host.now();
    let mut watcher = Watcher {
        host,
        stream,
        conn: Conn::new(Role::Server, Limits::SERVER),
        watched: None,
        listed: String::new(),
        clients_due: now,
        life: Life::new(false, now),
    };
    let why = watcher.live(rest).err().unwrap_or("over");
    // The listener is removed before the close frame is sent, so that the tap does not fill a queue
    // without a reader.
    watcher.watched = None;
    let _ = watcher.flush();
    let _ = stream.shutdown(Shutdown::Write);
    stream::drain(stream, limits::CLOSE_TIME, limits::DRAIN_BYTES, |_| ());
    why
}

/// Ends a watcher's life, with the reason for the log.
type Alive = Result<(), &'static str>;

impl Watcher<'_> {
    fn live(&mut self, rest: &[u8]) -> Alive {
        self.welcome();
        let mut buffer = [0; limits::READ_BYTES];
        self.hear(rest)?;
        let mut turn = self.host.now();
        loop {
            if self.host.is_stopping() {
                self.conn.close(CloseCode::GOING_AWAY, "going_away");
                return Err("the server is shutting down");
            }
            let now = self.host.now();
            if now >= turn {
                turn = now + limits::WIRE_TURN;
                self.turn(now)?;
            }
            self.flush()?;
            let left = turn.saturating_sub(self.host.now());
            match self.read(&mut buffer, left) {
                Ok(Some(0)) => return Err("its end"),
                Ok(Some(count)) => self.hear(&buffer[..count])?,
                Ok(None) => {}
                Err(_) => return Err("the connection broke"),
            }
        }
    }

    /// The data that an explainer needs: the packet tables in use, and the time of day at which the
    /// server's clock stood at zero.
    fn welcome(&mut self) {
        let host = self.host;
        let tables = host.config.codes.tables.iter();
        let tables: Vec<[&str; 2]> = tables.map(|table| [&*table.file, &*table.text]).collect();
        let today = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let began_us = today.saturating_sub(host.now()).as_micros() as u64;
        let epoch = &host.room().options.epoch;
        let welcome = json!({ "epoch": epoch, "began_us": began_us, "codes": tables });
        self.conn.send_text(&json!({ "welcome": welcome }).to_string());
    }

    /// Reads the bytes that arrive within this time.
    fn read(&self, buffer: &mut [u8], left: Duration) -> io::Result<Option<usize>> {
        self.stream.set_read_timeout(Some(left.max(limits::WIRE_READ_TIME_LEAST)))?;
        match (&mut &*self.stream).read(buffer) {
            Ok(count) => Ok(Some(count)),
            Err(error) if stream::is_timeout(&error) || error.kind() == ErrorKind::Interrupted => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends the queued messages. Blocks while the watcher reads slowly, without affecting the
    /// game.
    fn flush(&mut self) -> Alive {
        if !self.conn.has_output() {
            return Ok(());
        }
        let mut bytes = Vec::new();
        self.conn.drain_output(&mut bytes);
        stream::write_all(self.stream, &bytes, limits::WIRE_WRITE_TIME)
            .map_err(|_| "the watcher does not read")
    }

    fn hear(&mut self, bytes: &[u8]) -> Alive {
        self.conn.receive(bytes);
        loop {
            let event = self.conn.next_event();
            // Whole messages and pongs are signs of life; bytes of an unfinished frame are not.
            if matches!(event, Ok(Some(_))) {
                self.life.alive(self.host.now());
            }
            let request = match event {
                Ok(Some(Event::Text(text))) => watch_request(text),
                Ok(Some(Event::Binary(_))) => None,
                Ok(Some(Event::Ping(_) | Event::Pong(_))) => continue,
                Ok(Some(Event::Close { .. } | Event::Eof { .. })) => return Err("its close"),
                Ok(None) => return Ok(()),
                Err(violation) => return Err(violation.name()),
            };
            let Some(client) = request else {
                self.conn.close(CloseCode::POLICY, "wire_request");
                return Err("wire_request");
            };
            // The old listener goes first, so that the tap never fills two.
            self.watched = None;
            let listen = |client| (client, self.host.tap.listen(Some(client), limits::WIRE_TAP_BYTES));
            self.watched = client.map(listen);
        }
    }

    /// Sends what has happened since the last turn.
    fn turn(&mut self, now: Duration) -> Alive {
        self.send_observed(now);
        if now >= self.clients_due {
            self.clients_due = now + limits::WIRE_CLIENTS_EVERY;
            let list = clients(self.host);
            if self.listed != list {
                self.conn.send_text(&list);
                self.listed = list;
            }
        }
        match self.life.poll(now, limits::SILENCE) {
            Due::Ping => self.conn.send_ping(&[]),
            Due::Close(breach) => {
                self.conn.close(CloseCode::INTERNAL, breach.name());
                return Err(breach.name());
            }
            Due::Nothing(_) | Due::Cut => {}
        }
        Ok(())
    }

    fn send_observed(&mut self, now: Duration) {
        let Some((client, listener)) = &self.watched else { return };
        let taken = listener.take(Duration::ZERO);
        let mut message = observed::begin(*client);
        let begun = message.len();
        for seen in &taken.items {
            let what = match &seen.what {
                tap::What::Opened { address, local, dialect, json, request, response } => {
                    let (dialect, request, response) = (dialect.clone(), request.clone(), response.clone());
                    let (address, local, json) = (*address, *local, *json);
                    What::Opened(Opened { address, local, dialect, json, request, response })
                }
                tap::What::Bytes { from, bytes } => What::Bytes(*from, bytes),
                tap::What::Missed(missed) => What::Lost(missed.messages),
                tap::What::Ended { rule } => What::Ended(rule),
                _ => continue,
            };
            observed::write(&mut message, &Record { at: seen.at, tick: seen.tick, what });
        }
        let missed = taken.lost.missed;
        if missed.messages > 0 {
            let what = What::Lost(missed.messages);
            observed::write(&mut message, &Record { at: now, tick: missed.since_tick, what });
        }
        if message.len() > begun {
            self.conn.send_binary(&message);
        }
    }
}

/// A watcher's request: which client to watch, or none. `None` if the text is no request.
fn watch_request(text: &str) -> Option<Option<u64>> {
    let object: Map<String, Json> = serde_json::from_str(text).ok()?;
    let client = object.get("watch").filter(|_| object.len() == 1)?;
    if client.is_null() { Some(None) } else { client.as_u64().map(Some) }
}

/// `{"clients":[…]}`: the newest clients.
fn clients(host: &Host) -> String {
    let all = host.clients.all();
    let list = all[all.len().saturating_sub(limits::WIRE_CLIENTS)..].iter().map(|client| {
        let dialect = client.endpoint.dialect.name();
        let dialect = if client.endpoint.is_json { format!("{dialect} as JSON") } else { dialect.to_owned() };
        let player = client.player().map_or(0, |player| player.0);
        let (id, name, address) = (client.id, client.name(), client.address.to_string());
        json!({ "id": id, "player": player, "name": name, "dialect": dialect, "address": address })
    });
    json!({ "clients": list.collect::<Vec<_>>() }).to_string()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;
    use std::time::Instant;

    use super::*;
    use crate::net::Config;
    use crate::ws::frame::{self, Opcode};

    fn host() -> Host {
        let config = Config::new("127.0.0.1:0".parse().expect("an address"));
        Host::for_tests(config)
    }

    /// Both ends of a connection.
    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let near = TcpStream::connect(listener.local_addr().expect("its address")).expect("a connection");
        (near, listener.accept().expect("the same").0)
    }

    fn say(mut stream: &TcpStream, request: &str) {
        use std::io::Write as _;
        let mut bytes = Vec::new();
        frame::write(&mut bytes, Opcode::Text, Some([1, 2, 3, 4]), request.as_bytes());
        stream.write_all(&bytes).expect("sent");
    }

    #[track_caller]
    fn wait_until(wanted: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !wanted() {
            assert!(Instant::now() < deadline, "it never came");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_request_is_one_object_with_one_entry() {
        for (text, expected) in [
            (r#"{"watch":7}"#, Some(Some(7))),
            (r#" {"watch": null} "#, Some(None)),
            (r#"{"watch":-1}"#, None),
            (r#"{"watch":1.5}"#, None),
            (r#"{"watch":1,"pause":true}"#, None),
            (r#"{"explain":1}"#, None),
            ("{}", None),
            ("[]", None),
            ("watch", None),
            ("", None),
        ] {
            assert_eq!(watch_request(text), expected, "{text}");
        }
    }

    #[test]
    fn the_tap_has_no_listener_without_watchers() {
        let (host, (near, far)) = (host(), pair());
        thread::scope(|scope| {
            let watcher = scope.spawn(|| run(&host, &far, &[]));
            assert!(!host.tap.is_on(), "a watcher that watches no client costs nothing");
            for _ in 0..2 {
                say(&near, r#"{"watch":7}"#);
                wait_until(|| host.tap.is_on());
                say(&near, r#"{"watch":null}"#);
                wait_until(|| !host.tap.is_on());
            }
            say(&near, r#"{"watch":7}"#);
            wait_until(|| host.tap.is_on());
            near.shutdown(Shutdown::Both).expect("open");
            wait_until(|| !host.tap.is_on());
            assert_eq!(watcher.join().expect("it ends"), "its end");
        });
    }
}
