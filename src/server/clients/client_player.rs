//! The player of a client: which one it is, since which tick, and its name.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use tickwire_sim::PlayerId;

use crate::server::room::JoinOutcome;
use crate::util::sync::Mutex;

/// The player of a client.
#[derive(Debug, Default)]
pub struct ClientPlayer {
    /// Lower half: the number of the client's player, or 0. Upper half: a number of ticks. From
    /// that tick on, the player's published state reflects this connection.
    player: AtomicU64,
    /// After a resume: the last tick that the client received, plus 1. 0 after the missed events
    /// have been sent.
    resume_tick: AtomicU32,
    /// The player name of the client's last join.
    name: Mutex<String>,
}

impl ClientPlayer {
    /// Returns the player, if the client has one.
    pub fn get(&self) -> Option<PlayerId> {
        player_id(self.player.load(Ordering::Acquire) as u32)
    }

    /// Returns the player if the state after `tick` ticks reflects this connection. `None` while
    /// that state may still result from an earlier connection.
    pub fn as_of(&self, tick: u32) -> Option<PlayerId> {
        let one = self.player.load(Ordering::Acquire);
        player_id(one as u32).filter(|_| (one >> 32) as u32 <= tick)
    }

    /// Returns the name of the player. Empty without a player.
    pub fn name(&self) -> String {
        if self.get().is_some() { self.last_name() } else { String::new() }
    }

    /// Returns the name of the client's last player, also after it has left. Empty if the client
    /// never had a player.
    pub fn last_name(&self) -> String {
        self.name.lock().clone()
    }

    /// Stores the player and its name. After a resume, `resume_tick` is the last tick that the
    /// client received.
    pub fn set(&self, entered: JoinOutcome, name: &str, resume_tick: Option<u32>) {
        let JoinOutcome { player, is_resumed, from_tick, taken_at_tick: taken_at } = entered;
        name.clone_into(&mut self.name.lock());
        let missed =
            resume_tick.filter(|_| is_resumed).map_or(0, |tick| tick.max(taken_at).saturating_add(1));
        self.resume_tick.store(missed, Ordering::Release);
        self.player.store(u64::from(from_tick) << 32 | u64::from(player.0), Ordering::Release);
    }

    /// Removes and returns the player. Only one thread gets it.
    pub fn take(&self) -> Option<PlayerId> {
        player_id(self.player.swap(0, Ordering::AcqRel) as u32)
    }

    /// Returns the last tick that the client received before it resumed. Only the first call
    /// returns it, and only if the client has requested the missed events.
    pub fn take_resume_tick(&self) -> Option<u32> {
        if self.resume_tick.load(Ordering::Relaxed) == 0 {
            return None;
        }
        self.resume_tick.swap(0, Ordering::AcqRel).checked_sub(1)
    }
}

/// Returns the player with this number; `None` for 0.
pub fn player_id(number: u32) -> Option<PlayerId> {
    u16::try_from(number).ok().filter(|number| *number != 0).map(PlayerId)
}
