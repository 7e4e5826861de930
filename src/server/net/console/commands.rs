//! The built-in operator commands: their table, their execution and the parsing of their arguments.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

use tickwire_sim::{EncodedAction, PlayerId};
use tracing::{debug, info};

use super::context::{CommandContext, CommandResult};
use super::{bans, memory, processes, save_world, traffic};
use crate::connection::DisconnectReason;
use crate::game::{CloseReason, OperatorCommand, OperatorCommandError as No, Roster};
use crate::limits;
use crate::packet::routes::is_private;
use crate::server::admission::tokens::Permission;
use crate::server::net::drain;
use crate::server::net::recorder::{self, Wanted};
use crate::server::net::room_access;
use crate::server::net::rooms::RunningRoom;
use crate::server::net::server_data;
use crate::server::net::server_state::{ServerState, ShutdownStage};
use crate::server::net::tcp_client::TcpClient;
use crate::server::room::seats::Seat;
use crate::server::room::{QueryQueueFull, RoomHandle};
use crate::util::plural::count_noun;

/// A command: usage, description, and the function that executes it.
pub type CommandRow = (&'static str, &'static str, fn(&CommandContext<'_>, &str) -> CommandResult);

/// The command that selects the room of another command.
const ROOM_USAGE: &str = "room NAME COMMAND";

/// Built-in commands that act on one room. The others act on the server.
const ROOM_COMMANDS: [&str; 7] = ["players", "kick", "save", "capture", "stats", "memory", "end"];

/// The built-in operator commands. Games add their own in `GameInfo::operator_commands`.
const SERVER_COMMANDS: [CommandRow; 18] = [
    ("help", "list the commands", |context, _| Ok(help(context.room.handle.game.operator_commands))),
    ("players", "list the players, with their addresses", |context, _| context.players()),
    ("kick PLAYER", "close a player's connection", |context, rest| context.kick(rest)),
    (
        "ban ADDRESS",
        "close the connections of an address, or of the /64 of an IPv6 address, and accept no more from it",
        bans::ban,
    ),
    ("unban ADDRESS", "accept connections from an address, or from its /64, again", bans::unban),
    ("bans", "list the banned addresses", |context, _| Ok(bans::list(context.host))),
    (
        "notice [TEXT | off]",
        "show a text on the title of the pages, or no longer; without an argument, print it",
        |context, rest| context.notice(rest),
    ),
    ("save", "write the world to a file, for --restore", |context, _| context.save()),
    ("rooms", "list the rooms: name, players, clients, tick, state", |context, _| Ok(context.rooms())),
    (
        "processes",
        "list the processes of the cluster: rooms, rooms that they can still make, players, address, URL",
        |context, _| processes::list(context.host),
    ),
    (ROOM_USAGE, "carry out a command in another room than the default room", |_, _| {
        Err(No::Usage(String::new()))
    }),
    ("end", "end a room that was made on demand, as `room NAME end`", |context, _| context.end()),
    (
        "capture [on [PLAYER] [plain] | off]",
        "start or stop a capture for Wireshark (plain: packets alone, for other tools); without an argument, show its state",
        |context, rest| context.capture(rest),
    ),
    ("stats", "show the server's key figures", |context, _| Ok(context.stats())),
    (
        "memory",
        "show the bytes that the parts of a room store, and the memory of the server",
        |context, _| Ok(memory::report(context.host, &context.room)?),
    ),
    (
        "traffic",
        "show the bytes that all clients were sent, by packet, and the shares of its fields",
        |context, _| Ok(traffic::report(context.host)),
    ),
    (
        "drain [SECONDS]",
        "accept no new clients and rooms, and stop when no player is left, or after these seconds; default: --drain-seconds",
        |context, rest| context.drain(rest),
    ),
    ("stop", "close all connections and stop the server", |context, _| {
        context.host.advance_to(ShutdownStage::StopRequested);
        Ok("the server is shutting down".to_owned())
    }),
];

/// Returns the first word of a usage.
fn name_of(usage: &'static str) -> &'static str {
    usage.split(' ').next().unwrap_or_default()
}

/// Returns the list of all commands, with the game's commands after `players`.
fn help(commands: &[OperatorCommand]) -> String {
    let mut rows: Vec<(&str, &str)> =
        SERVER_COMMANDS.iter().map(|(usage, does, _)| (*usage, *does)).collect();
    let at = rows.iter().position(|(usage, _)| *usage == "players").map_or(0, |at| at + 1);
    rows.splice(at..at, commands.iter().map(|command| (command.usage, command.help)));
    let width = rows.iter().map(|(usage, _)| usage.len()).max().unwrap_or(0);
    rows.iter().map(|(usage, does)| format!("{usage:<width$}  {does}\n")).collect()
}

/// Executes a line. Returns the command's name, which is also its metric label, and the reply or
/// the error.
pub fn execute(context: &CommandContext<'_>, line: &str) -> (&'static str, CommandResult) {
    let (word, rest) = first_word(line);
    match ROOM_USAGE.strip_prefix(word) {
        Some(usage) if usage.starts_with(' ') && !rest.is_empty() => execute_in_room(context, rest),
        _ => execute_built_in(context, word, rest),
    }
}

/// Executes `NAME COMMAND…` in the named room.
fn execute_in_room(context: &CommandContext<'_>, line: &str) -> (&'static str, CommandResult) {
    let (name, line) = first_word(line);
    let (word, rest) = first_word(line);
    let Some(room) = find_room(context.host, name) else {
        let reason = format!("there is no room {:?}; type rooms for a list", shorten_name(name));
        return ("room", Err(No::Failed(reason)));
    };
    if word.is_empty() {
        return ("room", Err(No::Usage(format!("usage: {ROOM_USAGE}"))));
    }
    if SERVER_COMMANDS.iter().any(|(usage, ..)| first_word(usage).0 == word) && !ROOM_COMMANDS.contains(&word)
    {
        let commands = room.handle.game.operator_commands.iter().map(|command| name_of(command.usage));
        let names: Vec<&str> = ROOM_COMMANDS.into_iter().chain(commands).collect();
        let reason = format!("{word} is not a command of one room; those are {}", names.join(", "));
        return ("room", Err(No::Usage(reason)));
    }
    execute_built_in(&CommandContext { room, ..*context }, word, rest)
}

/// Returns the room of this name, or the private room with this alias.
pub fn find_room(host: &ServerState, name: &str) -> Option<Arc<RunningRoom>> {
    let alike = || host.rooms.all().into_iter().find(|room| room.name() == name);
    host.rooms.find(name).or_else(alike).filter(|_| !name.is_empty())
}

/// Shortens a room's name for an error message.
fn shorten_name(name: &str) -> String {
    let visible = if is_private(name) {
        name.chars().take(limits::PRIVATE_NAME_VISIBLE_CHARS).collect()
    } else {
        excerpt(name)
    };
    if visible.len() < name.len() { format!("{visible}…") } else { visible }
}

/// Splits a line into its first word and the rest.
fn first_word(line: &str) -> (&str, &str) {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    (word, rest.trim_start())
}

/// Shortens a word for an error message.
fn excerpt(word: &str) -> String {
    word.chars().take(limits::PACKET_EXCERPT_CHARS).collect()
}

/// Executes a command in the room of `context`.
fn execute_built_in(context: &CommandContext<'_>, word: &str, rest: &str) -> (&'static str, CommandResult) {
    let found = SERVER_COMMANDS.iter().find(|(usage, ..)| name_of(usage) == word);
    let mut commands = context.room.handle.game.operator_commands.iter();
    let game_command = commands.find(|command| name_of(command.usage) == word);
    let Some(usage) = found.map(|row| row.0).or(game_command.map(|command| command.usage)) else {
        let word = excerpt(word);
        let reason = format!("there is no command {word:?}; type help for a list of commands");
        return ("unknown", Err(No::Usage(reason)));
    };
    let name = name_of(usage);
    let only_looks = ["help", "players", "bans", "stats", "memory", "traffic", "rooms", "processes"]
        .contains(&name)
        || ["capture", "notice"].contains(&name) && rest.is_empty();
    let takes_none = name == usage && !rest.is_empty();
    if only_looks || takes_none {
        // Logged at debug level, because an open /admin page sends these every second.
        debug!(from = %context.source, room = context.room.label(), command = name, "operator command");
    } else {
        let room = context.room.label();
        info!(from = %context.source, room, command = name, arguments = rest, "operator command");
    }
    let result =
        match (context.host.is_at_least(ShutdownStage::StopRequested), takes_none, found, game_command) {
            (true, ..) => Err(No::Failed("the server is shutting down".to_owned())),
            (false, true, ..) => Err(No::Usage("it takes no arguments".to_owned())),
            (false, false, Some((.., run)), _) => run(context, rest),
            (false, false, None, Some(command)) => context.game_command(command, rest),
            (false, false, None, None) => Err(No::Usage(String::new())),
        };
    let result = result.map_err(|no| match no {
        No::Usage(expected) if expected.is_empty() => No::Usage(format!("usage: {usage}")),
        No::Usage(expected) => No::Usage(format!("usage: {usage}; {expected}")),
        No::Failed(reason) => No::Failed(reason),
    });
    (name, result)
}

impl CommandContext<'_> {
    /// Sends a query to the room and waits for the result.
    fn query<A>(
        &self,
        request: impl FnOnce(&RoomHandle) -> Result<Receiver<A>, QueryQueueFull>,
    ) -> Result<A, String> {
        room_access::query(&self.room, request)
    }

    /// Ends the room and waits until it has ended.
    fn end(&self) -> CommandResult {
        if !self.room.is_on_demand() {
            let rule =
                "is not on demand: it ends with the server; only rooms that a path has made can be ended";
            return Err(No::Failed(format!("{} {rule}", self.room.title())));
        }
        let clients = self.room.clients();
        self.room.request_end();
        let deadline = Instant::now() + limits::ROOM_QUERY_TIMEOUT;
        while !self.room.handle.is_over() {
            if Instant::now() >= deadline {
                return Err(No::Failed("the room is ending, but has not ended in time".to_owned()));
            }
            thread::sleep(limits::FLUSH_POLL_INTERVAL);
        }
        Ok(format!("{} has ended; clients closed: {clients}", self.room.title()))
    }

    /// Queues a command for the world, which may reject it.
    fn command(&self, action: EncodedAction, summary: String) -> CommandResult {
        match self.query(|room| room.command(action))? {
            Ok(()) => Ok(summary),
            Err(rejection) => Err(No::Failed(format!("the world rejected the command: {rejection}"))),
        }
    }

    fn game_command(&self, command: &OperatorCommand, rest: &str) -> CommandResult {
        let (action, summary) = (command.parse)(rest, &|text| self.find(text))?;
        self.command(action, summary)
    }

    /// Returns the player with this number or name. Quoted text is always a name.
    fn find(&self, text: &str) -> Result<PlayerId, No> {
        let text = text.trim();
        let quoted = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        if text.is_empty() {
            return Err(No::Usage("PLAYER must be a number from `players`, or a name".to_owned()));
        }
        if quoted.is_some() || text.bytes().any(|byte| !byte.is_ascii_digit()) {
            let roster = self.query(RoomHandle::roster)?;
            let players = roster.players.iter().map(|(player, name, _)| (*player, &**name));
            return Ok(by_name(players, quoted.unwrap_or(text))?);
        }
        text.parse().ok().filter(|number| *number > 0).map(PlayerId).ok_or_else(|| {
            let numbers = format!("PLAYER must be a number from 1 to {}", u16::MAX);
            No::Usage(format!("{numbers}, or a name, in quotes if it looks like a number"))
        })
    }

    /// Returns the client with this player.
    fn client_of(&self, player: PlayerId) -> Option<Arc<TcpClient>> {
        match self.room.handle.seat(player)? {
            Seat::Connected(number) => self.host.clients.get(number),
            _ => None,
        }
    }

    /// Returns a player and its client.
    fn named(&self, text: &str) -> Result<(PlayerId, Arc<TcpClient>), No> {
        let player = self.find(text)?;
        let client = self.client_of(player);
        Ok((player, client.ok_or_else(|| format!("no client plays as player {}", player.0))?))
    }

    fn players(&self) -> CommandResult {
        let Roster { heading, players } = self.query(RoomHandle::roster)?;
        if players.is_empty() {
            return Ok("no player is connected".to_owned());
        }
        let mut text = format!("number  {heading}  address          name\n");
        for (player, name, line) in players {
            let client = self.client_of(player);
            let address = client.as_ref().map_or("-".to_owned(), |client| match client.transport.is_bot() {
                true => "bot".to_owned(),
                false => client.address.ip().to_string(),
            });
            let token = match client.and_then(|client| client.pass()) {
                Some(Permission::Holder(holder)) => format!("  token {}", holder.name),
                _ => String::new(),
            };
            writeln!(text, "{:>6}  {line}  {address:<15}  {name:?}{token}", player.0)
                .expect("writing to a string does not fail");
        }
        Ok(text)
    }

    fn kick(&self, rest: &str) -> CommandResult {
        let (player, now) = (self.find(rest)?, self.host.now());
        // Dismissed before the client is closed, because the client may reconnect quickly.
        let seat = self.room.handle.dismiss(player, now);
        let seat = seat.ok_or_else(|| format!("no client plays as player {}", player.0))?;
        let plays = |client: &Arc<TcpClient>| seat == Seat::Connected(client.id);
        let Some(client) = self.host.clients.all().into_iter().find(plays) else {
            self.room.wake();
            return Ok(format!("player {} was kicked; it had no connection", player.0));
        };
        client.close(DisconnectReason::Closed(CloseReason::Kicked), now);
        if client.transport.is_bot() {
            return Ok(format!("player {} was kicked; it is a bot, and comes back soon", player.0));
        }
        Ok(format!("player {} was kicked; its address is {}", player.0, client.address.ip()))
    }

    fn notice(&self, rest: &str) -> CommandResult {
        let (data, no_notice) = (self.host.data(), "the pages show no notice");
        let (notice, summary) = match rest {
            "" => {
                return Ok(data
                    .notice()
                    .map_or(no_notice.to_owned(), |notice| format!("the notice is: {notice}")));
            }
            "off" => (None, no_notice.to_owned()),
            text if text.chars().count() > limits::NOTICE_CHARS => {
                return Err(No::Usage(format!("TEXT may have at most {} characters", limits::NOTICE_CHARS)));
            }
            text => (Some(text), format!("the pages show the notice: {text}")),
        };
        let stored = data.set_notice(notice);
        let summary = summary + bans::share(self.host);
        stored.map_err(|why| server_data::note_error(&self.host.metrics, &why, &summary))?;
        Ok(summary)
    }

    fn save(&self) -> CommandResult {
        let snapshot = self.query(RoomHandle::snapshot)?;
        let directory = &self.host.config.save_dir;
        let name = save_world::write(directory, self.room.label(), &snapshot)
            .map_err(|error| format!("{}: {error}", directory.display()))?;
        let (path, tick, bytes) = (directory.join(name), snapshot.tick, snapshot.bytes.len());
        Ok(format!("saved the world after tick {tick} to {}: {bytes} bytes", path.display()))
    }

    fn capture(&self, rest: &str) -> CommandResult {
        let (word, rest) = first_word(rest);
        let before_plain =
            rest.strip_suffix("plain").filter(|before| before.is_empty() || before.ends_with(' '));
        let (player, is_plain) = before_plain.map_or((rest, false), |before| (before.trim_end(), true));
        if player.is_empty() && self.room.label().is_some() {
            let rule = "a capture has all rooms, or one player: room NAME capture on PLAYER";
            return Err(No::Failed(rule.to_owned()));
        }
        match word {
            "" if !is_plain => Ok(self.host.recorder.status()),
            "off" if rest.is_empty() => Ok(self.host.recorder.stop()?),
            "on" => {
                let named = (!player.is_empty()).then(|| self.named(player)).transpose()?;
                let only = named.map(|(_, client)| client.id);
                let target = recorder::file_of_tick(&self.host.config.capture_dir, self.room.handle.tick());
                Ok(format!(
                    "{} is being written",
                    self.host.recorder.start(target, Wanted { only_client: only, is_plain })?
                ))
            }
            _ => Err(No::Usage(String::new())),
        }
    }

    fn drain(&self, rest: &str) -> CommandResult {
        let time = match (rest, self.host.config.drain_time) {
            ("", Duration::ZERO) => {
                let rule = "without --drain-seconds, SECONDS must be given";
                return Err(No::Usage(rule.to_owned()));
            }
            ("", time) => time,
            (text, _) => Duration::from_secs(
                text.parse().map_err(|_| No::Usage("SECONDS must be a whole number".to_owned()))?,
            ),
        };
        drain::begin(self.host, time)?;
        let players = count_noun(drain::players(self.host), "player");
        Ok(format!("the server drains for at most {} s; it waits for {players}", time.as_secs()))
    }

    /// Returns one line per room. The default room, which has no name, comes first.
    fn rooms(&self) -> String {
        let mut text = String::from("players  clients        tick  state     room\n");
        for room in self.host.rooms.all() {
            let (players, clients, tick) = (room.players(), room.clients(), room.handle.tick());
            let state = match room.health_problem(self.host.now()) {
                Some(_) if room.handle.is_over() => "ended",
                Some(_) => "late",
                None if room.is_asleep() => "asleep",
                None => "ticks",
            };
            let name = Some(&*room.path_name).filter(|name| !name.is_empty()).unwrap_or("(default)");
            writeln!(text, "{players:>7}  {clients:>7}  {tick:>10}  {state:<8}  {name}")
                .expect("writing to a string does not fail");
        }
        text
    }

    /// Returns one metric per line: its name, spaces, its value.
    fn stats(&self) -> String {
        let (metrics, room_metrics) = (&self.host.metrics, &self.room.metrics);
        let figures: [(&str, String); 14] = [
            ("tick", self.room.handle.tick().to_string()),
            ("tick rate", format!("{} Hz", self.room.handle.options.rates.tick_hz)),
            ("up", format!("{} s", self.host.now().as_secs())),
            ("clients", room_metrics.clients.get().to_string()),
            ("players", self.room.players().to_string()),
            ("bots", room_metrics.bots.get().to_string()),
            ("connections", metrics.accepted.get().to_string()),
            ("late ticks", room_metrics.late_ticks.get().to_string()),
            ("skipped ticks", room_metrics.skipped_ticks.get().to_string()),
            ("merged ticks", room_metrics.merged_ticks.get().to_string()),
            ("received", format!("{} bytes", metrics.bytes_in.get())),
            ("sent", format!("{} bytes", metrics.sent_bytes())),
            ("bans", self.host.admission.bans().len().to_string()),
            ("panics", metrics.panics.get().to_string()),
        ];
        figures.iter().map(|(name, value)| format!("{name:<13}  {value}\n")).collect()
    }
}

/// Returns the player with exactly this name, otherwise the only player with this name in another
/// case.
fn by_name<'a>(
    players: impl Iterator<Item = (PlayerId, &'a str)> + Clone,
    name: &str,
) -> Result<PlayerId, String> {
    let exact: Vec<PlayerId> = players.clone().filter(|(_, own)| *own == name).map(|(id, _)| id).collect();
    let alike = || players.filter(|(_, own)| own.to_lowercase() == name.to_lowercase()).map(|(id, _)| id);
    let found = if exact.is_empty() { alike().collect() } else { exact };
    match found[..] {
        [player] => Ok(player),
        [] => Err(format!("no player is called {name:?}")),
        [..] => {
            let numbers: Vec<String> = found.iter().map(|player| player.0.to_string()).collect();
            Err(format!("several players are called {name:?}: {}", numbers.join(", ")))
        }
    }
}
