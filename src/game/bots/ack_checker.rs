//! Checks the acks of a bot's commands: each command has exactly one ack, in order and not before
//! its target tick.

use std::collections::VecDeque;

use crate::packet::{DecodedPacket, Value};

use super::{BotStats, Tolerance};
use crate::game::command_acks::{ACCEPTED, REJECTED};

/// Rejection reasons that a correct client receives only from a faulty server.
const UNEXPECTED_REASONS: [&str; 8] = [
    "repeated",
    "unknown_issuer",
    "operator_only",
    "player_only",
    "player_tick_full",
    "player_bytes_full",
    "inbox_full",
    "taken_over",
];

/// One in this many commands of a bot has a target tick.
const TARGET_TICK_ONE_IN: u32 = 16;
/// Target ticks are less than this many ticks after the newest known tick.
const TARGET_TICK_LEAD: u32 = 4;

/// The target tick of the command with this sequence number; `None` if the command has none.
pub fn choose_target_tick(sequence: u32, newest: Option<u32>) -> Option<u32> {
    let ahead = sequence / TARGET_TICK_ONE_IN % TARGET_TICK_LEAD;
    newest.filter(|_| sequence.is_multiple_of(TARGET_TICK_ONE_IN)).map(|tick| tick.saturating_add(ahead))
}

/// The unacknowledged commands of a connection, and the last accepted command.
#[derive(Debug, Default)]
pub struct AckChecker {
    /// Sequence numbers and target ticks of the commands without an ack.
    waiting: VecDeque<(u32, Option<u32>)>,
    /// Sequence number and tick of the last accepted command.
    accepted: Option<(u32, u32)>,
    /// Numbers of commands sent, accepted and rejected since the last [`AckChecker::take_stats`].
    counts: [u64; 3],
    /// Whether the network may deliver commands late or in a burst.
    is_late: bool,
    /// Whether other clients use the same address.
    shares_address: bool,
}

impl AckChecker {
    /// Records a command that the client sends.
    pub fn on_sent(&mut self, sequence: u32, tick: Option<u32>) {
        self.waiting.push_back((sequence, tick));
        self.counts[0] += 1;
    }

    /// Tolerates faults with this cause from now on.
    pub fn tolerate(&mut self, reason: Tolerance) {
        // The commands of lost datagrams arrive together, in the next datagram.
        self.is_late |= matches!(reason, Tolerance::Network | Tolerance::Lane);
        self.shares_address |= reason == Tolerance::SharedAddress;
    }

    /// Sequence number of the last accepted command; 0 before the first.
    pub fn last(&self) -> u32 {
        self.accepted.map_or(0, |(sequence, _)| sequence)
    }

    /// Returns the numbers of commands sent, accepted and rejected since the last call.
    pub fn take_stats(&mut self) -> BotStats {
        let [sent, accepted, rejected] = std::mem::take(&mut self.counts);
        BotStats(vec![
            ("commands_sent", "commands sent", sent),
            ("commands_accepted", "commands accepted", accepted),
            ("commands_rejected", "commands rejected", rejected),
        ])
    }

    /// Checks a server packet. Packets without acks are accepted.
    ///
    /// # Errors
    /// A description of the fault.
    pub fn on_packet(&mut self, packet: &DecodedPacket<'_>) -> Result<(), String> {
        let name = packet.row.name.as_str();
        let stride = match name {
            ACCEPTED => 3,
            REJECTED => 2,
            _ => return Ok(()),
        };
        let groups = packet.get("commands").and_then(Value::as_array).map_or(&[][..], |list| &list[..]);
        if groups.is_empty() {
            return Err("no command".to_owned());
        }
        groups.chunks(stride).try_for_each(|group| {
            let number = |at: usize| group.get(at)?.as_u64().and_then(|number| u32::try_from(number).ok());
            let text = |at: usize| group.get(at)?.as_str();
            let judged = match (number(0), number(1), number(2), text(1)) {
                (Some(first), Some(count), Some(tick), _) => self.accept(first, count, tick),
                (Some(sequence), _, _, Some(reason)) => self.reject(sequence, reason),
                _ => None,
            };
            judged.ok_or_else(|| format!("{packet}; waiting: {:?}, last: {:?}", self.waiting, self.accepted))
        })
    }

