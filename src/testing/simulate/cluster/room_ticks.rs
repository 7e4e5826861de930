//! Ticks of rooms: commands of players, batches of the journal, and acks.

use std::collections::BTreeMap;
use std::time::Duration;

use tickwire_sim::{Action as _, PlayerId, RawCommand, Sim as _};

use super::cluster_sim::{ClusterSim, TICK_MS};
use super::owned_room::{HeldAcks, OwnedRoom};
use super::sim_player::PlayerLink;
use super::sim_process::Event;
use super::tally::Action;
use crate::game::simple::SimpleAction;
use crate::server::journal::JournalError;
use crate::testing::simulate::failure::InvariantFailure;

/// Commands of a player in a thousand ticks.
const COMMANDS_PER_MILLE: u32 = 80;
/// One in this many ticks, a player becomes another client.
const QUITS_ONE_IN: u32 = 10_000;
/// One in this many ticks, a player loses its connection.
const DROPS_ONE_IN: u32 = 2_000;
/// Ticks between checks of all bodies.
const CHECK_TICKS: u32 = 100;
/// Maximum time from the death of an owner to the first tick elsewhere, in ms.
const MAX_RETURN_MS: u64 = 5_000;

impl ClusterSim {
    /// Executes a tick of each room of a process, and begins a batch of the journal.
    pub(super) fn tick(&mut self, host: usize) -> Result<(), InvariantFailure> {
        let id = self.processes[host].id;
        self.push(TICK_MS, Event::Tick(id));
        self.with_rooms(host, |simulation, room, owned| simulation.tick_room(host, room, owned))?;
        self.begin_batch(host)
    }

    /// Calls a function with each room of a process.
    pub(super) fn with_rooms(
        &mut self,
        host: usize,
        mut action: impl FnMut(&mut ClusterSim, usize, &mut OwnedRoom) -> Result<(), InvariantFailure>,
    ) -> Result<(), InvariantFailure> {
        let mut rooms: BTreeMap<usize, OwnedRoom> = std::mem::take(&mut self.processes[host].rooms);
        let done = rooms.iter_mut().try_for_each(|(room, owned)| action(self, *room, owned));
        self.processes[host].rooms = rooms;
        done
    }

    fn tick_room(&mut self, host: usize, room: usize, owned: &mut OwnedRoom) -> Result<(), InvariantFailure> {
        self.act(owned);
        let now = self.clock(host);
        let rejected = owned.tick(now) as u64;
        self.counts.add_many("commands rejected by the world", rejected);
        self.counts.add("ticks");
        self.counts.player_ticks += owned.players.len() as u64;
        let (tick, checksum) = (owned.world().tick(), owned.world().checksum());
        self.rooms[room].history.on_tick(owned.fence, tick, checksum);
        let is_newest = owned.fence == self.rooms[room].history.newest();
        if is_newest && let Some(death) = self.rooms[room].death.take() {
            self.check_return(room, self.now_ms - death.at_ms, death.is_requested)?;
        }
        if is_newest && tick.is_multiple_of(CHECK_TICKS) {
            self.counts.mix(checksum);
            self.check_bodies(room, owned.fence, owned.world().game())?;
        }
        for held in owned.release() {
            self.send_acks(room, owned, &held)?;
        }
        Ok(())
    }

    fn check_return(&mut self, room: usize, ms: u64, is_measured: bool) -> Result<(), InvariantFailure> {
        if !is_measured {
            return Ok(());
        }
        self.counts.add("returns of rooms measured");
        self.slowest_return_ms = self.slowest_return_ms.max(ms);
        if ms > MAX_RETURN_MS {
            let rule = "a room is back within five seconds of the death of its process";
            return Err(InvariantFailure::new(rule, format!("room {room} is back after {ms} ms")));
        }
        Ok(())
    }

    /// Players send commands, lose their connections, or leave for good.
    fn act(&mut self, owned: &mut OwnedRoom) {
        let players: Vec<usize> = owned.players.iter().copied().collect();
        for index in players {
            if self.draw(1_000) < COMMANDS_PER_MILLE.into() {
                self.send_command(index, owned);
            }
            if self.is_quiet {
                continue;
            }
            if self.draw(DROPS_ONE_IN) == 0 {
                self.drop_connection(index, owned, false);
            } else if self.draw(QUITS_ONE_IN) == 0 {
                self.drop_connection(index, owned, true);
            }
        }
    }

    fn send_command(&mut self, index: usize, owned: &OwnedRoom) {
        let heading = self.draw(4) as u8;
        let player = &mut self.players[index];
        let Some(connection) = player.connection().map(|connection| connection.number) else { return };
        let Some((number, sequence, step)) = player.next_command() else { return };
        let action = SimpleAction::Act(Action::Step { number: step, heading }).encoded();
        let command = RawCommand { player: number, sequence: sequence.into(), action };
        let pushed = owned.handle().push((player.from, connection), command, None, Duration::ZERO);
        self.counts.add(if pushed.is_ok() { "commands sent" } else { "commands rejected by the room" });
    }

