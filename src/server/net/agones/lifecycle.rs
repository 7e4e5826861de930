//! Decides which request the sidecar gets next. Without I/O and without a clock.
//!
//! ```text
//!  is ready ─► /ready ─► Ready ─┬─ players, or a drain ─► /allocate ─► Allocated
//!                               └─ no players for a while ◄── /ready ──┘
//!  stops ─► /shutdown ─► Shutdown
//! ```
//!
//! Health is reported from the start, and only while every room ticks or sleeps, as at `/healthz`.
//! A failed request is repeated later, after a time that doubles with each failure.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::time::Duration;

use serde_json::Value;

use super::call::Call;
use super::http_client::CallResponse;
use crate::limits;

/// The state of the server that the sidecar needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerFacts {
    /// Whether the server accepts new players.
    pub is_ready: bool,
    /// Whether every room ticks or sleeps.
    pub is_healthy: bool,
    /// Whether the server drains.
    pub is_draining: bool,
    /// Whether the server stops.
    pub is_stopping: bool,
    /// Number of players, without bots.
    pub players: u64,
    /// Maximum number of players.
    pub max_players: u64,
    /// Number of rooms.
    pub rooms: u64,
    /// Maximum number of rooms.
    pub max_rooms: u64,
}

/// An occurrence that is logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The sidecar does not respond, for this reason. It did before, or has not yet.
    Lost(String),
    /// The sidecar responds again.
    Back,
    /// The sidecar has refused a request for the first time: its name, the status, and the text.
    Refused(&'static str, u16, String),
    /// The state of the `GameServer` has changed.
    State(String),
}

/// The requests that were sent, and the times of the next ones.
#[derive(Debug)]
pub struct Lifecycle {
    /// Whether the server allocates itself while it has players.
    allocates: bool,
    is_ready_sent: bool,
    is_over: bool,
    is_allocated: bool,
    /// Whether the server has allocated itself, so that it may become ready again.
    has_self_allocated: bool,
    /// Time since which the server has no players.
    empty_since: Option<Duration>,
    /// Labels and reports to send.
    queue: VecDeque<Call>,
    /// The last values that were sent, by name.
    reported: BTreeMap<String, Call>,
    /// Names of the counters that the `GameServer` does not declare.
    undeclared: BTreeSet<&'static str>,
    next_health: Duration,
    next_report: Duration,
    next_state: Duration,
    /// The state of the `GameServer`.
    state: String,
    /// Consecutive requests without a response.
    failures: u32,
    retry_at: Duration,
    /// Names of refused requests. Each is logged once.
    refused: BTreeSet<&'static str>,
}

