//! A client's own thread after the handshake: reads, decodes, answers immediately, and queues
//! commands for the world.
//!
//! Answers go out through the outbox, commands through the inbox. The thread blocks in `read` and
//! nowhere else. It reads at most [`limits::READ_BYTES`] at a time, does no work for a client that
//! has exceeded a rate limit, sends nothing after the close frame, and never leaves a player in the
//! world.

use std::cell::Cell;
use std::io::{ErrorKind, Read};
use std::net::Shutdown;
use std::sync::Arc;
use std::time::Duration;

use tracing::{debug, info};

use super::budgets::Spending;
use super::client::{Client, Ending};
use super::connection;
use super::host::Host;
use super::metrics::Metrics;
use crate::feed::view::Layout;
use crate::household::Household;
use crate::limits;
use crate::packet::server_packet::Welcome;
use crate::packet::{ClientPacket, Direction, ServerPacket};
use crate::session::{Breach, NATIVE_VERSION, Output, Session};
use crate::world::{self, Action, Command, Resource, rules};
use crate::ws::Side;
use crate::ws::boundary::Boundary;
use crate::ws::conn::{Conn, Event, Role};
use crate::ws::message::Limits;

/// What the thread of one client holds.
struct Conversation<'a> {
    shared: &'a Host,
    client: &'a Arc<Client>,
    /// The client's address as limits count it.
    address: Household,
    session: Session,
    outputs: Vec<Output>,
    /// When the bytes at hand were read. All that they lead to is judged by this one time, so that a capture has it.
    now: Duration,
    /// Where the client's messages begin, for listeners of the tap; unknown if there are none.
    boundary: Option<Boundary>,
}

/// Gives everything back when the thread ends, also by a panic.
struct Leaving<'a> {
    shared: &'a Host,
    client: &'a Client,
    /// The rule that ended the connection, for listeners of the tap.
    rule: Cell<&'static str>,
}

impl Leaving<'_> {
    /// Takes the client's body out of the world. Nobody moves it any more, so it does not stand about while the last words go.
    fn leave_world(&self) {
        if let Some(player) = self.client.take_player() {
            self.client.room.disconnect(player, self.shared.now());
        }
    }
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.leave_world();
        self.shared.tap.ended(self.client.who(self.shared.now()), self.rule.get());
        self.shared.unlist(self.client);
        self.client.cut();
    }
}

/// The whole conversation, starting with the bytes after the request head.
pub fn run(shared: &Host, client: &Arc<Client>, rest: &[u8]) {
    shared.list(client);
    let leaving = Leaving { shared, client, rule: Cell::new(Breach::InternalError.name()) };
    if shared.is_stopping() {
        client.close(Ending::Breach(Breach::GoingAway), shared.now());
    }
    // Closes what the end of the room has not found listed.
    if client.room.is_over() {
        client.close(Ending::Breach(Breach::InternalError), shared.now());
    }
    // A ban closes those that are listed: who was let in just before it and is listed just after it sees to it here.
    if shared.admission.is_banned(client.address.ip()) {
        client.close(Ending::Breach(Breach::Banned), shared.now());
    }
    let now = shared.now();
    let session = Session::new(client.endpoint.layout == Layout::Native, now);
    let address = Household::of(client.address.ip());
    let mut conversation =
        Conversation { shared, client, address, session, outputs: Vec::new(), now, boundary: None };
    conversation.begin();
    let ending = conversation.talk(rest);
    let ending = client.ending().unwrap_or(ending);
    leaving.rule.set(ending.name());
    log_ending(shared, client, &ending);
    leaving.leave_world();
    conversation.last_words();
    drop(leaving);
}

fn log_ending(shared: &Host, client: &Client, ending: &Ending) {
    let (rule, tick) = (ending.name(), client.room.tick());
    let player = client.player().map_or(0, |player| player.0);
    if let Some(code) = ending.close_code() {
        Metrics::count(&shared.metrics.closed, "rule", rule);
        info!(client = client.id, player, tick, rule, code = code.get(), "client closed: {ending}");
    } else {
        info!(client = client.id, player, tick, "client left: {ending}");
    }
}

