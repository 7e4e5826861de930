//! Fog: two teams of soldiers hunt each other between walls and wolves, and each sees only what is near.
//! The game of docs/your-second-game.md: this file, a table of packets (`fog.tsv`) and a page (`fog.html`).
//!
//! ```text
//! cargo run --release --example fog           the game at http://127.0.0.1:3000/
//! ```
//!
//! A client receives the soldiers of its team, and what is within [`SIGHT`] of its own soldier with no
//! wall in between. Nothing else leaves the server: `cargo test --example fog` compares what clients
//! receive with what they see.

use std::process::ExitCode;
use std::sync::Arc;

use tickwire::entity_row;
use tickwire::game::BotRng;
use tickwire::game::simple::{
    BotPolicy, Entities, EntityInfo, EntityRef, NamedValues, Sight, Simple, SimpleGame, TickContext, Viewer,
};
use tickwire::packet::DecodedPacket;
use tickwire::sim::fixed::{Angle, is_within};
use tickwire::sim::geometry::{Point, Rect, has_line_of_sight, sweep};
use tickwire::sim::trig::{cosine, direction, sine};
use tickwire::sim::{OptionSpec, PlayerId, Rng, WorldParams, fields};

/// Positions are in 1/16 px, so that slow movements add up.
const PX: i32 = 16;
const WIDTH: i32 = 2400 * PX;
const HEIGHT: i32 = 1600 * PX;
/// Width of the part at either end of the map where a team begins.
const BASE: i32 = 250 * PX;
/// Radius of a soldier or a wolf.
const RADIUS: i32 = 14 * PX;
/// How far a soldier sees, and how far it shoots.
const SIGHT: i32 = 340 * PX;
const RANGE: i32 = 300 * PX;
/// Speeds per second.
const SOLDIER_SPEED: i32 = 170 * PX;
const WOLF_SPEED: i32 = 110 * PX;
/// Health points: of a new soldier, and the damage of a shot, and of a wolf's bite.
const HEALTH: u8 = 100;
const SHOT_DAMAGE: u8 = 34;
const BITE_DAMAGE: u8 = 5;
/// Cartridges of a new soldier and of a pack.
const CARTRIDGES: u8 = 24;
/// Seconds between a death and the next life.
const WAIT_S: u32 = 3;
const PACKS: usize = 16;
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

fields! {
    /// The actions of a player.
    enum Action { Control { way: u8, aim: u8, is_firing: bool }, Say { text: Arc<str> } }
}

fields! {
    struct Soldier {
        player: PlayerId,
        name: Arc<str>,
        team: u8,
        at: Point,
        way: u8,
        aim: u8,
        is_firing: bool,
        /// 0 while it waits for its next life.
        health: u8,
        cartridges: u8,
        /// Ticks until it can fire again, or until its next life.
        wait: u32,
    }
}

fields! {
    struct Wolf { at: Point, angle: u16 }
}

fields! {
    /// The whole state. A wolf and a pack have their index as id.
    struct Fog {
        /// In the order of their players.
        soldiers: Vec<Soldier>,
        wolves: Vec<Wolf>,
        packs: Vec<Point>,
        points: [u16; 2],
        wolf_count: u32,
    }
}

entity_row! {
    struct SoldierRow in "soldiers" {
        player: PlayerId, name: Arc<str>, team: u8, x: u16, y: u16, aim: u8, health: u8,
    }
}
entity_row! { struct WolfRow in "wolves" { id: u16, x: u16, y: u16 } }
entity_row! { struct PackRow in "packs" { id: u16, x: u16, y: u16 } }
entity_row! { struct OwnRow in "own" { player: PlayerId, cartridges: u8, wait_s: u8 } }

impl SimpleGame for Fog {
    const NAME: &'static str = "fog";
    const DIALECT: &'static str = "fog";
    const TABLE: (&'static str, &'static str) = ("fog.tsv", include_str!("fog.tsv"));
    const PAGE: &'static str = include_str!("fog.html");
    const TICK_RATES: &'static [u32] = &[30];
    const OPTIONS: &'static [OptionSpec] = &[OptionSpec::new("wolves", "number of wolves", 60, 0..=5_000)];

