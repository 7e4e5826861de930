//! Kites: each page simulates its own kites with springs and wind, in floating point, and reports
//! their states. The server validates each report and sends the kites to all pages. The first kite
//! at a star gets the star.
//!
//! ```text
//! cargo run --release --example kites                                           the game at http://127.0.0.1:3000/
//! cargo run --release --example kites -- bots ws://127.0.0.1:3000 --play        owners in Rust
//! ```
//!
//! The page has a button for each way to cheat, and shows the server's response.

use std::process::ExitCode;
use std::sync::Arc;

use tickwire::game::client_authority::{self, AuthorityRules, OwnedEntities, OwnedState, TimeoutAction};
use tickwire::game::simple::{BotPolicy, BotView};
use tickwire::game::{AgentOutput, BotRng, BotStats};
use tickwire::packet::{DecodedPacket, Value};
use tickwire::prelude::*;
use tickwire::sim::fixed::is_within;

const WIDTH: i32 = 960;
const HEIGHT: i32 = 600;
/// Kites start below this line.
const GROUND: i32 = 540;
const TICK_HZ: u32 = 30;
/// Position units per pixel. With this value, a speed in px/s is also the distance in units per
/// tick.
const STEPS: i32 = TICK_HZ as i32;
/// Maximum speed of a kite, px/s.
const SPEED: u32 = 450;
const STARS: usize = 4;
/// Distance at which a kite gets a star, px.
const REACH: u32 = 26;

/// The state of a kite, as its owner reports it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kite {
    /// Position in units of 1/[`STEPS`] px.
    pub x: i32,
    /// As `x`.
    pub y: i32,
    /// Velocity in px/s.
    pub vx: i32,
    /// As `vx`.
    pub vy: i32,
}

fields!(Kite: x: i32, y: i32, vx: i32, vy: i32);

impl OwnedState for Kite {
    const RULES: AuthorityRules = AuthorityRules {
        max_per_player: 3,
        spawn_ticks: TICK_HZ,
        report_ticks: 2,
        speed: SPEED,
        slack_ticks: TICK_HZ / 2,
        extrapolation_ticks: TICK_HZ / 2,
        timeout_ticks: 10 * TICK_HZ,
        on_timeout: TimeoutAction::Despawn,
        on_disconnect: TimeoutAction::Freeze,
    };

    fn is_valid(&self) -> bool {
        let is_in_sky = (0..=WIDTH * STEPS).contains(&self.x) && (0..=HEIGHT * STEPS).contains(&self.y);
        is_in_sky && is_within(self.vx.unsigned_abs(), self.vy.unsigned_abs(), SPEED)
    }

    fn position(&self) -> (i32, i32) {
        (self.x, self.y)
    }

    fn extrapolate(&mut self) {
        (self.x, self.y) = (self.x + self.vx, self.y + self.vy);
    }
}

const TABLE: &str = include_str!("kites.tsv");

rows! {
    in TABLE;

    /// The actions of a player. Positions are in px, velocities in px/s.
    pub enum Action {
        /// Spawns a kite under a number that the player chooses.
        Fly in "fly" {
            /// A number that no kite of the player has.
            number: u16,
            /// Position.
            x: u16,
            /// As `x`.
            y: u16,
        },
        /// Reports the state of a kite.
        Report in "report" {
            /// The id of the kite.
            id: u32,
            /// Position.
            x: u16,
            /// As `x`.
            y: u16,
            /// Velocity.
            vx: i16,
            /// As `vx`.
            vy: i16,
        },
        /// Removes a kite.
        Land in "land" {
            /// The id of the kite.
            id: u32,
        },
    }

    /// The state that every client receives.
    struct StateRow in "state" { flyers: Vec<FlyerRow>, kites: Vec<KiteRow>, stars: Vec<StarRow> }
    struct FlyerRow { player: PlayerId, name: Arc<str>, score: u16 }
    struct KiteRow { id: u32, x: i32, y: i32, vx: i32, vy: i32 }
    struct StarRow { x: i32, y: i32 }

    /// The state of a kite whose report was refused.
    struct Corrected in "corrected" { id: u32, x: i32, y: i32, vx: i32, vy: i32 }

    /// A kite has caught a star.
    struct Caught in "caught" { player: PlayerId, name: Arc<str> }
}

fields! {
    /// A player that flies kites.
    struct Flyer {
        player: PlayerId,
        name: Arc<str>,
        score: u16,
    }
}

fields! {
    /// A star; its position is in px.
    struct Star {
        x: i32,
        y: i32,
    }
}

fields! {
    /// The whole state of the game.
    pub struct Kites {
        flyers: Vec<Flyer>,
        kites: OwnedEntities<Kite>,
        stars: Vec<Star>,
    }
}

