//! Coins: the first player to reach the coin gets a point, and the next coin appears elsewhere.
//! docs/your-first-game.md explains this game, which has three files: this one, a table of packets
//! (`coins.tsv`) and a page (`coins.html`).
//!
//! ```text
//! cargo run --release --example coins          the game at http://127.0.0.1:3000/
//! ```

use std::process::ExitCode;
use std::sync::Arc;

use tickwire::prelude::*;

const WIDTH: i32 = 640;
const HEIGHT: i32 = 480;
/// Speed of a runner, px/s.
const SPEED: i32 = 180;
/// Distance at which a runner gets the coin, px.
const REACH: i32 = 20;

const TABLE: &str = include_str!("coins.tsv");

rows! {
    in TABLE;

    /// The actions of a player.
    pub enum Action {
        /// Walks, or stops.
        Go in "go" {
            /// Up (1), right (2), down (3) or left (4); 0 stops.
            direction: u8,
        },
    }

    /// The state that every client receives.
    struct StateRow in "state" { runners: Vec<RunnerRow>, coin_x: i32, coin_y: i32 }
    struct RunnerRow { player: PlayerId, name: Arc<str>, x: i32, y: i32, score: u16 }

    /// A player has caught the coin.
    struct Caught in "caught" { player: PlayerId, name: Arc<str> }
}

fields! {
    /// The runner of a player.
    struct Runner {
        player: PlayerId,
        name: Arc<str>,
        x: i32,
        y: i32,
        direction: u8,
        score: u16,
    }
}

fields! {
    /// The whole state of the game.
    pub struct Coins {
        runners: Vec<Runner>,
        coin_x: i32,
        coin_y: i32,
    }
}

impl SimpleGame for Coins {
    const NAME: &'static str = "coins";
    const DIALECT: &'static str = "coins";
    const TABLE: (&'static str, &'static str) = ("coins.tsv", TABLE);
    const PAGE: &'static str = include_str!("coins.html");
    const TICK_RATES: &'static [u32] = &[30];

    type Action = Action;

    fn new(_: &WorldParams) -> Coins {
        Coins { runners: Vec::new(), coin_x: WIDTH / 2, coin_y: HEIGHT / 4 }
    }

    fn join(&mut self, player: PlayerId, joining: &Joining<'_>, context: &mut TickContext<'_>) {
        let (x, y) = (context.random.between(0, WIDTH), context.random.between(0, HEIGHT));
        self.runners.push(Runner { player, name: joining.name.into(), x, y, direction: 0, score: 0 });
    }

    fn leave(&mut self, player: PlayerId, _: &mut TickContext<'_>) {
        self.runners.retain(|runner| runner.player != player);
    }

    fn disconnect(&mut self, player: PlayerId, _: &mut TickContext<'_>) {
        let mut all = self.runners.iter_mut();
        all.find(|runner| runner.player == player).into_iter().for_each(|runner| runner.direction = 0);
    }

    fn apply(&mut self, player: PlayerId, action: Action, _: &mut TickContext<'_>) -> ActionResult {
        let runner = self.runners.iter_mut().find(|runner| runner.player == player).ok_or("not_running")?;
        let Action::Go { direction } = action;
        runner.direction = direction;
        Ok(())
    }

    fn tick(&mut self, context: &mut TickContext<'_>) {
        let step = SPEED / context.tick_hz as i32;
        for runner in &mut self.runners {
            let (dx, dy) =
                [(0, 0), (0, -step), (step, 0), (0, step), (-step, 0)][usize::from(runner.direction)];
            runner.x = (runner.x + dx).clamp(0, WIDTH);
            runner.y = (runner.y + dy).clamp(0, HEIGHT);
            let (off_x, off_y) = (runner.x - self.coin_x, runner.y - self.coin_y);
            if off_x * off_x + off_y * off_y <= REACH * REACH {
                runner.score += 1;
                self.coin_x = context.random.between(REACH, WIDTH - REACH);
                self.coin_y = context.random.between(REACH, HEIGHT - REACH);
                context.broadcast(Caught { player: runner.player, name: Arc::clone(&runner.name) });
            }
        }
    }

    fn write_state(&self, rows: &mut StateRows) {
        let runners = self.runners.iter().map(|runner| {
            let Runner { player, x, y, score, .. } = *runner;
            RunnerRow { player, name: Arc::clone(&runner.name), x, y, score }
        });
        let (coin_x, coin_y) = (self.coin_x, self.coin_y);
        rows.push(StateRow { runners: runners.collect(), coin_x, coin_y });
    }

    fn score(&self, player: PlayerId) -> Option<i64> {
        let runner = self.runners.iter().find(|runner| runner.player == player)?;
        Some(runner.score.into())
    }
}

fn main() -> ExitCode {
    tickwire::serve::<Simple<Coins>>()
}
