//! Leaderboard: the accounts with the most presses in a round. The best result of each account is in
//! an SQLite database, so it survives a restart. A player without an account plays, but has no place.
//! docs/accounts.md explains it.
//!
//! ```text
//! cargo run -p leaderboard -- --token-file tokens.txt     http://127.0.0.1:3000/#token=TOKEN
//!
//!  world ─ report "result" ─► hook, on a thread of its own ─► leaderboard.sqlite
//!    ▲                                  │
//!    └─── action SetLeaders ◄────────────┘
//! ```

#[cfg(test)]
mod tests;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use rusqlite::{Connection, params};
use tickwire::prelude::*;
use tickwire::sim::OptionSpec;
use tickwire::{ServerEvent, ServerEventKind};

const TICK_HZ: u32 = 30;
/// Places of the leaderboard.
const PLACES: u8 = 10;

/// The best result of an account.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Leader {
    account: Arc<str>,
    best: u16,
}

fields!(Leader: account: Arc<str>, best: u16);

const TABLE: &str = include_str!("leaderboard.tsv");

rows! {
    in TABLE;

    /// The actions.
    enum Action {
        /// A player presses the button.
        Press in "press" {},
        /// The program sets the leaderboard. No client can send it.
        SetLeaders { leaders: Vec<Leader> },
    }

    /// The state that every client receives.
    struct StateRow in "state" { seconds: u32, pressers: Vec<PresserRow>, leaders: Vec<LeaderRow> }
    struct PresserRow { player: PlayerId, name: Arc<str>, presses: u16 }
    struct LeaderRow { account: Arc<str>, best: u16 }
}

fields! {
    struct Presser { player: PlayerId, name: Arc<str>, account: Option<Arc<str>>, presses: u16 }
}

fields! {
    /// The whole state of the game.
    struct Presses {
        round_s: u32,
        /// Ticks until the end of the round.
        left: u32,
        pressers: Vec<Presser>,
        leaders: Vec<Leader>,
    }
}

impl SimpleGame for Presses {
    const NAME: &'static str = "leaderboard";
    const DIALECT: &'static str = "leaderboard";
    const TABLE: (&'static str, &'static str) = ("leaderboard.tsv", TABLE);
    const PAGE: &'static str = include_str!("leaderboard.html");
    const TICK_RATES: &'static [u32] = &[TICK_HZ];
    const OPTIONS: &'static [OptionSpec] =
        &[OptionSpec::new("round", "length of a round, in seconds", 20, 1..=600)];

    type Action = Action;

    fn new(params: &WorldParams) -> Presses {
        let round_s = params.option("round").unwrap_or_default();
        Presses { round_s, left: round_s * params.tick_hz, pressers: Vec::new(), leaders: Vec::new() }
    }

    fn join(&mut self, player: PlayerId, joining: &Joining<'_>, _: &mut TickContext<'_>) {
        let (name, account) = (joining.name.into(), joining.account.map(Arc::from));
        self.pressers.push(Presser { player, name, account, presses: 0 });
    }

    fn leave(&mut self, player: PlayerId, _: &mut TickContext<'_>) {
        self.pressers.retain(|presser| presser.player != player);
    }

    fn apply(&mut self, player: PlayerId, action: Action, _: &mut TickContext<'_>) -> ActionResult {
        let presser = self.pressers.iter_mut().find(|presser| presser.player == player);
        let presser = presser.filter(|_| action == Action::Press {}).ok_or("operator_only")?;
        presser.presses = presser.presses.saturating_add(1);
        Ok(())
    }

    fn operate(&mut self, action: Action, _: &mut TickContext<'_>) -> ActionResult {
        let Action::SetLeaders { leaders } = action else { return Err("player_only") };
        self.leaders = leaders;
        Ok(())
    }

    fn tick(&mut self, context: &mut TickContext<'_>) {
        self.left = self.left.saturating_sub(1);
        if self.left > 0 {
            return;
        }
        self.left = self.round_s * context.tick_hz;
        for presser in &mut self.pressers {
            let presses = std::mem::take(&mut presser.presses);
            let Some(account) = presser.account.as_deref().filter(|_| presses > 0) else { continue };
            context.report("result", |report| {
                report.set("account", account);
                report.set("presses", presses);
            });
        }
    }

    fn write_state(&self, rows: &mut StateRows) {
        let presser = |one: &Presser| PresserRow {
            player: one.player,
            name: Arc::clone(&one.name),
            presses: one.presses,
        };
        let leader = |one: &Leader| LeaderRow { account: Arc::clone(&one.account), best: one.best };
        rows.push(StateRow {
            seconds: self.left.div_ceil(TICK_HZ),
            pressers: self.pressers.iter().map(presser).collect(),
            leaders: self.leaders.iter().map(leader).collect(),
        });
    }
}

/// The database. Only the thread of the hook uses it.
struct Database(Connection);

impl Database {
    fn open(file: &Path) -> rusqlite::Result<Database> {
        let database = Connection::open(file)?;
        database
            .execute("CREATE TABLE IF NOT EXISTS results (account TEXT PRIMARY KEY, best INTEGER)", [])?;
        Ok(Database(database))
    }

    /// Stores a result if it is better than the account's best one.
    fn store(&self, account: &str, presses: u16) -> rusqlite::Result<()> {
        let insert = "INSERT INTO results VALUES (?1, ?2)
            ON CONFLICT (account) DO UPDATE SET best = max(best, excluded.best)";
        self.0.execute(insert, params![account, presses]).map(drop)
    }

    fn leaders(&self) -> rusqlite::Result<Vec<Leader>> {
        let query = "SELECT account, best FROM results ORDER BY best DESC, account LIMIT ?1";
        let mut query = self.0.prepare(query)?;
        let leader = |row: &rusqlite::Row<'_>| {
            Ok(Leader { account: row.get::<_, String>(0)?.into(), best: row.get(1)? })
        };
        query.query_map([PLACES], leader)?.collect()
    }

    /// Handles an event of the server: stores results, and sends the leaderboard into the world.
    fn handle(&self, event: &ServerEvent) -> Result<(), Box<dyn std::error::Error>> {
        match &event.kind {
            ServerEventKind::Started => {}
            ServerEventKind::Reported(report) => {
                let (account, presses) = (report.text("account"), report.integer("presses"));
                self.store(account.ok_or("no account")?, presses.ok_or("no presses")?)?;
            }
            _ => return Ok(()),
        }
        event.room.act::<Presses>(Action::SetLeaders { leaders: self.leaders()? })?;
        Ok(())
    }
}

#[allow(clippy::print_stderr, reason = "errors of a program with a command line")]
fn main() -> ExitCode {
    let database = match Database::open(Path::new("leaderboard.sqlite")) {
        Ok(database) => database,
        Err(why) => {
            eprintln!("leaderboard.sqlite: {why}");
            return ExitCode::FAILURE;
        }
    };
    tickwire::serve_with_events::<Simple<Presses>>(move |event| {
        if let Err(why) = database.handle(&event) {
            eprintln!("leaderboard: {why}");
        }
    })
}
