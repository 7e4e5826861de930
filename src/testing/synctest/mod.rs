//! Compares a world with copies of it that were restored from snapshots. If a snapshot lacks a part
//! of the state, the copies differ.
//!
//! ```text
//!    bots ─► server ─► world ─────────────────────────────► checksum of each tick
//!              │ command frames ─► the same world again ──►  equal?
//!              │ snapshots ─► restored, some ticks ago ───►  equal?
//!              └ one snapshot ─► restored, runs to the end ─► equal?
//! ```
//!
//! The bots are the game's own, each with its own connection, so that commands of every kind occur
//! and all packets pass through the whole server. From time to time the operator performs an action
//! of the game, a player is suspended, and a bot loses its connection and reconnects.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tickwire_sim::state_tree::FieldDiff;
use tickwire_sim::{EncodedAction, PlayerId, RawCommand};

use crate::client::connection::ConnectionKeys;
use crate::game::bots::BotStats;
use crate::game::{BotRng, DynWorld, Game, GameInfo};
use crate::server::embedded::{EmbeddedGameFactory, EmbeddedServer, Options, TickRecord};
use crate::util::netem::Conditions;

/// Maximum number of differing fields in a report.
const MAX_REPORTED_FIELDS: usize = 4;
/// Ticks between two comparisons of the world with the copy that runs to the end.
const TAIL_EVERY: u32 = 100;
/// Length of a window in which acting players are counted, in ticks.
pub const WINDOW: u32 = 300;
/// Ticks between two operator actions.
const OPERATOR_EVERY: u32 = 25;
/// Ticks between two suspensions of a player.
const DISCONNECT_INTERVAL_TICKS: u32 = 430;
/// Ticks between two lost connections.
const LOST_CONNECTION_INTERVAL_TICKS: u32 = 700;
/// Range of the random numbers for
/// [`GameChecks::operator_event`](crate::game::bots::GameChecks::operator_event). Smaller numbers
/// are reserved for the simulator.
const OPERATOR_ROLLS: [u32; 2] = [7, 400];

/// The parameters of a synctest.
#[derive(Debug, Clone)]
pub struct SynctestPlan {
    /// The game.
    pub game: EmbeddedGameFactory,
    /// Number of ticks.
    pub ticks: u32,
    /// Seed of the world and of the bots.
    pub seed: u32,
    /// Number of bots.
    pub players: usize,
    /// Age of the restored snapshots, in ticks.
    pub check_distance: u32,
}

/// The result of a synctest in which all worlds stayed equal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SynctestReport {
    /// Number of ticks.
    pub ticks: u32,
    /// Number of comparisons of the server's world with a world that executes the same commands.
    pub replays: u64,
    /// Number of restored and compared copies.
    pub copies: u64,
    /// Number of comparisons with a copy that was restored after a quarter of the ticks.
    pub tails: u64,
    /// The checksum of the world at the end.
    pub checksum: u64,
    /// Number of commands by kind, including the server's own.
    pub commands: BTreeMap<String, u64>,
    /// Statistics of the bots.
    pub stats: BotStats,
    /// Minimum number of players with a command in 300 consecutive ticks. The first window does not
    /// count, because players join in it. `None` if there is no other window.
    pub min_acting_players: Option<usize>,
}

impl SynctestReport {
    /// Adds the counts of another run. The checksum of the other run replaces the earlier checksum.
    pub(crate) fn add(&mut self, other: &SynctestReport) {
        self.ticks += other.ticks;
        self.replays += other.replays;
        self.copies += other.copies;
        self.tails += other.tails;
        self.checksum = other.checksum;
        for (kind, count) in &other.commands {
            *self.commands.entry(kind.clone()).or_default() += count;
        }
        self.stats.add(&other.stats);
        self.note_acting(other.min_acting_players);
    }

    fn note_acting(&mut self, acting: Option<usize>) {
        self.min_acting_players = [self.min_acting_players, acting].into_iter().flatten().min();
    }
}

