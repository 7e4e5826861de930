//! A tank that drives, turns and fires all the time.

use std::time::Duration;

use tickwire::game::predict::LocalWorld as _;
use tickwire::game::simple::{Local, LocalState};
use tickwire::internal::games::tanks::Tanks;

use crate::line::{Client, FRAME, bad, run_until, server};

/// The difference of two angles in 1/65,536 turn.
fn off(a: u16, b: u16) -> u16 {
    let off = a.wrapping_sub(b);
    off.min(off.wrapping_neg())
}

/// Where hull and turret point, in 1/65,536 turn.
fn ways(state: &LocalState<Tanks>) -> [u16; 2] {
    let mut numbers = Vec::new();
    Local::<Tanks>::numbers(state, &mut numbers);
    [numbers[0] as u16, numbers[1] as u16]
}

type Player = Client<Local<Tanks>>;

#[test]
fn a_tank_that_is_predicted_is_where_the_server_has_it() {
    let (mut all, mut turned) = (Vec::new(), Vec::new());
    for seed in 3..6 {
        let mut server = server("tanks", seed, 0, bad());
        let mut ann: Player = Client::new(&mut server, "tanks", "tanks");
        let (mut now, mut frame, mut compared) = (Duration::ZERO, 0_u32, 0);
        while now < Duration::from_secs(60) {
            run_until(&mut server, now, now + FRAME);
            now += FRAME;
            frame += 1;
            let mut before = ann.prediction().state().map(ways);
            ann.frame(&mut server, now, |packet, prediction| {
                let after = prediction.state().map(ways);
                if let (Some(before), Some(after), "own") = (before, after, packet.row.name.as_str()) {
                    turned.push(off(before[0], after[0]).max(off(before[1], after[1])));
                }
                before = after;
            });
            if ann.shown.is_some() && frame.is_multiple_of(12) {
                let turn = [-1, 0, 1, 0, 1][(frame / 12 % 5) as usize];
                let drive = [1, 1, 1, -1, 1, 0, 1][(frame / 12 % 7) as usize];
                let aim = (frame * 977) as u16;
                let values = [drive.into(), turn.into(), aim.into(), (frame % 5 == 0).into(), 0.into()];
                ann.command(&mut server, "control", &values, now);
            }
            let corrections = ann.prediction().corrections();
            if corrections.compared != compared {
                compared = corrections.compared;
                all.push(f64::from(corrections.last()) / 65_536.0);
            }
        }
        let lead = ann.prediction().clock().lead();
        println!(
            "seed {seed}: {compared} updates, {} corrected, lead {lead:?}",
            ann.prediction().corrections().count
        );
        assert!(compared > 2_500, "seed {seed}: {compared}");
    }
    all.sort_by(f64::total_cmp);
    let [p50, p99] = [50, 99].map(|percent| all[all.len() * percent / 100]);
    turned.sort_unstable();
    let turned = [50, 99].map(|percent| f64::from(turned[turned.len() * percent / 100]) * 360.0 / 65_536.0);
    println!("corrections of hull and turret: p50 {} degrees, p99 {:.2}", turned[0], turned[1]);
    assert!(turned[0] == 0.0 && turned[1] <= 2.0, "{turned:?} degrees");
    println!("p50 {p50} px, p99 {p99:.2} px");
    assert!(p50 == 0.0 && p99 <= 2.0, "p50 {p50} px, p99 {p99} px");
}
