//! `tickwire bots`: many clients that walk or play, and their measurements; or misbehaving clients,
//! and the server's reactions.

mod args;
#[cfg_attr(not(feature = "built-in-games"), path = "no_attack.rs")]
mod attack;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

pub use args::BotsArgs;
use args::{FollowMode, local_source};

use super::game_list::GameList;
use super::output::{CliError, print};
use super::tables;
use crate::client::dial;
use crate::client::room_list::{self, GameOfRoom};
use crate::client::stream::Stream;
use crate::game::GameInfo;
use crate::game::lockstep_packets::has_lockstep;
use crate::packet::{Dialect, PacketTables};
use crate::testing::load::crowd::{self, BotBehavior, CrowdPlan};
use crate::testing::load::report::CrowdReport;
use crate::testing::source_addresses::SourceAddresses;
use crate::util::os;
use crate::util::plural;

/// Runs the bots. An error or a disconnect is a failure.
pub fn run(args: &BotsArgs, games: &GameList) -> Result<(), CliError> {
    if let (Some(tables), true) = (&args.codes, args.attack.is_some()) {
        let tables = tables.display();
        return Err(format!(
            "misbehaving clients speak the built-in tables only: leave out --codes {tables}"
        ));
    }
    let to = dial::resolve(&args.url).map_err(|error| format!("{}: {error}", args.url))?;
    let source = args
        .source
        .clone()
        .or_else(|| (os::CAN_BIND_SOURCE && to.is_ipv4() && to.ip().is_loopback()).then(local_source));
    let time = Duration::from_secs(args.seconds.into());
    if args.attack.is_some() || args.resume_rate.is_some() || args.sink {
        return attack::run(args, to, source, time);
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
        return Ok(games.named(name)?.info);
    }
    let found = dial::connect(to, None)
        .and_then(|socket| room_list::game_of_room(&args.url, Stream::Plain(socket)))
        .map_err(|error| format!("{}: {error}", args.url))?;
    let GameOfRoom::Known(name) = found else { return Ok(games.factories[0].info) };
    games.named(&name).map(|factory| factory.info).map_err(|_| {
        let known: Vec<&str> = games.info().iter().map(|info| info.name).collect();
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
        lane: args.lane,
        late_acks: args.late_acks,
        reconnects: args.reconnect,
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::game::Game as _;
    use crate::games::moo::Moo;
    use crate::testing::hostile::HostileKind;

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
    fn reconnecting_bots_cut_connections_only_with_a_number() {
        for (words, expected) in [
            (&["ws://a:1"][..], None),
            (&["--reconnect", "ws://a:1"], Some(0)),
            (&["--reconnect=9", "ws://a:1"], Some(9)),
        ] {
            let line = Line::try_parse_from(["bots"].iter().chain(words)).expect("it can be read");
            assert_eq!(line.bots.reconnect, expected);
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
