//! One connection with both of its ends, and what is checked of it.

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

/// What a client takes along when it loses its connection.
#[derive(Debug, Default)]
pub struct LostConnection {
    /// The marks that it was told; empty if it still reads.
    pub marks: BTreeSet<u32>,
}

/// See the [module](self).
pub struct ConnectionPair {
    client_end: Option<ClientEnd>,
    connection: Option<SimConnection>,
    spoken: ClientVariant,
    parting: Option<LostConnection>,
    has_parted: bool,
    /// Marks that the client was told over earlier connections.
    received_hashes: BTreeSet<u32>,
    /// How far the world of its client in lockstep was behind the room's since it was changed, in ticks.
    lag: u32,
    /// Whether its client has begun another connection with the same key.
    pub is_followed: bool,
}

impl ConnectionPair {
    /// A connection from this address.
    pub fn new(
        (client_end, address, seed): (ClientEnd, SocketAddr, u64),
        spoken: ClientVariant,
        told: BTreeSet<u32>,
        (host, counts): (&mut SimServer, &mut SimulationCounts),
    ) -> ConnectionPair {
        let wire: &Arc<VirtualTcp> = &client_end.wire;
        let connection = SimConnection::accept(address, wire, seed, host, counts);
        ConnectionPair {
            connection,
            client_end: Some(client_end),
            spoken,
            parting: None,
            has_parted: false,
            received_hashes: told,
            lag: 0,
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
        let now = host.clock.now();
        let got_operator_gift = self.client().is_some_and(|client| host.granted.contains(&client));
        if let Some(client_end) = &mut self.client_end {
            if let (ClientKind::Bot(bot), true) = (&mut client_end.who, got_operator_gift) {
                bot.agent.excuse(Tolerance::OperatorGift);
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

    /// Holds what a client in lockstep has noted against its room.
    fn compare_with_room(
        &mut self,
        host: &mut SimServer,
        counts: &mut SimulationCounts,
    ) -> Result<(), InvariantFailure> {
        let (client, binds) = (self.client(), self.must_be_reported(host.tick_hz));
        let Some(peer) = self.client_end.as_mut().and_then(ClientEnd::peer) else { return Ok(()) };
        let worlds = &mut host.worlds;
        if let Some(client) =
            client.filter(|id| peer.kind == LockstepBehavior::FalseChecksums && !worlds.has_changed(*id))
        {
            counts.add("hostile: false checksums");
            worlds.changes(client, 0);
        }
        let seen = peer.take_observations();
        let newest = worlds.newest(&peer.epoch).unwrap_or_default();
        if let Some(Observation::World(tick, _)) =
            seen.iter().rfind(|one| matches!(one, Observation::World(..)))
        {
            self.lag = self.lag.max(newest.saturating_sub(*tick));
        }
        for one in seen {
            match one {
                Observation::World(tick, checksum) => {
                    counts.add("lockstep: ticks");
                    if let Some(checksum) = checksum
                        && worlds.holds(&peer.epoch, tick, checksum)?
                    {
                        counts.add("lockstep: worlds compared");
                    }
                }
                Observation::Corrupted(tick) => {
                    self.lag = 0;
                    counts.add("lockstep: worlds changed");
                    client.into_iter().for_each(|client| worlds.changes(client, tick));
                }
                Observation::Restored(last) => {
                    client.into_iter().for_each(|client| worlds.mark_restored(client, last))
                }
                Observation::Report(report) => {
                    counts.add("lockstep: reports");
                    worlds.reported(&peer.epoch, &report)?;
                }
                Observation::Named => counts.add("lockstep: changed fields named"),
                Observation::Unnamed(tick) if binds && self.lag <= host.tick_hz / 2 => {
                    let rule = "a changed field is named within two intervals, and the world comes back";
                    return Err(InvariantFailure::new(rule, format!("tick {tick}")));
                }
                Observation::Unnamed(_) => counts.add("lockstep: changed fields not named in time"),
            }
        }
        Ok(())
    }

    /// Whether a changed field must be named: the intervals of the room are longer than round trips, and
    /// the connection had no faults.
    fn must_be_reported(&self, tick_hz: u32) -> bool {
        let talk = self.connection.as_ref().and_then(SimConnection::talk);
        let Some(rules) = talk.map(|talk| talk.client.room.lockstep.rules()) else { return false };
        rules.checksum_ticks >= tick_hz
            && rules.snapshot_ticks >= 2 * tick_hz
            && self.client_end.as_ref().is_some_and(|client_end| !client_end.is_troubled)
    }

    /// Notes that the client has lost its connection, or wants another one besides.
    fn part(&mut self) {
        let Some(client_end) = &self.client_end else { return };
        if self.has_parted || !client_end.is_gone && !client_end.should_reconnect {
            return;
        }
        self.has_parted = true;
        let mut marks = BTreeSet::new();
        if let (ClientKind::Bot(bot), true) = (&client_end.who, client_end.is_gone) {
            marks.extend(bot.agent.reliable_hashes());
            marks.append(&mut self.received_hashes.clone());
        }
        self.parting = Some(LostConnection { marks });
    }

    /// Whether its client has just lost the connection, or wants another one besides.
    pub fn take_parting(&mut self) -> Option<LostConnection> {
        self.parting.take()
    }

    /// Whether both ends are over.
    pub fn is_over(&self) -> bool {
        self.client_end.is_none() && self.connection.is_none()
    }

    /// The number of the client, if the connection holds a client's place.
    pub fn client(&self) -> Option<u64> {
        self.connection.as_ref()?.talk().map(|talk| talk.client.id)
    }

    /// The client disconnects: a bot with a close frame, other clients without.
    pub fn leave(&mut self) {
        let Some(client_end) = &mut self.client_end else { return };
        match client_end.who {
            ClientKind::Bot(_) if !client_end.is_gone => client_end.leave(),
            _ => self.close(),
        }
    }

    /// The client closes its socket.
    pub fn close(&mut self) {
        if let Some(client_end) = &mut self.client_end {
            client_end.is_gone = true;
            client_end.wire.close();
        }
    }

    /// Plants a fault on its connection.
    pub fn lose_bytes(&self) {
        if let Some(client_end) = self.client_end.as_ref().filter(|_| self.client().is_some()) {
            client_end.wire.lose_next();
        }
    }

    /// Delivers all bytes on their way, and compares the bot's picture with the published state.
    /// Returns whether there was something to compare.
    ///
    /// # Errors
    /// They differ.
    pub fn compare(&mut self, served: &UpdatedClient, host: &SimServer) -> Result<bool, InvariantFailure> {
        let now = host.clock.now();
        let Some(client_end) = self.client_end.as_mut() else { return Ok(false) };
        if client_end.bot().is_none() {
            return Ok(false);
        }
        client_end.wire.deliver_now();
        client_end.read_all(now)?;
        let missing = client_end.wire.missing();
        let Some(bot) = client_end.bot() else { return Ok(false) };
        if missing > 0 {
            let detail = format!("{missing} queued bytes are lost");
            return Err(InvariantFailure::new("every queued byte arrives once and in order", detail));
        }
        let info = host.game.about;
        info.compare_view(&*bot.agent, served.client.player(), &*served.published).map_err(|detail| {
            let rule = "a client's picture matches the published state";
            InvariantFailure::new(rule, format!("tick {}: {detail}", served.published.tick()))
        })
    }

    /// Checks that the bot was told of every event in order, each once, and of none that it was told
    /// over an earlier connection.
    ///
    /// # Errors
    /// It did not.
    pub fn check(&self, host: &SimServer) -> Result<(), InvariantFailure> {
        let bot = self.client_end.as_ref().and_then(ClientEnd::bot);
        let Some((bot, client)) = bot.zip(self.client()) else { return Ok(()) };
        let heard = bot.agent.reliable_hashes();
        let rule = "every reliable message arrives once and in order";
        let is_first = self.spoken.0 == host.games[0].dialect();
        let expected = host.marks.get(&client).filter(|_| is_first);
        if let Some(expected) = expected.filter(|expected| !expected.starts_with(heard)) {
            let right = heard.iter().zip(expected).take_while(|(told, is)| told == is).count();
            let (told, is) = (&heard[right..], &expected[right..]);
            let detail = format!("after {right} marks it was told {told:?} instead of {is:?}");
            return Err(InvariantFailure::new(rule, detail));
        }
        let is_notice = |mark: u32| host.games.iter().any(|game| game.is_notice(mark));
        match heard.iter().find(|mark| self.received_hashes.contains(mark) && is_notice(**mark)) {
            Some(mark) => Err(InvariantFailure::new("nothing is told twice", format!("notice {mark}"))),
            None => Ok(()),
        }
    }

    /// Removes ended ends.
    fn end(&mut self, host: &SimServer, counts: &mut SimulationCounts) -> Result<(), InvariantFailure> {
        let is_over = self.connection.as_ref().is_none_or(SimConnection::is_over);
        if is_over && let Some(connection) = self.connection.take() {
            drop(connection);
        }
        if let Some(ending) =
            self.connection.as_ref().and_then(SimConnection::talk).and_then(|talk| talk.ending.as_ref())
        {
            self.check_ending(ending)?;
        }
        let Some(client_end) = self.client_end.as_mut().filter(|client_end| is_over && client_end.is_gone)
        else {
            return Ok(());
        };
        counts.more("partial sends", client_end.wire.partial_sends());
        if host.net.is_some() {
            let segments = client_end.wire.segments();
            counts.more("segments", segments.segments);
            counts.more("segments lost", segments.losses);
            counts.more("segments that stalled their connection", segments.stalls);
        }
        if let Some(peer) = client_end.peer() {
            let [syncs, checksums] = peer.counts();
            counts.more("lockstep: snapshots", syncs);
            counts.more("lockstep: checksums", checksums);
        }
        if let ClientKind::Bot(bot) = &mut client_end.who {
            counts.deeds.add(&bot.agent.take_deeds());
        }
        self.client_end = None;
        Ok(())
    }

    /// Checks that the server closed no client that broke no rule and had no network faults.
    fn check_ending(&self, ending: &DisconnectReason) -> Result<(), InvariantFailure> {
        let Some(client_end) = &self.client_end else { return Ok(()) };
        let is_lawful = match &client_end.who {
            ClientKind::Bot(_) => true,
            ClientKind::Hostile(hostile) => hostile.kind.is_lawful(),
        };
        let by_operator = [CloseReason::Kicked, CloseReason::Banned, CloseReason::GoingAway];
        let by_trouble = [CloseReason::SlowClient, CloseReason::IdleTimeout, CloseReason::HelloLate];
        let is_right = match ending {
            DisconnectReason::PeerClosed(_) | DisconnectReason::PeerLost => true,
            // A stalled connection delivers at once what was within the budget over time.
            DisconnectReason::Breach(CloseReason::MessageRate) => client_end.is_troubled || !is_lawful,
            DisconnectReason::Breach(CloseReason::TakenOver) => self.is_followed,
            DisconnectReason::Breach(breach) if by_operator.contains(breach) => true,
            DisconnectReason::Breach(breach) if by_trouble.contains(breach) => {
                client_end.is_troubled || client_end.is_gone || !is_lawful
            }
            DisconnectReason::Breach(
                CloseReason::InternalError | CloseReason::Overloaded | CloseReason::WorldFull,
            ) => false,
            _ => !is_lawful,
        };
        let rule = "the server never closes a client that breaks no rule";
        if is_right { Ok(()) } else { Err(InvariantFailure::new(rule, format!("closed: {ending}"))) }
    }
}
