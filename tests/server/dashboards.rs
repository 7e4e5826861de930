//! The dashboard and the alerts of scripts/deploy name metrics that the server has. `tests/prometheus/run.py` runs their queries.

use std::collections::BTreeSet;

use saphyr::{LoadableYamlNode as _, Yaml};
use serde_json::Value as Json;
use tickwire::internal::server::net::metrics::Metrics;

use crate::manifests::json;

const DASHBOARD: &str = include_str!("../../scripts/deploy/grafana/tickwire.json");
const ALERTS: &str = include_str!("../../scripts/deploy/prometheus/alerts.yml");
const EXAMPLES: &str = include_str!("../../scripts/deploy/prometheus/alerts.test.yml");

/// Names of the samples of all metrics.
fn samples() -> BTreeSet<String> {
    let metrics = Metrics::default();
    // A counter with a label is shown once it has counted.
    for (family, label) in [
        (&metrics.refused, "rule"),
        (&metrics.refused_connections, "limit"),
        (&metrics.closed, "rule"),
        (&metrics.dropped_packets, "rule"),
        (&metrics.rejected_commands, "reason"),
        (&metrics.agones_failures, "request"),
    ] {
        Metrics::count(family, label, "example");
    }
    // So is a metric of a room.
    metrics.for_room(&"".into());
    let text = metrics.text();
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let names = types.flat_map(|(name, kind)| {
        let endings: &[&str] = match kind {
            "counter" => &["_total"],
            "histogram" => &["_bucket", "_sum", "_count"],
            _ => &[""],
        };
        endings.iter().map(move |ending| format!("{name}{ending}"))
    });
    names.collect()
}

/// Names of metrics of the server in a query.
fn metrics_in(query: &str) -> BTreeSet<String> {
    let words = query.split(|ch: char| !ch.is_ascii_alphanumeric() && ch != '_');
    words.filter(|word| word.starts_with("tickwire_")).map(str::to_owned).collect()
}

fn documents(text: &str) -> Json {
    json(&Yaml::load_from_str(text).expect("YAML")[0])
}

fn each<'a>(list: &'a Json, key: &str) -> impl Iterator<Item = &'a Json> {
    list[key].as_array().into_iter().flatten()
}

/// The expressions of all panels, with the title of the panel.
fn panel_queries(dashboard: &Json) -> Vec<(&str, &str)> {
    let targets = each(dashboard, "panels").flat_map(|panel| {
        let title = panel["title"].as_str().expect("a title");
        each(panel, "targets").map(move |target| (title, target["expr"].as_str().expect("a query")))
    });
    targets.collect()
}

#[test]
fn each_metric_of_the_dashboard_and_the_alerts_exists() {
    let (samples, dashboard, alerts) = (samples(), dashboard(), documents(ALERTS));
    let rules = each(&alerts["groups"][0], "rules");
    let rules =
        rules.map(|rule| (rule["alert"].as_str().expect("a name"), rule["expr"].as_str().expect("a query")));
    let queries: Vec<_> = panel_queries(&dashboard).into_iter().chain(rules).collect();
    assert!(queries.len() > 50, "{}", queries.len());
    for (title, query) in queries {
        let unknown: Vec<_> = metrics_in(query).difference(&samples).cloned().collect();
        assert!(unknown.is_empty(), "{title}: the server has no {unknown:?}");
    }
}

fn dashboard() -> Json {
    serde_json::from_str(DASHBOARD).expect("JSON")
}

#[test]
fn the_dashboard_shows_what_an_operator_looks_for() {
    let dashboard = dashboard();
    let shown: BTreeSet<String> =
        panel_queries(&dashboard).into_iter().flat_map(|(_, query)| metrics_in(query)).collect();
    for metric in [
        "players",
        "clients",
        "rooms",
        "tick_duration_seconds_bucket",
        "publish_duration_seconds_bucket",
        "update_duration_seconds_bucket",
        "send_duration_seconds_bucket",
        "packets_sent_bytes_total",
        "requests_refused_total",
        "connections_refused_total",
        "journal_sync_duration_seconds_bucket",
        "resident_memory_bytes",
        "draining",
    ] {
        assert!(shown.contains(&format!("tickwire_{metric}")), "{metric}");
    }
    let (mut ids, mut places) = (BTreeSet::new(), BTreeSet::new());
    for panel in each(&dashboard, "panels") {
        let place = &panel["gridPos"];
        assert!(ids.insert(panel["id"].as_u64()), "{panel}: a second panel with this id");
        assert!(places.insert((place["y"].as_u64(), place["x"].as_u64())), "{panel}: a second panel here");
        assert!(panel["type"] == "row" || panel["description"].as_str().is_some_and(|text| !text.is_empty()));
    }
}

#[test]
fn each_alert_has_a_summary_a_severity_and_an_example() {
    let (alerts, examples) = (documents(ALERTS), documents(EXAMPLES));
    let samples = &examples["tests"][1]["promql_expr_test"][0]["exp_samples"];
    let raised: BTreeSet<&str> = samples
        .as_array()
        .expect("samples")
        .iter()
        .map(|sample| {
            let labels = sample["labels"].as_str().expect("labels");
            labels.split('"').nth(1).expect("a name")
        })
        .collect();
    let mut names = BTreeSet::new();
    for rule in each(&alerts["groups"][0], "rules") {
        let name = rule["alert"].as_str().expect("a name");
        names.insert(name);
        assert!(["warning", "critical"].contains(&rule["labels"]["severity"].as_str().expect("a severity")));
        for text in ["summary", "description"] {
            assert!(rule["annotations"][text].as_str().is_some_and(|text| !text.is_empty()), "{name}");
        }
    }
    assert_eq!(names, raised);
}
