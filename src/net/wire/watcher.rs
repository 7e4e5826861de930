//! One watcher: its requests, and the messages that it receives.
//!
//! A watcher's thread reads its wishes, and takes from the tap the traffic of the client that it
//! watches; it sends the messages of [`says`]. It waits in `read` for at most a turn
//! ([`limits::WIRE_TURN`]) and in `write` for at most [`limits::WIRE_WRITE_TIME`]; meanwhile the
//! tap's bounded queue fills, and events that do not fit are counted. A frame is explained only if
//! it is sent to the watcher.

use std::io::{self, ErrorKind, Read};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value as Json, json};

use super::fields::Fields;
use super::ring::{Kept, Ring};
use super::save::{self, Opened, Whose};
use super::says::{self, Listed, Wish};
use crate::explain::{Explanation, explain};
use crate::limits;
use crate::net::host::Host;
use crate::net::stream;
use crate::net::tap::{Listener, Seen, What};
use crate::packet::Dialect;
use crate::peer::Life;
use crate::peer::life::Due;
use crate::ws::Side;
use crate::ws::close::CloseCode;
use crate::ws::conn::{Conn, Event, Role};
use crate::ws::frame::Header;
use crate::ws::message::Limits;

/// What one watcher's thread holds.
struct Watcher<'a> {
    host: &'a Host,
    stream: &'a TcpStream,
    conn: Conn,
    /// The client that it watches.
    watched: Option<Watched>,
    ring: Ring,
    next_n: u64,
    /// While paused, frames that come are counted, not kept.
    missed: Option<u64>,
    fields: Fields,
    /// The list of clients that it was told last.
    listed: Option<Vec<Listed>>,
    clients_due: Duration,
    fields_due: Duration,
    life: Life,
}

/// The client that is watched.
struct Watched {
    client: u64,
    listener: Listener,
    /// Its handshake and what it is spoken to in: seen before anything else of it.
    opened: Option<(Opened, Arc<Dialect>)>,
}

/// Serves a watcher until one side closes; returns the reason.
pub fn run(host: &Host, stream: &TcpStream, rest: &[u8]) -> &'static str {
    let mut watcher = Watcher::new(host, stream, host.now());
    let why = watcher.live(rest).err().unwrap_or("over");
    // Its listener goes before the last words: the tap need not fill a queue that nobody reads.
    watcher.watched = None;
    let _ = watcher.flush();
    let _ = stream.shutdown(Shutdown::Write);
    stream::drain(stream, limits::CLOSE_TIME, limits::DRAIN_BYTES, |_| ());
    why
}

/// Ends a watcher's life, with the reason for the log.
type Alive = Result<(), &'static str>;

