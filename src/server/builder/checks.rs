//! The checks of a server's settings.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::start_error::StartError;
use crate::game::GameInfo;
use crate::limits;
use crate::packet::PacketTables;
use crate::packet::routes::{is_alias, is_room_name};
use crate::server::net::TcpGameFactory;
use crate::server::net::agones::settings::AgonesSettings;
use crate::server::net::agones::sidecar_url::SidecarUrl;
use crate::server::net::forwarded::CidrRange;
use crate::server::net::key_log::KeyLog;
use crate::server::net::lane_mode::{LaneMode, UdpPublic};
use crate::server::net::recorder::Rotation;
use crate::server::room::lockstep::LockstepConfig;

/// Returns the tables of the games, or `given` if it has what the games need.
pub(super) fn tables(
    games: &[TcpGameFactory],
    given: Option<&PacketTables>,
) -> Result<PacketTables, StartError> {
    let infos: Vec<&GameInfo> = games.iter().map(|game| game.info).collect();
    let Some(tables) = given else { return GameInfo::tables_of(&infos).map_err(StartError::Tables) };
    infos.iter().try_for_each(|info| info.check_tables(tables)).map_err(StartError::Tables)?;
    Ok(tables.clone())
}

/// Parses the addresses of trusted proxies.
pub(super) fn trusted_proxies(ranges: &[String]) -> Result<Vec<CidrRange>, StartError> {
    let read = |range: &String| {
        let read: Result<CidrRange, String> = range.parse();
        read.map_err(|rule| StartError::setting("trusted_proxy", format!("{range}: {rule}")))
    };
    ranges.iter().map(read).collect()
}

/// Parses the public address of the UDP port.
pub(super) fn udp_public(address: Option<&str>) -> Result<Option<UdpPublic>, StartError> {
    let read = |text: &str| {
        text.parse().map_err(|rule| StartError::setting("udp_public", format!("{text:?}: {rule}")))
    };
    address.map(read).transpose()
}

/// Opens the key log of lanes.
pub(super) fn key_log(path: Option<&Path>, lane: LaneMode) -> Result<Option<Arc<KeyLog>>, StartError> {
    let Some(path) = path else { return Ok(None) };
    if lane == LaneMode::Off {
        return Err(StartError::setting("key_log", "needs lanes: a server without lanes has no keys"));
    }
    let failed = |error| StartError::setting("key_log", format!("{}: {error}", path.display()));
    KeyLog::open(path).map(|log| Some(Arc::new(log))).map_err(failed)
}

/// Checks the time for which a seat stays suspended.
pub(super) fn resume_time(time: Duration) -> Result<(), StartError> {
    let max_time = limits::MAX_RESUME_TIME;
    if time <= max_time {
        return Ok(());
    }
    Err(StartError::setting("resume_time", format!("{time:?}: must be at most {max_time:?}")))
}

/// Checks the time of a drain.
pub(super) fn drain_time(time: Duration) -> Result<Duration, StartError> {
    let max_time = limits::MAX_DRAIN_TIME;
    if time <= max_time {
        return Ok(time);
    }
    Err(StartError::setting("drain_time", format!("{time:?}: must be at most {max_time:?}")))
}

/// Parses the URL of the sidecar of Agones.
pub(super) fn agones(url: Option<&str>, allocates: bool) -> Result<Option<AgonesSettings>, StartError> {
    let Some(url) = url else {
        let rule = "needs agones: without a sidecar nothing is allocated";
        return if allocates { Err(StartError::setting("agones_allocate", rule)) } else { Ok(None) };
    };
    let sidecar: Result<SidecarUrl, String> = url.parse();
    let sidecar = sidecar.and_then(SidecarUrl::with_port_of_environment);
    let sidecar = sidecar.map_err(|rule| StartError::setting("agones", rule))?;
    Ok(Some(AgonesSettings { sidecar, allocates }))
}

/// Checks the number of players up to which bots fill rooms of these games.
pub(super) fn bots(players: usize, games: &[TcpGameFactory]) -> Result<usize, StartError> {
    let max_players = limits::BOTS;
    if players > max_players {
        return Err(StartError::setting("bots", format!("{players}: must be at most {max_players}")));
    }
    if players > 0 && !games.iter().any(|game| game.info.has_bot_policy()) {
        let names: Vec<&str> = games.iter().map(|game| game.info.name).collect();
        let rule = format!("{players}: no bots play {}; give the game a bot policy", names.join(", "));
        return Err(StartError::setting("bots", rule));
    }
    Ok(players)
}

/// Checks the intervals of lockstep.
pub(super) fn lockstep(config: &LockstepConfig) -> Result<(), StartError> {
    let max_ticks = limits::LOCKSTEP_MAX_INTERVAL_TICKS;
    for (setting, ticks) in [
        ("snapshot_interval_ticks", config.snapshot_ticks),
        ("checksum_interval_ticks", config.checksum_ticks),
    ] {
        if !(1..=max_ticks).contains(&ticks) {
            return Err(StartError::setting(setting, format!("{ticks}: must be 1 to {max_ticks}")));
        }
    }
    Ok(())
}

/// Checks the size and age of capture files.
pub(super) fn rotation(rotation: &Rotation) -> Result<(), StartError> {
    let is_zero = rotation.bytes == 0 || rotation.time.is_some_and(|time| time.is_zero());
    let rule = "0: must be at least 1";
    if is_zero { Err(StartError::setting("capture_rotation", rule)) } else { Ok(()) }
}

/// Checks the names and the number of the rooms. The first is the default room, without a name.
pub(super) fn room_names(names: &[&str], on_demand: usize) -> Result<(), StartError> {
    let rooms = names.len().saturating_add(on_demand);
    if rooms > limits::ROOMS {
        let rule = format!("{rooms} with those on demand: must be at most {}", limits::ROOMS);
        return Err(StartError::setting("rooms", rule));
    }
    for (at, name) in names.iter().enumerate().skip(1) {
        let rule = if !is_room_name(name) {
            format!("a room's name must be 1 to {} of a-z, 0-9 and -", limits::ROOM_NAME_CHARS)
        } else if is_alias(name) {
            "this is what the log calls a private room: choose another name".to_owned()
        } else if names[..at].contains(name) {
            "two rooms have this name".to_owned()
        } else {
            continue;
        };
        return Err(StartError::room(name, rule));
    }
    Ok(())
}
