//! The operator's console: each line is one command and gets one answer, whatever its source.
//!
//! ```text
//!  standard input ─┐
//!                  ├─ line ─► order ─► what changes the world ─► its room ─► tick ─► done, or the world's refusal
//!  POST /admin ────┘            ├────► what asks the world ────► its room ─► after the tick
//!                               └────► connections, bans, files, the end: here
//! ```
//!
//! [`order`] parses a line, this module executes it for a room, and [`save`] writes the
//! file; [`admin`] is the HTTP endpoint, with its [`token`] and its [`gate`].
//! The result of a line is an [`Answer`] in lines of text, and a log line. The console changes a
//! world only through commands, and never makes its room wait.

pub mod admin;
pub mod gate;
pub mod order;
pub mod save;
pub mod token;

use std::fmt::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use tracing::{debug, info};

use super::client::Client;
use super::host::{Host, Stage};
use super::metrics::Metrics;
use super::recorder;
use crate::household::Household;
use crate::limits;
use crate::peer::Ending;
use crate::room::Handle;
use crate::room::handle::Busy;
use crate::room::seats::Seat;
use crate::session::Breach;
use crate::world::{Action, PlayerId};
use order::{COMMANDS, Capture, Order, Who};

/// The source of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Standard input.
    Terminal,
    /// `/admin`, from this address.
    Admin(IpAddr),
}

impl fmt::Display for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Terminal => out.write_str("terminal"),
            Source::Admin(address) => write!(out, "{address}"),
        }
    }
}

/// The result of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Whether it was carried out.
    pub done: bool,
    /// The answer's lines, each with its line feed; an error is one line that says so.
    pub text: String,
}

/// See the [module](self).
#[derive(Debug, Clone)]
pub struct Console {
    host: Arc<Host>,
}

/// Done, in words; or why not.
type Done = Result<String, String>;

impl Console {
    /// The console of a server.
    pub fn new(host: Arc<Host>) -> Console {
        Console { host }
    }

    /// Whether the server is stopping or about to: further commands have no effect.
    pub fn is_over(&self) -> bool {
        self.host.has_reached(Stage::AskedToStop)
    }

    /// Executes a line. Returns `None` for an empty line.
    pub fn run(&self, line: &str, source: Source) -> Option<Answer> {
        run(&self.host, self.host.room(), line, source)
    }
}

/// As [`Console::run`], for this room.
pub fn run(host: &Host, room: &Handle, line: &str, source: Source) -> Option<Answer> {
    let order = match order::read(line) {
        Ok(order) => order?,
        Err(misread) => {
            info!(from = %source, reason = %misread, "invalid operator command");
            return Some(answer(host, misread.command(), Err(misread.to_string())));
        }
    };
    let name = order.name();
    if order.only_looks() {
        debug!(from = %source, order = ?order, "order");
    } else {
        info!(from = %source, order = ?order, "order");
    }
    let done = if host.has_reached(Stage::AskedToStop) {
        Err("the server is shutting down".to_owned())
    } else {
        carry_out(host, room, order, source)
    };
    if let Err(reason) = &done {
        info!(from = %source, order = name, reason, "order refused");
    }
    Some(answer(host, name, done))
}

fn answer(host: &Host, name: &'static str, done: Done) -> Answer {
    let family = if done.is_ok() { &host.metrics.orders } else { &host.metrics.orders_refused };
    Metrics::count(family, "order", name);
    let mut text = match &done {
        Ok(text) => text.clone(),
        Err(reason) => format!("error: {reason}"),
    };
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Answer { done: done.is_ok(), text }
}

fn carry_out(host: &Host, room: &Handle, order: Order, source: Source) -> Done {
    match order {
        Order::Help => Ok(help()),
        Order::Players => players(host, room),
        Order::Say(text) => command(room, Action::Say { text }, "said".to_owned()),
        Order::Spawn { what, x_px, y_px } => {
            command(room, Action::Spawn { what, x_px, y_px }, format!("placed at {x_px}, {y_px}"))
        }
        Order::Grant { who, resource, amount } => {
            let player = find(room, &who)?;
            let done = format!("player {} received {amount}", player.0);
            command(room, Action::Grant { player, resource, amount }, done)
        }
        Order::Kick(who) => kick(host, room, &who),
        Order::Ban(address) => ban(host, address, source),
        Order::Unban(address) => unban(host, address),
        Order::Bans => Ok(bans(host)),
        Order::Save => save(host, room),
        Order::Capture(wanted) => capture(host, room, &wanted),
        Order::Stats => Ok(stats(host, room)),
        Order::Stop => {
            host.reach(Stage::AskedToStop);
            Ok("the server is shutting down".to_owned())
        }
    }
}

