//! A player: its key, its commands and their acks, and its connection.

use core::net::Ipv4Addr;
use std::collections::VecDeque;

use tickwire_sim::{PlayerId, Rng};

use super::tally::Body;
use crate::server::room::SeatKey;
use crate::server::room::acks::{AckOutcome, CommandAck};
use crate::util::address_prefix::AddressPrefix;

/// Time without a connection after which the body of a player may have left, in ms. The seats of
/// rooms last longer.
pub const MAX_ABSENCE_MS: u64 = 100_000;

/// The connection of a player.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlayerLink {
    /// No connection. The player connects later.
    Away,
    /// The player waits for its room at this host.
    Waiting(usize),
    /// The player plays.
    Connected(PlayerConnection),
}

/// A connection of a player to its room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlayerConnection {
    /// The number of the connection.
    pub number: u64,
    /// The host that the player has connected to.
    pub via: usize,
    /// The host that has the room.
    pub owner: usize,
    /// The player number.
    pub player: PlayerId,
    /// The sequence number of the last command.
    sequence: u32,
    /// Sequence numbers and step numbers of commands without an ack.
    pending: VecDeque<(u32, u32)>,
}

/// A player.
#[derive(Debug)]
pub struct SimPlayer {
    /// The index of its room.
    pub room: usize,
    /// The key with which it resumes its body.
    pub key: SeatKey,
    /// The number of the body's client, which is the name of the body.
    pub identity: u32,
    /// Its address.
    pub from: AddressPrefix,
    /// The connection.
    pub link: PlayerLink,
    /// Time at which the last connection has ended, in ms.
    pub away_since_ms: u64,
    /// The body that has executed an acknowledged command: it is never lost.
    pub promised: Option<PlayerId>,
    last_number: u32,
    /// The number of the last acknowledged step.
    acknowledged: u32,
    /// The numbers before `acknowledged` without an ack, as ranges with both ends.
    unacknowledged: Vec<(u32, u32)>,
}

impl SimPlayer {
    /// Creates a player of this room.
    pub fn new(index: usize, room: usize, identity: u32, rng: &mut Rng) -> SimPlayer {
        let from = AddressPrefix::from_ip(Ipv4Addr::from(0x0a00_0000 + index as u32).into());
        SimPlayer {
            room,
            key: new_key(rng),
            identity,
            from,
            link: PlayerLink::Away,
            away_since_ms: 0,
            promised: None,
            last_number: 0,
            acknowledged: 0,
            unacknowledged: Vec::new(),
        }
    }

    /// Makes the player another client, with a new body.
    pub fn renew(&mut self, identity: u32, rng: &mut Rng) {
        (self.identity, self.key) = (identity, new_key(rng));
        self.forget_body();
    }

    /// Forgets the body, which may have left. The numbers of steps continue, because a body without
    /// an ack may still be recovered.
    pub fn forget_body(&mut self) {
        (self.promised, self.acknowledged) = (None, 0);
        self.unacknowledged.clear();
    }

    /// Returns the connection.
    pub fn connection(&self) -> Option<&PlayerConnection> {
        match &self.link {
            PlayerLink::Connected(connection) => Some(connection),
            PlayerLink::Away | PlayerLink::Waiting(_) => None,
        }
    }

    /// Numbers the next command: its sequence number and the number of its step.
    pub fn next_command(&mut self) -> Option<(PlayerId, u32, u32)> {
        let PlayerLink::Connected(connection) = &mut self.link else { return None };
        self.last_number += 1;
        connection.sequence += 1;
        connection.pending.push_back((connection.sequence, self.last_number));
        Some((connection.player, connection.sequence, self.last_number))
    }

    /// Receives acks. Returns the number of acknowledged commands.
    ///
    /// # Errors
    /// The rule that an ack breaks.
    pub fn on_acks(&mut self, acks: &[CommandAck]) -> Result<u64, String> {
        let PlayerLink::Connected(connection) = &mut self.link else { return Ok(0) };
        let mut accepted = Vec::new();
        for ack in acks {
            let (count, is_accepted) = match ack.verdict {
                AckOutcome::Accepted(count) => (u32::from(count), true),
                AckOutcome::Rejected(_) => (1, false),
            };
            for sequence in ack.sequence..ack.sequence + count {
                match connection.pending.pop_front() {
                    Some((expected, number)) if expected == sequence => {
                        accepted.extend(is_accepted.then_some(number));
                    }
                    other => return Err(format!("an ack of command {sequence}, but {other:?} is expected")),
                }
            }
        }
        let player = connection.player;
        for number in &accepted {
            if *number > self.acknowledged + 1 {
                self.unacknowledged.push((self.acknowledged + 1, number - 1));
            }
            self.acknowledged = *number;
            self.promised = Some(player);
        }
        Ok(accepted.len() as u64)
    }

    /// Checks that a body has executed each acknowledged step exactly once.
    ///
    /// # Errors
    /// The rule that the body breaks.
    pub fn check_body(&self, body: &Body) -> Result<(), String> {
        let identity = self.identity;
        if body.identity != identity {
            return Err(format!("the body of client {identity} is of client {}", body.identity));
        }
        if body.repeated > 0 {
            return Err(format!("{} steps of client {identity} were executed twice", body.repeated));
        }
        if body.last < self.acknowledged {
            let (last, acknowledged) = (body.last, self.acknowledged);
            return Err(format!(
                "client {identity} has an ack of step {acknowledged}, but its last step is {last}"
            ));
        }
        let is_without_ack = |(first, last): (u32, u32)| {
            let ranges = &self.unacknowledged;
            let at = ranges.partition_point(|(_, end)| *end < first);
            first > self.acknowledged
                || ranges.get(at).is_some_and(|(start, end)| *start <= first && last <= *end)
        };
        match body.gaps.iter().find(|gap| !is_without_ack(**gap)) {
            Some((first, last)) => Err(format!(
                "client {identity} has an ack of a step from {first} to {last}, which its body lacks"
            )),
            None => Ok(()),
        }
    }
}

impl PlayerConnection {
    /// Creates a connection.
    pub fn new(number: u64, (via, owner): (usize, usize), player: PlayerId) -> PlayerConnection {
        PlayerConnection { number, via, owner, player, sequence: 0, pending: VecDeque::new() }
    }
}

fn new_key(rng: &mut Rng) -> SeatKey {
    let halves = [rng.next_u64(), rng.next_u64()];
    SeatKey((u128::from(halves[0]) << 64 | u128::from(halves[1])).to_le_bytes())
}
