//! A client's own thread after the handshake: reads, and carries out what the client's
//! [`Receiver`] asks for.
//!
//! Answers go to the client's queue, commands to the inbox. The thread blocks in `read` and nowhere
//! else; a client that is silent, slow or closing is looked after by its fan-out worker, which cuts
//! the socket. The thread reads at most [`limits::READ_BYTES`] at a time, ignores what comes after
//! the end of the conversation, and never leaves a player in the world.

use std::cell::Cell;
use std::io::{ErrorKind, Read};
use std::net::Shutdown;
use std::sync::Arc;
use std::time::Duration;

use tracing::{debug, info};

use super::budgets::Spending;
use super::client::Client;
use super::host::Host;
use super::metrics::Metrics;
use super::stream::drain;
use crate::household::Household;
use crate::limits;
use crate::peer::receiver::{Denied, Piece, Profile, RoomFacts};
use crate::peer::sender::Frames;
use crate::peer::{Driver, Ending, Receiver};
use crate::room::Handle;
use crate::session::Breach;
use crate::world::{Action, Command, PlayerId, Resource, rules};

/// Gives everything back when the thread ends, also by a panic.
struct Leaving<'a> {
    host: &'a Host,
    client: &'a Client,
    /// The rule that ended the connection, for listeners of the tap.
    rule: Cell<&'static str>,
}

impl Leaving<'_> {
    /// Takes the client's body out of the world. Nobody moves it any more, so it does not stand about while the last words go.
    fn leave_world(&self) {
        if let Some(player) = self.client.take_player() {
            self.client.room.disconnect(player, self.host.now());
        }
    }
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.leave_world();
        self.host.tap.ended(self.client.who(self.host.now(), self.client.room.tick()), self.rule.get());
        self.host.unlist(self.client);
        self.client.cut();
    }
}

/// The whole conversation, starting with the bytes after the request head.
pub fn run(host: &Host, client: &Arc<Client>, rest: &[u8]) {
    host.list(client);
    let leaving = Leaving { host, client, rule: Cell::new(Breach::InternalError.name()) };
    if host.is_stopping() {
        client.close(Ending::Breach(Breach::GoingAway), host.now());
    }
    // Closes what the end of the room has not found listed.
    if client.room.is_over() {
        client.close(Ending::Breach(Breach::InternalError), host.now());
    }
    // A ban closes the clients that are listed: a client that was admitted just before the ban and
    // is listed just after it is closed here.
    if host.admission.is_banned(client.address.ip()) {
        client.close(Ending::Breach(Breach::Banned), host.now());
    }
    let mut receiver = Receiver::new(client.endpoint.clone(), facts(&client.room), client.connected);
    let address = Household::of(client.address.ip());
    let mut asked = Asked { host, client, address, now: client.connected, tick: 0 };
    asked.look_up();
    receiver.begin(client.id, &mut asked);
    host.give_to_worker(client);
    let ending = talk(&mut receiver, &mut asked, rest);
    client.close(ending.clone(), host.now());
    let ending = client.sender.ending().unwrap_or(ending);
    leaving.rule.set(ending.name());
    log_ending(host, client, &ending);
    leaving.leave_world();
    last_words(&mut receiver, &mut asked);
    drop(leaving);
}

fn facts(room: &Handle) -> RoomFacts {
    RoomFacts {
        epoch: room.options.epoch.clone(),
        seed: room.identity.seed,
        map_size_px: room.identity.map_size_px,
        tick_hz: room.options.rates.tick_hz as u8,
        update_hz: room.options.rates.native_hz as u8,
    }
}

fn log_ending(host: &Host, client: &Client, ending: &Ending) {
    let (rule, tick) = (ending.name(), client.room.tick());
    let player = client.player().map_or(0, |player| player.0);
    if let Some(code) = ending.close_code() {
        Metrics::count(&host.metrics.closed, "rule", rule);
        info!(client = client.id, player, tick, rule, code = code.get(), "client closed: {ending}");
    } else {
        info!(client = client.id, player, tick, "client left: {ending}");
    }
}

