//! The schedule of a room's ticks, with times of the test's own.

use std::time::{Duration, Instant};

use tickwire::internal::server::net::tick_schedule::{NextTick, TickSchedule};

#[test]
fn ticks_do_not_drift() {
    let start = Instant::now();
    let (mut schedule, mut due_at) = (TickSchedule::new(start, 30), start);
    for _ in 0..3_000 {
        // Each tick begins a little after its time; the next one is due by the clock all the same.
        let now = due_at + Duration::from_millis(3);
        let due = schedule.next(now);
        assert!(!due.is_late && due.skipped == 0);
        due_at = now + due.wait;
    }
    assert_eq!(due_at, start + Duration::from_secs(100));
}

#[test]
fn half_a_period_is_late_and_whole_ones_are_skipped() {
    let (start, period) = (Instant::now(), Duration::from_nanos(33_333_333));
    let late = TickSchedule::new(start, 30).next(start + period + Duration::from_millis(20));
    assert_eq!(late, NextTick { wait: Duration::ZERO, is_late: true, skipped: 0 });
    assert_eq!(TickSchedule::new(start, 30).next(start + period * 5).skipped, 4);
}
