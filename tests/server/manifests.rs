//! The program accepts the flags, variables, probes and times in the files of scripts/deploy.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::Args as _;
use saphyr::{LoadableYamlNode as _, Yaml};
use serde_json::Value as Json;
use tickwire::internal::cli::ServeArgs;
use tickwire::internal::limits;

use crate::rooms::page;
use crate::support::server_with;

const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/deploy");
const UNIT: &str = include_str!("../../scripts/deploy/tickwire.service");

const COMPOSE: &str = include_str!("../../scripts/deploy/compose/compose.yml");
const COMPOSE_PROXY: &str = include_str!("../../scripts/deploy/compose/haproxy.cfg");

/// The time that a server takes at most to stop after its drain.
const STOP_TIME: Duration = limits::SHUTDOWN_CLOSE_TIMEOUT
    .saturating_add(limits::SHUTDOWN_JOIN_TIMEOUT)
    .saturating_add(limits::SERVER_EVENTS_STOP_TIMEOUT)
    .saturating_add(limits::ROOM_QUERY_TIMEOUT);

/// The documents of all YAML files, each with its file.
fn documents() -> Vec<(PathBuf, Json)> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from(DIRECTORY)];
    while let Some(directory) = folders.pop() {
        for entry in std::fs::read_dir(&directory).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "yaml") {
                let text = std::fs::read_to_string(&path).expect("text");
                let loaded = Yaml::load_from_str(&text);
                let loaded = loaded.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                found.extend(loaded.iter().map(|document| (path.clone(), json(document))));
            }
        }
    }
    found
}

/// The same value as JSON.
pub fn json(yaml: &Yaml<'_>) -> Json {
    if let Some(list) = yaml.as_vec() {
        return list.iter().map(json).collect();
    }
    if let Some(mapping) = yaml.as_mapping() {
        let entry =
            |(key, value): (&Yaml<'_>, &Yaml<'_>)| (key.as_str().expect("text").to_owned(), json(value));
        return Json::Object(mapping.iter().map(entry).collect());
    }
    let number = yaml.as_integer().map(Json::from).or(yaml.as_bool().map(Json::from));
    number.or(yaml.as_str().map(Json::from)).unwrap_or_else(|| panic!("{yaml:?}"))
}

/// The value at this path of keys; null if there is none.
fn at<'a>(from: &'a Json, keys: &str) -> &'a Json {
    from.pointer(&format!("/{keys}")).unwrap_or(&Json::Null)
}

fn text<'a>(from: &'a Json, keys: &str) -> &'a str {
    at(from, keys).as_str().unwrap_or_else(|| panic!("{keys} in {from:#}"))
}

fn number(from: &Json, keys: &str) -> u64 {
    at(from, keys).as_u64().unwrap_or_else(|| panic!("{keys} in {from:#}"))
}

fn list<'a>(from: &'a Json, keys: &str) -> Vec<&'a Json> {
    at(from, keys).as_array().into_iter().flatten().collect()
}

/// The specification of the pods of a document, if it has pods.
fn pod_spec(document: &Json) -> Option<&Json> {
    match text(document, "kind") {
        "StatefulSet" | "Deployment" => Some(at(document, "spec/template/spec")),
        "Fleet" => Some(at(document, "spec/template/spec/template/spec")),
        _ => None,
    }
}

/// Pods with their container, by file.
fn containers() -> Vec<(PathBuf, Json, Json)> {
    let found = documents().into_iter().filter_map(|(path, document)| {
        let pod = pod_spec(&document)?;
        Some((path, pod.clone(), at(pod, "containers/0").clone()))
    });
    found.collect()
}

/// The settings of a command line after `tickwire serve`.
fn settings(arguments: &[&str]) -> clap::ArgMatches {
    let command = ServeArgs::augment_args(clap::Command::new("serve"));
    command.try_get_matches_from(arguments).unwrap_or_else(|error| panic!("{arguments:?}: {error}"))
}

fn arguments(container: &Json) -> Vec<&str> {
    let all = list(container, "args");
    all.into_iter().map(|argument| argument.as_str().expect("text")).collect()
}

fn drain_time(arguments: &[&str]) -> Duration {
    Duration::from_secs(*settings(arguments).get_one("drain_seconds").expect("it has a default"))
}

