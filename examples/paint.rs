//! Paint: two teams colour a field by walking on it, in rounds of half a minute. This game shows
//! how far docs/your-first-game.md leads: a newcomer wrote it with that document alone. Later it
//! was shortened.
//!
//! ```text
//! cargo run --release --example paint          the game at http://127.0.0.1:3000/
//! ```

use std::process::ExitCode;
use std::sync::Arc;

use tickwire::prelude::*;

const COLUMNS: i32 = 16;
const ROWS: i32 = 12;
const TILE: i32 = 40;
const WIDTH: i32 = COLUMNS * TILE;
const HEIGHT: i32 = ROWS * TILE;
/// Speed of a painter, px/s.
const SPEED: i32 = 150;
/// Distance at which a painter gets the bucket, px.
const REACH: i32 = 20;
/// Durations of a round and of the pause after it, s.
const ROUND: u32 = 30;
const PAUSE: u32 = 6;

const TABLE: &str = include_str!("paint.tsv");

rows! {
    in TABLE;

    /// The actions of a player.
    enum Action {
        /// Walks up (1), right (2), down (3) or left (4), or stops (0).
        Go in "go" { direction: u8 },
        /// Empties a bucket of paint.
        Splash in "splash" {},
        /// Sends a text to all players.
        Cheer in "cheer" { text: Arc<str> },
    }

    /// The state that every client receives.
    struct StateRow in "state" {
        painters: Vec<PainterRow>,
        tiles: Vec<u8>,
        bucket_x: i32,
        bucket_y: i32,
        playing: bool,
        left: u32,
        winner: Option<u8>,
        round: u16,
    }
    struct PainterRow { player: PlayerId, name: Arc<str>, team: u8, x: i32, y: i32, buckets: u8 }

    /// A round has ended. Without a winner, it is a tie.
    struct Over in "over" { winner: Option<u8>, red: u16, blue: u16 }

    /// A player sends a text.
    struct Cheered in "cheered" { player: PlayerId, name: Arc<str>, text: Arc<str> }
}

fields! {
    struct Painter {
        player: PlayerId,
        name: Arc<str>,
        /// The team: 1 red, 2 blue.
        team: u8,
        x: i32,
        y: i32,
        direction: u8,
        buckets: u8,
    }
}

fields! {
    /// The whole state of the game.
    struct Paint {
        painters: Vec<Painter>,
        /// The colours of the tiles, row by row: 0 unpainted, 1 red, 2 blue.
        tiles: Vec<u8>,
        bucket_x: i32,
        bucket_y: i32,
        playing: bool,
        /// Ticks until the end of the round or of the pause.
        left: u32,
        /// Ticks per second. Known after the first tick.
        hz: u32,
        winner: Option<u8>,
        round: u16,
    }
}

impl Paint {
    fn colour(&mut self, column: i32, row: i32, team: u8) {
        if (0..COLUMNS).contains(&column) && (0..ROWS).contains(&row) {
            self.tiles[(row * COLUMNS + column) as usize] = team;
        }
    }

    fn count(&self, team: u8) -> u16 {
        self.tiles.iter().filter(|&&tile| tile == team).count() as u16
    }
}

impl SimpleGame for Paint {
    const NAME: &'static str = "paint";
    const DIALECT: &'static str = "paint";
    const TABLE: (&'static str, &'static str) = ("paint.tsv", TABLE);
    const PAGE: &'static str = include_str!("paint.html");
    const TICK_RATES: &'static [u32] = &[30];

    type Action = Action;

    fn new(_: &WorldParams) -> Paint {
        Paint {
            painters: Vec::new(),
            tiles: vec![0; (COLUMNS * ROWS) as usize],
            bucket_x: WIDTH / 2,
            bucket_y: HEIGHT / 2,
            playing: false,
            left: 0,
            hz: 30,
            winner: None,
            round: 0,
        }
    }

    fn join(&mut self, player: PlayerId, joining: &Joining<'_>, context: &mut TickContext<'_>) {
        let reds = self.painters.iter().filter(|one| one.team == 1).count();
        let team = if reds * 2 <= self.painters.len() { 1 } else { 2 };
        let (x, y) = (context.random.between(0, WIDTH - 1), context.random.between(0, HEIGHT - 1));
        self.painters.push(Painter {
            player,
            name: joining.name.into(),
            team,
            x,
            y,
            direction: 0,
            buckets: 1,
        });
    }

