//! The rules of docs/tanks.md, in the order of their numbers.

mod corrupted;
mod lag;
mod rounds;

use std::collections::BTreeSet;

use tickwire_sim::WorldParams;
use tickwire_sim::fixed::{Angle, Fixed};

use super::map::Map;
use super::rules::{HEALTH, RELOAD_TICKS, RESPAWN_TICKS, ShellKind, TANK_RADIUS, TILES};
use super::*;
use crate::game::lockstep_packets::{CHECKSUM, DESYNC_DETAILS, STATE_SYNC_REQUEST};
use crate::game::simple::{GameAction as _, SimpleWorld};
use crate::games::built_in_tables;
use crate::packet::{Dialect, Direction, Value};

const ANN: PlayerId = PlayerId(1);
const BO: PlayerId = PlayerId(2);

/// A game without inner walls, with tanks at positions chosen by the test.
struct Field {
    game: Tanks,
    random: Rng,
    tick: u32,
}

impl Field {
    /// Creates a game with tanks at these positions. All hulls and turrets point to the right.
    fn new(places: &[(i32, i32)]) -> Field {
        let mut game = Tanks::new(&WorldParams::default_for::<SimpleWorld<Tanks>>(1));
        game.map = Map::empty();
        for (player, place) in (1..).zip(places) {
            game.enter(PlayerId(player), &format!("player {player}"));
            game.tanks[usize::from(player) - 1]
                .spawn((Fixed::from_px(place.0), Fixed::from_px(place.1)), Angle(0));
        }
        Field { game, random: Rng::new(1, 0), tick: 1 }
    }

    fn control(&mut self, player: PlayerId, control: Control) {
        self.game.steer(player, control, self.tick).expect("it plays");
    }

    fn run(&mut self, ticks: u32) {
        for _ in 0..ticks {
            self.game.step(self.tick, &mut self.random);
            self.tick += 1;
        }
    }

    fn tank(&self, player: PlayerId) -> &Tank {
        self.game.tanks.iter().find(|tank| tank.player == player).expect("it plays")
    }

    fn place(&self, player: PlayerId) -> (i32, i32) {
        (self.tank(player).x.to_px(), self.tank(player).y.to_px())
    }
}

const FIRES: Control =
    Control { drive: 0, turn: 0, aim: 0, fires: true, kind: ShellKind::Regular, seen: None };
const PIERCES: Control = Control { kind: ShellKind::Piercing, ..FIRES };
const DRIVES: Control = Control { drive: 1, fires: false, ..FIRES };

/// The number of free tiles that can be reached from the tile (1, 1).
fn reached(map: &Map) -> usize {
    let mut reached = BTreeSet::from([(1, 1)]);
    let mut next = vec![(1, 1)];
    while let Some((x, y)) = next.pop() {
        for to in [(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)] {
            if !map.is_wall(to.0, to.1) && reached.insert(to) {
                next.push(to);
            }
        }
    }
    reached.len()
}

#[test]
fn rule_1_the_map_follows_from_the_seed_and_encloses_no_place() {
    for seed in [0, 1, 2, 77, u32::MAX] {
        let map = Map::new(seed);
        let tiles = (0..TILES * TILES).filter(|at| !map.is_wall(at % TILES, at / TILES)).count();
        assert_eq!(reached(&map), tiles, "seed {seed}");
        assert!((2400..3200).contains(&tiles), "seed {seed}: {tiles} free tiles");
        assert_eq!(map, Map::new(seed));
    }
    assert_ne!(Map::new(1).hash(), Map::new(2).hash());
    // tests/browser/unit/tanks.test.mjs has the same hashes for the map of the page.
    assert_eq!([1, 2, 77].map(|seed| Map::new(seed).hash()), [1_847_946_806, 22_364_261, 1_276_770_070]);
}

#[test]
fn rule_2_a_tank_drives_100_px_a_second_forwards_and_60_backwards() {
    let mut field = Field::new(&[(1000, 1000)]);
    field.control(ANN, DRIVES);
    field.run(60);
    assert_eq!(field.place(ANN), (1099, 1000), "100 px, less what rounding takes");
    field.control(ANN, Control { drive: -1, ..DRIVES });
    field.run(60);
    assert_eq!(field.place(ANN), (1039, 1000));
    field.control(ANN, Control::default());
    field.run(60);
    assert_eq!(field.place(ANN), (1039, 1000));
}

#[test]
fn rule_3_hull_and_turret_turn_one_radian_a_second_each_on_its_own() {
    let mut field = Field::new(&[(1000, 1000)]);
    field.control(ANN, Control { turn: 1, aim: 0xc000, ..Control::default() });
    field.run(60);
    assert_eq!(
        (field.tank(ANN).hull, field.tank(ANN).turret),
        (Angle(10_440), Angle(0x1_0000_u32.wrapping_sub(10_440) as u16))
    );
    field.run(40);
    assert_eq!(field.tank(ANN).turret, Angle(0xc000), "it stays at the aim");
    field.control(ANN, Control { turn: -1, aim: 0x4000, ..Control::default() });
    field.run(100);
    assert_eq!(field.tank(ANN).hull, Angle(0));
    assert_eq!(
        field.tank(ANN).turret,
        Angle(0xc000_u16.wrapping_add(17_400)),
        "half a turn goes to the right"
    );
}

