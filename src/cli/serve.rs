//! `tickwire` and `tickwire serve`: starts the server, prints the link, runs the operator's
//! commands, and shuts down cleanly.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use clap::builder::FalseyValueParser;
use clap::{Args, ValueEnum};
use tickwire_sim::WorldParams;
use tracing::{info, warn};

use super::banner::banner;
use super::bot_args::BotArgs;
use super::cluster_args::ClusterArgs;
use super::fleet_args::FleetArgs;
use super::game_list::{GameList, OptionValues};
use super::lockstep_args::LockstepArgs;
use super::log::Log;
use super::output::{CliError, print, print_to_stderr, warn_of_other_localhost};
use super::player_args::{PlayerArgs, TokenArg};
use super::room_arg::{FOREIGN_UPDATE_FLAG, FOREIGN_VARIABLE, RoomArg};
use super::storage_args::StorageArgs;
use super::{console, prediction, signals, tables, value_parsers};
use crate::game::GameInfo;
use crate::limits;
use crate::server::net::console::admin_token::AdminToken;
use crate::server::net::forwarded::CidrRange;
use crate::server::net::input_files::{journaled_room, restore_room};
use crate::server::net::journal::RecoveringJournals;
use crate::server::net::key_log::KeyLog;
use crate::server::net::lane_mode::{LaneMode, UdpPublic};
use crate::server::net::recorder::{CaptureTarget, Rotation};
use crate::server::net::{ServerConfig, ServerHandle, TcpGameFactory, TcpRoom};
use crate::server::room::RoomConfig;
use crate::util::plural::count_noun;

/// The option of a game that has its own flag.
pub const MAP_SIZE: &str = "map-size";

/// The value of `--capture` for standard output.
const STDOUT_ARG: &str = "-";