#[test]
fn each_manifest_names_its_kind_and_refers_to_what_exists() {
    let documents = documents();
    let kinds: Vec<&str> = documents.iter().map(|(_, document)| text(document, "kind")).collect();
    for kind in ["Service", "StatefulSet", "PodDisruptionBudget", "Fleet", "FleetAutoscaler"] {
        assert!(kinds.contains(&kind), "{kind} in {kinds:?}");
    }
    for (path, document) in &documents {
        let what = format!("{} in {}", text(document, "kind"), path.display());
        assert!(text(document, "apiVersion").contains('v') && text(document, "metadata/name") == "tickwire");
        let labels =
            ["spec/selector/matchLabels", "spec/template/metadata/labels"].map(|keys| at(document, keys));
        if text(document, "kind") == "StatefulSet" {
            assert_eq!(labels[0], labels[1], "{what}");
        }
    }
    for (path, pod, container) in containers() {
        let mounted: BTreeSet<&str> =
            list(&container, "volumeMounts").into_iter().map(|mount| text(mount, "name")).collect();
        let mut volumes: BTreeSet<&str> =
            list(&pod, "volumes").into_iter().map(|volume| text(volume, "name")).collect();
        let claims = documents.iter().filter(|(file, _)| *file == path);
        let claims = claims.flat_map(|(_, document)| list(document, "spec/volumeClaimTemplates"));
        volumes.extend(claims.map(|claim| text(claim, "metadata/name")));
        assert_eq!(mounted, volumes, "{}", path.display());
    }
}

#[test]
fn each_flag_and_variable_of_the_manifests_is_one_of_serve() {
    let command = ServeArgs::augment_args(clap::Command::new("serve"));
    let variables: BTreeSet<_> =
        command.get_arguments().filter_map(|flag| Some(flag.get_env()?.to_str()?.to_owned())).collect();
    for (path, _, container) in containers() {
        let arguments = arguments(&container);
        assert_eq!(arguments.first(), Some(&"serve"), "{}", path.display());
        settings(&arguments);
        let mut bind = None;
        for variable in list(&container, "env") {
            let name = text(variable, "name");
            assert!(variables.contains(name), "{}: {name}", path.display());
            bind = bind.or((name == "TICKWIRE_BIND").then(|| text(variable, "value")));
        }
        // The port that is published is the one on which the server listens.
        let port = format!(":{}", number(&container, "ports/0/containerPort"));
        assert!(bind.is_some_and(|bind| bind.ends_with(&port)), "{}: {bind:?} {port}", path.display());
    }
}

#[test]
fn each_probe_asks_for_a_path_that_answers() {
    let server = server_with(|_| {});
    let mut paths = BTreeSet::new();
    for (path, _, container) in containers() {
        for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
            if let Some(asked) = at(&container, &format!("{probe}/httpGet/path")).as_str() {
                assert_eq!(page(&server, asked, "").0, 200, "{probe} of {}", path.display());
                assert_eq!(text(&container, &format!("{probe}/httpGet/port")), "http");
                paths.insert((probe, asked.to_owned()));
            }
        }
    }
    let expected =
        [("livenessProbe", "/healthz"), ("readinessProbe", "/readyz"), ("startupProbe", "/healthz")];
    assert_eq!(paths, expected.map(|(probe, path)| (probe, path.to_owned())).into());
    server.stop();
}

#[test]
fn the_time_to_stop_is_longer_than_the_drain() {
    let mut longest = Vec::new();
    for (path, pod, container) in containers() {
        let before = match list(&container, "lifecycle/preStop/exec/command")[..] {
            [] => 0,
            [sleep, seconds] if sleep.as_str() == Some("sleep") => {
                seconds.as_str().and_then(|seconds| seconds.parse().ok()).expect("seconds")
            }
            _ => panic!("an unknown preStop in {}", path.display()),
        };
        let drain = drain_time(&arguments(&container));
        assert!(drain > Duration::ZERO, "{}", path.display());
        let needed = Duration::from_secs(before) + drain + STOP_TIME;
        longest.push((path, Duration::from_secs(number(&pod, "terminationGracePeriodSeconds")), needed));
    }
    let seconds = unit_value("TimeoutStopSec").parse().expect("seconds");
    let needed = drain_time(&unit_arguments()) + STOP_TIME;
    longest.push((Path::new("tickwire.service").to_owned(), Duration::from_secs(seconds), needed));
    assert_eq!(longest.len(), 3);
    for (path, given, needed) in longest {
        assert!(given >= needed, "{} gives {given:?} and needs {needed:?}", path.display());
    }
}

