//! Food that a player gains: from hunts, and by swings.

use std::ops::RangeInclusive;

use super::stats::MooBotStats;
use crate::games::moo::world::rules;

/// Whether a rise of food within these bounds may be the food of one animal or of two.
pub(super) fn is_food_of_animals(rise: RangeInclusive<u32>) -> bool {
    let foods = || rules::ANIMALS.iter().map(|animal| animal.food);
    foods().any(|one| rise.contains(&one) || foods().any(|other| rise.contains(&(one + other))))
}

/// Attributes a rise of food to removed animals, starting with the animal with the most food. An
/// animal counts as the player's kill if the rise covers the animal's food; other removed animals
/// may have left the view alive. The remaining rise may be a part of the food of one more animal.
/// Returns the attributed amount.
pub(super) fn claim_carcass_food(carcasses: &mut [Vec<u32>; 2], rise: u32, stats: &mut MooBotStats) -> u32 {
    let mut left = rise;
    let mut fattest: Vec<u32> = carcasses.concat();
    fattest.sort_unstable_by_key(|food| std::cmp::Reverse(*food));
    let mut eaten = Vec::new();
    for food in &fattest {
        if *food <= left {
            left -= *food;
            eaten.push(*food);
        }
    }
    if let Some(part) = fattest.iter().find(|food| left > 0 && **food > left) {
        left = 0;
        eaten.push(*part);
    }
    // The animal that explains only a part of the rise counts as killed, too.
    stats.animals += eaten.len() as u64;
    for food in eaten {
        let of = usize::from(!carcasses[0].contains(&food));
        if let Some(at) = carcasses[of].iter().position(|one| *one == food) {
            carcasses[of].swap_remove(at);
        }
    }
    rise - left
}

/// The maximum food that a player spends at once.
pub(super) fn max_meal() -> u32 {
    rules::ITEMS.iter().map(|item| item.cost[rules::Resource::Food as usize]).max().unwrap_or(0)
}

/// The maximum yield per swing.
pub(super) fn max_gathered() -> u32 {
    rules::WEAPONS.iter().map(|weapon| weapon.gather).max().unwrap_or(0)
}
