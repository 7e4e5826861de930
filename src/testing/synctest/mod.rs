//! Runs a world beside copies of itself that were restored from snapshots: what a snapshot lacks shows
//! as a difference.
//!
//! ```text
//!   bots ─► server ─► world ─────────────────────────────► checksum of each tick
//!             │ command frames ─► the same world again ──►  the same?
//!             │ snapshots ─► restored, some ticks back ──►  the same?
//!             └ one snapshot ─► restored, runs to the end ─► the same?
//! ```
//!
//! The bots are those of the game, over connections of their own, so that commands of every kind come
//! and their packets go through the whole server. Now and then the operator does what the game has for
//! it, a player is absent, and a bot loses its connection and comes again.

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

/// Differing fields that are named.
const NAMED: usize = 4;
/// Ticks between two comparisons of the copy that runs to the end.
const TAIL_EVERY: u32 = 100;
/// Ticks of a window in which players that act are counted.
pub const WINDOW: u32 = 300;
/// Ticks between two actions of the operator, between two absences, and between two lost connections.
const OPERATOR_EVERY: u32 = 25;
const DISCONNECT_INTERVAL_TICKS: u32 = 430;
const LOST_CONNECTION_INTERVAL_TICKS: u32 = 700;
/// Draws of the operator ([`Bots::operate`](crate::game::bots::Bots::operate)); the first ones are for a host.
const OPERATOR_ROLLS: [u32; 2] = [7, 400];

/// What is run.
#[derive(Debug, Clone)]
pub struct SynctestPlan {
    /// The game.
    pub game: EmbeddedGameFactory,
    /// Ticks.
    pub ticks: u32,
    /// Seed of the world and of the bots.
    pub seed: u32,
    /// Bots that play.
    pub players: usize,
    /// How many ticks back the snapshots are.
    pub back: u32,
}

/// What was run, and that all worlds stayed the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SynctestReport {
    /// Ticks.
    pub ticks: u32,
    /// Copies that were restored and compared.
    pub copies: u64,
    /// The checksum at the end.
    pub checksum: u64,
    /// Commands by kind, those of the server included.
    pub commands: BTreeMap<String, u64>,
    /// What the bots did.
    pub deeds: BotStats,
    /// The fewest players with a command of their own in a whole [`WINDOW`] behind the first, in which they
    /// join; `None` if there was none.
    pub min_acting_players: Option<usize>,
}

impl SynctestReport {
    /// Adds another run; the checksum is that of the last one.
    pub fn add(&mut self, other: &SynctestReport) {
        self.ticks += other.ticks;
        self.copies += other.copies;
        self.checksum = other.checksum;
        for (kind, count) in &other.commands {
            *self.commands.entry(kind.clone()).or_default() += count;
        }
        self.deeds.add(&other.deeds);
        self.note_acting(other.min_acting_players);
    }

    fn note_acting(&mut self, acting: Option<usize>) {
        self.min_acting_players = [self.min_acting_players, acting].into_iter().flatten().min();
    }
}

/// Where worlds differ that should be equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Desync {
    /// The seed.
    pub seed: u32,
    /// Ticks completed.
    pub tick: u32,
    /// What differs from the world that was run from its beginning.
    pub what: &'static str,
    /// The first fields that differ: the value of the world that was run from its beginning first.
    pub fields: Vec<FieldDiff>,
}

impl fmt::Display for Desync {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Desync { seed, tick, what, fields } = self;
        write!(out, "seed {seed}, after tick {tick}: {what} differs")?;
        fields.iter().enumerate().try_for_each(|(at, field)| {
            let sign = if at == 0 { ':' } else { ';' };
            write!(out, "{sign} {field}")
        })
    }
}

impl std::error::Error for Desync {}

/// Why a test did not come to its end, or not to a good one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SynctestError {
    /// Worlds differ.
    Desync(Desync),
    /// The server cannot be started, or a snapshot not be restored: why, in words.
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

