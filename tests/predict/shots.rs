//! Lag compensation: a tank on a bad line fires at tanks that drive past. Of the shots that hit on its
//! screen, how many hit for the server?

use std::collections::{BTreeMap, VecDeque};
use std::f64::consts::TAU;
use std::time::Duration;

use tickwire::game::prediction::{LocalWorld as _, Position};
use tickwire::game::simple::SimpleLocalWorld;
use tickwire::internal::games::tanks::Tanks;
use tickwire::internal::server::embedded::EmbeddedServer;
use tickwire::packet::{DecodedPacket, Value};

use crate::line::{Client, FRAME, bad, run_until, server};

type Player = Client<SimpleLocalWorld<Tanks>>;

/// Numbers of the own tank before those of its shells, and of each shell.
const TANK: usize = 4;
const SHELL: usize = 5;
/// A shell that is so near to the centre of a tank has hit it, in px.
const REACH_PX: f64 = 23.0;
/// Targets further away are left alone, in px, as are those that move sideways by less, in px a second.
const FAR_PX: f64 = 400.0;
const SIDEWAYS_PX: f64 = 45.0;
const SHELL_PX: f64 = 1000.0;

fn px(fixed: i32) -> f64 {
    f64::from(fixed) / 65_536.0
}

fn apart(a: (f64, f64), b: (f64, f64)) -> f64 {
    (a.0 - b.0).hypot(a.1 - b.1)
}

/// A shot, as its player saw it.
#[derive(Debug, Clone, Copy)]
struct Shot {
    /// The last time that its shell was seen.
    seen: Duration,
    /// Whom it met on the screen, and whether the server says so too.
    met: Option<(u32, Duration)>,
    is_hit: bool,
}

/// What a picture of a duel shows: seconds, and px from the left.
#[derive(Debug, Default)]
pub struct Seen {
    pub on_screen: Vec<(f64, f64)>,
    pub on_server: Vec<(f64, f64)>,
    /// Where shells met it: when they did on the screen, and in the server's tick.
    pub met: Vec<(f64, f64)>,
    pub judged: Vec<(f64, f64)>,
}

/// Where Ann stands, and the middle of Bo's way: tiles around the depot in the middle, which are free on every
/// map.
const ANN: (i32, i32) = (30, 32);
const BO: (i32, i32) = (30, 29);

/// A player that fires at whoever drives past.
#[derive(Default)]
pub struct Shooter {
    pub seen: Seen,
    /// Where the others were shown in the last frames.
    before: Vec<BTreeMap<u32, Position>>,
    shots: Vec<Shot>,
    /// The shots whose shells are in flight, by the number of the shell.
    flying: BTreeMap<i32, usize>,
    /// Hits of which the screen showed nothing.
    unseen: usize,
    /// Ticks between what it does and what it sees, of each shot.
    delays: Vec<u32>,
}

impl Shooter {
    /// What the server says of hits.
    fn hear(&mut self, packet: &DecodedPacket<'_>, own: u32, now: Duration) {
        let number = |name| packet.integer::<u32>(name);
        if packet.row.name != "hit" || number("shooter") != Some(own) {
            return;
        }
        let player = number("player").expect("the row has it");
        let is_it = |shot: &&mut Shot| {
            shot.met.is_some_and(|(met, at)| met == player && now < at + Duration::from_secs(2))
                && !shot.is_hit
        };
        match self.shots.iter_mut().find(is_it) {
            Some(shot) => shot.is_hit = true,
            None => self.unseen += 1,
        }
    }

    /// Follows the shells on the screen.
    fn follow(&mut self, ann: &Player, others: &BTreeMap<u32, Position>, delay: u32, now: Duration) {
        let mut numbers = Vec::new();
        ann.prediction()
            .state()
            .into_iter()
            .for_each(|state| SimpleLocalWorld::<Tanks>::export_numbers(state, &mut numbers));
        let shells = numbers.get(TANK..).unwrap_or_default().chunks_exact(SHELL);
        self.flying.retain(|_, at| now < self.shots[*at].seen + Duration::from_millis(200));
        for shell in shells {
            let at = *self.flying.entry(shell[0]).or_insert_with(|| {
                self.shots.push(Shot { seen: now, met: None, is_hit: false });
                self.delays.push(delay);
                self.shots.len() - 1
            });
            let shot = &mut self.shots[at];
            shot.seen = now;
            let near = |(_, at): &(&u32, &Position)| {
                apart((px(at.0), px(at.1)), (px(shell[1]), px(shell[2]))) <= REACH_PX
            };
            let meets = others.iter().find(near).filter(|_| shot.met.is_none());
            let Some((player, _)) = meets else { continue };
            shot.met = Some((*player, now));
            let tick = ann.shown.map_or(0, |shown| shown.tick.0);
            self.seen.met.push((now.as_secs_f64(), px(shell[1])));
            self.seen.judged.push((f64::from(tick) / 60.0, px(shell[1])));
        }
    }

