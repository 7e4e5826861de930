//! The banner that `serve` prints: the links of the pages, the WebSocket paths, and the settings.

use tickwire_sim::{OptionSpec, WorldParams};

use super::output::reachable;
use super::{bot_args, player_args};
use crate::game::{GameInfo, UpdateRates};
use crate::packet::routes;
use crate::server::net::config::ServerConfig;
use crate::server::net::console::http_admin;
use crate::server::net::pages::room_pages;
use crate::server::net::{ServerHandle, inspector};
use crate::server::room::RoomHandle;
use crate::util::plural::count_noun;

/// The link and the active settings. A new token is printed only here. A given token is not
/// printed, because the operator knows it.
pub fn banner(server: &ServerHandle, is_new_token: bool, has_own_game: bool) -> String {
    let (address, config) = (server.address(), server.config());
    let host = reachable(address);
    let game = if has_own_game { format!("{} on ", config.game.info.name) } else { String::new() };
    let mut text = format!("{game}tickwire {}\n\n  play     http://{host}/\n", env!("CARGO_PKG_VERSION"));
    text.push_str(&paths(&host, "", config.game.info));
    let token = if is_new_token { format!("#{}", config.admin_token.expose()) } else { String::new() };
    let rooms = server.rooms();
    for room in rooms.iter().filter(|room| !room.options.name.is_empty()) {
        text.push_str(&room_line(&host, room));
        if room.game.name != config.game.info.name {
            let below = format!("{}{}", routes::ROOM_PREFIX, room.options.name);
            text.push_str(&paths(&host, &below, room.game));
        }
    }
    if config.rooms_on_demand > 0 {
        let (path, max_rooms) = (routes::ROOM_PREFIX, config.rooms_on_demand);
        text.push_str(&format!("  room     http://{host}{path}NAME/  made on demand, at most {max_rooms}\n"));
    }
    if rooms.len() > 1 || config.rooms_on_demand > 0 {
        text.push_str(&format!("  rooms    http://{host}{}\n", room_pages::LIST_PATH));
    }
    text.push_str(&format!("  wire     http://{host}{}\n", inspector::PATH));
    text.push_str(&format!("  admin    http://{host}{}{token}\n", http_admin::PATH));
    let identity = &config.identity;
    let dialects =
        config.game.info.foreign_dialects.map_or("", |_| "?dialect=NAME for another dialect, and ");
    text.push_str(&format!(
        "\n  add {dialects}?format=json for JSON instead of MessagePack\n\n{}{}  \
         bind {address}, {}, seed {}{},\n{}  \
         at most {} clients ({} per address), this machine supports {}\n\n",
        bot_args::line(config.bots),
        player_args::line(&config.players),
        rates(rooms[0].game, config.rates()),
        identity.seed,
        options(rooms[0].game, identity),
        unusual_settings(config),
        config.max_clients,
        config.max_clients_per_address,
        server.ceilings(),
    ));
    text
}

/// The WebSocket paths of a room below this prefix, each with its dialect.
fn paths(host: &str, below: &str, info: &GameInfo) -> String {
    info.paths.iter().map(|(path, dialect)| format!("  {dialect:<8} ws://{host}{below}{path}\n")).collect()
}

/// The URL of a room, its game and its settings.
fn room_line(host: &str, room: &RoomHandle) -> String {
    let (options, identity) = (&room.options, &room.identity);
    let max_clients = match options.max_clients {
        usize::MAX => String::new(),
        count => format!(", at most {count} clients"),
    };
    format!(
        "  room     http://{host}{}{}/  {}, {}, seed {}{}{max_clients}\n",
        routes::ROOM_PREFIX,
        options.name,
        room.game.name,
        rates(room.game, options.rates),
        identity.seed,
        self::options(room.game, identity),
    )
}

/// The tick and update rates of a room.
fn rates(info: &GameInfo, UpdateRates { tick_hz, update_hz, foreign_hz }: UpdateRates) -> String {
    let foreign =
        info.foreign_dialects.map_or_else(String::new, |dialects| format!(" ({dialects} {foreign_hz} Hz)"));
    format!("tick {tick_hz} Hz, updates {update_hz} Hz{foreign}")
}

/// The options of a game, each after a comma.
fn options(info: &GameInfo, identity: &WorldParams) -> String {
    let value = |name| identity.option(name).unwrap_or_default();
    let option = |own: &OptionSpec| format!(", {} {} {}", own.flag, value(own.name), own.unit);
    info.options.iter().map(|own| option(own).trim_end().to_owned()).collect()
}

/// A line for each setting that differs from what most servers have.
fn unusual_settings(config: &ServerConfig) -> String {
    let list = |name: &str, items: &[String]| {
        Some(format!("  {name} {},\n", items.join(", "))).filter(|_| !items.is_empty())
    };
    let proxies: Vec<String> = config.trusted_proxies.iter().map(ToString::to_string).collect();
    let delay = config.command_delay_ticks;
    let lines = [
        list("trusted proxies", &proxies),
        list("origins", &config.allowed_origins),
        (delay > 0).then(|| format!("  command delay {},\n", count_noun(delay, "tick"))),
        (!config.address_rate_limits).then(|| "  no rate limits per address,\n".to_owned()),
    ];
    lines.into_iter().flatten().collect()
}
