//! The game of `examples/fog.rs`, as a program of its own: a soldier is predicted although its client knows nothing of
//! wolves, packs and other soldiers.

use std::time::Duration;

use tickwire::game::prediction::PredictionFeatures;
use tickwire::game::simple::{Simple, SimpleLocalWorld};
use tickwire::internal::server::embedded;
use tickwire::packet::Value;

use crate::corrections::percentiles;
use crate::fog_example::Fog;
use crate::line::{Client, bad, play, server};

type Player = Client<SimpleLocalWorld<Fog>>;

fn control(way: u8) -> Vec<Value> {
    vec![way.into(), 0.into(), false.into()]
}

#[test]
fn a_soldier_that_is_predicted_is_where_the_server_has_it() {
    embedded::register::<Simple<Fog>>();
    let mut deaths = 0;
    for seed in 3..6 {
        let mut server = server("fog", seed, 0, bad());
        let mut players = [Player::new(&mut server, "fog", "fog")];
        let mut now = Duration::ZERO;
        let act = |players: &mut [Player], server: &mut _, now, frame: u64| {
            if players[0].shown.is_some() && frame.is_multiple_of(12) {
                let way = [1, 2, 3, 1, 7, 8, 4, 0, 5, 6][(frame / 12 % 10) as usize];
                players[0].command(server, "control", &control(way), now);
            }
        };
        play(&mut server, &mut players, &mut now, 60, act, |_, _, packet, _| {
            deaths += u32::from(packet.row.name == "killed");
        });
        let px: Vec<f64> = players[0].corrected.iter().map(|one| one.px).collect();
        let (compared, lead) = (px.len(), players[0].prediction().clock().lead());
        let [p50, p99, max] = percentiles(px);
        println!(
            "soldier, seed {seed}: {compared} updates, p50, p99, most px [{p50:.1}, {p99:.1}, {max:.1}], lead {lead:?}"
        );
        assert!(compared > 1_000, "seed {seed}: {compared}");
        assert!(p50 == 0.0 && p99 <= 2.0, "seed {seed}: p50 {p50} px, p99 {p99} px");
    }
    assert!(deaths > 0, "wolves, which the client does not simulate, bite");
}

#[test]
fn a_soldier_walks_in_the_next_frame_and_without_prediction_a_round_trip_later() {
    embedded::register::<Simple<Fog>>();
    for (prediction, frames) in [(true, 1..=1), (false, (300 - 60) / 17..=60)] {
        let mut server = server("fog", 5, 0, bad());
        let (mut players, mut now) = ([Player::new(&mut server, "fog", "fog")], Duration::ZERO);
        play(&mut server, &mut players, &mut now, 3, |_, _, _, _| {}, |_, _, _, _| {});
        let features = PredictionFeatures { prediction, reconciliation: true };
        players[0].player.prediction_mut().set_features(features);
        let before = players[0].shown.expect("it plays").at;
        players[0].command(&mut server, "control", &control(1), now);
        let (mut moved, mut count) = (None, 0);
        let act = |players: &mut [Player], _: &mut _, _, _| {
            count += 1;
            moved = moved.or(players[0].shown.filter(|shown| shown.at != before).map(|_| count));
        };
        play(&mut server, &mut players, &mut now, 2, act, |_, _, _, _| {});
        println!("a soldier walks after {moved:?} frames, with prediction {prediction}");
        assert!(moved.is_some_and(|count| frames.contains(&count)), "prediction {prediction}: {moved:?}");
    }
}
