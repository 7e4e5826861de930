//! The server's end of one connection, driven as `net` drives it, but in steps of virtual time.

use core::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tickwire_sim::PlayerId;

use super::counts::Counts;
use super::failure::Broken;
use super::receiver_twin::{Call, Noted, Twin};
use super::sim_server::SimHost;
use super::virtual_tcp::{Read, ServerEnd, Wire};
use crate::connection::Ending;
use crate::connection::receiver::Denied;
use crate::game::Dice;
use crate::limits;
use crate::server::admission::Permit;
use crate::server::admission::address_rate_limits::Spending;
use crate::server::clients::client::{Client, Line};
use crate::server::clients::client_driver::{self, Asked};
use crate::ws::http::{self, HeadReader, RequestHead};

/// An established connection.
pub struct Talk {
    /// The client.
    pub client: Arc<Client<ServerEnd>>,
    twin: Twin,
    /// After its end: the deadline for the last bytes, and the number of bytes dropped since.
    last: Option<(Duration, usize)>,
    /// Why it ended.
    pub ending: Option<Ending>,
}

enum Stage {
    Head(Box<HeadReader>),
    /// Refused: waits for the peer to close, at most until this time.
    Refused(Duration),
    Talking(Box<Talk>),
    Over,
}

/// See the [module](self).
pub struct Connection {
    address: SocketAddr,
    wire: Arc<Wire>,
    permit: Option<Permit>,
    opened: Duration,
    stage: Stage,
    dice: Dice,
}