/// A difference between worlds that should be equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Desync {
    /// The seed.
    pub seed: u32,
    /// Number of completed ticks.
    pub tick: u32,
    /// The name of the world that differs from the reference world, which ran from the start.
    pub what: &'static str,
    /// The first differing fields. The first value of each is the reference world's value.
    pub fields: Vec<FieldDiff>,
}

impl fmt::Display for Desync {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Desync { seed, tick, what, fields } = self;
        write!(out, "seed {seed}, after tick {tick}: {what} differs")?;
        fields.iter().enumerate().try_for_each(|(at, field)| {
            let separator = if at == 0 { ':' } else { ';' };
            write!(out, "{separator} {field}")
        })
    }
}

impl std::error::Error for Desync {}

/// Failure of a synctest.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SynctestError {
    /// Worlds differ.
    Desync(Desync),
    /// The server cannot be started, or a snapshot cannot be restored. The text is the reason.
    Failed(String),
}

impl fmt::Display for SynctestError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SynctestError::Desync(desync) => desync.fmt(out),
            SynctestError::Failed(reason) => out.write_str(reason),
        }
    }
}

impl std::error::Error for SynctestError {}

impl From<String> for SynctestError {
    fn from(reason: String) -> SynctestError {
        SynctestError::Failed(reason)
    }
}

/// Lets eight bots play a game for `ticks` ticks. In each tick, compares the game's world with a
/// world that executes the same commands, and with a world restored from a snapshot eight ticks
/// ago. As a test of a game:
///
/// ```no_run
/// # use tickwire::game::simple::{Joining, StateRows, TickContext};
/// # use tickwire::sim::{Malformed, PlayerId, Reader, WorldParams, fields};
/// # type MyGame = tickwire::game::Simple<MyRules>;
/// # const TABLE: &str = "direction\tname\tlane\tpresses:int\targuments\tmeaning\n\
/// #     to_server\tpress\treliable\t4\tsequence:u32 tick:u32.tick|nil\tpress the button\n";
/// # tickwire::rows! { in TABLE; enum Action { Press in "press" {} } }
/// # #[derive(Clone, Debug, PartialEq)] struct MyRules {}
/// # impl fields::Field for MyRules {
/// #     const MIN_BYTES: usize = 0;
/// #     fn write(&self, _: &mut impl fields::Sink) {}
/// #     fn read(_: &mut Reader<'_>) -> Result<MyRules, Malformed> { Ok(MyRules {}) }
/// # }
/// # impl tickwire::game::SimpleGame for MyRules {
/// #     const NAME: &'static str = "presses";
/// #     const DIALECT: &'static str = "presses";
/// #     const TABLE: (&'static str, &'static str) = ("presses.tsv", TABLE);
/// #     const PAGE: &'static str = "";
/// #     type Action = Action;
/// #     fn new(_: &WorldParams) -> MyRules { MyRules {} }
/// #     fn join(&mut self, _: PlayerId, _: &Joining<'_>, _: &mut TickContext<'_>) {}
/// #     fn leave(&mut self, _: PlayerId, _: &mut TickContext<'_>) {}
/// #     fn apply(
/// #         &mut self, _: PlayerId, _: Action, _: &mut TickContext<'_>,
/// #     ) -> Result<(), &'static str> { Ok(()) }
/// #     fn tick(&mut self, _: &mut TickContext<'_>) {}
/// #     fn write_state(&self, _: &mut StateRows) {}
/// # }
/// tickwire::synctest::<MyGame>(10_000, 1).expect("the same in every copy");
/// ```
///
/// # Errors
/// The worlds differ, or the game cannot be started. For a difference, the error contains the seed,
/// the tick and the first fields.
pub fn synctest<G: Game>(ticks: u32, seed: u32) -> Result<SynctestReport, SynctestError> {
    run(
        &SynctestPlan {
            game: EmbeddedGameFactory::for_game::<G>(),
            ticks,
            seed,
            players: 8,
            check_distance: 8,
        },
        &mut |_| {},
    )
}

