//! The server's end of one connection, driven as `net` drives it, but in steps of virtual time.

use core::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tickwire_sim::PlayerId;

use super::connection_twin::{AnsweredRequest, ConnectionTwin, RequestRecord};
use super::counts::SimulationCounts;
use super::failure::InvariantFailure;
use super::sim_server::SimServer;
use super::virtual_tcp::{ReadResult, ServerTransport, VirtualTcp};
use crate::connection::{Answer, ClientRequest, Denial, DisconnectReason, ReadTime};
use crate::game::BotRng;
use crate::limits;
use crate::server::admission::Permit;
use crate::server::admission::address_rate_limits::LimitedAction;
use crate::server::clients::client::{Client, Transport};
use crate::server::clients::client_driver::{ClientDriver, DriverEvent};
use crate::ws::http::{self, HeadReader, RequestHead};

/// A connection after the upgrade.
pub struct ServerSession {
    /// The client.
    pub client: Arc<Client<ServerTransport>>,
    twin_connection: ConnectionTwin,
    /// After the end of the session: the deadline for the last bytes, and the number of bytes
    /// dropped since then.
    last: Option<(Duration, usize)>,
    /// Reason for the end of the session.
    pub ending: Option<DisconnectReason>,
}

enum SimConnectionStage {
    Head(Box<HeadReader>),
    /// Refused. Waits until this time for the client to close.
    Refused(Duration),
    Talking(Box<ServerSession>),
    Over,
}

/// The server's end of one connection.
pub struct SimConnection {
    address: SocketAddr,
    wire: Arc<VirtualTcp>,
    permit: Option<Permit>,
    opened: Duration,
    stage: SimConnectionStage,
    dice: BotRng,
}

