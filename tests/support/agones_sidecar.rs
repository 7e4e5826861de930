//! A stand-in for the sidecar of Agones: its REST interface as published in the Swagger files of the SDK, with the states of a
//! `GameServer` as its local SDK server has them. It records each request, and each fault of a request.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::support::PATIENCE;

/// How the sidecar treats connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    /// It answers.
    Answers,
    /// It closes each connection, as a proxy whose target has not started.
    Closes,
    /// It reads requests and never answers.
    Hangs,
}

#[derive(Debug)]
struct State {
    mood: Mood,
    /// The state of the `GameServer`.
    game_server: &'static str,
    /// Requests as `METHOD PATH BODY`.
    requests: Vec<String>,
    faults: Vec<String>,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    /// Count and capacity of the declared counters.
    counters: BTreeMap<&'static str, (i64, i64)>,
}

/// The sidecar. Its threads end with the test's process.
#[derive(Debug, Clone)]
pub struct Sidecar {
    pub address: SocketAddr,
    state: Arc<(Mutex<State>, Condvar)>,
}

impl Sidecar {
    /// Starts a sidecar whose `GameServer` declares the counter `players`, and not `rooms`.
    pub fn start(mood: Mood) -> Sidecar {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let state = State {
            mood,
            game_server: "Scheduled",
            requests: Vec::new(),
            faults: Vec::new(),
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            counters: BTreeMap::from([("players", (0, 0))]),
        };
        let sidecar = Sidecar { address, state: Arc::new((Mutex::new(state), Condvar::new())) };
        let for_thread = sidecar.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let sidecar = for_thread.clone();
                thread::spawn(move || sidecar.serve(&stream));
            }
        });
        sidecar
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set_mood(&self, mood: Mood) {
        self.lock().mood = mood;
    }

    /// Changes the state of the `GameServer`, as an allocation by a matchmaker does.
    pub fn set_state(&self, state: &'static str) {
        self.lock().game_server = state;
    }

    pub fn labels(&self) -> BTreeMap<String, String> {
        self.lock().labels.clone()
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<String> {
        self.lock().requests.clone()
    }

    /// Waits for a request with this text after the first `after` requests. Returns its index.
    pub fn wait_for(&self, text: &str, after: usize) -> usize {
        let deadline = Instant::now() + PATIENCE;
        let mut state = self.lock();
        loop {
            let found = state.requests.iter().skip(after).position(|request| request.contains(text));
            if let Some(at) = found {
                return after + at;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "no {text} after {after} in {:#?}", state.requests);
            state = self.state.1.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Checks that each request was one of the interface.
    pub fn assert_faultless(&self) {
        let faults = self.lock().faults.clone();
        assert!(faults.is_empty(), "{faults:#?}");
    }

    fn serve(&self, stream: &TcpStream) {
        if self.lock().mood == Mood::Closes {
            return;
        }
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let Some((line, headers, body)) = read_request(stream) else { return };
        let Some((status, answer)) = self.answer(&line, &headers, &body) else {
            thread::sleep(PATIENCE);
            return;
        };
        let answer = answer.to_string();
        let length = answer.len();
        // A gateway of gRPC answers with this content type.
        let head =
            format!("HTTP/1.1 {status} S\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n");
        let _ = (&mut &*stream).write_all(format!("{head}\r\n{answer}").as_bytes());
    }

    /// Records a request and answers it, unless the sidecar hangs.
    fn answer(&self, line: &str, headers: &BTreeMap<String, String>, body: &str) -> Option<(u16, Value)> {
        let mut state = self.lock();
        let words: Vec<&str> = line.split(' ').take(2).chain([body]).collect();
        state.requests.push(words.join(" ").trim_end().to_owned());
        self.state.1.notify_all();
        if state.mood == Mood::Hangs {
            return None;
        }
        Some(match judge(&mut state, line, headers, body) {
            Ok(answer) => (200, answer),
            Err(Refused::Missing(what)) => (404, json!({ "code": 5, "message": what, "details": [] })),
            Err(Refused::Fault(what)) => {
                state.faults.push(format!("{line} {body}: {what}"));
                (400, json!({ "code": 3, "message": what, "details": [] }))
            }
        })
    }
}

/// Why a request is refused.
enum Refused {
    /// The `GameServer` does not declare the counter, which is a setting of the operator.
    Missing(String),
    /// The request is not one of the interface.
    Fault(String),
}

fn fault<T>(what: impl Into<String>) -> Result<T, Refused> {
    Err(Refused::Fault(what.into()))
}

fn judge(
    state: &mut State,
    line: &str,
    headers: &BTreeMap<String, String>,
    body: &str,
) -> Result<Value, Refused> {
    let [method, path, "HTTP/1.1"] = line.split(' ').collect::<Vec<_>>()[..] else {
        return fault("the request line");
    };
    if !headers.contains_key("host") {
        return fault("HTTP/1.1 needs a Host");
    }
    if state.game_server == "Shutdown" {
        return fault("nothing follows a shutdown");
    }
    if method == "GET" {
        return match (path, body) {
            ("/gameserver", "") => Ok(game_server(state)),
            _ => fault("an unknown GET"),
        };
    }
    if headers.get("content-type").map(String::as_str) != Some("application/json") {
        return fault("the content type");
    }
    let Ok(Value::Object(body)) = serde_json::from_str(body) else {
        return fault("a body that is no object");
    };
    match (method, path) {
        ("POST", "/ready" | "/allocate" | "/shutdown" | "/health") => {
            if !body.is_empty() {
                return fault("the body must be {}");
            }
            state.game_server = match (path, state.game_server) {
                ("/ready", _) => "Ready",
                ("/allocate", "Ready" | "Allocated" | "Reserved") => "Allocated",
                ("/allocate", other) => return fault(format!("allocated while {other}")),
                ("/shutdown", _) => "Shutdown",
                (_, same) => same,
            };
            Ok(json!({}))
        }
        ("PUT", "/metadata/label" | "/metadata/annotation") => {
            let text = |key: &str| body.get(key).and_then(Value::as_str).map(str::to_owned);
            let (Some(key), Some(value), 2) = (text("key"), text("value"), body.len()) else {
                return fault("a body of key and value, both text");
            };
            let is_label = path.ends_with("label");
            // Rules of Kubernetes for the part of a key after its prefix, and for the value of a label.
            if !is_name(&format!("sdk-{key}")) || is_label && !is_name(&value) {
                return fault("a key or a label that Kubernetes rejects");
            }
            let stored = if is_label { &mut state.labels } else { &mut state.annotations };
            stored.insert(format!("agones.dev/sdk-{key}"), value);
            Ok(json!({}))
        }
        ("PATCH", path) => set_counter(state, path, &body),
        _ => fault("no such endpoint"),
    }
}

fn set_counter(
    state: &mut State,
    path: &str,
    body: &serde_json::Map<String, Value>,
) -> Result<Value, Refused> {
    let Some(name) = path.strip_prefix("/v1beta1/counters/") else { return fault("no such endpoint") };
    if body.keys().any(|key| !["count", "capacity", "countDiff"].contains(&&**key)) {
        return fault("a field that is none of a counter");
    }
    // 64-bit integers are text in the JSON of protocol buffers.
    let number = |key: &str| body.get(key).map(|value| value.as_str().and_then(|text| text.parse().ok()));
    let (count, capacity): (Option<Option<i64>>, Option<Option<i64>>) = (number("count"), number("capacity"));
    if count == Some(None) || capacity == Some(None) || count.is_none() && capacity.is_none() {
        return fault("a number that is none");
    }
    let Some(counter) = state.counters.get_mut(name) else {
        return Err(Refused::Missing(format!("counter {name} not found")));
    };
    counter.1 = capacity.flatten().unwrap_or(counter.1);
    counter.0 = count.flatten().unwrap_or(counter.0);
    if !(0..=counter.1).contains(&counter.0) {
        return fault("a count that is not within 0 and the capacity");
    }
    Ok(json!({ "name": name, "count": counter.0.to_string(), "capacity": counter.1.to_string() }))
}

/// Whether Kubernetes allows this as a name: at most 63 of these characters, the first and the last alphanumeric.
fn is_name(text: &str) -> bool {
    let is_alphanumeric = |at: Option<u8>| at.is_some_and(|byte| byte.is_ascii_alphanumeric());
    let (first, last) = (text.bytes().next(), text.bytes().last());
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    text.len() <= 63 && is_alphanumeric(first) && is_alphanumeric(last) && text.bytes().all(is_allowed)
}

fn game_server(state: &State) -> Value {
    json!({
        "object_meta": {
            "name": "local", "namespace": "default", "uid": "1234", "resource_version": "v1", "generation": "1",
            "creation_timestamp": "1531795395", "labels": state.labels, "annotations": state.annotations,
        },
        "spec": { "health": { "period_seconds": 5, "failure_threshold": 3, "initial_delay_seconds": 5 } },
        "status": { "state": state.game_server, "address": "127.0.0.1", "ports": [{ "name": "default", "port": 7777 }] },
    })
}

/// The request line, the headers with names in lower case, and the body.
fn read_request(stream: &TcpStream) -> Option<(String, BTreeMap<String, String>, String)> {
    let mut reader = BufReader::new(stream);
    let mut next = || {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|count| *count > 0).map(|_| line.trim_end().to_owned())
    };
    let (line, mut headers) = (next()?, BTreeMap::new());
    while let Some(header) = next().filter(|header| !header.is_empty()) {
        let (name, value) = header.split_once(':')?;
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((line, headers, String::from_utf8(body).ok()?))
}

/// Time in which a server with this sidecar must stop, on an idle machine.
pub const STOP_TIME: Duration = Duration::from_secs(10);
