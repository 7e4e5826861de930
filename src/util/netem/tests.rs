//! Tests of the model in virtual time: means, order, stalls, rates, seeds, texts.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::limits;

const MS: Duration = Duration::from_millis(1);

fn conditions(text: &str) -> Conditions {
    text.parse().expect(text)
}

/// Returns the delays of `count` small segments, sent one every `every`.
fn times(text: &str, seed: u64, count: u32, every: Duration) -> (Vec<Duration>, SegmentCounts) {
    let mut channel = SegmentScheduler::new(&conditions(text), Direction::Up, seed);
    let mut times = Vec::new();
    for number in 0..count {
        let now = every * number;
        channel.send(now, 50, |_, arrives| times.push(arrives - now));
    }
    (times, channel.counts)
}

fn mean(times: &[Duration]) -> Duration {
    times.iter().sum::<Duration>() / times.len() as u32
}

#[test]
fn delays_are_even_around_their_mean_within_the_jitter() {
    let (times, _) = times("delay=150ms,jitter=30ms", 1, 20_000, 100 * MS);
    let mean = mean(&times);
    assert!(mean.abs_diff(150 * MS) < MS, "{mean:?}");
    assert!(times.iter().all(|time| time.abs_diff(150 * MS) <= 30 * MS));
    let quarter = times.iter().filter(|time| **time < 135 * MS).count();
    assert!((4_800..5_200).contains(&quarter), "{quarter} of 20,000 in the lowest quarter");
}

#[test]
fn a_lost_segment_stalls_everything_behind_it_for_the_timeout() {
    // The round trip is 300 ms, with a mean deviation of 20 ms.
    let text = "delay=150ms,jitter=30ms,loss=2%";
    assert_eq!(conditions(text).retransmission_timeout(), 380 * MS);
    let (times, counts) = times(text, 2, 50_000, 10 * MS);
    let share = counts.losses as f64 / counts.segments as f64;
    assert!((0.018..0.022).contains(&share), "{share}");
    let worst = |times: &[Duration]| *times.iter().max().expect("times");
    // The delay of a segment that is lost twice increases by 380 + 760 ms.
    assert!(worst(&times) >= (380 + 760 + 120) * MS, "{:?}", worst(&times));
    // The segment sent 10 ms after a lost one arrives with it, so its delay is 10 ms shorter.
    let first = times.iter().position(|time| *time > 180 * MS).expect("a loss");
    let stall = times[first];
    assert!((380 + 120) * MS <= stall && stall <= (380 + 180) * MS, "{stall:?}");
    assert_eq!(times[first + 1], stall - 10 * MS);
}

#[test]
fn a_short_line_waits_for_the_least_timeout_which_doubles_with_each_loss() {
    assert_eq!(conditions("lan").retransmission_timeout(), limits::NETEM_MIN_RTO);
    let (times, _) = times("delay=1ms,loss=50%", 3, 4_000, Duration::from_secs(60));
    for losses in 0..6_u32 {
        let exactly = MS + limits::NETEM_MIN_RTO * (2_u32.pow(losses) - 1);
        let count = times.iter().filter(|time| **time == exactly).count() as f64;
        let expected = 4_000.0 / 2_f64.powi(losses as i32 + 1);
        assert!((count - expected).abs() < 4.0 * expected.sqrt(), "{losses} losses: {count} of {expected}");
    }
}

#[test]
fn a_rate_spaces_segments_and_its_queue_is_bounded() {
    let mut stream = DelayedStream::new(&conditions("rate=100kB"), Direction::Down, 4);
    let mut now = Duration::ZERO;
    let (mut sent, mut read) = (0, Vec::new());
    while now < Duration::from_secs(10) {
        let space = stream.writable_bytes(now);
        stream.write(&vec![7; space], now);
        sent += space;
        assert!(sent - read.len() <= limits::LINK_WINDOW_BYTES);
        stream.read(now, &mut read);
        now += 5 * MS;
    }
    let expected = 1_000_000;
    assert!(read.len().abs_diff(expected) < 3_000, "{} bytes in ten seconds", read.len());
    assert!(stream.channel.queued(now) <= limits::NETEM_QUEUE_BYTES);
    assert_eq!(stream.channel.first_departure().map(|leaves| leaves > now), Some(true));
}

