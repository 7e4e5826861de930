//! A player's hand: what it holds, and when it can swing again. `fight` determines what a swing
//! hits.

use crate::command::Selection;
use crate::fields::fields;
use crate::rules;

/// The state of a player's hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hand {
    /// The weapon: a number of [`rules::WEAPONS`].
    pub weapon: u8,
    /// The item held in place of the weapon: a number of [`rules::ITEMS`].
    pub item: Option<u8>,
    /// Whether it attacks continuously: the button is down.
    pub attacking: bool,
    /// Whether the button was pressed and that press has not led to a swing yet. It counts in its
    /// tick even if the button was released before, and one tick longer while the weapon still
    /// reloads.
    pub pressed: bool,
    /// Time until it can swing, in thirds of a millisecond; 0 if it can swing now.
    pub wait: u16,
}

fields!(Hand: weapon: u8, item: Option<u8>, attacking: bool, pressed: bool, wait: u16);

impl Hand {
    /// A hand at rest that holds the initial weapon.
    pub(crate) fn new() -> Hand {
        Hand { weapon: rules::FIRST_WEAPON, item: None, attacking: false, pressed: false, wait: 0 }
    }

    /// Takes a weapon or item into the hand; selecting the held item puts it away.
    pub(crate) fn select(&mut self, what: Selection) {
        match what {
            Selection::Weapon(id) => {
                self.weapon = id;
                self.item = None;
            }
            Selection::Item(id) => self.item = Some(id).filter(|_| self.item != Some(id)),
        }
    }

    /// The button is pressed or released.
    pub(crate) fn attack(&mut self, on: bool) {
        self.attacking = on;
        self.pressed |= on;
    }

    /// Advances the timer by one tick. If the hand can swing in this tick, returns the part of the
    /// tick beyond the timer, which counts towards the next swing, so that the average interval
    /// between swings is the weapon's at every tick rate. The part is lost if the hand does not
    /// swing, so swings cannot be saved up.
    pub(crate) fn tick(&mut self, tick_thirds: u16) -> Option<u16> {
        let waited = self.wait.min(tick_thirds);
        self.wait -= waited;
        (self.wait == 0).then(|| if waited > 0 { tick_thirds - waited } else { 0 })
    }

    /// Whether it swings as soon as it can.
    pub(crate) fn is_attacking(&self) -> bool {
        self.has_pending_press() && self.item.is_none()
    }

    /// Whether its button is down, or a press has not led to a swing yet.
    pub(crate) fn has_pending_press(&self) -> bool {
        self.attacking || self.pressed
    }

    /// Ends a tick without a swing. A press is kept only if the weapon will be ready within the
    /// next tick: a player who clicks as fast as the weapon reloads loses no click to the alignment
    /// of clicks and ticks, but an earlier click is lost.
    pub(crate) fn rest(&mut self, tick_thirds: u16) {
        self.pressed &= self.wait > 0 && self.wait <= tick_thirds;
    }

    /// Swings; that much of the time until the next swing has already passed.
    pub(crate) fn swing(&mut self, passed: u16) {
        self.pressed = false;
        self.wait = rules::weapon_or_first(self.weapon).period_thirds().saturating_sub(passed);
    }
}
