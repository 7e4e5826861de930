//! The commands of a room's clients, decoded from their bytes, and matched with the commands of the
//! ticks.

use core::net::SocketAddr;
use std::collections::HashMap;
use std::ops::Range;

use tickwire_sim::{MembershipChange, PlayerId, RawCommand};

use super::error::ReplayError;
use super::recording::{RecordedTick, Recording};
use super::replay_client::{self, DecodedCommand, ReplayContext};
use super::report::Report;
use super::server_replies::ReplyDiff;
use crate::game::{DynWorld, GameInfo};
use crate::limits;
use crate::tools::capture::TcpConnection;

/// The decoded commands of all clients of a room.
#[derive(Default)]
pub(super) struct DecodedCommands {
    /// The number of clients.
    clients: usize,
    /// Commands by player.
    commands: HashMap<PlayerId, PlayerCommands>,
    /// The captured clients that had each player id.
    owners: HashMap<PlayerId, Vec<PlayerIdOwner>>,
    /// The last packet at which the previous owner had each player id. Commands up to this packet
    /// belong to that owner.
    left: HashMap<PlayerId, usize>,
    /// The number of equal replies, and the first different one.
    answers: usize,
    answer: Option<(SocketAddr, ReplyDiff)>,
}

/// The commands decoded for one player id.
struct PlayerCommands {
    /// Sorted by sequence number, then by packet. Successive owners of a player id may use the same
    /// sequence number.
    decoded: Vec<DecodedCommand>,
    /// Whether each command was matched with a tick.
    is_taken: Vec<bool>,
    /// The index after the last matched command, which is usually the next match.
    next: usize,
}

impl PlayerCommands {
    fn new(mut decoded: Vec<DecodedCommand>) -> PlayerCommands {
        decoded.sort_by_key(|command| command.command.sequence);
        PlayerCommands { is_taken: vec![false; decoded.len()], decoded, next: 0 }
    }

    /// Matches and returns the last unmatched command with this sequence number in the range.
    fn take(&mut self, sequence: u64, packets: &Range<usize>) -> Option<RawCommand> {
        let is_next = |at: usize| self.decoded.get(at).is_some_and(|next| next.command.sequence == sequence);
        let end = if is_next(self.next) && !is_next(self.next + 1) {
            self.next + 1
        } else {
            self.decoded.partition_point(|one| one.command.sequence <= sequence)
        };
        let mut same = (0..end).rev().take_while(|at| is_next(*at));
        let at = same.find(|at| !self.is_taken[*at] && packets.contains(&self.decoded[*at].packet))?;
        (self.is_taken[at], self.next) = (true, at + 1);
        Some(self.decoded[at].command.clone())
    }

    /// The commands without a tick.
    fn unmatched(&self) -> impl Iterator<Item = &DecodedCommand> {
        self.decoded
            .iter()
            .zip(&self.is_taken)
            .filter(|(_, is_taken)| !**is_taken)
            .map(|(command, _)| command)
    }
}

/// A captured client that had a player.
struct PlayerIdOwner {
    /// The first packet at which the client has the player.
    from_packet: usize,
    /// The last sequence number that the client used before the capture.
    before: u64,
}

