//! The seats of a room that it has had before: with keys after a restart of the simulator, and with
//! hashes in the journal.

use std::time::Duration;

use super::handle::RoomHandle;
#[cfg(not(target_family = "wasm"))]
use super::hashed_seat::{HashedSeat, SeatChange};
use super::seat_keys::KeyedSeat;
use super::seats::Seat;

impl RoomHandle {
    /// Registers the seat keys that were saved with a restored world, so that clients can resume
    /// their players. Until its client resumes, a player stands still. The sequence numbers of its
    /// commands restart at 1. If an address prefix exceeds its limit of suspended seats, its
    /// surplus players leave at once.
    pub fn restore_seats(&self, keys: &[KeyedSeat], now: Duration) {
        let state = &mut *self.state.lock();
        for keyed in keys {
            let player = keyed.player;
            // Keys of players that are not in the world are ignored.
            if matches!(state.seats.get(player), Some(Seat::Suspended { .. })) {
                state.keys.insert(*keyed, self.tick());
                state.last_keys.insert(player, keyed.key);
                state.suspend_seat(player, now, &self.options, self.game);
            }
        }
    }
}

#[cfg(not(target_family = "wasm"))]
impl RoomHandle {
    /// Registers the seats of a recovered journal, as [`RoomHandle::restore_seats`] does with keys.
    pub fn restore_hashed_seats(&self, seats: &[HashedSeat], now: Duration) {
        let state = &mut *self.state.lock();
        for seat in seats {
            // Seats of players that are not in the world are ignored.
            if matches!(state.seats.get(seat.player), Some(Seat::Suspended { .. })) {
                state.keys.insert_hashed(*seat, self.tick());
                state.suspend_seat(seat.player, now, &self.options, self.game);
            }
        }
    }

    /// Starts to record changes of seats.
    pub fn record_seat_changes(&self) {
        self.state.lock().keys.record_changes();
    }

    /// Returns the changes of seats since the last call. Call it after a tick: the seats of all
    /// joins in this tick are then included.
    pub fn take_seat_changes(&self) -> Vec<SeatChange> {
        self.state.lock().keys.take_changes()
    }

    /// Returns the seats that clients can resume.
    pub fn hashed_seats(&self) -> Vec<HashedSeat> {
        self.state.lock().keys.hashed_seats()
    }
}
