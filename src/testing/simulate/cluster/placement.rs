//! Players reach their rooms: the process that has a room, a lease, and the recovery.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tickwire_sim::{EncodedAction, Sim as _};

use super::cluster_plan::HOSTS;
use super::cluster_sim::ClusterSim;
use super::owned_room::{OwnedRoom, RecoveredWorld, recover};
use super::scenario::ClusterFault;
use super::sim_player::{MAX_ABSENCE_MS, PlayerConnection, PlayerLink};
use super::sim_process::{Event, ProcessId, StoreReply, StoreRequest};
use super::tally::Tally;
use crate::game::{Game as _, JoinRequest, Simple};
use crate::limits;
use crate::server::cluster::LeaseGuard;
use crate::server::journal::model_disk::ModelDisk;
use crate::server::journal::{Inspection, RecoveryError, claim, highest_fence, inspect, repair};
use crate::server::room::JoinAttempt;
use crate::testing::simulate::failure::InvariantFailure;

/// The rule that a refused journal breaks.
const NOT_REFUSED: &str = "no journal is refused";
/// The rule that a wrong body breaks.
const OWN_BODY: &str = "a player with an ack gets its own body back";
/// The rule that a body with a missing or repeated command breaks.
pub const EXACTLY_ONCE: &str = "each body has executed each acknowledged command exactly once";
/// Time in ms after a death in which a player must request the room, for a measured return.
const REQUEST_MS: u64 = 1_000;

impl ClusterSim {
    /// A player connects through a random host.
    pub(super) fn connect(&mut self, index: usize) {
        if self.players[index].link != PlayerLink::Away {
            return;
        }
        let host = self.draw(HOSTS as u32) as usize;
        let process = &mut self.processes[host];
        if !process.is_up || process.paused_until > self.now_ms {
            let delay = 50 + self.draw(300);
            return self.push(delay, Event::Connect(index));
        }
        let room = self.players[index].room;
        process.waiting.entry(room).or_default().insert(index);
        self.players[index].link = PlayerLink::Waiting(host);
        if self.processes[host].may_acquire(self.now_ms)
            && let Some(death) = &mut self.rooms[room].death
            && self.now_ms <= death.at_ms + REQUEST_MS
        {
            death.is_requested = true;
        }
    }

    /// Continues to find the rooms of waiting players.
    pub(super) fn poll(&mut self, host: usize) -> Result<(), InvariantFailure> {
        let id = self.processes[host].id;
        self.push(limits::CLUSTER_ROOM_POLL_INTERVAL.as_millis() as u64, Event::Poll(id));
        let rooms: Vec<usize> = self.processes[host].waiting.keys().copied().collect();
        for room in rooms {
            let process = &self.processes[host];
            if process.rooms.contains_key(&room) {
                self.enter_all(host, host, room)?;
                continue;
            }
            let is_pending = process.finding.get(&room).is_some_and(|(_, until)| self.now_ms < *until);
            if !process.recovering.contains_key(&room) && !is_pending && self.connect_store(host) {
                self.find(host, room, StoreRequest::LookUp(room));
            }
        }
        Ok(())
    }

    /// Sends a request that finds a room.
    fn find(&mut self, host: usize, room: usize, request: StoreRequest) {
        let number = self.send(host, request);
        let until = self.now_ms + limits::CLUSTER_STORE_TIMEOUT.as_millis() as u64;
        self.processes[host].finding.insert(room, (number, until));
    }