impl DecodedCommands {
    /// Decodes the commands of all clients of a room.
    ///
    /// # Errors
    /// [`ReplayError`]: the bytes of a client cannot be replayed.
    pub(super) fn of_room<'a>(
        hearing: &ReplayContext<'_>,
        recording: &Recording<'_>,
        connections: impl Iterator<Item = &'a TcpConnection<'a>>,
    ) -> Result<DecodedCommands, ReplayError> {
        // In order of joining, because a player may be taken over by an older connection.
        let mut connections: Vec<_> = connections.collect();
        connections.sort_by_key(|one| {
            let joined = recording.clients.get(&one.first_packet).and_then(|client| client.joined);
            joined.map_or(one.first_packet, |(packet, _)| packet)
        });
        let mut decoded = DecodedCommands { clients: connections.len(), ..DecodedCommands::default() };
        let mut commands = HashMap::new();
        for connection in connections {
            decoded.add_client(hearing, connection, recording, &mut commands)?;
        }
        decoded.commands = commands
            .into_iter()
            .map(|(player, commands_of_player)| (player, PlayerCommands::new(commands_of_player)))
            .collect();
        Ok(decoded)
    }

    fn add_client(
        &mut self,
        hearing: &ReplayContext<'_>,
        connection: &TcpConnection<'_>,
        recording: &Recording<'_>,
        by_player: &mut HashMap<PlayerId, Vec<DecodedCommand>>,
    ) -> Result<(), ReplayError> {
        let client_info = recording.clients.get(&connection.first_packet).copied().unwrap_or_default();
        let replayed = replay_client::replay_client(hearing, connection, client_info, recording.room_info())?;
        self.answers += replayed.answers;
        if self.answer.is_none() {
            self.answer = replayed.differing.map(|differing| (connection.client, differing));
        }
        if let Some(player) = client_info.player {
            let from_packet = client_info.joined.map_or(connection.first_packet, |(packet, _)| packet);
            self.owners
                .entry(player)
                .or_default()
                .push(PlayerIdOwner { from_packet, before: replayed.last_sequence_before });
        }
        // A client has one player at a time.
        for commands in replayed.commands.chunk_by(|one, next| one.command.player == next.command.player) {
            by_player.entry(commands[0].command.player).or_default().extend_from_slice(commands);
        }
        Ok(())
    }

    /// Creates the report of a room before its first tick.
    pub(super) fn report(&mut self, world: &dyn DynWorld) -> Report {
        let (answers, answer) = (self.answers, self.answer.take());
        let (first_tick, clients) = (world.tick(), self.clients);
        Report { first_tick, clients, answers, answer, ..Report::default() }
    }

    /// The packet range in which the current owner of a player id may have sent the commands of
    /// `tick`.
    fn packets(&self, player: PlayerId, tick: &RecordedTick) -> Range<usize> {
        self.left.get(&player).map_or(0, |left| left + 1)..tick.packet
    }

    /// Matches and returns the current owner's last unmatched command with this sequence number,
    /// among the packets before the tick that executed it.
    fn take(&mut self, recorded: &RawCommand, tick: &RecordedTick) -> Option<RawCommand> {
        let packets = self.packets(recorded.player, tick);
        self.commands.get_mut(&recorded.player)?.take(recorded.sequence, &packets)
    }

    /// The captured client that has this player id at `tick`.
    fn owner(&self, player: PlayerId, tick: &RecordedTick) -> Option<&PlayerIdOwner> {
        let packets = self.packets(player, tick);
        self.owners.get(&player)?.iter().find(|owner| packets.contains(&owner.from_packet))
    }

    /// Records that the current owner of each player that leaves or disconnects in a tick loses the
    /// player id: at this tick, or at the join of a client that resumed the player before it.
    pub(super) fn record_leaves(&mut self, info: &GameInfo, tick: &RecordedTick) {
        for player in leaves(info, tick) {
            let packets = self.packets(player, tick);
            let owners = self.owners.get(&player).map_or(&[][..], Vec::as_slice);
            let mut since =
                owners.iter().map(|owner| owner.from_packet).filter(|from| packets.contains(from));
            let next = since.next().and_then(|_| since.max());
            self.left.insert(player, next.map_or(tick.packet, |next| next - 1));
        }
    }
}

/// The players that leave or disconnect in a tick.
fn leaves<'a>(info: &'a GameInfo, tick: &'a RecordedTick) -> impl Iterator<Item = PlayerId> + 'a {
    tick.frame.commands.iter().filter_map(|command| match (info.membership)(&command.action) {
        Some(MembershipChange::Left(player) | MembershipChange::Disconnected(player)) => Some(player),
        _ => None,
    })
}