    /// Aims from what is on the screen, as far ahead of the target as it drives while the shell flies, and
    /// fires when the turret points there and the target drives sideways.
    fn fires(&self, ann: &Player, others: &BTreeMap<u32, Position>) -> Vec<Value> {
        let rests = || asks(0, 0, ways(ann)[1], false);
        let (Some(shown), Some((player, to))) = (ann.shown, others.first_key_value()) else { return rests() };
        let Some(from) = self.before.first().and_then(|before| before.get(player)) else { return rests() };
        let time = self.before.len() as f64 * 4.0 / 60.0;
        let (vx, vy) = (px(to.0 - from.0) / time, px(to.1 - from.1) / time);
        let (dx, dy) = (px(to.0 - shown.at.0), px(to.1 - shown.at.1));
        let (far, sideways) = (dx.hypot(dy), (dx * vy - dy * vx).abs() / dx.hypot(dy));
        let flies = far / SHELL_PX;
        let way = f64::atan2(dy + vy * flies, dx + vx * flies);
        let aim = (way / TAU * 65_536.0) as i64 as u16;
        let off = (aim.wrapping_sub(ways(ann)[1]) as i16).unsigned_abs();
        asks(0, 0, aim, off < 600 && sideways > SIDEWAYS_PX && far < FAR_PX)
    }
}

/// What a tank asks for, in the order of the packet: drive, turn, aim, is_firing, kind.
pub fn asks(drive: i8, turn: i8, aim: u16, fires: bool) -> Vec<Value> {
    vec![drive.into(), turn.into(), aim.into(), fires.into(), 0.into()]
}

/// Tiles from one to another, without the first, around walls.
pub fn path(world: &SimpleLocalWorld<Tanks>, from: (i32, i32), to: (i32, i32)) -> Vec<(i32, i32)> {
    let mut before = BTreeMap::from([(to, to)]);
    let mut next = VecDeque::from([to]);
    while let Some((x, y)) = next.pop_front().filter(|_| !before.contains_key(&from)) {
        for (dx, dy) in [(1, 0), (-1, 0), (0, 1), (0, -1)] {
            let other = (x + dx, y + dy);
            let step = ((dx * 5) << 16, (dy * 5) << 16);
            if !before.contains_key(&other) && world.extrapolate(middle((x, y)), step, 10) == middle(other) {
                before.insert(other, (x, y));
                next.push_back(other);
            }
        }
    }
    let mut path = vec![from];
    while path.last() != Some(&to) {
        path.push(before[path.last().expect("it has one")]);
    }
    path.split_off(1)
}

fn middle((x, y): (i32, i32)) -> Position {
    ((x * 50 + 25) << 16, (y * 50 + 25) << 16)
}

pub fn tile(at: Position) -> (i32, i32) {
    ((at.0 >> 16) / 50, (at.1 >> 16) / 50)
}

/// What a tank asks for that drives along a path. It turns on the spot.
pub fn follows(ann: &Player, path: &mut Vec<(i32, i32)>) -> Option<Vec<Value>> {
    let at = ann.shown?.at;
    let near = |to: (i32, i32)| apart((px(at.0), px(at.1)), (px(middle(to).0), px(middle(to).1))) < 6.0;
    if near(*path.first()?) {
        path.remove(0);
    }
    Some(turns_to(ann, middle(*path.first()?)))
}

/// What a tank asks for that drives to a place as soon as it points there.
pub fn turns_to(ann: &Player, to: Position) -> Vec<Value> {
    let at = ann.shown.map_or(to, |shown| shown.at);
    let way = f64::atan2(f64::from(to.1 - at.1), f64::from(to.0 - at.0));
    let off = ((way / TAU * 65_536.0) as i64 as u16).wrapping_sub(ways(ann)[0]) as i16;
    let turn = if off.unsigned_abs() > 400 { off.signum() as i8 } else { 0 };
    asks(i8::from(off.unsigned_abs() < 800), turn, 0, false)
}