/// Queues a command that changes the world, which the world may reject.
fn command(room: &Handle, action: Action, done: String) -> Done {
    match answer_to(room.command(action))? {
        Ok(()) => Ok(done),
        Err(refusal) => Err(format!("the world rejected the command: {}", refusal.name())),
    }
}

/// Waits for the answer of a room, which comes with one of its next ticks.
fn answer_to<A>(asked: Result<Receiver<A>, Busy>) -> Result<A, String> {
    let answered = asked.map_err(|busy| busy.to_string())?.recv_timeout(limits::ANSWER_TIME);
    let late = "the world did not answer in time; the command may still be executed";
    answered.map_err(|_| late.to_owned())
}

fn help() -> String {
    let usage = |(name, arguments, _): &(&str, &str, &str)| format!("{name} {arguments}");
    let width = COMMANDS.iter().map(|row| usage(row).len()).max().unwrap_or(0);
    COMMANDS.iter().map(|row| format!("{:<width$}  {}\n", usage(row), row.2)).collect()
}

/// The number of a player. A name shared by several players is ambiguous.
fn find(room: &Handle, who: &Who) -> Result<PlayerId, String> {
    match who {
        Who::Number(player) => Ok(*player),
        Who::Name(name) => {
            let picture = answer_to(room.picture())?;
            let names = picture.state.players.iter().map(|seen| (seen.player, &*seen.name));
            by_name(names, name)
        }
    }
}

/// The player with exactly this name; if there is none, the player whose name differs only in case.
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

/// The client that plays as this player.
fn client_of(host: &Host, room: &Handle, player: PlayerId) -> Option<Arc<Client>> {
    match room.seat(player)? {
        Seat::Connected(number) => host.clients.get(number),
        _ => None,
    }
}

fn players(host: &Host, room: &Handle) -> Done {
    let picture = answer_to(room.picture())?;
    if picture.state.players.is_empty() {
        return Ok("no player is connected".to_owned());
    }
    let mut text = String::from("number  age   points  health      x      y  address          name\n");
    for seen in picture.state.players.iter() {
        let client = client_of(host, room, seen.player);
        let address = client.map_or("-".to_owned(), |client| client.address.ip().to_string());
        let health = if seen.alive { seen.health.to_string() } else { "dead".to_owned() };
        let (number, age, score) = (seen.player.0, seen.stats.age, seen.stats.score);
        let (x_px, y_px) = (seen.x.to_px(), seen.y.to_px());
        writeln!(
            text,
            "{number:>6}  {age:>3}  {score:>7}  {health:>6}  {x_px:>5}  {y_px:>5}  {address:<15}  {:?}",
            seen.name
        )
        .expect("writing to a string does not fail");
    }
    Ok(text)
}

fn kick(host: &Host, room: &Handle, who: &Who) -> Done {
    let (player, client) = named(host, room, who)?;
    client.close(Ending::Breach(Breach::Kicked), host.now());
    Ok(format!("player {} was kicked; its address is {}", player.0, client.address.ip()))
}

/// A player, and the client that plays it.
fn named(host: &Host, room: &Handle, who: &Who) -> Result<(PlayerId, Arc<Client>), String> {
    let player = find(room, who)?;
    let client = client_of(host, room, player);
    Ok((player, client.ok_or_else(|| format!("no client plays as player {}", player.0))?))
}

