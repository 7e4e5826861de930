//! Tests of the order, the delays and the losses of bytes.

use super::*;

const AT_ONCE: [Duration; 2] = [Duration::ZERO; 2];

#[test]
fn bytes_arrive_in_order_after_their_delay_and_then_the_end() {
    let clock = VirtualClock::default();
    let ms = Duration::from_millis;
    let wire = VirtualTcp::new(&clock, 1, [ms(10), ms(10)], None);
    assert_eq!((wire.write(b"abc"), wire.server_read(9)), (3, ReadResult::Nothing));
    clock.set(ms(10));
    wire.end();
    assert_eq!(wire.server_read(2), ReadResult::Bytes(b"ab".to_vec()));
    assert_eq!(wire.server_read(2), ReadResult::Bytes(b"c".to_vec()));
    assert_eq!(wire.server_read(2), ReadResult::End);
    wire.stall_until(ms(50));
    wire.respond(b"x");
    clock.set(ms(49));
    assert_eq!(wire.read(9), ReadResult::Nothing);
    wire.deliver_now();
    assert_eq!((wire.read(9), wire.mismatch()), (ReadResult::Bytes(b"x".to_vec()), None));
}

#[test]
fn under_conditions_segments_arrive_one_by_one_and_a_lost_one_holds_up_the_rest() {
    let (clock, ms) = (VirtualClock::default(), Duration::from_millis);
    let conditions = "delay=30ms,loss=50%,rate=1460kB".parse().expect("conditions");
    let wire = VirtualTcp::new(&clock, 1, AT_ONCE, Some(&conditions));
    assert_eq!(wire.write(&[7; 14_600]), 14_600);
    clock.set(ms(30));
    assert_eq!(wire.server_read(BUFFER_BYTES), ReadResult::Nothing);
    let (mut count, mut arrivals) = (0, Vec::new());
    for at in 31..60_000 {
        clock.set(ms(at));
        while let ReadResult::Bytes(bytes) = wire.server_read(BUFFER_BYTES) {
            count += bytes.len();
            arrivals.push(at);
        }
    }
    assert_eq!((count, wire.segments().segments), (14_600, 10));
    assert!(wire.segments().stalls > 0 && arrivals.iter().any(|at| *at >= 200), "{arrivals:?}");
}

#[test]
fn a_byte_that_was_not_queued_is_found_and_a_half_open_end_resets() {
    let wire = VirtualTcp::new(&VirtualClock::default(), 1, AT_ONCE, None);
    let end = ServerTransport(Arc::clone(&wire));
    let clock = wire.clock.clone();
    while end.send([&b"x"[..]].into_iter()).expect("it is there") == 0 {
        clock.set(clock.now() + Duration::from_millis(1));
    }
    assert_eq!((wire.read(9), wire.mismatch()), (ReadResult::Bytes(b"x".to_vec()), Some(0)));
    wire.disappear(true);
    assert_eq!(wire.server_read(9), ReadResult::Nothing);
    assert!(end.send([&b"x"[..]].into_iter()).is_err());
    assert_eq!(wire.server_read(9), ReadResult::Reset);
}