impl SimpleGame for Kites {
    const NAME: &'static str = "kites";
    const TABLE: (&'static str, &'static str) = ("kites.tsv", TABLE);
    const DIALECT: &'static str = "kites";
    const PAGE: &'static str = include_str!("kites.html");
    const TICK_RATES: &'static [u32] = &[TICK_HZ];

    type Action = Action;

    fn new(_: &WorldParams) -> Kites {
        Kites { flyers: Vec::new(), kites: OwnedEntities::default(), stars: Vec::new() }
    }

    fn join(&mut self, player: PlayerId, joining: &Joining<'_>, _: &mut TickContext<'_>) {
        self.flyers.push(Flyer { player, name: joining.name.into(), score: 0 });
    }

    fn leave(&mut self, player: PlayerId, _: &mut TickContext<'_>) {
        self.flyers.retain(|flyer| flyer.player != player);
        self.kites.leave(player);
    }

    fn disconnect(&mut self, player: PlayerId, _: &mut TickContext<'_>) {
        self.kites.disconnect(player);
    }

    fn apply(&mut self, player: PlayerId, action: Action, context: &mut TickContext<'_>) -> ActionResult {
        match action {
            Action::Fly { y, .. } if i32::from(y) < GROUND => return Err("not_on_the_ground"),
            Action::Fly { number, x, y } => {
                self.kites.spawn(player, number, kite([x, y], [0, 0]), context.tick)?;
            }
            Action::Land { id } => self.kites.remove(player, id)?,
            Action::Report { id, x, y, vx, vy } => {
                if let Err(refusal) = self.kites.report(player, id, kite([x, y], [vx, vy]), context.tick) {
                    self.correct(player, id, context);
                    return Err(refusal.name());
                }
            }
        }
        Ok(())
    }

    fn tick(&mut self, context: &mut TickContext<'_>) {
        self.kites.tick();
        let reach = REACH * STEPS as u32;
        for kite in self.kites.iter() {
            let (x, y) = kite.state.position();
            let near = |star: &Star| is_within(x.abs_diff(star.x * STEPS), y.abs_diff(star.y * STEPS), reach);
            let caught = self.stars.iter().position(near);
            let flyer = self.flyers.iter_mut().find(|flyer| flyer.player == kite.owner_of());
            if let (Some(at), Some(flyer)) = (caught, flyer) {
                self.stars.remove(at);
                flyer.score = flyer.score.saturating_add(1);
                context.broadcast(Caught { player: flyer.player, name: Arc::clone(&flyer.name) });
            }
        }
        while self.stars.len() < STARS {
            let (x, y) = (context.random.between(60, WIDTH - 60), context.random.between(60, GROUND - 120));
            self.stars.push(Star { x, y });
        }
    }

    fn write_state(&self, rows: &mut StateRows) {
        let flyer = |flyer: &Flyer| {
            let Flyer { player, ref name, score } = *flyer;
            FlyerRow { player, name: Arc::clone(name), score }
        };
        let flyers = self.flyers.iter().map(flyer).collect();
        let kites = self.kites.iter().map(kite_row).collect();
        let stars = self.stars.iter().map(|star| StarRow { x: star.x, y: star.y }).collect();
        rows.push(StateRow { flyers, kites, stars });
    }

    fn bot_policy() -> Option<Box<dyn BotPolicy<Action>>> {
        Some(Box::<Bot>::default())
    }
}

impl Kites {
    /// Sends an owner the state of its kite in the world, from which the owner continues.
    fn correct(&self, player: PlayerId, id: u32, context: &mut TickContext<'_>) {
        let Some(kite) = self.kites.get(id).filter(|kite| kite.owner_of() == player) else { return };
        let KiteRow { id, x, y, vx, vy } = kite_row(kite);
        context.send_to(player, Corrected { id, x, y, vx, vy });
    }
}

fn kite_row(kite: &client_authority::OwnedEntity<Kite>) -> KiteRow {
    let Kite { x, y, vx, vy } = kite.state;
    KiteRow { id: kite.id, x: x / STEPS, y: y / STEPS, vx, vy }
}

/// The state of a kite at a position in px, with a velocity in px/s.
fn kite(position: [u16; 2], velocity: [i16; 2]) -> Kite {
    let ([x, y], [vx, vy]) = (position.map(|px| i32::from(px) * STEPS), velocity.map(i32::from));
    Kite { x, y, vx, vy }
}

/// An owner in Rust. It simulates a kite with a spring to a star and with wind, as a page does.
/// Sometimes it cheats.
#[derive(Debug, Default)]
struct Bot {
    tick: u32,
    /// The ids of all kites, and the stars.
    kites: Vec<u32>,
    stars: Vec<[f64; 2]>,
    /// The kite of the bot. `position` and `speed` are its state at tick `flown`.
    id: Option<u32>,
    position: [f64; 2],
    speed: [f64; 2],
    flown: u32,
    /// The number of the last spawned kite, and the tick of the spawn.
    number: u16,
    spawned: Option<u32>,
    /// The numbers of reports and of corrections.
    counts: [u64; 2],
}