impl Conversation<'_> {
    /// In the MooMoo dialects the server speaks first; a native client is told nothing before its hello.
    fn begin(&mut self) {
        if self.client.endpoint.layout == Layout::Moomoo {
            let socket_id = format!("{}-{}", self.client.room.options.epoch, self.client.id);
            self.reply(&ServerPacket::IoInit { socket_id: &socket_id });
            self.reply(&ServerPacket::InitData);
            self.shared.give_to_worker(self.client);
        }
    }

    /// Lets what is queued go out, says that no more will come, and waits for the peer's end, all within a bound.
    fn last_words(&mut self) {
        let (shared, client) = (self.shared, self.client);
        let deadline = shared.now() + limits::CLOSE_TIME;
        while client.outbox.backlog() > 0 && shared.now() < deadline {
            client.outbox.drive(&**client, shared.now());
            std::thread::sleep(limits::LAST_WORDS_LOOK);
        }
        let _ = client.stream.shutdown(Shutdown::Write);
        connection::drain(
            &client.stream,
            deadline.saturating_sub(shared.now()),
            limits::DRAIN_BYTES,
            |bytes| {
                let begins = self.boundary.as_ref().is_some_and(|boundary| boundary.unfinished_bytes() == 0);
                self.now = shared.now();
                self.leave_out(begins, bytes);
            },
        );
    }

    /// Passes bytes of the client to listeners of the tap, before they are parsed.
    fn show(&mut self, begins: bool, bytes: &[u8]) {
        if !self.shared.tap.wants(self.client.id) {
            self.boundary = None;
            return;
        }
        if bytes.is_empty() {
            return;
        }
        if begins {
            self.boundary = Some(Boundary::new(Side::Client));
        }
        let unfinished_bytes = self.boundary.as_mut().map_or(u64::MAX, |boundary| {
            boundary.receive(bytes);
            boundary.unfinished_bytes()
        });
        let (session, now) = (&self.session, self.now);
        self.shared.tap.heard(self.client.who(now), bytes, begins, unfinished_bytes, || session.save(now));
    }

    /// Reads until one side ends it; returns why.
    fn talk(&mut self, rest: &[u8]) -> Ending {
        let mut conn = Conn::new(Role::Server, Limits::SERVER);
        let mut buffer = [0; limits::READ_BYTES];
        let mut heard = self.take(&mut conn, rest);
        while heard.is_ok() {
            heard = match self.read(&mut buffer) {
                Ok(0) => {
                    conn.receive_eof();
                    self.hear(&mut conn, &[]).and(Err(Ending::PeerLost))
                }
                Ok(count) => self.take(&mut conn, &buffer[..count]),
                Err(ending) => Err(ending),
            };
        }
        let ending = heard.err().unwrap_or(Ending::PeerLost);
        self.say_why(&mut conn, &ending);
        ending
    }

    /// Handles received bytes. Bytes from a closing client are ignored, whichever thread is closing
    /// it.
    fn take(&mut self, conn: &mut Conn, bytes: &[u8]) -> Result<(), Ending> {
        if let Err(ending) = self.still_open() {
            self.now = self.shared.now();
            self.leave_out(conn.is_between_messages(), bytes);
            return Err(ending);
        }
        self.hear(conn, bytes)?;
        self.still_open()
    }

    /// Counts bytes that are ignored, and passes them to listeners of the tap.
    fn leave_out(&mut self, begins: bool, bytes: &[u8]) {
        self.shared.metrics.bytes_in.inc_by(bytes.len() as u64);
        self.show(begins, bytes);
    }

    fn still_open(&self) -> Result<(), Ending> {
        self.client.ending().map_or(Ok(()), Err)
    }

    /// The close frame: for a broken rule of the wire and the peer's own close the machine has written it already.
    fn say_why(&self, conn: &mut Conn, ending: &Ending) {
        let now = self.shared.now();
        match ending {
            Ending::Packet(_) | Ending::Breach(_) => self.client.close(ending.clone(), now),
            Ending::Violation(_) | Ending::PeerClosed(_) | Ending::PeerLost => {
                let mut frames = Vec::new();
                conn.drain_output(&mut frames);
                self.client.close_with(ending.clone(), &frames, now);
            }
        }
    }

    /// Blocks for bytes; while a hello is due, only until its deadline, and no longer than the client is open: it has no worker yet that
    /// would cut it.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Ending> {
        let mut stream = &*self.client.stream;
        loop {
            let timeout = if self.session.awaits_hello() {
                let deadline = self.client.connected + limits::HELLO_TIME;
                let left = deadline.saturating_sub(self.shared.now());
                if left.is_zero() {
                    return Err(Ending::Breach(Breach::HelloLate));
                }
                self.still_open()?;
                Some(left.min(limits::HELLO_LOOK))
            } else {
                None
            };
            stream.set_read_timeout(timeout).map_err(|_| Ending::PeerLost)?;
            match stream.read(buffer) {
                Ok(count) => return Ok(count),
                Err(error) if connection::is_timeout(&error) || error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(Ending::PeerLost),
            }
        }
    }

    /// Takes bytes, handles what they complete, sends what the machine answers.
    fn hear(&mut self, conn: &mut Conn, bytes: &[u8]) -> Result<(), Ending> {
        let now = self.shared.now();
        self.now = now;
        self.show(conn.is_between_messages(), bytes);
        self.shared.metrics.bytes_in.inc_by(bytes.len() as u64);
        self.session.spend_bytes(bytes.len(), now).map_err(Ending::Breach)?;
        self.warn();
        conn.receive(bytes);
        while let Some(event) = conn.next_event().map_err(Ending::Violation)? {
            self.client.heard(now);
            self.session.spend_message(now).map_err(Ending::Breach)?;
            self.warn();
            match event {
                Event::Binary(message) => self.message(message)?,
                Event::Text(text) => self.text(text)?,
                Event::Ping(_) | Event::Pong(_) => {}
                Event::Close { code, .. } => return Err(Ending::PeerClosed(code)),
                Event::Eof { .. } => return Err(Ending::PeerLost),
            }
            self.send_answers(conn);
        }
        Ok(())
    }

    /// After each event, so that what is answered, and in which order, does not depend on how the bytes were cut.
    fn send_answers(&self, conn: &mut Conn) {
        if conn.has_output() {
            let mut frames = Vec::new();
            conn.drain_output(&mut frames);
            self.client.send_frames(&frames, self.now);
        }
    }

    /// Tells a client that has spent half of a budget what becomes of it if it goes on.
    fn warn(&mut self) {
        if let Some(breach) = self.session.take_warning() {
            debug!(client = self.client.id, rule = breach.name(), "half of a budget is spent");
            let detail =
                "half of what you may send at once is spent: slow down, or this ends with close 1008";
            self.reply(&ServerPacket::Error { rule: breach.name(), detail });
        }
    }

    fn message(&mut self, message: &[u8]) -> Result<(), Ending> {
        if self.client.endpoint.json {
            return Err(Ending::Breach(Breach::FrameKind));
        }
        let dialect = Arc::clone(&self.client.endpoint.dialect);
        match dialect.decode(Direction::ToServer, message) {
            Ok(decoded) => self.packet(ClientPacket::from_decoded(&decoded)),
            Err(error) => self.unusable(error),
        }
    }

    fn text(&mut self, text: &str) -> Result<(), Ending> {
        if !self.client.endpoint.json {
            return Err(Ending::Breach(Breach::FrameKind));
        }
        let dialect = Arc::clone(&self.client.endpoint.dialect);
        match dialect.decode_json(Direction::ToServer, text) {
            Ok(decoded) => self.packet(ClientPacket::from_decoded(&decoded)),
            Err(error) => self.unusable(error),
        }
    }

    /// Broken encoding closes; wrong arguments and unknown codes are dropped, counted, and answered where the dialect can.
    fn unusable(&mut self, error: crate::packet::PacketError) -> Result<(), Ending> {
        if error.closes() {
            return Err(Ending::Packet(error));
        }
        Metrics::count(&self.shared.metrics.dropped_packets, "rule", error.name());
        debug!(client = self.client.id, rule = error.name(), "packet dropped: {error}");
        if self.session.awaits_hello() {
            return Err(Ending::Breach(Breach::HelloFirst));
        }
        self.reply(&ServerPacket::Error { rule: error.name(), detail: &error.to_string() });
        Ok(())
    }

    fn packet(&mut self, packet: ClientPacket<'_>) -> Result<(), Ending> {
        self.shared.metrics.messages_in.inc();
        let (now, tick) = (self.now, self.client.room.tick());
        let mut outputs = std::mem::take(&mut self.outputs);
        let handled = self.session.handle(packet, now, tick, &mut outputs).map_err(Ending::Breach);
        let carried = outputs.drain(..).try_for_each(|output| self.carry_out(output));
        self.outputs = outputs;
        handled.and(carried)
    }

    fn carry_out(&mut self, output: Output) -> Result<(), Ending> {
        match output {
            Output::Welcome => {
                self.welcome();
                self.shared.give_to_worker(self.client);
            }
            Output::Reply(packet) => self.reply(&packet),
            Output::Join { name, skin, gift } => self.join(name, skin, gift)?,
            Output::Command(command, intended) => self.command(command, intended),
            Output::Watch(player) => self.client.set_wish(player),
            Output::Dropped(rule) => Metrics::count(&self.shared.metrics.dropped_packets, "rule", rule),
        }
        Ok(())
    }

    /// Queues a command, unless the clients of this address have said too much of its kind.
    fn command(&self, command: Command, intended: Option<u32>) {
        if Spending::on(&command.action).is_some_and(|spending| !self.may(spending)) {
            return;
        }
        if let Err(dropped) = self.client.room.push(self.address, command, intended) {
            Metrics::count(&self.shared.metrics.refused_commands, "reason", dropped.name());
        }
    }

    /// Whether the budget of this address has a token; if not, the client is told the rule.
    fn may(&self, spending: Spending) -> bool {
        let may = self.shared.budgets.take(self.address, spending, self.now).is_ok();
        if !may {
            Metrics::count(&self.shared.metrics.refused_commands, "reason", spending.rule());
            self.reply(&ServerPacket::Error { rule: spending.rule(), detail: spending.detail() });
        }
        may
    }

    /// Gives the client a body. A client whose address joins too often goes on watching, and may try again.
    fn join(&mut self, name: String, skin: u8, gift: bool) -> Result<(), Ending> {
        if !self.may(Spending::Join) {
            return Ok(());
        }
        let player = self.client.room.take_seat(self.client.id, self.shared.now());
        let player = player.ok_or(Ending::Breach(Breach::Full))?;
        let tick = self.client.room.tick();
        info!(client = self.client.id, player = player.0, tick, ?name, "player enters");
        self.session.joined(player);
        self.client.set_player(player, &name);
        let amount = rules::MOOFOLL_GIFT;
        let gifts = Resource::ALL.into_iter().filter(|_| gift);
        let gifts = gifts.map(|resource| Action::Grant { player, resource, amount });
        let actions = std::iter::once(Action::Join { player, name, skin }).chain(gifts);
        self.client.room.push_operator(actions.collect());
        Ok(())
    }

    fn welcome(&self) {
        let room = &self.client.room;
        self.reply(&ServerPacket::Welcome(Welcome {
            version: NATIVE_VERSION,
            code_hash: &format!("{:016x}", world::code_hash()),
            seed: room.identity.seed,
            map_size_px: room.identity.map_size_px,
            tick_hz: room.options.rates.tick_hz as u8,
            update_hz: room.options.rates.native_hz as u8,
            epoch: &room.options.epoch,
            tick: room.tick(),
        }));
    }

    fn reply(&self, packet: &ServerPacket<'_>) {
        self.client.send(packet, self.shared.now());
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::net::Config;
    use crate::net::endpoint::Endpoint;
    use crate::packet::Codes;
    use crate::ws::frame::{self, Opcode};

    #[test]
    fn bytes_of_an_unfinished_frame_do_not_end_a_silence() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("its address");
        let stream = Arc::new(TcpStream::connect(address).expect("a connection"));
        let shared = Host::for_tests(Config::new(address));
        let dialect = Codes::builtin().dialect("legacy").expect("built in");
        let endpoint = Endpoint { dialect, layout: Layout::Moomoo, json: false };
        let (now, room) = (Duration::ZERO, Arc::clone(shared.room()));
        let client = Arc::new(Client::new(1, address, stream, room, endpoint, Default::default(), now));
        let session = Session::new(false, now);
        let (shared, client) = (&shared, &client);
        let mut conversation = Conversation {
            shared,
            client,
            address: Household::of(address.ip()),
            session,
            outputs: Vec::new(),
            now,
            boundary: None,
        };
        let (mut conn, mut pong) = (Conn::new(Role::Server, Limits::SERVER), Vec::new());
        frame::write(&mut pong, Opcode::Pong, Some([1, 2, 3, 4]), b"");
        let (last, first) = pong.split_last().expect("bytes");
        let later = Duration::from_secs(100);
        // What is heard is known to the millisecond.
        while shared.now() < Duration::from_millis(2) {}
        for byte in first {
            conversation.hear(&mut conn, &[*byte]).expect("nothing is wrong");
            assert_eq!(client.silence(later), later);
        }
        conversation.hear(&mut conn, &[*last]).expect("nothing is wrong");
        assert!(client.silence(later) < later);
    }
}
