//! Paint: two teams colour a field by walking on it, in rounds of half a minute. A newcomer wrote it
//! with docs/your-first-game.md alone. Later it was shortened, and got a lobby
//! (docs/your-second-game.md): a round begins when all players are ready.
//!
//! ```text
//! cargo run --release --example paint          the game at http://127.0.0.1:3000/
//! cargo run --example paint -- bots --count 3 ws://127.0.0.1:3000/          three others that play
//! ```

use std::process::ExitCode;
use std::sync::Arc;

use tickwire::game::simple::{BotPolicy, BotView, Lobby, LobbyPhase, LobbyRules};
use tickwire::game::{BotRng, RoomProperties};
use tickwire::prelude::*;
use tickwire::sim::timer::Timer;

const COLUMNS: i32 = 16;
const ROWS: i32 = 12;
const TILE: i32 = 40;
const WIDTH: i32 = COLUMNS * TILE;
const HEIGHT: i32 = ROWS * TILE;
/// Speed of a painter, px/s.
const SPEED: i32 = 150;
/// Distance at which a painter gets the bucket, px.
const REACH: i32 = 20;
/// Duration of a round, s.
const ROUND_S: u32 = 30;
const LOBBY: LobbyRules = LobbyRules::new(2, 8).with_countdown(3).with_teams(2);

const TABLE: &str = include_str!("paint.tsv");

rows! {
    in TABLE;

    /// The actions of a player.
    pub(crate) enum Action {
        /// Walks up (1), right (2), down (3) or left (4), or stops (0).
        Go in "go" { direction: u8 },
        /// Empties a bucket of paint.
        Splash in "splash" {},
        /// Sends a text to all players.
        Cheer in "cheer" { text: Arc<str> },
        /// Is ready for the next round, or not.
        Ready in "ready" { is_ready: bool },
    }

    /// The state that every client receives.
    struct StateRow in "state" {
        painters: Vec<PainterRow>,
        tiles: Vec<u8>,
        bucket_x: i32,
        bucket_y: i32,
        phase: Arc<str>,
        left: u32,
        winner: Option<u8>,
    }
    struct PainterRow {
        player: PlayerId, name: Arc<str>, team: u8, is_ready: bool, x: i32, y: i32, buckets: u8,
    }

    /// A round has ended. Without a winner, it is a tie.
    struct Over in "over" { winner: Option<u8>, red: u16, blue: u16 }

    /// A player sends a text.
    struct Cheered in "cheered" { player: PlayerId, name: Arc<str>, text: Arc<str> }
}

fields! {
    struct Painter {
        player: PlayerId,
        name: Arc<str>,
        x: i32,
        y: i32,
        direction: u8,
        buckets: u8,
    }
}

fields! {
    /// The whole state of the game.
    pub(crate) struct Paint {
        /// The players, those that are ready, and their teams: 1 red, 2 blue.
        lobby: Lobby,
        painters: Vec<Painter>,
        /// The colours of the tiles, row by row: 0 unpainted, 1 red, 2 blue.
        tiles: Vec<u8>,
        bucket_x: i32,
        bucket_y: i32,
        /// Time until the end of the round.
        left: Timer,
        /// The team that has won the last round.
        winner: Option<u8>,
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

    /// The team of a player in the current round.
    fn playing_team(&self, player: PlayerId) -> Option<u8> {
        self.lobby.team(player).filter(|_| self.lobby.is_playing(player))
    }

    fn begin_round(&mut self, context: &mut TickContext<'_>) {
        (self.left, self.winner) = (Timer::start(ROUND_S * context.tick_hz), None);
        self.tiles.fill(0);
        self.painters.iter_mut().for_each(|painter| painter.buckets = 1);
    }

    fn end_round(&mut self, context: &mut TickContext<'_>) {
        let (red, blue) = (self.count(1), self.count(2));
        self.winner = match red.cmp(&blue) {
            std::cmp::Ordering::Greater => Some(1),
            std::cmp::Ordering::Less => Some(2),
            std::cmp::Ordering::Equal => None,
        };
        context.broadcast(Over { winner: self.winner, red, blue });
        self.lobby.finish();
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
            lobby: Lobby::default(),
            painters: Vec::new(),
            tiles: vec![0; (COLUMNS * ROWS) as usize],
            bucket_x: WIDTH / 2,
            bucket_y: HEIGHT / 2,
            left: Timer::default(),
            winner: None,
        }
    }

    fn join(&mut self, player: PlayerId, joining: &Joining<'_>, context: &mut TickContext<'_>) {
        self.lobby.join(player);
        let (x, y) = (context.random.between(0, WIDTH - 1), context.random.between(0, HEIGHT - 1));
        self.painters.push(Painter { player, name: joining.name.into(), x, y, direction: 0, buckets: 1 });
    }

    fn leave(&mut self, player: PlayerId, _: &mut TickContext<'_>) {
        self.lobby.leave(player);
        self.painters.retain(|one| one.player != player);
    }

    fn disconnect(&mut self, player: PlayerId, _: &mut TickContext<'_>) {
        let _ = self.lobby.set_ready(player, false);
        let mut all = self.painters.iter_mut();
        all.find(|one| one.player == player).into_iter().for_each(|one| one.direction = 0);
    }

    fn apply(&mut self, player: PlayerId, action: Action, context: &mut TickContext<'_>) -> ActionResult {
        let team = self.playing_team(player);
        let one = self.painters.iter_mut().find(|one| one.player == player).ok_or("not_painting")?;
        match action {
            Action::Go { direction } => one.direction = direction,
            Action::Cheer { text } => {
                let name = Arc::clone(&one.name);
                context.broadcast(Cheered { player, name, text });
            }
            Action::Ready { is_ready } => self.lobby.set_ready(player, is_ready)?,
            Action::Splash {} => {
                let team = team.ok_or("no_round")?;
                one.buckets = one.buckets.checked_sub(1).ok_or("no_bucket")?;
                let (column, row) = (one.x / TILE, one.y / TILE);
                for off in 0..9 {
                    self.colour(column + off % 3 - 1, row + off / 3 - 1, team);
                }
            }
        }
        Ok(())
    }

    fn tick(&mut self, context: &mut TickContext<'_>) {
        if self.lobby.tick(&LOBBY, context.tick_hz) {
            self.begin_round(context);
        }
        let step = SPEED / context.tick_hz as i32;
        for at in 0..self.painters.len() {
            let one = &mut self.painters[at];
            let (dx, dy) = [(0, 0), (0, -step), (step, 0), (0, step), (-step, 0)][usize::from(one.direction)];
            one.x = (one.x + dx).clamp(0, WIDTH - 1);
            one.y = (one.y + dy).clamp(0, HEIGHT - 1);
            let (player, x, y) = (one.player, one.x, one.y);
            let Some(team) = self.playing_team(player) else { continue };
            self.colour(x / TILE, y / TILE, team);
            let (off_x, off_y) = (x - self.bucket_x, y - self.bucket_y);
            if off_x * off_x + off_y * off_y <= REACH * REACH {
                self.painters[at].buckets = (self.painters[at].buckets + 1).min(3);
                self.bucket_x = context.random.between(REACH, WIDTH - REACH);
                self.bucket_y = context.random.between(REACH, HEIGHT - REACH);
            }
        }
        if self.lobby.phase() == LobbyPhase::Playing && self.left.tick() {
            self.end_round(context);
        }
    }

    fn write_room(&self, room: &mut RoomProperties) {
        self.lobby.write_room(&LOBBY, room);
    }

    fn write_state(&self, rows: &mut StateRows) {
        let painters = self.painters.iter().map(|painter| {
            let Painter { player, x, y, buckets, .. } = *painter;
            let team = self.lobby.team(player).unwrap_or(0);
            let is_ready = self.lobby.member(player).is_some_and(|member| member.is_ready);
            PainterRow { player, name: Arc::clone(&painter.name), team, is_ready, x, y, buckets }
        });
        let left = match self.lobby.phase() {
            LobbyPhase::Playing => self.left.seconds(rows.tick_hz()),
            _ => self.lobby.seconds_left(rows.tick_hz()),
        };
        rows.push(StateRow {
            painters: painters.collect(),
            tiles: self.tiles.clone(),
            bucket_x: self.bucket_x,
            bucket_y: self.bucket_y,
            phase: self.lobby.phase().name().into(),
            left,
            winner: self.winner,
        });
    }

    fn bot_policy() -> Option<Box<dyn BotPolicy<Action>>> {
        Some(Box::new(Walker))
    }
}