impl Connection {
    /// A connection that the listener has accepted, or `None` if no thread is available for it.
    pub fn accept(
        address: SocketAddr,
        wire: &Arc<Wire>,
        seed: u64,
        host: &mut SimHost,
        counts: &mut Counts,
    ) -> Option<Connection> {
        let now = host.clock.now();
        let refuse = |rule: &'static str, counts: &mut Counts| {
            counts.add(rule);
            wire.respond(&http::response(503, "text/plain; charset=utf-8", &[], rule.as_bytes()));
            wire.server_end();
        };
        if host.budgets.take(SimHost::household(address), Spending::Connection, now).is_err() {
            refuse("refused: connection rate", counts);
            return None;
        }
        host.spent(address, Spending::Connection);
        match host.admission.admit(Some(SimHost::household(address))) {
            Ok(admitted) => Some(Connection {
                address,
                wire: Arc::clone(wire),
                permit: Some(admitted.permit),
                opened: now,
                stage: Stage::Head(Box::new(HeadReader::new(limits::HEAD_LIMITS))),
                dice: Dice::new(seed),
            }),
            Err(_) => {
                refuse("refused: no place for a request", counts);
                None
            }
        }
    }

    /// The conversation, if it has begun.
    pub fn talk(&self) -> Option<&Talk> {
        match &self.stage {
            Stage::Talking(talk) => Some(talk),
            _ => None,
        }
    }

    /// Whether its thread would have ended.
    pub fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Over)
    }

    /// Reads the bytes that have arrived.
    ///
    /// # Errors
    /// An invariant is broken.
    pub fn step(&mut self, host: &mut SimHost, counts: &mut Counts) -> Result<(), Broken> {
        let now = host.clock.now();
        for _ in 0..16 {
            if self.is_over() || self.is_past_deadline(now) {
                break;
            }
            let most = match self.dice.below(6) {
                0 => 1 + self.dice.below(40) as usize,
                _ => limits::READ_BYTES,
            };
            let read = self.wire.server_read(most);
            if read == Read::Nothing {
                break;
            }
            self.take(read, host, counts)?;
        }
        self.look(now, host, counts);
        Ok(())
    }

    fn is_past_deadline(&self, now: Duration) -> bool {
        match &self.stage {
            Stage::Refused(deadline) => now >= *deadline,
            Stage::Talking(talk) => {
                talk.last.is_some_and(|(until, dropped)| now >= until || dropped >= limits::MAX_DRAIN_BYTES)
            }
            _ => false,
        }
    }

    /// Enforces deadlines, and ends a conversation that another thread has closed.
    fn look(&mut self, now: Duration, host: &mut SimHost, counts: &mut Counts) {
        if let Stage::Head(reader) = &self.stage
            && now >= self.opened + limits::HEAD_TIMEOUT
        {
            match reader.has_begun() {
                true => self.refuse(408, now),
                false => {
                    self.wire.server_end();
                    self.stage = Stage::Refused(now + limits::CLOSE_TIMEOUT);
                }
            }
        }
        if let Stage::Talking(talk) = &mut self.stage
            && let Some((until, _)) = talk.last
            && now < until
        {
            talk.client.send_waiting(now);
            if talk.client.sender.backlog() == 0 {
                self.wire.server_end();
            }
        }
        if self.is_past_deadline(now) {
            self.finish(host, counts);
        }
    }

    fn take(&mut self, read: Read, host: &mut SimHost, counts: &mut Counts) -> Result<(), Broken> {
        let now = host.clock.now();
        match (&mut self.stage, read) {
            (_, Read::Nothing) | (Stage::Over, _) => Ok(()),
            (Stage::Head(reader), Read::Bytes(bytes)) => match reader.receive(&bytes) {
                Ok(None) => Ok(()),
                Ok(Some(head)) => {
                    let rest = reader.rest().to_vec();
                    self.enter(&head, &rest, host, counts)
                }
                Err(refusal) => {
                    counts.add("refused: not a request");
                    self.refuse(refusal.status, now);
                    Ok(())
                }
            },
            (Stage::Head(_) | Stage::Refused(_), Read::End | Read::Reset) => {
                self.finish(host, counts);
                Ok(())
            }
            (Stage::Refused(_), Read::Bytes(_)) => Ok(()),
            (Stage::Talking(talk), Read::Bytes(bytes)) if talk.last.is_some() => {
                talk.last = talk.last.map(|(until, dropped)| (until, dropped + bytes.len()));
                Ok(())
            }
            (Stage::Talking(talk), Read::Bytes(bytes)) => {
                let heard = talk.hear(&bytes, host, counts)?;
                if let Err(ending) = heard {
                    talk.end(ending, host, counts);
                }
                Ok(())
            }
            (Stage::Talking(talk), Read::End | Read::Reset) => {
                if talk.last.is_none() {
                    talk.end(Ending::PeerLost, host, counts);
                }
                self.finish(host, counts);
                Ok(())
            }
        }
    }

    fn refuse(&mut self, status: u16, now: Duration) {
        self.wire.respond(&http::response(status, "text/plain; charset=utf-8", &[], b"refused\n"));
        self.wire.server_end();
        self.stage = Stage::Refused(now + limits::CLOSE_TIMEOUT);
    }

    fn enter(
        &mut self,
        head: &RequestHead,
        rest: &[u8],
        host: &mut SimHost,
        counts: &mut Counts,
    ) -> Result<(), Broken> {
        let now = host.clock.now();
        let Some(permit) = &mut self.permit else { return Ok(()) };
        let entered = host.enter(head, self.address, permit);
        let entry = match entered {
            Ok(entry) => entry,
            Err(no) => {
                counts.add(match (no.is_cap, no.status) {
                    (true, 429) => "refused: client rate",
                    (true, _) => "refused: no place for a client",
                    _ => "refused: request",
                });
                self.refuse(503, now);
                return Ok(());
            }
        };
        self.wire.respond(&entry.response);
        let who = (host.next_client(), self.address);
        let line = ServerEnd(Arc::clone(&self.wire));
        let client = Arc::new(Client::new(who, line, entry, now));
        let twin = Twin::new(&client, self.dice.bits());
        let mut talk = Box::new(Talk { client, twin, last: None, ending: None });
        talk.begin(host)?;
        host.welcome(&talk.client);
        let heard = if rest.is_empty() { Ok(()) } else { talk.hear(rest, host, counts)? };
        if let Err(ending) = heard {
            talk.end(ending, host, counts);
        }
        self.stage = Stage::Talking(talk);
        Ok(())
    }

    /// Ends the thread and releases everything that it holds.
    fn finish(&mut self, host: &mut SimHost, counts: &mut Counts) {
        if let Stage::Talking(talk) = &self.stage {
            talk.leave_world(host, counts);
            talk.client.set_gone();
            talk.client.line.cut();
        }
        self.wire.server_end();
        self.permit = None;
        self.stage = Stage::Over;
    }
}

