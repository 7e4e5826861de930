//! What a checking bot expects of the answers to its commands: each has one, in order and in time.

use std::collections::VecDeque;

use crate::packet::{DecodedPacket, Value};

use super::{BotStats, Tolerance};
use crate::game::command_acks::{ACCEPTED, REJECTED};

/// Reasons that a client gets only if it, or the server, has done something wrong.
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

/// Of so many commands of a bot, one names a tick, up to [`AHEAD`] ticks after the newest it knows.
const TARGET_TICK_ONE_IN: u32 = 16;
const TARGET_TICK_LEAD: u32 = 4;

/// The tick that a bot names in its command of this sequence.
pub fn choose_target_tick(sequence: u32, newest: Option<u32>) -> Option<u32> {
    let ahead = sequence / TARGET_TICK_ONE_IN % TARGET_TICK_LEAD;
    newest.filter(|_| sequence.is_multiple_of(TARGET_TICK_ONE_IN)).map(|tick| tick.saturating_add(ahead))
}

/// The commands of a connection that have no answer yet, and the last one that was accepted.
#[derive(Debug, Default)]
pub struct AckChecker {
    /// By sequence, with the tick that it names.
    waiting: VecDeque<(u32, Option<u32>)>,
    /// Its sequence and its tick.
    accepted: Option<(u32, u32)>,
    /// How many commands were sent, accepted and rejected, since they were taken last.
    counts: [u64; 3],
    /// Whether what it said over time may arrive at once, and whether others use its address.
    is_late: bool,
    shares_address: bool,
}

impl AckChecker {
    /// The client sends a command.
    pub fn on_sent(&mut self, sequence: u32, tick: Option<u32>) {
        self.waiting.push_back((sequence, tick));
        self.counts[0] += 1;
    }

    /// From now on, this excuses the server.
    pub fn excuse(&mut self, excuse: Tolerance) {
        self.is_late |= excuse == Tolerance::Network;
        self.shares_address |= excuse == Tolerance::SharedAddress;
    }

    /// The sequence of the last command that was accepted; 0 before the first.
    pub fn last(&self) -> u32 {
        self.accepted.map_or(0, |(sequence, _)| sequence)
    }

    /// How many commands were sent, accepted and rejected, since the last call.
    pub fn take_deeds(&mut self) -> BotStats {
        let [sent, accepted, rejected] = std::mem::take(&mut self.counts);
        BotStats(vec![
            ("commands_sent", "commands sent", sent),
            ("commands_accepted", "commands accepted", accepted),
            ("commands_rejected", "commands rejected", rejected),
        ])
    }

    /// Judges a packet, if it is one that answers commands.
    ///
    /// # Errors
    /// What is wrong with it.
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

    /// A state has arrived: whatever was sent before the last accepted command has its answer.
    ///
    /// # Errors
    /// A command has none.
    pub fn on_state(&self) -> Result<(), String> {
        match self.waiting.front() {
            Some((sequence, _)) if *sequence < self.last() => {
                Err(format!("{sequence} has no answer, but {} was accepted", self.last()))
            }
            _ => Ok(()),
        }
    }

    /// `None` if it is wrong.
    fn accept(&mut self, first: u32, count: u32, tick: u32) -> Option<()> {
        for sequence in (0..count.max(1)).map(|number| first.saturating_add(number)) {
            let named = self.answer(sequence)?;
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
        self.answer(sequence).filter(|_| !is_wrong).map(drop)
    }

    /// A command has its answer: the tick that it named. `None` if it waits for none.
    fn answer(&mut self, sequence: u32) -> Option<Option<u32>> {
        let at = self.waiting.iter().position(|(own, _)| *own == sequence)?;
        self.waiting.remove(at).map(|(_, tick)| tick)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Direction, PacketTables};

    /// Whether the answers to commands 1 to 6, of which the fourth names tick 20, are right.
    fn is_right(packets: &[&str]) -> bool {
        let dialect = PacketTables::builtin().dialect("native").expect("built in");
        let mut asked = AckChecker::default();
        (1..=6).for_each(|sequence| asked.on_sent(sequence, (sequence == 4).then_some(20)));
        let mut hear = |text: &&str| {
            let packet = dialect.decode_json(Direction::ToClient, text).expect("by the table");
            asked.on_packet(&packet).is_ok()
        };
        packets.iter().all(&mut hear) && asked.on_state().is_ok()
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
