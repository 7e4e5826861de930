//! Rule 17: a shell is tested against the positions of other tanks as its player saw them.

use tickwire_sim::fields::{ByteSink, Field as _, Reader};

use super::super::rules::MAX_REWIND_TICKS;
use super::*;

const UP: u16 = 0xc000;

/// Ann is at the left and her turret points to the right. Bo is 24 + 500 + 22 px to her right,
/// drives downwards, and has done so for two seconds.
fn duel() -> Field {
    let mut field = Field::new(&[(1000, 1000), (1546, 1000)]);
    let bo = &mut field.game.tanks[1];
    (bo.hull, bo.y) = (Angle(0x4000), Fixed::from_px(800));
    field.control(BO, DRIVES);
    field.run(2 * 60);
    field
}

/// Fires one shell with a rewind of `delay` ticks, and runs one second. Returns the damage to Bo.
fn fire(field: &mut Field, aim_px: i32, delay: Option<u32>) -> u8 {
    let before = field.tank(BO).health;
    field.game.tanks[0].y = Fixed::from_px(aim_px);
    let seen = delay.map(|delay| field.tick - delay);
    field.control(ANN, Control { seen, ..FIRES });
    field.run(1);
    assert_eq!(field.game.shells.len(), 1);
    field.control(ANN, Control::default());
    field.run(59);
    before - field.tank(BO).health
}

#[test]
fn rule_17_a_shell_meets_a_tank_where_its_player_saw_it_and_not_where_it_is() {
    let place = |field: &Field, later: u32| field.place(BO).1 + (later * 100 / 60) as i32;
    // The shell flies for 30 ticks. It is aimed at the position on Ann's screen at that time.
    for delay in [0, 5, 20, MAX_REWIND_TICKS] {
        let mut field = duel();
        let on_screen = place(&field, 30) - (delay * 100 / 60) as i32;
        assert_eq!(fire(&mut field, on_screen, Some(delay)), 10, "{delay} ticks");
    }
    let field = duel();
    let (on_screen, on_server) = (place(&field, 30) - 40, place(&field, 30));
    for (aim, delay, lost) in [
        (on_screen, Some(24), 10),
        (on_screen, None, 0),
        (on_screen, Some(0), 0),
        (on_server, Some(24), 0),
        (on_server, None, 10),
    ] {
        assert_eq!(fire(&mut duel(), aim, delay), lost, "at {aim} with {delay:?}");
    }
}

#[test]
fn rule_17_no_shell_meets_a_tank_where_it_was_longer_ago_than_the_bound() {
    let field = duel();
    let at = |delay: u32| field.place(BO).1 + 50 - (delay * 100 / 60) as i32;
    let beyond = [MAX_REWIND_TICKS + 24, 90, 119];
    for delay in beyond {
        let mut field = duel();
        assert_eq!(fire(&mut field, at(delay), Some(delay)), 0, "{delay} ticks");
        assert_eq!(
            fire(&mut duel(), at(MAX_REWIND_TICKS), Some(delay)),
            10,
            "as if it were {MAX_REWIND_TICKS}"
        );
    }
    let ahead = field.tick + 500;
    let mut field = duel();
    field.game.tanks[0].y = Fixed::from_px(at(0));
    field.control(ANN, Control { seen: Some(ahead), ..FIRES });
    field.run(60);
    assert_eq!(field.tank(BO).health, 90, "nobody sees the future: as if it were now");
}

/// Bo drives to the right, above a wall that protects it from Ann below. Ann fires upwards past the
/// end of the wall in tick `fired`. Returns the number of ticks between Bo's full cover and the
/// hit.
fn hit_behind_a_wall(fired: u32, delay: Option<u32>) -> Option<i64> {
    let mut field = Field::new(&[(1246, 1400), (1200, 1000)]);
    (25..40).for_each(|column| field.game.map.build(column, 22));
    field.game.tanks[0].turret = Angle(UP);
    field.control(ANN, Control { aim: UP, ..Control::default() });
    field.control(BO, DRIVES);
    let (mut behind, mut hit) = (None, None);
    for tick in 0..fired + 40 {
        if tick == fired {
            let seen = delay.map(|delay| field.tick.saturating_sub(delay));
            field.control(ANN, Control { aim: UP, seen, ..FIRES });
        }
        field.run(1);
        // Any shell that passes the end of the wall, at x = 1250, no longer reaches the tank in
        // this position.
        behind = behind.or((field.place(BO).0 > 1246 + 20 + 3).then_some(tick));
        hit = hit.or((field.tank(BO).health < HEALTH).then_some(tick));
    }
    Some(i64::from(hit?) - i64::from(behind.unwrap_or(u32::MAX)))
}