impl BotPolicy<Action> for Bot {
    fn on_packet(&mut self, packet: &DecodedPacket<'_>, out: &mut AgentOutput) {
        let list = |name| packet.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let number = |name| packet.integer::<i32>(name).map_or(0.0, f64::from);
        // No state is sent while there is no kite, because nothing changes then.
        self.tick = packet.integer("tick").map_or(self.tick, |tick: u32| tick.max(self.tick));
        match packet.row.name.as_str() {
            "state" => {
                let ids = list("kites").chunks_exact(5).filter_map(|kite| kite[0].as_u64());
                self.kites = ids.map(|id| id as u32).collect();
                let stars = list("stars").chunks_exact(2);
                self.stars = stars.map(|at| [0, 1].map(|i| at[i].as_f64().unwrap_or_default())).collect();
                let is_full =
                    self.kites.chunk_by(|one, next| one >> 16 == next >> 16).any(|own| own.len() > 3);
                if is_full || !self.kites.is_sorted() {
                    out.add_fault("kites", packet.to_string());
                }
            }
            "corrected" if packet.integer("id") == self.id => {
                (self.position, self.speed) = ([number("x"), number("y")], [number("vx"), number("vy")]);
                self.counts[1] += 1;
            }
            _ => {}
        }
    }

    fn decide(&mut self, view: &BotView<'_>, rng: &mut BotRng) -> Option<Action> {
        let mine = self
            .kites
            .iter()
            .copied()
            .filter(|id| client_authority::owner_of(*id) == view.player)
            .collect::<Vec<_>>();
        let wants = if mine.is_empty() { TICK_HZ } else { 5 * TICK_HZ };
        if self.spawned.is_none_or(|tick| self.tick >= tick + wants) {
            self.number = self.number.wrapping_add(1);
            self.spawned = Some(self.tick);
            return Some(Action::Fly {
                number: self.number,
                x: 80 + rng.below(800) as u16,
                y: GROUND as u16 + 20,
            });
        }
        let id = *mine.first()?;
        if self.id != Some(id) {
            // The start state is a guess. The first correction replaces it.
            (self.id, self.flown) = (Some(id), self.tick);
            (self.position, self.speed) = ([f64::from(WIDTH / 2), f64::from(GROUND)], [0.0; 2]);
        }
        if self.tick < self.flown + Kite::RULES.report_ticks {
            return None;
        }
        self.fly();
        self.counts[0] += 1;
        match rng.below(60) {
            0 => Some(self.report(id, [900.0, -400.0])),
            1 => Some(self.report(id, [2_000.0, 0.0])),
            2 => Some(self.report(*self.kites.last()?, [0.0; 2])),
            3 if mine.len() > 1 => Some(Action::Land { id: mine[1] }),
            _ => Some(self.report(id, [0.0; 2])),
        }
    }

    fn visible_players(&self) -> usize {
        self.kites.chunk_by(|one, next| one >> 16 == next >> 16).count().saturating_sub(1)
    }

    fn take_stats(&mut self) -> BotStats {
        let [reports, corrections] = std::mem::take(&mut self.counts);
        BotStats(vec![("reports", "reports", reports), ("corrections", "corrections", corrections)])
    }
}

impl Bot {
    /// Advances the kite by the time since the last report.
    fn fly(&mut self) {
        let seconds = f64::from((self.tick - self.flown).min(TICK_HZ / 2)) / f64::from(TICK_HZ);
        self.flown = self.tick;
        let star = self.stars.first().copied().unwrap_or([400.0, 200.0]);
        let wind = [60.0 * (f64::from(self.tick) / 47.0).sin(), 0.0];
        let most = 0.8 * f64::from(SPEED);
        let pull =
            [0, 1].map(|at| self.speed[at] + seconds * (3.0 * (star[at] - self.position[at]) + wind[at]));
        let length = pull[0].hypot(pull[1]).max(1.0);
        self.speed = pull.map(|one| one * (most / length).min(1.0));
        let ends = [f64::from(WIDTH), f64::from(HEIGHT)];
        self.position = [0, 1].map(|at| (self.position[at] + self.speed[at] * seconds).clamp(0.0, ends[at]));
    }

    /// The report of a kite at the position of the bot's kite plus `offset`, in px.
    fn report(&self, id: u32, offset: [f64; 2]) -> Action {
        let [x, y] = [0, 1].map(|at| (self.position[at] + offset[at]) as u16);
        let [vx, vy] = self.speed.map(|speed| speed as i16);
        Action::Report { id, x, y, vx, vy }
    }
}

fn main() -> ExitCode {
    tickwire::serve::<Simple<Kites>>()
}
