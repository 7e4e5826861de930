//! Fog: two teams of soldiers hunt each other between walls and wolves, and each sees only what is near.
//! The game of docs/your-second-game.md: this file, a table of packets (`fog.tsv`) and a page (`fog.html`).
//!
//! ```text
//! cargo run --release --example fog           the game at http://127.0.0.1:3000/
//! ```
//!
//! A client receives the soldiers of its team, and what is within [`SIGHT`] of its own soldier with no
//! wall in between. Nothing else leaves the server: `cargo run --example fog -- simulate` compares what
//! clients receive with what they see.

use std::process::ExitCode;
use std::sync::Arc;

use tickwire::game::simple::{BotPolicy, Entities, EntityInfo, EntityRef, Sight, SimplePrediction, Viewer};
use tickwire::prelude::*;
use tickwire::sim::arena::{self, Arena, PathGrid, is_near};
use tickwire::sim::chat::ChatLimit;
use tickwire::sim::fixed::Angle;
use tickwire::sim::geometry::{Point, Rect};
use tickwire::sim::timer::Timer;
use tickwire::sim::{OptionSpec, PlayerMap};

#[path = "fog/bot.rs"]
mod bot;
#[cfg(test)]
#[path = "fog/tests.rs"]
mod tests;

#[path = "fog/prediction.rs"]
mod prediction;

/// Positions are in 1/16 px, so that slow movements add up.
const PX: i32 = 16;
/// Radius of a soldier or a wolf.
const RADIUS: i32 = 14 * PX;
/// How far a soldier sees, and how far it shoots.
const SIGHT: i32 = 340 * PX;
const RANGE: i32 = 300 * PX;
/// Speeds per second.
const SOLDIER_SPEED: i32 = 170 * PX;
const WOLF_SPEED: i32 = 110 * PX;
/// How a wolf finds its way around walls, and ticks between two decisions about it.
const WOLF_GRID: PathGrid = PathGrid { radius: RADIUS, cell: 40 * PX, reach: 8 };
const WOLF_TICKS: u32 = 8;
/// Health points: of a new soldier, and the damage of a shot, and of a wolf's bite.
const HEALTH: u8 = 100;
const SHOT_DAMAGE: u8 = 34;
const BITE_DAMAGE: u8 = 5;
/// Cartridges of a new soldier and of a pack.
const CARTRIDGES: u8 = 24;
/// Seconds between a death and the next life.
const WAIT_S: u32 = 3;
const PACKS: usize = 16;
const ARENA: Arena<'static> = Arena { bounds: wall(0, 0, 2400, 1600), walls: &WALLS };
/// Where the teams begin.
const BASES: [Rect; 2] = [wall(0, 0, 250, 1600), wall(2150, 0, 250, 1600)];
const WALLS: [Rect; 9] = [
    wall(300, 300, 40, 400),
    wall(300, 900, 40, 400),
    wall(640, 200, 420, 40),
    wall(640, 1360, 420, 40),
    wall(1160, 600, 80, 400),
    wall(1340, 200, 420, 40),
    wall(1340, 1360, 420, 40),
    wall(2060, 300, 40, 400),
    wall(2060, 900, 40, 400),
];

const fn wall(left: i32, top: i32, width: i32, height: i32) -> Rect {
    Rect::new(left * PX, top * PX, width * PX, height * PX)
}

const TABLE: &str = include_str!("fog.tsv");

rows! {
    in TABLE;

    /// The actions of a player.
    pub(crate) enum Action {
        Control in "control" { way: u8, aim: i8, is_firing: bool },
        Say in "say" { text: Arc<str> },
    }

    struct StateRow in "state" { points: [u16; 2], walls: [Rect; 9] }

    struct SoldierRow in "soldiers" {
        player: PlayerId, name: Arc<str>, team: u8, x: u16, y: u16, vx: i32, vy: i32, aim: i8, health: u8,
    }
    struct WolfRow in "wolves" { id: u16, x: u16, y: u16, vx: i32, vy: i32 }
    struct PackRow in "packs" { id: u16, x: u16, y: u16 }
    struct OwnRow in "own" { player: PlayerId, cartridges: u8, wait_s: u8 }

    struct Shot in "shot" { player: PlayerId, length: u16 }
    struct Killed in "killed" { player: PlayerId, killer: Option<PlayerId> }
    struct Said in "said" { player: PlayerId, text: Arc<str> }
}

