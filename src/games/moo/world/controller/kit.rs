//! A player's kit: weapons, items and structure counts.

use crate::fields::fields;
use crate::rules::{self, Group, Item, Weapon, CHOICE_ITEMS, GROUPS};

/// The weapons and items of a player, and the counts of its structures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kit {
    /// The primary and the secondary weapon: IDs of [`rules::WEAPONS`].
    pub weapons: [Option<u8>; 2],
    /// One item per group: IDs of [`rules::ITEMS`].
    pub items: [Option<u8>; GROUPS],
    /// Number of structures, by group.
    pub built: [u8; GROUPS],
    /// Income from structures, in half points per second.
    pub income_halves: u16,
    /// Progress towards the next point of income, in 1/6,000 point.
    pub earned: u16,
}

fields!(Kit:
    weapons: [Option<u8>; 2],
    items: [Option<u8>; GROUPS],
    built: [u8; GROUPS],
    income_halves: u16,
    earned: u16,
);

/// Value of `earned` that equals one point. An income of half a point per second adds 3,000 per
/// second: 1 for each third of a millisecond.
pub(crate) const MAX_EARNED: u16 = 6_000;

/// An upgrade that a player can choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Weapon(&'static Weapon),
    Item(&'static Item),
}

impl Choice {
    /// The upgrade with this number, if it exists.
    pub(crate) fn from_number(number: u8) -> Option<Choice> {
        match number.checked_sub(CHOICE_ITEMS) {
            None => rules::weapon(number).map(Choice::Weapon),
            Some(id) => rules::item(id).map(Choice::Item),
        }
    }

    fn age(self) -> Option<u8> {
        match self {
            Choice::Weapon(weapon) => weapon.age,
            Choice::Item(item) => item.age,
        }
    }
}

impl Kit {
    /// The initial kit.
    pub(crate) fn new() -> Kit {
        let mut kit = Kit {
            weapons: [None; 2],
            items: [None; GROUPS],
            built: [0; GROUPS],
            income_halves: 0,
            earned: 0,
        };
        kit.reset();
        kit
    }

    /// Resets weapons and items to the initial kit. Structure counts are retained.
    pub(crate) fn reset(&mut self) {
        self.weapons = [Some(rules::FIRST_WEAPON), None];
        self.items = [None; GROUPS];
        for item in rules::FIRST_ITEMS.iter().filter_map(|id| rules::item(*id)) {
            self.items[item.group as usize] = Some(item.id);
        }
    }

    /// The upgrades that an age offers with this kit, by number.
    pub fn offers(&self, age: u8) -> impl Iterator<Item = u8> + '_ {
        let weapons = rules::WEAPONS.iter().map(|weapon| weapon.id);
        let items = rules::ITEMS.iter().map(|item| item.id + CHOICE_ITEMS);
        weapons.chain(items).filter(move |number| self.is_offered(*number, age))
    }

    /// Whether an age offers an upgrade with this kit.
    pub(crate) fn is_offered(&self, number: u8, age: u8) -> bool {
        Choice::from_number(number).is_some_and(|choice| {
            let has = || match choice {
                Choice::Weapon(weapon) => weapon.needs.is_none_or(|needed| self.has_weapon(needed)),
                Choice::Item(item) => item.needs.is_none_or(|needed| self.has_item(needed)),
            };
            choice.age() == Some(age) && has()
        })
    }

    /// Replaces the weapon of the slot, or the item of the group, by the chosen upgrade.
    pub(crate) fn replace_with(&mut self, choice: Choice) {
        match choice {
            Choice::Weapon(weapon) => self.weapons[usize::from(weapon.slot)] = Some(weapon.id),
            Choice::Item(item) => self.items[item.group as usize] = Some(item.id),
        }
    }

    /// Replaces all weapons and items, for a client's prediction. Unknown IDs are dropped.
    pub fn equip(&mut self, weapons: &[u8], items: &[u8]) {
        (self.weapons, self.items) = ([None; 2], [None; GROUPS]);
        let weapons = weapons.iter().filter_map(|id| rules::weapon(*id));
        weapons.for_each(|weapon| self.replace_with(Choice::Weapon(weapon)));
        let items = items.iter().filter_map(|id| rules::item(*id));
        items.for_each(|item| self.replace_with(Choice::Item(item)));
    }

    /// Whether the kit contains this weapon.
    pub fn has_weapon(&self, id: u8) -> bool {
        self.weapons.contains(&Some(id))
    }

    /// Whether the kit contains this item.
    pub fn has_item(&self, id: u8) -> bool {
        self.items.contains(&Some(id))
    }

    /// Counts a new structure.
    pub(crate) fn count(&mut self, item: &Item) {
        self.built[item.group as usize] += 1;
        self.income_halves += item.pays_halves;
    }

    /// Subtracts a removed structure from its count.
    pub(crate) fn uncount(&mut self, item: &Item) {
        let built = &mut self.built[item.group as usize];
        *built = built.saturating_sub(1);
        self.income_halves = self.income_halves.saturating_sub(item.pays_halves);
    }

    /// Whether the player may build another structure of the group.
    pub(crate) fn may_build(&self, group: Group) -> bool {
        self.built[group as usize] < group.limit()
    }

    /// Advances the income by one tick. Returns the points paid in this tick.
    pub(crate) fn tick_income(&mut self, tick_thirds: u16) -> u32 {
        let earned = u32::from(self.earned) + u32::from(self.income_halves) * u32::from(tick_thirds);
        self.earned = (earned % u32::from(MAX_EARNED)) as u16;
        earned / u32::from(MAX_EARNED)
    }
}