/// Runs a plan, and passes each tick to `see`.
///
/// # Errors
/// See [`synctest`]. A plan under which no copy would be compared is also an error.
pub fn run(plan: &SynctestPlan, see: &mut dyn FnMut(&TickRecord)) -> Result<SynctestReport, SynctestError> {
    let info = plan.game.info;
    if plan.ticks <= plan.check_distance {
        let SynctestPlan { ticks, check_distance: back, .. } = plan;
        return Err(
            format!("{ticks} ticks: must be more than the {back} ticks that the copies are back").into()
        );
    }
    let options = Options {
        game: plan.game,
        seed: plan.seed,
        bots: plan.players,
        began_us: 1_000_000,
        keys: || ConnectionKeys { upgrade: [7; 16], mask: || [1, 2, 3, 4] },
        net: Conditions::default(),
        resume_time: Duration::ZERO,
    };
    let mut now = Duration::ZERO;
    let mut server = EmbeddedServer::new(&options, now)?;
    server.record();
    let world = (info.new_world)(&(info.identity)(plan.seed));
    let (past, tail, report) = (VecDeque::new(), None, SynctestReport::default());
    let acting = BTreeSet::new();
    let mut compared = ComparedWorlds { plan, info, world, past, tail, acting, report };
    let mut trouble = DisturbanceInjector { info, rng: BotRng::new(plan.seed.into()), notices: 0 };
    let mut is_over = false;
    while !is_over {
        now += server.advance(now).max(Duration::from_micros(1));
        for recorded in server.take_recorded() {
            if compared.report.ticks == plan.ticks {
                compared.compare_all(&recorded)?;
                is_over = true;
                break;
            }
            see(&recorded);
            compared.tick(&recorded)?;
            trouble.inject(&recorded, &*compared.world, &mut server);
        }
    }
    compared.report.checksum = compared.world.checksum();
    compared.report.stats = server.take_stats();
    Ok(compared.report)
}

/// The worlds that are compared with the server's world.
struct ComparedWorlds<'a> {
    plan: &'a SynctestPlan,
    info: &'static GameInfo,
    /// The reference world, which ran from the start.
    world: Box<dyn DynWorld>,
    /// The last ticks: the snapshot before each tick, and its commands.
    past: VecDeque<(Arc<[u8]>, Vec<RawCommand>)>,
    /// A copy that was restored after a quarter of the ticks, and runs to the end.
    tail: Option<Box<dyn DynWorld>>,
    /// Players that have acted in the current [`WINDOW`].
    acting: BTreeSet<PlayerId>,
    report: SynctestReport,
}

