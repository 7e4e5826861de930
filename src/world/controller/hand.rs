//! A player's hand: what it holds, and when it may swing again.
//!
//! Comes in: the length of a tick. Goes out: whether it can swing in it. Never: whom the stroke hits (see `fight`).

use crate::command::Selection;
use crate::fields::fields;
use crate::rules;

/// What a player does with its hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hand {
    /// What it holds: a number of [`rules::WEAPONS`].
    pub weapon: u8,
    /// The item that it holds in place of the weapon: a number of [`rules::ITEMS`].
    pub item: Option<u8>,
    /// Whether it swings whenever it can: the button is down.
    pub attacking: bool,
    /// The button was pressed and that press has not led to a stroke yet. It counts in its tick even if the button was let
    /// go before, and one tick longer while the weapon still reloads.
    pub pressed: bool,
    /// Time until it can swing, in thirds of a millisecond; 0 when it can.
    pub wait: u16,
}

fields!(Hand: weapon: u8, item: Option<u8>, attacking: bool, pressed: bool, wait: u16);

impl Hand {
    /// A hand at rest that holds what everyone begins with.
    pub(crate) fn new() -> Hand {
        Hand { weapon: rules::FIRST_WEAPON, item: None, attacking: false, pressed: false, wait: 0 }
    }

    /// Takes something of one's own into the hand; an item that is in it already is put away.
    pub(crate) fn select(&mut self, what: Selection) {
        match what {
            Selection::Weapon(id) => {
                self.weapon = id;
                self.item = None;
            }
            Selection::Item(id) => self.item = Some(id).filter(|_| self.item != Some(id)),
        }
    }

    /// The button is pressed or let go.
    pub(crate) fn attack(&mut self, on: bool) {
        self.attacking = on;
        self.pressed |= on;
    }

    /// Lets one tick pass. When it can swing in it, that is what of the tick counts for the stroke after that: what is left
    /// beyond the wait, so that the mean time between two strokes is the weapon's, whatever the tick rate. It does not
    /// count while nobody swings: nobody can save up strokes.
    pub(crate) fn pass(&mut self, tick_thirds: u16) -> Option<u16> {
        let waited = self.wait.min(tick_thirds);
        self.wait -= waited;
        (self.wait == 0).then(|| if waited > 0 { tick_thirds - waited } else { 0 })
    }

    /// Whether it swings as soon as it can.
    pub(crate) fn wants(&self) -> bool {
        self.is_busy() && self.item.is_none()
    }

    /// Whether its button is down, or was pressed for a stroke that is still to come.
    pub(crate) fn is_busy(&self) -> bool {
        self.attacking || self.pressed
    }

    /// Ends a tick without a stroke. A press goes on to count only if the weapon will be ready within the next tick: whoever
    /// clicks as often as the weapon reloads loses no click to the way that clicks and ticks fall, and an early click is lost.
    pub(crate) fn rest(&mut self, tick_thirds: u16) {
        self.pressed &= self.wait > 0 && self.wait <= tick_thirds;
    }

    /// Swings; so much of the time until the next stroke has passed.
    pub(crate) fn swing(&mut self, passed: u16) {
        self.pressed = false;
        self.wait = rules::weapon_or_first(self.weapon).period_thirds().saturating_sub(passed);
    }
}