#[test]
fn rule_17_a_tank_that_is_behind_a_wall_for_longer_than_the_bound_is_not_hit() {
    // A later shot hits later, so the search begins with the latest shot.
    let latest = |delay| (0..110).rev().find_map(|fired| hit_behind_a_wall(fired, delay)).expect("a hit");
    let now = latest(None);
    assert!((-4..0).contains(&now), "hit {now} ticks after it was behind the wall");
    for (delay, counts) in [
        (0, 0),
        (24, 24),
        (MAX_REWIND_TICKS, MAX_REWIND_TICKS),
        (MAX_REWIND_TICKS + 1, MAX_REWIND_TICKS),
        (90, MAX_REWIND_TICKS),
    ] {
        assert_eq!(latest(Some(delay)), now + i64::from(counts), "seen {delay} ticks ago");
    }
}

#[test]
fn rule_17_walls_stand_where_they_are_and_shield_a_tank_behind_them() {
    for (wall, lost) in [(false, 10), (true, 0)] {
        let mut field = duel();
        if wall {
            (17..22).for_each(|row| field.game.map.build(26, row));
        }
        let on_screen = field.place(BO).1 + 50 - 40;
        assert_eq!(fire(&mut field, on_screen, Some(24)), lost, "wall: {wall}");
    }
}

#[test]
fn rule_17_no_shell_meets_a_tank_where_it_was_in_an_earlier_life() {
    for (delay, lives, lost) in [(24, 0, 0), (24, 10, 10), (0, 0, 10)] {
        let mut field = Field::new(&[(1000, 1000), (1546, 1000)]);
        field.run(100);
        // The tank was destroyed, and respawns at the same position.
        field.game.tanks[1].spawn((Fixed::from_px(1546), Fixed::from_px(1000)), Angle(0));
        field.run(lives);
        let seen = Some(field.tick - delay);
        field.control(ANN, Control { seen, kind: ShellKind::Piercing, ..FIRES });
        // The shell arrives after 20 ticks.
        field.run(22);
        let damage = if lost > 0 { 34 } else { 0 };
        assert_eq!(HEALTH - field.tank(BO).health, damage, "seen {delay} ticks ago, new for {lives}");
    }
}

#[test]
fn rule_17_what_a_player_saw_lasts_until_its_next_control() {
    let mut field = duel();
    field.control(ANN, Control { seen: Some(field.tick - 24), ..FIRES });
    field.run(RELOAD_TICKS.into());
    field.run(1);
    assert_eq!(field.game.shells.last().map(|shell| shell.delay), Some(24), "the second shot");
    field.game.remove(BO);
    field.run(RELOAD_TICKS.into());
    field.control(ANN, FIRES);
    field.run(RELOAD_TICKS.into());
    assert_eq!(field.game.shells.last().map(|shell| shell.delay), Some(0));
}

#[test]
fn rule_17_where_tanks_were_is_part_of_the_state() {
    let field = duel();
    let mut bytes = ByteSink::default();
    field.game.write(&mut bytes);
    // The map of the test differs from the map of its seed.
    let mut again = Tanks::read(&mut Reader::new(&bytes.0)).expect("a whole state");
    again.map = Map::empty();
    assert_eq!(again, field.game);
    let on_screen = field.place(BO).1 + 10;
    let mut copy = Field { game: again, random: Rng::new(1, 0), tick: field.tick };
    assert_eq!(fire(&mut copy, on_screen, Some(24)), 10);
    assert_eq!(
        field.game.tanks[1].history.at_ticks_ago(MAX_REWIND_TICKS + 1),
        None,
        "no longer than the bound"
    );
}