fn ban(host: &Host, address: IpAddr, source: Source) -> Done {
    let household = Household::of(address);
    if matches!(source, Source::Admin(own) if Household::of(own) == household) {
        return Err(format!("{household} is your own address: a ban would lock you out of /admin"));
    }
    let this_machine = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    if this_machine.map(Household::of).contains(&household) {
        return Err(format!(
            "{household} is this machine: a ban would lock out a proxy on it, and all clients behind the proxy"
        ));
    }
    let is_new = host.admission.ban(household).ok_or("the list of bans is full")?;
    if !is_new {
        return Err(format!("{household} is banned already"));
    }
    let clients = host.clients.all();
    let theirs: Vec<_> =
        clients.iter().filter(|client| Household::of(client.address.ip()) == household).collect();
    for client in &theirs {
        client.close(Ending::Breach(Breach::Banned), host.now());
    }
    Ok(format!("{household} is banned; connections closed: {}", theirs.len()))
}

fn unban(host: &Host, address: IpAddr) -> Done {
    let household = Household::of(address);
    if host.admission.unban(household) {
        Ok(format!("{household} is no longer banned"))
    } else {
        Err(format!("{household} is not banned"))
    }
}

fn bans(host: &Host) -> String {
    let bans = host.admission.bans();
    if bans.is_empty() {
        return "no address is banned".to_owned();
    }
    bans.iter().map(|household| format!("{household}\n")).collect()
}

fn save(host: &Host, room: &Handle) -> Done {
    let snapshot = answer_to(room.snapshot())?;
    let folder = &host.config.save_dir;
    let name = save::write(folder, &snapshot).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(format!(
        "{} now has the world after tick {}: {} bytes",
        folder.join(name).display(),
        snapshot.tick,
        snapshot.bytes.len()
    ))
}

fn capture(host: &Host, room: &Handle, wanted: &Capture) -> Done {
    match wanted {
        Capture::Status => Ok(host.recorder.status()),
        Capture::Off => host.recorder.stop(),
        Capture::On(who) => {
            let only =
                who.as_ref().map(|who| named(host, room, who)).transpose()?.map(|(_, client)| client.id);
            let target = recorder::file_of_tick(&host.config.capture_dir, room.tick());
            let name = host.recorder.start(target, only)?;
            Ok(format!("{name} is being written"))
        }
    }
}

/// One figure a line: its name, spaces, its value.
fn stats(host: &Host, room: &Handle) -> String {
    let metrics = &host.metrics;
    let figures: [(&str, String); 12] = [
        ("tick", room.tick().to_string()),
        ("tick rate", format!("{} Hz", room.options.rates.tick_hz)),
        ("up", format!("{} s", host.now().as_secs())),
        ("clients", metrics.clients.get().to_string()),
        ("players", metrics.players.get().to_string()),
        ("connections", metrics.accepted.get().to_string()),
        ("late ticks", metrics.late_ticks.get().to_string()),
        ("skipped ticks", metrics.skipped_ticks.get().to_string()),
        ("received", format!("{} bytes", metrics.bytes_in.get())),
        ("sent", format!("{} bytes", metrics.bytes_out.get())),
        ("bans", host.admission.bans().len().to_string()),
        ("panics", metrics.panics.get().to_string()),
    ];
    figures.iter().map(|(name, value)| format!("{name:<13}  {value}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_if_one_has_it() {
        let names = ["Ann", "ann", "Bo", "Cy", "Cy", "\u{c4}nne"];
        let find = |name: &str| {
            let players = (1..).map(PlayerId).zip(names);
            by_name(players, name).map(|player| player.0)
        };
        for (name, expected) in [("Ann", 1), ("ann", 2), ("bo", 3), ("\u{e4}NNE", 6)] {
            assert_eq!(find(name), Ok(expected), "{name}");
        }
        assert_eq!(find("ANN"), Err("several players are called \"ANN\": 1, 2".to_owned()));
        assert_eq!(find("Cy"), Err("several players are called \"Cy\": 4, 5".to_owned()));
        assert_eq!(find("\u{1b}"), Err("no player is called \"\\u{1b}\"".to_owned()));
    }

    #[test]
    fn help_has_a_line_for_each_command() {
        let text = help();
        assert_eq!(text.lines().count(), COMMANDS.len());
        for (line, (name, _, does)) in text.lines().zip(COMMANDS) {
            assert!(line.starts_with(name) && line.ends_with(does), "{line}");
        }
    }
}
