//! A dozen bots in three dialects gather, build, fight, die and come back on a server in this process, and what they are told
//! of it makes sense.

use std::time::{Duration, Instant};

use tickwire::game::Game as _;
use tickwire::game::bots::BotStats;
use tickwire::internal::games::moo::Moo;
use tickwire::internal::server::net::{ServerConfig, ServerHandle};
use tickwire::internal::testing::load::crowd::{self, BotBehavior, CrowdPlan};
use tickwire::internal::testing::load::report::CrowdReport;
use tickwire::packet::PacketTables;

/// Long enough for anything that happens at all, on any machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// Measured time of one crowd; the next one comes if not everything has happened in it.
const ROUND: Duration = Duration::from_secs(12);

/// What has happened, added up over the rounds: to those of each dialect, and to anyone.
fn has_all(reports: &[CrowdReport]) -> bool {
    let count = |stats: &BotStats, wanted: &str| {
        stats.0.iter().find(|(name, ..)| *name == wanted).is_some_and(|(.., count)| *count > 0)
    };
    let has = |stats: &BotStats, names: [&str; 3]| names.iter().all(|name| count(stats, name));
    let mut sum = BotStats::default();
    reports.iter().for_each(|report| sum.add(&report.tally.stats));
    reports.iter().all(|report| has(&report.tally.stats, ["hits", "gathered", "builds"]))
        && has(&sum, ["kills", "deaths", "respawns"])
}

#[test]
fn a_dozen_in_three_dialects_gather_build_fight_die_and_come_back() {
    let server = ServerHandle::start(ServerConfig::new("127.0.0.1:0".parse().unwrap())).unwrap();
    let codes = PacketTables::builtin();
    let mut plan = CrowdPlan {
        lane: false,
        late_acks: false,
        game: Moo::INFO,
        url: format!("ws://{}", server.address()).parse().unwrap(),
        dialects: ["native", "legacy", "letters"].map(|name| codes.dialect(name).unwrap()).into(),
        count: 12,
        time: ROUND,
        source: Some("127.0.x.y".parse().unwrap()),
        behavior: BotBehavior::Play,
        seed: 1,
        lockstep: false,
        reconnects: None,
    };
    let (started, mut all) = (Instant::now(), Vec::<CrowdReport>::new());
    while !has_all(&all) || all.is_empty() {
        let told: String = all.iter().map(CrowdReport::to_string).collect();
        assert!(started.elapsed() < PATIENCE, "not all has happened:\n{told}");
        let reports = crowd::run(&plan).unwrap();
        for report in &reports {
            assert!(report.passed() && report.bots == 4, "{report}");
        }
        if all.is_empty() {
            all = reports;
        } else {
            all.iter_mut().zip(&reports).for_each(|(sum, report)| sum.merge(report));
        }
        plan.seed += 100;
    }
    assert_eq!(server.stop(), 0);
}