#[test]
fn rule_4_walls_stop_tanks_which_slide_along_them() {
    let mut field = Field::new(&[(2900, 1000)]);
    field.control(ANN, DRIVES);
    field.run(120);
    assert_eq!(field.place(ANN).0, 2950 - TANK_RADIUS.to_px() - 1, "the edge is a wall");
    field.game.tanks[0].hull = Angle(0x2000);
    field.run(60);
    assert!(field.place(ANN).1 > 1060, "{:?}", field.place(ANN));
}

#[test]
fn rule_4_tanks_that_overlap_are_pushed_apart_but_never_into_a_wall() {
    let mut field = Field::new(&[(1000, 1000), (1060, 1000)]);
    field.control(ANN, DRIVES);
    field.run(120);
    let (ann, bo) = (field.place(ANN), field.place(BO));
    assert!(bo.0 > 1080 && bo.0 - ann.0 >= 38, "it pushes: {ann:?} {bo:?}");
    field.run(3000);
    let (ann, bo) = (field.tank(ANN), field.tank(BO));
    for tank in [ann, bo] {
        assert!(!field.game.map.is_blocked(tank.x, tank.y, TANK_RADIUS));
    }
}

#[test]
fn rule_5_a_tank_fires_where_its_turret_points_and_reloads_for_two_seconds() {
    let mut field = Field::new(&[(1000, 1000)]);
    field.game.tanks[0].turret = Angle(0x4000);
    field.control(ANN, Control { aim: 0x4000, ..FIRES });
    field.run(1);
    assert_eq!(field.game.shells.len(), 1);
    assert_eq!(field.game.shells[0].way, Angle(0x4000));
    assert!(field.game.shells[0].y > field.tank(ANN).y && field.game.shells[0].x == field.tank(ANN).x);
    let left = |field: &Field| field.tank(ANN).shells[0];
    assert_eq!((left(&field), field.tank(ANN).reload), (39, RELOAD_TICKS));
    for again in 0..RELOAD_TICKS {
        assert_eq!(left(&field), 39, "after {again} ticks");
        field.control(ANN, Control { fires: again % 2 == 0, aim: 0x4000, ..FIRES });
        field.run(1);
    }
    field.control(ANN, FIRES);
    field.run(1);
    assert_eq!(left(&field), 38, "no earlier, however often its player asks");
}

#[test]
fn rules_5_and_6_a_tank_without_the_wanted_shells_fires_the_others_and_then_none() {
    let mut field = Field::new(&[(1000, 1000)]);
    field.control(ANN, PIERCES);
    field.run(120 * 5 + 1);
    assert_eq!(field.tank(ANN).shells, [39, 0]);
    field.game.round = Round::first(3600);
    field.run(120 * 39);
    assert_eq!(field.tank(ANN).shells, [0, 0]);
    let next = field.game.next_shell;
    field.run(240);
    assert_eq!((field.game.next_shell, next), (45, 45));
}

#[test]
fn rule_6_shells_have_their_own_damage_and_speed() {
    for (control, damage, ticks) in [(FIRES, 10, 30), (PIERCES, 34, 20)] {
        // 500 px from the start of the shell to the point at which it hits the tank.
        let mut field = Field::new(&[(1000, 1000), (1000 + 24 + 500 + 22, 1000)]);
        field.control(ANN, control);
        field.run(ticks - 1);
        assert_eq!(field.tank(BO).health, HEALTH);
        field.run(2);
        assert_eq!(field.tank(BO).health, HEALTH - damage);
        assert!(field.game.shells.is_empty());
    }
}

#[test]
fn rule_7_a_shell_ends_at_the_first_wall_or_tank() {
    let mut field = Field::new(&[(1000, 1000), (1300, 1000), (1400, 1000)]);
    field.control(ANN, FIRES);
    field.run(60);
    assert_eq!(field.tank(BO).health, 90);
    assert_eq!(field.tank(PlayerId(3)).health, HEALTH);
    field.game.map.build(24, 20);
    field.run(120);
    assert_eq!(field.tank(BO).health, 90, "there is a wall between them");
    field.game.tanks[0].x = Fixed::from_px(1261);
    field.run(120);
    assert_eq!(field.tank(BO).health, 80, "two tanks that touch");
    assert_eq!(field.tank(ANN).health, HEALTH);
}

