//! A tank that drives, turns and fires all the time.

use std::collections::BTreeMap;
use std::time::Duration;

use tickwire::game::predict::LocalWorld as _;
use tickwire::game::simple::Local;
use tickwire::internal::games::tanks::Tanks;

use crate::line::{Client, FRAME, bad, run_until, server};

/// The difference of two angles in 1/65,536 turn.
fn off(own: i32, told: u16) -> u16 {
    let off = (own as u16).wrapping_sub(told);
    off.min(off.wrapping_neg())
}

type Player = Client<Local<Tanks>>;

#[test]
fn a_tank_that_is_predicted_is_where_the_server_has_it() {
    let (mut all, mut turned) = (Vec::new(), Vec::new());
    for seed in 3..6 {
        let mut server = server("tanks", seed, 0, bad());
        let mut ann: Player = Client::new(&mut server, "tanks", "tanks");
        let mut foreseen = BTreeMap::new();
        let (mut now, mut frame, mut compared) = (Duration::ZERO, 0_u32, 0);
        while now < Duration::from_secs(60) {
            run_until(&mut server, now, now + FRAME);
            now += FRAME;
            frame += 1;
            ann.frame(&mut server, now, |packet| {
                let told = packet.number::<u32>("tick").zip(packet.angle("hull")).zip(packet.angle("turret"));
                let Some(((tick, hull), turret)) = told else { return };
                if let Some([own_hull, own_turret]) = foreseen.remove(&tick) {
                    turned.push(off(own_hull, hull).max(off(own_turret, turret)));
                }
            });
            if let (Some(shown), Some(state)) = (ann.shown, ann.prediction.state()) {
                let mut numbers = Vec::new();
                Local::<Tanks>::numbers(state, &mut numbers);
                foreseen.insert(shown.tick.0 + 1, [numbers[0], numbers[1]]);
            }
            if ann.shown.is_some() && frame.is_multiple_of(12) {
                let turn = [-1, 0, 1, 0, 1][(frame / 12 % 5) as usize];
                let drive = [1, 1, 1, -1, 1, 0, 1][(frame / 12 % 7) as usize];
                let aim = (frame * 977) as u16;
                let values = [drive.into(), turn.into(), aim.into(), (frame % 5 == 0).into(), 0.into()];
                ann.command(&mut server, "control", &values, now);
            }
            let corrections = ann.prediction.corrections();
            if corrections.compared != compared {
                compared = corrections.compared;
                all.push(f64::from(corrections.last()) / 65_536.0);
            }
        }
        let lead = ann.prediction.clock().lead();
        println!(
            "seed {seed}: {compared} updates, {} corrected, lead {lead:?}",
            ann.prediction.corrections().count
        );
        assert!(compared > 2_500, "seed {seed}: {compared}");
    }
    all.sort_by(f64::total_cmp);
    let [p50, p99] = [50, 99].map(|percent| all[all.len() * percent / 100]);
    turned.sort_unstable();
    let turned = [50, 99].map(|percent| f64::from(turned[turned.len() * percent / 100]) * 360.0 / 65_536.0);
    println!(
        "hull and turret as foreseen, up to a lead before: p50 {} degrees off, p99 {:.2}",
        turned[0], turned[1]
    );
    assert!(turned[0] == 0.0 && turned[1] <= 2.0, "{turned:?} degrees");
    println!("p50 {p50} px, p99 {p99:.2} px");
    assert!(p50 == 0.0 && p99 <= 2.0, "p50 {p50} px, p99 {p99} px");
}