    /// Ends the connection of a player. Half of the rooms detect it only after the player has
    /// connected again.
    fn drop_connection(&mut self, index: usize, owned: &mut OwnedRoom, leaves: bool) {
        let Some(connection) = self.players[index].connection() else { return };
        let (number, owner, player) = (connection.number, connection.owner, connection.player);
        owned.players.remove(&index);
        let now = self.clock(owner);
        if leaves {
            self.counts.add("players left for good");
            owned.handle().remove_player_of(number, player, now);
            owned.handle().disconnect(player, number, now);
            self.next_identity += 1;
            let identity = self.next_identity;
            self.players[index].renew(identity, &mut self.rng);
        } else {
            self.counts.add("connections lost");
            let delay = self.draw(1_000);
            let room = self.players[index].room;
            let id = self.processes[owner].id;
            self.push(delay, Event::Closed(id, (room, usize::from(player.0), number)));
        }
        self.lose_connection(index);
    }

    /// A process detects that a connection has ended.
    pub(super) fn on_closed(&mut self, host: usize, (room, player, connection): (usize, usize, u64)) {
        let now = self.clock(host);
        let Some(owned) = self.processes[host].rooms.get(&room) else { return };
        owned.handle().disconnect(PlayerId(player as u16), connection, now);
    }

    /// Sends the acks of a tick to the players that are still connected.
    fn send_acks(&mut self, room: usize, owned: &OwnedRoom, held: &HeldAcks) -> Result<(), InvariantFailure> {
        let Some(acks) = &held.acks else { return Ok(()) };
        let mut accepted = 0;
        for index in &owned.players {
            let PlayerLink::Connected(connection) = &self.players[*index].link else { continue };
            let of_connection = acks.for_connection(connection.number);
            let received = self.players[*index].on_acks(of_connection);
            accepted += received.map_err(|why| InvariantFailure::new("acks are in order", why))?;
        }
        self.counts.add_many("commands acknowledged", accepted);
        if accepted > 0 && !self.rooms[room].history.has_records(owned.fence, held.sequence) {
            let newest = self.rooms[room].history.newest();
            let detail = format!(
                "room {room}: {accepted} commands of fence {} are acknowledged, but the owner with fence {newest} lacks record {}",
                owned.fence,
                held.sequence - 1,
            );
            return Err(InvariantFailure::new("an ack is sent only for what the newest owner has", detail));
        }
        if accepted > 0 && owned.fence < self.rooms[room].history.newest() {
            self.counts.add("acks of an earlier owner for records that the newest one has");
        }
        Ok(())
    }

    /// Begins a batch of all rooms, unless one is being written.
    fn begin_batch(&mut self, host: usize) -> Result<(), InvariantFailure> {
        if self.processes[host].is_writing {
            return Ok(());
        }
        let (now, scenario) = (self.clock(host), self.scenario);
        let mut has_batch = false;
        self.with_rooms(host, |simulation, room, owned| {
            let writes_now = simulation.draw(2) == 0;
            match owned.begin_batch(writes_now, &scenario, now) {
                Ok(has) => has_batch |= has,
                Err(error) => simulation.on_journal_error(host, room, owned, &error)?,
            }
            Ok(())
        })?;
        if has_batch {
            self.processes[host].is_writing = true;
            let is_slow = self.draw(15) == 0 && !self.is_quiet;
            let delay = 1 + self.draw(if is_slow { 900 } else { 40 });
            self.push(delay, Event::Synced(self.processes[host].id));
        }
        Ok(())
    }

    /// Ends a batch: the disk has synced it.
    pub(super) fn on_synced(&mut self, host: usize) -> Result<(), InvariantFailure> {
        let (now, scenario) = (self.clock(host), self.scenario);
        self.processes[host].is_writing = false;
        self.with_rooms(host, |simulation, room, owned| {
            match owned.end_batch(&scenario, now) {
                Ok(true) => {}
                Ok(false) => simulation.counts.add("batches without a valid lease or fence"),
                Err(error) => simulation.on_journal_error(host, room, owned, &error)?,
            }
            Ok(())
        })?;
        self.begin_batch(host)
    }

    /// The journal of a room cannot be written: because the process has ended, or because another
    /// process has the room.
    pub(super) fn on_journal_error(
        &mut self,
        host: usize,
        room: usize,
        owned: &mut OwnedRoom,
        error: &JournalError,
    ) -> Result<(), InvariantFailure> {
        if self.processes[host].life.has_ended() {
            return Ok(());
        }
        if owned.guard.is_lost() || owned.has_higher_fence() {
            owned.lose();
            return Ok(());
        }
        Err(InvariantFailure::new("a journal can be written", format!("room {room}, host {host}: {error}")))
    }
}
