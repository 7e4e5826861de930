//! The arguments of `bots`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use crate::client::url::Url;
use crate::testing::hostile::HostileKind;
use crate::testing::source_addresses::SourceAddresses;

/// Default source addresses of the bots, for a server on this machine.
const LOCAL_SOURCE: &str = "127.0.x.y";
/// Whether this program has the clients of `attack.rs`.
const HAS_ATTACKS: bool = cfg!(feature = "built-in-games");

/// Options of `bots`.
#[derive(Debug, Args)]
pub struct BotsArgs {
    /// URL of the server, such as ws://localhost:3000, or of one of its rooms, such as
    /// ws://localhost:3000/r/arena/. A longer path, such as /play or /server, selects the dialect;
    /// without one, --dialect selects it.
    #[arg(value_name = "URL")]
    pub url: Url,
    /// Game of the room. Default: the game in the server's list at /rooms, or without one the first
    /// game of this program.
    #[arg(long, value_name = "NAME")]
    pub game: Option<String>,
    /// Number of concurrent bots.
    #[arg(long, value_name = "COUNT", default_value = "200", value_parser = clap::value_parser!(u32).range(1..=20_000))]
    pub count: u32,
    /// Seconds to measure, starting one second after all bots have joined. Bots that have not
    /// joined within 10 seconds are ignored.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub seconds: u32,
    /// Dialect of the bots. Default: the first of the game. For several dialects, give a
    /// comma-separated list or repeat the flag: the bots are divided evenly among them.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub dialect: Vec<String>,
    /// Packet tables of the server, if they are not the built-in ones: a directory of `.tsv` files,
    /// one such file, or a capture that contains its tables. Misbehaving clients use the built-in
    /// tables only.
    #[arg(long, value_name = "TABLES", env = "TICKWIRE_CODES")]
    pub codes: Option<PathBuf>,
    /// Source addresses of the bots: a pattern in which x and y are replaced by numbers. Default on
    /// Linux, for a server at an IPv4 loopback address: 127.0.x.y.
    #[arg(long, value_name = "PATTERN")]
    pub source: Option<SourceAddresses>,
    /// Do not move, and send no chat.
    #[arg(long)]
    pub still: bool,
    /// Perform all actions of the game's players, such as gather, build, fight, die and respawn,
    /// instead of only moving. Bots of games of the simple layer also send absurd values sometimes.
    #[arg(long, conflicts_with = "still")]
    pub play: bool,
    /// Replication mode of the bots: a stream of updates, or lockstep, which runs the room's world
    /// and sends its checksums.
    #[arg(long, value_name = "MODE", default_value = "stream")]
    pub mode: FollowMode,
    /// Request a lane for datagrams for each bot; the server needs --lane udp. The report counts
    /// lanes in use and datagrams since the lanes were granted.
    #[arg(long, conflicts_with_all = ["attack", "resume_rate"])]
    pub lane: bool,
    /// Accept acks that come after the update with the effect of their commands, as from a server
    /// with a journal and --durability tick.
    #[arg(long, conflicts_with_all = ["attack", "resume_rate"])]
    pub late_acks: bool,
    /// Reconnect a bot with its resume key when its connection is lost, and check that it receives
    /// its own player. With a number, the bots also cut that many of their connections per second,
    /// in turn.
    #[arg(long, value_name = "PER_SECOND", num_args = 0..=1, require_equals = true, default_missing_value = "0",
          value_parser = clap::value_parser!(u32).range(0..=10_000), conflicts_with_all = ["attack", "resume_rate"])]
    pub reconnect: Option<u32>,
    /// Seed of the bots' random choices.
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    pub seed: u64,
    /// Attack the server with --count concurrent clients, then print what the attack achieved. For
    /// churn and reconnect, --count is the number of connections per second. Only against a server
    /// on this machine.
    #[arg(long, value_name = "KIND", value_parser = attack_kinds(), hide = !HAS_ATTACKS)]
    pub attack: Option<HostileKind>,
    /// Instead of bots, run --count clients with resume keys. PER_SECOND of them per second lose
    /// their connection and resume; each must get its own player. Only against a server on this
    /// machine.
    #[arg(long, value_name = "PER_SECOND", conflicts_with_all = ["attack"], value_parser = clap::value_parser!(u32).range(1..=10_000), hide = !HAS_ATTACKS)]
    pub resume_rate: Option<u32>,
    /// Number of source addresses for --attack, used in turn. Default: one address for every 16
    /// connections.
    #[arg(long, value_name = "COUNT", requires = "attack", value_parser = clap::value_parser!(u32).range(1..=64_768), hide = !HAS_ATTACKS)]
    pub addresses: Option<u32>,
    /// Instead of bots, run a server at URL that accepts and discards everything, as a baseline for
    /// --attack. It runs until interrupted; port 0 picks a free port.
    #[arg(long, conflicts_with_all = ["attack", "resume_rate"], hide = !HAS_ATTACKS)]
    pub sink: bool,
    /// Print JSON: one line for each dialect, or a single line with --attack or --resume-rate.
    #[arg(long)]
    pub json: bool,
}

/// The replication mode of bots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FollowMode {
    Stream,
    Lockstep,
}

/// Parses the names of `--attack`.
fn attack_kinds() -> impl TypedValueParser<Value = HostileKind> {
    let attack = |name: String| HostileKind::ATTACKS.into_iter().find(|attack| attack.name() == name);
    let names = PossibleValuesParser::new(HostileKind::ATTACKS.map(HostileKind::name));
    names.map(move |name| attack(name).expect("one of the listed names"))
}

/// The default source addresses.
pub fn local_source() -> SourceAddresses {
    LOCAL_SOURCE.parse().expect("a pattern")
}
