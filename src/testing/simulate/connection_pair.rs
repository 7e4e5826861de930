//! One connection with both of its ends, and the checks of that connection.

use core::net::SocketAddr;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::client_end::{ClientEnd, ClientKind};
use super::counts::SimulationCounts;
use super::failure::InvariantFailure;
use super::lockstep_bot::{LockstepBehavior, Observation};
use super::server_end::SimConnection;
use super::sim_server::{SimServer, UpdatedClient};
use super::virtual_tcp::VirtualTcp;
use crate::connection::DisconnectReason;
use crate::game::CloseReason;
use crate::game::bots::{Agent as _, ClientVariant, Tolerance};
use crate::testing::hostile::HostileKind;
use crate::ws::CloseCode;

/// The data that a client retains when it loses its connection.
#[derive(Debug, Default)]
pub struct LostConnection {
    /// Hashes of the reliable packets that the client received. Empty if the client still reads.
    pub marks: BTreeSet<u32>,
}

/// One connection with both of its ends.
pub struct ConnectionPair {
    client_end: Option<ClientEnd>,
    connection: Option<SimConnection>,
    variant: ClientVariant,
    lost: Option<LostConnection>,
    has_parted: bool,
    /// Hashes of the reliable packets that the client received over earlier connections.
    received_hashes: BTreeSet<u32>,
    /// Number of events that were compared with the ones that the room sent.
    compared_events: usize,
    /// Maximum lag of a lockstep client's world relative to the room since its last corruption, in
    /// ticks.
    ticks_behind: u32,
    /// Whether the client has opened another connection with the same key.
    pub is_followed: bool,
}

impl ConnectionPair {
    /// Opens a connection from an address.
    pub fn new(
        (client_end, address, seed): (ClientEnd, SocketAddr, u64),
        variant: ClientVariant,
        sent_bytes: BTreeSet<u32>,
        (host, counts): (&mut SimServer, &mut SimulationCounts),
    ) -> ConnectionPair {
        let wire: &Arc<VirtualTcp> = &client_end.tcp;
        let connection = SimConnection::accept(address, wire, seed, host, counts);
        ConnectionPair {
            connection,
            client_end: Some(client_end),
            variant,
            lost: None,
            has_parted: false,
            received_hashes: sent_bytes,
            compared_events: 0,
            ticks_behind: 0,
            is_followed: false,
        }
    }

    /// Runs one step of both ends.
    ///
    /// # Errors
    /// An invariant is broken.
    pub fn step(
        &mut self,
        host: &mut SimServer,
        counts: &mut SimulationCounts,
    ) -> Result<(), InvariantFailure> {
        let now = host.now();
        let got_operator_gift = self.client().is_some_and(|client| host.models.granted.contains(&client));
        if let Some(client_end) = &mut self.client_end {
            if let (ClientKind::Bot(bot), true) = (&mut client_end.kind, got_operator_gift) {
                bot.agent.tolerate(Tolerance::OperatorGift);
            }
            client_end.step(now, counts)?;
            self.part();
            self.compare_with_room(host, counts)?;
        }
        if let Some(connection) = &mut self.connection {
            connection.step(host, counts)?;
        }
        self.end(host, counts)
    }

    /// Compares the observations of a lockstep client with its room.
    fn compare_with_room(
        &mut self,
        host: &mut SimServer,
        counts: &mut SimulationCounts,
    ) -> Result<(), InvariantFailure> {
        let (client, binds) = (self.client(), self.must_be_reported(host.tick_hz));
        let Some(peer) = self.client_end.as_mut().and_then(ClientEnd::lockstep_bot) else { return Ok(()) };
        let worlds = &mut host.models.worlds;
        if let Some(client) =
            client.filter(|id| peer.kind == LockstepBehavior::FalseChecksums && !worlds.has_changed(*id))
        {
            counts.add(HostileKind::FalseChecksums.count_name());
            worlds.mark_changed(client, 0);
        }
        let seen = peer.take_observations();
        let newest = worlds.newest(&peer.epoch).unwrap_or_default();
        if let Some(Observation::World(tick, _)) =
            seen.iter().rfind(|one| matches!(one, Observation::World(..)))
        {
            self.ticks_behind = self.ticks_behind.max(newest.saturating_sub(*tick));
        }
        for one in seen {
            match one {
                Observation::World(tick, checksum) => {
                    counts.add("lockstep: ticks");
                    if let Some(checksum) = checksum
                        && worlds.compare(&peer.epoch, tick, checksum)?
                    {
                        counts.add("lockstep: worlds compared");
                    }
                }
                Observation::Corrupted(tick) => {
                    self.ticks_behind = 0;
                    counts.add("lockstep: worlds changed");
                    client.into_iter().for_each(|client| worlds.mark_changed(client, tick));
                }
                Observation::Restored(last) => {
                    client.into_iter().for_each(|client| worlds.mark_restored(client, last))
                }
                Observation::Report(report) => {
                    counts.add("lockstep: reports");
                    worlds.check_report(&peer.epoch, &report)?;
                }
                Observation::Named => counts.add("lockstep: changed fields named"),
                Observation::Unnamed(tick) if binds && self.ticks_behind <= host.tick_hz / 2 => {
                    let rule = "a changed field is named within two intervals, and the world comes back";
                    return Err(InvariantFailure::new(rule, format!("tick {tick}")));
                }
                Observation::Unnamed(_) => counts.add("lockstep: changed fields not named in time"),
            }
        }
        Ok(())
    }

