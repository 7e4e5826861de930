//! What one does to others and to things, and whether what one has rises by that alone.
//!
//! Strokes are told when they happen, what one has in turns, and a turn tells of its own tick before that tick's strokes. So
//! a rise must be earned by strokes of one's own that were told since the turn before it, or that are told before the
//! turn after it: that is the window. Natively it is not said whose stroke shook an object: there every object of that
//! kind that shakes together with a hit of one's own could be it. Gold also comes by theft, which is a hit of its own, and by
//! windmills, at most as fast as the best of them pays for each that stands, and by kills and hunts; food also by animals that are gone. While one is dead, and in the first turn of a life,
//! nothing is held against the server: a stroke in the tick of one's death is told to nobody.

use std::time::Duration;

use super::{Common, Rule, growth};
use crate::client::heard::{Heard, Stock, Swing};
use crate::world::rules;

/// What one did, counted from what one was told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Deeds {
    /// Strokes that hit anything.
    pub hits: u64,
    /// Units of all resources together: struck off, stolen, hunted.
    pub gathered: u64,
    /// Things built.
    pub builds: u64,
    /// Choices made.
    pub upgrades: u64,
    /// Shots of one's own.
    pub shots: u64,
    /// Animals killed.
    pub animals: u64,
    /// Clans founded and joined.
    pub clans: u64,
    /// Others killed.
    pub kills: u64,
    /// Deaths of one's own.
    pub deaths: u64,
    /// Births after a death.
    pub respawns: u64,
}

impl Deeds {
    /// Adds those of another one.
    pub fn add(&mut self, other: &Deeds) {
        self.hits += other.hits;
        self.gathered += other.gathered;
        self.builds += other.builds;
        self.upgrades += other.upgrades;
        self.shots += other.shots;
        self.animals += other.animals;
        self.clans += other.clans;
        self.kills += other.kills;
        self.deaths += other.deaths;
        self.respawns += other.respawns;
    }
}

/// One resource: what one has, and what is still to be said about how one got it.
#[derive(Debug, Clone, Copy, Default)]
struct Account {
    has: u32,
    /// Risen in the turn that is being told.
    risen: u32,
    /// Earned by strokes since the last turn.
    earned: u32,
    /// Risen in the last turn, and not earned by what was told before it.
    owed: u32,
}

/// What windmills may have paid by now and was not booked as risen.
#[derive(Debug, Clone, Copy, Default)]
struct Pay {
    gold: f64,
    told: Duration,
    mills: u32,
}

impl Pay {
    /// Lets the time until `now` pass for so many windmills.
    fn earn(&mut self, mills: u32, now: Duration) {
        let best = rules::ITEMS.iter().map(|item| item.pays_halves).max().unwrap_or(0);
        let gold_per_s = f64::from(mills) * f64::from(best) / 2.0;
        let passed = now.saturating_sub(self.told);
        self.told = now;
        let most = gold_per_s * PAY_AT_ONCE.as_secs_f64() + 1.0;
        // A new one has perhaps paid for as long before it was told of.
        let is_new = mills > std::mem::replace(&mut self.mills, mills);
        let more = if is_new { most } else { gold_per_s * passed.as_secs_f64() };
        self.gold = (self.gold + more).min(most);
    }

    /// Pays for a rise what it can.
    fn pay(&mut self, rise: u32) -> u32 {
        let paid = rise.min(self.gold as u32);
        self.gold -= f64::from(paid);
        paid
    }
}

/// Turns that were held up, on the way or before, come all at once, and with them the pay of so long.
const PAY_AT_ONCE: Duration = Duration::from_secs(15);

/// The books; see the [module](self).
#[derive(Debug, Default)]
pub(super) struct Ledger {
    accounts: [Account; 4],
    pay: Pay,
    /// Food for animals that were gone in the last turn, and in this one.
    carcasses: [Vec<u32>; 2],
    /// Gold that kills and hunts may have paid: those of the turn before, and of this one.
    bounty: [u64; 2],
    kills: u32,
    /// Whether a hit of one's own was told just now: what shakes next was struck by it.
    is_mine: bool,
    /// Whether the turn that is being told is the first since one was born.
    is_first: bool,
    died: bool,
    deeds: Deeds,
}

impl Ledger {
    /// Takes what was done since the last time.
    pub(super) fn take(&mut self) -> Deeds {
        std::mem::take(&mut self.deeds)
    }

