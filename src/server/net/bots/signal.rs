//! The state that other threads share with the thread of the bots.

use std::time::Duration;

use crate::server::admission::tokens::Authenticator;
use crate::util::sync::{Condvar, Mutex};

/// Wakes the thread of the bots when a client enters a room, joins or leaves.
#[derive(Debug, Default)]
pub struct BotSignal {
    /// Permits bots to play without a token.
    pub authenticator: Authenticator,
    is_requested: Mutex<bool>,
    rung: Condvar,
}

impl BotSignal {
    /// Wakes the thread.
    pub fn wake(&self) {
        *self.is_requested.lock() = true;
        self.rung.notify_one();
    }

    /// Sleeps until a call of [`BotSignal::wake`] since the last sleep, or until the time has
    /// passed.
    pub(super) fn sleep(&self, time: Option<Duration>) {
        let mut is_requested = self.is_requested.lock();
        match time {
            Some(time) if !*is_requested => drop(self.rung.wait_for(&mut is_requested, time)),
            Some(_) => {}
            None => {
                while !*is_requested {
                    self.rung.wait(&mut is_requested);
                }
            }
        }
        *is_requested = false;
    }
}