    fn leave(&mut self, player: PlayerId, _: &mut TickContext<'_>) {
        self.painters.retain(|one| one.player != player);
    }

    fn disconnect(&mut self, player: PlayerId, _: &mut TickContext<'_>) {
        let mut all = self.painters.iter_mut();
        all.find(|one| one.player == player).into_iter().for_each(|one| one.direction = 0);
    }

    fn apply(&mut self, player: PlayerId, action: Action, context: &mut TickContext<'_>) -> ActionResult {
        let one = self.painters.iter_mut().find(|one| one.player == player).ok_or("not_painting")?;
        match action {
            Action::Go { direction } => one.direction = direction,
            Action::Cheer { text } => {
                let name = Arc::clone(&one.name);
                context.broadcast(Cheered { player, name, text });
            }
            Action::Splash {} if !self.playing => return Err("no_round"),
            Action::Splash {} => {
                one.buckets = one.buckets.checked_sub(1).ok_or("no_bucket")?;
                let (column, row, team) = (one.x / TILE, one.y / TILE, one.team);
                for off in 0..9 {
                    self.colour(column + off % 3 - 1, row + off / 3 - 1, team);
                }
            }
        }
        Ok(())
    }

    fn tick(&mut self, context: &mut TickContext<'_>) {
        self.hz = context.tick_hz;
        self.left = self.left.saturating_sub(1);
        if self.left == 0 && self.playing {
            let (red, blue) = (self.count(1), self.count(2));
            self.winner = match red.cmp(&blue) {
                std::cmp::Ordering::Greater => Some(1),
                std::cmp::Ordering::Less => Some(2),
                std::cmp::Ordering::Equal => None,
            };
            (self.playing, self.left) = (false, PAUSE * self.hz);
            let winner = self.winner;
            context.broadcast(Over { winner, red, blue });
        } else if self.left == 0 {
            (self.playing, self.left) = (true, ROUND * self.hz);
            self.winner = None;
            self.round = self.round.wrapping_add(1);
            self.tiles.fill(0);
            self.bucket_x = context.random.between(REACH, WIDTH - REACH);
            self.bucket_y = context.random.between(REACH, HEIGHT - REACH);
            for one in &mut self.painters {
                one.buckets = 1;
            }
        }
        if !self.playing {
            return;
        }
        let step = SPEED / context.tick_hz as i32;
        let mut painted = Vec::new();
        for one in &mut self.painters {
            let (dx, dy) = [(0, 0), (0, -step), (step, 0), (0, step), (-step, 0)][usize::from(one.direction)];
            one.x = (one.x + dx).clamp(0, WIDTH - 1);
            one.y = (one.y + dy).clamp(0, HEIGHT - 1);
            painted.push((one.x / TILE, one.y / TILE, one.team));
            let (off_x, off_y) = (one.x - self.bucket_x, one.y - self.bucket_y);
            if off_x * off_x + off_y * off_y <= REACH * REACH {
                one.buckets = (one.buckets + 1).min(3);
                self.bucket_x = context.random.between(REACH, WIDTH - REACH);
                self.bucket_y = context.random.between(REACH, HEIGHT - REACH);
            }
        }
        for (column, row, team) in painted {
            self.colour(column, row, team);
        }
    }

    fn write_state(&self, rows: &mut StateRows) {
        let painters = self.painters.iter().map(|painter| {
            let Painter { player, team, x, y, buckets, .. } = *painter;
            PainterRow { player, name: Arc::clone(&painter.name), team, x, y, buckets }
        });
        rows.push(StateRow {
            painters: painters.collect(),
            tiles: self.tiles.clone(),
            bucket_x: self.bucket_x,
            bucket_y: self.bucket_y,
            playing: self.playing,
            left: self.left.div_ceil(self.hz),
            winner: self.winner,
            round: self.round,
        });
    }
}

fn main() -> ExitCode {
    tickwire::serve::<Simple<Paint>>()
}