/// Options of `serve`. Each flag has an environment variable of the same name.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Address and port to listen on; port 0 picks a free port.
    #[arg(long, value_name = "ADDR:PORT", default_value = "0.0.0.0:3000", env = "TICKWIRE_BIND", value_parser = value_parsers::parse_bind)]
    bind: SocketAddr,
    /// Ticks per second of the world; its game defines the allowed rates.
    #[arg(long, value_name = "HZ", env = "TICKWIRE_TICK_HZ")]
    tick_hz: Option<u32>,
    /// Updates per second for clients of the game's own dialect, at most the tick rate. Default:
    /// the usual tick rate of the game.
    #[arg(long, value_name = "HZ", env = "TICKWIRE_UPDATE_HZ", value_parser = clap::value_parser!(u32).range(1..=60))]
    update_hz: Option<u32>,
    /// Updates per second for clients of foreign dialects, at most the tick rate.
    #[arg(long = FOREIGN_UPDATE_FLAG, value_name = "HZ", default_value = "10", env = FOREIGN_VARIABLE,
          value_parser = clap::value_parser!(u32).range(1..=60))]
    foreign_update_hz: u32,
    /// Seed of the map and of all random decisions, 0 to 4294967295. The same seed gives the same
    /// world.
    #[arg(long, value_name = "NUMBER", default_value = "1", env = "TICKWIRE_SEED")]
    seed: u32,
    /// Side length of the square map, in pixels. Default: the length of the game's own map.
    #[arg(long, value_name = "PX", env = "TICKWIRE_MAP_SIZE")]
    map_size: Option<u32>,
    /// The game of the default room, and of rooms without a game.
    #[arg(long, value_name = "GAME[,OPTION=VALUE…]", env = "TICKWIRE_GAME")]
    game: Option<String>,
    /// Another room, at /r/NAME/, with its own world; may be repeated. NAME has up to 32 of a-z,
    /// 0-9 and -. GAME is as for --game. The options are the game's own; seed, tick-hz, update-hz
    /// (also of foreign dialects) and command-delay-ticks, with the flags of these names as
    /// defaults; max-clients, the maximum number of clients in this room; restore, a file written
    /// by `room NAME save`. In the environment variable, separate rooms with semicolons.
    #[arg(long, value_name = "NAME[=GAME][,OPTION=VALUE…]", env = "TICKWIRE_ROOM", value_delimiter = ';')]
    room: Vec<String>,
    /// Maximum number of rooms that clients create by connecting at /r/NAME/. Such a room has the
    /// game and the options of the default room, and ends after a minute without clients. 0: none.
    #[arg(long, value_name = "COUNT", default_value_t = 0, env = "TICKWIRE_ROOMS_ON_DEMAND",
          value_parser = clap::value_parser!(u16).range(0..limits::ROOMS as i64))]
    rooms_on_demand: u16,
    /// Seconds for which a player stays in the world after its connection ends, so that its page
    /// can resume. 0: the player leaves at once, as do players of clients without a resume key.
    #[arg(long, value_name = "SECONDS", default_value_t = limits::RESUME_TIME.as_secs(), env = "TICKWIRE_RESUME_SECONDS",
          value_parser = clap::value_parser!(u64).range(0..=limits::MAX_RESUME_TIME.as_secs()))]
    resume_seconds: u64,
    /// Maximum number of concurrent clients, lowered if this machine cannot support that many.
    /// Further clients are refused with status 503.
    #[arg(long, value_name = "COUNT", default_value_t = limits::CLIENTS_DEFAULT, env = "TICKWIRE_MAX_CLIENTS")]
    max_clients: usize,
    /// Maximum number of concurrent clients from one address. Further clients are refused with
    /// status 503.
    #[arg(long, value_name = "COUNT", default_value_t = limits::CLIENTS_PER_ADDRESS,
          env = "TICKWIRE_MAX_CLIENTS_PER_ADDRESS")]
    max_clients_per_address: usize,
    /// Whether all clients of one address share rate limits for connecting, joining, and messages
    /// to all players, such as chat: on or off. Turn this off for a classroom that shares one
    /// address. --max-clients-per-address applies in either case.
    #[arg(long, value_name = "SWITCH", default_value = "on", env = "TICKWIRE_ADDRESS_RATE_LIMITS", value_parser = parse_on_off,
          action = clap::ArgAction::Set)]
    address_rate_limits: bool,
    /// Proxy with a trusted X-Forwarded-For header, such as 127.0.0.1 or 10.0.0.0/8; may be
    /// repeated or comma-separated. Limits and bans then apply to the client address in the header.
    /// The proxy must replace the header or append to it. Do not include an address from which a
    /// client can connect: a trusted peer can claim any client address.
    #[arg(long, value_name = "ADDRESS[/PREFIX]", env = "TICKWIRE_TRUSTED_PROXY", value_delimiter = ',')]
    trusted_proxy: Vec<CidrRange>,
    /// Delay, in ticks, of commands without a target tick (foreign dialects have no field for one);
    /// at most one second.
    #[arg(long, value_name = "TICKS", default_value = "0", env = "TICKWIRE_COMMAND_DELAY_TICKS")]
    command_delay_ticks: u32,
    /// Origin of pages that may connect, such as `https://example.org`; may be repeated or
    /// comma-separated. Default: any origin.
    #[arg(long, value_name = "ORIGIN", env = "TICKWIRE_ALLOW_ORIGIN", value_delimiter = ',', value_parser = value_parsers::parse_origin)]
    allow_origin: Vec<String>,
    /// Packet tables to use instead of the built-in tables: a directory of `.tsv` files, one such
    /// file, or a capture that contains its tables.
    #[arg(long, value_name = "TABLES", env = "TICKWIRE_CODES")]
    codes: Option<PathBuf>,
    /// Token for /admin, and for /wire and /metrics from other machines; at least 16 characters.
    /// Prefer the environment variable, which other users of this machine cannot see. Default: a
    /// new token, printed at startup.
    #[arg(long, value_name = "TOKEN", env = "TICKWIRE_ADMIN_TOKEN", hide_env_values = true)]
    admin_token: Option<TokenArg>,
    #[command(flatten)]
    bots: BotArgs,
    #[command(flatten)]
    players: PlayerArgs,
    #[command(flatten)]
    lockstep: LockstepArgs,
    /// Compress updates for clients that offer permessage-deflate, as browsers do. Costs CPU time,
    /// and most packets are short.
    #[arg(long, env = "TICKWIRE_COMPRESSION", value_parser = FalseyValueParser::new())]
    compression: bool,
    /// Datagrams in addition to the WebSockets, for clients that request them, on the UDP port with
    /// the number of --bind: off; udp, for programs; webrtc, for browsers; both.
    #[arg(long, value_name = "CARRIER", default_value = "off", env = "TICKWIRE_LANE")]
    lane: LaneArg,
    /// Public address of the UDP port of --lane, with :PORT if the public port differs. Default:
    /// the local address of each client's WebSocket. Needed with NAT, a proxy or a container.
    #[arg(long, value_name = "ADDRESS", env = "TICKWIRE_UDP_PUBLIC")]
    udp_public: Option<UdpPublic>,
    /// Append the key of each lane to this file, so that Wireshark can decrypt captured datagrams.
    /// For tests only: anyone with the file can read and forge datagrams. Needs a --lane other than
    /// off.
    #[arg(long, value_name = "FILE", env = "TICKWIRE_KEY_LOG")]
    key_log: Option<PathBuf>,
    /// Directory in which the operator command `save` writes the world.
    #[arg(long, value_name = "DIR", default_value = ".", env = "TICKWIRE_SAVE_DIR")]
    save_dir: PathBuf,
    /// Restore the world from this file, written by `save`. The seed, map size and tick rate in the
    /// file override the flags. The players in it are removed.
    #[arg(long, value_name = "FILE", env = "TICKWIRE_RESTORE")]
    restore: Option<PathBuf>,
    #[command(flatten)]
    journal: StorageArgs,
    #[command(flatten)]
    fleet: FleetArgs,
    #[command(flatten)]
    cluster: ClusterArgs,
    /// Capture all traffic to this file, for Wireshark. With `-`, the capture goes to standard
    /// output and all other output to standard error. An existing file is not overwritten.
    #[arg(long, value_name = "FILE", env = "TICKWIRE_CAPTURE")]
    capture: Option<PathBuf>,
    /// Capture packets only, for tcpdump and other tools: without the world, so the capture cannot
    /// be replayed.
    #[arg(long, env = "TICKWIRE_CAPTURE_PLAIN", requires = "capture")]
    capture_plain: bool,
    /// Size of a capture file, in millions of bytes, after which the capture continues in the next
    /// file: a.pcapng is followed by a.1.pcapng.
    #[arg(long, value_name = "MB", default_value_t = limits::CAPTURE_FILE_MB, env = "TICKWIRE_CAPTURE_FILE_MB",
          value_parser = clap::value_parser!(u64).range(1..))]
    capture_file_mb: u64,
    /// Time after which the capture continues in the next file.
    #[arg(long, value_name = "SECONDS", env = "TICKWIRE_CAPTURE_FILE_SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    capture_file_seconds: Option<u64>,
    /// Log filter: off, error, warn, info, debug or trace, or a module's level, such as
    /// tickwire::net=debug; separate several with commas.
    #[arg(long, value_name = "FILTER", default_value = "info", env = "TICKWIRE_LOG")]
    log: String,
}

