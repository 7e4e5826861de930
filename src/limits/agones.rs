//! Bounds of requests to the sidecar of Agones.

use std::time::Duration;

/// Maximum time of one request, because the sidecar is on the same machine. After this time, the
/// request has failed and is retried.
pub const AGONES_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum bytes of the body of a response: Kubernetes limits the annotations of an object, which
/// are its longest part, to a quarter of it. A longer response is an error.
pub const AGONES_RESPONSE_BYTES: usize = 1024 * 1024;
/// Time between two health requests: two fit into the default period of a `GameServer`, which is 5
/// s.
pub const AGONES_HEALTH_INTERVAL: Duration = Duration::from_secs(2);
/// Minimum time between two reports of players and rooms, because each one changes an object in the
/// API server of Kubernetes. Changes in between are reported together.
pub const AGONES_REPORT_INTERVAL: Duration = Duration::from_secs(5);
/// Time between two requests for the state of the `GameServer`.
pub const AGONES_STATE_INTERVAL: Duration = Duration::from_secs(5);
/// Interval at which the server is compared with what the sidecar knows.
pub const AGONES_POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Time before the first retry after a failed request. Each further failure doubles it.
pub const AGONES_MIN_RETRY: Duration = Duration::from_millis(500);
/// Maximum time before a retry: a sidecar that responds again gets a health request within 15 s,
/// after which Agones replaces the server.
pub const AGONES_MAX_RETRY: Duration = Duration::from_secs(5);
/// Time without players after which a server that has allocated itself becomes ready again, so that
/// a reload of the only player does not change its state.
pub const AGONES_EMPTY_TIME: Duration = Duration::from_secs(60);
