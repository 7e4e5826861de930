//! Rate-limits log lines about game packets that do not fit their packet table, because every
//! client may cause one in every tick.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::limits;
use crate::util::sync::Mutex;

/// Time of the last log line and number of occurrences since then, by packet name. The map stays
/// small because the names are constants of the program.
#[derive(Debug, Default)]
pub struct Misfits {
    packets: Mutex<BTreeMap<&'static str, (Duration, u64)>>,
}

impl Misfits {
    /// Counts an occurrence. If a new log line is due, returns the number of occurrences since the
    /// last line. A line is due for the first occurrence, and then at most once per
    /// [`limits::MISFIT_LOG_EVERY`].
    pub fn is_due(&self, packet: &'static str, now: Duration) -> Option<u64> {
        let mut packets = self.packets.lock();
        let is_new = !packets.contains_key(packet);
        let (logged, times) = packets.entry(packet).or_insert((now, 0));
        *times += 1;
        if !is_new && now < *logged + limits::MISFIT_LOG_EVERY {
            return None;
        }
        *logged = now;
        Some(std::mem::take(times))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_packet_is_logged_at_once_and_then_once_a_minute_with_a_count() {
        let misfits = Misfits::default();
        let every = limits::MISFIT_LOG_EVERY;
        assert_eq!(misfits.is_due("state", Duration::ZERO), Some(1));
        for tick in 1..=9 {
            assert_eq!(misfits.is_due("state", Duration::from_millis(33) * tick), None);
        }
        assert_eq!(misfits.is_due("goal", every / 2), Some(1), "another packet has its own line");
        assert_eq!(misfits.is_due("state", every), Some(10));
        assert_eq!(misfits.is_due("state", every * 2), Some(1));
    }
}