fn parse_on_off(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("must be on or off".to_owned()),
    }
}

/// Serves until Ctrl-C, SIGTERM or the operator's `stop`.
pub fn run(args: &ServeArgs, all: &GameList) -> Result<(), CliError> {
    let first = args.game.as_deref().map(|text| all.with_default(text));
    let (games, options) = first.transpose().map_err(|reason| format!("--game {reason}"))?.unzip();
    let games = games.as_ref().unwrap_or(all);
    let mut config = config(args, games, &options.unwrap_or_default())?;
    config.data = Arc::new(args.journal.open_data()?);
    let mut journal = args.journal.open(args.cluster.url())?;
    let rooms = rooms(&config, args, games, &mut journal)?;
    rooms
        .iter()
        .try_for_each(|room| room.handle().game.check_tables(&config.codes))
        .map_err(|error| error.to_string())?;
    config.bots = args.bots.count(config.self_check, rooms.iter().map(|room| room.handle().game))?;
    let log = Log::start(&args.log)?;
    config.journal = journal.map(RecoveringJournals::begin);
    args.players.warn();
    let served = serve(config, rooms, args, !games.is_built_in());
    log.finish();
    served
}

/// The default room, and the rooms of `--room`.
fn rooms(
    config: &ServerConfig,
    args: &ServeArgs,
    games: &GameList,
    journal: &mut Option<RecoveringJournals>,
) -> Result<Vec<Box<TcpRoom>>, CliError> {
    if args.room.len() >= limits::ROOMS {
        return Err(format!("--room: a server has at most {} rooms, with the default room", limits::ROOMS));
    }
    let left = limits::ROOMS - 1 - args.room.len();
    if config.rooms_on_demand > left {
        let given = config.rooms_on_demand;
        return Err(format!("--rooms-on-demand {given}: must be at most {left} besides the other rooms"));
    }
    let options = |identity: &WorldParams| config.room_options("", identity.tick_hz);
    let first = match &args.restore {
        Some(file) => restore(&config.game, file, "--restore ", &options)?,
        None => journaled_room(journal, &config.game, &config.identity, options(&config.identity))?,
    };
    let mut rooms = vec![first];
    let mut names = BTreeSet::new();
    for text in &args.room {
        let room = RoomArg::read(text, games).map_err(|reason| format!("--room {text}: {reason}"))?;
        if !names.insert(room.name.clone()) {
            return Err(format!("--room {}: two rooms have this name", room.name));
        }
        let options = |identity: &WorldParams| room.options(config, identity.tick_hz);
        let identity = room.identity(config);
        rooms.push(match &room.restore {
            Some(file) => restore(&room.game, file, &format!("--room {},restore=", room.name), &options)?,
            None => journaled_room(journal, &room.game, &identity, options(&identity))?,
        });
    }
    Ok(rooms)
}

