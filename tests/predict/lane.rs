//! Prediction with a lane for datagrams, beside the stream alone, on the same lines.

use std::time::Duration;

use tickwire::internal::util::netem::Conditions;

use crate::corrections::measure_walk;
use crate::line::bad;

/// A tick of moo.
const TICK: Duration = Duration::from_nanos(1_000_000_000 / 30);

#[test]
fn a_lane_halves_the_lead_and_leaves_nothing_to_correct() {
    for (percent, seed) in [(2, 3), (2, 4), (5, 3), (5, 4)] {
        let line = Conditions { loss_ppm: percent * 10_000, ..bad() };
        let [stream, lane] = [false, true].map(|has_lane| {
            let name = format!("{percent} % loss, {}", if has_lane { "lane" } else { "stream" });
            measure_walk(&name, line, seed, 60, has_lane)
        });
        assert_eq!(lane.px, [0.0; 2], "{percent} %, seed {seed}");
        let most = line.delay * 2 + line.jitter * 3 / 2 + TICK * 2;
        assert!(lane.lead <= most, "{percent} %, seed {seed}: a lead of {:?}", lane.lead);
        assert!(stream.lead >= lane.lead * 3 / 2, "{:?} and {:?}", stream.lead, lane.lead);
        let lost = lane.stats.sent - lane.stats.acknowledged;
        assert!(lost * 200 > lane.stats.sent, "the line lost datagrams: {:?}", lane.stats);
        assert!(lane.stats.reordered > 20, "the line reordered datagrams: {:?}", lane.stats);
    }
}
