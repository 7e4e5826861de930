//! A player of moo that turns all the time, and others.

use std::collections::BTreeMap;
use std::time::Duration;

use tickwire::game::predict::{LocalWorld as _, Place, Switches, Track};
use tickwire::internal::embedded::Server;
use tickwire::internal::games::moo::predict::OwnWorld;
use tickwire::internal::link::Conditions;
use tickwire::packet::{Decoded, Value};

use crate::line::{Client, FRAME, bad, run_until, server};

pub type Player = Client<OwnWorld>;

pub fn player(server: &mut Server) -> Player {
    Client::new(server, "native", "moo")
}

fn px(fixed: u32) -> f64 {
    f64::from(fixed) / 65_536.0
}

fn apart_px(a: Place, b: Place) -> f64 {
    f64::hypot(f64::from(a.0) - f64::from(b.0), f64::from(a.1) - f64::from(b.1)) / 65_536.0
}

/// Runs a server and its clients for some seconds; `act` is called in every frame before theirs.
pub fn play(
    server: &mut Server,
    players: &mut [Player],
    now: &mut Duration,
    seconds: u64,
    mut act: impl FnMut(&mut [Player], &mut Server, Duration, u64),
    mut see: impl FnMut(usize, &Player, &Decoded<'_>, Duration),
) {
    let (end, mut frame) = (*now + Duration::from_secs(seconds), 0);
    while *now < end {
        run_until(server, *now, *now + FRAME);
        *now += FRAME;
        for (at, player) in players.iter_mut().enumerate() {
            let mut heard = Vec::new();
            let dialect = player.dialect.clone();
            player.frame(server, *now, |packet, _| {
                heard.push((packet.row.name.clone(), packet.values.clone()))
            });
            for (name, values) in heard {
                let row = dialect.row(tickwire::packet::Direction::ToClient, &name).expect("its row");
                see(at, player, &Decoded { row, values }, *now);
            }
        }
        frame += 1;
        act(players, server, *now, frame);
    }
}

/// Turns by some angle twelve frames after the last time, which is 200 ms.
fn turn(player: &mut Player, server: &mut Server, now: Duration, frame: u64, seed: u32) {
    if frame.is_multiple_of(12) && player.shown.is_some() {
        let way = (frame as u32 / 12).wrapping_mul(40_503).wrapping_add(seed.wrapping_mul(7_919)) as u16;
        player.command(server, "move", &[way.into()], now);
    }
}

/// The corrections of a player who turns all the time, px, without those beside an animal, which may
/// have pushed it: so many of them, and in ascending order.
fn corrections(net: Conditions, seed: u32, seconds: u64) -> (usize, Vec<f64>) {
    let mut server = server("moo", seed, 0, net);
    let (mut players, mut now) = ([player(&mut server)], Duration::ZERO);
    let (mut found, mut compared, mut beside) = (Vec::new(), 0, 0);
    let (mut animals, mut touched) = (BTreeMap::<i64, Place>::new(), Duration::ZERO);
    let act = |players: &mut [Player], server: &mut Server, now, frame| {
        turn(&mut players[0], server, now, frame, seed);
    };
    let see = |_: usize, player: &Player, packet: &Decoded<'_>, now: Duration| {
        let list = |name| packet.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
        let number = |value: &Value| value.as_i64().unwrap_or(0);
        match packet.row.name.as_str() {
            "animals" => animals.extend(list("animals").chunks(6).map(|animal| {
                (number(&animal[0]), ((number(&animal[2]) << 15) as i32, (number(&animal[3]) << 15) as i32))
            })),
            "animals_gone" => list("animals").iter().for_each(|id| _ = animals.remove(&number(id))),
            _ => {}
        }
        let Some(shown) = player.shown else { return };
        if animals.values().any(|at| apart_px(*at, shown.at) < 400.0) {
            touched = now;
        }
        let corrections = player.prediction().corrections();
        if corrections.compared != compared {
            compared = corrections.compared;
            if now.saturating_sub(touched) < Duration::from_secs(2) {
                beside += 1;
            } else {
                found.push(px(corrections.last()));
            }
        }
    };
    play(&mut server, &mut players, &mut now, seconds, act, see);
    let lead = players[0].prediction().clock().lead();
    assert!(lead >= net.delay * 2, "seed {seed}: a lead of {lead:?} is less than the round trip");
    found.sort_by(f64::total_cmp);
    (beside, found)
}

