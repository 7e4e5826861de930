//! A tank that drives, turns and fires all the time, alone and against another.

use std::time::Duration;

use tickwire::game::prediction::{LocalWorld as _, PredictionFeatures};
use tickwire::game::simple::{LocalState, SimpleLocalWorld};
use tickwire::internal::games::tanks::Tanks;
use tickwire::internal::server::embedded::EmbeddedServer;
use tickwire::packet::Value;

use crate::corrections::percentiles;
use crate::line::{Client, FRAME, bad, play, run_until, server};
use crate::moo::apart_px;
use crate::shots::{asks, follows, path, tile, turns_to};

pub type Player = Client<SimpleLocalWorld<Tanks>>;

/// The difference of two angles in 1/65,536 turn.
fn off(a: u16, b: u16) -> u16 {
    let off = a.wrapping_sub(b);
    off.min(off.wrapping_neg())
}

/// Where hull and turret point, in 1/65,536 turn.
fn ways(state: &LocalState<Tanks>) -> [u16; 2] {
    let mut numbers = Vec::new();
    SimpleLocalWorld::<Tanks>::export_numbers(state, &mut numbers);
    [numbers[0] as u16, numbers[1] as u16]
}

/// What a tank asks for in one of its turns.
pub fn turns(turn: u64) -> Vec<Value> {
    let hull = [-1, 0, 1, 0, 1][(turn % 5) as usize];
    let drive = [1, 1, 1, -1, 1, 0, 1][(turn % 7) as usize];
    asks(drive, hull, (turn * 12 * 977) as u16, turn.is_multiple_of(5))
}

fn px(player: &Player) -> Vec<f64> {
    player.corrected.iter().map(|one| one.px).collect()
}

#[test]
fn a_tank_that_is_predicted_is_where_the_server_has_it() {
    for seed in 3..6 {
        let mut server = server("tanks", seed, 0, bad());
        let mut ann: Player = Client::new(&mut server, "tanks", "tanks");
        let (mut now, mut frame, mut turned) = (Duration::ZERO, 0, Vec::new());
        while now < Duration::from_secs(60) {
            run_until(&mut server, now, now + FRAME);
            now += FRAME;
            frame += 1;
            let mut before = ann.prediction().state().map(ways);
            ann.frame(&mut server, now, |packet, prediction| {
                let after = prediction.state().map(ways);
                if let (Some(before), Some(after), "own_state") = (before, after, packet.row.name.as_str()) {
                    turned.push(off(before[0], after[0]).max(off(before[1], after[1])));
                }
                before = after;
            });
            if ann.shown.is_some() && frame % 12 == 0 {
                ann.command(&mut server, "control", &turns(frame / 12), now);
            }
        }
        let turned = turned.into_iter().map(|way| f64::from(way) * 360.0 / 65_536.0).collect();
        let (compared, lead) = (ann.corrected.len(), ann.prediction().clock().lead());
        let [[p50, p99, most], turned] = [percentiles(px(&ann)), percentiles(turned)];
        println!(
            "tank, seed {seed}: {compared} updates, {} corrected, p50, p99, most px [{p50:.1}, {p99:.1}, {most:.1}]; hull \
             and turret, degrees {turned:.1?}; lead {lead:?}",
            ann.prediction().corrections().count
        );
        assert!(compared > 2_500, "seed {seed}: {compared}");
        assert!(p50 == 0.0 && p99 <= 2.0, "seed {seed}: p50 {p50} px, p99 {p99} px");
        assert!(turned[0] == 0.0 && turned[1] <= 2.0, "seed {seed}: {turned:?} degrees");
    }
}