    /// Books what is told, and the food of animals that are `killed` by it, whoever did; players and objects are known by now, births and deaths as well.
    pub(super) fn hear(&mut self, heard: &Heard, now: Duration, killed: &[u32], common: &mut Common) {
        self.carcasses[1].extend_from_slice(killed);
        let mills = common.picture.kit.counts.get(&(rules::Group::Mill as u8)).copied().unwrap_or(0);
        self.pay.earn(mills, now);
        growth::hear(heard, self.is_first, common, &mut self.deeds);
        if let Heard::Shakes(objects) = heard {
            return objects.iter().for_each(|object| self.shake(*object, common));
        }
        self.is_mine = false;
        match heard {
            Heard::Swings(swings) => swings.iter().for_each(|swing| self.swing(swing, common)),
            Heard::Stats { resources, kills, .. } => {
                for (kind, amount) in resources.iter().enumerate() {
                    self.has(kind, *amount);
                }
                self.killed(*kills, common);
                self.end_turn(common);
            }
            Heard::Value { what: Stock::Resource(kind), amount } => self.has(*kind, *amount),
            Heard::Value { what: Stock::Kills, amount } => self.killed(*amount, common),
            Heard::Players(_) => self.end_turn(common),
            // Natively a turn begins with it. What the turn before it owes is due by now.
            Heard::Update(_) => self.settle(common),
            Heard::Died => {
                self.deeds.deaths += 1;
                self.died = true;
            }
            _ => {}
        }
        if self.died && common.lives {
            self.died = false;
            self.deeds.respawns += 1;
            self.is_first = true;
        }
    }

    fn swing(&mut self, swing: &Swing, common: &mut Common) {
        let Swing { player, weapon, hit } = *swing;
        if !common.picture.players.contains_key(&player) {
            common.fault(Rule::SwingUnknown, format!("player {player}"));
        }
        if hit && common.picture.me == Some(player) {
            self.is_mine = true;
            self.deeds.hits += 1;
            // Whom it hit is not said, and so not from how many it steals.
            let steals = rules::weapon(weapon).map_or(0, |weapon| weapon.steals);
            let from = common.picture.others_in_view as u32;
            self.accounts[rules::Resource::Gold as usize].earned += steals * from;
        }
    }

    fn shake(&mut self, object: u32, common: &mut Common) {
        let Some(known) = common.picture.objects.get(&object) else {
            return common.fault(Rule::ShakeUnknown, format!("object {object}"));
        };
        let account = known.kind.and_then(|kind| self.accounts.get_mut(usize::from(kind)));
        if let Some(account) = account.filter(|_| self.is_mine) {
            let gold = known.kind == Some(rules::Resource::Gold as u8);
            let gain = most_gathered() + if gold { rules::GOLD_EXTRA } else { 0 };
            let spare = gain.saturating_sub(account.owed);
            account.owed = account.owed.saturating_sub(gain);
            account.earned += spare;
        }
    }

    fn has(&mut self, kind: usize, amount: u32) {
        let account = &mut self.accounts[kind];
        let rise = amount.saturating_sub(account.has);
        account.has = amount;
        account.risen += rise;
    }

    fn killed(&mut self, kills: u32, common: &mut Common) {
        if kills < self.kills {
            common.fault(Rule::KillsBack, format!("{} then {kills}", self.kills));
        }
        let more = kills.saturating_sub(self.kills);
        self.deeds.kills += u64::from(more);
        self.bounty[1] += u64::from(more) * KILL_GOLD_MOST;
        self.kills = kills;
    }

    /// A turn has told what one has.
    fn end_turn(&mut self, common: &mut Common) {
        self.settle(common);
        let forgiven = common.picture.is_dead || std::mem::take(&mut self.is_first);
        for (kind, account) in self.accounts.iter_mut().enumerate() {
            common.picture.stock[kind] = account.has;
            let (mut risen, earned) =
                (std::mem::take(&mut account.risen), std::mem::take(&mut account.earned));
            if kind == rules::Resource::Gold as usize {
                risen -= self.pay.pay(risen.saturating_sub(earned));
            }
            self.deeds.gathered += u64::from(risen);
            if kind == rules::Resource::Food as usize {
                let before = self.deeds.animals;
                risen -= eat(&mut self.carcasses, risen.saturating_sub(earned), &mut self.deeds);
                self.bounty[1] += (self.deeds.animals - before) * ANIMAL_GOLD_MOST;
            }
            if kind == rules::Resource::Gold as usize {
                risen -= take_bounty(&mut self.bounty[1], risen.saturating_sub(earned));
            }
            account.owed = if forgiven { 0 } else { risen.saturating_sub(earned) };
        }
        self.carcasses[0] = std::mem::take(&mut self.carcasses[1]);
        self.bounty[0] = std::mem::take(&mut self.bounty[1]);
    }

