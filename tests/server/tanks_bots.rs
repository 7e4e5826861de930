//! Bots that play tanks and check everything that they are told.
//!
//! `TICKWIRE_TANK_BOTS=100,120` plays with 100 bots for 120 seconds, and prints the gaps between updates.

use std::collections::BTreeMap;
use std::env;
use std::thread;
use std::time::{Duration, Instant};

use tickwire::packet::{Decoded, Value};
use tickwire::sim::Rng;

use crate::tanks::{Guest, server};

/// Bots and seconds if nothing else is said.
const BOTS: (u32, u64) = (12, 5);
/// Half pixels that a tank drives in a tick, rounded up, and by which others may push it besides.
const DRIVES_HPX: i64 = 4;
const PUSHED_HPX: i64 = 40;
/// Places of a tank's centre on the map, in half pixels: a tile and a radius from its ends.
const PLACES_HPX: std::ops::RangeInclusive<i64> = 139..=5861;
const RELOAD_TICKS: i64 = 120;

/// A tank in a state: x, y, hull, turret, health, regular shells, armour-piercing ones, reload.
type Tank = [i64; 8];

/// What a bot has been told, and what it has seen.
#[derive(Default)]
struct Seen {
    tick: i64,
    round: i64,
    tanks: BTreeMap<i64, Tank>,
    /// Damage since that state, by player.
    damage: BTreeMap<i64, i64>,
    /// Ticks of the last shots, by player.
    fired: BTreeMap<i64, i64>,
    gaps_ms: Vec<u32>,
    shots: usize,
    hits: usize,
}

fn numbers(packet: &Decoded<'_>, name: &str) -> Vec<i64> {
    let list = packet.get(name).and_then(Value::as_array).expect("a list");
    list.iter().map(|value| value.as_i64().expect("a number")).collect()
}

impl Seen {
    fn hit(&mut self, packet: &Decoded<'_>) {
        let get = |name| packet.number::<i64>(name).expect("a number");
        assert_ne!(get("player"), get("by"), "nobody hits the own tank");
        assert!((1..=34).contains(&get("damage")), "{packet}");
        *self.damage.entry(get("player")).or_default() += get("damage");
        self.hits += 1;
    }

    fn state(&mut self, packet: &Decoded<'_>) {
        let get = |name| packet.number::<i64>(name).expect("a number");
        let (tick, round) = (get("tick"), get("round"));
        let list = numbers(packet, "tanks");
        let mut tanks = BTreeMap::new();
        for tank in list.chunks_exact(9) {
            let own: Tank = tank[1..].try_into().expect("eight more");
            assert!(tanks.last_key_value().is_none_or(|(last, _)| *last < tank[0]), "players in order");
            tanks.insert(tank[0], own);
        }
        let passed = tick - self.tick;
        assert!(passed > 0, "tick {tick} after {}", self.tick);
        for (player, tank) in &tanks {
            let before = self.tanks.get(player).copied().filter(|_| self.round == round);
            self.check(*player, tank, before, (tick, passed));
        }
        (self.tick, self.round, self.tanks) = (tick, round, tanks);
        self.damage.clear();
    }

    /// What cannot happen to a tank within so many ticks.
    fn check(&mut self, player: i64, tank: &Tank, before: Option<Tank>, (tick, passed): (i64, i64)) {
        let [x, y, .., health, regular, piercing, reload] = *tank;
        let is_new = health == 0 && regular == 0;
        assert!(is_new || PLACES_HPX.contains(&x) && PLACES_HPX.contains(&y), "tank {player}: {tank:?}");
        assert!(health <= 100 && regular <= 40 && piercing <= 5 && reload <= RELOAD_TICKS, "{tank:?}");
        let Some([old_x, old_y, .., old_health, old_regular, old_piercing, _]) = before else { return };
        // A tank that is destroyed stays so for three seconds.
        if old_health == 0 || passed > 60 {
            return;
        }
        let most = DRIVES_HPX * passed + PUSHED_HPX;
        let moved = (x - old_x).abs().max((y - old_y).abs());
        assert!(moved <= most, "tank {player} moves {moved} half pixels in {passed} ticks");
        let damage = self.damage.get(&player).copied().unwrap_or_default();
        let repaired = 2 * (passed / 30 + 1);
        let expected = old_health - damage..=old_health - damage + repaired;
        assert!(expected.contains(&health), "tank {player} of {old_health} has {health} after {damage}");
        if regular + piercing < old_regular + old_piercing {
            let last = self.fired.insert(player, tick).unwrap_or(tick - RELOAD_TICKS);
            // The update may have come later than the shot by what has passed.
            assert!(tick - last >= RELOAD_TICKS - passed, "tank {player} fires after {} ticks", tick - last);
            self.shots += 1;
        }
    }