#[test]
fn what_is_predicted_is_what_the_server_does_on_a_bad_line() {
    let mut all = Vec::new();
    for seed in 3..7 {
        let (beside, found) = corrections(bad(), seed, 75);
        let [p50, p99] = [50, 99].map(|percent| found[found.len() * percent / 100]);
        let count = found.iter().filter(|px| **px > 0.0).count();
        let compared = found.len();
        println!(
            "seed {seed}: {compared} updates and {beside} beside animals, {count} corrected, p99 {p99:.2} px"
        );
        assert!(compared > 500, "seed {seed}: only {compared} updates were compared");
        assert_eq!(p50, 0.0, "seed {seed}");
        all.extend(found);
    }
    all.sort_by(f64::total_cmp);
    let p99 = all[all.len() * 99 / 100];
    assert!(p99 <= 2.0, "99 % of the corrections are up to {p99} px");
}

#[test]
fn without_loss_and_jitter_nothing_is_corrected() {
    let net = Conditions { delay: Duration::from_millis(60), ..Conditions::default() };
    let mut server = server("moo", 3, 0, net);
    let (mut players, mut now) = ([player(&mut server)], Duration::ZERO);
    let act = |players: &mut [Player], server: &mut Server, now, frame| {
        turn(&mut players[0], server, now, frame, 1)
    };
    play(&mut server, &mut players, &mut now, 60, act, |_, _, _, _| {});
    let corrections = players[0].prediction().corrections();
    assert!(corrections.compared > 1_700, "{corrections:?}");
    assert_eq!(corrections.count, 0, "of {} updates", corrections.compared);
}

/// Frames from a key to the first one that shows the player elsewhere, for ten keys.
fn frames_to_move(switches: Switches) -> Vec<u64> {
    let mut server = server("moo", 3, 0, bad());
    let (mut players, mut now) = ([player(&mut server)], Duration::ZERO);
    play(&mut server, &mut players, &mut now, 5, |_, _, _, _| {}, |_, _, _, _| {});
    players[0].player.prediction_mut().switch(switches);
    let mut frames = Vec::new();
    for key in 0..10_u16 {
        let before = players[0].shown.expect("it plays").at;
        players[0].command(&mut server, "move", &[(key * 6_553).into()], now);
        let (mut moved, mut count) = (None, 0);
        let act = |players: &mut [Player], _: &mut Server, _, _| {
            count += 1;
            let at = players[0].shown.expect("it plays").at;
            moved = moved.or((at != before).then_some(count));
        };
        play(&mut server, &mut players, &mut now, 2, act, |_, _, _, _| {});
        frames.push(moved.expect("it moves in the end"));
        players[0].command(&mut server, "move", &[Value::Nil], now);
        play(&mut server, &mut players, &mut now, 4, |_, _, _, _| {}, |_, _, _, _| {});
    }
    frames
}

#[test]
fn the_own_player_moves_in_the_next_frame_and_without_prediction_a_round_trip_later() {
    let on = Switches { prediction: true, reconciliation: true };
    assert_eq!(frames_to_move(on), [1; 10]);
    let off = frames_to_move(Switches { prediction: false, ..on });
    println!("without prediction: {off:?} frames");
    let round_trip = (300 - 60) / 17;
    assert!(
        off.iter().all(|frames| *frames >= round_trip),
        "{off:?} frames, {round_trip} are the shortest round trip"
    );
}

