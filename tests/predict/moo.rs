//! A player of moo that turns all the time.

use std::time::Duration;

use tickwire::internal::games::moo::predict::OwnWorld;
use tickwire::internal::link::Conditions;

use crate::line::{Client, FRAME, bad, run_until, server};

/// What a run showed.
#[derive(Debug, Default)]
struct Seen {
    compared: u64,
    corrected: u64,
    p50_px: f64,
    p99_px: f64,
    lead_ms: u128,
}

/// A minute on a line; every 200 ms the player turns, by a quarter or more.
fn turns_on(net: Conditions, seed: u32, seconds: u64) -> Seen {
    let mut server = server("moo", seed, 0, net);
    let mut ann = Client::<OwnWorld>::new(&mut server, "native", "moo");
    let mut shown = 0;
    let (mut now, mut turned, mut way) = (Duration::ZERO, Duration::ZERO, seed.wrapping_mul(7919) as u16);
    while now < Duration::from_secs(seconds) {
        run_until(&mut server, now, now + FRAME);
        now += FRAME;
        let before = ann.prediction.corrections().count;
        let mut log = Vec::new();
        ann.frame(&mut server, now, |packet| {
            if matches!(packet.row.name.as_str(), "update"|"animals"|"health"|"died"|"structures"|"hands"|"strikes") { log.push(packet.to_string().chars().take(300).collect::<String>()); }
        });
        if ann.prediction.corrections().count > before && false && shown < 12 {
            shown += 1;
            println!("{:?} {:.3} {log:?}", now, f64::from(ann.prediction.corrections().last()) / 65536.0);
        }
        if ann.shown.is_some() && now >= turned + Duration::from_millis(200) {
            turned = now;
            way = way.wrapping_mul(5).wrapping_add(16_411);
            ann.command(&mut server, "move", &[way.into()], now);
        }
    }
    let corrections = ann.prediction.corrections();
    let px = |percent| f64::from(corrections.percentile(percent)) / 65_536.0;
    Seen {
        compared: corrections.compared,
        corrected: corrections.count,
        p50_px: px(50),
        p99_px: px(99),
        lead_ms: ann.prediction.clock().lead().as_millis(),
    }
}

#[test]
fn figures() {
    for seed in 3..9 {
        println!("perfect {:?}", turns_on(Conditions::default(), seed, 120));
        println!("bad {:?}", turns_on(bad(), seed, 120));
    }
}
