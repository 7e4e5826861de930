//! Random commands, most of them sensible, some of them not.

use std::collections::BTreeMap;

use tickwire::world::rng::Rng;
use tickwire::world::{Action, Angle, Command, PlayerId, Resource, Selection};

/// Numbers from which players are taken: few, so that joins and leaves meet somebody.
const PLAYERS: u32 = 10;

/// Who sends what, from a seed.
pub struct Script {
    rng: Rng,
    /// The last sequence sent, by issuer.
    sequences: BTreeMap<u16, u32>,
    /// Half of the scripts are of people who stay, stand and gather, so that they come of age.
    settled: bool,
}

impl Script {
    pub fn new(seed: u32) -> Script {
        Script { rng: Rng::new(seed, 1_000), sequences: BTreeMap::new(), settled: seed.is_multiple_of(2) }
    }

    pub fn one_in(&mut self, chance: u32) -> bool {
        self.rng.below(chance) == 0
    }

    /// The commands of one tick.
    pub fn commands(&mut self) -> Vec<Command> {
        (0..self.rng.below(4)).map(|_| self.command()).collect()
    }

    /// The same commands as they might arrive.
    pub fn shuffled(&mut self, commands: &[Command]) -> Vec<Command> {
        let mut shuffled = commands.to_vec();
        for index in (1..shuffled.len()).rev() {
            shuffled.swap(index, self.rng.below(index as u32 + 1) as usize);
        }
        shuffled
    }

    fn command(&mut self) -> Command {
        let someone = self.rng.below(PLAYERS) as u16 + 1;
        let action = match self.rng.below(100) {
            0..=6 => Action::Join { player: PlayerId(someone), name: self.text(15), skin: someone as u8 },
            7 if self.one_in(if self.settled { 60 } else { 2 }) => {
                Action::Leave { player: PlayerId(someone) }
            }
            7..=9 => self.grant(someone),
            10..=29 if self.settled => Action::Attack { on: !self.one_in(8) },
            30..=39 if self.settled => self.upgrade(),
            40..=52 if self.settled => Action::Attack { on: true },
            10..=44 => Action::Move { direction: Some(Angle(self.rng.next_u64() as u16)) },
            45..=54 => Action::Move { direction: None },
            55..=69 => Action::Aim { heading: Angle(self.rng.next_u64() as u16) },
            70..=79 => self.select(),
            80..=88 => Action::Attack { on: !self.one_in(4) },
            89..=91 => Action::Respawn { name: self.text(15), skin: someone as u8 },
            92..=93 => self.upgrade(),
            _ => Action::Chat { text: self.text(30) },
        };
        let of_operator = matches!(action, Action::Join { .. } | Action::Leave { .. } | Action::Grant { .. });
        let by_operator = of_operator != self.one_in(20);
        let player = if by_operator { 0 } else { someone };
        Command { player: PlayerId(player), sequence: self.sequence(player), action }
    }

    fn grant(&mut self, player: u16) -> Action {
        let resource = Resource::ALL[self.rng.below(4) as usize];
        Action::Grant { player: PlayerId(player), resource, amount: self.rng.below(300) }
    }

    /// Mostly what everyone may have by then, at times what nobody can.
    fn select(&mut self) -> Action {
        let items = [0, 3, 6, 10, 15, 16, 4, 7, 21];
        let what = match self.rng.below(4) {
            0 => Selection::Weapon(self.rng.below(16) as u8),
            _ => Selection::Item(items[self.rng.below(9) as usize]),
        };
        Action::Select { what }
    }

    fn upgrade(&mut self) -> Action {
        let choices = [1, 3, 5, 6, 7, 8, 17, 20, 31, 32, 23, 27, 10, 14, 18, 35, 28, 36, 99];
        Action::Upgrade { choice: choices[self.rng.below(19) as usize] }
    }

    /// The next sequence of an issuer; at times an old one, or a jump.
    fn sequence(&mut self, issuer: u16) -> u32 {
        let last = self.sequences.get(&issuer).copied().unwrap_or(0);
        let next = match self.rng.below(20) {
            0 => return last,
            1 => last + 1 + self.rng.below(5),
            _ => last + 1,
        };
        self.sequences.insert(issuer, next);
        next
    }

    /// A text of up to one character more than there may be, of characters of each length, at times a forbidden one.
    fn text(&mut self, most_chars: u32) -> String {
        let alphabet = ['a', 'Z', ' ', 'é', '木', '🦊'];
        let length = self.rng.below(most_chars + 2);
        let mut text: String =
            (0..length).map(|_| alphabet[self.rng.below(alphabet.len() as u32) as usize]).collect();
        if self.one_in(20) {
            text.push('\n');
        }
        text
    }
}