    /// Handles a reply. Replies to earlier requests are ignored, because their connections are
    /// closed.
    pub(super) fn on_reply(
        &mut self,
        host: usize,
        number: u64,
        request: StoreRequest,
        reply: StoreReply,
    ) -> Result<(), InvariantFailure> {
        if self.now_ms < self.processes[host].separated_until {
            return Ok(());
        }
        let now = self.clock(host);
        let counted_from = |sent: Duration| match self.scenario.fault {
            Some(ClusterFault::CountFromReply) => now,
            _ => sent,
        };
        if let StoreRequest::Renew(sent, leases) = &request {
            let StoreReply::Renewed(replies) = reply else { return Ok(()) };
            if self.processes[host].renewal == Some(number) {
                self.processes[host].renewal = None;
                let sent = counted_from(*sent);
                self.on_renewed(host, leases, &replies, sent);
            }
            return Ok(());
        }
        let Some(room) = request.room() else { return Ok(()) };
        if self.processes[host].finding.get(&room).is_none_or(|(awaited, _)| *awaited != number) {
            return Ok(());
        }
        self.processes[host].finding.remove(&room);
        match (request, reply) {
            (StoreRequest::LookUp(_), StoreReply::Found(Some(found))) => self.relay(host, room, found),
            (StoreRequest::LookUp(_), StoreReply::Found(None)) => {
                self.acquire(host, room);
                Ok(())
            }
            (StoreRequest::Acquire(sent, ..), StoreReply::Acquired(Some(fence))) => {
                let sent = counted_from(sent);
                self.on_acquired(host, room, fence, sent);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Requests the lease of a room that no process has.
    pub(super) fn acquire(&mut self, host: usize, room: usize) {
        let holds = self.processes[host].leases.holds(&self.rooms[room].name);
        if holds || self.processes[host].connection.is_none() || !self.may_acquire(host) {
            return;
        }
        let disk = self.rooms[room].disk.for_process(host, &self.processes[host].life);
        let Ok(above) = highest_fence(&disk) else { return };
        let sent_at = self.clock(host);
        self.find(host, room, StoreRequest::Acquire(sent_at, room, above));
    }

    /// Begins the recovery of a room with an acquired lease.
    pub(super) fn on_acquired(&mut self, host: usize, room: usize, fence: u64, sent_at: Duration) {
        let process = &mut self.processes[host];
        let guard = process.leases.on_acquired(&self.rooms[room].name, fence, sent_at);
        process.recovering.insert(room, (fence, guard));
        let (id, delay) = (process.id, 1 + self.draw(30));
        self.push(delay, Event::Claim(id, room));
    }

    /// Claims the directory of a room.
    pub(super) fn claim(&mut self, host: usize, room: usize) -> Result<(), InvariantFailure> {
        let Some((fence, _)) = self.processes[host].recovering.get(&room) else { return Ok(()) };
        let mut disk = self.rooms[room].disk.for_process(host, &self.processes[host].life);
        match claim(&mut disk, *fence) {
            Ok(true) => {
                let (id, delay) = (self.processes[host].id, 1 + self.draw(30));
                self.push(delay, Event::Open(id, room));
            }
            Ok(false) => {
                self.counts.add("recoveries given up because of a higher fence");
                self.end_room(host, room);
            }
            Err(_) if self.processes[host].life.has_ended() => {}
            Err(error) => return Err(InvariantFailure::new(NOT_REFUSED, error.to_string())),
        }
        Ok(())
    }

    /// Reads the journal of a room, checks what it contains, and creates the room.
    pub(super) fn open(&mut self, host: usize, room: usize) -> Result<(), InvariantFailure> {
        let Some((fence, guard)) = self.processes[host].recovering.remove(&room) else { return Ok(()) };
        let life = self.processes[host].life.clone();
        let mut disk = self.rooms[room].disk.for_process(host, &life);
        let refused = |why: String| {
            InvariantFailure::new(NOT_REFUSED, format!("room {room}, fence {fence}, host {host}: {why}"))
        };
        let opened = inspect(&disk, Some(&self.rooms[room].identity)).and_then(|inspection| {
            let recovered = recover(&disk, &inspection);
            repair(&mut disk, &inspection, fence)?;
            Ok((inspection, recovered))
        });
        let (inspection, recovered) = match opened {
            Err(RecoveryError::Io { .. }) if life.has_ended() => return Ok(()),
            Err(why) => return Err(refused(why.to_string())),
            Ok((_, Err(_))) if life.has_ended() => return Ok(()),
            Ok((inspection, recovered)) => (inspection, recovered.map_err(refused)?),
        };
        let last =
            recovered.checksum.map(|checksum| (inspection.last_fence, recovered.world.tick(), checksum));
        let is_newest = fence > self.rooms[room].history.newest();
        let history = &mut self.rooms[room].history;
        history.on_recovered(fence, inspection.last_fence, inspection.next_sequence);
        history.on_tick(fence, recovered.world.tick(), recovered.world.checksum());
        self.counts.add("recoveries of rooms");
        self.counts.add_many("recoveries: torn tails", inspection.torn.is_some().into());
        self.counts.add_many("recoveries: records replayed", inspection.records.len() as u64);
        self.counts.add_many("recoveries from the named world of a stop", recovered.is_named.into());
        if is_newest {
            self.check_recovered(room, fence, last, recovered.world.game())?;
        }
        self.create(host, room, (disk, &inspection), recovered, (fence, guard));
        self.enter_all(host, host, room)
    }

    fn create(
        &mut self,
        host: usize,
        room: usize,
        (disk, inspection): (ModelDisk, &Inspection),
        recovered: RecoveredWorld,
        lease: (u64, Arc<LeaseGuard>),
    ) {
        let now = self.clock(host);
        let world = (recovered.world, recovered.seats);
        let name = self.rooms[room].name.clone();
        let owned = OwnedRoom::new((&name, disk), world, inspection, lease, (now, &mut self.rng));
        self.processes[host].rooms.insert(room, owned);
    }

    /// Checks a recovered world: it is the one of its last owner, and contains everything that was
    /// acknowledged.
    fn check_recovered(
        &mut self,
        room: usize,
        fence: u64,
        last: Option<(u64, u32, u64)>,
        tally: &Tally,
    ) -> Result<(), InvariantFailure> {
        if let Some((parent, tick, checksum)) = last {
            let expected = self.rooms[room].history.checksum(parent, tick);
            if expected != Some(checksum) {
                let detail = format!(
                    "room {room}, fence {fence}: after tick {tick} of fence {parent} the checksum is {checksum:016x}, not {expected:016x?}"
                );
                return Err(InvariantFailure::new("a recovered world is the one of its last owner", detail));
            }
            self.counts.add("recovered worlds compared");
            self.counts.mix(checksum);
        }
        self.check_bodies(room, fence, tally)
    }

    /// Checks the bodies of all players with an ack, and that no client has two bodies.
    pub(super) fn check_bodies(
        &mut self,
        room: usize,
        fence: u64,
        tally: &Tally,
    ) -> Result<(), InvariantFailure> {
        let mut identities = BTreeSet::new();
        if let Some(body) = tally.bodies.iter().find(|body| !identities.insert(body.identity)) {
            let detail = format!("room {room}, fence {fence}: client {}", body.identity);
            return Err(InvariantFailure::new("no client has two bodies", detail));
        }
        for player in self.players.iter().filter(|player| player.room == room) {
            let is_absent =
                player.connection().is_none() && self.now_ms >= player.away_since_ms + MAX_ABSENCE_MS;
            let Some(number) = player.promised.filter(|_| !is_absent) else { continue };
            let checked = match tally.body(number) {
                Some(body) => player.check_body(body),
                None => Err(format!("client {} has no body", player.identity)),
            };
            checked.map_err(|why| {
                InvariantFailure::new(EXACTLY_ONCE, format!("room {room}, fence {fence}: {why}"))
            })?;
            self.counts.add("bodies checked");
        }
        Ok(())
    }

    /// Connects the players that wait at a host to the process that has their room.
    pub(super) fn relay(
        &mut self,
        host: usize,
        room: usize,
        found: ProcessId,
    ) -> Result<(), InvariantFailure> {
        let owner = &self.processes[found.host];
        let is_reached = owner.id == found && owner.is_up && owner.paused_until <= self.now_ms;
        if found.host == host || !is_reached || !owner.rooms.contains_key(&room) {
            return Ok(());
        }
        self.enter_all(host, found.host, room)
    }

    /// Joins the players that wait at a host to a room of a process.
    fn enter_all(&mut self, via: usize, owner: usize, room: usize) -> Result<(), InvariantFailure> {
        let waiting = self.processes[via].waiting.remove(&room).unwrap_or_default();
        let Some(mut owned) = self.processes[owner].rooms.remove(&room) else { return Ok(()) };
        let entered = waiting.into_iter().try_for_each(|player| self.enter(player, (via, owner), &mut owned));
        self.processes[owner].rooms.insert(room, owned);
        entered
    }

    fn enter(
        &mut self,
        index: usize,
        (via, owner): (usize, usize),
        owned: &mut OwnedRoom,
    ) -> Result<(), InvariantFailure> {
        self.connections += 1;
        let (number, now) = (self.connections, self.clock(owner));
        let player = &mut self.players[index];
        if player.promised.is_some() && self.now_ms >= player.away_since_ms + MAX_ABSENCE_MS {
            self.counts.add("players away for too long");
            player.promised = None;
        }
        let attempt = JoinAttempt { key: Some(player.key), connection: number, from: player.from };
        let name = player.identity.to_string();
        let outcome = owned.handle().join(attempt, now, |outcome| match outcome.is_resumed {
            true => Vec::new(),
            false => {
                (Simple::<Tally>::INFO.join)(outcome.player, &JoinRequest::new(name, EncodedAction::new(&[])))
            }
        });
        let outcome = outcome.ok_or_else(|| InvariantFailure::new("a player number is free", "none is"))?;
        if outcome.is_resumed {
            self.counts.add("players resumed");
        } else {
            self.counts.add("players joined");
        }
        // A process that does not know yet that another one has the room still lets players in. It
        // acknowledges nothing.
        if owned.fence != self.rooms[player.room].history.newest() {
            self.counts.add("players in a world that another process has continued");
        } else if let Some(promised) = player.promised {
            let identity = player.identity;
            if !outcome.is_resumed || outcome.player != promised {
                let detail = format!("client {identity} had body {}, and now {outcome:?}", promised.0);
                return Err(InvariantFailure::new(OWN_BODY, detail));
            }
            match owned.world().game().body(promised).map(|body| player.check_body(body)) {
                None => return Err(InvariantFailure::new(OWN_BODY, format!("client {identity} has none"))),
                Some(checked) => checked.map_err(|why| InvariantFailure::new(EXACTLY_ONCE, why))?,
            }
            self.counts.add("players with their own body");
        } else if !outcome.is_resumed {
            player.forget_body();
        }
        self.counts.add_many("players relayed", (via != owner).into());
        player.link = PlayerLink::Connected(PlayerConnection::new(number, (via, owner), outcome.player));
        owned.players.insert(index);
        Ok(())
    }
}