#[test]
fn without_reconciliation_two_worlds_drift_apart_and_the_player_never_jumps() {
    let mut server = server("moo", 3, 0, bad());
    let (mut players, mut now) = ([player(&mut server)], Duration::ZERO);
    play(&mut server, &mut players, &mut now, 5, |_, _, _, _| {}, |_, _, _, _| {});
    players[0].player.prediction_mut().switch(Switches { prediction: true, reconciliation: false });
    let (mut before, mut farthest) = (None, 0.0_f64);
    let act = |players: &mut [Player], server: &mut Server, now, frame| {
        turn(&mut players[0], server, now, frame, 1);
        let at = players[0].shown.expect("it plays").at;
        farthest = farthest.max(before.replace(at).map_or(0.0, |before| apart_px(before, at)));
    };
    let mut exact = None;
    let see = |_: usize, _: &Player, packet: &Decoded<'_>, _| {
        if let Some(own) = packet.get("own").and_then(Value::as_array).filter(|own| own.len() > 3) {
            exact = own[2].as_i64().zip(own[3].as_i64()).map(|(x, y)| (x as i32, y as i32));
        }
    };
    play(&mut server, &mut players, &mut now, 25, act, see);
    assert!(farthest < 12.0, "{farthest} px from one frame to the next");
    players[0].command(&mut server, "move", &[Value::Nil], now);
    play(&mut server, &mut players, &mut now, 4, |_, _, _, _| {}, |_, _, _, _| {});
    let (shown, exact) = (players[0].shown.expect("it plays").at, exact.expect("it is told"));
    assert!(apart_px(shown, exact) > 1.0, "late commands have moved only one of the two");
    players[0].player.prediction_mut().switch(Switches { prediction: true, reconciliation: true });
    players[0].command(&mut server, "move", &[0.into()], now);
    play(&mut server, &mut players, &mut now, 2, |_, _, _, _| {}, |_, _, _, _| {});
    assert!(players[0].prediction().corrections().compared > 10, "the server's word counts again");
}

#[test]
fn swings_are_foreseen_as_often_as_the_server_tells_of_them() {
    let mut server = server("moo", 3, 0, bad());
    let (mut players, mut now) = ([player(&mut server)], Duration::ZERO);
    let (mut told, mut foreseen) = (0, 0);
    let act = |players: &mut [Player], server: &mut Server, now, frame| {
        foreseen += players[0].player.prediction_mut().take_events().len();
        if players[0].shown.is_some() && (frame % 97 == 0 || frame % 97 == 60) {
            let state = u8::from(frame % 97 == 0);
            players[0].command(server, "attack", &[state.into()], now);
        }
    };
    let see = |_: usize, _: &Player, packet: &Decoded<'_>, _| {
        if packet.row.name == "swings" {
            told += 1;
        }
    };
    play(&mut server, &mut players, &mut now, 60, act, see);
    println!("{foreseen} swings foreseen, {told} told");
    assert!(told > 50, "{told}");
    // The last ones are still under way; a command that a stall made late may cost or add one.
    assert!(told <= foreseen + 3 && foreseen <= told + 6, "{foreseen} foreseen, {told} told");
}

#[test]
fn two_players_who_push_each_other_agree_with_the_server_when_they_rest() {
    let mut server = server("moo", 3, 0, bad());
    let (mut players, mut now) = ([player(&mut server), player(&mut server)], Duration::ZERO);
    play(&mut server, &mut players, &mut now, 8, |_, _, _, _| {}, |_, _, _, _| {});
    let act = |players: &mut [Player], server: &mut Server, now, frame: u64| {
        if frame.is_multiple_of(12) {
            let at = [players[0].shown.expect("plays").at, players[1].shown.expect("plays").at];
            for (own, other) in [(0, 1), (1, 0)] {
                let way = f64::atan2(f64::from(at[other].1 - at[own].1), f64::from(at[other].0 - at[own].0));
                let way = (way / std::f64::consts::TAU * 65_536.0) as i64 as u16;
                players[own].command(server, "move", &[way.into()], now);
            }
        }
    };
    play(&mut server, &mut players, &mut now, 30, act, |_, _, _, _| {});
    for one in &players {
        let corrections = one.prediction().corrections();
        let (p50, p99) = (px(corrections.percentile(50)), px(corrections.percentile(99)));
        println!(
            "pushed: {} of {} updates corrected, p50 {p50:.1} px, p99 {p99:.1} px",
            corrections.count, corrections.compared
        );
        assert!(corrections.count > 100, "they do touch: {corrections:?}");
    }
    for player in &mut players {
        player.command(&mut server, "move", &[Value::Nil], now);
    }
    let mut exact = [None; 2];
    let see = |at: usize, _: &Player, packet: &Decoded<'_>, _| {
        if let Some(own) = packet.get("own").and_then(Value::as_array).filter(|own| own.len() > 3) {
            exact[at] = own[2].as_i64().zip(own[3].as_i64()).map(|(x, y)| (x as i32, y as i32));
        }
    };
    play(&mut server, &mut players, &mut now, 5, |_, _, _, _| {}, see);
    for at in 0..2 {
        assert_eq!(players[at].shown.map(|shown| shown.at), exact[at], "player {at}");
    }
}