fields! {
    #[derive(Default)]
    struct Soldier {
        name: Arc<str>,
        team: u8,
        at: Point,
        velocity: Point,
        way: u8,
        aim: i8,
        is_firing: bool,
        /// 0 while it waits for its next life.
        health: u8,
        cartridges: u8,
        /// Runs until it can fire again, or until its next life.
        wait: Timer,
        chat: ChatLimit,
    }
}
fields! { struct Wolf { at: Point, velocity: Point, heading: Angle } }
fields! {
    /// The whole state. A wolf and a pack have their index as id.
    #[derive(Default)]
    pub(crate) struct Fog {
        soldiers: PlayerMap<Soldier>,
        wolves: Vec<Wolf>,
        packs: Vec<Point>,
        points: [u16; 2],
        wolf_count: u32,
    }
}

impl SimpleGame for Fog {
    const NAME: &'static str = "fog";
    const TABLE: (&'static str, &'static str) = ("fog.tsv", TABLE);
    const PAGE: &'static str = include_str!("fog.html");
    const TICK_RATES: &'static [u32] = &[30];
    const OPTIONS: &'static [OptionSpec] = &[OptionSpec::new("wolves", "number of wolves", 60, 0..=5_000)];
    const PREDICTION: Option<SimplePrediction<Fog>> = Some(SimplePrediction::for_game());

    type Action = Action;

    fn new(params: &WorldParams) -> Fog {
        Fog { wolf_count: params.option("wolves").unwrap_or_default(), ..Fog::default() }
    }

    fn join(&mut self, player: PlayerId, joining: &Joining<'_>, context: &mut TickContext<'_>) {
        let size = |team| self.soldiers.values().filter(|soldier| soldier.team == team).count();
        let team = u8::from(size(1) < size(0));
        let mut soldier = Soldier { name: joining.name.into(), team, ..Soldier::default() };
        soldier.spawn(context);
        self.soldiers.insert(player, soldier);
    }

    fn leave(&mut self, player: PlayerId, _: &mut TickContext<'_>) {
        self.soldiers.remove(player);
    }

    fn disconnect(&mut self, player: PlayerId, _: &mut TickContext<'_>) {
        if let Some(own) = self.soldiers.get_mut(player) {
            (own.way, own.is_firing) = (0, false);
        }
    }

    fn apply(&mut self, player: PlayerId, action: Action, context: &mut TickContext<'_>) -> ActionResult {
        let own = self.soldiers.get_mut(player).ok_or("no_soldier")?;
        match action {
            Action::Control { way, aim, is_firing } => {
                (own.way, own.aim, own.is_firing) = (way, aim, is_firing);
            }
            Action::Say { text } => {
                let (team, text) = (own.team, own.chat.check(&text, context.tick, context.tick_hz)?);
                for (mate, _) in self.soldiers.iter().filter(|(_, soldier)| soldier.team == team) {
                    context.send_to(mate, Said { player, text: Arc::clone(&text) });
                }
            }
        }
        Ok(())
    }