/// A room with the world of a file written by `save`. `flag` is the name of the flag in errors.
fn restore(
    game: &TcpGameFactory,
    file: &Path,
    flag: &str,
    options: &dyn Fn(&WorldParams) -> RoomConfig,
) -> Result<Box<TcpRoom>, CliError> {
    restore_room(game, file, options).map_err(|reason| format!("{flag}{reason}"))
}

fn serve(
    config: ServerConfig,
    rooms: Vec<Box<TcpRoom>>,
    args: &ServeArgs,
    has_own_game: bool,
) -> Result<(), CliError> {
    let is_to_stdout = args.capture.as_deref() == Some(Path::new(STDOUT_ARG));
    let print = if is_to_stdout { print_to_stderr } else { print };
    let stopped = signals::stopped()?;
    let bind = config.bind;
    let has_players = args.journal.is_on();
    let started = rooms.iter().map(|room| (Arc::clone(room.handle()), room.handle().tick()));
    let restored: Vec<_> = started.filter(|(_, tick)| *tick > 0 && !has_players).collect();
    let mut server = ServerHandle::start_rooms(config, rooms).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => format!("{bind} is in use; choose another with --bind ADDR:PORT"),
        io::ErrorKind::QuotaExceeded => error.to_string(),
        io::ErrorKind::InvalidInput if args.cluster.is_on() => format!("--cluster-address: {error}"),
        _ => format!("cannot listen on {bind}: {error}"),
    })?;
    if let Some(file) = &args.capture {
        let target = if is_to_stdout { CaptureTarget::Stdout } else { CaptureTarget::File(file.clone()) };
        let started = if args.capture_plain { server.capture_plain(target) } else { server.capture(target) };
        started.map_err(|error| format!("--capture: {error}"))?;
    }
    print(&banner(&server, args.admin_token.is_none(), has_own_game));
    warn_of_other_localhost(server.address());
    if let Some(why) = prediction::problem(server.config()) {
        warn!("{why}");
    }
    for (room, tick) in restored {
        info!(
            room = Some(&*room.options.name).filter(|name| !name.is_empty()),
            tick,
            "the restored world continues; its players are removed, because they have no clients on this server"
        );
    }
    console::start(server.console(), print)?;
    wait_for_stop(&server, &stopped);
    let ticked = server.is_ticking();
    info!("shutting down: closing all connections");
    let left = server.shut_down();
    if let Some(why) = server.journal_error() {
        return Err(format!("the server has stopped because the journal has failed: {why}"));
    }
    if left > 0 {
        return Err(format!("{} did not close before the shutdown deadline", count_noun(left, "connection")));
    }
    if !ticked {
        return Err("the room's thread ended unexpectedly, which is a bug: see the panic above".to_owned());
    }
    info!("stopped");
    Ok(())
}

