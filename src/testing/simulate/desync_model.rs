//! Compares the worlds of lockstep clients with the rooms' worlds, by the checksum of every tick.
//! Also checks that desync reports name only clients with different worlds.

use std::collections::BTreeMap;

use super::failure::InvariantFailure;
use super::virtual_tcp::ServerTransport;
use crate::client::lockstep_follower::DesyncReport;
use crate::server::clients::client::Client;

const SAME_WORLD_RULE: &str = "a world in lockstep is that of the room after each tick";
const REPORT_RULE: &str = "a report names only worlds that differ";

/// A checksum that a client sent.
#[derive(Debug)]
struct ClientChecksum {
    label: String,
    checksum: u64,
}

/// One run of a room.
#[derive(Debug, Default)]
struct RoomRun {
    /// Checksums of the room's world by number of completed ticks, while lockstep clients are
    /// connected.
    worlds: BTreeMap<u32, u64>,
    claims: BTreeMap<u32, Vec<ClientChecksum>>,
}

/// The expected state of the worlds of all lockstep clients.
#[derive(Debug, Default)]
pub struct DesyncModel {
    /// Runs by epoch.
    runs: BTreeMap<String, RoomRun>,
    /// By client: the first and the last tick of each period in which its world is corrupted.
    changed: BTreeMap<u64, Vec<(u32, u32)>>,
}

impl DesyncModel {
    /// Records the checksum of a room's world after a tick.
    pub fn set_room_checksum(&mut self, epoch: &str, tick: u32, checksum: u64) {
        if !self.runs.contains_key(epoch) {
            self.runs.insert(epoch.to_owned(), RoomRun::default());
        }
        if let Some(run) = self.runs.get_mut(epoch) {
            run.worlds.insert(tick, checksum);
        }
    }

    /// The newest tick of a run.
    pub fn newest(&self, epoch: &str) -> Option<u32> {
        self.runs.get(epoch)?.worlds.keys().next_back().copied()
    }

    /// Compares a client's world after a tick with the room's world. Returns `false` if the room
    /// has no checksum of this tick: clients also execute the last tick of a room that is then
    /// restarted.
    ///
    /// # Errors
    /// The room's world has another checksum, or the client is at least two ticks ahead of the
    /// room.
    pub fn compare(&self, epoch: &str, tick: u32, checksum: u64) -> Result<bool, InvariantFailure> {
        let known = self.runs.get(epoch).and_then(|run| run.worlds.get(&tick));
        match known {
            Some(own) if *own == checksum => Ok(true),
            Some(own) => {
                let detail = format!("after {tick} ticks {checksum:016x} instead of {own:016x}");
                Err(InvariantFailure::new(SAME_WORLD_RULE, detail))
            }
            None if self.newest(epoch).is_some_and(|newest| tick > newest + 1) => Err(InvariantFailure::new(
                SAME_WORLD_RULE,
                format!("it has tick {tick}, which the room has not"),
            )),
            None => Ok(false),
        }
    }

    /// Records that a client corrupts a field of its world before it sends the checksum of this
    /// tick. Also called for a client that sends false checksums from this tick on.
    pub fn mark_changed(&mut self, client: u64, tick: u32) {
        self.changed.entry(client).or_default().push((tick, u32::MAX));
    }

    /// Records that a client restores a snapshot. `tick` is the last tick of its corrupted world.
    pub fn mark_restored(&mut self, client: u64, tick: u32) {
        if let Some((_, last)) = self.changed.get_mut(&client).and_then(|all| all.last_mut()) {
            *last = tick;
        }
    }

    /// Whether a client has ever corrupted its world or sent false checksums.
    pub fn has_changed(&self, client: u64) -> bool {
        self.changed.contains_key(&client)
    }

    /// Records a checksum that the server receives from a client.
    ///
    /// # Errors
    /// The checksum differs from the room's checksum, although the client's world is not corrupted.
    pub fn on_checksum(
        &mut self,
        client: &Client<ServerTransport>,
        tick: u32,
        checksum: u64,
    ) -> Result<(), InvariantFailure> {
        let Some(run) = self.runs.get_mut(&client.room.options.epoch) else { return Ok(()) };
        let own = run.worlds.get(&tick);
        let mut changed = self.changed.get(&client.id).into_iter().flatten();
        let is_changed = changed.any(|(first, last)| (*first..=*last).contains(&tick));
        if own.is_some_and(|own| *own != checksum) && !is_changed {
            let detail = format!("client {} says {checksum:016x} of tick {tick}", client.id);
            return Err(InvariantFailure::new(SAME_WORLD_RULE, detail));
        }
        let label = match client.player() {
            Some(player) => format!("player {}", player.0),
            None => format!("spectator {}", client.id),
        };
        run.claims.entry(tick).or_default().push(ClientChecksum { label, checksum });
        Ok(())
    }

    /// Checks a desync report that a client receives.
    ///
    /// # Errors
    /// The report names a participant that has not sent this checksum, or whose checksum is equal
    /// to the room's checksum.
    pub fn check_report(&self, epoch: &str, report: &DesyncReport) -> Result<(), InvariantFailure> {
        let broken =
            |detail: String| Err(InvariantFailure::new(REPORT_RULE, format!("{detail}: {report:?}")));
        let Some(run) = self.runs.get(epoch) else { return broken("no room has this epoch".to_owned()) };
        let own = run.worlds.get(&report.tick).map(|own| format!("{own:016x}"));
        let claims = run.claims.get(&report.tick).into_iter().flatten();
        let claims: Vec<_> = claims.map(|one| (&one.label, format!("{:016x}", one.checksum))).collect();
        for (at, (checksum, participants)) in report.groups.iter().enumerate() {
            if own.as_ref().is_some_and(|own| (own == checksum) != (at == 0)) {
                return broken(format!("the room has {own:?}"));
            }
            let mut others = participants.iter().filter(|one| *one != "server");
            if let Some(one) = others.find(|one| !claims.contains(&(*one, checksum.clone()))) {
                return broken(format!("{one} has not said {checksum}"));
            }
        }
        let of_others = report.groups.iter().skip(1).flat_map(|(_, participants)| participants);
        let named: Vec<&String> = of_others.collect();
        match report.fields.iter().find(|(who, _)| !named.contains(&who)) {
            Some((who, _)) => broken(format!("a field of {who}, whose world does not differ")),
            None => Ok(()),
        }
    }
}