/// Counts the commands of a tick from the server (joins, leaves and gifts) and from the operator.
/// Both have the same player id. A gift is issued with a join, so it has the next sequence number
/// after the join.
pub(super) fn count_issued(info: &GameInfo, commands: &[RawCommand]) -> [usize; 2] {
    // The player that joined last, and the sequence number of its next gift.
    let mut gift: Option<(PlayerId, u64)> = None;
    let mut counts = [0; 2];
    for command in commands.iter().filter(|command| command.player == PlayerId::OPERATOR) {
        let next = |player| Some((player, command.sequence.saturating_add(1)));
        let is_of_server = match ((info.membership)(&command.action), gift) {
            (Some(MembershipChange::Joined(player, _)), _) => {
                gift = next(player);
                true
            }
            (Some(_), _) => true,
            (None, Some((player, sequence)))
                if sequence == command.sequence && (info.accompanies_join)(&command.action, player) =>
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

/// Returns the command to execute for a recorded command. This is the decoded command, if there is
/// one. It is the recorded command if the command is from the server or the operator, was sent
/// before the capture, or is from a client that is not captured. Returns `None` if a captured
/// client never sent the command.
pub(super) fn match_command(
    recorded: &RawCommand,
    tick: &RecordedTick,
    decoded: &mut DecodedCommands,
    report: &mut Report,
) -> Option<RawCommand> {
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

/// Counts the decoded commands without a tick. A command waits at most
/// [`limits::MAX_COMMAND_LEAD_MS`], so an older one was dropped.
pub(super) fn count_unmatched(
    info: &GameInfo,
    ticks: &[RecordedTick],
    hz: u32,
    decoded: &DecodedCommands,
    report: &mut Report,
) {
    let ahead = (limits::MAX_COMMAND_LEAD_MS * hz).div_ceil(1000) as usize + 1;
    let last_safe = ticks.len().checked_sub(ahead).map_or(0, |at| ticks[at].packet);
    let mut left: HashMap<PlayerId, Vec<usize>> = HashMap::new();
    for (at, tick) in ticks.iter().enumerate() {
        leaves(info, tick).for_each(|player| left.entry(player).or_default().push(at));
    }
    for command in decoded.commands.values().flat_map(PlayerCommands::unmatched) {
        let first = ticks.partition_point(|tick| tick.packet < command.packet);
        let left = left.get(&command.command.player).map_or(&[][..], Vec::as_slice);
        let count = if left.iter().any(|at| (first..=first + ahead).contains(at)) {
            &mut report.dropped_on_leave
        } else if command.packet < last_safe {
            &mut report.dropped_while_connected
        } else {
            &mut report.after_end
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
    use tickwire_sim::command_frame::CommandFrame;

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
            (vec![grant(ann, gift), Action::Announce { text: String::new() }], [0, 2]),
            (vec![join(ann), Action::Announce { text: String::new() }, grant(ann, gift)], [1, 2]),
        ] {
            let command = |(sequence, action)| Command { player: PlayerId::OPERATOR, sequence, action };
            let commands = (1..).zip(actions).map(command);
            let mut commands: Vec<RawCommand> = commands.map(|command| command.encoded()).collect();
            let leave = Command { player: ann, sequence: 1, action: Action::Leave { player: ann } };
            commands.push(leave.encoded());
            assert_eq!(count_issued(Moo::INFO, &commands), expected, "{commands:?}");
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
        let tick = |packet, command| RecordedTick {
            packet,
            checksum: 0,
            frame: CommandFrame { tick: packet as u32, commands: vec![command] },
        };
        let mut decoded = DecodedCommands::default();
        decoded.owners.insert(ann, vec![PlayerIdOwner { from_packet: 1, before: 0 }]);
        // No recorded tick contains the second command. It must not match a command with the same
        // sequence number that the next owner of the player ID sent.
        let turned = walk(2, Some(Angle(7)));
        let decoded_commands =
            [(step(1), 2), (turned, 4)].map(|(command, packet)| DecodedCommand { command, packet });
        decoded.commands.insert(ann, PlayerCommands::new(decoded_commands.into()));
        let mut report = Report::default();
        for (packet, command) in [(3, step(1)), (5, leave), (9, step(2)), (10, step(3))] {
            let tick = tick(packet, command.clone());
            assert_eq!(
                match_command(&command, &tick, &mut decoded, &mut report),
                Some(command),
                "packet {packet}"
            );
            decoded.record_leaves(Moo::INFO, &tick);
        }
        assert_eq!((report.matched, report.not_captured, report.sent_before), (1, 2, 0));
    }
}
