//! Random commands, most of them sensible, some of them not.

use std::collections::BTreeMap;

use tickwire::world::rng::Rng;
use tickwire::world::{Action, Angle, Command, PlayerId, Resource};

/// Numbers from which players are taken: few, so that joins and leaves meet somebody.
const PLAYERS: u32 = 10;

/// Who sends what, from a seed.
pub struct Script {
    rng: Rng,
    /// The last sequence sent, by issuer.
    sequences: BTreeMap<u16, u32>,
}

impl Script {
    pub fn new(seed: u32) -> Script {
        Script { rng: Rng::new(seed, 1_000), sequences: BTreeMap::new() }
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
            0..=9 => Action::Join { player: PlayerId(someone), name: self.text(15), skin: someone as u8 },
            10..=11 => Action::Leave { player: PlayerId(someone) },
            12..=54 => Action::Move { direction: Some(Angle(self.rng.next_u64() as u16)) },
            55..=64 => Action::Move { direction: None },
            65..=79 => Action::Aim { heading: Angle(self.rng.next_u64() as u16) },
            80..=86 => Action::Attack { on: !self.one_in(4) },
            87..=90 => Action::Respawn { name: self.text(15), skin: someone as u8 },
            91..=92 => {
                let resource = Resource::ALL[self.rng.below(4) as usize];
                Action::Grant { player: PlayerId(someone), resource, amount: self.rng.below(300) }
            }
            _ => Action::Chat { text: self.text(30) },
        };
        let of_operator = matches!(action, Action::Join { .. } | Action::Leave { .. } | Action::Grant { .. });
        let by_operator = of_operator != self.one_in(20);
        let player = if by_operator { 0 } else { someone };
        Command { player: PlayerId(player), sequence: self.sequence(player), action }
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
