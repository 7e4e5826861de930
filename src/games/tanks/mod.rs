//! Tanks: a free-for-all on a map with walls, in rounds.
//!
//! ```text
//!   packet `control` ─► controls of the player's own tank
//!   a tick: tanks drive ─► are pushed apart ─► fire ─► shells fly, hit ─► supply, clock, respawn
//! ```
//! docs/tanks.md lists the rules; `rules.rs` has the constants. Tanks act in ascending order of
//! player ID, shells in the order in which they were fired.

mod bot;
mod map;
mod prediction;
mod round;
mod rows;
mod rules;
mod shell;
mod tank;
#[cfg(test)]
mod tests;

use tickwire_sim::fixed::{Fixed, is_shorter, square, unit_direction};
use tickwire_sim::trig::direction;
use tickwire_sim::{OptionSpec, PlayerId, Rng, WorldParams, fields};

use crate::game::KillPacket;
use crate::game::simple::{
    ActionResult, BotPolicy, Joining, SimpleGame, SimplePrediction, StateRows, TickContext,
};
use map::Map;
use round::Round;
use rows::{Hit, Roster, RosterRow, ShellRow, StateRow, TABLE, TankRow};
pub use rules::ShellKind;
use shell::{Shell, ShellHit};
pub use tank::Control;
use tank::{Tank, TankHistory};

/// The complete state of the game.
#[derive(Clone, Debug, PartialEq)]
pub struct Tanks {
    map: Map,
    round: Round,
    /// Tanks, in ascending order of player ID.
    tanks: Vec<Tank>,
    /// Shells in flight, in the order in which they were fired.
    shells: Vec<Shell>,
    next_shell: u16,
    /// Ticks since the list of players was last sent.
    ticks_since_roster: u32,
    /// Whether the list of players has changed since then.
    roster_changed: bool,
}

fields!(Tanks: map: Map, round: Round, tanks: Vec<Tank>, shells: Vec<Shell>, next_shell: u16,
    ticks_since_roster: u32, roster_changed: bool);

impl SimpleGame for Tanks {
    const NAME: &'static str = "tanks";
    const TABLE: (&'static str, &'static str) = ("tanks.tsv", TABLE);
    const DIALECT: &'static str = "tanks";
    const PAGE: &'static str = include_str!("page.html");
    const VERSION: u32 = 2;
    const KILL_PACKET: Option<KillPacket> =
        Some(KillPacket::new("hit", "player", "shooter").with_condition("destroyed"));
    const TICK_RATES: &'static [u32] = &[rules::TICK_HZ];
    const OPTIONS: &'static [OptionSpec] =
        &[OptionSpec::new("round_s", "length of a round", rules::ROUND_S, 5..=3600)
            .with_flag("round")
            .with_unit("s")];

    const PREDICTION: Option<SimplePrediction<Tanks>> = Some(SimplePrediction::for_game());

    type Action = Control;

    fn new(identity: &WorldParams) -> Tanks {
        Tanks {
            map: Map::new(identity.seed),
            round: Round::first(identity.option("round_s").unwrap_or(rules::ROUND_S)),
            tanks: Vec::new(),
            shells: Vec::new(),
            next_shell: 0,
            ticks_since_roster: 0,
            roster_changed: false,
        }
    }

    fn join(&mut self, player: PlayerId, joining: &Joining<'_>, _: &mut TickContext<'_>) {
        self.enter(player, joining.name);
    }

    fn leave(&mut self, player: PlayerId, _: &mut TickContext<'_>) {
        self.remove(player);
    }

    fn disconnect(&mut self, player: PlayerId, _: &mut TickContext<'_>) {
        if let Some(tank) = self.tanks.iter_mut().find(|tank| tank.player == player) {
            tank.control = Control { aim: tank.control.aim, ..Control::default() };
            tank.delay = 0;
        }
    }

    fn apply(&mut self, player: PlayerId, control: Control, context: &mut TickContext<'_>) -> ActionResult {
        self.steer(player, control, context.tick)
    }