/// A bot that gets ready, and walks at random.
struct Walker;

impl BotPolicy<Action> for Walker {
    fn decide(&mut self, view: &BotView<'_>, random: &mut BotRng) -> Option<Action> {
        let state: StateRow = view.newest()?;
        let own = state.painters.iter().find(|painter| painter.player == view.player)?;
        match random.below(10) {
            0 if !own.is_ready => Some(Action::Ready { is_ready: true }),
            1 if &*state.phase == "playing" && own.buckets > 0 => Some(Action::Splash {}),
            2 | 3 => Some(Action::Go { direction: 1 + random.below(4) as u8 }),
            _ => None,
        }
    }
}

fn main() -> ExitCode {
    tickwire::serve::<Simple<Paint>>()
}

#[cfg(test)]
mod tests {
    use tickwire::game::simple::TestWorld;

    use super::*;

    /// The phase, the seconds left, and the team of each player.
    fn summary(world: &TestWorld<Paint>) -> (String, u32, Vec<u8>) {
        let state: StateRow = world.state_row().expect("the state");
        (state.phase.to_string(), state.left, state.painters.iter().map(|painter| painter.team).collect())
    }

    #[test]
    fn a_round_begins_when_all_are_ready_and_the_next_one_when_they_are_ready_again() {
        let mut world = TestWorld::<Paint>::new();
        let players = [world.join("Ann"), world.join("Bob"), world.join("Carl")];
        world.act(players[0], Action::Ready { is_ready: true });
        world.tick();
        assert_eq!(summary(&world), ("waiting".to_owned(), 0, vec![1, 2, 1]));
        players[1..].iter().for_each(|player| world.act(*player, Action::Ready { is_ready: true }));
        world.tick();
        assert_eq!(summary(&world), ("countdown".to_owned(), 3, vec![1, 2, 1]));
        world.act(players[0], Action::Splash {});
        assert_eq!(world.tick().rejected, [(players[0], "no_round")]);
        world.ticks(89);
        assert_eq!(summary(&world), ("playing".to_owned(), 30, vec![1, 2, 1]));
        // A player who joins during a round waits for the next one.
        let late = world.join("Dora");
        world.act(late, Action::Splash {});
        assert_eq!(world.tick().rejected, [(late, "no_round")]);
        assert_eq!(summary(&world).2, [1, 2, 1, 0]);

        world.game_mut().tiles.fill(2);
        world.ticks(30 * 30 - 3);
        let events = world.tick();
        assert_eq!(events.events_of(late), [&Over { winner: Some(2), red: 2, blue: 190 }.into()]);
        world.tick();
        // The one that waited has the first place now.
        assert_eq!(summary(&world), ("waiting".to_owned(), 0, vec![2, 1, 2, 1]));
    }
}
