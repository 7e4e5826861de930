//! The figures of an operator: histograms, bytes by packet and by field at `/metrics`, memory by part, percentiles of bots.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use tickwire::internal::games;
use tickwire::internal::server::net::ServerHandle;
use tickwire::internal::server::net::console::Source;
use tickwire::internal::server::room::lockstep::{LockstepAccess, LockstepConfig};
use tickwire::internal::testing::load::crowd::{self, BotBehavior, CrowdPlan};
use tickwire::internal::testing::load::report::CrowdReport;

use crate::support::{PATIENCE, server_with};

/// The histograms: tick, publish, update, send.
const HISTOGRAMS: [&str; 4] = [
    "tickwire_tick_duration_seconds",
    "tickwire_publish_duration_seconds",
    "tickwire_update_duration_seconds",
    "tickwire_send_duration_seconds",
];

/// Plays with bots of these dialects.
fn play(server: &ServerHandle, dialects: &[&str], count: usize, seconds: u64) -> Vec<CrowdReport> {
    let reports = crowd::run(&plan(server, dialects, count, seconds)).expect("a crowd");
    assert!(reports.iter().all(CrowdReport::passed), "{reports:?}");
    reports
}

fn plan(server: &ServerHandle, dialects: &[&str], count: usize, seconds: u64) -> CrowdPlan {
    let codes = games::built_in_tables();
    CrowdPlan {
        lane: false,
        late_acks: false,
        url: format!("ws://{}", server.address()).parse().expect("a URL"),
        game: games::INFO[0],
        dialects: dialects.iter().map(|name| codes.dialect(name).expect("built in")).collect(),
        count,
        time: Duration::from_secs(seconds),
        source: None,
        behavior: BotBehavior::Play,
        seed: 5,
        lockstep: false,
        reconnects: None,
    }
}

/// The metrics, by name with labels.
fn metrics(server: &ServerHandle) -> BTreeMap<String, f64> {
    let text = server.metrics_text();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.map(|line| line.rsplit_once(' ').expect("a name and a value"));
    pairs.map(|(name, value)| (name.to_owned(), value.parse().expect("a number"))).collect()
}

/// The sum of a metric over the label `packet`.
fn sum(metrics: &BTreeMap<String, f64>, name: &str) -> f64 {
    let start = format!("{name}{{packet=");
    metrics.iter().filter(|(name, _)| name.starts_with(&start)).map(|(_, value)| value).sum()
}

#[test]
fn histograms_count_each_tick_update_and_send_and_packets_add_up_to_all_bytes() {
    let server = server_with(|config| config.address_rate_limits = false);
    play(&server, &["native", "legacy", "letters"], 6, 3);
    let began = Instant::now();
    // The numbers are of different moments while the room still ticks.
    let is_consistent = |metrics: &BTreeMap<String, f64>| {
        let ticks = metrics["tickwire_ticks_total"];
        let [tick, publish, update, send] = HISTOGRAMS.map(|name| metrics[&format!("{name}_count")]);
        metrics["tickwire_clients"] == 0.0
            && ticks > 30.0
            && (tick, publish) == (ticks, ticks)
            && update == metrics["tickwire_client_updates_total"]
            && update > 30.0
            && send >= metrics["tickwire_update_sends_total"]
            && send > 30.0
            && sum(metrics, "tickwire_packets_sent_bytes_total") == metrics["tickwire_sent_bytes_total"]
    };
    while !is_consistent(&metrics(&server)) {
        assert!(began.elapsed() < PATIENCE, "{}", server.metrics_text());
        thread::sleep(Duration::from_millis(50));
    }
    let metrics = metrics(&server);
    for name in HISTOGRAMS {
        let value = |suffix: &str| metrics[&format!("{name}_{suffix}")];
        assert_eq!(value("bucket{le=\"+Inf\"}"), value("count"), "{name}");
        assert!(value("sum") > 0.0, "{name}");
    }
    for packet in ["welcome", "update", "pong", "control_frame"] {
        let frames = metrics[&format!("tickwire_packets_sent_total{{packet=\"{packet}\"}}")];
        let bytes = metrics[&format!("tickwire_packets_sent_bytes_total{{packet=\"{packet}\"}}")];
        assert!(frames > 0.0 && bytes >= 2.0 * frames, "{packet}: {frames} frames, {bytes} bytes");
    }
    assert!(
        !metrics.contains_key("tickwire_packets_sent_total{packet=\"other\"}"),
        "every packet has a name"
    );
    server.stop();
}

#[test]
fn compressed_messages_have_no_packet_name() {
    let server = server_with(|config| (config.compression, config.address_rate_limits) = (true, false));
    play(&server, &["native"], 4, 2);
    let metrics = metrics(&server);
    assert!(metrics["tickwire_packets_sent_total{packet=\"compressed\"}"] > 10.0, "{metrics:?}");
    server.stop();
}