impl<'a> Watcher<'a> {
    fn new(host: &'a Host, stream: &'a TcpStream, now: Duration) -> Watcher<'a> {
        Watcher {
            host,
            stream,
            conn: Conn::new(Role::Server, Limits::SERVER),
            watched: None,
            ring: Ring::default(),
            next_n: 1,
            missed: None,
            fields: Fields::default(),
            listed: None,
            clients_due: now,
            fields_due: now + limits::WIRE_FIELDS_EVERY,
            life: Life::new(false, now),
        }
    }

    fn live(&mut self, rest: &[u8]) -> Alive {
        let hz = self.host.config.rates().tick_hz;
        self.conn.send_text(
            &json!({ "welcome": { "frames": limits::WIRE_FRAMES, "tick_hz": hz, "epoch": self.host.room().options.epoch } }).to_string(),
        );
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

    /// Reads the bytes that arrive within this time.
    fn read(&self, buffer: &mut [u8], left: Duration) -> io::Result<Option<usize>> {
        self.stream.set_read_timeout(Some(left.max(limits::WIRE_WISH_TIME)))?;
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
            let wish = match event {
                Ok(Some(Event::Text(text))) => Wish::parse(text),
                Ok(Some(Event::Binary(_))) => None,
                Ok(Some(Event::Ping(_) | Event::Pong(_))) => continue,
                Ok(Some(Event::Close { .. } | Event::Eof { .. })) => return Err("its close"),
                Ok(None) => return Ok(()),
                Err(violation) => return Err(violation.name()),
            };
            let Some(wish) = wish else {
                self.conn.close(CloseCode::POLICY, "wire_wish");
                return Err("wire_wish");
            };
            self.carry_out(wish)?;
        }
    }

    fn carry_out(&mut self, wish: Wish) -> Alive {
        match wish {
            Wish::Watch(client) => self.watch(client),
            Wish::Explain(n) => {
                let told = match (self.ring.get(n), &self.watched) {
                    (Some(kept), Some(watched)) => {
                        watched.explain(kept).map(|explained| says::explained(kept, &explained))
                    }
                    _ => None,
                }
                .unwrap_or_else(|| says::gone(n));
                self.conn.send_text(&told);
            }
            Wish::Pause(true) => self.missed = self.missed.or(Some(0)),
            Wish::Pause(false) => self.missed = None,
            Wish::Save => self.save(),
        }
        self.flush()
    }

    /// From now on this client is watched. What was kept of another one is forgotten.
    fn watch(&mut self, client: Option<u64>) {
        self.ring.clear();
        self.fields = Fields::default();
        // The old listener goes first, so that nobody listens for nobody.
        self.watched = None;
        self.watched = client.map(|client| Watched {
            client,
            listener: self.host.tap.listen(Some(client), limits::WIRE_TAP_BYTES),
            opened: None,
        });
    }

    /// Tells what has happened since the last turn.
    fn turn(&mut self, now: Duration) -> Alive {
        self.tell_frames();
        if now >= self.clients_due {
            self.clients_due = now + limits::WIRE_CLIENTS_EVERY;
            self.tell_clients();
        }
        if now >= self.fields_due {
            self.fields_due = now + limits::WIRE_FIELDS_EVERY;
            if self.watched.is_some() && self.missed.is_none() {
                let told = self.fields.take();
                self.conn.send_text(&told);
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

    fn tell_frames(&mut self) {
        let Some(watched) = &mut self.watched else { return };
        let taken = watched.listener.take(Duration::ZERO);
        let (mut cut, mut ended, mut lost) = (Vec::new(), None, taken.lost.missed.messages);
        for seen in &taken.items {
            match seen.what {
                What::Ended { rule } => ended = Some(rule),
                What::Missed(missed) => lost += missed.messages,
                _ => {}
            }
            cut.extend(watched.receive(self.host, seen));
        }
        if let Some(missed) = &mut self.missed {
            if !cut.is_empty() {
                *missed += cut.len() as u64;
                self.conn.send_text(&json!({ "missed": *missed }).to_string());
            }
        } else {
            lost += cut.len().saturating_sub(limits::WIRE_FRAMES_PER_TURN) as u64;
            cut.truncate(limits::WIRE_FRAMES_PER_TURN);
            self.keep(cut);
        }
        if lost > 0 {
            self.conn.send_text(&json!({ "lost": lost }).to_string());
        }
        if let Some((watched, rule)) = self.watched.as_ref().zip(ended) {
            self.conn.send_text(&json!({ "ended": { "client": watched.client, "rule": rule } }).to_string());
        }
    }

    /// Keeps frames and tells of them.
    fn keep(&mut self, cut: Vec<Kept>) {
        let Some(watched) = &self.watched else { return };
        let mut entries: Vec<Json> = Vec::new();
        for mut kept in cut {
            kept.n = self.next_n;
            self.next_n += 1;
            let Some(explained) = watched.explain(&kept) else { continue };
            entries.push(says::entry(watched.client, &kept, &explained));
            if !kept.is_head {
                self.fields.add(&explained);
            }
            self.ring.push(kept);
        }
        if !entries.is_empty() {
            self.conn.send_text(&json!({ "frames": entries }).to_string());
        }
    }

    fn tell_clients(&mut self) {
        let clients = self.host.clients.all();
        let last = clients.len().saturating_sub(limits::WIRE_CLIENTS);
        let list: Vec<Listed> = clients[last..]
            .iter()
            .map(|client| Listed {
                id: client.id,
                player: client.player().map_or(0, |player| player.0),
                name: client.name(),
                dialect: client.endpoint.dialect.name().to_owned(),
                json: client.endpoint.is_json,
                address: client.address,
            })
            .collect();
        if self.listed.as_ref() != Some(&list) {
            self.conn.send_text(&says::clients(&list));
            self.listed = Some(list);
        }
    }

    /// Tells the frames that are kept, as a capture.
    fn save(&mut self) {
        let opened =
            self.watched.as_ref().and_then(|watched| watched.opened.as_ref().zip(Some(watched.client)));
        let Some(((opened, _), id)) = opened else { return };
        let client = self.host.clients.get(id);
        let whose = Whose {
            player: client.as_ref().and_then(|client| client.player()).map_or(0, |player| player.0),
            name: client.map(|client| client.name()).unwrap_or_default(),
        };
        let today = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let began = today.saturating_sub(self.host.now());
        let file = save::capture(opened, &whose, self.ring.iter(), began);
        self.conn
            .send_text(&json!({ "saved": { "file": format!("tickwire-client-{id}.pcapng") } }).to_string());
        self.conn.send_binary(&file);
    }
}

impl Watched {
    /// The frames that are complete with what was seen.
    fn receive(&mut self, host: &Host, seen: &Seen) -> Vec<Kept> {
        let keep = |from, bytes, is_head| Kept { n: 0, from, at: seen.at, tick: seen.tick, bytes, is_head };
        match &seen.what {
            What::Opened { address, local, dialect, request, response, .. } => {
                let (request, response) = (request.clone(), response.clone());
                let heads = vec![
                    keep(Side::Client, request.clone(), true),
                    keep(Side::Server, response.clone(), true),
                ];
                let opened = Opened { address: *address, local: *local, at: seen.at, request, response };
                self.opened = host.config.codes.dialect(dialect).map(|dialect| (opened, dialect));
                heads
            }
            What::Bytes { from, bytes, .. } => {
                frames_of(bytes, *from).into_iter().map(|bytes| keep(*from, bytes.to_vec(), false)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn explain<'a>(&'a self, kept: &Kept) -> Option<Explanation<'a>> {
        let (_, dialect) = self.opened.as_ref()?;
        Some(explain(&kept.bytes, dialect, Some(kept.from)))
    }
}

/// The frames of a piece: bytes that are no whole frame are the last.
fn frames_of(mut bytes: &[u8], from: Side) -> Vec<&[u8]> {
    let mut frames = Vec::new();
    while !bytes.is_empty() {
        let length = match Header::decode(bytes, from) {
            Ok(Some((header, head))) => {
                usize::try_from(header.length).map_or(usize::MAX, |length| head + length)
            }
            Ok(None) | Err(_) => usize::MAX,
        };
        let (frame, rest) = bytes.split_at(length.min(bytes.len()));
        frames.push(frame);
        bytes = rest;
    }
    frames
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

    fn say(mut stream: &TcpStream, wish: &str) {
        use std::io::Write as _;
        let mut bytes = Vec::new();
        frame::write(&mut bytes, Opcode::Text, Some([1, 2, 3, 4]), wish.as_bytes());
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
    fn a_piece_is_cut_into_its_frames_and_what_is_broken_is_the_last() {
        let mut bytes = Vec::new();
        for length in [0, 1, 125, 126, 70_000] {
            frame::write(&mut bytes, Opcode::Binary, Some([1, 2, 3, 4]), &vec![7; length]);
        }
        let lengths =
            |bytes: &[u8]| frames_of(bytes, Side::Client).into_iter().map(<[u8]>::len).collect::<Vec<_>>();
        assert_eq!(lengths(&bytes), [6, 7, 131, 134, 70_014]);
        assert_eq!(lengths(&bytes[..140]), [6, 7, 127], "the last is unfinished");
        let unmasked = [0x82, 0x01, 0x07, 0x82];
        assert_eq!(lengths(&[&bytes[..6], &unmasked].concat()), [6, 4]);
        assert!(lengths(&[]).is_empty());
    }

    #[test]
    fn the_tap_has_no_listener_without_watchers() {
        let (host, (near, far)) = (host(), pair());
        thread::scope(|scope| {
            let watcher = scope.spawn(|| run(&host, &far, &[]));
            assert!(!host.tap.is_on(), "a watcher of nobody costs nobody anything");
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