    fn tick(&mut self, context: &mut TickContext<'_>) {
        for hit in self.step(context.tick, context.random) {
            context.broadcast(hit);
        }
        self.ticks_since_roster += 1;
        let due =
            if self.roster_changed { rules::MIN_ROSTER_INTERVAL_TICKS } else { rules::ROSTER_INTERVAL_TICKS };
        if self.ticks_since_roster >= due {
            (self.ticks_since_roster, self.roster_changed) = (0, false);
            context.broadcast(Roster { players: self.tanks.iter().map(RosterRow::from).collect() });
        }
    }

    fn write_state(&self, rows: &mut StateRows) {
        let (round, is_over, left_s, winner) = self.round.clock();
        let tanks = self.tanks.iter().map(TankRow::from).collect();
        let shells = self.shells.iter().map(ShellRow::from).collect();
        rows.push(StateRow { round, is_over, left_s, winner, tanks, shells });
    }

    fn score(&self, player: PlayerId) -> Option<i64> {
        self.tank(player).map(|tank| i64::from(tank.score))
    }

    fn bot_policy() -> Option<Box<dyn BotPolicy<Control>>> {
        Some(Box::<bot::TanksBotPolicy>::default())
    }
}

impl Tanks {
    fn tank(&self, player: PlayerId) -> Option<&Tank> {
        let at = self.tanks.binary_search_by_key(&player, |tank| tank.player).ok()?;
        self.tanks.get(at)
    }

    /// Removes a player's tank and its shells.
    fn remove(&mut self, player: PlayerId) {
        self.tanks.retain(|tank| tank.player != player);
        self.shells.retain(|shell| shell.owner != player);
        self.roster_changed = true;
    }

    /// Adds a player. Its tank spawns in the same tick.
    fn enter(&mut self, player: PlayerId, name: &str) {
        if let Err(at) = self.tanks.binary_search_by_key(&player, |tank| tank.player) {
            self.tanks.insert(at, Tank::new(player, name));
            self.roster_changed = true;
        }
    }

    /// Sets the controls of a player's tank, starting with this tick.
    fn steer(&mut self, player: PlayerId, control: Control, tick: u32) -> ActionResult {
        let own = self.tanks.iter_mut().find(|tank| tank.player == player).ok_or("no_tank")?;
        (own.control, own.delay) = (control, TankHistory::rewind_ticks(tick, control.seen));
        Ok(())
    }

    /// Executes one tick of the game. Returns the hits.
    fn step(&mut self, tick: u32, random: &mut Rng) -> Vec<Hit> {
        let mut hits = Vec::new();
        if self.round.is_over() {
            if self.round.tick_pause() {
                self.start_round();
            }
        } else {
            hits = self.run_round_tick(tick);
            if self.round.tick_round(&self.tanks) {
                self.shells.clear();
                self.roster_changed = true;
            }
        }
        self.spawn_due_tanks(random);
        hits
    }

    /// Executes one tick of a round. Returns the hits.
    fn run_round_tick(&mut self, tick: u32) -> Vec<Hit> {
        for tank in self.tanks.iter_mut().filter(|tank| tank.is_alive()) {
            tank.drive(&self.map);
        }
        self.push_apart();
        self.tanks.iter_mut().for_each(Tank::record_position);
        self.fire();
        let hits = self.fly();
        self.roster_changed |= !hits.is_empty();
        self.resupply_at_depots(tick);
        self.tanks.iter_mut().for_each(|tank| tank.respawn = tank.respawn.saturating_sub(1));
        hits
    }

    /// Pushes overlapping tanks apart, each by half the overlap, but not into a wall.
    fn push_apart(&mut self) {
        for first in 0..self.tanks.len() {
            for second in first + 1..self.tanks.len() {
                let [one, two] = [&self.tanks[first], &self.tanks[second]];
                let reach = 2 * rules::TANK_RADIUS.0;
                let is_near = is_shorter(one.x.distance(two.x), one.y.distance(two.y), reach as u32);
                if !is_near || !one.is_alive() || !two.is_alive() {
                    continue;
                }
                let (dx, dy) = (two.x.saturating_sub(one.x), two.y.saturating_sub(one.y));
                let apart = i64::from(reach) - length(dx, dy);
                let (along, across, long) = unit_direction(dx.0.into(), dy.0.into());
                let half = |part: i64| Fixed((apart * part / long / 2) as i32);
                let (x, y) = (half(along), half(across));
                let back = |way: Fixed| Fixed::ZERO.saturating_sub(way);
                self.tanks[first].move_by(&self.map, back(x), back(y));
                self.tanks[second].move_by(&self.map, x, y);
            }
        }
    }

