//! Sequence numbers: 64 bits from 16, and the window of received datagrams.

use super::error::DatagramError;

/// Number of sequence numbers below the newest whose arrival is remembered.
const WINDOW: u64 = 64;

/// Returns the number nearest to `near` with these lower 16 bits.
pub fn extend(low: u16, near: u64) -> u64 {
    // The distance from `near`, between -32,768 and 32,767.
    let distance = i64::from(low.wrapping_sub(near as u16) as i16);
    near.saturating_add_signed(distance)
}

/// The received datagrams of one direction: the newest, and which of the 64 before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReceivedWindow {
    /// The newest sequence number; 0 before the first datagram.
    newest: u64,
    /// Bit `n` is 1 if `newest - 1 - n` was received.
    before: u64,
}

impl ReceivedWindow {
    /// Returns the sequence number of a datagram with these lower 16 bits.
    pub fn extend(&self, low: u16) -> u64 {
        extend(low, self.newest)
    }

    /// Checks that a datagram was not received before and is not too old to know.
    pub fn check(&self, sequence: u64) -> Result<(), DatagramError> {
        let Some(age) = self.newest.checked_sub(sequence) else { return Ok(()) };
        match age {
            0 => Err(DatagramError::Repeated),
            1..=WINDOW if self.before >> (age - 1) & 1 == 1 => Err(DatagramError::Repeated),
            1..=WINDOW if sequence > 0 => Ok(()),
            _ => Err(DatagramError::TooOld),
        }
    }

    /// Records a datagram that [`ReceivedWindow::check`] allows and whose tag is right.
    pub fn record(&mut self, sequence: u64) {
        match sequence.checked_sub(self.newest) {
            Some(0) => {}
            Some(step) => {
                let is_first = self.newest == 0;
                self.before = if step > WINDOW { 0 } else { (self.before << (step - 1)) << 1 };
                if step <= WINDOW && !is_first {
                    self.before |= 1 << (step - 1);
                }
                self.newest = sequence;
            }
            None => self.before |= 1 << (self.newest - sequence - 1),
        }
    }

    /// Returns the newest sequence number; 0 before the first datagram.
    pub fn newest(&self) -> u64 {
        self.newest
    }

    /// Returns the fields of a header that acknowledge these datagrams.
    pub fn acks(&self) -> (u16, u32) {
        (self.newest as u16, self.before as u32)
    }

    /// Returns how many of the last 32 datagrams before the newest have not arrived, and how many
    /// of them the other end has sent.
    pub fn missing(&self) -> (u32, u32) {
        let sent = self.newest.saturating_sub(1).min(32) as u32;
        (sent.saturating_sub((self.before as u32).count_ones()), sent)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn sixteen_bits_extend_to_the_nearest_number() {
        for (low, near, expected) in [
            (1, 0, 1),
            (0, 0, 0),
            (0, 65_535, 65_536),
            (65_535, 65_536, 65_535),
            (5, 0x1_fffe, 0x2_0005),
            (0x7fff, 0x1_0000, 0x1_7fff),
            (0x8001, 0x1_0000, 0x8001),
        ] {
            assert_eq!(extend(low, near), expected, "{low} near {near}");
        }
    }

    /// Compares the window with a set of all received numbers.
    #[test]
    fn the_window_agrees_with_a_list_of_all_datagrams() {
        let (mut window, mut all, mut state) = (ReceivedWindow::default(), BTreeSet::new(), 7u64);
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (step, kind) = (state >> 33 & 0x3f, state >> 60);
            let newest = window.newest();
            let sequence = match kind {
                0 => newest + 1 + step * 2,
                1..=6 => newest + 1,
                _ => newest.saturating_sub(step * 3 / 2).max(1),
            };
            let expected = match () {
                () if newest > sequence + WINDOW => Err(DatagramError::TooOld),
                () if all.contains(&sequence) => Err(DatagramError::Repeated),
                () => Ok(()),
            };
            assert_eq!(window.check(sequence), expected, "{sequence} after {newest}");
            if expected.is_ok() {
                window.record(sequence);
                all.insert(sequence);
            }
            let (low, bits) = window.acks();
            assert_eq!(u64::from(low), window.newest() & 0xffff);
            for n in 0..32 {
                let before = window.newest().checked_sub(n + 1).filter(|before| *before > 0);
                assert_eq!(bits >> n & 1 == 1, before.is_some_and(|before| all.contains(&before)));
            }
        }
        assert!(window.newest() > 5_000);
    }
}