impl Lifecycle {
    /// Creates the state of a server that starts. `allocates`: whether it allocates itself while it
    /// has players. `labels` are set once.
    pub fn new(allocates: bool, labels: &[(&'static str, String)]) -> Lifecycle {
        Lifecycle {
            allocates,
            is_ready_sent: false,
            is_over: false,
            is_allocated: false,
            has_self_allocated: false,
            empty_since: None,
            queue: labels.iter().map(|(name, value)| Call::Label(name, value.clone())).collect(),
            reported: BTreeMap::new(),
            undeclared: BTreeSet::new(),
            next_health: Duration::ZERO,
            next_report: Duration::ZERO,
            next_state: Duration::ZERO,
            state: String::new(),
            failures: 0,
            retry_at: Duration::ZERO,
            refused: BTreeSet::new(),
        }
    }

    /// Whether no further request follows, because the last one was sent.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns the next request that is due. Its result must be passed to
    /// [`Lifecycle::on_response`] before the next call.
    pub fn next_call(&mut self, now: Duration, facts: &ServerFacts) -> Option<Call> {
        if self.is_over {
            return None;
        }
        if facts.is_stopping {
            return Some(Call::Shutdown);
        }
        if now < self.retry_at {
            return None;
        }
        if facts.is_healthy && now >= self.next_health {
            return Some(Call::Health);
        }
        if !self.is_ready_sent {
            return facts.is_ready.then_some(Call::Ready);
        }
        if let Some(call) = self.next_transition(now, facts) {
            return Some(call);
        }
        if self.queue.is_empty() && now >= self.next_report {
            self.next_report = now + limits::AGONES_REPORT_INTERVAL;
            self.queue_reports(facts);
        }
        if let Some(call) = self.queue.front() {
            return Some(call.clone());
        }
        (now >= self.next_state).then_some(Call::GameServer)
    }

    fn next_transition(&mut self, now: Duration, facts: &ServerFacts) -> Option<Call> {
        let has_players = facts.players > 0;
        let since = if has_players { None } else { Some(self.empty_since.unwrap_or(now)) };
        self.empty_since = since;
        // A draining server must not be allocated by others.
        if !self.is_allocated && (facts.is_draining || self.allocates && has_players) {
            return Some(Call::Allocate);
        }
        let is_long_empty = since.is_some_and(|since| now >= since + limits::AGONES_EMPTY_TIME);
        let may_return = self.is_allocated && self.has_self_allocated && facts.is_ready;
        (may_return && is_long_empty).then_some(Call::Ready)
    }

    /// Queues the values that have changed since they were sent.
    fn queue_reports(&mut self, facts: &ServerFacts) {
        for (name, count, capacity) in
            [("players", facts.players, facts.max_players), ("rooms", facts.rooms, facts.max_rooms)]
        {
            let counter = Call::Counter { name, count: count.min(capacity), capacity };
            let annotation = Call::Annotation(name, count.to_string());
            let is_declared = !self.undeclared.contains(name);
            for call in [Some(annotation), is_declared.then_some(counter)].into_iter().flatten() {
                if self.reported.get(&report_key(&call)) != Some(&call) {
                    self.queue.push_back(call);
                }
            }
        }
    }

    /// Handles the result of a request.
    pub fn on_response(
        &mut self,
        call: &Call,
        response: io::Result<CallResponse>,
        now: Duration,
    ) -> Vec<Notice> {
        if *call == Call::Shutdown {
            self.is_over = true;
        }
        let response = match response {
            Ok(response) => response,
            Err(error) => return self.on_failure(&error, now),
        };
        let mut notices = Vec::new();
        if self.failures > 0 {
            notices.push(Notice::Back);
        }
        self.failures = 0;
        if (200..300).contains(&response.status) {
            notices.extend(self.on_success(call, &response.body, now));
        } else {
            notices.extend(self.on_refusal(call, &response, now));
        }
        notices
    }

    fn on_failure(&mut self, error: &io::Error, now: Duration) -> Vec<Notice> {
        self.retry_at = now + retry_delay(self.failures);
        self.failures = self.failures.saturating_add(1);
        if self.failures == 1 { vec![Notice::Lost(error.to_string())] } else { Vec::new() }
    }

    fn on_success(&mut self, call: &Call, body: &[u8], now: Duration) -> Option<Notice> {
        match call {
            Call::Health => self.next_health = now + limits::AGONES_HEALTH_INTERVAL,
            Call::Ready => {
                self.is_ready_sent = true;
                self.is_allocated = false;
                self.has_self_allocated = false;
                self.next_state = now + limits::AGONES_STATE_INTERVAL;
            }
            Call::Allocate => {
                self.is_allocated = true;
                self.has_self_allocated = true;
                self.next_state = now + limits::AGONES_STATE_INTERVAL;
            }
            Call::GameServer => {
                self.next_state = now + limits::AGONES_STATE_INTERVAL;
                return self.on_state(body);
            }
            Call::Shutdown => {}
            Call::Label(..) | Call::Annotation(..) | Call::Counter { .. } => self.on_reported(call),
        }
        None
    }

    fn on_reported(&mut self, call: &Call) {
        self.queue.pop_front();
        self.reported.insert(report_key(call), call.clone());
    }

    /// Handles the state of the `GameServer`, which others can change.
    fn on_state(&mut self, body: &[u8]) -> Option<Notice> {
        let game_server: Value = serde_json::from_slice(body).unwrap_or_default();
        let state = game_server["status"]["state"].as_str().filter(|state| !state.is_empty())?;
        match state {
            "Allocated" => self.is_allocated = true,
            "Ready" => self.is_allocated = false,
            _ => {}
        }
        if state == self.state {
            return None;
        }
        state.clone_into(&mut self.state);
        Some(Notice::State(state.to_owned()))
    }

    /// Handles a response with an error. A value that the sidecar refuses is sent again once it has
    /// changed; other requests are sent again later.
    fn on_refusal(&mut self, call: &Call, response: &CallResponse, now: Duration) -> Option<Notice> {
        match call {
            Call::Counter { name, .. } if response.status == 404 => {
                self.undeclared.insert(name);
                self.on_reported(call);
            }
            Call::Label(..) | Call::Annotation(..) | Call::Counter { .. } => self.on_reported(call),
            Call::GameServer => self.next_state = now + limits::AGONES_STATE_INTERVAL,
            Call::Health => self.next_health = now + limits::AGONES_MIN_RETRY,
            Call::Ready | Call::Allocate | Call::Shutdown => self.retry_at = now + limits::AGONES_MIN_RETRY,
        }
        let text: String =
            String::from_utf8_lossy(&response.body).chars().take(limits::REFUSED_VALUE_CHARS).collect();
        self.refused.insert(call.name()).then(|| Notice::Refused(call.name(), response.status, text))
    }
}

/// Names a value that is reported.
fn report_key(call: &Call) -> String {
    match call {
        Call::Label(name, _) | Call::Annotation(name, _) => format!("{} {name}", call.name()),
        Call::Counter { name, .. } => format!("{} {name}", call.name()),
        _ => call.name().to_owned(),
    }
}

/// Returns the time before a retry after so many failures before this one.
fn retry_delay(failures: u32) -> Duration {
    limits::AGONES_MIN_RETRY.saturating_mul(1 << failures.min(8)).min(limits::AGONES_MAX_RETRY)
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: ServerFacts = ServerFacts {
        is_ready: true,
        is_healthy: true,
        is_draining: false,
        is_stopping: false,
        players: 0,
        max_players: 100,
        rooms: 1,
        max_rooms: 1,
    };
    const PLAYING: ServerFacts = ServerFacts { players: 2, ..IDLE };

    /// A sidecar in virtual time that answers each request with this status, or not at all.
    struct Model {
        lifecycle: Lifecycle,
        now: Duration,
        status: Option<u16>,
        state: &'static str,
        notices: Vec<Notice>,
    }

    impl Model {
        fn new(allocates: bool) -> Model {
            let labels = [("version", "1.2.3".to_owned())];
            let lifecycle = Lifecycle::new(allocates, &labels);
            Model { lifecycle, now: Duration::ZERO, status: Some(200), state: "Ready", notices: Vec::new() }
        }

        /// Sends all requests that are due, and returns their names, with the values that they set.
        fn calls(&mut self, facts: &ServerFacts) -> Vec<String> {
            let mut names = Vec::new();
            while let Some(call) = self.lifecycle.next_call(self.now, facts) {
                names.push(match &call {
                    Call::Counter { name, count, capacity } => format!("{name} {count}/{capacity}"),
                    Call::Annotation(name, value) | Call::Label(name, value) => format!("{name}={value}"),
                    call => call.name().to_owned(),
                });
                let body = format!(r#"{{"status":{{"state":"{}"}}}}"#, self.state).into_bytes();
                let response = self.status.map(|status| CallResponse { status, body });
                let response = response.ok_or_else(|| io::ErrorKind::ConnectionRefused.into());
                self.notices.extend(self.lifecycle.on_response(&call, response, self.now));
            }
            names
        }

        /// Lets time pass, and returns the requests meanwhile without those for health and state.
        fn calls_within(&mut self, time: Duration, facts: &ServerFacts) -> Vec<String> {
            let (until, mut names) = (self.now + time, Vec::new());
            while self.now < until {
                self.now += limits::AGONES_POLL_INTERVAL;
                names.extend(self.calls(facts));
            }
            names.retain(|name| !["health", "gameserver"].contains(&&**name));
            names
        }
    }

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn a_server_is_ready_once_and_reports_what_has_changed() {
        let mut model = Model::new(false);
        assert_eq!(model.calls(&ServerFacts { is_ready: false, ..IDLE }), ["health"], "it starts");
        let first = ["ready", "version=1.2.3", "players=0", "players 0/100", "rooms=1", "rooms 1/1"];
        assert_eq!(model.calls(&IDLE), first);
        assert_eq!(model.calls_within(MINUTE, &IDLE), [""; 0], "nothing has changed");
        assert_eq!(model.calls_within(MINUTE, &PLAYING), ["players=2", "players 2/100"]);
        assert_eq!(model.notices, [Notice::State("Ready".to_owned())]);
    }

    #[test]
    fn health_is_reported_only_while_the_rooms_tick() {
        let mut model = Model::new(false);
        model.calls(&IDLE);
        let mut healths = 0;
        for _ in 0..240 {
            model.now += limits::AGONES_POLL_INTERVAL;
            healths += model.calls(&IDLE).iter().filter(|name| *name == "health").count();
        }
        assert_eq!(healths, 30, "every two seconds of a minute");
        let hangs = ServerFacts { is_healthy: false, ..IDLE };
        for _ in 0..240 {
            model.now += limits::AGONES_POLL_INTERVAL;
            assert!(!model.calls(&hangs).contains(&"health".to_owned()));
        }
        assert_eq!(model.calls(&IDLE), ["health"], "as soon as they tick again");
    }

    #[test]
    fn a_server_allocates_itself_while_it_has_players() {
        let mut model = Model::new(true);
        model.calls(&IDLE);
        assert_eq!(model.calls(&PLAYING), ["allocate"]);
        model.state = "Allocated";
        assert_eq!(model.calls_within(MINUTE, &PLAYING), ["players=2", "players 2/100"]);
        let before = limits::AGONES_EMPTY_TIME - limits::AGONES_POLL_INTERVAL;
        assert_eq!(model.calls_within(before, &IDLE), ["players=0", "players 0/100"]);
        assert_eq!(model.calls_within(MINUTE, &PLAYING)[0], "players=2", "a player has come back in time");
        let calls = model.calls_within(limits::AGONES_EMPTY_TIME + MINUTE, &IDLE);
        assert_eq!(calls, ["players=0", "players 0/100", "ready"]);
    }

    #[test]
    fn a_server_that_others_have_allocated_neither_allocates_itself_nor_becomes_ready() {
        let mut model = Model::new(true);
        model.calls(&IDLE);
        model.state = "Allocated";
        model.calls_within(limits::AGONES_STATE_INTERVAL, &IDLE);
        assert_eq!(model.calls_within(MINUTE, &PLAYING), ["players=2", "players 2/100"]);
        assert_eq!(model.calls_within(MINUTE * 5, &IDLE), ["players=0", "players 0/100"]);
    }

    #[test]
    fn a_draining_server_is_allocated_and_a_stopping_one_sends_its_last_request() {
        let mut model = Model::new(false);
        model.calls(&PLAYING);
        let drains = ServerFacts { is_ready: false, is_draining: true, ..PLAYING };
        assert_eq!(model.calls(&drains), ["allocate"]);
        model.state = "Allocated";
        let empty = ServerFacts { players: 0, ..drains };
        assert_eq!(model.calls_within(MINUTE * 5, &empty), ["players=0", "players 0/100"]);
        // Also without a response, because a stop does not wait.
        model.status = None;
        assert!(!model.lifecycle.is_over());
        assert_eq!(model.calls(&ServerFacts { is_stopping: true, ..drains }), ["shutdown"]);
        assert!(model.lifecycle.is_over());
        assert_eq!(model.calls(&IDLE), [""; 0]);
    }

    #[test]
    fn a_sidecar_without_a_response_is_retried_with_growing_pauses_and_logged_once() {
        let mut model = Model::new(false);
        model.status = None;
        let mut times = Vec::new();
        for _ in 0..120 {
            if !model.calls(&IDLE).is_empty() {
                times.push(model.now.as_millis());
            }
            model.now += limits::AGONES_POLL_INTERVAL;
        }
        assert_eq!(times, [0, 500, 1_500, 3_500, 7_500, 12_500, 17_500, 22_500, 27_500]);
        assert_eq!(model.notices.len(), 1, "{:?}", model.notices);
        model.status = Some(200);
        model.now += limits::AGONES_MAX_RETRY;
        assert_eq!(model.calls(&IDLE)[..2], ["health", "ready"]);
        assert_eq!(model.notices[1], Notice::Back);
    }

    #[test]
    fn a_refused_request_is_logged_once_and_an_undeclared_counter_is_left_out() {
        let mut model = Model::new(false);
        model.status = Some(500);
        model.calls_within(MINUTE, &IDLE);
        let refused = |name| matches!(name, Notice::Refused("health" | "ready", 500, _));
        assert!(model.notices.len() == 2 && model.notices.drain(..).all(refused));
        model.status = Some(200);
        model.now += MINUTE;
        model.calls(&IDLE);
        model.status = Some(404);
        assert_eq!(model.calls_within(MINUTE, &PLAYING), ["players=2", "players 2/100"]);
        assert_eq!(model.calls_within(MINUTE, &IDLE), ["players=0"]);
    }

    #[test]
    fn a_count_stays_within_its_capacity() {
        let mut model = Model::new(false);
        let calls = model.calls(&ServerFacts { players: 7, max_players: 5, ..IDLE });
        assert!(calls.contains(&"players 5/5".to_owned()) && calls.contains(&"players=7".to_owned()));
    }
}