    type Action = Action;

    fn new(params: &WorldParams) -> Fog {
        let wolf_count = params.option("wolves").unwrap_or_default();
        Fog { soldiers: Vec::new(), wolves: Vec::new(), packs: Vec::new(), points: [0; 2], wolf_count }
    }

    fn action(packet: &DecodedPacket<'_>) -> Option<Action> {
        match &*packet.row.name {
            "control" => Some(Action::Control {
                way: packet.integer("way")?,
                aim: packet.integer("aim")?,
                is_firing: packet.bool_value("is_firing")?,
            }),
            "say" => packet.text("text").map(|text| Action::Say { text: text.into() }),
            _ => None,
        }
    }

    fn join(&mut self, player: PlayerId, name: &str, context: &mut TickContext<'_>) {
        let size = |team| self.soldiers.iter().filter(|soldier| soldier.team == team).count();
        let team = u8::from(size(1) < size(0));
        let (name, at) = (name.into(), free_place(context.random, Some(team)));
        let (health, cartridges) = (HEALTH, CARTRIDGES);
        let (way, aim, is_firing, wait) = (0, 0, false, 0);
        let soldier = Soldier { player, name, team, at, way, aim, is_firing, health, cartridges, wait };
        let index = self.soldiers.partition_point(|other| other.player < player);
        self.soldiers.insert(index, soldier);
    }

    fn leave(&mut self, player: PlayerId, _: &mut TickContext<'_>) {
        self.soldiers.retain(|soldier| soldier.player != player);
    }

    fn disconnect(&mut self, player: PlayerId, _: &mut TickContext<'_>) {
        for soldier in self.soldiers.iter_mut().filter(|soldier| soldier.player == player) {
            (soldier.way, soldier.is_firing) = (0, false);
        }
    }

    fn apply(
        &mut self,
        player: PlayerId,
        action: Action,
        context: &mut TickContext<'_>,
    ) -> Result<(), &'static str> {
        let own = self.soldiers.iter_mut().find(|soldier| soldier.player == player).ok_or("no_soldier")?;
        match action {
            Action::Control { way, aim, is_firing } => {
                (own.way, own.aim, own.is_firing) = (way, aim, is_firing);
            }
            Action::Say { text } => {
                let team = own.team;
                for mate in self.soldiers.iter().filter(|soldier| soldier.team == team) {
                    context.send_to(mate.player, "said", |row| {
                        row.set("player", player.0);
                        row.set("text", &*text);
                    });
                }
            }
        }
        Ok(())
    }

    fn tick(&mut self, context: &mut TickContext<'_>) {
        while self.packs.len() < PACKS {
            self.packs.push(free_place(context.random, None));
        }
        while self.wolves.len() < self.wolf_count as usize {
            self.wolves.push(Wolf { at: free_place(context.random, None), angle: 0 });
        }
        for at in 0..self.soldiers.len() {
            self.move_soldier(at, context);
        }
        for at in 0..self.soldiers.len() {
            let soldier = &self.soldiers[at];
            if soldier.is_firing && soldier.health > 0 && soldier.wait == 0 && soldier.cartridges > 0 {
                self.fire(at, context);
            }
        }
        for at in 0..self.wolves.len() {
            self.move_wolf(at, context);
        }
    }

    fn write_state(&self, row: &mut NamedValues) {
        row.list("points", self.points.map(|points| [points.into()]));
        let edges = |wall: Rect| [wall.left, wall.top, wall.right, wall.bottom];
        row.list("walls", WALLS.map(|wall| edges(wall).map(|edge| (edge / PX).into())));
    }

    fn write_entities(&self, entities: &mut Entities) {
        for soldier in &self.soldiers {
            let Soldier { player, team, at, aim, health, cartridges, .. } = *soldier;
            let info = EntityInfo::at(at.0, at.1).owned_by(player).in_team(team);
            let (name, x, y) = (Arc::clone(&soldier.name), px(at.0), px(at.1));
            entities.push(info, SoldierRow { player, name, team, x, y, aim, health });
            let wait_s = if health == 0 { soldier.wait.div_ceil(30) as u8 } else { 0 };
            entities.push(info, OwnRow { player, cartridges, wait_s });
        }
        for (id, Wolf { at, .. }) in (0..).zip(&self.wolves) {
            entities.push(EntityInfo::at(at.0, at.1), WolfRow { id, x: px(at.0), y: px(at.1) });
        }
        for (id, at) in (0..).zip(&self.packs) {
            entities.push(EntityInfo::at(at.0, at.1), PackRow { id, x: px(at.0), y: px(at.1) });
        }
    }

    fn sight(&self, viewer: Viewer, packet: &str) -> Sight {
        match self.soldier_of(viewer) {
            None => Sight::NOTHING,
            Some(own) if packet == "own" => Sight::NOTHING.owned_by(own.player),
            Some(own) if own.health == 0 => Sight::NOTHING.in_team(own.team),
            Some(own) => Sight::NOTHING.in_team(own.team).within(own.at.0, own.at.1, SIGHT as u32),
        }
    }

    fn sees(&self, viewer: Viewer, entity: &EntityRef<'_>) -> bool {
        let EntityInfo { x, y, team, .. } = entity.info;
        let sees = |own: &Soldier| team == Some(own.team) || has_line_of_sight(own.at, (x, y), &WALLS);
        self.soldier_of(viewer).is_some_and(sees)
    }

    fn bot_policy() -> Option<Box<dyn BotPolicy>> {
        Some(Box::new(Hunter))
    }
}