/// Lets eight bots play a game for so many ticks, and compares its world in each tick with one that
/// runs from the same commands, and with one restored from a snapshot eight ticks back. For a test of
/// a game:
///
/// ```no_run
/// # type MyGame = tickwire::game::Simple<MyRules>;
/// # #[derive(Clone, Debug, PartialEq)] struct MyRules {}
/// # tickwire::sim::fields!(enum Act: Press {});
/// # #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)] enum Act { Press }
/// # impl tickwire::sim::fields::Field for MyRules {
/// #     const MIN_BYTES: usize = 0;
/// #     fn write(&self, _: &mut impl tickwire::sim::fields::Sink) {}
/// #     fn read(_: &mut tickwire::sim::Reader<'_>) -> Result<MyRules, tickwire::sim::Malformed> { Ok(MyRules {}) }
/// # }
/// # impl tickwire::game::SimpleGame for MyRules {
/// #     const NAME: &'static str = "presses";
/// #     const DIALECT: &'static str = "presses";
/// #     const TABLE: (&'static str, &'static str) = ("presses.tsv", "");
/// #     const PAGE: &'static str = "";
/// #     type Action = Act;
/// #     fn new(_: &tickwire::sim::Identity) -> MyRules { MyRules {} }
/// #     fn join(&mut self, _: tickwire::sim::PlayerId, _: &str, _: &mut tickwire::game::simple::Turns<'_>) {}
/// #     fn leave(&mut self, _: tickwire::sim::PlayerId) {}
/// #     fn action(_: &tickwire::packet::Decoded<'_>) -> Option<Act> { None }
/// #     fn act(&mut self, _: tickwire::sim::PlayerId, _: Act, _: &mut tickwire::game::simple::Turns<'_>) -> Result<(), &'static str> { Ok(()) }
/// #     fn tick(&mut self, _: &mut tickwire::game::simple::Turns<'_>) {}
/// #     fn show(&self, _: &mut tickwire::game::simple::Row) {}
/// # }
/// tickwire::synctest::<MyGame>(10_000, 1).expect("the same in every copy");
/// ```
///
/// # Errors
/// Worlds differ: the seed, the tick, and the first fields. Or the game cannot be started.
pub fn synctest<G: Game>(ticks: u32, seed: u32) -> Result<SynctestReport, SynctestError> {
    run(&SynctestPlan { game: EmbeddedGameFactory::of::<G>(), ticks, seed, players: 8, back: 8 }, &mut |_| {})
}

/// Runs a plan, and shows each tick to `see`.
///
/// # Errors
/// As of [`synctest`]; or a plan in which no copy would be compared.
pub fn run(plan: &SynctestPlan, see: &mut dyn FnMut(&TickRecord)) -> Result<SynctestReport, SynctestError> {
    let about = plan.game.about;
    if plan.ticks <= plan.back {
        let SynctestPlan { ticks, back, .. } = plan;
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
    };
    let mut now = Duration::ZERO;
    let mut server = EmbeddedServer::new(&options, now)?;
    server.record();
    let world = (about.begin)(&(about.identity)(plan.seed));
    let (past, tail, report) = (VecDeque::new(), None, SynctestReport::default());
    let acting = BTreeSet::new();
    let mut beside = ComparedWorlds { plan, about, world, past, tail, acting, report };
    let mut trouble = DisturbanceInjector { about, dice: BotRng::new(plan.seed.into()), notices: 0 };
    let mut is_over = false;
    while !is_over {
        now += server.advance(now).max(Duration::from_micros(1));
        for recorded in server.take_recorded() {
            if beside.report.ticks == plan.ticks {
                beside.compare_all(&recorded)?;
                is_over = true;
                break;
            }
            see(&recorded);
            beside.tick(&recorded)?;
            trouble.inject(&recorded, &*beside.world, &mut server);
        }
    }
    beside.report.checksum = beside.world.checksum();
    beside.report.deeds = server.take_deeds();
    Ok(beside.report)
}