#[test]
fn a_reader_that_takes_nothing_stops_the_writer() {
    let mut stream = DelayedStream::new(&conditions("delay=5ms"), Direction::Up, 5);
    let mut written = 0;
    for tick in 0..1_000 {
        let space = stream.writable_bytes(MS * tick);
        stream.write(&vec![0; space], MS * tick);
        written += space;
    }
    assert_eq!(written, limits::LINK_WINDOW_BYTES);
    stream.read(MS * 2_000, &mut Vec::new());
    assert!(stream.writable_bytes(MS * 2_000) > 0);
}

#[test]
fn each_direction_has_its_rate_and_its_random_numbers() {
    let link = DuplexLink::new(&conditions("wifi"), 6);
    let mut arrivals = Vec::new();
    for mut channel in [link.up.channel, link.down.channel] {
        channel.send(Duration::ZERO, 14_600, |_, arrives| arrivals.push(arrives));
    }
    // 14,600 bytes take 117 ms up and 23 ms down.
    assert!(arrivals[9] > 117 * MS && arrivals[19] < 60 * MS, "{arrivals:?}");
    assert_ne!(arrivals[0] - arrivals[10], Duration::ZERO);
}

#[test]
fn changed_conditions_hold_from_then_on_and_overtake_nothing() {
    let mut link = DuplexLink::new(&conditions("delay=500ms"), 7);
    link.up.write(b"slow", Duration::ZERO);
    link.change(&Conditions::default());
    link.up.write(b"fast", MS);
    link.up.end(MS);
    let mut bytes = Vec::new();
    assert_eq!(link.up.read(499 * MS, &mut bytes), Arrival::Nothing);
    assert_eq!((link.up.next(), link.up.is_empty()), (Some(500 * MS), false));
    assert_eq!(link.up.read(500 * MS, &mut bytes), Arrival::Bytes(500 * MS));
    assert_eq!((&bytes[..], link.up.read(500 * MS, &mut Vec::new())), (&b"slowfast"[..], Arrival::End));
}

#[test]
fn percentiles_are_within_three_percent() {
    let mut delays = DelayHistogram::default();
    assert_eq!(delays.quantile(500), None);
    (1..=100_000).for_each(|us| delays.add(Duration::from_micros(us)));
    for (per_mille, us) in [(1, 100), (500, 50_000), (990, 99_000), (1_000, 100_000)] {
        let found = delays.quantile(per_mille).expect("delays").as_micros() as f64;
        assert!((found / us as f64 - 1.0).abs() < 0.032, "{per_mille}: {found} for {us}");
    }
}

