//! The drain of a server before it stops: players finish, and new ones go elsewhere.
//!
//! ```text
//!  running ─► draining ─┬─ no player is left ──┬─► the owner stops the server
//!                       └─ its time is over ───┘
//! ```
//!
//! A draining server creates no rooms and accepts no new clients. It accepts spectators, and
//! clients that resume a player of the requested room. Clients that are connected may still join,
//! so that a player that has died can finish the round.

pub mod drain_timer;

use std::net::SocketAddr;
use std::time::Duration;

use tracing::info;

use super::server_state::{ServerState, ShutdownStage};
use crate::connection::resume_key::ResumeKey;
use crate::game::OperatorCommandError;
use crate::limits;
use crate::server::admission::refusal::Refusal;
use crate::server::admission::tokens::{OfferedToken, Permission};
use crate::server::admission::upgrade_check::UpgradeCheck;
use crate::server::room::SeatKey;
use crate::util::plural::count_noun;
use crate::ws::http::RequestHead;

/// Rule of a request that a draining server refuses, and the name of its state at `/readyz`.
const RULE: &str = "draining";

/// The operator command of a game that sends a message to all players of a room.
const ANNOUNCE: &str = "announce";

/// Starts to drain the server for at most `time`, and announces it in each room.
///
/// # Errors
/// The server drains already, or the time is out of range.
pub fn begin(host: &ServerState, time: Duration) -> Result<(), String> {
    if time.is_zero() || time > limits::MAX_DRAIN_TIME {
        let max = limits::MAX_DRAIN_TIME.as_secs();
        return Err(format!("{} s: must be 1 to {max} s", time.as_secs()));
    }
    if !host.drain.begin(host.now() + time) {
        let left = host.drain.time_left(host.now()).unwrap_or_default().as_secs();
        return Err(format!("the server drains already, for at most {left} s more; `stop` stops it at once"));
    }
    host.metrics.draining.set(1);
    info!(seconds = time.as_secs(), players = players(host), "draining: no new clients and rooms");
    announce(host, time);
    Ok(())
}

/// Sends the remaining time to the players of each room whose game has the command.
fn announce(host: &ServerState, time: Duration) {
    let text = format!("This server stops in {}", count_noun(time.as_secs(), "second"));
    for room in host.rooms.all() {
        let mut commands = room.handle.game.operator_commands.iter();
        let command = commands.find(|command| command.usage.split(' ').next() == Some(ANNOUNCE));
        let no_player =
            |_: &str| Err(OperatorCommandError::Failed("an announcement has no player".to_owned()));
        if let Some(Ok((action, _))) = command.map(|command| (command.parse)(&text, &no_player)) {
            room.handle.push_operator(vec![action]);
            room.wake();
        }
    }
}

/// Returns the number of players for which a draining server waits: players of connected clients,
/// and suspended players that can still resume. Bots of the server and spectators are not counted.
pub fn players(host: &ServerState) -> usize {
    let clients = host.clients.all();
    let playing = clients.iter().filter(|client| !client.transport.is_bot() && client.player().is_some());
    let suspended: usize = host.rooms.all().iter().map(|room| room.handle.suspended_seats()).sum();
    playing.count() + suspended
}

/// Returns the refusal of a draining server.
///
/// # Errors
/// The server is draining.
pub fn check(host: &ServerState) -> Result<(), Refusal> {
    if host.drain.has_begun() { Err(Refusal::from_rule(503, RULE)) } else { Ok(()) }
}

/// Checks whether a client may enter the room of `upgrade_check` although the server is draining:
/// it resumes a player, or can only spectate.
///
/// # Errors
/// The request breaks another rule, or the server is draining.
pub fn check_upgrade(
    host: &ServerState,
    head: &RequestHead,
    address: SocketAddr,
    upgrade_check: &UpgradeCheck<'_>,
) -> Result<(), Refusal> {
    let Err(refused) = check(host) else { return Ok(()) };
    upgrade_check.check(head)?;
    let has_seat = |key| upgrade_check.room.is_some_and(|room| room.has_seat(key));
    let offered = OfferedToken::of(head);
    let offered = offered.as_ref().map(|OfferedToken(token)| token.as_str());
    let is_welcome = match host.authenticator.authenticate(address.ip(), offered, host.now()) {
        Ok(Permission::Spectator) => true,
        Ok(Permission::Holder(holder)) => has_seat(holder.seat),
        Ok(Permission::Anyone) => ResumeKey::of(head).is_some_and(|key| has_seat(SeatKey(key.bytes()))),
        Err(_) => false,
    };
    if is_welcome { Ok(()) } else { Err(refused) }
}

/// Checks whether the server accepts new players, for `/readyz`.
///
/// # Errors
/// The state in which it does not: `starting`, `draining` or `stopping`.
pub fn check_ready(host: &ServerState) -> Result<(), &'static str> {
    if host.is_at_least(ShutdownStage::StopRequested) {
        Err("stopping")
    } else if host.drain.has_begun() {
        Err(RULE)
    } else if !host.is_started() {
        Err("starting")
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::net::ServerConfig;

    const TIME: Duration = Duration::from_secs(60);

    fn host() -> ServerState {
        ServerState::for_tests(ServerConfig::new(([127, 0, 0, 1], 0).into()))
    }

    #[test]
    fn readiness_names_the_state_that_refuses_new_players() {
        let host = host();
        assert_eq!(check_ready(&host), Err("starting"));
        host.mark_started();
        assert_eq!(check_ready(&host), Ok(()));
        begin(&host, TIME).expect("a valid time");
        assert_eq!(check_ready(&host), Err("draining"));
        host.advance_to(ShutdownStage::StopRequested);
        assert_eq!(check_ready(&host), Err("stopping"));
    }

    #[test]
    fn a_drain_begins_once_and_its_time_is_bounded() {
        let host = host();
        for time in [Duration::ZERO, limits::MAX_DRAIN_TIME + Duration::from_secs(1)] {
            let why = begin(&host, time).expect_err("out of range");
            assert!(why.contains("must be 1 to 86400 s"), "{why}");
        }
        assert!(!host.drain.has_begun());
        begin(&host, TIME).expect("a valid time");
        let why = begin(&host, TIME).expect_err("it drains already");
        assert!(why.contains("drains already"), "{why}");
        assert_eq!(host.metrics.draining.get(), 1);
        assert!(host.metrics_text().contains("\ntickwire_draining 1\n"));
    }
}