/// The worlds beside the server's.
struct ComparedWorlds<'a> {
    plan: &'a SynctestPlan,
    about: &'static GameInfo,
    /// Run from its beginning.
    world: Box<dyn DynWorld>,
    /// The last ticks: the snapshot before each, and its commands.
    past: VecDeque<(Arc<[u8]>, Vec<RawCommand>)>,
    /// Restored after a quarter of the ticks, and run from there.
    tail: Option<Box<dyn DynWorld>>,
    /// Players that have acted in this [`WINDOW`].
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
        let frame =
            (self.about.frame)(frame).map_err(|error| self.failed(tick, "a command frame", &error))?;
        for command in &frame.commands {
            *self.report.commands.entry(kind(self.about, &command.action)).or_default() += 1;
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

    /// Holds all worlds against the server's before a tick, or after the last one.
    fn compare_all(&mut self, recorded: &TickRecord) -> Result<(), SynctestError> {
        let TickRecord { tick, checksum, snapshot, .. } = recorded;
        let (tick, checksum) = (*tick, *checksum);
        if self.world.tick() != tick || self.world.checksum() != checksum {
            let live = self.restored(tick, snapshot)?;
            return Err(self.desync(tick, "the server's world", &*live));
        }
        if self.past.len() >= self.plan.back as usize {
            self.compare(tick, checksum)?;
            self.past.pop_front();
        }
        self.compare_tail(tick, checksum)
    }

    /// The world in a snapshot that was taken after so many ticks.
    fn restored(&self, tick: u32, snapshot: &[u8]) -> Result<Box<dyn DynWorld>, SynctestError> {
        (self.about.restore)(snapshot).map_err(|reason| self.failed(tick, "the snapshot", &reason))
    }

    fn failed(&self, tick: u32, what: &str, reason: &dyn fmt::Display) -> SynctestError {
        SynctestError::Failed(format!(
            "seed {}, after tick {tick}: {what} cannot be read: {reason}",
            self.plan.seed
        ))
    }

    /// Restores the oldest snapshot and runs the ticks since.
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

    fn compare_tail(&self, tick: u32, checksum: u64) -> Result<(), SynctestError> {
        match &self.tail {
            Some(tail)
                if (tick.is_multiple_of(TAIL_EVERY) || tick == self.plan.ticks)
                    && tail.checksum() != checksum =>
            {
                Err(self.desync(tick, "the copy that was restored after a quarter of the ticks", &**tail))
            }
            _ => Ok(()),
        }
    }

    fn desync(&self, tick: u32, what: &'static str, other: &dyn DynWorld) -> SynctestError {
        let fields = self.world.state().differences(&other.state(), NAMED);
        SynctestError::Desync(Desync { seed: self.plan.seed, tick, what, fields })
    }
}

/// What comes to a game besides its players' commands.
struct DisturbanceInjector {
    about: &'static GameInfo,
    dice: BotRng,
    /// Notices of the operator so far.
    notices: u32,
}

impl DisturbanceInjector {
    /// After a tick: for the next one.
    fn inject(&mut self, recorded: &TickRecord, world: &dyn DynWorld, server: &mut EmbeddedServer) {
        let (tick, mut players) = (recorded.tick, world.players());
        players.sort_unstable();
        let which = self.dice.bits() as usize;
        let player = players.get(which % players.len().max(1)).copied();
        if tick % OPERATOR_EVERY == 3 {
            let draw = OPERATOR_ROLLS[0] + self.dice.below(OPERATOR_ROLLS[1] - OPERATOR_ROLLS[0]);
            let draw = (draw, player, self.notices + 1, Some(&*recorded.published));
            if let Some(operated) = (self.about.checks.operator_event)(draw, &mut self.dice) {
                self.notices += u32::from(operated.is_notice);
                server.operate(operated.action);
            }
        }
        if let Some(player) = player.filter(|_| tick % DISCONNECT_INTERVAL_TICKS == 5) {
            server.operate((self.about.disconnect)(player));
        }
        if tick % LOST_CONNECTION_INTERVAL_TICKS == LOST_CONNECTION_INTERVAL_TICKS - 1 {
            server.disconnect_bot(which);
        }
    }
}

/// The kind of an action: the first word that says more than who acts.
fn kind(about: &GameInfo, action: &EncodedAction) -> String {
    let words = (about.words)(action);
    let mut names =
        words.split(|sign: char| !(sign.is_alphanumeric() || sign == '_')).filter(|name| !name.is_empty());
    let first = names.next().unwrap_or_default();
    if first == "Act" { names.next().unwrap_or_default().to_owned() } else { first.to_owned() }
}

#[cfg(test)]
mod tests;
