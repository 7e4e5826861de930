//! Pong for two players and any number of spectators: a whole multiplayer game in this file, a
//! table of packets (`pong.tsv`) and a page (`pong.html`).
//!
//! ```text
//! cargo run --release --example pong          the game at http://127.0.0.1:3000/
//! ```
//!
//! The program has the whole command line of tickwire: rooms (`--room NAME`), captures (`--capture
//! FILE`), `explain`, `replay`, and the inspector at `/wire`. The first two players that join take
//! the sides. The others wait, and take a side that becomes free. With `--rooms-on-demand 20`, a
//! page at `?room=any` finds an opponent: the server sends it to a room with one player, or makes one.
//! `cargo run --example pong -- bots --play --count 1 ws://127.0.0.1:3000/` is an opponent that follows the ball.

use std::process::ExitCode;
use std::sync::Arc;

use tickwire::game::simple::{BotPolicy, BotView};
use tickwire::game::{BotRng, RoomProperties};
use tickwire::prelude::*;

/// The size of the field, in the units of the packets: pixels of the page at its natural size.
const WIDTH: i32 = 800;
const HEIGHT: i32 = 600;
/// Distance between a paddle's centre and its end of the field.
const INSET: i32 = 24;
const PADDLE: (i32, i32) = (12, 96);
const RADIUS: i32 = 8;
/// Position steps per unit, so that slow movements add up.
const STEPS: i32 = 256;
/// Speeds of a paddle, and of the served ball, in units per second.
const PADDLE_SPEED: i32 = 480;
const BALL_SPEED: i32 = 380;
/// A hit by a paddle raises the speed of the ball by 1/`FASTER`.
const FASTER: i32 = 16;
/// Points that win the match, ticks before a serve, and ticks before the next match.
const TO_WIN: u8 = 11;
const SERVE_AFTER: u32 = 60;
const NEXT_AFTER: u32 = 180;

const TABLE: &str = include_str!("pong.tsv");

rows! {
    in TABLE;

    /// The actions of a player.
    pub enum Action {
        /// Moves the player's paddle up (-1) or down (1), or stops it (0).
        Paddle in "paddle" {
            /// -1, 0 or 1.
            direction: i8,
        },
    }

    /// The state that every client receives. Positions are in units of the page.
    struct StateRow in "state" {
        ball_x: i32,
        ball_y: i32,
        left_y: i32,
        right_y: i32,
        left: Option<PlayerId>,
        right: Option<PlayerId>,
        left_name: Option<Arc<str>>,
        right_name: Option<Arc<str>>,
        left_score: u8,
        right_score: u8,
        serve_in: u32,
        winner: Option<PlayerId>,
    }
}

/// One side of the field.
#[derive(Clone, Debug, Default, PartialEq)]
struct Side {
    player: Option<PlayerId>,
    /// The centre of the side's paddle.
    y: i32,
    direction: i32,
    score: u8,
}

fields!(Side: player: Option<PlayerId>, y: i32, direction: i32, score: u8);

fields! {
    /// A player in the room. `guests` is in the order of joining.
    struct Guest {
        player: PlayerId,
        name: Arc<str>,
    }
}

fields! {
    /// The whole state of the game.
    pub struct Pong {
        guests: Vec<Guest>,
        left: Side,
        right: Side,
        /// The ball's centre, and its velocity per second, in [`STEPS`].
        x: i32,
        y: i32,
        vx: i32,
        vy: i32,
        /// Ticks until the serve. Until then the ball rests in the middle.
        serve_in: u32,
        winner: Option<PlayerId>,
    }
}

impl SimpleGame for Pong {
    const NAME: &'static str = "pong";
    const TABLE: (&'static str, &'static str) = ("pong.tsv", TABLE);
    const DIALECT: &'static str = "pong";
    const PAGE: &'static str = include_str!("pong.html");

    type Action = Action;

    fn new(_: &WorldParams) -> Pong {
        let side = Side { y: HEIGHT / 2 * STEPS, ..Side::default() };
        let (x, y) = (WIDTH / 2 * STEPS, HEIGHT / 2 * STEPS);
        let (left, right) = (side.clone(), side);
        Pong { guests: Vec::new(), left, right, x, y, vx: 0, vy: 0, serve_in: 0, winner: None }
    }

    fn join(&mut self, player: PlayerId, joining: &Joining<'_>, _: &mut TickContext<'_>) {
        self.guests.push(Guest { player, name: joining.name.into() });
        self.take_sides();
    }

    fn disconnect(&mut self, player: PlayerId, _: &mut TickContext<'_>) {
        let mut sides = [&mut self.left, &mut self.right].into_iter();
        sides.find(|side| side.player == Some(player)).into_iter().for_each(|side| side.direction = 0);
    }

    fn leave(&mut self, player: PlayerId, _: &mut TickContext<'_>) {
        self.guests.retain(|guest| guest.player != player);
        for side in [&mut self.left, &mut self.right] {
            if side.player == Some(player) {
                side.player = None;
                side.direction = 0;
            }
        }
        self.take_sides();
    }

    fn apply(&mut self, player: PlayerId, action: Action, _: &mut TickContext<'_>) -> ActionResult {
        let Action::Paddle { direction } = action;
        if !(-1..=1).contains(&direction) {
            return Err("unknown_direction");
        }
        let sides = [&mut self.left, &mut self.right];
        let own = sides.into_iter().find(|side| side.player == Some(player));
        own.ok_or("watching")?.direction = direction.into();
        Ok(())
    }