#[test]
fn rules_8_and_9_a_destroyed_tank_comes_back_whole_after_three_seconds_far_from_others() {
    let mut field = Field::new(&[(1000, 1000), (1300, 1000)]);
    field.game.tanks[1].health = 5;
    field.game.tanks[1].shells = [1, 0];
    field.control(ANN, FIRES);
    field.control(BO, DRIVES);
    field.run(20);
    assert_eq!((field.tank(BO).health, field.tank(BO).deaths), (0, 1));
    let gone = field.place(BO);
    field.control(ANN, Control::default());
    field.run(u32::from(RESPAWN_TICKS) - 10);
    assert_eq!((field.tank(BO).health, field.place(BO)), (0, gone), "it neither moves nor returns");
    field.control(BO, Control::default());
    field.run(10);
    assert_eq!((field.tank(BO).health, field.tank(BO).shells), (HEALTH, [40, 5]));
    let apart = length(
        field.tank(BO).x.saturating_sub(field.tank(ANN).x),
        field.tank(BO).y.saturating_sub(field.tank(ANN).y),
    );
    assert!(apart > i64::from(Fixed::from_px(1000).0), "{} px", apart >> 16);
}

#[test]
fn rule_10_a_depot_supplies_and_repairs_the_tanks_near_it() {
    let mut field = Field::new(&[(1525 + 74, 1525), (1525 + 77, 1600)]);
    for tank in &mut field.game.tanks {
        (tank.health, tank.shells) = (50, [0, 0]);
    }
    field.run(120);
    assert_eq!((field.tank(ANN).health, field.tank(ANN).shells), (58, [8, 1]));
    assert_eq!((field.tank(BO).health, field.tank(BO).shells), (50, [0, 0]), "too far");
    field.run(3000);
    assert_eq!((field.tank(ANN).health, field.tank(ANN).shells), (HEALTH, [40, 5]));
}

/// Encodes a client packet, and returns the control that the game decodes from it.
fn decode_control(dialect: &Dialect, packet: &str, arguments: &[Value]) -> Result<Option<Control>, String> {
    let bytes = dialect.encode(Direction::ToServer, packet, arguments).map_err(|error| error.to_string())?;
    let decoded = dialect.decode(Direction::ToServer, &bytes);
    decoded.map(|packet| Control::from_packet(&packet)).map_err(|error| error.to_string())
}

#[test]
fn rule_15_a_client_can_only_control_its_own_tank() {
    let tables = built_in_tables();
    let dialect = tables.dialect("tanks").expect("the game's");
    let names = |direction| {
        let rows = tables.rows().filter(move |row| row.direction == direction && dialect_of(row));
        rows.map(|row| {
            (row.name.clone(), row.arguments.iter().map(|own| own.name.clone()).collect::<Vec<_>>())
        })
    };
    fn dialect_of(row: &crate::packet::Row) -> bool {
        row.codes.iter().any(|(dialect, _)| dialect == "tanks")
    }
    let all: Vec<(String, Vec<String>)> = names(Direction::ToServer).collect();
    let expected = [
        ("hello", vec!["version", "mode", "name", "resume_tick"]),
        ("join", vec!["name"]),
        ("ping", vec!["nonce"]),
        ("control", vec!["sequence", "tick", "drive", "turn", "aim", "is_firing", "kind", "render_tick"]),
    ];
    let expected =
        expected.map(|(name, own)| (name.to_owned(), own.into_iter().map(str::to_owned).collect()));
    // The packets with which a lockstep client reports on its own world.
    let of_lockstep = [STATE_SYNC_REQUEST, CHECKSUM, DESYNC_DETAILS];
    let play: Vec<_> = all.into_iter().filter(|(name, _)| !of_lockstep.contains(&name.as_str())).collect();
    assert_eq!(play, expected, "no id of a tank or a shell, no place, no speed, no reload");
    let control = |drive: i64, turn: i64, kind: u64| {
        let rest = [Value::from(drive), turn.into(), 7.into(), true.into(), kind.into(), 90.into()];
        decode_control(&dialect, "control", &[[1.into(), Value::Nil].as_slice(), &rest].concat())
    };
    let expected =
        Control { drive: 1, turn: -1, aim: 7, fires: true, kind: ShellKind::Piercing, seen: Some(90) };
    assert_eq!(control(1, -1, 1), Ok(Some(expected)));
    for impossible in [control(2, 0, 0), control(0, -3, 0), control(-100, 0, 0), control(0, 0, 2)] {
        assert!(matches!(impossible, Ok(None) | Err(_)), "{impossible:?}");
    }
}

#[test]
fn rule_15_a_control_moves_no_other_tank_and_no_player_without_a_tank_acts() {
    let mut field = Field::new(&[(1000, 1000), (1500, 1500)]);
    field.control(ANN, DRIVES);
    field.run(60);
    assert_eq!(field.place(BO), (1500, 1500));
    let before = field.game.clone();
    assert_eq!(field.game.steer(PlayerId(9), DRIVES, 1), Err("no_tank"));
    assert_eq!(field.game, before);
}
