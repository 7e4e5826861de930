//! `tickwire bots`: many clients that walk or play, and their measurements; or misbehaving clients,
//! and the server's reactions.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use super::game_list::GameList;
use super::output::{CliError, print};
use super::tables;
use crate::client::url::Url;
use crate::client::{dial, room_list};
use crate::game::GameInfo;
use crate::game::lockstep_packets::has_lockstep;
use crate::packet::routes::DEFAULT_PATHS;
use crate::packet::{Dialect, PacketTables};
use crate::testing::abuse::{attack, sink};
use crate::testing::hostile::HostileKind;
use crate::testing::load::crowd::{self, BotBehavior, CrowdPlan};
use crate::testing::load::report::CrowdReport;
use crate::testing::load::resume_test;
use crate::testing::source_addresses::SourceAddresses;
use crate::util::os;
use crate::util::plural;

/// Default source addresses of the bots, for a server on this machine.
const LOCAL_SOURCE: &str = "127.0.x.y";

/// Options of `bots`.
#[derive(Debug, Args)]
pub struct BotsArgs {
    /// URL of the server, such as ws://localhost:3000, or of one of its rooms, such as
    /// ws://localhost:3000/r/arena/. A longer path, such as /play or /server, selects the dialect;
    /// without one, --dialect selects it.
    #[arg(value_name = "URL")]
    url: Url,
    /// Game of the room. Default: the game in the server's list at /rooms, or without one the first
    /// game of this program.
    #[arg(long, value_name = "NAME")]
    game: Option<String>,
    /// Number of concurrent bots.
    #[arg(long, value_name = "COUNT", default_value = "200", value_parser = clap::value_parser!(u32).range(1..=20_000))]
    count: u32,
    /// Seconds to measure, starting one second after all bots have joined. Bots that have not
    /// joined within 10 seconds are ignored.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    seconds: u32,
    /// Dialect of the bots. Default: the first of the game. For several dialects, give a
    /// comma-separated list or repeat the flag: the bots are divided evenly among them.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    dialect: Vec<String>,
    /// Packet tables of the server, if they are not the built-in ones: a directory of `.tsv` files,
    /// one such file, or a capture that contains its tables. Misbehaving clients use the built-in
    /// tables only.
    #[arg(long, value_name = "TABLES", env = "TICKWIRE_CODES")]
    codes: Option<PathBuf>,
    /// Source addresses of the bots: a pattern in which x and y are replaced by numbers. Default on
    /// Linux, for a server at an IPv4 loopback address: 127.0.x.y.
    #[arg(long, value_name = "PATTERN")]
    source: Option<SourceAddresses>,
    /// Do not move, and send no chat.
    #[arg(long)]
    still: bool,
    /// Perform all actions of the game's players, such as gather, build, fight, die and respawn,
    /// instead of only moving. Bots of games of the simple layer also send absurd values sometimes.
    #[arg(long, conflicts_with = "still")]
    play: bool,
    /// Replication mode of the bots: a stream of updates, or lockstep, which runs the room's world
    /// and sends its checksums.
    #[arg(long, value_name = "MODE", default_value = "stream")]
    mode: FollowMode,
    /// Seed of the bots' random choices.
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    seed: u64,
    /// Attack the server with --count concurrent clients, then print what the attack achieved. For
    /// churn and reconnect, --count is the number of connections per second. Only against a server
    /// on this machine.
    #[arg(long, value_name = "KIND", value_parser = attack_kinds())]
    attack: Option<HostileKind>,
    /// Instead of bots, run --count clients with resume keys. PER_SECOND of them per second lose
    /// their connection and resume; each must get its own player. Only against a server on this
    /// machine.
    #[arg(long, value_name = "PER_SECOND", conflicts_with_all = ["attack"], value_parser = clap::value_parser!(u32).range(1..=10_000))]
    resume_rate: Option<u32>,
    /// Number of source addresses for --attack, used in turn. Default: one address for every 16
    /// connections.
    #[arg(long, value_name = "COUNT", requires = "attack", value_parser = clap::value_parser!(u32).range(1..=64_768))]
    addresses: Option<u32>,
    /// Instead of bots, run a server at URL that accepts and discards everything, as a baseline for
    /// --attack. It runs until interrupted; port 0 picks a free port.
    #[arg(long, conflicts_with_all = ["attack", "resume_rate"])]
    sink: bool,
    /// Print JSON: one line for each dialect, or a single line with --attack or --resume-rate.
    #[arg(long)]
    json: bool,
}

/// The replication mode of bots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FollowMode {
    Stream,
    Lockstep,
}

/// Parses the names of `--attack`.
fn attack_kinds() -> impl TypedValueParser<Value = HostileKind> {
    let attack = |name: String| HostileKind::ATTACKS.into_iter().find(|attack| attack.name() == name);
    let names = PossibleValuesParser::new(HostileKind::ATTACKS.map(HostileKind::name));
    names.map(move |name| attack(name).expect("one of the listed names"))
}