    /// Checks that all commands before the last accepted command have an ack. Called for each
    /// received state.
    ///
    /// # Errors
    /// A command has no ack.
    pub fn on_state(&self) -> Result<(), String> {
        match self.waiting.front() {
            Some((sequence, _)) if *sequence < self.last() => {
                Err(format!("{sequence} has no answer, but {} was accepted", self.last()))
            }
            _ => Ok(()),
        }
    }

    /// Checks an accepted run of commands. Returns `None` for a fault.
    fn accept(&mut self, first: u32, count: u32, tick: u32) -> Option<()> {
        for sequence in (0..count.max(1)).map(|number| first.saturating_add(number)) {
            let named = self.take_pending(sequence)?;
            let is_late_enough = self.accepted.is_none_or(|(last, at)| last < sequence && at <= tick);
            if count == 0 || !is_late_enough || named.is_some_and(|named| tick < named) {
                return None;
            }
            self.accepted = Some((sequence, tick));
            self.counts[1] += 1;
        }
        Some(())
    }

    fn reject(&mut self, sequence: u32, reason: &str) -> Option<()> {
        self.counts[2] += 1;
        let is_wrong = UNEXPECTED_REASONS.contains(&reason)
            || !self.is_late && reason.ends_with("_too_soon")
            || !self.shares_address && reason.starts_with("address_");
        self.take_pending(sequence).filter(|_| !is_wrong).map(drop)
    }

    /// Removes a command from the list, and returns its target tick. Returns `None` if the command
    /// is not in the list, and `Some(None)` if the command has no target tick.
    fn take_pending(&mut self, sequence: u32) -> Option<Option<u32>> {
        let at = self.waiting.iter().position(|(own, _)| *own == sequence)?;
        self.waiting.remove(at).map(|(_, tick)| tick)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Direction, PacketTables};

    /// Whether the acks of commands 1 to 6 are correct. The fourth command has the target tick 20.
    fn is_right(packets: &[&str]) -> bool {
        let dialect = PacketTables::builtin().dialect("native").expect("built in");
        let mut acks = AckChecker::default();
        (1..=6).for_each(|sequence| acks.on_sent(sequence, (sequence == 4).then_some(20)));
        let mut accepts = |text: &&str| {
            let packet = dialect.decode_json(Direction::ToClient, text).expect("by the table");
            acks.on_packet(&packet).is_ok()
        };
        packets.iter().all(&mut accepts) && acks.on_state().is_ok()
    }

    fn accepted(groups: &str) -> String {
        format!(r#"["command_accepted",[[{groups}]]]"#)
    }

    fn rejected(groups: &str) -> String {
        format!(r#"["command_rejected",[[{groups}]]]"#)
    }

    #[test]
    fn each_command_is_answered_once_in_order_and_not_before_its_tick() {
        let right = |packets: &[String]| is_right(&packets.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(right(&[accepted("1,3,10, 4,1,20"), rejected(r#"5,"dead",6,"too_dear""#)]));
        assert!(right(&[rejected(r#"3,"dead""#), accepted("1,2,10, 4,3,21")]));
        assert!(right(&[accepted("1,1,10")]), "the others may still be");
        assert!(!right(&[accepted("1,2,10, 2,1,10")]), "twice");
        assert!(!right(&[accepted("1,1,10"), rejected(r#"1,"dead""#)]), "both");
        assert!(!right(&[accepted("1,3,10, 4,1,19")]), "before its tick");
        assert!(!right(&[accepted("1,2,10, 3,1,9")]), "before its predecessor");
        assert!(!right(&[accepted("1,2,10, 4,1,20")]), "3 is passed over");
        assert!(!right(&[accepted("7,1,10")]), "never sent");
        assert!(!right(&[accepted("1,0,10")]) && !right(&[accepted("")]), "nothing");
        assert!(!right(&[rejected(r#"1,"repeated""#)]), "not its fault");
    }
}