    /// What is owed now was not earned, unless one has died.
    fn settle(&mut self, common: &mut Common) {
        for (kind, account) in self.accounts.iter_mut().enumerate() {
            let mut owed = std::mem::take(&mut account.owed);
            if kind == rules::Resource::Gold as usize {
                // What one has is told before what stands.
                owed -= self.pay.pay(owed);
            }
            if kind == rules::Resource::Food as usize {
                let before = self.deeds.animals;
                owed -= eat(&mut self.carcasses, owed, &mut self.deeds);
                self.bounty[0] += (self.deeds.animals - before) * ANIMAL_GOLD_MOST;
            }
            if kind == rules::Resource::Gold as usize {
                owed -= take_bounty(&mut self.bounty[0], owed);
            }
            if owed > 0 && !common.picture.is_dead {
                let has = account.has;
                common.fault(
                    Rule::GainUnearned,
                    format!("has {has} of resource {kind}, {owed} not struck off"),
                );
            }
        }
    }
}

/// The most that a kill pays: the age of the victim is not told.
const KILL_GOLD_MOST: u64 = rules::KILL_GOLD as u64 * rules::MAX_AGE as u64;
/// The most that an animal pays: which of those that are gone it was is not told.
const ANIMAL_GOLD_MOST: u64 = 1_000;

/// Pays for a rise of gold with what kills and hunts may have paid. Gives what was paid.
fn take_bounty(bounty: &mut u64, rise: u32) -> u32 {
    let paid = rise.min(u32::try_from(*bounty).unwrap_or(u32::MAX));
    *bounty -= u64::from(paid);
    paid
}

/// Pays for a rise of food with animals that are gone, the fattest first; each is one's own if its food is there. Some went out of
/// view alive, so what is left may be part of another one's. Gives what was paid.
fn eat(carcasses: &mut [Vec<u32>; 2], rise: u32, deeds: &mut Deeds) -> u32 {
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
    deeds.animals += eaten.len() as u64;
    if let Some(part) = fattest.iter().find(|food| left > 0 && **food > left) {
        left = 0;
        eaten.push(*part);
    }
    for food in eaten {
        let of = usize::from(!carcasses[0].contains(&food));
        if let Some(at) = carcasses[of].iter().position(|one| *one == food) {
            carcasses[of].swap_remove(at);
        }
    }
    rise - left
}

