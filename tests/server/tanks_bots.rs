//! Bots that play tanks and check everything that they are told.
//!
//! `TICKWIRE_TANK_BOTS=100,120` plays with 100 bots for 120 seconds, and prints the gaps between updates.

use std::env;
use std::time::Duration;

use tickwire::internal::games;
use tickwire::internal::testing::load::crowd::{self, BotBehavior, CrowdPlan};

use crate::tanks::{ABOUT, server};

/// Bots and seconds if nothing else is said.
const BOTS: (usize, u64) = (12, 5);

#[test]
fn bots_play_and_everything_that_they_are_told_agrees_with_the_rules() {
    let given = env::var("TICKWIRE_TANK_BOTS").ok();
    let given = given.as_deref().and_then(|text| text.split_once(','));
    let given = given.map(|(bots, seconds)| (bots.parse().expect("bots"), seconds.parse().expect("seconds")));
    let (count, seconds) = given.unwrap_or(BOTS);
    let server = server();
    let plan = CrowdPlan {
        lane: false,
        late_acks: false,
        url: format!("ws://{}/r/arena/", server.address()).parse().expect("a URL"),
        game: ABOUT,
        dialects: vec![games::built_in_tables().dialect("tanks").expect("the game's")],
        count,
        time: Duration::from_secs(seconds),
        source: None,
        behavior: BotBehavior::Play,
        seed: 1,
        lockstep: false,
        reconnects: None,
    };
    let reports = crowd::run(&plan).expect("a crowd");
    assert_eq!(server.stop(), 0);
    let [report] = &reports[..] else { panic!("one report for the dialect") };
    println!("{report}");
    assert!(report.passed() && report.bots == count, "{report}");
    assert!(report.tally.updates > count as u64 * seconds * 20, "{report}");
    assert!(
        report.tally.stats.0.iter().any(|(name, _, seen)| *name == "shots_seen" && *seen > 0),
        "{report}"
    );
}