impl Fog {
    fn soldier_of(&self, viewer: Viewer) -> Option<&Soldier> {
        let index = self.soldiers.binary_search_by_key(&viewer.subject()?, |soldier| soldier.player);
        index.ok().map(|index| &self.soldiers[index])
    }

    fn move_soldier(&mut self, at: usize, context: &mut TickContext<'_>) {
        let soldier = &mut self.soldiers[at];
        soldier.wait = soldier.wait.saturating_sub(1);
        if soldier.health == 0 {
            if soldier.wait == 0 {
                (soldier.health, soldier.cartridges) = (HEALTH, CARTRIDGES);
                soldier.at = free_place(context.random, Some(soldier.team));
            }
            return;
        }
        if soldier.way > 0 {
            let angle = Angle(u16::from(soldier.way - 1) << 13);
            soldier.at = step(soldier.at, angle, SOLDIER_SPEED / context.tick_hz as i32);
        }
        for pack in self.packs.iter_mut().filter(|pack| is_near(**pack, soldier.at, 2 * RADIUS)) {
            soldier.cartridges = soldier.cartridges.saturating_add(CARTRIDGES);
            *pack = free_place(context.random, None);
        }
    }

    /// A shot ends at the first wall, or at the first soldier of the other team or wolf before it.
    fn fire(&mut self, shooter: usize, context: &mut TickContext<'_>) {
        let own = &mut self.soldiers[shooter];
        (own.cartridges, own.wait) = (own.cartridges - 1, context.tick_hz / 4);
        let Soldier { player, team, at, aim, .. } = *own;
        let end = sweep(at, along(at, Angle(u16::from(aim) << 8), RANGE), &WALLS);
        let soldiers = self.soldiers.iter().enumerate();
        let enemies = soldiers.filter(|(_, soldier)| soldier.team != team && soldier.health > 0);
        let targets = enemies.map(|(index, soldier)| (soldier.at, true, index));
        let wolves = self.wolves.iter().enumerate().map(|(index, wolf)| (wolf.at, false, index));
        let hit = targets.chain(wolves).filter_map(|(target, is_soldier, index)| {
            Some((Rect::around(target, RADIUS).entry(at, end)?, is_soldier, index))
        });
        let hit = hit.min();
        let part = hit.map_or(1 << 16, |(part, ..)| i64::from(part));
        let to = |from: i32, end: i32| from + (i64::from(end - from) * part / (1 << 16)) as i32;
        context.broadcast_at(EntityInfo::at(at.0, at.1).in_team(team), "shot", |row| {
            let ends = [("x", at.0), ("y", at.1), ("to_x", to(at.0, end.0)), ("to_y", to(at.1, end.1))];
            ends.into_iter().for_each(|(name, value)| row.set(name, px(value)));
        });
        match hit {
            Some((_, true, target)) => self.hurt(target, SHOT_DAMAGE, Some(player), context),
            Some((_, false, wolf)) => self.wolves[wolf].at = free_place(context.random, None),
            None => {}
        }
    }

