//! The protocol of a connection: packets of a dialect, or messages of another server.
//!
//! ```text
//!   --dialect none ────────────────────────────────────────────► other
//!   --dialect NAME ────────────────────────────────────────────► packets
//!   a path that no game has ───────────────────────────────────► other
//!   any other URL ──► /rooms: the game of the room ────────────► packets
//!                      └──► no list of rooms within a second ──► other
//! ```

use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};
use std::thread;

use crate::cli::game_list::GameList;
use crate::cli::output::CliError;
use crate::cli::tables;
use crate::client::room_list::{self, GameOfRoom};
use crate::client::stream::Stream;
use crate::client::tls::ClientConfig;
use crate::client::url::Url;
use crate::limits;
use crate::packet::routes::split_room_path;
use crate::packet::{Dialect, PacketTables};
use crate::tools::explain::NO_DIALECT;

/// Paths of a game, each with its dialect.
type GamePaths = &'static [(&'static str, &'static str)];

/// The options that choose the protocol.
#[derive(Clone, Copy, Debug)]
pub struct ProtocolOptions<'a> {
    /// The URL as given.
    pub url: &'a Url,
    /// `--dialect`.
    pub dialect: Option<&'a str>,
    /// Whether packets are JSON.
    pub is_json: bool,
}

/// The URL to request, and how to decode its messages.
#[derive(Debug)]
pub struct MessageProtocol {
    /// The URL with the path of the dialect.
    pub url: Url,
    /// The packet tables, with the paths of the room. Without paths for another server.
    pub codes: PacketTables,
    /// The dialect, unless the path selects one.
    pub dialect: Arc<Dialect>,
    /// Whether the user requested the dialect.
    pub is_requested: bool,
    /// Whether messages are not packets.
    pub is_foreign: bool,
}

/// Determines the protocol from the options, or else from the server.
///
/// # Errors
/// The options contradict each other or the URL, or name an unknown dialect.
pub fn find(
    args: ProtocolOptions<'_>,
    games: &GameList,
    codes: &PacketTables,
    tls: Option<&Arc<ClientConfig>>,
) -> Result<MessageProtocol, CliError> {
    let first = games.factories[0].info.paths;
    let paths = match args.dialect {
        Some(NO_DIALECT) => None,
        Some(_) => Some(first),
        None => paths_of_server(args, games, tls),
    };
    let Some(paths) = paths else { return foreign(args, codes) };
    let mut url = args.url.clone();
    let (dialect, _) = tables::find_dialect(codes, paths, &url, args.dialect, url.is_exact())?;
    if !url.is_exact() {
        url = url.with_dialect_path(paths, dialect.name());
    }
    if args.is_json {
        url.target.push_str(if url.target.contains('?') { "&format=json" } else { "?format=json" });
    }
    let codes = in_room(codes, url.room(), paths);
    Ok(MessageProtocol { url, codes, dialect, is_requested: args.dialect.is_some(), is_foreign: false })
}

fn foreign(args: ProtocolOptions<'_>, codes: &PacketTables) -> Result<MessageProtocol, CliError> {
    if args.is_json {
        return Err(
            "--format json: is for the packets of a tickwire server: leave it out, or give --dialect"
                .to_owned(),
        );
    }
    // Never decodes a message, because no path has it.
    let dialect = codes.dialects().next().cloned().ok_or("the packet tables have no dialect")?;
    let url = args.url.clone();
    let room = split_room_path(url.target.split('?').next().unwrap_or_default()).0;
    let codes = in_room(codes, room, &[]);
    Ok(MessageProtocol { codes, dialect, is_requested: false, is_foreign: true, url })
}

/// A copy of the tables with the paths of this room.
fn in_room(codes: &PacketTables, room: &str, paths: &[(&str, &str)]) -> PacketTables {
    let paths = paths.iter().map(|(path, dialect)| ((*path).to_owned(), (*dialect).to_owned())).collect();
    codes.clone().with_room_paths(BTreeMap::from([(room.to_owned(), paths)]))
}

/// The paths of the game at the URL; `None` for a server that is not a tickwire server. If the
/// server cannot be reached, or the program lacks its game, the paths of the program's first game.
fn paths_of_server(
    args: ProtocolOptions<'_>,
    games: &GameList,
    tls: Option<&Arc<ClientConfig>>,
) -> Option<GamePaths> {
    let first = games.factories[0].info.paths;
    if args.url.room_prefix().is_none() && !is_path_of_a_game(args.url, games) {
        return None;
    }
    match probe(args.url, tls) {
        Some(GameOfRoom::Known(name)) => Some(games.named(&name).map_or(first, |factory| factory.info.paths)),
        Some(GameOfRoom::NoRoom) => Some(first),
        Some(GameOfRoom::NoList) | None => None,
    }
}

fn is_path_of_a_game(url: &Url, games: &GameList) -> bool {
    let (_, path) = split_room_path(url.target.split('?').next().unwrap_or_default());
    let mut paths = games.factories.iter().flat_map(|factory| factory.info.paths);
    paths.any(|(known, _)| *known == path)
}

/// Requests the list of rooms in a thread, and waits at most [`limits::CONNECT_PROBE_TIMEOUT`]. An
/// unreachable server counts as a tickwire server, because the connection then fails anyway.
fn probe(url: &Url, tls: Option<&Arc<ClientConfig>>) -> Option<GameOfRoom> {
    let (sender, receiver) = mpsc::channel();
    let (url, tls) = (url.clone(), tls.cloned());
    thread::spawn(move || {
        let found = match Stream::open(&url, tls.as_ref()) {
            Ok(stream) => room_list::game_of_room(&url, stream).unwrap_or(GameOfRoom::NoList),
            Err(_) => GameOfRoom::NoRoom,
        };
        // Fails after the timeout.
        let _ = sender.send(found);
    });
    receiver.recv_timeout(limits::CONNECT_PROBE_TIMEOUT).ok()
}