/// Waits until the server must stop: after a signal and the drain, by an operator command, or
/// because the default room has ended.
fn wait_for_stop(server: &ServerHandle, stopped: &Receiver<()>) {
    while server.is_ticking() && !server.is_stop_requested() {
        if stopped.recv_timeout(limits::ROOM_WATCHDOG_INTERVAL).is_ok() && !server.drain() {
            return;
        }
    }
}

/// The carrier of lanes.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum LaneArg {
    Off,
    Udp,
    Webrtc,
    Both,
}

fn config(args: &ServeArgs, games: &GameList, options: &OptionValues) -> Result<ServerConfig, CliError> {
    if args.max_clients == 0 || args.max_clients_per_address == 0 {
        return Err("--max-clients and --max-clients-per-address must be at least 1".to_owned());
    }
    if !args.save_dir.is_dir() {
        return Err(format!("--save-dir {}: no such directory", args.save_dir.display()));
    }
    let admin_token = match &args.admin_token {
        Some(TokenArg(text)) => AdminToken::new(text).map_err(|reason| format!("--admin-token: {reason}"))?,
        None => AdminToken::random(),
    };
    let game = *games.factories.first().ok_or("a server needs a game")?;
    let mut identity = identity(game.info, args)?;
    options.iter().for_each(|(name, value)| identity.set(name, *value));
    let tick_hz = identity.tick_hz;
    let usual_hz = game.info.tick_rates.first().copied().unwrap_or(tick_hz);
    let codes = tables::load_or_built_in(args.codes.as_deref(), games)?;
    Ok(ServerConfig {
        identity,
        update_hz: args.update_hz.unwrap_or(usual_hz).min(tick_hz),
        foreign_update_hz: args.foreign_update_hz.min(tick_hz),
        rooms_on_demand: usize::from(args.rooms_on_demand),
        cluster: args.cluster.config(args.rooms_on_demand, !args.room.is_empty())?,
        seat_time: resume_time(args),
        max_clients: args.max_clients,
        max_clients_per_address: args.max_clients_per_address,
        address_rate_limits: args.address_rate_limits,
        players: args.players.read()?,
        lockstep: args.lockstep.config(),
        self_check: args.lockstep.self_check,
        compression: args.compression,
        lane: match args.lane {
            LaneArg::Off => LaneMode::Off,
            LaneArg::Udp => LaneMode::Udp,
            LaneArg::Webrtc => LaneMode::WebRtc,
            LaneArg::Both => LaneMode::Both,
        },
        udp_public: args.udp_public,
        key_log: key_log(args)?,
        trusted_proxies: args.trusted_proxy.clone(),
        command_delay_ticks: args.command_delay_ticks,
        allowed_origins: args.allow_origin.clone(),
        prediction_module: prediction::load(games),
        admin_token,
        drain_time: args.fleet.drain_time(),
        agones: args.fleet.agones()?,
        save_dir: args.save_dir.clone(),
        capture_dir: capture_dir(args),
        rotation: Rotation {
            bytes: args.capture_file_mb.saturating_mul(1_000_000),
            time: args.capture_file_seconds.map(Duration::from_secs),
        },
        on_event: games.on_event.clone(),
        ..ServerConfig::for_games(args.bind, game, games.factories.clone(), codes)
    })
}

