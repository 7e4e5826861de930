//! The sidecar of Agones: reports the server's state over the REST interface of its SDK.
//!
//! ```text
//!  ServerState ─► ServerFacts ─► Lifecycle ─► Call ─► http_client ─► sidecar
//!                                    ▲                     │
//!                                    └──── CallResponse ◄──┘
//! ```
//!
//! A thread of its own compares the server with what the sidecar knows, four times a second. A
//! sidecar that does not respond is logged once and retried; no room and no client waits for it.

mod call;
mod http_client;
pub mod lifecycle;
pub mod settings;
pub mod sidecar_url;
pub mod signal;

use std::sync::Arc;

use tracing::{debug, info, warn};

pub use self::call::Call;
pub use self::http_client::CallResponse;
use self::lifecycle::{Lifecycle, Notice, ServerFacts};
use self::sidecar_url::SidecarUrl;
use super::drain;
use super::metrics::Metrics;
use super::server_state::{ServerState, ShutdownStage};
use crate::limits;

/// Runs until the sidecar knows that the server stops, or does not respond to that.
pub fn run(host: &Arc<ServerState>) {
    let Some(settings) = &host.config.agones else { return };
    let rules_hash = (host.room().handle.game.rules_hash)();
    let labels = [("version", env!("CARGO_PKG_VERSION").to_owned()), ("rules", format!("{rules_hash:016x}"))];
    let mut lifecycle = Lifecycle::new(settings.allocates, &labels);
    while !lifecycle.is_over() {
        while let Some(call) = lifecycle.next_call(host.now(), &facts(host)) {
            let response = http_client::send(&settings.sidecar, &call, limits::AGONES_TIMEOUT);
            let is_success = response.as_ref().is_ok_and(|response| (200..300).contains(&response.status));
            if !is_success {
                Metrics::count(&host.metrics.agones_failures, "request", call.name());
            }
            debug!(request = call.name(), ?response, "request to the sidecar of Agones");
            for notice in lifecycle.on_response(&call, response, host.now()) {
                log(&settings.sidecar, &notice);
            }
        }
        if !lifecycle.is_over() {
            host.agones.wait(limits::AGONES_POLL_INTERVAL);
        }
    }
}

fn facts(host: &ServerState) -> ServerFacts {
    let rooms = host.rooms.all();
    let lasting = rooms.iter().filter(|room| !room.is_on_demand()).count();
    ServerFacts {
        is_ready: drain::check_ready(host).is_ok(),
        is_healthy: host.rooms.health_problems(host.now()).is_empty(),
        is_draining: host.drain.has_begun(),
        is_stopping: host.is_at_least(ShutdownStage::StopRequested),
        players: drain::players(host) as u64,
        max_players: host.config.max_clients as u64,
        rooms: rooms.len() as u64,
        max_rooms: (lasting + host.config.rooms_on_demand) as u64,
    }
}

fn log(sidecar: &SidecarUrl, notice: &Notice) {
    match notice {
        Notice::Lost(reason) => {
            warn!(%sidecar, reason, "the sidecar of Agones does not respond; the server goes on and retries");
        }
        Notice::Back => info!(%sidecar, "the sidecar of Agones responds again"),
        Notice::Refused(request, status, text) => {
            warn!(request, status, text, "the sidecar of Agones has refused a request, which is logged once");
        }
        Notice::State(state) if state == "Unhealthy" => {
            warn!(state, "Agones replaces this server, because it got no health requests");
        }
        Notice::State(state) => info!(state, "state of the GameServer"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::server::net::ServerConfig;

    #[test]
    fn the_facts_follow_the_state_of_the_server() {
        let mut config = ServerConfig::new(([127, 0, 0, 1], 0).into());
        (config.max_clients, config.rooms_on_demand) = (50, 3);
        let host = ServerState::for_tests(config);
        let starts = ServerFacts {
            is_ready: false,
            is_healthy: true,
            is_draining: false,
            is_stopping: false,
            players: 0,
            max_players: 50,
            rooms: 1,
            max_rooms: 4,
        };
        assert_eq!(facts(&host), starts);
        host.mark_started();
        assert_eq!(facts(&host), ServerFacts { is_ready: true, ..starts });
        // As after a panic of the room, for which `/healthz` answers 503.
        host.room().handle.mark_ended();
        assert_eq!(facts(&host), ServerFacts { is_ready: true, is_healthy: false, ..starts });
        drain::begin(&host, Duration::from_secs(60)).expect("a valid time");
        let drains = ServerFacts { is_healthy: false, is_draining: true, ..starts };
        assert_eq!(facts(&host), drains);
        host.advance_to(ShutdownStage::StopRequested);
        assert_eq!(facts(&host), ServerFacts { is_stopping: true, ..drains });
    }
}
