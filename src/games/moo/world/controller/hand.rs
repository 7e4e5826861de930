//! A player's hand: the weapon or item in it, and the time until the next swing. `tick::melee`
//! determines the targets of a swing.

use crate::command::Selection;
use crate::fields::fields;
use crate::rules;

/// The state of a player's hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hand {
    /// The weapon: an ID of [`rules::WEAPONS`].
    pub weapon: u8,
    /// The item held in place of the weapon: an ID of [`rules::ITEMS`].
    pub item: Option<u8>,
    /// Whether the hand attacks continuously, because the button is down.
    pub attacking: bool,
    /// Whether a press of the button still waits for its swing. A press counts in its tick even if
    /// the button was released before the swing. If the weapon still reloads, the press also counts
    /// in the next tick.
    pub pressed: bool,
    /// Time until the next swing, in thirds of a millisecond; 0 if the hand can swing now.
    pub wait: u16,
}

fields!(Hand: weapon: u8, item: Option<u8>, attacking: bool, pressed: bool, wait: u16);

impl Hand {
    /// A hand at rest with the initial weapon.
    pub(crate) fn new() -> Hand {
        Hand { weapon: rules::FIRST_WEAPON, item: None, attacking: false, pressed: false, wait: 0 }
    }

    /// Takes a weapon or item into the hand. Selecting the held item again returns to the weapon.
    pub(crate) fn select(&mut self, what: Selection) {
        match what {
            Selection::Weapon(id) => {
                self.weapon = id;
                self.item = None;
            }
            Selection::Item(id) => self.item = Some(id).filter(|_| self.item != Some(id)),
        }
    }

    /// Handles a press (`on`) or release of the button.
    pub(crate) fn attack(&mut self, on: bool) {
        self.attacking = on;
        self.pressed |= on;
    }

    /// Advances the timer by one tick. If the hand can swing in this tick, returns the part of the
    /// tick after the timer expired. This part counts towards the next swing, so the average
    /// interval between swings equals the weapon's period at every tick rate. If the hand does not
    /// swing, the part is lost, so swings cannot be saved up.
    pub(crate) fn tick(&mut self, tick_thirds: u16) -> Option<u16> {
        let waited = self.wait.min(tick_thirds);
        self.wait -= waited;
        (self.wait == 0).then(|| if waited > 0 { tick_thirds - waited } else { 0 })
    }

    /// Whether the hand swings as soon as the timer has expired.
    pub(crate) fn is_attacking(&self) -> bool {
        self.has_pending_press() && self.item.is_none()
    }

    /// Whether the button is down, or a press still waits for its swing.
    pub(crate) fn has_pending_press(&self) -> bool {
        self.attacking || self.pressed
    }

    /// Ends a tick without a swing. A press is retained only if the weapon will be ready within the
    /// next tick. So a player that clicks once per reload time loses no click, even if a click
    /// comes just before the weapon is ready.
    pub(crate) fn end_tick_without_swing(&mut self, tick_thirds: u16) {
        self.pressed &= self.wait > 0 && self.wait <= tick_thirds;
    }

    /// Starts a swing. `passed` is the part of the reload time that has already passed.
    pub(crate) fn swing(&mut self, passed: u16) {
        self.pressed = false;
        self.wait = rules::weapon_or_first(self.weapon).period_thirds().saturating_sub(passed);
    }
}
