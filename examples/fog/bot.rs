//! A bot that hunts the visible enemies and wolves. It reads the packets that its client receives.

use tickwire::game::BotRng;
use tickwire::game::simple::{BotPolicy, BotView, ReceivedEntities};
use tickwire::sim::arena::{heading, is_near};
use tickwire::sim::fixed::Angle;
use tickwire::sim::geometry::Point;

use super::Action;

/// Distance at which it stops, px.
const CLOSE: i32 = 120;

/// Fires at the nearest enemy or wolf in sight, and otherwise walks towards the base of the enemy.
pub struct Hunter;

impl BotPolicy<Action> for Hunter {
    fn decide(&mut self, view: &BotView<'_>, random: &mut BotRng) -> Option<Action> {
        let (soldiers, wolves) = (view.entities("soldiers")?, view.entities("wolves")?);
        let own = u32::from(view.player.0);
        let (at, team) = (place(soldiers, own)?, soldiers.integer(own, "team")?);
        if random.below(3) > 0 {
            return None;
        }
        let is_enemy = |id: &u32| {
            soldiers.integer(*id, "team") != Some(team) && soldiers.integer(*id, "health") != Some(0)
        };
        let enemies = soldiers.ids().filter(is_enemy).filter_map(|id| place(soldiers, id));
        let targets = enemies.chain(wolves.ids().filter_map(|id| place(wolves, id)));
        let target = targets.min_by_key(|target| at.0.abs_diff(target.0) + at.1.abs_diff(target.1));
        let aim = target.map(|target| heading(at, target));
        let way = match aim {
            Some(_) if target.is_some_and(|target| is_near(at, target, CLOSE)) => 0,
            Some(aim) => 1 + eighth(aim),
            // Around the walls, at random.
            None => 1 + (if team == 0 { 0 } else { 4 } + random.below(5) as u8 + 6) % 8,
        };
        let aim = aim.map_or(random.below(256) as u8, |aim| (aim.0 >> 8) as u8);
        Some(Action::Control { way, aim, is_firing: target.is_some() })
    }
}

/// The place of an entity in px.
fn place(entities: &ReceivedEntities, id: u32) -> Option<Point> {
    let axis = |field| i32::try_from(entities.integer(id, field)?).ok();
    Some((axis("x")?, axis("y")?))
}

/// The nearest eighth of a turn.
fn eighth(heading: Angle) -> u8 {
    (heading.0.wrapping_add(0x1000) >> 13) as u8
}
