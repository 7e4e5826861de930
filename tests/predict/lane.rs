//! Prediction with a lane for datagrams, beside the stream alone, on the same lines.

use std::time::Duration;

use tickwire::internal::util::netem::Conditions;

use crate::corrections::measure_walk;
use crate::line::bad;

#[test]
fn a_lane_needs_a_shorter_lead_and_corrects_nothing() {
    for seed in 3..5 {
        let alone = measure_walk("the bad line, stream", bad(), seed, 60, false);
        let lane = measure_walk("the bad line, lane", bad(), seed, 60, true);
        println!("{:?} {:?} {:?}", alone.lead, lane.lead, lane.lane);
    }
    for seed in 3..5 {
        let worse = Conditions { loss_ppm: 50_000, ..bad() };
        let alone = measure_walk("5 %, stream", worse, seed, 60, false);
        let lane = measure_walk("5 %, lane", worse, seed, 60, true);
        println!("{:?} {:?} {:?}", alone.lead, lane.lead, lane.lane);
    }
    let _ = Duration::ZERO;
}