/// What the best weapon gathers at a stroke.
fn most_gathered() -> u32 {
    rules::WEAPONS.iter().map(|weapon| weapon.gather).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::check::Check;
    use crate::client::heard::{Added, Object, Pose};

    const TREE: u32 = 70;
    const GOLD: u32 = 71;

    fn pose(player: u32) -> Pose {
        Pose { player, x_px: 500.0, y_px: 500.0, heading: 0 }
    }

    fn born() -> Vec<Heard> {
        let added = Added {
            id: "1".into(),
            pose: pose(1),
            name: String::new(),
            health: 100,
            max_health: 100,
            is_you: true,
        };
        let thing = |id, kind| {
            let kind = Some(kind);
            Object { id, kind, x_px: 600.0, y_px: 500.0, scale_px: 80.0, built: None }
        };
        let things = vec![thing(TREE, 0), thing(GOLD, 3)];
        vec![Heard::Setup { player: 1 }, Heard::AddPlayer(added), Heard::Objects(things), turn()]
    }

    fn turn() -> Heard {
        Heard::Players(vec![pose(1).into()])
    }

    fn swing(player: u32) -> Heard {
        Heard::Swings(vec![Swing { player, weapon: 0, hit: true }])
    }

    fn has(kind: usize, amount: u32) -> Heard {
        Heard::Value { what: Stock::Resource(kind), amount }
    }

    /// Hears `more` after a birth, all at once; gives the broken rules, and what was done.
    fn heard(more: &[Heard]) -> (Vec<Rule>, Deeds) {
        heard_each(Duration::ZERO, more)
    }

    /// The same, with so much time before each packet.
    fn heard_each(time: Duration, more: &[Heard]) -> (Vec<Rule>, Deeds) {
        let mut check = Check::new(false);
        let packets = [Heard::IoInit, Heard::InitData].into_iter().chain(born()).chain(more.iter().cloned());
        let faults = packets.enumerate().flat_map(|(number, heard)| check.hear(&heard, time * number as u32));
        (faults.map(|fault| fault.rule).collect(), check.take_deeds())
    }

    #[test]
    fn a_rise_is_earned_before_its_turn_or_right_after_it() {
        let shake = |object| Heard::Shakes(vec![object]);
        let before = [swing(1), shake(TREE), has(0, 1), turn(), turn()];
        assert_eq!(heard(&before), (vec![], Deeds { hits: 1, gathered: 1, ..Deeds::default() }));
        assert_eq!(heard(&[has(0, 1), turn(), swing(1), shake(TREE), turn()]).0, []);
        assert_eq!(heard(&[swing(1), shake(GOLD), has(3, 5), turn(), turn()]).0, []);
    }

    #[test]
    fn what_falls_from_the_sky_is_not_earned() {
        let shake = |object| Heard::Shakes(vec![object]);
        let unearned = [Rule::GainUnearned];
        assert_eq!(heard(&[has(0, 1), turn(), turn()]).0, unearned);
        assert_eq!(heard(&[swing(1), shake(GOLD), has(0, 1), turn(), turn()]).0, unearned);
        let too_much = has(0, most_gathered() + 1);
        assert_eq!(heard(&[swing(1), shake(TREE), too_much, turn(), turn()]).0, unearned);
        let long_ago = [swing(1), shake(TREE), turn(), has(0, 1), turn(), turn()];
        assert_eq!(heard(&long_ago).0, unearned);
        let by_another = [swing(1), has(3, 0), shake(TREE), has(0, 1), turn(), turn()];
        assert_eq!(heard(&by_another).0, unearned);
    }

    #[test]
    fn windmills_pay_gold_and_no_more_than_they_can() {
        let mill = Heard::Count { group: rules::Group::Mill as u8, count: 1 };
        let second = Duration::from_secs(1);
        let paid = [mill.clone(), turn(), has(3, 2), turn(), has(3, 4), turn(), turn()];
        let built = Deeds { builds: 1, ..Deeds::default() };
        assert_eq!(heard_each(second, &paid), (vec![], built));
        assert_eq!(heard_each(second, &paid[1..]).0, [Rule::GainUnearned; 2], "without one");
        let told_late = [has(3, 2), turn(), mill.clone(), turn(), turn()];
        assert_eq!(heard(&told_late), (vec![], Deeds { gathered: 2, ..built }));
        let wood = [mill.clone(), turn(), has(0, 1), turn(), turn()];
        assert_eq!(heard_each(second, &wood).0, [Rule::GainUnearned]);
        let too_much = [mill, turn(), has(3, 40), turn(), turn()];
        assert_eq!(heard_each(second, &too_much).0, [Rule::GainUnearned]);
    }

    #[test]
    fn a_thief_takes_gold_and_nothing_else() {
        let victim = Added {
            id: "2".into(),
            pose: pose(2),
            name: String::new(),
            health: 100,
            max_health: 100,
            is_you: false,
        };
        let both = || Heard::Players(vec![pose(1).into(), pose(2).into()]);
        let steal = || Heard::Swings(vec![Swing { player: 1, weapon: 14, hit: true }]);
        let steal =
            |kind| [Heard::AddPlayer(victim.clone()), both(), steal(), has(kind, 250), both(), both()];
        assert_eq!(heard(&steal(3)).0, []);
        assert_eq!(heard(&steal(2)).0, [Rule::GainUnearned]);
    }

    #[test]
    fn only_the_known_swing_and_shake() {
        assert_eq!(heard(&[swing(9)]).0, [Rule::SwingUnknown]);
        assert_eq!(heard(&[Heard::Shakes(vec![9])]).0, [Rule::ShakeUnknown]);
    }

    #[test]
    fn kills_deaths_and_births_are_counted() {
        let kills = |amount| Heard::Value { what: Stock::Kills, amount };
        let mut course = vec![kills(2), kills(1), Heard::Died];
        course.extend(born());
        let (faults, deeds) = heard(&course);
        assert_eq!(faults, [Rule::KillsBack, Rule::ObjectTwice, Rule::ObjectTwice]);
        assert_eq!(deeds, Deeds { kills: 2, deaths: 1, respawns: 1, ..Deeds::default() });
    }
}