    fn tick(&mut self, context: &mut TickContext<'_>) {
        let place = |context: &mut TickContext<'_>| ARENA.random_place(ARENA.bounds, RADIUS, context.random);
        self.packs.resize_with(PACKS, || place(context));
        let new_wolf = || Wolf { at: place(context), velocity: (0, 0), heading: Angle(0) };
        self.wolves.resize_with(self.wolf_count as usize, new_wolf);
        for soldier in self.soldiers.values_mut() {
            soldier.tick(context);
            let reach = if soldier.health > 0 { 2 * RADIUS } else { -1 };
            for pack in self.packs.iter_mut().filter(|pack| is_near(**pack, soldier.at, reach)) {
                soldier.cartridges = soldier.cartridges.saturating_add(CARTRIDGES);
                *pack = place(context);
            }
        }
        let can_fire = |own: &Soldier| own.health > 0 && own.cartridges > 0 && !own.wait.is_running();
        let firing = self.soldiers.iter().filter(|(_, own)| own.is_firing && can_fire(own));
        for shooter in firing.map(|(player, _)| player).collect::<Vec<_>>() {
            self.fire(shooter, context);
        }
        for wolf in 0..self.wolves.len() {
            self.move_wolf(wolf, context);
        }
    }

    fn write_state(&self, rows: &mut StateRows) {
        let walls = WALLS.map(|wall| wall.map(|edge| edge / PX));
        rows.push(StateRow { points: self.points, walls });
    }

    fn write_entities(&self, entities: &mut Entities) {
        for (player, soldier) in self.soldiers.iter() {
            let Soldier { ref name, team, at, velocity: (vx, vy), aim, health, cartridges, wait, .. } =
                *soldier;
            let info = EntityInfo::at(at).owned_by(player).in_team(team);
            let (name, x, y) = (Arc::clone(name), at.0 as u16, at.1 as u16);
            entities.push(info, SoldierRow { player, name, team, x, y, vx, vy, aim, health });
            let wait_s = if health == 0 { wait.seconds(entities.tick_hz()) as u8 } else { 0 };
            entities.push(info, OwnRow { player, cartridges, wait_s });
        }
        for (id, wolf) in (0..).zip(&self.wolves) {
            let Wolf { at, velocity: (vx, vy), .. } = *wolf;
            entities.push(EntityInfo::at(at), WolfRow { id, x: at.0 as u16, y: at.1 as u16, vx, vy });
        }
        for (id, at) in (0..).zip(&self.packs) {
            entities.push(EntityInfo::at(*at), PackRow { id, x: px(at.0), y: px(at.1) });
        }
    }

    fn sight(&self, viewer: Viewer, packet: &str) -> Sight {
        match self.soldier_of(viewer) {
            None => Sight::NOTHING,
            Some((player, _)) if packet == "own" => Sight::NOTHING.owned_by(player),
            Some((_, own)) if own.health == 0 => Sight::NOTHING.in_team(own.team),
            Some((_, own)) => Sight::NOTHING.in_team(own.team).within(own.at, SIGHT as u32),
        }
    }

    fn sees(&self, viewer: Viewer, entity: &EntityRef<'_>) -> bool {
        let EntityInfo { position, team, .. } = entity.info;
        let sees = |own: &Soldier| team == Some(own.team) || ARENA.has_line_of_sight(own.at, position);
        self.soldier_of(viewer).is_some_and(|(_, own)| sees(own))
    }

    fn bot_policy() -> Option<Box<dyn BotPolicy<Action>>> {
        Some(Box::<bot::Hunter>::default())
    }
}

impl Soldier {
    fn spawn(&mut self, context: &mut TickContext<'_>) {
        (self.health, self.cartridges) = (HEALTH, CARTRIDGES);
        self.at = ARENA.random_place(BASES[usize::from(self.team)], RADIUS, context.random);
    }

    /// Walks, or waits for the next life.
    fn tick(&mut self, context: &mut TickContext<'_>) {
        let has_waited = self.wait.tick();
        self.velocity = (0, 0);
        if self.health > 0 && self.way > 0 {
            let heading = Angle(u16::from(self.way - 1) << 13);
            (self.at, self.velocity) = walk(self.at, heading, SOLDIER_SPEED, context);
        } else if self.health == 0 && has_waited {
            self.spawn(context);
        }
    }
}

/// A target of a shot.
#[derive(Clone, Copy)]
enum Target {
    Soldier(PlayerId),
    Wolf(usize),
}

impl Fog {
    fn soldier_of(&self, viewer: Viewer) -> Option<(PlayerId, &Soldier)> {
        let player = viewer.subject()?;
        self.soldiers.get(player).map(|soldier| (player, soldier))
    }