    /// Whether the server must report a corrupted field of the client in time. The server must do
    /// so if the room's intervals are longer than a round trip, and the connection had no faults.
    fn must_be_reported(&self, tick_hz: u32) -> bool {
        let client = self.connection.as_ref().and_then(|connection| connection.host_end.client());
        let Some(rules) = client.map(|client| client.room.lockstep.rules()) else { return false };
        rules.checksum_ticks >= tick_hz
            && rules.snapshot_ticks >= 2 * tick_hz
            && self.client_end.as_ref().is_some_and(|client_end| !client_end.has_network_fault)
    }

    /// Records once that the client has lost its connection, or opens another connection.
    fn part(&mut self) {
        let Some(client_end) = &self.client_end else { return };
        if self.has_parted || !client_end.has_finished && !client_end.should_reconnect {
            return;
        }
        self.has_parted = true;
        let mut marks = BTreeSet::new();
        if let (ClientKind::Bot(bot), true) = (&client_end.kind, client_end.has_finished) {
            marks.extend(bot.agent.reliable_hashes());
            marks.append(&mut self.received_hashes.clone());
        }
        self.lost = Some(LostConnection { marks });
    }

    /// Returns the data of a client that has just lost its connection or opens another connection.
    pub fn take_parting(&mut self) -> Option<LostConnection> {
        self.lost.take()
    }

    /// Whether both ends are finished.
    pub fn is_over(&self) -> bool {
        self.client_end.is_none() && self.connection.is_none()
    }

    /// The client ID, if the connection holds a client slot.
    pub fn client(&self) -> Option<u64> {
        self.connection.as_ref()?.host_end.client().map(|client| client.id)
    }

    /// Disconnects the client: a bot with a close frame, other clients without.
    pub fn leave(&mut self) {
        let Some(client_end) = &mut self.client_end else { return };
        match client_end.kind {
            ClientKind::Bot(_) if !client_end.has_finished => client_end.leave(),
            _ => self.close(),
        }
    }

    /// Closes the client's socket.
    pub fn close(&mut self) {
        if let Some(client_end) = &mut self.client_end {
            client_end.has_finished = true;
            client_end.tcp.close();
        }
    }

    /// Injects a bug: the connection loses bytes.
    pub fn lose_bytes(&self) {
        if let Some(client_end) = self.client_end.as_ref().filter(|_| self.client().is_some()) {
            client_end.tcp.lose_next();
        }
    }

    /// Delivers all bytes in transit, and compares the bot's world model with the published state.
    /// Returns `false` if there is nothing to compare.
    ///
    /// # Errors
    /// The world model differs from the published state.
    pub fn compare(&mut self, served: &UpdatedClient, host: &SimServer) -> Result<bool, InvariantFailure> {
        let now = host.now();
        let Some(client_end) = self.client_end.as_mut() else { return Ok(false) };
        if client_end.bot().is_none() {
            return Ok(false);
        }
        client_end.tcp.deliver_now();
        // A datagram may arrive before or after the bytes that were sent with it.
        let is_first = served.published.tick().is_multiple_of(2);
        if is_first && !client_end.deliver_datagrams(now) {
            return Ok(false);
        }
        client_end.read_all(now)?;
        if !is_first && !client_end.deliver_datagrams(now) {
            return Ok(false);
        }
        let missing = client_end.tcp.missing();
        let Some(bot) = client_end.bot() else { return Ok(false) };
        if missing > 0 {
            let detail = format!("{missing} queued bytes are lost");
            return Err(InvariantFailure::new("every queued byte arrives once and in order", detail));
        }
        let info = host.game.info;
        info.compare_view(&*bot.agent, served.client.player(), &*served.published).map_err(|detail| {
            let rule = "a client's world model matches the published state";
            InvariantFailure::new(rule, format!("tick {}: {detail}", served.published.tick()))
        })
    }