#[test]
fn the_fleet_fits_what_the_server_reports() {
    let documents = documents();
    let of_kind = |kind| documents.iter().find(|(_, document)| text(document, "kind") == kind);
    let (fleet, scaler) =
        (&of_kind("Fleet").expect("a fleet").1, &of_kind("FleetAutoscaler").expect("one").1);
    let server = at(fleet, "spec/template/spec");
    let arguments = arguments(at(server, "template/spec/containers/0"));
    let settings = settings(&arguments);
    assert!(settings.contains_id("agones"), "{arguments:?}");
    let counters = at(server, "counters").as_object().expect("counters");
    let names: BTreeSet<&str> = counters.keys().map(String::as_str).collect();
    assert_eq!(names, ["players", "rooms"].into(), "the counters that the server sets");
    let capacity = number(server, "counters/players/capacity");
    assert_eq!(settings.get_one("max_clients"), Some(&(capacity as usize)));
    let period = Duration::from_secs(number(server, "health/periodSeconds"));
    assert!(period >= limits::AGONES_HEALTH_INTERVAL * 2, "{period:?}");
    assert_eq!(text(scaler, "spec/fleetName"), text(fleet, "metadata/name"));
    assert!(names.contains(text(scaler, "spec/policy/counter/key")));
    assert_eq!(number(scaler, "spec/policy/counter/minCapacity") % capacity, 0, "whole servers");
    assert!(names.contains(text(fleet, "spec/priorities/0/key")));
}

/// The value of a setting of the unit.
fn unit_value(name: &str) -> &'static str {
    let value = UNIT.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    value.unwrap_or_else(|| panic!("{name} in the unit"))
}

#[test]
fn the_compose_file_starts_a_cluster_behind_the_proxy_that_it_trusts() {
    let loaded = Yaml::load_from_str(COMPOSE).unwrap_or_else(|error| panic!("{error}"));
    let file = json(loaded.first().expect("a document"));
    let service = at(&file, "services/tickwire");
    let [shell, option, script, name] = list(service, "entrypoint")[..] else { panic!("{service:#}") };
    assert_eq!([shell, option, name], ["sh", "-c", "tickwire"]);
    let (program, rest) = ("exec tickwire serve ", " \"$$@\"");
    let own = script.as_str().and_then(|script| script.strip_prefix(program)?.strip_suffix(rest));
    // Compose reads `$$` as `$`, and the shell replaces the rest by the name of the container.
    let own = own.expect("a command").replace("$$(hostname)", "one");
    let mut all = vec!["serve", "--bind=0.0.0.0:3000"];
    all.extend(own.split(' '));
    all.extend(list(service, "command").into_iter().map(|argument| argument.as_str().expect("text")));
    let settings = settings(&all);
    let store: &String = settings.get_one("cluster").expect("given");
    assert!(store.starts_with("redis://redis:") && at(&file, "services/redis").is_object(), "{store}");
    let trusted = text(&file, "services/haproxy/networks/inside/ipv4_address");
    assert!(all.contains(&&*format!("--trusted-proxy={trusted}")), "{all:?}");
    let seconds = text(service, "stop_grace_period").strip_suffix('s').and_then(|time| time.parse().ok());
    assert!(seconds.map(Duration::from_secs) > Some(STOP_TIME));
    assert!(COMPOSE_PROXY.contains("server-template tickwire 9 tickwire:3000 "));
}

/// The command line of the unit after the program.
fn unit_arguments() -> Vec<&'static str> {
    unit_value("ExecStart").split(' ').skip(1).collect()
}

#[test]
fn the_unit_starts_the_program_with_flags_that_exist_and_writes_where_it_may() {
    let arguments = unit_arguments();
    assert_eq!(arguments.first(), Some(&"serve"));
    let settings = settings(&arguments);
    let state = Path::new("/var/lib").join(unit_value("StateDirectory"));
    for directory in ["journal", "save_dir"] {
        let directory: &PathBuf = settings.get_one(directory).expect("given");
        assert!(directory.starts_with(&state), "{directory:?}: ProtectSystem=strict allows only {state:?}");
    }
}

/// Skipped without systemd; `scripts/test.sh` installs it.
#[test]
#[cfg(target_os = "linux")]
fn systemd_accepts_the_unit_and_finds_it_hardened() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("unit-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let file = directory.join("tickwire.service");
    // The program is not installed here.
    let unit = UNIT.replace("/usr/local/bin/tickwire", env!("CARGO_BIN_EXE_tickwire"));
    std::fs::write(&file, unit).expect("a file");
    for arguments in [&["verify"][..], &["security", "--offline=true", "--threshold=15"]] {
        let Ok(output) = Command::new("systemd-analyze").args(arguments).arg(&file).output() else {
            assert!(std::env::var_os("TICKWIRE_TOOLS").is_none(), "systemd-analyze is missing");
            break;
        };
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}{}", String::from_utf8_lossy(&output.stdout));
        assert!(!said.contains("tickwire.service"), "a complaint about the unit: {said}");
    }
    std::fs::remove_dir_all(&directory).expect("its own directory");
}