#[test]
fn texts_are_read_and_refused_with_the_rule() {
    for (text, printed) in [
        ("lan", "delay=0.5ms,jitter=0.2ms,loss=0%"),
        ("wifi", "delay=14ms,jitter=6ms,loss=0.1%,rate-up=125kB,rate-down=625kB"),
        ("4g,loss=2%", "delay=35ms,jitter=15ms,loss=2%,rate=1.5MB"),
        ("train,rate=none", "delay=60ms,jitter=40ms,loss=3%"),
        ("delay=0.15s,rate-up=2Mbit", "delay=150ms,jitter=0ms,loss=0%,rate-up=250kB,rate-down=none"),
        ("delay=0,loss=0", "delay=0ms,jitter=0ms,loss=0%"),
    ] {
        assert_eq!(conditions(text).to_string(), printed);
    }
    for (text, rule) in [
        ("dsl", "\"dsl\": expected lan, wifi, 4g, transatlantic, train, or conditions such as"),
        ("", "\"\": expected lan,"),
        ("delay=5", "delay=5: expected a time such as 150ms"),
        ("delay=1.0000001s", "delay=1.0000001s: expected a time"),
        ("delay=-5ms", "delay=-5ms: expected a time"),
        ("delay=11s", "delay 11000ms: must be at most 10000ms"),
        ("delay=5ms,jitter=6ms", "jitter 6ms: must be at most the delay, which is 5ms"),
        ("loss=2", "loss=2: expected a share in percent"),
        ("loss=60%", "loss 60%: must be at most 50%"),
        ("rate=5", "rate=5: expected bytes or bits a second"),
        ("rate=1B", "rate 0.001kB: must be from 1kB to 10000MB a second"),
        ("wifi,lan", "\"lan\": expected delay, jitter,"),
        ("wifi,speed=1", "speed: expected delay, jitter,"),
    ] {
        let error = text.parse::<Conditions>().expect_err(text);
        assert!(error.starts_with(rule), "{text}: {error}");
    }
    assert!("x".repeat(limits::LINK_TEXT_CHARS + 1).parse::<Conditions>().is_err());
}

#[test]
fn every_preset_is_valid_and_worse_than_the_one_before() {
    let mut timeout = Duration::ZERO;
    for Preset { name, conditions, .. } in PRESETS {
        assert_eq!(
            (conditions.check(), preset(name).map(|found| found.conditions)),
            (Ok(()), Some(conditions))
        );
        assert!(conditions.retransmission_timeout() >= timeout, "{name}");
        timeout = conditions.retransmission_timeout();
    }
}

fn any_conditions() -> impl Strategy<Value = Conditions> {
    let rate = || prop::option::of(limits::NETEM_MIN_RATE..=limits::NETEM_MAX_RATE);
    (0..10_000_000_u64, 0..=1000_u64, 0..=limits::NETEM_MAX_LOSS_PPM, rate(), rate()).prop_map(
        |(delay_us, jitter_per_mille, loss_ppm, up, down)| Conditions {
            delay: Duration::from_micros(delay_us),
            jitter: Duration::from_micros(delay_us * jitter_per_mille / 1000),
            loss_ppm,
            up,
            down,
        },
    )
}

proptest! {
    #[test]
    fn conditions_are_their_text(conditions in any_conditions()) {
        prop_assert_eq!(conditions.check(), Ok(()));
        prop_assert_eq!(conditions.to_string().parse(), Ok(conditions));
    }

    #[test]
    fn bytes_arrive_once_in_order_never_early_and_again_from_the_seed(
        conditions in any_conditions(),
        seed: u64,
        writes in prop::collection::vec((0..2_000_000_u64, 0..5_000_usize), 1..40),
    ) {
        let run = || {
            let (mut stream, mut now) = (DelayedStream::new(&conditions, Direction::Down, seed), Duration::ZERO);
            let (mut sent, mut received, mut arrivals) = (Vec::new(), Vec::new(), Vec::new());
            for (pause_us, count) in &writes {
                now += Duration::from_micros(*pause_us);
                let bytes: Vec<u8> = (0..*count).map(|at| (sent.len() + at) as u8).collect();
                stream.write(&bytes, now);
                sent.extend(bytes);
            }
            stream.end(now);
            while let Some(next) = stream.next() {
                let before = received.len();
                match stream.read(next, &mut received) {
                    Arrival::Bytes(time) => {
                        assert!(time >= conditions.delay - conditions.jitter, "{time:?}");
                        assert!(received.len() > before);
                    }
                    Arrival::End => break,
                    Arrival::Nothing => panic!("nothing arrives at {next:?}"),
                }
                arrivals.push(next);
            }
            assert!(arrivals.is_sorted() && received == sent);
            arrivals
        };
        prop_assert_eq!(run(), run());
    }
}