    fn hurt(&mut self, at: usize, damage: u8, killer: Option<PlayerId>, context: &mut TickContext<'_>) {
        let soldier = &mut self.soldiers[at];
        soldier.health = soldier.health.saturating_sub(damage);
        if soldier.health == 0 {
            soldier.wait = WAIT_S * context.tick_hz;
            let points = &mut self.points[usize::from(1 - soldier.team)];
            *points = points.saturating_add(u16::from(killer.is_some()));
            context.broadcast("killed", |row| {
                row.set("player", soldier.player.0);
                row.set_or_nil("killer", killer.map(|killer| killer.0));
            });
        }
    }

    /// A wolf runs to the first soldier near it, and wanders otherwise.
    fn move_wolf(&mut self, wolf: usize, context: &mut TickContext<'_>) {
        let Wolf { at, angle } = &mut self.wolves[wolf];
        let is_prey = |soldier: &Soldier| soldier.health > 0 && is_near(*at, soldier.at, SIGHT / 2);
        let prey = self.soldiers.iter().position(is_prey);
        if let Some(prey) = prey.map(|prey| &self.soldiers[prey]) {
            *angle = direction((prey.at.0 - at.0).into(), (prey.at.1 - at.1).into()).0;
        } else if context.random.below(40) == 0 {
            *angle = context.random.below(1 << 16) as u16;
        }
        *at = step(*at, Angle(*angle), WOLF_SPEED / context.tick_hz as i32);
        let at = *at;
        let bitten = prey.filter(|prey| is_near(at, self.soldiers[*prey].at, 2 * RADIUS));
        if let Some(prey) = bitten.filter(|_| context.tick.is_multiple_of(10)) {
            self.hurt(prey, BITE_DAMAGE, None, context);
        }
    }
}

/// A coordinate on the wire.
fn px(at: i32) -> u16 {
    (at / PX).clamp(0, i32::from(u16::MAX)) as u16
}

fn along(from: Point, angle: Angle, length: i32) -> Point {
    let part = |part: i32| (i64::from(part) * i64::from(length) / (1 << 16)) as i32;
    (from.0 + part(cosine(angle)), from.1 + part(sine(angle)))
}

/// A step that ends at the edges of the map and at walls.
fn step(from: Point, angle: Angle, length: i32) -> Point {
    let to = along(from, angle, length);
    let (x, y) = WALLS.iter().fold(to, |place, wall| wall.push_out(place, RADIUS));
    (x.clamp(RADIUS, WIDTH - RADIUS), y.clamp(RADIUS, HEIGHT - RADIUS))
}

fn is_near(one: Point, other: Point, reach: i32) -> bool {
    is_within(one.0.abs_diff(other.0), one.1.abs_diff(other.1), reach as u32)
}

/// A random place outside the walls; for a team, at its end of the map.
fn free_place(random: &mut Rng, team: Option<u8>) -> Point {
    let (left, right) = match team {
        None => (RADIUS, WIDTH - RADIUS),
        Some(0) => (RADIUS, BASE),
        Some(_) => (WIDTH - BASE, WIDTH - RADIUS),
    };
    let place = (random.between(left, right), random.between(RADIUS, HEIGHT - RADIUS));
    WALLS.iter().fold(place, |place, wall| wall.push_out(place, RADIUS))
}

/// A bot that runs about and fires.
struct Hunter;

impl BotPolicy for Hunter {
    fn decide(&mut self, _: PlayerId, random: &mut BotRng) -> Option<(&'static str, NamedValues)> {
        let mut row = NamedValues::default();
        row.set("way", random.below(9));
        row.set("aim", random.below(256));
        row.set("is_firing", random.below(3) == 0);
        (random.below(5) == 0).then_some(("control", row))
    }
}

fn main() -> ExitCode {
    tickwire::serve::<Simple<Fog>>()
}
