//! Random commands, most of them sensible, some of them not.

use std::collections::BTreeMap;

use tickwire_moo_world::rng::Rng;
use tickwire_moo_world::{Action, Angle, AnimalKind, Command, PlayerId, Resource, Selection, Spawned};

/// Numbers from which players are taken: few, so that joins and leaves meet somebody.
const PLAYERS: u32 = 10;
/// Who of them founds clans: those up to this number.
const FOUNDERS: u16 = 3;

/// Who sends what, from a seed.
pub struct Script {
    rng: Rng,
    /// The last sequence sent, by issuer.
    sequences: BTreeMap<u16, u64>,
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
            4 if self.one_in(4) => Action::Chat { text: self.text(30) },
            0..=6 => Action::Join { player: PlayerId(someone), name: self.text(15), skin: someone as u8 },
            7 if self.one_in(if self.settled { 60 } else { 2 }) => {
                Action::Leave { player: PlayerId(someone) }
            }
            7..=9 => self.grant(someone),
            10..=29 if self.settled => Action::Attack { on: !self.one_in(8) },
            30..=41 if self.settled => self.upgrade(),
            42..=52 if self.settled => Action::Attack { on: true },
            10..=44 => Action::Move { direction: Some(Angle(self.rng.next_u64() as u16)) },
            45..=54 => Action::Move { direction: None },
            55..=69 => Action::Aim { heading: Angle(self.rng.next_u64() as u16) },
            70..=79 => self.select(),
            80..=88 => Action::Attack { on: !self.one_in(4) },
            89..=91 => Action::Respawn { name: self.text(15), skin: someone as u8 },
            92 => self.upgrade(),
            93..=97 => self.clan(someone),
            _ => self.operator(),
        };
        let of_operator = matches!(
            action,
            Action::Join { .. }
                | Action::Leave { .. }
                | Action::Grant { .. }
                | Action::Spawn { .. }
                | Action::Announce { .. }
                | Action::Disconnect { .. }
        );
        let by_operator = of_operator != self.one_in(20);
        let player = if by_operator { 0 } else { someone };
        Command { player: PlayerId(player), sequence: self.sequence(player), action }
    }

    fn grant(&mut self, player: u16) -> Action {
        let resource = Resource::ALL[self.rng.below(4) as usize];
        Action::Grant { player: PlayerId(player), resource, amount: self.rng.below(300) }
    }

    /// Few names and few who found clans, so that who asks finds one, and who owns one is asked.
    fn clan(&mut self, someone: u16) -> Action {
        let name = ["wolves", "木", "wolves", "木", "toolong!"][self.rng.below(5) as usize].to_string();
        let player = PlayerId(self.rng.between(FOUNDERS as i32, PLAYERS as i32) as u16);
        let accept = !self.one_in(6);
        let chance = self.rng.below(20);
        match chance {
            0..=2 if someone <= FOUNDERS => Action::ClanCreate { name },
            3..=8 if someone <= FOUNDERS => Action::ClanAnswer { player: PlayerId(0), accept },
            9 if someone <= FOUNDERS => Action::ClanAnswer { player, accept },
            10..=18 if someone <= FOUNDERS => Action::ClanKick { player },
            0..=12 => Action::ClanRequest { name },
            13 => Action::ClanLeave,
            _ => Action::Ping,
        }
    }

    /// What appears lies on the smallest map as well.
    fn operator(&mut self) -> Action {
        let animals = [AnimalKind::Cow, AnimalKind::Pig, AnimalKind::Bull, AnimalKind::Wolf];
        let items = [3, 6, 8, 15, 17, 21];
        let what = match self.rng.below(5) {
            4 => return Action::Disconnect { player: PlayerId(self.rng.between(1, PLAYERS as i32) as u16) },
            0 => return Action::Announce { text: self.text(60) },
            1 => Spawned::Item(items[self.rng.below(6) as usize]),
            _ => Spawned::Animal(animals[self.rng.below(4) as usize]),
        };
        let (x_px, y_px) = (self.rng.below(1_440) as u16, self.rng.below(1_440) as u16);
        Action::Spawn { what, x_px, y_px }
    }

    /// Mostly what everyone may have by then, at times what nobody can.
    fn select(&mut self) -> Action {
        let items = [0, 3, 6, 10, 15, 16, 4, 7, 17, 21];
        let what = match self.rng.below(4) {
            0 => Selection::Weapon(self.rng.below(16) as u8),
            _ => Selection::Item(items[self.rng.below(10) as usize]),
        };
        Action::Select { what }
    }

    fn upgrade(&mut self) -> Action {
        let choices =
            [1, 3, 5, 6, 7, 8, 17, 20, 31, 32, 23, 27, 9, 9, 10, 11, 14, 18, 33, 35, 12, 28, 36, 99];
        Action::Upgrade { choice: choices[self.rng.below(24) as usize] }
    }

    /// The next sequence of an issuer; at times an old one, or a jump.
    fn sequence(&mut self, issuer: u16) -> u64 {
        let last = self.sequences.get(&issuer).copied().unwrap_or(0);
        let next = match self.rng.below(20) {
            0 => return last,
            1 => last + 1 + u64::from(self.rng.below(5)),
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