/// Reads until one side ends it; returns why.
fn talk(receiver: &mut Receiver, asked: &mut Asked<'_>, rest: &[u8]) -> Ending {
    let (mut stream, mut buffer) = (&*asked.client.stream, [0; limits::READ_BYTES]);
    // The head was read by a deadline. From here on the worker looks after the client.
    let mut heard = stream.set_read_timeout(None).map_err(|_| Ending::PeerLost);
    heard = heard.and_then(|()| hear(receiver, asked, rest));
    while heard.is_ok() {
        heard = match stream.read(&mut buffer) {
            Ok(0) => Err(Ending::PeerLost),
            Ok(count) => hear(receiver, asked, &buffer[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(_) => Err(Ending::PeerLost),
        };
    }
    heard.err().unwrap_or(Ending::PeerLost)
}

/// Passes on bytes of the client. Bytes of a closing client are ignored, whichever thread is
/// closing it.
fn hear(receiver: &mut Receiver, asked: &mut Asked<'_>, bytes: &[u8]) -> Result<(), Ending> {
    let (host, sender) = (asked.host, &asked.client.sender);
    asked.look_up();
    host.metrics.bytes_in.inc_by(bytes.len() as u64);
    if let Some(ending) = sender.ending() {
        receiver.ignore(bytes, asked.now, asked);
        return Err(ending);
    }
    let messages = receiver.receive(bytes, asked.now, asked.tick, asked)?;
    if messages > 0 {
        sender.life.alive(asked.now);
    }
    sender.ending().map_or(Ok(()), Err)
}

/// Lets what is queued go out, says that no more will come, and waits for the peer's end, all within
/// a bound.
fn last_words(receiver: &mut Receiver, asked: &mut Asked<'_>) {
    let (host, client) = (asked.host, asked.client);
    asked.look_up();
    receiver.ignore(&[], asked.now, asked);
    let deadline = host.now() + limits::CLOSE_TIME;
    while client.sender.backlog() > 0 && host.now() < deadline {
        client.send_waiting(host.now());
        std::thread::sleep(limits::LAST_WORDS_LOOK);
    }
    let _ = client.stream.shutdown(Shutdown::Write);
    let left = deadline.saturating_sub(host.now());
    drain(&client.stream, left, limits::DRAIN_BYTES, |bytes| {
        asked.look_up();
        host.metrics.bytes_in.inc_by(bytes.len() as u64);
        receiver.ignore(bytes, asked.now, asked);
    });
}

/// What the client's bytes may ask of the server.
struct Asked<'a> {
    host: &'a Host,
    client: &'a Client,
    /// The client's address as limits count it.
    address: Household,
    /// When the bytes at hand were read. All that they lead to is judged by this one time, so that a
    /// capture has it.
    now: Duration,
    /// Ticks that the room had completed then.
    tick: u32,
}

impl Asked<'_> {
    /// Notes the time and the tick.
    fn look_up(&mut self) {
        (self.now, self.tick) = (self.host.now(), self.client.room.tick());
    }

    /// Takes a token of the budget of this address.
    fn spend(&self, spending: Spending) -> Result<(), Denied> {
        self.host.budgets.take(self.address, spending, self.now).map_err(|_| {
            Metrics::count(&self.host.metrics.refused_commands, "reason", spending.rule());
            Denied::Rejected(spending.rule(), spending.detail())
        })
    }
}

impl Driver for Asked<'_> {
    fn answer(&mut self, frames: &[u8]) {
        self.client.send(Frames::Lent(frames), self.now);
    }

    fn follow(&mut self) {
        self.client.sender.life.greeted();
        self.client.follow();
    }

    /// A client whose address joins too often goes on watching, and may try again.
    fn join(&mut self, profile: Profile) -> Result<PlayerId, Denied> {
        self.spend(Spending::Join)?;
        let Profile { name, skin, gift } = profile;
        let player =
            self.client.room.take_seat(self.client.id, self.now).ok_or(Denied::Closed(Breach::Full))?;
        info!(client = self.client.id, player = player.0, tick = self.tick, ?name, "player enters");
        self.client.set_player(player, &name);
        let amount = rules::MOOFOLL_GIFT;
        let gifts = Resource::ALL.into_iter().filter(|_| gift);
        let gifts = gifts.map(|resource| Action::Grant { player, resource, amount });
        let actions = std::iter::once(Action::Join { player, name, skin }).chain(gifts);
        self.client.room.push_operator(actions.collect());
        Ok(player)
    }

    fn command(&mut self, command: Command, intended: Option<u32>) -> Result<(), Denied> {
        if let Some(spending) = Spending::on(&command.action) {
            self.spend(spending)?;
        }
        if let Err(dropped) = self.client.room.push(self.address, command, intended) {
            Metrics::count(&self.host.metrics.refused_commands, "reason", dropped.name());
        }
        Ok(())
    }

    fn watch(&mut self, player: Option<PlayerId>) {
        self.client.set_wish(player);
    }

    fn packet(&mut self) {
        self.host.metrics.messages_in.inc();
    }

    fn dropped(&mut self, rule: &'static str) {
        Metrics::count(&self.host.metrics.dropped_packets, "rule", rule);
        debug!(client = self.client.id, rule, "packet dropped");
    }

    fn warned(&mut self, rule: &'static str) {
        debug!(client = self.client.id, rule, "half of a budget is spent");
    }

    fn observes(&self) -> bool {
        self.host.tap.wants(self.client.id)
    }

    fn observed(&mut self, piece: Piece<'_>, saved: &dyn Fn() -> Vec<u8>) {
        self.host.tap.heard(self.client.who(self.now, self.tick), piece, saved);
    }
}