impl Talk {
    fn begin(&mut self, host: &SimHost) -> Result<(), Broken> {
        let Talk { client, twin, .. } = self;
        let at = client.at(client.connected);
        let mut asked = Asked { client, budgets: &host.budgets, guard: &host.guard, books: &(), at };
        let mut noted = Noted::new(&mut asked);
        let begun = client.receiver.lock().begin(client.id, &mut noted);
        twin.begin(client.id, noted)?;
        begun.map_err(|ending| Broken::new("everyone may play", ending.to_string()))
    }

    /// Passes bytes to the receiver and to its twin.
    fn hear(
        &mut self,
        bytes: &[u8],
        host: &mut SimHost,
        counts: &mut Counts,
    ) -> Result<Result<(), Ending>, Broken> {
        let Talk { client, twin, .. } = self;
        let at = client.at(host.clock.now());
        let is_closing = client.sender.ending().is_some();
        let mut asked = Asked { client, budgets: &host.budgets, guard: &host.guard, books: &(), at };
        let mut noted = Noted::new(&mut asked);
        let heard = client_driver::hear(client, bytes, at, &mut noted);
        let spent: Vec<Spending> = noted.calls.iter().filter_map(spends).collect();
        let said: Vec<(u32, u64)> = noted.calls.iter().filter_map(says).collect();
        let got = noted.calls.iter().filter_map(gets).next_back();
        if !is_closing {
            twin.hear(bytes, at, noted)?;
        }
        spent.into_iter().for_each(|spending| host.spent(client.address, spending));
        said.into_iter().try_for_each(|(tick, checksum)| host.worlds.said(client, tick, checksum))?;
        got.map_or(Ok(()), |player| host.joined(client, player, counts))?;
        Ok(heard)
    }

    fn end(&mut self, ending: Ending, host: &mut SimHost, counts: &mut Counts) {
        let now = host.clock.now();
        self.client.close(ending.clone(), now);
        let ending = self.client.sender.ending().unwrap_or(ending);
        counts.add(ended(&ending));
        self.ending = Some(ending);
        self.leave_world(host, counts);
        self.last = Some((now + limits::CLOSE_TIMEOUT, 0));
    }

    fn leave_world(&self, host: &mut SimHost, counts: &mut Counts) {
        if !host.leaks_this_seat(&self.client) {
            host.leave_world(&self.client, counts);
        }
    }
}

/// The name under which an ending is counted.
fn ended(ending: &Ending) -> &'static str {
    match ending {
        Ending::PeerClosed(_) => "ended: the peer closed",
        Ending::PeerLost => "ended: the peer was lost",
        Ending::Violation(_) => "ended: broke a rule of RFC 6455",
        Ending::Packet(_) => "ended: a broken packet",
        Ending::Breach(breach) => match breach.name() {
            "message_rate" => "ended: message_rate",
            "byte_rate" => "ended: byte_rate",
            "hello_late" => "ended: hello_late",
            "slow_client" => "ended: slow_client",
            "silent" => "ended: silent",
            "kicked" => "ended: kicked",
            "banned" => "ended: banned",
            "going_away" => "ended: going_away",
            "taken_over" => "ended: taken_over",
            "frame_kind" => "ended: frame_kind",
            "hello_first" => "ended: hello_first",
            _ => "ended: broke another rule of the server",
        },
    }
}

/// The player that a call brought.
fn gets(call: &Call) -> Option<PlayerId> {
    match call {
        Call::Join(.., granted) => granted.ok(),
        _ => None,
    }
}

/// The checksum of a client in lockstep that a call brought.
fn says(call: &Call) -> Option<(u32, u64)> {
    match call {
        Call::Checksum(tick, checksum) => Some((*tick, *checksum)),
        _ => None,
    }
}

/// The budget from which a call takes.
fn spends(call: &Call) -> Option<Spending> {
    let is_spent = |granted: &Result<(), Denied>| !matches!(granted, Err(Denied::Rejected(..)));
    match call {
        Call::Join(.., granted) => is_spent(&granted.map(drop)).then_some(Spending::Join),
        Call::Command(_, shared, granted) => shared.map(Spending::Shared).filter(|_| is_spent(granted)),
        _ => None,
    }
}