#[test]
fn bots_measure_round_trips_in_every_dialect() {
    let server = server_with(|config| config.address_rate_limits = false);
    for report in play(&server, &["native", "legacy"], 4, 3) {
        let json: serde_json::Value = serde_json::from_str(&report.json()).expect("JSON");
        assert!(json["round_trips"].as_u64() >= Some(2), "{json}");
        for name in ["gap", "round_trip"] {
            let steps = ["p50", "p90", "p99", "max"].map(|step| json[format!("{name}_{step}_ms")].as_f64());
            assert!(steps[0].is_some() && steps.is_sorted(), "{name}: {steps:?}");
        }
        let text = report.to_string();
        assert!(text.contains("\n  update gap    p50 ") && text.contains("\n  round trip    p50 "), "{text}");
    }
    server.stop();
}

#[test]
fn sampled_fields_are_in_the_metrics_and_in_traffic() {
    let server = server_with(|config| config.address_rate_limits = false);
    play(&server, &["native"], 24, 2);
    let metrics = metrics(&server);
    for field in ["header", "code", "tick", "moved.dx"] {
        let name = format!("tickwire_sampled_bytes_total{{packet=\"update\",field=\"{field}\"}}");
        assert!(metrics[&name] > 0.0, "{field}: {metrics:?}");
    }
    let reply = server.console().run("traffic", Source::Program).expect("a command");
    assert!(reply.is_ok, "{}", reply.text);
    let rows: Vec<Vec<&str>> =
        reply.text.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    let bytes: Vec<u64> = rows.iter().map(|row| row[2].parse().expect("bytes")).collect();
    assert!(bytes.iter().is_sorted_by(|one, next| one >= next), "{}", reply.text);
    let update = rows.iter().find(|row| row[0] == "update").expect("updates");
    let shares = update.windows(2).filter(|words| words[1].starts_with('%')).map(|words| words[0].parse());
    let shares: Vec<u64> = shares.collect::<Result<_, _>>().expect("percent");
    // The first is the share of all bytes; fields under 1 % are left out.
    assert!(shares[0] > 10 && (90..=105).contains(&shares[1..].iter().sum::<u64>()), "{}", reply.text);
    server.stop();
}

/// The rows of `memory`, by part: bytes, and what they include.
fn memory(server: &ServerHandle) -> BTreeMap<String, (Option<u64>, String)> {
    let reply = server.console().run("memory", Source::Program).expect("a command");
    assert!(reply.is_ok, "{}", reply.text);
    let rows = reply.text.lines().skip(1).map(|line| {
        let columns: Vec<&str> = line.split("  ").map(str::trim).filter(|word| !word.is_empty()).collect();
        let [part, bytes, includes] = columns[..] else { panic!("three columns: {line}") };
        (part.to_owned(), (bytes.parse().ok(), includes.to_owned()))
    });
    rows.collect()
}

#[test]
fn memory_is_counted_by_part_while_clients_play_in_lockstep() {
    let server = server_with(|config| {
        config.address_rate_limits = false;
        config.lockstep = LockstepConfig { access: LockstepAccess::Open, ..LockstepConfig::default() };
    });
    let empty = memory(&server);
    assert!(empty["world"].0 > Some(1_000), "{empty:?}");
    for part in ["missed events", "lockstep journal", "worker queues", "client queues", "observers"] {
        assert_eq!(empty[part].0, Some(0), "{part}: {empty:?}");
    }
    assert_eq!(empty["client queues"].1, "unsent bytes of 0 clients; at most 0 of one client");
    assert_eq!(empty["published state"].0, None);
    let knows_own_size = cfg!(all(target_os = "linux", not(tickwire_plain)));
    assert_eq!(empty["process"].0.is_some_and(|bytes| bytes > 1_000_000), knows_own_size);

    let plan = CrowdPlan { lockstep: true, ..plan(&server, &["native"], 3, 2) };
    let is_seen = thread::scope(|scope| {
        let crowd = scope.spawn(|| crowd::run(&plan).expect("a crowd"));
        let mut is_seen = false;
        while !crowd.is_finished() {
            let parts = memory(&server);
            // The journal has at least the snapshot that each client was sent, raw and encoded.
            let (world, journal) = (parts["world"].0, parts["lockstep journal"].0);
            is_seen |= parts["client queues"].1.contains("of 3 clients;") && journal > world;
        }
        is_seen
    });
    assert!(is_seen, "{:?}", memory(&server));
    let reply = server.console().run("memory all", Source::Program).expect("a command");
    assert_eq!(reply.text, "error: usage: memory; it takes no arguments\n");
    server.stop();
}