/// Errors of the position at which another player is shown, px: where it is held without news, and where
/// it is run on. Both by the track of all its positions, as they were heard in the end.
fn errors(net: Conditions, seed: u32) -> [Vec<f64>; 2] {
    let mut server = server("moo", seed, 0, net);
    let mut players = [player(&mut server), player(&mut server)];
    let (mut now, mut walker) = (Duration::ZERO, None);
    let mut shown: [Vec<(i64, Place)>; 2] = [Vec::new(), Vec::new()];
    let mut truth = Vec::<(u32, Place)>::new();
    let act = |players: &mut [Player], server: &mut Server, now: Duration, frame: u64| {
        let (watchers, walks) = players.split_at_mut(1);
        walker = walker.or_else(|| Some(walks[0].prediction().world()?.own()?.0.into()));
        if frame.is_multiple_of(90) && walks[0].shown.is_some() {
            let way = (frame as u32 / 90).wrapping_mul(40_503) as u16;
            walks[0].command(server, "move", &[way.into()], now);
        }
        let client = &mut watchers[0];
        for (shown, is_reckoned) in shown.iter_mut().zip([false, true]) {
            client.player.prediction_mut().follow_others().is_reckoned = is_reckoned;
            let place = client.player.others(now).into_iter().find(|(id, _)| Some(*id) == walker);
            shown.extend(client.prediction().clock().others(now).zip(place.map(|(_, place)| place)));
        }
    };
    let see = |at: usize, _: &Player, packet: &Decoded<'_>, _| {
        let own = packet.get("own").and_then(Value::as_array).filter(|own| at == 1 && own.len() > 3);
        let Some(own) = own else { return };
        let place = own[2].as_i64().zip(own[3].as_i64()).map(|(x, y)| (x as i32, y as i32));
        truth.extend(packet.number("tick").zip(place));
    };
    play(&mut server, &mut players, &mut now, 90, act, see);
    shown.map(|shown| {
        let (mut track, mut rest) = (Track::default(), truth.iter().copied().peekable());
        let mut errors = Vec::new();
        for (tick, shown) in shown {
            while rest.peek().is_some_and(|(at, _)| i64::from(*at) << 16 <= tick + (8 << 16)) {
                rest.next().into_iter().for_each(|(at, place)| track.push(at, place));
            }
            let place = track.at(tick).filter(|_| rest.peek().is_some());
            errors.extend(place.map(|place| apart_px(shown, place)));
        }
        errors
    })
}

#[test]
fn dead_reckoning_brings_others_nearer_to_where_they_are() {
    let [mut held, mut reckoned] = [Vec::new(), Vec::new()];
    for seed in 3..5 {
        let [held_now, reckoned_now] = errors(bad(), seed);
        held.extend(held_now);
        reckoned.extend(reckoned_now);
    }
    held.sort_by(f64::total_cmp);
    reckoned.sort_by(f64::total_cmp);
    let percentile = |errors: &[f64], percent: usize| errors[errors.len() * percent / 100];
    let of =
        |errors: &[f64]| [50, 90, 95, 99].map(|percent| (percentile(errors, percent) * 10.0).round() / 10.0);
    println!("{} frames: p50, p90, p95, p99 px held {:?}, run on {:?}", held.len(), of(&held), of(&reckoned));
    assert!(held.len() > 5_000, "{}", held.len());
    assert!(percentile(&reckoned, 99) < percentile(&held, 99), "{:?} {:?}", of(&held), of(&reckoned));
}