/// Ann and Bo meet beside the depot and drive at each other, so each is pushed all the time. Each knows the other's
/// place to half a pixel only, so where they touch they agree with the server to within a pixel.
#[test]
fn two_tanks_that_push_each_other_agree_with_the_server_when_they_rest() {
    let mut server = server("tanks", 3, 0, bad());
    let mut players = [(); 2].map(|()| Player::new(&mut server, "tanks", "tanks"));
    let (mut now, mut paths, mut met) = (Duration::ZERO, None, None);
    let act = |players: &mut [Player], server: &mut EmbeddedServer, now, frame: u64| {
        let [Some(ann), Some(bo)] = [0, 1].map(|at: usize| players[at].shown) else { return };
        if !frame.is_multiple_of(4) || frame < 60 {
            return;
        }
        let world = players[0].prediction().world().expect("it plays");
        let paths = paths.get_or_insert_with(|| {
            [(ann.at, (29, 32)), (bo.at, (31, 32))].map(|(from, to)| path(world, tile(from), to))
        });
        let arrived = paths.iter().all(Vec::is_empty);
        for (own, to) in [(0, bo.at), (1, ann.at)] {
            let values = match arrived {
                true => Some(turns_to(&players[own], to)),
                false => follows(&players[own], &mut paths[own]),
            };
            let values = values.unwrap_or_else(|| asks(0, 0, 0, false));
            players[own].command(server, "control", &values, now);
        }
        if arrived && met.is_none() {
            met = Some(players.iter().map(|player| player.corrected.len()).collect::<Vec<_>>());
        }
    };
    play(&mut server, &mut players, &mut now, 60, act, |_, _, _, _| {});
    let met = met.expect("they meet");
    for (player, met) in players.iter().zip(met) {
        let pushed = px(player).split_off(met);
        let (compared, count) = (pushed.len(), pushed.iter().filter(|px| **px > 0.0).count());
        println!(
            "pushed tank: {count} of {compared} updates corrected, p50, p99, most px {:.1?}",
            percentiles(pushed)
        );
        assert!(compared > 1_000 && count > 100, "they do touch: {count} of {compared}");
    }
    for player in &mut players {
        player.command(&mut server, "control", &asks(0, 0, 0, false), now);
    }
    let mut exact = [None; 2];
    let see = |at: usize, _: &Player, packet: &tickwire::packet::DecodedPacket<'_>, _| {
        let place = packet.integer("x").zip(packet.integer("y")).filter(|_| packet.row.name == "own_state");
        exact[at] = place.or(exact[at]);
    };
    play(&mut server, &mut players, &mut now, 5, |_, _, _, _| {}, see);
    for at in 0..2 {
        let (shown, exact) = (players[at].shown.expect("it plays").at, exact[at].expect("it is told"));
        let apart = apart_px(shown, exact);
        println!("pushed tank at rest: {apart:.2} px from where the server has it");
        assert!(apart < 1.0, "tank {at}: {shown:?} {exact:?}");
    }
}

/// Frames from a key to the first one that shows the tank elsewhere, for ten keys.
fn frames_to_move(switches: PredictionFeatures) -> Vec<u64> {
    let mut server = server("tanks", 3, 0, bad());
    let (mut players, mut now) = ([Player::new(&mut server, "tanks", "tanks")], Duration::ZERO);
    play(&mut server, &mut players, &mut now, 5, |_, _, _, _| {}, |_, _, _, _| {});
    players[0].player.prediction_mut().set_features(switches);
    let mut frames = Vec::new();
    for key in 0..10_u16 {
        let before = players[0].shown.expect("it plays").at;
        let drive = if key.is_multiple_of(2) { 1 } else { -1 };
        players[0].command(&mut server, "control", &asks(drive, 0, 0, false), now);
        let (mut moved, mut count) = (None, 0);
        let act = |players: &mut [Player], _: &mut EmbeddedServer, _, _| {
            count += 1;
            let at = players[0].shown.expect("it plays").at;
            moved = moved.or((at != before).then_some(count));
        };
        play(&mut server, &mut players, &mut now, 2, act, |_, _, _, _| {});
        frames.push(moved.expect("it moves in the end"));
        players[0].command(&mut server, "control", &asks(0, 0, 0, false), now);
        play(&mut server, &mut players, &mut now, 4, |_, _, _, _| {}, |_, _, _, _| {});
    }
    frames
}

#[test]
fn a_tank_moves_in_the_next_frame_and_without_prediction_a_round_trip_later() {
    let on = PredictionFeatures { prediction: true, reconciliation: true };
    assert_eq!(frames_to_move(on), [1; 10]);
    let off = frames_to_move(PredictionFeatures { prediction: false, ..on });
    println!("a tank without prediction: {off:?} frames");
    assert!(off.iter().all(|frames| *frames >= (300 - 60) / 17), "{off:?} frames");
}