    fn tick(&mut self, context: &mut TickContext<'_>) {
        let hz = context.tick_hz as i32;
        let (half, height) = (PADDLE.1 / 2 * STEPS, HEIGHT * STEPS);
        for side in [&mut self.left, &mut self.right] {
            side.y = (side.y + side.direction * PADDLE_SPEED * STEPS / hz).clamp(half, height - half);
        }
        if self.left.player.is_none() || self.right.player.is_none() {
            return;
        }
        if self.serve_in > 0 {
            self.serve_in -= 1;
            if self.serve_in == 0 {
                self.serve(context);
            }
            return;
        }
        (self.x, self.y) = (self.x + self.vx / hz, self.y + self.vy / hz);
        let edge = RADIUS * STEPS;
        if self.y < edge && self.vy < 0 || self.y > height - edge && self.vy > 0 {
            self.vy = -self.vy;
        }
        self.meet_paddles();
        if !(0..=WIDTH * STEPS).contains(&self.x) {
            self.score(self.x < 0);
        }
    }

    fn write_room(&self, room: &mut RoomProperties) {
        room.set("state", if self.guests.len() < 2 { "waiting" } else { "playing" });
        room.set("max_players", 2);
    }

    fn write_state(&self, rows: &mut StateRows) {
        let unit = |steps: i32| (steps / STEPS).max(0);
        let name = |side: &Side| {
            let guest = self.guests.iter().find(|guest| side.player == Some(guest.player));
            guest.map(|guest| Arc::clone(&guest.name))
        };
        rows.push(StateRow {
            ball_x: unit(self.x),
            ball_y: unit(self.y),
            left_y: unit(self.left.y),
            right_y: unit(self.right.y),
            left: self.left.player,
            right: self.right.player,
            left_name: name(&self.left),
            right_name: name(&self.right),
            left_score: self.left.score,
            right_score: self.right.score,
            serve_in: self.serve_in,
            winner: self.winner,
        });
    }

    fn bot_policy() -> Option<Box<dyn BotPolicy<Action>>> {
        Some(Box::<Follower>::default())
    }
}

impl Pong {
    /// Gives free sides to the players that have waited longest. With a new opponent, a new match
    /// begins.
    fn take_sides(&mut self) {
        let waiting = |left: &Side, right: &Side, guest: &&Guest| {
            ![left.player, right.player].contains(&Some(guest.player))
        };
        for is_left in [true, false] {
            let (left, right) = (&self.left, &self.right);
            let next = self.guests.iter().find(|guest| waiting(left, right, guest)).map(|guest| guest.player);
            let side = if is_left { &mut self.left } else { &mut self.right };
            if side.player.is_none() && next.is_some() {
                side.player = next;
                self.begin(SERVE_AFTER);
            }
        }
    }

    /// Begins a match with a serve after `serve_in` ticks.
    fn begin(&mut self, serve_in: u32) {
        (self.left.score, self.right.score, self.winner) = (0, 0, None);
        self.rest(serve_in);
    }

    fn rest(&mut self, serve_in: u32) {
        (self.x, self.y, self.vx, self.vy) = (WIDTH / 2 * STEPS, HEIGHT / 2 * STEPS, 0, 0);
        self.serve_in = serve_in;
    }

    fn serve(&mut self, context: &mut TickContext<'_>) {
        if self.winner.is_some() {
            self.begin(0);
        }
        let way = if context.random.below(2) == 0 { -1 } else { 1 };
        self.vx = way * BALL_SPEED * STEPS;
        self.vy = context.random.between(-BALL_SPEED / 2, BALL_SPEED / 2) * STEPS;
    }

    /// Returns the ball from a paddle. The angle grows with the distance from the paddle's middle.
    fn meet_paddles(&mut self) {
        let reach = (PADDLE.1 / 2 + RADIUS) * STEPS;
        let line = (INSET + PADDLE.0 / 2 + RADIUS) * STEPS;
        let behind = (INSET - PADDLE.0 / 2) * STEPS;
        let from_left = behind..=line;
        let from_right = WIDTH * STEPS - line..=WIDTH * STEPS - behind;
        for (side, range, way) in [(&self.left, from_left, 1), (&self.right, from_right, -1)] {
            let off = self.y - side.y;
            if range.contains(&self.x) && off.abs() <= reach && self.vx.signum() == -way {
                let speed = (self.vx.abs() + self.vx.abs() / FASTER).min(3 * BALL_SPEED * STEPS);
                self.vx = way * speed;
                self.vy = (i64::from(speed) * i64::from(off) / i64::from(reach)) as i32;
            }
        }
    }

    fn score(&mut self, is_for_right: bool) {
        let side = if is_for_right { &mut self.right } else { &mut self.left };
        side.score += 1;
        let has_won = side.score >= TO_WIN;
        self.winner = side.player.filter(|_| has_won);
        self.rest(if has_won { NEXT_AFTER } else { SERVE_AFTER });
    }
}

/// A bot that moves its paddle to the height of the ball.
#[derive(Default)]
struct Follower {
    direction: i8,
}

impl BotPolicy<Action> for Follower {
    fn decide(&mut self, view: &BotView<'_>, _: &mut BotRng) -> Option<Action> {
        let state: StateRow = view.newest()?;
        let sides = [(state.left, state.left_y), (state.right, state.right_y)];
        let (_, paddle_y) = sides.into_iter().find(|(player, _)| *player == Some(view.player))?;
        let off = state.ball_y - paddle_y;
        let direction = if off.abs() < PADDLE.1 / 4 { 0 } else { off.signum() as i8 };
        let before = std::mem::replace(&mut self.direction, direction);
        (direction != before).then_some(Action::Paddle { direction })
    }
}

fn main() -> ExitCode {
    tickwire::serve::<Simple<Pong>>()
}