impl SimConnection {
    /// Accepts a connection as the listener does. `None` if no slot is available.
    pub fn accept(
        address: SocketAddr,
        wire: &Arc<VirtualTcp>,
        seed: u64,
        host: &mut SimServer,
        counts: &mut SimulationCounts,
    ) -> Option<SimConnection> {
        let now = host.clock.now();
        let refuse = |rule: &'static str, counts: &mut SimulationCounts| {
            counts.add(rule);
            wire.respond(&http::response(503, "text/plain; charset=utf-8", &[], rule.as_bytes()));
            wire.server_end();
        };
        if host.budgets.take(SimServer::household(address), LimitedAction::Connection, now).is_err() {
            refuse("refused: connection rate", counts);
            return None;
        }
        host.spent(address, LimitedAction::Connection);
        match host.admission.admit(Some(SimServer::household(address))) {
            Ok(admitted) => Some(SimConnection {
                address,
                wire: Arc::clone(wire),
                permit: Some(admitted.permit),
                opened: now,
                stage: SimConnectionStage::Head(Box::new(HeadReader::new(limits::HEAD_LIMITS))),
                dice: BotRng::new(seed),
            }),
            Err(_) => {
                refuse("refused: no place for a request", counts);
                None
            }
        }
    }

    /// The session, if the upgrade is complete.
    pub fn talk(&self) -> Option<&ServerSession> {
        match &self.stage {
            SimConnectionStage::Talking(talk) => Some(talk),
            _ => None,
        }
    }

    /// Whether the connection's thread would have ended.
    pub fn is_over(&self) -> bool {
        matches!(self.stage, SimConnectionStage::Over)
    }

    /// Reads the bytes that have arrived.
    ///
    /// # Errors
    /// An invariant is broken.
    pub fn step(
        &mut self,
        host: &mut SimServer,
        counts: &mut SimulationCounts,
    ) -> Result<(), InvariantFailure> {
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
            if read == ReadResult::Nothing {
                break;
            }
            self.take(read, host, counts)?;
        }
        self.check_deadlines(now, host, counts);
        Ok(())
    }

    fn is_past_deadline(&self, now: Duration) -> bool {
        match &self.stage {
            SimConnectionStage::Refused(deadline) => now >= *deadline,
            SimConnectionStage::Talking(talk) => {
                talk.last.is_some_and(|(until, dropped)| now >= until || dropped >= limits::MAX_DRAIN_BYTES)
            }
            _ => false,
        }
    }

    /// Enforces deadlines, and ends a session that another thread has closed.
    fn check_deadlines(&mut self, now: Duration, host: &mut SimServer, counts: &mut SimulationCounts) {
        if let SimConnectionStage::Head(reader) = &self.stage
            && now >= self.opened + limits::HEAD_TIMEOUT
        {
            match reader.has_begun() {
                true => self.refuse(408, now),
                false => {
                    self.wire.server_end();
                    self.stage = SimConnectionStage::Refused(now + limits::CLOSE_TIMEOUT);
                }
            }
        }
        if let SimConnectionStage::Talking(talk) = &mut self.stage
            && let Some((until, _)) = talk.last
            && now < until
        {
            talk.client.flush(now);
            if talk.client.sender.backlog() == 0 {
                self.wire.server_end();
            }
        }
        if self.is_past_deadline(now) {
            self.finish(host, counts);
        }
    }

    fn take(
        &mut self,
        read: ReadResult,
        host: &mut SimServer,
        counts: &mut SimulationCounts,
    ) -> Result<(), InvariantFailure> {
        let now = host.clock.now();
        match (&mut self.stage, read) {
            (_, ReadResult::Nothing) | (SimConnectionStage::Over, _) => Ok(()),
            (SimConnectionStage::Head(reader), ReadResult::Bytes(bytes)) => match reader.receive(&bytes) {
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
            (
                SimConnectionStage::Head(_) | SimConnectionStage::Refused(_),
                ReadResult::End | ReadResult::Reset,
            ) => {
                self.finish(host, counts);
                Ok(())
            }
            (SimConnectionStage::Refused(_), ReadResult::Bytes(_)) => Ok(()),
            (SimConnectionStage::Talking(talk), ReadResult::Bytes(bytes)) if talk.last.is_some() => {
                talk.last = talk.last.map(|(until, dropped)| (until, dropped + bytes.len()));
                Ok(())
            }
            (SimConnectionStage::Talking(talk), ReadResult::Bytes(bytes)) => {
                let heard = talk.receive(&bytes, host, counts)?;
                if let Err(ending) = heard {
                    talk.end(ending, host, counts);
                }
                Ok(())
            }
            (SimConnectionStage::Talking(talk), ReadResult::End | ReadResult::Reset) => {
                if talk.last.is_none() {
                    talk.end(DisconnectReason::PeerLost, host, counts);
                }
                self.finish(host, counts);
                Ok(())
            }
        }
    }

    fn refuse(&mut self, status: u16, now: Duration) {
        self.wire.respond(&http::response(status, "text/plain; charset=utf-8", &[], b"refused\n"));
        self.wire.server_end();
        self.stage = SimConnectionStage::Refused(now + limits::CLOSE_TIMEOUT);
    }

    fn enter(
        &mut self,
        head: &RequestHead,
        rest: &[u8],
        host: &mut SimServer,
        counts: &mut SimulationCounts,
    ) -> Result<(), InvariantFailure> {
        let now = host.clock.now();
        let Some(permit) = &mut self.permit else { return Ok(()) };
        let entered = host.enter(head, self.address, permit);
        let entry = match entered {
            Ok(entry) => entry,
            Err(no) => {
                counts.add(match (no.is_capacity, no.status) {
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
        let line = ServerTransport(Arc::clone(&self.wire));
        let client = Arc::new(Client::new(who, line, entry, now));
        let twin = ConnectionTwin::new(&client, self.dice.bits());
        let mut talk = Box::new(ServerSession { client, twin_connection: twin, last: None, ending: None });
        talk.begin(host)?;
        host.assign_worker(&talk.client);
        let heard = if rest.is_empty() { Ok(()) } else { talk.receive(rest, host, counts)? };
        if let Err(ending) = heard {
            talk.end(ending, host, counts);
        }
        self.stage = SimConnectionStage::Talking(talk);
        Ok(())
    }

    /// Ends the thread, and releases everything that it holds.
    fn finish(&mut self, host: &mut SimServer, counts: &mut SimulationCounts) {
        if let SimConnectionStage::Talking(talk) = &self.stage {
            talk.leave_world(host, counts);
            talk.client.mark_reader_ended();
            talk.client.line.abort();
        }
        self.wire.server_end();
        self.permit = None;
        self.stage = SimConnectionStage::Over;
    }
}

impl ServerSession {
    fn begin(&mut self, host: &SimServer) -> Result<(), InvariantFailure> {
        let ServerSession { client, twin_connection: twin, .. } = self;
        let driver = driver(client, host, client.at(client.connected_at));
        let mut record = RequestRecord::default();
        let begun = driver.begin_with(|output| record.execute(output, &driver));
        twin.begin(client.id, record)?;
        begun.map_err(|ending| InvariantFailure::new("everyone may play", ending.to_string()))
    }

    /// Passes bytes to the connection and to its twin.
    fn receive(
        &mut self,
        bytes: &[u8],
        host: &mut SimServer,
        counts: &mut SimulationCounts,
    ) -> Result<Result<(), DisconnectReason>, InvariantFailure> {
        let ServerSession { client, twin_connection: twin, .. } = self;
        let is_closing = client.sender.ending().is_some();
        let (at, mut record) = (client.at(host.clock.now()), RequestRecord::default());
        let heard = {
            let driver = driver(client, host, at);
            driver.receive_with(bytes, |output| record.execute(output, &driver))
        };
        let spent: Vec<LimitedAction> = record.requests.iter().filter_map(charged_action).collect();
        let said: Vec<(u32, u64)> = record.requests.iter().filter_map(reported_checksum).collect();
        let got = record.requests.iter().filter_map(joined_player).next_back();
        if !is_closing {
            twin.receive(bytes, at, record)?;
        }
        spent.into_iter().for_each(|spending| host.spent(client.address, spending));
        said.into_iter().try_for_each(|(tick, checksum)| host.worlds.said(client, tick, checksum))?;
        got.map_or(Ok(()), |player| host.joined(client, player, counts))?;
        Ok(heard)
    }

    fn end(&mut self, ending: DisconnectReason, host: &mut SimServer, counts: &mut SimulationCounts) {
        let now = host.clock.now();
        self.client.close(ending.clone(), now);
        let ending = self.client.sender.ending().unwrap_or(ending);
        counts.add(disconnect_counter(&ending));
        self.ending = Some(ending);
        self.leave_world(host, counts);
        self.last = Some((now + limits::CLOSE_TIMEOUT, 0));
    }

    fn leave_world(&self, host: &mut SimServer, counts: &mut SimulationCounts) {
        if !host.leaks_this_seat(&self.client) {
            host.leave_world(&self.client, counts);
        }
    }
}

/// The name under which a disconnect reason is counted.
fn disconnect_counter(ending: &DisconnectReason) -> &'static str {
    match ending {
        DisconnectReason::PeerClosed(_) => "ended: the peer closed",
        DisconnectReason::PeerLost => "ended: the peer was lost",
        DisconnectReason::Violation(_) => "ended: broke a rule of RFC 6455",
        DisconnectReason::Packet(_) => "ended: a broken packet",
        DisconnectReason::Breach(breach) => match breach.name() {
            "message_rate" => "ended: message_rate",
            "byte_rate" => "ended: byte_rate",
            "hello_late" => "ended: hello_late",
            "slow_client" => "ended: slow_client",
            "idle_timeout" => "ended: idle_timeout",
            "kicked" => "ended: kicked",
            "banned" => "ended: banned",
            "going_away" => "ended: going_away",
            "taken_over" => "ended: taken_over",
            "wrong_frame_type" => "ended: wrong_frame_type",
            "hello_first" => "ended: hello_first",
            _ => "ended: broke another rule of the server",
        },
    }
}

/// Creates the driver of a client.
fn driver<'a>(
    client: &'a Client<ServerTransport>,
    host: &'a SimServer,
    at: ReadTime,
) -> ClientDriver<'a, ServerTransport, impl Fn(DriverEvent<'_>)> {
    ClientDriver {
        client,
        budgets: &host.budgets,
        guard: &host.guard,
        at,
        is_observed: false,
        on_event: |_: DriverEvent<'_>| {},
    }
}

/// The player that a request obtained.
fn joined_player((_, answer): &AnsweredRequest) -> Option<PlayerId> {
    match answer {
        Some(Answer::Joined(player)) => player.ok(),
        _ => None,
    }
}

/// The checksum that a request reported.
fn reported_checksum((request, _): &AnsweredRequest) -> Option<(u32, u64)> {
    match request {
        ClientRequest::Checksum { tick, checksum } => Some((*tick, *checksum)),
        _ => None,
    }
}

/// The rate limit that a request consumed.
fn charged_action((request, answer): &AnsweredRequest) -> Option<LimitedAction> {
    let is_rejected = matches!(
        answer,
        Some(Answer::Joined(Err(Denial::Rejected(..))) | Answer::CommandQueued(Err(Denial::Rejected(..))))
    );
    match request {
        _ if is_rejected => None,
        ClientRequest::Join { .. } => Some(LimitedAction::Join),
        ClientRequest::Command { shared, .. } => shared.map(LimitedAction::Shared),
        _ => None,
    }
}
