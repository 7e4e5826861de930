//! Replays a captured session: decodes the clients' bytes again, steps the world with the resulting
//! commands, and checks each tick against the recorded one.
//!
//! ```text
//!   capture ─┬─ clients' bytes ─► frames, packets, session ─► commands ─┐  by player and sequence
//!            └─ world's records ─► snapshot, command frames ────────────┴─► world ─► checksum of each tick
//! ```
//!
//! The result is a [`Report`] of each room, or the reason why the capture cannot be replayed
//! ([`NotReplayable`]). The world is stepped with the commands that were **decoded** from the
//! clients' bytes; the recorded commands say only which tick each belongs to. Recorded commands are
//! used as they are if they come from the server or the operator, or if the capture cannot contain
//! their bytes because they were sent before the capture began or by a client that it leaves out.
//! Missing data is never guessed.

mod answers;
mod client;
mod fields;
pub mod json;
mod recording;
mod refusal;
pub mod watch;

use core::net::SocketAddr;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use tickwire_sim::{Membership, PlayerId, Raw};

use crate::capture::{Capture, Connection, End, Hole};
use crate::game::{About, Replica};
use crate::limits;
use crate::packet::Codes;
use crate::plural::count;
pub use answers::{Differing, Frame};
use client::{Find, Said};
use fields::Beside;
pub use fields::{Fields, Parting};
use recording::{Recording, Tick};
pub use refusal::NotReplayable;

/// The result of a replay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The first tick.
    pub first_tick: u32,
    /// Ticks that were run.
    pub ticks: u32,
    /// Connections of clients.
    pub clients: usize,
    /// Commands of ticks that were decoded from a client's bytes.
    pub matched: usize,
    /// Commands of the server itself: joins, leaves, and the gifts of a join.
    pub server: usize,
    /// Commands of the operator.
    pub operator: usize,
    /// Commands of ticks that were sent before the capture began: their sequence is not above the one that the session remembered.
    pub sent_before: usize,
    /// Commands of ticks whose client is not in the capture.
    pub not_captured: usize,
    /// Decoded commands that no tick has because their client left before their tick.
    pub dropped_on_leave: usize,
    /// Decoded commands that no tick has although the capture went on and their client stayed: the inbox dropped them, the budget of
    /// the client's address was spent, or the client was being closed.
    pub not_taken: usize,
    /// Decoded commands whose tick is after the end of the capture.
    pub behind_end: usize,
    /// Answers of the server that are the same: pongs, replies, close frames.
    pub answers: usize,
    /// The first answer that differs, and its client.
    pub answer: Option<(SocketAddr, Differing)>,
    /// The offset at which the file ends in the middle of a block, if it does: only the part before
    /// it was replayed.
    pub cut_at: Option<usize>,
    /// The world's checksum after the last tick that was run.
    pub checksum: u64,
    /// The first difference, if any.
    pub difference: Option<Difference>,
    /// The fields that differ, if they were asked for.
    pub fields: Option<Fields>,
    /// The state at the end, if it was asked for.
    pub state: Option<Listed>,
}

/// A state: each entity, with its fields and their values in words.
pub type Listed = Vec<(String, Vec<(String, String)>)>;

/// What is asked of a replay besides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asked {
    /// Which fields differ. The replay then goes on to the first tick after which any does.
    pub fields: bool,
    /// Stop after so many ticks of the world.
    pub to_tick: Option<u32>,
    /// The state at the end.
    pub state: bool,
}

impl Report {
    /// Whether the replay came out as it was recorded.
    pub fn is_same(&self) -> bool {
        self.difference.is_none() && self.answer.is_none()
    }
}

/// The point at which a replay and the capture diverge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The first tick after which the world differs, or whose commands differ.
    pub tick: u32,
    /// The first command that differs, and its tick, if one does.
    pub command: Option<(u32, Changed)>,
    /// The checksums after that tick, recorded and replayed; none if they are the same, or if the capture has none after it.
    pub checksums: Option<(u64, u64)>,
}

