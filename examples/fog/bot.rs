//! A bot that hunts the visible enemies and wolves. It reads the packets that its client receives.

use tickwire::game::BotRng;
use tickwire::game::simple::{BotPolicy, BotView};
use tickwire::sim::arena::{heading, is_near};
use tickwire::sim::fixed::Angle;
use tickwire::sim::geometry::Point;

use super::{Action, PX, Shot, SoldierRow, WolfRow};

/// Distance at which it stops.
const CLOSE: i32 = 120 * PX;

/// Fires at the nearest enemy or wolf in sight. Otherwise walks to where an enemy has fired, or
/// towards the base of the enemy.
#[derive(Default)]
pub struct Hunter {
    /// Where the last enemy that fired was.
    shot: Option<Point>,
}

impl BotPolicy<Action> for Hunter {
    fn decide(&mut self, view: &BotView<'_>, random: &mut BotRng) -> Option<Action> {
        let own: SoldierRow = view.entity(view.player.0)?;
        let at = place(own.x, own.y);
        let place_of_enemy = |Shot { player, .. }| {
            let shooter: SoldierRow = view.entity(player.0)?;
            (shooter.team != own.team).then_some(place(shooter.x, shooter.y))
        };
        let shot = view.events().filter_map(place_of_enemy).last().or(self.shot);
        self.shot = shot.filter(|shot| !is_near(at, *shot, CLOSE));
        if random.below(3) > 0 {
            return None;
        }
        // A wall may be in between, so it gives up after a few seconds.
        self.shot = self.shot.filter(|_| random.below(10) > 0);
        let soldiers = view.entities::<SoldierRow>();
        let enemies = soldiers.filter(|other| other.team != own.team && other.health > 0);
        let wolves = view.entities().map(|WolfRow { x, y, .. }| place(x, y));
        let targets = enemies.map(|enemy| place(enemy.x, enemy.y)).chain(wolves);
        let target = targets.min_by_key(|target| at.0.abs_diff(target.0) + at.1.abs_diff(target.1));
        let aim = target.or(self.shot).map(|place| heading(at, place));
        let way = match aim {
            Some(_) if target.is_some_and(|target| is_near(at, target, CLOSE)) => 0,
            // Around the walls, at random.
            Some(_) if target.is_none() && random.below(4) == 0 => 1 + random.below(8) as u8,
            Some(aim) => 1 + eighth(aim),
            None => 1 + (if own.team == 0 { 0 } else { 4 } + random.below(5) as u8 + 6) % 8,
        };
        let aim = aim.map_or(random.below(256) as i8, |aim| (aim.0 >> 8) as i8);
        Some(Action::Control { way, aim, is_firing: target.is_some() })
    }
}

fn place(x: u16, y: u16) -> Point {
    (x.into(), y.into())
}

/// The nearest eighth of a turn.
fn eighth(heading: Angle) -> u8 {
    (heading.0.wrapping_add(0x1000) >> 13) as u8
}