/// Runs the bots. An error or a disconnect is a failure.
pub fn run(args: &BotsArgs, games: &GameList) -> Result<(), CliError> {
    if let (Some(tables), true) = (&args.codes, args.attack.is_some()) {
        let tables = tables.display();
        return Err(format!(
            "misbehaving clients speak the built-in tables only: leave out --codes {tables}"
        ));
    }
    let to = dial::resolve(&args.url).map_err(|error| format!("{}: {error}", args.url))?;
    let local = || LOCAL_SOURCE.parse().expect("a pattern");
    let source = args
        .source
        .clone()
        .or_else(|| (os::CAN_BIND_SOURCE && to.is_ipv4() && to.ip().is_loopback()).then(local));
    let time = Duration::from_secs(args.seconds.into());
    let native_url = || args.url.clone().with_dialect_path(&DEFAULT_PATHS, "native");
    if (args.attack.is_some() || args.resume_rate.is_some()) && args.url.room_prefix().is_none() {
        // The URL must fit the native dialect, because misbehaving clients use it.
        tables::dialect_at_url(&PacketTables::builtin(), &DEFAULT_PATHS, &args.url, Some("native"))?;
    }
    if let Some(kind) = args.attack {
        let (url, source) = (native_url(), source.unwrap_or_else(local));
        let addresses = args.addresses.map(|addresses| addresses as usize);
        let (count, reconnects) = (args.count as usize, true);
        let plan = attack::AttackPlan { kind, url, source, addresses, count, time, reconnects };
        let report = attack::run(&plan).map_err(|error| format!("{}: {error}", args.url))?;
        print(&if args.json { report.json(kind) + "\n" } else { report.text(kind) });
        return Ok(());
    }
    if let Some(per_second) = args.resume_rate {
        let (url, source) = (native_url(), source.unwrap_or_else(local));
        return run_resume_test(
            &resume_test::Plan { url, source, count: args.count as usize, per_second, time },
            args,
        );
    }
    if args.sink {
        let listener = sink::bind(to).map_err(|error| format!("{}: {error}", args.url))?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        print(&format!("sink {address}\n"));
        sink::run(&listener);
        return Ok(());
    }
    // A failed connection of one bot is part of its report. An unreachable server is an error at
    // once.
    let game = game(args, games, to)?;
    let dialects = dialects(args, game, games)?;
    let plan = plan(args, game, dialects, source, time);
    let reports = crowd::run(&plan).map_err(|error| match error.kind() {
        ErrorKind::Unsupported => format!("the game {} has no bots", game.name),
        _ => error.to_string(),
    })?;
    for report in &reports {
        print(&if args.json { format!("{}\n", report.json()) } else { report.to_string() });
    }
    if reports.iter().all(CrowdReport::passed) {
        return Ok(());
    }
    let errors: u64 = reports.iter().map(CrowdReport::errors).sum();
    let disconnects: u64 = reports.iter().map(CrowdReport::disconnects).sum();
    let absent: usize = reports.iter().map(|report| report.bots - report.playing).sum();
    let all_over = early_end_text(&reports, time).unwrap_or_default();
    let (errors, disconnects) =
        (plural::count_noun(errors, "error"), plural::count_noun(disconnects, "disconnect"));
    Err(format!("{all_over}{errors}, {disconnects}, {} that never played", plural::count_noun(absent, "bot")))
}

fn run_resume_test(plan: &resume_test::Plan, args: &BotsArgs) -> Result<(), CliError> {
    let returned = resume_test::run(plan).map_err(|error| format!("{}: {error}", args.url))?;
    print(&if args.json { returned.json() } else { returned.text() });
    if returned.passed() && returned.came == plan.count {
        return Ok(());
    }
    Err("not every client resumed its own player".to_owned())
}

/// Error text with all disconnect reasons, for a run in which all connections ended before `time`.
/// `None` for a complete run.
fn early_end_text(reports: &[CrowdReport], time: Duration) -> Option<String> {
    let measured = reports.iter().map(|report| report.time).max()?;
    let mut endings = BTreeMap::<&str, u64>::new();
    for (ending, count) in reports.iter().flat_map(CrowdReport::disconnects_by_reason) {
        *endings.entry(ending).or_default() += count;
    }
    let endings: Vec<String> = endings
        .iter()
        .map(|(ending, count)| format!("{ending:?} {}", plural::count_noun(*count, "time")))
        .collect();
    let (endings, seconds) = (endings.join(", "), measured.as_secs_f64());
    (measured < time).then(|| {
        format!(
            "all connections ended after {seconds:.1} s of the {} s to be measured: {endings}; ",
            time.as_secs()
        )
    })
}