    /// A shot ends at the first wall, or at the first soldier of the other team or wolf before it.
    fn fire(&mut self, shooter: PlayerId, context: &mut TickContext<'_>) {
        let Some(own) = self.soldiers.get_mut(shooter) else { return };
        (own.cartridges, own.wait) = (own.cartridges - 1, Timer::start(context.tick_hz / 4));
        let Soldier { team, at, aim, .. } = *own;
        let enemies = self.soldiers.iter().filter(|(_, other)| other.team != team && other.health > 0);
        let soldiers = enemies.map(|(player, soldier)| (soldier.at, Target::Soldier(player)));
        let wolves = self.wolves.iter().enumerate().map(|(index, wolf)| (wolf.at, Target::Wolf(index)));
        let heading = Angle((i16::from(aim) << 8) as u16);
        let (end, hit) = ARENA.shoot(at, heading, RANGE, RADIUS, soldiers.chain(wolves));
        let shot = Shot { player: shooter, length: px(arena::distance(at, end)) };
        context.broadcast_at(EntityInfo::at(at), shot);
        match hit {
            Some(Target::Soldier(player)) => self.hurt(player, SHOT_DAMAGE, Some(shooter), context),
            Some(Target::Wolf(index)) => {
                self.wolves[index].at = ARENA.random_place(ARENA.bounds, RADIUS, context.random);
            }
            None => {}
        }
    }

    fn hurt(&mut self, player: PlayerId, damage: u8, by: Option<PlayerId>, context: &mut TickContext<'_>) {
        let Some(soldier) = self.soldiers.get_mut(player) else { return };
        soldier.health = soldier.health.saturating_sub(damage);
        if soldier.health == 0 {
            soldier.wait = Timer::start(WAIT_S * context.tick_hz);
            let points = &mut self.points[usize::from(1 - soldier.team)];
            *points = points.saturating_add(u16::from(by.is_some()));
            context.broadcast(Killed { player, killer: by });
        }
    }

    /// A wolf runs to the first soldier near it, around the walls, and wanders otherwise.
    fn move_wolf(&mut self, wolf: usize, context: &mut TickContext<'_>) {
        let decides = (context.tick + wolf as u32).is_multiple_of(WOLF_TICKS);
        let Wolf { at, velocity, heading } = &mut self.wolves[wolf];
        let is_prey = |soldier: &Soldier| soldier.health > 0 && is_near(*at, soldier.at, SIGHT / 2);
        let prey = self.soldiers.iter().find(|(_, soldier)| is_prey(soldier));
        if let Some((_, prey)) = prey {
            if decides {
                let path = match ARENA.has_line_of_sight(*at, prey.at) {
                    true => None,
                    false => ARENA.find_path(*at, prey.at, &WOLF_GRID),
                };
                *heading = arena::heading(*at, path.map_or(prey.at, |path| path[0]));
            }
        } else if context.random.below(40) == 0 {
            *heading = Angle(context.random.below(1 << 16) as u16);
        }
        (*at, *velocity) = walk(*at, *heading, WOLF_SPEED, context);
        let bitten = prey.filter(|(_, prey)| is_near(*at, prey.at, 2 * RADIUS));
        if let Some((player, _)) = bitten.filter(|_| context.tick.is_multiple_of(10)) {
            self.hurt(player, BITE_DAMAGE, None, context);
        }
    }
}

/// A step at a speed per second: where it ends, and what it adds.
fn walk(at: Point, heading: Angle, speed: i32, context: &TickContext<'_>) -> (Point, Point) {
    let to = ARENA.step(at, heading, speed / context.tick_hz as i32, RADIUS);
    (to, (to.0 - at.0, to.1 - at.1))
}

/// A coordinate in pixels.
fn px(at: i32) -> u16 {
    (at / PX).clamp(0, i32::from(u16::MAX)) as u16
}

fn main() -> ExitCode {
    tickwire::serve::<Simple<Fog>>()
}