/// Opens the key log.
fn key_log(args: &ServeArgs) -> Result<Option<Arc<KeyLog>>, CliError> {
    let Some(path) = &args.key_log else { return Ok(None) };
    if matches!(args.lane, LaneArg::Off) {
        return Err("--key-log needs --lane: a server without lanes has no keys".to_owned());
    }
    let log = KeyLog::open(path).map_err(|error| format!("--key-log {}: {error}", path.display()))?;
    Ok(Some(Arc::new(log)))
}

/// Time for which players stay without a connection. With `--journal`, at least the time of a
/// restart.
fn resume_time(args: &ServeArgs) -> Duration {
    let min_time = if args.journal.is_on() { limits::RESTART_RESUME_TIME } else { Duration::ZERO };
    Duration::from_secs(args.resume_seconds).max(min_time)
}

/// The parameters of the default room's world.
fn identity(info: &GameInfo, args: &ServeArgs) -> Result<WorldParams, CliError> {
    let mut identity = (info.identity)(args.seed);
    if let Some(hz) = args.tick_hz {
        identity.tick_hz = info.check_tick_hz(hz).map_err(|reason| format!("--tick-hz {hz}: {reason}"))?;
    }
    let option = info.options.iter().find(|option| option.flag == MAP_SIZE);
    if let Some(given) = args.map_size {
        let option =
            option.ok_or_else(|| format!("--map-size {given}: the game {} has no such option", info.name))?;
        let (min, max) = (option.min, option.max);
        if !(min..=max).contains(&given) {
            return Err(format!("--map-size {given}: must be {min} to {max}"));
        }
        identity.set(option.name, given);
    }
    Ok(identity)
}

/// The directory for captures started by an operator command: the directory of `--capture`,
/// otherwise the directory of `save`.
fn capture_dir(args: &ServeArgs) -> PathBuf {
    let file = args.capture.as_deref().filter(|file| *file != Path::new(STDOUT_ARG));
    match file.and_then(Path::parent) {
        None => args.save_dir.clone(),
        Some(directory) if directory.as_os_str().is_empty() => PathBuf::from("."),
        Some(directory) => directory.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::games::moo::world::{Action, Command, PlayerId, TickHz, World};

    /// Restores a world after an operator command with this sequence number. Returns its tick.
    fn restored(operator_sequence: u64) -> Result<u32, String> {
        let identity =
            crate::games::moo::world::Identity { seed: 1, map_size_px: 2_000, tick_hz: TickHz::Hz30 };
        let mut world = World::new(identity);
        let announce = Action::Announce { text: "hello".to_owned() };
        world.step(&mut vec![Command { player: PlayerId(0), sequence: operator_sequence, action: announce }]);
        let file =
            std::env::temp_dir().join(format!("tickwire-restore-{}-{operator_sequence}", std::process::id()));
        fs::write(&file, world.snapshot()).expect("a file");
        let config = ServerConfig::new(([127, 0, 0, 1], 0).into());
        let options = |identity: &WorldParams| config.room_options("", identity.tick_hz);
        let room = restore(&GameList::built_in().factories[0], &file, "--restore ", &options);
        fs::remove_file(&file).expect("it was there");
        room.map(|room| room.handle().tick()).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_world_with_more_operator_commands_than_32_bits_count_is_restored() {
        assert_eq!(restored(u64::from(u32::MAX) + 7), Ok(1));
        let problem = restored(u64::MAX / 2 + 1).expect_err("no room for more commands");
        assert!(problem.contains("too close to its maximum"), "{problem}");
    }
}