/// The game of the room at the URL.
fn game(args: &BotsArgs, games: &GameList, to: SocketAddr) -> Result<&'static GameInfo, CliError> {
    if let Some(name) = &args.game {
        return Ok(games.named(name)?.about);
    }
    let found = room_list::game_of_room(&args.url, to).map_err(|error| format!("{}: {error}", args.url))?;
    let Some(name) = found else { return Ok(games.factories[0].about) };
    games.named(&name).map(|kind| kind.about).map_err(|_| {
        let known: Vec<&str> = games.info().iter().map(|about| about.name).collect();
        format!("{}: {name} is played there; this program has bots for: {}", args.url, known.join(", "))
    })
}

/// The dialects. With `--mode lockstep`, a dialect without lockstep is an error.
fn dialects(args: &BotsArgs, game: &GameInfo, games: &GameList) -> Result<Vec<Arc<Dialect>>, CliError> {
    let dialects = known_dialects(args, game, games)?;
    let lacks = |dialect: &&Arc<Dialect>| args.mode == FollowMode::Lockstep && !has_lockstep(dialect);
    match dialects.iter().find(lacks) {
        Some(dialect) => {
            Err(format!("--mode lockstep: the dialect {} has no packets of lockstep", dialect.name()))
        }
        None => Ok(dialects),
    }
}

/// The dialect of the URL's path. Without a path, the dialects of `--dialect`.
fn known_dialects(args: &BotsArgs, game: &GameInfo, games: &GameList) -> Result<Vec<Arc<Dialect>>, CliError> {
    let BotsArgs { url, dialect: given, .. } = args;
    let codes = match args.codes.as_deref() {
        None => Arc::new(PacketTables::from_texts(game.tables).map_err(|error| error.to_string())?),
        given => tables::load_or_built_in(given, games)?,
    };
    if given.len() > 1 && url.room_prefix().is_none() {
        return Err(format!("{url} selects one dialect: leave out its path and query to mix dialects"));
    }
    let one = |name: Option<&str>| match tables::dialect_at_url(&codes, game.paths, url, name)? {
        (_, true) => Err(format!("bots do not speak JSON: leave format=json out of {url}")),
        (dialect, false) => Ok(dialect),
    };
    if given.is_empty() {
        return Ok(vec![one(None)?]);
    }
    given.iter().map(|name| one(Some(name))).collect()
}

fn plan(
    args: &BotsArgs,
    game: &'static GameInfo,
    dialects: Vec<Arc<Dialect>>,
    source: Option<SourceAddresses>,
    time: Duration,
) -> CrowdPlan {
    let behavior = match (args.still, args.play) {
        (true, _) => BotBehavior::Still,
        (_, true) => BotBehavior::Play,
        _ => BotBehavior::Walk,
    };
    let (url, count, seed) = (args.url.clone(), args.count as usize, args.seed);
    CrowdPlan {
        url,
        game,
        dialects,
        count,
        time,
        source,
        behavior,
        seed,
        lockstep: args.mode == FollowMode::Lockstep,
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::game::Game as _;
    use crate::games::moo::Moo;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        bots: BotsArgs,
    }

    fn spoken(words: &[&str]) -> Result<Vec<String>, CliError> {
        let line = Line::try_parse_from(["bots"].iter().chain(words)).expect("it can be read");
        Ok(dialects(&line.bots, Moo::INFO, &GameList::built_in())?
            .iter()
            .map(|dialect| dialect.name().to_owned())
            .collect())
    }

    #[test]
    fn bots_use_the_dialect_of_the_path() {
        for (words, names) in [
            (&["ws://a:1"][..], &["native"][..]),
            (&["ws://a:1", "--dialect", "native,letters"], &["native", "letters"]),
            (&["ws://a:1/server"], &["letters"]),
            (&["ws://a:1/moomoo", "--dialect", "legacy"], &["legacy"]),
            (&["ws://a:1/nothing", "--dialect", "legacy"], &["legacy"]),
        ] {
            assert_eq!(spoken(words).expect("they can"), names, "{words:?}");
        }
        for (words, reason) in [
            (&["ws://a:1/server", "--dialect", "native"][..], "selects the dialect letters: leave"),
            (&["ws://a:1/server", "--dialect", "letters,native"], "selects one dialect"),
            (&["ws://a:1/play?format=json"], "bots do not speak JSON"),
            (&["ws://a:1", "--dialect", "native,morse"], "unknown dialect \"morse\"; the dialects are "),
        ] {
            let error = spoken(words).expect_err(reason);
            assert!(error.contains(reason), "{words:?}: {error}");
        }
    }

    #[test]
    fn every_way_to_misbehave_is_in_the_help() {
        let help = Line::command().render_long_help().to_string();
        for name in HostileKind::ATTACKS.map(HostileKind::name) {
            assert!(help.contains(name), "{name} is not in {help}");
        }
        let line =
            Line::try_parse_from(["bots", "ws://a:1", "--attack", "bombs"]).expect("there is this one");
        assert_eq!(line.bots.attack, Some(HostileKind::Bombs));
        let error =
            Line::try_parse_from(["bots", "ws://a:1", "--attack", "spam"]).expect_err("only simulated");
        assert!(error.to_string().contains("tiny-fragments"), "{error}");
    }
}