    /// The way to the nearest tank, in 1/65,536 of a turn.
    fn aim(&self, player: i64) -> u16 {
        let Some([x, y, ..]) = self.tanks.get(&player) else { return 0 };
        let others = self.tanks.iter().filter(|(other, tank)| **other != player && tank[4] > 0);
        let way = others.map(|(_, tank)| (tank[0] - x, tank[1] - y)).min_by_key(|(dx, dy)| dx * dx + dy * dy);
        let (dx, dy) = way.unwrap_or((1, 0));
        ((dy as f64).atan2(dx as f64) / std::f64::consts::TAU * 65_536.0).round() as i64 as u16
    }
}

/// Plays until the end of the time, and returns what it has seen.
fn play(mut guest: Guest, number: u32, time: Duration) -> Seen {
    let (mut seen, mut random) = (Seen::default(), Rng::new(number, 0));
    let player = i64::from(guest.enter(&format!("bot {number}")));
    let (began, mut last, mut next) = (Instant::now(), None, 0);
    while began.elapsed() < time {
        let message = guest.peer.receive().expect("the server plays on");
        let dialect = guest.dialect.clone();
        let packet = dialect.decode(tickwire::packet::Direction::ToClient, &message).expect("by the table");
        match packet.row.name.as_str() {
            "hit" => seen.hit(&packet),
            "state" => {
                seen.state(&packet);
                let now = Instant::now();
                let gap = last.replace(now).map(|last| now.duration_since(last));
                seen.gaps_ms.extend(gap.map(|gap| gap.as_millis() as u32));
                if seen.tick >= next {
                    next = seen.tick + i64::from(random.below(40)) + 10;
                    let (drive, turn) = (random.between(-1, 1) as i8, random.between(-1, 1) as i8);
                    guest.control_with((drive.abs(), turn), (seen.aim(player), true, random.below(4) == 0));
                }
            }
            "error" => panic!("{packet}"),
            _ => {}
        }
    }
    seen
}

#[test]
fn bots_play_and_everything_that_they_are_told_agrees_with_the_rules() {
    let given = env::var("TICKWIRE_TANK_BOTS").ok();
    let given = given.as_deref().and_then(|text| text.split_once(','));
    let given = given.map(|(bots, seconds)| (bots.parse().expect("bots"), seconds.parse().expect("seconds")));
    let (bots, seconds) = given.unwrap_or(BOTS);
    let server = server();
    let guests: Vec<Guest> = (0..bots).map(|_| Guest::connect(&server)).collect();
    let time = Duration::from_secs(seconds);
    let threads: Vec<_> =
        (0..).zip(guests).map(|(number, guest)| thread::spawn(move || play(guest, number, time))).collect();
    let all: Vec<Seen> = threads.into_iter().map(|one| one.join().expect("no bot complains")).collect();
    assert_eq!(server.stop(), 0);
    let mut gaps: Vec<u32> = all.iter().flat_map(|seen| seen.gaps_ms.iter().copied()).collect();
    gaps.sort_unstable();
    let at = |percent: usize| gaps[(gaps.len() - 1) * percent / 100];
    let (shots, hits) = (all[0].shots, all[0].hits);
    println!(
        "{bots} bots, {seconds} s: {} updates, gaps in ms: median {}, p99 {}, most {}; {shots} shots, {hits} hits",
        gaps.len(),
        at(50),
        at(99),
        at(100)
    );
    assert!(gaps.len() as u64 > u64::from(bots) * seconds * 20, "{} updates", gaps.len());
    assert!(shots > 0, "nobody fired");
}