impl ComparedWorlds<'_> {
    fn tick(&mut self, recorded: &TickRecord) -> Result<(), SynctestError> {
        self.compare_all(recorded)?;
        let TickRecord { tick, frame, snapshot, .. } = recorded;
        let tick = *tick;
        if tick == self.plan.ticks / 4 {
            self.tail = Some(self.restored(tick, snapshot)?);
        }
        let frame = (self.info.frame)(frame).map_err(|error| self.failed(tick, "a command frame", &error))?;
        for command in &frame.commands {
            *self.report.commands.entry(action_name(self.info, &command.action)).or_default() += 1;
            self.acting.extend(Some(command.player).filter(|player| *player != PlayerId::OPERATOR));
        }
        if (tick + 1).is_multiple_of(WINDOW) {
            let acting = std::mem::take(&mut self.acting).len();
            self.report.note_acting(Some(acting).filter(|_| tick >= WINDOW));
        }
        self.world.step(&frame.commands);
        self.tail.iter_mut().for_each(|tail| tail.step(&frame.commands));
        self.past.push_back((Arc::clone(snapshot), frame.commands));
        self.report.ticks += 1;
        Ok(())
    }

    /// Compares all worlds with the server's world before a tick, or after the last tick.
    fn compare_all(&mut self, recorded: &TickRecord) -> Result<(), SynctestError> {
        let TickRecord { tick, checksum, snapshot, .. } = recorded;
        let (tick, checksum) = (*tick, *checksum);
        if self.world.tick() != tick || self.world.checksum() != checksum {
            let live = self.restored(tick, snapshot)?;
            return Err(self.desync(tick, "the server's world", &*live));
        }
        self.report.replays += 1;
        if self.past.len() >= self.plan.check_distance as usize {
            self.compare(tick, checksum)?;
            self.past.pop_front();
        }
        self.compare_tail(tick, checksum)
    }

    /// Restores the world of a snapshot, which was taken after `tick` ticks.
    fn restored(&self, tick: u32, snapshot: &[u8]) -> Result<Box<dyn DynWorld>, SynctestError> {
        (self.info.restore)(snapshot).map_err(|reason| self.failed(tick, "the snapshot", &reason))
    }

    fn failed(&self, tick: u32, what: &str, reason: &dyn fmt::Display) -> SynctestError {
        SynctestError::Failed(format!(
            "seed {}, after tick {tick}: {what} cannot be read: {reason}",
            self.plan.seed
        ))
    }

    /// Restores the oldest snapshot, executes the ticks since then, and compares the checksums.
    fn compare(&mut self, tick: u32, checksum: u64) -> Result<(), SynctestError> {
        let Some((snapshot, _)) = self.past.front() else { return Ok(()) };
        let mut copy = self.restored(tick - self.past.len() as u32, snapshot)?;
        self.past.iter().for_each(|(_, commands)| copy.step(commands));
        self.report.copies += 1;
        if copy.checksum() == checksum {
            return Ok(());
        }
        Err(self.desync(tick, "the copy of a snapshot", &*copy))
    }

    fn compare_tail(&mut self, tick: u32, checksum: u64) -> Result<(), SynctestError> {
        let is_due = tick.is_multiple_of(TAIL_EVERY) || tick == self.plan.ticks;
        let Some(tail) = self.tail.as_ref().filter(|_| is_due) else { return Ok(()) };
        if tail.checksum() != checksum {
            return Err(self.desync(
                tick,
                "the copy that was restored after a quarter of the ticks",
                &**tail,
            ));
        }
        self.report.tails += 1;
        Ok(())
    }

    fn desync(&self, tick: u32, what: &'static str, other: &dyn DynWorld) -> SynctestError {
        let fields = self.world.state().differences(&other.state(), MAX_REPORTED_FIELDS);
        SynctestError::Desync(Desync { seed: self.plan.seed, tick, what, fields })
    }
}

/// Injects disturbances: operator actions, suspensions and lost connections.
struct DisturbanceInjector {
    info: &'static GameInfo,
    rng: BotRng,
    /// Number of the operator's notices so far.
    notices: u32,
}

impl DisturbanceInjector {
    /// Injects disturbances after a tick. They take effect in the next tick.
    fn inject(&mut self, recorded: &TickRecord, world: &dyn DynWorld, server: &mut EmbeddedServer) {
        let (tick, mut players) = (recorded.tick, world.players());
        players.sort_unstable();
        let which = self.rng.bits() as usize;
        let player = players.get(which % players.len().max(1)).copied();
        if tick % OPERATOR_EVERY == 3 {
            let draw = OPERATOR_ROLLS[0] + self.rng.below(OPERATOR_ROLLS[1] - OPERATOR_ROLLS[0]);
            let draw = (draw, player, self.notices + 1, Some(&*recorded.published));
            if let Some(operated) = (self.info.checks.operator_event)(draw, &mut self.rng) {
                self.notices += u32::from(operated.is_notice);
                server.queue_operator_action(operated.action);
            }
        }
        if let Some(player) = player.filter(|_| tick % DISCONNECT_INTERVAL_TICKS == 5) {
            server.queue_operator_action((self.info.disconnect)(player));
        }
        if tick % LOST_CONNECTION_INTERVAL_TICKS == LOST_CONNECTION_INTERVAL_TICKS - 1 {
            server.disconnect_bot(which);
        }
    }
}

/// The kind of an action: the first word of its description that is not just `Act`.
fn action_name(info: &GameInfo, action: &EncodedAction) -> String {
    let words = (info.describe_action)(action);
    let mut names =
        words.split(|ch: char| !(ch.is_alphanumeric() || ch == '_')).filter(|name| !name.is_empty());
    let first = names.next().unwrap_or_default();
    if first == "Act" { names.next().unwrap_or_default().to_owned() } else { first.to_owned() }
}

#[cfg(test)]
mod tests;