/// Bo drives to and fro at the depot in the middle, Ann fires at Bo from below it. Each first drives there.
pub fn duel(seed: u32, seconds: u64, is_compensated: bool) -> Shooter {
    let mut server: EmbeddedServer = server("tanks", seed, 0, bad());
    let mut ann: Player = Client::new(&mut server, "tanks", "tanks");
    let mut bo: Player = Client::new(&mut server, "tanks", "tanks");
    let (mut shooter, mut now, mut frame) = (Shooter::default(), Duration::ZERO, 0_u32);
    let (mut ways_there, mut drive) = (None, 1);
    while now < Duration::from_secs(seconds) {
        run_until(&mut server, now, now + FRAME);
        now += FRAME;
        frame += 1;
        let own = ann.prediction().world().and_then(|world| world.own_player()).map_or(0, |own| own.0.into());
        ann.frame(&mut server, now, |packet, _| shooter.hear(packet, own, now));
        let seen = &mut shooter.seen;
        bo.frame(&mut server, now, |packet, _| {
            let x = packet.integer("x").filter(|_| packet.row.name == "own_state").map(px);
            seen.on_server.extend(packet.integer::<u32>("tick").map(|tick| f64::from(tick) / 60.0).zip(x));
        });
        let others: BTreeMap<u32, Position> = ann.player.remote_players(now).into_iter().collect();
        seen.on_screen.extend(others.values().next().map(|at| (now.as_secs_f64(), px(at.0))));
        let ticks = ann.prediction().command_tick().zip(ann.player.render_tick(now));
        let delay = ticks.map_or(0, |(tick, seen)| tick.saturating_sub(seen));
        shooter.follow(&ann, &others, delay, now);
        let (Some(shown), Some(bo_shown)) = (ann.shown, bo.shown) else { continue };
        if !frame.is_multiple_of(4) || frame < 60 {
            continue;
        }
        let world = ann.prediction().world().expect("it plays");
        let [ann_way, bo_way] = ways_there.get_or_insert_with(|| {
            [(shown.at, ANN), (bo_shown.at, BO)].map(|(from, to)| path(world, tile(from), to))
        });
        let mut values = follows(&ann, ann_way).unwrap_or_else(|| shooter.fires(&ann, &others));
        if !is_compensated {
            values.push(Value::Nil);
        }
        ann.command(&mut server, "control", &values, now);
        let values = follows(&bo, bo_way).unwrap_or_else(|| to_and_fro(&bo, &mut drive));
        bo.command(&mut server, "control", &values, now);
        shooter.before.push(others);
        if shooter.before.len() > 4 {
            shooter.before.remove(0);
        }
    }
    shooter
}

/// What a tank asks for that drives to the right and back, 75 px to each side of the depot.
fn to_and_fro(bo: &Player, drive: &mut i8) -> Vec<Value> {
    let Some(shown) = bo.shown else { return asks(0, 0, 0, false) };
    let (off, from_depot) = (ways(bo)[0] as i16, px(shown.at.0 - middle(BO).0));
    *drive = if from_depot > 75.0 {
        -1
    } else if from_depot < -75.0 {
        1
    } else {
        *drive
    };
    match off.unsigned_abs() > 400 {
        true => asks(0, -off.signum() as i8, 0, false),
        false => asks(*drive, 0, 0, false),
    }
}

/// Where the own hull and the own turret point, in 1/65,536 turn.
fn ways(ann: &Player) -> [u16; 2] {
    let mut numbers = Vec::new();
    ann.prediction()
        .state()
        .into_iter()
        .for_each(|state| SimpleLocalWorld::<Tanks>::export_numbers(state, &mut numbers));
    [0, 1].map(|at| numbers.get(at).map_or(0, |way| *way as u16))
}

#[test]
fn shots_hit_where_their_player_aimed_with_compensation_and_miss_without() {
    let mut share = Vec::new();
    for is_compensated in [true, false] {
        let (mut shots, mut met, mut hit, mut unseen, mut delays) = (0, 0, 0, 0, Vec::new());
        for seed in [3, 5] {
            let shooter = duel(seed, 110, is_compensated);
            let on_screen: Vec<&Shot> = shooter.shots.iter().filter(|shot| shot.met.is_some()).collect();
            shots += shooter.shots.len();
            met += on_screen.len();
            hit += on_screen.iter().filter(|shot| shot.is_hit).count();
            unseen += shooter.unseen;
            delays.extend(shooter.delays);
        }
        delays.sort_unstable();
        let name = if is_compensated { "with" } else { "without" };
        println!(
            "{name} compensation: {shots} shots, {met} met a tank on the screen, {hit} of these for the \
             server, {unseen} others did; seen {:?} ticks ago (p10, p50, p90)",
            [10, 50, 90].map(|percent| delays[delays.len() * percent / 100])
        );
        assert!(met > 30, "{met} shots are too few");
        assert!(!is_compensated || unseen == 0, "{unseen} hits of which the screen showed nothing");
        share.push(hit as f64 / f64::from(met as u32));
    }
    assert!(share[0] > 0.9 && share[1] < 0.3, "{share:?}");
}