    fn fire(&mut self) {
        for tank in &mut self.tanks {
            if let Some(kind) = tank.fire() {
                self.shells.push(Shell::fired(self.next_shell, tank, kind));
                self.next_shell = self.next_shell.wrapping_add(1);
            }
        }
    }

    /// Moves all shells, and removes the shells that hit something. Returns the hits on tanks.
    fn fly(&mut self) -> Vec<Hit> {
        let Tanks { map, tanks, shells, .. } = self;
        let mut hits = Vec::new();
        shells.retain_mut(|shell| {
            let met = shell.fly(map, tanks);
            if let ShellHit::Tank(at) = met {
                hits.push(apply_hit(tanks, at, shell));
            }
            met == ShellHit::Nothing
        });
        hits
    }

    /// Repairs and supplies the tanks at depots.
    fn resupply_at_depots(&mut self, tick: u32) {
        if !tick.is_multiple_of(rules::SUPPLY_EVERY) {
            return;
        }
        let at_depot = |tank: &&mut Tank| tank.is_alive() && Map::is_at_depot(tank.x, tank.y);
        for tank in self.tanks.iter_mut().filter(at_depot) {
            tank.health = (tank.health + rules::SUPPLY).min(rules::HEALTH);
            tank.add_shells(ShellKind::Regular, rules::SUPPLY);
            if tick.is_multiple_of(rules::PIERCING_EVERY) {
                tank.add_shells(ShellKind::Piercing, 1);
            }
        }
    }

    /// Spawns the tanks that are due, each at the candidate position farthest from all other tanks.
    fn spawn_due_tanks(&mut self, random: &mut Rng) {
        for at in 0..self.tanks.len() {
            if self.tanks[at].is_alive() || self.tanks[at].respawn > 0 {
                continue;
            }
            let others = || self.tanks.iter().filter(|tank| tank.is_alive());
            let nearest = |&(x, y): &(Fixed, Fixed)| {
                let far = |tank: &Tank| square(tank.x.distance(x)) + square(tank.y.distance(y));
                others().map(far).min().unwrap_or(u64::MAX)
            };
            let places: Vec<_> =
                (0..rules::SPAWN_TRIES).map(|_| self.map.random_free_position(random)).collect();
            let Some(place) = places.into_iter().max_by_key(nearest) else { continue };
            let middle = Fixed::from_px(rules::TILES * rules::TILE_PX / 2);
            let (dx, dy) = (middle.saturating_sub(place.0), middle.saturating_sub(place.1));
            let heading = direction(dx.0.into(), dy.0.into());
            self.tanks[at].spawn(place, heading);
        }
    }

    /// Starts a round: resets all tanks and scores. The tanks spawn in this tick.
    fn start_round(&mut self) {
        self.shells.clear();
        for tank in &mut self.tanks {
            let (control, delay) = (tank.control, tank.delay);
            *tank = Tank { control, delay, ..Tank::new(tank.player, &tank.name) };
        }
        self.roster_changed = true;
    }
}

/// The length of a vector, in the fractions of [`Fixed`].
fn length(dx: Fixed, dy: Fixed) -> i64 {
    let square = square(dx.0.unsigned_abs()) + square(dy.0.unsigned_abs());
    tickwire_sim::fixed::square_root(square) as i64
}

/// Applies a hit of a shell to the tank at this index.
fn apply_hit(tanks: &mut [Tank], at: usize, shell: &Shell) -> Hit {
    let target = &mut tanks[at];
    let damage = shell.kind.shells().damage.min(target.health);
    let player = target.player;
    target.health -= damage;
    let is_destroyed = !target.is_alive();
    if is_destroyed {
        target.respawn = rules::RESPAWN_TICKS;
        target.deaths = target.deaths.saturating_add(1);
    }
    if let Some(owner) = tanks.iter_mut().find(|tank| tank.player == shell.owner) {
        let bonus = if is_destroyed { rules::DESTROY_POINTS } else { 0 };
        owner.score = owner.score.saturating_add(u16::from(damage) + bonus);
        owner.kills = owner.kills.saturating_add(u16::from(is_destroyed));
    }
    Hit { player, shooter: shell.owner, damage, destroyed: is_destroyed }
}