    /// Checks that the bot received each event once and in order, and that no event was already
    /// received over an earlier connection. Returns the number of events since the last check.
    ///
    /// # Errors
    /// An event was lost, repeated or out of order.
    pub fn check(&mut self, host: &SimServer) -> Result<usize, InvariantFailure> {
        let bot = self.client_end.as_ref().and_then(ClientEnd::bot);
        let Some((bot, client)) = bot.zip(self.client()) else { return Ok(0) };
        let received = bot.agent.reliable_hashes();
        let rule = "every reliable message arrives once and in order";
        let is_first = self.variant.0 == host.models.games[0].dialect();
        let expected = host.models.marks.get(&client).filter(|_| is_first);
        if let Some(expected) = expected.filter(|expected| !expected.starts_with(received)) {
            let right = received.iter().zip(expected).take_while(|(sent_bytes, is)| sent_bytes == is).count();
            let (sent_bytes, is) = (&received[right..], &expected[right..]);
            let detail = format!("after {right} marks it received {sent_bytes:?} instead of {is:?}");
            return Err(InvariantFailure::new(rule, detail));
        }
        let is_notice = |mark: u32| host.models.games.iter().any(|game| game.is_notice(mark));
        match received.iter().find(|mark| self.received_hashes.contains(mark) && is_notice(**mark)) {
            Some(mark) => Err(InvariantFailure::new("nothing is told twice", format!("notice {mark}"))),
            None => {
                let compared = if expected.is_some() { received.len() } else { 0 };
                Ok(compared.saturating_sub(std::mem::replace(&mut self.compared_events, compared)))
            }
        }
    }

    /// Removes finished ends.
    fn end(&mut self, host: &SimServer, counts: &mut SimulationCounts) -> Result<(), InvariantFailure> {
        let is_over = self.connection.as_ref().is_none_or(|connection| connection.host_end.is_over());
        if is_over {
            self.connection = None;
        }
        if let Some(reason) =
            self.connection.as_ref().and_then(|connection| connection.host_end.disconnect_reason())
        {
            self.check_ending(&reason)?;
        }
        let Some(client_end) =
            self.client_end.as_mut().filter(|client_end| is_over && client_end.has_finished)
        else {
            return Ok(());
        };
        counts.add_many("partial sends", client_end.tcp.partial_sends());
        client_end.tcp.udp.take_counts(counts);
        if host.net.is_some() {
            let segments = client_end.tcp.segments();
            counts.add_many("segments", segments.segments);
            counts.add_many("segments lost", segments.losses);
            counts.add_many("segments that stalled their connection", segments.stalls);
        }
        if let Some(peer) = client_end.lockstep_bot() {
            let [syncs, checksums] = peer.counts();
            counts.add_many("lockstep: snapshots", syncs);
            counts.add_many("lockstep: checksums", checksums);
        }
        if let ClientKind::Bot(bot) = &mut client_end.kind {
            counts.stats.add(&bot.agent.take_stats());
        }
        self.client_end = None;
        Ok(())
    }

    /// Checks the end of a connection. The server may close a hostile client for the rule that it
    /// broke, and any client by the operator, for its second connection, or after a network fault.
    fn check_ending(&self, reason: &DisconnectReason) -> Result<(), InvariantFailure> {
        let Some(client_end) = &self.client_end else { return Ok(()) };
        let text = format!("{} {}", reason.close_code().map_or(0, CloseCode::get), reason.name());
        let must_get = match &client_end.kind {
            ClientKind::Bot(_) => false,
            ClientKind::Hostile(hostile) => hostile.kind.must_get(&text),
        };
        let by_operator = [CloseReason::Kicked, CloseReason::Banned, CloseReason::GoingAway];
        let by_trouble = [CloseReason::SlowClient, CloseReason::IdleTimeout, CloseReason::HelloLate];
        let is_right = match reason {
            DisconnectReason::PeerClosed(_) | DisconnectReason::PeerLost => true,
            // A stalled connection delivers all messages of a longer period at once.
            DisconnectReason::Closed(CloseReason::MessageRate) => client_end.has_network_fault || must_get,
            DisconnectReason::Closed(CloseReason::TakenOver) => self.is_followed,
            DisconnectReason::Closed(close_reason) if by_operator.contains(close_reason) => true,
            DisconnectReason::Closed(close_reason) if by_trouble.contains(close_reason) => {
                client_end.has_network_fault || client_end.has_finished || must_get
            }
            DisconnectReason::Closed(
                CloseReason::InternalError | CloseReason::Overloaded | CloseReason::WorldFull,
            ) => false,
            _ => must_get,
        };
        let rule = "the server closes a client only for a rule that it breaks";
        if is_right { Ok(()) } else { Err(InvariantFailure::new(rule, format!("closed: {reason}"))) }
    }
}
