//! Points, rounds, joins and leaves.

use super::*;

#[test]
fn rule_11_damage_and_destroyed_tanks_are_points_for_the_player_who_fired() {
    let mut field = Field::new(&[(1000, 1000), (1300, 1000)]);
    field.control(ANN, FIRES);
    field.run(30);
    assert_eq!((field.tank(ANN).score, field.tank(ANN).kills), (10, 0));
    field.game.tanks[1].health = 4;
    field.run(120);
    assert_eq!((field.tank(ANN).score, field.tank(ANN).kills), (10 + 4 + 50, 1));
    assert_eq!((field.tank(BO).score, field.tank(BO).deaths), (0, 1));
}

/// The number of the round, whether it is over, the seconds left, and the winner.
fn round_state(field: &Field) -> (u16, bool, u32, Option<u16>) {
    let (number, is_over, left_s, winner) = field.game.round.clock();
    (number, is_over, left_s, winner.map(|player| player.0))
}

#[test]
fn rules_12_and_13_a_round_has_a_clock_a_winner_and_a_pause_before_the_next() {
    let mut field = Field::new(&[(1000, 1000), (1300, 1000)]);
    assert_eq!(round_state(&field), (1, false, 120, None));
    field.control(ANN, FIRES);
    field.run(60 * 60);
    assert_eq!(round_state(&field), (1, false, 60, None));
    field.run(60 * 60 - 1);
    assert_eq!(round_state(&field), (1, false, 1, None));
    field.run(1);
    assert_eq!(round_state(&field), (1, true, 8, Some(1)));
    assert!(field.game.shells.is_empty());
    let rest = field.game.tanks.clone();
    field.control(BO, DRIVES);
    field.run(479);
    assert_eq!(round_state(&field), (1, true, 1, Some(1)));
    assert_eq!(
        (field.place(BO), field.tank(ANN)),
        ((rest[1].x.to_px(), rest[1].y.to_px()), &rest[0]),
        "nothing moves"
    );
    field.run(1);
    assert_eq!(round_state(&field), (2, false, 120, None));
    for tank in &field.game.tanks {
        assert_eq!(
            (tank.score, tank.kills, tank.deaths, tank.health, tank.shells),
            (0, 0, 0, HEALTH, [40, 5])
        );
    }
    assert_eq!(field.tank(BO).control, DRIVES, "who still holds a key drives on");
}

#[test]
fn rule_12_of_equal_points_the_fewest_losses_win_and_of_equals_no_player() {
    for (points, winner) in [
        ([(0, 0), (0, 0)], None),
        ([(70, 1), (60, 0)], Some(1)),
        ([(60, 1), (60, 0)], Some(2)),
        ([(60, 1), (60, 1)], None),
    ] {
        let mut field = Field::new(&[(1000, 1000), (2000, 2000)]);
        for (tank, (score, lost)) in field.game.tanks.iter_mut().zip(points) {
            (tank.score, tank.deaths) = (score, lost);
        }
        field.run(120 * 60);
        assert_eq!(round_state(&field), (1, true, 8, winner), "{points:?}");
    }
}

#[test]
fn rule_14_who_comes_plays_at_once_and_who_leaves_takes_tank_and_shells_along() {
    let mut field = Field::new(&[(1000, 1000)]);
    field.run(600);
    field.game.enter(BO, "Bo");
    field.run(1);
    assert_eq!((field.tank(BO).health, round_state(&field).2), (HEALTH, 110));
    field.control(BO, FIRES);
    field.run(1);
    assert_eq!(field.game.shells.len(), 1);
    field.game.remove(BO);
    assert_eq!((field.game.tanks.len(), field.game.shells.len()), (1, 0));
}