/// A command that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// Its player and sequence.
    pub command: (PlayerId, u64),
    /// As it was recorded, in words.
    pub recorded: String,
    /// The command in the client's bytes, in words; `None` if they do not contain it.
    pub decoded: Option<String>,
}

/// The packet tables by which a capture is replayed: [its own](Codes::of_capture), if it carries any.
///
/// # Errors
/// [`NotReplayable`]: they cannot be used, or others were given.
pub fn codes(capture: &Capture<'_>, given: Option<Arc<Codes>>) -> Result<Arc<Codes>, NotReplayable> {
    let codes = capture.tables().and_then(|carried| Codes::of_capture(carried, given));
    codes.map_err(|reason| NotReplayable { reason, place: None, client: None })
}

/// Replays a capture, each room by itself: returns their names and reports. A room's game is the one of
/// `games` that recognizes its world. `find` returns what a request asks for; `None` if it is for no
/// game.
///
/// # Errors
/// [`NotReplayable`]: data is missing, or the capture is not of a server with this code's rules.
pub fn replay(
    capture: &Capture<'_>,
    games: &[&'static About],
    find: Find<'_>,
    asked: Asked,
) -> Result<Vec<(String, Report)>, NotReplayable> {
    let connections = capture.connections();
    let recordings = recording::read(capture, games, &connections)?;
    if let Some((client, hole)) = first_hole(&connections) {
        let from = if hole.from == End::Client { "the client" } else { "the server" };
        let reason = format!("the capture lacks {} from {from}", count(hole.bytes, "byte"));
        let refused = NotReplayable::at(capture, (hole.packet, hole.at_ns), reason);
        return Err(NotReplayable { client: Some(client), ..refused });
    }
    let rooms: Vec<String> = connections.iter().map(client::room_of).collect();
    let replayed = recordings.into_iter().map(|(name, recording)| {
        let theirs = || connections.iter().zip(&rooms).filter(|(_, room)| *room == name).map(|(one, _)| one);
        let mut decoded = Decoded::default();
        // In the order in which they got their bodies: a player may go to a connection that is older.
        let mut heard: Vec<_> = theirs().collect();
        heard.sort_by_key(|one| {
            let joined = recording.clients.get(&one.first_packet).and_then(|about| about.joined);
            joined.map_or(one.first_packet, |(packet, _)| packet)
        });
        for connection in heard {
            decoded.hear(capture, connection, &recording, find)?;
        }
        let (answers, answer) = (decoded.answers, decoded.answer.take());
        let report = run(recording, decoded, theirs().count(), asked);
        Ok((name.to_owned(), Report { cut_at: capture.cut_at, answers, answer, ..report }))
    });
    replayed.collect()
}

/// Compares the rooms of two captures by their command frames: the names of rooms that both have, and
/// where they part.
///
/// # Errors
/// [`NotReplayable`]: one of them lacks data; or there is nothing to compare.
pub fn bisect(
    ours: &Capture<'_>,
    theirs: &Capture<'_>,
    games: &[&'static About],
) -> Result<Vec<(String, Parting)>, NotReplayable> {
    let refused = |reason: String| NotReplayable { reason, place: None, client: None };
    let (first, second) = (ours.connections(), theirs.connections());
    let (first, second) = (recording::read(ours, games, &first)?, recording::read(theirs, games, &second)?);
    let mut second: HashMap<_, _> = second.into_iter().collect();
    let mut parted = Vec::new();
    for (name, recording) in first {
        let Some(other) = second.remove(name) else { continue };
        let parting =
            fields::part(recording, other).map_err(|why| refused(format!("the recordings: {why}")))?;
        parted.push((name.to_owned(), parting));
    }
    if parted.is_empty() {
        return Err(refused("the recordings have no room in common".to_owned()));
    }
    Ok(parted)
}

fn first_hole(connections: &[Connection<'_>]) -> Option<(SocketAddr, Hole)> {
    let holes = connections.iter().flat_map(|one| one.holes.iter().map(|hole| (one.client, *hole)));
    holes.min_by_key(|(_, hole)| hole.packet)
}

/// The commands of all clients.
#[derive(Default)]
struct Decoded {
    /// By player and sequence. A player number has successive owners, so there may be several.
    commands: HashMap<(PlayerId, u64), Vec<Said>>,
    /// The owners of each player number that are in the capture.
    owners: HashMap<PlayerId, Vec<Owner>>,
    /// The packet of the tick in which the last owner of a number left: earlier commands are not
    /// the next owner's.
    left: HashMap<PlayerId, usize>,
    /// Answers that are the same, and the first that differs.
    answers: usize,
    answer: Option<(SocketAddr, Differing)>,
}

/// A client of the capture that had a body.
struct Owner {
    /// The first packet at which the client has the body.
    from_packet: usize,
    /// The sequence up to which its commands were sent before the capture.
    before: u64,
}

impl Decoded {
    fn hear(
        &mut self,
        capture: &Capture<'_>,
        connection: &Connection<'_>,
        recording: &Recording<'_>,
        find: Find<'_>,
    ) -> Result<(), NotReplayable> {
        let about = recording.clients.get(&connection.first_packet).copied().unwrap_or_default();
        let heard = client::hear(capture, connection, about, recording.facts(), find)?;
        self.answers += heard.answers;
        if self.answer.is_none() {
            self.answer = heard.differing.map(|differing| (connection.client, differing));
        }
        if let Some(player) = about.player {
            let from_packet = about.joined.map_or(connection.first_packet, |(packet, _)| packet);
            self.owners.entry(player).or_default().push(Owner { from_packet, before: heard.before });
        }
        for said in heard.said {
            let key = (said.command.player, said.command.sequence);
            self.commands.entry(key).or_default().push(said);
        }
        Ok(())
    }

    /// The packets of the present owner of this number, before the packet of a tick.
    fn packets(&self, player: PlayerId, tick: &Tick) -> Range<usize> {
        self.left.get(&player).map_or(0, |left| left + 1)..tick.packet
    }

    /// The last command of this number's owner with this sequence, before the tick that ran it.
    fn take(&mut self, recorded: &Raw, tick: &Tick) -> Option<Raw> {
        let packets = self.packets(recorded.player, tick);
        let said = self.commands.get_mut(&(recorded.player, recorded.sequence))?;
        let at = said.iter().rposition(|said| packets.contains(&said.packet))?;
        Some(said.remove(at).command)
    }

    /// The client that has this number now, if it is in the capture.
    fn owner(&self, player: PlayerId, tick: &Tick) -> Option<&Owner> {
        let packets = self.packets(player, tick);
        self.owners.get(&player)?.iter().find(|owner| packets.contains(&owner.from_packet))
    }

    /// Records the players that leave in a tick, or lose their connections: from then on their numbers
    /// belong to other owners. A client that comes back may have sent commands before that tick.
    fn note_leaves(&mut self, about: &About, tick: &Tick) {
        for player in leaves(about, tick) {
            let packets = self.packets(player, tick);
            let owners = self.owners.get(&player).map_or(&[][..], Vec::as_slice);
            let mut since =
                owners.iter().map(|owner| owner.from_packet).filter(|from| packets.contains(from));
            let next = since.next().and_then(|_| since.max());
            self.left.insert(player, next.map_or(tick.packet, |next| next - 1));
        }
    }
}

/// The players that leave in a tick, or whose connections are gone.
fn leaves<'a>(about: &'a About, tick: &'a Tick) -> impl Iterator<Item = PlayerId> + 'a {
    tick.frame.commands.iter().filter_map(|command| match (about.membership)(&command.action) {
        Some(Membership::Leaves(player) | Membership::Away(player)) => Some(player),
        _ => None,
    })
}

fn run(recording: Recording<'_>, mut decoded: Decoded, clients: usize, asked: Asked) -> Report {
    let Recording { about, mut world, mut ticks, .. } = recording;
    let mut beside = asked.fields.then(|| Beside::new(about, &*world)).flatten();
    if let Some(last) = asked.to_tick {
        ticks.truncate(last.saturating_sub(world.tick()) as usize);
    }
    let mut report = Report { first_tick: world.tick(), clients, ..Report::default() };
    let (mut changed, mut differs): (Option<(u32, Changed)>, _) = (None, None);
    for (at, tick) in ticks.iter().enumerate() {
        let mut commands: Vec<Raw> = Vec::new();
        let [server, operator] = issued(about, &tick.frame.commands);
        (report.server, report.operator) = (report.server + server, report.operator + operator);
        for recorded in &tick.frame.commands {
            let command = explain(recorded, tick, &mut decoded, &mut report);
            if command.as_ref() != Some(recorded) && changed.is_none() {
                let words = |command: &Raw| (about.words)(&command.action);
                let change = Changed {
                    command: (recorded.player, recorded.sequence),
                    recorded: words(recorded),
                    decoded: command.as_ref().map(words),
                };
                changed = Some((tick.frame.tick, change));
            }
            commands.extend(command);
        }
        decoded.note_leaves(about, tick);
        world.step(&commands);
        report.ticks += 1;
        let replayed = world.checksum();
        let recorded = ticks.get(at + 1).map(|next| next.checksum);
        if let Some(beside) = &mut beside {
            beside.step(tick, recorded, &*world);
        }
        let recorded = recorded.unwrap_or(replayed);
        if recorded != replayed {
            differs = Some((tick.frame.tick, Some((recorded, replayed))));
            break;
        }
    }
    report.fields = beside.map(|beside| beside.found);
    report.state = asked.state.then(|| world.state().listed());
    let differs = differs.or_else(|| Some((changed.as_ref()?.0, None)));
    report.difference = differs.map(|(tick, checksums)| Difference { tick, command: changed, checksums });
    report.checksum = world.checksum();
    count_left(about, &ticks, &*world, &decoded, &mut report);
    report
}

/// How many commands of a tick the server itself gave (joins, leaves, and gifts), and how many the operator, under the same number. A
/// gift is given with the join of a client that asks for it, so it stands right behind the join.
fn issued(about: &About, commands: &[Raw]) -> [usize; 2] {
    // The player who joined last, and the sequence that its next gift has.
    let mut gift: Option<(PlayerId, u64)> = None;
    let mut counts = [0; 2];
    for command in commands.iter().filter(|command| command.player == PlayerId::OPERATOR) {
        let next = |player| Some((player, command.sequence.saturating_add(1)));
        let is_of_server = match ((about.membership)(&command.action), gift) {
            (Some(Membership::Joins(player, _)), _) => {
                gift = next(player);
                true
            }
            (Some(Membership::Leaves(_) | Membership::Away(_)), _) => true,
            (None, Some((player, sequence)))
                if sequence == command.sequence && (about.comes_with_join)(&command.action, player) =>
            {
                gift = next(player);
                true
            }
            (None, _) => false,
        };
        counts[usize::from(!is_of_server)] += 1;
    }
    counts
}

/// The source of a tick's command: the client's bytes, or the recording if it is no client's or
/// older than the capture. `None` if its client is in the capture and never sent it.
fn explain(recorded: &Raw, tick: &Tick, decoded: &mut Decoded, report: &mut Report) -> Option<Raw> {
    if recorded.player == PlayerId::OPERATOR {
        return Some(recorded.clone());
    }
    if let Some(command) = decoded.take(recorded, tick) {
        report.matched += 1;
        return Some(command);
    }
    match decoded.owner(recorded.player, tick) {
        None => report.not_captured += 1,
        Some(owner) if recorded.sequence <= owner.before => report.sent_before += 1,
        Some(_) => return None,
    }
    Some(recorded.clone())
}

/// Counts the decoded commands that are in no tick. A command waits for a second at most, so an
/// older one was dropped.
fn count_left(about: &About, ticks: &[Tick], world: &dyn Replica, decoded: &Decoded, report: &mut Report) {
    let hz = world.identity().tick_hz;
    let ahead = (limits::COMMAND_AHEAD_MS * hz).div_ceil(1000) as usize + 1;
    let last_safe = ticks.len().checked_sub(ahead).map_or(0, |at| ticks[at].packet);
    let mut left: HashMap<PlayerId, Vec<usize>> = HashMap::new();
    for (at, tick) in ticks.iter().enumerate() {
        leaves(about, tick).for_each(|player| left.entry(player).or_default().push(at));
    }
    for said in decoded.commands.values().flatten() {
        let first = ticks.partition_point(|tick| tick.packet < said.packet);
        let left = left.get(&said.command.player).map_or(&[][..], Vec::as_slice);
        let count = if left.iter().any(|at| (first..=first + ahead).contains(at)) {
            &mut report.dropped_on_leave
        } else if said.packet < last_safe {
            &mut report.not_taken
        } else {
            &mut report.behind_end
        };
        *count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::Game as _;
    use crate::games::moo::Moo;
    use crate::games::moo::world::{Action, Angle, Command, Resource, rules};
    use tickwire_sim::frame::Frame;

    #[test]
    fn joins_leaves_and_gifts_with_a_join_are_the_servers_commands_and_other_grants_the_operators() {
        let (ann, bob) = (PlayerId(1), PlayerId(2));
        let join = |player| Action::Join { player, name: String::new(), skin: 0 };
        let grant = |player, amount| Action::Grant { player, resource: Resource::Wood, amount };
        let gift = rules::MOOFOLL_GIFT;
        for (actions, expected) in [
            (vec![join(ann), Action::Leave { player: ann }], [2, 0]),
            (vec![join(ann), grant(ann, gift), grant(ann, gift)], [3, 0]),
            (vec![join(ann), grant(bob, gift)], [1, 1]),
            (vec![join(ann), grant(ann, 5)], [1, 1]),
            (vec![grant(ann, gift), Action::Say { text: String::new() }], [0, 2]),
            (vec![join(ann), Action::Say { text: String::new() }, grant(ann, gift)], [1, 2]),
        ] {
            let command = |(sequence, action)| Command { player: PlayerId::OPERATOR, sequence, action };
            let commands = (1..).zip(actions).map(command);
            let mut commands: Vec<Raw> = commands.map(|command| command.encoded()).collect();
            let leave = Command { player: ann, sequence: 1, action: Action::Leave { player: ann } };
            commands.push(leave.encoded());
            assert_eq!(issued(Moo::ABOUT, &commands), expected, "{commands:?}");
        }
    }

    #[test]
    fn a_number_that_goes_from_a_captured_client_to_one_that_is_not_captured_is_no_difference() {
        let ann = PlayerId(3);
        let walk = |sequence, direction| {
            Command { player: ann, sequence, action: Action::Move { direction } }.encoded()
        };
        let step = |sequence| walk(sequence, None);
        let leave =
            Command { player: PlayerId::OPERATOR, sequence: 9, action: Action::Leave { player: ann } }
                .encoded();
        let tick = |packet, command| Tick {
            packet,
            checksum: 0,
            frame: Frame { tick: packet as u32, commands: vec![command] },
        };
        let mut decoded = Decoded::default();
        decoded.owners.insert(ann, vec![Owner { from_packet: 1, before: 0 }]);
        // The second command ran in no tick, and is not the one of that sequence that the next owner gives.
        let turned = walk(2, Some(Angle(7)));
        for (command, packet) in [(step(1), 2), (turned, 4)] {
            decoded.commands.insert((ann, command.sequence), vec![Said { command: command.clone(), packet }]);
        }
        let mut report = Report::default();
        for (packet, command) in [(3, step(1)), (5, leave), (9, step(2)), (10, step(3))] {
            let tick = tick(packet, command.clone());
            assert_eq!(explain(&command, &tick, &mut decoded, &mut report), Some(command), "packet {packet}");
            decoded.note_leaves(Moo::ABOUT, &tick);
        }
        assert_eq!((report.matched, report.not_captured, report.sent_before), (1, 2, 0));
    }
}
